//! Prompt preference: how far P@1 depends on the prompt (Cao et al. 2022, section 3, Table 1, Figures 3 and 4), and
//! verbalisation stability: whether a model says the same under every name of a subject (section 4, Figure 5).

use rand_chacha::rand_core::Rng;

use super::answers::Answers;
use super::places::{Ties, places};
use base::matrix::Matrix;
use stats::bootstrap::{Resamples, interval};
use stats::estimate::Estimate;
use stats::rng::{shuffle, stream};

/// The spread that the paper counts as large: 10 points.
pub const LARGE: f64 = 0.1;
/// Mentions of a subject that stability is asked under at most.
pub const MENTIONS: usize = 5;
/// Range of a share: its interval if a single unit is known.
pub const SHARE: (f64, f64) = (0.0, 1.0);
/// Range of a difference of two shares.
pub(crate) const DIFFERENCE: (f64, f64) = (-1.0, 1.0);
/// Range of the standard deviation of shares.
pub(crate) const STD: (f64, f64) = (0.0, 0.5);
/// Splits and permutations behind [`Honest`].
const REPEATS: usize = 100;

/// How one model's score on one relation spreads over prompts, in the unit of the scores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Preference {
    /// The lowest score.
    pub worst: f64,
    /// The highest.
    pub best: f64,
    /// Their difference.
    pub gap: f64,
    /// Population standard deviation over prompts.
    pub std: f64,
    /// Mean over prompts.
    pub mean: f64,
}

impl Preference {
    /// Of the scores of the prompts; none without prompts.
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

    fn all(self) -> [f64; 5] {
        [self.worst, self.best, self.gap, self.std, self.mean]
    }
}

/// True if a gap is more than `large`; rounding does not count.
pub fn is_over(gap: f64, large: f64) -> bool {
    gap > large + 1e-9
}

/// [`Preference`] with intervals by bootstrap over the instances of the relation: worst, best, gap, std, mean. `resamples`
/// must be of as many examples as there are instances, of which a single one leaves the intervals all that there may be. None
/// without prompts or instances.
pub fn resampled(answers: &Answers, resamples: &Resamples, level: f64) -> Option<[Estimate; 5]> {
    let (n, prompts) = (answers.shape.instances(), answers.shape.prompts());
    if n == 0 {
        return None;
    }
    let centre = Preference::of(&answers.p_at_1())?.all();
    let columns = Matrix::from_fn(n, prompts, |i, p| f32::from(u8::from(answers.is_right(p, i, 0))));
    let each: Vec<[f64; 5]> = resamples.block_sums(&columns, &[(0..n).collect()], |_, sums| {
        let scores: Vec<f64> = sums.iter().map(|s| f64::from(*s) / n as f64).collect();
        Preference::of(&scores).map_or([f64::NAN; 5], Preference::all)
    });
    let within = [SHARE, SHARE, SHARE, STD, SHARE];
    let of = |k: usize| interval(centre[k], each.iter().map(|e| e[k]).collect(), level);
    Some(std::array::from_fn(|k| of(k).unless_single(n, within[k])))
}

/// The gap of best and worst prompt without the luck of choosing them on the instances that they are judged on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Honest {
    /// The mean gap on one half of the instances where best and worst were chosen on the other. Interval by bootstrap over what
    /// each instance adds to it, with the choices as they fell.
    pub held_out: Estimate,
    /// The mean gap that equally good prompts would show: each instance's answers permuted over the prompts. Its interval is the
    /// range in which such gaps lie.
    pub by_chance: Estimate,
}

/// See [`Honest`]. `resamples` must be of as many examples as there are instances. None where there are fewer than two prompts or
/// two instances.
pub fn honest(answers: &Answers, resamples: &Resamples, level: f64, seed: u64) -> Option<Honest> {
    let (n, prompts) = (answers.shape.instances(), answers.shape.prompts());
    if n < 2 || prompts < 2 {
        return None;
    }
    let mut rng = stream(seed, "prompt preference");
    let mut rows: Vec<Vec<bool>> =
        (0..n).map(|i| (0..prompts).map(|p| answers.is_right(p, i, 0)).collect()).collect();
    let (mut order, mut adds): (Vec<usize>, Vec<f64>) = ((0..n).collect(), vec![0.0; n]);
    for _ in 0..REPEATS {
        split_gap(&rows, &mut order, &mut adds, &mut rng);
    }
    let mut by_chance = Vec::with_capacity(REPEATS);
    for _ in 0..REPEATS {
        rows.iter_mut().for_each(|row| shuffle(&mut rng, row));
        let scores = shares(&rows, prompts);
        by_chance.push(Preference::of(&scores).map_or(0.0, |p| p.gap));
    }
    let mean = by_chance.iter().sum::<f64>() / REPEATS as f64;
    Some(Honest { held_out: resamples.mean(&adds, level), by_chance: interval(mean, by_chance, level) })
}

