//! The way up: embeddings and blocks.

use super::kernels::attention::{Attention, attend};
use super::kernels::buffer::Buffer;
use super::kernels::math;
use super::kernels::norm::{Kept as NormKept, norm};
use super::kernels::product::{Finish, Left, Right, product};
use super::kernels::rotary::{Angles, Heads, rotate};
use super::kernels::team::Team;
use super::rows::{Need, Rows};
use super::state::{Inputs, Keep, Kept, KeptNorm, State, add, gather, spaced};
use super::tap::Tap;
use super::weights::{Block, Linear, NormWeights, Weights};
use crate::model::arch::{Arch, Place, Positions};
use crate::model::batch::Batch;
use crate::model::hook::HookPoint;
use crate::model::plan::{Plan, Start};

/// What all groups of one pass share.
pub(super) struct Pass<'a> {
    pub arch: &'a Arch,
    pub weights: &'a Weights,
    pub batch: &'a Batch,
    pub plan: &'a Plan,
    pub tap: &'a Tap<'a>,
    pub angles: Option<&'a Angles>,
    pub keep: Keep,
    pub team: Team,
    /// Blocks `first..blocks` run.
    pub first: usize,
    pub blocks: usize,
    /// What the last of them must compute behind its attention's keys and values.
    pub need: &'a Need,
}

/// Where a linear map's columns begin: queries, keys, values, end.
pub(super) fn columns(a: &Arch) -> [usize; 4] {
    let (q, kv) = (a.heads * a.head_dim, a.kv_heads * a.head_dim);
    [0, q, q + kv, q + 2 * kv]
}

/// Rows times a linear map.
pub(super) fn linear(team: Team, w: &Linear, x: &[f32], to: &mut [f32], ld: usize) {
    let out = w.weight.cols();
    let finish = w.bias(0..out).map_or(Finish::Store, Finish::Bias);
    let left = Left::rows(x, to.len() / ld, w.input, w.input);
    product(team, left, Right::packed(&w.weight), to, ld, finish);
}

