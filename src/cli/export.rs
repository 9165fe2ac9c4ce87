//! `probity export`: a figure of a recorded session as PNG, SVG or CSV.

use std::path::PathBuf;

use clap::Args;

use super::error::CliError;
use super::{output, replay, suggest};
use crate::base::numbers::number;
use crate::engine::board::{Board, Curve};
use crate::engine::spec::OracleKind;
use crate::figure::{self, Figure, reliability};

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
    /// File to write; its extension is the format.
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
    /// Strength at which a rule is drawn.
    #[arg(long, value_parser = |t: &str| number(t).map_err(|e| e.to_string()))]
    pub marker: Option<f64>,
}

/// Draws the figure and writes it.
///
/// # Errors
/// [`CliError::Usage`] for a session, figure, model, method or oracle that is not there, [`CliError::Failed`] where the file
/// cannot be written.
pub fn export(args: &ExportArgs) -> Result<(), CliError> {
    let session = replay::open(&args.session)?;
    let mut figure = pick(&session.board(), args)?;
    figure.provenance.entries.push(("session".into(), args.session.clone()));
    figure::export(&figure, &args.out)?;
    output::say(&crate::base::text::printable_label(&format!("wrote {}", args.out.display())));
    Ok(())
}

fn pick(board: &Board, args: &ExportArgs) -> Result<Figure, CliError> {
    const FIGURES: [&str; 2] = ["reliability", "pareto"];
    if !FIGURES.contains(&args.figure.as_str()) {
        return Err(CliError::Usage(suggest::unknown("figure", &args.figure, &FIGURES)));
    }
    let curves = &board.results.curves;
    let Some(first) = curves.first() else {
        return Err(CliError::Usage(format!("{}: the session has no points to draw", args.session)));
    };
    let model = among("model", args.model.as_deref(), &first.model, curves, |c| c.model.clone())?;
    let of_model: Vec<Curve> = curves.iter().filter(|c| c.model == model).cloned().collect();
    let default = of_model.first().map_or(String::new(), |c| c.oracle.to_string());
    let oracle = among("oracle", args.oracle.as_deref(), &default, &of_model, |c| c.oracle.to_string())?;
    let oracle = if oracle == OracleKind::Mlp.to_string() { OracleKind::Mlp } else { OracleKind::Linear };
    let none =
        || CliError::Usage(format!("{}: no points of model {model} with the {oracle} oracle", args.session));
    if args.figure == "pareto" {
        return reliability::pareto(board, &model, oracle).ok_or_else(none);
    }
    let default = of_model.first().map_or(String::new(), |c| c.method.clone());
    let mut methods = Vec::new();
    for method in &args.method {
        methods.push(among("method", Some(method), &default, &of_model, |c| c.method.clone())?);
    }
    if methods.is_empty() {
        methods.push(default);
    }
    let parameter = |m: &str| of_model.iter().find(|c| c.method == m).map(|c| c.parameter.clone());
    if let Some(other) = methods.iter().find(|m| parameter(m) != parameter(&methods[0])) {
        return Err(CliError::Usage(format!(
            "{other} and {} sweep different hyperparameters and cannot share an axis; export them one by one",
            methods[0]
        )));
    }
    let methods: Vec<&str> = methods.iter().map(String::as_str).collect();
    reliability::curves(board, &model, &methods, oracle, args.marker).ok_or_else(none)
}

/// The wanted name where the session has it, else the default.
fn among(
    what: &str,
    wanted: Option<&str>,
    default: &str,
    curves: &[Curve],
    key: impl Fn(&Curve) -> String,
) -> Result<String, CliError> {
    let Some(wanted) = wanted else { return Ok(default.to_owned()) };
    let mut known: Vec<String> = curves.iter().map(key).collect();
    known.sort();
    known.dedup();
    if known.iter().any(|k| k == wanted) {
        return Ok(wanted.to_owned());
    }
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    Err(CliError::Usage(suggest::unknown(&format!("{what} of this session"), wanted, &known)))
}
