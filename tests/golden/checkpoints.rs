//! Compares real pretrained checkpoints with Hugging Face transformers: the folders of `PROBITY_MODELS` (default `../shared/models`), whose
//! `expected.json` contains rounded numbers.

use std::path::Path;

use probity::model::{Array, Batch, HookPoint, Model, ModelSource, Plan, Sites, Tokenizer};
use serde_json::Value;

use super::common::{Report, json, subfolders};
use crate::harness::device;

crate::harness::tests! {
    Needs::Models("") => [real_checkpoints_are_reproduced];
}

/// Tolerance for expected numbers rounded to five decimals.
const ROUNDED: f64 = 2e-4;

fn real_checkpoints_are_reproduced(root: &Path) {
    let folders = subfolders(root);
    assert!(!folders.is_empty());
    for dir in folders {
        let name = dir.file_name().unwrap().to_string_lossy().into_owned();
        let source = ModelSource::Dir(dir.clone());
        let model = Model::load(&source, device()).unwrap_or_else(|e| panic!("{name}: {e}"));
        let expected = json(&dir.join("expected.json"));
        let mut report = Report::new(&format!("real/{name}"));
        // The other layout is the one of the reference models.
        for case in expected["cases"].as_array().into_iter().flatten() {
            match model.arch().decoder {
                Some(second) => {
                    encoder_decoder(&model, second.layers, case, &mut report);
                    phonemes(&dir, case, &mut report);
                }
                None => single_stack(&model, case, &mut report),
            }
        }
        if expected["cases"].is_array() {
            report.finish();
        }
        super::common::check_passes(&dir);
    }
}

/// The decoder's ids refer to a second tokenizer file with a different alphabet.
fn phonemes(dir: &Path, case: &Value, report: &mut Report) {
    let path = dir.join("tokenizer_phonemes.json");
    let Ok(bytes) = std::fs::read(&path) else { return };
    let tokenizer = Tokenizer::from_json("tokenizer_phonemes.json", &bytes, Default::default()).unwrap();
    let special = [0, 1, 2, 3];
    let spelled: String = ids(&case["greedy_decoder_ids"])
        .iter()
        .filter(|i| !special.contains(*i))
        .map(|&i| tokenizer.token(i).unwrap())
        .collect();
    report.equal("phonemes", &spelled.as_str(), &case["greedy_phonemes"].as_str().unwrap());
}

/// Decodes greedily, token by token, and computes the surprisal of the text itself.
fn continuation(model: &Model, case: &Value, report: &mut Report) {
    let mut all = ids(&case["input_ids"]);
    let given = all.len();
    let logits = |row: &[u32]| {
        let batch = Batch::new(&[row], 0).unwrap();
        model.forward(&batch, &Plan::default().logits_at(Sites::All)).unwrap().logits.unwrap()
    };
    let scored = logits(&all);
    let surprisal = |t: usize| {
        let row = scored.row(t);
        let top = f64::from(row.iter().copied().fold(f32::MIN, f32::max));
        let z: f64 = row.iter().map(|&v| (f64::from(v) - top).exp()).sum();
        z.ln() + top - f64::from(row[all[t + 1] as usize])
    };
    let nll = (0..given - 1).map(surprisal).sum::<f64>() / (given - 1) as f64;
    report.close64("mean surprisal", &[nll], &[case["mean_nll"].as_f64().unwrap()], ROUNDED);
    let want = ids(&case["greedy_continuation_ids"]);
    for _ in &want {
        let answers = logits(&all);
        all.push(largest(answers.row(answers.rows() - 1)));
    }
    report.equal("greedy continuation", &all[given..].to_vec(), &want);
    let tokenizer = model.tokenizer().unwrap();
    let spelled: String = want.iter().map(|&i| tokenizer.token(i).unwrap()).collect();
    report.equal("its tokens", &spelled.as_str(), &case["greedy_continuation"].as_str().unwrap());
}

fn ids(v: &Value) -> Vec<u32> {
    v.as_array().unwrap().iter().map(|v| v.as_u64().unwrap() as u32).collect()
}

fn floats(v: &Value) -> Vec<f64> {
    let each = |x: &Value| if x.is_array() { floats(x) } else { vec![x.as_f64().unwrap()] };
    v.as_array().unwrap().iter().flat_map(each).collect()
}

fn norms<'a>(arrays: impl Iterator<Item = &'a Array>) -> Vec<f32> {
    let row_norms =
        |a: &Array| -> Vec<f32> { (0..a.rows()).map(|i| a.row(i).iter().map(|v| v * v).sum::<f32>().sqrt()).collect() };
    arrays.flat_map(row_norms).collect()
}

/// Entropy of each head's attention in nats, averaged over the queries of one sentence.
fn entropies<'a>(patterns: impl Iterator<Item = &'a Array>) -> Vec<f32> {
    let of_layer = |a: &Array| -> Vec<f32> {
        let (t, k) = (a.shape[2], a.shape[3]);
        let head = |p: &[f32]| -p.iter().filter(|&&v| v > 0.0).map(|&v| v * v.ln()).sum::<f32>() / t as f32;
        a.data.chunks(t * k).map(head).collect()
    };
    patterns.flat_map(of_layer).collect()
}

fn largest(row: &[f32]) -> u32 {
    (0..row.len()).max_by(|&i, &j| row[i].total_cmp(&row[j])).unwrap() as u32
}

