//! The threads that run one operation: the calling thread alone, or the whole pool.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::ops::Range;

use rayon::prelude::*;

/// The threads that share one operation. How the work is divided never changes a result, because each number is computed by one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Team {
    /// Only the calling thread; the other threads process other sentences.
    Solo,
    /// Every thread of the pool.
    Pool,
}

impl Team {
    #[inline]
    pub fn threads(self) -> usize {
        match self {
            Team::Solo => 1,
            Team::Pool => rayon::current_num_threads(),
        }
    }

    /// Calls `f(0)` to `f(tasks - 1)` once each.
    pub fn each(self, tasks: usize, f: impl Fn(usize) + Send + Sync) {
        match self {
            Team::Pool if tasks > 1 => (0..tasks).into_par_iter().with_max_len(1).for_each(f),
            _ => (0..tasks).for_each(f),
        }
    }

    /// Divides `0..n` into nearly equal ranges of at least `least` and calls `f` for each.
    pub fn ranges(self, n: usize, least: usize, f: impl Fn(Range<usize>) + Send + Sync) {
        let parts = (n / least.max(1)).clamp(1, self.threads() * 3);
        self.each(parts, |i| f(part(n, parts, i)));
    }
}

/// The `i`-th of `parts` nearly equal parts of `0..n`.
#[inline]
pub fn part(n: usize, parts: usize, i: usize) -> Range<usize> {
    n * i / parts..n * (i + 1) / parts
}

/// A mutable slice to which several threads write, each to different elements.
pub(super) struct Shared<'a> {
    start: *mut f32,
    len: usize,
    slice: PhantomData<&'a mut [f32]>,
}

// SAFETY: this is a `&mut [f32]` in parts; the thread that takes a part guarantees that no other thread has it.
unsafe impl Send for Shared<'_> {}
// SAFETY: parts accessed by different threads are disjoint, as explained for `Send`.
unsafe impl Sync for Shared<'_> {}

impl<'a> Shared<'a> {
    pub(crate) fn new(slice: &'a mut [f32]) -> Self {
        Shared { start: slice.as_mut_ptr(), len: slice.len(), slice: PhantomData }
    }

    /// The elements in `at`.
    ///
    /// # Safety
    /// No element may be in two parts at the same time.
    #[allow(clippy::mut_from_ref)]
    pub(crate) unsafe fn part(&self, at: Range<usize>) -> &mut [f32] {
        assert!(at.start <= at.end && at.end <= self.len, "{at:?} of {}", self.len);
        // SAFETY: the part is in bounds by the assertion, exclusive by the caller's guarantee, and valid for 'a.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(at.start), at.len()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn every_index_is_visited_once() {
        for team in [Team::Solo, Team::Pool] {
            for (n, least) in [(0, 4), (1, 4), (7, 3), (100, 1), (100, 1000), (5, 0)] {
                let seen: Vec<AtomicU32> = (0..n).map(|_| AtomicU32::new(0)).collect();
                team.ranges(n, least, |r| {
                    r.for_each(|i| {
                        seen[i].fetch_add(1, Ordering::Relaxed);
                    })
                });
                assert!(seen.iter().all(|c| c.load(Ordering::Relaxed) == 1), "{team:?} {n} {least}");
            }
        }
    }
}
