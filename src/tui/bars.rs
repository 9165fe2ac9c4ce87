//! The lines above and below the panes: title, tabs, progress, footer.

use ratatui::Frame;
use ratatui::layout::{Alignment, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph};

use super::commands::{COMMANDS, Entry, contexts};
use super::key::Key;
use super::layout::Layout;
use super::screen::{Pane, Screen, ScreenId, Waiting};
use super::screens::SCREENS;
use super::setup;
use super::state::{Glyphs, Purpose, Recording, State, TextEntry};
use super::theme::Role;
use super::widgets::bar::bar;
use base::numbers::{clock, count, seconds, short};
use base::text::{fit, printable, width, wrapped};
use engine::message::{NoticeLevel, Outcome, Progress};
use labs::setting::Kind;

const NAME: &str = " Probity ";
/// A message takes at most this many lines.
const TOAST: usize = 4;

/// The name of a screen on its tab, after the key that opens it where that is one character.
fn tab_of(state: &State, screen: &dyn Screen) -> String {
    let key = state.keymap.short_label(screen.tab().name);
    if key.chars().count() == 1 {
        format!(" {key} {} ", screen.title())
    } else {
        format!(" {} ", screen.title())
    }
}

/// The tabs: with their names if these fit, otherwise with their keys alone.
fn screen_tabs(state: &State) -> Vec<(ScreenId, String)> {
    let there = || SCREENS.iter().filter(|s| !s.watches() || state.followed.is_some());
    let all = |of: &dyn Fn(&dyn Screen) -> String| there().map(|s| (s.id(), of(*s))).collect::<Vec<_>>();
    let long = all(&|s| tab_of(state, s));
    let room = usize::from(state.view.size.0).saturating_sub(width(NAME));
    if long.iter().map(|(_, t)| width(t)).sum::<usize>() <= room {
        return long;
    }
    all(&|s| match s.id() == state.view.screen {
        true => tab_of(state, s),
        false => format!(" {} ", state.keymap.short_label(s.tab().name)),
    })
}

/// The line on top: name, screens, device, recording.
pub(crate) fn title(frame: &mut Frame, area: Rect, state: &State) {
    let theme = state.theme();
    let mut spans = vec![Span::styled(NAME, theme.style(Role::Title))];
    for (id, name) in screen_tabs(state) {
        let role = if id == state.view.screen { Role::Selection } else { Role::Dim };
        spans.push(Span::styled(name, theme.style(role)));
    }
    let used: usize = spans.iter().map(Span::width).sum();
    frame.render_widget(Line::from(spans), area);
    let device = state.board.engine.as_ref().map_or("", |e| e.device.as_str());
    let device = state.far.as_ref().map_or(device.to_owned(), |far| format!("{} {device}", far.host));
    let (lamp, role) = lamp(state);
    let room = usize::from(area.width).saturating_sub(used + 2);
    let lamp = fit(&lamp, room).into_owned();
    let device = fit(&printable(&device), room.saturating_sub(width(&lamp) + 2)).into_owned();
    let status = Line::from(vec![
        Span::styled(device, theme.style(Role::Dim)),
        Span::raw("  "),
        Span::styled(lamp, theme.style(role)),
        Span::raw(" "),
    ]);
    frame.render_widget(Paragraph::new(status).alignment(Alignment::Right), right(area, used));
}

fn right(area: Rect, used: usize) -> Rect {
    let used = (used as u16).min(area.width);
    Rect { x: area.x + used, width: area.width - used, ..area }
}

/// What is recorded or replayed.
fn lamp(state: &State) -> (String, Role) {
    let ascii = state.view.glyphs == Glyphs::Ascii;
    if let Some(replay) = state.replay.as_ref().filter(|replay| replay.live) {
        let end = if replay.ended { " end" } else { "" };
        return (
            format!("{} seeing {}{end}", if ascii { "(o)" } else { "◉" }, printable(&replay.name)),
            Role::Recording,
        );
    }
    if let Some(replay) = &state.replay {
        let sign = match (replay.held || replay.ended, ascii) {
            (true, false) => "❚❚",
            (true, true) => "||",
            (false, false) => "▶",
            (false, true) => ">",
        };
        let end = if replay.ended { " end" } else { "" };
        let speed = if replay.speed == 1.0 { String::new() } else { format!(" ×{}", short(replay.speed)) };
        let (at, length) = (clock(replay.at), clock(replay.length));
        return (
            format!("{sign} replay {} {at}/{length}{speed}{end}", printable(&replay.name)),
            Role::Recording,
        );
    }
    match &state.recording {
        Recording::Off => ("not recorded".into(), Role::Dim),
        Recording::On(name) => {
            (format!("{} rec {}", if ascii { "(o)" } else { "●" }, printable(name)), Role::Recording)
        }
        Recording::Failed(_) => (format!("{} recording stopped", state.view.glyphs.cross()), Role::Error),
    }
}

