//! Intervals over originals and over annotators: right against wrong answers, sensitivity, and Krippendorff's alpha.

use super::shown::row;
use probity::lab::saliency::metrics::judge::{Judged, Pair, Single};
use probity::lab::saliency::metrics::summary::{contrast, mean_by_original};
use probity::stats::krippendorff::{Coincidences, Scale, alpha};
use probity::stats::rng::{stream, unit};
use probity::stats::special::normal_quantile;

const LEVEL: f64 = 0.95;
/// Number of originals or sentences whose mean serves as the true value.
const MANY: usize = 200_000;

pub(crate) fn saliency() {
    println!("shown | interval | n | truth | covers | half-width | runs");
    right_minus_wrong();
    sensitivity();
    alphas();
}

/// A score between 0 and 1 around `mean`.
fn score(mean: f64, rng: &mut impl FnMut() -> f64) -> f64 {
    (mean + 0.25 * normal_quantile(rng())).clamp(0.0, 1.0)
}

/// An original with `partners` partners. Their correctness is correlated, and inputs that are answered correctly have higher scores.
fn original(right: f64, partners: usize, rng: &mut impl FnMut() -> f64) -> Judged {
    let (own, level) = (rng(), 0.15 * normal_quantile(rng()));
    let mut single = || {
        let right = if rng() < 0.6 { own < right } else { rng() < right };
        let f1 = score(0.5 + level + if right { 0.1 } else { 0.0 }, rng);
        let id = if right { "right" } else { "wrong" }.to_owned();
        Single { id, k: 2, f1: Some(f1), random_f1: Some(0.3), ratio: Some(0.3), empty_gold: false }
    };
    let original = single();
    let pair =
        |_| Pair { perturbation: "dispens".to_owned(), single: single(), map: 0.0, random_map: 0.0, correlation: None };
    Judged { original, pairs: (0..partners).map(pair).collect(), missing: Vec::new() }
}

fn right_minus_wrong() {
    let mut rng = stream(9, "right minus wrong");
    let mut rng = || unit(&mut rng);
    let [rights, wrongs] = ["right", "wrong"].map(|which| move |a: &Single, b: &Single| a.id == which && b.id == which);
    let gap = |all: &[Judged]| {
        let refs: Vec<&Judged> = all.iter().collect();
        contrast(&refs, None, [&rights, &wrongs], LEVEL)[0].map(|(gap, _)| gap)
    };
    for right in [0.5, 0.8, 0.95] {
        let many: Vec<Judged> = (0..MANY).map(|i| original(right, i % 4, &mut rng)).collect();
        let truth = gap(&many).expect("many originals").mean;
        for n in [10, 20, 39, 60, 150] {
            row(&format!("right minus wrong, {right} right"), n, truth, || {
                // Skips samples whose answers are all right or all wrong: they have no difference.
                let mut draw = || gap(&(0..n).map(|i| original(right, i % 4, &mut rng)).collect::<Vec<_>>());
                std::iter::repeat_with(&mut draw).flatten().next().expect("samples with right and wrong answers")
            });
        }
    }
}

/// Prints the coverage for relative changes that are correlated within an original and have a log-normal spread.
fn sensitivity() {
    let mut rng = stream(10, "sensitivity");
    let mut rng = || unit(&mut rng);
    for spread in [0.25f64, 0.5] {
        let truth = (0.5 * (spread * spread + 0.01)).exp();
        for n in [10, 20, 60] {
            row(&format!("sensitivity, logarithm varies by {spread}"), n, truth, || {
                let mut one = |i: usize| {
                    let own = spread * normal_quantile(rng());
                    (0..=i % 4).map(|_| (own + 0.1 * normal_quantile(rng())).exp()).collect::<Vec<f64>>()
                };
                let values: Vec<Vec<f64>> = (0..n).map(&mut one).collect();
                mean_by_original(&values, (0.0, f64::INFINITY), LEVEL).expect("originals")
            });
        }
    }
}

/// Marks by the annotators on the words of one sentence. A third of the words belong to the true rationale. Agreement varies between
/// sentences.
fn sentence(annotators: usize, rng: &mut impl FnMut() -> f64) -> Coincidences<2> {
    let (words, agrees) = (6 + (rng() * 10.0) as usize, 0.65 + 0.3 * rng());
    let mut found = Coincidences::default();
    for _ in 0..words {
        let own = usize::from(rng() < 0.33);
        let marks: Vec<usize> = (0..annotators).map(|_| if rng() < agrees { own } else { 1 - own }).collect();
        found.add_unit(&marks);
    }
    found
}

fn alphas() {
    let mut rng = stream(11, "alpha");
    let mut rng = || unit(&mut rng);
    for annotators in [2, 3] {
        let mut of = |n: usize| {
            let all: Vec<_> = (0..n).map(|_| sentence(annotators, &mut rng)).collect();
            alpha(&all, Scale::Nominal, LEVEL)
        };
        let truth = of(MANY / 10).expect("values that differ").mean;
        for n in [5, 10, 20, 60] {
            row(&format!("alpha of {annotators} annotators"), n, truth, || {
                std::iter::repeat_with(|| of(n)).flatten().next().expect("samples whose values differ")
            });
        }
    }
}
