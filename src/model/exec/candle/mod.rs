//! The candle executor, which supports every candle device. It computes gradients with its own graph (`value`, `ops`), not with candle's.

mod gpu;
mod head;
mod net;
mod ops;
mod pass;
mod tap;
pub mod train;
mod value;

use candle_core::{DType, Tensor};

use self::net::Network;
use self::tap::Tap;
use self::value::Value;
use super::Executor;
use crate::arch::Arch;
use crate::array::Array;
use crate::batch::Batch;
use crate::device::Device;
use crate::dtype::{self, Dtype};
use crate::error::{ModelError, Result};
use crate::params::Params;
use crate::plan::{Gradient, Plan, Scalar, Sites, Target};
use crate::trace::Trace;

/// Shortens a candle error to one line.
fn reason(e: &candle_core::Error) -> String {
    let text = e.to_string();
    if text.contains("OUT_OF_MEMORY") {
        return "the GPU is out of memory; stop other programs on it, choose a smaller model, or use --device cpu"
            .into();
    }
    // If the environment enables it, a stack trace follows on further lines.
    text.lines().next().unwrap_or_default().to_owned()
}

impl From<candle_core::Error> for ModelError {
    fn from(e: candle_core::Error) -> ModelError {
        ModelError::Compute(reason(&e))
    }
}

pub(crate) struct CandleExecutor {
    net: Network,
    device: candle_core::Device,
    dtype: Dtype,
    /// Size of the parameters in bytes; candle frees the memory of a pass afterwards.
    bytes: usize,
}

impl CandleExecutor {
    pub(crate) fn new(arch: &Arch, mut params: Params, device: Device, dtype: Dtype) -> Result<CandleExecutor> {
        let opened = open_device(device)?;
        if dtype == Dtype::Bf16 && opened.is_cpu() {
            let what = "candle does not support bf16 on this device; use device cpu, or dtype f16 or f32".into();
            return Err(ModelError::Device { device: device.to_string(), what });
        }
        let net = Network::frozen(arch, &mut params, &opened, dtype)?;
        let bytes = dtype.bytes() * arch.parameter_count();
        Ok(CandleExecutor { net, device: opened, dtype, bytes })
    }
}

pub(crate) fn open_device(device: Device) -> Result<candle_core::Device> {
    let refuse = |what: String| Err(ModelError::Device { device: device.to_string(), what });
    match device {
        Device::Cpu | Device::CandleCpu => Ok(candle_core::Device::Cpu),
        Device::Auto => open_device(device.resolve()),
        Device::Cuda(_) if !candle_core::utils::cuda_is_available() => {
            refuse("this build has no CUDA support; build with --features cuda, or use cpu".into())
        }
        Device::Metal if !candle_core::utils::metal_is_available() => {
            refuse("this build has no Metal support; build with --features metal, or use cpu".into())
        }
        Device::Cuda(n) => candle_core::Device::new_cuda(n)
            .or_else(|e| refuse(format!("{}; nvidia-smi lists the GPUs, which are numbered from 0", reason(&e)))),
        Device::Metal => candle_core::Device::new_metal(0).or_else(|e| refuse(reason(&e))),
    }
}

fn to_host(t: &Tensor, shape: &[usize]) -> Result<Array> {
    Ok(Array::new(shape, t.flatten_all()?.to_dtype(DType::F32)?.to_vec1()?))
}

fn from_host(a: &Array, device: &candle_core::Device) -> Result<Tensor> {
    Ok(Tensor::from_slice(&a.data, a.shape.as_slice(), device)?)
}

impl Executor for CandleExecutor {
    fn run(&self, batch: &Batch, plan: &Plan) -> Result<Trace> {
        dtype::check(self.dtype, plan)?;
        run(&self.net, &self.device, batch, plan)
    }

    fn dtype(&self) -> Dtype {
        self.dtype
    }

    fn device(&self) -> String {
        match &self.device {
            candle_core::Device::Cpu => "candle cpu".into(),
            candle_core::Device::Metal(_) => "candle metal".into(),
            candle_core::Device::Cuda(_) => "candle cuda".into(),
        }
    }

