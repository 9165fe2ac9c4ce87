//! The reducer: the only place where the state changes, without clock, I/O or randomness.

pub mod job;
pub mod look;
mod mouse;
pub mod popup;
pub mod replay;
pub(crate) mod runs;
#[cfg(test)]
mod tests;
pub mod typing;

use std::path::PathBuf;

use crossterm::event::KeyCode;

use super::action::{Action, Effect, Exported, Saved};
use super::commands::{COMMANDS, Context, Entry, command_of, number_of};
use super::key::Key;
use super::panes::table;
use super::popups::{self, Held, Kept};
use super::screens::{SCREENS, labs, screen};
use super::state::{Pending, Popup, Recording, State};
use base::Problem;
use base::text::printable;
use engine::message::{Event, Notice, NoticeLevel};
use session::parts::watch::View;
use session::shelf::{End, Recorded};

pub fn reduce(state: &mut State, action: Action) -> Vec<Effect> {
    let shows = is_shown(&action);
    let is_input = matches!(&action, Action::Key(_) | Action::Mouse(_) | Action::Paste(_) | Action::Command(_));
    let effects = apply(state, action);
    if shows {
        state.view.has_news = !is_input;
        derive(state);
    }
    effects
}

/// True if the action may change what the screens show.
pub(crate) fn is_shown(action: &Action) -> bool {
    !matches!(
        action,
        Action::Tick
            | Action::Resize(..)
            | Action::Down(_)
            | Action::Forecast(..)
            | Action::Exported(_)
            | Action::Writing(..)
            | Action::Named(_)
            | Action::Copied(_)
            | Action::Notice(_)
            | Action::Followed(_)
            | Action::Submitted(_)
    ) && !matches!(action, Action::Event(e) if matches!(**e, Event::Progress { .. } | Event::AnswerProgress { .. } | Event::Notice(_)))
}

/// Updates figures and other data that the screens derive from the state.
pub(crate) fn derive(state: &mut State) {
    for screen in SCREENS {
        screen.refresh(state);
    }
    state.view.has_news = true;
}

