//! `probity merge`: joins the parts of a grid into one session.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use clap::Args;
use serde::Serialize;

use super::error::CliError;
use super::output;
use base::files::Whole;
use base::numbers::probability;
use base::size::show;
use base::text::printable_label;
use labs::family::{ALPHA, Comparison, Corrected, Corrections, correct};
use session::name;
use session::parts::folder::Folder;
use session::parts::merge::{Merged, Survey, write};

/// Join the results of a grid's cells into one session.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  probity merge grid
  probity replay grid/merged.probity.jsonl
  probity merge grid -o so-far.probity.jsonl --partial

Comparisons are corrected within their families (one question of one cell), and families are selected across
all cells. Ranks, verdicts and shared vocabularies apply within a cell, so put models that are to be ranked
together into one cell. Results above 256 MiB are split into several sessions of whole cells: FILE, FILE-2 and
so on.")]
pub struct MergeArgs {
    /// The folder that `probity run --out DIR` wrote.
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// The session file to write [default: merged.probity.jsonl in DIR].
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Join the finished cells even if others are missing or failed.
    #[arg(long)]
    pub partial: bool,
    /// Replace the file if it exists.
    #[arg(long)]
    pub force: bool,
    /// Print a summary as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Default name of the session, in the grid's folder.
const MERGED: &str = "merged.probity.jsonl";
/// Maximum size of a session in bytes and in lines. A replay of a larger one would keep only the results of the last cells.
const MAX_FILE: u64 = 256 << 20;
const MAX_ENTRIES: usize = 1_000_000;
/// Maximum number of cells listed by name in a message.
const LISTED: usize = 10;
const SHOWN: usize = 12;

#[derive(Debug, Serialize)]
struct Report<'a> {
    grid: &'a str,
    cells: usize,
    merged: usize,
    missing: Vec<usize>,
    failed: Vec<usize>,
    entries: usize,
    bytes: u64,
    comparisons: usize,
    below_05: [usize; 3],
    sessions: Vec<Volume>,
}

#[derive(Debug, Serialize)]
struct Volume {
    path: String,
    cells: usize,
    bytes: u64,
}

/// Fails with [`CliError::Usage`] for a folder or file that does not belong to the grid, or if cells are missing; [`CliError::Failed`] if
/// the file cannot be written.
pub fn merge(args: &MergeArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let folder = Folder::open(&args.dir)?;
    let survey = Survey::of(&folder)?;
    let absent = absent(&folder, &survey);
    if !absent.is_empty() && (!args.partial || survey.done.is_empty()) {
        let said = absent.join("\n");
        let way = "`probity run SPEC --out DIR` computes the missing cells and skips the others; --partial joins the finished ones";
        return Err(CliError::Usage(format!("{}: some cells are missing\n{said}\n{way}", args.dir.display())));
    }
    let (merged, volumes) = join(args, &folder, &survey)?;
    let corrected = correct(merged.family.iter().map(|(_, c)| c));
    if args.json {
        return output::json(out, &report(&folder, &survey, &merged, &corrected, volumes));
    }
    let place = match &volumes[..] {
        [one] => one.path.clone(),
        several => format!("{} sessions, of at most {} each", several.len(), show(MAX_FILE)),
    };
    output::line(
        out,
        &format!(
            "grid {}: {} of {} cells; {} lines ({}) in {place}",
            folder.head.hash,
            merged.cells,
            folder.cells.len(),
            merged.entries,
            show(merged.bytes)
        ),
    )?;
    if volumes.len() > 1 {
        volumes.iter().try_for_each(|Volume { path, cells, bytes }| {
            output::line(out, &format!("  {cells} cells, {}: {path}", show(*bytes)))
        })?;
    }
    for copy in &survey.copies {
        output::line(out, &format!("left out, because another part has the same results: {}", output::full(copy)))?;
    }
    absent.iter().try_for_each(|line| output::line(out, &printable_label(line)))?;
    family(&folder, &merged, &corrected).iter().try_for_each(|line| output::line(out, &printable_label(line)))?;
    Ok(())
}

/// Writes the sessions; they appear together once all are complete.
fn join(args: &MergeArgs, folder: &Folder, survey: &Survey) -> Result<(Merged, Vec<Volume>), CliError> {
    let created = name::utc(SystemTime::now());
    let first = args.output.clone().unwrap_or_else(|| args.dir.join(MERGED));
    let (mut all, mut written, mut volumes) = (Merged::default(), Vec::new(), Vec::new());
    for (k, cells) in survey.volumes(MAX_FILE, MAX_ENTRIES).into_iter().enumerate() {
        let path = numbered(&first, k + 1);
        let mut whole = Whole::new(&path, args.force)?;
        let mut file = BufWriter::new(whole.file());
        let merged = write(folder, survey, &cells, created.clone(), &mut file)?;
        drop(file);
        written.push(whole);
        volumes.push(Volume { path: output::full(&path), cells: merged.cells, bytes: merged.bytes });
        all.cells += merged.cells;
        all.entries += merged.entries;
        all.bytes += merged.bytes;
        all.family.extend(merged.family);
    }
    written.into_iter().try_for_each(Whole::place)?;
    Ok((all, volumes))
}

