//! Tests of assessments on scores with known statistics.

use super::*;
use crate::score::{ExampleScores, Kept};
use crate::table::{Further, Judged};
use base::matrix::Matrix;
use rand_chacha::ChaCha8Rng;
use stats::bootstrap::interval;
use stats::rng::{stream, unit};

const LEVEL: f64 = 0.95;

fn normal(rng: &mut ChaCha8Rng) -> f64 {
    normal_quantile(unit(rng).clamp(1e-12, 1.0 - 1e-12))
}

fn logistic(z: f64) -> f64 {
    1.0 / (1.0 + (-z).exp())
}

/// Every third example has a value of the other property; a fifth of those have the second value.
fn labels(n: usize) -> Vec<Option<usize>> {
    (0..n).map(|i| (i % 3 == 0).then_some(usize::from(i % 15 == 0))).collect()
}

/// Scores from functions of (replicate, strength, example).
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
        further: Vec::new(),
    };
    (0..replicates).map(|k| (0..strengths).map(|m| one(k, m)).collect()).collect()
}

fn run(other: &[Option<usize>], values: &[f64], judged: &[Vec<Judged>], resamples: usize) -> Assessment {
    let strata: Vec<usize> = other.iter().map(|o| o.map_or(2, |o| o)).collect();
    let halves = Halves::new(&strata, 20, 1);
    let resamples = Resamples::new(other.len(), resamples, 1);
    let at = |k: usize, m: usize| judged[k][m].clone();
    let sweep = Sweep { values, replicates: judged.len(), judged: &at, other, classes: 2, further: &[], texts: None };
    assess(&sweep, &resamples, &halves, LEVEL).unwrap()
}

/// Point estimates follow their definitions, and the narrow band of one replicate follows the paired bootstrap.
#[test]
fn statistics_follow_their_definitions() {
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
            ("R", strength.reliability.unwrap().narrow.mean, reliability(over_k(&c), over_k(&s))),
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
    let bands = got.strengths[2].reliability.unwrap();
    let ExampleScores { completeness: c, selectivity: s } = &judged[0][2].scores;
    let mean = |v: Vec<f64>| v.iter().sum::<f64>() / v.len() as f64;
    let (mean_c, mean_s) = (mean(c.clone()), mean(s.iter().flatten().copied().collect()));
    let columns = Matrix::from_fn(n, 3, |i, j| match (j, s[i]) {
        (0, _) => (c[i] - mean_c) as f32,
        (1, s) => s.map_or(0.0, |s| s - mean_s) as f32,
        (_, s) => f32::from(u8::from(s.is_some())),
    });
    let all = [(0..n).collect::<Vec<usize>>()];
    let drawn = Resamples::new(n, 300, 1).block_sums(&columns, &all, |_, sums| {
        let [c, s, defined] = [sums[0], sums[1], sums[2]].map(f64::from);
        reliability(mean_c + c / n as f64, mean_s + s / defined)
    });
    let want = interval(reliability(mean_c, mean_s), drawn, LEVEL);
    assert!((bands.narrow.lo - want.lo).abs() < 1e-6 && (bands.narrow.hi - want.hi).abs() < 1e-6);
    assert!(bands.wide.is_none() && got.strengths[2].completeness.wide.is_none());
}

/// Regression: R used to be the mean of the training runs' R. With training runs that trade completeness for selectivity, that differs by
/// .046 from the R computed from the displayed C and S.
#[test]
fn reliability_is_computed_from_displayed_c_and_s() {
    let other = labels(300);
    let mut rng = stream(8, "trade");
    let noise: Vec<f64> = (0..2 * 300).map(|_| 0.1 * (unit(&mut rng) - 0.5)).collect();
    let by_training = [0.2, 0.4, 0.6, 0.8];
    let judged = judge(
        &other,
        (4, 2),
        &mut |k, m, i| by_training[k] + noise[m * 300 + i],
        &mut |k, m, i| 1.0 - by_training[k] + noise[m * 300 + i],
        &|_, _, _| 1.0,
    );
    let all = run(&other, &[1.0, 2.0], &judged, 100);
    let optimum = all.optimum.unwrap();
    let [c, s] = optimum.held_out.map(|b| b.narrow.mean);
    let r = optimum.reliability;
    assert!((r.narrow.mean - reliability(c, s)).abs() < 1e-9, "{c} {s} {r:?}");
    assert!(r.wide.unwrap().half_width() > 0.0 && r.range[1] < 0.5 && r.narrow.mean > 0.49, "{r:?}");
    for strength in &all.strengths {
        let [c, s] = [strength.completeness, strength.selectivity.unwrap()].map(|b| b.narrow.mean);
        let r = strength.reliability.unwrap();
        assert!((r.narrow.mean - reliability(c, s)).abs() < 1e-9);
        // A single training run shows its own harmonic mean: .32 for .2 and .8.
        assert!((r.range[0] - 0.32).abs() < 0.02, "{r:?}");
    }
}

