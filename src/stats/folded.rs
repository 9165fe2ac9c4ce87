//! Interval for the size of an effect whose sign does not matter, from one standardised estimate of it.
//!
//! Required n and power depend on |t| where z ~ N(t, 1) was seen. An equal-tailed interval of t, folded, covers too often
//! where it holds 0. Here values are accepted by the likelihood ratio (Feldman and Cousins 1998), so that the interval covers
//! |t| as often as it says, and it passes by itself from "anything up to here" to two ends.

use super::special::normal_quantile;

/// P(Z <= x) for a standard normal Z.
#[must_use]
pub fn normal_at_most(x: f64) -> f64 {
    0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
}

/// Interval of |t| at `level` from `z`. The lower end is 0 where the estimate is compatible with no effect.
#[must_use]
pub fn effect(z: f64, level: f64) -> (f64, f64) {
    let x = z.abs();
    if !x.is_finite() {
        return (f64::NAN, f64::NAN);
    }
    let wide = normal_quantile(0.5 + 0.5 * level) + 1.0;
    // Far from 0 the fold does not matter, and the interval is the ordinary one.
    if x > 8.0 {
        return (x - wide + 1.0, x + wide - 1.0);
    }
    let accepts = |t: f64| {
        let (lo, hi) = accepted(t, level);
        lo <= x && x <= hi
    };
    let lo = if accepts(0.0) { 0.0 } else { passage((x - wide).max(0.0), x, |t| accepts(t)) };
    let hi = passage(x + wide, x, |t| accepts(t));
    (lo, hi)
}

/// The point between `outside` and `inside` from which on values are accepted.
fn passage(mut outside: f64, mut inside: f64, accepts: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..40 {
        let middle = 0.5 * (outside + inside);
        if accepts(middle) { inside = middle } else { outside = middle }
    }
    inside
}

/// Probability of |Z| in [lo, hi] for Z ~ N(t, 1).
fn mass(t: f64, lo: f64, hi: f64) -> f64 {
    normal_at_most(hi - t) - normal_at_most(lo - t) + normal_at_most(hi + t) - normal_at_most(lo + t)
}

/// Logarithm of how much less likely x is under t than under the t that suits it best.
fn ratio(x: f64, t: f64) -> f64 {
    let density = |t: f64| -0.5 * (x - t).powi(2) + (-2.0 * x * t).exp().ln_1p();
    // The best t solves t = x tanh(x t); it is 0 up to x = 1.
    let mut best = if x <= 1.0 { 0.0 } else { x };
    if x > 1.0 {
        for _ in 0..60 {
            let next = x * (x * best).tanh();
            if (next - best).abs() < 1e-9 {
                break;
            }
            best = next;
        }
    }
    density(t) - density(best)
}

/// The |z| that t accepts: those of the highest ratio, together of probability `level`.
fn accepted(t: f64, level: f64) -> (f64, f64) {
    // For a lower end the upper one follows from the probability; the ratio at both then must agree.
    let upper = |lo: f64| {
        let (mut a, mut b) = (lo, t + 9.0);
        for _ in 0..40 {
            let middle = 0.5 * (a + b);
            if mass(t, lo, middle) < level { a = middle } else { b = middle }
        }
        0.5 * (a + b)
    };
    let whole = upper(0.0);
    if ratio(0.0, t) >= ratio(whole, t) {
        return (0.0, whole);
    }
    let (mut a, mut b) = (0.0, t);
    for _ in 0..40 {
        let middle = 0.5 * (a + b);
        if mass(t, middle, f64::INFINITY) <= level || ratio(middle, t) > ratio(upper(middle), t) {
            b = middle;
        } else {
            a = middle;
        }
    }
    (a, upper(a))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_accepted_region_has_its_probability() {
        for t in [0.0, 0.3, 1.0, 1.7, 2.5, 4.0] {
            let (lo, hi) = accepted(t, 0.95);
            assert!((mass(t, lo, hi) - 0.95).abs() < 1e-6, "{t}: {lo} {hi}");
        }
    }

    #[test]
    fn far_from_zero_it_is_the_ordinary_interval() {
        let (lo, hi) = effect(-5.0, 0.95);
        assert!((lo - 3.04).abs() < 2e-3 && (hi - 6.96).abs() < 2e-3, "{lo} {hi}");
        let (lo, hi) = effect(20.0, 0.95);
        assert!((lo - 18.04).abs() < 1e-3 && (hi - 21.96).abs() < 1e-3, "{lo} {hi}");
    }

    /// Of a million deviates around t, as many intervals hold t as the level says: by summation over a fine grid.
    #[test]
    fn coverage_is_the_level_whatever_the_effect() {
        for t in [0.0, 0.1, 0.37, 1.0, 1.83, 3.0] {
            let (step, mut covered) = (0.02, 0.0);
            for i in 0..700 {
                let z = t - 7.0 + (f64::from(i) + 0.5) * step;
                let (lo, hi) = effect(z, 0.95);
                let weight = normal_at_most(z + 0.5 * step - t) - normal_at_most(z - 0.5 * step - t);
                covered += if (lo..=hi).contains(&t) { weight } else { 0.0 };
            }
            assert!((covered - 0.95).abs() < 0.008, "{t}: {covered}");
        }
    }
}
