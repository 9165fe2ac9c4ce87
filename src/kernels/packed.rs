//! Matrices packed for products: panels of 32 columns, each contiguous along the inner axis.

use half::f16;
use half::slice::HalfFloatSliceExt;
use rayon::prelude::*;

use super::bf16::{pair, unpair};
use super::buffer::Buffer;
use super::operand::Values;
use super::tile::PANEL;
use crate::kind::Dtype;

/// A `depth x cols` right operand. Panel p contains columns 32 p to 32 p + 31 (zero-padded) as `[depth][32]`; in bf16, as `[depth / 2][32]`
/// pairs of inner indices.
#[derive(Debug, Default)]
pub struct Packed {
    dtype: Dtype,
    depth: usize,
    cols: usize,
    data: Buffer,
}

/// Number of inner indices transposed at a time: one cache line of every source row.
const STRIP: usize = 16;

impl Packed {
    /// Packs weight matrices as in checkpoints, `[out_i, depth]`, with their outputs concatenated.
    pub fn from_weights(depth: usize, parts: &[&[f32]]) -> Packed {
        let mut packed = Packed::default();
        packed.set_weights(depth, parts);
        packed
    }

    /// Like [`Packed::from_weights`], but reuses the memory.
    pub fn set_weights(&mut self, depth: usize, parts: &[&[f32]]) {
        let rows: Vec<&[f32]> = parts.iter().flat_map(|p| p.chunks_exact(depth)).collect();
        self.set(depth, rows.len(), |j| rows[j]);
    }

    pub fn empty(dtype: Dtype) -> Packed {
        Packed { dtype, ..Packed::default() }
    }

    /// Fills all panels from `column(j)`, which returns column j.
    fn set<'a>(&mut self, depth: usize, cols: usize, column: impl Fn(usize) -> &'a [f32] + Sync) {
        self.fill(depth, cols, |p, panel| {
            let width = PANEL.min(cols - p * PANEL);
            for k in (0..depth).step_by(STRIP) {
                let end = depth.min(k + STRIP);
                for j in 0..width {
                    for (i, x) in column(p * PANEL + j)[k..end].iter().enumerate() {
                        panel[(k + i) * PANEL + j] = *x;
                    }
                }
                for row in panel[k * PANEL..end * PANEL].chunks_exact_mut(PANEL) {
                    row[width..].fill(0.0);
                }
            }
        });
    }

    /// Packs row-major matrices `[depth_i, cols]`, stacked vertically.
    pub(crate) fn from_matrices(parts: &[&[f32]], cols: usize) -> Packed {
        let mut packed = Packed::default();
        packed.set_matrices(parts, cols);
        packed
    }

    /// Like [`Packed::from_matrices`], but reuses the memory.
    pub fn set_matrices(&mut self, parts: &[&[f32]], cols: usize) {
        let depth = parts.iter().map(|p| p.len() / cols.max(1)).sum();
        self.fill(depth, cols, |p, panel| {
            let from = p * PANEL;
            let width = PANEL.min(cols - from);
            let rows = parts.iter().flat_map(|p| p.chunks_exact(cols));
            for (to, row) in panel.chunks_exact_mut(PANEL).zip(rows) {
                to[..width].copy_from_slice(&row[from..from + width]);
                to[width..].fill(0.0);
            }
        });
    }

    /// Fills all panels by calling `write(index, panel)`, where the panel is `[depth][32]`.
    fn fill(&mut self, depth: usize, cols: usize, write: impl Fn(usize, &mut [f32]) + Sync) {
        (self.depth, self.cols) = (depth, cols);
        let panels = cols.div_ceil(PANEL);
        if self.dtype == Dtype::F32 {
            let data = self.data.sized(panels * depth * PANEL);
            if depth > 0 {
                let panels = data.par_chunks_exact_mut(depth * PANEL).enumerate();
                panels.for_each(|(p, panel)| write(p, panel));
            }
            return;
        }
        let (words, dtype) = (depth.div_ceil(2) * PANEL, self.dtype);
        let data = self.data.words(panels * words);
        if depth > 0 {
            let panels = data.par_chunks_exact_mut(words).enumerate();
            panels.for_each_init(
                || vec![0.0; depth * PANEL],
                |whole, (p, panel)| {
                    write(p, whole);
                    narrow(dtype, whole, panel);
                },
            );
        }
    }

    /// The transpose, for backward passes.
    pub fn transposed(&self) -> Packed {
        let mut columns = vec![0.0; self.cols * self.depth];
        columns.par_chunks_exact_mut(self.depth.max(1)).enumerate().for_each(|(j, c)| self.column(j, c));
        Packed::from_matrices(&[&columns], self.depth)
    }

    pub fn column(&self, j: usize, to: &mut [f32]) {
        let (from, j) = (j / PANEL * self.panel_len(), j % PANEL);
        match self.values() {
            Values::F32(x) => {
                to.iter_mut().zip(x[from..].chunks_exact(PANEL)).for_each(|(to, row)| *to = row[j]);
            }
            Values::F16(x) => {
                to.iter_mut().zip(x[from..].chunks_exact(PANEL)).for_each(|(to, row)| *to = row[j].to_f32());
            }
            Values::Bf16(x) => {
                for (to, row) in to.chunks_mut(2).zip(x[from..].chunks_exact(PANEL)) {
                    to.iter_mut().zip(unpair(row[j])).for_each(|(to, x)| *to = x);
                }
            }
        }
    }

    #[inline]
    pub fn depth(&self) -> usize {
        self.depth
    }

    #[inline]
    pub fn cols(&self) -> usize {
        self.cols
    }

    #[inline]
    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// The values, panel by panel.
    pub(super) fn values(&self) -> Values<'_> {
        match self.dtype {
            Dtype::F32 => Values::F32(self.data.as_ref()),
            Dtype::F16 => Values::F16(self.data.as_halves()),
            Dtype::Bf16 => Values::Bf16(self.data.as_words()),
        }
    }

    /// Length of a panel in elements of [`Packed::values`].
    pub(super) fn panel_len(&self) -> usize {
        match self.dtype {
            Dtype::F32 => self.depth * PANEL,
            Dtype::F16 => 2 * self.depth.div_ceil(2) * PANEL,
            Dtype::Bf16 => self.depth.div_ceil(2) * PANEL,
        }
    }

    #[inline]
    pub fn bytes(&self) -> usize {
        self.data.bytes()
    }
}

