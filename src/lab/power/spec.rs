//! The spec of the lab: sides, training, and comparison.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use self::corruption::CorruptionSpec;
pub use self::level::IntervalSpec;
use super::bound::{self, Bound, DELTA, Ratio};
use super::compare::{MOST_LEVEL, Terms};
use super::plan::{AlsoSpec, Plan};
use base::text::{last_part, shortened};
use corpus::probing::PROBING;
use lab::LabId;
use lab::layer::LayerRef;
use lab::spec::{LabSpec, Refuse, SpecError};
use model::{Long, PoolOver};
use stats::mcnemar::Test;
use stats::required::Aim;

/// A complete experiment. The same spec and version of the program give the same findings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    pub lab: LabId,
    /// One encoder for both sides, or one for each. Empty if results come from files.
    #[serde(default)]
    pub models: Vec<String>,
    /// The seed of the run's random streams.
    #[serde(default)]
    pub seed: u64,
    #[serde(default)]
    pub task: TaskSpec,
    #[serde(default)]
    pub a: SideSpec,
    #[serde(default)]
    pub b: SideSpec,
    /// Settings for training that corrupts encoders.
    #[serde(default, skip_serializing_if = "CorruptionSpec::is_usual")]
    pub corruption: CorruptionSpec,
    #[serde(default)]
    pub training: TrainingSpec,
    #[serde(default)]
    pub test: TestSpec,
    /// Measurements in addition to the comparison.
    #[serde(default, skip_serializing_if = "AlsoSpec::is_off")]
    pub also: AlsoSpec,
    /// The plan fixed before any result was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Plan>,
    #[serde(default)]
    pub interval: IntervalSpec,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TaskSpec {
    /// Name of a sentence-level probing task.
    pub name: String,
    /// A file of labelled sentences, in place of generated ones; relative to the spec file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// The label to probe, by name, if the file's rows have several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Training examples per class, ascending. With the default ratio, validation and test each have a quarter of this number.
    pub sizes: Vec<usize>,
    /// Relative sizes of training, validation and test.
    #[serde(skip_serializing_if = "Ratio::is_usual")]
    pub ratio: Ratio,
    /// Treatment of sentences longer than an encoder's maximum length.
    #[serde(skip_serializing_if = "Long::is_drop")]
    pub long: Long,
    /// Folder of the spec file; not part of the hash.
    #[serde(skip)]
    pub base: PathBuf,
}

