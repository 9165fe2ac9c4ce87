//! Probing tasks on whole Micro-English sentences, after Conneau et al. (2018), "What you can cram into a single vector". They are seeded,
//! balanced and of any size. A task is one line in [`PROBING`].
//!
//! Labels have SentEval's names. SentEval takes its sentences from books; here, a grammar draws length, depth, number and tense
//! independently of the words. Where SentEval uses different probed words for training and test (tense, number of subject and object), they
//! are divided into [`GROUPS`] groups. [`super::shortcuts`] measures how well surface features alone predict the label.

mod clause;
mod dealt;
mod past;
mod tasks;

use std::collections::HashSet;

use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use thiserror::Error;

use self::clause::Among;
use self::dealt::{GroupedWords, WordGroups};
use super::readers::Split;
use super::sample::{Allocation, Sampler};
use base::files::hex;
use stats::rng::{shuffle, stream};

pub use self::dealt::GROUPS;

/// A property of whole sentences.
#[derive(Debug, Clone, Copy)]
pub struct ProbingTask {
    /// Name on the command line: SentEval's file name.
    pub id: &'static str,
    /// Property in words.
    pub title: &'static str,
    pub labels: &'static [&'static str],
    /// Kind of words that is divided into groups.
    dealt: GroupedWords,
    /// Draws a sentence with this label; returns `None` if the attempt fails.
    write: fn(&mut ChaCha8Rng, label: usize, Among<'_>) -> Option<Vec<String>>,
}

#[rustfmt::skip]
pub const PROBING: &[ProbingTask] = &[
    ProbingTask { id: "past_present", title: "tense of the main verb", labels: &["PRES", "PAST"], dealt: GroupedWords::Verbs, write: tasks::past_present },
    ProbingTask { id: "bigram_shift", title: "two neighbouring words swapped", labels: &["O", "I"], dealt: GroupedWords::Nothing, write: tasks::bigram_shift },
    ProbingTask { id: "coordination_inversion", title: "order of two coordinate clauses inverted", labels: &["O", "I"], dealt: GroupedWords::Nothing, write: tasks::coordination_inversion },
    ProbingTask { id: "sentence_length", title: "number of tokens, in six bins", labels: &["0", "1", "2", "3", "4", "5"], dealt: GroupedWords::Nothing, write: tasks::sentence_length },
    ProbingTask { id: "subj_number", title: "number of the subject", labels: &["NN", "NNS"], dealt: GroupedWords::Subjects, write: tasks::subject_number },
    ProbingTask { id: "obj_number", title: "number of the direct object", labels: &["NN", "NNS"], dealt: GroupedWords::Objects, write: tasks::object_number },
    ProbingTask { id: "tree_depth", title: "depth of the phrase-structure tree", labels: &["4", "5", "6", "7", "8"], dealt: GroupedWords::Nothing, write: tasks::tree_depth },
];

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Labelled {
    /// Lower-case words and punctuation separated by spaces, as in SentEval.
    pub text: String,
    /// Index into the task's labels.
    pub label: usize,
    /// Group of the probed word, below [`GROUPS`], if the task divides words into groups. Each word is in one group.
    pub group: Option<usize>,
}

/// Sentences with the task and seed that reproduce them.
#[derive(Debug, Clone, PartialEq)]
pub struct LabelledSet {
    pub task: &'static str,
    pub seed: u64,
    /// Distinct sentences. For a task with k labels, each consecutive block of k sentences contains every label once. A shorter set with
    /// the same seed is a prefix of a longer one.
    pub examples: Vec<Labelled>,
    /// SHA-256 of labels and texts, in hexadecimal.
    pub hash: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ProbingError {
    #[error("there is no probing task '{name}'; choose one of {known}")]
    Unknown {
        name: String,
        /// Names of the tasks in [`PROBING`].
        known: String,
    },
    /// The grammar repeats sentences too often.
    #[error(
        "probing task '{task}': {wanted} different sentences were requested, but only {found} were found; request fewer"
    )]
    Exhausted {
        task: &'static str,
        wanted: usize,
        /// Number of distinct sentences found.
        found: usize,
    },
}

