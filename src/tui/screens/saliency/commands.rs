//! The commands of the screen, and what they change in its view.

use super::annotate::{self, marking};
use super::heat::{self, Beside};
use super::sentences::{self, Filter, PERTURBATIONS};
use super::{
    ID, SCORES, SENTENCES, Shown, another_sentence, ask, curve, heads, results, shown, typed, view, view_mut,
};
use crate::action::Effect;
use crate::commands::{Context, Entry, always, rows};
use crate::state::State;
use labs::saliency::question::Question as Asked;

/// The command that opens the screen.
pub(crate) static TAB: &[Entry] = rows! { Context::Global;
    "lab-saliency", "saliency lab",
        "Shows the saliency lab. In the setup pane a bare digit types a number instead.",
        ["4", "alt-4"], None, always => |s| { s.show(ID); Vec::new() };
};

pub(crate) static COMMANDS: &[Entry] = rows! { Context::Screen(ID);
    "dimension", "filter by dimension", "Lists the sentences of the next dimension alone, and then all again.",
        ["d"], Some(("filter", 11)), |s| !results(s).sentences.is_empty() => next_dimension;
    "perturbation", "filter by perturbation",
        "Lists the sentences with a partner of the next kind alone (words that do not matter, words that do, another form), and then all again.",
        ["t"], Some(("filter", 11)), |s| !results(s).sentences.is_empty() => next_perturbation;
    "right-or-wrong", "filter right or wrong", "Lists the sentences that the model in view gets right, then those that it does not, then all.",
        ["r"], Some(("filter", 11)), |s| !results(s).sentences.is_empty() => next_right;
    "saliency-method", "next method", "Shows the scores of the next method.",
        ["m"], Some(("method", 12)), |s| results(s).methods().len() > 1 => next_method;
    "saliency-model", "next model", "Shows the scores of the next model.",
        ["v"], None, |s| results(s).models().len() > 1 => next_model;
    "beside", "side by side", "Lays another method beside the one in view, then another model, then nothing.",
        ["c"], Some(("compare", 13)), |s| !results(s).sentences.is_empty() => next_beside;
    "next-partner", "next partner", "Shows the next perturbed partner of the sentence.",
        ["n"], None, |s| !results(s).sentences.is_empty() => |s| turn_partner(s, true);
    "previous-partner", "previous partner", "Shows the previous perturbed partner of the sentence.",
        ["N"], None, |s| !results(s).sentences.is_empty() => |s| turn_partner(s, false);
    "own-sentence", "own sentence",
        "Types a sentence with [MASK]; prediction and scores follow every key. The last one typed is there to be edited.",
        ["o"], Some(("own", 14)), typed::can_ask => typed::open;
    "edit-sentence", "edit sentence", "Edits the sentence under the cursor as one of your own; what it was stays above it.",
        ["O"], Some(("own", 14)), typed::can_edit => typed::edit;
    "back-to-data", "back to the data", "Leaves the own sentence and shows the sentence of the data again.",
        ["b"], None, |s| view(s).typed_shown => typed::leave;
    "heads", "ask the heads", "Asks for the attention of every head of every layer in the sentence under the cursor.",
        ["x"], None, |s| typed::can_ask(s) && heads::question(s).is_some() => ask_heads;
    "next-table", "next table", "Shows the next table of scores.", ["]"], None, always => |s| turn_table(s, true);
    "previous-table", "previous table", "Shows the previous table of scores.",
        ["["], None, always => |s| turn_table(s, false);
    "next-curve", "next figure", "Draws the next figure: F1 by rationale ratio, MAP by it, right answers.",
        ["}"], None, always => |s| turn_curve(s, 1);
    "previous-curve", "previous figure", "Draws the previous figure.",
        ["{"], None, always => |s| turn_curve(s, curve::DRAWN.len() - 1);
    "annotate", "mark rationales", "Begins to mark rationales in the sentences, or ends it. What was marked stays until the program ends; saving it is a key of its own.",
        ["a"], Some(("mark", 15)), |s| !results(s).sentences.is_empty() => annotate::toggle;
    "mark-word", "mark word", "While marking: takes the word under the cursor into the rationale, or out of it. A sentence begins with its gold rationale.",
        ["."], None, marking => annotate::mark;
    "clear-marks", "clear marks", "While marking: takes every word of the sentence out of the rationale.",
        ["-"], None, marking => annotate::clear;
    "align-word", "align word", "While marking: picks up a word of the original, and then aligns it with the word under the cursor of its partner, or parts them.",
        [","], None, marking => annotate::align;
    "sufficiency", "score sufficiency", "While marking: the next score of whether the rationale is enough for the answer, 1 to 3.",
        ["S"], None, marking => annotate::sufficiency;
    "compactness", "score compactness", "While marking: the next score of whether the rationale holds nothing else, 1 to 4.",
        ["C"], None, marking => annotate::compactness;
    "save-marks", "save marks", "Saves what was marked as JSON lines in the benchmark's schema; a file that exists is replaced only if you say so.",
        ["W"], None, always => annotate::save;
    "open-marks", "open marks", "Reads marks that were saved, to go on with them.", ["R"], None, always => annotate::open;
    "annotators", "two annotators", "Compares the marks of two annotators from two files: Cohen's kappa and token-F1.",
        ["A"], None, always => annotate::compare;
};

