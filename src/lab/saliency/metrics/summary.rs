//! One cell of the interpretability table: a dimension, a kind of perturbation (or all), and one method with one model.
//!
//! Every mean has a Student's t interval over originals. An original and its partners are one unit, because partners are derived from their
//! original. A mean over inputs is a linearised ratio of sums over originals.

use serde::{Deserialize, Serialize};

use super::judge::{Judged, Pair, Single};
use stats::Estimate;
use stats::correlation::Undefined;
use stats::paired::{Differences, Shift};
use stats::replicates::exact_floor;

/// The difference in F1 between originals and partners.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Delta {
    /// Mean F1 of the originals with a partner of the cell's kind, minus mean F1 of these partners.
    pub signed: Estimate,
    /// Absolute value of the signed difference, the paper's F1Δ. Its interval is the signed difference's interval, folded at 0.
    pub absolute: Estimate,
    /// Absolute difference, averaged over pairs.
    pub by_pair: Estimate,
}

/// Numbers of undefined correlations by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotDefined {
    /// Number of correlations undefined because scores are constant.
    pub constant: usize,
    /// Number of correlations undefined because there are fewer than three slots.
    pub few: usize,
}

/// A cell of the table; a mean is `None` without values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Number of originals: all of them, or those with a partner of the cell's kind.
    pub originals: usize,
    /// Number of inputs with a value for `token_f1`.
    pub inputs: usize,
    /// Number of original-partner pairs.
    pub pairs: usize,
    /// Number of missing partners; they contribute to no mean.
    pub missing: usize,
    /// Number of inputs with an empty gold rationale.
    pub empty_gold: usize,
    /// Token-F1 over all inputs: originals and partners, or only partners of the cell's kind.
    pub token_f1: Option<Estimate>,
    /// Expected F1 of random rankings on the same inputs.
    pub random_f1: Option<Estimate>,
    /// Token-F1 minus chance, paired by input, with Student's t over originals. Sentences that are easy for a random ranking are easy for
    /// every method, so the difference has less noise than either mean.
    pub f1_above: Option<Estimate>,
    /// Token-F1 of the originals with a partner of the cell's kind.
    pub f1_original: Option<Estimate>,
    /// Token-F1 of the partners of the cell's kind.
    pub f1_perturbed: Option<Estimate>,
    pub f1_delta: Option<Delta>,
    /// MAP over pairs.
    pub map: Option<Estimate>,
    /// Expected MAP of random rankings.
    pub random_map: Option<Estimate>,
    /// MAP over the pairs for which PCC is computed.
    pub map_star: Option<Estimate>,
    /// MAP over the pairs kept by the PCC filter.
    pub(crate) map_kept: Option<Estimate>,
    /// Mean PCC of the pairs kept by the filter, biased upward.
    pub pcc: Option<Estimate>,
    /// Mean PCC of all pairs with a value.
    pub pcc_all: Option<Estimate>,
    /// Number of pairs kept by the filter.
    pub pcc_kept: usize,
    /// Number of pairs for which PCC is computed.
    pub pcc_total: usize,
    /// Numbers of these pairs without a value, by reason.
    pub pcc_undefined: NotDefined,
    /// Mean ratio of gold rationale length to input length, over the inputs of `token_f1`.
    pub ratio: Option<Estimate>,
}

/// An original, with the data for a cell.
struct Seen<'j> {
    original: &'j Single,
    /// Partners of the cell's kind that pass its filter.
    partners: Vec<&'j Single>,
    /// The pairs of the original with partners of that kind.
    pairs: Vec<&'j Pair>,
    /// True if the original itself is an input to the cell.
    own: bool,
}

impl Seen<'_> {
    /// Values for the cell's inputs: only the partners if the cell has one kind of perturbation, otherwise also the original.
    fn inputs(&self, of: impl Fn(&Single) -> Option<f64>) -> Vec<f64> {
        let own = self.own.then_some(self.original);
        own.into_iter().chain(self.partners.iter().copied()).filter_map(of).collect()
    }

    /// F1 of the original and F1 of each partner, for partners with both values.
    fn compared(&self) -> Vec<(f64, f64)> {
        self.pairs.iter().filter_map(|p| self.original.f1.zip(p.single.f1)).collect()
    }
}

