//! `probity power`: the power of a comparison on n items, or the number of items that it needs.

use std::io::Write;

use clap::{ArgGroup, Args};
use serde::Serialize;

use crate::error::CliError;
use crate::output;
use base::numbers::{number, probability_of, whole};
use figure::layers::grouped;
use stats::mcnemar::Test;
use stats::power::{Discord, PowerError, power};
use stats::required::{Aim, required};

/// Compute the power of a comparison on n items, or the number of items that it needs.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("wanted").args(["n", "target", "plan"]).required(true).multiple(true))]
#[command(after_help = "Examples:
  probity power --p01 .0225 --p10 .0025 --n 500
  probity power --p01 9/400 --p10 1/400 --target 80%
  probity power --p01 .15 --p10 .1 --n 1000 --test chi2 --json
  probity power --plan --metric accuracy --accuracy 80% --difference 2% --cost .002

p01 is the probability that only the second classifier is right, p10 that only the first is. Power is the probability of
a significant result with the right sign. Computed from a finished comparison, it only restates the p-value.")]
pub struct PowerArgs {
    /// Probability that only the second classifier is right.
    #[arg(long, value_name = "P", allow_hyphen_values = true, required_unless_present = "plan")]
    p01: Option<String>,
    /// Probability that only the first classifier is right.
    #[arg(long, value_name = "P", allow_hyphen_values = true, required_unless_present = "plan")]
    p10: Option<String>,
    /// Number of items in the comparison.
    #[arg(long, value_name = "N", conflicts_with_all = ["target", "plan"], value_parser = |n: &str| whole(n, 1..=stats::power::MOST))]
    n: Option<u64>,
    /// Target power: prints the smallest n that reaches it.
    #[arg(long, value_name = "POWER", allow_hyphen_values = true)]
    target: Option<String>,
    /// Significance level of the test.
    #[arg(long, default_value = ".05", allow_hyphen_values = true)]
    alpha: String,
    /// McNemar's test: `mid_p`, `exact`, `chi2` or `corrected`.
    #[arg(long, default_value = "exact")]
    test: String,
    #[command(flatten)]
    plan: super::plan::PlanArgs,
    /// Print the result as one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct At {
    power: f64,
    type_m: Option<f64>,
    type_s: Option<f64>,
    n: u64,
    test: &'static str,
}

#[derive(Serialize)]
struct Needed {
    n: u64,
    power: f64,
}

pub fn answer(args: &PowerArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let usage = |e: PowerError| CliError::Usage(e.to_string());
    let test: Test = args.test.parse().map_err(CliError::Usage)?;
    let name = test.key();
    let level = number(&args.alpha)?;
    if args.plan.plan {
        let target = args.target.as_deref().map_or(Ok(0.8), number)?;
        return super::plan::answer(&args.plan, Aim { target, level, test }, args.json, out);
    }
    let p = |text: &Option<String>| probability_of(text.as_deref().unwrap_or_default());
    let discord = Discord::new(p(&args.p01)?, p(&args.p10)?).map_err(usage)?;
    if let Some(target) = &args.target {
        let aim = Aim { target: number(target)?, level, test };
        return needed(discord, aim, args.json, out);
    }
    let n = args.n.unwrap_or(1);
    let p = power(discord, n, level, test).map_err(usage)?;
    let at = At { power: p.power, type_m: p.type_m, type_s: p.type_s, n, test: name };
    if args.json {
        return output::json(out, &at);
    }
    let mut text = format!("power {:.4} at n {} by the {name} test", at.power, grouped(n as usize));
    if let (Some(m), Some(s)) = (at.type_m, at.type_s) {
        let s = if s == 0.0 { "0".into() } else { format!("{s:.2e}") };
        text += &format!("  type M {m:.3}  type S {s}");
    }
    if discord.gap() == 0.0 {
        text += &format!("  ({})", PowerError::NoDifference);
    }
    output::line(out, &text)
}

fn needed(discord: Discord, aim: Aim, json: bool, out: &mut dyn Write) -> Result<(), CliError> {
    let usage = |e: PowerError| CliError::Usage(e.to_string());
    let found = required(discord, aim).map_err(usage)?;
    let n = found.first;
    let reached = power(discord, n, aim.level, aim.test).map_err(usage)?.power;
    if json {
        return output::json(out, &Needed { n, power: reached });
    }
    let mut text = format!("{} items give power {reached:.4}", grouped(n as usize));
    if found.for_good != n {
        text += &format!("; from {} on, power stays at or above the target", grouped(found.for_good as usize));
    }
    output::line(out, &text)
}
