//! Compares the logit lens with logits computed from the head in double precision.

use super::*;
use base::NoPulse;
use labs::examples;
use labs::interventions::lens::LensSpec;
use labs::stimuli::Where;
use model::weights::Checkpoint;
use model::{Batch, Model, ModelSource, Plan, Sites};
use probe::Split;

fn stored(weights: &Checkpoint, name: &str) -> Vec<Vec<f64>> {
    let array = weights.read(name).unwrap().unwrap();
    let width = *array.shape.last().unwrap();
    array.data.chunks(width).map(|row| row.iter().map(|v| f64::from(*v)).collect()).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn layer_norm(weights: &Checkpoint, name: &str, x: &[f64], eps: f64) -> Vec<f64> {
    let mean = x.iter().sum::<f64>() / x.len() as f64;
    let variance = x.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / x.len() as f64;
    let (scale, shift) = (stored(weights, &format!("{name}.weight")), stored(weights, &format!("{name}.bias")));
    let each = x.iter().zip(&scale[0]).zip(&shift[0]);
    each.map(|((v, scale), shift)| (v - mean) / (variance + eps).sqrt() * scale + shift).collect()
}

/// x Φ(x), with Φ computed by Simpson's rule.
fn gelu(x: f64) -> f64 {
    let density = |t: f64| (-t * t / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let (n, h) = (400, x / 400.0);
    let inner: f64 = (1..n).map(|i| if i % 2 == 1 { 4.0 } else { 2.0 } * density(i as f64 * h)).sum();
    x * (0.5 + h / 3.0 * (density(0.0) + inner + density(x)))
}

/// Logits of two words from a state, through BERT's head or through GPT-2's last norm and embeddings.
fn logits(weights: &Checkpoint, h: &[f32], forms: [u32; 2]) -> [f64; 2] {
    let x: Vec<f64> = h.iter().map(|v| f64::from(*v)).collect();
    if !weights.contains("cls.predictions.bias") {
        let x = layer_norm(weights, "transformer.ln_f", &x, 1e-5);
        let words = stored(weights, "transformer.wte.weight");
        return forms.map(|f| dot(&words[f as usize], &x));
    }
    let dense = stored(weights, "cls.predictions.transform.dense.weight");
    let bias = stored(weights, "cls.predictions.transform.dense.bias");
    let x: Vec<f64> = dense.iter().zip(&bias[0]).map(|(row, b)| gelu(dot(row, &x) + b)).collect();
    let x = layer_norm(weights, "cls.predictions.transform.LayerNorm", &x, 1e-12);
    let (words, bias) =
        (stored(weights, "bert.embeddings.word_embeddings.weight"), stored(weights, "cls.predictions.bias"));
    forms.map(|f| dot(&words[f as usize], &x) + bias[0][f as usize])
}

#[test]
fn lens_applies_the_model_head_at_every_layer() {
    for name in ["bert-tiny", "gpt2-tiny"] {
        let mut spec = plain(name);
        spec.methods.truncate(1);
        spec.lens = Some(LensSpec::default());
        let mut rig = Rig::new(Cache::none());
        rig.send(run(1, spec.clone()));
        assert_eq!(rig.finish(), Outcome::Done, "{:?}", rig.board.notices);
        let found = &rig.results().lens;
        let model = Model::load(&name.parse::<ModelSource>().unwrap(), Device::Cpu).unwrap();
        let builtin = model::builtin::find(name).unwrap();
        let weights = Checkpoint::from_bytes(name, builtin.weights).unwrap();
        let task = spec.task.task(&mut NoPulse).unwrap();
        let (set, _) = examples::of(task, &spec.task, spec.seed, &mut NoPulse).unwrap();
        let stimuli = examples::stimuli(task, &model, &set, (false, model::Long::Drop), &mut NoPulse).unwrap();
        let test = Split::new(stimuli.list.len(), spec.seed).unwrap().test().rows().to_vec();
        assert_eq!(found.iter().map(|l| l.value.layer).collect::<Vec<_>>(), [1, 2]);
        for lens in found {
            let h = stimuli.hidden(&model, (lens.value.layer, Where::Said), &test, &mut NoPulse).unwrap();
            let right = test.iter().enumerate().filter(|(i, row)| {
                let s = &stimuli.list[**row];
                let correct = usize::from(set.examples[s.example].zc);
                let [a, b] = logits(&weights, h.row(*i), s.forms.unwrap());
                if correct == 0 { a > b } else { b > a }
            });
            let share = right.count() as f64 / test.len() as f64;
            println!("{name}, layer {}: {:?} against {share}", lens.value.layer, lens.value);
            assert!((lens.value.head.mean - share).abs() < 1e-12 && lens.n == test.len());
            assert!(lens.value.head.lo < share && lens.value.oracle.mean > 0.5);
        }
        // At the last layer, the lens gives the model's own answer.
        let answers = test.iter().filter(|row| {
            let s = &stimuli.list[**row];
            let plan = Plan::default().logits_at(Sites::per_row(&[s.position]));
            let trace = model.forward(&Batch::new(&[&s.ids], 0).unwrap(), &plan).unwrap();
            let [a, b] = s.forms.unwrap().map(|f| trace.logits().unwrap().row(0)[f as usize]);
            let correct = usize::from(set.examples[s.example].zc);
            if correct == 0 { a > b } else { b > a }
        });
        assert_eq!(found[1].value.head.mean, answers.count() as f64 / test.len() as f64);
    }
}

#[test]
fn lens_at_missing_layer_is_rejected() {
    let mut rig = Rig::new(Cache::none());
    let mut spec = plain("bert-tiny");
    spec.lens = Some(LensSpec { layers: vec![LayerRef::At(7)] });
    rig.send(run(1, spec));
    match rig.finish() {
        Outcome::Failed(p) => assert!(p.r#where == "lens.layers" && p.what.contains("layer 7"), "{p:?}"),
        other => panic!("{other:?}"),
    }
}
