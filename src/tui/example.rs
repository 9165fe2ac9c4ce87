//! The finished run that the first start shows until an own run has an answer: recorded, packed with the program, marked as an example.
//! It is on no board, so it is neither recorded nor compared.

use std::io::Read;

use flate2::read::GzDecoder;

use super::action::Effect;
use super::state::State;
use engine::board::{Board, Run};
use engine::message::Outcome;
use labs::{LabId, LabResults, by_id};
use session::format::{Item, parse_entry};

/// Lines of a session, after a note with the day of the recording.
const PACKED: &[u8] = include_bytes!("../../assets/example.jsonl.gz");

/// A recorded run that is shown before the first one.
#[derive(Debug, Clone)]
pub(crate) struct Example {
    pub(crate) run: Run,
    /// Day of the recording, as `2026-11-27`.
    pub(crate) day: String,
    /// Seconds that the same experiment would take here, once that is known.
    pub(crate) takes: Option<f64>,
}

fn unpacked() -> Option<String> {
    let mut text = String::new();
    GzDecoder::new(PACKED).read_to_string(&mut text).ok().map(|_| text)
}

/// The shipped example; a test checks that it can be read.
pub(crate) fn shipped() -> Option<Example> {
    let (mut board, mut day) = (Board::default(), String::new());
    for line in unpacked()?.lines() {
        let entry = parse_entry(line.as_bytes(), false).ok()?;
        match entry.item {
            Item::Note(note) => day = note,
            _ => entry.fold(&mut board),
        }
    }
    board.runs.pop().map(|run| Example { run, day, takes: None })
}

impl State {
    /// The example, while the shown lab shows it.
    pub(crate) fn example_shown(&self) -> Option<&Example> {
        self.screen().setup().and_then(|setup| self.example_of(setup.lab()))
    }

    /// The example, while it stands in for results of this lab.
    pub(crate) fn example_of(&self, lab: LabId) -> Option<&Example> {
        self.example.as_ref().filter(|example| example.run.job.spec.lab() == lab)
    }

    /// The run of a lab that its screen shows: one of this session, or the example.
    pub(crate) fn shown_run(&self, lab: LabId) -> Option<&Run> {
        self.example_of(lab).map(|example| &example.run).or_else(|| self.board.run_of(lab))
    }

    /// Results that the screen of a lab shows: those of a run of this session, or the example.
    pub(crate) fn results<R: LabResults>(&self) -> &R {
        let example = self.example_of(R::LAB).and_then(|example| R::within(&example.run.results));
        example.unwrap_or_else(|| self.board.results())
    }
}

/// Removes the example once a run of its lab has an answer or has ended without being cancelled, and asks the questions
/// that were skipped meanwhile.
pub(crate) fn give_way(state: &mut State) -> Vec<Effect> {
    let Some(lab) = state.example.as_ref().map(|example| example.run.job.spec.lab()) else { return Vec::new() };
    let over = state.board.run_of(lab).is_some_and(|run| {
        let ended = matches!(run.job.outcome, Some(Outcome::Done | Outcome::Failed(_)));
        ended || !by_id(lab).answer(&run.results, &run.job.spec).says.is_empty()
    });
    if !over {
        return Vec::new();
    }
    state.example = None;
    let setup = super::screens::labs().find_map(|screen| screen.setup().filter(|setup| setup.lab() == lab));
    setup.map_or(Vec::new(), |setup| setup.along(state))
}

#[cfg(test)]
mod tests;
