//! The difference of two accuracies with correlated answers: clustered items, or several seeds per item.
//!
//! The interval is Tango's score interval with two changes. Quantiles are from Student's t, with one degree of freedom fewer than there are
//! units. The variance is multiplied by a design effect, which is its ratio to the variance for independent items. A plain t interval is
//! symmetric and too short with few discordant units, because the spread grows with the mean.
//!
//! A handful of differing units cannot estimate the design effect, so a pseudo-unit pulls it towards its maximum: `(max(D, 1) d + m) / (d +
//! 1)`. Here d is the number of differing units, D their design effect, and m the design effect if all items of a unit are alike.

use super::estimate::Estimate;
use super::paired::{Differences, Shift, Table, ends, score};
use super::special::student_quantile;

/// Properties of the units besides the mean and its standard error.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Units {
    /// The number of units with a nonzero difference.
    pub differing: usize,
    /// The largest possible design effect: all items of each unit are alike.
    pub most: f64,
}

impl Units {
    /// Summarises differences by unit, with `seeds` runs of each item.
    pub fn of(units: &Differences, seeds: usize) -> Self {
        let squares: f64 = units.sizes.iter().map(|size| size * size).sum();
        let items: f64 = units.sizes.iter().sum();
        // Means over seeds may sum to a rounding error instead of 0.
        let differing = units.sums.iter().filter(|sum| sum.abs() > 1e-9).count();
        Self { differing, most: seeds as f64 * squares / items }
    }

