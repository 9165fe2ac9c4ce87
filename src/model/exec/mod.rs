//! Executors of models. All return the same [`Trace`] for the same [`Plan`]; [`logits`] provides only logits.

#[cfg(test)]
mod agreement;
pub mod candle;
pub mod cpu;
#[cfg(test)]
mod halves;
pub mod logits;
pub mod lstm;
#[cfg(test)]
mod tests;
pub mod train;

use self::candle::CandleExecutor;
use self::cpu::CpuExecutor;
use self::lstm::LstmExecutor;
use super::arch::{Arch, Network};
use super::batch::Batch;
use super::device::Device;
use super::dtype::Dtype;
use super::error::{ModelError, Result};
use super::params::Params;
use super::plan::Plan;
use super::trace::Trace;

/// Runs one loaded model.
pub trait Executor: Send + Sync {
    /// Runs a plan that has passed [`Plan::check`] and [`Batch::check`].
    ///
    /// # Errors
    /// [`MissingGradient`](super::ModelError::MissingGradient) if the backward pass did not reach a requested point;
    /// [`Compute`](super::ModelError::Compute) if the tensor library fails, for example out of memory.
    fn run(&self, batch: &Batch, plan: &Plan) -> Result<Trace>;

    /// Device and executor: `cpu`, `cuda:0`, `metal`.
    fn device(&self) -> String;

    fn dtype(&self) -> Dtype;

    /// Working memory in bytes of a pass that reads hidden states at a few positions, for a batch of `tokens` tokens in texts of at most
    /// `longest`.
    fn pass_bytes(&self, tokens: usize, longest: usize) -> usize;

    /// Bytes of parameters and working memory currently allocated, on host or device.
    fn bytes(&self) -> usize;
}

/// Creates an executor and moves parameters to its device: the CPU executor for the CPU, candle for GPUs and, for comparison, for the CPU.
/// LSTMs always run on the CPU.
///
/// # Errors
/// [`Device`](super::ModelError::Device), [`Compute`](super::ModelError::Compute) (out of memory),
/// [`MissingTensor`](super::ModelError::MissingTensor), [`Weights`](super::ModelError::Weights) (outside the dtype's range).
pub fn open(arch: &Arch, params: Params, device: Device, dtype: Dtype) -> Result<Box<dyn Executor>> {
    if let Network::LogitsOnly(_) = arch.network {
        // The parameters have no canonical names, so only files can be opened ([`logits::LogitsExecutor`]).
        let what = format!("'{}' can only be loaded from the files of a checkpoint", arch.family);
        return Err(ModelError::Config { file: "parameters".into(), what });
    }
    if arch.network == Network::BiLstm {
        return Ok(Box::new(LstmExecutor::new(arch, params, dtype)?));
    }
    if on_cpu(device) {
        return Ok(Box::new(CpuExecutor::new(arch, params, dtype)?));
    }
    Ok(Box::new(CandleExecutor::new(arch, params, device, dtype)?))
}

pub(crate) fn on_cpu(device: Device) -> bool {
    device.resolve() == Device::Cpu
}
