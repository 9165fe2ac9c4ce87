//! Draws the setup pane.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::columns::{columns, top};
use super::{PANE, Place, Row, RowLine, Setup, changed, lines, shelves, waits};
use crate::layout::{LABEL, VALUE, inside, track};
use crate::panes::pane_block;
use crate::state::{Purpose, State};
use crate::theme::Role;
use crate::widgets::slider::slider;
use base::text::{fit, fit_end, pad, printable, width};
use labs::setting::{Kind, Value};
use model::offers::ALL_LABS;

/// Draws the pane.
pub fn draw(frame: &mut Frame, area: Rect, state: &State, setup: &dyn Setup) {
    let run = state.keymap.label("run");
    let title = match (changed(state), waits(state)) {
        (true, true) => "Setup*: waits to run".into(),
        (true, false) => format!("Setup*: {run} runs it"),
        (false, _) => "Setup".into(),
    };
    frame.render_widget(pane_block(state, PANE, &title), area);
    let inner = inside(area);
    let rows = setup.rows(state);
    let lines = lines(&rows);
    let here = state.here().row.min(lines.len().saturating_sub(1));
    let shelves = shelves(&rows, &lines);
    let first = top(&shelves, here, inner.height);
    for (number, (at, shelf)) in lines.iter().zip(&shelves).enumerate() {
        let Some(line) = shelf.checked_sub(first).and_then(|k| inner.rows().nth(k)) else { continue };
        let (cursor, row) = (state.focused(PANE) && number == here, &rows[at.row]);
        match row.place {
            Place::Whole => frame.render_widget(row_line(state, row, *at, line, cursor), line),
            place => half(frame, state, row, (place, line), cursor),
        }
    }
}

/// A row in one of two columns: the sign of the side and the value, without a track.
fn half(frame: &mut Frame, state: &State, row: &Row, (place, line): (Place, Rect), cursor: bool) {
    let theme = state.theme();
    let (label, area) = columns(place, line);
    let (Place::Left(side) | Place::Right(side)) = place else { return };
    let bare = row.label.strip_prefix(side).unwrap_or(&row.label).trim_start();
    // The label stands where those of other rows do, behind the room of a cursor.
    let text = match label {
        0 => String::new(),
        _ => pad(&format!("{}{bare}", state.view.glyphs.cursor(false)), usize::from(label)),
    };
    let star = if row.changed { "*" } else { "" };
    let head = format!("{}{side}{star} ", state.view.glyphs.cursor(cursor));
    let room = usize::from(area.width).saturating_sub(width(&text) + width(&head) + 1);
    let role = match (row.changed, cursor) {
        (true, _) => Role::Changed,
        (false, true) => Role::Selection,
        (false, false) => Role::Value,
    };
    let (role, text_of) = match refusal(state, row) {
        Some(why) => (Role::Error, fit(&why, room).into_owned()),
        // Names of models and files differ at their ends.
        None => (role, fit_end(&typed(state, row).unwrap_or_else(|| row.text.clone()), room).into_owned()),
    };
    let head_role = if cursor { Role::Selection } else { Role::Dim };
    let spans = vec![
        Span::styled(text, theme.style(Role::Dim)),
        Span::styled(head, theme.style(head_role)),
        Span::styled(text_of, theme.style(role)),
    ];
    frame.render_widget(Line::from(spans), area);
}

fn row_line(state: &State, row: &Row, at: RowLine, area: Rect, cursor: bool) -> Line<'static> {
    let theme = state.theme();
    let mark = state.view.glyphs.cursor(cursor);
    let star = if row.changed { "*" } else { "" };
    // Only the first of several checkboxes has the label.
    let label = if at.mark == 0 { format!("{mark}{}{star}", row.label) } else { mark.to_owned() };
    let label = format!("{} ", pad(&label, usize::from(LABEL) - 1));
    let label_role = if cursor { Role::Selection } else { Role::Dim };
    let value_role = match (row.changed, cursor) {
        (true, _) => Role::Changed,
        (false, true) => Role::Selection,
        (false, false) => Role::Value,
    };
    let room = usize::from(area.width.saturating_sub(LABEL));
    let mut spans = vec![Span::styled(label, theme.style(label_role))];
    if let Some(why) = refusal(state, row) {
        spans.push(Span::styled(fit(&why, room).into_owned(), theme.style(Role::Error)));
        return Line::from(spans);
    }
    let typed = typed(state, row);
    if let Kind::Slider { .. } = row.kind {
        let (_, columns) = track(area);
        let text = slider(row.share(), columns.into(), state.view.glyphs);
        spans.push(Span::styled(text, theme.style(if cursor { Role::Selection } else { Role::Dim })));
        let text = pad(&typed.unwrap_or_else(|| row.text.clone()), VALUE.into());
        spans.push(Span::styled(format!(" {text}"), theme.style(value_role)));
    } else {
        let text = typed.unwrap_or_else(|| words(state, row, at.mark, room));
        spans.push(Span::styled(fit(&text, room).into_owned(), theme.style(value_role)));
    }
    Line::from(spans)
}

/// The text being typed into a row.
fn typed(state: &State, row: &Row) -> Option<String> {
    let entry = state.view.entry.as_ref()?;
    matches!(&entry.purpose, Purpose::Setting(key) if *key == row.key).then(|| format!("{}_", entry.buffer))
}

/// Why a row did not take its latest value.
fn refusal(state: &State, row: &Row) -> Option<String> {
    let (key, why) = state.place(state.view.lab).refused.as_ref()?;
    (*key == row.key).then(|| format!("{} {why}", state.view.glyphs.cross()))
}

/// What a model serves, where that is not everything.
fn limits(state: &State, name: &str) -> String {
    let known = state.board.models.iter().find(|m| m.name == name);
    match known.map_or("", |m| m.serves.as_str()) {
        "" | ALL_LABS => String::new(),
        some => format!(": {}", printable(some)),
    }
}

/// Fewest columns of a model's name beside what it serves.
const NAME: usize = 16;

/// A row without a track, in about `room` columns.
fn words(state: &State, row: &Row, mark: usize, room: usize) -> String {
    match (&row.kind, &row.value) {
        (Kind::Marks(names), Value::Marks(on)) => {
            let sign = state.view.glyphs.check(on.get(mark).copied().unwrap_or(false));
            let note = row.notes.get(mark).map_or("", String::as_str);
            let name = printable(&names[mark]);
            if row.key != "models" {
                return format!("{sign} {name}{note}");
            }
            let rest = format!("{note}{}", limits(state, &names[mark]));
            let left = room.saturating_sub(width(sign) + 1 + width(&rest)).max(NAME);
            format!("{sign} {}{rest}", fit_end(&name, left))
        }
        _ => row.text.clone(),
    }
}
