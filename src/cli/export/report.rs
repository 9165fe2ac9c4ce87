//! `probity export SESSION --report FILE.md`: a one-page report on a session.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::super::error::CliError;
use super::super::submit::quoted;
use super::figures::of_run;
use super::named;
use crate::replay;
use base::files::{FileError, Whole};
use base::text::printable;
use engine::board::{Board, Run};
use figure::{Options, caption, notes, sources};
use labs::table::{Entry, Form, Table};

/// Maximum numbers: of rows in a table printed in full, of rows in a shortened table, and of columns.
const FEW_ROWS: usize = 8;
const MOST_ROWS: usize = 12;
const MOST_COLUMNS: usize = 14;
/// Keys of the provenance that all figures of a run share.
const SHARED: [&str; 7] = ["seed", "spec", "model", "models", "device", "probity", "session"];

/// Writes the report, with its figures in a folder next to it, and returns the paths.
///
/// # Errors
/// [`CliError::Usage`] for a file that already exists, [`CliError::Failed`] for one that cannot be written.
pub(crate) fn write(
    board: &Board,
    session: &str,
    path: &Path,
    (options, force): (&Options, bool),
    tell: &dyn Fn(usize, usize),
) -> Result<Vec<PathBuf>, CliError> {
    if board.runs.is_empty() {
        return Err(CliError::Usage(format!("{session}: it contains no runs")));
    }
    // Fails before any figure is drawn if the file exists.
    let whole = Whole::new(path, force)?;
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let folder = figures_of(path);
    let made = std::fs::create_dir_all(&folder);
    made.map_err(|e| CliError::Failed(format!("cannot make {}: {e}", folder.display())))?;
    let mut page = format!("# {}\n", escaped(&name_of(session)));
    let mut written = Vec::new();
    let of = |run: &Run| if run.gone { Vec::new() } else { of_run(run, board.engine.as_ref(), false) };
    let figures: Vec<_> = board.runs.iter().map(of).collect();
    let (mut done, all) = (0, figures.iter().map(Vec::len).sum::<usize>() + 1);
    for ((k, run), figures) in board.runs.iter().enumerate().zip(figures) {
        if run.gone {
            page.push_str(&format!("\n{}\n", replay::gone(k + 1)));
            continue;
        }
        let (mut pictures, mut terms) = (Vec::new(), Vec::new());
        for (name, mut figure) in figures {
            tell(done, all);
            done += 1;
            figure.provenance.entries.push(("session".into(), named(session)));
            let file = format!("{}-{name}.png", k + 1);
            written.extend(figure::export(&figure, &folder.join(&file), options, force)?);
            let path = format!("{stem}-figures/{file}").replace(' ', "%20");
            // Terms and shared provenance are printed once, below the figures.
            figure.provenance.entries.retain(|(key, _)| !SHARED.contains(&key.as_str()));
            let own = std::mem::take(&mut figure.provenance.terms);
            terms.extend(
                own.into_iter()
                    .chain(std::mem::take(&mut figure.provenance.glossary))
                    .filter(|(name, _)| !terms.iter().any(|(known, _)| known == name))
                    .collect::<Vec<_>>(),
            );
            let sources = sources(&figure).into_iter().map(|line| line + ".").collect();
            let said = [vec![caption(&figure)], notes(&figure), sources].concat().join(" ");
            pictures.push([path, escaped(&figure.title), escaped(&said)]);
        }
        add(&mut page, (board, session), run, (&pictures, &terms));
    }
    let fail = |source| FileError::Write { path: path.to_owned(), source };
    whole.fill(page.as_bytes())?;
    written.insert(0, std::path::absolute(path).map_err(fail)?);
    Ok(written)
}

/// Adds a run: question, answer, tables, figures with captions and terms, provenance, and how to recompute it.
fn add(
    page: &mut String,
    (board, session): (&Board, &str),
    run: &Run,
    (pictures, terms): (&[[String; 3]], &[(String, String)]),
) {
    let lab = labs::by_id(run.job.spec.lab());
    let runs: Vec<&Run> = board.runs_of(lab.id()).collect();
    let place = runs.iter().position(|other| std::ptr::eq(*other, run)).filter(|_| runs.len() > 1);
    let place = place.map_or(String::new(), |at| format!(", run {}", at + 1));
    let asked = lab.asks(&run.job.spec);
    // Writing to a String cannot fail.
    let _ = write!(page, "\n## {}{place}\n\n**Question.** {}\n\n**Answer.**\n\n", lab.title(), escaped(&asked));
    for line in lab.answer(&run.results, &run.job.spec).lines() {
        let _ = writeln!(page, "- {}", escaped(line.trim()));
    }
    if run.summary.is_none() {
        page.push_str("\nThe run did not finish: these are the results so far.\n");
    }
    let tables = lab.tables(&run.results);
    if !tables.is_empty() {
        page.push_str("\n### Tables\n");
    }
    for table in tables {
        let (short, is_whole) = shortened(&table, run.job.spec.models());
        let _ = write!(page, "\n{}", short.write(Form::Markdown));
        if !is_whole {
            let (session, name) = (quoted(session).unwrap_or_default(), &table.name);
            let command = printable(&format!("probity export {session} --table {name} -o {name}.md")).into_owned();
            let _ = writeln!(page, "\nIn full, with all published rows: `{command}`");
        }
    }
    if !pictures.is_empty() {
        page.push_str("\n### Figures\n");
    }
    for [file, title, caption] in pictures {
        let _ = write!(page, "\n![{title}]({file})\n\n{caption}\n");
    }
    if !terms.is_empty() {
        page.push_str("\n### Terms\n\n");
    }
    for (name, meaning) in terms {
        let _ = writeln!(page, "- {}: {}", escaped(name), escaped(meaning.trim_end_matches('.')));
    }
    let engine = board
        .engine
        .as_ref()
        .map_or_else(String::new, |e| format!(", computed by Probity {} on {}", e.version, e.device));
    let _ = write!(
        page,
        "\n### Provenance\n\nSpec {}{}.\n\nTo recompute it, save this as `spec.toml` and run `probity run spec.toml`:\n\n```toml\n{}\n```\n",
        run.job.spec_hash,
        escaped(&engine),
        printable(run.job.spec.to_toml().trim_end()).replace('\u{240a}', "\n")
    );
}

