//! A lab's types of spec, finding, question and results, and its experiment.

use super::compared::Number;
use super::family::Comparison;
use super::fault::Fault;
use super::finding::{Finding, FindingKind, Head};
use super::host::{Channel, Share};
use super::spec::LabSpec;
use super::table::Table;
use super::{Answer, Axis, EngineInfo, Forecast, LabId, Size};
use figure::Figure;

/// A lab, in its own types.
pub trait Instrument: Send + Sync + 'static {
    type Spec: LabSpec + Clone;
    /// One result of a run.
    type Kind: FindingKind;
    type Question;
    /// The fold of a run's findings.
    type Results: 'static;
    /// The lab's name.
    const ID: LabId;
    /// Its name on screens.
    const TITLE: &'static str;
    /// The question that it answers, in one line.
    const QUESTION: &'static str;
    /// The TOML of the default experiment.
    const DEFAULT: &'static str;
    /// Named experiments in addition to [`Self::DEFAULT`].
    const PRESETS: &'static [Preset] = &[];
    /// The fields that a grid may vary; its cells are enumerated in this order.
    const AXES: &'static [Axis];
    /// An experiment for a checked spec; nothing is loaded or computed yet.
    fn begin(spec: Self::Spec) -> Box<dyn Experiment<Self::Kind, Self::Question>>;
    /// The work of a run in multiply-adds, counted from the spec and the sizes of its models, in order.
    const COUNTED: fn(&Self::Spec, &[Size]) -> u128;
    /// The question of a run, from its spec.
    const ASKS: fn(&Self::Spec) -> String;
    /// The run's answer to it so far.
    const ANSWER: fn(&Self::Results, &Self::Spec) -> Answer;
    /// The main numbers of a run, used to compare two runs.
    const NUMBERS: fn(&Self::Results) -> Vec<Number>;
    /// Results of a run as lines of text.
    const SUMMARY: fn(&Self::Results, &Self::Spec) -> Vec<String>;
    /// The figures of a run; the engine is named in their provenance.
    const ALL_FIGURES: fn(&Self::Results, Option<&EngineInfo>) -> Vec<Figure>;
    /// The figures available by name.
    const FIGURES: &'static [FigureEntry];
    /// The figure with a given name and details, or a message that lists the choices.
    const PICK: Pick<Self::Results>;
    /// The tables of a run, in the layout of the papers.
    const TABLES: fn(&Self::Results) -> Vec<Table>;
    /// Kinds of finding that can make a comparison.
    const COMPARES: &'static [&'static str] = &[];
    /// The comparison that a finding makes, for corrections over all of a session's.
    const COMPARED: fn(Head<'_>, &Self::Kind) -> Option<Comparison> = |_, _| None;
    /// Hash of the part of the spec that determines its comparisons, if that is not the whole spec: specs that differ
    /// only elsewhere make the same comparisons.
    const DECIDES: fn(&Self::Spec) -> Option<String> = |_| None;
}

/// Draws a named figure from results; the engine is named in its provenance.
pub type Pick<R> = fn(&str, &Details<'_>, &R, Option<&EngineInfo>) -> Result<Figure, String>;

/// An experiment shipped under a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
    /// Its name, unique across labs.
    pub name: &'static str,
    /// Title in a few words.
    pub title: &'static str,
    pub toml: &'static str,
}

/// A figure available by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FigureEntry {
    pub name: &'static str,
    /// One sentence on what it shows.
    pub shows: &'static str,
    /// True if a paper on such a run would show it: a headless run draws only these unless all are requested.
    pub headline: bool,
}

impl FigureEntry {
    /// A figure that a paper would show.
    pub const fn headline(name: &'static str, shows: &'static str) -> Self {
        Self { name, shows, headline: true }
    }

    /// A further figure, for a closer look.
    pub const fn further(name: &'static str, shows: &'static str) -> Self {
        Self { name, shows, headline: false }
    }
}

/// Arguments of a figure, besides its name.
#[derive(Debug, Clone, Default)]
pub struct Details<'a> {
    pub model: Option<&'a str>,
    /// Keys and values that the lab understands (`method`, `oracle`, …).
    pub more: Vec<(&'a str, &'a str)>,
    /// Position of a rule on the horizontal axis.
    pub marker: Option<f64>,
}

/// A running experiment; the thread that owns the device prepares, runs and queries it.
pub trait Experiment<K, Q>: Send {
    /// Computes everything in the spec; sends findings to the host as they arrive.
    ///
    /// # Errors
    /// [`Fault`]. What had been computed by then can still be asked about.
    fn run(&mut self, host: &mut dyn Channel<K, Q>) -> Result<(), Fault>;
    /// Needs of [`Self::run`], one entry per model; its measurements are reused by the run.
    ///
    /// # Errors
    /// [`Fault`], as the run itself would report it.
    fn forecast(&mut self, host: &mut dyn Channel<K, Q>) -> Result<Vec<Forecast>, Fault>;
    /// Answers a question from existing results, on a share of the examples.
    ///
    /// # Errors
    /// [`Fault::Failed`] if it cannot be answered; the experiment continues.
    fn answer(&mut self, question: &Q, share: Share, host: &mut dyn Channel<K, Q>) -> Result<Vec<Finding<K>>, Fault>;
    /// Number of examples behind the findings so far, for the summary.
    fn examined(&self) -> usize;
}
