//! The view: borrows the state and draws it. The borders, messages and lists shared by all panes are here too.

pub mod dossiers;
pub mod listing;

use ratatui::Frame;
use ratatui::layout::{Alignment, Rect};
use ratatui::style::Style;
use ratatui::symbols::border;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, BorderType, Paragraph, Wrap};

use super::layout::{SMALLEST, compute};
use super::screen::Pane;
use super::state::{Glyphs, State};
use super::theme::Role;
use super::{bars, popups, setup};
use base::Problem;
use base::text::{printable, width};

/// Draws the whole screen.
pub fn draw(frame: &mut Frame, state: &State) {
    let area = frame.area();
    if (area.width, area.height) != state.view.size {
        // A resize is under way; the next frame will know the size.
        return;
    }
    let Some(layout) = compute(state) else { return too_small(frame, state) };
    bars::title(frame, layout.title, state);
    if let Some(tabs) = layout.tabs {
        bars::tabs(frame, tabs, state);
    }
    for (pane, rect) in &layout.panes {
        match state.screen().setup() {
            Some(of) if *pane == setup::PANE => setup::draw(frame, *rect, state, of),
            _ => state.screen().draw(*pane, frame, *rect, state),
        }
    }
    bars::progress(frame, layout.progress, state);
    bars::footer(frame, layout.footer, state);
    popups::draw(frame, layout.under_title(), state);
    bars::toast(frame, &layout, state);
}

fn too_small(frame: &mut Frame, state: &State) {
    let (columns, rows) = state.view.size;
    let text = format!(
        "Probity needs {}×{}. This terminal is {columns}×{rows}: enlarge it, or press {} to quit.",
        SMALLEST.0,
        SMALLEST.1,
        state.keymap.label("quit")
    );
    let style = state.theme().style(Role::Text);
    frame.render_widget(Paragraph::new(text).style(style).wrap(Wrap { trim: true }), frame.area());
}

/// The border of a pane of the screen.
pub(crate) fn pane_block(state: &State, pane: Pane, title: &str) -> Block<'static> {
    block(state, title, state.focused(pane))
}

/// A border with a title. A focused pane differs by the weight of its border and by a mark, not by colour alone.
pub fn block(state: &State, title: &str, focused: bool) -> Block<'static> {
    let role = if focused { Role::Focus } else { Role::Border };
    let style = state.theme().style(role);
    let mark = if focused { "» " } else { "" };
    let title_style = if focused { style } else { state.theme().style(Role::Title) };
    let title = Span::styled(format!(" {mark}{} ", printable(title)), title_style);
    let block = Block::bordered().border_style(style).title(title);
    match (state.view.glyphs, focused) {
        (Glyphs::Ascii, true) => block.border_set(ASCII_FOCUS),
        (Glyphs::Ascii, false) => block.border_set(ASCII),
        (_, true) => block.border_type(BorderType::Thick),
        (_, false) => block.border_type(BorderType::Plain),
    }
}

const ASCII: border::Set = border::Set {
    top_left: "+",
    top_right: "+",
    bottom_left: "+",
    bottom_right: "+",
    vertical_left: "|",
    vertical_right: "|",
    horizontal_top: "-",
    horizontal_bottom: "-",
};

const ASCII_FOCUS: border::Set = border::Set {
    top_left: "#",
    top_right: "#",
    bottom_left: "#",
    bottom_right: "#",
    vertical_left: "#",
    vertical_right: "#",
    horizontal_top: "=",
    horizontal_bottom: "=",
};

/// A message in the middle of an empty pane.
pub fn message(frame: &mut Frame, area: Rect, text: &str, style: Style) {
    let columns = usize::from(area.width.max(1));
    let rows = printable(text).lines().map(|l| width(l).div_ceil(columns).max(1)).sum::<usize>() as u16;
    let top = area.height.saturating_sub(rows) / 2;
    let area = Rect { y: area.y + top, height: area.height - top, ..area };
    let lines: Vec<Line> = text.split('\n').map(|l| Line::from(printable(l).into_owned())).collect();
    let text = Paragraph::new(lines).style(style).alignment(Alignment::Center).wrap(Wrap { trim: true });
    frame.render_widget(text, area);
}

