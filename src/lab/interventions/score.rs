//! Completeness, selectivity and reliability of an intervention (Canby et al. 2024, equations 1 to 4).
//!
//! All functions work on class probabilities of oracles, one row per example, in double precision. The distance is total variation, as in
//! the paper, or Jensen-Shannon divergence. C and S of a method are means over test examples. R is the harmonic mean **of the means** (five
//! of the six rows of the paper's Table 3 agree with that to four digits). The mean of the examples' harmonic means is reported too.
//!
//! C is averaged over all test examples, S over those for which a non-targeted property is defined.

use base::matrix::argmax;
use probe::Dense;
use serde::{Deserialize, Serialize};
use stats::bootstrap::harmonic_mean;
use stats::distance::{jensen_shannon, total_variation};

/// Distance between probability distributions; the scores are computed from it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Distance {
    /// Total variation, as in the paper.
    #[default]
    Tv,
    /// Jensen-Shannon divergence in bits.
    Js,
}

impl Distance {
    pub const ALL: [Self; 2] = [Distance::Tv, Distance::Js];

    /// True for the paper's distance, which specs and findings omit.
    pub(crate) fn is_papers(&self) -> bool {
        *self == Distance::Tv
    }

    pub fn title(self) -> &'static str {
        match self {
            Distance::Tv => "total variation",
            Distance::Js => "Jensen-Shannon divergence",
        }
    }

    pub fn between(self, p: &[f64], q: &[f64]) -> f64 {
        match self {
            Distance::Tv => total_variation(p, q),
            Distance::Js => jensen_shannon(p, q),
        }
    }

    /// The largest possible distance from `p`: the distance to a one-hot distribution.
    pub fn farthest(self, p: &[f64]) -> f64 {
        match self {
            Distance::Tv => {
                let (least, most) = p.iter().fold((f64::INFINITY, 0.0f64), |(lo, hi), x| (lo.min(*x), hi.max(*x)));
                (1.0 - least).max(most)
            }
            Distance::Js => (0..p.len()).map(|i| self.between(p, &certain(p.len(), i))).fold(0.0, f64::max),
        }
    }
}

/// The distribution with all probability on one of `k` classes.
fn certain(k: usize, class: usize) -> Vec<f64> {
    (0..k).map(|i| f64::from(u8::from(i == class))).collect()
}

/// Counterfactual completeness of each example (equation 1): `1 - d(after, onehot(target))`; with total variation, the oracle's probability
/// of the target.
///
/// # Panics
/// If there is not one target per row or a target is not a class.
pub fn counterfactual_completeness(distance: Distance, after: &Dense<f64>, targets: &[usize]) -> Vec<f64> {
    assert_eq!(after.rows(), targets.len(), "the number of targets must be the number of examples");
    let one = |(p, target): (&[f64], &usize)| match distance {
        Distance::Tv => p[*target].clamp(0.0, 1.0),
        Distance::Js => (1.0 - jensen_shannon(p, &certain(p.len(), *target))).clamp(0.0, 1.0),
    };
    after.iter_rows().zip(targets).map(one).collect()
}

/// Nullifying completeness of each example (equation 2): 1 - d/d_max, where d is the distance to the uniform
/// distribution and d_max its largest possible value; for total variation, `1 - k/(k-1) TV(after, uniform)`.
pub fn nullifying_completeness(distance: Distance, after: &Dense<f64>) -> Vec<f64> {
    let k = after.cols() as f64;
    nullifying_completeness_to(distance, after, &vec![1.0 / k; after.cols()])
}

/// Nullifying completeness toward a given distribution, such as the class shares: an oracle that has learned these never outputs the
/// uniform distribution. With a uniform prior this is equation 2.
///
/// # Panics
/// If the prior has a different number of classes.
pub(crate) fn nullifying_completeness_to(distance: Distance, after: &Dense<f64>, prior: &[f64]) -> Vec<f64> {
    let farthest = distance.farthest(prior);
    after.iter_rows().map(|p| (1.0 - distance.between(p, prior) / farthest).clamp(0.0, 1.0)).collect()
}

/// Reliability of each training run, linearised about the means over training runs. The mean of these values is the harmonic mean of mean
/// completeness and mean selectivity; their spread is the contribution of training. (Means of the training runs' own harmonic means would
/// not agree with the C and S that are shown.) For one training run, its reliability; NaN if a score is undefined.
pub(crate) fn linearised(completeness: &[f64], selectivity: &[f64]) -> Vec<f64> {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (c, s) = (mean(completeness), mean(selectivity));
    if c.is_nan() || s.is_nan() {
        return vec![f64::NAN; completeness.len()];
    }
    let r = reliability(c, s);
    let sum = if c + s > 0.0 { c + s } else { 1.0 };
    let (by_c, by_s) = (2.0 * (s / sum).powi(2), 2.0 * (c / sum).powi(2));
    let each = completeness.iter().zip(selectivity);
    each.map(|(ck, sk)| r + by_c * (ck - c) + by_s * (sk - s)).collect()
}

