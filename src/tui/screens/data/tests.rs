//! Tests of the list of data sets: entries, questions and cancellation.

use super::*;
use engine::data::DataAnswer;
use engine::message::Answer;

fn state() -> State {
    let mut state = State::new(Start::new());
    state.show(ID);
    state
}

#[test]
fn built_in_sets_are_listed_first() {
    let mut state = state();
    let own = listed(&state).len();
    assert!(own > 2);
    add(&mut state, "/data/x").unwrap();
    assert_eq!((listed(&state).len(), under_cursor(&state).as_deref()), (own + 1, Some("/data/x")));
    assert!(add(&mut state, "").is_err());
    assert_eq!(listed(&state).len(), own + 1);
}

/// Regression: the column of rows used to be empty with another lab's settings.
#[test]
fn built_in_sets_show_row_counts_for_every_lab() {
    for lab in crate::screens::labs() {
        let mut state = state();
        state.show(lab.id());
        state.show(ID);
        let mut terminal = ratatui::Terminal::new(ratatui::backend::TestBackend::new(120, 40)).unwrap();
        terminal.draw(|frame| crate::panes::draw(frame, &state)).unwrap();
        let text = terminal.backend().to_string();
        let has_rows = |line: &&str| line.split_whitespace().any(|word| word.replace(',', "").parse::<usize>().is_ok());
        let sets: Vec<&str> =
            text.lines().filter(|line| line.contains("attractors") || line.contains("animacy ")).collect();
        assert!(!sets.is_empty() && sets.iter().all(has_rows), "{}: {text}", lab.title());
    }
}

#[test]
fn cancelling_covers_all_questions_so_far() {
    let mut state = state();
    assert!(SCREEN.interrupt(&mut state).is_none(), "no question is pending");
    ask(&mut state, DataQuestion::Inspect);
    assert!(SCREEN.waiting(&state).is_some_and(|w| !w.stopping && w.progress.is_none()));
    assert_eq!(SCREEN.interrupt(&mut state).unwrap().len(), 1);
    assert!(stopping(&state) && SCREEN.interrupt(&mut state).is_none());
    ask(&mut state, DataQuestion::Doctor);
    assert!(!stopping(&state), "the newer question is not cancelled");
    assert!(SCREEN.interrupt(&mut state).is_some());
}

#[test]
fn cancellation_message_ends_when_all_have_stopped() {
    let mut state = state();
    ask(&mut state, DataQuestion::Inspect);
    SCREEN.interrupt(&mut state);
    assert!(state.view.toast.is_some());
    let event = Event::Answer { ticket: 1, answer: Answer::Data(DataAnswer::Stopped) };
    state.board.on_event(&event);
    SCREEN.on_event(&mut state, &event);
    assert_eq!((state.view.toast.clone(), state.screens.data.cancelling), (None, None));
}

#[test]
fn question_contains_the_labs_settings() {
    let mut state = state();
    crate::setup::typed(&mut state, "task.examples", "500").unwrap();
    let effects = ask(&mut state, DataQuestion::Doctor);
    let [Effect::Send(Command::Ask { question: Question::Data(request), .. })] = &effects[..] else {
        panic!("{effects:?}")
    };
    assert_eq!((request.task.examples, request.models.len()), (500, 1));
}

fn lines(state: &State, room: usize) -> Vec<String> {
    dossier::lines(state, room).iter().map(ToString::to_string).collect()
}

fn answered(state: &mut State, ticket: u64, answer: DataAnswer) {
    let event = Event::Answer { ticket, answer: Answer::Data(answer) };
    state.board.on_event(&event);
    SCREEN.on_event(state, &event);
}

fn inspection() -> engine::data::DataInspection {
    engine::data::DataInspection {
        title: "a task".into(),
        rows: 123_456,
        dropped: 1,
        blank: 0,
        left_out: 0,
        seconds: 0.5,
        hash: None,
        lines: vec!["rows".into(), "  dropped    5 rows \u{1b}[2J".into(), "  kept       all".into()],
        parts: None,
        examples: vec!["line 1: {\"a\":[1,2]}".into()],
    }
}

