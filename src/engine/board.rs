//! The board: all measurements so far, as a fold over commands and events.
//!
//! The live program, the headless run and the replay of a session all use this one fold, so a replay shows exactly what the live run
//! showed.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::data::DataAnswer;
pub use super::data::DataDossier;
use super::inspection::{CheckRow, Inspection};
use super::message::{
    Answer, Command, EngineInfo, Event, Generation, JobId, ModelAnswer, ModelInfo, ModelQuestion, Notice, NoticeLevel,
    Outcome, Progress, Question, Ticket,
};
use base::Problem;
use labs::LabResults;
use labs::family::Family;
use labs::results::replace;
use labs::{Body, Common, Forecast, LabId, Results, Spec, SummaryFinding, Tagged};

/// Maximum number of notices kept; the oldest are dropped first.
const MAX_NOTICES: usize = 200;
/// Maximum number of final findings kept in all runs; above it, the results of the oldest runs are dropped.
pub const MOST_HELD: usize = 30_000;

/// All measurements of a session: a fold over sent [`Command`]s and received [`Event`]s, with no clock and no I/O.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Board {
    /// Description of the engine; `None` until its first message.
    pub engine: Option<EngineInfo>,
    pub models: Vec<ModelInfo>,
    /// Questions about single models and their answers, ordered by first question.
    pub dossiers: Vec<Questions>,
    /// Questions about data sets and their answers, ordered by first question.
    pub sets: Vec<DataDossier>,
    pub ticket: Ticket,
    /// Every run of every lab, in starting order.
    pub runs: Vec<Run>,
    /// The run that the user selected for display in each lab; not part of the measurements.
    #[serde(skip)]
    pub picked: Vec<(LabId, Generation)>,
    /// Generation of the current or last run.
    pub generation: Generation,
    /// Every comparison shown, from all labs.
    pub family: Family,
    /// Notices, oldest first.
    pub notices: VecDeque<Notice>,
    /// The run generation in which each notice arrived, in the same order.
    #[serde(skip)]
    pub notices_of: VecDeque<Generation>,
    /// Number of notices that arrived before the latest run began.
    #[serde(default)]
    pub before: usize,
    /// Number of events that were dropped because they belonged to older generations.
    pub stale: u64,
    /// Indices of future runs whose results will not be kept.
    #[serde(skip)]
    pub unwanted: Vec<usize>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    pub job: Job,
    /// Number of the latest question about the run; 0 before the first.
    pub asked: Ticket,
    pub results: Results,
    pub summary: Option<Tagged<SummaryFinding>>,
    /// Number of final findings in this run's results.
    #[serde(skip)]
    pub held: usize,
    /// True if the results have been dropped. If there are many runs, only the latest keep their results.
    #[serde(skip)]
    pub gone: bool,
}

/// Questions about one model and their answers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Questions {
    pub model: String,
    pub inspection: Option<Inspection>,
    /// Comparison with the reference numbers in the model's folder.
    pub check: Option<Vec<CheckRow>>,
    /// The reason why the latest question could not be answered.
    pub problem: Option<Problem>,
    /// The unanswered question.
    pub waiting: Option<ModelQuestion>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    pub id: JobId,
    pub generation: Generation,
    pub spec: Spec,
    pub spec_hash: String,
    pub progress: Option<Progress>,
    /// The forecasts received so far for the run's models.
    #[serde(default)]
    pub forecasts: Vec<Forecast>,
    /// `None` while the run is in progress.
    pub outcome: Option<Outcome>,
    /// Wall-clock time in seconds; `None` while the run is in progress.
    pub seconds: Option<f64>,
    /// True while the run is paused.
    pub held: bool,
}

impl Job {
    /// The completed proportion of the run, from 0 to 1; `None` before the first report.
    pub fn share_done(&self) -> Option<f64> {
        self.progress.as_ref().map(|progress| progress.overall)
    }
}

impl Board {
    pub fn on_command(&mut self, command: &Command) {
        match command {
            Command::Run { job, generation, spec } => self.begin(*job, *generation, spec),
            Command::Ask { ticket, question } => {
                self.ticket = *ticket;
                self.on_question(*ticket, question);
            }
            Command::Pause { hold } => {
                if let Some(run) = self.latest_mut() {
                    run.job.held = *hold;
                }
            }
            Command::ListModels | Command::Cancel { .. } | Command::Withdraw { .. } | Command::Shutdown => {}
        }
    }

    fn begin(&mut self, id: JobId, generation: Generation, spec: &Spec) {
        self.generation = generation;
        self.before = self.notices.len();
        let job = Job {
            id,
            generation,
            spec_hash: spec.hash(),
            spec: spec.clone(),
            progress: None,
            forecasts: Vec::new(),
            outcome: None,
            seconds: None,
            held: false,
        };
        // A superseded run is over; its own end event will arrive later and be stale.
        for run in self.runs.iter_mut().filter(|run| run.job.outcome.is_none()) {
            run.job.outcome = Some(Outcome::Cancelled);
        }
        let lab = spec.lab();
        let gone = self.unwanted.contains(&self.runs.len());
        self.unwanted.retain(|at| *at > self.runs.len());
        let run = Run { job, asked: 0, results: Results::new(lab), summary: None, held: 0, gone };
        self.picked.retain(|(of, _)| *of != lab);
        over(self.runs.iter().map(|run| run.held)).into_iter().for_each(|at| self.let_go(at));
        self.runs.push(run);
    }

