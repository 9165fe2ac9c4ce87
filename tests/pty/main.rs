//! The program on a real pseudo-terminal: it starts, reacts to keys, survives every terminal size, and restores the terminal.

mod far;
mod follow;
mod jobs;
mod torture;

use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use probity::lab::interventions::{self, Results};
use probity::session::format::{Header, Item, Session};
use probity::session::record::{Record as _, Recorder};

/// Maximum time to wait for a text; generous, because the machine may be slow and busy.
const PATIENCE: Duration = Duration::from_secs(120);

/// A small experiment that takes one second; none of its probes is trained by gradient steps.
const SMALL: &str = r#"
lab = "interventions"
models = ["bert-tiny"]
[task]
examples = 2000
[probe]
oracles = ["linear"]
[interval]
resamples = 100
[[method]]
name = "inlp"
values = [0, 4]
"#;

const LARGE: &str = r#"
lab = "interventions"
models = ["bert-tiny"]
[task]
examples = 10000
[probe]
grid = "paper"
[[method]]
name = "pgd"
"#;

/// The program on its own terminal, in its own folders.
struct Screen {
    master: Box<dyn MasterPty + Send>,
    child: Box<dyn Child + Send + Sync>,
    keys: Box<dyn Write + Send>,
    screen: Arc<Mutex<vt100::Parser>>,
    closed: Arc<AtomicBool>,
    reading: JoinHandle<()>,
    folder: tempfile::TempDir,
}

fn nonzero(n: u16) -> NonZeroU16 {
    NonZeroU16::new(n).expect("a size")
}

/// A folder with a small recording named `s`.
fn recording() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let header = Header::new("cpu", "2025-01-01T00:00:00Z".into(), Some(interventions::Spec::shipped().into()));
    let mut recorder = Recorder::create(&folder.path().join("sessions"), "s", &header).unwrap();
    recorder.note(0.0, "nothing was run").unwrap();
    recorder.finish().unwrap();
    folder
}

/// Waits for a program that must end by itself, and returns its exit code.
fn wait(child: &mut (dyn Child + Send + Sync)) -> u32 {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.exit_code();
        }
        if begun.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("the program does not end");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits for a program that must end by itself, and returns its exit code and the time in seconds. `after` describes the cause.
fn soon(child: &mut (dyn Child + Send + Sync), after: &str) -> (u32, f64) {
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        assert!(begun.elapsed() < PATIENCE, "the program does not end after {after}");
        std::thread::sleep(Duration::from_millis(10));
    }
    (child.wait().unwrap().exit_code(), begun.elapsed().as_secs_f64())
}

