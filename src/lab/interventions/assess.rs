//! What a sweep says about a method: both bands at every strength, what is left of the other property, and the optimum.
//!
//! One [`assess`] is one method under one oracle with all its replicates. It never looks at hidden states or probes, only at
//! per-example scores, so it can be called again whenever a replicate arrives.

use serde::{Deserialize, Serialize};

use super::optimum::{Draws, Halved, NoOptimum, Optimum, Paper};
use super::score::reliability;
use super::table::{Statistic, Sweep, Table};
use crate::stats::Estimate;
use crate::stats::bootstrap::Resamples;
use crate::stats::halves::Halves;
use crate::stats::replicates::{Bands, exact_floor};
use crate::stats::special::normal_quantile;

/// How well the oracle still reads the other property after the intervention.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Readable {
    /// Share read right, by value of the property; mean over replicates. Not a number for a value that no example has.
    pub recalls: Vec<f64>,
    /// Their mean. The interval is symmetric; each share enters it by Wilson's centre, so it never has width 0.
    pub balanced: Estimate,
    /// Whether the lower end lies above chance. If not, the oracle reads nothing any more: its selectivity is that of a
    /// constant answer, and the strength cannot be an optimum.
    pub eligible: bool,
}

/// One method under one oracle at one strength.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Strength {
    /// The strength.
    pub value: f64,
    /// Completeness over all examples.
    pub completeness: Bands,
    /// Selectivity over the examples that have the other property; none if none has.
    pub selectivity: Option<Bands>,
    /// Harmonic mean of the two means.
    pub reliability: Option<Bands>,
    /// Completeness over the examples that selectivity is measured on.
    pub completeness_where_selective: Option<Bands>,
    /// Mean over the values of the other property of the mean selectivity within.
    pub selectivity_by_class: Option<Bands>,
    /// What is left of the other property.
    pub readable: Option<Readable>,
    /// Examples behind completeness.
    pub n_c: usize,
    /// Examples behind selectivity.
    pub n_s: usize,
}

/// What a sweep says.
#[derive(Debug, Clone, PartialEq)]
pub struct Assessment {
    /// In the order of the strengths.
    pub strengths: Vec<Strength>,
    /// Chosen on one half, reported on the other; or why there is none.
    pub optimum: Result<Optimum, NoOptimum>,
    /// The paper's way: chosen and reported on all examples. None without selectivity.
    pub paper: Option<Paper>,
    /// The optimum's reliability in every resample, to compare methods with.
    pub draws: Draws,
}

/// Assesses a sweep. `resamples` and `halves` are those of the test examples, shared by all methods and oracles, so that
/// methods can be compared; intervals are at `level`. `None` for a sweep without replicates, strengths or examples.
///
/// # Panics
/// If scores, resamples or halves are of other examples.
#[must_use]
pub fn assess(sweep: &Sweep<'_>, resamples: &Resamples, halves: &Halves, level: f64) -> Option<Assessment> {
    if sweep.replicates == 0 || sweep.values.is_empty() || sweep.other.is_empty() {
        return None;
    }
    let table = Table::new(sweep);
    let halved = Halved::new(&table, halves, level);
    let sums = table.block_sums(halves.blocks());
    let totals = table.totals(&sums);
    let drawn = resamples.block_sums(&table.columns, halves.blocks(), |_, sums| {
        (table.statistics(&table.totals(sums)), halved.choose(sums).theta)
    });
    let (statistics, chosen): (Vec<Vec<f64>>, Vec<_>) = drawn.into_iter().unzip();
    let strengths = strengths(&table, sweep.values, &totals, &statistics, level)?;
    let draws = Draws { theta: halved.choose(&sums).theta, rows: chosen };
    let optimum = halved.optimum(sweep.values, &strengths, &sums, &draws, level);
    let paper = Paper::of(&strengths);
    Some(Assessment { strengths, optimum, paper, draws })
}

/// The bands alone, at a part of the cost: what a sweep says while its replicates are still arriving.
///
/// # Panics
/// If scores or resamples are of other examples.
#[must_use]
pub fn bands(sweep: &Sweep<'_>, resamples: &Resamples, level: f64) -> Option<Vec<Strength>> {
    if sweep.replicates == 0 || sweep.values.is_empty() || sweep.other.is_empty() {
        return None;
    }
    let table = Table::new(sweep);
    let all = [(0..sweep.other.len()).collect::<Vec<usize>>()];
    let totals = table.totals(&table.block_sums(&all));
    let drawn = resamples.block_sums(&table.columns, &all, |_, sums| table.statistics(&table.totals(sums)));
    strengths(&table, sweep.values, &totals, &drawn, level)
}

