//! Settings of bootstrap intervals.

use serde::{Deserialize, Serialize};

use super::spec::{Refuse, SpecError};
use stats::Estimate;

/// Minimum number of training runs for an interval over training runs. With two, Student's t has one degree of freedom, and an interval can
/// span most of a score's range, so the two values are reported instead.
pub const ENOUGH_TRAININGS: usize = 3;

/// True if there are several training runs, but too few for an interval over them. With one training run there is an interval over examples
/// alone.
pub fn is_few(trainings: usize) -> bool {
    (2..ENOUGH_TRAININGS).contains(&trainings)
}

/// The values of two training runs, from their mean and standard deviation.
pub fn two_values(mean: f64, sd: f64) -> [f64; 2] {
    let half = sd / std::f64::consts::SQRT_2;
    [mean - half, mean + half]
}

/// The level of intervals as text: `95 %`.
pub fn level_title(level: Option<f64>) -> String {
    format!("{} %", (level.unwrap_or(0.95) * 1e4).round() / 1e2)
}

/// The text shown after a mean: its interval in square brackets, or the values of two training runs in parentheses.
pub fn beside(interval: Estimate, values: Option<[f64; 2]>, show: impl Fn(f64) -> String) -> String {
    match values {
        Some([a, b]) => format!("({}, {})", show(a), show(b)),
        None => format!("[{}, {}]", show(interval.lo), show(interval.hi)),
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct IntervalSpec {
    pub level: f64,
    pub resamples: usize,
}

impl Default for IntervalSpec {
    fn default() -> Self {
        Self { level: 0.95, resamples: 1000 }
    }
}

/// The minimum number of resamples for a level. Each end of the interval is a quantile; with fewer than two resamples beyond it, the end
/// would be the most extreme resample.
pub fn resamples_for(level: f64) -> usize {
    (4.0 / (1.0 - level) * (1.0 - 1e-9)).ceil() as usize
}

impl IntervalSpec {
    /// Checks the ranges of the level and of the number of resamples, and that there are enough resamples for the level.
    pub fn check(&self, refuse: &Refuse<'_>) -> Result<(), SpecError> {
        let Self { level, resamples } = *self;
        if !(0.5..1.0).contains(&level) {
            return refuse.because(
                "interval.level",
                format!("is {}: must be at least 0.5 and below 1", base::numbers::brief(&level)),
            );
        }
        refuse.outside("interval.resamples", resamples, 100..=100_000)?;
        let needed = resamples_for(level);
        if resamples < needed {
            let what = format!("is {resamples}: a level of {level} needs at least {needed}");
            return refuse.because("interval.resamples", what);
        }
        Ok(())
    }
}
