//! Comparison of two models from files: one answer for each metric and filter, with power and required n.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;

use rayon::prelude::*;
use serde::Serialize;

use super::amount::Amount;
use super::gate::Gates;
use super::{CompareArgs, flips, level_text};
use crate::error::CliError;
use crate::output;
use base::numbers::percent;
use base::text::printable_label;
use corpus::results::{Group, NO_FILTER, Results, Wanted, metrics, read_all};
use figure::layers::grouped;
use labs::power::compare::{Names, Terms, adjust, compare};
use labs::power::finding::{ComparisonFinding, Open};
use labs::power::pairs::{Matched, matched, prompts_notice};
use labs::power::pilot::Pilot;
use labs::power::summary::{
    equivalent, evidence, exaggerated, few_values, lead, none_enough, p_value, seen, span, too_few, unbounded,
};
use labs::results::Tagged;
use stats::Estimate;
use stats::required::Aim;

#[derive(Serialize)]
struct Answer<'f> {
    #[serde(flatten)]
    comparison: ComparisonFinding,
    /// The filter of lm-evaluation-harness; `None` if the rows have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    filter: Option<&'f str>,
    level: f64,
    matched: usize,
    unmatched_a: usize,
    unmatched_b: usize,
    /// Mean of each side, with a proportion's interval if items are independent and binary.
    accuracy_a: Estimate,
    accuracy_b: Estimate,
    outlook: Option<Outlook>,
    /// Reason why the interval has less than its nominal coverage.
    #[serde(skip_serializing_if = "Option::is_none")]
    doubt: Option<String>,
}

/// Power and required n of a future comparison, predicted from these items.
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
        // If squaring the values would overflow, there is no power estimate.
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

type Side = Vec<(String, Vec<Results>)>;

/// Combines the files of a side, dropping filters that are missing from some of them.
fn side(read: Vec<(&PathBuf, Vec<Group>)>) -> Side {
    let mut side: Side = Vec::new();
    for (k, (path, groups)) in read.into_iter().enumerate() {
        let notes: BTreeSet<&String> = groups.iter().flat_map(|g| &g.notes).collect();
        notes.iter().for_each(|note| output::say(&printable_label(&format!("{}: {note}", path.display()))));
        for group in groups {
            match side.iter_mut().find(|(filter, _)| *filter == group.filter) {
                Some((_, runs)) => runs.extend(group.runs),
                None if k == 0 => side.push((group.filter, group.runs)),
                None => output::say(&format!("{}: filter `{}` left out", path.display(), group.filter)),
            }
        }
    }
    side
}

type Shared = (String, [Vec<Results>; 2]);

fn by_filter(a: Side, b: Side) -> Result<Vec<Shared>, CliError> {
    let names = |side: &Side| {
        let all: Vec<&str> = side.iter().map(|(filter, _)| filter.as_str()).collect();
        base::text::shortened(&all.join(", "), 200)
    };
    let (in_a, in_b) = (names(&a), names(&b));
    let mut both = Vec::new();
    let mut others = b;
    let mut alone: Vec<String> = Vec::new();
    for (filter, first) in a {
        match others.iter().position(|(name, _)| *name == filter) {
            Some(at) => both.push((filter, [first, others.remove(at).1])),
            None => alone.push(filter),
        }
    }
    alone.extend(others.into_iter().map(|(filter, _)| filter));
    if both.is_empty() {
        return Err(CliError::Usage(format!("the files have no filter in common: A has {in_a}; B has {in_b}")));
    }
    if !alone.is_empty() {
        output::say(&printable_label(&format!(
            "left out, because only one side has these filters: {}",
            alone.join(", ")
        )));
    }
    Ok(both)
}

/// One comparison of two files: a metric under a filter.
struct Compared<'r> {
    filter: &'r str,
    runs: &'r [Vec<Results>; 2],
    found: Matched,
    finding: ComparisonFinding,
}

