//! The types of a lab (spec, finding, question, results) and its experiment.

use super::compared::Number;
use super::family::Comparison;
use super::fault::Fault;
use super::finding::{Finding, FindingKind, Head};
use super::host::{Channel, Share};
use super::spec::LabSpec;
use super::table::Table;
use super::{Answer, Axis, EngineInfo, Forecast, LabId, Size};
use figure::Figure;

pub trait Instrument: Send + Sync + 'static {
    type Spec: LabSpec + Clone;
    /// The lab's findings.
    type Kind: FindingKind;
    type Question;
    /// The fold of a run's findings.
    type Results: 'static;
    const ID: LabId;
    const TITLE: &'static str;
    /// The lab's research question, in one line.
    const QUESTION: &'static str;
    /// The default experiment, as TOML.
    const DEFAULT: &'static str;
    /// Named experiments in addition to [`Self::DEFAULT`].
    const PRESETS: &'static [Preset] = &[];
    /// The fields that a grid may vary, in the order in which cells are enumerated.
    const AXES: &'static [Axis];
    /// Creates an experiment for a checked spec without loading or computing anything.
    fn begin(spec: Self::Spec) -> Box<dyn Experiment<Self::Kind, Self::Question>>;
    /// Work of a run in multiply-adds, counted from the spec and the sizes of its models (in order).
    const COUNTED: fn(&Self::Spec, &[Size]) -> u128;
    /// The research question of a run, from its spec.
    const ASKS: fn(&Self::Spec) -> String;
    /// The answer to that question so far.
    const ANSWER: fn(&Self::Results, &Self::Spec) -> Answer;
    const DIGEST: fn(&Self::Results, &Self::Spec) -> Digest;
    /// The main numbers of a run, for comparing two runs.
    const NUMBERS: fn(&Self::Results) -> Vec<Number>;
    const SUMMARY: fn(&Self::Results, &Self::Spec) -> Vec<String>;
    /// The figures of a run. The engine is part of their provenance.
    const ALL_FIGURES: fn(&Self::Results, Option<&EngineInfo>) -> Vec<Figure>;
    const FIGURES: &'static [FigureEntry];
    /// The figure with the given name and details, or a message that lists the choices.
    const PICK: Pick<Self::Results>;
    /// The tables of a run, in the layout of the papers.
    const TABLES: fn(&Self::Results) -> Vec<Table>;
    /// All tables by name, and what a run needs for each.
    const TABLE_NEEDS: &'static [(&'static str, &'static str)];
    /// The kinds whose findings only replace an earlier finding with the same identity, in the same position.
    const REPLACES: &'static [&'static str] = &[];
    /// The kinds of finding that can make a comparison, and the kinds that can make one only if they are final.
    const COMPARES: &'static [&'static str] = &[];
    const COMPARES_FINAL: &'static [&'static str] = &[];
    /// The comparison that a finding makes, for corrections across the session.
    const COMPARED: fn(Head<'_>, &Self::Kind) -> Option<Comparison> = |_, _| None;
    /// Hash of the part of the spec that determines its comparisons; `None` if that is the whole spec.
    const DECIDES: fn(&Self::Spec) -> Option<String> = |_| None;
}

/// Draws a named figure from results. The engine is part of its provenance.
pub type Pick<R> = fn(&str, &Details<'_>, &R, Option<&EngineInfo>) -> Result<Figure, String>;

/// A built-in experiment with a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
    /// The name, unique across labs.
    pub name: &'static str,
    pub title: &'static str,
    pub toml: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FigureEntry {
    pub name: &'static str,
    /// The content of the figure in one sentence.
    pub shows: &'static str,
    /// True for figures that a paper would show. Headless runs draw only these by default.
    pub headline: bool,
}

impl FigureEntry {
    /// A figure that a paper would show.
    pub const fn headline(name: &'static str, shows: &'static str) -> Self {
        Self { name, shows, headline: true }
    }

    /// A supplementary figure.
    pub const fn further(name: &'static str, shows: &'static str) -> Self {
        Self { name, shows, headline: false }
    }
}

/// Contents of the one-page report on a run.
#[derive(Debug, Clone, Default)]
pub struct Digest {
    /// Name of the main table, and the only group of columns that the page shows of it; `None` for the usual choice.
    pub table: (&'static str, Option<&'static str>),
    /// The figures that the answer is about, with their details, most important first.
    pub figures: Vec<(&'static str, Vec<(&'static str, String)>)>,
    /// Reasons for values missing from the table.
    pub notes: Vec<String>,
}

/// Arguments of a figure besides its name.
#[derive(Debug, Clone, Default)]
pub struct Details<'a> {
    pub model: Option<&'a str>,
    /// Keys and values known to the lab (`method`, `oracle`, …).
    pub more: Vec<(&'a str, &'a str)>,
    /// Position of a vertical rule on the horizontal axis.
    pub marker: Option<f64>,
}

/// A running experiment, used only by the thread that owns the device.
pub trait Experiment<K, Q>: Send {
    /// Computes everything in the spec and sends findings to the host as they arrive.
    ///
    /// # Errors
    /// [`Fault`] if the run ends early; questions about earlier results can still be answered.
    fn run(&mut self, host: &mut dyn Channel<K, Q>) -> Result<(), Fault>;
    /// Forecasts [`Self::run`], one entry per model. The run reuses the measurements.
    ///
    /// # Errors
    /// [`Fault`] as in [`Self::run`].
    fn forecast(&mut self, host: &mut dyn Channel<K, Q>) -> Result<Vec<Forecast>, Fault>;
    /// Answers a question from existing results on a share of the examples.
    ///
    /// # Errors
    /// [`Fault::Failed`] if it cannot be answered; the experiment continues.
    fn answer(&mut self, question: &Q, share: Share, host: &mut dyn Channel<K, Q>) -> Result<Vec<Finding<K>>, Fault>;
    /// Number of examples used so far, for the summary.
    fn examined(&self) -> usize;
}
