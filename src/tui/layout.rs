//! Screen layout as a pure function of the state, so that drawing and mouse handling always agree.
//!
//! ```text
//! wide                                        folded
//! ┌ title ─────────────────────────────────┐  ┌ title ──────────┐
//! │ question                                │  │ question        │
//! ├ answer ────────────────────────────────┤  │ answer, doubt   │
//! │ settings │ figure                       │  │ tabs            │
//! │ list     │ detail                       │  │ the focused pane│
//! ├ about ─────────────────────────────────┤  ├ about ──────────┤
//! └ status ────────────────────────────────┘  └ status ─────────┘
//! ```
//!
//! A screen has slots, each with one or more panes as tabs.

use ratatui::layout::{Constraint, Layout as Split, Rect};

use super::answer;
use super::screen::Pane;
use super::setup;
use super::state::{Opening, State};
use labs::LABS;

/// Minimum size in which panes are drawn, in columns and rows.
pub(crate) const SMALLEST: (u16, u16) = (40, 10);
/// Minimum size that shows all slots at once, in columns and rows.
const WIDE: (u16, u16) = (100, 32);
/// Minimum height of a small screen, in rows, that shows the answer or the first start's strip.
const LOW: u16 = 16;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    pub title: Rect,
    pub question: Option<Rect>,
    pub answer: Option<Rect>,
    pub welcome: Option<Rect>,
    /// Tabs of the slots on a small screen.
    pub tabs: Option<Rect>,
    /// The area between the lines at the top and at the bottom.
    pub body: Rect,
    pub panes: Vec<(Pane, Rect)>,
    /// Status line: entry under the cursor, messages, text fields.
    pub about: Rect,
    pub status: Rect,
}

/// True if slots become tabs: on a small screen, or when a pane is zoomed.
pub(crate) fn is_small(state: &State) -> bool {
    let (columns, rows) = state.view.size;
    columns < WIDE.0 || rows < WIDE.1
}

/// Computes the layout; `None` if the screen is too small.
pub fn compute(state: &State) -> Option<Layout> {
    Option::clone(&state.frame.once("layout", || divided(state)))
}

fn divided(state: &State) -> Option<Layout> {
    let (columns, rows) = state.view.size;
    if columns < SMALLEST.0 || rows < SMALLEST.1 {
        return None;
    }
    let shown = state.screen();
    let is_lab = shown.setup().is_some();
    let form = is_lab && state.here().form;
    let tabbed = !form && shown.folds() && (is_small(state) || state.here().zoom);
    let question = if is_lab { answer::question_rows(state, columns) } else { 0 };
    let answer_rows = match (is_lab, is_small(state)) {
        (false, _) => 0,
        // A zoomed pane on a small screen also takes the rows of the answer.
        (true, true) if state.here().zoom => 0,
        (true, false) => answer::lines(state).len() as u16 + 2,
        (true, true) if rows < LOW => 0,
        (true, true) => answer::lines(state).len() as u16,
    };
    let is_opening_lab = shown.setup().is_some_and(|setup| setup.lab() == LABS[0].id());
    let welcome = u16::from(is_opening_lab && state.view.opening == Opening::First && !form) * WELCOME;
    let [title, welcome, asked, answer, tabs, body, about, status] = Split::vertical([
        Constraint::Length(1),
        Constraint::Length(if rows < LOW { 0 } else { welcome }),
        Constraint::Length(question),
        Constraint::Length(answer_rows),
        Constraint::Length(u16::from(tabbed)),
        Constraint::Fill(1),
        Constraint::Length(if rows >= 24 { 2 } else { 1 }),
        Constraint::Length(1),
    ])
    .areas(Rect::new(0, 0, columns, rows));
    let panes = match (form, tabbed) {
        (true, _) => vec![(setup::PANE, body)],
        (false, true) => vec![(state.here().focus, body)],
        (false, false) => shown.layout(state, body),
    };
    Some(Layout {
        title,
        question: is_lab.then_some(asked),
        answer: (answer_rows > 0).then_some(answer),
        welcome: (welcome.height > 0).then_some(welcome),
        tabs: tabbed.then_some(tabs),
        body,
        panes,
        about,
        status,
    })
}

