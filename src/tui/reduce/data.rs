//! The data lab: questions about data sets.

use super::job;
use crate::engine::data::{DataQuestion, DataRequest};
use crate::engine::message::{Command, Question, Topic};
use crate::tui::action::Effect;
use crate::tui::panes;
use crate::tui::state::State;

/// Asks the engine about the set under the cursor.
pub(super) fn ask(state: &mut State, question: DataQuestion, effects: &mut Vec<Effect>) {
    let Some(set) = state.set_here() else { return };
    send(state, &set, question, effects);
}

fn send(state: &mut State, set: &str, question: DataQuestion, effects: &mut Vec<Effect>) {
    state.view.data_scroll = 0;
    let request = DataRequest::of(&state.spec.task, state.spec.seed, &state.spec.models, set, question);
    job::ask(state, effects, Question::Data(request));
}

/// Adds a set by its path and asks what it holds.
///
/// # Errors
/// Why the path cannot be one.
pub(super) fn add(state: &mut State, path: &str, effects: &mut Vec<Effect>) -> Result<(), String> {
    if path.is_empty() {
        return Err("type the path of a file or folder".into());
    }
    send(state, path, DataQuestion::Inspect, effects);
    let at = state.listed_sets().iter().position(|s| s == path);
    state.view.data_row = at.unwrap_or(state.view.data_row);
    Ok(())
}

/// Stops everything that is asked, if something is and it is not being stopped already. Elsewhere than in the data lab the
/// run goes first.
pub(super) fn interrupt(state: &mut State, effects: &mut Vec<Effect>) -> bool {
    use crate::tui::state::Lab;
    let mine = state.view.lab == Lab::Data || !state.busy();
    if !mine || state.data_waiting().is_none() || state.stopping_data() {
        return false;
    }
    state.cancelling_data = Some(state.board.ticket);
    state.view.toast = Some("cancelling what is asked about data; once more quits".into());
    job::send(state, effects, Command::Withdraw { topic: Topic::Data });
    true
}

/// Scrolls what is known of the set.
pub(super) fn scroll(state: &mut State, by: i64) {
    let last = panes::data_overflow(state) as i64;
    state.view.data_scroll = (state.view.data_scroll as i64 + by).clamp(0, last) as usize;
}