/// Every strength from the sums over all examples and the statistics of each resample.
fn strengths(
    table: &Table,
    values: &[f64],
    totals: &[f64],
    drawn: &[Vec<f64>],
    level: f64,
) -> Option<Vec<Strength>> {
    let point = table.statistics(totals);
    let bands = |statistic: Statistic, m: usize| -> Option<Bands> {
        let place = table.place(statistic, m);
        let draws: Vec<f64> = drawn.iter().flat_map(|all| &all[place.clone()]).copied().collect();
        Bands::new(&point[place], &draws, level)
    };
    let one = |(m, value): (usize, &f64)| {
        strength(table, *value, m, &bands, readable(table, totals, m, level), level)
    };
    values.iter().enumerate().map(one).collect()
}

fn strength(
    table: &Table,
    value: f64,
    m: usize,
    bands: &dyn Fn(Statistic, usize) -> Option<Bands>,
    readable: Option<Readable>,
    level: f64,
) -> Option<Strength> {
    let floor = |band: &Bands, which: usize, n: usize| {
        exact_floor(band.narrow.mean, n, table.constant(which, m), level)
    };
    let completeness = bands(Statistic::Completeness, m)?;
    let of_c = floor(&completeness, 0, table.examples);
    let selectivity = bands(Statistic::Selectivity, m);
    let of_s = selectivity.as_ref().and_then(|s| floor(s, 1, table.defined));
    let both = selectivity.map(|s| between(completeness.narrow.mean, of_c, s.narrow.mean, of_s));
    let here = bands(Statistic::CompletenessWhereSelective, m);
    Some(Strength {
        value,
        completeness: completeness.floored(of_c),
        selectivity: selectivity.map(|s| s.floored(of_s)),
        reliability: bands(Statistic::Reliability, m).map(|r| r.floored(both.flatten())),
        completeness_where_selective: here.map(|c| c.floored(floor(&c, 0, table.defined))),
        selectivity_by_class: bands(Statistic::SelectivityByClass, m).map(|s| s.floored(of_s)),
        readable,
        n_c: table.examples,
        n_s: table.defined,
    })
}

/// How far the harmonic mean reaches when one of the two means goes to the end of its exact bound and the other stays.
fn between(c: f64, of_c: Option<Estimate>, s: f64, of_s: Option<Estimate>) -> Option<Estimate> {
    let (ec, es) = (of_c.unwrap_or(Estimate::exact(c)), of_s.unwrap_or(Estimate::exact(s)));
    (of_c.is_some() || of_s.is_some()).then(|| Estimate {
        mean: reliability(c, s),
        lo: reliability(ec.lo, s).min(reliability(c, es.lo)),
        hi: reliability(ec.hi, s).max(reliability(c, es.hi)),
    })
}

/// What is left of the other property in the set with these sums.
fn readable(table: &Table, totals: &[f64], m: usize, level: f64) -> Option<Readable> {
    let present = &totals[1..1 + table.classes];
    let right = &totals[table.rights(m)..table.rights(m) + table.classes];
    let recalls: Vec<f64> = right.iter().zip(present).map(|(r, n)| r / n).collect();
    if table.defined == 0 {
        return None;
    }
    let (balanced, half) =
        balanced(right.iter().copied().zip(present.iter().copied()), normal_quantile(0.5 + 0.5 * level));
    let balanced =
        Estimate { mean: balanced, lo: (balanced - half).max(0.0), hi: (balanced + half).min(1.0) };
    let eligible = balanced.lo > 1.0 / table.classes as f64;
    Some(Readable { recalls, balanced, eligible })
}

/// Balanced accuracy of (right, all) counts by class and the half-width of its interval: `z sqrt(sum_j r_j (1 - r_j)/n_j)/k`
/// with r_j by Wilson's centre. Not a number if a class has no example: nothing can be said of it.
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
mod tests {
    use super::*;
    use crate::lab::interventions::score::ExampleScores;
    use crate::lab::interventions::table::Judged;
    use crate::stats::rng::{stream, unit};
    use rand_chacha::ChaCha8Rng;

    const LEVEL: f64 = 0.95;

    fn normal(rng: &mut ChaCha8Rng) -> f64 {
        normal_quantile(unit(rng).clamp(1e-12, 1.0 - 1e-12))
    }

    fn logistic(z: f64) -> f64 {
        1.0 / (1.0 + (-z).exp())
    }

    /// Examples of which every third has a value of the other property, a fifth of those the second.
    fn labels(n: usize) -> Vec<Option<usize>> {
        (0..n).map(|i| (i % 3 == 0).then_some(usize::from(i % 15 == 0))).collect()
    }

