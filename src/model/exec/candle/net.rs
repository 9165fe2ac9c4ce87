//! The parameters of an [`Arch`] as tensors.

use candle_core::{DType, Device};

use super::value::Value;
use super::{from_host, ops};
use crate::arch::{Arch, Head, NormKind, Positions};
use crate::dtype::{Dtype, check_range};
use crate::error::{ModelError, Result};
use crate::params::Params;

#[derive(Clone)]
pub(super) struct Linear {
    /// Weights: `[in, out]` if frozen, which makes products faster; `[out, in]` during training.
    weight: Value,
    transposed: bool,
    bias: Option<Value>,
}

impl Linear {
    /// Maps `[N, in]` to `[N, out]`.
    pub(crate) fn forward(&self, x: &Value) -> Result<Value> {
        ops::linear(x, &self.weight, self.transposed, self.bias.as_ref())
    }
}

#[derive(Clone)]
pub(super) struct NormWeights {
    /// Scale, `[D]`.
    pub weight: Value,
    /// Shift, `[D]`.
    pub bias: Option<Value>,
}

#[derive(Clone)]
pub(super) struct AttentionWeights {
    pub q: Linear,
    /// Factor on the queries, unless the weights already include it.
    pub scale: Option<f64>,
    pub k: Linear,
    pub v: Linear,
    /// Maps the concatenated heads to the residual stream.
    pub out: Linear,
}

#[derive(Clone)]
pub(super) struct Block {
    pub(crate) attn: AttentionWeights,
    /// Norm of the self-attention.
    pub(crate) norm1: NormWeights,
    /// Attention to the encoder and its norm, in a decoder.
    pub cross: Option<(AttentionWeights, NormWeights)>,
    /// First map of the feed-forward part.
    pub up: Linear,
    /// Gate of the feed-forward part, if any.
    pub gate: Option<Linear>,
    pub down: Linear,
    /// Norm of the feed-forward part.
    pub(crate) norm2: NormWeights,
}

/// A stack of blocks with separate positions and embedding norm.
pub(super) struct Stack {
    /// Learned positions, `[T, E]`.
    pub positions: Option<Value>,
    pub norm: Option<NormWeights>,
    /// One block per layer.
    pub blocks: Vec<Block>,
}

pub(super) struct HeadWeights {
    /// Transform before the decoder, in masked models.
    pub transform: Option<(Linear, NormWeights)>,
    /// `[V, E]`
    pub decoder: Value,
    /// Bias of the logits, `[V]`.
    pub bias: Option<Value>,
}

pub(super) struct Network {
    pub arch: Arch,
    pub device: Device,
    pub dtype: DType,
    /// `[V, E]`
    pub tokens: Value,
    /// Token-type embeddings, one row per type.
    pub types: Option<Value>,
    /// Task embeddings, one row per task (ERNIE).
    pub tasks: Option<Value>,
    /// Maps factorised embeddings to the residual stream.
    pub project: Option<Linear>,
    /// The only stack, or the encoder.
    pub encoder: Stack,
    /// The decoder of an encoder-decoder.
    pub decoder: Option<Stack>,
    /// Norm after the last block.
    pub final_norm: Option<NormWeights>,
    /// `None` if the model was loaded without a head.
    pub head: Option<HeadWeights>,
}

/// Access to the parameters while building a network.
struct Source<'a> {
    arch: &'a Arch,
    get: &'a mut dyn FnMut(&str) -> Result<Value>,
    /// True if matrices are transposed once, when the network is built.
    freeze: bool,
}

