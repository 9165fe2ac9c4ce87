//! Where everything stands: a pure function of the state, so that drawing and mouse hits cannot disagree.
//!
//! ```text
//! wide                                        folded
//! ┌ title ─────────────────────────────────┐  ┌ title ──────────┐
//! │ Setup  │ Curves                        │  │ tabs            │
//! │        │                               │  │ the focused     │
//! │        ├───────────────┬───────────────┤  │ pane            │
//! │ Probes │ Pareto        │ Example       │  │                 │
//! ├ progress ──────────────────────────────┤  ├ progress ───────┤
//! └ footer ────────────────────────────────┘  └ footer ─────────┘
//! ```

use ratatui::layout::{Constraint, Layout as Split, Rect};

use super::state::{Pane, Row, State};

/// Smallest screen on which panes are drawn.
pub const SMALLEST: (u16, u16) = (40, 10);
/// Smallest screen that shows all panes at once.
const WIDE: (u16, u16) = (100, 32);

/// Rectangles of the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// Title and labs.
    pub title: Rect,
    /// Tabs of the folded panes.
    pub tabs: Option<Rect>,
    /// Between title and progress.
    pub body: Rect,
    /// The panes that are drawn.
    pub panes: Vec<(Pane, Rect)>,
    /// Progress, messages, text fields.
    pub progress: Rect,
    /// Keys.
    pub footer: Rect,
}

/// Lays the screen out; none where it is too small.
pub fn compute(state: &State) -> Option<Layout> {
    let (columns, rows) = state.view.size;
    if columns < SMALLEST.0 || rows < SMALLEST.1 {
        return None;
    }
    let screen = Rect::new(0, 0, columns, rows);
    let folded = columns < WIDE.0 || rows < WIDE.1;
    let tab_rows = u16::from(folded || state.view.zoom);
    let [title, tabs, body, progress, footer] = Split::vertical([
        Constraint::Length(1),
        Constraint::Length(tab_rows),
        Constraint::Fill(1),
        Constraint::Length(1),
        Constraint::Length(1),
    ])
    .areas(screen);
    let panes = if tab_rows == 1 { vec![(state.view.focus, body)] } else { wide(body, state) };
    Some(Layout { title, tabs: (tab_rows == 1).then_some(tabs), body, panes, progress, footer })
}

fn wide(body: Rect, state: &State) -> Vec<(Pane, Rect)> {
    let side = if body.width >= 150 { 40 } else { 31 };
    let [left, right] = Split::horizontal([Constraint::Length(side), Constraint::Fill(1)]).areas(body);
    // The probes take what the setup leaves, at least a third.
    let wanted = state.rows().len() as u16 + 2;
    let setup_rows = wanted.min(body.height * 2 / 3);
    let [setup, probes] = Split::vertical([Constraint::Length(setup_rows), Constraint::Fill(1)]).areas(left);
    let [curves, below] = Split::vertical([Constraint::Fill(3), Constraint::Fill(2)]).areas(right);
    let [pareto, example] = Split::horizontal([Constraint::Fill(5), Constraint::Fill(6)]).areas(below);
    vec![
        (Pane::Setup, setup),
        (Pane::Curves, curves),
        (Pane::Pareto, pareto),
        (Pane::Example, example),
        (Pane::Probes, probes),
    ]
}

impl Layout {
    /// The rectangle of a pane, where it is drawn.
    pub fn pane(&self, pane: Pane) -> Option<Rect> {
        self.panes.iter().find(|(p, _)| *p == pane).map(|(_, rect)| *rect)
    }

    /// The pane at a cell.
    pub fn pane_at(&self, x: u16, y: u16) -> Option<(Pane, Rect)> {
        self.panes.iter().copied().find(|(_, rect)| rect.contains((x, y).into()))
    }
}

/// The inside of a bordered pane.
pub fn inside(pane: Rect) -> Rect {
    Rect {
        x: pane.x + 1,
        y: pane.y + 1,
        width: pane.width.saturating_sub(2),
        height: pane.height.saturating_sub(2),
    }
}

/// Columns of the labels of the setup pane.
pub const LABEL: u16 = 10;
/// Columns of the values beside a slider.
pub const VALUE: u16 = 7;

/// The columns of a slider's track on a line: first column and length.
pub fn track(line: Rect) -> (u16, u16) {
    (line.x + LABEL, line.width.saturating_sub(LABEL + VALUE + 1))
}

/// Rows of a list that are scrolled away so that the cursor stays in sight.
pub fn scrolled(cursor: usize, rows: usize, height: usize) -> usize {
    if height == 0 || rows <= height {
        return 0;
    }
    // The cursor keeps to the middle, as far as the ends allow.
    cursor.saturating_sub(height / 2).min(rows - height)
}

/// The row of the setup pane at a cell: its index, the row, and its line.
pub fn setup_row_at(state: &State, pane: Rect, y: u16) -> Option<(usize, Row, Rect)> {
    let inner = inside(pane);
    let rows = state.rows();
    let first = scrolled(state.view.row, rows.len(), inner.height.into());
    let line = y.checked_sub(inner.y).filter(|l| *l < inner.height)?;
    let index = first + usize::from(line);
    let row = *rows.get(index)?;
    Some((index, row, Rect { y, height: 1, ..inner }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tui::catalog::Catalog;
    use crate::tui::state::Start;

    proptest! {
        #[test]
        fn panes_stay_on_the_screen_and_apart(columns in 0u16..300, rows in 0u16..120, zoom: bool) {
            let mut state = State::new(Start { size: (columns, rows), ..Start::new(Catalog::sample()) });
            state.view.zoom = zoom;
            if let Some(layout) = compute(&state) {
                let screen = Rect::new(0, 0, columns, rows);
                for (i, (_, a)) in layout.panes.iter().enumerate() {
                    prop_assert_eq!(a.intersection(screen), *a);
                    prop_assert!(a.height > 2 && a.width > 2);
                    for (_, b) in &layout.panes[i + 1..] {
                        prop_assert!(a.intersection(*b).is_empty());
                    }
                }
            } else {
                prop_assert!(columns < SMALLEST.0 || rows < SMALLEST.1);
            }
        }

        #[test]
        fn the_cursor_stays_in_sight(cursor in 0usize..50, rows in 1usize..50, height in 1usize..30) {
            let cursor = cursor.min(rows - 1);
            let first = scrolled(cursor, rows, height);
            prop_assert!(first <= cursor && cursor < first + height);
        }
    }
}
