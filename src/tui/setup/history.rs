//! Undo and redo of settings, and the quick run, which undo takes back.

use super::row;
use crate::action::Effect;
use crate::reduce::job;
use crate::state::State;
use base::numbers::short;
use labs::Spec;
use labs::setting::Value;

#[derive(Debug, Clone, Default)]
pub(crate) struct History {
    past: Vec<Spec>,
    future: Vec<Spec>,
    /// The row changed last; consecutive steps of one slider are one change.
    last: Option<String>,
}

const CHANGES: usize = 100;

pub(crate) fn remember(state: &mut State, key: &str, before: Spec) {
    let Some(setup) = state.setup() else { return };
    if setup.spec(state) == before {
        return;
    }
    let history = state.history.entry(setup.lab()).or_default();
    history.future.clear();
    if history.last.as_deref() != Some(key) {
        history.past.push(before);
        history.last = Some(key.to_owned());
    }
    if history.past.len() > CHANGES {
        history.past.remove(0);
    }
}

fn history(state: &State) -> Option<&History> {
    state.history.get(&state.screen().setup()?.lab()).filter(|_| state.replay.is_none())
}

pub(crate) fn can_undo(state: &State) -> bool {
    history(state).is_some_and(|history| !history.past.is_empty())
}

pub(crate) fn can_redo(state: &State) -> bool {
    history(state).is_some_and(|history| !history.future.is_empty())
}

/// Restores the settings from before the last change, or redoes it.
pub(crate) fn undo(state: &mut State, redo: bool) -> Vec<Effect> {
    let Some(setup) = state.screen().setup() else { return Vec::new() };
    let now = setup.spec(state);
    let history = state.history.entry(setup.lab()).or_default();
    let (from, to) = match redo {
        false => (&mut history.past, &mut history.future),
        true => (&mut history.future, &mut history.past),
    };
    if let Some(spec) = from.pop() {
        to.push(now);
        history.last = None;
        setup.take(state, &spec);
        let text = if redo { "redid the change" } else { "undid the last change" };
        state.view.toast = Some(text.into());
    }
    Vec::new()
}

/// Runs the experiment with these settings lowered to at most these values, after other changes; undo restores the settings.
pub(crate) fn quick_run(state: &mut State, most: &[(&str, f64)], change: fn(&mut State)) -> Vec<Effect> {
    let Some(setup) = state.setup().filter(|_| state.replay.is_none()) else { return Vec::new() };
    let before = setup.spec(state);
    change(state);
    let mut lowered = Vec::new();
    for (key, most) in most {
        let Some(row) = row(state, key).filter(|row| !matches!(row.value, Value::Number(now) if now <= *most)) else {
            continue;
        };
        if setup.set(state, key, Value::Number(*most)).is_ok() {
            lowered.push(format!("{} {}", row.label.to_lowercase(), short(*most)));
        }
    }
    let is_changed = setup.spec(state) != before;
    remember(state, "quick run", before);
    let effects = job::run(state);
    if is_changed && effects.iter().any(|effect| matches!(effect, Effect::Send(_))) {
        let (undo, with) = (state.keymap.short_label("undo-setup"), lowered.join(", "));
        let with = if with.is_empty() { with } else { format!(" ({with})") };
        state.view.toast = Some(format!("quick run{with}: wider intervals; {undo} brings your settings back"));
    }
    effects
}
