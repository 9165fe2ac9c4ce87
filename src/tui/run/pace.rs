//! Timing of frames.

use std::time::{Duration, Instant};

pub(super) struct Pace {
    pub drawn: Instant,
    pub wanted: Option<Duration>,
}

impl Pace {
    /// Requests a frame, at most `gap` after the last one.
    pub(crate) fn want(&mut self, gap: Duration) {
        self.wanted = Some(self.wanted.map_or(gap, |w| w.min(gap)));
    }

    /// The time of the next frame; `None` if no frame is requested.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.wanted.map(|gap| self.drawn + gap)
    }
}
