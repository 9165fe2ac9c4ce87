//! `probity run`: runs specs without a terminal, and writes findings, figures and a summary.

mod report;

use std::collections::HashSet;
use std::io::Write;
use std::path::{Path, PathBuf};
#[cfg(unix)]
use std::time::SystemTime;

use clap::Args;

use self::report::{FIGURES, FINDINGS, Report};
use super::drive::{End, Sinks, drive};
use super::error::CliError;
use super::export::figures::FigureArgs;
use super::progress::Meter;
use super::shard::Shard;
use super::{names, output, shard, signals, table};
use base::files::FileError;
use base::size;
use engine::Engine;
use engine::board::Board;
use engine::local::{self, Cache, LocalEngine, LocalOptions};
use labs::LabId;
use labs::grid::{self, Cell};
use session::name;
use session::parts::folder::Folder;
use session::record::Record;

/// Run specs without a terminal.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  probity run interventions
  probity run my-spec.toml --json > findings.jsonl
  probity run - < my-spec.toml
  probity run --preset margins
  probity run a.toml b.toml --out results --seed 7
  probity run grid.toml --out grid --jobs 2
  probity run grid.toml --out grid --shard 3/8")]
pub struct RunArgs {
    /// Specs to run in order: files, `-` for standard input, or the name of a lab for its shipped experiment. A spec with [grid] expands to
    /// all combinations of its axes.
    #[arg(required_unless_present = "preset", value_name = "SPEC")]
    pub specs: Vec<PathBuf>,
    /// Run a shipped experiment by name; an unknown name lists all of them. May be repeated.
    #[arg(long, value_name = "NAME")]
    pub preset: Vec<String>,
    /// Write figures (PNG, SVG, CSV), findings.jsonl and the session to this folder (one folder per spec if there are
    /// several). For a grid, and with --shard: one file per cell, which `probity merge` joins; finished cells are
    /// skipped.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Figures to draw with --out: `paper` (the ten or so that a paper would show) or `all`.
    #[arg(long, value_name = "paper|all", requires = "out", default_value = "paper", value_parser = ["paper", "all"])]
    pub figures: String,
    /// Appearance of figures.
    #[command(flatten)]
    pub look: FigureArgs,
    /// Compute only shard I of N, counted from 1; the specs and N alone determine the cells of a shard.
    #[arg(long, value_name = "I/N", requires = "out", value_parser = Shard::parse,
          conflicts_with_all = ["json", "session", "no_session", "force", "forecast"])]
    pub shard: Option<Shard>,
    /// Number of grid cells computed in parallel, one per process; the processes share the threads and --memory-limit.
    #[arg(long, value_name = "K", requires = "out", value_parser = clap::value_parser!(u64).range(1..=256))]
    pub jobs: Option<u64>,
    /// Number of this job among the parallel jobs.
    #[arg(long, hide = true, value_parser = Shard::parse, requires = "shard", conflicts_with = "jobs")]
    pub lane: Option<Shard>,
    /// Replace the results of an earlier run in that folder; a run that is stopped or fails does not replace them.
    #[arg(long, requires = "out")]
    pub force: bool,
    /// Write findings as JSON lines to standard output, which then contains nothing else.
    #[arg(long)]
    pub json: bool,
    /// Use this seed instead of those in the specs.
    #[arg(long, allow_negative_numbers = true, value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    pub seed: Option<u64>,
    /// Device: auto, cpu, cuda, cuda:N or metal.
    #[arg(long, default_value = "auto")]
    pub device: String,
    /// Precision in which models are kept: f32, or f16 and bf16 (half the memory, no gradients).
    #[arg(long, default_value = "f32")]
    pub dtype: String,
    /// Keep the memory of the process below this size, for example 2G: batches are made smaller, and a run that cannot fit is refused.
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub memory_limit: Option<u64>,
    /// Print how much memory and time the specs would take, without keeping results. Times a sample of each kind of work.
    #[arg(long)]
    pub forecast: bool,
    /// Name of the recorded session [default: task and time].
    #[arg(long, value_name = "NAME", conflicts_with = "no_session")]
    pub session: Option<String>,
    /// Do not record a session.
    #[arg(long)]
    pub(crate) no_session: bool,
    /// Do not show progress.
    #[arg(long, short)]
    pub quiet: bool,
    /// Options for a remote engine.
    #[command(flatten)]
    pub far: super::remote::RemoteArgs,
}

