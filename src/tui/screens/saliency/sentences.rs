//! List of the originals that match the filter, with the model's prediction for each and its partners.

use std::rc::Rc;

use ratatui::Frame;
use ratatui::layout::Rect;

use super::{ID, SENTENCES, results, run, view};
use crate::layout::inside;
use crate::panes::table::{Row, Table};
use crate::panes::{message, pane_block, problem};
use crate::state::{Glyphs, State};
use crate::theme::Role;
use base::text::printable;
use engine::message::Outcome;
use labs::saliency::finding::{Sample, SentenceFinding};

/// Minimum width of a sentence in the list, in columns, and maximum number of partners whose answers are next to it.
const SENTENCE: usize = 22;
const PARTNERS: usize = 3;

/// Kinds of perturbation, in the paper's order.
pub(crate) const PERTURBATIONS: [&str; 3] = ["dispens", "import", "trans"];

/// Writes out the data's abbreviation of a kind of perturbation; other texts are unchanged.
pub(crate) fn kind_in_full(kind: &str) -> &str {
    match kind {
        "dispens" => "dispensable",
        "import" => "important",
        "trans" => "transformed",
        other => other,
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    pub dimension: Option<String>,
    /// Only originals with a partner of this kind, and only that partner.
    pub perturbation: Option<String>,
    /// Only sentences that the current model answers correctly (true) or wrongly (false).
    pub right: Option<bool>,
}

impl Filter {
    /// The filter in words, for a title.
    fn words(&self) -> String {
        let right = self.right.map(|right| if right { "right" } else { "wrong" }.to_owned());
        let kind = self.perturbation.as_deref().map(|kind| kind_in_full(kind).to_owned());
        let parts = [self.dimension.clone(), kind, right];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

/// Indices of the listed originals, in order.
pub(crate) fn listed(state: &State) -> Vec<usize> {
    let all = passing(state);
    table(state).order(state.place(ID), SENTENCES).into_iter().map(|i| all[i]).collect()
}

/// Indices of the originals that match the menu's choices.
fn passing(state: &State) -> Vec<usize> {
    let (found, view) = (results(state), view(state));
    let passes = |s: &SentenceFinding| {
        let dimension = view.filter.dimension.as_ref().is_none_or(|d| *d == s.dimension);
        s.sample == Sample::Original
            && dimension
            && (view.filter.perturbation.is_none() || !partners(state, s).is_empty())
            && view.filter.right.is_none_or(|right| is_right(state, &s.sentence) == Some(right))
    };
    found.sentences.iter().enumerate().filter(|(_, s)| passes(&s.value)).map(|(at, _)| at).collect()
}

/// Partners of an original that match the filter.
pub(crate) fn partners<'s>(state: &'s State, original: &SentenceFinding) -> Vec<&'s SentenceFinding> {
    let (found, view) = (results(state), view(state));
    let known = original.partners.iter().filter_map(|id| view.index.sentence(found, id)).map(|s| &s.value);
    known.filter(|p| view.filter.perturbation.is_none() || p.perturbation == view.filter.perturbation).collect()
}

/// True if the current model's first answer is the expected one; `None` if unknown.
fn is_right(state: &State, id: &str) -> Option<bool> {
    let view = view(state);
    view.index.prediction(results(state), &view.model, id)?.value.top1
}

/// Symbol for a right, wrong or missing answer.
pub(crate) fn sign(state: &State, right: Option<bool>) -> &'static str {
    match (right, state.view.glyphs == Glyphs::Ascii) {
        (Some(true), false) => "●",
        (Some(true), true) => "+",
        (Some(false), false) => "○",
        (Some(false), true) => "-",
        (None, false) => "·",
        (None, true) => ".",
    }
}

/// Dimensions of the run, in the order of the data.
pub(crate) fn dimensions(state: &State) -> Vec<String> {
    let notes = results(state).data.iter().flat_map(|d| &d.value.dimensions);
    notes.map(|d| d.dimension.clone()).collect()
}

/// Table of the originals with the model's answers: to the original, then to its partners.
pub(crate) fn table(state: &State) -> Rc<Table> {
    state.frame.once("list", || made(state))
}

fn made(state: &State) -> Table {
    let (found, view, dimensions) = (results(state), view(state), dimensions(state));
    let row = |at: usize| {
        let v = &found.sentences[at].value;
        let right = is_right(state, &v.sentence);
        let theirs = partners(state, v).into_iter().take(PARTNERS).map(|p| is_right(state, &p.sentence));
        let answers: Vec<Option<bool>> = std::iter::once(right).chain(theirs).collect();
        let signs = match answers.iter().any(Option::is_some) {
            true => answers.into_iter().map(|right| sign(state, right)).collect(),
            false => "–".to_owned(),
        };
        let marked = if view.annotation.made.contains_key(&v.sentence) { "*" } else { "" };
        let number = |x: usize| (x.to_string(), Some(x as f64));
        let dimension = dimensions.iter().position(|d| *d == v.dimension).map(|at| at as f64);
        Row {
            cells: vec![
                (printable(&format!("{marked}{}", v.words.join(" "))).into_owned(), None),
                (signs, right.map(|right| f64::from(u8::from(right)))),
                number(v.words.len()),
                number(at + 1),
                (printable(&v.dimension).into_owned(), dimension),
            ],
            last: None,
        }
    };
    let ascii = state.view.glyphs == Glyphs::Ascii;
    Table {
        columns: vec!["sentence", if ascii { "+ right" } else { "● right" }, "words", "no.", "dimension"],
        rows: passing(state).into_iter().map(row).collect(),
        sort: (3, false),
        first: Some(SENTENCE),
        ..Table::default()
    }
}

pub(crate) fn draw(frame: &mut Frame, area: Rect, state: &State) {
    let table = table(state);
    if table.rows.is_empty() {
        frame.render_widget(pane_block(state, SENTENCES, "Sentences"), area);
        return nothing(frame, inside(area), state);
    }
    let words = view(state).filter.words();
    let all = results(state).data.as_ref().map_or(table.rows.len(), |d| d.value.originals);
    let name = match words.is_empty() {
        true => "Originals".to_owned(),
        false => format!("Originals, {all} in all: {}", printable(&words)),
    };
    table.draw(frame, area, state, (SENTENCES, &name), state.place(ID).scrolled(SENTENCES));
}

fn nothing(frame: &mut Frame, area: Rect, state: &State) {
    let dim = state.theme().style(Role::Dim);
    let text = match run(state) {
        _ if !results(state).sentences.is_empty() => {
            format!("No sentence matches; {} changes the filter.", state.keymap.short_label("menu"))
        }
        None if state.replay.is_some() => "nothing has been played yet".into(),
        None => format!("{} runs the models; sentences then appear here", state.keymap.label("run")),
        Some(job) => match &job.outcome {
            Some(Outcome::Failed(p)) => return problem(frame, area, p, state),
            Some(Outcome::Cancelled) => "cancelled before the first sentence".into(),
            Some(Outcome::Done) => "the data contain no sentence".into(),
            None => "Sentences appear when the model is loaded.".into(),
        },
    };
    message(frame, area, &text, dim);
}
