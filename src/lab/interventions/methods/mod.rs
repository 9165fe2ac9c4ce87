//! One file per intervention method.

pub mod across;
pub mod alterrep;
pub mod apgd;
pub mod attack;
pub mod autoattack;
pub mod counterfactual;
pub(crate) mod das;
pub mod fab;
pub mod fgsm;
pub mod identity;
pub mod inlp;
pub(crate) mod interchange;
pub(crate) mod kernel;
pub mod leace;
pub mod mean_difference;
pub mod own;
pub mod pgd;
pub(crate) mod proof;
pub mod random;
pub mod rlace;
pub mod square;

#[cfg(test)]
mod adversity;
#[cfg(test)]
pub(crate) mod testing;
