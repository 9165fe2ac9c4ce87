//! Intervals over tokens of texts: by text, and for comparison by token as if tokens were independent.

use super::{LEVEL, ROUNDS, Tally, logistic};
use probity::lab::interventions::assess::bands;
use probity::lab::interventions::score::{ExampleScores, reliability};
use probity::lab::interventions::table::{Judged, Sweep};
use probity::stats::bootstrap::Resamples;
use probity::stats::clustered::{effective_rows, share_of};
use probity::stats::rng::{stream, unit};
use probity::stats::special::normal_quantile;

const RUNS: usize = 1_000;
const RESAMPLES: usize = 400;
/// Number of texts that approximates infinitely many.
const MANY: usize = 100_000;
const STATISTICS: [&str; 5] = ["C", "S", "R", "read correctly", "accuracy"];

/// Tokens of texts, with their scores.
#[derive(Default)]
struct Tokens {
    c: Vec<f64>,
    s: Vec<Option<f64>>,
    right: Vec<Option<f64>>,
    text: Vec<usize>,
}

/// Draws `n` texts of up to four tokens; a third lack the other property. Longer texts have higher scores. `shared` is the share of the
/// variance, on the logit scale, that tokens of a text have in common.
fn draw(n: usize, shared: f64, centre: f64, rng: &mut impl FnMut() -> f64) -> Tokens {
    let mut normal = || normal_quantile(rng().clamp(1e-12, 1.0 - 1e-12));
    let (of_text, of_token) = (1.5 * shared.sqrt(), 1.5 * (1.0 - shared).sqrt());
    let mut all = Tokens::default();
    for text in 0..n {
        let effects = [normal(), normal(), normal()].map(|e| of_text * e);
        for _ in 0..(2.5 + effects[0]).round().clamp(1.0, 4.0) as usize {
            let mut score = |of: usize| logistic(centre + effects[of] + of_token * normal());
            all.c.push(score(0));
            all.s.push((text % 3 > 0).then(|| score(1)));
            all.right.push((text % 3 > 0).then(|| f64::from(u8::from(score(2) > 0.4))));
            all.text.push(text);
        }
    }
    all
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

pub(crate) fn tokens() {
    println!(
        "tokens | texts | shared | mean logit | statistic | truth | by text covers | half-width | by token covers | half-width"
    );
    for (shared, centre) in [(0.1, 0.5), (0.5, 0.5), (0.9, 0.5), (0.5, 4.0)] {
        for n in [32, 64, 100, 480, 2_400] {
            world(n, shared, centre);
        }
    }
}

fn world(n: usize, shared: f64, centre: f64) {
    let mut rng = stream(7, "tokens");
    let mut rng = || unit(&mut rng);
    let many = draw(MANY, shared, centre, &mut rng);
    let given = |values: &[Option<f64>]| mean(&values.iter().flatten().copied().collect::<Vec<_>>());
    let (c, s, read) = (mean(&many.c), given(&many.s), given(&many.right));
    let truths = [c, s, reliability(c, s), read, read];
    let runs = if n > 1_000 { RUNS / 4 } else { RUNS };
    let mut tallies: [[Tally; 2]; 5] = Default::default();
    for run in 0..runs {
        let some = draw(n, shared, centre, &mut rng);
        let other: Vec<Option<usize>> = some.s.iter().map(|s| s.map(|_| 0)).collect();
        let judged = |_: usize, _: usize| Judged {
            scores: ExampleScores { completeness: some.c.clone(), selectivity: some.s.clone() },
            right: some.right.clone(),
            further: Vec::new(),
        };
        let (rows, right): (Vec<usize>, Vec<f64>) =
            some.right.iter().enumerate().filter_map(|(i, right)| right.map(|right| (some.text[i], right))).unzip();
        for (way, texts) in [Some(some.text.as_slice()), None].into_iter().enumerate() {
            let sweep = Sweep {
                values: &[1.0],
                replicates: 1,
                judged: &judged,
                other: &other,
                classes: 1,
                further: &[],
                texts,
            };
            let units = if texts.is_some() { n } else { some.c.len() };
            let Some(found) = bands(&sweep, &Resamples::new(units, RESAMPLES, run as u64), LEVEL) else { continue };
            let point = &found[0];
            let effective = texts.map_or(right.len() as f64, |_| effective_rows(&right, &rows));
            let intervals = [
                Some(point.completeness.narrow),
                point.selectivity.map(|b| b.narrow),
                point.reliability.map(|b| b.narrow),
                point.readable.as_ref().map(|r| r.balanced),
                Some(share_of(mean(&right), effective, LEVEL)),
            ];
            for (k, e) in intervals.into_iter().enumerate() {
                let Some(e) = e else { continue };
                tallies[k][way].add(e.lo, e.hi, truths[k]);
            }
        }
    }
    for ((name, truth), [by_text, by_token]) in STATISTICS.iter().zip(truths).zip(&tallies) {
        let show =
            |t: &Tally| format!("{:.3} | {:.4}", t.held as f64 / runs as f64, t.width * ROUNDS as f64 / runs as f64);
        println!("tokens | {n} | {shared} | {centre} | {name} | {truth:.4} | {} | {}", show(by_text), show(by_token));
    }
}
