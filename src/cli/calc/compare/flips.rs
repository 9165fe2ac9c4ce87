//! Items that changed between two runs, with both answers, and what they have in common.

use std::collections::BTreeMap;
use std::io::Write;

use serde::Serialize;

use crate::error::CliError;
use crate::output;
use base::text::{printable_label, section, shortened};
use corpus::results::{Detail, Results};

/// Most lines of a list for people; `--json` has all.
const MOST_SHOWN: usize = 50;
/// Most different values of a fact by which items are grouped.
const MOST_VALUES: usize = 50;

/// An item that one side gets right and the other does not, or whose values differ.
#[derive(Debug, Serialize)]
struct Flip<'r> {
    flip: &'static str,
    task: &'r str,
    metric: &'r str,
    item: &'r str,
    a: f64,
    b: f64,
    answer_a: &'r str,
    answer_b: &'r str,
    target: &'r str,
    input: &'r str,
    traits: BTreeMap<&'r str, &'r str>,
}

/// Facts about an item: those of the file, and the length of its input.
fn traits(detail: &Detail) -> BTreeMap<&str, &str> {
    let length = match detail.input.chars().count() {
        0 => None,
        1..=50 => Some("to 50 characters"),
        51..=150 => Some("51 to 150 characters"),
        _ => Some("over 150 characters"),
    };
    let own = detail.traits.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    own.chain(length.map(|length| ("input length", length))).collect()
}

/// Prints the items whose value changed, those of the filter `key=value` only, and counts by what they share.
///
/// # Errors
/// [`CliError::Usage`] for a filter that is not one.
pub(super) fn print(
    (a, b): (&Results, &Results),
    (task, metric): (&str, &str),
    filters: &[String],
    json: bool,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    let wanted: Vec<(&str, &str)> = filters
        .iter()
        .map(|f| {
            f.split_once('=')
                .ok_or_else(|| CliError::Usage(format!("--where {}: write KEY=VALUE", shortened(f, 60))))
        })
        .collect::<Result<_, _>>()?;
    let column = |r: &'_ Results| r.metrics.iter().position(|m| m.name == metric);
    let (Some(in_a), Some(in_b)) = (column(a), column(b)) else { return Ok(()) };
    let empty = Detail::default();
    let mut flips = Vec::new();
    let mut counts = Counts::new();
    for (at, item) in a.ids.iter().enumerate() {
        let Some(other) = b.place(item, at as u32) else { continue };
        let (x, y) = (a.metrics[in_a].values[at], b.metrics[in_b].values[other as usize]);
        let detail = a.details.get(at).unwrap_or(&empty);
        let second = b.details.get(other as usize).unwrap_or(&empty);
        let traits = traits(detail);
        if wanted.iter().any(|(key, value)| traits.get(key) != Some(value)) {
            continue;
        }
        for (key, value) in &traits {
            let count = counts.entry(key).or_default().entry(value).or_default();
            count[0] += 1;
            count[1] += usize::from(x > y);
            count[2] += usize::from(x < y);
        }
        if x != y {
            let flip = if x > y { "A better" } else { "B better" };
            let (answer_a, answer_b) = (detail.answer.as_str(), second.answer.as_str());
            let (target, input) = (detail.target.as_str(), detail.input.as_str());
            flips.push(Flip {
                flip,
                task,
                metric,
                item,
                a: x,
                b: y,
                answer_a,
                answer_b,
                target,
                input,
                traits,
            });
        }
    }
    if json {
        return flips.iter().try_for_each(|flip| output::json(out, flip));
    }
    flips.sort_by_key(|f| f.flip);
    let lines = lines(&flips, task, counts);
    lines.iter().try_for_each(|line| output::line(out, line))
}

/// Items, those of them on which the first is better and the second, by fact and value.
type Counts<'r> = BTreeMap<&'r str, BTreeMap<&'r str, [usize; 3]>>;

/// The list and the counts, for people.
fn lines(flips: &[Flip<'_>], task: &str, counts: Counts<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    let title = format!(
        "{} items changed{}",
        flips.len(),
        if task.is_empty() { String::new() } else { format!(" in {task}") }
    );
    let cut = |text: &str| shortened(text, 40);
    let row = |f: &Flip<'_>| {
        vec![f.flip.into(), cut(f.item), cut(f.answer_a), cut(f.answer_b), cut(f.target), cut(f.input)]
    };
    let head = ["", "item", "A's answer", "B's answer", "expected", "input"];
    section(&mut lines, &printable_label(&title), &head, flips.iter().take(MOST_SHOWN).map(row).collect());
    if flips.len() > MOST_SHOWN {
        lines.push(format!("{} more; --json lists all, --where KEY=VALUE chooses", flips.len() - MOST_SHOWN));
    }
    for (key, values) in counts {
        let useful = (2..=MOST_VALUES).contains(&values.len()) && values.values().any(|c| c[1] + c[2] > 0);
        if !useful {
            continue;
        }
        let mut rows: Vec<(&str, [usize; 3])> = values.into_iter().collect();
        rows.sort_by_key(|(_, c)| std::cmp::Reverse(c[1].abs_diff(c[2])));
        let row = |(value, c): (&str, [usize; 3])| {
            vec![cut(value), c[0].to_string(), c[1].to_string(), c[2].to_string()]
        };
        let head = ["", "items", "A better", "B better"];
        section(
            &mut lines,
            &printable_label(&format!("By {key}")),
            &head,
            rows.into_iter().map(row).collect(),
        );
    }
    lines
}
