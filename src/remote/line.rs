//! The link to a remote engine: two threads while it is up; when it breaks, a new link is made.

use std::io::Write;
use std::process::{Child, ChildStdin};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::mpsc::Sender;

use super::RemoteError;
use super::address::Address;
use super::client::Shared;
use super::message::{Hello, Message, Welcome};
use super::near::Channel;
use base::Problem;
use engine::message::{Event, Notice, NoticeLevel};
use session::format::{Entry, Item, parse_entry};
use session::replay::Step;

/// Error for a far end that violates the protocol.
pub(super) const DISORDER: &str = "messages arrived out of order; use the same version of Probity on both machines";
/// Time without a message after which the link counts as broken; the far end sends keep-alives more often.
const SILENCE: Duration = Duration::from_secs(20);
/// Minimum and maximum pause before the next attempt; the screen counts it down, and a key skips it.
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(10));

pub(super) enum Sink {
    /// Events, for the client in control.
    Events(Sender<Event>),
    /// Commands and events, for a client that watches.
    Steps(Sender<Step>),
}

impl Sink {
    /// Passes an entry on; returns false if the listener is gone.
    fn send(&self, entry: Entry) -> bool {
        match (self, entry) {
            (Sink::Events(events), Entry { item: Item::Event(event), .. }) => events.blocking_send(event).is_ok(),
            (Sink::Events(_), _) => true,
            (Sink::Steps(steps), entry) => steps.blocking_send(Step::Entry(Box::new(entry))).is_ok(),
        }
    }

    fn offer(&self, entry: Entry) {
        match (self, entry) {
            (Sink::Events(events), Entry { item: Item::Event(event), .. }) => drop(events.try_send(event)),
            (Sink::Events(_), _) => {}
            (Sink::Steps(steps), entry) => drop(steps.try_send(Step::Entry(Box::new(entry)))),
        }
    }

    fn tell(&self, level: NoticeLevel, problem: Problem) {
        let event = Event::Notice(Notice { level, problem });
        // If the receiver is gone, the connection ends at the next entry.
        let _ = self.send(Entry { t: 0.0, item: Item::Event(event) });
    }
}

/// Parses a line of the journal; `None` if a newer program wrote the line and this version does not know its kind.
pub(super) fn entry(line: &str) -> Option<Entry> {
    parse_entry(line.as_bytes(), true).ok()
}

/// Opens a channel and exchanges the first messages.
pub(super) fn greet(address: &Address, can_ask: bool, hello: &Hello) -> Result<(Channel, Welcome), RemoteError> {
    let mut channel = Channel::open(address, can_ask, hello)?;
    let refused = |what: String| RemoteError::Refused { host: address.host().to_owned(), what };
    match channel.read() {
        Ok(Message::Welcome(welcome)) => Ok((channel, welcome)),
        Ok(Message::Refused(why)) => Err(refused(why)),
        // A link that corrupts data may work at the next attempt.
        Ok(_) => {
            let (what, hint) =
                (DISORDER.to_owned(), "if the versions match, the link is corrupting data: try again".to_owned());
            Err(RemoteError::Link { host: address.host().to_owned(), what, hint })
        }
        Err(error) => Err(channel.failure(address, &error)),
    }
}

enum End {
    Over,
    /// The client has disconnected, or the receiver of its events is gone.
    Left,
    Broken(RemoteError),
    /// A different client is now in control.
    Superseded,
}

pub(super) struct Line {
    pub address: Address,
    /// The first message for reconnecting.
    pub hello: Hello,
    /// Number of journal lines that were passed on.
    pub seen: u64,
    pub steers: bool,
    pub sink: Sink,
    pub shared: Arc<Shared>,
}

impl Line {
    /// Starts the thread that maintains the link.
    pub(crate) fn start(mut self, channel: Channel) -> std::io::Result<()> {
        std::thread::Builder::new().name("line".into()).spawn(move || self.hold(channel)).map(drop)
    }

    /// Listens, and reconnects when the link breaks, until the engine has ended or the client disconnects.
    fn hold(&mut self, mut channel: Channel) {
        let over = loop {
            let end = self.listen(&mut channel);
            let mut out = self.shared.lock();
            out.epoch += 1;
            let leaving = out.leaving;
            if matches!(end, End::Broken(_)) && !leaving {
                // Set before notifying, so that observers see the new state.
                (out.again, out.hurry) = (Some(Instant::now() + PAUSES.0), false);
            }
            drop(out);
            self.shared.notify();
            drop(channel);
            match end {
                End::Broken(error) if !leaving => self.tell_broken(&error),
                End::Superseded => {
                    self.tell_superseded();
                    break true;
                }
                End::Over => break true,
                End::Left | End::Broken(_) => break false,
            }
            let opened = self.again();
            self.shared.lock().again = None;
            match opened {
                Some(opened) => {
                    self.tell(NoticeLevel::Info, "the link is back", "nothing was lost or computed twice");
                    channel = opened;
                }
                None => break false,
            }
        };
        let mut out = self.shared.lock();
        // If the client left, the engine continues on the other machine.
        out.over = over || !out.leaving;
        drop(out);
        self.shared.notify();
    }

