//! Lists with named columns, which can be filtered and sorted.

use std::rc::Rc;

use std::ops::Range;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::heads::HEADS;
use super::{message, pane_block, why_empty};
use crate::action::Effect;
use crate::layout::{inside, scrolled};
use crate::popups;
use crate::reduce::look;
use crate::screen::Pane;
use crate::search::{folded, is_named};
use crate::setup;
use crate::state::{Place, Prompt, Purpose, State, moved};
use crate::theme::Role;
use base::text::{fit, pad, width, wrapped};
use labs::terms::Term;

/// Minimum width of the first column, which is text.
const FIRST: usize = 10;

/// Rows of a list. The first column is text; the others are numbers, the most important first.
#[derive(Default)]
pub struct Table {
    pub columns: Vec<&'static str>,
    pub rows: Vec<Row>,
    /// The default sort column, and whether large values come first.
    pub sort: (usize, bool),
    /// Minimum width of the first column, if not the default.
    pub first: Option<usize>,
    /// Legend of the columns, from the longest form to the shortest; the first that fits below the rows is shown.
    pub legend: &'static [&'static str],
    /// Reason why rows have no numbers, shown instead of the legend.
    pub note: String,
}

pub struct Row {
    /// Text of each column, and its number for sorting.
    pub cells: Vec<(String, Option<f64>)>,
    /// Name of the row's kind if such rows are grey, counted separately, and last in an alphabetical order.
    pub last: Option<&'static str>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listed {
    /// Text that a row must contain.
    pub filter: String,
    /// The sort column, and whether large values come first.
    pub sort: Option<(usize, bool)>,
    /// The selected column, whose heading the status line explains; 0 for none.
    pub(crate) column: usize,
    /// Cursor position before the filter was typed.
    pub(crate) before: Option<usize>,
}

impl Table {
    fn sorting(&self, listed: Option<&Listed>) -> (usize, bool) {
        listed.and_then(|l| l.sort).filter(|(column, _)| *column < self.columns.len()).unwrap_or(self.sort)
    }

    /// True if a column is sorted alphabetically: the first one, and any that has text but no numbers.
    fn is_of_words(&self, column: usize) -> bool {
        let has_number = || self.rows.iter().any(|row| row.cells[column].1.is_some());
        column == 0 || !has_number() && self.rows.iter().any(|row| row.cells[column].0.chars().any(char::is_alphabetic))
    }

