//! The two operands of a product. The left one consists of rows in a slice, the right one of panels in f32, f16 or bf16.

use std::ops::Range;

use half::f16;
use half::slice::HalfFloatSliceExt;

use super::amx;
use super::bf16::{self, Unit};
use super::buffer::Buffer;
use super::packed::Packed;
use super::tile::PANEL;

/// A left operand, `rows x depth`, inside a slice.
#[derive(Clone, Copy)]
pub struct Left<'a> {
    /// The slice, starting at the operand's first element.
    pub(super) data: &'a [f32],
    pub(super) rows: usize,
    /// Number of inner indices.
    pub(super) depth: usize,
    /// Distance in floats between rows.
    pub(super) row: usize,
    /// Distance in floats between inner indices.
    pub(super) col: usize,
}

impl<'a> Left<'a> {
    /// Rows of `depth` floats, `ld` apart.
    pub fn rows(data: &'a [f32], rows: usize, depth: usize, ld: usize) -> Self {
        Left { data, rows, depth, row: ld, col: 1 }
    }

    /// The transpose of `depth` rows of `rows` floats, `ld` apart.
    pub fn transposed(data: &'a [f32], rows: usize, depth: usize, ld: usize) -> Self {
        Left { data, rows, depth, row: 1, col: ld }
    }

    /// Checks that the slice contains the operand.
    ///
    /// # Panics
    /// If the slice is too short.
    pub(super) fn check(&self) {
        if self.rows > 0 && self.depth > 0 {
            let last = (self.rows - 1) * self.row + (self.depth - 1) * self.col;
            assert!(last < self.data.len(), "left operand {} x {} does not fit", self.rows, self.depth);
        }
    }
}

/// Stored numbers of a right operand.
#[derive(Clone, Copy)]
pub(super) enum Values<'a> {
    F32(&'a [f32]),
    /// Panels `[depth][32]`.
    F16(&'a [f16]),
    /// Panels `[depth / 2][32]` of two inner indices per word, the even one in the low half.
    Bf16(&'a [u32]),
}

/// A right operand in bf16, in the form that one of the units multiplies.
#[derive(Clone, Copy)]
pub(super) enum Narrow<'a> {
    Vectors(bf16::Pairs<'a>),
    /// Tiles of a matrix unit.
    Tiles(amx::Tiles<'a>),
}

/// A right operand, `depth x cols`.
#[derive(Clone, Copy)]
pub struct Right<'a> {
    values: Values<'a>,
    /// Number of inner indices.
    pub(super) depth: usize,
    pub(super) cols: usize,
    /// Distance between inner indices.
    row: usize,
    /// Distance between panels.
    panel: usize,
}

impl<'a> Right<'a> {
    pub fn packed(p: &'a Packed) -> Self {
        Self::within(p, 0..p.cols(), 0..p.depth())
    }

    /// A range of columns and inner indices of a packed matrix. Columns must begin at a panel boundary. Inner indices must begin at 0
    /// unless the matrix is in f32.
    ///
    /// # Panics
    /// If a range begins elsewhere or exceeds the matrix.
    pub fn within(p: &'a Packed, cols: Range<usize>, depth: Range<usize>) -> Self {
        assert!(cols.start.is_multiple_of(PANEL) && cols.end <= p.cols() && depth.end <= p.depth());
        let (panel, first) = (p.panel_len(), cols.start / PANEL);
        let values = match p.values() {
            Values::F32(x) => Values::F32(&x[first * panel + depth.start * PANEL..]),
            Values::F16(x) => Values::F16(&x[first * panel..]),
            Values::Bf16(x) => Values::Bf16(&x[first * panel..]),
        };
        assert!(depth.start == 0 || matches!(values, Values::F32(_)), "16-bit operands must start at inner index 0");
        Right { values, depth: depth.len(), cols: cols.len(), row: PANEL, panel }
    }

    /// `depth` rows of `cols` floats, `ld` apart.
    pub fn rows(data: &'a [f32], depth: usize, cols: usize, ld: usize) -> Self {
        Right { values: Values::F32(data), depth, cols, row: ld, panel: PANEL }
    }

    /// `deep` inner indices starting at `from`. A 16-bit operand cannot be divided: the range must contain all of its inner indices.
    pub(super) fn below(self, from: usize, deep: usize) -> Self {
        match self.values {
            Values::F32(x) => {
                let values = Values::F32(&x[(from * self.row).min(x.len())..]);
                Right { values, depth: deep, ..self }
            }
            _ => self,
        }
    }

    pub(super) fn panels(&self) -> usize {
        self.cols.div_ceil(PANEL)
    }

    /// Checks that the slice contains the operand.
    ///
    /// # Panics
    /// If the slice is too short.
    pub(super) fn check(&self) {
        if self.depth == 0 || self.cols == 0 {
            return;
        }
        let p = self.panels() - 1;
        let fits = match self.values {
            Values::F32(x) => p * self.panel + (self.depth - 1) * self.row + self.cols - p * PANEL <= x.len(),
            Values::F16(x) => p * self.panel + self.depth * PANEL <= x.len(),
            Values::Bf16(x) => p * self.panel + self.depth.div_ceil(2) * PANEL <= x.len(),
        };
        assert!(fits, "right operand {} x {} does not fit", self.depth, self.cols);
    }

    /// The operand in the form that `unit` multiplies; `None` if the operand is not in bf16 or this machine lacks the unit.
    pub(super) fn narrow(&self, unit: Unit) -> Option<Narrow<'a>> {
        match (self.values, unit) {
            (Values::Bf16(x), Unit::Vectors) if self.depth > 0 => {
                bf16::Pairs::new(x, self.depth, self.panel).map(Narrow::Vectors)
            }
            (Values::Bf16(x), Unit::Tiles) if self.depth > 0 => {
                amx::Tiles::new(x, self.depth, self.panel).map(Narrow::Tiles)
            }
            _ => None,
        }
    }

    /// Panel `p` in f32, as an address and the distance between inner indices. The panel is copied if it is not in f32 or if reading its
    /// last row would exceed the slice.
    pub(super) fn panel(&self, p: usize, copy: &mut Buffer) -> (*const f32, usize) {
        let from = p * self.panel;
        match self.values {
            Values::F32(x) if self.depth == 0 => (x.as_ptr(), 0),
            Values::F32(x) if from + (self.depth - 1) * self.row + PANEL <= x.len() => (x[from..].as_ptr(), self.row),
            Values::F32(x) => {
                let width = PANEL.min(self.cols - p * PANEL);
                let to = copy.sized(self.depth * PANEL);
                for (k, row) in to.chunks_exact_mut(PANEL).enumerate() {
                    let at = from + k * self.row;
                    row[..width].copy_from_slice(&x[at..at + width]);
                }
                (to.as_ptr(), PANEL)
            }
            Values::F16(x) => {
                let to = copy.sized(self.depth * PANEL);
                x[from..from + to.len()].convert_to_f32_slice(to);
                (to.as_ptr(), PANEL)
            }
            Values::Bf16(x) => {
                let to = copy.sized(self.depth * PANEL);
                bf16::widen(&x[from..], to);
                (to.as_ptr(), PANEL)
            }
        }
    }
}
