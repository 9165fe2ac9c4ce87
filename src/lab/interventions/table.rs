//! The scores of a sweep as one table of columns over examples, so that a resample of the examples needs only one matrix product. If the
//! examples are tokens of texts, the table has a row per text with the sums over its tokens, and texts are drawn.
//!
//! The columns for each replicate k and strength m are completeness, completeness where the other property is defined, and selectivity for
//! each value of each property to keep. The columns for each strength are the shares of replicates whose oracle still reads such a property
//! correctly, by value. One additional set of columns indicates each example's values. Every statistic of a set of examples (all, one half,
//! a resample) is a function of the sums of these columns.

use super::score::{ExampleScores, Kept, linearised};
use base::matrix::Matrix;
use stats::clustered::design_effect;

/// Scores of the test examples by one replicate at one strength.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Judged {
    pub scores: ExampleScores,
    /// 1 if the oracle still reads the other property correctly after the intervention, 0 if not; for several counterfactual values, the
    /// mean. See [`super::score::right`]. `None` if the example lacks the other property.
    pub right: Vec<Option<f64>>,
    pub further: Vec<Kept>,
}

/// An additional property to keep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Further {
    pub name: &'static str,
    /// True value of each example.
    pub values: Vec<Option<usize>>,
    /// Number of values.
    pub classes: usize,
}

/// A method swept over its strengths under one oracle.
#[derive(Clone, Copy)]
pub struct Sweep<'a> {
    /// The strengths, ascending.
    pub values: &'a [f64],
    pub replicates: usize,
    /// Returns the scores for the indices of a replicate and a strength. They are requested one at a time, so that they need not all be in
    /// memory.
    pub judged: &'a dyn Fn(usize, usize) -> Judged,
    /// True value of the other property of each example.
    pub other: &'a [Option<usize>],
    /// Number of values of the other property.
    pub classes: usize,
    pub further: &'a [Further],
    /// The text of each example, from 0, if examples are tokens of texts. Texts are then drawn instead of examples.
    pub texts: Option<&'a [usize]>,
}

impl Sweep<'_> {
    /// Number of independent units: texts, or examples.
    pub(super) fn units(&self) -> usize {
        self.texts.map_or(self.other.len(), |texts| texts.last().map_or(0, |last| last + 1))
    }
}

/// The statistics computed at every strength.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Statistic {
    /// Mean completeness over all examples.
    Completeness,
    /// Mean selectivity over the examples with the property, averaged over the properties if there are several.
    Selectivity,
    /// Harmonic mean of the two means over replicates, linearised by replicate.
    Reliability,
    /// Completeness over the examples with the other property.
    CompletenessWhereSelective,
    /// Selectivity averaged over the values of a property, and over the properties if there are several.
    SelectivityByClass,
    /// Selectivity on one of several properties: 0 is the other property, then come the additional properties.
    SelectivityOn(usize),
}

impl Statistic {
    /// Number of statistics before those on single properties.
    const COUNT: usize = 5;

    /// Index among all statistics.
    fn place(self) -> usize {
        match self {
            Self::Completeness => 0,
            Self::Selectivity => 1,
            Self::Reliability => 2,
            Self::CompletenessWhereSelective => 3,
            Self::SelectivityByClass => 4,
            Self::SelectivityOn(j) => Self::COUNT + j,
        }
    }
}

/// A property to keep, and where its values are among the columns.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stays {
    /// Number of values.
    pub(super) classes: usize,
    /// Total number of values of the preceding properties to keep.
    from: usize,
    /// Number of examples with the property.
    pub(super) defined: usize,
    /// Number of texts with the property or, without texts, of examples.
    pub(super) units: usize,
}

/// True values of a property by example, and its number of values.
type Labels<'a> = (&'a [Option<usize>], usize);

/// Selectivity on a property and whether it is read correctly, by example.
type Told<'a> = (&'a [Option<f64>], &'a [Option<f64>]);

