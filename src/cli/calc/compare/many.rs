//! Systems compared on many tasks: one table, pooled differences, reports.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;

use serde::Serialize;

use super::amount::Amount;
use super::gate::Gates;
use super::{level_text, report};
use crate::error::CliError;
use crate::output;
use base::numbers::short;
use base::text::{printable_label, section};
use figure::layers::grouped;
use labs::power::compare::Terms;
use labs::power::finding::ComparisonFinding;
use labs::power::pairs::prompts_notice;
use labs::power::summary::{few_values, p_value, points, span_of};
use labs::power::systems::{FEWEST_TASKS, Mean, Pooled, System, TaskComparison, Versus, matrix};
use labs::power::tasks::{TaskVerdict, few_clusters};
use stats::Estimate;

pub(super) struct Asked<'a> {
    pub terms: Terms,
    /// The margin in the form that the user typed.
    pub margin: Amount,
    pub alpha: f64,
    pub metric: Option<&'a str>,
    pub baseline: Option<usize>,
    pub json: bool,
    pub summary: bool,
    pub report: Option<&'a Path>,
    pub force: bool,
    pub gates: &'a Gates,
}

#[derive(Serialize)]
struct TaskLine<'a> {
    task: &'a str,
    n: usize,
    unmatched_a: usize,
    unmatched_b: usize,
    mean_a: f64,
    mean_b: f64,
    verdict: TaskVerdict,
    #[serde(flatten)]
    comparison: &'a ComparisonFinding,
    #[serde(skip_serializing_if = "Option::is_none")]
    doubt: Option<String>,
}

#[derive(Serialize)]
struct PooledLine<'a> {
    pooled: &'static str,
    a: &'a str,
    b: &'a str,
    tasks: usize,
    n: usize,
    difference: Span,
    p: Option<f64>,
    /// Holm-adjusted p-value of the summary mean, over all systems.
    holm_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    doubt: Option<String>,
}

/// An estimate, possibly without an interval.
#[derive(Serialize)]
struct Span {
    mean: f64,
    lo: Option<f64>,
    hi: Option<f64>,
}

/// A named pooled difference; the summary also has Holm's p-value over the systems.
pub(super) struct PooledRow {
    pub name: &'static str,
    pub found: Pooled,
    pub ends: Option<(f64, f64)>,
    pub holm_p: Option<f64>,
    pub doubt: Option<String>,
}

pub(super) fn pooled_rows(versus: &Versus) -> Vec<PooledRow> {
    let all = [("macro", versus.macro_mean), ("micro", versus.micro), ("fixed", versus.fixed)];
    let row = |(name, found): (&'static str, Option<Pooled>)| {
        let found = found?;
        let speaks = versus.overall().is_some_and(|(mean, _)| mean.key() == name);
        let ends = found.p.map(|_| (found.difference.lo, found.difference.hi));
        let doubt = ends.filter(|_| name == "micro").and_then(|_| few_clusters(found.tasks));
        Some(PooledRow { name, found, ends, holm_p: Some(versus.holm_p).filter(|_| speaks), doubt })
    };
    all.into_iter().filter_map(row).collect()
}

/// Reason why the interval for a task has less than its nominal coverage.
pub(super) fn doubt(t: &TaskComparison) -> Option<String> {
    few_values(&t.finding, t.n, "items")
}

/// Fails with [`CliError::Usage`] for systems that cannot be compared, [`CliError::Gate`] for a condition that is not met.
pub(super) fn answer(systems: &[System], asked: &Asked<'_>, out: &mut dyn Write) -> Result<(), CliError> {
    let usage = |e: &dyn std::fmt::Display| CliError::Usage(e.to_string());
    let all = matrix(systems, asked.baseline, asked.metric, asked.terms).map_err(|e| usage(&e))?;
    let tasks = all.iter().flat_map(|v| &v.tasks);
    asked.margin.check_margin(tasks.map(|t| t.share))?;
    asked.gates.check_sizes(all.iter().map(Versus::is_share))?;
    for versus in &all {
        left_out(versus, asked.metric.is_some());
    }
    if let Some(path) = asked.report {
        report::write(path, &all, asked)?;
    }
    let lines: Vec<String> =
        if asked.summary { all.iter().map(|v| summary(v, asked)).collect() } else { text(&all, asked) };
    if asked.json {
        json(&all, asked, out)?;
    } else {
        for line in lines {
            output::line(out, &line)?;
        }
    }
    gates(systems, &all, asked)
}

