//! One file per intervention method.

pub mod alterrep;
pub mod attack;
pub mod fgsm;
pub mod identity;
pub mod inlp;
pub mod pgd;
pub mod random;

#[cfg(test)]
pub(crate) mod testing;
