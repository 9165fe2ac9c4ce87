//! What a pilot says of a comparison yet to be made: power at any n, the n that is needed, and whether to give up.
//!
//! The pilot's own uncertainty goes into every number: the difference is moved along its interval ([`folded`]) while the share
//! of discordant items stays. Power computed from the pilot's difference alone only restates its p-value; with the interval
//! it says how little is known.

use super::finding::{ComparisonFinding, Open, PowerFinding};
use super::pairs::Pairs;
use super::tally::Tally;
use stats::estimate::Estimate;
use stats::folded;
use stats::paired::{Shift, Table};
use stats::power::{Discord, MOST, Power, PowerError, power, share};
use stats::required::{Aim, approximate, detectable, required};
use stats::student;

/// A difference of accuracies below which nothing is recommended.
pub const TINY: f64 = 0.01;
/// Numbers of items beyond which nobody is told to go: as good as no bound.
pub(crate) const MOST_NEEDED: f64 = 1e8;
/// Least and most n of a curve, as powers of the square root of two.
const CURVE: std::ops::RangeInclusive<u32> = 4..=34;

/// What a pilot knows of the difference, and by which test the comparison yet to be made will look for it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pilot {
    /// Items.
    pub n: usize,
    /// The difference as observed, means over seeds.
    pub gap: f64,
    /// The least and the largest size of the difference that the pilot is compatible with.
    pub gaps: (f64, f64),
    /// The test.
    pub by: By,
}

/// The test whose power a pilot is asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum By {
    /// McNemar's of one run of each side on items that stand for themselves: how the sides differ on an item.
    McNemar(Discord),
    /// Student's t over independent units: clusters of items, items with values that are not 0 or 1, or two sets of items. More items are
    /// more units of the same kind.
    Student {
        /// Standard error of the difference with the pilot's items.
        error: f64,
        /// Independent units among them.
        units: usize,
        /// How many times larger the variance is than that of McNemar's items that stand for themselves; none where no items do.
        design: Option<f64>,
    },
}

impl Pilot {
    /// What one run of each side on items that stand for themselves says.
    pub fn of_table(table: &Table, level: f64) -> Option<Self> {
        let n = table.n() as f64;
        let discord = Discord::new(table.only_b as f64 / n, table.only_a as f64 / n).ok()?;
        Some(Self::by_mcnemar(table.n() as usize, discord, None, level))
    }

    /// What pairs say; none without items.
    pub fn of(pairs: &Pairs, level: f64) -> Option<Self> {
        Self::of_tally(&pairs.tally(), level)
    }

    /// The same from what is kept of the items.
    pub fn of_tally(tally: &Tally, level: f64) -> Option<Self> {
        let total = tally.total();
        let share = |count: u64| count as f64 / total.n() as f64;
        let discord = Discord::new(share(total.only_b), share(total.only_a)).ok();
        match (tally.shift, discord) {
            (Some(shift), discord) if tally.clustered || discord.is_none() => {
                let most = discord.map_or(if tally.apart { 1.0 } else { f64::MAX }, Discord::rate);
                Self::by_student(tally.items, shift, (discord, most), level)
            }
            (shift, Some(discord)) => {
                Some(Self::by_mcnemar(tally.items, discord, shift.map(|s| s.error), level))
            }
            (_, None) => None,
        }
    }

    /// `error` is the standard error of the difference, where it is not that of independent items.
    fn by_mcnemar(n: usize, discord: Discord, error: Option<f64>, level: f64) -> Self {
        let (rate, gap) = (discord.rate(), discord.gap());
        let lean = if rate > 0.0 { gap * gap / rate } else { 0.0 };
        // What decides is gap / sqrt(rate); its variance by the delta method, against that of the gap at a fixed rate.
        let plain = ((rate - gap * gap).max(0.0) / n as f64).sqrt();
        let variance = (1.0 - lean - 0.75 * lean * (1.0 - rate) / rate.max(f64::MIN_POSITIVE)).max(0.05);
        let error = error.unwrap_or(plain) * (variance / (1.0 - lean).max(0.05)).sqrt();
        let gaps = if rate <= 0.0 {
            unseen(n)
        } else if error > 0.0 {
            let (lo, hi) = folded::effect(gap / error, level);
            ((lo * error).min(rate), (hi * error).min(rate))
        } else if error == 0.0 {
            alike(gap, n, level)
        } else {
            (0.0, rate)
        };
        Self { n, gap, gaps, by: By::McNemar(discord) }
    }

