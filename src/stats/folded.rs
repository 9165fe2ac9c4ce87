//! Interval for the size of an effect, regardless of sign, from one standardised estimate.
//!
//! Required n and power depend on |t| if the estimate is z ~ N(t, 1). Folding the equal-tailed interval for t at 0 gives more than nominal
//! coverage if that interval contains 0. Here the likelihood ratio decides which values belong to the interval (Feldman and Cousins 1998).
//! This interval has nominal coverage of |t| and changes smoothly from one-sided to two-sided.

use super::special::normal_quantile;

/// P(Z <= x) for a standard normal Z.
pub(crate) fn normal_at_most(x: f64) -> f64 {
    0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
}

/// Interval for |t| at `level` from `z`. The lower end is 0 if the estimate is compatible with no effect.
pub fn effect(z: f64, level: f64) -> (f64, f64) {
    let x = z.abs();
    if !x.is_finite() {
        return (f64::NAN, f64::NAN);
    }
    let wide = normal_quantile(0.5 + 0.5 * level) + 1.0;
    // Folding has no effect far from 0, where the interval is the ordinary one.
    if x > 8.0 {
        return (x - wide + 1.0, x + wide - 1.0);
    }
    let accepted = |t: f64| accepts(x, t, level);
    let lo = if accepted(0.0) { 0.0 } else { passage((x - wide).max(0.0), x, accepted) };
    let hi = passage(x + wide, x, accepted);
    (lo, hi)
}

/// The boundary between `outside` and `inside` where acceptance begins.
fn passage(mut outside: f64, mut inside: f64, accepts: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..32 {
        let middle = 0.5 * (outside + inside);
        if accepts(middle) { inside = middle } else { outside = middle }
    }
    inside
}

/// Probability of |Z| in [lo, hi] for Z ~ N(t, 1).
fn mass(t: f64, lo: f64, hi: f64) -> f64 {
    normal_at_most(hi - t) - normal_at_most(lo - t) + normal_at_most(hi + t) - normal_at_most(lo + t)
}

/// The t that maximises the likelihood of x: 0 up to x = 1, then the solution of t = x tanh(x t).
fn best(x: f64) -> f64 {
    if x <= 1.0 {
        return 0.0;
    }
    let mut t = x;
    for _ in 0..60 {
        let next = x * (x * t).tanh();
        if (next - t).abs() < 1e-9 {
            break;
        }
        t = next;
    }
    t
}

/// Log likelihood ratio of x between t and the best-fitting t. As a function of x, it rises up to the x for which t fits best, then falls.
fn ratio(x: f64, t: f64) -> f64 {
    let density = |t: f64| -0.5 * (x - t).powi(2) + (-2.0 * x * t).exp().ln_1p();
    density(t) - density(best(x))
}

/// True if t accepts x: all values with a higher ratio together have probability below `level`.
fn accepts(x: f64, t: f64, level: f64) -> bool {
    let own = ratio(x, t);
    let higher = |m: f64| ratio(m, t) >= own;
    if best(x) >= t {
        let lo = if higher(0.0) { 0.0 } else { passage(0.0, x, higher) };
        mass(t, lo, x) <= level
    } else {
        mass(t, x, passage(t + 12.0, x, higher)) <= level
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interval_far_from_zero_is_the_ordinary_one() {
        let (lo, hi) = effect(-5.0, 0.95);
        // At z = 5, folding still moves the lower end slightly, because that end is near 3.
        assert!((lo - 3.04).abs() < 0.05 && (hi - 6.96).abs() < 2e-3, "{lo} {hi}");
        let (lo, hi) = effect(20.0, 0.95);
        assert!((lo - 18.04).abs() < 1e-3 && (hi - 21.96).abs() < 1e-3, "{lo} {hi}");
    }

    /// Coverage, summed over a fine grid of deviates around t, equals the level.
    #[test]
    fn coverage_equals_the_level_for_all_effects() {
        for t in [0.0, 0.1, 0.37, 1.0, 1.83, 3.0] {
            let (step, mut covered) = (0.04, 0.0);
            for i in 0..350 {
                let z = t - 7.0 + (f64::from(i) + 0.5) * step;
                let (lo, hi) = effect(z, 0.95);
                let weight = normal_at_most(z + 0.5 * step - t) - normal_at_most(z - 0.5 * step - t);
                covered += if (lo..=hi).contains(&t) { weight } else { 0.0 };
            }
            assert!((covered - 0.95).abs() < 0.008, "{t}: {covered}");
        }
    }
}
