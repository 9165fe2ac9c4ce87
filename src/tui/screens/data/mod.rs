//! The data screen: the list of sets, and details of the set under the cursor.

mod dossier;
mod list;
#[cfg(test)]
mod tests;

use ratatui::Frame;
use ratatui::layout::Rect;

use crate::action::{Effect, Mouse};
use crate::commands::{Context, Entry, always, live, rows};
use crate::panes::dossiers::Dossiers;
use crate::reduce::{job, look};
use crate::screen::{Pane, Screen, ScreenId, Waiting};
use crate::state::{Prompt, Start, State};
use corpus::sets::built_in;
use engine::board::DataDossier;
use engine::data::{DataQuestion, DataRequest, DataWaiting};
use engine::message::{Command, Event, Question, Topic};

pub const ID: ScreenId = ScreenId("data");
pub const LIST: Pane = Pane("Data");
pub const PAGE: Pane = Pane("Data set");

#[derive(Debug, Clone)]
pub struct View {
    pub sets: Vec<BuiltIn>,
    /// Number of the latest question when all questions were cancelled.
    pub cancelling: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuiltIn {
    pub id: String,
    pub title: String,
    /// Number of rows; `None` if the lab's settings determine it.
    pub rows: Option<u64>,
}

impl View {
    pub fn new(_: &Start) -> Self {
        let sets = built_in().map(|b| BuiltIn { id: b.id.into(), title: b.title.into(), rows: b.fixed_rows() });
        Self { sets: sets.collect(), cancelling: None }
    }
}

static DOSSIERS: Dossiers =
    Dossiers { id: ID, list: LIST, page: PAGE, share: 45, names: listed, lines: dossier::lines };

pub struct Data;

pub static SCREEN: Data = Data;

static TAB: &[Entry] = rows! { Context::Global;
    "lab-data", "data", "Shows the data sets.",
        ["6", "alt-6"], None, always => |s| { s.show(ID); Vec::new() };
};

static COMMANDS: &[Entry] = rows! { Context::Screen(ID);
    "add-data", "add data set", "Adds a data set: a file or a folder in any known format.",
        ["a"], Some(("add", 6)), live => |s| look::ask(s, &ADD);
};

static MENU: &[Entry] = rows! { Context::Menu(ID);
    "inspect-data", "inspect data set",
        "Shows what the data set under the cursor contains, as enter does: format, dropped rows, counts, splits, first rows.",
        ["i"], None, can_ask => |s| ask(s, DataQuestion::Inspect);
    "check-data", "examine data set",
        "Checks which rows of the set under the cursor are unfit, given the vocabularies of the selected models.",
        ["d"], None, can_ask => |s| ask(s, DataQuestion::Doctor);
};

static ADD: Prompt = Prompt { label: "data set", hint: "file or folder", take: add, follow: None };

fn can_ask(state: &State) -> bool {
    live(state) && under_cursor(state).is_some()
}

/// Names of the sets in the list: the built-in ones, then sets in questions.
pub fn listed(state: &State) -> Vec<String> {
    let mut names: Vec<String> = state.screens.data.sets.iter().map(|s| s.id.clone()).collect();
    let asked = state.board.sets.iter().map(|d| &d.set);
    let more: Vec<String> = asked.filter(|s| !names.contains(s)).cloned().collect();
    names.extend(more);
    names
}

pub fn under_cursor(state: &State) -> Option<String> {
    DOSSIERS.under_cursor(state)
}

fn known(state: &State) -> Option<&DataDossier> {
    state.board.set_of(&under_cursor(state)?)
}

/// The question being answered: the first with progress, or else the oldest.
fn current(state: &State) -> Option<&DataWaiting> {
    if state.replay.is_some() {
        return None;
    }
    let all = || state.board.sets.iter().flat_map(|d| &d.waiting);
    all().filter(|w| w.progress.is_some()).min_by_key(|w| w.ticket).or_else(|| all().min_by_key(|w| w.ticket))
}

fn stopping(state: &State) -> bool {
    let Some(latest) = state.screens.data.cancelling else { return false };
    let mut waiting = state.board.sets.iter().flat_map(|d| &d.waiting);
    current(state).is_some() && waiting.all(|w| w.ticket <= latest)
}

fn ask(state: &mut State, question: DataQuestion) -> Vec<Effect> {
    under_cursor(state).map_or(Vec::new(), |set| send(state, &set, question))
}

fn send(state: &mut State, set: &str, question: DataQuestion) -> Vec<Effect> {
    DOSSIERS.show_from_top(state);
    // Examples and vocabularies follow the settings of the lab shown last.
    let Some(setup) = state.setup() else { return Vec::new() };
    let spec = setup.spec(state);
    let request = DataRequest::of(&setup.examples(state), spec.seed(), spec.models(), set, question);
    job::ask(state, Question::Data(request))
}

/// Adds a set by its path and requests its contents.
fn add(state: &mut State, path: &str) -> Result<Vec<Effect>, String> {
    if path.is_empty() {
        return Err("type the path of a file or folder".into());
    }
    let effects = send(state, path, DataQuestion::Inspect);
    DOSSIERS.show(state, path);
    Ok(effects)
}

impl Screen for Data {
    fn id(&self) -> ScreenId {
        ID
    }

