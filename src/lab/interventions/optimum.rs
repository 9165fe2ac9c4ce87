//! The optimum of a sweep, without selection bias.
//!
//! The largest of 29 noisy numbers tends to exceed the largest of the 29 true ones, so a strength chosen and reported on the same examples
//! looks too good. Here it is chosen on one half of the examples and reported on the other, then the reverse; results are averaged over
//! many random halvings. The choice is repeated in every resample, so the interval accounts for it. The paper's optimum, chosen and
//! reported on all examples, is reported too.
//!
//! One strength is chosen in each half, by the mean over training runs. C and S are means over halves and training runs, and R is the
//! harmonic mean of the two.
//!
//! A strength can be chosen only if the choosing half shows that the oracle still reads the other property better than chance. Without this
//! rule, an oracle with a constant answer would do well: its selectivity is about the majority share.

use serde::{Deserialize, Serialize};

use super::assess::{Strength, balanced};
use super::score::{linearised, reliability};
use super::table::{Sweep, Table};
use base::numbers::score;
use stats::Estimate;
use stats::halves::Halves;
use stats::replicates::Bands;
use stats::special::normal_quantile;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// The smallest strength.
    First,
    /// The largest strength: a larger one might be better still.
    Last,
}

impl End {
    /// The end of the grid at `index` of `count` strengths; `None` in between, and for a single strength.
    pub fn of(index: usize, count: usize) -> Option<Self> {
        match index {
            _ if count < 2 => None,
            0 => Some(Self::First),
            i if i + 1 == count => Some(Self::Last),
            _ => None,
        }
    }
}

/// The best strength, chosen on one half and reported on the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Optimum {
    /// Index of the best eligible strength on all examples.
    pub index: usize,
    pub value: f64,
    /// Reliability on examples not used for the choice, with bands that account for the choice.
    pub reliability: Bands,
    /// Completeness and selectivity on those examples; reliability is their harmonic mean.
    pub held_out: [Bands; 2],
    /// Share of each strength among the choices on all halves.
    pub chosen: Vec<f64>,
    /// Share of halves without an eligible strength.
    pub none: f64,
    /// Set if the optimum is at an end of the grid.
    pub end: Option<End>,
}

/// The optimum under the paper's rule: chosen and reported on the same examples, even if the oracle no longer reads the other property.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Paper {
    /// Index among the strengths.
    pub index: usize,
    pub value: f64,
    /// Reliability at that strength; the interval does not account for the choice.
    pub reliability: Bands,
    /// Set if the optimum is at an end of the grid.
    pub end: Option<End>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum NoOptimum {
    /// No example has the other property.
    #[error("no test example has the other property, so selectivity is undefined")]
    Undefined,
    /// Some value of the other property does not occur in the test examples.
    #[error(
        "the test examples contain only {values} of the {classes} values of the other property, so its chance level is unknown"
    )]
    OneValue {
        /// Number of values that occur.
        values: usize,
        /// Number of values of the property.
        classes: usize,
    },
    /// The oracle no longer reads the other property, at any strength.
    #[error("the oracle does not read the other property better than chance at any strength (balanced accuracy at best {} [{}, {}]; chance level {})", score(best.mean), score(best.lo), score(best.hi), score(*chance))]
    Ruined {
        /// The highest balanced accuracy at any strength.
        best: Estimate,
        /// Chance level: one divided by the number of values.
        chance: f64,
    },
    /// Like [`Self::OneValue`], for an additional property.
    #[error(
        "the test examples contain only {values} of the {classes} values of {property}, so its chance level is unknown"
    )]
    FurtherValues {
        property: String,
        /// Number of values that occur.
        values: usize,
        /// Number of values of the property.
        classes: usize,
    },
    /// Like [`Self::Ruined`], for an additional property.
    #[error("the oracle does not read {property} better than chance at any strength (balanced accuracy at best {} [{}, {}]; chance level {})", score(best.mean), score(best.lo), score(best.hi), score(*chance))]
    FurtherRuined {
        property: String,
        /// The highest balanced accuracy at any strength.
        best: Estimate,
        /// Chance level: one divided by the number of values.
        chance: f64,
    },
    /// Each property is readable at some strength, but no strength leaves all of them readable.
    #[error("there is no strength at which the oracle reads all properties to keep better than chance")]
    NoneTogether,
    /// The oracle reads the other property on all examples, but half of them are too few to show it.
    #[error(
        "half of the test examples are too few to show that the oracle still reads the other property better than chance"
    )]
    FewExamples,
}

