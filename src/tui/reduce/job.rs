//! Runs, questions, and quitting the program.

use crate::action::{Effect, Resumed};
use crate::example;
use crate::popups::{self, Picker};
use crate::reduce::{replay, runs};
use crate::screen::Screen;
use crate::screens::{SCREENS, labs};
use crate::setup::{self, Setup};
use crate::state::{Opening, Pending, Popup, State};
use base::Problem;
use base::text::printable;
use engine::board::{Job, Run};
use engine::message::{Command, Event, Generation, Outcome, Question};
use labs::{self, LabId, Spec};
use session::format::{Entry, Item};

/// Starts the program: requests the models, then runs the requested experiment, lists sessions for the opening screen, or shows the first
/// start's example. If the engine has already run something, only the models are requested.
pub(super) fn start(state: &mut State) -> Vec<Effect> {
    let mut effects = Vec::new();
    if state.board.models.is_empty() {
        effects.extend(send(state, Command::ListModels));
    }
    match state.view.opening {
        Opening::Home => effects.push(Effect::ListSessions),
        Opening::First if state.replay.is_none() => {
            state.example = state.setup().and_then(|setup| example::recorded(setup.lab()));
            effects.extend(forecast(state));
        }
        Opening::Work | Opening::First if state.board.job().is_none() => effects.extend(run(state)),
        Opening::Work | Opening::First => {}
    }
    effects
}

/// Estimates how long the first run of the current lab would take: once per lab, with the settings at that time.
pub(crate) fn forecast(state: &mut State) -> Option<Effect> {
    let setup = state.screen().setup().filter(|_| state.replay.is_none() && !state.busy())?;
    let lab = setup.lab();
    let known = state.view.forecasts.iter().any(|(spec, _)| spec.lab() == lab);
    if known || state.board.run_of(lab).is_some() || crate::setup::lacks_models(state) {
        return None;
    }
    let spec = setup.spec(state);
    state.view.forecasts.push((spec.clone(), None));
    Some(Effect::Forecast(Box::new(spec)))
}

/// Sends a command to the engine and to the board, so that a recording of commands and events rebuilds the same board. A replay has no
/// engine.
pub fn send(state: &mut State, command: Command) -> Vec<Effect> {
    if state.replay.is_some() {
        return Vec::new();
    }
    state.board.on_command(&command);
    vec![Effect::Send(command)]
}

/// Sends a question to the engine under a new number. The engine keeps only the models of the latest run, so other runs must be repeated
/// first.
pub fn ask(state: &mut State, question: Question) -> Vec<Effect> {
    if let Question::Experiment { generation, .. } = &question
        && is_past(state, *generation)
    {
        let key = state.keymap.short_label("run");
        let what = format!("another run has replaced this run's models in memory; {key} runs it again");
        state.view.toast = Some(what);
        return Vec::new();
    }
    let ticket = state.board.ticket + 1;
    send(state, Command::Ask { ticket, question })
}

/// True if another run has replaced the models of a run in memory.
fn is_past(state: &State, generation: Generation) -> bool {
    state.replay.is_none() && state.board.job().is_some_and(|latest| latest.generation != generation)
}

/// True if the run that a lab shows can no longer answer questions.
pub(crate) fn is_unloaded(state: &State, lab: LabId) -> bool {
    state.board.run_of(lab).is_some_and(|run| is_past(state, run.job.generation))
}

/// Sends a question to the experiment of a lab's latest run, unless there is none or it failed.
pub(crate) fn ask_run(state: &mut State, lab: LabId, question: labs::Question) -> Vec<Effect> {
    let Some(run) = state.board.run_of(lab) else { return Vec::new() };
    if matches!(run.job.outcome, Some(Outcome::Failed(_))) {
        return Vec::new();
    }
    let generation = run.job.generation;
    ask(state, Question::Experiment { generation, question })
}

