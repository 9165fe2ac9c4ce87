//! Stratified samples from streams, drawn with a seed in one pass and bounded memory.
//!
//! Each stratum has a reservoir (Vitter 1985, algorithm R) and a random stream named after it, so the rows drawn from a stratum depend only
//! on the seed and the stratum's rows. Splits are in `probe::split`, and the largest uncorrelated subset is in `probe::decorrelate`.

use std::collections::BTreeMap;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;

use stats::rng::stream;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Allocation {
    /// Equally many rows from each stratum, or all rows of a stratum that has fewer.
    Balanced,
    /// Rows in proportion to the size of each stratum, rounded by the largest-remainder method.
    Proportional,
}

struct Stratum<T> {
    seen: u64,
    /// Rows with their positions in the stream.
    kept: Vec<(u64, T)>,
    rng: ChaCha8Rng,
}

/// Draws a sample of `size` rows from a stream.
pub(crate) struct Sampler<T> {
    size: usize,
    seed: u64,
    position: u64,
    strata: BTreeMap<String, Stratum<T>>,
}

impl<T> Sampler<T> {
    /// Creates a sampler of `size` rows. Until it is finished, it stores up to `size` rows of every stratum.
    pub(crate) fn new(size: usize, seed: u64) -> Self {
        Self { size, seed, position: 0, strata: BTreeMap::new() }
    }

    /// Offers the next row of a stratum; `row` is called only if the row is stored.
    pub(crate) fn add(&mut self, stratum: &str, row: impl FnOnce() -> T) {
        let position = self.position;
        self.position += 1;
        if !self.strata.contains_key(stratum) {
            let rng = stream(self.seed, &format!("sample {stratum}"));
            self.strata.insert(stratum.to_owned(), Stratum { seen: 0, kept: Vec::new(), rng });
        }
        let Some(s) = self.strata.get_mut(stratum) else { return };
        s.seen += 1;
        if s.kept.len() < self.size {
            s.kept.push((position, row()));
        } else {
            let at = below(&mut s.rng, s.seen);
            if let Some(slot) = usize::try_from(at).ok().and_then(|at| s.kept.get_mut(at)) {
                *slot = (position, row());
            }
        }
    }

    /// Returns the sample in stream order: `size` rows, or all rows if there are fewer.
    pub(crate) fn finish(self, allocation: Allocation) -> Vec<T> {
        let sizes: Vec<u64> = self.strata.values().map(|s| s.seen).collect();
        let shares = match allocation {
            Allocation::Balanced => balanced(&sizes, self.size as u64),
            Allocation::Proportional => proportional(&sizes, self.size as u64),
        };
        let mut drawn: Vec<(u64, T)> = Vec::with_capacity(self.size);
        for (mut s, share) in self.strata.into_values().zip(shares) {
            // The order of a reservoir is not random. A prefix of the shuffled reservoir is a uniform sample.
            for last in (1..s.kept.len()).rev() {
                let at = below(&mut s.rng, last as u64 + 1) as usize;
                s.kept.swap(last, at);
            }
            drawn.extend(s.kept.into_iter().take(share as usize));
        }
        drawn.sort_by_key(|(position, _)| *position);
        drawn.into_iter().map(|(_, row)| row).collect()
    }
}

/// Draws a uniform number in `0..bound` by rejection; `bound` must be at least 1.
fn below(rng: &mut impl Rng, bound: u64) -> u64 {
    let limit = u64::MAX - u64::MAX % bound;
    loop {
        let word = rng.next_u64();
        if word < limit {
            return word % bound;
        }
    }
}

/// Returns shares that are as equal as the sizes allow. Their sum is `total`, or the sum of sizes if that is smaller.
fn balanced(sizes: &[u64], total: u64) -> Vec<u64> {
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|k| sizes[*k]);
    let (mut left, mut shares) = (total, vec![0; sizes.len()]);
    // Starts with the smallest stratum, so that larger ones can compensate for it.
    for (done, k) in order.iter().enumerate() {
        shares[*k] = (left / (sizes.len() - done) as u64).min(sizes[*k]);
        left -= shares[*k];
    }
    shares
}