/// Adds to each instance of one random half its part in the gap between the prompts that are best and worst on the other: the mean
/// of all parts after [`REPEATS`] splits is the mean gap.
fn split_gap(rows: &[Vec<bool>], order: &mut [usize], adds: &mut [f64], rng: &mut impl Rng) {
    shuffle(rng, order);
    let (chosen_on, judged_on) = order.split_at(rows.len() / 2);
    let prompts = rows[0].len();
    let choice: Vec<usize> =
        (0..prompts).map(|p| chosen_on.iter().filter(|i| rows[**i][p]).count()).collect();
    // The first of equals, as whoever picks a prompt would have it.
    let (mut best, mut worst) = (0, 0);
    for p in 1..prompts {
        if choice[p] > choice[best] {
            best = p;
        }
        if choice[p] < choice[worst] {
            worst = p;
        }
    }
    let share = rows.len() as f64 / (REPEATS * judged_on.len()) as f64;
    for i in judged_on {
        adds[*i] += share * f64::from(i8::from(rows[*i][best]) - i8::from(rows[*i][worst]));
    }
}

fn shares(rows: &[Vec<bool>], prompts: usize) -> Vec<f64> {
    let count = |p: usize| rows.iter().filter(|row| row[p]).count();
    (0..prompts).map(|p| count(p) as f64 / rows.len() as f64).collect()
}

/// True if the order of the models changes between prompts; `scores` are by prompt, then by model. False for a single
/// prompt.
pub fn is_unstable(scores: &[Vec<f64>], ties: Ties) -> bool {
    let order = |s: &Vec<f64>| places(s, |a, b| a.total_cmp(b), ties);
    let first = scores.first().map(order);
    scores.iter().skip(1).any(|s| Some(order(s)) != first)
}

/// Instances with two or more mentions, and those of them whose answers are all the same word.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stability {
    /// Instances that are asked under several mentions.
    pub kept: u64,
    /// Those with one and the same answer, right or wrong.
    pub stable: u64,
}

/// Stability under a prompt and the first `most` mentions of each instance (the paper: five, the first prompt).
pub fn stability(answers: &Answers, prompt: usize, most: usize) -> Stability {
    let shape = &answers.shape;
    let mut found = Stability::default();
    for i in (0..shape.instances()).filter(|i| shape.mentions(*i).min(most) >= 2) {
        found.kept += 1;
        found.stable += u64::from(same(answers, prompt, i, most));
    }
    found
}