/// Applies an action. [`derive`] must follow, once for several actions in a row.
pub(crate) fn apply(state: &mut State, action: Action) -> Vec<Effect> {
    match action {
        Action::Start => return job::start(state),
        Action::Key(key) => {
            let before = state.view.screen;
            let mut effects = on_key(state, key);
            if state.view.screen != before {
                effects.extend(job::forecast(state));
            }
            effects.extend(screen(state.view.screen).read_relations(state));
            return effects;
        }
        Action::Command(name) => return number_of(name).map_or(Vec::new(), |i| perform(state, COMMANDS[i])),
        Action::Paste(text) => return typing::insert(state, &text),
        Action::Mouse(event) => return mouse::on_mouse(state, event),
        Action::Resize(columns, rows) => state.view.size = (columns, rows),
        Action::Tick => tick(state),
        Action::Event(event) => return job::on_event(state, &event),
        Action::Down(down) => state.down = down,
        Action::EngineGone => {
            state.queue.clear();
            let what = "the engine has stopped".into();
            let hint = "save what you need and restart the program".into();
            state.fail(Problem { what, r#where: "engine".into(), hint });
        }
        Action::Played(step) => replay::on_step(state, &step),
        Action::Forecast(spec, seconds) => {
            let known = state.view.forecasts.iter_mut().find(|(of, _)| *of == *spec);
            known.into_iter().for_each(|(_, known)| *known = seconds);
        }
        Action::Relations(of, paths, found) => screen(of).on_relations(state, &paths, found),
        Action::Writing(done, all) => state.view.writing = Some((done, all)),
        Action::Exported(done) => {
            state.view.writing = None;
            match done {
                Ok(done) => exported(state, done),
                Err(problem) => state.fail(problem),
            }
        }
        Action::Saved(Ok(done)) => saved(state, done),
        Action::Loaded(to, Ok(documents)) => return screen(to).on_loaded(state, &documents),
        Action::Sessions(Ok(mut sessions)) => {
            // The session being recorded cannot be continued, and one without runs has nothing to continue.
            let own = |name: &str| matches!(&state.recording, Recording::On(own) if own == name);
            let has_runs = |session: &Recorded| session.runs > 0 || session.end == End::Unreadable;
            sessions.retain(|session| !own(&session.name) && has_runs(session));
            state.sessions = Some(sessions);
        }
        Action::Resumed(resumed) => {
            state.view.reading = None;
            match resumed {
                Ok(resumed) => return job::resume(state, *resumed),
                Err(problem) => state.fail(problem),
            }
        }
        Action::Named(Ok(name)) => {
            state.view.toast = Some(format!("the session is saved as {}", printable(&name)));
            state.recording = Recording::On(name);
        }
        Action::Copied(place) => state.view.toast = Some(place.into()),
        Action::Followed(seen) => followed(state, seen),
        Action::Submitted(done) => submitted(state, done),
        Action::Saved(Err(problem))
        | Action::Loaded(_, Err(problem))
        | Action::Named(Err(problem))
        | Action::Sessions(Err(problem)) => state.fail(problem),
        Action::RecordingFailed(problem) => {
            state.recording = Recording::Failed(problem.what.clone());
            state.fail(problem);
        }
        Action::Notice(notice) => state.notify(notice),
    }
    Vec::new()
}

/// Ticks for which a message is shown: four seconds.
const TOAST: usize = 27;

fn tick(state: &mut State) {
    let view = &mut state.view;
    view.ticks = view.ticks.wrapping_add(1);
    if view.toast_age.0 != view.toast {
        view.toast_age = (view.toast.clone(), 0);
    }
    view.toast_age.1 += 1;
    if view.toast_age.1 > TOAST {
        (view.toast, view.pending) = (None, None);
    }
}

/// Reports the files written for a figure, or asks about existing files that they would replace.
fn exported(state: &mut State, done: Exported) {
    match done {
        Exported::Wrote(paths) => {
            let names: Vec<String> = paths.iter().map(|p| p.display().to_string()).collect();
            state.view.toast = Some(format!(
                "wrote {}",
                printable(&match &paths[..] {
                    // The figures of a report are in a folder next to it.
                    [page, figures @ ..] if page.extension().is_some_and(|e| e == "md") => {
                        let folder = figures.first().and_then(|f| f.parent()).map(|f| f.display().to_string());
                        let of = folder.map_or(String::new(), |f| format!("; figures ({}): {f}", figures.len()));
                        format!("{}{of}", page.display())
                    }
                    _ => shortened(&paths),
                })
            ));
            let what = format!("wrote {}", printable(&names.join(", ")));
            let problem = Problem { what, r#where: "export".into(), hint: String::new() };
            state.notify(Notice { level: NoticeLevel::Info, problem });
        }
        Exported::Exists(export, files) => {
            state.view.toast = None;
            state.view.entry = None;
            state.held = Some(Held { what: Kept::Figure(export), files });
            popups::pick(state, &popups::Overwrite, 0);
        }
    }
}

/// Reports the file written for a document, or asks about an existing file that it would replace.
fn saved(state: &mut State, done: Saved) {
    match done {
        Saved::Wrote(path) => {
            let what = format!("wrote {}", printable(&path.display().to_string()));
            state.view.toast = Some(what.clone());
            let problem = Problem { what, r#where: "save".into(), hint: String::new() };
            state.notify(Notice { level: NoticeLevel::Info, problem });
            SCREENS.iter().for_each(|screen| screen.on_saved(state, &path));
        }
        Saved::Exists(document) => {
            state.view.toast = None;
            state.view.entry = None;
            state.held = Some(Held { files: vec![document.path.clone()], what: Kept::Document(document) });
            popups::pick(state, &popups::Overwrite, 0);
        }
    }
}

/// Stores the progress of the grid; after an error, the previous state remains.
fn followed(state: &mut State, seen: Result<Box<View>, Problem>) {
    let Some(followed) = &mut state.followed else { return };
    match seen {
        Ok(view) => (followed.view, followed.problem) = (*view, None),
        Err(problem) => followed.problem = Some(problem),
    }
}

/// Reports the resubmitted cells, or why there are none.
fn submitted(state: &mut State, done: Result<String, Problem>) {
    if let Some(followed) = &mut state.followed {
        followed.submitting = false;
    }
    match done {
        Ok(said) => {
            state.view.toast = Some(printable(&said).into_owned());
            let problem = Problem { what: said, r#where: "submit".into(), hint: String::new() };
            state.notify(Notice { level: NoticeLevel::Info, problem });
        }
        Err(problem) => state.fail(problem),
    }
}

/// Shortens paths with a common stem: `/a/b.png, .svg, .csv`.
fn shortened(paths: &[PathBuf]) -> String {
    let mut text = String::new();
    let mut stem = None;
    for path in paths {
        let extension = path.extension().map(|e| e.to_string_lossy().into_owned());
        match (stem == Some(path.with_extension("")), extension) {
            (true, Some(extension)) => text.push_str(&format!(", .{extension}")),
            _ => {
                let gap = if text.is_empty() { "" } else { ", " };
                text.push_str(&format!("{gap}{}", path.display()));
            }
        }
        stem = Some(path.with_extension(""));
    }
    text
}

/// Commands that are disabled for an example, because they would export its results as the session's.
const OF_OWN: [&str; 4] = ["export", "report", "copy", "provenance"];

/// Commands on panes that the form hides.
const BEHIND_THE_FORM: [&str; 4] = ["sort", "sort-direction", "next-figure", "previous-figure"];

/// Executes a command, or shows why it cannot be used now. Commands of a menu close it.
pub(super) fn perform(state: &mut State, command: &Entry) -> Vec<Effect> {
    if let (Some(Popup::Menu { .. }), Context::Menu(_)) = (&state.view.popup, command.context) {
        state.view.popup = None;
    }
    if state.example_shown().is_some() && OF_OWN.contains(&command.name) {
        state.view.toast = Some(format!("{}: this is a recorded example, not one of your runs", command.title));
        return Vec::new();
    }
    if (command.enabled)(state) {
        return (command.run)(state);
    }
    if state.view.popup.is_some() {
        let name = |name| state.keymap.short_label(name);
        let filter = if popups::filters(state) { format!("{} filters, ", name("popup-filter")) } else { String::new() };
        state.view.toast =
            Some(format!("{}: not available in this popup; {filter}{} closes", command.title, name("popup-close")));
        return Vec::new();
    }
    let why = match () {
        () if state.here().form && BEHIND_THE_FORM.contains(&command.name) => {
            format!(
                "not available while the settings fill the screen; {} closes them",
                state.keymap.short_label("back")
            )
        }
        () if command.name.starts_with("sort") => table::unsorted(state),
        () if ["run", "home-resume"].contains(&command.name) && state.replay.is_none() => {
            let keys: Vec<String> = labs().map(|lab| state.keymap.short_label(lab.tab().name)).collect();
            format!("choose a lab first: {}", keys.join(", "))
        }
        () if command.name == "later-run" && runs::shown(state).is_some() => {
            "this is the latest run of this lab".into()
        }
        () if command.name == "earlier-run" && runs::shown(state).is_some() => {
            "this is the first run of this lab".into()
        }
        () if state.replay.is_some() && command.name == "compare-runs" => {
            "this lab has only one run in the recording".into()
        }
        () if state.replay.as_ref().is_some_and(|replay| replay.example) => {
            let leave = state.keymap.short_label("example");
            format!("not in the recorded example; {leave} goes back to your own runs")
        }
        () if state.replay.is_some() => "not available in a replay, which computes nothing".into(),
        () => match state.screen().setup().map(|setup| state.board.run_of(setup.lab())) {
            None => "not available on this screen".into(),
            Some(None) => format!("not available before a run; {} starts one", state.keymap.short_label("run")),
            Some(Some(run)) if run.job.outcome.is_none() => "not available here yet".into(),
            Some(Some(_)) if command.name == "compare-runs" => {
                format!(
                    "this lab has only one run; change a setting, and {} makes another",
                    state.keymap.short_label("run")
                )
            }
            Some(Some(_)) if command.name == "filter" => "not available for this list".into(),
            Some(Some(_)) => "not available here".to_owned(),
        },
    };
    state.view.toast = Some(format!("{}: {why}", command.title));
    if command.name == "filter" {
        state.view.pending = Some(Pending::Filter);
    }
    Vec::new()
}

/// Ignores the letters typed for a rejected filter, up to `enter`, so that they are not executed as commands.
fn is_ignored(state: &mut State, key: Key) -> bool {
    if state.view.pending != Some(Pending::Filter) || state.view.popup.is_some() {
        return false;
    }
    if key.code == KeyCode::Enter {
        state.view.pending = None;
        return true;
    }
    if key.character().is_none() {
        return false;
    }
    let back = state.keymap.short_label("back");
    state.view.toast = Some(format!("there is no list to filter here, so {key} is ignored; {back} ends this"));
    true
}

fn on_key(state: &mut State, key: Key) -> Vec<Effect> {
    state.view.toast = None;
    if is_ignored(state, key) {
        return Vec::new();
    }
    let pending = state.view.pending;
    let effects = act(state, key);
    // If the key did not set a new pending command, the old one is done.
    if state.view.pending == pending {
        state.view.pending = None;
    }
    effects
}

fn act(state: &mut State, key: Key) -> Vec<Effect> {
    let lab = state.view.lab;
    state.place_mut(lab).refused = None;
    match command_of(state, key) {
        Some(command) => return perform(state, command),
        None if state.typing() => {
            if let Some(c) = key.character() {
                return typing::insert(state, c.encode_utf8(&mut [0; 4]));
            }
        }
        None if state.view.popup.is_none() => {
            let help = state.keymap.short_label("help");
            state.view.toast = Some(format!("{key} does nothing here; {help} shows the keys"));
        }
        None => {
            let key_of = |name| state.keymap.short_label(name);
            let (accept, close) = (key_of("popup-accept"), key_of("popup-close"));
            let choose = if state.picking() { format!("{accept} chooses, ") } else { String::new() };
            state.view.toast = Some(format!("{key} does nothing here; {choose}{close} closes"));
        }
    }
    Vec::new()
}
