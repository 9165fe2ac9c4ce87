//! Tests of the title line and tabs: contents and clicks.

use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::*;
use crate::state::{ReplayState, Start};

fn state(columns: u16) -> State {
    State::new(Start { size: (columns, 24), ..Start::new() })
}

#[test]
fn click_on_tab_opens_its_screen() {
    for columns in [120, 80, 60] {
        let mut state = state(columns);
        for screen in SCREENS {
            state.show(screen.id());
            let (name, tabs) = screen_tabs(&state);
            let mut x = width(name);
            for (id, name) in tabs {
                assert_eq!(screen_at(&state, x as u16), Some(id));
                x += width(&name);
                assert_eq!(screen_at(&state, x as u16 - 1), Some(id));
            }
            assert_eq!(screen_at(&state, x as u16), None);
            assert!(x <= usize::from(columns), "the tabs fit {columns} columns");
        }
    }
}

/// Regression: at 80 columns the tabs of other screens used to be digits.
#[test]
fn screens_are_named_at_80_columns() {
    let state = state(80);
    let (_, tabs) = screen_tabs(&state);
    for (screen, (_, tab)) in SCREENS.iter().filter(|s| !s.watches()).zip(tabs) {
        assert!(tab.contains(screen.title()), "{tab}");
    }
}

#[test]
fn tabs_show_their_key() {
    let (keymap, _) = crate::keymap::Keymap::parse("[keys]\nhome = [\"9\"]", "mine");
    let state = State::new(Start { keymap, ..Start::new() });
    assert!(screen_tabs(&state).1[0].1.starts_with(" 9 "));
}

#[test]
fn click_on_pane_tab_opens_its_pane() {
    let state = state(80);
    let mut x = 0;
    for pane in folded(&state) {
        assert_eq!(tab_at(&state, x), Some(pane));
        x += width(pane.0) as u16 + 2;
    }
    assert_eq!(tab_at(&state, x), None);
}

// ---- contents of the lines ----------------------------------------------------------------------------------------

fn drawn(state: &State, draw: fn(&mut Frame, Rect, &State)) -> String {
    let (columns, _) = state.view.size;
    let mut terminal = Terminal::new(TestBackend::new(columns, 1)).unwrap();
    terminal.draw(|frame| draw(frame, frame.area(), state)).unwrap();
    let buffer = terminal.backend().buffer();
    (0..columns).map(|x| buffer[(x, 0)].symbol()).collect()
}

#[test]
fn status_shows_recording_or_replay() {
    let mut state = state(120);
    assert!(drawn(&state, title).contains("not saved"));
    state.recording = Recording::On("mine\u{1b}".into());
    assert!(drawn(&state, title).contains("nothing to save yet"), "a session without a run is not kept");
    crate::reduce::job::run(&mut state);
    let line = drawn(&state, title);
    assert!(line.contains("saved as mine␛"), "{line}");
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

/// Regression: at 80 columns a replay used to be called `replay…`, with its position cut off.
#[test]
fn replay_shows_its_position_at_80_columns() {
    for columns in [80, 120] {
        let replay = Some(crate::state::ReplayState {
            at: 45.0,
            ..crate::state::ReplayState::new("a-long-name-of-a-session".into(), 45.0, 1.0)
        });
        let state = State::new(Start { size: (columns, 24), replay, ..Start::new() });
        let mut terminal = Terminal::new(TestBackend::new(columns, 1)).unwrap();
        terminal.draw(|frame| title(frame, frame.area(), &state)).unwrap();
        let line = terminal.backend().to_string();
        assert!(line.contains("0:45") && !line.contains('…'), "{line}");
        // Regression: at its end, a replay used to show a time only.
        let mut state = state;
        state.replay.as_mut().unwrap().ended = true;
        terminal.draw(|frame| title(frame, frame.area(), &state)).unwrap();
        let line = terminal.backend().to_string();
        assert!(line.contains("replay") && !line.contains('…'), "{line}");
    }
}