impl Pass<'_> {
    /// Where block `l` keeps its values.
    pub fn slots(&self, l: usize) -> (usize, usize) {
        let slot = |wanted: bool| if wanted { l - self.first } else { 0 };
        (slot(self.keep >= Keep::Hidden), slot(self.keep == Keep::Weights))
    }

    /// Whether rows behind the attention of block `l` are the selected ones.
    pub fn selects(&self, l: usize, rows: &Rows) -> bool {
        l + 1 == self.blocks && rows.selection().is_some()
    }

    /// Normalises `from`, or `to` in place, and keeps what the way back needs.
    pub fn normalise(&self, w: &NormWeights, from: Option<&[f32]>, to: &mut [f32], kept: &mut KeptNorm) {
        let rows = to.len() / w.view().weight.len();
        let keep = (self.keep >= Keep::Hidden)
            .then(|| NormKept { normed: kept.normed.sized(to.len()), factor: kept.factor.sized(rows) });
        norm(self.team, &w.view(), from, to, keep);
    }

    /// From the start to the states after the last block that runs: in `s.h`, all rows or the selected ones.
    pub fn up(&self, s: &mut State) {
        s.reserve(self.keep, self.blocks.saturating_sub(self.first));
        match &self.plan.start {
            Start::Resume { hidden, .. } => {
                let width = self.arch.hidden;
                let to = s.h.sized(s.rows.count() * width);
                copy_rows(&hidden.data, width, self.batch.len(), &s.rows, to);
            }
            _ => self.embed(s),
        }
        if self.first < self.arch.layers {
            self.tap.visit(HookPoint::ResidPre(self.first), &s.rows, false, s.h.as_mut());
        }
        for l in self.first..self.blocks {
            self.block(l, s);
            let selected = self.selects(l, &s.rows);
            self.tap.visit(HookPoint::ResidPost(l), &s.rows, selected, s.h.as_mut());
            if l + 1 < self.arch.layers {
                self.tap.visit(HookPoint::ResidPre(l + 1), &s.rows, selected, s.h.as_mut());
            }
        }
    }

    /// The input of block 0, in `s.h`.
    fn embed(&self, s: &mut State) {
        let (a, w) = (self.arch, self.weights);
        let (width, n) = (a.embedding.width, s.rows.count());
        let x = if w.project.is_some() { &mut s.narrow } else { &mut s.h };
        let x = x.sized(n * width);
        match &self.plan.start {
            Start::Embeddings(rows) => copy_rows(&rows.data, width, self.batch.len(), &s.rows, x),
            _ => {
                for (b, range) in s.rows.sentences() {
                    for (t, row) in range.enumerate() {
                        let id = self.batch.ids()[b * self.batch.len() + t] as usize;
                        x[row * width..(row + 1) * width].copy_from_slice(w.tokens.row(id));
                    }
                }
            }
        }
        self.tap.visit(HookPoint::Embed, &s.rows, false, x);
        if a.embedding.scale != 1.0 {
            x.iter_mut().for_each(|v| *v *= a.embedding.scale as f32);
        }
        for (b, range) in s.rows.sentences() {
            for (t, row) in range.enumerate() {
                let x = &mut x[row * width..(row + 1) * width];
                if let Some(table) = &w.positions {
                    add(x, table.row(self.position_row(b, t)));
                }
                if let Some(table) = &w.types {
                    add(x, table.row(self.batch.types()[b * self.batch.len() + t] as usize));
                }
                if let Some(table) = &w.tasks {
                    add(x, table.row(0));
                }
            }
        }
        if let Some(norm) = &w.embed_norm {
            self.normalise(norm, None, x, &mut s.embed_norm);
        }
        if let Some(project) = &w.project {
            linear(self.team, project, s.narrow.as_ref(), s.h.sized(n * a.hidden), a.hidden);
        }
    }

    /// Row of the position table that token t of sentence b reads.
    pub fn position_row(&self, b: usize, t: usize) -> usize {
        match self.arch.positions {
            Positions::Learned { offset, padding } => match padding {
                Some(row) if !self.batch.is_token(b, t) => row,
                _ => offset + t,
            },
            _ => t,
        }
    }

    fn block(&self, l: usize, s: &mut State) {
        let (a, w) = (self.arch, self.weights.block(l));
        let (k, i) = self.slots(l);
        let State { rows, h, part, gather: gathered, kept, inputs, .. } = s;
        let (kept, inputs) = (&mut kept[k], &mut inputs[i]);
        let (n, d) = (rows.count(), a.hidden);
        // The input of queries, keys and values.
        if a.place != Place::Post {
            self.normalise(&w.norm1, Some(h.as_ref()), inputs.qkv.sized(n * d), &mut kept.norm1);
        } else if self.keep == Keep::Weights {
            inputs.qkv.sized(n * d).copy_from_slice(h.as_ref());
        }
        let x = if a.place == Place::Post { h.as_ref() } else { inputs.qkv.as_ref() };
        let selected = self.selects(l, rows);
        self.attention(l, w, rows, x, kept, &mut inputs.out, gathered);
        if let Some(selection) = rows.selection().filter(|_| selected) {
            gather(h.as_ref(), d, &selection.rows, gathered);
            std::mem::swap(h, gathered);
        }
        if a.place == Place::Parallel {
            // Before the residual stream changes: both parts read the same.
            self.normalise(&w.norm2, Some(h.as_ref()), inputs.up.sized(h.as_ref().len()), &mut kept.norm2);
        }
        self.add_part(
            HookPoint::AttnOut(l),
            &w.out,
            (inputs.out.as_ref(), w.out.input),
            rows,
            selected,
            part,
            h.as_mut(),
        );
        if a.place == Place::Post {
            self.normalise(&w.norm1, None, h.as_mut(), &mut kept.norm1);
        }
        if a.place != Place::Parallel {
            self.tap.visit(HookPoint::ResidMid(l), rows, selected, h.as_mut());
        }
        match a.place {
            Place::Pre => {
                let to = inputs.up.sized(h.as_ref().len());
                self.normalise(&w.norm2, Some(h.as_ref()), to, &mut kept.norm2);
            }
            Place::Post if self.keep == Keep::Weights => {
                inputs.up.sized(h.as_ref().len()).copy_from_slice(h.as_ref());
            }
            _ => {}
        }
        let Inputs { up, down, .. } = inputs;
        let y = if a.place == Place::Post { h.as_ref() } else { up.as_ref() };
        self.feed(w, y, kept, down);
        self.add_part(
            HookPoint::MlpOut(l),
            &w.down,
            (down.as_ref(), spaced(a.intermediate)),
            rows,
            selected,
            part,
            h.as_mut(),
        );
        if a.place == Place::Post {
            self.normalise(&w.norm2, None, h.as_mut(), &mut kept.norm2);
        }
    }

    /// Head outputs side by side, for all rows or the selected ones, into `to`.
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
        let (a, team, n) = (self.arch, self.team, rows.count());
        let [_, q_end, k_end, ld] = columns(a);
        let heads = Heads { from: 0, count: a.heads, dim: a.head_dim };
        let key_heads = Heads { from: q_end, count: a.kv_heads, dim: a.head_dim };
        let qkv = kept.qkv.sized(n * ld);
        let selection = rows.selection().filter(|_| self.selects(l, rows));
        let q = match selection {
            None => {
                linear(team, &w.qkv, x, qkv, ld);
                None
            }
            Some(s) => {
                // Keys and values of all rows; panels do not end where queries do, so a few of those come along.
                let from = q_end / 32 * 32;
                let finish = w.qkv.bias(from..ld).map_or(Finish::Store, Finish::Bias);
                let right = Right::within(&w.qkv.weight, from..ld, 0..a.hidden);
                product(team, Left::rows(x, n, a.hidden, a.hidden), right, &mut qkv[from..], ld, finish);
                let x = gather(x, a.hidden, &s.rows, gathered);
                let q = kept.q.sized(s.rows.len() * q_end);
                let finish = w.qkv.bias(0..q_end).map_or(Finish::Store, Finish::Bias);
                let right = Right::within(&w.qkv.weight, 0..q_end, 0..a.hidden);
                product(team, Left::rows(x, s.rows.len(), a.hidden, a.hidden), right, q, q_end, finish);
                Some((q, s))
            }
        };
        if let Some(angles) = self.angles {
            rotate(team, qkv, ld, key_heads, angles, &rows.positions, false);
        }
        let (spans, positions, pattern_len) = match &q {
            Some((_, s)) => (&s.spans, &s.positions, s.kept),
            None => (&rows.spans, &rows.positions, rows.kept),
        };
        let (q, q_ld) = match q {
            Some((q, s)) => {
                if let Some(angles) = self.angles {
                    rotate(team, q, q_end, heads, angles, &s.positions, false);
                }
                (&*q, q_end)
            }
            None => {
                if let Some(angles) = self.angles {
                    rotate(team, qkv, ld, heads, angles, &rows.positions, false);
                }
                (&*qkv, ld)
            }
        };
        let attention = Attention {
            heads: a.heads,
            kv_heads: a.kv_heads,
            dim: a.head_dim,
            causal: a.attention.causal,
            q,
            q_ld,
            kv: qkv,
            kv_ld: ld,
            k_from: q_end,
            v_from: k_end,
            spans,
            positions,
        };
        let looked_at = self.tap.touches(HookPoint::Pattern(l));
        let keep = (looked_at || self.keep >= Keep::Hidden).then(|| kept.pattern.sized(pattern_len));
        attend(team, &attention, to.sized(positions.len() * q_end), keep);
        if looked_at {
            self.tap.visit_pattern(l, rows, selection.is_some(), kept.pattern.as_ref());
        }
    }

    /// Adds a linear map of `x` to the residual stream, by way of the point where it is looked at.
    #[allow(clippy::too_many_arguments)]
    fn add_part(
        &self,
        p: HookPoint,
        w: &Linear,
        (x, x_ld): (&[f32], usize),
        rows: &Rows,
        selected: bool,
        part: &mut Buffer,
        h: &mut [f32],
    ) {
        let d = self.arch.hidden;
        let (left, right) = (Left::rows(x, h.len() / d, w.input, x_ld), Right::packed(&w.weight));
        if self.tap.touches(p) {
            let part = part.sized(h.len());
            product(self.team, left, right, part, d, w.bias(0..d).map_or(Finish::Store, Finish::Bias));
            self.tap.visit(p, rows, selected, part);
            add(h, part);
        } else {
            product(self.team, left, right, h, d, Finish::Add(w.bias(0..d)));
        }
    }

    /// The feed-forward part up to its second matrix: rows of `spaced(F)` floats into `to`.
    fn feed(&self, w: &Block, y: &[f32], kept: &mut Kept, to: &mut Buffer) {
        let (a, f) = (self.arch, self.arch.intermediate);
        let (n, ld, kind) = (y.len() / a.hidden, spaced(f), a.mlp.activation);
        let left = Left::rows(y, n, a.hidden, a.hidden);
        let to = to.sized(n * ld);
        let (up, bias) = (Right::packed(&w.up.weight), w.up.bias(0..f));
        match &w.gate {
            None if self.keep == Keep::Nothing => {
                product(self.team, left, up, to, ld, Finish::Act(kind, bias))
            }
            None => product(self.team, left, up, to, ld, Finish::Keep(kind, bias, kept.up.sized(n * ld))),
            Some(gate) if self.keep == Keep::Nothing => {
                product(self.team, left, up, to, ld, bias.map_or(Finish::Store, Finish::Bias));
                product(
                    self.team,
                    left,
                    Right::packed(&gate.weight),
                    to,
                    ld,
                    Finish::Gate(kind, gate.bias(0..f)),
                );
            }
            Some(gate) => {
                let (u, g) = (kept.up.sized(n * ld), kept.gate.sized(n * ld));
                product(self.team, left, up, u, ld, bias.map_or(Finish::Store, Finish::Bias));
                let finish = gate.bias(0..f).map_or(Finish::Store, Finish::Bias);
                product(self.team, left, Right::packed(&gate.weight), g, ld, finish);
                math::gate(self.team, kind, g, u, to);
            }
        }
    }
}

/// Copies the rows of these sentences from an array `[B, T, width]`.
fn copy_rows(from: &[f32], width: usize, len: usize, rows: &Rows, to: &mut [f32]) {
    for (b, range) in rows.sentences() {
        let at = b * len * width;
        to[range.start * width..range.end * width].copy_from_slice(&from[at..at + range.len() * width]);
    }
}