/// Asks for the attention of all heads in the sentence under the cursor.
pub(crate) fn ask_heads(state: &mut State) -> Vec<Effect> {
    heads::question(state).map_or(Vec::new(), |question| ask(state, Asked::Attention(question)))
}

/// The entry after the present one, with "all" (none) between the last and the first.
fn next_of(all: &[String], now: Option<&String>) -> Option<String> {
    let at = now.and_then(|now| all.iter().position(|x| x == now)).map_or(0, |k| k + 1);
    all.get(at).cloned()
}

fn next_dimension(state: &mut State) -> Vec<Effect> {
    let next = next_of(&sentences::dimensions(state), view(state).filter.dimension.as_ref());
    refilter(state, |filter| filter.dimension = next)
}

fn next_perturbation(state: &mut State) -> Vec<Effect> {
    let next = next_of(&PERTURBATIONS.map(str::to_owned), view(state).filter.perturbation.as_ref());
    refilter(state, |filter| filter.perturbation = next)
}

fn next_right(state: &mut State) -> Vec<Effect> {
    refilter(state, |filter| {
        filter.right = match filter.right {
            None => Some(true),
            Some(true) => Some(false),
            Some(false) => None,
        }
    })
}

fn refilter(state: &mut State, change: impl FnOnce(&mut Filter)) -> Vec<Effect> {
    let view = view_mut(state);
    change(&mut view.filter);
    view.typed_shown = false;
    another_sentence(state);
    state.place_mut(ID).scroll.remove(&SENTENCES);
    Vec::new()
}

fn next_method(state: &mut State) -> Vec<Effect> {
    let all: Vec<String> = results(state).methods().into_iter().map(str::to_owned).collect();
    let next = next_of(&all, Some(&view(state).method)).or(all.first().cloned());
    view_mut(state).method = next.unwrap_or_default();
    typed::ask_again(state)
}

fn next_model(state: &mut State) -> Vec<Effect> {
    let all: Vec<String> = results(state).models().into_iter().map(str::to_owned).collect();
    let next = next_of(&all, Some(&view(state).model)).or(all.first().cloned());
    view_mut(state).model = next.unwrap_or_default();
    typed::ask_again(state)
}

/// Lays the next thing beside the method in view.
pub(crate) fn next_beside(state: &mut State) -> Vec<Effect> {
    for _ in 0..3 {
        let view = view_mut(state);
        view.beside = view.beside.next();
        // What has no second one is passed over.
        if view.beside == Beside::Nothing || heat::choices(state).len() > 1 {
            break;
        }
    }
    if view(state).beside == Beside::Nothing && heat::choices(state).len() == 1 {
        let several = results(state).models().len() > 1 || results(state).methods().len() > 1;
        if !several {
            state.view.toast =
                Some("the run has one model and one method; there is nothing to lay beside".into());
        }
    }
    view_mut(state).cursor.0 = 0;
    typed::ask_again(state)
}

fn turn_partner(state: &mut State, on: bool) -> Vec<Effect> {
    let Some(Shown::Data(original, _)) = shown(state) else { return Vec::new() };
    let of = sentences::partners(state, original).len().max(1);
    let view = view_mut(state);
    view.partner = (view.partner.min(of - 1) + if on { 1 } else { of - 1 }) % of;
    Vec::new()
}

fn turn_table(state: &mut State, on: bool) -> Vec<Effect> {
    let table = view(state).table.turned(on);
    view_mut(state).table = table;
    state.place_mut(ID).scroll.remove(&SCORES);
    Vec::new()
}

fn turn_curve(state: &mut State, by: usize) -> Vec<Effect> {
    let drawn = &mut view_mut(state).drawn;
    *drawn = (*drawn + by) % curve::DRAWN.len();
    Vec::new()
}
