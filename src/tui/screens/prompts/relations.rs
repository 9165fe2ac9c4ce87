//! The relations: how many of their facts are asked, their prompts, and how far P@1 spreads over prompts.

use ratatui::Frame;
use ratatui::layout::Rect;

use super::measures::Spread;
use super::{ID, RELATIONS, results, rule, run, view};
use crate::layout::inside;
use crate::panes::listing::Listing;
use crate::panes::{message, pane_block, problem};
use crate::state::State;
use crate::theme::Role;
use base::text::{fit, pad, printable};
use engine::message::Outcome;

/// Draws the pane.
pub(crate) fn draw(frame: &mut Frame, area: Rect, state: &State) {
    let all = &results(state).relations;
    let of = results(state).data.as_ref().map_or(all.len(), |d| d.value.relations.len());
    let title = match all.len() {
        0 => "Relations".to_owned(),
        n if n < of => format!("Relations ({n} of {of})"),
        n => format!("Relations ({n})"),
    };
    let title = format!("{title}{}", rule(state));
    frame.render_widget(pane_block(state, RELATIONS, &title), area);
    let inner = inside(area);
    if all.is_empty() {
        let dim = state.theme().style(Role::Dim);
        let text = match run(state) {
            None if state.replay.is_some() => "nothing has been played yet".into(),
            None => format!("{} asks the models", state.keymap.label("run")),
            Some(job) => match &job.outcome {
                Some(Outcome::Failed(p)) => return problem(frame, inner, p, state),
                Some(Outcome::Cancelled) => "cancelled before the first relation".into(),
                Some(Outcome::Done) => "no relation can be asked".into(),
                None => match &job.progress {
                    Some(progress) => progress.stage.clone(),
                    None => "the models are loading".into(),
                },
            },
        };
        return message(frame, inner, &text, dim);
    }
    let listing = Listing { len: all.len(), cursor: state.place(ID).scrolled(RELATIONS) };
    let counts: Vec<String> = all.iter().map(|r| format!("{}/{}", r.value.kept, r.value.facts)).collect();
    let gaps: Vec<String> = all.iter().map(|r| listed(state, &r.value.relation)).collect();
    let spread = view(state).spread;
    // The numbers take what they need, and the names the rest.
    let widest = |list: &[String], least: usize| list.iter().map(String::len).fold(least, usize::max);
    let (facts, points) = (widest(&counts, 5), widest(&gaps, spread.heading().len().max(4)));
    let name = usize::from(inner.width).saturating_sub(11 + facts + points).max(8);
    let header = format!(
        "{} {:>4} {:>facts$} {:>2} {:>points$}",
        pad("relation", name),
        "type",
        "facts",
        "p",
        spread.heading()
    );
    listing.draw(frame, inner, state, &header, |k, _| {
        let r = &all[k].value;
        let id = printable(&r.relation).into_owned();
        format!(
            "{} {:>4} {:>facts$} {:>2} {:>points$}",
            pad(&fit(&id, name), name),
            fit(&printable(&r.relation_kind), 4),
            counts[k],
            r.prompts.len(),
            gaps[k]
        )
    });
}

/// The number that is listed, in points.
fn listed(state: &State, relation: &str) -> String {
    match view(state).spread.of(state, relation) {
        None => "n/a".to_owned(),
        Some(x) if view(state).spread == Spread::Pair => format!("{:+.1}", 100.0 * x),
        Some(x) => format!("{:.1}", 100.0 * x),
    }
}
