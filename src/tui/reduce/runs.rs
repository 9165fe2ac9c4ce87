//! The runs of a lab, and comparison of two of them.

use crate::action::Effect;
use crate::example;
use crate::popups;
use crate::state::{State, moved};
use base::text::{fit, pad, width};
use engine::board::Run;
use engine::message::{Generation, Outcome};
use labs::LabId;
use labs::compared::run_name;

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

/// The number of a run among all runs of the session, whatever their lab or outcome, as in `probity replay --run`, in messages and in the
/// list of sessions.
pub(crate) fn number(state: &State, generation: Generation) -> Option<usize> {
    state.board.runs.iter().position(|run| run.job.generation == generation).map(|place| place + 1)
}

/// Formats the place of the shown run among the runs of its lab: `run 2 of 3`, or `run 2 of 3 in this lab` if the session has runs of other
/// labs; `None` for the only run of a lab.
pub(crate) fn place(state: &State) -> Option<String> {
    let mine: Vec<Generation> = state.board.runs_of(lab(state)?).map(|run| run.job.generation).collect();
    let generation = state.board.run_of(lab(state)?)?.job.generation;
    let at = mine.iter().position(|other| *other == generation).filter(|_| mine.len() > 1)?;
    let only = if mine.len() == state.board.runs.len() { "" } else { " in this lab" };
    Some(format!("run {} of {}{only}", at + 1, mine.len()))
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

/// Says which run a lab shows after its run was cancelled, and how to reach the one before it.
pub(crate) fn tell_of_partial(state: &mut State) {
    let job = state.board.job().filter(|job| job.outcome == Some(Outcome::Cancelled));
    let is_it = |at: usize| at > 0 && job.is_some_and(|job| all(state)[at].job.generation == job.generation);
    if shown(state).is_some_and(is_it) {
        let key = state.keymap.short_label("earlier-run");
        state.view.toast = Some(format!("cancelled: its partial results are shown; {key} shows the run before it"));
    }
}

/// Shows a run by its index, with its settings.
pub(crate) fn show(state: &mut State, place: usize) -> Vec<Effect> {
    let run = all(state).get(place).map(|run| (run.job.generation, run.job.spec.clone()));
    if let (Some((generation, spec)), Some(setup)) = (run, state.screen().setup()) {
        state.board.pick(generation);
        setup.take(state, &spec);
        setup.leave_run(state);
        let name = self::place(state).unwrap_or_else(|| "the only run".into());
        state.view.toast = Some(format!("{name}: {}", words(state, place)));
    }
    Vec::new()
}

/// Formats how a run ended and how long it took: `done in 41.7 s`.
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
        None => "the first run of this lab".to_owned(),
        Some(changes) if changes.is_empty() => "the same settings again".into(),
        Some(changes) => changes.join(", "),
    };
    format!("{}; {changed}", ended(run))
}

/// Formats runs as list lines. The outcome precedes the changed settings, because a narrow screen cuts the end of a line.
pub(crate) fn lines(state: &State, generations: &[Generation]) -> Vec<String> {
    let (all, shown) = (all(state), shown(state));
    let line = |generation: &Generation| {
        let example = || state.beside.as_ref().map_or("", |example| example.day.as_str());
        let Some(place) = all.iter().position(|run| run.job.generation == *generation) else {
            return (run_name(EXAMPLE_NUMBER), format!("recorded on {}", example()));
        };
        // The number in the session, and the number in the lab if they differ.
        let number = number(state, *generation).unwrap_or(EXAMPLE_NUMBER);
        let in_lab = (number != place + 1).then(|| format!("{} in this lab", place + 1));
        let here = (Some(place) == shown).then(|| "shown".to_owned());
        let notes: Vec<String> = in_lab.into_iter().chain(here).collect();
        let notes = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join(", ")) };
        (run_name(number) + &notes, words(state, place))
    };
    let lines: Vec<(String, String)> = generations.iter().map(line).collect();
    let columns = lines.iter().map(|(head, _)| width(head)).max().unwrap_or(0);
    let room = usize::from(state.view.size.0).saturating_sub(columns + FRAME);
    lines.iter().map(|(head, words)| format!("{}  {}", pad(head, columns), fit(words, room))).collect()
}

pub(crate) fn list(state: &mut State) -> Vec<Effect> {
    let at = shown(state).unwrap_or(0);
    popups::pick(state, &popups::Runs, at)
}

/// Generations of the runs that can be compared with the shown one: first the finished runs, starting with the previous run, which is
/// compared most often; then the recorded example; last the unfinished runs.
pub(crate) fn others(state: &State) -> Vec<Generation> {
    let (all, now) = (all(state), shown(state).unwrap_or(0));
    let mut places: Vec<usize> = (0..all.len()).filter(|place| *place != now).collect();
    places.sort_by_key(|place| (*place > now, std::cmp::Reverse(*place)));
    let done = |place: &usize| all[*place].job.outcome == Some(Outcome::Done);
    let (done, others): (Vec<usize>, Vec<usize>) = places.into_iter().partition(done);
    let of = |places: Vec<usize>| places.into_iter().map(|place| all[place].job.generation).collect::<Vec<_>>();
    let example = state.beside.as_ref().map(|_| EXAMPLE);
    of(done).into_iter().chain(example).chain(of(others)).collect()
}

/// True if there is another finished run to compare with.
pub(crate) fn has_finished(state: &State) -> bool {
    let (all, now) = (all(state), shown(state));
    all.iter().enumerate().any(|(place, run)| Some(place) != now && run.job.outcome == Some(Outcome::Done))
}

/// The generation of the recorded example; generations of runs start at 1.
pub(crate) const EXAMPLE: Generation = 0;
/// The number of the recorded example, which is not a run of the session.
const EXAMPLE_NUMBER: usize = 0;

/// True if the shown run can be compared with another one or with the recorded example.
pub(crate) fn can_compare(state: &State) -> bool {
    several(state) || state.replay.is_none() && !all(state).is_empty()
}

/// The run of this generation, with its number (0 for the recorded example).
pub(crate) fn named(state: &State, generation: Generation) -> Option<(usize, &Run)> {
    if generation == EXAMPLE {
        return state.beside.as_ref().map(|example| (EXAMPLE_NUMBER, &example.run));
    }
    let run = all(state).into_iter().find(|run| run.job.generation == generation)?;
    Some((number(state, generation)?, run))
}

/// Asks which run to compare with the shown one. A replay offers only its own runs, not the recorded example.
pub(crate) fn compare(state: &mut State) -> Vec<Effect> {
    let example = lab(state).filter(|_| state.replay.is_none()).and_then(example::recorded);
    state.beside = example;
    popups::pick(state, &popups::Compare, 0)
}
