//! `probity doctor`: checks of this machine, with a remedy for each failure.

use std::io::{IsTerminal, Write};
use std::path::Path;

use super::error::CliError;
use super::output;
use base::text::printable_label;
use engine::local::cache::Cache;
use figure::{Axis, Figure, Format, Options, Provenance, render, spare_font};
use kernels::bf16::Unit;
use kernels::simd::Level;
use model::builtin::BUILTINS;
use model::device::Device;
use model::hub::Settings;
use session::name;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Ok,
    Note,
    Bad,
}

struct Check {
    mark: Mark,
    what: &'static str,
    text: String,
}

pub fn doctor(out: &mut dyn Write) -> Result<(), CliError> {
    let checks =
        [program(), device(), gpu(), models(), terminal(), colour(), sessions(), cache(), hub(), figures(), fonts()];
    for check in &checks {
        let mark = match check.mark {
            Mark::Ok => "ok  ",
            Mark::Note => "note",
            Mark::Bad => "BAD ",
        };
        output::line(out, &format!("{mark}  {:<10} {}", check.what, printable_label(&check.text)))?;
    }
    if checks.iter().any(|c| c.mark == Mark::Bad) { Err(CliError::Reported) } else { Ok(()) }
}

fn program() -> Check {
    let features = match (cfg!(feature = "cuda"), cfg!(feature = "metal")) {
        (false, false) => "CPU only",
        (true, false) => "CUDA",
        (false, true) => "Metal",
        (true, true) => "CUDA and Metal",
    };
    let text = format!(
        "{} ({features}), sessions of format {}, on {} {}",
        env!("CARGO_PKG_VERSION"),
        session::format::FORMAT,
        std::env::consts::OS,
        std::env::consts::ARCH
    );
    Check { mark: Mark::Ok, what: "probity", text }
}

fn device() -> Check {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let (f32, bf16) = (Level::best(), Unit::best());
    Check { mark: Mark::Ok, what: "device", text: format!("{threads} CPU threads; f32 with {f32}, bf16 with {bf16}") }
}

/// The GPU in use, or else the reason why none is used and the requirements of a GPU build.
fn gpu() -> Check {
    let text = if cfg!(any(feature = "cuda", feature = "metal")) {
        match Device::Auto.resolve() {
            Device::Cpu => "no GPU works here, so models run on the CPU".to_owned(),
            gpu => format!(
                "{gpu}, unless --device selects another; the built-in models are too small to run faster on it than on \
                 the CPU"
            ),
        }
    } else if cfg!(target_os = "macos") {
        "no GPU is used, because this build has no GPU support; to add it, run cargo install --path . --features metal"
            .to_owned()
    } else {
        let driver = if Path::new("/proc/driver/nvidia/version").exists() {
            "the NVIDIA driver is loaded"
        } else {
            "no NVIDIA driver was found"
        };
        format!(
            "not used: this build has no GPU support ({driver}). To add it, install the CUDA toolkit (nvcc, cuBLAS, \
             cuRAND) and the driver, then run cargo install --path . --features cuda"
        )
    };
    Check { mark: Mark::Ok, what: "gpu", text }
}

fn models() -> Check {
    let names: Vec<&str> = BUILTINS.iter().map(|b| b.name).collect();
    let (mark, text) = if names.is_empty() {
        (Mark::Note, "no model is built in; give a folder or a hub id".to_owned())
    } else {
        (Mark::Ok, format!("built in: {}", names.join(", ")))
    };
    Check { mark, what: "models", text }
}

fn terminal() -> Check {
    let what = "terminal";
    if !std::io::stdout().is_terminal() {
        let text = "standard output is not a terminal; run, replay --headless and export still work".to_owned();
        return Check { mark: Mark::Note, what, text };
    }
    let kind = std::env::var("TERM").unwrap_or_default();
    if kind.is_empty() || kind == "dumb" {
        let is = if kind.is_empty() { "not set" } else { "`dumb`" };
        let text = format!("TERM is {is}, so the screen cannot be shown; set it to your terminal's type");
        return Check { mark: Mark::Note, what, text };
    }
    match crossterm::terminal::size() {
        Ok((columns, rows)) => {
            let small = columns < 80 || rows < 24;
            let advice = if small { "; enlarge it to 80x24 or more to see all panes" } else { "" };
            let mark = if small { Mark::Note } else { Mark::Ok };
            Check { mark, what, text: format!("{kind}, {columns}x{rows}{advice}") }
        }
        Err(error) => Check { mark: Mark::Bad, what, text: format!("{kind}: its size cannot be determined: {error}") },
    }
}

