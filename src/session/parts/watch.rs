//! State of a grid, for users who follow its folder while other machines compute.

use std::collections::HashMap;
use std::time::{Duration, Instant, SystemTime};

use serde::{Deserialize, Serialize};

use super::folder::{Folder, State};
use super::log;
use super::status::{SILENT, Status};
use crate::name::utc;
use base::numbers::about;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Running {
    pub cell: String,
    /// The shard that computes the cell.
    pub shard: String,
    pub stage: String,
    /// Completed proportion of the cell, from 0 to 1.
    pub share: f64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pace {
    #[default]
    Running,
    Ended,
    /// The shard has not written for a long time.
    Silent,
}

impl Pace {
    pub fn word(self) -> &'static str {
        match self {
            Pace::Running => "running",
            Pace::Ended => "ended",
            Pace::Silent => "silent",
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// The shard as requested: `2/8`.
    pub shard: String,
    pub pace: Pace,
    pub cells: usize,
    /// Number of finished cells, including those finished before the shard began.
    pub done: usize,
    pub failed: usize,
    /// Expected time in seconds until the shard ends; `None` while unknown.
    pub left: Option<f64>,
}

/// Characters in [`View::map`].
pub mod sign {
    pub const WAITING: char = '.';
    pub const RUNNING: char = '>';
    pub const DONE: char = '#';
    pub const FAILED: char = 'x';
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct View {
    pub grid: String,
    pub cells: usize,
    pub done: usize,
    pub running: Vec<Running>,
    /// Failed cells, each with the reason.
    pub failed: Vec<(String, String)>,
    /// Messages about silent shards.
    pub silent: Vec<String>,
    /// Array tasks whose job ended before it reported a shard; their cells are not being computed.
    #[serde(default)]
    pub lost: Vec<usize>,
    /// Messages about shards on machines whose clock differs from the local one.
    #[serde(default)]
    pub clocks: Vec<String>,
    /// Number of cells that no shard has started.
    pub waiting: usize,
    /// Expected time in seconds until the slowest shard ends; `None` while unknown.
    pub left: Option<f64>,
    #[serde(default)]
    pub shards: Vec<Share>,
    /// A [`sign`] for each cell, in order.
    #[serde(default)]
    pub map: String,
}

impl View {
    /// Formatted like `12 of 48 cells done, 2 running, 1 failed, 33 waiting; about 3 min left`.
    pub fn summary(&self) -> String {
        let mut out = format!("{} of {} cells done", self.done, self.cells);
        for (count, word) in [(self.running.len(), "running"), (self.failed.len(), "failed"), (self.waiting, "waiting")]
        {
            if count > 0 {
                out += &format!(", {count} {word}");
            }
        }
        if let Some(left) = self.left {
            out += &format!("; {} left", about(left));
        }
        out
    }

    /// True if every cell is done or failed and none is being recomputed.
    pub fn is_over(&self) -> bool {
        self.done + self.failed.len() == self.cells && self.running.is_empty()
    }
}

#[derive(Debug, Clone, PartialEq)]
enum Settled {
    Done,
    Failed(String),
    Not,
}

/// The state last read from a shard.
#[derive(Debug)]
struct LastState {
    updated: String,
    at: Instant,
    /// True if the shard has written while this program was following it.
    moved: bool,
}

/// Follows a folder. Unchanged parts are not read again.
#[derive(Debug, Default)]
pub struct Watch {
    states: HashMap<usize, (Option<SystemTime>, u64, Settled)>,
    heard: HashMap<String, LastState>,
}

impl Watch {
    pub fn look(&mut self, folder: &Folder) -> View {
        self.look_at(folder, SystemTime::now(), Instant::now())
    }

    fn look_at(&mut self, folder: &Folder, now: SystemTime, clock: Instant) -> View {
        let mut view = View { grid: folder.head.hash.clone(), cells: folder.cells.len(), ..View::default() };
        let mut map = vec![sign::WAITING; folder.cells.len()];
        let mut failed = Vec::new();
        for (index, sign) in map.iter_mut().enumerate() {
            match self.state(folder, index) {
                Settled::Done => *sign = sign::DONE,
                Settled::Failed(why) => {
                    *sign = sign::FAILED;
                    failed.push((index, why));
                }
                Settled::Not => {}
            }
        }
        let statuses = Status::all(folder);
        if !map.iter().all(|s| *s == sign::DONE) {
            lost(folder, &statuses, now, &mut view);
        }
        for status in statuses {
            let index = status.cell.and_then(|c| c.checked_sub(1)).filter(|i| *i < folder.cells.len());
            // A different shard has computed the remaining cells of this one, which will not report again.
            let settled = index.is_some_and(|i| map[i] == sign::DONE);
            let pace = if status.ended || settled { Pace::Ended } else { self.pace(&status, now, clock, &mut view) };
            view.shards.push(share(&status, pace));
            let cell = index.map(|i| &folder.cells[i]);
            match (pace, index.zip(cell)) {
                (Pace::Ended, _) | (Pace::Running, None) => {}
                (Pace::Silent, cell) => {
                    let at = cell.map_or(String::new(), |(_, c)| format!(" in {}", c.name()));
                    let log = status.log.as_deref();
                    let said = log.and_then(|log| Some((log, log::last_line(folder.dir(), log)?)));
                    let said = said.map_or(String::new(), |(log, line)| format!(", last line of {log}: {line}"));
                    view.silent.push(format!(
                        "shard {}{at}: no progress since {}{said}; if its process {} has ended, run the shard again",
                        status.shard, status.updated, status.process
                    ));
                }
                (Pace::Running, Some((i, cell))) => {
                    // A failed cell that is being recomputed counts as running.
                    map[i] = sign::RUNNING;
                    let (cell, Status { shard, stage, share, .. }) = (cell.name(), status);
                    view.running.push(Running { cell, shard, stage, share });
                }
            }
        }
        let count = |sign| map.iter().filter(|s| **s == sign).count();
        (view.done, view.waiting) = (count(sign::DONE), count(sign::WAITING));
        view.left = view.shards.iter().filter(|s| s.pace == Pace::Running).filter_map(|s| s.left).reduce(f64::max);
        let still = failed.into_iter().filter(|(i, _)| map[*i] == sign::FAILED);
        view.failed = still.map(|(i, why)| (folder.cells[i].name(), why)).collect();
        view.map = map.into_iter().collect();
        view
    }

    /// Activity of a shard that has not ended. Times come from the computing machine, whose clock may be wrong. Once the shard has been
    /// seen to write, only the local clock is used.
    fn pace(&mut self, status: &Status, now: SystemTime, clock: Instant, view: &mut View) -> Pace {
        let heard = self.heard.entry(status.shard.clone()).or_insert_with(|| LastState {
            updated: status.updated.clone(),
            at: clock,
            moved: false,
        });
        if heard.updated != status.updated {
            *heard = LastState { updated: status.updated.clone(), at: clock, moved: true };
        }
        let limit = Duration::from_secs(SILENT);
        let quiet = clock.saturating_duration_since(heard.at) >= limit;
        // Times in this format can be compared as text.
        let (old, new) = (status.updated < utc(now - limit), status.updated > utc(now + limit));
        if new || old && heard.moved && !quiet {
            let which = if new { "ahead of" } else { "behind" };
            view.clocks.push(format!(
                "shard {}: its clock is {which} the clock of this machine: it reported at {} when the local time was {}; synchronise both with NTP",
                status.shard,
                status.updated,
                utc(now)
            ));
        }
        if quiet || old && !heard.moved { Pace::Silent } else { Pace::Running }
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

/// Adds array jobs that ended before their first cell, for example because a file is missing on the node or the program does not start
/// there. Only their logs show this.
fn lost(folder: &Folder, statuses: &[Status], now: SystemTime, view: &mut View) {
    for latest in log::latest(folder.dir()) {
        let prefix = format!("{}/", latest.task);
        let began = |s: &Status| {
            s.log.as_ref() == Some(&latest.log) || s.shard.starts_with(&prefix) && s.updated >= latest.written
        };
        if statuses.iter().any(began) {
            continue;
        }
        let Some(line) = log::last_line(folder.dir(), &latest.log) else { continue };
        // After any other last line, the job may still begin its first cell.
        let ended = line.contains("error") || latest.written < utc(now - Duration::from_secs(SILENT));
        if ended {
            view.lost.push(latest.task);
            view.silent
                .push(format!("task {} ended before its first cell; last line of {}: {line}", latest.task, latest.log));
        }
    }
}

fn share(status: &Status, pace: Pace) -> Share {
    let Status { shard, cells, done, failed, left, .. } = status.clone();
    Share { shard, pace, cells, done, failed, left }
}

#[cfg(test)]
mod tests {
    use super::super::status::{Reporter, Status};
    use super::*;
    use labs::grid;

    const GRID: &str = "lab = \"power\"\nmodels = [\"bert-tiny\"]\n[grid]\nseed = [0, 1, 2]\n";

    fn folder(tmp: &tempfile::TempDir) -> Folder {
        Folder::join(&tmp.path().join("out"), &grid::parse(GRID, "g.toml").unwrap(), &[1; 3]).unwrap()
    }

    /// Writes the state of a shard at the given time.
    fn says(folder: &Folder, shard: &str, at: SystemTime) {
        let file = shard.replace('/', "-of-");
        let status = Status {
            shard: shard.into(),
            cells: 2,
            cell: Some(2),
            updated: utc(at),
            share: 0.5,
            left: Some(60.0),
            ..Status::default()
        };
        let path = folder.dir().join(format!("shards/{file}.json"));
        std::fs::write(path, serde_json::to_string(&status).unwrap()).unwrap();
    }

    #[test]
    fn grid_without_shards_waits() {
        let tmp = tempfile::tempdir().unwrap();
        let view = Watch::default().look(&folder(&tmp));
        assert_eq!(
            (view.map.as_str(), view.waiting, view.summary().as_str()),
            ("...", 3, "0 of 3 cells done, 3 waiting")
        );
        assert!(!view.is_over() && view.shards.is_empty());
    }

    #[test]
    fn only_an_unfinished_shard_can_be_silent() {
        let tmp = tempfile::tempdir().unwrap();
        let folder = folder(&tmp);
        let (now, clock) = (SystemTime::now(), Instant::now());
        says(&folder, "1/2", now - Duration::from_secs(SILENT + 5));
        let mut ended = Reporter::new(&folder, "2/2", 1);
        ended.close();
        let view = Watch::default().look_at(&folder, now, clock);
        let paces: Vec<(&str, Pace)> = view.shards.iter().map(|s| (s.shard.as_str(), s.pace)).collect();
        assert_eq!(paces, [("1/2", Pace::Silent), ("2/2", Pace::Ended)]);
        assert!(view.silent[0].contains("shard 1/2 in cell 2") && view.clocks.is_empty(), "{view:?}");
        assert_eq!((view.map.as_str(), view.left), ("...", None));
    }

    /// Regression: a job that did not find the program on its node used to leave no trace, and the view kept showing that no shard had
    /// started.
    #[test]
    fn failed_job_is_reported_with_its_last_log_line() {
        let tmp = tempfile::tempdir().unwrap();
        let folder = folder(&tmp);
        let logs = folder.dir().join(log::LOGS);
        std::fs::create_dir(&logs).unwrap();
        let write = |log: &str, text: &str| std::fs::write(logs.join(log), text).unwrap();
        let look = |later: u64| {
            let now = SystemTime::now() + Duration::from_secs(later);
            Watch::default().look_at(&folder, now, Instant::now())
        };
        write("31-1.log", "error: rows.jsonl: cannot open it\n");
        write("31-2.log", "loading\n");
        write("31-3.log", "");
        write("8-2.log", "error: of an older job\n");
        write("notes.log", "error\n");
        let view = look(0);
        assert_eq!(view.lost, [1], "{view:?}");
        assert!(
            view.silent[0].contains("task 1 ended before its first cell; last line of 31-1.log: error: rows.jsonl")
        );
        assert_eq!(look(SILENT + 5).lost, [1, 2], "the other job has been silent for too long");
        let mut later = Reporter::new(&folder, "1/2", 1);
        later.status.log = Some("31-1.log".into());
        later.write();
        assert!(look(0).lost.is_empty(), "the job has reported a shard");
    }

    /// Regression: the log of a killed job, which contains the scheduler's message, used to be ignored.
    #[test]
    fn silent_shard_is_reported_with_its_last_log_line() {
        let tmp = tempfile::tempdir().unwrap();
        let folder = folder(&tmp);
        let now = SystemTime::now();
        says(&folder, "1/2", now - Duration::from_secs(SILENT + 5));
        let state = folder.dir().join("shards/1-of-2.json");
        let mut status: Status = serde_json::from_slice(&std::fs::read(&state).unwrap()).unwrap();
        status.log = Some("31-1.log".into());
        std::fs::write(&state, serde_json::to_vec(&status).unwrap()).unwrap();
        let told = || Watch::default().look_at(&folder, now, Instant::now()).silent.remove(0);
        assert!(!told().contains("31-1.log"), "there is no log yet: {}", told());
        std::fs::create_dir(folder.dir().join(log::LOGS)).unwrap();
        std::fs::write(folder.dir().join("logs/31-1.log"), "cell 2\nslurmstepd: error: oom_kill\n").unwrap();
        assert!(told().contains(", last line of 31-1.log: slurmstepd: error: oom_kill; if"), "{}", told());
    }

    /// Regression: a running shard used to count as silent if its machine's clock was two minutes slow. A dead shard used to count as
    /// running for as long as its clock was fast.
    #[test]
    fn clock_skew_is_reported_but_does_not_mark_the_shard() {
        let tmp = tempfile::tempdir().unwrap();
        let folder = folder(&tmp);
        let hour = Duration::from_secs(3600);
        let (now, clock) = (SystemTime::now(), Instant::now());
        let later = |s| (now + Duration::from_secs(s), clock + Duration::from_secs(s));
        let mut watch = Watch::default();
        says(&folder, "1/1", now - hour);
        assert_eq!(
            watch.look_at(&folder, now, clock).shards[0].pace,
            Pace::Silent,
            "so far, only the time in the file is known"
        );
        says(&folder, "1/1", now - hour + Duration::from_secs(5));
        let (at, tick) = later(5);
        let view = watch.look_at(&folder, at, tick);
        assert_eq!((view.shards[0].pace, view.map.as_str(), view.left), (Pace::Running, ".>.", Some(60.0)));
        assert!(view.clocks[0].contains("shard 1/1") && view.clocks[0].contains("behind"), "{:?}", view.clocks);
        let (at, tick) = later(5 + SILENT);
        assert_eq!(watch.look_at(&folder, at, tick).shards[0].pace, Pace::Silent);

        says(&folder, "1/1", now + hour);
        let mut watch = Watch::default();
        let view = watch.look_at(&folder, now, clock);
        assert!(view.shards[0].pace == Pace::Running && view.clocks[0].contains("ahead of"), "{view:?}");
        let (at, tick) = later(SILENT);
        assert_eq!(
            watch.look_at(&folder, at, tick).shards[0].pace,
            Pace::Silent,
            "it has not written since the first look"
        );
    }
}
