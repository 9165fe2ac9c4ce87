//! One file per intervention method.

pub mod across;
pub mod alterrep;
pub mod apgd;
pub mod attack;
pub mod autoattack;
pub mod fab;
pub mod fgsm;
pub mod identity;
pub mod inlp;
pub mod leace;
pub mod mean_difference;
pub mod pgd;
pub mod random;
pub mod square;

#[cfg(test)]
pub(crate) mod testing;
