//! Link traffic of a live run: messages and bytes per second for each lab's shipped spec, before ssh compresses and encrypts them, and on
//! the wire.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

#[path = "../common/daemon.rs"]
mod daemon;

use daemon::Daemon;
use probity::remote::message::Message;
use probity::remote::pack::Unpacker;

/// Environment variable that names the log file of the traffic; it is set when this program is started instead of ssh.
const LOG: &str = "PROBITY_LINK_LOG";
/// Size in bytes of a frame header; bytes 4 to 7 are the length of the body.
const HEADER: usize = 12;
/// Maximum duration of a measured run.
const LONGEST: Duration = Duration::from_secs(240);

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |t| t.as_secs_f64())
}

/// Replaces ssh: starts the far end on this machine and copies bytes in both directions. For each message from the far end, logs the
/// time, whether it reports progress, and its sizes as sent and unpacked.
fn copy(log: &Path) {
    let probity = env!("CARGO_BIN_EXE_probity");
    let mut command = Command::new(probity);
    command.args(["engine", "--stdio"]).stdin(Stdio::piped()).stdout(Stdio::piped()).env_remove(LOG);
    let mut child = command.spawn().expect("the far end");
    let (mut there, mut from) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
    let mut notes = File::options().create(true).append(true).open(log).expect("a log");
    let mut other = notes.try_clone().expect("a log");
    std::thread::spawn(move || {
        let (mut sent, mut buffer) = (0, vec![0; 64 << 10]);
        while let Ok(n @ 1..) = std::io::stdin().read(&mut buffer) {
            sent += n;
            if there.write_all(&buffer[..n]).and_then(|()| writeln!(other, "there {sent} 0")).is_err() {
                return;
            }
        }
    });
    let (mut open, mut buffer, mut unpacker) = (Vec::new(), vec![0; 64 << 10], Unpacker::default());
    while let Ok(n @ 1..) = from.read(&mut buffer) {
        open.extend_from_slice(&buffer[..n]);
        while open.len() >= HEADER {
            let length = u32::from_be_bytes([open[4], open[5], open[6], open[7]]) as usize;
            if open.len() < HEADER + length {
                break;
            }
            let frame: Vec<u8> = open.drain(..HEADER + length).collect();
            let (mut source, mut passed) = (frame.as_slice(), frame.len());
            // Messages packed together arrive together; their bytes are counted for the first one.
            while let Ok(message) = unpacker.read(&mut source) {
                let progress = matches!(message, Message::Passing(_));
                let plain = HEADER + message.frame().body.len();
                let passed = std::mem::take(&mut passed);
                writeln!(notes, "{} {} {passed} {plain}", now(), u8::from(progress)).expect("a log");
            }
        }
        let mut out = std::io::stdout();
        if out.write_all(&buffer[..n]).and_then(|()| out.flush()).is_err() {
            break;
        }
    }
    let _ = child.kill();
    let _ = child.wait();
}

/// Runs a spec through `ssh` in its own folders; returns the time in seconds.
fn run(spec: &Path, folder: &Path, ssh: &Path, variables: &[(&str, &Path)]) -> f64 {
    let begun = Instant::now();
    let mut command = Command::new(env!("CARGO_BIN_EXE_probity"));
    command.arg("run").arg(spec).args(["--remote", "ssh://far", "--no-session", "--quiet"]);
    command.env("PROBITY_STATE_DIR", folder).env("PROBITY_CACHE_DIR", folder.join("cache"));
    command.env("PROBITY_SSH", ssh).stdout(Stdio::null()).stderr(Stdio::null());
    command.envs(variables.iter().copied());
    let mut child = command.spawn().expect("the program");
    while child.try_wait().expect("a child").is_none() && begun.elapsed() < LONGEST {
        std::thread::sleep(Duration::from_millis(20));
    }
    let _ = child.kill();
    let _ = child.wait();
    begun.elapsed().as_secs_f64()
}

/// Number of bytes in the busiest second.
fn busiest(pieces: &[(f64, usize)]) -> usize {
    let longest = pieces.iter().map(|p| p.0 as usize).max().unwrap_or(0);
    let mut seconds = vec![0; longest + 1];
    pieces.iter().for_each(|(t, bytes)| seconds[*t as usize] += bytes);
    seconds.into_iter().max().unwrap_or(0)
}

fn raw(name: &str, spec: &Path) {
    let tmp = tempfile::tempdir().expect("a folder");
    let log = tmp.path().join("log");
    let own = std::env::current_exe().expect("this program");
    let begun = now();
    run(spec, tmp.path(), &own, &[(LOG, &log)]);
    let text = std::fs::read_to_string(&log).unwrap_or_default();
    let (mut pieces, mut plain, mut there, mut progress) = (Vec::new(), 0, 0, 0);
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |k: usize| words.get(k).and_then(|w| w.parse::<f64>().ok()).unwrap_or(0.0);
        match words[0] {
            "there" => there = number(1) as usize,
            _ => {
                progress += number(1) as usize;
                plain += number(3) as usize;
                pieces.push((number(0) - begun, number(2) as usize));
            }
        }
    }
    let seconds = pieces.iter().map(|p| p.0).fold(f64::NAN, f64::max);
    let bytes: usize = pieces.iter().map(|p| p.1).sum();
    println!(
        "{name:>12}  raw   {seconds:>6.1} s  {:>5} messages, {:>4.0}/s, {progress:>3} of progress  {:>8.0} B/s, busiest {:>7}, {:>8.0} B/s unpacked  there {there} B",
        pieces.len(),
        pieces.len() as f64 / seconds,
        bytes as f64 / seconds,
        busiest(&pieces),
        plain as f64 / seconds
    );
}

fn wire(name: &str, spec: &Path) {
    let tmp = tempfile::tempdir().expect("a folder");
    let dir = tmp.path().display();
    let bin = Path::new(env!("CARGO_BIN_EXE_probity")).parent().expect("a folder").display();
    let path = std::env::var("PATH").unwrap_or_default();
    let variables = format!("PROBITY_STATE_DIR={dir} PROBITY_CACHE_DIR={dir}/cache \"PATH={bin}:{path}\"");
    let daemon = match Daemon::start(tmp.path(), &variables) {
        Ok(daemon) => daemon,
        Err(why) => return println!("{name:>12}  wire  not measured: {why}"),
    };
    let wire = daemon.through(tmp.path(), Duration::ZERO);
    let ssh = tmp.path().join("ssh");
    std::fs::write(&ssh, format!("#!/bin/sh\nexec ssh -F '{dir}/config' \"$@\"\n")).expect("a script");
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&ssh, mode).expect("a script");
    }
    let begun = Instant::now();
    let seconds = run(spec, tmp.path(), &ssh, &[]);
    let pieces: Vec<(f64, usize)> =
        wire.pieces().iter().map(|(t, n)| (t.duration_since(begun).as_secs_f64(), *n)).collect();
    let bytes: usize = pieces.iter().map(|p| p.1).sum();
    println!(
        "{name:>12}  wire  {seconds:>6.1} s  {bytes} B  {:>8.0} B/s, busiest {:>7}",
        bytes as f64 / seconds,
        busiest(&pieces)
    );
}

fn main() {
    if let Some(log) = std::env::var_os(LOG) {
        return copy(Path::new(&log));
    }
    // `cargo bench --bench link -- power` measures one lab.
    let asked: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    for name in ["agreement", "prompts", "power", "saliency"] {
        if asked.is_empty() || asked.iter().any(|a| a == name) {
            let spec = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/specs").join(format!("{name}.toml"));
            raw(name, &spec);
            wire(name, &spec);
        }
    }
}
