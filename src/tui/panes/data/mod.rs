//! The data lab: the sets on one side, what is known of the one under the cursor on the other.

mod dossier;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Line;

use super::{block, message};
use crate::engine::board::DataDossier;
use crate::tui::commands::CommandId;
use crate::tui::layout::{inside, scrolled};
use crate::tui::state::State;
use crate::tui::text::{count, fit, pad, printable, width};
use crate::tui::theme::Role;

/// From this width on the two stand side by side.
const WIDE: u16 = 100;
/// Width of the column of names.
const NAME: usize = 25;
/// Width of the column of rows.
const ROWS: usize = 6;

/// Draws list and dossier.
pub fn draw(frame: &mut Frame, area: Rect, state: &State) {
    let (list, rest) = split(area, state.listed_sets().len());
    draw_list(frame, list, state);
    dossier::draw(frame, rest, state);
}

/// Where list and dossier stand.
fn split(area: Rect, sets: usize) -> (Rect, Rect) {
    let [list, rest] = if area.width >= WIDE {
        Layout::horizontal([Constraint::Percentage(45), Constraint::Fill(1)]).areas(area)
    } else {
        let rows = (sets as u16).saturating_add(3).min(area.height.saturating_sub(4) / 2).max(4);
        Layout::vertical([Constraint::Length(rows), Constraint::Fill(1)]).areas(area)
    };
    (list, rest)
}

/// The set whose line stands at a row of the screen.
pub fn set_at(state: &State, body: Rect, x: u16, y: u16) -> Option<usize> {
    let len = state.listed_sets().len();
    let inner = inside(split(body, len).0);
    let line = y
        .checked_sub(inner.y + 1)
        .filter(|_| y < inner.bottom() && inner.left() <= x && x < inner.right())?;
    let index = first(state, len, inner) + usize::from(line);
    (index < len).then_some(index)
}

fn first(state: &State, len: usize, inner: Rect) -> usize {
    scrolled(state.view.data_row.min(len.saturating_sub(1)), len, usize::from(inner.height.saturating_sub(1)))
}

/// Lines of the dossier that can be scrolled away before its last one is in sight.
pub fn overflow(state: &State, body: Rect) -> usize {
    let rest = inside(split(body, state.listed_sets().len()).1);
    dossier::lines(state, rest.width.into()).len().saturating_sub(rest.height.into())
}

fn draw_list(frame: &mut Frame, area: Rect, state: &State) {
    let theme = state.theme();
    frame.render_widget(block(state, "Data: built in, and what you add", true), area);
    let inner = inside(area);
    let names = state.listed_sets();
    if names.is_empty() {
        let text = format!("there is no set; {} adds one", state.keymap.label(CommandId::AddData));
        return message(frame, inner, &text, theme.style(Role::Dim));
    }
    let room = usize::from(inner.width);
    let line = |text: String, role| Line::styled(fit(&text, room).into_owned(), theme.style(role));
    let mut rows = inner.rows();
    if let Some(row) = rows.next() {
        let header = format!("{}{:>ROWS$}  format or kind", pad("  set", NAME), "rows");
        frame.render_widget(line(header, Role::Title), row);
    }
    let cursor = state.view.data_row.min(names.len() - 1);
    for (row, (i, name)) in rows.zip(names.iter().enumerate().skip(first(state, names.len(), inner))) {
        let text = entry(state, name, i == cursor);
        frame.render_widget(line(text, if i == cursor { Role::Selection } else { Role::Text }), row);
    }
}

fn entry(state: &State, name: &str, here: bool) -> String {
    let mark = state.view.glyphs.cursor(here);
    let known = state.board.set_of(name);
    let catalog = state.catalog.sets.iter().find(|s| s.id == name);
    let inspection = known.and_then(|d| d.inspection.as_ref());
    // What was counted, or else what will be drawn.
    let promised = catalog.map(|s| s.rows.unwrap_or(state.spec.task.examples as u64));
    let rows = inspection.map(|i| i.rows).or(promised);
    let rows = rows.map_or_else(String::new, |n| if n < 100_000 { n.to_string() } else { count(n as f64) });
    let kind = match (inspection, catalog) {
        (Some(i), _) => printable(&i.title).into_owned(),
        (None, Some(s)) => printable(&s.title).into_owned(),
        (None, None) => String::new(),
    };
    let state_of = known.map_or(String::new(), doing);
    let text = [kind, state_of].into_iter().filter(|t| !t.is_empty()).collect::<Vec<_>>().join("; ");
    format!("{}{rows:>ROWS$}  {text}", pad(&format!("{mark} {}", ending(&printable(name), NAME - 3)), NAME))
}

/// What stands behind a set whose latest question has no answer.
fn doing(dossier: &DataDossier) -> String {
    let text = match dossier {
        d if !d.waiting.is_empty() => "reading",
        d if d.problem.is_some() => "cannot be read",
        d if d.stopped => "cancelled",
        _ => "",
    };
    text.to_owned()
}

/// The end of a text that is longer: of a path it tells more than the beginning.
fn ending(text: &str, room: usize) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    let cut = |(i, _): (usize, char)| &text[i..];
    let rest = text.char_indices().map(cut).find(|rest| width(rest) < room).unwrap_or_default();
    format!("…{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_paths_keep_their_end_also_in_wide_characters() {
        assert_eq!(ending("/a/bc", 5), "/a/bc");
        assert_eq!(ending("/folder/file.txt", 9), "…file.txt");
        assert_eq!(ending("/数据/文件", 6), "…/文件");
        assert_eq!(ending("/数据/文件", 5), "…文件");
        assert_eq!(ending("/数据/文件", 0), "…");
    }
}
