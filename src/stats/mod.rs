//! Pure numbers: random streams, intervals, resampling, replicates, distances. This module knows no other but `base`.

pub mod bootstrap;
pub mod corrections;
pub mod distance;
pub mod estimate;
pub mod halves;
pub mod intervals;
pub mod purpose;
pub mod replicates;
pub mod rng;
pub mod special;

pub use estimate::Estimate;
pub use purpose::Purpose;
pub use replicates::Bands;
