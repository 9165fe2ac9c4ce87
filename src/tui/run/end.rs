//! End of the terminal program.

use std::io;

use thiserror::Error;

use crate::memory::Memory;
use engine::board::Board;

/// The program's final state and its reason for ending.
#[derive(Debug, Clone, PartialEq)]
pub struct ExitReport {
    pub board: Board,
    pub memory: Memory,
    pub reason: ExitReason,
    /// Name of the recorded session, if it is kept.
    pub saved: Option<String>,
    /// Reason why recording stopped before the end, if it did.
    pub unrecorded: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitReason {
    User,
    InputClosed,
    Signal,
}

#[derive(Debug, Error)]
pub enum TuiError {
    #[error("the terminal cannot be used: {0}. Without a terminal, run `probity run SPEC.toml`.")]
    Terminal(#[from] io::Error),
    #[error("{0}. Without a terminal, run `probity run SPEC.toml`.")]
    NoTerminal(&'static str),
}
