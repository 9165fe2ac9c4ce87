//! One example: the oracle's view and the model's own prediction, before and after.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Wrap};

use super::{block, message};
use crate::engine::finding::{ExampleFinding, Shift};
use crate::tui::layout::inside;
use crate::tui::state::{Glyphs, Pane, State};
use crate::tui::text::{pad, printable, score, short};
use crate::tui::theme::Role;

/// Columns of the names of properties and of the model.
const NAME: usize = 17;

/// Draws the pane.
pub fn draw(frame: &mut Frame, area: Rect, state: &State) {
    let focused = state.view.focus == Pane::Example;
    let Some(example) = state.example() else {
        frame.render_widget(block(state, "Example", focused), area);
        let text = if state.board.running() { "waits for the first probe" } else { "no example yet" };
        return message(frame, inside(area), text, state.theme().style(Role::Dim));
    };
    let v = &example.value;
    let waiting = if state.awaiting_point() { " …" } else { "" };
    let title = format!("Example {}/{}{waiting}", v.index + 1, v.of);
    frame.render_widget(block(state, &title, focused), area);
    let inner = inside(area);
    frame.render_widget(Paragraph::new(text(state, v, inner)).wrap(Wrap { trim: false }), inner);
}

fn text(state: &State, v: &ExampleFinding, area: Rect) -> Vec<Line<'static>> {
    let theme = state.theme();
    let mut lines = vec![Line::styled(printable(&v.text).into_owned(), theme.style(Role::Value))];
    if area.height >= 9 {
        lines.push(Line::default());
    }
    let target = state.board.job.as_ref().map_or("", |job| job.spec.task.target.as_str());
    for (property, shifts) in &v.oracle {
        // Z_c is the property that was to change, Z_e one that was to stay (Canby et al.).
        let sign = if property == target { "Zc" } else { "Ze" };
        let name = format!("{sign} {}", printable(property).replace('_', " "));
        lines.extend(rows(state, &name, shifts, None));
    }
    let intent = state.catalog.method(&v.method).map_or(v.method.as_str(), |m| m.title.as_str());
    lines.extend(rows(state, "model", &v.words, Some(v.correct)));
    if area.height >= 9 {
        let at = format!("{} at {} = {}", printable(intent), printable(&v.parameter), short(v.value));
        lines.push(Line::styled(at, theme.style(Role::Dim)));
    }
    lines
}

/// A line per value: its name, the probability before and after, and which way it went.
fn rows(state: &State, name: &str, shifts: &[Shift], correct: Option<usize>) -> Vec<Line<'static>> {
    let theme = state.theme();
    let ascii = state.view.glyphs == Glyphs::Ascii;
    let top = |of: fn(&Shift) -> f64| {
        let best = shifts.iter().enumerate().max_by(|a, b| of(a.1).total_cmp(&of(b.1)));
        best.map(|(i, _)| i)
    };
    let (before, after) = (top(|s| s.before), top(|s| s.after));
    let row = |(i, s): (usize, &Shift)| {
        let name = if i == 0 { name } else { "" };
        let arrow = if ascii { "->" } else { "→" };
        let way = match (s.after - s.before, ascii) {
            (d, _) if d.abs() < 0.005 || d.is_nan() => " ",
            (d, false) if d > 0.0 => "▲",
            (_, false) => "▼",
            (d, true) if d > 0.0 => "^",
            (_, true) => "v",
        };
        // The winner changed hands: this is what the intervention is about.
        let flipped = before != after && after == Some(i);
        let note = match (correct == Some(i), flipped) {
            (true, true) => " correct, now first",
            (true, false) => " correct",
            (false, true) => " now first",
            (false, false) => "",
        };
        let role = if flipped { Role::Changed } else { Role::Text };
        Line::from(vec![
            Span::styled(pad(name, NAME), theme.style(Role::Dim)),
            Span::styled(pad(&printable(&s.label), 9), theme.style(Role::Text)),
            Span::styled(format!("{} {arrow} {} {way}", score(s.before), score(s.after)), theme.style(role)),
            Span::styled(note, theme.style(Role::Dim)),
        ])
    };
    shifts.iter().enumerate().map(row).collect()
}