    fn title(&self) -> &'static str {
        "Data"
    }

    fn tab(&self) -> &'static Entry {
        &TAB[0]
    }

    fn question(&self) -> Option<&'static str> {
        Some("What is in a data set, and which rows are unfit?")
    }

    fn slots(&self) -> &'static [&'static [Pane]] {
        &[&[LIST], &[PAGE]]
    }

    fn folds(&self) -> bool {
        false
    }

    fn layout(&self, state: &State, body: Rect) -> Vec<(Pane, Rect)> {
        DOSSIERS.layout(state, body)
    }

    fn draw(&self, pane: Pane, frame: &mut Frame, area: Rect, state: &State) {
        match pane {
            LIST => list::draw(frame, area, state),
            _ => dossier::draw(frame, area, state),
        }
    }

    fn commands(&self) -> &'static [Entry] {
        COMMANDS
    }

    fn menu(&self) -> &'static [Entry] {
        MENU
    }

    fn open(&self, state: &mut State, _: Pane) -> Option<Vec<Effect>> {
        can_ask(state).then(|| ask(state, DataQuestion::Inspect))
    }

    fn about(&self, _: &State, _: Pane) -> String {
        "Built-in and added data sets; enter shows what one contains, the menu checks it.".into()
    }

    fn filters(&self, _: Pane) -> Option<Pane> {
        Some(LIST)
    }

    fn travel(&self, state: &mut State, pane: Pane, by: i64) -> Vec<Effect> {
        DOSSIERS.travel(state, pane, by);
        Vec::new()
    }

    fn press(&self, state: &mut State, pane: Pane, area: Rect, mouse: Mouse) -> Vec<Effect> {
        DOSSIERS.press(state, pane, area, mouse)
    }

    fn on_event(&self, state: &mut State, _: &Event) -> Vec<Effect> {
        if state.screens.data.cancelling.is_some() && current(state).is_none() {
            state.screens.data.cancelling = None;
            state.view.toast = None;
        }
        Vec::new()
    }

    fn waiting<'a>(&self, state: &'a State) -> Option<Waiting<'a>> {
        let waiting = current(state)?;
        let progress = waiting.progress.as_ref();
        Some(Waiting { doing: "reading the data", progress, stopping: stopping(state) })
    }

    fn interrupt(&self, state: &mut State) -> Option<Vec<Effect>> {
        if current(state).is_none() || stopping(state) {
            return None;
        }
        state.screens.data.cancelling = Some(state.board.ticket);
        state.view.toast = Some("cancelling the questions about data; this takes a moment".into());
        Some(job::send(state, Command::Withdraw { topic: Topic::Data }))
    }
}
