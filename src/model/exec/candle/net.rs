//! The network: an [`Arch`]'s parameters as tensors, and the pass over them.

use candle_core::{Device, Tensor};

use super::tap::Tap;
use super::{from_host, ops};
use crate::model::arch::{Arch, Head, NormKind, Place, Positions};
use crate::model::batch::Batch;
use crate::model::error::{ModelError, Result};
use crate::model::hook::HookPoint;
use crate::model::params::Params;
use crate::model::plan::Start;

/// A linear map on rows.
#[derive(Clone)]
pub(super) struct Linear {
    /// `[in, out]` if frozen (the faster layout for products), `[out, in]` in training.
    weight: Tensor,
    transposed: bool,
    bias: Option<Tensor>,
}

impl Linear {
    /// `[N, in]` to `[N, out]`.
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let y = if self.transposed { x.matmul(&self.weight)? } else { x.matmul(&self.weight.t()?)? };
        Ok(match &self.bias {
            Some(b) => y.broadcast_add(b)?,
            None => y,
        })
    }
}

#[derive(Clone)]
struct NormWeights {
    weight: Tensor,
    bias: Option<Tensor>,
}

#[derive(Clone)]
struct Block {
    q: Linear,
    k: Linear,
    v: Linear,
    out: Linear,
    norm1: NormWeights,
    up: Linear,
    gate: Option<Linear>,
    down: Linear,
    norm2: NormWeights,
}

/// The output side.
struct HeadWeights {
    transform: Option<(Linear, NormWeights)>,
    /// `[V, E]`
    decoder: Tensor,
    bias: Option<Tensor>,
}

/// All parameters of one model.
pub(super) struct Network {
    pub arch: Arch,
    device: Device,
    /// `[V, E]`
    tokens: Tensor,
    positions: Option<Tensor>,
    types: Option<Tensor>,
    tasks: Option<Tensor>,
    embed_norm: Option<NormWeights>,
    project: Option<Linear>,
    blocks: Vec<Block>,
    final_norm: Option<NormWeights>,
    head: Option<HeadWeights>,
}

/// How a network gets at its parameters.
struct Source<'a> {
    arch: &'a Arch,
    get: &'a mut dyn FnMut(&str) -> Result<Tensor>,
    /// Transpose matrices once.
    freeze: bool,
}

impl Source<'_> {
    fn linear(&mut self, stem: &str, bias: bool) -> Result<Linear> {
        let weight = (self.get)(&format!("{stem}.weight"))?;
        let weight = if self.freeze { weight.t()?.contiguous()? } else { weight };
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

    fn block(&mut self, l: usize) -> Result<Block> {
        let (a, at) = (self.arch, format!("blocks.{l}"));
        let gate = if a.mlp.gated { Some(self.linear(&format!("{at}.mlp.gate"), a.mlp.bias)?) } else { None };
        Ok(Block {
            q: self.linear(&format!("{at}.attn.q"), a.attention.qkv_bias)?,
            k: self.linear(&format!("{at}.attn.k"), a.attention.qkv_bias)?,
            v: self.linear(&format!("{at}.attn.v"), a.attention.qkv_bias)?,
            out: self.linear(&format!("{at}.attn.out"), a.attention.out_bias)?,
            norm1: self.norm(&format!("{at}.norm1"), a.norm.kind)?,
            up: self.linear(&format!("{at}.mlp.up"), a.mlp.bias)?,
            gate,
            down: self.linear(&format!("{at}.mlp.down"), a.mlp.bias)?,
            norm2: self.norm(&format!("{at}.norm2"), a.norm.kind)?,
        })
    }

    fn head(&mut self, tokens: &Tensor) -> Result<Option<HeadWeights>> {
        let mut decoder = |tied: bool| match tied {
            true => Ok(tokens.clone()),
            false => (self.get)("head.decoder.weight"),
        };
        Ok(match self.arch.head {
            Head::None => None,
            Head::Causal { tied } => {
                Some(HeadWeights { transform: None, decoder: decoder(tied)?, bias: None })
            }
            Head::Masked { tied, .. } => {
                let decoder = decoder(tied)?;
                let transform =
                    (self.linear("head.transform", true)?, self.norm("head.norm", NormKind::Layer)?);
                let bias = Some((self.get)("head.decoder.bias")?);
                Some(HeadWeights { transform: Some(transform), decoder, bias })
            }
        })
    }
}

