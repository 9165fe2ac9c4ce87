//! Kernels on plain slices. The only place, besides the memory map, that may use `unsafe`.

pub mod adamw;
pub mod amx;
pub mod attention;
pub mod bf16;
pub mod buffer;
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
