//! Alignment of the words in the perturbed input and the original.

use thiserror::Error;

/// A position in two aligned inputs: a word from each, or a word from one paired with a virtual word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Slot {
    /// Index in the original.
    pub original: Option<usize>,
    /// Index in the perturbed input.
    pub perturbed: Option<usize>,
}

impl Slot {
    fn both(i: usize, j: usize) -> Self {
        Self { original: Some(i), perturbed: Some(j) }
    }

    fn deleted(i: usize) -> Self {
        Self { original: Some(i), perturbed: None }
    }

    fn inserted(j: usize) -> Self {
        Self { original: None, perturbed: Some(j) }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum AlignError {
    #[error(
        "the alignment pairs word {original} with word {perturbed}, but the inputs have {words} and {others} words"
    )]
    Outside {
        /// Index in the original.
        original: usize,
        /// Index in the perturbed input.
        perturbed: usize,
        /// Number of words in the original.
        words: usize,
        /// Number of words in the perturbed input.
        others: usize,
    },
    #[error("the alignment names word {0} of the {1} twice")]
    Twice(usize, &'static str),
}

/// Aligns by a longest common subsequence. If several are equally long, deletions from the original come first. Time and memory are
/// proportional to the product of both lengths.
pub fn common_subsequence<T: PartialEq>(original: &[T], perturbed: &[T]) -> Vec<Slot> {
    let (n, m) = (original.len(), perturbed.len());
    let width = m + 1;
    let mut longest = vec![0u32; (n + 1) * width];
    for i in (0..n).rev() {
        for j in (0..m).rev() {
            longest[i * width + j] = if original[i] == perturbed[j] {
                longest[(i + 1) * width + j + 1] + 1
            } else {
                longest[(i + 1) * width + j].max(longest[i * width + j + 1])
            };
        }
    }
    let (mut slots, mut i, mut j) = (Vec::with_capacity(n.max(m)), 0, 0);
    while i < n || j < m {
        if i < n && j < m && original[i] == perturbed[j] {
            slots.push(Slot::both(i, j));
            (i, j) = (i + 1, j + 1);
        } else if i < n && (j == m || longest[(i + 1) * width + j] >= longest[i * width + j + 1]) {
            slots.push(Slot::deleted(i));
            i += 1;
        } else {
            slots.push(Slot::inserted(j));
            j += 1;
        }
    }
    slots
}

/// Completes an alignment given as pairs by pairing the other words with virtual ones.
///
/// Words of the original keep their order. An inserted word comes after the pair whose word precedes it in the perturbed input.
///
/// # Errors
/// [`AlignError`] for an index out of range, or a word with two partners.
pub fn given(pairs: &[(usize, usize)], words: usize, others: usize) -> Result<Vec<Slot>, AlignError> {
    let mut partner: Vec<Option<usize>> = vec![None; words];
    let mut taken = vec![false; others];
    for &(original, perturbed) in pairs {
        if original >= words || perturbed >= others {
            return Err(AlignError::Outside { original, perturbed, words, others });
        }
        if partner[original].replace(perturbed).is_some() {
            return Err(AlignError::Twice(original, "original"));
        }
        if std::mem::replace(&mut taken[perturbed], true) {
            return Err(AlignError::Twice(perturbed, "perturbed input"));
        }
    }
    let mut slots = Vec::with_capacity(words.max(others));
    let inserted = |slots: &mut Vec<Slot>, from: usize| {
        slots.extend((from..others).take_while(|j| !taken[*j]).map(Slot::inserted));
    };
    inserted(&mut slots, 0);
    for (i, partner) in partner.iter().enumerate() {
        match partner {
            Some(j) => {
                slots.push(Slot::both(i, *j));
                inserted(&mut slots, j + 1);
            }
            None => slots.push(Slot::deleted(i)),
        }
    }
    Ok(slots)
}

/// Pairs replaced words. Between two aligned words (or an end), equal numbers of deletions and insertions count as words replaced one for
/// one, in order. All other gaps are unchanged.
pub(crate) fn one_for_one(slots: &[Slot]) -> Vec<Slot> {
    let aligned = |slot: &Slot| slot.original.is_some() && slot.perturbed.is_some();
    let mut out = Vec::with_capacity(slots.len());
    let mut rest = slots;
    while !rest.is_empty() {
        let gap = rest.iter().position(aligned).unwrap_or(rest.len());
        let deleted: Vec<usize> = rest[..gap].iter().filter_map(|s| s.original).collect();
        let inserted: Vec<usize> = rest[..gap].iter().filter_map(|s| s.perturbed).collect();
        if deleted.len() == inserted.len() {
            out.extend(deleted.into_iter().zip(inserted).map(|(i, j)| Slot::both(i, j)));
        } else {
            out.extend(&rest[..gap]);
        }
        out.extend(rest.get(gap));
        rest = rest.get(gap + 1..).unwrap_or_default();
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(text: &str) -> Vec<&str> {
        text.split_whitespace().collect()
    }

    fn pairs(slots: &[Slot]) -> Vec<(Option<usize>, Option<usize>)> {
        slots.iter().map(|s| (s.original, s.perturbed)).collect()
    }

    #[test]
    fn replaced_word_is_deletion_and_insertion_unless_paired() {
        let slots = common_subsequence(&words("the man went blind"), &words("the boy went blind"));
        assert_eq!(
            pairs(&slots),
            [(Some(0), Some(0)), (Some(1), None), (None, Some(1)), (Some(2), Some(2)), (Some(3), Some(3))]
        );
        let paired = one_for_one(&slots);
        assert_eq!(pairs(&paired)[1], (Some(1), Some(1)));
        assert_eq!(paired.len(), 4);
        // Two words for one word are not a one-for-one replacement.
        let slots = common_subsequence(&words("a b c"), &words("a x y c"));
        assert_eq!(one_for_one(&slots), slots);
        // The same holds at the ends.
        let slots = common_subsequence(&words("a b"), &words("x b"));
        assert_eq!(pairs(&one_for_one(&slots)), [(Some(0), Some(0)), (Some(1), Some(1))]);
        assert!(one_for_one(&[]).is_empty());
    }

    #[test]
    fn given_alignment_is_completed_and_checked() {
        let slots = given(&[(0, 1), (2, 2)], 3, 4).unwrap();
        assert_eq!(
            pairs(&slots),
            [(None, Some(0)), (Some(0), Some(1)), (Some(1), None), (Some(2), Some(2)), (None, Some(3))]
        );
        assert_eq!(given(&[(0, 0), (0, 1)], 2, 2), Err(AlignError::Twice(0, "original")));
        assert_eq!(given(&[(0, 1), (1, 1)], 2, 2), Err(AlignError::Twice(1, "perturbed input")));
        assert!(matches!(given(&[(0, 5)], 2, 2), Err(AlignError::Outside { perturbed: 5, .. })));
        // Aligned words may be in a different order.
        assert_eq!(given(&[(0, 3), (1, 0), (2, 1), (3, 2)], 4, 4).unwrap().len(), 4);
    }

    proptest! {
        #[test]
        fn every_word_occurs_once(
            a in proptest::collection::vec(0u8..4, 0..10), b in proptest::collection::vec(0u8..4, 0..10),
        ) {
            let slots = common_subsequence(&a, &b);
            for slots in [&slots, &one_for_one(&slots)] {
                let originals: Vec<usize> = slots.iter().filter_map(|s| s.original).collect();
                let perturbed: Vec<usize> = slots.iter().filter_map(|s| s.perturbed).collect();
                prop_assert_eq!(originals, (0..a.len()).collect::<Vec<_>>());
                prop_assert_eq!(perturbed, (0..b.len()).collect::<Vec<_>>());
            }
            let listed: Vec<(usize, usize)> = slots.iter().filter_map(|s| s.original.zip(s.perturbed)).collect();
            let mut again = given(&listed, a.len(), b.len()).unwrap();
            let mut once = slots;
            let key = |s: &Slot| (s.original, s.perturbed);
            again.sort_by_key(key);
            once.sort_by_key(key);
            prop_assert_eq!(again, once);
        }
    }
}
