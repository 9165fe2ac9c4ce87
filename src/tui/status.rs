//! The two lines below the panes: the entry under the cursor, a message or a text field; then progress and keys.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph};

use super::commands::{COMMANDS, Entry, command_of, contexts};
use super::key::Key;
use super::layout::Layout;
use super::panes::table;
use super::screen::Waiting;
use super::screens::SCREENS;
use super::setup;
use super::state::{Glyphs, Popup, Purpose, State, TextEntry};
use super::theme::Role;
use super::widgets::bar::bar;
use base::numbers::{self, seconds};
use base::text::{fit, printable, width, wrapped, wrapped_clauses};
use engine::board::Job;
use engine::message::{NoticeLevel, Outcome, Progress};
use labs::setting::Kind;

const TOAST: usize = 4;
/// Width of the progress next to the keys, and of the outcome of a run; each at most half of the line.
const PROGRESS: usize = 54;
const OUTCOME: usize = 26;
const BAR: usize = 10;
/// Minimum width of the stage next to a bar, in columns.
const STAGE: usize = 16;

/// Draws the text field, a message, or the entry under the cursor.
pub(crate) fn about(frame: &mut Frame, area: Rect, state: &State) {
    let Some(last) = area.rows().next_back() else { return };
    if state.view.entry.is_some() {
        return prompt(frame, last, state);
    }
    if long_message(state, area).is_some() {
        return;
    }
    let theme = state.theme();
    let counts = counts(state);
    let room = usize::from(area.width).saturating_sub(counts.width() + 3);
    let (text, role) = match &state.view.toast {
        Some(toast) => (toast.clone(), Role::Title),
        None => match state.view.writing {
            Some((_, 0)) => (format!("{} writing", spinner(state)), Role::Title),
            Some((done, all)) => (format!("{} writing: {done} of {all} files done", spinner(state)), Role::Title),
            None => (under_cursor(state), Role::Dim),
        },
    };
    let mut lines = wrapped_clauses(&text, usize::from(area.width).saturating_sub(2), area.height.into());
    // The last row is shorter if there are counts beside it.
    if lines.get(usize::from(area.height) - 1).is_some_and(|last| width(last) > room) {
        lines = wrapped_clauses(&text, room, area.height.into());
    }
    for (row, text) in area.rows().zip(lines) {
        frame.render_widget(Line::styled(format!(" {text}"), theme.style(role)), row);
    }
    frame.render_widget(counts.right_aligned(), last);
}

/// One sentence on the setting or row under the cursor.
fn under_cursor(state: &State) -> String {
    let pane = state.here().focus;
    if state.screen().setup().is_some() && pane == setup::PANE {
        return setup::about_cursor(state);
    }
    table::column_about(state).unwrap_or_else(|| state.screen().about(state, pane))
}

fn counts(state: &State) -> Line<'static> {
    let theme = state.theme();
    let (notices, runs) = (state.notices(), state.queue.len());
    let key = |name| state.keymap.short_label(name);
    let waiting = match runs {
        0 => String::new(),
        1 => format!("{} shows 1 waiting run  ", key("waiting-runs")),
        n => format!("{} shows {n} waiting runs  ", key("waiting-runs")),
    };
    let messages = match notices.len() {
        0 => String::new(),
        1 => format!("{} shows 1 message ", key("notices")),
        n => format!("{} shows {n} messages ", key("notices")),
    };
    let grave = notices.iter().any(|n| n.level != NoticeLevel::Info);
    let role = if grave { Role::Warning } else { Role::Dim };
    Line::from(vec![Span::styled(waiting, theme.style(Role::Text)), Span::styled(messages, theme.style(role))])
}

/// The lines of a message that does not fit into `area` next to the counts.
fn long_message(state: &State, area: Rect) -> Option<Vec<String>> {
    let toast = state.view.toast.as_ref().filter(|_| state.view.entry.is_none())?;
    let lines = wrapped(&printable(toast), usize::from(area.width).saturating_sub(2));
    let room = usize::from(area.width).saturating_sub(counts(state).width() + 3);
    let fits = match usize::from(area.height).cmp(&lines.len()) {
        std::cmp::Ordering::Greater => true,
        std::cmp::Ordering::Equal => lines.last().is_none_or(|last| width(last) <= room),
        std::cmp::Ordering::Less => false,
    };
    (!fits).then_some(lines)
}

