//! The measures of Shen et al. (2022), "An Interpretability Evaluation Benchmark for Pre-trained Language Models", with their baselines,
//! computed from words and scores alone, without models or files.
//!
//! | question | measure |
//! | --- | --- |
//! | do the annotated words have the highest scores? | token-F1 ([`rationale`], equation 1), K by [`top_k::Size`] |
//! | is the order of words stable under a perturbation? | MAP ([`map`], equation 2) |
//! | are the scores stable? | PCC over aligned words ([`align`], [`pcc`], equation 3) |
//! | does the answer depend on the rationale? | sufficiency and comprehensiveness ([`faithful`]) |
//! | what is the chance level? | [`random`] |
//!
//! [`judge::judge`] scores an original ([`input::Scored`]) with its partners. [`summary::cell`] computes means with intervals over many of
//! them, [`versus::versus`] tests two rankings against each other, [`ratio::against_ratio`] computes the paper's Figure 1, and [`tables`]
//! formats the paper's tables.

pub mod align;
pub(crate) mod faithful;
pub mod input;
pub mod judge;
pub mod map;
pub mod pcc;
pub mod random;
pub mod ratio;
pub mod rationale;
pub mod summary;
pub mod tables;
#[cfg(test)]
mod tests;
pub mod top_k;
pub mod versus;
