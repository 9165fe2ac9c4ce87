//! The instruments: science with no terminal, no threads and no files.
//!
//! A lab is a folder here (what is asked, what is found, the fold of what is found, the procedure) and a line in `labs!`
//! below; its screen is a folder in `tui/screens` and a line there. Everything else speaks of labs through the types that
//! the macro makes and through the traits [`Lab`], [`Experiment`] and [`Host`].

pub mod asked;
pub mod demand;
pub mod examples;
pub mod family;
pub mod fault;
pub mod finding;
pub mod grid;
pub mod hidden;
pub mod host;
pub mod instrument;
pub mod interval;
pub mod interventions;
pub mod layer;
pub mod origin;
pub mod plan;
pub mod power;
pub mod prompts;
pub mod results;
pub mod saliency;
pub mod setting;
pub mod spec;
pub mod stimuli;
pub mod store;
pub mod table;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::figure::Figure;

pub use demand::{Forecast, Size};
pub use fault::Fault;
pub use finding::{Body, Common, Finding, SummaryFinding};
pub use grid::Axis;
pub use host::{EngineInfo, Host, Notice, NoticeLevel, Share, Waiting};
pub use instrument::Instrument;
pub use origin::Origin;
pub use results::{LabResults, Tagged};
pub use spec::{LabSpec, SpecError, SpecFields};
pub use store::Store;

/// An instrument of the program: science that can be asked for by a spec. A lab writes it in its own types, as an
/// [`Instrument`].
pub trait Lab: Sync {
    /// Which one it is.
    fn id(&self) -> LabId;
    /// Its name on screens.
    fn title(&self) -> &'static str;
    /// The question that it answers, in one line.
    fn question(&self) -> &'static str;
    /// The TOML of the experiment that runs where nothing else is asked for.
    fn default_spec(&self) -> &'static str;
    /// An experiment of this lab; nothing is loaded or computed yet.
    ///
    /// # Errors
    /// [`Fault::Failed`] for a spec that does not pass [`LabSpec::check`] or belongs to another lab.
    fn open(&self, spec: &Spec) -> Result<Box<dyn Experiment>, Fault>;
    /// What a run found, as lines for a reader.
    fn summary(&self, results: &Results, spec: &Spec) -> Vec<String>;
    /// The figures of a run on the engine that is named.
    fn figures(&self, results: &Results, engine: Option<&EngineInfo>) -> Vec<Figure>;
    /// The figure that a name asks for, with details as the lab understands them.
    ///
    /// # Errors
    /// A sentence that says what there is.
    fn figure(
        &self,
        name: &str,
        details: &Details<'_>,
        results: &Results,
        engine: Option<&EngineInfo>,
    ) -> Result<Figure, String>;
    /// Experiments that can be picked by name beside [`Self::default_spec`].
    fn presets(&self) -> &'static [Preset];
    /// The tables of a run, in the layout of the papers; none where a lab has none.
    fn tables(&self, results: &Results) -> Vec<table::Table>;
    /// The comparison that a finding makes, for corrections over all of a session's; none for findings that test nothing.
    fn compared(&self, finding: &Finding) -> Option<family::Comparison>;
    /// Hash of what of a spec decides its comparisons, where it asks for more than that.
    fn decides(&self, spec: &Spec) -> Option<String>;
    /// The fields that a grid may vary, in the order in which its cells are enumerated.
    fn axes(&self) -> &'static [Axis];
    /// The work of a run in multiply-adds, counted from the spec and the sizes of its models alone: the same on every machine,
    /// whatever it has cached.
    fn counted(&self, spec: &Spec, sizes: &[Size]) -> u128;
}

/// An experiment of a lab that is shipped under a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
    /// Its name, unique over all labs.
    pub name: &'static str,
    /// What it shows, in a few words.
    pub title: &'static str,
    /// Its TOML.
    pub toml: &'static str,
}

impl Preset {
    /// The preset of that name, of any lab.
    ///
    /// # Errors
    /// A sentence that names what there is.
    pub fn named(name: &str) -> Result<&'static Self, String> {
        let all = || LABS.iter().flat_map(|lab| lab.presets());
        let names: Vec<&str> = all().map(|p| p.name).collect();
        all().find(|p| p.name == name).ok_or_else(|| crate::base::suggest::unknown("preset", name, &names))
    }

    /// What it computes.
    ///
    /// # Errors
    /// [`SpecError`], for a preset that was shipped damaged.
    pub fn spec(&self) -> Result<Spec, SpecError> {
        Spec::parse(self.toml, self.name)
    }
}

