//! The screen with a remote engine.

use std::time::Duration;

use probity::engine::Down;
use probity::tui::state::{ReplayState, Seat};

use crate::common::Harness;
use crate::screens::shows;

#[test]
fn far_quitting() {
    {
        let (c, r) = (80, 24);
        let mut h = Harness::running(c, r);
        let wait = Duration::from_secs(24 * 3600);
        h.state.far = Some(Seat { host: "gpu1".into(), name: "agreement-2".into(), wait });
        h.keys("q");
        shows(&format!("far_quitting_{c}x{r}"), &h.screen());
    }
}

#[test]
fn far_down() {
    {
        let (c, r) = (80, 24);
        let mut h = Harness::running(c, r);
        let wait = Duration::from_secs(24 * 3600);
        h.state.far = Some(Seat { host: "gpu1".into(), name: "agreement-2".into(), wait });
        h.state.down = Some(Down { next: Some(7) });
        shows(&format!("far_down_{c}x{r}"), &h.screen());
    }
}

#[test]
fn far_seen() {
    {
        let (c, r) = (80, 24);
        let mut h = Harness::finished(c, r);
        h.state.replay = Some(ReplayState { live: true, ..ReplayState::new("agreement-2".into(), 1.0, 1.0) });
        shows(&format!("far_seen_{c}x{r}"), &h.screen());
    }
}
