//! Errors of commands, and the exit codes.

use thiserror::Error;

use base::files::FileError;
use base::numbers::NumberError;
use base::signals;
use base::text::printable_message;
use figure::FigureError;
use labs::SpecError;
use session::SessionError;
use session::parts::PartError;

/// Success.
pub const DONE: u8 = 0;
pub const FAILED: u8 = 1;
/// Error in the command line or an input.
pub(crate) const USAGE: u8 = 2;
/// A condition on a comparison is not satisfied.
pub(crate) const GATE: u8 = 3;
/// A signal stopped it: this plus the number of the signal, as in shells (130 for Ctrl-C, 143 for SIGTERM, 129 for SIGHUP).
pub(crate) const SIGNALLED: u8 = 128;

/// Reasons why a command failed.
#[derive(Debug, Error)]
pub enum CliError {
    /// The command line or an input file is wrong.
    #[error("{0}")]
    Usage(String),
    #[error("{0}")]
    Failed(String),
    /// A condition set by the user is not satisfied.
    #[error("{0}")]
    Gate(String),
    /// The user or a signal stopped it.
    #[error("cancelled")]
    Cancelled,
    /// It failed, and the reason has already been reported.
    #[error("failed")]
    Reported,
    /// The output was closed by its reader (`| head`), which needs no message.
    #[error("the output was closed")]
    Closed,
}

impl CliError {
    pub(crate) fn code(&self) -> u8 {
        match self {
            CliError::Usage(_) => USAGE,
            CliError::Gate(_) => GATE,
            CliError::Failed(_) | CliError::Reported | CliError::Closed => FAILED,
            CliError::Cancelled => SIGNALLED.saturating_add(signals::first().unwrap_or(signals::INTERRUPT)),
        }
    }

    /// The message for stderr, made printable; `None` if there is nothing to say.
    pub(crate) fn message(&self) -> Option<String> {
        match self {
            CliError::Usage(what) | CliError::Failed(what) | CliError::Gate(what) => {
                // Errors quote file names and contents; a long one keeps its lines, with the advice at their ends.
                Some(what.lines().map(printable_message).collect::<Vec<_>>().join("\n"))
            }
            CliError::Cancelled | CliError::Reported | CliError::Closed => None,
        }
    }
}

impl From<NumberError> for CliError {
    fn from(error: NumberError) -> Self {
        CliError::Usage(error.to_string())
    }
}

impl From<FileError> for CliError {
    fn from(error: FileError) -> Self {
        match error {
            FileError::There(_) | FileError::NoFile { .. } => CliError::Usage(error.to_string()),
            FileError::Write { .. } => CliError::Failed(error.to_string()),
        }
    }
}

impl From<SpecError> for CliError {
    fn from(error: SpecError) -> Self {
        CliError::Usage(error.to_string())
    }
}

impl From<SessionError> for CliError {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Write { .. } | SessionError::NoFolder => CliError::Failed(error.to_string()),
            SessionError::Read { .. }
            | SessionError::Format { .. }
            | SessionError::Exists { .. }
            | SessionError::Missing { .. } => CliError::Usage(error.to_string()),
        }
    }
}

impl From<PartError> for CliError {
    fn from(error: PartError) -> Self {
        match error.is_of_the_system() {
            true => CliError::Failed(error.to_string()),
            false => CliError::Usage(error.to_string()),
        }
    }
}

impl From<FigureError> for CliError {
    fn from(error: FigureError) -> Self {
        match error {
            FigureError::Extension { .. } => CliError::Usage(error.to_string()),
            FigureError::File(error) => error.into(),
            FigureError::Draw(_) => CliError::Failed(error.to_string()),
        }
    }
}