/// What a figure is asked for by, beside its name.
#[derive(Debug, Clone, Default)]
pub struct Details<'a> {
    /// The model.
    pub model: Option<&'a str>,
    /// Keys and values that the lab knows (`method`, `oracle`, …).
    pub more: Vec<(&'a str, &'a str)>,
    /// A rule at this place of the horizontal axis.
    pub marker: Option<f64>,
}

/// A spec at work: prepared, run and asked by whatever owns the device.
pub trait Experiment: Send {
    /// Computes everything that the spec asks for; findings go to the host as they arrive.
    ///
    /// # Errors
    /// [`Fault`]. What had been computed by then can still be asked about.
    fn run(&mut self, host: &mut dyn Host) -> Result<(), Fault>;
    /// What [`Self::run`] would need, one entry a model; what is measured for it is kept for the run.
    ///
    /// # Errors
    /// [`Fault`], as the run itself would report it.
    fn forecast(&mut self, host: &mut dyn Host) -> Result<Vec<Forecast>, Fault>;
    /// Answers a question from what has been computed, on a share of the examples.
    ///
    /// # Errors
    /// [`Fault::Failed`] where it cannot be answered; the experiment goes on.
    fn answer(
        &mut self,
        question: &Question,
        share: Share,
        host: &mut dyn Host,
    ) -> Result<Vec<Finding>, Fault>;
    /// Examples behind the findings so far, for the summary.
    fn examined(&self) -> usize;
}

