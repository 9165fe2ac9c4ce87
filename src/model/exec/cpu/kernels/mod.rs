//! Kernels on plain slices. The only place, besides the memory map, that may use `unsafe`.

pub mod buffer;
pub mod math;
pub mod matmul;
pub mod packed;
pub mod product;
pub mod simd;
pub mod team;
pub mod tile;
