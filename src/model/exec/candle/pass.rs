//! Forward pass: embeddings, blocks, attention.

use candle_core::Tensor;

use super::net::{AttentionWeights, Block, Network, NormWeights, Stack};
use super::tap::Tap;
use super::value::Value;
use super::{from_host, ops};
use crate::arch::{Decoder, Place};
use crate::array::Array;
use crate::batch::Batch;
use crate::error::Result;
use crate::hook::HookPoint;
use crate::plan::{Extent, Start};

/// Data shared by the attentions of one stack.
struct Frame {
    rows: usize,
    /// Number of queries T per row.
    len: usize,
    keys: usize,
    heads: usize,
    kv_heads: usize,
    head_dim: usize,
    /// Mask added to attention scores; broadcasts to `[B,H,T,K]`. `None` if every query attends to every key.
    mask: Option<Tensor>,
    /// Cosines and sines, each `[T, rotated / 2]`.
    rotation: Option<(Tensor, Tensor)>,
}

/// Value added to the score of a masked key: the lowest finite value, which vanishes in the softmax but, unlike infinity, never causes NaN.
/// In 16 bits it becomes infinity; this is harmless because every query attends to at least one key.
fn hide(hidden: bool) -> f32 {
    if hidden { f32::MIN } else { 0.0 }
}

impl Network {
    /// States after the last block in `extent` (of the decoder, if there is one): `[B T, D]`.
    pub(crate) fn hidden(&self, batch: &Batch, start: &Start, extent: Extent, tap: &mut Tap<'_>) -> Result<Value> {
        let h = self.encode(batch, start, extent.blocks, tap)?;
        match (&self.decoder, self.arch.decoder) {
            (Some(stack), Some(second)) if extent.decoder_blocks > 0 => {
                self.decode((stack, second), batch, &h, extent.decoder_blocks, tap)
            }
            _ => Ok(h),
        }
    }

    fn encode(&self, batch: &Batch, start: &Start, blocks: usize, tap: &mut Tap<'_>) -> Result<Value> {
        let n = batch.rows() * batch.len();
        let (mut h, mut l) = match start {
            Start::Resume { layer, hidden } => (self.enter(hidden, n)?, *layer),
            _ => (self.embed(batch, start, tap)?, 0),
        };
        let frame = if blocks > l { Some(self.frame(batch)?) } else { None };
        loop {
            if l < self.arch.layers {
                h = tap.visit(HookPoint::ResidPre(l), h)?;
            }
            match &frame {
                Some(frame) if l < blocks => {
                    h = self.block(l, h, frame, tap)?;
                    h = tap.visit(HookPoint::ResidPost(l), h)?;
                }
                _ => return Ok(h),
            }
            l += 1;
        }
    }

    fn embed(&self, batch: &Batch, start: &Start, tap: &mut Tap<'_>) -> Result<Value> {
        let n = batch.rows() * batch.len();
        let words = match start {
            Start::Embeddings(x) => self.enter(x, n)?,
            _ => ops::rows(&self.tokens, batch.ids().to_vec())?,
        };
        let mut x = self.place(&self.encoder, batch, tap.visit(HookPoint::Embed, words)?)?;
        if let Some(table) = &self.types {
            x = ops::add(&x, &ops::rows(table, batch.types().to_vec())?)?;
        }
        if let Some(table) = &self.tasks {
            x = ops::add(&x, &ops::rows(table, vec![0; n])?)?;
        }
        if let Some(w) = &self.encoder.norm {
            x = self.norm(&x, w)?;
        }
        match &self.project {
            Some(p) => p.forward(&x),
            None => Ok(x),
        }
    }

    /// Scales word embeddings and adds the stack's learned positions.
    fn place(&self, stack: &Stack, batch: &Batch, words: Value) -> Result<Value> {
        let a = &self.arch;
        let x = if a.embedding.scale == 1.0 { words } else { ops::scale(&words, a.embedding.scale)? };
        let Some(table) = &stack.positions else { return Ok(x) };
        let row = |i: usize| a.positions.row(batch, i / batch.len(), i % batch.len()) as u32;
        ops::add(&x, &ops::rows(table, (0..batch.rows() * batch.len()).map(row).collect())?)
    }

