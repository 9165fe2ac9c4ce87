//! The rules that select an answer from a model's logits.
//!
//! - `vocabulary`: the first of the ten best tokens that is not a function word, or the tenth if all are (the code of Cao et al. 2022). An
//!   object is ranked among all tokens except function words and special tokens.
//! - `intersection`: the best word, other than a function word, that is a single token in every model of the run.
//! - `relation`: the best of the relation's possible answers.
//!
//! A fourth rule, `relation_pll`, is not in the paper: the relation's possible answers with any number of tokens ([`super::rule`]).

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::function_words::FunctionWords;

/// Number of best tokens considered by the rule `vocabulary`.
pub(crate) const TOP: usize = 10;

/// The rule that defines the possible answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Candidates {
    /// The model's whole vocabulary, under the paper's rule.
    #[default]
    Vocabulary,
    /// The single-token words shared by all chosen models.
    Intersection,
    /// The relation's single-token answers.
    Relation,
    /// The relation's answers of any length, scored by pseudo-log-likelihood. Not in the paper.
    RelationPll,
}

impl Candidates {
    /// All rules, in display order.
    pub const ALL: [Self; 4] = [Self::Vocabulary, Self::Intersection, Self::Relation, Self::RelationPll];

    /// Description of the accepted answers.
    pub(crate) fn about(self) -> &'static str {
        match self {
            Self::Vocabulary => "the best token that is not a function word, among the ten best of the vocabulary",
            Self::Intersection => "the best word that is a single token in every model",
            Self::Relation => "the best of the relation's answers",
            Self::RelationPll => "the best of the relation's answers, by pseudo-log-likelihood",
        }
    }

    /// The name in specs and findings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Vocabulary => "vocabulary",
            Self::Intersection => "intersection",
            Self::Relation => "relation",
            Self::RelationPll => "relation_pll",
        }
    }
}

/// A model's tokens as strings, marked if the rules skip them.
#[derive(Debug, Clone, PartialEq)]
pub struct Strings {
    /// The trimmed text of each token, by id.
    texts: Vec<String>,
    /// True for skipped tokens, by id.
    passed: Vec<bool>,
    /// True for special tokens, which are never candidates, by id.
    special: Vec<bool>,
    /// Token ids by string, ascending.
    ids: HashMap<String, Vec<u32>>,
    ignore_case: bool,
}

impl Strings {
    /// Builds the strings from the texts of all tokens, by id.
    pub fn new(texts: Vec<String>, function_words: &FunctionWords, ignore_case: bool) -> Self {
        let passed = texts.iter().map(|t| function_words.contains(t)).collect();
        let mut ids: HashMap<String, Vec<u32>> = HashMap::new();
        for (id, text) in texts.iter().enumerate() {
            ids.entry(folded(text, ignore_case)).or_default().push(id as u32);
        }
        Self { special: vec![false; texts.len()], texts, passed, ids, ignore_case }
    }

    /// Excludes special tokens from the answers.
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

    pub fn text(&self, id: u32) -> &str {
        self.texts.get(id as usize).map_or("", String::as_str)
    }

    /// True if the rules treat both words as equal.
    pub fn same(&self, a: &str, b: &str) -> bool {
        folded(a, self.ignore_case) == folded(b, self.ignore_case)
    }

    /// The ids of tokens whose text is this word.
    fn reading(&self, word: &str) -> &[u32] {
        self.ids.get(&folded(word, self.ignore_case)).map_or(&[], Vec::as_slice)
    }
}

/// The form of a word used in comparisons.
pub fn folded(word: &str, ignore_case: bool) -> String {
    if ignore_case { word.to_lowercase() } else { word.to_owned() }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reply {
    pub id: u32,
    /// Rank of the object among the candidates, from 1; `None` if it is not a candidate.
    pub rank: Option<u32>,
}

/// Ids by descending logit; ties by ascending id.
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

/// The best tokens, best first.
pub fn top(logits: &[f32], most: usize) -> Vec<u32> {
    by_logit(logits, 0..logits.len() as u32, most)
}

/// The reply under the rule `vocabulary`.
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

/// The reply when the candidates are the tokens `ids`, whose logits are in the same order; `None` without candidates.
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
    fn function_words_are_skipped_in_ranks() {
        let s = strings(&["the", "river", "of", "wide", "The"]);
        let reply = from_vocabulary(&s, &[9.0, 5.0, 8.0, 6.0, 1.0], "river");
        assert_eq!((s.text(reply.id), reply.rank), ("wide", Some(2)));
        assert_eq!(from_vocabulary(&s, &[9.0, 5.0, 8.0, 6.0, 7.0], "absent").rank, None);
        assert_eq!(s.text(from_vocabulary(&s, &[9.0, 5.0, 8.0, 6.0, 7.0], "absent").id), "The");
        // A function word is never a candidate, even if it is the object.
        assert_eq!(from_vocabulary(&s, &[9.0, 5.0, 8.0, 6.0, 1.0], "the").rank, None);
    }

    #[test]
    fn tenth_function_word_is_the_answer() {
        let list = ["the", "of", "in", "is", "a", "an", "and", "or", "but", "if", "river"];
        let logits: Vec<f32> = (0..11).map(|k| 20.0 - k as f32).collect();
        let s = strings(&list);
        assert_eq!(s.text(from_vocabulary(&s, &logits, "river").id), "if");
        assert_eq!(from_vocabulary(&s, &logits, "river").rank, Some(1));
    }

    #[test]
    fn ties_prefer_the_lower_id() {
        let s = strings(&["x", "z", "x"]);
        assert_eq!(from_vocabulary(&s, &[1.0, 1.0, 1.0], "z"), Reply { id: 0, rank: Some(2) });
        assert_eq!(from_list(&s, &[1, 0], &[1.0, 1.0], "x"), Some(Reply { id: 0, rank: Some(1) }));
        assert_eq!(from_list(&s, &[], &[], "x"), None);
        assert_eq!(top(&[1.0, 3.0, 3.0, 2.0], 3), [1, 2, 3]);
    }

    #[test]
    fn case_matters_unless_ignored() {
        let list = || vec!["paris".to_owned(), "Rome".to_owned()];
        let strict = Strings::new(list(), &FunctionWords::none(), false);
        let loose = Strings::new(list(), &FunctionWords::none(), true);
        assert_eq!(from_vocabulary(&strict, &[2.0, 1.0], "Paris").rank, None);
        assert_eq!(from_vocabulary(&loose, &[2.0, 1.0], "Paris").rank, Some(1));
        assert!(loose.same("Paris", "PARIS") && !strict.same("Paris", "paris"));
    }
}
