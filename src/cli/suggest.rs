//! "Did you mean …?" for names that are not known.

/// A sentence for a name that is none of `known`: the closest one where it is close, and all of them.
pub fn unknown(what: &str, name: &str, known: &[&str]) -> String {
    let listed = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    match closest(name, known) {
        Some(near) => format!("`{name}` is no {what}; did you mean `{near}`? Known: {listed}"),
        None => format!("`{name}` is no {what}. Known: {listed}"),
    }
}

/// The known name that a slip of the keyboard away from `name`: at most a third of its letters, and three, are wrong.
pub fn closest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    // Longer input is no slip, and the distance takes quadratic time.
    if name.len() > 64 {
        return None;
    }
    let scored = known.iter().map(|k| (distance(&name.to_lowercase(), &k.to_lowercase()), *k));
    let (d, near) = scored.min_by_key(|(d, _)| *d)?;
    (d <= (near.chars().count() / 3).clamp(1, 3)).then_some(near)
}

/// Edit distance with swaps of neighbours (optimal string alignment).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    for (j, cell) in rows[0].iter_mut().enumerate() {
        *cell = j;
    }
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let substitute = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = substitute.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised_and_other_words_are_not() {
        let methods = ["inlp", "alterrep", "fgsm", "pgd"];
        for (typed, meant) in [
            ("pdg", "pgd"),
            ("PGD", "pgd"),
            ("altrep", "alterrep"),
            ("AlterRep", "alterrep"),
            ("fgms", "fgsm"),
        ] {
            assert_eq!(closest(typed, &methods), Some(meant), "{typed}");
        }
        assert_eq!(closest("leace", &methods), None);
        assert_eq!(closest(&"pgd".repeat(100_000), &methods), None);
        assert!(unknown("method", "pdg", &methods).contains("did you mean `pgd`?"));
        assert!(unknown("method", "x", &[]).contains("Known: none"));
    }

    #[test]
    fn the_distance_counts_edits_and_swaps() {
        for (a, b, d) in [("", "abc", 3), ("kitten", "sitting", 3), ("ab", "ba", 1), ("same", "same", 0)] {
            assert_eq!((distance(a, b), distance(b, a)), (d, d), "{a} {b}");
        }
    }
}
