//! The client: an [`Engine`] whose worker runs on another machine.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::mpsc::{self, Receiver};

use super::address::Address;
use super::journal::MOST_KEPT;
use super::line::{Line, Sink};
use super::message::{Hello, Message, Want};
use super::near::{Channel, random};
use super::transfer::send;
use super::{RemoteError, line};
use engine::message::{Command, Event, Question, Topic};
use engine::{Down, EVENT_QUEUE, Engine, EngineGone};
use session::format::Entry;
use session::replay::Step;

/// Maximum time to wait for the last commands to be sent when the program ends.
const FLUSH: Duration = Duration::from_secs(3);

/// The journal up to the moment when this client attached.
pub type Past = Vec<Entry>;

/// Commands to send, and the state that the threads of a link share.
#[derive(Default)]
pub(super) struct Out {
    pending: VecDeque<Command>,
    /// Commands that were sent but are not yet in the journal.
    unconfirmed: VecDeque<(u64, Command)>,
    number: u64,
    /// Number of the current link. A thread with an older link number ends.
    pub epoch: u64,
    /// True if a keep-alive must be answered.
    pub(crate) pong: bool,
    /// True if the client is leaving.
    pub leaving: bool,
    /// True if everything was sent before the client left.
    pub(crate) flushed: bool,
    /// True if the engine was asked to end.
    shutdown: bool,
    /// True if the engine has ended or can no longer be reached.
    pub over: bool,
    /// Time of the last message from the far end.
    pub heard: Option<Instant>,
    /// Time of the next attempt while the link is down.
    pub again: Option<Instant>,
    /// True if the next attempt should be made now.
    pub(crate) hurry: bool,
}

impl Out {
    fn push(&mut self, command: Command) {
        self.shutdown |= command == Command::Shutdown;
        // If a slider sends several questions, only the latest is sent.
        if asks(&command) || command == (Command::Withdraw { topic: Topic::Experiment }) {
            self.pending.retain(|c| !asks(c));
        }
        self.pending.push_back(command);
    }

    /// Returns the next command to send. Only one question to the experiment may be in transit.
    pub(crate) fn next(&mut self) -> Option<Message> {
        let asked = self.unconfirmed.iter().any(|(_, c)| asks(c));
        let at = self.pending.iter().position(|c| !(asked && asks(c)))?;
        let command = self.pending.remove(at)?;
        self.number += 1;
        self.unconfirmed.push_back((self.number, command.clone()));
        Some(Message::Command { number: self.number, command: Box::new(command) })
    }

    /// Marks a command of this client as recorded in the journal.
    pub(crate) fn confirm(&mut self) {
        self.unconfirmed.pop_front();
    }

    /// After a reconnection, resends the commands that the far end has not received, under the same numbers.
    pub(crate) fn resume(&mut self, taken: u64) {
        while self.unconfirmed.front().is_some_and(|(number, _)| *number <= taken) {
            self.unconfirmed.pop_front();
        }
        for (_, command) in std::mem::take(&mut self.unconfirmed).into_iter().rev() {
            self.pending.push_front(command);
        }
        self.number = taken;
        self.heard = None;
        self.pong = false;
    }
}

fn asks(command: &Command) -> bool {
    matches!(command, Command::Ask { question: Question::Experiment { .. }, .. })
}

pub(super) struct Shared {
    out: Mutex<Out>,
    changed: Condvar,
}