/// Draws a message that is too long for the lines below the panes, over the last rows of the panes as well.
pub(crate) fn message(frame: &mut Frame, layout: &Layout, state: &State) {
    let Some(mut lines) = long_message(state, layout.about) else { return };
    lines.truncate(TOAST.min(usize::from(layout.body.height)));
    let rows = (lines.len() as u16).max(layout.about.height);
    let area = Rect { y: layout.about.bottom() - rows, height: rows, ..layout.about };
    let style = state.theme().style(Role::Title);
    let lines: Vec<Line> = lines.into_iter().map(|l| Line::styled(format!(" {l}"), style)).collect();
    frame.render_widget(Clear, area);
    frame.render_widget(Paragraph::new(lines), area);
}

/// Draws progress on the left and keys on the right.
pub(crate) fn draw(frame: &mut Frame, area: Rect, state: &State) {
    let theme = state.theme();
    let items = keys(state, area);
    let taken: usize = items.iter().map(Item::columns).sum();
    let mut line = progress(state, usize::from(area.width).saturating_sub(taken + 2));
    line.spans.insert(0, Span::raw(" "));
    frame.render_widget(line, area);
    let mut spans = Vec::new();
    for item in items {
        spans.push(Span::styled(item.keys, theme.style(Role::Key)));
        spans.push(Span::styled(format!(" {}  ", item.word), theme.style(Role::Dim)));
    }
    let line = Line::from(spans);
    let x = area.right().saturating_sub(line.width() as u16);
    frame.render_widget(line, Rect { x, width: area.right() - x, ..area });
}

/// Line with the progress of the current run, or with the outcome of the latest one.
fn progress(state: &State, room: usize) -> Line<'static> {
    down_line(state, room).or_else(|| waiting_line(state, room)).unwrap_or_else(|| job_line(state, room))
}

/// A pending question of the current screen or, while nothing runs, of any screen.
fn waiting(state: &State) -> Option<Waiting<'_>> {
    let others = SCREENS.iter().filter(|_| !state.busy());
    state.screen().waiting(state).or_else(|| others.filter_map(|s| s.waiting(state)).next())
}

/// Notice that the link is down, with the time of the next attempt.
fn down_line(state: &State, room: usize) -> Option<Line<'static>> {
    let (down, far) = (state.down?, state.far.as_ref()?);
    let when = match down.next {
        Some(seconds) => format!("next try in {seconds} s"),
        None => format!("{} trying", spinner(state)),
    };
    let text = format!("no link to {}: {when}; the engine there continues", printable(&far.host));
    Some(Line::styled(fit(&text, room).into_owned(), state.theme().style(Role::Warning)))
}

fn waiting_line(state: &State, room: usize) -> Option<Line<'static>> {
    let waiting = waiting(state)?;
    Some(match waiting.progress {
        Some(progress) => stage_line(state, progress, share(progress), room, waiting.stopping),
        None => Line::styled(format!("{} {}", spinner(state), waiting.doing), state.theme().style(Role::Dim)),
    })
}

fn job_line(state: &State, room: usize) -> Line<'static> {
    let theme = state.theme();
    let plain = |text: String, role| Line::styled(fit(&text, room).into_owned(), theme.style(role));
    if let Some(followed) = &state.followed {
        return plain(followed.view.summary(), Role::Dim);
    }
    let beneath = state.replay.as_ref().and_then(|replay| replay.beneath.as_ref());
    if let Some(Job { progress: Some(progress), held: false, .. }) = beneath {
        let progress = Progress { stage: format!("your run: {}", progress.stage), ..progress.clone() };
        return stage_line(state, &progress, progress.overall, room, false);
    }
    if let Some(job) = beneath {
        return plain(format!("your run is {}", if job.held { "paused" } else { "starting" }), Role::Dim);
    }
    let Some(job) = state.board.job() else {
        let text = if state.board.engine.is_some() { "ready" } else { "the engine is starting" };
        return plain(text.into(), Role::Dim);
    };
    let took = job.seconds.map_or(String::new(), seconds);
    let (here, lab) = (state.setup().map(|setup| setup.lab()), job.spec.lab());
    let of = if here == Some(lab) { String::new() } else { format!("{}: ", labs::by_id(lab).title()) };
    match &job.outcome {
        Some(Outcome::Done) => plain(format!("{of}done in {took}"), Role::Good),
        Some(Outcome::Cancelled) if took.is_empty() => plain(format!("{of}cancelled"), Role::Dim),
        Some(Outcome::Cancelled) => plain(format!("{of}cancelled after {took}"), Role::Dim),
        Some(Outcome::Failed(p)) => {
            plain(format!("{of}failed: {}", printable(&state.in_labels(&p.to_string()))), Role::Error)
        }
        None if job.held => plain(format!("paused; {} resumes", state.keymap.label("pause")), Role::Warning),
        None => match &job.progress {
            Some(progress) => stage_line(state, progress, progress.overall, room, state.cancelling.is_some()),
            None => plain(format!("{} starting", spinner(state)), Role::Dim),
        },
    }
}

