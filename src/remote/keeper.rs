//! The keeper: owns the remote engine, its session and its journal, and serves the clients.

use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use tokio::sync::mpsc::Receiver;

use super::journal::Hub;
use super::message::{Hello, Message, Want, Welcome};
use super::pack::{self, Packer};
use super::{RemoteError, place, transfer};
use base::signals;
use engine::Engine;
use engine::local::{LocalEngine, LocalOptions};
use engine::message::{Command, Event};
use session::format::Header;
use session::name;
use session::record::Recorder;

/// Time without a message after which a client is considered gone.
const SILENCE: Duration = Duration::from_secs(30);
/// Interval of keep-alive messages to a silent client.
const PING: Duration = Duration::from_millis(if cfg!(test) { 100 } else { 5_000 });
/// Minimum time between two progress lines.
const PROGRESS: Duration = Duration::from_millis(200);
/// Maximum time to wait for a run to stop.
const STOPPING: Duration = Duration::from_secs(60);
/// Maximum size in bytes of a file sent to the engine.
const MAX_SENT: u64 = 8 << 30;
/// Maximum number of journal lines written at a time.
const CHUNK: usize = 64;

pub struct Terms {
    /// Name of the engine and of its folder.
    pub name: String,
    pub options: LocalOptions,
    /// Device and precision, as in the session header.
    pub place: String,
    /// Idle time without a client after which the engine ends.
    pub wait: Duration,
}

struct Shared {
    hub: Mutex<Hub>,
    changed: Condvar,
    wait: Duration,
    number: u64,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Hub> {
        self.hub.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pause<'a>(&self, hub: MutexGuard<'a, Hub>, most: Duration) -> MutexGuard<'a, Hub> {
        self.changed.wait_timeout(hub, most).unwrap_or_else(PoisonError::into_inner).0
    }
}

/// Runs an engine until it has ended.
///
/// # Errors
/// [`RemoteError::Io`] if the socket, session or threads cannot be created.
pub fn keep(terms: Terms) -> Result<(), RemoteError> {
    // Detaches from the terminal, so that no hangup arrives. This fails only for a process that already leads its session.
    let _ = nix::unistd::setsid();
    // The error is shown on a different machine and must not contain paths of this one.
    let fail = |place: &'static str| move |source| RemoteError::Io { place: place.into(), source };
    let other = |e: session::SessionError| RemoteError::Io {
        place: "session".into(),
        source: std::io::Error::other(place::told(&e)),
    };
    let folder = place::of(&place::folder().map_err(other)?, &terms.name);
    let sessions = name::folder().map_err(other)?;
    let header = Header::new(&terms.place, name::utc(SystemTime::now()), None);
    let recorder = Recorder::create(&sessions, &terms.name, &header).map_err(other)?;
    let mut engine = LocalEngine::start(terms.options).map_err(fail("engine"))?;
    let events = engine.take_events();
    let hub = Hub::new(terms.name, header.created, folder.join("sent"), Box::new(engine), recorder);
    let shared = Arc::new(Shared {
        hub: Mutex::new(hub),
        changed: Condvar::new(),
        wait: terms.wait,
        number: super::near::random(),
    });
    let socket = place::socket(&folder);
    let listener = UnixListener::bind(&socket).map_err(fail("socket"))?;
    let spawn = |name: &str, work: Box<dyn FnOnce() + Send>| {
        std::thread::Builder::new().name(name.into()).spawn(work).map(drop).map_err(fail("thread"))
    };
    if let Some(events) = events {
        let shared = shared.clone();
        spawn("events", Box::new(move || pump(&shared, events)))?;
    }
    let door = shared.clone();
    spawn("door", Box::new(move || answer(&door, &listener)))?;
    let told = shared.clone();
    // A signal that cannot be caught keeps its usual effect.
    let _ = signals::listen(&[signal_hook::consts::SIGTERM], move |_| stop(&told));
    watch(&shared);
    // Errors are ignored: a leftover folder is recognised as belonging to an engine that has ended.
    let _ = std::fs::remove_dir_all(&folder);
    Ok(())
}

fn stop(shared: &Shared) {
    shared.lock().command(0, &Command::Shutdown);
    shared.changed.notify_all();
}

/// Waits until the engine has ended; ends it if it has been idle without a client for too long.
fn watch(shared: &Shared) {
    let mut hub = shared.lock();
    let mut stopping: Option<Instant> = None;
    while !hub.ended && stopping.is_none_or(|since| since.elapsed() < STOPPING) {
        let left = hub.left(shared.wait);
        if left == Some(Duration::ZERO) && !hub.closing {
            hub.command(0, &Command::Shutdown);
        }
        if hub.closing {
            stopping.get_or_insert_with(Instant::now);
        }
        hub = shared.pause(hub, left.unwrap_or(PING).clamp(Duration::from_millis(50), PING));
    }
    hub.ended = true;
    hub.finish();
    shared.changed.notify_all();
    // Leaves time to notify the attached clients.
    let until = Instant::now() + Duration::from_secs(2);
    while (hub.links() > 0 || hub.stopping > 0) && Instant::now() < until {
        hub = shared.pause(hub, Duration::from_millis(50));
    }
}

