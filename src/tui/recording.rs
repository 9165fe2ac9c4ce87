//! Recording of commands and events.

use base::Problem;
use engine::message::{Command, Event};
use session::{SessionError, record};

pub trait Recorder {
    /// Records a command about to be sent, `t` seconds after the start.
    ///
    /// # Errors
    /// The reason why it could not be written; nothing more is recorded then.
    fn command(&mut self, t: f64, command: &Command) -> Result<(), Problem>;

    /// Records a received event, `t` seconds after the start.
    ///
    /// # Errors
    /// The reason why it could not be written; nothing more is recorded then.
    fn event(&mut self, t: f64, event: &Event) -> Result<(), Problem>;

    /// Records a user's note.
    ///
    /// # Errors The reason why it could not be written; nothing more is recorded then.
    fn note(&mut self, t: f64, text: &str) -> Result<(), Problem>;

    /// Renames the recording and returns its final name.
    ///
    /// # Errors
    /// The reason why it could not be renamed; it continues under its old name.
    fn rename(&mut self, name: &str) -> Result<String, Problem>;

    /// Flushes everything to disk; called once, at the end.
    fn finish(&mut self);

    /// Deletes the recording instead of [`Self::finish`], because it contains nothing that the user requested.
    fn discard(&mut self);
}

impl Recorder for record::Recorder {
    fn command(&mut self, t: f64, command: &Command) -> Result<(), Problem> {
        record::Record::command(self, t, command).map_err(stopped)
    }

    fn event(&mut self, t: f64, event: &Event) -> Result<(), Problem> {
        record::Record::event(self, t, event).map_err(stopped)
    }

    fn note(&mut self, t: f64, text: &str) -> Result<(), Problem> {
        record::Recorder::note(self, t, text).map_err(stopped)
    }

    fn rename(&mut self, name: &str) -> Result<String, Problem> {
        let hint = "the recording continues under its old name";
        record::Recorder::rename(self, name).map_err(|e| problem(&e, hint))?;
        Ok(self.name())
    }

    fn finish(&mut self) {
        // Every line has been written; only a crash of the machine could still lose data.
        let _ = record::Record::finish(self);
    }

    fn discard(&mut self) {
        // If the file cannot be removed, it remains as an empty session.
        let _ = record::Recorder::discard(self);
    }
}

fn stopped(error: SessionError) -> Problem {
    problem(&error, "the session is no longer recorded; free disk space and restart the program")
}

fn problem(error: &SessionError, hint: &str) -> Problem {
    Problem { what: error.to_string(), r#where: "session".into(), hint: hint.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use session::format::{Header, Session};

    fn begun(folder: &std::path::Path, name: &str) -> Box<dyn Recorder> {
        let header = Header::new("cpu", "2026-01-02T03:04:05Z".into(), None);
        Box::new(record::Recorder::create(folder, name, &header).unwrap())
    }

    #[test]
    fn recording_is_readable_under_its_new_name() {
        let folder = tempfile::tempdir().unwrap();
        let mut recorder = begun(folder.path(), "first");
        recorder.command(0.5, &Command::ListModels).unwrap();
        recorder.event(1.0, &Event::Models { models: Vec::new() }).unwrap();
        assert_eq!(recorder.rename("second").unwrap(), "second");
        recorder.command(2.0, &Command::Shutdown).unwrap();
        recorder.finish();
        let read = Session::read(&session::name::file(folder.path(), "second")).unwrap();
        assert_eq!(read.entries().map(|e| e.t).collect::<Vec<_>>(), [0.5, 1.0, 2.0]);
    }

    #[test]
    fn taken_name_is_reported_and_recording_continues() {
        let folder = tempfile::tempdir().unwrap();
        let mut other = begun(folder.path(), "taken");
        other.command(0.0, &Command::ListModels).unwrap();
        let mut recorder = begun(folder.path(), "mine");
        match recorder.rename("taken") {
            Ok(name) => assert_ne!(name, "taken", "nothing is overwritten"),
            Err(problem) => assert!(problem.hint.contains("old name"), "{problem}"),
        }
        recorder.command(1.0, &Command::ListModels).unwrap();
        let kept = Session::read(&session::name::file(folder.path(), "taken")).unwrap();
        assert_eq!(kept.entries().count(), 1, "the other session is intact");
    }

    #[test]
    fn disk_error_reports_that_recording_stopped() {
        let source = std::io::Error::other("disk full");
        let problem = stopped(SessionError::Write { path: "/s".into(), source });
        assert!(problem.what.contains("disk full") && problem.hint.contains("no longer recorded"), "{problem}");
    }
}
