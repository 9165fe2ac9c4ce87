//! Tests of the opening screen: opening, replaying and resuming.

use super::*;
use session::shelf::End;

fn session(name: &str) -> Recorded {
    Recorded {
        name: name.into(),
        path: format!("/sessions/{name}.probity.jsonl").into(),
        created: "2026-01-02T03:04:05Z".into(),
        lab: "interventions".into(),
        about: "agreement on bert-mini".into(),
        runs: 1,
        end: End::Done,
    }
}

fn state() -> State {
    let mut state = State::new(Start::new());
    let effects = show(&mut state);
    assert_eq!(effects, [Effect::ListSessions]);
    state.sessions = Some(vec![session("b"), session("a")]);
    state
}

#[test]
fn every_other_screen_says_which_question_it_answers() {
    assert_eq!(answering().count(), SCREENS.iter().filter(|s| !s.watches()).count() - 1);
    assert!(answering().all(|(_, question)| question.len() > 10));
}

#[test]
fn taking_a_question_opens_its_screen() {
    for (i, (screen, _)) in answering().enumerate() {
        let mut state = state();
        state.place_mut(ID).scroll.insert(LABS, i);
        take(&mut state);
        assert_eq!(state.view.screen, screen.id());
    }
}

#[test]
fn taking_a_session_replays_it_and_the_other_key_goes_on_with_it() {
    let mut state = state();
    assert!(!can_resume(&state), "the cursor is on a question");
    state.here_mut().focus = SESSIONS;
    SCREEN.travel(&mut state, SESSIONS, 1);
    let path = std::path::PathBuf::from("/sessions/a.probity.jsonl");
    assert_eq!(take(&mut state), [Effect::OpenSession(path.clone())]);
    assert!(can_resume(&state));
    assert_eq!(resume(&mut state), [Effect::ResumeSession(path, None)]);
    // Regression: nothing used to be shown while the session was being read.
    assert!(state.view.toast.as_ref().is_some_and(|text| text.contains("reading a")), "{:?}", state.view.toast);
    state.sessions = Some(Vec::new());
    assert!(take(&mut state).is_empty() && !can_resume(&state));
}

#[test]
fn within_a_replay_no_other_is_opened() {
    let mut state = state();
    state.replay = Some(crate::state::ReplayState::new("s".into(), 1.0, 1.0));
    state.here_mut().focus = SESSIONS;
    assert!(take(&mut state).is_empty() && state.view.toast.is_some());
    assert!(!can_resume(&state));
}

#[test]
fn a_model_is_opened_on_its_screen_and_ticked_with_a_message() {
    let mut state = state();
    state.here_mut().focus = MODELS;
    assert_eq!(models(&state), [("bert-mini".to_owned(), true)]);
    // Regression: the footer used to say "open", and the key unticked a model of another screen.
    take(&mut state);
    assert_eq!(models(&state), [("bert-mini".to_owned(), true)]);
    assert_eq!(state.view.screen, crate::screens::models::ID);
    assert_eq!(crate::screens::models::under_cursor(&state).as_deref(), Some("bert-mini"));
    show(&mut state);
    crate::reduce::reduce(&mut state, crate::action::Action::Key("space".parse().unwrap()));
    assert!(models(&state).iter().all(|(_, on)| !on));
    let said = state.view.toast.as_deref();
    assert_eq!(said, Some("the next Interventions run leaves out bert-mini"));
}

#[test]
fn a_second_click_takes_what_the_first_pointed_at() {
    use crate::action::MouseKind;
    let mut state = state();
    state.here_mut().focus = SESSIONS;
    let area = Rect::new(0, 10, 60, 10);
    let click = Mouse { kind: MouseKind::Press, x: 5, y: 13 };
    assert!(SCREEN.press(&mut state, SESSIONS, area, click).is_empty());
    assert_eq!(state.place(ID).scrolled(SESSIONS), 1);
    assert_eq!(SCREEN.press(&mut state, SESSIONS, area, click).len(), 1);
}

#[test]
fn a_session_is_renamed_and_deleted_from_the_menu_after_its_name_was_typed() {
    let mut state = state();
    assert!(!can_change(&state), "the cursor is on a question");
    state.here_mut().focus = SESSIONS;
    state.recording = Recording::On("b".into());
    assert!(!can_change(&state), "the cursor is on this session");
    SCREEN.travel(&mut state, SESSIONS, 1);
    assert!(can_change(&state));
    let path = || std::path::PathBuf::from("/sessions/a.probity.jsonl");
    let renamed = (RENAME.take)(&mut state, "first-look").unwrap();
    assert_eq!(renamed, [Effect::ChangeSession(path(), Change::Rename("first-look".into()))]);
    assert!((DELETE.take)(&mut state, "b").is_err());
    assert_eq!((DELETE.take)(&mut state, "a").unwrap(), [Effect::ChangeSession(path(), Change::Delete)]);
}

