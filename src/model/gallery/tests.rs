//! Tests of the gallery from words to a finished folder, with a model that trains in seconds.

use std::collections::HashSet;

use super::recipe::{BATCH, Objective};
use super::score::Sizes;
use super::text::{Text, words};
use super::*;
use crate::corpus::micro::lexicon;
use crate::model::tokenizer::{Extras, Tokenizer};
use crate::model::{Device, Model, ModelSource};
use crate::stats::Cancelled;

fn build(objective: Objective, seed: u64) -> Tokenizer {
    let words = words(objective, seed);
    let file = match objective {
        Objective::Masked => tokenizer::wordpiece(&words).unwrap(),
        Objective::Causal => tokenizer::byte_level(&words).unwrap(),
    };
    println!("{objective:?}: {} words", words.len());
    Tokenizer::from_json("test", file.as_bytes(), Extras::default()).unwrap()
}

#[test]
fn every_word_of_the_grammar_is_one_token() {
    for objective in [Objective::Masked, Objective::Causal] {
        let t = build(objective, 0);
        println!("{} entries", t.len());
        assert!(t.len() < 4_000);
        let ids: HashSet<u32> = lexicon::words().iter().map(|w| t.word_id(w).expect(w)).collect();
        assert_eq!(ids.len(), lexicon::words().len());
        assert_eq!(build(objective, 0).digest(), t.digest());
    }
}

#[test]
fn masked_batches_mask_what_they_ask_for() {
    let t = build(Objective::Masked, 0);
    let mask = t.special().mask.unwrap();
    let verbs: HashSet<u32> =
        lexicon::VERBS.iter().flat_map(|v| v.forms).map(|f| t.word_id(f).unwrap()).collect();
    let mut text = Text::new(&t, Objective::Masked, 3, 40);
    let (mut sentences, mut verbs_masked, mut others) = (0.0, 0.0, 0.0);
    while let Some(step) = text.step().unwrap() {
        assert_eq!(step.batch.rows(), BATCH);
        let at = |row: usize, position: usize| step.batch.ids()[row * step.batch.len() + position];
        for target in &step.targets {
            assert_eq!(at(target.row, target.position), mask);
            assert!(target.position > 0 && target.position + 1 < step.batch.lengths()[target.row]);
            if verbs.contains(&target.token) {
                verbs_masked += 1.0;
            } else {
                others += 1.0;
            }
        }
        let masks = step.batch.ids().iter().filter(|&&id| id == mask).count();
        assert_eq!(masks, step.targets.len());
        sentences += BATCH as f64;
    }
    // .60 + .40 * .12 of the verbs; of the nine or so other words .60 * .05 + .40 * .12.
    let (verbs, others) = (verbs_masked / sentences, others / sentences);
    println!("masked in a sentence: {verbs:.3} verbs, {others:.2} other words");
    assert!((verbs - 0.648).abs() < 0.05 && (0.4..1.2).contains(&others));
}

#[test]
fn causal_batches_ask_for_the_next_token() {
    let t = build(Objective::Causal, 0);
    let mut text = Text::new(&t, Objective::Causal, 3, 1);
    let step = text.step().unwrap().unwrap();
    let width = step.batch.len();
    let mut expected = 0;
    for (row, &length) in step.batch.lengths().iter().enumerate() {
        let ids = &step.batch.ids()[row * width..row * width + length];
        let targets: Vec<u32> = step.targets.iter().filter(|x| x.row == row).map(|x| x.token).collect();
        assert_eq!(targets[..length - 1], ids[1..]);
        assert_eq!(targets.last(), t.special().eos.as_ref());
        expected += length;
    }
    assert_eq!(step.targets.len(), expected);
    assert!(step.targets.iter().all(|x| x.position < step.batch.lengths()[x.row]));
}

