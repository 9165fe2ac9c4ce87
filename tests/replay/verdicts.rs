//! Arbitrary findings that compare.

use super::arbitrary::{estimate, name, options, oracle, real, text};
use probity::lab::interventions::finding::Kind;
use probity::lab::interventions::key::MethodKey;
use probity::lab::interventions::leak::Left;
use probity::lab::interventions::verdict::{
    LeakFinding, NoOptimumFinding, RankingFinding, RivalFinding, VersusFinding,
};
use proptest::prelude::*;

/// What compares.
pub fn verdict() -> BoxedStrategy<Kind> {
    (name(), options(), oracle(), real(), text(), estimate(), 0..5usize)
        .prop_map(|(method, options, oracle, value, reason, e, which)| {
            let (layer, oracle_layer, parameter) = (3, 4, "epsilon".to_owned());
            let key = MethodKey { name: method.clone(), options: options.clone() };
            let other = MethodKey::named("inlp");
            let left = Left { before: e, after: e, share: (which == 4).then_some(e) };
            match which {
                0 => {
                    let paper = None;
                    let none = NoOptimumFinding {
                        method,
                        options,
                        layer,
                        oracle,
                        oracle_layer,
                        parameter,
                        reason,
                        paper,
                    };
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
                    Kind::Versus(VersusFinding { a: key, b: other, oracle, p_greater: value, turns_with })
                }
                3 => {
                    let (order, places) = (vec![key, other], vec![vec![value, 0.5]; 2]);
                    Kind::Ranking(RankingFinding { oracle, order, places, stability: value, replicates: 5 })
                }
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
                }),
            }
        })
        .boxed()
}
