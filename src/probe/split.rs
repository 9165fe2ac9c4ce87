//! Splits examples into parts for training oracles, training interventions, and testing.
//!
//! The shares are those of Canby et al. (2024, section 4): 40 % oracle, 40 % intervention, 20 % test, and 5 % of each of the first two for
//! validation. Their data are a hundred times larger; here 5 % would be too few to distinguish settings, so at least 200 are used (but at
//! most a third).
//!
//! Parts are types, because an oracle trained on the same examples as an intervention would give a biased evaluation of it. Training
//! functions accept data of one role, and only a [`Split`] creates parts, after checking that they are disjoint.

use super::decorrelate::{DecorrelateError, decorrelate};
use rand_chacha::ChaCha8Rng;
use stats::rng::{shuffle, stream};
use std::marker::PhantomData;
use std::ops::Range;

/// Role of the examples and probes that evaluate interventions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Oracle {}

/// Role of the examples and probes used to compute interventions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intervention {}

/// The role of a part: [`Oracle`] or [`Intervention`].
pub trait Role: sealed::Sealed + Send + Sync + 'static {
    /// The name on screens and in findings.
    const NAME: &'static str;
}

mod sealed {
    /// Seals [`Role`].
    pub trait Sealed {}
    impl Sealed for super::Oracle {}
    impl Sealed for super::Intervention {}
}

impl Role for Oracle {
    const NAME: &'static str = "oracle";
}

impl Role for Intervention {
    const NAME: &'static str = "interventional";
}

/// Reasons why a split is impossible.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SplitError {
    /// A part would be empty.
    #[error("{n} examples are too few to split: at least {least} are needed")]
    TooFew {
        /// Number of examples given.
        n: usize,
        /// Number of examples needed.
        least: usize,
    },
    /// An example in two parts (or twice in one).
    #[error("example {row} is in the {first} part and again in the {second} part")]
    Overlap {
        /// Index of the example.
        row: usize,
        first: &'static str,
        second: &'static str,
    },
    /// An example that is not in the data.
    #[error("example {row} does not exist: the data has {n} examples")]
    OutOfRange {
        row: usize,
        /// Number of examples in the data.
        n: usize,
    },
    /// A part without examples.
    #[error("the {part} part is empty")]
    Empty { part: &'static str },
    /// The uncorrelated subset does not exist.
    #[error(transparent)]
    Decorrelate(#[from] DecorrelateError),
}

/// Training and validation examples of one role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part<R> {
    train: Vec<usize>,
    validation: Vec<usize>,
    role: PhantomData<R>,
}

/// Examples for training oracles.
pub type OracleSplit = Part<Oracle>;
/// Examples for training interventions and their probes.
pub type InterventionSplit = Part<Intervention>;

/// Examples not used for any training.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestSplit {
    rows: Vec<usize>,
}

/// Disjoint parts of a data set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    oracle: OracleSplit,
    intervention: InterventionSplit,
    test: TestSplit,
}

/// Minimum number of examples; with fewer, a part would be empty.
const LEAST: usize = 5;

impl Split {
    /// Splits `n` examples at random: 40 % oracle, 40 % intervention, 20 % test (rounded to whole examples). Validation takes 5 % of each
    /// of the first two, or [`VALIDATION`] if that is more, but at most a third.
    pub fn new(n: usize, seed: u64) -> Result<Self, SplitError> {
        if n < LEAST {
            return Err(SplitError::TooFew { n, least: LEAST });
        }
        let mut rows: Vec<usize> = (0..n).collect();
        shuffle(&mut stream(seed, "split"), &mut rows);
        let part = (2 * n + 2) / 5;
        let test = rows.split_off(2 * part);
        let intervention = rows.split_off(part);
        Self::from_rows(n, validated(rows), validated(intervention), test)
    }

    /// Makes a split from (training, validation) rows of oracles and interventions, and test rows. Other rows are unused.
    ///
    /// # Errors
    /// [`SplitError`] if a row is in two parts or outside `0..n`, or if a part is empty.
    pub fn from_rows(
        n: usize,
        oracle: (Vec<usize>, Vec<usize>),
        intervention: (Vec<usize>, Vec<usize>),
        test: Vec<usize>,
    ) -> Result<Self, SplitError> {
        let split =
            Self { oracle: Part::of(oracle), intervention: Part::of(intervention), test: TestSplit { rows: test } };
        split.check(n)?;
        Ok(split)
    }

