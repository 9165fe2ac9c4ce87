//! The recorder appends each command and event to the session file as it happens.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::SessionError;
use super::format::{Entry, Header, Item, MAX_LINE, line};
use super::name;
use super::thin::Slot;
use base::Problem;
use engine::message::{Command, Event, Generation, Notice, NoticeLevel, Question};

/// Minimum time in seconds between recorded events of a kind that later events replace; events in between are withheld.
const PROGRESS_EVERY: f64 = 0.25;
const ANSWER_EVERY: f64 = 0.5;
const FINDING_EVERY: f64 = 5.0;
/// Largest number appended to a name that is taken.
const MAX_TRIES: usize = 1000;

pub trait Record {
    /// Records a command at `t` seconds after the start.
    ///
    /// # Errors
    /// [`SessionError::Write`] if the command cannot be written. The methods below return the same error.
    fn command(&mut self, t: f64, command: &Command) -> Result<(), SessionError>;
    fn event(&mut self, t: f64, event: &Event) -> Result<(), SessionError>;
    /// Ends the run: writes withheld events and flushes everything to disk.
    fn finish(&mut self) -> Result<(), SessionError>;
}

/// Writes a session. It has no clock and no thread; callers pass the time. Each line is written directly to the file at once, so a killed
/// process loses only withheld refinements. After a power loss, lines since the end of the last run may be missing, and the last line may
/// be truncated.
#[derive(Debug)]
pub struct Recorder {
    file: File,
    path: PathBuf,
    generation: Generation,
    /// For each slot, the time of the last event written and the latest question answered.
    written: HashMap<Slot, (f64, u64)>,
    /// The latest events that have not been written. They are written before the next line that they could affect, so that the recording
    /// then folds to the same board as the live events.
    withheld: HashMap<Slot, (f64, Event)>,
    /// Time of the oldest withheld event.
    oldest: f64,
    /// Time of the last line. Because a withheld line is written late, it is given at least this time, so that times never decrease.
    latest: f64,
}

impl Recorder {
    /// Begins a session `name` in `folder`, creating the folder if needed. If the name is taken, a number is appended, so nothing is
    /// overwritten.
    ///
    /// # Errors
    /// [`SessionError::Write`] if the folder or file cannot be created.
    pub fn create(folder: &Path, name: &str, header: &Header) -> Result<Self, SessionError> {
        let fail = |path: &Path| {
            let path = path.to_owned();
            move |source| SessionError::Write { path, source }
        };
        std::fs::create_dir_all(folder).map_err(fail(folder))?;
        let (mut file, path) = reserve(folder, name)?;
        let mut text = serde_json::to_string(header).map_err(|e| fail(&path)(e.into()))?;
        text.push('\n');
        file.write_all(text.as_bytes()).map_err(fail(&path))?;
        let (written, withheld) = (HashMap::new(), HashMap::new());
        Ok(Self { file, path, generation: 0, written, withheld, oldest: f64::INFINITY, latest: 0.0 })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The session's name: the file's name without its extension.
    pub fn name(&self) -> String {
        let file = self.path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        file.strip_suffix(name::EXTENSION).unwrap_or(&file).to_owned()
    }

    /// Returns the time for a line written now.
    fn time(&mut self, t: f64) -> f64 {
        self.latest = self.latest.max(t);
        self.latest
    }

    fn sync(&self) -> Result<(), SessionError> {
        self.file.sync_data().map_err(|source| SessionError::Write { path: self.path.clone(), source })
    }

    /// Records a note by the user.
    ///
    /// # Errors
    /// [`SessionError::Write`] if the file cannot be written. The methods below return the same error.
    pub fn note(&mut self, t: f64, note: &str) -> Result<(), SessionError> {
        self.entry(t, Item::Note(note.to_owned()))
    }

    pub fn view(&mut self, t: f64, view: Value) -> Result<(), SessionError> {
        self.entry(t, Item::View(view))
    }

    pub fn discard(&mut self) -> Result<(), SessionError> {
        self.withheld.clear();
        super::shelf::delete(&self.path)
    }

    /// Renames the session; recording continues.
    ///
    /// # Errors
    /// [`SessionError::Exists`] if the name is taken, [`SessionError::Write`] if the file cannot be moved. The session then keeps its old
    /// name.
    pub fn rename(&mut self, name: &str) -> Result<(), SessionError> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let target = name::file(folder, name);
        if target == self.path {
            return Ok(());
        }
        self.path = super::shelf::rename(&self.path, name)?;
        Ok(())
    }

    fn entry(&mut self, t: f64, item: Item) -> Result<(), SessionError> {
        self.release()?;
        let t = self.time(t);
        self.write(Entry { t, item }.to_line())
    }