/// The screen whose name is at a column of the title.
pub(crate) fn screen_at(state: &State, x: u16) -> Option<ScreenId> {
    let mut start = width(NAME);
    screen_tabs(state).into_iter().find_map(|(id, name)| {
        let span = start..start + width(&name);
        start = span.end;
        span.contains(&usize::from(x)).then_some(id)
    })
}

/// The tabs of the folded panes.
pub(crate) fn tabs(frame: &mut Frame, area: Rect, state: &State) {
    let span = |pane: &Pane| {
        let here = state.focused(*pane);
        let role = if here { Role::Selection } else { Role::Dim };
        Span::styled(format!("{}{} ", if here { "»" } else { " " }, pane.0), state.theme().style(role))
    };
    frame.render_widget(Line::from(state.screen().panes().iter().map(span).collect::<Vec<_>>()), area);
}

/// The pane whose tab is at a column.
pub(crate) fn tab_at(state: &State, x: u16) -> Option<Pane> {
    let mut start = 0;
    state.screen().panes().iter().copied().find(|pane| {
        let span = start..start + width(pane.0) + 2;
        start = span.end;
        span.contains(&usize::from(x))
    })
}

/// The status line: progress, messages and text fields.
pub(crate) fn progress(frame: &mut Frame, area: Rect, state: &State) {
    if state.view.entry.is_some() {
        return prompt(frame, area, state);
    }
    let theme = state.theme();
    let count = state.notices().len();
    let grave = state.notices().iter().any(|n| n.level != NoticeLevel::Info);
    let notices = match count {
        0 => String::new(),
        1 => format!("1 notice ({}) ", state.keymap.label("notices")),
        n => format!("{n} notices ({}) ", state.keymap.label("notices")),
    };
    let role = if grave { Role::Warning } else { Role::Dim };
    let key = state.keymap.short_label("waiting-runs");
    let queue = match state.queue.len() {
        0 => String::new(),
        1 => format!("1 run waits ({key})  "),
        n => format!("{n} runs wait ({key})  "),
    };
    let room = usize::from(area.width).saturating_sub(width(&queue) + width(&notices) + 2);
    let line = match &state.view.toast {
        // A longer message is drawn over the panes: see [`toast`].
        Some(toast) => Line::styled(fit(toast, room).into_owned(), theme.style(Role::Title)),
        None => down_line(state, room)
            .or_else(|| waiting_line(state, room))
            .unwrap_or_else(|| job_line(state, room)),
    };
    let mut line = line;
    line.spans.insert(0, Span::raw(" "));
    frame.render_widget(line, area);
    let standing = Line::from(vec![
        Span::styled(queue, theme.style(Role::Text)),
        Span::styled(notices, theme.style(role)),
    ]);
    let taken = usize::from(area.width).saturating_sub(standing.width());
    frame.render_widget(standing, right(area, taken));
}

/// A message too long for the status line, wrapped above it.
pub(crate) fn toast(frame: &mut Frame, layout: &Layout, state: &State) {
    let Some(toast) = state.view.toast.as_ref().filter(|_| state.view.entry.is_none()) else { return };
    let room = usize::from(layout.progress.width).saturating_sub(2);
    if width(toast) <= room {
        return;
    }
    let mut lines = wrapped(toast, room);
    lines.truncate(TOAST.min(usize::from(layout.body.height)));
    let rows = lines.len() as u16;
    let area = Rect { y: layout.progress.bottom() - rows, height: rows, ..layout.progress };
    let style = state.theme().style(Role::Title);
    let lines: Vec<Line> = lines.into_iter().map(|l| Line::styled(format!(" {l}"), style)).collect();
    frame.render_widget(Clear, area);
    frame.render_widget(Paragraph::new(lines), area);
}

