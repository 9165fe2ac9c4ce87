//! Everything the screen knows. Changed only by [`super::reduce::reduce`]; the view borrows it.

mod copying;
mod figures;
mod origin;
pub mod readout;
mod rows;
mod sets;
pub mod setup;
pub mod stops;

use std::collections::BTreeMap;

pub use figures::Figures;
pub use origin::Origin;
pub use setup::Row;

use super::catalog::{Catalog, MethodEntry};
use super::keymap::Keymap;
use super::theme::Theme;
use crate::engine::board::Board;
use crate::engine::message::Notice;
use crate::figure::Scale;
use crate::lab::interventions::oracle::OracleKind;
use crate::lab::interventions::spec::Spec;
use crate::lab::interventions::{key::MethodKey, results::Results};
use crate::lab::{self, LabId};

/// Local notices kept; older ones are dropped.
const MAX_LOCAL: usize = 200;

/// The state of the terminal program.
#[derive(Debug, Clone)]
pub struct State {
    /// What has been measured: a fold over commands and events and nothing else.
    pub board: Board,
    /// The experiment as the user sets it up.
    pub spec: Spec,
    /// How the user looks at it.
    pub view: View,
    /// What can be picked.
    pub catalog: Catalog,
    /// Which key does what.
    pub keymap: Keymap,
    /// The themes that can be cycled through; never empty.
    pub themes: Vec<Theme>,
    /// Whether and under which name the session is recorded.
    pub recording: Recording,
    /// Where the recording stands, where one is played in place of an engine.
    pub replay: Option<ReplayState>,
    /// Notices that the engine does not know, each with the number of the board's notices that came before it.
    pub local: Vec<(usize, Notice)>,
    /// The run whose cancellation was asked for.
    pub cancelling: Option<u64>,
    /// The latest question about data when their cancellation was asked for.
    pub cancelling_data: Option<u64>,
    /// Quit as soon as the run has stopped.
    pub quitting: bool,
    /// The figures of the current view.
    pub figures: Figures,
}

/// How the user looks at the experiment.
#[derive(Debug, Clone)]
pub struct View {
    /// Columns and rows of the terminal.
    pub size: (u16, u16),
    /// The lab on the screen.
    pub lab: Lab,
    /// The pane that keys go to.
    pub focus: Pane,
    /// Whether the focused pane has the whole screen.
    pub zoom: bool,
    /// The popup on top.
    pub popup: Option<Popup>,
    /// The text field at the bottom.
    pub entry: Option<TextEntry>,
    /// The cursor of the setup pane.
    pub row: usize,
    /// The cursor of the list of models.
    pub model_row: usize,
    /// Lines of the model's description that are scrolled away.
    pub dossier_scroll: usize,
    /// The cursor of the list of data sets.
    pub data_row: usize,
    /// Lines scrolled away of what is known of the data set.
    pub data_scroll: usize,
    /// Lines scrolled away, per pane.
    pub scroll: BTreeMap<Pane, usize>,
    /// The method that is drawn.
    pub method: String,
    /// The model that is drawn.
    pub model: String,
    /// The oracle whose judgement is drawn.
    pub oracle: OracleKind,
    /// Where the slider of each method stands.
    pub markers: BTreeMap<String, f64>,
    /// The example that is shown.
    pub example: usize,
    /// The horizontal scale, where the user overrules the method's own.
    pub scale: Option<Scale>,
    /// What charts and sliders are drawn with.
    pub glyphs: Glyphs,
    /// Index into the themes.
    pub theme: usize,
    /// A message that stays until the next key.
    pub toast: Option<String>,
    /// What the mouse drags.
    pub drag: Option<Drag>,
    /// Counts ticks, for the spinner.
    pub ticks: usize,
}

/// A lab on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lab {
    /// Completeness, selectivity and reliability of interventions.
    Interventions,
    /// The models that can be picked.
    Models,
    /// Data sets.
    Data,
}

/// A pane of the interventions lab.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pane {
    /// The experiment as it is set up.
    Setup,
    /// C, S and R against the strength.
    Curves,
    /// C against S for all methods.
    Pareto,
    /// One example before and after.
    Example,
    /// The audit of oracles and probes.
    Probes,
}

impl Pane {
    /// All panes in the order of the focus.
    pub const ALL: [Pane; 5] = [Pane::Setup, Pane::Curves, Pane::Pareto, Pane::Example, Pane::Probes];

    /// Name on its tab.
    pub fn title(self) -> &'static str {
        match self {
            Pane::Setup => "Setup",
            Pane::Curves => "Curves",
            Pane::Pareto => "Pareto",
            Pane::Example => "Example",
            Pane::Probes => "Probes",
        }
    }
}

