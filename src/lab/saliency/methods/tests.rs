//! Tests properties of every method with every kind of built-in model.

use super::super::input::Reader;
use super::super::sentence::own;
use super::super::words::to_words;
use super::path::{At, Ends};
use super::*;
use crate::predict::predict;
use crate::spec::{Baseline, Direction, HeadRef, ScoreKind, TargetKind};
use base::pulse::NoPulse;
use model::{Array, Device, ModelSource};

fn model(name: &str) -> Model {
    Model::load(&name.parse::<ModelSource>().unwrap(), Device::Cpu).unwrap()
}

fn quick() -> Spec {
    let mut spec = Spec::shipped();
    (spec.integrated_gradients.steps, spec.integrated_gradients.most_steps) = (16, 64);
    spec
}

/// The inputs for some sentences, with the model's predictions.
fn asked(model: &Model, texts: &[&str]) -> (Vec<Input>, Vec<Vec<u32>>) {
    let reader = Reader::new(model).unwrap();
    let read = |text: &&str| reader.read(&own(text, None).unwrap()).unwrap().unwrap();
    let inputs: Vec<Input> = texts.iter().map(read).collect();
    let all: Vec<&Input> = inputs.iter().collect();
    let predicted = predict(model, &all, 4096, &mut NoPulse).unwrap().into_iter().map(|p| p.ids).collect();
    (inputs, predicted)
}

fn cases<'a>((inputs, predicted): &'a (Vec<Input>, Vec<Vec<u32>>), names: &'a [&'a str]) -> Vec<Case<'a>> {
    let each = inputs.iter().zip(predicted).zip(names);
    each.map(|((input, predicted), name)| Case { input, predicted, name }).collect()
}

#[test]
fn method_ids_match_file_names() {
    assert_eq!(METHODS.iter().map(|m| m.id()).collect::<Vec<_>>(), NAMES);
    for method in METHODS {
        assert_eq!(named(&method.short().to_lowercase()).map(|m| m.id()), Some(method.id()));
        assert!(!method.about().is_empty() && !method.title().is_empty());
    }
    assert!(named("nothing").is_none());
}

#[test]
fn scores_do_not_depend_on_the_batch() {
    let texts = ["The old dog barks and the cat [MASK].", "A cat [MASK].", "The old dog barks and the cat [MASK]."];
    for name in ["bert-tiny", "gpt2-tiny", "bart-tiny", "roberta-tiny"] {
        let (model, spec) = (model(name), quick());
        let asked = asked(&model, &texts);
        let all = cases(&asked, &["a", "b", "a"]);
        for method in METHODS.iter().filter(|m| m.refuses(&model, &spec).is_none()) {
            let found = method.explain(&model, &all, &spec, &mut NoPulse).unwrap();
            assert_eq!(found.len(), 3);
            for (scores, case) in found.iter().zip(&all) {
                assert_eq!(scores.tokens.len(), case.input.ids.len());
                assert!(scores.tokens.iter().all(|s| s.is_finite()));
                let frame = scores.tokens.iter().zip(&case.input.frame).filter(|(_, frame)| **frame);
                assert!(frame.into_iter().all(|(s, _)| *s == 0.0), "{name} {}", method.id());
            }
            let alone = method.explain(&model, &all[..1], &spec, &mut NoPulse).unwrap();
            let close = |a: &Scores, b: &Scores| {
                let scale = a.tokens.iter().fold(1e-9f64, |m, s| m.max(s.abs()));
                a.tokens.iter().zip(&b.tokens).all(|(a, b)| (a - b).abs() < 2e-3 * scale)
            };
            assert!(
                close(&found[0], &found[2]) && close(&found[0], &alone[0]),
                "{name} {}: {found:?} {alone:?}",
                method.id()
            );
        }
    }
}

#[test]
fn integrated_gradients_sum_to_the_gain() {
    for name in ["bert-tiny", "gpt2-tiny", "bart-tiny"] {
        let model = model(name);
        let asked = asked(&model, &["The capital is [MASK]", "The dogs [MASK]"]);
        for (target, baseline) in [
            (TargetKind::Probability, Baseline::Pad),
            (TargetKind::Logit, Baseline::Zero),
            (TargetKind::Logit, Baseline::Mean),
            (TargetKind::Probability, Baseline::Mask),
        ] {
            let mut spec = quick();
            let path = &mut spec.integrated_gradients;
            (path.target, path.baseline) = (target, baseline);
            let all = cases(&asked, &["a", "b"]);
            let found = named("ig").unwrap().explain(&model, &all, &spec, &mut NoPulse).unwrap();
            let ends = Ends::new(&model, &all, baseline, &mut NoPulse).unwrap();
            let at = At { model: &model, cases: &all, ends: &ends, target };
            for (k, scores) in found.iter().enumerate() {
                let values = at.values(&[Point::Along(k, 0.0), Point::Along(k, 1.0)], &mut NoPulse).unwrap();
                let (gain, sum) = (values[1] - values[0], scores.tokens.iter().sum::<f64>());
                let gap = (sum - gain).abs() / gain.abs().max(1e-3);
                // A separate pass without gradients must give the same number.
                assert!((gap - scores.gap.unwrap()).abs() < 1e-2, "{name} {target:?} {baseline:?}: {gap} {scores:?}");
                assert_eq!(scores.complete, Some(scores.gap.unwrap() <= 0.05));
            }
        }
    }
}

