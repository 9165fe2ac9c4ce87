//! The saliency lab's methods compared with transformers and captum: integrated gradients, gradient × input and attention in
//! `reference/models`, and the ways of reading attention in `reference/saliency`.

use std::path::Path;

use probity::base::NoPulse;
use probity::lab::saliency::Spec;
use probity::lab::saliency::input::Input;
use probity::lab::saliency::methods::{Case, Scores, from_mask, heads, named, put_together, shape, to_mask};
use probity::lab::saliency::spec::{Direction, HeadRef, ScoreKind, TargetKind};
use probity::model::arch::Head;
use probity::model::{Array, Model, ModelSource};

use super::common::{Golden, Tensors, json, subfolders};
use super::harness::say;
use crate::harness::device;

crate::harness::tests! {
    Needs::Reference("models") => [methods_give_what_others_computed];
    Needs::Larger("saliency") => [attention_is_read_both_ways];
}

/// Tolerance from the README of the reference, as a fraction of the largest score.
const SCORE: f64 = 1e-3;
const ATTENTION: f64 = 2e-5;

fn inputs(want: &Tensors) -> Vec<(Input, Vec<u32>)> {
    let (ids, mask) = (want.get("input_ids"), want.get("attention_mask"));
    let (baseline, width) = (want.get("baseline_ids"), ids.shape[1]);
    let (positions, targets) = (want.get("position").indices(), want.get("target").indices());
    let rows = ids.data.chunks(width).zip(mask.data.chunks(width)).zip(baseline.data.chunks(width));
    rows.zip(positions.into_iter().zip(targets))
        .map(|(((ids, mask), baseline), (position, target))| {
            let length = mask.iter().filter(|m| **m > 0.0).count();
            let ids: Vec<u32> = ids[..length].iter().map(|i| *i as u32).collect();
            let input = Input {
                tokens: vec![String::new(); length],
                frame: ids.iter().zip(baseline).map(|(a, b)| f64::from(*a) == *b).collect(),
                words: (0..length).map(|t| vec![t]).collect(),
                slots: vec![position],
                further: 0,
                excluded: Vec::new(),
                answer: Vec::new(),
                others: Vec::new(),
                cut: false,
                count: length,
                ids,
            };
            (input, vec![target as u32])
        })
        .collect()
}

/// Largest deviation over the relevant tokens, as a fraction of the largest score.
fn deviation(found: &[Scores], inputs: &[(Input, Vec<u32>)], want: &Golden) -> f64 {
    let width = want.shape[1];
    let largest = want.data.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    let mut most = 0.0f64;
    for ((scores, (input, _)), want) in found.iter().zip(inputs).zip(want.data.chunks(width)) {
        for (t, score) in scores.tokens.iter().enumerate().filter(|(t, _)| !input.frame[*t]) {
            most = most.max((score - want[t]).abs() / largest);
        }
    }
    most
}

fn methods_give_what_others_computed(dir: &Path) {
    let mut models = 0;
    for folder in subfolders(dir) {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let model = Model::load(&ModelSource::Dir(folder.clone()), device()).unwrap();
        let want = Tensors::load(&folder.join("expected.safetensors"));
        let typed = want.find("token_type_ids").is_some_and(|t| t.data.iter().any(|v| *v != 0.0));
        if model.arch().head == Head::None || want.find("ig.trapezoid.sum").is_none() || typed {
            continue;
        }
        models += 1;
        let inputs = inputs(&want);
        let cases: Vec<Case<'_>> =
            inputs.iter().map(|(input, predicted)| Case { input, predicted, name: "" }).collect();
        let mut spec = Spec::shipped();
        let path = &mut spec.integrated_gradients;
        path.steps = json(&folder.join("expected.json"))["ig"]["steps"].as_u64().unwrap() as usize;
        (path.most_steps, path.tolerance) = (path.steps, 1e6);
        for (target, method, key) in [
            (TargetKind::Logit, "integrated_gradients", "ig.trapezoid.sum"),
            (TargetKind::Probability, "integrated_gradients", "ig_probability.trapezoid.sum"),
            (TargetKind::Logit, "gradient_x_input", "grad_times_input"),
        ] {
            let Some(want) = want.find(key) else { continue };
            spec.integrated_gradients.target = target;
            let found = named(method).unwrap().explain(&model, &cases, &spec, &mut NoPulse).unwrap();
            let most = deviation(&found, &inputs, want);
            say!("{name}: {key}: largest deviation {most:.1e} of the largest score");
            assert!(most < SCORE, "{name} {key}: {most}");
        }
        attentions(&name, &model, &cases, &want);
    }
    assert!(models > 0, "no model was compared");
}

