//! Mean difference over the items of several tasks, with the tasks fixed: it does not generalise to other tasks.
//!
//! Tasks are strata: the variance of the mean comes from paired differences within each task. Right or wrong answers use Tango's score over
//! all items, with the design effect of strata and clusters. A pseudo-unit pulls that effect towards its maximum, as in [`super::joint`].
//! Other metrics use Student's t with Satterthwaite's degrees of freedom.

use super::estimate::Estimate;
use super::joint::Units;
use super::paired::{Differences, Shift, Table, ends, score};
use super::special::student_quantile;

#[derive(Debug, Clone, PartialEq)]
pub struct Stratum {
    /// Differences by item or cluster.
    pub units: Differences,
    /// Right and wrong answers, summed over the seeds; `None` for other metrics.
    pub table: Option<Table>,
    /// Number of runs of each side.
    pub seeds: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Strata {
    shift: Shift,
    /// Number of units.
    all: usize,
    /// Counts over all items, the units, and the ratio of the variance within tasks to the variance of all items pooled.
    joint: Option<(Table, Units, f64)>,
    clustered: bool,
}

impl Strata {
    /// Combines the tasks; `None` without items.
    pub fn of(tasks: &[Stratum]) -> Option<Self> {
        let items = |t: &Stratum| t.units.sizes.iter().sum::<f64>();
        let n: f64 = tasks.iter().map(items).sum();
        if n == 0.0 {
            return None;
        }
        let (mut mean, mut variance, mut squares) = (0.0, 0.0, 0.0);
        for task in tasks.iter().filter(|t| items(t) > 0.0) {
            let (shift, weight) = (task.units.shift(), items(task) / n);
            mean += weight * shift.mean;
            // A single unit shows no spread; the variance of a difference within ±1 is at most 1.
            let own = weight * weight * if shift.error.is_nan() { 1.0 } else { shift.error.powi(2) };
            variance += own;
            if shift.units > 1 {
                squares += own * own / (shift.units as f64 - 1.0);
            }
        }
        let all: usize = tasks.iter().map(|t| t.units.sums.len()).sum();
        let df = if squares > 0.0 { variance * variance / squares } else { (all - 1) as f64 };
        let shift = Shift { mean, error: variance.sqrt(), units: (df.floor().max(1.0) as usize + 1).min(all) };
        let clustered = tasks.iter().any(|t| t.seeds > 1 || t.units.sizes.iter().any(|size| *size != 1.0));
        Some(Self { shift, all, joint: Self::joint(tasks), clustered })
    }

    fn joint(tasks: &[Stratum]) -> Option<(Table, Units, f64)> {
        let seeds = tasks.first()?.seeds;
        let (mut table, mut within, mut units) = (Table::default(), 0.0, Differences::default());
        for task in tasks.iter().filter(|t| !t.units.sums.is_empty()) {
            let own = task.table.filter(|_| task.seeds == seeds)?;
            table.both += own.both;
            table.only_a += own.only_a;
            table.only_b += own.only_b;
            table.neither += own.neither;
            within += spread(&own);
            units.sums.extend(&task.units.sums);
            units.sizes.extend(&task.units.sizes);
        }
        Some((table, Units::of(&units, seeds), within / spread(&table)))
    }

    /// Variance of the mean relative to its variance for the same number of independent items from one task.
    fn design(&self, table: &Table, units: Units, within: f64) -> f64 {
        if units.differing == 0 {
            return units.most;
        }
        let n = table.n() as f64;
        let plain = spread(table) / (n * n);
        let seen = if plain > 0.0 { (self.shift.error.powi(2) / plain).max(within) } else { 0.0 };
        (seen * units.differing as f64 + units.most) / (units.differing as f64 + 1.0)
    }

    /// True if the differences within each task are equal, so that no design effect can be estimated.
    fn is_bound(&self) -> bool {
        self.shift.error == 0.0 && (self.clustered || self.joint.is_none())
    }

    /// The mean over items with its interval.
    pub fn interval(&self, level: f64) -> Estimate {
        let Some((table, units, within)) = self.joint.filter(|_| !self.is_bound()) else {
            let e = Shift { units: self.bounding(), ..self.shift }.interval_within(level, (-1.0, 1.0));
            return Estimate { mean: e.mean, lo: e.lo.max(-1.0), hi: e.hi.min(1.0) };
        };
        let quantile = student_quantile(0.5 + 0.5 * level, self.shift.units as f64 - 1.0);
        let widened = quantile * self.design(&table, units, within).sqrt();
        let (lo, hi) = ends(self.shift.mean, |gap| score(&table, gap) / widened);
        Estimate { mean: self.shift.mean, lo, hi }
    }

