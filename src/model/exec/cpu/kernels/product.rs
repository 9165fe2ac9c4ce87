//! Matrix products with what follows them: bias, activation, residual sum, the derivative of an activation.
//!
//! Every number is one chain of multiply-adds in the order of the inner axis, so a row's result is the same to the last
//! bit whatever rows stand beside it and however the work is split.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::ops::Range;

use super::buffer::Buffer;
use super::math::{activate, derivative};
use super::packed::Packed;
use super::simd::{LANE, Pass, Simd, dispatch};
use super::team::{Shared, Team, part};
use super::tile::{PANEL, Sums, Tile};
use crate::model::arch::Activation;

/// A left operand `rows x depth` inside a slice.
#[derive(Clone, Copy)]
pub struct Left<'a> {
    data: &'a [f32],
    rows: usize,
    depth: usize,
    row: usize,
    col: usize,
}

impl<'a> Left<'a> {
    /// Rows of `depth` floats, `ld` apart.
    #[must_use]
    pub fn rows(data: &'a [f32], rows: usize, depth: usize, ld: usize) -> Self {
        Left { data, rows, depth, row: ld, col: 1 }
    }

    /// The transpose of `depth` rows of `rows` floats, `ld` apart.
    #[must_use]
    pub fn transposed(data: &'a [f32], rows: usize, depth: usize, ld: usize) -> Self {
        Left { data, rows, depth, row: 1, col: ld }
    }

    fn check(&self) {
        if self.rows > 0 && self.depth > 0 {
            let last = (self.rows - 1) * self.row + (self.depth - 1) * self.col;
            assert!(last < self.data.len(), "left operand {} x {} does not fit", self.rows, self.depth);
        }
    }
}

/// A right operand `depth x cols`.
#[derive(Clone, Copy)]
pub struct Right<'a> {
    data: &'a [f32],
    depth: usize,
    cols: usize,
    /// From an inner index to the next.
    row: usize,
    /// From a panel to the next.
    panel: usize,
}

impl<'a> Right<'a> {
    /// A packed matrix.
    #[must_use]
    pub fn packed(p: &'a Packed) -> Self {
        Self::within(p, 0..p.cols(), 0..p.depth())
    }

    /// Columns and inner indices of a packed matrix; the columns must begin at a panel.
    ///
    /// # Panics
    /// If they do not, or reach outside.
    #[must_use]
    pub fn within(p: &'a Packed, cols: Range<usize>, depth: Range<usize>) -> Self {
        assert!(cols.start.is_multiple_of(PANEL) && cols.end <= p.cols() && depth.end <= p.depth());
        let panel = p.depth() * PANEL;
        let from = cols.start / PANEL * panel + depth.start * PANEL;
        Right { data: &p.data()[from..], depth: depth.len(), cols: cols.len(), row: PANEL, panel }
    }

    /// `depth` rows of `cols` floats, `ld` apart.
    #[must_use]
    pub fn rows(data: &'a [f32], depth: usize, cols: usize, ld: usize) -> Self {
        Right { data, depth, cols, row: ld, panel: PANEL }
    }

    fn panels(&self) -> usize {
        self.cols.div_ceil(PANEL)
    }

    fn check(&self) {
        if self.depth > 0 && self.cols > 0 {
            let p = self.panels() - 1;
            let last = p * self.panel + (self.depth - 1) * self.row + self.cols - p * PANEL - 1;
            assert!(last < self.data.len(), "right operand {} x {} does not fit", self.depth, self.cols);
        }
    }

    /// Panel `p` as address and distance between inner indices. Where its last row would be read past the end of the
    /// slice, it is copied.
    pub(super) fn panel(&self, p: usize, copy: &mut Buffer) -> (*const f32, usize) {
        let from = p * self.panel;
        if from + (self.depth - 1) * self.row + PANEL <= self.data.len() {
            return (self.data[from..].as_ptr(), self.row);
        }
        let width = PANEL.min(self.cols - p * PANEL);
        let to = copy.sized(self.depth * PANEL);
        for (k, row) in to.chunks_exact_mut(PANEL).enumerate() {
            let at = from + k * self.row;
            row[..width].copy_from_slice(&self.data[at..at + width]);
        }
        (to.as_ptr(), PANEL)
    }
}

