//! The state of the screen. Changed only by [`super::reduce::reduce`]; the view borrows it.

mod glyphs;
mod notices;
mod place;
mod popup;
mod sources;

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::time::Duration;

pub use glyphs::Glyphs;
pub use place::{Place, moved};
pub use popup::{Popup, Prompt, Purpose, TextEntry};
pub use sources::{Followed, ReplayState, Seat};

use super::action::ExportOptions;
use super::example::Example;
use super::keymap::Keymap;
use super::memory::Memory;
use super::panes::table;
use super::popups::{Compared, Held};
use super::reduce::replay;
use super::screen::{Pane, Screen, ScreenId};
use super::screens::{SCREENS, Views, home, labs, screen};
use super::setup::{History, Setup};
use super::theme::Theme;
use engine::Down;
use engine::board::Board;
use engine::message::Notice;
use labs::{LABS, LabId, Spec};
use session::format::Entry;
use session::shelf::Recorded;

/// The state of the terminal program.
#[derive(Debug, Clone)]
pub struct State {
    /// Earlier and later settings of each lab.
    pub(crate) history: BTreeMap<LabId, History>,
    /// Results: a fold over commands and events.
    pub board: Board,
    /// The recorded run that a first start shows until there are results.
    pub(crate) example: Option<Example>,
    /// The recorded example that runs are compared with, once that was asked for.
    pub(crate) beside: Option<Example>,
    /// State of each screen, including its settings.
    pub screens: Views,
    /// State of the view.
    pub view: View,
    /// Key bindings.
    pub keymap: Keymap,
    /// The themes to cycle through; never empty.
    pub themes: Vec<Theme>,
    /// Name of the recorded session, if it is recorded.
    pub recording: Recording,
    /// The position in the recording, if one is played in place of an engine.
    pub replay: Option<ReplayState>,
    /// Address of a remote engine.
    pub far: Option<Seat>,
    /// Set while the link to it is down.
    pub down: Option<Down>,
    /// The followed grid, if the program was opened for one.
    pub followed: Option<Followed>,
    /// Notices that the engine does not know about, each with the number of board notices that preceded it.
    pub local: Vec<(usize, Notice)>,
    /// The folder that the program was started in.
    pub folder: PathBuf,
    /// The run whose cancellation was asked for.
    pub cancelling: Option<u64>,
    /// Runs that wait for the one in progress, the next one first. A run is sent to the engine, and recorded, only when it
    /// begins.
    pub queue: VecDeque<Spec>,
    /// Quit as soon as the run has stopped.
    pub quitting: bool,
    /// The recorded sessions, newest first, once they have been listed.
    pub sessions: Option<Vec<Recorded>>,
    /// The figure whose export waits for an answer because it would replace files.
    pub held: Option<Held>,
}

/// State of the frame: everything that is not measured.
#[derive(Debug, Clone)]
pub struct View {
    /// Columns and rows of the terminal.
    pub size: (u16, u16),
    /// The screen that is shown.
    pub screen: ScreenId,
    /// The lab that was shown last; other screens select models for its setup.
    pub lab: ScreenId,
    /// Focus, zoom and scroll of each screen.
    pub places: BTreeMap<ScreenId, Place>,
    /// The popup on top.
    pub popup: Option<Popup>,
    /// The text field at the bottom.
    pub entry: Option<TextEntry>,
    /// Options for writing figures.
    pub(crate) export: ExportOptions,
    /// The characters that charts and sliders are drawn with.
    pub glyphs: Glyphs,
    /// Index into the themes.
    pub theme: usize,
    /// The two runs that are compared.
    pub(crate) compared: Compared,
    /// The row of the settings whose choices are picked in a popup.
    pub(crate) picked: Option<String>,
    /// True if a box was ticked or unticked since those choices opened.
    pub(crate) ticked: bool,
    /// Names of the commands that were chosen by name, the latest first.
    pub recent: Vec<&'static str>,
    /// Kind of start; the strip of the first start goes when it is dismissed.
    pub opening: Opening,
    /// The session whose runs are being read to go on with.
    pub(crate) reading: Option<String>,
    /// True if figures draw the bands of all lines.
    pub all_bands: bool,
    /// True if the mouse is the terminal's own.
    pub mouse_free: bool,
    /// A message that stays for a few seconds, or until the next key.
    pub toast: Option<String>,
    /// Meaning of the next key, if the last one needs another.
    pub(crate) pending: Option<Pending>,
    /// The message that the latest tick saw, and how many ticks have seen it.
    pub(crate) toast_age: (Option<String>, usize),
    /// Object of a mouse drag.
    pub(crate) drag: Option<Drag>,
    /// Counts ticks, for the spinner.
    pub ticks: usize,
}

/// The slot of a lab's figures.
pub(crate) const FIGURES: usize = 2;

/// Object of a mouse drag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Drag {
    /// A row of the setup pane, by its key.
    Setting(String),
    /// Something in a pane of the screen.
    Pane(Pane),
}

