//! `probity export`: a figure of a recorded session as PNG, SVG or CSV, or a table as Markdown, LaTeX or CSV.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use super::error::CliError;
use super::{output, replay, table};
use base::files::{FileError, Whole};
use base::numbers::number;
use base::suggest::is_unknown;
use engine::board::Board;
use figure::{self, Figure};
use labs::Details;
use labs::table::{Form, Table};

/// Write a figure or a table of a recorded session to a file.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  probity export agreement-2 --figure pareto -o pareto.png
  probity export agreement-2 --figure reliability --method fgsm,pgd --oracle linear -o curves.svg
  probity export agreement-2 --figure reliability --method pgd --marker .112 -o pgd.csv
  probity export paper --figure figure-1 -o figure-1.png
  probity export paper --table optimum -o table-3.tex
  probity export benchmark --figure heatmap --sentence 311 --method attention,ig -o pair.svg
  probity export benchmark --table interpretability -o table.tex")]
pub struct ExportArgs {
    /// Name or file of the session.
    pub session: String,
    /// The figure, for example `reliability` (C, S and R against the strength), `pareto` (C against S, all methods),
    /// `figure-1` to `figure-6` (of Canby et al.) or `heatmap`; an unknown name lists those of the session's lab.
    #[arg(long, value_name = "NAME", required_unless_present = "table")]
    pub figure: Option<String>,
    /// The table of the paper, in place of a figure: `accuracy`, `interpretability`, `accuracy-perturbations`,
    /// `perturbations` (of the saliency lab), `contingency`, `probes`, `optimum`, `optimum-linear`, `map` (of the
    /// interventions lab).
    #[arg(long, value_name = "NAME", conflicts_with_all = ["figure", "model", "with", "relation", "method", "oracle", "sentence", "partner", "marker"])]
    pub table: Option<String>,
    /// File to write; its extension determines the format.
    #[arg(long, short, value_name = "FILE.png|.svg|.csv|.md|.tex")]
    pub out: PathBuf,
    /// Model to draw [default: the first].
    #[arg(long)]
    pub model: Option<String>,
    /// Model beside it, for figures of two (`ledger`) [default: the first other].
    #[arg(long, value_name = "MODEL")]
    pub with: Option<String>,
    /// Relation to draw (`prompts`, `ranks`, `stability`) [default: the first; of `stability`, the mean over all].
    #[arg(long, value_name = "ID")]
    pub relation: Option<String>,
    /// Methods to draw; those that sweep the same hyperparameter can share a figure [default: the first].
    #[arg(long, value_delimiter = ',')]
    pub method: Vec<String>,
    /// Oracle that judges: `mlp` or `linear` [default: the first].
    #[arg(long)]
    pub oracle: Option<String>,
    /// Sentence of a heatmap, by its identifier [default: the first].
    #[arg(long, value_name = "ID")]
    pub sentence: Option<String>,
    /// Perturbed partner beside the sentence, by its identifier [default: its first].
    #[arg(long, value_name = "ID")]
    pub partner: Option<String>,
    /// Strength at which to draw a vertical line.
    #[arg(long, value_parser = |t: &str| number(t).map_err(|e| e.to_string()))]
    pub marker: Option<f64>,
    /// Replace the file if it already exists.
    #[arg(long)]
    pub force: bool,
}

/// Draws the figure or lays out the table, and writes it.
///
/// # Errors
/// [`CliError::Usage`] for a session, figure, table, model, method or oracle that does not exist and for a file that does,
/// [`CliError::Failed`] if it cannot be written.
pub fn export(args: &ExportArgs) -> Result<(), CliError> {
    let session = replay::open(&args.session)?;
    let written = match &args.table {
        Some(name) => write(&table(&session.board(), name, &args.session)?, &args.out, args.force)?,
        None => {
            let mut figure = pick(&session.board(), args)?;
            figure.provenance.entries.push(("session".into(), args.session.clone()));
            figure::export(&figure, &args.out, args.force)?
        }
    };
    output::say(&base::text::printable_label(&format!("wrote {}", written.display())));
    Ok(())
}

