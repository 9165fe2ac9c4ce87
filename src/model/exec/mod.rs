//! Executors run an architecture description. All of them answer the same [`Plan`] with the same [`Trace`].

pub mod candle;
pub mod cpu;
#[cfg(test)]
mod tests;

use super::batch::Batch;
use super::error::Result;
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

    /// What computes: `cpu`, `cuda:0`, `metal`, with the executor's name.
    fn device(&self) -> String;
}
