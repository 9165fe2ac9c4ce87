//! A single clause with its annotation: numbers, tense, and depth of the phrase-structure tree.

use rand_chacha::ChaCha8Rng;

use super::past::past;
use crate::micro::Number;
use crate::micro::lexicon::{self, Frame, Kind, Kinds, Noun, Verb, Word};
use stats::rng::{below, unit};

/// Words allowed at the probed position.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Among<'w> {
    /// All words of the grammar.
    Any,
    /// Only these nouns as subject.
    Subjects(&'w [&'static Noun]),
    /// Only these nouns as direct object.
    Objects(&'w [&'static Noun]),
    /// Only these verbs as main verb.
    Verbs(&'w [&'static Verb]),
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Wish<'w> {
    /// Words allowed at the probed position.
    pub among: Among<'w>,
    /// True if the main verb is in the past tense.
    pub past: bool,
    pub subject: Number,
    /// Number of the direct object; `None` allows any complement.
    pub object: Option<Number>,
    /// Maximum number of nested phrases in subject and complement.
    pub(crate) nesting: usize,
    /// True if phrases before and after the clause are allowed.
    pub extras: bool,
}

/// A generated clause without its full stop.
#[derive(Debug, Clone)]
pub(crate) struct Clause {
    /// Lower-case words.
    pub tokens: Vec<String>,
    /// Number of tree levels from the sentence node to the words: 2 for S over NP over a noun.
    pub depth: usize,
    /// Number of words before the final phrase, if any.
    pub body: usize,
}

/// Draws a clause that satisfies the constraints.
pub(crate) fn clause(rng: &mut ChaCha8Rng, wish: Wish<'_>) -> Clause {
    let mut text = Text { rng, tokens: Vec::new(), depth: 0 };
    if wish.extras && text.flip(0.25) {
        text.phrase(lexicon::FRONTED);
        text.tokens.push(",".into());
    }
    let (noun, verb) = text.pair(wish.object.is_some(), wish.among);
    text.noun_phrase(noun, wish.subject, wish.nesting, 1);
    text.verb_phrase(noun, verb, wish);
    let body = text.tokens.len();
    if wish.extras && text.flip(0.25) {
        text.phrase(lexicon::FINAL);
    }
    Clause { body, depth: text.depth, tokens: text.tokens }
}

/// Draws two clauses. The second clause has a different subject, and its object is a pronoun that refers to the subject of the first
/// clause. Both clauses end in a temporal or locative phrase, so that only the pronoun reveals their order. Returns `None` if the pronoun
/// would be ambiguous or no verb fits.
pub(crate) fn pair_of_clauses(rng: &mut ChaCha8Rng, wish: Wish<'_>) -> Option<[Vec<String>; 2]> {
    let mut text = Text { rng, tokens: Vec::new(), depth: 0 };
    let (noun, verb) = text.pair(false, Among::Any);
    let pronoun = pronoun(noun, wish.subject)?;
    text.noun_phrase(noun, wish.subject, wish.nesting, 1);
    text.verb_phrase(noun, verb, wish);
    text.phrase(lexicon::FINAL);
    let first = std::mem::take(&mut text.tokens);
    let actor = text.noun(u8::MAX);
    let takes = |v: &&Verb| matches!(v.frame, Frame::Transitive(kinds) if kinds & noun.kind as u8 != 0);
    let verbs: Vec<&Verb> = held(actor, true).filter(takes).collect();
    if actor == noun || verbs.is_empty() {
        return None;
    }
    let (verb, number) = (verbs[text.pick(verbs.len())], text.number());
    text.noun_phrase(actor, number, wish.nesting, 1);
    text.finite(verb, Wish { subject: number, ..wish });
    text.push(pronoun, 3);
    text.phrase(lexicon::FINAL);
    Some([first, text.tokens])
}

/// Returns the object pronoun for a noun, or `None` if the noun does not determine its gender.
fn pronoun(noun: &Noun, number: Number) -> Option<&'static str> {
    const SHE: [&str; 10] =
        ["queen", "aunt", "sister", "daughter", "girl", "woman", "lady", "wife", "nurse", "princess"];
    const HE: [&str; 10] =
        ["king", "prince", "uncle", "brother", "son", "boy", "man", "policeman", "fisherman", "hero"];
    match (number, noun.kind) {
        (Number::Pl, _) => Some("them"),
        (Number::Sg, Kind::Person) if SHE.contains(&noun.forms[0]) => Some("her"),
        (Number::Sg, Kind::Person) if HE.contains(&noun.forms[0]) => Some("him"),
        (Number::Sg, Kind::Person) => None,
        (Number::Sg, _) => Some("it"),
    }
}

struct Text<'a> {
    rng: &'a mut ChaCha8Rng,
    tokens: Vec<String>,
    depth: usize,
}

