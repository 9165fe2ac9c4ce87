//! The parameters of a model, laid out for products when loaded and after each training step.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::OnceLock;

use crate::arch::{Arch, Head, NormKind, Positions};
use crate::dtype::{Dtype, Numbers};
use crate::error::{ModelError, Result};
use kernels::norm::Norm;
use kernels::packed::Packed;

/// Index of a parameter in [`Arch::parameters`].
pub(super) type Id = usize;

/// Function that returns the values of a parameter.
pub(super) type Source<'a> = dyn FnMut(Id, &str) -> Result<Cow<'a, [f32]>> + 'a;

/// One of the matrices whose outputs are concatenated in a [`Linear`].
pub(super) struct Member {
    pub weight: Id,
    pub bias: Option<Id>,
    pub out: usize,
}

/// A linear map of rows from `[n, input]` to `[n, outputs]`.
pub(super) struct Linear {
    pub input: usize,
    /// Matrices in the order of their outputs.
    pub parts: Vec<Member>,
    /// `input x outputs`
    pub weight: Packed,
    /// `outputs x input`, created by the first backward pass.
    back: OnceLock<Packed>,
    bias: Vec<f32>,
}

impl Linear {
    /// Returns the bias of outputs `cols`, if any.
    pub(crate) fn bias(&self, cols: std::ops::Range<usize>) -> Option<&[f32]> {
        if self.bias.is_empty() { None } else { Some(&self.bias[cols]) }
    }

    /// Bytes allocated, including transposed weights if created.
    fn bytes(&self) -> usize {
        self.weight.bytes() + self.back.get().map_or(0, Packed::bytes) + 4 * self.bias.len()
    }

    pub(crate) fn back(&self) -> &Packed {
        self.back.get_or_init(|| self.weight.transposed())
    }
}

pub(super) struct NormWeights {
    /// Parameter of the scale.
    pub(crate) weight_id: Id,
    /// Parameter of the shift.
    pub(crate) bias_id: Option<Id>,
    kind: NormKind,
    eps: f32,
    weight: Vec<f32>,
    bias: Option<Vec<f32>>,
}

impl NormWeights {
    /// Borrows the norm for the kernels.
    pub(crate) fn view(&self) -> Norm<'_> {
        Norm { kind: self.kind, eps: self.eps, weight: &self.weight, bias: self.bias.as_deref() }
    }
}

pub(super) struct Table {
    pub id: Id,
    /// Number of floats per row.
    pub width: usize,
    data: Numbers,
}

impl Table {
    pub(crate) fn copy_row(&self, i: usize, to: &mut [f32]) {
        self.data.copy(i * self.width, to);
    }

    /// Returns all values, row by row.
    pub(crate) fn values(&self) -> Cow<'_, [f32]> {
        self.data.values()
    }
}

/// A decoder's attention to the encoder, and its norm.
pub(super) struct Cross {
    /// Maps decoder states to queries.
    pub q: Linear,
    /// Maps encoder states to keys and values.
    pub kv: Linear,
    /// Maps the concatenated heads to the residual stream.
    pub out: Linear,
    pub norm: NormWeights,
}

pub(super) struct Block {
    /// Norm of the attention.
    pub(crate) norm1: NormWeights,
    /// Concatenated maps to queries, keys and values.
    pub(crate) qkv: Linear,
    /// Maps the concatenated heads to the residual stream.
    pub out: Linear,
    /// Attention to the encoder, in a decoder.
    pub cross: Option<Cross>,
    /// Norm of the feed-forward part.
    pub(crate) norm2: NormWeights,
    /// First map of the feed-forward part.
    pub up: Linear,
    /// Gate of the feed-forward part, if any.
    pub gate: Option<Linear>,
    /// Second map of the feed-forward part.
    pub down: Linear,
}

/// A stack of blocks with separate positions and embedding norm.
pub(super) struct StackWeights {
    pub positions: Option<Table>,
    pub norm: Option<NormWeights>,
    /// One block per layer, or a single one shared by all layers.
    blocks: Vec<Block>,
}

