//! `probity export SESSION --report FILE.md`: a one-page report on a session.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::super::error::CliError;
use super::super::submit::quoted;
use super::figures::marked;
use super::named;
use crate::replay;
use base::files::{FileError, Whole};
use base::text::{printable, printable_label};
use engine::board::{Board, Run};
use engine::message::Outcome;
use figure::{Figure, Options, caption};
use labs::table::{Entry, Table};
use labs::{Details, Digest, Spec};

/// Maximum numbers of figures and of doubts of a run.
const FIGURES: usize = 3;
const DOUBTS: usize = 5;
/// Maximum number of words of a figure's caption.
const CAPTION: usize = 45;
/// Maximum numbers: of rows in a table printed in full, of rows in a shortened table, and of columns.
const FEW_ROWS: usize = 8;
const MOST_ROWS: usize = 12;
const MOST_COLUMNS: usize = 14;

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
    let (mut done, all) = (0, 1 + board.runs.iter().filter(|run| !run.gone).count());
    for (k, run) in board.runs.iter().enumerate() {
        if run.gone {
            let _ = write!(page, "\n{}\n", replay::gone(k + 1));
            continue;
        }
        tell(done, all);
        done += 1;
        let digest = labs::by_id(run.job.spec.lab()).digest(&run.results, &run.job.spec);
        let mut pictures = Vec::new();
        for mut figure in quoted_figures(board, run, &digest) {
            figure.provenance.entries.push(("session".into(), named(session)));
            let file = format!("{}-{}.png", k + 1, session::name::sanitise(&figure.name));
            written.extend(figure::export(&figure, &folder.join(&file), options, force)?);
            let path = format!("{stem}-figures/{file}").replace(' ', "%20");
            pictures.push([path, escaped(&figure.title), escaped(&shortened_caption(&caption(&figure)))]);
        }
        add(&mut page, (board, session), run, (&digest, &pictures));
    }
    page.push_str(&more(session));
    let fail = |source| FileError::Write { path: path.to_owned(), source };
    whole.fill(page.as_bytes())?;
    written.insert(0, std::path::absolute(path).map_err(fail)?);
    Ok(written)
}

/// The figures that the answer of a run is about. Those that need measurements missing from the run are skipped.
fn quoted_figures(board: &Board, run: &Run, digest: &Digest) -> Vec<Figure> {
    let lab = labs::by_id(run.job.spec.lab());
    let draw = |(name, details): &(&str, Vec<(&'static str, String)>)| {
        let more = details.iter().map(|(key, value)| (*key, value.as_str())).collect();
        lab.figure(name, &Details { more, ..Details::default() }, &run.results, board.engine.as_ref()).ok()
    };
    digest.figures.iter().filter_map(draw).take(FIGURES).map(|figure| marked(run, figure)).collect()
}

/// Adds a run: question, answer, doubts, main table, figures with captions, terms, changed settings and provenance.
fn add(page: &mut String, (board, session): (&Board, &str), run: &Run, (digest, pictures): (&Digest, &[[String; 3]])) {
    let lab = labs::by_id(run.job.spec.lab());
    let runs: Vec<&Run> = board.runs_of(lab.id()).collect();
    let place = runs.iter().position(|other| std::ptr::eq(*other, run)).filter(|_| runs.len() > 1);
    let place = place.map_or(String::new(), |at| format!(", run {}", at + 1));
    let mut body = String::new();
    let answer = lab.answer(&run.results, &run.job.spec);
    // Writing to a String cannot fail.
    let _ = write!(body, "**Question.** {}\n\n**Answer.**\n\n", escaped(&lab.asks(&run.job.spec)));
    answer.says.iter().for_each(|text| add_item(&mut body, text));
    if run.summary.is_none() {
        body.push_str("\nThe run did not finish: these are the results so far.\n");
    }
    if !answer.doubts.is_empty() {
        body.push_str("\n**Doubts.**\n\n");
    }
    answer.doubts.iter().take(DOUBTS).for_each(|text| add_item(&mut body, &format!("{}.", figure::capital(text))));
    if let Some(table) = lab.tables(&run.results).iter().find(|table| table.name == digest.table.0) {
        add_table(&mut body, table, digest, run.job.spec.models());
    }
    for [file, title, caption] in pictures {
        let _ = write!(body, "\n![{title}]({file})\n\n{caption}\n");
    }
    let terms: Vec<_> =
        labs::glossary().iter().filter(|t| t.labs.contains(&lab.id()) && occurs(t.name, &body)).collect();
    if !terms.is_empty() {
        body.push_str("\n**Terms.**\n\n");
    }
    for term in terms {
        let symbol = if term.symbol.is_empty() { String::new() } else { format!(" ({})", term.symbol) };
        let meaning = figure::capital(term.meaning.trim_end_matches('.'));
        add_item(&mut body, &format!("{}{symbol}: {meaning}.", term.name));
    }
    let _ = write!(page, "\n## {}{place}\n\n{body}\n{}", lab.title(), provenance(board, session, run));
}

/// The first sentences of a caption, at most `CAPTION` words. The picture has the rest.
fn shortened_caption(caption: &str) -> String {
    let mut words = 0;
    let fits = |sentence: &&str| {
        words += sentence.split_whitespace().count();
        words <= CAPTION
    };
    let kept: Vec<&str> = caption.trim_end_matches('.').split(". ").take_while(fits).collect();
    format!("{}.", kept.join(". "))
}

fn add_item(page: &mut String, text: &str) {
    let _ = writeln!(page, "- {}", escaped(text.trim()));
}

/// Adds the main table with intervals, the first sentence of its caption, and what it lacks.
fn add_table(page: &mut String, table: &Table, digest: &Digest, models: &[String]) {
    let mut table = table.clone();
    table.entries.retain(|e| digest.table.1.is_none_or(|group| e.group == group));
    let short = shortened(&table, models);
    // The sources of a paper's table follow a semicolon or a bracket.
    let first =
        ["; ", " (", ". "].iter().fold(short.caption.as_str(), |text, end| text.split(end).next().unwrap_or(text));
    let rows = short.with_intervals();
    let brackets = if rows.contains(" [") { " In brackets: intervals." } else { "" };
    let _ = write!(page, "\n{}.{brackets}\n\n{rows}", escaped(first));
    if !digest.notes.is_empty() {
        page.push('\n');
    }
    digest.notes.iter().for_each(|note| add_item(page, note));
}

/// True if a text contains a term as words, in any case.
fn occurs(term: &str, text: &str) -> bool {
    let (term, text) = (term.to_lowercase(), text.to_lowercase());
    let is_edge = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    text.match_indices(&term).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + term.len()..]);
        is_edge(before.chars().next_back()) && is_edge(after.trim_start_matches('s').chars().next())
    })
}

