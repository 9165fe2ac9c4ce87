//! A user's sentence: it is sent again after every key, and only the latest question is kept.

use super::{HEATMAP, Shown, ask, heat, results, run, shown, view, view_mut};
use crate::action::Effect;
use crate::commands::live;
use crate::reduce::look;
use crate::state::{Prompt, State};
use corpus::task::MASK;
use engine::message::Outcome;
use labs::saliency::question::{Question, SentenceQuestion};
use labs::saliency::results::Own;

static OWN: Prompt = Prompt { label: "sentence", hint: "with [MASK]", take, follow: Some(follow) };

/// True if the models of a run can answer questions.
pub(crate) fn can_ask(state: &State) -> bool {
    let failed = |outcome: &Option<Outcome>| matches!(outcome, Some(Outcome::Failed(_)));
    live(state) && run(state).is_some_and(|job| !failed(&job.outcome))
}

pub(crate) fn can_edit(state: &State) -> bool {
    can_ask(state) && shown(state).is_some()
}

/// Opens the field with the latest typed sentence, with which the next one is compared.
pub(crate) fn open(state: &mut State) -> Vec<Effect> {
    let own = results(state).own.clone().filter(|_| view(state).typed_shown);
    let text = view(state).typed.clone();
    view_mut(state).base = own;
    in_sight(state);
    look::edit(state, &OWN, &text)
}

/// Brings the pane with the answer to the front if panes are tabs.
fn in_sight(state: &mut State) {
    state.focus_on(HEATMAP);
}

pub(crate) fn edit(state: &mut State) -> Vec<Effect> {
    let text = heat::pointed(state).map(|p| (p.sentence.sentence.clone(), p.sentence.text.clone()));
    let Some((id, text)) = text else { return Vec::new() };
    let base = match shown(state) {
        Some(Shown::Own(own)) => Some(own.clone()),
        _ => of_data(state, &id),
    };
    view_mut(state).base = base;
    in_sight(state);
    look::edit(state, &OWN, &text)
}

/// Converts a sentence of the data to a typed one.
fn of_data(state: &State, id: &str) -> Option<Own> {
    let (found, view) = (results(state), view(state));
    let sentence = view.index.sentence(found, id)?.clone();
    let models = found.models();
    let predictions = models.iter().filter_map(|m| view.index.prediction(found, m, id).cloned()).collect();
    let rows = models
        .iter()
        .flat_map(|m| found.methods().into_iter().filter_map(|method| view.index.row(found, m, id, method).cloned()))
        .collect();
    Some(Own { ticket: 0, sentence: Some(sentence), predictions, rows })
}

/// Sends the text as typed; a text without a mask is ignored.
fn follow(state: &mut State, text: &str) -> Vec<Effect> {
    if !text.contains(MASK) || text == view(state).typed && view(state).typed_shown {
        return Vec::new();
    }
    let view = view_mut(state);
    (view.typed, view.typed_shown) = (text.to_owned(), true);
    ask_again(state)
}

fn take(state: &mut State, text: &str) -> Result<Vec<Effect>, String> {
    if !text.contains(MASK) {
        return Err(format!("put {MASK} where the model should predict"));
    }
    Ok(follow(state, text))
}

/// Sends the typed sentence again, for the current models and methods.
pub(crate) fn ask_again(state: &mut State) -> Vec<Effect> {
    if !view(state).typed_shown {
        return Vec::new();
    }
    let text = view(state).typed.clone();
    ask_about(state, text, None)
}

/// Sends a sentence, with its expected word if there is one, for the models and methods in view.
pub(crate) fn ask_about(state: &mut State, text: String, answer: Option<String>) -> Vec<Effect> {
    let (mut models, mut methods) = (Vec::new(), Vec::new());
    for choice in heat::choices(state) {
        if !models.contains(&choice.model) {
            models.push(choice.model);
        }
        if !methods.contains(&choice.method) {
            methods.push(choice.method);
        }
    }
    ask(state, Question::Sentence(SentenceQuestion { text, answer, models, methods }))
}

pub(crate) fn leave(state: &mut State) -> Vec<Effect> {
    view_mut(state).typed_shown = false;
    Vec::new()
}
