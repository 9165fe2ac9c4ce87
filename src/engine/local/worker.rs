//! The worker thread: owns device, models and the current experiment.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use super::LocalOptions;
use super::cache::Cache;
use super::fault::{Fault, problem};
use super::forecast;
use super::host::{Host, Label, Outbox};
use super::inbox::{Inbox, Waiting};
use super::point;
use super::prepare::Bench;
use super::sweep::{self, Sweep};
use crate::base::Cancelled;
use crate::base::Problem;
use crate::engine::board::Question;
use crate::engine::finding::{Body, SummaryFinding};
use crate::engine::forecast::Forecast;
use crate::engine::inspection::{CheckRow, Inspection};
use crate::engine::message::{
    Command, EngineInfo, Event, Generation, JobId, ModelInfo, NoticeLevel, Outcome, PointRequest,
};
use crate::engine::spec::Spec;
use crate::lab::interventions::method::Method;
use crate::lab::interventions::{find, registry};
use crate::model::builtin::BUILTINS;
use crate::model::check::check;
use crate::model::source::Files;
use crate::model::{Device, Dtype, Model, ModelError, ModelSource};

/// Weights of the stages of one model, in seconds of the default experiment on two cores.
const PREPARE_WEIGHT: f64 = 0.5 + 2.0 * 3.0 + 5.0;
const REST_WEIGHT: f64 = 1.0;
const METHOD_WEIGHT: f64 = 1.5;
/// Expected cost of a method over all test examples, until the first pass has measured it.
const GUESS: f64 = 2.0;
/// Seconds that a forecast alone may train a probe, which a run would do in any case.
const PATIENCE: f64 = 20.0;
/// Models kept in memory.
const MOST_MODELS: usize = 4;

/// The worker's state.
pub struct Worker {
    inbox: Inbox,
    outbox: Outbox,
    device: Device,
    dtype: Dtype,
    cache: Cache,
    memory_limit: Option<u64>,
    extra: Vec<String>,
    models: HashMap<String, Arc<Model>>,
    current: Option<Current>,
}

/// The experiment that sliders ask about.
struct Current {
    job: JobId,
    generation: Generation,
    benches: Vec<Bench>,
}

impl Worker {
    /// A worker that has not started yet.
    pub fn new(commands: Receiver<Command>, outbox: Outbox, options: LocalOptions) -> Self {
        Self {
            inbox: Inbox::new(commands),
            outbox,
            device: options.device.resolve(),
            dtype: options.dtype,
            cache: options.cache,
            memory_limit: options.memory_limit,
            extra: options.models,
            models: HashMap::new(),
            current: None,
        }
    }