/// Runs the experiment of the lab in sight or under the cursor. If another run is in progress, asks what to do with that one. In a replay on top of the program, continues
/// the replayed session instead.
pub fn run(state: &mut State) -> Vec<Effect> {
    if let Some(lab) = state.screen().lab_here(state) {
        state.show(lab);
    }
    if let Some(file) = state.replay.as_ref().and_then(|replay| replay.file.clone()) {
        let spec = state.setup().map(|setup| Box::new(setup.spec(state)));
        return vec![Effect::ResumeSession(file, spec)];
    }
    let Some(spec) = ready(state) else { return Vec::new() };
    if !state.busy() {
        let hash = spec.hash();
        let done = |job: &Job| job.spec_hash == hash && job.outcome == Some(Outcome::Done);
        let again = state.board.run_of(spec.lab()).is_some_and(|run| done(&run.job));
        if again && state.view.pending != Some(Pending::Repeat) {
            state.view.pending = Some(Pending::Repeat);
            let key = state.keymap.short_label("run");
            state.view.toast = Some(format!("nothing has changed since this run; press {key} again to repeat it"));
            return Vec::new();
        }
        return begin(state, spec);
    }
    // A run that is being cancelled needs no decision.
    if state.cancelling.is_some() { wait(state) } else { popups::pick(state, &popups::SecondRun, 0) }
}

