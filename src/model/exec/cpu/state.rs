//! Working memory of one group of sentences. It is reused and never shrinks.

use super::rows::Rows;
use kernels::attention::Span;
use kernels::buffer::Buffer;

/// Data kept for the backward pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Keep {
    /// Nothing, for a forward pass alone.
    Nothing,
    /// Data for gradients of hidden states.
    Hidden,
    /// Also data for gradients of weights.
    Weights,
}

/// Input of a norm in the form needed by its backward pass.
#[derive(Default)]
pub(super) struct KeptNorm {
    /// Normalized rows before weight and bias.
    pub normed: Buffer,
    /// Scale of each row.
    pub factor: Buffer,
}

/// Values of one block, for gradients of hidden states.
#[derive(Default)]
pub(super) struct Kept {
    /// Norm of the attention.
    pub(crate) norm1: KeptNorm,
    /// Queries, keys and values, `[n, q + k + v]`; queries of selected rows are in `q`.
    pub(crate) qkv: Buffer,
    /// Queries of selected rows.
    pub q: Buffer,
    /// Attention probabilities.
    pub pattern: Buffer,
    /// Attention to the encoder.
    pub cross: KeptCross,
    /// Norm of the feed-forward part.
    pub(crate) norm2: KeptNorm,
    /// Values before the activation function; with a gate, the values to be gated.
    pub up: Buffer,
    /// Gate before the activation function.
    pub gate: Buffer,
}

/// Values of a decoder's attention to the encoder.
#[derive(Default)]
pub(super) struct KeptCross {
    pub q: Buffer,
    /// Keys and values of the encoder's rows.
    pub kv: Buffer,
    /// Attention probabilities.
    pub pattern: Buffer,
    /// Norm after the attention.
    pub norm: KeptNorm,
}

/// Inputs of one block's linear maps, for gradients of weights.
#[derive(Default)]
pub(super) struct Inputs {
    /// Input of queries, keys and values.
    pub(crate) qkv: Buffer,
    /// Input of the attention's output map.
    pub out: Buffer,
    /// Input of the queries to the encoder.
    pub cross: Buffer,
    /// Input of the output map of the attention to the encoder.
    pub(crate) cross_out: Buffer,
    /// Input of the feed-forward part.
    pub up: Buffer,
    /// Input of the second map of the feed-forward part.
    pub down: Buffer,
}

/// Values of the head for some rows.
#[derive(Default)]
pub(super) struct HeadState {
    /// States after the last block and the final norm.
    pub rows: Buffer,
    /// Values before the transform's activation function.
    pub pre: Buffer,
    /// Input of the decoder matrix.
    pub ready: Buffer,
    /// Norm of the transform.
    pub norm: KeptNorm,
    /// Logits of a few rows at a time, `[rows, V]`.
    pub logits: Buffer,
    /// Gradient of the states, one row per site.
    pub d: Buffer,
    /// Values of the differentiated scalars, one per site.
    pub values: Buffer,
    /// Pairs (row of the states, row of the output).
    pub sites: Vec<(usize, usize)>,
    /// Index of the plan's target for each site.
    pub targets: Vec<usize>,
    pub tokens: Vec<u32>,
}

/// Attention from these sentences to the sentences of the other stack.
#[derive(Default)]
pub(super) struct CrossSpans {
    /// Rows and visible keys of each sentence.
    pub spans: Vec<Span>,
    /// Number of floats for all probabilities.
    pub kept: usize,
}

#[derive(Default)]
pub(super) struct StackState {
    pub rows: Rows,
    /// Attention of all decoder rows to the encoder's rows.
    pub cross: CrossSpans,
    /// Attention of the selected decoder rows to the encoder's rows.
    pub(crate) cross_selected: CrossSpans,
    /// Residual stream.
    pub h: Buffer,
    /// Part that a block adds to the residual stream, if the plan uses it.
    pub part: Buffer,
    /// Scratch memory for selected rows.
    pub gather: Buffer,
    /// Data for gradients of hidden states, by block.
    pub kept: Vec<Kept>,
    /// Data for gradients of weights, by block.
    pub inputs: Vec<Inputs>,
    pub(crate) embed_norm: KeptNorm,
    /// Input of the projection for factorised embeddings.
    pub narrow: Buffer,
    /// Gradient of the residual stream.
    pub d: Buffer,
}

#[derive(Default)]
pub(super) struct State {
    /// The only stack, or the encoder.
    pub first: StackState,
    pub second: StackState,
    /// States after the final norm.
    pub top: Buffer,
    /// Norm after the last block.
    pub final_norm: KeptNorm,
    pub head: HeadState,
    pub back: Back,
}

/// Gradients within a block.
#[derive(Default)]
pub(super) struct Back {
    /// Gradient of the part that a block adds, if the plan uses it.
    pub part: Buffer,
    /// Gradient of a normalized input.
    pub normed: Buffer,
    /// Gradient of a normalized input in the other branch of a parallel block.
    pub other: Buffer,
    /// Gradient of the feed-forward part's hidden values.
    pub down: Buffer,
    pub gate: Buffer,
    /// Gradient of the concatenated heads.
    pub out: Buffer,
    /// Gradient of queries, keys and values.
    pub(crate) qkv: Buffer,
    /// Gradient of the selected rows' queries.
    pub q: Buffer,
    /// Gradient of attention probabilities.
    pub pattern: Buffer,
    /// Gradient of the residual stream for all rows.
    pub all: Buffer,
    /// Gradient of the queries to the encoder.
    pub(crate) cross_q: Buffer,
    /// Gradient of the encoder's keys and values.
    pub(crate) cross_kv: Buffer,
}

impl StackState {
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
    /// Lets sentences of `queries` attend to the rows of `keys`.
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

/// Row stride for rows of `width` floats. Rows at multiples of 4 KiB would compete for the same cache sets.
pub(super) fn spaced(width: usize) -> usize {
    if width.is_multiple_of(1024) { width + 16 } else { width }
}

/// Copies rows `which` of `from` to consecutive rows.
pub(super) fn gather<'a>(from: &[f32], width: usize, which: &[u32], to: &'a mut Buffer) -> &'a mut [f32] {
    let to = to.sized(which.len() * width);
    for (row, to) in which.iter().zip(to.chunks_exact_mut(width)) {
        to.copy_from_slice(&from[*row as usize * width..][..width]);
    }
    to
}

/// Adds consecutive rows to rows `which` of `to`.
pub(super) fn scatter(from: &[f32], width: usize, which: &[u32], to: &mut [f32]) {
    for (row, from) in which.iter().zip(from.chunks_exact(width)) {
        add(&mut to[*row as usize * width..][..width], from);
    }
}

/// `to += from`
pub(super) fn add(to: &mut [f32], from: &[f32]) {
    to.iter_mut().zip(from).for_each(|(t, f)| *t += f);
}
