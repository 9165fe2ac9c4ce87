//! Families that are run only for their logits, compared with Hugging Face transformers: all folders in `reference/models_logits`. A
//! variant (the same weights with different settings) must agree too, or be refused with a message.

use std::path::Path;

use probity::model::offers::Offer;
use probity::model::{Batch, Gradient, HookPoint, Model, ModelError, ModelSource, Plan, Scalar, Sites, Target};
use serde_json::Value;

use super::common::{Golden, Report, Tensors, json, subfolders};
use crate::harness::device;

crate::harness::tests! {
    Needs::Reference("models_logits") => [families_run_by_their_logits_give_those_of_transformers];
}

/// Variants that the library computes as transformers does. It deviates for all others, which may be refused.
const AGREE: [&str; 7] =
    ["all_global", "long_decoder", "longrope", "no_caps", "no_window", "partial_rotary", "query_scalar"];

/// Tolerances from the README of the reference.
const LOGITS: f64 = 1e-4;
const PROBABILITY: f64 = 1e-5;

fn load(dir: &Path) -> Result<Model, ModelError> {
    Model::load(&ModelSource::Dir(dir.to_owned()), device())
}

/// Rows of ids without their padding.
fn rows(ids: &Golden, mask: Option<&Golden>) -> Vec<Vec<u32>> {
    let width = ids.shape[1];
    let whole = vec![1.0; ids.data.len()];
    let mask = mask.map_or(&whole, |m| &m.data);
    let row = |(row, mask): (&[f64], &[f64])| {
        row.iter().zip(mask).filter(|(_, m)| **m > 0.0).map(|(v, _)| *v as u32).collect()
    };
    ids.data.chunks(width).zip(mask.chunks(width)).map(row).collect()
}

fn batch(want: &Tensors, decoder: Option<&Golden>, pad: u32) -> Batch {
    let batch = Batch::new(&rows(want.get("input_ids"), want.find("attention_mask")), pad).unwrap();
    match decoder {
        Some(ids) => batch.with_decoder(&rows(ids, None), pad).unwrap(),
        None => batch,
    }
}

fn families_run_by_their_logits_give_those_of_transformers(root: &Path) {
    let folders = subfolders(root);
    assert!(!folders.is_empty());
    let mut reports = Vec::new();
    for dir in folders {
        let name = dir.file_name().unwrap().to_string_lossy().into_owned();
        let mut report = Report::new(&format!("models_logits/{name}"));
        let model = load(&dir).unwrap_or_else(|e| panic!("{name}: {e}"));
        let info = json(&dir.join("expected.json"));
        let want = Tensors::load(&dir.join("expected.safetensors"));
        let pad = info["pad_id"].as_u64().unwrap() as u32;
        let batch = batch(&want, want.find("decoder_input_ids"), pad);
        tokens(&model, &info, &mut report);
        predictions(&model, &batch, &want, &mut report);
        sites(&model, &batch, &want, &mut report);
        together(&model, &want, pad, &mut report);
        listing(&dir, &model, &mut report);
        refusals(&model, &batch, &mut report);
        super::common::check_passes(&dir);
        variants(&dir, &info, &want, pad, &mut report);
        reports.push(report);
    }
    reports.into_iter().for_each(Report::finish);
}

fn tokens(model: &Model, info: &Value, report: &mut Report) {
    let tokenizer = model.tokenizer().unwrap();
    for (text, ids) in info["texts"].as_array().unwrap().iter().zip(info["ids"].as_array().unwrap()) {
        let want: Vec<u32> = ids.as_array().unwrap().iter().map(|v| v.as_u64().unwrap() as u32).collect();
        report.equal("ids", &tokenizer.encode(text.as_str().unwrap()).unwrap().ids, &want);
    }
    let mask = info["mask_id"].as_u64().map(|id| id as u32);
    report.equal("mask", &tokenizer.special().mask, &mask);
}

