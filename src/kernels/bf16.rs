//! Products in bf16 with f32 sums, on processors with AVX512_BF16.
//!
//! Two inner indices share a 32-bit word. One instruction multiplies sixteen columns of such pairs and adds them to f32 sums. Pairs are
//! summed in the order of the inner axis, so a row's result does not depend on its neighbours. Tile units are in `amx`.
#![allow(unsafe_code)]

use std::fmt;

use super::amx;
use super::tile::{PANEL, Sums};

/// Units that multiply bf16 weights. They sum in different orders, so the last bits of results differ too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// f32 vectors: weights are widened, and the left operand is not rounded.
    Widened,
    /// AVX512_BF16.
    Vectors,
    /// AMX.
    Tiles,
}

impl Unit {
    /// All units, the slowest first.
    pub const ALL: [Unit; 3] = [Unit::Widened, Unit::Vectors, Unit::Tiles];

    pub fn available(self) -> bool {
        match self {
            Unit::Widened => true,
            Unit::Vectors => available(),
            Unit::Tiles => amx::available(),
        }
    }

    pub fn best() -> Unit {
        if amx::available() {
            Unit::Tiles
        } else if available() {
            Unit::Vectors
        } else {
            Unit::Widened
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unit::Widened => "widening",
            Unit::Vectors => "AVX512_BF16",
            Unit::Tiles => "AMX",
        })
    }
}

/// Rounds two neighbouring numbers to the nearest bf16 and packs them into one word.
pub fn pair(low: f32, high: f32) -> u32 {
    let bits = |x: f32| u32::from(half::bf16::from_f32(x).to_bits());
    bits(low) | bits(high) << 16
}

/// The two numbers in a word, as f32.
pub(crate) fn unpair(word: u32) -> [f32; 2] {
    [f32::from_bits(word << 16), f32::from_bits(word & 0xffff_0000)]
}

/// Widens a panel `[depth / 2][32]` of pairs to `[depth][32]` floats.
pub(super) fn widen(words: &[u32], to: &mut [f32]) {
    for (words, rows) in words.chunks_exact(PANEL).zip(to.chunks_mut(2 * PANEL)) {
        let (even, odd) = rows.split_at_mut(PANEL);
        for (x, word) in even.iter_mut().zip(words) {
            *x = unpair(*word)[0];
        }
        // `odd` is empty at the end of an odd inner axis.
        for (x, word) in odd.iter_mut().zip(words) {
            *x = unpair(*word)[1];
        }
    }
}

pub fn available() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        let base = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx2");
        base && is_x86_feature_detected!("fma") && is_x86_feature_detected!("avx512bf16")
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// A right operand in bf16. A value of this type proves that the processor has the instructions.
#[derive(Clone, Copy)]
pub(super) struct Pairs<'a> {
    words: &'a [u32],
    deep: usize,
    panel: usize,
}

impl<'a> Pairs<'a> {
    /// Wraps panels of `depth.div_ceil(2) * 32` words, `panel` words apart; `None` if the processor lacks the instructions.
    pub(crate) fn new(words: &'a [u32], depth: usize, panel: usize) -> Option<Self> {
        available().then_some(Pairs { words, deep: depth.div_ceil(2), panel })
    }

    /// Number of pairs along the inner axis.
    pub(crate) fn deep(&self) -> usize {
        self.deep
    }

    #[inline]
    pub(crate) fn round(&self, from: &[f32], to: &mut [u32]) {
        assert!(from.len().div_ceil(2) == to.len(), "numbers of pairs differ");
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `self` proves that the processor has the instructions.
        unsafe {
            x86::round(from, to);
        }
    }

