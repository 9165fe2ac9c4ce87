//! McNemar's test with optional stopping: an e-process and its confidence sequence.
//!
//! Let b items be right only for the first and c only for the second, with a Beta(a, a') prior on the share of discordant items that favour
//! the first. Then `e = B(a+b, a'+c) / B(a, a') 2^(b+c)` is the likelihood ratio of that mixture against an even share (Robbins 1970).
//! Stopping at the first e >= 1/α errs with probability at most α (Ville 1939), however often the result is checked. The confidence
//! sequence contains all shares that this test does not reject.

use super::binomial::ln_beta_centred;
use serde::{Deserialize, Serialize};

/// A prior on the share: Beta(first, second).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prior {
    pub first: f64,
    pub second: f64,
}

/// Jeffreys' prior, Beta(1/2, 1/2).
pub(crate) const HALF: Prior = Prior { first: 0.5, second: 0.5 };

#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Sequential {
    /// Number of items that only the first got right.
    pub b: u64,
    /// Number of items that only the second got right.
    pub c: u64,
    /// The largest `ln e` so far, at least 0.
    pub largest: f64,
}

/// `ln e`.
pub fn log_e(b: u64, c: u64, prior: Prior) -> f64 {
    if b == 0 && c == 0 {
        return 0.0;
    }
    // Both terms include an extra (a+a') ln 2, which cancels.
    ln_beta_centred(prior.first + b as f64, prior.second + c as f64) - ln_beta_centred(prior.first, prior.second)
}

/// Confidence sequence at `level` for the share of discordant items that favour the first.
pub fn interval(b: u64, c: u64, prior: Prior, level: f64) -> (f64, f64) {
    if b == 0 && c == 0 {
        return (0.0, 1.0);
    }
    let (x, y) = (b as f64, c as f64);
    let (bound, e) = (-(1.0 - level).ln(), log_e(b, c, prior));
    // Log-likelihood of a share relative to one half. A count of 0 contributes no term, even at the ends.
    let term = |count: f64, log: f64| if count > 0.0 { count * log } else { 0.0 };
    let holds = |p: f64| e - term(x, (2.0 * p - 1.0).ln_1p()) - term(y, (1.0 - 2.0 * p).ln_1p()) < bound;
    let likeliest = x / (x + y);
    let end = |mut outside: f64| {
        if holds(outside) {
            return outside;
        }
        let mut inside = likeliest;
        for _ in 0..80 {
            let middle = 0.5 * (outside + inside);
            if holds(middle) { inside = middle } else { outside = middle }
        }
        0.5 * (outside + inside)
    };
    (end(0.0), end(1.0))
}

impl Sequential {
    pub fn add(&mut self, a_right: bool, b_right: bool) {
        if a_right == b_right {
            return;
        }
        if a_right {
            self.b += 1
        } else {
            self.c += 1
        }
        self.largest = self.largest.max(self.log_e());
    }

    pub fn log_e(&self) -> f64 {
        log_e(self.b, self.c, HALF)
    }

    /// The p-value, valid at any stopping time.
    pub fn anytime_p(&self) -> f64 {
        (-self.largest).exp().min(1.0)
    }

    /// True if one may stop and reject at this level.
    pub fn may_stop(&self, alpha: f64) -> bool {
        self.largest >= -alpha.ln()
    }

    /// Share of discordant items that favour the first; `None` if there are no discordant items yet.
    pub fn share(&self) -> Option<f64> {
        let all = self.b + self.c;
        (all > 0).then(|| self.b as f64 / all as f64)
    }

    pub fn interval(&self, level: f64) -> (f64, f64) {
        interval(self.b, self.c, HALF, level)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{stream, unit};

    #[test]
    fn worked_values() {
        // Beta(1, 1): e = b! c! / (b+c+1)! 2^(b+c).
        let one = Prior { first: 1.0, second: 1.0 };
        assert!((log_e(3, 0, one) - (2.0f64).ln()).abs() < 1e-13);
        assert!(log_e(1, 0, one).abs() < 1e-13);
        assert_eq!(interval(0, 0, HALF, 0.95), (0.0, 1.0));
        let (lo, hi) = interval(1, 0, HALF, 0.95);
        assert!((lo - 0.025).abs() < 1e-9 && hi == 1.0, "{lo} {hi}");
    }

    /// If one checks after every item and stops at e >= 20, at most 5 % of runs reject a true null.
    #[test]
    fn error_rate_holds_under_peeking() {
        let mut rng = stream(5, "peeking");
        let runs = 1_000;
        let wrong = (0..runs).filter(|_| {
            let mut s = Sequential::default();
            (0..1_500).any(|_| {
                s.add(unit(&mut rng) < 0.5, unit(&mut rng) < 0.5);
                s.may_stop(0.05)
            })
        });
        let share = wrong.count() as f64 / f64::from(runs);
        assert!(share <= 0.05 && share > 0.0, "{share}");
    }

    #[test]
    fn detected_effect_stays_detected() {
        let mut s = Sequential::default();
        let mut rng = stream(6, "effect");
        for _ in 0..2_000 {
            s.add(unit(&mut rng) < 0.6, unit(&mut rng) < 0.5);
        }
        assert!(s.may_stop(0.05) && s.anytime_p() < 0.01);
        let (lo, hi) = s.interval(0.95);
        assert!(lo > 0.5 && hi < 0.8 && s.log_e() <= s.largest, "{lo} {hi}");
    }
}
