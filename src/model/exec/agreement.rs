//! Compares both executors on random architectures and plans: values, gradients and errors must agree.

use proptest::prelude::*;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::Executor;
use super::candle::CandleExecutor;
use super::cpu::CpuExecutor;
use crate::arch::{Activation, Arch, Attention, Decoder, Embedding, Head, Mlp, Norm, NormKind, Place, Positions};
use crate::testing::{bert, params};
use crate::{Array, Batch, Device, Dtype, Edit, EditKind, HookPoint, ModelError, Plan, Scalar, Sites, Target, Trace};

const ACTIVATIONS: [Activation; 4] = [Activation::GeluErf, Activation::GeluTanh, Activation::Relu, Activation::Silu];

fn pick<T: Copy>(rng: &mut ChaCha8Rng, from: &[T]) -> T {
    *from.choose(rng).unwrap()
}

/// Creates a small random architecture with random supported settings.
pub(super) fn random_arch(rng: &mut ChaCha8Rng) -> Arch {
    let kv_heads = rng.random_range(1..3);
    let heads = kv_heads * rng.random_range(1..3);
    // Norms over only two or three numbers are nearly step functions and would amplify rounding.
    let hidden = rng.random_range(6..40);
    let projection = rng.random_bool(0.3);
    let width = if projection { rng.random_range(6..20) } else { hidden };
    let positions = match rng.random_range(0..3) {
        0 => Positions::None,
        1 => {
            let padding = if rng.random_bool(0.5) { Some(1) } else { None };
            Positions::Learned { offset: rng.random_range(0..3), padding }
        }
        _ => Positions::Rotary { theta: 50.0, fraction: pick(rng, &[0.5, 1.0]), scaling: crate::arch::Scaling::None },
    };
    let kind = pick(rng, &[NormKind::Layer, NormKind::Rms]);
    let arch = Arch {
        vocab: rng.random_range(10..50),
        hidden,
        layers: rng.random_range(1..4),
        heads,
        kv_heads,
        head_dim: pick(rng, &[4, 8, 12, 20]),
        intermediate: rng.random_range(3..50),
        embedding: Embedding {
            width,
            types: pick(rng, &[0, 2]),
            tasks: pick(rng, &[0, 3]),
            norm: rng.random_bool(0.5),
            projection,
            scale: pick(rng, &[1.0, 1.7]),
        },
        positions,
        norm: Norm { kind, eps: 1e-5 },
        place: pick(rng, &[Place::Post, Place::Pre, Place::Parallel]),
        attention: Attention {
            causal: rng.random_bool(0.5),
            qkv_bias: rng.random_bool(0.5),
            out_bias: rng.random_bool(0.5),
        },
        mlp: Mlp { activation: pick(rng, &ACTIVATIONS), gated: rng.random_bool(0.4), bias: rng.random_bool(0.5) },
        shared_block: rng.random_bool(0.2),
        final_norm: rng.random_bool(0.5),
        ..bert()
    };
    let arch = if rng.random_bool(0.25) { with_decoder(rng, arch) } else { arch };
    let square = arch.embedding.width == arch.hidden;
    let head = match rng.random_range(0..4) {
        0 => Head::None,
        1 => Head::Causal { tied: square && rng.random_bool(0.5), bias: rng.random_bool(0.5) },
        _ => Head::Masked { activation: pick(rng, &ACTIVATIONS), eps: 1e-5, tied: rng.random_bool(0.5) },
    };
    Arch { head, ..arch }
}

fn with_decoder(rng: &mut ChaCha8Rng, arch: Arch) -> Arch {
    let hidden = arch.heads * arch.head_dim;
    let second = Decoder {
        layers: rng.random_range(1..3),
        heads: pick(rng, &[1, 2]),
        intermediate: rng.random_range(3..50),
        start_token: 2,
    };
    Arch {
        hidden,
        kv_heads: arch.heads,
        embedding: Embedding { width: hidden, projection: false, ..arch.embedding },
        place: Place::Post,
        attention: Attention { causal: false, ..arch.attention },
        decoder: Some(second),
        ..arch
    }
}

