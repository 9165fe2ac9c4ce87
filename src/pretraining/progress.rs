//! Progress of a training.

use base::Cancelled;

/// Stage of a training.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Optimiser steps.
    Train,
    /// Measuring.
    Score,
}

/// Progress of the work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    pub stage: Stage,
    /// Steps or parts done.
    pub done: usize,
    /// Total number of steps or parts.
    pub total: usize,
    /// Loss of the last step in nats; NaN before the first and while scoring.
    pub loss: f32,
}

/// Called after every step; an error stops the work.
pub type Watch<'a> = &'a mut dyn FnMut(Progress) -> std::result::Result<(), Cancelled>;