/// How to read the next key while the last command is still pending. Cleared together with its message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pending {
    /// A filter was refused: letters are its text and not commands.
    Filter,
    /// A run of unchanged settings was requested: a second request runs it.
    Repeat,
}

/// True if the session is recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recording {
    /// The session is not recorded.
    Off,
    /// It is recorded under this name.
    On(String),
    /// It was recorded until this error.
    Failed(String),
}

/// Kind of start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Opening {
    /// The first start ever: a recorded example of the default experiment, over a strip that says what it asks and how to run it.
    First,
    /// The experiment that was asked for runs.
    #[default]
    Work,
    /// The opening screen; nothing runs.
    Home,
}

/// Inputs of a new state.
#[derive(Debug, Clone)]
pub struct Start {
    /// Kind of start.
    pub opening: Opening,
    /// State kept from the last start.
    pub memory: Option<Memory>,
    /// The experiment that runs first.
    pub spec: Spec,
    /// Key bindings.
    pub keymap: Keymap,
    /// The themes; if empty, the shipped ones.
    pub themes: Vec<Theme>,
    /// The characters that charts are drawn with.
    pub glyphs: Glyphs,
    /// Columns and rows of the terminal.
    pub size: (u16, u16),
    /// The name under which the session is recorded.
    pub recording: Option<String>,
    /// True if the user gave that name: the session is then always kept.
    pub named: bool,
    /// The recording that is played in place of an engine.
    pub replay: Option<ReplayState>,
    /// Address of a remote engine.
    pub far: Option<Seat>,
    /// The grid that is followed.
    pub followed: Option<Followed>,
    /// Its results before this screen attached, and its age.
    pub past: Vec<Entry>,
    /// See [`Self::past`].
    pub age: Duration,
    /// The folder that the program was started in.
    pub folder: PathBuf,
}

impl Start {
    /// The default experiment at 120 columns and 40 rows, not recorded.
    pub fn new() -> Self {
        Self {
            opening: Opening::Work,
            memory: None,
            spec: default_spec(),
            keymap: Keymap::default(),
            themes: Theme::shipped(),
            glyphs: Glyphs::Braille,
            size: (120, 40),
            recording: None,
            named: false,
            replay: None,
            far: None,
            followed: None,
            past: Vec::new(),
            age: Duration::ZERO,
            folder: PathBuf::new(),
        }
    }
}

/// The default experiment: that of the first lab.
fn default_spec() -> Spec {
    let text = LABS[0].default_spec();
    Spec::parse(text, "shipped").unwrap_or_else(|e| unreachable!("the shipped spec is checked by a test: {e}"))
}

impl Default for Start {
    fn default() -> Self {
        Self::new()
    }
}

impl State {
    /// A state before anything has happened: the lab of the spec is shown.
    pub fn new(start: Start) -> Self {
        let screens = Views::new(&start);
        let folder = start.folder;
        let Start {
            opening, memory, spec, keymap, themes, glyphs, size, recording, replay, far, followed, past, ..
        } = start;
        let first = labs().find(|s| s.setup().is_some_and(|setup| setup.lab() == spec.lab()));
        let lab = first.or(labs().next()).unwrap_or(SCREENS[0]).id();
        let view = View {
            size,
            screen: SCREENS.iter().find(|s| s.watches() && followed.is_some()).map_or(lab, |s| s.id()),
            lab,
            places: SCREENS.iter().map(|s| (s.id(), Place::at(s.first()))).collect(),
            popup: None,
            entry: None,
            export: ExportOptions::default(),
            glyphs,
            theme: 0,
            compared: Compared::default(),
            picked: None,
            ticked: false,
            recent: Vec::new(),
            opening,
            reading: None,
            all_bands: false,
            mouse_free: false,
            toast: None,
            pending: None,
            toast_age: (None, 0),
            drag: None,
            ticks: 0,
        };
        let mut state = Self {
            history: BTreeMap::new(),
            board: Board::default(),
            example: None,
            beside: None,
            screens,
            view,
            keymap,
            themes: if themes.is_empty() { Theme::shipped() } else { themes },
            recording: recording.map_or(Recording::Off, Recording::On),
            replay,
            far,
            down: None,
            followed,
            local: Vec::new(),
            folder,
            cancelling: None,
            queue: VecDeque::new(),
            quitting: false,
            sessions: None,
            held: None,
        };
        // A requested spec takes precedence over the kept one of its lab.
        match memory {
            Some(memory) if state.replay.is_none() => memory.restore(&mut state),
            Some(memory) => memory.restore_look(&mut state),
            None => {}
        }
        if let (Opening::Work, Some(setup)) = (opening, screen(lab).setup()) {
            setup.take(&mut state, &spec);
            state.view.lab = lab;
        }
        if opening == Opening::Home && state.followed.is_none() {
            state.view.screen = home::ID;
            state.here_mut().focus = home::SESSIONS;
        }
        for entry in &past {
            replay::follow(&mut state, entry);
        }
        for screen in SCREENS {
            screen.refresh(&mut state);
        }
        state
    }

