//! Steps from a number to its parts: from all relations to each relation, and from a relation and prompt to the instances.

use super::measures::Spread;
use super::{ID, INSTANCES, LEDGER, RELATIONS, ask, can_ask, ledger, prompt, relation, results, view_mut};
use crate::action::Effect;
use crate::screens::prompts::drawn::Drawn;
use crate::state::State;
use labs::prompts::question::{LookQuestion, Question as Asked};

/// Requests the instances of the prompt under the cursor, and the details of one instance under one of its subject's names.
pub(crate) fn look(state: &mut State, mention: usize) -> Vec<Effect> {
    let (Some(relation), Some(prompt)) = (relation(state), prompt(state)) else { return Vec::new() };
    let instance = state.place(ID).scrolled(INSTANCES);
    let asked = LookQuestion { relation: relation.into(), prompt: prompt.into(), instance, mention };
    ask(state, Asked::Look(asked))
}

/// Requests the same instance under the next name of its subject.
pub(crate) fn next_mention(state: &mut State) -> Vec<Effect> {
    let shown = results(state).look.as_ref();
    let next = shown.and_then(|look| {
        let one = &look.one.first()?.value;
        let rows = &look.instances.as_ref()?.value.rows;
        let row = rows.get(state.place(ID).scrolled(INSTANCES).min(rows.len().checked_sub(1)?))?;
        let at = row.mentions.iter().position(|m| *m == one.mention)?;
        Some((at + 1) % row.mentions.len())
    });
    look(state, next.unwrap_or(0))
}

/// The measure of single relations behind the focused pane's number; `None` if there is none.
fn parts(state: &State) -> Option<Spread> {
    let focus = state.place(ID).focus;
    let drawn = Drawn::of(focus);
    match (focus, drawn) {
        (LEDGER, _) | (_, Some(Drawn::Ledger)) => ledger::shown(state).map(|_| Spread::Pair),
        (_, Some(Drawn::Preference | Drawn::Turned)) => Some(Spread::Gap),
        (_, Some(Drawn::Stability)) => Some(Spread::Stability),
        (_, Some(Drawn::Consistency | Drawn::Places | Drawn::Curve)) => Some(Spread::Adjusted),
        _ => None,
    }
}

/// True if the focused pane's number has parts to show.
pub(crate) fn can(state: &State) -> bool {
    can_ask(state) || parts(state).is_some() && !results(state).relations.is_empty()
}

/// Shows the parts of the focused pane's number.
pub(crate) fn down(state: &mut State) -> Vec<Effect> {
    if Drawn::of(state.place(ID).focus) == Some(Drawn::Disparity) {
        let told =
            "further training keeps counts by relation and prompt but no answers, so there are no instances to show";
        state.view.toast = Some(told.into());
        return Vec::new();
    }
    if let Some(spread) = parts(state) {
        view_mut(state).spread = spread;
        state.focus_on(RELATIONS);
        let (words, key) = (spread.words(state), state.keymap.short_label("open"));
        state.view.toast = Some(format!("{words}; {key} shows the instances"));
        return Vec::new();
    }
    state.focus_on(INSTANCES);
    look(state, 0)
}