    /// What independent units say; `discord` where their items are right or wrong on both sides, and the largest difference there can
    /// be.
    fn by_student(
        n: usize,
        shift: Shift,
        (discord, most): (Option<Discord>, f64),
        level: f64,
    ) -> Option<Self> {
        let Shift { mean: gap, error, units } = shift;
        if n == 0 || gap.is_nan() {
            return None;
        }
        let gaps = if most <= 0.0 {
            unseen(units)
        } else if error > 0.0 {
            let (lo, hi) = student::effect(gap / error, units as f64 - 1.0, level);
            ((lo * error).min(most), (hi * error).min(most))
        } else if error == 0.0 && most <= 1.0 {
            alike(gap, units, level)
        } else if error == 0.0 {
            (gap.abs(), gap.abs())
        } else {
            (0.0, most)
        };
        let plain = discord.map(|d| (d.rate() - d.gap().powi(2)) / n as f64).filter(|plain| *plain > 0.0);
        let design = plain.map(|plain| error * error / plain).filter(|d| d.is_finite());
        Some(Self { n, gap, gaps, by: By::Student { error, units, design } })
    }

    /// The same with a difference of another size, in the direction that the pilot saw.
    fn with_gap(&self, size: f64) -> Self {
        let first = self.gap >= 0.0;
        let gap = if first { size } else { -size };
        let by = match self.by {
            By::McNemar(discord) => {
                let rate = discord.rate().max(size);
                let (more, less) = (0.5 * (rate + size), 0.5 * (rate - size));
                let (p01, p10) = if first { (less, more) } else { (more, less) };
                By::McNemar(Discord { p01, p10 })
            }
            student @ By::Student { .. } => student,
        };
        Self { gap, by, ..*self }
    }

    /// What the test does on `n` items where the difference is what was observed.
    fn at(&self, n: u64, aim: Aim) -> Result<Power, PowerError> {
        let (error, units) = match self.by {
            By::McNemar(discord) => return power(discord, n, aim.level, aim.test),
            By::Student { error, units, .. } => (error, units),
        };
        share("alpha", aim.level)?;
        if n > MOST {
            return Err(PowerError::TooMany);
        }
        let more = n as f64 / self.n as f64;
        let units = more * units as f64;
        if error == 0.0 && self.gap != 0.0 {
            // Units that are all alike count as coins that fell on one side.
            let shown = 2f64.powf(1.0 - units) <= aim.level;
            return Ok(student::power(if shown { f64::INFINITY } else { f64::NAN }, units - 1.0, aim.level));
        }
        let theta = if self.gap == 0.0 { 0.0 } else { self.gap / error * more.sqrt() };
        Ok(student::power(theta, units - 1.0, aim.level))
    }

    /// Power at n, with the interval over differences that the pilot is compatible with.
    ///
    /// # Errors
    /// [`PowerError`] for an n or a level that is none.
    pub fn power(&self, n: u64, aim: Aim) -> Result<(Estimate, Option<f64>, Option<f64>), PowerError> {
        let middle = self.at(n, aim)?;
        let at = |size: f64| self.with_gap(size).at(n, aim);
        let (lo, hi) = (at(self.gaps.0)?.power, at(self.gaps.1)?.power);
        let estimate = Estimate { mean: middle.power, lo: lo.min(middle.power), hi: hi.max(middle.power) };
        Ok((estimate, middle.type_m, middle.type_s))
    }

    /// The curve of power against n: doubling at every other place, and the n at hand.
    pub fn curve(&self, names: (&str, &str), aim: Aim) -> Vec<PowerFinding> {
        let mut sizes: Vec<u64> =
            CURVE.map(|k| 2f64.powf(0.5 * f64::from(k)).round() as u64).chain([self.n as u64]).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let student = matches!(self.by, By::Student { .. });
        let of = |n: u64| {
            let (power, type_m, type_s) = self.power(n, aim).ok()?;
            let (a, b) = (names.0.to_owned(), names.1.to_owned());
            Some(PowerFinding { a, b, at_n: n, power, type_m, type_s, test: aim.test, student })
        };
        sizes.into_iter().filter_map(of).collect()
    }

