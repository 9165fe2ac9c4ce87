//! Tests of models in f16 and bf16: results equal those with rounded weights, memory is halved, and gradients are refused.

use half::slice::HalfFloatSliceExt;
use half::vec::HalfFloatVecExt;
use half::{bf16, f16};
use proptest::prelude::*;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::Executor;
use super::agreement::{compare, random_arch, random_batch, random_plan};
use super::candle::CandleExecutor;
use super::cpu::CpuExecutor;
use crate::arch::{Arch, Role};
use crate::families::Size;
use crate::testing::{archs, batch, distance, params};
use crate::{
    Array, Batch, Device, Dtype, HookPoint, Model, ModelError, ModelSource, Params, Plan, Scalar, Sites, Target, Trace,
};

/// Rounds matrices and tables to a dtype and leaves other parameters unchanged.
fn rounded(arch: &Arch, params: &Params, dtype: Dtype) -> Params {
    let mut all = params.clone();
    for p in arch.parameters().into_iter().filter(|p| p.role == Role::Weight) {
        let mut a = params.get(&p.name).unwrap().clone();
        match dtype {
            Dtype::F32 => {}
            Dtype::F16 => a.data = Vec::<f16>::from_f32_slice(&a.data).to_f32_vec(),
            Dtype::Bf16 => a.data = Vec::<bf16>::from_f32_slice(&a.data).to_f32_vec(),
        }
        all.insert(p.name, a);
    }
    all
}

fn all_values(t: &Trace) -> Vec<f32> {
    let arrays = t.captures.iter().map(|(_, a)| a).chain(&t.logits);
    arrays.flat_map(|a| a.data.iter().copied()).collect()
}

/// Root mean square of the differences, relative to that of the values or to 0.1, whichever is larger.
fn noise(a: &Trace, b: &Trace) -> f32 {
    let (a, b) = (all_values(a), all_values(b));
    assert_eq!(a.len(), b.len());
    let square = |x: f32| f64::from(x) * f64::from(x);
    let apart: f64 = a.iter().zip(&b).map(|(a, b)| square(a - b)).sum();
    let size: f64 = b.iter().map(|b| square(*b)).sum::<f64>().max(0.01 * b.len() as f64);
    (apart / size.max(1e-30)).sqrt() as f32
}

/// Compares a random model in f16 and bf16, on both executors, with f32 arithmetic on the rounded weights. Some random models amplify every
/// rounding error, so deviations are measured relative to the difference between the results with bf16 and with f16 weights. Arithmetic in
/// 16 bits adds more rounding errors and may cause a few times that difference.
fn compare_halves(seed: u64) -> Result<(), TestCaseError> {
    let rng = &mut ChaCha8Rng::seed_from_u64(seed);
    let arch = random_arch(rng);
    prop_assume!(arch.validate().is_ok());
    let p = params(&arch, seed);
    let reference = |d| CpuExecutor::new(&arch, rounded(&arch, &p, d), Dtype::F32).unwrap();
    let [want16, wantb] = [Dtype::F16, Dtype::Bf16].map(reference);
    let [got16, gotb] = [Dtype::F16, Dtype::Bf16].map(|d| CpuExecutor::new(&arch, p.clone(), d).unwrap());
    let candle = CandleExecutor::new(&arch, p.clone(), Device::CandleCpu, Dtype::F16).unwrap();
    for _ in 0..20 {
        let batch = random_batch(rng, &arch);
        let plan = Plan { gradient: None, ..random_plan(rng, &arch, &batch) };
        if plan.check("random", &arch, &batch).is_err() {
            continue;
        }
        let (want, want_b) = (want16.run(&batch, &plan).unwrap(), wantb.run(&batch, &plan).unwrap());
        let moved = noise(&want_b, &want);
        // The CPU executor computes in f32, so only the rounded weights affect the results.
        prop_assert_eq!(&got16.run(&batch, &plan).unwrap(), &want);
        let rough = noise(&candle.run(&batch, &plan).unwrap(), &want);
        prop_assert!(rough < (4.0 * moved).max(0.02), "candle f16: {rough}; rounded weights alone: {moved}");
        let got = gotb.run(&batch, &plan).unwrap();
        if kernels::bf16::available() {
            let off = noise(&got, &want_b);
            prop_assert!(off < (8.0 * moved).max(0.05), "bf16: {off}; rounded weights alone: {moved}");
            prop_assert_eq!(&gotb.run(&batch, &plan).unwrap(), &got, "twice");
        } else {
            compare(&got, &want_b)?;
        }
    }
    Ok(())
}

