//! The state of the screen, changed only by [`super::reduce::reduce`]; the view borrows it.

mod glyphs;
mod memo;
mod notices;
mod place;
mod popup;
mod sources;

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::time::Duration;

pub use glyphs::Glyphs;
use memo::Memo;
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
use super::setup::{self, History, Setup};
use super::theme::Theme;
use engine::Down;
use engine::board::Board;
use engine::message::Notice;
use labs::{LABS, LabId, Spec};
use session::format::Entry;
use session::shelf::Recorded;

#[derive(Debug, Clone)]
pub struct State {
    pub(crate) frame: Memo,
    /// Undo and redo of each lab's settings.
    pub(crate) history: BTreeMap<LabId, History>,
    /// Results: a fold over commands and events.
    pub board: Board,
    /// Recorded run that a first start shows until there are results.
    pub(crate) example: Option<Example>,
    /// Recorded example that a run is compared with, once requested.
    pub(crate) beside: Option<Example>,
    pub screens: Views,
    pub view: View,
    pub keymap: Keymap,
    /// Available themes; never empty.
    pub themes: Vec<Theme>,
    pub recording: Recording,
    /// The replayed recording and the position in it; `None` with an engine.
    pub replay: Option<ReplayState>,
    pub far: Option<Seat>,
    /// Set while the link to the remote engine is down.
    pub down: Option<Down>,
    pub followed: Option<Followed>,
    /// Notices unknown to the engine, each with the number of board notices that preceded it.
    pub local: Vec<(usize, Notice)>,
    /// Working directory.
    pub folder: PathBuf,
    /// The run being cancelled.
    pub cancelling: Option<u64>,
    /// Runs that wait for the one in progress, starting with the next. A run is sent to the engine, and recorded, only when it starts.
    pub queue: VecDeque<Spec>,
    /// True if the program quits once the run has stopped.
    pub quitting: bool,
    /// Recorded sessions, newest first, once listed.
    pub sessions: Option<Vec<Recorded>>,
    /// Export that waits for a decision because it would replace files.
    pub held: Option<Held>,
}

/// View state of the frame.
#[derive(Debug, Clone)]
pub struct View {
    /// Terminal size in columns and rows.
    pub size: (u16, u16),
    pub screen: ScreenId,
    /// The lab shown last; other screens select models for its setup.
    pub lab: ScreenId,
    pub places: BTreeMap<ScreenId, Place>,
    pub popup: Option<Popup>,
    pub entry: Option<TextEntry>,
    pub(crate) export: ExportOptions,
    /// Numbers of files written and to be written by the export in progress; the second is 0 until known.
    pub(crate) writing: Option<(usize, usize)>,
    pub glyphs: Glyphs,
    /// Index into the themes.
    pub theme: usize,
    /// Estimated durations in seconds by experiment; `None` until known.
    pub(crate) forecasts: Vec<(labs::Spec, Option<f64>)>,
    /// The two runs that are compared.
    pub(crate) compared: Compared,
    /// The row of the settings whose choices are picked in a popup.
    pub(crate) picked: Option<String>,
    /// True if a checkbox was toggled since that popup opened.
    pub(crate) ticked: bool,
    /// Commands recently chosen by name, latest first.
    pub recent: Vec<&'static str>,
    /// Kind of start; dismissing the first start's strip changes it.
    pub opening: Opening,
    /// Session that is being read to be continued.
    pub(crate) reading: Option<String>,
    /// True if figures draw the bands of all lines.
    pub all_bands: bool,
    pub mouse_free: bool,
    /// Message shown for a few seconds or until the next key.
    pub toast: Option<String>,
    /// Meaning of the next key, if a command is pending.
    pub(crate) pending: Option<Pending>,
    /// The message at the latest tick, and how many ticks it has been shown.
    pub(crate) toast_age: (Option<String>, usize),
    pub(crate) drag: Option<Drag>,
    /// Number of ticks so far, for the spinner.
    pub ticks: usize,
    /// True if results may have changed in place since the figures were derived.
    pub(crate) has_news: bool,
}

/// Index of the slot of a lab's figures.
pub(crate) const FIGURES: usize = 2;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Drag {
    /// A row of the settings, by its key.
    Setting(String),
    Pane(Pane),
}

/// Meaning of the next key while a command is pending; cleared together with its message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pending {
    /// A filter was rejected, so letters typed next belong to it and are not commands.
    Filter,
    /// A run with unchanged settings was requested; a second request starts it.
    Repeat,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recording {
    Off,
    /// Recorded under this name.
    On(String),
    /// Recorded until this error.
    Failed(String),
}