/// The table of this name, of the latest run that has one.
fn table(board: &Board, name: &str, session: &str) -> Result<Table, CliError> {
    let mut there: Vec<Table> = board
        .runs
        .iter()
        .rev()
        .flat_map(|run| labs::by_id(run.job.spec.lab()).tables(&run.results))
        .collect();
    if let Some(at) = there.iter().position(|t| t.name == name) {
        return Ok(there.swap_remove(at));
    }
    let mut names: Vec<&str> = there.iter().map(|t| t.name.as_str()).collect();
    names.dedup();
    let why = if names.is_empty() {
        "none of its runs has a table".into()
    } else {
        format!("the table {}", is_unknown(name, &names))
    };
    Err(CliError::Usage(format!("{session}: {why}")))
}

/// Writes a table in the form that the extension names; the file appears whole or not at all.
fn write(table: &Table, path: &Path, force: bool) -> Result<PathBuf, CliError> {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
    let form = Form::of_extension(extension).ok_or_else(|| {
        CliError::Usage(format!("{}: tables are written as .md, .tex or .csv", path.display()))
    })?;
    let fail = |source| FileError::Write { path: path.to_owned(), source };
    let mut whole = Whole::new(path, force)?;
    whole.file().write_all(table.write(form).as_bytes()).map_err(fail)?;
    whole.place()?;
    Ok(std::path::absolute(path).map_err(fail)?)
}

fn pick(board: &Board, args: &ExportArgs) -> Result<Figure, CliError> {
    let method = args.method.join(",");
    let given = [
        ("with", args.with.as_deref().unwrap_or_default()),
        ("relation", args.relation.as_deref().unwrap_or_default()),
        ("method", method.as_str()),
        ("oracle", args.oracle.as_deref().unwrap_or_default()),
        ("sentence", args.sentence.as_deref().unwrap_or_default()),
        ("partner", args.partner.as_deref().unwrap_or_default()),
    ];
    let details = Details {
        model: args.model.as_deref(),
        more: given.into_iter().filter(|(_, value)| !value.is_empty()).collect(),
        marker: args.marker,
    };
    let name = args.figure.as_deref().unwrap_or_default();
    // A session may contain runs of several labs; the latest one with such a figure draws it, a cancelled one only where none was
    // finished.
    let mut refused = None;
    let shown = board.runs.iter().rev().filter(|run| table::is_shown(board, run));
    for run in shown.chain(board.runs.iter().rev()) {
        let lab = labs::by_id(run.job.spec.lab());
        match lab.figure(name, &details, &run.results, board.engine.as_ref()) {
            Ok(figure) => return Ok(figure),
            Err(why) => refused = Some(why),
        }
    }
    let why = refused.unwrap_or_else(|| "nothing was run in it".into());
    Err(CliError::Usage(format!("{}: {why}", args.session)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_go_by_the_extension_and_replace_nothing_unasked() {
        let folder = tempfile::tempdir().unwrap();
        let stub = vec!["Model".to_owned()];
        let (name, caption) = ("t".to_owned(), "Caption".to_owned());
        let table = Table { name, caption, stub, decimals: 1, scale: 1.0, entries: Vec::new() };
        for (name, begins) in [
            ("t.md", "Caption\n\n| Model |"),
            ("t.tex", "% Caption\n\\begin{tabular}{l}"),
            ("t.csv", "model,group"),
        ] {
            let path = folder.path().join(name);
            write(&table, &path, false).unwrap();
            assert!(std::fs::read_to_string(&path).unwrap().starts_with(begins), "{name}");
            assert!(matches!(write(&table, &path, false), Err(CliError::Usage(_))), "{name}");
            write(&table, &path, true).unwrap();
        }
        let Err(CliError::Usage(told)) = write(&table, Path::new("t.png"), false) else { panic!() };
        assert!(told.contains(".md, .tex or .csv"), "{told}");
    }
}
