//! Micro-English: a seeded grammar that writes English sentences together with their full annotation.
//!
//! One file per construction (`agreement`), all of them over the one `lexicon`. Words are chosen so that a construction's
//! label follows from the words that the annotation names and from nothing else: determiners, adjectives, adverbs and
//! relative clauses are neutral in number, and objects draw their number independently.

pub mod agreement;
pub mod frequencies;
pub mod lexicon;

use serde::{Deserialize, Serialize};

/// Grammatical number. Its index, `Sg` 0 and `Pl` 1, is the label of every number property.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Number {
    /// Singular.
    Sg,
    /// Plural.
    Pl,
}

impl Number {
    /// Both values in the order of their labels.
    pub const ALL: [Number; 2] = [Number::Sg, Number::Pl];

    /// The label: `Sg` 0, `Pl` 1.
    #[must_use]
    pub fn index(self) -> usize {
        self as usize
    }

    /// The other number.
    #[must_use]
    pub fn other(self) -> Number {
        match self {
            Number::Sg => Number::Pl,
            Number::Pl => Number::Sg,
        }
    }
}

/// Which sentences a generator may write. The two sides share words and structures but no pair of subject noun and verb
/// ([`lexicon::is_held_out`]), so no sentence of one side can be a sentence of the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// What models are trained on.
    Train,
    /// What models are judged and probed on.
    Held,
}

/// Joins tokens as written English: no blank before `.` and `,`, a capital at the start.
#[must_use]
pub fn join(tokens: &[&str]) -> String {
    let mut text = String::new();
    for (i, token) in tokens.iter().enumerate() {
        if i == 0 {
            let mut chars = token.chars();
            text.extend(chars.next().into_iter().flat_map(char::to_uppercase));
            text.push_str(chars.as_str());
            continue;
        }
        if !matches!(*token, "." | ",") {
            text.push(' ');
        }
        text.push_str(token);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joins_like_written_english() {
        assert_eq!(join(&["today", ",", "the", "key", "is", "here", "."]), "Today, the key is here.");
        assert_eq!(join(&[]), "");
    }

    #[test]
    fn labels_of_number() {
        assert_eq!(Number::ALL.map(Number::index), [0, 1]);
        assert_eq!(Number::Sg.other(), Number::Pl);
        assert_eq!(Number::Pl.other(), Number::Sg);
    }
}
