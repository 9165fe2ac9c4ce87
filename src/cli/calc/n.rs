//! `probity n`: number of training examples to distinguish two probes, by a bound.

use std::io::Write;

use clap::Args;
use serde::Serialize;

use crate::error::CliError;
use crate::output;
use base::numbers::{number, whole};
use figure::layers::grouped;
use labs::power::bound::{Bound, Counted, Ratio, recommended};

/// Recommend a number of training examples to distinguish two probes (Zhu et al. 2022).
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  probity n --gap 42/320 --dim 768
  probity n --gap 3.4% --dim 768 --bound textbook --delta .05
  probity n --gap 3.4% --bound own:120
  probity n --gap .05 --dim 4096 --classifier mlp:20 --ratio 8:1:1 --json

The published bound takes p*2^32 for the size of the class and 1e-8 for delta, as the tables of the paper do; the textbook bound
takes 2^(32p), all classifiers with p weights of 32 bits. A bound of your own is given by its constant, into which its delta and
the classifier have gone. Half the gap is epsilon.")]
pub struct NArgs {
    /// Difference of the two accuracies that is to be resolved.
    #[arg(long, value_name = "GAP", allow_hyphen_values = true)]
    gap: String,
    /// Size of the vectors (of the larger encoder); a bound of your own needs none.
    #[arg(long, value_name = "D", value_parser = |d: &str| whole(d, 1..=1_000_000_000))]
    dim: Option<u64>,
    /// `published`, `textbook`, or `own:C` for a bound of the form n = C / epsilon^2.
    #[arg(long, default_value = "published")]
    bound: String,
    /// Probability that the bound fails.
    #[arg(long, default_value = "1e-8", allow_hyphen_values = true)]
    delta: String,
    /// `logreg`, or `mlp:H` with H hidden units.
    #[arg(long, default_value = "logreg")]
    classifier: String,
    /// Training, validation and test examples.
    #[arg(long, default_value = "4:1:1", allow_hyphen_values = true)]
    ratio: String,
    /// Print one object as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Answer {
    n_train: u64,
    n_total: u64,
    epsilon: f64,
    bound: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<u64>,
}

/// Prints the recommendation.
pub fn answer(args: &NArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let usage = |e: &dyn std::fmt::Display| CliError::Usage(e.to_string());
    let bound: Bound = args.bound.parse().map_err(|e: String| usage(&e))?;
    let of = classifier(&args.classifier)?;
    let parameters = args.dim.map(|dim| of.parameters(dim));
    if parameters.is_none() && !matches!(bound, Bound::Own(_)) {
        let name = bound.name();
        return Err(usage(&format!("the {name} bound counts parameters: give the size of the vectors, --dim")));
    }
    let ratio: Ratio = args.ratio.parse().map_err(|e: String| usage(&e))?;
    let (gap, delta) = (number(&args.gap)?, number(&args.delta)?);
    let found = recommended(bound, gap, parameters.unwrap_or(1), delta).map_err(|e| usage(&e))?;
    let answer = Answer {
        n_train: found.n_train,
        n_total: ratio.total(found.n_train),
        epsilon: found.epsilon,
        bound: bound.name(),
        parameters,
    };
    if args.json {
        return output::json(out, &answer);
    }
    let by = match bound {
        Bound::Own(constant) => format!("own bound, n epsilon^2 = {constant}"),
        _ => {
            let parameters = grouped(parameters.unwrap_or(1) as usize);
            format!("{} bound, {parameters} parameters, delta {delta:e}", answer.bound)
        }
    };
    let text = format!(
        "{} training examples, {} in all at {ratio}  (epsilon {:.6}, {by})",
        grouped(answer.n_train as usize),
        grouped(answer.n_total as usize),
        answer.epsilon,
    );
    output::line(out, &text)
}

fn classifier(name: &str) -> Result<Counted, CliError> {
    if name == "logreg" {
        return Ok(Counted::Linear);
    }
    let width = name.strip_prefix("mlp:").and_then(|w| w.parse().ok()).filter(|w| (1..=1_000_000).contains(w));
    width.map(Counted::Mlp).ok_or_else(|| {
        let shown = base::text::shortened(name, 40);
        CliError::Usage(format!("`{shown}` is not a classifier; write logreg, or mlp:20 for 20 hidden units"))
    })
}
