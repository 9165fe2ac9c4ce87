//! `probity sessions` and `probity diff`: lists, shows, renames, deletes and compares recorded sessions.

use std::io::Write;

use clap::{Args, Subcommand};

use super::error::CliError;
use super::{output, replay};
use base::numbers::seconds;
use base::text::printable_label;
use engine::beside;
use engine::board::Run;
use engine::message::Outcome;
use labs::compared::IN_BOTH;
use session::format::Item;
use session::name;
use session::shelf::{self, Recorded};

const MOST: usize = 200;

#[derive(Debug, Subcommand)]
pub enum SessionsCommand {
    /// List the recorded sessions, newest first.
    #[command(after_help = "Example:\n  probity sessions list")]
    List,
    /// Describe a session: its runs, the settings changed for each of them, and their answers.
    #[command(after_help = "Example:\n  probity sessions show agreement-2")]
    Show {
        /// Name or file of the session.
        session: String,
    },
    /// Rename a session; an existing session is never overwritten.
    #[command(after_help = "Example:\n  probity sessions rename agreement-2 first-look")]
    Rename {
        /// Name or file of the session.
        session: String,
        /// New name of the session.
        name: String,
    },
    /// Delete a session; without --yes it only prints what would be deleted.
    #[command(after_help = "Example:\n  probity sessions delete agreement-2 --yes")]
    Delete {
        /// Name or file of the session.
        session: String,
        /// Delete without asking.
        #[arg(long)]
        yes: bool,
    },
}

/// Compare two runs: settings that differ, and all numbers of both with their differences, intervals and p-values.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  probity diff agreement-2 agreement-3
  probity diff agreement-2:1 agreement-2:3")]
pub struct DiffArgs {
    /// A session by name or file; append `:N` for its run N [default: the latest run].
    pub first: String,
    /// The session to compare it with, in the same form.
    pub second: String,
}

/// Fails with [`CliError::Usage`] if there is no such session or the new name is taken.
pub fn sessions(command: &SessionsCommand, out: &mut dyn Write) -> Result<(), CliError> {
    match command {
        SessionsCommand::List => list(out),
        SessionsCommand::Show { session } => show(session, out),
        SessionsCommand::Rename { session, name } => {
            let path = name::find(&name::folder()?, session)?;
            output::line(out, &format!("renamed to {}", output::full(&shelf::rename(&path, name)?)))
        }
        SessionsCommand::Delete { session, yes } => {
            let path = name::find(&name::folder()?, session)?;
            let shown = output::full(&path);
            if !yes {
                return Err(CliError::Usage(format!("{shown} would be deleted; add --yes to delete it")));
            }
            shelf::delete(&path)?;
            output::line(out, &format!("deleted {shown}"))
        }
    }
}

fn list(out: &mut dyn Write) -> Result<(), CliError> {
    let all = shelf::recent(&name::folder()?, MOST)?;
    if all.is_empty() {
        return output::line(out, "no session has been recorded yet");
    }
    for session in all {
        output::line(out, &printable_label(&in_a_line(&session)))?;
    }
    Ok(())
}

fn in_a_line(session: &Recorded) -> String {
    let created = session.created.get(..16).unwrap_or(&session.created).replace('T', " ");
    let runs = if session.runs == 1 { "1 run".to_owned() } else { format!("{} runs", session.runs) };
    format!("{:<40} {created:<17} {:<14} {runs:<8} {}", session.name, session.lab, session.end.word())
}

fn show(session: &str, out: &mut dyn Write) -> Result<(), CliError> {
    let recorded = replay::open(session)?;
    let board = recorded.board();
    for (at, run) in board.runs.iter().enumerate() {
        let lab = run.job.spec.lab();
        let before = board.runs[..at].iter().rev().find(|earlier| earlier.job.spec.lab() == lab);
        let changed = before.map_or_else(Vec::new, |before| labs::changes(&before.job.spec, &run.job.spec));
        let end = match &run.job.outcome {
            None => "unfinished".to_owned(),
            Some(Outcome::Done) => format!("done in {}", run.job.seconds.map_or("–".into(), seconds)),
            Some(Outcome::Cancelled) => "cancelled".into(),
            Some(Outcome::Failed(problem)) => format!("failed: {}", printable_label(&problem.to_string())),
        };
        output::line(out, &format!("run {}: {lab}, {end}", at + 1))?;
        output::line(out, &format!("  {}", printable_label(&labs::by_id(lab).asks(&run.job.spec))))?;
        for change in changed {
            output::line(out, &format!("  changed: {change}"))?;
        }
        if run.gone {
            output::line(out, &format!("  {}", replay::gone(at + 1)))?;
            continue;
        }
        for sentence in labs::by_id(lab).answer(&run.results, &run.job.spec).lines() {
            output::line(out, &format!("  {sentence}"))?;
        }
    }
    for entry in recorded.entries() {
        if let Item::Note(note) = &entry.item {
            output::line(out, &format!("note at {}: {}", seconds(entry.t), printable_label(note)))?;
        }
    }
    Ok(())
}

/// Returns the run that an argument names.
fn run_of(argument: &str) -> Result<(usize, Run), CliError> {
    let numbered = argument.rsplit_once(':').and_then(|(session, n)| Some((session, n.parse::<usize>().ok()?)));
    let (session, n) = numbered.map_or((argument, None), |(session, n)| (session, Some(n)));
    let opened = replay::open(session)?;
    let mut board = opened.board();
    let n = n.unwrap_or(board.runs.len());
    replay::pick(&opened, &mut board, n)?;
    let run =
        board.runs.pop().ok_or_else(|| CliError::Usage(format!("{} contains no runs", printable_label(session))))?;
    Ok((n, run))
}

/// Prints two runs side by side.
///
/// # Errors
/// [`CliError::Usage`] if a session or run does not exist, or the labs differ.
pub fn diff(args: &DiffArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let ((n, first), (m, second)) = (run_of(&args.first)?, run_of(&args.second)?);
    let (a, b) = (first.job.spec.lab(), second.job.spec.lab());
    if a != b {
        return Err(CliError::Usage(format!("a run of the {a} lab cannot be compared with one of the {b} lab")));
    }
    let room = output::room();
    let mut lines = beside::lines((n, &first), (m, &second), room);
    let (a, b) = ((n, &first.results, &first.job.spec), (m, &second.results, &second.job.spec));
    for figures in labs::figures_of_both(a, b, None) {
        let title = format!("Figure {}: {}", figures.0.name, figures.0.title);
        let differs = labs::values_of_both(a, b, &figures, room);
        // Values that are the same in both runs need no table.
        match differs.iter().any(|line| line.starts_with(IN_BOTH)) {
            true => lines.extend([String::new(), title].into_iter().chain(differs)),
            false if differs.is_empty() => lines.extend([String::new(), format!("{title}: no values in common")]),
            false => lines.extend([String::new(), format!("{title}: the same values in both runs")]),
        }
    }
    lines.iter().try_for_each(|line| output::line(out, &printable_label(line)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use session::shelf::End;

    /// Regression: the list used to omit a session's number of runs.
    #[test]
    fn session_list_shows_number_of_runs() {
        let of = |runs| {
            let (name, created) = ("a".into(), "2026-01-02T03:04:05Z".into());
            let (lab, about, end) = ("power".into(), String::new(), End::Done);
            in_a_line(&Recorded { name, path: "a".into(), created, lab, about, runs, end })
        };
        assert!(of(1).ends_with("power          1 run    done"), "{}", of(1));
        assert!(of(12).contains(" 12 runs "), "{}", of(12));
    }
}