#[test]
fn text_follows_from_the_seed() {
    let t = build(Objective::Masked, 0);
    let run = |seed: u64| {
        let mut text = Text::new(&t, Objective::Masked, seed, 40);
        let steps: Vec<_> = std::iter::from_fn(|| text.step().unwrap()).collect();
        assert_eq!((steps.len(), text.written), (40, 40 * BATCH));
        (steps, text.hash())
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1).1, run(2).1);
}

const TINY: Recipe = Recipe {
    name: "tiny",
    objective: Objective::Masked,
    layers: 1,
    hidden: 32,
    heads: 2,
    max_positions: 64,
    steps: 100,
    rate: 5e-3,
};

fn options(out: &Path, steps: usize) -> Options {
    let sizes = Sizes { agreement: 200, learn: 400, judge: 200 };
    Options { seed: 1, steps: Some(steps), out: out.to_owned(), sizes, device: Device::Cpu }
}

/// A whole run in small: the loss falls, the folder loads, the card tells what was done.
#[test]
fn a_tiny_model_learns() {
    let home = tempfile::tempdir().unwrap();
    for objective in [Objective::Masked, Objective::Causal] {
        let out = home.path().join(format!("{objective:?}"));
        let recipe = Recipe { objective, ..TINY };
        let card = train(&recipe, &options(&out, 100), &mut |_| Ok(())).unwrap();
        let loss: Vec<f64> = card.training.loss.iter().map(|p| p.1).collect();
        let (first, last) = (loss[0], loss[loss.len() - 5..].iter().sum::<f64>() / 5.0);
        println!("{objective:?}: loss {first:.2} to {last:.2} in {} s", card.training.seconds);
        println!("{card}");
        // The start is the uniform guess, ln(entries), to within the initial noise.
        assert!((first - (card.tokenizer.entries as f64).ln()).abs() < 0.5, "{first}");
        assert!(last < 5.4, "{last}");
        assert_eq!(card.training.loss.last().unwrap().0, 100);
        let model = Model::load(&ModelSource::Dir(out.clone()), Device::Cpu).unwrap();
        assert!(model.has_head() && model.tokenizer().unwrap().len() == model.arch().vocab);
        // As text: reading a number from JSON may differ from the one written in the last bit.
        assert_eq!(super::card(&out.display().to_string()).unwrap().to_string(), card.to_string());
        assert!(card.scores.iter().all(|s| s.share.lo <= s.share.mean && s.share.mean <= s.share.hi));
        assert_eq!(card.scores.len(), 5);
    }
    let names: Vec<_> = std::fs::read_dir(home.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
}

#[test]
fn same_seed_same_weights() {
    let home = tempfile::tempdir().unwrap();
    let make = |name: &str, seed: u64| {
        let out = home.path().join(name);
        train(&TINY, &Options { seed, ..options(&out, 6) }, &mut |_| Ok(())).unwrap();
        ["model.safetensors", "tokenizer.json"].map(|f| std::fs::read(out.join(f)).unwrap())
    };
    let first = make("a", 1);
    assert_eq!(make("b", 1), first);
    assert_ne!(make("c", 2)[0], first[0]);
}

#[test]
fn a_cancelled_run_leaves_nothing() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("deep/model");
    for stage in [Stage::Train, Stage::Score] {
        let mut watch = |p: Progress| if p.stage == stage { Err(Cancelled) } else { Ok(()) };
        let error = train(&TINY, &options(&out, 2), &mut watch).unwrap_err();
        assert!(matches!(error, GalleryError::Cancelled(_)), "{error}");
        assert_eq!(std::fs::read_dir(out.parent().unwrap()).unwrap().count(), 0);
    }
}

#[test]
fn shipped_cards_belong_to_recipes() {
    for card in cards().unwrap() {
        let recipe = Recipe::named(&card.name).expect("a recipe for every model that ships");
        assert_eq!(
            (card.shape.layers, card.shape.hidden, card.objective),
            (recipe.layers, recipe.hidden, recipe.objective)
        );
        assert_eq!((card.training.steps, card.training.rate), (recipe.steps, recipe.rate));
    }
}
