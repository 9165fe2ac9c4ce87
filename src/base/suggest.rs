//! "Did you mean …?" for unknown names.

use super::text::shortened;

/// Builds the end of an error message about an unknown value, to follow its key: "is `x`, which is not known; did you mean `a`? Known: a,
/// b".
pub fn is_unknown(name: &str, known: &[&str]) -> String {
    let near = closest(name, known).map_or(".".to_owned(), |n| format!("; did you mean `{n}`?"));
    format!("is `{}`, which is not known{near} Known: {}", shortened(name, 40), known.join(", "))
}

/// Builds the error message for a name that is not in `known`, with all known names and the closest one if it is close enough.
pub fn unknown(what: &str, name: &str, known: &[&str]) -> String {
    let listed = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    match closest(name, known) {
        Some(near) => format!("`{name}` is not a known {what}; did you mean `{near}`? Known: {listed}"),
        None => format!("`{name}` is not a known {what}. Known: {listed}"),
    }
}

/// Returns the closest known name if `name` may be a misspelling of it. One edit is allowed for every three letters of the known name, with
/// a minimum of one and a maximum of three.
pub fn closest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    // Longer input is not a misspelling, and the distance takes quadratic time.
    if name.len() > 64 {
        return None;
    }
    let scored = known.iter().map(|k| (distance(&name.to_lowercase(), &k.to_lowercase()), *k));
    let (d, near) = scored.min_by_key(|(d, _)| *d)?;
    (d <= (near.chars().count() / 3).clamp(1, 3)).then_some(near)
}

/// Edit distance: the number of letters inserted, deleted, replaced or swapped with a neighbour (optimal string alignment).
fn distance(from: &str, to: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    let mut d = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            if i == 0 || j == 0 {
                d[i][j] = i + j;
                continue;
            }
            let replaced = d[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            d[i][j] = replaced.min(d[i - 1][j] + 1).min(d[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                d[i][j] = d[i][j].min(d[i - 2][j - 2] + 1);
            }
        }
    }
    d[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_insertions_deletions_replacements_and_swaps() {
        for (from, to, d) in [("", "", 0), ("", "abc", 3), ("abc", "", 3), ("pdg", "pgd", 1), ("kitten", "sitting", 3)]
        {
            assert_eq!(distance(from, to), d, "{from} {to}");
        }
        // Optimal string alignment does not edit a swapped pair again, so the distance is 3, where Damerau-Levenshtein gives 2.
        assert_eq!((distance("ca", "abc"), distance("größe", "grösse")), (3, 2));
    }

    #[test]
    fn only_typos_are_recognised() {
        let methods = ["inlp", "alterrep", "fgsm", "pgd"];
        for (typed, meant) in
            [("pdg", "pgd"), ("PGD", "pgd"), ("altrep", "alterrep"), ("AlterRep", "alterrep"), ("fgms", "fgsm")]
        {
            assert_eq!(closest(typed, &methods), Some(meant), "{typed}");
        }
        assert_eq!(closest("leace", &methods), None);
        assert_eq!(closest(&"pgd".repeat(100_000), &methods), None);
        assert!(unknown("method", "pdg", &methods).contains("did you mean `pgd`?"));
        assert!(unknown("method", "x", &[]).contains("Known: none"));
    }
}
