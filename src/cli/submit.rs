//! `probity submit`: submits a grid to the cluster's scheduler as an array of jobs.

pub(super) mod again;
#[cfg(unix)]
pub(super) mod far;

use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;

use super::error::CliError;
use super::shard::prepare;
use super::{names, output};
use base::files::write_whole;
use base::size;
use base::text::printable_label;
use session::parts::folder::Folder;
use session::parts::log::LOGS;

/// Write a script that computes a grid as an array of jobs, and submit it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  probity submit --slurm grid.toml --out grid --array 8
  probity submit --slurm grid.toml --out grid --array 8 -- --partition gpu --time 4:00:00
  probity submit --slurm grid.toml --out grid --dry-run
  probity submit --slurm grid.toml --out /scratch/ada/grid --remote ssh://login -- --partition gpu
  probity submit --again --out grid

Submitting again computes missing cells and skips finished ones; --again submits only jobs whose cells failed or were left
unfinished. `probity follow DIR` shows the progress, `probity merge DIR` joins the results.")]
pub struct SubmitArgs {
    /// Specs and grids to compute.
    #[arg(required_unless_present_any = ["again", "received"], value_name = "SPEC.toml")]
    pub specs: Vec<PathBuf>,
    /// Submit to Slurm with sbatch, which must be installed on this machine.
    #[arg(long, required_unless_present = "again")]
    pub slurm: bool,
    /// Resubmit the tasks whose cells failed or were left unfinished by jobs that have ended.
    #[arg(long, conflicts_with_all = ["specs", "array", "device", "dtype", "memory_limit", "dry_run", "options", "received"])]
    pub again: bool,
    /// The folder of the grid, which every job must be able to reach.
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Number of jobs in the array, each with its share of the cells [default: 8, or the number of cells if that is smaller].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub array: Option<u64>,
    /// Device: auto, cpu, cuda, cuda:N or metal.
    #[arg(long, default_value = "auto")]
    pub device: String,
    /// Precision in which models are kept: f32, f16 or bf16.
    #[arg(long, default_value = "f32")]
    pub dtype: String,
    /// Keep the memory of each job below this size.
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub memory_limit: Option<u64>,
    /// Write the script without submitting it.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Submit on a different machine, the login node, through ssh: ssh://user@host:port. The specs are sent; DIR, models and data are paths
    /// on that machine.
    #[cfg(unix)]
    #[arg(long, value_name = "ADDRESS")]
    pub remote: Option<remote::Address>,
    /// Also send this file, named as in the spec, relative to the spec's folder. May be repeated.
    #[cfg(unix)]
    #[arg(long, value_name = "FILE", requires = "remote", conflicts_with = "again")]
    pub send: Vec<String>,
    /// Read the specs, which another machine sends, from standard input.
    #[arg(long, hide = true, conflicts_with = "specs")]
    pub received: bool,
    /// Options for sbatch, after `--`; they are written into the script before its other options.
    #[arg(last = true, value_name = "SBATCH OPTIONS")]
    pub options: Vec<String>,
}

const JOBS: usize = 8;
const SCRIPT: &str = "submit.sh";

/// Fails with [`CliError::Usage`] for unusable specs, folders and names; [`CliError::Failed`] if sbatch is missing or fails.
pub fn submit(args: &SubmitArgs, out: &mut dyn Write) -> Result<(), CliError> {
    #[cfg(unix)]
    if let Some(address) = &args.remote {
        return far::submit(args, address, out);
    }
    if args.again {
        return output::line(out, &again::submit(&args.out)?);
    }
    #[cfg(unix)]
    if args.received {
        let transfer = far::receive(&args.out)?;
        let folder = prepare(&transfer.specs(), &args.out).map_err(|e| transfer.told(e))?;
        return write_and_submit(args, &transfer.place()?, &folder, out);
    }
    let folder = prepare(&args.specs, &args.out)?;
    write_and_submit(args, &args.specs, &folder, out)
}

/// Writes the script that computes these specs into a folder, and submits it.
fn write_and_submit(
    args: &SubmitArgs,
    specs: &[PathBuf],
    folder: &Folder,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    names::device(&args.device)?;
    names::dtype(&args.dtype)?;
    let cells = folder.cells.len();
    let wanted = args.array.map_or(JOBS, |n| usize::try_from(n).unwrap_or(usize::MAX));
    let jobs = wanted.min(cells).max(1);
    if args.array.is_some() && jobs < wanted {
        output::say(&format!("the number of jobs is limited to the number of cells in the grid: {cells}"));
    }
    let dir = std::path::absolute(&args.out).map_err(|e| CliError::Failed(format!("{}: {e}", args.out.display())))?;
    let logs = dir.join(LOGS);
    let cannot = |path: &Path, e: std::io::Error| CliError::Failed(format!("cannot write {}: {e}", path.display()));
    std::fs::create_dir_all(&logs).map_err(|e| cannot(&logs, e))?;
    let path = dir.join(SCRIPT);
    let text = script(args, specs, &dir, &folder.head.hash, (cells, jobs))?;
    write_whole(&path, text.as_bytes()).map_err(|e| cannot(&path, e))?;
    output::line(out, &format!("{cells} cells in {jobs} jobs: {}", output::full(&path)))?;
    if args.dry_run {
        return Ok(());
    }
    output::line(out, &format!("job {}", sbatch(&path, &args.options)?))?;
    output::line(out, &format!("probity follow {}", quoted(&dir.display().to_string())?))
}

