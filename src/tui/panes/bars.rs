//! The lines above and below the panes: title, tabs, progress, footer.

use ratatui::Frame;
use ratatui::layout::{Alignment, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use crate::base::numbers::{clock, count, seconds, short};
use crate::base::text::{fit, printable, width};
use crate::engine::message::{NoticeLevel, Outcome, Progress};
use crate::tui::commands::{COMMANDS, CommandId, contexts};
use crate::tui::state::{Glyphs, Lab, Pane, Purpose, Recording, State};
use crate::tui::theme::Role;
use crate::tui::widgets::bar::bar;

const LABS: [(Lab, &str); 3] =
    [(Lab::Interventions, " 2 Interventions "), (Lab::Models, " 5 Models "), (Lab::Data, " 6 Data ")];
const NAME: &str = " Probity ";

/// The line on top: name, labs, device, recording.
pub fn title(frame: &mut Frame, area: Rect, state: &State) {
    let theme = state.theme();
    let mut spans = vec![Span::styled(NAME, theme.style(Role::Title))];
    for (lab, name) in LABS {
        let role = if lab == state.view.lab { Role::Selection } else { Role::Dim };
        spans.push(Span::styled(name, theme.style(role)));
    }
    let used: usize = spans.iter().map(Span::width).sum();
    frame.render_widget(Line::from(spans), area);
    let device = state.board.engine.as_ref().map_or("", |e| e.device.as_str());
    let (lamp, role) = lamp(state);
    let room = usize::from(area.width).saturating_sub(used + 2);
    let lamp = fit(&lamp, room).into_owned();
    let device = fit(&printable(device), room.saturating_sub(width(&lamp) + 2)).into_owned();
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

/// The lab whose name stands at a column of the title.
pub fn lab_at(_: &State, x: u16) -> Option<Lab> {
    let mut start = width(NAME);
    LABS.into_iter().find_map(|(lab, name)| {
        let span = start..start + width(name);
        start = span.end;
        span.contains(&usize::from(x)).then_some(lab)
    })
}

/// The tabs of the folded panes.
pub fn tabs(frame: &mut Frame, area: Rect, state: &State) {
    let spans = Pane::ALL.map(|pane| {
        let role = if pane == state.view.focus { Role::Selection } else { Role::Dim };
        let mark = if pane == state.view.focus { "»" } else { " " };
        Span::styled(format!("{mark}{} ", pane.title()), state.theme().style(role))
    });
    frame.render_widget(Line::from(spans.to_vec()), area);
}

/// The pane whose tab stands at a column.
pub fn tab_at(x: u16) -> Option<Pane> {
    let mut start = 0;
    Pane::ALL.into_iter().find(|pane| {
        let span = start..start + pane.title().len() + 2;
        start = span.end;
        span.contains(&usize::from(x))
    })
}

/// The line of progress, of messages and of text fields.
pub fn progress(frame: &mut Frame, area: Rect, state: &State) {
    if state.view.entry.is_some() {
        return prompt(frame, area, state);
    }
    let theme = state.theme();
    let count = state.notices().len();
    let grave = state.notices().iter().any(|n| n.level != NoticeLevel::Info);
    let notices = match count {
        0 => String::new(),
        1 => format!("1 notice ({}) ", state.keymap.label(CommandId::Notices)),
        n => format!("{n} notices ({}) ", state.keymap.label(CommandId::Notices)),
    };
    let role = if grave { Role::Warning } else { Role::Dim };
    let room = usize::from(area.width).saturating_sub(width(&notices) + 2);
    let line = match &state.view.toast {
        Some(toast) => Line::styled(fit(toast, room).into_owned(), theme.style(Role::Title)),
        None => data_line(state, room).unwrap_or_else(|| job_line(state, room)),
    };
    let mut line = line;
    line.spans.insert(0, Span::raw(" "));
    frame.render_widget(line, area);
    let notices = Line::styled(notices, theme.style(role));
    let taken = usize::from(area.width).saturating_sub(notices.width());
    frame.render_widget(notices, right(area, taken));
}

/// How far the answer to a question about data is; in the data lab, and elsewhere while nothing runs.
fn data_line(state: &State, room: usize) -> Option<Line<'static>> {
    let waiting = state.data_waiting().filter(|_| state.view.lab == Lab::Data || !state.busy())?;
    let stopping = state.stopping_data();
    Some(match &waiting.progress {
        Some(progress) => stage_line(state, progress, room, stopping, false),
        None => {
            Line::styled(format!("{} looking at the data", spinner(state)), state.theme().style(Role::Dim))
        }
    })
}

fn job_line(state: &State, room: usize) -> Line<'static> {
    let theme = state.theme();
    let plain = |text: String, role| Line::styled(fit(&text, room).into_owned(), theme.style(role));
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
        None if job.held => {
            plain(format!("held; {} goes on", state.keymap.label(CommandId::Pause)), Role::Warning)
        }
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

/// The text field in place of the progress.
fn prompt(frame: &mut Frame, area: Rect, state: &State) {
    let Some(entry) = &state.view.entry else { return };
    let theme = state.theme();
    let (name, hint) = match entry.purpose {
        Purpose::Session => ("name of the session".to_owned(), String::new()),
        Purpose::Data => ("data set".to_owned(), "file or folder".to_owned()),
        Purpose::Model => ("model".to_owned(), "folder, organisation/name@revision, or name".to_owned()),
        Purpose::Value(row) => {
            let (min, max, whole) = state.range(row);
            let whole = if whole { ", whole" } else { "" };
            (state.field(row).label, format!("{} to {}{whole}", short(min), short(max)))
        }
    };
    let hint = match &entry.error {
        Some(error) => {
            Span::styled(format!("  {} {error}", state.view.glyphs.cross()), theme.style(Role::Error))
        }
        None => Span::styled(format!("  {hint}"), theme.style(Role::Dim)),
    };
    let cursor = Style::new().add_modifier(ratatui::style::Modifier::REVERSED);
    let room = usize::from(area.width).saturating_sub(width(&name) + 5 + hint.width()).max(12);
    // The end of a long text is where one types.
    let mut shown = entry.buffer.as_str();
    while width(shown) > room {
        shown = shown.char_indices().nth(1).map_or("", |(i, _)| &shown[i..]);
    }
    let line = Line::from(vec![
        Span::styled(format!(" {name} = "), theme.style(Role::Title)),
        Span::styled(shown.to_owned(), theme.style(Role::Value)),
        Span::styled(" ", cursor),
        hint,
    ]);
    frame.render_widget(line, area);
}

/// An item of the footer: its text for keys and word, and the command that a click carries out.
struct Item {
    keys: String,
    word: &'static str,
    command: CommandId,
}

/// What the footer offers now, as far as there is room.
fn items(state: &State, room: usize) -> Vec<Item> {
    let active = contexts(state);
    let mut entries: Vec<_> = COMMANDS
        .iter()
        .filter(|e| active.contains(&e.context) && (e.enabled)(state))
        // Where nothing runs, the same key quits, which another word says already.
        .filter(|e| e.id != CommandId::Interrupt || state.busy() || state.data_waiting().is_some())
        .filter_map(|e| e.footer.map(|(word, rank)| (rank, word, e)))
        .collect();
    entries.sort_by_key(|(rank, _, _)| *rank);
    let mut items: Vec<Item> = Vec::new();
    for (_, word, e) in entries {
        // Keys that another context takes away are not shown.
        let key = state.keymap.keys(e.id).iter().find(|k| state.keymap.command(**k, active) == Some(e.id));
        let Some(key) = key.map(ToString::to_string) else { continue };
        match items.iter_mut().find(|i| i.word == word) {
            Some(item) => item.keys = format!("{}/{key}", item.keys),
            None => items.push(Item { keys: key, word, command: e.id }),
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

/// The keys that count now.
pub fn footer(frame: &mut Frame, area: Rect, state: &State) {
    let theme = state.theme();
    let mut spans = vec![Span::raw(" ")];
    for item in items(state, area.width.into()) {
        spans.push(Span::styled(item.keys, theme.style(Role::Key)));
        spans.push(Span::styled(format!(" {}  ", item.word), theme.style(Role::Dim)));
    }
    frame.render_widget(Line::from(spans), area);
}

/// The command whose word stands at a column of the footer.
pub fn footer_at(state: &State, area: Rect, x: u16) -> Option<CommandId> {
    let mut start = usize::from(area.x) + 1;
    items(state, area.width.into()).into_iter().find_map(|item| {
        let span = start..start + width(&item.keys) + 1 + width(item.word);
        start = span.end + 2;
        span.contains(&usize::from(x)).then_some(item.command)
    })
}
