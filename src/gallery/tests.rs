//! Tests of the gallery, from vocabulary to a finished folder, with a model that trains in seconds.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::OnceLock;

use super::score::Sizes;
use super::*;
use base::Cancelled;
use corpus::micro;
use corpus::rationales;
use corpus::task::MASK;
use model::tokenizer::{Extras, Tokenizer};
use model::{Device, Model, ModelSource};
use pretraining::ask::Asked;
use pretraining::mixture::Line;
use pretraining::recall::Asking;
use pretraining::recipe::{BATCH, Objective};
use pretraining::splits::FactUses;
use pretraining::text::{Encoder, Masking, Text};
use pretraining::*;
use pretraining::{recall, text};

fn corpus(base: Base) -> Corpus {
    Corpus::new(Mixture::of(RECIPES.iter().find(|r| r.base == base).unwrap())).unwrap()
}

/// A family's corpus and its tokenizer, built once for all tests because learning the tokenizer takes seconds.
fn build(base: Base) -> (Corpus, Tokenizer) {
    static FILES: [OnceLock<String>; Base::ALL.len()] = [const { OnceLock::new() }; Base::ALL.len()];
    let corpus = corpus(base);
    let which = Base::ALL.iter().position(|b| *b == base).unwrap();
    let file = FILES[which].get_or_init(|| text::tokenizer(base, &corpus, 0).unwrap());
    let tokenizer = Tokenizer::from_json("test", file.as_bytes(), Extras::default()).unwrap();
    (corpus, tokenizer)
}

/// Rewording the benchmark must not change the training text of the shipped models; such a change would show first in the vocabulary.
#[test]
fn shipped_vocabulary_matches_the_text() {
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/models/bert-mini/tokenizer.json");
    let made = text::tokenizer(Base::Bert, &corpus(Base::Bert), 1).unwrap();
    assert!(made == std::fs::read_to_string(shipped).unwrap(), "retrain the gallery, or do not change its text");
}

#[test]
fn every_answer_is_one_token_in_every_vocabulary() {
    for base in Base::ALL {
        let (corpus, t) = build(base);
        println!("{base:?}: {} entries", t.len());
        assert!(t.len() <= text::ENTRIES);
        let objects = corpus.relations().iter().flat_map(|r| r.facts.iter().map(|f| f.object.as_str()));
        let answers = rationales::one_token_answers().unwrap();
        let answers = answers.iter().map(String::as_str);
        let mut ids: HashMap<u32, &str> = HashMap::new();
        for word in micro::whole_words().into_iter().chain(objects).chain(answers) {
            let id = t.word_id(word).unwrap_or_else(|| panic!("{base:?}: '{word}' is split"));
            if let Some(other) = ids.insert(id, word) {
                // An uncased vocabulary cannot distinguish a name from a word with the same letters.
                assert!(other == word || (base == Base::Bert && other.eq_ignore_ascii_case(word)), "{other} {word}");
            }
        }
        let unknown = t.special().unk.filter(|_| base == Base::Bert);
        for relation in corpus.relations() {
            for name in relation.facts.iter().flat_map(|f| f.names()) {
                let ids = t.encode(name).unwrap().ids;
                assert!(!ids.iter().any(|i| Some(*i) == unknown), "{base:?}: {name} has unknown letters");
            }
        }
    }
}

/// No line in the text is a masked sentence from the rationale benchmark completed with a gold answer.
#[test]
fn training_lines_exclude_rationale_sentences() {
    let fold = |text: &str| text.to_lowercase().replace(" .", ".");
    let all = rationales::shipped().unwrap();
    let asked: HashSet<String> =
        all.iter().flat_map(|i| i.answers().map(|a| fold(&i.with(a).0)).collect::<Vec<_>>()).collect();
    let corpus = corpus(Base::Bart);
    let mut rng = stats::rng::stream(4, "rationales test");
    for _ in 0..20_000 {
        let line = corpus.line(&mut rng);
        assert!(!asked.contains(&fold(&line.text)), "{}", line.text);
    }
}

fn steps(base: Base, seed: u64, n: usize) -> (Vec<text::Step>, String, Tokenizer) {
    let (corpus, t) = build(base);
    let (steps, hash) = {
        let mut text = Text::new(&corpus, Encoder::new(&t, base.objective(), Masking::default()), seed, n);
        let steps: Vec<_> = std::iter::from_fn(|| text.step().unwrap()).collect();
        assert_eq!((steps.len(), text.written), (n, n * BATCH));
        (steps, text.hash())
    };
    (steps, hash, t)
}

