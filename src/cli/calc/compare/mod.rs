//! `probity compare`: models by their results on the same items, in files or whole folders.

mod amount;
mod flips;
mod gate;
mod many;
mod pair;
mod report;

use std::io::Write;
use std::path::{Path, PathBuf};

use self::amount::Amount;
use self::gate::Gates;
use self::many::Asked;

use clap::{Args, ValueEnum};
use rayon::prelude::*;

use crate::error::CliError;
use crate::output;
use base::numbers::number;
use base::text::printable_label;
use corpus::results::{Wanted, metrics};
use labs::power::compare::{MOST_LEVEL, Terms};
use labs::power::folders::{Read, align, read_system};
use stats::mcnemar::Test;
use stats::power::share;
use stats::required::Aim;

/// Rule for comparing a prediction with its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Match {
    /// Exactly equal.
    Exact,
    /// Equal except for case and surrounding whitespace.
    Lenient,
}

/// Compare models by their results on the same items: difference, paired tests, equivalence, and the required n.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  probity compare samples_a.jsonl samples_b.jsonl
  probity compare samples_a.jsonl samples_b.jsonl --filter strict-match --metric exact_match --json
  probity compare a-seed1.csv b-seed1.csv --also-a a-seed2.csv --also-b b-seed2.csv --margin 2%
  probity compare results/new results/old --report comparison.md --fail-if \"worse by 1 at 95 %\"
  probity compare runs/a runs/b runs/c --baseline runs/a
  probity compare samples_a.jsonl samples_b.jsonl --flips --where subject=anatomy

Files: lm-evaluation-harness and lmms-eval samples (an item is a doc_id under a filter), Inspect logs (.json,
.eval), HELM per_instance_stats.json, OpenCompass predictions and details, lighteval details as JSON lines,
evalplus, SWE-bench reports, BEAR results, JSON lines or tables with `id` and `correct` (or `prediction` and
`target`), and `cluster` if items belong together. Items are matched by identifier. Items in only one file are
counted and left out; different items with the same identifier are an error. Epochs, seeds and repeats in a file
are runs. Each metric and filter gets one result, and p-values are corrected over all results by Holm and
Benjamini-Hochberg.

Folders: every task in both folders is compared by one metric (the first, or --metric), and p-values are corrected
over the tasks by Holm. From 10 tasks on, differences are pooled as the mean over tasks (macro) and over items with
tasks as clusters (micro). With fewer tasks, they are pooled over items with the tasks taken as fixed, so that
the result is valid for these tasks only.

