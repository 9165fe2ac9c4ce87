//! The difference of two accuracies on the same items: interval and equivalence test.
//!
//! For one right or wrong answer per item, this is Tango's score interval (1998, "Equivalence test and confidence interval for the
//! difference in proportions for the paired-sample design"), which keeps its level with few or no discordant items. For other metrics, it
//! is Student's t on the differences of the items. Items of a cluster are summed first, because resampling whole clusters gives nearly the
//! same interval as t on these sums. For correlated right and wrong answers, see [`super::joint`].

use super::estimate::Estimate;
use super::folded::normal_at_most;
use super::replicates::exact_floor;
use super::special::{beta_cdf, normal_quantile, student_quantile};

/// Counts of items by the answers of two classifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct Table {
    pub both: u64,
    pub only_a: u64,
    pub only_b: u64,
    pub neither: u64,
}

impl Table {
    pub fn add(&mut self, a: bool, b: bool) {
        match (a, b) {
            (true, true) => self.both += 1,
            (true, false) => self.only_a += 1,
            (false, true) => self.only_b += 1,
            (false, false) => self.neither += 1,
        }
    }

    pub fn n(&self) -> u64 {
        self.both + self.only_a + self.only_b + self.neither
    }

    /// Accuracy of the first minus accuracy of the second.
    pub fn gap(&self) -> f64 {
        (self.only_a as f64 - self.only_b as f64) / self.n() as f64
    }
}

/// Tango's statistic for the hypothesis that the difference is `gap`; standard normal if the hypothesis is true.
pub(super) fn score(table: &Table, gap: f64) -> f64 {
    let (b, c, n) = (table.only_a as f64, table.only_b as f64, table.n() as f64);
    let away = b - c - n * gap;
    let variance = n * (2.0 * constrained(table, gap) + gap * (1.0 - gap));
    if away == 0.0 {
        0.0
    } else if variance <= 1e-15 * n {
        f64::INFINITY.copysign(away)
    } else {
        away / variance.sqrt()
    }
}

/// Maximum-likelihood share of items that only the second gets right if the difference is `gap`. The share for the first is larger by
/// `gap`.
pub fn constrained(table: &Table, gap: f64) -> f64 {
    let (b, c, n) = (table.only_a as f64, table.only_b as f64, table.n() as f64);
    let linear = -b - c + (2.0 * n - b + c) * gap;
    let constant = -c * gap * (1.0 - gap);
    ((linear * linear - 8.0 * n * constant).max(0.0).sqrt() - linear) / (4.0 * n)
}

/// The difference with Tango's interval; NaN without items.
pub fn difference(table: &Table, level: f64) -> Estimate {
    let mean = table.gap();
    if mean.is_nan() {
        return Estimate { mean, lo: mean, hi: mean };
    }
    let z = normal_quantile(0.5 + 0.5 * level);
    let (lo, hi) = ends(mean, |gap| score(table, gap) / z);
    Estimate { mean, lo, hi }
}

/// Finds the differences at which `score` is 1 and -1; `score` decreases and is 0 at the mean.
pub(super) fn ends(mean: f64, score: impl Fn(f64) -> f64) -> (f64, f64) {
    let end = |mut outside: f64, sign: f64| {
        let mut inside = mean;
        for _ in 0..60 {
            let middle = 0.5 * (outside + inside);
            if sign * score(middle) <= 1.0 { inside = middle } else { outside = middle }
        }
        0.5 * (outside + inside)
    };
    (end(-1.0, 1.0), end(1.0, -1.0))
}

/// p-value for equivalence within ±margin: the larger of two one-sided score tests.
pub fn equivalence(table: &Table, margin: f64) -> f64 {
    if table.n() == 0 {
        return 1.0;
    }
    let above = normal_at_most(-score(table, -margin));
    let below = normal_at_most(score(table, margin));
    above.max(below).min(1.0)
}

/// Differences of items, or their sums over clusters.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Differences {
    /// Sum of the differences in each independent unit (an item or a cluster).
    pub sums: Vec<f64>,
    /// Number of items in each unit.
    pub sizes: Vec<f64>,
}

