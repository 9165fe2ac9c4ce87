//! Measured abilities of a model.

use std::fmt;

use serde::{Deserialize, Serialize};
use stats::Estimate;

pub const LEVEL: f64 = 0.95;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Score {
    pub id: String,
    pub what: String,
    /// Share of correct answers with a Wilson interval, or the quantity described in `what`.
    pub share: Estimate,
    /// Number of answers, or of relations if the score is a mean over them.
    pub n: u64,
}

/// True if a score is a proportion (shown in %); otherwise it is a correlation.
pub fn is_share(id: &str) -> bool {
    id != "preference"
}

/// Formats a score with its interval and unit.
pub fn shown(id: &str, x: Estimate) -> String {
    if is_share(id) {
        format!("{:.2} % [{:.2}, {:.2}]", 100.0 * x.mean, 100.0 * x.lo, 100.0 * x.hi)
    } else {
        format!("{:.3} [{:.3}, {:.3}]", x.mean, x.lo, x.hi)
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !is_share(&self.id) {
            let Estimate { mean, lo, hi } = self.share;
            return write!(f, "{mean:6.3}    [{lo:.3}, {hi:.3}]  n {}  {}", self.n, self.what);
        }
        let [mean, lo, hi] = [self.share.mean, self.share.lo, self.share.hi].map(|x| 100.0 * x);
        write!(f, "{mean:6.2} %  [{lo:.2}, {hi:.2}]  n {}  {}", self.n, self.what)
    }
}
