//! Intervals for the sources of a gap, rank consistency, distances, and the agreement of two annotators.

use std::sync::Arc;

use super::shown::row;
use probity::lab::prompts::adjust::Weights;
use probity::lab::prompts::answers::{Answers, Shape};
use probity::lab::prompts::ledger::{Parts, ledger, parts as parts_of};
use probity::lab::saliency::annotation::{Annotation, agreement, read};
use probity::stats::Estimate;
use probity::stats::intervals::largest_share;
use probity::stats::paired::mean_within;
use probity::stats::rng::{stream, unit};
use probity::stats::special::normal_quantile;

const LEVEL: f64 = 0.95;
const RUNS: usize = 2_000;
/// Number of relations that approximates infinitely many.
const MANY: usize = 40_000;

pub(crate) fn parts() {
    println!("shown | interval | n | truth | covers | half-width | runs");
    ledgers();
    ranks();
    distances();
    annotators();
}

/// Coverage and mean half-width of several joint intervals.
fn rows<const N: usize>(
    names: [&str; N],
    (what, n): (&str, usize),
    truths: [f64; N],
    mut draw: impl FnMut() -> [Estimate; N],
) {
    let (mut held, mut width) = ([0; N], [0.0; N]);
    for _ in 0..RUNS {
        for (k, e) in draw().into_iter().enumerate() {
            held[k] += usize::from(e.lo <= truths[k] && truths[k] <= e.hi);
            width[k] += e.half_width() / RUNS as f64;
        }
    }
    for k in 0..N {
        let covers = held[k] as f64 / RUNS as f64;
        println!("shown | {}, {what} | {n} | {:.6} | {covers:.3} | {:.6} | {RUNS}", names[k], truths[k], width[k]);
    }
}

/// Sources of the gap between two models on a relation of 5 prompts and 40 instances. `spread` is the standard deviation over relations of
/// the log prompt effect.
fn relation(spread: f64, rng: &mut impl FnMut() -> f64) -> Parts {
    let (prompts, instances) = (5, 40);
    let mut normal = || normal_quantile(rng().clamp(1e-12, 1.0 - 1e-12));
    let (base, gap, size) = (normal(), 0.4 + 0.5 * normal(), (-0.5 + spread * normal()).exp());
    let of_prompts: Vec<[f64; 2]> = (0..prompts).map(|_| [size * normal(), size * normal()]).collect();
    let hard: Vec<f64> = (0..instances).map(|_| normal()).collect();
    let shape = Arc::new(Shape::new(prompts, &vec![1; instances]));
    let [a, b] = [0.5, -0.5].map(|side| {
        let each = of_prompts.iter().flat_map(|[common, own]| hard.iter().map(move |h| (common + side * own, h)));
        let right: Vec<bool> =
            each.map(|(of_prompt, h)| rng() < 1.0 / (1.0 + (-(base + side * gap + of_prompt + h)).exp())).collect();
        Answers::new(shape.clone(), vec![0; right.len()], right)
    });
    parts_of(&a, &b, &Weights::uniform(prompts), true).expect("prompts and instances")
}

fn ledgers() {
    for (spread, name) in [(0.0, "prompts matter alike"), (0.4, "differ"), (0.7, "differ much")] {
        let mut rng = stream(1, name);
        let mut rng = || unit(&mut rng);
        let many: Vec<Parts> = (0..MANY).map(|_| relation(spread, &mut rng)).collect();
        let all = ledger(&many, LEVEL).expect("relations");
        for n in [5, 10, 39] {
            let list = |l: probity::lab::prompts::ledger::Ledger| {
                let shares = [l.prompt_share, l.prompt_unbiased_share].map(|e| e.expect("a gap that varies"));
                [l.model_itself, l.total, l.prompt, l.sample, l.residual, l.prompt_unbiased, shares[0], shares[1]]
            };
            // Variances of a mean over relations are inversely proportional to the number of relations.
            let by = |k: usize| if (1..6).contains(&k) { MANY as f64 / n as f64 } else { 1.0 };
            let means = list(all).map(|e| e.mean);
            let truths = std::array::from_fn(|k| means[k] * by(k));
            let names = ["gap", "total", "prompt", "sample", "residual", "unbiased", "share", "unbiased share"];
            rows(names, (&format!("ledger, {name}"), n), truths, || {
                let drawn: Vec<Parts> = (0..n).map(|_| relation(spread, &mut rng)).collect();
                list(ledger(&drawn, LEVEL).expect("relations"))
            });
        }
    }
}

