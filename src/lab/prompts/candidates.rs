//! The rules by which a word is read off a model's logits, and the result.
//!
//! - `vocabulary`: of the ten best tokens the first that is not a function word; if all ten are, the tenth (Cao et al. 2022 as
//!   their code has it). The rank of an object is among all tokens that are not function words. Special tokens do not count.
//! - `intersection`: the best of the words that are one token in every model of the run, without function words.
//! - `relation`: the best of the relation's own answers.
//!
//! A fourth, `relation_pll`, is beyond the paper: the relation's own answers of any number of tokens ([`super::rule`]).

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::function_words::FunctionWords;

/// Tokens among which the first rule looks.
pub(crate) const TOP: usize = 10;

/// Rule that defines the possible answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Candidates {
    /// The model's whole vocabulary, by the paper's rule.
    #[default]
    Vocabulary,
    /// The words that all chosen models share.
    Intersection,
    /// The answers of the relation.
    Relation,
    /// The answers of the relation, whatever their number of tokens, by pseudo-log-likelihood. Beyond the paper.
    RelationPll,
}

impl Candidates {
    /// All rules, in the order of choice.
    pub const ALL: [Self; 4] = [Self::Vocabulary, Self::Intersection, Self::Relation, Self::RelationPll];

    /// Description of the words that it accepts as answers.
    pub(crate) fn about(self) -> &'static str {
        match self {
            Self::Vocabulary => "the best token that is not a function word, among the ten best of the vocabulary",
            Self::Intersection => "the best of the words that are one token in every model",
            Self::Relation => "the best of the answers of the relation",
            Self::RelationPll => "the best of the answers of the relation, by pseudo-log-likelihood",
        }
    }

    /// Name in specs and findings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Vocabulary => "vocabulary",
            Self::Intersection => "intersection",
            Self::Relation => "relation",
            Self::RelationPll => "relation_pll",
        }
    }
}

/// The strings of a model's tokens, and how the rules treat them.
#[derive(Debug, Clone, PartialEq)]
pub struct Strings {
    /// By id: the token as text, trimmed.
    texts: Vec<String>,
    /// By id: true if it is skipped.
    passed: Vec<bool>,
    /// Special tokens, which are never candidates.
    special: Vec<bool>,
    /// Ids by the string they read as, in ascending order.
    ids: HashMap<String, Vec<u32>>,
    ignore_case: bool,
}

impl Strings {
    /// For all tokens, by id.
    pub fn new(texts: Vec<String>, function_words: &FunctionWords, ignore_case: bool) -> Self {
        let passed = texts.iter().map(|t| function_words.contains(t)).collect();
        let mut ids: HashMap<String, Vec<u32>> = HashMap::new();
        for (id, text) in texts.iter().enumerate() {
            ids.entry(folded(text, ignore_case)).or_default().push(id as u32);
        }
        Self { special: vec![false; texts.len()], texts, passed, ids, ignore_case }
    }

    /// The same, if these (special) tokens are never an answer.
    #[must_use]
    pub fn without(mut self, special: &[u32]) -> Self {
        for id in special.iter().map(|id| *id as usize).filter(|id| *id < self.texts.len()) {
            self.passed[id] = true;
            self.special[id] = true;
        }
        self
    }

    /// True for a token that is never an answer.
    pub fn passes_over(&self, id: u32) -> bool {
        self.passed.get(id as usize).copied().unwrap_or(true)
    }

    /// A token as text.
    pub fn text(&self, id: u32) -> &str {
        self.texts.get(id as usize).map_or("", String::as_str)
    }

    /// True if the rules treat two words as the same.
    pub fn same(&self, a: &str, b: &str) -> bool {
        folded(a, self.ignore_case) == folded(b, self.ignore_case)
    }

    /// The ids that read as a word.
    fn reading(&self, word: &str) -> &[u32] {
        self.ids.get(&folded(word, self.ignore_case)).map_or(&[], Vec::as_slice)
    }
}

/// The form of a word used in comparisons.
pub fn folded(word: &str, ignore_case: bool) -> String {
    if ignore_case { word.to_lowercase() } else { word.to_owned() }
}

/// A model's answer to one query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reply {
    /// The token of the prediction.
    pub id: u32,
    /// Place of the object among the candidates, 1 the best; `None` if it is not a candidate.
    pub rank: Option<u32>,
}

/// Ids by descending logit; for equal logits the lower id first.
fn by_logit(logits: &[f32], ids: impl Iterator<Item = u32>, most: usize) -> Vec<u32> {
    let mut best: Vec<u32> = Vec::with_capacity(most + 1);
    let before = |a: u32, b: u32| {
        let (x, y) = (logits[a as usize], logits[b as usize]);
        y.total_cmp(&x).then(a.cmp(&b)).is_lt()
    };
    for id in ids {
        if best.len() == most && best.last().is_some_and(|last| !before(id, *last)) {
            continue;
        }
        let at = best.partition_point(|b| before(*b, id));
        best.insert(at, id);
        best.truncate(most);
    }
    best
}