/// What becomes of a product P; C is the result. Biases have one value for each column.
pub enum Finish<'a> {
    /// C = P
    Store,
    /// C = P + bias
    Bias(&'a [f32]),
    /// C += P (+ bias)
    Add(Option<&'a [f32]>),
    /// C += P, summed over blocks of the inner axis: for long ones (weight gradients).
    Accumulate,
    /// C = act(P + bias)
    Act(Activation, Option<&'a [f32]>),
    /// K = P + bias, C = act(K); K is laid out as C.
    Keep(Activation, Option<&'a [f32]>, &'a mut [f32]),
    /// C = act(P + bias) C
    Gate(Activation, Option<&'a [f32]>),
    /// C = P act'(K); K is laid out as C.
    Back(Activation, &'a [f32]),
}

/// [`Finish`] without what is borrowed.
#[derive(Clone, Copy)]
enum Epilogue<'a> {
    Store,
    Add,
    Act(Activation),
    Keep(Activation),
    Gate(Activation),
    Back(Activation, &'a [f32]),
}

/// Rows that share a pass over the panels: their left operand stays in the second-level cache.
const CHUNK: usize = 112;
/// Inner indices between two sums of [`Finish::Accumulate`].
const BLOCK: usize = 256;

/// `out = finish(left right)`; `out` has `ld` floats from a row to the next.
///
/// # Panics
/// If the operands do not fit each other or their slices.
pub fn product(team: Team, left: Left<'_>, right: Right<'_>, out: &mut [f32], ld: usize, finish: Finish<'_>) {
    assert_eq!(left.depth, right.depth, "inner sizes differ");
    let (rows, cols) = (left.rows, right.cols);
    if rows == 0 || cols == 0 {
        return;
    }
    assert!(ld >= cols && (rows - 1) * ld + cols <= out.len(), "result {rows} x {cols} does not fit");
    left.check();
    right.check();
    let block = if matches!(finish, Finish::Accumulate) { BLOCK } else { left.depth.max(1) };
    let mut kept = None;
    let (epilogue, bias) = match finish {
        Finish::Store => (Epilogue::Store, None),
        Finish::Bias(bias) => (Epilogue::Store, Some(bias)),
        Finish::Add(bias) => (Epilogue::Add, bias),
        Finish::Accumulate => (Epilogue::Add, None),
        Finish::Act(kind, bias) => (Epilogue::Act(kind), bias),
        Finish::Keep(kind, bias, pre) => {
            kept = Some(Shared::new(pre));
            (Epilogue::Keep(kind), bias)
        }
        Finish::Gate(kind, bias) => (Epilogue::Gate(kind), bias),
        Finish::Back(kind, pre) => (Epilogue::Back(kind, pre), None),
    };
    assert!(bias.is_none_or(|b| b.len() == cols), "bias of another width");
    let (panels, chunks) = (right.panels(), rows.div_ceil(CHUNK));
    let wanted = if team == Team::Pool { 3 * team.threads() } else { 1 };
    let splits = wanted.div_ceil(chunks).min(panels);
    let (out, kept) = (Shared::new(out), kept.as_ref());
    team.each(chunks * splits, |i| {
        let rows = part(rows, chunks, i / splits);
        let panels = part(panels, splits, i % splits);
        dispatch(Job { left, right, out: &out, ld, kept, epilogue, bias, block, rows, panels });
    });
}

/// Rows and panels that one thread computes.
struct Job<'a> {
    left: Left<'a>,
    right: Right<'a>,
    out: &'a Shared<'a>,
    ld: usize,
    kept: Option<&'a Shared<'a>>,
    epilogue: Epilogue<'a>,
    bias: Option<&'a [f32]>,
    block: usize,
    rows: Range<usize>,
    panels: Range<usize>,
}

thread_local! {
    /// Where a panel goes that cannot be read in place.
    static COPY: RefCell<Buffer> = RefCell::default();
}

impl Pass for Job<'_> {
    type Out = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let mut copy = COPY.take();
        let mut sums = Sums::ZERO;
        let (left, depth) = (self.left, self.left.depth);
        let mut from = 0;
        // At least once: an empty sum is 0, and its bias counts.
        while from == 0 || from < depth {
            let deep = self.block.min(depth - from);
            let right = Right { depth: deep, data: &self.right.data[from * self.right.row..], ..self.right };
            for p in self.panels.clone() {
                let (b, b_row) = right.panel(p, &mut copy);
                let width = PANEL.min(right.cols - p * PANEL);
                let blocks = self.rows.len().div_ceil(S::ROWS);
                for i in 0..blocks {
                    let part = part(self.rows.len(), blocks, i);
                    let (row, count) = (self.rows.start + part.start, part.len());
                    let a = left.data[row * left.row + from * left.col..].as_ptr();
                    let t = Operands { depth: deep, a, a_row: left.row, a_col: left.col, b, b_row };
                    // SAFETY: `product` has checked that all rows, columns and inner indices of both operands lie in
                    // their slices; `panel` gives sixteen columns more only where they are readable.
                    unsafe { multiply(s, count, &t, &mut sums) };
                    for (i, sums) in sums.0[..count].iter().enumerate() {
                        let at = (row + i) * self.ld + p * PANEL;
                        // SAFETY: rows and panels are divided among jobs, so nobody else has these elements.
                        let to = unsafe { self.out.part(at..at + width) };
                        // SAFETY: as above; `kept` is laid out as `out`.
                        let kept = self.kept.map(|k| unsafe { k.part(at..at + width) });
                        let bias = self.bias.map(|b| &b[p * PANEL..p * PANEL + width]);
                        let epilogue = match self.epilogue {
                            Epilogue::Back(kind, pre) => Epilogue::Back(kind, &pre[at..at + width]),
                            other => other,
                        };
                        finish_row(s, sums, bias, epilogue, kept, to);
                    }
                }
            }
            from += self.block;
        }
        COPY.set(copy);
    }
}

/// Addresses of the operands of a few rows by one panel; see [`Tile`].
pub(super) struct Operands {
    pub depth: usize,
    pub a: *const f32,
    pub a_row: usize,
    pub a_col: usize,
    pub b: *const f32,
    pub b_row: usize,
}

/// `rows` rows (at most `S::ROWS`) by one panel.
///
/// # Safety
/// As [`tile`](super::tile::tile) with 32 readable columns at every inner index of the right operand.
#[inline(always)]
pub(super) unsafe fn multiply<S: Simd>(s: S, rows: usize, o: &Operands, sums: &mut Sums) {
    let tile = s.tile(rows);
    let mut column = 0;
    while column < PANEL {
        let &Operands { depth, a, a_row, a_col, b, b_row } = o;
        let b = b.wrapping_add(column);
        // SAFETY: the caller's promise; `column + 16 ACROSS` never exceeds a panel.
        unsafe { tile(&mut Tile { depth, a, a_row, a_col, b, b_row, out: sums, column }) };
        column += LANE * S::ACROSS;
    }
}

/// One row of one panel.
#[inline(always)]
fn finish_row<S: Simd>(
    s: S,
    sums: &[f32; PANEL],
    bias: Option<&[f32]>,
    epilogue: Epilogue<'_>,
    mut kept: Option<&mut [f32]>,
    to: &mut [f32],
) {
    for i in (0..to.len()).step_by(LANE) {
        let mut v = s.get(sums, i);
        if let Some(b) = bias {
            v = s.add(v, s.get(b, i));
        }
        v = match epilogue {
            Epilogue::Store => v,
            Epilogue::Add => s.add(s.get(to, i), v),
            Epilogue::Act(kind) => activate(s, kind, v),
            Epilogue::Keep(kind) => {
                if let Some(k) = &mut kept {
                    s.put(v, k, i);
                }
                activate(s, kind, v)
            }
            Epilogue::Gate(kind) => s.mul(activate(s, kind, v), s.get(to, i)),
            Epilogue::Back(kind, pre) => s.mul(v, derivative(s, kind, s.get(pre, i))),
        };
        s.put(v, to, i);
    }
}
