//! The lines above and below the panes: what they say, and what a click on them meets.

use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::*;
use crate::action::Action;
use crate::layout::compute;
use crate::reduce::reduce;
use crate::state::{ReplayState, Start, TextEntry};
use base::Problem;
use engine::message::{Command, EngineInfo, Event, Notice, Question};

fn state(columns: u16) -> State {
    State::new(Start { size: (columns, 24), ..Start::new() })
}

#[test]
fn a_click_on_a_tab_meets_the_screen_whose_name_is_there() {
    for columns in [120, 80, 60] {
        let mut state = state(columns);
        for screen in SCREENS {
            state.show(screen.id());
            let mut x = width(NAME);
            for (id, name) in screen_tabs(&state) {
                assert_eq!(screen_at(&state, x as u16), Some(id));
                x += width(&name);
                assert_eq!(screen_at(&state, x as u16 - 1), Some(id));
            }
            assert_eq!(screen_at(&state, x as u16), None);
            assert!(x <= usize::from(columns), "the tabs fit {columns} columns");
        }
    }
}

#[test]
fn tabs_show_the_key_that_is_bound() {
    let (keymap, _) = crate::keymap::Keymap::parse("[keys]\nhome = [\"9\"]", "mine");
    let state = State::new(Start { keymap, ..Start::new() });
    assert!(screen_tabs(&state)[0].1.starts_with(" 9 "));
}

#[test]
fn a_click_on_the_footer_meets_the_word_that_is_there() {
    let state = state(120);
    let area = Rect::new(0, 23, 120, 1);
    let mut x = 1;
    for item in items(&state, 120) {
        assert_eq!(footer_at(&state, area, x).map(|e| e.name), Some(item.entry.name));
        x += (width(&item.keys) + 1 + width(item.word) + 2) as u16;
    }
    assert!(footer_at(&state, area, 0).is_none());
    assert!(x <= 121, "the words fit");
}

#[test]
fn a_click_on_a_pane_tab_meets_its_pane() {
    let state = state(80);
    let mut x = 0;
    for pane in state.screen().panes() {
        assert_eq!(tab_at(&state, x), Some(*pane));
        x += width(pane.0) as u16 + 2;
    }
    assert_eq!(tab_at(&state, x), None);
}

// ---- what the lines say -------------------------------------------------------------------------------------------

/// A line as it is drawn.
fn drawn(state: &State, draw: fn(&mut Frame, Rect, &State)) -> String {
    let (columns, _) = state.view.size;
    let mut terminal = Terminal::new(TestBackend::new(columns, 1)).unwrap();
    terminal.draw(|frame| draw(frame, frame.area(), state)).unwrap();
    let buffer = terminal.backend().buffer();
    (0..columns).map(|x| buffer[(x, 0)].symbol()).collect()
}

fn running(columns: u16) -> State {
    let mut state = state(columns);
    reduce(&mut state, Action::Start);
    state
}

fn event(state: &mut State, event: Event) {
    reduce(state, Action::Event(Box::new(event)));
}

