//! Sources of the screen other than an engine of this program, and their state.

use std::path::PathBuf;
use std::time::Duration;

use base::Problem;
use session::parts::watch::View;

/// The position in a recording that is being played.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplayState {
    pub name: String,
    /// Seconds from its beginning.
    pub at: f64,
    /// Its length in seconds.
    pub length: f64,
    /// Multiple of the original speed.
    pub speed: f64,
    /// Beginnings of runs and the user's notes, each with its seconds, as far as they were played.
    pub marks: Vec<(f64, String)>,
    pub held: bool,
    /// True if everything has been played.
    pub ended: bool,
    /// True while a session that opens at its end is being read.
    pub opening: bool,
    /// True for a remote engine controlled by another screen; false for a recording.
    pub live: bool,
    /// The recording's file, if an engine can continue it.
    pub file: Option<PathBuf>,
}

/// An engine far away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seat {
    /// Its machine.
    pub host: String,
    /// Its name there.
    pub name: String,
    /// Idle time after which it ends when nothing runs and nobody is attached.
    pub wait: Duration,
}

/// A grid computed by other processes.
#[derive(Debug, Clone, PartialEq)]
pub struct Followed {
    /// The machine with its folder, if it is not this one.
    pub host: Option<String>,
    /// Its folder.
    pub dir: String,
    /// The state last seen.
    pub view: View,
    /// Reason why it cannot be seen now.
    pub problem: Option<Problem>,
    /// True while failed cells are being submitted again.
    pub submitting: bool,
}

impl ReplayState {
    /// The beginning of a recording `length` seconds long, played at a multiple of its original speed.
    pub fn new(name: String, length: f64, speed: f64) -> Self {
        let (held, ended, opening, live) = (false, false, false, false);
        Self { name, at: 0.0, length, speed, marks: Vec::new(), held, ended, opening, live, file: None }
    }
}