    /// Items that are needed for the wanted power where the difference is what was observed.
    fn enough(&self, aim: Aim) -> Option<f64> {
        match self.by {
            By::McNemar(d) if approximate(d, aim) < MOST_NEEDED => {
                required(d, aim).ok().map(|r| r.for_good as f64)
            }
            By::McNemar(_) => None,
            By::Student { error, units, .. } => {
                let each = self.n as f64 / units as f64;
                if error == 0.0 {
                    // As many coins as fall on one side by chance with probability at most the level.
                    return (self.gap != 0.0).then(|| ((1.0 - aim.level.log2()).ceil() * each).ceil());
                }
                let theta = self.gap.abs() / error / (units as f64).sqrt();
                let found = student::required(theta, aim.level, aim.target, MOST_NEEDED / each)?;
                Some((found * each).ceil())
            }
        }
    }

    /// Items that are needed for the wanted power, with the interval that the pilot leaves.
    pub fn required(&self, aim: Aim) -> Open {
        let n = |size: f64| self.with_gap(size).enough(aim);
        Open {
            mean: self.enough(aim),
            lo: n(self.gaps.1),
            hi: if self.gaps.0 > 0.0 { n(self.gaps.0) } else { None },
        }
    }

    /// The smallest difference that the pilot's own n would show with the wanted power.
    pub fn detectable(&self, aim: Aim) -> Option<f64> {
        match self.by {
            By::McNemar(d) => detectable(d.rate(), self.n as u64, aim).ok().flatten(),
            By::Student { error, units, .. } => {
                let theta = student::detectable(units as f64 - 1.0, aim.level, aim.target)?;
                Some(theta * error).filter(|gap| *gap > 0.0)
            }
        }
    }

    /// How many times larger the variance is for items that belong together; none where each stands for itself.
    pub fn design(&self) -> Option<f64> {
        match self.by {
            By::McNemar(_) => None,
            By::Student { design, .. } => design,
        }
    }
}

/// Differences that are compatible with no discordant item in n: the rule of three bounds their share, and with it the difference.
fn unseen(n: usize) -> (f64, f64) {
    (0.0, (3.0 / n as f64).min(1.0))
}

/// Differences that are compatible with units that are all alike: what one more may be like is what they leave open.
fn alike(gap: f64, units: usize, level: f64) -> (f64, f64) {
    let open = Shift { mean: gap.abs(), error: 0.0, units }.interval_within(level, (-1.0, 1.0));
    (open.lo.max(0.0), open.hi)
}

