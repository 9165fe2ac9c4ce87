//! The bridge: the process that ssh starts on the remote machine. It finds or starts the keeper and copies bytes between keeper and client.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::message::{Hello, Message, Status, Unreadable, Want};
use super::{place, transfer};
use session::{name, shelf};

/// Maximum time until a new keeper must be listening.
const START: Duration = Duration::from_secs(30);
/// Maximum time until an engine must have reported its status.
const ANSWER: Duration = Duration::from_secs(2);
/// Maximum number of sessions listed after the engines.
const SESSIONS: usize = 20;

/// Serves one client, on one stream of bytes per direction, until the connection ends.
pub fn bridge(mut near: impl Read + Send + 'static, mut out: impl Write) {
    let refusal = match Message::read(&mut near) {
        Ok(Message::Hello(hello)) => serve(*hello, near, &mut out).err(),
        // A client with a different version receives the error in a frame of this version, whose header it can read.
        Err(Unreadable::Frame(error)) => Some(error.to_string()),
        Ok(_) | Err(_) => Some("the first message is not a request".into()),
    };
    if let Some(why) = refusal {
        // If the client has disconnected, the error does not matter.
        let _ = Message::Refused(why).write(&mut out);
    }
}

fn serve(mut hello: Hello, near: impl Read + Send + 'static, out: &mut impl Write) -> Result<(), String> {
    let root = place::folder().map_err(|e| place::told(&e))?;
    if hello.want != Want::List {
        hello.name = name::sanitise(&hello.name);
    }
    let folder = place::of(&root, &hello.name);
    let stream = match hello.want {
        Want::List => return Message::List(list(&root)).write(out).map_err(|e| e.to_string()),
        Want::Fetch => return fetch(&hello.name, out),
        Want::Open => {
            let (name, folder) = place::reserve(&root, &hello.name)
                .map_err(|e| format!("cannot create a folder for the engine on the remote machine: {e}"))?;
            hello.name = name;
            start(&hello, &folder).inspect_err(|_| {
                // Errors are ignored: a leftover folder is listed as an engine that has ended.
                let _ = std::fs::remove_dir_all(&folder);
            })?
        }
        Want::Attach => place::connect(&folder).map_err(|_| gone(&root, &hello.name))?,
        Want::Stop => match place::connect(&folder) {
            Ok(stream) => stream,
            // The keeper was killed, so its folder is removed.
            Err(_) if std::fs::remove_dir_all(&folder).is_ok() => {
                return Message::Bye.write(out).map_err(|e| e.to_string());
            }
            Err(_) => return Err(gone(&root, &hello.name)),
        },
    };
    copy(hello, near, stream, out).map_err(|e| e.to_string())
}

/// Returns the error for an unknown engine, with the names of the running engines.
fn gone(root: &Path, name: &str) -> String {
    let running: Vec<String> = list(root).into_iter().filter(|s| s.alive).map(|s| s.name).collect();
    let there = if running.is_empty() { "none is running".into() } else { format!("running: {}", running.join(", ")) };
    let session = name::file(&root.with_file_name("sessions"), name);
    let kept = if session.is_file() { "; its session still exists: `probity remote fetch` copies it" } else { "" };
    format!("no engine {name} is running on the remote machine ({there}){kept}")
}

/// Starts a keeper and waits until it listens.
fn start(hello: &Hello, folder: &Path) -> Result<UnixStream, String> {
    let fail = |e: std::io::Error| format!("the engine cannot be started: {e}");
    let log = folder.join(place::LOG);
    let mut command = Command::new(std::env::current_exe().map_err(fail)?);
    let greeting = serde_json::to_string(hello).map_err(|e| e.to_string())?;
    command.args(["engine", "--keep", &greeting]);
    let errors = std::fs::File::create(&log).map_err(fail)?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors);
    let mut keeper = command.spawn().map_err(fail)?;
    let until = Instant::now() + START;
    loop {
        if let Ok(stream) = place::connect(folder) {
            return Ok(stream);
        }
        let ended = keeper.try_wait().map_err(fail)?.is_some();
        if ended || Instant::now() > until {
            let said = base::read::text(&log, 1 << 20).unwrap_or_default();
            // If the log is empty, a failed write to it gives the reason, for example a full disk.
            let mute = || std::fs::write(&log, "-").map_or_else(|e| e.to_string(), |()| "it gave no reason".into());
            let said = said.lines().next_back().map_or_else(mute, str::to_owned);
            let _ = keeper.kill();
            return Err(format!("the engine did not start on the remote machine: {said}"));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Forwards the client's first message and copies bytes in both directions until either end closes.
fn copy(
    hello: Hello,
    mut near: impl Read + Send + 'static,
    mut keeper: UnixStream,
    out: &mut impl Write,
) -> std::io::Result<()> {
    let broken = |e: super::frame::FrameError| std::io::Error::other(e.to_string());
    Message::Hello(Box::new(hello)).write(&mut keeper).map_err(broken)?;
    let mut towards = keeper.try_clone()?;
    std::thread::Builder::new().name("near".into()).spawn(move || {
        pour(&mut near, &mut towards);
        // Once the link is closed, there is no reason to read from the engine.
        let _ = towards.shutdown(std::net::Shutdown::Both);
    })?;
    pour(&mut keeper, out);
    Ok(())
}

fn pour(from: &mut dyn Read, to: &mut dyn Write) {
    let mut buffer = vec![0; 64 << 10];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return,
            Ok(n) if to.write_all(&buffer[..n]).and_then(|()| to.flush()).is_ok() => {}
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Ok(_) | Err(_) => return,
        }
    }
}

fn ask(folder: &Path) -> Option<Status> {
    let mut stream = place::connect(folder).ok()?;
    stream.set_read_timeout(Some(ANSWER)).ok()?;
    Message::Hello(Box::new(Hello { want: Want::List, ..Hello::default() })).write(&mut stream).ok()?;
    match Message::read(&mut stream).ok()? {
        Message::List(mut all) => all.pop(),
        _ => None,
    }
}

/// Lists running engines, then killed ones, then the latest sessions.
fn list(root: &Path) -> Vec<Status> {
    let mut all: Vec<Status> = Vec::new();
    for entry in std::fs::read_dir(root).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let killed = || Status { name, state: "killed; its session is incomplete".into(), ..Status::default() };
        all.push(ask(&entry.path()).unwrap_or_else(killed));
    }
    all.sort_by(|a, b| (!a.alive, &a.created, &a.name).cmp(&(!b.alive, &b.created, &b.name)));
    let sessions = shelf::recent(&root.with_file_name("sessions"), SESSIONS).unwrap_or_default();
    for session in sessions {
        if all.iter().all(|s| s.name != session.name) {
            let state = session.end.word().to_owned();
            let (name, created) = (session.name, session.created);
            all.push(Status { name, created, state, ..Status::default() });
        }
    }
    all
}

/// Sends a recorded session in pieces, followed by its checksum.
fn fetch(name: &str, out: &mut impl Write) -> Result<(), String> {
    let folder = name::folder().map_err(|e| place::told(&e))?;
    let path = name::file(&folder, name);
    let fail = |e: std::io::Error| match e.kind() {
        std::io::ErrorKind::NotFound => {
            format!("no session {name} on the remote machine; `probity remote list` lists its sessions")
        }
        _ => format!("cannot send the session {name}: {e}"),
    };
    let mut file = base::read::open(&path).map_err(fail)?;
    transfer::send(&mut file, out).map_err(fail)
}
