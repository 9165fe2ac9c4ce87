//! Power of McNemar's tests for n items, by summation rather than simulation.
//!
//! With p01 = P(only the second is right) and p10 = P(only the first is right), m ~ Binomial(n, p01 + p10) items are discordant, and the
//! losing side wins W ~ Binomial(m, q) of them. A test rejects if W or m - W is at most a critical k(m). Over the relevant m (about 20
//! standard deviations) each probability follows from its neighbour by a recurrence, so the sum takes O(sqrt n) steps. Type M and type S
//! errors follow Gelman and Carlin (2014), as used by Card et al. (2020).

use super::binomial::{at_most, probability};
use super::mcnemar::Test;
use super::special::normal_quantile;

/// Largest supported number of items.
pub const MOST: u64 = 1_000_000_000;
/// Number of standard deviations from the mean beyond which binomial mass counts as zero.
const REACH: f64 = 10.0;

/// Probabilities that two classifiers differ on an item drawn at random.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Discord {
    /// P(only the second is right).
    pub p01: f64,
    /// P(only the first is right).
    pub p10: f64,
}

/// Reasons why power cannot be computed.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum PowerError {
    /// The values are not probabilities of exclusive events.
    #[error("p01 {p01} and p10 {p10}: each must be from 0 to 1, and their sum at most 1")]
    Probabilities { p01: f64, p10: f64 },
    /// A level or target outside (0, 1).
    #[error("{name} is {value}: it must be between 0 and 1")]
    Share { name: &'static str, value: f64 },
    /// There is no difference to detect.
    #[error("p01 and p10 are equal: there is no difference to detect at any n")]
    NoDifference,
    /// More items than [`MOST`].
    #[error("more than {MOST} items would be needed")]
    TooMany,
}

impl Discord {
    pub fn new(p01: f64, p10: f64) -> Result<Self, PowerError> {
        let each = [p01, p10].iter().all(|p| (0.0..=1.0).contains(p));
        if each && p01 + p10 <= 1.0 + 1e-12 {
            Ok(Self { p01, p10 })
        } else {
            Err(PowerError::Probabilities { p01, p10 })
        }
    }

    /// Share of discordant items.
    pub fn rate(self) -> f64 {
        (self.p01 + self.p10).min(1.0)
    }

