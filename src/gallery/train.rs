//! Makes a built-in model: text, tokenizer, training, scores, card. Writes either a complete folder or nothing.

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::json;

use super::benchmark;
use super::card::{Card, CorpusCard, Shape, TokenizerCard, TrainingCard};
use super::score::{self, Sizes};
use super::work::Work;
use model::device::Device;
use model::exec::train::{AdamW, Trainer};
use model::source::ModelSource;
use model::tokenizer::Extras;
use model::{Arch, Model, Tokenizer, weights};
use pretraining::ask::Asked;
use pretraining::denoising::{DECODER_MASKED, DECODER_SWAPPED, INFILLED, Noise};
use pretraining::mixture::{ATTRACTION, Corpus, Mixture};
use pretraining::progress::{Progress, Stage, Watch};
use pretraining::recipe::{BATCH, Base, Objective, Recipe, WARM_UP, training_frequencies};
use pretraining::splits::Judgement;
use pretraining::text::{self, Encoder, Masking, Text};
use pretraining::tokenizer;
use pretraining::{GalleryError, Result};

/// Maximum number of steps.
const MAX_STEPS: usize = 1_000_000;
/// Number of points in the card's loss curve.
const POINTS: usize = 30;

#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    pub seed: u64,
    /// Number of optimiser steps; `None` for the model's default.
    pub steps: Option<usize>,
    /// Output folder, which must not exist.
    pub out: PathBuf,
    pub sizes: Sizes,
    /// The half of the test material to score.
    pub judgement: Judgement,
    pub device: Device,
}

/// The number of training steps: the given number, otherwise the model's default.
pub fn steps_of(recipe: &Recipe, wanted: Option<usize>) -> Result<usize> {
    let steps = wanted.unwrap_or(recipe.steps);
    if (1..=MAX_STEPS).contains(&steps) { Ok(steps) } else { Err(GalleryError::Steps(steps)) }
}

/// Makes a model. The folder is renamed to its final name only when it is complete.
pub fn train(recipe: &Recipe, options: &Options, watch: Watch<'_>) -> Result<Card> {
    let steps = steps_of(recipe, options.steps)?;
    let out = &options.out;
    if out.symlink_metadata().is_ok() {
        return Err(GalleryError::Exists(out.clone()));
    }
    let work = Work::beside(out)?;
    let card = make(recipe, options, steps, work.model(), watch)?;
    super::write(&work.model().join("card.json"), &card)?;
    work.place(out)?;
    Ok(card)
}

/// Measures a finished model again on one half of the test material, and rewrites its card. The weights are kept. Scores of the other half
/// and of other seeds are removed.
pub fn rescore(dir: &Path, judgement: Judgement, sizes: Sizes, device: Device, watch: Watch<'_>) -> Result<Card> {
    let mut card = super::card(&dir.display().to_string())?;
    let mixture = &card.corpus.mixture;
    let model = Model::load(&ModelSource::Dir(dir.to_owned()), device)?;
    let mut beat = |done, total| watch(Progress { stage: Stage::Score, done, total, loss: f32::NAN });
    let measured = score::scores(&Asked::loaded(&model)?, card.seed, sizes, mixture, judgement, &mut beat)?;
    card.judgement = judgement;
    card.scores = measured.scores;
    card.facts = measured.facts;
    card.notes = notes(card.objective, judgement);
    card.seeds.clear();
    super::write(&dir.join("card.json"), &card)?;
    Ok(card)
}

/// Measures a finished model again on the rationale benchmark after the benchmark's sentences have changed, on the half used for the
/// model's card. Other scores are kept, because their material is unchanged. Scores of other seeds are removed, because they were measured
/// on the old sentences.
pub fn ask_benchmark_again(dir: &Path, device: Device) -> Result<Card> {
    let mut card = super::card(&dir.display().to_string())?;
    let model = Model::load(&ModelSource::Dir(dir.to_owned()), device)?;
    let asked = benchmark::scores(&Asked::loaded(&model)?, card.judgement)?;
    let place = card.scores.iter().position(benchmark::is_of_it).unwrap_or(card.scores.len());
    card.scores.retain(|s| !benchmark::is_of_it(s));
    card.scores.splice(place..place, asked);
    card.seeds.clear();
    super::write(&dir.join("card.json"), &card)?;
    Ok(card)
}

