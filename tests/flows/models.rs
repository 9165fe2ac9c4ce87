//! The models lab: inspecting, checking, adding.

use probity::engine::message::{ModelAnswer, ModelQuestion};

use super::*;

/// An existing folder, because a run is refused without one; its contents are not read.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/guide");

fn failure() -> Event {
    let problem = Problem {
        what: "config.json is missing".into(),
        r#where: FOLDER.into(),
        hint: "give a folder with config.json, model.safetensors and a tokenizer".into(),
    };
    common::about(FOLDER, ModelAnswer::Failed(problem))
}

fn asks(effects: &[Effect], model: String, what: ModelQuestion) {
    let asked = |c: &&Command| matches!(c, Command::Ask { question: Question::Model { model: m, what: w }, .. } if (m, w) == (&model, &what));
    assert!(sent(effects).len() == 1 && sent(effects).iter().all(asked), "{effects:?}");
}

/// The models lab with a typed folder.
fn added() -> Harness {
    let mut h = Harness::finished(120, 40);
    h.keys("5 a");
    h.typed(FOLDER);
    let effects = h.keys("enter");
    asks(&effects, FOLDER.into(), ModelQuestion::Inspect);
    h
}

#[test]
fn i_inspects_and_c_checks_the_model() {
    let mut h = Harness::finished(120, 40);
    assert!(h.keys("a").is_empty(), "the key has no effect in the other lab");
    let effects = h.keys("5 j enter");
    asks(&effects, "gpt2-mini".into(), ModelQuestion::Inspect);
    assert!(h.screen().contains("loading"), "{}", h.screen());
    h.event(common::inspected("gpt2-mini"));
    assert!(h.screen().contains("109514298"), "{}", h.screen());
    let effects = h.keys("t c");
    asks(&effects, "gpt2-mini".into(), ModelQuestion::Check);
    h.event(common::checked("gpt2-mini"));
    let screen = h.screen();
    assert!(screen.contains("1 of 3 quantities deviate") && screen.contains("FAIL"), "{screen}");
    h.keys("k");
    assert!(!h.screen().contains("FAIL"), "the other model has not been checked");
}

#[test]
fn added_model_is_listed_and_can_be_run() {
    let mut h = added();
    assert_eq!(models_screen::under_cursor(&h.state).as_deref(), Some(FOLDER), "the cursor is on the added model");
    h.keys("space");
    assert!(!h.lab().spec.models.contains(&FOLDER.to_owned()), "not before the model is loaded");
    h.event(common::inspected(FOLDER));
    assert_eq!(models_screen::under_cursor(&h.state).as_deref(), Some(FOLDER));
    h.keys("space");
    assert!(h.lab().spec.models.contains(&FOLDER.to_owned()));
    let effects = h.keys("2 r");
    let runs = |c: &&&Command| matches!(c, Command::Run { spec, .. } if spec.models().contains(&FOLDER.to_owned()));
    assert_eq!(sent(&effects).iter().filter(runs).count(), 1);
}

#[test]
fn unloadable_model_is_reported_in_pane_and_notices() {
    let mut h = added();
    h.event(failure());
    let screen = h.screen();
    assert!(screen.contains("config.json is missing") && screen.contains("could not be loaded"), "{screen}");
    assert!(h.state.notices().iter().any(|n| n.problem.r#where == FOLDER));
    // Once the folder is repaired, the same question is answered and the error disappears.
    h.keys("enter");
    h.event(common::inspected(FOLDER));
    assert!(!h.screen().contains("is missing"), "{}", h.screen());
}

#[test]
fn empty_address_is_refused_and_escape_sends_nothing() {
    let mut h = Harness::finished(120, 40);
    h.keys("5 a");
    assert!(h.keys("enter").is_empty());
    assert!(h.state.view.entry.as_ref().unwrap().error.is_some());
    assert!(h.keys("esc").is_empty());
    assert!(h.state.board.dossiers.is_empty());
}

#[test]
fn long_description_scrolls_to_its_end() {
    let mut h = Harness::finished(80, 24);
    h.keys("5 enter");
    h.event(common::inspected("bert-mini"));
    h.event(common::checked("bert-mini"));
    assert!(!h.screen().contains("##question"), "{}", h.screen());
    h.keys("tab");
    for _ in 0..20 {
        h.keys("pagedown");
    }
    assert!(h.screen().contains("##question"), "{}", h.screen());
    for _ in 0..20 {
        h.keys("pageup");
    }
    assert_eq!(h.state.place(models_screen::ID).scrolled(models_screen::PAGE), 0);
}

#[test]
fn record_rebuilds_the_same_board() {
    let mut h = added();
    h.event(failure());
    h.keys("enter");
    h.event(common::inspected(FOLDER));
    h.keys("t c");
    h.event(common::checked(FOLDER));
    assert_eq!(fold(&h.record), h.state.board);
}

#[test]
fn click_moves_the_cursor() {
    let mut h = Harness::finished(120, 40);
    h.keys("5");
    let mouse = |h: &mut Harness, x, y| h.act(Action::Mouse(Mouse { kind: MouseKind::Press, x, y }));
    mouse(&mut h, 5, 4);
    assert_eq!(models_screen::under_cursor(&h.state).as_deref(), Some("gpt2-mini"));
    mouse(&mut h, 5, 3);
    assert_eq!(models_screen::under_cursor(&h.state).as_deref(), Some("bert-mini"));
    mouse(&mut h, 5, 20);
    assert_eq!(
        models_screen::under_cursor(&h.state).as_deref(),
        Some("bert-mini"),
        "a click on an empty row does nothing"
    );
}