impl Default for TaskSpec {
    fn default() -> Self {
        Self {
            name: "subj_number".into(),
            data: None,
            label: None,
            sizes: vec![64, 256, 1_024],
            ratio: Ratio::PAPER,
            long: Long::Drop,
            base: PathBuf::new(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SideSpec {
    /// A separate task for this side; by default the common one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// A separate file of labelled sentences for this side.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// The probed layer; 0 for the embeddings. Static word vectors have no other layer.
    pub layer: LayerRef,
    /// Pooling of token vectors; by default the model's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pooling: Option<PoolOver>,
    /// Standard deviation of Gaussian noise added to every vector.
    pub noise: f64,
    /// Number of steps for which the encoder is first trained on sentences in random word order; 0 for none.
    #[serde(skip_serializing_if = "is_none")]
    pub corrupted: usize,
    /// A text file for the corruption, one sentence per line, in place of the built-in facts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub corrupted_text: Option<String>,
    /// `logistic`, or `mlp:H` with H hidden units.
    pub classifier: String,
    /// Files of results instead of a probe, one per seed; or folders of such files, one per system.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<String>,
}

impl Default for SideSpec {
    fn default() -> Self {
        Self {
            task: None,
            data: None,
            layer: LayerRef::Last,
            pooling: None,
            noise: 0.0,
            corrupted: 0,
            corrupted_text: None,
            classifier: "logistic".into(),
            results: Vec::new(),
        }
    }
}

/// True for 0. Such fields are omitted, so that older specs keep their hashes.
fn is_none(count: &usize) -> bool {
    *count == 0
}

impl SideSpec {
    /// Widths of the hidden layers; `None` for text that does not name a classifier.
    pub(crate) fn hidden(&self) -> Option<Vec<usize>> {
        if self.classifier == "logistic" {
            return Some(Vec::new());
        }
        let width = self.classifier.strip_prefix("mlp:")?.parse().ok()?;
        (1..=4_096).contains(&width).then(|| vec![width])
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TrainingSpec {
    /// `paper` (20 settings) or `small` (4 of them).
    pub grid: String,
    /// Number of training runs with different seeds.
    pub seeds: usize,
}

impl Default for TrainingSpec {
    fn default() -> Self {
        Self { grid: "paper".into(), seeds: 5 }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TestSpec {
    /// Significance level.
    pub alpha: f64,
    /// Target power.
    pub target: f64,
    /// Differences within this margin count as none.
    pub margin: f64,
    /// The deciding test for one run of each side on independent items. Power is computed for the same test.
    pub by: Test,
    /// The bound for recommended training examples.
    pub bound: Bound,
    /// Probability that the bound fails.
    pub delta: f64,
    /// Filter for results from files; needed if a file has several filters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// Metric of results from files; by default the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
}

impl Default for TestSpec {
    fn default() -> Self {
        Self {
            alpha: 0.05,
            target: 0.8,
            margin: 0.02,
            by: Test::default(),
            bound: Bound::Published,
            delta: DELTA,
            filter: None,
            metric: None,
        }
    }
}

impl TestSpec {
    /// Excess risk that the bound allows after `n` training examples.
    pub(crate) fn risk(&self, n: u64, parameters: u64) -> Option<f64> {
        bound::margin(self.bound, n, parameters, self.delta).ok()
    }
}

/// Prefix in the name of an encoder with random parameters.
pub(crate) const UNTRAINED: &str = "untrained:";
/// The name of a side in titles, where an untrained encoder is called the untrained copy of a model.
pub fn in_words(side: &str) -> String {
    side.strip_prefix(UNTRAINED).map_or(side.to_owned(), |name| format!("untrained copy of {name}"))
}

pub(crate) const MOST_NOISES: usize = 12;
pub(crate) const MOST_SIZES: usize = 12;
const MOST_STEPS: usize = 20_000;
/// Names of the grids that contain classifier settings.
pub const GRIDS: [&str; 2] = ["paper", "small"];
/// Minimum and maximum number of training examples per class.
pub const SIZES: (usize, usize) = (8, 200_000);

impl Spec {
    /// True if both sides' results come from files.
    pub fn of_files(&self) -> bool {
        !self.a.results.is_empty()
    }

    pub fn encoder(&self, first: bool) -> &str {
        let at = if first { self.models.first() } else { self.models.get(1).or(self.models.first()) };
        at.map_or("", String::as_str)
    }

    pub fn side(&self, first: bool) -> &SideSpec {
        if first { &self.a } else { &self.b }
    }

    /// True if a side is a folder of results.
    pub(crate) fn of_folders(&self) -> bool {
        self.a.results.iter().chain(&self.b.results).any(|name| self.path(name).is_dir())
    }

    /// Task of a side: its name, and the file of labelled sentences if there is one.
    pub fn task_of(&self, first: bool) -> (&str, Option<&str>) {
        let (own, both) = (self.side(first), &self.task);
        match (&own.data, &own.task) {
            (Some(data), name) => (name.as_ref().unwrap_or(&both.name), Some(data)),
            (None, Some(name)) => (name, None),
            (None, None) => (&both.name, both.data.as_deref()),
        }
    }

    /// True if the sides are probed for different properties. The sentences of the sides then differ, so two unpaired sets of items are
    /// compared.
    pub(crate) fn is_apart(&self) -> bool {
        let of = |first: bool| match self.task_of(first) {
            (_, Some(data)) => (true, data),
            (name, None) => (false, name),
        };
        !self.of_files() && of(true) != of(false)
    }

    /// The encoder's name without its folders, unless the sides would then have the same name.
    pub(crate) fn encoder_name(&self, first: bool) -> String {
        let short = |encoder: &str| match encoder.strip_prefix(UNTRAINED) {
            Some(of) => format!("{UNTRAINED}{}", last_part(of)),
            None => last_part(encoder).to_owned(),
        };
        let (mine, other) = (self.encoder(first), self.encoder(!first));
        let same = mine != other && short(mine) == short(other);
        if same { shortened(mine, 60) } else { shortened(&short(mine), 40) }
    }

    /// The name of a side: its encoder, and what differs from the other side.
    pub fn name(&self, first: bool) -> String {
        let (mine, other) = (self.side(first), self.side(!first));
        if self.of_files() {
            let stem = |s: &SideSpec| last_part(s.results.first().map_or("", String::as_str)).to_owned();
            let name = stem(mine);
            let name = if name == stem(other) { mine.results[0].clone() } else { name };
            return shortened(&name, 60);
        }
        let mut name = self.encoder_name(first);
        if self.is_apart() {
            let (task, data) = self.task_of(first);
            let task = data.map_or(task.replace('_', " "), |d| last_part(d).to_owned());
            name += &format!(", {}", shortened(&task, 40));
        }
        if mine.layer != other.layer || mine.pooling != other.pooling {
            name += &match mine.layer {
                LayerRef::Last => ", last layer".to_owned(),
                LayerRef::At(l) => format!(", layer {l}"),
            };
            if let Some(pooling) = mine.pooling {
                name += &format!(", {pooling}");
            }
        }
        if mine.classifier != other.classifier {
            name += &format!(", {}", mine.classifier);
        }
        if mine.noise != other.noise {
            name += &format!(", noise {}", mine.noise);
        }
        if mine.corrupted != other.corrupted && mine.corrupted > 0 {
            name += &format!(", corrupted {}", mine.corrupted);
        }
        if let Some(text) = mine.corrupted_text.as_ref().filter(|_| mine.corrupted_text != other.corrupted_text) {
            name += &format!(", on {}", shortened(last_part(text), 40));
        }
        if self.encoder(true) == self.encoder(false) && mine == other {
            name += if first { " (1)" } else { " (2)" };
        }
        name
    }

    pub fn aim(&self) -> Aim {
        Aim { target: self.test.target, level: self.test.alpha, test: self.test.by }
    }

    pub fn terms(&self) -> Terms {
        let (margin, alpha) = (self.test.margin, self.test.alpha);
        Terms { level: self.interval.level, margin, alpha, seed: self.seed, by: self.test.by }
    }

    /// Resolves a path in the spec, relative to the spec file.
    pub fn path(&self, named: &str) -> PathBuf {
        self.task.base.join(named)
    }

    fn check_sides(&self, refuse: &Refuse<'_>) -> Result<(), SpecError> {
        for (name, side) in [("a", &self.a), ("b", &self.b)] {
            if side.hidden().is_none() {
                let shown = shortened(&side.classifier, 40);
                return refuse.because(
                    &format!("{name}.classifier"),
                    format!("is `{shown}`: must be `logistic`, or `mlp:H` with 1 to 4096 hidden units"),
                );
            }
            refuse.outside(&format!("{name}.noise"), side.noise, 0.0..=1e6)?;
            refuse.outside(&format!("{name}.corrupted"), side.corrupted, 0..=MOST_STEPS)?;
            if side.corrupted_text.is_some() && side.corrupted == 0 {
                let problem = format!("needs steps: set {name}.corrupted, for example to 200");
                return refuse.because(&format!("{name}.corrupted_text"), problem);
            }
            if side.results.iter().any(|r| r.trim().is_empty()) {
                return refuse.because(&format!("{name}.results"), "contains an empty name: remove it".into());
            }
            refuse.twice(&format!("{name}.results"), &side.results)?;
            if self.of_files() && (side.task.is_some() || side.data.is_some()) {
                let problem = "is for trained probes, not for results from files: remove it".into();
                return refuse.because(&format!("{name}.task"), problem);
            }
        }
        if self.of_files() && !self.also.is_off() {
            let problem = "needs trained probes, not results from files: remove it".into();
            return refuse.because("also", problem);
        }
        // Several paths must be folders, one per system, or files, the same number on both sides. The run checks that when it begins.
        for (name, mine, other) in [("a", &self.a, "b"), ("b", &self.b, "a")] {
            if mine.results.is_empty() && self.of_files() {
                let problem = format!("is empty, but `{other}.results` is not: give results for both sides");
                return refuse.because(&format!("{name}.results"), problem);
            }
        }
        Ok(())
    }

    fn check_task(&self, refuse: &Refuse<'_>) -> Result<(), SpecError> {
        let known: Vec<&str> = PROBING.iter().map(|t| t.id).collect();
        match &self.task.data {
            None => refuse.unknown("task.name", &self.task.name, &known)?,
            Some(data) => refuse.no_file("task.data", data)?,
        }
        for (key, side) in [("a", &self.a), ("b", &self.b)] {
            side.task.iter().try_for_each(|t| refuse.unknown(&format!("{key}.task"), t, &known))?;
            side.data.iter().try_for_each(|d| refuse.no_file(&format!("{key}.data"), d))?;
        }
        if self.also.folds && self.task.ratio != Ratio::PAPER {
            let problem = "requires the ratio 4:1:1: omit `task.ratio`, or remove the folds".into();
            return refuse.because("also.folds", problem);
        }
        let sizes = &self.task.sizes;
        if sizes.is_empty() || sizes.len() > MOST_SIZES {
            let count = sizes.len();
            return refuse.because("task.sizes", format!("has {count} sizes; between 1 and {MOST_SIZES} are allowed"));
        }
        if let Some(bad) = sizes.iter().find(|s| !(SIZES.0..=SIZES.1).contains(*s)) {
            let (least, most) = SIZES;
            return refuse.because("task.sizes", format!("contains {bad}: each size must be from {least} to {most}"));
        }
        if !sizes.windows(2).all(|w| w[0] < w[1]) {
            return refuse.because("task.sizes", "must be in ascending order".into());
        }
        Ok(())
    }

    fn check_numbers(&self, refuse: &Refuse<'_>) -> Result<(), SpecError> {
        self.corruption.check(self.a.corrupted + self.b.corrupted > 0, refuse)?;
        refuse.unknown("training.grid", &self.training.grid, &GRIDS)?;
        refuse.outside("training.seeds", self.training.seeds, 1..=50)?;
        let t = &self.test;
        refuse.outside("test.alpha", t.alpha, 1e-6..=0.5)?;
        refuse.outside("test.target", t.target, 0.05..=0.999)?;
        refuse.outside("test.margin", t.margin, 1e-6..=1.0)?;
        refuse.outside("test.delta", t.delta, 1e-300..=0.5)?;
        if let Err(e) = bound::margin(t.bound, 1, 1, t.delta) {
            return refuse.because("test.bound", format!(": {e}"));
        }
        if self.also.noise.len() > MOST_NOISES {
            let count = self.also.noise.len();
            return refuse.because("also.noise", format!("has {count} values; at most {MOST_NOISES} are allowed"));
        }
        refuse.twice("also.noise", &self.also.noise)?;
        self.also.noise.iter().try_for_each(|sigma| refuse.outside("also.noise", *sigma, 0.0..=1e6))?;
        self.plan.as_ref().map_or(Ok(()), |plan| plan.check(refuse))?;
        refuse.outside("interval.level", self.interval.level, 0.5..=MOST_LEVEL)
    }
}

impl LabSpec for Spec {
    fn subject(&self) -> &str {
        if self.of_files() { "results" } else { &self.task.name }
    }

    fn lies_in(&mut self, folder: PathBuf) {
        self.task.base = folder;
    }

    fn check(&self, origin: &str) -> Result<(), SpecError> {
        let refuse = Refuse::new(origin);
        self.check_sides(&refuse).and_then(|()| refuse.twice("models", &self.models))?;
        if self.of_files() {
            if !self.models.is_empty() {
                return refuse.because("models", "must be empty where results come from files".into());
            }
        } else if !(1..=2).contains(&self.models.len()) {
            let problem = format!(
                "has {} names: give one encoder for both sides, or one for each, for example [\"bert-mini\", \
                 \"untrained:bert-mini\"]",
                self.models.len()
            );
            return refuse.because("models", problem);
        } else {
            self.check_task(&refuse)?;
        }
        self.check_numbers(&refuse)
    }

    fn reach(&self, origin: &str) -> Result<(), SpecError> {
        let refuse = Refuse::new(origin);
        refuse.models(&self.models)?;
        let there = |key: &str, path: &Path| match path.is_file() {
            true => Ok(()),
            false => refuse.because(key, format!(": {}: no such file", path.display())),
        };
        if let Some(data) = &self.task.data {
            there("task.data", &self.path(data))?;
        }
        for (name, side) in [("a", &self.a), ("b", &self.b)] {
            for (key, file) in [("data", &side.data), ("corrupted_text", &side.corrupted_text)] {
                file.iter().try_for_each(|file| there(&format!("{name}.{key}"), &self.path(file)))?;
            }
        }
        for (key, side) in [("a.results", &self.a), ("b.results", &self.b)] {
            let mut paths = side.results.iter().map(|name| self.path(name)).filter(|path| !path.is_dir());
            paths.try_for_each(|path| there(key, &path))?;
        }
        Ok(())
    }
}

pub(crate) const POWER_TOML: &str = include_str!("../../../assets/specs/power.toml");

lab::spec_fields!(Spec, Power, POWER_TOML);

mod corruption;
mod level;

#[cfg(test)]
mod tests;