/// Moves the engine's events into the journal.
fn pump(shared: &Shared, mut events: Receiver<Event>) {
    while let Some(event) = events.blocking_recv() {
        shared.lock().event(&event);
        shared.changed.notify_all();
    }
    shared.lock().ended = true;
    shared.changed.notify_all();
}

fn answer(shared: &Arc<Shared>, listener: &UnixListener) {
    for stream in listener.incoming().flatten() {
        let shared = shared.clone();
        // If no thread can be started, the connection closes, and the client tries again.
        let _ = std::thread::Builder::new().name("link".into()).spawn(move || serve(&shared, stream));
    }
}

fn serve(shared: &Arc<Shared>, mut stream: UnixStream) {
    if stream.set_read_timeout(Some(SILENCE)).is_err() {
        return;
    }
    let Ok(Message::Hello(hello)) = Message::read(&mut stream) else { return };
    match hello.want {
        Want::List => {
            let status = shared.lock().status(shared.wait);
            let _ = Message::List(vec![status]).write(&mut stream);
        }
        Want::Stop => {
            shared.lock().stopping += 1;
            stop(shared);
            let mut hub = shared.lock();
            while !hub.ended {
                hub = shared.pause(hub, PING);
            }
            drop(hub);
            let _ = Message::Bye.write(&mut stream);
            shared.lock().stopping -= 1;
            shared.changed.notify_all();
        }
        Want::Open | Want::Attach => attach(shared, stream, &hello),
        // The bridge answers this request itself.
        Want::Fetch => {}
    }
}

fn attach(shared: &Arc<Shared>, mut stream: UnixStream, hello: &Hello) {
    if hello.engine != 0 && hello.engine != shared.number {
        let why = format!("the earlier engine {} has ended; a new engine now has its name", hello.name);
        let _ = Message::Refused(why).write(&mut stream);
        return;
    }
    let Ok(closer) = stream.try_clone() else { return };
    let (link, welcome) = {
        let mut hub = shared.lock();
        let (link, steers, taken) = hub.join(hello.client, hello.sees, closer);
        let welcome = Welcome {
            version: env!("CARGO_PKG_VERSION").into(),
            name: hub.name().to_owned(),
            engine: shared.number,
            head: hub.head(),
            steers,
            taken,
            wait: shared.wait.as_secs(),
        };
        (link, welcome)
    };
    shared.changed.notify_all();
    if Message::Welcome(welcome).write(&mut stream).is_ok()
        && (0..hello.files).all(|_| receive(shared, &mut stream))
        && let Ok(out) = stream.try_clone()
    {
        let (feeder, after, client) = (shared.clone(), hello.after, hello.client);
        let feed = move || feed(&feeder, Reader { link, client, cursor: after, seen: [0; 2] }, out);
        if std::thread::Builder::new().name("feed".into()).spawn(feed).is_ok() {
            listen(shared, link, &mut stream);
        }
    }
    shared.lock().part(link);
    shared.changed.notify_all();
    let _ = stream.shutdown(std::net::Shutdown::Both);
}

/// Receives a file that a spec names, and confirms or refuses it.
fn receive(shared: &Shared, stream: &mut UnixStream) -> bool {
    let Ok(Message::File(name)) = Message::read(stream) else { return false };
    let arrive = |stream: &mut UnixStream| -> std::io::Result<String> {
        let inner =
            transfer::inner(&name).ok_or_else(|| std::io::Error::other("its name points outside the folder"))?;
        let path = shared.lock().sent().join(inner);
        std::fs::create_dir_all(path.parent().unwrap_or(&path))?;
        let mut arriving = transfer::Incoming::new(&path, MAX_SENT)?;
        loop {
            match Message::read(stream) {
                Ok(Message::Piece(piece)) => arriving.take(&piece)?,
                Ok(Message::Whole(sum)) => {
                    arriving.close(&sum)?.persist(&path).map_err(|e| e.error)?;
                    return Ok(sum);
                }
                _ => return Err(std::io::Error::other("the link broke")),
            }
        }
    };
    match arrive(stream) {
        Ok(sum) => Message::Whole(sum).write(stream).is_ok(),
        Err(error) => {
            // The sender may be gone.
            let _ = Message::Refused(format!("{name} cannot be sent to the remote machine: {error}")).write(stream);
            false
        }
    }
}

