//! Simulates the coverage of intervals and the error rates of tests, and times an assessment and the training of replicates.
//!
//! `cargo bench --bench coverage` runs all parts; `-- bands`, `bound`, `clusters`, `pilots`, `levels`, `versus`, `shown`, `parts`,
//! `saliency` or `tokens` runs only that part. It prints one line per figure and asserts nothing. Each row of the bands simulates a lab
//! many times: K trained replicates, and n test examples of which a sixth has the other property, with logistic scores that depend on the
//! example, on the training run and on both together. The narrow band should contain the value of *these* replicates on infinitely many
//! examples, and the wide band the value of infinitely many replicates, each at its nominal rate (.95).

#[path = "coverage/bound.rs"]
mod bound;
#[path = "coverage/paired.rs"]
mod paired;
#[path = "coverage/parts.rs"]
mod parts;
#[path = "coverage/saliency.rs"]
mod saliency;
#[path = "coverage/shown.rs"]
mod shown;
#[path = "coverage/tokens.rs"]
mod tokens;
#[path = "coverage/trainings.rs"]
mod trainings;

use std::time::Instant;

use probity::base::NoPulse;
use probity::lab::interventions::assess::{Assessment, assess};
use probity::lab::interventions::score::{ExampleScores, reliability};
use probity::lab::interventions::table::{Judged, Sweep};
use probity::probe::grid::search;
use probity::probe::{Grid, Job, Matrix, Oracle, Split, TrainingData, train_all};
use probity::stats::Purpose;
use probity::stats::bootstrap::Resamples;
use probity::stats::halves::Halves;
use probity::stats::replicates::Bands;
use probity::stats::rng::{stream, unit};
use probity::stats::special::normal_quantile;

const LEVEL: f64 = 0.95;
const ROUNDS: usize = 400;
const RESAMPLES: usize = 400;
const POINTS: usize = 201;

struct World {
    name: &'static str,
    n: usize,
    replicates: usize,
    /// Mean logits of completeness and selectivity.
    centre: [f64; 2],
    /// Standard deviations on the logit scale: of examples, of training runs, and of their interaction.
    spread: [f64; 3],
}

const WORLDS: [World; 9] = [
    World { name: "middle, K 5", n: 1200, replicates: 5, centre: [0.0, 0.5], spread: [1.5, 0.3, 0.5] },
    World { name: "middle, K 2", n: 1200, replicates: 2, centre: [0.0, 0.5], spread: [1.5, 0.3, 0.5] },
    World { name: "few examples, K 5", n: 256, replicates: 5, centre: [0.0, 0.5], spread: [1.5, 0.3, 0.5] },
    World { name: "saturated, K 5", n: 600, replicates: 5, centre: [2.0, 1.0], spread: [8.0, 1.0, 3.0] },
    World { name: "training is nothing, K 5", n: 600, replicates: 5, centre: [0.0, 1.0], spread: [2.0, 0.0, 1.0] },
    World { name: "training is most, K 5", n: 600, replicates: 5, centre: [0.5, 0.5], spread: [1.0, 1.5, 0.5] },
    World { name: "training is most, K 10", n: 600, replicates: 10, centre: [0.5, 0.5], spread: [1.0, 1.5, 0.5] },
    World { name: "near the ends, K 5", n: 600, replicates: 5, centre: [-4.0, 4.0], spread: [2.0, 0.6, 0.5] },
    World { name: "at the ends, K 5", n: 256, replicates: 5, centre: [-14.0, 14.0], spread: [5.0, 1.0, 1.0] },
];

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let parts: [(&str, fn()); 10] = [
        ("bands", bands),
        ("bound", bound::bound),
        ("clusters", paired::clusters),
        ("pilots", paired::pilots),
        ("levels", paired::levels),
        ("versus", trainings::versus),
        ("shown", shown::shown),
        ("parts", parts::parts),
        ("saliency", saliency::saliency),
        ("tokens", tokens::tokens),
    ];
    for (name, part) in parts {
        if wanted.is_empty() || wanted.iter().any(|w| w == name) {
            part();
        }
    }
}

fn bands() {
    println!("world | statistic | true | narrow covers | width | wide covers | width | n");
    for world in &WORLDS {
        coverage(world);
    }
    optimum();
    cost();
    training();
}

fn logistic(z: f64) -> f64 {
    1.0 / (1.0 + (-z).exp())
}

/// The mean of `f` over a normal variable with mean 0 and the given standard deviation.
fn expected(deviation: f64, f: impl Fn(f64) -> f64) -> f64 {
    let at = |i: usize| normal_quantile((i as f64 + 0.5) / POINTS as f64);
    (0..POINTS).map(|i| f(deviation * at(i))).sum::<f64>() / POINTS as f64
}

/// Labels of the other property: every sixth example has one.
fn labels(n: usize) -> Vec<Option<usize>> {
    (0..n).map(|i| (i % 6 == 0).then_some(i / 6 % 2)).collect()
}