impl Differences {
    pub fn of_items(values: Vec<f64>) -> Self {
        let sizes = vec![1.0; values.len()];
        Self { sums: values, sizes }
    }

    /// Mean over all items; NaN without items.
    pub fn mean(&self) -> f64 {
        self.sums.iter().sum::<f64>() / self.sizes.iter().sum::<f64>()
    }

    /// Standard error of the mean as a linearised ratio of sums over units; NaN with fewer than two units.
    pub(crate) fn standard_error(&self) -> f64 {
        let units = self.sums.len() as f64;
        if units < 2.0 {
            return f64::NAN;
        }
        let (mean, items) = (self.mean(), self.sizes.iter().sum::<f64>());
        let squares: f64 = self.sums.iter().zip(&self.sizes).map(|(sum, size)| (sum - mean * size).powi(2)).sum();
        (squares * units / (units - 1.0)).sqrt() / items
    }

    pub fn shift(&self) -> Shift {
        Shift { mean: self.mean(), error: self.standard_error(), units: self.sums.len() }
    }

    /// The mean with its Student's t interval.
    pub fn interval(&self, level: f64) -> Estimate {
        self.shift().interval(level)
    }

    /// p-value of the two-sided t test for the hypothesis of no difference: 1 if all differences are 0, NaN with fewer than two units.
    pub fn p(&self) -> f64 {
        self.shift().p()
    }

    /// p-value for equivalence within ±margin: the larger of two one-sided t tests.
    pub fn equivalence(&self, margin: f64) -> f64 {
        self.shift().equivalence(margin)
    }
}

/// Mean of one value per independent unit, with its Student's t interval, clamped to `limits`. The interval of a single unit is all of
/// `limits`. Equal values show no spread; their interval is the exact one for the same number of successes.
pub fn mean_within(values: &[f64], limits: (f64, f64), level: f64) -> Estimate {
    let (least, most) = limits;
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    if values.len() < 2 {
        return Estimate { mean, lo: least, hi: most };
    }
    let alike = values.iter().all(|v| *v == values[0]);
    if let Some(exact) = exact_floor(mean, values.len(), true, level).filter(|_| alike && limits == (0.0, 1.0)) {
        return exact;
    }
    let e = Differences::of_items(values.to_vec()).interval(level);
    Estimate { mean, lo: e.lo.max(least), hi: e.hi.min(most) }
}

/// A statistic with its jackknife interval, which uses Student's t, clamped to the limits `least` and `most`. `whole` is the statistic over
/// all units, and `others` contains its values with each unit left out in turn. If one of these is undefined, the interval extends from
/// limit to limit.
pub fn jackknife(whole: f64, others: &[Option<f64>], (least, most): (f64, f64), level: f64) -> Estimate {
    let n = others.len() as f64;
    let values: Option<Vec<f64>> = others.iter().map(|other| Some(n * whole - (n - 1.0) * (*other)?)).collect();
    let half = Differences::of_items(values.unwrap_or_default()).interval(level).half_width();
    // `max` and `min` return the limit if a single unit makes an end NaN.
    Estimate { mean: whole, lo: (whole - half).max(least), hi: (whole + half).min(most) }
}

/// A mean with its standard error over independent units.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Shift {
    /// The mean; NaN without items.
    #[serde(deserialize_with = "super::estimate::number_or_null")]
    pub mean: f64,
    /// Standard error of the mean; NaN with fewer than two units.
    #[serde(deserialize_with = "super::estimate::number_or_null")]
    pub error: f64,
    pub units: usize,
}

impl Shift {
    /// Difference between the means of two independent sets of units (Welch 1947); Satterthwaite's degrees of freedom are rounded down.
    pub fn apart(first: Self, second: Self) -> Self {
        let (a, b) = (first.error * first.error, second.error * second.error);
        let share = |square: f64, of: Self| square * square / (of.units as f64 - 1.0);
        let df = (a + b).powi(2) / (share(a, first) + share(b, second));
        // Without spread in either set, the degrees of freedom are undefined.
        let units = if df.is_finite() { df as usize + 1 } else { first.units.min(second.units) };
        Self { mean: first.mean - second.mean, error: (a + b).sqrt(), units }
    }

