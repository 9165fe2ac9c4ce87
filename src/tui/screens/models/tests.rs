//! The list of models: who is in it, and what its keys do.

use super::*;
use crate::engine::message::ModelInfo;

fn state() -> State {
    let mut state = State::new(Start::new());
    let model = |name: &str| ModelInfo {
        name: name.into(),
        family: "bert".into(),
        layers: 4,
        hidden: 8,
        parameters: 100,
    };
    state.board.models = vec![model("bert-mini"), model("gpt2-mini")];
    state.show(ID);
    state
}

#[test]
fn a_model_that_was_asked_about_stands_behind_those_that_can_be_picked() {
    let mut state = state();
    add(&mut state, "/models/x").unwrap();
    assert_eq!(listed(&state), ["bert-mini", "gpt2-mini", "/models/x"]);
    assert_eq!(under_cursor(&state).as_deref(), Some("/models/x"));
    select(&mut state);
    assert!(state.view.toast.as_deref().unwrap().contains("not loaded"));
    assert!(add(&mut state, "").is_err());
}

#[test]
fn selecting_here_is_selecting_in_the_setup_of_the_lab() {
    let mut state = state();
    SCREEN.travel(&mut state, LIST, 1);
    select(&mut state);
    assert_eq!(setup::row(&state, "models").unwrap().value, Value::Marks(vec![true, true]));
    assert_eq!(pickable(&state)[1], ("gpt2-mini".to_owned(), true));
}

#[test]
fn a_replay_selects_and_asks_nothing() {
    let mut state = state();
    state.replay = Some(crate::tui::state::ReplayState::new("s".into(), 1.0, 1.0));
    assert!(ask(&mut state, ModelQuestion::Inspect).is_empty());
    select(&mut state);
    assert_eq!(pickable(&state)[0], ("bert-mini".to_owned(), true), "as it was");
}

#[test]
fn moving_to_another_model_shows_its_page_from_the_top() {
    let mut state = state();
    state.place_mut(ID).scroll.insert(PAGE, 7);
    SCREEN.travel(&mut state, LIST, 1);
    assert_eq!((state.place(ID).scrolled(LIST), state.place(ID).scrolled(PAGE)), (1, 0));
    scroll(&mut state, 5);
    assert_eq!(state.place(ID).scrolled(PAGE), 0, "an empty page does not scroll");
}

#[test]
fn an_empty_list_has_nothing_under_the_cursor() {
    let mut state = state();
    state.board.models.clear();
    state.screens.interventions.spec.models.clear();
    assert_eq!(under_cursor(&state), None);
    assert!(!can_ask(&state));
}