/// An optimum's reliability on all examples and in every resample, for each replicate (see [`linearised`]).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Draws {
    /// Reliability on the examples themselves; `None` without an optimum.
    pub theta: Option<Vec<f64>>,
    /// Reliability in each resample; `None` if no strength was eligible.
    pub rows: Vec<Option<Vec<f64>>>,
}

/// Completeness and selectivity on the halves not used for the choice, averaged over all choices, for each replicate.
pub(super) type HeldOut = [Vec<f64>; 2];

impl Draws {
    pub(super) fn new(theta: Option<&HeldOut>, rows: &[Option<HeldOut>]) -> Self {
        let of = |[c, s]: &HeldOut| linearised(c, s);
        Self { theta: theta.map(of), rows: rows.iter().map(|row| row.as_ref().map(of)).collect() }
    }
}

impl Paper {
    /// The strength with the highest reliability; `None` if reliability is undefined at every strength.
    pub(super) fn of(strengths: &[Strength]) -> Option<Self> {
        let at = |s: &Strength| s.reliability.map(|r| r.narrow.mean);
        let index = best(strengths.iter().map(at))?;
        let (value, reliability) = (strengths[index].value, strengths[index].reliability?);
        Some(Self { index, value, reliability, end: End::of(index, strengths.len()) })
    }
}

/// Index of the largest value; the first one on ties.
fn best(values: impl Iterator<Item = Option<f64>>) -> Option<usize> {
    let mut found: Option<(usize, f64)> = None;
    for (i, value) in values.enumerate() {
        if let Some(value) = value.filter(|v| !v.is_nan())
            && found.is_none_or(|(_, most)| value > most)
        {
            found = Some((i, value));
        }
    }
    found.map(|(i, _)| i)
}

pub(super) struct Halved<'a> {
    table: &'a Table,
    halves: &'a Halves,
    z: f64,
}

/// Choices on the halves.
pub(super) struct Chosen {
    /// `None` if no half had an eligible strength.
    pub(super) held_out: Option<HeldOut>,
    counts: Vec<usize>,
    none: usize,
}

impl<'a> Halved<'a> {
    /// Chooses among the strengths of `table`, for intervals of this level.
    pub(super) fn new(table: &'a Table, halves: &'a Halves, level: f64) -> Self {
        Self { table, halves, z: normal_quantile(0.5 + 0.5 * level) }
    }