fn left_out(versus: &Versus, chosen: bool) {
    for (name, tasks) in [(&versus.a, &versus.only_a), (&versus.b, &versus.only_b)] {
        if !tasks.is_empty() {
            let shown = base::text::shortened(&tasks.join(", "), 200);
            output::say(&printable_label(&format!("only in {name}: {} ({shown})", counted(tasks.len(), "task"))));
        }
    }
    let prompts = versus.tasks.iter().filter_map(|t| Some((&t.task, prompts_notice(t.prompts, t.n)?)));
    prompts.for_each(|(task, notice)| output::say(&printable_label(&format!("{task}: {notice}"))));
    let others: BTreeSet<&str> = versus.tasks.iter().flat_map(|t| &t.others).map(String::as_str).collect();
    if others.is_empty() || chosen {
        return;
    }
    let compared: BTreeSet<&str> = versus.tasks.iter().map(|t| t.finding.metric.as_str()).collect();
    let list = |names: BTreeSet<&str>| base::text::shortened(&names.into_iter().collect::<Vec<_>>().join(", "), 200);
    let how = match (others.len(), others.first()) {
        (1, Some(only)) => format!("for {only}, use --metric {only}"),
        _ => format!("for the others, use --metric NAME: {}", list(others)),
    };
    output::say(&printable_label(&format!("compared: {}; {how}", list(compared))));
}

/// Formats a count with its noun: `1 task`, `2 tasks`.
fn counted(n: usize, what: &str) -> String {
    format!("{} {what}{}", grouped(n), if n == 1 { "" } else { "s" })
}

/// Checks the conditions for the first of two systems or, with a baseline, for every other system.
fn gates(systems: &[System], all: &[Versus], asked: &Asked<'_>) -> Result<(), CliError> {
    if asked.gates.is_empty() {
        return Ok(());
    }
    for versus in all {
        let Some((mean, overall)) = versus.overall() else {
            return Err(CliError::Usage("--fail-if and --fail-unless need tasks whose metric is a proportion".into()));
        };
        let turned = asked.baseline.is_some_and(|base| systems[base].name == versus.a);
        let (subject, other) = if turned { (&versus.b, &versus.a) } else { (&versus.a, &versus.b) };
        let subject = format!("{subject} against {other} ({})", mean.name());
        let found = |level: Option<f64>| match level.filter(|l| *l != asked.terms.level) {
            None => overall.difference,
            Some(level) => {
                let find = |name: &str| systems.iter().find(|s| s.name == name);
                let again = find(&versus.a).zip(find(&versus.b)).and_then(|(a, b)| {
                    let terms = Terms { level, ..asked.terms };
                    labs::power::systems::versus(a, b, asked.metric, terms).ok()?.overall()
                });
                again.map_or(overall.difference, |(_, pooled)| pooled.difference)
            }
        };
        let passed = asked.gates.check(&subject, versus.is_share(), |level| match found(level) {
            d if turned => Estimate { mean: -d.mean, lo: -d.hi, hi: -d.lo },
            d => d,
        })?;
        output::say(&printable_label(&passed));
    }
    Ok(())
}

