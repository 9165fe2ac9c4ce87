//! `probity data`: what a data set holds, what is unfit and why, plain rows of it, and the built-in sets as files.

mod make;

use std::io::{BufWriter, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::json;

use super::error::CliError;
use super::output;
use crate::corpus::doctor::{Diagnosis, Doctor, Vocabulary};
use crate::corpus::readers::{Drops, ReadError, Report, Row, Set, plain};
use crate::figure::text::printable;
use crate::model::tokenizer::Tokenizer;
use crate::model::{Device, Model, ModelSource};

/// Subcommands of `data`.
#[derive(Debug, Subcommand)]
pub enum DataCommand {
    /// List the built-in sets and the formats that can be read.
    #[command(after_help = "Example:\n  probity data list")]
    List {
        /// Print one object as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Write a built-in set to a file: agreement, the facts, the probing tasks, the rationale benchmark.
    #[command(after_help = "Examples:
  probity data make past_present -o past_present.txt
  probity data make facts --format lama --clean --model bert-mini -o facts.jsonl
  probity data make rationales-en -n 100 --seed 1 -o rationales.jsonl
  probity data make agreement -n 5000 -o agreement.jsonl

What is written is read back by `probity data show` and `doctor`. Probing tasks are balanced and split 10:1:1, stratified by
label. Agreement sentences have the frequencies of the lab's own; `data = \"agreement.jsonl\"` under [task] of a spec runs them.")]
    Make(make::MakeArgs),
    /// Say what a file or folder is, count its rows, and show the first ones.
    #[command(
        after_help = "Examples:\n  probity data show facts.jsonl.gz\n  probity data show LAMA/data --limit 3"
    )]
    Show(ShowArgs),
    /// Say what is dropped and why: duplicates, objects of several tokens, N-M relations, skewed labels and more.
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

/// What `show` takes.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// File or folder.
    path: PathBuf,
    /// Rows that are shown.
    #[arg(long, default_value_t = 5)]
    limit: usize,
    /// Print one object as JSON.
    #[arg(long)]
    json: bool,
}

/// What `doctor` takes.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// File or folder.
    path: PathBuf,
    /// Model whose vocabulary objects and forms must be single tokens of; may be given several times.
    #[arg(long)]
    model: Vec<String>,
    /// Dropped rows that are listed.
    #[arg(long, default_value_t = 10)]
    limit: usize,
    /// Print one object as JSON.
    #[arg(long)]
    json: bool,
}

/// What `convert` takes.
#[derive(Debug, Args)]
pub struct ConvertArgs {
    /// File or folder.
    path: PathBuf,
    /// File to write [default: standard output].
    #[arg(long, short)]
    out: Option<PathBuf>,
    /// Leave out the rows that `doctor` drops.
    #[arg(long)]
    clean: bool,
    /// With --clean: model whose vocabulary counts; may be given several times.
    #[arg(long, requires = "clean")]
    model: Vec<String>,
    /// Stop after this many rows.
    #[arg(long)]
    limit: Option<u64>,
}

impl From<ReadError> for CliError {
    fn from(error: ReadError) -> Self {
        CliError::Usage(error.to_string())
    }
}

/// Runs a subcommand.
///
/// # Errors
/// [`CliError::Usage`] for a file that cannot be read or a model that cannot be loaded, [`CliError::Failed`] where the
/// output cannot be written.
pub fn data(command: &DataCommand, out: &mut dyn Write) -> Result<(), CliError> {
    match command {
        DataCommand::List { json } => make::list(*json, out),
        DataCommand::Make(args) => make::make(args, out),
        DataCommand::Show(args) => show(args, out),
        DataCommand::Doctor(args) => doctor(args, out),
        DataCommand::Convert(args) => convert(args, out),
    }
}

fn say(out: &mut dyn Write, text: &str) -> Result<(), CliError> {
    output::line(out, &printable(text))
}

/// One line of JSON that cannot steer a terminal either.
fn object(out: &mut dyn Write, value: &impl serde::Serialize) -> Result<(), CliError> {
    let text = serde_json::to_string(value).map_err(|e| CliError::Failed(e.to_string()))?;
    output::line(out, &plain::escaped(text))
}

fn show(args: &ShowArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let set = Set::open(&args.path)?;
    let mut first: Vec<(usize, u64, String)> = Vec::new();
    let mut kinds = std::collections::BTreeMap::<&str, u64>::new();
    let reports = set.rows(&mut |file, row, line| {
        *kinds.entry(row.kind()).or_default() += 1;
        if first.len() < args.limit {
            first.push((file, line, plain::line(&row)));
        }
        ControlFlow::Continue(())
    })?;
    if args.json {
        return object(out, &shown(&set, &reports, &first));
    }
    say(out, &format!("{}: {}", set.root.display(), set.title))?;
    for (file, report) in set.files.iter().zip(&reports) {
        let name = set.name(&file.path);
        let gz = if file.gzip { ", gzip" } else { "" };
        let (id, rows, dropped) = (file.format.id, report.rows, report.dropped.total());
        say(
            out,
            &format!("  {name}: {id}{gz}, {rows} rows, {dropped} dropped, {} blank lines", report.blank),
        )?;
        drops(&report.dropped, out)?;
        say(out, &format!("    reads {}", file.format.columns.join(", ")))?;
    }
    for (path, why) in &set.left_out {
        say(out, &format!("  not read: {}: {why}", set.name(path)))?;
    }
    let counts: Vec<String> = kinds.iter().map(|(kind, n)| format!("{n} {kind}")).collect();
    say(out, &format!("rows: {}", counts.join(", ")))?;
    first.iter().try_for_each(|(_, line, row)| say(out, &format!("  line {line}: {row}")))
}