/// Creates one to four sentences of various lengths that fit the architecture.
pub(super) fn random_batch(rng: &mut ChaCha8Rng, arch: &Arch) -> Batch {
    let rows = rng.random_range(1..5);
    let lengths =
        |rng: &mut ChaCha8Rng| -> Vec<usize> { (0..rows).map(|_| rng.random_range(1..arch.max_positions)).collect() };
    let draw = |rng: &mut ChaCha8Rng, lengths: &[usize], below: usize| -> Vec<Vec<u32>> {
        lengths.iter().map(|n| (0..*n).map(|_| rng.random_range(0..below as u32)).collect()).collect()
    };
    let first = lengths(rng);
    let ids = draw(rng, &first, arch.vocab);
    let types = draw(rng, &first, arch.embedding.types.max(1));
    let batch = Batch::with_types(&ids, &types, 0).unwrap();
    if arch.decoder.is_some() && rng.random_bool(0.5) {
        let second = lengths(rng);
        return batch.with_decoder(&draw(rng, &second, arch.vocab), 0).unwrap();
    }
    batch
}

fn random_array(rng: &mut ChaCha8Rng, shape: Vec<usize>) -> Array {
    let n = shape.iter().product();
    Array::new(shape, (0..n).map(|_| rng.random_range(-1.0f32..1.0)).collect())
}

fn random_point(rng: &mut ChaCha8Rng, arch: &Arch) -> HookPoint {
    use HookPoint::*;
    let l = rng.random_range(0..arch.layers);
    if let Some(second) = arch.decoder.filter(|_| rng.random_bool(0.5)) {
        let l = rng.random_range(0..second.layers);
        return pick(rng, &[DecoderPre(l), DecoderPattern(l), CrossPattern(l), DecoderPost(l)]);
    }
    pick(rng, &[Embed, ResidPre(l), Pattern(l), AttnOut(l), ResidMid(l), MlpOut(l), ResidPost(l), FinalNorm])
}

/// Returns the batch to which a hook point belongs, the encoder's or the decoder's; for `None`, the batch of the logits.
fn side<'b>(batch: &'b Batch, at: Option<HookPoint>, arch: &Arch) -> &'b Batch {
    let above = at.is_none_or(|p| p.in_decoder() || p == HookPoint::FinalNorm);
    if above && arch.decoder.is_some() { batch.output() } else { batch }
}

fn random_site(rng: &mut ChaCha8Rng, batch: &Batch) -> (usize, usize) {
    let row = rng.random_range(0..batch.rows());
    (row, rng.random_range(0..batch.lengths()[row]))
}

fn random_sites(rng: &mut ChaCha8Rng, batch: &Batch) -> Sites {
    if rng.random_bool(0.3) {
        return Sites::All;
    }
    let n = rng.random_range(1..4);
    Sites::At((0..n).map(|_| random_site(rng, batch)).collect())
}

/// Creates random captures, edits and gradients that are valid for this batch.
pub(super) fn random_plan(rng: &mut ChaCha8Rng, arch: &Arch, batch: &Batch) -> Plan {
    let (b, t) = (batch.rows(), batch.len());
    let mut plan = Plan::default();
    match rng.random_range(0..4) {
        0 => plan = plan.from_embeddings(random_array(rng, vec![b, t, arch.embedding.width])),
        1 => plan = plan.resume(rng.random_range(0..=arch.layers), random_array(rng, vec![b, t, arch.hidden])),
        _ => {}
    }
    for _ in 0..rng.random_range(0..4) {
        let at = random_point(rng, arch);
        plan = plan.capture_at(at, random_sites(rng, side(batch, Some(at), arch)));
    }
    for _ in 0..rng.random_range(0..3) {
        let at = random_point(rng, arch);
        let tokens = side(batch, Some(at), arch);
        let sites: Vec<_> = (0..rng.random_range(1..3)).map(|_| random_site(rng, tokens)).collect();
        let width = at.width(arch).unwrap_or(1);
        let shape = if rng.random_bool(0.5) { vec![width] } else { vec![sites.len(), width] };
        let how = pick(rng, &[EditKind::Overwrite, EditKind::Add]);
        plan = plan.edit(Edit { at, sites, how, value: random_array(rng, shape) });
    }
    if arch.head != Head::None && rng.random_bool(0.5) {
        let sites = random_sites(rng, side(batch, None, arch));
        plan = match rng.random_bool(0.5) {
            true => plan.logits_at(sites),
            false => plan.logits_of(sites, (0..3).map(|_| rng.random_range(0..arch.vocab as u32)).collect()),
        };
    }
    if rng.random_bool(0.7) {
        let of = random_scalar(rng, arch, batch);
        let wrt: Vec<_> = (0..rng.random_range(1..4)).map(|_| random_point(rng, arch)).collect();
        plan = plan.gradient(of, &wrt);
    }
    plan
}

