//! `probity power --plan`: the number of items that a comparison needs, before any data exist.

use std::io::{BufRead, Write};

use clap::Args;
use serde::Serialize;

use crate::error::CliError;
use crate::output;
use base::numbers::{number, percent, whole};
use figure::layers::grouped;
use stats::power::Discord;
use stats::required::{Aim, required};
use stats::special::normal_quantile;

#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// Plan without data. The program asks for the metric, the accuracy (or the standard deviation) and the difference if these options are
    /// omitted.
    #[arg(long)]
    pub plan: bool,
    /// The metric: `accuracy`, or `score` for any other number.
    #[arg(long, value_name = "METRIC", requires = "plan")]
    metric: Option<String>,
    /// Expected accuracy of the better system.
    #[arg(long, value_name = "P", requires = "plan")]
    accuracy: Option<String>,
    /// Standard deviation of a score over items.
    #[arg(long, value_name = "SD", requires = "plan")]
    sd: Option<String>,
    /// Smallest difference that matters.
    #[arg(long, value_name = "D", requires = "plan")]
    difference: Option<String>,
    /// Correlation between both systems' results over items.
    #[arg(long, value_name = "R", default_value = ".5", requires = "plan")]
    correlation: String,
    /// Items per cluster, such as the questions on a passage.
    #[arg(long, value_name = "N", default_value = "1", value_parser = |n: &str| whole(n, 1..=1_000_000), requires = "plan")]
    cluster_size: u64,
    /// Correlation between the differences of items in a cluster.
    #[arg(long, value_name = "R", default_value = ".1", requires = "plan")]
    within: String,
    /// Runs of each system on every item.
    #[arg(long, value_name = "N", default_value = "1", value_parser = |n: &str| whole(n, 1..=10_000), requires = "plan")]
    repeats: u64,
    /// Share of the variance of a difference that is due to variation between runs.
    #[arg(long, value_name = "SHARE", default_value = ".3", requires = "plan")]
    noise: String,
    /// Cost of one answer by one system, in any currency.
    #[arg(long, value_name = "COST", requires = "plan")]
    cost: Option<String>,
}

#[derive(Serialize)]
struct Planned {
    target: f64,
    alpha: f64,
    difference: f64,
    /// Number of items if both systems answer all.
    paired: u64,
    /// Number of items per system if each system answers different ones.
    unpaired: u64,
    design: f64,
    repeats: u64,
    answers_paired: u64,
    answers_unpaired: u64,
    cost_paired: Option<f64>,
    cost_unpaired: Option<f64>,
}

/// Returns the given answer, or asks and reads one line of `input`.
fn ask(given: Option<&str>, question: &str, input: &mut dyn BufRead) -> Result<String, CliError> {
    if let Some(given) = given {
        return Ok(given.to_owned());
    }
    output::say(question);
    let mut line = String::new();
    let read = std::io::Read::take(input, 1_000).read_line(&mut line);
    match read {
        Ok(n) if n > 0 && !line.trim().is_empty() => Ok(line.trim().to_owned()),
        _ => Err(CliError::Usage(format!(
            "this question was not answered: {question} Give --metric, --accuracy (or --sd) and --difference"
        ))),
    }
}

fn between(name: &str, text: &str, least: f64, most: f64) -> Result<f64, CliError> {
    let value = number(text)?;
    if value > least && value < most {
        Ok(value)
    } else {
        let bounds = if most == f64::MAX { format!("above {least}") } else { format!("between {least} and {most}") };
        Err(CliError::Usage(format!("--{name} is {}: it must be {bounds}", base::numbers::brief(&value))))
    }
}

