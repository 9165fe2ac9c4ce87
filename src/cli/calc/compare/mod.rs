//! `probity compare`: models by their results on the same items, in files or whole folders.

mod flips;
mod folders;
mod gate;
mod many;

use std::io::Write;
use std::path::{Path, PathBuf};

use self::gate::Gates;
use self::many::Asked;

use clap::{Args, ValueEnum};
use rayon::prelude::*;
use serde::Serialize;

use crate::error::CliError;
use crate::output;
use base::numbers::{number, percent};
use base::text::printable_label;
use corpus::results::{Group, Results, Wanted, metrics, read};
use figure::layers::grouped;
use labs::power::compare::{MOST_LEVEL, Names, Terms, adjust, compare};
use labs::power::finding::{ComparisonFinding, Open};
use labs::power::pairs::{Matched, matched};
use labs::power::pilot::Pilot;
use labs::power::summary::{
    equivalent, evidence, exaggerated, lead, none_enough, p_value, seen, span, too_few, unbounded,
};
use labs::results::Tagged;
use stats::Estimate;
use stats::mcnemar::Test;
use stats::power::share;
use stats::required::Aim;

/// Rule by which a prediction equals its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Match {
    /// The same characters.
    Exact,
    /// Apart from case and blanks at the ends.
    Lenient,
}

/// Compare models by their results on the same items: difference, paired tests, equivalence, and the n that is needed.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  probity compare samples_a.jsonl samples_b.jsonl
  probity compare samples_a.jsonl samples_b.jsonl --filter strict-match --metric exact_match --json
  probity compare a-seed1.csv b-seed1.csv --also-a a-seed2.csv --also-b b-seed2.csv --margin 2%
  probity compare results/new results/old --report comparison.md --fail-if \"worse by 1 at 95 %\"
  probity compare runs/a runs/b runs/c --baseline runs/a
  probity compare samples_a.jsonl samples_b.jsonl --flips --where subject=anatomy

Files: lm-evaluation-harness and lmms-eval samples (an item is a doc_id under a filter), Inspect logs (.json, .eval), HELM
per_instance_stats.json, OpenCompass predictions and details, lighteval details as JSON lines, evalplus, SWE-bench reports, BEAR
results, JSON lines or tables with `id` and `correct` (or `prediction` and `target`), and `cluster` where items belong together.
Items are matched by their identifiers; what only one file has is counted and left out, and items that differ under one
identifier are an error. Epochs, seeds and repeats in a file are runs. With several metrics there is one answer for each, and Holm
and Benjamini-Hochberg run over them.

Folders: every task that both have, with a metric a task (the first, or --metric), corrected over the tasks by Holm; the mean of the
tasks' differences (macro, from 10 tasks on) and the mean over items with tasks as clusters (micro).

Exit code 3: a condition of --fail-if or --fail-unless was not met. Conditions are about A against B, and about the whole interval;
1 is a point for accuracies, otherwise one unit of the metric.")]
pub struct CompareArgs {
    /// Results of two models or more: files, or folders.
    #[arg(value_name = "RESULTS", required = true, num_args = 2..)]
    results: Vec<PathBuf>,
    /// Results of the first model with another seed (may be given several times).
    #[arg(long, value_name = "FILE")]
    also_a: Vec<PathBuf>,
    /// Results of the second model with another seed.
    #[arg(long, value_name = "FILE")]
    also_b: Vec<PathBuf>,
    /// The filter of lm-evaluation-harness, where a file has several.
    #[arg(long, value_name = "NAME")]
    filter: Option<String>,
    /// Compare this metric only.
    #[arg(long, value_name = "NAME")]
    metric: Option<String>,
    /// Differences within this margin count as none.
    #[arg(long, default_value = ".02", allow_hyphen_values = true)]
    margin: String,
    /// Level of the intervals.
    #[arg(long, default_value = ".95", allow_hyphen_values = true)]
    level: String,
    /// Level of the test whose power is reported.
    #[arg(long, default_value = ".05", allow_hyphen_values = true)]
    alpha: String,
    /// Wanted power.
    #[arg(long, value_name = "POWER", default_value = ".8", allow_hyphen_values = true)]
    target: String,
    /// The test that decides for one file a side on independent items, and whose power is reported: mid_p, exact, chi2,
    /// or corrected (McNemar's). Several seeds, clusters and metrics that are not 0 or 1 take the paired t.
    #[arg(long, value_name = "TEST", default_value = "mid_p")]
    test: String,
    /// Seed of resampling.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Rule by which a prediction counts as its target.
    #[arg(long = "match", value_name = "HOW", value_enum, default_value_t = Match::Exact)]
    matching: Match,
    /// Compare every other system with this one only: one of RESULTS.
    #[arg(long, value_name = "RESULTS")]
    baseline: Option<PathBuf>,
    /// List the items that changed, with both answers, and what they have in common.
    #[arg(long, conflicts_with = "summary")]
    flips: bool,
    /// Flips of items with this fact only (may be given several times).
    #[arg(long, value_name = "KEY=VALUE", requires = "flips")]
    r#where: Vec<String>,
    /// Exit with 3 if this holds: "worse by 1 at 95 %".
    #[arg(long, value_name = "CONDITION")]
    fail_if: Option<String>,
    /// Exit with 3 unless this holds: "not worse by 1".
    #[arg(long, value_name = "CONDITION")]
    fail_unless: Option<String>,
    /// Print one line only, for a log.
    #[arg(long, conflicts_with = "json")]
    summary: bool,
    /// Write the tables to a file: .md, .csv or .tex.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Replace the report if it exists.
    #[arg(long, requires = "report")]
    force: bool,
    /// Print one object as JSON for each metric.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Answer {
    #[serde(flatten)]
    comparison: ComparisonFinding,
    level: f64,
    matched: usize,
    unmatched_a: usize,
    unmatched_b: usize,
    /// Mean of each side: Wilson's interval if items are independent.
    accuracy_a: Estimate,
    accuracy_b: Estimate,
    outlook: Option<Outlook>,
}

