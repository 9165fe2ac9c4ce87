//! The labs of the program, and the types that have one case per lab.
//!
//! Each lab is a crate that implements [`Instrument`] in its own types. `labs!` below lists them and generates
//! [`Spec`], [`enum@Kinds`], [`Question`] and [`Results`]; the rest of the program uses a lab through [`Lab`] and an
//! experiment through [`Experiment`]. The shared parts (`lab`) are re-exported here with these types filled in.

mod adapter;
mod changes;
mod glossary;
pub mod grid;
mod specs;

use figure::Figure;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use ::lab::*;
pub use interventions;
pub use power;
pub use prompts;
pub use saliency;

pub use changes::{apart, changes, share_examples};
pub use glossary::glossary;
pub use specs::preset;

/// Findings of any lab.
pub mod finding {
    pub use lab::finding::*;

    /// A finding of any lab.
    pub type Finding = lab::Finding<super::Kinds>;
    /// The result in a finding of any lab.
    pub type Body = lab::Body<super::Kinds>;
}

/// Hosts of experiments of any lab.
pub mod host {
    pub use lab::host::*;

    /// A host for findings of any lab.
    pub type Host<'a> = dyn lab::Channel<super::Kinds, super::Question> + 'a;
    /// A pending question to any lab.
    pub type Waiting = lab::Waiting<super::Question>;
}

pub use finding::{Body, Finding};
pub use host::Waiting;

/// An experiment of any lab.
pub type AnyExperiment = Box<dyn lab::Experiment<Kinds, Question>>;

/// A lab, as seen by the program.
pub trait Lab: Sync {
    fn id(&self) -> LabId;
    /// Its name on screens.
    fn title(&self) -> &'static str;
    /// The question that it answers, in one line.
    fn question(&self) -> &'static str;
    /// The TOML of the default experiment.
    fn default_spec(&self) -> &'static str;
    /// An experiment of this lab; nothing is loaded or computed yet.
    ///
    /// # Errors
    /// [`Fault::Failed`] for a spec that fails [`LabSpec::check`] or belongs to another lab.
    fn open(&self, spec: &Spec) -> Result<AnyExperiment, Fault>;
    /// The question of a run, from its spec.
    fn asks(&self, spec: &Spec) -> String;
    /// The run's answer to it so far.
    fn answer(&self, results: &Results, spec: &Spec) -> Answer;
    /// The main numbers of a run, used to compare two runs.
    fn numbers(&self, results: &Results) -> Vec<compared::Number>;
    /// The main numbers that two runs have in common, including those of models in the same position.
    fn common(&self, a: (&Results, &Spec), b: (&Results, &Spec)) -> Vec<compared::Common> {
        let sides = |spec: &Spec| match spec {
            Spec::Power(spec) => vec![spec.name(true), spec.name(false)],
            spec => spec.common().models().to_vec(),
        };
        compared::common((&self.numbers(a.0), &sides(a.1)), (&self.numbers(b.0), &sides(b.1)))
    }
    /// A run's answer and findings as lines of text.
    fn summary(&self, results: &Results, spec: &Spec) -> Vec<String>;
    /// The figures of a run. `engine` is named in their provenance.
    fn figures(&self, results: &Results, engine: Option<&EngineInfo>) -> Vec<Figure>;
    /// The figures available by name.
    fn figure_entries(&self) -> &'static [FigureEntry];
    /// The figure with this name and details.
    fn figure(
        &self,
        name: &str,
        details: &Details<'_>,
        results: &Results,
        engine: Option<&EngineInfo>,
    ) -> Result<Figure, String>;
    /// Named experiments in addition to [`Self::default_spec`].
    fn presets(&self) -> &'static [Preset];
    /// The tables of a run, in the layout of the papers.
    fn tables(&self, results: &Results) -> Vec<table::Table>;
    /// True if findings of this kind can make comparisons.
    fn compares(&self, kind: &str) -> bool;
    /// The comparison that a finding makes, for corrections over all of a session's; `None` for findings that test
    /// nothing.
    fn compared(&self, finding: &Finding) -> Option<family::Comparison>;
    /// Hash of the part of a spec that determines its comparisons, if that is not the whole spec.
    fn decides(&self, spec: &Spec) -> Option<String>;
    /// The fields that a grid may vary; its cells are enumerated in this order.
    fn axes(&self) -> &'static [Axis];
    /// The work of a run in multiply-adds, counted only from the spec and the sizes of its models, so it is the same on
    /// every machine, whatever is cached.
    fn counted(&self, spec: &Spec, sizes: &[Size]) -> u128;
}

