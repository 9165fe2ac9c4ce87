//! Everything the screen knows. Changed only by [`super::reduce::reduce`]; the view borrows it.

mod glyphs;
mod notices;
mod place;
mod popup;
mod sources;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

pub use glyphs::Glyphs;
pub use place::{Place, moved};
pub use popup::{Popup, Prompt, Purpose, TextEntry};
pub use sources::{Followed, ReplayState, Seat};

use super::keymap::Keymap;
use super::memory::Memory;
use super::popups::Held;
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
    /// What has been measured: a fold over commands and events, and nothing else.
    pub board: Board,
    /// What each screen remembers, including how its experiment is set up.
    pub screens: Views,
    /// How the user looks at it.
    pub view: View,
    /// Which key does what.
    pub keymap: Keymap,
    /// The themes to cycle through; never empty.
    pub themes: Vec<Theme>,
    /// Whether and under which name the session is recorded.
    pub recording: Recording,
    /// The position in the recording, if one is played in place of an engine.
    pub replay: Option<ReplayState>,
    /// Where the engine is, if it is far away.
    pub far: Option<Seat>,
    /// Set while the link to it is down.
    pub down: Option<Down>,
    /// The grid that is followed, if that is what the program was opened for.
    pub followed: Option<Followed>,
    /// Notices that the engine does not know about, each with the number of board notices that preceded it.
    pub local: Vec<(usize, Notice)>,
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

/// How the user looks at it, as far as the frame is concerned: everything that is not measured.
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
    /// The characters that charts and sliders are drawn with.
    pub glyphs: Glyphs,
    /// Index into the themes.
    pub theme: usize,
    /// The generations of two runs that are compared.
    pub(crate) compared: (u64, u64),
    /// The row of the settings whose choices are picked in a popup.
    pub(crate) picked: Option<String>,
    /// Names of the commands that were chosen by name, the latest first.
    pub recent: Vec<&'static str>,
    /// How the program began; the strip of the first start goes when it is dismissed.
    pub opening: Opening,
    /// Whether figures draw the bands of all lines.
    pub all_bands: bool,
    /// Whether the mouse is the terminal's own.
    pub mouse_free: bool,
    /// A message that stays for a few seconds, or until the next key.
    pub toast: Option<String>,
    /// The message that the latest tick saw, and how many ticks have seen it.
    pub(crate) toast_age: (Option<String>, usize),
    /// What the mouse drags.
    pub(crate) drag: Option<Drag>,
    /// Counts ticks, for the spinner.
    pub ticks: usize,
}

/// The slot of a lab's figures.
pub(crate) const FIGURES: usize = 2;

/// What the mouse drags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Drag {
    /// A row of the setup pane, by its key.
    Setting(String),
    /// Something in a pane of the screen.
    Pane(Pane),
}

/// Whether the session is recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recording {
    /// It is not.
    Off,
    /// It is, under this name.
    On(String),
    /// It was, until this went wrong.
    Failed(String),
}

/// How the program begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Opening {
    /// The first start ever: the default experiment runs, under a strip that says what it asks.
    First,
    /// The experiment that was asked for runs.
    #[default]
    Work,
    /// The opening screen; nothing runs.
    Home,
}

/// What a state is made from.
#[derive(Debug, Clone)]
pub struct Start {
    /// How the program begins.
    pub opening: Opening,
    /// What was kept of the last start.
    pub memory: Option<Memory>,
    /// The experiment that runs first.
    pub spec: Spec,
    /// Which key does what.
    pub keymap: Keymap,
    /// The themes; if empty, the shipped ones.
    pub themes: Vec<Theme>,
    /// The characters that charts are drawn with.
    pub glyphs: Glyphs,
    /// Columns and rows of the terminal.
    pub size: (u16, u16),
    /// The name under which the session is recorded.
    pub recording: Option<String>,
    /// The recording that is played in place of an engine.
    pub replay: Option<ReplayState>,
    /// Where the engine is, if it is far away.
    pub far: Option<Seat>,
    /// The grid that is followed.
    pub followed: Option<Followed>,
    /// What it measured before this screen came, and for how long it had been there.
    pub past: Vec<Entry>,
    /// See [`Self::past`].
    pub age: Duration,
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
            replay: None,
            far: None,
            followed: None,
            past: Vec::new(),
            age: Duration::ZERO,
        }
    }
}