/// An oracle with a constant answer still has a selectivity, but must not become an optimum.
#[test]
fn no_optimum_when_oracle_collapsed() {
    let other = labels(600);
    let ruined = |one: usize| {
        let judged = judge(
            &other,
            (2, 3),
            &mut |_, m, _| 0.3 * (m + 1) as f64,
            &mut |_, _, _| 0.8,
            // From strength `one` on, the answer is always the first value.
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

/// Examples with the other property and an additional one (three values, always defined), with scores for both.
fn with_further(ruined: bool) -> (Vec<Option<usize>>, [Further; 1], Vec<Vec<Judged>>) {
    let (n, k, m) = (600, 3, 2);
    let other = labels(n);
    let values: Vec<Option<usize>> = (0..n).map(|i| Some(i % 3)).collect();
    let mut rng = stream(5, "two properties");
    let draws: Vec<f64> = (0..4 * n * k * m).map(|_| unit(&mut rng)).collect();
    let at = |k: usize, m: usize, i: usize| (k * 2 + m) * n + i;
    let mut judged = judge(
        &other,
        (k, m),
        &mut |k, m, i| draws[at(k, m, i)],
        &mut |k, m, i| 0.5 + 0.5 * draws[n * 12 + at(k, m, i)],
        &|k, m, i| f64::from(u8::from((i + k + m) % 9 > 0)),
    );
    for (k, row) in judged.iter_mut().enumerate() {
        for (m, one) in row.iter_mut().enumerate() {
            let score = |i: usize| Some(0.3 * draws[(at(k, m, i) + 7) % draws.len()]);
            let right = |i: usize| Some(f64::from(u8::from(!ruined || values[i] == Some(0))));
            let kept = Kept { selectivity: (0..n).map(score).collect(), right: (0..n).map(right).collect() };
            one.further = vec![kept];
        }
    }
    (other, [Further { name: "animacy", values, classes: 3 }], judged)
}

fn run_with(other: &[Option<usize>], further: &[Further], judged: &[Vec<Judged>]) -> Assessment {
    let halves = Halves::new(&other.iter().map(|o| o.unwrap_or(2)).collect::<Vec<_>>(), 20, 1);
    let resamples = Resamples::new(other.len(), 200, 1);
    let at = |k: usize, m: usize| judged[k][m].clone();
    let (values, replicates) = (&[1.0, 2.0], judged.len());
    assess(
        &Sweep { values, replicates, judged: &at, other, classes: 2, further, texts: None },
        &resamples,
        &halves,
        LEVEL,
    )
    .unwrap()
}

#[test]
fn selectivity_is_the_mean_over_properties() {
    let (other, further, judged) = with_further(false);
    let both = run_with(&other, &further, &judged);
    let mut alone = judged.clone();
    alone.iter_mut().flatten().for_each(|j| j.further.clear());
    let first = run_with(&other, &[], &alone);
    for j in alone.iter_mut().flatten().zip(judged.iter().flatten()) {
        j.0.scores.selectivity.clone_from(&j.1.further[0].selectivity);
        j.0.right.clone_from(&j.1.further[0].right);
    }
    // Uses the same blocks, so that rounding is the same.
    let halves = Halves::new(&other.iter().map(|o| o.unwrap_or(2)).collect::<Vec<_>>(), 20, 1);
    let at = |k: usize, m: usize| alone[k][m].clone();
    let sweep = Sweep {
        values: &[1.0, 2.0],
        replicates: 3,
        judged: &at,
        other: &further[0].values,
        classes: 3,
        further: &[],
        texts: None,
    };
    let second = assess(&sweep, &Resamples::new(other.len(), 200, 1), &halves, LEVEL).unwrap();
    for m in 0..2 {
        let [s, a, b] = [&both, &first, &second].map(|x| &x.strengths[m]);
        assert_eq!(s.completeness, a.completeness);
        assert_eq!(s.kept.iter().map(|k| k.n).collect::<Vec<_>>(), [200, 600]);
        assert_eq!(s.kept[0].selectivity, a.selectivity);
        assert_eq!(s.kept[1].selectivity, b.selectivity);
        assert_eq!((&s.kept[0].readable, &s.kept[1].readable), (&a.readable, &b.readable));
        assert!(a.kept.is_empty() && b.kept.is_empty());
        let mean = |s: &Strength| s.selectivity.unwrap().narrow.mean;
        assert!((mean(s) - 0.5 * (mean(a) + mean(b))).abs() < 1e-9);
        assert!((mean(a) - mean(b)).abs() > 0.3, "the mean of two equal values would prove nothing");
        let (c, r) = (s.completeness.narrow.mean, s.reliability.unwrap().narrow.mean);
        assert!((r - reliability(c, mean(s))).abs() < 0.01, "{r}");
        assert_eq!((s.n_c, s.n_s, s.eligible()), (600, 600, Some(true)));
        // The width must be between half and all of the noisier property's width.
        let width = |s: &Strength| s.selectivity.unwrap().narrow.hi - s.selectivity.unwrap().narrow.lo;
        assert!(width(s) > 0.4 * width(a).max(width(b)) && width(s) < width(a).max(width(b)));
    }
    assert!(both.optimum.is_ok());
}

#[test]
fn strength_with_unreadable_property_is_never_chosen() {
    let (other, further, mut judged) = with_further(false);
    for row in &mut judged {
        let second = &mut row[1];
        second.scores.completeness.iter_mut().for_each(|c| *c = 0.9 + 0.1 * *c);
        second.further[0].right = further[0].values.iter().map(|v| Some(f64::from(u8::from(*v == Some(0))))).collect();
    }
    let all = run_with(&other, &further, &judged);
    let best = all.optimum.unwrap();
    assert_eq!((best.index, best.chosen, best.none), (0, vec![1.0, 0.0], 0.0));
    assert_eq!(all.paper.unwrap().index, 1, "the paper's rule ignores readability");
}

/// If the oracle no longer reads an additional property, there is no optimum, as with the other property; the reason names the property.
#[test]
fn unreadable_additional_property_prevents_an_optimum() {
    let (other, further, judged) = with_further(true);
    let all = run_with(&other, &further, &judged);
    assert!(
        matches!(&all.optimum, Err(NoOptimum::FurtherRuined { property, .. }) if property == "animacy"),
        "{:?}",
        all.optimum
    );
    assert!(all.optimum.unwrap_err().to_string().contains("the oracle does not read animacy better"));
    assert!(all.strengths.iter().all(|s| s.eligible() == Some(false) && s.readable.as_ref().unwrap().eligible));
    let (other, mut further, judged) = with_further(false);
    for v in &mut further[0].values {
        *v = v.map(|v| v.min(1));
    }
    let all = run_with(&other, &further, &judged);
    let want = NoOptimum::FurtherValues { property: "animacy".into(), values: 2, classes: 3 };
    assert_eq!(all.optimum.unwrap_err(), want);
}

#[test]
fn without_the_other_property_there_is_no_optimum() {
    let other = vec![None; 50];
    let judged = judge(&other, (2, 2), &mut |_, _, i| i as f64 / 50.0, &mut |_, _, _| 0.5, &|_, _, _| 1.0);
    let got = run(&other, &[1.0, 2.0], &judged, 40);
    assert_eq!(got.optimum, Err(NoOptimum::Undefined));
    assert!(got.paper.is_none() && got.strengths[0].selectivity.is_none());
    assert!(got.strengths[0].completeness.wide.is_some());
    let other = vec![Some(0); 50];
    let judged = judge(&other, (1, 2), &mut |_, _, _| 0.5, &mut |_, _, _| 0.5, &|_, _, _| 1.0);
    assert_eq!(run(&other, &[1.0, 2.0], &judged, 40).optimum, Err(NoOptimum::OneValue { values: 1, classes: 2 }));
}

/// With strengths that differ only by chance, the paper's choice overestimates the winner and the choice by halves does not.
#[test]
fn optimum_is_unbiased() {
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
    // The true value is .5; the largest of 20 means of 300 coin flips is about .5 + 1.87 x .029 in C, half that in R.
    assert!(paper > 0.52 && (honest - 0.5).abs() < 0.006, "{paper} {honest}");
}

/// Small simulation of coverage: the wide band of completeness, and a mean near 0, for which resampling alone covers only 70 %.
#[test]
fn bands_cover_the_true_values() {
    let other = labels(120);
    let mut rng = stream(5, "coverage");
    let rounds = 120;
    let (mut wide, mut edge) = (0, 0);
    for _ in 0..rounds {
        let training: Vec<f64> = (0..5).map(|_| 0.6 * normal(&mut rng)).collect();
        let examples: Vec<f64> = (0..120).map(|_| normal(&mut rng)).collect();
        let mut c = |k: usize, _: usize, i: usize| logistic(examples[i] + training[k]);
        let judged = judge(&other, (5, 1), &mut c, &mut |_, _, _| 0.5, &|_, _, _| 1.0);
        // By symmetry the mean over examples and training runs is .5.
        let b = run(&other, &[1.0], &judged, 200).strengths[0].completeness.wide.unwrap();
        wide += usize::from(b.lo <= 0.5 && 0.5 <= b.hi);
        let hits: Vec<f64> = (0..120).map(|_| f64::from(u8::from(unit(&mut rng) < 0.01))).collect();
        let judged = judge(&other, (1, 1), &mut |_, _, i| hits[i], &mut |_, _, _| 0.5, &|_, _, _| 1.0);
        let b = run(&other, &[1.0], &judged, 200).strengths[0].completeness.narrow;
        edge += usize::from(b.lo <= 0.01 && 0.01 <= b.hi);
    }
    // .95 minus five standard deviations of a proportion in 120 trials is .85.
    assert!(wide as f64 >= 0.85 * f64::from(rounds), "{wide} of {rounds}");
    assert!(edge as f64 >= 0.85 * f64::from(rounds), "{edge} of {rounds}");
}

/// Completeness and whether the property is read, for the tokens of `n` texts that share most of their variation, with the text of each
/// token. Longer texts have higher scores.
fn tokens_of(n: usize, rng: &mut ChaCha8Rng) -> (Vec<f64>, Vec<usize>) {
    let (mut scores, mut texts) = (Vec::new(), Vec::new());
    for text in 0..n {
        let shared = normal(rng);
        for _ in 0..2 + (4.0 * logistic(shared)).round() as usize {
            scores.push(logistic(0.3 + shared + 0.5 * normal(rng)));
            texts.push(text);
        }
    }
    (scores, texts)
}

/// Simulation: with the tokens of 80 texts, the interval over texts covers the truth. An interval that treats tokens as independent does
/// not. The same holds for the share read correctly.
#[test]
fn intervals_over_tokens_resample_texts() {
    let mut rng = stream(11, "tokens");
    let (many, _) = tokens_of(60_000, &mut rng);
    let truth = many.iter().sum::<f64>() / many.len() as f64;
    let right = |c: &f64| f64::from(u8::from(*c > 0.4));
    let read = many.iter().map(right).sum::<f64>() / many.len() as f64;
    let runs = 400;
    let mut covered = [[0; 2]; 2];
    for run in 0..runs {
        let (scores, texts) = tokens_of(80, &mut rng);
        let other = vec![Some(0); scores.len()];
        let judged =
            judge(&other, (1, 1), &mut |_, _, i| scores[i], &mut |_, _, i| scores[i], &|_, _, i| right(&scores[i]));
        let at = |k: usize, m: usize| judged[k][m].clone();
        for (covered, texts) in covered.iter_mut().zip([Some(texts.as_slice()), None]) {
            let sweep =
                Sweep { values: &[1.0], replicates: 1, judged: &at, other: &other, classes: 1, further: &[], texts };
            let found = bands(&sweep, &Resamples::new(sweep.units(), 300, run), LEVEL).unwrap().remove(0);
            assert_eq!((found.n_c, found.units[0]), (scores.len(), sweep.units()));
            let (c, read_on) = (found.completeness.narrow, found.readable.unwrap().balanced);
            covered[0] += usize::from(c.lo <= truth && truth <= c.hi);
            covered[1] += usize::from(read_on.lo <= read && read <= read_on.hi);
        }
    }
    let [by_text, by_token] = covered.map(|both| both.map(|n| n as f64 / runs as f64));
    println!("coverage of C and of readability by text {by_text:?}, by token {by_token:?}");
    assert!(by_text.iter().all(|c| *c > 0.92), "{by_text:?}");
    assert!(by_token.iter().all(|c| *c < 0.85), "{by_token:?}");
}

/// If each text has one token, texts and examples give the same numbers.
#[test]
fn one_token_per_text_equals_examples() {
    let other = labels(90);
    let judged = judge(
        &other,
        (2, 1),
        &mut |k, _, i| ((7 * i + k) % 11) as f64 / 11.0,
        &mut |_, _, i| (i % 5) as f64 / 5.0,
        &|_, _, i| f64::from(u8::from(i % 4 > 0)),
    );
    let at = |k: usize, m: usize| judged[k][m].clone();
    let texts: Vec<usize> = (0..90).collect();
    let strata: Vec<usize> = other.iter().map(|o| o.map_or(2, |o| o)).collect();
    let (halves, resamples) = (Halves::new(&strata, 20, 1), Resamples::new(90, 200, 1));
    let [by_text, by_example] = [Some(texts.as_slice()), None].map(|texts| {
        let sweep =
            Sweep { values: &[1.0], replicates: 2, judged: &at, other: &other, classes: 2, further: &[], texts };
        assess(&sweep, &resamples, &halves, LEVEL).unwrap()
    });
    assert_eq!(by_text, by_example);
}
