//! Random halvings of a sample: choose on one half, report on the other.
//!
//! Rows are assigned at random to blocks, stratum by stratum, and a halving is a random half of the blocks. All halvings use the same
//! blocks, so the block sums of one resample serve all halvings, and the choice can be repeated in every bootstrap resample. Rows rather
//! than copies are assigned, so all copies of a row in a resample stay in one half.

use super::rng::{shuffle, stream};

/// Number of blocks, if there are enough rows.
pub(crate) const BLOCKS: usize = 32;

/// Number of halvings over which a choice is averaged.
pub const HALVINGS: usize = 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Halves {
    blocks: Vec<Vec<usize>>,
    /// For each halving, the blocks of its first half.
    firsts: Vec<Vec<usize>>,
}

impl Halves {
    /// Assigns rows to blocks by stratum and draws `halvings` halvings. Rows with equal numbers in `strata` belong to one stratum.
    pub fn new(strata: &[usize], halvings: usize, seed: u64) -> Self {
        let mut rng = stream(seed, "halvings");
        let count = BLOCKS.min(strata.len() / 2 * 2).max(2);
        let mut rows: Vec<usize> = (0..strata.len()).collect();
        shuffle(&mut rng, &mut rows);
        rows.sort_by_key(|row| strata[*row]);
        let mut blocks = vec![Vec::new(); count];
        // Round robin across strata: blocks differ by at most one row, in each stratum and in total.
        rows.into_iter().enumerate().for_each(|(i, row)| blocks[i % count].push(row));
        blocks.iter_mut().for_each(|block| block.sort_unstable());
        let firsts = (0..halvings).map(|_| {
            let mut order: Vec<usize> = (0..count).collect();
            shuffle(&mut rng, &mut order);
            order.truncate(count / 2);
            order
        });
        let firsts = firsts.collect();
        Self { blocks, firsts }
    }

    /// The blocks; every row is in exactly one of them.
    pub fn blocks(&self) -> &[Vec<usize>] {
        &self.blocks
    }

    /// The blocks in the first half of each halving.
    pub fn firsts(&self) -> &[Vec<usize>] {
        &self.firsts
    }

    /// For each halving, adds up the blocks' rows (`width` values each) in either half, and passes both sums to `each`.
    pub fn sums(&self, blocks: &[f32], width: usize, each: &mut dyn FnMut([&[f32]; 2])) {
        let mut total = vec![0.0f32; width];
        blocks.chunks_exact(width).for_each(|block| add(&mut total, block));
        let (mut one, mut two) = (vec![0.0f32; width], vec![0.0f32; width]);
        for first in &self.firsts {
            one.fill(0.0);
            first.iter().for_each(|b| add(&mut one, &blocks[b * width..(b + 1) * width]));
            two.iter_mut().zip(total.iter().zip(&one)).for_each(|(two, (total, one))| *two = total - one);
            each([&one, &two]);
        }
    }
}

fn add(sum: &mut [f32], block: &[f32]) {
    sum.iter_mut().zip(block).for_each(|(a, b)| *a += b);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn halves_are_balanced_within_every_stratum(
            strata in proptest::collection::vec(0usize..3, 8..300),
            seed: u64,
        ) {
            let halves = Halves::new(&strata, 5, seed);
            let mut rows: Vec<usize> = halves.blocks().iter().flatten().copied().collect();
            rows.sort_unstable();
            prop_assert_eq!(rows, (0..strata.len()).collect::<Vec<_>>());
            let blocks = halves.blocks().len();
            for s in 0..3 {
                let all = strata.iter().filter(|t| **t == s).count();
                for block in halves.blocks() {
                    let here = block.iter().filter(|r| strata[**r] == s).count();
                    prop_assert!(here >= all / blocks && here <= all.div_ceil(blocks));
                }
            }
            for first in halves.firsts() {
                let mut distinct = first.clone();
                distinct.sort_unstable();
                distinct.dedup();
                prop_assert!(distinct.len() == blocks / 2);
            }
            let sizes: Vec<f32> = halves.blocks().iter().flat_map(|b| [b.len() as f32, 1.0]).collect();
            let mut sums = Vec::new();
            halves.sums(&sizes, 2, &mut |[one, two]| sums.push([one[0] + two[0], one[1], two[1]]));
            let expected = [strata.len() as f32, (blocks / 2) as f32, (blocks - blocks / 2) as f32];
            prop_assert_eq!(sums, vec![expected; 5]);
            prop_assert_eq!(Halves::new(&strata, 5, seed), halves);
        }
    }
}
