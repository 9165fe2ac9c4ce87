//! Kernels on plain slices. The only place, besides the memory map, that may use `unsafe`.

pub mod adamw;
pub mod attention;
pub mod buffer;
pub mod loss;
pub mod math;
pub mod matmul;
pub mod norm;
pub mod packed;
pub mod product;
pub mod rotary;
pub mod simd;
pub mod team;
pub mod tile;
