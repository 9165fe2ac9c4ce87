//! Executors run an architecture description. All of them answer the same [`Plan`] with the same [`Trace`]; one of them
//! ([`logits`]) gives logits only.

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

/// Something that runs one loaded model.
pub trait Executor: Send + Sync {
    /// Runs a plan that [`Plan::check`] and [`Batch::check`] have passed.
    ///
    /// # Errors
    /// [`MissingGradient`](super::ModelError::MissingGradient) when a wanted gradient did not arrive;
    /// [`Compute`](super::ModelError::Compute) when the tensor library fails (out of memory, say).
    fn run(&self, batch: &Batch, plan: &Plan) -> Result<Trace>;

    /// Device and executor: `cpu`, `cuda:0`, `metal`.
    fn device(&self) -> String;

    fn dtype(&self) -> Dtype;

    /// Working memory in bytes of a pass that reads hidden states at a few positions, over a batch of `tokens` tokens in
    /// texts of at most `longest`.
    fn pass_bytes(&self, tokens: usize, longest: usize) -> usize;

    /// Bytes of parameters and working memory that it holds now, on the host or the device.
    fn bytes(&self) -> usize;
}

/// Moves parameters to a device: the CPU executor on the CPU, candle on GPUs (and, for comparison, on the CPU). LSTMs run
/// on the CPU wherever the others do.
///
/// # Errors
/// [`Device`](super::ModelError::Device), [`Compute`](super::ModelError::Compute) (memory),
/// [`MissingTensor`](super::ModelError::MissingTensor), [`Weights`](super::ModelError::Weights) (beyond the dtype's range).
pub fn open(arch: &Arch, params: Params, device: Device, dtype: Dtype) -> Result<Box<dyn Executor>> {
    if let Network::LogitsOnly(_) = arch.network {
        // Its parameters have no canonical names: only files can be opened ([`logits::LogitsExecutor`]).
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

/// True if the CPU executor runs models there: asked for, or because this build has no GPU that works.
pub(crate) fn on_cpu(device: Device) -> bool {
    device.resolve() == Device::Cpu
}
