//! The main loop of a headless run: one job, its events, and interrupts.

use std::collections::HashSet;
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use tokio::sync::mpsc::Receiver;

use super::error::CliError;
use super::output;
use super::progress::Meter;
use base::Problem;
use base::text::{printable_label, printable_message};
use engine::Engine;
use engine::board::Board;
use engine::message::{Command, Event, JobId, NoticeLevel, Outcome};
use labs::finding::Label;
use labs::{Body, Common, Finding, Spec, SummaryFinding};
use session::SessionError;
use session::record::Record;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Done,
    Cancelled,
    /// The run failed, and this has already been reported.
    Failed,
}

pub(crate) struct Sinks<'a> {
    pub board: Board,
    /// The recorder of the session, or of a part (one grid cell).
    pub recorder: Option<Box<dyn Record + 'a>>,
    /// Output of findings as JSON Lines for the user, if requested.
    pub json: Option<&'a mut dyn Write>,
    /// File with the findings as JSON Lines, and its path.
    pub file: Option<(Box<dyn Write>, PathBuf)>,
    pub meter: Meter,
    /// Reason why a result could not be saved.
    pub unkept: Option<String>,
}

struct Run<'s, 'a> {
    sinks: &'s mut Sinks<'a>,
    spec: &'s Spec,
    job: JobId,
    start: Instant,
    errors: Vec<Problem>,
    /// Warnings already printed; they are not repeated.
    said: HashSet<String>,
    /// The summary, which is held back because it must be the last finding.
    summary: Option<Finding>,
}

/// Runs one spec to its end. The first interrupt cancels it, and the second exits at once. The last finding is always a summary.
///
/// # Errors
/// [`CliError::Closed`] or [`CliError::Failed`] if findings cannot be written; the run is then cancelled.
pub(crate) async fn drive(
    engine: &mut dyn Engine,
    events: &mut Receiver<Event>,
    interrupts: &mut Receiver<()>,
    (job, spec): (JobId, &Spec),
    sinks: &mut Sinks<'_>,
) -> Result<End, CliError> {
    let start = Instant::now();
    let errors = Vec::new();
    let mut run = Run { sinks, spec, job, start, errors, said: HashSet::new(), summary: None };
    run.command(engine, &Command::Run { job, generation: job, spec: Box::new(spec.clone()) });
    let mut cancelling = false;
    let outcome = loop {
        tokio::select! {
            biased;
            interrupt = interrupts.recv(), if !interrupts.is_closed() => match interrupt {
                None => {}
                Some(()) if cancelling => break Outcome::Cancelled,
                Some(()) => {
                    cancelling = true;
                    run.sinks.meter.say("cancelling; interrupt again to leave immediately");
                    run.command(engine, &Command::Cancel { job });
                }
            },
            event = events.recv() => {
                let Some(event) = event else { break Outcome::Failed(stopped()) };
                match run.event(&event) {
                    Ok(None) => {}
                    Ok(Some(outcome)) => break outcome,
                    Err(error) => {
                        run.command(engine, &Command::Cancel { job });
                        return Err(error);
                    }
                }
            }
        }
    };
    run.end(outcome)
}

impl Run<'_, '_> {
    fn seconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    fn command(&mut self, engine: &mut dyn Engine, command: &Command) {
        self.sinks.board.on_command(command);
        let t = self.seconds();
        self.record(|recorder| recorder.command(t, command));
        // If the engine has exited, its event channel closes, which ends the run with a message.
        let _ = engine.send(command.clone());
    }

    fn record(&mut self, write: impl FnOnce(&mut dyn Record) -> Result<(), SessionError>) {
        let Some(recorder) = &mut self.sinks.recorder else { return };
        if let Err(error) = write(recorder.as_mut()) {
            self.sinks.meter.say(&format!(
                "warning: {}; the run continues without recording",
                printable_message(&error.to_string())
            ));
            self.sinks.recorder = None;
            self.sinks.unkept = Some(error.to_string());
        }
    }

    /// Processes an event; returns the outcome if it ends this run.
    fn event(&mut self, event: &Event) -> Result<Option<Outcome>, CliError> {
        self.sinks.board.on_event(event);
        let t = self.seconds();
        self.record(|recorder| recorder.event(t, event));
        match event {
            Event::Progress { generation, progress } if *generation == self.job => self.sinks.meter.show(progress),
            Event::Forecast { generation, forecast } if *generation == self.job && !forecast.refined => {
                let model = printable_label(&forecast.model);
                self.sinks.meter.tell(&format!("forecast for {model}: {}", forecast.summary()));
            }
            Event::Finding { generation, finding } if *generation == self.job => {
                self.finding(finding)?;
            }
            Event::Notice(notice) if notice.level != NoticeLevel::Info => {
                let level = if notice.level == NoticeLevel::Error { "error" } else { "warning" };
                let text = format!("{level}: {}", printable_message(&notice.problem.to_string()));
                if self.said.insert(text.clone()) {
                    self.sinks.meter.say(&text);
                }
            }
            Event::Finished { job, outcome, .. } if *job == self.job => return Ok(Some(outcome.clone())),
            _ => {}
        }
        Ok(None)
    }

    fn finding(&mut self, finding: &Finding) -> Result<(), CliError> {
        match &finding.body {
            Body::Common(Common::Error(problem)) => {
                self.sinks.meter.say(&format!("error: {}", printable_message(&problem.to_string())));
                self.errors.push(problem.clone());
            }
            Body::Common(Common::Summary(_)) => {
                self.summary = Some(finding.clone());
                return Ok(());
            }
            Body::Lab(_) => {}
        }
        self.write(finding)
    }

    fn write(&mut self, finding: &Finding) -> Result<(), CliError> {
        if let Some(json) = &mut self.sinks.json {
            output::json(*json, finding)?;
        }
        if let Some((file, path)) = &mut self.sinks.file {
            output::json_to_file(file, path, finding)?;
        }
        Ok(())
    }

    /// Adds a finding made by this program as if the engine had sent it, so that it is recorded too.
    fn add(&mut self, what: Common) -> Result<(), CliError> {
        let model = self.spec.models().first().cloned().unwrap_or_default();
        let finding = Label::new(self.spec.common(), &model).common(0, self.seconds(), what);
        self.event(&Event::Finding { generation: self.job, finding: Box::new(finding) })?;
        Ok(())
    }

    fn end(mut self, outcome: Outcome) -> Result<End, CliError> {
        if let Outcome::Failed(problem) = &outcome
            && !self.errors.contains(problem)
        {
            self.add(Common::Error(problem.clone()))?;
        }
        if self.summary.is_none() {
            let engine = self.sinks.board.engine.clone();
            let (device, version) = engine.map_or_else(
                || ("unknown".into(), env!("CARGO_PKG_VERSION").into()),
                |info| (info.device, info.version),
            );
            let cancelled = outcome == Outcome::Cancelled;
            self.add(Common::Summary(SummaryFinding { seconds: self.seconds(), device, version, cancelled }))?;
        }
        if let Some(summary) = self.summary.take() {
            self.write(&summary)?;
        }
        self.sinks.meter.clear();
        self.record(|recorder| recorder.finish());
        Ok(match outcome {
            Outcome::Cancelled => End::Cancelled,
            Outcome::Done if self.errors.is_empty() => End::Done,
            Outcome::Done | Outcome::Failed(_) => End::Failed,
        })
    }
}

fn stopped() -> Problem {
    Problem::new(
        "the engine stopped during the run",
        "engine",
        "run it again; if the problem persists, please report it",
    )
}

#[cfg(test)]
#[path = "drive_tests.rs"]
mod tests;
