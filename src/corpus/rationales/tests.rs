//! Properties of all instances in the shipped benchmark.

use std::collections::{BTreeMap, HashSet};

use super::*;
use proptest::prelude::*;

fn path(language: Language) -> std::path::PathBuf {
    let name = format!("assets/rationales/{}.jsonl", language.code());
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../").join(name)
}

fn lines(instances: &[Instance]) -> String {
    instances.iter().map(|i| serde_json::to_string(i).unwrap() + "\n").collect()
}

/// The shipped files equal the output of the generator for seed 0. `UPDATE_ASSETS=1 cargo test` rewrites them.
#[test]
fn shipped_files_match_the_generator() {
    for language in Language::ALL {
        let text = lines(&benchmark(language, 0).unwrap());
        if std::env::var_os("UPDATE_ASSETS").is_some() {
            std::fs::write(path(language), &text).unwrap();
        }
        let shipped = std::fs::read_to_string(path(language)).unwrap();
        assert!(shipped == text, "{} is out of date: UPDATE_ASSETS=1 cargo test", path(language).display());
        let read: Vec<Instance> = shipped.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        assert_eq!(read, benchmark(language, 0).unwrap());
    }
}

#[test]
fn every_dimension_has_enough_originals_and_partners() {
    for (language, least) in [(Language::English, 100), (Language::Chinese, 30)] {
        let all = benchmark(language, 0).unwrap();
        let mut originals: BTreeMap<Dimension, usize> = BTreeMap::new();
        let mut distinct: BTreeMap<Dimension, HashSet<(String, Vec<String>)>> = BTreeMap::new();
        let mut partners: BTreeMap<(Dimension, Perturbation), usize> = BTreeMap::new();
        for i in &all {
            match i.perturbation {
                None => {
                    *originals.entry(i.dimension).or_default() += 1;
                    let marked = i.rationale_tokens.iter().map(|t| t.to_lowercase()).collect();
                    distinct.entry(i.dimension).or_default().insert((i.answer.clone(), marked));
                }
                Some(p) => *partners.entry((i.dimension, p)).or_default() += 1,
            }
        }
        println!("{}: {originals:?} {partners:?}", language.code());
        for dimension in Dimension::ALL {
            assert!(originals[&dimension] >= least, "{dimension:?}: {}", originals[&dimension]);
            // Distinct questions are counted: the same question in a different context is not new.
            let (all, different) = (originals[&dimension], distinct[&dimension].len());
            println!("{dimension:?}: {different} of {all} differ");
            assert!(different * 10 >= all * 9, "{dimension:?}: {different} of {all}");
            assert!(language == Language::Chinese || different >= 60, "{dimension:?}: {different}");
            for p in Perturbation::ALL {
                assert!(partners[&(dimension, p)] * 3 >= least, "{dimension:?} {p:?}");
            }
        }
    }
}

#[test]
fn every_dimension_has_enough_templates() {
    let mut names = HashSet::new();
    for (language, least) in [(Language::English, 12), (Language::Chinese, 2)] {
        let mut counts: BTreeMap<Dimension, usize> = BTreeMap::new();
        for template in &template::Book::parse(language).unwrap().templates {
            *counts.entry(template.dimension).or_default() += 1;
            assert!(names.insert((language.code(), template.name.clone())), "twice: {}", template.name);
        }
        assert!(counts.len() == 5 && counts.values().all(|n| *n >= least), "{language:?}: {counts:?}");
        assert!(counts[&Dimension::Knowledge] >= 4, "templates for knowledge: {counts:?}");
    }
}

fn made(dimension: Dimension, text: &str, answer: &str) -> Instance {
    let sent_token: Vec<String> = text.split(' ').map(str::to_owned).collect();
    Instance {
        sent_id: 0,
        sample_type: SampleType::Original,
        perturbation: None,
        dimension,
        sent_text: text.to_owned(),
        mask_index: sent_token.iter().position(|t| t == MASK).unwrap(),
        sent_token,
        answer: answer.to_owned(),
        other_answers: Vec::new(),
        several_tokens: false,
        rationale_ids: vec![1],
        rationale_tokens: Vec::new(),
        rel_ids: Vec::new(),
        ori_id: None,
        alignment: None,
    }
}