/// Compares attention between slots, layer by layer and head by head.
fn attentions(name: &str, model: &Model, cases: &[Case<'_>], want: &Tensors) {
    let key = if model.arch().decoder.is_some() { "cross_attentions" } else { "attentions" };
    let mut most = 0.0f64;
    for layer in 0..shape(model).0 {
        let Some(want) = want.find(&format!("{key}.{layer}")) else { continue };
        let what = (layer, Direction::FromMask, ScoreKind::Softmax);
        let found = heads(model, cases, what, &mut NoPulse).unwrap();
        let [_, count, queries, keys] = want.shape[..] else { panic!("{name}: {:?}", want.shape) };
        for (row, (found, case)) in found.iter().zip(cases).enumerate() {
            for (head, found) in found.iter().enumerate() {
                let begin = ((row * count + head) * queries + case.input.slots[0]) * keys;
                let each = found.iter().zip(&want.data[begin..begin + case.input.ids.len()]);
                most = each.fold(most, |m, (a, b)| m.max((a - b).abs()));
            }
        }
    }
    say!("{name}: {key}: largest deviation {most:.1e}");
    assert!(most < ATTENTION, "{name} {key}: {most}");
}

fn attention_is_read_both_ways(dir: &Path) {
    let (info, want) = (json(&dir.join("attention.json")), Tensors::load(&dir.join("attention.safetensors")));
    let all = info["cases"].as_array().unwrap();
    for (k, case) in all.iter().enumerate() {
        let of = |key: &str| case[key].as_u64().unwrap() as usize;
        let (count, length) = (of("heads"), of("length"));
        let slots: Vec<usize> =
            case["masked_positions"].as_array().unwrap().iter().map(|v| v.as_u64().unwrap() as usize).collect();
        let given = want.get(&format!("{k}.attention"));
        let pattern = Array::new([1, count, length, length], given.f32());
        let rows: Vec<f32> = slots
            .iter()
            .flat_map(|slot| {
                (0..count).flat_map(move |head| {
                    let begin = (head * length + slot) * length;
                    begin..begin + length
                })
            })
            .map(|at| given.data[at] as f32)
            .collect();
        let from =
            from_mask(&Array::new([slots.len(), count, length], rows), 0..slots.len(), length, ScoreKind::Softmax);
        let to = to_mask(&pattern, 0, &slots, length);
        let close = |key: String, found: &[f64]| {
            let want = &want.get(&format!("{k}.{key}")).data;
            let most = found.iter().zip(want).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            // The reference is in double precision, but our attention patterns are in single precision.
            assert!(found.len() == want.len() && most < 1e-6, "{k}.{key}: {most}");
        };
        close("mask_on_token".into(), &put_together(&from, HeadRef::Mean));
        close("token_on_mask".into(), &put_together(&to, HeadRef::Mean));
        for head in 0..count {
            close(format!("token_on_mask.head{head}"), &put_together(&to, HeadRef::At(head + 1)));
        }
        let order = |scores: &[f64]| {
            let mut order: Vec<u64> = (0..scores.len() as u64).collect();
            order.sort_by(|a, b| scores[*b as usize].total_cmp(&scores[*a as usize]));
            order
        };
        let wanted: Vec<u64> =
            case["order_token_on_mask"].as_array().unwrap().iter().map(|v| v.as_u64().unwrap()).collect();
        assert_eq!(order(&put_together(&to, HeadRef::Mean)), wanted);
    }
    assert!(!all.is_empty());
}