fn share(p: &Progress) -> f64 {
    if p.total == 0 { 0.0 } else { p.done as f64 / p.total as f64 }
}

fn spinner(state: &State) -> char {
    let frames: [char; 4] =
        if state.view.glyphs == Glyphs::Ascii { ['|', '/', '-', '\\'] } else { ['◐', '◓', '◑', '◒'] };
    frames[state.view.ticks % frames.len()]
}

/// The stage, a bar for the whole run, and the remaining time; never 100 % or 0 s before the end.
fn stage_line(state: &State, p: &Progress, share: f64, room: usize, stopping: bool) -> Line<'static> {
    let theme = state.theme();
    let share = if share.is_nan() { 0.0 } else { share.clamp(0.0, 0.99) };
    let left = match p.left {
        _ if stopping => "  stopping".to_owned(),
        Some(t) => format!("  {}", numbers::about(t)),
        None => String::new(),
    };
    let after = format!(" {:.0} %", share * 100.0);
    let spinner = format!("{} ", spinner(state));
    // The time has priority over the bar, and the bar over the end of a long name.
    let beside = width(&spinner) + 2 + width(&after) + width(&left);
    let drawn = if beside + BAR + STAGE <= room { bar(share, BAR, state.view.glyphs) } else { String::new() };
    let stage = fit(&printable(&p.stage), room.saturating_sub(beside + width(&drawn))).into_owned();
    Line::from(vec![
        Span::raw(format!("{spinner}{stage} {}", if drawn.is_empty() { "" } else { " " })),
        Span::styled(drawn, theme.style(Role::Bar)),
        Span::styled(after, theme.style(Role::Text)),
        Span::styled(left, theme.style(Role::Text)),
    ])
}

fn prompt(frame: &mut Frame, area: Rect, state: &State) {
    let Some(entry) = &state.view.entry else { return };
    let theme = state.theme();
    let (name, hint) = match &entry.purpose {
        Purpose::Ask(prompt) => (prompt.label.to_owned(), prompt.hint.to_owned()),
        Purpose::Setting(key) => setup::row(state, key).map_or((key.clone(), String::new()), |row| {
            let hint = match &row.kind {
                Kind::Slider { range, unset: Some(word), .. } => format!("{range}, or {word}"),
                Kind::Slider { range, .. } | Kind::Integer(range) => range.to_string(),
                _ => row.help,
            };
            (row.label, hint)
        }),
    };
    let (hint, role) = match &entry.error {
        Some(error) => (format!("  {} {error}", state.view.glyphs.cross()), Role::Error),
        None => (format!("  {hint}"), Role::Dim),
    };
    let cursor = Style::new().add_modifier(ratatui::style::Modifier::REVERSED);
    // A hint is cut in favour of the typed text; the reason for a rejection is not.
    let line = usize::from(area.width).saturating_sub(width(&name) + 5);
    let beside = line.saturating_sub(width(&hint));
    let room = if entry.error.is_some() { beside } else { beside.max(line.min(width(&entry.buffer) + 1)) };
    let (before, under, after) = around(entry, room.max(12));
    let taken = width(&before) + width(&under) + width(&after);
    let hint = Span::styled(fit(&hint, line.saturating_sub(taken)).into_owned(), theme.style(role));
    // Text that the next character would replace is drawn as selected.
    let value = theme.style(if entry.untouched && !entry.buffer.is_empty() { Role::Selection } else { Role::Value });
    let line = Line::from(vec![
        Span::styled(format!(" {name} = "), theme.style(Role::Title)),
        Span::styled(before, value),
        Span::styled(under, cursor),
        Span::styled(after, value),
        hint,
    ]);
    frame.render_widget(line, area);
}

