//! `probity compare`: two models by their results on the same items.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use rayon::prelude::*;
use serde::Serialize;

use crate::error::CliError;
use crate::output;
use base::numbers::{number, percent};
use base::text::printable_label;
use corpus::results::{Results, Wanted, metrics, read};
use figure::layers::grouped;
use labs::power::compare::{MOST_LEVEL, Names, Terms, adjust, compare};
use labs::power::finding::{ComparisonFinding, Open};
use labs::power::pairs::{Matched, matched};
use labs::power::pilot::Pilot;
use labs::power::summary::{
    evidence, exaggerated, lead, none_enough, p_value, points, seen, span, too_few, unbounded,
};
use labs::results::Tagged;
use stats::Estimate;
use stats::mcnemar::Test;
use stats::power::share;
use stats::required::Aim;

/// Compare two models by their results on the same items: difference, paired tests, equivalence, and the n that is needed.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  probity compare samples_a.jsonl samples_b.jsonl
  probity compare samples_a.jsonl samples_b.jsonl --filter strict-match --metric exact_match --json
  probity compare a-seed1.csv b-seed1.csv --also-a a-seed2.csv --also-b b-seed2.csv --margin 2%

Files: lm-evaluation-harness samples (an item is a doc_id under a filter), BEAR results, JSON lines or CSV with `id` and `correct`
(or `prediction` and `target`), and `cluster` where items belong together. Items are matched by their identifiers; what only one
file has is counted and left out. With several metrics there is one answer for each, and Holm and Benjamini-Hochberg run over
them.")]
pub struct CompareArgs {
    /// Results of the first model.
    #[arg(value_name = "A")]
    a: PathBuf,
    /// Results of the second model.
    #[arg(value_name = "B")]
    b: PathBuf,
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
    /// The test that counts for one file a side on items that stand for themselves, and whose power is reported: mid_p, exact, chi2, or
    /// corrected (McNemar's). Several seeds, clusters and metrics that are not 0 or 1 take the paired t.
    #[arg(long, value_name = "TEST", default_value = "mid_p")]
    test: String,
    /// Seed of resampling.
    #[arg(long, default_value_t = 0)]
    seed: u64,
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
    /// Mean of each side: Wilson's interval where items stand for themselves.
    accuracy_a: Estimate,
    accuracy_b: Estimate,
    outlook: Option<Outlook>,
}

/// What the items say of a comparison yet to be made.
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
        let pilot = Pilot::of(&found.pairs, level)?;
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
    let side = |first: &PathBuf, more: &[PathBuf]| [std::slice::from_ref(first), more].concat();
    let (a, b) = (side(&args.a, &args.also_a), side(&args.b, &args.also_b));
    let wanted = Wanted { filter: args.filter.clone(), metric: args.metric.clone() };
    let files: Vec<PathBuf> = a.iter().chain(&b).cloned().collect();
    // Of several files that cannot be read the first one is named, whichever is read first.
    let read: Vec<_> = files.par_iter().map(|f| read(f, &wanted)).collect();
    let read: Vec<Results> = read.into_iter().collect::<Result<_, _>>().map_err(|e| usage(&e))?;
    let (first, second) = read.split_at(a.len());
    let (metrics, lacking) = metrics(read.iter());
    if metrics.is_empty() {
        return Err(CliError::Usage("the files have no metric in common".into()));
    }
    if !lacking.is_empty() {
        output::say(&format!("not compared, because not every file has them: {}", lacking.join(", ")));
    }
    let names =
        |metric: &str| Names { a: name(&args.a, &args.b), b: name(&args.b, &args.a), metric: metric.into() };
    let terms = Terms { level, margin, seed: args.seed, by };
    let mut all: Vec<(Matched, ComparisonFinding)> = Vec::new();
    for metric in &metrics {
        let found = matched(first, second, metric).map_err(|e| usage(&e))?;
        let comparison = compare(&found.pairs, &names(metric), terms);
        all.push((found, comparison));
    }
    adjust(&mut all.iter_mut().map(|(_, c)| c).collect::<Vec<_>>());
    for (found, comparison) in all {
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
    }
    Ok(())
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
    let pilot = Pilot::of(&found.pairs, level);
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
        output::line(
            out,
            &format!("the difference has an sd of {:.1} points over {seeds} seeds", 100.0 * sd),
        )?;
    }
    if let Some(clusters) = clusters {
        output::line(
            out,
            &format!("items belong to {} clusters, which are taken together", grouped(clusters)),
        )?;
    }
    if let Some(boot) = c.bootstrap {
        output::line(out, &format!("resampled: [{:+.4}, {:+.4}]", boot.lo, boot.hi))?;
    }
    let margin = points(c.margin).trim_start_matches('+').to_owned();
    output::line(out, &format!("equivalent within {margin} points: p {}", p_value(c.equivalence_p)))?;
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
        let [mean, lo, hi] = [e.mean, e.lo, e.hi].map(|x| points(x).trim_start_matches('+').to_owned());
        format!("{name} {mean} [{lo}, {hi}]")
    };
    printable_label(&format!("{}, {} ({})", side(&c.a, true), side(&c.b, false), c.hundredths()))
}

/// The 2×2 table with McNemar's tests; none for metrics that are not 0 or 1.
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

/// What the pilot says of a comparison yet to be made.
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
        let how = c.hundredths();
        text +=
            &format!("; a difference below {} {how} would stay unseen", points(mde).trim_start_matches('+'));
    }
    output::line(out, &text)?;
    if let Some(text) = unbounded(c, &pilot.required(aim)) {
        output::line(out, &text)?;
    }
    let errors = found.and_then(|(_, type_m, type_s)| exaggerated(type_m, type_s));
    errors.map_or(Ok(()), |text| output::line(out, &text))
}
