//! Popups over the panes: help, palette, pages and pickers.

mod diff;
mod export;
mod pages;
mod pickers;
mod presets;

use std::fmt;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph};

pub(crate) use diff::{Compare, Compared, Runs};
pub(crate) use export::{Choice, named, open as export};
pub(crate) use pages::{Answer, Family, Glossary, Notices, Provenance};
pub(crate) use pickers::entries;
pub(crate) use pickers::{Choices, Held, Kept, Overwrite, Quit, SecondRun, Unsaved, WaitingRuns};
pub(crate) use presets::Presets;

use super::action::Effect;
use super::commands::{Context, Entry};
use super::layout::{compute, inside, scrolled};
use super::panes::block;
use super::panes::table::scroll_mark;
use super::search::{HelpLine, glossary, help as help_lines, is_named, palette as palette_entries};
use super::state::{Popup, State};
use super::theme::Role;
use base::text::{fit, pad, width, wrapped};

const KEYS: usize = 18;

pub trait Page: Sync {
    fn name(&self) -> &'static str;

    fn title(&self, state: &State) -> String;

    /// Formats the contents, wrapped to `room` columns where possible.
    fn lines(&self, state: &State, room: usize) -> Vec<Line<'static>>;

    /// The text that `copy` puts on the clipboard.
    fn copy(&self, _state: &State) -> Option<String> {
        None
    }

    /// True if the page lists entries and shows only those that contain [`filter`].
    fn filters(&self) -> bool {
        false
    }

    /// Number of figures, of which the page shows one at a time.
    fn figures(&self, _state: &State) -> usize {
        0
    }
}

/// A popup to choose from, with one line per entry.
pub trait Picker: Sync {
    fn name(&self) -> &'static str;

    fn title(&self, state: &State) -> String;

    /// Formats the entries; `selected` is the one under the cursor.
    fn lines(&self, state: &State, selected: usize) -> Vec<Line<'static>>;

    /// Acts on the chosen entry, after the popup has closed.
    fn take(&self, state: &mut State, entry: usize) -> Vec<Effect>;

    /// The footer's word for choosing an entry.
    fn does(&self, _entry: usize) -> &'static str {
        "ok"
    }

    /// True if the entry has a checkbox that can be toggled now.
    fn marks(&self, _state: &State, _entry: usize) -> bool {
        false
    }

    fn mark(&self, _state: &mut State, _entry: usize) -> Vec<Effect> {
        Vec::new()
    }
}

impl fmt::Debug for dyn Picker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

pub(crate) fn help(state: &mut State) -> Vec<Effect> {
    state.view.popup = Some(Popup::Help { query: String::new(), scroll: 0 });
    Vec::new()
}

pub(crate) fn palette(state: &mut State) -> Vec<Effect> {
    state.view.popup = Some(Popup::Palette { query: String::new(), selected: 0 });
    Vec::new()
}

pub(crate) fn menu(state: &mut State) -> Vec<Effect> {
    state.view.popup = Some(Popup::Menu { selected: 0 });
    Vec::new()
}

pub(crate) fn show(state: &mut State, page: &'static dyn Page) -> Vec<Effect> {
    state.view.popup = Some(Popup::Page { page, scroll: 0, filter: String::new() });
    Vec::new()
}

/// Opens a picker with the cursor on an entry.
pub(crate) fn pick(state: &mut State, picker: &'static dyn Picker, selected: usize) -> Vec<Effect> {
    state.view.popup = Some(Popup::Pick { picker, selected, filter: String::new() });
    Vec::new()
}

/// The number of figures of the open page.
fn figures(state: &State) -> usize {
    if let Some(Popup::Page { page, .. }) = &state.view.popup { page.figures(state) } else { 0 }
}

/// True if the open page has several figures.
pub(crate) fn turns(state: &State) -> bool {
    figures(state) > 1
}

/// Shows the next figure of the open page, or the previous one.
pub(crate) fn turn(state: &mut State, on: bool) -> Vec<Effect> {
    let of = figures(state).max(1);
    let at = &mut state.view.compared.figure;
    *at = (*at + if on { 1 } else { of - 1 }) % of;
    Vec::new()
}

/// Minimum number of entries for which a picker can be filtered.
const LONG: usize = 7;

/// Indices of the open picker's entries that match its filter.
pub(crate) fn found(state: &State) -> Vec<usize> {
    let Some(Popup::Pick { picker, selected, filter }) = &state.view.popup else { return Vec::new() };
    matching(&picker.lines(state, *selected), filter)
}

