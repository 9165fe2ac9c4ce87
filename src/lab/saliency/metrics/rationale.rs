//! Token-F1 of a predicted rationale against gold rationales (equation 1 of the benchmark paper).

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// Agreement between a predicted rationale and a gold one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct F1 {
    /// Share of the predicted words that are gold.
    pub precision: f64,
    /// Share of the gold words that are predicted.
    pub recall: f64,
    /// Harmonic mean of precision and recall, `2PR/(P+R)`.
    pub f1: f64,
}

/// Rule for inputs with several gold rationales, any of which is sufficient.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Several {
    /// Uses the rationale with the highest F1.
    Best,
    /// Uses the best rationale, or the best union if that is better. Starting from each rationale, the following ones are added as long as
    /// F1 rises (the authors' public code).
    #[default]
    United,
}

/// F1 between two sets of word indices; repeated indices count once. It is 1 if both are empty, and 0 if only one is empty or if they are
/// disjoint.
pub fn token_f1(predicted: &[usize], gold: &[usize]) -> F1 {
    let set = |list: &[usize]| list.iter().copied().collect::<BTreeSet<usize>>();
    f1_of(&set(predicted), &set(gold))
}

fn f1_of(predicted: &BTreeSet<usize>, gold: &BTreeSet<usize>) -> F1 {
    if predicted.is_empty() && gold.is_empty() {
        return F1 { precision: 1.0, recall: 1.0, f1: 1.0 };
    }
    let common = predicted.intersection(gold).count() as f64;
    if common == 0.0 {
        return F1 { precision: 0.0, recall: 0.0, f1: 0.0 };
    }
    let (precision, recall) = (common / predicted.len() as f64, common / gold.len() as f64);
    F1 { precision, recall, f1: 2.0 * precision * recall / (precision + recall) }
}

/// F1 against several gold rationales; `None` without gold.
pub(crate) fn best_f1(predicted: &[usize], golds: &[Vec<usize>], several: Several) -> Option<F1> {
    let predicted: BTreeSet<usize> = predicted.iter().copied().collect();
    let golds: Vec<BTreeSet<usize>> = golds.iter().map(|g| g.iter().copied().collect()).collect();
    let better = |a: F1, b: F1| if b.f1 > a.f1 { b } else { a };
    let single = golds.iter().map(|g| f1_of(&predicted, g)).reduce(better)?;
    if several == Several::Best {
        return Some(single);
    }
    let united = (0..golds.len().saturating_sub(1)).map(|start| united(&predicted, &golds[start..]));
    Some(united.fold(single, better))
}

/// The F1 of a union that grows along the list as long as F1 rises.
fn united(predicted: &BTreeSet<usize>, golds: &[BTreeSet<usize>]) -> F1 {
    let mut union = BTreeSet::new();
    let mut best = F1 { precision: 0.0, recall: 0.0, f1: 0.0 };
    for gold in golds {
        if gold.is_subset(&union) || gold.is_disjoint(predicted) {
            continue;
        }
        let larger: BTreeSet<usize> = union.union(gold).copied().collect();
        let f1 = f1_of(predicted, &larger);
        if f1.f1 > best.f1 {
            (best, union) = (f1, larger);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn f1_matches_hand_computation() {
        // Two of three predicted words are among the four gold words, so F1 is 2 (2/3)(1/2) / (2/3 + 1/2).
        let f1 = token_f1(&[1, 2, 9], &[1, 2, 3, 4]);
        assert!((f1.f1 - 4.0 / 7.0).abs() < 1e-12, "{f1:?}");
        assert_eq!(token_f1(&[1, 1, 2], &[2, 1]).f1, 1.0);
        assert_eq!((token_f1(&[], &[]).f1, token_f1(&[0], &[]).f1, token_f1(&[], &[0]).f1), (1.0, 0.0, 0.0));
    }

    #[test]
    fn best_rationale_or_union_counts() {
        let golds = [vec![0, 1], vec![2, 3], vec![7, 8]];
        let best = best_f1(&[0, 1, 2, 3], &golds, Several::Best).unwrap();
        assert!((best.f1 - 2.0 / 3.0).abs() < 1e-12, "{best:?}");
        let united = best_f1(&[0, 1, 2, 3], &golds, Several::United).unwrap();
        assert_eq!(united.f1, 1.0, "the union of the first two, without the third");
        // The first rationale fits badly and must not be part of every union; therefore unions start at each rationale.
        let late = [vec![0, 4, 5, 6, 7], vec![1], vec![2]];
        assert_eq!(best_f1(&[1, 2], &late, Several::United).unwrap().f1, 1.0);
        assert_eq!(best_f1(&[1], &[], Several::United), None);
        assert_eq!(best_f1(&[], &[vec![]], Several::United).unwrap().f1, 1.0);
    }

    proptest! {
        #[test]
        fn unions_are_never_worse(
            predicted in proptest::collection::vec(0usize..12, 0..8),
            golds in proptest::collection::vec(proptest::collection::vec(0usize..12, 0..6), 1..5),
        ) {
            let best = best_f1(&predicted, &golds, Several::Best).unwrap();
            let united = best_f1(&predicted, &golds, Several::United).unwrap();
            prop_assert!(united.f1 >= best.f1 && (0.0..=1.0).contains(&united.f1));
            prop_assert_eq!(token_f1(&predicted, &golds[0]).f1, token_f1(&golds[0], &predicted).f1);
        }
    }
}