    fn check(&self, n: usize) -> Result<(), SplitError> {
        let parts: [(&'static str, &[usize]); 5] = [
            ("oracle training", &self.oracle.train),
            ("oracle validation", &self.oracle.validation),
            ("intervention training", &self.intervention.train),
            ("intervention validation", &self.intervention.validation),
            ("test", &self.test.rows),
        ];
        let mut owner: Vec<Option<&'static str>> = vec![None; n];
        for (name, rows) in parts {
            if rows.is_empty() {
                return Err(SplitError::Empty { part: name });
            }
            for row in rows.iter().copied() {
                let seen = owner.get_mut(row).ok_or(SplitError::OutOfRange { row, n })?;
                if let Some(first) = seen.replace(name) {
                    return Err(SplitError::Overlap { row, first, second: name });
                }
            }
        }
        Ok(())
    }

    /// The same split of rows that belong to the examples: those of example `i` are `rows[i]`.
    ///
    /// # Panics
    /// If `rows` is shorter than the data set that was split.
    #[must_use]
    pub fn expanded(&self, rows: &[Range<usize>]) -> Self {
        Self {
            oracle: self.oracle.expanded(rows),
            intervention: self.intervention.expanded(rows),
            test: TestSplit { rows: expand(&self.test.rows, rows) },
        }
    }

    pub fn oracle(&self) -> &OracleSplit {
        &self.oracle
    }

    pub fn intervention(&self) -> &InterventionSplit {
        &self.intervention
    }

    pub fn test(&self) -> &TestSplit {
        &self.test
    }
}

/// Minimum for validation if there are enough examples; with fewer, a single answer would decide between settings.
pub(crate) const VALIDATION: usize = 200;

/// Moves rows from the end of a random order to validation: 5 %, or [`VALIDATION`] if that is more, but at most a third and at least one.
/// Returns both lists ascending.
fn validated(mut rows: Vec<usize>) -> (Vec<usize>, Vec<usize>) {
    let n = rows.len();
    let share = ((n + 10) / 20).max(VALIDATION.min(n / 3)).max(1).min(n);
    let mut validation = rows.split_off(n - share);
    rows.sort_unstable();
    validation.sort_unstable();
    (rows, validation)
}

/// The rows of these examples, in their order.
fn expand(examples: &[usize], rows: &[Range<usize>]) -> Vec<usize> {
    examples.iter().flat_map(|i| rows[*i].clone()).collect()
}

impl<R: Role> Part<R> {
    fn of((train, validation): (Vec<usize>, Vec<usize>)) -> Self {
        Self { train, validation, role: PhantomData }
    }

    /// See [`Split::expanded`].
    fn expanded(&self, rows: &[Range<usize>]) -> Self {
        Self::of((expand(&self.train, rows), expand(&self.validation, rows)))
    }

    /// All rows of the training examples and a single row of each validation example, because the rules that choose among probes count
    /// validation rows as independent. See [`Split::expanded`].
    #[must_use]
    pub fn validated_once(&self, rows: &[Range<usize>]) -> Self {
        let one = |i: &usize| rows[*i].start + i % rows[*i].len().max(1);
        Self::of((expand(&self.train, rows), self.validation.iter().map(one).collect()))
    }

    /// Rows for fitting weights.
    pub fn train(&self) -> &[usize] {
        &self.train
    }