/// Something on top of the panes.
#[derive(Debug, Clone, PartialEq)]
pub enum Popup {
    /// Every key, searchable.
    Help {
        /// What is searched for.
        query: String,
        /// Lines scrolled away.
        scroll: usize,
    },
    /// Every command by name.
    Palette {
        /// What was typed.
        query: String,
        /// Which match is under the cursor.
        selected: usize,
    },
    /// The methods.
    Methods {
        /// Which one is under the cursor.
        selected: usize,
    },
    /// Where numbers come from.
    Provenance {
        /// Lines scrolled away.
        scroll: usize,
    },
    /// What went wrong.
    Notices {
        /// Lines scrolled away, counted from the newest.
        scroll: usize,
    },
    /// A run is in progress: what now?
    Quit {
        /// Which of [`QUIT_CHOICES`] is under the cursor.
        selected: usize,
    },
}

/// What the user can answer when she quits while a run is in progress.
pub const QUIT_CHOICES: [&str; 3] = ["Stop the run cleanly, then quit", "Quit at once", "Back"];

/// A line of text that is being typed.
#[derive(Debug, Clone, PartialEq)]
pub struct TextEntry {
    /// What it is for.
    pub purpose: Purpose,
    /// What was typed.
    pub buffer: String,
    /// Why it cannot be taken.
    pub error: Option<String>,
}

/// What a text is typed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// The value of a slider.
    Value(Row),
    /// The name of the session.
    Session,
    /// The address of a model to add.
    Model,
    /// The path of a data set to add.
    Data,
}

/// What the mouse drags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drag {
    /// A slider of the setup pane.
    Slider(Row),
    /// The marker on the curves.
    Marker,
}

/// What charts and sliders are drawn with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Glyphs {
    /// Braille dots: eight to a cell.
    Braille,
    /// Half blocks: two to a cell, for fonts without Braille.
    Blocks,
    /// ASCII, for terminals without Unicode.
    Ascii,
}

impl Glyphs {
    fn pick(self, unicode: &'static str, ascii: &'static str) -> &'static str {
        if self == Glyphs::Ascii { ascii } else { unicode }
    }

    /// The box of something that is selected, or not.
    pub fn check(self, on: bool) -> &'static str {
        if on { self.pick("▣", "[x]") } else { self.pick("▢", "[ ]") }
    }

    /// The mark of the row under the cursor, or the room that it takes.
    pub fn cursor(self, here: bool) -> &'static str {
        if here { self.pick("▸", ">") } else { " " }
    }

    /// The sign of something that failed.
    pub fn cross(self) -> &'static str {
        self.pick("✗", "x")
    }
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

/// Where a recording stands that is played.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplayState {
    /// Its name.
    pub name: String,
    /// Seconds from its beginning.
    pub at: f64,
    /// Its length in seconds.
    pub length: f64,
    /// Multiple of the original speed.
    pub speed: f64,
    /// Whether it is held.
    pub held: bool,
    /// Whether everything has been played.
    pub ended: bool,
}

impl ReplayState {
    /// The beginning of a recording of so many seconds, played at a multiple of its speed.
    pub fn new(name: String, length: f64, speed: f64) -> Self {
        Self { name, at: 0.0, length, speed, held: false, ended: false }
    }
}

/// What a state starts from.
#[derive(Debug, Clone)]
pub struct Start {
    /// The experiment that runs first.
    pub spec: Spec,
    /// What can be picked.
    pub catalog: Catalog,
    /// Which key does what.
    pub keymap: Keymap,
    /// The themes; where empty, the shipped ones.
    pub themes: Vec<Theme>,
    /// What charts are drawn with.
    pub glyphs: Glyphs,
    /// Columns and rows of the terminal.
    pub size: (u16, u16),
    /// The name under which the session is recorded.
    pub recording: Option<String>,
    /// The recording that is played in place of an engine.
    pub replay: Option<ReplayState>,
}

impl Start {
    /// The default experiment at 120 columns and 40 rows, not recorded.
    pub fn new(catalog: Catalog) -> Self {
        Self {
            spec: Spec::agreement(),
            catalog,
            keymap: Keymap::default(),
            themes: Theme::shipped(),
            glyphs: Glyphs::Braille,
            size: (120, 40),
            recording: None,
            replay: None,
        }
    }
}