/// Compares two files, metric by metric, under each filter.
pub(super) fn files(
    args: &CompareArgs,
    (path_a, path_b): (&PathBuf, &PathBuf),
    wanted: &Wanted,
    (terms, margin): (Terms, Amount),
    aim: Aim,
    gates: &Gates,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    let paths: Vec<&PathBuf> = [path_a].into_iter().chain(&args.also_a).chain([path_b]).chain(&args.also_b).collect();
    // If several files are unreadable, the first one is reported, regardless of the order of reading.
    let read: Vec<_> = paths.par_iter().map(|f| read_all(f, wanted)).collect();
    let read: Vec<_> = read.into_iter().collect::<Result<_, _>>().map_err(|e| CliError::Usage(e.to_string()))?;
    let mut read: Vec<_> = paths.into_iter().zip(read).collect();
    let second = read.split_off(1 + args.also_a.len());
    let filters = by_filter(side(read), side(second))?;
    flips::check(args, filters.iter().flat_map(|(_, sides)| sides).flatten())?;
    let names = |metric: &str| Names { a: name(path_a, path_b), b: name(path_b, path_a), metric: metric.into() };
    let mut all: Vec<Compared<'_>> = Vec::new();
    let mut lacking = BTreeSet::new();
    let mut prompts = None;
    for (filter, runs) in &filters {
        let [first, second] = runs;
        let (shared, others) = metrics(first.iter().chain(second));
        lacking.extend(others);
        for metric in &shared {
            let found = matched(first, second, metric).map_err(|e| CliError::Usage(e.to_string()))?;
            prompts = prompts.or_else(|| prompts_notice(found.prompts, found.pairs.n()));
            let finding = compare(&found.pairs, &names(metric), terms);
            all.push(Compared { filter, runs, found, finding });
        }
    }
    if let Some(notice) = prompts {
        output::say(&notice);
    }
    if all.is_empty() {
        return Err(CliError::Usage("the files have no metric in common".into()));
    }
    if !lacking.is_empty() {
        let names = lacking.into_iter().collect::<Vec<_>>().join(", ");
        output::say(&printable_label(&format!("metrics not compared, because some files lack them: {names}")));
    }
    adjust(&mut all.iter_mut().map(|c| &mut c.finding).collect::<Vec<_>>(), aim.level);
    margin.check_margin(all.iter().map(|c| c.found.pairs.is_share()))?;
    gates.check_sizes(all.iter().map(|c| c.found.pairs.is_share()))?;
    let mut outcome = Ok(());
    for compared in all {
        let checked = gates.check(&compared.subject(), compared.found.pairs.is_share(), |at| {
            let pairs = &compared.found.pairs;
            let again = |level| compare(pairs, &names(&compared.finding.metric), Terms { level, ..terms });
            at.filter(|at| *at != terms.level).map_or(compared.finding.difference, |l| again(l).difference)
        });
        let (filter, runs, metric) = (compared.filter, compared.runs, compared.finding.metric.clone());
        compared.print(args.json, terms.level, aim, out)?;
        if args.flips {
            let task = if filter == NO_FILTER { "" } else { filter };
            flips::print((&runs[0][0], &runs[1][0]), (task, &metric), args, out)?;
        }
        if let Some(passed) = checked.as_ref().ok().filter(|_| !gates.is_empty()) {
            output::say(&printable_label(passed));
        }
        outcome = outcome.and(checked.map(|_| ()));
    }
    outcome
}

impl Compared<'_> {
    fn metric(&self) -> String {
        match self.filter {
            NO_FILTER => self.finding.metric.clone(),
            filter => format!("{} ({filter})", self.finding.metric),
        }
    }

    fn subject(&self) -> String {
        format!("{} against {} in {}", self.finding.a, self.finding.b, self.metric())
    }

    fn print(self, json: bool, level: f64, aim: Aim, out: &mut dyn Write) -> Result<(), CliError> {
        if !json {
            let metric = self.metric();
            return tell(&self.found, &metric, self.finding, (level, aim), out);
        }
        let Self { filter, found, finding, .. } = self;
        let (matched, unmatched_a, unmatched_b) = (found.pairs.n(), found.unmatched_a, found.unmatched_b);
        let [accuracy_a, accuracy_b] = [true, false].map(|first| found.pairs.accuracy(first, level));
        let answer = Answer {
            doubt: few_values(&finding, matched, "items"),
            comparison: finding,
            filter: Some(filter).filter(|f| *f != NO_FILTER),
            level,
            matched,
            unmatched_a,
            unmatched_b,
            accuracy_a,
            accuracy_b,
            outlook: Outlook::of(&found, level, aim),
        };
        output::json(out, &answer)
    }
}

