//! Backward pass: hand-written vector-Jacobian products of blocks and embeddings.

use super::forward::{Climb, each_token};
use super::grads::{Grads, RowsOf};
use super::rows::{Rows, Selection};
use super::stack::BlockPoint;
use super::state::{Back, CrossSpans, Inputs, Kept, KeptNorm, StackState, add, gather, scatter, spaced};
use super::weights::{Block, Cross, NormWeights};
use crate::arch::Place;
use crate::hook::HookPoint;
use kernels::attention::{Attention, Gradients, attend_back};
use kernels::buffer::Buffer;
use kernels::math::gate_back;
use kernels::norm::norm_back;
use kernels::product::{Finish, Left, Right, product};
use kernels::rotary::rotate;

/// Gradients of weights, if requested.
pub(super) type Wanted<'a> = Option<&'a mut Grads>;

/// The encoder's states, and their gradient, to which the decoder's backward pass adds.
pub(super) type MemoryBack<'a> = Option<(&'a [f32], &'a mut [f32])>;

/// Arguments for the backward pass of one block.
struct Level<'a> {
    l: usize,
    w: &'a Block,
    rows: &'a Rows,
    selection: Option<&'a Selection>,
    cross: &'a CrossSpans,
    kept: &'a Kept,
    inputs: &'a Inputs,
}

impl super::forward::Pass<'_> {
    /// Backpropagates through a norm; the gradient replaces `d` or is added to `into`.
    pub(crate) fn through_norm(
        &self,
        w: &NormWeights,
        kept: &KeptNorm,
        d: &mut [f32],
        into: Option<&mut [f32]>,
        grads: &mut Wanted<'_>,
    ) {
        if let Some(grads) = grads {
            grads.norm(self.team, w, kept.normed.as_ref(), d);
        }
        norm_back(self.team, &w.view(), (kept.normed.as_ref(), kept.factor.as_ref()), d, into);
    }
}