Exit code 3: the comparison failed because of --fail-if or --fail-unless. A condition must hold for
the whole interval of A minus B (with --baseline, of every other system minus the baseline). In a condition, 1 means one point
for accuracies and otherwise one unit of the metric.")]
pub struct CompareArgs {
    /// Results of two or more models: files or folders.
    #[arg(value_name = "RESULTS", required = true, num_args = 2..)]
    results: Vec<PathBuf>,
    /// Additional results of the first model, with a different seed (may be repeated).
    #[arg(long, value_name = "FILE")]
    also_a: Vec<PathBuf>,
    /// Additional results of the second model, with a different seed (may be repeated).
    #[arg(long, value_name = "FILE")]
    also_b: Vec<PathBuf>,
    /// The filter of lm-evaluation-harness to use, if a file has several.
    #[arg(long, value_name = "NAME")]
    filter: Option<String>,
    /// Compare only this metric.
    #[arg(long, value_name = "NAME")]
    metric: Option<String>,
    /// Differences within this margin count as no difference: for proportions `.02`, `2%` or `2 points`, otherwise in the
    /// metric's own unit.
    #[arg(long, default_value = ".02", allow_hyphen_values = true)]
    margin: String,
    /// Confidence level of the intervals.
    #[arg(long, default_value = ".95", allow_hyphen_values = true)]
    level: String,
    /// Significance level at which power is computed.
    #[arg(long, default_value = ".05", allow_hyphen_values = true)]
    alpha: String,
    /// Target power for the required number of items.
    #[arg(long, value_name = "POWER", default_value = ".8", allow_hyphen_values = true)]
    target: String,
    /// McNemar's test for one file per side with independent items, and for power: mid_p, exact, chi2, or corrected. With several seeds,
    /// clusters or a non-binary metric, the paired t test is used.
    #[arg(long, value_name = "TEST", default_value = "mid_p")]
    test: String,
    /// Seed for resampling.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Rule by which a prediction counts as equal to its target.
    #[arg(long = "match", value_name = "HOW", value_enum, default_value_t = Match::Exact)]
    matching: Match,
    /// Compare every other system only with this one, which must be one of RESULTS.
    #[arg(long, value_name = "RESULTS")]
    baseline: Option<PathBuf>,
    /// List the items whose results differ, with both answers and shared attributes.
    #[arg(long, conflicts_with = "summary")]
    flips: bool,
    /// List only changed items that have this value for this key (may be repeated).
    #[arg(long, value_name = "KEY=VALUE", requires = "flips")]
    r#where: Vec<String>,
    /// Sort changed items by this attribute, or by item, a, b, answer_a, answer_b, target or input.
    #[arg(long, value_name = "KEY", requires = "flips")]
    sort: Option<String>,
    /// Exit with code 3 if this condition holds: "worse by 1 at 95 %".
    #[arg(long, value_name = "CONDITION")]
    fail_if: Option<String>,
    /// Exit with code 3 unless this condition holds: "not worse by 1".
    #[arg(long, value_name = "CONDITION")]
    fail_unless: Option<String>,
    /// Print only one line, for a log.
    #[arg(long, conflicts_with = "json")]
    summary: bool,
    /// Write the tables to a file: .md, .csv or .tex.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Rejected, with a hint to `--report FILE.csv`.
    #[arg(long, hide = true)]
    csv: bool,
    /// Replace the report if it exists.
    #[arg(long, requires = "report")]
    force: bool,
    /// Print one JSON object per metric.
    #[arg(long)]
    json: bool,
}

/// Fails with [`CliError::Usage`], which names file and line, for files that cannot be read or compared.
pub fn answer(args: &CompareArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let usage = |e: &dyn std::fmt::Display| CliError::Usage(e.to_string());
    if args.csv {
        return Err(CliError::Usage("--csv: write the tables to a file with --report FILE.csv".into()));
    }
    let level = number(&args.level)?;
    let bare = || CliError::Usage(format!("--margin {}: use, for example, 2% or .02", args.margin));
    let amount = Amount::parse(&args.margin).ok_or_else(bare)?;
    let margin = amount.margin();
    let by: Test = args.test.parse().map_err(CliError::Usage)?;
    let aim = Aim { target: number(&args.target)?, level: number(&args.alpha)?, test: by };
    aim.check().map_err(|e| usage(&e))?;
    share("level", level).map_err(|e| usage(&e))?;
    if level > MOST_LEVEL {
        return Err(CliError::Usage(format!("--level is {level}: it must be at most {MOST_LEVEL}")));
    }
    if margin.is_nan() || margin <= 0.0 {
        return Err(CliError::Usage(format!("--margin is {margin}: it must be above 0")));
    }
    let gates = Gates::parse(args.fail_if.as_deref(), args.fail_unless.as_deref())?;
    let terms = Terms { level, margin, alpha: aim.level, seed: args.seed, by };
    let wanted = Wanted {
        filter: args.filter.clone(),
        metric: args.metric.clone(),
        lenient: args.matching == Match::Lenient,
        detail: args.flips,
    };
    if let Some(missing) = args.results.iter().find(|r| !r.exists()) {
        return Err(CliError::Usage(format!("{}: no such file or folder", missing.display())));
    }
    same_twice(&args.results);
    let folder = args.results.iter().find(|r| r.is_dir());
    let file = args.results.iter().find(|r| !r.is_dir());
    if let (Some(folder), Some(file)) = (folder, file) {
        let (folder, file) = (folder.display(), file.display());
        return Err(CliError::Usage(format!(
            "{folder} is a folder and {file} is not: give only files or only folders"
        )));
    }
    let [first, second] = args.results.as_slice() else {
        return systems(args, &wanted, (terms, amount), aim, &gates, out);
    };
    if folder.is_some() || args.summary || args.report.is_some() || args.baseline.is_some() {
        return systems(args, &wanted, (terms, amount), aim, &gates, out);
    }
    pair::files(args, (first, second), &wanted, (terms, amount), aim, &gates, out)
}