/// The results of one lab among those of all.
pub trait LabResults: Sized + 'static {
    const LAB: LabId;
    /// These results, if they belong to this lab.
    fn within(all: &Results) -> Option<&Self>;
    /// The results of a lab that has not run.
    fn none() -> &'static Self;
}

/// The spec of one lab among those of all.
pub(crate) trait SpecWithin: Sized {
    /// This spec, if it belongs to this lab.
    fn within(any: &Spec) -> Option<&Self>;
}

/// The cases of a lab's types in the types that have one case per lab.
trait Listed: Instrument<Spec: SpecWithin, Results: LabResults> {
    fn wrap_kind(kind: Self::Kind) -> Kinds;
    fn kind(any: &Kinds) -> Option<&Self::Kind>;
    fn question(any: &Question) -> Option<&Self::Question>;
    fn own_question(any: Question) -> Result<Self::Question, Question>;
}

/// Generates the types that have one case per lab. A lab's crate exports `Spec`, `Kind`, `KINDS`, `Question`,
/// `Results`, `LAB` and the type of `LAB`, which has the lab's name.
macro_rules! labs {
    ($( $(#[$doc:meta])* $Lab:ident = $module:ident; )+) => {
        /// Every lab; the first one is open at the start.
        pub static LABS: &[&dyn Lab] = &[ $( &$module::LAB, )+ ];

        /// A complete experiment: the same spec with the same program gives the same findings.
        #[derive(Debug, Clone, PartialEq, Serialize)]
        #[serde(untagged)]
        pub enum Spec { $( $(#[$doc])* $Lab(Box<$module::Spec>), )+ }

        impl Spec {
            pub fn lab(&self) -> LabId {
                match self { $( Spec::$Lab(_) => LabId::$Lab, )+ }
            }

            /// The fields that all specs have.
            pub fn common(&self) -> &dyn LabSpec {
                match self { $( Spec::$Lab(spec) => spec.as_ref(), )+ }
            }

            /// The fields that all specs have, mutable.
            pub fn common_mut(&mut self) -> &mut dyn LabSpec {
                match self { $( Spec::$Lab(spec) => spec.as_mut(), )+ }
            }

            /// Reads the TOML of a spec of this lab.
            fn of_toml(lab: LabId, text: &str) -> Result<Self, toml::de::Error> {
                match lab { $( LabId::$Lab => toml::from_str(text).map(|s| Spec::$Lab(Box::new(s))), )+ }
            }

            /// Reads the JSON of a spec of this lab.
            fn of_json(lab: LabId, value: Value) -> Result<Self, serde_json::Error> {
                match lab { $( LabId::$Lab => $module::Spec::deserialize(value).map(|s| Spec::$Lab(Box::new(s))), )+ }
            }
        }

        $( impl From<$module::Spec> for Spec {
            fn from(spec: $module::Spec) -> Self {
                Spec::$Lab(Box::new(spec))
            }
        }

        impl SpecWithin for $module::Spec {
            fn within(any: &Spec) -> Option<&Self> {
                match any {
                    Spec::$Lab(spec) => Some(spec),
                    _ => None,
                }
            }
        } )+

        /// A result of any lab.
        #[derive(Debug, Clone, PartialEq, Serialize)]
        #[serde(untagged)]
        #[allow(clippy::large_enum_variant, reason = "findings are few and are kept in one list per kind")]
        pub enum Kinds { $( $(#[$doc])* $Lab($module::Kind), )+ }

        impl FindingKind for Kinds {
            fn has_interval(&self) -> bool {
                match self { $( Kinds::$Lab(kind) => kind.has_interval(), )+ }
            }
        }

        impl lab::finding::KindSet for Kinds {
            fn from_json(lab: LabId, value: Value) -> Result<Self, serde_json::Error> {
                match lab { $( LabId::$Lab => $module::Kind::deserialize(value).map(Kinds::$Lab), )+ }
            }

            fn knows(lab: LabId, kind: &str) -> bool {
                match lab { $( LabId::$Lab => $module::KINDS.iter().any(|k| k.name == kind), )+ }
            }
        }

        /// The kinds of finding of a lab, with their columns.
        pub fn kinds(lab: LabId) -> &'static [lab::columns::KindInfo] {
            match lab { $( LabId::$Lab => &$module::KINDS, )+ }
        }

        /// The settings of a lab with the values of its shipped experiment.
        pub fn settings(lab: LabId, known: &setting::Known) -> Vec<setting::Described> {
            match lab {
                $( LabId::$Lab => setting::describe(&$module::settings::settings(), &$module::Spec::shipped(), known), )+
            }
        }

        $( impl From<$module::Kind> for Kinds {
            fn from(kind: $module::Kind) -> Self {
                Kinds::$Lab(kind)
            }
        } )+

        /// A question to an experiment, while it runs or afterwards.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "lab", rename_all = "snake_case")]
        pub enum Question { $( $(#[$doc])* $Lab($module::Question), )+ }

        impl Question {
            pub fn lab(&self) -> LabId {
                match self { $( Question::$Lab(_) => LabId::$Lab, )+ }
            }
        }

        $( impl From<$module::Question> for Question {
            fn from(question: $module::Question) -> Self {
                Question::$Lab(question)
            }
        } )+

        /// The fold of the findings of a run.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "lab", rename_all = "snake_case")]
        pub enum Results { $( $(#[$doc])* $Lab(Box<$module::Results>), )+ }

        impl Results {
            /// Results without findings.
            pub fn new(lab: LabId) -> Self {
                match lab { $( LabId::$Lab => Results::$Lab(Box::default()), )+ }
            }

            /// Adds a finding of a run; ignores one of another lab.
            pub fn take(&mut self, finding: &Finding) {
                match (self, &finding.body) {
                    $( (Results::$Lab(results), Body::Lab(Kinds::$Lab(kind))) => results.take(finding.head(), kind), )+
                    _ => {}
                }
            }

            /// Adds the answer to the question with this number. False if a later answer is already there.
            pub fn answer(&mut self, ticket: u64, findings: &[Finding]) -> bool {
                match self { $( Results::$Lab(results) => {
                    let own = findings.iter().filter_map(|f| match &f.body {
                        Body::Lab(Kinds::$Lab(kind)) => Some((f.head(), kind)),
                        _ => None,
                    });
                    results.answer(ticket, own)
                } )+ }
            }
        }

        $( impl LabResults for $module::Results {
            const LAB: LabId = LabId::$Lab;

            fn within(all: &Results) -> Option<&Self> {
                match all {
                    Results::$Lab(results) => Some(results),
                    _ => None,
                }
            }

            fn none() -> &'static Self {
                static NONE: std::sync::LazyLock<$module::Results> = std::sync::LazyLock::new(Default::default);
                &NONE
            }
        }

        impl Listed for $module::$Lab {
            fn wrap_kind(kind: $module::Kind) -> Kinds {
                Kinds::$Lab(kind)
            }

            fn kind(any: &Kinds) -> Option<&$module::Kind> {
                match any {
                    Kinds::$Lab(kind) => Some(kind),
                    _ => None,
                }
            }

            fn question(any: &Question) -> Option<&$module::Question> {
                match any {
                    Question::$Lab(question) => Some(question),
                    _ => None,
                }
            }

            fn own_question(any: Question) -> Result<$module::Question, Question> {
                match any {
                    Question::$Lab(question) => Ok(question),
                    other => Err(other),
                }
            }
        } )+
    };
}

labs! {
    /// Completeness, selectivity and reliability of interventions (Canby et al.).
    Interventions = interventions;
    /// Prompt probes: how much of their result is due to the model (Cao et al.).
    Prompts = prompts;
    /// Comparisons: the data they need (Zhu et al., Card et al.).
    Power = power;
    /// Saliency: the words that a prediction depends on, and agreement with people (Shen et al.).
    Saliency = saliency;
}

/// An identity, equal for findings of one run of which only the later one counts; `body` is the finding's JSON.
pub fn identity(kind: &columns::KindInfo, model: &str, body: &Value) -> String {
    let mut text = format!("{}\n{model}", kind.name);
    for column in (kind.columns)().into_iter().filter(|c| c.id) {
        text.push('\n');
        if let Some(value) = body.get(column.key) {
            text += &value.to_string();
        }
    }
    text
}

/// The kind of a finding given as JSON.
pub fn kind_of(lab: LabId, body: &Value) -> Option<&'static columns::KindInfo> {
    let name = body.get("kind")?.as_str()?;
    kinds(lab).iter().find(|k| k.name == name)
}

/// The lab with this name.
pub fn by_id(id: LabId) -> &'static dyn Lab {
    // `LABS` and `LabId` have the same order; a test compares them.
    LABS[id as usize]
}
