//! Expected values made by this program itself: matching values pass, changed ones are found, broken files are refused.

use std::path::Path;

use serde_json::{Value, json};

use super::*;
use crate::tests::{bert, folder};
use crate::{Array, Batch, Device, HookPoint, ModelSource, Plan, Sites, weights};
use base::{Cancelled, NoPulse};

fn load(dir: &Path) -> Model {
    Model::load(&ModelSource::Dir(dir.to_owned()), Device::Cpu).unwrap()
}

/// A folder whose expected values are the model's own.
fn checked() -> (tempfile::TempDir, Vec<(String, Array)>, Value) {
    let dir = folder(&bert());
    let m = load(dir.path());
    let rows = [vec![2u32, 5, 4, 3], vec![2, 4, 3]];
    let batch = Batch::new(&rows, 0).unwrap();
    let plan = Plan::default()
        .capture(HookPoint::ResidPre(0))
        .capture(HookPoint::ResidPost(0))
        .capture(HookPoint::ResidPost(1))
        .capture(HookPoint::Pattern(0))
        .capture(HookPoint::Pattern(1));
    let sites = Sites::At(vec![(0, 2), (1, 1)]);
    let trace = m.forward(&batch, &plan.logits_at(Sites::All)).unwrap();
    let at = m.forward(&batch, &Plan::default().logits_at(sites)).unwrap().logits.unwrap();
    let ids = batch.ids().iter().map(|&i| i as f32).collect();
    let keys =
        ["hidden_states.0", "hidden_states.1", "hidden_states.2", "attentions.0", "attentions.1"].map(String::from);
    let mut tensors: Vec<(String, Array)> = keys.into_iter().zip(trace.captures.iter().map(|c| c.1.clone())).collect();
    let (mut top, mut p) = (Vec::new(), Vec::new());
    for row in 0..2 {
        let best = (0..23).max_by(|&i, &j| at.row(row)[i].total_cmp(&at.row(row)[j])).unwrap();
        top.push(best as f32);
        p.push(forward::probabilities(at.row(row), &[best])[0] as f32);
    }
    tensors.extend([
        ("input_ids".to_owned(), Array::new([2, 4], ids)),
        ("attention_mask".into(), Array::new([2, 4], vec![1., 1., 1., 1., 1., 1., 1., 0.])),
        ("position".into(), Array::new([2], vec![2.0, 1.0])),
        ("logits".into(), trace.logits.clone().unwrap()),
        ("logits_at_position".into(), at),
        ("top5_ids".into(), Array::new([2, 1], top)),
        ("top5_probabilities".into(), Array::new([2, 1], p)),
    ]);
    (dir, tensors, json!({"pad_id": 0}))
}

/// Writes f32 tensors.
fn write(dir: &Path, tensors: &[(String, Array)], info: &Value) {
    let mut header = serde_json::Map::new();
    let mut data = Vec::new();
    for (name, a) in tensors {
        let from = data.len();
        a.data.iter().for_each(|v| data.extend(v.to_le_bytes()));
        header.insert(name.clone(), json!({"dtype": "F32", "shape": a.shape, "data_offsets": [from, data.len()]}));
    }
    let text = Value::Object(header).to_string();
    let bytes = [&(text.len() as u64).to_le_bytes()[..], text.as_bytes(), &data].concat();
    weights::write_whole(&dir.join("expected.safetensors"), &bytes).unwrap();
    std::fs::write(dir.join("expected.json"), info.to_string()).unwrap();
}

fn run(dir: &Path) -> Result<Report> {
    check(&load(dir), dir, &mut NoPulse)
}

#[test]
fn a_model_agrees_with_itself_and_gaps_are_told() {
    let (dir, tensors, info) = checked();
    write(dir.path(), &tensors, &info);
    let report = run(dir.path()).unwrap();
    assert!(report.passed(), "{report:#?}");
    let row = |quantity: &str| report.rows.iter().find(|r| r.quantity == quantity).unwrap();
    assert_eq!(row("hidden states").values, 3 * 7 * 8, "padding is not compared");
    assert_eq!(row("most probable tokens").deviation, 0.0);
    assert!(row("resuming at a layer against the full pass").values > 0);
    for left_out in ["token ids", "gradients", "integrated gradients", "edits"] {
        assert_eq!(row(left_out).verdict, Verdict::NotChecked, "{left_out}");
    }
}

#[test]
fn a_changed_value_is_found_with_its_place() {
    for (key, quantity) in [
        ("hidden_states.1", "hidden states"),
        ("attentions.1", "attentions"),
        ("logits", "logits"),
        ("logits_at_position", "logits at the position"),
        ("top5_probabilities", "their probabilities"),
    ] {
        let (dir, mut tensors, info) = checked();
        let changed = tensors.iter_mut().find(|t| t.0 == key).unwrap();
        changed.1.data[0] += 0.001;
        write(dir.path(), &tensors, &info);
        let report = run(dir.path()).unwrap();
        let deviating: Vec<&str> =
            report.rows.iter().filter(|r| r.verdict == Verdict::Deviates).map(|r| r.quantity.as_str()).collect();
        assert_eq!(deviating, [quantity]);
        assert!(!report.passed());
    }
}