fn same_twice(paths: &[PathBuf]) {
    let real: Vec<_> = paths.iter().map(|path| path.canonicalize().ok()).collect();
    for (k, path) in paths.iter().enumerate() {
        if real[k].is_some() && real[..k].contains(&real[k]) {
            let what = if path.is_dir() { "folder" } else { "file" };
            output::say(&printable_label(&format!(
                "warning: the same {what} is given twice ({}): it is compared with itself",
                path.display()
            )));
        }
    }
}

/// Formats a level in percent without needless decimals: `95 %`, `99.9 %`.
fn level_text(level: f64) -> String {
    format!("{} %", (level * 1e8).round() / 1e6)
}

fn systems(
    args: &CompareArgs,
    wanted: &Wanted,
    (terms, margin): (Terms, Amount),
    aim: Aim,
    gates: &Gates,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    if !args.also_a.is_empty() || !args.also_b.is_empty() {
        let what =
            "--also-a and --also-b work only with two files; in folders, each file contains all runs of its task";
        return Err(CliError::Usage(what.into()));
    }
    let baseline = match &args.baseline {
        Some(path) => Some(args.results.iter().position(|r| r == path).ok_or_else(|| {
            CliError::Usage(format!("--baseline {}: it is not one of the given results", path.display()))
        })?),
        None => None,
    };
    let names = distinct_names(&args.results);
    let read: Vec<_> = args.results.par_iter().zip(names).map(|(path, name)| read_system(path, name, wanted)).collect();
    let mut all = Vec::new();
    for found in read {
        let Read { system, notes } = found.map_err(|e| CliError::Usage(e.to_string()))?;
        notes.iter().for_each(|note| output::say(&printable_label(note)));
        all.push(system);
    }
    if let Some(note) = align(&mut all) {
        output::say(&printable_label(&note));
    }
    flips::check(args, all.iter().flat_map(|s| s.tasks.values()).flatten())?;
    let asked = Asked {
        terms,
        margin,
        alpha: aim.level,
        metric: args.metric.as_deref(),
        baseline,
        json: args.json,
        summary: args.summary,
        report: args.report.as_deref(),
        force: args.force,
        gates,
    };
    let outcome = many::answer(&all, &asked, out);
    if let ([a, b], true) = (all.as_slice(), args.flips) {
        for (task, runs) in &a.tasks {
            let Some(others) = b.tasks.get(task) else { continue };
            let (shared, _) = metrics(runs.iter().chain(others));
            let chosen = args.metric.clone().or_else(|| shared.first().cloned()).unwrap_or_default();
            flips::print((&runs[0], &others[0]), (task, &chosen), args, out)?;
        }
    }
    outcome
}

/// Names each path by the fewest trailing components that distinguish it from the others.
fn distinct_names(paths: &[PathBuf]) -> Vec<String> {
    let last = |path: &Path| path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let lasts: Vec<String> = paths.iter().map(|p| last(p)).collect();
    let alone = |k: usize| !lasts[k].is_empty() && lasts.iter().filter(|l| **l == lasts[k]).count() == 1;
    let shown = |k: usize| if alone(k) { lasts[k].clone() } else { paths[k].display().to_string() };
    (0..paths.len()).map(|k| printable_label(&shown(k))).collect()
}
