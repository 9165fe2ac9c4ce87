//! Data sets: the built-in micro-world, splits, decorrelation.
