//! The comparisons: each with our side and the request to the other side.

use std::path::Path;

use probity::model::chunk::{TOKENS_PER_BATCH, chunks};
use probity::model::exec::train::{AdamW, Trainer, initial};
use probity::model::{
    Array, Batch, Device, Dtype, HookPoint, Model, ModelError, ModelSource, Plan, Scalar, Sites, Target,
};
use rayon::prelude::*;
use serde_json::{Value, json};

use crate::inputs::{BASE, SMALL, Shape};
use crate::pairs::{Job, Ours, Outcome, Setting};

pub(crate) const JOBS: &[Job] = &[
    Job {
        id: "a",
        what: "BERT-base shape, 32 x 64 tokens, forward",
        goal: Some(1.05),
        runs: 15,
        trains: false,
        prepare: |dir, s| forward(dir, s, BASE, 32, 64, Dtype::F32),
    },
    Job {
        id: "a16",
        what: "the same in bf16",
        goal: Some(1.2),
        runs: 15,
        trains: false,
        prepare: |dir, s| forward(dir, s, BASE, 32, 64, Dtype::Bf16),
    },
    Job {
        id: "b",
        what: "2 layers of 128, 256 x 24 tokens, forward",
        goal: Some(0.8),
        runs: 45,
        trains: false,
        prepare: |dir, s| forward(dir, s, SMALL, 256, 24, Dtype::F32),
    },
    Job {
        id: "b16",
        what: "the same in bf16",
        goal: None,
        runs: 45,
        trains: false,
        prepare: |dir, s| forward(dir, s, SMALL, 256, 24, Dtype::Bf16),
    },
    Job {
        id: "c",
        what: "BERT-base shape, integrated gradients, 100 steps x 24 tokens",
        goal: Some(1.1),
        runs: 9,
        trains: false,
        prepare: |dir, s| integrated_gradients(dir, s, BASE, 100, 24),
    },
    Job {
        id: "d",
        what: "2 layers of 128, masked-LM step, 96 x 24 tokens, as transformers documents it",
        goal: Some(0.9),
        runs: 45,
        trains: true,
        prepare: |_, s| train(s, SMALL, 96, 24, false),
    },
    Job {
        id: "dt",
        what: "the same against a tuned script: logits where labels are, fused AdamW",
        goal: Some(0.9),
        runs: 45,
        trains: true,
        prepare: |_, s| train(s, SMALL, 96, 24, true),
    },
    Job {
        id: "es",
        what: "2 layers of 128, masked prompts of 4 to 40 words, 40 answers, 10,000 prompts",
        goal: Some(0.3),
        runs: 7,
        trains: false,
        prepare: |dir, s| prompts(dir, s, SMALL, if s.quick { 5_000 } else { 10_000 }, false),
    },
    Job {
        id: "est",
        what: "the same against a tuned script: sorted by length, head at the masks",
        goal: Some(0.7),
        runs: 7,
        trains: false,
        prepare: |dir, s| prompts(dir, s, SMALL, if s.quick { 5_000 } else { 10_000 }, true),
    },
    Job {
        id: "eb",
        what: "BERT-base shape, the same, 10,000 prompts",
        goal: Some(0.3),
        runs: 3,
        trains: false,
        prepare: |dir, s| prompts(dir, s, BASE, if s.quick { 1_000 } else { 10_000 }, false),
    },
    Job {
        id: "ebt",
        what: "the same against the tuned script",
        goal: Some(0.7),
        runs: 3,
        trains: false,
        prepare: |dir, s| prompts(dir, s, BASE, if s.quick { 1_000 } else { 10_000 }, true),
    },
];

fn load(dir: &Path, device: Device, shape: Shape, dtype: Dtype) -> Outcome<(Model, String)> {
    let dir = dir.join(shape.name);
    let text = dir.display().to_string();
    Ok((Model::load_with(&ModelSource::Dir(dir), (device, dtype), &mut |_| Ok(()))?, text))
}

/// Hidden states after the last block, at all positions.
fn forward(dir: &Path, s: Setting, shape: Shape, rows: usize, len: usize, dtype: Dtype) -> Outcome<(Ours, Value)> {
    let (model, dir) = load(dir, s.device, shape, dtype)?;
    let ids = shape.ids(rows, len);
    let name = if dtype == Dtype::F32 { "float32" } else { "bfloat16" };
    let request = json!({"kind": "forward", "dir": dir, "ids": ids, "dtype": name});
    let (batch, last) = (Batch::new(&ids, 0)?, HookPoint::ResidPost(shape.layers - 1));
    let plan = Plan::default().capture(last);
    let ours = move || Ok(model.forward(&batch, &plan)?.take(last)?.data);
    Ok((Box::new(ours), request))
}

