//! Drawing of the settings: the pane and the form.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::form::{drawn, group, range};
use super::{
    MARKS, PANE, Row, RowLine, Setup, changed, first_drawn, hidden, shown, ticked_models, under_cursor, waits,
};
use crate::layout::{FORM, LABEL, VALUE, inside, track};
use crate::panes::{message, pane_block, table};
use crate::state::{Purpose, State};
use crate::theme::Role;
use crate::widgets::slider::slider;
use base::text::{brief_name, fit, fit_end, pad, printable, width};
use labs::setting::{Kind, Value};
use model::offers::ALL_LABS;

/// Minimum width for a description after a value in the form, in columns.
const SENTENCE: usize = 42;
/// Minimum width of a model's name next to its uses, in columns.
const NAME: usize = 16;
/// Columns of a title's border, focus mark and gap.
const FRAME: usize = 8;

pub fn draw(frame: &mut Frame, area: Rect, state: &State, setup: &dyn Setup) {
    let form = state.here().form;
    let title = title(state, form, area.width.into());
    let title = if form { table::titled(state, PANE, &title, area.width) } else { title };
    frame.render_widget(pane_block(state, PANE, &title), area);
    let inner = inside(area);
    let rows = super::rows(state, setup);
    let lines = shown(state, setup, &rows);
    if lines.is_empty() {
        return message(frame, inner, &table::empty(state, PANE, String::new()), state.theme().style(Role::Dim));
    }
    let here = state.here().row.min(lines.len().saturating_sub(1));
    let drawn = drawn(state, &rows, &lines);
    // The pane reserves a line for the number of hidden rows.
    let more = if form { 0 } else { hidden(setup, &rows) };
    let height = inner.height.saturating_sub(u16::from(more > 0));
    let first = first_drawn(&drawn, here, height);
    for (at, area) in (first..drawn.len()).zip(inner.rows().take(height.into())) {
        let line = match drawn[at] {
            None => heading(state, &rows, &lines, drawn.get(at + 1).copied().flatten()),
            Some(number) => {
                let line = lines[number];
                let above = at.checked_sub(1).filter(|above| *above >= first).and_then(|above| drawn[above]);
                let begins = above.is_none_or(|above| lines[above].row != line.row);
                let below = drawn.get(at + 1).copied().flatten();
                let ends = !form && below.is_none_or(|below| lines[below].row != line.row);
                let of_row = drawn.iter().flatten().map(|number| lines[*number]).filter(|l| l.row == line.row);
                let more = if ends { ticked_elsewhere(&rows[line.row], of_row) } else { 0 };
                let cursor = state.focused(PANE) && number == here;
                row_line(state, &rows[line.row], line, (area, begins, more), cursor)
            }
        };
        frame.render_widget(line, area);
    }
    if let Some(area) = inner.rows().next_back().filter(|_| more > 0) {
        let key = state.keymap.short_label("settings");
        let text = format!(" … {more} more ({key})");
        frame.render_widget(Line::styled(text, state.theme().style(Role::Dim)), area);
    }
}

/// Title of the pane or the form: the ticked models, and that a change awaits a run. In the pane, the question says so too.
fn title(state: &State, form: bool, columns: usize) -> String {
    let run = state.keymap.short_label("run");
    let close = state.keymap.short_label("back");
    let star = if changed(state) { "*" } else { "" };
    let tail = match (changed(state), waits(state)) {
        (true, true) => ": queued".to_owned(),
        (true, false) => format!(": {run} runs them"),
        (false, _) => String::new(),
    };
    let head = if form { format!("All settings{star}{tail}  ({close} closes)") } else { format!("Settings{star}") };
    let room = columns.saturating_sub(width(&head) + FRAME);
    match ticked_models(state, room) {
        Some(models) => format!("{head}  {models}"),
        None if form => head,
        None => head + &tail,
    }
}

fn heading(state: &State, rows: &[Row], lines: &[RowLine], next: Option<usize>) -> Line<'static> {
    let title = next.map_or("", |number| group(&rows[lines[number].row]).title());
    Line::styled(format!(" {title}"), state.theme().style(Role::Title))
}

