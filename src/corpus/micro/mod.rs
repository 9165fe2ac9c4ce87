//! Micro-English: a seeded grammar that generates fully annotated English sentences.
//!
//! Each construction has its own file (`agreement`, `tense`, `order`, `coordination`, `lengths`, `causes`, `arithmetic`); all share one
//! `lexicon`. The label of a construction depends only on the annotated words: determiners, adjectives, adverbs and relative clauses are
//! neutral in number, and objects draw their number independently.

pub mod agreement;
pub mod arithmetic;
pub mod causes;
pub mod coordination;
pub mod frequencies;
pub mod lengths;
pub mod lexicon;
pub mod order;
pub(crate) mod phrases;
pub mod tense;

use rand_chacha::rand_core::Rng;
use serde::{Deserialize, Serialize};

use self::agreement::Agreement;
use self::frequencies::Frequencies;
pub use self::phrases::Annotated;

/// Grammatical number. The index, 0 for `Sg` and 1 for `Pl`, is the label of every number property.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Number {
    Sg,
    Pl,
}

impl Number {
    /// Both values in the order of their labels.
    pub const ALL: [Number; 2] = [Number::Sg, Number::Pl];

    /// Returns the label: 0 for `Sg`, 1 for `Pl`.
    pub fn index(self) -> usize {
        self as usize
    }

    pub fn other(self) -> Number {
        match self {
            Number::Sg => Number::Pl,
            Number::Pl => Number::Sg,
        }
    }
}

/// Side of the split between training and evaluation. The sides have the same words and structures but no common subject-verb pair
/// ([`lexicon::is_held_out`]), and thus no common sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// Training of built-in models.
    Train,
    /// Evaluation and probing.
    Held,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Construction {
    /// [`agreement`]: the verb agrees with its subject, even if there are nouns of either number in between.
    Agreement,
    /// [`tense`]: the tense of the verb matches the expression of time.
    Tense,
    /// [`order`]: the connective matches the order of two events.
    Order,
    /// [`coordination`]: the verb agrees with the coordinated subject.
    Coordination,
    /// [`lengths`]: the last verb agrees with its subject in short and long sentences.
    Lengths,
    /// [`causes`]: the effect matches the cause.
    Causes,
    /// [`arithmetic`]: the result is correct.
    Arithmetic,
}

impl Construction {
    pub const ALL: [Construction; 7] = [
        Construction::Agreement,
        Construction::Tense,
        Construction::Order,
        Construction::Coordination,
        Construction::Lengths,
        Construction::Causes,
        Construction::Arithmetic,
    ];

    /// Name on model cards.
    pub fn title(self) -> &'static str {
        match self {
            Construction::Agreement => "agreement",
            Construction::Tense => "tense",
            Construction::Order => "clause order",
            Construction::Coordination => "coordination",
            Construction::Lengths => "lengths",
            Construction::Causes => "cause and effect",
            Construction::Arithmetic => "arithmetic",
        }
    }

    /// Draws the next sentence; `frequencies` apply to agreement only.
    pub fn sentence(self, side: Side, frequencies: Frequencies, rng: &mut impl Rng) -> Annotated {
        match self {
            Construction::Agreement => Agreement { frequencies, side }.sentence(rng).into(),
            Construction::Tense => tense::sentence(side, rng),
            Construction::Order => order::sentence(side, rng),
            Construction::Coordination => coordination::sentence(side, rng),
            Construction::Lengths => lengths::sentence(side, rng),
            Construction::Causes => causes::sentence(side, rng),
            Construction::Arithmetic => arithmetic::sentence(side, rng),
        }
    }
}

impl From<agreement::Sentence> for Annotated {
    fn from(s: agreement::Sentence) -> Self {
        let other = s.forms[s.subject_number.other().index()].clone();
        Annotated { focus: vec![s.verb], other: Some(other), settled_before: true, tokens: s.tokens }
    }
}

/// Returns the words that must be single tokens in every built-in model: all answers of all constructions and all words of agreement
/// sentences, each once.
pub fn whole_words() -> Vec<&'static str> {
    let mut all = lexicon::words();
    all.extend(tense::answers());
    all.extend(order::CONNECTIVES);
    all.extend(causes::answers());
    all.extend(arithmetic::NUMBERS);
    let mut seen = std::collections::HashSet::new();
    all.retain(|w| seen.insert(*w));
    all
}

/// FNV-1a hash with a salted offset, finished as in MurmurHash3. Splits depend on it, so it must never change.
pub fn hash(salt: u64, bytes: impl Iterator<Item = u8>) -> u64 {
    let mut hash =
        bytes.fold(0xcbf2_9ce4_8422_2325_u64 ^ salt, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
    for factor in [0xff51_afd7_ed55_8ccd_u64, 0xc4ce_b9fe_1a85_ec53] {
        hash = (hash ^ (hash >> 33)).wrapping_mul(factor);
    }
    hash ^ (hash >> 33)
}

/// True if a combination of parts is held out from training; about a fifth are. `construction` may end in a number that changes the hash
/// (`cause and effect 2`): the lowest one for which every part occurs on both sides.
pub(crate) fn held_out(construction: &str, parts: &[&str]) -> bool {
    let parts = parts.iter().flat_map(|p| std::iter::once(b'|').chain(p.bytes()));
    hash(0, construction.bytes().chain(parts)).is_multiple_of(5)
}

/// Joins tokens into written English: no space before `.` and `,`, and a capital at the start.
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
    fn constructions_mark_words_in_their_text() {
        let mut rng = stats::rng::stream(3, "constructions test");
        let whole: std::collections::HashSet<&str> = whole_words().into_iter().collect();
        for construction in Construction::ALL {
            for side in [Side::Train, Side::Held] {
                for _ in 0..200 {
                    let s = construction.sentence(side, Frequencies::natural(), &mut rng);
                    let (text, spans) = s.spans();
                    let chars: Vec<char> = text.chars().collect();
                    for (token, (from, to)) in s.tokens.iter().zip(&spans) {
                        let there: String = chars[*from..*to].iter().collect();
                        assert_eq!(there.to_lowercase(), *token, "{text}");
                    }
                    assert_eq!(spans.last().unwrap().1, chars.len());
                    assert!(s.focus.iter().all(|f| whole.contains(s.tokens[*f].as_str())), "{text}");
                    assert!(s.other.as_ref().is_none_or(|o| whole.contains(o.as_str())), "{text}");
                    assert_ne!(s.other.as_ref(), Some(&s.tokens[s.focus[0]]));
                }
            }
        }
    }

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
