//! Ranks of models, with rules for ties.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

/// Rules for ranking tied scores.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ties {
    /// The model that comes earlier in the list gets the lower rank, as in the published code.
    #[default]
    EarlierLower,
    /// Tied models all get the mean of their ranks.
    MeanPlace,
}

impl Ties {
    /// All rules, in display order.
    pub const ALL: [Self; 2] = [Self::EarlierLower, Self::MeanPlace];

    /// The name in specs and findings.
    pub fn name(self) -> &'static str {
        match self {
            Self::EarlierLower => "earlier_lower",
            Self::MeanPlace => "mean_place",
        }
    }
}

/// Twice the rank of each model, 0 the worst. Doubling makes mean ranks integers.
pub fn places<T>(scores: &[T], compare: impl Fn(&T, &T) -> Ordering, ties: Ties) -> Vec<u32> {
    let of = |k: usize| {
        let (mut below, mut equal, mut equal_before) = (0, 0, 0);
        for (j, other) in scores.iter().enumerate() {
            match compare(other, &scores[k]) {
                Ordering::Less => below += 1,
                Ordering::Equal => {
                    equal += 1;
                    equal_before += u32::from(j < k);
                }
                Ordering::Greater => {}
            }
        }
        match ties {
            Ties::EarlierLower => 2 * (below + equal_before),
            // Twice the mean of the ranks below .. below + equal - 1.
            Ties::MeanPlace => 2 * below + equal - 1,
        }
    };
    (0..scores.len()).map(of).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ties_follow_the_list_or_share_ranks() {
        let of = |scores: &[i32], ties| places(scores, |a, b| a.cmp(b), ties);
        assert_eq!(of(&[3, 1, 3, 2], Ties::EarlierLower), [4, 0, 6, 2]);
        assert_eq!(of(&[3, 1, 3, 2], Ties::MeanPlace), [5, 0, 5, 2]);
        assert_eq!(of(&[7, 7, 7], Ties::MeanPlace), [2, 2, 2]);
    }

    proptest! {
        #[test]
        fn rank_sums_do_not_depend_on_the_rule(scores in prop::collection::vec(0i32..4, 1..9)) {
            let m = scores.len() as u32;
            for ties in Ties::ALL {
                prop_assert_eq!(places(&scores, |a, b| a.cmp(b), ties).iter().sum::<u32>(), m * (m - 1));
            }
        }
    }
}