    /// The smallest attainable p-value: the probability under the null that all differing units favour the same side.
    pub(crate) fn least_p(self) -> f64 {
        2f64.powf(1.0 - self.differing as f64).min(1.0)
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Joint {
    /// Counts over all items and seeds.
    pub table: Table,
    /// The mean difference over the units.
    pub shift: Shift,
    pub units: Units,
}

impl Joint {
    /// True if all units have the same difference. They show no spread, and the interval is the exact bound of [`Shift::interval_within`].
    pub fn is_bound(&self) -> bool {
        self.shift.error == 0.0
    }

    /// The design effect used in the interval.
    pub fn design(&self) -> f64 {
        let (t, gap) = (&self.table, self.table.gap());
        let plain = ((t.only_a + t.only_b) as f64 / t.n() as f64 - gap * gap) / t.n() as f64;
        let seen = self.shift.error * self.shift.error / plain;
        let differing = self.units.differing as f64;
        (seen.max(1.0) * differing + self.units.most) / (differing + 1.0)
    }

    /// The difference with its interval. NaN with fewer than two units; [`Shift::interval_within`] if all units are
    /// alike.
    pub fn interval(&self, level: f64) -> Estimate {
        if self.is_bound() || self.shift.error.is_nan() {
            return self.shift.interval_within(level, (-1.0, 1.0));
        }
        let quantile = student_quantile(0.5 + 0.5 * level, self.shift.units as f64 - 1.0);
        let widened = quantile * self.design().sqrt();
        let (lo, hi) = ends(self.shift.mean, |gap| score(&self.table, gap) / widened);
        Estimate { mean: self.shift.mean, lo, hi }
    }

    /// p-value for the hypothesis of no difference: Student's t over the units, but at least the probability that all differing units
    /// favour one side by chance.
    pub fn p(&self) -> f64 {
        let (p, least) = (self.shift.p_of_signs(), self.units.least_p());
        if p < least { least } else { p }
    }

    /// p-value for equivalence within ±margin: the larger of two one-sided tests based on the same score as the interval.
    pub fn equivalence(&self, margin: f64) -> f64 {
        if self.is_bound() || self.shift.error.is_nan() {
            return self.shift.equivalence_within(margin);
        }
        let root = self.design().sqrt();
        let at_most = |score: f64| Shift { mean: score / root, error: 1.0, ..self.shift }.tail(0.0);
        at_most(-score(&self.table, -margin)).max(at_most(score(&self.table, margin)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{stream, unit};
    use proptest::prelude::*;

    /// Units of `size` items. `sums` gives the lead of the first side in each unit; all discordant items favour the same side.
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

    /// Reference: Python with SciPy (`stats.t.ppf`, `optimize.brentq` on Tango's score over the root of the design effect).
    #[test]
    fn interval_matches_the_formula() {
        let mut sums = vec![0; 30];
        sums[..9].copy_from_slice(&[3, 3, 2, 1, 1, 1, 1, -1, -2]);
        let j = joint(&sums, 5);
        let e = j.interval(0.95);
        assert!((e.mean - 0.06).abs() < 1e-12, "{e:?}");
        assert!((e.lo - LO).abs() < 1e-6 && (e.hi - HI).abs() < 1e-6, "{e:?}");
        assert!((j.equivalence(0.1) - EQUAL).abs() < 1e-6, "{}", j.equivalence(0.1));
        let mut few = vec![0; 30];
        few[..4].copy_from_slice(&[3, 3, 1, 1]);
        let j = joint(&few, 5);
        let e = j.interval(0.95);
        assert!(!j.is_bound() && (e.lo - FEW.0).abs() < 1e-6 && (e.hi - FEW.1).abs() < 1e-6, "{e:?}");
        assert_eq!(j.p(), 0.125);
    }

    const LO: f64 = -0.027_051_212;
    const HI: f64 = 0.161_204_160;
    const EQUAL: f64 = 0.179_746_855;
    const FEW: (f64, f64) = (-0.026_792_770, 0.157_986_991);

    /// Regression: the interval's width used to fall from .286 to .134 when the sixth of thirty clusters (five items each) differed.
    #[test]
    fn sixth_differing_cluster_does_not_halve_the_interval() {
        let width = |differing: usize| {
            let mut sums = vec![0; 30];
            sums[..differing].fill(1);
            2.0 * joint(&sums, 5).interval(0.95).half_width()
        };
        for differing in 1..12 {
            let ratio = width(differing + 1) / width(differing);
            assert!((0.8..1.25).contains(&ratio), "{differing}: {ratio}");
        }
    }

    /// Regression: with four of thirty equal clusters differing, all on one side, Student's t gave p = .044; chance alone gives .125.
    #[test]
    fn p_value_is_at_least_the_exact_one() {
        let mut sums = vec![0; 30];
        sums[..4].fill(3);
        let j = joint(&sums, 5);
        assert!(j.shift.p() < 0.05 && j.p() == 0.125, "{} {}", j.shift.p(), j.p());
        assert!(j.interval(0.95).lo < 0.0);
        sums[..12].fill(3);
        let j = joint(&sums, 5);
        assert!((j.p() - 2f64.powi(-11)).abs() < 1e-12 || j.p() == j.shift.p());
    }

    /// Each item has its cluster's common draw with probability .632, and otherwise a separate one. Student's t covered 91.7 % with p01 =
    /// .02, p10 = .06 and thirty clusters of five items. The observed design effect, used from six differing clusters on, covered 76.6 %
    /// with 0, .04 and thirty clusters of twenty.
    #[test]
    fn unequal_rates_are_covered_at_the_level() {
        for (p01, p10, size) in [(0.02, 0.06, 5), (0.0, 0.04, 5), (0.0, 0.04, 20), (0.10, 0.05, 5)] {
            let mut rng = stream(5, &format!("joint {p01} {size}"));
            let of = |u: f64| i32::from(u < p10) - i32::from((p10..p10 + p01).contains(&u));
            let (runs, mut held) = (2_000, 0);
            for _ in 0..runs {
                let mut table = Table::default();
                let mut sums = vec![0.0; 30];
                for sum in &mut sums {
                    let common = of(unit(&mut rng));
                    for _ in 0..size {
                        let own = if unit(&mut rng) < 0.632 { common } else { of(unit(&mut rng)) };
                        table.add(own >= 0, own <= 0);
                        *sum += f64::from(own);
                    }
                }
                let units = Differences { sizes: vec![f64::from(size); 30], sums };
                let j = Joint { table, shift: units.shift(), units: Units::of(&units, 1) };
                let e = j.interval(0.95);
                held += usize::from(e.lo <= p10 - p01 && p10 - p01 <= e.hi);
            }
            let held = held as f64 / f64::from(runs);
            // The nominal level minus two standard errors of a proportion in 2,000 trials.
            assert!(held >= 0.94, "{p01}/{p10}, clusters of {size}: {held}");
        }
    }

    #[test]
    fn one_unit_has_no_interval() {
        let one = joint(&[2], 5);
        assert!(one.interval(0.95).lo.is_nan() && one.equivalence(0.1).is_nan());
    }

    proptest! {
        /// The interval contains the estimate, changes sign when the sides are swapped, widens with the level and agrees with the
        /// equivalence test.
        #[test]
        fn intervals_are_antisymmetric(sums in proptest::collection::vec(-5i32..=5, 8..60)) {
            let turned: Vec<i32> = sums.iter().map(|s| -s).collect();
            let (j, t) = (joint(&sums, 5), joint(&turned, 5));
            let (e, f) = (j.interval(0.95), t.interval(0.95));
            prop_assert!(-1.0 <= e.lo && e.lo <= e.mean && e.mean <= e.hi && e.hi <= 1.0, "{e:?}");
            prop_assert!((e.lo + f.hi).abs() < 1e-9 && (e.hi + f.lo).abs() < 1e-9);
            prop_assert!((j.p() - t.p()).abs() < 1e-12 && j.p() >= j.shift.p());
            let wider = j.interval(0.99);
            prop_assert!(wider.lo <= e.lo + 1e-9 && e.hi <= wider.hi + 1e-9);
            let inner = j.interval(0.9);
            let (p, inside) = (j.equivalence(0.2), inner.lo > -0.2 && inner.hi < 0.2);
            prop_assert!(inside == (p < 0.05) || (p - 0.05).abs() < 1e-6, "{inner:?} {p}");
        }

        /// With one item per unit this is Tango's interval, except for Student's quantile and a variance with the divisor n - 1.
        #[test]
        fn single_item_units_equal_items(sums in proptest::collection::vec(-1i32..=1, 20..60)) {
            let j = joint(&sums, 1);
            prop_assume!(!j.is_bound());
            let n = sums.len() as f64;
            let plain = super::super::paired::difference(&j.table, 0.95);
            let q = student_quantile(0.975, n - 1.0) * (n / (n - 1.0)).sqrt() / 1.959_963_984_540_054;
            let e = j.interval(0.95);
            prop_assert!(e.half_width() >= plain.half_width() - 1e-9 && e.half_width() <= plain.half_width() * q * 1.02);
        }
    }
}
