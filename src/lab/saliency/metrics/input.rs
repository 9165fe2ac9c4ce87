//! Judged inputs: words with scores, gold rationales, and originals with their perturbed partners.

use thiserror::Error;

use super::align::{AlignError, Slot, common_subsequence, given, one_for_one};
use super::map::{Membership, mean_average_precision, occurrences};
use super::random::expected_map;
use super::top_k::{first_of, order};

/// Maximum number of words per input, because the time for an alignment is proportional to the product of two lengths.
pub const MAX_WORDS: usize = 4096;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum InputError {
    /// The number of scores differs from the number of words.
    #[error("{scores} scores for {words} words")]
    Lengths { scores: usize, words: usize },
    #[error("the score of word {0} is not a finite number")]
    Score(usize),
    /// An index in a gold rationale is out of range.
    #[error("a gold rationale names word {index}, but there are {words} words")]
    Gold { index: usize, words: usize },
    #[error("{0} words, more than the maximum of {MAX_WORDS}")]
    Long(usize),
    #[error("no word has a score")]
    Empty,
    #[error(transparent)]
    Align(#[from] AlignError),
}

/// An input with scores and gold rationales.
#[derive(Debug, Clone, PartialEq)]
pub struct Scored {
    /// Identifier within the data.
    pub id: String,
    words: Vec<String>,
    scores: Vec<Option<f64>>,
    golds: Vec<Vec<usize>>,
    ranking: Vec<usize>,
    /// True if scores are only ranks.
    ranks_only: bool,
}

impl Scored {
    /// Creates an input with a score per word. Words without a score are outside the ranking (the mask, special tokens); scores keep their
    /// signs. `golds` are sets of word indices, any of which is sufficient; empty if the rationale is unknown.
    pub fn new(
        id: impl Into<String>,
        words: Vec<String>,
        scores: Vec<Option<f64>>,
        golds: Vec<Vec<usize>>,
    ) -> Result<Self, InputError> {
        if words.len() != scores.len() {
            return Err(InputError::Lengths { scores: scores.len(), words: words.len() });
        }
        if words.len() > MAX_WORDS {
            return Err(InputError::Long(words.len()));
        }
        if let Some(at) = scores.iter().position(|s| s.is_some_and(|s| !s.is_finite())) {
            return Err(InputError::Score(at));
        }
        if let Some(&index) = golds.iter().flatten().find(|i| **i >= words.len()) {
            return Err(InputError::Gold { index, words: words.len() });
        }
        let (ranked, values): (Vec<usize>, Vec<f64>) =
            scores.iter().enumerate().filter_map(|(i, s)| s.map(|s| (i, s))).unzip();
        if ranked.is_empty() {
            return Err(InputError::Empty);
        }
        let ranking = order(&values).into_iter().map(|i| ranked[i]).collect();
        Ok(Self { id: id.into(), words, scores, golds, ranking, ranks_only: false })
    }

    /// Creates an input from only the order of the words, most important first. Words not listed are outside the ranking, and PCC is not
    /// computed.
    pub(crate) fn from_ranking(
        id: impl Into<String>,
        words: Vec<String>,
        ranking: &[usize],
        golds: Vec<Vec<usize>>,
    ) -> Result<Self, InputError> {
        let mut scores = vec![None; words.len()];
        for (place, &index) in ranking.iter().enumerate() {
            let count = words.len();
            let score = scores.get_mut(index).ok_or(InputError::Gold { index, words: count })?;
            // A word listed twice counts at its higher rank.
            score.get_or_insert(-(place as f64));
        }
        Ok(Self { ranks_only: true, ..Self::new(id, words, scores, golds)? })
    }

    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// The score of each word; `None` for a word outside the ranking.
    pub fn scores(&self) -> &[Option<f64>] {
        &self.scores
    }

    pub(crate) fn golds(&self) -> &[Vec<usize>] {
        &self.golds
    }

    /// The ranked words, most important first; ties keep the order of the sentence.
    pub fn ranking(&self) -> &[usize] {
        &self.ranking
    }

    /// True if only the order of the words is known.
    pub(crate) fn ranks_only(&self) -> bool {
        self.ranks_only
    }

    /// Length of the shortest gold rationale; `None` without gold.
    pub(crate) fn gold_length(&self) -> Option<usize> {
        self.golds.iter().map(Vec::len).min()
    }

    /// Length of the gold rationale divided by the length of the input, averaged over several rationales; `None` without gold.
    pub fn ratio(&self) -> Option<f64> {
        let (sets, words) = (self.golds.len() as f64, self.words.len() as f64);
        let length = self.golds.iter().map(Vec::len).sum::<usize>() as f64;
        (!self.golds.is_empty()).then(|| length / (sets * words))
    }

    /// The predicted rationale of `k` words, in the order of the sentence.
    pub fn rationale(&self, k: usize) -> Vec<usize> {
        first_of(&self.ranking, k)
    }
}

/// Alignment of an original and a perturbed partner: the given one, completed, or else a longest common subsequence of words ignoring case.
/// If `replaced` is true, words that were replaced one for one are paired.
///
/// # Errors
/// [`InputError::Align`] for an invalid given alignment.
pub fn slots(
    original: &Scored,
    perturbed: &Scored,
    alignment: Option<&[(usize, usize)]>,
    replaced: bool,
) -> Result<Vec<Slot>, InputError> {
    let fold = |words: &[String]| words.iter().map(|w| w.to_lowercase()).collect::<Vec<_>>();
    let slots = match alignment {
        Some(pairs) => given(pairs, original.words.len(), perturbed.words.len())?,
        None => common_subsequence(&fold(&original.words), &fold(&perturbed.words)),
    };
    Ok(if replaced { one_for_one(&slots) } else { slots })
}

/// MAP of two inputs, and the value expected for two random rankings. `slots` are needed only for [`Membership::Position`].
pub fn map_of(original: &Scored, perturbed: &Scored, slots: &[Slot], membership: Membership) -> (f64, f64) {
    fn both<T: Eq + std::hash::Hash + Copy>(o: &Scored, p: &Scored, a: &[T], b: &[T]) -> (f64, f64) {
        let a: Vec<T> = o.ranking.iter().map(|i| a[*i]).collect();
        let b: Vec<T> = p.ranking.iter().map(|j| b[*j]).collect();
        (mean_average_precision(&a, &b), expected_map(&a, &b))
    }
    match membership {
        Membership::String => {
            fn strings(scored: &Scored) -> Vec<&str> {
                scored.words.iter().map(String::as_str).collect()
            }
            both(original, perturbed, &strings(original), &strings(perturbed))
        }
        Membership::Occurrence => {
            both(original, perturbed, &occurrences(&original.words), &occurrences(&perturbed.words))
        }
        Membership::Position => {
            // For each word in the perturbed input: the index of the same word in the original, or an index that does not occur there.
            let own: Vec<usize> = (0..original.words.len()).collect();
            let mut other: Vec<usize> = (0..perturbed.words.len()).map(|j| own.len() + j).collect();
            for slot in slots {
                if let (Some(i), Some(j)) = (slot.original, slot.perturbed) {
                    other[j] = i;
                }
            }
            both(original, perturbed, &own, &other)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    fn scored(text: &str, scores: &[f64]) -> Scored {
        Scored::new("x", words(text), scores.iter().copied().map(Some).collect(), vec![]).unwrap()
    }

    #[test]
    fn invalid_inputs_are_refused_with_a_reason() {
        let new =
            |scores: &[Option<f64>], golds: Vec<Vec<usize>>| Scored::new("x", words("a b"), scores.to_vec(), golds);
        assert_eq!(new(&[Some(1.0)], vec![]), Err(InputError::Lengths { scores: 1, words: 2 }));
        assert_eq!(new(&[None, Some(f64::NAN)], vec![]), Err(InputError::Score(1)));
        assert_eq!(new(&[None, Some(f64::INFINITY)], vec![]), Err(InputError::Score(1)));
        assert_eq!(new(&[None, None], vec![]), Err(InputError::Empty));
        assert_eq!(new(&[None, Some(1.0)], vec![vec![2]]), Err(InputError::Gold { index: 2, words: 2 }));
        let long = vec!["w".to_owned(); MAX_WORDS + 1];
        let scores = vec![Some(0.0); long.len()];
        assert_eq!(Scored::new("x", long, scores, vec![]), Err(InputError::Long(MAX_WORDS + 1)));
        assert!(matches!(Scored::from_ranking("x", words("a b"), &[5], vec![]), Err(InputError::Gold { .. })));
    }

    #[test]
    fn words_without_a_score_are_outside_the_ranking() {
        let s = Scored::new(
            "x",
            words("a [MASK] b c"),
            vec![Some(0.1), None, Some(0.5), Some(0.1)],
            vec![vec![2, 3], vec![2]],
        )
        .unwrap();
        assert_eq!(s.ranking(), [2, 0, 3]);
        assert_eq!(s.rationale(2), [0, 2]);
        assert_eq!((s.gold_length(), s.ratio()), (Some(1), Some(1.5 / 4.0)));
        let ranked = Scored::from_ranking("x", words("a b c"), &[2, 0, 2], vec![]).unwrap();
        assert_eq!((ranked.ranking(), ranked.ranks_only()), (&[2, 0][..], true));
        assert_eq!(ranked.ratio(), None);
    }

    #[test]
    fn membership_is_by_string_or_occurrence_or_position() {
        let o = scored("the cat saw the dog", &[0.1, 0.3, 0.15, 0.05, 0.4]);
        let p = scored("the cat saw the dog", &[0.05, 0.3, 0.15, 0.1, 0.4]);
        let slots = slots(&o, &p, None, false).unwrap();
        assert_eq!(map_of(&o, &p, &slots, Membership::String).0, 1.0, "either occurrence of `the` matches");
        let printed = map_of(&o, &p, &slots, Membership::Occurrence).0;
        // The fourth rank has a different `the`, so MAP is (1 + 1 + 1 + 3/4 + 1)/5.
        assert!((printed - 0.95).abs() < 1e-12, "{printed}");
        assert_eq!(map_of(&o, &p, &slots, Membership::Position).0, printed);
    }

    #[test]
    fn alignment_ignores_case_but_string_matching_does_not() {
        let (o, p) = (scored("The dog", &[0.2, 0.1]), scored("Oh the dog", &[0.0, 0.2, 0.1]));
        let slots = slots(&o, &p, None, false).unwrap();
        assert_eq!(slots.iter().filter(|s| s.original.is_some() && s.perturbed.is_some()).count(), 2);
        assert!(map_of(&o, &p, &slots, Membership::Position).0 > map_of(&o, &p, &slots, Membership::String).0);
    }
}
