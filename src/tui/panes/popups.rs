//! What lies on top of the panes: help, palette, pickers, provenance, notices, the question before quitting.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph};

use super::block;
use crate::base::text::{fit, pad, printable, width};
use crate::engine::message::NoticeLevel;
use crate::tui::commands::{CommandId, entry};
use crate::tui::layout::{inside, scrolled};
use crate::tui::search::{HelpLine, help, palette};
use crate::tui::state::{Popup, QUIT_CHOICES, State};
use crate::tui::theme::Role;

/// Columns of the keys in the help.
const KEYS: usize = 17;

/// Draws the popup, if there is one.
pub fn draw(frame: &mut Frame, area: Rect, state: &State) {
    let Some(popup) = &state.view.popup else { return };
    let Content { title, lines, first } = content(state, popup, area);
    let widest = lines.iter().map(Line::width).max().unwrap_or(0).max(width(&title) + 6).max(30);
    let popup = centred(area, widest as u16 + 4, lines.len() as u16 + 2);
    frame.render_widget(Clear, popup);
    frame.render_widget(block(state, &fit(&title, usize::from(popup.width.saturating_sub(6))), true), popup);
    let inner = inside(popup);
    let inner = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner };
    frame.render_widget(Paragraph::new(lines.into_iter().skip(first).collect::<Vec<_>>()), inner);
}

/// What a popup shows, and the first line that is in sight.
struct Content {
    title: String,
    lines: Vec<Line<'static>>,
    first: usize,
}

fn content(state: &State, popup: &Popup, area: Rect) -> Content {
    let (title, lines) = match popup {
        Popup::Help { query, .. } => (format!("Help: {query}_"), help_text(state, query, area)),
        Popup::Palette { query, selected } => {
            (format!("Command: {query}_"), palette_text(state, query, *selected))
        }
        Popup::Methods { selected } => {
            ("Methods: Enter draws, space lets run".into(), methods_text(state, *selected))
        }
        Popup::Provenance { .. } => ("Where this comes from".into(), provenance_text(state)),
        Popup::Notices { .. } => ("Notices, newest first".into(), notices_text(state, area)),
        Popup::Quit { selected } => ("A run is in progress".into(), quit_text(state, *selected)),
    };
    let height = rows_in(area, lines.len());
    let first = match popup {
        Popup::Help { scroll, .. } | Popup::Provenance { scroll } | Popup::Notices { scroll } => {
            (*scroll).min(lines.len() - height)
        }
        Popup::Palette { selected, .. } | Popup::Methods { selected } | Popup::Quit { selected } => {
            scrolled(*selected, lines.len(), height)
        }
    };
    Content { title, lines, first }
}

/// Lines that can be scrolled away before the last one of the popup is in sight.
pub fn overflow(state: &State, area: Rect) -> usize {
    let Some(popup) = &state.view.popup else { return 0 };
    let lines = content(state, popup, area).lines.len();
    lines - rows_in(area, lines)
}

fn rows_in(area: Rect, lines: usize) -> usize {
    lines.min(usize::from(area.height.saturating_sub(2)))
}

fn centred(area: Rect, columns: u16, rows: u16) -> Rect {
    let (columns, rows) = (columns.min(area.width), rows.min(area.height).max(3.min(area.height)));
    let (x, y) = ((area.width - columns) / 2, (area.height - rows) / 3);
    Rect { x: area.x + x, y: area.y + y, width: columns, height: rows }
}

fn mark(state: &State, here: bool) -> String {
    format!("{} ", state.view.glyphs.cursor(here))
}

fn help_text(state: &State, query: &str, area: Rect) -> Vec<Line<'static>> {
    let theme = state.theme();
    let found = help(&state.keymap, query);
    if found.is_empty() {
        return vec![Line::styled("no command matches", theme.style(Role::Dim))];
    }
    let room = usize::from(area.width.saturating_sub(4)).saturating_sub(KEYS);
    let mut lines = Vec::new();
    for line in found {
        match line {
            HelpLine::Heading(context) => lines.push(Line::styled(context.title(), theme.style(Role::Title))),
            HelpLine::Command(id) => {
                let mut keys = format!("  {}", state.keymap.label(id));
                for part in wrap(entry(id).doc.trim(), room) {
                    lines.push(Line::from(vec![
                        Span::styled(pad(&std::mem::take(&mut keys), KEYS), theme.style(Role::Key)),
                        Span::styled(part, theme.style(Role::Text)),
                    ]));
                }
            }
        }
    }
    lines
}