/// The best tokens of a query, best first.
pub fn top(logits: &[f32], most: usize) -> Vec<u32> {
    by_logit(logits, 0..logits.len() as u32, most)
}

/// The reply under the first rule.
pub fn from_vocabulary(strings: &Strings, logits: &[f32], object: &str) -> Reply {
    let known = logits.len().min(strings.texts.len()) as u32;
    let best = by_logit(logits, (0..known).filter(|id| !strings.special[*id as usize]), TOP);
    let first = best.iter().find(|id| !strings.passed[**id as usize]);
    let id = first.or(best.last()).copied().unwrap_or(0);
    let objects = strings.reading(object).iter().copied().filter(|i| *i < known);
    let target = objects
        .filter(|i| !strings.passed[*i as usize])
        .min_by(|a, b| logits[*b as usize].total_cmp(&logits[*a as usize]).then(a.cmp(b)));
    let rank = target.map(|target| {
        let wanted = logits[target as usize];
        let ahead = (0..known).filter(|i| {
            let logit = logits[*i as usize];
            !strings.passed[*i as usize]
                && (logit.total_cmp(&wanted).is_gt() || logit.total_cmp(&wanted).is_eq() && *i < target)
        });
        1 + ahead.count() as u32
    });
    Reply { id, rank }
}

/// The reply if the candidates are these tokens; `logits` has their logits, in the same order. `None` without candidates.
pub fn from_list(strings: &Strings, ids: &[u32], logits: &[f32], object: &str) -> Option<Reply> {
    let before = |a: usize, b: usize| logits[b].total_cmp(&logits[a]).then(ids[a].cmp(&ids[b])).is_lt();
    let first = (0..ids.len()).reduce(|best, k| if before(k, best) { k } else { best })?;
    let mut of_object = (0..ids.len()).filter(|k| strings.same(strings.text(ids[*k]), object));
    let target = of_object.next().map(|one| of_object.fold(one, |a, b| if before(b, a) { b } else { a }));
    let rank = target.map(|t| 1 + (0..ids.len()).filter(|k| before(*k, t)).count() as u32);
    Some(Reply { id: ids[first], rank })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(list: &[&str]) -> Strings {
        Strings::new(list.iter().map(|s| (*s).to_owned()).collect(), &FunctionWords::own(), false)
    }

    #[test]
    fn function_words_are_passed_over_and_do_not_count_in_ranks() {
        let s = strings(&["the", "river", "of", "wide", "The"]);
        let reply = from_vocabulary(&s, &[9.0, 5.0, 8.0, 6.0, 1.0], "river");
        assert_eq!((s.text(reply.id), reply.rank), ("wide", Some(2)));
        assert_eq!(from_vocabulary(&s, &[9.0, 5.0, 8.0, 6.0, 7.0], "absent").rank, None);
        assert_eq!(s.text(from_vocabulary(&s, &[9.0, 5.0, 8.0, 6.0, 7.0], "absent").id), "The");
        // A function word cannot be a candidate, not even as the object.
        assert_eq!(from_vocabulary(&s, &[9.0, 5.0, 8.0, 6.0, 1.0], "the").rank, None);
    }

    #[test]
    fn the_tenth_of_ten_function_words_is_the_answer() {
        let list = ["the", "of", "in", "is", "a", "an", "and", "or", "but", "if", "river"];
        let logits: Vec<f32> = (0..11).map(|k| 20.0 - k as f32).collect();
        let s = strings(&list);
        assert_eq!(s.text(from_vocabulary(&s, &logits, "river").id), "if");
        assert_eq!(from_vocabulary(&s, &logits, "river").rank, Some(1));
    }

    #[test]
    fn equal_logits_go_by_the_lower_id() {
        let s = strings(&["x", "z", "x"]);
        assert_eq!(from_vocabulary(&s, &[1.0, 1.0, 1.0], "z"), Reply { id: 0, rank: Some(2) });
        assert_eq!(from_list(&s, &[1, 0], &[1.0, 1.0], "x"), Some(Reply { id: 0, rank: Some(1) }));
        assert_eq!(from_list(&s, &[], &[], "x"), None);
        assert_eq!(top(&[1.0, 3.0, 3.0, 2.0], 3), [1, 2, 3]);
    }

    #[test]
    fn case_counts_unless_it_is_to_be_ignored() {
        let list = || vec!["paris".to_owned(), "Rome".to_owned()];
        let strict = Strings::new(list(), &FunctionWords::none(), false);
        let loose = Strings::new(list(), &FunctionWords::none(), true);
        assert_eq!(from_vocabulary(&strict, &[2.0, 1.0], "Paris").rank, None);
        assert_eq!(from_vocabulary(&loose, &[2.0, 1.0], "Paris").rank, Some(1));
        assert!(loose.same("Paris", "PARIS") && !strict.same("Paris", "paris"));
    }
}
