//! Power of Student's t for means of independent units (clusters, or items averaged over seeds), by numerical integration over the sample's
//! spread.
//!
//! With `theta` the true mean in standard errors and `df` degrees of freedom, the statistic is noncentral t. Given the sample's spread (s
//! times the true one, df s² ~ χ²) the mean is normal and its tails have closed forms; one integral over s remains. Type M and type S
//! errors follow Gelman and Carlin (2014).

use super::folded::{self, normal_at_most};
use super::power::Power;
use super::special::{normal_quantile, student_quantile};

/// Degrees of freedom above which the sample's spread counts as the true one.
const MANY: f64 = 1e6;
/// Log density below which mass is negligible.
const NOTHING: f64 = -40.0;

/// Ratios of sample to true standard deviation, with weights that sum to 1.
struct Spreads(Vec<(f64, f64)>);

impl Spreads {
    fn new(df: f64) -> Self {
        if df >= MANY {
            return Self(vec![(1.0, 1.0)]);
        }
        // In x = ln s the density decays on both sides (as e^(df x) below, faster above). The trapezium rule is nearly exact with steps of
        // half a standard deviation.
        let log = |x: f64| df * (x - 0.5 * (2.0 * x).exp_m1());
        let step = (0.5 / (2.0 * df).sqrt()).min(0.15);
        let along = |by: f64| {
            let each = (0..).map(move |k| by * f64::from(k)).map(|x| (x.exp(), log(x)));
            each.take_while(|(_, log)| *log > NOTHING).map(|(s, log)| (s, log.exp()))
        };
        let mut all: Vec<(f64, f64)> = along(step).chain(along(-step).skip(1)).collect();
        let sum: f64 = all.iter().map(|(_, w)| w).sum();
        all.iter_mut().for_each(|(_, w)| *w /= sum);
        Self(all)
    }
}

