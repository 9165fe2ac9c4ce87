//! The view, which borrows the state and draws it, with the borders and messages that all panes share.

pub mod dossiers;
pub(crate) mod heads;
pub mod listing;
pub mod table;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Alignment, Rect};
use ratatui::style::Style;
use ratatui::symbols::border;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, BorderType, Paragraph, Wrap};

use super::layout::{SMALLEST, compute};
use super::screen::Pane;
use super::state::{Glyphs, State};
use super::theme::Role;
use super::{answer, bars, popups, setup, status};
use base::Problem;
use base::text::{fit, printable, width as text_width};

pub fn draw(frame: &mut Frame, state: &State) {
    let area = frame.area();
    if (area.width, area.height) != state.view.size {
        return;
    }
    state.frame.during(|| draw_all(frame, state));
    if state.view.glyphs == Glyphs::Ascii {
        only_ascii(frame.buffer_mut());
    }
}

fn draw_all(frame: &mut Frame, state: &State) {
    let Some(layout) = compute(state) else { return too_small(frame, state) };
    bars::title(frame, layout.title, state);
    if let Some(area) = layout.question {
        answer::question(frame, area, state);
    }
    if let Some(area) = layout.answer {
        answer::draw(frame, area, state);
    }
    if let Some(area) = layout.welcome {
        answer::welcome(frame, area, state);
    }
    if let Some(tabs) = layout.tabs {
        bars::tabs(frame, tabs, state);
    }
    for (pane, rect) in &layout.panes {
        match state.screen().setup() {
            Some(of) if *pane == setup::PANE => setup::draw(frame, *rect, state, of),
            _ => state.screen().draw(*pane, frame, *rect, state),
        }
    }
    status::about(frame, layout.about, state);
    status::draw(frame, layout.status, state);
    popups::draw(frame, layout.under_title(), state);
    status::message(frame, &layout, state);
}

/// Replaces characters that a terminal without Unicode cannot show, cell by cell.
fn only_ascii(buffer: &mut Buffer) {
    for cell in &mut buffer.content {
        if !cell.symbol().is_ascii() {
            let columns = text_width(cell.symbol()).max(1);
            let c = cell.symbol().chars().next().map_or(' ', Glyphs::in_ascii);
            // The terminal skips the cell after a wide character, so the replacement covers both cells.
            cell.set_symbol(&c.to_string().repeat(columns));
        }
    }
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

/// The border of a pane. If several panes share a slot, their names are on it and the title goes below.
pub(crate) fn pane_block(state: &State, pane: Pane, title: &str) -> Block<'static> {
    let focused = state.focused(pane);
    let Some(slot) = several(state, pane) else { return block(state, title, focused) };
    let width = compute(state).and_then(|layout| layout.pane(pane)).map_or(0, |rect| rect.width);
    let theme = state.theme();
    let mark = if focused { "»" } else { "" };
    let spans = tabs(&slot, pane, width).into_iter().map(|(name, here)| {
        let role = match (here, focused) {
            (true, true) => Role::Focus,
            (true, false) => Role::Title,
            (false, _) => Role::Dim,
        };
        let text = if here { format!(" {mark}[{name}]") } else { format!(" {name} ") };
        Span::styled(text, theme.style(role))
    });
    // A border that is too narrow would cut the start of a caption on the right.
    let room = usize::from(width).saturating_sub(4);
    let style = theme.style(Role::Dim);
    let caption = Line::styled(format!(" {} ", fit(&printable(title), room)), style).right_aligned();
    border(state, focused).title(Line::from(spans.collect::<Vec<_>>())).title_bottom(caption)
}

/// The panes in a pane's slot that have contents, if several share the slot.
fn several(state: &State, pane: Pane) -> Option<Vec<Pane>> {
    let slots = state.screen().slots();
    slots.iter().find(|slot| slot.len() > 1 && slot.contains(&pane)).map(|slot| state.offered(slot))
}