    /// Works until the front end is gone.
    pub fn work(&mut self) {
        let info = EngineInfo {
            version: env!("CARGO_PKG_VERSION").into(),
            device: format!("{} ({} threads)", self.device.with(self.dtype), rayon::current_num_threads()),
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
        if let Some(waiting) = self.inbox.queue.take_run() {
            self.run(waiting)?;
        } else if let Some((model, question)) = self.inbox.queue.take_question() {
            let answer = catch_unwind(AssertUnwindSafe(|| self.answer(&model, question)));
            let answer = answer.unwrap_or_else(|panic| Err(internal(panic.as_ref())));
            let failed = |problem| Event::ModelFailed { model: model.clone(), problem };
            self.outbox.send(answer.unwrap_or_else(failed))?;
        } else if let Some(mut current) = self.current.take() {
            if let Some(request) = self.inbox.queue.take_point(current.generation) {
                self.slide(&mut current, &request)?;
            }
            self.current = Some(current);
        } else {
            // A point without an experiment has no answer.
            self.inbox.queue.take_point(0);
        }
        Ok(())
    }

    fn run(&mut self, waiting: Waiting) -> Result<(), Cancelled> {
        self.current = None;
        let Waiting { job, generation, spec } = waiting;
        self.outbox.send(Event::Started { job, generation, spec_hash: spec.hash() })?;
        let begun = std::time::Instant::now();
        let result = catch_unwind(AssertUnwindSafe(|| self.experiment(job, generation, &spec)));
        let outcome = match result {
            Ok(Ok(())) => Outcome::Done,
            Ok(Err(Fault::Cancelled)) => Outcome::Cancelled,
            Ok(Err(Fault::Failed(problem))) => Outcome::Failed(problem),
            Err(panic) => Outcome::Failed(internal(panic.as_ref())),
        };
        let seconds = begun.elapsed().as_secs_f64();
        let summary = Body::Summary(SummaryFinding {
            seconds,
            device: self.device.with(self.dtype),
            version: env!("CARGO_PKG_VERSION").into(),
            cancelled: outcome == Outcome::Cancelled,
        });
        let n = self.current.as_ref().map_or(0, |c| c.benches.iter().map(|b| b.test.len()).sum());
        let finding = Label::new(&spec, &spec.models.join(",")).finding(n, true, seconds, summary);
        self.outbox.send(Event::Finding { generation, finding: Box::new(finding) })?;
        self.outbox.send(Event::Finished { job, generation, outcome, seconds })
    }

    fn experiment(&mut self, job: JobId, generation: Generation, spec: &Spec) -> Result<(), Fault> {
        spec.check("spec").map_err(|e| problem(&e, "spec", "correct the setup"))?;
        let methods = methods(spec)?;
        self.current = Some(Current { job, generation, benches: Vec::new() });
        for name in &spec.models {
            let model = self.load(name, Some((job, generation)))?;
            let plan = PREPARE_WEIGHT + REST_WEIGHT + (METHOD_WEIGHT + GUESS) * methods.len() as f64;
            let plan = plan * spec.models.len() as f64;
            let mut host = Host::new(&mut self.inbox, self.outbox.clone(), job, generation, plan);
            let mut bench = Bench::open(spec, model, &self.cache, &mut host)?;
            let result =
                foretell(&mut bench, spec, self.memory_limit, &self.cache, &mut host).and_then(|forecast| {
                    bench.begin(&mut host)?;
                    investigate(&mut bench, spec, &methods, forecast, &self.cache, &mut host)
                });
            // Whatever was computed can be slid over, also after a cancellation.
            if !bench.oracles.is_empty()
                && let Some(current) = &mut self.current
            {
                current.benches.push(bench);
            }
            result?;
        }
        Ok(())
    }

    /// See [`super::forecast`].
    ///
    /// # Errors
    /// What the run itself would report.
    pub fn forecast(&mut self, spec: &Spec) -> Result<Vec<Forecast>, Problem> {
        let told = |fault: Fault| match fault {
            Fault::Failed(problem) => problem,
            Fault::Cancelled => problem(&"cancelled", "forecast", "ask again"),
        };
        methods(spec).map_err(told)?;
        let mut list = Vec::new();
        for name in &spec.models {
            let model = self.load(name, None).map_err(told)?;
            let mut host = Host::new(&mut self.inbox, self.outbox.clone(), 0, 0, 1.0);
            // Nothing is kept of what a forecast reads and trains.
            let none = Cache::none();
            let mut bench = Bench::open(spec, model, &none, &mut host).map_err(told)?;
            let (forecast, estimate) =
                forecast::of(&bench, spec, self.memory_limit, &self.cache, &mut host).map_err(told)?;
            bench.stimuli.tokens_per_batch = forecast.tokens_per_batch;
            let known = (&forecast, estimate);
            let settled = forecast::settled(&mut bench, known, PATIENCE, &none, &mut host).map_err(told)?;
            list.push(settled.unwrap_or(forecast));
        }
        Ok(list)
    }

    /// A model by name; in a run, a download is reported as part of it.
    fn load(&mut self, name: &str, run: Option<(JobId, Generation)>) -> Result<Arc<Model>, Fault> {
        if let Some(model) = self.models.get(name) {
            return Ok(model.clone());
        }
        let source: ModelSource = name.parse()?;
        let kept = (self.device, self.dtype);
        let inbox = &mut self.inbox;
        let model = Arc::new(match run {
            Some((job, generation)) => {
                let mut host = Host::new(inbox, self.outbox.clone(), job, generation, 1.0);
                Model::load_with(&source, kept, &mut |t| host.transfer(t))?
            }
            None => Model::load_with(&source, kept, &mut |_| unless_closed(inbox))?,
        });
        if self.models.len() >= MOST_MODELS {
            self.models.clear();
        }
        self.models.insert(name.to_owned(), model.clone());
        Ok(model)
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
                    family: arch.family,
                }),
                Err(e) => {
                    // The list goes on without it; the user learns why.
                    let hint = "correct the folder, or leave the model out";
                    // A model that has not been fetched yet is no error.
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

    /// Answers a question about one model.
    fn answer(&mut self, name: &str, question: Question) -> Result<Event, Problem> {
        let begun = std::time::Instant::now();
        let known = self.models.contains_key(name);
        let told = |fault| match fault {
            Fault::Failed(problem) => Problem { r#where: name.to_owned(), ..problem },
            Fault::Cancelled => problem(&"cancelled", name, "ask again"),
        };
        let model = self.load(name, None).map_err(told)?;
        let seconds = if known { 0.0 } else { begun.elapsed().as_secs_f64() };
        match question {
            Question::Inspect => {
                let inspection = Box::new(Inspection::of(name, &model, seconds));
                Ok(Event::Inspected { inspection })
            }
            Question::Check => {
                let inbox = &mut self.inbox;
                let mut pulse = |_: usize, _: usize| unless_closed(inbox);
                let dir = name.parse().and_then(|source| Files::at_hand(&source)).map(|files| files.folder());
                let report = match dir {
                    Ok(Some(dir)) => check(&model, &dir, &mut pulse),
                    Ok(None) => {
                        let hint = "add a folder that holds expected.json beside its weights";
                        return Err(problem(&"a built-in model has no values to compare with", name, hint));
                    }
                    Err(e) => Err(e),
                };
                let rows = report.map_err(|e| told(e.into()))?.rows.iter().map(CheckRow::of).collect();
                Ok(Event::Checked { model: name.to_owned(), rows })
            }
        }
    }

    /// Answers a slider while no run is in progress: at once from the subsample, then from all test examples unless the
    /// slider has moved on.
    fn slide(&mut self, current: &mut Current, request: &PointRequest) -> Result<(), Cancelled> {
        let (job, generation, ticket) = (current.job, current.generation, request.ticket);
        let mut host = Host::new(&mut self.inbox, self.outbox.clone(), job, generation, 1.0);
        let Some(bench) = current.benches.iter_mut().find(|b| b.model.name() == request.model) else {
            return Ok(());
        };
        for chunks in [1, bench.chunks.len()] {
            let answered = catch_unwind(AssertUnwindSafe(|| {
                point::answer(bench, request, chunks, &self.cache, &mut host)
            }));
            match answered {
                Ok(Ok(findings)) => self.outbox.send(Event::Point { generation, ticket, findings })?,
                Ok(Err(Fault::Cancelled)) => return Ok(()),
                Ok(Err(Fault::Failed(problem))) => return self.outbox.notice(NoticeLevel::Error, problem),
                Err(panic) => return self.outbox.notice(NoticeLevel::Error, internal(panic.as_ref())),
            }
            if bench.chunks.len() == 1 || host.superseded() {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// The methods of a spec, all known and with values that they take.
fn methods(spec: &Spec) -> Result<Vec<&'static dyn Method>, Fault> {
    let mut list = Vec::new();
    for m in &spec.methods {
        let method = find(&m.name).ok_or_else(|| {
            let known: Vec<_> = registry().iter().map(|m| m.id()).collect();
            problem(
                &format!("there is no method `{}`", m.name),
                "method",
                &format!("known are {}", known.join(", ")),
            )
        })?;
        let parameter = method.parameter();
        if let Some(bad) = m.values.iter().find(|v| !parameter.allows(**v)) {
            let what =
                format!("{} = {bad} is outside {} to {}", parameter.name, parameter.min, parameter.max);
            return Err(problem(&what, method.id(), "correct the method's values").into());
        }
        list.push(method);
    }
    Ok(list)
}

/// Says what the run will need, and once more when the attacked probe is trained, where much of the time depends on it.
fn foretell(
    bench: &mut Bench,
    spec: &Spec,
    limit: Option<u64>,
    cache: &Cache,
    host: &mut Host<'_>,
) -> Result<Forecast, Fault> {
    let (forecast, estimate) = forecast::of(bench, spec, limit, cache, host)?;
    bench.stimuli.tokens_per_batch = forecast.tokens_per_batch;
    host.forecast(forecast.clone())?;
    let settled = forecast::settled(bench, (&forecast, estimate), f64::INFINITY, cache, host)?;
    if let Some(settled) = &settled {
        host.forecast(settled.clone())?;
    }
    Ok(settled.unwrap_or(forecast))
}

/// One model: oracles, first estimates of every method, all test examples, final points.
fn investigate(
    bench: &mut Bench,
    spec: &Spec,
    methods: &[&'static dyn Method],
    forecast: Forecast,
    cache: &Cache,
    host: &mut Host<'_>,
) -> Result<(), Fault> {
    bench.train_oracles(&spec.probe.oracles, cache, host)?;
    sweep::audit_probes(bench, false, host)?;
    let mut sweeps: Vec<(Sweep, f64)> = Vec::new();
    for (m, method) in spec.methods.iter().zip(methods) {
        let then = host.meter.elapsed();
        let sweep = sweep::begin(bench, m, *method, cache, host)?;
        sweeps.push((sweep, host.meter.elapsed() - then));
    }
    host.stage(format!("{}: all test examples", bench.model.name()), "ex", REST_WEIGHT);
    bench.read_rest(host)?;
    sweep::audit_probes(bench, true, host)?;
    let spent: f64 = sweeps.iter().map(|s| s.1).sum();
    // The methods' share of the time grows with the examples; their fits are done.
    let applied: f64 = sweeps.iter().map(|s| s.0.first_seconds()).sum();
    let first = bench.chunks[0].len();
    let rest = applied * (bench.test.len() - first) as f64 / first as f64;
    host.forecast(Forecast { seconds: host.meter.elapsed() + rest, range: None, refined: true, ..forecast })?;
    for (sweep, seconds) in &mut sweeps {
        // The first pass has measured how the methods share the work.
        let weight = GUESS * methods.len() as f64 * *seconds / spent.max(f64::MIN_POSITIVE);
        sweep.finish(bench, cache, host, weight)?;
    }
    Ok(())
}

/// Keeps work that belongs to no run going until the front end is gone.
fn unless_closed(inbox: &mut Inbox) -> Result<(), Cancelled> {
    inbox.drain();
    if inbox.queue.closed() { Err(Cancelled) } else { Ok(()) }
}

pub(super) fn internal(panic: &(dyn std::any::Any + Send)) -> Problem {
    let what = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("unknown");
    Problem {
        what: format!("internal error: {what}"),
        r#where: "engine".into(),
        hint: "this is a defect of the program; the session file shows what led to it".into(),
    }
}