    /// Name of the kind of rows that are last when sorted by a column, if there are any.
    fn held_last(&self, column: usize) -> Option<&'static str> {
        self.rows.iter().find_map(|row| row.last).filter(|_| self.is_of_words(column))
    }

    /// Formats the number of rows, counting the grey ones separately: `6`, or `4 and 2 controls`.
    fn count_of(&self, order: &[usize]) -> String {
        let last = order.iter().filter(|i| self.rows[**i].last.is_some()).count();
        match (self.rows.iter().find_map(|row| row.last), order.len() - last) {
            (Some(kind), rest) if last > 0 && rest > 0 => {
                let kind = kind.trim_start_matches("those ");
                let one = kind.strip_suffix('s').filter(|one| last == 1 && !one.contains(' '));
                format!("{rest} and {last} {}", one.unwrap_or(kind))
            }
            _ => order.len().to_string(),
        }
    }

    /// Row indices in display order; rows whose first column starts with the filter come first.
    pub(crate) fn order(&self, place: &Place, pane: Pane) -> Vec<usize> {
        let listed = place.listed.get(&pane);
        let wanted = listed.map_or(String::new(), |l| folded(&l.filter));
        let (column, down) = self.sorting(listed);
        let held_last = self.held_last(column).is_some();
        let begins = |i: usize| folded(&self.rows[i].cells[0].0).starts_with(&wanted);
        let occurs =
            |i: &usize| wanted.is_empty() || self.rows[*i].cells.iter().any(|(text, _)| folded(text).contains(&wanted));
        let mut order: Vec<usize> = (0..self.rows.len()).filter(occurs).collect();
        order.sort_by(|a, b| {
            let (x, y) = (&self.rows[*a], &self.rows[*b]);
            let values = match (x.cells[column].1, y.cells[column].1) {
                (Some(p), Some(q)) if down => q.total_cmp(&p),
                (Some(p), Some(q)) => p.total_cmp(&q),
                // Entries without a number come after those with one.
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (None, None) if !self.is_of_words(column) => std::cmp::Ordering::Equal,
                (None, None) if down => y.cells[column].0.cmp(&x.cells[column].0),
                (None, None) => x.cells[column].0.cmp(&y.cells[column].0),
            };
            let prefix = begins(*b).cmp(&begins(*a));
            (held_last && x.last.is_some())
                .cmp(&(held_last && y.last.is_some()))
                .then(if wanted.is_empty() { std::cmp::Ordering::Equal } else { prefix })
                .then(values)
        });
        order
    }

    /// Chooses the columns after the first that fit, including the selected one; returns them with their widths, and the width of the
    /// first.
    fn fitting(&self, room: usize, selected: usize) -> (Vec<(usize, usize)>, usize) {
        let widths: Vec<usize> = (0..self.columns.len())
            .map(|k| {
                let cells = self.rows.iter().map(|row| width(&row.cells[k].0));
                cells.max().unwrap_or(0).max(width(self.columns[k]) + 1)
            })
            .collect();
        let used = |range: Range<usize>| widths[range].iter().map(|w| w + 1).sum::<usize>();
        let fits = |range: &Range<usize>| used(range.clone()) + self.first.unwrap_or(FIRST) <= room;
        let mut shown = 1..widths.len().max(1);
        while !shown.is_empty() && !fits(&shown) {
            shown.end -= 1;
        }
        if selected >= shown.end && selected < widths.len() {
            shown = 1..selected + 1;
            while shown.len() > 1 && !fits(&shown) {
                shown.start += 1;
            }
        }
        let first = room.saturating_sub(used(shown.clone()));
        (shown.map(|k| (k, widths[k])).collect(), first)
    }

    pub(crate) fn draw(&self, frame: &mut Frame, area: Rect, state: &State, (pane, name): (Pane, &str), cursor: usize) {
        let place = state.here();
        let (order, listed) = (self.order(place, pane), place.listed.get(&pane));
        let filter = listed.map_or("", |l| l.filter.as_str());
        let key = state.keymap.short_label("filter");
        let inner = inside(area);
        let room = usize::from(inner.width).saturating_sub(2);
        let selected = listed.map_or(0, |l| l.column);
        let (shown, first) = self.fitting(room, selected);
        let (column, down) = self.sorting(listed);
        // Without a note, the rows that are listed last would look unsorted.
        let held = self.held_last(column).filter(|_| listed.is_some_and(|l| l.sort.is_some()));
        let held = held.map_or(String::new(), |word| format!(", {word} last"));
        let apart = self.count_of(&order);
        // The heading of the sort column has a sign; if that column does not fit, the title names it.
        let is_shown = column == 0 || shown.iter().any(|(k, _)| *k == column);
        let by =
            if is_shown { String::new() } else { format!(" by {}{}", self.columns[column], Self::sign(state, down)) };
        let most = usize::from(area.width).saturating_sub(6);
        let then = if is_shown { String::new() } else { format!(", then{by}") };
        let title = match filter {
            "" if held.is_empty() && by.is_empty() => {
                let (short, hint) = (format!("{name} ({apart})"), format!("  {key} filter"));
                if width(&short) + width(&hint) <= most { short + &hint } else { short }
            }
            "" => format!("{name} ({}){by}{held}", order.len()),
            text => {
                format!("{name} ({} of {})  {key} {text}, best match first{then}{held}", order.len(), self.rows.len())
            }
        };
        let dropped = match self.columns.len().saturating_sub(shown.len() + 1) {
            0 => String::new(),
            1 => format!("  {} +1 column", state.keymap.short_label("right")),
            count => format!("  {} +{count} columns", state.keymap.short_label("right")),
        };
        let title = if width(&title) + width(&dropped) <= most { title + &dropped } else { title };
        frame.render_widget(pane_block(state, pane, &fit(&title, most)), area);
        let theme = state.theme();
        let ascii = state.view.glyphs == crate::state::Glyphs::Ascii;
        let sign = |k: usize| if k == column { Self::sign(state, down) } else { "" };
        let beside = |text: &str, columns: usize| format!(" {}{text}", " ".repeat(columns.saturating_sub(width(text))));
        let head = |k: usize| format!("{}{}", self.columns[k], sign(k));
        let mut rows = inner.rows();
        if let Some(row) = rows.next() {
            let role = |k: usize| if k == selected && k > 0 { Role::Title } else { Role::Dim };
            let rest =
                shown.iter().map(|(k, columns)| Span::styled(beside(&head(*k), *columns), theme.style(role(*k))));
            let name = Span::styled(format!("  {}", pad(&fit(&head(0), first), first)), theme.style(Role::Dim));
            frame.render_widget(Line::from_iter(std::iter::once(name).chain(rest)), row);
        }
        if order.is_empty() {
            let key = |name| state.keymap.short_label(name);
            let text = match filter {
                "" if state.screen().setup().is_some() => why_empty(state, "results"),
                "" => "no rows yet".into(),
                _ => format!("no row matches; {} clears the filter", key("back")),
            };
            let area = Rect { y: inner.y + 1, height: inner.height.saturating_sub(1), ..inner };
            return message(frame, area, &text, theme.style(Role::Dim));
        }
        let height = usize::from(inner.height).saturating_sub(1);
        self.explain(frame, inner, state, height.saturating_sub(order.len()));
        let from = scrolled(cursor, order.len(), height);
        for (row, at) in rows.zip(from..order.len()) {
            let entry = &self.rows[order[at]];
            let here = at == cursor;
            let name = pad(&fit(&dashed(&entry.cells[0].0, ascii), first), first);
            let number = |(k, columns): &(usize, usize)| beside(&dashed(&entry.cells[*k].0, ascii), *columns);
            let text: String = std::iter::once(name).chain(shown.iter().map(number)).collect();
            let role = match (here, entry.last) {
                (true, _) => Role::Selection,
                (false, Some(_)) => Role::Dim,
                (false, None) => Role::Text,
            };
            let mark = state.view.glyphs.cursor(here);
            frame.render_widget(Line::from(Span::styled(format!("{mark} {text}"), theme.style(role))), row);
        }
        scroll_mark(frame, area, state, (from, height, order.len()));
    }

    fn sign(state: &State, down: bool) -> &'static str {
        match (down, state.view.glyphs == crate::state::Glyphs::Ascii) {
            (true, false) => "▾",
            (false, false) => "▴",
            (true, true) => "v",
            (false, true) => "^",
        }
    }

    /// Draws the legend of the columns in the `spare` rows at the bottom.
    fn explain(&self, frame: &mut Frame, inner: Rect, state: &State, spare: usize) {
        let room = usize::from(inner.width.saturating_sub(1));
        let note = Some(self.note.as_str()).filter(|note| !note.is_empty());
        let mut forms = note.into_iter().chain(self.legend.iter().copied()).map(|text| wrapped(text, room));
        let Some(lines) = forms.find(|lines| lines.len() <= spare) else { return };
        let noted = note.is_some_and(|note| wrapped(note, room) == lines);
        let style = state.theme().style(if noted { Role::Warning } else { Role::Dim });
        for (row, text) in inner.rows().skip(usize::from(inner.height) - lines.len()).zip(lines) {
            frame.render_widget(Line::styled(format!(" {text}"), style), row);
        }
    }

    /// Index in the display order of the row at a screen position.
    pub(crate) fn at(&self, state: &State, pane: Pane, area: Rect, cursor: usize, y: u16) -> Option<usize> {
        let inner = inside(area);
        let line = usize::from(y.checked_sub(inner.y + 1).filter(|_| y < inner.bottom())?);
        let order = self.order(state.here(), pane);
        let at = scrolled(cursor, order.len(), usize::from(inner.height).saturating_sub(1)) + line;
        (at < order.len()).then_some(at)
    }
}

