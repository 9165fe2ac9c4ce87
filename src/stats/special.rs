//! Special functions that the standard library lacks: normal quantile, log-gamma, incomplete beta.

use std::f64::consts::PI;

/// Evaluates a polynomial, coefficients from the constant upwards.
fn polynomial(x: f64, coefficients: &[f64]) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c)
}

/// The standard normal quantile (Wichura 1988, algorithm AS 241, PPND16): relative error about 1e-16.
/// 0 and 1 give the infinities, anything outside [0, 1] gives NaN.
#[must_use]
pub fn normal_quantile(p: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        let r = 0.180_625 - q * q;
        return q * polynomial(r, &CENTRE_NUM) / polynomial(r, &CENTRE_DEN);
    }
    let tail = if q < 0.0 { p } else { 1.0 - p };
    if tail == 0.0 {
        return f64::INFINITY.copysign(q);
    }
    let r = (-tail.ln()).sqrt();
    let z = if r <= 5.0 {
        polynomial(r - 1.6, &MIDDLE_NUM) / polynomial(r - 1.6, &MIDDLE_DEN)
    } else {
        polynomial(r - 5.0, &FAR_NUM) / polynomial(r - 5.0, &FAR_DEN)
    };
    z.copysign(q)
}

const CENTRE_NUM: [f64; 8] = [
    3.387_132_872_796_366_5,
    1.331_416_678_917_843_8e2,
    1.971_590_950_306_551_3e3,
    1.373_169_376_550_946e4,
    4.592_195_393_154_987e4,
    6.726_577_092_700_87e4,
    3.343_057_558_358_813e4,
    2.509_080_928_730_122_7e3,
];
const CENTRE_DEN: [f64; 8] = [
    1.0,
    4.231_333_070_160_091e1,
    6.871_870_074_920_579e2,
    5.394_196_021_424_751e3,
    2.121_379_430_158_659_7e4,
    3.930_789_580_009_271e4,
    2.872_908_573_572_194_3e4,
    5.226_495_278_852_545e3,
];
const MIDDLE_NUM: [f64; 8] = [
    1.423_437_110_749_683_5,
    4.630_337_846_156_546,
    5.769_497_221_460_691,
    3.647_848_324_763_204_5,
    1.270_458_252_452_368_4,
    2.417_807_251_774_506e-1,
    2.272_384_498_926_918_4e-2,
    7.745_450_142_783_414e-4,
];
const MIDDLE_DEN: [f64; 8] = [
    1.0,
    2.053_191_626_637_759,
    1.676_384_830_183_803_8,
    6.897_673_349_851e-1,
    1.481_039_764_274_800_8e-1,
    1.519_866_656_361_645_7e-2,
    5.475_938_084_995_345e-4,
    1.050_750_071_644_416_9e-9,
];
const FAR_NUM: [f64; 8] = [
    6.657_904_643_501_103,
    5.463_784_911_164_114,
    1.784_826_539_917_291_3,
    2.965_605_718_285_048_7e-1,
    2.653_218_952_657_612_4e-2,
    1.242_660_947_388_078_4e-3,
    2.711_555_568_743_487_6e-5,
    2.010_334_399_292_288_1e-7,
];
const FAR_DEN: [f64; 8] = [
    1.0,
    5.998_322_065_558_88e-1,
    1.369_298_809_227_358e-1,
    1.487_536_129_085_061_5e-2,
    7.868_691_311_456_133e-4,
    1.846_318_317_510_054_7e-5,
    1.421_511_758_316_446e-7,
    2.044_263_103_389_939_8e-15,
];

/// Natural logarithm of the gamma function for `x > 0` (Lanczos, g = 7, nine terms): relative error about 1e-15.
#[must_use]
pub fn ln_gamma(x: f64) -> f64 {
    const TERMS: [f64; 9] = [
        0.999_999_999_999_809_9,
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    if x < 0.5 {
        return (PI / (PI * x).sin()).ln() - ln_gamma(1.0 - x);
    }
    let x = x - 1.0;
    let t = x + 7.5;
    let sum = TERMS[1..].iter().enumerate().fold(TERMS[0], |sum, (i, c)| sum + c / (x + i as f64 + 1.0));
    0.5 * (2.0 * PI).ln() + (x + 0.5) * t.ln() - t + sum.ln()
}

/// Regularised incomplete beta function I_x(a, b) for `a, b > 0` by Lentz's continued fraction.
#[must_use]
pub fn beta_cdf(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p()).exp();
    if x < (a + 1.0) / (a + b + 2.0) {
        front * beta_fraction(x, a, b) / a
    } else {
        1.0 - front * beta_fraction(1.0 - x, b, a) / b
    }
}

