//! Undo and redo of settings.

use crate::action::Effect;
use crate::state::State;
use labs::Spec;

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