/// A cell, with the name of its spec file.
pub struct Task {
    /// File name without extension, followed by the number of the cell if it belongs to a grid.
    pub stem: String,
    pub cell: Cell,
}

impl RunArgs {
    /// True if a remote engine computes.
    fn is_far(&self) -> bool {
        self.far.remote.is_some()
    }

    /// True if the results are written to a folder of parts.
    fn in_parts(&self, tasks: &[Task]) -> Result<bool, CliError> {
        let of_a_grid = tasks.iter().find(|t| !t.cell.at.is_empty());
        let Some(task) = of_a_grid.or(tasks.first().filter(|_| self.shard.is_some() || self.jobs.is_some())) else {
            return Ok(false);
        };
        let file = task.cell.origin.split(", cell ").next().unwrap_or_default();
        let cells = tasks.len();
        if self.out.is_none() {
            return Err(CliError::Usage(format!(
                "{file}: a grid of {cells} cells needs --out DIR for its results; --forecast shows the memory and time \
                 that it would take"
            )));
        }
        let other = [("--json", self.json), ("--force", self.force), ("--session", self.session.is_some())];
        match other.iter().find(|(_, given)| *given) {
            None => Ok(true),
            Some((flag, _)) => Err(CliError::Usage(format!(
                "{file}: {flag} works only with single specs; each cell of a grid has its own file, and `probity \
                 merge` joins them"
            ))),
        }
    }
}

/// Reads and checks all specs and grid cells before anything runs; if they run on this machine (`here`), also checks the folders of their
/// models.
pub fn tasks(specs: &[PathBuf], presets: &[String], seed: Option<u64>, here: bool) -> Result<Vec<Task>, CliError> {
    let mut tasks: Vec<Task> = Vec::new();
    let mut stems: Vec<String> = Vec::new();
    let mut sound: HashSet<Vec<String>> = HashSet::new();
    let read = |path: &PathBuf| {
        let lab = path.to_str().and_then(LabId::named).filter(|_| !path.exists());
        Ok(match lab {
            Some(lab) => (vec![Cell::plain(labs::Spec::shipped(lab), lab.name())], path.clone()),
            None if path.as_os_str() == "-" => (grid::read(Path::new(labs::spec::STDIN))?, PathBuf::from("stdin")),
            None => (grid::read(path)?, path.clone()),
        })
    };
    let shipped = |name: &String| {
        let preset = labs::preset(name).map_err(CliError::Usage)?;
        Ok((vec![Cell::plain(labs::Spec::of_preset(preset)?, preset.name)], PathBuf::from(preset.name)))
    };
    let all: Result<Vec<_>, CliError> = specs.iter().map(read).chain(presets.iter().map(shipped)).collect();
    for (cells, path) in all? {
        let stem = path.file_stem().map_or("spec".into(), |s| s.to_string_lossy().into_owned());
        // Files with the same name in different folders get separate output folders.
        let taken = stems.iter().filter(|s| **s == stem).count();
        stems.push(stem.clone());
        let stem = if taken == 0 { stem } else { format!("{stem}-{}", taken + 1) };
        for (k, mut cell) in cells.into_iter().enumerate() {
            if let Some(seed) = seed {
                cell = cell.with_seed(seed);
            }
            if here {
                names::check(&cell.spec, &cell.origin)?
            } else {
                cell.spec.check(&cell.origin)?
            }
            if here && sound.insert(cell.spec.models().to_vec()) {
                names::readable(&cell.spec, &cell.origin)?;
            }
            let stem = if cell.at.is_empty() { stem.clone() } else { format!("{stem}-{}", k + 1) };
            tasks.push(Task { stem, cell });
        }
    }
    Ok(tasks)
}

