//! Where everything is: a pure function of the state, so that drawing and mouse hits cannot disagree.
//!
//! ```text
//! wide                                        folded
//! ┌ title ─────────────────────────────────┐  ┌ title ──────────┐
//! │ the panes as the screen lays them out   │  │ tabs            │
//! │                                         │  │ the focused     │
//! │                                         │  │ pane            │
//! ├ progress ──────────────────────────────┤  ├ progress ───────┤
//! └ footer ────────────────────────────────┘  └ footer ─────────┘
//! ```

use ratatui::layout::{Constraint, Layout as Split, Rect};

use super::screen::Pane;
use super::state::State;

/// Smallest screen on which panes are drawn.
pub(crate) const SMALLEST: (u16, u16) = (40, 10);
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

/// Lays out the screen; none if it is too small.
pub fn compute(state: &State) -> Option<Layout> {
    let (columns, rows) = state.view.size;
    if columns < SMALLEST.0 || rows < SMALLEST.1 {
        return None;
    }
    let shown = state.screen();
    let small = columns < WIDE.0 || rows < WIDE.1;
    let tabbed = shown.folds() && (small || state.here().zoom);
    let [title, tabs, body, progress, footer] = Split::vertical([
        Constraint::Length(1),
        Constraint::Length(u16::from(tabbed)),
        Constraint::Fill(1),
        Constraint::Length(1),
        Constraint::Length(1),
    ])
    .areas(Rect::new(0, 0, columns, rows));
    let panes = if tabbed { vec![(state.here().focus, body)] } else { shown.layout(state, body) };
    Some(Layout { title, tabs: tabbed.then_some(tabs), body, panes, progress, footer })
}

impl Layout {
    /// Everything between title and progress.
    pub(crate) fn under_title(&self) -> Rect {
        self.tabs.map_or(self.body, |tabs| tabs.union(self.body))
    }

    /// The rectangle of a pane, if it is drawn.
    pub fn pane(&self, pane: Pane) -> Option<Rect> {
        self.panes.iter().find(|(p, _)| *p == pane).map(|(_, rect)| *rect)
    }

    /// The pane at a cell.
    pub(crate) fn pane_at(&self, x: u16, y: u16) -> Option<(Pane, Rect)> {
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
/// Columns of the value beside a slider.
pub(crate) const VALUE: u16 = 7;

/// The columns of a slider's track on a line: first column and length.
pub fn track(line: Rect) -> (u16, u16) {
    (line.x + LABEL, line.width.saturating_sub(LABEL + VALUE + 1))
}

/// Rows of a list that are scrolled away to keep the cursor visible.
pub fn scrolled(cursor: usize, rows: usize, height: usize) -> usize {
    if height == 0 || rows <= height {
        return 0;
    }
    // The cursor stays in the middle, except near the ends.
    cursor.saturating_sub(height / 2).min(rows - height)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::screens::SCREENS;
    use crate::state::Start;

    fn state(columns: u16, rows: u16) -> State {
        State::new(Start { size: (columns, rows), ..Start::new() })
    }

    #[test]
    fn a_wide_screen_shows_every_pane_and_a_small_one_a_tab_for_each() {
        for screen in SCREENS {
            let mut wide = state(120, 40);
            wide.show(screen.id());
            let layout = compute(&wide).unwrap();
            assert_eq!(layout.panes.len(), screen.panes().len(), "{}", screen.title());
            assert!(screen.panes().iter().all(|p| layout.pane(*p).is_some()), "{}", screen.title());
            assert!(layout.tabs.is_none());
            let mut small = state(80, 24);
            small.show(screen.id());
            let layout = compute(&small).unwrap();
            assert_eq!(layout.tabs.is_some(), screen.folds(), "{}", screen.title());
            if screen.folds() {
                assert_eq!(layout.panes, [(screen.first(), layout.body)]);
            }
            let mut tiny = state(20, 5);
            tiny.show(screen.id());
            assert_eq!(compute(&tiny), None);
        }
    }

    #[test]
    fn title_panes_progress_and_footer_fill_the_screen() {
        for (columns, rows) in [(120, 40), (80, 24), (40, 10)] {
            let layout = compute(&state(columns, rows)).unwrap();
            assert_eq!((layout.title.y, layout.under_title().y), (0, 1));
            assert_eq!((layout.progress.y, layout.footer.y), (rows - 2, rows - 1));
            assert_eq!(layout.under_title().height, rows - 3);
        }
    }

    #[test]
    fn a_cell_belongs_to_the_pane_that_covers_it() {
        let layout = compute(&state(120, 40)).unwrap();
        for (pane, rect) in &layout.panes {
            assert_eq!(layout.pane_at(rect.x, rect.y), Some((*pane, *rect)));
            assert_eq!(layout.pane_at(rect.right() - 1, rect.bottom() - 1), Some((*pane, *rect)));
        }
        assert_eq!(layout.pane_at(0, 0), None, "the title is no pane");
    }

    #[test]
    fn the_track_of_a_slider_leaves_room_for_its_label_and_value() {
        let line = Rect::new(3, 2, 29, 1);
        assert_eq!(track(line), (3 + LABEL, 29 - LABEL - VALUE - 1));
        assert_eq!(track(Rect::new(0, 0, 5, 1)).1, 0, "no room, no track");
        assert_eq!(inside(Rect::new(0, 0, 1, 1)).area(), 0);
    }

    proptest! {
        #[test]
        fn panes_stay_on_the_screen_and_apart(
            columns in 0u16..300, rows in 0u16..120, zoom: bool, which in 0..SCREENS.len(),
        ) {
            let mut state = state(columns, rows);
            state.show(SCREENS[which].id());
            state.here_mut().zoom = zoom;
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
