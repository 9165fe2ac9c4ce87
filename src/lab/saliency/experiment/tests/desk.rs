//! A host that records its calls.

use std::sync::{Arc, Weak};

use super::super::super::results::Results as Found;
use super::super::*;
use crate::Waiting;
use base::{Cancelled, Problem, Pulse};
use lab::Body;
use lab::Host as _;
use lab::demand::Slice;
use lab::host::NoticeLevel;
use lab::store::{NoStore, Store};
use model::{Device, Dtype, Model};

/// A host that records its calls.
pub(super) struct Desk {
    pub(super) found: Vec<Finding>,
    pub(super) notices: Vec<Problem>,
    pub(super) dtype: Dtype,
    pub(super) beats: usize,
    pub(super) cancel_after: usize,
    pub(super) waiting: Option<Waiting>,
    pub(super) replies: Vec<Vec<Finding>>,
    pub(super) progress: Vec<(usize, usize)>,
    pub(super) asked: bool,
    pub(super) lent: Vec<Weak<Model>>,
    /// Maximum number of models in memory at once.
    pub(super) most_models: usize,
}

impl Desk {
    pub(super) fn new() -> Self {
        Self {
            found: Vec::new(),
            notices: Vec::new(),
            dtype: Dtype::F32,
            beats: 0,
            cancel_after: usize::MAX,
            waiting: None,
            replies: Vec::new(),
            progress: Vec::new(),
            asked: true,
            lent: Vec::new(),
            most_models: 0,
        }
    }

    pub(super) fn results(&self) -> Found {
        let mut results = Found::default();
        for finding in &self.found {
            if let Body::Lab(kind) = &finding.body {
                results.take(finding.head(), kind);
            }
        }
        results
    }
}

impl Pulse for Desk {
    fn beat(&mut self, _: usize, _: usize) -> Result<(), Cancelled> {
        self.poll()
    }
}

impl lab::Host for Desk {
    fn poll(&mut self) -> Result<(), Cancelled> {
        self.beats += 1;
        if self.beats > self.cancel_after { Err(Cancelled) } else { Ok(()) }
    }

    fn stage(&mut self, _: String, _: &'static str, _: f64) {
        self.progress.push((0, 0));
    }

    fn plan(&mut self, _: f64) {}

    fn progress(&mut self, done: usize, total: usize) {
        self.progress.push((done, total));
    }

    fn elapsed(&self) -> f64 {
        0.0
    }

    fn model(&mut self, name: &str) -> Result<Arc<Model>, Fault> {
        let kept = (Device::Cpu, self.dtype);
        let model = Arc::new(Model::load_with(&name.parse()?, kept, &mut |_| Ok(()))?);
        self.lent.push(Arc::downgrade(&model));
        let held = self.lent.iter().filter(|m| m.strong_count() > 0).count();
        self.most_models = self.most_models.max(held);
        Ok(model)
    }

    fn asked(&self) -> bool {
        self.asked
    }

    fn store(&self) -> Arc<dyn Store> {
        Arc::new(NoStore)
    }

    fn memory_limit(&self) -> Option<u64> {
        None
    }

    fn notice(&mut self, _: NoticeLevel, problem: Problem) -> Result<(), Cancelled> {
        self.notices.push(problem);
        Ok(())
    }

    fn foretell(&mut self, forecast: Forecast) -> Result<(), Cancelled> {
        assert!(forecast.bytes > 0 && forecast.seconds > 0.0);
        Ok(())
    }

    fn rate(&mut self, _: &str, slice: Slice<'_>) -> Result<f64, Fault> {
        Ok(1e-3 / slice()?)
    }
}

impl lab::Channel<Kind, Question> for Desk {
    fn find(&mut self, finding: Finding) -> Result<(), Cancelled> {
        self.found.push(finding);
        Ok(())
    }

    fn waiting(&mut self) -> Option<Waiting> {
        self.waiting.take()
    }

    fn reply(&mut self, _: u64, findings: Vec<Finding>, _: bool) -> Result<(), Cancelled> {
        self.replies.push(findings);
        Ok(())
    }
}
