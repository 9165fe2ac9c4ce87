//! The command line: one file per subcommand.

pub mod calc;
pub mod data;
pub mod doctor;
pub(crate) mod drive;
#[cfg(unix)]
pub mod engine;
pub mod error;
pub mod export;
pub mod findings;
pub mod follow;
pub mod gallery;
pub mod guide;
pub mod jobs;
pub mod merge;
pub mod mix;
pub mod models;
pub mod names;
pub mod output;
pub mod progress;
mod ranges;
#[cfg(not(unix))]
#[path = "no_remote.rs"]
pub mod remote;
#[cfg(unix)]
pub mod remote;
pub mod replay;
pub mod run;
#[cfg(unix)]
mod seat;
pub mod sessions;
pub mod shard;
pub mod shell;
pub mod signals;
pub mod submit;
pub mod table;
pub mod tui;

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use clap::{Parser, Subcommand};
use clap_complete::Shell;

use self::error::CliError;
use base::text::printable_label;

/// Template of the help text, with subcommands grouped by purpose; a test compares it with the existing subcommands.
const TEMPLATE: &str = "\
{about-with-newline}
{usage-heading} {usage}

Experiments and sessions:
  tui          Open the terminal program (the default)
  run          Run experiments without a terminal
  replay       Show a recorded session again
  sessions     List, describe, rename and delete recorded sessions
  diff         Compare two runs
  export       Write a figure or a table of a session
  findings     Print the findings of one kind as a table

Models and data:
  models       List models, or load one and describe it
  data         Inspect, check, convert and write data sets
  gallery      Train and score the built-in models

Calculators:
  score        Score one intervention from an oracle's probabilities
  reliability  Combine a completeness and a selectivity
  prompts      Measure how much scores depend on the prompt
  pairs        Score minimal pairs with a model
  n            Recommend a number of training examples
  mcnemar      Test whether two classifiers differ
  power        Compute the power of a comparison
  compare      Compare two models by their results
  rationale    Judge saliency scores against gold rationales
  saliency     Score the words that a prediction depends on
  states       Write the hidden states of an experiment
  decorrelate  Make a table of two properties uncorrelated

Large experiments and other machines:
  merge        Join the parts of a grid
  follow       Show the progress of a grid
  submit       Submit a grid to a cluster
  remote       List and end engines on other machines

This program:
  guide        Read the guide
  doctor       Check device, terminal, folders and fonts
  completions  Print completions for a shell
  man          Print the manual page
  help         Print the help of a subcommand

Options:
{options}{after-help}";

/// Shows people who probe or evaluate language models how far each number can be trusted.
#[derive(Debug, Parser)]
#[command(name = "probity", version, args_conflicts_with_subcommands = true, max_term_width = 110)]
#[command(help_template = TEMPLATE)]
pub struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    tui: tui::TuiArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    Tui(tui::TuiArgs),
    Run(run::RunArgs),
    Merge(merge::MergeArgs),
    Follow(follow::FollowArgs),
    Submit(submit::SubmitArgs),
    /// List and end engines on other machines, and fetch their sessions.
    #[cfg_attr(unix, command(subcommand))]
    Remote(remote::RemoteCommand),
    #[cfg(unix)]
    #[command(hide = true)]
    Engine(engine::EngineArgs),
    Replay(replay::ReplayArgs),
    /// List, describe, rename and delete recorded sessions.
    #[command(subcommand)]
    Sessions(sessions::SessionsCommand),
    Diff(sessions::DiffArgs),
    Export(export::ExportArgs),
    Findings(findings::FindingsArgs),
    /// List models, or load one and describe it.
    #[command(subcommand)]
    Models(models::ModelsCommand),
    /// Inspect, check, convert and write data sets.
    #[command(subcommand)]
    Data(data::DataCommand),
    Gallery(gallery::GalleryArgs),
    Guide(guide::GuideArgs),
    #[command(flatten)]
    Calculate(calc::Calculator),
    /// Check device, terminal, folders and fonts.
    Doctor,
    /// Print completions for a shell.
    #[command(after_help = "Example:\n  probity completions bash > ~/.local/share/bash-completion/completions/probity")]
    Completions {
        shell: Shell,
    },
    /// Print the manual page.
    #[command(after_help = "Example:\n  probity man | man -l -")]
    Man,
}

