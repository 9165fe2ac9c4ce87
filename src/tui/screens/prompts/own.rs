//! User's prompts (typed, tried and kept) and data.

use super::{ASKED, ID, INSTANCES, ask, prompt, prompts, relation, results, view, view_mut};
use crate::action::Effect;
use crate::commands::live;
use crate::state::{Prompt, State};
use labs::Tagged;
use labs::prompts::experiment::refused;
use labs::prompts::finding::RelationFinding;
use labs::prompts::question::{PromptQuestion, Question as Asked};

pub(crate) static PROMPT: Prompt = Prompt {
    label: "prompt",
    hint: "with [X] for the subject and [Y] for the object",
    take: take_prompt,
    follow: None,
};
pub(crate) static FILES: Prompt =
    Prompt { label: "facts and prompts", hint: "file or folder", take: take_files, follow: None };

pub(crate) fn take_prompt(state: &mut State, text: &str) -> Result<Vec<Effect>, String> {
    let text = text.trim().to_owned();
    let models = results(state).data.iter().flat_map(|d| &d.value.models);
    let causal = models.clone().find(|m| m.asked == "causal").map(|m| m.name.as_str());
    if let Some(reason) = refused(&text, causal) {
        return Err(reason);
    }
    let Some(relation) = relation(state).map(str::to_owned) else {
        return Err("no relation has been scored yet".into());
    };
    // The cursor moves to the prompt's line, which may otherwise be outside the pane.
    let all = prompts(state);
    let at = all.iter().position(|p| *p == text).unwrap_or(all.len());
    let place = state.place_mut(ID);
    place.scroll.insert(ASKED, at);
    place.scroll.remove(&INSTANCES);
    Ok(ask(state, Asked::Prompt(PromptQuestion { relation, prompt: text })))
}

/// Prompts that the next run uses in addition to the relation's own.
pub(crate) fn kept<'a>(state: &'a State, relation: &str) -> &'a [String] {
    view(state).spec.data.own.get(relation).map_or(&[], Vec::as_slice)
}

/// True if the prompt under the cursor was typed, now or for this run.
pub(crate) fn can_keep(state: &State) -> bool {
    let (Some(id), Some(text)) = (relation(state), prompt(state)) else { return false };
    let own = |found: &Tagged<RelationFinding>| !found.value.prompts.iter().any(|p| p == text);
    live(state) && (kept(state, id).iter().any(|p| p == text) || results(state).relation(id).is_some_and(own))
}

pub(crate) fn keep(state: &mut State) -> Vec<Effect> {
    let (Some(id), Some(text)) = (relation(state), prompt(state)) else { return Vec::new() };
    let (id, text) = (id.to_owned(), text.to_owned());
    let own = view_mut(state).spec.data.own.entry(id.clone()).or_default();
    let told = match own.iter().position(|p| *p == text) {
        Some(at) => {
            own.remove(at);
            "the next run does not use this prompt"
        }
        None => {
            own.push(text);
            "the next run uses and averages this prompt too"
        }
    };
    view_mut(state).spec.data.own.retain(|_, prompts| !prompts.is_empty());
    state.view.toast = Some(told.into());
    Vec::new()
}

pub(crate) fn take_files(state: &mut State, text: &str) -> Result<Vec<Effect>, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err("type the path of a file or folder".into());
    }
    let data = &mut view_mut(state).spec.data;
    data.add(text.to_owned());
    let beside = match (data.built_in, data.whole, data.relations.len()) {
        (true, true, 1) => " and the built-in relation".to_owned(),
        (true, true, n) => format!(" and {n} built-in relations"),
        (true, false, _) => " and the built-in relations".to_owned(),
        (false, ..) => String::new(),
    };
    let key = state.keymap.label("run");
    state.view.toast = Some(format!("{key} tests the facts in {}{beside}", base::text::printable(text)));
    Ok(Vec::new())
}
