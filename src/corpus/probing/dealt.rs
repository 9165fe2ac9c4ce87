//! Word groups, which give training and test different probed words, as in SentEval.

use super::clause::Among;
use crate::micro::lexicon::{self, Frame, Kind, Noun, Verb};
use stats::rng::{shuffle, stream};

/// Number of word groups. Twelve groups can be split 10 : 1 : 1 as in SentEval, 4 : 1 : 1, or into six folds.
pub const GROUPS: usize = 12;

/// Kind of words that is divided into groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GroupedWords {
    /// No words, because the label belongs to the whole sentence.
    Nothing,
    /// Nouns in subject position.
    Subjects,
    /// Nouns in direct object position.
    Objects,
    Verbs,
}

/// Words of each group.
#[derive(Debug)]
pub(crate) struct WordGroups {
    dealt: GroupedWords,
    nouns: Vec<Vec<&'static Noun>>,
    verbs: Vec<Vec<&'static Verb>>,
}

impl WordGroups {
    /// Divides the words at random, with noun kinds and verb frames spread evenly over the groups.
    pub(crate) fn new(dealt: GroupedWords, task: &str, seed: u64) -> Self {
        let mut deck = Self { dealt, nouns: vec![Vec::new(); GROUPS], verbs: vec![Vec::new(); GROUPS] };
        let mut rng = stream(seed, &format!("probing {task} words"));
        let mut at = 0..;
        let mut next = || at.next().unwrap_or(0) % GROUPS;
        for kind in [Kind::Person, Kind::Animal, Kind::Thing, Kind::Place] {
            let mut nouns: Vec<&Noun> = lexicon::NOUNS.iter().filter(|n| n.kind == kind).collect();
            shuffle(&mut rng, &mut nouns);
            nouns.into_iter().for_each(|n| deck.nouns[next()].push(n));
        }
        for transitive in [true, false] {
            let is = |v: &&Verb| matches!(v.frame, Frame::Transitive(_)) == transitive;
            let mut verbs: Vec<&Verb> = lexicon::VERBS.iter().filter(is).collect();
            shuffle(&mut rng, &mut verbs);
            verbs.into_iter().for_each(|v| deck.verbs[next()].push(v));
        }
        deck
    }

    pub(crate) fn among(&self, group: usize) -> Among<'_> {
        match self.dealt {
            GroupedWords::Nothing => Among::Any,
            GroupedWords::Subjects => Among::Subjects(&self.nouns[group]),
            GroupedWords::Objects => Among::Objects(&self.nouns[group]),
            GroupedWords::Verbs => Among::Verbs(&self.verbs[group]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn word_groups_are_disjoint_and_contain_every_kind() {
        let deck = WordGroups::new(GroupedWords::Verbs, "test", 1);
        for nouns in &deck.nouns {
            for kind in [Kind::Person, Kind::Animal, Kind::Thing, Kind::Place] {
                assert!(nouns.iter().filter(|n| n.kind == kind).count() >= 2);
            }
        }
        assert!(deck.verbs.iter().all(|v| (6..=8).contains(&v.len())));
        let (mut nouns, mut verbs) = (deck.nouns.concat(), deck.verbs.concat());
        nouns.sort_by_key(|n| n.forms[0]);
        nouns.dedup();
        verbs.sort_by_key(|v| v.forms[0]);
        verbs.dedup();
        assert_eq!((nouns.len(), verbs.len()), (lexicon::NOUNS.len(), lexicon::VERBS.len()));
    }
}
