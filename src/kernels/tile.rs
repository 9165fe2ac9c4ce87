//! The register tile of all products: up to 14 rows by 32 columns, summed over the inner axis in order.
#![allow(unsafe_code)]

use super::simd::{LANE, Simd};

/// Number of columns in a panel of the right operand.
pub const PANEL: usize = 2 * LANE;
/// Maximum number of rows of any register tile.
pub(crate) const MAX_ROWS: usize = 14;

/// Prefetch distance in inner indices. Panels come from the L2 cache; without prefetching, waiting for them costs 3 to 5 % (measured on an
/// Intel Xeon of 2023).
const AHEAD: usize = 8;

/// Unrolls a loop with constant indices. Indexed values then stay in registers even if the compiler does not unroll, as in test builds.
macro_rules! unroll {
    ($i:ident in [$($n:literal)*], below $end:expr, $body:block) => {
        $(if $n < $end {
            let $i: usize = $n;
            $body
        })*
    };
}

/// Sums of a finished tile, row by row.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub struct Sums(pub [[f32; PANEL]; MAX_ROWS]);

impl Sums {
    pub(crate) const ZERO: Sums = Sums([[0.0; PANEL]; MAX_ROWS]);
}

/// Addresses of the operands of one tile.
pub struct Tile<'a> {
    /// Length of the inner axis.
    pub depth: usize,
    /// First element of the left operand.
    pub a: *const f32,
    /// Distance in floats between rows of the left operand.
    pub(crate) a_row: usize,
    /// Distance in floats between inner indices of the left operand.
    pub(crate) a_col: usize,
    /// First element of the right operand, which has `PANEL` (in a narrow tile, 16) columns side by side.
    pub b: *const f32,
    /// Distance in floats between inner indices of the right operand.
    pub(crate) b_row: usize,
    pub out: &'a mut Sums,
    /// First column written: 0, or 16 for the right half of a panel computed by a narrow tile.
    pub column: usize,
}

/// A compiled tile. Each result is one chain of multiply-adds in the order of the inner axis, so it does not depend on neighbouring rows.
pub(crate) type TileFn = unsafe fn(&mut Tile<'_>);

/// Computes `M` rows by `L` vectors.
///
/// # Safety
/// For all i < M and k < depth, `a + i a_row + k a_col` and 16 L floats from `b + k b_row` must be readable. `column + 16 L <= PANEL` and
/// `M <= MAX_ROWS`. The processor must have the instructions of `S`.
#[inline(always)]
pub unsafe fn tile<S: Simd, const M: usize, const L: usize>(s: S, t: &mut Tile<'_>) {
    let mut sums = [[s.splat(0.0); L]; M];
    let (mut a, mut b) = (t.a, t.b);
    for _ in 0..t.depth {
        let mut across = [s.splat(0.0); L];
        unroll!(l in [0 1], below L, {
            // SAFETY: the caller guarantees 16 L readable floats at `b`; an array of floats has their alignment.
            across[l] = s.load(unsafe { &*b.add(LANE * l).cast::<[f32; LANE]>() });
            s.expect(b.wrapping_add(AHEAD * t.b_row + LANE * l));
        });
        unroll!(i in [0 1 2 3 4 5 6 7 8 9 10 11 12 13], below M, {
            // SAFETY: the caller guarantees that the address is readable.
            let x = s.splat(unsafe { *a.add(i * t.a_row) });
            unroll!(l in [0 1], below L, {
                sums[i][l] = s.fma(x, across[l], sums[i][l]);
            });
        });
        // After the last step, these pointers may point past the operands, but are not read.
        a = a.wrapping_add(t.a_col);
        b = b.wrapping_add(t.b_row);
    }
    for (row, out) in sums.iter().zip(&mut t.out.0) {
        for (l, v) in row.iter().enumerate() {
            s.put(*v, out, t.column + LANE * l);
        }
    }
}
