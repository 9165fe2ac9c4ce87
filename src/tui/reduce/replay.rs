//! A recording in place of an engine: what it yields, and how the user steers it.

use crate::engine::message::{Command, Question};
use crate::lab::{self, interventions};
use crate::session::format::Item;
use crate::session::replay::{Step, fold};
use crate::tui::action::{Effect, ReplayControl};
use crate::tui::commands::CommandId;
use crate::tui::state::State;

/// Seconds of a seek.
const SEEK: f64 = 5.0;
/// Slowest and fastest replay that keys lead to.
const SPEEDS: (f64, f64) = (0.125, 64.0);

/// Takes in what the recording yields. The view follows the recorded questions, so that the replay shows what the
/// user saw.
pub(super) fn on_step(state: &mut State, step: &Step) {
    let Some(replay) = &mut state.replay else { return };
    match step {
        Step::Rewound => {
            replay.at = 0.0;
            replay.ended = false;
        }
        Step::Entry(entry) => replay.at = entry.t,
        Step::Ended => {
            replay.at = replay.length;
            replay.ended = true;
        }
    }
    fold(&mut state.board, step);
    if let Step::Entry(entry) = step
        && let Item::Command(command) = &entry.item
    {
        follow(state, command);
    }
}

fn follow(state: &mut State, command: &Command) {
    match command {
        Command::Run { spec, .. } => {
            let lab::Spec::Interventions(spec) = &**spec;
            state.spec = (**spec).clone();
            super::job::settle_view(state);
        }
        Command::Ask { question: Question::Experiment { question, .. }, .. } => {
            let lab::Question::Interventions(interventions::Question::Point(request)) = question;
            state.view.model = request.model.clone();
            state.view.method = request.method.clone();
            state.view.markers.insert(request.method.clone(), request.value);
            state.view.example = request.example;
        }
        _ => {}
    }
}

/// Carries out a command that steers the recording.
pub(super) fn steer(state: &mut State, command: CommandId, effects: &mut Vec<Effect>) {
    let Some(replay) = &mut state.replay else { return };
    let control = match command {
        CommandId::ReplayPause => {
            replay.held = !replay.held;
            ReplayControl::Pause(replay.held)
        }
        CommandId::SeekBack | CommandId::SeekForward => {
            let by = if command == CommandId::SeekBack { -SEEK } else { SEEK };
            replay.at = (replay.at + by).clamp(0.0, replay.length.max(0.0));
            ReplayControl::Seek(replay.at)
        }
        _ => {
            let factor = if command == CommandId::Slower { 0.5 } else { 2.0 };
            replay.speed = (replay.speed * factor).clamp(SPEEDS.0, SPEEDS.1);
            ReplayControl::Speed(replay.speed)
        }
    };
    effects.push(Effect::Replay(control));
}
