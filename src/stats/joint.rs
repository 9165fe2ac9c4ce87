//! The difference of two accuracies where right and wrong belong together: items of a cluster, or the seeds of an item.
//!
//! Tango's score with the design effect (how many times larger the variance of the difference is than that of items which stand for
//! themselves), read by Student's t with a degree of freedom less than there are units. The spread of few discordant units grows with
//! their mean, which the interval of Student's t alone, symmetric about the estimate, does not know: its far end is too near. The design
//! effect itself cannot be told from a handful of units that differ. Where they are so few that not even all of them on one side would be
//! significant, it is taken as its most, that of units whose items are wholly alike, and the interval is a bound.

use super::estimate::Estimate;
use super::paired::{Differences, Shift, Table, ends, score};
use super::special::student_quantile;

/// What is known of the units beside their mean and its error.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Units {
    /// Units whose difference is not 0.
    pub differing: usize,
    /// The largest design effect there can be: that of units whose items are wholly alike.
    pub most: f64,
}

impl Units {
    /// Of differences by unit whose items ran `seeds` times.
    pub fn of(units: &Differences, seeds: usize) -> Self {
        let squares: f64 = units.sizes.iter().map(|size| size * size).sum();
        let items: f64 = units.sizes.iter().sum();
        // Means over seeds may sum to a rounding error in place of 0.
        let differing = units.sums.iter().filter(|sum| sum.abs() > 1e-9).count();
        Self { differing, most: seeds as f64 * squares / items }
    }

    /// The smallest p-value that so many units could give: that all of them lie on one side by chance.
    pub(crate) fn least_p(self) -> f64 {
        2f64.powf(1.0 - self.differing as f64).min(1.0)
    }

    /// Whether they are fewer than a test at `1 - level` could ever tell from chance.
    pub(crate) fn are_few(self, level: f64) -> bool {
        self.least_p() > 1.0 - level
    }
}

/// Right and wrong that belong together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Joint {
    /// All items, of all seeds.
    pub table: Table,
    /// The mean difference over the units.
    pub shift: Shift,
    /// How many units differ, and how.
    pub units: Units,
}

impl Joint {
    /// Whether the interval at this level is a bound: too few units differ to know what their items have in common.
    pub fn is_bound(&self, level: f64) -> bool {
        self.units.are_few(level)
    }

    /// The design effect by which the interval at this level is made.
    fn design(&self, level: f64) -> f64 {
        let (t, gap) = (&self.table, self.table.gap());
        let plain = ((t.only_a + t.only_b) as f64 / t.n() as f64 - gap * gap) / t.n() as f64;
        let seen = self.shift.error * self.shift.error / plain;
        // `max` would take the other number where the error is none.
        if self.is_bound(level) && seen < self.units.most { self.units.most } else { seen }
    }

    /// The difference with its interval. NaN with fewer than two units; units that are all alike have [`Shift::interval_within`].
    pub fn interval(&self, level: f64) -> Estimate {
        if self.shift.error == 0.0 || self.shift.error.is_nan() {
            return self.shift.interval_within(level, (-1.0, 1.0));
        }
        let quantile = student_quantile(0.5 + 0.5 * level, self.shift.units as f64 - 1.0);
        let widened = quantile * self.design(level).sqrt();
        let (lo, hi) = ends(self.shift.mean, |gap| score(&self.table, gap) / widened);
        Estimate { mean: self.shift.mean, lo, hi }
    }

    /// p-value of no difference: Student's t over the units, which keeps its level where there is none, and never less than that all
    /// units that differ lie on one side by chance.
    pub fn p(&self) -> f64 {
        let (p, least) = (self.shift.p_of_signs(), self.units.least_p());
        if p < least { least } else { p }
    }

