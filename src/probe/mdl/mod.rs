//! Description length of labels given embeddings (Voita and Titov 2020): the number of bits needed to send the labels
//! to someone who already has the embeddings. The better a probe can predict them, the fewer.
//!
//! Two codes, each by its definition and in a separate file: [`prequential`] trains on what has arrived so far,
//! [`variational`] sends a probe whose weights are as imprecise as the labels allow. [`METHODS`] is their registry.

pub mod prequential;
pub mod variational;

use super::data::{DataError, Labelled};
use base::{Cancelled, Pulse};
use stats::Purpose;

/// Bits of the labels, one number per purpose: random orders and weights come from its streams.
pub(crate) type Bits = fn(&Labelled, &[Purpose], &mut dyn Pulse) -> Result<Vec<f64>, MdlError>;

/// A code.
#[derive(Debug, Clone, Copy)]
pub struct Method {
    /// Its name in findings.
    pub name: &'static str,
    /// Code length of the labels.
    pub bits: Bits,
}

/// The codes. To add one, add a file here and a line.
pub static METHODS: [Method; 2] = [prequential::METHOD, variational::METHOD];

/// Bits of a code that knows only the number of classes.
pub fn uniform(data: &Labelled) -> f64 {
    data.len() as f64 * (data.classes() as f64).log2()
}

/// Reasons why there is no code length.
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
