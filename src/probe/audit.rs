//! Accuracy of a classifier, and calibration of its probabilities.

use super::data::Labelled;
use base::matrix::{Dense, argmax};
use serde::{Deserialize, Serialize};
use stats::Estimate;
use stats::intervals::share;

/// 15 bins of equal width on the confidence axis, the usual choice since Guo et al. (2017).
pub(crate) const CALIBRATION_BINS: usize = 15;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassCount {
    pub examples: usize,
    /// Number of examples of this class that were classified correctly.
    pub correct: usize,
    /// Number of examples classified as this class.
    pub predicted: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Audit {
    pub n: usize,
    /// Accuracy with an interval for a proportion.
    pub accuracy: Estimate,
    /// Mean of the accuracies on each class that occurs.
    pub balanced_accuracy: f64,
    /// Share of the largest class: the accuracy of a constant answer.
    pub majority: f64,
    /// Expected calibration error; see [`calibration_error`].
    pub calibration_error: f64,
    pub classes: Vec<ClassCount>,
}

/// Audits class probabilities (n x classes) against the labels of `data`, with intervals at `level`.
///
/// # Panics
/// If `probabilities` does not have one row per example and one column per class.
pub fn audit(probabilities: &Dense<f64>, data: &Labelled, level: f64) -> Audit {
    assert_eq!(
        (probabilities.rows(), probabilities.cols()),
        (data.len(), data.classes()),
        "wrong number of examples or classes"
    );
    let mut classes = vec![ClassCount { examples: 0, correct: 0, predicted: 0 }; data.classes()];
    for (row, label) in probabilities.iter_rows().zip(data.y()) {
        let answer = argmax(row);
        classes[*label].examples += 1;
        classes[answer].predicted += 1;
        classes[*label].correct += usize::from(answer == *label);
    }
    let correct: usize = classes.iter().map(|c| c.correct).sum();
    let shares: Vec<f64> =
        classes.iter().filter(|c| c.examples > 0).map(|c| c.correct as f64 / c.examples as f64).collect();
    Audit {
        n: data.len(),
        accuracy: share(correct as u64, data.len() as u64, level),
        balanced_accuracy: shares.iter().sum::<f64>() / shares.len() as f64,
        majority: data.majority(),
        calibration_error: calibration_error(probabilities, data.y()),
        classes,
    }
}

/// Expected calibration error, 0 without examples. Examples are binned by the probability of the predicted class. The error is the mean
/// over examples of the gap between accuracy and mean probability in their bin.
///
/// # Panics
/// If `probabilities` does not have one row per label.
pub fn calibration_error(probabilities: &Dense<f64>, labels: &[usize]) -> f64 {
    assert_eq!(probabilities.rows(), labels.len(), "`probabilities` must have one row per label");
    let mut bins = [(0.0, 0.0); CALIBRATION_BINS];
    for (row, label) in probabilities.iter_rows().zip(labels) {
        let answer = argmax(row);
        let confidence = row.get(answer).copied().unwrap_or(0.0);
        // Bins are (a, b], so that a probability of 1 is in the last one.
        let bin = ((confidence * CALIBRATION_BINS as f64).ceil() as usize).clamp(1, CALIBRATION_BINS) - 1;
        bins[bin].0 += f64::from(u8::from(answer == *label));
        bins[bin].1 += confidence;
    }
    bins.iter().map(|(correct, confidence)| (correct - confidence).abs()).sum::<f64>() / labels.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Matrix;

    fn rows(p: &[[f64; 2]]) -> Dense<f64> {
        Dense::from_vec(p.len(), 2, p.concat()).unwrap()
    }

    #[test]
    fn worked_audit() {
        let data = Labelled::new(Matrix::zeros(4, 1), vec![0, 0, 0, 1], 2).unwrap();
        let a = audit(&rows(&[[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.45, 0.55]]), &data, 0.95);
        assert_eq!((a.n, a.accuracy.mean, a.majority), (4, 0.75, 0.75));
        assert!((a.balanced_accuracy - (2.0 / 3.0 + 1.0) / 2.0).abs() < 1e-15);
        assert_eq!(a.classes[1], ClassCount { examples: 1, correct: 1, predicted: 2 });
        // The probabilities .9, .8, .7 and .55 are in different bins, so the error is the mean of |hit - p|.
        assert!((a.calibration_error - (0.1 + 0.2 + 0.7 + 0.45) / 4.0).abs() < 1e-12, "{}", a.calibration_error);
    }

    #[test]
    fn calibration_is_computed_per_bin() {
        // Ten answers at .8 with eight right: perfectly calibrated.
        let p = rows(&[[0.8, 0.2]; 10]);
        let labels: Vec<usize> = (0..10).map(|i| usize::from(i >= 8)).collect();
        assert!(calibration_error(&p, &labels) < 1e-12);
        assert!((calibration_error(&rows(&[[1.0, 0.0]; 4]), &[0, 0, 1, 1]) - 0.5).abs() < 1e-12);
    }
}