/// A problem in the pane that asked: what failed, on what, what to do.
pub fn problem(frame: &mut Frame, area: Rect, problem: &Problem, state: &State) {
    let theme = state.theme();
    let line = |text: &str, role| Line::styled(printable(text).into_owned(), theme.style(role));
    let lines = vec![
        line(&format!("{} {}", state.view.glyphs.cross(), problem.what), Role::Error),
        line(&problem.r#where, Role::Dim),
        line(&problem.hint, Role::Text),
    ];
    let top = area.height.saturating_sub(4) / 2;
    let area = Rect { y: area.y + top, height: area.height - top, ..area };
    let text = Paragraph::new(lines).alignment(Alignment::Center).wrap(Wrap { trim: true });
    frame.render_widget(text, area);
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::*;
    use crate::state::Start;

    fn drawn(size: (u16, u16), draw: impl FnOnce(&mut Frame)) -> String {
        let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).unwrap();
        terminal.draw(draw).unwrap();
        terminal.backend().to_string()
    }

    fn state(columns: u16, rows: u16) -> State {
        State::new(Start { size: (columns, rows), ..Start::new() })
    }

    #[test]
    fn a_terminal_that_is_too_small_says_what_it_needs_and_how_to_leave() {
        let state = state(39, 9);
        let text = drawn((39, 9), |frame| draw(frame, &state));
        for part in ["40×10", "39×9", "q"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn nothing_is_drawn_while_a_resize_is_under_way() {
        let state = state(120, 40);
        let text = drawn((60, 20), |frame| draw(frame, &state));
        assert!(!text.contains("Probity"), "{text}");
    }

    #[test]
    fn the_focused_pane_differs_without_colour_in_every_set_of_glyphs() {
        let mut state = state(80, 24);
        for glyphs in [Glyphs::Braille, Glyphs::Blocks, Glyphs::Ascii] {
            state.view.glyphs = glyphs;
            let of = |focused| {
                drawn((20, 4), |frame| frame.render_widget(block(&state, "title", focused), frame.area()))
            };
            let (on, off) = (of(true), of(false));
            assert!(on.contains("» title") && !off.contains('»'));
            let border = |text: &str| text.lines().next().and_then(|l| l.chars().find(|c| *c != '"'));
            assert_ne!(border(&on), border(&off), "{glyphs:?}");
        }
        assert!(
            drawn((20, 4), |f| f.render_widget(block(&state, "a\u{1b}b", false), f.area())).contains("a␛b")
        );
    }

    #[test]
    fn messages_and_problems_stand_in_the_middle_and_stay_within_any_area() {
        let state = state(80, 24);
        let told = Problem { what: "what \u{7}".into(), r#where: "where".into(), hint: "hint".into() };
        let text = drawn((30, 9), |frame| problem(frame, frame.area(), &told, &state));
        let rows: Vec<usize> = ["what", "where", "hint"]
            .iter()
            .map(|part| text.lines().position(|l| l.contains(part)).unwrap())
            .collect();
        assert!(rows[0] >= 2 && rows == [rows[0], rows[0] + 1, rows[0] + 2], "{text}");
        for size in [(1, 1), (3, 1), (2, 9)] {
            drawn(size, |frame| problem(frame, frame.area(), &told, &state));
            drawn(size, |frame| message(frame, frame.area(), &"long ".repeat(50), Style::new()));
        }
        let text = drawn((30, 9), |frame| message(frame, frame.area(), "one\ntwo", Style::new()));
        let at = |word: &str| text.lines().position(|l| l.contains(word)).unwrap();
        assert!((2..=5).contains(&at("one")) && at("two") == at("one") + 1, "{text}");
    }
}
