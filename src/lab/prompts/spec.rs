//! The spec of the lab, and its checks.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::adjust::Weights;
use super::candidates::Candidates;
use super::consistency::{Draws, Scoring};
use super::places::Ties;
use super::relations::Relations;
use super::tuned::TunedSpec;
use base::suggest::is_unknown;
use corpus::facts::{OBJECT, SUBJECT, relations};
use lab::LabId;
use lab::interval::IntervalSpec;
use lab::setting::rows::typed;
use lab::spec::{LabSpec, Refuse, SpecError};

/// A complete experiment. The same spec and version of the program give the same findings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    pub lab: LabId,
    /// Names of the models, built in or on disk.
    pub models: Vec<String>,
    /// The seed of the run's random streams.
    #[serde(default)]
    pub seed: u64,
    #[serde(default)]
    pub data: DataSpec,
    #[serde(default)]
    pub query: QuerySpec,
    #[serde(default)]
    pub adjust: AdjustSpec,
    #[serde(default)]
    pub ranks: RanksSpec,
    #[serde(default)]
    pub ledger: LedgerSpec,
    #[serde(default)]
    pub interval: IntervalSpec,
    /// Further pretraining on varying shares of the facts.
    #[serde(default, skip_serializing_if = "DisparitySpec::is_off")]
    pub disparity: DisparitySpec,
    /// Prompts found automatically, on facts that are then not queried.
    #[serde(default, skip_serializing_if = "TunedSpec::is_off")]
    pub tuned: TunedSpec,
}

/// Relations, prompts and mentions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DataSpec {
    /// Files or folders with facts and prompts, relative to the spec file; if empty, the built-in relations are used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// True to use the built-in relations even if files are named.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub built_in: bool,
    /// True to use the files' relations even if `relations` selects among the built-in ones.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub whole: bool,
    /// Relations to use.
    pub relations: Relations,
    /// Maximum number of prompts per relation; the first ones are used. `None` for all.
    pub prompts: Option<usize>,
    /// Maximum number of instances per relation; the first ones are used. `None` for all.
    pub instances: Option<usize>,
    /// Maximum number of names per subject, including the usual one.
    pub mentions: usize,
    /// Additional prompts by relation, placed after the relation's own.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub own: BTreeMap<String, Vec<String>>,
    /// Folder of the spec file; not part of the experiment.
    #[serde(skip)]
    pub base: PathBuf,
}

impl Default for DataSpec {
    fn default() -> Self {
        Self {
            files: Vec::new(),
            built_in: false,
            whole: false,
            relations: Relations::default(),
            prompts: None,
            instances: None,
            mentions: super::preference::MENTIONS,
            own: BTreeMap::new(),
            base: PathBuf::new(),
        }
    }
}

impl DataSpec {
    pub fn paths(&self) -> Vec<PathBuf> {
        self.files.iter().map(|f| self.base.join(f)).collect()
    }

    /// Adds a file or folder; `path` is relative to the current folder, and repeated paths are ignored.
    ///
    /// If only built-in relations were in use, they are kept, including a selection by name. A selection of relations from files is
    /// dropped, so that all are used.
    pub fn add(&mut self, path: String) {
        if self.files.is_empty() {
            (self.built_in, self.whole) = (true, !self.relations.is_empty());
        } else if !self.whole {
            self.relations.forget();
        }
        let path = typed(&self.base, path);
        if !self.files.contains(&path) {
            self.files.push(path);
        }
    }
}

/// Rules for answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct QuerySpec {
    /// Rule for the words that count as candidate answers.
    pub candidates: Candidates,
    pub k: usize,
    /// Words to skip: `own` for the built-in list, `none`, or a file.
    pub function_words: String,
    /// True to ignore case.
    pub ignore_case: bool,
}

impl Default for QuerySpec {
    fn default() -> Self {
        Self { candidates: Candidates::Vocabulary, k: 5, function_words: OWN_WORDS.into(), ignore_case: false }
    }
}

/// The built-in list of function words.
pub const OWN_WORDS: &str = "own";
pub const NO_WORDS: &str = "none";

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Weighting {
    /// Gives all prompts equal weights.
    #[default]
    Uniform,
    /// Uses the numbers in the spec; relations without numbers have equal weights.
    User,
    /// Weights prompts by their likelihood, averaged over the models.
    Perplexity,
}

impl Weighting {
    /// All weightings, in display order.
    pub const ALL: [Self; 3] = [Self::Uniform, Self::User, Self::Perplexity];

    /// The name in specs and findings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::User => "user",
            Self::Perplexity => "perplexity",
        }
    }
}

/// A user's weights for one relation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "weights must be a list of numbers, or a list of lists")]
pub enum UserWeights {
    /// One weight per prompt.
    Prompts(Vec<f64>),
    /// One weight per prompt and mention.
    Joint(Vec<Vec<f64>>),
}

