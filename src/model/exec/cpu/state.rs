//! The memory of one group of sentences on its way through a model. It is kept and grows only.

use super::kernels::attention::Span;
use super::kernels::buffer::Buffer;
use super::rows::Rows;

/// What a pass keeps for the way back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Keep {
    /// Nothing: forward only.
    Nothing,
    /// What gradients of hidden states need.
    Hidden,
    /// And what gradients of weights need.
    Weights,
}

/// A normalisation's input, in the form that its way back needs.
#[derive(Default)]
pub(super) struct KeptNorm {
    pub normed: Buffer,
    pub factor: Buffer,
}

/// One block's values for gradients of hidden states.
#[derive(Default)]
pub(super) struct Kept {
    pub norm1: KeptNorm,
    /// `[n, q + k + v]`; with selected rows the queries are apart.
    pub qkv: Buffer,
    /// Queries of selected rows.
    pub q: Buffer,
    pub pattern: Buffer,
    pub cross: KeptCross,
    pub norm2: KeptNorm,
    /// Before the nonlinearity (what is gated, with a gate).
    pub up: Buffer,
    pub gate: Buffer,
}

/// The same of a decoder's attention to the encoder.
#[derive(Default)]
pub(super) struct KeptCross {
    pub q: Buffer,
    pub kv: Buffer,
    pub pattern: Buffer,
    pub norm: KeptNorm,
}

/// One block's inputs of linear maps, for gradients of weights.
#[derive(Default)]
pub(super) struct Inputs {
    pub qkv: Buffer,
    pub out: Buffer,
    pub cross: Buffer,
    pub cross_out: Buffer,
    pub up: Buffer,
    pub down: Buffer,
}

/// The head's values for some rows.
#[derive(Default)]
pub(super) struct HeadState {
    /// Rows of the states after the last block (and the final norm).
    pub rows: Buffer,
    /// Before the transform's nonlinearity.
    pub pre: Buffer,
    /// What the decoder multiplies.
    pub ready: Buffer,
    pub norm: KeptNorm,
    pub logits: Buffer,
    pub d: Buffer,
    pub values: Buffer,
    /// (row of the states, row of the answer)
    pub sites: Vec<(usize, usize)>,
    pub targets: Vec<usize>,
    pub tokens: Vec<u32>,
}

/// Attention of these sentences to others.
#[derive(Default)]
pub(super) struct CrossSpans {
    pub spans: Vec<Span>,
    /// Floats of all probabilities.
    pub kept: usize,
}

/// One stack's values.
#[derive(Default)]
pub(super) struct StackState {
    pub rows: Rows,
    /// A decoder's sentences with the encoder's rows as keys: for all its rows, and for the selected ones.
    pub cross: CrossSpans,
    pub cross_selected: CrossSpans,
    /// The residual stream.
    pub h: Buffer,
    /// What a block adds to it, where that is looked at.
    pub part: Buffer,
    /// Selected rows of something.
    pub gather: Buffer,
    pub kept: Vec<Kept>,
    pub inputs: Vec<Inputs>,
    pub embed_norm: KeptNorm,
    /// Input of the projection of factorised embeddings.
    pub narrow: Buffer,
    /// The gradient of the residual stream.
    pub d: Buffer,
}

/// Everything.
#[derive(Default)]
pub(super) struct State {
    pub first: StackState,
    pub second: StackState,
    /// After the final norm.
    pub top: Buffer,
    pub final_norm: KeptNorm,
    pub head: HeadState,
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
    pub down: Buffer,
    pub gate: Buffer,
    pub out: Buffer,
    pub qkv: Buffer,
    pub q: Buffer,
    pub pattern: Buffer,
    /// Gradients of the residual stream before selection.
    pub all: Buffer,
    pub cross_q: Buffer,
    pub cross_kv: Buffer,
}

impl StackState {
    /// Room for `blocks` blocks.
    pub fn reserve(&mut self, keep: Keep, blocks: usize) {
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
    pub fn set(&mut self, queries: &[Span], keys: &[Span], heads: usize) {
        self.spans.clear();
        self.kept = 0;
        for (q, k) in queries.iter().zip(keys) {
            let span =
                Span { rows: k.rows.clone(), keys: k.keys, queries: q.queries.clone(), kept: self.kept };
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