/// Selectivity of each example on one non-targeted property (equation 3): `1 - d(after, before)/m` where m is the largest distance possible
/// from `before`; with total variation `m = max(1 - min before, max before)`.
///
/// # Panics
/// If the shapes differ.
pub fn selectivity(distance: Distance, before: &Dense<f64>, after: &Dense<f64>) -> Vec<f64> {
    assert_eq!((before.rows(), before.cols()), (after.rows(), after.cols()), "examples or classes differ");
    let one = |(p, q): (&[f64], &[f64])| (1.0 - distance.between(p, q) / distance.farthest(p)).clamp(0.0, 1.0);
    before.iter_rows().zip(after.iter_rows()).map(one).collect()
}

/// The oracle's predicted values, shifted by `shift` (modulo the number of values). As targets they give completeness toward a value other
/// than the *predicted* one; [`counterfactual_completeness`] normally gets values other than the true one.
pub(crate) fn predicted_targets(before: &Dense<f64>, shift: usize) -> Vec<usize> {
    before.iter_rows().map(|p| (argmax(p) + shift) % p.len().max(1)).collect()
}

/// 1 if the oracle's answer is the example's true value, 0 if not, `None` if the example has none.
///
/// # Panics
/// If there is not one label per row.
pub fn right(after: &Dense<f64>, labels: &[Option<usize>]) -> Vec<Option<f64>> {
    assert_eq!(after.rows(), labels.len(), "there must be one label per example");
    let one = |(p, label): (&[f64], &Option<usize>)| label.map(|y| f64::from(u8::from(argmax(p) == y)));
    after.iter_rows().zip(labels).map(one).collect()
}

/// Confusion matrix of the oracle, `counts[true][answered]` over the examples that have a value.
///
/// # Panics
/// If there is not one label per row or a label is not a class.
pub(crate) fn confusion(after: &Dense<f64>, labels: &[Option<usize>]) -> Vec<Vec<usize>> {
    assert_eq!(after.rows(), labels.len(), "there must be one label per example");
    let mut counts = vec![vec![0; after.cols()]; after.cols()];
    for (p, label) in after.iter_rows().zip(labels) {
        if let Some(y) = label {
            counts[*y][argmax(p)] += 1;
        }
    }
    counts
}

/// The floor of selectivity: an oracle that answers `value` with probability 1 for every example after the intervention would have it.
/// With the majority value, it is the selectivity of an intervention that removes all information about the property.
///
/// # Panics
/// If `value` is not a class.
pub(crate) fn selectivity_floor(distance: Distance, before: &Dense<f64>, value: usize) -> Vec<f64> {
    assert!(value < before.cols(), "no such value");
    let constant = Dense::from_fn(before.rows(), before.cols(), |_, j| f64::from(u8::from(j == value)));
    selectivity(distance, before, &constant)
}

/// The most frequent value, the lower on ties; `None` if no example has one.
pub fn majority(labels: &[Option<usize>]) -> Option<usize> {
    let mut counts = std::collections::BTreeMap::<usize, usize>::new();
    labels.iter().flatten().for_each(|y| *counts.entry(*y).or_default() += 1);
    counts.into_iter().max_by_key(|(y, n)| (*n, std::cmp::Reverse(*y))).map(|(y, _)| y)
}

/// Mean over several lists for the same examples: completeness over counterfactual targets, or selectivity over several non-targeted
/// properties. An example's mean is over the lists that define it; it is undefined if none does.
///
/// # Panics
/// If the lists differ in length.
pub fn mean_over(lists: &[Vec<Option<f64>>]) -> Vec<Option<f64>> {
    let n = lists.first().map_or(0, Vec::len);
    assert!(lists.iter().all(|l| l.len() == n), "the lists have different lengths");
    (0..n)
        .map(|i| {
            let (sum, count) = lists.iter().filter_map(|l| l[i]).fold((0.0, 0usize), |(s, c), v| (s + v, c + 1));
            (count > 0).then(|| sum / count as f64)
        })
        .collect()
}

/// Reliability (equation 4): the harmonic mean of completeness and selectivity, 0 if both are 0.
pub fn reliability(completeness: f64, selectivity: f64) -> f64 {
    harmonic_mean(completeness, selectivity)
}

/// Scores of an additional property to keep, per example; defined if the example has it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Kept {
    pub selectivity: Vec<Option<f64>>,
    /// See [`right`].
    pub right: Vec<Option<f64>>,
}

