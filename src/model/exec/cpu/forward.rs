//! Forward pass: embeddings and blocks.

use super::rows::Rows;
use super::stack::{BlockPoint, Stack};
use super::state::{CrossSpans, Inputs, Keep, Kept, KeptNorm, StackState, add, gather, spaced};
use super::tap::Tap;
use super::weights::{Block, Cross, Linear, NormWeights, Table, Weights};
use crate::arch::{Arch, Place};
use crate::hook::HookPoint;
use crate::plan::{Plan, Start};
use kernels::attention::{Attention, attend};
use kernels::buffer::Buffer;
use kernels::math;
use kernels::norm::{Kept as NormKept, norm};
use kernels::product::{Finish, Left, Right, product};
use kernels::rotary::rotate;
use kernels::team::Team;
use kernels::tile::PANEL;

/// Data shared by all sentence groups of a pass.
pub(super) struct Pass<'a> {
    pub arch: &'a Arch,
    pub weights: &'a Weights,
    pub plan: &'a Plan,
    /// Applies the plan at hook points and collects its results.
    pub(crate) tap: &'a Tap<'a>,
    /// Data to keep for the backward pass.
    pub keep: Keep,
    /// Threads that share an operation.
    pub team: Team,
    /// The only stack, or the encoder.
    pub first: Stack<'a>,
    /// The decoder of an encoder-decoder.
    pub second: Option<Stack<'a>>,
    /// True if the final norm and the head run.
    pub output: bool,
}

/// A stack being run as part of a pass.
pub(super) struct Climb<'a> {
    pub pass: &'a Pass<'a>,
    pub stack: &'a Stack<'a>,
}

/// The encoder's states for all rows, which a decoder attends to.
pub(super) type Memory<'a> = Option<&'a [f32]>;

/// Adds the bias, if any, to a product.
fn ending(bias: Option<&[f32]>) -> Finish<'_> {
    bias.map_or(Finish::Store, Finish::Bias)
}

impl Pass<'_> {
    /// Applies a linear map to the rows of `x`.
    pub(crate) fn linear(&self, w: &Linear, x: &[f32], to: &mut [f32], ld: usize) {
        let left = Left::rows(x, to.len() / ld, w.input, w.input);
        product(self.team, left, Right::packed(&w.weight), to, ld, ending(w.bias(0..w.weight.cols())));
    }

    /// Normalizes `from`, or `to` in place, and keeps what the backward pass needs.
    pub(crate) fn normalise(&self, w: &NormWeights, from: Option<&[f32]>, to: &mut [f32], kept: &mut KeptNorm) {
        let rows = to.len() / w.view().weight.len();
        let keep = (self.keep >= Keep::Hidden)
            .then(|| NormKept { normed: kept.normed.sized(to.len()), factor: kept.factor.sized(rows) });
        norm(self.team, &w.view(), from, to, keep);
    }
}

