//! What a pilot says of a comparison yet to be made: power at any n, the n that is needed, and whether to give up.
//!
//! The pilot's own uncertainty goes into every number: the difference is moved along its interval ([`folded`]) while the share
//! of discordant items stays. Power computed from the pilot's difference alone only restates its p-value; with the interval
//! it says how little is known.

use super::finding::{ComparisonFinding, Open, PowerFinding};
use super::pairs::Pairs;
use super::tally::Tally;
use crate::stats::estimate::Estimate;
use crate::stats::folded;
use crate::stats::paired::{Shift, Table};
use crate::stats::power::{Discord, PowerError, power};
use crate::stats::required::{Aim, approximate, detectable, required};

/// A difference of accuracies below which nothing is recommended.
pub const TINY: f64 = 0.01;
/// Numbers of items beyond which nobody is told to go: as good as no bound.
pub const MOST_NEEDED: f64 = 1e8;
/// Least and most n of a curve, as powers of the square root of two.
const CURVE: std::ops::RangeInclusive<u32> = 4..=34;

/// Discordance and how well the pilot knows it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pilot {
    /// Items.
    pub n: usize,
    /// As observed, means over seeds.
    pub discord: Discord,
    /// The least and the largest size of the difference that the pilot is compatible with.
    pub gaps: (f64, f64),
}

impl Pilot {
    /// What one run of each side on items that stand for themselves says.
    #[must_use]
    pub fn of_table(table: &Table, level: f64) -> Option<Self> {
        let n = table.n() as f64;
        let discord = Discord::new(table.only_b as f64 / n, table.only_a as f64 / n).ok()?;
        Some(Self::new(table.n() as usize, discord, None, level))
    }

    /// What pairs say; none for metrics that are not 0 or 1, which have no discordant items.
    #[must_use]
    pub fn of(pairs: &Pairs, level: f64) -> Option<Self> {
        Self::of_tally(&pairs.tally(), level)
    }

    /// The same from what is kept of the items.
    #[must_use]
    pub fn of_tally(tally: &Tally, level: f64) -> Option<Self> {
        let total = tally.total();
        if total.n() == 0 {
            return None;
        }
        let share = |count: u64| count as f64 / total.n() as f64;
        let discord = Discord::new(share(total.only_b), share(total.only_a)).ok()?;
        Some(Self::new(tally.items, discord, tally.shift.map(|s| s.error), level))
    }

    /// `error` is the standard error of the difference, where it is not that of independent items.
    fn new(n: usize, discord: Discord, error: Option<f64>, level: f64) -> Self {
        let (rate, gap) = (discord.rate(), discord.gap());
        let lean = if rate > 0.0 { gap * gap / rate } else { 0.0 };
        // What decides is gap / sqrt(rate); its variance by the delta method, against that of the gap at a fixed rate.
        let plain = ((rate - gap * gap).max(0.0) / n as f64).sqrt();
        let variance = (1.0 - lean - 0.75 * lean * (1.0 - rate) / rate.max(f64::MIN_POSITIVE)).max(0.05);
        let error = error.unwrap_or(plain) * (variance / (1.0 - lean).max(0.05)).sqrt();
        let gaps = if rate <= 0.0 {
            // No discordant item in n: the rule of three bounds their share, and with it the difference.
            (0.0, (3.0 / n as f64).min(1.0))
        } else if error > 0.0 {
            let (lo, hi) = folded::effect(gap / error, level);
            ((lo * error).min(rate), (hi * error).min(rate))
        } else if error == 0.0 {
            // All items alike: what one more may be like is what they leave open.
            let alike = Shift { mean: gap.abs(), error, units: n };
            let open = alike.interval_within(level, (-1.0, 1.0));
            (open.lo.max(0.0), open.hi)
        } else {
            (0.0, rate)
        };
        Self { n, discord, gaps }
    }

    /// The same with a difference of another size, in the direction that the pilot saw.
    fn with_gap(&self, gap: f64) -> Discord {
        let rate = self.discord.rate().max(gap);
        let (more, less) = (0.5 * (rate + gap), 0.5 * (rate - gap));
        let first = self.discord.gap() >= 0.0;
        Discord { p01: if first { less } else { more }, p10: if first { more } else { less } }
    }

