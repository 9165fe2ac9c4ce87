//! `probity export`: figures (PNG, SVG, PDF, CSV), tables (Markdown, LaTeX, CSV) and a report of a recorded session.

pub mod figures;
mod list;
mod preview;
pub(crate) mod report;
mod script;

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use self::figures::FigureArgs;
use super::error::CliError;
use super::{output, replay, table};
use base::files::{FileError, Whole};
use base::numbers::number;
use base::suggest::unknown;
use engine::board::Board;
use engine::message::Outcome;
use figure::{self, Figure, Format};
use labs::Details;
use labs::table::{Form, Table};

/// Write figures and tables of a recorded session to files.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  probity export agreement-2 --list
  probity export agreement-2 --figure pareto -o pareto.png
  probity export agreement-2 --figure pareto -o pareto.pdf --style paper --width 84mm
  probity export agreement-2 --figure reliability --method fgsm,pgd --oracle linear -o curves.svg
  probity export agreement-2 --figure reliability --method pgd --marker .112 -o pgd.csv
  probity export agreement-2 --all figures --style paper --format pdf,csv
  probity export agreement-2 --report agreement.md
  probity export agreement-2 --script again && sh again/run.sh
  probity export paper --table optimum -o table-3.tex
  probity export benchmark --figure heatmap --sentence 311 --method attention,ig -o pair.svg")]
pub struct ExportArgs {
    /// Name or file of the session.
    pub session: String,
    /// The figure, for example `pareto` or `figure-1`; --list shows all figures of the session.
    #[arg(long, value_name = "NAME", requires = "out", required_unless_present_any = ["table", "list", "all", "report", "script"])]
    pub figure: Option<String>,
    /// A table in a paper's layout, instead of a figure; --list shows all tables of the session.
    #[arg(long, value_name = "NAME", requires = "out", conflicts_with_all = ["figure", "model", "with", "relation", "method", "oracle", "sentence", "partner", "marker"])]
    pub table: Option<String>,
    /// List the figures and tables of the session, each with a description.
    #[arg(long, conflicts_with_all = ["figure", "table", "all", "report", "out"])]
    pub list: bool,
    /// Write all figures and tables of the session to this folder.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["figure", "table", "report", "out"])]
    pub all: Option<PathBuf>,
    /// Write a one-page report on the session: question, answer, doubts, the main table, up to three figures, changed settings, and how to
    /// recompute it. Figures go to a folder next to it.
    #[arg(long, value_name = "FILE.md", conflicts_with_all = ["figure", "table", "out"])]
    pub report: Option<PathBuf>,
    /// Write files that recompute the session's numbers to this folder: a spec for each run, and `run.sh`, which runs them and compares the
    /// results with the recorded ones.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["figure", "table", "list", "all", "report", "out"])]
    pub script: Option<PathBuf>,
    /// File to write; its extension determines the format.
    #[arg(long, short, value_name = "FILE.png|.svg|.pdf|.csv|.md|.tex")]
    pub out: Option<PathBuf>,
    /// Appearance of figures.
    #[command(flatten)]
    pub look: FigureArgs,
    /// Formats of the figures of --all, separated by commas: png, svg, pdf, csv.
    #[arg(long, value_delimiter = ',', value_parser = figures::format, default_value = "png,pdf,csv", value_name = "FORMATS")]
    pub format: Vec<Format>,
    /// Model to draw [default: the first].
    #[arg(long)]
    pub model: Option<String>,
    /// Second model, for figures that compare two (`ledger`) [default: the first model other than --model].
    #[arg(long, value_name = "MODEL")]
    pub with: Option<String>,
    /// Relation to draw (`prompts`, `ranks`, `stability`) [default: the first; for `stability`, the mean over all].
    #[arg(long, value_name = "ID")]
    pub relation: Option<String>,
    /// Methods to draw; only methods that sweep the same hyperparameter can share a figure [default: the first].
    #[arg(long, value_delimiter = ',')]
    pub method: Vec<String>,
    /// Oracle that judges: `mlp` or `linear` [default: the first].
    #[arg(long)]
    pub oracle: Option<String>,
    /// Sentence for a heatmap, by its identifier [default: the first].
    #[arg(long, value_name = "ID")]
    pub sentence: Option<String>,
    /// Perturbed partner of the sentence, by its identifier [default: the sentence's first].
    #[arg(long, value_name = "ID")]
    pub partner: Option<String>,
    /// Strength at which to draw a vertical line.
    #[arg(long, value_parser = |t: &str| number(t).map_err(|e| e.to_string()))]
    pub marker: Option<f64>,
    /// Replace files that already exist.
    #[arg(long)]
    pub force: bool,
}

/// Fails with [`CliError::Usage`] for an unknown session, figure, table, model, method or oracle and for an existing file,
/// [`CliError::Failed`] if a file cannot be written.
pub fn export(args: &ExportArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let options = args.look.options()?;
    let session = replay::open(&args.session)?;
    let board = session.board();
    if args.list {
        return list::print(&board, out);
    }
    let written = if let Some(folder) = &args.all {
        figures::write_all(&board, &args.session, folder, (&args.format, &options), args.force)?
    } else if let Some(path) = &args.report {
        report::write(&board, &args.session, path, (&options, args.force), &|_, _| ())?
    } else if let Some(folder) = &args.script {
        script::write(&board, &args.session, folder, args.force)?
    } else {
        // clap requires a file if a figure or a table is named.
        let path = args.out.as_deref().unwrap_or_else(|| Path::new(""));
        match &args.table {
            Some(name) => vec![write_table(&table(&board, name, &args.session)?, path, args.force)?],
            None => {
                let mut figure = pick(&board, args)?;
                figure.provenance.entries.push(("session".into(), named(&args.session)));
                figure::export(&figure, path, &options, args.force)?
            }
        }
    };
    for path in &written {
        let size = std::fs::metadata(path).map_or(0, |about| about.len().div_ceil(1024));
        output::say(&base::text::printable_message(&format!("wrote {} ({size} KiB)", path.display())));
    }
    if let [picture, ..] = &written[..]
        && args.figure.is_some()
    {
        preview::show(picture);
    }
    Ok(())
}

