//! Assessment of a sweep: both bands at every strength, readability of the other property, and the optimum.
//!
//! One call of [`assess`] covers one method under one oracle with all replicates. It uses only per-example scores, not hidden states or
//! probes, so it can be repeated after each new replicate.

use serde::{Deserialize, Serialize};

use super::optimum::{Draws, Halved, NoOptimum, Optimum, Paper};
use super::score::reliability;
use super::table::{Statistic, Stays, Sweep, Table};
use stats::Estimate;
use stats::bootstrap::Resamples;
use stats::halves::Halves;
use stats::replicates::{Bands, exact_floor};
use stats::special::normal_quantile;

/// Accuracy of the oracle on the other property after the intervention.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Readable {
    /// Recall for each value, averaged over replicates; NaN for a value without examples.
    pub recalls: Vec<f64>,
    /// Mean of the recalls, with a symmetric interval. Its width is computed from the centres of the recalls' Wilson intervals, so it is
    /// never 0.
    pub balanced: Estimate,
    /// True if the lower end of the interval is above chance. Otherwise the oracle can no longer read the property. Its selectivity then
    /// equals a constant answer's, and the strength cannot be an optimum.
    pub eligible: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KeptStrength {
    /// Selectivity over the examples with this property.
    pub selectivity: Option<Bands>,
    pub readable: Option<Readable>,
    pub n: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Strength {
    pub value: f64,
    /// Mean over all examples.
    pub completeness: Bands,
    /// Mean over the examples with the other property, averaged over the properties if there are several; `None` if there are none.
    pub selectivity: Option<Bands>,
    /// Harmonic mean of completeness and selectivity.
    pub reliability: Option<Bands>,
    /// Completeness over the examples with the other property.
    pub(crate) completeness_where_selective: Option<Bands>,
    /// Selectivity averaged over the values of the other property, and over the properties if there are several.
    pub(crate) selectivity_by_class: Option<Bands>,
    /// Readability of the other property after the intervention.
    pub readable: Option<Readable>,
    /// Scores by property if there are several: the other property, then the additional properties.
    pub kept: Vec<KeptStrength>,
    /// Number of examples used for completeness.
    pub n_c: usize,
    /// Number of examples used for selectivity.
    pub n_s: usize,
    /// Numbers of independent units behind completeness and selectivity: examples, or texts if the examples are tokens.
    pub(crate) units: [usize; 2],
}

impl Strength {
    /// True if this strength can be an optimum: the oracle reads every property to keep better than chance. `None` if no example has the
    /// other property.
    pub(crate) fn eligible(&self) -> Option<bool> {
        let first = self.readable.as_ref()?.eligible;
        let all = |k: &KeptStrength| k.readable.as_ref().is_some_and(|r| r.eligible);
        Some(first && self.kept.iter().all(all))
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Assessment {
    pub strengths: Vec<Strength>,
    /// The optimum, chosen on one half and reported on the other, or the reason why there is none.
    pub optimum: Result<Optimum, NoOptimum>,
    /// The paper's optimum, chosen and reported on all examples; `None` without selectivity.
    pub paper: Option<Paper>,
    /// The optimum's reliability in every resample, used to compare methods.
    pub draws: Draws,
}

/// Assesses a sweep, with intervals at `level`. `resamples` and `halves` belong to the test examples (or texts); methods can be compared because all
/// of them share these. `None` without replicates, strengths or examples.
///
/// # Panics
/// If scores, resamples or halves are for a different number of examples.
pub fn assess(sweep: &Sweep<'_>, resamples: &Resamples, halves: &Halves, level: f64) -> Option<Assessment> {
    if sweep.replicates == 0 || sweep.values.is_empty() || sweep.other.is_empty() {
        return None;
    }
    let table = Table::new(sweep);
    let halved = Halved::new(&table, halves, level);
    let sums = table.block_sums(halves.blocks());
    let totals = table.totals(&sums);
    let drawn = resamples.block_sums(&table.columns, halves.blocks(), |_, sums| {
        (table.statistics(&table.totals(sums)), halved.choose(sums).held_out)
    });
    let (statistics, chosen): (Vec<Vec<f64>>, Vec<_>) = drawn.into_iter().unzip();
    let strengths = strengths(&table, sweep.values, &totals, &statistics, level)?;
    let draws = Draws::new(halved.choose(&sums).held_out.as_ref(), &chosen);
    let optimum = halved.optimum(sweep, &strengths, (&sums, &chosen), level);
    let paper = Paper::of(&strengths);
    Some(Assessment { strengths, optimum, paper, draws })
}

/// Computes only the bands, which is much cheaper than a full assessment, while replicates are still running.
///
/// # Panics
/// If scores or resamples are for a different number of examples.
pub fn bands(sweep: &Sweep<'_>, resamples: &Resamples, level: f64) -> Option<Vec<Strength>> {
    if sweep.replicates == 0 || sweep.values.is_empty() || sweep.other.is_empty() {
        return None;
    }
    let table = Table::new(sweep);
    let all = [(0..sweep.units()).collect::<Vec<usize>>()];
    let totals = table.totals(&table.block_sums(&all));
    let drawn = resamples.block_sums(&table.columns, &all, |_, sums| table.statistics(&table.totals(sums)));
    strengths(&table, sweep.values, &totals, &drawn, level)
}

/// Assesses every strength from the column sums over all examples (`totals`) and the statistics of each resample (`drawn`).
fn strengths(table: &Table, values: &[f64], totals: &[f64], drawn: &[Vec<f64>], level: f64) -> Option<Vec<Strength>> {
    let point = table.statistics(totals);
    let bands = |statistic: Statistic, m: usize| -> Option<Bands> {
        let place = table.place(statistic, m);
        let draws: Vec<f64> = drawn.iter().flat_map(|all| &all[place.clone()]).copied().collect();
        let bands = Bands::new(&point[place], &draws, level)?;
        if statistic != Statistic::Reliability {
            return Some(bands);
        }
        let [c, s] = [Statistic::Completeness, Statistic::Selectivity].map(|of| &point[table.place(of, m)]);
        Some(bands.with_range(c.iter().zip(s).map(|(c, s)| reliability(*c, *s))))
    };
    let one = |(m, value): (usize, &f64)| {
        let readable = (0..table.stays.len()).map(|j| readable(table, totals, (m, j), level)).collect();
        strength(table, *value, m, &bands, readable, level)
    };
    values.iter().enumerate().map(one).collect()
}

fn strength(
    table: &Table,
    value: f64,
    m: usize,
    bands: &dyn Fn(Statistic, usize) -> Option<Bands>,
    mut readable: Vec<Option<Readable>>,
    level: f64,
) -> Option<Strength> {
    let floor = |band: &Bands, constant: bool, n: usize| exact_floor(band.narrow.mean, n, constant, level);
    let completeness = bands(Statistic::Completeness, m)?;
    let alike = table.complete_alike(m);
    let of_c = floor(&completeness, alike, table.columns.rows());
    let selectivity = bands(Statistic::Selectivity, m);
    // A mean over properties is as uncertain as the property with the fewest examples.
    let (properties, fewest) = (table.stays.len(), table.stays.iter().map(|s| s.units).min()?);
    let of_s = selectivity.as_ref().and_then(|s| floor(s, table.selective_alike(m, 0..properties), fewest));
    let both = selectivity.map(|s| between(completeness.narrow.mean, of_c, s.narrow.mean, of_s));
    let here = bands(Statistic::CompletenessWhereSelective, m);
    let first = readable[0].clone();
    let several = readable.drain(..).enumerate().filter(|_| properties > 1);
    let kept = several.map(|(j, readable)| {
        let Stays { defined: n, units, .. } = table.stays[j];
        let on = bands(Statistic::SelectivityOn(j), m);
        let selectivity = on.map(|s| s.floored(floor(&s, table.selective_alike(m, j..j + 1), units)));
        KeptStrength { selectivity, readable, n }
    });
    let kept = kept.collect();
    Some(Strength {
        value,
        completeness: completeness.floored(of_c),
        selectivity: selectivity.map(|s| s.floored(of_s)),
        reliability: bands(Statistic::Reliability, m).map(|r| r.floored(both.flatten())),
        completeness_where_selective: here.map(|c| c.floored(floor(&c, alike, table.stays[0].units))),
        selectivity_by_class: bands(Statistic::SelectivityByClass, m).map(|s| s.floored(of_s)),
        readable: first,
        kept,
        n_c: table.examples,
        n_s: table.defined,
        units: [table.columns.rows(), table.defined_units],
    })
}

/// Range of the harmonic mean when one mean moves to either end of its exact bound while the other is fixed.
fn between(c: f64, of_c: Option<Estimate>, s: f64, of_s: Option<Estimate>) -> Option<Estimate> {
    let (ec, es) = (of_c.unwrap_or(Estimate::exact(c)), of_s.unwrap_or(Estimate::exact(s)));
    (of_c.is_some() || of_s.is_some()).then(|| Estimate {
        mean: reliability(c, s),
        lo: reliability(ec.lo, s).min(reliability(c, es.lo)),
        hi: reliability(ec.hi, s).max(reliability(c, es.hi)),
    })
}

/// Readability of property `j` at strength `m`, from column sums over a set of examples.
fn readable(table: &Table, totals: &[f64], (m, j): (usize, usize), level: f64) -> Option<Readable> {
    let present = table.present(totals, j);
    let right = &totals[table.of(table.rights(m), j)];
    let recalls: Vec<f64> = right.iter().zip(present).map(|(r, n)| r / n).collect();
    if table.stays[j].defined == 0 {
        return None;
    }
    let (balanced, half) = balanced(table.effective((m, j), right, present), normal_quantile(0.5 + 0.5 * level));
    let balanced = Estimate { mean: balanced, lo: (balanced - half).max(0.0), hi: (balanced + half).min(1.0) };
    let eligible = balanced.lo > 1.0 / table.stays[j].classes as f64;
    Some(Readable { recalls, balanced, eligible })
}

/// Balanced accuracy from counts (right, total) per class, and the half-width of its interval: `z sqrt(sum_j r_j (1 - r_j)/n_j)/k`, where
/// r_j is the centre of the Wilson interval of class j's recall. NaN if a class has no examples.
pub(super) fn balanced(counts: impl Iterator<Item = (f64, f64)>, z: f64) -> (f64, f64) {
    let (mut sum, mut variance, mut classes) = (0.0, 0.0, 0.0);
    for (right, n) in counts {
        let centre = (right + 0.5 * z * z) / (n + z * z);
        sum += right / n;
        variance += centre * (1.0 - centre) / n;
        classes += 1.0;
    }
    (sum / classes, z * variance.sqrt() / classes)
}

#[cfg(test)]
mod tests;
