//! Decomposition of the gap between two models: the gap after adjustment, and the variation from drawing one prompt, mentions and
//! instances.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::drawn::missing;
use super::{LEDGER, results, rule, view};
use crate::layout::inside;
use crate::panes::{message, pane_block};
use crate::state::State;
use crate::theme::Role;
use base::text::{fit, printable, wrapped};
use labs::Tagged;
use labs::prompts::finding::LedgerFinding;

pub(crate) fn shown(state: &State) -> Option<&Tagged<LedgerFinding>> {
    let all = &results(state).ledgers;
    all.get(view(state).pair.min(all.len().checked_sub(1)?))
}

pub(crate) fn draw(frame: &mut Frame, area: Rect, state: &State) {
    let Some(found) = shown(state) else {
        frame.render_widget(pane_block(state, LEDGER, "Gap of two models"), area);
        let few = results(state).data.as_ref().is_some_and(|d| d.value.models.len() < 2);
        let text = if few { "n/a: a ledger needs two models".to_owned() } else { missing(state, false) };
        return message(frame, inside(area), &text, state.theme().style(Role::Dim));
    };
    let v = &found.value;
    let room = usize::from(area.width.saturating_sub(6));
    let of = results(state).ledgers.len();
    let at = view(state).pair.min(of - 1) + 1;
    let title = format!("Gap of two models {at}/{of}{}: {} − {}", rule(state), v.a, v.b);
    frame.render_widget(pane_block(state, LEDGER, &fit(&printable(&title), room)), area);
    let inner = inside(area);
    let theme = state.theme();
    let mut lines: Vec<Line> = wrapped(&printable(&v.parts.sentence(&v.a, &v.b)), usize::from(inner.width))
        .into_iter()
        .map(|l| Line::styled(l, theme.style(Role::Value)))
        .collect();
    lines.extend(parts(found).into_iter().map(|l| Line::styled(l, theme.style(Role::Text))));
    for (row, line) in inner.rows().zip(lines) {
        frame.render_widget(line, row);
    }
}

/// The gap and its parts: the contribution of each choice, as a share of the variance and as a standard deviation in points. The prompt's
/// share corrected for chance, which the answer uses, is in brackets.
pub(crate) fn parts(found: &Tagged<LedgerFinding>) -> Vec<String> {
    let (v, p) = (&found.value, &found.value.parts);
    let gap = p.model_itself;
    let mut lines =
        vec![format!("gap {:+.1} [{:+.1}, {:+.1}] points", 100.0 * gap.mean, 100.0 * gap.lo, 100.0 * gap.hi)];
    let total = p.total.mean;
    let fair = p.prompt_unbiased_share.map(|share| format!(" ({:.0} %)", 100.0 * share.mean));
    for (name, e) in [("prompt", p.prompt), ("mention", p.mention), ("sample", p.sample), ("residual", p.residual)] {
        let share = if total > 0.0 { format!("{:>3.0} %", 100.0 * e.mean / total) } else { " n/a".into() };
        let fair = fair.as_deref().filter(|_| name == "prompt").unwrap_or_default();
        lines.push(format!("{name:<9}{share}{fair}  SD {:.2} points", 100.0 * e.mean.max(0.0).sqrt()));
    }
    let bracket = if fair.is_some() { "; in parentheses: corrected for chance" } else { "" };
    lines.push(format!("n {}, {} relations{bracket}", found.n, v.relations));
    lines
}