/// Density of the standard normal.
fn density(x: f64) -> f64 {
    (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

/// Power of the two-sided t test at `level` for a mean of `theta` standard errors. Power is 0 with `df` below 1.
pub fn power(theta: f64, df: f64, level: f64) -> Power {
    let none = Power { power: 0.0, either: 0.0, type_m: None, type_s: None };
    if df.is_nan() || df < 1.0 || theta.is_nan() {
        return none;
    }
    let (theta, critical) = (theta.abs(), student_quantile(1.0 - 0.5 * level, df));
    if theta.is_infinite() {
        return Power { power: 1.0, either: 1.0, type_m: Some(1.0), type_s: Some(0.0) };
    }
    let (mut good, mut bad, mut size) = (0.0, 0.0, 0.0);
    for (s, weight) in Spreads::new(df).0 {
        // The mean is significant above `reach` and below `-reach`.
        let reach = critical * s;
        let (up, down) = (normal_at_most(theta - reach), normal_at_most(-reach - theta));
        good += weight * up;
        bad += weight * down;
        size += weight * (theta * (up - down) + density(reach - theta) + density(reach + theta));
    }
    let either = good + bad;
    let seen = either > 0.0 && theta > 0.0;
    Power {
        power: if theta > 0.0 { good.min(1.0) } else { 0.0 },
        either: either.min(1.0),
        type_m: seen.then(|| size / either / theta),
        type_s: seen.then(|| bad / either),
    }
}

/// The smallest `theta` detected with the target power; `None` without degrees of freedom.
pub fn detectable(df: f64, level: f64, target: f64) -> Option<f64> {
    let reached = |theta: f64| power(theta, df, level).power >= target;
    let mut high = 8.0;
    while !reached(high) {
        high *= 4.0;
        if high > 1e9 {
            return None;
        }
    }
    let mut low = 0.0;
    while high - low > 1e-6 * high {
        let middle = 0.5 * (low + high);
        if reached(middle) { high = middle } else { low = middle }
    }
    Some(high)
}

/// Interval at `level` for the size of the true mean in standard errors, from the statistic `t`. With few units the spread is uncertain
/// too: t has variance of about `1 + theta²/(2 df)` and is too large by about `1/(4 df)` of its value (Johnson and Welch 1940). After
/// scaling to variance 1, [`folded::effect`] gives the interval.
pub fn effect(t: f64, df: f64, level: f64) -> (f64, f64) {
    if df.is_nan() || df < 1.0 {
        return (f64::NAN, f64::NAN);
    }
    let scale = (1.0 + t * t / (2.0 * df)).sqrt();
    let (lo, hi) = folded::effect(t * (1.0 - 0.25 / df) / scale, level);
    (lo * scale, hi * scale)
}

/// Units needed for the target power, not rounded; `theta` is the true mean in standard deviations of one unit. `None` if the mean is 0 or
/// more than `most` units are needed.
pub fn required(theta: f64, level: f64, target: f64, most: f64) -> Option<f64> {
    let reached = |units: f64| power(theta * units.sqrt(), units - 1.0, level).power >= target;
    let guess = ((normal_quantile(1.0 - 0.5 * level) + normal_quantile(target)) / theta).powi(2);
    if guess.is_nan() || guess > most {
        return None;
    }
    let mut high = guess.max(2.0);
    while !reached(high) {
        high *= 1.5;
        if high > most {
            return None;
        }
    }
    let mut low = 1.0;
    while high - low > 1e-4 * high {
        let middle = 0.5 * (low + high);
        if reached(middle) { high = middle } else { low = middle }
    }
    Some(high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paired::Differences;
    use crate::rng::{stream, unit};

    /// `nct.sf(t.ppf(.975, df), df, theta)` and `nct.cdf(-t.ppf(.975, df), df, theta)` in SciPy 1.17.
    const WORKED: [(f64, f64, f64, f64); 7] = [
        (1.0, 1.0, 0.067_763_013_9, 0.005_225_880_6),
        (3.0, 1.0, 0.186_108_074_2, 2.398_7e-5),
        (2.8, 4.0, 0.563_557_326_2, 8.718_7e-6),
        (2.8, 29.0, 0.772_252_141_0, 1.492_4e-6),
        (3.2, 99.0, 0.886_638_418_9, 1.453_2e-7),
        (1.0, 999.0, 0.168_294_915_99, 0.001_543_178_0),
        (5.0, 12.0, 0.995_472_086_55, 1.705_5e-11),
    ];

    #[test]
    fn power_matches_noncentral_t() {
        for (theta, df, want, wrong) in WORKED {
            let got = power(theta, df, 0.05);
            assert!((got.power - want).abs() < 1e-7, "{theta} {df}: {} {want}", got.power);
            let bad = got.type_s.unwrap() * got.either;
            assert!((bad - wrong).abs() < 1e-4 * wrong + 1e-12, "{theta} {df}: {bad} {wrong}");
        }
        assert_eq!((power(0.0, 10.0, 0.05).power, power(3.0, 0.5, 0.05).power), (0.0, 0.0));
        for df in [1.0, 2.0, 5.0, 29.0, 1e3, 1e5, 1e7] {
            assert!((power(0.0, df, 0.05).either - 0.05).abs() < 1e-6, "{df}");
        }
    }

    #[test]
    fn required_n_and_detectable_effect_have_the_power() {
        for (theta, target) in [(0.1, 0.8), (0.5, 0.9), (2.0, 0.8)] {
            let units = required(theta, 0.05, target, 1e8).unwrap();
            let at = |units: f64| power(theta * units.sqrt(), units - 1.0, 0.05).power;
            assert!(at(units) >= target && at(0.99 * units) < target, "{theta}: {units}");
        }
        assert_eq!((required(0.0, 0.05, 0.8, 1e8), required(1e-5, 0.05, 0.8, 1e8)), (None, None));
        for df in [1.0, 4.0, 29.0, 1e7] {
            let theta = detectable(df, 0.05, 0.8).unwrap();
            assert!((power(theta, df, 0.05).power - 0.8).abs() < 1e-4, "{df}: {theta}");
        }
        assert!(detectable(0.0, 0.05, 0.8).is_none());
    }

    /// Type M from its definition: mean absolute value of significant means, divided by the true mean.
    #[test]
    fn simulation_agrees() {
        use crate::special::normal_quantile;
        let (mut rng, units, runs, gap) = (stream(3, "student"), 12, 6_000, 0.6);
        let (mut hits, mut size) = (0.0, 0.0);
        for _ in 0..runs {
            let one = |_| gap + normal_quantile(unit(&mut rng).clamp(1e-12, 1.0 - 1e-12));
            let d = Differences::of_items((0..units).map(one).collect());
            if d.p() <= 0.05 {
                hits += 1.0;
                size += d.mean().abs();
            }
        }
        let want = power(gap * f64::from(units).sqrt(), f64::from(units) - 1.0, 0.05);
        let (share, error) = (hits / f64::from(runs), 4.0 * (0.25 / f64::from(runs)).sqrt());
        assert!((share - want.either).abs() < error, "{share} {}", want.either);
        let m = size / hits / gap;
        assert!((m - want.type_m.unwrap()).abs() < 0.03, "{m} {:?}", want.type_m);
    }

    #[test]
    fn effects_are_covered() {
        use crate::special::normal_quantile;
        let (mut rng, runs) = (stream(5, "effects"), 2_000);
        for (units, theta) in [(12, 0.0), (12, 2.0), (30, 3.0), (30, 6.0)] {
            let held = (0..runs).filter(|_| {
                let mean = theta / f64::from(units).sqrt();
                let one = |_| mean + normal_quantile(unit(&mut rng).clamp(1e-12, 1.0 - 1e-12));
                let d = Differences::of_items((0..units).map(one).collect());
                let (lo, hi) = effect(d.mean() / d.standard_error(), f64::from(units) - 1.0, 0.95);
                lo <= theta && theta <= hi
            });
            let share = held.count() as f64 / f64::from(runs);
            assert!((0.93..0.975).contains(&share), "{units} {theta}: {share}");
        }
    }
}
