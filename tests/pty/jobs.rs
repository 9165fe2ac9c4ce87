//! Signals, job control, and terminals that close.

use std::time::{Duration, Instant};

use super::{LARGE, PATIENCE, Screen, recording, soon};
use probity::session::format::Session;

pub(crate) fn send(signal: &str, pid: u32) {
    let pid = pid.to_string();
    assert!(std::process::Command::new("kill").args([&format!("-{signal}"), &pid]).status().unwrap().success());
}

/// If a read returns no bytes, crossterm keeps reading forever. `trap` simulates terminals that send no signal when they close.
#[test]
fn closing_terminal_ends_the_program() {
    for shell in ["exec", "trap '' HUP; exec"] {
        for keys in ["", "jjk2?\u{1b}[A"] {
            let mut screen = Screen::shell(recording(), &["-c", &format!("{shell} \"$PROBITY\" replay s")]);
            screen.sees("Interventions");
            screen.press(keys);
            let (mut child, _folder) = screen.close();
            assert_eq!(soon(&mut *child, &format!("`{shell}` with keys {keys:?}")).0, 129);
        }
    }
}

#[test]
fn signals_restore_the_terminal_and_set_the_exit_code() {
    for (signal, code) in [("TERM", 143), ("HUP", 129), ("INT", 130), ("QUIT", 131)] {
        let mut screen = Screen::launch(recording(), &["replay", "s"]);
        screen.sees("Interventions");
        send(signal, screen.child.process_id().unwrap());
        assert_eq!(screen.ended_soon(signal), code, "SIG{signal}");
    }
}

#[test]
fn signalled_session_has_an_end() {
    let mut screen = Screen::start(LARGE, &["--spec", "spec.toml"]);
    screen.sees("oracle");
    send("TERM", screen.child.process_id().unwrap());
    assert_eq!(screen.ended_soon("SIGTERM"), 143);
    assert_eq!(Session::read(&screen.session()).unwrap().losses, Default::default());
}

/// A field of the system's record of a process: 0 is its state, 1 its parent. `None` if there is no such process.
#[cfg(target_os = "linux")]
fn field_of(pid: u32, field: usize) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(field).map(str::to_owned)
}

/// Id of the only child process of this parent.
#[cfg(target_os = "linux")]
fn child_of(parent: u32) -> Option<u32> {
    let of = |pid: u32| field_of(pid, 1)?.parse::<u32>().ok();
    let pids = std::fs::read_dir("/proc").ok()?.flatten();
    let pids = pids.filter_map(|e| e.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| of(*pid) == Some(parent)).max()
}

impl Screen {
    /// Checks that the program reacts to keys.
    fn answers(&mut self) {
        self.press("?");
        self.sees("Help");
        // Sent alone, because together with a second key it would mean Alt and that key.
        self.press("\u{1b}");
        self.until("the help gone", |s| !s.contents().contains("Help"));
    }
}

#[cfg(target_os = "linux")]
impl Screen {
    fn interactive() -> Self {
        let mut screen = Self::shell(recording(), &["-i"]);
        screen.sees("ready> ");
        screen
    }

    /// Waits for the shell's prompt on a restored terminal, and checks the terminal's settings.
    fn prompt(&mut self) {
        self.until("the prompt on a restored terminal", |s| {
            // The prompt must be empty, because the line that started the program is visible before the shell has the terminal back.
            let last = s.contents().trim_end().lines().last().unwrap_or_default().to_owned();
            !s.alternate_screen()
                && !s.hide_cursor()
                && !s.bracketed_paste()
                && s.mouse_protocol_mode() == vt100::MouseProtocolMode::None
                && last == "ready>"
        });
        // Clears the output of an earlier check, which could be mistaken for the answer.
        self.press("clear\n");
        self.until("an empty screen", |s| s.contents().trim() == "ready>");
        self.press("stty -a; echo over\n");
        self.until("the settings of the terminal", |s| s.contents().contains("\nover"));
        assert!(self.text().contains(" icanon") && self.text().contains(" echo "), "{}", self.text());
    }

