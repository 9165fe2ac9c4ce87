//! A recording in place of an engine: what it yields, and how the user steers it.

use crate::engine::board::Board;
use crate::engine::message::Command;
use crate::tui::action::{Effect, Played, ReplayControl};
use crate::tui::commands::CommandId;
use crate::tui::state::State;

/// Seconds of a seek.
const SEEK: f64 = 5.0;
/// Slowest and fastest replay that keys lead to.
const SPEEDS: (f64, f64) = (0.125, 64.0);

/// Takes in what the recording yields. The view follows the recorded questions, so that the replay shows what the
/// user saw.
pub(super) fn on_played(state: &mut State, played: &Played) {
    let Some(replay) = &mut state.replay else { return };
    match played {
        Played::Rewound => {
            replay.at = 0.0;
            replay.ended = false;
            state.board = Board::default();
        }
        Played::Command(t, command) => {
            replay.at = *t;
            state.board.on_command(command);
            follow(state, command);
        }
        Played::Event(t, event) => {
            replay.at = *t;
            state.board.on_event(event);
        }
        Played::Ended => {
            replay.at = replay.length;
            replay.ended = true;
        }
    }
}

fn follow(state: &mut State, command: &Command) {
    match command {
        Command::Run { spec, .. } => {
            state.spec = (**spec).clone();
            super::job::settle_view(state);
        }
        Command::Point(request) => {
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
