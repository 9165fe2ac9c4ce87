//! Tests of the screen of a followed grid: contents, and a confirmation before cells are resubmitted.

use super::*;
use crate::action::Action;
use crate::key::Key;
use crate::reduce::reduce;
use crate::screens::SCREENS;
use crate::state::ReplayState;
use base::Problem;
use session::parts::watch::{Running, Share};

fn view() -> Grid {
    let share = |shard: &str, pace, done| Share { shard: shard.into(), pace, cells: 2, done, ..Share::default() };
    let (cell, shard) = ("cell 3 (seed 2)".into(), "2/2".into());
    Grid {
        grid: "0123456789ab".into(),
        cells: 4,
        done: 1,
        running: vec![Running { cell, shard, stage: "sweep".into(), share: 0.5 }],
        failed: vec![("cell 2 (seed 1)".into(), "no memory".into())],
        waiting: 1,
        shards: vec![share("1/2", Pace::Ended, 1), share("2/2", Pace::Running, 0)],
        map: "#x>.".into(),
        ..Grid::default()
    }
}

fn state(view: Grid) -> State {
    let followed = Followed { host: None, dir: "/grid".into(), view, problem: None, submitting: false };
    let replay = Some(ReplayState { live: true, ..ReplayState::new("grid".into(), 0.0, 1.0) });
    State::new(Start { followed: Some(followed), replay, ..Start::new() })
}

fn press(state: &mut State, keys: &str) -> Vec<Effect> {
    let all = keys.split(' ').map(|key| reduce(state, Action::Key(key.parse::<Key>().unwrap())));
    all.flatten().collect()
}

fn screen(state: &State) -> String {
    let (columns, rows) = state.view.size;
    let mut terminal = ratatui::Terminal::new(ratatui::backend::TestBackend::new(columns, rows)).unwrap();
    terminal.draw(|frame| crate::panes::draw(frame, state)).unwrap();
    terminal.backend().to_string()
}

#[test]
fn screen_exists_only_while_a_grid_is_followed() {
    let mut without = State::new(Start::new());
    assert!(!screen(&without).contains("Shards") && press(&mut without, "7").is_empty());
    assert_ne!(without.view.screen, ID);
    let mut with = state(view());
    assert!(with.view.screen == ID && screen(&with).contains("7 Shards"));
    press(&mut with, "5");
    assert_ne!(with.view.screen, ID);
    press(&mut with, "7");
    assert_eq!(with.view.screen, ID);
    assert!(SCREENS.iter().filter(|s| s.watches()).count() == 1);
}

#[test]
fn failed_cells_are_resubmitted_after_confirmation() {
    let mut state = state(view());
    assert!(press(&mut state, "r").is_empty() && state.popup_name() == Some("submit-again"));
    assert!(screen(&state).contains("Submit the failed cell again?"));
    assert!(press(&mut state, "enter").is_empty(), "the cursor is on the entry that goes back");
    assert_eq!(press(&mut state, "r k enter"), [Effect::Submit]);
    assert!(press(&mut state, "r k enter").is_empty(), "a request in progress is not repeated");
    reduce(&mut state, Action::Submitted(Ok("job 7 recomputes 1 cell, in task 1".into())));
    assert!(screen(&state).contains("job 7 recomputes 1 cell"));
    let problem = Problem { what: "no sbatch".into(), r#where: "/grid".into(), hint: "look".into() };
    press(&mut state, "r k enter");
    reduce(&mut state, Action::Submitted(Err(problem)));
    assert!(screen(&state).contains("no sbatch"));
    assert_eq!(press(&mut state, "r k enter"), [Effect::Submit], "a new request is possible");
}

#[test]
fn without_failures_nothing_is_submitted() {
    let waits = Grid { failed: Vec::new(), shards: Vec::new(), waiting: 4, map: "....".into(), ..view() };
    let done = Grid { failed: Vec::new(), waiting: 0, map: "####".into(), ..view() };
    for view in [waits, done] {
        let mut state = state(view);
        press(&mut state, "r");
        assert_eq!(state.popup_name(), None);
    }
}

#[test]
fn lost_grid_is_reported_and_last_state_stays() {
    let mut state = state(view());
    let problem = Problem { what: "the link broke".into(), r#where: "login".into(), hint: "wait".into() };
    reduce(&mut state, Action::Followed(Err(problem)));
    let text = screen(&state);
    assert!(text.contains("the link broke") && text.contains("4 cells: 1 done"), "{text}");
    reduce(&mut state, Action::Followed(Ok(Box::new(Grid { done: 2, ..view() }))));
    let text = screen(&state);
    assert!(!text.contains("the link broke") && text.contains("4 cells: 2 done"), "{text}");
}

#[test]
fn large_grid_shows_the_worst_cell_per_symbol() {
    let map: String = (0..10_000).map(|i| if i == 5_000 { 'x' } else { '#' }).collect();
    let mut state = state(Grid { cells: 10_000, done: 9_999, map, ..view() });
    for size in [(120, 40), (80, 24), (40, 10)] {
        reduce(&mut state, Action::Resize(size.0, size.1));
        let text = screen(&state);
        assert!(size.1 < 20 || text.contains("each symbol:") && text.contains('✗'), "{text}");
    }
}
