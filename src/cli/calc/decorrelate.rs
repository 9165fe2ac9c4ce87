//! `probity decorrelate`: the largest subset of a two-property table in which the properties are uncorrelated.

use std::io::Write;

use clap::Args;
use serde::Serialize;

use crate::error::CliError;
use crate::output;
use base::text::shortened;
use probe::decorrelate::{association, decorrelate_counts};

/// Make a table of two properties uncorrelated and show the remaining counts (Canby et al.).
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  probity decorrelate --table 273,65,115,39
  probity decorrelate --table '273,65,1391;115,39,615' --json

Rows are values of the target, columns values of the other property. Four counts form a table of two rows; in larger tables,
semicolons separate the rows.")]
pub struct DecorrelateArgs {
    /// Counts, row by row.
    #[arg(long, value_name = "COUNTS", allow_hyphen_values = true)]
    table: String,
    /// Print the result as one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Answer {
    counts: Vec<Vec<u64>>,
    total: u64,
    phi: f64,
}

/// Fails with [`CliError::Usage`] for an input that is not a table or that has no uncorrelated subset.
pub fn answer(args: &DecorrelateArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let table = table(&args.table)?;
    let kept = decorrelate_counts(&table).map_err(|e| CliError::Usage(e.to_string()))?;
    let answer = Answer { counts: kept.counts, total: kept.total, phi: kept.phi };
    if args.json {
        return output::json(out, &answer);
    }
    let row = |r: &Vec<u64>| r.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    let rows = answer.counts.iter().map(row).collect::<Vec<_>>().join(";");
    let before = association(&table);
    let given: u64 = table.iter().flatten().sum();
    output::line(out, &format!("{rows}  {} of {given} kept  phi {:.4} (was {before:.4})", answer.total, answer.phi))
}

fn table(text: &str) -> Result<Vec<Vec<u64>>, CliError> {
    let count = |cell: &str| {
        cell.trim().parse::<u64>().map_err(|_| {
            CliError::Usage(format!("`{}` is not a count; counts are whole numbers from 0", shortened(cell, 40)))
        })
    };
    let row = |r: &str| r.split(',').map(count).collect::<Result<Vec<_>, _>>();
    let rows = text.split(';').map(row).collect::<Result<Vec<_>, _>>()?;
    match rows.as_slice() {
        [one] if one.len() == 4 => Ok(one.chunks(2).map(<[u64]>::to_vec).collect()),
        [one] => Err(CliError::Usage(format!(
            "--table has {} counts in one row; give four counts for a table of two rows, or separate the rows with \
             semicolons",
            one.len()
        ))),
        _ => Ok(rows),
    }
}