fn matching(lines: &[Line<'_>], filter: &str) -> Vec<usize> {
    let wanted = filter.to_lowercase();
    (0..lines.len()).filter(|i| lines[*i].to_string().to_lowercase().contains(&wanted)).collect()
}

/// True if the popup lists enough entries to be filtered.
pub(crate) fn filters(state: &State) -> bool {
    match &state.view.popup {
        Some(Popup::Pick { picker, selected, .. }) => picker.lines(state, *selected).len() >= LONG,
        Some(Popup::Page { page, .. }) => page.filters(),
        _ => false,
    }
}

/// True if the filter of the open page occurs in a text.
pub(crate) fn occurs(state: &State, text: &str) -> bool {
    text.to_lowercase().contains(&filter(state).to_lowercase())
}

/// Lists only the entries of the open popup that contain a text; false if no open popup can be filtered.
pub(crate) fn narrow(state: &mut State, text: &str) -> bool {
    if let Some(Popup::Page { page, scroll, filter }) = &mut state.view.popup {
        (*filter, *scroll) = (text.to_owned(), 0);
        return page.filters();
    }
    let Some(Popup::Pick { filter, .. }) = &mut state.view.popup else { return false };
    text.clone_into(filter);
    let all = found(state);
    if let (Some(Popup::Pick { selected, .. }), Some(first)) = (&mut state.view.popup, all.first())
        && !all.contains(selected)
    {
        *selected = *first;
    }
    true
}

/// The filter of the open popup; empty if everything is listed.
pub(crate) fn filter(state: &State) -> &str {
    match &state.view.popup {
        Some(Popup::Pick { filter, .. } | Popup::Page { filter, .. }) => filter,
        _ => "",
    }
}

pub(crate) fn draw(frame: &mut Frame, area: Rect, state: &State) {
    let Some(popup) = &state.view.popup else { return };
    let Content { title, lines, first } = content(state, popup, area);
    let widest = lines.iter().map(Line::width).max().unwrap_or(0).max(width(&title) + 6).max(30);
    let popup = centred(area, widest as u16 + 4, lines.len() as u16 + 2);
    frame.render_widget(Clear, popup);
    frame.render_widget(block(state, &fit(&title, usize::from(popup.width.saturating_sub(6))), true), popup);
    let inner = inside(popup);
    scroll_mark(frame, popup, state, (first, inner.height.into(), lines.len()));
    let inner = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner };
    frame.render_widget(Paragraph::new(lines.into_iter().skip(first).collect::<Vec<_>>()), inner);
}

struct Content {
    title: String,
    lines: Vec<Line<'static>>,
    first: usize,
}

fn content(state: &State, popup: &Popup, area: Rect) -> Content {
    let room = usize::from(area.width.saturating_sub(4));
    let mut at = 0;
    let (title, lines) = match popup {
        Popup::Help { query, .. } => (format!("Help: {query}_"), help_text(state, query, room)),
        Popup::Palette { query, selected } => (format!("Command: {query}_"), palette_text(state, query, *selected)),
        Popup::Menu { selected } => {
            (format!("{}: press a letter", state.screen().title()), menu_text(state, *selected, room))
        }
        Popup::Page { page, filter, .. } => {
            let (title, lines) = (page.title(state), page.lines(state, room));
            let key = state.keymap.short_label("popup-filter");
            match (page.filters(), filter.as_str()) {
                (false, _) => (title, lines),
                (true, "") => (format!("{title}  {key} filter"), lines),
                (true, _) if lines.is_empty() => (format!("{title}  {key} {filter}"), vec![no_match(state)]),
                (true, _) => (format!("{title}  {key} {filter}"), lines),
            }
        }
        Popup::Pick { picker, selected, filter } => {
            let (all, title) = (picker.lines(state, *selected), picker.title(state));
            let found = matching(&all, filter);
            let key = state.keymap.short_label("popup-filter");
            let title = match filter.is_empty() {
                true if all.len() < LONG || width(&title) + width(&key) + 11 > room => title,
                true => format!("{title}  {key} filter"),
                false => format!("{title}  {key} {filter} ({} of {})", found.len(), all.len()),
            };
            at = found.iter().position(|entry| entry == selected).unwrap_or(0);
            let lines = all.into_iter().enumerate().filter(|(i, _)| found.contains(i)).map(|(_, line)| line);
            (title, if found.is_empty() { vec![no_match(state)] } else { lines.collect() })
        }
    };
    let height = rows_in(area, lines.len());
    let first = match popup {
        Popup::Help { scroll, .. } | Popup::Page { scroll, .. } => (*scroll).min(lines.len() - height),
        Popup::Pick { .. } => scrolled(at, lines.len(), height),
        Popup::Palette { selected, .. } | Popup::Menu { selected } => scrolled(*selected, lines.len(), height),
    };
    Content { title, lines, first }
}

/// The line shown if the filter hides all entries.
fn no_match(state: &State) -> Line<'static> {
    let text = format!("no entry matches; {} shows all", state.keymap.short_label("popup-close"));
    Line::styled(text, state.theme().style(Role::Dim))
}

/// The last position of the popup's cursor, or the largest scroll offset.
pub(crate) fn last(state: &State) -> usize {
    match &state.view.popup {
        None => 0,
        Some(Popup::Palette { query, .. }) => palette_entries(state, query).len().saturating_sub(1),
        Some(Popup::Menu { .. }) => menu_entries(state).len().saturating_sub(1),
        Some(Popup::Pick { .. }) => found(state).len().saturating_sub(1),
        Some(Popup::Help { .. } | Popup::Page { .. }) => {
            compute(state).map_or(0, |layout| overflow(state, layout.under_title()))
        }
    }
}