fn drops(dropped: &Drops, out: &mut dyn Write) -> Result<(), CliError> {
    for (kind, d) in dropped.iter() {
        say(out, &format!("    {} × {}; line {}: {}", d.count, kind.title(), d.first_line, d.example))?;
    }
    Ok(())
}

fn shown(set: &Set, reports: &[Report], first: &[(usize, u64, String)]) -> serde_json::Value {
    let files: Vec<_> = set
        .files
        .iter()
        .zip(reports)
        .map(|(f, r)| {
            json!({"path": f.path.display().to_string(), "format": f.format.id, "gzip": f.gzip, "bytes": f.bytes,
                   "columns": f.format.columns, "report": r})
        })
        .collect();
    let left_out: Vec<_> =
        set.left_out.iter().map(|(p, why)| json!({"path": p.display().to_string(), "why": why})).collect();
    let rows: Vec<_> = first
        .iter()
        .filter_map(|(file, line, row)| {
            let row: serde_json::Value = serde_json::from_str(row).ok()?;
            Some(json!({"file": file, "line": line, "row": row}))
        })
        .collect();
    json!({"path": set.root.display().to_string(), "title": set.title, "files": files, "not_read": left_out, "first": rows})
}

/// The vocabularies of models by name.
fn vocabularies(names: &[String]) -> Result<Vec<Vocabulary<'static>>, CliError> {
    names.iter().map(|name| vocabulary(name)).collect()
}

fn vocabulary(name: &str) -> Result<Vocabulary<'static>, CliError> {
    let usage = |e: crate::model::ModelError| CliError::Usage(e.to_string());
    let source: ModelSource = name.parse().map_err(usage)?;
    let name = name.to_owned();
    // A folder needs no weights for this.
    if let ModelSource::Dir(folder) = &source {
        let missing = || CliError::Usage(format!("{name}: the folder has no tokenizer"));
        let tokenizer = Tokenizer::from_dir(folder).map_err(usage)?.ok_or_else(missing)?;
        return Ok(Vocabulary { name, tokens: Box::new(move |word| count(&tokenizer, word)) });
    }
    let model = Model::load(&source, Device::Cpu).map_err(usage)?;
    model.tokenizer().map_err(usage)?;
    let tokens = move |word: &str| model.tokenizer().ok().and_then(|t| count(t, word));
    Ok(Vocabulary { name, tokens: Box::new(tokens) })
}

/// Tokens of a word in running text.
fn count(tokenizer: &Tokenizer, word: &str) -> Option<usize> {
    if tokenizer.word_id(word).is_some() {
        return Some(1);
    }
    let ids = tokenizer.encode_bare(&format!(" {word}")).ok()?.ids;
    let unknown = tokenizer.special().unk;
    (!ids.is_empty() && !ids.iter().any(|id| Some(*id) == unknown)).then_some(ids.len())
}

fn doctor(args: &DoctorArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let diagnosis = examine(&args.path, &args.model, args.limit)?;
    if args.json {
        return object(out, &diagnosis);
    }
    diagnosis.lines().iter().try_for_each(|line| say(out, line))?;
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

fn examine(path: &Path, models: &[String], limit: usize) -> Result<Diagnosis, CliError> {
    let set = Set::open(path)?;
    let mut doctor = Doctor::new(&set, vocabularies(models)?, limit);
    let reports = set.rows(&mut |file, row, line| {
        doctor.examine(file, &row, line);
        ControlFlow::Continue(())
    })?;
    Ok(doctor.finish(&set, &reports))
}

fn convert(args: &ConvertArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let set = Set::open(&args.path)?;
    let doctor = if args.clean { Some(Doctor::new(&set, vocabularies(&args.model)?, 0)) } else { None };
    let converted = match &args.out {
        None => stream(&set, doctor, args.limit, out)?,
        Some(path) => {
            let fail = |e: std::io::Error| CliError::Failed(format!("cannot write {}: {e}", path.display()));
            let mut file = output::beside(path)?;
            let converted = stream(&set, doctor, args.limit, &mut file)?;
            file.persist(path).map_err(|e| fail(e.error))?;
            converted
        }
    };
    let unread: u64 = converted.reports.iter().map(|r| r.dropped.total()).sum();
    let Converted { written, unfit, .. } = converted;
    let unfit = if args.clean { format!(", {unfit} unfit rows left out") } else { String::new() };
    output::say(&printable(&format!("{written} rows written{unfit}, {unread} rows could not be read")));
    for (kind, d) in converted.reports.iter().flat_map(|r| r.dropped.iter()) {
        output::say(&printable(&format!(
            "  {} × {}; line {}: {}",
            d.count,
            kind.title(),
            d.first_line,
            d.example
        )));
    }
    Ok(())
}

struct Converted {
    written: u64,
    unfit: u64,
    reports: Vec<Report>,
}

fn stream(
    set: &Set,
    mut doctor: Option<Doctor<'_>>,
    limit: Option<u64>,
    out: &mut dyn Write,
) -> Result<Converted, CliError> {
    let mut out = BufWriter::new(out);
    let (mut written, mut unfit) = (0, 0);
    let mut failed = None;
    let reports = set.rows(&mut |file, row: Row<'_>, line| {
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
    })?;
    match failed.map_or_else(|| out.flush(), Err) {
        Ok(()) => Ok(Converted { written, unfit, reports }),
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Err(CliError::Closed),
        Err(e) => Err(CliError::Failed(format!("cannot write the rows: {e}"))),
    }
}