fn single_stack(model: &Model, case: &Value, report: &mut Report) {
    let text = case["text"].as_str().unwrap();
    let batch = model.batch(&[text]).unwrap();
    report.equal(&format!("{text:?}: ids"), &batch.ids().to_vec(), &ids(&case["input_ids"]));
    let last = if model.arch().final_norm { HookPoint::FinalNorm } else { HookPoint::ResidPost(model.layers() - 1) };
    let mut plan = Plan::default().capture(HookPoint::ResidPre(0));
    for l in 1..model.layers() {
        plan = plan.capture(HookPoint::ResidPost(l - 1));
    }
    plan = plan.capture(last);
    for l in 0..model.layers() {
        plan = plan.capture(HookPoint::Pattern(l));
    }
    if model.has_head() {
        plan = plan.logits_at(Sites::All);
    }
    let trace = model.forward(&batch, &plan).unwrap();
    let (states, patterns) = trace.captures.split_at(model.layers() + 1);
    let got = norms(states.iter().map(|(_, a)| a));
    report.close(&format!("{text:?}: norms"), &got, &floats(&case["hidden_state_norms"]), ROUNDED);
    let got = entropies(patterns.iter().map(|(_, a)| a));
    report.close(&format!("{text:?}: entropy"), &got, &floats(&case["mean_attention_entropy"]), ROUNDED);
    let t = batch.len();
    if model.has_head() {
        let row = trace.logits().unwrap().at(0, t - 1);
        for top in case["next_top5"].as_array().unwrap() {
            let got = row[top["id"].as_u64().unwrap() as usize];
            report.close(&format!("{text:?}: logit"), &[got], &[top["logit"].as_f64().unwrap()], ROUNDED);
        }
        continuation(model, case, report);
        return;
    }
    let hidden = trace.get(last).unwrap();
    let mut pooled = vec![0f32; model.embed_dim()];
    for i in 0..t {
        pooled.iter_mut().zip(hidden.at(0, i)).for_each(|(p, v)| *p += v / t as f32);
    }
    let norm = pooled.iter().map(|v| v * v).sum::<f32>().sqrt();
    let first: Vec<f32> = pooled.iter().take(8).map(|v| v / norm).collect();
    report.close(&format!("{text:?}: embedding"), &first, &floats(&case["sentence_embedding_first8"]), 1e-5);
    report.holds("pooling is known", model.pooling().is_some(), format!("{:?}", model.pooling()));
}

/// Compares a teacher-forced pass over the reference's greedy output.
fn encoder_decoder(model: &Model, layers: usize, case: &Value, report: &mut Report) {
    let text = case["text"].as_str().unwrap();
    let batch = model.batch(&[text]).unwrap();
    report.equal(&format!("{text:?}: ids"), &batch.ids().to_vec(), &ids(&case["input_ids"]));
    let decoded = ids(&case["greedy_decoder_ids"]);
    let batch = batch.with_decoder(&[&decoded[..decoded.len() - 1]], 0).unwrap();
    let mut states = vec![HookPoint::ResidPre(0)];
    states.extend((0..model.layers()).map(HookPoint::ResidPost));
    states.push(HookPoint::DecoderPre(0));
    states.extend((0..layers).map(HookPoint::DecoderPost));
    let mut patterns: Vec<HookPoint> = (0..model.layers()).map(HookPoint::Pattern).collect();
    patterns.extend((0..layers).map(HookPoint::DecoderPattern));
    patterns.push(HookPoint::CrossPattern(layers - 1));
    let plan = states.iter().chain(&patterns).fold(Plan::default(), |plan, p| plan.capture(*p));
    let trace = model.forward(&batch, &plan.logits_at(Sites::All)).unwrap();
    let at = |p: &HookPoint| trace.get(*p).unwrap();
    let (encoder, decoder) = states.split_at(model.layers() + 1);
    for (name, points) in [("encoder", encoder), ("decoder", decoder)] {
        let want = floats(&case[format!("{name}_hidden_state_norms")]);
        report.close(&format!("{text:?}: {name} norms"), &norms(points.iter().map(at)), &want, ROUNDED);
    }
    let (encoder, rest) = patterns.split_at(model.layers());
    for (name, points) in [("encoder", encoder), ("decoder", &rest[..layers])] {
        let want = floats(&case[format!("{name}_mean_attention_entropy")]);
        report.close(&format!("{text:?}: {name} entropy"), &entropies(points.iter().map(at)), &want, ROUNDED);
    }
    let cross = at(patterns.last().unwrap());
    let looks: Vec<u32> = cross.data.chunks(cross.width()).map(largest).collect();
    report.equal(&format!("{text:?}: cross-attention"), &looks, &ids(&case["cross_attention_argmax"]));
    let logits = trace.logits().unwrap();
    let greedy: Vec<u32> = (0..logits.rows()).map(|i| largest(logits.row(i))).collect();
    report.equal(&format!("{text:?}: greedy decoding"), &greedy, &decoded[1..].to_vec());
    for (i, step) in case["steps_top5"].as_array().unwrap().iter().enumerate() {
        let step = step.as_array().unwrap();
        let got: Vec<f32> = step.iter().map(|t| logits.row(i)[t["id"].as_u64().unwrap() as usize]).collect();
        let want: Vec<f64> = step.iter().map(|t| t["logit"].as_f64().unwrap()).collect();
        report.close(&format!("{text:?}: logits of step {i}"), &got, &want, ROUNDED);
    }
}
