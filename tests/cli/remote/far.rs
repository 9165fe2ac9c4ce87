//! A far end on this machine, in its own folders, and ways to break the link to it.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command as Process, Output};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use probity::engine::Engine;
use probity::engine::board::Board;
use probity::engine::local::{Cache, LocalEngine, LocalOptions};
use probity::engine::message::{Command, Event};
use probity::lab::Spec;
use probity::model::{Device, Dtype};
use probity::remote::message::Hello;
use probity::remote::{Address, Far, Past};
use probity::session::format::{Entry, Item, Session};
use probity::session::replay::Step;
use tokio::sync::mpsc::Receiver;

use super::super::common::TINY;

/// Maximum wait in a test; generous, because the machine may be slow and busy.
const PATIENCE: Duration = Duration::from_secs(180);

pub(crate) struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    /// A far end reached through a script.
    pub(crate) fn new() -> Self {
        Self::with("for there; do :; done\nexec sh -c \"$there\"")
    }

    /// A far end reached through this script. The script's process id is written to a file, so that the script can be killed.
    pub(crate) fn with(script: &str) -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap() };
        let program = Path::new(env!("CARGO_BIN_EXE_probity")).parent().unwrap();
        let text = format!(
            "#!/bin/sh\necho $$ > '{0}/pid'\nexport PROBITY_STATE_DIR='{0}' PROBITY_CACHE_DIR='{0}' HF_HUB_OFFLINE=1 PATH='{0}/bin:{1}':\"$PATH\"\n{script}\n",
            place.path().display(),
            program.display()
        );
        executable(&place.ssh(), &text);
        place
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The script that replaces ssh.
    pub(crate) fn ssh(&self) -> PathBuf {
        self.path().join("ssh")
    }

    pub(crate) fn address(&self) -> Address {
        "ssh://far".parse::<Address>().unwrap().through(self.ssh())
    }

    pub(crate) fn connect(&self, hello: Hello) -> (Far, Past) {
        Far::connect(&self.address(), hello, &[]).unwrap()
    }

    /// The program at the far end.
    pub(crate) fn probity(&self, args: &[&str]) -> Process {
        let mut command = Process::new(env!("CARGO_BIN_EXE_probity"));
        command.args(args).env("PROBITY_STATE_DIR", self.path()).env("PROBITY_CACHE_DIR", self.path());
        command
    }

    /// Installs an `sbatch` that records its request, computes the tasks immediately and calls them job 4711.
    pub(crate) fn sbatch(&self) {
        let text = r#"#!/bin/sh
echo "$@" >> "$0.asked"
for script; do :; done
array=$(sed -n 's/^#SBATCH --array=//p' "$script")
for word; do case $word in --array=*) array=${word#--array=};; esac; done
for run in $(echo "$array" | tr , ' '); do
  for task in $(seq "${run%-*}" "${run#*-}"); do SLURM_ARRAY_TASK_ID=$task sh "$script" || :; done
done >"$0.log" 2>&1
echo 4711
"#;
        let bin = self.path().join("bin");
        std::fs::create_dir_all(&bin).unwrap();
        executable(&bin.join("sbatch"), text);
    }

    /// The last request to sbatch.
    pub(crate) fn asked(&self) -> String {
        let all = std::fs::read_to_string(self.path().join("bin/sbatch.asked")).unwrap();
        all.lines().next_back().unwrap().to_owned()
    }

    /// Names of the engines that have a folder at the far end.
    pub(crate) fn engines(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path().join("remote")).into_iter().flatten().flatten();
        entries.map(|e| e.file_name().to_string_lossy().into_owned()).collect()
    }

    pub(crate) fn session(&self, name: &str) -> Session {
        read(self.path(), name)
    }

    /// Cuts the link this many times, at random moments after it is up, `apart` on average.
    pub(crate) fn cut_often(&self, times: usize, apart: Duration) -> Cutter {
        let place = self.path().to_owned();
        let cut = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&cut);
        let thread = std::thread::spawn(move || {
            for _ in 0..times {
                until(|| processes(&place, "engine\0--stdio").pop());
                std::thread::sleep(apart.mul_f64(rand::random_range(0.0..2.0)));
                kill(std::fs::read_to_string(place.join("pid")).unwrap().trim());
                count.fetch_add(1, Ordering::SeqCst);
                until(|| processes(&place, "engine\0--stdio").is_empty().then_some(()));
            }
        });
        Cutter { thread, cut }
    }

    pub(crate) fn cut(&self) {
        kill(std::fs::read_to_string(self.path().join("pid")).unwrap().trim());
    }

    /// Kills the engine process itself.
    pub(crate) fn kill_keeper(&self, name: &str) {
        let all = processes(self.path(), &format!("\"name\":\"{name}\""));
        all.iter().for_each(|pid| kill(pid));
        assert_eq!(all.len(), 1, "one engine with this name");
    }
}

