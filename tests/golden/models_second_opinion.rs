//! Compares our BERT, DistilBERT, XLM-RoBERTa, Llama and Qwen2 with those of candle-transformers on the folders in `reference/models`. The
//! two implementations have only the weights and the tensor library in common.

use std::collections::BTreeSet;
use std::path::Path;

use candle_core::{DType, Device as CandleDevice, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models::{bert, distilbert, llama, qwen2, xlm_roberta};
use probity::model::{Batch, Device, Model, ModelSource, Plan, Sites};

use super::common::{Golden, Report, Tensors, subfolders};
use super::harness::fixtures;

crate::harness::tests! {
    Needs::Reference("models") => [our_executors_and_candle_transformers_agree];
}

/// Families that both programs implement.
const FAMILIES: [&str; 5] = ["bert", "distilbert", "llama", "qwen2", "xlm-roberta"];

/// Tolerance for logits, the same as for transformers.
const LOGITS: f64 = 1e-4;

/// Function that returns the logits of one unpadded sentence: at all its tokens, or after the last one.
type Opinion = Box<dyn FnMut(&[u32]) -> candle_core::Result<Tensor>>;

/// Tied tensors, which checkpoints omit although the library requires them.
const TIED: [(&str, &str); 2] = [
    ("cls.predictions.decoder.weight", "bert.embeddings.word_embeddings.weight"),
    ("cls.predictions.decoder.bias", "cls.predictions.bias"),
];

fn config<T: serde::de::DeserializeOwned>(dir: &Path) -> T {
    let text = std::fs::read_to_string(dir.join("config.json")).unwrap();
    let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
    // Newer files omit it; it has only one possible value.
    if value.get("position_embedding_type").is_none() {
        value["position_embedding_type"] = "absolute".into();
    }
    // The library requires a number even if there is no window.
    if value.get("sliding_window").is_some_and(serde_json::Value::is_null) {
        value["sliding_window"] = value["max_position_embeddings"].clone();
    }
    serde_json::from_value(value).unwrap_or_else(|e| panic!("{}: {e}", dir.display()))
}

/// Loads the folder with candle-transformers; `None` if its family is not one of the five compared. The flag is true if that model returns
/// logits for the last token only.
fn open(dir: &Path, family: &str) -> candle_core::Result<Option<(Opinion, bool)>> {
    let cpu = CandleDevice::Cpu;
    let mut tensors = candle_core::safetensors::load(dir.join("model.safetensors"), &cpu)?;
    for (wanted, stored) in TIED {
        if let Some(tensor) = tensors.get(stored).cloned() {
            tensors.entry(wanted.to_owned()).or_insert(tensor);
        }
    }
    // The library does not apply the last bias of XLM-RoBERTa.
    let left_out = tensors.get("lm_head.bias").cloned();
    let vb = VarBuilder::from_tensors(tensors, DType::F32, &cpu);
    let row = |ids: &[u32]| Tensor::new(ids, &CandleDevice::Cpu)?.unsqueeze(0);
    Ok(Some(match family {
        "bert" => {
            let model = bert::BertForMaskedLM::load(vb, &config(dir))?;
            let run = move |ids: &[u32]| {
                let ids = row(ids)?;
                model.forward(&ids, &ids.zeros_like()?, None)
            };
            (Box::new(run) as Opinion, false)
        }
        "distilbert" => {
            let model = distilbert::DistilBertForMaskedLM::load(vb, &config(dir))?;
            let run = move |ids: &[u32]| {
                let ids = row(ids)?;
                // In the library's mask, 1 marks a masked position.
                model.forward(&ids, &Tensor::zeros((ids.dim(1)?, ids.dim(1)?), DType::U8, ids.device())?)
            };
            (Box::new(run) as Opinion, false)
        }
        "xlm-roberta" => {
            let model = xlm_roberta::XLMRobertaForMaskedLM::new(&config(dir), vb)?;
            let run = move |ids: &[u32]| {
                let ids = row(ids)?;
                let logits = model.forward(&ids, &ids.ones_like()?, &ids.zeros_like()?, None, None, None)?;
                left_out.iter().try_fold(logits, |logits, bias| logits.broadcast_add(bias))
            };
            (Box::new(run) as Opinion, false)
        }
        "llama" => {
            let config = config::<llama::LlamaConfig>(dir).into_config(false);
            let model = llama::Llama::load(vb, &config)?;
            let run = move |ids: &[u32]| {
                let mut cache = llama::Cache::new(false, DType::F32, &config, &CandleDevice::Cpu)?;
                model.forward(&row(ids)?, 0, &mut cache)
            };
            (Box::new(run) as Opinion, true)
        }
        "qwen2" => {
            let mut model = qwen2::ModelForCausalLM::new(&config(dir), vb)?;
            let run = move |ids: &[u32]| {
                model.clear_kv_cache();
                model.forward(&row(ids)?, 0)
            };
            (Box::new(run) as Opinion, true)
        }
        _ => return Ok(None),
    }))
}

fn our_executors_and_candle_transformers_agree(root: &Path) {
    let (mut reports, mut families) = (Vec::new(), BTreeSet::new());
    for dir in subfolders(root) {
        let name = dir.file_name().unwrap().to_string_lossy().into_owned();
        let approximate = approximating(&dir);
        let folder = approximate.as_ref().map_or(dir.clone(), |copy| copy.path().to_owned());
        let model = Model::load(&ModelSource::Dir(folder), Device::Cpu).unwrap();
        if !model.has_head() {
            continue;
        }
        let opened = open(&dir, &model.arch().family).unwrap_or_else(|e| panic!("{name}: {e}"));
        let Some((mut opinion, last)) = opened else { continue };
        let mut report = Report::new(&format!("candle-transformers/{name}"));
        for ids in rows(&dir) {
            let batch = Batch::new(&[&ids], 0).unwrap();
            let at = if last { Sites::At(vec![(0, ids.len() - 1)]) } else { Sites::All };
            let ours = model.forward(&batch, &Plan::default().logits_at(at)).unwrap().logits.unwrap();
            let theirs: Vec<f32> = opinion(&ids).unwrap().flatten_all().unwrap().to_vec1().unwrap();
            let theirs: Vec<f64> = theirs.into_iter().map(f64::from).collect();
            report.close(&format!("{} tokens", ids.len()), &ours.data, &theirs, LOGITS);
        }
        reports.push(report);
        families.insert(model.arch().family.clone());
    }
    assert!(!reports.is_empty(), "none of the five families is in the folder");
    // Other sets may lack some of the families.
    if root.starts_with(fixtures()) {
        assert_eq!(families.iter().map(String::as_str).collect::<Vec<_>>(), FAMILIES);
    }
    reports.into_iter().for_each(Report::finish);
}

/// The library's DistilBERT always uses the tanh approximation of GELU, regardless of the file, which deviates by 7e-3. Ours is set to use
/// it too, so that everything else can be compared.
fn approximating(dir: &Path) -> Option<tempfile::TempDir> {
    let mut config: serde_json::Value = super::common::json(&dir.join("config.json"));
    if config["model_type"] != "distilbert" || config["activation"] != "gelu" {
        return None;
    }
    config["activation"] = "gelu_new".into();
    let copy = tempfile::tempdir().unwrap();
    std::fs::copy(dir.join("model.safetensors"), copy.path().join("model.safetensors")).unwrap();
    std::fs::write(copy.path().join("config.json"), config.to_string()).unwrap();
    Some(copy)
}

fn rows(dir: &Path) -> Vec<Vec<u32>> {
    let want = Tensors::load(&dir.join("expected.safetensors"));
    let (ids, mask): (&Golden, &Golden) = (want.get("input_ids"), want.get("attention_mask"));
    let width = ids.shape[1];
    let row = |(row, mask): (&[f64], &[f64])| {
        row.iter().zip(mask).filter(|(_, m)| **m > 0.0).map(|(v, _)| *v as u32).collect()
    };
    ids.data.chunks(width).zip(mask.data.chunks(width)).map(row).collect()
}
