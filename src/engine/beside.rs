//! Compares two runs of a lab.

use crate::board::Run;
use crate::message::Outcome;
use base::text::{width, wrapped};
use labs::compared::{alone, replacements, run_name, table, verdict};

/// Lines of at most `room` character cells: the number of differing measurements, the differing settings, and both sets of measurements.
/// Each run is passed with its number; both belong to the same lab.
pub fn lines((n, a): (usize, &Run), (m, b): (usize, &Run), room: usize) -> Vec<String> {
    let lab = labs::by_id(a.job.spec.lab());
    let paired = lab.paired((&a.results, &a.job.spec), (&b.results, &b.job.spec));
    let numbers = &paired.common;
    let changes = labs::changes(&a.job.spec, &b.job.spec);
    let mut out = Vec::new();
    if numbers.is_empty() {
        let all = [(n, a), (m, b)].into_iter().filter_map(without_numbers).collect::<Vec<_>>();
        let why = if all.is_empty() { "the runs share no numbers".to_owned() } else { all.join(", ") };
        out.push(format!("No numbers in the answers can be compared: {why}."));
        if !changes.is_empty() {
            out.push(format!("Settings that differ: {}.", changes.join("; ")));
        }
    } else {
        let shared = labs::share_examples(&a.job.spec, &b.job.spec);
        out.push(verdict(&paired, shared));
        let partial = [(n, a), (m, b)].into_iter().filter(|(_, run)| run.job.outcome != Some(Outcome::Done));
        out.extend(partial.map(|(n, _)| format!("Run {n} is not finished: its numbers are partial.")));
        out.push(String::new());
        match changes.as_slice() {
            [] => out.push("Settings: the same in both.".into()),
            [one] => out.push(format!("Setting that differs: {one}")),
            changes => {
                out.push("Settings that differ:".into());
                out.extend(changes.iter().map(|change| format!("  {change}")));
            }
        }
        out.extend(table((n, m), numbers, shared, room));
        let notes = [
            replacements(n, numbers, |c| &c.a),
            replacements(m, numbers, |c| &c.b),
            alone(n, &paired.alone[0]),
            alone(m, &paired.alone[1]),
        ];
        out.extend(notes.into_iter().flatten());
    }
    // Wrapping would remove the spaces between columns, so only lines that are too long are wrapped.
    let fits = |line: &String| width(line) <= room || line.is_empty();
    out.into_iter().flat_map(|line| if fits(&line) { vec![line] } else { wrapped(&line, room) }).collect()
}

/// Reason why a run has no numbers to compare; `None` if it has some.
fn without_numbers((n, run): (usize, &Run)) -> Option<String> {
    let name = run_name(n);
    let why = match &run.job.outcome {
        _ if labs::by_id(run.job.spec.lab()).numbers(&run.results).iter().any(|n| n.stands_in.is_none()) => {
            return None;
        }
        None => "has no number yet",
        Some(Outcome::Cancelled) => "was cancelled before it produced a number",
        Some(Outcome::Failed(_)) => "failed before it produced a number",
        Some(Outcome::Done) => "ended without a number",
    };
    Some(format!("{name} {why}"))
}
