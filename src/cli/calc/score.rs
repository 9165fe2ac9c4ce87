//! `probity score` and `probity reliability`: the interventions lab's measures for numbers from any source.

use std::io::Write;

use clap::Args;
use serde::Serialize;

use crate::error::CliError;
use crate::output;
use base::matrix::Dense;
use base::numbers::probability_of as probability;
use labs::interventions::score::{self, Distance};

/// Maximum deviation from 1 of a distribution's sum.
const TOLERANCE: f64 = 1e-6;

/// Score an intervention by an oracle's probabilities before and after it (Canby et al., equations 1 to 4).
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  probity score --before .5,.3,.2 --after .1,.8,.1
  probity score --before 1/2,1/2 --after 3%,97% --target 1 --json
  probity score --before .9,.1 --after .5,.5 --target uniform")]
pub struct ScoreArgs {
    /// Probabilities before the intervention, separated by commas.
    #[arg(long, value_name = "P,P,…", allow_hyphen_values = true)]
    before: String,
    /// Probabilities after the intervention, in the same order.
    #[arg(long, value_name = "P,P,…", allow_hyphen_values = true)]
    after: String,
    /// Goal of the intervention: the number of a class, from 0, or `uniform` for a nullifying one.
    #[arg(long, value_name = "K|uniform", allow_hyphen_values = true)]
    target: Option<String>,
    /// Distance on which the scores are based: `tv`, total variation as in the paper, or `js`, Jensen-Shannon divergence in bits.
    #[arg(long, value_name = "DISTANCE", default_value = "tv")]
    distance: String,
    /// Print the result as one JSON object.
    #[arg(long)]
    json: bool,
}

/// Combine a completeness and a selectivity into a reliability (Canby et al., equation 4).
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  probity reliability .8934 .3992")]
pub struct ReliabilityArgs {
    #[arg(allow_negative_numbers = true)]
    completeness: String,
    #[arg(allow_negative_numbers = true)]
    selectivity: String,
    /// Print the result as one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Score {
    #[serde(skip_serializing_if = "Option::is_none")]
    tv: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    js: Option<f64>,
    m: f64,
    selectivity: f64,
    #[serde(flatten)]
    aimed: Option<Aimed>,
}

#[derive(Serialize)]
struct Aimed {
    completeness: f64,
    reliability: f64,
}

#[derive(Serialize)]
struct Reliability {
    reliability: f64,
}

pub fn score(args: &ScoreArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let (before, after) = (distribution("before", &args.before)?, distribution("after", &args.after)?);
    if before.len() != after.len() {
        let (a, b) = (before.len(), after.len());
        return Err(CliError::Usage(format!(
            "--before has {a} probabilities and --after {b}; they must cover the same classes"
        )));
    }
    let distance = match args.distance.as_str() {
        "tv" => Distance::Tv,
        "js" => Distance::Js,
        other => {
            let other = base::text::printable_label(other);
            return Err(CliError::Usage(format!("--distance `{other}`: must be `tv` or `js`")));
        }
    };
    let (p, q) = (row(&before)?, row(&after)?);
    let selectivity = score::selectivity(distance, &p, &q)[0];
    let completeness = match args.target.as_deref() {
        None => None,
        Some("uniform") => Some(score::nullifying_completeness(distance, &q)[0]),
        Some(k) => {
            let class = k.parse().ok().filter(|k: &usize| *k < after.len());
            let class = class.ok_or_else(|| {
                let last = after.len() - 1;
                CliError::Usage(format!("--target `{k}` is not a class; classes are 0 to {last}, or `uniform`"))
            })?;
            Some(score::counterfactual_completeness(distance, &q, &[class])[0])
        }
    };
    let aimed = completeness
        .map(|completeness| Aimed { completeness, reliability: score::reliability(completeness, selectivity) });
    let (apart, m) = (distance.between(&before, &after), distance.farthest(&before));
    let is = |wanted| (distance == wanted).then_some(apart);
    let score = Score { tv: is(Distance::Tv), js: is(Distance::Js), m, selectivity, aimed };
    if args.json {
        return output::json(out, &score);
    }
    let mut text = format!("{} {apart:.6}  m {m:.6}  selectivity {selectivity:.6}", args.distance.to_uppercase());
    if let Some(aimed) = &score.aimed {
        text += &format!("  completeness {:.6}  reliability {:.6}", aimed.completeness, aimed.reliability);
    }
    output::line(out, &text)
}

