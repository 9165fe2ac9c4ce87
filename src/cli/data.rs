//! `probity data`: shows, checks and converts data sets, and writes the built-in ones to files.

mod make;

use std::io::{BufWriter, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::rc::Rc;

use clap::{Args, Subcommand};
use serde_json::json;

use super::error::CliError;
use super::output;
use ::engine::data::{self as engine, DataQuestion, DataRequest, Parts};
use base::files::Whole;
use base::text::printable_label;
use corpus::doctor::{Doctor, LISTED, Survey, Vocabulary};
use corpus::overview::Overview;
use corpus::readers::{Report, Row, Watch, plain};
use corpus::sets::{SetError, Source};
use labs::examples::TaskSpec;

/// Name of standard output in error messages.
const STDOUT: &str = "to standard output";

#[derive(Debug, Subcommand)]
pub enum DataCommand {
    /// List the built-in sets and the formats that can be read.
    #[command(after_help = "Example:\n  probity data list")]
    List {
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Write a built-in set to a file: agreement, the facts, the probing tasks, the rationale benchmark.
    #[command(after_help = "Examples:
  probity data make past_present -o past_present.txt
  probity data make facts --format lama --clean --model bert-mini -o facts.jsonl
  probity data make rationales-en -n 100 --seed 1 -o rationales.jsonl
  probity data make agreement -n 5000 -o agreement.jsonl

`probity data show` and `doctor` read these files. Probing tasks are balanced and split 10:1:1, stratified by
label. Agreement sentences have the same frequencies as the lab's; `data = \"agreement.jsonl\"` under [task] of a spec runs them.")]
    Make(make::MakeArgs),
    /// Recognise a file or folder, count its rows, and show the first ones.
    #[command(
        after_help = "Examples:\n  probity data show facts.jsonl.gz\n  probity data show LAMA/data --limit 3\n  probity data show agreement facts"
    )]
    Show(ShowArgs),
    /// List unfit rows with reasons: duplicates, multi-token objects, N-M relations, skewed labels and more.
    #[command(
        after_help = "Examples:\n  probity data doctor facts.jsonl.gz --model bert-mini --model gpt2-mini\n  probity data doctor past_present.txt --json"
    )]
    Doctor(DoctorArgs),
    /// Write the rows of any known format as plain JSON lines.
    #[command(
        after_help = "Examples:\n  probity data convert all.tsv.gz -o rows.jsonl\n  probity data convert facts.jsonl --clean --model bert-mini -o facts-clean.jsonl"
    )]
    Convert(ConvertArgs),
}

#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Files or folders, or names of built-in sets.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<String>,
    /// Number of rows to show.
    #[arg(long, default_value_t = 5)]
    limit: usize,
    /// Print one JSON object per set.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// File or folder, or the name of a built-in set.
    path: String,
    /// Model for which objects and forms must be single tokens; may be given several times.
    #[arg(long)]
    model: Vec<String>,
    /// Number of dropped rows to list.
    #[arg(long, default_value_t = 10)]
    limit: usize,
    /// Number of relations to list.
    #[arg(long, default_value_t = LISTED)]
    relations: usize,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub struct ConvertArgs {
    /// File or folder, or the name of a built-in set.
    path: String,
    /// File to write [default: standard output].
    #[arg(long, short)]
    out: Option<PathBuf>,
    /// Replace a file that already exists.
    #[arg(long, requires = "out")]
    force: bool,
    /// Leave out the rows that `doctor` drops.
    #[arg(long)]
    clean: bool,
    /// With --clean: model whose vocabulary is used; may be given several times.
    #[arg(long, requires = "clean")]
    model: Vec<String>,
    /// Stop after this many rows.
    #[arg(long)]
    limit: Option<u64>,
}

