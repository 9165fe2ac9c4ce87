//! Results of a run so far: the fold of its findings, indexed by typed keys.

use serde::{Deserialize, Serialize};

use super::distance::DistanceFinding;
use super::finding::{
    BehaviourFinding, DataFinding, ExampleFinding, Kind, OptimumFinding, ProbeFinding, ReliabilityFinding,
};
use super::key::{CurveKey, MethodKey};
use super::lens::LensFinding;
use super::map::{MapFinding, NoMapFinding};
use super::oracle::OracleKind;
use super::registry::find;
use super::verdict::{LeakFinding, NoOptimumFinding, RankingFinding, RivalFinding, VersusFinding};
use lab::Head;
use lab::results::{Tagged, put, replace};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// The run's data, one entry per model.
    pub data: Vec<Tagged<DataFinding>>,
    /// Probes in the order of their training.
    pub probes: Vec<Tagged<ProbeFinding>>,
    /// One curve for each key.
    pub curves: Vec<Curve>,
    /// Behaviour of the models, per model and method, in order of increasing strength.
    pub behaviour: Vec<Tagged<BehaviourFinding>>,
    pub optima: Vec<Tagged<OptimumFinding>>,
    /// Methods without an optimum, with the reason.
    pub without: Vec<Tagged<NoOptimumFinding>>,
    /// Scores under rival probe settings, in the order of rivals and strengths.
    pub rivals: Vec<Tagged<RivalFinding>>,
    pub versus: Vec<Tagged<VersusFinding>>,
    /// The order of the methods under each oracle.
    pub rankings: Vec<Tagged<RankingFinding>>,
    /// Accuracy of fresh probes after nullifying methods.
    pub leaks: Vec<Tagged<LeakFinding>>,
    /// Distances of edited states from real ones, in order of measurement.
    pub distances: Vec<Tagged<DistanceFinding>>,
    /// Cells of the map of layers, in order of appearance.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub map: Vec<Tagged<MapFinding>>,
    /// Rows of the map without a strength, with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmapped: Vec<Tagged<NoMapFinding>>,
    /// The logit lens by layer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lens: Vec<Tagged<LensFinding>>,
    pub point: Option<Point>,
}

/// Completeness, selectivity and reliability against strength.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    pub key: CurveKey,
    pub parameter: String,
    /// Points in order of increasing strength; a later estimate of the same strength replaces an earlier one.
    pub points: Vec<Tagged<ReliabilityFinding>>,
}

/// The answer to a question from a slider.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Point {
    pub ticket: u64,
    /// Reliability under each oracle.
    pub reliability: Vec<Tagged<ReliabilityFinding>>,
    pub behaviour: Option<Tagged<BehaviourFinding>>,
    /// Distances of the edited states from real ones.
    pub distance: Option<Tagged<DistanceFinding>>,
    pub example: Option<Tagged<ExampleFinding>>,
}

/// The reason given for a method whose best strength changes nothing.
const NO_EDIT: &str = "no strength that leaves the property to keep readable is shown to be better than no edit";

/// Converts an optimum at a strength that changes nothing to the finding that there is no optimum. Its scores are means over halves. Some
/// halves chose a strength that does edit, so the scores describe neither a single edit nor the unedited states.
fn without_edit(best: &OptimumFinding) -> Option<NoOptimumFinding> {
    let method = find(&best.method).filter(|method| !method.is_control)?;
    method.parameter.is_no_edit(best.value).then(|| NoOptimumFinding {
        method: best.method.clone(),
        options: best.options.clone(),
        layer: best.layer,
        oracle: best.oracle,
        oracle_layer: best.oracle_layer.unwrap_or(best.layer),
        parameter: best.parameter.clone(),
        reason: NO_EDIT.into(),
        paper: best.how.paper.clone(),
    })
}

impl Results {
    pub fn take(&mut self, finding: Head<'_>, kind: &Kind) {
        match kind {
            Kind::Data(x) => put(&mut self.data, finding, x),
            Kind::Probe(x) => put(&mut self.probes, finding, x),
            Kind::Reliability(x) => self.add_point(Tagged::new(finding, x)),
            Kind::Optimum(x) => match without_edit(x) {
                Some(none) => put(&mut self.without, finding, &none),
                None => put(&mut self.optima, finding, x),
            },
            Kind::Behaviour(x) => self.add_behaviour(finding, x),
            // The front is recomputed from the points of the curves.
            Kind::Example(_) | Kind::Front(_) => {}
            Kind::NoOptimum(x) => put(&mut self.without, finding, x),
            Kind::Rival(x) => put(&mut self.rivals, finding, x),
            Kind::Versus(x) => put(&mut self.versus, finding, x),
            Kind::Ranking(x) => put(&mut self.rankings, finding, x),
            Kind::Distance(x) => put(&mut self.distances, finding, x),
            // A map has one strength per layer, so a cell with a new strength replaces the old one.
            Kind::Map(x) => replace(&mut self.map, Tagged::new(finding, x), |a, b| {
                let key = |t: &Tagged<MapFinding>| {
                    let p = &t.value.point;
                    (t.model.clone(), t.value.method_key(), p.oracle, p.layer, p.oracle_layer)
                };
                key(a) == key(b)
            }),
            Kind::NoMap(x) => put(&mut self.unmapped, finding, x),
            Kind::Leak(x) => put(&mut self.leaks, finding, x),
            Kind::Lens(x) => put(&mut self.lens, finding, x),
        }
    }

