//! Progress reports and cancellation of long work, through calls between batches rather than channels.

use std::sync::{Mutex, PoisonError};

/// The work was cancelled; its partial results must not be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("cancelled")]
pub struct Cancelled;

/// Called between batches of long work.
pub trait Pulse: Send {
    /// Reports that `done` of `total` batches (or steps) are finished. `Err` stops the work before its next batch.
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

/// A pulse that reports nothing and never cancels.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoPulse;

impl Pulse for NoPulse {
    fn beat(&mut self, _done: usize, _total: usize) -> Result<(), Cancelled> {
        Ok(())
    }
}

/// One pulse shared by several threads. It counts their batches together; once cancelled, it stays cancelled for all of them.
pub struct SharedPulse<'a> {
    state: Mutex<State<'a>>,
    total: usize,
}

struct State<'a> {
    pulse: &'a mut dyn Pulse,
    done: usize,
    cancelled: bool,
}

impl<'a> SharedPulse<'a> {
    pub fn new(pulse: &'a mut dyn Pulse, total: usize) -> Self {
        Self { state: Mutex::new(State { pulse, done: 0, cancelled: false }), total }
    }

    /// Called by each thread before a batch.
    ///
    /// # Errors
    /// [`Cancelled`] if the pulse cancels now or has already cancelled.
    pub fn beat(&self) -> Result<(), Cancelled> {
        // If the pulse panicked on another thread, the count is at most one too low.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !state.cancelled {
            let done = state.done;
            state.cancelled = state.pulse.beat(done, self.total).is_err();
            state.done += 1;
        }
        if state.cancelled { Err(Cancelled) } else { Ok(()) }
    }

    /// Called by any thread within a long batch; polls for cancellation without counting a batch.
    pub fn poll(&self) -> Result<(), Cancelled> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !state.cancelled {
            let done = state.done.saturating_sub(1);
            state.cancelled = state.pulse.beat(done, self.total).is_err();
        }
        if state.cancelled { Err(Cancelled) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_pulse_stays_cancelled() {
        let mut calls = 0;
        let mut pulse = |done: usize, total: usize| {
            calls += 1;
            assert_eq!((done + 1, total), (calls, 9));
            if done == 2 { Err(Cancelled) } else { Ok(()) }
        };
        let shared = SharedPulse::new(&mut pulse, 9);
        let beats: Vec<bool> = (0..6).map(|_| shared.beat().is_ok()).collect();
        assert_eq!(beats, [true, true, false, false, false, false]);
        assert_eq!(calls, 3);
    }

    #[test]
    fn repeated_polling_counts_once_and_cancellation_persists() {
        let mut heard = Vec::new();
        let mut pulse = |done: usize, _: usize| {
            heard.push(done);
            if heard.len() == 4 { Err(Cancelled) } else { Ok(()) }
        };
        let shared = SharedPulse::new(&mut pulse, 9);
        assert!(shared.beat().is_ok() && shared.poll().is_ok() && shared.beat().is_ok());
        assert!(shared.poll().is_err() && shared.beat().is_err() && shared.poll().is_err());
        assert_eq!(heard, [0, 0, 1, 1]);
    }
}
