//! A recording in place of an engine: what it yields, and how the user controls it.

use crate::action::{Effect, ReplayControl};
use crate::screens::SCREENS;
use crate::state::State;
use session::format::{Entry, Item};
use session::replay::{Step, fold};

/// Seconds of a seek.
pub(crate) const SEEK: f64 = 5.0;
/// Slowest and fastest speed that the keys can set.
const SPEEDS: (f64, f64) = (0.125, 64.0);

/// Takes in what the recording yields. The view follows the recorded commands, so that the replay shows what the
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
    match step {
        Step::Entry(entry) => follow(state, entry),
        Step::Rewound | Step::Ended => fold(&mut state.board, step),
    }
}

/// Takes in a line of a recording, or of what an engine far away did before this screen came.
pub fn follow(state: &mut State, entry: &Entry) {
    entry.fold(&mut state.board);
    if let Item::Command(command) = &entry.item {
        for screen in SCREENS {
            screen.follow(state, command);
        }
    }
}

/// Pauses or resumes the replay.
pub fn pause(state: &mut State) -> Vec<Effect> {
    let Some(replay) = &mut state.replay else { return Vec::new() };
    replay.held = !replay.held;
    vec![Effect::Replay(ReplayControl::Pause(replay.held))]
}

/// Jumps by a number of seconds, forward or back.
pub fn seek(state: &mut State, by: f64) -> Vec<Effect> {
    let Some(replay) = &mut state.replay else { return Vec::new() };
    replay.at = (replay.at + by).clamp(0.0, replay.length.max(0.0));
    vec![Effect::Replay(ReplayControl::Seek(replay.at))]
}

/// Multiplies the speed.
pub fn pace(state: &mut State, factor: f64) -> Vec<Effect> {
    let Some(replay) = &mut state.replay else { return Vec::new() };
    replay.speed = (replay.speed * factor).clamp(SPEEDS.0, SPEEDS.1);
    vec![Effect::Replay(ReplayControl::Speed(replay.speed))]
}
