//! The family of comparisons: everything that was tested and shown in a session, corrected for its number.
//!
//! A p-value means what it says for one test that was planned. Anyone who looks at twenty comparisons and reports the best has
//! made twenty; the corrections here are over all of them.

use serde::{Deserialize, Serialize};

use super::LabId;
use crate::stats::corrections::{benjamini_hochberg, holm};

/// A comparison that was shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The lab that made it.
    pub lab: LabId,
    /// Hash of the spec that it comes from.
    pub spec: String,
    /// What was compared, in words: the same words for the same comparison.
    pub what: String,
    /// The test, for example `exact McNemar`.
    pub test: String,
    /// Examples behind it.
    pub n: usize,
    /// The p-value of this comparison alone.
    pub p: f64,
    /// Whether it belongs to a plan that was fixed before the results were seen.
    #[serde(default)]
    pub planned: bool,
}

/// A comparison with what its p-value becomes over the family.
#[derive(Debug, Clone, PartialEq)]
pub struct Corrected<'a> {
    /// The comparison.
    pub comparison: &'a Comparison,
    /// Its p-value adjusted by Holm: controls the chance of any false rejection.
    pub holm: f64,
    /// Its q-value by Benjamini and Hochberg: controls the expected share of false ones among the rejections.
    pub bh: f64,
}

/// Every comparison of a session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Family {
    members: Vec<Comparison>,
}

impl Family {
    /// Adds a comparison. The same comparison of the same spec, made again on more examples, replaces itself: looking
    /// twice at one question is one question.
    pub fn join(&mut self, new: Comparison) {
        let same = |c: &Comparison| {
            c.lab == new.lab && c.spec == new.spec && c.what == new.what && c.test == new.test
        };
        match self.members.iter_mut().find(|c| same(c)) {
            Some(old) => *old = new,
            None => self.members.push(new),
        }
    }

    /// Number of comparisons.
    #[must_use]
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether nothing has been compared.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// All comparisons in the order in which they were first shown, corrected over the family. One whose p-value is no
    /// number counts as a test and is never rejected.
    #[must_use]
    pub fn corrected(&self) -> Vec<Corrected<'_>> {
        let p: Vec<f64> = self.members.iter().map(|c| if c.p.is_nan() { 1.0 } else { c.p }).collect();
        let (holm, bh) = (holm(&p), benjamini_hochberg(&p));
        let each = self.members.iter().zip(holm).zip(bh);
        each.map(|((comparison, holm), bh)| Corrected { comparison, holm, bh }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comparison(what: &str, p: f64) -> Comparison {
        let (lab, spec) = (LabId::Interventions, "s".to_owned());
        Comparison { lab, spec, what: what.into(), test: "sign test".into(), n: 10, p, planned: false }
    }

    #[test]
    fn a_question_that_is_asked_again_is_one_question() {
        let mut family = Family::default();
        family.join(comparison("a", 0.5));
        family.join(comparison("b", 0.01));
        family.join(comparison("a", 0.02));
        assert_eq!(family.len(), 2);
        let all = family.corrected();
        assert_eq!(all.iter().map(|c| c.comparison.p).collect::<Vec<_>>(), [0.02, 0.01]);
        assert_eq!(all.iter().map(|c| c.holm).collect::<Vec<_>>(), [0.02, 0.02]);
        assert_eq!(all.iter().map(|c| c.bh).collect::<Vec<_>>(), [0.02, 0.02]);
    }

    #[test]
    fn what_is_no_number_counts_and_is_never_rejected() {
        let mut family = Family::default();
        family.join(comparison("a", f64::NAN));
        family.join(comparison("b", 0.03));
        let all = family.corrected();
        assert_eq!((all[0].holm, all[1].holm), (1.0, 0.06));
    }
}