/// Scores of the test examples at one strength of one method.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ExampleScores {
    pub completeness: Vec<f64>,
    /// Selectivity where a non-targeted property is defined.
    pub selectivity: Vec<Option<f64>>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn row(p: &[f64]) -> Dense<f64> {
        Dense::from_vec(1, p.len(), p.to_vec()).unwrap()
    }

    #[test]
    fn scores_match_worked_values() {
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-6, "{a} {b}");
        close(selectivity(Distance::Tv, &row(&[0.9, 0.1]), &row(&[0.2, 0.8]))[0], 0.222_222);
        close(nullifying_completeness(Distance::Tv, &row(&[0.2, 0.8]))[0], 0.4);
        close(selectivity(Distance::Tv, &row(&[0.6, 0.4]), &row(&[0.55, 0.45]))[0], 0.916_667);
        close(nullifying_completeness(Distance::Tv, &row(&[0.55, 0.45]))[0], 0.9);
        close(selectivity(Distance::Tv, &row(&[0.7, 0.2, 0.1]), &row(&[0.1, 0.3, 0.6]))[0], 0.333_333);
        close(nullifying_completeness(Distance::Tv, &row(&[0.1, 0.3, 0.6]))[0], 0.6);
        close(counterfactual_completeness(Distance::Tv, &row(&[0.1, 0.3, 0.6]), &[2])[0], 0.6);
        assert!((reliability(0.8923, 0.3994) - 0.5518).abs() < 5e-5); // FGSM in Table 3
        close(reliability(0.0, 0.0), 0.0);
        // The prior itself has completeness 1, the opposite end 0.
        close(nullifying_completeness_to(Distance::Tv, &row(&[0.7, 0.3]), &[0.7, 0.3])[0], 1.0);
        close(nullifying_completeness_to(Distance::Tv, &row(&[0.0, 1.0]), &[0.7, 0.3])[0], 0.0);
    }

    /// Reference: `1 - jensenshannon(p, q, base=2)**2` in SciPy, divided by the largest value over one-hot distributions.
    #[test]
    fn jensen_shannon_scores_match_scipy() {
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
        for (before, after, s, c) in [
            (&[0.9, 0.1][..], &[0.2, 0.8][..], 0.476_032_123_657_641_6, 0.765_148_906_435_898_3),
            (&[0.7, 0.2, 0.1], &[0.1, 0.3, 0.6], 0.561_174_541_710_951_4, 0.833_807_061_985_072),
            (&[0.25; 4], &[0.97, 0.01, 0.01, 0.01], 0.158_220_087_134_257_95, 0.158_220_087_134_257_95),
        ] {
            close(selectivity(Distance::Js, &row(before), &row(after))[0], s);
            close(nullifying_completeness(Distance::Js, &row(after))[0], c);
        }
        close(counterfactual_completeness(Distance::Js, &row(&[0.1, 0.3, 0.6]), &[2])[0], 0.763_547_202_339_972_1);
        close(counterfactual_completeness(Distance::Js, &row(&[0.0, 1.0]), &[1])[0], 1.0);
        close(counterfactual_completeness(Distance::Js, &row(&[0.0, 1.0]), &[0])[0], 0.0);
    }

    #[test]
    fn constant_answer_has_the_floor_selectivity() {
        let p = Dense::from_vec(3, 2, vec![0.9, 0.1, 0.2, 0.8, 0.6, 0.4]).unwrap();
        let floor = selectivity_floor(Distance::Tv, &p, 0);
        // TV to (1, 0) is .1, .8, .4; the largest possible is .9, .8, .6.
        for (got, want) in floor.iter().zip([1.0 - 0.1 / 0.9, 0.0, 1.0 - 0.4 / 0.6]) {
            assert!((got - want).abs() < 1e-12, "{floor:?}");
        }
        let labels = [Some(0), Some(0), None];
        assert_eq!((majority(&labels), majority(&[None]), majority(&[Some(1), Some(0)])), (Some(0), None, Some(0)));
        assert_eq!(right(&p, &labels), [Some(1.0), Some(0.0), None]);
        assert_eq!(confusion(&p, &labels), [[1, 1], [0, 0]]);
        assert_eq!(predicted_targets(&p, 1), [1, 0, 1]);
    }

    #[test]
    fn means_over_lists_skip_undefined_values() {
        let mean = mean_over(&[vec![Some(0.2), None, None], vec![Some(0.6), Some(0.5), None]]);
        assert_eq!(mean, [Some(0.4), Some(0.5), None]);
    }

    fn distribution(k: usize) -> impl Strategy<Value = Vec<f64>> {
        proptest::collection::vec(0.0f64..1.0, k).prop_map(|v| {
            let sum: f64 = v.iter().sum::<f64>() + 1e-9 * v.len() as f64;
            v.iter().map(|x| (x + 1e-9) / sum).collect()
        })
    }

    proptest! {
        #[test]
        fn scores_are_between_0_and_1((before, after, target) in (2usize..6).prop_flat_map(|k| (distribution(k), distribution(k), 0..k))) {
            let (p, q) = (row(&before), row(&after));
            let c = counterfactual_completeness(Distance::Tv, &q, &[target])[0];
            let mut onehot = vec![0.0; before.len()];
            onehot[target] = 1.0;
            prop_assert!((c - (1.0 - total_variation(&after, &onehot))).abs() < 1e-9);
            let n = nullifying_completeness(Distance::Tv, &q)[0];
            let s = selectivity(Distance::Tv, &p, &q)[0];
            for v in [c, n, s, reliability(c, s)] {
                prop_assert!((0.0..=1.0).contains(&v), "{}", v);
            }
            prop_assert!((selectivity(Distance::Tv, &p, &p)[0] - 1.0).abs() < 1e-12);
            prop_assert!(reliability(c, s) <= c.max(s) + 1e-12 && reliability(c, s) + 1e-12 >= c.min(s).min(2.0 * c.min(s)));
        }
    }
}
