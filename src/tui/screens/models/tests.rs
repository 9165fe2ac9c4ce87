//! Tests of the list of models: entries and keys.

use super::*;
use engine::message::ModelInfo;
use labs::setting::Value;

fn state() -> State {
    let mut state = State::new(Start::new());
    let model = |name: &str| ModelInfo {
        name: name.into(),
        family: "bert".into(),
        layers: 4,
        hidden: 8,
        parameters: 100,
        serves: if name == "gpt2-mini" { "logits only: prompts".into() } else { "all labs".into() },
    };
    state.board.models = vec![model("bert-mini"), model("gpt2-mini")];
    state.show(ID);
    state
}

#[test]
fn unavailable_models_are_listed_last() {
    let mut state = state();
    add(&mut state, "/models/x").unwrap();
    assert_eq!(listed(&state), ["bert-mini", "gpt2-mini", "/models/x"]);
    assert_eq!(under_cursor(&state).as_deref(), Some("/models/x"));
    select(&mut state);
    assert!(state.view.toast.as_deref().unwrap().contains("could not be loaded"));
    assert!(add(&mut state, "").is_err());
}

#[test]
fn selection_changes_the_labs_setup() {
    let mut state = state();
    SCREEN.travel(&mut state, LIST, 1);
    select(&mut state);
    assert_eq!(setup::row(&state, "models").unwrap().value, Value::Marks(vec![true, true]));
    assert_eq!(crate::setup::models(&state)[1], ("gpt2-mini".to_owned(), true));
}

#[test]
fn replay_cannot_select_or_ask() {
    let mut state = state();
    state.replay = Some(crate::state::ReplayState::new("s".into(), 1.0, 1.0));
    assert!(ask(&mut state, ModelQuestion::Inspect).is_empty());
    select(&mut state);
    assert_eq!(crate::setup::models(&state)[0], ("bert-mini".to_owned(), true), "the selection is unchanged");
}

#[test]
fn other_model_shows_its_page_from_the_top() {
    let mut state = state();
    state.place_mut(ID).scroll.insert(PAGE, 7);
    SCREEN.travel(&mut state, LIST, 1);
    assert_eq!((state.place(ID).scrolled(LIST), state.place(ID).scrolled(PAGE)), (1, 0));
    DOSSIERS.travel(&mut state, PAGE, 5);
    assert_eq!(state.place(ID).scrolled(PAGE), 0, "an empty page does not scroll");
}

/// Draws a pane of `columns` columns and returns its text.
fn drawn(columns: u16, draw: impl FnOnce(&mut ratatui::Frame)) -> String {
    let backend = ratatui::backend::TestBackend::new(columns, 12);
    let mut terminal = ratatui::Terminal::new(backend).unwrap();
    terminal.draw(draw).unwrap();
    terminal.backend().to_string()
}

#[test]
fn list_shows_limits_of_models() {
    let state = state();
    // The list's width next to a model's page on a terminal of 120 columns.
    let shown = drawn(58, |frame| list::draw(frame, frame.area(), &state));
    let line = |name: &str| shown.lines().skip(1).find(|l| l.contains(name)).unwrap().to_owned();
    assert!(line("bert-mini").contains("100"), "{shown}");
    assert!(line("gpt2-mini").contains("logits only: prompts"), "{shown}");
}

#[test]
fn setup_shows_limits_of_models() {
    let state = state();
    let pane = state.setup().unwrap();
    let shown = drawn(100, |frame| setup::draw(frame, frame.area(), &state, pane));
    assert!(shown.contains("gpt2-mini: logits only: prompts"), "{shown}");
    assert!(!shown.contains("all labs"), "{shown}");
}

/// Regression: a name and its labs used to be cut together, at the end of the name.
#[test]
fn long_folder_shows_its_end_and_its_labs() {
    let mut state = state();
    let folder = format!("/data/{}mamba-130m", "models/".repeat(12));
    state.board.models[1].name.clone_from(&folder);
    let pane = state.setup().unwrap();
    let shown = drawn(76, |frame| setup::draw(frame, frame.area(), &state, pane));
    assert!(shown.contains("mamba-130m: logits only: prompts"), "{shown}");
}

