//! Tests of the ledger against simulation, and of planted effects.

use proptest::prelude::*;
use rand_chacha::rand_core::Rng;

use super::super::adjust::adjusted;
use super::super::answers::testing::answers;
use super::*;
use stats::rng::{below, stream, unit};

/// Random answers with the given chance of being right.
fn random(
    rng: &mut impl Rng,
    (prompts, mentions): (usize, &[usize]),
    chance: impl Fn(usize, usize, usize) -> f64,
) -> Answers {
    let mut table = Vec::new();
    for p in 0..prompts {
        for (i, n) in mentions.iter().enumerate() {
            table.extend((0..*n).map(|x| unit(rng) < chance(p, i, x)));
        }
    }
    let shape = super::super::answers::Shape::new(prompts, mentions);
    answers(prompts, mentions, |p, i, x| table[shape.at(p, i, x)])
}

/// Draws an index in proportion to the shares.
fn pick(rng: &mut impl Rng, shares: &[f64]) -> usize {
    let mut left = unit(rng);
    let mut below = |w: &f64| {
        left -= w;
        left < 0.0
    };
    shares.iter().position(&mut below).unwrap_or(shares.len() - 1)
}

fn simulate(a: &Answers, b: &Answers, weights: &Weights, shared: bool) -> (f64, f64) {
    let mut rng = stream(11, "simulation");
    let (n, shares) = (a.shape.instances(), weights.shares());
    let mentions = |p: usize, i: usize| weights.mentions(p, a.shape.mentions(i));
    let (mut sum, mut squares, draws) = (0.0, 0.0, 60_000);
    for _ in 0..draws {
        let p = pick(&mut rng, &shares);
        let q = if shared { p } else { pick(&mut rng, &shares) };
        let mut gap = 0.0;
        for _ in 0..n {
            let i = below(&mut rng, n as u32) as usize;
            let x = pick(&mut rng, &mentions(p, i));
            let y = if shared { x } else { pick(&mut rng, &mentions(q, i)) };
            gap += f64::from(u8::from(a.is_right(p, i, x))) - f64::from(u8::from(b.is_right(q, i, y)));
        }
        sum += gap / n as f64;
        squares += (gap / n as f64).powi(2);
    }
    let mean = sum / f64::from(draws);
    (mean, squares / f64::from(draws) - mean * mean)
}

#[test]
fn parts_match_simulated_variance() {
    let mut rng = stream(1, "answers");
    let mentions = [1, 2, 3, 2, 1, 4, 2, 3];
    let a = random(&mut rng, (4, &mentions), |p, i, x| 0.2 + 0.15 * p as f64 + 0.04 * i as f64 - 0.05 * x as f64);
    let b = random(&mut rng, (4, &mentions), |p, i, _| 0.6 - 0.1 * p as f64 + 0.02 * i as f64);
    let of_prompts = [0.1, 0.2, 0.3, 0.4];
    // The usual name has the largest weight.
    let joint = Weights::of(&of_prompts.map(|w| [0.6, 0.2, 0.1, 0.1].map(|x| w * x).to_vec())).unwrap();
    for (weights, shared) in [(Weights::of_prompts(&of_prompts).unwrap(), true), (joint.clone(), true), (joint, false)]
    {
        let found = parts(&a, &b, &weights, shared).unwrap();
        let (mean, variance) = simulate(&a, &b, &weights, shared);
        assert!((found.model_itself - mean).abs() < 0.005, "{shared}: {found:?} {mean}");
        assert!((found.total() / variance - 1.0).abs() < 0.03, "{shared}: {} {variance}", found.total());
        assert!([found.prompt, found.mention, found.sample, found.residual].iter().all(|v| *v >= 0.0));
        let gap = |m: &Answers| adjusted(m, &weights).unwrap().value();
        assert!((found.model_itself - (gap(&a) - gap(&b))).abs() < 1e-8, "the mean is the adjusted gap");
    }
}

/// The ledger over relations with the same chance of being right.
fn over(chance: impl Fn(usize, usize, usize) -> f64) -> Ledger {
    let mut rng = stream(2, "planted");
    let mentions = [2; 40];
    let mut list = Vec::new();
    for _ in 0..24 {
        let a = random(&mut rng, (5, &mentions), &chance);
        let b = random(&mut rng, (5, &mentions), |_, _, _| 0.3);
        list.extend(parts(&a, &b, &Weights::uniform(5), true));
    }
    ledger(&list, 0.95).unwrap()
}