impl State {
    /// A state before anything has happened.
    pub fn new(start: Start) -> Self {
        let Start { spec, catalog, keymap, themes, glyphs, size, recording, replay } = start;
        let first = spec.methods.last().map_or(String::new(), |m| m.name.clone());
        // The paper's main method is drawn first where it runs.
        let method = spec.methods.iter().find(|m| m.name == "pgd").map_or(first, |m| m.name.clone());
        let view = View {
            size,
            lab: Lab::Interventions,
            focus: Pane::Curves,
            zoom: false,
            popup: None,
            entry: None,
            row: 0,
            model_row: 0,
            dossier_scroll: 0,
            data_row: 0,
            data_scroll: 0,
            scroll: BTreeMap::new(),
            method,
            model: spec.models.first().cloned().unwrap_or_default(),
            oracle: spec.probe.oracles.first().copied().unwrap_or(OracleKind::Mlp),
            markers: BTreeMap::new(),
            example: 0,
            scale: None,
            glyphs,
            theme: 0,
            toast: None,
            drag: None,
            ticks: 0,
        };
        let mut state = Self {
            board: Board::default(),
            spec,
            view,
            catalog,
            keymap,
            themes: if themes.is_empty() { Theme::shipped() } else { themes },
            recording: recording.map_or(Recording::Off, Recording::On),
            replay,
            local: Vec::new(),
            cancelling: None,
            cancelling_data: None,
            quitting: false,
            figures: Figures::default(),
        };
        state.rebuild_figures();
        state
    }

    /// What the latest run of the lab has found.
    pub fn results(&self) -> &Results {
        self.board.results::<Results>()
    }

    /// What the latest run of the lab computes.
    pub fn ran(&self) -> Option<&Spec> {
        let lab::Spec::Interventions(spec) = &self.board.run_of(LabId::Interventions)?.job.spec;
        Some(spec)
    }

    /// The method that is drawn with the options of the setup.
    pub fn method_key(&self) -> MethodKey {
        self.method_spec().map_or_else(|| MethodKey::named(&self.view.method), |m| m.key())
    }

    /// The theme that is shown.
    pub fn theme(&self) -> &Theme {
        &self.themes[self.view.theme % self.themes.len()]
    }

    /// The catalog's entry of the method that is drawn.
    pub fn method(&self) -> Option<&MethodEntry> {
        self.catalog.method(&self.view.method)
    }

    /// Where the slider of the drawn method stands.
    pub fn marker(&self) -> f64 {
        let default = || self.method().map_or(0.0, |m| m.parameter.default);
        self.view.markers.get(&self.view.method).copied().unwrap_or_else(default)
    }

    /// The models of the latest run, or of the setup where nothing ran yet.
    pub fn run_models(&self) -> &[String] {
        self.ran().map_or(&self.spec.models, |spec| &spec.models)
    }

    /// The oracles of the latest run, or of the setup where nothing ran yet.
    pub fn run_oracles(&self) -> &[OracleKind] {
        self.ran().map_or(&self.spec.probe.oracles, |spec| &spec.probe.oracles)
    }

    /// Whether the setup differs from what was run.
    pub fn changed(&self) -> bool {
        self.ran().is_some_and(|spec| *spec != self.spec)
    }

    /// Whether the engine works on a run.
    pub fn busy(&self) -> bool {
        self.replay.is_none() && self.board.running()
    }

    /// Whether keys go into a text.
    pub fn typing(&self) -> bool {
        self.view.entry.is_some()
            || matches!(self.view.popup, Some(Popup::Help { .. } | Popup::Palette { .. }))
    }

    /// Whether the text that is typed filters a list.
    pub fn typing_in_list(&self) -> bool {
        self.view.entry.is_none() && self.typing()
    }

    /// Whether the method picker is open.
    pub fn picking_methods(&self) -> bool {
        matches!(self.view.popup, Some(Popup::Methods { .. })) && self.replay.is_none()
    }

    /// Whether the popup offers something to take.
    pub fn popup_accepts(&self) -> bool {
        matches!(self.view.popup, Some(Popup::Methods { .. } | Popup::Quit { .. }))
    }

    /// Whether the popup shows something to copy.
    pub fn popup_copies(&self) -> bool {
        matches!(self.view.popup, Some(Popup::Provenance { .. } | Popup::Notices { .. }))
    }

    /// Whether there is something to select under the cursor.
    pub fn can_select(&self) -> bool {
        let here = match self.view.lab {
            Lab::Models => true,
            Lab::Data => false,
            Lab::Interventions => self.view.focus == Pane::Setup,
        };
        here && self.replay.is_none()
    }

    /// Notes something that the engine does not know.
    pub(super) fn notify(&mut self, notice: Notice) {
        if self.local.len() == MAX_LOCAL {
            self.local.remove(0);
        }
        self.local.push((self.board.notices.len(), notice));
    }

    /// All notices, oldest first: the board's and the local ones.
    pub fn notices(&self) -> Vec<&Notice> {
        let mut all = Vec::with_capacity(self.local.len() + self.board.notices.len());
        let mut local = self.local.iter().peekable();
        for (i, notice) in self.board.notices.iter().enumerate() {
            while let Some((_, own)) = local.next_if(|(before, _)| *before <= i) {
                all.push(own);
            }
            all.push(notice);
        }
        all.extend(local.map(|(_, own)| own));
        all
    }
}
