//! `probity engine`: the far ends of `--remote`.

use std::time::Duration;

use clap::Args;

use super::error::CliError;
use super::names;
use crate::base::size;
use crate::engine::local::{Cache, LocalOptions, MOST_MODELS};
use crate::remote::{bridge, keeper};

/// Compute for a Probity on another machine, which starts this through ssh (see --remote).
#[derive(Debug, Clone, Args)]
pub struct EngineArgs {
    /// Speak with it over standard input and output.
    #[arg(long, required_unless_present = "keep")]
    pub stdio: bool,
    /// Be the engine of this name.
    #[arg(long, value_name = "NAME", hide = true, conflicts_with = "stdio")]
    pub keep: Option<String>,
    #[arg(long, hide = true, default_value = "auto")]
    device: String,
    #[arg(long, hide = true, default_value = "f32")]
    dtype: String,
    #[arg(long, hide = true, value_parser = size::parse)]
    memory_limit: Option<u64>,
    #[arg(long = "model", hide = true)]
    models: Vec<String>,
    /// Whether questions may come.
    #[arg(long, hide = true)]
    asked: bool,
    /// Seconds.
    #[arg(long, hide = true, default_value_t = 0)]
    wait: u64,
}

/// Serves one near end, or keeps an engine.
///
/// # Errors
/// [`CliError::Usage`] for a device that cannot be used, [`CliError::Failed`] if the engine cannot be kept.
pub fn engine(args: &EngineArgs) -> Result<(), CliError> {
    let Some(name) = &args.keep else {
        bridge::bridge(std::io::stdin(), std::io::stdout());
        return Ok(());
    };
    let options = LocalOptions {
        device: names::device(&args.device)?,
        dtype: names::dtype(&args.dtype)?,
        cache: Cache::user(),
        models: args.models.clone(),
        memory_limit: args.memory_limit,
        most_models: if args.asked { MOST_MODELS } else { 1 },
        asked: args.asked,
    };
    let terms = keeper::Terms {
        name: name.clone(),
        options,
        place: names::place(&args.device, &args.dtype),
        wait: Duration::from_secs(args.wait),
    };
    keeper::keep(terms).map_err(|e| CliError::Failed(e.to_string()))
}