impl StackWeights {
    pub(crate) fn block(&self, l: usize) -> &Block {
        // A shared block is used by all layers.
        &self.blocks[l.min(self.blocks.len() - 1)]
    }
}

pub(super) struct HeadWeights {
    /// Transform before the decoder, in masked models.
    pub transform: Option<(Linear, NormWeights)>,
    /// `E x V`
    pub decoder: Linear,
    /// True if the decoder is the word-embedding table.
    pub tied: bool,
}

/// Parameters of a model, packed for products.
pub(super) struct Weights {
    /// Dtype of matrices and tables.
    pub dtype: Dtype,
    pub tokens: Table,
    /// Embeddings of token types.
    pub types: Option<Table>,
    /// Embeddings of tasks (ERNIE).
    pub tasks: Option<Table>,
    /// Maps factorised embeddings to the residual stream.
    pub project: Option<Linear>,
    /// The only stack, or the encoder.
    pub encoder: StackWeights,
    /// The decoder of an encoder-decoder.
    pub decoder: Option<StackWeights>,
    /// Norm after the last block.
    pub final_norm: Option<NormWeights>,
    /// `None` if the model was loaded without a head.
    pub head: Option<HeadWeights>,
}

struct Builder {
    dtype: Dtype,
    ids: HashMap<String, Id>,
    family: String,
}

impl Builder {
    fn id(&self, name: &str) -> Result<Id> {
        self.ids.get(name).copied().ok_or_else(|| ModelError::MissingTensor {
            file: "architecture".into(),
            tensor: name.to_owned(),
            family: self.family.clone(),
        })
    }

    fn table(&self, name: &str, width: usize) -> Result<Table> {
        Ok(Table { id: self.id(name)?, width, data: Numbers::default() })
    }

    fn linear(&self, stems: &[(&str, usize)], input: usize, bias: bool) -> Result<Linear> {
        let part = |(stem, out): &(&str, usize)| {
            let bias = if bias { Some(self.id(&format!("{stem}.bias"))?) } else { None };
            Ok(Member { weight: self.id(&format!("{stem}.weight"))?, bias, out: *out })
        };
        let parts = stems.iter().map(part).collect::<Result<_>>()?;
        Ok(Linear { input, parts, weight: Packed::empty(self.dtype), back: OnceLock::new(), bias: Vec::new() })
    }

    fn norm(&self, stem: &str, kind: NormKind, eps: f64) -> Result<NormWeights> {
        let bias_id = match kind {
            NormKind::Layer => Some(self.id(&format!("{stem}.bias"))?),
            NormKind::Rms => None,
        };
        let weight_id = self.id(&format!("{stem}.weight"))?;
        Ok(NormWeights { weight_id, bias_id, kind, eps: eps as f32, weight: Vec::new(), bias: None })
    }

    fn block(&self, a: &Arch, at: &str, f: usize, cross: bool) -> Result<Block> {
        let name = |part: &str| format!("{at}.{part}");
        let (d, norm, bias) = (a.hidden, a.norm, a.attention);
        let (q, kv) = (a.heads * a.head_dim, a.kv_heads * a.head_dim);
        let qkv = [(&*name("attn.q"), q), (&*name("attn.k"), kv), (&*name("attn.v"), kv)];
        let gate = if a.mlp.gated { Some(self.linear(&[(&name("mlp.gate"), f)], d, a.mlp.bias)?) } else { None };
        let cross = match cross {
            true => Some(Cross {
                q: self.linear(&[(&name("cross.q"), d)], d, bias.qkv_bias)?,
                kv: self.linear(&[(&name("cross.k"), d), (&name("cross.v"), d)], d, bias.qkv_bias)?,
                out: self.linear(&[(&name("cross.out"), d)], d, bias.out_bias)?,
                norm: self.norm(&name("norm_cross"), norm.kind, norm.eps)?,
            }),
            false => None,
        };
        Ok(Block {
            norm1: self.norm(&name("norm1"), norm.kind, norm.eps)?,
            qkv: self.linear(&qkv, d, bias.qkv_bias)?,
            out: self.linear(&[(&name("attn.out"), d)], q, bias.out_bias)?,
            cross,
            norm2: self.norm(&name("norm2"), norm.kind, norm.eps)?,
            up: self.linear(&[(&name("mlp.up"), f)], d, a.mlp.bias)?,
            gate,
            down: self.linear(&[(&name("mlp.down"), d)], f, a.mlp.bias)?,
        })
    }

