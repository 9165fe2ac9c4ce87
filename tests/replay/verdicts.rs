//! Arbitrary findings that are comparisons.

use super::arbitrary::{estimate, name, options, oracle, real, text};
use probity::lab::interventions::distance::{DistanceFinding, Unchanged};
use probity::lab::interventions::finding::Kind;
use probity::lab::interventions::front::{FrontFinding, FrontSetting, KneeFinding};
use probity::lab::interventions::key::MethodKey;
use probity::lab::interventions::leak::Left;
use probity::lab::interventions::oracle::OracleKind;
use probity::lab::interventions::verdict::{
    LeakFinding, NoOptimumFinding, RankingFinding, RivalFinding, VersusFinding,
};
use probity::stats::Estimate;
use proptest::prelude::*;

/// Verdicts, and the comparisons on which they are based.
pub(crate) fn verdict() -> BoxedStrategy<Kind> {
    (name(), options(), oracle(), real(), text(), estimate(), 0..7usize)
        .prop_map(|(method, options, oracle, value, reason, e, which)| {
            let (layer, oracle_layer, parameter) = (3, 4, "epsilon".to_owned());
            let key = MethodKey { name: method.clone(), options: options.clone() };
            let other = MethodKey::named("inlp");
            let left = Left { before: e, after: e, share: (which == 6).then_some(e) };
            match which {
                0 => {
                    let paper = None;
                    let none =
                        NoOptimumFinding { method, options, layer, oracle, oracle_layer, parameter, reason, paper };
                    Kind::NoOptimum(none)
                }
                1 => Kind::Rival(RivalFinding {
                    method,
                    options,
                    layer,
                    oracle,
                    oracle_layer,
                    parameter,
                    value,
                    rival: 1,
                    recipes: vec![reason],
                    completeness: value,
                    selectivity: None,
                    reliability: Some(value),
                }),
                2 => {
                    let turns_with = vec![reason];
                    Kind::Versus(VersusFinding {
                        a: key,
                        b: other,
                        oracle,
                        p_greater: value,
                        difference: None,
                        p: Some(value),
                        holm_p: Some(value),
                        detectable: Some(value),
                        turns_with,
                    })
                }
                3 => {
                    let (order, places) = (vec![key, other], vec![vec![value, 0.5]; 2]);
                    Kind::Ranking(RankingFinding { oracle, order, places, stability: value, replicates: 5 })
                }
                4 => distance(key, value, e),
                5 => front(key, value, e, reason),
                _ => Kind::Leak(LeakFinding {
                    method,
                    options,
                    layer,
                    oracle_layer,
                    parameter,
                    value,
                    chance: value,
                    linear: left,
                    mlp: left,
                    preimages: None,
                }),
            }
        })
        .boxed()
}

fn distance(key: MethodKey, value: f64, e: Estimate) -> Kind {
    Kind::Distance(DistanceFinding {
        method: key.name,
        options: key.options,
        layer: 3,
        parameter: "epsilon".into(),
        value,
        nearest: e,
        mahalanobis: e,
        norm_ratio: e,
        counterfactual: (value > 0.5).then_some(e),
        before: Unchanged { nearest: value, mahalanobis: value, counterfactual: None },
        real_states: 7,
    })
}

fn front(key: MethodKey, value: f64, e: Estimate, reason: String) -> Kind {
    let on = FrontSetting {
        method: key.name,
        options: key.options,
        parameter: "epsilon".into(),
        value,
        completeness: e.into(),
        selectivity: e.into(),
    };
    Kind::Front(FrontFinding {
        oracle: OracleKind::Mlp,
        layer: 3,
        oracle_layer: 4,
        settings: 9,
        margin: 0.01,
        dominated: 3,
        open: 4,
        unread: 1,
        front: vec![on.clone()],
        knee: (value > 0.5).then_some(KneeFinding { setting: on, distance: e, ties: 2 }),
        no_knee: (value <= 0.5).then_some(reason),
    })
}