    /// Multiplies rows of pairs (at most 14) by panel `p`.
    #[inline]
    pub(crate) fn multiply(&self, p: usize, rows: &[u32], sums: &mut Sums) {
        let panel = &self.words[p * self.panel..][..self.deep * PANEL];
        #[cfg(target_arch = "x86_64")]
        x86::multiply(panel, rows, self.deep, sums);
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (panel, rows, sums);
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {

    use std::arch::x86_64::*;

    use super::{PANEL, Sums, pair};
    use crate::simd::LANE;
    use crate::tile::MAX_ROWS;

    /// Rounds sixteen floats at a time, then the remaining ones one by one.
    #[target_feature(enable = "avx512f,avx512bf16")]
    pub(crate) fn round(from: &[f32], to: &mut [u32]) {
        let (chunks, rest) = from.as_chunks::<LANE>();
        let (words, left) = to.split_at_mut(chunks.len() * LANE / 2);
        for (x, word) in chunks.iter().zip(words.chunks_exact_mut(LANE / 2)) {
            // SAFETY: the code reads sixteen floats and writes eight words, both in bounds; neither access needs alignment.
            unsafe {
                let halves: __m256i = std::mem::transmute(_mm512_cvtneps_pbh(_mm512_loadu_ps(x.as_ptr())));
                _mm256_storeu_si256(word.as_mut_ptr().cast(), halves);
            }
        }
        for (x, word) in rest.chunks(2).zip(left) {
            *word = pair(x[0], x.get(1).copied().unwrap_or(0.0));
        }
    }

    type TileFn = unsafe fn(usize, *const u32, *const u32, &mut Sums);

    /// Multiplies `rows`, up to [`MAX_ROWS`] rows of `deep` words, by `panel`, `deep` rows of 32 words.
    pub(crate) fn multiply(panel: &[u32], rows: &[u32], deep: usize, sums: &mut Sums) {
        const TILES: [TileFn; MAX_ROWS] = [
            tile::<1>, tile::<2>, tile::<3>, tile::<4>, tile::<5>, tile::<6>, tile::<7>, tile::<8>, tile::<9>,
            tile::<10>, tile::<11>, tile::<12>, tile::<13>, tile::<14>,
        ];
        assert!(panel.len() == deep * PANEL && rows.len().is_multiple_of(deep), "operands do not fit");
        // SAFETY: both slices contain what the tile reads; `super::Pairs` exists only if the instructions do.
        unsafe { TILES[rows.len() / deep - 1](deep, rows.as_ptr(), panel.as_ptr(), sums) }
    }

    /// Multiplies `M` rows by one panel.
    ///
    /// # Safety
    /// `M * deep` words must be readable at `a` and `32 * deep` at `b`; the processor must have the instructions.
    #[target_feature(enable = "avx512f,avx512bf16")]
    unsafe fn tile<const M: usize>(deep: usize, a: *const u32, b: *const u32, out: &mut Sums) {
        let mut sums = [[_mm512_setzero_ps(); 2]; M];
        for k in 0..deep {
            // SAFETY: k < deep, so the caller guarantees 32 readable words there. The transmutes only reinterpret 512-bit vectors.
            let across: [__m512bh; 2] = unsafe {
                let b = b.add(k * PANEL);
                [
                    std::mem::transmute::<__m512i, __m512bh>(_mm512_loadu_si512(b.cast())),
                    std::mem::transmute::<__m512i, __m512bh>(_mm512_loadu_si512(b.add(LANE).cast())),
                ]
            };
            for (i, row) in sums.iter_mut().enumerate() {
                // SAFETY: i < M and k < deep, so the word is readable; the transmute is as above.
                let x: __m512bh =
                    unsafe { std::mem::transmute(_mm512_set1_epi32((*a.add(i * deep + k)).cast_signed())) };
                row[0] = _mm512_dpbf16_ps(row[0], x, across[0]);
                row[1] = _mm512_dpbf16_ps(row[1], x, across[1]);
            }
        }
        for (row, out) in sums.iter().zip(&mut out.0) {
            // SAFETY: a row of `out` is 32 floats.
            unsafe {
                _mm512_storeu_ps(out.as_mut_ptr(), row[0]);
                _mm512_storeu_ps(out.as_mut_ptr().add(LANE), row[1]);
            }
        }
    }
}
