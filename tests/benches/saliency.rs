//! Speed of the saliency lab's explanations compared with captum and transformers, in alternating runs on the same machine.
//!
//! Run `cargo bench --bench saliency [-- --only ig,att --quick --runs N --mkl-avx512]`; the table is as in the bench `models`. Both sides
//! get the same sentences, models and two threads, and gradients in batches with the same number of tokens. The other side is
//! `torch_saliency.py`, which needs captum in addition to the packages of `torch_models.py`.

#[path = "models/inputs.rs"]
#[expect(dead_code, reason = "only the other bench uses all inputs")]
mod inputs;
#[path = "models/pairs.rs"]
mod pairs;
#[path = "models/torch.rs"]
mod torch;

use std::path::{Path, PathBuf};

use probity::base::pulse::NoPulse;
use probity::corpus::rationales::{Language, benchmark};
use probity::lab::saliency::Spec;
use probity::lab::saliency::finding::SentenceFinding;
use probity::lab::saliency::input::{Input, Reader};
use probity::lab::saliency::methods::{Case, named};
use probity::lab::saliency::predict::predict;
use probity::lab::saliency::sentence::own;
use probity::lab::saliency::words::to_words;
use probity::model::chunk::TOKENS_PER_BATCH;
use probity::model::{Device, Dtype, Model, ModelSource};
use serde_json::{Value, json};

use self::inputs::BASE;
use self::pairs::{Job, Ours, Outcome};

const JOBS: &[Job] = &[
    Job {
        id: "ig",
        what: "integrated gradients, 100 steps, 200 sentences, bert-mini, captum as documented",
        goal: Some(0.4),
        runs: 5,
        trains: false,
        prepare: |_, s| small(if s.quick { 40 } else { 200 }, false),
    },
    Job {
        id: "igt",
        what: "the same against captum tuned: sorted by length, head at the masks",
        goal: None,
        runs: 5,
        trains: false,
        prepare: |_, s| small(if s.quick { 40 } else { 200 }, true),
    },
    Job {
        id: "igb",
        what: "integrated gradients, 100 steps, 20 sentences, BERT-base shape, captum as documented",
        goal: Some(0.9),
        runs: 3,
        trains: false,
        prepare: |dir, s| base(dir, if s.quick { 1 } else { 20 }, false),
    },
    Job {
        id: "igbt",
        what: "the same against captum tuned",
        goal: None,
        runs: 3,
        trains: false,
        prepare: |dir, s| base(dir, if s.quick { 1 } else { 20 }, true),
    },
    Job {
        id: "att",
        what: "attention saliency of words, 1,000 sentences from text, bert-mini",
        goal: Some(0.5),
        runs: 15,
        trains: false,
        prepare: |_, s| attention(if s.quick { 200 } else { 1_000 }, false),
    },
    Job {
        id: "attt",
        what: "the same against a tuned script: sorted by length",
        goal: None,
        runs: 15,
        trains: false,
        prepare: |_, s| attention(if s.quick { 200 } else { 1_000 }, true),
    },
];

fn main() -> Outcome<()> {
    let folder = tempfile::tempdir()?;
    BASE.write(&folder.path().join(BASE.name))?;
    let packages = ["numpy", "torch", "transformers", "safetensors", "captum"];
    pairs::run(JOBS, folder.path(), "torch_saliency.py", &packages)
}

/// A built-in model, in a folder that the other side reads too.
fn gallery() -> Outcome<(Model, PathBuf)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/models/bert-mini");
    Ok((load(&dir)?, dir))
}

fn load(dir: &Path) -> Outcome<Model> {
    Ok(Model::load_with(&ModelSource::Dir(dir.to_owned()), (Device::Cpu, Dtype::F32), &mut |_| Ok(()))?)
}

/// Sentences of the rationale set, evenly spaced.
fn sentences(count: usize) -> Outcome<Vec<SentenceFinding>> {
    let all = benchmark(Language::English, 0)?;
    let every = (all.len() / count).max(1);
    let some = all.iter().step_by(every).take(count);
    Ok(some.map(|i| own(&i.sent_text, None)).collect::<Result<_, _>>()?)
}

