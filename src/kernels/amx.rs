//! Products in bf16 on the processor's tile unit (AMX): sixteen rows by sixteen columns per instruction.
//!
//! A step multiplies 32 inner indices. In each step, the instruction sums even and odd indices separately and then adds both to the f32
//! sum. A row's result therefore does not depend on its neighbours, but its last bits can differ from the result of vector instructions.
//! The unit reads panels of [`Packed`](super::packed::Packed) in place; a left operand is rounded into tiles. This module uses assembly,
//! because Rust has no stable intrinsics for AMX.
#![allow(unsafe_code)]

use std::marker::PhantomData;

use super::buffer::Buffer;
use super::tile::PANEL;

/// Rows per tile, columns per tile, and words (pairs of inner indices) per row.
pub(super) const TILE: usize = 16;
/// Number of rows of the largest block: two tiles per panel.
pub(super) const ROWS: usize = 2 * TILE;

/// A finished block of sums, row by row.
#[repr(C, align(64))]
pub(super) struct Block(pub [[f32; PANEL]; ROWS]);

impl Block {
    pub(crate) const ZERO: Block = Block([[0.0; PANEL]; ROWS]);
}

/// True if the processor has the unit and the operating system permits its use. The check is done once.
pub(crate) fn available() -> bool {
    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    {
        static ASKED: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
        *ASKED.get_or_init(|| super::bf16::available() && x86::has_unit() && x86::permitted())
    }
    #[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
    false
}

/// A right operand in bf16. A value of this type proves that the unit may be used.
#[derive(Clone, Copy)]
pub(super) struct Tiles<'a> {
    words: &'a [u32],
    deep: usize,
    panel: usize,
}

/// Proof that this thread's tiles are configured; releases the unit when dropped.
pub(super) struct Configured(PhantomData<*const ()>);

impl Drop for Configured {
    fn drop(&mut self) {
        #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
        x86::release();
    }
}

impl<'a> Tiles<'a> {
    /// Wraps panels of `depth.div_ceil(2) * 32` words, `panel` words apart; `None` if the unit cannot be used.
    pub(crate) fn new(words: &'a [u32], depth: usize, panel: usize) -> Option<Self> {
        available().then_some(Tiles { words, deep: depth.div_ceil(2), panel })
    }

    /// Number of words that `rows` rows of a left operand occupy as tiles.
    pub(crate) fn left_words(&self, rows: usize) -> usize {
        rows.div_ceil(TILE) * self.tile_row()
    }

    /// Number of words in a row of tiles (sixteen rows of the operand).
    pub(crate) fn tile_row(&self) -> usize {
        self.deep.div_ceil(TILE) * TILE * TILE
    }

    /// Rounds row `i` of a left operand into its tiles, zero-padded.
    #[inline]
    pub(crate) fn round(&self, i: usize, from: &[f32], to: &mut [u32]) {
        assert!(from.len().div_ceil(2) == self.deep, "wrong number of pairs");
        let tiles = &mut to[i / TILE * self.tile_row()..][..self.tile_row()];
        #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
        // SAFETY: `self` proves that the processor has the instructions.
        unsafe {
            x86::round(from, i % TILE, tiles);
        }
        #[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
        let _ = tiles;
    }

    /// Configures this thread's tiles. Products can be computed while the returned value exists.
    pub(crate) fn configure(&self) -> Configured {
        #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
        // SAFETY: `self` proves that the unit may be used.
        unsafe {
            x86::configure();
        }
        Configured(PhantomData)
    }

    /// Panel `p` as whole steps: in place, or copied and zero-padded if the inner axis ends within a step.
    pub(crate) fn panel<'b>(&'b self, p: usize, copy: &'b mut Buffer) -> &'b [u32] {
        let panel = &self.words[p * self.panel..][..self.deep * PANEL];
        if self.deep.is_multiple_of(TILE) {
            return panel;
        }
        let to = copy.words(self.deep.next_multiple_of(TILE) * PANEL);
        to[..panel.len()].copy_from_slice(panel);
        to[panel.len()..].fill(0);
        to
    }

