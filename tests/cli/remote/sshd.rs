//! The remote engine through a real sshd on the loopback, which the test starts with its own keys.

use std::io::Write;
use std::time::Duration;

use probity::engine::Engine;
use probity::engine::message::Command;
use probity::lab::Spec;

use super::super::common::{Probity, TINY, refused};
use super::far::{LARGE_ENOUGH, Place, board_of, computed, findings_of, hello, here, run_of, until};
use crate::common::daemon::Daemon;

/// A daemon and the far end behind it.
struct Sshd {
    daemon: Daemon,
    place: Place,
}

impl Sshd {
    /// Replaces text in the ssh configuration file.
    fn told(&self, from: &str, to: &str) {
        let config = self.place.path().join("config");
        let text = std::fs::read_to_string(&config).unwrap();
        assert!(text.contains(from), "{from}: {text}");
        std::fs::write(&config, text.replace(from, to)).unwrap();
    }
}

/// Starts a daemon; `None`, with a visible message, if that is impossible.
fn start() -> Option<Sshd> {
    let place = Place::with("dir=\"${0%/*}\"\nexec ssh -F \"$dir/config\" \"$@\"");
    let dir = place.path().display();
    let path = std::env::var("PATH").unwrap_or_default();
    let bin = std::path::Path::new(env!("CARGO_BIN_EXE_probity")).parent().unwrap().display();
    let variables = format!("PROBITY_STATE_DIR={dir} PROBITY_CACHE_DIR={dir} \"PATH={dir}/bin:{bin}:{path}\"");
    match Daemon::start(place.path(), &variables) {
        Ok(daemon) => Some(Sshd { daemon, place }),
        Err(why) => {
            // Bypasses the test harness, which hides the output of passing tests.
            let _ = writeln!(std::io::stderr(), "skipped: the engine through a real sshd ({why})");
            None
        }
    }
}

/// Environment variable with the number of link cuts in a test (default two), at random moments of a sufficiently long run.
const CUTS: &str = "PROBITY_TEST_CUTS";

#[test]
fn cut_sshd_link_gives_bit_identical_results() {
    let Some(sshd) = start() else { return };
    let place = &sshd.place;
    let asked = std::env::var(CUTS).ok().and_then(|n| n.parse::<usize>().ok());
    let spec = if asked.is_some() { LARGE_ENOUGH } else { TINY };
    let spec = Spec::parse(spec, "tiny").unwrap();
    let (mut far, _) = place.connect(hello("real"));
    let mut events = far.take_events().unwrap();
    far.send(run_of(&spec)).unwrap();
    let cutter = place.cut_often(asked.unwrap_or(2), Duration::from_millis(200));
    let board = board_of(&spec, &mut events);
    let within = cutter.cut_so_far();
    cutter.join();
    match asked {
        None => assert_eq!(&findings_of(&board), here()),
        Some(cuts) => {
            assert_eq!(findings_of(&board), computed(&spec));
            let _ = writeln!(std::io::stderr(), "{within} of {cuts} cuts happened during the run");
        }
    }
    far.send(Command::Shutdown).unwrap();
    drop(far);
    until(|| place.engines().is_empty().then_some(()));
}

#[test]
fn sshd_failure_names_host_reason_and_remedy() {
    let Some(sshd) = start() else { return };
    let place = &sshd.place;
    let near = Probity::new();
    let list =
        |address: &str| near.command(&["remote", "list", address]).env("PROBITY_SSH", place.ssh()).output().unwrap();
    assert_eq!(list("ssh://far").status.code(), Some(0));
    // On a host without the program, the shell's message is shown with the way to install it.
    refused(&list("ssh://far/no/such/probity"), 1, &["far: ", "/no/such/probity", "scp", "cargo install"]);
    // Uses a user key that the host does not accept, then an empty list of known hosts, then a host name that does not exist.
    sshd.told("/user\n", "/stranger\n");
    refused(&list("ssh://far"), 1, &["far: ", "Permission denied", "ssh-copy-id"]);
    std::fs::write(place.path().join("known"), "").unwrap();
    refused(&list("ssh://far"), 1, &["far: ", "Host key verification failed", "connect once"]);
    sshd.told("127.0.0.1\n", "no-such-host.invalid\n");
    refused(&list("ssh://far"), 1, &["far: ", "resolve", "no such host"]);
}

/// ssh detects a changed bit and closes the connection; a delayed packet has no other effect.
#[test]
fn slow_corrupting_link_gives_bit_identical_results() {
    let Some(sshd) = start() else { return };
    let wire = sshd.daemon.through(sshd.place.path(), Duration::from_millis(10));
    let spec = Spec::parse(TINY, "tiny").unwrap();
    let (mut far, _) = sshd.place.connect(hello("garbled"));
    let mut events = far.take_events().unwrap();
    wire.garble(2);
    far.send(run_of(&spec)).unwrap();
    let board = board_of(&spec, &mut events);
    assert_eq!(&findings_of(&board), here());
    assert!(wire.garbled() > 0, "no data were corrupted");
    wire.garble(0);
    far.send(Command::Shutdown).unwrap();
    drop(far);
    until(|| sshd.place.engines().is_empty().then_some(()));
}

#[test]
fn sshd_login_node_submits_and_client_follows() {
    let Some(sshd) = start() else { return };
    super::submitted_there_and_followed_here(&sshd.place);
}
