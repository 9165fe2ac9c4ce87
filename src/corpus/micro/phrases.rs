//! Drafts and annotated sentences, used by all constructions except agreement.

use rand_chacha::rand_core::Rng;

use super::lexicon::{self, Frame, Kind, Kinds, Noun, Verb};
use super::{Number, Side, join};
use stats::rng::{below, unit};

/// A sentence of any construction with its annotation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Annotated {
    /// Lower-case words and punctuation.
    pub tokens: Vec<String>,
    /// Indices of the words that show the answer.
    pub focus: Vec<usize>,
    /// A word that is wrong at the first focus but right in a different sentence, if there is exactly one such word.
    pub other: Option<String>,
    /// True if the words before the first focus determine the answer, so that left-to-right models can be tested.
    pub settled_before: bool,
}

impl Annotated {
    /// Returns the sentence as written English.
    pub fn text(&self) -> String {
        self.spans().0
    }

    /// Returns the sentence as written English, and the character range of each token (end exclusive).
    pub fn spans(&self) -> (String, Vec<(usize, usize)>) {
        let mut spans = Vec::with_capacity(self.tokens.len());
        let mut at = 0;
        for (i, token) in self.tokens.iter().enumerate() {
            if i > 0 && !matches!(token.as_str(), "." | ",") {
                at += 1;
            }
            let end = at + token.chars().count();
            spans.push((at, end));
            at = end;
        }
        (join(&self.tokens.iter().map(String::as_str).collect::<Vec<_>>()), spans)
    }
}

/// A sentence under construction.
pub(super) struct Draft<'a, R: Rng> {
    /// Source of randomness.
    pub rng: &'a mut R,
    pub tokens: Vec<&'static str>,
}

impl<'a, R: Rng> Draft<'a, R> {
    pub(crate) fn new(rng: &'a mut R) -> Self {
        Self { rng, tokens: Vec::new() }
    }

    /// Returns true with probability `share`.
    pub(crate) fn flip(&mut self, share: f64) -> bool {
        unit(self.rng) < share
    }

    /// Draws an index below `len` uniformly.
    pub(crate) fn index(&mut self, len: usize) -> usize {
        below(self.rng, len as u32) as usize
    }

    /// Draws an entry of a list uniformly.
    pub(crate) fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.index(list.len())]
    }

    /// Draws singular or plural with equal probability.
    pub(crate) fn number(&mut self) -> Number {
        if self.flip(0.5) { Number::Pl } else { Number::Sg }
    }

    /// Appends space-separated words.
    pub(crate) fn words(&mut self, words: &'static str) {
        self.tokens.extend(words.split(' '));
    }

    /// Appends a word and returns its position.
    pub(crate) fn at(&mut self, word: &'static str) -> usize {
        self.tokens.push(word);
        self.tokens.len() - 1
    }

    /// Draws a noun uniformly from those whose kind is in `kinds`.
    pub(crate) fn noun(&mut self, kinds: Kinds) -> &'static Noun {
        loop {
            let noun = &lexicon::NOUNS[self.index(lexicon::NOUNS.len())];
            if noun.kind as u8 & kinds != 0 {
                return noun;
            }
        }
    }

    /// Writes `the | possessive (adjective) noun`.
    pub(crate) fn noun_phrase(&mut self, noun: &Noun, number: Number) {
        let determiner = if self.flip(0.6) { "the" } else { self.pick(lexicon::DETERMINERS) };
        self.tokens.push(determiner);
        if self.flip(0.2) {
            let fits: Vec<&'static str> =
                lexicon::ADJECTIVES.iter().filter(|w| w.1 & noun.kind as u8 != 0).map(|w| w.0).collect();
            let adjective = self.pick(&fits);
            self.tokens.push(adjective);
        }
        self.tokens.push(noun.forms[number.index()]);
    }

    /// Draws a verb of `from` for this subject on this side of the subject-verb split ([`lexicon::is_held_out`]).
    pub(crate) fn verb(&mut self, subject: &Noun, side: Side, from: &[&'static Verb]) -> Option<&'static Verb> {
        let fits: Vec<&'static Verb> = from
            .iter()
            .filter(|v| {
                v.subjects & subject.kind as u8 != 0 && lexicon::is_held_out(subject, v) == (side == Side::Held)
            })
            .copied()
            .collect();
        if fits.is_empty() { None } else { Some(self.pick(&fits)) }
    }

    /// Draws a noun, and one of `verbs` that combines with it on this side. There must be at least one such pair.
    pub(crate) fn pair(&mut self, side: Side, verbs: &[&'static Verb]) -> (&'static Noun, &'static Verb) {
        loop {
            let noun = self.noun(u8::MAX);
            if let Some(verb) = self.verb(noun, side, verbs) {
                return (noun, verb);
            }
        }
    }

    /// Writes `near | behind | beside | by noun-phrase`.
    pub(crate) fn place(&mut self) {
        let (noun, number) = (self.noun(Kind::Place as u8), self.number());
        let preposition = self.pick(&["near", "behind", "beside", "by"]);
        self.tokens.push(preposition);
        self.noun_phrase(noun, number);
    }

    /// Writes an object, an adjective or a locative phrase, depending on the verb.
    pub(crate) fn complement(&mut self, subject: &Noun, verb: &Verb) {
        match verb.frame {
            Frame::Transitive(kinds) => {
                let (noun, number) = (self.noun(kinds), self.number());
                self.noun_phrase(noun, number);
            }
            Frame::Copula | Frame::Linking => {
                let fits: Vec<&'static str> =
                    lexicon::ADJECTIVES.iter().filter(|w| w.1 & subject.kind as u8 != 0).map(|w| w.0).collect();
                let adjective = self.pick(&fits);
                self.tokens.push(adjective);
            }
            Frame::Intransitive => {
                if self.flip(0.5) {
                    self.place();
                }
            }
        }
    }

    /// Adds the full stop and the annotation.
    pub(crate) fn end(mut self, focus: usize, other: Option<&str>, settled_before: bool) -> Annotated {
        self.tokens.push(".");
        Annotated {
            tokens: self.tokens.into_iter().map(str::to_owned).collect(),
            focus: vec![focus],
            other: other.map(str::to_owned),
            settled_before,
        }
    }
}