/// Number of a row's ticked checkboxes that are not among the drawn ones.
fn ticked_elsewhere(row: &Row, drawn: impl Iterator<Item = RowLine>) -> usize {
    let Value::Marks(on) = &row.value else { return 0 };
    let ticked = on.iter().filter(|on| **on).count();
    ticked - drawn.filter(|line| on.get(line.mark) == Some(&true)).count()
}

/// A line of the settings. `begins` is true for the first line of its row, and `more` counts ticked checkboxes that are not drawn.
fn row_line(
    state: &State,
    row: &Row,
    at: RowLine,
    (area, begins, more): (Rect, bool, usize),
    cursor: bool,
) -> Line<'static> {
    let (theme, form) = (state.theme(), state.here().form);
    let mark = state.view.glyphs.cursor(cursor);
    let star = if row.changed { "*" } else { "" };
    // Only the first of several checkboxes has the label.
    let label = match (begins, more) {
        (true, _) => format!("{mark}{}{star}", row.label),
        (false, 0) => mark.to_owned(),
        (false, more) => format!("{mark}+{more} more: {}", state.keymap.short_label("open")),
    };
    let label = format!("{} ", pad(&label, usize::from(LABEL) - 1));
    let label_role = if cursor { Role::Selection } else { Role::Dim };
    let value_role = match (row.changed, cursor) {
        _ if !row.warning.is_empty() => Role::Warning,
        (true, _) => Role::Changed,
        (false, true) => Role::Selection,
        (false, false) => Role::Value,
    };
    let columns = if form { area.width.min(FORM) } else { area.width };
    let room = usize::from(columns.saturating_sub(LABEL));
    let mut spans = vec![Span::styled(label, theme.style(label_role))];
    if let Some(why) = refusal(state, row) {
        let room = usize::from(area.width.saturating_sub(LABEL));
        spans.push(Span::styled(fit(&why, room).into_owned(), theme.style(Role::Error)));
        return Line::from(spans);
    }
    let typed = typed(state, row);
    if let Kind::Slider { .. } = row.kind {
        let (_, columns) = track(area, form);
        let text = slider(row.share(), columns.into(), state.view.glyphs);
        spans.push(Span::styled(text, theme.style(if cursor { Role::Selection } else { Role::Dim })));
        let sign = if row.warning.is_empty() { "" } else { " !" };
        let text = pad(&typed.unwrap_or_else(|| format!("{}{sign}", row.text)), VALUE.into());
        spans.push(Span::styled(format!(" {text}"), theme.style(value_role)));
    } else {
        let text = typed.unwrap_or_else(|| words(state, row, at.mark, room));
        spans.push(Span::styled(fit(&text, room).into_owned(), theme.style(value_role)));
    }
    if form && at.mark == 0 {
        spans.extend(facts(state, row, spans.iter().map(Span::width).sum(), area.width.into()));
    }
    Line::from(spans)
}

/// Description, range and default of a row in the form, after the `used` columns of its value, as far as they fit. The status line shows
/// everything for the row under the cursor.
fn facts(state: &State, row: &Row, used: usize, room: usize) -> Vec<Span<'static>> {
    let gap = " ".repeat((usize::from(FORM) + 1).saturating_sub(used));
    let room = room.saturating_sub(used + gap.len());
    if !row.warning.is_empty() {
        let text = fit(&row.warning, room).into_owned();
        return vec![Span::raw(gap), Span::styled(text, state.theme().style(Role::Warning))];
    }
    let at_the_right = |facts: &String| width(&row.help) + 2 + width(facts) <= room;
    let text = match [limits_of(row), range(row)].into_iter().find(at_the_right) {
        _ if room < SENTENCE => fit(&range(row), room).into_owned(),
        Some(facts) => format!("{}{facts}", pad(&row.help, room - width(&facts))),
        None => beginning(&row.help, room),
    };
    vec![Span::raw(gap), Span::styled(text, state.theme().style(Role::Dim))]
}

