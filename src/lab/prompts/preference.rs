//! Prompt preference and verbalisation stability.
//!
//! Prompt preference is the dependence of P@1 on the prompt (Cao et al. 2022, section 3, Table 1, Figures 3 and 4). Verbalisation stability
//! is the share of subjects with the same answer for every name (section 4, Figure 5).

use rand_chacha::rand_core::Rng;

use super::answers::Answers;
use super::places::{Ties, places};
use stats::bootstrap::interval;
use stats::estimate::Estimate;
use stats::intervals::clopper_pearson;
use stats::paired::{Differences, Shift, mean_within};
use stats::replicates::exact_floor;
use stats::rng::{shuffle, stream};

/// Gap above which the paper counts a spread as large: 10 points.
pub const LARGE: f64 = 0.1;
/// Maximum number of mentions per subject for stability.
pub const MENTIONS: usize = 5;
/// Range of a proportion, used as its interval when only one unit is known.
pub const SHARE: (f64, f64) = (0.0, 1.0);
/// Range of a difference between two proportions.
pub(crate) const DIFFERENCE: (f64, f64) = (-1.0, 1.0);
/// Range of a standard deviation of proportions.
pub(crate) const STD: (f64, f64) = (0.0, 0.5);
/// Number of random splits, and of permutations, for [`CorrectedGap`].
const REPEATS: usize = 100;

/// Spread over prompts of a model's score on a relation, in the unit of the scores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Preference {
    pub worst: f64,
    pub best: f64,
    /// `best` minus `worst`.
    pub gap: f64,
    /// Population standard deviation over prompts.
    pub std: f64,
    /// Mean over prompts.
    pub mean: f64,
}

impl Preference {
    /// The spread of the prompts' scores; `None` without prompts.
    pub fn of(scores: &[f64]) -> Option<Self> {
        if scores.is_empty() {
            return None;
        }
        let n = scores.len() as f64;
        let mean = scores.iter().sum::<f64>() / n;
        let best = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let worst = scores.iter().copied().fold(f64::INFINITY, f64::min);
        let std = (scores.iter().map(|s| (s - mean) * (s - mean)).sum::<f64>() / n).sqrt();
        Some(Self { worst, best, gap: best - worst, std, mean })
    }
}

/// True if a gap is greater than `large`, apart from rounding errors.
pub fn is_over(gap: f64, large: f64) -> bool {
    gap > large + 1e-9
}

/// [`Preference`] with intervals over the instances of the relation: worst, best, gap, std, mean. `None` without prompts or instances.
///
/// The intervals of worst, best and gap refer to the true scores of these prompts. A bootstrap of the extremes has too little coverage:
/// half of the time for the gap between prompts with scores from .50 to .65, and never for equal prompts. Simultaneous limits for all
/// prompts are used instead: Clopper-Pearson limits at level 1 - (1 - level) / prompts. The standard deviation has no interval (its ends
/// are NaN); the mean has a Student's t interval.
pub fn bounded(answers: &Answers, level: f64) -> Option<[Estimate; 5]> {
    let (n, prompts) = (answers.shape.instances(), answers.shape.prompts());
    let p = Preference::of(&answers.p_at_1()).filter(|_| n > 0)?;
    let right = |prompt: usize| (0..n).filter(move |i| answers.is_right(prompt, *i, 0));
    let each = 1.0 - (1.0 - level) / prompts as f64;
    let limits: Vec<Estimate> =
        (0..prompts).map(|prompt| clopper_pearson(right(prompt).count() as u64, n as u64, each)).collect();
    let ends = |of: fn(f64, f64) -> f64| {
        let fold = |end: fn(&Estimate) -> f64| limits.iter().map(end).reduce(of).unwrap_or(f64::NAN);
        (fold(|e| e.lo), fold(|e| e.hi))
    };
    let ((min_lo, min_hi), (max_lo, max_hi)) = (ends(f64::min), ends(f64::max));
    let gap = match prompts {
        1 => Estimate::exact(0.0),
        _ => Estimate { mean: p.gap, lo: (max_lo - min_hi).max(0.0), hi: max_hi - min_lo },
    };
    let share = |i: usize| (0..prompts).filter(|p| answers.is_right(*p, i, 0)).count() as f64 / prompts as f64;
    let of_each: Vec<f64> = (0..n).map(share).collect();
    Some([
        Estimate { mean: p.worst, lo: min_lo, hi: min_hi },
        Estimate { mean: p.best, lo: max_lo, hi: max_hi },
        gap,
        Estimate { mean: p.std, lo: f64::NAN, hi: f64::NAN },
        Estimate { mean: p.mean, ..mean_of_shares(&of_each, level) },
    ])
}

