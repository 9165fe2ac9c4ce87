//! A channel to the far end: its child process, the first messages, and explanations of failures.

use std::hash::{BuildHasher, Hasher};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdin, ChildStdout, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::RemoteError;
use super::address::Address;
use super::frame::{FrameError, PROTOCOL};
use super::message::{Hello, Message, Unreadable};
use super::pack::Unpacker;
use base::text::printable_message;

/// Maximum number of bytes kept from ssh's messages.
const SAID: usize = 4096;
/// Maximum time to wait for the last messages of a child process.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// Maximum time to wait for a child process to end after its channel has closed.
const ENDING: Duration = Duration::from_secs(2);

pub(super) fn random() -> u64 {
    // The seed of the standard library's hash maps is random.
    let mut hasher = std::collections::hash_map::RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    hasher.finish().max(1)
}

pub(super) struct Channel {
    pub child: Arc<Mutex<Child>>,
    pub stdin: Option<ChildStdin>,
    pub stdout: BufReader<ChildStdout>,
    unpacker: Unpacker,
    said: Arc<Mutex<String>>,
    listener: Option<JoinHandle<()>>,
}

impl Channel {
    pub(crate) fn open(address: &Address, can_ask: bool, hello: &Hello) -> Result<Self, RemoteError> {
        let mut command = address.command(can_ask);
        let link =
            |what: String, hint: &str| RemoteError::Link { host: address.host().to_owned(), what, hint: hint.into() };
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if !can_ask {
            // Keeps signals of the terminal from the child.
            std::os::unix::process::CommandExt::process_group(&mut command, 0);
        }
        let mut child = command.spawn().map_err(|e| {
            let what = format!("{} cannot be started: {e}", address.ssh());
            link(what, "install OpenSSH's client, or set PROBITY_SSH")
        })?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(mut stdin), Some(stdout), Some(stderr)) = (stdin, stdout, stderr) else {
            return Err(link("no pipe to ssh".into(), "try again"));
        };
        let said = Arc::new(Mutex::new(String::new()));
        let heard = said.clone();
        let collect = move || collect(stderr, &heard);
        // Without this thread, errors do not include ssh's own message.
        let listener = std::thread::Builder::new().name("said".into()).spawn(collect).ok();
        // If this fails, the next read reports the reason.
        let _ = Message::Hello(Box::new(hello.clone())).write(&mut stdin);
        Ok(Self {
            child: Arc::new(Mutex::new(child)),
            stdin: Some(stdin),
            stdout: BufReader::new(stdout),
            unpacker: Unpacker::default(),
            said,
            listener,
        })
    }

    pub(crate) fn read(&mut self) -> Result<Message, Unreadable> {
        self.unpacker.read(&mut self.stdout)
    }

    /// Ends the child and explains why the channel broke.
    pub(crate) fn failure(&mut self, address: &Address, error: &Unreadable) -> RemoteError {
        self.stdin = None;
        let status = end(&self.child, matches!(error, Unreadable::Frame(FrameError::End | FrameError::Io(_))));
        // The last messages may still be in transit. The wait is limited, because a process that ssh started may keep the pipe open.
        let until = Instant::now() + LAST_WORDS;
        while self.listener.as_ref().is_some_and(|l| !l.is_finished()) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner).clone();
        explain(address, error, status, &said)
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        self.stdin = None;
        end(&self.child, false);
    }
}

/// Waits briefly if the child process should end by itself, then kills it.
fn end(child: &Mutex<Child>, by_itself: bool) -> Option<ExitStatus> {
    let mut child = child.lock().unwrap_or_else(PoisonError::into_inner);
    let until = Instant::now() + if by_itself { ENDING } else { Duration::from_millis(200) };
    while Instant::now() < until {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) => std::thread::sleep(Duration::from_millis(10)),
            Err(_) => return None,
        }
    }
    // The child may already have ended.
    let _ = child.kill();
    child.wait().ok();
    None
}

/// Keeps the last lines printed by ssh and the remote shell.
fn collect(source: impl Read, said: &Mutex<String>) {
    let mut source = BufReader::new(source).take(1 << 20);
    let mut line = Vec::new();
    while source.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
        let text = printable_message(String::from_utf8_lossy(&line).trim_end());
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        if !text.is_empty() && said.len() < SAID {
            said.push_str(&text);
            said.push('\n');
        }
        line.clear();
    }
    // The pipe must be read to its end, so that the child process does not block.
    let _ = std::io::copy(&mut source.into_inner(), &mut std::io::sink());
}

/// Explains a broken channel on the basis of the messages from ssh, the remote shell and the remote program.
fn explain(address: &Address, error: &Unreadable, status: Option<ExitStatus>, said: &str) -> RemoteError {
    let host = address.host().to_owned();
    let target = address.target();
    let code = status.and_then(|s| s.code());
    let last = said.lines().next_back().unwrap_or_default().to_owned();
    let has = |words: &[&str]| words.iter().any(|w| said.contains(w));
    let (what, hint) = match error {
        Unreadable::Frame(FrameError::Version(theirs)) => {
            let which = if *theirs > PROTOCOL { "this program" } else { "the remote program" };
            (error.to_string(), format!("update {which}, so that both have the same version"))
        }
        Unreadable::Frame(FrameError::Foreign(_)) => (
            error.to_string(),
            "a start-up file of the remote shell prints something; make it print only on terminals".into(),
        ),
        Unreadable::Frame(FrameError::End | FrameError::Cut | FrameError::Io(_)) => {
            let what = if last.is_empty() { error.to_string() } else { last };
            (what, advice(&target, code, &has))
        }
        _ => (error.to_string(), "use the same version of Probity on both machines".into()),
    };
    RemoteError::Link { host, what, hint }
}