/// Returns the table with this name from the latest run that has one.
fn table(board: &Board, name: &str, session: &str) -> Result<Table, CliError> {
    let mut there: Vec<Table> =
        board.runs.iter().rev().flat_map(|run| labs::by_id(run.job.spec.lab()).tables(&run.results)).collect();
    if let Some(at) = there.iter().position(|t| t.name == name) {
        return Ok(there.swap_remove(at));
    }
    let known =
        || labs::LABS.iter().flat_map(|lab| lab.table_needs().iter().map(move |(table, needs)| (lab, table, needs)));
    let mut names: Vec<&str> = there.iter().map(|t| t.name.as_str()).collect();
    names.dedup();
    let why = match known().find(|(_, table, _)| **table == name) {
        Some((lab, _, needs)) => {
            let own = if names.is_empty() { String::new() } else { format!("; its tables: {}", names.join(", ")) };
            format!("this session has no table {name}: it needs {needs} ({} lab){own}", lab.id())
        }
        None if names.is_empty() => "none of its runs has a table".into(),
        None => unknown("table", name, &names),
    };
    Err(CliError::Usage(format!("{session}: {why}")))
}

/// Writes a table in the format of the file's extension, atomically.
pub(crate) fn write_table(table: &Table, path: &Path, force: bool) -> Result<PathBuf, CliError> {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
    let form = Form::of_extension(extension)
        .ok_or_else(|| CliError::Usage(format!("{}: tables are written as .md, .tex or .csv", path.display())))?;
    let fail = |source| FileError::Write { path: path.to_owned(), source };
    Whole::new(path, force)?.fill(table.write(form).as_bytes())?;
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
    let labs = || board.runs.iter().rev().map(|run| labs::by_id(run.job.spec.lab()));
    let names: Vec<&str> = labs().flat_map(|lab| lab.figure_entries()).map(|entry| entry.name).collect();
    if !board.runs.is_empty() && !names.contains(&name) {
        return Err(CliError::Usage(format!("{}: {}", args.session, unknown("figure", name, &names))));
    }
    // A session may have runs of several labs. The figure is drawn from the latest run that has it; cancelled runs are used only if no run
    // has finished.
    let mut refused = None;
    let shown = board.runs.iter().rev().filter(|run| table::is_shown(board, run));
    for run in shown.chain(board.runs.iter().rev()) {
        let lab = labs::by_id(run.job.spec.lab());
        match lab.figure(name, &details, &run.results, board.engine.as_ref()) {
            Ok(figure) if run.job.outcome == Some(Outcome::Done) => return Ok(figure),
            Ok(figure) => return Ok(figure.of_unfinished_run(run.job.share_done())),
            // Errors from labs that do not have this figure are ignored.
            Err(why) if lab.figure_entries().iter().any(|e| e.name == name) => refused = Some(why),
            Err(_) => {}
        }
    }
    let why = refused.unwrap_or_else(|| "it contains no runs".into());
    Err(CliError::Usage(format!("{}: {why}", args.session)))
}

/// Returns the session's name without folder and extension, because a local path means nothing to a reader of the figure.
fn named(path: &str) -> String {
    let file = base::text::last_part(path);
    file.strip_suffix(session::name::EXTENSION).unwrap_or(file).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: a table of another run or lab used to be called unknown.
    #[test]
    fn missing_table_is_named_with_its_requirements() {
        let told = |name: &str| table(&Board::default(), name, "mine").map(|_| ()).unwrap_err().message().unwrap();
        let text = told("selectivity");
        assert!(text.contains("no table selectivity: it needs a run with further properties to keep"), "{text}");
        assert!(told("selectivty").contains("none of its runs has a table"), "{}", told("selectivty"));
    }

    #[test]
    fn tables_follow_the_extension_and_never_overwrite() {
        let folder = tempfile::tempdir().unwrap();
        let stub = vec!["Model".to_owned()];
        let (name, caption) = ("t".to_owned(), "Caption".to_owned());
        let table = Table { name, caption, stub, decimals: 1, scale: 1.0, whole: &[], entries: Vec::new() };
        for (name, begins) in
            [("t.md", "Caption\n\n| Model |"), ("t.tex", "% Caption\n\\begin{tabular}{l}"), ("t.csv", "model,group")]
        {
            let path = folder.path().join(name);
            write_table(&table, &path, false).unwrap();
            assert!(std::fs::read_to_string(&path).unwrap().starts_with(begins), "{name}");
            assert!(matches!(write_table(&table, &path, false), Err(CliError::Usage(_))), "{name}");
            write_table(&table, &path, true).unwrap();
        }
        let Err(CliError::Usage(printed)) = write_table(&table, Path::new("t.png"), false) else { panic!() };
        assert!(printed.contains(".md, .tex or .csv"), "{printed}");
    }
}
