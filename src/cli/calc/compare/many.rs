//! Systems on many tasks: one table, pooled differences, reports.

use std::io::Write;
use std::path::Path;

use serde::Serialize;

use super::gate::Gates;
use crate::error::CliError;
use crate::output;
use base::files::Whole;
use base::numbers::{percent, short};
use base::text::{printable_label, section};
use figure::layers::grouped;
use labs::power::compare::Terms;
use labs::power::finding::ComparisonFinding;
use labs::power::summary::{p_value, points, span_of};
use labs::power::systems::{FEWEST_TASKS, Pooled, System, Versus, matrix};
use labs::power::tasks::Verdict;
use stats::Estimate;

/// Options of comparing and showing systems.
pub(super) struct Asked<'a> {
    pub terms: Terms,
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
    verdict: Verdict,
    #[serde(flatten)]
    comparison: &'a ComparisonFinding,
}

#[derive(Serialize)]
struct PooledLine<'a> {
    pooled: &'static str,
    a: &'a str,
    b: &'a str,
    tasks: usize,
    n: usize,
    difference: Estimate,
    p: Option<f64>,
    holm_p: f64,
}

/// Compares and prints.
///
/// # Errors
/// [`CliError::Usage`] for systems that cannot be compared, [`CliError::Gate`] for a condition that is not met.
pub(super) fn answer(systems: &[System], asked: &Asked<'_>, out: &mut dyn Write) -> Result<(), CliError> {
    let usage = |e: &dyn std::fmt::Display| CliError::Usage(e.to_string());
    let all = matrix(systems, asked.baseline, asked.metric, asked.terms).map_err(|e| usage(&e))?;
    for versus in &all {
        for (name, tasks) in [(&versus.a, &versus.only_a), (&versus.b, &versus.only_b)] {
            if !tasks.is_empty() {
                let shown = base::text::shortened(&tasks.join(", "), 200);
                output::say(&printable_label(&format!("only in {name}: {} tasks ({shown})", tasks.len())));
            }
        }
        let mut others: Vec<&str> = versus.tasks.iter().flat_map(|t| &t.others).map(String::as_str).collect();
        others.sort_unstable();
        others.dedup();
        if !others.is_empty() && asked.metric.is_none() {
            let shown = base::text::shortened(&others.join(", "), 200);
            output::say(&printable_label(&format!("metrics not compared: {shown}; choose one by --metric")));
        }
    }
    if let Some(path) = asked.report {
        report(path, &all, asked)?;
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

fn gates(systems: &[System], all: &[Versus], asked: &Asked<'_>) -> Result<(), CliError> {
    if asked.gates.is_empty() {
        return Ok(());
    }
    for versus in all {
        let share = versus.apart == 0;
        let Some((kind, overall)) = versus.overall() else {
            return Err(CliError::Usage(
                "--fail-if and --fail-unless need tasks whose metric is a share".into(),
            ));
        };
        let subject = format!("{} against {} ({kind} mean)", versus.a, versus.b);
        if overall.p.is_none() {
            output::say(&printable_label(&format!(
                "{subject} has no interval under {FEWEST_TASKS} tasks: --fail-if cannot hold, and --fail-unless fails"
            )));
        }
        asked.gates.check(&subject, share, |level| match level.filter(|l| *l != asked.terms.level) {
            None => overall.difference,
            Some(level) => {
                let find = |name: &str| systems.iter().find(|s| s.name == name);
                let again = find(&versus.a).zip(find(&versus.b)).and_then(|(a, b)| {
                    let terms = Terms { level, ..asked.terms };
                    labs::power::systems::versus(a, b, asked.metric, terms).ok()?.overall()
                });
                again.map_or(overall.difference, |(_, pooled)| pooled.difference)
            }
        })?;
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
            };
            output::json(out, &line)?;
        }
        for (pooled, found) in [("macro", versus.macro_mean), ("micro", versus.micro)] {
            if let Some(Pooled { tasks, n, difference, p }) = found {
                let (a, b, holm_p) = (versus.a.as_str(), versus.b.as_str(), versus.holm_p);
                output::json(out, &PooledLine { pooled, a, b, tasks, n, difference, p, holm_p })?;
            }
        }
    }
    Ok(())
}

const HEAD: [&str; 9] = ["task", "metric", "n", "A", "B", "A − B", "p", "Holm p", "verdict"];

