//! The local engine: one thread, which owns the device, models and caches, does the work, and another answers questions about data.

pub mod cache;
mod data;
pub mod embeddings;
mod host;
pub(crate) mod inbox;
mod meter;
mod shelf;
#[cfg(test)]
mod tests;
mod worker;

use std::sync::mpsc::Sender;

use tokio::sync::mpsc::{Receiver, channel};

pub use cache::Cache;

use self::host::Outbox;
use self::worker::Worker;
use super::message::{Command, Event, Question, Topic};
use super::{EVENT_QUEUE, Engine, EngineGone};
use base::Problem;
use labs::{Forecast, Spec};
use model::{Device, Dtype};

#[derive(Debug, Clone)]
pub struct LocalOptions {
    pub device: Device,
    pub dtype: Dtype,
    pub cache: Cache,
    /// Models to list in addition to the built-in ones: folders or hub ids.
    pub models: Vec<String>,
    /// Maximum resident memory of a run in bytes.
    pub memory_limit: Option<u64>,
    pub most_models: usize,
    /// True if questions about results may follow; otherwise nothing is kept in memory for them.
    pub asked: bool,
}

/// Number of models that the terminal program keeps in memory, so that the user can switch between them quickly.
pub const MOST_MODELS: usize = 4;

/// The engine on a thread of this process.
pub struct LocalEngine {
    commands: Sender<Command>,
    data: Sender<Command>,
    events: Option<Receiver<Event>>,
}

impl LocalEngine {
    /// # Errors
    /// The system's reason if a thread cannot be started.
    pub fn start(options: LocalOptions) -> std::io::Result<Self> {
        let (commands, inbox) = std::sync::mpsc::channel();
        let (data, questions) = std::sync::mpsc::channel();
        let (outbox, events) = channel(EVENT_QUEUE);
        let outbox = Outbox::new(outbox);
        let desk = outbox.clone();
        std::thread::Builder::new().name("engine".into()).spawn(move || {
            Worker::new(inbox, outbox, options).work();
        })?;
        std::thread::Builder::new().name("data".into()).spawn(move || data::work(questions, desk))?;
        Ok(Self { commands, data, events: Some(events) })
    }
}

impl Engine for LocalEngine {
    fn send(&mut self, command: Command) -> Result<(), EngineGone> {
        match command {
            Command::Ask { question: Question::Data(_), .. } | Command::Withdraw { topic: Topic::Data } => {
                self.data.send(command).map_err(|_| EngineGone)
            }
            command => {
                if command == Command::Shutdown {
                    // If the thread has already ended, the error is harmless.
                    let _ = self.data.send(Command::Shutdown);
                }
                self.commands.send(command).map_err(|_| EngineGone)
            }
        }
    }

    fn take_events(&mut self) -> Option<Receiver<Event>> {
        self.events.take()
    }
}

/// Forecasts the time and memory needed by a run of `spec`, one entry per model. Loads the models, generates and tokenises the texts,
/// counts the work and times a slice of each kind. Stores nothing.
///
/// # Errors
/// A [`Problem`] as the run itself would report it, including a memory limit that is too low.
pub fn forecast(spec: &Spec, options: LocalOptions) -> Result<Vec<Forecast>, Problem> {
    let (_commands, inbox) = std::sync::mpsc::channel();
    // Notices that arrive during preparation are discarded.
    let (outbox, _events) = channel(EVENT_QUEUE);
    Worker::new(inbox, Outbox::new(outbox), options).forecast(spec)
}