/// Power and required n for a further comparison, as the items predict them.
#[derive(Serialize)]
struct Outlook {
    alpha: f64,
    target: f64,
    power: Estimate,
    type_m: Option<f64>,
    type_s: Option<f64>,
    n_test: Open,
    mde: Option<f64>,
    design: Option<f64>,
}

impl Outlook {
    fn of(found: &Matched, level: f64, aim: Aim) -> Option<Self> {
        // Values too large to square have no outlook.
        let pilot = Pilot::of(&found.pairs, level).filter(|_| found.pairs.scaled().is_none())?;
        let (power, type_m, type_s) = pilot.power(found.pairs.n() as u64, aim).ok()?;
        Some(Self {
            alpha: aim.level,
            target: aim.target,
            power,
            type_m,
            type_s,
            n_test: pilot.required(aim),
            mde: pilot.detectable(aim),
            design: pilot.design(),
        })
    }
}

/// Compares and prints.
///
/// # Errors
/// [`CliError::Usage`] for files that cannot be read or compared, with file and line.
pub fn answer(args: &CompareArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let usage = |e: &dyn std::fmt::Display| CliError::Usage(e.to_string());
    let (margin, level) = (number(&args.margin)?, number(&args.level)?);
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
    let folder = args.results.iter().find(|r| r.is_dir());
    let file = args.results.iter().find(|r| !r.is_dir());
    if let (Some(folder), Some(file)) = (folder, file) {
        let (folder, file) = (folder.display(), file.display());
        return Err(CliError::Usage(format!(
            "{folder} is a folder and {file} is not: give files, or folders"
        )));
    }
    let [first, second] = args.results.as_slice() else {
        return systems(args, &wanted, terms, aim, &gates, out);
    };
    if folder.is_some() || args.summary || args.report.is_some() || args.baseline.is_some() {
        return systems(args, &wanted, terms, aim, &gates, out);
    }
    files(args, (first, second), &wanted, terms, aim, &gates, out)
}

/// Compares whole folders, or more than two files.
fn systems(
    args: &CompareArgs,
    wanted: &Wanted,
    terms: Terms,
    aim: Aim,
    gates: &Gates,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    if !args.also_a.is_empty() || !args.also_b.is_empty() {
        let what = "--also-a and --also-b go with two files; in folders, runs are read from the files";
        return Err(CliError::Usage(what.into()));
    }
    let baseline = match &args.baseline {
        Some(path) => Some(args.results.iter().position(|r| r == path).ok_or_else(|| {
            CliError::Usage(format!("--baseline {}: not one of the results", path.display()))
        })?),
        None => None,
    };
    let names = distinct_names(&args.results);
    let all: Vec<_> =
        args.results.par_iter().zip(names).map(|(path, name)| folders::system(path, name, wanted)).collect();
    let all = all.into_iter().collect::<Result<Vec<_>, _>>()?;
    let asked = Asked {
        terms,
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
            flips::print((&runs[0], &others[0]), (task, &chosen), &args.r#where, args.json, out)?;
        }
    }
    outcome
}

