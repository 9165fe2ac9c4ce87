//! The procedure: both sides at rising sizes of training data, or two files of results; after each step what the pilot says.

mod beside;
mod counted;
mod encode;
mod files;
mod forecast;
mod probes;
mod report;
mod sentences;

use self::report::Reporter;
use super::finding::Kind;
use super::pairs::Pairs;
use super::plan::{AlsoSpec, Hypothesis};
use super::question::Question as Asked;
use super::spec::{IntervalSpec, POWER_TOML, Spec, TestSpec};
use super::studies::STUDIES;
use super::{figures, summary};
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
use lab::{Details, EngineInfo, Experiment, FigureEntry, Instrument, LabId, Preset};

pub static LAB: Power = Power;

/// The power lab: data that a comparison of two probes, or of two files of results, needs.
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

    fn begin(spec: Spec) -> Box<dyn Experiment<Kind, Question>> {
        Box::new(Run { spec, pairs: None })
    }

    fn counted(spec: &Spec, sizes: &[Size]) -> u128 {
        counted::of(spec, sizes)
    }

    fn asks(spec: &Spec) -> String {
        super::answer::question(spec)
    }

    fn numbers(results: &super::Results) -> Vec<lab::compared::Number> {
        super::answer::numbers(results)
    }

    fn answer(results: &super::Results, spec: &Spec) -> lab::Answer {
        super::answer::answer(results, spec)
    }

    fn summary(results: &super::Results, spec: &Spec) -> Vec<String> {
        summary::lines(results, Some(spec))
    }

    fn figures(results: &super::Results, engine: Option<&EngineInfo>) -> Vec<Figure> {
        figures::all(results, engine)
    }

    fn pick(
        name: &str,
        details: &Details<'_>,
        results: &super::Results,
        engine: Option<&EngineInfo>,
    ) -> Result<Figure, String> {
        figures::pick(name, details, results, engine)
    }

    fn decides(spec: &Spec) -> Option<String> {
        Some(decisive(spec).hash())
    }

    fn compared(finding: Head<'_>, kind: &Kind) -> Option<Comparison> {
        let mut n = finding.n;
        let (what, test, p, planned) = match kind {
            // A plan of equality counts by the test of equality.
            Kind::Comparison(c) if c.hypothesis == Some(Hypothesis::Equal) => {
                let (what, test) =
                    (format!("{} as good as {}: {}", c.a, c.b, c.metric), EQUIVALENCE.to_owned());
                (what, test, c.equivalence_p, c.planned)
            }
            Kind::Comparison(c) => {
                (format!("{} against {}: {}", c.a, c.b, c.metric), c.test.clone(), c.p, c.planned)
            }
            Kind::Sequential(s) if s.planned => {
                n = usize::try_from(s.at_n).unwrap_or(n);
                (format!("{} against {}", s.a, s.b), ANYTIME.to_owned(), s.anytime_p(), true)
            }
            // The comparison itself has joined the family already.
            Kind::Noise(c) if !c.own => {
                let after = format!("accuracy after {} training examples", c.n_train);
                (format!("{} against {}: {after}", c.a, c.b), c.test.clone(), c.p, false)
            }
            _ => return None,
        };
        let spec = finding.spec;
        Some(Comparison { lab: LabId::Power, spec: spec.to_owned(), what, test, n, p, planned })
    }
}

/// The part of a spec that decides its comparisons: the sides, their data and training, the test and its order; not the
/// wanted power, the bound, nor the level of intervals.
fn decisive(spec: &Spec) -> Spec {
    let usual = TestSpec::default();
    let mut spec = spec.clone();
    (spec.test.target, spec.test.bound, spec.test.delta) = (usual.target, usual.bound, usual.delta);
    (spec.also, spec.interval) = (AlsoSpec::default(), IntervalSpec::default());
    spec
}

/// The tests of plans that do not count by the p-value of the difference.
const EQUIVALENCE: &str = "two one-sided tests";
const ANYTIME: &str = "sequential McNemar, p at any time";

/// A spec at work.
struct Run {
    spec: Spec,
    /// Both sides on the same items, as far as they are known: what questions are answered from.
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

    fn answer(
        &mut self,
        question: &Question,
        _share: Share,
        host: &mut Host<'_>,
    ) -> Result<Vec<Finding>, Fault> {
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
