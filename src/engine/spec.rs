//! The spec: everything that says what to compute, in TOML and JSON, and its checks.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use thiserror::Error;

pub use crate::lab::interventions::oracle::OracleKind;

/// What to compute, completely: the same spec with the same program gives the same findings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Which instrument runs.
    pub lab: LabId,
    /// Names of the models, built in or on disk, in the order in which they run.
    pub models: Vec<String>,
    /// The seed from which every random stream of the run is derived.
    #[serde(default)]
    pub seed: u64,
    /// The probing task and how much of it.
    #[serde(default)]
    pub task: TaskSpec,
    /// Where in the model the intervention and the oracle read and write.
    #[serde(default)]
    pub site: SiteSpec,
    /// How probes and oracles are trained.
    #[serde(default)]
    pub probe: ProbeSpec,
    /// How uncertainty is stated.
    #[serde(default)]
    pub interval: IntervalSpec,
    /// The interventions, in the order in which they run.
    #[serde(rename = "method", default)]
    pub methods: Vec<MethodSpec>,
}

/// The instruments of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LabId {
    /// Completeness, selectivity and reliability of interventions (Canby et al.).
    Interventions,
}

impl std::fmt::Display for LabId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            LabId::Interventions => "interventions",
        })
    }
}

/// The probing task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TaskSpec {
    /// Name in the task registry.
    pub name: String,
    /// A file whose sentences are the examples in place of generated ones; a relative path is relative to the spec's file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// Folder of the spec's file; not part of what is asked, so that a spec has one hash wherever it lies.
    #[serde(skip)]
    pub base: PathBuf,
    /// Number of examples before the 40/40/20 split; with `data`, the most that are taken.
    pub examples: usize,
    /// Correlation (phi) of target and environment among examples that have both; none keeps the natural table.
    pub phi: Option<f64>,
    /// The property that is intervened on: index into the task's properties by name.
    pub target: String,
}

impl Default for TaskSpec {
    fn default() -> Self {
        Self {
            name: "agreement".into(),
            data: None,
            base: PathBuf::new(),
            examples: 12_000,
            phi: None,
            target: "subject_number".into(),
        }
    }
}

impl TaskSpec {
    /// Where the file of examples is, if there is one.
    #[must_use]
    pub fn data_path(&self) -> Option<PathBuf> {
        self.data.as_ref().map(|data| self.base.join(data))
    }
}

/// A layer, counted from 1 as in the papers: layer `l` is the output of block `l` (`blocks.{l-1}.hook_resid_post`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LayerRef {
    /// The last block of the model, whatever its depth.
    #[default]
    Last,
    /// The output of this block, from 1.
    #[serde(untagged)]
    At(usize),
}

impl LayerRef {
    /// The layer's number in a model with `layers` blocks.
    pub fn resolve(self, layers: usize) -> Result<usize, String> {
        match self {
            _ if layers == 0 => {
                Err("the model has no blocks: word vectors have nothing to intervene on".into())
            }
            LayerRef::Last => Ok(layers),
            LayerRef::At(l) if (1..=layers).contains(&l) => Ok(l),
            LayerRef::At(l) => Err(format!("layer {l} does not exist: the model has layers 1 to {layers}")),
        }
    }
}

/// Where interventions write and oracles read.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SiteSpec {
    /// Layer of the intervention.
    pub layer: LayerRef,
    /// Layer of the oracle, the same or a later one; none means the same.
    pub oracle_layer: Option<LayerRef>,
}

/// How probes are trained.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProbeSpec {
    /// Name of the hyperparameter grid: `small` or `paper` (36 points).
    pub grid: String,
    /// Which oracles judge, the first one being the one drawn by default.
    pub oracles: Vec<OracleKind>,
}

impl Default for ProbeSpec {
    fn default() -> Self {
        Self { grid: "small".into(), oracles: vec![OracleKind::Mlp, OracleKind::Linear] }
    }
}

/// How uncertainty is stated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct IntervalSpec {
    /// Level of the intervals.
    pub level: f64,
    /// Bootstrap resamples.
    pub resamples: usize,
}

impl Default for IntervalSpec {
    fn default() -> Self {
        Self { level: 0.95, resamples: 1000 }
    }
}

/// One intervention and its hyperparameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MethodSpec {
    /// Identifier in the method registry (`inlp`, `alterrep`, `fgsm`, `pgd`, …).
    pub name: String,
    /// Values of the swept hyperparameter; empty means the grid of the paper.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<f64>,
    /// Further hyperparameters by name (`steps`, `rank`, …); missing ones take their defaults.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, f64>,
}