    /// p-value for the hypothesis of no difference, based on the same score as the interval, but at least the probability that all
    /// differing units favour one side by chance.
    pub fn p(&self) -> f64 {
        let Some((table, units, within)) = self.joint.filter(|_| !self.is_bound()) else {
            return Shift { units: self.bounding(), ..self.shift }.p_of_signs();
        };
        let score = score(&table, 0.0) / self.design(&table, units, within).sqrt();
        Shift { mean: score, error: 1.0, units: self.shift.units }.p().max(units.least_p())
    }

    /// Number of units, used by the exact bound if there is no spread and by Student's t otherwise.
    fn bounding(&self) -> usize {
        if self.shift.error == 0.0 { self.all } else { self.shift.units }
    }
}

/// Sum of squared deviations of the items' differences from their mean.
fn spread(table: &Table) -> f64 {
    let (n, gap) = (table.n() as f64, table.gap());
    (table.only_a + table.only_b) as f64 - n * gap * gap
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A task of `n` items: only side A is right on the first `only_a`, only side B on the next `only_b`.
    fn task(n: usize, only_a: usize, only_b: usize) -> Stratum {
        let value =
            |i: usize| f64::from(u8::from(i < only_a)) - f64::from(u8::from((only_a..only_a + only_b).contains(&i)));
        let table =
            Table { both: (n - only_a - only_b) as u64, only_a: only_a as u64, only_b: only_b as u64, neither: 0 };
        Stratum { units: Differences::of_items((0..n).map(value).collect()), table: Some(table), seeds: 1 }
    }

    #[test]
    fn mean_weighs_items_with_within_task_error() {
        let tasks = [task(100, 20, 5), task(300, 10, 40)];
        let strata = Strata::of(&tasks).unwrap();
        // (15 - 30) / 400; variances (.25 - .15²)/99 and (1/6 - .1²)/299.
        assert!((strata.shift.mean + 15.0 / 400.0).abs() < 1e-12);
        let error = (0.25f64.powi(2) * 0.2275 / 99.0 + 0.75f64.powi(2) * (1.0 / 6.0 - 0.01) / 299.0).sqrt();
        assert!((strata.shift.error - error).abs() < 1e-12, "{strata:?}");
        let e = strata.interval(0.95);
        assert!((e.half_width() / (1.965 * error) - 1.0).abs() < 0.03, "{e:?} {error}");
        let plain = Stratum { table: None, ..tasks[0].clone() };
        let t = Strata::of(&[plain, tasks[1].clone()]).unwrap().interval(0.95);
        assert!((t.half_width() - e.half_width()).abs() < 0.03 * e.half_width(), "{t:?} {e:?}");
    }

    /// Regression: the interval for two tasks with the same difference used to have width 0, because tasks were the units.
    #[test]
    fn equal_or_unanimous_tasks_have_interval_width() {
        let alike = Strata::of(&[task(50, 0, 0), task(50, 0, 0)]).unwrap();
        let e = alike.interval(0.95);
        assert!(e.mean == 0.0 && e.lo < -0.02 && e.hi > 0.02 && alike.p() == 1.0, "{e:?}");
        let opposed = Strata::of(&[task(50, 50, 0), task(50, 0, 50)]).unwrap().interval(0.95);
        assert!(opposed.half_width() > 0.01, "{opposed:?}");
        let few = Strata::of(&[task(200, 3, 0), task(200, 2, 0)]).unwrap();
        assert_eq!(few.p(), 0.0625, "five items favour one side");
        let single = Strata::of(&[task(1, 1, 0), task(50, 5, 2)]).unwrap().interval(0.95);
        assert!(single.half_width() > 0.05, "{single:?}");
        assert!(Strata::of(&[]).is_none());
    }

    #[test]
    fn clusters_within_a_task_widen_the_interval() {
        let plain = task(200, 40, 20);
        let mut together = plain.clone();
        together.units =
            Differences { sums: plain.units.sums.chunks(10).map(|c| c.iter().sum()).collect(), sizes: vec![10.0; 20] };
        let width = |t: Stratum| Strata::of(&[t.clone(), t]).unwrap().interval(0.95).half_width();
        assert!(width(together) > 2.0 * width(plain));
    }
}