/// True if a model gives the same answer to an instance under all its mentions.
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
    fn the_spread_is_that_of_the_population() {
        let p = Preference::of(&[0.2, 0.4, 0.9]).unwrap();
        assert_eq!((p.worst, p.best), (0.2, 0.9));
        assert!((p.gap - 0.7).abs() < 1e-12 && (p.mean - 0.5).abs() < 1e-12);
        assert!((p.std - (0.26f64 / 3.0).sqrt()).abs() < 1e-12);
        assert_eq!(Preference::of(&[]), None);
        assert_eq!(Preference::of(&[0.3]).unwrap().gap, 0.0);
    }

    /// 40 less 30 is ten points, whatever the floats say.
    #[test]
    fn ten_points_are_not_more_than_ten() {
        let gap = std::hint::black_box(0.4) - 0.3;
        assert!(gap > LARGE);
        assert!(!is_over(0.4 - 0.3, LARGE));
        assert!(is_over(0.1034, LARGE));
    }

    #[test]
    fn equal_prompts_show_a_gap_by_chance_and_none_on_other_instances() {
        let mut rng = stream(5, "test");
        let table: Vec<bool> = (0..6 * 60).map(|_| unit(&mut rng) < 0.4).collect();
        let equal = answers(6, &[1; 60], |p, i, _| table[p * 60 + i]);
        let seen = Preference::of(&equal.p_at_1()).unwrap().gap;
        let r = Resamples::new(60, 400, 2);
        let of = |answers: &Answers| honest(answers, &r, 0.95, 1).unwrap();
        let found = of(&equal);
        assert!(seen > 0.08 && (found.by_chance.mean - seen).abs() < 0.1, "{seen} {found:?}");
        assert!(found.held_out.mean.abs() < 0.08, "{found:?}");
        assert!(found.held_out.lo < 0.0 && found.held_out.hi > 0.0, "{found:?}");
        assert!(found.by_chance.lo <= seen && seen <= found.by_chance.hi, "{seen} {found:?}");
        // A planted effect stays on other instances.
        let planted = answers(6, &[1; 60], |p, i, _| if p == 2 { i % 10 < 8 } else { table[p * 60 + i] });
        let found = of(&planted);
        assert!(found.held_out.mean > 0.25 && found.held_out.lo > 0.1, "{found:?}");
        assert!(found.by_chance.mean < 0.25, "{found:?}");
        let one = answers(1, &[1; 9], |_, _, _| true);
        assert_eq!(honest(&one, &Resamples::new(9, 100, 0), 0.95, 0), None);
    }

    #[test]
    fn intervals_hold_the_estimate_and_shrink_to_nothing_where_all_is_equal() {
        let all = answers(3, &[1; 40], |p, i, _| i % (p + 2) == 0);
        let r = Resamples::new(40, 400, 2);
        for e in resampled(&all, &r, 0.9).unwrap() {
            assert!(e.lo <= e.hi && e.hi - e.lo < 0.5, "{e:?}");
        }
        let single = answers(3, &[1], |p, _, _| p > 0);
        let [worst, best, _, std, _] = resampled(&single, &Resamples::new(1, 400, 2), 0.9).unwrap();
        assert_eq!((worst.mean, worst.lo, worst.hi), (0.0, 0.0, 1.0));
        assert_eq!((best.mean, best.lo, best.hi), (1.0, 0.0, 1.0));
        assert_eq!((std.lo, std.hi), STD);
        let sure = answers(2, &[1; 40], |_, _, _| true);
        let [worst, best, gap, std, mean] = resampled(&sure, &r, 0.9).unwrap();
        assert_eq!([worst, best, mean], [Estimate::exact(1.0); 3]);
        assert_eq!([gap, std], [Estimate::exact(0.0); 2]);
    }

    #[test]
    fn stability_wants_one_answer_under_every_mention() {
        // Instance 0 has one mention; 1 says the same under all; 2 changes under its third.
        let all = answers(1, &[1, 3, 3], |_, i, x| i == 1 || x < 2);
        assert_eq!(stability(&all, 0, MENTIONS), Stability { kept: 2, stable: 1 });
        assert_eq!(stability(&all, 0, 2), Stability { kept: 2, stable: 2 });
        assert_eq!(stability(&all, 0, 1), Stability::default());
    }

    #[test]
    fn an_order_is_unstable_where_it_changes() {
        assert!(!is_unstable(&[vec![1.0, 2.0]], Ties::EarlierLower));
        assert!(!is_unstable(&[vec![1.0, 2.0], vec![0.0, 0.5]], Ties::EarlierLower));
        assert!(is_unstable(&[vec![1.0, 2.0], vec![0.5, 0.0]], Ties::EarlierLower));
        // A tie is a separate order only if ties share a place.
        let tie = [vec![1.0, 2.0], vec![1.0, 1.0]];
        assert!(!is_unstable(&tie, Ties::EarlierLower) && is_unstable(&tie, Ties::MeanPlace));
    }

    proptest! {
        #[test]
        fn the_parts_of_a_preference_agree(scores in prop::collection::vec(0.0f64..1.0, 1..12)) {
            let p = Preference::of(&scores).unwrap();
            prop_assert!(p.worst <= p.mean + 1e-12 && p.mean <= p.best + 1e-12);
            prop_assert!((p.gap - (p.best - p.worst)).abs() < 1e-15 && p.std <= p.gap + 1e-12);
        }
    }
}