fn json(all: &[Versus], asked: &Asked<'_>, out: &mut dyn Write) -> Result<(), CliError> {
    for versus in all {
        for t in &versus.tasks {
            let line = TaskLine {
                task: &t.task,
                n: t.n,
                unmatched_a: t.unmatched_a,
                unmatched_b: t.unmatched_b,
                mean_a: t.means[0],
                mean_b: t.means[1],
                verdict: t.verdict(asked.alpha),
                comparison: &t.finding,
                doubt: doubt(t),
            };
            output::json(out, &line)?;
        }
        for PooledRow { name: pooled, found, ends, holm_p, doubt } in pooled_rows(versus) {
            let Pooled { tasks, n, difference, p } = found;
            let difference = Span { mean: difference.mean, lo: ends.map(|e| e.0), hi: ends.map(|e| e.1) };
            let (a, b) = (versus.a.as_str(), versus.b.as_str());
            output::json(out, &PooledLine { pooled, a, b, tasks, n, difference, p, holm_p, doubt })?;
        }
    }
    Ok(())
}

/// Columns of the task table; the last column is present only if items are left out.
pub(super) fn head(versus: &Versus) -> Vec<&'static str> {
    let left_out = versus.tasks.iter().any(|t| t.unmatched_a + t.unmatched_b > 0);
    let all = ["task", "metric", "n", "A", "B", "A − B", "p", "Holm p", "verdict", "items left out"];
    all[..all.len() - usize::from(!left_out)].to_vec()
}

