//! A stack of blocks: the encoder (or only stack), or the decoder.

use super::rows::{Need, Rows, Selection};
use super::state::Keep;
use super::tap::Patterns;
use super::weights::{Block, StackWeights};
use crate::batch::Batch;
use crate::hook::HookPoint;
use kernels::attention::Span;
use kernels::rotary::{Angles, Heads};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockPoint {
    Pre,
    Pattern,
    Cross,
    AttnOut,
    Mid,
    MlpOut,
    Post,
}

pub(super) struct Stack<'a> {
    pub weights: &'a StackWeights,
    pub batch: &'a Batch,
    /// True for the decoder.
    pub second: bool,
    pub heads: usize,
    /// Number of key/value heads; fewer than `heads` if shared.
    pub kv_heads: usize,
    /// Width of a head.
    pub dim: usize,
    /// Width of the feed-forward part.
    pub intermediate: usize,
    /// True if tokens attend only to themselves and earlier tokens.
    pub causal: bool,
    /// Rotary positions, if used.
    pub angles: Option<&'a Angles>,
    /// Total number of blocks.
    pub layers: usize,
    /// First block that runs.
    pub first: usize,
    /// One past the last block that runs.
    pub blocks: usize,
    /// Rows that the last block computes after its attention's keys and values.
    pub need: Need,
    /// True if padding is computed.
    pub padded: bool,
}

impl Stack<'_> {
    /// Hook point at this place in block `l`, if it has one.
    pub(crate) fn point(&self, at: BlockPoint, l: usize) -> Option<HookPoint> {
        match (at, self.second) {
            (BlockPoint::Pre, false) => Some(HookPoint::ResidPre(l)),
            (BlockPoint::Pattern, false) => Some(HookPoint::Pattern(l)),
            (BlockPoint::AttnOut, false) => Some(HookPoint::AttnOut(l)),
            (BlockPoint::Mid, false) => Some(HookPoint::ResidMid(l)),
            (BlockPoint::MlpOut, false) => Some(HookPoint::MlpOut(l)),
            (BlockPoint::Post, false) => Some(HookPoint::ResidPost(l)),
            (BlockPoint::Pre, true) => Some(HookPoint::DecoderPre(l)),
            (BlockPoint::Pattern, true) => Some(HookPoint::DecoderPattern(l)),
            (BlockPoint::Cross, true) => Some(HookPoint::CrossPattern(l)),
            (BlockPoint::Post, true) => Some(HookPoint::DecoderPost(l)),
            (BlockPoint::Cross, false) | (BlockPoint::AttnOut | BlockPoint::Mid | BlockPoint::MlpOut, true) => None,
        }
    }

    pub(crate) fn block(&self, l: usize) -> &Block {
        self.weights.block(l)
    }

    /// Indices of the slots where block `l` stores its kept values and its inputs.
    pub(crate) fn slots(&self, keep: Keep, l: usize) -> (usize, usize) {
        let slot = |wanted: bool| if wanted { l - self.first } else { 0 };
        (slot(keep >= Keep::Hidden), slot(keep == Keep::Weights))
    }

    /// Selection of rows that run after the attention of block `l`; `None` if all rows do.
    pub(crate) fn selection<'r>(&self, l: usize, rows: &'r Rows) -> Option<&'r Selection> {
        rows.selection().filter(|_| l + 1 == self.blocks)
    }

    /// True if the states after the last block are those of the selected rows.
    pub(crate) fn top_selected(&self, rows: &Rows) -> bool {
        self.blocks > self.first && rows.selection().is_some()
    }

    /// Column boundaries of queries, keys and values.
    pub(crate) fn columns(&self) -> [usize; 4] {
        let (q, kv) = (self.heads * self.dim, self.kv_heads * self.dim);
        [0, q, q + kv, q + 2 * kv]
    }

    pub(crate) fn query_heads(&self) -> Heads {
        Heads { from: 0, count: self.heads, dim: self.dim }
    }

    /// Key columns of each head.
    pub(crate) fn key_heads(&self) -> Heads {
        Heads { from: self.columns()[1], count: self.kv_heads, dim: self.dim }
    }

    /// Attention probabilities in the layout of the pass.
    pub(crate) fn patterns<'r>(&self, rows: &'r Rows, selected: bool, spans: &'r [Span]) -> Patterns<'r> {
        Patterns { heads: self.heads, rows, selected, spans }
    }
}