/// Places the panes of a lab: settings above the list on the left, the figure above the detail on the right. On a wide screen, the detail
/// has a separate column.
pub(crate) fn lab_panes(state: &State, body: Rect) -> Vec<(Pane, Rect)> {
    let screen = state.screen();
    let (Some(of), [settings, list, figure, detail]) = (screen.setup(), screen.slots()) else {
        return Vec::new();
    };
    let side = if body.width >= 150 { 44 } else { SIDE };
    let wanted = setup::height(state, of) as u16 + 3;
    let [left, right] = Split::horizontal([Constraint::Length(side), Constraint::Fill(1)]).areas(body);
    let rows = wanted.min(body.height * 3 / 5);
    let [a, b] = Split::vertical([Constraint::Length(rows), Constraint::Fill(1)]).areas(left);
    let [c, d] = if body.width >= 150 {
        Split::horizontal([Constraint::Fill(3), Constraint::Fill(2)]).areas(right)
    } else {
        Split::vertical([Constraint::Fill(screen.figure_share()), Constraint::Fill(2)]).areas(right)
    };
    let place = state.here();
    [(settings, a), (list, b), (figure, c), (detail, d)].map(|(slot, rect)| (place.shown(slot), rect)).to_vec()
}

const WELCOME: u16 = 3;
const SIDE: u16 = 43;

impl Layout {
    /// The area between the title and the lines at the bottom.
    pub(crate) fn under_title(&self) -> Rect {
        let top = self.title.bottom();
        Rect { y: top, height: self.about.y.saturating_sub(top), ..self.body }
    }

    pub fn pane(&self, pane: Pane) -> Option<Rect> {
        self.panes.iter().find(|(p, _)| *p == pane).map(|(_, rect)| *rect)
    }

    pub(crate) fn pane_at(&self, x: u16, y: u16) -> Option<(Pane, Rect)> {
        self.panes.iter().copied().find(|(_, rect)| rect.contains((x, y).into()))
    }
}

pub fn inside(pane: Rect) -> Rect {
    Rect { x: pane.x + 1, y: pane.y + 1, width: pane.width.saturating_sub(2), height: pane.height.saturating_sub(2) }
}

/// Width of a setting's label, in columns.
pub const LABEL: u16 = 19;
/// Width of the value beside a slider, in columns.
pub(crate) const VALUE: u16 = 8;
pub(crate) const FORM: u16 = 46;

/// The first column and the length of a slider's track, on a line of the pane or the form.
pub fn track(line: Rect, form: bool) -> (u16, u16) {
    let columns = if form { line.width.min(FORM) } else { line.width };
    (line.x + LABEL, columns.saturating_sub(LABEL + VALUE + 1))
}

/// Number of list rows scrolled off the top to keep the cursor visible.
pub fn scrolled(cursor: usize, rows: usize, height: usize) -> usize {
    if height == 0 || rows <= height {
        return 0;
    }
    // Keeps the cursor in the middle, except near the ends.
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
    fn wide_screen_shows_panes_and_small_screen_tabs() {
        for screen in SCREENS {
            let mut wide = state(120, 40);
            wide.show(screen.id());
            let layout = compute(&wide).unwrap();
            assert_eq!(layout.panes.len(), screen.slots().len(), "{}", screen.title());
            let in_sight = |slot: &&[Pane]| slot.iter().any(|p| layout.pane(*p).is_some());
            assert!(screen.slots().iter().all(in_sight), "{}", screen.title());
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
    fn layout_fills_the_screen() {
        for (columns, rows) in [(120, 40), (80, 24), (40, 10)] {
            let layout = compute(&state(columns, rows)).unwrap();
            assert_eq!((layout.title.y, layout.under_title().y), (0, 1));
            assert_eq!((layout.about.bottom(), layout.status.y), (rows - 1, rows - 1));
            assert_eq!(layout.under_title().bottom(), layout.about.y);
        }
    }

    #[test]
    fn pane_at_a_cell_is_the_one_that_covers_it() {
        let layout = compute(&state(120, 40)).unwrap();
        for (pane, rect) in &layout.panes {
            assert_eq!(layout.pane_at(rect.x, rect.y), Some((*pane, *rect)));
            assert_eq!(layout.pane_at(rect.right() - 1, rect.bottom() - 1), Some((*pane, *rect)));
        }
        assert_eq!(layout.pane_at(0, 0), None, "the title is not a pane");
    }

    #[test]
    fn slider_track_leaves_room_for_label_and_value() {
        let line = Rect::new(3, 2, 29, 1);
        assert_eq!(track(line, false), (3 + LABEL, 29 - LABEL - VALUE - 1));
        assert_eq!(track(Rect::new(0, 0, 120, 1), true).1, FORM - LABEL - VALUE - 1);
        assert_eq!(track(Rect::new(0, 0, 5, 1), false).1, 0, "without room there is no track");
        assert_eq!(inside(Rect::new(0, 0, 1, 1)).area(), 0);
    }

    proptest! {
        #[test]
        fn panes_do_not_overlap_or_leave_the_screen(
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
        fn cursor_stays_visible(cursor in 0usize..50, rows in 1usize..50, height in 1usize..30) {
            let cursor = cursor.min(rows - 1);
            let first = scrolled(cursor, rows, height);
            prop_assert!(first <= cursor && cursor < first + height);
        }
    }
}
