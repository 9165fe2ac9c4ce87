//! Runs, questions beside them, and the end of the program.

use crate::base::Problem;
use crate::engine::message::{Command, Event, Question};
use crate::lab::Spec;
use crate::tui::action::Effect;
use crate::tui::popups;
use crate::tui::screens::{SCREENS, labs};
use crate::tui::state::State;

/// Asks for the models and runs the first experiment.
pub(super) fn start(state: &mut State) -> Vec<Effect> {
    let mut effects = send(state, Command::ListModels);
    effects.extend(run(state));
    effects
}

/// Sends a command to the engine. The board takes it in here, so that a recording of commands and events rebuilds the
/// same board. A replay has no engine.
pub fn send(state: &mut State, command: Command) -> Vec<Effect> {
    if state.replay.is_some() {
        return Vec::new();
    }
    state.board.on_command(&command);
    vec![Effect::Send(command)]
}

/// Asks the engine, under a new number.
pub fn ask(state: &mut State, question: Question) -> Vec<Effect> {
    let ticket = state.board.ticket + 1;
    send(state, Command::Ask { ticket, question })
}

/// Runs the lab's experiment as it is set up, under a new generation.
pub fn run(state: &mut State) -> Vec<Effect> {
    let Some(setup) = state.setup().filter(|_| state.replay.is_none()) else { return Vec::new() };
    let mut spec = setup.spec(state);
    spec.common_mut().renew();
    if let Err(error) = spec.check("setup") {
        let hint = "change it in the setup pane".into();
        state.fail(Problem { what: error.to_string(), r#where: "run".into(), hint });
        return Vec::new();
    }
    state.cancelling = None;
    setup.take(state, &spec);
    let job = state.board.job().map_or(0, |j| j.id) + 1;
    let generation = state.board.generation + 1;
    let mut effects = send(state, Command::Run { job, generation, spec: Box::new(spec) });
    effects.extend(setup.along(state));
    effects
}

/// Sets a lab up as a recorded session ran it last, and shows it.
pub(super) fn resume(state: &mut State, spec: &Spec) {
    let lab =
        labs().find_map(|s| s.setup().filter(|setup| setup.lab() == spec.lab()).map(|setup| (s, setup)));
    if let Some((screen, setup)) = lab {
        state.show(screen.id());
        setup.take(state, spec);
        let run = state.keymap.label("run");
        state.view.toast = Some(format!("set up as the session was; {run} runs it"));
    }
}

/// Takes in an event of the engine.
pub(super) fn on_event(state: &mut State, event: &Event) -> Vec<Effect> {
    let ran = state.board.running();
    state.board.on_event(event);
    let ended = ran && !state.board.running();
    if ended {
        state.cancelling = None;
        // What a message said of the run is past; the line of progress says how it ended.
        state.view.toast = None;
        if state.popup_name() == Some("quit") {
            state.view.popup = None;
        }
        if state.quitting {
            return quit(state);
        }
    }
    let mut effects = Vec::new();
    for screen in SCREENS {
        effects.extend(screen.on_event(state, event));
    }
    effects
}

/// Pauses or resumes the run.
pub fn pause(state: &mut State) -> Vec<Effect> {
    let hold = state.board.job().is_some_and(|job| !job.held);
    send(state, Command::Pause { hold })
}

/// Cancels what the shown screen has asked, or the run, or what any screen has asked; where there is nothing of the kind,
/// or when asked again, ends the program.
pub fn interrupt(state: &mut State) -> Vec<Effect> {
    if let Some(effects) = state.screen().interrupt(state) {
        return effects;
    }
    if state.busy() {
        let running = state.board.job().map(|job| job.id);
        if state.cancelling == running {
            return quit(state);
        }
        state.view.toast = Some("cancelling the run; once more quits".into());
        return cancel(state);
    }
    let other = SCREENS.iter().find_map(|screen| screen.interrupt(state));
    other.unwrap_or_else(|| quit(state))
}

/// Asks the engine to stop the run.
fn cancel(state: &mut State) -> Vec<Effect> {
    let Some(job) = state.board.job().map(|job| job.id) else { return Vec::new() };
    state.cancelling = Some(job);
    send(state, Command::Cancel { job })
}

/// Ends the program, or asks what to do about the run in progress.
pub fn ask_quit(state: &mut State) -> Vec<Effect> {
    if state.busy() && !state.quitting { popups::pick(state, &popups::Quit, 0) } else { quit(state) }
}

/// Stops the run and ends the program once it has stopped.
pub fn stop_then_quit(state: &mut State) -> Vec<Effect> {
    state.quitting = true;
    let key = state.keymap.label("cancel");
    state.view.toast = Some(format!("stopping the run, then quitting; {key} quits at once"));
    cancel(state)
}

/// Ends the program.
pub fn quit(state: &mut State) -> Vec<Effect> {
    let mut effects = send(state, Command::Shutdown);
    effects.push(Effect::Quit);
    effects
}
