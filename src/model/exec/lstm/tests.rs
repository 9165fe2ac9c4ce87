//! Tests of the LSTM executor: states against a plain loop in double precision, gradients against finite differences, and consistency
//! between equivalent passes.

use rand::RngExt;

use super::*;
use crate::arch::{Embedding, Network};
use crate::testing::{VOCAB, batch, distance, params};
use crate::{Device, Gradient, Model};
use stats::rng::stream;

fn arch(layers: usize) -> Arch {
    Arch {
        family: "bilstm-max".into(),
        network: Network::BiLstm,
        hidden: 14,
        layers,
        embedding: Embedding::plain(5),
        ..Arch::table(VOCAB, 5)
    }
}

fn model(layers: usize) -> (Model, Params) {
    let arch = arch(layers);
    let params = params(&arch, 8);
    (Model::from_params("lstm", arch, params.clone(), None, Device::Cpu).unwrap(), params)
}

/// LSTM states computed by definition in f64, one sentence and direction at a time.
fn plain(params: &Params, layers: usize, ids: &[u32]) -> Vec<Vec<f64>> {
    let row = |name: &str, i: usize| -> Vec<f64> {
        let a = params.get(name).unwrap();
        if a.shape.len() == 1 { vec![f64::from(a.data[i])] } else { a.row(i).iter().map(|v| f64::from(*v)).collect() }
    };
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    let mut x: Vec<Vec<f64>> = ids.iter().map(|i| row("embed.tokens.weight", *i as usize)).collect();
    for l in 0..layers {
        let mut out = vec![vec![0.0; 14]; ids.len()];
        for (at, name) in [(0, "forward"), (7, "backward")] {
            let (mut h, mut c) = (vec![0.0; 7], vec![0.0; 7]);
            let order: Vec<usize> = if at == 0 { (0..ids.len()).collect() } else { (0..ids.len()).rev().collect() };
            for t in order {
                let gate = |g: usize| {
                    let of = |part: &str| format!("blocks.{l}.{name}.{part}");
                    dot(&row(&of("ih.weight"), g), &x[t])
                        + dot(&row(&of("hh.weight"), g), &h)
                        + row(&of("ih.bias"), g)[0]
                        + row(&of("hh.bias"), g)[0]
                };
                let gates: Vec<f64> = (0..28).map(gate).collect();
                for j in 0..7 {
                    c[j] = sigmoid(gates[7 + j]) * c[j] + sigmoid(gates[j]) * gates[14 + j].tanh();
                    h[j] = sigmoid(gates[21 + j]) * c[j].tanh();
                }
                out[t][at..at + 7].copy_from_slice(&h);
            }
        }
        x = out;
    }
    x
}

#[test]
fn states_match_the_definition() {
    for layers in [1, 2] {
        let (m, params) = model(layers);
        let b = batch(&[4, 1, 9, 4, 6], 3);
        let at = HookPoint::ResidPost(layers - 1);
        let got = m.forward(&b, &Plan::default().capture(at)).unwrap().take(at).unwrap();
        assert_eq!(got.shape, [5, 9, 14]);
        for (r, n) in b.lengths().iter().enumerate() {
            let want = plain(&params, layers, &b.ids()[r * 9..r * 9 + n]);
            for t in 0..9 {
                let want = want.get(t).cloned().unwrap_or(vec![0.0; 14]);
                let worst = got.at(r, t).iter().zip(&want).map(|(g, w)| (f64::from(*g) - w).abs()).fold(0.0, f64::max);
                assert!(worst < 2e-6, "sentence {r}, word {t}: {worst}");
            }
        }
    }
}

#[test]
fn results_are_bit_identical_in_any_batch() {
    let (m, _) = model(2);
    let many: Vec<usize> = (0..200).map(|i| 1 + i % 9).collect();
    let (all, at) = (batch(&many, 4), HookPoint::ResidPost(1));
    let together = m.forward(&all, &Plan::default().capture(at)).unwrap().take(at).unwrap();
    for r in [0, 7, 101, 199] {
        let n = many[r];
        let alone = Batch::new(&[&all.ids()[r * all.len()..r * all.len() + n]], 0).unwrap();
        let one = m.forward(&alone, &Plan::default().capture(at)).unwrap().take(at).unwrap();
        assert!((0..n).all(|t| one.at(0, t) == together.at(r, t)), "sentence {r}");
    }
}

