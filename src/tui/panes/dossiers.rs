//! Screens with two panes, a list and the details of the entry under the cursor. Models and data sets use them.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::listing::{Listing, overflow, split};
use super::{block, message, problem, table};
use crate::action::{Effect, Mouse};
use crate::layout::{compute, inside};
use crate::screen::{Pane, ScreenId};
use crate::state::State;
use crate::theme::Role;
use base::Problem;
use base::text::{fit, pad, printable, wrapped};

pub(crate) struct Dossiers {
    pub id: ScreenId,
    pub list: Pane,
    /// Pane of the details; its title is followed by the entry's name.
    pub page: Pane,
    /// Width of the list in percent if the panes are side by side.
    pub share: u16,
    pub names: fn(&State) -> Vec<String>,
    /// Formats details of the entry under the cursor, wrapped to a width.
    pub lines: fn(&State, usize) -> Vec<Line<'static>>,
}

impl Dossiers {
    pub(crate) fn listed(&self, state: &State) -> Vec<String> {
        let mut names = (self.names)(state);
        names.retain(|name| table::occurs(state.place(self.id), self.list, name));
        names
    }

    pub(crate) fn listing(&self, state: &State) -> Listing {
        Listing { len: self.listed(state).len(), cursor: state.place(self.id).scrolled(self.list) }
    }

    pub(crate) fn under_cursor(&self, state: &State) -> Option<String> {
        let mut names = self.listed(state);
        let at = state.place(self.id).scrolled(self.list).min(names.len().checked_sub(1)?);
        Some(names.swap_remove(at))
    }

    pub(crate) fn layout(&self, state: &State, body: Rect) -> Vec<(Pane, Rect)> {
        let (list, page) = split(body, self.listed(state).len(), self.share);
        vec![(self.list, list), (self.page, page)]
    }

    pub(crate) fn travel(&self, state: &mut State, pane: Pane, by: i64) {
        if pane == self.list {
            let len = self.listed(state).len();
            state.place_mut(self.id).travel(self.list, by, len);
            self.show_from_top(state);
        } else {
            let pane = compute(state).and_then(|layout| layout.pane(self.page));
            let lines = pane.map_or(0, |pane| overflow(pane, |width| (self.lines)(state, width).len()));
            state.place_mut(self.id).travel(self.page, by, lines + 1);
        }
    }

    pub(crate) fn press(&self, state: &mut State, pane: Pane, area: Rect, mouse: Mouse) -> Vec<Effect> {
        if let Some(row) = self.listing(state).at(area, mouse.x, mouse.y).filter(|_| pane == self.list) {
            self.go_to(state, row);
        }
        Vec::new()
    }

    /// Puts the cursor on an entry, if it is in the list.
    pub(crate) fn show(&self, state: &mut State, name: &str) {
        state.place_mut(self.id).listed.remove(&self.list);
        match self.listed(state).iter().position(|n| n == name) {
            Some(row) => self.go_to(state, row),
            None => self.show_from_top(state),
        }
    }

    fn go_to(&self, state: &mut State, row: usize) {
        state.place_mut(self.id).scroll.insert(self.list, row);
        self.show_from_top(state);
    }

    pub(crate) fn show_from_top(&self, state: &mut State) {
        state.place_mut(self.id).scroll.remove(&self.page);
    }

    /// Draws the details, the reason why there are none, or the questions that can be asked.
    pub(crate) fn draw_page(
        &self,
        frame: &mut Frame,
        area: Rect,
        state: &State,
        failed: Option<&Problem>,
        invitation: impl FnOnce() -> String,
    ) {
        let kind = self.page.0;
        let title = self.under_cursor(state).map_or(kind.to_owned(), |name| format!("{kind}: {name}"));
        let title = fit(&printable(&title), usize::from(area.width.saturating_sub(6))).into_owned();
        frame.render_widget(block(state, &title, state.focused(self.page)), area);
        let inner = inside(area);
        if let Some(failed) = failed {
            return problem(frame, inner, failed, state);
        }
        let lines = (self.lines)(state, inner.width.into());
        if lines.is_empty() {
            return message(frame, inner, &invitation(), state.theme().style(Role::Dim));
        }
        let last = lines.len().saturating_sub(inner.height.into());
        let from = state.place(self.id).scrolled(self.page).min(last).min(usize::from(u16::MAX));
        frame.render_widget(Paragraph::new(lines).scroll((from as u16, 0)), inner);
    }
}

