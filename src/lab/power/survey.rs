//! Sizes of well-known data sets, and whether each is large enough for the comparison at hand.
//!
//! Sizes are those that the sets' own pages name. A set answers for the question only as far as its items behave like those of
//! the pilot: what is asked here is how many items there are.

use super::results::Results;
use crate::figure::layers::grouped;

/// A published set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// Its name.
    pub name: &'static str,
    /// Items to train on; none where it has no such part.
    pub train: Option<u64>,
    /// Items with public labels to test on.
    pub test: u64,
}

/// A set, its name, its items to train on, and those to test on.
const fn known(name: &'static str, train: u64, test: u64) -> Known {
    Known { name, train: if train == 0 { None } else { Some(train) }, test }
}

/// The sets, smallest test part first. GLUE and SuperGLUE publish no test labels: their validation parts count.
pub const KNOWN: [Known; 9] = [
    known("SuperGLUE COPA (validation)", 400, 100),
    known("SuperGLUE WSC (validation)", 554, 104),
    known("GLUE MRPC (validation)", 3_668, 408),
    known("GLUE SST-2 (validation)", 67_349, 872),
    known("BLiMP, one paradigm", 0, 1_000),
    known("GLUE CoLA (validation)", 8_551, 1_043),
    known("SuperGLUE BoolQ (validation)", 9_427, 3_270),
    known("SentEval probing, one task", 100_000, 10_000),
    known("BLiMP, all 67 paradigms", 0, 67_000),
];

/// How a set's test part compares with what is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// More than the pilot's uncertainty asks for.
    Enough,
    /// More than the estimate, less than the upper end of its interval.
    Likely,
    /// Less than the estimate, more than the lower end.
    Unlikely,
    /// Less than the lower end of the interval.
    TooSmall,
    /// No number of items is known to be enough.
    NoAnswer,
}

impl Size {
    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Size::Enough => "enough",
            Size::Likely => "likely enough",
            Size::Unlikely => "likely too small",
            Size::TooSmall => "too small",
            Size::NoAnswer => "no n recommended",
        }
    }
}

/// A set under the question at hand.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Verdict {
    /// The set.
    pub set: Known,
    /// Its test part.
    pub size: Size,
    /// Whether its training part is what the bound recommends; none without a bound or a training part.
    pub trains: Option<bool>,
}

/// The verdict on each set; none before there is a comparison.
#[must_use]
pub fn verdicts(results: &Results) -> Option<Vec<Verdict>> {
    let required = &results.needed()?.value;
    let collapsed = results.collapse.as_ref().is_some_and(|c| c.value.collapsed);
    let n = required.n_test;
    let of = |set: Known| {
        let at_least = |end: Option<f64>| end.is_some_and(|end| set.test as f64 >= end);
        let size = match n.mean {
            None => Size::NoAnswer,
            Some(_) if collapsed => Size::NoAnswer,
            Some(_) if at_least(n.hi) => Size::Enough,
            mean if at_least(mean) => Size::Likely,
            _ if at_least(n.lo) => Size::Unlikely,
            _ => Size::TooSmall,
        };
        let trains = set.train.zip(required.n_train).map(|(has, wanted)| has >= wanted);
        Verdict { set, size, trains }
    };
    Some(KNOWN.into_iter().map(of).collect())
}

impl Verdict {
    /// Cells of a table: name, test items, verdict, training items, verdict of the bound.
    #[must_use]
    pub fn cells(&self) -> [String; 5] {
        let number = |n: u64| grouped(n as usize);
        let trains = match self.trains {
            None => "–",
            Some(true) => "enough",
            Some(false) => "too small",
        };
        [
            self.set.name.to_owned(),
            number(self.set.test),
            self.size.words().to_owned(),
            self.set.train.map_or("–".to_owned(), number),
            trains.to_owned(),
        ]
    }
}

/// Heads of the table.
pub const HEADS: [&str; 5] = ["set", "test", "this comparison", "train", "the bound"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::Tagged;
    use crate::lab::power::finding::{CollapseFinding, Open, RequiredFinding};

    fn tagged<T>(value: T) -> Tagged<T> {
        let (spec, model) = (String::new(), String::new());
        Tagged { spec, model, seed: 0, n: 640, is_final: true, t: 0.0, level: None, value }
    }

    fn asking(n_test: Open) -> Results {
        let (a, b) = ("a".to_owned(), "b".to_owned());
        let required = RequiredFinding {
            a,
            b,
            target: 0.8,
            alpha: 0.05,
            n_test,
            mde: None,
            power: 0.5,
            n_train: Some(50_000),
            n_total: Some(75_000),
            bound: Some("published".into()),
            parameters: Some(769),
        };
        Results { required: Some(tagged(required)), ..Results::default() }
    }

    #[test]
    fn each_set_is_judged_by_the_interval_of_what_is_needed() {
        let results = asking(Open { mean: Some(1_000.0), lo: Some(400.0), hi: Some(3_000.0) });
        let all = verdicts(&results).unwrap();
        let sizes: Vec<Size> = all.iter().map(|v| v.size).collect();
        assert_eq!(sizes[..3], [Size::TooSmall, Size::TooSmall, Size::Unlikely]);
        assert_eq!(sizes[4..7], [Size::Likely, Size::Likely, Size::Enough]);
        let trains: Vec<Option<bool>> = all.iter().map(|v| v.trains).collect();
        assert_eq!((trains[0], trains[3], trains[4]), (Some(false), Some(true), None));
        assert!(KNOWN.windows(2).all(|w| w[0].test <= w[1].test));
    }

    #[test]
    fn without_a_recommendation_there_is_no_verdict_on_any_set() {
        let open = Open { mean: None, lo: Some(400.0), hi: None };
        assert!(verdicts(&asking(open)).unwrap().iter().all(|v| v.size == Size::NoAnswer));
        let mut results = asking(Open { mean: Some(10.0), lo: Some(5.0), hi: None });
        let (a, b) = ("a".to_owned(), "b".to_owned());
        results.collapse = Some(tagged(CollapseFinding { a, b, collapsed: true, reasons: Vec::new() }));
        assert!(verdicts(&results).unwrap().iter().all(|v| v.size == Size::NoAnswer));
        assert!(verdicts(&Results::default()).is_none());
    }
}
