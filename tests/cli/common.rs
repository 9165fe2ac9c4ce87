//! Runs the binary in its own folders, and asserts on its output.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

pub(crate) struct Probity {
    /// Folder for the test's sessions, caches and files.
    pub state: tempfile::TempDir,
}

impl Probity {
    pub(crate) fn new() -> Self {
        Self { state: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_probity"));
        command
            .args(args)
            .env("PROBITY_STATE_DIR", self.state.path())
            .env("PROBITY_CACHE_DIR", self.state.path())
            .env("HF_HUB_OFFLINE", "1")
            .env_remove("RUST_BACKTRACE");
        command
    }

    /// Runs the program with a file size limit of a few kilobytes, which simulates a full disk.
    #[cfg(unix)]
    pub(crate) fn cramped(&self, args: &[&str]) -> Output {
        let mut command = Command::new("sh");
        command.args(["-c", "trap '' XFSZ; ulimit -f 8; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_probity")]);
        command.args(args).env("PROBITY_STATE_DIR", self.state.path());
        command.env("PROBITY_CACHE_DIR", self.state.path().join("cache")).output().unwrap()
    }

    pub(crate) fn file(&self, name: &str, text: &str) -> String {
        let path = self.state.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }
}

pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Asserts the exit code and stderr, and that stdout is empty and no control characters are printed.
pub(crate) fn refused(output: &Output, code: i32, words: &[&str]) {
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    assert!(output.stdout.is_empty(), "{}", text(&output.stdout));
    assert!(!stderr.chars().any(|c| c.is_control() && c != '\n'), "{stderr:?}");
    assert!(!stderr.contains("panicked"), "{stderr}");
    for word in words {
        assert!(stderr.contains(word), "no `{word}` in: {stderr}");
    }
}

pub(crate) fn agreement() -> String {
    std::fs::read_to_string(root().join("assets/specs/agreement.toml")).unwrap()
}

/// Copies a built-in model to a folder, so that files can be added to it.
pub(crate) fn folder_of(name: &str, at: &Path) {
    std::fs::create_dir_all(at).unwrap();
    for file in ["config.json", "model.safetensors", "tokenizer.json"] {
        std::fs::copy(root().join("assets/models").join(name).join(file), at.join(file)).unwrap();
    }
}

/// An experiment of a few seconds on a built-in model, with an attack and both oracles.
pub(crate) const SMALL: &str = r#"
lab = "interventions"
models = ["bert-tiny"]
seed = 5
[task]
examples = 2000
[probe]
replicates = 2
[interval]
level = 0.9
resamples = 100
[[method]]
name = "fgsm"
values = [0.05, 0.5]
[[method]]
name = "inlp"
values = [0, 4]
"#;

/// An experiment that takes three seconds in a test build, for tests where any run will do; none of its probes is trained by gradient
/// steps. With 2,000 examples it takes five seconds.
pub(crate) const TINY: &str = r#"
lab = "interventions"
models = ["bert-tiny"]
seed = 5
[task]
examples = 1000
[probe]
oracles = ["linear"]
replicates = 2
[interval]
level = 0.9
resamples = 100
[[method]]
name = "alterrep"
values = [0.5, 4]
[[method]]
name = "inlp"
values = [0, 4]
"#;

pub(crate) const LARGE: &str = r#"
lab = "interventions"
models = ["bert-tiny"]
[task]
examples = 10000
[probe]
grid = "paper"
[[method]]
name = "pgd"
"#;

/// The findings that no later finding replaces, as text; a recording omits most of the others.
pub(crate) fn finals(bytes: &[u8]) -> Vec<String> {
    let all = json_lines(bytes).into_iter().filter(|finding| finding["final"] == true);
    all.map(|finding| finding.to_string()).collect()
}

pub(crate) fn json_lines(stdout: &[u8]) -> Vec<Value> {
    text(stdout).lines().map(|l| serde_json::from_str(l).unwrap_or_else(|e| panic!("{e}: {l}"))).collect()
}

pub(crate) fn of_kind<'a>(findings: &'a [Value], kind: &str) -> Vec<&'a Value> {
    findings.iter().filter(|f| f["kind"] == kind).collect()
}
