//! Intervals that the labs show for further quantities, each at three sample sizes.

use std::sync::Arc;

use probity::lab::compared::{Number, pair};
use probity::lab::prompts::answers::{Answers, Shape};
use probity::lab::prompts::preference::{bounded, corrected_gap};
use probity::stats::Estimate;
use probity::stats::intervals::share;
use probity::stats::paired::{Differences, Shift, Table, difference, mean_within};
use probity::stats::rng::{stream, unit};
use probity::stats::strata::{Strata, Stratum};
use probity::stats::sweep::largest;

const LEVEL: f64 = 0.95;
const RUNS: usize = 4_000;

/// Prints how often an interval contained the true value, and its mean half-width.
pub(crate) fn row(name: &str, n: usize, truth: f64, draw: impl FnMut() -> Estimate) {
    row_of(RUNS, name, n, truth, draw);
}

/// Like [`row`], with a given number of simulations; 4,000 leave a standard error of .004.
fn row_of(runs: usize, name: &str, n: usize, truth: f64, mut draw: impl FnMut() -> Estimate) {
    let (mut held, mut width) = (0, 0.0);
    for _ in 0..runs {
        let e = draw();
        held += usize::from(e.lo <= truth && truth <= e.hi);
        width += e.half_width() / runs as f64;
    }
    println!("shown | {name} | {n} | {truth:.4} | {:.3} | {width:.4} | {runs}", held as f64 / runs as f64);
}

pub(crate) fn shown() {
    println!("shown | interval | n | truth | covers | half-width | runs");
    shares();
    means();
    prompts();
    sweeps();
    runs();
    tasks();
    fixed_tasks();
}

/// Prints the coverage for two systems on tasks of 20 to 400 items: for the mean over tasks and over items. The difference varies by five
/// points between tasks.
fn tasks() {
    let mut rng = stream(6, "tasks");
    let mut normal = || (0..12).map(|_| unit(&mut rng)).sum::<f64>() - 6.0;
    for truth in [0.0, 0.05] {
        for n in [10, 20, 60] {
            let mut small = [0, 0];
            for (k, name) in ["macro", "micro"].into_iter().enumerate() {
                row(&format!("difference over tasks, {name}"), n, truth, || {
                    let sizes: Vec<f64> = (0..n).map(|i| 20.0 * 20f64.powf(i as f64 / (n - 1) as f64)).collect();
                    let mut one = |size: &f64| truth + 0.05 * normal() + 0.5 * normal() / size.sqrt();
                    let means: Vec<f64> = sizes.iter().map(&mut one).collect();
                    let units = match k {
                        0 => Differences::of_items(means),
                        _ => Differences { sums: means.iter().zip(&sizes).map(|(m, s)| m * s).collect(), sizes },
                    };
                    small[k] += usize::from(units.p() <= 0.05);
                    units.interval(LEVEL)
                });
            }
            if truth == 0.0 {
                let [over_tasks, over_items] = small.map(|s| s as f64 / RUNS as f64);
                println!(
                    "shown | p over tasks, macro and micro | {n} | p at most .05 | {over_tasks:.3} {over_items:.3}"
                );
            }
        }
    }
}

/// Prints the coverage for few tasks, of 50 to 800 items or of 50 each. Their true differences are up to `apart` above or below the mean.
/// The mean over items treats tasks as fixed. An item takes its cluster's common draw with probability .632.
fn fixed_tasks() {
    for (up, down, apart, cluster) in
        [(0.0, 0.03, 0.0, 1), (0.02, 0.02, 0.0, 1), (0.05, 0.05, 0.04, 1), (0.15, 0.1, 0.08, 1), (0.1, 0.1, 0.05, 5)]
    {
        for (n, ratio) in [2, 4, 8].into_iter().flat_map(|n| [(n, 1.0), (n, 16.0f64)]) {
            let mut rng = stream(n as u64, &format!("fixed tasks {up} {down} {apart} {cluster} {ratio}"));
            let sizes: Vec<usize> =
                (0..n).map(|k| (50.0 * ratio.powf(k as f64 / (n - 1) as f64)) as usize / cluster * cluster).collect();
            let own = |k: usize| apart * (2.0 * k as f64 / (n - 1) as f64 - 1.0);
            let items: usize = sizes.iter().sum();
            let truth = sizes.iter().enumerate().map(|(k, size)| *size as f64 * (up - down + own(k))).sum::<f64>()
                / items as f64;
            let (mut small, most) = (0, sizes[n - 1]);
            let name =
                format!("tasks of 50 to {most} items taken as fixed, {up}/{down} +- {apart}, clusters of {cluster}");
            row(&name, n, truth, || {
                let mut task = |(k, size): (usize, &usize)| {
                    let (a, b) = (up + 0.5 * own(k), down - 0.5 * own(k));
                    let draw = |u: f64| i32::from(u < a) - i32::from((a..a + b).contains(&u));
                    let (mut table, mut units) = (Table::default(), Differences::default());
                    for _ in 0..size / cluster {
                        let (common, mut sum) = (draw(unit(&mut rng)), 0);
                        for _ in 0..cluster {
                            let shared = cluster > 1 && unit(&mut rng) < 0.632;
                            let one = if shared { common } else { draw(unit(&mut rng)) };
                            table.add(one >= 0, one <= 0);
                            sum += one;
                        }
                        units.sums.push(f64::from(sum));
                        units.sizes.push(cluster as f64);
                    }
                    Stratum { units, table: Some(table), seeds: 1 }
                };
                let tasks: Vec<Stratum> = sizes.iter().enumerate().map(&mut task).collect();
                let found = Strata::of(&tasks).expect("items");
                small += usize::from(found.p() <= 0.05);
                found.interval(LEVEL)
            });
            println!("shown | {name}, p at most .05 | {n} | {:.3}", small as f64 / RUNS as f64);
        }
    }
    fixed_values();
}