    /// Power at n, with the interval over differences that the pilot is compatible with.
    ///
    /// # Errors
    /// [`PowerError`] for an n or a level that is none.
    pub fn power(&self, n: u64, aim: Aim) -> Result<(Estimate, Option<f64>, Option<f64>), PowerError> {
        let at = |discord| power(discord, n, aim.level, aim.test);
        let middle = at(self.discord)?;
        let (lo, hi) = (at(self.with_gap(self.gaps.0))?.power, at(self.with_gap(self.gaps.1))?.power);
        let estimate = Estimate { mean: middle.power, lo: lo.min(middle.power), hi: hi.max(middle.power) };
        Ok((estimate, middle.type_m, middle.type_s))
    }

    /// The curve of power against n: doubling at every other place, and the n at hand.
    #[must_use]
    pub fn curve(&self, names: (&str, &str), aim: Aim) -> Vec<PowerFinding> {
        let mut sizes: Vec<u64> =
            CURVE.map(|k| 2f64.powf(0.5 * f64::from(k)).round() as u64).chain([self.n as u64]).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let of = |n: u64| {
            let (power, type_m, type_s) = self.power(n, aim).ok()?;
            let (a, b) = (names.0.to_owned(), names.1.to_owned());
            Some(PowerFinding { a, b, at_n: n, power, type_m, type_s, test: aim.test })
        };
        sizes.into_iter().filter_map(of).collect()
    }

    /// Items that are needed for the wanted power, with the interval that the pilot leaves.
    #[must_use]
    pub fn required(&self, aim: Aim) -> Open {
        let near = |discord: Discord| approximate(discord, aim) < MOST_NEEDED;
        let n = |discord: Discord| {
            Some(discord).filter(|d| near(*d)).and_then(|d| required(d, aim).ok()).map(|r| r.for_good as f64)
        };
        Open {
            mean: n(self.discord),
            lo: n(self.with_gap(self.gaps.1)),
            hi: if self.gaps.0 > 0.0 { n(self.with_gap(self.gaps.0)) } else { None },
        }
    }

    /// The smallest difference that the pilot's own n would show with the wanted power.
    #[must_use]
    pub fn detectable(&self, aim: Aim) -> Option<f64> {
        detectable(self.discord.rate(), self.n as u64, aim).ok().flatten()
    }
}

