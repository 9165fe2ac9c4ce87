//! The spec of the lab: everything that determines what to compute, and its checks.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use self::map::MapSpec;
use super::key::MethodKey;
use super::lens::LensSpec;
use super::options::Options;
use super::oracle::OracleKind;
use super::registry::{find, registry};
use super::score::Distance;
use base::numbers::brief;
use base::suggest::{is_unknown, unknown};
use base::text::last_part;
use corpus::agreement::Position;
use lab::LabId;
use lab::examples::TaskSpec;
use lab::interval::IntervalSpec;
use lab::layer::LayerRef;
use lab::spec::{LabSpec, Refuse, SpecError};
use probe::grid::is_for_tests;

/// A complete experiment: the same spec with the same program gives the same findings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    pub lab: LabId,
    /// Names of the models, built in or on disk, in the order in which they run.
    pub models: Vec<String>,
    /// The seed of all random streams of the run except in training.
    #[serde(default)]
    pub seed: u64,
    /// Version of the procedure; see [`PROCEDURE`]. Changing it changes the spec's hash.
    #[serde(default = "procedure")]
    pub procedure: u32,
    /// Distance between an oracle's outputs that defines C and S: `tv`, total variation, or `js`, Jensen-Shannon.
    #[serde(default, skip_serializing_if = "Distance::is_papers")]
    pub distance: Distance,
    #[serde(default)]
    pub task: TaskSpec,
    /// Layers that the intervention writes and the oracle reads.
    #[serde(default)]
    pub site: SiteSpec,
    #[serde(default)]
    pub probe: ProbeSpec,
    /// Level and resamples of the intervals.
    #[serde(default)]
    pub interval: IntervalSpec,
    /// The map of layers, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub map: Option<MapSpec>,
    /// The logit lens, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lens: Option<LensSpec>,
    /// The interventions, in the order in which they run.
    #[serde(rename = "method", default)]
    pub methods: Vec<MethodSpec>,
}

/// Layers at which interventions edit hidden states and oracles read them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SiteSpec {
    pub layer: LayerRef,
    /// Layer of the oracle: the intervention's layer (`None`) or a later one.
    pub oracle_layer: Option<LayerRef>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProbeSpec {
    /// Name of the hyperparameter grid: `small` or `paper` (36 points).
    pub grid: String,
    /// The oracles that judge interventions; screens and figures show the first one by default.
    pub oracles: Vec<OracleKind>,
    /// Number of training runs of oracles, attacked probe and method fits on the same data.
    pub replicates: usize,
    /// The seed of training: weights, batches and the methods' random draws. `seed` changes data and split instead.
    pub seed: u64,
}

/// Default number of replicates.
pub(crate) const REPLICATES: usize = 10;
/// Maximum number of replicates.
pub(crate) const MOST_REPLICATES: usize = 50;

impl Default for ProbeSpec {
    fn default() -> Self {
        let oracles = vec![OracleKind::Mlp, OracleKind::Linear];
        Self { grid: "small".into(), oracles, replicates: REPLICATES, seed: 0 }
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
    /// Other hyperparameters by name (`steps`, `rank`, …); those that are not given have their default values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, f64>,
    /// The file with externally made directions or states, for a method that needs one; a relative path starts at the spec's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Folder of the spec's file; not part of the hash.
    #[serde(skip)]
    pub base: PathBuf,
}

impl MethodSpec {
    /// Path of the method's file, if it has one.
    pub(crate) fn file_path(&self) -> Option<PathBuf> {
        self.file.as_ref().map(|file| self.base.join(file))
    }

    pub fn key(&self) -> MethodKey {
        MethodKey::new(&self.name, &self.options)
    }

    /// The method with the paper's grid and default hyperparameters.
    pub fn named(name: &str) -> Self {
        Self { name: name.into(), values: Vec::new(), options: BTreeMap::new(), file: None, base: PathBuf::new() }
    }
}

/// Version 2: probe training is counted in steps, the simplest probe within one standard error of the best is kept, attacks use exact
/// signs, and everything is retrained several times. A different number means a different procedure.
const PROCEDURE: u32 = 2;

fn procedure() -> u32 {
    PROCEDURE
}

/// Grids for perceptrons.
pub const GRIDS: [&str; 2] = ["small", "paper"];

impl Spec {
    /// The same experiment with `oracle` first in the list of oracles, if the list contains it. The answer uses the first oracle.
    pub fn judged_by(&self, oracle: OracleKind) -> Self {
        let mut spec = self.clone();
        spec.probe.oracles.sort_by_key(|one| *one != oracle);
        spec
    }

    /// The same experiment with other options for one method: the spec of a slider's answer. A method that the spec does not run is added.
    pub fn with_method(&self, key: &MethodKey) -> Self {
        let mut spec = self.clone();
        if spec.methods.iter().any(|m| m.key() == *key) {
            return spec;
        }
        match spec.methods.iter_mut().find(|m| m.name == key.name) {
            Some(method) => method.options = key.options.clone(),
            None => spec.methods.push(MethodSpec { options: key.options.clone(), ..MethodSpec::named(&key.name) }),
        }
        spec
    }