/// Fails with [`CliError::Usage`] for a file that cannot be read or a model that cannot be loaded, [`CliError::Failed`] if the output
/// cannot be written.
pub fn data(command: &DataCommand, out: &mut dyn Write) -> Result<(), CliError> {
    match command {
        DataCommand::List { json } => make::list(*json, out),
        DataCommand::Make(args) => make::make(args, out),
        DataCommand::Show(args) => args.paths.iter().enumerate().try_for_each(|(k, path)| {
            if k > 0 && !args.json {
                output::line(out, "")?;
            }
            show(path, args, out)
        }),
        DataCommand::Doctor(args) => doctor(args, out),
        DataCommand::Convert(args) => convert(args, out),
    }
}

fn say(out: &mut dyn Write, text: &str) -> Result<(), CliError> {
    output::line(out, &printable_label(text))
}

/// Prints a line of JSON, with control characters escaped for the terminal.
fn object(out: &mut dyn Write, value: &impl serde::Serialize) -> Result<(), CliError> {
    let text = serde_json::to_string(value).map_err(|e| CliError::Failed(e.to_string()))?;
    output::line(out, &plain::escaped(text))
}

/// Returns an observer that ignores progress; an interrupt ends the program.
fn watch() -> Watch {
    Rc::new(|_| ControlFlow::Continue(()))
}

/// Opens a set; a generated set is drawn as in the default experiment.
fn open(name: &str) -> Result<(Source, DataRequest), CliError> {
    let request = DataRequest::of(&TaskSpec::default(), 0, &[], name, DataQuestion::Inspect);
    let source = Source::open(name, request.draw(), &watch()).map_err(refused)?;
    Ok((source, request))
}

fn refused(error: SetError) -> CliError {
    CliError::Usage(error.to_string())
}

fn show(path: &str, args: &ShowArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let (source, request) = open(path)?;
    let overview = Overview::of(&source, args.limit, &watch(), &mut || ControlFlow::Continue(())).map_err(refused)?;
    let parts = match (source.built_in.and_then(|b| b.task()), source.examples().map_err(refused)?) {
        (Some(task), Some(set)) => {
            Some(engine::parts(task, &request.task, &set, request.seed).map_err(|p| CliError::Usage(p.to_string()))?)
        }
        _ => None,
    };
    if args.json {
        return object(out, &shown(&source, &overview, parts.as_ref()));
    }
    overview.lines().iter().try_for_each(|line| say(out, line))?;
    parts.iter().flat_map(Parts::lines).try_for_each(|line| say(out, &line))?;
    overview.row_lines().iter().try_for_each(|line| say(out, &format!("  {line}")))
}

fn shown(source: &Source, overview: &Overview, parts: Option<&Parts>) -> serde_json::Value {
    let files: Vec<_> = overview
        .files
        .iter()
        .zip(&source.set.files)
        .map(|(f, on_disk)| {
            json!({"path": on_disk.path.display().to_string(), "format": f.format, "gzip": f.gzip,
                   "bytes": f.bytes, "columns": f.columns, "report": f.report})
        })
        .collect();
    let left_out: Vec<_> =
        source.set.left_out.iter().map(|(p, why)| json!({"path": p.display().to_string(), "why": why})).collect();
    let rows: Vec<_> = overview
        .first
        .iter()
        .filter_map(|f| {
            let row: serde_json::Value = serde_json::from_str(&f.row).ok()?;
            Some(json!({"file": f.file, "line": f.line, "row": row}))
        })
        .collect();
    let shortcuts: Vec<_> = overview
        .shortcuts
        .iter()
        .map(|s| json!({"name": s.name, "right": s.right, "n": s.n, "accuracy": s.accuracy()}))
        .collect();
    json!({"path": source.set.root.display().to_string(), "title": overview.title, "files": files,
           "not_read": left_out, "rows": overview.rows, "dropped": overview.dropped, "blank": overview.blank,
           "kinds": overview.kinds, "splits": overview.splits, "properties": overview.properties,
           "facts": overview.facts, "prompts": overview.prompts, "rationales": overview.rationales, "hash": overview.hash, "parts": parts,
           "shortcuts": shortcuts, "first": rows})
}