    /// The mean with its Student's t interval.
    pub fn interval(self, level: f64) -> Estimate {
        let half = student_quantile(0.5 + 0.5 * level, self.units as f64 - 1.0) * self.error;
        Estimate { mean: self.mean, lo: self.mean - half, hi: self.mean + half }
    }

    /// p-value of the two-sided t test for the hypothesis of no difference: 1 if all differences are 0, NaN with fewer than two units.
    pub fn p(self) -> f64 {
        2.0 * Self { mean: -self.mean.abs(), ..self }.tail(0.0)
    }

    /// p-value for equivalence within ±margin: the larger of two one-sided t tests.
    pub fn equivalence(self, margin: f64) -> f64 {
        Self { mean: -self.mean, ..self }.tail(margin).max(self.tail(margin))
    }

    /// The interval for units between `least` and `most`. If all units are equal, it uses the exact upper bound on the share of units with
    /// other values, given that none was observed.
    pub fn interval_within(self, level: f64, (least, most): (f64, f64)) -> Estimate {
        if self.error != 0.0 {
            return self.interval(level);
        }
        let unseen = 1.0 - (0.5 - 0.5 * level).powf(1.0 / self.units as f64);
        let (below, above) = (self.mean - least, most - self.mean);
        Estimate { mean: self.mean, lo: self.mean - unseen * below, hi: self.mean + unseen * above }
    }

    /// Like [`Self::p`], except that n units with equal values count as n tosses of a fair coin with the same outcome.
    pub fn p_of_signs(self) -> f64 {
        let alike = self.error == 0.0 && self.mean != 0.0;
        if alike { 2f64.powf(1.0 - self.units as f64) } else { self.p() }
    }

    /// Like [`Self::equivalence`], for units between -1 and 1. If all units are equal, it is the probability of such a sample when the true
    /// mean is at the margin.
    pub fn equivalence_within(self, margin: f64) -> f64 {
        if self.error != 0.0 {
            return self.equivalence(margin);
        }
        let side = |mean: f64| match mean < margin {
            true => (1.0 - ((margin - mean) / (1.0 - mean)).min(1.0)).powf(self.units as f64),
            false => 1.0,
        };
        side(self.mean).max(side(-self.mean))
    }

