//! Coverage of running text by model vocabularies, counted by word occurrence.

use std::collections::HashMap;

use serde::Serialize;

use super::{MAX_NAME, MAX_WORDS, Vocabulary};
use crate::task::MASK;

/// Word counts of running text for one vocabulary.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct TextCount {
    /// Words that are a single token.
    pub single: u64,
    /// Words that are split into several tokens.
    pub several: u64,
    /// Words that contain an unknown token.
    pub outside: u64,
}

impl TextCount {
    pub fn words(&self) -> u64 {
        self.single + self.several + self.outside
    }

    /// Formats the counts as one line of text with percentages.
    pub(super) fn said(&self) -> String {
        let share = |n: u64| 100.0 * n as f64 / self.words().max(1) as f64;
        format!(
            "text of {} words: {:.1} % single-token, {:.1} % multi-token, {:.1} % outside the vocabulary",
            self.words(),
            share(self.single),
            share(self.several),
            share(self.outside)
        )
    }
}

/// Word counts of running text for all vocabularies.
#[derive(Debug, Default)]
pub(super) struct Coverage {
    known: HashMap<String, Vec<Option<usize>>>,
    pub counts: Vec<TextCount>,
}

impl Coverage {
    /// Counts the space-separated words of a text, without surrounding punctuation.
    pub(crate) fn add(&mut self, text: &str, models: &[Vocabulary<'_>]) {
        if models.is_empty() {
            return;
        }
        self.counts.resize(models.len(), TextCount::default());
        for word in text.split_whitespace().filter(|w| !w.contains(MASK)) {
            let word = word.trim_matches(|c: char| !c.is_alphanumeric());
            // No vocabulary has an entry this long, and some tokenizers take time quadratic in the word length.
            if word.is_empty() || word.len() > MAX_NAME {
                continue;
            }
            if let Some(found) = self.known.get(word) {
                count(&mut self.counts, found);
                continue;
            }
            let found: Vec<Option<usize>> = models.iter().map(|m| (m.tokens)(word)).collect();
            count(&mut self.counts, &found);
            if self.known.len() < MAX_WORDS {
                self.known.insert(word.to_owned(), found);
            }
        }
    }
}

fn count(counts: &mut [TextCount], found: &[Option<usize>]) {
    for (count, tokens) in counts.iter_mut().zip(found) {
        match tokens {
            Some(1) => count.single += 1,
            Some(_) => count.several += 1,
            None => count.outside += 1,
        }
    }
}
