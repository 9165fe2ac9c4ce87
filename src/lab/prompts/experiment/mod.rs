//! The procedure: relation by relation every model is asked every prompt under every mention, and what that says of the
//! relation is told at once; then ranks are drawn and gaps are split over all relations.

mod bench;
mod disparity;
mod forecast;
mod live;
mod overall;
mod perplexity;
mod relation;
mod stored;
#[cfg(test)]
mod tests;

pub use self::bench::refused;

use self::bench::Bench;
use super::consistency::Panel;
use super::ledger::Parts;
use super::spec::{PROMPTS_TOML, Spec};
use crate::figure::Figure;
use crate::lab::demand::Forecast;
use crate::lab::fault::{Fault, problem};
use crate::lab::finding::Finding;
use crate::lab::host::{Host, NoticeLevel, Share};
use crate::lab::spec::checked;
use crate::lab::{self, Details, EngineInfo, Experiment, Lab, LabId, LabResults, Question, Results};

/// The lab.
pub static LAB: Prompts = Prompts;

/// How much of what a prompt probe says is the model.
#[derive(Debug, Clone, Copy)]
pub struct Prompts;

impl Lab for Prompts {
    fn id(&self) -> LabId {
        LabId::Prompts
    }

    fn title(&self) -> &'static str {
        "Prompts"
    }

    fn question(&self) -> &'static str {
        "How much of what a prompt probe says is the model, and how much the prompt, the name and the facts?"
    }

    fn default_spec(&self) -> &'static str {
        PROMPTS_TOML
    }

    fn open(&self, spec: &lab::Spec) -> Result<Box<dyn Experiment>, Fault> {
        Ok(Box::new(Run { spec: checked(Spec::within(spec))?.clone(), bench: None, latest: None }))
    }

    fn summary(&self, results: &Results, spec: &lab::Spec) -> Vec<String> {
        match (super::Results::within(results), Spec::within(spec)) {
            (Some(results), Some(spec)) => super::summary::summary(results, spec),
            _ => Vec::new(),
        }
    }

    fn figures(&self, results: &Results, engine: Option<&EngineInfo>) -> Vec<Figure> {
        super::Results::within(results).map_or_else(Vec::new, |r| super::figures::all(r, engine))
    }

    fn figure(
        &self,
        name: &str,
        details: &Details<'_>,
        results: &Results,
        engine: Option<&EngineInfo>,
    ) -> Result<Figure, String> {
        let results = super::Results::within(results).unwrap_or(super::Results::none());
        super::figures::pick(name, details, results, engine)
    }
}

/// A spec at work.
struct Run {
    spec: Spec,
    /// What questions are answered from.
    bench: Option<Bench>,
    /// The latest question with its answer: it is given twice, and costs once.
    latest: Option<(Question, Vec<Finding>)>,
}

/// What is gathered over the relations.
#[derive(Default)]
pub(super) struct Gathered {
    /// For rank consistency.
    pub panel: Panel,
    /// By pair of models: the parts of their gap, one entry a relation.
    pub parts: Vec<Vec<Parts>>,
    /// By model, one entry a relation: worst, best, gap, standard deviation of P@1, adjusted score.
    pub spreads: Vec<Vec<[f64; 5]>>,
    /// One entry a relation: whether the order of the models changes with the prompt.
    pub unstable: Vec<bool>,
    /// Instances that were asked.
    pub instances: usize,
}

/// The pairs of models, in the order of their ledgers.
pub(super) fn pairs(models: usize) -> Vec<(usize, usize)> {
    (0..models).flat_map(|a| (a + 1..models).map(move |b| (a, b))).collect()
}

/// Weight of the draws and ledgers beside the asking of one relation of one model.
const OVERALL_WEIGHT: f64 = 4.0;
/// Weight of a mixture of further pretraining.
const MIXTURE_WEIGHT: f64 = 200.0;

impl Experiment for Run {
    fn run(&mut self, host: &mut dyn Host) -> Result<(), Fault> {
        (self.bench, self.latest) = (None, None);
        let opened = Bench::open(&self.spec, host)?;
        let bench = self.bench.insert(opened);
        let mixtures = disparity::mixtures(&self.spec) as f64;
        let steps = (bench.library.relations.len() * bench.members.len()) as f64;
        host.plan(steps + OVERALL_WEIGHT + MIXTURE_WEIGHT * mixtures);
        forecast::of(bench, host)?.into_iter().try_for_each(|f| host.foretell(f))?;
        relation::report_data(bench, host)?;
        let models = bench.members.len();
        let mut gathered = Gathered {
            panel: Panel::new(models),
            parts: vec![Vec::new(); pairs(models).len()],
            spreads: vec![Vec::new(); models],
            ..Gathered::default()
        };
        let all = bench.library.relations.clone();
        for (k, relation) in all.iter().enumerate() {
            relation::investigate(bench, relation, &mut gathered, host)?;
            overall::meanwhile(bench, &gathered, (k + 1, all.len()), host)?;
            serve(bench, host)?;
        }
        host.stage("ranks and ledgers".into(), "draws", OVERALL_WEIGHT);
        overall::conclude(bench, &gathered, host)?;
        serve(bench, host)?;
        disparity::train(bench, host)
    }

    fn forecast(&mut self, host: &mut dyn Host) -> Result<Vec<Forecast>, Fault> {
        let bench = Bench::open(&self.spec, host)?;
        forecast::of(&bench, host)
    }

    fn answer(
        &mut self,
        question: &Question,
        share: Share,
        host: &mut dyn Host,
    ) -> Result<Vec<Finding>, Fault> {
        // Both answers are on all instances; the second would only repeat the first.
        if let Some((asked, findings)) = self.latest.take()
            && share == Share::All
            && asked == *question
        {
            return Ok(findings);
        }
        let nothing = || problem(&"nothing has been asked yet", "question", "run the experiment first");
        let findings = live::answer(self.bench.as_ref().ok_or_else(nothing)?, question, host)?;
        if share == Share::Quick {
            self.latest = Some((question.clone(), findings.clone()));
        }
        Ok(findings)
    }

    fn examined(&self) -> usize {
        self.bench.as_ref().map_or(0, |b| b.entries.iter().map(|e| e.facts.len()).sum())
    }
}

/// Answers the question that waits, if any. One that cannot be answered becomes a notice: it must not end the run.
fn serve(bench: &Bench, host: &mut dyn Host) -> Result<(), Fault> {
    host.poll()?;
    let Some(waiting) = host.waiting() else { return Ok(()) };
    match live::answer(bench, &waiting.question, host) {
        Ok(findings) => Ok(host.reply(waiting.ticket, findings, true)?),
        Err(Fault::Cancelled) => Err(Fault::Cancelled),
        Err(Fault::Failed(problem)) => Ok(host.notice(NoticeLevel::Error, problem)?),
    }
}
