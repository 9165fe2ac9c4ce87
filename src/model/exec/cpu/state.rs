//! The memory of one group of sentences on its way through a model. It is kept and only grows.

use super::rows::Rows;
use kernels::attention::Span;
use kernels::buffer::Buffer;

/// Data that a pass keeps for the backward pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Keep {
    /// Nothing: forward only.
    Nothing,
    /// For gradients of hidden states.
    Hidden,
    /// And what gradients of weights need.
    Weights,
}

/// A normalisation's input, in the form that its backward pass needs.
#[derive(Default)]
pub(super) struct KeptNorm {
    /// Normalised rows before weight and bias.
    pub normed: Buffer,
    /// Factor of each row.
    pub factor: Buffer,
}

/// One block's values for gradients of hidden states.
#[derive(Default)]
pub(super) struct Kept {
    /// Of the attention.
    pub(crate) norm1: KeptNorm,
    /// `[n, q + k + v]`; with selected rows the queries are apart.
    pub(crate) qkv: Buffer,
    /// Queries of selected rows.
    pub q: Buffer,
    /// Attention probabilities.
    pub pattern: Buffer,
    /// Of the attention to the encoder.
    pub cross: KeptCross,
    /// Of the feed-forward part.
    pub(crate) norm2: KeptNorm,
    /// Before the nonlinearity (what is gated, with a gate).
    pub up: Buffer,
    /// The gate before the nonlinearity.
    pub gate: Buffer,
}

/// The same of a decoder's attention to the encoder.
#[derive(Default)]
pub(super) struct KeptCross {
    /// Queries.
    pub q: Buffer,
    /// Keys and values, of the encoder's rows.
    pub kv: Buffer,
    /// Attention probabilities.
    pub pattern: Buffer,
    /// Of the norm after it.
    pub norm: KeptNorm,
}

/// One block's inputs of linear maps, for gradients of weights.
#[derive(Default)]
pub(super) struct Inputs {
    /// Of queries, keys and values.
    pub(crate) qkv: Buffer,
    /// Of the attention's output map.
    pub out: Buffer,
    /// Of the queries to the encoder.
    pub cross: Buffer,
    /// Of the output map of the attention to the encoder.
    pub(crate) cross_out: Buffer,
    /// Of the feed-forward part.
    pub up: Buffer,
    /// Of its second map.
    pub down: Buffer,
}

/// The head's values for some rows.
#[derive(Default)]
pub(super) struct HeadState {
    /// Rows of the states after the last block (and the final norm).
    pub rows: Buffer,
    /// Before the transform's nonlinearity.
    pub pre: Buffer,
    /// Input of the decoder matrix.
    pub ready: Buffer,
    /// Of the transform's norm.
    pub norm: KeptNorm,
    /// Logits of a few rows at a time, `[rows, V]`.
    pub logits: Buffer,
    /// Gradients of the states, one row per site.
    pub d: Buffer,
    /// Values of the scalars that gradients are of, one per site.
    pub values: Buffer,
    /// (row of the states, row of the answer)
    pub sites: Vec<(usize, usize)>,
    /// Targets of the plan by site.
    pub targets: Vec<usize>,
    pub tokens: Vec<u32>,
}

/// Attention of these sentences to others.
#[derive(Default)]
pub(super) struct CrossSpans {
    /// One per sentence: its rows, and the keys that they see.
    pub spans: Vec<Span>,
    /// Floats of all probabilities.
    pub kept: usize,
}

/// One stack's values.
#[derive(Default)]
pub(super) struct StackState {
    /// The sentences' rows.
    pub rows: Rows,
    /// A decoder's sentences with the encoder's rows as keys: for all its rows, and for the selected ones.
    pub cross: CrossSpans,
    /// The same for the selected rows.
    pub(crate) cross_selected: CrossSpans,
    /// The residual stream.
    pub h: Buffer,
    /// A block's addition to it, if the plan uses that.
    pub part: Buffer,
    /// Selected rows of something.
    pub gather: Buffer,
    /// Data for gradients of hidden states, by block.
    pub kept: Vec<Kept>,
    /// Data for gradients of weights, by block.
    pub inputs: Vec<Inputs>,
    pub(crate) embed_norm: KeptNorm,
    /// Input of the projection of factorised embeddings.
    pub narrow: Buffer,
    /// The gradient of the residual stream.
    pub d: Buffer,
}

