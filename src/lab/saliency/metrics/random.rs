//! Expected scores of a random ranking, the baseline for every F1 and MAP.

use std::collections::HashMap;
use std::hash::Hash;

use super::rationale::{Several, best_f1};
use super::top_k::first_of;
use stats::rng::{shuffle, stream};

/// Number of draws for an expectation without a closed form.
const DRAWS: usize = 200;

/// Expected F1 of K random words out of `words` against a gold rationale with `inside` ranked and `outside` unranked words.
///
/// The value is exact, because F1 is `2 |common| / (K + |gold|)` for fixed sizes. It is 1 if K is 0 and the rationale is empty, as in
/// [`super::rationale::token_f1`].
pub(crate) fn expected_f1(words: usize, k: usize, inside: usize, outside: usize) -> f64 {
    let (k, gold) = (k.min(words) as f64, (inside + outside) as f64);
    if k + gold == 0.0 {
        return 1.0;
    }
    if words == 0 { 0.0 } else { 2.0 * k * inside as f64 / (words as f64 * (k + gold)) }
}

/// Expected F1 against the best of several gold rationales, or a union. `ranked` are the words that can be drawn. The value is exact for
/// one rationale; otherwise it is the mean over seeded draws, which are the same for equal arguments. `None` without gold.
pub(crate) fn expected_best_f1(ranked: &[usize], k: usize, golds: &[Vec<usize>], several: Several) -> Option<f64> {
    if let [gold] = golds {
        let mut gold = gold.clone();
        gold.sort_unstable();
        gold.dedup();
        let inside = ranked.iter().filter(|i| gold.binary_search(i).is_ok()).count();
        return Some(expected_f1(ranked.len(), k, inside, gold.len() - inside));
    }
    let mut rng = stream(0, "random rationale");
    let mut words = ranked.to_vec();
    let mut sum = 0.0;
    for _ in 0..DRAWS {
        shuffle(&mut rng, &mut words);
        sum += best_f1(&first_of(&words, k), golds, several)?.f1;
    }
    Some(sum / DRAWS as f64)
}

/// Expected MAP of two independent random rankings of these words. The order of the arguments' words is irrelevant.
///
/// The value is exact: a word that occurs m times among the N words of the original is in its top i with probability `1 - C(N-m, i) / C(N,
/// i)`. Every word of the perturbed ranking is equally likely at each rank.
pub(crate) fn expected_map<T: Eq + Hash>(original: &[T], perturbed: &[T]) -> f64 {
    if perturbed.is_empty() {
        return 0.0;
    }
    let n = original.len();
    let mut equals: HashMap<&T, usize> = HashMap::new();
    original.iter().for_each(|word| *equals.entry(word).or_default() += 1);
    // For each m, the number of words in the perturbed input that occur m times in the original.
    let mut having: HashMap<usize, usize> = HashMap::new();
    for word in perturbed {
        if let Some(m) = equals.get(word) {
            *having.entry(*m).or_default() += 1;
        }
    }
    let mut having: Vec<(usize, usize)> = having.into_iter().collect();
    having.sort_unstable();
    let length = perturbed.len() as f64;
    let mut sum = 0.0;
    for (m, words) in having {
        let (mut missed, mut chance) = (1.0, 0.0);
        for i in 0..perturbed.len() {
            // Updates the probability that none of the m occurrences is among the first i words, to the same probability for the first i +
            // 1 words.
            missed *= if i + m < n { (n - m - i) as f64 / (n - i) as f64 } else { 0.0 };
            chance += 1.0 - missed;
        }
        sum += words as f64 / length * chance;
    }
    sum / length
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::map::mean_average_precision;
    use super::super::rationale::token_f1;
    use super::*;

    fn subsets(words: usize, k: usize) -> Vec<Vec<usize>> {
        (0..1usize << words)
            .filter(|bits| bits.count_ones() as usize == k)
            .map(|bits| (0..words).filter(|i| bits >> i & 1 == 1).collect())
            .collect()
    }

    #[test]
    fn expected_f1_is_the_mean_over_all_choices() {
        for (words, k, gold) in
            [(5, 2, vec![1, 3]), (6, 3, vec![0]), (4, 4, vec![0, 1]), (5, 1, vec![]), (5, 2, vec![1, 7])]
        {
            let all = subsets(words, k);
            let mean = all.iter().map(|s| token_f1(s, &gold).f1).sum::<f64>() / all.len() as f64;
            let ranked: Vec<usize> = (0..words).collect();
            let found = expected_best_f1(&ranked, k, std::slice::from_ref(&gold), Several::Best).unwrap();
            assert!((found - mean).abs() < 1e-12, "{words} {k} {gold:?}: {found} {mean}");
        }
        assert_eq!((expected_f1(0, 0, 0, 0), expected_f1(0, 3, 0, 1)), (1.0, 0.0));
        assert_eq!(expected_best_f1(&[0, 1], 1, &[], Several::Best), None);
    }

    #[test]
    fn several_rationales_give_a_simulated_mean() {
        let golds = [vec![0, 1], vec![2]];
        let ranked: Vec<usize> = (0..6).collect();
        let all = subsets(6, 2);
        for several in [Several::Best, Several::United] {
            let mean = all.iter().map(|s| best_f1(s, &golds, several).unwrap().f1).sum::<f64>() / all.len() as f64;
            let found = expected_best_f1(&ranked, 2, &golds, several).unwrap();
            assert!((found - mean).abs() < 0.08, "{found} {mean}");
            assert_eq!(Some(found), expected_best_f1(&ranked, 2, &golds, several), "the same draws every time");
        }
    }

    /// The mean MAP over seeded draws of both rankings.
    fn drawn(original: &[u8], perturbed: &[u8], draws: usize) -> f64 {
        let mut rng = stream(3, "map of draws");
        let (mut a, mut b) = (original.to_vec(), perturbed.to_vec());
        let mut sum = 0.0;
        for _ in 0..draws {
            shuffle(&mut rng, &mut a);
            shuffle(&mut rng, &mut b);
            sum += mean_average_precision(&a, &b);
        }
        sum / draws as f64
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn draws_converge_to_expected_map(
            a in proptest::collection::vec(0u8..5, 0..9), b in proptest::collection::vec(0u8..5, 0..9),
        ) {
            let (exact, mean) = (expected_map(&a, &b), drawn(&a, &b, 3_000));
            // A MAP is in [0, 1], so its standard deviation is at most ½ and the standard error of the mean at most .0092.
            prop_assert!((exact - mean).abs() < 0.04, "{exact} {mean} {a:?} {b:?}");
        }
    }

    #[test]
    fn expected_map_of_one_word_is_certain() {
        assert_eq!((expected_map(&["a"], &["a"]), expected_map(&["a"], &["b"])), (1.0, 0.0));
        assert_eq!((expected_map::<u8>(&[], &[]), expected_map(&["a"], &[])), (0.0, 0.0));
        // With two words, the first rank matches half of the time and the second always.
        assert!((expected_map(&["a", "b"], &["a", "b"]) - 0.75).abs() < 1e-12);
    }
}
