//! `--remote` and `probity remote`: engines on other machines.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::error::CliError;
use super::output;
use base::numbers::seconds;
use base::text::{pad, printable_label};
use remote::client::{EndReport, LinkEnd};
use remote::errand;
use remote::message::{Hello, Status};
use remote::transfer::inner;
use remote::{Address, Far, Past, RemoteError};
use session::name;

#[derive(Debug, Clone, Default, Args)]
pub struct RemoteArgs {
    /// Compute on another machine through the system's ssh: ssh://user@host:port. Names of models and data refer to that machine, and so do
    /// --device and --memory-limit.
    #[arg(long, value_name = "ADDRESS")]
    pub remote: Option<Address>,
    /// Time that an idle engine on the remote machine waits for a client, for example 90m or 3d [default: 24h].
    #[arg(long, value_name = "TIME", requires = "remote", value_parser = duration)]
    pub wait: Option<u64>,
    /// Also send this file, named as in the spec, relative to the spec's folder; relative paths in specs then refer to the files sent. May
    /// be repeated.
    #[arg(long, value_name = "FILE", requires = "remote")]
    pub send: Vec<String>,
}

/// Default idle time of an engine, in seconds.
const WAIT: u64 = 24 * 3600;
/// Maximum idle time of an engine, in seconds: a leap year.
const MOST_WAIT: u64 = 366 * 24 * 3600;

/// Parses a duration: `30s`, `90m`, `24h`, `3d`.
fn duration(text: &str) -> Result<u64, String> {
    let bad = || "expected a duration such as 30s, 90m, 24h or 3d (at most 366d)".to_owned();
    let unit = match text.chars().next_back() {
        Some('s') => 1,
        Some('m') => 60,
        Some('h') => 3600,
        Some('d') => 24 * 3600,
        _ => return Err(bad()),
    };
    let number: u64 = text[..text.len() - 1].parse().map_err(|_| bad())?;
    number.checked_mul(unit).filter(|s| *s <= MOST_WAIT).ok_or_else(bad)
}

impl RemoteArgs {
    /// Builds the first message to the remote engine, with the fields that all commands share.
    pub(crate) fn hello(&self, device: &str, dtype: &str, memory_limit: Option<u64>) -> Hello {
        Hello {
            device: device.into(),
            dtype: dtype.into(),
            memory_limit,
            wait: self.wait.unwrap_or(WAIT),
            ..Hello::default()
        }
    }
}

impl RemoteArgs {
    /// Returns the files to send; each is taken from the first of the specs' folders that contains it.
    ///
    /// # Errors
    /// [`CliError::Usage`] for a file that does not exist or whose name leads out of the folder.
    pub(crate) fn files(&self, specs: &[PathBuf]) -> Result<Vec<(String, PathBuf)>, CliError> {
        let find = |name: &String| {
            let bad = |what: &str| CliError::Usage(format!("--send {name}: {what}"));
            let inner =
                inner(name).ok_or_else(|| bad("give the name used in the spec, relative to the spec's folder"))?;
            let beside = specs.iter().filter_map(|s| s.parent()).map(|folder| folder.join(&inner));
            let path = beside.chain([inner.clone()]).find(|p| p.is_file());
            path.map(|path| (name.clone(), path)).ok_or_else(|| bad("there is no such file in the spec's folder"))
        };
        self.send.iter().map(find).collect()
    }
}

impl From<RemoteError> for CliError {
    fn from(error: RemoteError) -> Self {
        CliError::Failed(error.to_string())
    }
}

/// Connects, and warns if the versions of the two programs differ.
pub fn connect(address: &Address, hello: Hello, files: &[(String, PathBuf)]) -> Result<(Far, Past), CliError> {
    let (far, past) = Far::connect(address, hello, files)?;
    if far.version() != env!("CARGO_PKG_VERSION") {
        output::say(&format!(
            "warning: {} runs Probity {}, but this is {}; results come from the remote version",
            address.host(),
            printable_label(far.version()),
            env!("CARGO_PKG_VERSION")
        ));
    }
    Ok((far, past))
}

