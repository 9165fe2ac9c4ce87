//! The models that can be picked.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::{block, message};
use crate::tui::layout::{inside, scrolled};
use crate::tui::state::State;
use crate::tui::text::{count, fit, pad, printable};
use crate::tui::theme::Role;

/// Draws the list.
pub fn draw(frame: &mut Frame, area: Rect, state: &State) {
    let theme = state.theme();
    frame.render_widget(block(state, "Models: space selects for the next run", true), area);
    let inner = inside(area);
    let names = state.model_names();
    if names.is_empty() {
        return message(frame, inner, "the engine has not named its models yet", theme.style(Role::Dim));
    }
    let header =
        [pad("    model", 30), pad("family", 10), pad("layers", 8), pad("width", 8), "parameters".into()];
    let room = usize::from(inner.width);
    let line = |text: String, role| Line::styled(fit(&text, room).into_owned(), theme.style(role));
    let mut rows = inner.rows();
    if let Some(row) = rows.next() {
        frame.render_widget(line(header.concat(), Role::Title), row);
    }
    let cursor = state.view.model_row.min(names.len() - 1);
    let first = scrolled(cursor, names.len(), usize::from(inner.height.saturating_sub(1)));
    for (row, (i, name)) in rows.zip(names.iter().enumerate().skip(first)) {
        let known = state.board.models.iter().find(|m| m.name == *name);
        let sign = state.view.glyphs.check(state.spec.models.contains(name));
        let mark = state.view.glyphs.cursor(i == cursor);
        let mut text = pad(&format!("{mark} {sign} {}", printable(name)), 30);
        match known {
            Some(m) => {
                text.push_str(&pad(&printable(&m.family), 10));
                text.push_str(&pad(&m.layers.to_string(), 8));
                text.push_str(&pad(&m.hidden.to_string(), 8));
                text.push_str(&count(m.parameters as f64));
            }
            None => text.push_str("named by the spec; not in the gallery"),
        }
        frame.render_widget(line(text, if i == cursor { Role::Selection } else { Role::Text }), row);
    }
}