/// Mean of the instances' shares with a Student's t interval. If few shares are 0 or few are 1, it is at least as wide as the exact
/// interval.
pub(crate) fn mean_of_shares(values: &[f64], level: f64) -> Estimate {
    let found = mean_within(values, SHARE, level);
    let floor = exact_floor(found.mean, values.len(), false, level);
    floor.map_or(found, |f| Estimate { lo: found.lo.min(f.lo), hi: found.hi.max(f.hi), ..found })
}

/// The gap between best and worst prompt, corrected for selecting them on the same instances.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CorrectedGap {
    /// The mean gap on one half of the instances between the prompts that were best and worst on the other half.
    pub held_out: Estimate,
    /// The mean gap between equally good prompts, estimated by permuting each instance's answers over the prompts. Its interval is the
    /// range of such gaps.
    pub by_chance: Estimate,
}

/// Computes [`CorrectedGap`]; `None` with fewer than two prompts or two instances.
///
/// Splits share instances, so their mean varies nearly as much as a single split. The error therefore includes the full variance between
/// splits (correction of Nadeau and Bengio 2003). An interval from the instances' contributions over all splits would cover .80 instead of
/// .95.
pub fn corrected_gap(answers: &Answers, level: f64, seed: u64) -> Option<CorrectedGap> {
    let (n, prompts) = (answers.shape.instances(), answers.shape.prompts());
    if n < 2 || prompts < 2 {
        return None;
    }
    let mut rng = stream(seed, "prompt preference");
    let mut rows: Vec<Vec<bool>> = (0..n).map(|i| (0..prompts).map(|p| answers.is_right(p, i, 0)).collect()).collect();
    let mut order: Vec<usize> = (0..n).collect();
    let splits: Vec<f64> = (0..REPEATS).map(|_| split_gap(&rows, &mut order, &mut rng)).collect();
    let Shift { mean, error, .. } = Differences::of_items(splits).shift();
    let (units, (least, most)) = (n - n / 2, DIFFERENCE);
    // Both halves have the same number of instances.
    let error = error * (1.0 + REPEATS as f64).sqrt();
    let held_out = match units {
        1 => Estimate { mean, lo: least, hi: most },
        _ => {
            let e = Shift { mean, error, units }.interval_within(level, DIFFERENCE);
            Estimate { mean, lo: e.lo.max(least), hi: e.hi.min(most) }
        }
    };
    let mut by_chance = Vec::with_capacity(REPEATS);
    for _ in 0..REPEATS {
        rows.iter_mut().for_each(|row| shuffle(&mut rng, row));
        let scores = shares(&rows, prompts);
        by_chance.push(Preference::of(&scores).map_or(0.0, |p| p.gap));
    }
    let mean = by_chance.iter().sum::<f64>() / REPEATS as f64;
    Some(CorrectedGap { held_out, by_chance: interval(mean, by_chance, level) })
}

/// The gap on one random half of the instances, between the prompts that were best and worst on the other half.
fn split_gap(rows: &[Vec<bool>], order: &mut [usize], rng: &mut impl Rng) -> f64 {
    shuffle(rng, order);
    let (chosen_on, judged_on) = order.split_at(rows.len() / 2);
    let prompts = rows[0].len();
    let choice: Vec<usize> = (0..prompts).map(|p| chosen_on.iter().filter(|i| rows[**i][p]).count()).collect();
    // Among ties the first prompt is selected, as a user would do.
    let (mut best, mut worst) = (0, 0);
    for p in 1..prompts {
        if choice[p] > choice[best] {
            best = p;
        }
        if choice[p] < choice[worst] {
            worst = p;
        }
    }
    let gap = |i: &usize| f64::from(i8::from(rows[*i][best]) - i8::from(rows[*i][worst]));
    judged_on.iter().map(gap).sum::<f64>() / judged_on.len() as f64
}

