//! The values of two sides on the same items, by seed and item, and the clusters of items.

use std::collections::HashMap;

use super::tally::Tally;
use corpus::results::{Print, Results};
use stats::estimate::Estimate;
use stats::intervals::share;
use stats::joint::Units;
use stats::paired::{Differences, Shift, Table};

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Pairs {
    /// Values of the first side: one list per seed, one value per item.
    pub a: Vec<Vec<f64>>,
    /// Values of the second side, in the same order.
    pub b: Vec<Vec<f64>>,
    pub clusters: Option<Vec<u32>>,
    /// True if the sides have different items, in random order, as with two tasks. The items are then unpaired.
    pub apart: bool,
}

impl Pairs {
    /// Number of items; the smaller number if the sides have different items.
    pub fn n(&self) -> usize {
        let of = |side: &[Vec<f64>]| side.first().map_or(0, Vec::len);
        of(&self.a).min(of(&self.b))
    }

    /// Number of runs per side.
    pub fn seeds(&self) -> usize {
        self.a.len()
    }

    pub fn is_binary(&self) -> bool {
        self.a.iter().chain(&self.b).flatten().all(|v| *v == 0.0 || *v == 1.0)
    }

    /// True if every value is between 0 and 1, so that differences are shown in points.
    pub fn is_share(&self) -> bool {
        self.a.iter().chain(&self.b).flatten().all(|v| (0.0..=1.0).contains(v))
    }

    /// Selects the items `which`, in that order.
    pub fn select(&self, which: &[usize]) -> Self {
        let of = |side: &[Vec<f64>]| side.iter().map(|v| which.iter().map(|i| v[*i]).collect()).collect();
        let clusters = self.clusters.as_ref().map(|c| which.iter().map(|i| c[*i]).collect());
        Self { a: of(&self.a), b: of(&self.b), clusters, apart: self.apart }
    }

    /// The values scaled to a maximum of about 1, and the scale; `None` if scaling is unnecessary, because squares do not overflow or
    /// underflow.
    pub fn scaled(&self) -> Option<(Self, f64)> {
        let most = self.a.iter().chain(&self.b).flatten().fold(0.0, |most: f64, v| most.max(v.abs()));
        if most == 0.0 || (1e-30..=1e30).contains(&most) {
            return None;
        }
        // Scaling by a power of two is exact.
        let unit = most.log2().floor().clamp(-1022.0, 1023.0).exp2();
        let of = |side: &[Vec<f64>]| side.iter().map(|v| v.iter().map(|x| x / unit).collect()).collect();
        Some((Self { a: of(&self.a), b: of(&self.b), ..self.clone() }, unit))
    }

    /// The table for each seed, if values are 0 or 1.
    pub fn tables(&self) -> Vec<Table> {
        let of = |(a, b): (&Vec<f64>, &Vec<f64>)| {
            let mut table = Table::default();
            a.iter().zip(b).for_each(|(a, b)| table.add(*a == 1.0, *b == 1.0));
            table
        };
        self.a.iter().zip(&self.b).map(of).collect()
    }

    /// Mean value of an item over the seeds of a side.
    fn mean(side: &[Vec<f64>], item: usize) -> f64 {
        side.iter().map(|v| v[item]).sum::<f64>() / side.len() as f64
    }

    /// Values of a side by item, averaged over seeds.
    pub fn means(&self, first: bool) -> Vec<f64> {
        let side = if first { &self.a } else { &self.b };
        let n = side.first().map_or(0, Vec::len);
        (0..n).map(|i| Self::mean(side, i)).collect()
    }

    /// Contribution of each independent unit (item or cluster) to the difference, averaged over seeds.
    pub fn differences(&self) -> Differences {
        let gap = |i: usize| Self::mean(&self.a, i) - Self::mean(&self.b, i);
        Self::units(self.clusters.as_deref(), (0..self.n()).map(gap))
    }

    /// The mean difference over independent units, or the difference of the means if the sides have different items.
    pub fn shift(&self) -> Shift {
        if self.apart {
            Shift::apart(self.side(true).shift(), self.side(false).shift())
        } else {
            self.differences().shift()
        }
    }

