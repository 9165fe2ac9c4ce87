//! Colours and markers of the methods in figures: one table, next to the registry.

use figure::Marker;
use figure::role::MARKERS;

/// Methods in the order that determines colours and markers, so that a method looks the same in every figure. Append new ones.
const LOOKS: [&str; 20] = [
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
    "das",
    "kernel_rlace",
];

/// Marker of a method; controls have separate ones.
pub fn marker(method: &str) -> Marker {
    match method {
        "identity" => Marker::Stroke,
        "random" => Marker::Down,
        _ => MARKERS[number(method) % MARKERS.len()],
    }
}

/// Explains an abbreviated method name in a legend: the full name, or what the method does.
pub(super) fn written_out(method: &str) -> Option<&'static str> {
    Some(match method {
        "inlp" => "iterative null-space projection",
        "rlace" => "relaxed linear adversarial concept erasure",
        "kernel_rlace" => "relaxed adversarial concept erasure with a kernel",
        "leace" => "least-squares concept erasure",
        "das" => "distributed alignment search",
        "fgsm" => "fast gradient sign method",
        "pgd" => "projected gradient descent",
        "apgd" => "projected gradient descent with automatic steps",
        "fab" => "fast adaptive boundary attack",
        "autoattack" => "APGD, FAB and Square in turn",
        "alterrep" => "mirrors states across linear classifiers",
        "identity" => "no edit",
        "random" => "random directions removed",
        _ => return None,
    })
}

/// Number that determines a method's look. A method missing from the table (from a newer program's session) gets a number derived from its
/// name: always the same, and not in the table.
pub fn number(method: &str) -> usize {
    let hash = || LOOKS.len() + method.bytes().fold(0usize, |h, b| (h * 31 + usize::from(b)) % 997);
    LOOKS.iter().position(|id| *id == method).unwrap_or_else(hash)
}

#[cfg(test)]
mod tests {
    use super::super::{Method, registry};
    use super::*;

    /// Regression: the table used to contain `random_subspace`, but the registry contains `random`.
    #[test]
    fn registered_methods_have_a_style() {
        for method in registry() {
            assert!(LOOKS.contains(&method.id), "add `{}` to the end of LOOKS", method.id);
        }
    }

    /// Regression: INLP and the identity control both used to have crosses.
    #[test]
    fn controls_have_separate_markers() {
        let (controls, methods): (Vec<&Method>, Vec<_>) = registry().iter().partition(|m| m.is_control);
        let mut markers: Vec<Marker> = controls.iter().map(|m| marker(m.id)).collect();
        assert!(methods.iter().all(|m| !markers.contains(&marker(m.id))));
        let count = markers.len();
        markers.dedup();
        assert_eq!((markers.len(), count), (2, 2));
    }

    #[test]
    fn method_styles_are_distinct() {
        for (i, method) in LOOKS.iter().enumerate() {
            assert_eq!(number(method), i);
        }
        assert!(number("unheard_of") >= LOOKS.len());
    }
}