/// Maximum number of consecutive attempts that fail or repeat an earlier sentence.
const TRIES: usize = 100_000;

impl ProbingTask {
    pub fn named(name: &str) -> Result<&'static ProbingTask, ProbingError> {
        PROBING.iter().find(|t| t.id == name).ok_or_else(|| ProbingError::Unknown {
            name: name.chars().take(80).collect::<String>().escape_debug().to_string(),
            known: PROBING.iter().map(|t| t.id).collect::<Vec<_>>().join(", "),
        })
    }

    /// True if the probed words are divided into [`GROUPS`] groups.
    pub fn is_grouped(&self) -> bool {
        self.dealt != GroupedWords::Nothing
    }

    /// Draws `n` distinct sentences with balanced labels. None of their subject-verb pairs occurs in the training of built-in models.
    ///
    /// # Errors
    /// [`ProbingError::Exhausted`] if the grammar repeats sentences too often.
    pub fn examples(&self, n: usize, seed: u64) -> Result<LabelledSet, ProbingError> {
        let mut words = stream(seed, &format!("probing {}", self.id));
        let mut order = stream(seed, &format!("probing {} labels", self.id));
        let mut seen = HashSet::with_capacity(n);
        let mut examples = Vec::with_capacity(n);
        let mut labels: Vec<usize> = Vec::new();
        let deck = WordGroups::new(self.dealt, self.id, seed);
        // Each label uses all groups before repeating one, so that groups are balanced in every part of a set.
        let mut groups: Vec<Vec<usize>> = vec![Vec::new(); self.labels.len()];
        let mut dealer = stream(seed, &format!("probing {} groups", self.id));
        for found in 0..n {
            if labels.is_empty() {
                labels = (0..self.labels.len()).collect();
                shuffle(&mut order, &mut labels);
            }
            let label = labels.pop().unwrap_or(0);
            let mine = &mut groups[label];
            if mine.is_empty() {
                *mine = (0..GROUPS).collect();
                shuffle(&mut dealer, mine);
            }
            let group = mine.pop().unwrap_or(0);
            let among = deck.among(group);
            let mut once = |t: Vec<String>| Some(t.join(" ")).filter(|t| seen.insert(t.clone()));
            let text = (0..TRIES)
                .find_map(|_| (self.write)(&mut words, label, among).and_then(&mut once))
                .ok_or(ProbingError::Exhausted { task: self.id, wanted: n, found })?;
            let group = self.is_grouped().then_some(group);
            examples.push(Labelled { text, label, group });
        }
        let mut hash = Sha256::new();
        for e in &examples {
            hash.update((e.label as u64).to_le_bytes());
            hash.update((e.text.len() as u64).to_le_bytes());
            hash.update(e.text.as_bytes());
        }
        let hash = hex(&hash.finalize());
        Ok(LabelledSet { task: self.id, seed, examples, hash })
    }
}

/// Validation and test each get one in this many sentences, as in SentEval (100,000 training, 10,000 validation and 10,000 test sentences).
const SHARE: usize = 12;

impl LabelledSet {
    /// Assigns each sentence to training, validation or test (10 : 1 : 1), by word group or, without groups, at random within each label.
    pub(crate) fn splits(&self) -> Vec<Split> {
        let mut parts = vec![Split::Train; self.examples.len()];
        if self.examples.iter().any(|e| e.group.is_some()) {
            for (part, e) in parts.iter_mut().zip(&self.examples) {
                *part = match e.group {
                    Some(g) if g + 1 == GROUPS => Split::Test,
                    Some(g) if g + 2 == GROUPS => Split::Validation,
                    _ => Split::Train,
                };
            }
            return parts;
        }
        for part in [Split::Test, Split::Validation] {
            let mut sampler = Sampler::new(self.examples.len() / SHARE, self.seed);
            for (i, e) in self.examples.iter().enumerate().filter(|(i, _)| parts[*i] == Split::Train) {
                sampler.add(&format!("{} {}", part.name(), e.label), || i);
            }
            sampler.finish(Allocation::Proportional).into_iter().for_each(|i| parts[i] = part);
        }
        parts
    }
}

#[cfg(test)]
mod tests;
