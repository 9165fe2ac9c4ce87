//! Divides the cells of a grid among machines into shares of roughly equal work. The result depends only on the work of each cell and the
//! number of shares.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Returns for each cell the index of the share that computes it.
///
/// Cells with the most work are assigned first, each to the share with the least work so far. This is longest processing time first, at
/// most a third above the optimum (Graham 1969). Ties go to the earlier cell and the earlier share. Measured rates and existing results are
/// ignored, so that every machine computes the same division.
pub fn shares(work: &[u128], count: usize) -> Vec<usize> {
    let count = count.max(1);
    let mut order: Vec<usize> = (0..work.len()).collect();
    order.sort_by_key(|cell| (Reverse(work[*cell]), *cell));
    let mut loads: BinaryHeap<Reverse<(u128, usize)>> = (0..count.min(work.len())).map(|s| Reverse((0, s))).collect();
    let mut out = vec![0; work.len()];
    for cell in order {
        let Some(Reverse((load, share))) = loads.pop() else { break };
        out[cell] = share;
        // A cell counts as at least one unit, even if its lab counts no work.
        loads.push(Reverse((load.saturating_add(work[cell].max(1)), share)));
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn equal_cells_are_divided_evenly() {
        assert_eq!(shares(&[5; 7], 3), [0, 1, 2, 0, 1, 2, 0]);
        assert_eq!(shares(&[0; 4], 2), [0, 1, 0, 1]);
        assert_eq!(shares(&[9, 1, 1, 1], 2), [0, 1, 1, 1]);
        assert_eq!(shares(&[3, 2], 8), [0, 1]);
        assert!(shares(&[], 3).is_empty());
    }

    proptest! {
        #[test]
        fn shares_cover_all_cells_and_are_balanced(
            work in proptest::collection::vec(0_u64..1_000_000, 1..200), count in 1_usize..20,
        ) {
            let work: Vec<u128> = work.into_iter().map(u128::from).collect();
            let given = shares(&work, count);
            prop_assert!(given.iter().all(|s| *s < count));
            let load = |s| given.iter().zip(&work).filter(|(g, _)| **g == s).map(|(_, w)| *w).sum::<u128>();
            let loads: Vec<u128> = (0..count).map(load).collect();
            let (most, least) = (loads.iter().max().unwrap(), loads.iter().min().unwrap());
            let largest = work.iter().max().unwrap();
            // When the share with the most work received its last cell, it had the least work.
            prop_assert!(most - least <= largest + work.len() as u128, "{loads:?}");
        }
    }
}
