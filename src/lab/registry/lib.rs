//! The list of labs, and the types with one case per lab.
//!
//! Each lab is a crate that implements [`Instrument`] with its own types. `labs!` below lists them and generates [`Spec`], [`enum@Kinds`],
//! [`Question`] and [`Results`]. The rest of the program uses a lab through [`Lab`] and an experiment through [`Experiment`]. The shared
//! parts (`lab`) are re-exported here with these types filled in.

mod adapter;
mod beside;
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

pub use beside::{Numbered, figures_of_both, values_of_both};
pub use changes::{apart, changes, share_examples, with_labels};
pub use glossary::glossary;
pub use specs::preset;

pub mod finding {
    pub use lab::finding::*;

    pub type Finding = lab::Finding<super::Kinds>;
    /// The result of a lab in a [`Finding`].
    pub type Body = lab::Body<super::Kinds>;
}

pub mod host {
    pub use lab::host::*;

    pub type Host<'a> = dyn lab::Channel<super::Kinds, super::Question> + 'a;
    pub type Waiting = lab::Waiting<super::Question>;
}

pub use finding::{Body, Finding};
pub use host::Waiting;

pub type AnyExperiment = Box<dyn lab::Experiment<Kinds, Question>>;

/// A lab as the rest of the program uses it.
pub trait Lab: Sync {
    fn id(&self) -> LabId;
    fn title(&self) -> &'static str;
    /// The lab's research question, in one line.
    fn question(&self) -> &'static str;
    fn default_spec(&self) -> &'static str;
    /// Creates an experiment without loading or computing anything.
    ///
    /// # Errors
    /// [`Fault::Failed`] for a spec that fails [`LabSpec::check`] or belongs to another lab.
    fn open(&self, spec: &Spec) -> Result<AnyExperiment, Fault>;
    /// The research question of a run, from its spec.
    fn asks(&self, spec: &Spec) -> String;
    /// The answer to that question so far.
    fn answer(&self, results: &Results, spec: &Spec) -> Answer;
    /// Contents of the one-page report on a run.
    fn digest(&self, results: &Results, spec: &Spec) -> Digest;
    /// The main numbers of a run, for comparing two runs.
    fn numbers(&self, results: &Results) -> Vec<compared::Number>;
    /// The main numbers of two runs in pairs, including those of models in the same position.
    fn paired(&self, a: (&Results, &Spec), b: (&Results, &Spec)) -> compared::Paired {
        let sides = |spec: &Spec| match spec {
            Spec::Power(spec) => vec![spec.name(true), spec.name(false)],
            spec => spec.common().models().to_vec(),
        };
        compared::pair((&self.numbers(a.0), &sides(a.1)), (&self.numbers(b.0), &sides(b.1)))
    }
    /// A run's answer and findings as lines of text.
    fn summary(&self, results: &Results, spec: &Spec) -> Vec<String>;
    /// The figures of a run. `engine` is part of their provenance.
    fn figures(&self, results: &Results, engine: Option<&EngineInfo>) -> Vec<Figure>;
    fn figure_entries(&self) -> &'static [FigureEntry];
    /// The figure with this name and details, or a message that lists the choices.
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
    /// All tables by name, and what a run needs for each.
    fn table_needs(&self) -> &'static [(&'static str, &'static str)];
    /// True if findings of this kind only replace an earlier finding with the same identity, in the same position.
    fn replaces(&self, kind: &str) -> bool;
    /// True if final or provisional findings of this kind can make comparisons.
    fn compares(&self, kind: &str, is_final: bool) -> bool;
    /// The comparison that a finding makes, for corrections across the session; `None` if it tests nothing.
    fn compared(&self, finding: &Finding) -> Option<family::Comparison>;
    /// Hash of the part of a spec that determines its comparisons; `None` if that is the whole spec.
    fn decides(&self, spec: &Spec) -> Option<String>;
    /// The fields that a grid may vary, in the order in which cells are enumerated.
    fn axes(&self) -> &'static [Axis];
    /// Work of a run in multiply-adds, counted from the spec and the sizes of its models, so that it is equal on every machine.
    fn counted(&self, spec: &Spec, sizes: &[Size]) -> u128;
}

/// Conversion to the results of one lab.
pub trait LabResults: Sized + 'static {
    const LAB: LabId;
    /// These results, if they belong to this lab.
    fn within(all: &Results) -> Option<&Self>;
    /// Empty results, for a lab that has not run.
    fn none() -> &'static Self;
}

/// Conversion to the spec of one lab.
pub(crate) trait SpecWithin: Sized {
    /// This spec, if it belongs to this lab.
    fn within(any: &Spec) -> Option<&Self>;
}