/// Numbers of items for a paired and an unpaired comparison, with independent items that are each answered once.
fn sizes(args: &PlanArgs, aim: Aim, input: &mut dyn BufRead) -> Result<(f64, [f64; 2]), CliError> {
    let usage = |e: &dyn std::fmt::Display| CliError::Usage(e.to_string());
    let metric = ask(args.metric.as_deref(), "What is measured, accuracy or score?", input)?;
    let r = number(&args.correlation)?;
    if !(-1.0..1.0).contains(&r) {
        return Err(CliError::Usage(format!("--correlation is {r}: it must be at least -1 and below 1")));
    }
    let z = normal_quantile(1.0 - 0.5 * aim.level) + normal_quantile(aim.target);
    match metric.to_lowercase().as_str() {
        "accuracy" => {
            let text =
                ask(args.accuracy.as_deref(), "Expected accuracy of the better system (for example 80 %)?", input)?;
            let p = between("accuracy", &text, 0.0, 1.0)?;
            let text = ask(args.difference.as_deref(), "Smallest difference that matters (for example 2 %)?", input)?;
            let d = between("difference", &text, 0.0, p)?;
            let q = p - d;
            let (first, second) = (p * (1.0 - p), q * (1.0 - q));
            // Probability that both are right, from the correlation, clamped to the range that the accuracies allow.
            let both = (p * q + r * (first * second).sqrt()).clamp((p + q - 1.0).max(0.0), q);
            let discord = Discord::new(q - both, p - both).map_err(|e| usage(&e))?;
            let paired = required(discord, aim).map_err(|e| usage(&e))?.first as f64;
            Ok((d, [paired, z * z * (first + second) / (d * d)]))
        }
        "score" => {
            let text = ask(args.sd.as_deref(), "Standard deviation of the score over items?", input)?;
            let sd = between("sd", &text, 0.0, f64::MAX)?;
            let text = ask(args.difference.as_deref(), "Smallest difference that matters?", input)?;
            let d = between("difference", &text, 0.0, f64::MAX)?;
            let unpaired = 2.0 * (z * sd / d).powi(2);
            Ok((d, [unpaired * (1.0 - r), unpaired]))
        }
        _ => Err(CliError::Usage(format!(
            "--metric {}: it must be `accuracy` or `score`",
            base::text::shortened(&metric, 40)
        ))),
    }
}

pub(super) fn answer(args: &PlanArgs, aim: Aim, json: bool, out: &mut dyn Write) -> Result<(), CliError> {
    aim.check().map_err(|e| CliError::Usage(e.to_string()))?;
    let (difference, single) = sizes(args, aim, &mut std::io::stdin().lock())?;
    let within = number(&args.within)?;
    let noise = number(&args.noise)?;
    for (name, value) in [("within", within), ("noise", noise)] {
        if !(0.0..=1.0).contains(&value) {
            return Err(CliError::Usage(format!(
                "--{name} is {}: it must be from 0 to 1",
                base::numbers::brief(&value)
            )));
        }
    }
    let design = 1.0 + (args.cluster_size - 1) as f64 * within;
    let runs = 1.0 - noise + noise / args.repeats as f64;
    let [paired, unpaired] = single.map(|n| (n * design * runs).ceil().max(2.0));
    if unpaired > 1e15 || paired > 1e15 {
        return Err(CliError::Usage("the difference is too small: more than 1e15 items would be needed".into()));
    }
    // Each item needs two answers: either both systems answer it, or each system answers a separate item.
    let answers = |n: f64| (2.0 * n) as u64 * args.repeats;
    let price = args.cost.as_deref().map(number).transpose()?;
    let cost = |n: f64| price.map(|price| price * answers(n) as f64);
    let planned = Planned {
        target: aim.target,
        alpha: aim.level,
        difference,
        paired: paired as u64,
        unpaired: unpaired as u64,
        design,
        repeats: args.repeats,
        answers_paired: answers(paired),
        answers_unpaired: answers(unpaired),
        cost_paired: cost(paired),
        cost_unpaired: cost(unpaired),
    };
    if json {
        return output::json(out, &planned);
    }
    let clusters = |n: f64| match args.cluster_size {
        1 => String::new(),
        size => format!(" in {} clusters", grouped((n / size as f64).ceil() as usize)),
    };
    let line = |what: &str, n: f64| {
        let cost = cost(n).map_or(String::new(), |cost| format!(", cost {cost:.2}"));
        format!(
            "{what}: {} items{}; {} answers in total{cost}",
            grouped(n as usize),
            clusters(n),
            grouped(answers(n) as usize)
        )
    };
    output::line(out, &format!("for power {} at level {}:", percent(aim.target), aim.level))?;
    output::line(out, &line("paired (both systems answer the same items)", paired))?;
    output::line(out, &line("unpaired (each system answers different items), for each system", unpaired))
}