/// The folder of a report's figures.
pub(crate) fn figures_of(path: &Path) -> PathBuf {
    path.with_file_name(format!("{}-figures", path.file_stem().unwrap_or_default().to_string_lossy()))
}

/// The session's name without folder and extension.
pub(crate) fn name_of(session: &str) -> String {
    let file = Path::new(session).file_name().map_or(session.into(), |name| name.to_string_lossy());
    file.trim_end_matches(".jsonl").trim_end_matches(".probity").to_owned()
}

/// Shortens a table to fit a page, and returns whether it is still complete. It keeps the run's rows, published rows on the same subject,
/// and, if there are many columns, the last group (the total).
fn shortened(table: &Table, models: &[String]) -> (Table, bool) {
    let mut all: Vec<Vec<String>> = Vec::new();
    for entry in &table.entries {
        if !all.contains(&entry.row) {
            all.push(entry.row.clone());
        }
    }
    let is_own = |row: &Vec<String>| row.iter().any(|cell| cell == "this run" || models.contains(cell));
    let own: Vec<&Vec<String>> = all.iter().filter(|row| is_own(row)).collect();
    let is_kept = |row: &Vec<String>| own.is_empty() || is_own(row) || own.iter().any(|o| o.first() == row.first());
    let kept: Vec<&Vec<String>> = match all.len() <= FEW_ROWS {
        true => all.iter().collect(),
        false => all.iter().filter(|row| is_kept(row)).take(MOST_ROWS).collect(),
    };
    let columns = |e: &&Entry| e.row == table.entries[0].row;
    let last = table.entries.last().map(|_| table.entries.iter().filter(columns)).and_then(|mut row| {
        let wide = row.clone().count() > MOST_COLUMNS;
        row.next_back().filter(|_| wide).map(|e| e.group.clone())
    });
    let mut short = table.clone();
    short.entries.retain(|e| kept.contains(&&e.row) && last.as_ref().is_none_or(|group| *group == e.group));
    let is_whole = short.entries.len() == table.entries.len();
    (short, is_whole)
}

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

    /// Regression: the report on a single run used to have 160 lines, most of them published rows for other tasks.
    #[test]
    fn shortened_table_keeps_rows_of_run_and_subject() {
        let entry = |row: [&str; 2], column: &str| Entry {
            row: row.map(str::to_owned).to_vec(),
            group: column.to_owned(),
            column: column.to_owned(),
            value: None,
            n: 0,
            decimals: None,
        };
        let published = (0..20).map(|k| entry([&format!("task {k}"), "published"], "x"));
        let entries: Vec<Entry> = [entry(["task 3", "this run"], "x")].into_iter().chain(published).collect();
        let table = Table {
            name: "t".into(),
            caption: "Caption".into(),
            stub: vec!["Task".into(), "Source".into()],
            decimals: 1,
            scale: 1.0,
            whole: &[],
            entries,
        };
        let (short, is_whole) = shortened(&table, &[]);
        let rows: Vec<&str> = short.entries.iter().map(|e| e.row[1].as_str()).collect();
        assert_eq!((rows, is_whole), (vec!["this run", "published"], false));
        let wide: Vec<String> = (0..20).map(|k| format!("column {k}")).collect();
        let entries = wide.iter().map(|column| entry(["m", "this run"], column)).collect();
        let (short, _) = shortened(&Table { entries, ..table.clone() }, &[]);
        assert_eq!(short.entries.iter().map(|e| e.group.as_str()).collect::<Vec<_>>(), ["column 19"]);
        let few = Table { entries: table.entries[..5].to_vec(), ..table };
        assert!(shortened(&few, &[]).1);
    }

    #[test]
    fn session_text_is_escaped() {
        assert_eq!(escaped("<b>a_b</b> \u{1b}[0m `x`"), "\\<b\\>a\\_b\\</b\\> \u{241b}\\[0m \\`x\\`");
    }
}