/// Makes a cell printable; in ASCII mode, the dash for "nothing" becomes a hyphen.
fn dashed(text: &str, ascii: bool) -> String {
    if ascii && text == "–" { "-".into() } else { base::text::printable(text).into_owned() }
}

/// Draws marks on the right border of a pane if there are rows above or below.
pub(crate) fn scroll_mark(frame: &mut Frame, area: Rect, state: &State, (from, height, len): (usize, usize, usize)) {
    let ascii = state.view.glyphs == crate::state::Glyphs::Ascii;
    let style = state.theme().style(Role::Dim);
    let mut put = |y: u16, text: &'static str| {
        if area.width > 1 && (area.y..area.bottom()).contains(&y) {
            frame.render_widget(Span::styled(text, style), Rect::new(area.right() - 1, y, 1, 1));
        }
    };
    if from > 0 {
        put(area.y + 1, if ascii { "^" } else { "▲" });
    }
    if from + height < len && area.height > 2 {
        put(area.bottom() - 2, if ascii { "v" } else { "▼" });
    }
}

/// The list that `/` acts on: the focused pane, or the lab's list.
fn target(state: &State) -> Option<(Pane, Rc<Table>)> {
    let screen = state.screen();
    let focus = state.here().focus;
    let list = screen.slots().get(1).filter(|_| screen.setup().is_some()).map(|slot| state.here().shown(slot));
    [Some(focus), list].into_iter().flatten().find_map(|pane| screen.table(state, pane).map(|table| (pane, table)))
}