impl UserWeights {
    pub fn weights(&self) -> Result<Weights, super::adjust::WeightError> {
        match self {
            Self::Prompts(list) => Weights::of_prompts(list),
            Self::Joint(table) => Weights::of(table),
        }
    }
}

/// Settings for averaging over prompts and mentions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AdjustSpec {
    pub weights: Weighting,
    /// Number of prompts sampled for the average; `None` for all.
    pub prompts: Option<usize>,
    /// Number of mentions sampled per instance; `None` for all.
    pub mentions: Option<usize>,
    /// Weights by relation, for `weights = "user"`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub user: BTreeMap<String, UserWeights>,
}

/// Sharing of random draws between models.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sharing {
    /// Separate draws for each model, as in the published code.
    #[default]
    PerModel,
    /// The same draws for all models.
    Shared,
}

/// Settings for drawing ranks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RanksSpec {
    pub draws: usize,
    /// Number of relations per draw.
    pub subset: usize,
    /// Sharing of prompts and mentions in the random regime.
    pub random: Sharing,
    pub ties: Ties,
    pub scoring: Scoring,
}

impl Default for RanksSpec {
    fn default() -> Self {
        Self { draws: 1000, subset: 20, random: Sharing::PerModel, ties: Ties::EarlierLower, scoring: Scoring::Exact }
    }
}

impl RanksSpec {
    /// The parameters of the draws, with a seed.
    pub(crate) fn draws(&self, seed: u64) -> Draws {
        let Self { draws, subset, random, ties, scoring } = *self;
        Draws { count: draws, subset, shared: random == Sharing::Shared, seed, ties, scoring }
    }
}

/// Settings for decomposing gaps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LedgerSpec {
    /// Sharing of prompt and mentions between both models.
    pub draws: Sharing,
}

impl Default for LedgerSpec {
    fn default() -> Self {
        Self { draws: Sharing::Shared }
    }
}

/// Further pretraining on mixtures, after which facts are queried again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DisparitySpec {
    /// Shares of sentences that state facts; empty to skip this part.
    pub(crate) gammas: Vec<f64>,
    /// The models to train; if empty, the first of the run.
    pub models: Vec<String>,
    /// Number of distinct sentences per mixture.
    pub sentences: usize,
    /// Number of passes over the sentences.
    pub epochs: usize,
    /// A text file with one sentence per line that replaces Micro-English; relative to the spec file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Number of steps, in place of `epochs`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<usize>,
    /// Sentences per step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<usize>,
    /// Peak learning rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// Share of masked words, for masked models.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub masking: Option<f64>,
}

impl Default for DisparitySpec {
    fn default() -> Self {
        Self {
            gammas: Vec::new(),
            models: Vec::new(),
            sentences: 2_000,
            epochs: 3,
            text: None,
            steps: None,
            batch: None,
            rate: None,
            masking: None,
        }
    }
}

impl DisparitySpec {
    pub(crate) fn is_off(&self) -> bool {
        self.gammas.is_empty()
    }
}

pub(crate) const PROMPTS_TOML: &str = include_str!("../../../assets/specs/prompts.toml");

/// True if a prompt contains `[X]` and `[Y]` once each.
pub(crate) fn is_prompt(text: &str) -> bool {
    text.matches(SUBJECT).count() == 1 && text.matches(OBJECT).count() == 1
}

