//! Arbitrary findings about data and probes.

use super::arbitrary::{estimate, name, oracle, real, text};
use probity::corpus::own::{Dropped, Provenance};
use probity::lab::interventions::finding::{
    ChoiceFinding, DataFinding, FurtherData, Kind, ProbeFinding, ProbeRole, TokensFinding,
};
use probity::lab::plan::Material;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

pub(crate) fn data() -> BoxedStrategy<Kind> {
    (name(), text(), vec(vec(0..500usize, 0..3), 0..3), vec(text(), 0..3), (real(), real()))
        .prop_map(|(task, hash, counts, values, phi)| {
            Kind::Data(DataFinding {
                distance: Default::default(),
                long: 0,
                tokens: (counts.len() == 2).then_some(TokensFinding { per_text: 4, texts: [5, 6, 2], left_out: 9 }),
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
                counts: counts.clone(),
                target_values: values.clone(),
                other_values: values.clone(),
                n_oracle: (10, 5),
                n_intervention: 3,
                n_test: 7,
                phi,
                scale: phi,
                further: values
                    .first()
                    .map(|v| FurtherData { property: v.clone(), values: values.clone(), counts, n_oracle: 4, phi })
                    .into_iter()
                    .collect(),
            })
        })
        .boxed()
}

pub(crate) fn probe() -> BoxedStrategy<Kind> {
    (name(), text(), option::of(oracle()), estimate(), real(), any::<bool>())
        .prop_map(|(property, classifier, oracle, accuracy, share, cached)| {
            let role = if oracle.is_some() { ProbeRole::Oracle } else { ProbeRole::Interventional };
            Kind::Probe(ProbeFinding {
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
                choice: cached.then(|| ChoiceFinding {
                    replicates: 5,
                    accuracy_range: [share; 2],
                    calibration_range: [share; 2],
                    validation: [share; 2],
                    steps: 500,
                    rivals: vec!["1x64 lr 1e-2".into()],
                    material: Material { train: 9, validation: 3, kept: vec![vec![1, 2]], phi: share },
                }),
            })
        })
        .boxed()
}