impl Network {
    /// From host parameters, which are taken out one by one.
    pub fn frozen(arch: &Arch, params: &mut Params, device: &Device) -> Result<Network> {
        let mut get = |name: &str| match params.take(name) {
            Some(a) => from_host(&a, device),
            None => Err(ModelError::MissingTensor {
                file: "parameters".into(),
                tensor: name.to_owned(),
                family: arch.family.clone(),
            }),
        };
        Network::build(arch, device, &mut get, true)
    }

    /// From tensors that are trained: they are used as they are, `[out, in]`.
    pub fn trained(
        arch: &Arch,
        device: &Device,
        get: &mut dyn FnMut(&str) -> Result<Tensor>,
    ) -> Result<Network> {
        Network::build(arch, device, get, false)
    }

    fn build(
        arch: &Arch,
        device: &Device,
        get: &mut dyn FnMut(&str) -> Result<Tensor>,
        freeze: bool,
    ) -> Result<Network> {
        let mut source = Source { arch, get, freeze };
        let tokens = (source.get)("embed.tokens.weight")?;
        let positions = match arch.positions {
            Positions::Learned { .. } => Some((source.get)("embed.positions.weight")?),
            _ => None,
        };
        let types = if arch.embedding.types > 0 { Some((source.get)("embed.types.weight")?) } else { None };
        let tasks = if arch.embedding.tasks > 0 { Some((source.get)("embed.tasks.weight")?) } else { None };
        let embed_norm =
            if arch.embedding.norm { Some(source.norm("embed.norm", arch.norm.kind)?) } else { None };
        let project =
            if arch.embedding.projection { Some(source.linear("embed.project", true)?) } else { None };
        let mut blocks: Vec<Block> = Vec::with_capacity(arch.layers);
        for l in 0..arch.layers {
            let block = match blocks.first() {
                Some(first) if arch.shared_block => first.clone(),
                _ => source.block(l)?,
            };
            blocks.push(block);
        }
        let final_norm =
            if arch.final_norm { Some(source.norm("final_norm", arch.norm.kind)?) } else { None };
        let head = source.head(&tokens)?;
        Ok(Network {
            arch: arch.clone(),
            device: device.clone(),
            tokens,
            positions,
            types,
            tasks,
            embed_norm,
            project,
            blocks,
            final_norm,
            head,
        })
    }

    /// The states after block `blocks - 1`: `[B T, D]`.
    pub fn hidden(&self, batch: &Batch, start: &Start, blocks: usize, tap: &mut Tap<'_>) -> Result<Tensor> {
        let n = batch.rows() * batch.len();
        let (mut h, mut l) = match start {
            Start::Resume { layer, hidden } => {
                (from_host(hidden, &self.device)?.reshape((n, self.arch.hidden))?, *layer)
            }
            _ => (self.embed(batch, start, tap)?, 0),
        };
        let shared = Shared::new(self, batch, blocks > l)?;
        loop {
            if l < self.arch.layers {
                h = tap.visit(HookPoint::ResidPre(l), h)?;
            }
            if l >= blocks {
                return Ok(h);
            }
            h = self.block(l, h, &shared, tap)?;
            h = tap.visit(HookPoint::ResidPost(l), h)?;
            l += 1;
        }
    }

    fn embed(&self, batch: &Batch, start: &Start, tap: &mut Tap<'_>) -> Result<Tensor> {
        let (a, n) = (&self.arch, batch.rows() * batch.len());
        let words = match start {
            Start::Embeddings(x) => from_host(x, &self.device)?.reshape((n, a.embedding.width))?,
            _ => self.tokens.index_select(&self.index(batch.ids().to_vec())?, 0)?,
        };
        let mut x = tap.visit(HookPoint::Embed, words)?;
        if a.embedding.scale != 1.0 {
            x = (x * a.embedding.scale)?;
        }
        if let (Some(table), Positions::Learned { offset, padding }) = (&self.positions, a.positions) {
            let row = |i: usize| {
                let (b, t) = (i / batch.len(), i % batch.len());
                let place = if batch.is_token(b, t) { None } else { padding };
                place.unwrap_or(offset + t) as u32
            };
            x = (x + table.index_select(&self.index((0..n).map(row).collect())?, 0)?)?;
        }
        if let Some(table) = &self.types {
            x = (x + table.index_select(&self.index(batch.types().to_vec())?, 0)?)?;
        }
        if let Some(table) = &self.tasks {
            x = x.broadcast_add(&table.narrow(0, 0, 1)?)?;
        }
        if let Some(w) = &self.embed_norm {
            x = self.norm(&x, w, tap.differentiable)?;
        }
        match &self.project {
            Some(p) => p.forward(&x),
            None => Ok(x),
        }
    }

