//! Interface between the frame and a screen: a lab, the models, the data sets, or the opening screen.
//!
//! The frame draws title, tabs, progress line and footer, and dispatches keys. The current screen draws everything in between. A screen
//! keeps its state in its field of [`super::screens::Views`].

use std::path::{Path, PathBuf};
use std::rc::Rc;

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
use labs::setting::KnownRelation;

/// Identifier of a screen, also its name in text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScreenId(pub &'static str);

/// A pane of a screen, identified by the name on its tab.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pane(pub &'static str);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// Description of the number.
    pub what: String,
    pub entries: Vec<(String, String)>,
    /// Shell command that reproduces the number.
    pub command: String,
}

/// A question of the screen that has no answer yet, separate from the run.
#[derive(Debug, Clone, Copy)]
pub struct Waiting<'a> {
    /// Name shown until the engine reports a stage.
    pub doing: &'static str,
    pub progress: Option<&'a Progress>,
    pub stopping: bool,
}

pub trait Screen: Sync {
    fn id(&self) -> ScreenId;

    fn title(&self) -> &'static str;

    /// Command that opens the screen, in the frame's context; the tab shows its first key.
    fn tab(&self) -> &'static Entry;

    /// True for the screen of a followed grid, which is hidden if no grid is followed.
    fn watches(&self) -> bool {
        false
    }

    /// Question that the screen answers, in one line of the opening screen; `None` omits the screen there.
    fn question(&self) -> Option<&'static str>;

    /// Slots in focus order, each with its panes as tabs; never empty. A lab has four: settings, list, figures, detail.
    fn slots(&self) -> &'static [&'static [Pane]];

    /// True if a pane has contents, or will have once the run has ended; other panes have no tab.
    fn offers(&self, _state: &State, _pane: Pane) -> bool {
        true
    }

    fn panes(&self) -> Vec<Pane> {
        self.slots().concat()
    }

    fn first(&self) -> Pane {
        self.slots()[0][0]
    }

    /// Height of a lab's figure, in units of half the height of the details.
    fn figure_share(&self) -> u16 {
        3
    }

    /// One sentence on the entry under the cursor.
    fn about(&self, _state: &State, _pane: Pane) -> String {
        String::new()
    }

    /// Answer of the run shown on a lab's screen.
    fn answer(&self, state: &State) -> Answer {
        let run = self.setup().and_then(|setup| state.shown_run(setup.lab()));
        run.map_or_else(Answer::default, |run| labs::by_id(run.job.spec.lab()).answer(&run.results, &run.job.spec))
    }

    /// True if slots become tabs on a small screen or when a pane is zoomed.
    fn folds(&self) -> bool {
        true
    }

    /// Places the visible panes if no slot is folded.
    fn layout(&self, state: &State, body: Rect) -> Vec<(Pane, Rect)> {
        lab_panes(state, body)
    }

    fn draw(&self, pane: Pane, frame: &mut Frame, area: Rect, state: &State);

    /// Setup of the experiment; `None` if the screen runs nothing.
    fn setup(&self) -> Option<&'static dyn Setup> {
        None
    }

    /// Further commands, in the screen's menu.
    fn menu(&self) -> &'static [Entry] {
        &[]
    }

    /// Commands in the screen's context.
    fn commands(&self) -> &'static [Entry];

    /// Rows of a pane that is a list with columns.
    fn table(&self, _state: &State, _pane: Pane) -> Option<Rc<Table>> {
        None
    }

    /// The list without columns that is filtered while this pane has the focus.
    fn filters(&self, _pane: Pane) -> Option<Pane> {
        None
    }

    fn travel(&self, _state: &mut State, _pane: Pane, _by: i64) -> Vec<Effect> {
        Vec::new()
    }

    /// Opens the item under the cursor of a pane; `None` if there is nothing to open.
    fn open(&self, _state: &mut State, _pane: Pane) -> Option<Vec<Effect>> {
        None
    }

    /// Returns the function that toggles the checkbox under the cursor; `None` without checkboxes.
    fn ticks(&self, _state: &State) -> Option<fn(&mut State) -> Vec<Effect>> {
        None
    }

    /// Handles a press in a pane other than the setup; the focus has already moved.
    fn press(&self, _state: &mut State, _pane: Pane, _area: Rect, _mouse: Mouse) -> Vec<Effect> {
        Vec::new()
    }

    fn drag(&self, _state: &mut State, _pane: Pane, _layout: &Layout, _mouse: Mouse) -> Vec<Effect> {
        Vec::new()
    }

    /// Figure of the focused pane, or the figure that represents it.
    fn figure<'a>(&self, _state: &'a State) -> Option<&'a Figure> {
        None
    }

    /// Numbers of the focused pane as text.
    fn copy(&self, _state: &State) -> Option<String> {
        None
    }

    fn origin(&self, _state: &State) -> Option<Origin> {
        None
    }

    /// The lab under the cursor of a list of labs, whose experiment `run` starts.
    fn lab_here(&self, _state: &State) -> Option<ScreenId> {
        None
    }

    fn measures(&self) -> bool {
        false
    }

    /// Recomputes what depends on the board and the view, such as figures.
    fn refresh(&self, _state: &mut State) {}

    /// Applies a recorded command to the view, so that a replay shows what the user saw.
    fn follow(&self, _state: &mut State, _command: &Command) {}

    /// Handles an event after the board.
    fn on_event(&self, _state: &mut State, _event: &Event) -> Vec<Effect> {
        Vec::new()
    }

    /// Results of the latest run on the data with this hash, one line per model, for the data screen.
    fn made_of(&self, _state: &State, _hash: &str) -> Vec<String> {
        Vec::new()
    }

    /// Receives the files requested with [`Effect::Load`].
    fn on_loaded(&self, _state: &mut State, _documents: &[Document]) -> Vec<Effect> {
        Vec::new()
    }

    /// Requests the relations in the files of the settings if they are not known yet.
    fn read_relations(&self, _state: &mut State) -> Option<Effect> {
        None
    }

    /// Reads the relations in files, on another thread.
    fn relations_in(&self, _paths: &[PathBuf]) -> Vec<KnownRelation> {
        Vec::new()
    }

    /// Receives the relations requested with [`Effect::ReadRelations`].
    fn on_relations(&self, _state: &mut State, _paths: &[PathBuf], _found: Vec<KnownRelation>) {}

    /// Description of unsaved work, if there is any; the program then asks before it quits.
    fn unsaved(&self, _state: &State) -> Option<String> {
        None
    }

    fn save(&self, _state: &mut State) -> Vec<Effect> {
        Vec::new()
    }

    /// Called when a document has been written, possibly at this screen's request ([`Effect::Save`]).
    fn on_saved(&self, _state: &mut State, _path: &Path) {}

    /// Moves the cursor of a pane sideways. `None` if the pane does not support it; then the selected column of its list or the lab's main
    /// slider moves.
    fn sideways(&self, _state: &mut State, _pane: Pane, _by: i64) -> Option<Vec<Effect>> {
        None
    }

    fn waiting<'a>(&self, _state: &'a State) -> Option<Waiting<'a>> {
        None
    }

    /// Cancels all waiting questions; `None` if there are none or they are already being cancelled.
    fn interrupt(&self, _state: &mut State) -> Option<Vec<Effect>> {
        None
    }
}