    /// Multiplies one or two rows of tiles by a panel from [`Tiles::panel`].
    #[inline]
    pub(crate) fn multiply(&self, _: &Configured, panel: &[u32], rows: &[u32], block: &mut Block) {
        let steps = self.deep.div_ceil(TILE);
        let two = rows.len() == 2 * self.tile_row();
        assert!(two || rows.len() == self.tile_row(), "not a whole number of tiles");
        assert!(panel.len() == steps * TILE * PANEL && steps > 0, "wrong panel depth");
        #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
        // SAFETY: `self` and `Configured` prove that the unit may be used and is configured on this thread; the assertions prove that every
        // operand has `steps` tiles.
        unsafe {
            if two {
                x86::two(steps, rows.as_ptr(), panel.as_ptr(), block);
            } else {
                x86::one(steps, rows.as_ptr(), panel.as_ptr(), block);
            }
        }
        #[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
        let _ = (two, block);
    }
}

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod x86 {
    //! The instructions, and the system call that requests permission to use them.

    use std::arch::asm;
    use std::arch::x86_64::{
        __cpuid_count, __get_cpuid_max, __m256i, _mm256_storeu_si256, _mm512_cvtneps_pbh, _mm512_loadu_ps, _xgetbv,
    };

    use super::{Block, PANEL, TILE};

    /// Extended state bits for tile configuration and tile data.
    const STATE: u64 = 0b11 << 17;
    /// `ARCH_REQ_XCOMP_PERM` of `arch_prctl(2)`, and the component to request (tile data).
    const REQUEST: (libc::c_ulong, libc::c_ulong) = (0x1023, 18);

    /// CPUID leaf 7: AMX-TILE and AMX-BF16.
    pub(crate) fn has_unit() -> bool {
        const NEEDED: u32 = 1 << 24 | 1 << 22;
        // AVX-512 was detected before, so XGETBV exists.
        __get_cpuid_max(0).0 >= 7 && __cpuid_count(7, 0).edx & NEEDED == NEEDED && saved()
    }

    /// True if the operating system saves the tiles of a thread.
    fn saved() -> bool {
        #[target_feature(enable = "xsave")]
        fn state() -> u64 {
            // SAFETY: register 0 exists on every processor that has the instruction.
            unsafe { _xgetbv(0) }
        }
        // SAFETY: the instruction is detected on the same line.
        is_x86_feature_detected!("xsave") && unsafe { state() } & STATE == STATE
    }

    /// Requests the unit for all threads of the process; returns false if the kernel is too old or refuses.
    pub(crate) fn permitted() -> bool {
        // SAFETY: the call takes two numbers and changes only this process's permissions.
        unsafe { libc::syscall(libc::SYS_arch_prctl, REQUEST.0, REQUEST.1) == 0 }
    }

    /// The operand of `ldtilecfg`: palette 1, then the bytes per row and the number of rows of each tile.
    #[repr(C, align(64))]
    struct Config {
        palette: u8,
        start_row: u8,
        reserved: [u8; 14],
        row_bytes: [u16; 16],
        rows: [u8; 16],
    }

    static CONFIG: Config = {
        let (mut row_bytes, mut rows) = ([0; 16], [0; 16]);
        let mut tile = 0;
        while tile < 8 {
            (row_bytes[tile], rows[tile]) = (4 * TILE as u16, TILE as u8);
            tile += 1;
        }
        Config { palette: 1, start_row: 0, reserved: [0; 14], row_bytes, rows }
    };

    /// # Safety
    /// The unit must exist and be permitted.
    pub(crate) unsafe fn configure() {
        // SAFETY: reads the 64 bytes of a valid configuration; the compiler itself uses no tiles.
        unsafe {
            asm!("ldtilecfg [{}]", in(reg) &raw const CONFIG, options(nostack, readonly, preserves_flags),
                out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _);
        }
    }

    /// Releases the tiles. It is called only after [`configure`], so the instruction exists.
    pub(crate) fn release() {
        // SAFETY: the instruction touches no memory, and nothing else uses tiles.
        unsafe {
            asm!("tilerelease", options(nostack, nomem, preserves_flags),
                out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _);
        }
    }

    /// Rounds a row; each group of 32 numbers goes to row `i` of the next tile.
    #[target_feature(enable = "avx512f,avx512bf16")]
    pub(crate) fn round(from: &[f32], i: usize, tiles: &mut [u32]) {
        let (whole, rest) = from.as_chunks::<{ 2 * TILE }>();
        let mut last = [0.0; 2 * TILE];
        last[..rest.len()].copy_from_slice(rest);
        let rows = tiles.chunks_exact_mut(TILE * TILE).map(|t| &mut t[i * TILE..][..TILE]);
        for (x, to) in whole.iter().chain([&last]).zip(rows) {
            for half in 0..2 {
                // SAFETY: the code reads sixteen floats and writes eight words, all within the slices; neither access needs alignment.
                unsafe {
                    let x = _mm512_cvtneps_pbh(_mm512_loadu_ps(x.as_ptr().add(TILE * half)));
                    let x: __m256i = std::mem::transmute(x);
                    _mm256_storeu_si256(to.as_mut_ptr().add(TILE / 2 * half).cast(), x);
                }
            }
        }
    }

    /// Bytes per row of a panel or block.
    const PANEL_ROW: usize = 4 * PANEL;
    /// Bytes per tile row of the left operand.
    const TILE_ROW: usize = 4 * TILE;

    /// Multiplies 32 rows by 32 columns.
    ///
    /// # Safety
    /// Tiles must be configured. `a` must point to two consecutive rows of tiles, each of `steps > 0` readable tiles, and `b` to `steps *
    /// 16` readable panel rows.
    pub(crate) unsafe fn two(steps: usize, a: *const u32, b: *const u32, out: &mut Block) {
        let below = a.wrapping_add(steps * TILE * TILE);
        // SAFETY: the code reads tiles of 16 rows of 64 bytes, whose readability the caller guarantees, and writes the four tiles of the
        // block.
        unsafe {
            asm!(
                "tilezero tmm0", "tilezero tmm1", "tilezero tmm2", "tilezero tmm3",
                "2:",
                "tileloadd tmm6, [{b} + {wide}]",
                "tileloadd tmm4, [{a} + {narrow}]",
                "tileloadd tmm7, [{b} + {wide} + 64]",
                "tdpbf16ps tmm0, tmm4, tmm6",
                "tileloadd tmm5, [{below} + {narrow}]",
                "tdpbf16ps tmm1, tmm4, tmm7",
                "tdpbf16ps tmm2, tmm5, tmm6",
                "tdpbf16ps tmm3, tmm5, tmm7",
                "add {a}, 1024", "add {below}, 1024", "add {b}, 2048",
                "dec {steps}",
                "jnz 2b",
                "tilestored [{out} + {wide}], tmm0",
                "tilestored [{out} + {wide} + 64], tmm1",
                "tilestored [{out} + {wide} + 2048], tmm2",
                "tilestored [{out} + {wide} + 2112], tmm3",
                a = inout(reg) a => _, below = inout(reg) below => _, b = inout(reg) b => _, steps = inout(reg) steps => _,
                wide = in(reg) PANEL_ROW, narrow = in(reg) TILE_ROW, out = in(reg) out.0.as_mut_ptr(),
                options(nostack),
                out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
            );
        }
    }

    /// Multiplies 16 rows by 32 columns, with the same sums as [`two`].
    ///
    /// # Safety
    /// Same requirements as [`two`], except that `a` points to one row of tiles.
    pub(crate) unsafe fn one(steps: usize, a: *const u32, b: *const u32, out: &mut Block) {
        // SAFETY: as in `two`; only the upper half of the block is written.
        unsafe {
            asm!(
                "tilezero tmm0", "tilezero tmm1",
                "2:",
                "tileloadd tmm4, [{a} + {narrow}]",
                "tileloadd tmm6, [{b} + {wide}]",
                "tileloadd tmm7, [{b} + {wide} + 64]",
                "tdpbf16ps tmm0, tmm4, tmm6",
                "tdpbf16ps tmm1, tmm4, tmm7",
                "add {a}, 1024", "add {b}, 2048",
                "dec {steps}",
                "jnz 2b",
                "tilestored [{out} + {wide}], tmm0",
                "tilestored [{out} + {wide} + 64], tmm1",
                a = inout(reg) a => _, b = inout(reg) b => _, steps = inout(reg) steps => _,
                wide = in(reg) PANEL_ROW, narrow = in(reg) TILE_ROW, out = in(reg) out.0.as_mut_ptr(),
                options(nostack),
                out("tmm0") _, out("tmm1") _, out("tmm4") _, out("tmm6") _, out("tmm7") _,
            );
        }
    }
}
