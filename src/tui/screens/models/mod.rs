//! The models screen: the list of models, and details of the model under the cursor.

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
use crate::screen::{Pane, Screen, ScreenId};
use crate::setup;
use crate::state::{Prompt, Start, State};
use engine::message::{ModelQuestion, Question};

pub const ID: ScreenId = ScreenId("models");
pub const LIST: Pane = Pane("Models");
pub const PAGE: Pane = Pane("Model");

/// Empty: the frame keeps the cursors.
#[derive(Debug, Clone, Default)]
pub struct View;

impl View {
    pub fn new(_: &Start) -> Self {
        Self
    }
}

static DOSSIERS: Dossiers =
    Dossiers { id: ID, list: LIST, page: PAGE, share: 48, names: listed, lines: dossier::lines };

pub struct Models;

pub static SCREEN: Models = Models;

static TAB: &[Entry] = rows! { Context::Global;
    "lab-models", "models", "Shows the models.",
        ["5", "alt-5"], None, always => |s| { s.show(ID); Vec::new() };
};

static COMMANDS: &[Entry] = rows! { Context::Screen(ID);
    "select-model", "mark model", "Selects or deselects the model under the cursor for the lab's next run.",
        ["space"], Some(("select", 3)), live => select;
    "add-model", "add model", "Adds a model: a folder in Hugging Face layout, a hub id, or any name that a spec accepts.",
        ["a"], Some(("add", 6)), live => |s| look::ask(s, &ADD);
};

static MENU: &[Entry] = rows! { Context::Menu(ID);
    "inspect-model", "inspect model", "Loads the model under the cursor and describes it (same as enter).",
        ["i"], None, can_ask => |s| ask(s, ModelQuestion::Inspect);
    "check-model", "check model",
        "Compares the model under the cursor with reference values from a different implementation, stored next to its weights.",
        ["c"], None, can_ask => |s| ask(s, ModelQuestion::Check);
};

static ADD: Prompt =
    Prompt { label: "model", hint: "folder, organisation/name@revision, or name", take: add, follow: None };

fn can_ask(state: &State) -> bool {
    live(state) && under_cursor(state).is_some()
}

/// Names of the models in the list: models that can be picked, then unavailable models in questions.
pub fn listed(state: &State) -> Vec<String> {
    let mut names: Vec<String> = setup::models(state).into_iter().map(|(name, _)| name).collect();
    let asked = state.board.dossiers.iter().map(|d| &d.model);
    let more: Vec<String> = asked.filter(|m| !names.contains(m)).cloned().collect();
    names.extend(more);
    names
}

pub fn under_cursor(state: &State) -> Option<String> {
    DOSSIERS.under_cursor(state)
}

pub fn open_at(state: &mut State, name: &str) {
    state.show(ID);
    state.focus_on(LIST);
    DOSSIERS.show(state, name);
}

fn select(state: &mut State) -> Vec<Effect> {
    under_cursor(state).map_or(Vec::new(), |name| setup::tick_model(state, &name))
}

fn ask(state: &mut State, what: ModelQuestion) -> Vec<Effect> {
    let Some(model) = under_cursor(state) else { return Vec::new() };
    DOSSIERS.show_from_top(state);
    job::ask(state, Question::Model { model, what })
}

/// Adds a model by its address and requests its description.
fn add(state: &mut State, address: &str) -> Result<Vec<Effect>, String> {
    if address.is_empty() {
        return Err("type a folder, a hub id or a name".into());
    }
    let question = Question::Model { model: address.to_owned(), what: ModelQuestion::Inspect };
    let effects = job::ask(state, question);
    DOSSIERS.show(state, address);
    Ok(effects)
}

impl Screen for Models {
    fn id(&self) -> ScreenId {
        ID
    }

    fn title(&self) -> &'static str {
        "Models"
    }

    fn tab(&self) -> &'static Entry {
        &TAB[0]
    }

    fn question(&self) -> Option<&'static str> {
        Some("Which models can be used, and do they compute correctly?")
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
        can_ask(state).then(|| ask(state, ModelQuestion::Inspect))
    }

    fn about(&self, state: &State, _: Pane) -> String {
        let key = |name| state.keymap.short_label(name);
        let (select, open, run) = (key("select-model"), key("open"), setup::next_run(state));
        match setup::picks_models(state) {
            true => format!("Models that can be probed; {select} selects one for {run}, {open} describes it."),
            false => format!("Models that can be probed; {open} describes one."),
        }
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
}