    /// p-value of equivalence within ±margin: the larger of two one-sided tests by the score that the interval at this level is made by.
    pub fn equivalence(&self, margin: f64, level: f64) -> f64 {
        if self.shift.error == 0.0 || self.shift.error.is_nan() {
            return self.shift.equivalence_within(margin);
        }
        let root = self.design(level).sqrt();
        let at_most = |score: f64| Shift { mean: score / root, error: 1.0, ..self.shift }.tail(0.0);
        at_most(-score(&self.table, -margin)).max(at_most(score(&self.table, margin)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{stream, unit};
    use proptest::prelude::*;

    /// Units of five items by how many more the first gets right, each one-sided.
    fn joint(sums: &[i32], size: usize) -> Joint {
        let mut table = Table::default();
        for sum in sums {
            let away = u64::from(sum.unsigned_abs());
            let (a, b) = if *sum > 0 { (away, 0) } else { (0, away) };
            table.only_a += a;
            table.only_b += b;
            table.both += size as u64 - away;
        }
        let sums: Vec<f64> = sums.iter().map(|s| f64::from(*s)).collect();
        let units = Differences { sizes: vec![size as f64; sums.len()], sums };
        Joint { table, shift: units.shift(), units: Units::of(&units, 1) }
    }

    /// Made in Python with SciPy (`stats.t.ppf`, `optimize.brentq` on Tango's score over the root of the design effect).
    #[test]
    fn the_interval_is_that_of_the_formula() {
        let mut sums = vec![0; 30];
        sums[..9].copy_from_slice(&[3, 3, 2, 1, 1, 1, 1, -1, -2]);
        let j = joint(&sums, 5);
        assert!(!j.is_bound(0.95));
        let e = j.interval(0.95);
        assert!((e.mean - 0.06).abs() < 1e-12, "{e:?}");
        assert!((e.lo - LO).abs() < 1e-6 && (e.hi - HI).abs() < 1e-6, "{e:?}");
        assert!((j.equivalence(0.1, 0.95) - EQUAL).abs() < 1e-6, "{}", j.equivalence(0.1, 0.95));
        // Of four clusters nothing can be told: their items count as wholly alike.
        let mut few = vec![0; 30];
        few[..4].copy_from_slice(&[3, 3, 1, 1]);
        let j = joint(&few, 5);
        let e = j.interval(0.95);
        assert!(j.is_bound(0.95) && (e.lo - FEW.0).abs() < 1e-6 && (e.hi - FEW.1).abs() < 1e-6, "{e:?}");
        assert_eq!(j.p(), 0.125);
    }

    const LO: f64 = -0.019_487_152;
    const HI: f64 = 0.152_972_198;
    const EQUAL: f64 = 0.163_466_732;
    const FEW: (f64, f64) = (-0.075_562_911, 0.203_730_434);

    /// Six units on one side are significant at 5 %, five are not; at 1 % it takes eight.
    #[test]
    fn few_are_those_that_no_test_could_tell_from_chance() {
        let units = |differing| Units { differing, most: 5.0 };
        assert!(units(5).are_few(0.95) && !units(6).are_few(0.95));
        assert!(units(7).are_few(0.99) && !units(8).are_few(0.99));
        assert_eq!((units(0).least_p(), units(6).least_p()), (1.0, 0.031_25));
    }

    /// Four clusters of equal size on one side of thirty had a p-value of .044 by Student's t, where chance has .125.
    #[test]
    fn no_p_value_is_smaller_than_chance_has_it() {
        let mut sums = vec![0; 30];
        sums[..4].fill(3);
        let j = joint(&sums, 5);
        assert!(j.shift.p() < 0.05 && j.p() == 0.125, "{} {}", j.shift.p(), j.p());
        assert!(j.interval(0.95).lo < 0.0);
        sums[..12].fill(3);
        let j = joint(&sums, 5);
        assert!((j.p() - 2f64.powi(-11)).abs() < 1e-12 || j.p() == j.shift.p());
    }

    /// Clusters of five whose items share their draw with probability .632, at .02/.06: Student's t covered 91.7 % with thirty clusters,
    /// 83 % at 0/.04, where a bound must cover at least as often as it says.
    #[test]
    fn uneven_rates_are_covered_as_often_as_it_says() {
        for (p01, p10, least, most) in
            [(0.02, 0.06, 0.95, 1.0), (0.0, 0.04, 0.95, 1.0), (0.10, 0.05, 0.935, 0.975)]
        {
            let mut rng = stream(5, &format!("joint {p01}"));
            let of = |u: f64| i32::from(u < p10) - i32::from((p10..p10 + p01).contains(&u));
            let (runs, mut held, mut by_t) = (2_000, 0, 0);
            for _ in 0..runs {
                let mut table = Table::default();
                let mut sums = vec![0.0; 30];
                for sum in &mut sums {
                    let common = of(unit(&mut rng));
                    for _ in 0..5 {
                        let own = if unit(&mut rng) < 0.632 { common } else { of(unit(&mut rng)) };
                        table.add(own >= 0, own <= 0);
                        *sum += f64::from(own);
                    }
                }
                let units = Differences { sizes: vec![5.0; 30], sums };
                let j = Joint { table, shift: units.shift(), units: Units::of(&units, 1) };
                let holds = |e: Estimate| usize::from(e.lo <= p10 - p01 && p10 - p01 <= e.hi);
                held += holds(j.interval(0.95));
                by_t += holds(units.shift().interval_within(0.95, (-1.0, 1.0)));
            }
            let (held, by_t) = (held as f64 / f64::from(runs), by_t as f64 / f64::from(runs));
            println!("{p01}/{p10}: {held} (t {by_t})");
            assert!((least..=most).contains(&held), "{p01}/{p10}: {held}, by t {by_t}");
        }
    }

    #[test]
    fn one_unit_has_no_interval() {
        let one = joint(&[2], 5);
        assert!(one.interval(0.95).lo.is_nan() && one.equivalence(0.1, 0.95).is_nan());
    }

    proptest! {
        /// The interval holds the estimate, turns with the sides, and grows with the level; equivalence is its other face.
        #[test]
        fn intervals_turn_with_the_sides(sums in proptest::collection::vec(-5i32..=5, 8..60)) {
            let turned: Vec<i32> = sums.iter().map(|s| -s).collect();
            let (j, t) = (joint(&sums, 5), joint(&turned, 5));
            let (e, f) = (j.interval(0.95), t.interval(0.95));
            prop_assert!(-1.0 <= e.lo && e.lo <= e.mean && e.mean <= e.hi && e.hi <= 1.0, "{e:?}");
            prop_assert!((e.lo + f.hi).abs() < 1e-9 && (e.hi + f.lo).abs() < 1e-9);
            prop_assert!((j.p() - t.p()).abs() < 1e-12 && j.p() >= j.shift.p());
            let wider = j.interval(0.99);
            prop_assert!(wider.lo <= e.lo + 1e-9 && e.hi <= wider.hi + 1e-9);
            if !j.is_bound(0.9) {
                let inner = j.interval(0.9);
                let (p, inside) = (j.equivalence(0.2, 0.9), inner.lo > -0.2 && inner.hi < 0.2);
                prop_assert!(inside == (p < 0.05) || (p - 0.05).abs() < 1e-6, "{inner:?} {p}");
            }
        }

        /// Units of one item each are Tango's interval with Student's quantile and the n - 1 of a variance.
        #[test]
        fn units_of_one_are_items(sums in proptest::collection::vec(-1i32..=1, 20..60)) {
            let j = joint(&sums, 1);
            prop_assume!(!j.is_bound(0.95));
            let n = sums.len() as f64;
            let plain = super::super::paired::difference(&j.table, 0.95);
            let q = student_quantile(0.975, n - 1.0) * (n / (n - 1.0)).sqrt() / 1.959_963_984_540_054;
            let e = j.interval(0.95);
            prop_assert!(e.half_width() >= plain.half_width() - 1e-9 && e.half_width() <= plain.half_width() * q * 1.02);
        }
    }
}
