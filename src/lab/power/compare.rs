//! Comparison of two sides: table, difference, tests, equivalence.

use super::finding::ComparisonFinding;
use super::pairs::Pairs;
use super::tally::Tally;
use base::matrix::Matrix;
use lab::interval::resamples_for;
use stats::bootstrap::{Resamples, interval};
use stats::corrections::{benjamini_hochberg, holm};
use stats::estimate::Estimate;
use stats::mcnemar::{self, Test};
use stats::paired::{difference, equivalence};

/// Number of units above which a metric is not resampled, because Student's t gives the same interval.
pub(crate) const MOST_RESAMPLED: usize = 20_000;
/// Minimum number of bootstrap resamples; high confidence levels need more.
const RESAMPLES: usize = 2_000;
/// Maximum level of an interval; it needs 40,000 resamples.
pub const MOST_LEVEL: f64 = 0.9999;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Terms {
    pub level: f64,
    pub margin: f64,
    /// Significance level of the tests, including claims of equivalence.
    pub alpha: f64,
    pub seed: u64,
    /// The deciding test for one run of each side on independent items.
    pub by: Test,
}

/// Names of the two sides and of the metric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names {
    pub a: String,
    pub b: String,
    pub metric: String,
}

/// Combines the p-values of several seeds: twice their median, which is valid under any dependence (Rüger 1978).
fn together(mut p: Vec<f64>) -> f64 {
    p.sort_by(f64::total_cmp);
    match p.len() {
        0 => f64::NAN,
        1 => p[0],
        n => (2.0 * p[n / 2]).min(1.0),
    }
}

/// Compares two sides.
///
/// For one run of each side on independent items, the deciding p-value is that of McNemar's test in the form that `terms` names. Otherwise
/// it is from Student's t over items or clusters, and the difference is also resampled.
pub fn compare(pairs: &Pairs, names: &Names, terms: Terms) -> ComparisonFinding {
    compare_with(pairs, names, terms, true)
}

/// Same as [`compare`], but with optional resampling.
pub(crate) fn compare_with(pairs: &Pairs, names: &Names, terms: Terms, resample: bool) -> ComparisonFinding {
    if let Some((scaled, unit)) = pairs.scaled() {
        // Scaling keeps the squares finite for values of any size.
        let found = compare_with(&scaled, names, Terms { margin: terms.margin / unit, ..terms }, resample);
        let back = |x: f64| (x * unit).clamp(f64::MIN, f64::MAX);
        let of = |e: Estimate| Estimate { mean: back(e.mean), lo: back(e.lo), hi: back(e.hi) };
        return ComparisonFinding {
            difference: of(found.difference),
            bootstrap: found.bootstrap.map(of),
            margin: terms.margin,
            seed_sd: found.seed_sd.map(back),
            ..found
        };
    }
    let tally = pairs.tally();
    let bootstrap = resample.then(|| resampled_beside(pairs, &tally, terms)).flatten();
    ComparisonFinding { bootstrap, ..of_tally(&tally, names, terms) }
}

/// Resamples the difference if its interval uses Student's t: for non-binary metrics, several seeds, or clusters. A single table of right
/// and wrong answers has Tango's interval, which needs no resampling.
pub(crate) fn resampled_beside(pairs: &Pairs, tally: &Tally, terms: Terms) -> Option<Estimate> {
    tally.shift.filter(|_| !tally.apart).and_then(|_| resampled(pairs, terms))
}