/// Runs all specs on an engine in this process and reports to `out`.
///
/// # Errors
/// Those from [`execute`]; [`CliError::Usage`] for an unusable device or spec.
pub fn run(args: &RunArgs, out: &mut dyn Write) -> Result<(), CliError> {
    base::read::set_limit(args.memory_limit);
    let (device, dtype) = (names::device(&args.device)?, names::dtype(&args.dtype)?);
    let tasks = tasks(&args.specs, &args.preset, args.seed, !args.is_far())?;
    let failed = |e: std::io::Error| CliError::Failed(format!("cannot start: {e}"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let memory_limit = args.memory_limit;
    let options = LocalOptions {
        device,
        dtype,
        cache: Cache::user(),
        models: Vec::new(),
        memory_limit,
        // A headless run never returns to an earlier model and answers no questions.
        most_models: 1,
        asked: false,
    };
    #[cfg(unix)]
    if let Some(address) = &args.far.remote {
        if args.forecast || args.in_parts(&tasks)? {
            let what = if args.forecast {
                "--forecast measures the machine on which it runs"
            } else {
                "cells are computed on the machine that has their folder"
            };
            return Err(CliError::Usage(format!("{what}; run this command there with `ssh {}`", address.target())));
        }
        return runtime.block_on(run_far(address, args, &tasks, out));
    }
    if args.forecast {
        return tasks.iter().try_for_each(|task| foresee(args, task, options.clone(), out));
    }
    if args.in_parts(&tasks)? {
        return shard::run(args, &tasks, options, out);
    }
    let several = tasks.iter().map(|t| t.cell.spec.models().len()).sum::<usize>() > 1;
    if several {
        // A run of a single model checks its own limit; an additional forecast would only use more memory.
        tasks.iter().try_for_each(|task| fits(&task.cell, &options))?;
    }
    let mut engine = LocalEngine::start(options).map_err(failed)?;
    runtime.block_on(execute(&mut engine, args, &tasks, out))
}

/// Runs all specs on a remote engine, and shuts it down afterwards.
#[cfg(unix)]
async fn run_far(
    address: &remote::Address,
    args: &RunArgs,
    tasks: &[Task],
    out: &mut dyn Write,
) -> Result<(), CliError> {
    let subject = tasks.first().map_or("run", |task| task.cell.spec.common().subject());
    let name = args.session.clone().unwrap_or_else(|| name::default_name(subject, SystemTime::now()));
    let hello = args.far.hello(&args.device, &args.dtype, args.memory_limit);
    let files = args.far.files(&args.specs)?;
    let hello = remote::message::Hello { name, ..hello };
    let (mut far, _) = super::remote::connect(address, hello, &files)?;
    let (name, farewell) = (far.name().to_owned(), far.farewell());
    let done = execute(&mut far, args, tasks, out).await;
    // The engine may have exited: ignore the error.
    let _ = far.send(engine::message::Command::Shutdown);
    drop(far);
    super::remote::report_end(address, &name, &farewell);
    done
}

const MEMORY_LIMIT: &str = "memory limit";

/// Rejects a memory limit that is too small for some model before anything is computed, and suggests one that is sufficient for all.
pub fn fits(cell: &Cell, options: &LocalOptions) -> Result<(), CliError> {
    if options.memory_limit.is_none() {
        return Ok(());
    }
    let mut refused = match local::forecast(&cell.spec, options.clone()) {
        Err(problem) if problem.r#where == MEMORY_LIMIT => problem,
        // Other problems are reported and recorded by the run itself.
        _ => return Ok(()),
    };
    if cell.spec.models().len() > 1 {
        let free = LocalOptions { memory_limit: None, ..options.clone() };
        let all = local::forecast(&cell.spec, free).unwrap_or_default();
        if let Some(bytes) = all.iter().map(|f| f.bytes).max() {
            // The limit suggested for the first rejected model is replaced by one that is sufficient for all.
            let enough = (bytes + bytes / 5) >> 20;
            refused.hint = format!("--memory-limit {}M is enough for all its models", enough + 1);
        }
    }
    Err(CliError::Failed(refused.to_string()))
}

fn foresee(args: &RunArgs, task: &Task, options: LocalOptions, out: &mut dyn Write) -> Result<(), CliError> {
    let list = local::forecast(&task.cell.spec, options).map_err(|p| CliError::Failed(p.to_string()))?;
    for forecast in &list {
        if args.json {
            output::json(out, forecast)?;
            continue;
        }
        let model = base::text::printable_label(&forecast.model);
        output::line(out, &format!("{}: {model}: {}", task.stem, forecast.summary()))?;
        for part in &forecast.parts {
            output::line(out, &format!("  {:<28} {}", part.name, size::show(part.bytes)))?;
        }
        output::line(out, &format!("  {:<28} {}", "tokens in a batch", forecast.tokens_per_batch))?;
        if let Some(because) = &forecast.because {
            let because = base::text::printable_label(because);
            output::line(out, &format!("  {:<28} {because}", "range of time"))?;
        }
    }
    Ok(())
}

/// Runs all specs on an engine and reports to `out`.
///
/// # Errors
/// [`CliError::Cancelled`] if the user stopped the run, [`CliError::Reported`] if a run failed and reported it, and errors from writing
/// results.
pub async fn execute(
    engine: &mut dyn Engine,
    args: &RunArgs,
    tasks: &[Task],
    out: &mut dyn Write,
) -> Result<(), CliError> {
    let folders = folders(args, tasks)?;
    let mut events = engine.take_events().ok_or_else(|| CliError::Failed("the engine has no events".into()))?;
    let mut interrupts = signals::interrupts();
    let mut info = None;
    let (mut failed, mut unkept) = (false, None);
    for (k, (task, folder)) in tasks.iter().zip(&folders).enumerate() {
        let mut report = Report::new(args, task, folder.as_deref(), info.as_ref())?;
        let recorder = report.recorder.take();
        let session = recorder.as_ref().map(|r| r.path().to_owned());
        let mut sinks = Sinks {
            board: Board { engine: info.clone(), ..Board::default() },
            recorder: recorder.map(|r| Box::new(r) as Box<dyn Record>),
            json: if args.json { Some(&mut *out) } else { None },
            file: report.writer()?,
            meter: Meter::new(args.quiet),
            unkept: report.unkept.take(),
        };
        let job = k as u64 + 1;
        let end = drive(engine, &mut events, &mut interrupts, (job, &task.cell.spec), &mut sinks).await;
        info.clone_from(&sinks.board.engine);
        // If recording was interrupted, the path of the session is not printed.
        let session = session.filter(|_| sinks.recorder.is_some());
        let board = std::mem::take(&mut sinks.board);
        unkept = unkept.or(sinks.unkept.take());
        drop(sinks);
        if let Ok(end) = &end {
            report.close(&board, *end)?;
        }
        if let Some(path) = session.filter(|_| !args.quiet) {
            output::say(&format!("session {}", base::text::printable_label(&path.display().to_string())));
        }
        let end = end?;
        if !args.json {
            table::table(&board).iter().try_for_each(|line| output::line(out, line))?;
        }
        match end {
            End::Done => {}
            End::Cancelled => return Err(CliError::Cancelled),
            End::Failed => failed = true,
        }
    }
    match unkept {
        _ if failed => Err(CliError::Reported),
        Some(why) => {
            let why = why.trim_end_matches('.');
            Err(CliError::Failed(format!("the session was not recorded: {why}; --no-session runs without one")))
        }
        None => Ok(()),
    }
}

/// Chooses a folder for each run; if one already contains results, fails before anything is computed.
fn folders(args: &RunArgs, tasks: &[Task]) -> Result<Vec<Option<PathBuf>>, CliError> {
    let folder = |task: &Task| match (&args.out, tasks.len()) {
        (Some(dir), 1) => Some(dir.clone()),
        (Some(dir), _) => Some(dir.join(name::sanitise(&task.stem))),
        (None, _) => None,
    };
    let folders: Vec<Option<PathBuf>> = tasks.iter().map(folder).collect();
    folders.iter().flatten().try_for_each(|folder| Folder::none_in(folder))?;
    let there = folders.iter().flatten().find_map(|folder| results_in(folder));
    match there.filter(|_| !args.force) {
        Some(path) => Err(FileError::There(path).into()),
        None => Ok(folders),
    }
}

/// Returns a result of an earlier run: the findings, or otherwise a figure.
fn results_in(folder: &Path) -> Option<PathBuf> {
    let is_figure = |p: &PathBuf| p.extension().is_some_and(|e| FIGURES.iter().any(|f| e == *f));
    let findings = folder.join(FINDINGS);
    let figures = || std::fs::read_dir(folder).ok()?.flatten().map(|e| e.path()).filter(is_figure).min();
    if findings.symlink_metadata().is_ok() { Some(findings) } else { figures() }
}
