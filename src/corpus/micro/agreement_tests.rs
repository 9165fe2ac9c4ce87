//! Tests of the agreement grammar, which recompute the annotation from the words alone.

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;

use super::*;
use stats::rng::stream;

fn sentences(frequencies: Frequencies, side: Side, seed: u64, n: usize) -> Vec<Sentence> {
    let mut rng = stream(seed, "agreement test");
    let grammar = Agreement { frequencies, side };
    (0..n).map(|_| grammar.sentence(&mut rng)).collect()
}

fn noun_number(word: &str) -> Option<Number> {
    let found = lexicon::NOUNS.iter().find_map(|n| n.forms.iter().position(|f| *f == word))?;
    Some(Number::ALL[found])
}

fn verb_of(word: &str) -> Option<(&'static Verb, Number)> {
    lexicon::VERBS.iter().find_map(|v| Some((v, Number::ALL[v.forms.iter().position(|f| *f == word)?])))
}

fn check(s: &Sentence) -> Result<(), TestCaseError> {
    let text = s.text();
    let (verb, verb_number) = verb_of(&s.tokens[s.verb]).expect("a verb at the annotated position");
    prop_assert_eq!(verb_number, s.subject_number, "{}", &text);
    prop_assert_eq!(noun_number(&s.tokens[s.subject]), Some(s.subject_number), "{}", &text);
    prop_assert_eq!(&s.forms, &verb.forms.map(str::to_owned));
    let verbs = s.tokens.iter().filter(|t| verb_of(t).is_some()).count();
    prop_assert_eq!(verbs, 1, "a second verb in the present tense would reveal the number: {}", &text);
    let before = if s.verb - 1 == s.subject { None } else { noun_number(&s.tokens[s.verb - 1]) };
    prop_assert_eq!(before, s.attractor, "{}", &text);
    let between = &s.tokens[s.subject + 1..s.verb];
    let nouns: Vec<Number> = between.iter().filter_map(|t| noun_number(t)).collect();
    prop_assert_eq!(nouns.len(), s.intervening, "{}", &text);
    prop_assert_eq!(nouns.iter().filter(|&&n| n != s.subject_number).count(), s.opposing, "{}", &text);
    let pronoun = between.first().is_some_and(|t| t == "that" || t == "who");
    prop_assert_eq!(pronoun, s.relative_clause, "{}", &text);
    if s.attractor.is_some() {
        let prepositional = lexicon::PREPOSITIONS.iter().any(|p| p.0 == between[0]);
        prop_assert!(prepositional && !s.relative_clause, "{}", &text);
    }
    prop_assert!(s.tokens.len() <= 40 && text.ends_with('.') && text.is_ascii());
    Ok(())
}

proptest! {
    #[test]
    fn annotation_follows_from_the_words(seed: u64, held: bool) {
        let side = if held { Side::Held } else { Side::Train };
        for s in sentences(Frequencies::balanced(), side, seed, 60) {
            check(&s)?;
            let subject = s.tokens[s.subject].as_str();
            let noun = lexicon::NOUNS.iter().find(|n| n.forms.contains(&subject)).unwrap();
            let (verb, _) = verb_of(&s.tokens[s.verb]).unwrap();
            prop_assert_eq!(lexicon::is_held_out(noun, verb), held);
            prop_assert!(verb.subjects & noun.kind as u8 != 0);
        }
    }

    /// A twin is a correctly annotated sentence of the grammar. It differs only in the subject and its verb, and its own twin is the
    /// original.
    #[test]
    fn twins_differ_only_in_subject_and_verb(seed: u64, held: bool) {
        let side = if held { Side::Held } else { Side::Train };
        for s in sentences(Frequencies::balanced(), side, seed, 60) {
            let twin = s.counterfactual();
            check(&twin)?;
            prop_assert_eq!(twin.subject_number, s.subject_number.other());
            prop_assert_eq!(twin.attractor, s.attractor);
            let other: Vec<usize> = (0..s.tokens.len()).filter(|i| s.tokens[*i] != twin.tokens[*i]).collect();
            prop_assert_eq!(other, [s.subject, s.verb]);
            let noun = lexicon::NOUNS.iter().find(|n| n.forms.contains(&s.tokens[s.subject].as_str())).unwrap();
            prop_assert_eq!(noun.kind, s.kind);
            prop_assert_eq!(twin.counterfactual(), s);
        }
    }

    #[test]
    fn same_seed_same_sentences(seed: u64) {
        let make = |seed| sentences(Frequencies::natural(), Side::Train, seed, 5);
        prop_assert_eq!(make(seed), make(seed));
        prop_assert_ne!(make(seed), make(seed ^ 1));
    }
}

