//! A list of pinned values, with `name  value` on each line, compared by name.

use std::fmt::Write as _;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::file;

/// The variable that makes the tests write the lists instead of comparing them.
const VARIABLE: &str = "PROBITY_PINS";

/// Maximum number of differences shown in a failure.
const MOST_SHOWN: usize = 40;

pub(crate) fn sha256(bytes: impl AsRef<[u8]>) -> String {
    Sha256::digest(bytes.as_ref()).iter().map(|b| format!("{b:02x}")).collect()
}

/// True if the tests should write the lists instead of comparing them.
pub(crate) fn writes() -> bool {
    std::env::var_os(VARIABLE).is_some_and(|v| v == "write")
}

/// Values by name, in insertion order.
#[derive(Default)]
pub(crate) struct List(Vec<(String, String)>);

impl List {
    /// Adds a value; each name can be used only once.
    pub(crate) fn add(&mut self, name: impl Into<String>, value: impl std::fmt::Display) {
        let (name, value) = (name.into(), value.to_string());
        assert!(!name.contains("  ") && !name.contains('\n') && !value.contains('\n'), "{name}: {value}");
        assert!(self.0.iter().all(|(n, _)| *n != name), "{name} is in the list twice");
        self.0.push((name, value));
    }

    /// Compares the values with the pinned list of this name, or writes the list.
    pub(crate) fn check(&self, name: &str) {
        let path = file("tests/pins").join(name);
        if writes() {
            let lines = self.0.iter().map(|(name, value)| format!("{name}  {value}\n"));
            return std::fs::write(&path, lines.collect::<String>()).unwrap();
        }
        let text = read(&path);
        let pinned: Vec<(&str, &str)> = text.lines().map(|line| line.split_once("  ").unwrap_or((line, ""))).collect();
        let now: Vec<(&str, &str)> = self.0.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        if let Some(report) = differences(&pinned, &now) {
            panic!(
                "tests/pins/{name} differs:\n{report}If the change is intended, run the test with {VARIABLE}=write."
            );
        }
    }
}

pub(crate) fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}. Write it with {VARIABLE}=write.", path.display()))
}

/// The lines that differ; empty if all lines are equal and in the same order.
fn differences(pinned: &[(&str, &str)], now: &[(&str, &str)]) -> Option<String> {
    let find =
        |list: &[(&str, &str)], name: &str| list.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned());
    let mut lines = Vec::new();
    for (name, was) in pinned {
        match find(now, name) {
            None => lines.push(format!("  gone     {name}  {was}")),
            Some(is) if is != *was => lines.push(format!("  changed  {name}\n    was {was}\n    is  {is}")),
            Some(_) => {}
        }
    }
    let new = now.iter().filter(|(name, _)| find(pinned, name).is_none());
    lines.extend(new.map(|(name, value)| format!("  new      {name}  {value}")));
    if lines.is_empty() {
        let (was, is) = pinned.iter().zip(now).find(|(a, b)| a != b)?;
        lines.push(format!("  order    {} now comes where {} was", is.0, was.0));
    }
    let mut report = String::new();
    lines.iter().take(MOST_SHOWN).for_each(|line| writeln!(report, "{line}").unwrap());
    if lines.len() > MOST_SHOWN {
        writeln!(report, "  and {} more", lines.len() - MOST_SHOWN).unwrap();
    }
    Some(report)
}

#[test]
fn differences_are_reported_by_kind() {
    let pinned = [("a", "1"), ("b", "2"), ("c", "3")];
    assert_eq!(differences(&pinned, &pinned), None);
    let says = |now: &[(&str, &str)], words: &str| {
        let report = differences(&pinned, now).expect("a difference");
        assert!(report.contains(words) && report.lines().count() <= 3, "{report}");
    };
    says(&[("a", "1"), ("b", "9"), ("c", "3")], "changed  b\n    was 2\n    is  9");
    says(&[("a", "1"), ("c", "3")], "gone     b  2");
    says(&[("a", "1"), ("b", "2"), ("c", "3"), ("d", "4")], "new      d  4");
    says(&[("b", "2"), ("a", "1"), ("c", "3")], "order    b now comes where a was");
}