    fn tell(&self, level: NoticeLevel, what: &str, hint: &str) {
        let problem = Problem::new(what, self.address.host(), hint);
        self.sink.tell(level, problem);
    }

    fn tell_superseded(&self) {
        self.tell(NoticeLevel::Error, "a different screen now controls the engine", "attach again to watch it");
    }

    fn tell_broken(&self, error: &RemoteError) {
        let what = match error {
            RemoteError::Link { what, .. } | RemoteError::Refused { what, .. } => what.clone(),
            RemoteError::Io { .. } => error.to_string(),
        };
        let hint = "the engine continues on the remote machine; once the link is back, all missed messages are sent";
        self.tell(NoticeLevel::Warning, &format!("the link broke: {what}"), hint);
    }

    /// Tries to reconnect until the link is back; `None` if the client disconnects or the engine no longer exists.
    fn again(&mut self) -> Option<Channel> {
        let mut pause = PAUSES.0;
        loop {
            let mut out = self.shared.lock();
            let until = Instant::now() + pause;
            out.again = Some(until);
            while !out.leaving && !out.hurry && Instant::now() < until {
                out = self.shared.pause(out, until.saturating_duration_since(Instant::now()));
            }
            if out.leaving {
                return None;
            }
            (out.again, out.hurry) = (Some(Instant::now()), false);
            drop(out);
            pause = (pause * 2).min(PAUSES.1);
            self.hello.after = self.seen;
            match greet(&self.address, false, &self.hello) {
                Ok((_, welcome)) if self.steers && !welcome.steers => {
                    self.tell_superseded();
                    return None;
                }
                Ok((channel, welcome)) => {
                    self.shared.lock().resume(welcome.taken);
                    return Some(channel);
                }
                Err(RemoteError::Refused { what, .. }) => {
                    let hint = "`probity remote list` shows what runs on the remote machine, and `probity remote fetch` \
                        copies its session";
                    self.tell(NoticeLevel::Error, &what, hint);
                    return None;
                }
                Err(_) => {}
            }
        }
    }

    /// Passes the journal on until the connection breaks or ends.
    fn listen(&mut self, channel: &mut Channel) -> End {
        let Some(stdin) = channel.stdin.take() else { return End::Left };
        let (shared, child) = (self.shared.clone(), channel.child.clone());
        let epoch = {
            let mut out = self.shared.lock();
            out.heard = Some(Instant::now());
            out.epoch
        };
        let write = move || write(&shared, epoch, stdin, &child);
        if std::thread::Builder::new().name("words".into()).spawn(write).is_err() {
            return End::Left;
        }
        loop {
            let message = match channel.read() {
                Ok(message) => message,
                Err(error) => return End::Broken(channel.failure(&self.address, &error)),
            };
            self.shared.lock().heard = Some(Instant::now());
            match message {
                Message::Line { number, own, line } if number == self.seen + 1 => {
                    self.seen = number;
                    let passed = match (own, entry(&line)) {
                        (true, _) => {
                            self.shared.lock().confirm();
                            self.shared.notify();
                            true
                        }
                        // Commands come only from the client in control, or from the keeper when it ends the engine.
                        (_, Some(Entry { item: Item::Command(command), .. }))
                            if self.steers && command != engine::message::Command::Shutdown =>
                        {
                            return End::Superseded;
                        }
                        (_, Some(entry)) => self.sink.send(entry),
                        (_, None) => true,
                    };
                    if !passed {
                        return End::Left;
                    }
                }
                Message::Passing(line) => entry(&line).into_iter().for_each(|entry| self.sink.offer(entry)),
                Message::Ping => {
                    self.shared.lock().pong = true;
                    self.shared.notify();
                }
                Message::Bye => return End::Over,
                _ => {
                    let host = self.address.host().to_owned();
                    return End::Broken(RemoteError::Refused { host, what: DISORDER.into() });
                }
            }
        }
    }
}

/// Writes commands until the link is replaced, the client disconnects, or the far end is silent for too long.
fn write(shared: &Shared, epoch: u64, mut stdin: ChildStdin, child: &Mutex<Child>) {
    loop {
        let mut out = shared.lock();
        let message = loop {
            if out.epoch != epoch {
                return;
            }
            if std::mem::take(&mut out.pong) {
                break Message::Pong;
            }
            if let Some(command) = out.next() {
                break command;
            }
            if out.leaving {
                break Message::Bye;
            }
            let silent = out.heard.map_or(Duration::ZERO, |heard| heard.elapsed());
            if silent > SILENCE {
                drop(out);
                // The reading thread notices that the process has ended.
                let _ = child.lock().unwrap_or_else(PoisonError::into_inner).kill();
                return;
            }
            out = shared.pause(out, SILENCE.saturating_sub(silent).max(Duration::from_millis(10)));
        };
        drop(out);
        if message.write(&mut stdin).and_then(|()| Ok(stdin.flush()?)).is_err() {
            return;
        }
        if message == Message::Bye {
            shared.lock().flushed = true;
            shared.notify();
            return;
        }
    }
}
