//! Writes standard output line by line, distinguishing closed pipes from failures, and writes JSON to files.

use std::io::{IsTerminal, Write};
use std::path::Path;

use serde::Serialize;

use super::error::CliError;
use base::text::printable_label;

/// Width of the terminal in columns; unlimited if the output is not a terminal.
pub(crate) fn room() -> usize {
    let terminal = std::io::stdout().is_terminal();
    let size = terminal.then(crossterm::terminal::size).and_then(Result::ok);
    size.map_or(usize::MAX, |(columns, _)| usize::from(columns))
}

/// Writes a line and flushes it, so that a process that reads from a pipe receives it at once.
pub fn line(out: &mut dyn Write, text: &str) -> Result<(), CliError> {
    let done = writeln!(out, "{text}").and_then(|()| out.flush());
    done.map_err(|e| match e.kind() {
        std::io::ErrorKind::BrokenPipe => CliError::Closed,
        _ => CliError::Failed(format!("cannot write to standard output: {e}")),
    })
}

pub fn json<T: Serialize>(out: &mut dyn Write, value: &T) -> Result<(), CliError> {
    let text = serde_json::to_string(value).map_err(|e| CliError::Failed(e.to_string()))?;
    line(out, &escaped(text))
}

/// Escapes characters that JSON allows in strings but that could control a terminal or reverse text: control characters and bidirectional
/// marks.
fn escaped(text: String) -> String {
    let harmful = |c: char| matches!(c, '\u{7f}'..='\u{9f}' | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if !text.contains(harmful) {
        return text;
    }
    let code = |c: char| if harmful(c) { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() };
    text.chars().map(code).collect()
}

pub(crate) fn json_to_file<T: Serialize>(file: &mut dyn Write, path: &Path, value: &T) -> Result<(), CliError> {
    let text = serde_json::to_string(value).map_err(|e| CliError::Failed(e.to_string()))?;
    writeln!(file, "{text}").map_err(|e| CliError::Failed(format!("cannot write {}: {e}", path.display())))
}

/// Prints a line on stderr, ignoring write errors.
pub fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Returns the absolute path, made printable.
pub fn full(path: &Path) -> String {
    printable_label(&std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: a name with C1 or bidirectional control characters used to reach the terminal through `--json`.
    #[test]
    fn json_contains_no_control_characters() {
        let name = "a\u{9b}31m\u{202e}b\u{7f}é\u{1b}";
        let mut out = Vec::new();
        json(&mut out, &name).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "\"a\\u009b31m\\u202eb\\u007fé\\u001b\"\n");
        assert_eq!(serde_json::from_str::<String>(&text).unwrap(), name);
    }
}
