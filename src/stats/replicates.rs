//! Two bands around a statistic measured with K trained replicates on the same examples.
//!
//! The **narrow** band holds the replicates fixed and covers other examples: percentiles of the mean over replicates,
//! with the same resample for all of them. The **wide** band covers other examples *and* other training runs. With
//! theta_k the statistic of replicate k, theta_k^b its value in resample b, and bars for means over k:
//!
//! - `s_w² = Var_b(mean_k theta_k^b)`, sampling variance of the mean;
//! - `s_i² = sum_k Var_b(theta_k^b - mean^b) / (K-1)`, the part of the spread between replicates due to sampling;
//! - `s_b² = max(0, Var_k(theta_k) - s_i²)`, the variance due to training.
//!
//! The total is `s_w² + s_b²/K` (s_w² includes s_i²/K). With few replicates, the estimate of s_b² is poor, so the quantile is that of
//! Student's t with `df = (s_w² + s_b²/K)² / ((s_b²/K)²/(K-1))`, at least K - 1 (Welch-Satterthwaite). If s_b² = 0, the quantile is that of
//! the normal distribution. One replicate has no wide band.

use super::bootstrap::interval;
use super::estimate::Estimate;
use super::intervals::clopper_pearson_of;
use super::special::{beta_cdf, normal_quantile, student_quantile};
use super::student;
use serde::{Deserialize, Serialize};

/// Distribution behind the wide band's quantile.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// The replicates show no variance from training.
    Normal,
    /// Few replicates estimate the variance between them.
    Student {
        /// Degrees of freedom.
        df: f64,
    },
}

/// Components of a variance, as in the module's documentation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Parts {
    /// `s_w²`: sampling variance of the mean over replicates.
    pub sampling: f64,
    /// `s_i²`: sampling variance of one replicate's deviation from that mean.
    pub(crate) interaction: f64,
    /// `s_b²`: variance of one replicate due to training.
    pub training: f64,
    /// `Var_k(theta_k)`: observed variance between replicates, which includes `s_i²`.
    pub between: f64,
}

impl Parts {
    /// Computes the components from the replicates' values, overall and in each resample; `None` with one replicate or fewer than two
    /// resamples.
    fn of(theta: &[f64], rows: &[&[f64]]) -> Option<Self> {
        let k = theta.len();
        if k < 2 || rows.len() < 2 {
            return None;
        }
        let means: Vec<f64> = rows.iter().map(|row| average(row)).collect();
        let sampling = variance(&means);
        let about = |i: usize| variance(&rows.iter().zip(&means).map(|(r, m)| r[i] - m).collect::<Vec<_>>());
        let interaction = (0..k).map(about).sum::<f64>() / (k - 1) as f64;
        let between = variance(theta);
        let training = (between - interaction).max(0.0);
        Some(Self { sampling, interaction, training, between })
    }
}

/// Mean difference of two methods over the same training runs, tested with Student's t. Covers both other examples and other training runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Contrast {
    pub mean: f64,
    /// Standard error over examples and training runs.
    pub error: f64,
    /// Degrees of freedom, at least those of the training runs.
    pub df: f64,
    pub replicates: usize,
}

impl Contrast {
    /// Computes the contrast from the difference in each training run, on all examples and in each resample; `None` with one training run.
    ///
    /// The degrees of freedom are Satterthwaite's, by the observed variance between training runs. With two training runs, or if training
    /// runs contribute more than half of the variance, only the degrees of freedom of the training runs are used. With this rule and five
    /// training runs, a true null is rejected with probability at most .049 at level .05 and .013 at level .01. Satterthwaite's degrees of
    /// freedom alone give up to .072 and .029.
    pub fn new(theta: &[f64], rows: &[&[f64]]) -> Option<Self> {
        let (k, least) = (theta.len() as f64, theta.len() as f64 - 1.0);
        let parts = Parts::of(theta, rows)?;
        let (total, between) = (parts.sampling + parts.training / k, parts.between / k);
        let of_trainings = theta.len() == 2 || between > 0.5 * total;
        let df = if of_trainings { least } else { (least * (total / between).powi(2)).clamp(least, MANY) };
        Some(Self { mean: average(theta), error: total.sqrt(), df, replicates: theta.len() })
    }

    pub fn interval(&self, level: f64) -> Estimate {
        let half = student_quantile(0.5 + 0.5 * level, self.df) * self.error;
        Estimate { mean: self.mean, lo: self.mean - half, hi: self.mean + half }
    }