fn cells(versus: &Versus, asked: &Asked<'_>) -> Vec<Vec<String>> {
    let row = |t: &labs::power::systems::TaskComparison| {
        let c = &t.finding;
        let mean = |x: f64| if c.is_share() { format!("{:.1}", 100.0 * x) } else { short(x) };
        vec![
            t.task.clone(),
            c.metric.clone(),
            grouped(t.n),
            mean(t.means[0]),
            mean(t.means[1]),
            span_of(c),
            p_value(c.p),
            p_value(c.holm_p),
            t.verdict(asked.alpha).name().into(),
        ]
    };
    versus.tasks.iter().map(row).collect()
}

fn span(e: Estimate) -> String {
    format!("{} [{}, {}]", points(e.mean), points(e.lo), points(e.hi))
}

/// The pooled differences, a line each.
fn pooled(versus: &Versus) -> Vec<String> {
    let mut lines = Vec::new();
    let kinds = [
        ("macro (mean of the tasks' differences, t over tasks)", versus.macro_mean),
        ("micro (mean over items, tasks as clusters)", versus.micro),
    ];
    for (kind, found) in kinds {
        let Some(found) = found.filter(|f| f.tasks > 1) else { continue };
        lines.push(match found.p {
            Some(p) => format!(
                "{kind}: {} points, p {}; {} tasks, {} items",
                span(found.difference),
                p_value(p),
                found.tasks,
                grouped(found.n)
            ),
            None => format!("{kind}: {} points; no interval under 10 tasks", points(found.difference.mean)),
        });
    }
    if versus.apart > 0 {
        lines.push(format!("{} tasks are not pooled: their metric is not a share", versus.apart));
    }
    lines
}

/// One line for a log.
pub(super) fn summary(versus: &Versus, asked: &Asked<'_>) -> String {
    let count = |verdict| versus.count(verdict, asked.alpha);
    let overall = versus.overall().map_or("nothing to pool".into(), |(kind, o)| {
        let difference = if versus.apart > 0 && versus.tasks.len() == 1 {
            span_of(&versus.tasks[0].finding)
        } else if o.p.is_none() {
            return format!(
                "{kind} difference {} points, no interval under 10 tasks",
                points(o.difference.mean)
            );
        } else {
            format!("{} points", span(o.difference))
        };
        format!(
            "{kind} difference {difference} at {}, p {}",
            percent(asked.terms.level),
            o.p.map_or("-".into(), p_value)
        )
    });
    printable_label(&format!(
        "{} against {}: {overall}; {}: {} better, {} worse, {} equivalent, {} open",
        versus.a,
        versus.b,
        match versus.tasks.len() {
            1 => "1 task".to_owned(),
            n => format!("{n} tasks"),
        },
        count(Verdict::ABetter),
        count(Verdict::BBetter),
        count(Verdict::Equivalent),
        count(Verdict::Open)
    ))
}

fn matrix_rows(all: &[Versus], asked: &Asked<'_>) -> Vec<Vec<String>> {
    let row = |v: &Versus| {
        let (kind, pooled) = v.overall()?;
        let p = pooled.p.map_or("-".into(), p_value);
        let better = match pooled.p {
            Some(_) if v.holm_p < asked.alpha && pooled.difference.mean > 0.0 => v.a.clone(),
            Some(_) if v.holm_p < asked.alpha => v.b.clone(),
            _ => "open".into(),
        };
        Some(vec![
            v.a.clone(),
            v.b.clone(),
            kind.into(),
            if pooled.p.is_some() { span(pooled.difference) } else { points(pooled.difference.mean) },
            p,
            p_value(v.holm_p),
            better,
        ])
    };
    all.iter().filter_map(row).collect()
}

const MATRIX: [&str; 7] = ["A", "B", "pooled", "A − B", "p", "Holm p", "better"];

fn text(all: &[Versus], asked: &Asked<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    if all.len() > 1 {
        section(&mut lines, "Systems, points", &MATRIX, matrix_rows(all, asked));
    }
    for versus in all {
        let title = printable_label(&format!(
            "A: {}, B: {}; intervals at {}",
            versus.a,
            versus.b,
            percent(asked.terms.level)
        ));
        section(&mut lines, &title, &HEAD, cells(versus, asked));
        lines.extend(pooled(versus));
    }
    lines
}

