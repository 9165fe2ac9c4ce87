//! One cell of the table of interpretability: a dimension, a kind of perturbation (or all), one method of one model.
//!
//! Every mean has a percentile interval from resampled originals: an original's partners move together with it, since they are made
//! from it. Cells that are given the same [`Resamples`] are paired too.

use serde::{Deserialize, Serialize};

use super::judge::{Judged, Pair, Single};
use base::matrix::Matrix;
use stats::Estimate;
use stats::bootstrap::{Resamples, interval};
use stats::correlation::Undefined;
use stats::paired::Differences;
use stats::replicates::exact_floor;

/// The difference of F1 between originals and partners.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Delta {
    /// Mean F1 of the originals that have such a partner minus that of the partners.
    pub signed: Estimate,
    /// Its magnitude: the paper's F1Δ. The interval is that of the signed difference, folded at 0.
    pub absolute: Estimate,
    /// Mean of the magnitudes by pair.
    pub by_pair: Estimate,
}

/// Correlations that are not defined, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotDefined {
    /// Scores that do not vary.
    pub constant: usize,
    /// Fewer than three slots.
    pub few: usize,
}

/// A cell. Means are none if there are no values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Originals: all of them, or those with a partner of the kind.
    pub originals: usize,
    /// Inputs behind `token_f1`.
    pub inputs: usize,
    /// Pairs of an original and a partner.
    pub pairs: usize,
    /// Partners that there should have been and were not; no mean counts them.
    pub missing: usize,
    /// Inputs whose gold rationale is empty.
    pub empty_gold: usize,
    /// Token-F1 of all inputs: originals and partners, or the partners of the kind.
    pub token_f1: Option<Estimate>,
    /// Expected F1 of rankings by chance on the same inputs.
    pub random_f1: Option<Estimate>,
    /// Token-F1 minus that of chance, input by input, with Student's t over originals: sentences in which chance does
    /// well do so for every method, so that the two means differ with less noise than either has.
    pub f1_above: Option<Estimate>,
    /// Token-F1 of the originals that have such a partner.
    pub f1_original: Option<Estimate>,
    /// Token-F1 of their partners.
    pub f1_perturbed: Option<Estimate>,
    pub f1_delta: Option<Delta>,
    /// MAP over pairs.
    pub map: Option<Estimate>,
    /// Expected MAP of rankings by chance.
    pub random_map: Option<Estimate>,
    /// MAP over the pairs for which PCC is made.
    pub map_star: Option<Estimate>,
    /// MAP over the pairs that survive the filter of PCC.
    pub(crate) map_kept: Option<Estimate>,
    /// Mean PCC of the pairs that survive the filter: biased upward.
    pub pcc: Option<Estimate>,
    /// Mean PCC of all pairs that have one.
    pub pcc_all: Option<Estimate>,
    /// Pairs that survive.
    pub pcc_kept: usize,
    /// Pairs for which PCC is made.
    pub pcc_total: usize,
    /// Those of them that have none.
    pub pcc_undefined: NotDefined,
    /// Mean length ratio of the gold rationales of the inputs behind `token_f1`.
    pub ratio: Option<Estimate>,
}

/// An original as a cell sees it.
struct Seen<'j> {
    original: &'j Single,
    /// Its partners of the cell's kind.
    pairs: Vec<&'j Pair>,
    /// True if the original itself is an input of the cell.
    own: bool,
}

impl Seen<'_> {
    /// The inputs of the cell: with a kind its partners alone, otherwise the original too.
    fn inputs(&self, of: impl Fn(&Single) -> Option<f64>) -> Vec<f64> {
        let own = self.own.then_some(self.original);
        own.into_iter().chain(self.pairs.iter().map(|p| &p.single)).filter_map(of).collect()
    }

    /// F1 of the original and of each partner, where both have one.
    fn compared(&self) -> Vec<(f64, f64)> {
        self.pairs.iter().filter_map(|p| self.original.f1.zip(p.single.f1)).collect()
    }
}