    /// Rows for choosing hyperparameters.
    pub fn validation(&self) -> &[usize] {
        &self.validation
    }
}

impl Part<Intervention> {
    /// The examples of this part whose `target` (one value per example of the whole data set) is defined. Validation examples are drawn
    /// anew from these, because the part's own validation examples include too few with a rare property.
    ///
    /// # Panics
    ///
    /// If the list is shorter than the data set that was split.
    pub fn defined(&self, target: &[Option<usize>], seed: u64) -> Result<Self, SplitError> {
        let all = self.train.iter().chain(&self.validation).copied();
        let mut rows: Vec<usize> = all.filter(|r| target[*r].is_some()).collect();
        if rows.len() < 2 {
            return Err(SplitError::TooFew { n: rows.len(), least: 2 });
        }
        rows.sort_unstable();
        shuffle(&mut stream(seed, "labelled intervention examples"), &mut rows);
        Ok(Self::of(validated(rows)))
    }
}

impl Part<Oracle> {
    /// The largest subset of this part in which `target` and `other` (one value per example of the whole data set) are uncorrelated (see
    /// [`decorrelate`]). Its validation examples are drawn from it, so they are uncorrelated too. Examples with an undefined target are
    /// dropped; an undefined value counts as an additional value of `other`. `property` names the target: subsets for different targets use
    /// different streams.
    ///
    /// # Errors
    /// [`SplitError`] if no such subset exists or it is too small to validate on.
    ///
    /// # Panics
    /// If a list is shorter than the data set that was split.
    pub fn uncorrelated(
        &self,
        target: &[Option<usize>],
        other: &[Option<usize>],
        seed: u64,
        property: &str,
    ) -> Result<Self, SplitError> {
        let mut rows: Vec<usize> = self.train.iter().chain(&self.validation).copied().collect();
        rows.sort_unstable();
        let (t, o): (Vec<_>, Vec<_>) = rows.iter().map(|r| (target[*r], other[*r])).unzip();
        let mut rng: ChaCha8Rng = stream(seed, &format!("uncorrelated oracle examples for {property}"));
        let kept = decorrelate(&t, &o, &mut rng)?;
        let mut rows: Vec<usize> = kept.rows.iter().map(|i| rows[*i]).collect();
        if rows.len() < 2 {
            return Err(SplitError::TooFew { n: rows.len(), least: 2 });
        }
        shuffle(&mut rng, &mut rows);
        Ok(Self::of(validated(rows)))
    }
}

impl TestSplit {
    pub fn rows(&self) -> &[usize] {
        &self.rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(s: &Split) -> Vec<usize> {
        let parts =
            [&s.oracle.train, &s.oracle.validation, &s.intervention.train, &s.intervention.validation, &s.test.rows];
        parts.into_iter().flatten().copied().collect()
    }

    proptest! {
        #[test]
        fn parts_are_disjoint_and_cover(n in LEAST..3_000usize, seed: u64) {
            let s = Split::new(n, seed).unwrap();
            let mut rows = all(&s);
            rows.sort_unstable();
            prop_assert_eq!(rows, (0..n).collect::<Vec<_>>());
            let share = |k: usize, of: usize, want: f64| (k as f64 - want * of as f64).abs() <= 1.0;
            let o = s.oracle.train.len() + s.oracle.validation.len();
            let i = s.intervention.train.len() + s.intervention.validation.len();
            prop_assert!(share(o, n, 0.4) && share(i, n, 0.4) && share(s.test.rows.len(), n, 0.2));
            for (part, validation) in [(o, &s.oracle.validation), (i, &s.intervention.validation)] {
                let least = (part / 3).clamp(1, VALIDATION);
                prop_assert!(validation.len() >= least && validation.len() <= least.max(part / 20 + 1));
            }
            prop_assert_eq!(Split::new(n, seed).unwrap(), s);
        }

        #[test]
        fn uncorrelated_subset_stays_inside_its_part(n in 200usize..1_000, seed: u64) {
            let s = Split::new(n, seed).unwrap();
            let target: Vec<_> = (0..n).map(|i| Some(usize::from(i % 3 == 0))).collect();
            let other: Vec<_> = (0..n).map(|i| (i % 4 != 3).then_some(usize::from(i % 7 < 2))).collect();
            let u = s.oracle().uncorrelated(&target, &other, seed, "target").unwrap();
            let original: Vec<usize> = s.oracle.train.iter().chain(&s.oracle.validation).copied().collect();
            prop_assert!(u.train.iter().chain(&u.validation).all(|r| original.contains(r)));
            prop_assert!(u.train.iter().all(|r| !u.validation.contains(r)));
        }
    }

    /// If every sixth example has the property, the intervention part keeps only these examples and validates on enough of them.
    #[test]
    fn split_uses_only_labelled_examples() {
        let s = Split::new(6_000, 3).unwrap();
        let target: Vec<_> = (0..6_000).map(|i| (i % 6 == 0).then_some(i / 6 % 2)).collect();
        let part = s.intervention().defined(&target, 3).unwrap();
        let before: Vec<usize> = [s.intervention.train.as_slice(), &s.intervention.validation].concat();
        let after = [part.train.as_slice(), &part.validation].concat();
        assert!(after.iter().all(|r| target[*r].is_some() && before.contains(r)));
        assert_eq!(after.len(), before.iter().filter(|r| target[**r].is_some()).count());
        assert_eq!(part.validation.len(), (after.len() / 3).min(VALIDATION));
        let none = vec![None; 6_000];
        assert_eq!(s.intervention().defined(&none, 3), Err(SplitError::TooFew { n: 0, least: 2 }));
    }

    #[test]
    fn too_few_examples_are_refused() {
        assert_eq!(Split::new(4, 0), Err(SplitError::TooFew { n: 4, least: 5 }));
        assert!(Split::new(5, 0).is_ok());
    }

    #[test]
    fn parts_sharing_a_row_are_rejected() {
        let whole = Split::new(40, 1).unwrap();
        let [o, v, i, w, t] = [0, 1, 2, 3, 4];
        let parts = [
            whole.oracle.train.clone(),
            whole.oracle.validation.clone(),
            whole.intervention.train.clone(),
            whole.intervention.validation.clone(),
            whole.test.rows.clone(),
        ];
        let made = |p: &[Vec<usize>; 5]| {
            let of = |k: usize| p[k].clone();
            Split::from_rows(40, (of(o), of(v)), (of(i), of(w)), of(t))
        };
        assert_eq!(made(&parts), Ok(whole));
        for from in 0..5 {
            for to in (0..5).filter(|to| *to != from) {
                let mut faulty = parts.clone();
                let row = faulty[from][0];
                faulty[to].push(row);
                let refused = made(&faulty);
                assert!(matches!(refused, Err(SplitError::Overlap { row: r, .. }) if r == row), "{refused:?}");
            }
        }
    }

    #[test]
    fn overlapping_and_unknown_rows_are_rejected() {
        let make = |test| Split::from_rows(6, (vec![0], vec![1]), (vec![2], vec![3]), test);
        assert!(make(vec![4, 5]).is_ok());
        assert_eq!(make(vec![4, 1]), Err(SplitError::Overlap { row: 1, first: "oracle validation", second: "test" }));
        assert_eq!(make(vec![6]), Err(SplitError::OutOfRange { row: 6, n: 6 }));
        // A row twice in one part is refused too.
        assert_eq!(make(vec![4, 4]), Err(SplitError::Overlap { row: 4, first: "test", second: "test" }));
        assert_eq!(make(vec![]), Err(SplitError::Empty { part: "test" }));
    }
}