/// Properties of a centred column.
#[derive(Debug, Clone, Copy)]
pub(super) struct Centre {
    /// The mean that was subtracted.
    pub(super) mean: f64,
    /// True if all values are the same.
    pub(super) constant: bool,
}

pub(super) struct Table {
    pub(super) replicates: usize,
    pub(super) strengths: usize,
    /// The properties to keep: the other property, then the additional properties.
    pub(super) stays: Vec<Stays>,
    /// Total number of values of the properties to keep.
    pub(super) classes: usize,
    pub(super) examples: usize,
    /// Number of examples with a value of at least one property to keep.
    pub(super) defined: usize,
    /// Number of texts with a value of at least one property to keep or, without texts, of examples.
    pub(super) defined_units: usize,
    /// Design effect of the share read correctly, by strength and value of a property; 1 if each example is its own text.
    effects: Vec<f64>,
    /// Centres of the columns for completeness and for the selectivity on each property, by replicate and strength.
    pub(super) centres: Vec<Vec<Centre>>,
    /// `units x width`: numbers of examples, those with each value of the properties, then centred scores; see [`Self::at`] and [`Self::rights`].
    pub(super) columns: Matrix,
}

impl Table {
    /// # Panics
    /// If a list in the sweep has a different length from its number of examples.
    pub(super) fn new(sweep: &Sweep<'_>) -> Self {
        let (replicates, strengths) = (sweep.replicates, sweep.values.len());
        let n = sweep.other.len();
        let mut labels: Vec<Labels<'_>> = vec![(sweep.other, sweep.classes)];
        labels.extend(sweep.further.iter().map(|f| (f.values.as_slice(), f.classes)));
        assert!(labels.iter().all(|(values, _)| values.len() == n), "labels do not fit the examples");
        assert!(sweep.texts.is_none_or(|texts| texts.len() == n), "texts do not fit the examples");
        let units_with = |with: &dyn Fn(usize) -> bool| -> usize {
            let Some(texts) = sweep.texts else { return (0..n).filter(|i| with(*i)).count() };
            texts
                .chunk_by(|a, b| a == b)
                .fold((0, 0), |(units, from), text| {
                    let to = from + text.len();
                    (units + usize::from((from..to).any(with)), to)
                })
                .0
        };
        let (mut stays, mut classes) = (Vec::with_capacity(labels.len()), 0);
        for (values, count) in &labels {
            let (defined, units) = (values.iter().flatten().count(), units_with(&|i| values[i].is_some()));
            stays.push(Stays { classes: *count, from: classes, defined, units });
            classes += count;
        }
        let any = |i: usize| labels.iter().any(|(values, _)| values[i].is_some());
        let mut table = Self {
            replicates,
            strengths,
            classes,
            examples: n,
            defined: (0..n).filter(|i| any(*i)).count(),
            defined_units: units_with(&any),
            effects: vec![1.0; strengths * classes],
            stays,
            centres: Vec::with_capacity(replicates * strengths),
            columns: Matrix::zeros(0, 0),
        };
        let unit = |i: usize| sweep.texts.map_or(i, |texts| texts[i]);
        let mut columns = Matrix::zeros(sweep.units(), table.width());
        for i in 0..n {
            let row = columns.row_mut(unit(i));
            row[0] += 1.0;
            for (stays, (values, _)) in table.stays.iter().zip(&labels) {
                if let Some(j) = values[i] {
                    row[1 + stays.from + j] += 1.0;
                }
            }
        }
        for k in 0..replicates {
            for m in 0..strengths {
                table.fill(&mut columns, (k, m), &(sweep.judged)(k, m), (&labels, &unit));
            }
        }
        if sweep.texts.is_some() {
            let effect = |m: usize, value: usize| {
                let (right, present) = (table.rights(m) + value, 1 + value);
                design_effect(
                    (0..columns.rows()).map(|unit| [right, present].map(|at| f64::from(columns.row(unit)[at]))),
                )
            };
            table.effects = (0..strengths * classes).map(|at| effect(at / classes, at % classes)).collect();
        }
        table.columns = columns;
        table
    }

