//! Self-attention on queries, keys and values in the layout that the product returns; only the keys are copied (transposed).
//!
//! Processes a few query rows at a time: scores against all keys, softmax, weighted sum of values. Scores stay in the L1 cache unless the
//! caller asks for the probabilities.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::ops::Range;

use super::buffer::Buffer;
use super::math::exp;
use super::product::{Operands, Right, multiply};
use super::simd::{LANE, Pass, Simd, dispatch};
use super::team::{Shared, Team};
use super::tile::{PANEL, Sums};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// Rows of the sentence in the keys and values, including padding.
    pub rows: Range<usize>,
    /// Number of keys that the queries attend to.
    pub keys: usize,
    /// Rows of the sentence in the queries.
    pub queries: Range<usize>,
    /// Offset of the sentence's probabilities in the output.
    pub kept: usize,
}

impl Span {
    /// Distance in floats between rows of probabilities.
    pub fn ld(&self) -> usize {
        self.keys.next_multiple_of(LANE)
    }

    /// Number of floats in the sentence's probabilities: `[heads, queries, ld]`.
    pub fn kept_len(&self, heads: usize) -> usize {
        heads * self.queries.len() * self.ld()
    }
}

/// Queries, keys and values of all sentences, and the attention's shape.
#[derive(Clone, Copy)]
pub struct Attention<'a> {
    /// Number of query heads, which are adjacent and start at column 0.
    pub heads: usize,
    /// Number of key (and value) heads; each is shared by `heads / kv_heads` query heads.
    pub kv_heads: usize,
    pub dim: usize,
    /// True if tokens do not attend to later ones.
    pub causal: bool,
    /// Rows of queries, `q_ld` floats apart.
    pub q: &'a [f32],
    pub q_ld: usize,
    /// Rows of keys and values, `kv_ld` floats apart.
    pub kv: &'a [f32],
    pub kv_ld: usize,
    /// Column of the first key head.
    pub k_from: usize,
    /// Column of the first value head.
    pub v_from: usize,
    pub spans: &'a [Span],
    /// Position of each query row in its sentence.
    pub positions: &'a [u32],
}

impl Attention<'_> {
    fn check(&self) {
        assert!(
            self.heads.is_multiple_of(self.kv_heads) && self.dim > 0,
            "query heads are not a multiple of key heads"
        );
        let kv = self.kv_heads * self.dim;
        assert!(self.heads * self.dim <= self.q_ld, "queries are wider than their rows");
        assert!(self.k_from.max(self.v_from) + kv <= self.kv_ld, "keys or values are wider than their rows");
        for s in self.spans {
            assert!(s.keys > 0 && s.keys <= s.rows.len(), "no keys");
            assert!(
                s.rows.end * self.kv_ld <= self.kv.len() && s.queries.end * self.q_ld <= self.q.len(),
                "rows are out of range"
            );
            assert!(s.queries.end <= self.positions.len(), "queries without positions");
        }
    }

    /// Index of the key/value head for query head `h`.
    fn group(&self, h: usize) -> usize {
        h / (self.heads / self.kv_heads)
    }

    /// Factor on the scores: one over the square root of the head width.
    fn scale(&self) -> f32 {
        1.0 / (self.dim as f32).sqrt()
    }

    /// Number of keys that query row `q` attends to.
    fn sight(&self, span: &Span, q: usize) -> usize {
        if self.causal { span.keys.min(self.positions[q] as usize + 1) } else { span.keys }
    }

    fn values(&self, span: &Span, group: usize) -> Right<'_> {
        let from = span.rows.start * self.kv_ld + self.v_from + group * self.dim;
        Right::rows(&self.kv[from..], span.keys, self.dim, self.kv_ld)
    }
}

/// Scratch memory that a thread keeps between tasks.
#[derive(Default)]
struct Desk {
    keys: Buffer,
    scores: Buffer,
    slopes: Buffer,
    copy: Buffer,
}

thread_local! {
    static DESK: RefCell<Desk> = RefCell::default();
}

/// Writes head outputs side by side into the rows of `out` (`heads * dim` floats each), and probabilities into `keep`.
pub fn attend(team: Team, a: &Attention<'_>, out: &mut [f32], keep: Option<&mut [f32]>) {
    a.check();
    let tasks = a.spans.len() * a.heads;
    let (out, keep) = (Shared::new(out), keep.map(Shared::new));
    team.ranges(tasks, 2, |tasks| dispatch(Forward { a, out: &out, keep: keep.as_ref(), tasks }));
}

struct Forward<'a> {
    a: &'a Attention<'a>,
    out: &'a Shared<'a>,
    keep: Option<&'a Shared<'a>>,
    tasks: Range<usize>,
}

