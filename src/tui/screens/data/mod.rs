//! The data sets: the sets on one side, what is known of the one under the cursor on the other.

mod dossier;
mod list;
#[cfg(test)]
mod tests;

use ratatui::Frame;
use ratatui::layout::Rect;

use crate::corpus::sets::built_in;
use crate::engine::board::DataDossier;
use crate::engine::data::{DataQuestion, DataRequest, DataWaiting};
use crate::engine::message::{Command, Event, Question, Topic};
use crate::tui::action::{Effect, Mouse};
use crate::tui::commands::{Context, Entry, always, live, rows};
use crate::tui::layout::compute;
use crate::tui::panes::listing::{Listing, overflow, split};
use crate::tui::reduce::{job, look};
use crate::tui::screen::{Pane, Screen, ScreenId, Waiting};
use crate::tui::state::{Prompt, Start, State};

/// This screen.
pub const ID: ScreenId = ScreenId("data");
/// The list.
pub const LIST: Pane = Pane("Data");
/// What is known of the set under the cursor.
pub const PAGE: Pane = Pane("Data set");

/// What this screen remembers beside its cursors.
#[derive(Debug, Clone)]
pub struct View {
    /// The built-in sets.
    pub sets: Vec<BuiltIn>,
    /// Number of the latest question when the cancellation of all of them was asked for.
    pub cancelling: Option<u64>,
}

/// A built-in data set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuiltIn {
    /// Its name.
    pub id: String,
    /// What it is.
    pub title: String,
    /// Its rows; none where the setup says how many are drawn.
    pub rows: Option<u64>,
}

impl View {
    /// The view before anything has happened.
    #[must_use]
    pub fn new(_: &Start) -> Self {
        let sets =
            built_in().map(|b| BuiltIn { id: b.id.into(), title: b.title.into(), rows: b.fixed_rows() });
        Self { sets: sets.collect(), cancelling: None }
    }
}

/// The screen.
pub struct Data;

/// The screen, for the registry.
pub static SCREEN: Data = Data;

static TAB: &[Entry] = rows! { Context::Global;
    "lab-data", "data", "Shows the data sets. In the setup pane a bare digit types a number instead.",
        ["6", "alt-6"], None, always => |s| { s.show(ID); Vec::new() };
};

static COMMANDS: &[Entry] = rows! { Context::Screen(ID);
    "inspect-data", "inspect data set",
        "Says what the data set under the cursor holds: its format, what was dropped, counts, splits and first rows.",
        ["i"], Some(("inspect", 4)), can_ask => |s| ask(s, DataQuestion::Inspect);
    "check-data", "examine data set",
        "Asks the data doctor what in the set under the cursor is unfit, given the vocabularies of the selected models.",
        ["c"], Some(("doctor", 5)), can_ask => |s| ask(s, DataQuestion::Doctor);
    "add-data", "add data set", "Adds a data set: a file or a folder in any format that is known.",
        ["a"], Some(("add", 6)), live => |s| look::ask(s, &ADD);
    "data-page-up", "scroll data up", "Scrolls what is known of the data set up.",
        ["pageup"], None, always => |s| scroll(s, -5);
    "data-page-down", "scroll data down", "Scrolls what is known of the data set down.",
        ["pagedown"], None, always => |s| scroll(s, 5);
};

static ADD: Prompt = Prompt { label: "data set", hint: "file or folder", take: add };

fn can_ask(state: &State) -> bool {
    live(state) && under_cursor(state).is_some()
}

/// The sets of the list: the built-in ones, then those that were asked about.
#[must_use]
pub fn listed(state: &State) -> Vec<String> {
    let mut names: Vec<String> = state.screens.data.sets.iter().map(|s| s.id.clone()).collect();
    let asked = state.board.sets.iter().map(|d| &d.set);
    let more: Vec<String> = asked.filter(|s| !names.contains(s)).cloned().collect();
    names.extend(more);
    names
}

/// The set under the cursor.
#[must_use]
pub fn under_cursor(state: &State) -> Option<String> {
    let mut names = listed(state);
    let at = state.place(ID).scrolled(LIST).min(names.len().checked_sub(1)?);
    Some(names.swap_remove(at))
}

/// What is known of the set under the cursor.
fn known(state: &State) -> Option<&DataDossier> {
    state.board.set_of(&under_cursor(state)?)
}