    fn release(&mut self) -> Result<(), SessionError> {
        let mut withheld: Vec<(Slot, (f64, Event))> = self.withheld.drain().collect();
        withheld.sort_by(|(_, (a, _)), (_, (b, _))| a.total_cmp(b));
        self.oldest = f64::INFINITY;
        withheld.into_iter().try_for_each(|(slot, (t, event))| {
            self.written.entry(slot).and_modify(|(at, _)| *at = t);
            let t = self.time(t);
            self.write(line(t, &event))
        })
    }

    fn write(&mut self, text: serde_json::Result<String>) -> Result<(), SessionError> {
        let done = text.map_err(std::io::Error::from).and_then(|mut text| {
            if text.len() > MAX_LINE {
                let t = super::glance::time(text.as_bytes()).unwrap_or(0.0);
                text = line(t, &too_long(text.len(), "session"))?;
            }
            self.file.write_all(text.as_bytes())
        });
        done.map_err(|source| SessionError::Write { path: self.path.clone(), source })
    }
}

impl Record for Recorder {
    fn command(&mut self, t: f64, command: &Command) -> Result<(), SessionError> {
        // A question does not depend on the withheld lines, and its answer may replace one of them.
        if !matches!(command, Command::Ask { question: Question::Experiment { .. }, .. }) {
            self.release()?;
        }
        if let Command::Run { generation, .. } = command {
            self.generation = *generation;
            self.written.clear();
        }
        let t = self.time(t);
        self.write(line(t, command))
    }

    /// Records an event. Events that later events replace are recorded less often. Stale progress is always recorded, because boards count
    /// it.
    fn event(&mut self, t: f64, event: &Event) -> Result<(), SessionError> {
        let every = match event {
            Event::Progress { .. } => PROGRESS_EVERY,
            Event::Answer { .. } => ANSWER_EVERY,
            Event::Finding { finding, .. } if !finding.r#final => FINDING_EVERY,
            _ => 0.0,
        };
        let is_finding = matches!(event, Event::Finding { .. });
        // A final finding matters here only while lines are withheld.
        let matters = every > 0.0 || (is_finding && !self.withheld.is_empty());
        let slot = if matters { Slot::new(event, self.generation) } else { None };
        let Some((slot, ticket)) = slot else {
            if !is_finding || every > 0.0 {
                self.release()?;
            } else if !self.withheld.is_empty()
                && let Some(slot) = Slot::replaced(event, self.generation)
            {
                self.withheld.remove(&slot);
            }
            let t = self.time(t);
            self.write(line(t, event))?;
            // The findings of a finished run must survive a power loss.
            return if matches!(event, Event::Finished { .. }) { self.sync() } else { Ok(()) };
        };
        let before = self.written.get(&slot).copied();
        if before.is_some_and(|(_, answered)| ticket < answered) {
            // A board counts a stale answer only if the previous answer was recorded.
            self.release()?;
            let t = self.time(t);
            return self.write(line(t, event));
        }
        if every > 0.0 {
            let at = before.map(|(at, _)| at).filter(|at| t - at < every);
            self.written.insert(slot.clone(), (at.unwrap_or(t), ticket));
            if at.is_some() {
                self.withheld.insert(slot, (t, event.clone()));
                self.oldest = self.oldest.min(t);
                return if t - self.oldest > FINDING_EVERY { self.release() } else { Ok(()) };
            }
        }
        self.withheld.remove(&slot);
        let t = self.time(t);
        self.write(line(t, event))
    }

    /// Writes withheld events and flushes the file to disk.
    fn finish(&mut self) -> Result<(), SessionError> {
        self.release()?;
        self.sync()
    }
}

/// Returns the notice that replaces a line that would be too long for readers.
pub fn too_long(bytes: usize, place: &str) -> Event {
    let what = format!("a result of {bytes} bytes is too long to be recorded or sent");
    let hint = "it is missing from the recording; please report this";
    Event::Notice(Notice { level: NoticeLevel::Error, problem: Problem::new(what, place, hint) })
}

impl Drop for Recorder {
    fn drop(&mut self) {
        // An error cannot be returned here; `finish` reports it.
        let _ = self.release();
    }
}

