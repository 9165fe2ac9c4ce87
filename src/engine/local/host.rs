//! The host that an experiment sees in the local engine: polls for cancellation, reports progress, sends findings.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::mpsc::Sender;

use super::cache::Cache;
use super::inbox::Inbox;
use super::meter::Meter;
use super::shelf::ModelCache;
use crate::message::{Answer, Event, Generation, JobId, Notice, NoticeLevel, Ticket};
use base::text::without_folders;
use base::{Cancelled, Problem, Pulse};
use labs::demand::Slice;
use labs::store::ReadOnly;
use labs::{Channel, Fault, Finding, Forecast, Host, Kinds, Question, Store, Waiting};
use model::Model;
use model::hub::{Settings, Step, Transfer};

#[derive(Clone)]
pub(crate) struct Outbox(Sender<Event>);

impl Outbox {
    pub(crate) fn new(events: Sender<Event>) -> Self {
        Self(events)
    }

    /// Sends an event that must arrive; blocks while the queue is full.
    pub(crate) fn send(&self, event: Event) -> Result<(), Cancelled> {
        self.0.blocking_send(event).map_err(|_| Cancelled)
    }

    /// Sends an event that may be dropped when the queue is full.
    pub(crate) fn offer(&self, event: Event) {
        let _ = self.0.try_send(event);
    }

    pub(crate) fn notice(&self, level: NoticeLevel, problem: Problem) -> Result<(), Cancelled> {
        self.send(Event::Notice(Notice { level, problem }))
    }
}

/// Measured time in seconds per unit of work, by kind of work.
pub(crate) type Rates = HashMap<String, f64>;

/// Parts of the worker that a run borrows.
pub(crate) struct WorkerParts<'a> {
    pub(crate) inbox: &'a mut Inbox,
    pub shelf: &'a mut ModelCache,
    /// Rates measured on the device.
    pub rates: &'a mut Rates,
    pub cache: &'a Cache,
    /// True if the run may write to the cache.
    pub keeps: bool,
    /// Maximum resident memory of the run in bytes.
    pub memory_limit: Option<u64>,
    /// True if questions about results may follow.
    pub asked: bool,
}

pub(crate) struct LocalHost<'a> {
    lent: WorkerParts<'a>,
    outbox: Outbox,
    job: JobId,
    generation: Generation,
    meter: Meter,
    /// True if work stops as soon as a newer question is waiting.
    yielding: bool,
    /// True if the host answers a question about a finished run, whose progress is complete.
    silent: bool,
    /// Models whose difference from the recorded ones has already been reported.
    told: Vec<String>,
}

impl<'a> LocalHost<'a> {
    pub(crate) fn new(lent: WorkerParts<'a>, outbox: Outbox, job: JobId, generation: Generation) -> Self {
        Self { lent, outbox, job, generation, meter: Meter::new(), yielding: false, silent: false, told: Vec::new() }
    }

    /// Returns the same host without progress reports, for a question about a finished run.
    pub(crate) fn answering(self) -> Self {
        Self { silent: true, ..self }
    }

    /// Sets whether the following work stops as soon as a newer question is waiting. Otherwise each step of a dragged slider would have to
    /// wait for the full answer to the previous step.
    pub(crate) fn give_way(&mut self, yielding: bool) {
        self.yielding = yielding;
    }

    /// True if a question newer than the current one is waiting.
    pub(crate) fn superseded(&mut self) -> bool {
        self.lent.inbox.drain();
        self.lent.inbox.queue.busy()
    }

    fn report(&mut self, done: u64, total: u64) {
        if self.silent {
            return;
        }
        if let Some(progress) = self.meter.report(done, total) {
            self.outbox.offer(Event::Progress { generation: self.generation, progress });
        }
    }
}

impl Pulse for LocalHost<'_> {
    fn beat(&mut self, done: usize, total: usize) -> Result<(), Cancelled> {
        self.poll()?;
        self.report(done as u64, total as u64);
        Ok(())
    }
}

