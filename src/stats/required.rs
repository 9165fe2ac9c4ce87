//! Number of items that a comparison needs, and the smallest difference detectable with a given number of items.

use super::mcnemar::Test;
use super::power::{Discord, MOST, PowerError, power, share};
use super::special::normal_quantile;

/// Target power of a test at a level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Aim {
    /// Target power in the true direction.
    pub target: f64,
    /// Two-sided level of the test.
    pub level: f64,
    pub test: Test,
}

impl Aim {
    /// Checks that target and level are strictly between 0 and 1.
    pub fn check(self) -> Result<(), PowerError> {
        share("target", self.target)?;
        share("alpha", self.level)
    }

    fn reached(self, discord: Discord, n: u64) -> Result<bool, PowerError> {
        Ok(power(discord, n, self.level, self.test)?.power >= self.target)
    }
}

/// Numbers of items. They differ if nearly every item is discordant, because power then rises in a sawtooth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Required {
    /// The smallest n with the target power.
    pub first: u64,
    /// The smallest n from which power never falls below the target.
    pub for_good: u64,
}

/// Normal approximation of n, not rounded.
pub fn approximate(discord: Discord, aim: Aim) -> f64 {
    let (rate, gap) = (discord.rate(), discord.gap());
    let (a, b) = (normal_quantile(1.0 - 0.5 * aim.level), normal_quantile(aim.target));
    let reach = a * rate.sqrt() + b * (rate - gap * gap).max(0.0).sqrt();
    (reach / gap).powi(2)
}

/// The number of items for `aim`.
///
/// # Errors
/// [`PowerError`] for probabilities or targets out of range, no difference, or more than [`MOST`] items.
pub fn required(discord: Discord, aim: Aim) -> Result<Required, PowerError> {
    aim.check()?;
    if discord.gap() == 0.0 {
        return Err(PowerError::NoDifference);
    }
    let guess = approximate(discord, aim);
    if guess.is_nan() || guess >= 0.9 * MOST as f64 {
        return Err(PowerError::TooMany);
    }
    // Brackets the crossing, then bisects.
    let mut high = (guess as u64).max(2);
    while !aim.reached(discord, high)? {
        high = high.checked_mul(2).filter(|h| *h <= MOST).ok_or(PowerError::TooMany)?;
    }
    let mut low = high / 2;
    while low > 0 && aim.reached(discord, low)? {
        (high, low) = (low, low / 2);
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if aim.reached(discord, middle)? { high = middle } else { low = middle }
    }
    let sawtooth_width = sawtooth_width(discord, high);
    let (mut first, mut last_short) = (high, high - 1);
    for n in high.saturating_sub(sawtooth_width)..high {
        if aim.reached(discord, n)? {
            first = n;
            break;
        }
    }
    for n in (high + 1..=high + sawtooth_width).rev() {
        if !aim.reached(discord, n)? {
            last_short = n;
            break;
        }
    }
    Ok(Required { first, for_good: last_short + 1 })
}

/// Distance from the crossing within which the sawtooth may cross the target again. The critical value steps at about every other
/// discordant item; the sawtooth vanishes once the number of discordant items varies over several steps.
fn sawtooth_width(discord: Discord, n: u64) -> u64 {
    let rate = discord.rate();
    let spread = n as f64 * rate * (1.0 - rate);
    if spread > 25.0 { 0 } else { 40 + (8.0 * (n as f64).sqrt()) as u64 }
}

/// The smallest difference detected on n items with the target power if a share `rate` of items is discordant; `None` if not even the
/// largest possible difference reaches that power.
pub fn detectable(rate: f64, n: u64, aim: Aim) -> Result<Option<f64>, PowerError> {
    aim.check()?;
    let at = |gap: f64| Discord::new(0.5 * (rate - gap).max(0.0), 0.5 * (rate + gap).min(2.0));
    if rate <= 0.0 || !aim.reached(at(rate)?, n)? {
        return Ok(None);
    }
    let (mut low, mut high) = (0.0, rate);
    while high - low > 1e-7 * rate.max(1e-3) {
        let middle = 0.5 * (low + high);
        if aim.reached(at(middle)?, n)? { high = middle } else { low = middle }
    }
    Ok(Some(high))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const AIM: Aim = Aim { target: 0.8, level: 0.05, test: Test::Exact };

    #[test]
    fn sawtooth_has_a_first_and_a_last_crossing() {
        let d = Discord::new(0.0225, 0.0025).unwrap();
        assert_eq!(required(d, AIM).unwrap(), Required { first: 503, for_good: 503 });
        // Every item is discordant: 6 items are just enough if all favour the same side.
        let all = Discord::new(0.7, 0.3).unwrap();
        let r = required(all, AIM).unwrap();
        assert!(r.first < r.for_good, "{r:?}");
    }

    #[test]
    fn failed_search_is_reported() {
        let none = Discord::new(0.1, 0.1).unwrap();
        assert_eq!(required(none, AIM), Err(PowerError::NoDifference));
        let tiny = Discord::new(0.1, 0.100_000_1).unwrap();
        assert_eq!(required(tiny, AIM), Err(PowerError::TooMany));
        assert!(required(none, Aim { target: 1.0, ..AIM }).is_err());
        assert_eq!(detectable(0.1, 3, AIM), Ok(None));
        assert_eq!(detectable(0.0, 100, AIM), Ok(None));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn required_n_is_minimal(
            rate in 0.02f64..=1.0, lean in 0.55f64..=1.0, target in 0.3f64..0.95,
        ) {
            let aim = Aim { target, ..AIM };
            let d = Discord::new(rate * lean, rate * (1.0 - lean)).unwrap();
            let r = required(d, aim).unwrap();
            prop_assert!(aim.reached(d, r.first).unwrap() && !aim.reached(d, r.first - 1).unwrap());
            prop_assert!(aim.reached(d, r.for_good).unwrap() && r.first <= r.for_good);
            prop_assert!(r.for_good == r.first || !aim.reached(d, r.for_good - 1).unwrap());
        }

        #[test]
        fn detectable_difference_requires_the_given_n(rate in 0.05f64..0.9, n in 60u64..5_000) {
            if let Some(gap) = detectable(rate, n, AIM).unwrap() {
                let d = Discord::new(0.5 * (rate - gap).max(0.0), 0.5 * (rate + gap)).unwrap();
                let p = power(d, n, 0.05, Test::Exact).unwrap().power;
                prop_assert!((p - 0.8).abs() < 5e-3 || gap > 0.999 * rate, "{} {}", gap, p);
            }
        }
    }
}
