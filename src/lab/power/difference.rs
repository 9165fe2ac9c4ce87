//! Conclusions from a comparison: deciding p-value, equivalence, and the printed difference.

use super::finding::{ComparisonFinding, SequentialFinding};
use stats::mcnemar::Test;

impl ComparisonFinding {
    /// The p-value behind verbs such as "beats": unadjusted for the planned comparison, adjusted within the run for all others.
    pub fn deciding_p(&self) -> f64 {
        if self.planned { self.p } else { self.holm_p }
    }

    /// True if the sides are equivalent within the margin by two one-sided tests at `alpha`. The interval at level 1 - 2 alpha is then
    /// inside the margin.
    pub fn is_equivalent(&self, alpha: f64) -> bool {
        self.equivalence_holm_p.unwrap_or(self.equivalence_p) <= alpha
    }

    /// The smallest attainable p-value with this number of differing items; 0 if there is no limit.
    pub fn least_p(&self) -> f64 {
        match (self.mcnemar(), self.only_a.zip(self.only_b), self.differing) {
            (Some(test), Some((a, b)), _) => test.p(a + b, 0),
            (_, _, Some(differing)) => 2f64.powf(1.0 - differing as f64).min(1.0),
            _ => 0.0,
        }
    }

    /// McNemar's test, if the deciding p-value comes from it.
    pub fn mcnemar(&self) -> Option<Test> {
        Test::ALL.into_iter().find(|test| self.test.starts_with(test.title()))
    }

    /// True if the difference is between proportions, shown in points.
    pub fn is_share(&self) -> bool {
        self.both.is_some() || self.unpaired
    }

    /// Formats a signed difference: points for proportions, otherwise the metric's unit.
    pub fn amount(&self, x: f64) -> String {
        amount(self.is_share(), x)
    }

    /// The unit of [`Self::amount`] with a leading space; empty for other metrics.
    pub fn unit(&self) -> &'static str {
        if self.is_share() { " points" } else { "" }
    }
}

/// Formats a signed difference: points for a `share`, otherwise the metric's unit.
pub(crate) fn amount(share: bool, x: f64) -> String {
    if share {
        return super::summary::points(x);
    }
    let text = base::numbers::short(x);
    if x > 0.0 { format!("+{text}") } else { text }
}

impl SequentialFinding {
    /// The anytime-valid p-value, at most 1: the reciprocal of the largest e-value so far (Ville's inequality).
    pub fn anytime_p(&self) -> f64 {
        (-self.largest.unwrap_or(self.log_e)).exp().min(1.0)
    }
}