pub(crate) fn report_end(address: &Address, name: &str, farewell: &EndReport) {
    let name = printable_label(name);
    match farewell.parting() {
        LinkEnd::Ended => {}
        LinkEnd::Left => output::say(&format!(
            "the engine continues on {}; `probity --remote {address} --attach {name}` reconnects to it",
            address.host()
        )),
        LinkEnd::Untold => output::say(&format!(
            "{} did not confirm that the engine has ended; `probity remote stop {address} {name}` ends it",
            address.host()
        )),
    }
}

/// List and end engines on other machines, and fetch their sessions.
#[derive(Debug, Subcommand)]
#[command(after_help = "Examples:
  probity remote list ssh://gpu1
  probity remote fetch ssh://gpu1 agreement-20260102-030405
  probity remote stop ssh://ada@gpu1:2222 agreement-20260102-030405")]
pub enum RemoteCommand {
    /// Show the running engines and the latest sessions on the remote machine.
    List {
        /// The machine: ssh://user@host:port.
        #[arg(value_name = "ADDRESS")]
        address: Address,
        /// Write one JSON object per line.
        #[arg(long)]
        json: bool,
    },
    /// End an engine on the remote machine: its run is cancelled, and its session is kept.
    Stop {
        /// The machine.
        #[arg(value_name = "ADDRESS")]
        address: Address,
        /// The engine's name, as shown by `list`.
        name: String,
    },
    /// Copy sessions to the local session folder, even while their engines are running.
    Fetch {
        /// The machine.
        #[arg(value_name = "ADDRESS")]
        address: Address,
        /// The sessions' names, as shown by `list`.
        #[arg(required = true)]
        names: Vec<String>,
    },
}

pub fn remote(command: &RemoteCommand, out: &mut dyn Write) -> Result<(), CliError> {
    match command {
        RemoteCommand::List { address, json } => {
            let all = errand::list(address)?;
            if *json {
                return all.iter().try_for_each(|status| output::json(out, status));
            }
            if all.is_empty() {
                return output::line(out, "the remote machine has no engines and no sessions");
            }
            let widest = all.iter().map(|s| printable_label(&s.name).chars().count()).max().unwrap_or(0);
            all.iter().try_for_each(|status| output::line(out, &row(status, widest)))
        }
        RemoteCommand::Stop { address, name } => {
            errand::stop(address, name)?;
            output::line(out, &format!("{} has ended", printable_label(name)))
        }
        RemoteCommand::Fetch { address, names } => {
            let folder = name::folder()?;
            names.iter().try_for_each(|name| {
                let path = errand::fetch(address, name, &folder)?;
                output::line(out, &format!("wrote {}", output::full(&path)))
            })
        }
    }
}

fn row(status: &Status, widest: usize) -> String {
    let kind = match (status.alive, status.running) {
        (true, true) => "running",
        (true, false) => "idle",
        (false, _) => "session",
    };
    let attached = match (status.alive, status.attached) {
        (false, _) => String::new(),
        (true, 0) => "; no client attached".into(),
        (true, n) => format!("; {n} attached"),
    };
    let left = status.left.map_or(String::new(), |s| format!("; ends in {}", seconds(s as f64)));
    let machine = if status.machine.is_empty() { String::new() } else { format!("; on {}", status.machine) };
    let rest = printable_label(&format!("{}{attached}{left}{machine}", status.state));
    let created = printable_label(&status.created);
    format!("{}  {}  {}  {rest}", pad(&printable_label(&status.name), widest), pad(kind, 7), pad(&created, 20))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_parsed_or_refused() {
        for (text, seconds) in [("30s", 30), ("90m", 5400), ("24h", 86_400), ("3d", 259_200), ("0s", 0)] {
            assert_eq!(duration(text), Ok(seconds));
        }
        for text in ["", "h", "5", "1.5h", "-1h", "1y", "367d", "99999999999999999999d", "5 é"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn engine_row_is_printable() {
        let status = Status {
            name: "a\u{1b}[2J".into(),
            alive: true,
            running: true,
            state: "oracle, 40 %".into(),
            attached: 2,
            ..Status::default()
        };
        let text = row(&status, 8);
        assert!(text.contains("running") && text.contains("40 %; 2 attached"), "{text}");
        assert!(!text.chars().any(char::is_control), "{text:?}");
        let idle = row(&Status { alive: true, left: Some(90), ..Status::default() }, 1);
        assert!(idle.contains("idle") && idle.contains("no client attached") && idle.contains("ends in"), "{idle}");
    }
}
