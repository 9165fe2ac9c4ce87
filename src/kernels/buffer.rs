//! Reusable memory, aligned to cache lines.
#![allow(unsafe_code)]

use super::simd::LANE;

#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Line([f32; LANE]);

/// A growable array of floats, aligned to a cache line. It never shrinks, so repeated work does not allocate.
#[derive(Debug, Default)]
pub struct Buffer {
    lines: Vec<Line>,
    len: usize,
}

impl Buffer {
    /// Resizes to `len` floats: earlier contents followed by zeros.
    #[inline]
    pub fn sized(&mut self, len: usize) -> &mut [f32] {
        let lines = len.div_ceil(LANE);
        if lines > self.lines.len() {
            // An exact reservation keeps memory use predictable.
            self.lines.reserve_exact(lines - self.lines.len());
            self.lines.resize(lines, Line([0.0; LANE]));
        }
        self.len = len;
        self.as_mut()
    }

    pub fn zeroed(&mut self, len: usize) -> &mut [f32] {
        let all = self.sized(len);
        all.fill(0.0);
        all
    }

    /// Resizes to `len` words: earlier contents followed by zeros.
    pub fn words(&mut self, len: usize) -> &mut [u32] {
        self.sized(len);
        // SAFETY: the same memory as in `as_mut`; every 32-bit pattern is a valid word and a valid float.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.len) }
    }

    #[inline]
    pub(crate) fn as_words(&self) -> &[u32] {
        // SAFETY: same memory and bounds as in `words`.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.len) }
    }

    /// The same memory as f16 numbers, two per word.
    #[inline]
    pub(crate) fn as_halves(&self) -> &[half::f16] {
        // SAFETY: as in `words`; `f16` is 16 bits without padding, and every pattern is valid.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), 2 * self.len) }
    }

    #[inline]
    pub fn bytes(&self) -> usize {
        self.lines.capacity() * size_of::<Line>()
    }
}

impl AsRef<[f32]> for Buffer {
    #[inline]
    fn as_ref(&self) -> &[f32] {
        // SAFETY: `Line` is sixteen floats without padding (64 bytes, aligned to 64) and `len <= 16 lines.len()`.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.len) }
    }
}

impl AsMut<[f32]> for Buffer {
    #[inline]
    fn as_mut(&mut self) -> &mut [f32] {
        // SAFETY: as in `as_ref`; access is exclusive because `self` is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffer_keeps_memory_and_alignment() {
        let mut b = Buffer::default();
        assert!(b.as_ref().is_empty());
        b.sized(100).fill(2.0);
        let (at, bytes) = (b.as_ref().as_ptr(), b.bytes());
        assert_eq!(at as usize % 64, 0);
        assert_eq!(b.sized(7), [2.0; 7]);
        assert_eq!(b.zeroed(90), [0.0; 90]);
        assert_eq!((b.as_ref().as_ptr(), b.bytes()), (at, bytes));
        assert_eq!(b.sized(1000).len(), 1000);
        assert_eq!(b.as_ref()[90..100], [2.0; 10]);
    }
}
