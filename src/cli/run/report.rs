//! Output files of one run: session, findings and figures.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::{RunArgs, Task};
use crate::drive::End;
use crate::error::CliError;
use crate::export::figures::of_run;
use crate::{names, output};
use base::files::Whole;
use engine::board::Board;
use engine::message::{EngineInfo, Event};
use session::format::Header;
use session::name;
use session::record::{Record as _, Recorder};

pub(super) const FINDINGS: &str = "findings.jsonl";
/// Name of the file for the findings of an unfinished run if complete results already exist.
const INCOMPLETE: &str = "findings-incomplete.jsonl";
pub(super) const FIGURES: [&str; 3] = ["png", "svg", "csv"];

pub(super) type Written = (Box<dyn Write>, PathBuf);

pub(super) struct Report {
    pub(super) recorder: Option<Recorder>,
    /// Reason why the run is not recorded.
    pub(super) unkept: Option<String>,
    folder: Option<PathBuf>,
    findings: Option<Whole>,
    /// True if every figure is drawn rather than only the headline ones.
    all_figures: bool,
    options: figure::Options,
    force: bool,
    quiet: bool,
}

impl Report {
    pub(super) fn new(
        args: &RunArgs,
        task: &Task,
        folder: Option<&Path>,
        info: Option<&EngineInfo>,
    ) -> Result<Self, CliError> {
        if let Some(folder) = folder {
            std::fs::create_dir_all(folder).map_err(|e| cannot(folder, &e))?;
        }
        let findings = match folder {
            Some(folder) => Some(Whole::new(&folder.join(FINDINGS), args.force)?),
            None => None,
        };
        let recorded = if args.no_session { None } else { Some(record(args, task, folder, info)) };
        let (recorder, unkept) = match recorded {
            None => (None, None),
            Some(Ok(recorder)) => (Some(recorder), None),
            Some(Err(error)) => (None, Some(error.to_string())),
        };
        let (folder, options) = (folder.map(Path::to_owned), args.look.options()?);
        let (all_figures, force, quiet) = (args.figures == "all", args.force, args.quiet);
        Ok(Self { recorder, unkept, folder, findings, all_figures, options, force, quiet })
    }

    pub(super) fn writer(&self) -> Result<Option<Written>, CliError> {
        let (Some(folder), Some(findings)) = (&self.folder, &self.findings) else { return Ok(None) };
        let path = folder.join(FINDINGS);
        let other = findings.another().map_err(|e| cannot(&path, &e))?;
        Ok(Some((Box::new(other), path)))
    }

    /// Moves the findings to their final name and, after a complete run, draws the figures. Only a complete run replaces earlier results.
    pub(super) fn close(self, board: &Board, end: End) -> Result<(), CliError> {
        let (Some(folder), Some(findings)) = (self.folder, self.findings) else { return Ok(()) };
        let incomplete = end != End::Done && folder.join(FINDINGS).symlink_metadata().is_ok();
        if incomplete {
            let path = folder.join(INCOMPLETE);
            findings.place_at(&path)?;
            output::say(&format!(
                "the run did not finish: {FINDINGS} is unchanged, and the findings so far are in {}",
                output::full(&path)
            ));
            return Ok(());
        }
        findings.place()?;
        // The file of an earlier run that was stopped is obsolete.
        let stale = folder.join(INCOMPLETE);
        if stale.symlink_metadata().is_ok() {
            std::fs::remove_file(&stale).map_err(|e| cannot(&stale, &e))?;
        }
        let runs = board.runs.iter().filter(|_| end == End::Done);
        let figures: Vec<_> = runs.flat_map(|run| of_run(run, board.engine.as_ref(), self.all_figures)).collect();
        for (name, figure) in &figures {
            for extension in FIGURES {
                figure::export(figure, &folder.join(format!("{name}.{extension}")), &self.options, self.force)?;
            }
        }
        if !self.quiet {
            output::say(&format!("wrote {} figures and {FINDINGS} to {}", figures.len(), output::full(&folder)));
        }
        Ok(())
    }
}

/// Starts recording the session; if that fails, the run continues without it.
fn record(
    args: &RunArgs,
    task: &Task,
    folder: Option<&Path>,
    info: Option<&EngineInfo>,
) -> Result<Recorder, session::SessionError> {
    let now = SystemTime::now();
    let begin = || {
        let (place, default) = match folder {
            Some(folder) => (folder.to_owned(), "session".to_owned()),
            None => (name::folder()?, name::default_name(task.cell.spec.common().subject(), now)),
        };
        let header =
            Header::new(&names::place(&args.device, &args.dtype), name::utc(now), Some(task.cell.spec.clone()));
        let mut recorder = Recorder::create(&place, args.session.as_ref().unwrap_or(&default), &header)?;
        // The engine introduces itself only once, but each session needs its description.
        info.map_or(Ok(()), |info| recorder.event(0.0, &Event::Ready(info.clone())))?;
        Ok::<_, session::SessionError>(recorder)
    };
    let warn = |error: &session::SessionError| {
        output::say(&format!("warning: {}; the run is not recorded", base::text::printable_label(&error.to_string())));
    };
    begin().inspect_err(warn)
}

fn cannot(path: &Path, error: &std::io::Error) -> CliError {
    CliError::Failed(format!("{}: cannot write: {error}", path.display()))
}