/// Formats a key and its value as lines of `room` cells: the key in the first `columns` cells, the value wrapped beside it.
pub fn pair(state: &State, key: &str, value: &str, columns: usize, room: usize, role: Role) -> Vec<Line<'static>> {
    let theme = state.theme();
    let parts = wrapped(value, room.saturating_sub(columns)).into_iter().enumerate();
    let line = |(i, part): (usize, String)| {
        let key = if i == 0 { pad(&printable(key), columns) } else { " ".repeat(columns) };
        Line::from(vec![Span::styled(key, theme.style(Role::Dim)), Span::styled(part, theme.style(role))])
    };
    parts.map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::action::MouseKind;
    use crate::screens::SCREENS;
    use crate::state::Start;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    const LIST: Pane = Pane("Models");
    const PAGE: Pane = Pane("Model");

    fn dossiers(lines: fn(&State, usize) -> Vec<Line<'static>>) -> (Dossiers, State) {
        let names = |_: &State| ["a", "b", "c"].map(String::from).to_vec();
        let id = ScreenId("models");
        let mut state = State::new(Start::new());
        assert!(SCREENS.iter().any(|s| s.id() == id && s.panes() == [LIST, PAGE]));
        state.show(id);
        (Dossiers { id, list: LIST, page: PAGE, share: 50, names, lines }, state)
    }

    fn long(_: &State, _: usize) -> Vec<Line<'static>> {
        (0..100).map(|i| Line::raw(format!("line {i}"))).collect()
    }

    fn drawn(of: &Dossiers, state: &State, failed: Option<&Problem>) -> String {
        let mut terminal = Terminal::new(TestBackend::new(30, 8)).unwrap();
        terminal.draw(|frame| of.draw_page(frame, frame.area(), state, failed, || "ask away".into())).unwrap();
        terminal.backend().to_string()
    }

    #[test]
    fn other_entry_shows_its_page_from_the_top() {
        let (of, mut state) = dossiers(long);
        for go in [
            |of: &Dossiers, state: &mut State| of.travel(state, LIST, 1),
            |of: &Dossiers, state: &mut State| of.show(state, "c"),
            |of: &Dossiers, state: &mut State| {
                let mouse = Mouse { kind: MouseKind::Press, x: 5, y: 4 };
                of.press(state, LIST, Rect::new(0, 1, 40, 20), mouse);
            },
        ] {
            let before = of.under_cursor(&state);
            of.travel(&mut state, PAGE, 5);
            assert_eq!(state.place(of.id).scrolled(PAGE), 5);
            go(&of, &mut state);
            assert_ne!(of.under_cursor(&state), before);
            assert_eq!(state.place(of.id).scrolled(PAGE), 0);
        }
    }

    #[test]
    fn page_scrolls_to_its_last_line() {
        let (of, mut state) = dossiers(long);
        of.travel(&mut state, PAGE, 1_000);
        let pane = compute(&state).unwrap().pane(PAGE).unwrap();
        assert_eq!(state.place(of.id).scrolled(PAGE), 100 - usize::from(inside(pane).height));
        of.travel(&mut state, PAGE, -1_000);
        assert_eq!(state.place(of.id).scrolled(PAGE), 0);
        let (empty, mut state) = dossiers(|_, _| Vec::new());
        empty.travel(&mut state, PAGE, 5);
        assert_eq!(state.place(empty.id).scrolled(PAGE), 0, "an empty page does not scroll");
    }

    #[test]
    fn click_outside_list_keeps_the_cursor() {
        let (of, mut state) = dossiers(long);
        let area = Rect::new(0, 1, 40, 20);
        for (pane, y) in [(PAGE, 4), (LIST, 15), (LIST, 1), (LIST, 2)] {
            of.press(&mut state, pane, area, Mouse { kind: MouseKind::Press, x: 5, y });
            assert_eq!(of.under_cursor(&state).as_deref(), Some("a"), "row {y}");
        }
    }

    #[test]
    fn cursor_past_a_shrunk_list_is_on_the_last_entry() {
        let (of, mut state) = dossiers(long);
        state.place_mut(of.id).scroll.insert(LIST, 99);
        assert_eq!(of.under_cursor(&state).as_deref(), Some("c"));
        let none = Dossiers { names: |_| Vec::new(), ..of };
        assert_eq!(none.under_cursor(&state), None);
        none.travel(&mut state, LIST, 1);
        assert_eq!(none.listing(&state).len, 0);
    }

    #[test]
    fn page_shows_failure_details_or_possible_questions() {
        let (of, mut state) = dossiers(long);
        let text = drawn(&of, &state, None);
        assert!(text.contains("Model: a") && text.contains("line 0") && !text.contains("ask away"), "{text}");
        let told = Problem { what: "no \u{1b}file".into(), r#where: "/x".into(), hint: "look".into() };
        let text = drawn(&of, &state, Some(&told));
        assert!(text.contains("no ␛file") && text.contains("look") && !text.contains("line 0"), "{text}");
        state.place_mut(of.id).scroll.insert(PAGE, usize::MAX);
        assert!(drawn(&of, &state, None).contains("line 99"), "the last lines are visible");
        let (empty, state) = dossiers(|_, _| Vec::new());
        assert!(drawn(&empty, &state, None).contains("ask away"));
    }
}