#[test]
fn empty_list_has_no_entry_under_the_cursor() {
    let mut state = state();
    state.board.models.clear();
    state.screens.interventions.spec.models.clear();
    assert_eq!(under_cursor(&state), None);
    assert!(!can_ask(&state));
}

fn text(lines: &[ratatui::text::Line<'static>]) -> Vec<String> {
    lines.iter().map(ToString::to_string).collect()
}

fn told(state: &mut State, answer: engine::message::ModelAnswer) {
    use engine::message::{Answer, Event};
    let answer = Answer::Model { model: "bert-mini".into(), answer };
    state.board.on_event(&Event::Answer { ticket: 1, answer });
}

fn problem() -> base::Problem {
    base::Problem { what: "no file".into(), r#where: "x".into(), hint: "look".into() }
}

#[test]
fn page_shows_progress_and_waiting() {
    let mut state = state();
    ask(&mut state, ModelQuestion::Inspect);
    assert_eq!(text(&dossier::lines(&state, 60)), ["loading"]);
    ask(&mut state, ModelQuestion::Check);
    assert!(text(&dossier::lines(&state, 60))[0].starts_with("checking"));
    crate::reduce::job::run(&mut state);
    assert!(text(&dossier::lines(&state, 60))[0].ends_with("waits for the run to end"));
}

#[test]
fn check_counts_deviations_and_names_omissions() {
    use engine::inspection::{CheckRow, FAIL};
    use engine::message::ModelAnswer;
    let row = |quantity: &str, deviation: Option<f64>, verdict: &str| CheckRow {
        quantity: quantity.into(),
        n: 7,
        deviation,
        tolerance: deviation.map(|_| 1e-4),
        verdict: verdict.into(),
    };
    let mut state = state();
    let good = vec![row("logits", Some(0.0), "pass"), row("pooler", None, "not checked: none")];
    told(&mut state, ModelAnswer::Checked(good.clone()));
    let lines = text(&dossier::lines(&state, 80));
    assert_eq!(lines[0], "1 quantities agree with the expected numbers");
    assert!(lines[3].contains("pooler") && lines[3].contains("not check"), "{lines:?}");
    let bad = [&good[..], &[row("hidden \u{1b}states", Some(3.0), FAIL)]].concat();
    told(&mut state, ModelAnswer::Checked(bad));
    for room in [30, 60, 120] {
        let lines = text(&dossier::lines(&state, room));
        assert!(lines[0].starts_with("1 of 2 quantities"), "{lines:?}");
        assert!(lines.iter().all(|l| base::text::width(l) <= room && !l.contains('\u{1b}')), "{lines:?}");
    }
}

#[test]
fn failed_model_is_reported_in_list_and_page() {
    use engine::message::ModelAnswer;
    let mut state = state();
    state.board.models.clear();
    told(&mut state, ModelAnswer::Failed(problem()));
    let mut terminal = ratatui::Terminal::new(ratatui::backend::TestBackend::new(120, 40)).unwrap();
    terminal.draw(|frame| crate::panes::draw(frame, &state)).unwrap();
    let screen = terminal.backend().to_string();
    assert!(screen.contains("could not be loaded") && screen.contains("✗ no file"), "{screen}");
}

#[test]
fn click_selects_the_model_drawn_there() {
    use crate::action::{Action, MouseKind};
    let mut state = state();
    let list = crate::layout::compute(&state).unwrap().pane(LIST).unwrap();
    let click = Mouse { kind: MouseKind::Press, x: list.x + 5, y: list.y + 3 };
    crate::reduce::reduce(&mut state, Action::Mouse(click));
    assert_eq!(under_cursor(&state).as_deref(), Some("gpt2-mini"));
}
