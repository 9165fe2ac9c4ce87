//! List of the available models, with checkboxes for the lab's next run.

use super::{row, toggle};
use crate::action::Effect;
use crate::state::State;
use base::text::{brief_name, printable, shortened, width};
use labs::setting::{Kind, Value};

fn lab_title(state: &State) -> &'static str {
    state.setup().map_or("lab", |setup| labs::by_id(setup.lab()).title())
}

/// Names the next run of the lab shown last: `the next Prompts run`.
pub(crate) fn next_run(state: &State) -> String {
    format!("the next {} run", lab_title(state))
}

/// True if the models of the lab shown last are selected by checkboxes.
pub(crate) fn picks_models(state: &State) -> bool {
    row(state, "models").is_some()
}

/// True if this lab's models are selected by checkboxes and none is selected.
pub(crate) fn lacks_models(state: &State) -> bool {
    picks_models(state) && !models(state).iter().any(|(_, on)| *on)
}

/// Available models, and whether the lab's next run uses each.
pub(crate) fn models(state: &State) -> Vec<(String, bool)> {
    match row(state, "models").map(|row| (row.kind, row.value)) {
        Some((Kind::Marks(names), Value::Marks(on))) => names.into_iter().zip(on).collect(),
        _ => state.board.models.iter().map(|m| (m.name.clone(), false)).collect(),
    }
}

/// Formats the ticked models in about `room` columns: `2 of 16 models: bert-mini, gpt2-mini`; `None` if the lab has no checkboxes.
pub(crate) fn ticked_models(state: &State, room: usize) -> Option<String> {
    let all = models(state);
    let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
    let on: Vec<&str> = all.iter().filter(|(_, on)| *on).map(|(name, _)| name.as_str()).collect();
    let head = format!("{} of {} models", on.len(), all.len());
    let brief: Vec<String> = on.iter().map(|name| printable(&brief_name(name, &names)).into_owned()).collect();
    let list = shortened(&brief.join(", "), room.saturating_sub(width(&head) + 2));
    picks_models(state).then(|| if on.is_empty() { head } else { format!("{head}: {list}") })
}

/// Toggles a model for the lab's next run, and reports the change.
pub(crate) fn tick_model(state: &mut State, name: &str) -> Vec<Effect> {
    let Some(row) = row(state, "models") else {
        let (lab, key) = (lab_title(state), state.keymap.short_label("settings"));
        state.view.toast = Some(format!("{lab} has one setting for each model; {key} opens the settings"));
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
