//! Title line and tabs, above the panes.

use ratatui::Frame;
use ratatui::layout::{Alignment, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::screen::{Pane, Screen, ScreenId};
use super::screens::SCREENS;
use super::state::{Glyphs, Recording, State};
use super::theme::Role;
use base::numbers::{clock, short};
use base::text::{fit, printable, width};

const NAME: &str = " Probity ";
/// Minimum width for the recording status, in columns.
const LAMP: usize = 10;

/// The tab of a screen: its name, preceded by its key if that is one character.
fn tab_of(state: &State, screen: &dyn Screen) -> String {
    let key = state.keymap.short_label(screen.tab().name);
    if key.chars().count() == 1 { format!("{key} {}", screen.title()) } else { screen.title().to_owned() }
}

/// The text before the tabs, and the tabs: with names if these leave `LAMP` columns (set closer together if needed), otherwise with keys
/// only.
fn screen_tabs(state: &State) -> (&'static str, Vec<(ScreenId, String)>) {
    let there = || SCREENS.iter().filter(|s| !s.watches() || state.followed.is_some());
    let all = |of: &dyn Fn(&dyn Screen) -> String| there().map(|s| (s.id(), of(*s))).collect::<Vec<_>>();
    let long = all(&|s| format!(" {} ", tab_of(state, s)));
    let close = all(&|s| format!(" {}", tab_of(state, s)));
    let room = usize::from(state.view.size.0);
    let taken = |tabs: &[(ScreenId, String)]| tabs.iter().map(|(_, t)| width(t)).sum::<usize>();
    if width(NAME) + taken(&long) <= room {
        return (NAME, long);
    }
    // The name of a remote machine is more important than screen names.
    if taken(&close) + LAMP <= room && state.far.is_none() {
        return ("", close);
    }
    let keys = all(&|s| match s.id() == state.view.screen {
        true => format!(" {} ", tab_of(state, s)),
        false => format!(" {} ", state.keymap.short_label(s.tab().name)),
    });
    (NAME, keys)
}

pub(crate) fn title(frame: &mut Frame, area: Rect, state: &State) {
    let theme = state.theme();
    let (name, tabs) = screen_tabs(state);
    let mut spans = vec![Span::styled(name, theme.style(Role::Title))];
    for (id, name) in tabs {
        let role = if id == state.view.screen { Role::Selection } else { Role::Dim };
        spans.push(Span::styled(name, theme.style(role)));
    }
    let used: usize = spans.iter().map(Span::width).sum();
    frame.render_widget(Line::from(spans), area);
    let device = state.board.engine.as_ref().map_or("", |e| e.device.as_str());
    let device = state.far.as_ref().map_or(device.to_owned(), |far| format!("{} {device}", far.host));
    let (forms, role) = lamp(state);
    let room = usize::from(area.width).saturating_sub(used + 2);
    let fitting = forms.iter().find(|form| width(form) <= room).or(forms.last());
    let lamp = fitting.map_or(String::new(), |form| fit(form, room).into_owned());
    let left = room.saturating_sub(width(&lamp) + 2);
    let device = printable(&device);
    let short = device.split(" (").next().unwrap_or_default();
    let device = match left {
        _ if left < LAMP => String::new(),
        _ if width(&device) <= left => device.into_owned(),
        _ => fit(short, left).into_owned(),
    };
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

/// Status of the recording or replay as text, from the longest form to the shortest, and its role.
fn lamp(state: &State) -> (Vec<String>, Role) {
    let ascii = state.view.glyphs == Glyphs::Ascii;
    if let Some(replay) = state.replay.as_ref().filter(|replay| replay.live) {
        let end = if replay.ended { " end" } else { "" };
        let viewing = format!("{} viewing {}{end}", if ascii { "(o)" } else { "◉" }, printable(&replay.name));
        return (vec![viewing], Role::Recording);
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
        if replay.example {
            let back = state.keymap.short_label("back");
            let forms = [format!("EXAMPLE, not your run: {back} returns"), format!("EXAMPLE: {back} returns")];
            return (forms.into_iter().chain(["EXAMPLE".to_owned()]).collect(), Role::Recording);
        }
        let (at, length) = (clock(replay.at), clock(replay.length));
        let forms = [
            format!("{sign} replay {} {at}/{length}{speed}{end}", printable(&replay.name)),
            format!("{sign} replay {at}/{length}{speed}{end}"),
            format!("{sign} {}{at}/{length}", if replay.ended { "replay " } else { "" }),
            // At the end, the position matters less than the fact that this is a replay.
            if replay.ended { "replay".into() } else { format!("{sign} {at}") },
        ];
        return (forms.to_vec(), Role::Recording);
    }
    match &state.recording {
        Recording::Off => (vec!["not saved".into()], Role::Dim),
        Recording::On(_) if state.board.runs.is_empty() => {
            (vec!["nothing to save yet".into(), "not saved".into()], Role::Dim)
        }
        // A truncated name would be useless.
        Recording::On(_) if state.view.size.0 < 100 => (vec!["saved".into()], Role::Dim),
        Recording::On(name) => (vec![format!("saved as {}", printable(name))], Role::Dim),
        Recording::Failed(_) => (vec![format!("{} recording stopped", state.view.glyphs.cross())], Role::Error),
    }
}

/// The screen whose tab is at a column.
pub(crate) fn screen_at(state: &State, x: u16) -> Option<ScreenId> {
    let (name, tabs) = screen_tabs(state);
    let mut start = width(name);
    tabs.into_iter().find_map(|(id, name)| {
        let span = start..start + width(&name);
        start = span.end;
        span.contains(&usize::from(x)).then_some(id)
    })
}

/// The visible pane of each slot.
fn folded(state: &State) -> Vec<Pane> {
    state.screen().slots().iter().map(|slot| state.here().shown(slot)).collect()
}

pub(crate) fn tabs(frame: &mut Frame, area: Rect, state: &State) {
    let span = |pane: &Pane| {
        let here = state.focused(*pane);
        let role = if here { Role::Selection } else { Role::Dim };
        Span::styled(format!("{}{} ", if here { "»" } else { " " }, pane.0), state.theme().style(role))
    };
    frame.render_widget(Line::from(folded(state).iter().map(span).collect::<Vec<_>>()), area);
}

/// The pane whose tab is at a column.
pub(crate) fn tab_at(state: &State, x: u16) -> Option<Pane> {
    let mut start = 0;
    folded(state).into_iter().find(|pane| {
        let span = start..start + width(pane.0) + 2;
        start = span.end;
        span.contains(&usize::from(x))
    })
}

#[cfg(test)]
mod tests;
