//! Lengths: sentences of 5 to 28 tokens, all lengths equally likely, in which the verb of the last clause agrees with its subject.
//!
//! `A (near B) verb complement (, and C (near D) VERB complement)*`: clauses are joined up to the length drawn.

use rand_chacha::rand_core::Rng;

use super::Side;
use super::coordination::JOINING;
use super::lexicon::{self, Verb};
use super::phrases::{Annotated, Draft};

/// Minimum and maximum number of tokens, full stop included: the range of SentEval's sentence length.
pub const TOKENS: (usize, usize) = (5, 28);

/// Share of subjects followed by a locative phrase (`near the house`).
const PLACED: f64 = 0.3;

/// Draws the next sentence. Subject-verb pairs are split as in agreement.
pub fn sentence(side: Side, rng: &mut impl Rng) -> Annotated {
    let verbs: Vec<&'static Verb> = lexicon::VERBS.iter().collect();
    let (shortest, longest) = TOKENS;
    let mut text = Draft::new(rng);
    let length = shortest + text.index(longest - shortest + 1);
    loop {
        // Clauses have 3 to 12 tokens, which can add up to every length, so the loop ends.
        text.tokens.clear();
        if let Some((focus, other)) = fill(&mut text, side, length, &verbs) {
            return text.end(focus, Some(other), true);
        }
    }
}

/// Writes clauses of `length` tokens in total. Returns the position of the last verb and the verb's form in the other number, or `None` if
/// the last clause is too long.
fn fill<R: Rng>(
    text: &mut Draft<'_, R>,
    side: Side,
    length: usize,
    verbs: &[&'static Verb],
) -> Option<(usize, &'static str)> {
    loop {
        let (noun, verb) = text.pair(side, verbs);
        let number = text.number();
        text.noun_phrase(noun, number);
        if text.flip(PLACED) {
            text.place();
        }
        let focus = text.at(verb.forms[number.index()]);
        text.complement(noun, verb);
        match length.checked_sub(text.tokens.len() + 1)? {
            0 => return Some((focus, verb.forms[number.other().index()])),
            _ => {
                let word = text.pick(JOINING);
                text.tokens.extend([",", word]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::rng::stream;

    #[test]
    fn every_length_is_equally_frequent_and_the_last_verb_agrees() {
        let mut rng = stream(5, "lengths test");
        let (shortest, longest) = TOKENS;
        let mut counts = vec![0; longest - shortest + 1];
        let form =
            |t: &String, all: &[&'static [&'static str; 2]]| all.iter().find_map(|f| f.iter().position(|w| w == t));
        let nouns: Vec<&[&str; 2]> = lexicon::NOUNS.iter().map(|n| &n.forms).collect();
        let verbs: Vec<&[&str; 2]> = lexicon::VERBS.iter().map(|v| &v.forms).collect();
        for _ in 0..4_800 {
            let s = sentence(Side::Held, &mut rng);
            counts[s.tokens.len() - shortest] += 1;
            let clause = s.tokens[..s.focus[0]].iter().rposition(|t| t == ",").map_or(0, |c| c + 1);
            let subject = s.tokens[clause..].iter().find_map(|t| form(t, &nouns)).unwrap();
            assert_eq!(form(&s.tokens[s.focus[0]], &verbs), Some(subject), "{}", s.text());
            assert!(!s.tokens[s.focus[0]..].contains(&",".to_owned()), "{}", s.text());
        }
        // The expected count is 200; 4.5 standard deviations are 62.
        assert!(counts.iter().all(|c| (138..=262).contains(c)), "{counts:?}");
    }
}
