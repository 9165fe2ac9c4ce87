//! The scores of a sweep as one table of columns over examples, so that a resample of the examples is one product.
//!
//! For every replicate k and strength m the table has a column of completeness, one of completeness where the other property
//! is defined, and one of selectivity for each value of that property; for every strength the share of replicates that
//! still read the other property right, by its value; and once, who is there. Every statistic of a set of examples (all, a
//! half, a resample) is a function of the sums of these columns over the set.

use super::score::{ExampleScores, reliability};
use crate::base::matrix::Matrix;

/// Scores of the test examples by one replicate at one strength.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Judged {
    /// Completeness and selectivity.
    pub scores: ExampleScores,
    /// 1 where the oracle still reads the other property right after the intervention and 0 where not (a mean, if there are
    /// several counterfactual values); see [`super::score::right`]. Defined where the other property is.
    pub right: Vec<Option<f64>>,
}

/// A method swept over its strengths under one oracle.
#[derive(Clone, Copy)]
pub struct Sweep<'a> {
    /// The strengths, ascending.
    pub values: &'a [f64],
    /// Number of replicates.
    pub replicates: usize,
    /// Scores of a replicate at a strength, by their places. Asked for one at a time, so that they need not all be there
    /// in full.
    pub judged: &'a dyn Fn(usize, usize) -> Judged,
    /// True value of the other property of each example.
    pub other: &'a [Option<usize>],
    /// Number of values of the other property.
    pub classes: usize,
}

/// The statistics that are followed at every strength.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Statistic {
    /// Mean completeness over all examples.
    Completeness,
    /// Mean selectivity over the examples that have it.
    Selectivity,
    /// Harmonic mean of the two.
    Reliability,
    /// Completeness over the examples that selectivity is measured on.
    CompletenessWhereSelective,
    /// Selectivity averaged over the values of the other property.
    SelectivityByClass,
}

impl Statistic {
    /// All of them; a statistic is known by its place here.
    pub(super) const ALL: [Self; 5] = [
        Self::Completeness,
        Self::Selectivity,
        Self::Reliability,
        Self::CompletenessWhereSelective,
        Self::SelectivityByClass,
    ];
}

/// Values of a column less their mean, and what is known of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Centre {
    /// The mean that was taken off.
    pub(super) mean: f64,
    /// Whether all values are the same.
    pub(super) constant: bool,
}

/// The columns.
pub(super) struct Table {
    /// Replicates of the sweep.
    pub(super) replicates: usize,
    /// Strengths of the sweep.
    pub(super) strengths: usize,
    /// Values of the other property.
    pub(super) classes: usize,
    /// Examples, and those with a value of the other property.
    pub(super) examples: usize,
    /// Examples with a value of the other property.
    pub(super) defined: usize,
    /// Of completeness and of selectivity, by replicate and strength.
    pub(super) centres: Vec<[Centre; 2]>,
    /// `examples x width`: ones, the other property as indicators, then centred scores; see [`Self::at`] and [`Self::rights`].
    pub(super) columns: Matrix,
}

impl Table {
    /// # Panics
    /// If lists are of other lengths than the sweep's examples.
    pub(super) fn new(sweep: &Sweep<'_>) -> Self {
        let (replicates, strengths, classes) = (sweep.replicates, sweep.values.len(), sweep.classes);
        let n = sweep.other.len();
        let mut table = Self {
            replicates,
            strengths,
            classes,
            examples: n,
            defined: sweep.other.iter().flatten().count(),
            centres: Vec::with_capacity(replicates * strengths),
            columns: Matrix::zeros(0, 0),
        };
        let mut columns = Matrix::zeros(n, table.width());
        for (i, other) in sweep.other.iter().enumerate() {
            columns.row_mut(i)[0] = 1.0;
            if let Some(j) = other {
                columns.row_mut(i)[1 + j] = 1.0;
            }
        }
        for k in 0..replicates {
            for m in 0..strengths {
                table.fill(&mut columns, (k, m), &(sweep.judged)(k, m), sweep.other);
            }
        }
        table.columns = columns;
        table
    }

    fn fill(
        &mut self,
        columns: &mut Matrix,
        (k, m): (usize, usize),
        judged: &Judged,
        other: &[Option<usize>],
    ) {
        let (c, s) = (&judged.scores.completeness, &judged.scores.selectivity);
        let n = other.len();
        assert_eq!((c.len(), s.len(), judged.right.len()), (n, n, n), "scores of other examples");
        let centres = [centre(c.iter().copied()), centre(s.iter().flatten().copied())];
        self.centres.push(centres);
        let (at, rights) = (self.at(k, m), self.rights(m));
        let share = 1.0 / self.replicates as f64;
        for (i, other) in other.iter().enumerate() {
            let row = columns.row_mut(i);
            let apart = (c[i] - centres[0].mean) as f32;
            row[at] = apart;
            if let Some(j) = *other {
                row[at + 1] = apart;
                row[at + 2 + j] = s[i].map_or(0.0, |s| (s - centres[1].mean) as f32);
                row[rights + j] += (share * judged.right[i].unwrap_or(0.0)) as f32;
            }
        }
    }