fn vocabularies(names: &[String]) -> Result<Vec<Vocabulary<'static>>, CliError> {
    let usage = |e: model::ModelError| CliError::Usage(e.to_string());
    names.iter().map(|name| engine::vocabulary(name, &mut |_| Ok(())).map_err(usage)).collect()
}

fn doctor(args: &DoctorArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let (source, _) = open(&args.path)?;
    let models = vocabularies(&args.model)?;
    let diagnosis =
        engine::diagnose(&source, models, args.limit, &watch(), &mut || ControlFlow::Continue(())).map_err(refused)?;
    if args.json {
        return object(out, &diagnosis);
    }
    diagnosis.lines(args.relations).iter().try_for_each(|line| say(out, line))?;
    if !diagnosis.examples.is_empty() {
        output::line(out, "dropped rows")?;
    }
    diagnosis.row_lines().iter().try_for_each(|line| say(out, &format!("  {line}")))?;
    let more = diagnosis.dropped - diagnosis.examples.len() as u64;
    if more > 0 && args.limit > 0 {
        output::line(out, &format!("  and {more} more; --limit shows them"))
    } else {
        Ok(())
    }
}

fn convert(args: &ConvertArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let to = args.out.as_deref().map(|path| Whole::new(path, args.force)).transpose()?;
    let (source, _) = open(&args.path)?;
    let doctor = if args.clean { Some(strict(&source, &args.model)?) } else { None };
    let converted = match to.zip(args.out.as_deref()) {
        None => stream(&source, doctor, args.limit, out, STDOUT)?,
        Some((mut to, path)) => {
            let name = path.display().to_string();
            let converted = stream(&source, doctor, args.limit, to.file(), &name)?;
            to.place()?;
            converted
        }
    };
    let unread: u64 = converted.reports.iter().map(|r| r.dropped.total()).sum();
    let Converted { written, unfit, .. } = converted;
    let unfit = if args.clean { format!(", {unfit} unfit rows left out") } else { String::new() };
    output::say(&printable_label(&format!("{written} rows written{unfit}, {unread} rows could not be read")));
    for (kind, d) in converted.reports.iter().flat_map(|r| r.dropped.iter()) {
        output::say(&printable_label(&format!(
            "  {} × {}; line {}: {}",
            d.count,
            kind.title(),
            d.first_line,
            d.example
        )));
    }
    Ok(())
}

/// Returns a doctor that has read the whole set before the first row is written.
fn strict(source: &Source, models: &[String]) -> Result<Doctor<'static>, CliError> {
    let survey = Survey::of(source, &watch(), &mut || ControlFlow::Continue(())).map_err(refused)?;
    Ok(Doctor::new(&source.set, vocabularies(models)?, 0).knowing(survey))
}

struct Converted {
    written: u64,
    unfit: u64,
    reports: Vec<Report>,
}

fn stream(
    source: &Source,
    mut doctor: Option<Doctor<'_>>,
    limit: Option<u64>,
    out: &mut dyn Write,
    place: &str,
) -> Result<Converted, CliError> {
    let mut out = BufWriter::new(out);
    let (mut written, mut unfit) = (0, 0);
    let mut failed = None;
    let read = source.rows(&watch(), &mut |file, row: Row<'_>, line| {
        if limit.is_some_and(|n| written >= n) {
            return ControlFlow::Break(());
        }
        if doctor.as_mut().is_some_and(|d| !d.examine(file, &row, line)) {
            unfit += 1;
            return ControlFlow::Continue(());
        }
        match writeln!(out, "{}", plain::line(&row)) {
            Ok(()) => {
                written += 1;
                ControlFlow::Continue(())
            }
            Err(e) => {
                failed = Some(e);
                ControlFlow::Break(())
            }
        }
    });
    let reports = read.map_err(refused)?.reports;
    match failed.map_or_else(|| out.flush(), Err) {
        Ok(()) => Ok(Converted { written, unfit, reports }),
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Err(CliError::Closed),
        Err(e) => Err(CliError::Failed(format!("cannot write {place}: {e}"))),
    }
}