    fn fill(
        &mut self,
        columns: &mut Matrix,
        (k, m): (usize, usize),
        judged: &Judged,
        (labels, unit): (&[Labels<'_>], &dyn Fn(usize) -> usize),
    ) {
        let c = &judged.scores.completeness;
        let mut kept: Vec<Told<'_>> = vec![(&judged.scores.selectivity, &judged.right)];
        kept.extend(judged.further.iter().map(|k| (k.selectivity.as_slice(), k.right.as_slice())));
        let n = self.examples;
        let whole = kept.iter().all(|(s, right)| (s.len(), right.len()) == (n, n));
        assert!(whole && c.len() == n && kept.len() == labels.len(), "scores do not fit the examples");
        let mut centres = vec![centre(c.iter().copied())];
        centres.extend(kept.iter().map(|(s, _)| centre(s.iter().flatten().copied())));
        let (at, rights) = (self.at(k, m), self.rights(m));
        let share = 1.0 / self.replicates as f64;
        for i in 0..n {
            let row = columns.row_mut(unit(i));
            let apart = (c[i] - centres[0].mean) as f32;
            row[at] += apart;
            if labels[0].0[i].is_some() {
                row[at + 1] += apart;
            }
            let each = self.stays.iter().zip(labels).zip(&kept).zip(&centres[1..]);
            for (((stays, (values, _)), (s, right)), centre) in each {
                if let Some(j) = values[i] {
                    row[at + 2 + stays.from + j] += s[i].map_or(0.0, |s| (s - centre.mean) as f32);
                    row[rights + stays.from + j] += (share * right[i].unwrap_or(0.0)) as f32;
                }
            }
        }
        self.centres.push(centres);
    }

    /// First column of a replicate and strength: completeness, completeness where the other property is defined, and selectivity by
    /// property and value.
    pub(super) fn at(&self, k: usize, m: usize) -> usize {
        1 + self.classes + (k * self.strengths + m) * (2 + self.classes)
    }

    /// First column of the shares read correctly at a strength, by property and value.
    pub(super) fn rights(&self, m: usize) -> usize {
        self.at(self.replicates, 0) + m * self.classes
    }

    pub(super) fn width(&self) -> usize {
        self.rights(self.strengths)
    }

    /// Sums of all columns over each block: blocks x columns, in single precision like the sums of resamples.
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

    pub(super) fn totals(&self, sums: &[f32]) -> Vec<f64> {
        let mut totals = vec![0.0; self.width()];
        for block in sums.chunks_exact(self.width()) {
            totals.iter_mut().zip(block).for_each(|(total, sum)| *total += f64::from(*sum));
        }
        totals
    }

    /// All statistics of a set of examples for each strength and replicate, computed from the column sums of the set. NaN if a statistic
    /// applies to no example of the set.
    pub(super) fn statistics(&self, totals: &[f64]) -> Vec<f64> {
        let rows = totals[0];
        let defined: f64 = self.present(totals, 0).iter().sum();
        let (size, properties) = (self.strengths * self.replicates, self.stays.len());
        let mut out = vec![0.0; self.followed() * size];
        for m in 0..self.strengths {
            let mut of_both = [Vec::with_capacity(self.replicates), Vec::with_capacity(self.replicates)];
            for k in 0..self.replicates {
                let (at, centres) = (self.at(k, m), &self.centres[k * self.strengths + m]);
                let mut put = |statistic: Statistic, value: f64| {
                    out[statistic.place() * size + m * self.replicates + k] = value;
                };
                let c = held(centres[0].mean + totals[at] / rows);
                let (mut s, mut by_class) = (0.0, 0.0);
                for j in 0..properties {
                    let (on, over_values) = self.selectivity(totals, (at, j), centres[1 + j].mean);
                    s += on;
                    by_class += over_values;
                    if properties > 1 {
                        put(Statistic::SelectivityOn(j), on);
                    }
                }
                let (s, by_class) = (s / properties as f64, by_class / properties as f64);
                put(Statistic::Completeness, c);
                put(Statistic::Selectivity, s);
                of_both[0].push(c);
                of_both[1].push(s);
                let where_selective = held(centres[0].mean + totals[at + 1] / defined);
                put(Statistic::CompletenessWhereSelective, where_selective);
                put(Statistic::SelectivityByClass, by_class);
            }
            out[self.place(Statistic::Reliability, m)].copy_from_slice(&linearised(&of_both[0], &of_both[1]));
        }
        out
    }

    /// Number of statistics. A single property has no separate statistic, because its selectivity is the mean.
    fn followed(&self) -> usize {
        Statistic::COUNT + if self.stays.len() > 1 { self.stays.len() } else { 0 }
    }

    /// Number of examples with each value of property `j`.
    pub(super) fn present<'a>(&self, totals: &'a [f64], j: usize) -> &'a [f64] {
        &totals[1 + self.stays[j].from..][..self.stays[j].classes]
    }