#[test]
fn instances_that_reveal_their_answer_are_rejected() {
    let told = |dimension, text: &str, answer: &str| {
        check::instance(Language::English, &made(dimension, text, answer), false).err().unwrap_or_default()
    };
    let (grammar, semantics) = (Dimension::Grammar, Dimension::Semantics);
    assert_eq!(told(semantics, "He chops wood with the [MASK] .", "axe"), "");
    assert!(told(semantics, "He chops wood with a [MASK] .", "axe").contains("'a axe'"));
    assert!(told(semantics, "A heated house has a new [MASK] .", "roof").is_empty());
    assert_eq!(told(semantics, "An hour has the [MASK] of a unit .", "name"), "");
    assert!(told(semantics, "A hour has the [MASK] .", "name").contains("'A hour'"));
    assert!(told(semantics, "[MASK] is hot .", "tea").contains("is the first word"));
    assert!(told(semantics, "The sharp knife is the [MASK] .", "Knife").contains("reveals"));
    assert!(told(semantics, "The firefighters use the [MASK] .", "fire").contains("reveals"));
    assert!(told(grammar, "One wolf met the other [MASK] .", "wolf").contains("reveals"));
    assert_eq!(told(grammar, "One goose met five [MASK] .", "geese"), "");
    let mut two = made(semantics, "She has a [MASK] .", "coat");
    two.other_answers = vec!["anorak".into()];
    assert!(check::instance(Language::English, &two, false).unwrap_err().contains("'a anorak'"));
    let from_text = made(semantics, "The box fits if the [MASK] is small .", "box");
    assert!(check::instance(Language::English, &from_text, true).is_ok());
    let elsewhere = made(semantics, "The box fits if the [MASK] is small .", "bag");
    assert!(check::instance(Language::English, &elsewhere, true).is_err());
    let long = check::instance(Language::Chinese, &made(semantics, "去 [MASK]", "北京"), false);
    assert!(long.unwrap_err().contains("several characters"));
}

#[test]
fn partners_with_wrong_changes_are_rejected() {
    let original = made(Dimension::Grammar, "The dogs there [MASK] here .", "bark");
    let told = |text: &str, kind, marked: &[&str]| {
        let mut partner = made(Dimension::Grammar, text, "bark");
        partner.perturbation = Some(kind);
        partner.rationale_tokens = marked.iter().map(|t| (*t).to_owned()).collect();
        let original = Instance { rationale_tokens: vec!["dogs".into()], ..original.clone() };
        check::partner(&original, &partner).err().unwrap_or_default()
    };
    let (import, dispens) = (Perturbation::Import, Perturbation::Dispens);
    assert_eq!(told("The hounds there [MASK] here .", import, &["hounds"]), "");
    assert!(told("The hounds there [MASK] now .", import, &["hounds"]).contains("outside the rationale"));
    assert!(told("The big hounds there [MASK] here .", import, &["hounds"]).contains("outside the rationale"));
    assert!(told("The dogs there [MASK] now .", import, &["dogs"]).contains("not changed"));
    assert!(told("The hounds there [MASK] here .", dispens, &["hounds"]).contains("has changed"));
    assert_eq!(told("The dogs there [MASK] now .", dispens, &["dogs"]), "");
}