    /// Scores from given functions of (replicate, strength, example).
    fn judge(
        other: &[Option<usize>],
        (replicates, strengths): (usize, usize),
        c: &mut dyn FnMut(usize, usize, usize) -> f64,
        s: &mut dyn FnMut(usize, usize, usize) -> f64,
        right: &dyn Fn(usize, usize, usize) -> f64,
    ) -> Vec<Vec<Judged>> {
        let mut one = |k: usize, m: usize| Judged {
            scores: ExampleScores {
                completeness: (0..other.len()).map(|i| c(k, m, i)).collect(),
                selectivity: (0..other.len()).map(|i| other[i].map(|_| s(k, m, i))).collect(),
            },
            right: (0..other.len()).map(|i| other[i].map(|_| right(k, m, i))).collect(),
        };
        (0..replicates).map(|k| (0..strengths).map(|m| one(k, m)).collect()).collect()
    }

    fn run(other: &[Option<usize>], values: &[f64], judged: &[Vec<Judged>], resamples: usize) -> Assessment {
        let strata: Vec<usize> = other.iter().map(|o| o.map_or(2, |o| o)).collect();
        let halves = Halves::new(&strata, 20, 1);
        let resamples = Resamples::new(other.len(), resamples, 1);
        let at = |k: usize, m: usize| judged[k][m].clone();
        let sweep = Sweep { values, replicates: judged.len(), judged: &at, other, classes: 2 };
        assess(&sweep, &resamples, &halves, LEVEL).unwrap()
    }

    /// Point estimates by their definitions, and the narrow band of one replicate by the paired bootstrap.
    #[test]
    fn statistics_are_those_of_the_definitions() {
        let (n, k, m) = (240, 3, 4);
        let other = labels(n);
        let mut rng = stream(1, "scores");
        let draws: Vec<f64> = (0..2 * n * k * m).map(|_| unit(&mut rng)).collect();
        let at = |k: usize, m: usize, i: usize| (k * 4 + m) * n + i;
        let judged = judge(
            &other,
            (k, m),
            &mut |k, m, i| draws[at(k, m, i)],
            &mut |k, m, i| draws[n * 12 + at(k, m, i)],
            &|k, m, i| f64::from(u8::from((i + k + m) % 4 > 0)),
        );
        let got = run(&other, &[0.1, 0.2, 0.3, 0.4], &judged, 300);
        let mean = |v: Vec<f64>| v.iter().sum::<f64>() / v.len() as f64;
        for (m, strength) in got.strengths.iter().enumerate() {
            let over_k = |f: &dyn Fn(&Judged) -> f64| mean(judged.iter().map(|row| f(&row[m])).collect());
            let c = |j: &Judged| mean(j.scores.completeness.clone());
            let s = |j: &Judged| mean(j.scores.selectivity.iter().flatten().copied().collect());
            let of = |j: &Judged, value: usize| {
                let list = j.scores.selectivity.iter().zip(&other).filter(|(_, o)| **o == Some(value));
                mean(list.filter_map(|(s, _)| *s).collect())
            };
            let here = |j: &Judged| {
                let list = j.scores.completeness.iter().zip(&other).filter(|(_, o)| o.is_some());
                mean(list.map(|(c, _)| *c).collect())
            };
            for (what, got, want) in [
                ("C", strength.completeness.narrow.mean, over_k(&c)),
                ("S", strength.selectivity.unwrap().narrow.mean, over_k(&s)),
                ("R", strength.reliability.unwrap().narrow.mean, over_k(&|j| reliability(c(j), s(j)))),
                ("C on S", strength.completeness_where_selective.unwrap().narrow.mean, over_k(&here)),
                (
                    "S by class",
                    strength.selectivity_by_class.unwrap().narrow.mean,
                    over_k(&|j| 0.5 * (of(j, 0) + of(j, 1))),
                ),
            ] {
                assert!((got - want).abs() < 1e-6, "{what} at {m}: {got} {want}");
            }
            assert_eq!((strength.n_c, strength.n_s), (240, 80));
            assert!(strength.reliability.unwrap().wide.is_some());
        }
        let alone = vec![judged[0].clone()];
        let got = run(&other, &[0.1, 0.2, 0.3, 0.4], &alone, 300);
        let paired = judged[0][2].scores.summary(&Resamples::new(n, 300, 1), LEVEL);
        let bands = got.strengths[2].reliability.unwrap();
        let want = paired.reliability.unwrap();
        assert!((bands.narrow.lo - want.lo).abs() < 1e-6 && (bands.narrow.hi - want.hi).abs() < 1e-6);
        assert!(bands.wide.is_none() && got.strengths[2].completeness.wide.is_none());
    }

