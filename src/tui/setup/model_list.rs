//! List of the available models, with checkboxes for the lab's next run.

use super::{row, toggle};
use crate::action::Effect;
use crate::state::State;
use base::text::{brief_name, printable, width};
use labs::setting::{Kind, Value};

/// Width of the number of names that are omitted, in columns.
const MORE: usize = 5;

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

/// Formats the number of ticked models, and their names as far as they fit into `room` columns: `3/16 models: bert-mini, +2`; `None`
/// if the lab has no checkboxes.
pub(crate) fn ticked_models(state: &State, room: usize) -> Option<String> {
    let all = models(state);
    let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
    let on: Vec<&str> = all.iter().filter(|(_, on)| *on).map(|(name, _)| name.as_str()).collect();
    let mut text = format!("{}/{} models", on.len(), all.len());
    for (k, name) in on.iter().enumerate() {
        let gap = if k == 0 { ": " } else { ", " };
        let (name, left) = (brief_name(name, &names), on.len() - k);
        let end = if left == 1 { 0 } else { MORE };
        if width(&text) + gap.len() + width(&name) + end > room {
            text.push_str(&if k == 0 { String::new() } else { format!(", +{left}") });
            break;
        }
        text.push_str(&format!("{gap}{}", printable(&name)));
    }
    picks_models(state).then_some(text)
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
