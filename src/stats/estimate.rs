//! One number with its interval.

use serde::{Deserialize, Serialize};

/// A mean (or another statistic) with an interval of the stated level. On the JSON lines:
/// `{"mean": m, "lo": l, "hi": h, "level": 0.95}`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The statistic on the sample itself.
    pub mean: f64,
    /// Lower end of the interval.
    pub lo: f64,
    /// Upper end of the interval.
    pub hi: f64,
    /// Level of the interval, such as 0.95.
    pub level: f64,
}

impl Estimate {
    /// Half the width of the interval, for "± x" on a screen.
    #[must_use]
    pub fn half_width(&self) -> f64 {
        0.5 * (self.hi - self.lo)
    }
}