fn read(model: &Model, sentences: &[SentenceFinding]) -> Outcome<Vec<Input>> {
    let reader = Reader::new(model)?;
    sentences.iter().map(|s| Ok(reader.read(s)??)).collect()
}

fn small(count: usize, tuned: bool) -> Outcome<(Ours, Value)> {
    let (model, dir) = gallery()?;
    let inputs = read(&model, &sentences(count)?)?;
    gradients(model, &dir, inputs, tuned)
}

/// Gradients on sentences as long as in the rationale set, with tokens of a different vocabulary.
fn base(folder: &Path, count: usize, tuned: bool) -> Outcome<(Ours, Value)> {
    let dir = folder.join(BASE.name);
    let model = load(&dir)?;
    let mask = model.tokenizer()?.special().mask.ok_or("no mask token")?;
    let mut inputs = read(&gallery()?.0, &sentences(count)?)?;
    let longest = inputs.iter().map(|i| i.ids.len()).max().unwrap_or(0);
    for (input, drawn) in inputs.iter_mut().zip(BASE.ids(count, longest)) {
        let inner = |t: usize| !input.frame[t] && !input.slots.contains(&t);
        let ids = drawn.iter().enumerate().take(input.ids.len());
        input.ids = ids
            .map(|(t, id)| match () {
                () if inner(t) => *id,
                () if input.slots.contains(&t) => mask,
                () if t == 0 => 2,
                () => 3,
            })
            .collect();
    }
    gradients(model, &dir, inputs, tuned)
}

/// Token scores, input by input.
fn gradients(model: Model, dir: &Path, inputs: Vec<Input>, tuned: bool) -> Outcome<(Ours, Value)> {
    let all: Vec<&Input> = inputs.iter().collect();
    let predicted: Vec<Vec<u32>> =
        predict(&model, &all, TOKENS_PER_BATCH, &mut NoPulse)?.into_iter().map(|p| p.ids).collect();
    let mut spec = Spec::shipped();
    let path = &mut spec.integrated_gradients;
    // The other side always runs 100 steps and never doubles them.
    (path.steps, path.most_steps) = (100, 100);
    let request = json!({"kind": "integrated_gradients", "dir": dir, "steps": path.steps, "tuned": tuned,
        "ids": inputs.iter().map(|i| &i.ids).collect::<Vec<_>>(),
        "positions": inputs.iter().map(|i| i.slots[0]).collect::<Vec<_>>(),
        "targets": predicted.iter().map(|p| p[0]).collect::<Vec<_>>(),
        "frame": inputs.iter().map(|i| &i.frame).collect::<Vec<_>>(),
        "pad": model.tokenizer()?.pad_id(), "tokens": TOKENS_PER_BATCH});
    let method = named("integrated_gradients").ok_or("no such method")?;
    let ours = move || {
        let cases: Vec<Case<'_>> =
            inputs.iter().zip(&predicted).map(|(input, predicted)| Case { input, predicted, name: "" }).collect();
        let scores = method.explain(&model, &cases, &spec, &mut NoPulse)?;
        Ok(scores.into_iter().flat_map(|s| s.tokens).map(|s| s as f32).collect())
    };
    Ok((Box::new(ours), request))
}

/// Attention of the last layer from the mask to each word of every sentence.
fn attention(count: usize, tuned: bool) -> Outcome<(Ours, Value)> {
    let (model, dir) = gallery()?;
    let sentences = sentences(count)?;
    let spec = Spec::shipped();
    let words: Vec<&Vec<String>> = sentences.iter().map(|s| &s.words).collect();
    let request = json!({"kind": "attention", "dir": dir, "words": words, "tuned": tuned, "batch": 64});
    let method = named("attention").ok_or("no such method")?;
    let ours = move || {
        let inputs = read(&model, &sentences)?;
        let cases: Vec<Case<'_>> = inputs.iter().map(|input| Case { input, predicted: &[], name: "" }).collect();
        let scores = method.explain(&model, &cases, &spec, &mut NoPulse)?;
        let words = scores.iter().zip(&inputs).map(|(s, i)| to_words(&s.tokens, &i.words, i.count));
        Ok(words.flatten().map(|s| s as f32).collect())
    };
    Ok((Box::new(ours), request))
}