impl Screen {
    fn start(spec: &str, args: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("spec.toml"), spec).unwrap();
        Self::launch(folder, args)
    }

    fn launch(folder: tempfile::TempDir, args: &[&str]) -> Self {
        Self::of(env!("CARGO_BIN_EXE_probity"), folder, args)
    }

    /// Starts a shell instead of the program, whose path is in `$PROBITY`.
    fn shell(folder: tempfile::TempDir, args: &[&str]) -> Self {
        Self::of("sh", folder, args)
    }

    fn of(program: &str, folder: tempfile::TempDir, args: &[&str]) -> Self {
        Self::with(program, folder, args, &[])
    }

    /// Same as [`Self::of`], with additional environment variables.
    fn with(program: &str, folder: tempfile::TempDir, args: &[&str], variables: &[(&str, &str)]) -> Self {
        let size = PtySize { rows: 40, cols: 120, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(program);
        command.env("PROBITY", env!("CARGO_BIN_EXE_probity"));
        command.env("PS1", "ready> ");
        command.env_remove("ENV");
        command.args(args);
        command.cwd(folder.path());
        command.env("TERM", "xterm-256color");
        command.env("LANG", "C.UTF-8");
        command.env("PROBITY_STATE_DIR", folder.path());
        command.env("PROBITY_CACHE_DIR", folder.path());
        command.env("XDG_CONFIG_HOME", folder.path());
        command.env("HF_HUB_OFFLINE", "1");
        variables.iter().for_each(|(name, value)| command.env(name, value));
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let screen = Arc::new(Mutex::new(vt100::Parser::new(nonzero(40), nonzero(120), 0)));
        let mut reader = pair.master.try_clone_reader().unwrap();
        let drawn = Arc::clone(&screen);
        let closed = Arc::new(AtomicBool::new(false));
        let leave = Arc::clone(&closed);
        let reading = std::thread::spawn(move || {
            let mut buffer = [0; 1 << 14];
            while let Ok(count @ 1..) = reader.read(&mut buffer) {
                drawn.lock().unwrap().process(&buffer[..count]);
                if leave.load(Ordering::SeqCst) {
                    return;
                }
            }
        });
        let keys = pair.master.take_writer().unwrap();
        Self { master: pair.master, child, keys, screen, closed, reading, folder }
    }

    /// Closes the terminal as if its window were closed: no process has the other end open any more.
    fn close(self) -> (Box<dyn Child + Send + Sync>, tempfile::TempDir) {
        let Self { master, child, keys, closed, reading, folder, .. } = self;
        closed.store(true, Ordering::SeqCst);
        // The reader thread ends only after more output, and a new terminal size causes output.
        let mut rows = 40;
        while !reading.is_finished() {
            rows = if rows == 40 { 39 } else { 40 };
            let _ = master.resize(PtySize { rows, cols: 120, pixel_width: 0, pixel_height: 0 });
            std::thread::sleep(Duration::from_millis(5));
        }
        drop((keys, master));
        (child, folder)
    }

    fn text(&self) -> String {
        self.screen.lock().unwrap().screen().contents()
    }

    /// Waits until the screen satisfies `wanted`.
    fn until(&mut self, what: &str, wanted: impl Fn(&vt100::Screen) -> bool) {
        let begun = Instant::now();
        loop {
            if wanted(self.screen.lock().unwrap().screen()) {
                return;
            }
            let ended = self.child.try_wait().unwrap();
            let late = begun.elapsed() > PATIENCE;
            assert!(ended.is_none() && !late, "no {what} (ended: {ended:?}) on the screen:\n{}", self.text());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn sees(&mut self, text: &str) {
        self.until(text, |screen| screen.contents().contains(text));
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    fn resize(&mut self, rows: u16, cols: u16) {
        self.screen.lock().unwrap().screen_mut().set_size(nonzero(rows), nonzero(cols));
        self.master.resize(PtySize { rows, cols, pixel_width: 0, pixel_height: 0 }).unwrap();
    }

    /// Waits for the program to end, checks that the terminal is restored, and returns the exit code.
    fn ended(&mut self) -> u32 {
        let code = wait(&mut *self.child);
        self.given_back();
        code
    }

    /// Same as [`Self::ended`], for a program that was asked to end; `after` describes how.
    fn ended_soon(&mut self, after: &str) -> u32 {
        let (code, _) = soon(&mut *self.child, after);
        self.given_back();
        code
    }

    fn given_back(&self) {
        let begun = Instant::now();
        // The last bytes may still be in transit.
        let restored = |s: &vt100::Screen| {
            !s.alternate_screen()
                && !s.hide_cursor()
                && !s.bracketed_paste()
                && s.mouse_protocol_mode() == vt100::MouseProtocolMode::None
        };
        while !restored(self.screen.lock().unwrap().screen()) {
            assert!(begun.elapsed() < PATIENCE, "the terminal is not restored");
            std::thread::sleep(Duration::from_millis(20));
        }
        assert!(!self.text().contains("internal error"), "{}", self.text());
    }

    fn session(&self) -> PathBuf {
        let files = std::fs::read_dir(self.folder.path().join("sessions")).unwrap();
        let files: Vec<PathBuf> = files.map(|f| f.unwrap().path()).collect();
        assert_eq!(files.len(), 1, "{files:?}");
        files[0].clone()
    }
}

/// Regression: a named session without a run used to be discarded, and an earlier session could only be replayed, not continued.
#[test]
fn session_is_restored_into_a_named_one() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = folder.path().join("sessions");
    std::fs::create_dir(&sessions).unwrap();
    std::fs::write(folder.path().join("state.toml"), "").unwrap();
    let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/sessions/interventions.probity.jsonl");
    std::fs::copy(shipped, sessions.join("old.probity.jsonl")).unwrap();
    let mut screen = Screen::launch(folder, &["--session", "new"]);
    screen.sees("old");
    screen.press("r");
    screen.sees("continuing from old: its run is restored");
    screen.sees("Removing it: ");
    screen.press("q");
    assert_eq!(screen.ended(), 0);
    let read = Session::read(&screen.folder.path().join("sessions/new.probity.jsonl")).unwrap();
    assert_eq!(read.board().runs.len(), 1);
    assert!(read.entries().any(|e| matches!(&e.item, Item::Note(note) if note == "goes on from old")));
}

/// Regression: a session that could not be recorded used to be a notice only, and the program ended with 0.
#[test]
fn unrecordable_named_session_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("sessions"), "a file in place of the folder").unwrap();
    let mut screen = Screen::launch(folder, &["--session", "kept"]);
    screen.sees("the session cannot be recorded");
    assert_eq!(screen.ended(), 1);
}

