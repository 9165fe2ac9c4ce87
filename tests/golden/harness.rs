//! The list of tests as `cargo test` prints it. Comparisons that are impossible on this machine are `ignored`, with the reason.
//!
//! Everything in the reference layout is compared twice: with the project's own fixtures, which are always available, and with the larger
//! set, if available.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use libtest_mimic::{Arguments, Completion, Trial};
use probity::model::Device;

/// Requirement of a test, which receives the folder that meets it.
#[derive(Clone, Copy)]
pub(crate) enum Needs {
    /// A part of the reference layout, in the fixtures and in the larger set (`PROBITY_REFERENCE`).
    Reference(&'static str),
    /// A part that is only in the larger set.
    Larger(&'static str),
    /// Pretrained checkpoints (`PROBITY_MODELS`), or one of them.
    Models(&'static str),
    /// Real data sets (`PROBITY_DATA`), or one of them.
    Data(&'static str),
    /// Inputs that once failed (`PROBITY_CASES`), or one of their folders.
    Cases(&'static str),
    /// Python 3 with these modules.
    Python(&'static str),
    Fixtures,
}

pub(crate) struct Test {
    /// The path of the test, in the form of `module_path!`.
    pub name: &'static str,
    pub needs: Needs,
    pub run: fn(&Path),
}

/// Generates a module's `tests()` from groups of functions, each with a requirement.
macro_rules! tests {
    ($($needs:expr => [$($run:ident),+ $(,)?];)+) => {
        pub(crate) fn tests() -> Vec<crate::harness::Test> {
            use crate::harness::{Needs, Test};
            vec![$($(Test { name: concat!(module_path!(), "::", stringify!($run)), needs: $needs, run: $run }),+),+]
        }
    };
}
pub(crate) use tests;

/// The device that runs models: `PROBITY_TEST_DEVICE`, or the CPU.
pub(crate) fn device() -> Device {
    std::env::var("PROBITY_TEST_DEVICE").map_or(Device::Cpu, |name| name.parse().unwrap())
}

pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/fixtures")
}

/// The folder in an environment variable, or the default folder.
///
/// # Errors
/// The folder that is missing, and the environment variable that would locate it.
fn folder(variable: &str, default: &str, inside: &str) -> Result<PathBuf, String> {
    let root = std::env::var(variable).map_or_else(|_| PathBuf::from(default), PathBuf::from);
    let dir = root.join(inside);
    if dir.is_dir() { Ok(dir) } else { Err(format!("{} is absent (set {variable})", dir.display())) }
}

/// The fixtures, if Python can import the modules.
///
/// # Errors
/// The missing modules.
fn python(modules: &str) -> Result<PathBuf, String> {
    let import = std::process::Command::new("python3").args(["-c", &format!("import {modules}")]).output();
    let found = import.is_ok_and(|output| output.status.success());
    if found { Ok(fixtures()) } else { Err(format!("python3 with {modules} is absent")) }
}

fn trial(name: String, folder: Result<PathBuf, String>, run: fn(&Path)) -> Trial {
    Trial::ignorable_test(name, move || match folder {
        Ok(dir) => {
            run(&dir);
            Ok(Completion::Completed)
        }
        Err(reason) => Ok(Completion::ignored_with(reason)),
    })
}

/// True if each comparison is printed with its deviation (`--nocapture`).
pub(crate) fn talks() -> bool {
    static TALKS: OnceLock<bool> = OnceLock::new();
    *TALKS.get_or_init(|| std::env::args().any(|a| a == "--nocapture" || a == "--no-capture"))
}

/// Prints a line if printing is enabled.
macro_rules! say {
    ($($part:tt)*) => { if crate::harness::talks() { println!($($part)*) } };
}
pub(crate) use say;

/// Runs the tests selected on the command line.
pub(crate) fn run(tests: Vec<Test>) -> std::process::ExitCode {
    let mut trials = Vec::new();
    for test in tests {
        let name = test.name.split_once("::").map_or(test.name, |(_, name)| name).to_owned();
        let found = match test.needs {
            Needs::Reference(part) => {
                let own = Ok(fixtures().join(part));
                trials.push(trial(format!("fixtures::{name}"), own, test.run));
                folder("PROBITY_REFERENCE", "../shared/reference", part)
            }
            Needs::Larger(part) => folder("PROBITY_REFERENCE", "../shared/reference", part),
            Needs::Models(part) => folder("PROBITY_MODELS", "../shared/models", part),
            Needs::Data(part) => folder("PROBITY_DATA", "../shared/data", part),
            Needs::Cases(part) => folder("PROBITY_CASES", "../shared/cases", part),
            Needs::Python(modules) => python(modules),
            Needs::Fixtures => Ok(fixtures()),
        };
        trials.push(trial(name, found, test.run));
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
