//! Results for tests: a finished experiment with four methods on one model.

use std::collections::BTreeMap;

use super::banded::Banded;
use super::finding::{
    Beside, DataFinding, FurtherData, How, OnFinding, OptimumFinding, PaperFinding, ProbeFinding, ProbeRole,
    ReliabilityFinding,
};
use super::key::{CurveKey, MethodKey, Place};
use super::map::{Chosen, MapFinding, NoMapFinding};
use super::oracle::OracleKind;
use super::results::{Curve, Results};
#[cfg(test)]
use super::verdict::NoOptimumFinding;
use lab::results::Tagged;
use stats::estimate::Estimate;

fn tagged<T>(value: T) -> Tagged<T> {
    let (spec, model) = ("0123456789ab".into(), "bert-mini".into());
    Tagged { spec, model, seed: 0, n: 2400, is_final: true, t: 1.0, level: Some(0.95), value }
}

/// Data of the sample experiment: the paper's question, with test examples by subject and attractor.
pub fn data() -> Tagged<DataFinding> {
    let numbers = || ["Sg", "Pl"].map(str::to_owned).to_vec();
    tagged(DataFinding {
        task: "agreement".into(),
        data_hash: "abc".into(),
        source: None,
        model_hash: "def".into(),
        layer: 4,
        layers: 4,
        dim: 160,
        counts: vec![vec![200, 60, 1290], vec![100, 50, 700]],
        target_values: numbers(),
        other_values: numbers(),
        n_oracle: (4800, 4000),
        n_intervention: 4560,
        n_test: 2400,
        phi: (0.1, 0.0),
        scale: (9.0, 0.8),
        further: Vec::new(),
        distance: Default::default(),
        long: 0,
        tokens: None,
    })
}

pub fn probes() -> Vec<Tagged<ProbeFinding>> {
    let of = |role, oracle, property: &str, accuracy: f64| {
        tagged(ProbeFinding {
            role,
            property: property.into(),
            classifier: "1x64 lr 1e-3".into(),
            oracle,
            layer: 4,
            accuracy: Estimate { mean: accuracy, lo: accuracy - 0.01, hi: accuracy },
            majority: 0.6,
            balanced_accuracy: accuracy,
            calibration_error: 0.02,
            cached: false,
            grid: "small".into(),
            choice: None,
        })
    };
    vec![
        of(ProbeRole::Oracle, Some(OracleKind::Mlp), "subject_number", 0.998),
        of(ProbeRole::Oracle, Some(OracleKind::Mlp), "attractor_number", 0.91),
        of(ProbeRole::Interventional, None, "subject_number", 0.997),
    ]
}

/// The optimum at a point, chosen on half of the examples and as in the paper.
fn optimum(point: &ReliabilityFinding) -> OptimumFinding {
    let ReliabilityFinding { value, completeness, selectivity, reliability, .. } = *point;
    let paper = PaperFinding { value, completeness, selectivity, reliability, at_end: None };
    OptimumFinding {
        method: point.method.clone(),
        options: BTreeMap::new(),
        layer: point.layer,
        oracle: point.oracle,
        oracle_layer: Some(point.oracle_layer),
        parameter: point.parameter.clone(),
        value,
        completeness,
        selectivity,
        reliability,
        how: How { replicates: 5, chosen: Some("held_out".into()), paper: Some(paper), ..How::default() },
    }
}

/// Adds a second property to keep. The displayed mean is unchanged; the curves of the two properties are .04 and .06 below it.
pub fn several(mut results: Results) -> Results {
    let further = FurtherData {
        property: "subject_animacy".into(),
        values: ["human", "animal", "inanimate"].map(str::to_owned).to_vec(),
        counts: vec![vec![500, 400, 650, 0], vec![300, 250, 300, 0]],
        n_oracle: 4_600,
        phi: (0.02, 0.0),
    };
    for data in &mut results.data {
        data.value.further = vec![further.clone()];
    }
    let extra = results.probes.get(1).cloned().map(|mut p| {
        p.value.property.clone_from(&further.property);
        p
    });
    results.probes.extend(extra);
    let on = |s: Banded, property: &str, n: usize, apart: f64| OnFinding {
        property: property.into(),
        selectivity: Banded { mean: s.mean + apart, lo: s.lo + apart, hi: s.hi + apart, ..s },
        n,
        s_floor: Some(0.6),
        balanced_accuracy: Some(Estimate { mean: 0.9, lo: 0.88, hi: 0.92 }),
        eligible: true,
    };
    let both = |s: Banded| vec![on(s, "attractor_number", 410, -0.04), on(s, "subject_animacy", 2400, -0.06)];
    for point in results.curves.iter_mut().flat_map(|c| &mut c.points) {
        point.value.beside.selectivities = both(point.value.selectivity);
    }
    for best in &mut results.optima {
        best.value.how.selectivities = both(best.value.selectivity);
    }
    results
}

