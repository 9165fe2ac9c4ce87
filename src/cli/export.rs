//! `probity export`: a figure of a recorded session as PNG, SVG or CSV.

use std::path::PathBuf;

use clap::Args;

use super::error::CliError;
use super::{output, replay};
use crate::base::numbers::number;
use crate::engine::board::Board;
use crate::figure::{self, Figure};
use crate::lab::Details;

/// Write a figure of a recorded session to a file.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  probity export agreement-2 --figure pareto -o pareto.png
  probity export agreement-2 --figure reliability --method fgsm,pgd --oracle linear -o curves.svg
  probity export agreement-2 --figure reliability --method pgd --marker .112 -o pgd.csv")]
pub struct ExportArgs {
    /// Name or file of the session.
    pub session: String,
    /// Which figure: `reliability` (C, S and R against the strength) or `pareto` (C against S, all methods).
    #[arg(long, value_name = "NAME")]
    pub figure: String,
    /// File to write; its extension determines the format.
    #[arg(long, short, value_name = "FILE.png|.svg|.csv")]
    pub out: PathBuf,
    /// Model to draw [default: the first].
    #[arg(long)]
    pub model: Option<String>,
    /// Methods to draw; those that sweep the same hyperparameter can share a figure [default: the first].
    #[arg(long, value_delimiter = ',')]
    pub method: Vec<String>,
    /// Oracle that judges: `mlp` or `linear` [default: the first].
    #[arg(long)]
    pub oracle: Option<String>,
    /// Strength at which to draw a vertical line.
    #[arg(long, value_parser = |t: &str| number(t).map_err(|e| e.to_string()))]
    pub marker: Option<f64>,
    /// Replace the file if it already exists.
    #[arg(long)]
    pub force: bool,
}

/// Draws the figure and writes it.
///
/// # Errors
/// [`CliError::Usage`] for a session, figure, model, method or oracle that does not exist and for a file that does,
/// [`CliError::Failed`] if it cannot be written.
pub fn export(args: &ExportArgs) -> Result<(), CliError> {
    let session = replay::open(&args.session)?;
    let mut figure = pick(&session.board(), args)?;
    figure.provenance.entries.push(("session".into(), args.session.clone()));
    let written = figure::export(&figure, &args.out, args.force)?;
    output::say(&crate::base::text::printable_label(&format!("wrote {}", written.display())));
    Ok(())
}

fn pick(board: &Board, args: &ExportArgs) -> Result<Figure, CliError> {
    let method = args.method.join(",");
    let given = [("method", method.as_str()), ("oracle", args.oracle.as_deref().unwrap_or_default())];
    let details = Details {
        model: args.model.as_deref(),
        more: given.into_iter().filter(|(_, value)| !value.is_empty()).collect(),
        marker: args.marker,
    };
    // A session may contain runs of several labs; the latest one with such a figure draws it.
    let mut refused = None;
    for run in board.runs.iter().rev() {
        let lab = run.job.spec.lab().lab();
        match lab.figure(&args.figure, &details, &run.results, board.engine.as_ref()) {
            Ok(figure) => return Ok(figure),
            Err(why) => refused = Some(why),
        }
    }
    let why = refused.unwrap_or_else(|| "nothing was run in it".into());
    Err(CliError::Usage(format!("{}: {why}", args.session)))
}
