//! Shared basics: cancellation, problems, text, files, numbers and matrices. The crate depends on no other crate of the workspace.

pub mod files;
pub mod folders;
pub mod matmul;
pub mod matrix;
pub mod numbers;
pub mod packed;
pub mod problem;
pub mod pulse;
pub mod read;
pub mod signals;
pub mod size;
pub mod suggest;
pub mod text;

pub use problem::Problem;
pub use pulse::{Cancelled, NoPulse, Pulse, SharedPulse};