fn random_scalar(rng: &mut ChaCha8Rng, arch: &Arch, batch: &Batch) -> Scalar {
    let targets: Vec<Target> = (0..rng.random_range(1..4))
        .map(|_| {
            let (row, position) = random_site(rng, side(batch, None, arch));
            Target { row, position, token: rng.random_range(0..arch.vocab as u32) }
        })
        .collect();
    match rng.random_range(0..5) {
        0 => Scalar::Logit(targets),
        1 => Scalar::Probability(targets),
        2 => Scalar::LogProbability(targets),
        _ => {
            let at = random_point(rng, arch);
            let sites = random_sites(rng, side(batch, Some(at), arch));
            let value = random_array(rng, at.capture_shape(arch, batch, &sites));
            Scalar::Cotangent { at, sites, value }
        }
    }
}

/// Largest difference, relative to the largest absolute value or to 1, whichever is larger.
fn apart(a: &Array, b: &Array) -> f32 {
    if a.shape != b.shape {
        return f32::INFINITY;
    }
    let scale = a.data.iter().fold(1f32, |m, v| m.max(v.abs()));
    let worst = a.data.iter().zip(&b.data).map(|(x, y)| (x - y).abs());
    worst.fold(0.0, |m: f32, d| if d.is_nan() { f32::INFINITY } else { m.max(d) }) / scale
}

/// Fails if two executors differ by more than rounding.
pub(super) fn compare(cpu: &Trace, candle: &Trace) -> Result<(), TestCaseError> {
    prop_assert_eq!(cpu.captures.len(), candle.captures.len());
    for ((p, a), (q, b)) in cpu.captures.iter().zip(&candle.captures) {
        prop_assert_eq!(p, q);
        prop_assert!(apart(a, b) < 1e-4, "{p}: {}", apart(a, b));
    }
    prop_assert_eq!(cpu.logits.is_some(), candle.logits.is_some());
    for (a, b) in cpu.logits.iter().zip(&candle.logits) {
        prop_assert!(apart(a, b) < 1e-4, "logits: {}", apart(a, b));
    }
    let scalars = |t: &Trace| Array::new([t.scalars.len()], t.scalars.clone());
    prop_assert!(apart(&scalars(cpu), &scalars(candle)) < 2e-4, "{:?} {:?}", cpu.scalars, candle.scalars);
    prop_assert_eq!(cpu.gradients.len(), candle.gradients.len());
    for ((p, a), (q, b)) in cpu.gradients.iter().zip(&candle.gradients) {
        prop_assert_eq!(p, q);
        prop_assert!(apart(a, b) < 5e-4, "gradient at {p}: {}", apart(a, b));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 30, ..ProptestConfig::default() })]

    #[test]
    fn executors_agree_on_everything(seed: u64) {
        let rng = &mut ChaCha8Rng::seed_from_u64(seed);
        let arch = random_arch(rng);
        prop_assume!(arch.validate().is_ok());
        let p = params(&arch, seed);
        let cpu = CpuExecutor::new(&arch, p.clone(), Dtype::F32).unwrap();
        let candle = CandleExecutor::new(&arch, p, Device::CandleCpu, Dtype::F32).unwrap();
        let mut ran = 0;
        for _ in 0..40 {
            let batch = random_batch(rng, &arch);
            let plan = random_plan(rng, &arch, &batch);
            if plan.check("random", &arch, &batch).is_err() {
                continue;
            }
            ran += 1;
            match (cpu.run(&batch, &plan), candle.run(&batch, &plan)) {
                (Ok(a), Ok(b)) => {
                    compare(&a, &b)?;
                    let again = cpu.run(&batch, &plan).unwrap();
                    prop_assert!(a == again, "repeating the request gave different bits");
                }
                (Err(ModelError::MissingGradient(_)), Err(ModelError::MissingGradient(_))) => {}
                (a, b) => prop_assert!(false, "{:?}\n{:?}\n{plan:?}", a.err(), b.err()),
            }
        }
        prop_assert!(ran > 0, "no plan was valid");
    }
}
