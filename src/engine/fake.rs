//! A scripted engine for tests: a function answers each command with events.

use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::message::{Command, Event};
use super::{EVENT_QUEUE, Engine, EngineGone};

pub type Script = Box<dyn FnMut(&Command) -> Vec<Event> + Send>;

/// An engine without models. The script answers each command at once.
pub struct FakeEngine {
    script: Script,
    sender: Option<Sender<Event>>,
    events: Option<Receiver<Event>>,
    /// All commands received, in order.
    pub commands: Vec<Command>,
}

impl FakeEngine {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::EngineInfo;

    fn ready() -> Event {
        Event::Ready(EngineInfo { version: "1".into(), device: "cpu".into() })
    }

    #[test]
    fn fake_engine_answers_and_records_commands() {
        let script: Script = Box::new(|command| match command {
            Command::ListModels => vec![ready(), Event::Models { models: Vec::new() }],
            _ => Vec::new(),
        });
        let mut engine = FakeEngine::new(script);
        let mut events = engine.take_events().unwrap();
        assert!(engine.take_events().is_none(), "the channel has only one receiver");
        engine.send(Command::ListModels).unwrap();
        engine.send(Command::Pause { hold: true }).unwrap();
        assert_eq!(events.try_recv(), Ok(ready()));
        assert_eq!(events.try_recv(), Ok(Event::Models { models: Vec::new() }));
        assert!(events.try_recv().is_err());
        assert_eq!(engine.commands, [Command::ListModels, Command::Pause { hold: true }]);
    }

    #[test]
    fn ended_engine_accepts_no_commands() {
        let mut engine = FakeEngine::new(Box::new(|_| Vec::new()));
        let mut events = engine.take_events().unwrap();
        engine.send(Command::Shutdown).unwrap();
        assert!(engine.send(Command::ListModels).is_err());
        assert_eq!(events.blocking_recv(), None);
    }

    #[test]
    fn full_event_queue_is_an_error() {
        let mut engine = FakeEngine::new(Box::new(|_| vec![ready(); EVENT_QUEUE + 1]));
        assert!(engine.send(Command::ListModels).is_err());
    }
}