#[test]
fn gradients_agree_with_finite_differences() {
    let (m, _) = model(2);
    let b = batch(&[3, 6, 1], 6);
    let mut rng = stream(1, "lstm gradients");
    let mut random = |shape: Vec<usize>| {
        let n = shape.iter().product();
        Array::new(shape, (0..n).map(|_| rng.random_range(-1.0f32..1.0)).collect::<Vec<_>>())
    };
    let (value, words) = (random(vec![3, 6, 14]), random(vec![3, 6, 5]));
    let of = Scalar::Cotangent { at: HookPoint::ResidPost(1), sites: Sites::All, value };
    let gradient = Gradient { of, wrt: vec![HookPoint::Embed, HookPoint::ResidPost(0)] };
    let plan =
        |words: &Array| Plan { gradient: Some(gradient.clone()), ..Plan::default().from_embeddings(words.clone()) };
    let trace = m.forward(&b, &plan(&words)).unwrap();
    let g = trace.gradient(HookPoint::Embed).unwrap();
    let mut checked = 0;
    for (r, n) in b.lengths().iter().enumerate() {
        for i in (r * 6 * 5)..(r * 6 + n) * 5 {
            let moved = |by: f32| {
                let mut words = words.clone();
                words.data[i] += by;
                f64::from(m.forward(&b, &plan(&words)).unwrap().scalars[0])
            };
            let numeric = (moved(0.01) - moved(-0.01)) / 0.02;
            assert!((numeric - f64::from(g.data[i])).abs() < 2e-3, "{i}: {numeric} {}", g.data[i]);
            checked += 1;
        }
    }
    assert_eq!(checked, 50);
    assert_eq!(trace.gradient(HookPoint::ResidPost(0)).unwrap().shape, [3, 6, 14]);
}

#[test]
fn edits_and_resumed_passes_propagate_upwards() {
    let (m, _) = model(2);
    let b = batch(&[5, 3], 9);
    let (mid, top) = (HookPoint::ResidPost(0), HookPoint::ResidPost(1));
    let whole = m.forward(&b, &Plan::default().capture(mid).capture(top)).unwrap();
    let resumed = m.forward(&b, &Plan::default().resume(1, whole.get(mid).unwrap().clone()).capture(top)).unwrap();
    assert_eq!(whole.get(top).unwrap(), resumed.get(top).unwrap());
    let vector = Array::new([14], vec![0.3; 14]);
    let edit = |how| Edit { at: mid, sites: vec![(0, 2)], how, value: vector.clone() };
    let run = |how| m.forward(&b, &Plan::default().edit(edit(how)).capture(mid).capture(top)).unwrap();
    let changed = run(EditKind::Overwrite);
    assert_eq!(changed.get(mid).unwrap().at(0, 2), vector.data);
    assert!(distance(changed.get(top).unwrap(), whole.get(top).unwrap()) > 1e-3);
    let kept = |t: &Trace| t.get(top).unwrap().at(1, 2).to_vec();
    assert_eq!(kept(&changed), kept(&whole), "the other sentence is unchanged");
    let mut by_hand = whole.get(mid).unwrap().clone();
    by_hand.row_mut(2).iter_mut().for_each(|v| *v += 0.3);
    let again = m.forward(&b, &Plan::default().resume(1, by_hand).capture(top)).unwrap();
    assert_eq!(run(EditKind::Add).get(top).unwrap(), again.get(top).unwrap());
}

#[test]
fn overwriting_stops_gradients() {
    let (m, _) = model(2);
    let b = batch(&[4], 9);
    let of = || Scalar::Cotangent {
        at: HookPoint::ResidPost(0),
        sites: Sites::All,
        value: Array::new([1, 4, 14], vec![1.0; 56]),
    };
    let edit = Edit { at: HookPoint::Embed, sites: vec![(0, 1)], how: EditKind::Overwrite, value: Array::zeros([5]) };
    let plan = Plan::default().edit(edit).gradient(of(), &[HookPoint::Embed]);
    let g = m.forward(&b, &plan).unwrap();
    // The gradient refers to the value after edits.
    assert!(g.gradient(HookPoint::Embed).unwrap().at(0, 1).iter().any(|v| *v != 0.0));
    let above = m.forward(&b, &Plan::default().gradient(of(), &[HookPoint::ResidPost(1)]));
    assert!(matches!(above, Err(ModelError::MissingGradient(HookPoint::ResidPost(1)))));
    for at in [HookPoint::Pattern(0), HookPoint::ResidPre(0), HookPoint::ResidPost(2)] {
        assert!(m.forward(&b, &Plan::default().capture(at)).is_err(), "{at}");
    }
    assert!(m.forward(&b, &Plan::default().resume(0, Array::zeros([1, 4, 14]))).is_err());
    assert!(matches!(m.forward(&b, &Plan::default().logits_at(Sites::All)), Err(ModelError::NoHead { .. })));
}