    fn index(&self, ids: Vec<u32>) -> Result<Tensor> {
        let n = ids.len();
        Ok(Tensor::from_vec(ids, n, &self.device)?)
    }

    fn norm(&self, x: &Tensor, w: &NormWeights, differentiable: bool) -> Result<Tensor> {
        ops::norm(self.arch.norm.kind, self.arch.norm.eps, x, &w.weight, w.bias.as_ref(), differentiable)
    }

    fn block(&self, l: usize, h: Tensor, shared: &Shared, tap: &mut Tap<'_>) -> Result<Tensor> {
        let w = &self.blocks[l];
        let norm = |x: &Tensor, n: &NormWeights, tap: &Tap<'_>| self.norm(x, n, tap.differentiable);
        match self.arch.place {
            Place::Post => {
                let a = self.attention(l, &h, shared, tap)?;
                let mid = norm(&(h + a)?, &w.norm1, tap)?;
                let mid = tap.visit(HookPoint::ResidMid(l), mid)?;
                let m = self.mlp(l, &mid, tap)?;
                norm(&(mid + m)?, &w.norm2, tap)
            }
            Place::Pre => {
                let a = self.attention(l, &norm(&h, &w.norm1, tap)?, shared, tap)?;
                let mid = tap.visit(HookPoint::ResidMid(l), (h + a)?)?;
                let m = self.mlp(l, &norm(&mid, &w.norm2, tap)?, tap)?;
                Ok((mid + m)?)
            }
            Place::Parallel => {
                let a = self.attention(l, &norm(&h, &w.norm1, tap)?, shared, tap)?;
                let m = self.mlp(l, &norm(&h, &w.norm2, tap)?, tap)?;
                Ok(((h + a)? + m)?)
            }
        }
    }

    fn attention(&self, l: usize, x: &Tensor, shared: &Shared, tap: &mut Tap<'_>) -> Result<Tensor> {
        let (a, w) = (&self.arch, &self.blocks[l]);
        let (b, t, hd) = (shared.rows, shared.len, a.head_dim);
        let heads = |y: Tensor, n: usize| -> Result<Tensor> {
            Ok(y.reshape((b, t, n, hd))?.transpose(1, 2)?.contiguous()?)
        };
        let mut q = heads((w.q.forward(x)? * (hd as f64).powf(-0.5))?, a.heads)?;
        let mut k = heads(w.k.forward(x)?, a.kv_heads)?;
        let mut v = heads(w.v.forward(x)?, a.kv_heads)?;
        if let Some((cos, sin)) = &shared.rotation {
            q = ops::rotate(&q, cos, sin)?;
            k = ops::rotate(&k, cos, sin)?;
        }
        if a.kv_heads != a.heads {
            let group = a.heads / a.kv_heads;
            let repeat = |y: Tensor| -> Result<Tensor> {
                let y = y.unsqueeze(2)?.broadcast_as((b, a.kv_heads, group, t, hd))?;
                Ok(y.contiguous()?.reshape((b, a.heads, t, hd))?)
            };
            k = repeat(k)?;
            v = repeat(v)?;
        }
        let mut scores = q.matmul(&k.t()?)?;
        if let Some(mask) = &shared.mask {
            scores = scores.broadcast_add(mask)?;
        }
        let pattern = ops::softmax(&scores, tap.differentiable)?;
        let pattern = tap.visit(HookPoint::Pattern(l), pattern)?;
        let z = pattern.matmul(&v)?.transpose(1, 2)?.reshape((b * t, a.heads * hd))?;
        tap.visit(HookPoint::AttnOut(l), w.out.forward(&z)?)
    }

    fn mlp(&self, l: usize, x: &Tensor, tap: &mut Tap<'_>) -> Result<Tensor> {
        let w = &self.blocks[l];
        let up = w.up.forward(x)?;
        let inner = match &w.gate {
            Some(gate) => (ops::activate(self.arch.mlp.activation, &gate.forward(x)?)? * up)?,
            None => ops::activate(self.arch.mlp.activation, &up)?,
        };
        tap.visit(HookPoint::MlpOut(l), w.down.forward(&inner)?)
    }

    /// The final norm, where there is one, on `[N, D]`.
    pub fn final_norm(&self, h: &Tensor, tap: &mut Tap<'_>) -> Result<Tensor> {
        match &self.final_norm {
            Some(w) => {
                let x = self.norm(h, w, tap.differentiable)?;
                tap.visit(HookPoint::FinalNorm, x)
            }
            None => Ok(h.clone()),
        }
    }