/// The last parts of the paths that distinguish them.
fn distinct_names(paths: &[PathBuf]) -> Vec<String> {
    let last = |path: &Path| path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let lasts: Vec<String> = paths.iter().map(|p| last(p)).collect();
    let alone = |k: usize| !lasts[k].is_empty() && lasts.iter().filter(|l| **l == lasts[k]).count() == 1;
    let shown = |k: usize| if alone(k) { lasts[k].clone() } else { paths[k].display().to_string() };
    (0..paths.len()).map(|k| printable_label(&shown(k))).collect()
}

/// Compares two files, metric by metric.
fn files(
    args: &CompareArgs,
    (path_a, path_b): (&PathBuf, &PathBuf),
    wanted: &Wanted,
    terms: Terms,
    aim: Aim,
    gates: &Gates,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    let usage = |e: &dyn std::fmt::Display| CliError::Usage(e.to_string());
    let level = terms.level;
    let side = |first: &PathBuf, more: &[PathBuf]| [std::slice::from_ref(first), more].concat();
    let (a, b) = (side(path_a, &args.also_a), side(path_b, &args.also_b));
    let paths: Vec<PathBuf> = a.iter().chain(&b).cloned().collect();
    // Of several files that cannot be read the first one is named, whichever is read first.
    let read: Vec<_> = paths.par_iter().map(|f| read(f, wanted)).collect();
    let mut read: Vec<Group> = read.into_iter().collect::<Result<_, _>>().map_err(|e| usage(&e))?;
    for (path, group) in paths.iter().zip(&read) {
        for note in &group.notes {
            output::say(&printable_label(&format!("{}: {note}", path.display())));
        }
    }
    let second: Vec<Results> = read.split_off(a.len()).into_iter().flat_map(|g| g.runs).collect();
    let first: Vec<Results> = read.into_iter().flat_map(|g| g.runs).collect();
    let (metrics, lacking) = metrics(first.iter().chain(&second));
    if metrics.is_empty() {
        return Err(CliError::Usage("the files have no metric in common".into()));
    }
    if !lacking.is_empty() {
        output::say(&format!("not compared, because not every file has them: {}", lacking.join(", ")));
    }
    let names =
        |metric: &str| Names { a: name(path_a, path_b), b: name(path_b, path_a), metric: metric.into() };
    let mut all: Vec<(Matched, ComparisonFinding)> = Vec::new();
    for metric in &metrics {
        let found = matched(&first, &second, metric).map_err(|e| usage(&e))?;
        let comparison = compare(&found.pairs, &names(metric), terms);
        all.push((found, comparison));
    }
    adjust(&mut all.iter_mut().map(|(_, c)| c).collect::<Vec<_>>(), aim.level);
    let mut outcome = Ok(());
    for (found, comparison) in all {
        let metric = comparison.metric.clone();
        let subject = format!("{} against {} in {metric}", comparison.a, comparison.b);
        let (share, difference) = (comparison.is_share(), comparison.difference);
        let checked = gates.check(&subject, share, |at| match at.filter(|at| *at != level) {
            Some(level) => compare(&found.pairs, &names(&metric), Terms { level, ..terms }).difference,
            None => difference,
        });
        if args.json {
            let (matched, unmatched_a, unmatched_b) = (found.pairs.n(), found.unmatched_a, found.unmatched_b);
            let outlook = Outlook::of(&found, level, aim);
            let [accuracy_a, accuracy_b] = [true, false].map(|first| found.pairs.accuracy(first, level));
            let answer = Answer {
                comparison,
                level,
                matched,
                unmatched_a,
                unmatched_b,
                accuracy_a,
                accuracy_b,
                outlook,
            };
            output::json(out, &answer)?;
        } else {
            tell(&found, comparison, (level, aim), out)?;
        }
        if args.flips {
            flips::print((&first[0], &second[0]), ("", &metric), &args.r#where, args.json, out)?;
        }
        outcome = outcome.and(checked);
    }
    outcome
}

/// The name of a file, with its folder where both files have the same.
fn name(path: &std::path::Path, other: &std::path::Path) -> String {
    let short = path.file_name().filter(|n| Some(*n) != other.file_name());
    printable_label(&short.map_or(path.display().to_string(), |n| n.to_string_lossy().into_owned()))
}

fn tell(
    found: &Matched,
    c: ComparisonFinding,
    (level, aim): (f64, Aim),
    out: &mut dyn Write,
) -> Result<(), CliError> {
    let n = found.pairs.n();
    output::line(
        out,
        &printable_label(&format!(
            "{} item{} in both, {} only in A, {} only in B; metric {}",
            grouped(n),
            if n == 1 { "" } else { "s" },
            grouped(found.unmatched_a),
            grouped(found.unmatched_b),
            c.metric
        )),
    )?;
    let pilot = Pilot::of(&found.pairs, level).filter(|_| found.pairs.scaled().is_none());
    let (seeds, clusters) = (c.seeds, c.clusters);
    let tagged = Tagged {
        spec: String::new(),
        model: String::new(),
        seed: 0,
        n,
        is_final: true,
        t: 0.0,
        level: Some(level),
        value: c,
    };
    let c = &tagged.value;
    let (lead, evidence) = (lead(&tagged, aim.level), evidence(&tagged, aim.level));
    output::line(out, &format!("{lead} at {}; {evidence} ({})", percent(level), c.test))?;
    output::line(out, &sides(found, c, level))?;
    if let Some(text) = too_few(&tagged) {
        output::line(out, &text)?;
    }
    if let Some(text) = table(c) {
        output::line(out, &text)?;
    }
    if let Some(sd) = c.seed_sd {
        let sd = c.amount(sd);
        let text = format!(
            "the difference has an sd of {}{} over {seeds} seeds",
            sd.trim_start_matches('+'),
            c.unit()
        );
        output::line(out, &text)?;
    }
    if let Some(clusters) = clusters {
        let text = format!("items belong to {} clusters, which are taken together", grouped(clusters));
        output::line(out, &text)?;
    }
    if let Some(boot) = c.bootstrap {
        output::line(out, &format!("resampled: [{}, {}]{}", c.amount(boot.lo), c.amount(boot.hi), c.unit()))?;
    }
    let margin = c.amount(c.margin).trim_start_matches('+').to_owned();
    let equivalence = match c.is_equivalent(aim.level) {
        true => equivalent(c, aim.level),
        false => {
            format!("not shown to be equal within ±{margin}{}: p {}", c.unit(), p_value(c.equivalence_p))
        }
    };
    output::line(out, &equivalence)?;
    if c.family > 1 {
        output::line(
            out,
            &format!("over {} metrics: Holm p {}, BH q {}", c.family, p_value(c.holm_p), p_value(c.bh_q)),
        )?;
    }
    match pilot {
        Some(pilot) => outlook(&pilot, c, n, aim, out),
        None => Ok(()),
    }
}

/// The mean of each side with its interval.
fn sides(found: &Matched, c: &ComparisonFinding, level: f64) -> String {
    let side = |name: &str, first: bool| {
        let e = found.pairs.accuracy(first, level);
        let [mean, lo, hi] = [e.mean, e.lo, e.hi].map(|x| c.amount(x).trim_start_matches('+').to_owned());
        format!("{name} {mean} [{lo}, {hi}]")
    };
    let unit = if c.is_share() { " (%)" } else { "" };
    printable_label(&format!("{}, {}{unit}", side(&c.a, true), side(&c.b, false)))
}

/// The 2×2 table with McNemar's tests; `None` for metrics that are not 0 or 1.
fn table(c: &ComparisonFinding) -> Option<String> {
    let (both, a, b, neither) = (c.both?, c.right_to_wrong?, c.wrong_to_right?, c.neither?);
    let plain = if c.clusters.is_some() { "as if each item stood for itself: " } else { "" };
    let sums = if c.seeds > 1 { format!(", sums over {} seeds", c.seeds) } else { String::new() };
    let [mid_p, exact, chi2, corrected] =
        [c.mid_p, c.exact_p, c.chi2_p, c.corrected_p].map(|p| p.map_or("-".into(), p_value));
    Some(format!(
        "both right {both}, right to wrong {a}, wrong to right {b}, neither {neither}{sums}; {plain}mid-p {mid_p}, exact p {exact}, chi2 p {chi2}, corrected p {corrected}"
    ))
}

/// Prints power and required n for a further comparison, as the pilot predicts them.
fn outlook(
    pilot: &Pilot,
    c: &ComparisonFinding,
    n: usize,
    aim: Aim,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    let found = pilot.power(n as u64, aim).ok();
    let power = found.as_ref().map_or(0.0, |p| p.0.mean);
    let mut text = seen(c, (n, "items"), &percent(power), aim.test, pilot.design());
    text += &match pilot.required(aim) {
        needed if needed.mean.is_some() => format!("; {} give {}", span(&needed), percent(aim.target)),
        _ => none_enough(c).into(),
    };
    if let Some(mde) = pilot.detectable(aim) {
        let amount = c.amount(mde);
        text +=
            &format!("; a difference below {}{} would stay unseen", amount.trim_start_matches('+'), c.unit());
    }
    output::line(out, &text)?;
    if let Some(text) = unbounded(c, &pilot.required(aim)) {
        output::line(out, &text)?;
    }
    let errors = found.and_then(|(_, type_m, type_s)| exaggerated(type_m, type_s));
    errors.map_or(Ok(()), |text| output::line(out, &text))
}
