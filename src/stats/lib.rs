//! Random streams, intervals, resampling, replicates, distances, paired tests and their power. Depends only on `base`.

pub(crate) mod binomial;
pub mod bootstrap;
pub mod chances;
pub mod choice;
pub mod clustered;
pub mod corrections;
pub mod correlation;
pub mod distance;
pub mod estimate;
pub mod folded;
pub mod halves;
pub mod intervals;
pub mod joint;
pub mod krippendorff;
pub mod mcnemar;
pub mod paired;
pub mod power;
pub mod purpose;
pub mod replicates;
pub mod required;
pub mod rng;
pub mod sequential;
pub mod special;
pub mod strata;
pub mod student;
pub mod sweep;

pub use estimate::Estimate;
pub use purpose::Purpose;
pub use replicates::Bands;