/// Attribution of one token's probability to every embedding, from a zero baseline, using the trapezoid rule.
fn integrated_gradients(dir: &Path, s: Setting, shape: Shape, steps: usize, len: usize) -> Outcome<(Ours, Value)> {
    let (model, dir) = load(dir, s.device, shape, Dtype::F32)?;
    let (ids, position, token) = (shape.ids(1, len), len / 2, shape.answers()[0]);
    let request = json!({"kind": "integrated_gradients", "dir": dir, "ids": ids, "steps": steps,
        "position": position, "token": token});
    let one = Batch::new(&ids, 0)?;
    let embeddings = model.forward(&one, &Plan::default().capture(HookPoint::Embed))?.take(HookPoint::Embed)?;
    let batch = Batch::new(&vec![&ids[0]; steps], 0)?;
    let width = shape.hidden;
    let ours = move || {
        let mut rows = Vec::with_capacity(steps * len * width);
        for i in 0..steps {
            let along = i as f32 / (steps - 1) as f32;
            rows.extend(embeddings.data.iter().map(|e| along * e));
        }
        let targets = (0..steps).map(|row| Target { row, position, token }).collect();
        let plan = Plan::default()
            .from_embeddings(Array::new([steps, len, width], rows))
            .gradient(Scalar::Probability(targets), &[HookPoint::Embed]);
        let trace = model.forward(&batch, &plan)?;
        let gradient = trace.gradient(HookPoint::Embed)?;
        let mut sum = vec![0f32; len * width];
        for (i, step) in gradient.data.chunks_exact(len * width).enumerate() {
            let weight = if i == 0 || i + 1 == steps { 0.5 } else { 1.0 } / (steps - 1) as f32;
            sum.iter_mut().zip(step).for_each(|(s, g)| *s += weight * g);
        }
        Ok(sum.iter().zip(&embeddings.data).map(|(s, e)| s * e).collect())
    };
    Ok((Box::new(ours), request))
}

/// One optimiser step, whose loss is compared. Every run takes a further step on the same sentences.
fn train(s: Setting, shape: Shape, rows: usize, len: usize, tuned: bool) -> Outcome<(Ours, Value)> {
    let (ids, rate) = (shape.ids(rows, len), 1e-4);
    let mut labels = vec![vec![-100i64; len]; rows];
    let mut masked = ids.clone();
    let mut targets = Vec::new();
    for (row, sentence) in ids.iter().enumerate() {
        for position in (1..len - 1).filter(|p| (row * 7 + p * 3) % 7 == 0) {
            labels[row][position] = i64::from(sentence[position]);
            masked[row][position] = 4;
            targets.push(Target { row, position, token: sentence[position] });
        }
    }
    let dir = tempfile::tempdir()?;
    shape.write(dir.path())?;
    let request = json!({"kind": "train", "dir": dir.path(), "ids": masked, "labels": labels, "rate": rate,
        "tuned": tuned});
    let params = initial(&shape.arch(), 7)?;
    let mut trainer = Trainer::from_params(&shape.arch(), &params, AdamW::default(), s.device)?;
    let batch = Batch::new(&masked, 0)?;
    let ours = move || {
        // Keeps the folder alive until the other side has read it.
        let _kept = &dir;
        Ok(vec![trainer.step(&batch, &targets, rate)?])
    };
    Ok((Box::new(ours), request))
}

/// Probabilities of a closed set of answers at the mask of every prompt, starting from text. Uses all threads, in batches like the
/// prompts lab.
fn prompts(dir: &Path, s: Setting, shape: Shape, n: usize, tuned: bool) -> Outcome<(Ours, Value)> {
    let (model, dir) = load(dir, s.device, shape, Dtype::F32)?;
    let (texts, answers) = (shape.prompts(n), shape.answers());
    let request =
        json!({"kind": "prompts", "dir": dir, "prompts": texts, "answers": answers, "batch": 64, "tuned": tuned});
    let ours = move || {
        let tokenizer = model.tokenizer()?;
        let mask = tokenizer.special().mask.ok_or("no mask token")?;
        let ids: Vec<Vec<u32>> =
            texts.par_iter().map(|t| Ok(tokenizer.encode(t)?.ids)).collect::<Result<_, ModelError>>()?;
        let lengths: Vec<usize> = ids.iter().map(Vec::len).collect();
        let mut found = vec![0f32; n * answers.len()];
        for places in chunks(&lengths, TOKENS_PER_BATCH) {
            let rows: Vec<&[u32]> = places.iter().map(|&i| &*ids[i]).collect();
            let batch = Batch::new(&rows, tokenizer.pad_id())?;
            let at: Vec<usize> =
                batch.find_last(mask).into_iter().collect::<Option<_>>().ok_or("a prompt without mask")?;
            let plan = Plan::default().logits_of(Sites::per_row(&at), answers.clone());
            let trace = model.forward(&batch, &plan)?;
            let logits = trace.logits()?;
            for (row, place) in places.into_iter().enumerate() {
                found[place * answers.len()..][..answers.len()].copy_from_slice(&softmax(logits.row(row)));
            }
        }
        Ok(found)
    };
    Ok((Box::new(ours), request))
}

fn softmax(logits: &[f32]) -> Vec<f32> {
    let top = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let shares: Vec<f32> = logits.iter().map(|l| (l - top).exp()).collect();
    let sum: f32 = shares.iter().sum();
    shares.iter().map(|s| s / sum).collect()
}
