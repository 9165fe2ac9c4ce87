//! The originals that pass the filter, with the model's prediction for each and for its partners.

use ratatui::Frame;
use ratatui::layout::Rect;

use super::{ID, SENTENCES, results, run, view};
use crate::layout::inside;
use crate::panes::listing::{Listing, MARK};
use crate::panes::{message, pane_block, problem};
use crate::state::{Glyphs, State};
use crate::theme::Role;
use base::text::{fit, pad, printable, width};
use engine::message::Outcome;
use labs::saliency::finding::{Sample, SentenceFinding};

/// Kinds of perturbation, in the order of the paper.
pub(crate) const PERTURBATIONS: [&str; 3] = ["dispens", "import", "trans"];

/// Selection of the listed sentences.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only this dimension.
    pub dimension: Option<String>,
    /// Only originals with such a partner, and only that partner.
    pub perturbation: Option<String>,
    /// Only where the first answer of the model in view is right, or is not.
    pub right: Option<bool>,
    /// Only sentences in which this occurs.
    pub text: String,
}

impl Filter {
    /// In words, as a title.
    fn words(&self) -> String {
        let right = self.right.map(|right| if right { "right" } else { "wrong" }.to_owned());
        let text = Some(format!("\"{}\"", self.text)).filter(|_| !self.text.is_empty());
        let parts = [self.dimension.clone(), self.perturbation.clone(), right, text];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

/// Places of the originals that pass the filter.
pub(crate) fn listed(state: &State) -> Vec<usize> {
    let (found, view) = (results(state), view(state));
    let passes = |s: &SentenceFinding| {
        let dimension = view.filter.dimension.as_ref().is_none_or(|d| *d == s.dimension);
        let wanted = view.filter.text.to_lowercase();
        s.sample == Sample::Original
            && dimension
            && (wanted.is_empty() || s.text.to_lowercase().contains(&wanted))
            && (view.filter.perturbation.is_none() || !partners(state, s).is_empty())
            && view.filter.right.is_none_or(|right| is_right(state, &s.sentence) == Some(right))
    };
    found.sentences.iter().enumerate().filter(|(_, s)| passes(&s.value)).map(|(at, _)| at).collect()
}

/// The partners of an original that pass the filter.
pub(crate) fn partners<'s>(state: &'s State, original: &SentenceFinding) -> Vec<&'s SentenceFinding> {
    let (found, view) = (results(state), view(state));
    let known = original.partners.iter().filter_map(|id| view.index.sentence(found, id)).map(|s| &s.value);
    known.filter(|p| view.filter.perturbation.is_none() || p.perturbation == view.filter.perturbation).collect()
}

/// True if the first answer of the model in view is the expected one; `None` if unknown.
fn is_right(state: &State, id: &str) -> Option<bool> {
    let view = view(state);
    view.index.prediction(results(state), &view.model, id)?.value.top1
}

/// The sign of an answer that is right, wrong, or not there yet.
pub(crate) fn sign(state: &State, right: Option<bool>) -> &'static str {
    match (right, state.view.glyphs == Glyphs::Ascii) {
        (Some(true), false) => "●",
        (Some(true), true) => "+",
        (Some(false), false) => "○",
        (Some(false), true) => "-",
        (None, _) => "?",
    }
}

/// The dimensions of the run, in the order of the data.
pub(crate) fn dimensions(state: &State) -> Vec<String> {
    let notes = results(state).data.iter().flat_map(|d| &d.value.dimensions);
    notes.map(|d| d.dimension.clone()).collect()
}

/// Draws the pane.
pub(crate) fn draw(frame: &mut Frame, area: Rect, state: &State) {
    let (found, view) = (results(state), view(state));
    let all = found.data.as_ref().map_or(found.sentences.len(), |d| d.value.originals);
    let words = view.filter.words();
    let title = match (all, words.is_empty()) {
        (0, _) => "Sentences".to_owned(),
        (all, true) => format!("Sentences ({all})"),
        (all, false) => format!("Sentences ({} of {all}: {words})", view.listed.len()),
    };
    let room = usize::from(area.width.saturating_sub(6));
    frame.render_widget(pane_block(state, SENTENCES, &fit(&printable(&title), room)), area);
    let inner = inside(area);
    if view.listed.is_empty() {
        return nothing(frame, inner, state);
    }
    let wide = usize::from(inner.width.saturating_sub(MARK));
    let dimension = 4;
    let marks = 4;
    let text = wide.saturating_sub(dimension + marks + 2).max(8);
    let listing = Listing { len: view.listed.len(), cursor: state.place(ID).scrolled(SENTENCES) };
    let header = format!("{} {} {}", pad("sentence", text), pad("dim.", dimension), "ok");
    listing.draw(frame, inner, state, &header, |k| {
        let Some(sentence) = found.sentences.get(view.listed[k]).map(|s| &s.value) else {
            return String::new();
        };
        let own = sign(state, is_right(state, &sentence.sentence));
        let theirs: String =
            partners(state, sentence).iter().map(|p| sign(state, is_right(state, &p.sentence))).collect();
        let marked = if view.annotation.made.contains_key(&sentence.sentence) { "*" } else { "" };
        let line = format!("{marked}{}", sentence.words.join(" "));
        let line = pad(&fit(&printable(&line), text), text);
        let letters: String = printable(&sentence.dimension).chars().take(4).collect();
        let dimension = pad(&letters, dimension);
        format!("{line} {dimension} {own}{}", fit(&theirs, marks.max(width(&theirs).min(marks))))
    });
}

/// Why no sentence is listed.
fn nothing(frame: &mut Frame, area: Rect, state: &State) {
    let dim = state.theme().style(Role::Dim);
    let text = match run(state) {
        _ if !results(state).sentences.is_empty() => {
            let (filter, menu) = (state.keymap.short_label("filter"), state.keymap.short_label("menu"));
            format!("No sentence passes the filter.\n{filter} and {menu} change it.")
        }
        None if state.replay.is_some() => "nothing has been played yet".into(),
        None => format!("{} asks the models", state.keymap.label("run")),
        Some(job) => match &job.outcome {
            Some(Outcome::Failed(p)) => return problem(frame, area, p, state),
            Some(Outcome::Cancelled) => "cancelled before the first sentence".into(),
            Some(Outcome::Done) => "the data hold no sentence".into(),
            None => job.progress.as_ref().map_or("the models are loading".into(), |p| p.stage.clone()),
        },
    };
    message(frame, area, &text, dim);
}