/// A question that a screen has asked besides the run: the shown screen's, or any screen's while nothing runs.
fn waiting(state: &State) -> Option<Waiting<'_>> {
    let others = SCREENS.iter().filter(|_| !state.busy());
    state.screen().waiting(state).or_else(|| others.filter_map(|s| s.waiting(state)).next())
}

/// That the link is down, and when it is tried again.
fn down_line(state: &State, room: usize) -> Option<Line<'static>> {
    let (down, far) = (state.down?, state.far.as_ref()?);
    let when = match down.next {
        Some(seconds) => format!("tried again in {seconds} s, {} now", state.keymap.short_label("try-link")),
        None => format!("{} trying", spinner(state)),
    };
    let text = format!("no link to {}: {when}; the engine there goes on", printable(&far.host));
    Some(Line::styled(fit(&text, room).into_owned(), state.theme().style(Role::Warning)))
}

fn waiting_line(state: &State, room: usize) -> Option<Line<'static>> {
    let waiting = waiting(state)?;
    Some(match waiting.progress {
        Some(progress) => stage_line(state, progress, room, waiting.stopping, false),
        None => Line::styled(format!("{} {}", spinner(state), waiting.doing), state.theme().style(Role::Dim)),
    })
}

fn job_line(state: &State, room: usize) -> Line<'static> {
    let theme = state.theme();
    let plain = |text: String, role| Line::styled(fit(&text, room).into_owned(), theme.style(role));
    if let Some(followed) = &state.followed {
        return plain(followed.view.summary(), Role::Dim);
    }
    let Some(job) = state.board.job() else {
        let text = if state.board.engine.is_some() { "ready" } else { "the engine is starting" };
        return plain(text.into(), Role::Dim);
    };
    let took = job.seconds.map_or(String::new(), seconds);
    match &job.outcome {
        Some(Outcome::Done) => plain(format!("done in {took}"), Role::Good),
        Some(Outcome::Cancelled) => {
            plain(format!("cancelled after {took}; what was measured stays"), Role::Warning)
        }
        Some(Outcome::Failed(p)) => plain(format!("failed: {}", printable(&p.to_string())), Role::Error),
        None if job.held => plain(format!("paused; {} resumes", state.keymap.label("pause")), Role::Warning),
        None => match &job.progress {
            Some(progress) => stage_line(state, progress, room, state.cancelling.is_some(), true),
            None => plain(format!("{} starting", spinner(state)), Role::Dim),
        },
    }
}

fn spinner(state: &State) -> char {
    let frames: [char; 4] =
        if state.view.glyphs == Glyphs::Ascii { ['|', '/', '-', '\\'] } else { ['◐', '◓', '◑', '◒'] };
    frames[state.view.ticks % frames.len()]
}

fn stage_line(state: &State, p: &Progress, room: usize, stopping: bool, staged: bool) -> Line<'static> {
    let theme = state.theme();
    let share = if p.total == 0 { 0.0 } else { p.done as f64 / p.total as f64 };
    let rate =
        if p.rate > 0.0 { format!("  {} {}/s", count(p.rate), printable(&p.unit)) } else { String::new() };
    let left = p.left.map_or(String::new(), |t| format!("  {} left", seconds(t)));
    let stopping = if stopping { "  stopping" } else { "" };
    let stage = fit(&printable(&p.stage), room * 2 / 5).into_owned();
    let after = format!(" {:>3.0} %{rate}{left}{stopping}", share.clamp(0.0, 1.0) * 100.0);
    // A run has further stages; a question about data has one.
    let overall =
        if staged { format!("  all {:.0} %", p.overall.clamp(0.0, 1.0) * 100.0) } else { String::new() };
    let mut spans = vec![Span::raw(format!("{} {stage} ", spinner(state)))];
    let mut used = spans[0].width();
    for (text, role) in
        [(bar(share, 10, state.view.glyphs), Role::Bar), (after, Role::Text), (overall, Role::Dim)]
    {
        if used + width(&text) > room {
            break;
        }
        used += width(&text);
        spans.push(Span::styled(text, theme.style(role)));
    }
    Line::from(spans)
}