fn assessed(judged: &[Vec<Judged>], values: &[f64], seed: u64, resamples: usize) -> Assessment {
    let other = labels(judged[0][0].right.len());
    let strata: Vec<usize> = other.iter().map(|o| o.unwrap_or(2)).collect();
    let halves = Halves::new(&strata, 20, seed);
    let resamples = Resamples::new(other.len(), resamples, seed);
    let at = |k: usize, m: usize| judged[k][m].clone();
    let sweep =
        Sweep { values, replicates: judged.len(), judged: &at, other: &other, classes: 2, further: &[], texts: None };
    assess(&sweep, &resamples, &halves, LEVEL).expect("at least one replicate, strength and example")
}

/// Number of bands that contained the true value, and the sum of their half-widths.
#[derive(Default)]
struct Tally {
    held: usize,
    width: f64,
}

impl Tally {
    fn add(&mut self, lo: f64, hi: f64, truth: f64) {
        self.held += usize::from(lo <= truth && truth <= hi);
        self.width += 0.5 * (hi - lo) / ROUNDS as f64;
    }

    fn share(&self) -> f64 {
        self.held as f64 / ROUNDS as f64
    }
}

fn coverage(world: &World) {
    let other = labels(world.n);
    let [examples, training, both] = world.spread;
    let inner = examples.hypot(both);
    // Mean score of a replicate with this training effect, over all examples.
    let said = |which: usize, effect: f64| expected(inner, |z| logistic(world.centre[which] + effect + z));
    let over = |which: usize| expected(training, |u| said(which, u));
    let by_training: Vec<f64> =
        (0..POINTS).map(|i| said(1, training * normal_quantile((i as f64 + 0.5) / POINTS as f64))).collect();
    let mean_r = |c: f64| by_training.iter().map(|s| reliability(c, *s)).sum::<f64>() / POINTS as f64;
    let truths = [over(0), over(1), expected(training, |u| mean_r(said(0, u)))];
    let mut tallies: [[Tally; 2]; 3] = Default::default();
    let mut rng = stream(1, world.name);
    let mut normal = || normal_quantile(unit(&mut rng).clamp(1e-12, 1.0 - 1e-12));
    for round in 0..ROUNDS {
        let shared: Vec<[f64; 2]> = (0..world.n).map(|_| [normal(), normal()]).collect();
        let effects: Vec<[f64; 2]> =
            (0..world.replicates).map(|_| [training * normal(), training * normal()]).collect();
        let mut score = |which: usize, k: usize, i: usize| {
            logistic(world.centre[which] + effects[k][which] + examples * shared[i][which] + both * normal())
        };
        let judged: Vec<Vec<Judged>> = (0..world.replicates)
            .map(|k| {
                let completeness = (0..world.n).map(|i| score(0, k, i)).collect();
                let selectivity = (0..world.n).map(|i| other[i].map(|_| score(1, k, i))).collect();
                let right = other.iter().map(|o| o.map(|_| 1.0)).collect();
                vec![Judged { scores: ExampleScores { completeness, selectivity }, right, further: Vec::new() }]
            })
            .collect();
        let got = assessed(&judged, &[1.0], round as u64, RESAMPLES);
        let strength = &got.strengths[0];
        let mean = |f: &dyn Fn(&[f64; 2]) -> f64| effects.iter().map(f).sum::<f64>() / effects.len() as f64;
        let here =
            [mean(&|e| said(0, e[0])), mean(&|e| said(1, e[1])), mean(&|e| reliability(said(0, e[0]), said(1, e[1])))];
        let bands = [Some(strength.completeness), strength.selectivity, strength.reliability];
        for (i, band) in bands.iter().enumerate() {
            let Some(Bands { narrow, wide: Some(wide), .. }) = band else { continue };
            tallies[i][0].add(narrow.lo, narrow.hi, here[i]);
            tallies[i][1].add(wide.lo, wide.hi, truths[i]);
        }
    }
    for (i, letter) in ["C", "S", "R"].into_iter().enumerate() {
        let [narrow, wide] = &tallies[i];
        println!(
            "{} | {letter} | {:.4} | {:.3} | {:.4} | {:.3} | {:.4} | {ROUNDS}",
            world.name,
            truths[i],
            narrow.share(),
            narrow.width,
            wide.share(),
            wide.width
        );
    }
}

