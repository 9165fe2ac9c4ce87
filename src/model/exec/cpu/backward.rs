//! The way down: vector-Jacobian products of blocks and embeddings, written by hand.

use super::forward::{Pass, columns};
use super::grads::{Grads, RowsOf};
use super::kernels::attention::{Attention, Gradients, attend_back};
use super::kernels::buffer::Buffer;
use super::kernels::math::gate_back;
use super::kernels::norm::norm_back;
use super::kernels::packed::Packed;
use super::kernels::product::{Finish, Left, Right, product};
use super::kernels::rotary::{Heads, rotate};
use super::rows::{Rows, Selection};
use super::state::{Back, Inputs, Kept, KeptNorm, State, add, gather, scatter, spaced};
use super::weights::{Block, NormWeights};
use crate::model::arch::Place;
use crate::model::batch::Batch;
use crate::model::hook::HookPoint;
use crate::model::plan::Scalar;

/// Gradients of weights, where they are wanted.
pub(super) type Wanted<'a> = Option<&'a mut Grads>;

/// One block on the way down.
struct Level<'a> {
    l: usize,
    w: &'a Block,
    rows: &'a Rows,
    selection: Option<&'a Selection>,
    kept: &'a Kept,
    inputs: &'a Inputs,
}

impl Pass<'_> {
    /// From the scalar to every point where its gradient is wanted. `weight` is the factor of log-probabilities.
    pub fn down(&self, s: &mut State, of: &Scalar, weight: Option<f32>, mut grads: Wanted<'_>) {
        let selected = self.top_selected(s);
        let mut d = std::mem::take(&mut s.d);
        d.zeroed(s.h.as_ref().len());
        // The final norm takes part if the scalar lies behind it.
        let behind = matches!(of, Scalar::Cotangent { at: HookPoint::FinalNorm, .. });
        if of.targets().is_some() || behind {
            self.targets(s, of, weight, &mut grads, d.as_mut());
            if let Some(w) = &self.weights.final_norm {
                self.tap.back(HookPoint::FinalNorm, &s.rows, selected, d.as_mut());
                self.through_norm(w, &s.final_norm, d.as_mut(), None, &mut grads);
            }
        }
        let ended = self.tap.ends_at(HookPoint::FinalNorm) || self.blocks_down(s, &mut d, &mut grads);
        if !ended {
            self.embed_back(s, &mut d, &mut grads);
        }
        s.d = d;
    }

    /// Through all blocks; whether the way ended there.
    fn blocks_down(&self, s: &mut State, d: &mut Buffer, grads: &mut Wanted<'_>) -> bool {
        let top_selected = self.top_selected(s);
        let State { rows, kept, inputs, back, .. } = s;
        if self.blocks < self.arch.layers {
            let p = HookPoint::ResidPre(self.blocks);
            self.tap.back(p, rows, top_selected, d.as_mut());
            if self.tap.ends_at(p) {
                return true;
            }
        }
        for l in (self.first..self.blocks).rev() {
            let (k, i) = self.slots(l);
            let selection = rows.selection().filter(|_| self.selects(l, rows));
            let w = self.weights.block(l);
            let level = Level { l, w, rows, selection, kept: &kept[k], inputs: &inputs[i] };
            self.tap.back(HookPoint::ResidPost(l), rows, selection.is_some(), d.as_mut());
            if self.tap.ends_at(HookPoint::ResidPost(l)) || self.block_back(&level, back, d, grads) {
                return true;
            }
            self.tap.back(HookPoint::ResidPre(l), rows, false, d.as_mut());
            if self.tap.ends_at(HookPoint::ResidPre(l)) {
                return true;
            }
        }
        false
    }

    /// Through one block, `d` in place; whether the way ended inside.
    fn block_back(&self, b: &Level<'_>, back: &mut Back, d: &mut Buffer, grads: &mut Wanted<'_>) -> bool {
        let (place, selected) = (self.arch.place, b.selection.is_some());
        if place == Place::Post {
            self.through_norm(&b.w.norm2, &b.kept.norm2, d.as_mut(), None, grads);
        }
        self.feed_back(b, back, d, grads);
        // `back.normed` now holds the gradient of the feed-forward part's input.
        match place {
            Place::Post => {
                add(d.as_mut(), back.normed.as_ref());
            }
            Place::Pre => {
                let into = Some(d.as_mut());
                self.through_norm(&b.w.norm2, &b.kept.norm2, back.normed.as_mut(), into, grads);
            }
            Place::Parallel => {
                self.through_norm(&b.w.norm2, &b.kept.norm2, back.normed.as_mut(), None, grads);
                std::mem::swap(&mut back.normed, &mut back.other);
            }
        }
        if place != Place::Parallel {
            self.tap.back(HookPoint::ResidMid(b.l), b.rows, selected, d.as_mut());
            if self.tap.ends_at(HookPoint::ResidMid(b.l)) {
                return true;
            }
        }
        if place == Place::Post {
            self.through_norm(&b.w.norm1, &b.kept.norm1, d.as_mut(), None, grads);
        }
        if self.attention_back(b, back, d, grads) {
            return true;
        }
        if place == Place::Parallel {
            match b.selection {
                Some(s) => scatter(back.other.as_ref(), self.arch.hidden, &s.rows, d.as_mut()),
                None => add(d.as_mut(), back.other.as_ref()),
            }
        }
        false
    }

    /// Through a normalisation: in place, or added to `into`.
    fn through_norm(
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

    /// The gradient of what a part added to the residual stream: `d` itself, unless someone looks at it there.
    fn part_back<'d>(&self, p: HookPoint, b: &Level<'_>, d: &'d Buffer, part: &'d mut Buffer) -> &'d [f32] {
        if !self.tap.touches(p) {
            return d.as_ref();
        }
        let part = part.sized(d.as_ref().len());
        part.copy_from_slice(d.as_ref());
        self.tap.back(p, b.rows, b.selection.is_some(), part);
        part
    }

    /// Through the feed-forward part: from `d` at its output to its input, in `back.normed`.
    fn feed_back(&self, b: &Level<'_>, back: &mut Back, d: &Buffer, grads: &mut Wanted<'_>) {
        let (a, team) = (self.arch, self.team);
        let (width, f, ld) = (a.hidden, a.intermediate, spaced(a.intermediate));
        let d = self.part_back(HookPoint::MlpOut(b.l), b, d, &mut back.part);
        let n = d.len() / width;
        if let Some(grads) = grads {
            let x = RowsOf { data: b.inputs.down.as_ref(), ld };
            grads.linear(team, &b.w.down, 0..1, n, x, RowsOf { data: d, ld: width });
        }
        let down = back.down.sized(n * ld);
        let (left, right) = (Left::rows(d, n, width, width), Right::packed(b.w.down.back()));
        let kind = a.mlp.activation;
        let to = back.normed.sized(n * width);
        // What went into the feed-forward part, for gradients of weights.
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

    /// Through attention: `d` becomes the gradient of the block's input, for all rows; whether the way ended inside.
    fn attention_back(&self, b: &Level<'_>, back: &mut Back, d: &mut Buffer, grads: &mut Wanted<'_>) -> bool {
        let (a, team, width) = (self.arch, self.team, self.arch.hidden);
        let [_, q_end, _, ld] = columns(a);
        let part = self.part_back(HookPoint::AttnOut(b.l), b, d, &mut back.part);
        if self.tap.ends_at(HookPoint::AttnOut(b.l)) {
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
            // From here on all rows have a gradient.
            let all = back.all.zeroed(n * width);
            scatter(d.as_ref(), width, &s.rows, all);
            std::mem::swap(d, &mut back.all);
        }
        let Back { qkv, q, normed, gate, part, .. } = back;
        let x = if a.place == Place::Post && grads.is_none() { &[][..] } else { b.inputs.qkv.as_ref() };
        if let Some(grads) = grads {
            let x = RowsOf { data: x, ld: width };
            let (parts, from) = if b.selection.is_some() { (1..3, q_end) } else { (0..3, 0) };
            grads.linear(team, &b.w.qkv, parts, n, x, RowsOf { data: &qkv.as_ref()[from..], ld });
            if let Some(s) = b.selection {
                let x = gather(x.data, width, &s.rows, gate);
                let d = RowsOf { data: q.as_ref(), ld: q_end };
                grads.linear(team, &b.w.qkv, 0..1, s.rows.len(), RowsOf { data: x, ld: width }, d);
            }
        }
        let weights = b.w.qkv.back();
        // After the norm of its input, a block's gradient goes there first.
        let post = a.place == Place::Post;
        let to = if post { d.as_mut() } else { normed.zeroed(n * width) };
        self.qkv_back(b, weights, (qkv, q), part, to);
        if !post {
            self.through_norm(&b.w.norm1, &b.kept.norm1, normed.as_mut(), Some(d.as_mut()), grads);
        }
        false
    }

    /// Adds the gradient of the input of queries, keys and values to `to`, all rows.
    fn qkv_back(
        &self,
        b: &Level<'_>,
        w: &Packed,
        (qkv, q): (&Buffer, &Buffer),
        part: &mut Buffer,
        to: &mut [f32],
    ) {
        let (a, n, width) = (self.arch, b.rows.count(), self.arch.hidden);
        let [_, q_end, _, ld] = columns(a);
        let from = if b.selection.is_some() { q_end } else { 0 };
        let left = Left::rows(&qkv.as_ref()[from..], n, ld - from, ld);
        product(self.team, left, Right::within(w, 0..width, from..ld), to, width, Finish::Add(None));
        if let Some(s) = b.selection {
            let m = s.rows.len();
            let part = part.sized(m * width);
            let left = Left::rows(q.as_ref(), m, q_end, q_end);
            product(self.team, left, Right::within(w, 0..width, 0..q_end), part, width, Finish::Store);
            scatter(part, width, &s.rows, to);
        }
    }

    /// From the gradient of head outputs, in `back.out`, to that of queries, keys and values.
    fn heads_back(&self, b: &Level<'_>, back: &mut Back) {
        let (a, team) = (self.arch, self.team);
        let [_, q_end, k_end, ld] = columns(a);
        let (spans, positions, pattern_len) = match b.selection {
            Some(s) => (&s.spans, &s.positions, s.kept),
            None => (&b.rows.spans, &b.rows.positions, b.rows.kept),
        };
        let (q, q_ld) = match b.selection {
            Some(_) => (b.kept.q.as_ref(), q_end),
            None => (b.kept.qkv.as_ref(), ld),
        };
        let attention = Attention {
            heads: a.heads,
            kv_heads: a.kv_heads,
            dim: a.head_dim,
            causal: a.attention.causal,
            q,
            q_ld,
            kv: b.kept.qkv.as_ref(),
            kv_ld: ld,
            k_from: q_end,
            v_from: k_end,
            spans,
            positions,
        };
        let extra = self.tap.weighs_pattern(b.l).then(|| {
            let extra = back.pattern.zeroed(pattern_len);
            self.tap.back_pattern(b.l, b.rows, b.selection.is_some(), extra);
            &*extra
        });
        let d_kv = back.qkv.sized(b.rows.count() * ld);
        let d_q = b.selection.map(|s| back.q.sized(s.rows.len() * q_end));
        let to = Gradients { q: d_q, kv: d_kv };
        attend_back(team, &attention, b.kept.pattern.as_ref(), extra, back.out.as_ref(), to);
        let Some(angles) = self.angles else { return };
        let heads = Heads { from: 0, count: a.heads, dim: a.head_dim };
        let key_heads = Heads { from: q_end, count: a.kv_heads, dim: a.head_dim };
        rotate(team, back.qkv.as_mut(), ld, key_heads, angles, &b.rows.positions, true);
        match b.selection {
            Some(s) => rotate(team, back.q.as_mut(), q_end, heads, angles, &s.positions, true),
            None => rotate(team, back.qkv.as_mut(), ld, heads, angles, &b.rows.positions, true),
        }
    }

    /// From the input of block 0 to the rows of the word-embedding table.
    fn embed_back(&self, s: &mut State, d: &mut Buffer, grads: &mut Wanted<'_>) {
        let (a, w) = (self.arch, self.weights);
        let (width, n) = (a.embedding.width, s.rows.count());
        if let Some(project) = &w.project {
            let to = s.back.normed.sized(n * width);
            if let Some(grads) = grads {
                let x = RowsOf { data: s.narrow.as_ref(), ld: width };
                let d = RowsOf { data: d.as_ref(), ld: a.hidden };
                grads.linear(self.team, project, 0..1, n, x, d);
            }
            let left = Left::rows(d.as_ref(), n, a.hidden, a.hidden);
            product(self.team, left, Right::packed(project.back()), to, width, Finish::Store);
            std::mem::swap(d, &mut s.back.normed);
        }
        if let Some(norm) = &w.embed_norm {
            self.through_norm(norm, &s.embed_norm, d.as_mut(), None, grads);
        }
        if let Some(grads) = grads {
            self.place_grads(&s.rows, d.as_ref(), grads);
        }
        if a.embedding.scale != 1.0 {
            d.as_mut().iter_mut().for_each(|v| *v *= a.embedding.scale as f32);
        }
        self.tap.back(HookPoint::Embed, &s.rows, false, d.as_mut());
        if let Some(grads) = grads {
            let to = grads.of(w.tokens.id);
            each_row(self.batch, &s.rows, |b, t, row| {
                let id = self.batch.ids()[b * self.batch.len() + t] as usize;
                add(&mut to[id * width..(id + 1) * width], &d.as_ref()[row * width..(row + 1) * width]);
            });
        }
    }

    /// Gradients of position, type and task tables.
    fn place_grads(&self, rows: &Rows, d: &[f32], grads: &mut Grads) {
        let (w, width) = (self.weights, self.arch.embedding.width);
        let batch = self.batch;
        let types = |b: usize, t: usize| batch.types()[b * batch.len() + t] as usize;
        let tables: [(_, &dyn Fn(usize, usize) -> usize); 3] =
            [(&w.positions, &|b, t| self.position_row(b, t)), (&w.types, &types), (&w.tasks, &|_, _| 0)];
        for (table, place) in tables {
            let Some(table) = table else { continue };
            let to = grads.of(table.id);
            each_row(batch, rows, |b, t, row| {
                let at = place(b, t) * width;
                add(&mut to[at..at + width], &d[row * width..(row + 1) * width]);
            });
        }
    }
}

/// Calls `f(sentence, position, row)` for all tokens.
fn each_row(batch: &Batch, rows: &Rows, mut f: impl FnMut(usize, usize, usize)) {
    for (b, range) in rows.sentences() {
        range.enumerate().filter(|(t, _)| batch.is_token(b, *t)).for_each(|(t, row)| f(b, t, row));
    }
}