impl Text<'_> {
    fn flip(&mut self, share: f64) -> bool {
        unit(self.rng) < share
    }

    fn pick(&mut self, len: usize) -> usize {
        below(self.rng, len as u32) as usize
    }

    fn number(&mut self) -> Number {
        Number::ALL[self.pick(2)]
    }

    /// Appends a word at a level of the tree.
    fn push(&mut self, word: &str, level: usize) {
        self.tokens.push(word.to_owned());
        self.depth = self.depth.max(level);
    }

    fn phrase(&mut self, list: &[&[&'static str]]) {
        let i = self.pick(list.len());
        self.tokens.extend(list[i].iter().map(|w| (*w).to_owned()));
    }

    fn fitting(&mut self, list: &[Word], kind: Kind) -> &'static str {
        let fits: Vec<&'static str> = list.iter().filter(|w| w.1 & kind as u8 != 0).map(|w| w.0).collect();
        let i = self.pick(fits.len());
        fits[i]
    }

    /// Draws a subject and a verb that never occur together in the training of built-in models.
    fn pair(&mut self, transitive: bool, among: Among<'_>) -> (&'static Noun, &'static Verb) {
        loop {
            let noun = match among {
                Among::Subjects(nouns) => nouns[self.pick(nouns.len())],
                _ => &lexicon::NOUNS[self.pick(lexicon::NOUNS.len())],
            };
            let fits = |v: &&'static Verb| !matches!(among, Among::Verbs(verbs) if !verbs.contains(v));
            let all: Vec<&'static Verb> = held(noun, transitive).filter(fits).collect();
            if !all.is_empty() {
                let i = self.pick(all.len());
                return (noun, all[i]);
            }
        }
    }

    fn noun(&mut self, kinds: Kinds) -> &'static Noun {
        loop {
            let noun = &lexicon::NOUNS[self.pick(lexicon::NOUNS.len())];
            if noun.kind as u8 & kinds != 0 {
                return noun;
            }
        }
    }

    /// Writes `determiner (adjective) noun (prepositional phrase | relative clause)` below a node at `level`.
    fn noun_phrase(&mut self, noun: &Noun, number: Number, nesting: usize, level: usize) {
        let level = level + 1;
        let determiner =
            if self.flip(0.6) { "the" } else { lexicon::DETERMINERS[self.pick(lexicon::DETERMINERS.len())] };
        self.push(determiner, level);
        if self.flip(0.3) {
            let word = self.fitting(lexicon::ADJECTIVES, noun.kind);
            self.push(word, level);
        }
        self.push(noun.forms[number.index()], level);
        if nesting == 0 || !self.flip(0.6) {
            return;
        }
        if self.flip(0.75) {
            self.prepositional(nesting - 1, level);
        } else {
            self.push(if noun.kind == Kind::Person { "who" } else { "that" }, level + 1);
            let word = self.fitting(lexicon::PAST_INTRANSITIVE, noun.kind);
            self.push(word, level + 2);
        }
    }

    /// Writes `preposition noun-phrase` below a node at `level`.
    fn prepositional(&mut self, nesting: usize, level: usize) {
        let (word, kinds) = lexicon::PREPOSITIONS[self.pick(lexicon::PREPOSITIONS.len())];
        self.push(word, level + 1);
        let (noun, number) = (self.noun(kinds), self.number());
        self.noun_phrase(noun, number, nesting, level + 1);
    }

    /// Writes the verb in the required tense and number.
    fn finite(&mut self, verb: &Verb, wish: Wish<'_>) {
        let number = wish.subject.index();
        let past = past(verb.forms, number).filter(|_| wish.past);
        self.push(past.unwrap_or(verb.forms[number]), 2);
    }

    fn verb_phrase(&mut self, subject: &Noun, verb: &Verb, wish: Wish<'_>) {
        self.finite(verb, wish);
        let level = 2;
        match verb.frame {
            Frame::Copula | Frame::Linking => {
                let word = self.fitting(lexicon::ADJECTIVES, subject.kind);
                self.push(word, level + 1);
            }
            Frame::Transitive(kinds) => {
                let number = wish.object.unwrap_or_else(|| self.number());
                let noun = match wish.among {
                    Among::Objects(nouns) => loop {
                        let noun = nouns[self.pick(nouns.len())];
                        if noun.kind as u8 & kinds != 0 {
                            break noun;
                        }
                    },
                    _ => self.noun(kinds),
                };
                self.noun_phrase(noun, number, wish.nesting, level);
            }
            Frame::Intransitive => {
                if self.flip(0.6) {
                    self.prepositional(wish.nesting.saturating_sub(1), level);
                }
            }
        }
    }
}

/// Returns the verbs whose pairs with this subject are held out from training.
fn held(noun: &Noun, transitive: bool) -> impl Iterator<Item = &'static Verb> {
    let noun = *noun;
    lexicon::VERBS.iter().filter(move |v| {
        v.subjects & noun.kind as u8 != 0
            && lexicon::is_held_out(&noun, v)
            && (!transitive || matches!(v.frame, Frame::Transitive(_)))
    })
}
