//! Binomial probabilities with a relative error of about 1e-14, for any number of trials.
//!
//! `n! / k!(n-k)!` cancels for large n, so probabilities are built from deviances and the error of Stirling's formula (Loader 2000, "Fast
//! and accurate computation of binomial probabilities").

use std::f64::consts::PI;

/// The error of Stirling's formula, `ln n! - ln(sqrt(2πn) (n/e)^n)`, for n > 0.
fn stirling_error(n: f64) -> f64 {
    if n <= 15.0 {
        // Callers pass only integers and half-integers; for n this small, direct evaluation is accurate enough.
        return super::special::ln_gamma(n + 1.0) - 0.5 * (2.0 * PI * n).ln() - n * n.ln() + n;
    }
    let s = 1.0 / (n * n);
    let terms = [1.0 / 12.0, -1.0 / 360.0, 1.0 / 1_260.0, -1.0 / 1_680.0, 1.0 / 1_188.0, -691.0 / 360_360.0];
    terms.iter().rev().fold(0.0, |sum, c| sum * s + c) / n
}

/// The deviance `x ln(x/m) + m - x`, computed without cancellation near x = m.
fn deviance(x: f64, m: f64) -> f64 {
    if (x - m).abs() >= 0.1 * (x + m) {
        return x * (x / m).ln() + m - x;
    }
    let v = (x - m) / (x + m);
    let mut sum = (x - m) * v;
    let mut term = 2.0 * x * v;
    for j in 1..1_000 {
        term *= v * v;
        let next = sum + term / f64::from(2 * j + 1);
        if next == sum {
            break;
        }
        sum = next;
    }
    sum
}

/// P(X = k) for X ~ Binomial(n, p).
pub(crate) fn probability(k: u64, n: u64, p: f64) -> f64 {
    if k > n || !(0.0..=1.0).contains(&p) {
        return if k > n { 0.0 } else { f64::NAN };
    }
    if p == 0.0 || p == 1.0 {
        let sure = if p == 0.0 { 0 } else { n };
        return f64::from(u8::from(k == sure));
    }
    let (x, size, q) = (k as f64, n as f64, 1.0 - p);
    if k == 0 {
        return (size * (-p).ln_1p()).exp();
    }
    if k == n {
        return (size * p.ln()).exp();
    }
    let rest = size - x;
    let exponent = stirling_error(size)
        - stirling_error(x)
        - stirling_error(rest)
        - deviance(x, size * p)
        - deviance(rest, size * q);
    exponent.exp() * (size / (2.0 * PI * x * rest)).sqrt()
}

/// P(X <= k) for X ~ Binomial(n, p), summed from k away from the mean, with a relative error of about 1e-13.
pub(crate) fn at_most(k: u64, n: u64, p: f64) -> f64 {
    if k >= n {
        return 1.0;
    }
    if p == 0.0 || p == 1.0 {
        return f64::from(u8::from(p == 0.0));
    }
    let odds = p / (1.0 - p);
    if k as f64 <= n as f64 * p {
        let (mut term, mut sum, mut j) = (probability(k, n, p), 0.0, k);
        while term > 1e-18 * sum && term > 0.0 {
            sum += term;
            if j == 0 {
                break;
            }
            term *= j as f64 / ((n - j + 1) as f64 * odds);
            j -= 1;
        }
        return sum.min(1.0);
    }
    let (mut term, mut sum, mut j) = (probability(k + 1, n, p), 0.0, k + 1);
    while term > 1e-18 * sum && term > 0.0 {
        sum += term;
        if j == n {
            break;
        }
        term *= (n - j) as f64 * odds / (j + 1) as f64;
        j += 1;
    }
    (1.0 - sum).max(0.0)
}

/// `ln B(a, b) + (a + b) ln 2`. It is nearly 0 if a and b are close, so it must not be computed as the difference of two large numbers.
pub(crate) fn ln_beta_centred(a: f64, b: f64) -> f64 {
    use super::special::ln_gamma;
    if a.min(b) < 10.0 {
        return ln_gamma(a) + ln_gamma(b) - ln_gamma(a + b) + (a + b) * 2f64.ln();
    }
    // Stirling's formula for all three factorials, with Γ(x) = x!/x.
    let errors = stirling_error(a) + stirling_error(b) - stirling_error(a + b);
    let slant = (a - b) / (a + b);
    errors + 0.5 * (2.0 * PI * (a + b) / (a * b)).ln() + a * slant.ln_1p() + b * (-slant).ln_1p()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn small_cases_match_the_definition() {
        for (k, n, p, want) in
            [(2, 5, 0.3, 0.3087), (0, 3, 0.5, 0.125), (7, 7, 0.1, 1e-7), (20, 40, 0.5, 0.125_370_687_619_579_26)]
        {
            assert!((probability(k, n, p) / want - 1.0).abs() < 1e-13, "{k} {n} {p}");
        }
        assert_eq!((probability(4, 3, 0.5), probability(0, 3, 0.0), probability(3, 3, 1.0)), (0.0, 1.0, 1.0));
    }

    #[test]
    fn large_cases_keep_their_precision() {
        // The central probability for 10^7 trials, by Stirling's series for n!: sqrt(2/(πn)) (1 - 1/(4n) + …).
        let n = 10_000_000u64;
        let middle = (2.0 / (PI * n as f64)).sqrt() * (1.0 - 0.25 / n as f64);
        assert!((probability(n / 2, n, 0.5) / middle - 1.0).abs() < 1e-12);
        // P(X <= n/2) for even n: one half plus half the central probability.
        assert!((at_most(n / 2, n, 0.5) - 0.5 - 0.5 * middle).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn sum_equals_the_incomplete_beta_function(n in 1u64..400, share in 0.0f64..1.0, p in 0.001f64..0.999) {
            let k = (share * n as f64) as u64;
            let want = if k >= n { 1.0 } else {
                crate::special::beta_cdf(1.0 - p, (n - k) as f64, (k + 1) as f64)
            };
            prop_assert!((at_most(k, n, p) - want).abs() < 1e-11, "{} {}", at_most(k, n, p), want);
        }

        #[test]
        fn centred_beta_function_is_continuous(a in 10.0f64..60.0, b in 10.0f64..60.0) {
            let plain = crate::special::ln_gamma(a) + crate::special::ln_gamma(b)
                - crate::special::ln_gamma(a + b) + (a + b) * 2f64.ln();
            prop_assert!((ln_beta_centred(a, b) - plain).abs() < 1e-11);
        }
    }
}