    /// Refuses positions that a map or a method does not support.
    fn check_positions(&self, refuse: &Refuse<'_>) -> Result<(), SpecError> {
        if self.task.read_elsewhere().is_some() && self.map.is_some() {
            let problem = "cannot be set with [map], whose oracles also read at the layer of the edit".to_owned();
            return refuse.because("task.oracle_position", problem);
        }
        let stuck =
            |m: &&MethodSpec| find(&m.name).is_some_and(|m| m.needs.twins || (m.needs.file && m.id != "directions"));
        let each = [Some(self.task.position), self.task.oracle_position].contains(&Some(Position::Every));
        match self.methods.iter().find(stuck).filter(|_| each) {
            Some(m) => refuse.because(
                "method.name",
                format!("{} cannot run at every token: it has only one state per text", m.name),
            ),
            None => Ok(()),
        }
    }

    fn check_methods(&self, refuse: &Refuse<'_>) -> Result<(), SpecError> {
        let mut seen: Vec<MethodKey> = Vec::new();
        for m in &self.methods {
            let Some(method) = find(&m.name) else {
                let known: Vec<&str> = registry().iter().map(|m| m.id).collect();
                return refuse.because("method.name", is_unknown(&m.name, &known));
            };
            if method.needs.twins && self.task.target != "subject_number" {
                let problem = format!(
                    "{} cannot run: it can only change the subject's number, but `task.target` is {}",
                    m.name, self.task.target
                );
                return refuse.because("method.name", problem);
            }
            match (&m.file, method.needs.file) {
                (None, true) => {
                    let problem = format!("is missing: {} needs a file (see `probity states --help`)", m.name);
                    return refuse.because("method.file", problem);
                }
                (Some(_), false) => {
                    return refuse.because("method.file", format!("cannot be used: {} does not read a file", m.name));
                }
                (Some(file), true) => refuse.no_file("method.file", file)?,
                (None, false) => {}
            }
            let known: Vec<&str> = method.settings.iter().map(|s| s.name).collect();
            if let Some(name) = m.options.keys().find(|name| !known.contains(&name.as_str())) {
                let why = unknown("option", name, &known);
                return refuse.because("method.options", format!("of {} are invalid: {why}", m.name));
            }
            if let Err(e) = Options::new(method, m.options.iter().map(|(k, v)| (k.as_str(), *v))) {
                return refuse.because("method.options", format!("cannot be used: {e}"));
            }
            let p = method.parameter;
            if let Some(bad) = m.values.iter().find(|v| !p.allows(**v)) {
                return refuse.because(
                    "method.values",
                    format!("of {} contains {} = {}: must be from {} to {}", m.name, p.name, brief(bad), p.min, p.max),
                );
            }
            refuse.twice("method.values", &m.values)?;
            let key = m.key();
            if seen.contains(&key) {
                return refuse.because("method", format!("names {} twice with the same options", key.title()));
            }
            seen.push(key);
        }
        Ok(())
    }
}

impl LabSpec for Spec {
    fn subject(&self) -> &str {
        self.task.data.as_deref().map_or(&self.task.name, last_part)
    }

    fn reach(&self, origin: &str) -> Result<(), SpecError> {
        let refuse = Refuse::new(origin);
        refuse.models(&self.models)?;
        for m in &self.methods {
            if let Some(path) = m.file_path().filter(|p| !p.exists()) {
                return refuse.because("method.file", format!(": {}: there is no such file", path.display()));
            }
        }
        self.task.reach(&refuse)
    }

    fn lies_in(&mut self, folder: PathBuf) {
        self.methods.iter_mut().for_each(|m| m.base.clone_from(&folder));
        self.task.base = folder;
    }

    fn check(&self, origin: &str) -> Result<(), SpecError> {
        let refuse = Refuse::new(origin);
        if self.procedure != PROCEDURE {
            let problem =
                format!("is {}: this program supports only procedure {PROCEDURE}; omit the key", self.procedure);
            return refuse.because("procedure", problem);
        }
        refuse.outside("probe.replicates", self.probe.replicates, 1..=MOST_REPLICATES)?;
        refuse.no_models(&self.models)?;
        if self.methods.is_empty() {
            let names: Vec<&str> = registry().iter().map(|m| m.id).collect();
            let problem = format!("is missing: add at least one [[method]] with a name: {}", names.join(", "));
            return refuse.because("method", problem);
        }
        self.task.check(&refuse)?;
        if !is_for_tests(&self.probe.grid) {
            refuse.unknown("probe.grid", &self.probe.grid, &GRIDS)?;
        }
        if self.probe.oracles.is_empty() {
            return refuse.because("probe.oracles", "is empty: give `mlp`, `linear` or both".into());
        }
        refuse.twice("probe.oracles", &self.probe.oracles)?;
        self.interval.check(&refuse)?;
        self.check_methods(&refuse)?;
        self.check_positions(&refuse)?;
        self.lens.as_ref().map_or(Ok(()), |lens| lens.check(&refuse))?;
        self.map.as_ref().map_or(Ok(()), |map| map.check(self, &refuse))
    }
}

/// The shipped default spec.
pub const AGREEMENT_TOML: &str = include_str!("../../../assets/specs/agreement.toml");

mod map;

lab::spec_fields!(Spec, Interventions, AGREEMENT_TOML);

#[cfg(test)]
mod tests;
