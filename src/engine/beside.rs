//! Two runs of a lab side by side.

use crate::board::Run;
use crate::message::Outcome;
use labs::compared::table;

/// The settings that differ and the numbers of both runs, as lines of `room` columns. Each run comes with its number;
/// both are of the same lab.
pub fn lines((n, a): (usize, &Run), (m, b): (usize, &Run), room: usize) -> Vec<String> {
    let lab = labs::by_id(a.job.spec.lab());
    let mut out = vec!["Settings that differ:".to_owned()];
    let changes = labs::changes(&a.job.spec, &b.job.spec);
    match changes.as_slice() {
        [] => out.push("  none".into()),
        changes => out.extend(changes.iter().map(|change| format!("  {change}"))),
    }
    out.push(String::new());
    let partial = [(n, a), (m, b)].into_iter().filter(|(_, run)| run.job.outcome != Some(Outcome::Done));
    out.extend(partial.map(|(n, _)| format!("Run {n} is not finished: its numbers are partial.")));
    let numbers = lab.common((&a.results, &a.job.spec), (&b.results, &b.job.spec));
    out.extend(table((n, m), &numbers, room));
    out
}
