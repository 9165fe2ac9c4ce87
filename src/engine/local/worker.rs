//! The worker thread: owns the device, the models and the current experiment of any lab.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::Receiver;

use super::LocalOptions;
use super::cache::Cache;
use super::host::{LocalHost, Outbox, Rates, WorkerParts};
use super::inbox::{AboutModel, Inbox, WaitingRun};
use super::shelf::ModelCache;
use crate::inspection::{CheckRow, Inspection};
use crate::message::{
    Answer, Command, EngineInfo, Event, Generation, JobId, ModelAnswer, ModelInfo, ModelQuestion, NoticeLevel, Outcome,
};
use base::{Cancelled, Problem};
use labs::fault::{Fault, problem};
use labs::finding::Label;
use labs::{AnyExperiment, Channel, Common, Forecast, Host, Share, Spec, SummaryFinding};
use model::builtin::BUILTINS;
use model::check::check;
use model::source::Files;
use model::{Model, ModelError};

pub(crate) struct Worker {
    inbox: Inbox,
    outbox: Outbox,
    shelf: ModelCache,
    rates: Rates,
    cache: Cache,
    memory_limit: Option<u64>,
    asked: bool,
    extra: Vec<String>,
    current: Option<Current>,
}

struct Current {
    job: JobId,
    generation: Generation,
    experiment: AnyExperiment,
}

impl Worker {
    pub(crate) fn new(commands: Receiver<Command>, outbox: Outbox, options: LocalOptions) -> Self {
        let LocalOptions { device, dtype, cache, models, memory_limit, most_models, asked } = options;
        Self {
            inbox: Inbox::new(commands),
            outbox,
            shelf: ModelCache::new(device.resolve(), dtype, most_models),
            rates: Rates::new(),
            cache,
            memory_limit,
            asked,
            extra: models,
            current: None,
        }
    }

    /// Works until the front end disconnects.
    pub(crate) fn work(&mut self) {
        let info = EngineInfo {
            version: env!("CARGO_PKG_VERSION").into(),
            device: format!("{} ({} threads)", self.shelf.device(), rayon::current_num_threads()),
        };
        if self.outbox.send(Event::Ready(info)).is_err() {
            return;
        }
        while self.step().is_ok() {}
    }

    fn step(&mut self) -> Result<(), Cancelled> {
        self.inbox.wait();
        if self.inbox.queue.closed() {
            return Err(Cancelled);
        }
        if self.inbox.queue.take_list() {
            let models = self.list();
            self.outbox.send(Event::Models { models })?;
        }
        in_the_pool(|| {
            if let Some(waiting) = self.inbox.queue.take_run() {
                self.run(waiting)
            } else if let Some(question) = self.inbox.queue.take_model() {
                self.about_model(&question)
            } else {
                self.ask()
            }
        })
    }