/// A report as Markdown, CSV or LaTeX, by the end of its name.
fn report(path: &Path, all: &[Versus], asked: &Asked<'_>) -> Result<(), CliError> {
    let end = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    let text = match end.as_str() {
        "md" => markdown(all, asked),
        "csv" => csv(all, asked),
        "tex" => latex(all, asked),
        _ => {
            return Err(CliError::Usage(format!(
                "--report {}: the name must end in .md, .csv or .tex",
                path.display()
            )));
        }
    };
    let mut file = Whole::new(path, asked.force)?;
    file.file()
        .write_all(text.as_bytes())
        .map_err(|e| CliError::Failed(format!("cannot write {}: {e}", path.display())))?;
    Ok(file.place()?)
}

fn markdown(all: &[Versus], asked: &Asked<'_>) -> String {
    let cell =
        |text: &str| printable_label(text).replace('\\', "\\\\").replace('|', "\\|").replace('<', "&lt;");
    let table = |head: &[&str], rows: Vec<Vec<String>>| {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let mut text = line(head.iter().map(|h| (*h).to_owned()).collect());
        text += &line(head.iter().map(|_| "---".to_owned()).collect());
        for row in rows {
            text += &line(row.iter().map(|c| cell(c)).collect());
        }
        text
    };
    let mut text = String::new();
    if all.len() > 1 {
        text += &format!("{}\n", table(&MATRIX, matrix_rows(all, asked)));
    }
    for versus in all {
        text += &format!("**{}**\n\n", cell(&summary(versus, asked)));
        text += &table(&HEAD, cells(versus, asked));
        for line in pooled(versus) {
            text += &format!("\n- {line}");
        }
        text += "\n\n";
    }
    text
}

fn csv(all: &[Versus], asked: &Asked<'_>) -> String {
    let quoted = |text: &str| {
        // A cell that a spreadsheet would take for a formula begins with a quotation mark.
        let text = if text.starts_with(['=', '@', '\t']) { format!("'{text}") } else { text.to_owned() };
        if text.contains([',', '"', '\n', '\r']) {
            format!("\"{}\"", text.replace('"', "\"\""))
        } else {
            text
        }
    };
    let mut out =
        String::from("a,b,task,metric,n,mean_a,mean_b,difference,lo,hi,p,holm_p,equivalence_p,verdict\n");
    for versus in all {
        for t in &versus.tasks {
            let c = &t.finding;
            let d = c.difference;
            let names = [&versus.a, &versus.b, &t.task, &c.metric].map(|name| quoted(name)).join(",");
            out += &format!(
                "{names},{},{},{},{},{},{},{},{},{},{}\n",
                t.n,
                t.means[0],
                t.means[1],
                d.mean,
                d.lo,
                d.hi,
                c.p,
                c.holm_p,
                c.equivalence_p,
                t.verdict(asked.alpha).name()
            );
        }
        for (kind, found) in [("macro", versus.macro_mean), ("micro", versus.micro)] {
            if let Some(Pooled { n, difference: d, p, .. }) = found {
                let names = [&versus.a, &versus.b].map(|name| quoted(name)).join(",");
                let p = p.map_or(String::new(), |p| p.to_string());
                out += &format!(
                    "{names},({kind}),,{n},,,{},{},{},{p},{},,\n",
                    d.mean, d.lo, d.hi, versus.holm_p
                );
            }
        }
    }
    out
}

fn latex(all: &[Versus], asked: &Asked<'_>) -> String {
    let cell = |text: &str| {
        let mut out = String::new();
        for c in printable_label(text).chars() {
            match c {
                '&' | '%' | '$' | '#' | '_' | '{' | '}' => out.extend(['\\', c]),
                '\\' => out += "\\textbackslash{}",
                '~' => out += "\\textasciitilde{}",
                '^' => out += "\\textasciicircum{}",
                '<' => out += "$<$",
                '−' => out += "$-$",
                c => out.push(c),
            }
        }
        out
    };
    let mut out = String::new();
    for versus in all {
        out += &format!(
            "% A: {}, B: {}\n\\begin{{tabular}}{{llrrrlrrl}}\n\\toprule\n",
            cell(&versus.a),
            cell(&versus.b)
        );
        out += &format!("{} \\\\\n\\midrule\n", HEAD.map(cell).join(" & "));
        for row in cells(versus, asked) {
            out += &format!("{} \\\\\n", row.iter().map(|c| cell(c)).collect::<Vec<_>>().join(" & "));
        }
        out += "\\bottomrule\n\\end{tabular}\n";
    }
    out
}