/// Transposes `keys` rows of `dim` floats into panels `[dim][32]`, zero-padded.
fn transpose(from: &[f32], ld: usize, keys: usize, dim: usize, to: &mut Buffer) {
    let panels = to.sized(keys.div_ceil(PANEL) * dim * PANEL);
    for (p, panel) in panels.chunks_exact_mut(dim * PANEL).enumerate() {
        let width = PANEL.min(keys - p * PANEL);
        for j in 0..width {
            let at = (p * PANEL + j) * ld;
            for (x, to) in from[at..at + dim].iter().zip(panel[j..].iter_mut().step_by(PANEL)) {
                *to = *x;
            }
        }
        if width < PANEL {
            panel.chunks_exact_mut(PANEL).for_each(|row| row[width..].fill(0.0));
        }
    }
}

/// Turns scores into probabilities: softmax of `scale x` over the first `sight` scores, and exact zeros after them.
#[inline(always)]
fn softmax<S: Simd>(s: S, x: &mut [f32], sight: usize, scale: f32) {
    x[sight..].fill(f32::NEG_INFINITY);
    let end = sight.next_multiple_of(LANE).min(x.len());
    let mut top = s.splat(f32::NEG_INFINITY);
    for i in (0..end).step_by(LANE) {
        top = s.max(s.get(x, i), top);
    }
    let (scale, shift) = (s.splat(scale), s.splat(-s.peak(top) * scale));
    for i in (0..end).step_by(LANE) {
        s.put(exp(s, s.fma(s.get(x, i), scale, shift)), x, i);
    }
    x[sight..].fill(0.0);
    let mut sum = s.splat(0.0);
    for i in (0..end).step_by(LANE) {
        sum = s.add(sum, s.get(x, i));
    }
    let share = s.splat(1.0 / s.sum(sum));
    for i in (0..end).step_by(LANE) {
        s.put(s.mul(s.get(x, i), share), x, i);
    }
}

/// Computes the scores of query rows `rows` against all panels that any of them attends to, and writes them into rows of `ld` floats.
///
/// # Safety
/// `keys` must contain the panels; query rows and heads must be inside their slices ([`Attention::check`]).
#[inline(always)]
unsafe fn score<S: Simd>(
    s: S,
    a: (&[f32], usize),
    (rows, dim, seen): (usize, usize, usize),
    keys: &[f32],
    sums: &mut Sums,
    (to, ld): (&mut [f32], usize),
) {
    for p in 0..seen.div_ceil(PANEL) {
        let b = keys[p * dim * PANEL..].as_ptr();
        let o = Operands { depth: dim, a: a.0.as_ptr(), a_row: a.1, a_col: 1, b, b_row: PANEL };
        // SAFETY: the caller guarantees that the rows are readable; a panel has 32 columns at each of `dim` inner indices.
        unsafe { multiply(s, rows, &o, sums) };
        let width = PANEL.min(ld - p * PANEL);
        for (i, sums) in sums.0[..rows].iter().enumerate() {
            to[i * ld + p * PANEL..][..width].copy_from_slice(&sums[..width]);
        }
    }
}

impl Pass for Forward<'_> {
    type Out = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let mut desk = DESK.take();
        let (a, mut sums, mut packed) = (self.a, Sums::ZERO, None);
        let wide = a.heads * a.dim;
        for task in self.tasks {
            let (span, head) = (&a.spans[task / a.heads], task % a.heads);
            let (group, ld) = (a.group(head), span.ld());
            if span.queries.is_empty() {
                continue;
            }
            if packed != Some((task / a.heads, group)) {
                packed = Some((task / a.heads, group));
                let from = span.rows.start * a.kv_ld + a.k_from + group * a.dim;
                transpose(&a.kv[from..], a.kv_ld, span.keys, a.dim, &mut desk.keys);
            }
            let values = a.values(span, group);
            let mut done = 0;
            while done < span.queries.len() {
                let count = S::ROWS.min(span.queries.len() - done);
                let first = span.queries.start + done;
                let seen = (first..first + count).fold(0, |m, q| m.max(a.sight(span, q)));
                let scores = match self.keep {
                    Some(k) => {
                        let at = span.kept + (head * span.queries.len() + done) * ld;
                        // SAFETY: each head of each sentence is one task and has its own part of the slice.
                        unsafe { k.part(at..at + count * ld) }
                    }
                    None => desk.scores.sized(count * ld),
                };
                let q = (&a.q[first * a.q_ld + head * a.dim..], a.q_ld);
                // SAFETY: `attend` has checked the operands.
                unsafe { score(s, q, (count, a.dim, seen), desk.keys.as_ref(), &mut sums, (scores, ld)) };
                for i in 0..count {
                    softmax(s, &mut scores[i * ld..(i + 1) * ld], a.sight(span, first + i), a.scale());
                }
                for p in 0..a.dim.div_ceil(PANEL) {
                    let (b, b_row) = values.panel(p, &mut desk.copy);
                    let o = Operands { depth: seen, a: scores.as_ptr(), a_row: ld, a_col: 1, b, b_row };
                    // SAFETY: each row has `seen <= keys <= ld` probabilities, and there are as many rows of values.
                    unsafe { multiply(s, count, &o, &mut sums) };
                    let width = PANEL.min(a.dim - p * PANEL);
                    for (i, sums) in sums.0[..count].iter().enumerate() {
                        let at = (first + i) * wide + head * a.dim + p * PANEL;
                        // SAFETY: rows and columns of one head of one sentence belong to one task.
                        unsafe { self.out.part(at..at + width) }.copy_from_slice(&sums[..width]);
                    }
                }
                done += count;
            }
        }
        DESK.set(desk);
    }
}