fn beta_fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away_from_zero = |v: f64| if v.abs() < TINY { TINY } else { v };
    let mut c = 1.0;
    let mut d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut h = d;
    // The fraction needs about sqrt(max(a, b)) terms; the bound only guards against a loop without end.
    for m in 1..100_000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / away_from_zero(1.0 + even * d);
        c = away_from_zero(1.0 + even / c);
        h *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / away_from_zero(1.0 + odd * d);
        c = away_from_zero(1.0 + odd / c);
        let step = d * c;
        h *= step;
        if (step - 1.0).abs() < 1e-16 {
            break;
        }
    }
    h
}

/// Quantile of Beta(a, b): the x with I_x(a, b) = p, by bisection to the last bit.
#[must_use]
pub fn beta_quantile(p: f64, a: f64, b: f64) -> f64 {
    if p <= 0.0 {
        return 0.0;
    }
    if p >= 1.0 {
        return 1.0;
    }
    let (mut lo, mut hi) = (0.0f64, 1.0f64);
    loop {
        let middle = 0.5 * (lo + hi);
        if middle <= lo || middle >= hi {
            return middle;
        }
        if beta_cdf(middle, a, b) < p {
            lo = middle;
        } else {
            hi = middle;
        }
    }
}

/// Quantile of Student's t with `df > 0` degrees of freedom (any real number), through the incomplete beta function. Beyond a
/// million degrees of freedom the normal quantile, which differs by less than 1e-5.
#[must_use]
pub fn student_quantile(p: f64, df: f64) -> f64 {
    let inside = p > 0.0 && p < 1.0 && df < 1e6;
    if !inside {
        return normal_quantile(p);
    }
    if p == 0.5 {
        return 0.0;
    }
    let tails = 2.0 * p.min(1.0 - p);
    let x = beta_quantile(tails, 0.5 * df, 0.5);
    (df * (1.0 - x) / x).sqrt().copysign(p - 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_quantile_at_known_points() {
        for (p, z) in [
            (0.975, 1.959_963_984_540_054),
            (0.5, 0.0),
            (0.95, 1.644_853_626_951_472_2),
            (0.001, -3.090_232_306_167_813_5),
            (1e-12, -7.034_483_825_301_131),
            (0.3, -0.524_400_512_708_041),
        ] {
            assert!((normal_quantile(p) - z).abs() < 2e-14 * z.abs().max(1.0), "{p}: {}", normal_quantile(p));
        }
        assert_eq!(normal_quantile(0.0), f64::NEG_INFINITY);
        assert_eq!(normal_quantile(1.0), f64::INFINITY);
        assert!(normal_quantile(1.5).is_nan());
    }

    #[test]
    fn ln_gamma_is_log_factorial() {
        let mut factorial = 0.0f64;
        for n in 1..170u32 {
            assert!((ln_gamma(f64::from(n)) - factorial).abs() < 1e-13 * factorial.max(1.0), "{n}");
            factorial += f64::from(n).ln();
        }
        assert!((ln_gamma(0.5) - 0.5 * PI.ln()).abs() < 1e-14);
    }

    #[test]
    fn beta_is_a_binomial_tail() {
        // P(Binomial(5, .3) >= 2) = I_.3(2, 4) = 0.47178
        assert!((beta_cdf(0.3, 2.0, 4.0) - 0.471_78).abs() < 1e-12);
        assert!((beta_cdf(beta_quantile(0.2, 3.5, 40.0), 3.5, 40.0) - 0.2).abs() < 1e-12);
    }

    /// The closed forms for one, two and four degrees of freedom.
    #[test]
    fn student_quantile_is_that_of_the_closed_forms() {
        for p in [0.001, 0.025, 0.3, 0.6, 0.9, 0.975, 0.9999] {
            let a: f64 = 4.0 * p * (1.0 - p);
            let q = ((a.sqrt().acos() / 3.0).cos() / a.sqrt() - 1.0).max(0.0);
            let closed = [
                (1.0, (PI * (p - 0.5)).tan()),
                (2.0, (2.0 * p - 1.0) / (0.5 * a).sqrt()),
                (4.0, 2.0 * q.sqrt().copysign(p - 0.5)),
            ];
            for (df, t) in closed {
                let got = student_quantile(p, df);
                assert!((got - t).abs() < 1e-9 * t.abs().max(1.0), "{p} {df}: {got} {t}");
            }
        }
        assert_eq!(student_quantile(0.5, 3.0), 0.0);
        assert!((student_quantile(0.975, 2e6) - 1.959_963_984_540_054).abs() < 1e-12);
        assert!((student_quantile(0.975, 9e5) - 1.959_963_984_540_054).abs() < 1e-5);
    }
}