pub fn reliability(args: &ReliabilityArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let reliability = score::reliability(probability(&args.completeness)?, probability(&args.selectivity)?);
    if args.json {
        output::json(out, &Reliability { reliability })
    } else {
        output::line(out, &format!("reliability {reliability:.6}"))
    }
}

fn distribution(name: &str, text: &str) -> Result<Vec<f64>, CliError> {
    let values: Vec<f64> = text.split(',').map(probability).collect::<Result<_, _>>()?;
    let sum: f64 = values.iter().sum();
    if values.len() < 2 {
        return Err(CliError::Usage(format!(
            "--{name} has {} probability; at least two classes are needed",
            values.len()
        )));
    }
    if (sum - 1.0).abs() > TOLERANCE {
        return Err(CliError::Usage(format!(
            "--{name} adds up to {sum}; probabilities must add up to 1 (fractions such as 1/3 are accepted)"
        )));
    }
    Ok(values)
}

fn row(values: &[f64]) -> Result<Dense<f64>, CliError> {
    Dense::from_vec(1, values.len(), values.to_vec()).map_err(|e| CliError::Failed(e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct ScoreCli {
        #[command(flatten)]
        args: ScoreArgs,
    }

    fn run(args: &[&str]) -> Result<String, CliError> {
        let cli = ScoreCli::try_parse_from(std::iter::once("score").chain(args.iter().copied())).unwrap();
        let mut out = Vec::new();
        score(&cli.args, &mut out)?;
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn json_keys_are_the_published_ones() {
        let keys = |text: &str| -> Vec<String> {
            let object: serde_json::Map<_, _> = serde_json::from_str(text).unwrap();
            object.keys().cloned().collect()
        };
        let plain = run(&["--before", ".5,.3,.2", "--after", ".1,.8,.1", "--json"]).unwrap();
        assert_eq!(keys(&plain), ["m", "selectivity", "tv"]);
        let aimed = run(&["--before", ".5,.3,.2", "--after", ".1,.8,.1", "--target", "1", "--json"]).unwrap();
        assert_eq!(keys(&aimed), ["completeness", "m", "reliability", "selectivity", "tv"]);
        let v: serde_json::Value = serde_json::from_str(&aimed).unwrap();
        let near = |key: &str, value: f64| assert!((v[key].as_f64().unwrap() - value).abs() < 1e-12, "{key} {v}");
        // TV = .5, m = max(1 - .2, .5) = .8, S = 1 - .5/.8, C = .8, R = 2CS/(C + S).
        near("tv", 0.5);
        near("m", 0.8);
        near("selectivity", 0.375);
        near("completeness", 0.8);
        near("reliability", 2.0 * 0.8 * 0.375 / 1.175);
    }

    #[test]
    fn invalid_input_is_refused() {
        for args in [
            ["--before", ".5,.6", "--after", ".5,.5", "--target", "0"],
            ["--before", "1", "--after", "1", "--target", "0"],
            ["--before", ".5,.5", "--after", ".2,.3,.5", "--target", "0"],
            ["--before", ".5,.5", "--after", ".5,.5", "--target", "2"],
            ["--before", ".5,.5", "--after", ".5,.5", "--target", "-1"],
            ["--before", "1.5,-.5", "--after", ".5,.5", "--target", "0"],
            ["--before", "a,b", "--after", ".5,.5", "--target", "0"],
        ] {
            let joined: Vec<String> = args.chunks(2).map(|c| format!("{}={}", c[0], c[1])).collect();
            let joined: Vec<&str> = joined.iter().map(String::as_str).collect();
            assert!(matches!(run(&joined), Err(CliError::Usage(_))), "{args:?}");
        }
        assert!(run(&["--before", "1/3,1/3,1/3", "--after", "10%,20%,70%", "--target", "uniform"]).is_ok());
    }
}
