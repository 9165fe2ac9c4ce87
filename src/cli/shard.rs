//! `probity run` on the cells of a grid: computes a shard and writes each cell to a separate file.

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use tokio::sync::mpsc::Receiver;

use super::drive::{End, Sinks, drive};
use super::error::CliError;
use super::progress::Meter;
use super::run::{RunArgs, Task, fits, tasks};
use super::{jobs, output, signals};
use base::text::printable_label;
use engine::Engine;
use engine::board::Board;
use engine::local::{LocalEngine, LocalOptions};
use engine::message::{EngineInfo, Event};
use labs::Size;
use labs::grid::Cell;
use labs::grid::share::shares;
use session::parts::folder::{Folder, State};
use session::parts::part::{Head, Writer};
use session::parts::status::Reporter;
use session::parts::{PartError, VERSION};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// Number of the shard, from 1.
    pub index: usize,
    pub count: usize,
}

const MOST: usize = 100_000;

impl Shard {
    pub const WHOLE: Self = Self { index: 1, count: 1 };

    /// Parses a shard such as `3/8`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let number = |part: &str| part.trim().parse::<usize>().ok();
        let parts = text.split_once('/').and_then(|(i, n)| Some((number(i)?, number(n)?)));
        match parts {
            Some((index, count)) if (1..=count).contains(&index) && count <= MOST => Ok(Self { index, count }),
            Some((index, 0)) => {
                Err(format!("{index}/0 is not a shard; of 8 shards, the first is 1/8 and the last 8/8"))
            }
            Some((index, count)) => {
                Err(format!("invalid shard {index}/{count}: shards are numbered from 1, and there are at most {MOST}"))
            }
            None => Err("a shard is I/N, for example 3/8".into()),
        }
    }
}

impl std::fmt::Display for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

/// Computes the tasks of this machine's shard.
///
/// # Errors
/// [`CliError::Usage`] for identical cells and for a folder with other contents; [`CliError::Cancelled`] after a signal;
/// [`CliError::Reported`] if cells failed.
pub fn run(args: &RunArgs, tasks: &[Task], options: LocalOptions, out: &mut dyn Write) -> Result<(), CliError> {
    let Some(dir) = &args.out else { return Err(CliError::Usage("--out DIR is missing".into())) };
    let cells: Vec<Cell> = tasks.iter().map(|t| t.cell.clone()).collect();
    let folder = join(dir, &cells)?;
    let work: Vec<u128> = folder.cells.iter().map(|c| u128::from(c.work)).collect();
    let shard = args.shard.unwrap_or(Shard::WHOLE);
    // Shards depend only on the list of cells, so `submit --again` can assign cells to shards in the same way.
    let mut own = of_share((0..cells.len()).collect(), &work, shard);
    let jobs = usize::try_from(args.jobs.unwrap_or(1)).unwrap_or(1).min(own.len());
    if args.lane.is_none() {
        let limit = options.memory_limit.map(|l| l / jobs.max(1) as u64);
        room(&cells, &own, &folder, &LocalOptions { memory_limit: limit, ..options.clone() })?;
    }
    if jobs > 1 {
        return jobs::run(args, shard, jobs, options.memory_limit);
    }
    let mut name = shard.to_string();
    if let Some(lane) = args.lane {
        jobs::end_with_parent().map_err(|e| CliError::Failed(format!("cannot start: {e}")))?;
        own = of_share(own, &work, lane);
        name = format!("{name}.{lane}");
    }
    let failed = |e: std::io::Error| CliError::Failed(format!("cannot start: {e}"));
    let mut reporter = Reporter::new(&folder, &name, own.len());
    reporter.check()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let mut engine = LocalEngine::start(options).map_err(failed)?;
    let mut share = Share { args, cells: &cells, folder: &folder, reporter, there: 0, info: None };
    let end = runtime.block_on(share.compute(&mut engine, &own));
    share.reporter.close();
    let status = &share.reporter.status;
    let mut said = format!("shard {name}: {} of {} cells done", status.done, own.len());
    if share.there > 0 {
        said += &format!(" ({} existed already)", share.there);
    }
    if status.failed > 0 {
        said += &format!(", {} failed", status.failed);
    }
    output::line(out, &format!("{said}; parts in {}", output::full(dir)))?;
    end?;
    if status.failed > 0 { Err(CliError::Reported) } else { Ok(()) }
}

