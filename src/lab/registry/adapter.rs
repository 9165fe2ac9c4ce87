//! Adapts a lab with its own types to [`Lab`], and its experiments to the types of all labs.

use std::marker::PhantomData;
use std::sync::Arc;

use base::{Cancelled, Problem, Pulse};
use figure::Figure;
use lab::compared::Number;
use lab::demand::Slice;
use lab::family::Comparison;
use lab::fault::problem;
use lab::table::Table;
use lab::{
    Answer, Axis, Channel, Details, Digest, EngineInfo, Experiment, Fault, FigureEntry, Forecast, Host, Instrument,
    LabId, LabSpec, NoticeLevel, Preset, Share, Size, Store,
};
use model::Model;

use super::{AnyExperiment, Finding, Kinds, Lab, LabResults, Listed, Question, Results, Spec, SpecWithin, Waiting};

impl<I: Listed> Lab for I {
    fn id(&self) -> LabId {
        I::ID
    }

    fn title(&self) -> &'static str {
        I::TITLE
    }

    fn question(&self) -> &'static str {
        I::QUESTION
    }

    fn default_spec(&self) -> &'static str {
        I::DEFAULT
    }

    fn open(&self, spec: &Spec) -> Result<AnyExperiment, Fault> {
        let other = || problem(&"this spec is for a different lab", "lab", "correct `lab` in the spec");
        let spec = I::Spec::within(spec).ok_or_else(other)?;
        spec.check("spec").map_err(|e| problem(&e, "spec", "correct the setup"))?;
        Ok(Box::new(Opened::<I>(I::begin(spec.clone()))))
    }

    fn asks(&self, spec: &Spec) -> String {
        I::Spec::within(spec).map_or_else(String::new, I::ASKS)
    }

    fn answer(&self, results: &Results, spec: &Spec) -> Answer {
        match (I::Results::within(results), I::Spec::within(spec)) {
            (Some(results), Some(spec)) => (I::ANSWER)(results, spec),
            _ => Answer::default(),
        }
    }

    fn digest(&self, results: &Results, spec: &Spec) -> Digest {
        match (I::Results::within(results), I::Spec::within(spec)) {
            (Some(results), Some(spec)) => (I::DIGEST)(results, spec),
            _ => Digest::default(),
        }
    }

    fn numbers(&self, results: &Results) -> Vec<Number> {
        I::Results::within(results).map_or_else(Vec::new, I::NUMBERS)
    }

    fn summary(&self, results: &Results, spec: &Spec) -> Vec<String> {
        match (I::Results::within(results), I::Spec::within(spec)) {
            (Some(results), Some(spec)) => {
                let mut lines = (I::ANSWER)(results, spec).lines();
                lines.extend((I::SUMMARY)(results, spec));
                lines
            }
            _ => Vec::new(),
        }
    }

    fn figures(&self, results: &Results, engine: Option<&EngineInfo>) -> Vec<Figure> {
        let all = I::Results::within(results).map_or_else(Vec::new, |r| (I::ALL_FIGURES)(r, engine));
        all.into_iter().map(explained).collect()
    }

    fn figure_entries(&self) -> &'static [FigureEntry] {
        I::FIGURES
    }

    fn figure(
        &self,
        name: &str,
        details: &Details<'_>,
        results: &Results,
        engine: Option<&EngineInfo>,
    ) -> Result<Figure, String> {
        let results = I::Results::within(results).unwrap_or(I::Results::none());
        (I::PICK)(name, details, results, engine).map(explained)
    }

    fn presets(&self) -> &'static [Preset] {
        I::PRESETS
    }

    fn tables(&self, results: &Results) -> Vec<Table> {
        I::Results::within(results).map_or_else(Vec::new, I::TABLES)
    }

    fn table_needs(&self) -> &'static [(&'static str, &'static str)] {
        I::TABLE_NEEDS
    }

    fn replaces(&self, kind: &str) -> bool {
        I::REPLACES.contains(&kind)
    }

    fn compares(&self, kind: &str, is_final: bool) -> bool {
        I::COMPARES.contains(&kind) || is_final && I::COMPARES_FINAL.contains(&kind)
    }

    fn compared(&self, finding: &Finding) -> Option<Comparison> {
        (I::COMPARED)(finding.head(), I::kind(finding.kind()?)?)
    }

    fn decides(&self, spec: &Spec) -> Option<String> {
        I::Spec::within(spec).and_then(I::DECIDES)
    }

    fn axes(&self) -> &'static [Axis] {
        I::AXES
    }

    fn counted(&self, spec: &Spec, sizes: &[Size]) -> u128 {
        I::Spec::within(spec).map_or(0, |spec| (I::COUNTED)(spec, sizes))
    }
}