    /// Records the answer to question `ticket`. Returns false if there is already a later answer.
    pub fn answer<'a>(&mut self, ticket: u64, findings: impl IntoIterator<Item = (Head<'a>, &'a Kind)>) -> bool {
        if self.point.as_ref().is_some_and(|p| ticket < p.ticket) {
            return false;
        }
        let mut point = Point { ticket, ..Point::default() };
        for (finding, kind) in findings {
            match kind {
                Kind::Reliability(x) => point.reliability.push(Tagged::new(finding, x)),
                Kind::Behaviour(x) => point.behaviour = Some(Tagged::new(finding, x)),
                Kind::Distance(x) => point.distance = Some(Tagged::new(finding, x)),
                Kind::Example(x) => point.example = Some(Tagged::new(finding, x)),
                _ => {}
            }
        }
        self.point = Some(point);
        true
    }

    /// The curve of a model, method and oracle. A run has one pair of layers per model.
    pub fn curve(&self, model: &str, method: &MethodKey, oracle: OracleKind) -> Option<&Curve> {
        self.curves.iter().find(|c| {
            let key = &c.key;
            key.model == model && key.method == *method && key.oracle == oracle
        })
    }

    pub fn optimum(&self, model: &str, method: &MethodKey, oracle: OracleKind) -> Option<&Tagged<OptimumFinding>> {
        self.optima.iter().find(|o| o.model == model && o.value.method_key() == *method && o.value.oracle == oracle)
    }

    /// The reason why a method has no optimum; `None` if it has one, or is not finished.
    pub fn no_optimum(&self, model: &str, method: &MethodKey, oracle: OracleKind) -> Option<&Tagged<NoOptimumFinding>> {
        let mine = |o: &&Tagged<NoOptimumFinding>| {
            o.model == model && o.value.oracle == oracle && o.value.method_key() == *method
        };
        self.without.iter().find(mine).filter(|_| self.optimum(model, method, oracle).is_none())
    }

    /// The measured point of a method without an optimum that is nearest to the default strength, which is chosen without looking at
    /// results.
    pub fn at_default(
        &self,
        model: &str,
        method: &MethodKey,
        oracle: OracleKind,
    ) -> Option<&Tagged<ReliabilityFinding>> {
        let none = self.no_optimum(model, method, oracle)?;
        let default = find(&none.value.method)?.parameter.default;
        let away = |p: &Tagged<ReliabilityFinding>| (p.value.value - default).abs();
        let points = &self.curve(model, method, oracle)?.points;
        points.iter().min_by(|a, b| away(a).total_cmp(&away(b)))
    }

    /// Numbers of examples used for an optimum's completeness and selectivity, taken from the point on its curve.
    pub fn counts(&self, o: &Tagged<OptimumFinding>) -> (usize, usize) {
        let curve = self.curve(&o.model, &o.value.method_key(), o.value.oracle);
        let point = curve.and_then(|c| c.points.iter().find(|p| p.value.value == o.value.value));
        point.map_or((o.n, o.n), |p| (p.value.n_c, p.value.n_s))
    }

    /// The largest p-value at this strength and all larger ones, because strengths are tested from the largest down. `None` if there is no
    /// such strength with a final p-value.
    pub fn p_from(&self, at: &Tagged<BehaviourFinding>) -> Option<f64> {
        let key = at.value.method_key();
        let mine = self.behaviour.iter().filter(|b| {
            let same = b.model == at.model && b.value.layer == at.value.layer && b.value.method_key() == key;
            same && b.is_final && b.value.value >= at.value.value
        });
        mine.filter_map(|b| b.value.told.as_ref().map(|t| t.p)).reduce(f64::max)
    }

    fn add_point(&mut self, new: Tagged<ReliabilityFinding>) {
        let key = new.value.key(&new.model);
        let at = self.curves.iter().position(|c| c.key == key).unwrap_or_else(|| {
            self.curves.push(Curve { key, parameter: new.value.parameter.clone(), points: Vec::new() });
            self.curves.len() - 1
        });
        let points = &mut self.curves[at].points;
        match points.binary_search_by(|p| p.value.value.total_cmp(&new.value.value)) {
            Ok(i) => points[i] = new,
            Err(i) => points.insert(i, new),
        }
    }

    fn add_behaviour(&mut self, finding: Head<'_>, x: &BehaviourFinding) {
        put(&mut self.behaviour, finding, x);
        self.behaviour.sort_by(|a, b| {
            (&a.model, &a.value.method).cmp(&(&b.model, &b.value.method)).then(a.value.value.total_cmp(&b.value.value))
        });
    }
}
