//! Subject-verb agreement: sentences with or without a singular or plural noun between subject and verb.
//!
//! `[fronted] subject [relative clause | prepositional attractor] [adverb] VERB complement [final]`. Only the subject noun determines the
//! number of the verb. Other words are neutral, or are nouns whose number is drawn independently.

use rand_chacha::rand_core::Rng;
use serde::{Deserialize, Serialize};

use super::frequencies::Frequencies;
use super::lexicon::{self, Frame, Kind, Kinds, Noun, Verb, Word};
use super::{Number, Side, join};
use stats::rng::{below, unit};

/// One sentence with its annotation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sentence {
    /// Lower-case words and punctuation.
    pub tokens: Vec<String>,
    /// Index of the subject noun.
    pub subject: usize,
    pub verb: usize,
    /// Singular and plural of the verb, indexed by [`Number::index`].
    pub forms: [String; 2],
    /// Singular and plural of the subject noun, indexed by [`Number::index`].
    pub(crate) nouns: [String; 2],
    pub kind: Kind,
    /// Z_c: number of the subject.
    pub subject_number: Number,
    /// Z_e: number of the noun right before the verb if it is a prepositional object, otherwise `None`.
    pub attractor: Option<Number>,
    /// True if a relative clause separates subject and verb.
    pub(crate) relative_clause: bool,
    /// Number of nouns between subject and verb.
    pub(crate) intervening: usize,
    /// Number of those nouns whose number differs from the subject's: attractors in the sense of Linzen et al. (2016).
    pub opposing: usize,
}

impl Sentence {
    /// Returns the sentence as written English.
    pub fn text(&self) -> String {
        join(&self.tokens.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Returns the sentence with `mask` in place of the verb.
    pub fn masked(&self, mask: &str) -> String {
        let mut tokens: Vec<&str> = self.tokens.iter().map(String::as_str).collect();
        tokens[self.verb] = mask;
        join(&tokens)
    }

    /// Returns the counterfactual: the same sentence with the other number for the subject and its verb. No other word depends on the
    /// subject's number.
    pub fn counterfactual(&self) -> Sentence {
        let number = self.subject_number.other();
        let mut tokens = self.tokens.clone();
        tokens[self.subject].clone_from(&self.nouns[number.index()]);
        tokens[self.verb].clone_from(&self.forms[number.index()]);
        Sentence { tokens, subject_number: number, opposing: self.intervening - self.opposing, ..self.clone() }
    }

    /// Returns the words before the verb, without a trailing space.
    pub fn prefix(&self) -> String {
        join(&self.tokens[..self.verb].iter().map(String::as_str).collect::<Vec<_>>())
    }
}

/// Frequencies of optional parts, the same for training and probing.
mod share {
    /// Share of sentences with a phrase before the subject.
    pub(crate) const FRONTED: f64 = 0.20;
    /// Share of fronted phrases that name a place (`in the garden ,`).
    pub(crate) const FRONTED_PLACE: f64 = 0.35;
    /// Share of `the` among determiners; the others are possessives.
    pub(crate) const THE: f64 = 0.55;
    pub(crate) const SUBJECT_ADJECTIVE: f64 = 0.35;
    /// Share of nouns other than the subject that have an adjective.
    pub(crate) const OTHER_ADJECTIVE: f64 = 0.15;
    /// Share of sentences without an attractor that have a relative clause.
    pub(crate) const RELATIVE_CLAUSE: f64 = 0.15;
    /// Share of relative clauses with their own subject (`that the man bought`).
    pub(crate) const OBJECT_RELATIVE: f64 = 0.5;
    /// Share of relative clauses that end with an adverb.
    pub(crate) const CLAUSE_ADVERB: f64 = 0.4;
    /// Share of sentences with an attractor that have an additional noun before it (`the key to the door of the house`).
    pub(crate) const NESTED: f64 = 0.15;
    /// Share of sentences with an adverb before the verb, among those that have neither an attractor nor the copula.
    pub(crate) const PREVERBAL: f64 = 0.15;
    /// Share of objects with a prepositional phrase after them.
    pub(crate) const OBJECT_PHRASE: f64 = 0.3;
    /// Share of intransitive verbs with a prepositional phrase after them.
    pub(crate) const VERB_PHRASE: f64 = 0.6;
    /// Share of sentences with a phrase before the full stop.
    pub(crate) const FINAL: f64 = 0.25;
    /// Share of plurals among nouns whose number is free.
    pub(crate) const FREE_PLURAL: f64 = 0.5;
}

/// Generates agreement sentences for one side with given frequencies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Agreement {
    pub frequencies: Frequencies,
    /// Side of the split from which subject-verb pairs are drawn.
    pub side: Side,
}

impl Agreement {
    /// Draws the next sentence.
    pub fn sentence(&self, rng: &mut impl Rng) -> Sentence {
        let (number, attractor) = self.frequencies.draw(rng);
        self.sentence_with(rng, number, attractor)
    }

