//! The list of recorded sessions, newest first, each with a summary.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use labs::Spec;
use serde::Deserialize;
use serde_json::Value;

use super::{SessionError, name};

/// Maximum length of a header in bytes.
const MAX_HEADER: u64 = 1 << 20;
/// Maximum number of bytes of a file that are searched for runs.
const MOST: u64 = 64 << 20;
const HEAD: usize = 96;
/// Number of bytes at the end of a file that are searched for its last outcome.
const TAIL: u64 = 256 << 10;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    pub name: String,
    pub path: PathBuf,
    /// Start of the session, RFC 3339 in UTC; empty if the header does not state it.
    pub created: String,
    /// Id of the lab of the last finished run, otherwise of the last run begun, otherwise of the session's first experiment. Empty if none
    /// is recorded.
    pub lab: String,
    /// Subject and models of the run that determines `lab`, for example `agreement on bert-mini`; empty if no run began.
    pub about: String,
    /// Number of runs that began.
    pub runs: usize,
    pub end: End,
}

/// The end of a session, judged by its last lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Done,
    Cancelled,
    Failed,
    /// The last run did not end, or none began.
    Open,
    /// The file is not a readable session.
    Unreadable,
}

impl End {
    pub fn word(self) -> &'static str {
        match self {
            End::Done => "done",
            End::Cancelled => "cancelled",
            End::Failed => "failed",
            End::Open => "unfinished",
            End::Unreadable => "unreadable",
        }
    }
}

/// The newest `most` sessions in a folder, newest first; empty if the folder does not exist.
///
/// # Errors
/// [`SessionError::Read`] if the folder cannot be listed.
pub fn recent(folder: &Path, most: usize) -> Result<Vec<Recorded>, SessionError> {
    let listing = match std::fs::read_dir(folder) {
        Ok(listing) => listing,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(SessionError::Read { path: folder.to_owned(), source }),
    };
    let mut files: Vec<(SystemTime, PathBuf, String)> = Vec::new();
    for path in listing.flatten().map(|entry| entry.path()) {
        let file = path.file_name().map(|f| f.to_string_lossy().into_owned()).unwrap_or_default();
        let Some(name) = file.strip_suffix(name::EXTENSION) else { continue };
        let changed = std::fs::metadata(&path).ok().filter(std::fs::Metadata::is_file);
        if let Some(changed) = changed.and_then(|m| m.modified().ok()) {
            files.push((changed, path, name.to_owned()));
        }
    }
    // Sessions started in the same second are ordered by name, so that the order is stable.
    files.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.2.cmp(&b.2)));
    files.truncate(most);
    Ok(files.into_iter().map(|(_, path, name)| glance(path, name)).collect())
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    Rename(String),
    Delete,
}

impl Change {
    /// Applies the change to a session file.
    pub fn apply(&self, path: &Path) -> Result<(), SessionError> {
        match self {
            Change::Rename(name) => rename(path, name).map(|_| ()),
            Change::Delete => delete(path),
        }
    }
}

/// Renames a session file and returns the new path.
///
/// # Errors
/// [`SessionError::Exists`] if the name is taken, [`SessionError::Write`] if the file cannot be moved; it then keeps its name.
pub fn rename(path: &Path, name: &str) -> Result<PathBuf, SessionError> {
    let target = name::file(path.parent().unwrap_or(Path::new(".")), name);
    // The empty placeholder ensures on any file system that nothing is overwritten.
    OpenOptions::new().write(true).create_new(true).open(&target).map_err(|source| match source.kind() {
        std::io::ErrorKind::AlreadyExists => SessionError::Exists { path: target.clone() },
        _ => SessionError::Write { path: target.clone(), source },
    })?;
    if let Err(source) = std::fs::rename(path, &target) {
        // Errors are ignored: an empty placeholder is not a session, and the first error is the one to report.
        let _ = std::fs::remove_file(&target);
        return Err(SessionError::Write { path: target, source });
    }
    Ok(target)
}

pub fn delete(path: &Path) -> Result<(), SessionError> {
    std::fs::remove_file(path).map_err(|source| SessionError::Write { path: path.to_owned(), source })
}