/// True if the focused pane is a list that can be sorted.
pub(crate) fn lists(state: &State) -> bool {
    !state.here().form && state.screen().table(state, state.here().focus).is_some()
}

/// Explains why the focused pane cannot be sorted, and which one can.
pub(crate) fn unsorted(state: &State) -> String {
    let other = target(state)
        .map_or(String::new(), |(pane, _)| format!(": {} to {} first", state.keymap.short_label("next-pane"), pane.0));
    format!("{} has no columns to sort by{other}", state.here().focus.0)
}

/// True if a visible list can be filtered.
pub(crate) fn filters(state: &State) -> bool {
    filtered(state).is_some()
}

/// The list that `/` filters: the open settings form, or else the focused list without columns, or else the list that can be sorted.
fn filtered(state: &State) -> Option<Pane> {
    if state.here().form {
        return Some(setup::PANE);
    }
    state.screen().filters(state.here().focus).or_else(|| target(state).map(|(pane, _)| pane))
}

/// The filter of a pane; empty if there is none.
pub(crate) fn filter_of(place: &Place, pane: Pane) -> &str {
    place.listed.get(&pane).map_or("", |listed| listed.filter.as_str())
}

/// True if a text contains the filter of a pane.
pub(crate) fn occurs(place: &Place, pane: Pane, text: &str) -> bool {
    folded(text).contains(&folded(filter_of(place, pane)))
}

/// Formats the title of a list without columns on a border of `columns` cells, with its filter or, if it fits, the filter key.
pub(crate) fn titled(state: &State, pane: Pane, title: &str, columns: u16) -> String {
    let key = state.keymap.short_label("filter");
    match filter_of(state.here(), pane) {
        "" if width(title) + width(&key) + 15 > usize::from(columns) => title.to_owned(),
        "" => format!("{title}  {key} filter"),
        text => format!("{title}  {key} {text}"),
    }
}

/// Text shown in an empty list: `nothing`, unless a filter hides all entries.
pub(crate) fn empty(state: &State, pane: Pane, nothing: String) -> String {
    match filter_of(state.here(), pane) {
        "" => nothing,
        _ => format!("no entry matches; {} shows all", state.keymap.short_label("back")),
    }
}

static FILTER: Prompt = Prompt {
    label: "filter",
    hint: "shows rows that contain this text; empty shows all",
    take: |state, text| Ok(follow(state, text)),
    follow: Some(follow),
};

fn follow(state: &mut State, text: &str) -> Vec<Effect> {
    if popups::narrow(state, text) {
        return Vec::new();
    }
    if let Some(pane) = filtered(state) {
        let place = state.here_mut();
        place.listed.entry(pane).or_default().filter = text.to_owned();
        place.scroll.remove(&pane);
        if pane == setup::PANE {
            place.row = 0;
        }
    }
    Vec::new()
}

pub(crate) fn filter(state: &mut State) -> Vec<Effect> {
    if state.view.popup.is_some() {
        let now = popups::filter(state).to_owned();
        return look::ask_from(state, &FILTER, &now);
    }
    let Some(pane) = filtered(state) else { return Vec::new() };
    state.focus_on(pane);
    let place = state.here_mut();
    let cursor = place.scrolled(pane);
    let listed = place.listed.entry(pane).or_default();
    let now = listed.filter.clone();
    if now.is_empty() {
        listed.before = Some(cursor);
    }
    look::ask_from(state, &FILTER, &now)
}

