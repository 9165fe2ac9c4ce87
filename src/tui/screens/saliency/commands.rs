//! The screen's commands and their effects on its view.

use super::annotate::{self, marking};
use super::heat::{self, Beside};
use super::sentences::{self, Filter, PERTURBATIONS};
use super::{ID, SENTENCES, Shown, another_sentence, ask, heads, results, shown, typed, view, view_mut};
use crate::action::Effect;
use crate::commands::{Context, Entry, always, live, rows};
use crate::setup;
use crate::state::State;
use labs::saliency::question::Question as Asked;

pub(crate) static TAB: &[Entry] = rows! { Context::Global;
    "lab-saliency", "saliency lab",
        "Shows the saliency lab.",
        ["4", "alt-4"], None, always => |s| { s.show(ID); Vec::new() };
};

pub(crate) static COMMANDS: &[Entry] = rows! { Context::Screen(ID);
    "saliency-method", "next method", "Shows the scores of the next method.",
        ["m"], Some(("method", 11)), |s| results(s).methods().len() > 1 => |s| next_method(s, true);
    "saliency-method-back", "previous method", "Shows the scores of the previous method.",
        ["M"], None, |s| results(s).methods().len() > 1 => |s| next_method(s, false);
    "saliency-model", "next model", "Shows the scores of the next model.",
        ["v"], None, |s| results(s).models().len() > 1 => |s| next_model(s, true);
    "saliency-model-back", "previous model", "Shows the scores of the previous model.",
        ["V"], None, |s| results(s).models().len() > 1 => |s| next_model(s, false);
    "next-partner", "next partner", "Shows the next changed partner of the sentence.",
        ["n"], None, |s| !results(s).sentences.is_empty() => |s| turn_partner(s, true);
    "previous-partner", "previous partner", "Shows the previous changed partner of the sentence.",
        ["N"], None, |s| !results(s).sentences.is_empty() => |s| turn_partner(s, false);
    "own-sentence", "own sentence",
        "Opens a field for a sentence with [MASK]; every key updates prediction and scores. The last typed sentence can be edited.",
        ["o"], Some(("own sentence", 12)), typed::can_ask => typed::open;
    "mark-word", "mark word", "While marking: adds the word under the cursor to the rationale, or removes it.",
        ["space"], None, |s| marking(s) && !s.focused(setup::PANE) => annotate::mark;
};

pub(crate) static MENU: &[Entry] = rows! { Context::Menu(ID);
    "quick-saliency", "quick run", "A first look with wider intervals: at most 150 sentences.",
        ["r"], None, live => |s| crate::setup::quick_run(s, &[("data.inputs", 150.0)], |_| ());
    "right-or-wrong", "right or wrong", "Lists only the sentences that the model gets right, then only those that it gets wrong, then all.",
        ["c"], None, |s| !results(s).sentences.is_empty() => next_right;
    "dimension", "next dimension", "Lists only the sentences of the next dimension; after the last dimension, lists all.",
        ["d"], None, |s| !results(s).sentences.is_empty() => next_dimension;
    "perturbation", "next kind of change",
        "Lists only the sentences with a partner of the next kind (unimportant words, important words, different form), then all.",
        ["p"], None, |s| !results(s).sentences.is_empty() => next_perturbation;
    "beside", "side by side", "Compares the method in view with a second method, then with a second model; then ends the comparison.",
        ["s"], None, |s| !results(s).sentences.is_empty() => next_beside;
    "edit-sentence", "edit sentence", "Edits a copy of the sentence under the cursor; the original stays above it.",
        ["e"], None, typed::can_edit => typed::edit;
    "back-to-data", "back to the data", "Closes your own sentence and shows the data again.",
        ["b"], None, |s| view(s).typed_shown => typed::leave;
    "heads", "attention heads", "Shows the attention of every head in every layer for the sentence under the cursor.",
        ["h"], None, |s| typed::can_ask(s) && heads::question(s).is_some() => ask_heads;
    "annotate", "mark rationales", "Starts or stops marking rationales; space marks a word.",
        ["a"], None, |s| !results(s).sentences.is_empty() => annotate::toggle;
    "clear-marks", "clear marks", "While marking: clears the rationale of the sentence.",
        ["x"], None, marking => annotate::clear;
    "align-word", "align word", "While marking: picks up a word of the original, then aligns it with the word under the cursor of its partner.",
        ["l"], None, marking => annotate::align;
    "sufficiency", "score sufficiency", "While marking: cycles the sufficiency score from 1 to 3; 3 if the rationale is definitely enough for the answer.",
        ["u"], None, marking => annotate::sufficiency;
    "compactness", "score compactness", "While marking: cycles the compactness score from 1 to 4; 4 if the rationale contains only words needed for the answer.",
        ["o"], None, marking => annotate::compactness;
    "confidence", "rate the mask", "While marking: cycles your confidence (1 to 4) that no other answer fits the mask.",
        ["f"], None, marking => annotate::confidence;
    "choose-mask", "mask this word",
        "While marking: masks the word under the cursor instead of the masked one; on the masked word, restores the answer.",
        ["k"], None, marking => annotate::choose_mask;
    "save-marks", "save marks", "Saves the marks as JSON lines in the benchmark's schema; asks before it replaces a file.",
        ["w"], None, always => annotate::save;
    "open-marks", "open marks", "Opens saved marks to continue with them.", ["m"], None, always => annotate::open;
    "annotators", "compare annotators", "Compares the files of two or more annotators: their agreement, and which masks and rationales reach the thresholds.",
        ["2"], None, always => annotate::compare;
};

/// Requests the attention of all heads in the sentence under the cursor.
pub(crate) fn ask_heads(state: &mut State) -> Vec<Effect> {
    heads::question(state).map_or(Vec::new(), |question| ask(state, Asked::Attention(question)))
}

/// The next entry, with "all" (`None`) between the last and the first.
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

/// The next or the previous entry, cyclically.
fn turned(all: &[&str], now: &str, on: bool) -> String {
    let at = all.iter().position(|x| *x == now).unwrap_or(0);
    let by = if on { 1 } else { all.len().saturating_sub(1) };
    all.get((at + by) % all.len().max(1)).map_or_else(String::new, |name| (*name).to_owned())
}

fn next_method(state: &mut State, on: bool) -> Vec<Effect> {
    let next = turned(&results(state).methods(), &view(state).method, on);
    view_mut(state).method = next;
    typed::ask_again(state)
}

fn next_model(state: &mut State, on: bool) -> Vec<Effect> {
    let next = turned(&results(state).models(), &view(state).model, on);
    view_mut(state).model = next;
    typed::ask_again(state)
}

/// Shows the next model or method beside the current one.
pub(crate) fn next_beside(state: &mut State) -> Vec<Effect> {
    for _ in 0..3 {
        let view = view_mut(state);
        view.beside = view.beside.next();
        // Skips choices without a second entry.
        if view.beside == Beside::Nothing || heat::choices(state).len() > 1 {
            break;
        }
    }
    if view(state).beside == Beside::Nothing && heat::choices(state).len() == 1 {
        let several = results(state).models().len() > 1 || results(state).methods().len() > 1;
        if !several {
            state.view.toast = Some("the run has only one model and one method, so there is nothing to compare".into());
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
