//! Probing tasks over whole sentences: the classic properties of Conneau et al. (2018), "What you can cram into a single
//! vector", as Micro-English writes them. Generated in any size, balanced, seeded; a task is one line in [`PROBING`].
//!
//! Labels carry SentEval's names. Where its sentences come from books, ours follow from the grammar, so that the label depends on
//! nothing else: the length and the depth of a sentence, the number of its subject or object and the tense of its verb are
//! drawn independently of the words.

mod clause;
mod past;
mod tasks;

use std::collections::HashSet;

use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::stats::rng::{shuffle, stream};

/// A property of whole sentences.
#[derive(Debug, Clone, Copy)]
pub struct ProbingTask {
    /// Name on the command line, as SentEval names its files.
    pub id: &'static str,
    /// What a probe is asked.
    pub title: &'static str,
    /// Names of the labels.
    pub labels: &'static [&'static str],
    /// Writes a sentence with this label, or gives up on this try.
    write: fn(&mut ChaCha8Rng, label: usize) -> Option<Vec<String>>,
}

/// All tasks.
#[rustfmt::skip]
pub const PROBING: &[ProbingTask] = &[
    ProbingTask { id: "past_present", title: "tense of the main verb", labels: &["PRES", "PAST"], write: tasks::past_present },
    ProbingTask { id: "bigram_shift", title: "two neighbouring words swapped", labels: &["O", "I"], write: tasks::bigram_shift },
    ProbingTask { id: "coordination_inversion", title: "order of two coordinate clauses inverted", labels: &["O", "I"], write: tasks::coordination_inversion },
    ProbingTask { id: "sentence_length", title: "number of tokens, in six bins", labels: &["0", "1", "2", "3", "4", "5"], write: tasks::sentence_length },
    ProbingTask { id: "subj_number", title: "number of the subject", labels: &["NN", "NNS"], write: tasks::subject_number },
    ProbingTask { id: "obj_number", title: "number of the direct object", labels: &["NN", "NNS"], write: tasks::object_number },
    ProbingTask { id: "tree_depth", title: "depth of the phrase-structure tree", labels: &["4", "5", "6", "7", "8"], write: tasks::tree_depth },
];

/// One sentence with its label.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Labelled {
    /// Lower-case words and punctuation, separated by blanks, as SentEval writes them.
    pub text: String,
    /// Index into the task's labels.
    pub label: usize,
}

/// Sentences together with all that is needed to make them again.
#[derive(Debug, Clone, PartialEq)]
pub struct LabelledSet {
    /// Identifier of the task.
    pub task: &'static str,
    /// The seed.
    pub seed: u64,
    /// No two alike; every run of as many examples as there are labels holds each label once, so that all labels are equally frequent and
    /// the first n of a longer set are the set of size n.
    pub examples: Vec<Labelled>,
    /// SHA-256 over labels and texts, in hexadecimal.
    pub hash: String,
}

/// Why sentences are not available.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ProbingError {
    /// The name is in no registry line.
    #[error("there is no probing task '{name}'; known are {known}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// The names of [`PROBING`].
        known: String,
    },
    /// The grammar repeats itself too often.
    #[error("probing task '{task}' has no {wanted} different sentences, only {found} were found")]
    Exhausted {
        /// Identifier of the task.
        task: &'static str,
        /// What was asked for.
        wanted: usize,
        /// Different ones found.
        found: usize,
    },
}

/// How often in a row a try may fail or repeat an earlier sentence.
const TRIES: usize = 100_000;

impl ProbingTask {
    /// The task of this name.
    ///
    /// # Errors
    /// [`ProbingError::Unknown`] with the known names.
    pub fn named(name: &str) -> Result<&'static ProbingTask, ProbingError> {
        PROBING.iter().find(|t| t.id == name).ok_or_else(|| ProbingError::Unknown {
            name: name.chars().take(80).collect::<String>().escape_debug().to_string(),
            known: PROBING.iter().map(|t| t.id).collect::<Vec<_>>().join(", "),
        })
    }

    /// `n` different sentences with balanced labels. Subjects and verbs are pairs that no built-in model was trained on.
    ///
    /// # Errors
    /// [`ProbingError::Exhausted`] when the grammar repeats itself too often.
    pub fn examples(&self, n: usize, seed: u64) -> Result<LabelledSet, ProbingError> {
        let mut words = stream(seed, &format!("probing {}", self.id));
        let mut order = stream(seed, &format!("probing {} labels", self.id));
        let mut seen = HashSet::with_capacity(n);
        let mut examples = Vec::with_capacity(n);
        let mut labels: Vec<usize> = Vec::new();
        for found in 0..n {
            if labels.is_empty() {
                labels = (0..self.labels.len()).collect();
                shuffle(&mut order, &mut labels);
            }
            let label = labels.pop().unwrap_or(0);
            let text = (0..TRIES)
                .find_map(|_| {
                    (self.write)(&mut words, label).map(|t| t.join(" ")).filter(|t| seen.insert(t.clone()))
                })
                .ok_or(ProbingError::Exhausted { task: self.id, wanted: n, found })?;
            examples.push(Labelled { text, label });
        }
        let mut hash = Sha256::new();
        for e in &examples {
            hash.update((e.label as u64).to_le_bytes());
            hash.update((e.text.len() as u64).to_le_bytes());
            hash.update(e.text.as_bytes());
        }
        let hash = format!("{:x}", hash.finalize());
        Ok(LabelledSet { task: self.id, seed, examples, hash })
    }
}

#[cfg(test)]
mod tests;
