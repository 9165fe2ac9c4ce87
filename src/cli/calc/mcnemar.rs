//! `probity mcnemar`: tests whether two classifiers differ, given the numbers of items on which exactly one of them is right.

use std::io::Write;

use clap::Args;
use serde::Serialize;

use crate::error::CliError;
use crate::output;
use base::numbers::whole;
use stats::mcnemar::{chi2, corrected, exact, mid_p};

/// Maximum accepted count. An f64 represents every integer up to this one.
const MOST: u64 = 1 << 52;

/// Test whether two classifiers differ on the same items (McNemar 1947).
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  probity mcnemar 10 2")]
pub struct McnemarArgs {
    /// Number of items that only the first classifier gets right.
    #[arg(value_name = "B", allow_negative_numbers = true, value_parser = |b: &str| whole(b, 0..=MOST))]
    b: u64,
    /// Number of items that only the second classifier gets right.
    #[arg(value_name = "C", allow_negative_numbers = true, value_parser = |b: &str| whole(b, 0..=MOST))]
    c: u64,
    /// Print the result as one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Answer {
    mid_p: f64,
    exact_p: f64,
    chi2: f64,
    chi2_p: f64,
    corrected_chi2: f64,
    corrected_p: f64,
}

pub fn answer(args: &McnemarArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let (plain, edwards) = (chi2(args.b, args.c), corrected(args.b, args.c));
    let answer = Answer {
        mid_p: mid_p(args.b, args.c),
        exact_p: exact(args.b, args.c),
        chi2: plain.statistic,
        chi2_p: plain.p,
        corrected_chi2: edwards.statistic,
        corrected_p: edwards.p,
    };
    if args.json {
        return output::json(out, &answer);
    }
    let mut text = format!(
        "mid-p {:.6}  exact p {:.6}  chi2 {:.4} p {:.6}  corrected {:.4} p {:.6}",
        answer.mid_p, answer.exact_p, answer.chi2, answer.chi2_p, answer.corrected_chi2, answer.corrected_p
    );
    if args.b + args.c == 0 {
        text += "  (no discordant items, so no evidence for a difference)";
    }
    output::line(out, &text)
}