/// Exit code of ssh when the link failed.
pub(super) const LINK: i32 = 255;

/// Explains why a command of the remote program failed, on the basis of the output from ssh, the shell and the program. A refusal by the
/// program itself is passed on unchanged.
pub fn failed(address: &Address, code: Option<i32>, said: &str) -> RemoteError {
    let host = address.host().to_owned();
    let printable: Vec<String> = said.lines().map(printable_message).collect();
    let has = |words: &[&str]| words.iter().any(|w| said.contains(w));
    let older = ["unrecognized subcommand", "unexpected argument"];
    if matches!(code, Some(LINK | 126 | 127)) || has(&older) {
        let first = printable.iter().find(|line| older.iter().any(|w| line.contains(w)));
        let told = first.or(printable.last()).cloned();
        let what = told.unwrap_or_else(|| "it ended without a message".into());
        return RemoteError::Link { host, what, hint: advice(&address.target(), code, &has) };
    }
    let own = printable.iter().map(|line| line.strip_prefix("error: ").unwrap_or(line));
    let what = own.collect::<Vec<_>>().join("\n");
    RemoteError::Refused { host, what: if what.is_empty() { "it ended without a message".into() } else { what } }
}

fn advice(target: &str, code: Option<i32>, has: &dyn Fn(&[&str]) -> bool) -> String {
    if has(&["Could not resolve", "not known"]) {
        return format!("no such host; check that `ssh {target}` works");
    }
    if has(&["Permission denied", "Too many authentication"]) {
        return format!(
            "the host accepts none of your keys; run `ssh-copy-id {target}`, or start ssh-agent; `ssh -v {target}` shows details"
        );
    }
    if has(&["Host key verification", "HOST IDENTIFICATION"]) {
        return format!("connect once with `ssh {target}` and compare the host's key");
    }
    if has(&["refused", "timed out", "No route", "unreachable"]) {
        return "the host does not answer; check the port, and that the machine is running".into();
    }
    if has(&["unrecognized subcommand", "unexpected argument"]) {
        return "the remote program is too old for remote runs; update it".into();
    }
    if code == Some(126) || has(&["Exec format"]) {
        return "the remote program is built for another kind of machine; build it there".into();
    }
    if code == Some(127) || has(&["not found", "No such file"]) {
        return format!(
            "`probity` is not installed there: copy it with `scp \"$(command -v probity)\" {target}:.local/bin/` if both machines are of the same kind, build it there with `cargo install`, or give its path as ssh://{target}/path/to/probity"
        );
    }
    format!("check that `ssh {target}` works")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(said: &str) -> String {
        let address: Address = "ssh://ada@gpu1".parse().unwrap();
        explain(&address, &FrameError::End.into(), None, said).to_string()
    }

    #[test]
    fn connection_failure_quotes_ssh_with_a_remedy() {
        for (said, hint) in [
            ("ssh: Could not resolve hostname gpu1: Name or service not known\n", "`ssh ada@gpu1` works"),
            ("ada@gpu1: Permission denied (publickey).\n", "ssh-copy-id ada@gpu1"),
            ("Host key verification failed.\n", "compare the host's key"),
            ("ssh: connect to host gpu1 port 22: Connection refused\n", "the port"),
            ("sh: 1: exec: probity: not found\n", "scp"),
            ("error: unrecognized subcommand 'engine'\n", "too old"),
        ] {
            let text = told(said);
            assert!(text.starts_with("gpu1: ") && text.contains(said.trim_end()) && text.contains(hint), "{text}");
        }
        assert!(told("").contains("connection was closed"), "{}", told(""));
    }

    #[test]
    fn remote_failure_distinguishes_link_and_program() {
        let address: Address = "ssh://ada@gpu1".parse().unwrap();
        for (code, said, words) in [
            (255, "ssh: Could not resolve hostname gpu1: Name or service not known", "no such host"),
            (255, "ada@gpu1: Permission denied (publickey).", "ssh-copy-id ada@gpu1"),
            (127, "sh: 1: exec: probity: not found", "scp"),
            (2, "error: unexpected argument '--received' found\n\nUsage: probity", "too old"),
            (1, "error: sbatch refused (exit status: 1): invalid\u{7} partition", "gpu1: sbatch refused"),
            (1, "", "without a message"),
        ] {
            let text = failed(&address, Some(code), said).to_string();
            assert!(text.starts_with("gpu1: ") && text.contains(words) && !text.contains('\u{7}'), "{text}");
        }
    }

    #[test]
    fn ssh_output_is_sanitised_and_bounded() {
        let said = Mutex::new(String::new());
        let noise = b"\x1b[2Jx\n".repeat(5000);
        collect(noise.as_slice(), &said);
        let said = said.into_inner().unwrap();
        assert!(!said.contains('\u{1b}') && said.len() < 2 * SAID, "{}", said.len());
    }

    #[test]
    fn version_mismatch_names_the_end_to_update() {
        let address: Address = "ssh://gpu1".parse().unwrap();
        let text = |v| explain(&address, &FrameError::Version(v).into(), None, "").to_string();
        assert!(text(PROTOCOL + 1).contains("update this program"));
        assert!(text(PROTOCOL.wrapping_sub(1)).contains("update the remote program"));
    }
}
