//! `probity engine`: the remote side of `--remote`.

use std::time::Duration;

use clap::Args;

use super::error::CliError;
use super::names;
use engine::local::{Cache, LocalOptions, MOST_MODELS};
use remote::message::Hello;
use remote::{bridge, keeper};

/// Compute for another machine, which starts this command through ssh (see --remote).
#[derive(Debug, Clone, Args)]
pub struct EngineArgs {
    /// Communicate over standard input and output.
    #[arg(long, required_unless_present = "keep")]
    pub stdio: bool,
    /// Run an engine that outlives its connections, with the settings in the client's first message (JSON).
    #[arg(long, value_name = "GREETING", hide = true, conflicts_with = "stdio")]
    pub keep: Option<String>,
}

/// Fails with [`CliError::Usage`] for an unusable device, and with [`CliError::Failed`] if the engine cannot be kept running.
pub fn engine(args: &EngineArgs) -> Result<(), CliError> {
    let Some(greeting) = &args.keep else {
        bridge::bridge(std::io::stdin(), std::io::stdout());
        return Ok(());
    };
    let hello: Hello =
        serde_json::from_slice(greeting.as_bytes()).map_err(|e| CliError::Usage(format!("--keep: {e}")))?;
    base::read::set_limit(hello.memory_limit);
    let options = LocalOptions {
        device: names::device(&hello.device)?,
        dtype: names::dtype(&hello.dtype)?,
        cache: Cache::user(),
        models: hello.models,
        memory_limit: hello.memory_limit,
        most_models: if hello.asked { MOST_MODELS } else { 1 },
        asked: hello.asked,
    };
    let terms = keeper::Terms {
        name: hello.name,
        options,
        place: names::place(&hello.device, &hello.dtype),
        wait: Duration::from_secs(hello.wait),
    };
    keeper::keep(terms).map_err(|e| CliError::Failed(e.to_string()))
}
