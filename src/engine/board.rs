//! The board: what has been measured so far, as a fold over commands and events.
//!
//! The live program, the headless run and the replay of a session all build their numbers through this one fold,
//! so a replay cannot show anything else than the live run showed.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::data::DataAnswer;
pub use super::data::DataDossier;
use super::finding::{
    BehaviourFinding, Body, DataFinding, ExampleFinding, Finding, OptimumFinding, ProbeFinding,
    ReliabilityFinding, SummaryFinding,
};
use super::forecast::Forecast;
use super::inspection::{CheckRow, Inspection};
use super::message::{
    Command, EngineInfo, Event, Generation, JobId, ModelInfo, Notice, NoticeLevel, Outcome, Progress,
};
use super::spec::{OracleKind, Spec};
use crate::base::Problem;

/// Notices kept; older ones are dropped.
const MAX_NOTICES: usize = 200;

/// Everything measured in a session. A fold over [`Command`]s sent and [`Event`]s received; no clock, no I/O.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Board {
    /// What the engine runs on, once it has said so.
    pub engine: Option<EngineInfo>,
    /// The models that can be picked.
    pub models: Vec<ModelInfo>,
    /// What was asked about single models, in the order of the first question.
    pub dossiers: Vec<Dossier>,
    /// What was asked about data sets, in the order of the first question.
    #[serde(default)]
    pub sets: Vec<DataDossier>,
    /// Number of the latest question about a data set.
    #[serde(default)]
    pub data_ticket: u64,
    /// The latest run.
    pub job: Option<Job>,
    /// Generation whose events count.
    pub generation: Generation,
    /// Latest ticket whose point was asked for.
    pub ticket: u64,
    /// Results of the latest run.
    pub results: Results,
    /// The latest answer to a slider.
    pub point: Option<Point>,
    /// Notices, oldest first.
    pub notices: VecDeque<Notice>,
    /// Events of an older generation that were dropped.
    pub stale: u64,
}

/// What was asked and found out about one model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Dossier {
    /// Its name, as it was asked for.
    pub model: String,
    /// What loading it told.
    pub inspection: Option<Inspection>,
    /// How it compares with the numbers beside its weights.
    pub check: Option<Vec<CheckRow>>,
    /// Why the latest question has no answer.
    pub problem: Option<Problem>,
    /// The question that is being answered.
    pub waiting: Option<Question>,
}

impl Dossier {
    fn settle(&mut self) {
        self.waiting = None;
        self.problem = None;
    }
}

/// What can be asked about one model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Question {
    /// What is it?
    Inspect,
    /// Does it compute what another implementation computed?
    Check,
}

/// A run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Number of the run.
    pub id: JobId,
    /// What it computes.
    pub spec: Spec,
    /// Hash of the spec.
    pub spec_hash: String,
    /// How far it is.
    pub progress: Option<Progress>,
    /// What each of its models will need, as far as that is known.
    #[serde(default)]
    pub forecasts: Vec<Forecast>,
    /// How it ended, once it has.
    pub outcome: Option<Outcome>,
    /// Wall seconds, once it has ended.
    pub seconds: Option<f64>,
    /// True while the user holds it.
    pub held: bool,
}

/// Results of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// Data per model.
    pub data: Vec<Tagged<DataFinding>>,
    /// Probes in the order of their training.
    pub probes: Vec<Tagged<ProbeFinding>>,
    /// One curve per model, method and oracle.
    pub curves: Vec<Curve>,
    /// Model behaviour per model and method, by rising strength.
    pub behaviour: Vec<Tagged<BehaviourFinding>>,
    /// Best strengths.
    pub optima: Vec<Tagged<OptimumFinding>>,
    /// The end of the run.
    pub summary: Option<Tagged<SummaryFinding>>,
}

/// A result with its provenance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tagged<T> {
    /// Hash of the spec.
    pub spec: String,
    /// Name of the model.
    pub model: String,
    /// Seed of the run.
    pub seed: u64,
    /// Examples behind it.
    pub n: usize,
    /// False while it is still being refined.
    pub is_final: bool,
    /// Seconds since the run began.
    pub t: f64,
    /// Level of the intervals.
    pub level: Option<f64>,
    /// The result.
    pub value: T,
}

/// Completeness, selectivity and reliability against strength.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// Name of the model.
    pub model: String,
    /// Method in the registry.
    pub method: String,
    /// Which oracle judges.
    pub oracle: OracleKind,
    /// Name of the swept hyperparameter.
    pub parameter: String,
    /// Points by rising strength; a later estimate of the same strength replaces an earlier one.
    pub points: Vec<Tagged<ReliabilityFinding>>,
}