    /// Accuracy of the first minus accuracy of the second.
    pub fn gap(self) -> f64 {
        self.p10 - self.p01
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Power {
    /// Probability of a significant result in the true direction; 0 if there is no difference.
    pub power: f64,
    /// Probability of a significant result in either direction.
    pub either: f64,
    /// Mean factor by which significant results overstate the difference; `None` if no result can be significant.
    pub type_m: Option<f64>,
    /// Share of significant results with the wrong sign; `None` if no result can be significant.
    pub type_s: Option<f64>,
}

/// Checks that a share is strictly between 0 and 1.
pub fn share(name: &'static str, value: f64) -> Result<(), PowerError> {
    if value > 0.0 && value < 1.0 { Ok(()) } else { Err(PowerError::Share { name, value }) }
}

/// Lower tail of a binomial with a growing number of trials m and a growing bound k: `P(W <= k)` and `P(W = k)`.
struct Tail {
    p: f64,
    m: u64,
    k: i64,
    at: f64,
    below: f64,
}

impl Tail {
    fn new(m: u64, k: i64, p: f64) -> Self {
        let (at, below) = match u64::try_from(k) {
            Ok(k) => (probability(k, m, p), at_most(k, m, p)),
            Err(_) => (0.0, 0.0),
        };
        Self { p, m, k, at, below }
    }

    /// Adds a trial.
    fn grow(&mut self) {
        if self.k >= 0 {
            self.below -= self.p * self.at;
            let (m, k) = (self.m as f64, self.k as f64);
            self.at *= (1.0 - self.p) * (m + 1.0) / (m + 1.0 - k);
        }
        self.m += 1;
    }

    /// P(W = k + 1).
    fn next(&self) -> f64 {
        if self.k < 0 {
            return (self.m as f64 * (-self.p).ln_1p()).exp();
        }
        if self.p >= 1.0 {
            return f64::from(u8::from(self.k + 1 == self.m as i64));
        }
        self.at * (self.m as f64 - self.k as f64) / (self.k as f64 + 1.0) * self.p / (1.0 - self.p)
    }

    /// Raises the bound by one.
    fn raise(&mut self) {
        self.at = self.next();
        self.k += 1;
        self.below += self.at;
    }

    fn follow(&mut self, k: i64) {
        while self.k < k {
            self.raise();
        }
    }

    /// P(W <= k), clamped against rounding.
    fn sum(&self) -> f64 {
        self.below.clamp(0.0, 1.0)
    }

    /// `E[W; W <= k]`.
    fn mean(&self) -> f64 {
        let m = self.m as f64;
        self.p * (m * self.sum() - (m - self.k as f64) * self.at).max(0.0)
    }
}

/// Critical value of a test as m grows: it rejects if the losing side has at most k. -1 if it never rejects.
struct Critical {
    test: Test,
    half_level: f64,
    quantile: f64,
    half: Tail,
}

impl Critical {
    fn new(test: Test, level: f64, m: u64) -> Self {
        let quantile = normal_quantile(1.0 - 0.5 * level);
        let half_level = 0.5 * level * (1.0 + 1e-12);
        // The largest k is near (m - z sqrt m)/2; start well below it and climb.
        let size = m as f64;
        let guess = (0.5 * (size - (quantile + 2.0) * size.sqrt()) - 2.0).floor() as i64;
        let begin = if Self::climbs(test) { guess.max(-1) } else { -1 };
        let mut critical = Self { test, half_level, quantile, half: Tail::new(m, begin, 0.5) };
        // The χ² tests have closed-form critical values. Searching from -1, where all terms round to 0, would never end.
        if Self::climbs(test) {
            critical.climb();
        }
        critical
    }

    /// True if the critical value is found by summing the tail.
    fn climbs(test: Test) -> bool {
        matches!(test, Test::Exact | Test::MidP)
    }

    fn climb(&mut self) {
        // The mid-p-value gives the last term half weight.
        let last = if self.test == Test::MidP { 0.5 } else { 1.0 };
        while self.half.sum() + last * self.half.next() <= self.half_level {
            self.half.raise();
        }
    }

    fn grow(&mut self) {
        self.half.grow();
        if Self::climbs(self.test) {
            self.climb();
        }
    }

    fn k(&self) -> i64 {
        let m = self.half.m as f64;
        let reach = self.quantile * m.sqrt();
        let k = match self.test {
            Test::Exact | Test::MidP => return self.half.k,
            Test::Chi2 => (0.5 * (m - reach)).floor(),
            Test::Corrected => (0.5 * (m - reach - 1.0)).floor(),
        };
        if m == 0.0 { -1 } else { (k as i64).max(-1) }
    }
}

/// Power of a test at `level` on `n` items, in O(sqrt n) steps.
///
/// # Errors
/// [`PowerError::Share`] for a level outside (0, 1), [`PowerError::TooMany`].
pub fn power(discord: Discord, n: u64, level: f64, test: Test) -> Result<Power, PowerError> {
    share("alpha", level)?;
    if n > MOST {
        return Err(PowerError::TooMany);
    }
    let rate = discord.rate();
    let winner = discord.p01.max(discord.p10);
    let none = Power { power: 0.0, either: 0.0, type_m: None, type_s: None };
    if rate <= 0.0 || n == 0 {
        return Ok(none);
    }
    // The losing side's share of the discordant items.
    let losing = discord.p01.min(discord.p10) / (winner + discord.p01.min(discord.p10));
    let (mean, spread) = (n as f64 * rate, (n as f64 * rate * (1.0 - rate)).sqrt());
    let from = (mean - REACH * spread - 30.0).max(0.0) as u64;
    let to = ((mean + REACH * spread + 40.0) as u64).min(n);
    let mut weight = Tail::new(n, from as i64, rate);
    let mut critical = Critical::new(test, level, from);
    let mut right = Tail::new(from, critical.k(), losing);
    let mut wrong = Tail::new(from, critical.k(), 1.0 - losing);
    let (mut good, mut bad, mut size) = (0.0, 0.0, 0.0);
    for m in from..=to {
        if m > from {
            weight.raise();
            critical.grow();
            right.grow();
            wrong.grow();
            right.follow(critical.k());
            wrong.follow(critical.k());
        }
        if critical.k() < 0 {
            continue;
        }
        let w = weight.at;
        good += w * right.sum();
        bad += w * wrong.sum();
        let leads = |tail: &Tail| m as f64 * tail.sum() - 2.0 * tail.mean();
        size += w * (leads(&right) + leads(&wrong));
    }
    let either = good + bad;
    let gap = discord.gap().abs();
    let seen = either > 0.0;
    Ok(Power {
        power: if gap > 0.0 { good.min(1.0) } else { 0.0 },
        either: either.min(1.0),
        type_m: (seen && gap > 0.0).then(|| size / n as f64 / either / gap),
        type_s: (seen && gap > 0.0).then(|| bad / either),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcnemar;
    use crate::rng::{stream, unit};
    use proptest::prelude::*;

    fn of(p01: f64, p10: f64, n: u64, test: Test) -> f64 {
        power(Discord::new(p01, p10).unwrap(), n, 0.05, test).unwrap().power
    }

    /// Settings that Card et al. (2020) simulate; the expected values come from full enumeration.
    #[test]
    fn worked_settings() {
        for (p01, p10, n, exact, chi2) in [
            (0.0225, 0.0025, 500, 0.7976, 0.8646),
            (0.30, 0.28, 1000, 0.1207, 0.1294),
            (0.0, 0.02, 1000, 0.9999, 1.0),
            (0.15, 0.10, 1000, 0.8763, 0.8886),
            (0.08, 0.05, 2000, 0.9579, 0.9631),
        ] {
            assert!((of(p01, p10, n, Test::Exact) - exact).abs() < 5.1e-5, "{p01} {p10} {n}");
            assert!((of(p01, p10, n, Test::Chi2) - chi2).abs() < 5.1e-5, "{p01} {p10} {n}");
        }
    }

    #[test]
    fn edges() {
        let none = Discord::new(0.1, 0.1).unwrap();
        let p = power(none, 1000, 0.05, Test::Exact).unwrap();
        assert!(p.power == 0.0 && p.either > 0.01 && p.type_m.is_none());
        assert_eq!(of(0.0, 0.0, 1000, Test::Exact), 0.0);
        assert_eq!(of(0.5, 0.0, 1, Test::Exact), 0.0);
        assert!((of(0.0, 1.0, 6, Test::Exact) - 1.0).abs() < 1e-12);
        assert_eq!(of(0.0, 1.0, 5, Test::Exact), 0.0);
        assert!((of(0.05, 0.0501, 10_000_000, Test::Exact) - 0.167_9).abs() < 1e-3);
        assert!(Discord::new(0.6, 0.5).is_err() && Discord::new(-0.1, 0.5).is_err());
        assert!(Discord::new(f64::NAN, 0.5).is_err());
        let d = Discord::new(0.1, 0.2).unwrap();
        assert!(power(d, 10, 0.0, Test::Exact).is_err() && power(d, MOST + 1, 0.05, Test::Exact).is_err());
    }

    /// Regression: with χ² and more than about two thousand discordant items, the search for a critical value never ended.
    #[test]
    fn chi_squared_has_power_at_large_n() {
        assert!((of(0.28, 0.30, 3_000, Test::Chi2) - of(0.28, 0.30, 3_000, Test::Exact)).abs() < 0.01);
        assert!(of(0.28, 0.30, 1_000_000, Test::Corrected) > 0.999);
    }

    /// The sum has O(sqrt n) terms (20 standard deviations of the number of discordant items), each in constant time. An algorithm linear
    /// in n would not finish at n = 10⁹.
    #[test]
    fn power_at_the_largest_n_is_fast() {
        for test in Test::ALL {
            let (p01, p10) = (0.3, 0.300_03);
            let got = power(Discord::new(p01, p10).unwrap(), MOST, 0.05, test).unwrap();
            let z = (p10 - p01) * (MOST as f64 / (p01 + p10)).sqrt();
            let want = super::super::folded::normal_at_most(z - normal_quantile(0.975));
            assert!((got.power - want).abs() < 1e-3, "{test:?}: {} {want}", got.power);
        }
    }

    /// Power from the definition, by enumerating all tables of a small sample.
    fn enumerated(p01: f64, p10: f64, n: u64, level: f64, test: Test) -> (f64, f64, f64) {
        let (mut good, mut bad, mut size) = (0.0, 0.0, 0.0);
        for m in 0..=n {
            for b in 0..=m {
                let q = if p01 + p10 > 0.0 { p10 / (p01 + p10) } else { 0.0 };
                let w = probability(m, n, p01 + p10) * probability(b, m, q);
                let c = m - b;
                if test.p(b, c) <= level && b != c {
                    let up = (b > c) == (p10 > p01);
                    *(if up { &mut good } else { &mut bad }) += w;
                    size += w * (b.abs_diff(c)) as f64 / n as f64;
                }
            }
        }
        (good, bad, size)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn summation_equals_enumeration(
            rate in 0.0f64..=1.0, side in 0.0f64..=1.0, n in 1u64..60, level in 0.001f64..0.3, which in 0usize..4,
        ) {
            let test = Test::ALL[which];
            let (p01, p10) = (rate * side, rate * (1.0 - side));
            let got = power(Discord::new(p01, p10).unwrap(), n, level, test).unwrap();
            let (good, bad, size) = enumerated(p01, p10, n, level, test);
            let gap = (p01 - p10).abs();
            prop_assert!((got.either - good - bad).abs() < 1e-9);
            if gap > 0.0 {
                prop_assert!((got.power - good).abs() < 1e-9, "{} {}", got.power, good);
                if good + bad > 1e-6 {
                    prop_assert!((got.type_m.unwrap() - size / (good + bad) / gap).abs() < 1e-6 / gap);
                    prop_assert!((got.type_s.unwrap() - bad / (good + bad)).abs() < 1e-6);
                }
            }
        }
    }

    #[test]
    fn simulation_agrees() {
        let (p01, p10, n, runs) = (0.12, 0.07, 300u64, 4_000);
        let mut rng = stream(1, "simulated power");
        let hits = (0..runs).filter(|_| {
            let (mut b, mut c) = (0, 0);
            for _ in 0..n {
                let u = unit(&mut rng);
                c += u64::from(u < p01);
                b += u64::from((p01..p01 + p10).contains(&u));
            }
            c > b && mcnemar::exact(b, c) <= 0.05
        });
        let share = hits.count() as f64 / f64::from(runs);
        let want = of(p01, p10, n, Test::Exact);
        assert!((share - want).abs() < 4.0 * (want * (1.0 - want) / f64::from(runs)).sqrt(), "{share} {want}");
    }
}
