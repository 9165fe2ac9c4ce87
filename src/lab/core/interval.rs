//! Settings of bootstrap intervals.

use serde::{Deserialize, Serialize};

use super::spec::{Refuse, SpecError};

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
    /// Checks both ranges, and that there are enough resamples for the level.
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
