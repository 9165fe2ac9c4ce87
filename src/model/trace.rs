//! Results of one forward pass.

use super::array::Array;
use super::error::{ModelError, Result};
use super::hook::HookPoint;

/// Host arrays requested by a [`Plan`](super::plan::Plan).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// One array per capture, in the plan's order.
    pub captures: Vec<(HookPoint, Array)>,
    /// `[B,T,K]` or `[N,K]`, if requested.
    pub logits: Option<Array>,
    /// Value of each target (logit, probability or log-probability), or the inner product with the cotangent, if a gradient was requested.
    pub scalars: Vec<f32>,
    /// `[B,T,E]` (embeddings) or `[B,T,D]` for each point, in the plan's order, if a gradient was requested.
    pub gradients: Vec<(HookPoint, Array)>,
}

impl Trace {
    /// Returns the first capture at `p`.
    ///
    /// # Errors
    /// [`ModelError::Plan`] if the plan did not request it.
    pub fn get(&self, p: HookPoint) -> Result<&Array> {
        find(&self.captures, p).ok_or_else(|| ModelError::Plan(format!("{p} was not captured")))
    }

    /// Removes and returns the first capture at `p`.
    pub fn take(&mut self, p: HookPoint) -> Result<Array> {
        match self.captures.iter().position(|(q, _)| *q == p) {
            Some(i) => Ok(self.captures.swap_remove(i).1),
            None => Err(ModelError::Plan(format!("{p} was not captured"))),
        }
    }

    /// Returns the logits.
    ///
    /// # Errors
    /// [`ModelError::Plan`] if the plan did not request them.
    pub fn logits(&self) -> Result<&Array> {
        self.logits.as_ref().ok_or_else(|| ModelError::Plan("logits were not requested".into()))
    }

    /// Returns the gradient with respect to `p`.
    ///
    /// # Errors
    /// [`ModelError::MissingGradient`] if the plan did not request it.
    pub fn gradient(&self, p: HookPoint) -> Result<&Array> {
        find(&self.gradients, p).ok_or(ModelError::MissingGradient(p))
    }
}

fn find(list: &[(HookPoint, Array)], p: HookPoint) -> Option<&Array> {
    list.iter().find(|(q, _)| *q == p).map(|(_, a)| a)
}