/// Runs the command line and returns the exit code: 0 done, 1 failed, 2 bad usage or input, 3 failed condition, 128 plus the signal's
/// number if a signal ended it (130 for Ctrl-C).
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // clap quotes arguments verbatim. If an argument contains control characters, the message is made printable and loses its
            // colours.
            if std::env::args_os().any(|a| a.to_string_lossy().chars().any(char::is_control)) {
                error.render().to_string().lines().for_each(|line| output::say(&printable_label(line)));
            } else {
                // Help and version are printed on standard output with exit code 0; clap distinguishes them from errors.
                let _ = error.print();
            }
            return ExitCode::from(if error.use_stderr() { error::USAGE } else { error::DONE });
        }
    };
    let command = cli.command.unwrap_or(Command::Tui(cli.tui));
    set_panic_hook();
    // Standard output is not locked, because the terminal program writes to it too.
    let run = || dispatch(command, &mut std::io::stdout());
    let result = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
        tell_panic();
        Err(CliError::Reported)
    });
    match result {
        Ok(()) => ExitCode::from(error::DONE),
        Err(error) => {
            if let Some(message) = error.message() {
                output::say(&format!("error: {message}"));
            }
            ExitCode::from(error.code())
        }
    }
}

static PANIC: Mutex<String> = Mutex::new(String::new());

/// Stores panic messages instead of printing them. Panics of libraries on broken files become errors, and panics of the engine become
/// findings; [`main`] reports all others. With RUST_BACKTRACE set, Rust prints them.
fn set_panic_hook() {
    if std::env::var_os("RUST_BACKTRACE").is_some_and(|v| v != "0") {
        return;
    }
    std::panic::set_hook(Box::new(|info| {
        *PANIC.lock().unwrap_or_else(PoisonError::into_inner) = info.to_string();
    }));
}

fn tell_panic() {
    let text = PANIC.lock().unwrap_or_else(PoisonError::into_inner);
    output::say("internal error; RUST_BACKTRACE=1 shows more; please report it");
    text.lines().for_each(|line| output::say(&format!("  {}", printable_label(line))));
}

fn dispatch(command: Command, out: &mut dyn Write) -> Result<(), CliError> {
    match command {
        Command::Tui(args) => tui::live(&args),
        Command::Replay(args) if args.headless || args.json || args.run.is_some() => replay::headless(&args, out),
        Command::Replay(args) => {
            let session = replay::open(&args.session)?;
            tui::replay(session, &args.session, args.speed, &args.look)
        }
        Command::Sessions(command) => sessions::sessions(&command, out),
        Command::Diff(args) => sessions::diff(&args, out),
        Command::Run(args) => run::run(&args, out),
        Command::Merge(args) => merge::merge(&args, out),
        Command::Follow(args) => follow::follow(&args, out),
        Command::Submit(args) => submit::submit(&args, out),
        Command::Remote(command) => remote::remote(&command, out),
        #[cfg(unix)]
        Command::Engine(args) => engine::engine(&args),
        Command::Export(args) => export::export(&args, out),
        Command::Findings(args) => findings::findings(&args, out),
        Command::Models(command) => models::models(&command, out),
        Command::Calculate(calculator) => calc::answer(&calculator, out),
        Command::Data(command) => data::data(&command, out),
        Command::Gallery(args) => gallery::run(&args, out),
        Command::Guide(args) => guide::guide(&args, out),
        Command::Doctor => doctor::doctor(out),
        Command::Completions { shell } => shell::completions(shell, out),
        Command::Man => shell::man(out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    /// Regression: the help used to list 22 commands in one column.
    #[test]
    fn help_lists_each_command_in_one_group() {
        for command in Cli::command().get_subcommands().filter(|c| !c.is_hide_set()) {
            let line = format!("\n  {} ", command.get_name());
            assert_eq!(TEMPLATE.matches(&line).count(), 1, "{}", command.get_name());
        }
    }
}