/// Adds to a figure the glossary's explanations of the terms that it names, except general statistical terms.
fn explained(mut figure: Figure) -> Figure {
    let terms = super::glossary().iter().filter(|term| !term.labs.is_empty());
    figure.provenance.glossary = figure.named_terms(terms.map(|term| (term.name, term.meaning)));
    figure
}

fn for_another_lab() -> Problem {
    Problem::new("this question is for a different lab", "question", "")
}

/// Adapts an experiment of one lab to the types of all labs.
struct Opened<I: Instrument>(Box<dyn Experiment<I::Kind, I::Question>>);

impl<I: Listed> Experiment<Kinds, Question> for Opened<I> {
    fn run(&mut self, host: &mut dyn Channel<Kinds, Question>) -> Result<(), Fault> {
        self.0.run(&mut Narrowed::<I>(host, PhantomData))
    }

    fn forecast(&mut self, host: &mut dyn Channel<Kinds, Question>) -> Result<Vec<Forecast>, Fault> {
        self.0.forecast(&mut Narrowed::<I>(host, PhantomData))
    }

    fn answer(
        &mut self,
        question: &Question,
        share: Share,
        host: &mut dyn Channel<Kinds, Question>,
    ) -> Result<Vec<Finding>, Fault> {
        let own = I::question(question).ok_or_else(|| Fault::Failed(for_another_lab()))?;
        let found = self.0.answer(own, share, &mut Narrowed::<I>(host, PhantomData))?;
        Ok(found.into_iter().map(|f| f.map(I::wrap_kind)).collect())
    }

    fn examined(&self) -> usize {
        self.0.examined()
    }
}

/// Adapts a host for all labs to the types of one lab.
struct Narrowed<'a, I>(&'a mut dyn Channel<Kinds, Question>, PhantomData<I>);

impl<I: Listed> Pulse for Narrowed<'_, I> {
    fn beat(&mut self, done: usize, total: usize) -> Result<(), Cancelled> {
        self.0.beat(done, total)
    }
}

impl<I: Listed> Host for Narrowed<'_, I> {
    fn poll(&mut self) -> Result<(), Cancelled> {
        self.0.poll()
    }

    fn stage(&mut self, name: String, unit: &'static str, seconds: f64) {
        self.0.stage(name, unit, seconds);
    }

    fn plan(&mut self, seconds: f64) {
        self.0.plan(seconds);
    }

    fn progress(&mut self, done: usize, total: usize) {
        self.0.progress(done, total);
    }

    fn elapsed(&self) -> f64 {
        self.0.elapsed()
    }

    fn model(&mut self, name: &str) -> Result<Arc<Model>, Fault> {
        self.0.model(name)
    }

    fn store(&self) -> Arc<dyn Store> {
        self.0.store()
    }

    fn asked(&self) -> bool {
        self.0.asked()
    }

    fn memory_limit(&self) -> Option<u64> {
        self.0.memory_limit()
    }

    fn notice(&mut self, level: NoticeLevel, problem: Problem) -> Result<(), Cancelled> {
        self.0.notice(level, problem)
    }

    fn foretell(&mut self, forecast: Forecast) -> Result<(), Cancelled> {
        self.0.foretell(forecast)
    }

    fn rate(&mut self, kind: &str, slice: Slice<'_>) -> Result<f64, Fault> {
        self.0.rate(kind, slice)
    }
}

impl<I: Listed> Channel<I::Kind, I::Question> for Narrowed<'_, I> {
    fn find(&mut self, finding: lab::Finding<I::Kind>) -> Result<(), Cancelled> {
        self.0.find(finding.map(I::wrap_kind))
    }

    fn waiting(&mut self) -> Option<lab::Waiting<I::Question>> {
        let Waiting { ticket, question } = self.0.waiting()?;
        match I::own_question(question) {
            Ok(question) => Some(lab::Waiting { ticket, question }),
            Err(_) => {
                // A cancelled run ends at its next poll.
                let _ = self.0.notice(NoticeLevel::Error, for_another_lab());
                None
            }
        }
    }

    fn reply(&mut self, ticket: u64, findings: Vec<lab::Finding<I::Kind>>, is_final: bool) -> Result<(), Cancelled> {
        self.0.reply(ticket, findings.into_iter().map(|f| f.map(I::wrap_kind)).collect(), is_final)
    }
}