/// A statistic clustered by original, as sums and numbers of values.
#[derive(Debug, Clone, Default)]
struct Clustered {
    all: Differences,
    range: Option<(f64, f64)>,
}

impl Clustered {
    fn of(view: &[Seen<'_>], values: impl Fn(&Seen<'_>) -> Vec<f64>) -> Self {
        Self::each(view.iter().map(values))
    }

    /// Builds the statistic from the values for each original.
    fn each(values: impl Iterator<Item = Vec<f64>>) -> Self {
        let mut found = Self::default();
        for values in values {
            for v in &values {
                let (lo, hi) = found.range.unwrap_or((*v, *v));
                found.range = Some((lo.min(*v), hi.max(*v)));
            }
            found.all.sums.push(values.iter().sum());
            found.all.sizes.push(values.len() as f64);
        }
        found
    }

    fn over(view: &[Seen<'_>], value: impl Fn(&Pair) -> Option<f64>) -> Self {
        Self::of(view, |seen| seen.pairs.iter().filter_map(|p| value(p)).collect())
    }

    fn mean(&self) -> Option<f64> {
        let (lo, hi) = self.range?;
        // Rounding errors must not raise a mean of ones above 1.
        Some(self.all.mean().clamp(lo, hi))
    }

    /// Number of originals with values.
    fn clusters(&self) -> usize {
        self.all.sizes.iter().filter(|s| **s > 0.0).count()
    }

    /// Each original's contribution to the deviation of the mean; contributions sum to 0.
    fn pulls(&self) -> Option<Vec<f64>> {
        let (mean, size) = (self.mean()?, self.all.sizes.iter().sum::<f64>());
        Some(self.all.sums.iter().zip(&self.all.sizes).map(|(sum, n)| (sum - mean * n) / size).collect())
    }

    /// The mean, with an interval within `limits`. For a single original, the interval is the whole range.
    fn estimate(&self, limits: (f64, f64), level: f64) -> Option<Estimate> {
        Some(by_t(self.mean()?, &self.pulls()?, self.clusters(), limits, level))
    }

    /// The mean of scores from 0 to 1. If all scores are equal, the interval is the exact binomial one.
    fn score(&self, level: f64) -> Option<Estimate> {
        let found = self.estimate(SHARE, level)?;
        let (lo, hi) = self.range?;
        Some(widened(found, if lo == hi { exact_floor(found.mean, self.clusters(), true, level) } else { None }))
    }

    /// The difference between this mean and another over the same originals, with an interval within `limits` and the p-value for no
    /// difference.
    fn minus(&self, other: &Self, limits: (f64, f64), level: f64) -> Option<(Estimate, f64)> {
        let pulls = self.pulls()?.iter().zip(other.pulls()?).map(|(a, b)| a - b).collect::<Vec<_>>();
        let units = self.clusters().min(other.clusters());
        let mean = self.mean()? - other.mean()?;
        let p = if units < 2 { 1.0 } else { shift(mean, &pulls, units).p() };
        Some((by_t(mean, &pulls, units, limits, level), p))
    }
}

/// A mean with its standard error over two or more originals.
fn shift(mean: f64, pulls: &[f64], units: usize) -> Shift {
    let count = units as f64;
    let error = (pulls.iter().map(|p| p * p).sum::<f64>() * count / (count - 1.0)).sqrt();
    Shift { mean, error, units }
}

/// A mean with a Student's t interval over originals.
fn by_t(mean: f64, pulls: &[f64], units: usize, (least, most): (f64, f64), level: f64) -> Estimate {
    if units < 2 {
        return Estimate { mean, lo: least, hi: most };
    }
    let e = shift(mean, pulls, units).interval(level);
    Estimate { mean, lo: e.lo.max(least), hi: e.hi.min(most) }
}

/// Widens an interval to include `floor`.
fn widened(found: Estimate, floor: Option<Estimate>) -> Estimate {
    floor.map_or(found, |f| Estimate { lo: found.lo.min(f.lo), hi: found.hi.max(f.hi), ..found })
}

/// The absolute value of a signed estimate, with its interval.
fn folded(signed: Estimate) -> Estimate {
    let (a, b) = (signed.lo.abs(), signed.hi.abs());
    let lo = if signed.lo <= 0.0 && signed.hi >= 0.0 { 0.0 } else { a.min(b) };
    let mean = signed.mean.abs();
    Estimate { mean, lo: lo.min(mean), hi: a.max(b).max(mean) }
}

/// Limits for a proportion; then those for a correlation.
const SHARE: (f64, f64) = (0.0, 1.0);
const SIGNED: (f64, f64) = (-1.0, 1.0);

/// Selects pairs by their two inputs; a single input counts as a pair with itself.
pub type Keeps<'a> = &'a dyn Fn(&Single, &Single) -> bool;

/// The originals, with the data for a cell of one kind of perturbation.
fn seen<'j>(judged: &[&'j Judged], perturbation: Option<&str>, keeps: Keeps<'_>) -> Vec<Seen<'j>> {
    let seen = |j: &&'j Judged| {
        let of_kind = || j.pairs.iter().filter(|p| perturbation.is_none_or(|kind| p.perturbation == kind));
        Seen {
            original: &j.original,
            partners: of_kind().map(|p| &p.single).filter(|s| keeps(s, s)).collect(),
            pairs: of_kind().filter(|p| keeps(&j.original, &p.single)).collect(),
            own: perturbation.is_none() && keeps(&j.original, &j.original),
        }
    };
    judged.iter().map(seen).collect()
}