impl MethodSpec {
    /// The method with the paper's grid and default hyperparameters.
    pub fn named(name: &str) -> Self {
        Self { name: name.into(), values: Vec::new(), options: BTreeMap::new() }
    }
}

/// Why a spec cannot be used. `origin` is the file, or a word for where the text came from.
#[derive(Debug, Error)]
pub enum SpecError {
    /// The file could not be read.
    #[error("{}: cannot read the spec: {source}. Check the path and its permissions.", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The text is not a spec: broken TOML, an unknown key, or a value of the wrong type.
    #[error("{origin}: {message}")]
    Parse {
        /// Where the text came from, with the line.
        origin: String,
        /// What is wrong.
        message: String,
    },
    /// A value is out of its range.
    #[error("{origin}: `{key}` {problem}")]
    Value {
        /// Where the text came from.
        origin: String,
        /// The key in TOML notation.
        key: String,
        /// What is wrong and what is allowed.
        problem: String,
    },
}

/// Upper bound of `task.examples`; above it a typing slip would fill the memory.
pub const MAX_EXAMPLES: usize = 2_000_000;
/// Largest spec file that is read.
const MAX_SPEC_BYTES: u64 = 1 << 20;

impl Spec {
    /// The default experiment of the interventions lab, the shipped `assets/specs/agreement.toml`.
    pub fn agreement() -> Self {
        Self::parse(AGREEMENT_TOML, "assets/specs/agreement.toml")
            .unwrap_or_else(|e| unreachable!("the shipped spec is checked by a test: {e}"))
    }

    /// Reads and checks a spec file.
    pub fn read(path: &Path) -> Result<Self, SpecError> {
        let fail = |source| SpecError::Read { path: path.to_owned(), source };
        let size = std::fs::metadata(path).map_err(fail)?.len();
        if size > MAX_SPEC_BYTES {
            let source = std::io::Error::other(format!("{size} bytes is no spec (at most 1 MiB)"));
            return Err(fail(source));
        }
        let text = std::fs::read_to_string(path).map_err(fail)?;
        let mut spec = Self::parse(&text, &path.display().to_string())?;
        // What comes from a pipe or from the standard input lies in no folder of the user's.
        if !path.starts_with("/dev") {
            spec.task.base = path.parent().map(Path::to_owned).unwrap_or_default();
        }
        Ok(spec)
    }

    /// Parses and checks TOML. `origin` names the text in errors.
    pub fn parse(text: &str, origin: &str) -> Result<Self, SpecError> {
        let spec: Spec = toml::from_str(text).map_err(|e| {
            let line = e.span().map(|s| 1 + text[..s.start.min(text.len())].matches('\n').count());
            let origin = line.map_or(origin.to_owned(), |l| format!("{origin}, line {l}"));
            SpecError::Parse { origin, message: e.message().trim().replace('\n', "; ") }
        })?;
        spec.check(origin)?;
        Ok(spec)
    }

    /// Checks ranges and the names that need no registry. Methods and tasks are checked where their registries are known.
    pub fn check(&self, origin: &str) -> Result<(), SpecError> {
        let bad = |key: &str, problem: String| {
            Err(SpecError::Value { origin: origin.to_owned(), key: key.to_owned(), problem })
        };
        if self.models.is_empty() {
            return bad("models", "is empty: name at least one model, for example [\"bert-mini\"]".into());
        }
        if self.methods.is_empty() {
            return bad("method", "is missing: add at least one [[method]] with a name".into());
        }
        let n = self.task.examples;
        if !(200..=MAX_EXAMPLES).contains(&n) {
            return bad("task.examples", format!("is {n}: allowed are 200 to {MAX_EXAMPLES}"));
        }
        if let Some(phi) = self.task.phi
            && !(-0.95..=0.95).contains(&phi)
        {
            return bad("task.phi", format!("is {phi}: allowed are -0.95 to 0.95"));
        }
        if let Some(data) = &self.task.data {
            if data.trim().is_empty() {
                return bad("task.data", "is empty: name a file, or leave the key out".into());
            }
            if self.task.phi.is_some() {
                return bad(
                    "task.phi",
                    "cannot be set where `task.data` names a file: its rows decide".into(),
                );
            }
        }
        if !["small", "paper"].contains(&self.probe.grid.as_str()) {
            return bad("probe.grid", format!("is `{}`: known are small, paper", self.probe.grid));
        }
        if self.probe.oracles.is_empty() {
            return bad("probe.oracles", "is empty: known are mlp, linear".into());
        }
        let level = self.interval.level;
        if !(0.5..1.0).contains(&level) {
            return bad("interval.level", format!("is {level}: allowed are 0.5 to below 1"));
        }
        let resamples = self.interval.resamples;
        if !(100..=100_000).contains(&resamples) {
            return bad("interval.resamples", format!("is {resamples}: allowed are 100 to 100000"));
        }
        Ok(())
    }

