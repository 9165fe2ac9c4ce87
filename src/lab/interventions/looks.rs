//! Looks of the methods in figures: one table, beside the registry.

/// Methods in the order that gives colours and markers: a method looks the same in every figure, whichever others are
/// drawn with it and wherever the registry lists it. New ones are added at the end.
const LOOKS: [&str; 18] = [
    "alterrep",
    "fgsm",
    "pgd",
    "inlp",
    "rlace",
    "autoattack",
    "leace",
    "mean_difference",
    "identity",
    "random",
    "apgd",
    "fab",
    "square",
    "interchange",
    "counterfactual",
    "directions",
    "states",
    "erased_states",
];

/// The number of a method's look. A method that is not in the table (from a newer program's session) gets one by its name, so
/// that it is at least the same everywhere, and never one of the table's.
pub fn number(method: &str) -> usize {
    let hash = || LOOKS.len() + method.bytes().fold(0usize, |h, b| (h * 31 + usize::from(b)) % 997);
    LOOKS.iter().position(|id| *id == method).unwrap_or_else(hash)
}

#[cfg(test)]
mod tests {
    use super::super::registry;
    use super::*;

    /// The table once said `random_subspace` where the registry says `random`.
    #[test]
    fn every_registered_method_has_a_look() {
        for method in registry() {
            assert!(LOOKS.contains(&method.id()), "add `{}` to the end of LOOKS", method.id());
        }
    }

    #[test]
    fn looks_are_distinct() {
        for (i, method) in LOOKS.iter().enumerate() {
            assert_eq!(number(method), i);
        }
        assert!(number("unheard_of") >= LOOKS.len());
    }
}
