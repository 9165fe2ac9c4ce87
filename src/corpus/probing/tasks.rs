//! Generators of sentences for the probing tasks.

use std::collections::HashSet;
use std::sync::LazyLock;

use rand_chacha::ChaCha8Rng;

use super::clause::{Among, Clause, Wish, clause, pair_of_clauses};
use super::past::past;
use crate::micro::Number;
use crate::micro::lexicon::{ADJECTIVES, NOUNS, PAST_INTRANSITIVE, PREPOSITIONS, VERBS};
use stats::rng::{below, unit};

/// Number of tokens in SentEval's six bins, full stop included.
const BINS: [(usize, usize); 6] = [(5, 8), (9, 12), (13, 16), (17, 20), (21, 25), (26, 28)];
/// Tree depth of the first class of [`tree_depth`].
const SHALLOWEST: usize = 4;

fn number(rng: &mut ChaCha8Rng) -> Number {
    Number::ALL[below(rng, 2) as usize]
}

/// Draws every constraint at random.
fn any<'w>(rng: &mut ChaCha8Rng) -> Wish<'w> {
    Wish {
        among: Among::Any,
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

fn one(rng: &mut ChaCha8Rng, wish: Wish<'_>) -> Option<Vec<String>> {
    whole(clause(rng, wish).tokens)
}

/// Draws a sentence in the present or past tense.
pub(crate) fn past_present(rng: &mut ChaCha8Rng, label: usize, among: Among<'_>) -> Option<Vec<String>> {
    let wish = Wish { past: label == 1, among, ..any(rng) };
    one(rng, wish)
}

/// Share of sentences in the past tense, in which the verb does not reveal the subject's number. At 0.5, a bag of words could predict more
/// than three quarters of the labels from verb forms alone.
const PAST_SUBJECTS: f64 = 0.65;

/// Draws a sentence with a singular or plural subject.
pub(crate) fn subject_number(rng: &mut ChaCha8Rng, label: usize, among: Among<'_>) -> Option<Vec<String>> {
    let wish = any(rng);
    let past = unit(rng) < PAST_SUBJECTS;
    one(rng, Wish { subject: Number::ALL[label], past, among, ..wish })
}

/// Draws a sentence with a singular or plural direct object.
pub(crate) fn object_number(rng: &mut ChaCha8Rng, label: usize, among: Among<'_>) -> Option<Vec<String>> {
    let wish = Wish { object: Some(Number::ALL[label]), among, ..any(rng) };
    one(rng, wish)
}

/// Draws a sentence that is unchanged or has two neighbouring words swapped, so that it is not English.
pub(crate) fn bigram_shift(rng: &mut ChaCha8Rng, label: usize, _: Among<'_>) -> Option<Vec<String>> {
    let wish = any(rng);
    let Clause { tokens, body, .. } = clause(rng, wish);
    // A position is drawn for either label, so that sentences with different labels differ only in the swap.
    let places: Vec<usize> = (0..tokens.len() - 1).filter(|&i| breaks(&tokens, i, body)).collect();
    let at = *places.get(below(rng, places.len().max(1) as u32) as usize)?;
    let mut tokens = whole(tokens)?;
    if label == 1 {
        tokens.swap(at, at + 1);
    }
    Some(tokens)
}

/// True if swapping this word and the next certainly gives a sentence that is not English. Excluded are swaps of:
/// - a word before the temporal phrase ("walks slowly", "old at night");
/// - two verbs ("who slept sings");
/// - a verb after its relative pronoun ("the house burned that stands here");
/// - an adjective and its noun ("paints the red house", "with the empty room");
/// - a verb before a preposition that could be an adverb of the noun ("opens inside the box").
fn breaks(tokens: &[String], at: usize, body: usize) -> bool {
    let (a, b) = (tokens[at].as_str(), tokens[at + 1].as_str());
    let adjective = ADJECTIVES.iter().any(|w| w.0 == a);
    let noun = NOUNS.iter().any(|n| n.forms.contains(&b));
    let preposition = PREPOSITIONS.iter().any(|w| w.0 == b);
    let relative = a == "who" || a == "that";
    a != ","
        && b != ","
        && a != b
        && at + 1 != body
        && !(adjective && noun)
        && !(is_verb(a) && (is_verb(b) || preposition))
        && !(relative && is_verb(b))
}

/// True for verbs of the grammar in either tense.
fn is_verb(word: &str) -> bool {
    static FORMS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
        let pasts = |forms| (0..2).filter_map(move |number| past(forms, number));
        let main = VERBS.iter().flat_map(|v| v.forms.into_iter().chain(pasts(v.forms)));
        main.chain(PAST_INTRANSITIVE.iter().map(|w| w.0)).collect()
    });
    FORMS.contains(word)
}

/// Draws two clauses in their original order or inverted. The object of the second clause is a pronoun that refers to the subject of the
/// first. Both clauses begin with a noun phrase, so the first word does not reveal the order.
pub(crate) fn coordination_inversion(rng: &mut ChaCha8Rng, label: usize, _: Among<'_>) -> Option<Vec<String>> {
    let wish = Wish { nesting: below(rng, 2) as usize, ..any(rng) };
    let mut clauses = pair_of_clauses(rng, wish)?;
    if label == 1 {
        clauses.reverse();
    }
    let joint = ["and", "but"][below(rng, 2) as usize];
    whole(clauses.join(&[",".to_owned(), joint.to_owned()][..]))
}

/// Draws a sentence with a length in the given bin.
pub(crate) fn sentence_length(rng: &mut ChaCha8Rng, label: usize, _: Among<'_>) -> Option<Vec<String>> {
    let (low, high) = BINS[label];
    // All lengths in a bin are equally likely.
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

/// Draws a sentence with this tree depth.
pub(crate) fn tree_depth(rng: &mut ChaCha8Rng, label: usize, _: Among<'_>) -> Option<Vec<String>> {
    let wish = Wish { nesting: below(rng, 4) as usize, ..any(rng) };
    let Clause { tokens, depth, .. } = clause(rng, wish);
    (depth == SHALLOWEST + label).then(|| whole(tokens)).flatten()
}
