//! Pure numbers: random streams, intervals, resampling, paired tests.

pub mod estimate;