fn colour() -> Check {
    let set = |name: &str| std::env::var_os(name).is_some_and(|v| !v.is_empty());
    let utf8 = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|v| !v.is_empty()))
        .is_some_and(|v| v.to_lowercase().replace('-', "").contains("utf8"));
    let colour = if set("NO_COLOR") { "off (NO_COLOR)" } else { "on" };
    let (mark, text) = if utf8 { (Mark::Ok, "UTF-8") } else { (Mark::Note, "not UTF-8; lines may look wrong") };
    Check { mark, what: "colour", text: format!("{colour}; locale {text}") }
}

fn sessions() -> Check {
    let what = "sessions";
    let folder = match name::folder() {
        Ok(folder) => folder,
        Err(error) => return Check { mark: Mark::Note, what, text: error.to_string() },
    };
    match writable(&folder) {
        Ok(()) => {
            let count = std::fs::read_dir(&folder).map_or(0, |entries| {
                entries.flatten().filter(|e| e.file_name().to_string_lossy().ends_with(name::EXTENSION)).count()
            });
            Check { mark: Mark::Ok, what, text: format!("{count} in {}", folder.display()) }
        }
        Err(error) => {
            let text = format!(
                "{}: {error}, so runs are not recorded; set PROBITY_STATE_DIR to a writable folder",
                folder.display()
            );
            Check { mark: Mark::Note, what, text }
        }
    }
}

/// Checks that a file can be written to the folder, creating the folder if needed.
fn writable(folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    tempfile::tempfile_in(folder).map(|_| ())
}

/// Names the folder of hidden states and trained probes, which can be deleted at any time.
fn cache() -> Check {
    let what = "cache";
    let cache = Cache::user();
    let Some(folder) = cache.dir().and_then(Path::parent) else {
        let text = "no home folder, so nothing is kept; set PROBITY_CACHE_DIR to a writable folder";
        return Check { mark: Mark::Note, what, text: text.into() };
    };
    let absent = if folder.is_dir() { "" } else { " (does not exist yet)" };
    Check { mark: Mark::Ok, what, text: format!("{}{absent}; it can be deleted at any time", folder.display()) }
}

/// Checks the hub cache from which models are loaded.
fn hub() -> Check {
    let settings = Settings::of_process();
    let absent = if settings.cache.is_dir() { "" } else { " (does not exist yet)" };
    let offline = if settings.offline { "; offline: nothing is fetched" } else { "" };
    let (mark, withheld) = match settings.token_withheld() {
        Some(why) => (Mark::Note, format!("; {why}")),
        None => (Mark::Ok, String::new()),
    };
    let text = format!("{}{absent}{offline}{withheld}", settings.cache.display());
    Check { mark, what: "hub cache", text }
}

/// Checks for a system font with Chinese characters, which the embedded font does not have.
fn fonts() -> Check {
    let what = "fonts";
    match spare_font('中') {
        Ok(file) => Check { mark: Mark::Ok, what, text: format!("Chinese text in PNG figures uses {file}") },
        Err(advice) => Check { mark: Mark::Note, what, text: advice },
    }
}

/// Draws an empty figure to test the embedded font and the encoder.
fn figures() -> Check {
    let axis = || Axis::linear("x").from_to(0.0, 1.0);
    let figure = Figure {
        name: "doctor".into(),
        title: "doctor".into(),
        x: axis(),
        y: axis(),
        layers: Vec::new(),
        provenance: Provenance::default(),
    };
    match render(&figure, Format::Png, &Options::default()) {
        Ok(bytes) => Check {
            mark: Mark::Ok,
            what: "figures",
            text: format!("embedded font works ({} bytes drawn)", bytes.len()),
        },
        Err(error) => Check { mark: Mark::Bad, what: "figures", text: error.to_string() },
    }
}