/// Like [`fixed_tasks`], with a metric of any value from 0 to 1 and therefore skewed differences.
fn fixed_values() {
    let mut rng = stream(8, "fixed values");
    for n in [2, 4, 8] {
        row("tasks taken as fixed, metric of any value", n, 0.0, || {
            let mut task = |k: usize| {
                let size = (50.0 * 16f64.powf(k as f64 / (n - 1) as f64)) as usize;
                let mut value = || unit(&mut rng).powi(3) - 0.25;
                let units = Differences::of_items((0..size).map(|_| value()).collect());
                Stratum { units, table: None, seeds: 1 }
            };
            Strata::of(&(0..n).map(&mut task).collect::<Vec<_>>()).expect("items").interval(LEVEL)
        });
    }
}

/// Prints the coverage for two runs side by side, for proportions of independent examples.
fn runs() {
    let mut rng = stream(5, "two runs");
    for (p, q) in [(0.05, 0.05), (0.2, 0.2), (0.5, 0.5), (0.05, 0.3), (0.5, 0.8)] {
        for n in [5, 10, 50, 200] {
            let mut small = 0;
            row(&format!("difference of two runs, {p} and {q}"), n, q - p, || {
                let mut number = |p: f64| {
                    let hits = (0..n).filter(|_| unit(&mut rng) < p).count() as u64;
                    let value = share(hits, n as u64, LEVEL);
                    Number {
                        name: String::new(),
                        group: String::new(),
                        value,
                        n: n.into(),
                        level: LEVEL,
                        unit: (1.0, ""),
                        distrusted: false,
                        stands_in: None,
                    }
                };
                let both = pair((&[number(p)], &[]), (&[number(q)], &[])).common.remove(0);
                small += usize::from(both.p.is_some_and(|p| p <= 0.05));
                both.difference
            });
            if p == q {
                println!("shown | p of two runs, {p} | {n} | p at most .05 | {:.3}", small as f64 / RUNS as f64);
            }
        }
    }
}

fn shares() {
    let mut rng = stream(1, "shares");
    for p in [0.001, 0.005, 0.01, 0.05, 0.5] {
        for n in [20, 100, 1_000] {
            let mut hits = || (0..n).filter(|_| unit(&mut rng) < p).count() as u64;
            row("share", n, p, || share(hits(), n as u64, LEVEL));
        }
    }
    for (a, b) in [(0.0, 0.03), (0.05, 0.1), (0.28, 0.3)] {
        for n in [50, 200, 1_000] {
            row(&format!("paired difference, Tango {a}/{b}"), n, a - b, || {
                let mut t = Table::default();
                for _ in 0..n {
                    let u = unit(&mut rng);
                    t.add(u < a || u > a + b && u < 0.6, u >= a && u < 0.6);
                }
                difference(&t, LEVEL)
            });
        }
    }
}

/// Scores of an original and its partners: often 0 or 1, otherwise in between, and correlated within an original.
fn scores(partners: usize, rng: &mut impl FnMut() -> f64) -> Vec<f64> {
    let (level, kind) = (rng(), rng());
    let one = |own: f64| match kind {
        k if k < 0.15 => f64::from(u8::from(own > 0.7)),
        _ => (0.6 * level + 0.4 * own).powi(2),
    };
    (0..partners).map(|_| one(rng())).collect()
}

