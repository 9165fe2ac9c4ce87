//! `probity n`: the number of training examples needed to distinguish two probes according to a bound.

use std::io::Write;

use clap::Args;
use serde::Serialize;

use crate::error::CliError;
use crate::output;
use base::numbers::{number, whole};
use figure::layers::grouped;
use labs::power::bound::{Bound, Counted, Ratio, Score, recommended, recommended_for};

/// Recommend a number of training examples to distinguish two probes (Zhu et al. 2022).
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  probity n --gap 42/320 --dim 768
  probity n --gap 3.4% --dim 768 --bound textbook --delta .05
  probity n --gap 3.4% --bound own:120
  probity n --gap .05 --dim 4096 --classifier mlp:20 --ratio 8:1:1 --json
  probity n --gap 42/320 --dim 768 --control .52,.50
  probity n --gap 42/320 --dim 768 --code-gap .08 --clip 4

The published bound uses p*2^32 as the size of the class and 1e-8 as delta, as in the tables of the paper; the
textbook bound uses 2^(32p), the number of classifiers with p weights of 32 bits. With own:C, the constant C
includes delta and the classifier. Epsilon is half the gap.

--control also computes n for a difference in selectivity (Theorem 1: the bounds of accuracy and control
accuracy, each at delta/2, add up). --code-gap also computes n for a difference in prequential code length, in bits
per example (equation 3: the bounds of ten blocks, each at delta/10, weighted by the examples that they code).
A label that takes more than --clip bits counts as --clip bits.")]
pub struct NArgs {
    /// Difference of the two accuracies to be resolved.
    #[arg(long, value_name = "GAP", allow_hyphen_values = true)]
    gap: String,
    /// Vector size (of the larger encoder); not needed with `--bound own:C`.
    #[arg(long, value_name = "D", value_parser = |d: &str| whole(d, 1..=1_000_000_000))]
    dim: Option<u64>,
    /// `published`, `textbook`, or `own:C` for a bound of the form n = C / epsilon^2.
    #[arg(long, default_value = "published")]
    bound: String,
    /// Probability that the bound fails.
    #[arg(long, default_value = "1e-8", allow_hyphen_values = true)]
    delta: String,
    /// Measured accuracies of the two probes on a control task, in the order in which --gap subtracts them.
    #[arg(long, value_name = "A,B")]
    control: Option<String>,
    /// Difference between the two prequential code lengths, in bits per example.
    #[arg(long, value_name = "BITS", allow_hyphen_values = true)]
    code_gap: Option<String>,
    /// Maximum number of bits counted for one label in a prequential code.
    #[arg(long, value_name = "BITS", default_value = "10", requires = "code_gap")]
    clip: String,
    /// `logreg`, or `mlp:H` with H hidden units.
    #[arg(long, default_value = "logreg")]
    classifier: String,
    /// Ratio of training, validation and test examples.
    #[arg(long, default_value = "4:1:1", allow_hyphen_values = true)]
    ratio: String,
    /// Print the result as one JSON object.
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
    #[serde(skip_serializing_if = "Option::is_none")]
    selectivity: Option<Further>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prequential: Option<Further>,
}

#[derive(Serialize)]
struct Further {
    n_train: u64,
    n_total: u64,
    gap: f64,
    epsilon: f64,
    #[serde(skip)]
    text: String,
}

/// Computes recommendations for a difference in selectivity or code length, if requested.
fn further(
    args: &NArgs,
    (bound, parameters, delta): (Bound, u64, f64),
    ratio: Ratio,
) -> Result<[Option<Further>; 2], CliError> {
    let of = |score: Score, gap: f64, name: String| {
        let found = recommended_for(score, bound, gap, parameters, delta);
        let found = found.map_err(|e| CliError::Usage(format!("{name}: {e}")))?;
        let (n_train, n_total, epsilon) = (found.n_train, ratio.total(found.n_train), found.epsilon);
        let [n, total] = [n_train, n_total].map(|n| grouped(n as usize));
        let text = format!("{name}: {n} training examples, {total} in all  (gap {gap:.6}, epsilon {epsilon:.6})");
        Ok::<_, CliError>(Further { n_train, n_total, gap, epsilon, text })
    };
    let selectivity = |text: &String| {
        let sides = text.split(',').map(number).collect::<Result<Vec<f64>, _>>()?;
        let [a, b] = sides[..] else {
            return Err(CliError::Usage("--control: give the accuracies of both probes, for example .52,.50".into()));
        };
        if !(0.0..=1.0).contains(&a) || !(0.0..=1.0).contains(&b) {
            return Err(CliError::Usage("--control: accuracies must be between 0 and 1".into()));
        }
        of(Score::Selectivity, number(&args.gap)? - (a - b), "selectivity, Theorem 1 with delta/2 for each term".into())
    };
    let prequential = |text: &String| {
        let clip = number(&args.clip)?;
        let name = format!("prequential code, equation 3 in bits per example, losses clipped at {clip} bits");
        of(Score::Prequential { clip }, number(text)?, name)
    };
    Ok([args.control.as_ref().map(selectivity).transpose()?, args.code_gap.as_ref().map(prequential).transpose()?])
}

pub fn answer(args: &NArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let usage = |e: &dyn std::fmt::Display| CliError::Usage(e.to_string());
    let bound: Bound = args.bound.parse().map_err(|e: String| usage(&e))?;
    let of = classifier(&args.classifier)?;
    let parameters = args.dim.map(|dim| of.parameters(dim));
    if parameters.is_none() && !matches!(bound, Bound::Own(_)) {
        let name = bound.name();
        return Err(usage(&format!(
            "the {name} bound depends on the number of parameters: give the vector size with --dim"
        )));
    }
    let ratio: Ratio = args.ratio.parse().map_err(|e: String| usage(&e))?;
    let (gap, delta) = (number(&args.gap)?, number(&args.delta)?);
    let found = recommended(bound, gap, parameters.unwrap_or(1), delta).map_err(|e| usage(&e))?;
    let [selectivity, prequential] = further(args, (bound, parameters.unwrap_or(1), delta), ratio)?;
    let answer = Answer {
        n_train: found.n_train,
        n_total: ratio.total(found.n_train),
        epsilon: found.epsilon,
        bound: bound.name(),
        parameters,
        selectivity,
        prequential,
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
        "accuracy: {} training examples, {} in all at {ratio}  (epsilon {:.6}, {by})",
        grouped(answer.n_train as usize),
        grouped(answer.n_total as usize),
        answer.epsilon,
    );
    output::line(out, &text)?;
    [&answer.selectivity, &answer.prequential].into_iter().flatten().try_for_each(|f| output::line(out, &f.text))
}

fn classifier(name: &str) -> Result<Counted, CliError> {
    if name == "logreg" {
        return Ok(Counted::Linear);
    }
    let width = name.strip_prefix("mlp:").and_then(|w| w.parse().ok()).filter(|w| (1..=1_000_000).contains(w));
    width.map(Counted::Mlp).ok_or_else(|| {
        let shown = base::text::shortened(name, 40);
        CliError::Usage(format!("`{shown}` is not a classifier; use `logreg`, or `mlp:20` for 20 hidden units"))
    })
}
