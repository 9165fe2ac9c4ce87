//! Job control and the guard: what it takes that a terminal is given back however the program ends or is stopped.
//!
//! A process that is killed, or that aborts because memory is short, cannot restore anything itself. So a shell of a few
//! lines waits beside it on a pipe; when the pipe ends without a farewell, it takes the screen back. It holds no memory to
//! speak of and does nothing else.

use std::io::{self, Write};
use std::process::{Child, ChildStdin, Command, Stdio};

/// Leaves synchronized updates, mouse, bracketed paste and the alternate screen, and shows the cursor.
const SCRIPT: &str = r#"
trap '' HUP INT QUIT TERM TSTP TTOU
raw=$(stty -g <&1)
shown=1
while read -r shown; do :; done
[ "$shown" = 0 ] && exit
printf '\033[?2026l\033[?1006l\033[?1015l\033[?1003l\033[?1002l\033[?1000l\033[?2004l\033[?1049l\033[?25h'
[ "$(stty -g <&1)" = "$raw" ] && stty "$1" <&1
printf 'probity ended without giving the terminal back; that is done now\n'
"#;

/// The shell that waits; dropping it sends it away.
#[derive(Debug)]
pub struct Guard {
    shell: Child,
    line: ChildStdin,
}

/// How the terminal is set now, in the words of `stty`, to be called before raw mode.
pub fn settings() -> Option<String> {
    let output =
        Command::new("stty").arg("-g").stdin(Stdio::inherit()).stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.trim().to_owned()).filter(|t| output.status.success() && !t.is_empty())
}

impl Guard {
    /// Sets up a guard that restores these settings; to be called in raw mode.
    ///
    /// # Errors
    /// The system's reason; the program can do without.
    pub fn set(settings: &str) -> io::Result<Self> {
        let mut shell = Command::new("sh")
            .args(["-c", SCRIPT, "probity-guard", settings])
            .stdin(Stdio::piped())
            .stdout(Stdio::inherit())
            .stderr(Stdio::null())
            .spawn()?;
        let line = shell.stdin.take().ok_or_else(|| io::Error::other("no pipe to the guard"))?;
        Ok(Self { shell, line })
    }

    /// Tells it whether the screen is ours now: while the program is suspended, there is nothing to take back.
    pub fn tell(&mut self, shown: bool) {
        // A guard that has gone cannot be helped; without it only sudden ends differ.
        let _ = self.line.write_all(if shown { b"1\n" } else { b"0\n" });
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // Killed, not asked: it must not be left waiting, and must not write after the program has restored the terminal.
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }
}

/// Whether the terminal on standard input has gone: its settings cannot be asked for any more.
pub fn gone() -> bool {
    rustix::termios::tcgetattr(io::stdin()).is_err()
}

/// Whether somebody can wake this process after a stop: a shell in another process group of the session. A program that
/// is a terminal's only one has nobody.
pub fn job_control() -> bool {
    rustix::process::getsid(None).is_ok_and(|session| session != rustix::process::getpgrp())
}

/// Stops all processes of this job, as the terminal does for Ctrl-Z outside raw mode.
pub fn stop_job() {
    // Where it fails, the key has no effect.
    let _ = rustix::process::kill_current_process_group(rustix::process::Signal::TSTP);
}

/// Stops this process; returns when somebody has it go on.
pub fn stop_here() {
    let _ = signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGTSTP);
}