fn shares(rows: &[Vec<bool>], prompts: usize) -> Vec<f64> {
    let count = |p: usize| rows.iter().filter(|row| row[p]).count();
    (0..prompts).map(|p| count(p) as f64 / rows.len() as f64).collect()
}

/// True if the order of the models changes between prompts. `scores` are indexed by prompt, then by model. False for a single prompt.
pub fn is_unstable(scores: &[Vec<f64>], ties: Ties) -> bool {
    let order = |s: &Vec<f64>| places(s, |a, b| a.total_cmp(b), ties);
    let first = scores.first().map(order);
    scores.iter().skip(1).any(|s| Some(order(s)) != first)
}

/// Numbers of instances with two or more mentions, in total and with the same answer for all mentions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stability {
    /// Number of instances with several mentions.
    pub kept: u64,
    /// Number of instances with the same answer for all mentions, right or wrong.
    pub stable: u64,
}

/// Stability with a prompt and the first `most` mentions of each instance. The paper uses five mentions and the first prompt.
pub fn stability(answers: &Answers, prompt: usize, most: usize) -> Stability {
    let shape = &answers.shape;
    let mut found = Stability::default();
    for i in (0..shape.instances()).filter(|i| shape.mentions(*i).min(most) >= 2) {
        found.kept += 1;
        found.stable += u64::from(same(answers, prompt, i, most));
    }
    found
}

/// True if the answer to an instance is the same for all its mentions.
pub(crate) fn says_the_same(answers: &Answers, prompt: usize, instance: usize) -> bool {
    same(answers, prompt, instance, usize::MAX)
}