    /// Selectivity on property `j`, and its mean over the values that occur; `at` is the first column of the replicate and strength.
    fn selectivity(&self, totals: &[f64], (at, j): (usize, usize), centre: f64) -> (f64, f64) {
        let present = self.present(totals, j);
        let by_class = &totals[at + 2 + self.stays[j].from..][..present.len()];
        let defined: f64 = present.iter().sum();
        let (sum, values) = by_class
            .iter()
            .zip(present)
            .filter(|(_, n)| **n > 0.0)
            .fold((0.0, 0.0), |(sum, values), (s, n)| (sum + held(centre + s / n), values + 1.0));
        (held(centre + by_class.iter().sum::<f64>() / defined), sum / values)
    }

    /// At strength `m`, for each value of property `j`: the number of examples read correctly and the number of all examples, each
    /// divided by the design effect.
    pub(super) fn effective<'a, T: Copy + Into<f64>>(
        &'a self,
        (m, j): (usize, usize),
        right: &'a [T],
        present: &'a [T],
    ) -> impl Iterator<Item = (f64, f64)> + 'a {
        let effects = &self.effects[self.of(m * self.classes, j)];
        let each = right.iter().zip(present).zip(effects);
        each.map(|((r, n), effect)| ((*r).into() / effect, (*n).into() / effect))
    }

    /// Columns of the values of property `j` in a block that begins at `from`.
    pub(super) fn of(&self, from: usize, j: usize) -> std::ops::Range<usize> {
        let stays = self.stays[j];
        from + stays.from..from + stays.from + stays.classes
    }

    /// Index range, within the result of `statistics`, of a statistic's values at one strength (one value per replicate).
    pub(super) fn place(&self, statistic: Statistic, m: usize) -> std::ops::Range<usize> {
        let from = (statistic.place() * self.strengths + m) * self.replicates;
        from..from + self.replicates
    }

    /// True if completeness at a strength is the same for all examples in every training run.
    pub(super) fn complete_alike(&self, m: usize) -> bool {
        (0..self.replicates).all(|k| self.centres[k * self.strengths + m][0].constant)
    }

    /// True if the selectivity on the properties `which` is the same for all examples in every training run.
    pub(super) fn selective_alike(&self, m: usize, mut which: std::ops::Range<usize>) -> bool {
        which.all(|j| (0..self.replicates).all(|k| self.centres[k * self.strengths + m][1 + j].constant))
    }
}

fn centre(values: impl Iterator<Item = f64> + Clone) -> Centre {
    let (sum, n) = values.clone().fold((0.0, 0usize), |(sum, n), v| (sum + v, n + 1));
    let first = values.clone().next();
    let constant = first.is_some_and(|first| values.clone().all(|v| v == first));
    let mean = if let (true, Some(first)) = (constant, first) { first } else { sum / n as f64 };
    Centre { mean: if n == 0 { 0.0 } else { mean }, constant }
}

/// Clamps to [0, 1], because rounding can lead outside; NaN stays NaN.
fn held(value: f64) -> f64 {
    if value.is_nan() { value } else { value.clamp(0.0, 1.0) }
}
