//! The spec of the lab: sentences, methods with their options, and measures.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::methods::NAMES;
use super::metrics::map::Membership;
use super::robust::PASSES;
use corpus::rationales::{Dimension, Language};
use lab::LabId;
use lab::layer::LayerRef;
use lab::spec::{LabSpec, Refuse, SpecError};
use model::Long;

/// A complete experiment. The same spec and version of the program give the same findings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    pub lab: LabId,
    pub models: Vec<String>,
    /// The seed for the run's random streams.
    #[serde(default)]
    pub seed: u64,
    #[serde(default)]
    pub data: DataSpec,
    #[serde(default)]
    pub saliency: SaliencySpec,
    #[serde(default)]
    pub attention: AttentionSpec,
    #[serde(default)]
    pub integrated_gradients: PathSpec,
    #[serde(default)]
    pub metrics: MetricSpec,
    #[serde(default)]
    pub interval: IntervalSpec,
}

/// Level of the intervals.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(clippy::manual_non_exhaustive, reason = "a key from older specs")]
pub struct IntervalSpec {
    pub level: f64,
    /// Accepted from older specs and ignored, because Student's t intervals need no resamples.
    #[serde(skip_serializing, deserialize_with = "ignored")]
    resamples: (),
}

impl Default for IntervalSpec {
    fn default() -> Self {
        Self { level: 0.95, resamples: () }
    }
}

