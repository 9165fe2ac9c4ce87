//! The JSON output of a small run of each lab: lines, kinds, keys, words and counts exactly, other numbers within a tolerance.
//!
//! Numbers cannot be compared to the last bit, because processors with different instructions (AVX2, AVX-512, neither) sum in different
//! orders. Among these processors, and with plain loops instead of matrix products, the largest deviation in these runs was 2e-5 of a value
//! (degrees of freedom) and 3e-6 in values below 1. The number of threads does not change any bit. Interim findings, times and anything
//! that names the machine are omitted.

use serde_json::{Map, Value};

use super::file;
use super::list::{read, writes};
use crate::cli::common::{Probity, json_lines, text};

/// Allowed difference between two machines: relative, and absolute.
const TOLERANCE: (f64, f64) = (1e-4, 1e-5);

/// Keys that differ between two runs of the same spec.
const VOLATILE: [&str; 4] = ["t", "seconds", "device", "version"];

/// Precision of the decimals kept in the files.
const DECIMALS: f64 = 1e8;

/// Maximum number of differences shown in a failure.
const MOST_SHOWN: usize = 20;

/// The final findings of a run of `runs/LAB.toml`.
fn findings(lab: &str) -> Vec<Value> {
    let probity = Probity::new();
    let spec = file("tests/pins/runs").join(format!("{lab}.toml")).display().to_string();
    let output = probity.run(&["run", &spec, "--json", "--quiet", "--no-session", "--device", "cpu"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let mut all = json_lines(&output.stdout);
    all.retain(|finding| finding["final"] == true);
    all.iter_mut().for_each(clean);
    all
}

/// Drops keys that vary between runs, and decimals on which machines disagree.
fn clean(value: &mut Value) {
    match value {
        Value::Object(map) => {
            VOLATILE.iter().for_each(|key| drop(map.remove(*key)));
            map.values_mut().for_each(clean);
        }
        Value::Array(list) => list.iter_mut().for_each(clean),
        Value::Number(n) if n.is_f64() => {
            let rounded = n.as_f64().map(|x| (x * DECIMALS).round() / DECIMALS);
            *value = rounded.map_or(Value::Null, Value::from);
        }
        _ => {}
    }
}

/// Adds the differences between two values to the report.
fn compare(was: &Value, is: &Value, place: &str, report: &mut Vec<String>) {
    match (was, is) {
        (Value::Object(a), Value::Object(b)) => keys(a, b, place, report),
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).enumerate().for_each(|(k, (a, b))| compare(a, b, &format!("{place}[{k}]"), report));
        }
        (Value::Number(a), Value::Number(b)) if a.is_f64() && b.is_f64() => {
            let (x, y) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            if (x - y).abs() > TOLERANCE.0 * x.abs() + TOLERANCE.1 {
                report.push(format!("{place}: was {x}, is {y}"));
            }
        }
        (a, b) if a == b => {}
        (a, b) => report.push(format!("{place}: was {a}, is {b}")),
    }
}

fn keys(was: &Map<String, Value>, is: &Map<String, Value>, place: &str, report: &mut Vec<String>) {
    for (key, value) in was {
        match is.get(key) {
            Some(now) => compare(value, now, &format!("{place} {key}"), report),
            None => report.push(format!("{place} {key}: is gone")),
        }
    }
    let new = is.keys().filter(|key| !was.contains_key(*key));
    report.extend(new.map(|key| format!("{place} {key}: is new")));
}

fn check(lab: &str) {
    let now = findings(lab);
    let path = file("tests/pins/runs").join(format!("{lab}.jsonl"));
    if writes() {
        let lines: String = now.iter().map(|finding| format!("{finding}\n")).collect();
        return std::fs::write(path, lines).unwrap();
    }
    let pinned = json_lines(read(&path).as_bytes());
    let kinds = |all: &[Value]| all.iter().map(|f| f["kind"].to_string()).collect::<Vec<_>>();
    assert_eq!(kinds(&now), kinds(&pinned), "the kinds of the findings, in their order");
    let mut report = Vec::new();
    for (k, (was, is)) in pinned.iter().zip(&now).enumerate() {
        compare(was, is, &format!("line {}, {}:", k + 1, was["kind"]), &mut report);
    }
    let shown: Vec<&str> = report.iter().take(MOST_SHOWN).map(String::as_str).collect();
    assert!(report.is_empty(), "{lab}: {} values differ:\n{}", report.len(), shown.join("\n"));
}

#[test]
fn small_interventions_run_is_unchanged() {
    check("interventions");
}

#[test]
fn small_prompts_run_is_unchanged() {
    check("prompts");
}

#[test]
fn small_power_run_is_unchanged() {
    check("power");
}

#[test]
fn small_saliency_run_is_unchanged() {
    check("saliency");
}