    /// Chooses a strength on every half, from block sums.
    pub(super) fn choose(&self, sums: &[f32]) -> Chosen {
        let (k, m) = (self.table.replicates, self.table.strengths);
        let slim = self.slim(sums);
        let width = self.slim_width();
        let mut chosen = Chosen { held_out: None, counts: vec![0; m], none: 0 };
        let (mut held_out, mut choices) = ([vec![0.0; k], vec![0.0; k]], 0usize);
        let both = || [vec![0.0f64; k * m], vec![0.0f64; k * m]];
        let mut scores = [both(), both()];
        self.halves.sums(&slim, width, &mut |halves| {
            for (half, of_half) in halves.iter().zip(&mut scores) {
                self.means(half, of_half);
            }
            for (here, there) in [(0, 1), (1, 0)] {
                let at_strength = |at: usize| at * k..(at + 1) * k;
                let mean = |values: &[f64]| values.iter().sum::<f64>() / k as f64;
                let of_means = |at: usize| {
                    let [c, s] = scores[here].each_ref().map(|of| mean(&of[at_strength(at)]));
                    if s.is_nan() { s } else { reliability(c, s) }
                };
                let scored = (0..m).map(|at| self.eligible(halves[here], at).then(|| of_means(at)));
                let Some(at) = best(scored) else {
                    chosen.none += 1;
                    continue;
                };
                let reported = scores[there].each_ref().map(|of| &of[at_strength(at)]);
                if reported.iter().copied().flatten().any(|r| r.is_nan()) {
                    chosen.none += 1;
                    continue;
                }
                chosen.counts[at] += 1;
                choices += 1;
                for (sums, reported) in held_out.iter_mut().zip(reported) {
                    sums.iter_mut().zip(reported).for_each(|(sum, r)| *sum += r);
                }
            }
        });
        if choices > 0 {
            held_out.iter_mut().flatten().for_each(|sum| *sum /= choices as f64);
            chosen.held_out = Some(held_out);
        }
        chosen
    }

    /// Number of columns needed for the choice: counts, completeness and selectivity on each property by strength and replicate, and shares
    /// of examples read correctly.
    fn slim_width(&self) -> usize {
        let t = self.table;
        1 + t.classes + t.strengths * (self.scores() + t.classes)
    }

    /// Number of score columns per strength: completeness and selectivity on each property by replicate.
    fn scores(&self) -> usize {
        (1 + self.table.stays.len()) * self.table.replicates
    }

    fn slim(&self, sums: &[f32]) -> Vec<f32> {
        let t = self.table;
        let mut slim = Vec::with_capacity(self.halves.blocks().len() * self.slim_width());
        for block in sums.chunks_exact(t.width()) {
            slim.extend_from_slice(&block[..1 + t.classes]);
            for m in 0..t.strengths {
                for k in 0..t.replicates {
                    let at = t.at(k, m);
                    slim.push(block[at]);
                    slim.extend((0..t.stays.len()).map(|j| block[t.of(at + 2, j)].iter().sum::<f32>()));
                }
                slim.extend_from_slice(&block[t.rights(m)..t.rights(m) + t.classes]);
            }
        }
        slim
    }

    /// Index of a strength's first column among those needed for the choice.
    fn slim_at(&self, m: usize) -> usize {
        1 + self.table.classes + m * (self.scores() + self.table.classes)
    }

    /// Computes completeness and selectivity by strength and replicate on a half.
    fn means(&self, half: &[f32], [of_c, of_s]: &mut HeldOut) {
        let t = self.table;
        let rows = 1.0 / f64::from(half[0]);
        let width = 1 + t.stays.len();
        let each = 0..t.stays.len();
        let defined = each.map(|j| 1.0 / half[t.of(1, j)].iter().map(|n| f64::from(*n)).sum::<f64>());
        let defined: Vec<f64> = defined.collect();
        for m in 0..t.strengths {
            for k in 0..t.replicates {
                let at = self.slim_at(m) + width * k;
                let centres = &t.centres[k * t.strengths + m];
                let c = (centres[0].mean + f64::from(half[at]) * rows).clamp(0.0, 1.0);
                let on = |(j, share): (usize, &f64)| {
                    let s = centres[1 + j].mean + f64::from(half[at + 1 + j]) * share;
                    if s.is_nan() { s } else { s.clamp(0.0, 1.0) }
                };
                let s = defined.iter().enumerate().map(on).sum::<f64>() / t.stays.len() as f64;
                (of_c[m * t.replicates + k], of_s[m * t.replicates + k]) = (c, s);
            }
        }
    }

