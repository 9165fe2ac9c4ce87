//! Tests of training: the loss is the cross entropy, gradients are its derivatives, steps follow AdamW, and seeds are reproducible.

use super::*;
use crate::plan::Sites;
use crate::testing::{self, VOCAB, archs};

const DEVICES: [Device; 2] = [Device::Cpu, Device::CandleCpu];

fn targets(list: &[(usize, usize, u32)]) -> Vec<Target> {
    list.iter().map(|&(row, position, token)| Target { row, position, token }).collect()
}

#[test]
fn loss_is_mean_cross_entropy() {
    for (arch, device) in archs().into_iter().flat_map(|a| DEVICES.map(|d| (a.clone(), d))) {
        let params = testing::params(&arch, 1);
        let t = Trainer::from_params(&arch, &params, AdamW::default(), device).unwrap();
        let b = testing::batch(&[4, 6], 2);
        let chosen = targets(&[(0, 1, 5), (1, 5, 0), (1, 2, 22)]);
        let sites = Sites::At(chosen.iter().map(|t| (t.row, t.position)).collect());
        let logits = t.forward(&b, &Plan::default().logits_at(sites)).unwrap().logits.unwrap();
        let want: f64 = (0..3)
            .map(|i| {
                let row: Vec<f64> = logits.row(i).iter().map(|&v| f64::from(v)).collect();
                row.iter().map(|v| v.exp()).sum::<f64>().ln() - row[chosen[i].token as usize]
            })
            .sum::<f64>()
            / 3.0;
        let got = f64::from(t.loss(&b, &chosen).unwrap());
        assert!((got - want).abs() < 1e-5, "{}: {got} for {want}", arch.family);
    }
}

#[test]
fn parameter_gradients_match_finite_differences() {
    for (arch, device) in archs().into_iter().flat_map(|a| DEVICES.map(|d| (a.clone(), d))) {
        let params = testing::params(&arch, 3);
        let b = testing::batch(&[3, 5], 4);
        let chosen = targets(&[(0, 1, 5), (1, 3, 0), (1, 2, 22)]);
        let trainer = |p: &Params| Trainer::from_params(&arch, p, AdamW::default(), device).unwrap();
        let gradients = trainer(&params).0.gradients(&b, &chosen).unwrap();
        for (parameter, g) in arch.parameters().iter().zip(gradients) {
            let g = g.unwrap_or_else(|| panic!("{}: no gradient for {}", arch.family, parameter.name)).data;
            // The element with the steepest gradient in each parameter, and a fixed element.
            let steepest = (0..g.len()).max_by(|&i, &j| g[i].abs().total_cmp(&g[j].abs())).unwrap();
            for i in [steepest, g.len() / 2] {
                let moved = |by: f32| {
                    let mut p = params.clone();
                    let mut array = p.take(&parameter.name).unwrap();
                    let before = array.data[i];
                    array.data[i] += by;
                    let step = f64::from(array.data[i] - before);
                    p.insert(parameter.name.clone(), array);
                    (f64::from(trainer(&p).loss(&b, &chosen).unwrap()), step)
                };
                let slope = |h: f32| {
                    let ((up, a), (down, b)) = (moved(h), moved(-h));
                    (up - down) / (a - b)
                };
                let estimate = (4.0 * slope(0.01) - slope(0.02)) / 3.0;
                let error = (estimate - f64::from(g[i])).abs();
                assert!(
                    error < 2e-4 + 2e-3 * estimate.abs(),
                    "{} {device} {}[{i}]: {} for {estimate}",
                    arch.family,
                    parameter.name,
                    g[i]
                );
            }
        }
    }
}

#[test]
fn cpu_and_candle_gradients_agree() {
    for arch in archs() {
        let params = testing::params(&arch, 11);
        let b = testing::batch(&[7, 2, 5], 12);
        let chosen = targets(&[(0, 1, 5), (0, 6, 3), (2, 3, 0), (1, 0, 22), (0, 1, 7)]);
        let gradients = DEVICES.map(|d| {
            let mut t = Trainer::from_params(&arch, &params, AdamW::default(), d).unwrap();
            t.0.gradients(&b, &chosen).unwrap()
        });
        for ((parameter, ours), theirs) in arch.parameters().iter().zip(&gradients[0]).zip(&gradients[1]) {
            let (ours, theirs) = (ours.as_ref().unwrap(), theirs.as_ref().unwrap());
            let scale = theirs.data.iter().fold(1e-3f32, |m, v| m.max(v.abs()));
            let worst = testing::distance(ours, theirs) / scale;
            assert!(worst < 2e-4, "{} {}: {worst}", arch.family, parameter.name);
        }
    }
}

#[test]
fn a_step_is_adamw_with_clipping() {
    DEVICES.into_iter().for_each(steps_are_adamw);
}

