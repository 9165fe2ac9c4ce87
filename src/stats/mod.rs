//! Pure numbers: random streams, intervals, resampling, paired tests.
