//! Sizes of well-known data sets (Zhu et al. 2022, Tables 8 and 9), and whether each is large enough for the comparison.
//!
//! The paper prints most sizes rounded to thousands. Only numbers of items are compared; items of other data sets may behave differently
//! from the pilot's.

use super::results::Results;
use super::tables::{DATASETS, Dataset};
use figure::layers::grouped;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// Suite and name of the set.
    pub name: String,
    /// Number of training items; `None` if the set has no training part.
    pub train: Option<u64>,
    /// Number of test items, or of all items if the set has no training part.
    pub test: u64,
}

impl Known {
    /// Creates a set from its printed sizes. For SentEval, the total of 120,000 items is printed, which its files split 10 : 1 : 1. Sizes
    /// of Universal Dependencies are in words.
    pub(crate) fn new((suite, task, _, counts): &Dataset) -> Self {
        let name = if suite.starts_with("UD ") { format!("UD {task}, words") } else { format!("{suite} {task}") };
        let (train, test) = match counts {
            [all] if *suite == "SentEval" => (Some(all / 12 * 10), all / 12),
            [train, .., test] => (Some(*train), *test),
            counts => (None, counts.iter().sum()),
        };
        Self { name, train, test }
    }
}

/// Size of a set's test part relative to the requirement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// The set has at least the upper end of the required number.
    Enough,
    /// The set has at least the estimated number, but less than the upper end of its interval.
    Likely,
    /// The set has fewer items than the estimated number, but at least the lower end of its interval.
    Unlikely,
    /// The set has fewer items than the lower end of the interval.
    TooSmall,
    /// No number of items is known to be enough.
    NoAnswer,
}

impl Size {
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

/// A set compared with the run's requirements.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    pub set: Known,
    pub size: Size,
    /// True if the training part is at least as large as the bound recommends; `None` without a bound or a training part.
    pub trains: Option<bool>,
}

/// The verdict on each set; `None` before the first comparison.
pub fn verdicts(results: &Results) -> Option<Vec<Verdict>> {
    let required = &results.needed()?.value;
    let collapsed = results.collapsed().is_some();
    let n = required.n_test;
    let of = |set: &Dataset| {
        let set = Known::new(set);
        let at_least = |end: Option<f64>| end.is_some_and(|end| set.test as f64 >= end);
        let size = match n.mean {
            None => Size::NoAnswer,
            Some(_) if collapsed => Size::NoAnswer,
            Some(_) if at_least(n.hi) => Size::Enough,
            mean if at_least(mean) => Size::Likely,
            _ if at_least(n.lo) => Size::Unlikely,
            _ => Size::TooSmall,
        };
        let trains = set.train.zip(results.recommended()).map(|(has, (wanted, _))| has >= wanted);
        Verdict { set, size, trains }
    };
    Some(DATASETS.iter().map(of).collect())
}

impl Verdict {
    /// Table cells: name, test items, verdict, training items, verdict of the bound.
    pub fn cells(&self) -> [String; 5] {
        let number = |n: u64| grouped(n as usize);
        let trains = match self.trains {
            None => "–",
            Some(true) => "enough",
            Some(false) => "too small",
        };
        [
            self.set.name.clone(),
            number(self.set.test),
            self.size.words().to_owned(),
            self.set.train.map_or("–".to_owned(), number),
            trains.to_owned(),
        ]
    }
}

pub const HEADS: [&str; 5] = ["set", "test", "this comparison", "train", "the bound"];

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::finding::{CollapseFinding, Open, RequiredFinding};
    use lab::Tagged;

    pub(crate) fn tagged<T>(value: T) -> Tagged<T> {
        let (spec, model) = (String::new(), String::new());
        Tagged { spec, model, seed: 0, n: 640, is_final: true, t: 0.0, level: None, value }
    }

    /// Results that require `n_test` test items, and for which the bound recommends 50,000 training examples.
    pub(crate) fn asking(n_test: Open) -> Results {
        let (a, b) = ("a".to_owned(), "b".to_owned());
        let required = RequiredFinding {
            a,
            b,
            target: 0.8,
            alpha: 0.05,
            n_test,
            mde: None,
            power: 0.5,
            band: None,
            design: None,
            trained: None,
            n_train: Some(50_000),
            n_total: Some(75_000),
            bound: Some("published".into()),
            parameters: Some(769),
        };
        Results { required: Some(tagged(required)), ..Results::default() }
    }

    #[test]
    fn known_sets_are_judged_by_the_required_interval() {
        let results = asking(Open { mean: Some(1_000.0), lo: Some(400.0), hi: Some(3_000.0) });
        let all = verdicts(&results).unwrap();
        let of = |name: &str| {
            let v = all.iter().find(|v| v.set.name == name).unwrap();
            (v.size, v.trains)
        };
        assert_eq!(of("CAT Winograd Schema Challenge"), (Size::TooSmall, None));
        assert_eq!(of("oLMpics Age-Comparison"), (Size::Unlikely, Some(false)));
        assert_eq!(of("CAT HellaSWAG"), (Size::Likely, None));
        assert_eq!(of("SentEval tree_depth"), (Size::Enough, Some(true)));
        assert_eq!(of("UD Turkish, words"), (Size::Enough, Some(false)));
    }

    /// Names are unique and fit the column.
    #[test]
    fn set_names_are_short_and_unique() {
        let all: Vec<String> = DATASETS.iter().map(|set| Known::new(set).name).collect();
        for (i, name) in all.iter().enumerate() {
            assert!(name.len() <= 32 && !all[..i].contains(name), "{name}");
        }
    }

    #[test]
    fn without_recommendation_no_set_has_a_verdict() {
        let open = Open { mean: None, lo: Some(400.0), hi: None };
        assert!(verdicts(&asking(open)).unwrap().iter().all(|v| v.size == Size::NoAnswer));
        let mut results = asking(Open { mean: Some(10.0), lo: Some(5.0), hi: None });
        let (a, b) = ("a".to_owned(), "b".to_owned());
        results.collapse = Some(tagged(CollapseFinding { a, b, collapsed: true, reasons: Vec::new() }));
        let all = verdicts(&results).unwrap();
        assert!(all.iter().all(|v| v.size == Size::NoAnswer && v.trains.is_none()));
        assert!(verdicts(&Results::default()).is_none());
    }
}
