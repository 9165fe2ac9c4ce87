//! Kernels on plain slices. The only place, besides the memory map, that may use `unsafe`.

pub mod matmul;
