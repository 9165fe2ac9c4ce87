//! How long work reports that it goes on, and how it is told to stop: polled between batches, no threads, no channels.

/// The work was told to stop; nothing it had computed is to be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("cancelled")]
pub struct Cancelled;

/// Called between batches of long work.
pub trait Pulse: Send {
    /// `done` of `total` batches (or steps) are finished. `Err` stops the work before its next batch.
    ///
    /// # Errors
    /// [`Cancelled`] when the caller no longer wants the result.
    fn beat(&mut self, done: usize, total: usize) -> Result<(), Cancelled>;
}

impl<F: FnMut(usize, usize) -> Result<(), Cancelled> + Send> Pulse for F {
    fn beat(&mut self, done: usize, total: usize) -> Result<(), Cancelled> {
        self(done, total)
    }
}

/// Reports to nobody and never stops.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoPulse;

impl Pulse for NoPulse {
    fn beat(&mut self, _done: usize, _total: usize) -> Result<(), Cancelled> {
        Ok(())
    }
}