/// Submits a script with these options and returns the job number.
fn sbatch(script: &Path, options: &[String]) -> Result<String, CliError> {
    match Command::new("sbatch").arg("--parsable").args(options).arg(script).output() {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Err(CliError::Failed(format!(
            "sbatch was not found on this machine. Submit the script on a machine with Slurm: sbatch {}",
            quoted(&script.display().to_string())?
        ))),
        Err(e) => Err(CliError::Failed(format!("sbatch cannot be started: {e}"))),
        Ok(done) if done.status.success() => {
            // `--parsable` makes sbatch print the number, followed by a semicolon and the name of the cluster.
            let said = String::from_utf8_lossy(&done.stdout);
            Ok(printable_label(said.trim().split(';').next().unwrap_or_default()))
        }
        Ok(done) => {
            let said = String::from_utf8_lossy(&done.stderr);
            Err(CliError::Failed(format!("sbatch refused ({}): {}", done.status, said.trim())))
        }
    }
}

fn script(
    args: &SubmitArgs,
    specs: &[PathBuf],
    dir: &Path,
    hash: &str,
    (cells, jobs): (usize, usize),
) -> Result<String, CliError> {
    let program = std::env::current_exe().map_err(|e| CliError::Failed(format!("cannot find the program: {e}")))?;
    let path = |path: &Path| -> Result<String, CliError> {
        let full = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        quoted(&full.display().to_string())
    };
    let specs: Result<Vec<String>, CliError> = specs.iter().map(|p| path(p)).collect();
    let mut command = format!("exec {} run {}", path(&program)?, specs?.join(" "));
    let _ = write!(command, " \\\n  --out {} --shard \"{}{jobs}\"", path(dir)?, again::TASK);
    let _ = write!(command, " \\\n  --device {} --dtype {}", quoted(&args.device)?, quoted(&args.dtype)?);
    if let Some(limit) = args.memory_limit {
        let _ = write!(command, " --memory-limit {limit}");
    }
    let logs = log_pattern(dir)?;
    let mut options = String::new();
    if !args.options.is_empty() {
        let words: Result<Vec<String>, CliError> = args.options.iter().map(|o| sbatch_word(o)).collect();
        let _ = writeln!(options, "# Options given to probity submit; if one appears twice, the later line counts.");
        let _ = writeln!(options, "#SBATCH {}", words?.join(" "));
    }
    Ok(format!(
        "#!/bin/sh\n\
         # {cells} cells of the grid {hash} in {jobs} jobs, written by probity {version}.\n\
         # It may be edited and submitted again (sbatch {SCRIPT}): finished cells are skipped.\n\
         # For another scheduler, replace SLURM_ARRAY_TASK_ID with its task number, counted from 1.\n\
         #SBATCH --job-name=probity-{hash}\n\
         #SBATCH --array=1-{jobs}\n\
         #SBATCH --output={logs}\n\
         # One minute before its time limit, the job receives a signal and records its state.\n\
         #SBATCH --signal=B:TERM@60\n\
         #SBATCH --requeue\n\
         {options}\n\
         {command}\n",
        version = env!("CARGO_PKG_VERSION"),
    ))
}

/// Quotes a word for an `#SBATCH` line, in which only double quotes work reliably.
fn sbatch_word(text: &str) -> Result<String, CliError> {
    if text.contains(['"', '\\']) || text.chars().any(char::is_control) {
        return Err(CliError::Usage(format!(
            "{}: sbatch cannot read a quotation mark, a backslash or a control character from a script",
            printable_label(text)
        )));
    }
    Ok(if text.contains([' ', '\'', '#']) || text.is_empty() { format!("\"{text}\"") } else { text.into() })
}

/// Name pattern for the job logs. Slurm expands `%j` and similar patterns in folder names too, so `%` is doubled.
fn log_pattern(dir: &Path) -> Result<String, CliError> {
    let folder = dir.join(LOGS).display().to_string().replace('%', "%%");
    sbatch_word(&format!("{folder}/%A-%a.log"))
}

/// Quotes a word for the shell.
///
/// # Errors
/// [`CliError::Usage`] for names with control characters, which would end a line of the script.
pub(crate) fn quoted(text: &str) -> Result<String, CliError> {
    if text.chars().any(char::is_control) {
        return Err(CliError::Usage(format!(
            "{}: a name with control characters cannot be written into a script",
            printable_label(text)
        )));
    }
    let plain = |c: char| c.is_alphanumeric() || "/._-+:@%".contains(c);
    Ok(if !text.is_empty() && text.chars().all(plain) {
        text.into()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: logs for a folder named `run%j` used to be written to a folder that did not exist.
    #[test]
    fn percent_sign_in_folder_is_escaped_for_slurm() {
        let pattern = log_pattern(Path::new("/grids/run%j")).unwrap();
        assert_eq!(pattern, format!("/grids/run%%j/{LOGS}/%A-%a.log"));
    }

    #[test]
    fn quoted_words_reach_the_shell_unchanged() {
        assert_eq!(quoted("/a/b-1.toml").unwrap(), "/a/b-1.toml");
        assert_eq!(quoted("a b'c $(x)").unwrap(), "'a b'\\''c $(x)'");
        assert_eq!(quoted("").unwrap(), "''");
        assert!(quoted("a\nb").is_err() && quoted("a\u{1b}[31m").is_err());
        assert_eq!(sbatch_word("--partition=gpu").unwrap(), "--partition=gpu");
        assert_eq!(sbatch_word("--comment=it's a #1").unwrap(), "\"--comment=it's a #1\"");
        assert!(sbatch_word("a\"b").is_err() && sbatch_word("a\\b").is_err() && sbatch_word("a\nb").is_err());
    }
}