/// Returns the lab's experiment if it can run; otherwise shows the reason.
fn ready(state: &mut State) -> Option<Spec> {
    let setup = state.setup().filter(|_| state.replay.is_none())?;
    let spec = setup.spec(state);
    // A local engine reads the same files, so missing ones are reported before the run is queued. A remote engine has other files.
    let reach = || if state.far.is_none() { spec.common().reach("cannot run") } else { Ok(()) };
    if let Err(error) = spec.check("cannot run").and_then(|()| reach()) {
        let hint = "change it in the settings".into();
        state.fail(Problem { what: error.to_string(), r#where: "settings".into(), hint });
        return None;
    }
    setup.take(state, &spec);
    // The form would cover the answer.
    setup::close_form(state);
    Some(spec)
}

/// Queues the lab's experiment behind the run in progress and the waiting ones.
pub fn wait(state: &mut State) -> Vec<Effect> {
    let Some(spec) = ready(state) else { return Vec::new() };
    state.queue.push_back(spec);
    let key = state.keymap.short_label("waiting-runs");
    state.view.toast =
        Some(format!("the run waits for the one in progress to end; {key} lists and withdraws waiting runs"));
    Vec::new()
}

/// Runs the lab's experiment instead of the run in progress, and reports how to show the replaced run.
pub fn replace(state: &mut State) -> Vec<Effect> {
    let Some(spec) = ready(state) else { return Vec::new() };
    let old = state.board.job().filter(|job| job.outcome.is_none()).map(|job| (job.spec.lab(), job.generation));
    if let Some((lab, generation)) = old {
        let (earlier, all) = (state.keymap.short_label("earlier-run"), state.keymap.short_label("runs"));
        let of = if lab == spec.lab() { String::new() } else { format!(" of {}", labs::by_id(lab).title()) };
        let number = runs::number(state, generation).unwrap_or(0);
        state.view.toast = Some(format!(
            "stopped; the results of run {number}{of} are kept: {earlier} shows them, {all} lists all runs"
        ));
    }
    begin(state, spec)
}

/// Withdraws a waiting run by its index in the queue.
pub fn withdraw(state: &mut State, place: usize) -> Vec<Effect> {
    if state.queue.remove(place).is_some() {
        state.view.toast = Some("the run was withdrawn".into());
    }
    Vec::new()
}

/// Sends a run to the engine under a new generation, with its lab's questions.
fn begin(state: &mut State, spec: Spec) -> Vec<Effect> {
    let setup = setup_of(&spec);
    state.cancelling = None;
    let job = state.board.job().map_or(0, |j| j.id) + 1;
    let generation = state.board.generation + 1;
    let mut effects = send(state, Command::Run { job, generation, spec: Box::new(spec) });
    effects.extend(setup.map_or(Vec::new(), |(_, setup)| setup.along(state)));
    effects
}

/// Starts the run that has waited longest. If no run is in progress now, closes a pending question about a second run.
fn next(state: &mut State) -> Vec<Effect> {
    let Some(spec) = state.queue.pop_front() else {
        if state.popup_name() != Some(popups::SecondRun.name()) {
            return Vec::new();
        }
        state.view.popup = None;
        return replace(state);
    };
    // The cursor stays on its run, so that another one is not withdrawn by mistake.
    if let Some(Popup::Pick { picker, selected, .. }) = &mut state.view.popup
        && picker.name() == popups::WaitingRuns.name()
    {
        match selected.checked_sub(1) {
            Some(before) => *selected = before,
            None => state.view.popup = None,
        }
    }
    begin(state, spec)
}

fn setup_of(spec: &Spec) -> Option<(&'static dyn Screen, &'static dyn Setup)> {
    labs().find_map(|s| s.setup().filter(|setup| setup.lab() == spec.lab()).map(|setup| (s, setup)))
}

/// Continues a recorded session: adds its runs before those of this session, and applies its settings. If something has already run here,
/// only the settings are applied.
pub(super) fn resume(state: &mut State, resumed: Resumed) -> Vec<Effect> {
    let Resumed { name, spec, past, gone } = resumed;
    let Some((screen, setup)) = setup_of(&spec) else { return Vec::new() };
    let (run, mut effects) = (state.keymap.label("run"), Vec::new());
    let said = if state.board.runs.is_empty() && state.queue.is_empty() {
        let past = adopt(state, past, &gone);
        // The run whose settings are restored is shown, although it may have been stopped.
        let is_last = |run: &&Run| !run.gone && run.job.spec == spec;
        let last = state.board.runs.iter().rfind(is_last).map(|run| run.job.generation);
        last.into_iter().for_each(|generation| state.board.pick(generation));
        state.example = None;
        let runs = match state.board.runs.len() {
            0 => "it contains no run".to_owned(),
            1 => "its run is restored".to_owned(),
            runs => format!("its {runs} runs are restored"),
        };
        let said = format!("continuing from {}: {runs}; {run} starts the next run", printable(&name));
        effects.push(Effect::Adopt(name, past));
        said
    } else {
        format!("only the settings were restored, because this session already has runs; {run} runs them")
    };
    state.show(screen.id());
    setup.take(state, &spec);
    setup.leave_run(state);
    state.view.toast = Some(said);
    effects
}

/// Adds the entries of another session to the board, except those that describe its engine. Ends an unfinished run as cancelled. Returns
/// the entries added.
fn adopt(state: &mut State, mut past: Vec<Entry>, gone: &[usize]) -> Vec<Entry> {
    past.retain(|entry| {
        let ours = matches!(&entry.item, Item::Event(Event::Ready(_) | Event::Models { .. }));
        !ours && !matches!(&entry.item, Item::Command(Command::ListModels | Command::Shutdown))
    });
    let ticket = state.board.ticket;
    past.iter().for_each(|entry| replay::follow(state, entry));
    gone.iter().for_each(|at| state.board.let_go(*at));
    state.board.ticket = state.board.ticket.max(ticket);
    if let Some(job) = state.board.job().filter(|job| job.outcome.is_none()) {
        let (outcome, seconds) = (Outcome::Cancelled, job.progress.as_ref().map_or(0.0, |p| p.elapsed));
        let ended = Event::Finished { job: job.id, generation: job.generation, outcome, seconds };
        let entry = Entry { t: past.last().map_or(0.0, |e| e.t), item: Item::Event(ended) };
        entry.fold(&mut state.board);
        past.push(entry);
    }
    past
}

pub(super) fn on_event(state: &mut State, event: &Event) -> Vec<Effect> {
    let ran = state.board.running();
    state.board.on_event(event);
    let ended = ran && !state.board.running();
    if ended {
        state.cancelling = None;
        // Messages about the run are obsolete; the status line shows how it ended.
        state.view.toast = None;
        if state.popup_name() == Some("quit") {
            state.view.popup = None;
        }
        if state.quitting {
            return quit(state);
        }
    }
    let mut effects = match event {
        Event::Finding { .. } | Event::Finished { .. } => example::give_way(state),
        _ => Vec::new(),
    };
    for screen in SCREENS {
        effects.extend(screen.on_event(state, event));
    }
    if ended {
        runs::tell_of_partial(state);
        effects.extend(next(state));
    }
    effects
}

pub fn pause(state: &mut State) -> Vec<Effect> {
    let hold = state.board.job().is_some_and(|job| !job.held);
    send(state, Command::Pause { hold })
}

/// Cancels the current screen's question, or else the run, or else any screen's question. Never quits.
pub fn interrupt(state: &mut State) -> Vec<Effect> {
    if let Some(effects) = state.screen().interrupt(state) {
        return effects;
    }
    let key = state.keymap.short_label("quit");
    if state.busy() {
        let running = state.board.job().map(|job| job.id);
        if state.cancelling == running {
            // A user who is waiting for the run to stop before the program quits can quit at once.
            if state.quitting {
                return quit(state);
            }
            state.view.toast = Some(format!("the run is being stopped; {key} quits"));
            return Vec::new();
        }
        let then = if state.queue.is_empty() { "its results so far are kept" } else { "the waiting run begins then" };
        state.view.toast = Some(format!("stopping the run; {then}"));
        return cancel(state);
    }
    if state.replay.as_ref().is_some_and(|replay| replay.beneath.is_some()) {
        let (back, stop) = (state.keymap.short_label("back"), state.keymap.short_label("cancel"));
        state.view.toast = Some(format!("your run goes on; to stop it, return to it with {back}, then press {stop}"));
        return Vec::new();
    }
    let other = SCREENS.iter().find_map(|screen| screen.interrupt(state));
    other.unwrap_or_else(|| {
        state.view.toast = Some(format!("nothing is running; {key} quits"));
        Vec::new()
    })
}

fn cancel(state: &mut State) -> Vec<Effect> {
    let Some(job) = state.board.job().map(|job| job.id) else { return Vec::new() };
    state.cancelling = Some(job);
    send(state, Command::Cancel { job })
}

/// Quits the program, after asking about unsaved work and the run in progress.
pub(crate) fn ask_quit(state: &mut State) -> Vec<Effect> {
    ask_unsaved(state, ask_stop)
}

/// Asks about unsaved work; calls `then` if there is none or if the question is already open.
fn ask_unsaved(state: &mut State, then: fn(&mut State) -> Vec<Effect>) -> Vec<Effect> {
    let asked = state.popup_name() == Some("unsaved");
    if asked || SCREENS.iter().all(|screen| screen.unsaved(state).is_none()) {
        return then(state);
    }
    popups::pick(state, &popups::Unsaved, 0)
}

/// Quits the program, or asks about the run in progress.
pub(crate) fn ask_stop(state: &mut State) -> Vec<Effect> {
    if state.busy() && !state.quitting { popups::pick(state, &popups::Quit, 0) } else { quit(state) }
}

/// Cancels the run, and quits once it has stopped.
pub(crate) fn stop_then_quit(state: &mut State) -> Vec<Effect> {
    state.quitting = true;
    let key = state.keymap.label("cancel");
    state.view.toast = Some(format!("stopping the run, then quitting; {key} quits immediately"));
    cancel(state)
}

pub(crate) fn wait_then_quit(state: &mut State) -> Vec<Effect> {
    state.quitting = true;
    let key = state.keymap.label("cancel");
    state.view.toast = Some(format!("quits when the run has ended; {key} cancels it and quits"));
    Vec::new()
}

/// Quits, but leaves the remote engine running.
pub fn leave(_: &mut State) -> Vec<Effect> {
    vec![Effect::Leave]
}

pub fn quit(state: &mut State) -> Vec<Effect> {
    let mut effects = send(state, Command::Shutdown);
    effects.push(Effect::Quit);
    effects
}

#[cfg(test)]
mod tests;
