//! Matrices laid out for products: panels of 32 columns, each panel contiguous along the inner axis.

use rayon::prelude::*;

use super::buffer::Buffer;
use super::tile::PANEL;

/// A `depth x cols` right operand. Panel p holds columns 32 p to 32 p + 31 (zeros behind the last) as `[depth][32]`.
#[derive(Debug, Default)]
pub struct Packed {
    depth: usize,
    cols: usize,
    data: Buffer,
}

/// Inner indices that are transposed together: one cache line of every source row.
const STRIP: usize = 16;

impl Packed {
    /// From weights as checkpoints store them: matrices `[out_i, depth]`, whose outputs stand side by side.
    #[must_use]
    pub fn from_weights(depth: usize, parts: &[&[f32]]) -> Packed {
        let mut packed = Packed::default();
        packed.set_weights(depth, parts);
        packed
    }

    /// As [`Packed::from_weights`], in the memory that is already there.
    pub fn set_weights(&mut self, depth: usize, parts: &[&[f32]]) {
        let rows: Vec<&[f32]> = parts.iter().flat_map(|p| p.chunks_exact(depth)).collect();
        self.set(depth, rows.len(), |j| rows[j]);
    }

    /// From the rows `pick` of a table `[rows, depth]`: each becomes a column.
    #[must_use]
    pub fn from_rows_of(table: &[f32], depth: usize, pick: &[u32]) -> Packed {
        let mut packed = Packed::default();
        packed.set(depth, pick.len(), |j| {
            let at = pick[j] as usize * depth;
            &table[at..at + depth]
        });
        packed
    }

    /// Fills all panels; `column(j)` holds column j.
    fn set<'a>(&mut self, depth: usize, cols: usize, column: impl Fn(usize) -> &'a [f32] + Sync) {
        (self.depth, self.cols) = (depth, cols);
        let panels = cols.div_ceil(PANEL);
        let data = self.data.sized(panels * depth * PANEL);
        if depth == 0 {
            return;
        }
        data.par_chunks_exact_mut(depth * PANEL).enumerate().for_each(|(p, panel)| {
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

    /// From row-major matrices `[depth_i, cols]` below each other.
    #[must_use]
    pub fn from_matrices(parts: &[&[f32]], cols: usize) -> Packed {
        let mut packed = Packed::default();
        packed.set_matrices(parts, cols);
        packed
    }

    /// As [`Packed::from_matrices`], in the memory that is already there.
    pub fn set_matrices(&mut self, parts: &[&[f32]], cols: usize) {
        let depth = parts.iter().map(|p| p.len() / cols.max(1)).sum();
        (self.depth, self.cols) = (depth, cols);
        let panels = cols.div_ceil(PANEL);
        let data = self.data.sized(panels * depth * PANEL);
        if depth == 0 {
            return;
        }
        data.par_chunks_exact_mut(depth * PANEL).enumerate().for_each(|(p, panel)| {
            let from = p * PANEL;
            let width = PANEL.min(cols - from);
            let rows = parts.iter().flat_map(|p| p.chunks_exact(cols));
            for (to, row) in panel.chunks_exact_mut(PANEL).zip(rows) {
                to[..width].copy_from_slice(&row[from..from + width]);
                to[width..].fill(0.0);
            }
        });
    }

    /// The transposed matrix: what a gradient is multiplied by.
    #[must_use]
    pub fn transposed(&self) -> Packed {
        let mut columns = vec![0.0; self.cols * self.depth];
        columns.par_chunks_exact_mut(self.depth.max(1)).enumerate().for_each(|(j, c)| self.column(j, c));
        Packed::from_matrices(&[&columns], self.depth)
    }

    /// Copies column `j`.
    pub fn column(&self, j: usize, to: &mut [f32]) {
        let panel = &self.data.as_ref()[j / PANEL * self.depth * PANEL..];
        for (x, row) in to.iter_mut().zip(panel.chunks_exact(PANEL)) {
            *x = row[j % PANEL];
        }
    }

    /// Length of the inner axis.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Number of columns.
    #[must_use]
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Panel after panel.
    pub(super) fn data(&self) -> &[f32] {
        self.data.as_ref()
    }

    /// Bytes held.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.data.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_in_gives_the_same_panels() {
        for (depth, cols) in [(1, 1), (5, 31), (16, 32), (33, 70), (48, 144)] {
            let weights: Vec<f32> = (0..depth * cols).map(|i| i as f32).collect();
            let matrix: Vec<f32> =
                (0..depth * cols).map(|i| weights[(i % cols) * depth + i / cols]).collect();
            let a = Packed::from_weights(depth, &[&weights]);
            let (first, second) = weights.split_at(cols / 2 * depth);
            let others = [
                Packed::from_weights(depth, &[first, second]),
                Packed::from_matrices(&[&matrix[..cols], &matrix[cols..]], cols),
                Packed::from_rows_of(&weights, depth, &(0..cols as u32).collect::<Vec<_>>()),
                a.transposed().transposed(),
            ];
            for other in &others {
                assert_eq!((other.depth, other.cols, other.data()), (a.depth, a.cols, a.data()));
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
        let last = &p.data()[2 * PANEL..];
        assert_eq!(last[0], 2.0);
        assert!(last[1..PANEL].iter().all(|x| *x == 0.0));
    }
}