/// Makes the types that have one case a lab, and what each lab's own types have in common. A lab's module holds `Spec` (with
/// the fields `models`, `seed` and `interval.level`), `Kind` (its findings) with `KINDS`, `Question`, `Results` and `LAB`.
macro_rules! labs {
    ($( $(#[$doc:meta])* $Lab:ident = $module:ident; )+) => {
        /// The instruments of the program.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum LabId { $( $(#[$doc])* $Lab, )+ }

        /// Every lab; the first one is open at the start.
        pub static LABS: &[&dyn Lab] = &[ $( &$module::LAB, )+ ];

        impl LabId {
            /// The name in specs and findings.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $( LabId::$Lab => stringify!($module), )+ }
            }
        }

        /// What to compute, completely: the same spec with the same program gives the same findings.
        #[derive(Debug, Clone, PartialEq, Serialize)]
        #[serde(untagged)]
        pub enum Spec { $( $(#[$doc])* $Lab(Box<$module::Spec>), )+ }

        impl Spec {
            /// Which lab it is for.
            #[must_use]
            pub fn lab(&self) -> LabId {
                match self { $( Spec::$Lab(_) => LabId::$Lab, )+ }
            }

            /// What all specs have in common.
            #[must_use]
            pub fn common(&self) -> &dyn LabSpec {
                match self { $( Spec::$Lab(spec) => spec.as_ref(), )+ }
            }

            /// The same, to be changed.
            pub fn common_mut(&mut self) -> &mut dyn LabSpec {
                match self { $( Spec::$Lab(spec) => spec.as_mut(), )+ }
            }

            /// Reads the TOML of a spec of this lab.
            pub(crate) fn of_toml(lab: LabId, text: &str) -> Result<Self, toml::de::Error> {
                match lab { $( LabId::$Lab => toml::from_str(text).map(|s| Spec::$Lab(Box::new(s))), )+ }
            }

            /// Reads the JSON of a spec of this lab.
            pub(crate) fn of_json(lab: LabId, value: Value) -> Result<Self, serde_json::Error> {
                match lab { $( LabId::$Lab => $module::Spec::deserialize(value).map(|s| Spec::$Lab(Box::new(s))), )+ }
            }
        }

        $( impl From<$module::Spec> for Spec {
            fn from(spec: $module::Spec) -> Self {
                Spec::$Lab(Box::new(spec))
            }
        } )+

        $( impl SpecFields for $module::Spec {
            fn within(any: &Spec) -> Option<&Self> {
                match any {
                    Spec::$Lab(spec) => Some(spec),
                    #[allow(unreachable_patterns, reason = "with one lab there is no other case")]
                    _ => None,
                }
            }

            fn models(&self) -> &[String] {
                &self.models
            }

            fn seed(&self) -> u64 {
                self.seed
            }

            fn level(&self) -> f64 {
                self.interval.level
            }

            fn set_models(&mut self, models: Vec<String>) {
                self.models = models;
            }

            fn set_seed(&mut self, seed: u64) {
                self.seed = seed;
            }

            fn set_level(&mut self, level: f64) {
                self.interval.level = level;
            }
        }

        impl $module::Spec {
            /// The default experiment of the lab, as it is shipped.
            #[must_use]
            pub fn shipped() -> Self {
                match Spec::shipped(LabId::$Lab) {
                    Spec::$Lab(spec) => *spec,
                    #[allow(unreachable_patterns, reason = "with one lab there is no other case")]
                    other => unreachable!("a lab's shipped spec is for that lab: {other:?}"),
                }
            }
        } )+

        impl Body {
            /// Reads the JSON of a finding of this lab.
            pub(crate) fn of_json(lab: LabId, value: Value) -> Result<Self, serde_json::Error> {
                match lab { $( LabId::$Lab => $module::Kind::deserialize(value).map(|k| Kinds::$Lab(k).into()), )+ }
            }

            /// Whether a lab has findings of that kind.
            #[must_use]
            pub fn knows(lab: LabId, kind: &str) -> bool {
                match lab { $( LabId::$Lab => $module::KINDS.contains(&kind), )+ }
            }
        }

        /// The findings of all labs.
        #[derive(Debug, Clone, PartialEq, Serialize)]
        #[serde(untagged)]
        #[allow(clippy::large_enum_variant, reason = "findings are few and live in lists of their own kind")]
        pub enum Kinds { $( $(#[$doc])* $Lab($module::Kind), )+ }

        impl Kinds {
            /// Whether the finding has intervals, whose level then stands beside it.
            #[must_use]
            pub fn has_interval(&self) -> bool {
                match self { $( Kinds::$Lab(kind) => kind.has_interval(), )+ }
            }
        }

        $( impl From<$module::Kind> for Body {
            fn from(kind: $module::Kind) -> Self {
                Body::Lab(Kinds::$Lab(kind))
            }
        } )+

        /// What can be asked of an experiment while it runs and afterwards.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "lab", rename_all = "snake_case")]
        pub enum Question { $( $(#[$doc])* $Lab($module::Question), )+ }

        impl Question {
            /// Which lab answers it.
            #[must_use]
            pub fn lab(&self) -> LabId {
                match self { $( Question::$Lab(_) => LabId::$Lab, )+ }
            }
        }

        $( impl From<$module::Question> for Question {
            fn from(question: $module::Question) -> Self {
                Question::$Lab(question)
            }
        }

        impl $module::Question {
            /// This lab's question, if that is what it is.
            ///
            /// # Errors
            /// [`Fault::Failed`] for a question to another lab.
            pub fn within(any: &Question) -> Result<&Self, Fault> {
                match any {
                    Question::$Lab(question) => Ok(question),
                    #[allow(unreachable_patterns, reason = "with one lab there is no other case")]
                    _ => Err(fault::problem(&"this question is for another lab", "question", "").into()),
                }
            }
        } )+

        /// What a run of a lab has found: the fold of its findings.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "lab", rename_all = "snake_case")]
        pub enum Results { $( $(#[$doc])* $Lab(Box<$module::Results>), )+ }

        impl Results {
            /// Nothing found yet.
            #[must_use]
            pub fn new(lab: LabId) -> Self {
                match lab { $( LabId::$Lab => Results::$Lab(Box::default()), )+ }
            }

            /// Takes in a finding of a run; one of another lab is left out.
            pub fn take(&mut self, finding: &Finding) {
                match (self, &finding.body) {
                    $( (Results::$Lab(results), Body::Lab(Kinds::$Lab(kind))) => results.take(finding, kind), )+
                    #[allow(unreachable_patterns, reason = "with one lab there is no other case")]
                    _ => {}
                }
            }

            /// Takes in the answer to the question of this number. Returns false where it is older than one that is there.
            pub fn answer(&mut self, ticket: u64, findings: &[Finding]) -> bool {
                match self { $( Results::$Lab(results) => results.answer(ticket, findings), )+ }
            }
        }

        $( impl LabResults for $module::Results {
            const LAB: LabId = LabId::$Lab;

            fn within(all: &Results) -> Option<&Self> {
                match all {
                    Results::$Lab(results) => Some(results),
                    #[allow(unreachable_patterns, reason = "with one lab there is no other case")]
                    _ => None,
                }
            }

            fn none() -> &'static Self {
                static NONE: std::sync::LazyLock<$module::Results> = std::sync::LazyLock::new(Default::default);
                &NONE
            }
        } )+
    };
}

labs! {
    /// Completeness, selectivity and reliability of interventions (Canby et al.).
    Interventions = interventions;
    /// How much of what a prompt probe says is the model (Cao et al.).
    Prompts = prompts;
    /// How much data a comparison needs (Zhu et al., Card et al.).
    Power = power;
    /// Which tokens a prediction rests on, and whether that agrees with people (Shen et al.).
    Saliency = saliency;
}

impl LabId {
    /// The lab itself.
    #[must_use]
    pub fn lab(self) -> &'static dyn Lab {
        // `LABS` and the identifiers come from one list, in one order.
        LABS[self as usize]
    }

    /// The lab of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        LABS.iter().map(|lab| lab.id()).find(|id| id.name() == name)
    }
}

impl std::fmt::Display for LabId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