impl Spec {
    /// The named relations, each with its key in the spec.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let picked = self.data.relations.iter().map(|r| ("data.relations", r.as_str()));
        let own = self.data.own.keys().map(|r| ("data.own", r.as_str()));
        picked.chain(own).chain(self.adjust.user.keys().map(|r| ("adjust.user", r.as_str())))
    }

    fn check_data(&self, refuse: &Refuse<'_>) -> Result<(), SpecError> {
        let data = &self.data;
        if data.files.iter().any(|f| f.trim().is_empty()) {
            return refuse
                .because("data.files", "contains an empty name: give a file or folder, or omit the key".into());
        }
        refuse.twice("data.files", &data.files)?;
        if data.built_in && data.files.is_empty() {
            let what = "requires `data.files`: without files, the built-in relations are always used";
            return refuse.because("data.built_in", what.into());
        }
        if data.whole && !data.built_in {
            let what = "requires `data.built_in`: with it, `relations` selects among the built-in ones";
            return refuse.because("data.whole", what.into());
        }
        refuse.twice("data.relations", &data.relations)?;
        refuse.outside("data.mentions", data.mentions, 1..=10)?;
        for (key, n) in [("data.prompts", data.prompts), ("data.instances", data.instances)] {
            n.map_or(Ok(()), |n| refuse.outside(key, n, 1..=1_000_000))?;
        }
        for (relation, prompts) in &data.own {
            if let Some(bad) = prompts.iter().find(|p| !is_prompt(p)) {
                let shown = base::text::shortened(bad, 80);
                let what = format!(
                    "for {relation} contains `{shown}`: a prompt must contain {SUBJECT} and {OBJECT} exactly once each"
                );
                return refuse.because("data.own", what);
            }
        }
        if data.files.is_empty() {
            let all = relations().unwrap_or_default();
            let known: Vec<&str> = all.iter().map(|r| r.id.as_str()).collect();
            if let Some((key, unknown)) = self.named().find(|(_, r)| !known.contains(r)) {
                return refuse.because(key, is_unknown(unknown, &known));
            }
        }
        Ok(())
    }

    fn check_adjust(&self, refuse: &Refuse<'_>) -> Result<(), SpecError> {
        let adjust = &self.adjust;
        for (key, n) in [("adjust.prompts", adjust.prompts), ("adjust.mentions", adjust.mentions)] {
            n.map_or(Ok(()), |n| refuse.outside(key, n, 1..=1_000_000))?;
        }
        for (relation, weights) in &adjust.user {
            if let Err(e) = weights.weights() {
                return refuse.because("adjust.user", format!("of {relation}: {e}"));
            }
        }
        match adjust.weights {
            Weighting::User if adjust.user.is_empty() => refuse.because(
                "adjust.user",
                "is missing: give weights by relation, for example `capital = [1, 2, 1]`, or enter them together with the prompts"
                    .into(),
            ),
            Weighting::User if adjust.prompts.is_some() || adjust.mentions.is_some() => {
                refuse.because("adjust.prompts", "cannot be sampled with the user's own weights".into())
            }
            _ => Ok(()),
        }
    }

    fn check_disparity(&self, refuse: &Refuse<'_>) -> Result<(), SpecError> {
        let DisparitySpec { gammas, models, sentences, epochs, text, steps, batch, rate, masking } = &self.disparity;
        if let Some(bad) = gammas.iter().find(|g| !(0.0..=1.0).contains(*g)) {
            return refuse.because("disparity.gammas", format!("contains {bad}: a share must be from 0 to 1"));
        }
        refuse.twice("disparity.gammas", gammas)?;
        refuse.twice("disparity.models", models)?;
        refuse.outside("disparity.sentences", *sentences, 10..=1_000_000)?;
        refuse.outside("disparity.epochs", *epochs, 1..=100)?;
        steps.map_or(Ok(()), |n| refuse.outside("disparity.steps", n, 1..=1_000_000))?;
        batch.map_or(Ok(()), |n| refuse.outside("disparity.batch", n, 1..=4_096))?;
        rate.map_or(Ok(()), |r| refuse.outside("disparity.rate", r, 1e-9..=1.0))?;
        masking.map_or(Ok(()), |m| refuse.outside("disparity.masking", m, 0.01..=0.95))?;
        text.as_ref().map_or(Ok(()), |text| refuse.no_file("disparity.text", text))
    }
}

impl LabSpec for Spec {
    fn subject(&self) -> &str {
        "facts"
    }

    fn lies_in(&mut self, folder: PathBuf) {
        self.data.base = folder;
    }

    fn check(&self, origin: &str) -> Result<(), SpecError> {
        let refuse = Refuse::new(origin);
        refuse.no_models(&self.models)?;
        self.check_data(&refuse)?;
        refuse.outside("query.k", self.query.k, 1..=1000)?;
        if self.query.function_words.trim().is_empty() {
            return refuse.because("query.function_words", "is empty: set it to `own`, `none`, or a file".into());
        }
        self.check_adjust(&refuse)?;
        refuse.outside("ranks.draws", self.ranks.draws, 1..=100_000)?;
        refuse.outside("ranks.subset", self.ranks.subset, 1..=10_000)?;
        self.interval.check(&refuse)?;
        self.tuned.check(&self.models, &refuse)?;
        self.check_disparity(&refuse)
    }

    fn reach(&self, origin: &str) -> Result<(), SpecError> {
        let refuse = Refuse::new(origin);
        refuse.models(&self.models)?;
        refuse.models(&self.disparity.models)?;
        let there = |key: &str, path: &Path| match path.exists() {
            true => Ok(()),
            false => refuse.because(key, format!(": {}: no such file or folder", path.display())),
        };
        self.data.paths().iter().try_for_each(|p| there("data.files", p))?;
        self.text_path().map_or(Ok(()), |path| there("disparity.text", &path))?;
        match self.words_path() {
            Some(path) => there("query.function_words", &path),
            None => Ok(()),
        }
    }
}

impl Spec {
    pub(crate) fn text_path(&self) -> Option<PathBuf> {
        self.disparity.text.as_ref().map(|text| self.data.base.join(text))
    }

    pub(crate) fn words_path(&self) -> Option<PathBuf> {
        let name = self.query.function_words.as_str();
        (name != OWN_WORDS && name != NO_WORDS).then(|| self.data.base.join(name))
    }
}

lab::spec_fields!(Spec, Prompts, PROMPTS_TOML);

#[cfg(test)]
#[path = "spec_tests.rs"]
mod tests;
