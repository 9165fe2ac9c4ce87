//! Kernels on plain slices for the CPU executor. A package of its own, so that builds for tests optimise it and spend
//! nothing on optimising the rest.
//!
//! It knows nothing of models but the names in [`kind`]. The only place, besides the memory map, that may use `unsafe`.

pub mod adamw;
pub(crate) mod amx;
pub mod attention;
pub mod bf16;
pub mod buffer;
pub mod dense;
pub mod kind;
pub mod loss;
pub mod math;
pub mod norm;
mod operand;
pub mod packed;
pub mod product;
pub mod rotary;
pub mod simd;
pub mod team;
pub mod tile;
