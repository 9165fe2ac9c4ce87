//! Random streams, derived from one seed and the name of a purpose.
//!
//! A seed in a spec must give the same numbers forever, on every machine, regardless of what else the program draws. Hence each purpose has
//! a separate stream, and the functions here, not a library version, turn raw words into indices and permutations. They and the derivation
//! are **stable**: changing them changes published results.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use sha2::{Digest, Sha256};

/// The stream of `purpose` under `seed`: ChaCha8 keyed with SHA-256 of `"probity stream 1"`, a zero byte, the seed (8 bytes, little endian)
/// and the purpose in UTF-8. Streams of different purposes are independent.
pub fn stream(seed: u64, purpose: &str) -> ChaCha8Rng {
    let mut hash = Sha256::new();
    hash.update(b"probity stream 1\0");
    hash.update(seed.to_le_bytes());
    hash.update(purpose.as_bytes());
    ChaCha8Rng::from_seed(hash.finalize().into())
}

/// An unbiased uniform index in `0..bound` (Lemire, "Fast random integer generation in an interval", 2019).
///
/// # Panics
/// If `bound` is 0.
pub fn below(rng: &mut impl Rng, bound: u32) -> u32 {
    assert!(bound > 0, "`bound` must be above 0");
    let mut product = u64::from(rng.next_u32()) * u64::from(bound);
    if (product as u32) < bound {
        let threshold = bound.wrapping_neg() % bound;
        while (product as u32) < threshold {
            product = u64::from(rng.next_u32()) * u64::from(bound);
        }
    }
    (product >> 32) as u32
}

/// A uniform number in [0, 1) with 53 random bits.
pub fn unit(rng: &mut impl Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// Shuffles `items` uniformly (Fisher-Yates, from the end).
pub fn shuffle<T>(rng: &mut impl Rng, items: &mut [T]) {
    for last in (1..items.len()).rev() {
        items.swap(last, below(rng, last as u32 + 1) as usize);
    }
}

/// Draws `count` of the indices `0..n` without replacement, in ascending order; all of them if `count >= n`.
pub fn sample_indices(rng: &mut impl Rng, n: usize, count: usize) -> Vec<usize> {
    let mut all: Vec<usize> = (0..n).collect();
    if count < n {
        for i in 0..count {
            let j = i + below(rng, (n - i) as u32) as usize;
            all.swap(i, j);
        }
        all.truncate(count);
        all.sort_unstable();
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frozen: if this changes, every published number made with a seed changes.
    #[test]
    fn streams_are_stable() {
        let mut rng = stream(7, "split");
        let words: Vec<u32> = (0..4).map(|_| rng.next_u32()).collect();
        assert_eq!(words, STABLE);
        let mut order: Vec<u32> = (0..8).collect();
        shuffle(&mut stream(7, "order"), &mut order);
        assert_eq!(order, STABLE_ORDER);
    }

    const STABLE: [u32; 4] = [3283632766, 703731985, 1106734925, 3207436786];
    const STABLE_ORDER: [u32; 8] = [3, 4, 2, 5, 0, 6, 7, 1];

    #[test]
    fn purposes_and_seeds_differ() {
        let first = |seed, purpose| stream(seed, purpose).next_u64();
        assert_ne!(first(1, "a"), first(1, "b"));
        assert_ne!(first(1, "a"), first(2, "a"));
        assert_eq!(first(1, "a"), first(1, "a"));
    }

    #[test]
    fn below_is_uniform() {
        let mut rng = stream(0, "below");
        let mut counts = [0u32; 7];
        for _ in 0..70_000 {
            counts[below(&mut rng, 7) as usize] += 1;
        }
        // Six standard deviations of Binomial(70000, 1/7) are 555.
        assert!(counts.iter().all(|c| c.abs_diff(10_000) < 555), "{counts:?}");
    }

    #[test]
    fn samples_are_distinct_and_sorted() {
        let drawn = sample_indices(&mut stream(3, "sample"), 50, 20);
        assert_eq!(drawn.len(), 20);
        assert!(drawn.windows(2).all(|w| w[0] < w[1]) && drawn[19] < 50);
        assert_eq!(sample_indices(&mut stream(3, "sample"), 3, 9), vec![0, 1, 2]);
    }
}