#[test]
fn masked_batches_mask_their_targets() {
    let (steps, _, t) = steps(Base::Roberta, 3, 40);
    let mask = t.special().mask.unwrap();
    let (mut words, mut masked) = (0.0, 0.0);
    for step in steps {
        assert_eq!(step.batch.rows(), BATCH);
        let at = |row: usize, position: usize| step.batch.ids()[row * step.batch.len() + position];
        for target in &step.targets {
            assert_eq!(at(target.row, target.position), mask);
            assert!(target.position > 0 && target.position + 1 < step.batch.lengths()[target.row]);
        }
        assert_eq!(step.batch.ids().iter().filter(|&&id| id == mask).count(), step.targets.len());
        words += step.batch.lengths().iter().map(|n| *n as f64 - 2.0).sum::<f64>();
        masked += step.targets.len() as f64;
    }
    // The expected share: .60 of the foci, which are one in a dozen words, plus .60 * .05 + .40 * .12 of the rest.
    println!("{:.3} of the words masked", masked / words);
    assert!((0.10..0.18).contains(&(masked / words)));
}

#[test]
fn only_the_focus_of_a_line_is_masked() {
    for (base, line) in [
        (Base::Bert, "The capital of the French Republic is Paris ."),
        (Base::Roberta, "The capital of the French Republic is Paris."),
    ] {
        let (_, t) = build(base);
        let from = line.find("Paris").unwrap();
        let masking = Masking { focus: 1.0, beside: 0.0, random: 0.0 };
        let encoder = Encoder::new(&t, Objective::Masked, masking);
        let row = encoder.row(&Line { text: line.into(), focus: vec![(from, from + 5)] }).unwrap();
        let step = encoder.step(vec![row], &mut stats::rng::stream(0, "test")).unwrap();
        assert_eq!(step.targets.len(), 1);
        assert_eq!(Some(step.targets[0].token), t.word_id("Paris"));
    }
}

#[test]
fn causal_batches_target_the_next_token() {
    let (steps, _, t) = steps(Base::Gpt2, 3, 1);
    let step = &steps[0];
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

/// The decoder receives the whole line shifted right and must predict all of it; only the encoder's input has masks.
#[test]
fn denoising_batches_target_the_whole_line() {
    let (steps, _, t) = steps(Base::Bart, 3, 1);
    let step = &steps[0];
    let (mask, end) = (t.special().mask.unwrap(), t.special().eos.unwrap());
    let read = step.batch.output();
    assert!(step.batch.ids().contains(&mask) && !read.ids().contains(&mask));
    assert_eq!(read.lengths(), step.batch.lengths());
    for (row, &length) in read.lengths().iter().enumerate() {
        let ids = &read.ids()[row * read.len()..row * read.len() + length];
        let targets: Vec<u32> = step.targets.iter().filter(|x| x.row == row).map(|x| x.token).collect();
        assert_eq!((ids[0], &ids[1..]), (end, &targets[..length - 1]));
        assert_eq!((targets[0], targets[length - 1]), (t.special().bos.unwrap(), end));
    }
}

#[test]
fn text_is_determined_by_the_seed() {
    let run = |seed: u64| {
        let (steps, hash, _) = steps(Base::Bert, seed, 33);
        (steps, hash)
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1).1, run(2).1);
}

const TINY: Recipe = Recipe {
    name: "tiny",
    base: Base::Bert,
    layers: 1,
    hidden: 32,
    heads: 2,
    max_positions: 64,
    steps: 100,
    rate: 5e-3,
    facts: 0.3,
    rationales: 0.3,
};

fn options(out: &Path, steps: usize) -> Options {
    let sizes = Sizes { agreement: 100, learn: 400, judge: 200, other: 100, relations: 2 };
    let judgement = Judgement::Final;
    Options { seed: 1, steps: Some(steps), out: out.to_owned(), sizes, judgement, device: Device::Cpu }
}

/// In a small run for every family, the loss falls to a stated value, the folder loads, and the card records the training.
#[test]
fn tiny_model_learns() {
    let home = tempfile::tempdir().unwrap();
    for base in Base::ALL {
        let out = home.path().join(format!("{base:?}"));
        let recipe = Recipe { base, ..TINY };
        let card = train(&recipe, &options(&out, 40), &mut |_| Ok(())).unwrap();
        let loss: Vec<f64> = card.training.loss.iter().map(|p| p.1).collect();
        let (first, last) = (loss[0], loss[loss.len() - 5..].iter().sum::<f64>() / 5.0);
        println!("{base:?}: loss {first:.2} to {last:.2} in {} s", card.training.seconds);
        // The initial loss is near that of a uniform guess, ln(4400) = 8.4.
        assert!((7.0..8.8).contains(&first), "{first}");
        assert!(last < 7.5, "{base:?}: {last}");
        assert_eq!(card.training.loss.last().unwrap().0, 40);
        let model = Model::load(&ModelSource::Dir(out.clone()), Device::Cpu).unwrap();
        assert!(model.has_head() && model.tokenizer().unwrap().len() == model.arch().vocab);
        assert_eq!(model.arch(), &recipe.arch(model.arch().vocab), "the configuration says what was trained");
        // Cards are compared as text, because a number parsed from JSON may differ from the written one in its last bit.
        assert_eq!(super::card(&out.display().to_string()).unwrap().to_string(), card.to_string());
        assert!(card.scores.iter().all(|s| s.share.lo <= s.share.mean && s.share.mean <= s.share.hi));
        let ids: HashSet<&str> = card.scores.iter().map(|s| s.id.as_str()).collect();
        assert_eq!(ids.len(), card.scores.len());
        assert_eq!(
            ids.contains("order"),
            base != Base::Gpt2,
            "for GPT-2, the text before a connective does not determine it"
        );
        for id in ["encoder_own", "encoder_swapped", "encoder_followed", "encoder_drop", "encoder_subject_linear"] {
            assert_eq!(ids.contains(id), base == Base::Bart, "{id}: only measured for encoder-decoders");
        }
        assert!(bars::verdicts(&card).iter().all(|v| v.share.is_some()), "every target is measured: {ids:?}");
    }
    let names: Vec<_> = std::fs::read_dir(home.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names.len(), Base::ALL.len(), "{names:?}");
}