fn predictions(model: &Model, batch: &Batch, want: &Tensors, report: &mut Report) {
    let at = Sites::per_row(&want.get("position").indices());
    let logits = model.forward(batch, &Plan::default().logits_at(at)).unwrap().logits.unwrap();
    report.close("logits", &logits.data, &want.get("logits_at_position").data, LOGITS);
    let (top, k) = (want.get("top5_ids").indices(), want.get("top5_ids").shape[1]);
    let mut probabilities = Vec::new();
    for (row, ids) in top.chunks(k).enumerate() {
        let values = logits.row(row);
        let most = values.iter().copied().fold(f32::MIN, f32::max);
        let z: f64 = values.iter().map(|v| f64::from(v - most).exp()).sum();
        probabilities.extend(ids.iter().map(|&i| f64::from(values[i] - most).exp() / z));
    }
    report.close64("probabilities", &probabilities, &want.get("top5_probabilities").data, PROBABILITY);
}

/// Texts of the same length run together, and each must give the same result as alone. Regression: the library's Mamba step accepts only
/// one text, and used to fail at the second.
fn together(model: &Model, want: &Tensors, pad: u32, report: &mut Report) {
    let decoder = want.find("decoder_input_ids").map(|ids| rows(ids, None).swap_remove(0));
    let text = rows(want.get("input_ids"), want.find("attention_mask")).swap_remove(0);
    let mut turned = text.clone();
    turned.reverse();
    let last = |texts: &[Vec<u32>]| {
        let batch = Batch::new(texts, pad).unwrap();
        let batch = match &decoder {
            Some(ids) => batch.with_decoder(&vec![ids.clone(); texts.len()], pad).unwrap(),
            None => batch,
        };
        let at = vec![decoder.as_ref().map_or(text.len(), Vec::len) - 1; texts.len()];
        let plan = Plan::default().logits_at(Sites::per_row(&at));
        model.forward(&batch, &plan).unwrap().logits.unwrap().data
    };
    let alone: Vec<f64> = [&text, &turned].iter().flat_map(|t| last(&[t.to_vec()])).map(f64::from).collect();
    report.close("together", &last(&[text.clone(), turned.clone()]), &alone, LOGITS);
}

/// All positions, selected positions in any order, and selected rows of the vocabulary must give the same numbers.
fn sites(model: &Model, batch: &Batch, want: &Tensors, report: &mut Report) {
    let positions = want.get("position").indices();
    let all = model.forward(batch, &Plan::default().logits_at(Sites::All)).unwrap().logits.unwrap();
    let mut list: Vec<(usize, usize)> = positions.iter().copied().enumerate().collect();
    let picked: Vec<f32> = list.iter().flat_map(|&(b, t)| all.at(b, t).to_vec()).collect();
    report.close("of all positions", &picked, &want.get("logits_at_position").data, LOGITS);
    list.reverse();
    list.push(list[0]);
    let ids = vec![5, 0, 3];
    let few = model.forward(batch, &Plan::default().logits_of(Sites::At(list.clone()), ids.clone())).unwrap();
    let same: Vec<f64> = list
        .iter()
        .flat_map(|&(b, t)| ids.iter().map(move |&i| (b, t, i)))
        .map(|(b, t, i)| f64::from(all.at(b, t)[i as usize]))
        .collect();
    report.close("of few words", &few.logits.unwrap().data, &same, LOGITS);
    if batch.output() != batch {
        // Without a separate decoder input, the decoder predicts at the sentinel in the text.
        let first = Batch::new(&rows(want.get("input_ids"), want.find("attention_mask")), 0).unwrap();
        let mask = model.tokenizer().unwrap().special().mask.unwrap();
        let at: Vec<usize> = first.find_last(mask).into_iter().map(Option::unwrap).collect();
        let asked = model.forward(&first, &Plan::default().logits_at(Sites::per_row(&at))).unwrap();
        let wanted = &want.get("logits_at_position").data;
        report.close("at the sentinel", &asked.logits.unwrap().data, wanted, LOGITS);
    }
}