    /// Creates the host for a run. A forecast has number 0 and stores nothing.
    fn host(&mut self, job: JobId, generation: Generation) -> LocalHost<'_> {
        let lent = WorkerParts {
            inbox: &mut self.inbox,
            shelf: &mut self.shelf,
            rates: &mut self.rates,
            cache: &self.cache,
            keeps: job != 0,
            memory_limit: self.memory_limit,
            asked: self.asked,
        };
        LocalHost::new(lent, self.outbox.clone(), job, generation)
    }

    fn run(&mut self, waiting: WaitingRun) -> Result<(), Cancelled> {
        // Frees the memory of the old experiment before the next one allocates its own.
        self.current = None;
        let WaitingRun { job, generation, spec } = waiting;
        self.outbox.send(Event::Started { job, generation, spec_hash: spec.hash() })?;
        let begun = std::time::Instant::now();
        let mut experiment = None;
        let result = catch_unwind(AssertUnwindSafe(|| {
            let opened = experiment.insert(labs::by_id(spec.lab()).open(&spec)?);
            opened.run(&mut self.host(job, generation))
        }));
        let outcome = match result {
            Ok(Ok(())) => Outcome::Done,
            Ok(Err(Fault::Cancelled)) => Outcome::Cancelled,
            Ok(Err(Fault::Failed(problem))) => Outcome::Failed(problem),
            Err(panic) => Outcome::Failed(internal(panic.as_ref())),
        };
        self.inbox.queue.ended(job);
        let seconds = begun.elapsed().as_secs_f64();
        let summary = Common::Summary(SummaryFinding {
            seconds,
            device: self.shelf.device(),
            version: env!("CARGO_PKG_VERSION").into(),
            cancelled: outcome == Outcome::Cancelled,
        });
        let n = experiment.as_ref().map_or(0, |e| e.examined());
        let finding = Label::new(spec.common(), &spec.models().join(",")).common(n, seconds, summary);
        self.current = experiment.map(|experiment| Current { job, generation, experiment });
        self.outbox.send(Event::Finding { generation, finding: Box::new(finding) })?;
        self.outbox.send(Event::Finished { job, generation, outcome, seconds })
    }

    /// See [`super::forecast`].
    pub(crate) fn forecast(&mut self, spec: &Spec) -> Result<Vec<Forecast>, Problem> {
        let told = |fault: Fault| match fault {
            Fault::Failed(problem) => problem,
            Fault::Cancelled => problem(&"cancelled", "forecast", "ask again"),
        };
        let mut experiment = labs::by_id(spec.lab()).open(spec).map_err(told)?;
        experiment.forecast(&mut self.host(0, 0)).map_err(told)
    }

    fn list(&mut self) -> Vec<ModelInfo> {
        let mut names: Vec<String> = BUILTINS.iter().map(|b| b.name.to_owned()).collect();
        for extra in &self.extra {
            if !names.contains(extra) {
                names.push(extra.clone());
            }
        }
        let mut list = Vec::new();
        for name in names {
            match name.parse().and_then(|source| Model::describe(&source)) {
                Ok(arch) => list.push(ModelInfo {
                    name,
                    layers: arch.depth(),
                    hidden: arch.hidden,
                    parameters: arch.parameter_count() as u64,
                    serves: arch.serves().into(),
                    family: arch.family,
                }),
                Err(e) => {
                    // The list continues without this model; a notice gives the reason.
                    let hint = "fix the folder, or remove the model from the list";
                    // A model that has not been downloaded yet is not an error.
                    let level = match e {
                        ModelError::Hub { .. } => NoticeLevel::Info,
                        _ => NoticeLevel::Error,
                    };
                    let _ = self.outbox.notice(level, problem(&e, &name, hint));
                }
            }
        }
        list
    }

    fn about_model(&mut self, question: &AboutModel) -> Result<(), Cancelled> {
        let AboutModel { ticket, model, what } = question;
        let answer = catch_unwind(AssertUnwindSafe(|| self.examine(model, *what)));
        let answer = answer.unwrap_or_else(|panic| Err(internal(panic.as_ref())));
        let answer = answer.unwrap_or_else(ModelAnswer::Failed);
        self.outbox.send(Event::Answer { ticket: *ticket, answer: Answer::Model { model: model.clone(), answer } })
    }

    fn examine(&mut self, name: &str, what: ModelQuestion) -> Result<ModelAnswer, Problem> {
        let begun = std::time::Instant::now();
        let known = self.shelf.holds(name);
        let told = |fault| match fault {
            Fault::Failed(problem) => Problem { r#where: name.to_owned(), ..problem },
            Fault::Cancelled => problem(&"cancelled", name, "ask again"),
        };
        let inbox = &mut self.inbox;
        let model = self.shelf.load(name, &mut |_| unless_closed(inbox)).map_err(told)?;
        let seconds = if known { 0.0 } else { begun.elapsed().as_secs_f64() };
        match what {
            ModelQuestion::Inspect => Ok(ModelAnswer::Inspected(Box::new(Inspection::of(name, &model, seconds)))),
            ModelQuestion::Check => {
                let mut pulse = |_: usize, _: usize| unless_closed(inbox);
                let dir = name.parse().and_then(|source| Files::at_hand(&source)).map(|files| files.folder());
                let report = match dir {
                    Ok(Some(dir)) => check(&model, &dir, &mut pulse),
                    Ok(None) => {
                        let hint = "add a folder with expected.json next to the weights";
                        return Err(problem(&"built-in models have no reference values", name, hint));
                    }
                    Err(e) => Err(e),
                };
                let rows = report.map_err(|e| told(e.into()))?.rows.iter().map(CheckRow::of).collect();
                Ok(ModelAnswer::Checked(rows))
            }
        }
    }

    /// Answers a question to the experiment while no run is in progress: at once from the subsample, then from all examples unless a newer
    /// question has arrived.
    fn ask(&mut self) -> Result<(), Cancelled> {
        let generation = self.current.as_ref().map_or(0, |c| c.generation);
        // A question to an experiment that no longer exists cannot be answered.
        let Some(waiting) = self.inbox.queue.take_experiment(generation) else { return Ok(()) };
        let Some(mut current) = self.current.take() else { return Ok(()) };
        let mut host = self.host(current.job, generation).answering();
        for share in [Share::Quick, Share::All] {
            host.give_way(share == Share::All);
            let answered =
                catch_unwind(AssertUnwindSafe(|| current.experiment.answer(&waiting.question, share, &mut host)));
            let answered = answered.unwrap_or_else(|panic| Err(Fault::Failed(internal(panic.as_ref()))));
            match answered {
                Ok(findings) => host.reply(waiting.ticket, findings, share == Share::All)?,
                Err(Fault::Cancelled) => break,
                Err(Fault::Failed(problem)) => {
                    host.notice(NoticeLevel::Error, problem)?;
                    break;
                }
            }
            if host.superseded() {
                break;
            }
        }
        drop(host);
        self.current = Some(current);
        Ok(())
    }
}

/// Runs work on a thread of the pool. On a thread outside the pool, each of a run's tens of thousands of small parallel loops would put
/// that thread to sleep and wake two others. With a pool of one thread, work stays on the calling thread, because questions about data need
/// the pool too.
fn in_the_pool<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    if rayon::current_num_threads() == 1 { work() } else { rayon::scope(|_| work()) }
}

/// Returns an error once the front end has disconnected. For work that belongs to no run.
fn unless_closed(inbox: &mut Inbox) -> Result<(), Cancelled> {
    inbox.drain();
    if inbox.queue.closed() { Err(Cancelled) } else { Ok(()) }
}

/// Converts a panic to a problem that can be shown to the user.
pub(super) fn internal(panic: &(dyn std::any::Any + Send)) -> Problem {
    let what = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("unknown");
    Problem::new(
        format!("internal error: {what}"),
        "engine",
        "this is a bug in Probity; please report it with the session file",
    )
}

#[cfg(test)]
mod tests;
