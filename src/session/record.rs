//! The recorder: appends each command and event to the session file as it happens.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use super::SessionError;
use super::format::{Entry, Header, Item, line};
use super::name;
use engine::message::{Command, Event, Generation};

/// Progress is recorded at most this often, in seconds; later progress supersedes what is withheld.
const PROGRESS_EVERY: f64 = 0.25;
/// Largest number appended to a name that is taken.
const MAX_TRIES: usize = 1000;

/// Recorder of a run.
pub trait Record {
    /// Notes a command at `t` seconds after the start.
    ///
    /// # Errors
    /// [`SessionError::Write`] if it cannot be written (also for the methods below).
    fn command(&mut self, t: f64, command: &Command) -> Result<(), SessionError>;
    /// Notes an event.
    fn event(&mut self, t: f64, event: &Event) -> Result<(), SessionError>;
    /// The run is over: everything is to be on disk.
    fn finish(&mut self) -> Result<(), SessionError>;
}

impl Record for Recorder {
    fn command(&mut self, t: f64, command: &Command) -> Result<(), SessionError> {
        Recorder::command(self, t, command)
    }

    fn event(&mut self, t: f64, event: &Event) -> Result<(), SessionError> {
        Recorder::event(self, t, event)
    }

    fn finish(&mut self) -> Result<(), SessionError> {
        Recorder::finish(self)
    }
}

/// Writes a session. It has no clock and no thread: every call states the time, and each line is written whole, straight
/// to the file, so that a killed process leaves everything it had recorded.
#[derive(Debug)]
pub struct Recorder {
    file: File,
    path: PathBuf,
    generation: Generation,
    last_progress: f64,
    /// The latest progress event that was not written. It is written before the next line of another kind, so that at
    /// that point the fold of the recording equals the fold of the live events.
    withheld: Option<(f64, Event)>,
}

impl Recorder {
    /// Begins a session `name` in `folder`, which is created if it is missing. If the name is taken, a number is added:
    /// nothing is overwritten.
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
        Ok(Self { file, path, generation: 0, last_progress: f64::NEG_INFINITY, withheld: None })
    }

    /// The file that is written.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The session's name: the file's name without its extension.
    pub fn name(&self) -> String {
        let file = self.path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        file.strip_suffix(name::EXTENSION).unwrap_or(&file).to_owned()
    }

    /// Records a command at `t` seconds after the start.
    ///
    /// # Errors
    /// [`SessionError::Write`] if the file cannot be written (also for the methods below).
    pub fn command(&mut self, t: f64, command: &Command) -> Result<(), SessionError> {
        if let Command::Run { generation, .. } = command {
            self.generation = *generation;
        }
        self.append(t, command)
    }

    /// Records an event. Progress of the current run is thinned; a stale one is not, because boards count those.
    pub fn event(&mut self, t: f64, event: &Event) -> Result<(), SessionError> {
        if let Event::Progress { generation, .. } = event
            && *generation == self.generation
        {
            if t - self.last_progress < PROGRESS_EVERY {
                self.withheld = Some((t, event.clone()));
                return Ok(());
            }
            self.last_progress = t;
            // The newer progress replaces the withheld one.
            self.withheld = None;
        }
        self.append(t, event)
    }

    /// Records a remark of the user.
    pub fn note(&mut self, t: f64, note: &str) -> Result<(), SessionError> {
        self.entry(&Entry { t, item: Item::Note(note.to_owned()) })
    }

    /// Records how the screen looks.
    pub fn view(&mut self, t: f64, view: Value) -> Result<(), SessionError> {
        self.entry(&Entry { t, item: Item::View(view) })
    }

    /// Writes withheld progress and asks the system to flush the file to disk.
    pub fn finish(&mut self) -> Result<(), SessionError> {
        self.release()?;
        self.file.sync_data().map_err(|source| SessionError::Write { path: self.path.clone(), source })
    }

    /// Removes the session's file.
    ///
    /// # Errors
    /// [`SessionError::Write`] if it cannot be removed.
    pub fn discard(&mut self) -> Result<(), SessionError> {
        self.withheld = None;
        super::shelf::delete(&self.path)
    }

    /// Renames the session; recording continues in the same file.
    ///
    /// # Errors
    /// [`SessionError::Exists`] if the name is taken, [`SessionError::Write`] if the file cannot be moved. The session
    /// then keeps its old name.
    pub fn rename(&mut self, name: &str) -> Result<(), SessionError> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let target = name::file(folder, name);
        if target == self.path {
            return Ok(());
        }
        self.path = super::shelf::rename(&self.path, name)?;
        Ok(())
    }

    fn entry(&mut self, entry: &Entry) -> Result<(), SessionError> {
        self.release()?;
        let text = entry.to_line();
        self.write(text)
    }

    fn append<T: Serialize>(&mut self, t: f64, content: &T) -> Result<(), SessionError> {
        self.release()?;
        self.write(line(t, content))
    }

    fn release(&mut self) -> Result<(), SessionError> {
        let Some((t, event)) = self.withheld.take() else { return Ok(()) };
        self.last_progress = t;
        self.write(line(t, &event))
    }

    fn write(&mut self, text: serde_json::Result<String>) -> Result<(), SessionError> {
        let done = text.map_err(std::io::Error::from).and_then(|text| self.file.write_all(text.as_bytes()));
        done.map_err(|source| SessionError::Write { path: self.path.clone(), source })
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        // An error here has nowhere to go; `finish` reports it.
        let _ = self.release();
    }
}

/// Opens a new file with that name, or with a number appended.
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
    fn names_that_are_taken_get_a_number_and_nothing_is_overwritten() {
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
        assert_eq!(session.entries.len(), 2, "recording went on in the renamed file");
        assert!(!folder.path().join("a.probity.jsonl").exists());
    }

    #[test]
    fn every_line_is_on_disk_before_the_call_returns() {
        let folder = tempfile::tempdir().unwrap();
        let mut recorder = Recorder::create(folder.path(), "a", &header()).unwrap();
        recorder.command(0.0, &Command::ListModels).unwrap();
        // Not dropped, not finished: as after kill -9.
        assert_eq!(Session::read(recorder.path()).unwrap().entries.len(), 1);
        std::mem::forget(recorder);
    }

    #[test]
    fn progress_is_thinned_but_the_latest_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let mut recorder = Recorder::create(folder.path(), "a", &header()).unwrap();
        for k in 0..100_u64 {
            recorder.event(k as f64 * 0.01, &progress(0, k)).unwrap();
        }
        recorder.event(1.0, &progress(7, 1)).unwrap();
        recorder.finish().unwrap();
        let session = Session::read(recorder.path()).unwrap();
        assert_eq!(session.entries.len(), 4 + 1 + 1, "one per quarter second, the last withheld, one stale");
        assert_eq!(session.entries[4].item, Item::Event(progress(0, 99)));
    }
}
