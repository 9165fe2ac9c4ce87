//! Digests by which items of two files are compared.

use super::keys::{HASHES, INPUTS};

/// Digests of an item's question and target, which are 0 if missing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Print {
    /// Digest of `doc_hash` or another hash.
    pub hash: u32,
    /// Digest of the whole `doc`.
    pub doc: u32,
    /// Digest of `target`.
    pub target: u32,
    /// Digest of `input`, `question` or another key of the item.
    pub input: u32,
    /// Digest of the text given to the model.
    pub prompt: u32,
    /// Digest of `answer`, if the row does not show whether it is the expected answer or the model's.
    pub answer: u32,
    /// Ranks of the keys of the hash and of the input, which are compared only with the same key.
    pub(crate) hash_rank: u8,
    pub(crate) input_rank: u8,
}

fn unequal(a: u32, b: u32) -> bool {
    a != 0 && b != 0 && a != b
}

impl Print {
    fn hashes(&self, other: &Self) -> Option<(u32, u32)> {
        let both = self.hash != 0 && other.hash != 0 && self.hash_rank == other.hash_rank;
        both.then_some((self.hash, other.hash))
    }

    fn inputs_differ(&self, other: &Self) -> bool {
        self.input_rank == other.input_rank && unequal(self.input, other.input)
    }

    /// True if two rows with the same identifier cannot belong to the same item.
    pub fn differs(&self, other: &Self) -> bool {
        // If both rows have a hash, the hash identifies the document, even if the models got different prompts.
        let document = match self.hashes(other) {
            Some((a, b)) => a != b,
            None => unequal(self.doc, other.doc) || self.inputs_differ(other),
        };
        document || unequal(self.target, other.target)
    }

    /// Returns the key in which two rows differ.
    pub fn difference(&self, other: &Self) -> &'static str {
        let key = |keys: &[&'static str], rank: u8| keys[keys.len() - usize::from(rank.max(1)).min(keys.len())];
        if self.hashes(other).is_some_and(|(a, b)| a != b) {
            key(&HASHES, self.hash_rank)
        } else if unequal(self.target, other.target) {
            "target"
        } else if self.inputs_differ(other) {
            key(&INPUTS, self.input_rank)
        } else {
            "doc"
        }
    }

    /// True if the prompts differ and no digest shows that the items are the same.
    pub fn prompts_differ(&self, other: &Self) -> bool {
        let same_hash = self.hashes(other).is_some_and(|(a, b)| a == b);
        let same_doc = self.doc != 0 && self.doc == other.doc;
        let same_input = self.input != 0 && (self.input, self.input_rank) == (other.input, other.input_rank);
        unequal(self.prompt, other.prompt) && !(same_hash || same_doc || same_input)
    }

    /// Compares `answer` in two rows; `None` if a row has none.
    pub fn answers_differ(&self, other: &Self) -> Option<bool> {
        (self.answer != 0 && other.answer != 0).then_some(self.answer != other.answer)
    }
}
