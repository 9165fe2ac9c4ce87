//! Intervals for a proportion. Each needs `n >= 1`, `successes <= n` and a level in (0, 1); otherwise the ends are NaN.

use super::estimate::Estimate;
use super::special::{beta_cdf, beta_quantile, normal_quantile};

/// Returns proportion, size and normal quantile, or NaN for invalid input.
fn parts(successes: u64, n: u64, level: f64) -> (f64, f64, f64) {
    if n == 0 || successes > n || !(level > 0.0 && level < 1.0) {
        return (f64::NAN, f64::NAN, f64::NAN);
    }
    (successes as f64 / n as f64, n as f64, normal_quantile(0.5 + 0.5 * level))
}

fn within_unit(mean: f64, lo: f64, hi: f64) -> Estimate {
    Estimate { mean, lo: lo.clamp(0.0, 1.0), hi: hi.clamp(0.0, 1.0) }
}

/// Wilson's score interval (1927).
pub fn wilson(successes: u64, n: u64, level: f64) -> Estimate {
    let (p, n, z) = parts(successes, n, level);
    let z2 = z * z;
    let centre = (p + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = z / (1.0 + z2 / n) * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).sqrt();
    // At 0 and at n the proportion is an end of the interval; rounding must not move that end past the proportion.
    within_unit(p, (centre - half).min(p), (centre + half).max(p))
}

/// Number of successes or failures below which the interval is exact, because the coverage of Wilson's interval falls to .84 at level .95.
const FEW: u64 = 5;

/// A proportion with the interval that the program shows: Wilson's, or Clopper and Pearson's below five successes or failures.
pub fn share(successes: u64, n: u64, level: f64) -> Estimate {
    let few = successes.min(n.saturating_sub(successes)) < FEW;
    if few { clopper_pearson(successes, n, level) } else { wilson(successes, n, level) }
}

/// The largest of several proportions that add up to 1, observed in `most` of `n` draws. The upper end is Clopper and Pearson's. The lower
/// end allows for selection. At most `1 / p` categories have proportion `p` or more, and each is drawn at least `most` times with
/// probability `f(p)`. So the probability that any of them is drawn that often is at most `f(p) / p`.
pub fn largest_share(most: u64, n: u64, level: f64) -> Estimate {
    let exact = clopper_pearson(most, n, level);
    if exact.mean.is_nan() {
        return exact;
    }
    let (a, b) = (most as f64, (n - most) as f64 + 1.0);
    let (mut lo, mut hi) = (0.0, exact.lo);
    for _ in 0..60 {
        let p = 0.5 * (lo + hi);
        if beta_cdf(p, a, b) < 0.5 * (1.0 - level) * p { lo = p } else { hi = p }
    }
    Estimate { lo, ..exact }
}

/// Clopper and Pearson's exact interval (1934).
pub fn clopper_pearson(successes: u64, n: u64, level: f64) -> Estimate {
    let (p, size, _) = parts(successes, n, level);
    if p.is_nan() {
        return within_unit(p, p, p);
    }
    let (lo, hi) = clopper_pearson_of(successes as f64, size, level);
    within_unit(p, lo, hi)
}

/// Ends of Clopper and Pearson's interval for counts that need not be whole, such as counts divided by a design effect; 0 and 1 without
/// trials.
pub fn clopper_pearson_of(successes: f64, n: f64, level: f64) -> (f64, f64) {
    let tail = 0.5 * (1.0 - level);
    let lo = if successes > 0.0 { beta_quantile(tail, successes, n - successes + 1.0) } else { 0.0 };
    let hi = if successes < n { beta_quantile(1.0 - tail, successes + 1.0, n - successes) } else { 1.0 };
    (lo, hi)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn invalid_input_gives_nan() {
        for f in [wilson, clopper_pearson, largest_share] {
            assert!(f(0, 0, 0.95).lo.is_nan() && f(3, 2, 0.95).hi.is_nan() && f(1, 2, 1.0).lo.is_nan());
        }
    }

    #[test]
    fn wilson_includes_the_observed_extremes() {
        for n in 1..2_000 {
            for (k, p) in [(0, 0.0), (n, 1.0)] {
                let e = wilson(k, n, 0.9);
                assert!(e.lo <= p && p <= e.hi, "{k} of {n}: {e:?}");
            }
        }
    }

    /// With 20 trials and a true proportion of .052, Wilson's interval has a coverage of only .917, because the interval for three
    /// successes begins at .0524.
    #[test]
    fn small_counts_use_the_exact_interval() {
        assert!(wilson(3, 20, 0.95).lo > 0.05 && share(3, 20, 0.95).lo < 0.05 && share(17, 20, 0.95).hi > 0.95);
        assert_eq!(share(5, 20, 0.95), wilson(5, 20, 0.95));
        assert_eq!(share(4, 8, 0.95), clopper_pearson(4, 8, 0.95));
        assert!(share(3, 2, 0.95).lo.is_nan());
    }

    /// The largest observed of four equal proportions is well above a quarter by chance; its plain interval ignores that it was selected.
    #[test]
    fn largest_share_interval_corrects_for_selection() {
        let (own, chosen) = (clopper_pearson(281, 1_000, 0.95), largest_share(281, 1_000, 0.95));
        assert!(own.lo > 0.25 && chosen.lo < 0.25 && chosen.hi == own.hi, "{own:?} {chosen:?}");
        let p = chosen.lo;
        assert!((beta_cdf(p, 281.0, 720.0) / p - 0.025).abs() < 1e-9);
        assert_eq!(largest_share(1, 1_000, 0.95).lo, 0.0);
        assert!(largest_share(1_000, 1_000, 0.95).lo > 0.99 && largest_share(0, 0, 0.95).lo.is_nan());
    }

    proptest! {
        #[test]
        fn intervals_contain_the_proportion(n in 1u64..5_000, part in 0.0f64..=1.0, level in 0.5f64..0.999) {
            let k = (part * n as f64) as u64;
            for f in [wilson, clopper_pearson, share] {
                let e = f(k, n, level);
                prop_assert!(e.lo <= e.mean + 1e-12 && e.mean <= e.hi + 1e-12 && e.lo >= 0.0 && e.hi <= 1.0);
            }
        }
    }
}
