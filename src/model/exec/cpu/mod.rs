//! Plain slices on the processor.

pub mod kernels;
