//! What each probing task writes.

use rand_chacha::ChaCha8Rng;

use super::clause::{Clause, Wish, clause, predicate};
use crate::corpus::micro::Number;
use crate::corpus::micro::lexicon::{Kind, Noun};
use crate::stats::rng::{below, unit};

/// Token counts of the six bins, full stop included (SentEval's).
const BINS: [(usize, usize); 6] = [(5, 8), (9, 12), (13, 16), (17, 20), (21, 25), (26, 28)];
/// Depth of the first class of [`tree_depth`].
const SHALLOWEST: usize = 4;

fn number(rng: &mut ChaCha8Rng) -> Number {
    Number::ALL[below(rng, 2) as usize]
}

/// Everything drawn at random.
fn any(rng: &mut ChaCha8Rng) -> Wish {
    Wish {
        past: unit(rng) < 0.5,
        subject: number(rng),
        object: None,
        nesting: below(rng, 3) as usize,
        extras: true,
    }
}

fn whole(mut tokens: Vec<String>) -> Option<Vec<String>> {
    tokens.push(".".into());
    Some(tokens)
}

fn one(rng: &mut ChaCha8Rng, wish: Wish) -> Option<Vec<String>> {
    whole(clause(rng, wish).tokens)
}

/// Present or past.
pub fn past_present(rng: &mut ChaCha8Rng, label: usize) -> Option<Vec<String>> {
    let wish = Wish { past: label == 1, ..any(rng) };
    one(rng, wish)
}

/// Singular or plural subject.
pub fn subject_number(rng: &mut ChaCha8Rng, label: usize) -> Option<Vec<String>> {
    // In the past the verb does not tell the number: only the noun does.
    let wish = Wish { subject: Number::ALL[label], ..any(rng) };
    one(rng, wish)
}

/// Singular or plural direct object.
pub fn object_number(rng: &mut ChaCha8Rng, label: usize) -> Option<Vec<String>> {
    let wish = Wish { object: Some(Number::ALL[label]), ..any(rng) };
    one(rng, wish)
}

/// As written, or with two neighbouring words swapped.
pub fn bigram_shift(rng: &mut ChaCha8Rng, label: usize) -> Option<Vec<String>> {
    let wish = any(rng);
    let mut tokens = one(rng, wish)?;
    // The place is drawn for both labels, so that nothing but the swap tells them apart.
    let places: Vec<usize> = (0..tokens.len() - 2)
        .filter(|&i| tokens[i] != "," && tokens[i + 1] != "," && tokens[i] != tokens[i + 1])
        .collect();
    let at = places[below(rng, places.len() as u32) as usize];
    if label == 1 {
        tokens.swap(at, at + 1);
    }
    Some(tokens)
}

/// Words for a subject that was named before; none where the grammar does not say which.
fn pronoun(noun: &Noun, number: Number) -> Option<&'static str> {
    const SHE: [&str; 10] =
        ["queen", "aunt", "sister", "daughter", "girl", "woman", "lady", "wife", "nurse", "princess"];
    const HE: [&str; 10] =
        ["king", "prince", "uncle", "brother", "son", "boy", "man", "policeman", "fisherman", "hero"];
    match (number, noun.kind) {
        (Number::Pl, _) => Some("they"),
        (Number::Sg, Kind::Person) if SHE.contains(&noun.forms[0]) => Some("she"),
        (Number::Sg, Kind::Person) if HE.contains(&noun.forms[0]) => Some("he"),
        (Number::Sg, Kind::Person) => None,
        (Number::Sg, _) => Some("it"),
    }
}

/// Two clauses about one subject, whom the second names by a pronoun; or the second one first.
pub fn coordination_inversion(rng: &mut ChaCha8Rng, label: usize) -> Option<Vec<String>> {
    let wish = Wish { extras: false, nesting: below(rng, 2) as usize, ..any(rng) };
    let first = clause(rng, wish);
    let mut second = vec![pronoun(first.noun, wish.subject)?.to_owned()];
    second.extend(predicate(rng, first.noun, wish));
    let joint = ["and", "but"][below(rng, 2) as usize];
    let (a, b) = if label == 0 { (first.tokens, second) } else { (second, first.tokens) };
    let mut tokens = a;
    tokens.extend([",".into(), joint.into()]);
    tokens.extend(b);
    whole(tokens)
}

/// A sentence whose number of tokens lies in the bin.
pub fn sentence_length(rng: &mut ChaCha8Rng, label: usize) -> Option<Vec<String>> {
    let (low, high) = BINS[label];
    // Each length of a bin is as likely as the others.
    let length = low + below(rng, (high - low + 1) as u32) as usize;
    let mut tokens = Vec::new();
    while tokens.len() + 1 < length {
        if !tokens.is_empty() {
            tokens.extend([",".into(), ["and", "but"][below(rng, 2) as usize].into()]);
        }
        let wish = any(rng);
        tokens.extend(clause(rng, wish).tokens);
    }
    (tokens.len() + 1 == length).then(|| whole(tokens)).flatten()
}

/// A sentence whose tree has this depth.
pub fn tree_depth(rng: &mut ChaCha8Rng, label: usize) -> Option<Vec<String>> {
    let wish = Wish { nesting: below(rng, 4) as usize, ..any(rng) };
    let Clause { tokens, depth, .. } = clause(rng, wish);
    (depth == SHALLOWEST + label).then(|| whole(tokens)).flatten()
}