    fn pass_bytes(&self, tokens: usize, longest: usize) -> usize {
        // Counts the tensors of one block for the whole batch: residual streams, queries, keys, values, both sides of the feed-forward
        // part, and attention scores before and after the softmax.
        let a = &self.net.arch;
        let row = 8 * a.hidden + 2 * a.intermediate + 2 * a.heads * longest;
        4 * tokens * row
    }

    fn bytes(&self) -> usize {
        self.bytes
    }
}

/// Runs a pass over a frozen or trainable network.
fn run(net: &Network, device: &candle_core::Device, batch: &Batch, plan: &Plan) -> Result<Trace> {
    let extent = plan.extent(&net.arch);
    let mut tap = Tap::new(plan, batch, &net.arch, device);
    let hidden = net.hidden(batch, &plan.start, extent, &mut tap)?;
    let mut trace = Trace::default();
    if extent.output {
        let mut last = Last { net, batch, raw: hidden, normed: None };
        if tap.touches_final_norm() || plan.logits.as_ref().is_some_and(|l| l.sites == Sites::All) {
            last.normed = Some(net.final_norm(&last.raw, &mut tap)?);
        }
        if let Some(l) = &plan.logits {
            let logits = net.logits(&last.rows(&l.sites, &mut tap)?, l.vocab.as_deref())?;
            let width = l.vocab.as_ref().map_or(net.arch.vocab, Vec::len);
            let shape = match &l.sites {
                Sites::All => vec![batch.rows(), batch.output().len(), width],
                Sites::At(list) => vec![list.len(), width],
            };
            trace.logits = Some(to_host(&logits.tensor, &shape)?);
        }
        if let Some(Gradient { of, .. }) = &plan.gradient
            && let Some(targets) = of.targets()
        {
            let scalars = last.scalars(of, targets, &mut tap)?;
            tap.set_scalars(scalars)?;
        }
    }
    tap.finish(&mut trace)?;
    Ok(trace)
}

/// States after the last block, with the final norm if the plan uses it.
struct Last<'a> {
    net: &'a Network,
    batch: &'a Batch,
    /// `[B T, D]`
    raw: Value,
    /// `[B T, D]`
    normed: Option<Value>,
}

impl Last<'_> {
    /// Rows at `sites` after the final norm, `[N, D]`.
    fn rows(&self, sites: &Sites, tap: &mut Tap<'_>) -> Result<Value> {
        let select = |t: &Value| tap::select(t, sites, self.batch.output().len());
        match &self.normed {
            Some(t) => select(t),
            None => self.net.final_norm(&select(&self.raw)?, &mut tap.silent()),
        }
    }

    /// Scalars to differentiate, one per target, `[N]`.
    fn scalars(&self, of: &Scalar, targets: &[Target], tap: &mut Tap<'_>) -> Result<Value> {
        let sites = Sites::At(targets.iter().map(|t| (t.row, t.position)).collect());
        let rows = self.rows(&sites, tap)?;
        let tokens: Vec<u32> = targets.iter().map(|t| t.token).collect();
        match of {
            Scalar::Logit(_) => self.net.logits_of(&rows, &tokens),
            _ => {
                let log = self.net.log_probabilities_of(&rows, &tokens)?;
                if matches!(of, Scalar::Probability(_)) { ops::exp(&log) } else { Ok(log) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpu_out_of_memory_error_has_a_remedy() {
        let e = "DriverError(CUDA_ERROR_OUT_OF_MEMORY, \"out of memory\")\n   0: candle_core::error::Error::bt";
        let said = ModelError::from(candle_core::Error::Msg(e.into())).to_string();
        assert!(said.starts_with("computation failed: the GPU is out of memory; "), "{said}");
        let other = ModelError::from(candle_core::Error::Msg("shape mismatch\n   0: frame".into())).to_string();
        assert_eq!(other, "computation failed: shape mismatch");
    }

    #[test]
    #[cfg(not(any(feature = "cuda", feature = "metal")))]
    fn unsupported_gpu_error_has_a_remedy() {
        for device in [Device::Cuda(7), Device::Metal] {
            let said = open_device(device).unwrap_err().to_string();
            assert!(said.starts_with(&format!("device {device}: this build has no")), "{said}");
        }
        assert!(open_device(Device::Auto).is_ok());
    }
}
