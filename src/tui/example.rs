//! The recorded example of each lab, shipped with the program. It can be shown at any time and compared with runs of the session. The first
//! start shows it until a run has an answer. It is not on the board, so it is not recorded.

use std::borrow::Cow;
use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;

use super::action::Effect;
use super::screens;
use super::setup::Setup;
use super::state::State;
use base::Problem;
use engine::board::{Board, Run};
use engine::message::{Answer, Event, Outcome};
use labs::{LabId, LabResults, Results, by_id};
use session::SessionError;
use session::format::{Item, Session};

/// The final findings of the default experiment, as a packed session.
pub(crate) const PACKED: &[u8] = include_bytes!("../../assets/example.jsonl.gz");
/// The first bytes of a gzip file.
const MAGIC: [u8; 2] = [0x1f, 0x8b];

#[derive(Debug, Clone)]
pub(crate) struct Example {
    pub(crate) run: Run,
    /// The answer to each question of the recording; the run's results contain only the last one.
    pub(crate) answers: Vec<Results>,
    /// Date of the recording, such as `2026-11-27`.
    pub(crate) day: String,
}

fn setup_of(lab: LabId) -> Option<&'static dyn Setup> {
    screens::labs().find_map(|screen| screen.setup().filter(|setup| setup.lab() == lab))
}

fn unpacked(bytes: &'static [u8]) -> std::io::Result<Cow<'static, [u8]>> {
    if !bytes.starts_with(&MAGIC) {
        return Ok(bytes.into());
    }
    let mut out = Vec::new();
    GzDecoder::new(bytes).read_to_end(&mut out).map(|_| out.into())
}

/// Opens the example of a lab as a session, with its name.
pub(crate) fn session(lab: LabId) -> Result<(String, Session), Problem> {
    let name = format!("the recorded example of {}", by_id(lab).title());
    let bytes = setup_of(lab).map_or(&[][..], |setup| setup.example());
    let read = |source| SessionError::Read { path: name.clone().into(), source };
    let session = unpacked(bytes).map_err(read).and_then(|bytes| Session::parse(&bytes, Path::new(&name)));
    let problem = |error: SessionError| Problem {
        what: error.to_string(),
        r#where: name.clone(),
        hint: "install the program again".into(),
    };
    Ok((name.clone(), session.map_err(problem)?))
}

/// The run in a lab's example; a test checks that all examples can be parsed.
pub(crate) fn recorded(lab: LabId) -> Option<Example> {
    let (_, session) = session(lab).ok()?;
    let (mut board, mut answers) = (Board::default(), Vec::new());
    for entry in session.entries() {
        if let Item::Event(Event::Answer { ticket, answer: Answer::Experiment { findings, .. } }) = &entry.item {
            let mut results = Results::new(lab);
            results.answer(*ticket, findings);
            answers.push(results);
        }
        entry.fold(&mut board);
    }
    let day = session.header.created.chars().take(10).collect();
    board.runs.pop().map(|run| Example { run, answers, day })
}

/// True if the screen shows a lab, so that the lab's example can be shown or closed.
pub(crate) fn is_offered(state: &State) -> bool {
    state.screen().setup().is_some() && state.replay.as_ref().is_none_or(|replay| replay.example)
}

/// Shows the example of the lab on top of the program, or closes it.
pub(crate) fn toggle(state: &mut State) -> Vec<Effect> {
    match &state.replay {
        Some(_) => vec![Effect::Quit],
        None => state.screen().setup().map_or(Vec::new(), |setup| vec![Effect::OpenExample(setup.lab())]),
    }
}

impl State {
    /// True if the screen shows an example, in place of results or as a replay.
    pub(crate) fn shows_example(&self) -> bool {
        self.example_shown().is_some() || self.replay.as_ref().is_some_and(|replay| replay.example)
    }

    /// The example shown in place of results of the current lab.
    pub(crate) fn example_shown(&self) -> Option<&Example> {
        self.screen().setup().and_then(|setup| self.example_of(setup.lab()))
    }

    /// The example shown in place of results of this lab.
    pub(crate) fn example_of(&self, lab: LabId) -> Option<&Example> {
        self.example.as_ref().filter(|example| example.run.job.spec.lab() == lab)
    }

    /// The run shown on a lab's screen: this session's, or the example's.
    pub(crate) fn shown_run(&self, lab: LabId) -> Option<&Run> {
        self.example_of(lab).map(|example| &example.run).or_else(|| self.board.run_of(lab))
    }

    /// The results that the screen of a lab shows: this session's, or the example's.
    pub(crate) fn results<R: LabResults>(&self) -> &R {
        let example = self.example_of(R::LAB).and_then(|example| R::within(&example.run.results));
        example.unwrap_or_else(|| self.board.results())
    }
}

/// Removes the example once a run of its lab has an answer or has ended without being cancelled. Then sends the questions that were
/// skipped while the example was shown.
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
    setup_of(lab).map_or(Vec::new(), |setup| setup.along(state))
}

#[cfg(test)]
mod tests;
