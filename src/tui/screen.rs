//! Interface between the frame and a screen: a lab, the models, the data sets, or the opening screen.
//!
//! The frame draws the title, the tabs, the line of progress and the footer, and decides who gets a key. Everything
//! between belongs to the screen that is shown. A screen's state is kept in its field of [`super::screens::Views`].

use std::path::Path;

use ratatui::Frame;
use ratatui::layout::Rect;

use super::action::{Document, Effect, Mouse};
use super::commands::Entry;
use super::layout::{Layout, lab_panes};
use super::panes::table::Table;
use super::setup::Setup;
use super::state::State;
use engine::message::{Command, Event, Progress};
use figure::Figure;
use labs::Answer;

/// Identifies a screen; also its name in text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScreenId(pub &'static str);

/// A pane of a screen, by the name on its tab.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pane(pub &'static str);

/// The provenance of a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The number in words.
    pub what: String,
    /// Key and value pairs.
    pub entries: Vec<(String, String)>,
    /// The shell command that reproduces it.
    pub command: String,
}

/// An unanswered question of a screen, separate from the run.
#[derive(Debug, Clone, Copy)]
pub struct Waiting<'a> {
    /// Its name until the engine reports a stage.
    pub doing: &'static str,
    /// Its progress, once reported.
    pub progress: Option<&'a Progress>,
    /// True if it is being cancelled.
    pub stopping: bool,
}

/// A screen of the terminal program.
pub trait Screen: Sync {
    /// Its identifier.
    fn id(&self) -> ScreenId;

    /// The name on its tab.
    fn title(&self) -> &'static str;

    /// The command that opens it, in the context of the frame; its first key is shown on the tab.
    fn tab(&self) -> &'static Entry;

    /// True if it shows a followed grid, without which it does not exist.
    fn watches(&self) -> bool {
        false
    }

    /// The question it answers, in one line for the opening screen, which omits screens that have none.
    fn question(&self) -> Option<&'static str>;

    /// Its places, in the order in which the focus visits them, each with its panes as tabs; never empty. A lab has four: settings,
    /// list, figures, detail.
    fn slots(&self) -> &'static [&'static [Pane]];

    /// True if a pane has content, or will have when the run has ended; tabs of other panes are left out.
    fn offers(&self, _state: &State, _pane: Pane) -> bool {
        true
    }

    /// All its panes.
    fn panes(&self) -> Vec<Pane> {
        self.slots().concat()
    }

    /// The pane that initially has the focus.
    fn first(&self) -> Pane {
        self.slots()[0][0]
    }

    /// The height of a lab's figure as a multiple of half that of its detail.
    fn figure_share(&self) -> u16 {
        3
    }

    /// One sentence about the entry under the cursor.
    fn about(&self, _state: &State, _pane: Pane) -> String {
        String::new()
    }

    /// The answer of a lab's run that is shown.
    fn answer(&self, state: &State) -> Answer {
        let run = self.setup().and_then(|setup| state.shown_run(setup.lab()));
        run.map_or_else(Answer::default, |run| labs::by_id(run.job.spec.lab()).answer(&run.results, &run.job.spec))
    }

    /// True if the panes become tabs on a small screen or when zoomed.
    fn folds(&self) -> bool {
        true
    }

    /// The areas of the visible panes when no slot is folded.
    fn layout(&self, state: &State, body: Rect) -> Vec<(Pane, Rect)> {
        lab_panes(state, body)
    }

    fn draw(&self, pane: Pane, frame: &mut Frame, area: Rect, state: &State);

    /// The setup of its experiment; `None` if the screen runs nothing.
    fn setup(&self) -> Option<&'static dyn Setup> {
        None
    }

    /// Its further commands, in its own menu.
    fn menu(&self) -> &'static [Entry] {
        &[]
    }

    /// Its commands, in their own context.
    fn commands(&self) -> &'static [Entry];

    /// The rows of a pane that is a list with columns.
    fn table(&self, _state: &State, _pane: Pane) -> Option<Table> {
        None
    }

    /// The list without columns that is filtered while a pane has the focus.
    fn filters(&self, _pane: Pane) -> Option<Pane> {
        None
    }

    /// Moves the cursor of a pane, or scrolls it.
    fn travel(&self, _state: &mut State, _pane: Pane, _by: i64) -> Vec<Effect> {
        Vec::new()
    }

    /// Opens what is under the cursor of a pane; `None` if there is nothing to open.
    fn open(&self, _state: &mut State, _pane: Pane) -> Option<Vec<Effect>> {
        None
    }

    /// Toggles the box under the cursor of a pane that has boxes.
    fn ticks(&self, _state: &State) -> Option<fn(&mut State) -> Vec<Effect>> {
        None
    }

    /// The mouse was pressed in a pane other than the setup pane; the focus has already moved there.
    fn press(&self, _state: &mut State, _pane: Pane, _area: Rect, _mouse: Mouse) -> Vec<Effect> {
        Vec::new()
    }

    /// The mouse drags what it pressed in a pane.
    fn drag(&self, _state: &mut State, _pane: Pane, _layout: &Layout, _mouse: Mouse) -> Vec<Effect> {
        Vec::new()
    }

    /// The figure of the focused pane, or the one that represents it.
    fn figure<'a>(&self, _state: &'a State) -> Option<&'a Figure> {
        None
    }

    /// The numbers of the focused pane as text.
    fn copy(&self, _state: &State) -> Option<String> {
        None
    }

    /// Provenance of the number under the cursor.
    fn origin(&self, _state: &State) -> Option<Origin> {
        None
    }

    /// True if it shows numbers with a provenance.
    fn measures(&self) -> bool {
        false
    }

    /// Rebuilds what is derived from the board and the view, such as figures.
    fn refresh(&self, _state: &mut State) {}

    /// Makes the view follow a recorded command, so that a replay shows what the user saw.
    fn follow(&self, _state: &mut State, _command: &Command) {}

    /// Reacts to an event after the board has recorded it.
    fn on_event(&self, _state: &mut State, _event: &Event) -> Vec<Effect> {
        Vec::new()
    }

    /// Results of its latest run on the data with this hash, one line per model; for the data screen.
    fn made_of(&self, _state: &State, _hash: &str) -> Vec<String> {
        Vec::new()
    }

    /// Receives files requested with [`Effect::Load`].
    fn on_loaded(&self, _state: &mut State, _documents: &[Document]) -> Vec<Effect> {
        Vec::new()
    }

    /// Description of unsaved work; the program asks before it ends.
    fn unsaved(&self, _state: &State) -> Option<String> {
        None
    }

    /// Begins to save it.
    fn save(&self, _state: &mut State) -> Vec<Effect> {
        Vec::new()
    }

    /// A document was written, perhaps one that it requested with [`Effect::Save`].
    fn on_saved(&self, _state: &mut State, _path: &Path) {}

    /// Moves the cursor of a pane sideways; `None` if the pane has nothing to move along, so that the column of
    /// its list is stepped, or the lab's main slider.
    fn sideways(&self, _state: &mut State, _pane: Pane, _by: i64) -> Option<Vec<Effect>> {
        None
    }

    /// A question besides the run that is waiting for its answer.
    fn waiting<'a>(&self, _state: &'a State) -> Option<Waiting<'a>> {
        None
    }

    /// Cancels every waiting question; `None` if there is none, or if they are already being cancelled.
    fn interrupt(&self, _state: &mut State) -> Option<Vec<Effect>> {
        None
    }
}