/// Sums and sizes of a statistic by original: its mean is the one over the other.
#[derive(Debug, Clone, Default)]
struct Clustered {
    sums: Vec<f64>,
    sizes: Vec<f64>,
    /// Smallest and largest value.
    range: Option<(f64, f64)>,
}

impl Clustered {
    fn of(view: &[Seen<'_>], values: impl Fn(&Seen<'_>) -> Vec<f64>) -> Self {
        let mut all = Self::default();
        view.iter().for_each(|seen| all.push(&values(seen)));
        all
    }

    /// The values of the next original.
    fn push(&mut self, values: &[f64]) {
        for v in values {
            let (lo, hi) = self.range.unwrap_or((*v, *v));
            self.range = Some((lo.min(*v), hi.max(*v)));
        }
        self.sums.push(values.iter().sum());
        self.sizes.push(values.len() as f64);
    }

    fn over(view: &[Seen<'_>], value: impl Fn(&Pair) -> Option<f64>) -> Self {
        Self::of(view, |seen| seen.pairs.iter().filter_map(|p| value(p)).collect())
    }

    fn mean(&self) -> Option<f64> {
        let size: f64 = self.sizes.iter().sum();
        let (lo, hi) = self.range?;
        // Rounding must not carry a mean of ones above 1.
        Some((self.sums.iter().sum::<f64>() / size).clamp(lo, hi))
    }
}

/// The statistics of a cell in every resample.
struct Resampled {
    means: Vec<Option<f64>>,
    statistics: Vec<Clustered>,
    /// By resample, then by statistic; NaN where a resample holds nothing of it.
    draws: Vec<Vec<f64>>,
    level: f64,
}

impl Resampled {
    fn new(statistics: Vec<Clustered>, resamples: &Resamples, level: f64) -> Self {
        let (n, width) = (resamples.examples(), statistics.len());
        let means: Vec<Option<f64>> = statistics.iter().map(Clustered::mean).collect();
        // Sums less what the mean would make of them: single precision is then that of the spread.
        let value = |i: usize, column: usize| {
            let (one, mean) = (&statistics[column / 2], means[column / 2].unwrap_or(0.0));
            if column.is_multiple_of(2) { one.sums[i] - mean * one.sizes[i] } else { one.sizes[i] }
        };
        let columns = Matrix::from_fn(n, 2 * width, |i, column| value(i, column) as f32);
        let draws = if n == 0 {
            Vec::new()
        } else {
            resamples.block_sums(&columns, &[(0..n).collect()], |_, sums| {
                let mean = |k: usize| means[k].unwrap_or(f64::NAN);
                let one = |k: usize| mean(k) + f64::from(sums[2 * k]) / f64::from(sums[2 * k + 1]);
                (0..width).map(one).collect()
            })
        };
        Self { means, statistics, draws, level }
    }

    fn interval(&self, mean: f64, values: impl Iterator<Item = f64>) -> Estimate {
        interval(mean, values.filter(|v| !v.is_nan()).collect(), self.level)
    }

    /// Originals behind a statistic.
    fn clusters(&self, k: usize) -> usize {
        self.statistics[k].sizes.iter().filter(|s| **s > 0.0).count()
    }

    /// A mean within these limits. One original says nothing of another: its interval is all that there may be.
    fn estimate(&self, k: usize, (least, most): (f64, f64)) -> Option<Estimate> {
        let found = self.resampled(k)?;
        Some(if self.clusters(k) > 1 { found } else { Estimate { lo: least, hi: most, ..found } })
    }

    /// A mean with its percentiles.
    fn resampled(&self, k: usize) -> Option<Estimate> {
        let (mean, (lo, hi)) = (self.means[k]?, self.statistics[k].range?);
        // NaN is not clamped: it stays, and is left out.
        Some(self.interval(mean, self.draws.iter().map(|d| d[k].clamp(lo, hi))))
    }