/// Compares the optima that the two procedures report with the truth, for strengths that differ only by chance.
fn optimum() {
    let (n, k, m) = (600, 5, 29);
    let other = labels(n);
    let values: Vec<f64> = (0..m).map(|i| i as f64).collect();
    let mut rng = stream(2, "optimum");
    let (mut honest, mut paper) = (Tally::default(), Tally::default());
    let (mut means, mut truth) = ([0.0; 2], 0.0);
    for round in 0..ROUNDS {
        let judged: Vec<Vec<Judged>> = (0..k)
            .map(|_| {
                let mut one = || {
                    let completeness = (0..n).map(|_| f64::from(u8::from(unit(&mut rng) < 0.5))).collect();
                    let selectivity =
                        (0..n).map(|i| other[i].map(|_| f64::from(u8::from(unit(&mut rng) < 0.7)))).collect();
                    let right = other.iter().map(|o| o.map(|_| 1.0)).collect();
                    Judged { scores: ExampleScores { completeness, selectivity }, right, further: Vec::new() }
                };
                (0..m).map(|_| one()).collect()
            })
            .collect();
        let got = assessed(&judged, &values, round as u64, 100);
        truth = reliability(0.5, 0.7);
        if let (Ok(optimum), Some(best)) = (&got.optimum, &got.paper) {
            for (i, (tally, bands)) in
                [(&mut honest, &optimum.reliability), (&mut paper, &best.reliability)].into_iter().enumerate()
            {
                let shown = bands.shown();
                tally.add(shown.lo, shown.hi, truth);
                means[i] += shown.mean / ROUNDS as f64;
            }
        }
    }
    println!("optimum of 29 equal strengths | procedure | true | mean | covers | width | n");
    for (way, mean, tally) in [("halves", means[0], &honest), ("paper", means[1], &paper)] {
        println!("optimum | {way} | {truth:.4} | {mean:.4} | {:.3} | {:.4} | {ROUNDS}", tally.share(), tally.width);
    }
}

/// Prints the time in seconds to assess one method under one oracle at the size of the default experiment.
fn cost() {
    let (n, k, m) = (2_400, 5, 33);
    let other = labels(n);
    let values: Vec<f64> = (0..m).map(|i| i as f64).collect();
    let mut rng = stream(3, "cost");
    let judged: Vec<Vec<Judged>> = (0..k)
        .map(|_| {
            let mut one = || Judged {
                scores: ExampleScores {
                    completeness: (0..n).map(|_| unit(&mut rng)).collect(),
                    selectivity: (0..n).map(|i| other[i].map(|_| unit(&mut rng))).collect(),
                },
                right: other.iter().map(|o| o.map(|_| 1.0)).collect(),
                further: Vec::new(),
            };
            (0..m).map(|_| one()).collect()
        })
        .collect();
    let begun = Instant::now();
    let rounds = 3;
    for round in 0..rounds {
        std::hint::black_box(assessed(&judged, &values, round, 1_000));
    }
    let seconds = begun.elapsed().as_secs_f64() / f64::from(rounds as u32);
    println!("assessing {k} replicates x {m} strengths x {n} examples, 1000 resamples | {seconds:.3} s");
}

/// Prints the time in seconds to search the small grid, setting by setting, and to train five replicates of the chosen setting.
fn training() {
    let (n, d) = (6_000, 160);
    let mut rng = stream(4, "training");
    let mut normal = || normal_quantile(unit(&mut rng).clamp(1e-12, 1.0 - 1e-12));
    let values: Vec<f32> = (0..n * d).map(|_| normal() as f32).collect();
    let x = Matrix::from_vec(n, d, values).expect("n x d values");
    // The label depends mostly on one direction, partly on a product, and on noise; accuracies are about .9.
    let label = |r: &[f32], e: f64| f64::from(r[0] + 0.6 * r[1] * r[2]) + 0.25 * e > 0.0;
    let noise: Vec<f64> = (0..n).map(|_| normal()).collect();
    let y: Vec<Option<usize>> = x.iter_rows().zip(noise).map(|(r, e)| Some(usize::from(label(r, e)))).collect();
    let split = Split::new(n, 1).expect("enough examples");
    let data = TrainingData::<Oracle>::new(split.oracle(), &x, &y, 2).expect("valid labels");
    let begun = Instant::now();
    let purpose = Purpose::new(1, "bench", "mlp");
    let probe = search(&data, &Grid::small(), &purpose, &mut NoPulse, &mut |trial| {
        let best = trial.run.correct.iter().max().copied().unwrap_or(0);
        let at = begun.elapsed().as_secs_f64();
        println!(
            "{} | {} steps | best {best} of {} | done at {at:.2} s",
            trial.recipe.describe(),
            trial.run.steps(),
            trial.run.examples
        );
    })
    .expect("a probe");
    println!("small grid, {} rows of {d} | {:.3} s", data.train().len(), begun.elapsed().as_secs_f64());
    let (Some(chosen), rivals) = (probe.standing(), probe.rivals().len()) else { return };
    let recipe = &chosen.trial.recipe;
    println!("chosen {} at validation {}, {rivals} rivals", recipe.describe(), chosen.epoch);
    let begun = Instant::now();
    let jobs: Vec<Job> =
        (1..=5).map(|k| Job::new(&data, recipe, probe.replicate_steps(), &purpose.replicate(k))).collect();
    train_all(&jobs, &mut NoPulse, &mut |_, _| {}).expect("training cannot be cancelled here");
    println!("five replicates | {:.3} s", begun.elapsed().as_secs_f64());
}
