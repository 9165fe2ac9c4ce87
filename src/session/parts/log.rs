//! Reads the last line in the log of a job that has stopped reporting. The scheduler writes this line (`out of memory`, `cancelled`) if the
//! job can no longer write.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use crate::name::utc;
use base::text::shortened;

/// Name of the grid's subfolder for the output of array jobs.
pub const LOGS: &str = "logs";
/// Number of bytes read from the end of a log.
const TAIL: u64 = 4 << 10;
/// Maximum number of characters shown of a line.
const SHOWN: usize = 200;

/// Name of the file in [`LOGS`] to which this process prints, as in the script of `probity submit` (`%A-%a.log`); `None` outside a Slurm
/// array.
pub(crate) fn of_this_job() -> Option<String> {
    name(std::env::var("SLURM_ARRAY_JOB_ID").ok().as_deref(), std::env::var("SLURM_ARRAY_TASK_ID").ok().as_deref())
}

fn name(job: Option<&str>, task: Option<&str>) -> Option<String> {
    let number = |text: &str| !text.is_empty() && text.len() <= 20 && text.bytes().all(|b| b.is_ascii_digit());
    let (job, task) = (job.filter(|t| number(t))?, task.filter(|t| number(t))?);
    Some(format!("{job}-{task}.log"))
}

/// The last non-empty line of a log, made printable. `None` if the file does not exist, is empty, or has a name that [`of_this_job`] does
/// not produce, because others may write to the folder.
pub(crate) fn last_line(dir: &Path, log: &str) -> Option<String> {
    let (job, task) = log.strip_suffix(".log")?.split_once('-')?;
    let path = dir.join(LOGS).join(name(Some(job), Some(task))?);
    // Opening a pipe or a device with this name could block.
    let about = std::fs::symlink_metadata(&path).ok().filter(Metadata::is_file)?;
    let mut file = base::read::open(&path).ok()?;
    file.seek(SeekFrom::Start(about.len().saturating_sub(TAIL))).ok()?;
    let mut bytes = Vec::new();
    file.take(TAIL).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let line = text.rsplit(['\n', '\r']).map(str::trim).find(|line| !line.is_empty())?;
    Some(shortened(line, SHOWN))
}

/// Log of the newest job of an array task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Latest {
    pub task: usize,
    pub log: String,
    /// Time of the last write, formatted as in progress files: RFC 3339 in UTC.
    pub written: String,
}

/// The newest log of every task that has a log, in task order.
pub fn latest(dir: &Path) -> Vec<Latest> {
    let mut newest: BTreeMap<usize, (u64, String)> = BTreeMap::new();
    for entry in std::fs::read_dir(dir.join(LOGS)).into_iter().flatten().flatten() {
        let log = entry.file_name().to_string_lossy().into_owned();
        let numbers = log.strip_suffix(".log").and_then(|stem| stem.split_once('-'));
        let Some((Ok(job), Ok(task))) = numbers.map(|(job, task)| (job.parse::<u64>(), task.parse())) else {
            continue;
        };
        let there = newest.entry(task).or_insert_with(|| (job, log.clone()));
        if job > there.0 {
            *there = (job, log);
        }
    }
    let latest = newest.into_iter().filter_map(|(task, (_, log))| {
        let about = std::fs::symlink_metadata(dir.join(LOGS).join(&log)).ok().filter(Metadata::is_file)?;
        Some(Latest { task, written: utc(about.modified().ok()?), log })
    });
    latest.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_words_are_the_last_informative_log_line() {
        let tmp = tempfile::tempdir().unwrap();
        std::fs::create_dir(tmp.path().join(LOGS)).unwrap();
        let write = |text: &str| std::fs::write(tmp.path().join("logs/12-3.log"), text).unwrap();
        let last = || last_line(tmp.path(), "12-3.log");
        assert_eq!(last(), None, "no such file");
        write(" \n\n");
        assert_eq!(last(), None, "the log is empty");
        write(&format!(
            "{}\nslurmstepd: error: Detected 1 oom_kill event\u{1b}[2J in StepId=12\n\n",
            "x".repeat(9_000)
        ));
        let said = last().unwrap();
        assert!(said.starts_with("slurmstepd: error: Detected 1 oom_kill event"), "{said}");
        assert!(!said.contains('\u{1b}'), "{said:?}");
        write(&"y".repeat(9_000));
        assert_eq!(last().unwrap().chars().count(), SHOWN + 1, "a line without an end is shortened");
    }

    /// The name of the log comes from a progress file, which others may be able to write.
    #[test]
    fn only_log_files_are_read() {
        let tmp = tempfile::tempdir().unwrap();
        std::fs::create_dir(tmp.path().join(LOGS)).unwrap();
        std::fs::write(tmp.path().join("secret-1.log"), "secret").unwrap();
        std::fs::write(tmp.path().join("1-1.log"), "secret").unwrap();
        for log in ["../1-1.log", "../secret-1.log", "1-1", "/etc/hostname", "-1.log", "1-.log", ""] {
            assert_eq!(last_line(tmp.path(), log), None, "{log}");
        }
        assert_eq!(name(Some("7"), Some("2")).as_deref(), Some("7-2.log"));
        assert_eq!(name(Some("7"), None), None);
        assert_eq!(name(Some("../7"), Some("2")), None);
    }
}
