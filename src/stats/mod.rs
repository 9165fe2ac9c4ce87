//! Pure numbers: random streams, intervals, resampling, distances. This module knows no other.

pub mod bootstrap;
pub mod corrections;
pub mod distance;
pub mod estimate;
pub mod intervals;
pub mod purpose;
pub mod rng;
pub mod special;

pub use estimate::Estimate;
pub use purpose::Purpose;
