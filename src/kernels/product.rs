//! Matrix products with a fused final step: bias, activation, residual sum, or derivative of an activation.
//!
//! Every number is one chain of multiply-adds in the order of the inner axis. A row's result is therefore bit-identical regardless of the
//! other rows and of how the work is divided.
#![allow(unsafe_code)]

mod narrow;

use std::cell::RefCell;
use std::ops::Range;

use super::amx;
use super::bf16::Unit;
use super::buffer::Buffer;
use super::math::{activate, derivative};
use super::operand::Narrow;
pub use super::operand::{Left, Right};
use super::simd::{LANE, Level, Pass, Simd, dispatch};
use super::team::{Shared, Team, part};
use super::tile::{PANEL, Sums, Tile};
use crate::kind::Activation;

/// Final step that turns a product P into the result C. Biases have one value per column.
pub enum Finish<'a> {
    /// C = P
    Store,
    /// C = P + bias
    Bias(&'a [f32]),
    /// C += P (+ bias)
    Add(Option<&'a [f32]>),
    /// C += P, summed over blocks of the inner axis; for long inner axes (weight gradients).
    Accumulate,
    /// C = act(P + bias)
    Act(Activation, Option<&'a [f32]>),
    /// K = P + bias, C = act(K); K has the layout of C.
    Keep(Activation, Option<&'a [f32]>, &'a mut [f32]),
    /// C = act(P + bias) C
    Gate(Activation, Option<&'a [f32]>),
    /// C = P act'(K); K has the layout of C.
    Back(Activation, &'a [f32]),
}

/// [`Finish`] without borrowed data.
#[derive(Clone, Copy)]
enum Epilogue<'a> {
    Store,
    Add,
    Act(Activation),
    Keep(Activation),
    Gate(Activation),
    Back(Activation, &'a [f32]),
}

/// Number of rows per pass over the panels. A pass reads all panels from outer caches or memory, and more rows share that cost, even if the
/// left operand no longer fits the L2 cache. Measured on all products of BERT-base with 252 rows (twelve layers, two threads, Intel Xeon):
/// 2.08 s in chunks of 112, 1.91 s in one.
const CHUNK: usize = 336;
/// Number of inner indices summed at a time by [`Finish::Accumulate`].
const BLOCK: usize = 256;

/// Computes `out = finish(left right)`; rows of `out` are `ld` floats apart.
///
/// # Panics
/// If the shapes do not match each other or the slices.
pub fn product(team: Team, left: Left<'_>, right: Right<'_>, out: &mut [f32], ld: usize, finish: Finish<'_>) {
    product_by(Unit::best(), team, left, right, out, ld, finish);
}

/// Like [`product`], but with a given unit for bf16 operands.
fn product_by(
    unit: Unit,
    team: Team,
    left: Left<'_>,
    right: Right<'_>,
    out: &mut [f32],
    ld: usize,
    finish: Finish<'_>,
) {
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
    assert!(bias.is_none_or(|b| b.len() == cols), "the bias has a different width");
    let narrow = if left.col == 1 { right.narrow(unit) } else { None };
    let wanted = if team == Team::Pool { 3 * team.threads() } else { 1 };
    // The rows are divided so that as few tiles as possible are partly filled.
    let (grain, tall, exact) = match narrow {
        Some(Narrow::Tiles(_)) => (amx::TILE, tiled(left.depth), true),
        _ => (Level::best().rows(), CHUNK, false),
    };
    let (tiles, panels) = (rows.div_ceil(grain), right.panels());
    let chunks = rows.div_ceil(tall).max(wanted.min(rows / CHUNK)).max(1);
    let splits = wanted.div_ceil(chunks).min(panels);
    let (out, kept) = (Shared::new(out), kept.as_ref());
    team.each(chunks * splits, |i| {
        let at = part(tiles, chunks, i / splits);
        let begin = |tile| if exact { rows.min(tile * grain) } else { part(rows, tiles, tile).start };
        let rows = begin(at.start)..begin(at.end);
        let panels = part(panels, splits, i % splits);
        dispatch(Job { left, right, narrow, out: &out, ld, kept, epilogue, bias, block, rows, panels });
    });
}

/// Number of rows of a tiled left operand per pass over the panels. They occupy 1 MiB, half the L2 cache of processors with AMX, so that
/// panels are loaded less often.
fn tiled(depth: usize) -> usize {
    ((1 << 20) / (2 * depth.max(1))).next_multiple_of(amx::ROWS)
}

struct Job<'a> {
    left: Left<'a>,
    right: Right<'a>,
    narrow: Option<Narrow<'a>>,
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
    /// Copies of panels that cannot be read in place.
    static COPY: RefCell<Buffer> = RefCell::default();
}

impl Pass for Job<'_> {
    type Out = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        match self.narrow {
            Some(Narrow::Vectors(right)) => return self.run_pairs(s, right),
            Some(Narrow::Tiles(right)) => return self.run_tiles(s, right),
            None => {}
        }
        let mut copy = COPY.take();
        let mut sums = Sums::ZERO;
        let (left, depth) = (self.left, self.left.depth);
        let mut from = 0;
        // The loop runs at least once: an empty sum is 0, and the bias is still added.
        while from == 0 || from < depth {
            let deep = self.block.min(depth - from);
            let right = self.right.below(from, deep);
            for p in self.panels.clone() {
                let (b, b_row) = right.panel(p, &mut copy);
                for i in 0..self.blocks::<S>() {
                    let (row, count) = self.block_at::<S>(i);
                    let a = left.data[row * left.row + from * left.col..].as_ptr();
                    let t = Operands { depth: deep, a, a_row: left.row, a_col: left.col, b, b_row };
                    // SAFETY: `product` has checked that all rows, columns and inner indices of both operands are in their slices. `panel`
                    // returns sixteen more columns only if they are readable.
                    unsafe { multiply(s, count, &t, &mut sums) };
                    self.finish(s, &sums.0[..count], row, p);
                }
            }
            from += self.block;
        }
        COPY.set(copy);
    }
}

impl Job<'_> {
    /// Number of nearly equal parts into which register tiles divide the rows. (A closure would not be inlined and would lose the
    /// instruction set.)
    fn blocks<S: Simd>(&self) -> usize {
        self.rows.len().div_ceil(S::ROWS)
    }

    /// First row of part `i`, and its number of rows.
    fn block_at<S: Simd>(&self, i: usize) -> (usize, usize) {
        let part = part(self.rows.len(), self.blocks::<S>(), i);
        (self.rows.start + part.start, part.len())
    }

    /// Writes the rows of panel `p`, starting at `row`, from their sums.
    #[inline(always)]
    fn finish<S: Simd>(&self, s: S, sums: &[[f32; PANEL]], row: usize, p: usize) {
        let width = PANEL.min(self.right.cols - p * PANEL);
        for (i, sums) in sums.iter().enumerate() {
            let at = (row + i) * self.ld + p * PANEL;
            // SAFETY: rows and panels are divided among jobs, so no other job accesses these elements.
            let to = unsafe { self.out.part(at..at + width) };
            // SAFETY: as above; `kept` has the layout of `out`.
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

/// Addresses of a few rows of the left operand and one panel; see [`Tile`].
pub(super) struct Operands {
    /// Length of the inner axis.
    pub depth: usize,
    /// Address of the left operand's first number.
    pub a: *const f32,
    /// Distance in floats between rows of the left operand.
    pub(crate) a_row: usize,
    /// Distance in floats between inner indices of the left operand.
    pub(crate) a_col: usize,
    /// The panel of the right operand.
    pub b: *const f32,
    /// Distance in floats between inner indices of the panel.
    pub(crate) b_row: usize,
}

/// Multiplies `rows` rows (at most `S::ROWS`) by one panel.
///
/// # Safety
/// Same requirements as [`tile`](super::tile::tile), with 32 readable columns at every inner index of the right
/// operand.
#[inline(always)]
pub(super) unsafe fn multiply<S: Simd>(s: S, rows: usize, o: &Operands, sums: &mut Sums) {
    let tile = s.tile(rows);
    let mut column = 0;
    while column < PANEL {
        let &Operands { depth, a, a_row, a_col, b, b_row } = o;
        let b = b.wrapping_add(column);
        // SAFETY: the caller guarantees readable operands; `column + 16 ACROSS` never exceeds a panel.
        unsafe { tile(&mut Tile { depth, a, a_row, a_col, b, b_row, out: sums, column }) };
        column += LANE * S::ACROSS;
    }
}

/// Applies the final step to one row of one panel.
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

#[cfg(test)]
mod tests;