    /// Drops the results of a run. If the run has not begun, its results will not be kept; its comparisons will.
    pub fn let_go(&mut self, at: usize) {
        match self.runs.get_mut(at) {
            Some(old) => (old.results, old.held, old.gone) = (Results::new(old.job.spec.lab()), 0, true),
            None => self.unwanted.push(at),
        }
    }

    fn on_question(&mut self, ticket: Ticket, question: &Question) {
        match question {
            Question::Experiment { generation, .. } => {
                if let Some(run) = self.runs.iter_mut().find(|r| r.job.generation == *generation) {
                    run.asked = ticket;
                }
            }
            Question::Model { model, what } => self.dossier(model).waiting = Some(*what),
            Question::Data(request) => self.set(&request.set).ask(ticket, request.question),
        }
    }

    /// Folds in an event. Events of an older generation and answers to older questions are dropped and counted.
    pub fn on_event(&mut self, event: &Event) {
        match event {
            Event::Ready(info) => self.engine = Some(info.clone()),
            Event::Models { models } => self.models = models.clone(),
            // A notice that is repeated within a run is ignored.
            Event::Notice(notice) if self.notices.iter().skip(self.before).any(|n| n == notice) => {}
            Event::Notice(notice) => self.notice(notice.clone()),
            Event::Answer { ticket, answer } => self.on_answer(*ticket, answer),
            Event::AnswerProgress { ticket, progress } => self.on_answer_progress(*ticket, progress),
            Event::Started { generation, .. }
            | Event::Progress { generation, .. }
            | Event::Forecast { generation, .. }
            | Event::Finding { generation, .. }
            | Event::Finished { generation, .. } => self.on_run(*generation, event),
        }
    }