#[test]
fn only_planted_prompt_effects_are_found() {
    // P@1 of 0.1 to 0.9 over five prompts: variance 0.08 per relation, 0.08 / 24 over all.
    let planted = over(|p, _, _| 0.1 + 0.2 * p as f64);
    let want = 0.08 / 24.0;
    assert!((planted.prompt_unbiased.mean / want - 1.0).abs() < 0.15, "{planted:?}");
    assert!(planted.prompt_unbiased_share.unwrap().mean > 0.75, "{planted:?}");
    let none = over(|_, _, _| 0.5);
    assert!(none.prompt_unbiased_share.unwrap().mean < 0.12, "{none:?}");
    // The plain decomposition includes the contribution of chance, but the unbiased one does not.
    assert!(none.prompt.mean > 0.0 && none.prompt_unbiased.lo < 0.1 * none.total.mean, "{none:?}");
    assert!((none.model_itself.mean - 0.2).abs() < 0.05 && none.model_itself.lo > 0.0);
}

/// Independently computed contributions to each part: of the planted effect, and of chance in single answers. Within a cell, the difference
/// between the hits of a and b has variance p (1 - p) + .21. There are 40 instances and 24 relations.
#[test]
fn planted_mention_and_instance_effects_are_found() {
    let (cells, within) = (40.0 * 24.0, 0.0475 + 0.21);
    let near = |found: f64, want: f64| assert!((found * cells / want - 1.0).abs() < 0.08, "{} {want}", found * cells);
    // Half the squared difference between two names: E (d0 - d1)^2 / 4.
    near(over(|_, _, x| if x == 0 { 0.95 } else { 0.05 }).mention.mean, (2.0 * within + 0.81) / 4.0);
    // The variance over instances, after averaging over five prompts and two names.
    near(over(|_, i, _| if i % 2 == 0 { 0.95 } else { 0.05 }).sample.mean, 0.2025 + within / 10.0 * 39.0 / 40.0);
    // An interaction: three of the five prompts work for one half of the instances, and two for the other half.
    let both = over(|p, i, _| if (p + i) % 2 == 0 { 0.95 } else { 0.05 });
    let rows = 0.2025 + within / 2.0 * 39.0 / 40.0;
    near(both.residual.mean, rows - (0.0081 + within / 10.0 * 39.0 / 40.0));
    assert!(both.residual.mean > 5.0 * both.sample.mean, "{both:?}");
    let mention = over(|_, _, x| if x == 0 { 0.95 } else { 0.05 });
    let sample = over(|_, i, _| if i % 2 == 0 { 0.95 } else { 0.05 });
    assert!(mention.mention.mean > mention.sample.mean && mention.mention.mean > mention.prompt.mean, "{mention:?}");
    assert!(sample.sample.mean > 1.2 * sample.mention.mean && sample.sample.mean > sample.prompt.mean, "{sample:?}");
}

#[test]
fn equal_models_have_no_gap() {
    let one = answers(3, &[2, 2, 1], |p, i, x| (p + i + x) % 2 == 0);
    let even = Weights::uniform(3);
    let same = parts(&one, &one, &even, true).unwrap();
    assert_eq!((same.model_itself, same.total()), (0.0, 0.0));
    let ledger = ledger(&[same], 0.95).unwrap();
    assert_eq!((ledger.prompt_share, ledger.prompt_unbiased_share), (None, None));
    assert!(ledger.sentence("a", "b").contains("the gap is the same"));
    assert!(parts(&one, &one, &even, false).unwrap().total() > 0.0, "separate draws make a difference");
}

proptest! {
    #[test]
    fn parts_add_up_and_intervals_contain_them(seed: u64, prompts in 1usize..5, mentions in prop::collection::vec(1usize..4, 1..9)) {
        let mut rng = stream(seed, "answers");
        let mut draw = || random(&mut rng, (prompts, &mentions), |_, _, _| 0.5);
        let (a, b) = (draw(), draw());
        let weights = Weights::uniform(prompts);
        for shared in [true, false] {
            let p = parts(&a, &b, &weights, shared).unwrap();
            let back = parts(&b, &a, &weights, shared).unwrap();
            prop_assert!((p.model_itself + back.model_itself).abs() < 1e-12);
            prop_assert!((p.total() - back.total()).abs() < 1e-12);
            prop_assert!(prompts > 1 || p.prompt < 1e-12);
            let l = ledger(&[p, back], 0.9).unwrap();
            let sum = l.prompt.mean + l.mention.mean + l.sample.mean + l.residual.mean;
            prop_assert!((sum - l.total.mean).abs() < 1e-12);
        }
    }
}