    /// Values of one side by unit.
    pub fn side(&self, first: bool) -> Differences {
        Self::units(self.clusters.as_deref(), self.means(first).into_iter())
    }

    fn units(clusters: Option<&[u32]>, values: impl Iterator<Item = f64>) -> Differences {
        let Some(clusters) = clusters else { return Differences::of_items(values.collect()) };
        let count = clusters.iter().max().map_or(0, |c| *c as usize + 1);
        let mut units = Differences { sums: vec![0.0; count], sizes: vec![0.0; count] };
        for (cluster, value) in clusters.iter().zip(values) {
            units.sums[*cluster as usize] += value;
            units.sizes[*cluster as usize] += 1.0;
        }
        // A selection of items may leave clusters empty.
        let kept: Vec<usize> = (0..count).filter(|c| units.sizes[*c] > 0.0).collect();
        let take = |list: &[f64]| kept.iter().map(|c| list[*c]).collect();
        Differences { sums: take(&units.sums), sizes: take(&units.sizes) }
    }

    /// Mean of a side with its interval: the interval of a proportion for one run on independent items, otherwise Student's t. For a
    /// single item the interval is the whole range of accuracies.
    pub fn accuracy(&self, first: bool, level: f64) -> Estimate {
        if let Some((scaled, unit)) = self.scaled() {
            let e = scaled.accuracy(first, level);
            let [mean, lo, hi] = [e.mean, e.lo, e.hi].map(|x| (x * unit).clamp(f64::MIN, f64::MAX));
            return Estimate { mean, lo, hi };
        }
        let side = if first { &self.a } else { &self.b };
        if let ([run], None, true) = (side.as_slice(), &self.clusters, self.is_binary()) {
            return share(run.iter().sum::<f64>() as u64, run.len() as u64, level);
        }
        let shift = self.side(first).shift();
        let (least, most) = if self.is_binary() { (0.0, 1.0) } else { (f64::MIN, f64::MAX) };
        let e = if self.is_binary() { shift.interval_within(level, (least, most)) } else { shift.interval(level) };
        // `max` and `min` return the limit if an end is NaN.
        Estimate { mean: e.mean, lo: e.lo.max(least), hi: e.hi.min(most) }
    }

    /// Summarises the pairs as counts. All statistics of the comparison are computed from these.
    pub fn tally(&self) -> Tally {
        let binary = self.is_binary() && self.seeds() > 0;
        let tables = if binary && !self.apart { self.tables() } else { Vec::new() };
        let plain = tables.len() == 1 && self.clusters.is_none();
        let joint = !plain && !tables.is_empty();
        Tally {
            items: self.n(),
            gaps: self.by_seed().iter().map(|[a, b]| a - b).collect(),
            shift: (!plain).then(|| self.shift()),
            clustered: self.clusters.is_some(),
            apart: self.apart,
            units: joint.then(|| Units::of(&self.differences(), self.seeds())),
            tables,
        }
    }

    /// Accuracies of both sides, by seed.
    pub(crate) fn by_seed(&self) -> Vec<[f64; 2]> {
        let mean = |v: &Vec<f64>| v.iter().sum::<f64>() / v.len() as f64;
        self.a.iter().zip(&self.b).map(|(a, b)| [mean(a), mean(b)]).collect()
    }

    /// For each item, true for each side that is right; with several seeds, true if it is right with the majority of them.
    ///
    /// `None` for values other than 0 or 1, for an even number of seeds (where votes may tie), for clusters, and for sides with different
    /// items.
    pub fn votes(&self) -> Option<Vec<(bool, bool)>> {
        if self.apart || self.clusters.is_some() || self.seeds().is_multiple_of(2) || !self.is_binary() {
            return None;
        }
        let vote = |side: &[Vec<f64>], i: usize| Self::mean(side, i) > 0.5;
        Some((0..self.n()).map(|i| (vote(&self.a, i), vote(&self.b, i))).collect())
    }
}

/// Items common to both sides, with the numbers of unmatched items.
#[derive(Debug, Clone, PartialEq)]
pub struct Matched {
    /// Common items, in the order of the first file.
    pub pairs: Pairs,
    /// Number of items only in the first side's files.
    pub unmatched_a: usize,
    /// Number of items only in the second side's files.
    pub unmatched_b: usize,
    /// Number of items whose prompts differ and that have no text or hash to show that they are the same.
    pub prompts: usize,
}

