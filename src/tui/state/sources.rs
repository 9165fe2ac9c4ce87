//! What the screen shows in place of an engine of its own, and where that is.

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
    /// Whether it is held.
    pub held: bool,
    /// Whether everything has been played.
    pub ended: bool,
    /// Whether it is no recording but an engine far away that another screen steers.
    pub live: bool,
}

/// An engine far away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seat {
    /// Its machine.
    pub host: String,
    /// Its name there.
    pub name: String,
    /// How long it waits there when nothing runs and nobody is attached.
    pub wait: Duration,
}

/// A grid that others compute.
#[derive(Debug, Clone, PartialEq)]
pub struct Followed {
    /// The machine that sees its folder, if it is not this one.
    pub host: Option<String>,
    /// Its folder.
    pub dir: String,
    /// How far it was when it was last seen.
    pub view: View,
    /// Why it cannot be seen now.
    pub problem: Option<Problem>,
    /// Whether failed cells are being submitted again.
    pub submitting: bool,
}

impl ReplayState {
    /// The beginning of a recording `length` seconds long, played at a multiple of its original speed.
    pub fn new(name: String, length: f64, speed: f64) -> Self {
        Self { name, at: 0.0, length, speed, held: false, ended: false, live: false }
    }
}
