//! Counts hits of many rare events in one pass; bit-identical to drawing one by one from the same stream.

use rand_chacha::rand_core::Rng;

/// Number of draws per batch.
const TOGETHER: usize = 64;

/// Probabilities given as `hits / all`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Chances {
    /// The denominators.
    all: Vec<u32>,
    /// The smallest raw word that misses: `below(rng, all) < hits` is equivalent to word < hits × 2³² / all.
    limits: Vec<u32>,
}

impl Chances {
    /// Adds an event with probability `hits / all`.
    ///
    /// # Panics
    /// If the probability is 0 or 1.
    pub fn push(&mut self, hits: u32, all: u32) {
        assert!(0 < hits && hits < all, "{hits} in {all} must be between 0 and 1");
        self.all.push(all);
        self.limits.push((u64::from(hits) << 32).div_ceil(u64::from(all)) as u32);
    }

    /// Draws every event in order and returns how many occur, that is, have [`below`](super::rng::below)`(rng, all) < hits`. The result
    /// for a seed is **stable**.
    pub fn drawn(&self, rng: &mut impl Rng) -> usize {
        let (mut bytes, mut words, mut count) = ([0u8; 4 * TOGETHER], [0u32; TOGETHER], 0);
        for (all, limits) in self.all.chunks(TOGETHER).zip(self.limits.chunks(TOGETHER)) {
            let (bytes, words) = (&mut bytes[..4 * all.len()], &mut words[..all.len()]);
            rng.fill_bytes(bytes);
            for (word, four) in words.iter_mut().zip(bytes.as_chunks::<4>().0) {
                *word = u32::from_le_bytes(*four);
            }
            let (mut hits, mut doubts) = (0, 0);
            for ((word, all), limit) in words.iter().zip(all).zip(limits) {
                hits += u32::from(word < limit);
                doubts |= u32::from(word.wrapping_mul(*all) < *all);
            }
            // `below` may reject a word (probability about all / 2³²) to keep the draws uniform.
            count += if doubts == 0 { hits as usize } else { one_by_one(all, limits, words, rng) };
        }
        count
    }
}

/// The slow path, where a word may be rejected. `words` contains the words that have already been drawn.
fn one_by_one(all: &[u32], limits: &[u32], words: &[u32], rng: &mut impl Rng) -> usize {
    let mut drawn = words.iter().copied();
    let mut hit = |all: u32, limit: u32| loop {
        let word = drawn.next().unwrap_or_else(|| rng.next_u32());
        if word.wrapping_mul(all) >= all.wrapping_neg() % all {
            return word < limit;
        }
    };
    all.iter().zip(limits).filter(|(all, limit)| hit(**all, **limit)).count()
}

#[cfg(test)]
mod tests {
    // The prelude exports a trait with the same name as the stream's.
    use proptest::prelude::{Just, Strategy, prop, prop_assert_eq, proptest};

    use rand_chacha::rand_core::{Infallible, TryRng};

    use super::super::rng::{below, stream};
    use super::*;

    /// Returns the given words first, then those of a stream.
    struct Said<R>(std::vec::IntoIter<u32>, R);

    impl<R: Rng> TryRng for Said<R> {
        type Error = Infallible;

        fn try_next_u32(&mut self) -> Result<u32, Infallible> {
            Ok(self.0.next().unwrap_or_else(|| self.1.next_u32()))
        }

        fn try_next_u64(&mut self) -> Result<u64, Infallible> {
            Ok(self.1.next_u64())
        }

        fn try_fill_bytes(&mut self, to: &mut [u8]) -> Result<(), Infallible> {
            to.chunks_mut(4).for_each(|four| four.copy_from_slice(&self.next_u32().to_le_bytes()));
            Ok(())
        }
    }

    /// The counts and the final state of the stream agree with drawing one by one.
    fn both(list: &[(u32, u32)], mut rng: impl Rng, mut again: impl Rng) -> [(usize, u32); 2] {
        let mut chances = Chances::default();
        list.iter().for_each(|(hits, all)| chances.push(*hits, *all));
        let one = list.iter().filter(|(hits, all)| below(&mut rng, *all) < *hits).count();
        [(one, rng.next_u32()), (chances.drawn(&mut again), again.next_u32())]
    }

    proptest! {
        #[test]
        fn counts_equal_sequential_draws(
            list in prop::collection::vec((2u32..9).prop_flat_map(|all| (1..all, Just(all))), 0..300), seed: u64, skipped in 0usize..70,
        ) {
            let at = || {
                let mut rng = stream(seed, "chances");
                (0..skipped).for_each(|_| {
                    rng.next_u32();
                });
                rng
            };
            let [one, many] = both(&list, at(), at());
            prop_assert_eq!(one, many);
        }

        /// Rejected words are too rare to occur by chance, so the test inserts them.
        #[test]
        fn skipped_random_words_are_skipped_identically(
            list in prop::collection::vec((2u32..9).prop_flat_map(|all| (1..all, Just(all))), 1..200),
            places in prop::collection::vec(0usize..200, 1..9), seed: u64,
        ) {
            let mut rng = stream(seed, "words");
            let mut words: Vec<u32> = (0..200).map(|_| rng.next_u32()).collect();
            places.iter().for_each(|at| words[*at] = 0);
            let said = || Said(words.clone().into_iter(), stream(seed, "chances"));
            let [one, many] = both(&list, said(), said());
            prop_assert_eq!(one, many);
        }
    }

    #[test]
    fn hit_rates_match_their_probabilities() {
        let mut chances = Chances::default();
        (0..6_000).for_each(|_| chances.push(2, 3));
        assert!(chances.drawn(&mut stream(5, "chances")).abs_diff(4_000) < 220, "within six standard deviations");
        assert_eq!(Chances::default().drawn(&mut stream(5, "chances")), 0);
    }
}