fn check(all: &[Instance]) {
    let mut texts = HashSet::new();
    for (at, i) in all.iter().enumerate() {
        assert_eq!(i.sent_id, at as u64);
        assert_eq!(i.sent_token.iter().filter(|t| *t == MASK).count(), 1, "{}", i.sent_text);
        assert_eq!(i.sent_token[i.mask_index], MASK);
        assert!(!i.rationale_ids.is_empty() && i.rationale_ids.is_sorted(), "{}", i.sent_text);
        assert!(!i.rationale_ids.contains(&i.mask_index), "{}", i.sent_text);
        let tokens: Vec<&String> = i.rationale_ids.iter().map(|&k| &i.sent_token[k]).collect();
        assert_eq!(tokens, i.rationale_tokens.iter().collect::<Vec<_>>());
        assert!(!i.answer.is_empty() && !i.answer.contains(' '), "{}", i.answer);
        assert!(!i.sent_text.contains(['{', '}', '*']) && i.sent_text.contains(MASK), "{}", i.sent_text);
        match i.sample_type {
            SampleType::Original => {
                assert!(texts.insert(&i.sent_text), "twice: {}", i.sent_text);
                assert!(!i.rel_ids.is_empty() && i.ori_id.is_none() && i.alignment.is_none());
                for &r in &i.rel_ids {
                    assert_eq!(all[r as usize].ori_id, Some(i.sent_id));
                }
            }
            SampleType::Perturbed => {
                let original = &all[i.ori_id.unwrap() as usize];
                assert!(original.rel_ids.contains(&i.sent_id));
                assert_ne!(original.sent_token, i.sent_token, "the perturbation changed nothing");
                assert_eq!((original.dimension, &original.answer), (i.dimension, &i.answer));
                assert_eq!(i.alignment.is_none(), i.perturbation == Some(Perturbation::Trans));
                for &(a, b) in i.alignment.iter().flatten() {
                    assert_eq!(original.sent_token[a].to_lowercase(), i.sent_token[b].to_lowercase());
                }
            }
        }
    }
}

/// A dispensable perturbation preserves the rationale; an important one changes its tokens.
#[test]
fn perturbations_match_their_names() {
    for language in Language::ALL {
        let all = benchmark(language, 0).unwrap();
        for i in &all {
            let Some(original) = i.ori_id.map(|o| &all[o as usize]) else { continue };
            let fold = |i: &Instance| i.rationale_tokens.iter().map(|t| t.to_lowercase()).collect::<Vec<_>>();
            match i.perturbation {
                Some(Perturbation::Dispens) => assert_eq!(fold(original), fold(i), "{}", i.sent_text),
                Some(Perturbation::Import) => assert_ne!(fold(original), fold(i), "{}", i.sent_text),
                _ => {}
            }
        }
    }
}

/// Recomputes the sums from the words of the sentences.
#[test]
fn computed_answers_are_right() {
    let words = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"];
    let more = ["twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty"];
    let value = |t: &str| words.iter().chain(&more).position(|w| *w == t.to_lowercase());
    let mut checked = 0;
    for i in benchmark(Language::English, 0).unwrap() {
        if i.dimension != Dimension::Computation || i.sample_type != SampleType::Original {
            continue;
        }
        let numbers: Vec<usize> = i.sent_token.iter().filter_map(|t| value(t)).collect();
        let text = &i.sent_text;
        let has = |words: &[&str]| words.iter().any(|w| text.contains(w));
        let expected = match numbers[..] {
            [a] if has(&["twice", "wheels", "geese", "ears", "hands"]) => 2 * a,
            [a] if has(&["half"]) => a / 2,
            [a] if has(&["legs"]) => 4 * a,
            [a, b] if has(&["bought", "plus", "years", "hours"]) => a + b,
            [a, b] if has(&["took", "minus", "more than"]) => a - b,
            [b, a] if has(&["costs"]) => a - b,
            [a, b] if has(&["shared"]) => a / b,
            [a, b] if has(&["holds"]) => a * b,
            [a, b, c] if has(&["series"]) && b - a == c - b => 2 * c - b,
            _ => panic!("{text}"),
        };
        assert_eq!(value(&i.answer), Some(expected), "{text} {}", i.answer);
        checked += 1;
    }
    assert!(checked >= 120, "{checked}");
}

#[test]
fn alignment_is_the_longest_common_subsequence() {
    let tokens = |t: &str| t.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let pairs = align(&tokens("The two dogs [MASK] ."), &tokens("Luckily the two puppies [MASK] ."));
    assert_eq!(pairs, [(0, 1), (1, 2), (3, 4), (4, 5)]);
    assert!(align(&tokens("a"), &tokens("b")).is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4))]
    #[test]
    fn every_seed_gives_a_valid_reproducible_benchmark(seed: u64) {
        for language in Language::ALL {
            let all = benchmark(language, seed).unwrap();
            check(&all);
            prop_assert_eq!(&benchmark(language, seed).unwrap(), &all);
        }
    }
}
