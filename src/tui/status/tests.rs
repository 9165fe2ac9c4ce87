//! Tests of the lines below the panes: contents and clicks.

use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::*;
use crate::action::Action;
use crate::layout::compute;
use crate::reduce::reduce;
use crate::state::{ReplayState, Start};
use base::Problem;
use engine::message::{Command, EngineInfo, Event, Notice, Question};

fn state(columns: u16) -> State {
    State::new(Start { size: (columns, 24), ..Start::new() })
}

fn drawn(state: &State, draw: fn(&mut Frame, Rect, &State)) -> String {
    let (columns, _) = state.view.size;
    let mut terminal = Terminal::new(TestBackend::new(columns, 1)).unwrap();
    terminal.draw(|frame| draw(frame, frame.area(), state)).unwrap();
    let buffer = terminal.backend().buffer();
    (0..columns).map(|x| buffer[(x, 0)].symbol()).collect()
}

#[test]
fn click_on_footer_key_runs_its_command() {
    let state = state(120);
    let area = Rect::new(0, 23, 120, 1);
    let all = keys(&state, area);
    let columns = |item: &Item| (width(&item.keys) + 1 + width(item.word) + 2) as u16;
    let mut x = 120 - all.iter().map(columns).sum::<u16>();
    assert!(x > 0 && !all.is_empty(), "the words fit");
    for item in all {
        assert_eq!(key_at(&state, area, x).map(|e| e.name), Some(item.entry.name));
        x += columns(&item);
    }
    assert!(key_at(&state, area, 0).is_none());
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
fn progress_line_shows_engine_and_run_state() {
    let mut state = state(100);
    assert!(drawn(&state, draw).contains("the engine is starting"));
    event(&mut state, Event::Ready(EngineInfo { version: "1".into(), device: "cpu".into() }));
    assert!(drawn(&state, draw).contains("ready"));
    reduce(&mut state, Action::Start);
    assert!(drawn(&state, draw).contains("starting"));
    event(&mut state, Event::Progress { generation: 1, progress: stage("an oracle") });
    let line = drawn(&state, draw);
    for part in ["an oracle", "25 %", "about 1 min"] {
        assert!(line.contains(part), "{part}: {line}");
    }
    state.cancelling = Some(1);
    assert!(drawn(&state, draw).contains("stopping"));
    state.board.on_command(&Command::Pause { hold: true });
    assert!(drawn(&state, draw).contains("paused; p resumes"));
}

#[test]
fn run_outcomes_are_distinguished() {
    for (outcome, part) in [
        (Outcome::Done, "done in 2"),
        (Outcome::Cancelled, "cancelled after 2"),
        (Outcome::Failed(problem()), "failed: "),
    ] {
        let mut state = running(100);
        event(&mut state, Event::Finished { job: 1, generation: 1, outcome, seconds: 2.0 });
        let line = drawn(&state, draw);
        assert!(line.contains(part) && !line.contains('\u{1b}'), "{line}");
    }
}

/// Regression: the bar used to show 100 % and 0 s for seconds before a run had ended.
#[test]
fn progress_stays_below_100_percent_until_the_end() {
    let mut state = running(120);
    let ending = Progress { overall: 1.0, left: Some(0.2), ..stage("the last stage") };
    event(&mut state, Event::Progress { generation: 1, progress: ending });
    let line = drawn(&state, draw);
    assert!(line.contains("99 %") && line.contains("a moment") && !line.contains("0 s"), "{line}");
}

/// Regression: a message used to replace the progress until a key was pressed.
#[test]
fn message_keeps_progress_visible_and_expires() {
    let mut state = running(120);
    event(&mut state, Event::Progress { generation: 1, progress: stage("an oracle") });
    state.view.toast = Some("hello".into());
    assert!(drawn(&state, draw).contains("an oracle") && drawn(&state, about).contains("hello"));
    for _ in 0..40 {
        reduce(&mut state, Action::Tick);
    }
    assert_eq!(state.view.toast, None, "the message is gone after four seconds");
}

#[test]
fn waiting_runs_and_messages_are_counted() {
    let mut state = running(100);
    assert!(!drawn(&state, about).contains("wait"));
    let spec = state.setup().unwrap().spec(&state);
    state.queue.push_back(spec.clone());
    assert!(drawn(&state, about).trim_end().ends_with("w shows 1 waiting run"));
    state.queue.push_back(spec);
    let info = Notice { level: NoticeLevel::Info, problem: problem() };
    reduce(&mut state, Action::Notice(info.clone()));
    assert!(drawn(&state, about).trim_end().ends_with("w shows 2 waiting runs  ! shows 1 message"));
    reduce(&mut state, Action::Notice(info));
    assert!(drawn(&state, about).trim_end().ends_with("! shows 2 messages"));
}

#[test]
fn questions_of_the_shown_screen_have_priority() {
    let mut state = running(100);
    event(&mut state, Event::Progress { generation: 1, progress: stage("an oracle") });
    let request =
        engine::data::DataRequest::of(&Default::default(), 0, &[], "facts", engine::data::DataQuestion::Inspect);
    let ask = Command::Ask { ticket: 9, question: Question::Data(request) };
    state.board.on_command(&ask);
    assert!(drawn(&state, draw).contains("an oracle"), "the question is another screen's");
    let screen = SCREENS.iter().find(|s| s.waiting(&state).is_some()).unwrap();
    state.show(screen.id());
    assert!(drawn(&state, draw).contains("reading the data"));
    event(&mut state, Event::AnswerProgress { ticket: 9, progress: stage("reading facts") });
    let line = drawn(&state, draw);
    assert!(line.contains("reading facts") && line.contains("75 %"), "this question has only one stage: {line}");
}

#[test]
fn long_message_wraps_over_the_panes() {
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
    let last = layout.about.bottom();
    let mut terminal = Terminal::new(TestBackend::new(60, 24)).unwrap();
    terminal.draw(|frame| message(frame, &layout, &state)).unwrap();
    let filled = |y: u16| (0..60).any(|x| terminal.backend().buffer()[(x, y)].symbol() != " ");
    assert!(filled(last - 1) && filled(last - TOAST as u16) && !filled(last - TOAST as u16 - 1));
}

#[test]
fn text_field_shows_text_end_and_error() {
    let mut state = state(60);
    reduce(&mut state, Action::Command("name-session"));
    reduce(&mut state, Action::Paste(format!("{}the-end", "x".repeat(300))));
    let line = drawn(&state, about);
    assert!(line.contains("session name") && line.contains("the-end"), "{line}");
    state.view.entry =
        Some(TextEntry { error: Some("type a name".into()), ..TextEntry::new(state.view.entry.unwrap().purpose, "") });
    assert!(drawn(&state, about).contains("✗ type a name"));
}

#[test]
fn footer_shows_only_usable_keys() {
    let mut state = state(120);
    assert!(!drawn(&state, draw).contains("ctrl-c"), "there is nothing to stop");
    reduce(&mut state, Action::Start);
    assert!(drawn(&state, draw).contains("ctrl-c/p stop") || drawn(&state, draw).contains("ctrl-c stop"));
    reduce(&mut state, Action::Command("help"));
    let line = drawn(&state, draw);
    assert!(line.contains("esc back") && !line.contains("pause"), "{line}");
    let mut replay = self::state(120);
    replay.replay = Some(ReplayState::new("s".into(), 1.0, 1.0));
    let line = drawn(&replay, draw);
    assert!(line.contains("p play") && line.contains("</> seek"), "{line}");
    assert!(!line.contains("r run"), "a replay runs nothing: {line}");
}

#[test]
fn overridden_key_is_shown_once() {
    for screen in SCREENS {
        let mut state = state(200);
        state.show(screen.id());
        let items = items(&state, 400);
        for (i, item) in items.iter().enumerate() {
            assert!(
                items[..i].iter().all(|other| other.keys != item.keys),
                "{}: {} appears twice",
                screen.title(),
                item.keys
            );
        }
    }
}

/// Regression: keys used to disappear while a stage with a long name was shown.
#[test]
fn footer_keys_do_not_depend_on_progress() {
    for columns in [80, 120] {
        let mut state = running(columns);
        let words = |state: &State| -> Vec<&str> {
            keys(state, Rect::new(0, 23, columns, 1)).iter().map(|item| item.word).collect()
        };
        let before = words(&state);
        event(
            &mut state,
            Event::Progress { generation: 1, progress: stage("a stage with a name that goes on and on") },
        );
        assert_eq!(words(&state), before);
        assert!(before.contains(&"help") && before.contains(&"quit"), "{before:?}");
    }
}

/// Regression: the start of a prefilled folder used to be cut without a mark, next to a hint that took half of the line.
#[test]
fn typed_text_has_priority_over_the_hint() {
    static ASKED: crate::state::Prompt =
        crate::state::Prompt { label: "folder", hint: "created if missing", take: |_, _| Ok(Vec::new()), follow: None };
    let mut state = state(60);
    let field = |state: &mut State, text: &str| {
        state.view.entry = Some(TextEntry::new(Purpose::Ask(&ASKED), text));
        drawn(state, about)
    };
    let whole = field(&mut state, "/data/results/of/one/long/path/figures");
    assert!(whole.contains("= /data/results/of/one/long/path/figures "), "{whole}");
    let cut = field(&mut state, &format!("/data{}/figures", "/results".repeat(9)));
    assert!(cut.contains("= …") && cut.trim_end().ends_with("/figures"), "{cut}");
}

/// Regression: the footer used to show `ok` where `enter` wrote a figure.
#[test]
fn dialog_footer_describes_enter() {
    let mut state = state(120);
    crate::popups::export(&mut state);
    let words: Vec<&str> = items(&state, 100).iter().map(|item| item.word).collect();
    assert!(words.contains(&"write the files") && !words.contains(&"ok"), "{words:?}");
}

/// Regression: the footer used to lack the keys that export, compare and explain, and at 80 columns the key that stops a run.
#[test]
fn footer_has_export_compare_explain_and_stop_keys() {
    let words = |state: &State| -> String {
        let (columns, _) = state.view.size;
        keys(state, Rect::new(0, 23, columns, 1)).iter().map(|item| format!("{} {}; ", item.keys, item.word)).collect()
    };
    let mut state = running(80);
    assert!(words(&state).contains("ctrl-c stop"), "{}", words(&state));
    event(&mut state, Event::Finished { job: 1, generation: 1, outcome: Outcome::Done, seconds: 1.0 });
    assert!(words(&state).contains("K terms") && !words(&state).contains("stop"), "{}", words(&state));
    state.view.size = (120, 40);
    reduce(&mut state, Action::Key("r".parse().unwrap()));
    reduce(&mut state, Action::Key("enter".parse().unwrap()));
    event(&mut state, Event::Finished { job: 2, generation: 2, outcome: Outcome::Done, seconds: 1.0 });
    for key in ["D compare", "x export", "K terms"] {
        assert!(words(&state).contains(key), "{key}: {}", words(&state));
    }
}

/// Regression: a message slightly too long for the line with the counts used to appear on both lines.
#[test]
fn message_appears_once() {
    for (columns, rows) in [(80, 24), (120, 40), (80, 20)] {
        for length in [40, 60, 66, 70, 77, 100, 118, 150] {
            let mut state = State::new(Start { size: (columns, rows), ..Start::new() });
            state.notify(Notice { level: NoticeLevel::Info, problem: problem() });
            state.view.toast = Some(format!("begins here {}", "µ ".repeat(length / 2 - 6)));
            let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
            terminal.draw(|frame| crate::panes::draw(frame, &state)).unwrap();
            let text = terminal.backend().to_string();
            assert_eq!(text.matches("begins here").count(), 1, "{length} at {columns}x{rows}\n{text}");
            assert_eq!(text.matches("µ ").count(), length / 2 - 6, "{length} at {columns}x{rows}\n{text}");
        }
    }
}

/// Regression: at 80 columns a long stage used to leave no space for the time.
#[test]
fn progress_shows_remaining_time_at_80_columns() {
    let mut state = running(80);
    let progress = Progress { left: Some(1200.0), ..stage("agreement examples for bert-mini, training 3 of 10") };
    event(&mut state, Event::Progress { generation: 1, progress });
    let line = drawn(&state, draw);
    assert!(line.contains("25 %") && line.contains("about 20 min") && line.contains("agreement"), "{line}");
}

/// Regression: a recorded example on top of the program used to hide the progress of the user's own run.
#[test]
fn run_progress_is_visible_under_a_replay() {
    let mut beneath = running(120);
    event(&mut beneath, Event::Progress { generation: 1, progress: stage("training probes") });
    let mut job = beneath.board.job().cloned().unwrap();
    let mut text = |held| {
        job.held = held;
        let replay = ReplayState { beneath: Some(job.clone()), ..ReplayState::new("s".into(), 20.0, 1.0) };
        let state = State::new(Start { replay: Some(replay), size: (120, 24), ..Start::new() });
        drawn(&state, draw)
    };
    assert!(text(false).contains("your run: training"), "{}", text(false));
    assert!(text(false).contains('%') && text(true).contains("your run is paused"), "{}", text(true));
}

/// Regression: the export dialog used to offer `space` on rows without a box.
#[test]
fn each_hinted_key_of_a_popup_does_something() {
    let opened = |open: &str, down: usize| {
        let mut state = running(120);
        state.view.size = (120, 40);
        state.screens.interventions.curves = Some(figure::samples::curves());
        let keys = open.split(' ').chain(std::iter::repeat_n("j", down));
        keys.for_each(|key| drop(reduce(&mut state, Action::Key(key.parse().unwrap()))));
        state
    };
    let screen = |state: &State| {
        let mut terminal = Terminal::new(TestBackend::new(120, 40)).unwrap();
        terminal.draw(|frame| crate::panes::draw(frame, state)).unwrap();
        terminal.backend().to_string()
    };
    let mut hinted = 0;
    for open in ["x", "K", "!", "F", "H", "D", "i", "t", "r", "q"] {
        for down in [0, 1, 11, 12] {
            let before = opened(open, down);
            assert!(before.view.popup.is_some(), "{open} opens no popup: {:?}", before.view.toast);
            for item in items(&before, 120) {
                // A cursor at either end does not move, and closing is tested elsewhere.
                if ["move", "close"].contains(&item.word) {
                    continue;
                }
                let key = *state(120).keymap.keys(item.entry.name).first().unwrap();
                let mut after = opened(open, down);
                let effects = reduce(&mut after, Action::Key(key));
                let said = after.view.toast.clone().unwrap_or_default();
                assert!(!said.contains("not available"), "{open} {down}, {key} {}: {said}", item.word);
                let changed = !effects.is_empty() || screen(&after) != screen(&before);
                assert!(changed, "{open} {down}: {key} {} changes nothing", item.word);
                hinted += 1;
            }
        }
    }
    assert!(hinted > 40, "{hinted}");
}
