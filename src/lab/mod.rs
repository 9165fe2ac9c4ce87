//! The instruments: science with no terminal, no threads and no files.

pub mod interventions;