pub fn results() -> Results {
    let mut results = Results::default();
    let epsilon = |k: u32| 0.005 * 1000f64.powf(f64::from(k) / 28.0);
    let alphas = [0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 2.0, 4.0, 8.0];
    for (method, parameter, count, reach, harm) in [
        ("alterrep", "alpha", 9, 0.99, 0.15),
        ("fgsm", "epsilon", 29, 0.9, 0.75),
        ("pgd", "epsilon", 29, 1.0, 0.6),
        ("inlp", "rank", 41, 0.45, 0.5),
    ] {
        let mut best: Option<OptimumFinding> = None;
        let mut points = Vec::new();
        for k in 0..count {
            let value = match parameter {
                "epsilon" => epsilon(k),
                "alpha" => alphas[k as usize],
                _ => f64::from(k),
            };
            let share = f64::from(k) / f64::from(count - 1);
            let c = reach / (1.0 + (-12.0 * (share - 0.45)).exp());
            let s = 1.0 - harm / (1.0 + (-12.0 * (share - 0.6)).exp());
            let around = |m: f64, w: f64| {
                let [wide, narrow] = [w, w / 2.0].map(|w| [(m - w).max(0.0), (m + w).min(1.0)]);
                let (lo, hi) = (wide[0], wide[1]);
                let range = Some([(m - 0.8 * w).max(0.0), (m + 0.8 * w).min(1.0)]);
                Banded { sampling: Some(narrow), range, ..Estimate { mean: m, lo, hi }.into() }
            };
            let [completeness, selectivity, reliability] =
                [around(c, 0.012), around(s, 0.03), around(2.0 * c * s / (c + s), 0.02)];
            let point = ReliabilityFinding {
                method: method.to_owned(),
                options: BTreeMap::new(),
                layer: 4,
                oracle: OracleKind::Mlp,
                oracle_layer: 4,
                parameter: parameter.to_owned(),
                value,
                completeness,
                selectivity,
                reliability,
                n_c: 2400,
                n_s: 410,
                mean_harmonic: reliability.mean,
                completeness_prior: None,
                beside: Beside { replicates: 5, s_floor: Some(0.62), c_before: Some(0.01), ..Beside::default() },
            };
            if best.as_ref().is_none_or(|b| b.reliability.mean < reliability.mean) {
                best = Some(optimum(&point));
            }
            points.push(tagged(point));
        }
        let (model, oracle) = ("bert-mini".into(), OracleKind::Mlp);
        let place = Place { layer: 4, oracle_layer: Some(4) };
        let key = CurveKey { model, place, method: MethodKey::named(method), oracle };
        results.curves.push(Curve { key, parameter: parameter.into(), points });
        results.optima.push(tagged(best.expect("a curve has points")));
    }
    results
}

/// Adds a map of PGD over four layers. The third layer has no best strength, and after an edit at the first layer the oracle of the last
/// one no longer reads the other property.
pub fn mapped() -> Results {
    let mut results = results();
    let curve = results.curves.iter().find(|c| c.key.method == MethodKey::named("pgd")).expect("a curve");
    let some = curve.points[17].value.clone();
    let mut map = Vec::new();
    for (layer, value) in [(1, 0.2), (2, 0.165), (4, 0.112)] {
        for oracle_layer in layer..=4 {
            let mut point = ReliabilityFinding { layer, oracle_layer, value, ..some.clone() };
            let mean = 0.9 - 0.1 * (oracle_layer - layer) as f64 - 0.01 * layer as f64;
            point.selectivity = Estimate { mean, lo: mean - 0.03, hi: mean + 0.03 }.into();
            point.beside.eligible = Some((layer, oracle_layer) != (1, 4));
            map.push(tagged(MapFinding { point, strength: Chosen::Optimum }));
        }
    }
    results.map = map;
    results.unmapped.push(tagged(NoMapFinding {
        method: "pgd".into(),
        options: BTreeMap::new(),
        layer: 3,
        oracle_layers: vec![3, 4],
        reason: "the oracle does not read the other property better than chance at any strength (balanced accuracy at best 0.500, from \
                 0.456; chance is 0.500)"
            .into(),
    }));
    results
}

/// The finding that a method has no best strength, for this reason.
#[cfg(test)]
pub(crate) fn no_optimum(best: Tagged<OptimumFinding>, reason: &str) -> Tagged<NoOptimumFinding> {
    let Tagged { spec, model, seed, n, is_final, t, level, value: v } = best;
    let value = NoOptimumFinding {
        method: v.method,
        options: v.options,
        layer: v.layer,
        oracle: v.oracle,
        oracle_layer: v.layer,
        parameter: v.parameter,
        reason: reason.into(),
        paper: None,
    };
    Tagged { spec, model, seed, n, is_final, t, level, value }
}