impl Shared {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Out> {
        self.out.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn pause<'a>(&self, out: MutexGuard<'a, Out>, most: Duration) -> MutexGuard<'a, Out> {
        self.changed.wait_timeout(out, most).unwrap_or_else(PoisonError::into_inner).0
    }

    pub(crate) fn notify(&self) {
        self.changed.notify_all();
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkEnd {
    /// The engine has ended or was asked to end.
    Ended,
    /// The engine continues.
    Left,
    /// The engine should have been asked to end, but the request could not be sent.
    Untold,
}

/// Reports how the connection ended, after the engine has been dropped.
#[derive(Clone)]
pub struct EndReport(Arc<Shared>);

impl EndReport {
    /// Outcome of the connection.
    pub fn parting(&self) -> LinkEnd {
        let out = self.0.lock();
        let pending = out.pending.contains(&Command::Shutdown);
        match (out.over, out.shutdown) {
            (true, _) => LinkEnd::Ended,
            (_, true) if out.flushed && !pending => LinkEnd::Ended,
            (_, true) => LinkEnd::Untold,
            (_, false) => LinkEnd::Left,
        }
    }
}

/// An engine on another machine.
pub struct Far {
    shared: Arc<Shared>,
    name: String,
    steers: bool,
    wait: Duration,
    version: String,
    events: Option<Receiver<Event>>,
    steps: Option<Receiver<Step>>,
}

impl Far {
    /// Starts a remote engine or attaches to one, depending on `hello`; ssh may ask for a password. Files sent to a new engine keep the
    /// names used in its specs. Also returns the earlier measurements.
    pub fn connect(
        address: &Address,
        mut hello: Hello,
        files: &[(String, PathBuf)],
    ) -> Result<(Self, Past), RemoteError> {
        hello.files = files.len() as u64;
        hello.version = env!("CARGO_PKG_VERSION").into();
        hello.client = random();
        let (mut channel, welcome) = line::greet(address, true, &hello)?;
        for (name, path) in files {
            give(address, &mut channel, name, path)?;
        }
        // The first messages of a new engine are shown as they arrive.
        let seen = if hello.want == Want::Attach { welcome.head } else { 0 };
        let past = past(address, &mut channel, seen)?;
        let shared = Arc::new(Shared { out: Mutex::default(), changed: Condvar::new() });
        let (sender, events) = mpsc::channel(EVENT_QUEUE);
        let (teller, steps) = mpsc::channel(EVENT_QUEUE);
        let sink = if welcome.steers { Sink::Events(sender) } else { Sink::Steps(teller) };
        let line = Line {
            address: address.clone(),
            hello: Hello {
                want: Want::Attach,
                name: welcome.name.clone(),
                engine: welcome.engine,
                sees: !welcome.steers,
                files: 0,
                ..hello
            },
            seen,
            steers: welcome.steers,
            sink,
            shared: shared.clone(),
        };
        line.start(channel).map_err(|source| RemoteError::Io { place: "thread".into(), source })?;
        let far = Self {
            shared,
            name: welcome.name,
            steers: welcome.steers,
            wait: Duration::from_secs(welcome.wait),
            version: welcome.version,
            events: welcome.steers.then_some(events),
            steps: (!welcome.steers).then_some(steps),
        };
        Ok((far, past))
    }

    /// The engine's name on the other machine.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// True if this client's commands are executed; otherwise a different client controls the engine.
    pub fn steers(&self) -> bool {
        self.steers
    }

    /// Time that the engine waits without a client.
    pub fn wait(&self) -> Duration {
        self.wait
    }

    /// The program's version on the other machine.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Commands and events as they happen, for a client that only watches; `None` for the client in control.
    pub fn take_steps(&mut self) -> Option<Receiver<Step>> {
        self.steps.take()
    }

    pub fn farewell(&self) -> EndReport {
        EndReport(self.shared.clone())
    }
}

fn give(address: &Address, channel: &mut Channel, name: &str, path: &Path) -> Result<(), RemoteError> {
    let fail = |source| RemoteError::Io { place: path.display().to_string(), source };
    let mut file = base::read::open(path).map_err(fail)?;
    if let Some(out) = &mut channel.stdin {
        // An error from the far end or from ssh is more informative than a closed pipe.
        let _ = Message::File(name.to_owned()).write(out).is_ok() && send(&mut file, out).is_ok();
    }
    match reply(address, channel)? {
        Message::Whole(_) => Ok(()),
        _ => Err(disorder(address)),
    }
}

/// Reads the journal up to the moment when the client attached.
fn past(address: &Address, channel: &mut Channel, head: u64) -> Result<Past, RemoteError> {
    let (mut entries, mut bytes) = (Vec::new(), 0);
    for expected in 1..=head {
        let refused = |what: String| RemoteError::Refused { host: address.host().to_owned(), what };
        let line = loop {
            match channel.read() {
                Ok(Message::Line { number, line, .. }) if number == expected => break line,
                Ok(Message::Ping | Message::Passing(_)) => {}
                Ok(Message::Bye) => return Err(refused("the engine has just ended".into())),
                Ok(_) => return Err(refused(line::DISORDER.into())),
                Err(error) => return Err(channel.failure(address, &error)),
            }
        };
        bytes += line.len() as u64;
        if bytes > MOST_KEPT {
            let most = base::size::show(MOST_KEPT);
            return Err(refused(format!("its journal is larger than {most}, the maximum that an engine stores")));
        }
        entries.extend(line::entry(&line));
    }
    Ok(entries)
}

impl Engine for Far {
    fn send(&mut self, command: Command) -> Result<(), EngineGone> {
        let mut out = self.shared.lock();
        if out.over {
            return Err(EngineGone);
        }
        if self.steers {
            out.push(command);
            // A command by the user triggers an immediate attempt to reconnect.
            out.hurry = true;
            self.shared.notify();
        }
        Ok(())
    }

    fn take_events(&mut self) -> Option<Receiver<Event>> {
        self.events.take()
    }

    /// Cuts the link, and leaves the engine running on the other machine.
    fn lose(&mut self) {
        self.shared.lock().leaving = true;
        self.shared.notify();
    }

    fn down(&self) -> Option<Down> {
        let left = self.shared.lock().again?.checked_duration_since(Instant::now());
        Some(Down { next: left.map(|left| left.as_secs() + 1) })
    }

    fn try_now(&mut self) {
        self.shared.lock().hurry = true;
        self.shared.notify();
    }
}

impl Drop for Far {
    fn drop(&mut self) {
        let mut out = self.shared.lock();
        out.leaving = true;
        self.shared.notify();
        let until = Instant::now() + FLUSH;
        while !out.flushed && !out.over && Instant::now() < until {
            out = self.shared.pause(out, Duration::from_millis(50));
        }
    }
}

/// Returns the next message in reply to a request that needs no engine.
pub(super) fn reply(address: &Address, channel: &mut Channel) -> Result<Message, RemoteError> {
    match channel.read() {
        Ok(Message::Refused(what)) => Err(RemoteError::Refused { host: address.host().into(), what }),
        Ok(message) => Ok(message),
        Err(error) => Err(channel.failure(address, &error)),
    }
}

pub(super) fn disorder(address: &Address) -> RemoteError {
    RemoteError::Refused { host: address.host().into(), what: line::DISORDER.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::message::ModelQuestion;
    use labs::{LABS, Spec, interventions};

    fn slider(ticket: u64) -> Command {
        let question = interventions::Question::Point(interventions::question::PointQuestion {
            model: "m".into(),
            method: "fgsm".into(),
            options: Default::default(),
            value: 0.1,
            example: 0,
        });
        Command::Ask { ticket, question: Question::Experiment { generation: 1, question: question.into() } }
    }

    fn sent(out: &mut Out) -> Vec<(u64, Command)> {
        std::iter::from_fn(|| out.next())
            .map(|m| match m {
                Message::Command { number, command } => (number, *command),
                other => panic!("{other:?}"),
            })
            .collect()
    }

    #[test]
    fn slow_link_sends_only_the_latest_slider_value() {
        let mut out = Out::default();
        out.push(slider(1));
        assert_eq!(sent(&mut out), [(1, slider(1))]);
        (2..50).for_each(|ticket| out.push(slider(ticket)));
        out.push(Command::Cancel { job: 1 });
        assert_eq!(sent(&mut out), [(2, Command::Cancel { job: 1 })], "a slider does not delay other commands");
        out.confirm();
        assert_eq!(sent(&mut out), [(3, slider(49))]);
    }

    #[test]
    fn only_unacknowledged_commands_are_resent() {
        let mut out = Out::default();
        let spec = Box::new(Spec::shipped(LABS[0].id()));
        let run = Command::Run { job: 1, generation: 1, spec };
        let inspect = Question::Model { model: "m".into(), what: ModelQuestion::Inspect };
        let ask = Command::Ask { ticket: 1, question: inspect };
        for command in [&Command::ListModels, &run, &ask] {
            out.push(command.clone());
        }
        assert_eq!(sent(&mut out).len(), 3);
        out.confirm();
        out.push(Command::Pause { hold: true });
        // The far end has received two commands; the confirmation of the second was lost with the link.
        out.resume(2);
        assert_eq!(sent(&mut out), [(3, ask), (4, Command::Pause { hold: true })]);
    }

    /// Regression: a screen used to freeze for twenty seconds without showing that it was waiting, or for how long.
    #[test]
    fn request_speeds_up_reconnection() {
        let shared = Arc::new(Shared { out: Mutex::default(), changed: Condvar::new() });
        let mut far = Far {
            shared: shared.clone(),
            name: "a".into(),
            steers: true,
            wait: Duration::ZERO,
            version: String::new(),
            events: None,
            steps: None,
        };
        assert_eq!(far.down(), None);
        let at = |until: Instant| (shared.lock().again, shared.lock().hurry) = (Some(until), false);
        at(Instant::now() + Duration::from_millis(6_500));
        assert_eq!(far.down(), Some(Down { next: Some(7) }));
        assert!(!shared.lock().hurry);
        far.send(Command::ListModels).unwrap();
        assert!(shared.lock().hurry);
        at(Instant::now());
        assert_eq!(far.down(), Some(Down { next: None }), "an attempt is in progress");
        far.try_now();
        assert!(shared.lock().hurry);
        // Without this, dropping the client would wait for a thread that was never started.
        shared.lock().over = true;
    }

    #[test]
    fn end_of_connection_is_recorded() {
        let parting = |change: &dyn Fn(&mut Out)| {
            let mut out = Out::default();
            change(&mut out);
            EndReport(Arc::new(Shared { out: Mutex::new(out), changed: Condvar::new() })).parting()
        };
        assert_eq!(parting(&|out| out.leaving = true), LinkEnd::Left);
        assert_eq!(parting(&|out| out.over = true), LinkEnd::Ended);
        assert_eq!(parting(&|out| out.push(Command::Shutdown)), LinkEnd::Untold, "the link is down");
        let told = |out: &mut Out| {
            out.push(Command::Shutdown);
            sent(out);
            out.flushed = true;
        };
        assert_eq!(parting(&told), LinkEnd::Ended);
    }
}
