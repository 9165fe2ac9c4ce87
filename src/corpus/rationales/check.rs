//! Checks of every benchmark instance. They run when an instance is generated, so they apply to every seed.

use super::{Dimension, Instance, Language, MASK, Perturbation};
use crate::micro::{arithmetic::NUMBERS, hash};

/// True if the instance belongs to the benchmark. For each template, half of all sums (in either order) belong to the benchmark under all
/// seeds, and models are trained on the others. An instance without a sum or without English number words always belongs to the benchmark.
pub(crate) fn is_kept_sum(template: &str, i: &Instance) -> bool {
    if i.dimension != Dimension::Computation {
        return true;
    }
    let lower = i.rationale_tokens.iter().map(|t| t.to_lowercase());
    let mut numbers: Vec<String> = lower.filter(|t| NUMBERS.contains(&t.as_str())).collect();
    if numbers.is_empty() {
        return true;
    }
    numbers.sort_unstable();
    let key = format!("{template}|{}", numbers.join("|"));
    hash(0, key.bytes()).is_multiple_of(2)
}

/// True if the sentence contains the answer or, unless the question is about the word form, a word with the same stem.
pub(crate) fn gives_away(language: Language, i: &Instance) -> bool {
    let answer = i.answer.to_lowercase();
    let stems = !matches!(i.dimension, Dimension::Grammar | Dimension::Computation);
    i.sent_token.iter().filter(|t| *t != MASK).map(|t| t.to_lowercase()).any(|token| match language {
        Language::English => token == answer || (stems && share_a_stem(&token, &answer)),
        Language::Chinese => token.contains(&answer),
    })
}

/// True if one word is a prefix of the other and has at least four characters.
pub(crate) fn share_a_stem(a: &str, b: &str) -> bool {
    let (short, long) = if a.chars().count() <= b.chars().count() { (a, b) } else { (b, a) };
    short.chars().count() >= 4 && long.starts_with(short)
}

pub(crate) fn instance(language: Language, i: &Instance, from_text: bool) -> Result<(), String> {
    let text = &i.sent_text;
    if i.mask_index == 0 {
        return Err(format!(
            "'{text}': the mask is the first word, which a byte-level model sees without a leading space"
        ));
    }
    if from_text && !i.sent_token.contains(&i.answer) {
        return Err(format!("'{text}' does not contain its answer '{}', although it should", i.answer));
    }
    if !from_text && gives_away(language, i) {
        return Err(format!("'{text}' reveals its answer '{}'", i.answer));
    }
    if language == Language::Chinese && !i.several_tokens && i.answer.chars().count() != 1 {
        return Err(format!("'{text}': '{}' has several characters, but lacks the mark for this", i.answer));
    }
    articles(i)
}

/// Checks that every article fits the next word, or each gold answer if the next word is the mask.
pub(crate) fn articles(i: &Instance) -> Result<(), String> {
    for pair in i.sent_token.windows(2) {
        let vowel = match pair[0].to_lowercase().as_str() {
            "a" => false,
            "an" => true,
            _ => continue,
        };
        let follows: Vec<&str> = if pair[1] == MASK { i.answers().collect() } else { vec![&pair[1]] };
        if let Some(word) = follows.into_iter().find(|w| begins_with_a_vowel(w) != vowel) {
            return Err(format!("'{}': '{} {word}'", i.sent_text, pair[0]));
        }
    }
    Ok(())
}

/// True if a word begins with a vowel sound; covers the words of the templates.
fn begins_with_a_vowel(word: &str) -> bool {
    let word = word.to_lowercase();
    let silent = ["hour", "honest", "heir"].iter().any(|w| word.starts_with(w));
    let spoken = ["one", "eu", "use", "uni"].iter().any(|w| word.starts_with(w));
    silent || (word.starts_with(['a', 'e', 'i', 'o', 'u']) && !spoken)
}

/// Checks a partner against its original: a dispensable perturbation leaves the rationale unchanged, and an important one changes only
/// words of the rationale.
pub(crate) fn partner(original: &Instance, partner: &Instance) -> Result<(), String> {
    let fold = |i: &Instance| i.rationale_tokens.iter().map(|t| t.to_lowercase()).collect::<Vec<_>>();
    let say = |what: &str| Err(format!("'{}' and '{}': {what}", original.sent_text, partner.sent_text));
    match partner.perturbation {
        Some(Perturbation::Dispens) if fold(original) != fold(partner) => say("the rationale has changed"),
        Some(Perturbation::Import) if fold(original) == fold(partner) => say("the rationale has not changed"),
        Some(Perturbation::Import) => {
            let words = original.sent_token.iter().zip(&partner.sent_token);
            let outside = words
                .enumerate()
                .any(|(at, (a, b))| !a.eq_ignore_ascii_case(b) && !original.rationale_ids.contains(&at));
            let same = original.rationale_ids == partner.rationale_ids
                && original.sent_token.len() == partner.sent_token.len();
            if outside || !same { say("words outside the rationale have changed") } else { Ok(()) }
        }
        _ => Ok(()),
    }
}