#[test]
fn lab_runs_handles_keys_and_restores_the_terminal() {
    let mut screen = Screen::start(SMALL, &["--spec", "spec.toml", "--session", "first"]);
    screen.sees("Interventions");
    screen.sees("saved as first");
    // Checks that the whole experiment has run, from the audit of the probes to the end of the curve.
    screen.sees("INLP");
    screen.until("the end of the run", |s| s.contents().contains("done in"));
    screen.press("?");
    screen.sees("Help");
    screen.press("\u{1b}");
    screen.until("the help gone", |s| !s.contents().contains("Help"));
    screen.press("6");
    screen.sees("built-in and added sets");
    screen.press("\r");
    screen.sees("oracle, largest uncorrelated subset");
    screen.press("2");
    for (rows, cols, text) in [(24, 80, "Interventions"), (5, 20, "20×5"), (40, 120, "Interventions")] {
        screen.resize(rows, cols);
        screen.until("the new size", |s| s.size() == (nonzero(rows), nonzero(cols)) && s.contents().contains(text));
    }
    screen.press("q");
    assert_eq!(screen.ended(), 0);
    let session = Session::read(&screen.session()).unwrap();
    assert_eq!(session.losses, Default::default());
    let board = session.board();
    assert!(board.runs[0].summary.as_ref().is_some_and(|s| !s.value.cancelled));
    let results = board.results::<Results>();
    assert_eq!(results.optima.len() + results.without.len(), 1, "one method, one oracle");
}

#[test]
fn ctrl_c_stops_training_without_quitting() {
    let mut screen = Screen::start(LARGE, &["--spec", "spec.toml"]);
    screen.sees("oracle");
    screen.press("\u{3}");
    screen.sees("cancelled");
    // Nothing is running now, so the second Ctrl-C cancels nothing either.
    screen.press("\u{3}");
    screen.press("q");
    assert_eq!(screen.ended(), 0);
    let board = Session::read(&screen.session()).unwrap().board();
    assert_eq!(board.runs[0].summary.as_ref().map(|s| s.value.cancelled), Some(true));
}

#[test]
fn killed_run_leaves_a_replayable_session() {
    let mut screen = Screen::start(LARGE, &["--spec", "spec.toml"]);
    screen.sees("oracle");
    // An event is recorded shortly after it happens.
    let recorded = |session: &Session| {
        let of = |wanted: fn(&Item) -> bool| session.entries().any(|e| wanted(&e.item));
        of(|item| matches!(item, Item::Command(_))) && of(|item| matches!(item, Item::Event(_)))
    };
    let path = screen.session();
    let begun = Instant::now();
    while !Session::read(&path).is_ok_and(|session| recorded(&session)) {
        assert!(begun.elapsed() < PATIENCE, "nothing was recorded during the run");
        std::thread::sleep(Duration::from_millis(20));
    }
    let pid = screen.child.process_id().unwrap().to_string();
    assert!(std::process::Command::new("kill").args(["-9", &pid]).status().unwrap().success());
    screen.child.wait().unwrap();
    let session = Session::read(&path).unwrap();
    assert!(session.losses.damaged == 0 && session.losses.unknown == 0, "{:?}", session.losses);
    assert!(recorded(&session));
    let name = path.display().to_string();
    let mut replay = Screen::launch(screen.folder, &["replay", &name, "--speed", "1000"]);
    replay.sees("Interventions");
    replay.sees("oracle");
    replay.press("q");
    assert_eq!(replay.ended(), 0);
}

#[test]
fn hangup_ends_the_program() {
    let mut screen = Screen::start(LARGE, &["--spec", "spec.toml"]);
    screen.sees("oracle");
    let Screen { master, mut child, keys, folder, .. } = screen;
    drop((keys, master));
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        // The reader thread has a copy of the master, so the signal of a closed window must be sent explicitly.
        let pid = child.process_id().unwrap().to_string();
        std::process::Command::new("kill").args(["-HUP", &pid]).status().unwrap();
        assert!(begun.elapsed() < PATIENCE, "the program continues without a terminal");
        std::thread::sleep(Duration::from_millis(100));
    }
    drop(folder);
}

/// The terminal library drops colours by itself if this variable is set. Our theme for this case shows the selected list entry in reverse
/// video.
#[test]
fn no_color_disables_colours() {
    fn cells(screen: &vt100::Screen) -> impl Iterator<Item = &vt100::Cell> {
        (0..40).flat_map(move |row| (0..120).filter_map(move |column| screen.cell(row, column)))
    }
    let is_plain = |c: &vt100::Cell| [c.fgcolor(), c.bgcolor()] == [vt100::Color::Default; 2];
    for (value, colourless) in [("1", true), ("", false)] {
        let args = ["replay", "sessions/s.probity.jsonl"];
        let mut screen = Screen::with(env!("CARGO_BIN_EXE_probity"), recording(), &args, &[("NO_COLOR", value)]);
        screen.sees("Interventions");
        screen.press(":");
        // Without this wait, the escape below could arrive together with the colon, and its `q` would be interpreted as Alt-q.
        screen.sees("Command:");
        if colourless {
            screen.until("a chosen entry in reverse video", |s| cells(s).any(vt100::Cell::inverse));
            assert!(cells(screen.screen.lock().unwrap().screen()).all(is_plain), "{}", screen.text());
        } else {
            screen.until("a chosen entry in colour", |s| !cells(s).all(is_plain));
        }
        screen.press("\u{1b}");
        screen.until("the palette gone", |s| !s.contents().contains("Command:"));
        screen.press("q");
        assert_eq!(screen.ended(), 0);
    }
}
