//! Draws the panes of the opening screen.

use ratatui::Frame;
use ratatui::layout::Rect;

use super::{LABS, MODELS, SESSIONS, answering, listing};
use crate::layout::inside;
use crate::panes::listing::ending;
use crate::panes::{message, pane_block, table};
use crate::setup;
use crate::state::{Recording, State};
use crate::theme::Role;
use base::numbers::count;
use base::text::{fit, pad, printable, width};
use labs::LabId;
use session::shelf::Recorded;

const NAME: usize = 14;
/// Columns of the model list's border, focus mark and filter key.
const TITLE: usize = 18;
/// Column heading for a session's last finished run, with a shorter form for narrow screens.
const LAST_RUN: [&str; 2] = ["last finished run", "last run"];
/// Width of a session's date and time, in columns.
const DATE: usize = 18;

pub(crate) fn labs(frame: &mut Frame, area: Rect, state: &State) {
    frame.render_widget(pane_block(state, LABS, "What do you want to know?"), area);
    let all: Vec<_> = answering().collect();
    let entry = |i: usize| {
        let (screen, question) = all[i];
        let key = state.keymap.short_label(screen.tab().name);
        format!("{} {}{question}", pad(&key, 5), pad(screen.title(), NAME))
    };
    let header = format!("{} {}question", pad("key", 5), pad("screen", NAME));
    let inner = inside(area);
    listing(state, LABS).draw(frame, inner, state, &header, entry);
}

pub(crate) fn sessions(frame: &mut Frame, area: Rect, state: &State) {
    let key = |name| state.keymap.short_label(name);
    let title = format!("Continue a session: {} restores its runs, {} replays it", key("home-resume"), key("open"));
    frame.render_widget(pane_block(state, SESSIONS, &table::titled(state, SESSIONS, &title, area.width)), area);
    let inner = inside(area);
    let all = super::sessions(state);
    if all.is_empty() {
        let is_kept = matches!(state.recording, Recording::On(_)) && !state.board.runs.is_empty();
        let text = match state.sessions {
            Some(_) if is_kept => "this session is listed here after the program ends".into(),
            Some(_) => format!("no session has been saved yet; {} goes to the questions above", key("previous-pane")),
            None => "looking for sessions".into(),
        };
        return message(frame, inner, &table::empty(state, SESSIONS, text), state.theme().style(Role::Dim));
    }
    let ends: Vec<String> = all.iter().map(|session| end(session)).collect();
    let last = ends.iter().map(|end| width(end)).max().unwrap_or(0);
    let room = usize::from(inner.width).saturating_sub(2 + DATE + last + 1);
    // The column of the last run shrinks in favour of the name, down to the width of its heading.
    let most = room.saturating_sub(LAST_RUN[1].len() + 2);
    let name = all.iter().map(|session| width(&session.name)).max().unwrap_or(0).clamp(8, most.max(8)) + 1;
    let what = room.saturating_sub(name).max(LAST_RUN[1].len() + 1);
    let last_run = LAST_RUN.into_iter().find(|head| head.len() < what).unwrap_or_default();
    let header = format!("{}{}{}end", pad("name", name), pad("began (UTC)", DATE), pad(last_run, what));
    let entry = |i: usize| {
        let session = &all[i];
        let shown = ending(&printable(&session.name), name - 1);
        // Seconds do not help to identify a session.
        let date = session.created.get(..16).unwrap_or(&session.created).replace('T', " ");
        let lab = LabId::named(&session.lab).map_or(session.lab.as_str(), |id| labs::by_id(id).title());
        let of = if session.about.is_empty() { lab.to_owned() } else { format!("{lab}: {}", session.about) };
        let (date, of) = (pad(&printable(&date), DATE), pad(&fit(&printable(&of), what - 1), what));
        format!("{}{date}{of}{}", pad(&shown, name), ends[i])
    };
    listing(state, SESSIONS).draw(frame, inner, state, &header, entry);
}

/// Formats how the last run ended, and the number of runs if there are several: `done`, or `3 runs, cancelled`.
fn end(session: &Recorded) -> String {
    match session.runs {
        0 | 1 => session.end.word().to_owned(),
        runs => format!("{runs} runs, {}", session.end.word()),
    }
}

/// Draws the available models, marking those selected for the lab's next run.
pub(crate) fn models(frame: &mut Frame, area: Rect, state: &State) {
    let title = setup::ticked_models(state, usize::from(area.width).saturating_sub(TITLE));
    let title = table::titled(state, MODELS, title.as_deref().unwrap_or(MODELS.0), area.width);
    frame.render_widget(pane_block(state, MODELS, &title), area);
    let inner = inside(area);
    let all = super::models(state);
    if all.is_empty() {
        let text = "the engine has not listed its models yet".into();
        return message(frame, inner, &table::empty(state, MODELS, text), state.theme().style(Role::Dim));
    }
    let name = usize::from(inner.width).saturating_sub(6 + 16).max(10);
    let header = format!("    {}{}params", pad("model", name), pad("family", 8));
    let entry = |i: usize| {
        let (model, on) = &all[i];
        let sign = state.view.glyphs.check(*on);
        let known = state.board.models.iter().find(|m| m.name == *model);
        let facts =
            known.map_or(String::new(), |m| format!("{}{}", pad(&printable(&m.family), 8), count(m.parameters as f64)));
        format!("{} {}{facts}", pad(sign, 3), pad(&ending(&printable(model), name - 1), name))
    };
    listing(state, MODELS).draw(frame, inner, state, &header, entry);
}