/// The default experiment: that of the first lab.
fn default_spec() -> Spec {
    let text = LABS[0].default_spec();
    Spec::parse(text, "shipped")
        .unwrap_or_else(|e| unreachable!("the shipped spec is checked by a test: {e}"))
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
        let Start {
            opening,
            memory,
            spec,
            keymap,
            themes,
            glyphs,
            size,
            recording,
            replay,
            far,
            followed,
            past,
            ..
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
            glyphs,
            theme: 0,
            compared: (0, 0),
            picked: None,
            recent: Vec::new(),
            opening,
            all_bands: false,
            mouse_free: false,
            toast: None,
            toast_age: (None, 0),
            drag: None,
            ticks: 0,
        };
        let mut state = Self {
            history: BTreeMap::new(),
            board: Board::default(),
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
            cancelling: None,
            queue: VecDeque::new(),
            quitting: false,
            sessions: None,
            held: None,
        };
        // A spec that was asked for stands before what was kept of its lab.
        if let Some(memory) = memory.filter(|_| state.replay.is_none()) {
            memory.restore(&mut state);
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

    /// Where the user is on a screen.
    pub fn place(&self, id: ScreenId) -> &Place {
        &self.view.places[&id]
    }

    /// The same, mutably.
    pub fn place_mut(&mut self, id: ScreenId) -> &mut Place {
        self.view.places.entry(id).or_insert_with(|| Place::at(screen(id).first()))
    }

    /// Where the user is on the screen that is shown.
    pub fn here(&self) -> &Place {
        self.place(self.view.screen)
    }

    /// The same, mutably.
    pub fn here_mut(&mut self) -> &mut Place {
        self.place_mut(self.view.screen)
    }

    /// Whether this pane of the shown screen has the focus.
    pub(crate) fn focused(&self, pane: Pane) -> bool {
        self.here().focus == pane
    }

    /// Gives a pane of the shown screen the focus; the slot that had it keeps its pane in sight.
    pub fn focus_on(&mut self, pane: Pane) {
        let slots = self.screen().slots();
        let place = self.here_mut();
        if let Some(slot) = slots.iter().find(|slot| slot.contains(&place.focus)) {
            place.tabs.insert(slot[0], place.focus);
        }
        place.focus = pane;
    }

    /// Puts a pane of the shown screen in sight; the focus moves only within its slot.
    pub fn turn_to(&mut self, pane: Pane) {
        let slots = self.screen().slots();
        let Some(slot) = slots.iter().find(|slot| slot.contains(&pane)) else { return };
        let place = self.here_mut();
        if slot.contains(&place.focus) {
            place.focus = pane;
        }
        place.tabs.insert(slot[0], pane);
    }

    /// The pane whose figure and numbers are meant on a screen: the one with the focus, or for settings and lists the figure in sight.
    pub fn looked_at(&self, id: ScreenId) -> Pane {
        let place = self.place(id);
        let slots = screen(id).slots();
        let of_figures = slots.get(FIGURES).filter(|_| screen(id).setup().is_some());
        match of_figures {
            Some(slot) if slots[..FIGURES].iter().any(|slot| slot.contains(&place.focus)) => {
                place.shown(slot)
            }
            _ => place.focus,
        }
    }

    /// Whether the engine is working on a run.
    pub fn busy(&self) -> bool {
        self.replay.is_none() && self.board.running()
    }

    /// Whether keys go into a text.
    pub fn typing(&self) -> bool {
        self.view.entry.is_some()
            || matches!(self.view.popup, Some(Popup::Help { .. } | Popup::Palette { .. }))
    }

    /// Whether the text being typed filters a list.
    pub(crate) fn typing_in_list(&self) -> bool {
        self.view.entry.is_none() && self.typing()
    }

    /// Whether the popup offers something to choose.
    pub(crate) fn picking(&self) -> bool {
        matches!(self.view.popup, Some(Popup::Pick { .. } | Popup::Menu { .. }))
    }

    /// Whether the popup's entries have checkboxes that can be toggled now.
    pub fn marking(&self) -> bool {
        matches!(self.view.popup, Some(Popup::Pick { picker, .. }) if picker.marks(self))
    }

    /// Whether the popup shows something to copy.
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
