//! The procedure of the lab: compares two probes at increasing sizes of training data, or two files of results, and draws conclusions after
//! each step.

mod beside;
mod corruption;
mod counted;
mod encode;
mod files;
mod folders;
mod forecast;
mod probes;
mod report;
mod sentences;
mod shortfall;

use self::report::Reporter;
use super::finding::Kind;
use super::pairs::Pairs;
use super::plan::{AlsoSpec, Hypothesis};
use super::question::Question as Asked;
use super::spec::{IntervalSpec, POWER_TOML, Spec, TestSpec};
use super::studies::STUDIES;
use super::{figures, summary, tables};
use crate::Finding;
use crate::Host;
use crate::Question;
use base::Problem;
use figure::Figure;
use lab::Head;
use lab::SpecFields;
use lab::axis::{self, Axis, Takes};
use lab::demand::{Forecast, Size};
use lab::family::Comparison;
use lab::fault::Fault;
use lab::host::Share;
use lab::table::Table;
use lab::{EngineInfo, Experiment, FigureEntry, Instrument, LabId, Pick, Preset};

pub static LAB: Power = Power;

/// The power lab: the data needed to compare two probes or two files of results.
#[derive(Debug, Clone, Copy)]
pub struct Power;

impl Instrument for Power {
    type Spec = Spec;
    type Kind = Kind;
    type Question = Question;
    type Results = super::Results;
    const ID: LabId = LabId::Power;
    const TITLE: &'static str = "Power";
    const QUESTION: &'static str = "How much data does this comparison need?";
    const DEFAULT: &'static str = POWER_TOML;
    const PRESETS: &'static [Preset] = &STUDIES;

    const FIGURES: &'static [FigureEntry] = figures::ENTRIES;
    const AXES: &'static [Axis] = &[
        axis::MODEL_SETS,
        Axis::new("pair", &[], Takes::Part),
        Axis::new("layer", &["a.layer", "b.layer"], Takes::Layer),
        Axis::new("a.layer", &[], Takes::Layer),
        Axis::new("b.layer", &[], Takes::Layer),
        axis::SEED,
        Axis::field("task.name"),
        Axis::field("training.grid"),
        Axis::field("test.margin"),
    ];
    const COUNTED: fn(&Spec, &[Size]) -> u128 = counted::of;
    const ASKS: fn(&Spec) -> String = super::answer::question;
    const ANSWER: fn(&super::Results, &Spec) -> lab::Answer = super::answer::answer;
    const DIGEST: fn(&super::Results, &Spec) -> lab::Digest = |_, _| lab::Digest {
        table: ("recommended", None),
        figures: ["power", "sizes", "margins"].map(|name| (name, Vec::new())).into(),
        notes: Vec::new(),
    };
    const NUMBERS: fn(&super::Results) -> Vec<lab::compared::Number> = super::answer::numbers;
    const SUMMARY: fn(&super::Results, &Spec) -> Vec<String> = |results, spec| summary::lines(results, Some(spec));
    const ALL_FIGURES: fn(&super::Results, Option<&EngineInfo>) -> Vec<Figure> = figures::all;
    const PICK: Pick<super::Results> = figures::pick;
    const TABLES: fn(&super::Results) -> Vec<Table> = tables::all;
    const TABLE_NEEDS: &'static [(&'static str, &'static str)] = &[
        ("recommended", "a comparison of two probes"),
        ("corrupted", "a comparison with a model trained on corrupted text"),
        ("datasets", "a comparison with training sentences"),
        ("tasks", "folders of results for several tasks"),
        ("tasks-own", "folders of results whose metric is not a proportion"),
    ];
    const COMPARES: &'static [&'static str] = &["comparison", "sequential", "task", "noise"];
    const COMPARED: fn(Head<'_>, &Kind) -> Option<Comparison> = compared;
    const DECIDES: fn(&Spec) -> Option<String> = |spec| Some(decisive(spec).hash());

    fn begin(spec: Spec) -> Box<dyn Experiment<Kind, Question>> {
        Box::new(Run { spec, pairs: None })
    }
}