impl Source<'_> {
    fn linear(&mut self, stem: &str, bias: bool) -> Result<Linear> {
        let weight = (self.get)(&format!("{stem}.weight"))?;
        let weight = if self.freeze { Value::constant(weight.tensor.t()?.contiguous()?) } else { weight };
        let bias = if bias { Some((self.get)(&format!("{stem}.bias"))?) } else { None };
        Ok(Linear { weight, transposed: self.freeze, bias })
    }

    fn norm(&mut self, stem: &str, kind: NormKind) -> Result<NormWeights> {
        let weight = (self.get)(&format!("{stem}.weight"))?;
        let bias = match kind {
            NormKind::Layer => Some((self.get)(&format!("{stem}.bias"))?),
            NormKind::Rms => None,
        };
        Ok(NormWeights { weight, bias })
    }

    fn attention(&mut self, stem: &str, head_dim: usize) -> Result<AttentionWeights> {
        let a = self.arch.attention;
        let mut q = self.linear(&format!("{stem}.q"), a.qkv_bias)?;
        let scale = (head_dim as f64).powf(-0.5);
        if self.freeze {
            q.weight = ops::scale(&q.weight, scale)?;
            q.bias = q.bias.map(|b| ops::scale(&b, scale)).transpose()?;
        }
        Ok(AttentionWeights {
            q,
            scale: if self.freeze { None } else { Some(scale) },
            k: self.linear(&format!("{stem}.k"), a.qkv_bias)?,
            v: self.linear(&format!("{stem}.v"), a.qkv_bias)?,
            out: self.linear(&format!("{stem}.out"), a.out_bias)?,
        })
    }

    fn block(&mut self, at: &str, cross: bool) -> Result<Block> {
        let (mlp, kind) = (self.arch.mlp, self.arch.norm.kind);
        let gate = if mlp.gated { Some(self.linear(&format!("{at}.mlp.gate"), mlp.bias)?) } else { None };
        let head_dim = match self.arch.decoder {
            Some(second) if cross => self.arch.hidden / second.heads,
            _ => self.arch.head_dim,
        };
        let cross = match cross {
            true => {
                Some((self.attention(&format!("{at}.cross"), head_dim)?, self.norm(&format!("{at}.norm_cross"), kind)?))
            }
            false => None,
        };
        Ok(Block {
            attn: self.attention(&format!("{at}.attn"), head_dim)?,
            norm1: self.norm(&format!("{at}.norm1"), kind)?,
            cross,
            up: self.linear(&format!("{at}.mlp.up"), mlp.bias)?,
            gate,
            down: self.linear(&format!("{at}.mlp.down"), mlp.bias)?,
            norm2: self.norm(&format!("{at}.norm2"), kind)?,
        })
    }

    /// Builds a stack; `prefix` is empty for the first stack and `decoder.` for the second.
    fn stack(&mut self, prefix: &str, layers: usize) -> Result<Stack> {
        let arch = self.arch;
        let positions = match arch.positions {
            Positions::Learned { .. } => Some((self.get)(&format!("{prefix}embed.positions.weight"))?),
            _ => None,
        };
        let norm = match arch.embedding.norm {
            true => Some(self.norm(&format!("{prefix}embed.norm"), arch.norm.kind)?),
            false => None,
        };
        let mut blocks: Vec<Block> = Vec::with_capacity(layers);
        for l in 0..layers {
            let block = match blocks.first() {
                Some(first) if arch.shared_block => first.clone(),
                _ => self.block(&format!("{prefix}blocks.{l}"), !prefix.is_empty())?,
            };
            blocks.push(block);
        }
        Ok(Stack { positions, norm, blocks })
    }

    fn head(&mut self, tokens: &Value) -> Result<Option<HeadWeights>> {
        let mut decoder = |tied: bool| match tied {
            true => Ok(tokens.clone()),
            false => (self.get)("head.decoder.weight"),
        };
        Ok(match self.arch.head {
            Head::None => None,
            Head::Causal { tied, bias } => {
                let decoder = decoder(tied)?;
                let bias = if bias { Some((self.get)("head.decoder.bias")?) } else { None };
                Some(HeadWeights { transform: None, decoder, bias })
            }
            Head::Masked { tied, .. } => {
                let decoder = decoder(tied)?;
                let transform = (self.linear("head.transform", true)?, self.norm("head.norm", NormKind::Layer)?);
                let bias = Some((self.get)("head.decoder.bias")?);
                Some(HeadWeights { transform: Some(transform), decoder, bias })
            }
        })
    }
}

impl Network {
    /// Builds a network from host parameters, taking them out one by one.
    pub(crate) fn frozen(arch: &Arch, params: &mut Params, device: &Device, dtype: Dtype) -> Result<Network> {
        let kind = match dtype {
            Dtype::F32 => DType::F32,
            Dtype::F16 => DType::F16,
            Dtype::Bf16 => DType::BF16,
        };
        let mut get = |name: &str| match params.take(name) {
            Some(a) => {
                check_range(dtype, name, &a.data)?;
                Ok(Value::constant(from_host(&a, device)?.to_dtype(kind)?))
            }
            None => Err(ModelError::MissingTensor {
                file: "parameters".into(),
                tensor: name.to_owned(),
                family: arch.family.clone(),
            }),
        };
        Network::build(arch, (device, kind), &mut get, true)
    }

    /// Builds a network from parameters that are being trained and keep their layout `[out, in]`.
    pub(crate) fn trained(arch: &Arch, device: &Device, get: &mut dyn FnMut(&str) -> Result<Value>) -> Result<Network> {
        Network::build(arch, (device, DType::F32), get, false)
    }

    fn build(
        arch: &Arch,
        (device, dtype): (&Device, DType),
        get: &mut dyn FnMut(&str) -> Result<Value>,
        freeze: bool,
    ) -> Result<Network> {
        let mut source = Source { arch, get, freeze };
        let tokens = (source.get)("embed.tokens.weight")?;
        let types = if arch.embedding.types > 0 { Some((source.get)("embed.types.weight")?) } else { None };
        let tasks = if arch.embedding.tasks > 0 { Some((source.get)("embed.tasks.weight")?) } else { None };
        let project = if arch.embedding.projection { Some(source.linear("embed.project", true)?) } else { None };
        let encoder = source.stack("", arch.layers)?;
        let decoder = match arch.decoder {
            Some(second) => Some(source.stack("decoder.", second.layers)?),
            None => None,
        };
        let final_norm = if arch.final_norm { Some(source.norm("final_norm", arch.norm.kind)?) } else { None };
        let head = source.head(&tokens)?;
        Ok(Network {
            arch: arch.clone(),
            device: device.clone(),
            dtype,
            tokens,
            types,
            tasks,
            project,
            encoder,
            decoder,
            final_norm,
            head,
        })
    }
}