/// Destinations of the gradients; every row of every sentence is written.
pub struct Gradients<'a> {
    /// Gradient of the queries, rows `q_ld` apart; `None` if queries are in `kv`, from column 0.
    pub q: Option<&'a mut [f32]>,
    /// Gradient of keys and values, in the layout of `Attention::kv`.
    pub kv: &'a mut [f32],
}

/// Backpropagates through attention. `d` is the gradient of the head outputs, and `kept` contains the probabilities. `extra` is an
/// additional gradient of the probabilities, in the same layout.
pub fn attend_back(team: Team, a: &Attention<'_>, kept: &[f32], extra: Option<&[f32]>, d: &[f32], to: Gradients<'_>) {
    a.check();
    let q = to.q.map(Shared::new);
    let kv = Shared::new(to.kv);
    team.ranges(a.spans.len() * a.kv_heads, 1, |tasks| {
        dispatch(Back { a, kept, extra, d, q: q.as_ref().unwrap_or(&kv), kv: &kv, tasks });
    });
}

struct Back<'a> {
    a: &'a Attention<'a>,
    kept: &'a [f32],
    extra: Option<&'a [f32]>,
    d: &'a [f32],
    q: &'a Shared<'a>,
    kv: &'a Shared<'a>,
    tasks: Range<usize>,
}

impl Pass for Back<'_> {
    type Out = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let mut desk = DESK.take();
        let (a, mut sums) = (self.a, Sums::ZERO);
        for task in self.tasks.clone() {
            let (span, group) = (&a.spans[task / a.kv_heads], task % a.kv_heads);
            let from = span.rows.start * a.kv_ld + a.v_from + group * a.dim;
            // With values instead of keys, the score function returns the gradients of the probabilities.
            transpose(&a.kv[from..], a.kv_ld, span.keys, a.dim, &mut desk.keys);
            let each = if span.queries.is_empty() { 0 } else { a.heads / a.kv_heads };
            for head in group * each..(group + 1) * each {
                self.slopes(s, span, head, &mut desk, &mut sums);
                self.queries(s, span, (head, group), &mut desk, &mut sums);
                self.keys_and_values(s, span, (head, group), &mut desk, &mut sums);
            }
            // Keys that no query attends to do not contribute.
            let seen = if each == 0 { 0 } else { span.keys };
            for row in span.rows.start + seen..span.rows.end {
                for col in [a.k_from, a.v_from] {
                    let at = row * a.kv_ld + col + group * a.dim;
                    // SAFETY: rows and columns of one key/value head of one sentence belong to one task.
                    unsafe { self.kv.part(at..at + a.dim) }.fill(0.0);
                }
            }
        }
        DESK.set(desk);
    }
}