/// The cell for one kind of perturbation, or for all. `alpha` is the level of the PCC filter.
pub fn cell(judged: &[&Judged], perturbation: Option<&str>, alpha: f64, level: f64) -> Cell {
    let missing = judged.iter().flat_map(|j| &j.missing).filter(|kind| perturbation.is_none_or(|p| p == *kind)).count();
    Cell { missing, ..cell_where(judged, perturbation, &|_, _| true, (alpha, level)) }
}

/// The selected part of a cell. Missing partners belong to no part.
pub(crate) fn cell_where(
    judged: &[&Judged],
    perturbation: Option<&str>,
    keeps: Keeps<'_>,
    (alpha, level): (f64, f64),
) -> Cell {
    let view = seen(judged, perturbation, keeps);
    let made = |p: &Pair| p.correlation.and_then(Result::ok);
    let kept = |p: &Pair| made(p).filter(|c| c.p < alpha);
    let inputs = |of: fn(&Single) -> Option<f64>| Clustered::of(&view, |s| s.inputs(of));
    let compared =
        |of: fn(f64, f64) -> f64| Clustered::of(&view, |s| s.compared().iter().map(|(o, p)| of(*o, *p)).collect());
    let over = |of: &dyn Fn(&Pair) -> Option<f64>| Clustered::over(&view, of);
    let original = Clustered::of(&view, |s| s.compared().iter().take(1).map(|c| c.0).collect());
    let perturbed = compared(|_, p| p);
    let pairs = || view.iter().flat_map(|s| &s.pairs);
    let undefined = |why: Undefined| pairs().filter(|p| p.correlation == Some(Err(why))).count();
    let signed = original.minus(&perturbed, SIGNED, level).map(|(signed, _)| signed);
    let delta = |(signed, by_pair)| Delta { signed, absolute: folded(signed), by_pair };
    Cell {
        originals: view.iter().filter(|s| s.own || !s.partners.is_empty() || !s.pairs.is_empty()).count(),
        inputs: view.iter().map(|s| s.inputs(|i| i.f1).len()).sum(),
        pairs: pairs().count(),
        missing: 0,
        empty_gold: view.iter().map(|s| s.inputs(|i| i.empty_gold.then_some(1.0)).len()).sum(),
        token_f1: inputs(|i| i.f1).score(level),
        random_f1: inputs(|i| i.random_f1).estimate(SHARE, level),
        f1_above: above_chance(&view).estimate(SIGNED, level),
        f1_original: original.score(level),
        f1_perturbed: perturbed.score(level),
        f1_delta: signed.zip(compared(|o, p| (o - p).abs()).estimate(SHARE, level)).map(delta),
        map: over(&|p| Some(p.map)).score(level),
        random_map: over(&|p| Some(p.random_map)).estimate(SHARE, level),
        map_star: over(&|p| p.correlation.map(|_| p.map)).score(level),
        map_kept: over(&|p| kept(p).map(|_| p.map)).score(level),
        pcc: over(&|p| kept(p).map(|c| c.r)).estimate(SIGNED, level),
        pcc_all: over(&|p| made(p).map(|c| c.r)).estimate(SIGNED, level),
        pcc_kept: pairs().filter(|p| kept(p).is_some()).count(),
        pcc_total: pairs().filter(|p| p.correlation.is_some()).count(),
        pcc_undefined: NotDefined { constant: undefined(Undefined::Constant), few: undefined(Undefined::Few) },
        ratio: inputs(|i| i.ratio).estimate(SHARE, level),
    }
}