#[test]
fn page_shows_progress_and_cancel_key() {
    let mut state = state();
    ask(&mut state, DataQuestion::Inspect);
    ask(&mut state, DataQuestion::Doctor);
    assert_eq!(lines(&state, 60), ["reading; ctrl-c cancels", "running the data doctor; ctrl-c cancels"]);
    SCREEN.interrupt(&mut state);
    assert!(lines(&state, 60).iter().all(|l| l.ends_with("stopping")));
    for ticket in [1, 2] {
        answered(&mut state, ticket, DataAnswer::Stopped);
    }
    assert_eq!(lines(&state, 60), ["cancelled; earlier results are kept"]);
}

#[test]
fn set_contents_fit_and_are_printable() {
    let mut state = state();
    ask(&mut state, DataQuestion::Inspect);
    answered(&mut state, 1, DataAnswer::Inspected(Box::new(inspection())));
    for room in [40, 80] {
        let lines = lines(&state, room);
        assert!(lines.iter().all(|l| base::text::width(l) <= room), "{room}: {lines:?}");
        assert!(lines.iter().all(|l| !l.contains('\u{1b}')));
    }
    let all = lines(&state, 80);
    assert!(all[0].starts_with("What it contains (0.5"), "{all:?}");
    assert!(all.contains(&"  line 1: {\"a\":[1, 2]}".to_owned()), "{all:?}");
}

#[test]
fn only_dropped_rows_are_highlighted() {
    use crate::theme::Role;
    let mut state = state();
    let mut shown = |line: &str| {
        ask(&mut state, DataQuestion::Inspect);
        let found = engine::data::DataInspection { lines: vec![line.into()], ..inspection() };
        let ticket = state.board.ticket;
        answered(&mut state, ticket, DataAnswer::Inspected(Box::new(found)));
        let drawn = dossier::lines(&state, 80).swap_remove(1);
        drawn.spans.last().unwrap().style == state.theme().style(Role::Warning)
    };
    assert!(shown("  dropped    5 rows"));
    assert!(!shown("  dropped    0 rows"));
    assert!(shown("  not read   a.txt"));
    assert!(!shown("  kept       5 rows"));
}

#[test]
fn list_shows_row_counts_and_latest_state() {
    let mut state = state();
    let drawn = |state: &State| {
        let mut terminal = ratatui::Terminal::new(ratatui::backend::TestBackend::new(120, 40)).unwrap();
        terminal.draw(|frame| crate::panes::draw(frame, state)).unwrap();
        let text = terminal.backend().to_string();
        text.lines().nth(3).unwrap().to_owned()
    };
    ask(&mut state, DataQuestion::Inspect);
    assert!(drawn(&state).contains("reading; "), "{}", drawn(&state));
    answered(&mut state, 1, DataAnswer::Inspected(Box::new(inspection())));
    assert!(drawn(&state).contains("123k") && drawn(&state).contains("a task"), "{}", drawn(&state));
    ask(&mut state, DataQuestion::Doctor);
    let problem = base::Problem { what: "x".into(), r#where: "y".into(), hint: "z".into() };
    answered(&mut state, 2, DataAnswer::Failed(problem));
    assert!(drawn(&state).contains("cannot be read"), "{}", drawn(&state));
}

#[test]
fn oldest_question_with_progress_is_shown() {
    let mut state = state();
    ask(&mut state, DataQuestion::Inspect);
    SCREEN.travel(&mut state, LIST, 1);
    ask(&mut state, DataQuestion::Inspect);
    assert_eq!(current(&state).map(|w| w.ticket), Some(1));
    let progress = engine::message::Progress {
        stage: "reading".into(),
        done: 1,
        total: 2,
        unit: "rows".into(),
        rate: 1.0,
        overall: 0.5,
        elapsed: 1.0,
        left: None,
    };
    state.board.on_event(&Event::AnswerProgress { ticket: 2, progress });
    assert_eq!(current(&state).map(|w| w.ticket), Some(2));
    state.replay = Some(crate::state::ReplayState::new("s".into(), 1.0, 1.0));
    assert!(current(&state).is_none(), "a replay has no pending question");
}
