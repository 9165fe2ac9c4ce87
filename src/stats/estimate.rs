//! A number with its interval, the form in which every result leaves the program.

use serde::{Deserialize, Serialize};

/// A point estimate with the ends of its interval. The level of the interval travels beside it, once per finding.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The point estimate.
    pub mean: f64,
    /// Lower end of the interval.
    pub lo: f64,
    /// Upper end of the interval.
    pub hi: f64,
}

impl Estimate {
    /// An estimate without uncertainty (`lo = mean = hi`), for quantities that are known exactly.
    pub fn exact(mean: f64) -> Self {
        Self { mean, lo: mean, hi: mean }
    }

    /// Half the width of the interval.
    pub fn half_width(&self) -> f64 {
        (self.hi - self.lo) / 2.0
    }
}
