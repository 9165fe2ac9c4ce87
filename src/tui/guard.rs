//! Job control, and a guard that restores the terminal however the program ends or stops.
//!
//! A process that is killed or aborts for lack of memory cannot restore the terminal. A short shell script therefore waits on a pipe, and
//! restores the terminal if the pipe closes without notice. It needs almost no memory.

use std::io::{self, Write};
use std::process::{Child, ChildStdin, Command, Stdio};

/// Ends synchronized updates, mouse capture, bracketed paste and the alternate screen, and shows the cursor.
const SCRIPT: &str = r#"
trap '' HUP INT QUIT TERM TSTP TTOU
raw=$(stty -g <&1)
shown=1
while read -r word; do shown=$word; done
[ "$shown" = 0 ] && exit
printf '\033[?2026l\033[?1006l\033[?1015l\033[?1003l\033[?1002l\033[?1000l\033[?2004l\033[?1049l\033[?25h'
[ "$(stty -g <&1)" = "$raw" ] && stty "$1" <&1
printf 'probity ended without restoring the terminal; it is restored now\n'
"#;

/// The waiting shell, which ends when the guard is dropped.
#[derive(Debug)]
pub(crate) struct Guard {
    shell: Child,
    line: ChildStdin,
}

/// The terminal's settings in the format of `stty -g`; must be called before raw mode.
pub(crate) fn settings() -> Option<String> {
    let output = Command::new("stty").arg("-g").stdin(Stdio::inherit()).stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.trim().to_owned()).filter(|t| output.status.success() && !t.is_empty())
}

impl Guard {
    /// Starts a guard that restores these settings; must be called in raw mode.
    ///
    /// # Errors
    /// The system's error; the program can continue without a guard.
    pub(crate) fn set(settings: &str) -> io::Result<Self> {
        let mut shell = Command::new("sh")
            .args(["-c", SCRIPT, "probity-guard", settings])
            .stdin(Stdio::piped())
            .stdout(Stdio::inherit())
            .stderr(Stdio::null())
            .spawn()?;
        let line = shell.stdin.take().ok_or_else(|| io::Error::other("no pipe to the guard"))?;
        Ok(Self { shell, line })
    }

    /// Tells the guard whether the program owns the screen. A suspended program does not, so the guard would have nothing to restore.
    pub(crate) fn tell(&mut self, shown: bool) {
        // A guard that has died cannot be repaired, and matters only after an abnormal end.
        let _ = self.line.write_all(if shown { b"1\n" } else { b"0\n" });
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // Kills the shell at once: it must not stay, and must not write after the program has restored the terminal.
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }
}

/// True if the terminal on standard input is gone.
pub(crate) fn gone() -> bool {
    nix::sys::termios::tcgetattr(io::stdin()).is_err()
}

/// True if a shell in another process group of the session can resume this process after a stop. Otherwise it would stay stopped forever,
/// for example if it is alone in its terminal or its shell has ended. Inside a container, sessions and parents outside it have id 0 and are
/// not counted.
pub(crate) fn job_control() -> bool {
    use nix::unistd::{Pid, getpgrp, getppid, getsid};
    let known = |pid: &Pid| pid.as_raw() > 0;
    let session = getsid(None).ok().filter(known);
    let of_parent = Some(getppid()).filter(known).and_then(|parent| getsid(Some(parent)).ok());
    session.is_some() && session != Some(getpgrp()) && session == of_parent
}

/// Suspends all processes of this job, as the terminal does on Ctrl-Z outside raw mode.
pub(crate) fn stop_job() {
    // On failure the key has no effect.
    let _ = nix::sys::signal::killpg(nix::unistd::getpgrp(), nix::sys::signal::Signal::SIGTSTP);
}

/// Suspends this process; returns once it is resumed.
pub(crate) fn stop_here() {
    let _ = signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGTSTP);
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    /// The shell's output if the pipe closes after these lines.
    fn told(lines: &[u8]) -> String {
        let mut shell = Command::new("sh")
            .args(["-c", SCRIPT, "probity-guard", "sane"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        shell.stdin.take().unwrap().write_all(lines).unwrap();
        let mut text = String::new();
        shell.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        shell.wait().unwrap();
        text
    }

    #[test]
    fn guard_restores_terminal_after_sudden_end() {
        for lines in [&b""[..], b"1\n", b"0\n1\n"] {
            let text = told(lines);
            for sequence in ["\u{1b}[?1049l", "\u{1b}[?25h", "\u{1b}[?2004l", "\u{1b}[?1000l", "\u{1b}[?2026l"] {
                assert!(text.contains(sequence), "{sequence:?} in {text:?}");
            }
            assert!(text.contains("without restoring the terminal"), "{text:?}");
        }
    }

    /// Regression: the read at the end of the pipe used to empty the variable. Killing a suspended program then took the screen from the
    /// shell.
    #[test]
    fn guard_does_nothing_while_program_is_suspended() {
        assert_eq!(told(b"0\n"), "");
        assert_eq!(told(b"1\n0\n"), "", "the last line decides");
    }

    #[test]
    fn dropped_guard_has_ended() {
        let mut guard = Guard::set("sane").unwrap();
        guard.tell(false);
        let id = nix::unistd::Pid::from_raw(guard.shell.id().cast_signed());
        let is_there = || nix::sys::signal::kill(id, None).is_ok();
        assert!(is_there());
        drop(guard);
        assert!(!is_there(), "the shell has ended and was waited for");
    }
}
