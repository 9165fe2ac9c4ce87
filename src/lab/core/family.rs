//! The family of comparisons: everything that was tested and shown in a session, corrected for its number.
//!
//! A p-value means what it says for one test that was planned. Anyone who looks at twenty comparisons and reports the best has
//! made twenty; the corrections here are over all of them.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::{Deserialize, Serialize};

use super::LabId;
use stats::corrections::{benjamini_hochberg, holm};

/// A comparison that was shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The lab that made it.
    pub lab: LabId,
    /// Hash of the spec that it comes from.
    pub spec: String,
    /// The comparison in words: the same words for the same comparison.
    pub what: String,
    /// The test, for example `exact McNemar`.
    pub test: String,
    /// Examples behind it.
    pub n: usize,
    /// The p-value of this comparison alone.
    pub p: f64,
    /// True if it belongs to a plan that was fixed before the results were seen.
    #[serde(default)]
    pub planned: bool,
}

/// A comparison with what its p-value becomes over the family.
#[derive(Debug, Clone, PartialEq)]
pub struct Corrected<'a> {
    pub comparison: &'a Comparison,
    /// Its p-value adjusted by Holm: controls the chance of any false rejection.
    pub holm: f64,
    /// Its q-value by Benjamini and Hochberg: controls the expected share of false ones among the rejections.
    pub bh: f64,
}

impl Comparison {
    /// True if two of them answer one question.
    fn same(&self, other: &Self) -> bool {
        self.lab == other.lab && self.spec == other.spec && self.what == other.what && self.test == other.test
    }

    /// The same number for all that answer one question, and now and then for others.
    fn number(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.lab, &self.spec, &self.what, &self.test).hash(&mut hasher);
        hasher.finish()
    }
}

/// Every comparison of a session.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(from = "Members")]
pub struct Family {
    members: Vec<Comparison>,
    /// Places of the members by number: a grid of thousands of cells has hundreds of thousands of members, and each new
    /// one asks whether it is there.
    #[serde(skip)]
    places: HashMap<u64, Vec<usize>>,
}

/// The stored form of a family.
#[derive(Deserialize)]
struct Members {
    members: Vec<Comparison>,
}

impl From<Members> for Family {
    fn from(Members { members }: Members) -> Self {
        let mut places: HashMap<u64, Vec<usize>> = HashMap::new();
        for (at, member) in members.iter().enumerate() {
            places.entry(member.number()).or_default().push(at);
        }
        Self { members, places }
    }
}

impl PartialEq for Family {
    fn eq(&self, other: &Self) -> bool {
        self.members == other.members
    }
}

impl Family {
    /// Adds a comparison. The same comparison of the same spec, made again on more examples, replaces itself: looking
    /// twice at one question is one question. A planned comparison stays, and an exploratory one about the same is
    /// separate.
    pub fn join(&mut self, new: Comparison) {
        let places = self.places.entry(new.number()).or_default();
        let mut same = places.iter().filter(|at| self.members[**at].same(&new));
        let like = same.clone().find(|at| self.members[**at].planned == new.planned);
        match like.or_else(|| same.next().filter(|_| new.planned)) {
            Some(at) => self.members[*at] = new,
            None => {
                places.push(self.members.len());
                self.members.push(new);
            }
        }
    }

    /// Number of comparisons.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// True if nothing has been compared.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// All comparisons in the order in which they were first shown, corrected over the family. One whose p-value is not
    /// a number counts as a test and is never rejected.
    pub fn corrected(&self) -> Vec<Corrected<'_>> {
        let p: Vec<f64> = self.members.iter().map(|c| if c.p.is_nan() { 1.0 } else { c.p }).collect();
        let (holm, bh) = (holm(&p), benjamini_hochberg(&p));
        let each = self.members.iter().zip(holm).zip(bh);
        each.map(|((comparison, holm), bh)| Corrected { comparison, holm, bh }).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn comparison(what: &str, p: f64) -> Comparison {
        let (lab, spec) = (LabId::Interventions, "s".to_owned());
        Comparison { lab, spec, what: what.into(), test: "sign test".into(), n: 10, p, planned: false }
    }

    /// The bug: the comparison that a plan made at its n was overwritten by that of all items.
    #[test]
    fn what_a_plan_made_stays_beside_what_is_looked_at_later() {
        let mut family = Family::default();
        let new = |n: usize, p: f64, planned: bool| Comparison { n, planned, ..comparison("a", p) };
        family.join(new(64, 0.5, false));
        family.join(new(200, 0.64, true));
        assert_eq!(family.len(), 1, "looks on the way are the same question");
        // As a run reports it: interim comparisons, then all final ones once more.
        for next in [new(256, 0.2, false), new(200, 0.64, true), new(400, 0.04, false), new(200, 0.64, true)]
        {
            family.join(next);
        }
        let all = family.corrected();
        let told: Vec<_> = all.iter().map(|c| (c.comparison.n, c.comparison.planned, c.holm)).collect();
        assert_eq!(told, [(200, true, 0.64), (400, false, 0.08)]);
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

    /// [`Family::join`] by its definition: looks at every member.
    fn joined_one_by_one(members: &mut Vec<Comparison>, new: Comparison) {
        let of = |planned: bool| members.iter().position(|c| c.same(&new) && c.planned == planned);
        let at = if new.planned { of(true).or(of(false)) } else { of(false) };
        match at {
            Some(at) => members[at] = new,
            None => members.push(new),
        }
    }

    proptest! {
        #[test]
        fn joining_by_number_is_joining_by_looking_at_every_member(
            all in proptest::collection::vec((0..2_usize, "[ab]", "[a-c]{1,2}", "[tu]", 0.0..1.0_f64), 0..120), stored in 0..120_usize,
        ) {
            let (mut family, mut plain) = (Family::default(), Vec::new());
            for (k, (lab, spec, what, test, p)) in all.into_iter().enumerate() {
                let lab = [LabId::Interventions, LabId::Power][lab];
                let new = Comparison { lab, spec, what, test, n: k, p, planned: k % 3 == 0 };
                joined_one_by_one(&mut plain, new.clone());
                family.join(new);
                if k == stored {
                    // A family that was stored and read continues like the original.
                    family = serde_json::from_str(&serde_json::to_string(&family).unwrap()).unwrap();
                }
            }
            prop_assert_eq!(&family.members, &plain);
        }
    }

    /// A grid of ten thousand cells took minutes to join: each comparison was compared with all that were there.
    #[test]
    fn a_large_family_is_joined_in_time_that_grows_with_its_size() {
        let mut family = Family::default();
        let begun = std::time::Instant::now();
        for k in 0..200_000 {
            family.join(comparison(&format!("comparison {k}"), 0.5));
        }
        assert_eq!(family.len(), 200_000);
        assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
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