/// Returns shares in proportion to the sizes. Their sum is `total`, or the sum of sizes if that is smaller.
fn proportional(sizes: &[u64], total: u64) -> Vec<u64> {
    let all: u64 = sizes.iter().sum();
    let total = total.min(all);
    let exact = |n: u64| u128::from(n) * u128::from(total);
    let all_wide = u128::from(all.max(1));
    let mut shares: Vec<u64> = sizes.iter().map(|n| (exact(*n) / all_wide) as u64).collect();
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|k| std::cmp::Reverse(exact(sizes[*k]) % all_wide));
    let missing = total - shares.iter().sum::<u64>();
    for k in order.into_iter().take(missing as usize) {
        shares[k] += 1;
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn draw(strata: &[u8], size: usize, seed: u64, allocation: Allocation) -> Vec<(u8, usize)> {
        let mut sampler = Sampler::new(size, seed);
        for (k, s) in strata.iter().enumerate() {
            sampler.add(&s.to_string(), || (*s, k));
        }
        sampler.finish(allocation)
    }

    fn count(rows: &[u8], stratum: u8) -> usize {
        rows.iter().filter(|s| **s == stratum).count()
    }

    proptest! {
        #[test]
        fn samples_have_the_requested_size_in_stream_order(
            strata in proptest::collection::vec(0u8..4, 0..200), size in 0usize..80, seed: u64, even: bool,
        ) {
            let allocation = if even { Allocation::Balanced } else { Allocation::Proportional };
            let drawn = draw(&strata, size, seed, allocation);
            prop_assert_eq!(drawn.len(), size.min(strata.len()));
            prop_assert!(drawn.windows(2).all(|w| w[0].1 < w[1].1));
            prop_assert!(drawn.iter().all(|(s, k)| strata[*k] == *s));
            prop_assert_eq!(&drawn, &draw(&strata, size, seed, allocation));
        }

        #[test]
        fn strata_keep_their_proportions(strata in proptest::collection::vec(0u8..4, 1..200), size in 1usize..80, seed: u64) {
            let of = |rows: &[(u8, usize)]| rows.iter().map(|r| r.0).collect::<Vec<u8>>();
            let balanced = of(&draw(&strata, size, seed, Allocation::Balanced));
            for (a, b) in [(0, 1), (1, 2), (2, 3), (3, 0)] {
                // A stratum contributes fewer rows than another only if it is exhausted.
                let (x, y) = (count(&balanced, a), count(&balanced, b));
                prop_assert!(x + 1 >= y || x == count(&strata, a), "{} {}", x, y);
            }
            let fair = of(&draw(&strata, size, seed, Allocation::Proportional));
            for s in 0..4 {
                let exact = (size.min(strata.len()) * count(&strata, s)) as f64 / strata.len() as f64;
                prop_assert!((count(&fair, s) as f64 - exact).abs() < 1.0);
            }
        }

        #[test]
        fn stratum_draw_depends_only_on_its_rows(rows in proptest::collection::vec(0u8..3, 1..100), seed: u64) {
            let full = |strata: &[u8]| -> Vec<usize> {
                let mut seen = 0;
                let mut sampler = Sampler::new(5, seed);
                for s in strata {
                    let k = seen;
                    seen += usize::from(*s == 0);
                    sampler.add(&s.to_string(), || (*s, k));
                }
                sampler.strata.get("0").map_or(Vec::new(), |s| s.kept.iter().map(|(_, r)| r.1).collect())
            };
            let alone: Vec<u8> = rows.iter().copied().filter(|s| *s == 0).collect();
            prop_assert_eq!(full(&rows), full(&alone));
        }
    }

    #[test]
    fn rows_are_drawn_uniformly() {
        let mut counts = [0u32; 40];
        for seed in 0..4_000 {
            for (_, k) in draw(&[0; 40], 10, seed, Allocation::Balanced) {
                counts[k] += 1;
            }
        }
        // The expected count is 1,000; six standard deviations of Binomial(4000, 1/4) are 164.
        assert!(counts.iter().all(|c| c.abs_diff(1_000) < 164), "{counts:?}");
    }
}