/// The settings that differ from the default, the provenance, and the commands that reproduce the run.
fn provenance(board: &Board, session: &str, run: &Run) -> String {
    let mut out = String::from("**Settings that differ from the default.**");
    match labs::changes(&Spec::shipped(run.job.spec.lab()), &run.job.spec) {
        changes if changes.is_empty() => out.push_str(" None.\n"),
        changes => {
            out.push_str("\n\n");
            changes.iter().for_each(|change| add_item(&mut out, change));
        }
    }
    let engine = board.engine.as_ref();
    let engine = engine.map_or_else(String::new, |e| format!(", computed by Probity {} on {}", e.version, e.device));
    let _ = write!(out, "\n**Provenance.** Spec {}{}.", run.job.spec_hash, escaped(&engine));
    if run.job.outcome == Some(Outcome::Done) {
        let session = command_argument(session);
        let _ = write!(out, " To reproduce it: `probity export {session} --script again && sh again/run.sh`");
    }
    out.push('\n');
    out
}

/// Says how to get what the page leaves out.
fn more(session: &str) -> String {
    let session = command_argument(session);
    format!(
        "\n**More.** `probity export {session} --all DIR` writes all figures and tables, `probity sessions show {session}` prints \
         the whole answer.\n"
    )
}

/// The name of a session as an argument of a command in Markdown.
fn command_argument(session: &str) -> String {
    printable_label(&quoted(session).unwrap_or_default()).replace('`', "")
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

/// Shortens a table to fit a page. It keeps the run's rows, published rows on the same subject,
/// and, if there are many columns, the last group (the total).
fn shortened(table: &Table, models: &[String]) -> Table {
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
    short
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
        let short = shortened(&table, &[]);
        let rows: Vec<&str> = short.entries.iter().map(|e| e.row[1].as_str()).collect();
        assert_eq!(rows, ["this run", "published"]);
        let wide: Vec<String> = (0..20).map(|k| format!("column {k}")).collect();
        let entries = wide.iter().map(|column| entry(["m", "this run"], column)).collect();
        let short = shortened(&Table { entries, ..table.clone() }, &[]);
        assert_eq!(short.entries.iter().map(|e| e.group.as_str()).collect::<Vec<_>>(), ["column 19"]);
        let few = Table { entries: table.entries[..5].to_vec(), ..table };
        assert_eq!(shortened(&few, &[]), few);
    }

    /// Regression: the page on the default experiment used to have 5,113 words and 26 figures.
    #[test]
    fn report_is_a_page() {
        let folder = tempfile::tempdir().unwrap();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sessions");
        for name in ["interventions", "prompts", "power", "saliency"] {
            let board = session::format::Session::read(&root.join(format!("{name}.probity.jsonl"))).unwrap().board();
            let path = folder.path().join(format!("{name}.md"));
            let options = Options { dpi: Some(72), ..Options::default() };
            let files = write(&board, name, &path, (&options, false), &|_, _| {}).unwrap();
            let page = std::fs::read_to_string(&path).unwrap();
            let words = page.split_whitespace().count();
            assert!(words < 900 * board.runs.len(), "{name}: {words} words");
            assert!((2..=1 + FIGURES * board.runs.len()).contains(&files.len()), "{name}: {files:?}");
            for part in ["**Question.**", "**Answer.**", "| --- |", "**Provenance.**", "--all DIR"] {
                assert!(page.contains(part), "{name}: no `{part}` in {page}");
            }
        }
    }

    #[test]
    fn terms_are_found_as_words() {
        assert!(occurs("front", "the Front, and") && occurs("oracle", "two oracles") && !occurs("front", "in frontal"));
    }

    #[test]
    fn session_text_is_escaped() {
        assert_eq!(escaped("<b>a_b</b> \u{1b}[0m `x`"), "\\<b\\>a\\_b\\</b\\> \u{241b}\\[0m \\`x\\`");
    }
}