/// Token-F1 minus chance over the inputs of a cell.
fn above_chance(view: &[Seen<'_>]) -> Clustered {
    Clustered::of(view, |seen| seen.inputs(|i| Some(i.f1? - i.random_f1?)))
}

/// Token-F1 and MAP above chance in one part of a cell minus those in another part, with p-values for no difference.
pub fn contrast(
    judged: &[&Judged],
    perturbation: Option<&str>,
    parts: [Keeps<'_>; 2],
    level: f64,
) -> [Option<(Estimate, f64)>; 2] {
    let [a, b] = parts.map(|keeps| seen(judged, perturbation, keeps));
    let map = |view: &[Seen<'_>]| Clustered::over(view, |p| Some(p.map - p.random_map));
    [(above_chance(&a), above_chance(&b)), (map(&a), map(&b))].map(|(a, b)| a.minus(&b, (-2.0, 2.0), level))
}

/// Mean of shares with its interval, from the values for each original. If few values are 0 or few are 1, the interval is at least as wide
/// as the exact one. `None` without values.
pub(crate) fn share_by_original(values: &[Vec<f64>], level: f64) -> Option<Estimate> {
    let all = Clustered::each(values.iter().cloned());
    let found = all.estimate(SHARE, level)?;
    Some(widened(found, exact_floor(found.mean, all.clusters(), false, level)))
}

/// Mean of differences between shares with its interval, from the values for each original. `None` without values.
pub(crate) fn change_of_each(values: &[Vec<f64>], level: f64) -> Option<Estimate> {
    mean_by_original(values, SIGNED, level)
}

/// Mean of values within `limits` with its interval, from the values for each original. `None` without values.
pub fn mean_by_original(values: &[Vec<f64>], limits: (f64, f64), level: f64) -> Option<Estimate> {
    Clustered::each(values.iter().cloned()).estimate(limits, level)
}

/// Mean of `after` minus mean of `before` with its interval, from the shares for each original. `None` if either is empty.
pub(crate) fn change_by_original([before, after]: [&[Vec<f64>]; 2], level: f64) -> Option<Estimate> {
    let [before, after] = [before, after].map(|values| Clustered::each(values.iter().cloned()));
    Some(after.minus(&before, SIGNED, level)?.0)
}

/// The kinds of perturbation in order of first appearance, including kinds whose partners are all missing.
pub fn kinds<'j>(judged: &[&'j Judged]) -> Vec<&'j str> {
    let mut kinds: Vec<&str> = Vec::new();
    for kind in judged
        .iter()
        .flat_map(|j| j.pairs.iter().map(|p| p.perturbation.as_str()).chain(j.missing.iter().map(String::as_str)))
    {
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds
}
