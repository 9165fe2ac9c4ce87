//! The models at hand as a list whose entries are ticked for the lab's next run.

use super::{row, toggle};
use crate::action::Effect;
use crate::state::State;
use base::text::printable;
use labs::setting::{Kind, Value};

/// The title of the lab that was shown last.
fn lab_title(state: &State) -> &'static str {
    state.setup().map_or("lab", |setup| labs::by_id(setup.lab()).title())
}

/// `the next Prompts run`: that of the lab that was shown last.
pub(crate) fn next_run(state: &State) -> String {
    format!("the next {} run", lab_title(state))
}

/// True if the lab that was shown last picks its models by ticking them.
pub(crate) fn picks_models(state: &State) -> bool {
    row(state, "models").is_some()
}

/// The models at hand, each with whether the next run of the lab uses it.
pub(crate) fn models(state: &State) -> Vec<(String, bool)> {
    match row(state, "models").map(|row| (row.kind, row.value)) {
        Some((Kind::Marks(names), Value::Marks(on))) => names.into_iter().zip(on).collect(),
        _ => state.board.models.iter().map(|m| (m.name.clone(), false)).collect(),
    }
}

/// Ticks or unticks a model for the lab's next run, and says so.
pub(crate) fn tick_model(state: &mut State, name: &str) -> Vec<Effect> {
    let Some(row) = row(state, "models") else {
        let (lab, key) = (lab_title(state), state.keymap.short_label("settings"));
        state.view.toast = Some(format!("the settings of {lab} name its models one by one; {key} opens them there"));
        return Vec::new();
    };
    let Some(at) = models(state).iter().position(|(model, _)| model == name) else {
        state.view.toast = Some("a model that could not be loaded cannot be selected".into());
        return Vec::new();
    };
    let does = if models(state)[at].1 { "leaves out" } else { "uses" };
    state.view.toast = Some(format!("{} {does} {}", next_run(state), printable(name)));
    toggle(state, &row, at)
}