/// Receives commands until the client leaves, is silent for too long, or sends bytes that are not a message.
fn listen(shared: &Shared, link: u64, stream: &mut UnixStream) {
    loop {
        match Message::read(stream) {
            Ok(Message::Command { number, command }) => {
                if !shared.lock().take(link, number, &command) {
                    return;
                }
                shared.changed.notify_all();
            }
            Ok(Message::Pong) => {}
            _ => return,
        }
    }
}

/// A client's position in the journal.
struct Reader {
    link: u64,
    client: u64,
    /// Number of journal lines sent.
    cursor: u64,
    /// Sequence number of the latest progress sent, by kind.
    seen: [u64; 2],
}

/// Writes the journal to a client, and progress once the client has received the whole journal.
fn feed(shared: &Shared, mut reader: Reader, mut out: UnixStream) {
    let mut packer = Packer::default();
    let mut pinged = Instant::now();
    let mut progress = Instant::now();
    loop {
        let mut hub = shared.lock();
        let messages = loop {
            if !hub.is_linked(reader.link) {
                return;
            }
            if pinged.elapsed() >= PING {
                pinged = Instant::now();
                break vec![Message::Ping];
            }
            let lines = hub.lines(reader.cursor, CHUNK, reader.client);
            if !lines.is_empty() {
                reader.cursor += lines.len() as u64;
                break lines;
            }
            if hub.ended {
                break vec![Message::Bye];
            }
            let due = PROGRESS.saturating_sub(progress.elapsed());
            let passing = if due.is_zero() { hub.passing(&mut reader.seen) } else { Vec::new() };
            if !passing.is_empty() {
                progress = Instant::now();
                break passing;
            }
            let waits = if due.is_zero() { PING } else { due }.min(PING.saturating_sub(pinged.elapsed()));
            hub = shared.pause(hub, waits.max(Duration::from_millis(1)));
        };
        drop(hub);
        let sent = pack(&mut packer, &messages).is_some_and(|b| std::io::Write::write_all(&mut out, &b).is_ok());
        if !sent || messages == [Message::Bye] {
            shared.lock().part(reader.link);
            shared.changed.notify_all();
            // Wakes the listening thread.
            let _ = out.shutdown(std::net::Shutdown::Both);
            return;
        }
    }
}

/// Packs the frames of these messages.
fn pack(packer: &mut Packer, messages: &[Message]) -> Option<Vec<u8>> {
    let (mut out, mut frames) = (Vec::new(), Vec::new());
    for (k, message) in messages.iter().enumerate() {
        // No message in the journal is too long for a frame.
        message.write(&mut frames).ok()?;
        if frames.len() >= pack::MOST || k + 1 == messages.len() {
            Message::Packed(packer.pack(&frames).ok()?).write(&mut out).ok()?;
            frames.clear();
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pack::Unpacker;
    use engine::fake::FakeEngine;

    /// Regression: during a run with constant progress, no keep-alives used to be sent. The client never had to answer, so its link was
    /// declared dead every half minute.
    #[test]
    fn busy_client_still_gets_keepalives() {
        let folder = tempfile::tempdir().unwrap();
        let header = Header::new("cpu", "2026-01-02T03:04:05Z".into(), None);
        let recorder = Recorder::create(folder.path(), "a", &header).unwrap();
        let engine = Box::new(FakeEngine::new(Box::new(|_| Vec::new())));
        let hub = Hub::new("a".into(), header.created, folder.path().join("sent"), engine, recorder);
        let shared = Arc::new(Shared { hub: Mutex::new(hub), changed: Condvar::new(), wait: PING, number: 1 });
        let (mut near, far) = UnixStream::pair().unwrap();
        let (link, ..) = shared.lock().join(7, false, far.try_clone().unwrap());
        let reader = Reader { link, client: 7, cursor: 0, seen: [0; 2] };
        let feeder = shared.clone();
        let fed = std::thread::spawn(move || feed(&feeder, reader, far));
        let busy = std::thread::spawn(move || {
            let until = Instant::now() + PING * 4;
            while Instant::now() < until {
                shared.lock().event(&Event::Models { models: Vec::new() });
                shared.changed.notify_all();
                std::thread::sleep(PING / 20);
            }
            shared.lock().part(link);
            shared.changed.notify_all();
        });
        let (mut unpacker, mut lines, mut asked) = (Unpacker::default(), 0, 0);
        while let Ok(message) = unpacker.read(&mut near) {
            lines += usize::from(matches!(message, Message::Line { .. }));
            asked += usize::from(message == Message::Ping);
        }
        busy.join().unwrap();
        fed.join().unwrap();
        assert!(lines > 4 && (2..=4).contains(&asked), "{lines} lines, {asked} questions");
    }
}