    /// The spec as TOML, in the form in which it is stored and shown.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).unwrap_or_else(|e| unreachable!("a spec is plain data: {e}"))
    }

    /// The first twelve hexadecimal digits of the SHA-256 of the spec's canonical JSON: its name in findings.
    pub fn hash(&self) -> String {
        let json = serde_json::to_vec(self).unwrap_or_else(|e| unreachable!("a spec is plain data: {e}"));
        let digest = Sha256::digest(&json);
        digest.iter().take(6).map(|b| format!("{b:02x}")).collect()
    }
}

/// The shipped default spec.
pub const AGREEMENT_TOML: &str = include_str!("../../assets/specs/agreement.toml");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shipped_spec_parses_to_the_defaults() {
        let spec = Spec::parse(AGREEMENT_TOML, "shipped").unwrap();
        assert_eq!(spec.task, TaskSpec::default());
        assert_eq!(spec.probe, ProbeSpec::default());
        assert_eq!(spec.interval, IntervalSpec::default());
        assert_eq!(spec.site, SiteSpec::default());
        let names: Vec<_> = spec.methods.iter().map(|m| m.name.as_str()).collect();
        assert_eq!(names, ["alterrep", "fgsm", "pgd", "inlp"]);
    }

    #[test]
    fn round_trips_through_toml_and_keeps_its_hash() {
        let mut spec = Spec::agreement();
        spec.site.layer = LayerRef::At(2);
        spec.site.oracle_layer = Some(LayerRef::Last);
        spec.methods[2].options.insert("steps".into(), 12.0);
        let again = Spec::parse(&spec.to_toml(), "test").unwrap();
        assert_eq!(spec, again);
        assert_eq!(spec.hash(), again.hash());
        assert_ne!(spec.hash(), Spec::agreement().hash());
    }

    #[test]
    fn own_data_lies_beside_the_spec_and_its_place_is_not_in_the_hash() {
        let folder = tempfile::tempdir().unwrap();
        let text = AGREEMENT_TOML.replace("examples = 12000", "data = \"own.tsv\"\nexamples = 12000");
        let file = folder.path().join("own.toml");
        std::fs::write(&file, &text).unwrap();
        let (read, parsed) = (Spec::read(&file).unwrap(), Spec::parse(&text, "x").unwrap());
        assert_eq!(read.task.data_path(), Some(folder.path().join("own.tsv")));
        assert_eq!(parsed.task.data_path(), Some("own.tsv".into()));
        assert_eq!(read.hash(), parsed.hash());
        assert!(read.to_toml().contains("data = \"own.tsv\"") && !read.to_toml().contains("base"));
        assert_ne!(read.hash(), Spec::agreement().hash());
        let absolute = TaskSpec { data: Some("/data/x.tsv".into()), ..read.task };
        assert_eq!(absolute.data_path(), Some("/data/x.tsv".into()));
    }

    #[test]
    fn unknown_key_names_the_line() {
        let text = AGREEMENT_TOML.replace("[interval]", "[interval]\nlevle = 0.9");
        let message = Spec::parse(&text, "x.toml").unwrap_err().to_string();
        assert!(message.contains("x.toml, line") && message.contains("levle"), "{message}");
    }

    #[test]
    fn values_out_of_range_are_refused() {
        for (from, to, key) in [
            ("level = 0.95", "level = 1.5", "interval.level"),
            ("examples = 12000", "examples = 3", "task.examples"),
            ("grid = \"small\"", "grid = \"huge\"", "probe.grid"),
            ("[\"bert-mini\"]", "[]", "models"),
            ("examples = 12000", "data = \" \"", "task.data"),
            ("examples = 12000", "data = \"x.tsv\"\nphi = 0.2", "task.phi"),
        ] {
            assert!(AGREEMENT_TOML.contains(from), "{from}");
            let message = Spec::parse(&AGREEMENT_TOML.replace(from, to), "x").unwrap_err().to_string();
            assert!(message.contains(key), "{message}");
        }
    }
}