/// Prints the coverage for rank consistency, the proportion of the most frequent ranking, with rankings drawn from given probabilities.
fn ranks() {
    let mut rng = stream(2, "ranks");
    let equal = |n: usize| (format!("{n} equal orders"), vec![1.0 / n as f64; n]);
    let unequal = ("one order ahead".to_owned(), vec![0.6, 0.2, 0.1, 0.1]);
    let near = ("two orders nearly equal".to_owned(), vec![0.46, 0.44, 0.1]);
    for (name, chances) in [equal(2), equal(6), equal(24), unequal, near] {
        for n in [100, 1_000] {
            row(&format!("rank consistency, {name}"), n, chances[0], || {
                let mut counts = vec![0u64; chances.len()];
                for _ in 0..n {
                    let mut left = unit(&mut rng);
                    let at = chances.iter().position(|p| {
                        left -= p;
                        left < 0.0
                    });
                    counts[at.unwrap_or(chances.len() - 1)] += 1;
                }
                largest_share(counts.iter().copied().max().unwrap_or(0), n as u64, LEVEL)
            });
        }
    }
}

/// Prints the coverage for means of distances with a long tail: exponentials of normal variables.
fn distances() {
    let mut rng = stream(3, "distances");
    for spread in [0.25f64, 0.5, 1.0] {
        for n in [20, 60, 256] {
            row(&format!("mean distance, spread of the logarithm {spread}"), n, (0.5 * spread * spread).exp(), || {
                let mut one = || (spread * normal_quantile(unit(&mut rng).clamp(1e-12, 1.0 - 1e-12))).exp();
                mean_within(&(0..n).map(|_| one()).collect::<Vec<_>>(), (0.0, f64::INFINITY), LEVEL)
            });
        }
    }
}

/// Sentences labelled by two annotators whose agreement varies between sentences.
fn annotated(n: usize, rng: &mut impl FnMut() -> f64) -> [Vec<Annotation>; 2] {
    let mut lines = [String::new(), String::new()];
    for i in 0..n {
        let words = 8 + (17.0 * rng()) as usize;
        let (density, alike) = (0.1 + 0.4 * rng(), rng().sqrt());
        let first: Vec<bool> = (0..words).map(|_| rng() < density).collect();
        let second: Vec<bool> = first.iter().map(|m| if rng() < alike { *m } else { rng() < 0.25 }).collect();
        for (text, marks) in lines.iter_mut().zip([first, second]) {
            let ids: Vec<usize> = (0..words).filter(|w| marks[*w]).collect();
            let tokens = vec!["\"w\""; words].join(",");
            *text += &format!(
                "{{\"sent_id\":{i},\"sample_type\":\"ori\",\"sent_token\":[{tokens}],\"rationale_ids\":{ids:?}}}\n"
            );
        }
    }
    lines.map(|text| read(&text).expect("lines of the expected format"))
}

fn annotators() {
    let mut rng = stream(4, "annotators");
    let mut rng = || unit(&mut rng);
    let found = |n: usize, rng: &mut dyn FnMut() -> f64| {
        let [a, b] = annotated(n, &mut || rng());
        let found = agreement(&a, &b, LEVEL).expect("sentences of both annotators");
        [found.kappa.expect("marks that differ"), found.token_f1]
    };
    let truths = found(MANY / 2, &mut rng).map(|e| e.mean);
    for n in [10, 20, 60] {
        rows(["kappa", "token-F1"], ("two annotators", n), truths, || found(n, &mut rng));
    }
}