/// Does everything except the final renaming.
fn make(recipe: &Recipe, options: &Options, steps: usize, dir: &Path, watch: Watch<'_>) -> Result<Card> {
    let started = Instant::now();
    let corpus = Corpus::new(Mixture::of(recipe))?;
    let tokenizer = make_tokenizer(recipe.base, &corpus, options.seed, dir)?;
    let arch = recipe.arch(tokenizer.len());
    let mut trainer = Trainer::new(&arch, options.seed, AdamW::default(), options.device)?;
    let encoder = Encoder::new(&tokenizer, recipe.objective(), Masking::default()).with_noise(Noise::default());
    let mut text = Text::new(&corpus, encoder, options.seed, steps);
    let every = steps.div_ceil(POINTS);
    let mut curve = Vec::new();
    let mut recent: Vec<f64> = Vec::new();
    let mut step = 0;
    while let Some(next) = text.step()? {
        let loss = trainer.step(&next.batch, &next.targets, recipe.rate_at(step, steps))?;
        recent.push(f64::from(loss));
        step += 1;
        if recent.len() == every || step == steps {
            let mean = recent.iter().sum::<f64>() / recent.len() as f64;
            curve.push((step, (mean * 1e4).round() / 1e4));
            recent.clear();
        }
        watch(Progress { stage: Stage::Train, done: step, total: steps, loss })?;
    }
    trainer.export(dir)?;
    let seconds = started.elapsed().as_secs_f64();
    let model = Model::load(&ModelSource::Dir(dir.to_owned()), options.device)?;
    let mut beat = |done, total| watch(Progress { stage: Stage::Score, done, total, loss: f32::NAN });
    let asked = Asked::loaded(&model)?;
    let measured = score::scores(&asked, options.seed, options.sizes, corpus.mixture(), options.judgement, &mut beat)?;
    let file = dir.join("model.safetensors");
    let bytes = std::fs::metadata(&file).map_err(|source| GalleryError::Io { path: file, source })?.len();
    Ok(Card {
        name: recipe.name.to_owned(),
        family: arch.family.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        seed: options.seed,
        objective: recipe.objective(),
        shape: shape(&arch, bytes),
        tokenizer: TokenizerCard { kind: kind(recipe.base).to_owned(), entries: tokenizer.len() },
        corpus: CorpusCard {
            constructions: corpus.mixture().constructions.iter().map(|c| c.0.title().to_owned()).collect(),
            sentences: text.written,
            tokens: text.tokens,
            hash: text.hash(),
            frequencies: training_frequencies(),
            mixture: corpus.mixture().clone(),
        },
        training: TrainingCard {
            steps,
            batch: BATCH,
            rate: recipe.rate,
            warm_up: WARM_UP,
            seconds: (seconds * 10.0).round() / 10.0,
            threads: rayon::current_num_threads(),
            loss: curve,
        },
        judgement: options.judgement,
        scores: measured.scores,
        facts: measured.facts,
        level: pretraining::score::LEVEL,
        notes: notes(recipe.objective(), options.judgement),
        seeds: Vec::new(),
    })
}

fn shape(arch: &Arch, bytes: u64) -> Shape {
    let parameters = arch.parameter_count();
    Shape { layers: arch.layers, hidden: arch.hidden, heads: arch.heads, parameters, bytes }
}

fn kind(base: Base) -> &'static str {
    match base {
        Base::Bert => "WordPiece",
        Base::Roberta | Base::Gpt2 | Base::Bart => "byte-level BPE",
    }
}

