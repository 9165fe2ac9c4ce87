//! Where the rows of the setup pane stand: one below the other, and those of two sides that are set up alike in two columns.

use ratatui::layout::Rect;

use super::{Row, RowLine};
use crate::layout::{LABEL, scrolled};

/// How much of a line a row takes: where two sides are set up alike, their rows stand in two columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Place {
    #[default]
    Whole,
    /// The first column after the label, under the name of a side.
    Left(&'static str),
    /// The second column, beside the row before it.
    Right(&'static str),
}

/// The row of the pane on which each line stands: two columns share one.
pub fn shelves(rows: &[Row], lines: &[RowLine]) -> Vec<usize> {
    let mut used = 0usize;
    let of = |line: &RowLine| {
        used += usize::from(!matches!(rows[line.row].place, Place::Right(_)));
        used.saturating_sub(1)
    };
    lines.iter().map(of).collect()
}

/// Which line stands first in a pane of this height, with the cursor at `here`: its row of the pane.
pub(super) fn top(shelves: &[usize], here: usize, height: u16) -> usize {
    let all = shelves.last().map_or(0, |last| last + 1);
    scrolled(shelves.get(here).copied().unwrap_or(0), all, height.into())
}

/// The part of a line that a row has: its label, and what is left of it for the value.
pub(super) fn columns(place: Place, line: Rect) -> (u16, Rect) {
    let label = LABEL.min(line.width);
    let half = (line.width - label) / 2;
    match place {
        Place::Whole => (label, line),
        Place::Left(_) => (label, Rect { width: label + half, ..line }),
        Place::Right(_) => (0, Rect { x: line.x + label + half, width: half, ..line }),
    }
}