/// Number of lines that can be scrolled until the last is visible.
fn overflow(state: &State, area: Rect) -> usize {
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

/// The cursor mark of an entry, or spaces of the same width.
pub(crate) fn mark(state: &State, here: bool) -> String {
    format!("{} ", state.view.glyphs.cursor(here))
}

fn help_text(state: &State, query: &str, room: usize) -> Vec<Line<'static>> {
    let theme = state.theme();
    let (found, terms) = (help_lines(state, query), glossary(query));
    if found.is_empty() && terms.is_empty() {
        return vec![Line::styled("no command or term matches", theme.style(Role::Dim))];
    }
    // A term whose name equals the query is listed before the keys.
    let first = terms.first().is_some_and(|term| is_named(term, query));
    let heading = (!terms.is_empty()).then(|| Line::styled("Terms", theme.style(Role::Title)));
    let explained = terms.into_iter().flat_map(|term| pages::explanation(state, term, room));
    let explained: Vec<Line<'static>> = heading.into_iter().chain(explained).collect();
    let room = room.saturating_sub(KEYS);
    let mut lines = Vec::new();
    for line in found {
        match line {
            HelpLine::Heading(context) => lines.push(Line::styled(context.title(), theme.style(Role::Title))),
            HelpLine::Command(entry) => {
                let keys = keys_of(state, entry);
                // A command without a key is found in the palette by name.
                let palette = || format!("{} {}", state.keymap.short_label("palette"), entry.name);
                let mut keys = format!("  {}", if keys.is_empty() { palette() } else { keys });
                for part in hanging(entry.doc, room) {
                    lines.push(Line::from(vec![
                        Span::styled(pad(&std::mem::take(&mut keys), KEYS), theme.style(Role::Key)),
                        Span::styled(part, theme.style(Role::Text)),
                    ]));
                }
            }
        }
    }
    let (mut before, after) = if first { (explained, lines) } else { (lines, explained) };
    before.extend(after);
    before
}

/// Formats the keys of a command. For a command in a menu, the key that opens the menu comes first: `t b`.
fn keys_of(state: &State, entry: &Entry) -> String {
    let keys = state.keymap.label(entry.name);
    match entry.context {
        Context::Menu(_) if !keys.is_empty() => format!("{} {keys}", state.keymap.short_label("menu")),
        _ => keys,
    }
}

/// Commands in the current screen's menu that can be used now.
pub(crate) fn menu_entries(state: &State) -> Vec<&'static Entry> {
    state.screen().menu().iter().filter(|entry| (entry.enabled)(state)).collect()
}

fn menu_text(state: &State, selected: usize, room: usize) -> Vec<Line<'static>> {
    let theme = state.theme();
    let docs = room.saturating_sub(32);
    let line = |(i, entry): (usize, &Entry)| {
        let role = if i == selected { Role::Selection } else { Role::Text };
        let doc = fit(entry.doc, docs).into_owned();
        Line::from(vec![
            Span::styled(mark(state, i == selected), theme.style(role)),
            Span::styled(pad(&state.keymap.short_label(entry.name), 4), theme.style(Role::Key)),
            Span::styled(pad(entry.title, 24), theme.style(role)),
            Span::styled(doc, theme.style(Role::Dim)),
        ])
    };
    let entries = menu_entries(state);
    if entries.is_empty() {
        return vec![Line::styled("nothing can be done here yet", theme.style(Role::Dim))];
    }
    // If sentences are cut, the whole sentence of the entry under the cursor is shown below.
    let cut = entries.iter().any(|entry| width(entry.doc) > docs);
    let whole = entries.get(selected).filter(|_| cut).map_or(Vec::new(), |entry| wrapped(entry.doc, room));
    let below = whole.into_iter().map(|text| Line::styled(text, theme.style(Role::Text)));
    let gap = cut.then(Line::default);
    entries.into_iter().enumerate().map(line).chain(gap).chain(below).collect()
}

fn palette_text(state: &State, query: &str, selected: usize) -> Vec<Line<'static>> {
    let theme = state.theme();
    let found = palette_entries(state, query);
    if found.is_empty() {
        return vec![Line::styled("no command matches", theme.style(Role::Dim))];
    }
    let line = |(i, entry): (usize, &&Entry)| {
        let role = if i == selected { Role::Selection } else { Role::Text };
        Line::from(vec![
            Span::styled(format!("{}{}", mark(state, i == selected), pad(entry.name, 20)), theme.style(role)),
            Span::styled(pad(entry.title, 22), theme.style(role)),
            Span::styled(keys_of(state, entry), theme.style(Role::Key)),
        ])
    };
    found.iter().enumerate().map(line).collect()
}

/// Wraps a text to `room` columns; continuation lines are indented by two.
pub(crate) fn hanging(text: &str, room: usize) -> Vec<String> {
    let lines = wrapped(text, room.saturating_sub(2).max(1));
    lines.into_iter().enumerate().map(|(i, l)| if i == 0 { l } else { format!("  {l}") }).collect()
}

#[cfg(test)]
mod tests;
