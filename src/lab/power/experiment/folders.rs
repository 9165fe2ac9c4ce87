//! Two sides that are folders of results: every task that both have.

use crate::Host;
use crate::finding::Kind;
use crate::folders::{Read, read_system};
use crate::spec::Spec;
use crate::systems::{System, Versus, versus};
use crate::tasks::{FlipFinding, PooledFinding, TaskFinding, items};
use base::Problem;
use corpus::results::{Results, Wanted};
use lab::fault::{Fault, problem};
use lab::finding::Label;
use lab::host::NoticeLevel;

/// Most items that are listed because they changed.
pub(crate) const MOST_FLIPS: usize = 1_000;

/// Reads both folders, compares them task by task, and lists the items that changed.
pub(crate) fn run(spec: &Spec, wanted: &Wanted, host: &mut Host<'_>) -> Result<(), Fault> {
    let mut sides = Vec::new();
    for (done, first) in [true, false].into_iter().enumerate() {
        host.poll()?;
        let [path] = spec.side(first).results.as_slice() else {
            let what = "several results of which one is a folder".to_owned();
            let hint = "give one folder a side, or only files".into();
            return Err(Problem { what, r#where: "results".into(), hint }.into());
        };
        let Read { system, notes } = read_system(&spec.path(path), spec.name(first), wanted)
            .map_err(|e| problem(&e, "results", "give two folders of results on the same tasks"))?;
        for what in notes {
            let problem = Problem { what, r#where: path.clone(), hint: String::new() };
            host.notice(NoticeLevel::Warning, problem)?;
        }
        sides.push(system);
        host.progress(done + 1, 2);
    }
    let [a, b] = sides.as_slice() else { return Ok(()) };
    host.stage(format!("comparing {} tasks", a.tasks.len()), "tasks", 1.0);
    let found = versus(a, b, spec.test.metric.as_deref(), spec.terms())
        .map_err(|e| problem(&e, "results", "give two folders of results on the same tasks"))?;
    report(spec, &found, host)?;
    let label = Label::new(spec, &format!("{},{}", found.a, found.b));
    for flip in flips(a, b, &found) {
        host.find(label.finding(1, true, host.elapsed(), Kind::Flip(flip)))?;
    }
    Ok(())
}

/// Tasks that only one side has, then the tasks and the differences over them.
fn report(spec: &Spec, found: &Versus, host: &mut Host<'_>) -> Result<(), Fault> {
    for (name, tasks) in [(&found.a, &found.only_a), (&found.b, &found.only_b)] {
        if !tasks.is_empty() {
            let shown = base::text::shortened(&tasks.join(", "), 200);
            let what = format!("{} tasks are only in {name}: {shown}", tasks.len());
            host.notice(
                NoticeLevel::Warning,
                Problem { what, r#where: "results".into(), hint: String::new() },
            )?;
        }
    }
    let label = Label::new(spec, &format!("{},{}", found.a, found.b));
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
    for (over, pooled) in [("macro", found.macro_mean), ("micro", found.micro)] {
        let Some(pooled) = pooled else { continue };
        let (a, b, over) = (a.clone(), b.clone(), over.to_owned());
        let finding =
            PooledFinding { a, b, over, tasks: pooled.tasks, difference: pooled.difference, p: pooled.p };
        host.find(label.finding(pooled.n, true, host.elapsed(), Kind::Pooled(finding)))?;
    }
    Ok(())
}

/// The first items of all tasks on which the first runs differ.
fn flips(a: &System, b: &System, found: &Versus) -> Vec<FlipFinding> {
    let mut all = Vec::new();
    for t in &found.tasks {
        if let (Some([first, ..]), Some([second, ..])) =
            (a.tasks.get(&t.task).map(Vec::as_slice), b.tasks.get(&t.task).map(Vec::as_slice))
        {
            all.extend(changed(first, second, &t.task, &t.finding.metric, MOST_FLIPS - all.len()));
        }
    }
    all
}

/// At most `most` items on which two runs differ.
pub(crate) fn changed(a: &Results, b: &Results, task: &str, metric: &str, most: usize) -> Vec<FlipFinding> {
    let all = items(a, b, metric);
    all.iter().filter(|i| i.values[0] != i.values[1]).take(most).map(|i| i.flip(task, metric)).collect()
}