impl Host for LocalHost<'_> {
    fn poll(&mut self) -> Result<(), Cancelled> {
        poll(self.lent.inbox, self.job)?;
        if self.yielding && self.lent.inbox.queue.busy() { Err(Cancelled) } else { Ok(()) }
    }

    fn stage(&mut self, name: String, unit: &'static str, seconds: f64) {
        self.meter.stage(without_folders(&name), unit, seconds);
        self.report(0, 1);
    }

    fn plan(&mut self, seconds: f64) {
        self.meter.plan(seconds);
    }

    fn progress(&mut self, done: usize, total: usize) {
        self.report(done as u64, total as u64);
    }

    fn elapsed(&self) -> f64 {
        self.meter.elapsed()
    }

    fn model(&mut self, name: &str) -> Result<Arc<Model>, Fault> {
        let Self { lent, outbox, job, generation, meter, .. } = self;
        let WorkerParts { inbox, shelf, .. } = lent;
        let mut fetched = false;
        let model = shelf.load(name, &mut |t| {
            fetched = true;
            poll(inbox, *job)?;
            if let Some(progress) = transfer(meter, t) {
                outbox.offer(Event::Progress { generation: *generation, progress });
            }
            Ok(())
        })?;
        if let Some(why) = Settings::of_process().token_withheld().filter(|_| fetched) {
            let (what, hint) = why.split_once("; ").unwrap_or((why, ""));
            let problem = Problem::new(what, name, hint);
            self.outbox.notice(NoticeLevel::Warning, problem)?;
        }
        if !self.told.iter().any(|m| m == name) {
            self.told.push(name.to_owned());
            for notice in model.notices() {
                self.outbox.notice(NoticeLevel::Warning, Problem { r#where: name.to_owned(), ..notice })?;
            }
        }
        Ok(model)
    }

    fn store(&self) -> Arc<dyn Store> {
        let cache = self.lent.cache.clone();
        if self.lent.keeps { Arc::new(cache) } else { Arc::new(ReadOnly(cache)) }
    }

    fn asked(&self) -> bool {
        self.lent.asked
    }

    fn memory_limit(&self) -> Option<u64> {
        self.lent.memory_limit
    }

    fn notice(&mut self, level: NoticeLevel, problem: Problem) -> Result<(), Cancelled> {
        self.outbox.notice(level, problem)
    }

    fn foretell(&mut self, forecast: Forecast) -> Result<(), Cancelled> {
        self.outbox.send(Event::Forecast { generation: self.generation, forecast: Box::new(forecast) })
    }

    fn rate(&mut self, kind: &str, slice: Slice<'_>) -> Result<f64, Fault> {
        if let Some(rate) = self.lent.rates.get(kind) {
            return Ok(*rate);
        }
        // The host polls before each measurement, because a forecast makes dozens of them, each of which may take a tenth of a second or
        // more.
        self.poll()?;
        let begun = Instant::now();
        let units = slice()?;
        let rate = begun.elapsed().as_secs_f64() / units.max(f64::MIN_POSITIVE);
        self.lent.rates.insert(kind.to_owned(), rate);
        Ok(rate)
    }
}

impl Channel<Kinds, Question> for LocalHost<'_> {
    fn find(&mut self, finding: Finding) -> Result<(), Cancelled> {
        self.outbox.send(Event::Finding { generation: self.generation, finding: Box::new(finding) })
    }

    fn waiting(&mut self) -> Option<Waiting> {
        self.lent.inbox.queue.take_experiment(self.generation)
    }

    fn reply(&mut self, ticket: Ticket, findings: Vec<Finding>, _is_final: bool) -> Result<(), Cancelled> {
        let answer = Answer::Experiment { generation: self.generation, findings };
        self.outbox.send(Event::Answer { ticket, answer })
    }
}

/// Receives commands. Blocks while the run is paused.
fn poll(inbox: &mut Inbox, job: JobId) -> Result<(), Cancelled> {
    inbox.drain();
    while inbox.queue.held() && !inbox.queue.stops(job) {
        inbox.hold();
    }
    if inbox.queue.stops(job) { Err(Cancelled) } else { Ok(()) }
}

/// Reports a download. Each file is a stage of weight 0, because the time to download it does not predict the duration of the run.
fn transfer(meter: &mut Meter, t: &Transfer<'_>) -> Option<crate::message::Progress> {
    let step = match t.step {
        Step::Asking => "requesting",
        Step::Waiting => "waiting for another process to download",
        Step::Fetching => "fetching",
        Step::Verifying => "verifying",
    };
    let name = format!("{step} {}: {}", t.model, t.file);
    if !meter.is_at(&name) {
        meter.stage(name, "MB", 0.0);
    }
    let total = t.total.unwrap_or(t.done).max(1);
    meter.report(t.done.div_ceil(1_000_000), total.div_ceil(1_000_000))
}

#[cfg(test)]
mod tests;
