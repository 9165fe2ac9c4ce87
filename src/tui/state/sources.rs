//! Sources of events other than an engine of this process, and their state.

use std::path::PathBuf;
use std::time::Duration;

use base::Problem;
use engine::board::Job;
use session::parts::watch::View;

/// Position in a recording that is being played.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplayState {
    pub name: String,
    /// Current position, in seconds.
    pub at: f64,
    /// Length of the recording, in seconds.
    pub length: f64,
    pub speed: f64,
    /// Run starts and user's notes played so far, with their times in seconds.
    pub marks: Vec<(f64, String)>,
    pub held: bool,
    /// True if the end has been reached.
    pub ended: bool,
    /// True while a session that opens at its end is being read.
    pub opening: bool,
    /// True for a remote engine controlled by another screen; false for a recording.
    pub live: bool,
    /// True for a lab's recorded example on top of the program.
    pub example: bool,
    /// The run in progress in the program beneath.
    pub beneath: Option<Job>,
    /// File of the recording, if an engine is available to continue it.
    pub file: Option<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seat {
    pub host: String,
    /// Name of the engine on the host.
    pub name: String,
    /// Idle time after which the engine ends if it has no run and no client.
    pub wait: Duration,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Followed {
    /// Host of the grid's folder, if remote.
    pub host: Option<String>,
    pub dir: String,
    /// State last read.
    pub view: View,
    /// Reason why the state cannot be read now.
    pub problem: Option<Problem>,
    /// True while failed cells are being resubmitted.
    pub submitting: bool,
}

impl ReplayState {
    /// Start of a recording of `length` seconds, played at a multiple of its original speed.
    pub fn new(name: String, length: f64, speed: f64) -> Self {
        let (held, ended, opening, live, example) = (false, false, false, false, false);
        Self {
            name,
            at: 0.0,
            length,
            speed,
            marks: Vec::new(),
            held,
            ended,
            opening,
            live,
            example,
            beneath: None,
            file: None,
        }
    }
}