    /// Draws a sentence with the given numbers of subject and attractor.
    pub(crate) fn sentence_with(&self, rng: &mut impl Rng, number: Number, attractor: Option<Number>) -> Sentence {
        let noun = &lexicon::NOUNS[pick(rng, lexicon::NOUNS.len())];
        let verb = self.verb(rng, noun);
        let mut text = Builder { rng, tokens: Vec::new(), nouns: Vec::new() };
        text.fronted();
        text.noun_phrase(noun, number, share::SUBJECT_ADJECTIVE);
        let subject = text.tokens.len() - 1;
        let relative_clause = attractor.is_none() && text.flip(share::RELATIVE_CLAUSE);
        if let Some(z) = attractor {
            if text.flip(share::NESTED) {
                let other = text.number();
                text.prepositional(noun, other);
            }
            text.prepositional(noun, z);
        } else if relative_clause {
            text.relative_clause(noun);
        }
        if attractor.is_none() && verb.frame != Frame::Copula && text.flip(share::PREVERBAL) {
            text.word(lexicon::PREVERBAL);
        }
        let at = text.tokens.len();
        let between: Vec<Number> = text.nouns.iter().filter(|n| n.0 > subject).map(|n| n.1).collect();
        text.tokens.push(verb.forms[number.index()]);
        text.complement(noun, verb);
        if text.flip(share::FINAL) {
            text.phrase(lexicon::FINAL);
        }
        text.tokens.push(".");
        Sentence {
            subject,
            verb: at,
            forms: verb.forms.map(str::to_owned),
            nouns: noun.forms.map(str::to_owned),
            kind: noun.kind,
            subject_number: number,
            attractor,
            relative_clause,
            intervening: between.len(),
            opposing: between.iter().filter(|&&n| n != number).count(),
            tokens: text.tokens.into_iter().map(str::to_owned).collect(),
        }
    }

    /// Draws a verb for this subject on this side, by weight.
    fn verb(&self, rng: &mut impl Rng, noun: &Noun) -> &'static Verb {
        let held = self.side == Side::Held;
        let fits = || {
            lexicon::VERBS.iter().filter(|v| v.subjects & noun.kind as u8 != 0 && lexicon::is_held_out(noun, v) == held)
        };
        let mut left = below(rng, fits().map(|v| v.weight).sum());
        for verb in fits() {
            if left < verb.weight {
                return verb;
            }
            left -= verb.weight;
        }
        unreachable!("an index below the sum of the weights selects a verb")
    }
}

fn pick(rng: &mut impl Rng, len: usize) -> usize {
    below(rng, len as u32) as usize
}

/// A sentence under construction.
struct Builder<'a, R: Rng> {
    rng: &'a mut R,
    tokens: Vec<&'static str>,
    /// Index and number of each noun so far.
    nouns: Vec<(usize, Number)>,
}

