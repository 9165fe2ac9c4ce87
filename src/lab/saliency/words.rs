//! Converts token scores to word scores. A token's score is divided equally among the words that it overlaps; a word's score is the sum
//! over its tokens.

/// Scores of `words` words, computed from token scores and the words that each token overlaps. Tokens without words (special tokens) are
/// ignored.
pub fn to_words<L: AsRef<[usize]>>(tokens: &[f64], overlaps: &[L], words: usize) -> Vec<f64> {
    let mut scores = vec![0.0; words];
    for (score, overlapped) in tokens.iter().zip(overlaps) {
        let overlapped = overlapped.as_ref();
        for word in overlapped {
            if let Some(sum) = scores.get_mut(*word) {
                *sum += score / overlapped.len() as f64;
            }
        }
    }
    scores
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn token_over_two_words_is_split_equally() {
        let overlaps = [vec![], vec![0], vec![0], vec![1, 2], vec![2]];
        assert_eq!(to_words(&[9.0, 1.0, -3.0, 4.0, 0.5], &overlaps, 4), [-2.0, 2.0, 2.5, 0.0]);
    }

    proptest! {
        #[test]
        fn word_scores_keep_the_total(
            tokens in prop::collection::vec((-5.0f64..5.0, prop::collection::btree_set(0usize..6, 1..3)), 0..20),
        ) {
            let (scores, overlaps): (Vec<f64>, Vec<Vec<usize>>) =
                tokens.into_iter().map(|(s, o)| (s, o.into_iter().collect::<Vec<_>>())).unzip();
            let words = to_words(&scores, &overlaps, 6);
            prop_assert!((words.iter().sum::<f64>() - scores.iter().sum::<f64>()).abs() < 1e-9);
        }
    }
}