/// The answer to a slider.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Point {
    /// Number of the request.
    pub ticket: u64,
    /// Reliability under each oracle.
    pub reliability: Vec<Tagged<ReliabilityFinding>>,
    /// What the model does.
    pub behaviour: Option<Tagged<BehaviourFinding>>,
    /// One example.
    pub example: Option<Tagged<ExampleFinding>>,
}

impl Board {
    /// Notes a command that was sent.
    pub fn on_command(&mut self, command: &Command) {
        match command {
            Command::Run { job, generation, spec } => {
                self.generation = *generation;
                self.results = Results::default();
                self.point = None;
                self.job = Some(Job {
                    id: *job,
                    spec_hash: spec.hash(),
                    spec: (**spec).clone(),
                    progress: None,
                    forecasts: Vec::new(),
                    outcome: None,
                    seconds: None,
                    held: false,
                });
            }
            Command::Point(request) => self.ticket = request.ticket,
            Command::Pause { hold } => {
                if let Some(job) = &mut self.job {
                    job.held = *hold;
                }
            }
            Command::Inspect { model } => self.dossier(model).waiting = Some(Question::Inspect),
            Command::Check { model } => self.dossier(model).waiting = Some(Question::Check),
            Command::Data(request) => {
                self.data_ticket = request.ticket;
                self.set(&request.set).ask(request);
            }
            Command::ListModels | Command::Cancel { .. } | Command::CancelData | Command::Shutdown => {}
        }
    }

    /// Takes in an event. Events of an older generation, and answers to older tickets, are dropped and counted.
    pub fn on_event(&mut self, event: &Event) {
        let generation = match event {
            Event::Ready(info) => {
                self.engine = Some(info.clone());
                return;
            }
            Event::Models { models } => {
                self.models = models.clone();
                return;
            }
            Event::Notice(notice) => return self.notice(notice.clone()),
            Event::Inspected { .. } | Event::Checked { .. } | Event::ModelFailed { .. } => {
                return self.on_answer(event);
            }
            Event::DataProgress { .. } | Event::Data { .. } => return self.on_data(event),
            Event::Started { generation, .. }
            | Event::Progress { generation, .. }
            | Event::Forecast { generation, .. }
            | Event::Finding { generation, .. }
            | Event::Point { generation, .. }
            | Event::Finished { generation, .. } => *generation,
        };
        if generation != self.generation {
            self.stale += 1;
            return;
        }
        match event {
            Event::Progress { progress, .. } => {
                if let Some(job) = &mut self.job {
                    job.progress = Some(progress.clone());
                }
            }
            Event::Forecast { forecast, .. } => {
                if let Some(job) = &mut self.job {
                    // The newer one of a model stands for the older.
                    job.forecasts.retain(|f| f.model != forecast.model);
                    job.forecasts.push((**forecast).clone());
                }
            }
            Event::Finding { finding, .. } => self.on_finding(finding),
            Event::Point { ticket, findings, .. } => {
                if *ticket < self.point.as_ref().map_or(0, |p| p.ticket) {
                    self.stale += 1;
                } else {
                    self.point = Some(point(*ticket, findings));
                }
            }
            Event::Finished { outcome, seconds, .. } => self.finish(outcome, *seconds),
            _ => {}
        }
    }

    /// The curve of a model, method and oracle.
    pub fn curve(&self, model: &str, method: &str, oracle: OracleKind) -> Option<&Curve> {
        self.results.curves.iter().find(|c| c.model == model && c.method == method && c.oracle == oracle)
    }

    /// Whether a run is in progress.
    pub fn running(&self) -> bool {
        self.job.as_ref().is_some_and(|j| j.outcome.is_none())
    }

    /// What is known of a model beyond the list.
    pub fn dossier_of(&self, model: &str) -> Option<&Dossier> {
        self.dossiers.iter().find(|d| d.model == model)
    }

    fn dossier(&mut self, model: &str) -> &mut Dossier {
        let at = self.dossiers.iter().position(|d| d.model == model).unwrap_or_else(|| {
            self.dossiers.push(Dossier { model: model.to_owned(), ..Dossier::default() });
            self.dossiers.len() - 1
        });
        &mut self.dossiers[at]
    }

    /// What is known of a data set.
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

    /// Takes in an answer about a data set. One to a question that was asked anew meanwhile is dropped and counted.
    fn on_data(&mut self, event: &Event) {
        let (Event::DataProgress { ticket, .. } | Event::Data { ticket, .. }) = event else { return };
        let Some(dossier) = self.sets.iter_mut().find(|d| d.awaits(*ticket)) else {
            self.stale += 1;
            return;
        };
        match event {
            Event::DataProgress { progress, .. } => {
                let waiting = dossier.waiting.iter_mut().filter(|w| w.ticket == *ticket);
                waiting.for_each(|w| w.progress = Some(progress.clone()));
            }
            Event::Data { answer, .. } => {
                dossier.settle(*ticket, answer);
                if let DataAnswer::Failed(problem) = answer {
                    let problem = problem.clone();
                    self.notice(Notice { level: NoticeLevel::Error, problem });
                }
            }
            _ => {}
        }
    }

