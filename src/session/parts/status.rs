//! Progress file of a shard, for users who follow the grid from a different machine.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use serde::{Deserialize, Serialize};

use super::folder::{Folder, SHARDS};
use super::{PartError, log};
use crate::name;
use base::files::write_whole;
use engine::message::Progress;

/// Minimum time between writes within a cell.
const EVERY: Duration = Duration::from_secs(5);
/// Time in seconds without a write after which a shard counts as silent: it was killed, or is in a step that reports nothing.
pub(crate) const SILENT: u64 = 120;
/// Maximum size of a progress file in bytes.
const MAX: u64 = 64 << 10;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// The shard as requested, such as `2/8`; `.1/2` is appended for one of several jobs of a shard.
    pub shard: String,
    /// Id of the computing process.
    pub process: u32,
    /// Time at which the file was written, RFC 3339 in UTC.
    pub(crate) updated: String,
    pub cells: usize,
    pub done: usize,
    pub failed: usize,
    /// Number of the current cell, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<usize>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stage: String,
    /// Completed proportion of the cell, from 0 to 1.
    pub share: f64,
    /// Expected time in seconds until the shard ends; `None` while unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<f64>,
    /// The job's log file; `None` without a scheduler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    pub ended: bool,
}

impl Status {
    /// The states of all shards in the folder, sorted by name. Unreadable files are ignored.
    pub fn all(folder: &Folder) -> Vec<Self> {
        let Ok(listing) = std::fs::read_dir(folder.dir().join(SHARDS)) else { return Vec::new() };
        let mut files: Vec<PathBuf> = listing.flatten().map(|entry| entry.path()).collect();
        files.retain(|f| f.extension().is_some_and(|e| e == "json"));
        files.sort();
        files.iter().filter_map(|file| read(file)).collect()
    }
}

fn read(file: &Path) -> Option<Status> {
    serde_json::from_slice(&base::read::bytes(file, MAX).ok()?).ok()
}

#[derive(Debug, Clone)]
pub struct Reporter {
    path: PathBuf,
    pub status: Status,
    begun: Instant,
    written: Option<Instant>,
    /// Counted work: done by this process, in the current cell, and in the cells after it.
    work: (f64, f64, f64),
}

impl Reporter {
    pub fn new(folder: &Folder, shard: &str, cells: usize) -> Self {
        let file = shard.replace('/', "-of-");
        let (shard, process, log) = (shard.to_owned(), std::process::id(), log::of_this_job());
        let status = Status { shard, process, cells, log, ..Status::default() };
        let path = folder.dir().join(SHARDS).join(format!("{file}.json"));
        Self { path, status, begun: Instant::now(), written: None, work: (0.0, 0.0, 0.0) }
    }

    /// Begins a cell; `rest` is the counted work of the cells after it.
    pub fn begin(&mut self, cell: usize, work: u64, rest: u64) {
        self.status.cell = Some(cell);
        self.status.stage.clear();
        self.status.share = 0.0;
        (self.work.1, self.work.2) = (work as f64, rest as f64);
        self.write();
    }

    pub fn progress(&mut self, progress: &Progress) {
        self.status.stage.clone_from(&progress.stage);
        self.status.share = progress.overall;
        if self.written.is_none_or(|t| t.elapsed() >= EVERY) {
            self.write();
        }
    }

    pub fn end(&mut self, done: bool) {
        if done {
            self.status.done += 1;
        } else {
            self.status.failed += 1;
        }
        self.work.0 += self.work.1;
        self.work.1 = 0.0;
        self.status.cell = None;
        self.write();
    }

    pub fn close(&mut self) {
        self.status.ended = true;
        self.status.cell = None;
        self.status.left = None;
        self.write();
    }

    /// Writes the state now. If that fails, the work continues, because the state only serves users who follow the grid.
    pub fn write(&mut self) {
        self.written = Some(Instant::now());
        self.status.updated = name::utc(SystemTime::now());
        let (before, now, after) = self.work;
        let done = before + now * self.status.share;
        let left = self.begun.elapsed().as_secs_f64() * (now * (1.0 - self.status.share) + after) / done;
        // An estimate is made only once more than a hundredth of the work is done.
        let known = done > 0.01 * (before + now + after);
        self.status.left = (known && left.is_finite() && !self.status.ended).then(|| left.round());
        if let Ok(text) = serde_json::to_vec(&self.status) {
            let _ = write_whole(&self.path, &text);
        }
    }

    /// Checks that the state can be written.
    ///
    /// # Errors
    /// [`PartError::Write`] if it cannot be written.
    pub fn check(&mut self) -> Result<(), PartError> {
        self.write();
        match self.path.is_file() {
            true => Ok(()),
            false => {
                let source = std::io::Error::other("the folder is not writable");
                Err(PartError::Write { path: self.path.clone(), source })
            }
        }
    }
}
