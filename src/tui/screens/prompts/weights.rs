//! Weights of a relation's prompts for the average of the next run, typed on the screen.

use super::own::kept;
use super::{ran, relation, results, view, view_mut};
use crate::action::Effect;
use crate::reduce::look;
use crate::state::{Prompt, State};
use base::numbers::number;
use labs::prompts::spec::{UserWeights, Weighting};

static FIELD: Prompt = Prompt {
    label: "prompt weights",
    hint: "one per prompt, e.g. 1 2 1 (empty = equal); or by name, separated by semicolons",
    take,
    follow: None,
};

pub(crate) fn ask(state: &mut State) -> Vec<Effect> {
    let Some(id) = relation(state).map(str::to_owned) else { return Vec::new() };
    let text = match (view(state).spec.adjust.user.get(&id), asked(state, &id)) {
        (Some(weights), _) => written(weights),
        (None, Some(n)) => vec!["1"; n].join(" "),
        (None, None) => String::new(),
    };
    look::edit(state, &FIELD, &text)
}

/// Number of prompts that the next run uses for a relation, including kept ones, if known.
fn asked(state: &State, id: &str) -> Option<usize> {
    let (then, now) = (&ran(state)?.data, &view(state).spec.data);
    let found = &results(state).relation(id)?.value;
    if (&then.files, then.prompts, then.built_in) != (&now.files, now.prompts, now.built_in) {
        return None;
    }
    let typed = then.own.get(id).map_or(&[][..], Vec::as_slice);
    let own = found.prompts.iter().filter(|p| !typed.contains(p)).count();
    Some(own + kept(state, id).len())
}

fn written(weights: &UserWeights) -> String {
    let row = |list: &[f64]| list.iter().map(f64::to_string).collect::<Vec<_>>().join(" ");
    match weights {
        UserWeights::Prompts(list) => row(list),
        UserWeights::Joint(table) => table.iter().map(|r| row(r)).collect::<Vec<_>>().join("; "),
    }
}

fn read(text: &str) -> Result<UserWeights, String> {
    let row = |text: &str| -> Result<Vec<f64>, String> {
        let words = text.split([',', ' ']).filter(|w| !w.is_empty());
        words.map(|w| number(w).map_err(|e| format!("`{w}`: {e}"))).collect()
    };
    let weights = match text.contains(';') {
        true => {
            let table: Vec<Vec<f64>> = text.split(';').map(row).collect::<Result<_, _>>()?;
            if let Some(k) = table.iter().position(Vec::is_empty) {
                return Err(format!("row {} is empty; enter one row per prompt, with one weight per name", k + 1));
            }
            UserWeights::Joint(table)
        }
        false => UserWeights::Prompts(row(text)?),
    };
    weights.weights().map_err(|e| e.to_string())?;
    Ok(weights)
}

pub(crate) fn take(state: &mut State, text: &str) -> Result<Vec<Effect>, String> {
    let Some(id) = relation(state).map(str::to_owned) else {
        return Err("no relation has been scored yet".into());
    };
    let adjust = &view(state).spec.adjust;
    if text.trim().is_empty() {
        let had = adjust.user.contains_key(&id);
        let adjust = &mut view_mut(state).spec.adjust;
        adjust.user.remove(&id);
        if adjust.user.is_empty() && adjust.weights == Weighting::User {
            adjust.weights = Weighting::Uniform;
        }
        let told = if had { "has equal weights in the next run" } else { "has no weights" };
        state.view.toast = Some(format!("{id} {told}"));
        return Ok(Vec::new());
    }
    if adjust.prompts.is_some() || adjust.mentions.is_some() {
        return Err("a sample of prompts has equal weights; set Prompts averaged to all first".into());
    }
    let weights = read(text)?;
    let found = match &weights {
        UserWeights::Prompts(list) => list.len(),
        UserWeights::Joint(table) => table.len(),
    };
    if let Some(wanted) = asked(state, &id).filter(|n| *n != found) {
        return Err(format!(
            "{id} has {wanted} prompts, but the number of weights is {found}; enter one weight per prompt, in order"
        ));
    }
    let key = state.keymap.label("run");
    let adjust = &mut view_mut(state).spec.adjust;
    adjust.user.insert(id.clone(), weights);
    adjust.weights = Weighting::User;
    state.view.toast = Some(format!("{key} averages the prompts of {id} with these weights"));
    Ok(Vec::new())
}