    /// The smallest difference that the test detects at `alpha` with this power; `None` if there is no variation.
    pub fn detectable(&self, alpha: f64, power: f64) -> Option<f64> {
        let theta = student::detectable(self.df, alpha, power).filter(|_| self.error > ROUNDING)?;
        Some(theta * self.error)
    }

    /// Two-sided p-value for the hypothesis of no difference. If there is no variation, the probability that all training runs favour one
    /// side by chance.
    pub fn p(&self) -> f64 {
        if self.error > ROUNDING {
            let t = self.mean / self.error;
            beta_cdf(self.df / (self.df + t * t), 0.5 * self.df, 0.5)
        } else if self.mean.abs() <= ROUNDING {
            1.0
        } else {
            2f64.powf(1.0 - self.replicates as f64)
        }
    }
}

/// Size below which differences of proportions are rounding errors.
const ROUNDING: f64 = 1e-12;
/// Degrees of freedom above which a variance counts as known.
const MANY: f64 = 1e6;

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bands {
    /// Sampling only: mean over replicates, with percentiles.
    pub narrow: Estimate,
    /// Sampling and training; `None` with one replicate.
    pub wide: Option<Estimate>,
    pub form: Option<Form>,
    /// Smallest and largest value of a single replicate: the range that single runs would have reported.
    pub range: [f64; 2],
    pub replicates: usize,
    /// Components of the variance; `None` with one replicate.
    pub parts: Option<Parts>,
}

impl Bands {
    /// Both bands of a statistic in [0, 1]. `theta` contains its K values by replicate, `draws` the K values of each resample in turn.
    /// Resamples with a NaN are dropped: their examples do not define the statistic. `None` without replicates or with a NaN in `theta`.
    ///
    /// # Panics
    /// If the length of `draws` is not a multiple of K.
    pub fn new(theta: &[f64], draws: &[f64], level: f64) -> Option<Self> {
        let k = theta.len();
        if k == 0 || theta.iter().any(|t| t.is_nan()) {
            return None;
        }
        assert!(draws.len().is_multiple_of(k), "draws do not fit the number of replicates");
        let mean = average(theta);
        let sound: Vec<&[f64]> = draws.chunks_exact(k).filter(|row| row.iter().all(|v| !v.is_nan())).collect();
        let narrow = interval(mean, sound.iter().map(|row| average(row)).collect(), level);
        let range = theta.iter().fold([mean; 2], |[lo, hi], t| [lo.min(*t), hi.max(*t)]);
        let mut bands = Self { narrow, wide: None, form: None, range, replicates: k, parts: None };
        if let Some(parts) = Parts::of(theta, &sound) {
            let (form, wide) = wide(mean, parts.sampling, parts.training / k as f64, k, level);
            bands.parts = Some(parts);
            bands.form = Some(form);
            bands.wide = Some(wide);
        }
        Some(bands)
    }

    /// Extends both bands at least to the ends of `exact`.
    pub fn floored(mut self, exact: Option<Estimate>) -> Self {
        if let Some(exact) = exact {
            for band in std::iter::once(&mut self.narrow).chain(&mut self.wide) {
                band.lo = band.lo.min(exact.lo);
                band.hi = band.hi.max(exact.hi);
            }
        }
        self
    }

    /// Replaces the range with that of other single-replicate values.
    pub fn with_range(self, values: impl Iterator<Item = f64>) -> Self {
        let range = values.fold([f64::INFINITY, f64::NEG_INFINITY], |[lo, hi], t| [lo.min(t), hi.max(t)]);
        Self { range, ..self }
    }

    /// The band to show: wide, or narrow if there is only one replicate.
    pub fn shown(&self) -> Estimate {
        self.wide.unwrap_or(self.narrow)
    }
}

/// Distance from 0 or 1 within which the wide band is computed on the logit scale; elsewhere it is symmetric.
const EDGE: f64 = 0.1;