/// Returns the path of a volume: `grid.probity.jsonl`, then `grid-2.probity.jsonl`.
fn numbered(path: &Path, number: usize) -> PathBuf {
    if number == 1 {
        return path.to_owned();
    }
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let at = name.find('.').filter(|at| *at > 0).unwrap_or(name.len());
    path.with_file_name(format!("{}-{number}{}", &name[..at], &name[at..]))
}

fn absent(folder: &Folder, survey: &Survey) -> Vec<String> {
    let mut out = Vec::new();
    let total = folder.cells.len();
    let mut list = |word: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            out.push(format!("{word}: {} of {total}", lines.len()));
            out.extend(lines.iter().take(LISTED).cloned());
            if lines.len() > LISTED {
                out.push(format!("  and {} more", lines.len() - LISTED));
            }
        }
    };
    let name = |k: &usize| folder.cells[*k].name();
    list("missing", survey.missing.iter().map(|k| format!("  {}", name(k))).collect());
    list("failed", survey.failed.iter().map(|(k, why)| format!("  {}: {why}", name(k))).collect());
    out
}

/// Counts comparisons with p at most .05: unadjusted, adjusted within their family, and in the families selected across all cells.
fn below(corrected: &Corrections<'_>) -> [usize; 3] {
    let count = |is_in: &dyn Fn(&Corrected<'_>) -> bool| corrected.rows.iter().filter(|row| is_in(row)).count();
    [
        count(&|row| row.comparison.p <= ALPHA),
        count(&|row| row.adjusted().is_some_and(|p| p <= ALPHA)),
        count(&|row| corrected.is_found(row)),
    ]
}

fn family(folder: &Folder, merged: &Merged, corrected: &Corrections<'_>) -> Vec<String> {
    if merged.family.is_empty() {
        return vec!["comparisons across all cells: none, because these cells contain no significance tests".into()];
    }
    let [alone, adjusted, found] = below(corrected);
    let Corrections { families, exploratory, selected, .. } = corrected;
    let mut out = vec![
        format!(
            "comparisons across all cells: {} in {} families; p ≤ .05: {alone} unadjusted, {adjusted} after Holm within the family",
            merged.family.len(),
            families.len()
        ),
        format!(
            "exploratory, across families (Benjamini and Bogomolov): {selected} of {exploratory} families selected, {found} comparisons significant in them"
        ),
    ];
    let mut order: Vec<usize> = (0..corrected.rows.len()).filter(|k| corrected.is_found(&corrected.rows[*k])).collect();
    let adjusted = |k: usize| corrected.rows[k].adjusted().unwrap_or(1.0);
    order.sort_by(|a, b| adjusted(*a).total_cmp(&adjusted(*b)).then(a.cmp(b)));
    let line = |k: &usize| {
        let (cell, Comparison { what, test, p, .. }) = &merged.family[*k];
        let [p, holm] = [*p, adjusted(*k)].map(probability);
        format!("  {}: {what} ({test}): p {p}, Holm {holm}", folder.cells[*cell].name())
    };
    out.extend(order.iter().take(SHOWN).map(line));
    if order.len() > SHOWN {
        out.push(format!("  and {} more; a replay lists all of them", order.len() - SHOWN));
    }
    out.push("ranks, verdicts and shared vocabularies apply within a cell only".into());
    out
}

fn report<'a>(
    folder: &'a Folder,
    survey: &Survey,
    merged: &Merged,
    corrected: &Corrections<'_>,
    sessions: Vec<Volume>,
) -> Report<'a> {
    Report {
        grid: &folder.head.hash,
        cells: folder.cells.len(),
        merged: merged.cells,
        missing: survey.missing.iter().map(|k| k + 1).collect(),
        failed: survey.failed.iter().map(|(k, _)| k + 1).collect(),
        entries: merged.entries,
        bytes: merged.bytes,
        comparisons: merged.family.len(),
        below_05: below(corrected),
        sessions,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volume_number_precedes_the_extension() {
        for (name, second) in [
            ("out/grid.probity.jsonl", "out/grid-2.probity.jsonl"),
            ("grid", "grid-2"),
            (".hidden", ".hidden-2"),
            ("a.b/c.jsonl", "a.b/c-2.jsonl"),
        ] {
            assert_eq!(numbered(Path::new(name), 1), Path::new(name));
            assert_eq!(numbered(Path::new(name), 2), Path::new(second));
        }
    }
}