/// The parts of a sentence up to the last semicolon that fits. If no part fits, the first is cut with a mark.
fn beginning(text: &str, room: usize) -> String {
    let ends = text.match_indices("; ").map(|(at, _)| &text[..at]).filter(|part| width(part) <= room);
    match width(text) > room {
        true => ends.last().unwrap_or(&fit(text, room)).to_owned(),
        false => text.to_owned(),
    }
}

/// Minimum number of commas in a default for which names are counted instead of listed.
const NAMED: usize = 4;

/// Range and default of a row: `1 to 3, whole; default 3/3`.
fn limits_of(row: &Row) -> String {
    let default = match &row.kind {
        _ if row.default.is_empty() => String::new(),
        // A long list would be cut.
        Kind::Marks(_) if row.default.matches(", ").count() >= NAMED => {
            format!("; default {} {}", row.default.matches(", ").count() + 1, row.label.to_lowercase())
        }
        _ => format!("; default {}", row.default),
    };
    range(row) + &default
}

/// Explains the row under the cursor: the key that lists all checkboxes if the pane hides some, then description, range and default.
pub(crate) fn about_cursor(state: &State) -> String {
    let Some((row, _)) = under_cursor(state) else { return String::new() };
    let list = match row.lines() > MARKS && !state.here().form {
        true => format!("{} lists all {}. ", state.keymap.short_label("open"), row.lines()),
        false => String::new(),
    };
    list + &explained(&row)
}

/// Description, range and default of a row.
pub(super) fn explained(row: &Row) -> String {
    let what = if row.warning.is_empty() { row.help.clone() } else { format!("Warning: {}", row.warning) };
    format!("{what} ({})", limits_of(row))
}

fn typed(state: &State, row: &Row) -> Option<String> {
    let entry = state.view.entry.as_ref()?;
    matches!(&entry.purpose, Purpose::Setting(key) if *key == row.key).then(|| format!("{}_", entry.buffer))
}

/// The reason why a row rejected its latest value.
fn refusal(state: &State, row: &Row) -> Option<String> {
    let (key, why) = state.place(state.view.lab).refused.as_ref()?;
    (*key == row.key).then(|| format!("{} {why}", state.view.glyphs.cross()))
}

/// The labs that can use a model; empty if all can.
fn limits(state: &State, name: &str) -> String {
    let known = state.board.models.iter().find(|m| m.name == name);
    match known.map_or("", |m| m.serves.as_str()) {
        "" | ALL_LABS => String::new(),
        some => format!(": {}", printable(some)),
    }
}

/// A row without a slider, in about `room` columns.
pub(super) fn words(state: &State, row: &Row, mark: usize, room: usize) -> String {
    match (&row.kind, &row.value) {
        (Kind::Marks(names), Value::Marks(on)) => {
            let sign = state.view.glyphs.check(on.get(mark).copied().unwrap_or(false));
            let note = row.notes.get(mark).map_or("", String::as_str);
            let name = printable(&names[mark]);
            if row.key != "models" {
                return format!("{sign} {name}{note}");
            }
            let all: Vec<&str> = names.iter().map(String::as_str).collect();
            let short = printable(&brief_name(&names[mark], &all)).into_owned();
            let rest = format!("{note}{}", limits(state, &names[mark]));
            let left = room.saturating_sub(width(sign) + 1 + width(&rest)).max(NAME);
            format!("{sign} {}{rest}", fit_end(&short, left))
        }
        // The end of a path distinguishes it; the start of other texts is more informative.
        (Kind::File(_), _) => fit_end(&row.text, room).into_owned(),
        _ => fit(&row.text, room).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: descriptions in the form used to be cut inside a word.
    #[test]
    fn long_description_ends_at_a_semicolon() {
        let help = "Number of originals and partners together, drawn evenly over the dimensions; there are 3,100.";
        assert_eq!(beginning(help, 85), "Number of originals and partners together, drawn evenly over the dimensions");
        assert_eq!(beginning(help, 200), help);
        assert_eq!(beginning(help, 10), "Number of…");
    }
}
