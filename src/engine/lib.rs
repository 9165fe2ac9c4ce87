//! The background engine: commands in, events out.
//!
//! [`Engine`] has several implementations with the same behaviour: the local worker thread, an engine on another machine, a scripted fake
//! for tests, and a recorded session.

pub mod beside;
pub mod board;
pub mod data;
pub mod fake;
pub mod inspection;
pub mod local;
pub mod message;

use thiserror::Error;
use tokio::sync::mpsc::Receiver;

use message::{Command, Event};

/// Capacity of the event queue between engine and front end. When the queue is full, progress reports are dropped, but results never are.
pub const EVENT_QUEUE: usize = 256;

/// The engine has ended and accepts no more commands.
#[derive(Debug, Error)]
#[error("the engine has stopped; restart the program")]
pub struct EngineGone;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Down {
    /// Whole seconds until the next attempt; `None` during an attempt.
    pub next: Option<u64>,
}

pub trait Engine: Send {
    /// Sends a command; does not block.
    fn send(&mut self, command: Command) -> Result<(), EngineGone>;

    /// The receiver of events, which the front end's loop takes once.
    fn take_events(&mut self) -> Option<Receiver<Event>>;

    /// Called when a closed terminal or a signal ends the front end before it decides what happens to the engine. An engine that cannot
    /// outlive the front end then stops.
    fn lose(&mut self) {
        // The engine may have exited: ignore the error.
        let _ = self.send(Command::Shutdown);
    }

    /// The state of a lost connection; always `None` for an engine in this process.
    fn down(&self) -> Option<Down> {
        None
    }

    /// Reconnects at once, without waiting for the next attempt.
    fn try_now(&mut self) {}
}
