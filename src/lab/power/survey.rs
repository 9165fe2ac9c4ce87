//! Sizes of well-known data sets (Zhu et al. 2022, Tables 8 and 9), and whether each is large enough for the comparison at hand.
//!
//! Sizes are as printed there, most of them rounded to thousands. A set answers for the question only as far as its items behave
//! like those of the pilot: what is asked here is how many items there are.

use super::results::Results;
use figure::layers::grouped;

/// A published set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// Its suite and its name.
    pub name: &'static str,
    /// Items to train on; none if it has no such part.
    pub train: Option<u64>,
    /// Items to test on: all of them if there is no part to train on.
    pub test: u64,
}

/// A set with its items to train on (0 where all are for tests), and those to test on.
const fn known(name: &'static str, train: u64, test: u64) -> Known {
    Known { name, train: if train == 0 { None } else { Some(train) }, test }
}

/// The sets, in the order of the tables. Of SentEval they print 120,000 in all, which its files split 10 : 1 : 1; of Universal
/// Dependencies they count words.
pub(crate) const KNOWN: [Known; 45] = [
    known("SentEval word_content", 100_000, 10_000),
    known("SentEval top_constituents", 100_000, 10_000),
    known("SentEval tree_depth", 100_000, 10_000),
    known("SentEval sentence_length", 100_000, 10_000),
    known("SentEval past_present", 100_000, 10_000),
    known("SentEval bigram_shift", 100_000, 10_000),
    known("SentEval coord_inv", 100_000, 10_000),
    known("SentEval obj_num", 100_000, 10_000),
    known("UD Basque, words", 73_000, 24_000),
    known("UD English, words", 70_000, 16_000),
    known("UD Finnish, words", 128_000, 16_000),
    known("UD Marathi, words", 3_000, 448),
    known("UD Russian, words", 75_000, 11_000),
    known("UD Turkish, words", 39_000, 10_000),
    known("BLiMP anaphor_agreement", 0, 2_000),
    known("BLiMP argument_structure", 0, 9_000),
    known("BLiMP binding", 0, 7_000),
    known("BLiMP ellipsis", 0, 2_000),
    known("BLiMP island effects", 0, 8_000),
    known("BLiMP NPI licensing", 0, 7_000),
    known("BLiMP subject-verb agreement", 0, 6_000),
    known("oLMpics Always-Never", 1_004, 280),
    known("oLMpics Age-Comparison", 4_032, 500),
    known("oLMpics Objects-Comparison", 5_000, 500),
    known("oLMpics Antonym-Negation", 4_779, 500),
    known("oLMpics Property-Conjunction", 4_000, 483),
    known("oLMpics Taxonomy-Conjunction", 5_310, 599),
    known("oLMpics Encyclopedic-Composition", 5_317, 500),
    known("oLMpics Multi-Hop Composition", 5_000, 500),
    known("LAMA Google-RE / birth-place", 0, 1_937),
    known("LAMA Google-RE / birth-date", 0, 1_825),
    known("LAMA Google-RE / death-place", 0, 765),
    known("LAMA T-REx / 1-1", 0, 5_527),
    known("LAMA T-REx / N-1", 0, 20_006),
    known("LAMA T-REx / N-M", 0, 13_096),
    known("LAMA ConceptNet", 0, 11_458),
    known("LAMA SQuAD", 0, 305),
    known("CAT Conjunction Accessibility", 0, 183),
    known("CAT Winograd Schema Challenge", 0, 283),
    known("CAT Sense Making", 0, 1_877),
    known("CAT Sense Making with Reasoning", 0, 2_021),
    known("CAT SWAG", 0, 1_001),
    known("CAT HellaSWAG", 0, 1_000),
    known("CAT ability / arct_1", 0, 444),
    known("CAT ability / arct_2", 0, 888),
];

/// Size of a set's test part compared with the required one.
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
    pub set: Known,
    /// Its test part.
    pub size: Size,
    /// True if its training part is as large as the bound recommends; none without a bound or a training part.
    pub trains: Option<bool>,
}

/// The verdict on each set; none before there is a comparison.
pub fn verdicts(results: &Results) -> Option<Vec<Verdict>> {
    let required = &results.needed()?.value;
    let collapsed = results.collapsed().is_some();
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
        let trains = set.train.zip(results.recommended()).map(|(has, (wanted, _))| has >= wanted);
        Verdict { set, size, trains }
    };
    Some(KNOWN.into_iter().map(of).collect())
}

impl Verdict {
    /// Cells of a table: name, test items, verdict, training items, verdict of the bound.
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

pub const HEADS: [&str; 5] = ["set", "test", "this comparison", "train", "the bound"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{CollapseFinding, Open, RequiredFinding};
    use lab::Tagged;

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
    fn each_set_is_judged_by_the_interval_of_what_is_needed() {
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

    /// Names are unique within the columns of the page.
    #[test]
    fn names_are_short_and_each_there_once() {
        for (i, set) in KNOWN.iter().enumerate() {
            assert!(set.name.len() <= 32, "{}", set.name);
            assert!(KNOWN[..i].iter().all(|other| other.name != set.name), "{}", set.name);
        }
    }

    #[test]
    fn without_a_recommendation_there_is_no_verdict_on_any_set() {
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
