//! The models lab: questions about single models.

use super::job;
use crate::engine::message::{ModelQuestion, Question};
use crate::tui::action::Effect;
use crate::tui::panes;
use crate::tui::state::State;

/// Asks the engine about the model under the cursor.
pub(super) fn ask(state: &mut State, question: ModelQuestion, effects: &mut Vec<Effect>) {
    let Some(model) = state.model_here() else { return };
    state.view.dossier_scroll = 0;
    job::ask(state, effects, Question::Model { model, what: question });
}

/// Adds a model by its address and asks what it is.
///
/// # Errors
/// Why the address cannot be one.
pub(super) fn add(state: &mut State, address: &str, effects: &mut Vec<Effect>) -> Result<(), String> {
    if address.is_empty() {
        return Err("type a folder, a hub id or a name".into());
    }
    let question = Question::Model { model: address.to_owned(), what: ModelQuestion::Inspect };
    job::ask(state, effects, question);
    let at = state.listed_models().iter().position(|m| m == address);
    state.view.model_row = at.unwrap_or(state.view.model_row);
    state.view.dossier_scroll = 0;
    Ok(())
}

/// Scrolls the description.
pub(super) fn scroll(state: &mut State, by: i64) {
    let last = panes::dossier_overflow(state) as i64;
    state.view.dossier_scroll = (state.view.dossier_scroll as i64 + by).clamp(0, last) as usize;
}
