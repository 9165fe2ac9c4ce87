//! `probity follow`: how far a grid has got, whoever computes it.

use std::collections::HashMap;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use clap::Args;
use crossterm::cursor::MoveTo;
use crossterm::terminal::{Clear, ClearType};
use serde::{Deserialize, Serialize};

use super::error::CliError;
use super::output;
use crate::base::numbers::seconds;
use crate::base::text::{fit, printable_label};
use crate::session::name::utc;
use crate::session::parts::folder::{Folder, State};
use crate::session::parts::status::{SILENT, Status};

#[cfg(unix)]
mod far;

/// Show how far the shards of a grid have got: cells done, running and failed, and the time that is left.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  probity follow grid
  probity follow grid --once --json
  probity follow --remote ssh://login /scratch/ada/grid

Ends by itself when every cell has been computed; Ctrl-C ends it at any time, and nothing else with it.")]
pub struct FollowArgs {
    /// The folder that `probity run --out DIR` writes.
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Say it once and end.
    #[arg(long)]
    pub once: bool,
    /// Print it as JSON, one line each time that something has changed.
    #[arg(long)]
    pub json: bool,
    /// Follow it on another machine, through ssh: ssh://user@host:port. DIR is named as that machine sees it.
    #[cfg(unix)]
    #[arg(long, value_name = "ADDRESS")]
    pub remote: Option<crate::remote::Address>,
}

/// How often the folder is looked at.
const EVERY: Duration = Duration::from_secs(2);
/// Lines of a kind that are shown.
const SHOWN: usize = 12;
/// Widest line on a terminal that does not say how wide it is.
const WIDE: usize = 100;

/// A cell that is being computed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Running {
    cell: String,
    shard: String,
    stage: String,
    share: f64,
}

/// How far it has got.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct View {
    grid: String,
    cells: usize,
    done: usize,
    running: Vec<Running>,
    /// With the reason.
    failed: Vec<(String, String)>,
    /// Shards that have not been heard of for long.
    silent: Vec<String>,
    waiting: usize,
    left: Option<f64>,
}

/// Follows the folder.
///
/// # Errors
/// [`CliError::Usage`] for a folder that is none of a grid; [`CliError::Told`] where all has ended and cells have failed.
pub fn follow(args: &FollowArgs, out: &mut dyn Write) -> Result<(), CliError> {
    #[cfg(unix)]
    if let Some(address) = &args.remote {
        return far::follow(args, address, out);
    }
    let folder = Folder::open(&args.dir)?;
    let mut known = Known::default();
    let mut shown = Shown::new(args);
    loop {
        if shown.take(args, &known.look(&folder), out)? {
            return Ok(());
        }
        std::thread::sleep(EVERY);
    }
}

/// What has been shown.
struct Shown {
    /// Whether it is shown in place.
    screen: bool,
    /// All of it where it is shown in place, else its first line.
    last: Vec<String>,
}

impl Shown {
    fn new(args: &FollowArgs) -> Self {
        Self { screen: std::io::stdout().is_terminal() && !args.once && !args.json, last: Vec::new() }
    }

    /// Shows what has changed; true if there is nothing more to follow.
    fn take(&mut self, args: &FollowArgs, view: &View, out: &mut dyn Write) -> Result<bool, CliError> {
        let lines = lines(view);
        let shown = if self.screen || args.once { lines } else { lines.into_iter().take(1).collect() };
        if self.last != shown {
            show(args, self.screen, view, &shown, out)?;
        }
        self.last = shown;
        let over = view.done + view.failed.len() == view.cells && view.running.is_empty();
        if over && !args.once && !view.failed.is_empty() {
            return Err(CliError::Told);
        }
        Ok(over || args.once)
    }
}

fn show(
    args: &FollowArgs,
    screen: bool,
    view: &View,
    lines: &[String],
    out: &mut dyn Write,
) -> Result<(), CliError> {
    if args.json {
        return output::json(out, view);
    }
    if screen {
        // What the terminal cannot clear it shows below.
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
    let mut first = format!("grid {}: {} of {} cells done", view.grid, view.done, view.cells);
    for (count, word) in
        [(view.running.len(), "running"), (view.failed.len(), "failed"), (view.waiting, "waiting")]
    {
        if count > 0 {
            first += &format!(", {count} {word}");
        }
    }
    if let Some(left) = view.left {
        first += &format!("; about {} left", seconds(left));
    }
    let mut out = vec![first];
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
    if !view.failed.is_empty() {
        out.push("          failed cells are computed again when the spec is run or submitted again".into());
    }
    for shard in view.silent.iter().take(SHOWN) {
        out.push(format!("silent    {shard}"));
    }
    more(&mut out, view.silent.len());
    out
}

/// What is known of the parts that were looked at; one that has not changed is not read again.
#[derive(Default)]
struct Known {
    states: HashMap<usize, (Option<SystemTime>, u64, Settled)>,
}

/// A cell that came to an end.
#[derive(Debug, Clone, PartialEq)]
enum Settled {
    Done,
    Failed(String),
    Not,
}

impl Known {
    fn look(&mut self, folder: &Folder) -> View {
        let mut view = View { grid: folder.head.hash.clone(), cells: folder.cells.len(), ..View::default() };
        for index in 0..folder.cells.len() {
            match self.state(folder, index) {
                Settled::Done => view.done += 1,
                Settled::Failed(why) => view.failed.push((folder.cells[index].name(), why)),
                Settled::Not => {}
            }
        }
        let fresh = utc(SystemTime::now() - Duration::from_secs(SILENT));
        for status in Status::all(folder).into_iter().filter(|s| !s.ended) {
            let index = status.cell.and_then(|c| c.checked_sub(1)).filter(|i| *i < folder.cells.len());
            let cell = index.map(|i| &folder.cells[i]);
            // Another shard has computed what this one left: it will not be heard of again, and need not be.
            if index.is_some_and(|i| self.state(folder, i) == Settled::Done) {
                continue;
            }
            // Times of this form compare as texts.
            if status.updated < fresh {
                let at = cell.map_or(String::new(), |c| format!(" in {}", c.name()));
                view.silent.push(format!(
                    "shard {}{at}: nothing since {}; if its process {} is gone, compute the shard again",
                    status.shard, status.updated, status.process
                ));
                continue;
            }
            let longer = |left: f64| view.left.map_or(left, |l| l.max(left));
            if let Some(left) = status.left {
                view.left = Some(longer(left));
            }
            if let Some(cell) = cell {
                let cell = cell.name();
                view.running.push(Running {
                    cell,
                    shard: status.shard,
                    stage: status.stage,
                    share: status.share,
                });
            }
        }
        // A failed cell that is being computed again is running.
        view.failed.retain(|(name, _)| !view.running.iter().any(|r| r.cell == *name));
        view.waiting = view.cells.saturating_sub(view.done + view.failed.len() + view.running.len());
        view
    }

    fn state(&mut self, folder: &Folder, index: usize) -> Settled {
        let Ok(about) = std::fs::metadata(folder.part(index)) else { return Settled::Not };
        let (changed, length) = (about.modified().ok(), about.len());
        if let Some((at, long, state)) = self.states.get(&index)
            && (*at, *long) == (changed, length)
        {
            return state.clone();
        }
        let state = match folder.state(index) {
            State::Done => Settled::Done,
            State::Failed(why) => Settled::Failed(why),
            State::Broken(error) => Settled::Failed(error.to_string()),
            State::Absent | State::Stopped => Settled::Not,
        };
        self.states.insert(index, (changed, length, state.clone()));
        state
    }
}
