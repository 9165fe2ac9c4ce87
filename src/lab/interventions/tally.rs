//! Scores of one set of probes at one strength, small enough to keep for all strengths and replicates of a sweep.

use super::bench::Scores;
use super::score::{ExampleScores, reliability};
use super::table::Judged;

/// Per-example scores in single precision, selectivity only where it is defined, and sums of what is only averaged.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tally {
    completeness: Vec<f32>,
    selectivity: Vec<f32>,
    right: Vec<f32>,
    harmonics: f64,
    prior: Option<f64>,
    predicted: f64,
    confusion: Vec<Vec<f64>>,
}

impl Tally {
    /// Appends the scores of further examples.
    pub fn extend(&mut self, more: &Scores) {
        let examples = &more.examples;
        self.completeness.extend(examples.completeness.iter().map(|c| *c as f32));
        for ((c, s), right) in examples.completeness.iter().zip(&examples.selectivity).zip(&more.right) {
            if let Some(s) = s {
                self.selectivity.push(*s as f32);
                self.right.push(right.unwrap_or(0.0) as f32);
                self.harmonics += reliability(*c, *s);
            }
        }
        if !more.prior.is_empty() {
            *self.prior.get_or_insert(0.0) += more.prior.iter().sum::<f64>();
        }
        self.predicted += more.predicted.iter().sum::<f64>();
        if self.confusion.is_empty() {
            self.confusion.clone_from(&more.confusion);
        } else {
            for (row, more) in self.confusion.iter_mut().zip(&more.confusion) {
                row.iter_mut().zip(more).for_each(|(a, b)| *a += b);
            }
        }
    }

    /// Number of examples.
    #[must_use]
    pub fn len(&self) -> usize {
        self.completeness.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.completeness.is_empty()
    }

    /// The scores by example; `other` is the true value of the other property of each.
    ///
    /// # Panics
    /// If `other` is of other examples.
    #[must_use]
    pub fn judged(&self, other: &[Option<usize>]) -> Judged {
        assert_eq!(other.len(), self.len(), "labels of other examples");
        let (mut s, mut right) = (self.selectivity.iter(), self.right.iter());
        let spread = |list: &mut std::slice::Iter<'_, f32>| -> Vec<Option<f64>> {
            other.iter().map(|o| o.and_then(|_| list.next()).map(|v| f64::from(*v))).collect()
        };
        let selectivity = spread(&mut s);
        let right = spread(&mut right);
        let completeness = self.completeness.iter().map(|c| f64::from(*c)).collect();
        Judged { scores: ExampleScores { completeness, selectivity }, right }
    }

    /// Mean of the examples' harmonic means; NaN where no example has both.
    #[must_use]
    pub fn mean_harmonic(&self) -> f64 {
        self.harmonics / self.selectivity.len() as f64
    }

    /// Mean completeness toward the class prior, for nullifying methods.
    #[must_use]
    pub fn prior(&self) -> Option<f64> {
        self.prior.map(|sum| sum / self.len() as f64)
    }

    /// Mean completeness toward another value of what the oracle predicted.
    #[must_use]
    pub fn predicted(&self) -> f64 {
        self.predicted / self.len() as f64
    }

    /// The answers of the oracle of the other property by true value, as counts.
    #[must_use]
    pub fn confusion(&self) -> &[Vec<f64>] {
        &self.confusion
    }

    /// Bytes that one takes for `n` examples of which `defined` have the other property.
    #[must_use]
    pub fn bytes(n: usize, defined: usize) -> usize {
        size_of::<Self>() + 4 * n + 8 * defined
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_come_back_in_order_with_their_gaps() {
        let part = |c: f64, s: Option<f64>| Scores {
            examples: ExampleScores { completeness: vec![c, c + 0.25], selectivity: vec![s, Some(0.5)] },
            prior: vec![0.5, 0.25],
            right: vec![s.map(|_| 1.0), Some(0.0)],
            predicted: vec![c, c],
            confusion: vec![vec![1.0, 0.0], vec![0.0, 1.0]],
        };
        let mut tally = Tally::default();
        tally.extend(&part(0.25, None));
        tally.extend(&part(0.5, Some(0.75)));
        let judged = tally.judged(&[None, Some(1), Some(0), Some(1)]);
        assert_eq!(judged.scores.completeness, [0.25, 0.5, 0.5, 0.75]);
        assert_eq!(judged.scores.selectivity, [None, Some(0.5), Some(0.75), Some(0.5)]);
        assert_eq!(judged.right, [None, Some(0.0), Some(1.0), Some(0.0)]);
        assert_eq!((tally.prior(), tally.predicted()), (Some(0.375), 0.375));
        assert_eq!(tally.confusion(), [[2.0, 0.0], [0.0, 2.0]]);
        let harmonic = (0.5 + reliability(0.5, 0.75) + 0.6) / 3.0;
        assert!((tally.mean_harmonic() - harmonic).abs() < 1e-12);
    }
}
