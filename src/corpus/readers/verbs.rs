//! Rules that derive the other form of a present-tense verb, which LGD does not contain.

/// Irregular forms: singular, plural.
const IRREGULAR: &[(&str, &str)] = &[
    ("is", "are"),
    ("has", "have"),
    ("does", "do"),
    ("was", "were"),
    ("goes", "go"),
    ("lies", "lie"),
    ("dies", "die"),
    ("ties", "tie"),
    ("vies", "vie"),
    ("isn't", "aren't"),
    ("hasn't", "haven't"),
    ("doesn't", "don't"),
    ("wasn't", "weren't"),
];

/// Returns the verb form for the other number, or `None` if there is none (`am`) or the verb does not match the stated number.
pub(crate) fn other(verb: &str, singular: bool) -> Option<String> {
    let low = verb.to_lowercase();
    if matches!(low.as_str(), "am" | "'m" | "'s" | "'re" | "'ve" | "") {
        return None;
    }
    let known = IRREGULAR.iter().find(|(sg, pl)| low == if singular { *sg } else { *pl });
    let made = match known {
        Some((sg, pl)) => if singular { *pl } else { *sg }.to_owned(),
        None if singular => plural(&low)?,
        None => third_person(&low),
    };
    // A capital letter at the beginning of a sentence is kept.
    let mut chars = made.chars();
    match (verb.chars().next(), chars.next()) {
        (Some(c), Some(first)) if c.is_uppercase() => Some(first.to_uppercase().chain(chars).collect()),
        _ => Some(made),
    }
}

fn third_person(verb: &str) -> String {
    if let Some(stem) = verb.strip_suffix('y').filter(|s| !s.is_empty() && !s.ends_with(['a', 'e', 'o', 'u'])) {
        return format!("{stem}ies");
    }
    if ["s", "x", "z", "ch", "sh", "o"].iter().any(|end| verb.ends_with(end)) {
        return format!("{verb}es");
    }
    format!("{verb}s")
}

fn plural(verb: &str) -> Option<String> {
    if let Some(stem) = verb.strip_suffix("ies") {
        return Some(format!("{stem}y"));
    }
    for end in ["sses", "xes", "zzes", "ches", "shes", "oes"] {
        if verb.ends_with(end) {
            return verb.strip_suffix("es").map(str::to_owned);
        }
    }
    verb.strip_suffix('s').filter(|stem| stem.len() > 1 && !stem.ends_with('s')).map(str::to_owned)
}

/// Returns `Some(true)` if `form` is the singular of `other`, `Some(false)` if the reverse is true, and `None` if it is unclear. The
/// singular ends in *-s* and the plural does not, or the singular is longer by *-s*.
pub(crate) fn singular(form: &str, other: &str) -> Option<bool> {
    let known = |a: &str, b: &str| IRREGULAR.contains(&(a, b));
    let (form, other) = (form.to_lowercase(), other.to_lowercase());
    if known(&form, &other) || known(&other, &form) {
        return Some(known(&form, &other));
    }
    match (form.ends_with('s'), other.ends_with('s')) {
        (true, false) => Some(true),
        (false, true) => Some(false),
        (true, true) if form.len() != other.len() => Some(form.len() > other.len()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verb_forms_convert_both_ways() {
        for (sg, pl) in [
            ("is", "are"),
            ("has", "have"),
            ("represents", "represent"),
            ("carries", "carry"),
            ("plays", "play"),
            ("passes", "pass"),
            ("fixes", "fix"),
            ("uses", "use"),
            ("teaches", "teach"),
            ("goes", "go"),
            ("lies", "lie"),
            ("Is", "Are"),
            ("buzzes", "buzz"),
        ] {
            assert_eq!(other(sg, true).as_deref(), Some(pl), "{sg}");
            assert_eq!(other(pl, false).as_deref(), Some(sg), "{pl}");
            assert_eq!((singular(sg, pl), singular(pl, sg)), (Some(true), Some(false)), "{sg}");
        }
        assert_eq!((other("am", false), other("run", true), other("", true)), (None, None, None));
        assert_eq!(singular("ran", "run"), None);
    }
}
