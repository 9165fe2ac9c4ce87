//! The run's link to the outside: polls for cancellation, reports progress, sends findings.

use tokio::sync::mpsc::Sender;

use super::inbox::Inbox;
use super::meter::Meter;
use crate::base::Problem;
use crate::base::{Cancelled, Pulse};
use crate::engine::finding::{Body, Finding};
use crate::engine::forecast::Forecast;
use crate::engine::message::{Event, Generation, JobId, Notice, NoticeLevel, PointRequest};
use crate::engine::spec::Spec;
use crate::model::hub::{Step, Transfer};

/// Sends events to the front end.
#[derive(Clone)]
pub struct Outbox(Sender<Event>);

impl Outbox {
    /// An outbox on the events' channel.
    pub fn new(events: Sender<Event>) -> Self {
        Self(events)
    }

    /// Sends an event that must arrive; waits while the queue is full.
    ///
    /// # Errors
    /// [`Cancelled`] where nobody listens any more.
    pub fn send(&self, event: Event) -> Result<(), Cancelled> {
        self.0.blocking_send(event).map_err(|_| Cancelled)
    }

    /// Sends an event that may be dropped when the queue is full.
    pub fn offer(&self, event: Event) {
        let _ = self.0.try_send(event);
    }

    /// Says something that is no result.
    ///
    /// # Errors
    /// [`Cancelled`] where nobody listens any more.
    pub fn notice(&self, level: NoticeLevel, problem: Problem) -> Result<(), Cancelled> {
        self.send(Event::Notice(Notice { level, problem }))
    }
}

/// A run in progress. As a [`Pulse`] it is called between batches.
pub struct Host<'a> {
    inbox: &'a mut Inbox,
    /// Where events go.
    pub outbox: Outbox,
    /// Number of the run.
    pub job: JobId,
    /// Generation of its events.
    pub generation: Generation,
    /// Stages and time.
    pub meter: Meter,
}

impl<'a> Host<'a> {
    /// A run that begins now; `plan` is the expected weight of all stages.
    pub fn new(inbox: &'a mut Inbox, outbox: Outbox, job: JobId, generation: Generation, plan: f64) -> Self {
        Self { inbox, outbox, job, generation, meter: Meter::new(plan) }
    }

    /// Takes in what has arrived; holds while the user holds.
    ///
    /// # Errors
    /// [`Cancelled`] where the run is to stop.
    pub fn poll(&mut self) -> Result<(), Cancelled> {
        self.inbox.drain();
        while self.inbox.queue.held() && !self.inbox.queue.stops(self.job) {
            self.inbox.hold();
        }
        if self.inbox.queue.stops(self.job) { Err(Cancelled) } else { Ok(()) }
    }

    /// The latest slider position that waits, if any.
    pub fn point(&mut self) -> Option<PointRequest> {
        self.inbox.queue.take_point(self.generation)
    }

    /// Whether something newer waits than the request that is being answered.
    pub fn superseded(&mut self) -> bool {
        self.inbox.drain();
        self.inbox.queue.busy()
    }

    /// Begins a stage.
    pub fn stage(&mut self, name: impl Into<String>, unit: &'static str, weight: f64) {
        self.meter.stage(name, unit, weight);
        self.report(0, 1);
    }

    /// Reports a download, each of its files as a stage that weighs nothing: how long it takes says nothing about the run.
    ///
    /// # Errors
    /// [`Cancelled`] where the run is to stop.
    pub fn transfer(&mut self, t: &Transfer<'_>) -> Result<(), Cancelled> {
        self.poll()?;
        let step = match t.step {
            Step::Asking => "asking for",
            Step::Waiting => "waiting for another process that fetches",
            Step::Fetching => "fetching",
            Step::Verifying => "verifying",
        };
        let name = format!("{step} {}: {}", t.model, t.file);
        if !self.meter.is_at(&name) {
            self.stage(name, "MB", 0.0);
        }
        let total = t.total.unwrap_or(t.done).max(1);
        self.report(t.done.div_ceil(1_000_000), total.div_ceil(1_000_000));
        Ok(())
    }

    /// Reports that `done` of `total` units of the stage are done.
    pub fn progress(&mut self, done: usize, total: usize) {
        self.report(done as u64, total as u64);
    }

    fn report(&mut self, done: u64, total: u64) {
        if let Some(progress) = self.meter.report(done, total) {
            self.outbox.offer(Event::Progress { generation: self.generation, progress });
        }
    }

    /// Says what the run will need.
    ///
    /// # Errors
    /// [`Cancelled`] where nobody listens any more.
    pub fn forecast(&mut self, forecast: Forecast) -> Result<(), Cancelled> {
        self.outbox.send(Event::Forecast { generation: self.generation, forecast: Box::new(forecast) })
    }

    /// Sends a finding of the run.
    ///
    /// # Errors
    /// [`Cancelled`] where nobody listens any more.
    pub fn find(&mut self, finding: Finding) -> Result<(), Cancelled> {
        self.outbox.send(Event::Finding { generation: self.generation, finding: Box::new(finding) })
    }
}

impl Pulse for Host<'_> {
    fn beat(&mut self, done: usize, total: usize) -> Result<(), Cancelled> {
        self.poll()?;
        self.report(done as u64, total as u64);
        Ok(())
    }
}

/// The part of a finding that is the same for all findings of a model in a run.
#[derive(Debug, Clone)]
pub struct Label {
    spec: String,
    lab: crate::engine::spec::LabId,
    model: String,
    seed: u64,
    level: f64,
}

impl Label {
    /// The label of findings about `model`.
    pub fn new(spec: &Spec, model: &str) -> Self {
        Self {
            spec: spec.hash(),
            lab: spec.lab,
            model: model.to_owned(),
            seed: spec.seed,
            level: spec.interval.level,
        }
    }

    /// Level of the intervals.
    pub fn level(&self) -> f64 {
        self.level
    }

    /// A finding. `t` is the time since the run began.
    pub fn finding(&self, n: usize, is_final: bool, t: f64, body: Body) -> Finding {
        let has_interval =
            matches!(body, Body::Probe(_) | Body::Reliability(_) | Body::Optimum(_) | Body::Behaviour(_));
        Finding {
            lab: self.lab,
            spec: self.spec.clone(),
            model: self.model.clone(),
            seed: self.seed,
            n,
            r#final: is_final,
            // Milliseconds are all that is meant.
            t: (t * 1000.0).round() / 1000.0,
            level: has_interval.then_some(self.level),
            body,
        }
    }
}