impl<R: Rng> Builder<'_, R> {
    fn flip(&mut self, share: f64) -> bool {
        unit(self.rng) < share
    }

    fn number(&mut self) -> Number {
        if self.flip(share::FREE_PLURAL) { Number::Pl } else { Number::Sg }
    }

    fn word(&mut self, list: &[&'static str]) {
        let i = pick(self.rng, list.len());
        self.tokens.push(list[i]);
    }

    fn phrase(&mut self, list: &[&[&'static str]]) {
        let i = pick(self.rng, list.len());
        self.tokens.extend(list[i]);
    }

    /// Draws a word of the list that combines with `kind`.
    fn fitting(&mut self, list: &[Word], kind: Kind) -> &'static str {
        let fits = || list.iter().filter(|w| w.1 & kind as u8 != 0);
        let i = pick(self.rng, fits().count());
        fits().nth(i).map_or("", |w| w.0)
    }

    /// Draws a noun whose kind is in `kinds`, other than `except`.
    fn noun(&mut self, kinds: Kinds, except: Option<&Noun>) -> &'static Noun {
        loop {
            let noun = &lexicon::NOUNS[pick(self.rng, lexicon::NOUNS.len())];
            if noun.kind as u8 & kinds != 0 && Some(noun) != except {
                return noun;
            }
        }
    }

    /// Writes `[the | possessive] (adjective) noun`; only the noun shows the number.
    fn noun_phrase(&mut self, noun: &Noun, number: Number, adjective: f64) {
        if self.flip(share::THE) {
            self.tokens.push("the");
        } else {
            self.word(lexicon::DETERMINERS);
        }
        self.bare(noun, number, adjective);
    }

    /// Writes `(adjective) noun`.
    fn bare(&mut self, noun: &Noun, number: Number, adjective: f64) {
        if self.flip(adjective) {
            let word = self.fitting(lexicon::ADJECTIVES, noun.kind);
            self.tokens.push(word);
        }
        self.nouns.push((self.tokens.len(), number));
        self.tokens.push(noun.forms[number.index()]);
    }

    /// Writes `preposition noun-phrase` with a noun other than `except`.
    fn prepositional(&mut self, except: &Noun, number: Number) {
        let (word, kinds) = lexicon::PREPOSITIONS[pick(self.rng, lexicon::PREPOSITIONS.len())];
        self.tokens.push(word);
        let noun = self.noun(kinds, Some(except));
        self.noun_phrase(noun, number, share::OTHER_ADJECTIVE);
    }

    fn fronted(&mut self) {
        if !self.flip(share::FRONTED) {
            return;
        }
        if self.flip(share::FRONTED_PLACE) {
            let number = self.number();
            let noun = self.noun(Kind::Place as u8, None);
            self.tokens.push("in");
            self.noun_phrase(noun, number, share::OTHER_ADJECTIVE);
        } else {
            self.phrase(lexicon::FRONTED);
        }
        self.tokens.push(",");
    }

    /// Writes a clause such as `who arrived late` or `that the man bought yesterday`, in the past tense and not ending in a noun.
    fn relative_clause(&mut self, head: &Noun) {
        self.tokens.push(if head.kind == Kind::Person { "who" } else { "that" });
        if self.flip(share::OBJECT_RELATIVE) {
            let (noun, number) = (self.noun(Kind::Person as u8, Some(head)), self.number());
            self.noun_phrase(noun, number, share::OTHER_ADJECTIVE);
            let word = self.fitting(lexicon::PAST_TRANSITIVE, head.kind);
            self.tokens.push(word);
        } else {
            let word = self.fitting(lexicon::PAST_INTRANSITIVE, head.kind);
            self.tokens.push(word);
        }
        if self.flip(share::CLAUSE_ADVERB) {
            self.word(lexicon::CLAUSE_ADVERBS);
        }
    }

    /// Writes a complement that is independent of the subject's number.
    fn complement(&mut self, subject: &Noun, verb: &Verb) {
        match verb.frame {
            Frame::Copula => match pick(self.rng, 4) {
                0 | 1 => {
                    let word = self.fitting(lexicon::ADJECTIVES, subject.kind);
                    self.tokens.push(word);
                }
                2 => self.free_prepositional(subject),
                _ => {
                    let word = self.fitting(lexicon::PARTICIPLES, subject.kind);
                    self.tokens.push(word);
                    self.free_prepositional(subject);
                }
            },
            Frame::Linking => {
                let word = self.fitting(lexicon::ADJECTIVES, subject.kind);
                self.tokens.push(word);
            }
            Frame::Transitive(kinds) => {
                self.object(subject, kinds);
                if self.flip(share::OBJECT_PHRASE) {
                    self.free_prepositional(subject);
                }
            }
            Frame::Intransitive => {
                if self.flip(share::VERB_PHRASE) {
                    self.free_prepositional(subject);
                }
            }
        }
    }

    fn free_prepositional(&mut self, except: &Noun) {
        let number = self.number();
        self.prepositional(except, number);
    }

    /// Writes an object with a matching determiner; the object's number is drawn independently.
    fn object(&mut self, except: &Noun, kinds: Kinds) {
        let (noun, number) = (self.noun(kinds, Some(except)), self.number());
        self.word(if number == Number::Sg { lexicon::OBJECT_SG } else { lexicon::OBJECT_PL });
        let determiner = self.tokens.len() - 1;
        self.bare(noun, number, share::OTHER_ADJECTIVE);
        let vowel = self.tokens[determiner + 1].starts_with(['a', 'e', 'i', 'o', 'u']);
        if self.tokens[determiner] == "a" && vowel {
            self.tokens[determiner] = "an";
        }
    }
}

#[cfg(test)]
#[path = "agreement_tests.rs"]
mod tests;