    /// Builds a stack; `prefix` is empty for the first one and `decoder.` for the second.
    fn stack(&self, a: &Arch, prefix: &str, layers: usize, f: usize) -> Result<StackWeights> {
        let name = |part: &str| format!("{prefix}{part}");
        let blocks = if a.shared_block { layers.min(1) } else { layers };
        let block = |l: usize| self.block(a, &name(&format!("blocks.{l}")), f, !prefix.is_empty());
        Ok(StackWeights {
            positions: match a.positions {
                Positions::Learned { .. } => Some(self.table(&name("embed.positions.weight"), a.embedding.width)?),
                _ => None,
            },
            norm: match a.embedding.norm {
                true => Some(self.norm(&name("embed.norm"), a.norm.kind, a.norm.eps)?),
                false => None,
            },
            blocks: (0..blocks).map(block).collect::<Result<_>>()?,
        })
    }

    fn head(&self, a: &Arch) -> Result<Option<HeadWeights>> {
        let (tied, width) = match a.head {
            Head::None => return Ok(None),
            Head::Masked { tied, .. } => (tied, a.embedding.width),
            Head::Causal { tied, .. } => (tied, a.hidden),
        };
        let weight = self.id(if tied { "embed.tokens.weight" } else { "head.decoder.weight" })?;
        let mut bias = None;
        let mut transform = None;
        if matches!(a.head, Head::Masked { .. } | Head::Causal { bias: true, .. }) {
            bias = Some(self.id("head.decoder.bias")?);
        }
        if let Head::Masked { eps, .. } = a.head {
            transform = Some((
                self.linear(&[("head.transform", width)], a.hidden, true)?,
                self.norm("head.norm", NormKind::Layer, eps)?,
            ));
        }
        let mut decoder = self.linear(&[], width, false)?;
        decoder.parts.push(Member { weight, bias, out: a.vocab });
        Ok(Some(HeadWeights { transform, decoder, tied }))
    }
}

impl Weights {
    /// Loads all parameters of an architecture.
    pub(crate) fn new(a: &Arch, dtype: Dtype, source: &mut Source<'_>) -> Result<Weights> {
        let names: Vec<String> = a.parameters().into_iter().map(|p| p.name).collect();
        let ids = names.iter().cloned().enumerate().map(|(i, n)| (n, i)).collect();
        let b = Builder { dtype, ids, family: a.family.clone() };
        let e = a.embedding.width;
        let when = |yes: bool, name: &str| if yes { b.table(name, e).map(Some) } else { Ok(None) };
        let mut weights = Weights {
            dtype,
            tokens: b.table("embed.tokens.weight", e)?,
            types: when(a.embedding.types > 0, "embed.types.weight")?,
            tasks: when(a.embedding.tasks > 0, "embed.tasks.weight")?,
            project: match a.embedding.projection {
                true => Some(b.linear(&[("embed.project", a.hidden)], e, true)?),
                false => None,
            },
            encoder: b.stack(a, "", a.layers, a.intermediate)?,
            decoder: match a.decoder {
                Some(second) => Some(b.stack(a, "decoder.", second.layers, second.intermediate)?),
                None => None,
            },
            final_norm: match a.final_norm {
                true => Some(b.norm("final_norm", a.norm.kind, a.norm.eps)?),
                false => None,
            },
            head: b.head(a)?,
        };
        weights.fill(&mut |id| source(id, &names[id]))?;
        Ok(weights)
    }

