//! The prompts of the relation under the cursor with every model's P@1.

use ratatui::Frame;
use ratatui::layout::Rect;

use super::{ASKED, ID, prompts, relation, results, rule};
use crate::base::text::{fit, last_part, pad, printable};
use crate::tui::layout::inside;
use crate::tui::panes::listing::Listing;
use crate::tui::panes::{message, pane_block};
use crate::tui::state::State;
use crate::tui::theme::Role;

/// Columns of a model's score.
const SCORE: usize = 6;

/// Draws the pane.
pub fn draw(frame: &mut Frame, area: Rect, state: &State) {
    let Some(id) = relation(state) else {
        frame.render_widget(pane_block(state, ASKED, "Prompts, P@1"), area);
        return message(frame, inside(area), "no prompt has been asked yet", state.theme().style(Role::Dim));
    };
    let found = results(state).relation(id).map(|r| &r.value);
    let label = found.map_or("", |r| r.label.as_str());
    let title = if label.is_empty() { id.to_owned() } else { format!("{id}: {label}") };
    let room = usize::from(area.width.saturating_sub(6));
    let n = found.map_or(0, |r| r.kept);
    let title = format!("P@1 in per cent{}, n {n}, {title}", rule(state));
    frame.render_widget(pane_block(state, ASKED, &fit(&printable(&title), room)), area);
    let inner = inside(area);
    let models = results(state).models();
    let wide = usize::from(inner.width);
    // What does not fit beside a readable prompt is left out; the figure and `copy` have all.
    let shown = models.len().min(wide.saturating_sub(24) / SCORE);
    let text = wide.saturating_sub(shown * SCORE + 1).max(10);
    let heads: String = models[..shown].iter().map(|m| format!(" {:>5}", initials(m))).collect();
    let header = format!("{}{heads}", pad("prompt", text));
    let all = prompts(state);
    let listing = Listing { len: all.len(), cursor: state.place(ID).scrolled(ASKED) };
    listing.draw(frame, inner, state, &header, |k, _| {
        let prompt = printable(all[k]).into_owned();
        let typed = found.is_some_and(|r| !r.prompts.iter().any(|p| p == all[k]));
        let prompt = if typed { format!("+ {prompt}") } else { prompt };
        let scores: String = models[..shown]
            .iter()
            .map(|m| match results(state).score(id, all[k], m) {
                Some(s) => format!(" {:>5.1}", 100.0 * s.value.p_at_1.mean),
                None => format!(" {:>5}", "…"),
            })
            .collect();
        format!("{}{scores}", pad(&fit(&prompt, text), text))
    });
}

/// A model's name in five letters: the first two parts shortened, `bert-mini` as `be-mi`.
pub fn initials(model: &str) -> String {
    let last = last_part(model);
    let parts: Vec<String> = last.split(['-', '_']).take(2).map(|p| p.chars().take(2).collect()).collect();
    match parts.len() {
        1 => last.chars().take(5).collect(),
        _ => parts.join("-"),
    }
}