fn compared(finding: Head<'_>, kind: &Kind) -> Option<Comparison> {
    let about = |question: String, what: String, test: &str| Comparison {
        n: finding.n,
        ..Comparison::of(LabId::Power, finding.spec, question, what, test)
    };
    match kind {
        // If the plan is for equivalence, the equivalence test decides.
        Kind::Comparison(c) if c.hypothesis == Some(Hypothesis::Equal) => {
            let question = format!("{} as good as {}", c.a, c.b);
            let what = format!("{question}: {}", c.metric);
            Some(Comparison { p: c.equivalence_p, planned: c.planned, ..about(question, what, EQUIVALENCE) })
        }
        Kind::Comparison(c) => {
            let question = format!("{} against {}", c.a, c.b);
            let what = format!("{question}: {}", c.metric);
            let (interim, anytime) = (!finding.r#final, c.anytime_p);
            let (p, least, planned) = (c.p, c.least_p(), c.planned);
            Some(Comparison { p, least, planned, interim, anytime, ..about(question, what, &c.test) })
        }
        Kind::Sequential(s) if s.planned => {
            let n = usize::try_from(s.at_n).unwrap_or(finding.n);
            let question = format!("{} against {}", s.a, s.b);
            let about = about(question.clone(), question, ANYTIME);
            Some(Comparison { n, p: s.anytime_p(), planned: true, ..about })
        }
        Kind::Task(c) => {
            let question = format!("{} against {}", c.a, c.b);
            let what = format!("{question}: {} on {}", c.metric, c.task);
            Some(Comparison { p: c.p, ..about(question, what, &c.test) })
        }
        // The comparison without added noise is already in the family.
        Kind::Noise(c) if !c.own => {
            let what = format!("{} against {}: accuracy after {} training examples", c.a, c.b, c.n_train);
            let question = format!("{} against the other side with noise", c.a);
            Some(Comparison { p: c.p, ..about(question, what, &c.test) })
        }
        _ => None,
    }
}

/// The part of a spec that determines its comparisons: the sides, their data and training, the test and its order. The target power, the
/// bound and the level of intervals are not part of it.
fn decisive(spec: &Spec) -> Spec {
    let usual = TestSpec::default();
    let mut spec = spec.clone();
    (spec.test.target, spec.test.bound, spec.test.delta) = (usual.target, usual.bound, usual.delta);
    (spec.also, spec.interval) = (AlsoSpec::default(), IntervalSpec::default());
    spec
}

/// The test for plans that are not decided by the p-value of the difference.
const EQUIVALENCE: &str = "two one-sided tests";
const ANYTIME: &str = "sequential McNemar, p at any time";

struct Run {
    spec: Spec,
    /// The results of both sides on the items compared so far. Kept to answer questions.
    pairs: Option<(Pairs, Reporter)>,
}

impl Experiment<Kind, Question> for Run {
    fn run(&mut self, host: &mut Host<'_>) -> Result<(), Fault> {
        self.pairs = None;
        if self.spec.of_files() {
            files::run(&self.spec, &mut self.pairs, host)
        } else {
            probes::run(&self.spec, &mut self.pairs, host)
        }
    }

    fn forecast(&mut self, host: &mut Host<'_>) -> Result<Vec<Forecast>, Fault> {
        forecast::of(&self.spec, host)
    }

    fn answer(&mut self, question: &Question, _share: Share, host: &mut Host<'_>) -> Result<Vec<Finding>, Fault> {
        let Asked::Adjust(terms) = question;
        let (pairs, reporter) = self.pairs.as_ref().ok_or_else(|| Problem {
            what: "nothing has been compared yet".into(),
            r#where: "comparison".into(),
            hint: "run the experiment".into(),
        })?;
        Ok(reporter.answer(pairs, terms, host.elapsed()))
    }

    fn examined(&self) -> usize {
        self.pairs.as_ref().map_or(0, |(pairs, _)| pairs.n())
    }
}
