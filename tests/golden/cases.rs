//! Model folders that used to be rejected or to give wrong predictions, with the correct values (`PROBITY_CASES`).

use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;

use probity::corpus::readers::{Row, Set};
use probity::lab::prompts::query::Asker;
use probity::model::{Batch, Model, ModelSource, Plan, Sites};
use serde_json::Value;

use super::common::json;
use crate::harness::device;

crate::harness::tests! {
    Needs::Cases("models") => [
        folders_give_the_predictions_of_transformers,
        a_differing_output_matrix_and_nothing_else_is_noticed,
        added_tokens_have_their_ids,
        texts_with_ids_beyond_the_embeddings_are_rejected,
        modernbert_and_deberta_load_as_transformers_writes_them,
        a_pointer_in_place_of_weights_is_named,
        settings_with_a_mark_or_without_numbers_and_the_weights_themselves_open_a_folder,
    ];
    Needs::Cases("rationales") => [masks_are_read_as_masks_and_no_position_counts_twice, documents_in_one_file_are_read];
    Needs::Cases("tables") => [
        a_spread_over_one_prompt_is_not_available,
        relation_and_template_suffice,
    ];
    Needs::Cases("data") => [facts_have_the_relation_of_their_file, facts_of_conceptnet_have_one_count];
}

fn printed(arguments: &[&str]) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_probity")).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// All rows of a file or folder.
fn rows(path: &Path) -> Vec<Row<'static>> {
    let (set, mut rows) = (Set::open(path).unwrap_or_else(|e| panic!("{e}")), Vec::new());
    set.rows(&mut |_, row, _| {
        rows.push(row.into_owned());
        ControlFlow::Continue(())
    })
    .unwrap_or_else(|e| panic!("{e}"));
    rows
}

fn gold(path: &Path) -> Vec<Vec<Vec<u32>>> {
    rows(path).into_iter().filter_map(|r| if let Row::Rationale(r) = r { Some(r.rationales) } else { None }).collect()
}

fn masks_are_read_as_masks_and_no_position_counts_twice(root: &Path) {
    assert_eq!(gold(&root.join("mask_b.jsonl")), [[[4, 5]]]);
    assert_eq!(gold(&root.join("dupidx.jsonl")), [[[0, 1]]]);
}

fn documents_in_one_file_are_read(root: &Path) {
    assert_eq!(gold(&root.join("esnli")), [[[2]], [[2]]]);
}

fn a_spread_over_one_prompt_is_not_available(root: &Path) {
    let found = printed(&["prompts", &root.join("nan.tsv").display().to_string(), "--json"]);
    assert_eq!(found["missing_cells"], 1, "{found}");
    assert!(found["relations"]["P17"]["a"]["std"].is_null() && found["models"]["a"]["mean_std"].is_null(), "{found}");
    assert_eq!(
        (&found["relations"]["P17"]["b"]["std"], &found["relations"]["P17"]["a"]["prompts"]),
        (&0.0.into(), &1.into())
    );
}

fn relation_and_template_suffice(root: &Path) {
    let all = rows(&root.join("relation-template-only"));
    let relations: Vec<&str> =
        all.iter().filter_map(|r| if let Row::Relation(r) = r { Some(&*r.relation) } else { None }).collect();
    let facts = all.iter().filter(|r| matches!(r, Row::Fact(f) if f.relation.as_deref() == Some("P36"))).count();
    assert_eq!((relations, facts > 3), (vec!["P36", "P999"], true));
}

fn facts_have_the_relation_of_their_file(root: &Path) {
    let all = rows(&root.join("mlama"));
    let fact = all.iter().find_map(|r| if let Row::Fact(f) = r { Some(f) } else { None }).unwrap();
    assert_eq!(
        (fact.relation.as_deref(), fact.subject.as_deref(), &*fact.object),
        (Some("P17"), Some("Paris"), "Frankreich")
    );
    assert!(all.iter().any(|r| matches!(r, Row::Relation(_))));
}

fn facts_of_conceptnet_have_one_count(root: &Path) {
    let path = root.join("ConceptNet");
    let facts = rows(&path);
    let subject = |r: &Row<'_>| if let Row::Fact(f) = r { f.subject.as_deref().map(str::to_owned) } else { None };
    assert_eq!(subject(&facts[0]).as_deref(), Some("awake"));
    let found = printed(&["data", "doctor", &path.display().to_string(), "--json"]);
    let relations = found["relations"].as_object().unwrap();
    let kept: u64 = relations.values().map(|r| r["kept"].as_u64().unwrap()).sum();
    assert_eq!(Some(kept), found["rows"].as_u64().zip(found["dropped"].as_u64()).map(|(n, d)| n - d), "{found}");
}

fn load(dir: &Path) -> Result<Model, String> {
    Model::load(&ModelSource::Dir(dir.to_owned()), device()).map_err(|e| e.to_string())
}

/// Tolerance for probabilities rounded to six decimals.
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

fn texts_with_ids_beyond_the_embeddings_are_rejected(root: &Path) {
    let model = load(&root.join("m_tokbig")).unwrap();
    let tokenizer = model.tokenizer().unwrap();
    let beyond = (0..tokenizer.len() as u32).find(|id| !tokenizer.knows(&[*id]) && *id as usize >= 106).unwrap();
    let text = format!("The {} dogs", tokenizer.token(beyond).unwrap());
    let refused = model.forward(&model.batch(&[text]).unwrap(), &Plan::default()).unwrap_err().to_string();
    assert!(refused.contains(&format!("token id {beyond}")) && refused.contains("has no embedding"), "{refused}");
    assert!(model.forward(&model.batch(&["The dogs"]).unwrap(), &Plan::default()).is_ok());
}

/// The reference has no values for these two models, because transformers did not find a mask token in their tokenizers.
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
    let config = config.replacen('{', "{\"note\": \"NaN \\\" Infinity\", \"a\": NaN, \"b\": [-Infinity, Infinity],", 1);
    std::fs::write(dir.path().join("config.json"), format!("\u{feff}{config}")).unwrap();
    assert_eq!(load(dir.path()).unwrap().arch(), whole.arch());
    let open = |path: &Path| {
        let source: ModelSource = path.to_str().unwrap().parse().unwrap();
        Model::load(&source, device()).map(|m| m.arch().clone())
    };
    for file in ["model.safetensors", "config.json"] {
        assert_eq!(&open(&dir.path().join(file)).unwrap(), whole.arch(), "{file}");
    }
    std::fs::rename(dir.path().join("model.safetensors"), dir.path().join("best.safetensors")).unwrap();
    assert_eq!(&open(&dir.path().join("best.safetensors")).unwrap(), whole.arch());
}
