//! Scores of one set of probes at one strength, small enough to keep for all strengths and replicates of a sweep.

use super::bench::Scores;
use super::score::{ExampleScores, Kept, mean_over, reliability};
use super::table::{Further, Judged};

/// Per-example scores in single precision, selectivity only where defined, and sums of scores that are only averaged.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tally {
    completeness: Vec<f32>,
    selectivity: Vec<f32>,
    right: Vec<f32>,
    harmonics: f64,
    /// Number of examples summed in `harmonics`.
    with_both: usize,
    prior: Option<f64>,
    predicted: f64,
    confusion: Vec<Vec<f64>>,
    further: Vec<FurtherKept>,
}

/// Selectivity on an additional property and whether it is read correctly, where defined.
#[derive(Debug, Clone, Default, PartialEq)]
struct FurtherKept {
    selectivity: Vec<f32>,
    right: Vec<f32>,
}

impl Tally {
    /// Appends the scores of additional examples.
    pub fn extend(&mut self, more: &Scores) {
        let examples = &more.examples;
        self.completeness.extend(examples.completeness.iter().map(|c| *c as f32));
        for (s, right) in examples.selectivity.iter().zip(&more.right) {
            if let Some(s) = s {
                self.selectivity.push(*s as f32);
                self.right.push(right.unwrap_or(0.0) as f32);
            }
        }
        // An example's selectivity is the mean over the properties that it has.
        let several: Vec<Vec<Option<f64>>> = std::iter::once(&examples.selectivity)
            .chain(more.further.iter().map(|k| &k.selectivity))
            .cloned()
            .collect();
        for (c, s) in examples.completeness.iter().zip(mean_over(&several)) {
            if let Some(s) = s {
                self.harmonics += reliability(*c, s);
                self.with_both += 1;
            }
        }
        self.further.resize(more.further.len(), FurtherKept::default());
        for (kept, more) in self.further.iter_mut().zip(&more.further) {
            for (s, right) in more.selectivity.iter().zip(&more.right) {
                if let Some(s) = s {
                    kept.selectivity.push(*s as f32);
                    kept.right.push(right.unwrap_or(0.0) as f32);
                }
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

    pub fn len(&self) -> usize {
        self.completeness.len()
    }

    pub fn is_empty(&self) -> bool {
        self.completeness.is_empty()
    }

    /// The scores by example. `other` contains each example's true value of the other property; `further` contains the additional
    /// properties.
    ///
    /// # Panics
    /// If `other` has a different number of examples.
    pub fn judged(&self, other: &[Option<usize>], further: &[Further]) -> Judged {
        assert_eq!(other.len(), self.len(), "labels do not fit the examples");
        let spread = |list: &[f32], labels: &[Option<usize>]| -> Vec<Option<f64>> {
            let mut list = list.iter();
            labels.iter().map(|o| o.and_then(|_| list.next()).map(|v| f64::from(*v))).collect()
        };
        let selectivity = spread(&self.selectivity, other);
        let right = spread(&self.right, other);
        let kept = self.further.iter().zip(further).map(|(kept, labels)| Kept {
            selectivity: spread(&kept.selectivity, &labels.values),
            right: spread(&kept.right, &labels.values),
        });
        let further = kept.collect();
        let completeness = self.completeness.iter().map(|c| f64::from(*c)).collect();
        Judged { scores: ExampleScores { completeness, selectivity }, right, further }
    }

    /// Mean of the examples' harmonic means; NaN if no example has both scores.
    pub fn mean_harmonic(&self) -> f64 {
        self.harmonics / self.with_both as f64
    }

    /// Mean completeness toward the class prior, for nullifying methods.
    pub fn prior(&self) -> Option<f64> {
        self.prior.map(|sum| sum / self.len() as f64)
    }

    /// Mean completeness toward a value other than the oracle's prediction.
    pub fn predicted(&self) -> f64 {
        self.predicted / self.len() as f64
    }

    /// Confusion matrix of the other property's oracle, as counts, with true values as rows.
    pub(crate) fn confusion(&self) -> &[Vec<f64>] {
        &self.confusion
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_keep_order_and_gaps() {
        let part = |c: f64, s: Option<f64>| Scores {
            examples: ExampleScores { completeness: vec![c, c + 0.25], selectivity: vec![s, Some(0.5)] },
            prior: vec![0.5, 0.25],
            right: vec![s.map(|_| 1.0), Some(0.0)],
            predicted: vec![c, c],
            confusion: vec![vec![1.0, 0.0], vec![0.0, 1.0]],
            further: vec![Kept { selectivity: vec![Some(c), s], right: vec![Some(1.0), s.map(|_| 0.0)] }],
        };
        let mut tally = Tally::default();
        tally.extend(&part(0.25, None));
        tally.extend(&part(0.5, Some(0.75)));
        let values = vec![Some(2), None, Some(0), Some(1)];
        let further = [Further { name: "animacy", values, classes: 3 }];
        let judged = tally.judged(&[None, Some(1), Some(0), Some(1)], &further);
        assert_eq!(judged.further[0].selectivity, [Some(0.25), None, Some(0.5), Some(0.75)]);
        assert_eq!(judged.further[0].right, [Some(1.0), None, Some(1.0), Some(0.0)]);
        assert_eq!(judged.scores.completeness, [0.25, 0.5, 0.5, 0.75]);
        assert_eq!(judged.scores.selectivity, [None, Some(0.5), Some(0.75), Some(0.5)]);
        assert_eq!(judged.right, [None, Some(0.0), Some(1.0), Some(0.0)]);
        assert_eq!((tally.prior(), tally.predicted()), (Some(0.375), 0.375));
        assert_eq!(tally.confusion(), [[2.0, 0.0], [0.0, 2.0]]);
        // Selectivity by example: .25 on the first property only; .5 on the second only; .75 and .5; .5 and .75.
        let harmonic = (0.25 + 0.5 + reliability(0.5, 0.625) + reliability(0.75, 0.625)) / 4.0;
        assert!((tally.mean_harmonic() - harmonic).abs() < 1e-12);
    }
}
