//! `probity export SESSION --script DIR`: specs and commands that recompute the numbers in a session.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::super::error::CliError;
use super::super::submit::quoted;
use base::files::{FileError, Whole};
use engine::board::Board;
use engine::message::Outcome;

/// Writes a spec for each finished run, and a `run.sh` that runs them and compares the results with the recorded ones.
///
/// # Errors
/// [`CliError::Usage`] for a session without a finished run and for existing files, [`CliError::Failed`] if one cannot be written.
pub(super) fn write(board: &Board, session: &str, folder: &Path, force: bool) -> Result<Vec<PathBuf>, CliError> {
    let done = |run: &engine::board::Run| run.job.outcome == Some(Outcome::Done);
    let runs: Vec<usize> = (0..board.runs.len()).filter(|k| done(&board.runs[*k])).collect();
    if runs.is_empty() {
        return Err(CliError::Usage(format!("{session}: none of its runs has finished")));
    }
    // The script runs in its own folder, so the path of a session file must be absolute, while a name works anywhere.
    let original = match std::fs::canonicalize(session) {
        Ok(path) => quoted(&path.display().to_string())?,
        Err(_) => quoted(session)?,
    };
    let mut script = String::from(
        "#!/bin/sh\n# Recomputes the runs of a session and compares each with the recorded one.\n# Set PROBITY to the program if it is not in PATH.\nset -eu\ncd \"$(dirname \"$0\")\"\nprobity=\"${PROBITY:-probity}\"\n",
    );
    let mut files = Vec::new();
    for k in runs {
        let n = k + 1;
        // Writing to a String cannot fail.
        let _ = write!(
            script,
            "\n\"$probity\" run run-{n}.toml --out run-{n} --session run-{n} --force\n\"$probity\" diff {original}:{n} run-{n}/run-{n}.probity.jsonl\n"
        );
        files.push((format!("run-{n}.toml"), board.runs[k].job.spec.to_toml()));
    }
    files.push(("run.sh".into(), script));
    let made = std::fs::create_dir_all(folder);
    made.map_err(|e| CliError::Failed(format!("cannot make {}: {e}", folder.display())))?;
    let mut written = Vec::new();
    for (name, text) in files {
        let path = folder.join(name);
        let fail = |source| FileError::Write { path: path.clone(), source };
        Whole::new(&path, force)?.fill(text.as_bytes())?;
        written.push(std::path::absolute(&path).map_err(fail)?);
    }
    Ok(written)
}