/// A lab whose types are cases of the types of all labs.
trait Listed: Instrument<Spec: SpecWithin, Results: LabResults> {
    fn wrap_kind(kind: Self::Kind) -> Kinds;
    fn kind(any: &Kinds) -> Option<&Self::Kind>;
    fn question(any: &Question) -> Option<&Self::Question>;
    fn own_question(any: Question) -> Result<Self::Question, Question>;
}

/// Generates the types with one case per lab. A lab's crate exports `Spec`, `Kind`, `KINDS`, `Question`, `Results`, `LAB`, and the type of
/// `LAB`, named after the lab.
macro_rules! labs {
    ($( $(#[$doc:meta])* $Lab:ident = $module:ident; )+) => {
        /// All labs; the first one is open at the start.
        pub static LABS: &[&dyn Lab] = &[ $( &$module::LAB, )+ ];

        /// A complete experiment. The same spec and version of the program give the same findings.
        #[derive(Debug, Clone, PartialEq, Serialize)]
        #[serde(untagged)]
        pub enum Spec { $( $(#[$doc])* $Lab(Box<$module::Spec>), )+ }

        impl Spec {
            pub fn lab(&self) -> LabId {
                match self { $( Spec::$Lab(_) => LabId::$Lab, )+ }
            }

            pub fn common(&self) -> &dyn LabSpec {
                match self { $( Spec::$Lab(spec) => spec.as_ref(), )+ }
            }

            pub fn common_mut(&mut self) -> &mut dyn LabSpec {
                match self { $( Spec::$Lab(spec) => spec.as_mut(), )+ }
            }

            fn of_toml(lab: LabId, text: &str) -> Result<Self, toml::de::Error> {
                match lab { $( LabId::$Lab => toml::from_str(text).map(|s| Spec::$Lab(Box::new(s))), )+ }
            }

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
            fn read<'de, D: serde::Deserializer<'de>>(
                lab: LabId,
                kind: &str,
                deserializer: D,
            ) -> Result<Self, D::Error> {
                match lab { $( LabId::$Lab => $module::Kind::read(kind, deserializer).map(Kinds::$Lab), )+ }
            }

            fn knows(lab: LabId, kind: &str) -> bool {
                match lab { $( LabId::$Lab => $module::KINDS.iter().any(|k| k.name == kind), )+ }
            }
        }

        /// The kinds of finding of a lab, with their columns.
        pub fn kinds(lab: LabId) -> &'static [lab::columns::KindInfo] {
            match lab { $( LabId::$Lab => &$module::KINDS, )+ }
        }

        /// The settings of a lab with the values of its default experiment.
        pub fn settings(lab: LabId, known: &setting::Known) -> Vec<setting::Described> {
            settings_of(&Spec::shipped(lab), known)
        }

        /// The settings of a spec's lab, with the values of this spec.
        pub(crate) fn settings_of(spec: &Spec, known: &setting::Known) -> Vec<setting::Described> {
            match spec {
                $( Spec::$Lab(spec) => setting::describe(&$module::settings::settings(), spec, known), )+
            }
        }

        $( impl From<$module::Kind> for Kinds {
            fn from(kind: $module::Kind) -> Self {
                Kinds::$Lab(kind)
            }
        } )+

        /// A question to an experiment, during a run or afterwards.
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

        /// The fold of a run's findings.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "lab", rename_all = "snake_case")]
        pub enum Results { $( $(#[$doc])* $Lab(Box<$module::Results>), )+ }

        impl Results {
            pub fn new(lab: LabId) -> Self {
                match lab { $( LabId::$Lab => Results::$Lab(Box::default()), )+ }
            }

            /// Adds a finding of a run; findings of another lab are ignored.
            pub fn take(&mut self, finding: &Finding) {
                match (self, &finding.body) {
                    $( (Results::$Lab(results), Body::Lab(Kinds::$Lab(kind))) => results.take(finding.head(), kind), )+
                    _ => {}
                }
            }

            /// Adds the answer to the question with this number. Returns false if a later answer is already present.
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
    /// Prompt probes: the share of their result that is due to the model (Cao et al.).
    Prompts = prompts;
    /// Comparisons: the amount of data they need (Zhu et al., Card et al.).
    Power = power;
    /// Saliency: the words that a prediction depends on, and agreement with annotators (Shen et al.).
    Saliency = saliency;
}

/// The identity of a finding. Of a run's findings with the same identity, only the latest counts. `body` is the finding's JSON.
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

pub fn by_id(id: LabId) -> &'static dyn Lab {
    // `LABS` and `LabId` have the same order; a test checks this.
    LABS[id as usize]
}