fn ignored<'de, D: serde::Deserializer<'de>>(from: D) -> Result<(), D::Error> {
    serde::de::IgnoredAny::deserialize(from).map(|_| ())
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DataSpec {
    /// Language of the built-in benchmark: `en` or `zh`.
    pub language: String,
    /// A file of gold rationales in place of the built-in ones; relative to the spec file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Dimensions to use; empty for all.
    pub dimensions: Vec<String>,
    /// Number of originals and perturbed partners, sampled evenly over the dimensions. All partners of an original are included with it.
    pub inputs: usize,
    /// Treatment of sentences longer than the model's maximum length.
    #[serde(skip_serializing_if = "Long::is_drop")]
    pub long: Long,
    /// Folder of the spec file; not part of the experiment.
    #[serde(skip)]
    pub base: PathBuf,
}

impl Default for DataSpec {
    fn default() -> Self {
        Self {
            language: "en".into(),
            file: None,
            dimensions: Vec::new(),
            inputs: 600,
            long: Long::Drop,
            base: PathBuf::new(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SaliencySpec {
    pub methods: Vec<String>,
    /// Removal of words for sufficiency and comprehensiveness.
    pub erasure: Erasure,
    /// True to measure sensitivity and stability.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub robustness: bool,
}

impl SaliencySpec {
    /// Number of forward passes per input and method in addition to those for scores.
    pub(crate) fn further_passes(&self) -> usize {
        self.erasure.passes() + if self.robustness { PASSES } else { 0 }
    }
}

impl Default for SaliencySpec {
    fn default() -> Self {
        let methods = vec!["attention".into(), "integrated_gradients".into()];
        Self { methods, erasure: Erasure::default(), robustness: false }
    }
}

/// Removal of words for sufficiency and comprehensiveness, written `false`, `true` or `"eraser"` in a spec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "erasure must be false, true or \"eraser\"")]
pub enum Erasure {
    /// If false, nothing is measured. If true, words are replaced by the baseline token, at the rationale's size K.
    Baseline(bool),
    /// Words are deleted, at five sizes.
    Deleted(Eraser),
}

/// The measure of DeYoung et al. (2020).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Eraser {
    Eraser,
}

/// Shares of the ranked words that ERASER deletes.
pub(crate) const SHARES: [f64; 5] = [0.01, 0.05, 0.1, 0.2, 0.5];

impl Default for Erasure {
    fn default() -> Self {
        Self::Baseline(false)
    }
}

impl Erasure {
    /// Number of forward passes per input and method: one for the whole input, and two for each size, for the rationale alone and for the
    /// rest.
    pub(crate) fn passes(self) -> usize {
        match self {
            Self::Baseline(on) => usize::from(on) * 3,
            Self::Deleted(_) => 1 + 2 * SHARES.len(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", expecting = "a head is \"mean\", \"sum\" or a number from 1")]
pub enum HeadRef {
    /// The mean over heads.
    #[default]
    Mean,
    /// The sum over heads.
    Sum,
    /// A single head, from 1.
    #[serde(untagged)]
    At(usize),
}

impl std::fmt::Display for HeadRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            HeadRef::Mean => f.write_str("mean"),
            HeadRef::Sum => f.write_str("sum"),
            HeadRef::At(head) => write!(f, "{head}"),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Attention from the mask to the tokens, which shows where the information for predicting the mask comes from; used in the authors'
    /// code.
    #[default]
    FromMask,
    /// Attention from the tokens to the mask, as in the formula in the paper.
    ToMask,
}

impl Direction {
    pub fn name(self) -> &'static str {
        match self {
            Direction::FromMask => "from_mask",
            Direction::ToMask => "to_mask",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScoreKind {
    #[default]
    Softmax,
    /// Scaled query-key products before the softmax, centred over the tokens. Adding a constant changes neither softmax nor ranking.
    Raw,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AttentionSpec {
    /// The layer, from 1.
    pub layer: LayerRef,
    /// The head, or how heads are combined.
    pub head: HeadRef,
    pub direction: Direction,
    /// Probabilities, or values before the softmax.
    pub scores: ScoreKind,
}

impl Default for AttentionSpec {
    fn default() -> Self {
        Self { layer: LayerRef::Last, head: HeadRef::Mean, direction: Direction::FromMask, scores: ScoreKind::Softmax }
    }
}

/// Start of the path for integrated gradients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Baseline {
    /// `[CLS] [PAD] … [SEP]`, as in the paper.
    #[default]
    Pad,
    /// `[CLS] [MASK] … [SEP]`.
    Mask,
    /// Zero vectors between the special tokens around the text.
    Zero,
    /// The mean word embedding between the special tokens around the text.
    Mean,
}

impl Baseline {
    pub fn name(self) -> &'static str {
        match self {
            Baseline::Pad => "pad",
            Baseline::Mask => "mask",
            Baseline::Zero => "zero",
            Baseline::Mean => "mean",
        }
    }
}

/// The quantity that is explained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetKind {
    /// The probability of the predicted token, averaged over masks.
    #[default]
    Probability,
    Logit,
}

impl TargetKind {
    pub fn name(self) -> &'static str {
        match self {
            TargetKind::Probability => "probability",
            TargetKind::Logit => "logit",
        }
    }
}

/// Settings of integrated gradients. Gradient × input and occlusion share the target; occlusion replaces words with the baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PathSpec {
    pub baseline: Baseline,
    pub target: TargetKind,
    /// Number of steps for the trapezoid rule.
    pub steps: usize,
    /// Accepted completeness error, as a share of the difference between the ends of the path.
    pub tolerance: f64,
    /// Maximum number of steps. Steps are doubled while the error is too large.
    pub most_steps: usize,
}

impl Default for PathSpec {
    fn default() -> Self {
        Self { baseline: Baseline::Pad, target: TargetKind::Probability, steps: 100, tolerance: 0.05, most_steps: 800 }
    }
}

/// Rule for the number of words in a predicted rationale.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", expecting = "k is \"ratio\", \"gold\" or a number of words")]
pub enum TopK {
    /// The dimension's mean rationale ratio times the input's length, as in the paper.
    #[default]
    Ratio,
    /// The length of the gold rationale.
    Gold,
    /// A fixed number of words.
    #[serde(untagged)]
    Fixed(usize),
}

impl std::fmt::Display for TopK {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            TopK::Ratio => f.write_str("ratio"),
            TopK::Gold => f.write_str("gold"),
            TopK::Fixed(k) => write!(f, "{k}"),
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MetricSpec {
    /// Rule for the size of a predicted rationale.
    pub k: TopK,
    pub membership: Membership,
}

pub(crate) const MOST_INPUTS: usize = 100_000;

/// The name of a dimension in specs and findings.
pub(crate) fn dimension_name(dimension: Dimension) -> &'static str {
    match dimension {
        Dimension::Grammar => "grammar",
        Dimension::Semantics => "semantics",
        Dimension::Knowledge => "knowledge",
        Dimension::Reasoning => "reasoning",
        Dimension::Computation => "computation",
    }
}

impl Spec {
    pub fn language(&self) -> Option<Language> {
        Language::ALL.into_iter().find(|l| l.code() == self.data.language)
    }

    /// Path of the file with gold rationales, if any.
    pub fn file(&self) -> Option<PathBuf> {
        self.data.file.as_ref().map(|file| self.data.base.join(file))
    }

    fn check_data(&self, refuse: &Refuse<'_>) -> Result<(), SpecError> {
        let data = &self.data;
        refuse.unknown("data.language", &data.language, &Language::ALL.map(Language::code))?;
        if let Some(file) = &data.file {
            refuse.no_file("data.file", file)?;
        } else {
            let known = Dimension::ALL.map(dimension_name);
            data.dimensions.iter().try_for_each(|d| refuse.unknown("data.dimensions", d, &known))?;
        }
        refuse.twice("data.dimensions", &data.dimensions)?;
        refuse.outside("data.inputs", data.inputs, 1..=MOST_INPUTS)
    }

    fn check_methods(&self, refuse: &Refuse<'_>) -> Result<(), SpecError> {
        let methods = &self.saliency.methods;
        if methods.is_empty() {
            let problem = "is empty: give at least one method, for example [\"attention\"]";
            return refuse.because("saliency.methods", problem.into());
        }
        for name in methods {
            refuse.unknown("saliency.methods", name, NAMES)?;
        }
        refuse.twice("saliency.methods", methods)
    }

    fn check_choices(&self, refuse: &Refuse<'_>) -> Result<(), SpecError> {
        let (attention, path) = (&self.attention, &self.integrated_gradients);
        for (key, at) in [
            ("attention.layer", if let LayerRef::At(l) = attention.layer { l } else { 1 }),
            ("attention.head", if let HeadRef::At(h) = attention.head { h } else { 1 }),
        ] {
            refuse.outside(key, at, 1..=10_000)?;
        }
        if attention.scores == ScoreKind::Raw && attention.direction == Direction::ToMask {
            let problem =
                "cannot be raw for attention to the mask: each token's scores are shifted by a different constant";
            return refuse.because("attention.scores", problem.into());
        }
        refuse.outside("integrated_gradients.steps", path.steps, 1..=10_000)?;
        refuse.outside("integrated_gradients.tolerance", path.tolerance, 1e-6..=1e6)?;
        refuse.outside("integrated_gradients.most_steps", path.most_steps, path.steps..=100_000)?;
        if let TopK::Fixed(k) = self.metrics.k {
            refuse.outside("metrics.k", k, 1..=1_000)?;
        }
        Ok(())
    }
}

impl LabSpec for Spec {
    fn subject(&self) -> &str {
        "rationales"
    }

    fn lies_in(&mut self, folder: PathBuf) {
        self.data.base = folder;
    }

    fn check(&self, origin: &str) -> Result<(), SpecError> {
        let refuse = Refuse::new(origin);
        refuse.no_models(&self.models)?;
        self.check_data(&refuse)?;
        self.check_methods(&refuse)?;
        self.check_choices(&refuse)?;
        let level = self.interval.level;
        if (0.5..1.0).contains(&level) {
            return Ok(());
        }
        refuse
            .because("interval.level", format!("is {}: must be at least 0.5 and below 1", base::numbers::brief(&level)))
    }

    fn reach(&self, origin: &str) -> Result<(), SpecError> {
        let refuse = Refuse::new(origin);
        refuse.models(&self.models)?;
        match self.file() {
            Some(file) if !file.exists() => {
                refuse.because("data.file", format!(": {}: no such file or folder", file.display()))
            }
            _ => Ok(()),
        }
    }
}

pub(crate) const SALIENCY_TOML: &str = include_str!("../../../assets/specs/saliency.toml");

lab::spec_fields!(Spec, Saliency, SALIENCY_TOML);
