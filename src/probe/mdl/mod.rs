//! Description length of labels given embeddings (Voita and Titov 2020): how many bits does it take to send the labels to
//! somebody who has the embeddings already? The better a probe can read them off, the fewer.
//!
//! Two codes do it, each by its definition and each in a file: [`prequential`] trains on what has arrived so far,
//! [`variational`] sends a probe with its weights as imprecise as the labels allow. [`METHODS`] is their registry.

pub mod prequential;
pub mod variational;

use super::data::{DataError, Labelled};
use base::{Cancelled, Pulse};
use stats::Purpose;

/// Bits that labels take, one number a purpose: what is drawn at random (orders, weights) is drawn from its streams.
pub(crate) type Bits = fn(&Labelled, &[Purpose], &mut dyn Pulse) -> Result<Vec<f64>, MdlError>;

/// A code.
#[derive(Debug, Clone, Copy)]
pub struct Method {
    /// Its name in findings.
    pub name: &'static str,
    /// Code length of the labels.
    pub bits: Bits,
}

/// The codes. Another one is a file here and a line.
pub static METHODS: [Method; 2] = [prequential::METHOD, variational::METHOD];

/// Bits of a code that knows nothing but the number of classes.
pub fn uniform(data: &Labelled) -> f64 {
    data.len() as f64 * (data.classes() as f64).log2()
}

/// Reasons for which there is no code length.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum MdlError {
    /// Too few examples for a first block.
    #[error("{0} examples are too few for online coding: the first block would be empty; at least 1000 are needed")]
    TooFew(usize),
    /// Weights or bits are not finite.
    #[error("the weights of the variational code became NaN or infinite")]
    Diverged,
    /// The data cannot train a probe.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The work was cancelled.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}
