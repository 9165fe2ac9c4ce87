//! Compares folders of results, one per system, on every task shared by two systems.

use crate::Host;
use crate::finding::Kind;
use crate::folders::{Read, align, read_system};
use crate::spec::Spec;
use crate::systems::{Pooled, System, Versus, matrix};
use crate::tasks::{FlipFinding, PooledFinding, TaskFinding, items};
use base::Problem;
use base::text::{last_part, shortened};
use corpus::results::{Results, Wanted};
use lab::fault::{Fault, problem};
use lab::finding::Label;
use lab::host::NoticeLevel;

pub(crate) const MOST_FLIPS: usize = 1_000;

/// Reads the folders of both sides, one per system. Compares each pair of systems task by task, and lists the changed items.
pub(crate) fn run(spec: &Spec, wanted: &Wanted, host: &mut Host<'_>) -> Result<(), Fault> {
    let fail = |e: &dyn std::fmt::Display| problem(e, "results", "give folders of results on the same tasks");
    let paths: Vec<&String> = spec.a.results.iter().chain(&spec.b.results).collect();
    let mut systems = Vec::new();
    for (done, path) in paths.iter().enumerate() {
        host.poll()?;
        let Read { system, notes } = read_system(&spec.path(path), name(path, &paths), wanted).map_err(|e| fail(&e))?;
        for what in notes {
            let problem = Problem { what, r#where: (*path).clone(), hint: String::new() };
            host.notice(NoticeLevel::Warning, problem)?;
        }
        systems.push(system);
        host.progress(done + 1, paths.len());
    }
    if let Some(what) = align(&mut systems) {
        host.notice(NoticeLevel::Warning, Problem { what, r#where: "results".into(), hint: String::new() })?;
    }
    let tasks = systems.iter().map(|s| s.tasks.len()).max().unwrap_or(0);
    host.stage(format!("comparing {tasks} tasks"), "tasks", 1.0);
    let all = matrix(&systems, None, spec.test.metric.as_deref(), spec.terms()).map_err(|e| fail(&e))?;
    for found in &all {
        host.poll()?;
        report(spec, found, all.len() > 1, host)?;
    }
    let mut left = MOST_FLIPS;
    let named = |name: &str| systems.iter().find(|s| s.name == name);
    for found in &all {
        let Some((a, b)) = named(&found.a).zip(named(&found.b)) else { continue };
        let label = label(spec, found);
        for flip in flips(a, b, found, left) {
            host.find(label.finding(1, true, host.elapsed(), Kind::Flip(flip)))?;
            left -= 1;
        }
    }
    Ok(())
}

/// The name of a system: the last part of its path, or the whole path if that part is not unique.
fn name(path: &str, all: &[&String]) -> String {
    let short = last_part(path);
    let once = all.iter().filter(|other| last_part(other) == short).count() == 1;
    shortened(if once { short } else { path }, 60)
}

fn label(spec: &Spec, found: &Versus) -> Label {
    Label::new(spec, &format!("{},{}", found.a, found.b))
}

/// Reports tasks that only one side has, then the results on the common tasks and the differences over them.
fn report(spec: &Spec, found: &Versus, adjusted: bool, host: &mut Host<'_>) -> Result<(), Fault> {
    for (name, tasks) in [(&found.a, &found.only_a), (&found.b, &found.only_b)] {
        if !tasks.is_empty() {
            let shown = base::text::shortened(&tasks.join(", "), 200);
            let what = format!("{} tasks are only in {name}: {shown}", tasks.len());
            host.notice(NoticeLevel::Warning, Problem { what, r#where: "results".into(), hint: String::new() })?;
        }
    }
    let label = label(spec, found);
    let (a, b) = (&found.a, &found.b);
    for t in &found.tasks {
        let c = &t.finding;
        let finding = TaskFinding {
            a: a.clone(),
            b: b.clone(),
            task: t.task.clone(),
            metric: c.metric.clone(),
            mean_a: t.means[0],
            mean_b: t.means[1],
            difference: c.difference,
            p: c.p,
            holm_p: c.holm_p,
            verdict: t.verdict(spec.test.alpha),
            test: c.test.clone(),
            share: c.is_share(),
        };
        host.find(label.finding(t.n, true, host.elapsed(), Kind::Task(finding)))?;
    }
    let decides = found.overall().map(|(mean, _)| mean.key());
    for (over, pooled) in [("macro", found.macro_mean), ("micro", found.micro), ("fixed", found.fixed)] {
        let Some(Pooled { tasks, n, difference, p }) = pooled else { continue };
        let holm_p = p.and(Some(found.holm_p)).filter(|_| adjusted && decides == Some(over));
        let (a, b, over) = (a.clone(), b.clone(), over.to_owned());
        let finding = PooledFinding { a, b, over, tasks, difference, p, holm_p };
        host.find(label.finding(n, true, host.elapsed(), Kind::Pooled(finding)))?;
    }
    Ok(())
}

/// Up to `most` items, over all tasks, on which the first runs differ.
fn flips(a: &System, b: &System, found: &Versus, most: usize) -> Vec<FlipFinding> {
    let mut all = Vec::new();
    for t in &found.tasks {
        if let (Some([first, ..]), Some([second, ..])) =
            (a.tasks.get(&t.task).map(Vec::as_slice), b.tasks.get(&t.task).map(Vec::as_slice))
        {
            all.extend(changed(first, second, &t.task, &t.finding.metric, most - all.len()));
        }
    }
    all
}

/// Up to `most` items on which two runs differ.
pub(crate) fn changed(a: &Results, b: &Results, task: &str, metric: &str, most: usize) -> Vec<FlipFinding> {
    let all = items(a, b, metric);
    all.iter().filter(|i| i.values[0] != i.values[1]).take(most).map(|i| i.flip(task, metric)).collect()
}
