//! Kernels on plain slices for the CPU executor, in a separate crate so that test builds can optimise it alone.
//!
//! Apart from the names in [`kind`], it does not depend on models. Besides the memory map, only this crate may use `unsafe`.

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
pub mod stored;
pub mod team;
pub mod tile;
