//! PCC: correlation of the scores themselves (equation 3 of the benchmark paper, after Ding and Koehn 2021).
//!
//! The mean over pairs with p < .05 is biased upward, because pairs with low correlation are left out. It is always shown with the number
//! of kept pairs and the mean over all pairs.

use super::align::Slot;
use stats::correlation::{Correlation, Undefined, pearson};

/// Significance level of the paper's filter on correlations.
pub const ALPHA: f64 = 0.05;

/// True if PCC is computed for this kind of perturbation: all but syntactic transformations, which reorder words.
pub(crate) fn suits(perturbation: &str) -> bool {
    !perturbation.trim().to_lowercase().starts_with("trans")
}

/// The scores of both inputs by slot. A word that is missing in one input is paired with a virtual word of score 0. Words outside the
/// ranking, such as the mask, have no score and count as virtual. Slots without any score are left out.
pub fn facing(original: &[Option<f64>], perturbed: &[Option<f64>], slots: &[Slot]) -> (Vec<f64>, Vec<f64>) {
    let at = |scores: &[Option<f64>], index: Option<usize>| index.and_then(|i| scores.get(i).copied().flatten());
    let scored = |slot: &Slot| {
        let (a, b) = (at(original, slot.original), at(perturbed, slot.perturbed));
        (a.is_some() || b.is_some()).then(|| (a.unwrap_or(0.0), b.unwrap_or(0.0)))
    };
    slots.iter().filter_map(scored).unzip()
}

/// Pearson correlation of the scores of two aligned inputs.
///
/// # Errors
/// [`Undefined`] for fewer than three slots, or constant scores.
pub fn correlation(
    original: &[Option<f64>],
    perturbed: &[Option<f64>],
    slots: &[Slot],
) -> Result<Correlation, Undefined> {
    let (a, b) = facing(original, perturbed, slots);
    pearson(&a, &b)
}

/// Sets scores with less than `share` of the largest magnitude to zero. Ding and Koehn define noise in this way, with a share of .01.
pub fn without_noise(scores: &[f64], share: f64) -> Vec<f64> {
    let largest = scores.iter().fold(0.0_f64, |m, s| m.max(s.abs()));
    scores.iter().map(|s| if s.abs() < share * largest { 0.0 } else { *s }).collect()
}

#[cfg(test)]
mod tests {
    use super::super::align::common_subsequence;
    use super::*;

    fn some(scores: &[f64]) -> Vec<Option<f64>> {
        scores.iter().copied().map(Some).collect()
    }

    #[test]
    fn inserted_words_pair_with_a_virtual_word() {
        let slots = common_subsequence(&["a", "b", "c"], &["a", "new", "b", "c"]);
        let (o, p) = facing(&some(&[0.5, 0.3, 0.2]), &some(&[0.5, 0.1, 0.25, 0.15]), &slots);
        assert_eq!((o, p), (vec![0.5, 0.0, 0.3, 0.2], vec![0.5, 0.1, 0.25, 0.15]));
    }

    #[test]
    fn unranked_words_form_no_pair() {
        let slots = common_subsequence(&["a", "[MASK]", "c"], &["a", "[MASK]", "c"]);
        let (o, p) = facing(&[Some(0.5), None, Some(0.2)], &[Some(0.4), None, None], &slots);
        assert_eq!((o, p), (vec![0.5, 0.2], vec![0.4, 0.0]));
    }

    #[test]
    fn equal_scores_correlate_fully_and_constant_scores_do_not() {
        let slots = common_subsequence(&["a", "b", "c"], &["a", "b", "c"]);
        let scores = some(&[0.5, 0.3, 0.1]);
        let found = correlation(&scores, &scores, &slots).unwrap();
        assert!((found.r - 1.0).abs() < 1e-12, "{found:?}");
        assert_eq!(correlation(&scores, &some(&[0.2; 3]), &slots), Err(Undefined::Constant));
        assert_eq!(correlation(&scores, &scores, &slots[..2]), Err(Undefined::Few));
    }

    #[test]
    fn small_scores_are_set_to_zero() {
        assert_eq!(without_noise(&[1.0, -0.011, 0.009, 0.0], 0.01), [1.0, -0.011, 0.0, 0.0]);
        assert!(suits("dispens") && suits("Import.") && !suits("Trans.") && !suits("transformation"));
    }
}