    /// Moves the vectors of `n` tokens to the device in the network's dtype.
    fn enter(&self, x: &Array, n: usize) -> Result<Value> {
        Ok(Value::constant(from_host(x, &self.device)?.to_dtype(self.dtype)?.reshape((n, ()))?))
    }

    pub(super) fn norm(&self, x: &Value, w: &NormWeights) -> Result<Value> {
        let norm = self.arch.norm;
        ops::norm(norm.kind, norm.eps, x, &w.weight, w.bias.as_ref())
    }

    fn block(&self, l: usize, h: Value, frame: &Frame, tap: &mut Tap<'_>) -> Result<Value> {
        let w = &self.encoder.blocks[l];
        let attend = |x: &Value, tap: &mut Tap<'_>| -> Result<Value> {
            let a = self.attention(&w.attn, x, x, frame, HookPoint::Pattern(l), tap)?;
            tap.visit(HookPoint::AttnOut(l), a)
        };
        let feed = |x: &Value, tap: &mut Tap<'_>| tap.visit(HookPoint::MlpOut(l), self.mlp(w, x)?);
        match self.arch.place {
            Place::Post => {
                let a = attend(&h, tap)?;
                let mid = self.norm(&ops::add(&h, &a)?, &w.norm1)?;
                let mid = tap.visit(HookPoint::ResidMid(l), mid)?;
                let m = feed(&mid, tap)?;
                self.norm(&ops::add(&mid, &m)?, &w.norm2)
            }
            Place::Pre => {
                let a = attend(&self.norm(&h, &w.norm1)?, tap)?;
                let mid = tap.visit(HookPoint::ResidMid(l), ops::add(&h, &a)?)?;
                let m = feed(&self.norm(&mid, &w.norm2)?, tap)?;
                ops::add(&mid, &m)
            }
            Place::Parallel => {
                let a = attend(&self.norm(&h, &w.norm1)?, tap)?;
                let m = feed(&self.norm(&h, &w.norm2)?, tap)?;
                ops::add(&ops::add(&h, &a)?, &m)
            }
        }
    }

    /// Attends with queries from `x` (`[B T, D]`) and keys and values from `memory` (`[B K, D]`).
    fn attention(
        &self,
        w: &AttentionWeights,
        x: &Value,
        memory: &Value,
        f: &Frame,
        point: HookPoint,
        tap: &mut Tap<'_>,
    ) -> Result<Value> {
        let (b, t, hd) = (f.rows, f.len, f.head_dim);
        let split = |y: Value, len: usize, n: usize| ops::swap_middle(&ops::reshape(&y, (b, len, n, hd))?);
        let q = w.q.forward(x)?;
        let q = match w.scale {
            Some(factor) => ops::scale(&q, factor)?,
            None => q,
        };
        let mut q = split(q, t, f.heads)?;
        let mut k = split(w.k.forward(memory)?, f.keys, f.kv_heads)?;
        let mut v = split(w.v.forward(memory)?, f.keys, f.kv_heads)?;
        if let Some((cos, sin)) = &f.rotation {
            q = ops::rotate(&q, cos, sin)?;
            k = ops::rotate(&k, cos, sin)?;
        }
        if f.kv_heads != f.heads {
            let group = f.heads / f.kv_heads;
            k = ops::repeat_heads(&k, group)?;
            v = ops::repeat_heads(&v, group)?;
        }
        let mut scores = ops::matmul_transposed(&q, &k)?;
        if let Some(mask) = &f.mask {
            scores = ops::shift(&scores, mask)?;
        }
        let pattern = tap.visit(point, ops::softmax(&scores)?)?;
        let z = ops::swap_middle(&ops::matmul(&pattern, &v)?)?;
        let z = ops::reshape(&z, (b * t, f.heads * hd))?;
        w.out.forward(&z)
    }

    fn mlp(&self, w: &Block, x: &Value) -> Result<Value> {
        let activation = self.arch.mlp.activation;
        let up = w.up.forward(x)?;
        let inner = match &w.gate {
            Some(gate) => ops::mul(&ops::activate(activation, &gate.forward(x)?)?, &up)?,
            None => ops::activate(activation, &up)?,
        };
        w.down.forward(&inner)
    }

    /// Runs the decoder over the encoder's states `[B T, D]`; returns its states `[B T', D]`.
    fn decode(
        &self,
        (stack, second): (&Stack, Decoder),
        batch: &Batch,
        memory: &Value,
        blocks: usize,
        tap: &mut Tap<'_>,
    ) -> Result<Value> {
        let input = batch.decoder_input(second.start_token);
        let words = ops::rows(&self.tokens, input.ids().to_vec())?;
        let mut h = self.place(stack, &input, words)?;
        if let Some(w) = &stack.norm {
            h = self.norm(&h, w)?;
        }
        let mask = if batch.is_padded() { Some(self.padding_mask(batch, false)?) } else { None };
        let cross = Frame {
            rows: batch.rows(),
            len: input.len(),
            keys: batch.len(),
            heads: second.heads,
            kv_heads: second.heads,
            head_dim: self.arch.hidden / second.heads,
            mask,
            rotation: None,
        };
        // Padding follows all tokens that matter, so the causal mask also masks padding.
        let own = Frame { keys: input.len(), mask: Some(self.causal_mask(input.len())?), rotation: None, ..cross };
        for (l, w) in stack.blocks.iter().enumerate().take(blocks) {
            h = tap.visit(HookPoint::DecoderPre(l), h)?;
            let a = self.attention(&w.attn, &h, &h, &own, HookPoint::DecoderPattern(l), tap)?;
            h = self.norm(&ops::add(&h, &a)?, &w.norm1)?;
            if let Some((attn, norm)) = &w.cross {
                let c = self.attention(attn, &h, memory, &cross, HookPoint::CrossPattern(l), tap)?;
                h = self.norm(&ops::add(&h, &c)?, norm)?;
            }
            let m = self.mlp(w, &h)?;
            h = tap.visit(HookPoint::DecoderPost(l), self.norm(&ops::add(&h, &m)?, &w.norm2)?)?;
        }
        Ok(h)
    }

    /// Creates the [`Frame`] of the first stack.
    fn frame(&self, batch: &Batch) -> Result<Frame> {
        let (a, t) = (&self.arch, batch.len());
        let mask = match (batch.is_padded(), a.attention.causal) {
            (true, causal) => Some(self.padding_mask(batch, causal)?),
            (false, true) => Some(self.causal_mask(t)?),
            (false, false) => None,
        };
        let rotation = match a.rotation() {
            Some((frequencies, scale)) => {
                let half = frequencies.len();
                let table = |f: fn(f64) -> f64| -> Result<Tensor> {
                    let angle = |i: usize| (i / half) as f64 * frequencies[i % half];
                    let values: Vec<f32> = (0..t * half).map(|i| (scale * f(angle(i))) as f32).collect();
                    Ok(Tensor::from_vec(values, (t, half), &self.device)?.to_dtype(self.dtype)?)
                };
                Some((table(f64::cos)?, table(f64::sin)?))
            }
            None => None,
        };
        Ok(Frame {
            rows: batch.rows(),
            len: t,
            keys: t,
            heads: a.heads,
            kv_heads: a.kv_heads,
            head_dim: a.head_dim,
            mask,
            rotation,
        })
    }

    /// `[1,1,T,T]`
    fn causal_mask(&self, t: usize) -> Result<Tensor> {
        let mask: Vec<f32> = (0..t * t).map(|i| hide(i % t > i / t)).collect();
        Ok(Tensor::from_vec(mask, (1, 1, t, t), &self.device)?.to_dtype(self.dtype)?)
    }

    /// `[B,1,1,T]`, or `[B,1,T,T]` including the causal mask.
    fn padding_mask(&self, batch: &Batch, causal: bool) -> Result<Tensor> {
        let (b, t) = (batch.rows(), batch.len());
        let queries = if causal { t } else { 1 };
        let mut mask = Vec::with_capacity(b * queries * t);
        for row in 0..b {
            for query in 0..queries {
                mask.extend((0..t).map(|key| hide(!batch.is_token(row, key) || (causal && key > query))));
            }
        }
        Ok(Tensor::from_vec(mask, (b, 1, queries, t), &self.device)?.to_dtype(self.dtype)?)
    }
}
