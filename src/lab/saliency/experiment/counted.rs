//! A run's work, counted from its spec to balance the shards of a grid.

use super::rows::PREDICTION;
use crate::methods::named;
use crate::spec::Spec;
use lab::demand::{Size, WORDS};

/// Number of multiply-adds for all passes by every model over every input with every method. A file is assumed to contain the maximum
/// number of inputs that the spec allows.
pub(crate) fn of(spec: &Spec, sizes: &[Size]) -> u128 {
    let further = spec.saliency.further_passes();
    let methods = spec.saliency.methods.iter().filter_map(|m| named(m));
    let passes: usize = PREDICTION + methods.map(|m| m.passes(spec, WORDS as usize) + further).sum::<usize>();
    let tokens = spec.data.inputs as u128 * WORDS * passes as u128;
    sizes.iter().map(|size| tokens * size.through(size.blocks)).sum()
}