/// Expected values with the entry `key` removed or changed.
fn refused(key: &str, change: impl Fn(&mut Array) -> bool) -> String {
    let (dir, mut tensors, info) = checked();
    tensors.retain_mut(|(name, array)| name != key || change(array));
    write(dir.path(), &tensors, &info);
    run(dir.path()).unwrap_err().to_string()
}

#[test]
fn broken_arrays_are_refused_by_file_and_key() {
    for key in ["input_ids", "attention_mask", "hidden_states.0", "hidden_states.2", "position", "top5_ids"] {
        let why = refused(key, |_| false);
        assert!(why.contains("expected.safetensors") && why.contains(&format!("'{key}': is missing")), "{why}");
    }
    for (key, shape) in [
        ("hidden_states.1", vec![2, 8, 4]),
        ("attentions.0", vec![4, 4, 2, 2]),
        ("logits", vec![4, 2, 23]),
        ("input_ids", vec![8]),
        ("position", vec![1, 2]),
    ] {
        let why = refused(key, |a| {
            a.shape.clone_from(&shape);
            true
        });
        assert!(why.contains(key) && why.contains("shape"), "{why}");
    }
    for (key, value) in [
        ("input_ids", 23.0),
        ("input_ids", -1.0),
        ("input_ids", 1.5),
        ("attention_mask", 0.0),
        ("attention_mask", 2.0),
        ("position", 4.0),
        ("top5_ids", 1e30),
        ("hidden_states.0", f32::NAN),
    ] {
        let why = refused(key, |a| {
            a.data[0] = value;
            true
        });
        assert!(why.contains(key) && why.contains("expected.safetensors"), "{key} {value}: {why}");
    }
    let why = refused("position", |a| {
        a.data[1] = 3.0;
        true
    });
    assert!(why.contains("3 in sentence 1 is padding"), "{why}");
}

#[test]
fn broken_json_is_refused_by_file_and_key() {
    let with = |info: Value| {
        let (dir, tensors, _) = checked();
        write(dir.path(), &tensors, &info);
        run(dir.path()).unwrap_err().to_string()
    };
    for (info, said) in [
        (json!([]), "a JSON object is needed"),
        (json!({"pad_id": 99}), "'pad_id': is not a whole number from 0 to 22"),
        (json!({"texts": []}), "'texts': is not a list of 1 to"),
        (json!({"texts": ["the"]}), "'ids.0': is missing"),
        (json!({"texts": [3], "ids": [[1]]}), "'texts.0': is not a text"),
        (json!({"tokenizer_cases": [{}]}), "'tokenizer_cases.0.text': is missing"),
        (json!({"tokenizer_pair": {"texts": ["a"]}}), "'tokenizer_pair.texts.1': is missing"),
        (json!({"mask_id": "x"}), "'mask_id': is not a whole number"),
    ] {
        let why = with(info);
        assert!(why.contains("expected.json") && why.contains(said), "{why:?} should say {said:?}");
    }
    let (dir, _, _) = checked();
    let why = run(dir.path()).unwrap_err().to_string();
    assert!(why.contains("no expected.json; a check needs expected.json"), "{why}");
}

#[test]
fn rounded_cases_are_compared_and_refused_alike() {
    let dir = folder(&bert());
    let info = |case: Value| {
        std::fs::write(dir.path().join("expected.json"), json!({"cases": [case]}).to_string()).unwrap();
        run(dir.path())
    };
    let report =
        info(json!({"text": "the key", "input_ids": [2, 5, 6, 3], "tokens": ["[CLS]", "the", "key", "[SEP]"]}));
    assert!(report.unwrap().passed());
    let report = info(json!({"text": "the key", "input_ids": [2, 5, 5, 3]})).unwrap();
    assert_eq!((report.rows[0].deviation, report.passed()), (1.0, false));
    for (case, said) in [
        (json!({}), "'cases.0.text': is missing"),
        (json!({"text": "x"}), "'cases.0.input_ids': is missing"),
        (json!({"text": "x", "input_ids": [2], "next_top5": [{}]}), "'cases.0.next_top5.0.id': is missing"),
        (json!({"text": "x", "input_ids": [2], "next_top5": [{"id": 23}]}), "whole number from 0 to 22"),
        (json!({"text": "x", "input_ids": [2], "hidden_state_norms": [["a"]]}), "is not a number"),
        (json!({"text": "x", "input_ids": [2], "mean_nll": 3}), ""),
    ] {
        match info(case) {
            Err(e) => assert!(!said.is_empty() && e.to_string().contains(said), "{e}"),
            Ok(_) => assert!(said.is_empty(), "was accepted in place of {said:?}"),
        }
    }
    for ids in [json!([]), json!([99]), json!(vec![2; 11])] {
        assert!(info(json!({"text": "x", "input_ids": ids})).is_err());
    }
}

#[test]
fn a_check_can_be_stopped() {
    let (dir, tensors, info) = checked();
    write(dir.path(), &tensors, &info);
    let mut beats = 0;
    let mut pulse = |_: usize, _: usize| {
        beats += 1;
        if beats == 3 { Err(Cancelled) } else { Ok(()) }
    };
    assert!(matches!(check(&load(dir.path()), dir.path(), &mut pulse), Err(ModelError::Cancelled(_))));
}