#[test]
fn rounding_tolerance_scales_with_the_model() {
    compare_halves(2_012_791_405_620_952_380).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn half_types_equal_f32_on_rounded_weights(seed: u64) {
        compare_halves(seed)?;
    }

    #[test]
    fn bf16_sentences_are_independent(seed in 0u64..1000, lengths in prop::collection::vec(1usize..9, 2..6)) {
        for arch in archs() {
            let model = CpuExecutor::new(&arch, params(&arch, seed), Dtype::Bf16).unwrap();
            let many = batch(&lengths, seed);
            let last = HookPoint::ResidPost(arch.layers - 1);
            let row = lengths.len() - 1;
            let ids = &many.ids()[row * many.len()..][..lengths[row]];
            let one = Batch::new(&[ids], 0).unwrap();
            let at = |row: usize| Plan::default().capture_at(last, Sites::At(vec![(row, lengths[lengths.len() - 1] - 1)]));
            let (a, b) = (model.run(&many, &at(row)).unwrap(), model.run(&one, &at(0)).unwrap());
            prop_assert_eq!(&a.captures[0].1.data, &b.captures[0].1.data, "{}", arch.family);
        }
    }
}

#[test]
fn half_types_need_half_the_memory() {
    let arch = Arch::bert(Size { vocab: 900, hidden: 64, layers: 2, heads: 2, max_positions: 40 });
    let bytes = |d| CpuExecutor::new(&arch, params(&arch, 1), d).unwrap().bytes() as f64;
    let whole = bytes(Dtype::F32);
    for dtype in [Dtype::F16, Dtype::Bf16] {
        let share = bytes(dtype) / whole;
        println!("{dtype}: {share:.3} of f32");
        // Biases and norms are not rounded.
        assert!((0.5..0.52).contains(&share), "{dtype}: {share}");
    }
}

#[test]
fn half_types_refuse_gradients() {
    let arch = &archs()[0];
    let targets = vec![Target { row: 0, position: 0, token: 1 }];
    let plan = Plan::default().gradient(Scalar::Logit(targets), &[HookPoint::Embed]);
    let b = batch(&[3], 1);
    let executors: [(Dtype, Box<dyn Executor>); 3] = [
        (Dtype::Bf16, Box::new(CpuExecutor::new(arch, params(arch, 1), Dtype::Bf16).unwrap())),
        (Dtype::F16, Box::new(CpuExecutor::new(arch, params(arch, 1), Dtype::F16).unwrap())),
        (Dtype::F16, Box::new(CandleExecutor::new(arch, params(arch, 1), Device::CandleCpu, Dtype::F16).unwrap())),
    ];
    for (dtype, e) in executors {
        assert_eq!(e.dtype(), dtype);
        let said = e.run(&b, &plan).unwrap_err().to_string();
        assert!(said.contains(&format!("{dtype}, which is forward only")) && said.contains("f32"), "{said}");
    }
}

#[test]
fn unsupported_dtype_error_has_a_remedy() {
    let arch = &archs()[0];
    let refused = CandleExecutor::new(arch, params(arch, 1), Device::CandleCpu, Dtype::Bf16).err().unwrap();
    assert!(matches!(&refused, ModelError::Device { .. }) && refused.to_string().contains("f16"), "{refused}");
    let mut huge = params(arch, 1);
    let name = "blocks.0.mlp.up.weight";
    let shape = huge.get(name).unwrap().shape.clone();
    huge.insert(name, Array::new(shape.clone(), vec![1e6; shape.iter().product()]));
    assert!(CpuExecutor::new(arch, huge.clone(), Dtype::Bf16).is_ok());
    let devices = [
        CpuExecutor::new(arch, huge.clone(), Dtype::F16).err(),
        CandleExecutor::new(arch, huge, Device::CandleCpu, Dtype::F16).err(),
    ];
    for e in devices {
        let said = e.unwrap().to_string();
        assert!(said.contains(name) && said.contains("bf16"), "{said}");
    }
}

#[test]
fn half_types_barely_change_built_in_models() {
    for (name, texts) in [
        ("bert-mini", ["the keys to the cabinet [MASK] here", "the dog near the trees [MASK] happy"]),
        ("gpt2-mini", ["the keys to the cabinet", "the dog near the trees"]),
    ] {
        let load = |d| Model::load_with(&ModelSource::Builtin(name.into()), (Device::Cpu, d), &mut |_| Ok(())).unwrap();
        let models = Dtype::ALL.map(load);
        let b = models[0].batch(&texts).unwrap();
        let plan = Plan::default().logits_at(Sites::At((0..2).map(|r| (r, b.lengths()[r] - 2)).collect()));
        let [want, f16, bf16] = [0, 1, 2].map(|i| models[i].forward(&b, &plan).unwrap());
        // Built-in weights are stored in f16.
        assert_eq!(f16, want, "{name}");
        let scale = want.logits().unwrap().data.iter().fold(0f32, |m, v| m.max(v.abs()));
        let off = distance(bf16.logits().unwrap(), want.logits().unwrap()) / scale;
        println!("{name}: logits in bf16 within {off:.1e} of the largest");
        assert!(off > 0.0 && off < 0.03, "{name}: {off}");
        let hashes = [0, 1, 2].map(|i| models[i].hash().to_owned());
        assert!(hashes[0] != hashes[1] && hashes[1] != hashes[2], "rounding changes the hash");
        let devices = [0, 1, 2].map(|i| models[i].device());
        assert_eq!(devices, ["cpu", "cpu f16", "cpu bf16"]);
    }
}