    /// A mean of scores from 0 to 1: where all are equal, no resample shows a spread, and the interval is the exact one.
    fn score(&self, k: usize) -> Option<Estimate> {
        let found = self.estimate(k, SHARE)?;
        let (lo, hi) = self.statistics[k].range?;
        let floor = if lo == hi { exact_floor(found.mean, self.clusters(k), true, self.level) } else { None };
        Some(floor.map_or(found, |f| Estimate { lo: found.lo.min(f.lo), hi: found.hi.max(f.hi), ..found }))
    }

    /// The difference of two means.
    fn difference(&self, a: usize, b: usize) -> Option<Estimate> {
        let mean = self.means[a]? - self.means[b]?;
        let found = self.interval(mean, self.draws.iter().map(|d| d[a] - d[b]));
        Some(if self.clusters(b) > 1 { found } else { Estimate { lo: -1.0, hi: 1.0, ..found } })
    }
}

/// The interval of a magnitude from that of the signed number.
fn folded(signed: Estimate) -> Estimate {
    let (a, b) = (signed.lo.abs(), signed.hi.abs());
    let lo = if signed.lo <= 0.0 && signed.hi >= 0.0 { 0.0 } else { a.min(b) };
    let mean = signed.mean.abs();
    Estimate { mean, lo: lo.min(mean), hi: a.max(b).max(mean) }
}

/// Limits of a share, and of a correlation.
const SHARE: (f64, f64) = (0.0, 1.0);
const SIGNED: (f64, f64) = (-1.0, 1.0);

/// Statistics of a cell, in the order in which they are resampled.
const F1: usize = 0;
const RANDOM_F1: usize = 1;
const ORIGINAL: usize = 2;
const PERTURBED: usize = 3;
const BY_PAIR: usize = 4;
const MAP: usize = 5;
const RANDOM_MAP: usize = 6;
const MAP_STAR: usize = 7;
const MAP_KEPT: usize = 8;
const PCC: usize = 9;
const PCC_ALL: usize = 10;
const RATIO: usize = 11;

/// The cell of a kind of perturbation, or of all. `resamples` are those of all these originals, so that every cell of a dimension
/// shares them; `alpha` is the level of the filter of PCC.
///
/// # Panics
/// If `resamples` are of another number of originals.
pub fn cell<'j>(
    judged: &[&'j Judged],
    perturbation: Option<&str>,
    resamples: &Resamples,
    alpha: f64,
    level: f64,
) -> Cell {
    assert_eq!(judged.len(), resamples.examples(), "resamples of other originals");
    let is_kind = |kind: &str| perturbation.is_none_or(|p| p == kind);
    let seen = |j: &&'j Judged| Seen {
        original: &j.original,
        pairs: j.pairs.iter().filter(|p| is_kind(&p.perturbation)).collect(),
        own: perturbation.is_none(),
    };
    let view: Vec<Seen<'j>> = judged.iter().map(seen).collect();
    let made = |p: &Pair| p.correlation.and_then(Result::ok);
    let kept = |p: &Pair| made(p).filter(|c| c.p < alpha);
    let statistics = vec![
        Clustered::of(&view, |s| s.inputs(|i| i.f1)),
        Clustered::of(&view, |s| s.inputs(|i| i.random_f1)),
        Clustered::of(&view, |s| s.compared().iter().take(1).map(|c| c.0).collect()),
        Clustered::of(&view, |s| s.compared().iter().map(|c| c.1).collect()),
        Clustered::of(&view, |s| s.compared().iter().map(|(o, p)| (o - p).abs()).collect()),
        Clustered::over(&view, |p| Some(p.map)),
        Clustered::over(&view, |p| Some(p.random_map)),
        Clustered::over(&view, |p| p.correlation.map(|_| p.map)),
        Clustered::over(&view, |p| kept(p).map(|_| p.map)),
        Clustered::over(&view, |p| kept(p).map(|c| c.r)),
        Clustered::over(&view, |p| made(p).map(|c| c.r)),
        Clustered::of(&view, |s| s.inputs(|i| i.ratio)),
    ];
    let resampled = Resampled::new(statistics, resamples, level);
    let pairs = || view.iter().flat_map(|s| &s.pairs);
    let undefined = |why: Undefined| pairs().filter(|p| p.correlation == Some(Err(why))).count();
    let signed = resampled.difference(ORIGINAL, PERTURBED);
    let delta = |(signed, by_pair)| Delta { signed, absolute: folded(signed), by_pair };
    Cell {
        originals: view.iter().filter(|s| s.own || !s.pairs.is_empty()).count(),
        inputs: view.iter().map(|s| s.inputs(|i| i.f1).len()).sum(),
        pairs: pairs().count(),
        missing: judged.iter().flat_map(|j| &j.missing).filter(|kind| is_kind(kind)).count(),
        empty_gold: view.iter().map(|s| s.inputs(|i| i.empty_gold.then_some(1.0)).len()).sum(),
        token_f1: resampled.score(F1),
        random_f1: resampled.estimate(RANDOM_F1, SHARE),
        f1_above: above_chance(&view, level),
        f1_original: resampled.score(ORIGINAL),
        f1_perturbed: resampled.score(PERTURBED),
        f1_delta: signed.zip(resampled.estimate(BY_PAIR, SHARE)).map(delta),
        map: resampled.score(MAP),
        random_map: resampled.estimate(RANDOM_MAP, SHARE),
        map_star: resampled.score(MAP_STAR),
        map_kept: resampled.score(MAP_KEPT),
        pcc: resampled.estimate(PCC, SIGNED),
        pcc_all: resampled.estimate(PCC_ALL, SIGNED),
        pcc_kept: pairs().filter(|p| kept(p).is_some()).count(),
        pcc_total: pairs().filter(|p| p.correlation.is_some()).count(),
        pcc_undefined: NotDefined {
            constant: undefined(Undefined::Constant),
            few: undefined(Undefined::Few),
        },
        ratio: resampled.estimate(RATIO, SHARE),
    }
}