/// Returns the file name, with its folder if both files have the same name.
fn name(path: &std::path::Path, other: &std::path::Path) -> String {
    let short = path.file_name().filter(|n| Some(*n) != other.file_name());
    printable_label(&short.map_or(path.display().to_string(), |n| n.to_string_lossy().into_owned()))
}

fn tell(
    found: &Matched,
    metric: &str,
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
            metric
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
    output::line(out, &format!("{lead} at {}; {evidence} ({})", level_text(level), c.test))?;
    output::line(out, &sides(found, c, level))?;
    for text in [few_values(c, n, "items"), too_few(&tagged)].into_iter().flatten() {
        output::line(out, &text)?;
    }
    if let Some(text) = table(c) {
        output::line(out, &text)?;
    }
    if let Some(sd) = c.seed_sd {
        let sd = c.amount(sd);
        let text = format!(
            "the difference has a standard deviation of {}{} over {seeds} seeds",
            sd.trim_start_matches('+'),
            c.unit()
        );
        output::line(out, &text)?;
    }
    if let Some(clusters) = clusters {
        let text = format!("items belong to {} clusters, which are treated as units", grouped(clusters));
        output::line(out, &text)?;
    }
    if let Some(boot) = c.bootstrap {
        output::line(out, &format!("bootstrap interval: [{}, {}]{}", c.amount(boot.lo), c.amount(boot.hi), c.unit()))?;
    }
    let margin = c.amount(c.margin).trim_start_matches('+').to_owned();
    if c.is_equivalent(aim.level) {
        output::line(out, &equivalent(c, aim.level))?;
    } else if c.deciding_p() > aim.level {
        let text = format!("not shown to be equivalent within ±{margin}{}: p {}", c.unit(), p_value(c.equivalence_p));
        output::line(out, &text)?;
    }
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

fn sides(found: &Matched, c: &ComparisonFinding, level: f64) -> String {
    let side = |name: &str, first: bool| {
        let e = found.pairs.accuracy(first, level);
        let [mean, lo, hi] = [e.mean, e.lo, e.hi].map(|x| c.amount(x).trim_start_matches('+').to_owned());
        format!("{name} {mean} [{lo}, {hi}]")
    };
    let unit = if c.is_share() { " (%)" } else { "" };
    printable_label(&format!("{}, {}{unit}", side(&c.a, true), side(&c.b, false)))
}

/// Returns the 2×2 table with McNemar's tests; `None` unless the metric is 0 or 1.
fn table(c: &ComparisonFinding) -> Option<String> {
    let (both, a, b, neither) = (c.both?, c.right_to_wrong?, c.wrong_to_right?, c.neither?);
    let plain = if c.clusters.is_some() { "as if items were independent: " } else { "" };
    let sums = if c.seeds > 1 { format!(", sums over {} seeds", c.seeds) } else { String::new() };
    let [mid_p, exact, chi2, corrected] =
        [c.mid_p, c.exact_p, c.chi2_p, c.corrected_p].map(|p| p.map_or("-".into(), p_value));
    Some(format!(
        "both right {both}, right to wrong {a}, wrong to right {b}, neither {neither}{sums}; {plain}mid-p {mid_p}, exact p {exact}, chi2 p {chi2}, corrected p {corrected}"
    ))
}

fn outlook(pilot: &Pilot, c: &ComparisonFinding, n: usize, aim: Aim, out: &mut dyn Write) -> Result<(), CliError> {
    let found = pilot.power(n as u64, aim).ok();
    let power = found.as_ref().map_or(0.0, |p| p.0.mean);
    let needed = pilot.required(aim);
    let enough = match needed.mean {
        Some(_) => format!("{} items would give {} power", span(&needed), percent(aim.target)),
        None => none_enough(c).to_owned(),
    };
    let smallest = pilot.detectable(aim).map(|mde| {
        let amount = c.amount(mde);
        format!("the smallest detectable difference is {}{}", amount.trim_start_matches('+'), c.unit())
    });
    let errors = found.and_then(|(_, type_m, type_s)| exaggerated(type_m, type_s));
    let says =
        [Some(seen(c, (&grouped(n), "items"), &percent(power), aim.test, pilot.design())), Some(enough), smallest];
    says.into_iter().chain([unbounded(c, &needed), errors]).flatten().try_for_each(|text| output::line(out, &text))
}