    /// An oracle that answers one value for everything still has a selectivity; it must not become an optimum.
    #[test]
    fn no_star_on_a_ruin() {
        let other = labels(600);
        let ruined = |one: usize| {
            let judged = judge(
                &other,
                (2, 3),
                &mut |_, m, _| 0.3 * (m + 1) as f64,
                &mut |_, _, _| 0.8,
                // At strengths from `one` on the answer is always the first value.
                &|_, m, i| if m < one { 1.0 } else { f64::from(u8::from(other[i] == Some(0))) },
            );
            run(&other, &[1.0, 2.0, 3.0], &judged, 50)
        };
        let none = ruined(0);
        assert!(matches!(none.optimum, Err(NoOptimum::Ruined { chance: 0.5, .. })), "{:?}", none.optimum);
        let paper = none.paper.unwrap();
        assert_eq!((paper.index, paper.end), (2, Some(super::super::optimum::End::Last)));
        assert!(none.draws.theta.is_none() && none.draws.rows.iter().all(Option::is_none));
        let some = ruined(2);
        let optimum = some.optimum.unwrap();
        assert_eq!((optimum.index, optimum.end, some.paper.unwrap().index), (1, None, 2));
        assert_eq!(optimum.chosen, [0.0, 1.0, 0.0]);
    }

    #[test]
    fn without_the_other_property_there_is_no_optimum() {
        let other = vec![None; 50];
        let judged =
            judge(&other, (2, 2), &mut |_, _, i| i as f64 / 50.0, &mut |_, _, _| 0.5, &|_, _, _| 1.0);
        let got = run(&other, &[1.0, 2.0], &judged, 40);
        assert_eq!(got.optimum, Err(NoOptimum::Undefined));
        assert!(got.paper.is_none() && got.strengths[0].selectivity.is_none());
        assert!(got.strengths[0].completeness.wide.is_some());
        let other = vec![Some(0); 50];
        let judged = judge(&other, (1, 2), &mut |_, _, _| 0.5, &mut |_, _, _| 0.5, &|_, _, _| 1.0);
        assert_eq!(
            run(&other, &[1.0, 2.0], &judged, 40).optimum,
            Err(NoOptimum::OneValue { values: 1, classes: 2 })
        );
    }

    /// Strengths that differ by chance only: the paper's way finds a winner that is too good, the halves do not.
    #[test]
    fn the_optimum_has_no_optimism() {
        let other = labels(300);
        let mut rng = stream(3, "noise");
        let (mut paper, mut honest) = (0.0, 0.0);
        let rounds = 40;
        for _ in 0..rounds {
            let mut c = |_: usize, _: usize, _: usize| f64::from(u8::from(unit(&mut rng) < 0.5));
            let judged = judge(&other, (1, 20), &mut c, &mut |_, _, _| 0.5, &|_, _, _| 1.0);
            let values: Vec<f64> = (0..20).map(f64::from).collect();
            let got = run(&other, &values, &judged, 2);
            paper += got.paper.unwrap().reliability.narrow.mean / f64::from(rounds);
            honest += got.optimum.unwrap().reliability.narrow.mean / f64::from(rounds);
        }
        // The true value is .5; the largest of 20 means of 300 flips is about .5 + 1.87 x .029 in C, half that in R.
        assert!(paper > 0.52 && (honest - 0.5).abs() < 0.006, "{paper} {honest}");
    }

    /// Coverage by simulation, small: the wide band of completeness, and a mean near 0, where resampling alone covers .7.
    #[test]
    fn bands_cover() {
        let other = labels(120);
        let mut rng = stream(5, "coverage");
        let rounds = 120;
        let (mut wide, mut edge) = (0, 0);
        for _ in 0..rounds {
            let training: Vec<f64> = (0..5).map(|_| 0.6 * normal(&mut rng)).collect();
            let examples: Vec<f64> = (0..120).map(|_| normal(&mut rng)).collect();
            let mut c = |k: usize, _: usize, i: usize| logistic(examples[i] + training[k]);
            let judged = judge(&other, (5, 1), &mut c, &mut |_, _, _| 0.5, &|_, _, _| 1.0);
            // By symmetry the mean over examples and trainings is .5.
            let b = run(&other, &[1.0], &judged, 200).strengths[0].completeness.wide.unwrap();
            wide += usize::from(b.lo <= 0.5 && 0.5 <= b.hi);
            let hits: Vec<f64> = (0..120).map(|_| f64::from(u8::from(unit(&mut rng) < 0.01))).collect();
            let judged = judge(&other, (1, 1), &mut |_, _, i| hits[i], &mut |_, _, _| 0.5, &|_, _, _| 1.0);
            let b = run(&other, &[1.0], &judged, 200).strengths[0].completeness.narrow;
            edge += usize::from(b.lo <= 0.01 && 0.01 <= b.hi);
        }
        // Five standard deviations below .95 of 120 is .85.
        assert!(wide as f64 >= 0.85 * f64::from(rounds), "{wide} of {rounds}");
        assert!(edge as f64 >= 0.85 * f64::from(rounds), "{edge} of {rounds}");
    }
}