/// Describes items with different prompts; `None` if there are none.
pub fn prompts_notice(prompts: usize, n: usize) -> Option<String> {
    let text = format!(
        "prompts differ for {prompts} of {n} items: the comparison is valid only if these are the same items in other templates"
    );
    (prompts > 0).then_some(text)
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MatchError {
    /// The sides have different numbers of runs. Means over unequal numbers of runs would need a different kind of interval: Student's t
    /// over such means covers 49 to 93 % if few of 20 to 500 items differ, all in one direction.
    #[error(
        "{a} run(s) on the first side and {b} on the second: give both sides the same number of runs (files, epochs, seeds)"
    )]
    Runs {
        /// Number of runs on the first side.
        a: usize,
        /// Number of runs on the second side.
        b: usize,
    },
    /// A file lacks the metric.
    #[error("{file} has no metric `{metric}`; it has {known}")]
    Metric {
        file: String,
        metric: String,
        /// The metrics that the file has.
        known: String,
    },
    /// No item is common to both sides.
    #[error("the sides have no item in common: for example, the first has `{a}` and the second has `{b}`")]
    Disjoint {
        /// An identifier from the first side.
        a: String,
        /// An identifier from the second side.
        b: String,
    },
    /// Items with the same identifier are different items.
    #[error(
        "{count} of {n} items differ between the sides: `{key}` differs for {items}; compare files of the same version of the task{}",
        hint(key)
    )]
    Documents {
        count: usize,
        /// Number of items with the same identifier.
        n: usize,
        /// Key of the first field that differs.
        key: &'static str,
        /// The first items that differ.
        items: String,
    },
    /// Two files put an item in different clusters.
    #[error("the item `{item}` belongs to `{a}` in one file and to `{b}` in another")]
    Cluster {
        item: String,
        /// The item's cluster in the first of these files.
        a: String,
        /// The item's cluster in the other file.
        b: String,
    },
}

/// Advice when values differ for another reason than different items.
fn hint(key: &str) -> &'static str {
    match key {
        "target" => " (or leave out the targets, if they differ only in form)",
        "answer" => " (or rename `answer` to `prediction`, if it is the model's answer)",
        "text" => " (or rename `text` to `output`, if it is the model's output)",
        _ => "",
    }
}

fn column<'r>(results: &'r Results, metric: &str) -> Result<&'r [f64], MatchError> {
    let found = results.metrics.iter().find(|m| m.name == metric);
    found.map(|m| m.values.as_slice()).ok_or_else(|| MatchError::Metric {
        file: results.file.display().to_string(),
        metric: metric.to_owned(),
        known: results.metrics.iter().map(|m| m.name.as_str()).collect::<Vec<_>>().join(", "),
    })
}