/// Working memory of a pass.
#[derive(Default)]
pub(super) struct State {
    /// The only stack, or the encoder.
    pub first: StackState,
    pub second: StackState,
    /// After the final norm.
    pub top: Buffer,
    /// Of the norm behind the last block.
    pub final_norm: KeptNorm,
    /// The head's.
    pub head: HeadState,
    /// Gradients in the backward pass.
    pub back: Back,
}

/// Gradients within a block.
#[derive(Default)]
pub(super) struct Back {
    /// Of what a block adds, where that is looked at.
    pub part: Buffer,
    /// Of a normalised input.
    pub normed: Buffer,
    /// The same in the other branch of a parallel block.
    pub other: Buffer,
    /// Of the feed-forward part's hidden values.
    pub down: Buffer,
    pub gate: Buffer,
    /// Of the heads, side by side.
    pub out: Buffer,
    /// Of queries, keys and values.
    pub(crate) qkv: Buffer,
    /// Of the queries of selected rows.
    pub q: Buffer,
    /// Of attention probabilities.
    pub pattern: Buffer,
    /// Gradients of the residual stream before selection.
    pub all: Buffer,
    /// Of the queries to the encoder.
    pub(crate) cross_q: Buffer,
    /// Of the encoder's keys and values.
    pub(crate) cross_kv: Buffer,
}

impl StackState {
    /// Room for `blocks` blocks.
    pub(crate) fn reserve(&mut self, keep: Keep, blocks: usize) {
        let room = |wanted: bool| if wanted { blocks.max(1) } else { 1 };
        let (kept, inputs) = (room(keep >= Keep::Hidden), room(keep == Keep::Weights));
        if self.kept.len() < kept {
            self.kept.resize_with(kept, Kept::default);
        }
        if self.inputs.len() < inputs {
            self.inputs.resize_with(inputs, Inputs::default);
        }
    }
}

impl CrossSpans {
    /// Sentences of `queries` that look at the rows of `keys`.
    pub(crate) fn set(&mut self, queries: &[Span], keys: &[Span], heads: usize) {
        self.spans.clear();
        self.kept = 0;
        for (q, k) in queries.iter().zip(keys) {
            let span = Span { rows: k.rows.clone(), keys: k.keys, queries: q.queries.clone(), kept: self.kept };
            self.kept += span.kept_len(heads);
            self.spans.push(span);
        }
    }
}

/// Floats from a row of `width` to the next: rows a multiple of 4 KiB apart would share cache sets.
pub(super) fn spaced(width: usize) -> usize {
    if width.is_multiple_of(1024) { width + 16 } else { width }
}

/// Copies rows `which` of `from` below each other.
pub(super) fn gather<'a>(from: &[f32], width: usize, which: &[u32], to: &'a mut Buffer) -> &'a mut [f32] {
    let to = to.sized(which.len() * width);
    for (row, to) in which.iter().zip(to.chunks_exact_mut(width)) {
        to.copy_from_slice(&from[*row as usize * width..][..width]);
    }
    to
}

/// Adds rows to rows `which` of `to`.
pub(super) fn scatter(from: &[f32], width: usize, which: &[u32], to: &mut [f32]) {
    for (row, from) in which.iter().zip(from.chunks_exact(width)) {
        add(&mut to[*row as usize * width..][..width], from);
    }
}

/// `to += from`
pub(super) fn add(to: &mut [f32], from: &[f32]) {
    to.iter_mut().zip(from).for_each(|(t, f)| *t += f);
}