/// Rejects a memory limit that is too small for the largest of these cells before any is computed. Each cell checks again when it starts,
/// because forecasting all of them here would take too long.
fn room(cells: &[Cell], own: &[usize], folder: &Folder, options: &LocalOptions) -> Result<(), CliError> {
    let to_do = own.iter().filter(|i| !matches!(folder.state(**i), State::Done));
    let largest = to_do.max_by_key(|i| folder.cells[**i].work);
    largest.map_or(Ok(()), |i| fits(&cells[*i], options))
}

/// Prepares the folder of a grid whose cells other processes will compute.
pub fn prepare(specs: &[PathBuf], dir: &Path) -> Result<Folder, CliError> {
    let cells: Vec<Cell> = tasks(specs, &[], None, true)?.into_iter().map(|t| t.cell).collect();
    join(dir, &cells)
}

fn join(dir: &Path, cells: &[Cell]) -> Result<Folder, CliError> {
    distinct(cells)?;
    Ok(Folder::join(dir, cells, &counted(cells)?)?)
}

/// Rejects identical cells, whose parts would have the same name.
fn distinct(cells: &[Cell]) -> Result<(), CliError> {
    let mut seen: HashMap<&str, &Cell> = HashMap::new();
    for cell in cells {
        if let Some(first) = seen.insert(&cell.hash, cell) {
            return Err(CliError::Usage(format!(
                "{} and {} are the same experiment ({}): remove one of them",
                first.origin, cell.origin, cell.hash
            )));
        }
    }
    Ok(())
}

fn counted(cells: &[Cell]) -> Result<Vec<u128>, CliError> {
    let mut sizes: HashMap<String, Size> = HashMap::new();
    let mut work = Vec::new();
    for cell in cells {
        let mut of_cell = Vec::new();
        for model in cell.spec.models() {
            let size = match sizes.get(model) {
                Some(size) => *size,
                None => Size::of(model).map_err(|e| {
                    CliError::Usage(format!(
                        "{}: `models`: {e}; shards are balanced by model size, so every machine needs config.json of each model: \
                         `probity models pull` fetches it",
                        cell.origin
                    ))
                })?,
            };
            sizes.insert(model.clone(), size);
            of_cell.push(size);
        }
        work.push(labs::by_id(cell.spec.lab()).counted(&cell.spec, &of_cell));
    }
    Ok(work)
}

/// Selects the `indices` that a shard computes, in order.
fn of_share(indices: Vec<usize>, work: &[u128], shard: Shard) -> Vec<usize> {
    let of_them: Vec<u128> = indices.iter().map(|i| work[*i]).collect();
    let given = shares(&of_them, shard.count);
    indices.into_iter().zip(given).filter(|(_, share)| share + 1 == shard.index).map(|(i, _)| i).collect()
}

struct Share<'a> {
    args: &'a RunArgs,
    cells: &'a [Cell],
    folder: &'a Folder,
    reporter: Reporter,
    /// Number of cells that were done before this run.
    there: usize,
    /// The engine's description, once it has introduced itself.
    info: Option<EngineInfo>,
}