/// Rounds a panel `[depth][32]` to 16 bits.
fn narrow(dtype: Dtype, panel: &[f32], to: &mut [u32]) {
    if dtype == Dtype::Bf16 {
        for (rows, to) in panel.chunks(2 * PANEL).zip(to.chunks_exact_mut(PANEL)) {
            for (j, word) in to.iter_mut().enumerate() {
                *word = pair(rows[j], rows.get(PANEL + j).copied().unwrap_or(0.0));
            }
        }
        return;
    }
    let mut halves = [f16::ZERO; 2 * PANEL];
    for (rows, to) in panel.chunks(2 * PANEL).zip(to.chunks_exact_mut(PANEL)) {
        halves[..rows.len()].convert_from_f32_slice(rows);
        halves[rows.len()..].fill(f16::ZERO);
        for (two, word) in halves.chunks_exact(2).zip(to) {
            let ([a, b], [c, d]) = (two[0].to_ne_bytes(), two[1].to_ne_bytes());
            *word = u32::from_ne_bytes([a, b, c, d]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_packing_functions_give_equal_panels() {
        for (depth, cols) in [(1, 1), (5, 31), (16, 32), (33, 70), (48, 144)] {
            let weights: Vec<f32> = (0..depth * cols).map(|i| i as f32).collect();
            let matrix: Vec<f32> = (0..depth * cols).map(|i| weights[(i % cols) * depth + i / cols]).collect();
            let a = Packed::from_weights(depth, &[&weights]);
            let (first, second) = weights.split_at(cols / 2 * depth);
            let others = [
                Packed::from_weights(depth, &[first, second]),
                Packed::from_matrices(&[&matrix[..cols], &matrix[cols..]], cols),
                a.transposed().transposed(),
            ];
            for other in &others {
                assert_eq!((other.depth, other.cols, other.data.as_ref()), (a.depth, a.cols, a.data.as_ref()));
            }
            let mut column = vec![0.0; depth];
            a.column(cols - 1, &mut column);
            assert_eq!(column, weights[(cols - 1) * depth..]);
            let t = a.transposed();
            t.column(depth - 1, &mut [0.0; 0]);
            assert_eq!((t.depth(), t.cols()), (cols, depth));
        }
    }

    #[test]
    fn repacking_clears_the_last_panel() {
        let mut p = Packed::from_weights(2, &[&[1.0; 2 * 40]]);
        p.set_weights(2, &[&[2.0; 2 * 33]]);
        let last = &p.data.as_ref()[2 * PANEL..];
        assert_eq!(last[0], 2.0);
        assert!(last[1..PANEL].iter().all(|x| *x == 0.0));
    }
}