impl Climb<'_> {
    /// Backpropagates through a hook point of a block.
    fn back(&self, at: BlockPoint, l: usize, rows: &Rows, selected: bool, d: &mut [f32]) {
        if let Some(p) = self.stack.point(at, l) {
            self.pass.tap.back(p, rows, selected, d);
        }
    }

    fn ends_at(&self, at: BlockPoint, l: usize) -> bool {
        self.stack.point(at, l).is_some_and(|p| self.pass.tap.ends_at(p))
    }

    /// Backpropagates through all blocks, starting from the gradient of the states above them in `s.d`; returns true if the pass ended
    /// within the blocks.
    pub(crate) fn down(
        &self,
        s: &mut StackState,
        back: &mut Back,
        mut memory: MemoryBack<'_>,
        grads: &mut Wanted<'_>,
    ) -> bool {
        let stack = self.stack;
        let top_selected = stack.top_selected(&s.rows);
        let StackState { rows, kept, inputs, d, cross, cross_selected, .. } = s;
        if stack.blocks < stack.layers {
            self.back(BlockPoint::Pre, stack.blocks, rows, top_selected, d.as_mut());
            if self.ends_at(BlockPoint::Pre, stack.blocks) {
                return true;
            }
        }
        for l in (stack.first..stack.blocks).rev() {
            let (k, i) = stack.slots(self.pass.keep, l);
            let selection = stack.selection(l, rows);
            let cross = if selection.is_some() { &*cross_selected } else { &*cross };
            let (kept, inputs) = (&kept[k], &inputs[i]);
            let level = Level { l, w: stack.block(l), rows, selection, cross, kept, inputs };
            self.back(BlockPoint::Post, l, rows, selection.is_some(), d.as_mut());
            if self.ends_at(BlockPoint::Post, l) || self.block_back(&level, back, d, &mut memory, grads) {
                return true;
            }
            self.back(BlockPoint::Pre, l, rows, false, d.as_mut());
            if self.ends_at(BlockPoint::Pre, l) {
                return true;
            }
        }
        false
    }

    /// Backpropagates through one block, replacing `d`; returns true if the pass ended within the block.
    fn block_back(
        &self,
        b: &Level<'_>,
        back: &mut Back,
        d: &mut Buffer,
        memory: &mut MemoryBack<'_>,
        grads: &mut Wanted<'_>,
    ) -> bool {
        let (pass, place) = (self.pass, self.pass.arch.place);
        if place == Place::Post {
            pass.through_norm(&b.w.norm2, &b.kept.norm2, d.as_mut(), None, grads);
        }
        self.feed_back(b, back, d, grads);
        // `back.normed` now contains the gradient of the feed-forward part's input.
        match place {
            Place::Post => add(d.as_mut(), back.normed.as_ref()),
            Place::Pre => {
                let into = Some(d.as_mut());
                pass.through_norm(&b.w.norm2, &b.kept.norm2, back.normed.as_mut(), into, grads);
            }
            Place::Parallel => {
                pass.through_norm(&b.w.norm2, &b.kept.norm2, back.normed.as_mut(), None, grads);
                std::mem::swap(&mut back.normed, &mut back.other);
            }
        }
        if let (Some(w), Some((states, d_states))) = (&b.w.cross, memory) {
            self.cross_back(b, w, back, d, (states, d_states), grads);
        }
        if place != Place::Parallel {
            self.back(BlockPoint::Mid, b.l, b.rows, b.selection.is_some(), d.as_mut());
            if self.ends_at(BlockPoint::Mid, b.l) {
                return true;
            }
        }
        if place == Place::Post {
            pass.through_norm(&b.w.norm1, &b.kept.norm1, d.as_mut(), None, grads);
        }
        if self.attention_back(b, back, d, grads) {
            return true;
        }
        if place == Place::Parallel {
            match b.selection {
                Some(s) => scatter(back.other.as_ref(), pass.arch.hidden, &s.rows, d.as_mut()),
                None => add(d.as_mut(), back.other.as_ref()),
            }
        }
        false
    }

    /// Returns the gradient of a part's output before it is added to the residual stream: `d` itself, unless the plan uses the hook point
    /// in between.
    fn part_back<'d>(&self, place: BlockPoint, b: &Level<'_>, d: &'d Buffer, part: &'d mut Buffer) -> &'d [f32] {
        match self.stack.point(place, b.l).filter(|p| self.pass.tap.touches(*p)) {
            None => d.as_ref(),
            Some(p) => {
                let part = part.sized(d.as_ref().len());
                part.copy_from_slice(d.as_ref());
                self.pass.tap.back(p, b.rows, b.selection.is_some(), part);
                part
            }
        }
    }

    /// Backpropagates through the feed-forward part, from `d` at its output to the gradient of its input in `back.normed`.
    fn feed_back(&self, b: &Level<'_>, back: &mut Back, d: &Buffer, grads: &mut Wanted<'_>) {
        let (a, team) = (self.pass.arch, self.pass.team);
        let (width, f) = (a.hidden, self.stack.intermediate);
        let (ld, kind) = (spaced(f), a.mlp.activation);
        let d = self.part_back(BlockPoint::MlpOut, b, d, &mut back.part);
        let n = d.len() / width;
        if let Some(grads) = grads {
            let x = RowsOf { data: b.inputs.down.as_ref(), ld };
            grads.linear(team, &b.w.down, 0..1, n, x, RowsOf { data: d, ld: width });
        }
        let down = back.down.sized(n * ld);
        let (left, right) = (Left::rows(d, n, width, width), Right::packed(b.w.down.back()));
        let to = back.normed.sized(n * width);
        // Input of the feed-forward part, for gradients of weights.
        let x = RowsOf { data: b.inputs.up.as_ref(), ld: width };
        if let Some(gate) = &b.w.gate {
            product(team, left, right, down, ld, Finish::Store);
            let d_gate = back.gate.sized(n * ld);
            gate_back(team, kind, b.kept.gate.as_ref(), b.kept.up.as_ref(), down, d_gate);
            if let Some(grads) = grads {
                grads.linear(team, gate, 0..1, n, x, RowsOf { data: d_gate, ld });
            }
            product(team, Left::rows(d_gate, n, f, ld), Right::packed(gate.back()), to, width, Finish::Store);
        } else {
            product(team, left, right, down, ld, Finish::Back(kind, b.kept.up.as_ref()));
        }
        if let Some(grads) = grads {
            grads.linear(team, &b.w.up, 0..1, n, x, RowsOf { data: down, ld });
        }
        let finish = if b.w.gate.is_some() { Finish::Add(None) } else { Finish::Store };
        product(team, Left::rows(down, n, f, ld), Right::packed(b.w.up.back()), to, width, finish);
    }

    /// Backpropagates through attention, so that `d` becomes the gradient of the block's input for all rows; returns true if the pass ended
    /// within the attention.
    fn attention_back(&self, b: &Level<'_>, back: &mut Back, d: &mut Buffer, grads: &mut Wanted<'_>) -> bool {
        let (pass, team, width) = (self.pass, self.pass.team, self.pass.arch.hidden);
        let q_end = self.stack.columns()[1];
        let part = self.part_back(BlockPoint::AttnOut, b, d, &mut back.part);
        if self.ends_at(BlockPoint::AttnOut, b.l) {
            return true;
        }
        let m = part.len() / width;
        if let Some(grads) = grads {
            let x = RowsOf { data: b.inputs.out.as_ref(), ld: q_end };
            grads.linear(team, &b.w.out, 0..1, m, x, RowsOf { data: part, ld: width });
        }
        let out = back.out.sized(m * q_end);
        let left = Left::rows(part, m, width, width);
        product(team, left, Right::packed(b.w.out.back()), out, q_end, Finish::Store);
        self.heads_back(b, back);
        let n = b.rows.count();
        if let Some(s) = b.selection {
            // From here on, all rows have a gradient.
            let all = back.all.zeroed(n * width);
            scatter(d.as_ref(), width, &s.rows, all);
            std::mem::swap(d, &mut back.all);
        }
        if let Some(grads) = grads {
            self.qkv_grads(b, back, grads);
        }
        // Backpropagates through the norm of the block's input, if it comes before the attention.
        let post = pass.arch.place == Place::Post;
        let Back { qkv, q, normed, part, .. } = back;
        let to = if post { d.as_mut() } else { normed.zeroed(n * width) };
        self.qkv_back(b, (qkv, q), part, to);
        if !post {
            pass.through_norm(&b.w.norm1, &b.kept.norm1, normed.as_mut(), Some(d.as_mut()), grads);
        }
        false
    }

    /// Adds the gradients of the query, key and value weights.
    fn qkv_grads(&self, b: &Level<'_>, back: &mut Back, grads: &mut Grads) {
        let [_, q_end, _, ld] = self.stack.columns();
        let (team, width) = (self.pass.team, self.pass.arch.hidden);
        let x = RowsOf { data: b.inputs.qkv.as_ref(), ld: width };
        let (parts, from) = if b.selection.is_some() { (1..3, q_end) } else { (0..3, 0) };
        let d = RowsOf { data: &back.qkv.as_ref()[from..], ld };
        grads.linear(team, &b.w.qkv, parts, b.rows.count(), x, d);
        if let Some(s) = b.selection {
            let x = gather(x.data, width, &s.rows, &mut back.gate);
            let d = RowsOf { data: back.q.as_ref(), ld: q_end };
            grads.linear(team, &b.w.qkv, 0..1, s.rows.len(), RowsOf { data: x, ld: width }, d);
        }
    }

    /// Adds the gradient of the shared input of queries, keys and values to `to`, for all rows.
    fn qkv_back(&self, b: &Level<'_>, (qkv, q): (&Buffer, &Buffer), part: &mut Buffer, to: &mut [f32]) {
        let (n, width, team) = (b.rows.count(), self.pass.arch.hidden, self.pass.team);
        let [_, q_end, _, ld] = self.stack.columns();
        let w = b.w.qkv.back();
        let from = if b.selection.is_some() { q_end } else { 0 };
        let left = Left::rows(&qkv.as_ref()[from..], n, ld - from, ld);
        product(team, left, Right::within(w, 0..width, from..ld), to, width, Finish::Add(None));
        if let Some(s) = b.selection {
            let m = s.rows.len();
            let part = part.sized(m * width);
            let left = Left::rows(q.as_ref(), m, q_end, q_end);
            product(team, left, Right::within(w, 0..width, 0..q_end), part, width, Finish::Store);
            scatter(part, width, &s.rows, to);
        }
    }

    /// Converts the gradient of head outputs in `back.out` to that of queries, keys and values.
    fn heads_back(&self, b: &Level<'_>, back: &mut Back) {
        let (stack, team) = (self.stack, self.pass.team);
        let [_, q_end, k_end, ld] = stack.columns();
        let (spans, positions, pattern_len) = match b.selection {
            Some(s) => (&s.spans, &s.positions, s.kept),
            None => (&b.rows.spans, &b.rows.positions, b.rows.kept),
        };
        let (q, q_ld) = match b.selection {
            Some(_) => (b.kept.q.as_ref(), q_end),
            None => (b.kept.qkv.as_ref(), ld),
        };
        let attention = Attention {
            heads: stack.heads,
            kv_heads: stack.kv_heads,
            dim: stack.dim,
            causal: stack.causal,
            q,
            q_ld,
            kv: b.kept.qkv.as_ref(),
            kv_ld: ld,
            k_from: q_end,
            v_from: k_end,
            spans,
            positions,
        };
        let point = stack.point(BlockPoint::Pattern, b.l).filter(|p| self.pass.tap.weighs(*p));
        let extra = point.map(|p| {
            let extra = back.pattern.zeroed(pattern_len);
            let of = stack.patterns(b.rows, b.selection.is_some(), spans);
            self.pass.tap.back_pattern(p, of, extra);
            &*extra
        });
        let d_kv = back.qkv.sized(b.rows.count() * ld);
        let d_q = b.selection.map(|s| back.q.sized(s.rows.len() * q_end));
        let to = Gradients { q: d_q, kv: d_kv };
        attend_back(team, &attention, b.kept.pattern.as_ref(), extra, back.out.as_ref(), to);
        let Some(angles) = stack.angles else { return };
        rotate(team, back.qkv.as_mut(), ld, stack.key_heads(), angles, &b.rows.positions, true);
        let (d_q, q_ld) = if b.selection.is_some() { (&mut back.q, q_end) } else { (&mut back.qkv, ld) };
        rotate(team, d_q.as_mut(), q_ld, stack.query_heads(), angles, positions, true);
    }

    /// Backpropagates through a decoder's attention to the encoder: replaces `d`, and adds to the gradient of the encoder's states.
    fn cross_back(
        &self,
        b: &Level<'_>,
        w: &Cross,
        back: &mut Back,
        d: &mut Buffer,
        (states, d_states): (&[f32], &mut [f32]),
        grads: &mut Wanted<'_>,
    ) {
        let (stack, pass, team, width) = (self.stack, self.pass, self.pass.team, self.pass.arch.hidden);
        pass.through_norm(&w.norm, &b.kept.cross.norm, d.as_mut(), None, grads);
        let (n, m) = (states.len() / width, d.as_ref().len() / width);
        let out = back.out.sized(m * width);
        let left = Left::rows(d.as_ref(), m, width, width);
        product(team, left, Right::packed(w.out.back()), out, width, Finish::Store);
        let attention = Attention {
            heads: stack.heads,
            kv_heads: stack.heads,
            dim: stack.dim,
            causal: false,
            q: b.kept.cross.q.as_ref(),
            q_ld: width,
            kv: b.kept.cross.kv.as_ref(),
            kv_ld: 2 * width,
            k_from: 0,
            v_from: width,
            spans: &b.cross.spans,
            positions: b.selection.map_or(&b.rows.positions, |s| &s.positions),
        };
        let extra = stack.point(BlockPoint::Cross, b.l).filter(|p| pass.tap.weighs(*p)).map(|p| {
            let extra = back.pattern.zeroed(b.cross.kept);
            pass.tap.back_pattern(p, stack.patterns(b.rows, b.selection.is_some(), &b.cross.spans), extra);
            &*extra
        });
        let (d_q, d_kv) = (back.cross_q.sized(m * width), back.cross_kv.sized(n * 2 * width));
        let to = Gradients { q: Some(&mut *d_q), kv: &mut *d_kv };
        attend_back(team, &attention, b.kept.cross.pattern.as_ref(), extra, out, to);
        if let Some(grads) = grads {
            let rows = |data, ld| RowsOf { data, ld };
            let x = rows(b.inputs.cross_out.as_ref(), width);
            grads.linear(team, &w.out, 0..1, m, x, rows(d.as_ref(), width));
            grads.linear(team, &w.q, 0..1, m, rows(b.inputs.cross.as_ref(), width), rows(d_q, width));
            grads.linear(team, &w.kv, 0..2, n, rows(states, width), rows(d_kv, 2 * width));
        }
        let left = Left::rows(d_q, m, width, width);
        product(team, left, Right::packed(w.q.back()), d.as_mut(), width, Finish::Add(None));
        let left = Left::rows(d_kv, n, 2 * width, 2 * width);
        product(team, left, Right::packed(w.kv.back()), d_states, width, Finish::Add(None));
    }

    /// Backpropagates from the input of block 0 (its gradient is in `s.d`) to the rows of the word-embedding table.
    pub(crate) fn embed_back(&self, s: &mut StackState, back: &mut Back, grads: &mut Wanted<'_>) {
        let (pass, a, w, stack) = (self.pass, self.pass.arch, self.pass.weights, self.stack);
        let (width, n) = (a.embedding.width, s.rows.count());
        let StackState { rows, narrow, embed_norm, d, .. } = s;
        if let Some(project) = w.project.as_ref().filter(|_| !stack.second) {
            let to = back.normed.sized(n * width);
            if let Some(grads) = grads {
                let x = RowsOf { data: narrow.as_ref(), ld: width };
                grads.linear(pass.team, project, 0..1, n, x, RowsOf { data: d.as_ref(), ld: a.hidden });
            }
            let left = Left::rows(d.as_ref(), n, a.hidden, a.hidden);
            product(pass.team, left, Right::packed(project.back()), to, width, Finish::Store);
            std::mem::swap(d, &mut back.normed);
        }
        if let Some(norm) = &stack.weights.norm {
            pass.through_norm(norm, embed_norm, d.as_mut(), None, grads);
        }
        if let Some(grads) = grads {
            self.table_grads(rows, d.as_ref(), grads);
        }
        if a.embedding.scale != 1.0 {
            d.as_mut().iter_mut().for_each(|v| *v *= a.embedding.scale as f32);
        }
        if !stack.second {
            pass.tap.back(HookPoint::Embed, rows, false, d.as_mut());
        }
        if let Some(grads) = grads {
            let (to, batch) = (grads.of(w.tokens.id), stack.batch);
            each_token(rows, |b, t, row| {
                let id = batch.ids()[b * batch.len() + t] as usize;
                add(&mut to[id * width..(id + 1) * width], &d.as_ref()[row * width..(row + 1) * width]);
            });
        }
    }

    /// Adds gradients of the position, type and task tables.
    fn table_grads(&self, rows: &Rows, d: &[f32], grads: &mut Grads) {
        let (w, width, batch) = (self.pass.weights, self.pass.arch.embedding.width, self.stack.batch);
        let types = |b: usize, t: usize| batch.types()[b * batch.len() + t] as usize;
        let tables: [(_, &dyn Fn(usize, usize) -> usize); 3] = [
            (self.stack.weights.positions.as_ref(), &|b, t| self.position_row(b, t)),
            (w.types.as_ref().filter(|_| !self.stack.second), &types),
            (w.tasks.as_ref().filter(|_| !self.stack.second), &|_, _| 0),
        ];
        for (table, place) in tables {
            let Some(table) = table else { continue };
            let to = grads.of(table.id);
            each_token(rows, |b, t, row| {
                let at = place(b, t) * width;
                add(&mut to[at..at + width], &d[row * width..(row + 1) * width]);
            });
        }
    }
}