    fn head_or_refuse(&self) -> Result<&HeadWeights> {
        let refuse = || ModelError::NoHead { model: self.arch.family.clone(), kind: self.arch.head_kind() };
        self.head.as_ref().ok_or_else(refuse)
    }

    /// What the decoder multiplies: `[N, D]` to `[N, E]`. Differentiable.
    fn before_decoder(&self, h: &Tensor, head: &HeadWeights) -> Result<Tensor> {
        match (&head.transform, self.arch.head) {
            (Some((dense, norm)), Head::Masked { activation, eps, .. }) => {
                let x = ops::activate(activation, &dense.forward(h)?)?;
                ops::norm(NormKind::Layer, eps, &x, &norm.weight, norm.bias.as_ref(), true)
            }
            _ => Ok(h.clone()),
        }
    }

    /// Logits of all tokens or of chosen ones: `[N, K]`. Differentiable.
    pub fn logits(&self, h: &Tensor, vocab: Option<&[u32]>) -> Result<Tensor> {
        let head = self.head_or_refuse()?;
        let x = self.before_decoder(h, head)?;
        let Some(ids) = vocab else {
            let y = x.matmul(&head.decoder.t()?)?;
            return Ok(match &head.bias {
                Some(b) => y.broadcast_add(b)?,
                None => y,
            });
        };
        let ids = self.index(ids.to_vec())?;
        let y = x.matmul(&head.decoder.index_select(&ids, 0)?.t()?)?;
        Ok(match &head.bias {
            Some(b) => y.broadcast_add(&b.index_select(&ids, 0)?)?,
            None => y,
        })
    }

    /// Row i's logit of token i: `[N]`. Differentiable.
    pub fn logits_of(&self, h: &Tensor, tokens: &[u32]) -> Result<Tensor> {
        let head = self.head_or_refuse()?;
        let ids = self.index(tokens.to_vec())?;
        let y = (self.before_decoder(h, head)? * head.decoder.index_select(&ids, 0)?)?.sum(1)?;
        Ok(match &head.bias {
            Some(b) => (y + b.index_select(&ids, 0)?)?,
            None => y,
        })
    }

    /// Row i's log-probability of token i: `[N]`. Differentiable.
    pub fn log_probabilities_of(&self, h: &Tensor, tokens: &[u32]) -> Result<Tensor> {
        let ids = self.index(tokens.to_vec())?.unsqueeze(1)?;
        Ok(ops::log_softmax(&self.logits(h, None)?)?.gather(&ids, 1)?.squeeze(1)?)
    }
}

/// What all blocks of one pass share.
struct Shared {
    rows: usize,
    len: usize,
    /// Added to attention scores; broadcasts to `[B,H,T,T]`. `None` if everything may see everything.
    mask: Option<Tensor>,
    /// Cosines and sines `[T, rotated / 2]`.
    rotation: Option<(Tensor, Tensor)>,
}

impl Shared {
    fn new(net: &Network, batch: &Batch, needed: bool) -> Result<Shared> {
        let (b, t) = (batch.rows(), batch.len());
        let mut shared = Shared { rows: b, len: t, mask: None, rotation: None };
        if !needed {
            return Ok(shared);
        }
        let causal = net.arch.attention.causal;
        // The lowest finite value, not infinity: it vanishes in the softmax just as well and never turns into a NaN.
        let hide = |hidden: bool| if hidden { f32::MIN } else { 0.0 };
        if batch.is_padded() {
            let rows = if causal { t } else { 1 };
            let mut mask = Vec::with_capacity(b * rows * t);
            for row in 0..b {
                for query in 0..rows {
                    mask.extend((0..t).map(|key| hide(!batch.is_token(row, key) || (causal && key > query))));
                }
            }
            shared.mask = Some(Tensor::from_vec(mask, (b, 1, rows, t), &net.device)?);
        } else if causal {
            let mask: Vec<f32> = (0..t * t).map(|i| hide(i % t > i / t)).collect();
            shared.mask = Some(Tensor::from_vec(mask, (1, 1, t, t), &net.device)?);
        }
        if let Positions::Rotary { theta, .. } = net.arch.positions {
            let half = net.arch.rotated() / 2;
            let angle = |i: usize| (i / half) as f64 * theta.powf(-((i % half) as f64) / half as f64);
            let cos: Vec<f32> = (0..t * half).map(|i| angle(i).cos() as f32).collect();
            let sin: Vec<f32> = (0..t * half).map(|i| angle(i).sin() as f32).collect();
            let tensor = |v| Tensor::from_vec(v, (t, half), &net.device);
            shared.rotation = Some((tensor(cos)?, tensor(sin)?));
        }
        Ok(shared)
    }
}