    fn on_run(&mut self, generation: Generation, event: &Event) {
        // Events of a superseded run are ignored, even if its lab has no newer results.
        if self.generation != generation {
            self.stale += 1;
            return;
        }
        let Some(run) = self.runs.iter_mut().find(|r| r.job.generation == generation) else { return };
        let mut failed = None;
        match event {
            // A recorded run keeps the hash in its recording.
            Event::Started { spec_hash, .. } => run.job.spec_hash = spec_hash.clone(),
            Event::Progress { progress, .. } => run.job.progress = Some(progress.clone()),
            // A newer forecast for the same model replaces the older one.
            Event::Forecast { forecast, .. } => {
                run.job.forecasts.retain(|f| f.model != forecast.model);
                run.job.forecasts.push((**forecast).clone());
            }
            Event::Finding { finding, .. } => match &finding.body {
                Body::Lab(_) => {
                    if !run.gone {
                        run.results.take(finding);
                        run.held += usize::from(finding.r#final);
                    }
                    let lab = labs::by_id(finding.lab);
                    if let Some(mut comparison) = lab.compared(finding) {
                        // A comparison repeated with a different target power counts once.
                        if comparison.spec == run.job.spec_hash {
                            comparison.spec = lab.decides(&run.job.spec).unwrap_or(comparison.spec);
                        }
                        self.family.join(comparison);
                    }
                }
                Body::Common(Common::Summary(x)) => run.summary = Some(Tagged::new(finding.head(), x)),
                Body::Common(Common::Error(problem)) => failed = Some(problem),
            },
            Event::Finished { outcome, seconds, .. } => {
                run.job.outcome = Some(outcome.clone());
                run.job.seconds = Some(*seconds);
                if let Outcome::Failed(problem) = outcome {
                    failed = Some(problem);
                }
            }
            _ => {}
        }
        if let Some(problem) = failed {
            self.error(problem.clone());
        }
    }

    /// All runs of a lab, oldest first, including those without results.
    pub fn runs_of(&self, lab: LabId) -> impl DoubleEndedIterator<Item = &Run> {
        self.runs.iter().filter(move |r| r.job.spec.lab() == lab)
    }

    /// The run shown in a lab: the selected one, otherwise the latest, however it ended.
    pub fn run_of(&self, lab: LabId) -> Option<&Run> {
        let picked = self.picked.iter().find(|(of, _)| *of == lab).map(|(_, generation)| *generation);
        let selected = self.runs_of(lab).find(|run| Some(run.job.generation) == picked);
        selected.or_else(|| self.runs_of(lab).next_back())
    }

    /// Selects the run of this generation for display.
    pub fn pick(&mut self, generation: Generation) {
        let lab = self.runs.iter().find(|run| run.job.generation == generation).map(|run| run.job.spec.lab());
        if let Some(lab) = lab {
            self.picked.retain(|(of, _)| *of != lab);
            self.picked.push((lab, generation));
        }
    }

    /// The results of the run shown in the lab; empty if the lab has not run.
    pub fn results<R: LabResults>(&self) -> &R {
        self.run_of(R::LAB).and_then(|run| R::within(&run.results)).unwrap_or(R::none())
    }

    /// The current or last run in any lab.
    pub fn latest(&self) -> Option<&Run> {
        self.runs.iter().find(|r| r.job.generation == self.generation)
    }

    fn latest_mut(&mut self) -> Option<&mut Run> {
        let generation = self.generation;
        self.runs.iter_mut().find(|r| r.job.generation == generation)
    }

    pub fn job(&self) -> Option<&Job> {
        self.latest().map(|run| &run.job)
    }

    pub fn running(&self) -> bool {
        self.job().is_some_and(|j| j.outcome.is_none())
    }

    pub fn dossier_of(&self, model: &str) -> Option<&Questions> {
        self.dossiers.iter().find(|d| d.model == model)
    }

    fn dossier(&mut self, model: &str) -> &mut Questions {
        let at = self.dossiers.iter().position(|d| d.model == model).unwrap_or_else(|| {
            self.dossiers.push(Questions { model: model.to_owned(), ..Questions::default() });
            self.dossiers.len() - 1
        });
        &mut self.dossiers[at]
    }

    pub fn set_of(&self, set: &str) -> Option<&DataDossier> {
        self.sets.iter().find(|d| d.set == set)
    }

    fn set(&mut self, set: &str) -> &mut DataDossier {
        let at = self.sets.iter().position(|d| d.set == set).unwrap_or_else(|| {
            self.sets.push(DataDossier { set: set.to_owned(), ..DataDossier::default() });
            self.sets.len() - 1
        });
        &mut self.sets[at]
    }

    /// Folds in an answer. If the question has been asked again since then, the earlier answer is dropped and counted.
    fn on_answer(&mut self, ticket: Ticket, answer: &Answer) {
        match answer {
            Answer::Experiment { generation, findings } => {
                let run = self.runs.iter_mut().find(|r| r.job.generation == *generation);
                if !run.is_some_and(|run| !run.gone && run.results.answer(ticket, findings)) {
                    self.stale += 1;
                }
            }
            Answer::Model { model, answer } => self.on_model(model, answer),
            Answer::Data(answer) => {
                let Some(dossier) = self.sets.iter_mut().find(|d| d.awaits(ticket)) else {
                    self.stale += 1;
                    return;
                };
                dossier.settle(ticket, answer);
                if let DataAnswer::Failed(problem) = answer {
                    self.error(problem.clone());
                }
            }
        }
    }

    fn on_answer_progress(&mut self, ticket: Ticket, progress: &Progress) {
        let mut waiting = self.sets.iter_mut().flat_map(|d| &mut d.waiting);
        match waiting.find(|w| w.ticket == ticket) {
            Some(waiting) => waiting.progress = Some(progress.clone()),
            None => self.stale += 1,
        }
    }

    fn on_model(&mut self, model: &str, answer: &ModelAnswer) {
        if let ModelAnswer::Inspected(inspection) = answer {
            replace(&mut self.models, inspection.info(), |a, b| a.name == b.name);
        }
        let dossier = self.dossier(model);
        // If two kinds of question are pending, `waiting` is the later one. Only its own answer or a failure ends the wait.
        let answered = match answer {
            ModelAnswer::Inspected(_) => Some(ModelQuestion::Inspect),
            ModelAnswer::Checked(_) => Some(ModelQuestion::Check),
            ModelAnswer::Failed(_) => dossier.waiting,
        };
        if dossier.waiting == answered {
            dossier.waiting = None;
        }
        dossier.problem = None;
        match answer {
            ModelAnswer::Inspected(inspection) => dossier.inspection = Some((**inspection).clone()),
            ModelAnswer::Checked(rows) => dossier.check = Some(rows.clone()),
            ModelAnswer::Failed(problem) => {
                dossier.problem = Some(problem.clone());
                self.error(problem.clone());
            }
        }
    }

    fn error(&mut self, problem: Problem) {
        self.notice(Notice { level: NoticeLevel::Error, problem });
    }

    fn notice(&mut self, notice: Notice) {
        if self.notices.len() == MAX_NOTICES {
            self.notices.pop_front();
            self.notices_of.pop_front();
            self.before = self.before.saturating_sub(1);
        }
        self.notices.push_back(notice);
        self.notices_of.push_back(self.generation);
    }
}

/// Returns the runs whose results must be dropped before another run begins: the oldest, until at most [`MOST_HELD`] final findings remain.
/// `held` gives the number of final findings in each run. The latest run is kept.
pub fn over(held: impl ExactSizeIterator<Item = usize> + Clone) -> Vec<usize> {
    let mut all: usize = held.clone().sum();
    let mut old = Vec::new();
    let last = held.len().saturating_sub(1);
    for (at, held) in held.enumerate().take(last) {
        if all <= MOST_HELD {
            break;
        }
        if held > 0 {
            old.push(at);
            all -= held;
        }
    }
    old
}

#[cfg(test)]
mod tests;