fn steps_are_adamw(device: Device) {
    let arch = archs().remove(0);
    let params = testing::params(&arch, 5);
    let b = testing::batch(&[4], 6);
    let chosen = targets(&[(0, 1, 5)]);
    let settings = AdamW { clip: 0.01, weight_decay: 0.1, ..AdamW::default() };
    let mut t = Trainer::from_params(&arch, &params, settings, device).unwrap();
    let lr = 1e-3;
    let mut m = std::collections::BTreeMap::new();
    for step in 1..=3i32 {
        let before = t.params().unwrap();
        let gradients = t.0.gradients(&b, &chosen).unwrap();
        let wide = |g: Option<Array>| -> Vec<f64> { g.unwrap().data.into_iter().map(f64::from).collect() };
        let all: Vec<(String, Role, Vec<f64>)> =
            arch.parameters().into_iter().zip(gradients).map(|(p, g)| (p.name, p.role, wide(g))).collect();
        let norm = all.iter().flat_map(|(_, _, g)| g).map(|v| v * v).sum::<f64>().sqrt();
        assert!(norm > 0.01, "the gradient must exceed the clipping norm");
        t.step(&b, &chosen, lr).unwrap();
        let after = t.params().unwrap();
        let mut worst = 0f64;
        for (name, role, g) in all {
            let (x, y) = (before.get(&name).unwrap(), after.get(&name).unwrap());
            let moments = m.entry(name).or_insert_with(|| vec![(0.0, 0.0); g.len()]);
            for (i, (m1, m2)) in moments.iter_mut().enumerate() {
                let g = g[i] * 0.01 / norm;
                *m1 = 0.9 * *m1 + 0.1 * g;
                *m2 = 0.98 * *m2 + 0.02 * g * g;
                let direction = (*m1 / (1.0 - 0.9f64.powi(step))) / ((*m2 / (1.0 - 0.98f64.powi(step))).sqrt() + 1e-8);
                let decay = if role == Role::Weight { 1.0 - lr * 0.1 } else { 1.0 };
                let want = f64::from(x.data[i]) * decay - lr * direction;
                // The sign of a gradient near zero is rounding noise.
                if g.abs() > 1e-7 {
                    worst = worst.max((want - f64::from(y.data[i])).abs());
                }
            }
        }
        println!("{device}, step {step}: largest deviation from AdamW {worst:.1e}");
        assert!(worst < 5e-6, "{worst}");
    }
}

#[test]
fn trainer_overfits_a_few_sentences() {
    for (arch, device) in archs().into_iter().take(2).flat_map(|a| DEVICES.map(|d| (a.clone(), d))) {
        let mut t = Trainer::new(&arch, 1, AdamW::default(), device).unwrap();
        let b = testing::batch(&[5, 5, 4], 9);
        let chosen = targets(&[(0, 2, 3), (1, 4, 17), (2, 1, 8)]);
        let first = t.loss(&b, &chosen).unwrap();
        assert!((first - (VOCAB as f32).ln()).abs() < 0.1, "at first, all tokens are about equally likely: {first}");
        for _ in 0..60 {
            t.step(&b, &chosen, 1e-2).unwrap();
        }
        let last = t.loss(&b, &chosen).unwrap();
        assert!(last < 0.1, "{}: {first} to {last}", arch.family);
    }
}

#[test]
fn training_is_reproducible_from_its_seed() {
    let arch = archs().remove(0);
    let (a, b, c) = (initial(&arch, 7).unwrap(), initial(&arch, 7).unwrap(), initial(&arch, 8).unwrap());
    assert_eq!(a, b);
    assert_ne!(a, c);
    let tokens = &a.get("embed.tokens.weight").unwrap().data;
    // Pinned, because published cards state seeds, which must give the same values in later versions of the program.
    assert_eq!(tokens[..3], PINNED);
    let sd = (tokens.iter().map(|v| v * v).sum::<f32>() / tokens.len() as f32).sqrt();
    assert!((sd - 0.02).abs() < 0.004, "{sd}");
    let train = |device| {
        let mut t = Trainer::new(&arch, 7, AdamW::default(), device).unwrap();
        for _ in 0..5 {
            t.step(&testing::batch(&[5, 3], 1), &targets(&[(0, 2, 3)]), 1e-3).unwrap();
        }
        t.params().unwrap()
    };
    for device in DEVICES {
        assert_eq!(train(device), train(device), "{device}");
    }
}

const PINNED: [f32; 3] = [-0.015507438, -0.027668435, 0.017794259];

#[test]
fn failed_steps_change_nothing() {
    DEVICES.into_iter().for_each(refusals);
}

fn refusals(device: Device) {
    let arch = archs().remove(0);
    let mut t = Trainer::new(&arch, 1, AdamW::default(), device).unwrap();
    let b = testing::batch(&[3, 2], 1);
    let before = t.params().unwrap();
    for bad in [targets(&[]), targets(&[(1, 2, 0)]), targets(&[(0, 0, 23)]), targets(&[(2, 0, 0)])] {
        assert!(matches!(t.step(&b, &bad, 1e-3), Err(ModelError::Training(_))));
    }
    assert_eq!(t.params().unwrap(), before);
    assert_eq!(t.steps(), 0);
    let mut wild = testing::params(&arch, 1);
    let mut w = wild.take("head.transform.weight").unwrap();
    w.data.fill(1e38);
    wild.insert("head.transform.weight", w);
    let mut t = Trainer::from_params(&arch, &wild, AdamW::default(), device).unwrap();
    let e = t.step(&b, &targets(&[(0, 1, 5)]), 1e-3);
    assert!(matches!(e, Err(ModelError::Training(_))), "{e:?}");
    assert_eq!(t.params().unwrap(), wild);
}

#[test]
fn export_is_limited_to_supported_families() {
    let dir = tempfile::tempdir().unwrap();
    let neox = archs().remove(2);
    let e = Trainer::new(&neox, 1, AdamW::default(), Device::Cpu).unwrap().export(dir.path());
    assert!(matches!(e, Err(ModelError::Training(_))), "{e:?}");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}