fn glance(path: PathBuf, name: String) -> Recorded {
    let read = || -> std::io::Result<(Value, Runs, End)> {
        let mut file = base::read::open(&path)?;
        let mut first = String::new();
        let mut lines = BufReader::new(Read::by_ref(&mut file).take(MOST));
        Read::by_ref(&mut lines).take(MAX_HEADER).read_line(&mut first)?;
        let header: Value = serde_json::from_str(&first)?;
        let runs = Runs::of(lines)?;
        Ok((header, runs, last_outcome(&mut file)?))
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match read() {
        Ok((header, runs, end)) if header.get("probity_session").is_some() => {
            let created = text(&header["created"]);
            let finished = runs.finished.map(|spec| (spec.lab().name().to_owned(), about(&spec)));
            let (lab, about) = finished.unwrap_or_else(|| (text(&header["spec"]["lab"]), String::new()));
            Recorded { name, path, created, lab, about, runs: runs.began, end }
        }
        _ => {
            let (created, lab, about) = Default::default();
            Recorded { name, path, created, lab, about, runs: 0, end: End::Unreadable }
        }
    }
}

fn about(spec: &Spec) -> String {
    let models: Vec<&str> = spec.models().iter().map(|model| base::text::last_part(model)).collect();
    let subject = spec.common().subject().replace('_', " ");
    if models.is_empty() { subject } else { format!("{subject} on {}", models.join(", ")) }
}

#[derive(Default)]
struct Runs {
    began: usize,
    /// Settings of the last finished run; if none finished, of the last run begun.
    finished: Option<Spec>,
}

impl Runs {
    fn of(mut lines: impl BufRead) -> std::io::Result<Self> {
        let (mut runs, mut now, mut line) = (Self::default(), None, Vec::new());
        while lines.read_until(b'\n', &mut line)? > 0 {
            // Most lines are findings; only lines that matter here are parsed.
            let head = &line[..line.len().min(HEAD)];
            let began = contains(head, br#""command":"run""#);
            if (began || contains(head, br#""event":"finished""#))
                && let Ok(mut value) = serde_json::from_slice::<Value>(&line)
            {
                if began {
                    runs.began += 1;
                    now = Spec::deserialize(value["spec"].take()).ok();
                } else if value["outcome"] == "done" || value["outcome"]["outcome"] == "done" {
                    runs.finished = now.take().or(runs.finished);
                }
            }
            line.clear();
        }
        runs.finished = runs.finished.or(now);
        Ok(runs)
    }
}

fn contains(line: &[u8], part: &[u8]) -> bool {
    line.windows(part.len()).any(|window| window == part)
}

/// Returns the last outcome recorded in the file.
fn last_outcome(file: &mut File) -> std::io::Result<End> {
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
    let mut bytes = Vec::new();
    Read::by_ref(file).take(TAIL).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    for line in text.lines().rev() {
        // Most lines are findings; only lines that matter here are parsed.
        let began = line.contains("\"command\":\"run\"");
        if !began && !line.contains("\"event\":\"finished\"") {
            continue;
        }
        let Ok(value) = serde_json::from_str::<Value>(line) else { continue };
        if value["command"] == "run" {
            return Ok(End::Open);
        }
        let outcome = &value["outcome"];
        return Ok(match outcome.as_str().or_else(|| outcome["outcome"].as_str()) {
            Some("done") => End::Done,
            Some("cancelled") => End::Cancelled,
            Some("failed") => End::Failed,
            _ => End::Open,
        });
    }
    Ok(End::Open)
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::message::{Event, Outcome};

    const HEADER: &str = r#"{"probity_session":2,"version":"0.1.0","device":"auto","created":"2026-01-02T03:04:05Z","spec":{"lab":"a_newer_lab"}}"#;

    fn finished(outcome: Outcome) -> String {
        let event = Event::Finished { job: 1, generation: 1, outcome, seconds: 1.0 };
        let mut value = serde_json::to_value(event).unwrap();
        value["t"] = 1.0.into();
        value.to_string()
    }

    fn session(lines: &[&str]) -> Recorded {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(format!("a{}", name::EXTENSION)), lines.join("\n")).unwrap();
        recent(folder.path(), 10).unwrap().remove(0)
    }

    #[test]
    fn session_lists_name_date_lab_and_end() {
        let done = finished(Outcome::Done);
        let found = session(&[HEADER, "half a li", &done, r#"{"t":2.0,"command":"shutdown"}"#]);
        assert_eq!((found.name.as_str(), found.created.as_str()), ("a", "2026-01-02T03:04:05Z"));
        assert_eq!((found.lab.as_str(), found.end), ("a_newer_lab", End::Done));
    }

    /// Regression: a session used to be labelled "cancelled" because of its last run, although other runs had finished.
    #[test]
    fn session_is_titled_by_its_last_finished_run() {
        let run = |lab: labs::LabId, generation: u64| {
            let spec = Box::new(Spec::shipped(lab));
            let mut value = serde_json::to_value(engine::message::Command::Run { job: 1, generation, spec }).unwrap();
            value["t"] = 0.0.into();
            value.to_string()
        };
        let (first, second) = (run(labs::LabId::Interventions, 1), run(labs::LabId::Power, 2));
        let (done, cancelled) = (finished(Outcome::Done), finished(Outcome::Cancelled));
        let found = session(&[HEADER, &first, &done, &second, &cancelled]);
        assert_eq!((found.lab.as_str(), found.runs, found.end), ("interventions", 2, End::Cancelled));
        assert_eq!(found.about, "agreement on bert-mini");
        // A session whose only run (Power) was cancelled is labelled by that run's lab, not by the lab in the header.
        let found = session(&[HEADER, &second, &cancelled]);
        assert_eq!((found.lab.as_str(), found.end), ("power", End::Cancelled));
    }

    #[test]
    fn session_end_is_that_of_its_last_run() {
        let (done, cancelled) = (finished(Outcome::Done), finished(Outcome::Cancelled));
        let problem = base::Problem::new("x", "y", "z");
        let failed = finished(Outcome::Failed(problem));
        let run = r#"{"t":0.0,"command":"run","job":1}"#;
        for (lines, end) in [
            (vec![HEADER, run, &done, run], End::Open),
            (vec![HEADER, run, &done, run, &cancelled], End::Cancelled),
            (vec![HEADER, run, &failed], End::Failed),
            (vec![HEADER], End::Open),
            (vec!["no session at all"], End::Unreadable),
            (vec!["{}"], End::Unreadable),
            (vec![""], End::Unreadable),
        ] {
            assert_eq!(session(&lines).end, end, "{lines:?}");
        }
    }

    #[test]
    fn newest_sessions_come_first_and_other_files_are_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str, seconds: u64| {
            let path = folder.path().join(name);
            std::fs::write(&path, HEADER).unwrap();
            let time = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
            File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        };
        at("old.probity.jsonl", 1_000);
        at("new.probity.jsonl", 3_000);
        at("mid.probity.jsonl", 2_000);
        at("notes.txt", 9_000);
        std::fs::create_dir(folder.path().join("folder.probity.jsonl")).unwrap();
        let names = |most| recent(folder.path(), most).unwrap().into_iter().map(|s| s.name).collect::<Vec<_>>();
        assert_eq!(names(10), ["new", "mid", "old"]);
        assert_eq!(names(2), ["new", "mid"]);
        assert!(recent(&folder.path().join("nowhere"), 3).unwrap().is_empty());
    }

    #[test]
    fn renaming_does_not_overwrite_and_deletion_works() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| name::file(folder.path(), name);
        std::fs::write(file("a"), HEADER).unwrap();
        std::fs::write(file("b"), "other").unwrap();
        assert!(matches!(rename(&file("a"), "b"), Err(SessionError::Exists { .. })));
        assert_eq!(std::fs::read_to_string(file("b")).unwrap(), "other");
        assert_eq!(rename(&file("a"), "../c").unwrap().parent(), Some(folder.path()));
        assert!(!file("a").exists() && matches!(rename(&file("a"), "d"), Err(SessionError::Write { .. })));
        assert!(!file("d").exists(), "no placeholder is left");
        Change::Delete.apply(&file("b")).unwrap();
        assert!(!file("b").exists() && Change::Delete.apply(&file("b")).is_err());
    }
}
