//! `probity export SESSION --report FILE.md`: one page on a session.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::super::error::CliError;
use super::figures::of_run;
use crate::replay;
use base::files::{FileError, Whole};
use base::text::printable;
use engine::board::{Board, Run};
use figure::{Options, caption};
use labs::table::Form;

/// Writes the page and its figures, which go to a folder beside it, and returns their paths.
///
/// # Errors
/// [`CliError::Usage`] for a file that already exists, [`CliError::Failed`] for one that cannot be written.
pub(super) fn write(
    board: &Board,
    session: &str,
    path: &Path,
    options: &Options,
    force: bool,
) -> Result<Vec<PathBuf>, CliError> {
    if board.runs.is_empty() {
        return Err(CliError::Usage(format!("{session}: nothing was run in it")));
    }
    // Checked before anything is drawn.
    let mut whole = Whole::new(path, force)?;
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let folder = path.with_file_name(format!("{stem}-figures"));
    let made = std::fs::create_dir_all(&folder);
    made.map_err(|e| CliError::Failed(format!("cannot make {}: {e}", folder.display())))?;
    let mut page = format!("# {}\n", escaped(session));
    let mut written = Vec::new();
    for (k, run) in board.runs.iter().enumerate() {
        if run.gone {
            page.push_str(&format!("\n{}\n", replay::gone(k + 1)));
            continue;
        }
        let mut pictures = Vec::new();
        for (name, mut figure) in of_run(run, board.engine.as_ref(), false) {
            figure.provenance.entries.push(("session".into(), session.to_owned()));
            let file = format!("{}-{name}.png", k + 1);
            written.extend(figure::export(&figure, &folder.join(&file), options, force)?);
            pictures.push((format!("{stem}-figures/{file}").replace(' ', "%20"), escaped(caption(&figure).trim_end())));
        }
        add(&mut page, board, run, &pictures);
    }
    let fail = |source| FileError::Write { path: path.to_owned(), source };
    whole.file().write_all(page.as_bytes()).map_err(fail)?;
    whole.place()?;
    written.insert(0, std::path::absolute(path).map_err(fail)?);
    Ok(written)
}

/// Adds a run: question, answer, tables, pictures with their captions, provenance, how to compute it again.
fn add(page: &mut String, board: &Board, run: &Run, pictures: &[(String, String)]) {
    let lab = labs::by_id(run.job.spec.lab());
    // Writing to a String cannot fail.
    let _ = write!(page, "\n## {}\n\n**Question.** {}\n\n**Answer.**\n\n", lab.title(), lab.question());
    for line in lab.answer(&run.results, &run.job.spec).lines() {
        let _ = writeln!(page, "- {}", escaped(line.trim()));
    }
    if run.summary.is_none() {
        page.push_str("\nThe run did not come to its end: these are the results so far.\n");
    }
    for table in lab.tables(&run.results) {
        let _ = write!(page, "\n### {}\n\n{}", escaped(&table.caption), table.write(Form::Markdown));
    }
    if !pictures.is_empty() {
        page.push_str("\n### Figures\n");
    }
    for (file, caption) in pictures {
        let _ = write!(page, "\n![{caption}]({file})\n\n{caption}\n");
    }
    let engine = board
        .engine
        .as_ref()
        .map_or_else(String::new, |e| format!(", computed by Probity {} on {}", e.version, e.device));
    let _ = write!(
        page,
        "\n### Provenance\n\nSpec {}{}.\n\nTo compute it again, save this as `spec.toml` and run `probity run spec.toml`:\n\n```toml\n{}\n```\n",
        run.job.spec_hash,
        escaped(&engine),
        printable(run.job.spec.to_toml().trim_end()).replace('\u{240a}', "\n")
    );
}

/// Text from a session as plain text of Markdown.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in printable(text).chars() {
        if matches!(c, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_a_session_stays_text() {
        assert_eq!(escaped("<b>a_b</b> \u{1b}[0m `x`"), "\\<b\\>a\\_b\\</b\\> \u{241b}\\[0m \\`x\\`");
    }
}
