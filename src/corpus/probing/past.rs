//! Past tense of Micro-English verbs.

use crate::micro::tense::PASTS;

/// Present plural and past of verbs missing from [`PASTS`].
const MORE: [(&str, &str); 8] = [
    ("have", "had"),
    ("seem", "seemed"),
    ("look", "looked"),
    ("remain", "remained"),
    ("become", "became"),
    ("stay", "stayed"),
    ("appear", "appeared"),
    ("feel", "felt"),
];

/// Returns the past form of a verb from its two present forms, or `None` if it is not listed here. Only the past form of the copula depends
/// on `number`.
pub(crate) fn past(forms: [&str; 2], number: usize) -> Option<&'static str> {
    if forms[1] == "are" {
        return Some(["was", "were"][number]);
    }
    PASTS.iter().chain(&MORE).find(|(present, _)| *present == forms[1]).map(|(_, past)| *past)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::micro::lexicon::VERBS;

    #[test]
    fn past_forms_differ_from_present_forms() {
        let expected = [
            ("walk", "walked"),
            ("cry", "cried"),
            ("play", "played"),
            ("stop", "stopped"),
            ("move", "moved"),
            ("seem", "seemed"),
            ("look", "looked"),
            ("wait", "waited"),
            ("visit", "visited"),
            ("need", "needed"),
            ("carry", "carried"),
            ("stay", "stayed"),
            ("listen", "listened"),
            ("travel", "traveled"),
            ("open", "opened"),
            ("remember", "remembered"),
            ("follow", "followed"),
            ("appear", "appeared"),
            ("contain", "contained"),
            ("turn", "turned"),
            ("fear", "feared"),
            ("go", "went"),
            ("use", "used"),
            ("want", "wanted"),
            ("jump", "jumped"),
            ("hate", "hated"),
            ("rest", "rested"),
            ("burn", "burned"),
            ("lie", "lay"),
        ];
        let present: Vec<&str> = VERBS.iter().flat_map(|v| v.forms).collect();
        for v in VERBS {
            for number in 0..2 {
                let past = past(v.forms, number).unwrap();
                assert!(!present.contains(&past), "{past}");
                if let Some((_, e)) = expected.iter().find(|(p, _)| *p == v.forms[1]) {
                    assert_eq!(past, *e);
                }
            }
        }
        assert_eq!((past(["is", "are"], 0), past(["is", "are"], 1)), (Some("was"), Some("were")));
        assert_eq!(past(["flies", "fly"], 0), None);
        let known: Vec<_> = VERBS.iter().map(|v| v.forms[1]).collect();
        assert!(MORE.iter().all(|(p, _)| known.contains(p)), "the grammar has every listed verb");
    }
}