fn same(answers: &Answers, prompt: usize, i: usize, most: usize) -> bool {
    let said = |x: usize| answers.said[answers.shape.at(prompt, i, x)];
    (1..answers.shape.mentions(i).min(most)).all(|x| said(x) == said(0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::answers::testing::answers;
    use super::*;
    use stats::rng::unit;

    #[test]
    fn spread_is_the_population_deviation() {
        let p = Preference::of(&[0.2, 0.4, 0.9]).unwrap();
        assert_eq!((p.worst, p.best), (0.2, 0.9));
        assert!((p.gap - 0.7).abs() < 1e-12 && (p.mean - 0.5).abs() < 1e-12);
        assert!((p.std - (0.26f64 / 3.0).sqrt()).abs() < 1e-12);
        assert_eq!(Preference::of(&[]), None);
        assert_eq!(Preference::of(&[0.3]).unwrap().gap, 0.0);
    }

    /// 40 minus 30 counts as ten points, despite rounding errors.
    #[test]
    fn exactly_ten_points_are_not_over_ten() {
        let gap = std::hint::black_box(0.4) - 0.3;
        assert!(gap > LARGE);
        assert!(!is_over(0.4 - 0.3, LARGE));
        assert!(is_over(0.1034, LARGE));
    }

    #[test]
    fn equal_prompts_have_only_a_chance_gap() {
        let mut rng = stream(5, "test");
        let table: Vec<bool> = (0..6 * 60).map(|_| unit(&mut rng) < 0.4).collect();
        let equal = answers(6, &[1; 60], |p, i, _| table[p * 60 + i]);
        let seen = Preference::of(&equal.p_at_1()).unwrap().gap;
        let of = |answers: &Answers| corrected_gap(answers, 0.95, 1).unwrap();
        let found = of(&equal);
        assert!(seen > 0.08 && (found.by_chance.mean - seen).abs() < 0.1, "{seen} {found:?}");
        assert!(found.held_out.mean.abs() < 0.08, "{found:?}");
        assert!(found.held_out.lo < 0.0 && found.held_out.hi > 0.0, "{found:?}");
        assert!(found.by_chance.lo <= seen && seen <= found.by_chance.hi, "{seen} {found:?}");
        // A planted effect also appears on other instances.
        let planted = answers(6, &[1; 60], |p, i, _| if p == 2 { i % 10 < 8 } else { table[p * 60 + i] });
        let found = of(&planted);
        assert!(found.held_out.mean > 0.25 && found.held_out.lo > 0.1, "{found:?}");
        assert!(found.by_chance.mean < 0.25, "{found:?}");
        let one = answers(1, &[1; 9], |_, _, _| true);
        assert_eq!(corrected_gap(&one, 0.95, 0), None);
    }

    /// Regression: bootstrap intervals of the extremes used to cover the gap between unequal prompts half of the time, and the gap between
    /// equal prompts never.
    #[test]
    fn intervals_of_extremes_cover() {
        let (runs, mut rng) = (300, stream(11, "extremes"));
        for (scores, least) in [([0.5, 0.53, 0.56, 0.6, 0.63, 0.65], 0.95), ([0.6; 6], 0.95), ([0.02; 6], 0.95)] {
            let (worst, best) = (scores[0], scores[5]);
            let mut held = [0; 3];
            for _ in 0..runs {
                // All prompts have the same instances, which are hard or easy for all of them.
                let hard: Vec<f64> = (0..53).map(|_| unit(&mut rng)).collect();
                let own: Vec<f64> = (0..53 * 6).map(|_| unit(&mut rng)).collect();
                let drawn = |p: usize, i: usize| {
                    if own[p * 53 + i] < 0.5 { hard[i] } else { (own[p * 53 + i] - 0.5) * 2.0 }
                };
                let found = bounded(&answers(6, &[1; 53], |p, i, _| drawn(p, i) < scores[p]), 0.95).unwrap();
                for (k, truth) in [worst, best, best - worst].into_iter().enumerate() {
                    held[k] += usize::from(found[k].lo <= truth && truth <= found[k].hi);
                }
            }
            assert!(
                held.iter().all(|h| f64::from(*h as u32) >= least * f64::from(runs)),
                "{scores:?}: {held:?} of {runs}"
            );
        }
    }

    #[test]
    fn few_or_equal_answers_are_not_certain() {
        let single = answers(3, &[1], |p, _, _| p > 0);
        let [worst, best, gap, std, mean] = bounded(&single, 0.9).unwrap();
        assert!(worst.mean == 0.0 && best.mean == 1.0 && worst.hi > 0.9 && best.lo < 0.1, "{worst:?} {best:?}");
        assert!(gap.lo == 0.0 && gap.hi == 1.0 && (mean.lo, mean.hi) == SHARE, "{gap:?} {mean:?}");
        assert!(std.mean > 0.0 && std.lo.is_nan() && std.hi.is_nan(), "{std:?}");
        let [worst, best, gap, _, mean] = bounded(&answers(2, &[1; 40], |_, _, _| true), 0.9).unwrap();
        assert!(worst.lo < 0.95 && best.hi == 1.0 && gap.lo == 0.0 && gap.hi > 0.05 && mean.lo < 0.95);
        let [.., gap, _, _] = bounded(&answers(1, &[1; 40], |_, i, _| i % 2 == 0), 0.9).unwrap();
        assert_eq!(gap, Estimate::exact(0.0), "one prompt has no gap");
    }

    #[test]
    fn stability_requires_one_answer_for_all_mentions() {
        // Instance 0 has one mention; instance 1 has the same answer for all mentions; instance 2 changes with its third mention.
        let all = answers(1, &[1, 3, 3], |_, i, x| i == 1 || x < 2);
        assert_eq!(stability(&all, 0, MENTIONS), Stability { kept: 2, stable: 1 });
        assert_eq!(stability(&all, 0, 2), Stability { kept: 2, stable: 2 });
        assert_eq!(stability(&all, 0, 1), Stability::default());
    }

    #[test]
    fn changing_order_is_unstable() {
        assert!(!is_unstable(&[vec![1.0, 2.0]], Ties::EarlierLower));
        assert!(!is_unstable(&[vec![1.0, 2.0], vec![0.0, 0.5]], Ties::EarlierLower));
        assert!(is_unstable(&[vec![1.0, 2.0], vec![0.5, 0.0]], Ties::EarlierLower));
        // A tie counts as a separate order only if tied models share a rank.
        let tie = [vec![1.0, 2.0], vec![1.0, 1.0]];
        assert!(!is_unstable(&tie, Ties::EarlierLower) && is_unstable(&tie, Ties::MeanPlace));
    }

    proptest! {
        #[test]
        fn preference_parts_agree(scores in prop::collection::vec(0.0f64..1.0, 1..12)) {
            let p = Preference::of(&scores).unwrap();
            prop_assert!(p.worst <= p.mean + 1e-12 && p.mean <= p.best + 1e-12);
            prop_assert!((p.gap - (p.best - p.worst)).abs() < 1e-15 && p.std <= p.gap + 1e-12);
        }
    }
}