/// A listing must state size and supported labs before the weights are read.
fn listing(dir: &Path, model: &Model, report: &mut Report) {
    let listed = Model::describe(&ModelSource::Dir(dir.to_owned())).unwrap();
    report.equal("description", &listed, model.arch());
    report.equal("offers", &model.offers(), &vec![Offer::Logits]);
    report.holds("serves", listed.serves().starts_with("logits only: prompts"), listed.serves().to_owned());
    let bytes = std::fs::read(dir.join("model.safetensors")).unwrap();
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let stored: usize = file.iter().map(|(_, t)| t.shape().iter().product::<usize>()).sum();
    report.equal("parameters", &listed.parameter_count(), &stored);
    let mut notices = model.notices();
    // In these folders, transformers builds a tokenizer from the class, which differs from `tokenizer.json`.
    notices.retain(|notice| !notice.what.starts_with("tokenizer.json is used, but transformers 5 replaces"));
    report.equal("notices", &notices, &Vec::new());
}

fn refusals(model: &Model, batch: &Batch, report: &mut Report) {
    let target = Target { row: 0, position: 0, token: 0 };
    let gradient = Gradient { of: Scalar::Logit(vec![target]), wrt: vec![HookPoint::Embed] };
    let plans = [
        (Plan::default().capture(HookPoint::ResidPost(0)), Offer::Hidden),
        (Plan::default().capture(HookPoint::Pattern(0)), Offer::Attention),
        (Plan { gradient: Some(gradient), ..Plan::default() }, Offer::Gradients),
        (Plan::default().resume(0, probity::model::Array::zeros([1, 1, 1])), Offer::Hidden),
    ];
    for (plan, kind) in plans {
        let said = model.forward(batch, &plan);
        let right = matches!(&said, Err(ModelError::NotOffered { what, .. }) if *what == kind);
        report.holds("refusal", right, said.map_or_else(|e| e.to_string(), |_| "was computed".into()));
        report.holds("require", model.require(kind).is_err(), kind.to_string());
    }
}

fn variants(dir: &Path, info: &Value, want: &Tensors, pad: u32, report: &mut Report) {
    let none = serde_json::Map::new();
    for (name, variant) in info["variants"].as_object().unwrap_or(&none) {
        let temporary = tempfile::tempdir().unwrap();
        for file in std::fs::read_dir(dir).unwrap().map(|f| f.unwrap()) {
            std::fs::copy(file.path(), temporary.path().join(file.file_name())).unwrap();
        }
        let mut config = json(&dir.join("config.json"));
        for (key, value) in variant["config"].as_object().unwrap_or(&none) {
            config[key] = value.clone();
        }
        let path = temporary.path().join("config.json");
        std::fs::remove_file(&path).unwrap();
        std::fs::write(path, config.to_string()).unwrap();
        let (batch, positions) = match variant["decoder_input_ids"].as_str() {
            Some(key) => {
                let batch = batch(want, Some(want.get(key)), pad);
                let at = variant["position"].as_u64().unwrap() as usize;
                let positions = vec![at; batch.rows()];
                (batch, positions)
            }
            None => (batch(want, want.find("decoder_input_ids"), pad), want.get("position").indices()),
        };
        let plan = Plan::default().logits_at(Sites::per_row(&positions));
        let key = format!("variant.{name}.logits_at_position");
        match load(temporary.path()).and_then(|m| m.forward(&batch, &plan)) {
            Ok(trace) => {
                let what = format!("variant {name}");
                report.close(&what, &trace.logits.unwrap().data, &want.get(&key).data, LOGITS);
            }
            Err(e @ (ModelError::Config { .. } | ModelError::BeyondLimit { .. })) => {
                let may = !AGREE.contains(&name.as_str());
                report.holds(&format!("variant {name} is refused"), may, e.to_string());
            }
            Err(e) => report.holds(&format!("variant {name}"), false, e.to_string()),
        }
    }
}
