//! Sets of numbers in the notation of sbatch: `1,3-5`.

use std::collections::BTreeSet;

/// Formats a set, for example as `1,3-5`.
pub(super) fn listed(numbers: &BTreeSet<usize>) -> String {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for n in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == *n => *last = *n,
            _ => runs.push((*n, *n)),
        }
    }
    let run = |(a, b): &(usize, usize)| if a == b { a.to_string() } else { format!("{a}-{b}") };
    runs.iter().map(run).collect::<Vec<_>>().join(",")
}

const MOST: usize = 10_000_000;

/// Parses the output of [`listed`].
pub(super) fn read(text: &str) -> Result<BTreeSet<usize>, String> {
    let bad = || format!("expected numbers from 0 to {MOST}, such as 1,3-5");
    let number = |text: &str| text.parse::<usize>().ok().filter(|n| *n <= MOST).ok_or_else(bad);
    let mut out = BTreeSet::new();
    for run in text.split(',').filter(|run| !run.is_empty()) {
        let (from, to) = run.split_once('-').unwrap_or((run, run));
        out.extend(number(from)?..=number(to)?);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_are_listed_in_sbatch_notation() {
        assert_eq!(listed(&BTreeSet::from([1, 3, 4, 5, 9])), "1,3-5,9");
        assert_eq!(listed(&BTreeSet::from([2])), "2");
        for text in ["x", "1,-", "3-x", "1-99999999999999999999"] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn listed_numbers_are_parsed_back(numbers in proptest::collection::btree_set(0..40_usize, 0..20)) {
            prop_assert_eq!(read(&listed(&numbers)).unwrap(), numbers);
        }
    }
}