#[test]
fn a_lab_says_that_runs_are_coming_back() {
    let mut state = state();
    state.here_mut().focus = SESSIONS;
    resume(&mut state);
    state.show(crate::screens::interventions::ID);
    let said = |state: &State| crate::answer::lines(state)[0].1.clone();
    assert_eq!(said(&state), "Reading b; its runs will be restored.");
    let problem = base::Problem { what: "gone".into(), r#where: "b".into(), hint: "choose another".into() };
    crate::reduce::reduce(&mut state, crate::action::Action::Resumed(Err(problem)));
    assert!(said(&state).starts_with("Not run yet"), "{}", said(&state));
}

/// Regression: the list used to name a session after its first run.
#[test]
fn a_session_is_listed_by_its_last_finished_run_and_the_number_of_runs() {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    for size in [(120, 40), (80, 24)] {
        let mut state = State::new(Start { size, ..Start::new() });
        show(&mut state);
        state.here_mut().focus = SESSIONS;
        let cancelled = Recorded { runs: 3, end: End::Cancelled, ..session("a-session") };
        state.sessions = Some(vec![cancelled, session("b")]);
        let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).unwrap();
        terminal.draw(|frame| crate::panes::draw(frame, &state)).unwrap();
        let text = terminal.backend().to_string();
        assert!(text.contains("3 runs, cancelled") && text.contains("Interventions: "), "{text}");
        // Regression: the headings of two columns used to overlap.
        assert!(text.contains("run ") && !text.contains("runend"), "{text}");
    }
}

#[test]
fn no_question_is_cut_at_80_columns() {
    let mut state = state();
    state.view.size = (80, 24);
    let mut terminal = ratatui::Terminal::new(ratatui::backend::TestBackend::new(80, 12)).unwrap();
    terminal.draw(|frame| draw::labs(frame, frame.area(), &state)).unwrap();
    let drawn = terminal.backend().to_string();
    assert!(!drawn.contains('…') && answering().all(|(_, question)| drawn.contains(question)), "{drawn}");
}

/// Regression: names of sessions used to be cut next to unused columns.
#[test]
fn names_of_sessions_are_whole_where_there_is_room() {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    let mut state = state();
    let name = "agreement-20261127-222638";
    state.sessions = Some(vec![Recorded { runs: 3, end: End::Cancelled, ..session(name) }]);
    let mut terminal = Terminal::new(TestBackend::new(120, 40)).unwrap();
    terminal.draw(|frame| crate::panes::draw(frame, &state)).unwrap();
    assert!(terminal.backend().to_string().contains(name), "{}", terminal.backend());
}

/// Regression: Home used to say that no session had been kept, under a header that named the file of this one.
#[test]
fn the_present_session_is_said_to_be_listed_later() {
    let mut state = state();
    state.sessions = Some(Vec::new());
    state.recording = Recording::On("agreement-3".into());
    let text = |state: &State| {
        let mut terminal = ratatui::Terminal::new(ratatui::backend::TestBackend::new(120, 40)).unwrap();
        terminal.draw(|frame| crate::panes::draw(frame, state)).unwrap();
        terminal.backend().to_string()
    };
    assert!(text(&state).contains("no session has been saved yet"), "nothing ran: {}", text(&state));
    crate::reduce::job::run(&mut state);
    show(&mut state);
    assert!(text(&state).contains("this session is listed here after the program ends"), "{}", text(&state));
}

/// Regression: sessions of programs that were closed before their first run used to be listed above those with results.
#[test]
fn sessions_without_runs_are_not_listed() {
    let mut state = state();
    let empty = Recorded { runs: 0, end: End::Open, ..session("empty") };
    let broken = Recorded { runs: 0, end: End::Unreadable, ..session("broken") };
    let listed = Ok(vec![empty, broken, session("full")]);
    crate::reduce::reduce(&mut state, crate::action::Action::Sessions(listed));
    let names: Vec<&str> = sessions(&state).iter().map(|session| session.name.as_str()).collect();
    assert_eq!(names, ["broken", "full"]);
}