    fn eligible(&self, half: &[f32], m: usize) -> bool {
        let t = self.table;
        let rights = self.slim_at(m) + self.scores();
        (0..t.stays.len()).all(|j| {
            let (right, present) = (&half[t.of(rights, j)], &half[t.of(1, j)]);
            let (accuracy, half_width) = balanced(t.effective((m, j), right, present), self.z);
            accuracy - half_width > 1.0 / t.stays[j].classes as f64
        })
    }

    /// The optimum on the examples themselves, with bands from the choices in the resamples.
    pub(super) fn optimum(
        &self,
        sweep: &Sweep<'_>,
        strengths: &[Strength],
        (sums, rows): (&[f32], &[Option<HeldOut>]),
        level: f64,
    ) -> Result<Optimum, NoOptimum> {
        let (t, values) = (self.table, sweep.values);
        let totals = t.totals(sums);
        for j in 0..t.stays.len() {
            let (defined, classes) = (t.stays[j].defined, t.stays[j].classes);
            let present = t.present(&totals, j).iter().filter(|n| **n > 0.0).count();
            let further = j.checked_sub(1).and_then(|f| sweep.further.get(f)).map(|f| f.name.to_owned());
            match further {
                None if defined == 0 => return Err(NoOptimum::Undefined),
                None if present < classes => return Err(NoOptimum::OneValue { values: present, classes }),
                Some(property) if present < classes => {
                    return Err(NoOptimum::FurtherValues { property, values: present, classes });
                }
                _ => {}
            }
        }
        let eligible = |s: &Strength| s.eligible() == Some(true);
        let scored = strengths.iter().map(|s| s.reliability.filter(|_| eligible(s)).map(|r| r.narrow.mean));
        let Some(index) = best(scored) else { return Err(ruined(sweep, strengths)) };
        let chosen = self.choose(sums);
        let held_out = chosen.held_out.ok_or(NoOptimum::FewExamples)?;
        let bands = |of: &dyn Fn(&HeldOut) -> Vec<f64>| {
            let rows: Vec<f64> = rows.iter().flatten().flat_map(of).collect();
            Bands::new(&of(&held_out), &rows, level).ok_or(NoOptimum::FewExamples)
        };
        let [c, s] = &held_out;
        let single = c.iter().zip(s).map(|(c, s)| reliability(*c, *s));
        let reliability = bands(&|[c, s]| linearised(c, s))?.with_range(single);
        let choices: usize = chosen.counts.iter().sum();
        Ok(Optimum {
            index,
            value: values[index],
            reliability,
            held_out: [bands(&|[c, _]| c.clone())?, bands(&|[_, s]| s.clone())?],
            chosen: chosen.counts.iter().map(|c| *c as f64 / choices as f64).collect(),
            none: chosen.none as f64 / (choices + chosen.none) as f64,
            end: End::of(index, values.len()),
        })
    }
}

/// Names the property that no strength leaves readable.
fn ruined(sweep: &Sweep<'_>, strengths: &[Strength]) -> NoOptimum {
    let best = |of: &dyn Fn(&Strength) -> Option<Estimate>| {
        strengths.iter().filter_map(of).reduce(|a, b| if b.lo > a.lo { b } else { a })
    };
    let first = best(&|s| s.readable.as_ref().map(|r| r.balanced));
    let chance = 1.0 / sweep.classes as f64;
    match first {
        None => return NoOptimum::Undefined,
        Some(best) if best.lo <= chance || sweep.further.is_empty() => {
            return NoOptimum::Ruined { best, chance };
        }
        Some(_) => {}
    }
    for (j, further) in sweep.further.iter().enumerate() {
        let chance = 1.0 / further.classes as f64;
        let read = best(&|s| s.kept.get(1 + j)?.readable.as_ref().map(|r| r.balanced));
        if let Some(best) = read.filter(|best| best.lo <= chance) {
            return NoOptimum::FurtherRuined { property: further.name.to_owned(), best, chance };
        }
    }
    NoOptimum::NoneTogether
}