/// Caveats for readers of the card.
fn notes(objective: Objective, judgement: Judgement) -> Vec<String> {
    let mut notes = vec![
        match judgement {
            Judgement::Development => {
                "Facts, held-out pairs and sentences are from the development half, which is used to select training \
                 settings. Expect lower scores on the final half."
            }
            Judgement::Final => {
                "Facts, held-out pairs and sentences are from the final half. Training settings were selected on the \
                 other half only; held-out prompts are tested only on this half."
            }
        }
        .to_owned(),
        "Agreement, tense, coordination and lengths are tested on subject-verb pairs that are not in the training \
         text, clause order on untrained combinations of actor and events, and cause and effect and arithmetic on \
         untrained pairs. All of them use words of the training text."
            .to_owned(),
        "P@1: the most probable of all tokens must be the object. Facts are from the training text unless a line \
         says otherwise. Best and worst prompts are selected on one half of a relation's facts and evaluated on the \
         other, and vice versa. Scores over relations pool the questions, which the intervals treat as independent."
            .to_owned(),
        "The scores are evidence that the training frequency of prompts and names affects P@1, because these \
         frequencies are known and differ by design. They also show what this model recalls in trained and untrained \
         phrasings and names, and how well its grammar extends to new pairs of known words."
            .to_owned(),
        "The scores do not show how large such effects are in models trained on natural text or from a different seed, \
         what the model knows beyond the listed relations, or whether it understands words outside the training text."
            .to_owned(),
        format!(
            "In {:.0} % of the training sentences whose attractor differs in number from the subject, the verb agrees \
             with the attractor, as sometimes happens in speech. By design, predictions therefore also depend on the \
             attractor's number.",
            100.0 * ATTRACTION
        ),
        "The linear rule is Fisher's discriminant on the output of the last block at the position where the verb is \
         predicted."
            .to_owned(),
        "The same seed gives the same weights, except for rounding differences that depend on the order of \
         additions."
            .to_owned(),
    ];
    let masked = "In training, the verb, the object or the result was masked in 60 % of the sentences, with 5 % of \
        their other words; in the remaining sentences, 12 % of the words were masked";
    notes.push(match objective {
        Objective::Masked => format!("{masked}. The model is tested at the mask and reads the whole sentence."),
        Objective::Denoising => format!(
            "{masked}. In {:.0} % of the sentences, one mask replaced a span of words instead. The decoder predicts \
             the whole sentence; in {:.0} % of the sentences its input was masked, and in {:.0} % it was another \
             sentence, so that it has to use the encoder. The model is tested at the mask, where the decoder has \
             read the preceding words. The linear rules read the decoder there, unless they name the encoder.",
            100.0 * INFILLED,
            100.0 * DECODER_MASKED,
            100.0 * DECODER_SWAPPED
        ),
        Objective::Causal => {
            "The model is tested at the last word before the gap and sees only the text up to there. Beginnings of \
             test sentences can occur in the training text with other verbs. Sentences are left out if the answer \
             does not follow from the preceding words (clause order, some tenses and causes)."
                .to_owned()
        }
    });
    notes
}

/// Learns the tokenizer and writes its files.
fn make_tokenizer(base: Base, corpus: &Corpus, seed: u64, dir: &Path) -> Result<Tokenizer> {
    let file = text::tokenizer(base, corpus, seed)?;
    let (special, class) = match base {
        Base::Bert => (
            json!({"unk_token": "[UNK]", "sep_token": "[SEP]", "pad_token": "[PAD]", "cls_token": "[CLS]",
                "mask_token": "[MASK]"}),
            json!({"tokenizer_class": "BertTokenizer", "do_lower_case": true, "model_max_length": null}),
        ),
        Base::Gpt2 => {
            let end = tokenizer::GPT2_SPECIAL;
            (
                json!({"bos_token": end, "eos_token": end, "unk_token": end}),
                json!({"tokenizer_class": "GPT2Tokenizer", "add_prefix_space": false, "model_max_length": null}),
            )
        }
        Base::Roberta | Base::Bart => (
            json!({"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "sep_token": "</s>",
                "pad_token": "<pad>", "cls_token": "<s>", "mask_token": {"content": "<mask>", "lstrip": true,
                "normalized": false, "rstrip": false, "single_word": false}}),
            json!({"tokenizer_class": if base == Base::Bart { "BartTokenizer" } else { "RobertaTokenizer" },
                "add_prefix_space": false, "model_max_length": null}),
        ),
    };
    weights::write_whole(&dir.join("tokenizer.json"), file.as_bytes())?;
    for (name, value) in [("special_tokens_map.json", &special), ("tokenizer_config.json", &class)] {
        weights::write_whole(&dir.join(name), format!("{value:#}\n").as_bytes())?;
    }
    let (special, class) = (special.to_string(), class.to_string());
    let extras = Extras { special_tokens_map: Some(&special), tokenizer_config: Some(&class), ..Extras::default() };
    Ok(Tokenizer::from_json("tokenizer.json", file.as_bytes(), extras)?)
}