fn palette_text(state: &State, query: &str, selected: usize) -> Vec<Line<'static>> {
    let theme = state.theme();
    let found = palette(state, query);
    if found.is_empty() {
        return vec![Line::styled("no command matches", theme.style(Role::Dim))];
    }
    let line = |(i, id): (usize, &CommandId)| {
        let role = if i == selected { Role::Selection } else { Role::Text };
        Line::from(vec![
            Span::styled(
                format!("{}{}", mark(state, i == selected), pad(entry(*id).name, 20)),
                theme.style(role),
            ),
            Span::styled(pad(entry(*id).title, 22), theme.style(role)),
            Span::styled(state.keymap.label(*id), theme.style(Role::Key)),
        ])
    };
    found.iter().enumerate().map(line).collect()
}

fn methods_text(state: &State, selected: usize) -> Vec<Line<'static>> {
    let theme = state.theme();
    let line = |(i, method): (usize, &crate::tui::catalog::MethodEntry)| {
        let runs = state.spec.methods.iter().any(|m| m.name == method.id);
        let sign = state.view.glyphs.check(runs);
        let role = if i == selected { Role::Selection } else { Role::Text };
        let name = format!("{}{sign} {}", mark(state, i == selected), pad(&printable(&method.title), 14));
        Line::from(vec![
            Span::styled(name, theme.style(role)),
            Span::styled(pad(&printable(&method.goal), 16), theme.style(Role::Dim)),
            Span::styled(printable(&method.doc).into_owned(), theme.style(Role::Dim)),
        ])
    };
    state.catalog.methods.iter().enumerate().map(line).collect()
}

fn provenance_text(state: &State) -> Vec<Line<'static>> {
    let theme = state.theme();
    let Some(origin) = state.focused_origin() else {
        return vec![Line::styled("nothing has been measured yet", theme.style(Role::Dim))];
    };
    let mut lines =
        vec![Line::styled(printable(&origin.what).into_owned(), theme.style(Role::Title)), Line::default()];
    for (key, value) in &origin.entries {
        lines.push(Line::from(vec![
            Span::styled(pad(&printable(key), 16), theme.style(Role::Dim)),
            Span::styled(printable(value).into_owned(), theme.style(Role::Value)),
        ]));
    }
    lines.push(Line::default());
    let copy = state.keymap.label(CommandId::PopupCopy);
    lines.push(Line::styled(format!("again, from the shell ({copy} copies):"), theme.style(Role::Dim)));
    lines.extend(
        origin.command.lines().map(|l| Line::styled(printable(l).into_owned(), theme.style(Role::Text))),
    );
    lines
}

fn notices_text(state: &State, area: Rect) -> Vec<Line<'static>> {
    let theme = state.theme();
    let notices = state.notices();
    if notices.is_empty() {
        return vec![Line::styled("nothing to report", theme.style(Role::Dim))];
    }
    let room = usize::from(area.width.saturating_sub(4));
    let line = |notice: &&crate::engine::message::Notice| {
        let (sign, role) = match notice.level {
            NoticeLevel::Info => ("i", Role::Text),
            NoticeLevel::Warning => ("!", Role::Warning),
            NoticeLevel::Error => (state.view.glyphs.cross(), Role::Error),
        };
        let text = format!("{sign} {}", printable(&notice.problem.to_string()));
        wrap(&text, room).into_iter().map(move |l| Line::styled(l, theme.style(role)))
    };
    notices.iter().rev().flat_map(line).collect()
}

/// A text in lines of at most so many columns, broken at spaces where there are any.
fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.len() - 1;
        let gap = usize::from(!lines[last].is_empty());
        if width(&lines[last]) + gap + width(word) <= columns {
            if gap == 1 {
                lines[last].push(' ');
            }
            lines[last].push_str(word);
        } else {
            lines.push(format!("  {}", fit(word, columns.saturating_sub(2))));
        }
    }
    lines
}

fn quit_text(state: &State, selected: usize) -> Vec<Line<'static>> {
    let line = |(i, choice): (usize, &&str)| {
        let role = if i == selected { Role::Selection } else { Role::Text };
        Line::styled(format!("{}{choice}", mark(state, i == selected)), state.theme().style(role))
    };
    QUIT_CHOICES.iter().enumerate().map(line).collect()
}