pub fn matched(a: &[Results], b: &[Results], metric: &str) -> Result<Matched, MatchError> {
    if a.len() != b.len() || a.is_empty() {
        return Err(MatchError::Runs { a: a.len(), b: b.len() });
    }
    let files: Vec<&Results> = a.iter().chain(b).collect();
    let columns: Vec<&[f64]> = files.iter().map(|f| column(f, metric)).collect::<Result<_, _>>()?;
    let mut values: Vec<Vec<f64>> = files.iter().map(|_| Vec::with_capacity(a[0].ids.len())).collect();
    let mut clusters = files.iter().any(|f| f.clusters.is_some()).then(Vec::new);
    let mut numbers: HashMap<&str, u32> = HashMap::new();
    let mut places = vec![0u32; files.len()];
    let mut different = Different::default();
    for (i, id) in a[0].ids.iter().enumerate() {
        places[0] = i as u32;
        let mut others = places.iter_mut().zip(&files).skip(1);
        // The search starts after the previous item, because the items of most files are in the same order.
        let there = others.all(|(place, file)| {
            let found = file.place(id, *place + u32::from(i > 0));
            *place = found.unwrap_or(*place);
            found.is_some()
        });
        if !there {
            continue;
        }
        different.check(&files, &places, id);
        different.check_answers(
            [0, a.len()].map(|k| (files[k].prints[places[k] as usize], columns[k][places[k] as usize])),
            id,
        );
        for ((list, column), place) in values.iter_mut().zip(&columns).zip(&places) {
            list.push(column[*place as usize]);
        }
        if let Some(clusters) = &mut clusters {
            let name = cluster(&files, &places, id)?;
            let next = numbers.len() as u32;
            clusters.push(*numbers.entry(name).or_insert(next));
        }
    }
    let n = values[0].len();
    if n == 0 {
        let shown = |r: &Results| base::text::shortened(r.ids.get(0).unwrap_or_default(), 60);
        return Err(MatchError::Disjoint { a: shown(&a[0]), b: shown(&b[0]) });
    }
    let prompts = different.prompts;
    different.refuse(n)?;
    let unmatched = |side: &[Results]| {
        let mut left: std::collections::HashSet<&str> = std::collections::HashSet::new();
        for file in side.iter().filter(|file| file.ids.len() > n) {
            let all_have = |(at, id): &(usize, &str)| files.iter().all(|f| f.place(id, *at as u32).is_some());
            left.extend(file.ids.iter().enumerate().filter(|item| !all_have(item)).map(|(_, id)| id));
        }
        left.len()
    };
    let (unmatched_a, unmatched_b) = (unmatched(a), unmatched(b));
    let second = values.split_off(a.len());
    Ok(Matched { pairs: Pairs { a: values, b: second, clusters, apart: false }, unmatched_a, unmatched_b, prompts })
}

/// Items that differ between files.
#[derive(Default)]
struct Different<'r> {
    count: usize,
    key: &'static str,
    first: Vec<&'r str>,
    /// Number of items whose prompts differ.
    prompts: usize,
    /// Items that both sides answer correctly although `answer` differs, and the number of such items with equal answers.
    answers: Vec<&'r str>,
    equal_answers: usize,
}

impl<'r> Different<'r> {
    fn check(&mut self, files: &[&'r Results], places: &[u32], id: &'r str) {
        let print = |k: usize| files[k].prints[places[k] as usize];
        let first = print(0);
        self.prompts += usize::from((1..files.len()).map(print).any(|other| first.prompts_differ(&other)));
        let Some(other) = (1..files.len()).map(print).find(|other| first.differs(other)) else { return };
        if self.count == 0 {
            self.key = first.difference(&other);
        }
        self.count += 1;
        if self.first.len() < 3 {
            self.first.push(id);
        }
    }

    /// Compares `answer` where both sides are right. If it always differs, it is the expected answer of different items.
    fn check_answers(&mut self, [(a, x), (b, y)]: [(Print, f64); 2], id: &'r str) {
        match a.answers_differ(&b).filter(|_| x == 1.0 && y == 1.0) {
            Some(true) => self.answers.push(id),
            Some(false) => self.equal_answers += 1,
            None => {}
        }
    }

    fn refuse(mut self, n: usize) -> Result<(), MatchError> {
        if self.count == 0 && self.equal_answers == 0 {
            (self.count, self.key) = (self.answers.len(), "answer");
            self.first = self.answers.into_iter().take(3).collect();
        }
        if self.count == 0 {
            return Ok(());
        }
        let shown: Vec<String> = self.first.iter().map(|id| format!("`{}`", base::text::shortened(id, 60))).collect();
        let more = if self.count > shown.len() { ", …" } else { "" };
        let items = shown.join(", ") + more;
        Err(MatchError::Documents { count: self.count, n, key: self.key, items })
    }
}

/// The cluster of an item. All files that give one must agree.
fn cluster<'r>(files: &[&'r Results], places: &[u32], id: &'r str) -> Result<&'r str, MatchError> {
    let named = files.iter().zip(places).filter_map(|(f, p)| f.clusters.as_ref()?.get(*p as usize));
    let mut all = named;
    let Some(first) = all.next() else { return Ok(id) };
    match all.find(|other| *other != first) {
        Some(other) => {
            let short = |t: &str| base::text::shortened(t, 60);
            Err(MatchError::Cluster { item: short(id), a: short(first), b: short(other) })
        }
        None => Ok(first),
    }
}