/// Creates a file with this name, or with a number appended if the name is taken.
fn reserve(folder: &Path, name: &str) -> Result<(File, PathBuf), SessionError> {
    let name = name.strip_suffix(name::EXTENSION).unwrap_or(name);
    let mut path = name::file(folder, name);
    for k in 2..MAX_TRIES {
        match OpenOptions::new().append(true).create_new(true).open(&path) {
            Ok(file) => return Ok((file, path)),
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {
                path = name::file(folder, &format!("{name}-{k}"));
            }
            Err(source) => return Err(SessionError::Write { path, source }),
        }
    }
    Err(SessionError::Exists { path })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Session;
    use engine::message::Progress;

    fn header() -> Header {
        Header::new("cpu", "2025-01-01T00:00:00Z".into(), None)
    }

    fn progress(generation: Generation, done: u64) -> Event {
        let progress = Progress {
            stage: "oracle".into(),
            done,
            total: 10,
            unit: "ex".into(),
            rate: 0.0,
            overall: 0.0,
            elapsed: 0.0,
            left: None,
        };
        Event::Progress { generation, progress }
    }

    #[test]
    fn existing_names_get_a_number() {
        let folder = tempfile::tempdir().unwrap();
        let mut first = Recorder::create(folder.path(), "a", &header()).unwrap();
        let mut second = Recorder::create(folder.path(), "a", &header()).unwrap();
        assert_eq!((first.name(), second.name()), ("a".into(), "a-2".into()));
        let taken = second.rename("a").unwrap_err();
        assert!(matches!(taken, SessionError::Exists { .. }), "{taken}");
        first.note(0.5, "before").unwrap();
        first.rename("b/../c").unwrap();
        first.note(1.0, "after").unwrap();
        assert_eq!(first.name(), "b-..-c");
        let session = Session::read(first.path()).unwrap();
        assert_eq!(session.entries().count(), 2, "recording continued in the renamed file");
        assert!(!folder.path().join("a.probity.jsonl").exists());
    }

    #[test]
    fn lines_are_on_disk_when_the_call_returns() {
        let folder = tempfile::tempdir().unwrap();
        let mut recorder = Recorder::create(folder.path(), "a", &header()).unwrap();
        recorder.command(0.0, &Command::ListModels).unwrap();
        // The recorder is neither dropped nor finished, as after kill -9.
        assert_eq!(Session::read(recorder.path()).unwrap().entries().count(), 1);
        std::mem::forget(recorder);
    }

    #[test]
    fn progress_is_thinned_to_the_latest() {
        let folder = tempfile::tempdir().unwrap();
        let mut recorder = Recorder::create(folder.path(), "a", &header()).unwrap();
        for k in 0..100_u64 {
            recorder.event(k as f64 * 0.01, &progress(0, k)).unwrap();
        }
        recorder.event(1.0, &progress(7, 1)).unwrap();
        recorder.finish().unwrap();
        let session = Session::read(recorder.path()).unwrap();
        let entries: Vec<Entry> = session.entries().collect();
        assert_eq!(entries.len(), 4 + 1 + 1, "one event per quarter second, the last one withheld, and one stale");
        assert_eq!(entries[4].item, Item::Event(progress(0, 99)));
    }

    /// Regression: a withheld line used to be written after later lines, but with its earlier time.
    #[test]
    fn recorded_times_never_decrease() {
        let folder = tempfile::tempdir().unwrap();
        let mut recorder = Recorder::create(folder.path(), "a", &header()).unwrap();
        for (t, done) in [(0.0, 1), (0.1, 2)] {
            recorder.event(t, &progress(0, done)).unwrap();
        }
        let question = r#"{"command":"ask","ticket":1,"question":{"about":"experiment","generation":1,"question":
            {"lab":"interventions","question":"point","model":"a","method":"pgd","options":{},"value":0.1,"example":0}}}"#;
        recorder.command(1.0, &serde_json::from_str(question).unwrap()).unwrap();
        recorder.finish().unwrap();
        let text = std::fs::read_to_string(recorder.path()).unwrap();
        let times = text.lines().skip(1).map(|line| crate::glance::time(line.as_bytes()));
        assert_eq!(times.collect::<Vec<_>>(), [Some(0.0), Some(1.0), Some(1.0)]);
    }

    /// Regression: of the answers before the first run, only the first and the last used to be recorded, so boards in a replay had
    /// different counts.
    #[test]
    fn answers_without_a_run_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let mut recorder = Recorder::create(folder.path(), "a", &header()).unwrap();
        let answer = r#"{"event":"answer","ticket":0,"answer":{"about":"experiment","generation":0,"findings":[]}}"#;
        let answer: Event = serde_json::from_str(answer).unwrap();
        (0..3).for_each(|_| recorder.event(0.0, &answer).unwrap());
        recorder.finish().unwrap();
        assert_eq!(Session::read(recorder.path()).unwrap().board().stale, 3);
    }

    fn shipped(name: &str) -> Session {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sessions");
        Session::read(&folder.join(format!("{name}.probity.jsonl"))).unwrap()
    }

    /// Regression: a busy hour used to write 285 MB, which readers refused.
    #[test]
    fn replaced_findings_are_dropped() {
        let (folder, live) = (tempfile::tempdir().unwrap(), shipped("interventions"));
        let mut recorder = Recorder::create(folder.path(), "a", &live.header).unwrap();
        let mut board = engine::board::Board::default();
        let mut printed = 0;
        for mut entry in live.entries() {
            // Every finding is refined five times before its final version.
            let refined = matches!(&entry.item, Item::Event(Event::Finding { .. }));
            for k in if refined { 0..6 } else { 5..6 } {
                if let Item::Event(Event::Finding { finding, .. }) = &mut entry.item {
                    finding.r#final = k == 5;
                }
                entry.fold(&mut board);
                printed += entry.to_line().unwrap().len();
                match &entry.item {
                    Item::Command(command) => recorder.command(entry.t, command).unwrap(),
                    Item::Event(event) => recorder.event(entry.t, event).unwrap(),
                    Item::Note(_) | Item::View(_) => {}
                }
            }
        }
        recorder.finish().unwrap();
        assert_eq!(Session::read(recorder.path()).unwrap().board(), board);
        let kept = std::fs::metadata(recorder.path()).unwrap().len() as usize;
        assert!(kept * 2 < printed, "{kept} of {printed} bytes");
    }

    #[test]
    fn cancelled_run_keeps_its_latest_findings() {
        let (folder, live) = (tempfile::tempdir().unwrap(), shipped("agreement"));
        let mut recorder = Recorder::create(folder.path(), "a", &live.header).unwrap();
        let mut board = engine::board::Board::default();
        let refined = |event: &Event| matches!(event, Event::Finding { finding, .. } if finding.r#final);
        for entry in live.entries() {
            match &entry.item {
                Item::Event(event) if refined(event) => continue,
                Item::Command(command) => recorder.command(0.0, command).unwrap(),
                Item::Event(event) => recorder.event(0.0, event).unwrap(),
                Item::Note(_) | Item::View(_) => {}
            }
            entry.fold(&mut board);
        }
        recorder.finish().unwrap();
        assert_eq!(Session::read(recorder.path()).unwrap().board(), board);
    }

    /// After a power loss, the disk contains all flushed bytes and then any part of the others, truncated or as zeros.
    #[test]
    fn ended_runs_survive_a_power_failure() {
        let (folder, live) = (tempfile::tempdir().unwrap(), shipped("interventions"));
        let mut recorder = Recorder::create(folder.path(), "a", &live.header).unwrap();
        let size = |recorder: &Recorder| std::fs::metadata(recorder.path()).unwrap().len() as usize;
        let mut synced = 0;
        for entry in live.entries() {
            match &entry.item {
                Item::Command(command) => recorder.command(entry.t, command).unwrap(),
                Item::Event(event) => {
                    recorder.event(entry.t, event).unwrap();
                    if matches!(event, Event::Finished { .. }) {
                        synced = size(&recorder);
                    }
                }
                Item::Note(_) | Item::View(_) => {}
            }
        }
        (0..50).for_each(|k| recorder.note(1e3 + f64::from(k), "after the run").unwrap());
        let (all, end) = (std::fs::read(recorder.path()).unwrap(), size(&recorder));
        // Questions asked after the end of the run may have lost their answers.
        let found = |session: &Session| {
            let run = session.board().runs.swap_remove(0);
            (run.held, run.summary, run.job.outcome)
        };
        let whole = found(&live);
        assert!(synced > 0 && end > synced);
        let kept = folder.path().join("kept.probity.jsonl");
        for left in (synced..end).step_by(997) {
            for zeros in [0, 4096] {
                let mut bytes = all[..left].to_vec();
                bytes.resize(left + zeros, 0);
                std::fs::write(&kept, bytes).unwrap();
                assert_eq!(found(&Session::read(&kept).unwrap()), whole, "{left} bytes and {zeros} zeros");
            }
        }
    }

    #[test]
    fn oversized_line_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let mut recorder = Recorder::create(folder.path(), "a", &header()).unwrap();
        recorder.note(3.0, &"x".repeat(MAX_LINE)).unwrap();
        let session = Session::read(recorder.path()).unwrap();
        assert_eq!(session.losses, crate::format::Losses::default());
        let entry = session.entries().next().unwrap();
        assert!(matches!(&entry.item, Item::Event(Event::Notice(n)) if n.problem.what.contains("too long")));
        assert_eq!(entry.t, 3.0);
    }
}
