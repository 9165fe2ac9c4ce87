//! All intervention methods: one line each.

use super::method::{Goal, Method};
use super::methods::{
    alterrep::AlterRep,
    apgd::Apgd,
    autoattack::AutoAttack,
    counterfactual::Counterfactual,
    das::Das,
    fab::Fab,
    fgsm::Fgsm,
    identity::Identity,
    inlp::Inlp,
    interchange::Interchange,
    kernel::KernelErasure,
    leace::Leace,
    mean_difference::MeanDifference,
    own::{OwnDirections, OwnStates},
    pgd::Pgd,
    random::RandomSubspace,
    rlace::Rlace,
    square::Square,
};

/// The methods in listing order, controls last.
pub fn registry() -> &'static [&'static dyn Method] {
    &[
        &Inlp,
        &Rlace,
        &KernelErasure,
        &Leace,
        &AlterRep,
        &MeanDifference,
        &Interchange,
        &Das,
        &Counterfactual,
        &Fgsm,
        &Pgd,
        &AutoAttack,
        &Apgd,
        &Fab,
        &Square,
        &OwnDirections,
        &OwnStates(Goal::Counterfactual),
        &OwnStates(Goal::Nullifying),
        &RandomSubspace,
        &Identity,
    ]
}

/// The method with this name.
pub fn find(id: &str) -> Option<&'static dyn Method> {
    registry().iter().copied().find(|m| m.id() == id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_and_found() {
        for (i, method) in registry().iter().enumerate() {
            let found = find(method.id()).map(|m| m.id());
            assert_eq!(found, Some(method.id()));
            assert!(registry()[..i].iter().all(|other| other.id() != method.id()));
            assert!(!method.title().is_empty() && method.doc().len() > 20);
            let names: Vec<_> = method.settings().iter().map(|s| s.name).collect();
            assert!(method.fit_options().iter().all(|o| names.contains(o)));
        }
        assert!(find("nothing").is_none());
    }
}
