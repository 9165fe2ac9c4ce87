//! Description length of labels given embeddings (Voita and Titov 2020): the bits needed to send the labels to a receiver who has the
//! embeddings. Better probes need fewer bits.
//!
//! There are two codes, each in a separate file. [`prequential`] trains on the labels sent so far; [`variational`] sends a probe with
//! weights as imprecise as the labels allow. [`METHODS`] lists them.

pub mod prequential;
pub mod variational;

use super::data::{DataError, Labelled};
use base::{Cancelled, Pulse};
use stats::Purpose;

/// Code length of the labels in bits, one number per purpose; random orders and weights come from the purpose's streams.
pub(crate) type Bits = fn(&Labelled, &[Purpose], &mut dyn Pulse) -> Result<Vec<f64>, MdlError>;

#[derive(Debug, Clone, Copy)]
pub struct Method {
    /// The name in findings.
    pub name: &'static str,
    pub bits: Bits,
}

/// All codes. To add one, add a file to this module and an entry to this list.
pub static METHODS: [Method; 2] = [prequential::METHOD, variational::METHOD];

/// Length in bits of a code that uses only the number of classes.
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
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}