impl Share<'_> {
    async fn compute(&mut self, engine: &mut dyn Engine, own: &[usize]) -> Result<(), CliError> {
        let mut events = engine.take_events().ok_or_else(|| CliError::Failed("the engine has no events".into()))?;
        let mut interrupts = signals::interrupts();
        for (k, index) in own.iter().copied().enumerate() {
            match self.folder.checked(index) {
                State::Done => {
                    self.there += 1;
                    self.reporter.status.done += 1;
                    continue;
                }
                // A file from a different grid is an error; a damaged one is recomputed.
                State::Broken(error @ (PartError::Version { .. } | PartError::Other { .. })) => {
                    return Err(error.into());
                }
                State::Broken(error) => {
                    let text = printable_label(&error.to_string());
                    output::say(&format!("warning: {}; this cell is being recomputed", text.trim_end_matches('.')));
                }
                State::Absent | State::Failed(_) | State::Stopped => {}
            }
            if interrupts.try_recv().is_ok() {
                return Err(CliError::Cancelled);
            }
            let rest = own[k + 1..].iter().map(|i| self.folder.cells[*i].work).sum();
            self.reporter.begin(index + 1, self.folder.cells[index].work, rest);
            let end = self.cell(engine, (&mut events, &mut interrupts), index).await?;
            match end {
                End::Cancelled => return Err(CliError::Cancelled),
                end => self.reporter.end(end == End::Done),
            }
        }
        Ok(())
    }

    async fn cell(
        &mut self,
        engine: &mut dyn Engine,
        (events, interrupts): (&mut Receiver<Event>, &mut Receiver<()>),
        index: usize,
    ) -> Result<End, CliError> {
        let (cell, listed) = (&self.cells[index], &self.folder.cells[index]);
        let said = printable_label(&listed.name_of(self.cells.len()));
        if !self.args.quiet {
            output::say(&format!("{said}: begins"));
        }
        let head = Head {
            probity_part: 1,
            version: VERSION.into(),
            grid: self.folder.head.hash.clone(),
            cell: listed.cell,
            spec: listed.spec.clone(),
            at: listed.at.clone(),
        };
        let path = self.folder.part(index);
        let writer = Writer::new(path.clone(), &head, Some(&mut self.reporter), self.info.clone())?;
        let mut sinks = Sinks {
            board: Board { engine: self.info.clone(), ..Board::default() },
            recorder: Some(Box::new(writer)),
            json: None,
            file: None,
            meter: Meter::new(self.args.quiet),
            unkept: None,
        };
        let job = listed.cell as u64;
        let end = drive(engine, events, interrupts, (job, &cell.spec), &mut sinks).await?;
        self.info.clone_from(&sinks.board.engine);
        drop(sinks);
        let word = match (end, self.folder.state(index)) {
            (End::Done, State::Done) => "done",
            (End::Failed, State::Failed(_)) => "failed",
            (End::Cancelled, State::Stopped) => "stopped; it starts over when the spec is run again",
            (_, State::Broken(error)) => return Err(error.into()),
            _ => {
                let path = output::full(&path);
                return Err(CliError::Failed(format!(
                    "{path}: the cell's findings could not be written; free some space on this disk"
                )));
            }
        };
        if !self.args.quiet || end == End::Failed {
            output::say(&format!("{said}: {word}"));
        }
        Ok(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_numbered_from_one() {
        assert_eq!(Shard::parse("3/8"), Ok(Shard { index: 3, count: 8 }));
        assert_eq!(Shard::parse("1/1").unwrap(), Shard::WHOLE);
        for (text, word) in [
            ("0/0", "is not a shard"),
            ("0/8", "numbered from 1"),
            ("9/8", "invalid shard 9/8"),
            ("3", "3/8"),
            ("-1/8", "I/N"),
            ("1/99999999999999999999999", "I/N"),
            ("1/200000", "at most 100000"),
        ] {
            let message = Shard::parse(text).unwrap_err();
            assert!(message.contains(word), "{text}: {message}");
        }
    }

    #[test]
    fn jobs_divide_the_cells_of_their_shard() {
        let work: Vec<u128> = (1..=20).collect();
        let own = of_share((0..20).collect(), &work, Shard { index: 2, count: 3 });
        let mut both: Vec<usize> =
            (1..=2).flat_map(|index| of_share(own.clone(), &work, Shard { index, count: 2 })).collect();
        both.sort_unstable();
        assert_eq!(both, own);
    }
}
