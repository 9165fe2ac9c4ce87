//! Comparisons of methods in the fake experiment.

use super::fake::{estimate, truth};
use probity::lab::interventions::distance::{DistanceFinding, Unchanged};
use probity::lab::interventions::finding::Kind;
use probity::lab::interventions::key::MethodKey;
use probity::lab::interventions::leak::Left;
use probity::lab::interventions::oracle::OracleKind;
use probity::lab::interventions::verdict::{LeakFinding, RankingFinding, RivalFinding, VersusFinding};
use probity::stats::Estimate;

/// The comparisons of methods in a finished run.
pub(crate) fn compared(n: usize) -> Vec<Kind> {
    let order: Vec<MethodKey> = ["alterrep", "pgd", "fgsm", "inlp"].map(MethodKey::named).into();
    let mut list = Vec::new();
    for oracle in [OracleKind::Mlp, OracleKind::Linear] {
        for (i, pair) in order.windows(2).enumerate() {
            let turns_with = if i == 1 { vec!["recipe 1".to_owned()] } else { Vec::new() };
            let (a, b) = (pair[0].clone(), pair[1].clone());
            list.push(Kind::Versus(VersusFinding {
                a,
                b,
                oracle,
                p_greater: 0.97 - 0.3 * (i % 2) as f64,
                difference: None,
                p: None,
                holm_p: None,
                detectable: None,
                turns_with,
            }));
        }
        let places = vec![vec![0.7, 0.2, 0.1, 0.0]; 4];
        let (order, stability) = (order.clone(), 0.61);
        list.push(Kind::Ranking(RankingFinding { oracle, order, places, stability, replicates: 5 }));
    }
    for value in [0.112, 0.836] {
        let (c, s) = truth("pgd", value, OracleKind::Mlp);
        list.push(Kind::Rival(RivalFinding {
            method: "pgd".into(),
            options: Default::default(),
            layer: 4,
            oracle: OracleKind::Mlp,
            oracle_layer: 4,
            parameter: "epsilon".into(),
            value,
            rival: 1,
            recipes: vec!["1x64 lr 1e-2".into()],
            completeness: c * 0.9,
            selectivity: Some(s),
            reliability: Some(1.8 * c * s / (0.9 * c + s)),
        }));
    }
    for (value, factor) in [(0.112, 1.2), (0.836, 4.0)] {
        let around = |m: f64| Estimate { mean: m, lo: 0.98 * m, hi: 1.02 * m };
        list.push(Kind::Distance(DistanceFinding {
            method: "pgd".into(),
            options: Default::default(),
            layer: 4,
            parameter: "epsilon".into(),
            value,
            nearest: around(3.0 * factor),
            mahalanobis: around(12.0 * factor),
            norm_ratio: around(0.5 + 0.5 * factor),
            counterfactual: Some(around(5.0 * factor)),
            before: Unchanged { nearest: 3.0, mahalanobis: 12.0, counterfactual: Some(6.0) },
            real_states: 2048,
        }));
    }
    let left = |after: f64| Left {
        before: estimate(0.99, n),
        after: estimate(after, n),
        share: Some(estimate((after - 0.7) / 0.29, n)),
    };
    list.push(Kind::Leak(LeakFinding {
        method: "inlp".into(),
        options: Default::default(),
        layer: 4,
        oracle_layer: 4,
        parameter: "rank".into(),
        value: 8.0,
        chance: 0.7,
        linear: left(0.72),
        mlp: left(0.93),
        preimages: None,
    }));
    list
}
