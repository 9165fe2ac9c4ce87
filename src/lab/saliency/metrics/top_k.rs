//! Converts scores to a ranking and to a predicted rationale: the K words with the highest scores.

use serde::{Deserialize, Serialize};

/// Number of words in a predicted rationale. With [`Size::Gold`], or a [`Size::Ratio`] measured on the same gold rationales, the prediction
/// uses the length of the gold rationale; this is noted wherever such a score is shown.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Size {
    /// A share of the input's words, as in the paper, which uses the dimension's mean ratio of rationale length to input length.
    Ratio(f64),
    /// The same number of words for every input (five in the authors' public code).
    Fixed(usize),
    /// The length of the input's shortest gold rationale.
    Gold,
}

impl Size {
    /// K for an input of `words` words whose shortest gold rationale has length `gold`. K is at least 1 and at most `words`; it is 0 only
    /// without words. Ratios are rounded half up (`⌊ratio · words + ½⌋`).
    pub fn of(self, words: usize, gold: usize) -> usize {
        let k = match self {
            // An overflowing product saturates, and is then limited to the number of words.
            Size::Ratio(ratio) => (ratio * words as f64 + 0.5).floor().max(0.0) as usize,
            Size::Fixed(k) => k,
            Size::Gold => gold,
        };
        k.max(1).min(words)
    }

    /// The rule in words, for tables and captions.
    pub fn words(self) -> String {
        match self {
            Size::Ratio(ratio) => format!("K = {ratio:.3} × words"),
            Size::Fixed(k) => format!("K = {k}"),
            Size::Gold => "K = length of the gold rationale".to_owned(),
        }
    }
}

/// Indices by descending score. Ties keep the order of the sentence; scores that are not finite come last.
pub fn order(scores: &[f64]) -> Vec<usize> {
    let mut indices: Vec<usize> = (0..scores.len()).collect();
    // `total_cmp` would put -0 below 0, but the two are ties.
    indices.sort_by(|a, b| {
        let (a, b) = (scores[*a], scores[*b]);
        b.partial_cmp(&a).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
    });
    indices
}

/// The K words with the highest scores, in the order of the sentence.
pub fn top_k(scores: &[f64], k: usize) -> Vec<usize> {
    first_of(&order(scores), k)
}

/// The first K words of a ranking, in the order of the sentence.
pub fn first_of(ranking: &[usize], k: usize) -> Vec<usize> {
    let mut top = ranking[..k.min(ranking.len())].to_vec();
    top.sort_unstable();
    top
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_rounded_half_up_and_clamped() {
        for (ratio, words, k) in
            [(0.5, 5, 3), (0.3, 5, 2), (0.29, 5, 1), (0.01, 9, 1), (2.0, 4, 4), (0.5, 0, 0), (f64::NAN, 3, 1)]
        {
            assert_eq!(Size::Ratio(ratio).of(words, 0), k, "{ratio} of {words}");
        }
        assert_eq!((Size::Fixed(5).of(3, 0), Size::Fixed(0).of(3, 0), Size::Fixed(5).of(9, 0)), (3, 1, 5));
        assert_eq!((Size::Gold.of(9, 4), Size::Gold.of(9, 0), Size::Gold.of(2, 4)), (4, 1, 2));
        assert_eq!(Size::Ratio(1e300).of(7, 0), 7);
    }

    #[test]
    fn tied_scores_keep_sentence_order() {
        assert_eq!(order(&[0.2, 0.5, 0.2, 0.5]), [1, 3, 0, 2]);
        assert_eq!(order(&[-0.0, 0.0, -0.0]), [0, 1, 2]);
        assert_eq!(order(&[f64::NAN, -1.0, f64::NAN, 3.0]), [3, 1, 0, 2]);
        assert_eq!(top_k(&[0.4, 0.2, 0.2, 0.2], 2), [0, 1]);
        assert!(top_k(&[], 3).is_empty());
    }
}