    /// The theme that is shown.
    pub fn theme(&self) -> &Theme {
        &self.themes[self.view.theme % self.themes.len()]
    }

    /// The screen that is shown.
    pub fn screen(&self) -> &'static dyn Screen {
        screen(self.view.screen)
    }

    /// The setup of the lab that was shown last.
    pub fn setup(&self) -> Option<&'static dyn Setup> {
        screen(self.view.lab).setup()
    }

    pub fn show(&mut self, id: ScreenId) {
        self.view.screen = id;
        if screen(id).setup().is_some() {
            self.view.lab = id;
        }
    }

    /// Focus and cursor on a screen.
    pub fn place(&self, id: ScreenId) -> &Place {
        &self.view.places[&id]
    }

    /// The same, mutably.
    pub fn place_mut(&mut self, id: ScreenId) -> &mut Place {
        self.view.places.entry(id).or_insert_with(|| Place::at(screen(id).first()))
    }

    /// Focus and cursor on the shown screen.
    pub fn here(&self) -> &Place {
        self.place(self.view.screen)
    }

    /// The same, mutably.
    pub fn here_mut(&mut self) -> &mut Place {
        self.place_mut(self.view.screen)
    }

    /// True if this pane of the shown screen has the focus.
    pub(crate) fn focused(&self, pane: Pane) -> bool {
        self.here().focus == pane
    }

    /// Gives a pane of the shown screen the focus; the slot that had it keeps its pane visible.
    pub fn focus_on(&mut self, pane: Pane) {
        let slots = self.screen().slots();
        let place = self.here_mut();
        if let Some(slot) = slots.iter().find(|slot| slot.contains(&place.focus)) {
            place.tabs.insert(slot[0], place.focus);
        }
        place.focus = pane;
    }

    /// The panes of a slot of the shown screen that have content, and the visible one.
    pub(crate) fn offered(&self, slot: &[Pane]) -> Vec<Pane> {
        let (screen, here) = (self.screen(), self.here().shown(slot));
        slot.iter().copied().filter(|pane| *pane == here || screen.offers(self, *pane)).collect()
    }

    /// Shows a pane of the current screen; the focus moves only within its slot.
    pub fn turn_to(&mut self, pane: Pane) {
        let slots = self.screen().slots();
        let Some(slot) = slots.iter().find(|slot| slot.contains(&pane)) else { return };
        let place = self.here_mut();
        if slot.contains(&place.focus) {
            place.focus = pane;
        }
        place.tabs.insert(slot[0], pane);
    }

    /// The pane whose figure and numbers a command refers to: the focused one, or the visible figure if settings or a
    /// list are focused.
    pub fn looked_at(&self, id: ScreenId) -> Pane {
        let place = self.place(id);
        let slots = screen(id).slots();
        let of_figures = slots.get(FIGURES).filter(|_| screen(id).setup().is_some());
        match of_figures {
            Some(slot) if slots[..FIGURES].iter().any(|slot| slot.contains(&place.focus)) => place.shown(slot),
            _ => place.focus,
        }
    }

    /// The pane whose figure is in sight: the focused one, or else the visible one among a lab's figures.
    pub(crate) fn figure_in_sight(&self, id: ScreenId) -> Pane {
        let place = self.place(id);
        match screen(id).slots().get(FIGURES) {
            Some(slot) if !slot.contains(&place.focus) => place.shown(slot),
            _ => place.focus,
        }
    }

    /// True if the engine is working on a run.
    pub fn busy(&self) -> bool {
        self.replay.is_none() && self.board.running()
    }

    /// True if keys go into a text.
    pub fn typing(&self) -> bool {
        self.view.entry.is_some() || matches!(self.view.popup, Some(Popup::Help { .. } | Popup::Palette { .. }))
    }

    /// True if the text being typed filters a list.
    pub(crate) fn typing_in_list(&self) -> bool {
        match &self.view.entry {
            None => self.typing(),
            Some(entry) => table::is_filter(&entry.purpose) && self.view.popup.is_some(),
        }
    }

    /// True if the popup offers something to choose.
    pub(crate) fn picking(&self) -> bool {
        matches!(self.view.popup, Some(Popup::Pick { .. } | Popup::Menu { .. }))
    }

    /// True if the popup's entries have checkboxes that can be toggled now.
    pub fn marking(&self) -> bool {
        matches!(self.view.popup, Some(Popup::Pick { picker, .. }) if picker.marks(self))
    }

    /// True if the popup shows something to copy.
    pub(crate) fn popup_copies(&self) -> bool {
        matches!(self.view.popup, Some(Popup::Page { page, .. }) if page.copy(self).is_some())
    }

    /// The name of the popup on top.
    pub fn popup_name(&self) -> Option<&'static str> {
        self.view.popup.as_ref().map(Popup::name)
    }
}

#[cfg(test)]
mod tests;
