//! Lists with a header and a cursor, and their placement next to details.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Line;

use crate::layout::{inside, scrolled};
use crate::state::State;
use crate::theme::Role;
use base::text::{fit, width};

/// Minimum width for list and details side by side.
const WIDE: u16 = 100;

#[derive(Clone, Copy)]
pub(crate) struct Listing {
    pub len: usize,
    /// Index of the line under the cursor; positions past the end mean the last line.
    pub cursor: usize,
}

/// Splits an area between a list of `len` lines and the rest. Side by side, the list takes `share` percent of the width.
pub fn split(area: Rect, len: usize, share: u16) -> (Rect, Rect) {
    let [list, rest] = if area.width >= WIDE {
        Layout::horizontal([Constraint::Percentage(share), Constraint::Fill(1)]).areas(area)
    } else {
        let wanted = u16::try_from(len).unwrap_or(u16::MAX).saturating_add(3);
        let rows = wanted.min(area.height.saturating_sub(4) / 2).max(4);
        Layout::vertical([Constraint::Length(rows), Constraint::Fill(1)]).areas(area)
    };
    (list, rest)
}

/// Number of lines that a pane can be scrolled until the last of `lines(width)` is visible.
pub(crate) fn overflow(pane: Rect, lines: impl FnOnce(usize) -> usize) -> usize {
    let inner = inside(pane);
    lines(inner.width.into()).saturating_sub(inner.height.into())
}

/// Width of the cursor mark, in columns.
pub(crate) const MARK: u16 = 2;

impl Listing {
    pub(crate) fn at(&self, pane: Rect, x: u16, y: u16) -> Option<usize> {
        let inner = inside(pane);
        let line =
            y.checked_sub(inner.y + 1).filter(|_| y < inner.bottom() && inner.left() <= x && x < inner.right())?;
        let index = self.first(inner) + usize::from(line);
        (index < self.len).then_some(index)
    }

    fn here(&self) -> usize {
        self.cursor.min(self.len.saturating_sub(1))
    }

    fn first(&self, inner: Rect) -> usize {
        scrolled(self.here(), self.len, usize::from(inner.height.saturating_sub(1)))
    }

    /// Draws the header and the lines, indented by the width of the cursor mark; `entry` formats the line with a given index.
    pub(crate) fn draw(
        &self,
        frame: &mut Frame,
        inner: Rect,
        state: &State,
        header: &str,
        entry: impl Fn(usize) -> String,
    ) {
        let (theme, room) = (state.theme(), usize::from(inner.width));
        let line = |text: &str, role| Line::styled(fit(text, room).into_owned(), theme.style(role));
        let mut rows = inner.rows();
        if let Some(row) = rows.next() {
            frame.render_widget(line(&format!("  {header}"), Role::Title), row);
        }
        for (row, i) in rows.zip(self.first(inner)..self.len) {
            let here = i == self.here();
            let role = if here { Role::Selection } else { Role::Text };
            let mark = state.view.glyphs.cursor(here);
            frame.render_widget(line(&format!("{mark} {}", entry(i)), role), row);
        }
    }
}

/// Cuts a text on the left to `room` columns: the end of a path is more informative than its start.
pub fn ending(text: &str, room: usize) -> String {
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
    fn long_paths_keep_their_end() {
        assert_eq!(ending("/a/bc", 5), "/a/bc");
        assert_eq!(ending("/folder/file.txt", 9), "…file.txt");
        assert_eq!(ending("/数据/文件", 6), "…/文件");
        assert_eq!(ending("/数据/文件", 5), "…文件");
        assert_eq!(ending("/数据/文件", 0), "…");
    }

    #[test]
    fn click_selects_the_line_drawn_there() {
        let area = Rect::new(0, 2, 120, 10);
        let listing = Listing { len: 30, cursor: 29 };
        let (list, rest) = split(area, 30, 50);
        assert_eq!((list.width, rest.width), (60, 60));
        // Border, header, then the last seven lines.
        let ys: Vec<Option<usize>> = (2..12).map(|y| listing.at(list, 5, y)).collect();
        let want = [None, None, Some(23), Some(24), Some(25), Some(26), Some(27), Some(28), Some(29), None];
        assert_eq!(ys, want);
        assert_eq!(listing.at(list, 70, 5), None, "outside the list");
        assert_eq!(Listing { len: 2, cursor: 1 }.at(list, 5, 6), None, "below the last line");
        assert_eq!(Listing { len: 0, cursor: 0 }.at(list, 5, 4), None, "an empty list");
        assert_eq!(overflow(rest, |width| width), 58 - 8);
    }

    #[test]
    fn narrow_screen_places_list_above_details() {
        for (len, rows) in [(1, 4), (3, 6), (100, 8)] {
            let (list, rest) = split(Rect::new(0, 1, 80, 20), len, 50);
            assert_eq!((list.width, rest.width, list.height), (80, 80, rows));
            assert_eq!((list.bottom(), rest.bottom()), (rest.y, 21));
        }
    }
}
