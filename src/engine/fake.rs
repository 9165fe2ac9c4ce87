//! A scripted engine for tests: answers each command with the events of a given function.

use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::message::{Command, Event};
use super::{EVENT_QUEUE, Engine, EngineGone};

/// How a fake answers a command.
pub type Script = Box<dyn FnMut(&Command) -> Vec<Event> + Send>;

/// An engine without models: each command is answered at once by the script.
pub struct FakeEngine {
    script: Script,
    sender: Option<Sender<Event>>,
    events: Option<Receiver<Event>>,
    /// Every command that was sent, in order.
    pub commands: Vec<Command>,
}

impl FakeEngine {
    /// A fake with the given script.
    pub fn new(script: Script) -> Self {
        let (sender, events) = channel(EVENT_QUEUE);
        Self { script, sender: Some(sender), events: Some(events), commands: Vec::new() }
    }
}

impl Engine for FakeEngine {
    fn send(&mut self, command: Command) -> Result<(), EngineGone> {
        let sender = self.sender.as_ref().ok_or(EngineGone)?;
        for event in (self.script)(&command) {
            sender.try_send(event).map_err(|_| EngineGone)?;
        }
        if command == Command::Shutdown {
            self.sender = None;
        }
        self.commands.push(command);
        Ok(())
    }

    fn take_events(&mut self) -> Option<Receiver<Event>> {
        self.events.take()
    }
}