#[test]
fn occlusion_scores_equal_the_loss() {
    let (model, spec) = (model("bert-mini"), quick());
    let asked = asked(&model, &["The xylophonist near the gate [MASK] ."]);
    let all = cases(&asked, &["a"]);
    let input = all[0].input;
    assert!(input.words.iter().filter(|w| w.contains(&1)).count() > 1, "a word of several tokens");
    let found = named("occ").unwrap().explain(&model, &all, &spec, &mut NoPulse).unwrap().remove(0);
    let words = to_words(&found.tokens, &input.words, input.count);
    let gone = input.words.iter().map(|w| w.contains(&1)).collect();
    let points = [Point::Along(0, 1.0), Point::Without(0, gone)];
    let values = value_at_points(&model, &all, &points, Baseline::Pad, &mut NoPulse).unwrap();
    assert!((words[1] - (values[0] - values[1])).abs() < 1e-6, "{words:?} {values:?}");
}

#[test]
fn attention_and_rollout_sum_to_one() {
    let model = model("bert-mini");
    let asked = asked(&model, &["The dogs near the gate [MASK] ."]);
    let all = cases(&asked, &["a"]);
    let read = |direction, kind| heads(&model, &all, (0, direction, kind), &mut NoPulse).unwrap().remove(0);
    let weights = read(Direction::FromMask, ScoreKind::Softmax);
    for head in &weights {
        assert!((head.iter().sum::<f64>() - 1.0).abs() < 1e-5);
    }
    // Before the softmax, every head ranks the tokens in the same order.
    for (head, raw) in weights.iter().zip(read(Direction::FromMask, ScoreKind::Raw)) {
        let order = |scores: &[f64]| {
            let mut order: Vec<usize> = (0..scores.len()).collect();
            order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
            order
        };
        assert_eq!(order(head), order(&raw));
        assert!(raw.iter().sum::<f64>().abs() < 1e-9, "scores are centred");
    }
    let mean = put_together(&weights, HeadRef::Mean);
    let sum = put_together(&weights, HeadRef::Sum);
    assert!(mean.iter().zip(&sum).all(|(m, s)| (4.0 * m - s).abs() < 1e-12));
    assert_eq!(put_together(&weights, HeadRef::At(2)), weights[1]);
    let rolled = named("rollout").unwrap().explain(&model, &all, &quick(), &mut NoPulse).unwrap().remove(0);
    let sum: f64 = rolled.tokens.iter().sum();
    assert!(sum > 0.0 && sum < 1.0, "the contribution of special tokens is not shown: {sum}");
}

#[test]
fn attention_directions_read_rows_and_columns() {
    // There is one head with three tokens; the row is the attending token.
    let all = Array::new([1, 1, 3, 3], vec![0.1, 0.2, 0.7, 0.3, 0.3, 0.4, 0.5, 0.25, 0.25]);
    assert_eq!(to_mask(&all, 0, &[1], 3), [[0.2f32, 0.3, 0.25].map(f64::from).to_vec()]);
    let row = Array::new([1, 1, 3], vec![0.3, 0.3, 0.4]);
    assert_eq!(from_mask(&row, 0..1, 3, ScoreKind::Softmax), [[0.3f32, 0.3, 0.4].map(f64::from).to_vec()]);
}

#[test]
fn unavailable_methods_are_refused_with_a_reason() {
    let spec = Spec::shipped();
    let refused = |model: &Model, spec: &Spec| -> Vec<&'static str> {
        METHODS.iter().filter(|m| m.refuses(model, spec).is_some()).map(|m| m.id()).collect()
    };
    assert_eq!(refused(&model("bart-tiny"), &spec), ["rollout"]);
    assert!(refused(&model("gpt2-tiny"), &spec).is_empty());
    let mut to = spec.clone();
    to.attention.direction = Direction::ToMask;
    assert_eq!(refused(&model("gpt2-tiny"), &to), ["attention"]);
    assert!(refused(&model("bert-tiny"), &to).is_empty());
    let kept = (Device::Cpu, Dtype::Bf16);
    let half = Model::load_with(&"bert-tiny".parse().unwrap(), kept, &mut |_| Ok(())).unwrap();
    assert_eq!(refused(&half, &spec), ["integrated_gradients", "gradient_x_input"]);
    let reason = named("ig").unwrap().refuses(&half, &spec).unwrap();
    assert!(reason.contains("bf16") && reason.contains("f32"), "{reason}");
}