/// Token-F1 minus that of chance over the inputs of a cell.
fn above_chance(view: &[Seen<'_>], level: f64) -> Option<Estimate> {
    let each = view.iter().map(|seen| seen.inputs(|i| Some(i.f1? - i.random_f1?)));
    let mut all = Differences::default();
    for values in each.filter(|values| !values.is_empty()) {
        all.sums.push(values.iter().sum());
        all.sizes.push(values.len() as f64);
    }
    match all.sums.len() {
        0 => None,
        1 => Some(Estimate { mean: all.mean(), lo: -1.0, hi: 1.0 }),
        _ => Some(all.interval(level)),
    }
}

/// Mean of any values with its interval, one list for each original: what belongs to an original is resampled with it. `None` where
/// there are no values.
///
/// # Panics
/// If `resamples` are of another number of originals.
pub(crate) fn mean_by_original(values: &[Vec<f64>], resamples: &Resamples, level: f64) -> Option<Estimate> {
    assert_eq!(values.len(), resamples.examples(), "resamples of other originals");
    let mut all = Clustered::default();
    values.iter().for_each(|v| all.push(v));
    Resampled::new(vec![all], resamples, level).resampled(0)
}

/// Mean of `after` minus mean of `before` with its interval, one list of each for every original. `None` where either is empty.
///
/// # Panics
/// If `resamples` are of another number of originals.
pub(crate) fn change_by_original(
    [before, after]: [&[Vec<f64>]; 2],
    resamples: &Resamples,
    level: f64,
) -> Option<Estimate> {
    let all = [after, before].map(|values| {
        assert_eq!(values.len(), resamples.examples(), "resamples of other originals");
        let mut all = Clustered::default();
        values.iter().for_each(|v| all.push(v));
        all
    });
    Resampled::new(all.into(), resamples, level).difference(0, 1)
}

/// The kinds of perturbation in the order of their first appearance, those that are only missing included.
pub fn kinds<'j>(judged: &[&'j Judged]) -> Vec<&'j str> {
    let mut kinds: Vec<&str> = Vec::new();
    for kind in judged.iter().flat_map(|j| {
        j.pairs.iter().map(|p| p.perturbation.as_str()).chain(j.missing.iter().map(String::as_str))
    }) {
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds
}
