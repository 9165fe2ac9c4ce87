//! Runs, points and the end of the program.

use std::collections::BTreeMap;

use super::{data, fail};
use crate::base::Problem;
use crate::engine::message::{Command, Event, Outcome, Question};
use crate::lab::interventions::{self, question::PointQuestion};
use crate::lab::spec::LabSpec;
use crate::tui::action::Effect;
use crate::tui::state::{Popup, State};

/// Asks for the models and runs the first experiment.
pub(super) fn start(state: &mut State, effects: &mut Vec<Effect>) {
    send(state, effects, Command::ListModels);
    run(state, effects);
}

/// Sends a command to the engine. The board takes it in here, so that a recording of commands and events rebuilds the
/// same board. A replay has no engine.
pub(super) fn send(state: &mut State, effects: &mut Vec<Effect>, command: Command) {
    if state.replay.is_none() {
        state.board.on_command(&command);
        effects.push(Effect::Send(command));
    }
}

/// Runs the experiment as it is set up, under a new generation.
pub(super) fn run(state: &mut State, effects: &mut Vec<Effect>) {
    if state.replay.is_some() {
        return;
    }
    if let Err(error) = state.spec.check("setup") {
        let hint = "change it in the setup pane".into();
        fail(state, Problem { what: error.to_string(), r#where: "run".into(), hint });
        return;
    }
    state.cancelling = None;
    settle_view(state);
    let job = state.board.job().map_or(0, |j| j.id) + 1;
    let generation = state.board.generation + 1;
    let spec = Box::new(state.spec.clone().into());
    send(state, effects, Command::Run { job, generation, spec });
    ask_point(state, effects);
}

/// Keeps model and oracle of the view among those that the setup names.
pub(super) fn settle_view(state: &mut State) {
    if !state.spec.models.contains(&state.view.model) {
        state.view.model = state.spec.models.first().cloned().unwrap_or_default();
    }
    if !state.spec.probe.oracles.contains(&state.view.oracle)
        && let Some(first) = state.spec.probe.oracles.first()
    {
        state.view.oracle = *first;
    }
}

/// Asks for the point at the marker; the answer to an older question no longer counts.
pub(super) fn ask_point(state: &mut State, effects: &mut Vec<Effect>) {
    let failed = |outcome: &Option<Outcome>| matches!(outcome, Some(Outcome::Failed(_)));
    if state.board.job().is_none_or(|job| failed(&job.outcome)) {
        return;
    }
    let options = state.method_spec().map_or(BTreeMap::new(), |m| m.options.clone());
    let point = PointQuestion {
        model: state.view.model.clone(),
        method: state.view.method.clone(),
        options,
        value: state.marker(),
        example: state.view.example,
    };
    let question = interventions::Question::Point(point).into();
    ask(state, effects, Question::Experiment { generation: state.board.generation, question });
}

/// Asks the engine, under a new number.
pub(super) fn ask(state: &mut State, effects: &mut Vec<Effect>, question: Question) {
    let ticket = state.board.ticket + 1;
    send(state, effects, Command::Ask { ticket, question });
}

/// Takes in an event of the engine.
pub(super) fn on_event(state: &mut State, event: &Event, effects: &mut Vec<Effect>) {
    let ran = state.board.running();
    state.board.on_event(event);
    if state.cancelling_data.is_some() && state.data_waiting().is_none() {
        state.cancelling_data = None;
        state.view.toast = None;
    }
    if !ran || state.board.running() {
        return;
    }
    state.cancelling = None;
    // What a message said of the run is past; the line of progress says how it ended.
    state.view.toast = None;
    if matches!(state.view.popup, Some(Popup::Quit { .. })) {
        state.view.popup = None;
    }
    if state.quitting {
        quit(state, effects);
    } else if state.awaiting_point() && matches!(event, Event::Finished { outcome: Outcome::Done, .. }) {
        // The question came before the probes that answer it; now they are there.
        ask_point(state, effects);
    }
}

/// Holds the run, or lets it go on.
pub(super) fn pause(state: &mut State, effects: &mut Vec<Effect>) {
    let hold = state.board.job().is_some_and(|job| !job.held);
    send(state, effects, Command::Pause { hold });
}

/// Cancels the run in progress, or what is asked about data; where there is neither, or when asked again, ends the program.
pub(super) fn interrupt(state: &mut State, effects: &mut Vec<Effect>) {
    if data::interrupt(state, effects) {
        return;
    }
    let running = state.board.job().filter(|_| state.busy()).map(|job| job.id);
    match running {
        Some(job) if state.cancelling != Some(job) => {
            cancel(state, effects);
            state.view.toast = Some("cancelling the run; once more quits".into());
        }
        _ => quit(state, effects),
    }
}

/// Asks the engine to stop the run.
fn cancel(state: &mut State, effects: &mut Vec<Effect>) {
    if let Some(job) = state.board.job().map(|job| job.id) {
        state.cancelling = Some(job);
        send(state, effects, Command::Cancel { job });
    }
}

/// Ends the program, or asks what to do about the run in progress.
pub(super) fn ask_quit(state: &mut State, effects: &mut Vec<Effect>) {
    if state.busy() && !state.quitting {
        state.view.popup = Some(Popup::Quit { selected: 0 });
    } else {
        quit(state, effects);
    }
}

/// Answers the question of [`ask_quit`].
pub(super) fn answer_quit(state: &mut State, choice: usize, effects: &mut Vec<Effect>) {
    match choice {
        0 => {
            state.quitting = true;
            state.view.toast = Some("stopping the run, then quitting; Ctrl-C quits at once".into());
            cancel(state, effects);
        }
        1 => quit(state, effects),
        _ => {}
    }
}

fn quit(state: &mut State, effects: &mut Vec<Effect>) {
    send(state, effects, Command::Shutdown);
    effects.push(Effect::Quit);
}