/// What subsamples and folds say against a recommendation.
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
    use stats::mcnemar::Test;
    use stats::rng::{stream, unit};

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
        use crate::compare::{Names, Terms, compare};
        let names = Names { a: "x".into(), b: "y".into(), metric: "correct".into() };
        let terms = Terms { level: 0.95, margin: 0.05, seed: 0, by: Test::Exact };
        let pairs = |a: &[f64], b: &[f64]| Pairs {
            a: vec![a.to_vec()],
            b: vec![b.to_vec()],
            clusters: None,
            apart: false,
        };
        let up = compare(&pairs(&[1.0, 1.0, 0.0], &[0.0, 1.0, 0.0]), &names, terms);
        let down = compare(&pairs(&[0.0, 1.0, 0.0], &[1.0, 1.0, 0.0]), &names, terms);
        assert!(collapse(&[&up, &down], &[], 0.1, 0.8).0);
        assert!(!collapse(&[&up, &up], &[0.1, 0.2], 0.1, 0.8).0);
        assert!(!collapse(&[&up], &[], 0.9, 0.8).0 && !collapse(&[], &[], 0.0, 0.8).0);
        // Folds that disagree speak against a recommendation as subsamples do.
        let (collapsed, reasons) = collapse(&[&up, &up], &[0.1, -0.1, 0.0, 0.2, 0.1, 0.1], 0.1, 0.8);
        assert!(collapsed && reasons.iter().any(|r| r.contains("folds (4 for the first, 1")), "{reasons:?}");
    }

    /// Power, required n and what can be seen took every item for itself, although their clusters were asked for.
    #[test]
    fn items_that_belong_together_need_more_of_them() {
        let value = |c: usize| [(1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (1.0, 0.0), (0.0, 0.0)][c % 5];
        let side = |f: fn((f64, f64)) -> f64| vec![(0..400).map(|i| f(value(i / 10))).collect::<Vec<f64>>()];
        let alone = Pairs { a: side(|v| v.0), b: side(|v| v.1), clusters: None, apart: false };
        let together = Pairs { clusters: Some((0..400).map(|i| i / 10).collect()), ..alone.clone() };
        let (x, y) = (Pilot::of(&alone, 0.95).unwrap(), Pilot::of(&together, 0.95).unwrap());
        let design = y.design().unwrap();
        // Ten copies of each item: the variance is that of forty items, by n - 1.
        assert!((design - 10.0 * 40.0 / 39.0).abs() < 1e-9 && x.design().is_none(), "{design}");
        let ratio = y.required(AIM).mean.unwrap() / x.required(AIM).mean.unwrap();
        assert!((9.0..12.0).contains(&ratio), "{ratio}");
        assert!(y.power(400, AIM).unwrap().0.mean < 0.5 * x.power(400, AIM).unwrap().0.mean);
        let ratio = y.detectable(AIM).unwrap() / x.detectable(AIM).unwrap();
        assert!((2.8..3.8).contains(&ratio), "{ratio}");
        assert!(y.curve(("a", "b"), AIM).iter().all(|p| p.student));
        // As many clusters as are needed show it as often as is wanted; fewer than two show nothing.
        let n = y.required(AIM).mean.unwrap() as u64;
        assert!((y.power(n, AIM).unwrap().0.mean - 0.8).abs() < 0.01);
        assert_eq!(y.power(15, AIM).unwrap().0.mean, 0.0);
    }

    /// Metrics that are not 0 or 1 had no power at all, and two sets of items are compared without pairs.
    #[test]
    fn other_metrics_and_two_sets_of_items_have_power_too() {
        let a: Vec<f64> = (0..300).map(|i| f64::from(i * 7 % 31)).collect();
        let b: Vec<f64> = (0..300).map(|i| f64::from(i * 11 % 29)).collect();
        let pairs = Pairs { a: vec![a], b: vec![b], clusters: None, apart: false };
        let pilot = Pilot::of(&pairs, 0.95).unwrap();
        assert!(
            pilot.design().is_none() && pilot.required(AIM).mean.is_some() && pilot.detectable(AIM).is_some()
        );
        let side = |n: usize, share: usize| {
            vec![(0..n).map(|i| f64::from(u8::from(i * 37 % 100 < share))).collect()]
        };
        let apart = Pairs { a: side(400, 80), b: side(300, 70), clusters: None, apart: true };
        let (tally, pilot) = (apart.tally(), Pilot::of(&apart, 0.95).unwrap());
        assert!(tally.tables.is_empty() && tally.apart && apart.votes().is_none());
        assert_eq!((tally.items, apart.select(&[0, 1]).n()), (300, 2));
        let found = pilot.required(AIM);
        assert!(
            (0.09..0.11).contains(&pilot.gap) && found.lo < found.mean && found.mean < found.hi,
            "{found:?}"
        );
        // Two proportions by the normal approximation, 4 to 3 as here.
        let want = (1.96f64 + 0.8416).powi(2) * (0.16 * 3.0 / 4.0 + 0.21) / 0.01;
        assert!((found.mean.unwrap() / want - 1.0).abs() < 0.05, "{found:?} {want}");
        let perfect = Pairs { a: side(50, 100), b: side(50, 100), clusters: None, apart: true };
        let pilot = Pilot::of(&perfect, 0.95).unwrap();
        assert!(pilot.gaps.1 > 0.05 && pilot.required(AIM).mean.is_none(), "{pilot:?}");
    }
}