#[test]
fn every_word_is_in_the_word_list() {
    let words: HashSet<&str> = lexicon::words().into_iter().collect();
    let mut used = HashSet::new();
    for s in sentences(Frequencies::balanced(), Side::Train, 1, 30_000) {
        for token in s.tokens {
            assert!(words.contains(token.as_str()), "{token}");
            used.insert(token);
        }
    }
    let unused: Vec<_> = words.iter().filter(|w| !used.contains(**w)).collect();
    assert!(unused.is_empty(), "words that never occur: {unused:?}");
}

/// No probing sentence occurs in training, because subject-verb pairs are split.
#[test]
fn halves_do_not_overlap() {
    let train = sentences(Frequencies::natural(), Side::Train, 2, 60_000);
    let held = sentences(Frequencies::natural(), Side::Held, 3, 20_000);
    let texts: HashSet<String> = train.iter().map(Sentence::text).collect();
    let overlap = held.iter().filter(|s| texts.contains(&s.text())).count();
    println!("verbatim overlap of {} held with {} training sentences: {overlap}", held.len(), texts.len());
    assert_eq!(overlap, 0);
    // Prefixes, which are the input of causal models, do repeat, because sentences may differ only after them.
    let beginnings: HashSet<String> = train.iter().map(Sentence::prefix).collect();
    let repeated = held.iter().filter(|s| beginnings.contains(&s.prefix())).count();
    println!("of the words before the verb: {repeated}");
    // Sentences do repeat within a side; otherwise this test could not fail.
    assert!(texts.len() < train.len());
}

/// A classifier that receives every word except subject and verb, with the word's distance from the verb, performs at chance.
#[test]
fn other_words_do_not_predict_number() {
    let features = |s: &Sentence| -> Vec<(i32, String)> {
        let places = s.tokens.iter().enumerate().filter(|(i, _)| *i != s.subject && *i != s.verb);
        let near = places.map(|(i, t)| ((i as i32 - s.verb as i32).clamp(-6, 6), t.clone()));
        near.chain([(99, s.tokens.len().to_string())]).collect()
    };
    let mut counts: HashMap<(i32, String), [f64; 2]> = HashMap::new();
    for s in sentences(Frequencies::balanced(), Side::Held, 4, 40_000) {
        for f in features(&s) {
            counts.entry(f).or_insert([1.0; 2])[s.subject_number.index()] += 1.0;
        }
    }
    let test = sentences(Frequencies::balanced(), Side::Held, 5, 10_000);
    let guess = |s: &Sentence| {
        let odds: f64 = features(s).iter().filter_map(|f| counts.get(f)).map(|c| (c[1] / c[0]).ln()).sum();
        usize::from(odds > 0.0) == s.subject_number.index()
    };
    let accuracy = test.iter().filter(|s| guess(s)).count() as f64 / test.len() as f64;
    println!("naive Bayes without subject and verb: {accuracy:.3}");
    // Six standard deviations of a fair coin's mean are 0.03.
    assert!((accuracy - 0.5).abs() < 0.03, "{accuracy}");
}

#[test]
fn structures_vary() {
    let all = sentences(Frequencies::natural(), Side::Held, 6, 20_000);
    let share = |f: fn(&Sentence) -> bool| all.iter().filter(|s| f(s)).count() as f64 / all.len() as f64;
    let relative = share(|s| s.relative_clause);
    let two = share(|s| s.attractor.is_some() && s.intervening == 2);
    let fronted = share(|s| s.tokens.iter().position(|t| t == ",").is_some_and(|i| i < s.subject));
    println!("relative clauses {relative:.3}, two intervening nouns {two:.3}, fronted phrases {fronted:.3}");
    assert!((0.10..0.15).contains(&relative) && (0.015..0.035).contains(&two) && (0.17..0.23).contains(&fronted));
    for s in all.iter().take(12) {
        println!("{}", s.text());
    }
}