/// The question that is being answered: the one that has reported last, or else the oldest.
fn oldest(state: &State) -> Option<&DataWaiting> {
    if state.replay.is_some() {
        return None;
    }
    let all = || state.board.sets.iter().flat_map(|d| &d.waiting);
    all().filter(|w| w.progress.is_some()).min_by_key(|w| w.ticket).or_else(|| all().min_by_key(|w| w.ticket))
}

/// Whether everything that is asked is being cancelled.
fn stopping(state: &State) -> bool {
    let Some(latest) = state.screens.data.cancelling else { return false };
    let mut waiting = state.board.sets.iter().flat_map(|d| &d.waiting);
    oldest(state).is_some() && waiting.all(|w| w.ticket <= latest)
}

fn listing(state: &State) -> Listing {
    Listing { len: listed(state).len(), cursor: state.place(ID).scrolled(LIST) }
}

/// Asks the engine about the set under the cursor.
fn ask(state: &mut State, question: DataQuestion) -> Vec<Effect> {
    under_cursor(state).map_or(Vec::new(), |set| send(state, &set, question))
}

fn send(state: &mut State, set: &str, question: DataQuestion) -> Vec<Effect> {
    state.place_mut(ID).scroll.remove(&PAGE);
    // What is drawn, and with which vocabularies, is as the lab that was shown last is set up.
    let Some(setup) = state.setup() else { return Vec::new() };
    let spec = setup.spec(state);
    let request = DataRequest::of(&setup.examples(state), spec.seed(), spec.models(), set, question);
    job::ask(state, Question::Data(request))
}

/// Adds a set by its path and asks what it holds.
fn add(state: &mut State, path: &str) -> Result<Vec<Effect>, String> {
    if path.is_empty() {
        return Err("type the path of a file or folder".into());
    }
    let effects = send(state, path, DataQuestion::Inspect);
    if let Some(at) = listed(state).iter().position(|s| s == path) {
        state.place_mut(ID).scroll.insert(LIST, at);
    }
    Ok(effects)
}

/// Scrolls what is known of the set.
fn scroll(state: &mut State, by: i64) -> Vec<Effect> {
    SCREEN.travel(state, PAGE, by);
    Vec::new()
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
        Some("What is in a data set, and what of it is unfit?")
    }

    fn panes(&self) -> &'static [Pane] {
        &[LIST, PAGE]
    }

    fn folds(&self) -> bool {
        false
    }

    fn layout(&self, state: &State, body: Rect) -> Vec<(Pane, Rect)> {
        let (list, page) = split(body, listed(state).len(), 45);
        vec![(LIST, list), (PAGE, page)]
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

    fn travel(&self, state: &mut State, pane: Pane, by: i64) {
        if pane == LIST {
            let len = listed(state).len();
            let place = state.place_mut(ID);
            place.travel(LIST, by, len);
            place.scroll.remove(&PAGE);
        } else {
            let lines = compute(state).and_then(|layout| layout.pane(PAGE));
            let lines = lines.map_or(0, |pane| overflow(pane, |width| dossier::lines(state, width).len()));
            state.place_mut(ID).travel(PAGE, by, lines + 1);
        }
    }

    fn press(&self, state: &mut State, pane: Pane, area: Rect, mouse: Mouse) -> Vec<Effect> {
        if let Some(row) = listing(state).at(area, mouse.x, mouse.y).filter(|_| pane == LIST) {
            let place = state.place_mut(ID);
            place.scroll.insert(LIST, row);
            place.scroll.remove(&PAGE);
        }
        Vec::new()
    }

    fn on_event(&self, state: &mut State, _: &Event) -> Vec<Effect> {
        if state.screens.data.cancelling.is_some() && oldest(state).is_none() {
            state.screens.data.cancelling = None;
            state.view.toast = None;
        }
        Vec::new()
    }

    fn waiting<'a>(&self, state: &'a State) -> Option<Waiting<'a>> {
        let waiting = oldest(state)?;
        let progress = waiting.progress.as_ref();
        Some(Waiting { doing: "looking at the data", progress, stopping: stopping(state) })
    }

    fn interrupt(&self, state: &mut State) -> Option<Vec<Effect>> {
        if oldest(state).is_none() || stopping(state) {
            return None;
        }
        state.screens.data.cancelling = Some(state.board.ticket);
        state.view.toast = Some("cancelling the questions about data; once more quits".into());
        Some(job::send(state, Command::Withdraw { topic: Topic::Data }))
    }
}
