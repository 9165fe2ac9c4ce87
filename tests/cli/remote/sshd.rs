//! The same through a real sshd on the loopback, which the test starts itself with keys of its own.

use std::io::Write;
use std::net::TcpListener;
use std::process::{Child, Command as Process, Stdio};
use std::time::Duration;

use probity::engine::Engine;
use probity::engine::message::Command;
use probity::lab::Spec;

use super::super::common::{Probity, TINY, refused};
use super::far::{Place, board_of, findings_of, hello, here, run_of, until};

/// A daemon and the place that it leads to.
struct Sshd {
    daemon: Child,
    place: Place,
}

impl Drop for Sshd {
    fn drop(&mut self) {
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}

/// Starts a daemon; none, said visibly, where that cannot be.
fn start() -> Option<Sshd> {
    let skipped = |why: &str| {
        // Past the test harness, which keeps what a passing test prints.
        let _ = writeln!(std::io::stderr(), "skipped: the engine through a real sshd ({why})");
    };
    let program =
        ["/usr/sbin/sshd", "/usr/local/sbin/sshd"].into_iter().find(|p| std::path::Path::new(p).exists());
    let Some(program) = program else {
        skipped("no sshd on this machine; install openssh-server");
        return None;
    };
    let port = TcpListener::bind("127.0.0.1:0").ok()?.local_addr().ok()?.port();
    let place = Place::with("dir=\"${0%/*}\"\nexec ssh -F \"$dir/config\" \"$@\"");
    let dir = place.path().display().to_string();
    for key in ["host", "user", "stranger"] {
        let made = Process::new("ssh-keygen")
            .args(["-q", "-t", "ed25519", "-N", "", "-f", &format!("{dir}/{key}")])
            .status();
        if !made.is_ok_and(|s| s.success()) {
            skipped("no ssh-keygen");
            return None;
        }
    }
    let read = |name: &str| std::fs::read_to_string(place.path().join(name)).unwrap();
    let write = |name: &str, text: String| std::fs::write(place.path().join(name), text).unwrap();
    write("known", format!("[127.0.0.1]:{port} {}", read("host.pub")));
    write("authorized", read("user.pub"));
    let path = std::env::var("PATH").unwrap_or_default();
    let bin = std::path::Path::new(env!("CARGO_BIN_EXE_probity")).parent().unwrap().display().to_string();
    write(
        "sshd_config",
        format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {dir}/host\nAuthorizedKeysFile {dir}/authorized\nPidFile none\nStrictModes no\n\
             UsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n\
             SetEnv PROBITY_STATE_DIR={dir} PROBITY_CACHE_DIR={dir} \"PATH={dir}/bin:{bin}:{path}\"\n"
        ),
    );
    write(
        "config",
        format!(
            "Host far\n  HostName 127.0.0.1\n  Port {port}\nHost *\n  IdentityFile {dir}/user\n  IdentitiesOnly yes\n\
             UserKnownHostsFile {dir}/known\n  StrictHostKeyChecking yes\n  LogLevel ERROR\n"
        ),
    );
    // Where nothing has started an sshd before, its empty folder is missing, which only root's one needs and only root can make.
    let _ = std::fs::create_dir("/run/sshd");
    let config = format!("{dir}/sshd_config");
    let mut daemon =
        Process::new(program).args(["-D", "-e", "-f", &config]).stderr(Stdio::null()).spawn().ok()?;
    let begun = std::time::Instant::now();
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        if daemon.try_wait().is_ok_and(|s| s.is_some()) || begun.elapsed() > Duration::from_secs(10) {
            skipped("sshd does not start for this user; as root it needs the folder /run/sshd");
            return None;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Some(Sshd { daemon, place })
}

#[test]
fn through_a_real_sshd_a_run_whose_link_is_cut_is_bit_for_bit_one_here() {
    let Some(sshd) = start() else { return };
    let place = &sshd.place;
    let spec = Spec::parse(TINY, "tiny").unwrap();
    let cuts = std::env::var("PROBITY_TEST_CUTS").ok().and_then(|n| n.parse().ok()).unwrap_or(2);
    let (mut far, _) = place.connect(hello("real"));
    let mut events = far.take_events().unwrap();
    far.send(run_of(&spec)).unwrap();
    let cutter = place.cut_often(cuts, Duration::from_millis(200));
    let board = board_of(&spec, &mut events);
    cutter.join().unwrap();
    assert_eq!(&findings_of(&board), here());
    far.send(Command::Shutdown).unwrap();
    drop(far);
    until(|| place.engines().is_empty().then_some(()));

    // A key that the host does not accept, and a host key that is not the known one.
    let near = Probity::new();
    let list =
        || near.command(&["remote", "list", "ssh://far"]).env("PROBITY_SSH", place.ssh()).output().unwrap();
    assert_eq!(list().status.code(), Some(0));
    let config = place.path().join("config");
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, text.replace("/user\n", "/stranger\n")).unwrap();
    refused(&list(), 1, &["far: ", "Permission denied", "ssh-copy-id"]);
    std::fs::write(place.path().join("known"), "").unwrap();
    refused(&list(), 1, &["far: ", "Host key verification failed", "connect once"]);
    std::fs::write(&config, text.replace("127.0.0.1\n", "no-such-host.invalid\n")).unwrap();
    refused(&list(), 1, &["far: ", "resolve", "no such host"]);
}

#[test]
fn through_a_real_sshd_the_login_node_submits_and_this_side_follows() {
    let Some(sshd) = start() else { return };
    super::submitted_there_and_followed_here(&sshd.place);
}
