//! Items whose results differ between two runs, with both answers and shared attributes.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use serde::Serialize;

use super::CompareArgs;
use crate::error::CliError;
use crate::output;
use base::text::{printable_label, section, shortened};
use corpus::results::Results;
use labs::power::tasks::{Item, items};

/// Maximum number of items printed; `--json` contains all of them.
const MOST_SHOWN: usize = 50;
/// Maximum number of distinct values of an attribute; attributes with more are not used for grouping.
const MOST_VALUES: usize = 50;

/// An item with different values on the two sides, usually right on one and wrong on the other.
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

/// Prints the changed items that pass the filters, with counts by shared attributes.
pub(super) fn print(
    (a, b): (&Results, &Results),
    (task, metric): (&str, &str),
    args: &CompareArgs,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    let wanted = filters(args)?;
    let all = items(a, b, metric);
    let mut flips = Vec::new();
    let mut counts = Counts::new();
    for item in &all {
        let ([x, y], traits) = (item.values, item.facts().into_iter().collect::<BTreeMap<_, _>>());
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
            let [first, second] = item.details;
            let (answer_a, answer_b) = (first.answer.as_str(), second.answer.as_str());
            let (target, input, item) = (first.target.as_str(), first.input.as_str(), item.id);
            flips.push(Flip { flip, task, metric, item, a: x, b: y, answer_a, answer_b, target, input, traits });
        }
    }
    match args.sort.as_deref() {
        Some(key) => sort(&mut flips, key),
        None => flips.sort_by_key(|f| f.flip),
    }
    let json = args.json;
    if json {
        return flips.iter().try_for_each(|flip| output::json(out, flip));
    }
    let lines = lines(&flips, task, counts);
    lines.iter().try_for_each(|line| output::line(out, line))
}

/// Parses `--where` into pairs of column and text.
fn filters(args: &CompareArgs) -> Result<Vec<(&str, &str)>, CliError> {
    let filter = |f: &'_ String| CliError::Usage(format!("--where {}: expected KEY=VALUE", shortened(f, 60)));
    args.r#where.iter().map(|f| f.split_once('=').ok_or_else(|| filter(f))).collect()
}

/// Rejects filters that match nothing and unknown sort keys before anything is printed.
pub(super) fn check<'r>(args: &CompareArgs, runs: impl Iterator<Item = &'r Results>) -> Result<(), CliError> {
    let wanted = filters(args)?;
    if wanted.is_empty() && args.sort.is_none() {
        return Ok(());
    }
    let mut facts: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for detail in runs.flat_map(|r| &r.details) {
        for (key, value) in (Item { id: "", values: [0.0; 2], details: [detail; 2] }).facts() {
            facts.entry(key.to_owned()).or_default().insert(value.to_owned());
        }
    }
    let list = |known: Vec<&str>| match known.is_empty() {
        true => "(none)".to_owned(),
        false => shortened(&known.join(", "), 300),
    };
    for (key, value) in wanted {
        let Some(values) = facts.get(key) else {
            let known = list(facts.keys().map(String::as_str).collect());
            return Err(CliError::Usage(format!(
                "--where {}: no item has this key; known keys: {known}",
                shortened(key, 60)
            )));
        };
        if !values.contains(value) {
            let known = list(values.iter().map(String::as_str).collect());
            let (key, value) = (shortened(key, 60), shortened(value, 60));
            return Err(CliError::Usage(format!(
                "--where {key}={value}: no item has this value; known values of {key}: {known}"
            )));
        }
    }
    let Some(key) = args.sort.as_deref() else { return Ok(()) };
    let known: BTreeSet<&str> = facts.keys().map(String::as_str).chain(FIELDS).collect();
    if known.contains(key) {
        return Ok(());
    }
    let known = list(known.into_iter().collect());
    Err(CliError::Usage(format!("--sort {}: must be one of {known}", shortened(key, 60))))
}

const FIELDS: [&str; 8] = ["item", "a", "b", "answer_a", "answer_b", "target", "input", "input length"];

/// Sorts by a field or an attribute. Numbers are sorted numerically and texts alphabetically; items without the attribute come last.
fn sort(flips: &mut [Flip<'_>], key: &str) {
    flips.sort_by_cached_key(|f| {
        let text = match key {
            "item" => f.item.to_owned(),
            "a" => f.a.to_string(),
            "b" => f.b.to_string(),
            "answer_a" => f.answer_a.to_owned(),
            "answer_b" => f.answer_b.to_owned(),
            "target" => f.target.to_owned(),
            "input" => f.input.to_owned(),
            fact => f.traits.get(fact).map_or(String::new(), |t| (*t).to_owned()),
        };
        // Maps floats to integers that sort in the same order: all bits of negative floats are inverted, and the sign bit of positive ones
        // is set.
        let bits = |x: f64| if x.is_sign_negative() { !x.to_bits() } else { x.to_bits() | 1 << 63 };
        (text.is_empty(), text.trim().parse::<f64>().map_or(u64::MAX, bits), text)
    });
}

/// Counts by attribute and value: all items, items better on the first side, items better on the second side.
type Counts<'r> = BTreeMap<&'r str, BTreeMap<&'r str, [usize; 3]>>;

fn lines(flips: &[Flip<'_>], task: &str, counts: Counts<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    let title = format!(
        "{} item{} changed{}",
        flips.len(),
        if flips.len() == 1 { "" } else { "s" },
        if task.is_empty() { String::new() } else { format!(" in {task}") }
    );
    let cut = |text: &str| shortened(text, 40);
    let row =
        |f: &Flip<'_>| vec![f.flip.into(), cut(f.item), cut(f.answer_a), cut(f.answer_b), cut(f.target), cut(f.input)];
    let head = ["", "item", "A's answer", "B's answer", "expected", "input"];
    section(&mut lines, &printable_label(&title), &head, flips.iter().take(MOST_SHOWN).map(row).collect());
    if flips.len() > MOST_SHOWN {
        lines.push(format!(
            "{} more items; --json lists all of them, and --where KEY=VALUE filters them",
            flips.len() - MOST_SHOWN
        ));
    }
    for (key, values) in counts {
        let useful = (2..=MOST_VALUES).contains(&values.len()) && values.values().any(|c| c[1] + c[2] > 0);
        if !useful {
            continue;
        }
        let mut rows: Vec<(&str, [usize; 3])> = values.into_iter().collect();
        rows.sort_by_key(|(_, c)| std::cmp::Reverse(c[1].abs_diff(c[2])));
        let row =
            |(value, c): (&str, [usize; 3])| vec![cut(value), c[0].to_string(), c[1].to_string(), c[2].to_string()];
        let head = ["", "items", "A better", "B better"];
        section(&mut lines, &printable_label(&format!("By {key}")), &head, rows.into_iter().map(row).collect());
    }
    lines
}
