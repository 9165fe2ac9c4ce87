//! The measures of Shen et al. (2022), "An Interpretability Evaluation Benchmark for Pre-trained Language Models", with
//! their baselines, from words and scores alone: nothing here knows of models, files or screens.
//!
//! | question | measure |
//! | --- | --- |
//! | do the highest scores fall on the words that people marked? | token-F1 ([`rationale`], equation 1), K by [`top_k::Size`] |
//! | does the order of words survive a perturbation? | MAP ([`map`], equation 2) |
//! | do the scores survive it? | PCC over aligned words ([`align`], [`pcc`], equation 3) |
//! | does the answer rest on the rationale? | sufficiency and comprehensiveness ([`faithful`]) |
//! | what would chance score? | [`random`] |
//!
//! [`judge::judge`] scores an original ([`input::Scored`]) with its partners; [`summary::cell`] makes means with intervals of many
//! of them, [`versus::versus`] tests two rankings against each other, [`ratio::against_ratio`] draws the paper's Figure 1, and
//! [`tables`] writes the paper's tables.

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
