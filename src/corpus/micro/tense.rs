//! Tense: an expression of time determines whether the verb is in the past or the present tense.
//!
//! `time , subject VERB complement .` or `subject VERB complement time .`

use std::sync::LazyLock;

use rand_chacha::rand_core::Rng;

use super::lexicon::{self, Verb};
use super::phrases::{Annotated, Draft};
use super::{Number, Side};

/// Present plural and past form of verbs that have one-word forms in both tenses.
#[rustfmt::skip]
pub(crate) const PASTS: &[(&str, &str)] = &[
    ("walk", "walked"), ("run", "ran"), ("sleep", "slept"), ("wait", "waited"), ("sit", "sat"), ("swim", "swam"),
    ("jump", "jumped"), ("eat", "ate"), ("hide", "hid"), ("rest", "rested"), ("return", "returned"), ("come", "came"),
    ("go", "went"), ("live", "lived"), ("play", "played"), ("work", "worked"), ("talk", "talked"), ("speak", "spoke"),
    ("laugh", "laughed"), ("smile", "smiled"), ("sing", "sang"), ("dance", "danced"), ("cry", "cried"),
    ("listen", "listened"), ("travel", "traveled"), ("fall", "fell"), ("move", "moved"), ("stop", "stopped"),
    ("disappear", "disappeared"), ("stand", "stood"), ("lie", "lay"), ("burn", "burned"), ("break", "broke"),
    ("hang", "hung"), ("turn", "turned"), ("open", "opened"), ("close", "closed"), ("change", "changed"),
    ("grow", "grew"), ("matter", "mattered"), ("see", "saw"), ("like", "liked"), ("love", "loved"), ("know", "knew"),
    ("find", "found"), ("follow", "followed"), ("watch", "watched"), ("hear", "heard"), ("carry", "carried"),
    ("remember", "remembered"), ("fear", "feared"), ("hate", "hated"), ("visit", "visited"), ("meet", "met"),
    ("buy", "bought"), ("sell", "sold"), ("paint", "painted"), ("make", "made"), ("use", "used"), ("want", "wanted"),
    ("need", "needed"), ("contain", "contained"), ("hold", "held"), ("cover", "covered"), ("touch", "touched"),
    ("protect", "protected"), ("belong", "belonged"),
];

/// Expressions that require the past tense.
pub(crate) const THEN: &[&str] = &["yesterday", "last week", "last night", "last year", "long ago", "an hour ago"];

/// Expressions that require the present tense.
pub(crate) const NOW: &[&str] = &["now", "today", "every day", "these days", "at the moment", "every week"];

/// Verbs of the lexicon that are in [`PASTS`], with their past forms.
static VERBS: LazyLock<Vec<(&'static Verb, &'static str)>> = LazyLock::new(|| {
    let past = |v: &Verb| PASTS.iter().find(|p| p.0 == v.forms[1]).map(|p| p.1);
    lexicon::VERBS.iter().filter_map(|v| Some((v, past(v)?))).collect()
});

/// Draws the next sentence. Subject-verb pairs are split as in agreement.
pub fn sentence(side: Side, rng: &mut impl Rng) -> Annotated {
    let verbs: Vec<&'static Verb> = VERBS.iter().map(|v| v.0).collect();
    let mut text = Draft::new(rng);
    let (noun, verb) = loop {
        let noun = text.noun(u8::MAX);
        if let Some(verb) = text.verb(noun, side, &verbs) {
            break (noun, verb);
        }
    };
    let past = VERBS.iter().find(|v| v.0 == verb).map_or("", |v| v.1);
    let (number, is_past, fronted) = (text.number(), text.flip(0.5), text.flip(0.5));
    let time = text.pick(if is_past { THEN } else { NOW });
    if fronted {
        text.words(time);
        text.tokens.push(",");
    }
    text.noun_phrase(noun, number);
    let present = verb.forms[number.index()];
    let (form, other) = if is_past { (past, present) } else { (present, past) };
    let focus = text.at(form);
    text.complement(noun, verb);
    if !fronted {
        text.words(time);
    }
    text.end(focus, Some(other), fronted)
}

/// Returns every word that can occur at the focus.
pub fn answers() -> impl Iterator<Item = &'static str> {
    VERBS.iter().flat_map(|(v, past)| Number::ALL.map(|n| v.forms[n.index()]).into_iter().chain([*past]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use stats::rng::stream;

    #[test]
    fn past_forms_map_to_distinct_lexicon_verbs() {
        assert_eq!(VERBS.len(), PASTS.len());
        for (_, past) in PASTS {
            assert!(!lexicon::VERBS.iter().any(|v| v.forms.contains(past)), "{past}");
        }
        let pasts: std::collections::HashSet<_> = PASTS.iter().map(|p| p.1).collect();
        assert_eq!(pasts.len(), PASTS.len());
    }

    proptest! {
        #[test]
        fn tense_follows_from_the_time_expression(seed: u64, held: bool) {
            let side = if held { Side::Held } else { Side::Train };
            let mut rng = stream(seed, "tense test");
            for _ in 0..30 {
                let s = sentence(side, &mut rng);
                let text = s.tokens.join(" ");
                let at = |list: &[&str]| list.iter().any(|t| text.starts_with(&format!("{t} ,")) || text.ends_with(&format!("{t} .")));
                prop_assert!(at(THEN) != at(NOW), "{}", text);
                let verb = s.tokens[s.focus[0]].as_str();
                let is_past = PASTS.iter().any(|p| p.1 == verb);
                prop_assert_eq!(is_past, at(THEN), "{}", text);
                prop_assert_eq!(PASTS.iter().any(|p| Some(p.1) == s.other.as_deref()), !is_past);
                prop_assert_eq!(s.settled_before, text.contains(" , "));
            }
        }
    }
}