    fn shown(&mut self) {
        self.until("the program's screen", |s| s.alternate_screen() && s.contents().contains("Interventions"));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn suspend_and_resume_work_as_in_an_editor() {
    let mut screen = Screen::interactive();
    let shell = screen.child.process_id().unwrap();
    screen.press("\"$PROBITY\" replay s\n");
    screen.shown();
    let pid = child_of(shell).unwrap();
    // Suspends the program with Ctrl-Z, then with a signal from outside.
    for outside in [false, true] {
        if outside {
            send("TSTP", pid);
        } else {
            screen.press("\u{1a}");
        }
        screen.prompt();
        screen.press("fg\n");
        screen.shown();
        screen.answers();
    }
    // A stop signal that no program can catch: the shell restores the terminal, and later the program sets it up again.
    send("STOP", pid);
    screen.until("the prompt", |s| s.contents().contains("ready>"));
    screen.press("fg\n");
    screen.until("the whole screen again", |s| {
        s.contents().contains("Interventions") && !s.contents().contains("ready>")
    });
    screen.answers();
    screen.press("q");
    screen.prompt();
}

/// Neither the program nor its guard stays behind, stopped or busy.
#[cfg(target_os = "linux")]
#[test]
fn suspended_program_ends_with_its_terminal() {
    for kill_shell in [false, true] {
        let mut screen = Screen::interactive();
        let shell = screen.child.process_id().unwrap();
        screen.press("\"$PROBITY\" replay s\n");
        screen.shown();
        let program = child_of(shell).unwrap();
        let guard = child_of(program).unwrap();
        screen.press("\u{1a}");
        screen.prompt();
        if kill_shell {
            send("KILL", shell);
        } else {
            // The thread that reads the terminal ends only when there is output, and a shell at its prompt produces none.
            screen.press("while sleep 0.01 && echo over; do :; done &\n");
            let (mut child, _folder) = screen.close();
            soon(&mut *child, "the terminal closed");
        }
        let begun = Instant::now();
        for pid in [program, guard] {
            // Nobody may be there to collect the exit code, in which case the state stays Z.
            while field_of(pid, 0).is_some_and(|state| state != "Z") {
                assert!(begun.elapsed() < PATIENCE, "{pid} is still there; the shell was killed: {kill_shell}");
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }
}

/// Regression: the alternate screen used to be left, but the terminal could stay in raw mode.
#[cfg(target_os = "linux")]
#[test]
fn signal_restores_terminal_settings() {
    let mut screen = Screen::interactive();
    let shell = screen.child.process_id().unwrap();
    screen.press("\"$PROBITY\" replay s\n");
    screen.shown();
    send("TERM", child_of(shell).unwrap());
    screen.prompt();
}

/// Sudden ends, as when memory runs out: `abort`, and `kill -9` by the system.
#[cfg(target_os = "linux")]
#[test]
fn sudden_end_restores_the_terminal() {
    let mut screen = Screen::interactive();
    let shell = screen.child.process_id().unwrap();
    for signal in ["ABRT", "KILL"] {
        screen.press("clear; \"$PROBITY\" replay s\n");
        screen.shown();
        // The guard process needs time to learn which process to watch.
        std::thread::sleep(Duration::from_millis(300));
        send(signal, child_of(shell).unwrap());
        screen.sees("probity ended without restoring the terminal");
        screen.press("\n");
        screen.prompt();
    }
}

/// Without a shell, nothing could resume the program.
#[test]
fn program_without_a_shell_is_not_suspended() {
    let mut screen = Screen::launch(recording(), &["replay", "s"]);
    screen.sees("Interventions");
    screen.press("\u{1a}");
    screen.answers();
    screen.press("q");
    assert_eq!(screen.ended(), 0);
}

/// Regression: if a key and a new terminal size arrived together, crossterm's usual event source used to delay the second of them until the
/// next key.
#[cfg(unix)]
#[test]
fn key_during_a_resize_is_not_lost() {
    let mut screen = Screen::launch(recording(), &["replay", "s"]);
    screen.sees("Interventions");
    for (i, (key, seen)) in [("?", "Help"), ("\u{1b}", "Interventions")].iter().cycle().take(60).enumerate() {
        if i % 4 < 2 {
            screen.resize(40, 100 + i as u16);
            screen.press(key);
        } else {
            screen.press(key);
            screen.resize(40, 100 + i as u16);
        }
        screen.until(&format!("{seen} after {key:?}"), |s| {
            s.contents().contains(seen) && s.contents().contains("Help") == (*seen == "Help")
        });
    }
    screen.press("q");
    assert_eq!(screen.ended(), 0);
}

/// In a container, the program's session may have begun outside, in which case the system reports its id as 0. Regression: a library
/// considered this impossible, and the key that suspends used to end the program.
#[cfg(target_os = "linux")]
#[test]
fn session_from_outside_the_container_does_not_end_the_program() {
    let apart = ["--pid", "--fork", "--kill-child"];
    let allowed = std::process::Command::new("unshare").args(apart).arg("true").output();
    if !allowed.is_ok_and(|o| o.status.success()) {
        eprintln!("skipped: no process namespace can be created here");
        return;
    }
    let inside = format!("unshare {} \"$PROBITY\" replay s", apart.join(" "));
    let mut screen = Screen::shell(recording(), &["-c", &inside]);
    screen.sees("Interventions");
    screen.press("\u{1a}");
    screen.answers();
    screen.press("q");
    assert_eq!(screen.ended(), 0);
}