pub(crate) struct Cutter {
    thread: JoinHandle<()>,
    cut: Arc<AtomicUsize>,
}

impl Cutter {
    pub(crate) fn cut_so_far(&self) -> usize {
        self.cut.load(Ordering::SeqCst)
    }

    /// Waits for the last cut.
    pub(crate) fn join(self) {
        self.thread.join().unwrap();
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Stops engines left by a failed test.
        for name in self.engines() {
            let stop = self.probity(&["remote", "stop", "ssh://far", &name]).env("PROBITY_SSH", self.ssh()).output();
            drop(stop);
        }
    }
}

/// Ids of the far end's processes whose command lines contain these words.
fn processes(place: &Path, words: &str) -> Vec<String> {
    let own = place.display().to_string();
    let has = |bytes: &[u8], text: &str| String::from_utf8_lossy(bytes).contains(text);
    let of_it = |entry: &std::fs::DirEntry| {
        let read = |file: &str| std::fs::read(entry.path().join(file)).unwrap_or_default();
        has(&read("cmdline"), words) && has(&read("environ"), &own)
    };
    let all = std::fs::read_dir("/proc").unwrap().flatten().filter(of_it);
    all.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

fn executable(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn kill(pid: &str) {
    // The process may have ended by itself.
    let _ = Process::new("kill").args(["-9", pid]).stderr(std::process::Stdio::null()).status();
}

pub(crate) fn read(state: &Path, name: &str) -> Session {
    Session::read(&state.join(format!("sessions/{name}.probity.jsonl"))).unwrap()
}

/// The first message of a client that opens an engine with this name.
pub(crate) fn hello(name: &str) -> Hello {
    Hello { name: name.into(), device: "cpu".into(), dtype: "f32".into(), wait: 60, ..Hello::default() }
}

pub(crate) fn run_of(spec: &Spec) -> Command {
    Command::Run { job: 1, generation: 1, spec: Box::new(spec.clone()) }
}

/// The board folded from a run's events, up to its end.
pub(crate) fn board_of(spec: &Spec, events: &mut Receiver<Event>) -> Board {
    let mut board = Board::default();
    board.on_command(&run_of(spec));
    let begun = Instant::now();
    while board.running() {
        assert!(begun.elapsed() < PATIENCE, "the run did not end");
        board.on_event(&events.blocking_recv().expect("events until the run has ended"));
    }
    board
}

/// An experiment that takes long enough for the link to be cut and restored many times.
pub(crate) const LARGE_ENOUGH: &str = r#"
lab = "interventions"
models = ["bert-tiny"]
seed = 5
[task]
examples = 8000
[interval]
resamples = 500
[[method]]
name = "pgd"
values = [0.05, 0.5]
[[method]]
name = "inlp"
values = [0, 4, 8]
"#;

/// All findings of a board's run, without times.
pub(crate) fn findings_of(board: &Board) -> serde_json::Value {
    let mut run = serde_json::to_value(&board.runs).unwrap();
    strip(&mut run);
    run
}

fn strip(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Object(object) => {
            // Progress and forecasts are momentary; the other keys contain wall times.
            for key in ["t", "seconds", "progress", "forecasts", "elapsed"] {
                object.remove(key);
            }
            object.values_mut().for_each(strip);
        }
        serde_json::Value::Array(values) => values.iter_mut().for_each(strip),
        _ => {}
    }
}

/// The findings of a local engine for [`TINY`], computed once for all tests.
pub(crate) fn here() -> &'static serde_json::Value {
    static FOUND: OnceLock<serde_json::Value> = OnceLock::new();
    FOUND.get_or_init(|| computed(&Spec::parse(TINY, "tiny").unwrap()))
}

pub(crate) fn computed(spec: &Spec) -> serde_json::Value {
    let mut engine = LocalEngine::start(LocalOptions {
        device: Device::Cpu,
        dtype: Dtype::F32,
        cache: Cache::none(),
        models: Vec::new(),
        memory_limit: None,
        most_models: 1,
        asked: false,
    })
    .unwrap();
    let mut events = engine.take_events().unwrap();
    engine.send(run_of(spec)).unwrap();
    findings_of(&board_of(spec, &mut events))
}

/// The entry that ends a run.
pub(crate) fn ended(steps: &mut Receiver<Step>) -> Entry {
    loop {
        match steps.blocking_recv().expect("steps until the run has ended") {
            Step::Entry(entry) if matches!(entry.item, Item::Event(Event::Finished { .. })) => return *entry,
            _ => {}
        }
    }
}

/// Waits until `what` returns a value.
pub(crate) fn until<T>(mut what: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(there) = what() {
            return there;
        }
        assert!(begun.elapsed() < PATIENCE, "the value never arrived");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The output of a program that must end soon.
pub(crate) fn times_out(mut child: Child) -> Output {
    until(|| child.try_wait().unwrap());
    child.wait_with_output().unwrap()
}