fn problem() -> Problem {
    Problem { what: "no \u{1b}model".into(), r#where: "x".into(), hint: "look".into() }
}

fn stage(name: &str) -> Progress {
    Progress {
        stage: name.into(),
        done: 30,
        total: 40,
        unit: "ex".into(),
        rate: 1_500.0,
        overall: 0.25,
        elapsed: 2.0,
        left: Some(61.0),
    }
}

#[test]
fn the_line_of_progress_says_how_the_engine_and_its_run_are() {
    let mut state = state(100);
    assert!(drawn(&state, progress).contains("the engine is starting"));
    event(&mut state, Event::Ready(EngineInfo { version: "1".into(), device: "cpu".into() }));
    assert!(drawn(&state, progress).contains("ready"));
    reduce(&mut state, Action::Start);
    assert!(drawn(&state, progress).contains("starting"));
    event(&mut state, Event::Progress { generation: 1, progress: stage("an oracle") });
    let line = drawn(&state, progress);
    for part in ["an oracle", "75 %", "1.5k ex/s", "left", "all 25 %"] {
        assert!(line.contains(part), "{part}: {line}");
    }
    state.cancelling = Some(1);
    assert!(drawn(&state, progress).contains("stopping"));
    state.board.on_command(&Command::Pause { hold: true });
    assert!(drawn(&state, progress).contains("paused; p resumes"));
}

#[test]
fn each_end_of_a_run_is_told_from_the_others() {
    for (outcome, part) in [
        (Outcome::Done, "done in 2"),
        (Outcome::Cancelled, "cancelled after 2"),
        (Outcome::Failed(problem()), "failed: "),
    ] {
        let mut state = running(100);
        event(&mut state, Event::Finished { job: 1, generation: 1, outcome, seconds: 2.0 });
        let line = drawn(&state, progress);
        assert!(line.contains(part) && !line.contains('\u{1b}'), "{line}");
    }
}

#[test]
fn what_has_no_room_is_left_out_from_the_end() {
    let mut state = running(120);
    event(&mut state, Event::Progress { generation: 1, progress: stage("a stage of a rather long name") });
    let mut before = (true, true);
    for columns in (40..=120).rev() {
        state.view.size.0 = columns;
        let line = drawn(&state, progress);
        let now = (line.contains("75 %"), line.contains("all 25 %"));
        assert!(now.0 || !now.1, "what stands last goes first: {line}");
        assert!(before.0 || !now.0, "with less room there is no more: {line}");
        before = now;
    }
    let line = drawn(&state, progress);
    assert!(line.contains('…') && !line.contains("75 %"), "{line}");
}

#[test]
fn waiting_runs_and_notices_are_counted_at_the_right() {
    let mut state = running(100);
    assert!(!drawn(&state, progress).contains("wait"));
    let spec = state.setup().unwrap().spec(&state);
    state.queue.push_back(spec.clone());
    assert!(drawn(&state, progress).trim_end().ends_with("1 run waits (w)"));
    state.queue.push_back(spec);
    let info = Notice { level: NoticeLevel::Info, problem: problem() };
    reduce(&mut state, Action::Notice(info.clone()));
    assert!(drawn(&state, progress).trim_end().ends_with("2 runs wait (w)  1 notice (!)"));
    reduce(&mut state, Action::Notice(info));
    assert!(drawn(&state, progress).trim_end().ends_with("2 notices (!)"));
}

#[test]
fn a_question_of_the_shown_screen_goes_before_the_run_and_one_of_another_screen_after_it() {
    let mut state = running(100);
    event(&mut state, Event::Progress { generation: 1, progress: stage("an oracle") });
    let request = engine::data::DataRequest::of(
        &Default::default(),
        0,
        &[],
        "facts",
        engine::data::DataQuestion::Inspect,
    );
    let ask = Command::Ask { ticket: 9, question: Question::Data(request) };
    state.board.on_command(&ask);
    assert!(drawn(&state, progress).contains("an oracle"), "another screen asked");
    let screen = SCREENS.iter().find(|s| s.waiting(&state).is_some()).unwrap();
    state.show(screen.id());
    assert!(drawn(&state, progress).contains("looking at the data"));
    event(&mut state, Event::AnswerProgress { ticket: 9, progress: stage("reading facts") });
    let line = drawn(&state, progress);
    assert!(line.contains("reading facts") && !line.contains("all"), "such a question has one stage: {line}");
}

#[test]
fn a_long_message_is_wrapped_over_the_panes_and_a_short_one_is_not() {
    let mut state = state(60);
    let screen = |state: &State| {
        let mut terminal = Terminal::new(TestBackend::new(60, 24)).unwrap();
        terminal.draw(|frame| crate::panes::draw(frame, state)).unwrap();
        terminal.backend().to_string()
    };
    state.view.toast = Some("short".into());
    assert!(screen(&state).contains("short"));
    let words: Vec<String> = (0..200).map(|i| format!("word{i}")).collect();
    state.view.toast = Some(words.join(" "));
    let text = screen(&state);
    assert!(text.contains("word0 ") && text.contains("word20"), "{text}");
    assert!(!text.contains("word199"), "at most {TOAST} lines");
    let layout = compute(&state).unwrap();
    let last = layout.progress.bottom();
    let mut terminal = Terminal::new(TestBackend::new(60, 24)).unwrap();
    terminal.draw(|frame| toast(frame, &layout, &state)).unwrap();
    let filled = |y: u16| (0..60).any(|x| terminal.backend().buffer()[(x, y)].symbol() != " ");
    assert!(filled(last - 1) && filled(last - TOAST as u16) && !filled(last - TOAST as u16 - 1));
}

#[test]
fn a_text_field_shows_the_end_of_a_long_text_and_why_it_cannot_be_taken() {
    let mut state = state(60);
    reduce(&mut state, Action::Command("name-session"));
    reduce(&mut state, Action::Paste(format!("{}the-end", "x".repeat(300))));
    let line = drawn(&state, progress);
    assert!(line.contains("name of the session") && line.contains("the-end"), "{line}");
    state.view.entry = Some(TextEntry {
        error: Some("type a name".into()),
        ..TextEntry::new(state.view.entry.unwrap().purpose, "")
    });
    assert!(drawn(&state, progress).contains("✗ type a name"));
}

#[test]
fn the_lamp_says_whether_and_what_is_recorded_or_replayed() {
    let mut state = state(120);
    assert!(drawn(&state, title).contains("not recorded"));
    state.recording = Recording::On("mine\u{1b}".into());
    let line = drawn(&state, title);
    assert!(line.contains("● rec mine␛"), "{line}");
    state.recording = Recording::Failed("disk full".into());
    assert!(drawn(&state, title).contains("recording stopped"));
    let mut replay = ReplayState::new("theirs".into(), 125.0, 2.0);
    (replay.at, replay.held) = (61.0, true);
    state.replay = Some(replay);
    let line = drawn(&state, title);
    assert!(line.contains("❚❚ replay theirs 1:01/2:05 ×2"), "{line}");
    state.view.glyphs = Glyphs::Ascii;
    state.replay.as_mut().unwrap().ended = true;
    assert!(drawn(&state, title).contains("|| replay theirs") && drawn(&state, title).contains(" end"));
    state.replay.as_mut().unwrap().held = false;
    state.replay.as_mut().unwrap().ended = false;
    assert!(drawn(&state, title).contains("> replay theirs"));
}

#[test]
fn the_footer_offers_what_can_be_done_now() {
    let mut state = state(120);
    assert!(!drawn(&state, footer).contains("cancel"), "there is nothing to cancel");
    reduce(&mut state, Action::Start);
    assert!(drawn(&state, footer).contains("ctrl-c cancel") && drawn(&state, footer).contains("p pause"));
    reduce(&mut state, Action::Command("help"));
    let line = drawn(&state, footer);
    assert!(line.contains("esc back") && !line.contains("pause"), "{line}");
    let mut replay = self::state(120);
    replay.replay = Some(ReplayState::new("s".into(), 1.0, 1.0));
    let line = drawn(&replay, footer);
    assert!(line.contains("space pause") && line.contains("left/right seek"), "{line}");
    assert!(!line.contains("enter run"), "a replay runs nothing: {line}");
}

#[test]
fn a_key_that_a_screen_takes_for_itself_is_shown_once_with_its_own_word() {
    for screen in SCREENS {
        let mut state = state(200);
        state.show(screen.id());
        let items = items(&state, 400);
        for (i, item) in items.iter().enumerate() {
            assert!(
                items[..i].iter().all(|other| other.keys != item.keys),
                "{}: {} stands twice",
                screen.title(),
                item.keys
            );
        }
    }
}
