//! Replay commands, and the application of recorded entries.

use crate::action::{Effect, ReplayControl};
use crate::popups::{self, Picker};
use crate::screens::SCREENS;
use crate::state::{Prompt, ReplayState, State};
use base::numbers::seconds;
use engine::message::Command;
use ratatui::text::Line;
use session::format::{Entry, Item};
use session::replay::{Step, fold};

/// Distance of one seek step, in seconds.
pub(crate) const SEEK: f64 = 5.0;
/// Minimum and maximum speed that keys can set.
const SPEEDS: (f64, f64) = (0.125, 64.0);

/// Applies an entry of the recording. The view follows recorded commands, so that it shows what the user saw.
pub(super) fn on_step(state: &mut State, step: &Step) {
    let Some(replay) = &mut state.replay else { return };
    match step {
        Step::Rewound => {
            replay.at = 0.0;
            replay.ended = false;
        }
        Step::Entry(entry) => replay.at = entry.t,
        Step::LetGo(_) => {}
        Step::Ended => {
            replay.at = replay.length;
            (replay.ended, replay.opening) = (true, false);
        }
    }
    if let Step::Entry(entry) = step
        && let Some(mark) = mark(replay, entry)
        && !replay.marks.contains(&mark)
    {
        replay.marks.push(mark);
        replay.marks.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    match step {
        Step::Entry(entry) => follow(state, entry),
        Step::Rewound | Step::LetGo(_) | Step::Ended => fold(&mut state.board, step),
    }
}

/// The timeline mark of an entry: the start of a run, or a note.
fn mark(replay: &ReplayState, entry: &Entry) -> Option<(f64, String)> {
    let text = match &entry.item {
        Item::Command(Command::Run { spec, .. }) => {
            let earlier = replay.marks.iter().filter(|(t, text)| *t < entry.t && text.starts_with("run "));
            format!("run {}: {}", earlier.count() + 1, labs::by_id(spec.lab()).asks(spec))
        }
        Item::Note(note) => format!("note: {note}"),
        _ => return None,
    };
    Some((entry.t, text))
}

/// Picker of the marks of a recording; choosing one seeks to it.
pub(crate) struct Timeline;

impl Picker for Timeline {
    fn name(&self) -> &'static str {
        "timeline"
    }

    fn title(&self, state: &State) -> String {
        format!("Timeline: {} jumps there", state.keymap.short_label("popup-accept"))
    }

    fn lines(&self, state: &State, selected: usize) -> Vec<Line<'static>> {
        let marks = state.replay.iter().flat_map(|replay| &replay.marks);
        popups::entries(state, selected, marks.map(|(t, text)| format!("{:>10}  {text}", seconds(*t))))
    }

    fn take(&self, state: &mut State, entry: usize) -> Vec<Effect> {
        let Some(replay) = &mut state.replay else { return Vec::new() };
        let Some((t, _)) = replay.marks.get(entry) else { return Vec::new() };
        replay.at = *t;
        vec![Effect::Replay(ReplayControl::Seek(*t))]
    }
}

pub(crate) static NOTE: Prompt = Prompt {
    label: "note",
    hint: "added at this point in the session",
    take: |state, text| match text.trim() {
        "" => Err("type a note".into()),
        text => {
            state.view.toast = Some("noted".into());
            Ok(vec![Effect::Note(text.to_owned())])
        }
    },
    follow: None,
};

/// Applies one entry of a recording, or of a remote engine's log from before this screen attached.
pub fn follow(state: &mut State, entry: &Entry) {
    entry.fold(&mut state.board);
    if let Item::Command(command) = &entry.item {
        for screen in SCREENS {
            screen.follow(state, command);
        }
    }
}

/// Pauses or resumes the replay; at the end, restarts it.
pub fn pause(state: &mut State) -> Vec<Effect> {
    let Some(replay) = &mut state.replay else { return Vec::new() };
    if replay.ended && !replay.live {
        (replay.at, replay.held) = (0.0, false);
        return vec![Effect::Replay(ReplayControl::Seek(0.0)), Effect::Replay(ReplayControl::Pause(false))];
    }
    replay.held = !replay.held;
    vec![Effect::Replay(ReplayControl::Pause(replay.held))]
}

/// Seeks by a number of seconds, forwards or backwards.
pub fn seek(state: &mut State, by: f64) -> Vec<Effect> {
    let Some(replay) = &mut state.replay else { return Vec::new() };
    replay.at = (replay.at + by).clamp(0.0, replay.length.max(0.0));
    vec![Effect::Replay(ReplayControl::Seek(replay.at))]
}

pub fn pace(state: &mut State, factor: f64) -> Vec<Effect> {
    let Some(replay) = &mut state.replay else { return Vec::new() };
    replay.speed = (replay.speed * factor).clamp(SPEEDS.0, SPEEDS.1);
    vec![Effect::Replay(ReplayControl::Speed(replay.speed))]
}
