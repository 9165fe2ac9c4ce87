//! MAP: agreement between two rankings, with emphasis on the top (equation 2 of the benchmark paper, after Wang et al. 2022).

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use serde::{Deserialize, Serialize};

/// Rule by which a word in the perturbed input counts as the same as one in the original.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Membership {
    /// Words match if their strings are equal; every occurrence of a repeated word matches (the paper, and the authors' public code).
    #[default]
    String,
    /// The k-th occurrence of a word matches its k-th occurrence in the other input.
    Occurrence,
    /// Words match if they are aligned.
    Position,
}

/// Mean average precision of the perturbed ranking against the original one, both with the most important word first.
///
/// The formula is `(1/|Xᵖ|) Σᵢ (1/i) Σ_{j≤i} [xⱼᵖ ∈ Xᵒ₁:ᵢ]`, where `Xᵒ₁:ᵢ` is the whole list if i exceeds its length. The value is 0 for an
/// empty perturbed ranking. It is not symmetric.
pub fn mean_average_precision<T: Eq + Hash>(original: &[T], perturbed: &[T]) -> f64 {
    if perturbed.is_empty() {
        return 0.0;
    }
    let mut top: HashSet<&T> = HashSet::with_capacity(original.len());
    // Number of occurrences of each word in the prefix of the perturbed ranking so far.
    let mut seen: HashMap<&T, usize> = HashMap::with_capacity(perturbed.len());
    let (mut hits, mut sum) = (0, 0.0);
    for (i, word) in perturbed.iter().enumerate() {
        if let Some(added) = original.get(i)
            && top.insert(added)
        {
            hits += seen.get(added).copied().unwrap_or(0);
        }
        hits += usize::from(top.contains(word));
        *seen.entry(word).or_default() += 1;
        sum += hits as f64 / (i + 1) as f64;
    }
    sum / perturbed.len() as f64
}

/// The words, each with an occurrence number from 1 that distinguishes repetitions.
pub fn occurrences<S: AsRef<str>>(words: &[S]) -> Vec<(&str, usize)> {
    let mut seen: HashMap<&str, usize> = HashMap::new();
    words
        .iter()
        .map(|word| {
            let count = seen.entry(word.as_ref()).or_default();
            *count += 1;
            (word.as_ref(), *count)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Direct evaluation of the formula.
    fn by_formula(original: &[u8], perturbed: &[u8]) -> f64 {
        let precision = |i: usize| {
            let top = &original[..i.min(original.len())];
            perturbed[..i].iter().filter(|x| top.contains(x)).count() as f64 / i as f64
        };
        if perturbed.is_empty() {
            return 0.0;
        }
        (1..=perturbed.len()).map(precision).sum::<f64>() / perturbed.len() as f64
    }

    #[test]
    fn map_matches_hand_computation() {
        assert_eq!(mean_average_precision(&["a", "b", "c"], &["a", "b", "c"]), 1.0);
        let swapped = mean_average_precision(&["a", "b", "c"], &["b", "a", "c"]);
        assert!((swapped - 2.0 / 3.0).abs() < 1e-12, "{swapped}");
        assert_eq!(mean_average_precision(&["a", "b"], &["x", "y"]), 0.0);
        assert_eq!(mean_average_precision::<u8>(&[1, 2], &[]), 0.0);
        assert_eq!(mean_average_precision::<u8>(&[], &[1, 2]), 0.0);
        assert_eq!(occurrences(&["a", "b", "a"]), [("a", 1), ("b", 1), ("a", 2)]);
    }

    proptest! {
        #[test]
        fn map_equals_the_formula(
            a in proptest::collection::vec(0u8..6, 0..14), b in proptest::collection::vec(0u8..6, 0..14),
        ) {
            prop_assert!((mean_average_precision(&a, &b) - by_formula(&a, &b)).abs() < 1e-12);
            let own = mean_average_precision(&a, &a);
            prop_assert!(a.is_empty() || (own - 1.0).abs() < 1e-12);
        }
    }
}