/// The names of a slot's panes that fit on the border: all, or those around the visible pane. The flag is true for the visible one.
fn tabs(slot: &[Pane], here: Pane, width: u16) -> Vec<(&'static str, bool)> {
    let at = slot.iter().position(|pane| *pane == here).unwrap_or(0);
    let room = usize::from(width).saturating_sub(6);
    let columns =
        |range: &std::ops::Range<usize>| slot[range.clone()].iter().map(|p| text_width(p.0) + 2).sum::<usize>();
    let mut range = at..at + 1;
    loop {
        let mut grown = range.clone();
        grown.end = (grown.end + 1).min(slot.len());
        if columns(&grown) > room || grown == range {
            grown = range.start.saturating_sub(1)..range.end;
        }
        if grown == range || columns(&grown) > room {
            break;
        }
        range = grown;
    }
    let mut names: Vec<(&'static str, bool)> = slot[range.clone()].iter().map(|p| (p.0, *p == here)).collect();
    if range.start > 0 {
        names.insert(0, ("…", false));
    }
    if range.end < slot.len() {
        names.push(("…", false));
    }
    names
}

/// The pane whose name is at a column of a visible pane's border.
pub(crate) fn tab_at(state: &State, pane: Pane, rect: Rect, x: u16) -> Option<Pane> {
    let slot = several(state, pane)?;
    let mark = usize::from(state.focused(pane));
    let mut start = usize::from(rect.x) + 1;
    let hit = tabs(&slot, pane, rect.width).into_iter().find(|(name, here)| {
        let span = start..start + text_width(name) + 2 + if *here { mark + 1 } else { 0 };
        start = span.end;
        span.contains(&usize::from(x))
    });
    slot.iter().copied().find(|pane| hit.is_some_and(|(name, _)| pane.0 == name))
}

/// A border with a title; a focused pane has a heavier border and a mark, so that colour is not needed.
pub fn block(state: &State, title: &str, focused: bool) -> Block<'static> {
    let role = if focused { Role::Focus } else { Role::Title };
    let mark = if focused { "» " } else { "" };
    let title = Span::styled(format!(" {mark}{} ", printable(title)), state.theme().style(role));
    border(state, focused).title(title)
}

fn border(state: &State, focused: bool) -> Block<'static> {
    let role = if focused { Role::Focus } else { Role::Border };
    let block = Block::bordered().border_style(state.theme().style(role));
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

/// What an empty pane waits for while a run is in progress, and otherwise why it is empty.
pub(crate) fn awaited<'a>(state: &State, waits_for: &'a str, otherwise: &'a str) -> &'a str {
    if state.busy() { waits_for } else { otherwise }
}

pub fn message(frame: &mut Frame, area: Rect, text: &str, style: Style) {
    let columns = usize::from(area.width.max(1));
    let rows = printable(text).lines().map(|l| text_width(l).div_ceil(columns).max(1)).sum::<usize>() as u16;
    let top = area.height.saturating_sub(rows) / 2;
    let area = Rect { y: area.y + top, height: area.height - top, ..area };
    let lines: Vec<Line> = text.split('\n').map(|l| Line::from(printable(l).into_owned())).collect();
    let text = Paragraph::new(lines).style(style).alignment(Alignment::Center).wrap(Wrap { trim: true });
    frame.render_widget(text, area);
}

/// Draws the problem of a pane's failed question: what failed, where, and a remedy.
pub fn problem(frame: &mut Frame, area: Rect, problem: &Problem, state: &State) {
    let theme = state.theme();
    let line = |text: &str, role| Line::styled(printable(&state.in_labels(text)).into_owned(), theme.style(role));
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
    fn small_terminal_shows_required_size_and_quit_key() {
        let state = state(39, 9);
        let text = drawn((39, 9), |frame| draw(frame, &state));
        for part in ["40×10", "39×9", "q"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn resize_in_progress_draws_nothing() {
        let state = state(120, 40);
        let text = drawn((60, 20), |frame| draw(frame, &state));
        assert!(!text.contains("Probity"), "{text}");
    }

    #[test]
    fn focused_pane_is_recognisable_without_colour() {
        let mut state = state(80, 24);
        for glyphs in [Glyphs::Braille, Glyphs::Blocks, Glyphs::Ascii] {
            state.view.glyphs = glyphs;
            let of =
                |focused| drawn((20, 4), |frame| frame.render_widget(block(&state, "title", focused), frame.area()));
            let (on, off) = (of(true), of(false));
            assert!(on.contains("» title") && !off.contains('»'));
            let border = |text: &str| text.lines().next().and_then(|l| l.chars().find(|c| *c != '"'));
            assert_ne!(border(&on), border(&off), "{glyphs:?}");
        }
        assert!(drawn((20, 4), |f| f.render_widget(block(&state, "a\u{1b}b", false), f.area())).contains("a␛b"));
    }

    #[test]
    fn messages_are_centred_and_stay_in_their_area() {
        let state = state(80, 24);
        let told = Problem { what: "what \u{7}".into(), r#where: "where".into(), hint: "hint".into() };
        let text = drawn((30, 9), |frame| problem(frame, frame.area(), &told, &state));
        let rows: Vec<usize> =
            ["what", "where", "hint"].iter().map(|part| text.lines().position(|l| l.contains(part)).unwrap()).collect();
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
