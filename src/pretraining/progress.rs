//! Progress of training.

use base::Cancelled;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Optimizer steps are running.
    Train,
    Score,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    pub stage: Stage,
    /// Number of finished steps or parts.
    pub done: usize,
    /// Total number of steps or parts.
    pub total: usize,
    /// Loss at the last step in nats; NaN before the first step and while scoring.
    pub loss: f32,
}

/// Called after every step; an error stops the work.
pub type Watch<'a> = &'a mut dyn FnMut(Progress) -> std::result::Result<(), Cancelled>;
