//! The runs of a lab, and comparison of two of them.

use crate::action::Effect;
use crate::example;
use crate::popups;
use crate::state::{State, moved};
use base::text::{fit, pad, width};
use engine::board::Run;
use engine::message::Outcome;
use labs::LabId;

/// Columns of a list's border, cursor, and gap after the run number.
const FRAME: usize = 10;

fn lab(state: &State) -> Option<LabId> {
    state.screen().setup().map(|setup| setup.lab())
}

/// The current lab's runs whose results are in memory, in order.
pub(crate) fn all(state: &State) -> Vec<&Run> {
    lab(state).map_or(Vec::new(), |lab| state.board.runs_of(lab).filter(|run| !run.gone).collect())
}

/// Index of the shown run in [`all`].
pub(crate) fn shown(state: &State) -> Option<usize> {
    let generation = state.board.run_of(lab(state)?)?.job.generation;
    all(state).iter().position(|run| run.job.generation == generation)
}

pub(crate) fn several(state: &State) -> bool {
    all(state).len() > 1
}

/// Formats the place of the shown run: `run 2 of 3`; `None` for a single run.
pub(crate) fn place(state: &State) -> Option<String> {
    let of = all(state).len();
    Some(format!("run {} of {of}", shown(state)? + 1)).filter(|_| of > 1)
}

/// Shows a later run, or an earlier one.
pub(crate) fn turn(state: &mut State, by: i64) -> Vec<Effect> {
    let Some(now) = shown(state) else { return Vec::new() };
    let to = moved(now, by, all(state).len());
    if to == now {
        let end = if by > 0 { "latest" } else { "first" };
        state.view.toast = Some(format!("this is the {end} run of this lab"));
        return Vec::new();
    }
    show(state, to)
}

/// Shows a run by its index, with its settings.
pub(crate) fn show(state: &mut State, place: usize) -> Vec<Effect> {
    let run = all(state).get(place).map(|run| (run.job.generation, run.job.spec.clone()));
    if let (Some((generation, spec)), Some(setup)) = (run, state.screen().setup()) {
        state.board.pick(generation);
        setup.take(state, &spec);
        setup.leave_run(state);
        let of = all(state).len();
        state.view.toast = Some(format!("run {} of {of}: {}", place + 1, words(state, place)));
    }
    Vec::new()
}

/// Formats how a run ended and after what time: `done in 41.7 s`.
fn ended(run: &Run) -> String {
    let took = run.job.seconds.map(base::numbers::seconds);
    match (&run.job.outcome, took) {
        (None, _) => "in progress".into(),
        (Some(Outcome::Done), Some(took)) => format!("done in {took}"),
        (Some(Outcome::Done), None) => "done".into(),
        (Some(Outcome::Cancelled), Some(took)) => format!("cancelled after {took}"),
        (Some(Outcome::Cancelled), None) => "cancelled".into(),
        (Some(Outcome::Failed(_)), _) => "failed".into(),
    }
}

/// Formats how a run ended, and which settings changed since the previous one.
pub(crate) fn words(state: &State, place: usize) -> String {
    let all = all(state);
    let Some(run) = all.get(place) else { return String::new() };
    let changed = match place.checked_sub(1).map(|before| labs::changes(&all[before].job.spec, &run.job.spec)) {
        None => "the first run".to_owned(),
        Some(changes) if changes.is_empty() => "the same settings again".into(),
        Some(changes) => changes.join(", "),
    };
    format!("{}; {changed}", ended(run))
}

/// Formats runs as lines of a list: first how each ended, then its changes, which a narrow screen cuts.
pub(crate) fn lines(state: &State, places: &[usize]) -> Vec<String> {
    let shown = shown(state);
    let here = |place: usize| if Some(place) == shown { " (shown)" } else { "" };
    let heads: Vec<String> = places.iter().map(|place| format!("run {}{}", place + 1, here(*place))).collect();
    let columns = heads.iter().map(|head| width(head)).max().unwrap_or(0);
    let room = usize::from(state.view.size.0).saturating_sub(columns + FRAME);
    let line =
        |(head, place): (&String, &usize)| format!("{}  {}", pad(head, columns), fit(&words(state, *place), room));
    heads.iter().zip(places).map(line).collect()
}

pub(crate) fn list(state: &mut State) -> Vec<Effect> {
    let at = shown(state).unwrap_or(0);
    popups::pick(state, &popups::Runs, at)
}

/// Indices of the runs to compare the shown one with: finished ones first, starting with the previous run, the most frequent choice.
pub(crate) fn others(state: &State) -> Vec<usize> {
    let (all, now) = (all(state), shown(state).unwrap_or(0));
    let mut places: Vec<usize> = (0..all.len()).filter(|place| *place != now).collect();
    let done = |place: usize| all[place].job.outcome == Some(Outcome::Done);
    places.sort_by_key(|place| (!done(*place), *place > now, std::cmp::Reverse(*place)));
    places
}

/// The number of the recorded example; numbers of runs start at 1.
pub(crate) const EXAMPLE: u64 = 0;

/// True if the shown run can be compared with another one or with the recorded example.
pub(crate) fn can_compare(state: &State) -> bool {
    several(state) || state.replay.is_none() && !all(state).is_empty()
}

/// The run of this generation with its number in the list (0 for the recorded example).
pub(crate) fn named(state: &State, generation: u64) -> Option<(usize, &Run)> {
    if generation == EXAMPLE {
        return state.beside.as_ref().map(|example| (0, &example.run));
    }
    let mut all = all(state).into_iter().enumerate();
    all.find(|(_, run)| run.job.generation == generation).map(|(place, run)| (place + 1, run))
}

/// Asks which run to compare the shown one with. The recorded example is the last choice; a replay offers only its own runs.
pub(crate) fn compare(state: &mut State) -> Vec<Effect> {
    let example = lab(state).filter(|_| state.replay.is_none()).and_then(example::recorded);
    state.beside = example;
    popups::pick(state, &popups::Compare, 0)
}
