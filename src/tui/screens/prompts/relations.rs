//! The relations: number of facts tested, prompts, and a measure over prompts.

use std::rc::Rc;

use ratatui::Frame;
use ratatui::layout::Rect;

use super::measures::Spread;
use super::{ID, RELATIONS, results, run, view};
use crate::layout::inside;
use crate::panes::table::{Row, Table};
use crate::panes::{message, pane_block, problem};
use crate::state::State;
use crate::theme::Role;
use base::text::printable;
use engine::message::Outcome;
use labs::prompts::finding::RelationFinding;

pub(crate) fn draw(frame: &mut Frame, area: Rect, state: &State) {
    let all = &results(state).relations;
    let inner = inside(area);
    if all.is_empty() {
        let dim = state.theme().style(Role::Dim);
        frame.render_widget(pane_block(state, RELATIONS, "Relations"), area);
        let text = match run(state) {
            None if state.replay.is_some() => "nothing has been played yet".into(),
            None => format!("{} runs the models; relations then appear here", state.keymap.label("run")),
            Some(job) => match &job.outcome {
                Some(Outcome::Failed(p)) => return problem(frame, inner, p, state),
                Some(Outcome::Cancelled) => "cancelled before the first relation".into(),
                Some(Outcome::Done) => "no relation can be tested".into(),
                None => "Relations appear when the first one is scored.".into(),
            },
        };
        return message(frame, inner, &text, dim);
    }
    let of = results(state).data.as_ref().map_or(all.len(), |d| d.value.relations.len());
    let name = if all.len() < of { format!("Relations, {of} in all") } else { "Relations".to_owned() };
    let len = table(state).order(state.here(), RELATIONS).len();
    let cursor = state.place(ID).scrolled(RELATIONS).min(len.saturating_sub(1));
    table(state).draw(frame, area, state, (RELATIONS, &name), cursor);
}

pub(crate) fn table(state: &State) -> Rc<Table> {
    state.frame.once("list", || made(state))
}

fn made(state: &State) -> Table {
    let spread = view(state).spread;
    let row = |r: &labs::Tagged<RelationFinding>| {
        let v = &r.value;
        let number = |x: usize| (x.to_string(), Some(x as f64));
        let value = spread.of(state, &v.relation);
        Row {
            cells: vec![
                (printable(&v.relation).into_owned(), None),
                (listed(state, &v.relation), value),
                number(v.kept),
                number(v.prompts.len()),
                (printable(&v.relation_kind).into_owned(), None),
            ],
            last: (v.kept == 0).then_some("those without facts"),
        }
    };
    Table {
        columns: vec!["relation", spread.heading(results(state).models().len()), "facts", "prompts", "type"],
        rows: results(state).relations.iter().map(row).collect(),
        sort: (1, true),
        ..Table::default()
    }
}

/// The listed measure, in points.
fn listed(state: &State, relation: &str) -> String {
    match view(state).spread.of(state, relation) {
        None => "n/a".to_owned(),
        Some(x) if view(state).spread == Spread::Pair => format!("{:+.1}", 100.0 * x),
        Some(x) => format!("{:.1}", 100.0 * x),
    }
}