    /// P(T <= t) for the t statistic of the hypothesis that the mean is `value`; precise for small probabilities.
    pub(super) fn tail(self, value: f64) -> f64 {
        let (away, se, df) = (self.mean - value, self.error, self.units as f64 - 1.0);
        if se.is_nan() {
            return f64::NAN;
        }
        if se == 0.0 {
            return if away == 0.0 { 0.5 } else { f64::from(u8::from(away > 0.0)) };
        }
        let t = away / se;
        let upper = 0.5 * beta_cdf(df / (df + t * t), 0.5 * df, 0.5);
        if t > 0.0 { 1.0 - upper } else { upper }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn table(both: u64, only_a: u64, only_b: u64, neither: u64) -> Table {
        Table { both, only_a, only_b, neither }
    }

    /// Tango (1998), table II: soft contact lenses, 44 pairs, 43 concordant, 0 and 1 discordant.
    #[test]
    fn tango_example_from_the_paper() {
        let e = difference(&table(43, 0, 1, 0), 0.95);
        assert!((e.mean + 1.0 / 44.0).abs() < 1e-12);
        assert!((e.lo + 0.118_1).abs() < 2e-3 && (e.hi - 0.060_1).abs() < 6e-3, "{e:?}");
    }

    #[test]
    fn interval_without_discordant_items_has_width() {
        let e = difference(&table(90, 0, 0, 10), 0.95);
        assert!(e.mean == 0.0 && e.lo < -0.02 && e.hi > 0.02 && (e.lo + e.hi).abs() < 1e-9, "{e:?}");
        assert!(equivalence(&table(90, 0, 0, 10), 0.001) > 0.3);
        assert!(equivalence(&table(90_000, 0, 0, 10_000), 0.001) < 1e-6);
        assert_eq!(equivalence(&Table::default(), 0.1), 1.0);
        assert!(difference(&Table::default(), 0.95).lo.is_nan());
    }

    #[test]
    fn interval_for_identical_units_has_width() {
        let of = |mean, units| Shift { mean, error: 0.0, units };
        let e = of(0.0, 32).interval_within(0.95, (-1.0, 1.0));
        assert!(e.lo < -0.1 && e.hi > 0.1 && (e.lo + e.hi).abs() < 1e-12, "{e:?}");
        assert!(of(0.0, 32).equivalence_within(0.02) > 0.5 && of(0.0, 1_000).equivalence_within(0.02) < 1e-8);
        let e = of(1.0, 20).interval_within(0.95, (0.0, 1.0));
        // The lower end of Clopper and Pearson's interval for 20 successes in 20.
        assert!(e.hi == 1.0 && (e.lo - 0.831_6).abs() < 1e-4, "{e:?}");
        assert_eq!((of(1.0, 3).p_of_signs(), of(0.0, 3).p_of_signs()), (0.25, 1.0));
        assert_eq!((of(1.0, 3).equivalence_within(0.5), of(0.5, 9).equivalence_within(0.5)), (1.0, 1.0));
        let spread = Shift { mean: 0.1, error: 0.05, units: 40 };
        assert_eq!(spread.interval_within(0.9, (-1.0, 1.0)), spread.interval(0.9));
        assert_eq!((spread.p_of_signs(), spread.equivalence_within(0.2)), (spread.p(), spread.equivalence(0.2)));
    }

    /// Coverage by enumeration, in settings chosen beforehand: between 93.5 and 97 % in each.
    #[test]
    fn intervals_cover_at_their_level() {
        use crate::binomial::probability;
        for n in [100u64, 500, 2_000] {
            for (p01, p10) in [(0.02, 0.02), (0.10, 0.05), (0.30, 0.28)] {
                let (gap, share) = (p10 - p01, p01 / (1.0 - p10));
                let mut covered = 0.0;
                for b in 0..=n {
                    let outer = probability(b, n, p10);
                    let likely = (n - b) as f64 * share;
                    let reach = 8.0 * likely.sqrt() + 12.0;
                    let from = (likely - reach).max(0.0) as u64;
                    for c in from..=((likely + reach) as u64).min(n - b) {
                        if outer < 1e-12 {
                            break;
                        }
                        let t = table(0, b, c, n - b - c);
                        if score(&t, gap).abs() <= 1.959_963_984_540_054 {
                            covered += outer * probability(c, n - b, share);
                        }
                    }
                }
                println!("n {n}, p01 {p01}, p10 {p10}: covered {covered:.4}");
                assert!((0.935..=0.97).contains(&covered), "{n} {p01} {p10}: {covered}");
            }
        }
    }

    /// Coverage by simulation, for clusters of five items with an intraclass correlation of .09.
    #[test]
    fn cluster_intervals_cover_at_their_level() {
        use crate::rng::{stream, unit};
        let mut rng = stream(11, "clusters");
        for clusters in [30usize, 100] {
            let runs = 3_000;
            let held = (0..runs).filter(|_| {
                let mut d = Differences { sums: vec![0.0; clusters], sizes: vec![5.0; clusters] };
                for sum in &mut d.sums {
                    // A shared offset moves all items of a cluster; it has mean 0, so the true difference is .05.
                    let lean = 0.3 * (unit(&mut rng) - 0.5);
                    for _ in 0..5 {
                        let u = unit(&mut rng);
                        let (up, down) = (0.20 + lean, 0.15 - lean);
                        *sum += if u < up {
                            1.0
                        } else if u > 1.0 - down {
                            -1.0
                        } else {
                            0.0
                        };
                    }
                }
                let e = d.interval(0.95);
                e.lo <= 0.05 && 0.05 <= e.hi
            });
            let share = held.count() as f64 / f64::from(runs);
            // The band around the level is three standard errors of a proportion in 3,000 trials.
            assert!((0.923..=0.982).contains(&share), "{clusters}: {share}");
        }
    }

    #[test]
    fn one_unit_is_undefined_and_equal_units_have_no_variance() {
        let one = Differences::of_items(vec![1.0]);
        assert!(one.standard_error().is_nan() && one.p().is_nan());
        let same = Differences::of_items(vec![0.0; 5]);
        assert_eq!((same.p(), same.interval(0.95).hi), (1.0, 0.0));
    }

    /// `scipy.stats.ttest_ind(x, y, equal_var=False)` (SciPy 1.17): t, and df 10.81 rounded down to 10 for p.
    #[test]
    fn two_sets_are_compared_with_welchs_test() {
        let x = Differences::of_items(vec![1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0]);
        let y = Differences::of_items(vec![1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
        let s = Shift::apart(x.shift(), y.shift());
        assert!((s.mean + 0.4).abs() < 1e-12 && s.units == 11, "{s:?}");
        assert!((s.mean / s.error + 1.870_828_693_386_970_7).abs() < 1e-9, "{}", s.mean / s.error);
        assert!((s.p() - 0.090_884_096_834_321_3).abs() < 1e-9, "{}", s.p());
        let alike = Shift::apart(Differences::of_items(vec![1.0; 9]).shift(), x.shift());
        assert!(alike.error > 0.0 && alike.units == 8);
        let both = Differences::of_items(vec![1.0; 9]).shift();
        assert_eq!(Shift::apart(both, both), Shift { mean: 0.0, error: 0.0, units: 9 });
    }

    #[test]
    fn t_test_matches_the_closed_form() {
        // With two values, t has one degree of freedom and is Cauchy.
        let d = Differences::of_items(vec![1.0, 3.0]);
        let t: f64 = 2.0 / 1.0;
        let p = 1.0 - 2.0 * t.atan() / std::f64::consts::PI;
        assert!((d.p() - p).abs() < 1e-10, "{}", d.p());
    }

    /// Regression: 1 - P(T <= t) used to round to 0 where the evidence was strongest.
    #[test]
    fn small_p_values_do_not_underflow() {
        let strong = |sign: f64| Differences::of_items((0..200).map(|i| sign * (1.0 + f64::from(i % 2))).collect());
        let p = strong(1.0).p();
        assert!(0.0 < p && p < 1e-60, "{p}");
        assert_eq!(p, strong(-1.0).p());
        assert!(strong(1.0).equivalence(2.0) > 0.0);
    }

    proptest! {
        #[test]
        fn intervals_contain_the_estimate_and_agree_with_tests(
            both in 0u64..200, b in 0u64..60, c in 0u64..60, neither in 0u64..200,
        ) {
            let t = table(both, b, c, neither + 1);
            let e = difference(&t, 0.95);
            prop_assert!(e.lo <= e.mean + 1e-12 && e.mean <= e.hi + 1e-12 && e.lo >= -1.0 && e.hi <= 1.0);
            // The 90 % interval is within ±margin if and only if equivalence is significant at the 5 % level.
            let inner = difference(&t, 0.9);
            for margin in [0.02, 0.05, 0.2] {
                let p = equivalence(&t, margin);
                let inside = inner.lo > -margin && inner.hi < margin;
                prop_assert!(inside == (p < 0.05) || (p - 0.05).abs() < 1e-6, "{:?} {} {}", inner, margin, p);
            }
            let turned = difference(&table(both, c, b, neither + 1), 0.95);
            prop_assert!((turned.lo + e.hi).abs() < 1e-9 && (turned.hi + e.lo).abs() < 1e-9);
        }

        #[test]
        fn single_item_clusters_equal_items(values in proptest::collection::vec(-1.0f64..1.0, 2..40)) {
            let d = Differences::of_items(values.clone());
            let n = values.len() as f64;
            let mean = values.iter().sum::<f64>() / n;
            let var = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
            prop_assert!((d.standard_error() - (var / n).sqrt()).abs() < 1e-12);
        }
    }
}
