//! Accuracy lost by probes through optimisation and lack of data, as text and as a table.

use super::interval;
use crate::results::Results;
use crate::spec::in_words;
use figure::layers::grouped;

pub(super) const TITLE: &str = "Points of accuracy that the probes lack";
pub(super) const HEAD: [&str; 6] = ["side", "n train", "n test", "by optimisation", "by data", "best probe"];

pub(super) fn rows(results: &Results) -> Vec<Vec<String>> {
    let row = results.shortfalls.iter().map(|t| {
        let v = &t.value;
        let data = v.data.map_or("–".into(), interval);
        vec![v.name.clone(), grouped(v.at_n as usize), grouped(t.n), interval(v.optimisation), data, v.optimum.clone()]
    });
    row.collect()
}

/// One sentence per side, for the largest size at which both parts are known.
pub(super) fn sentences(results: &Results) -> Vec<String> {
    let mut out = Vec::new();
    for side in ["a", "b"] {
        let mine = results.shortfalls.iter().filter(|t| t.value.side == side && t.value.data.is_some());
        let Some(t) = mine.max_by_key(|t| t.value.at_n) else { continue };
        let (v, data) = (&t.value, t.value.data.map_or(String::new(), interval));
        let least = if v.optimum == "solved" { "" } else { "at least " };
        out.push(format!(
            "{} after {} training sentences: optimisation costs {least}{} points, and more data would add at least \
             {data}",
            in_words(&v.name),
            grouped(v.at_n as usize),
            interval(v.optimisation),
        ));
    }
    out
}
