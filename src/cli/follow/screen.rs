//! `probity --follow DIR`: shows all shards of a grid on the screen as one live session.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::EVERY;
use super::found::{Found, Told};
use crate::error::CliError;
use crate::submit::again;
use crate::tui::{TuiArgs, look, open_with, outside};
use base::Problem;
use session::parts::folder::Folder;
use session::parts::watch::Watch;
use session::replay::Step;
use tui::action::Action;
use tui::outside::Submitter;
use tui::run::Source;
use tui::state::{Followed, ReplayState};

/// Maximum number of results waiting for the screen. It keeps the reader of a large folder from running ahead of the screen.
const QUEUE: usize = 256;

/// Opens the screen on a local or a remote folder.
///
/// # Errors
/// [`CliError::Usage`] for a folder that does not belong to a grid, [`CliError::Failed`] if the host or the terminal
/// fails.
pub fn live(args: &TuiArgs, dir: &Path) -> Result<(), CliError> {
    #[cfg(unix)]
    if let Some(address) = &args.far.remote {
        let (sender, receiver) = channel(QUEUE);
        let (there, folder) = (address.clone(), dir.to_owned());
        start(move || far::feed(&there, &folder, &sender))?;
        let (there, folder) = (address.clone(), dir.display().to_string());
        let submit = move || {
            let arguments = ["submit", "--again", "--out", &folder].map(str::to_owned);
            crate::submit::far::command(&there, false, &arguments, &[]).map_err(|e| problem(&e, &there.to_string()))
        };
        return show(args, receiver, (Some(address.host().to_owned()), dir), Arc::new(submit));
    }
    let folder = Folder::open(dir)?;
    let (sender, receiver) = channel(QUEUE);
    start(move || feed(&folder, &sender))?;
    let place = PathBuf::from(dir);
    let submit = move || again::submit(&place).map_err(|e| problem(&e, &place.display().to_string()));
    show(args, receiver, (None, dir), Arc::new(submit))
}

fn start(work: impl FnOnce() + Send + 'static) -> Result<(), CliError> {
    let started = std::thread::Builder::new().name("follow".into()).spawn(work);
    started.map(|_| ()).map_err(|e| CliError::Failed(format!("cannot start: {e}")))
}

fn problem(error: &CliError, place: &str) -> Problem {
    Problem::new(
        error.message().unwrap_or_else(|| error.to_string()),
        place,
        "run `probity submit --again --out DIR` in a shell instead",
    )
}

/// Opens the screen after the first message, because until then ssh may ask for a password on this terminal.
fn show(
    args: &TuiArgs,
    mut actions: Receiver<Action>,
    (host, dir): (Option<String>, &Path),
    submit: Submitter,
) -> Result<(), CliError> {
    let mut notices = Vec::new();
    let mut start = look(&args.look, &mut notices)?;
    let view = match actions.blocking_recv() {
        Some(Action::Followed(Ok(view))) => *view,
        Some(Action::Followed(Err(problem))) => return Err(CliError::Failed(problem.what)),
        _ => return Err(CliError::Failed(format!("{}: cannot be read", dir.display()))),
    };
    let whole = if host.is_none() { std::path::absolute(dir).ok() } else { None };
    let dir = whole.unwrap_or_else(|| dir.to_owned());
    let called = dir.file_name().map_or("/".into(), |n| n.to_string_lossy().into_owned());
    start.replay = Some(ReplayState { live: true, ..ReplayState::new(called, 0.0, 1.0) });
    start.followed = Some(Followed { host, dir: dir.display().to_string(), view, problem: None, submitting: false });
    open_with(Source::Followed(actions), start, notices, !args.look.no_mouse, tui::run::Outside { submit, ..outside() })
}

/// Reads the folder until the screen closes, and sends the results of finished cells.
fn feed(folder: &Folder, actions: &Sender<Action>) {
    let mut watch = Watch::default();
    let mut found = Found::new(folder, &BTreeSet::new());
    let mut last = None;
    while !actions.is_closed() {
        let seen = match Folder::open(folder.dir()) {
            Ok(there) if there.head == folder.head => Ok(Box::new(watch.look(folder))),
            Ok(_) => Err(problem_of(folder, "a different grid has replaced it", "open it again")),
            Err(error) => Err(problem_of(folder, &error.to_string(), "the last known state is shown")),
        };
        // The state is sent first, because the screen opens only once it has one.
        if last.as_ref() != Some(&seen) && actions.blocking_send(Action::Followed(seen.clone())).is_err() {
            return;
        }
        let play = |told| action(told).map_or(Ok(()), |action| actions.blocking_send(action));
        // The loop ends when the screen has closed.
        let behind = seen.as_ref().is_ok_and(|view| found.tell(view, play).unwrap_or_default());
        last = Some(seen);
        if !behind {
            std::thread::sleep(EVERY);
        }
    }
}

fn problem_of(folder: &Folder, what: &str, hint: &str) -> Problem {
    Problem::new(what, folder.dir().display().to_string(), hint)
}

/// Converts a message to an action; `None` for the end of a cell.
fn action(told: Told) -> Option<Action> {
    match told {
        Told::View(view) => Some(Action::Followed(Ok(view))),
        Told::Entry(entry) => Some(Action::Played(Step::Entry(entry))),
        Told::Whole(_) => None,
    }
}

#[cfg(unix)]
mod far {
    //! Feeds the screen through ssh.

    use std::ops::ControlFlow;

    use super::{Action, Path, Problem, Sender};
    use remote::{Address, RemoteError};

    /// Sends the output of the remote `probity follow` to the screen until the screen closes.
    pub(super) fn feed(address: &Address, dir: &Path, actions: &Sender<Action>) {
        let told = |what: String, hint: &str| {
            let problem = Problem::new(what, address.to_string(), hint);
            actions.blocking_send(Action::Followed(Err(problem))).is_ok()
        };
        let take = |told| match super::action(told).map_or(Ok(()), |action| actions.blocking_send(action)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        };
        let broke = |error: &RemoteError| told(error.to_string(), "Probity is reconnecting");
        if let Err(error) = super::super::far::watch(address, dir, (Some("--keep"), true), take, broke) {
            told(error.message().unwrap_or_default(), "the last known state is shown");
        }
    }
}