fn unmatched(a: usize, b: usize) -> String {
    let side = |n: usize, name: &str| (n > 0).then(|| format!("{} only in {name}", grouped(n)));
    [side(a, "A"), side(b, "B")].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

pub(super) fn cells(versus: &Versus, asked: &Asked<'_>) -> Vec<Vec<String>> {
    let columns = head(versus).len();
    let row = |t: &TaskComparison| {
        let c = &t.finding;
        let mean = |x: f64| if c.is_share() { format!("{:.1}", 100.0 * x) } else { short(x) };
        let mut row = vec![
            t.task.clone(),
            c.metric.clone(),
            grouped(t.n),
            mean(t.means[0]),
            mean(t.means[1]),
            span_of(c),
            p_value(c.p),
            p_value(c.holm_p),
            t.verdict(asked.alpha).name().into(),
            unmatched(t.unmatched_a, t.unmatched_b),
        ];
        row.truncate(columns);
        row
    };
    versus.tasks.iter().map(row).collect()
}

fn span(e: Estimate) -> String {
    format!("{} [{}, {}]", points(e.mean), points(e.lo), points(e.hi))
}

pub(super) fn pooled(versus: &Versus, asked: &Asked<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    let over_items = match versus.fixed {
        Some(fixed) => ("mean over items, tasks taken as fixed (valid for these tasks only)", Some(fixed)),
        None => ("micro (mean over items, tasks as clusters)", versus.micro),
    };
    let over_tasks = ("macro (mean of the tasks' differences, t test over tasks)", versus.macro_mean);
    for (kind, found) in [over_tasks, over_items] {
        let Some(found) = found.filter(|f| f.tasks > 1 || versus.tasks.len() > 1) else { continue };
        lines.push(match found.p {
            Some(p) => format!(
                "{kind}: {} points, p {}; {}, {}",
                span(found.difference),
                p_value(p),
                counted(found.tasks, "task"),
                counted(found.n, "item")
            ),
            None => {
                format!(
                    "{kind}: {} points; with fewer than {FEWEST_TASKS} tasks, there is no interval",
                    points(found.difference.mean)
                )
            }
        });
    }
    lines.extend(pooled_rows(versus).into_iter().filter_map(|row| row.doubt).map(|text| format!("micro: {text}")));
    let doubts = versus.tasks.iter().filter_map(|t| Some((t.n, printable_label(&t.task), doubt(t)?)));
    lines.extend(doubts.min().map(|(_, task, text)| format!("{task}: {text}")));
    if let Some((mean, _)) = versus.overall().filter(|(mean, _)| *mean != Mean::Task) {
        lines.push(format!("--summary and --fail-if use the {}", mean.name()));
    }
    match versus.apart {
        0 => {}
        1 => lines.push("1 task is not pooled because its metric is not a proportion".into()),
        n => lines.push(format!("{n} tasks are not pooled because their metrics are not proportions")),
    }
    lines.push(family(versus, asked));
    lines
}

fn family(versus: &Versus, asked: &Asked<'_>) -> String {
    let margins: BTreeSet<String> = versus
        .tasks
        .iter()
        .map(|t| format!("±{}{}", t.finding.amount(asked.terms.margin).trim_start_matches('+'), t.finding.unit()))
        .collect();
    let margins = margins.into_iter().collect::<Vec<_>>().join(" or ");
    let inner = level_text(1.0 - 2.0 * asked.alpha);
    match versus.tasks.len() {
        1 => format!("equivalent: the {inner} interval lies within {margins}"),
        n => format!(
            "Holm p: adjusted for {n} differences; equivalent: the {inner} interval lies within {margins}, adjusted for {n} differences and {n} equivalence tests"
        ),
    }
}

pub(super) fn summary(versus: &Versus, asked: &Asked<'_>) -> String {
    let count = |verdict| versus.count(verdict, asked.alpha);
    let overall = versus.overall().map_or("nothing to pool".into(), |(mean, o)| {
        let difference = match versus.tasks.as_slice() {
            [only] => format!("{}{}", span_of(&only.finding), only.finding.unit()),
            _ => format!("{} points", span(o.difference)),
        };
        let level = level_text(asked.terms.level);
        format!("{} {difference} ({level} interval), p {}", mean.name(), o.p.map_or("-".into(), p_value))
    });
    let sum = |side: fn(&TaskComparison) -> usize| versus.tasks.iter().map(side).sum::<usize>();
    let left_out = match unmatched(sum(|t| t.unmatched_a), sum(|t| t.unmatched_b)) {
        none if none.is_empty() => none,
        some => format!("; items left out: {some}"),
    };
    printable_label(&format!(
        "{} against {}: {overall}; {}: {} better, {} worse, {} equivalent, {} undecided{left_out}",
        versus.a,
        versus.b,
        counted(versus.tasks.len(), "task"),
        count(TaskVerdict::ABetter),
        count(TaskVerdict::BBetter),
        count(TaskVerdict::Equivalent),
        count(TaskVerdict::Undecided)
    ))
}

pub(super) fn matrix_rows(all: &[Versus], asked: &Asked<'_>) -> Vec<Vec<String>> {
    let row = |v: &Versus| {
        let (kind, pooled) = v.overall()?;
        let p = pooled.p.map_or("-".into(), p_value);
        let better = match pooled.p {
            Some(_) if v.holm_p < asked.alpha && pooled.difference.mean > 0.0 => v.a.clone(),
            Some(_) if v.holm_p < asked.alpha => v.b.clone(),
            _ => "undecided".into(),
        };
        Some(vec![
            v.a.clone(),
            v.b.clone(),
            kind.name().into(),
            if pooled.p.is_some() { span(pooled.difference) } else { points(pooled.difference.mean) },
            p,
            p_value(v.holm_p),
            better,
        ])
    };
    all.iter().filter_map(row).collect()
}

pub(super) const MATRIX: [&str; 7] = ["A", "B", "mean", "A − B", "p", "Holm p", "better"];

fn text(all: &[Versus], asked: &Asked<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    if all.len() > 1 {
        section(&mut lines, "Systems, points", &MATRIX, matrix_rows(all, asked));
        lines.push(format!("Holm p: corrected across all {} pairs of systems", all.len()));
    }
    for versus in all {
        let title =
            printable_label(&format!("A: {}, B: {}; {} intervals", versus.a, versus.b, level_text(asked.terms.level)));
        section(&mut lines, &title, &head(versus), cells(versus, asked));
        lines.extend(pooled(versus, asked));
    }
    lines
}
