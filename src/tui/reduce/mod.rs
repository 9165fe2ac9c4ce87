//! The reducer: the one place where the state changes. No clock, no I/O, no randomness.

mod commands;
mod data;
mod job;
mod models;
mod mouse;
mod popup;
mod replay;
mod typing;

use std::path::PathBuf;

use super::action::{Action, Effect};
use super::commands::contexts;
use super::key::Key;
use super::state::{Recording, State};
use crate::base::Problem;
use crate::base::text::printable;
use crate::engine::message::{Event, Notice, NoticeLevel};

/// Folds an action into the state and says what the loop is to do about it.
pub fn reduce(state: &mut State, action: Action) -> Vec<Effect> {
    let mut effects = Vec::new();
    let redraws_figures = !matches!(
        &action,
        Action::Tick | Action::Resize(..) | Action::Exported(_) | Action::Named(_) | Action::Notice(_)
    ) && !matches!(&action, Action::Event(e) if matches!(**e, Event::Progress { .. } | Event::AnswerProgress { .. } | Event::Notice(_)));
    apply(state, action, &mut effects);
    if redraws_figures {
        state.rebuild_figures();
    }
    effects
}

fn apply(state: &mut State, action: Action, effects: &mut Vec<Effect>) {
    match action {
        Action::Start => job::start(state, effects),
        Action::Key(key) => on_key(state, key, effects),
        Action::Command(command) => commands::perform(state, command, effects),
        Action::Paste(text) => typing::insert(state, &text),
        Action::Mouse(event) => mouse::on_mouse(state, event, effects),
        Action::Resize(columns, rows) => state.view.size = (columns, rows),
        Action::Tick => state.view.ticks = state.view.ticks.wrapping_add(1),
        Action::Event(event) => job::on_event(state, &event, effects),
        Action::EngineGone => {
            let what = "the engine has stopped".into();
            let hint = "save what you need and restart the program".into();
            fail(state, Problem { what, r#where: "engine".into(), hint });
        }
        Action::Played(step) => replay::on_step(state, &step),
        Action::Exported(Ok(paths)) => {
            let names: Vec<String> = paths.iter().map(|p| p.display().to_string()).collect();
            state.view.toast = Some(format!("wrote {}", printable(&shortened(&paths))));
            let what = format!("wrote {}", printable(&names.join(", ")));
            let problem = Problem { what, r#where: "export".into(), hint: String::new() };
            state.notify(Notice { level: NoticeLevel::Info, problem });
        }
        Action::Named(Ok(name)) => {
            state.view.toast = Some(format!("the session is saved as {}", printable(&name)));
            state.recording = Recording::On(name);
        }
        Action::Exported(Err(problem)) | Action::Named(Err(problem)) => fail(state, problem),
        Action::RecordingFailed(problem) => {
            state.recording = Recording::Failed(problem.what.clone());
            fail(state, problem);
        }
        Action::Notice(notice) => state.notify(notice),
    }
}

/// Paths of one stem as that stem with its extensions: `a.png, .svg, .csv`.
fn shortened(paths: &[PathBuf]) -> String {
    let mut text = String::new();
    let mut stem = None;
    for path in paths {
        let extension = path.extension().map(|e| e.to_string_lossy().into_owned());
        match (stem == Some(path.with_extension("")), extension) {
            (true, Some(extension)) => text.push_str(&format!(", .{extension}")),
            _ => {
                let gap = if text.is_empty() { "" } else { ", " };
                let path = path.strip_prefix(".").unwrap_or(path);
                text.push_str(&format!("{gap}{}", path.display()));
            }
        }
        stem = Some(path.with_extension(""));
    }
    text
}

/// Shows a problem at once and keeps it in the notices.
fn fail(state: &mut State, problem: Problem) {
    state.view.toast = Some(printable(&problem.to_string()).into_owned());
    state.notify(Notice { level: NoticeLevel::Error, problem });
}

fn on_key(state: &mut State, key: Key, effects: &mut Vec<Effect>) {
    state.view.toast = None;
    if typing::begins(state, key) {
        return;
    }
    let command = state.keymap.command(key, contexts(state));
    match command {
        Some(command) => commands::perform(state, command, effects),
        None if state.typing() => {
            if let Some(c) = key.character() {
                typing::insert(state, c.encode_utf8(&mut [0; 4]));
            }
        }
        None => {}
    }
}