    /// Takes in what was found out about one model.
    fn on_answer(&mut self, event: &Event) {
        match event {
            Event::Inspected { inspection } => {
                let info = inspection.info();
                replace(&mut self.models, info, |a, b| a.name == b.name);
                let dossier = self.dossier(&inspection.model);
                dossier.inspection = Some((**inspection).clone());
                dossier.settle();
            }
            Event::Checked { model, rows } => {
                let dossier = self.dossier(model);
                dossier.check = Some(rows.clone());
                dossier.settle();
            }
            Event::ModelFailed { model, problem } => {
                let dossier = self.dossier(model);
                dossier.settle();
                dossier.problem = Some(problem.clone());
                self.notice(Notice { level: NoticeLevel::Error, problem: problem.clone() });
            }
            _ => {}
        }
    }

    fn finish(&mut self, outcome: &Outcome, seconds: f64) {
        if let Outcome::Failed(problem) = outcome {
            self.notice(Notice { level: NoticeLevel::Error, problem: problem.clone() });
        }
        if let Some(job) = &mut self.job {
            job.outcome = Some(outcome.clone());
            job.seconds = Some(seconds);
        }
    }

    fn notice(&mut self, notice: Notice) {
        if self.notices.len() == MAX_NOTICES {
            self.notices.pop_front();
        }
        self.notices.push_back(notice);
    }

    fn on_finding(&mut self, finding: &Finding) {
        let results = &mut self.results;
        match &finding.body {
            Body::Data(x) => replace(&mut results.data, tag(finding, x), |a, b| a.model == b.model),
            Body::Probe(x) => replace(&mut results.probes, tag(finding, x), |a, b| {
                let key = |t: &Tagged<ProbeFinding>| {
                    (t.model.clone(), t.value.role as u8, t.value.property.clone(), t.value.oracle)
                };
                key(a) == key(b)
            }),
            Body::Reliability(x) => results.add_point(tag(finding, x)),
            Body::Optimum(x) => replace(&mut results.optima, tag(finding, x), |a, b| {
                a.model == b.model && a.value.method == b.value.method && a.value.oracle == b.value.oracle
            }),
            Body::Behaviour(x) => {
                replace(&mut results.behaviour, tag(finding, x), |a, b| {
                    a.model == b.model && a.value.method == b.value.method && a.value.value == b.value.value
                });
                results.behaviour.sort_by(|a, b| {
                    (&a.model, &a.value.method)
                        .cmp(&(&b.model, &b.value.method))
                        .then(a.value.value.total_cmp(&b.value.value))
                });
            }
            Body::Summary(x) => results.summary = Some(tag(finding, x)),
            Body::Example(_) => {}
            Body::Error(problem) => {
                self.notice(Notice { level: NoticeLevel::Error, problem: problem.clone() });
            }
        }
    }
}

impl Results {
    fn add_point(&mut self, new: Tagged<ReliabilityFinding>) {
        let same =
            |c: &Curve| c.model == new.model && c.method == new.value.method && c.oracle == new.value.oracle;
        let at = self.curves.iter().position(same).unwrap_or_else(|| {
            self.curves.push(Curve {
                model: new.model.clone(),
                method: new.value.method.clone(),
                oracle: new.value.oracle,
                parameter: new.value.parameter.clone(),
                points: Vec::new(),
            });
            self.curves.len() - 1
        });
        let points = &mut self.curves[at].points;
        match points.binary_search_by(|p| p.value.value.total_cmp(&new.value.value)) {
            Ok(i) => points[i] = new,
            Err(i) => points.insert(i, new),
        }
    }
}

fn tag<T: Clone>(finding: &Finding, value: &T) -> Tagged<T> {
    Tagged {
        spec: finding.spec.clone(),
        model: finding.model.clone(),
        seed: finding.seed,
        n: finding.n,
        is_final: finding.r#final,
        t: finding.t,
        level: finding.level,
        value: value.clone(),
    }
}

fn replace<T>(list: &mut Vec<T>, new: T, same: impl Fn(&T, &T) -> bool) {
    match list.iter_mut().find(|old| same(old, &new)) {
        Some(old) => *old = new,
        None => list.push(new),
    }
}

fn point(ticket: u64, findings: &[Finding]) -> Point {
    let mut point = Point { ticket, ..Point::default() };
    for finding in findings {
        match &finding.body {
            Body::Reliability(x) => point.reliability.push(tag(finding, x)),
            Body::Behaviour(x) => point.behaviour = Some(tag(finding, x)),
            Body::Example(x) => point.example = Some(tag(finding, x)),
            _ => {}
        }
    }
    point
}