/// [`compare`] computed from item counts. It does not resample, because that would need all items.
pub fn of_tally(tally: &Tally, names: &Names, terms: Terms) -> ComparisonFinding {
    let tables = &tally.tables;
    let total = tally.total();
    let each = |test: fn(u64, u64) -> f64| tables.iter().map(|t| test(t.only_a, t.only_b)).collect::<Vec<_>>();
    let binary = !tables.is_empty();
    // Accuracies on two different sets of items are proportions too, but have no common table.
    let bounded = binary || tally.apart;
    let count = |c: u64| binary.then_some(c);
    let p = |test: fn(u64, u64) -> f64| binary.then(|| together(each(test)));
    let chosen = binary.then(|| together(tables.iter().map(|t| terms.by.p(t.only_a, t.only_b)).collect()));
    let joint = tally.joint();
    let (estimate, margin_p, t_p) = match (&joint, &tally.shift, tables.first()) {
        (Some(joint), ..) => (joint.interval(terms.level), joint.equivalence(terms.margin), Some(joint.p())),
        (None, Some(shift), _) if bounded => (
            shift.interval_within(terms.level, (-1.0, 1.0)),
            shift.equivalence_within(terms.margin),
            Some(shift.p_of_signs()),
        ),
        (None, Some(shift), _) => {
            (shift.interval(terms.level), shift.equivalence(terms.margin), Some(shift.p_of_signs()))
        }
        (None, None, Some(table)) => (difference(table, terms.level), equivalence(table, terms.margin), None),
        (None, None, None) => (Estimate::exact(f64::NAN), f64::NAN, None),
    };
    let p_value = t_p.or(chosen).unwrap_or(f64::NAN);
    // A single unit allows no test, so the p-value is 1.
    let sound = |p: f64| if p.is_nan() { 1.0 } else { p };
    ComparisonFinding {
        a: names.a.clone(),
        b: names.b.clone(),
        metric: names.metric.clone(),
        both: count(total.both),
        only_a: count(total.only_a),
        only_b: count(total.only_b),
        neither: count(total.neither),
        difference: whole(estimate, bounded),
        exact_p: p(mcnemar::exact),
        mid_p: p(mcnemar::mid_p),
        chi2_p: p(|b, c| mcnemar::chi2(b, c).p),
        corrected_p: p(|b, c| mcnemar::corrected(b, c).p),
        t_p: t_p.map(sound),
        p: sound(p_value),
        holm_p: sound(p_value),
        bh_q: sound(p_value),
        family: 1,
        wrong_to_right: count(total.only_b),
        right_to_wrong: count(total.only_a),
        margin: terms.margin,
        equivalence_p: sound(margin_p),
        equivalence_holm_p: Some(sound(margin_p)),
        anytime_p: None,
        test: title(tally, terms.by),
        planned: false,
        hypothesis: None,
        seeds: tally.gaps.len(),
        seed_sd: spread(tally.gaps.iter().copied()),
        clusters: tally.shift.filter(|_| tally.clustered).map(|s| s.units),
        bootstrap: None,
        unpaired: tally.apart,
        differing: tally.units.map(|units| units.differing),
        bound: joint.is_some_and(|joint| joint.is_bound()),
    }
}

/// Replaces a missing interval (of a single unit) with the whole range of differences.
fn whole(e: Estimate, binary: bool) -> Estimate {
    let most = if binary { 1.0 } else { f64::MAX };
    // `max` and `min` return the limit if an end is NaN.
    Estimate { mean: e.mean, lo: e.lo.max(-most), hi: e.hi.min(most) }
}

fn title(tally: &Tally, by: Test) -> String {
    match (tally.shift, tally.clustered) {
        (None, _) => format!("{}, Tango's interval", by.title()),
        (Some(_), _) if tally.apart => "unpaired t (Welch) because the sides have different items".into(),
        (Some(_), clustered) => {
            let units = if clustered { "clusters" } else { "items" };
            let interval = if tally.joint().is_some() { ", score interval" } else { "" };
            format!("paired t over {units}{interval}")
        }
    }
}

/// Standard deviation over seeds; `None` for a single seed.
pub fn spread(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    (values.len() > 1).then(|| (squares / (n - 1.0)).sqrt())
}