/// The text field, in place of the progress.
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
    let hint = match &entry.error {
        Some(error) => {
            Span::styled(format!("  {} {error}", state.view.glyphs.cross()), theme.style(Role::Error))
        }
        None => Span::styled(format!("  {hint}"), theme.style(Role::Dim)),
    };
    let cursor = Style::new().add_modifier(ratatui::style::Modifier::REVERSED);
    let room = usize::from(area.width).saturating_sub(width(&name) + 5 + hint.width()).max(12);
    let (before, under, after) = around(entry, room);
    let value = theme.style(Role::Value);
    let line = Line::from(vec![
        Span::styled(format!(" {name} = "), theme.style(Role::Title)),
        Span::styled(before, value),
        Span::styled(under, cursor),
        Span::styled(after, value),
        hint,
    ]);
    frame.render_widget(line, area);
}

/// What is shown of a text in `room` columns: before, under and after the caret, which always has a column.
fn around(entry: &TextEntry, room: usize) -> (String, String, String) {
    let (before, rest) = entry.buffer.split_at(entry.caret());
    let mut rest = rest.chars();
    let under = rest.next().map_or(" ".to_owned(), String::from);
    // Typing happens at the caret, so what is before it goes first where there is little room.
    let mut before = before;
    while width(before) + width(&under) > room + 1 && !before.is_empty() {
        before = before.char_indices().nth(1).map_or("", |(i, _)| &before[i..]);
    }
    let left = (room + 1).saturating_sub(width(before) + width(&under));
    let after = fit(rest.as_str(), left).into_owned();
    (before.to_owned(), under, after)
}

/// An item of the footer: its text for keys and word, and the command that a click carries out.
struct Item {
    keys: String,
    word: &'static str,
    entry: &'static Entry,
}

/// What the footer offers now, as much as fits.
fn items(state: &State, room: usize) -> Vec<Item> {
    let active = contexts(state);
    let mut entries: Vec<_> = COMMANDS
        .iter()
        .filter(|e| active.contains(&e.context) && (e.enabled)(state))
        // While nothing runs the same key quits, and the footer already says so with another word.
        .filter(|e| e.name != "cancel" || state.busy() || waiting(state).is_some())
        .filter_map(|e| e.footer.map(|(word, rank)| (rank, word, *e)))
        .collect();
    entries.sort_by_key(|(rank, _, _)| *rank);
    let mut items: Vec<Item> = Vec::new();
    for (_, word, e) in entries {
        // Keys taken over by another context are not shown.
        let mine = |k: &&Key| state.keymap.command(**k, &active).is_some_and(|other| other.name == e.name);
        let key = state.keymap.keys(e.name).iter().find(mine);
        let Some(key) = key.map(ToString::to_string) else { continue };
        match items.iter_mut().find(|i| i.word == word) {
            Some(item) => item.keys = format!("{}/{key}", item.keys),
            None => items.push(Item { keys: key, word, entry: e }),
        }
    }
    let mut used = 1;
    items.retain(|item| {
        let columns = width(&item.keys) + 1 + width(item.word) + 2;
        let fits = used + columns <= room + 2;
        used += if fits { columns } else { 0 };
        fits
    });
    items
}

/// The keys that apply now.
pub(crate) fn footer(frame: &mut Frame, area: Rect, state: &State) {
    let theme = state.theme();
    let mut spans = vec![Span::raw(" ")];
    for item in items(state, area.width.into()) {
        spans.push(Span::styled(item.keys, theme.style(Role::Key)));
        spans.push(Span::styled(format!(" {}  ", item.word), theme.style(Role::Dim)));
    }
    frame.render_widget(Line::from(spans), area);
}

/// The command whose word is at a column of the footer.
pub(crate) fn footer_at(state: &State, area: Rect, x: u16) -> Option<&'static Entry> {
    let mut start = usize::from(area.x) + 1;
    items(state, area.width.into()).into_iter().find_map(|item| {
        let span = start..start + width(&item.keys) + 1 + width(item.word);
        start = span.end + 2;
        span.contains(&usize::from(x)).then_some(item.entry)
    })
}

#[cfg(test)]
mod tests;