impl Back<'_> {
    fn kept_at(&self, span: &Span, head: usize) -> Range<usize> {
        let len = span.queries.len() * span.ld();
        span.kept + head * len..span.kept + (head + 1) * len
    }

    /// Writes the gradients of the unscaled scores for all query rows of one head into `desk.slopes`.
    #[inline(always)]
    fn slopes<S: Simd>(&self, s: S, span: &Span, head: usize, desk: &mut Desk, sums: &mut Sums) {
        let (a, ld, n) = (self.a, span.ld(), span.queries.len());
        let (wide, at) = (a.heads * a.dim, self.kept_at(span, head));
        let slopes = desk.slopes.sized(n * ld);
        let scale = s.splat(a.scale());
        let mut done = 0;
        while done < n {
            let count = S::ROWS.min(n - done);
            let d = (&self.d[(span.queries.start + done) * wide + head * a.dim..], wide);
            let rows = &mut slopes[done * ld..(done + count) * ld];
            // SAFETY: `attend_back` has checked the operands; `d` has one row per query.
            unsafe { score(s, d, (count, a.dim, span.keys), desk.keys.as_ref(), sums, (rows, ld)) };
            for (i, x) in rows.chunks_exact_mut(ld).enumerate() {
                let from = at.start + (done + i) * ld;
                let p = &self.kept[from..from + ld];
                if let Some(extra) = self.extra {
                    for (x, e) in x.iter_mut().zip(&extra[from..from + ld]) {
                        *x += e;
                    }
                }
                let mut along = s.splat(0.0);
                for j in (0..ld).step_by(LANE) {
                    along = s.fma(s.get(x, j), s.get(p, j), along);
                }
                let along = s.splat(s.sum(along));
                for j in (0..ld).step_by(LANE) {
                    let v = s.mul(s.get(p, j), s.sub(s.get(x, j), along));
                    s.put(s.mul(v, scale), x, j);
                }
            }
            done += count;
        }
    }

    /// d q = slopes * keys
    #[inline(always)]
    fn queries<S: Simd>(&self, s: S, span: &Span, (head, group): (usize, usize), desk: &mut Desk, sums: &mut Sums) {
        let (a, ld, n) = (self.a, span.ld(), span.queries.len());
        let from = span.rows.start * a.kv_ld + a.k_from + group * a.dim;
        let keys = Right::rows(&a.kv[from..], span.keys, a.dim, a.kv_ld);
        for p in 0..a.dim.div_ceil(PANEL) {
            let (b, b_row) = keys.panel(p, &mut desk.copy);
            let width = PANEL.min(a.dim - p * PANEL);
            let mut done = 0;
            while done < n {
                let count = S::ROWS.min(n - done);
                let x = desk.slopes.as_ref()[done * ld..].as_ptr();
                let o = Operands { depth: span.keys, a: x, a_row: ld, a_col: 1, b, b_row };
                // SAFETY: each row has `keys <= ld` slopes, and there are as many rows of keys.
                unsafe { multiply(s, count, &o, sums) };
                for (i, sums) in sums.0[..count].iter().enumerate() {
                    let at = (span.queries.start + done + i) * a.q_ld + head * a.dim + p * PANEL;
                    // SAFETY: rows and columns of one query head of one sentence belong to one task.
                    unsafe { self.q.part(at..at + width) }.copy_from_slice(&sums[..width]);
                }
                done += count;
            }
        }
    }

    /// d k = slopes^T * queries and d v = probabilities^T * d, both summed over the query heads of a group.
    #[inline(always)]
    fn keys_and_values<S: Simd>(
        &self,
        s: S,
        span: &Span,
        (head, group): (usize, usize),
        desk: &mut Desk,
        sums: &mut Sums,
    ) {
        let (a, ld, n) = (self.a, span.ld(), span.queries.len());
        let wide = a.heads * a.dim;
        let q = Right::rows(&a.q[span.queries.start * a.q_ld + head * a.dim..], n, a.dim, a.q_ld);
        let d = Right::rows(&self.d[span.queries.start * wide + head * a.dim..], n, a.dim, wide);
        let kept = &self.kept[self.kept_at(span, head)];
        let add = !head.is_multiple_of(a.heads / a.kv_heads);
        for (left, right, col) in [(desk.slopes.as_ref(), q, a.k_from), (kept, d, a.v_from)] {
            for p in 0..a.dim.div_ceil(PANEL) {
                let (b, b_row) = right.panel(p, &mut desk.copy);
                let width = PANEL.min(a.dim - p * PANEL);
                let mut done = 0;
                while done < span.keys {
                    let count = S::ROWS.min(span.keys - done);
                    let o = Operands { depth: n, a: left[done..].as_ptr(), a_row: 1, a_col: ld, b, b_row };
                    // SAFETY: column `done + i < keys <= ld` exists in each of `n` rows, and there are as many rows on the right.
                    unsafe { multiply(s, count, &o, sums) };
                    for (i, sums) in sums.0[..count].iter().enumerate() {
                        let at = (span.rows.start + done + i) * a.kv_ld + col + group * a.dim + p * PANEL;
                        // SAFETY: rows and columns of one key/value head of one sentence belong to one task.
                        let to = unsafe { self.kv.part(at..at + width) };
                        if add {
                            to.iter_mut().zip(sums).for_each(|(t, v)| *t += v);
                        } else {
                            to.copy_from_slice(&sums[..width]);
                        }
                    }
                    done += count;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
