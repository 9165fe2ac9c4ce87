//! `probity follow`: progress of a grid that one or several machines compute.

use std::collections::BTreeSet;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use crossterm::cursor::MoveTo;
use crossterm::terminal::{Clear, ClearType};

use super::error::CliError;
use super::{output, ranges};
use base::text::{fit, printable_label};
use session::parts::folder::Folder;
use session::parts::watch::{View, Watch};

#[cfg(unix)]
mod far;
mod found;
pub mod screen;

use found::Found;

/// Show the progress of a grid: cells done, running and failed, and the time left.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  probity follow grid
  probity follow grid --once --json
  probity follow --remote ssh://login /scratch/ada/grid
  probity --follow grid

The last example opens the screen, where a key resubmits failed cells. This command ends when every cell has been
computed. Ctrl-C ends it at any time, without affecting the grid.")]
pub struct FollowArgs {
    /// The folder that `probity run --out DIR` writes.
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Show the progress once and exit.
    #[arg(long)]
    pub once: bool,
    /// Keep following after every cell has been computed or has failed, because failed cells may be resubmitted.
    #[arg(long, conflicts_with = "once")]
    pub keep: bool,
    /// Print JSON, one line per change and every half minute.
    #[arg(long)]
    pub json: bool,
    /// Follow the grid on another machine, through ssh: ssh://user@host:port. DIR is a path on that machine.
    #[cfg(unix)]
    #[arg(long, value_name = "ADDRESS")]
    pub remote: Option<remote::Address>,
    /// Also print the results of finished cells, except those of the cells with these numbers (used by a remote screen).
    #[arg(long, hide = true, requires = "json", value_name = "CELLS", value_parser = ranges::read)]
    pub found: Option<BTreeSet<usize>>,
}

/// Interval at which the folder is read.
const EVERY: Duration = Duration::from_secs(2);
/// Interval at which an unchanged state is printed again, because only a failed write reveals that the reader has exited.
const AGAIN: Duration = Duration::from_secs(30);
/// Maximum number of lines each for running cells, failed cells, and shards in one state.
const SHOWN: usize = 12;
/// Line width for a terminal of unknown width.
const WIDE: usize = 100;

/// Fails with [`CliError::Usage`] for a folder that does not belong to a grid, and with [`CliError::Reported`] if all cells have ended and
/// some have failed.
pub fn follow(args: &FollowArgs, out: &mut dyn Write) -> Result<(), CliError> {
    #[cfg(unix)]
    if let Some(address) = &args.remote {
        return far::follow(args, address, out);
    }
    let folder = Folder::open(&args.dir)?;
    let mut known = Watch::default();
    let mut shown = Shown::new(args);
    let mut found = args.found.as_ref().map(|without| Found::new(&folder, without));
    loop {
        let view = known.look(&folder);
        let over = shown.take(args, &view, out);
        let more = match &mut found {
            Some(found) => found.tell(&view, |told| told.print(out))?,
            None => false,
        };
        // Print cell results before the final line.
        if !more {
            if over? {
                return Ok(());
            }
            std::thread::sleep(EVERY);
        }
    }
}

struct Shown {
    /// True if the output is redrawn in place.
    screen: bool,
    /// Lines printed last: all if the output is redrawn in place or read by a program, otherwise only the first.
    last: Vec<String>,
    told: Instant,
}

impl Shown {
    fn new(args: &FollowArgs) -> Self {
        let screen = std::io::stdout().is_terminal() && !args.once && !args.json;
        Self { screen, last: Vec::new(), told: Instant::now() }
    }

    /// Shows changes; returns true once there is nothing left to follow.
    fn take(&mut self, args: &FollowArgs, view: &View, out: &mut dyn Write) -> Result<bool, CliError> {
        let lines = lines(view);
        let shown = if self.screen || args.once || args.json { lines } else { lines.into_iter().take(1).collect() };
        if self.last != shown || args.json && self.told.elapsed() >= AGAIN {
            self.told = Instant::now();
            show(args, self.screen, view, &shown, out)?;
        }
        self.last = shown;
        let over = view.is_over() && !args.keep;
        if over && !args.once && !view.failed.is_empty() {
            return Err(CliError::Reported);
        }
        Ok(over || args.once)
    }
}

fn show(args: &FollowArgs, screen: bool, view: &View, lines: &[String], out: &mut dyn Write) -> Result<(), CliError> {
    if args.json {
        return output::json(out, view);
    }
    if screen {
        // If the terminal cannot be cleared, the new state is shown below the old one.
        let _ = write!(out, "{}{}", Clear(ClearType::All), MoveTo(0, 0));
    }
    let columns = crossterm::terminal::size().map_or(WIDE, |(columns, _)| usize::from(columns)).max(20);
    lines.iter().try_for_each(|line| {
        let line = printable_label(line);
        let line = if screen { fit(&line, columns).into_owned() } else { line };
        output::line(out, &line)
    })
}

fn lines(view: &View) -> Vec<String> {
    let mut out = vec![format!("grid {}: {}", view.grid, view.summary())];
    let more = |out: &mut Vec<String>, count: usize| {
        if count > SHOWN {
            out.push(format!("          and {} more", count - SHOWN));
        }
    };
    for r in view.running.iter().take(SHOWN) {
        let percent = (100.0 * r.share).floor();
        out.push(format!("running   {percent:>3} %  {}  shard {}  {}", r.cell, r.shard, r.stage));
    }
    more(&mut out, view.running.len());
    for (cell, why) in view.failed.iter().take(SHOWN) {
        out.push(format!("failed    {cell}: {why}"));
    }
    more(&mut out, view.failed.len());
    for (word, said) in [("silent", &view.silent), ("clock ", &view.clocks)] {
        out.extend(said.iter().take(SHOWN).map(|shard| format!("{word}    {shard}")));
        more(&mut out, said.len());
    }
    if !view.failed.is_empty() || !view.lost.is_empty() {
        out.push("          `probity submit --again --out DIR` resubmits failed cells".into());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: while the grid did not change, the process on the login node used to keep running after its screen had closed.
    #[test]
    fn unchanged_state_is_repeated_for_programs() {
        let args = FollowArgs {
            dir: "grid".into(),
            once: false,
            keep: true,
            json: true,
            #[cfg(unix)]
            remote: None,
            found: None,
        };
        let view = View { cells: 1, done: 1, map: "#".into(), ..View::default() };
        let (mut shown, mut out) = (Shown::new(&args), Vec::new());
        assert!(!shown.take(&args, &view, &mut out).unwrap() && !shown.take(&args, &view, &mut out).unwrap());
        assert_eq!(out.iter().filter(|b| **b == b'\n').count(), 1, "an unchanged state is printed once");
        shown.told = Instant::now().checked_sub(AGAIN).unwrap();
        assert!(!shown.take(&args, &view, &mut out).unwrap());
        assert_eq!(out.iter().filter(|b| **b == b'\n').count(), 2);
    }
}
