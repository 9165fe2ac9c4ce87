//! Products with a right operand in bf16: the left operand is rounded to bf16, and sums are f32.

use std::cell::RefCell;

use super::super::amx::{Block, ROWS, Tiles};
use super::super::bf16::Pairs;
use super::super::buffer::Buffer;
use super::super::simd::Simd;
use super::super::tile::Sums;
use super::{COPY, Job};

thread_local! {
    /// Rows of a left operand, rounded to bf16.
    static ROUNDED: RefCell<Buffer> = RefCell::default();
}

impl Job<'_> {
    /// Multiplies with vector instructions.
    #[inline(always)]
    pub(super) fn run_pairs<S: Simd>(&self, s: S, right: Pairs<'_>) {
        let mut held = ROUNDED.take();
        let mut sums = Sums::ZERO;
        let (left, deep) = (self.left, right.deep());
        let rounded = held.words(self.rows.len() * deep);
        for (row, to) in self.rows.clone().zip(rounded.chunks_exact_mut(deep)) {
            right.round(&left.data[row * left.row..row * left.row + left.depth], to);
        }
        let rounded = &*rounded;
        for p in self.panels.clone() {
            for i in 0..self.blocks::<S>() {
                let (row, count) = self.block_at::<S>(i);
                let from = (row - self.rows.start) * deep;
                right.multiply(p, &rounded[from..from + count * deep], &mut sums);
                self.finish(s, &sums.0[..count], row, p);
            }
        }
        ROUNDED.set(held);
    }

    #[inline(always)]
    pub(super) fn run_tiles<S: Simd>(&self, s: S, right: Tiles<'_>) {
        let (mut held, mut copy) = (ROUNDED.take(), COPY.take());
        let mut sums = Block::ZERO;
        let left = self.left;
        let rounded = held.words(right.left_words(self.rows.len()));
        for (i, row) in self.rows.clone().enumerate() {
            right.round(i, &left.data[row * left.row..row * left.row + left.depth], rounded);
        }
        let rounded = &*rounded;
        let configured = right.configure();
        for p in self.panels.clone() {
            let panel = right.panel(p, &mut copy);
            for (i, rows) in rounded.chunks(2 * right.tile_row()).enumerate() {
                right.multiply(&configured, panel, rows, &mut sums);
                let row = self.rows.start + i * ROWS;
                let count = ROWS.min(self.rows.end - row);
                self.finish(s, &sums.0[..count], row, p);
            }
        }
        drop(configured);
        ROUNDED.set(held);
        COPY.set(copy);
    }
}
