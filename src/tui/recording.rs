//! Who keeps what was asked and what was answered.

use crate::base::Problem;
use crate::engine::message::{Command, Event};
use crate::session::{SessionError, record};

/// Keeps what was asked and what was answered.
pub trait Recorder {
    /// Notes a command that is about to be sent, `t` seconds after the start.
    ///
    /// # Errors
    /// Why it could not be written; nothing more is recorded then.
    fn command(&mut self, t: f64, command: &Command) -> Result<(), Problem>;

    /// Notes an event that was received, `t` seconds after the start.
    ///
    /// # Errors
    /// Why it could not be written; nothing more is recorded then.
    fn event(&mut self, t: f64, event: &Event) -> Result<(), Problem>;

    /// Gives the recording a name and says under which name it is kept.
    ///
    /// # Errors
    /// Why it could not be renamed; it goes on under its old name.
    fn rename(&mut self, name: &str) -> Result<String, Problem>;

    /// Makes sure that everything is on the disk; called once, at the end.
    fn finish(&mut self);
}

impl Recorder for record::Recorder {
    fn command(&mut self, t: f64, command: &Command) -> Result<(), Problem> {
        record::Recorder::command(self, t, command).map_err(stopped)
    }

    fn event(&mut self, t: f64, event: &Event) -> Result<(), Problem> {
        record::Recorder::event(self, t, event).map_err(stopped)
    }

    fn rename(&mut self, name: &str) -> Result<String, Problem> {
        let hint = "the recording goes on under its old name";
        record::Recorder::rename(self, name).map_err(|e| problem(&e, hint))?;
        Ok(self.name())
    }

    fn finish(&mut self) {
        // Every line is written already; what remains at stake is a crash of the machine itself.
        let _ = record::Recorder::finish(self);
    }
}

fn stopped(error: SessionError) -> Problem {
    problem(&error, "the session is no longer recorded; make room and start anew")
}

fn problem(error: &SessionError, hint: &str) -> Problem {
    Problem { what: error.to_string(), r#where: "session".into(), hint: hint.into() }
}