    pub(crate) fn bytes(&self) -> usize {
        let table = |t: &Table| t.data.bytes();
        let norm = |n: &NormWeights| 4 * (n.weight.len() + n.bias.as_ref().map_or(0, Vec::len));
        let block = |b: &Block| {
            let cross = b.cross.as_ref().map_or(0, |c| c.q.bytes() + c.kv.bytes() + c.out.bytes() + norm(&c.norm));
            let maps = b.qkv.bytes() + b.out.bytes() + b.up.bytes() + b.down.bytes();
            maps + b.gate.as_ref().map_or(0, Linear::bytes) + norm(&b.norm1) + norm(&b.norm2) + cross
        };
        let stack = |s: &StackWeights| {
            let ends = s.positions.as_ref().map_or(0, table) + s.norm.as_ref().map_or(0, norm);
            ends + s.blocks.iter().map(block).sum::<usize>()
        };
        let head =
            |h: &HeadWeights| h.decoder.bytes() + h.transform.as_ref().map_or(0, |(map, n)| map.bytes() + norm(n));
        let tables = [Some(&self.tokens), self.types.as_ref(), self.tasks.as_ref()];
        tables.into_iter().flatten().map(table).sum::<usize>()
            + self.project.as_ref().map_or(0, Linear::bytes)
            + stack(&self.encoder)
            + self.decoder.as_ref().map_or(0, stack)
            + self.final_norm.as_ref().map_or(0, norm)
            + self.head.as_ref().map_or(0, head)
    }

    /// Replaces the values of all parameters.
    pub(crate) fn fill<'a>(&mut self, get: &mut dyn FnMut(Id) -> Result<Cow<'a, [f32]>>) -> Result<()> {
        let dtype = self.dtype;
        let Weights { tokens, types, tasks, project, encoder, decoder, final_norm, .. } = self;
        let mut tables: Vec<&mut Table> = [tokens].into_iter().chain(types).chain(tasks).collect();
        let mut norms: Vec<&mut NormWeights> = final_norm.iter_mut().collect();
        let mut maps: Vec<&mut Linear> = project.iter_mut().collect();
        for stack in [encoder].into_iter().chain(decoder) {
            tables.extend(&mut stack.positions);
            norms.extend(&mut stack.norm);
            for b in &mut stack.blocks {
                norms.extend([&mut b.norm1, &mut b.norm2]);
                maps.extend([&mut b.qkv, &mut b.out, &mut b.up, &mut b.down].into_iter().chain(&mut b.gate));
                if let Some(c) = &mut b.cross {
                    norms.push(&mut c.norm);
                    maps.extend([&mut c.q, &mut c.kv, &mut c.out]);
                }
            }
        }
        for table in tables {
            table.data.set(dtype, get(table.id)?);
        }
        if let Some(head) = &mut self.head {
            if let Some((map, norm)) = &mut head.transform {
                maps.push(map);
                norms.push(norm);
            }
            if head.tied {
                fill_linear(&mut head.decoder, &[self.tokens.values()], get)?;
            } else {
                maps.push(&mut head.decoder);
            }
        }
        for norm in norms {
            keep(&mut norm.weight, get(norm.weight_id)?);
            if let Some(id) = norm.bias_id {
                keep(norm.bias.get_or_insert_default(), get(id)?);
            }
        }
        for map in maps {
            let values = map.parts.iter().map(|p| get(p.weight)).collect::<Result<Vec<_>>>()?;
            fill_linear(map, &values, get)?;
        }
        Ok(())
    }
}

/// Copies into existing memory if the sizes match, otherwise takes ownership.
fn keep(to: &mut Vec<f32>, from: Cow<'_, [f32]>) {
    match from {
        Cow::Borrowed(values) if to.len() == values.len() => to.copy_from_slice(values),
        values => *to = values.into_owned(),
    }
}

fn fill_linear<'a>(
    map: &mut Linear,
    values: &[Cow<'_, [f32]>],
    get: &mut dyn FnMut(Id) -> Result<Cow<'a, [f32]>>,
) -> Result<()> {
    let parts: Vec<&[f32]> = values.iter().map(|v| &**v).collect();
    map.weight.set_weights(map.input, &parts);
    if let Some(back) = map.back.get_mut() {
        back.set_matrices(&parts, map.input);
    }
    map.bias.clear();
    for id in map.parts.iter().filter_map(|p| p.bias) {
        map.bias.extend_from_slice(&get(id)?);
    }
    Ok(())
}
