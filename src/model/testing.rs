//! Tiny random models for unit tests, one for each kind of architecture.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::arch::{
    Activation, Arch, Attention, Decoder, Embedding, Head, Mlp, Network, Norm, NormKind, Place, Positions, Role,
};
use super::{Array, Batch, Device, Model, Params};

/// Vocabulary size of all tiny models.
pub(crate) const VOCAB: usize = 23;

pub(crate) fn bert() -> Arch {
    Arch {
        family: "bert".into(),
        network: Network::Transformer,
        vocab: VOCAB,
        hidden: 8,
        layers: 3,
        heads: 2,
        kv_heads: 2,
        head_dim: 4,
        intermediate: 12,
        max_positions: 10,
        embedding: Embedding { types: 2, norm: true, ..Embedding::plain(8) },
        positions: Positions::Learned { offset: 0, padding: None },
        norm: Norm { kind: NormKind::Layer, eps: 1e-5 },
        place: Place::Post,
        attention: Attention { causal: false, qkv_bias: true, out_bias: true },
        mlp: Mlp { activation: Activation::GeluErf, gated: false, bias: true },
        shared_block: false,
        final_norm: false,
        head: Head::Masked { activation: Activation::GeluErf, eps: 1e-5, tied: true },
        decoder: None,
    }
}

pub(crate) fn archs() -> Vec<Arch> {
    let bert = bert();
    let gpt2 = Arch {
        family: "gpt2".into(),
        network: Network::Transformer,
        embedding: Embedding::plain(8),
        place: Place::Pre,
        attention: Attention { causal: true, qkv_bias: true, out_bias: true },
        mlp: Mlp { activation: Activation::GeluTanh, gated: false, bias: true },
        final_norm: true,
        head: Head::Causal { tied: true, bias: false },
        ..bert.clone()
    };
    let neox = Arch {
        family: "gpt_neox".into(),
        network: Network::Transformer,
        place: Place::Parallel,
        positions: Positions::Rotary { theta: 100.0, fraction: 0.5, scaling: crate::arch::Scaling::None },
        head: Head::Causal { tied: false, bias: false },
        ..gpt2.clone()
    };
    let llama = Arch {
        family: "llama".into(),
        network: Network::Transformer,
        kv_heads: 1,
        positions: Positions::Rotary { theta: 100.0, fraction: 1.0, scaling: crate::arch::Scaling::None },
        norm: Norm { kind: NormKind::Rms, eps: 1e-6 },
        attention: Attention { causal: true, qkv_bias: false, out_bias: false },
        mlp: Mlp { activation: Activation::Silu, gated: true, bias: false },
        place: Place::Pre,
        ..neox.clone()
    };
    let albert = Arch {
        family: "albert".into(),
        network: Network::Transformer,
        embedding: Embedding { types: 2, tasks: 2, norm: true, projection: true, ..Embedding::plain(6) },
        positions: Positions::Learned { offset: 2, padding: Some(1) },
        mlp: Mlp { activation: Activation::GeluTanh, gated: false, bias: true },
        shared_block: true,
        head: Head::Masked { activation: Activation::Relu, eps: 1e-5, tied: false },
        ..bert.clone()
    };
    let bart = Arch {
        family: "bart".into(),
        network: Network::Transformer,
        embedding: Embedding { norm: true, scale: 1.5, ..Embedding::plain(8) },
        positions: Positions::Learned { offset: 2, padding: None },
        head: Head::Causal { tied: true, bias: true },
        decoder: Some(Decoder { layers: 2, heads: 4, intermediate: 10, start_token: 2 }),
        ..bert.clone()
    };
    vec![bert, gpt2, neox, llama, albert, bart]
}

/// Draws parameters so large that the effects of a wrong mask or norm far exceed rounding errors.
pub(crate) fn params(arch: &Arch, seed: u64) -> Params {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut params = Params::default();
    for p in arch.parameters() {
        let n = p.shape.iter().product();
        let scale = if p.shape.len() == 2 { 1.5 / (p.shape[1] as f32).sqrt() } else { 0.2 };
        let centre = if p.role == Role::Scale { 1.0 } else { 0.0 };
        let data = (0..n).map(|_| centre + scale * rng.random_range(-1.0f32..1.0)).collect();
        params.insert(p.name, Array::new(p.shape, data));
    }
    params
}

/// Loads a tiny model on the device named by `PROBITY_TEST_DEVICE` (default: CPU).
pub(crate) fn model(arch: Arch, seed: u64) -> Model {
    let params = params(&arch, seed);
    let device = std::env::var("PROBITY_TEST_DEVICE").map_or(Device::Cpu, |name| name.parse().unwrap());
    Model::from_params("tiny", arch, params, None, device).unwrap()
}

/// Draws a batch with rows of the given lengths.
pub(crate) fn batch(lengths: &[usize], seed: u64) -> Batch {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let rows: Vec<Vec<u32>> =
        lengths.iter().map(|&n| (0..n).map(|_| rng.random_range(0..VOCAB as u32)).collect()).collect();
    Batch::new(&rows, 0).unwrap()
}

/// Largest absolute difference; infinite if shapes differ or a value is NaN.
pub(crate) fn distance(a: &Array, b: &Array) -> f32 {
    if a.shape != b.shape {
        return f32::INFINITY;
    }
    let worse = |m: f32, d: f32| if d.is_nan() { f32::INFINITY } else { m.max(d) };
    a.data.iter().zip(&b.data).map(|(x, y)| (x - y).abs()).fold(0.0, worse)
}
