//! Timing of frames.

use std::time::{Duration, Instant};

/// Time of the next frame.
pub(super) struct Pace {
    pub drawn: Instant,
    pub wanted: Option<Duration>,
}

impl Pace {
    /// A frame is wanted, at most `gap` after the last one.
    pub(crate) fn want(&mut self, gap: Duration) {
        self.wanted = Some(self.wanted.map_or(gap, |w| w.min(gap)));
    }

    /// Time of the next frame; `None` if nothing is to be drawn.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.wanted.map(|gap| self.drawn + gap)
    }
}