/// Resamples the difference by unit, in whole clusters if items form clusters.
pub fn resampled(pairs: &Pairs, terms: Terms) -> Option<Estimate> {
    let units = pairs.differences();
    let n = units.sums.len();
    if !(2..=MOST_RESAMPLED).contains(&n) {
        return None;
    }
    let mean = units.mean();
    // Centred values keep the spread accurate in single precision.
    let columns = Matrix::from_fn(n, 2, |i, j| {
        if j == 0 { (units.sums[i] - mean * units.sizes[i]) as f32 } else { units.sizes[i] as f32 }
    });
    let all = vec![(0..n).collect::<Vec<usize>>()];
    let resamples = Resamples::new(n, draws(terms.level), terms.seed);
    let values = resamples.block_sums(&columns, &all, |_, sums| mean + f64::from(sums[0]) / f64::from(sums[1]));
    Some(interval(mean, values, terms.level))
}

fn draws(level: f64) -> usize {
    RESAMPLES.max(resamples_for(level.min(MOST_LEVEL)))
}

/// Adjusts a run's p-values for the number of comparisons.
///
/// The p-values of differences are adjusted among themselves with Holm's method, independently of the margin. An equivalence significant at
/// `alpha` is one more hypothesis. At most one of a comparison's two hypotheses is true, so the step-down counts comparisons (Shaffer
/// 1986).
pub fn adjust(all: &mut [&mut ComparisonFinding], alpha: f64) {
    let family = all.len();
    let p: Vec<f64> = all.iter().map(|c| c.p).collect();
    let mut hypotheses: Vec<(f64, usize, bool)> = Vec::new();
    for (i, (c, (holm_p, bh_q))) in all.iter_mut().zip(holm(&p).into_iter().zip(benjamini_hochberg(&p))).enumerate() {
        (c.holm_p, c.bh_q, c.family) = (holm_p, bh_q, family);
        c.equivalence_holm_p = Some((family as f64 * c.equivalence_p).min(1.0));
        hypotheses.push((c.p, i, false));
        if c.equivalence_p <= alpha {
            hypotheses.push((c.equivalence_p, i, true));
        }
    }
    hypotheses.sort_by(|x, y| x.0.total_cmp(&y.0));
    let (mut open, mut largest) = (family, 0.0f64);
    for (p, i, equivalence) in hypotheses {
        largest = largest.max((open as f64 * p).min(1.0));
        if equivalence {
            all[i].equivalence_holm_p = Some(largest);
        } else {
            // A comparison remains open if it also has an equivalence hypothesis.
            open -= usize::from(all[i].equivalence_p > alpha);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms() -> Terms {
        Terms { level: 0.95, margin: 0.05, alpha: 0.05, seed: 1, by: Test::Exact }
    }

    fn names() -> Names {
        Names { a: "x".into(), b: "y".into(), metric: "correct".into() }
    }

    fn items(table: [usize; 4]) -> Pairs {
        let [both, only_a, only_b, neither] = table;
        let row = |n: usize, v: f64| std::iter::repeat_n(v, n);
        let a = row(both + only_a, 1.0).chain(row(only_b + neither, 0.0)).collect();
        let b = row(both, 1.0).chain(row(only_a, 0.0)).chain(row(only_b, 1.0)).chain(row(neither, 0.0)).collect();
        Pairs { a: vec![a], b: vec![b], clusters: None, apart: false }
    }

    #[test]
    fn single_runs_give_a_table() {
        let c = compare(&items([40, 10, 2, 8]), &names(), terms());
        assert_eq!((c.both, c.only_a, c.only_b, c.neither), (Some(40), Some(10), Some(2), Some(8)));
        assert_eq!((c.wrong_to_right, c.right_to_wrong), (Some(2), Some(10)));
        assert!((c.exact_p.unwrap() - 0.038_574_218_75).abs() < 1e-12 && c.p == c.exact_p.unwrap());
        assert!((c.difference.mean - 8.0 / 60.0).abs() < 1e-12 && c.difference.lo > 0.0);
        assert!(c.t_p.is_none() && c.bootstrap.is_none() && c.seed_sd.is_none());
    }

    /// Regression: the deciding p-value used to be always exact McNemar's, even when power was computed for a different test.
    #[test]
    fn deciding_p_is_of_the_requested_test() {
        let pairs = items([40, 10, 2, 8]);
        for by in Test::ALL {
            let c = compare(&pairs, &names(), Terms { by, ..terms() });
            let of = [c.mid_p, c.exact_p, c.chi2_p, c.corrected_p][Test::ALL.iter().position(|t| *t == by).unwrap()];
            assert_eq!(Some(c.p), of, "{by:?}");
            assert_eq!((c.holm_p, c.bh_q), (c.p, c.p));
            assert!(c.test.starts_with(by.title()) && c.test.ends_with("Tango's interval"), "{}", c.test);
        }
        // With clusters, Student's t is used even if another test was requested.
        let together = Pairs { clusters: Some((0..60).map(|i| i / 2).collect()), ..pairs };
        let c = compare(&together, &names(), Terms { by: Test::Chi2, ..terms() });
        assert!(c.test.contains("clusters") && Some(c.p) == c.t_p, "{}", c.test);
    }

    /// Regression: right-or-wrong items with clusters or several runs per side used to be analysed with Student's t only.
    #[test]
    fn binary_clusters_and_seeds_are_resampled() {
        let one = items([60, 20, 8, 12]);
        let clusters = Pairs { clusters: Some((0..100).map(|i| i / 2).collect()), ..one.clone() };
        let other = items([60, 16, 10, 14]);
        let seeds = Pairs {
            a: vec![one.a[0].clone(), other.a[0].clone()],
            b: vec![one.b[0].clone(), other.b[0].clone()],
            clusters: None,
            apart: false,
        };
        for pairs in [&clusters, &seeds] {
            let c = compare(pairs, &names(), terms());
            let boot = c.bootstrap.unwrap();
            assert!((boot.mean - c.difference.mean).abs() < 1e-9);
            let ratio = boot.half_width() / c.difference.half_width();
            assert!((0.8..1.25).contains(&ratio), "{boot:?} {:?}", c.difference);
        }
        assert!(compare(&one, &names(), terms()).bootstrap.is_none(), "a single table needs no resampling");
    }

    #[test]
    fn seeds_are_averaged_within_items() {
        let one = items([40, 10, 2, 8]);
        let other = items([40, 2, 2, 16]);
        let pairs = Pairs {
            a: vec![one.a[0].clone(), other.a[0].clone()],
            b: vec![one.b[0].clone(), other.b[0].clone()],
            clusters: None,
            apart: false,
        };
        let c = compare(&pairs, &names(), terms());
        assert_eq!((c.seeds, c.only_a, c.only_b), (2, Some(12), Some(4)));
        assert!((c.difference.mean - 4.0 / 60.0).abs() < 1e-12);
        assert!(c.t_p.is_some() && c.p == c.t_p.unwrap() && c.test.contains("over items"));
        // The expected value is twice the larger of the two seeds' p-values, capped at 1.
        assert_eq!(c.exact_p, Some(1.0));
        assert!((c.seed_sd.unwrap() - (8.0 / 60.0) / 2f64.sqrt()).abs() < 1e-12);
    }

    /// Two of a hundred items differ, each for one of three seeds. These are too few items to show how similar the seeds are.
    #[test]
    fn few_differing_items_widen_the_interval() {
        let run = |differs: &[usize]| (0..100).map(|i| f64::from(u8::from(!differs.contains(&i)))).collect();
        let b: Vec<Vec<f64>> = vec![run(&[3]), run(&[8]), run(&[])];
        let pairs = Pairs { a: vec![run(&[]); 3], b, clusters: None, apart: false };
        let units = pairs.tally().units.unwrap();
        assert!(units.differing == 2 && (units.most - 3.0).abs() < 1e-12, "{units:?}");
        let c = compare(&pairs, &names(), terms());
        assert!(!c.bound && c.differing == Some(2) && c.p >= 0.5 && c.difference.lo < 0.0, "{c:?}");
    }

    #[test]
    fn clusters_widen_the_interval() {
        // Each of 30 clusters contains ten identical items.
        let value = |c: usize| [(1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (1.0, 0.0)][c % 4];
        let a: Vec<f64> = (0..300).map(|i| value(i / 10).0).collect();
        let b: Vec<f64> = (0..300).map(|i| value(i / 10).1).collect();
        let alone = Pairs { a: vec![a], b: vec![b], clusters: None, apart: false };
        let together = Pairs { clusters: Some((0..300).map(|i| i / 10).collect()), ..alone.clone() };
        let (x, y) = (compare(&alone, &names(), terms()), compare(&together, &names(), terms()));
        assert_eq!((y.clusters, x.difference.mean), (Some(30), y.difference.mean));
        assert!(y.difference.half_width() > 2.5 * x.difference.half_width());
        assert!(y.p > x.p && y.test.contains("clusters"));
        assert!(together.votes().is_none() && alone.votes().is_some());
    }

    /// Agreement of seeds on every item does not prove agreement on other items.
    #[test]
    fn seeds_without_discordant_items_are_not_certain() {
        let one = items([20, 0, 0, 12]);
        let pairs = Pairs { a: vec![one.a[0].clone(); 3], b: vec![one.b[0].clone(); 3], clusters: None, apart: false };
        let c = compare(&pairs, &names(), terms());
        assert_eq!((c.difference.mean, c.p), (0.0, 1.0));
        assert!(c.difference.lo < -0.05 && c.difference.hi > 0.05 && c.equivalence_p > 0.05, "{c:?}");
        let all = Pairs { a: vec![vec![1.0; 5]; 3], b: vec![vec![0.0; 5]; 3], clusters: None, apart: false };
        let c = compare(&all, &names(), terms());
        assert!((c.p - 0.0625).abs() < 1e-12 && c.difference.lo < 0.7, "{c:?}");
    }

    #[test]
    fn non_binary_metrics_use_t_and_resampling() {
        let a: Vec<f64> = (0..200).map(|i| f64::from(i % 7) / 7.0 + 0.02).collect();
        let b: Vec<f64> = (0..200).map(|i| f64::from((i * 3) % 7) / 7.0).collect();
        let c = compare(&Pairs { a: vec![a], b: vec![b], clusters: None, apart: false }, &names(), terms());
        assert!(c.both.is_none() && c.exact_p.is_none() && c.t_p.is_some());
        let boot = c.bootstrap.unwrap();
        assert!((boot.lo - c.difference.lo).abs() < 0.02 && (boot.hi - c.difference.hi).abs() < 0.02, "{c:?}");
    }

    /// Regression: the ends of a 99.99 % interval used to be the extremes of 2,000 resamples.
    #[test]
    fn high_level_uses_enough_resamples() {
        assert_eq!([0.5, 0.95, 0.998, 0.999, 0.9999].map(draws), [2_000, 2_000, 2_000, 4_000, 40_000]);
        let a: Vec<f64> = (0..300).map(|i| f64::from(i * i % 17) / 17.0).collect();
        let pairs = Pairs { a: vec![a], b: vec![vec![0.4; 300]], clusters: None, apart: false };
        let at = |level| resampled(&pairs, Terms { level, ..terms() }).unwrap();
        let (most, normal) = (at(0.9999), at(0.95).half_width() / 1.96 * 3.891);
        assert!((most.half_width() / normal - 1.0).abs() < 0.08, "{most:?} for {normal}");
    }

    /// Regression: values near the largest representable number used to give NaN and infinite intervals.
    #[test]
    fn huge_values_have_finite_intervals() {
        for size in [1e300, f64::MAX, 1e-300] {
            let a: Vec<f64> = (0..50).map(|i| if i == 0 { size } else { 0.5 * size }).collect();
            let b: Vec<f64> = (0..50).map(|i| if i % 2 == 0 { 0.4 * size } else { -0.9 * size }).collect();
            let pairs = Pairs { a: vec![a], b: vec![b], clusters: None, apart: false };
            let c = compare(&pairs, &names(), terms());
            let (d, boot) = (c.difference, c.bootstrap.unwrap());
            for x in [d.mean, d.lo, d.hi, boot.lo, boot.hi, c.p, c.equivalence_p] {
                assert!(x.is_finite(), "{size}: {c:?}");
            }
            assert!(d.lo > 0.0 && d.lo < d.mean && (boot.lo / d.lo - 1.0).abs() < 0.2, "{size}: {c:?}");
        }
    }

    #[test]
    fn single_item_shows_nothing() {
        let c = compare(&items([0, 1, 0, 0]), &names(), terms());
        assert_eq!((c.p, c.difference.mean), (1.0, 1.0));
        let one = Pairs { a: vec![vec![0.3]], b: vec![vec![0.1]], clusters: None, apart: false };
        let c = compare(&one, &names(), terms());
        assert_eq!((c.p, c.equivalence_p), (1.0, 1.0));
        assert!(serde_json::to_string(&c).unwrap().contains("difference"));
    }

    #[test]
    fn family_covers_the_run() {
        let mut x = compare(&items([40, 10, 2, 8]), &names(), terms());
        let mut y = compare(&items([40, 9, 8, 3]), &names(), terms());
        adjust(&mut [&mut x, &mut y], 0.05);
        assert_eq!((x.family, y.family), (2, 2));
        assert!((x.holm_p - 2.0 * x.p).abs() < 1e-12 && y.holm_p == y.p.max(x.holm_p));
    }

    /// Regression: equivalences used to be in the same family as differences, so that Holm p-values of differences changed with the margin.
    #[test]
    fn margin_does_not_change_p_of_differences() {
        let of = |margin: f64| {
            let terms = Terms { margin, ..terms() };
            let mut all: Vec<_> = [[4000, 30, 10, 800], [4000, 24, 12, 800], [4000, 20, 20, 800]]
                .into_iter()
                .map(|table| compare(&items(table), &names(), terms))
                .collect();
            adjust(&mut all.iter_mut().collect::<Vec<_>>(), 0.05);
            all
        };
        let (narrow, wide) = (of(0.0001), of(0.2));
        assert!(wide.iter().all(|c| c.is_equivalent(0.05)) && !narrow.iter().any(|c| c.is_equivalent(0.05)));
        let holm_p = |all: &[ComparisonFinding]| all.iter().map(|c| c.holm_p).collect::<Vec<_>>();
        assert_eq!(holm_p(&narrow), holm_p(&wide));
        assert!((wide[0].holm_p - 3.0 * wide[0].p).abs() < 1e-12);
    }

    /// Two tasks have different sentences, so correct answers on one are independent of those on the other.
    #[test]
    fn two_sets_of_items_are_not_paired() {
        let one = items([40, 10, 2, 8]);
        let apart = Pairs { apart: true, ..one.clone() };
        let (x, y) = (compare(&one, &names(), terms()), compare(&apart, &names(), terms()));
        assert!(y.unpaired && y.both.is_none() && y.exact_p.is_none() && y.test.starts_with("unpaired t"));
        assert!((x.difference.mean - y.difference.mean).abs() < 1e-12);
        assert!(y.p > 2.0 * x.p && y.difference.half_width() > x.difference.half_width(), "{y:?}");
        assert_eq!((y.unit(), y.bootstrap), (" points", None));
        // Reordering the items of one side has no effect.
        let mut turned = apart.clone();
        turned.b[0].reverse();
        assert!((compare(&turned, &names(), terms()).p - y.p).abs() < 1e-12);
    }
}