impl Recording {
    pub(crate) fn name(&self) -> Option<String> {
        if let Self::On(name) = self { Some(name.clone()) } else { None }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Opening {
    /// The first start: a recorded example of the default experiment, under a strip with its question and how to run it.
    First,
    /// Runs the requested experiment.
    #[default]
    Work,
    Home,
}

#[derive(Debug, Clone)]
pub struct Start {
    pub opening: Opening,
    /// State saved at the last exit.
    pub memory: Option<Memory>,
    /// The experiment to run first.
    pub spec: Spec,
    pub keymap: Keymap,
    /// Themes; if empty, the shipped ones.
    pub themes: Vec<Theme>,
    pub glyphs: Glyphs,
    /// Terminal size in columns and rows.
    pub size: (u16, u16),
    pub recording: Option<String>,
    /// True if the user chose the name; the session is then always kept.
    pub named: bool,
    pub replay: Option<ReplayState>,
    pub far: Option<Seat>,
    pub followed: Option<Followed>,
    /// The remote engine's log from before this screen attached.
    pub past: Vec<Entry>,
    /// Age of the remote engine's log.
    pub age: Duration,
    /// Working directory.
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

fn default_spec() -> Spec {
    let text = LABS[0].default_spec();
    Spec::parse(text, "shipped").unwrap_or_else(|e| unreachable!("a test checks that shipped specs are valid: {e}"))
}

impl Default for Start {
    fn default() -> Self {
        Self::new()
    }
}

impl State {
    /// Initial state, with the spec's lab shown.
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
            writing: None,
            glyphs,
            theme: 0,
            forecasts: Vec::new(),
            compared: Compared::default(),
            picked: None,
            has_news: true,
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
            frame: Memo::default(),
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

    pub fn theme(&self) -> &Theme {
        &self.themes[self.view.theme % self.themes.len()]
    }

    pub fn screen(&self) -> &'static dyn Screen {
        screen(self.view.screen)
    }

    /// Setup of the lab shown last.
    pub fn setup(&self) -> Option<&'static dyn Setup> {
        screen(self.view.lab).setup()
    }

    /// Shows a screen, and closes the form of the previous screen.
    pub fn show(&mut self, id: ScreenId) {
        if id != self.view.screen {
            setup::close_form(self);
        }
        self.view.screen = id;
        if screen(id).setup().is_some() {
            self.view.lab = id;
        }
    }

    pub fn place(&self, id: ScreenId) -> &Place {
        &self.view.places[&id]
    }

    pub fn place_mut(&mut self, id: ScreenId) -> &mut Place {
        self.view.places.entry(id).or_insert_with(|| Place::at(screen(id).first()))
    }

    pub fn here(&self) -> &Place {
        self.place(self.view.screen)
    }

    pub fn here_mut(&mut self) -> &mut Place {
        self.place_mut(self.view.screen)
    }

    pub(crate) fn focused(&self, pane: Pane) -> bool {
        self.here().focus == pane
    }

    /// Moves the focus to a pane of the current screen; the previous slot keeps its pane visible.
    pub fn focus_on(&mut self, pane: Pane) {
        let slots = self.screen().slots();
        let place = self.here_mut();
        if let Some(slot) = slots.iter().find(|slot| slot.contains(&place.focus)) {
            place.tabs.insert(slot[0], place.focus);
        }
        place.focus = pane;
    }

    /// Panes in a slot of the current screen that have contents, and the visible one.
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

    /// True if a lab's figure or detail has the focus.
    pub(crate) fn shows_figure(&self) -> bool {
        let focus = &self.here().focus;
        self.screen().setup().is_some() && self.screen().slots().iter().skip(FIGURES).any(|slot| slot.contains(focus))
    }

    /// Pane whose figure and numbers a command refers to: the focused one, or the visible figure if settings or a list have the focus.
    pub fn looked_at(&self, id: ScreenId) -> Pane {
        let place = self.place(id);
        let slots = screen(id).slots();
        let of_figures = slots.get(FIGURES).filter(|_| screen(id).setup().is_some());
        match of_figures {
            Some(slot) if slots[..FIGURES].iter().any(|slot| slot.contains(&place.focus)) => place.shown(slot),
            _ => place.focus,
        }
    }

    /// The pane whose figure is visible: the focused one, or else the visible one among a lab's figures.
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

    /// True if typed characters go into a text field.
    pub fn typing(&self) -> bool {
        self.view.entry.is_some() || matches!(self.view.popup, Some(Popup::Help { .. } | Popup::Palette { .. }))
    }

    /// True if the typed text filters a list.
    pub(crate) fn typing_in_list(&self) -> bool {
        match &self.view.entry {
            None => self.typing(),
            Some(entry) => table::is_filter(&entry.purpose) && self.view.popup.is_some(),
        }
    }

    pub(crate) fn picking(&self) -> bool {
        matches!(self.view.popup, Some(Popup::Pick { .. } | Popup::Menu { .. }))
    }

    /// True if the popup's entry under the cursor has a checkbox that can be toggled now.
    pub fn marking(&self) -> bool {
        matches!(self.view.popup, Some(Popup::Pick { picker, selected, .. }) if picker.marks(self, selected))
    }

    pub(crate) fn popup_copies(&self) -> bool {
        matches!(self.view.popup, Some(Popup::Page { page, .. }) if page.copy(self).is_some())
    }

    pub fn popup_name(&self) -> Option<&'static str> {
        self.view.popup.as_ref().map(Popup::name)
    }
}

#[cfg(test)]
mod tests;
