//! Model folders that were once refused or gave wrong predictions, with right values (`PROBITY_CASES`).

use std::path::Path;

use probity::lab::prompts::query::Asker;
use probity::model::{Batch, Device, Model, ModelSource, Plan, Sites};
use serde_json::Value;

use super::common::json;

crate::harness::tests! {
    Needs::Cases("models") => [
        folders_give_the_predictions_of_transformers,
        a_differing_output_matrix_and_nothing_else_is_noticed,
        added_tokens_have_their_ids,
        only_texts_with_ids_beyond_the_embeddings_are_refused,
        modernbert_and_deberta_load_as_transformers_writes_them,
        a_pointer_in_place_of_weights_is_named,
        settings_with_a_mark_or_without_numbers_and_the_weights_themselves_open_a_folder,
    ];
}

fn load(dir: &Path) -> Result<Model, String> {
    Model::load(&ModelSource::Dir(dir.to_owned()), Device::Cpu).map_err(|e| e.to_string())
}

/// Probabilities are rounded to six decimals.
const ROUNDED: f64 = 1e-5;

fn folders_give_the_predictions_of_transformers(root: &Path) {
    let expected = json(&root.join("expected.json"));
    let mut compared = 0;
    for (name, want) in expected["models"].as_object().unwrap() {
        let Some(top) = want["top5"].as_array() else { continue };
        let model = load(&root.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
        let prompt = want["text"].as_str().unwrap().replace("[MASK]", "[Y]");
        let query = Asker::new(&model).unwrap().encode(&prompt, "").unwrap().unwrap();
        let ids: Vec<u64> = query.ids.iter().map(|id| u64::from(*id)).collect();
        assert_eq!(Value::from(ids), want["ids"], "{name}");
        let batch = Batch::new(&[&query.ids], 0).unwrap();
        let plan = Plan::default().logits_at(Sites::per_row(&[query.position]));
        let trace = model.forward(&batch, &plan).unwrap();
        let logits = trace.logits().unwrap().row(0).to_vec();
        let sum: f64 = logits.iter().map(|l| f64::from(*l).exp()).sum();
        let mut order: Vec<usize> = (0..logits.len()).collect();
        order.sort_by(|a, b| logits[*b].total_cmp(&logits[*a]));
        for (got, want) in order.iter().zip(top) {
            assert_eq!(*got as u64, want[0].as_u64().unwrap(), "{name}: {top:?}");
            assert_eq!(model.tokenizer().unwrap().token(*got as u32).as_deref(), want[1].as_str(), "{name}");
            let p = f64::from(logits[*got]).exp() / sum;
            assert!((p - want[2].as_f64().unwrap()).abs() < ROUNDED, "{name}: {p} for {want}");
        }
        compared += 1;
    }
    assert!(compared >= 7, "{compared}");
}

fn a_differing_output_matrix_and_nothing_else_is_noticed(root: &Path) {
    for name in ["u_tiedother", "u_untied", "sm_roberta", "m_tokbig"] {
        let notices = load(&root.join(name)).unwrap().notices();
        assert_eq!(
            notices.iter().any(|n| n.what.contains("ties the output matrix")),
            name == "u_tiedother",
            "{notices:?}"
        );
    }
}

fn added_tokens_have_their_ids(root: &Path) {
    let model = load(&root.join("t_added_json")).unwrap();
    let encoded = model.tokenizer().unwrap().encode("The [HL] dogs").unwrap();
    assert_eq!((encoded.ids.len(), encoded.ids[2]), (5, 105), "{encoded:?}");
}

fn only_texts_with_ids_beyond_the_embeddings_are_refused(root: &Path) {
    let model = load(&root.join("m_tokbig")).unwrap();
    let tokenizer = model.tokenizer().unwrap();
    let beyond =
        (0..tokenizer.len() as u32).find(|id| !tokenizer.knows(&[*id]) && *id as usize >= 106).unwrap();
    let text = format!("The {} dogs", tokenizer.token(beyond).unwrap());
    let refused = model.forward(&model.batch(&[text]).unwrap(), &Plan::default()).unwrap_err().to_string();
    assert!(
        refused.contains(&format!("token id {beyond}")) && refused.contains("has no embedding"),
        "{refused}"
    );
    assert!(model.forward(&model.batch(&["The dogs"]).unwrap(), &Plan::default()).is_ok());
}

/// The reference has no values for these two: transformers found no mask token in their tokenizers.
fn modernbert_and_deberta_load_as_transformers_writes_them(root: &Path) {
    for name in ["modernbert5", "deberta5"] {
        let model = load(&root.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
        let batch = model.batch(&["The dogs near the gate"]).unwrap();
        let trace = model.forward(&batch, &Plan::default().logits_at(Sites::All)).unwrap();
        assert!(trace.logits().unwrap().data.iter().any(|v| *v != 0.0), "{name}");
    }
}

fn a_pointer_in_place_of_weights_is_named(root: &Path) {
    let refused = load(&root.join("m_lfs")).err().unwrap();
    let said = ["model.safetensors", "Git LFS pointer", "440449768 bytes", "git lfs pull"];
    assert!(said.iter().all(|part| refused.contains(part)), "{refused}");
}

fn settings_with_a_mark_or_without_numbers_and_the_weights_themselves_open_a_folder(root: &Path) {
    let whole = load(&root.join("u_untied")).unwrap();
    let dir = tempfile::tempdir().unwrap();
    for file in ["vocab.txt", "tokenizer.json", "tokenizer_config.json", "model.safetensors"] {
        std::fs::copy(root.join("u_untied").join(file), dir.path().join(file)).unwrap();
    }
    let config = std::fs::read_to_string(root.join("u_untied/config.json")).unwrap();
    let config = config.replacen(
        '{',
        "{\"note\": \"NaN \\\" Infinity\", \"a\": NaN, \"b\": [-Infinity, Infinity],",
        1,
    );
    std::fs::write(dir.path().join("config.json"), format!("\u{feff}{config}")).unwrap();
    assert_eq!(load(dir.path()).unwrap().arch(), whole.arch());
    let open = |path: &Path| {
        let source: ModelSource = path.to_str().unwrap().parse().unwrap();
        Model::load(&source, Device::Cpu).map(|m| m.arch().clone())
    };
    for file in ["model.safetensors", "config.json"] {
        assert_eq!(&open(&dir.path().join(file)).unwrap(), whole.arch(), "{file}");
    }
    std::fs::rename(dir.path().join("model.safetensors"), dir.path().join("best.safetensors")).unwrap();
    assert_eq!(&open(&dir.path().join("best.safetensors")).unwrap(), whole.arch());
}
