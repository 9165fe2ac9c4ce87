//! The map of layers: an intervention at one layer, judged by oracles of that layer and of later ones.
//!
//! The edited states continue through the model's blocks. The oracles of a later layer, trained on unedited states of that layer, judge the
//! result. On the diagonal both layers are the same, and the scores are bit-identical to those of a run at that layer alone.

use lab::Columns;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::banded::Banded;
use super::finding::ReliabilityFinding;
use super::key::MethodKey;
use super::oracle::OracleKind;
use super::results::Results;
use lab::results::Tagged;

/// Origin of the strength in a row of the map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Chosen {
    /// The optimum at the layer of the intervention, judged by the spec's first oracle at that layer.
    Optimum,
    /// Set in the spec.
    Spec,
    /// The method's only strength.
    Only,
}

impl Chosen {
    /// The origin as text, for tables and screens.
    pub fn title(self) -> &'static str {
        match self {
            Chosen::Optimum => "best of its layer",
            Chosen::Spec => "given",
            Chosen::Only => "only strength",
        }
    }
}

/// A cell of the map: the point's `layer` is that of the intervention, its `oracle_layer` that of the oracle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct MapFinding {
    /// The scores, as for a single layer.
    #[serde(flatten)]
    pub point: ReliabilityFinding,
    /// Origin of the strength: `optimum`, `spec` or `only`.
    pub strength: Chosen,
}

/// A row of the map without a strength, and therefore without cells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct NoMapFinding {
    /// Name of the method in the registry.
    #[id]
    pub method: String,
    /// Hyperparameters that differ from the method's defaults.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[id]
    pub options: BTreeMap<String, f64>,
    /// Layer of the intervention.
    #[id]
    pub layer: usize,
    /// Layers of the oracles that would have judged the row.
    pub oracle_layers: Vec<usize>,
    /// Reason why the row has no strength.
    pub reason: String,
}

impl MapFinding {
    pub fn method_key(&self) -> MethodKey {
        MethodKey { name: self.point.method.clone(), options: self.point.options.clone() }
    }
}

impl NoMapFinding {
    pub(crate) fn method_key(&self) -> MethodKey {
        MethodKey { name: self.method.clone(), options: self.options.clone() }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Score {
    /// Harmonic mean of completeness and selectivity.
    #[default]
    Reliability,
    /// Degree to which the target changed.
    Completeness,
    /// Degree to which the other property was preserved.
    Selectivity,
}

impl Score {
    /// All scores, in the order in which the screen cycles through them.
    pub const ALL: [Self; 3] = [Self::Reliability, Self::Completeness, Self::Selectivity];

    pub fn name(self) -> &'static str {
        match self {
            Score::Reliability => "reliability",
            Score::Completeness => "completeness",
            Score::Selectivity => "selectivity",
        }
    }

    pub fn of(self, point: &ReliabilityFinding) -> Banded {
        match self {
            Score::Reliability => point.reliability,
            Score::Completeness => point.completeness,
            Score::Selectivity => point.selectivity,
        }
    }
}

/// The map of one model, method and oracle, with the cells so far.
#[derive(Debug, Clone)]
pub struct Map<'a> {
    /// Layers in ascending order: rows are layers of the intervention, columns are layers of the oracle.
    pub layers: Vec<usize>,
    cells: Vec<&'a Tagged<MapFinding>>,
    unmapped: Vec<&'a Tagged<NoMapFinding>>,
}

impl<'a> Map<'a> {
    /// Collects the map from results; `None` if they contain no part of it.
    pub fn of(results: &'a Results, model: &str, method: &MethodKey, oracle: OracleKind) -> Option<Self> {
        let cells: Vec<&Tagged<MapFinding>> = results
            .map
            .iter()
            .filter(|c| c.model == model && c.value.point.oracle == oracle && c.value.method_key() == *method)
            .collect();
        let rows = results.unmapped.iter();
        let unmapped: Vec<&Tagged<NoMapFinding>> =
            rows.filter(|r| r.model == model && r.value.method_key() == *method).collect();
        let of_cells = cells.iter().flat_map(|c| [c.value.point.layer, c.value.point.oracle_layer]);
        let of_rows = unmapped.iter().flat_map(|r| r.value.oracle_layers.iter().copied());
        let mut layers: Vec<usize> = of_cells.chain(of_rows).collect();
        layers.sort_unstable();
        layers.dedup();
        (!layers.is_empty()).then_some(Self { layers, cells, unmapped })
    }

    /// Keys of possible maps: models, methods and oracles, in order of appearance.
    pub fn keys(results: &Results) -> Vec<(String, MethodKey, OracleKind)> {
        let mut keys = Vec::new();
        for cell in &results.map {
            let key = (cell.model.clone(), cell.value.method_key(), cell.value.point.oracle);
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        keys
    }

    /// The cell of an intervention at `layer` and an oracle at `oracle_layer`.
    pub fn at(&self, layer: usize, oracle_layer: usize) -> Option<&'a Tagged<MapFinding>> {
        let here =
            |c: &&&Tagged<MapFinding>| (c.value.point.layer, c.value.point.oracle_layer) == (layer, oracle_layer);
        self.cells.iter().find(here).copied()
    }

    /// All cells, in order of appearance.
    pub fn cells(&self) -> &[&'a Tagged<MapFinding>] {
        &self.cells
    }

    /// The strength of a row.
    pub fn strength(&self, layer: usize) -> Option<f64> {
        self.cells.iter().find(|c| c.value.point.layer == layer).map(|c| c.value.point.value)
    }

    /// The reason why the row of a layer is empty.
    pub fn reason(&self, layer: usize) -> Option<&'a str> {
        self.unmapped.iter().find(|r| r.value.layer == layer).map(|r| r.value.reason.as_str())
    }
}
