//! Drawing of the panes of a followed grid.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::{CELLS, FAILED, SHARDS, listing};
use crate::layout::inside;
use crate::panes::{message, pane_block};
use crate::state::{Followed, Glyphs, State};
use crate::theme::Role;
use crate::widgets::bar::bar;
use base::numbers::{about, seconds};
use base::text::{fit, pad, printable, printable_label, wrapped};
use session::parts::watch::{Pace, View, sign};

/// Height of the map, in rows.
const MAP: usize = 8;
/// Widths of the overall progress bar and of a single cell's bar, in columns.
const BARS: (usize, usize) = (30, 8);

/// Width of a shard's remaining time, in columns.
const LEFT: usize = 14;

/// Symbol of one or several cells; the most urgent state determines it.
fn drawn(sign: char, glyphs: Glyphs) -> (&'static str, Role) {
    let ascii = glyphs == Glyphs::Ascii;
    let pick = |unicode, plain| if ascii { plain } else { unicode };
    match sign {
        sign::FAILED => (glyphs.cross(), Role::Error),
        sign::RUNNING => (pick("▶", ">"), Role::Bar),
        sign::DONE => (pick("■", "#"), Role::Good),
        _ => (pick("·", "."), Role::Dim),
    }
}

/// The symbols of the map, at most `room`, and the number of cells per symbol.
fn signs(map: &str, room: usize) -> (Vec<char>, usize) {
    let all: Vec<char> = map.chars().collect();
    let each = all.len().div_ceil(room.max(1)).max(1);
    let order = [sign::FAILED, sign::RUNNING, sign::WAITING];
    let worst = |some: &[char]| order.into_iter().find(|s| some.contains(s)).unwrap_or(sign::DONE);
    (all.chunks(each).map(worst).collect(), each)
}

/// Number of rows that the cells need in a pane of `columns` columns.
pub(crate) fn rows(state: &State, columns: u16) -> u16 {
    let Some(followed) = &state.followed else { return 0 };
    let room = usize::from(columns.saturating_sub(4)).max(1);
    let map = followed.view.map.chars().count().div_ceil(room).clamp(1, MAP);
    let said = messages(followed, room).len();
    u16::try_from(5 + map + said).unwrap_or(u16::MAX)
}

/// Messages: why the grid cannot be read, silent shards, and wrong clocks.
fn messages(followed: &Followed, room: usize) -> Vec<(String, Role)> {
    let mut all = Vec::new();
    if let Some(problem) = &followed.problem {
        all.extend(wrapped(&printable_label(&problem.to_string()), room).into_iter().map(|l| (l, Role::Error)));
    }
    let warned = followed.view.silent.iter().chain(&followed.view.clocks).take(3);
    all.extend(warned.flat_map(|text| wrapped(&printable_label(text), room)).map(|l| (l, Role::Warning)));
    all
}

/// Draws overall progress: the numbers, a symbol per cell, and on a small screen running and failed cells.
pub(crate) fn cells(frame: &mut Frame, area: Rect, state: &State, followed: &Followed) {
    let view = &followed.view;
    let place = followed.host.as_ref().map_or(followed.dir.clone(), |host| format!("{host}:{}", followed.dir));
    frame.render_widget(pane_block(state, CELLS, &format!("Cells of grid {} in {place}", view.grid)), area);
    let inner = inside(area);
    let inner = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner };
    let room = usize::from(inner.width).max(1);
    let (theme, glyphs) = (state.theme(), state.view.glyphs);
    let line = |text: &str, role| Line::styled(fit(&printable(text), room).into_owned(), theme.style(role));
    let share = view.done as f64 / view.cells.max(1) as f64;
    let mut lines = vec![
        Line::from(vec![
            Span::styled(bar(share, BARS.0, glyphs), theme.style(Role::Bar)),
            Span::styled(format!(" {:.0} %  ", (100.0 * share).floor()), theme.style(Role::Value)),
            Span::styled(left(view), theme.style(Role::Text)),
        ]),
        line(&counts(view), Role::Text),
    ];
    lines.extend(messages(followed, room).iter().map(|(text, role)| line(text, *role)));
    lines.push(Line::default());
    let (signs, each) = signs(&view.map, room * MAP);
    lines.extend(signs.chunks(room).map(|row| {
        let span = |s: &char| {
            let (text, role) = drawn(*s, glyphs);
            Span::styled(text, theme.style(role))
        };
        Line::from(row.iter().map(span).collect::<Vec<_>>())
    }));
    lines.push(legend(state, each));
    // If other panes are on separate tabs, repeats their main contents here.
    if inner.height > lines.len() as u16 + 2 {
        lines.push(Line::default());
        lines.extend(view.running.iter().map(|r| {
            let share = format!("{} {:>3.0} %", bar(r.share, BARS.1, glyphs), (100.0 * r.share).floor());
            line(&format!("{share}  {}  shard {}  {}", r.cell, r.shard, r.stage), Role::Text)
        }));
        let cross = glyphs.cross();
        lines.extend(view.failed.iter().map(|(cell, why)| line(&format!("{cross} {cell}: {why}"), Role::Error)));
    }
    frame.render_widget(Paragraph::new(lines), inner);
}

