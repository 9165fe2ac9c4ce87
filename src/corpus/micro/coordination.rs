//! Coordination: the number of the verb depends on how nouns, verbs or clauses are joined.
//!
//! `A and B VERB` (always plural), `A verb and VERB` (number of A), `A verb , but B VERB` (number of B).

use rand_chacha::rand_core::Rng;

use super::lexicon::{self, Frame, Verb};
use super::phrases::{Annotated, Draft};
use super::{Number, Side};

/// Conjunctions between clauses.
pub(crate) const JOINING: &[&str] = &["and", "but"];

/// Draws the next sentence. Subject-verb pairs are split as in agreement.
pub fn sentence(side: Side, rng: &mut impl Rng) -> Annotated {
    let all: Vec<&'static Verb> = lexicon::VERBS.iter().collect();
    let plain: Vec<&'static Verb> = all.iter().filter(|v| v.frame == Frame::Intransitive).copied().collect();
    let mut text = Draft::new(rng);
    let shape = text.index(3);
    let (one, two) = (text.number(), text.number());
    let (first, verb) = text.pair(side, if shape == 1 { &plain } else { &all });
    text.noun_phrase(first, one);
    let (number, said) = match shape {
        0 => {
            text.words("and");
            // Draws a second noun that also combines with the verb on this side.
            let (second, _) = loop {
                let (noun, _) = text.pair(side, &[verb]);
                if noun != first {
                    break (noun, ());
                }
            };
            text.noun_phrase(second, two);
            (Number::Pl, verb)
        }
        1 => {
            text.tokens.push(verb.forms[one.index()]);
            text.words("and");
            // On each side of the split, nouns of every kind have several intransitive verbs, so the loop ends.
            let other = loop {
                if let Some(v) = text.verb(first, side, &all)
                    && v != verb
                {
                    break v;
                }
            };
            (one, other)
        }
        _ => {
            text.tokens.push(verb.forms[one.index()]);
            text.complement(first, verb);
            text.tokens.push(",");
            let word = text.pick(JOINING);
            text.tokens.push(word);
            let (second, verb) = text.pair(side, &all);
            text.noun_phrase(second, two);
            let focus = text.at(verb.forms[two.index()]);
            text.complement(second, verb);
            return text.end(focus, Some(verb.forms[two.other().index()]), true);
        }
    };
    let focus = text.at(said.forms[number.index()]);
    text.complement(first, said);
    text.end(focus, Some(said.forms[number.other().index()]), true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use stats::rng::stream;

    proptest! {
        #[test]
        fn number_follows_from_the_conjuncts(seed: u64, held: bool) {
            let side = if held { Side::Held } else { Side::Train };
            let mut rng = stream(seed, "coordination test");
            for _ in 0..30 {
                let s = sentence(side, &mut rng);
                let text = s.tokens.join(" ");
                let noun = |t: &String| lexicon::NOUNS.iter().find_map(|n| n.forms.iter().position(|f| f == t));
                let verb = |t: &String| lexicon::VERBS.iter().find_map(|v| v.forms.iter().position(|f| f == t));
                let before = &s.tokens[..s.focus[0]];
                let number = verb(&s.tokens[s.focus[0]]).unwrap();
                let expected = match (text.contains(" , "), before.iter().any(|t| verb(t).is_some())) {
                    (true, _) => noun(before.last().unwrap()).unwrap(),
                    (false, true) => before.iter().find_map(noun).unwrap(),
                    (false, false) => 1,
                };
                prop_assert_eq!(number, expected, "{}", text);
                prop_assert_eq!(verb(s.other.as_ref().unwrap()), Some(1 - number), "{}", text);
            }
        }
    }
}
