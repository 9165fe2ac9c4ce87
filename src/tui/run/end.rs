//! End of the terminal program.

use std::io;

use thiserror::Error;

use crate::memory::Memory;
use engine::board::Board;

/// Reason for the end.
#[derive(Debug, Clone, PartialEq)]
pub struct ExitReport {
    /// Results.
    pub board: Board,
    /// State kept for the next start.
    pub memory: Memory,
    /// Reason for the end.
    pub reason: ExitReason,
}

/// Why the program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitReason {
    /// The user quit.
    User,
    /// The terminal went away.
    InputClosed,
    /// A signal requested it.
    Signal,
}

/// Reason why the terminal program cannot continue.
#[derive(Debug, Error)]
pub enum TuiError {
    /// The terminal could not be read or written.
    #[error("the terminal cannot be used: {0}. Without a terminal, run `probity run SPEC.toml`.")]
    Terminal(#[from] io::Error),
    /// The output is not a terminal.
    #[error("{0}. Without a terminal, run `probity run SPEC.toml`.")]
    NoTerminal(&'static str),
}