fn legend(state: &State, each: usize) -> Line<'static> {
    let theme = state.theme();
    let mut spans = Vec::new();
    for (sign, word) in
        [(sign::DONE, "done"), (sign::RUNNING, "running"), (sign::FAILED, "failed"), (sign::WAITING, "waiting")]
    {
        let (text, role) = drawn(sign, state.view.glyphs);
        spans.push(Span::styled(text, theme.style(role)));
        spans.push(Span::styled(format!(" {word}  "), theme.style(Role::Dim)));
    }
    if each > 1 {
        spans.push(Span::styled(format!("each symbol: {each} cells"), theme.style(Role::Dim)));
    }
    Line::from(spans)
}

fn left(view: &View) -> String {
    match view.left {
        Some(left) => format!("{} left", about(left)),
        None if view.is_over() && view.failed.is_empty() => "all cells are done".into(),
        None if view.is_over() => "all cells have ended".into(),
        None if view.running.is_empty() => "nothing is being computed".into(),
        None => "too early to say how long it takes".into(),
    }
}

fn counts(view: &View) -> String {
    format!(
        "{} cells: {} done, {} running, {} failed, {} waiting",
        view.cells,
        view.done,
        view.running.len(),
        view.failed.len(),
        view.waiting
    )
}

pub(crate) fn shards(frame: &mut Frame, area: Rect, state: &State, followed: &Followed) {
    frame.render_widget(pane_block(state, SHARDS, "Shards"), area);
    let inner = inside(area);
    let view = &followed.view;
    if view.shards.is_empty() {
        let text = match view.lost.is_empty() {
            true => "no shard has begun yet\nthe jobs are queued, or have not been submitted",
            false => "no shard has begun: jobs ended before their first cell",
        };
        return message(frame, inner, text, state.theme().style(Role::Dim));
    }
    let name = view.shards.iter().map(|s| s.shard.chars().count()).max().unwrap_or(0).clamp(5, 14) + 1;
    let header = format!("{}{}{}{}cell", pad("shard", name), pad("state", 9), pad("done", 9), pad("left", LEFT));
    let entry = |i: usize| {
        let s = &view.shards[i];
        let failed = if s.failed > 0 { format!(" {}{}", state.view.glyphs.cross(), s.failed) } else { String::new() };
        let done = format!("{}/{}{failed}", s.done, s.cells);
        let left = s.left.filter(|_| s.pace == Pace::Running).map_or(String::new(), seconds);
        let running = view.running.iter().find(|r| r.shard == s.shard);
        let cell = running.map_or(String::new(), |r| {
            let share = bar(r.share, BARS.1, state.view.glyphs);
            format!("{share} {:>3.0} % {}  {}", (100.0 * r.share).floor(), r.cell, r.stage)
        });
        let (shard, word) = (pad(&printable(&s.shard), name), pad(s.pace.word(), 9));
        format!("{shard}{word}{}{}{}", pad(&done, 9), pad(&left, LEFT), printable(&cell))
    };
    listing(state, SHARDS).draw(frame, inner, state, &header, entry);
}

/// Draws the failed cells, and the complete reason for the failure of the cell under the cursor.
pub(crate) fn failed(frame: &mut Frame, area: Rect, state: &State, followed: &Followed) {
    frame.render_widget(pane_block(state, FAILED, "Failed"), area);
    let inner = inside(area);
    let all = &followed.view.failed;
    if all.is_empty() {
        return message(frame, inner, "no cell has failed", state.theme().style(Role::Dim));
    }
    let listing = listing(state, FAILED);
    let rows = u16::try_from(all.len() + 1).unwrap_or(u16::MAX).min(inner.height / 2).max(2);
    let entry = |i: usize| printable(&all[i].0).into_owned();
    let list = Rect { height: rows.min(inner.height), ..inner };
    listing.draw(frame, list, state, "cell", entry);
    let below = Rect { y: inner.y + list.height, height: inner.height - list.height, ..inner };
    let (_, why) = &all[listing.cursor.min(all.len() - 1)];
    let style = state.theme().style(Role::Error);
    let why = wrapped(&printable_label(why), usize::from(below.width).saturating_sub(2).max(1));
    let lines: Vec<Line> = why.into_iter().map(|l| Line::styled(format!(" {l}"), style)).collect();
    let text = Rect { y: below.y + 1, height: below.height.saturating_sub(1), ..below };
    if text.height > 0 {
        frame.render_widget(Paragraph::new(lines), text.intersection(inner));
    }
}
