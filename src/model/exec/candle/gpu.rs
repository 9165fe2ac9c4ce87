//! Custom kernels for NVIDIA GPUs (`kernels.cu`), where candle's generic kernels take many times as long as their memory access requires.
//! Each function returns `None` if its kernel does not apply: for other devices and dtypes, unsuitable widths, and views.

use candle_core::{D, Shape, Tensor};

use crate::arch::NormKind;
use crate::error::Result;

/// Number of threads per row of a reduction.
const WARP: usize = 32;
/// Number of floats that a kernel reads at once; widths and offsets must be multiples of it.
const FOURS: usize = 4;
const SINGLE: usize = 1;

/// Adds a vector to each row of `x`.
pub(super) fn add_row(x: &Tensor, row: &Tensor) -> Result<Option<Tensor>> {
    let (count, width) = (x.elem_count() / 4, row.elem_count() / 4);
    launch(("add_row", FOURS), &[x, row], x.shape(), count, &[count, width])
}

/// Transposes `[N, A, B, C]` to `[N, B, A, C]`.
pub(super) fn swap_middle(x: &Tensor) -> Result<Option<Tensor>> {
    let (n, a, b, c) = x.dims4()?;
    let count = x.elem_count() / 4;
    launch(("swap_middle", FOURS), &[x], &Shape::from((n, b, a, c)), count, &[count, a, b, c / 4])
}

/// Input gradient of GELU, exact or with the tanh approximation.
pub(super) fn gelu_back(x: &Tensor, g: &Tensor, by_tanh: bool) -> Result<Option<Tensor>> {
    let count = x.elem_count() / 4;
    launch(("gelu_back", FOURS), &[x, g], x.shape(), count, &[count, usize::from(by_tanh)])
}

/// Input gradient of a softmax over the last axis, given its output `p`.
pub(super) fn softmax_back(p: &Tensor, g: &Tensor) -> Result<Option<Tensor>> {
    let width = p.dim(D::Minus1)?;
    let rows = p.elem_count() / width;
    launch(("softmax_back", SINGLE), &[p, g], p.shape(), rows * WARP, &[rows, width])
}

/// Norm over the last axis of `[N, W]`.
pub(super) fn norm(kind: NormKind, eps: f64, x: &Tensor, w: &Tensor, b: Option<&Tensor>) -> Result<Option<Tensor>> {
    let (rows, width) = x.dims2()?;
    let eps = (eps as f32).to_bits() as usize;
    let numbers = [rows, width, usize::from(kind == NormKind::Layer), usize::from(b.is_some()), eps];
    launch(("norm_rows", SINGLE), &[x, w, b.unwrap_or(w)], x.shape(), rows * WARP, &numbers)
}

/// Input gradient of a norm over the last axis of `[N, W]`.
pub(super) fn norm_back(kind: NormKind, eps: f64, x: &Tensor, w: &Tensor, g: &Tensor) -> Result<Option<Tensor>> {
    let (rows, width) = x.dims2()?;
    let numbers = [rows, width, usize::from(kind == NormKind::Layer), (eps as f32).to_bits() as usize];
    launch(("norm_back", SINGLE), &[x, w, g], x.shape(), rows * WARP, &numbers)
}

#[cfg(not(feature = "cuda"))]
fn launch(_: (&str, usize), _: &[&Tensor], _: &Shape, _: usize, _: &[usize]) -> Result<Option<Tensor>> {
    Ok(None)
}

/// Runs a kernel with the given number of threads; its arguments are the inputs, the output and the scalars in `numbers`.
#[cfg(feature = "cuda")]
#[allow(unsafe_code)] // Allocates uninitialised memory and launches a kernel; see SAFETY.
fn launch(
    (name, step): (&str, usize),
    inputs: &[&Tensor],
    shape: &Shape,
    threads: usize,
    numbers: &[usize],
) -> Result<Option<Tensor>> {
    use candle_core::cuda_backend::WrapErr;
    use candle_core::cuda_backend::cudarc::driver::{LaunchConfig, PushKernelArg};
    use candle_core::op::BackpropOp;
    use candle_core::{CudaStorage, DType, Device, Storage};

    const BLOCK: usize = 256;
    const PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/kernels.ptx"));
    let Device::Cuda(device) = inputs[0].device() else { return Ok(None) };
    let len = shape.elem_count();
    let serves = |t: &&Tensor| {
        t.dtype() == DType::F32
            && t.is_contiguous()
            && t.layout().start_offset() % step == 0
            && t.dims().last().is_some_and(|w| w % step == 0)
    };
    let Ok(numbers) = numbers.iter().map(|n| u32::try_from(*n)).collect::<std::result::Result<Vec<u32>, _>>() else {
        return Ok(None);
    };
    if len == 0 || u32::try_from(threads).is_err() || !inputs.iter().all(serves) {
        return Ok(None);
    }
    let function = device.get_or_load_custom_func(name, "probity", PTX)?;
    // SAFETY: every kernel writes all elements of its output before they are read.
    let out = unsafe { device.alloc::<f32>(len)? };
    let guards: Vec<_> = inputs.iter().map(|t| t.storage_and_layout()).collect();
    let mut slices = Vec::with_capacity(guards.len());
    for (storage, layout) in &guards {
        let Storage::Cuda(storage) = &**storage else { return Ok(None) };
        slices.push(storage.as_cuda_slice::<f32>()?.slice(layout.start_offset()..));
    }
    let mut builder = function.builder();
    for slice in &slices {
        builder.arg(slice);
    }
    builder.arg(&out);
    for number in &numbers {
        builder.arg(number);
    }
    let grid = threads.div_ceil(BLOCK) as u32;
    let config = LaunchConfig { grid_dim: (grid, 1, 1), block_dim: (BLOCK as u32, 1, 1), shared_mem_bytes: 0 };
    // SAFETY: the arguments match the kernel's signature, and its threads stay within the counts in `numbers`, which are the sizes of the
    // tensors.
    unsafe { builder.launch(config) }.w()?;
    drop(slices);
    drop(guards);
    let storage = Storage::Cuda(CudaStorage::wrap_cuda_slice(out, device.clone()));
    Ok(Some(Tensor::from_storage(storage, shape, BackpropOp::none(), false)))
}