/// The first 40 steps of bert-tiny's training reduce the loss from ln(4400) = 8.39 to 6.87 nats over the last ten.
#[test]
fn bert_tiny_loss_falls_in_40_steps() {
    let home = tempfile::tempdir().unwrap();
    let recipe = Recipe::named("bert-tiny").unwrap();
    let out = home.path().join("tiny");
    let card = train(recipe, &options(&out, 40), &mut |_| Ok(())).unwrap();
    let loss = &card.training.loss;
    println!("loss {:?} to {:?} in {} s", loss.first(), loss.last(), card.training.seconds);
    assert!((8.0..8.8).contains(&loss[0].1), "{loss:?}");
    let last = loss[loss.len() - 5..].iter().map(|p| p.1).sum::<f64>() / 5.0;
    assert!(loss.last().unwrap().0 == 40 && last < 7.25, "{loss:?}");
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
fn shipped_cards_match_recipes_and_budget() {
    let mut bytes = 0;
    for card in cards().unwrap() {
        let recipe = Recipe::named(&card.name).expect("training settings for every shipped model");
        assert_eq!(
            (card.shape.layers, card.shape.hidden, card.objective),
            (recipe.layers, recipe.hidden, recipe.objective())
        );
        assert_eq!((card.training.steps, card.training.rate), (recipe.steps, recipe.rate));
        assert_eq!(card.corpus.mixture, Mixture::of(recipe), "{}", card.name);
        let b = model::builtin::find(&card.name).unwrap();
        bytes += b.weights.len() + b.config.len();
        bytes += b.tokenizer.bytes().unwrap().len() + b.card.bytes().unwrap().len();
    }
    println!("{:.1} MB", bytes as f64 / 1e6);
    assert!(bytes <= 24_000_000, "{bytes}");
}

/// Scores on a card can be reproduced from the shipped weights.
#[test]
fn shipped_scores_match_the_weights() {
    let uses = FactUses::new().unwrap();
    for card in cards().unwrap() {
        let model = Model::load(&ModelSource::Builtin(card.name.clone()), Device::Cpu).unwrap();
        let asked = Asked::loaded(&model).unwrap();
        let relation = &corpus::facts::relations().unwrap()[0];
        let (mixture, judgement) = (Some(&card.corpus.mixture), Some(card.judgement));
        let asking = Asking { uses: &uses, fact_use: FactUse::Trained, mixture, judgement };
        let found = recall::recall(&asked, relation, asking).unwrap().relation;
        let stated = card.facts.iter().find(|f| f.id == relation.id).expect("every relation on the card");
        for (a, b) in found.prompts.iter().zip(&stated.prompts) {
            // Another machine may add sums in a different order, which can change borderline answers.
            assert!(a.all().n == b.all().n && a.all().hits.abs_diff(b.all().hits) <= 1, "{}: {a:?} {b:?}", card.name);
        }
    }
}

/// Answers in the benchmark are single tokens, as saliency at one mask requires, unless their rows are marked.
#[test]
fn unmarked_rationale_answers_are_single_tokens() {
    let mut marked = 0;
    for base in Base::ALL {
        let name = RECIPES.iter().find(|r| r.base == base).unwrap().name;
        let model = Model::load(&ModelSource::Builtin(name.to_owned()), Device::Cpu).unwrap();
        let t = model.tokenizer().unwrap();
        for i in rationales::shipped().unwrap() {
            let split = t.word_id(&i.answer).is_none();
            assert!(i.several_tokens || !split, "{name}: '{}' of '{}'", i.answer, i.sent_text);
            marked += usize::from(i.several_tokens && split);
            let text: Vec<char> = i.sent_text.replace(MASK, &i.answer).chars().collect();
            let e = t.encode(&text.iter().collect::<String>()).unwrap();
            let blank = |o: &(usize, usize)| o.1 > o.0 && text[o.0..o.1].iter().all(|c| c.is_whitespace());
            let lone = e.offsets.iter().zip(&e.is_special).any(|(o, special)| !special && blank(o));
            assert!(!lone, "{name}: a space is a separate token in '{}'", i.sent_text);
        }
    }
    assert!(marked > 0, "no answer needs the mark");
}
