//! Errors of commands, and exit codes.

use thiserror::Error;

use base::files::FileError;
use base::numbers::NumberError;
use base::signals;
use base::text::printable_message;
use figure::FigureError;
use labs::SpecError;
use session::SessionError;
use session::parts::PartError;

pub const DONE: u8 = 0;
pub const FAILED: u8 = 1;
/// Error in the command line or an input file.
pub(crate) const USAGE: u8 = 2;
pub(crate) const GATE: u8 = 3;
/// Base of exit codes for signals, as in shells: 128 plus the signal number (130 for Ctrl-C, 143 for SIGTERM, 129 for SIGHUP).
pub(crate) const SIGNALLED: u8 = 128;

#[derive(Debug, Error)]
pub enum CliError {
    #[error("{0}")]
    Usage(String),
    #[error("{0}")]
    Failed(String),
    #[error("{0}")]
    Gate(String),
    /// Stopped by the user or a signal.
    #[error("cancelled")]
    Cancelled,
    /// Failed for a reason that has already been reported.
    #[error("failed")]
    Reported,
    /// The reader closed the output (`| head`); no message is needed.
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

    /// Returns the message for stderr, made printable; `None` if there is nothing to report.
    pub(crate) fn message(&self) -> Option<String> {
        match self {
            CliError::Usage(what) | CliError::Failed(what) | CliError::Gate(what) => {
                // Errors quote file names and contents. Shortening each line separately preserves the advice at the end.
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