/// The visible part of a text in `room` columns: before, under and after the caret, which always has a column.
fn around(entry: &TextEntry, room: usize) -> (String, String, String) {
    let (before, rest) = entry.buffer.split_at(entry.caret());
    let mut rest = rest.chars();
    let under = rest.next().map_or(" ".to_owned(), String::from);
    // If space is short, the start of the text is cut first, because typing happens at the caret.
    let mut before = before;
    let fits = |before: &str, mark: usize| width(before) + mark + width(&under) <= room + 1;
    let whole = fits(before, 0);
    while !whole && !fits(before, 1) && !before.is_empty() {
        before = before.char_indices().nth(1).map_or("", |(i, _)| &before[i..]);
    }
    let before = if whole { before.to_owned() } else { format!("…{before}") };
    let left = (room + 1).saturating_sub(width(&before) + width(&under));
    let after = fit(rest.as_str(), left).into_owned();
    (before, under, after)
}

/// A key shown in the status line: its text, its word, and the command that a click runs.
struct Item {
    keys: String,
    word: &'static str,
    entry: &'static Entry,
}

impl Item {
    /// Width in columns, including the gap after it.
    fn columns(&self) -> usize {
        width(&self.keys) + 1 + width(self.word) + 2
    }
}

fn items(state: &State, room: usize) -> Vec<Item> {
    let active = contexts(state);
    let mut entries: Vec<_> = COMMANDS
        .iter()
        .filter(|e| active.contains(&e.context) && (e.enabled)(state))
        .filter(|e| e.name != "cancel" || state.busy() || waiting(state).is_some())
        .filter_map(|e| e.footer.map(|(word, rank)| (rank, word, *e)))
        .collect();
    entries.sort_by_key(|(rank, _, _)| *rank);
    let mut items: Vec<Item> = Vec::new();
    for (_, mut word, e) in entries {
        if let (Some(Popup::Pick { picker, selected, .. }), "popup-accept") = (&state.view.popup, e.name) {
            word = picker.does(*selected);
        }
        // Keys overridden by another context are not shown.
        let mine = |k: &&Key| command_of(state, **k).is_some_and(|other| other.name == e.name);
        let key = state.keymap.keys(e.name).iter().find(mine);
        let Some(key) = key.map(ToString::to_string) else { continue };
        if e.name == "next-pane" && state.here().form {
            word = "group";
        }
        match items.iter_mut().find(|i| i.word == word) {
            Some(item) => item.keys = format!("{}/{key}", item.keys),
            None => items.push(Item { keys: key, word, entry: e }),
        }
    }
    let mut used = 0;
    items.retain(|item| {
        let fits = used + item.columns() <= room;
        used += if fits { item.columns() } else { 0 };
        fits
    });
    items
}

fn keys(state: &State, area: Rect) -> Vec<Item> {
    // The progress has a fixed width, so that keys do not appear and disappear with it. Outcomes other than failures are short.
    let room = usize::from(area.width);
    let failed = |job: &Job| matches!(job.outcome, Some(Outcome::Failed(_)));
    let long = state.busy() || waiting(state).is_some() || state.board.job().is_some_and(failed);
    let is_short = !long
        && state.down.is_none()
        && state.followed.is_none()
        && state.replay.as_ref().is_none_or(|r| r.beneath.is_none());
    items(state, room.saturating_sub(if is_short { OUTCOME } else { PROGRESS }.min(room / 2)))
}

/// The command whose key is at a column of the status line.
pub(crate) fn key_at(state: &State, area: Rect, x: u16) -> Option<&'static Entry> {
    let all = keys(state, area);
    let mut start = usize::from(area.right()).saturating_sub(all.iter().map(Item::columns).sum());
    all.into_iter().find_map(|item| {
        let span = start..start + item.columns() - 2;
        start = span.end + 2;
        span.contains(&usize::from(x)).then_some(item.entry)
    })
}

#[cfg(test)]
mod tests;
