//! The data lab: contents of sets, the doctor's report, adding a folder, cancelling.

use probity::engine::data::{DataAnswer, DataQuestion};
use probity::engine::message::Topic;

use super::*;

const FOLDER: &str = "/data/my facts";

fn asked(effects: &[Effect]) -> &probity::engine::data::DataRequest {
    match sent(effects)[..] {
        [Command::Ask { question: Question::Data(request), .. }] => request,
        ref other => panic!("{other:?}"),
    }
}

/// The data lab with a typed folder.
fn added() -> Harness {
    let mut h = Harness::finished(120, 40);
    h.keys("6 a");
    h.typed(FOLDER);
    let effects = h.keys("enter");
    assert_eq!((asked(&effects).set.as_str(), h.state.board.ticket), (FOLDER, TICKET));
    h
}

fn failure() -> Event {
    let problem =
        Problem { what: "line 3: half a row".into(), r#where: FOLDER.into(), hint: "expected LAMA rows".into() };
    common::answer(TICKET, DataAnswer::Failed(problem))
}

#[test]
fn i_shows_contents_and_c_runs_the_doctor() {
    let mut h = Harness::finished(120, 40);
    let effects = h.keys("6 enter");
    let request = asked(&effects);
    assert_eq!((request.set.as_str(), request.question), ("agreement", DataQuestion::Inspect));
    assert_eq!(
        (request.task.examples, request.seed),
        (h.state.screens.interventions.spec.task.examples, h.state.screens.interventions.spec.seed)
    );
    assert!(request.models.is_empty());
    assert!(h.screen().contains("reading"), "{}", h.screen());
    h.event(common::held(TICKET));
    let screen = h.screen();
    for part in ["3 unreadable; 1 blank", "notes.txt", "train 8000", "largest uncorrelated subset: 4631", "phi 0.000"] {
        assert!(screen.contains(part), "no {part} in\n{screen}");
    }
    assert!(screen.contains("run of bert-mini: 4391 of 4560 oracle"), "the run's examples are listed\n{screen}");
    h.lab().spec.models = vec!["bert-mini".into(), "gpt2-mini".into()];
    let effects = h.keys("j t d");
    let request = asked(&effects);
    assert_eq!((request.set.as_str(), request.question), ("facts", DataQuestion::Doctor));
    assert_eq!(request.models, ["bert-mini", "gpt2-mini"]);
    h.event(common::diagnosed(TICKET + 1));
    let screen = h.screen();
    for part in ["84 dropped", "not UTF-8", "duplicate", "310 of 420 words are one token in all"] {
        assert!(screen.contains(part), "no {part} in\n{screen}");
    }
    h.keys("k");
    assert!(!h.screen().contains("84 dropped"), "the other set has not been examined");
}

#[test]
fn added_set_is_listed_with_its_rows() {
    let mut h = added();
    assert_eq!(data_screen::under_cursor(&h.state).as_deref(), Some(FOLDER), "the cursor is on the added set");
    h.event(common::held(TICKET));
    assert_eq!(data_screen::under_cursor(&h.state).as_deref(), Some(FOLDER));
    assert!(h.screen().contains("12,000  plain JSON lines"), "{}", h.screen());
    assert!(h.keys("space").is_empty(), "there is nothing to select");
}

#[test]
fn unreadable_set_is_reported_in_pane_and_notices() {
    let mut h = added();
    h.event(failure());
    let screen = h.screen();
    for part in ["half a row", "expected LAMA rows", "cannot be read"] {
        assert!(screen.contains(part), "no {part} in\n{screen}");
    }
    assert!(h.state.notices().iter().any(|n| n.problem.r#where == FOLDER));
    h.keys("enter");
    h.event(common::held(TICKET + 1));
    assert!(!h.screen().contains("half a row"), "the failure disappears once the file is repaired");
}

#[test]
fn empty_path_is_refused_and_escape_sends_nothing() {
    let mut h = Harness::finished(120, 40);
    h.keys("6 a");
    assert!(h.keys("enter").is_empty());
    assert!(h.state.view.entry.as_ref().unwrap().error.is_some());
    assert!(h.keys("esc").is_empty());
    assert!(h.state.board.sets.is_empty());
}

#[test]
fn cancel_key_stops_questions_then_quits() {
    let mut h = Harness::finished(120, 40);
    h.keys("6 t d");
    h.event(common::data_progress(TICKET));
    let screen = h.screen();
    assert!(screen.contains("examining /data/facts"), "{screen}");
    let effects = h.keys("ctrl-c");
    assert!(matches!(sent(&effects)[..], [Command::Withdraw { topic: Topic::Data }]) && !quits(&effects));
    h.event(common::answer(TICKET, DataAnswer::Stopped));
    assert!(h.screen().contains("cancelled"), "{}", h.screen());
    assert!(h.state.view.toast.is_none(), "the question was cancelled");
    let effects = h.keys("t d");
    assert_eq!(asked(&effects).set, "agreement", "the question can be asked again");
    h.keys("ctrl-c");
    assert!(!quits(&h.keys("ctrl-c")), "a second press neither quits nor asks");
}

#[test]
fn cancel_key_stops_the_run_first_outside_the_data_lab() {
    let mut h = Harness::running(120, 40);
    let [data, run] = [&["6", "enter"][..], &["2"]].map(|keys| keys.join(" "));
    h.keys(&data);
    assert!(matches!(sent(&h.keys("ctrl-c"))[..], [Command::Withdraw { topic: Topic::Data }]));
    h.event(common::answer(TICKET, DataAnswer::Stopped));
    h.keys(&data);
    h.keys(&run);
    assert!(matches!(sent(&h.keys("ctrl-c"))[..], [Command::Cancel { job: 1 }]));
}

#[test]
fn outdated_answers_are_ignored() {
    let mut h = Harness::finished(120, 40);
    h.keys("6 enter enter");
    let stale = h.state.board.stale;
    h.event(common::held(TICKET));
    assert!(h.state.board.set_of("agreement").unwrap().inspection.is_none());
    assert_eq!(h.state.board.stale, stale + 1);
    h.event(common::held(TICKET + 1));
    assert!(h.state.board.set_of("agreement").unwrap().inspection.is_some());
}

#[test]
fn long_answer_scrolls_to_its_end() {
    let mut h = Harness::finished(80, 24);
    h.keys("6 enter");
    h.event(common::held(TICKET));
    assert!(!h.screen().contains("这些钥匙"), "{}", h.screen());
    h.keys("tab");
    for _ in 0..20 {
        h.keys("pagedown");
    }
    assert!(h.screen().contains("打开哪一扇门"), "{}", h.screen());
    for _ in 0..20 {
        h.keys("pageup");
    }
    assert_eq!(h.state.place(data_screen::ID).scrolled(data_screen::PAGE), 0);
}

#[test]
fn record_rebuilds_the_board_and_replay_asks_nothing() {
    let mut h = added();
    h.event(failure());
    h.keys("enter t d");
    h.event(common::data_progress(TICKET + 1));
    h.event(common::held(TICKET + 1));
    h.event(common::diagnosed(TICKET + 2));
    assert_eq!(fold(&h.record), h.state.board);
    let mut replay = replayed(&h.record, 120, 40);
    assert_eq!(replay.state.board, h.state.board);
    assert!(replay.keys("6 enter t d a").is_empty());
    replay.state.place_mut(data_screen::ID).scroll.insert(data_screen::LIST, usize::MAX);
    assert!(replay.screen().contains("84 dropped"), "{}", replay.screen());
}

#[test]
fn click_moves_the_cursor() {
    let mut h = Harness::finished(120, 40);
    h.keys("6");
    let mouse = |h: &mut Harness, x, y| h.act(Action::Mouse(Mouse { kind: MouseKind::Press, x, y }));
    mouse(&mut h, 5, 4);
    assert_eq!(data_screen::under_cursor(&h.state).as_deref(), Some("facts"));
    mouse(&mut h, 5, 3);
    assert_eq!(data_screen::under_cursor(&h.state).as_deref(), Some("agreement"));
    mouse(&mut h, 5, 30);
    assert_eq!(
        data_screen::under_cursor(&h.state).as_deref(),
        Some("agreement"),
        "a click on an empty row does nothing"
    );
}
