//! Standard output, line by line, distinguishing closed pipes from failures; files and places.

use std::io::Write;
use std::path::Path;

use serde::Serialize;

use super::error::CliError;
use base::text::printable_label;

/// Writes a line and flushes it, so that a reader at the other end of a pipe sees it at once.
///
/// # Errors
/// [`CliError::Closed`] if the reader is gone, [`CliError::Failed`] for any other failure.
pub fn line(out: &mut dyn Write, text: &str) -> Result<(), CliError> {
    let done = writeln!(out, "{text}").and_then(|()| out.flush());
    done.map_err(|e| match e.kind() {
        std::io::ErrorKind::BrokenPipe => CliError::Closed,
        _ => CliError::Failed(format!("cannot write to standard output: {e}")),
    })
}

/// Writes a value as one line of JSON.
pub fn json<T: Serialize>(out: &mut dyn Write, value: &T) -> Result<(), CliError> {
    let text = serde_json::to_string(value).map_err(|e| CliError::Failed(e.to_string()))?;
    line(out, &text)
}

/// Writes a value as one line of JSON to a file.
///
/// # Errors
/// [`CliError::Failed`] with the path that the file will have.
pub(crate) fn json_to_file<T: Serialize>(
    file: &mut dyn Write,
    path: &Path,
    value: &T,
) -> Result<(), CliError> {
    let text = serde_json::to_string(value).map_err(|e| CliError::Failed(e.to_string()))?;
    writeln!(file, "{text}").map_err(|e| CliError::Failed(format!("cannot write {}: {e}", path.display())))
}

/// Prints a line on stderr; a stderr that cannot be written is no reason to stop.
pub fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// An absolute path, so that a message can be followed from anywhere.
pub fn full(path: &Path) -> String {
    printable_label(&std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string())
}
