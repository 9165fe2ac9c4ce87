//! Findings of all kinds, for properties.

use probity::corpus::own::{Dropped, Provenance};
use probity::engine::finding::*;
use probity::engine::spec::{LabId, OracleKind};
use probity::stats::estimate::Estimate;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

pub fn text() -> BoxedStrategy<String> {
    prop_oneof!["[a-z]{0,8}", "\\PC{0,4}", Just("\u{1b}[2J\n\"\\\u{202e}".to_owned())].boxed()
}

/// Few names, so that findings meet on the board.
pub fn name() -> BoxedStrategy<String> {
    prop_oneof![Just("pgd".to_owned()), Just("inlp".to_owned()), text()].boxed()
}

pub fn real() -> BoxedStrategy<f64> {
    prop_oneof![
        0.0..1.0f64,
        prop::num::f64::NORMAL,
        prop::num::f64::SUBNORMAL,
        Just(0.0),
        Just(-0.0),
        Just(0.112),
        Just(f64::MAX),
        Just(f64::MIN_POSITIVE),
    ]
    .boxed()
}

pub fn estimate() -> BoxedStrategy<Estimate> {
    (real(), real(), real()).prop_map(|(mean, lo, hi)| Estimate { mean, lo, hi }).boxed()
}

pub fn oracle() -> BoxedStrategy<OracleKind> {
    prop_oneof![Just(OracleKind::Mlp), Just(OracleKind::Linear)].boxed()
}

pub fn problem() -> BoxedStrategy<Problem> {
    (text(), text(), text()).prop_map(|(what, place, hint)| Problem { what, r#where: place, hint }).boxed()
}

fn data() -> BoxedStrategy<Body> {
    (name(), text(), vec(vec(0..500usize, 0..3), 0..3), vec(text(), 0..3), (real(), real()))
        .prop_map(|(task, hash, counts, values, phi)| {
            Body::Data(DataFinding {
                task,
                data_hash: hash.clone(),
                source: (counts.len() == 1).then(|| Provenance {
                    path: hash.clone(),
                    format: "plain".into(),
                    sha256: hash.clone(),
                    rows: 9,
                    dropped: vec![Dropped { reason: hash.clone(), count: 1, first_line: 2 }],
                    fit: 8,
                    taken: 7,
                }),
                model_hash: hash,
                layer: 1,
                layers: 4,
                dim: 8,
                counts,
                target_values: values.clone(),
                other_values: values,
                n_oracle: (10, 5),
                n_intervention: 3,
                n_test: 7,
                phi,
                scale: phi,
            })
        })
        .boxed()
}

fn probe() -> BoxedStrategy<Body> {
    (name(), text(), option::of(oracle()), estimate(), real(), any::<bool>())
        .prop_map(|(property, classifier, oracle, accuracy, share, cached)| {
            let role = if oracle.is_some() { ProbeRole::Oracle } else { ProbeRole::Interventional };
            Body::Probe(ProbeFinding {
                role,
                property,
                grid: classifier.clone(),
                classifier,
                oracle,
                layer: 2,
                accuracy,
                majority: share,
                balanced_accuracy: share,
                calibration_error: share,
                cached,
            })
        })
        .boxed()
}

fn reliability() -> BoxedStrategy<Body> {
    (name(), oracle(), real(), estimate(), estimate(), estimate(), any::<usize>(), option::of(real()))
        .prop_map(|(method, oracle, value, completeness, selectivity, reliability, n, completeness_prior)| {
            Body::Reliability(ReliabilityFinding {
                method,
                layer: 3,
                oracle,
                oracle_layer: 4,
                parameter: "epsilon".into(),
                value,
                completeness,
                selectivity,
                reliability,
                n_c: n,
                n_s: n / 2,
                mean_harmonic: value,
                completeness_prior,
            })
        })
        .boxed()
}

fn optimum() -> BoxedStrategy<Body> {
    (name(), oracle(), real(), estimate(), estimate())
        .prop_map(|(method, oracle, value, a, b)| {
            Body::Optimum(OptimumFinding {
                method,
                layer: 3,
                oracle,
                parameter: "epsilon".into(),
                value,
                completeness: a,
                selectivity: b,
                reliability: a,
            })
        })
        .boxed()
}

fn behaviour() -> BoxedStrategy<Body> {
    (name(), real(), estimate(), estimate())
        .prop_map(|(method, value, a, b)| {
            Body::Behaviour(BehaviourFinding {
                method,
                layer: 3,
                parameter: "epsilon".into(),
                value,
                flip_rate: a,
                correct_before: b,
                correct_after: a,
            })
        })
        .boxed()
}

fn example() -> BoxedStrategy<Body> {
    (name(), real(), vec((text(), real(), real()), 0..3), 0..9usize)
        .prop_map(|(method, value, shifts, index)| {
            let shifts: Vec<Shift> =
                shifts.into_iter().map(|(label, before, after)| Shift { label, before, after }).collect();
            Body::Example(ExampleFinding {
                index,
                of: 9,
                text: method.clone(),
                method,
                parameter: "epsilon".into(),
                value,
                oracle: vec![("number".into(), shifts.clone())],
                words: shifts,
                correct: 0,
            })
        })
        .boxed()
}

pub fn body() -> BoxedStrategy<Body> {
    let summary = (real(), text(), any::<bool>()).prop_map(|(seconds, device, cancelled)| {
        Body::Summary(SummaryFinding { seconds, device, version: "1".into(), cancelled })
    });
    prop_oneof![
        1 => data(),
        1 => probe(),
        4 => reliability(),
        1 => optimum(),
        1 => behaviour(),
        1 => example(),
        1 => summary,
        1 => problem().prop_map(Body::Error),
    ]
    .boxed()
}

pub fn finding() -> BoxedStrategy<Finding> {
    (body(), name(), any::<u64>(), any::<usize>(), any::<bool>(), real(), option::of(real()))
        .prop_map(|(body, model, seed, n, is_final, t, level)| Finding {
            lab: LabId::Interventions,
            spec: "0123456789ab".into(),
            model,
            seed,
            n,
            r#final: is_final,
            t,
            level,
            body,
        })
        .boxed()
}
