//! A real sshd on the loopback with its own keys, and a proxy to it that delays, corrupts and counts data.
#![allow(dead_code, clippy::unwrap_used)] // tests use only some functions, benches only others

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A daemon that ends when dropped. `ssh -F DIR/config far` connects to it.
pub(crate) struct Daemon {
    daemon: Child,
    pub port: u16,
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}

impl Daemon {
    /// Starts a daemon with keys and configuration in `dir`; programs started by it get these environment variables (`A=1 "B=a b"`). The
    /// error says why this machine cannot run it.
    pub(crate) fn start(dir: &Path, variables: &str) -> Result<Self, String> {
        let program = ["/usr/sbin/sshd", "/usr/local/sbin/sshd"].into_iter().find(|p| Path::new(p).exists());
        let program = program.ok_or("no sshd on this machine; install openssh-server")?;
        let free = TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).map_err(|e| e.to_string())?;
        let port = free.port();
        let place = dir.display();
        for key in ["host", "user", "stranger"] {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f", &format!("{place}/{key}")])
                .status();
            if !made.is_ok_and(|s| s.success()) {
                return Err("no ssh-keygen".into());
            }
        }
        let read = |name: &str| std::fs::read_to_string(dir.join(name)).unwrap();
        let write = |name: &str, text: String| std::fs::write(dir.join(name), text).unwrap();
        write("known", format!("far-and-known {}", read("host.pub")));
        write("authorized", read("user.pub"));
        write(
            "sshd_config",
            format!(
                "Port {port}\nListenAddress 127.0.0.1\nHostKey {place}/host\nAuthorizedKeysFile {place}/authorized\nPidFile none\n\
                 StrictModes no\nUsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nSetEnv {variables}\n"
            ),
        );
        write(
            "config",
            format!(
                "Host far\n  HostName 127.0.0.1\n  Port {port}\n  HostKeyAlias far-and-known\nHost *\n  IdentityFile {place}/user\n  \
                 IdentitiesOnly yes\n  UserKnownHostsFile {place}/known\n  StrictHostKeyChecking yes\n  LogLevel ERROR\n"
            ),
        );
        // The empty folder that sshd needs is missing if no sshd has ever been started. Only root's daemon needs it, and only root can
        // create it.
        let _ = std::fs::create_dir("/run/sshd");
        let config = format!("{place}/sshd_config");
        let daemon = Command::new(program).args(["-D", "-e", "-f", &config]).stderr(Stdio::null()).spawn();
        let mut daemon = daemon.map_err(|e| e.to_string())?;
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if daemon.try_wait().is_ok_and(|s| s.is_some()) || begun.elapsed() > Duration::from_secs(10) {
                let _ = daemon.kill();
                return Err("sshd does not start for this user; as root it needs the folder /run/sshd".into());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(Self { daemon, port })
    }

    /// Routes ssh through a proxy that delays every piece of data.
    pub(crate) fn through(&self, dir: &Path, delay: Duration) -> Wire {
        let wire = Wire::to(self.port, delay);
        let config = dir.join("config");
        let text = std::fs::read_to_string(&config).unwrap();
        let (old, new) = (format!("Port {}\n", self.port), format!("Port {}\n", wire.port));
        std::fs::write(&config, text.replace(&old, &new)).unwrap();
        wire
    }
}

/// One in this many pieces of data is corrupted, until the requested number is reached.
const SELDOM: usize = 4;

/// Traffic through a port of the loopback.
pub(crate) struct Wire {
    port: u16,
    passing: Arc<Passing>,
}

/// State of the connection from the daemon: the number of pieces of data to corrupt, the number corrupted, and a log.
#[derive(Default)]
struct Passing {
    wanted: AtomicUsize,
    garbled: AtomicUsize,
    /// Arrival times and sizes of pieces.
    pieces: Mutex<Vec<(Instant, usize)>>,
}

impl Wire {
    fn to(port: u16, delay: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let wire = Self { port: listener.local_addr().unwrap().port(), passing: Arc::default() };
        let passing = wire.passing.clone();
        std::thread::spawn(move || {
            for near in listener.incoming().flatten() {
                let Ok(far) = TcpStream::connect(("127.0.0.1", port)) else { continue };
                let (Ok(near2), Ok(far2)) = (near.try_clone(), far.try_clone()) else { continue };
                std::thread::spawn(move || pour(near2, far2, delay, None));
                let passing = passing.clone();
                std::thread::spawn(move || pour(far, near, delay, Some(&passing)));
            }
        });
        wire
    }

    /// Changes a bit in this many pieces of data from the daemon, not in consecutive ones.
    pub(crate) fn garble(&self, pieces: usize) {
        self.passing.wanted.store(pieces, Ordering::SeqCst);
    }

    pub(crate) fn garbled(&self) -> usize {
        self.passing.garbled.load(Ordering::SeqCst)
    }

    /// Arrival times and sizes of pieces from the daemon.
    pub(crate) fn pieces(&self) -> Vec<(Instant, usize)> {
        self.passing.pieces.lock().unwrap().clone()
    }
}

impl Passing {
    fn piece(&self, bytes: &mut [u8]) {
        self.pieces.lock().unwrap().push((Instant::now(), bytes.len()));
        let less = |wanted: usize| wanted.checked_sub(1);
        if rand::random_range(0..SELDOM) == 0
            && self.wanted.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less).is_ok()
        {
            bytes[rand::random_range(0..bytes.len())] ^= 1 << rand::random_range(0..8);
            self.garbled.fetch_add(1, Ordering::SeqCst);
        }
    }
}

fn pour(mut from: TcpStream, mut to: TcpStream, delay: Duration, passing: Option<&Passing>) {
    let mut buffer = [0; 16 << 10];
    while let Ok(n @ 1..) = from.read(&mut buffer) {
        std::thread::sleep(delay);
        passing.iter().for_each(|passing| passing.piece(&mut buffer[..n]));
        if to.write_all(&buffer[..n]).is_err() {
            break;
        }
    }
    // Notifies each end that the other has closed.
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}