    /// First column of a replicate and strength: completeness, the same where the other property is defined, and
    /// selectivity by its value.
    pub(super) fn at(&self, k: usize, m: usize) -> usize {
        1 + self.classes + (k * self.strengths + m) * (2 + self.classes)
    }

    /// First column of the shares that are read right at a strength, by value.
    pub(super) fn rights(&self, m: usize) -> usize {
        self.at(self.replicates, 0) + m * self.classes
    }

    /// Number of columns.
    pub(super) fn width(&self) -> usize {
        self.rights(self.strengths)
    }

    /// Sums of all columns over each block: blocks x columns, in single precision like those of resamples.
    pub(super) fn block_sums(&self, blocks: &[Vec<usize>]) -> Vec<f32> {
        let mut all = Vec::with_capacity(blocks.len() * self.width());
        for block in blocks {
            let mut sums = vec![0.0f64; self.width()];
            for row in block {
                sums.iter_mut().zip(self.columns.row(*row)).for_each(|(sum, v)| *sum += f64::from(*v));
            }
            all.extend(sums.into_iter().map(|sum| sum as f32));
        }
        all
    }

    /// Sums over everything from sums over blocks.
    pub(super) fn totals(&self, sums: &[f32]) -> Vec<f64> {
        let mut totals = vec![0.0; self.width()];
        for block in sums.chunks_exact(self.width()) {
            totals.iter_mut().zip(block).for_each(|(total, sum)| *total += f64::from(*sum));
        }
        totals
    }

    /// All statistics of the set with these sums: by statistic, strength, replicate. Not a number where the set has no
    /// example of which a statistic speaks.
    pub(super) fn statistics(&self, totals: &[f64]) -> Vec<f64> {
        let (rows, present) = (totals[0], &totals[1..1 + self.classes]);
        let defined: f64 = present.iter().sum();
        let size = self.strengths * self.replicates;
        let mut out = vec![0.0; Statistic::ALL.len() * size];
        for m in 0..self.strengths {
            for k in 0..self.replicates {
                let (at, [c0, s0]) = (self.at(k, m), self.centres[k * self.strengths + m]);
                let by_class = &totals[at + 2..at + 2 + self.classes];
                let c = held(c0.mean + totals[at] / rows);
                let s = held(s0.mean + by_class.iter().sum::<f64>() / defined);
                let (sum, values) = by_class
                    .iter()
                    .zip(present)
                    .filter(|(_, n)| **n > 0.0)
                    .fold((0.0, 0.0), |(sum, values), (s, n)| (sum + held(s0.mean + s / n), values + 1.0));
                let each = [
                    c,
                    s,
                    if s.is_nan() { f64::NAN } else { reliability(c, s) },
                    held(c0.mean + totals[at + 1] / defined),
                    sum / values,
                ];
                for (i, value) in each.into_iter().enumerate() {
                    out[i * size + m * self.replicates + k] = value;
                }
            }
        }
        out
    }

    /// Place of a statistic's values at a strength among what [`Self::statistics`] gives: one for each replicate.
    pub(super) fn place(&self, statistic: Statistic, m: usize) -> std::ops::Range<usize> {
        let from = (statistic as usize * self.strengths + m) * self.replicates;
        from..from + self.replicates
    }

    /// Whether the columns behind a statistic at a strength are constant in every replicate.
    pub(super) fn constant(&self, which: usize, m: usize) -> bool {
        (0..self.replicates).all(|k| self.centres[k * self.strengths + m][which].constant)
    }
}

fn centre(values: impl Iterator<Item = f64> + Clone) -> Centre {
    let (sum, n) = values.clone().fold((0.0, 0usize), |(sum, n), v| (sum + v, n + 1));
    let first = values.clone().next();
    let constant = first.is_some_and(|first| values.clone().all(|v| v == first));
    let mean = if let (true, Some(first)) = (constant, first) { first } else { sum / n as f64 };
    Centre { mean: if n == 0 { 0.0 } else { mean }, constant }
}

/// Within [0, 1], where rounding must not carry it out; NaN stays NaN.
fn held(value: f64) -> f64 {
    if value.is_nan() { value } else { value.clamp(0.0, 1.0) }
}
