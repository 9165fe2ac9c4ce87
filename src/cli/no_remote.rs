//! `--remote` and `probity remote` on systems without Unix sockets, where they are rejected with the reason.

use std::io::Write;

use clap::Args;

use super::error::CliError;

const WHY: &str = "engines on other machines need Linux or macOS; on Windows, run Probity in WSL";

#[derive(Debug, Clone, Default, Args)]
pub struct RemoteArgs {
    /// Compute on another machine; not available on this system.
    #[arg(long, value_name = "ADDRESS", value_parser = refuse)]
    pub(crate) remote: Option<String>,
}

fn refuse(_: &str) -> Result<String, String> {
    Err(WHY.into())
}

/// Accepts any arguments, so that the reason is always given.
#[derive(Debug, Args)]
pub struct RemoteCommand {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    words: Vec<String>,
}

pub(crate) fn remote(command: &RemoteCommand, _: &mut dyn Write) -> Result<(), CliError> {
    Err(CliError::Usage(format!("remote {}: {WHY}", command.words.join(" "))))
}
