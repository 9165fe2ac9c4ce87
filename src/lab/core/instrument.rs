//! A lab's own types of spec, finding, question and results, and an experiment of it.

use super::compared::Number;
use super::family::Comparison;
use super::fault::Fault;
use super::finding::{Finding, FindingKind, Head};
use super::host::{Channel, Share};
use super::spec::LabSpec;
use super::table::Table;
use super::{Answer, Axis, EngineInfo, Forecast, LabId, Size};
use figure::Figure;

/// A lab in its own types.
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
    /// The TOML of the experiment that runs where nothing else is asked for.
    const DEFAULT: &'static str;
    /// Experiments that can be picked by name beside [`Self::DEFAULT`].
    const PRESETS: &'static [Preset] = &[];
    /// The fields that a grid may vary, in the order in which its cells are enumerated.
    const AXES: &'static [Axis];
    /// An experiment by a spec that has passed its check; nothing is loaded or computed yet.
    fn begin(spec: Self::Spec) -> Box<dyn Experiment<Self::Kind, Self::Question>>;
    /// The work of a run in multiply-adds, counted from the spec and from the sizes of its models, in their order.
    const COUNTED: fn(&Self::Spec, &[Size]) -> u128;
    /// The question of a run, made from its spec.
    const ASKS: fn(&Self::Spec) -> String;
    /// The run's answer to it so far.
    const ANSWER: fn(&Self::Results, &Self::Spec) -> Answer;
    /// The main numbers of a run, by which two runs are compared.
    const NUMBERS: fn(&Self::Results) -> Vec<Number>;
    /// Results of a run, as lines for a reader.
    const SUMMARY: fn(&Self::Results, &Self::Spec) -> Vec<String>;
    /// The figures of a run on the engine that is named.
    const ALL_FIGURES: fn(&Self::Results, Option<&EngineInfo>) -> Vec<Figure>;
    /// The figures that can be asked for by name.
    const FIGURES: &'static [FigureEntry];
    /// The figure that a name asks for, with details as the lab understands them, or a sentence that lists the choices.
    const PICK: Pick<Self::Results>;
    /// The tables of a run, in the layout of the papers.
    const TABLES: fn(&Self::Results) -> Vec<Table>;
    /// Kinds of finding that can make a comparison.
    const COMPARES: &'static [&'static str] = &[];
    /// The comparison that a finding makes, for corrections over all of a session's.
    const COMPARED: fn(Head<'_>, &Self::Kind) -> Option<Comparison> = |_, _| None;
    /// Hash of the spec as far as it decides what its comparisons are, where it asks for more than that: two specs that differ in
    /// nothing else make the same comparisons.
    const DECIDES: fn(&Self::Spec) -> Option<String> = |_| None;
}

/// Draws a figure by its name from results on the engine that is named.
pub type Pick<R> = fn(&str, &Details<'_>, &R, Option<&EngineInfo>) -> Result<Figure, String>;

/// An experiment of a lab that is shipped under a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
    /// Its name, unique over all labs.
    pub name: &'static str,
    /// Title in a few words.
    pub title: &'static str,
    pub toml: &'static str,
}

/// A figure that a lab draws under a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FigureEntry {
    pub name: &'static str,
    /// One sentence on what it shows.
    pub shows: &'static str,
    /// True if a paper on such a run would show it: a headless run draws these unless all are asked for.
    pub headline: bool,
}

impl FigureEntry {
    /// A figure that a paper would show.
    pub const fn headline(name: &'static str, shows: &'static str) -> Self {
        Self { name, shows, headline: true }
    }

    /// A figure for a closer look.
    pub const fn further(name: &'static str, shows: &'static str) -> Self {
        Self { name, shows, headline: false }
    }
}

/// Arguments of a figure, besides its name.
#[derive(Debug, Clone, Default)]
pub struct Details<'a> {
    pub model: Option<&'a str>,
    /// Keys and values that the lab knows (`method`, `oracle`, …).
    pub more: Vec<(&'a str, &'a str)>,
    /// A rule at this place of the horizontal axis.
    pub marker: Option<f64>,
}

/// A spec at work: prepared, run and asked by whatever owns the device.
pub trait Experiment<K, Q>: Send {
    /// Computes everything that the spec asks for; findings go to the host as they arrive.
    ///
    /// # Errors
    /// [`Fault`]. What had been computed by then can still be asked about.
    fn run(&mut self, host: &mut dyn Channel<K, Q>) -> Result<(), Fault>;
    /// Needs of [`Self::run`], one entry a model; measurements made for it are kept for the run.
    ///
    /// # Errors
    /// [`Fault`], as the run itself would report it.
    fn forecast(&mut self, host: &mut dyn Channel<K, Q>) -> Result<Vec<Forecast>, Fault>;
    /// Answers a question from existing results, on a share of the examples.
    ///
    /// # Errors
    /// [`Fault::Failed`] where it cannot be answered; the experiment goes on.
    fn answer(&mut self, question: &Q, share: Share, host: &mut dyn Channel<K, Q>) -> Result<Vec<Finding<K>>, Fault>;
    /// Number of examples behind the findings so far, for the summary.
    fn examined(&self) -> usize;
}