fn wide(mean: f64, sampling: f64, training: f64, k: usize, level: f64) -> (Form, Estimate) {
    let total = sampling + training;
    let tail = 0.5 + 0.5 * level;
    let (form, quantile) = if training > 0.0 {
        let least = (k - 1) as f64;
        let df = (total * total * least / (training * training)).max(least);
        (Form::Student { df }, student_quantile(tail, df))
    } else {
        (Form::Normal, normal_quantile(tail))
    };
    let half = quantile * total.sqrt();
    let inside = mean > 0.0 && mean < 1.0;
    let (lo, hi) = if inside && !(EDGE..=1.0 - EDGE).contains(&mean) {
        // Delta method: the logit has slope 1 / (p (1 - p)) at the mean.
        let (centre, half) = ((mean / (1.0 - mean)).ln(), half / (mean * (1.0 - mean)));
        let back = |z: f64| 1.0 / (1.0 + (-z).exp());
        (back(centre - half), back(centre + half))
    } else {
        (mean - half, mean + half)
    };
    (form, Estimate { mean, lo: lo.clamp(0.0, 1.0), hi: hi.clamp(0.0, 1.0) })
}

fn average(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Sample variance, with n - 1 in the denominator.
fn variance(values: &[f64]) -> f64 {
    let mean = average(values);
    values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (values.len() as f64 - 1.0)
}

/// Number of expected successes or failures below which the bootstrap cannot estimate the spread.
pub const FEW: f64 = 15.0;

/// The exact lower limit on the width of a band for the mean of `n` values in [0, 1]. It is needed if all values are equal, which shows no
/// spread, or if n times the distance of the mean from 0 or 1 is below [`FEW`]. It is the width of Clopper and Pearson's interval with `n *
/// mean` successes: for a given mean, zeros and ones have the largest variance.
pub fn exact_floor(mean: f64, n: usize, constant: bool, level: f64) -> Option<Estimate> {
    let size = n as f64;
    let few = size * mean.min(1.0 - mean) < FEW;
    if n == 0 || !(0.0..=1.0).contains(&mean) || !(constant || few) {
        return None;
    }
    let (lo, hi) = clopper_pearson_of(size * mean, size, level);
    Some(Estimate { mean, lo: lo.min(mean), hi: hi.max(mean) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Three replicates and four resamples, with every component computed by hand.
    #[test]
    fn variance_parts_match_hand_calculation() {
        let theta = [0.4, 0.5, 0.6];
        let draws = [0.40, 0.50, 0.60, 0.42, 0.50, 0.58, 0.38, 0.50, 0.62, 0.44, 0.54, 0.64];
        let b = Bands::new(&theta, &draws, 0.95).unwrap();
        let parts = b.parts.unwrap();
        // Means .5 .5 .5 .54; deviations of the outer replicates ∓.1 ∓.08 ∓.12 ∓.1, and 0 for the middle one.
        let sampling = 4.0 * 0.01 * 0.01 * (3.0 + 9.0) / 4.0 / 3.0;
        let interaction = 2.0 * (0.02f64 * 0.02 * 2.0 / 3.0) / 2.0;
        assert!((parts.sampling - sampling).abs() < 1e-12, "{parts:?}");
        assert!((parts.interaction - interaction).abs() < 1e-12, "{parts:?}");
        assert!((parts.training - (0.01 - interaction)).abs() < 1e-12, "{parts:?}");
        let share = parts.training / 3.0;
        let total = parts.sampling + share;
        let df = (total * total * 2.0 / (share * share)).max(2.0);
        assert_eq!(b.form, Some(Form::Student { df }));
        let half = student_quantile(0.975, df) * total.sqrt();
        let wide = b.wide.unwrap();
        assert!((wide.hi - (0.5 + half).min(1.0)).abs() < 1e-12 && (wide.mean - 0.5).abs() < 1e-15);
        assert_eq!((b.range, b.replicates), ([0.4, 0.6], 3));
    }

    /// Without spread over examples this is the one-sample t test of the training runs: `ttest_1samp` in SciPy on these five differences.
    #[test]
    fn contrast_with_only_training_variance_is_a_paired_t_test() {
        let theta = [0.10, 0.02, 0.07, -0.01, 0.05];
        let rows = vec![&theta[..]; 3];
        let c = Contrast::new(&theta, &rows).unwrap();
        assert_eq!((c.df, c.replicates), (4.0, 5));
        assert!((c.mean - 0.046).abs() < 1e-12 && (c.p() - P_OF_FIVE).abs() < 1e-9, "{c:?} {}", c.p());
        let e = c.interval(1.0 - c.p());
        assert!(e.lo.abs() < 1e-9, "the interval at 1 - p ends at 0: {e:?}");
        assert!(Contrast::new(&theta[..1], &[&theta[..1]; 3]).is_none());
        let alike = [0.1; 3];
        assert_eq!(Contrast::new(&alike, &[&alike[..]; 3]).unwrap().p(), 0.25);
    }

    const P_OF_FIVE: f64 = 0.07399774581530034;

    /// Regression: resampling five training runs gave p <= .05 in 13 % of runs under a true null, and the minimum of
    /// .002 in 6 %.
    #[test]
    fn contrast_with_only_training_variance_keeps_its_level() {
        use crate::rng::{stream, unit};
        let mut rng = stream(7, "contrast");
        let mut normal = || normal_quantile(unit(&mut rng).clamp(1e-12, 1.0 - 1e-12));
        let runs = 4_000;
        let (mut rejected, mut certain) = (0, 0);
        for _ in 0..runs {
            let theta: Vec<f64> = (0..5).map(|_| normal()).collect();
            let noise: Vec<Vec<f64>> = (0..8).map(|_| theta.iter().map(|t| t + 0.05 * normal()).collect()).collect();
            let rows: Vec<&[f64]> = noise.iter().map(Vec::as_slice).collect();
            let p = Contrast::new(&theta, &rows).unwrap().p();
            rejected += usize::from(p <= 0.05);
            certain += usize::from(p <= 0.01);
        }
        let share = |count: usize| count as f64 / f64::from(runs);
        assert!(share(rejected) <= 0.06 && share(certain) <= 0.015, "{} {}", share(rejected), share(certain));
    }

    #[test]
    fn single_replicate_has_no_outer_band() {
        let b = Bands::new(&[0.3], &[0.2, 0.3, 0.4], 0.9).unwrap();
        assert_eq!((b.wide, b.form, b.parts), (None, None, None));
        assert_eq!(b.shown(), b.narrow);
        assert!(Bands::new(&[], &[], 0.9).is_none() && Bands::new(&[f64::NAN], &[0.1], 0.9).is_none());
    }

    /// For replicates that differ no more than expected from sampling, the normal quantile is used; otherwise df is at least K - 1.
    #[test]
    fn zero_training_variance_gives_the_normal_form() {
        let b = Bands::new(&[0.5, 0.5], &[0.4, 0.6, 0.6, 0.4, 0.5, 0.5], 0.95).unwrap();
        assert_eq!(b.form, Some(Form::Normal));
        let far = Bands::new(&[0.2, 0.8], &[0.2, 0.8, 0.2, 0.8], 0.95).unwrap();
        assert_eq!(far.form, Some(Form::Student { df: 1.0 }));
        assert_eq!(far.wide.map(|w| (w.lo, w.hi)), Some((0.0, 1.0)));
    }

    #[test]
    fn exact_floor_widens_intervals_near_the_bounds() {
        assert_eq!(exact_floor(0.5, 256, false, 0.95), None);
        let all = exact_floor(1.0, 256, true, 0.95).unwrap();
        assert!((all.lo - 0.025f64.powf(1.0 / 256.0)).abs() < 1e-12 && all.hi == 1.0);
        let exact = super::super::intervals::clopper_pearson(3, 256, 0.95);
        let same = exact_floor(3.0 / 256.0, 256, false, 0.95).unwrap();
        assert!((same.lo - exact.lo).abs() < 1e-12 && (same.hi - exact.hi).abs() < 1e-12);
        assert!(exact_floor(0.3, 256, true, 0.95).is_some() && exact_floor(f64::NAN, 9, true, 0.95).is_none());
    }

    proptest! {
        #[test]
        fn bands_contain_the_mean_and_stay_in_range(
            theta in proptest::collection::vec(0.0f64..=1.0, 2..6),
            noise in proptest::collection::vec(-0.1f64..0.1, 40),
            level in 0.5f64..0.99,
        ) {
            let draws: Vec<f64> = noise.iter().flat_map(|e| theta.iter().map(move |t| (t + e).clamp(0.0, 1.0))).collect();
            let b = Bands::new(&theta, &draws, level).unwrap();
            let wide = b.wide.unwrap();
            prop_assert!(wide.lo <= wide.mean + 1e-9 && wide.mean <= wide.hi + 1e-9);
            prop_assert!(wide.lo >= 0.0 && wide.hi <= 1.0 && b.range[0] <= b.range[1]);
            let wider = b.floored(Some(Estimate { mean: 0.5, lo: 0.0, hi: 1.0 }));
            prop_assert!(wider.narrow.lo == 0.0 && wider.wide.unwrap().hi == 1.0);
        }
    }
}