impl Climb<'_> {
    /// Passes vectors through a hook point of a block.
    fn visit(&self, at: BlockPoint, l: usize, rows: &Rows, selected: bool, x: &mut [f32]) {
        if let Some(p) = self.stack.point(at, l) {
            self.pass.tap.visit(p, rows, selected, x);
        }
    }

    fn touches(&self, at: BlockPoint, l: usize) -> bool {
        self.stack.point(at, l).is_some_and(|p| self.pass.tap.touches(p))
    }

    /// Runs the stack up to the last block needed; afterwards `s.h` contains the states of all rows or of the selected ones.
    pub(crate) fn up(&self, s: &mut StackState, memory: Memory<'_>) {
        let stack = self.stack;
        s.reserve(self.pass.keep, stack.blocks.saturating_sub(stack.first));
        match &self.pass.plan.start {
            Start::Resume { hidden, .. } if !stack.second => {
                let width = self.pass.arch.hidden;
                let to = s.h.sized(s.rows.count() * width);
                copy_rows(&hidden.data, width, &s.rows, to);
            }
            _ => self.embed(s),
        }
        if stack.first < stack.layers {
            self.visit(BlockPoint::Pre, stack.first, &s.rows, false, s.h.as_mut());
        }
        for l in stack.first..stack.blocks {
            self.block(l, s, memory);
            let selected = stack.selection(l, &s.rows).is_some();
            self.visit(BlockPoint::Post, l, &s.rows, selected, s.h.as_mut());
            if l + 1 < stack.layers {
                self.visit(BlockPoint::Pre, l + 1, &s.rows, selected, s.h.as_mut());
            }
        }
    }

    /// Computes the input of block 0 in `s.h`.
    fn embed(&self, s: &mut StackState) {
        let (a, w, stack) = (self.pass.arch, self.pass.weights, self.stack);
        let (width, n, batch) = (a.embedding.width, s.rows.count(), stack.batch);
        // Token types, tasks and the projection belong to the encoder.
        let project = w.project.as_ref().filter(|_| !stack.second);
        let types = w.types.as_ref().filter(|_| !stack.second);
        let tasks = w.tasks.as_ref().filter(|_| !stack.second);
        let x = if project.is_some() { &mut s.narrow } else { &mut s.h };
        let x = x.sized(n * width);
        match &self.pass.plan.start {
            Start::Embeddings(rows) if !stack.second => copy_rows(&rows.data, width, &s.rows, x),
            _ => each_token(&s.rows, |b, t, row| {
                let id = batch.ids()[b * batch.len() + t] as usize;
                w.tokens.copy_row(id, &mut x[row * width..(row + 1) * width]);
            }),
        }
        if !stack.second {
            self.pass.tap.visit(HookPoint::Embed, &s.rows, false, x);
        }
        if a.embedding.scale != 1.0 {
            x.iter_mut().for_each(|v| *v *= a.embedding.scale as f32);
        }
        let mut more = vec![0.0; width];
        each_token(&s.rows, |b, t, row| {
            let x = &mut x[row * width..(row + 1) * width];
            let mut plus = |table: &Table, row: usize| {
                table.copy_row(row, &mut more);
                add(x, &more);
            };
            if let Some(table) = &stack.weights.positions {
                plus(table, self.position_row(b, t));
            }
            if let Some(table) = types {
                plus(table, batch.types()[b * batch.len() + t] as usize);
            }
            if let Some(table) = tasks {
                plus(table, 0);
            }
        });
        if let Some(norm) = &stack.weights.norm {
            self.pass.normalise(norm, None, x, &mut s.embed_norm);
        }
        if let Some(project) = project {
            self.pass.linear(project, s.narrow.as_ref(), s.h.sized(n * a.hidden), a.hidden);
        }
    }

    /// Row of the position table used by token t of sentence b.
    pub(crate) fn position_row(&self, b: usize, t: usize) -> usize {
        self.pass.arch.positions.row(self.stack.batch, b, t)
    }

    fn block(&self, l: usize, s: &mut StackState, memory: Memory<'_>) {
        let (pass, w) = (self.pass, self.stack.block(l));
        let (place, d) = (pass.arch.place, pass.arch.hidden);
        let (k, i) = self.stack.slots(pass.keep, l);
        let StackState { rows, h, part, gather: gathered, kept, inputs, .. } = s;
        let (kept, inputs) = (&mut kept[k], &mut inputs[i]);
        let copies = place == Place::Post && pass.keep == Keep::Weights;
        // Input of queries, keys and values.
        if place != Place::Post {
            let to = inputs.qkv.sized(rows.count() * d);
            pass.normalise(&w.norm1, Some(h.as_ref()), to, &mut kept.norm1);
        } else if copies {
            inputs.qkv.sized(rows.count() * d).copy_from_slice(h.as_ref());
        }
        let x = if place == Place::Post { h.as_ref() } else { inputs.qkv.as_ref() };
        self.attention(l, w, rows, x, kept, &mut inputs.out, gathered);
        let selection = self.stack.selection(l, rows);
        if let Some(selection) = selection {
            gather(h.as_ref(), d, &selection.rows, gathered);
            std::mem::swap(h, gathered);
        }
        let selected = selection.is_some();
        if place == Place::Parallel {
            // Computed before the residual stream changes, because both parts of the block have the same input.
            pass.normalise(&w.norm2, Some(h.as_ref()), inputs.up.sized(h.as_ref().len()), &mut kept.norm2);
        }
        let x = (inputs.out.as_ref(), w.out.input);
        self.add_part((BlockPoint::AttnOut, l), &w.out, x, rows, selected, part, h.as_mut());
        if place == Place::Post {
            pass.normalise(&w.norm1, None, h.as_mut(), &mut kept.norm1);
        }
        if place != Place::Parallel {
            self.visit(BlockPoint::Mid, l, rows, selected, h.as_mut());
        }
        if let (Some(cross), Some(memory)) = (&w.cross, memory) {
            let spans = if selected { &s.cross_selected } else { &s.cross };
            self.cross(l, cross, (rows, spans), selected, memory, kept, inputs, h);
        }
        if place == Place::Pre {
            pass.normalise(&w.norm2, Some(h.as_ref()), inputs.up.sized(h.as_ref().len()), &mut kept.norm2);
        } else if copies {
            inputs.up.sized(h.as_ref().len()).copy_from_slice(h.as_ref());
        }
        let Inputs { up, down, .. } = inputs;
        let y = if place == Place::Post { h.as_ref() } else { up.as_ref() };
        self.feed(w, y, kept, down);
        let x = (down.as_ref(), spaced(self.stack.intermediate));
        self.add_part((BlockPoint::MlpOut, l), &w.down, x, rows, selected, part, h.as_mut());
        if place == Place::Post {
            pass.normalise(&w.norm2, None, h.as_mut(), &mut kept.norm2);
        }
    }

    /// Writes the concatenated head outputs to `to`, for all or the selected rows.
    #[allow(clippy::too_many_arguments)]
    fn attention(
        &self,
        l: usize,
        w: &Block,
        rows: &Rows,
        x: &[f32],
        kept: &mut Kept,
        to: &mut Buffer,
        gathered: &mut Buffer,
    ) {
        let (stack, team) = (self.stack, self.pass.team);
        let [_, q_end, k_end, ld] = stack.columns();
        let selection = stack.selection(l, rows);
        let qkv = kept.qkv.sized(rows.count() * ld);
        let q = kept.q.sized(selection.map_or(0, |s| s.rows.len() * q_end));
        self.queries_keys_values(w, rows, l, x, (&mut *qkv, &mut *q), gathered);
        let (spans, positions, pattern_len) = match selection {
            Some(s) => (&s.spans, &s.positions, s.kept),
            None => (&rows.spans, &rows.positions, rows.kept),
        };
        if let Some(angles) = stack.angles {
            rotate(team, qkv, ld, stack.key_heads(), angles, &rows.positions, false);
            match selection {
                Some(_) => rotate(team, q, q_end, stack.query_heads(), angles, positions, false),
                None => rotate(team, qkv, ld, stack.query_heads(), angles, positions, false),
            }
        }
        let (q, q_ld) = if selection.is_some() { (&*q, q_end) } else { (&*qkv, ld) };
        let attention = Attention {
            heads: stack.heads,
            kv_heads: stack.kv_heads,
            dim: stack.dim,
            causal: stack.causal,
            q,
            q_ld,
            kv: qkv,
            kv_ld: ld,
            k_from: q_end,
            v_from: k_end,
            spans,
            positions,
        };
        let looked_at = self.touches(BlockPoint::Pattern, l);
        let keep = (looked_at || self.pass.keep >= Keep::Hidden).then(|| kept.pattern.sized(pattern_len));
        attend(team, &attention, to.sized(positions.len() * q_end), keep);
        if let Some(p) = stack.point(BlockPoint::Pattern, l).filter(|_| looked_at) {
            let of = stack.patterns(rows, selection.is_some(), spans);
            self.pass.tap.visit_pattern(p, of, kept.pattern.as_ref());
        }
    }

    /// Computes queries, keys and values in one product. With a selection, keys and values cover all rows and queries only the selected
    /// ones.
    fn queries_keys_values(
        &self,
        w: &Block,
        rows: &Rows,
        l: usize,
        x: &[f32],
        (qkv, q): (&mut [f32], &mut [f32]),
        gathered: &mut Buffer,
    ) {
        let [_, q_end, _, ld] = self.stack.columns();
        let (team, d, map) = (self.pass.team, self.pass.arch.hidden, &w.qkv);
        let Some(s) = self.stack.selection(l, rows) else {
            self.pass.linear(map, x, qkv, ld);
            return;
        };
        // Products compute whole panels, so the panel with the first keys also computes the last few queries.
        let from = q_end / PANEL * PANEL;
        let right = Right::within(&map.weight, from..ld, 0..d);
        let left = Left::rows(x, rows.count(), d, d);
        product(team, left, right, &mut qkv[from..], ld, ending(map.bias(from..ld)));
        let left = Left::rows(gather(x, d, &s.rows, gathered), s.rows.len(), d, d);
        let right = Right::within(&map.weight, 0..q_end, 0..d);
        product(team, left, right, q, q_end, ending(map.bias(0..q_end)));
    }

    /// Runs a decoder's attention to the encoder, with its residual sum and norm.
    #[allow(clippy::too_many_arguments)]
    fn cross(
        &self,
        l: usize,
        w: &Cross,
        (rows, cross): (&Rows, &CrossSpans),
        selected: bool,
        memory: &[f32],
        kept: &mut Kept,
        inputs: &mut Inputs,
        h: &mut Buffer,
    ) {
        let (stack, pass, d) = (self.stack, self.pass, self.pass.arch.hidden);
        if pass.keep == Keep::Weights {
            inputs.cross.sized(h.as_ref().len()).copy_from_slice(h.as_ref());
        }
        let (n, m) = (memory.len() / d, h.as_ref().len() / d);
        let (q, kv) = (kept.cross.q.sized(m * d), kept.cross.kv.sized(n * 2 * d));
        pass.linear(&w.q, h.as_ref(), q, d);
        pass.linear(&w.kv, memory, kv, 2 * d);
        let positions = rows.selection().filter(|_| selected).map_or(&rows.positions, |s| &s.positions);
        let attention = Attention {
            heads: stack.heads,
            kv_heads: stack.heads,
            dim: stack.dim,
            causal: false,
            q,
            q_ld: d,
            kv,
            kv_ld: 2 * d,
            k_from: 0,
            v_from: d,
            spans: &cross.spans,
            positions,
        };
        let looked_at = self.touches(BlockPoint::Cross, l);
        let keep = (looked_at || pass.keep >= Keep::Hidden).then(|| kept.cross.pattern.sized(cross.kept));
        attend(pass.team, &attention, inputs.cross_out.sized(m * d), keep);
        if let Some(p) = stack.point(BlockPoint::Cross, l).filter(|_| looked_at) {
            let of = stack.patterns(rows, selected, &cross.spans);
            pass.tap.visit_pattern(p, of, kept.cross.pattern.as_ref());
        }
        let left = Left::rows(inputs.cross_out.as_ref(), m, d, d);
        product(pass.team, left, Right::packed(&w.out.weight), h.as_mut(), d, Finish::Add(w.out.bias(0..d)));
        pass.normalise(&w.norm, None, h.as_mut(), &mut kept.cross.norm);
    }

    /// Adds a linear map of `x` to the residual stream, passing through the hook point in between.
    #[allow(clippy::too_many_arguments)]
    fn add_part(
        &self,
        (place, l): (BlockPoint, usize),
        w: &Linear,
        (x, x_ld): (&[f32], usize),
        rows: &Rows,
        selected: bool,
        part: &mut Buffer,
        h: &mut [f32],
    ) {
        let (d, team) = (self.pass.arch.hidden, self.pass.team);
        let (left, right) = (Left::rows(x, h.len() / d, w.input, x_ld), Right::packed(&w.weight));
        if self.touches(place, l) {
            let part = part.sized(h.len());
            product(team, left, right, part, d, ending(w.bias(0..d)));
            self.visit(place, l, rows, selected, part);
            add(h, part);
        } else {
            product(team, left, right, h, d, Finish::Add(w.bias(0..d)));
        }
    }

    /// Runs the feed-forward part up to its second matrix; writes rows of `spaced(F)` floats to `to`.
    fn feed(&self, w: &Block, y: &[f32], kept: &mut Kept, to: &mut Buffer) {
        let (pass, f, d) = (self.pass, self.stack.intermediate, self.pass.arch.hidden);
        let (n, ld, kind) = (y.len() / d, spaced(f), pass.arch.mlp.activation);
        let (team, left) = (pass.team, Left::rows(y, n, d, d));
        let to = to.sized(n * ld);
        let (up, bias) = (Right::packed(&w.up.weight), w.up.bias(0..f));
        match &w.gate {
            None if pass.keep == Keep::Nothing => product(team, left, up, to, ld, Finish::Act(kind, bias)),
            None => product(team, left, up, to, ld, Finish::Keep(kind, bias, kept.up.sized(n * ld))),
            Some(gate) if pass.keep == Keep::Nothing => {
                product(team, left, up, to, ld, ending(bias));
                let finish = Finish::Gate(kind, gate.bias(0..f));
                product(team, left, Right::packed(&gate.weight), to, ld, finish);
            }
            Some(gate) => {
                let (u, g) = (kept.up.sized(n * ld), kept.gate.sized(n * ld));
                product(team, left, up, u, ld, ending(bias));
                product(team, left, Right::packed(&gate.weight), g, ld, ending(gate.bias(0..f)));
                math::gate(team, kind, g, u, to);
            }
        }
    }
}

/// Copies the rows of these sentences from an array `[B, T, width]`.
fn copy_rows(from: &[f32], width: usize, rows: &Rows, to: &mut [f32]) {
    for (b, range) in rows.sentences() {
        let at = b * rows.len * width;
        to[range.start * width..range.end * width].copy_from_slice(&from[at..at + range.len() * width]);
    }
}

/// Calls `f(sentence, position, row)` for all rows.
pub(super) fn each_token(rows: &Rows, mut f: impl FnMut(usize, usize, usize)) {
    for (b, range) in rows.sentences() {
        range.enumerate().for_each(|(t, row)| f(b, t, row));
    }
}