/// Removes the filter of the focused list; false if there is none. The cursor returns to its earlier position, or stays on its row if it
/// was moved since.
pub(crate) fn clear_filter(state: &mut State) -> bool {
    if popups::narrow(state, "") {
        return true;
    }
    let Some(pane) = filtered(state).filter(|pane| !filter_of(state.here(), *pane).is_empty()) else { return false };
    let Some(table) = state.screen().table(state, pane) else {
        follow(state, "");
        return true;
    };
    let cursor = state.here().scrolled(pane);
    let row = table.order(state.here(), pane).get(cursor).copied();
    follow(state, "");
    let place = state.here_mut();
    let before = place.listed.get_mut(&pane).and_then(|listed| listed.before.take()).filter(|_| cursor == 0);
    let of_row = || table.order(place, pane).iter().position(|at| Some(*at) == row);
    if let Some(at) = before.or_else(of_row) {
        place.scroll.insert(pane, at);
    }
    true
}

pub(crate) fn step_column(state: &mut State, pane: Pane, table: &Table, by: i64) -> Vec<Effect> {
    let listed = state.here_mut().listed.entry(pane).or_default();
    listed.column = moved(listed.column, by, table.columns.len());
    Vec::new()
}

pub(crate) fn column_about(state: &State) -> Option<String> {
    let (screen, pane) = (state.screen(), state.here().focus);
    let column = state.here().listed.get(&pane).map_or(0, |l| l.column);
    let head = *screen.table(state, pane)?.columns.get(column).filter(|_| column > 0)?;
    Some(format!("{head}: {}", meaning(state, head)?))
}

/// Finds the meaning of a column heading: first among headings, then among terms with this name, then among symbols of the lab's terms and
/// of other terms.
fn meaning(state: &State, head: &str) -> Option<&'static str> {
    let lab = state.screen().setup().map(|setup| setup.lab());
    // Drops the list's name before the colon, and the meanings for other lists after the first sentence.
    let of_list = |text: &'static str| {
        let text = text.split_once(": ").map_or(text, |(_, meaning)| meaning);
        text.split_once(". ").map_or(text, |(first, _)| first)
    };
    if let Some(term) = HEADS.iter().find(|term| is_named(term, head)) {
        return Some(of_list(term.meaning));
    }
    let mut terms: Vec<&Term> = labs::glossary().iter().filter(|term| is_named(term, head)).collect();
    terms.sort_by_key(|term| (term.name != head, !lab.is_some_and(|lab| term.labs.contains(&lab))));
    terms.first().map(|term| term.meaning)
}

pub(crate) fn is_filter(purpose: &Purpose) -> bool {
    matches!(purpose, Purpose::Ask(prompt) if std::ptr::eq(*prompt, &FILTER))
}

/// Sorts by the next column: numbers from the largest, texts from A.
pub(crate) fn next_column(state: &mut State) -> Vec<Effect> {
    sort(state, |(column, _), table| {
        let next = (column + 1) % table.columns.len();
        (next, !table.is_of_words(next))
    })
}

pub(crate) fn turn(state: &mut State) -> Vec<Effect> {
    sort(state, |(column, down), _| (column, !down))
}

fn sort(state: &mut State, change: impl FnOnce((usize, bool), &Table) -> (usize, bool)) -> Vec<Effect> {
    let pane = state.here().focus;
    let Some(table) = state.screen().table(state, pane) else { return Vec::new() };
    let now = table.sorting(state.here().listed.get(&pane));
    let next = change(now, &table);
    state.here_mut().listed.entry(pane).or_default().sort = Some(next);
    let way = match (table.is_of_words(next.0), next.1) {
        (true, false) => "A to Z",
        (true, true) => "Z to A",
        (false, true) => "largest first",
        (false, false) => "smallest first",
    };
    let held = table.held_last(next.0).map_or(String::new(), |word| format!("; {word} last"));
    state.view.toast = Some(format!("sorted by {}, {way}{held}", table.columns[next.0]));
    Vec::new()
}

#[cfg(test)]
mod tests;