/// What subsamples and folds say against a recommendation.
#[must_use]
pub fn collapse(
    comparisons: &[&ComparisonFinding],
    folds: &[f64],
    best_power: f64,
    target: f64,
) -> (bool, Vec<String>) {
    let mut reasons = Vec::new();
    let Some(last) = comparisons.last() else { return (false, reasons) };
    let gap = last.difference.mean.abs();
    if gap < TINY {
        reasons.push(format!("the difference is {:.2} points, below {:.0}", 100.0 * gap, 100.0 * TINY));
    }
    if best_power < target {
        reasons
            .push(format!("power stays below {target} at every size that was run (at most {best_power:.2})"));
    }
    let subsamples: Vec<f64> = comparisons.iter().map(|c| c.difference.mean).collect();
    for (gaps, what) in [(subsamples.as_slice(), "subsamples"), (folds, "folds")] {
        let up = gaps.iter().filter(|g| **g > 0.0).count();
        let down = gaps.iter().filter(|g| **g < 0.0).count();
        if up > 0 && down > 0 {
            reasons.push(format!(
                "its sign changes over the {what} ({up} for the first, {down} for the second)"
            ));
        }
    }
    // Small samples may have little power and still show a difference that the largest one makes out.
    let collapsed = reasons.len() >= 2;
    (collapsed, reasons)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::mcnemar::Test;
    use crate::stats::rng::{stream, unit};

    const AIM: Aim = Aim { target: 0.8, level: 0.05, test: Test::Exact };

    fn table(both: u64, only_a: u64, only_b: u64, neither: u64) -> Table {
        Table { both, only_a, only_b, neither }
    }

    #[test]
    fn a_clear_pilot_asks_for_a_bounded_number() {
        let p = Pilot::of_table(&table(400, 120, 40, 80), 0.95).unwrap();
        let n = p.required(AIM);
        assert!(n.lo < n.mean && n.mean < n.hi, "{n:?}");
        let (at, m, s) = p.power(640, AIM).unwrap();
        assert!(at.lo <= at.mean && at.mean <= at.hi && m.unwrap() >= 1.0 && s.unwrap() < 1e-6);
        let curve = p.curve(("a", "b"), AIM);
        assert!(curve.windows(2).all(|w| w[0].at_n < w[1].at_n) && curve.iter().any(|c| c.at_n == 640));
        assert!(p.detectable(AIM).unwrap() < 0.16);
    }

    #[test]
    fn without_a_difference_no_number_is_enough() {
        let p = Pilot::of_table(&table(100, 10, 10, 80), 0.95).unwrap();
        let n = p.required(AIM);
        assert!(n.mean.is_none() && n.hi.is_none() && n.lo.is_some());
        assert_eq!(p.power(1_000, AIM).unwrap().0.mean, 0.0);
        let none = Pilot::of_table(&table(100, 0, 0, 80), 0.95).unwrap();
        assert_eq!(none.power(1_000, AIM).unwrap().0.mean, 0.0);
        assert!(none.required(AIM).mean.is_none() && none.detectable(AIM).is_none());
        assert!(Pilot::of_table(&Table::default(), 0.95).is_none());
        // One item, or a few that all say the same, leave nearly everything open.
        let one = Pilot::of_table(&table(0, 1, 0, 0), 0.95).unwrap();
        assert!(one.gaps.0 == 0.0 && one.required(AIM).hi.is_none(), "{one:?}");
    }

    /// Intervals of required n from pilots hold the n of the truth. Reduced; the bench runs more.
    #[test]
    fn required_n_is_covered() {
        let mut rng = stream(9, "pilots");
        // Fewer where every n asked for is far above ten thousand.
        for (p01, p10, n, runs) in [(0.05, 0.10, 200, 600), (0.05, 0.10, 640, 600), (0.28, 0.30, 640, 150)] {
            let want = required(Discord { p01, p10 }, AIM).unwrap().for_good as f64;
            let held = (0..runs).filter(|_| {
                let mut t = Table::default();
                for _ in 0..n {
                    let u = unit(&mut rng);
                    t.add(u < p10, (p10..p10 + p01).contains(&u));
                }
                let n = Pilot::of_table(&t, 0.95).unwrap().required(AIM);
                n.lo.is_none_or(|lo| lo <= want) && n.hi.is_none_or(|hi| want <= hi)
            });
            let share = held.count() as f64 / f64::from(runs);
            // Four standard errors of a share around what is asked for.
            let slack = 4.0 * (0.05 * 0.95 / f64::from(runs)).sqrt();
            assert!((share - 0.95).abs() <= slack, "{p01} {p10} {n}: {share}");
        }
    }

    #[test]
    fn two_reasons_make_a_collapse() {
        use crate::lab::power::compare::{Names, Terms, compare};
        let names = Names { a: "x".into(), b: "y".into(), metric: "correct".into() };
        let terms = Terms { level: 0.95, margin: 0.05, seed: 0, by: Test::Exact };
        let pairs = |a: &[f64], b: &[f64]| Pairs { a: vec![a.to_vec()], b: vec![b.to_vec()], clusters: None };
        let up = compare(&pairs(&[1.0, 1.0, 0.0], &[0.0, 1.0, 0.0]), &names, terms);
        let down = compare(&pairs(&[0.0, 1.0, 0.0], &[1.0, 1.0, 0.0]), &names, terms);
        assert!(collapse(&[&up, &down], &[], 0.1, 0.8).0);
        assert!(!collapse(&[&up, &up], &[0.1, 0.2], 0.1, 0.8).0);
        assert!(!collapse(&[&up], &[], 0.9, 0.8).0 && !collapse(&[], &[], 0.0, 0.8).0);
        // Folds that disagree speak against a recommendation as subsamples do.
        let (collapsed, reasons) = collapse(&[&up, &up], &[0.1, -0.1, 0.0, 0.2, 0.1, 0.1], 0.1, 0.8);
        assert!(collapsed && reasons.iter().any(|r| r.contains("folds (4 for the first, 1")), "{reasons:?}");
    }
}