fn means() {
    let mut rng = stream(2, "means");
    let mut rng = || unit(&mut rng);
    // The true mean score, from many simulated originals.
    let truth = (0..2_000_000).map(|_| scores(1, &mut rng)[0]).sum::<f64>() / 2e6;
    for n in [10, 20, 60] {
        row("score by original, Student's t", n, truth, || {
            let mut all = Differences::default();
            for i in 0..n {
                let values = scores(1 + i % 4, &mut rng);
                all.sums.push(values.iter().sum());
                all.sizes.push(values.len() as f64);
            }
            all.interval(LEVEL)
        });
    }
    for n in [10, 50, 500] {
        // Exponentially distributed differences, as skewed as real-valued metrics get.
        row_of(100_000, "metric of any value, Student's t", n, 1.0, || {
            Differences::of_items((0..n).map(|_| -(1.0 - rng()).ln()).collect()).interval(LEVEL)
        });
        row("two sets of items, Welch", n, 0.2, || {
            let mut side = |p: f64, n: usize| -> Shift {
                Differences::of_items((0..n).map(|_| f64::from(u8::from(rng() < p))).collect()).shift()
            };
            let (a, b) = (side(0.7, n), side(0.5, 2 * n));
            Shift::apart(a, b).interval_within(LEVEL, (-1.0, 1.0))
        });
    }
    for n in [5, 10, 39] {
        row("mean over relations or tasks, Student's t", n, 0.4, || {
            mean_within(&(0..n).map(|_| 0.8 * rng()).collect::<Vec<_>>(), (0.0, 1.0), LEVEL)
        });
    }
}

/// Answers to prompts with the given true scores on the same instances. Some instances are hard under all prompts.
fn answers(scores: &[f64], n: usize, rng: &mut impl FnMut() -> f64) -> Answers {
    let hard: Vec<f64> = (0..n).map(|_| rng()).collect();
    let right: Vec<bool> = scores
        .iter()
        .flat_map(|p| hard.iter().map(move |h| (p, h)))
        .map(|(p, hard)| if rng() < 0.5 { hard < p } else { rng() < *p })
        .collect();
    let said = vec![0; right.len()];
    Answers::new(Arc::new(Shape::new(scores.len(), &vec![1; n])), said, right)
}

fn prompts() {
    let mut rng = stream(3, "prompts");
    let mut rng = || unit(&mut rng);
    let unequal = [0.5, 0.53, 0.56, 0.6, 0.63, 0.65];
    for (name, scores) in [("unequal prompts", unequal), ("equal prompts", [0.6; 6]), ("rare", [0.03; 6])] {
        let (worst, best) = (scores[0], scores[5]);
        let mean = scores.iter().sum::<f64>() / 6.0;
        for n in [20, 53, 200] {
            let truths = [("worst", worst), ("best", best), ("gap", best - worst), ("", 0.0), ("mean", mean)];
            for (k, (what, truth)) in truths.into_iter().enumerate().filter(|(k, _)| *k != 3) {
                row(&format!("{what} over prompts, {name}"), n, truth, || {
                    bounded(&answers(&scores, n, &mut rng), LEVEL).expect("instances")[k]
                });
            }
        }
    }
    // The true gap when prompts are chosen on half of n instances, from many simulations.
    for n in [20, 53, 200] {
        let gap = |rng: &mut dyn FnMut() -> f64| {
            let found = answers(&unequal, n / 2, &mut || rng());
            let hits: Vec<usize> = (0..6).map(|p| found.correct(p)).collect();
            let first = |wanted: usize| hits.iter().position(|h| *h == wanted).unwrap_or(0);
            let best = first(hits.iter().copied().max().unwrap_or(0));
            unequal[best] - unequal[first(hits.iter().copied().min().unwrap_or(0))]
        };
        let truth = (0..20_000).map(|_| gap(&mut rng)).sum::<f64>() / 20_000.0;
        row("gap held out", n, truth, || {
            corrected_gap(&answers(&unequal, n, &mut rng), LEVEL, 1).expect("instances").held_out
        });
    }
}

/// Prints the rejection rate of the test for a sweep if there is no systematic change.
fn sweeps() {
    let mut rng = stream(4, "sweeps");
    for n in [100, 400, 2_000] {
        let (mut rejected, mut certain) = (0, 0);
        let runs = 1_000;
        for seed in 0..runs {
            let item = |_| -> Vec<i8> {
                let (from, sign) = (unit(&mut rng), if unit(&mut rng) < 0.5 { 1 } else { -1 });
                (0..29).map(|s| if from < 0.01 * f64::from(s) { sign } else { 0 }).collect()
            };
            let items: Vec<Vec<i8>> = (0..n).map(item).collect();
            let p = largest(items.into_iter(), seed);
            rejected += usize::from(p <= 0.05);
            certain += usize::from(p <= 0.01);
        }
        let share = |count: usize| count as f64 / runs as f64;
        println!(
            "shown | sweep of 29 strengths, max-T under the null | {n} | p <= .05 {:.3} | p <= .01 {:.3} | {runs}",
            share(rejected),
            share(certain)
        );
    }
}
