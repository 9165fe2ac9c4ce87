//! All intervention methods, one line each.

use super::method::Method;
use super::methods::{
    alterrep::ALTERREP,
    apgd::APGD,
    autoattack::AUTOATTACK,
    counterfactual::COUNTERFACTUAL,
    das::DAS,
    fab::FAB,
    fgsm::FGSM,
    identity::IDENTITY,
    inlp::INLP,
    interchange::INTERCHANGE,
    kernel::KERNEL_RLACE,
    leace::LEACE,
    mean_difference::MEAN_DIFFERENCE,
    own::{ERASED_STATES, OWN_DIRECTIONS, STATES},
    pgd::PGD,
    random::RANDOM,
    rlace::RLACE,
    square::SQUARE,
};

/// All methods in listing order, controls last.
static METHODS: [Method; 20] = [
    INLP,
    RLACE,
    KERNEL_RLACE,
    LEACE,
    ALTERREP,
    MEAN_DIFFERENCE,
    INTERCHANGE,
    DAS,
    COUNTERFACTUAL,
    FGSM,
    PGD,
    AUTOATTACK,
    APGD,
    FAB,
    SQUARE,
    OWN_DIRECTIONS,
    STATES,
    ERASED_STATES,
    RANDOM,
    IDENTITY,
];

/// The methods in listing order, controls last.
pub fn registry() -> &'static [Method] {
    &METHODS
}

pub fn find(id: &str) -> Option<&'static Method> {
    registry().iter().find(|m| m.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_and_found() {
        for (i, method) in registry().iter().enumerate() {
            let found = find(method.id).map(|m| m.id);
            assert_eq!(found, Some(method.id));
            assert!(registry()[..i].iter().all(|other| other.id != method.id));
            assert!(!method.title.is_empty() && method.doc.len() > 20);
        }
        assert!(find("nothing").is_none());
    }
}
