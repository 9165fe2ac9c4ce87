//! Faithfulness of a rationale: sufficiency and comprehensiveness (DeYoung et al. 2020, "ERASER", section 4), from the probabilities of the
//! model's answer. The caller selects the words given to the model.

use serde::{Deserialize, Serialize};

/// Both measures for one input, as differences of probabilities in [-1, 1].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Faithfulness {
    /// `p(answer | input) - p(answer | rationale alone)`: small if the rationale is sufficient.
    pub sufficiency: f64,
    /// `p(answer | input) - p(answer | input without the rationale)`: large if the rationale is necessary.
    pub comprehensiveness: f64,
}

/// Computes both measures from the probabilities of the answer given the whole input, the rationale alone, and the input without it.
fn faithfulness(whole: f64, alone: f64, without: f64) -> Faithfulness {
    Faithfulness { sufficiency: whole - alone, comprehensiveness: whole - without }
}

/// Mean over rationales of increasing size (area over the perturbation curve, equation 3 in ERASER). For each size, `sizes` has the
/// probabilities for the rationale alone and for the input without it. Size 0 in the equation is excluded, as in the authors' code. `None`
/// without sizes.
pub(crate) fn over_sizes(whole: f64, sizes: &[(f64, f64)]) -> Option<Faithfulness> {
    let n = sizes.len() as f64;
    let mean = |part: fn(&(f64, f64)) -> f64| sizes.iter().map(part).sum::<f64>() / n;
    (!sizes.is_empty()).then(|| faithfulness(whole, mean(|s| s.0), mean(|s| s.1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_match_hand_computation() {
        let f = faithfulness(0.9, 0.8, 0.1);
        assert!((f.sufficiency - 0.1).abs() < 1e-12 && (f.comprehensiveness - 0.8).abs() < 1e-12, "{f:?}");
        assert_eq!(over_sizes(0.9, &[]), None);
        let one = over_sizes(0.9, &[(0.8, 0.1)]).unwrap();
        assert!((one.sufficiency - f.sufficiency).abs() < 1e-12);
        let two = over_sizes(0.5, &[(0.5, 0.3), (0.3, 0.1)]).unwrap();
        assert!((two.sufficiency - 0.1).abs() < 1e-12 && (two.comprehensiveness - 0.3).abs() < 1e-12);
    }
}
