//! Examples for a task from a user's file: rows read, rows dropped with reasons, and the sample drawn.
//!
//! Every format of agreement sentences that labels subject and attractor number is accepted (see [`super::agreement`]). If a file has more
//! examples than requested, a sample is drawn that preserves the shares of all combinations of the two numbers.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use thiserror::Error;

use super::agreement::{Collector, Conversion, ConversionError, Positions};
use super::micro::frequencies::Frequencies;
use super::readers::{DropKind, ReadError, Reading, Report, Row};
use super::sample::{Allocation, Sampler};
use super::task::{Example, ExampleSet, Task};
use base::files::hex;
use base::{Cancelled, Pulse};

/// Minimum number of examples for an experiment.
pub const FEWEST: usize = 200;
/// Minimum number of examples for each combination of subject and attractor number. With fewer, a part of the split may lack a combination,
/// so that the effects of the two numbers could not be separated.
pub(crate) const FEWEST_EACH: usize = 10;
/// Maximum number of examples read, to bound memory.
const MOST: usize = 2_000_000;
/// Number of rows between checks for cancellation.
const BEAT: u64 = 4096;

/// Rows dropped for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dropped {
    pub reason: String,
    pub count: u64,
    /// Line of the first such row, from 1.
    pub first_line: u64,
}

/// Provenance of examples from a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// Path as given in the spec.
    pub path: String,
    pub format: String,
    /// SHA-256 of the file, in hexadecimal.
    pub sha256: String,
    pub rows: u64,
    /// Rows dropped, by reason.
    pub dropped: Vec<Dropped>,
    /// Usable examples.
    pub fit: u64,
    /// Examples used; fewer than `fit` if a sample was drawn.
    pub taken: u64,
}

impl Provenance {
    /// Returns the number of dropped rows.
    pub fn lost(&self) -> u64 {
        self.dropped.iter().map(|d| d.count).sum()
    }

    /// Formats all counts in one sentence. The path is not escaped; the caller must escape it for display.
    pub fn summary(&self) -> String {
        let reasons: Vec<String> = self
            .dropped
            .iter()
            .map(|d| format!("{} × {}, first in line {}", d.count, d.reason, d.first_line))
            .collect();
        let reasons = if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join("; ")) };
        let drawn =
            if self.taken < self.fit { format!("; {} drawn of {}", self.taken, self.fit) } else { String::new() };
        format!(
            "{} ({}, SHA-256 {}): {} rows, {} dropped{reasons}{drawn}",
            self.path,
            self.format,
            self.sha256.get(..12).unwrap_or(&self.sha256),
            self.rows,
            self.lost()
        )
    }
}

/// Reasons why a file provides no examples.
#[derive(Debug, Error)]
pub enum OwnError {
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The path is a folder, which has no single hash or format.
    #[error("{}: it is a folder; give one of its files", file.display())]
    Folder {
        /// Path of the folder.
        file: PathBuf,
    },
    /// No row is usable.
    #[error("{}: {source}; `probity data show` shows its contents", file.display())]
    Unfit {
        file: PathBuf,
        /// Reason why its rows are unusable.
        source: ConversionError,
    },
    /// A label cannot be probed.
    #[error("{}: `{key}`: {what}", file.display())]
    Label {
        file: PathBuf,
        /// Key in the spec.
        key: &'static str,
        what: String,
    },
    /// There are too few examples, in total or for one combination.
    #[error("{}: {problem}", file.display())]
    TooFew {
        file: PathBuf,
        /// Kind of example that is too rare.
        problem: TooFew,
    },
    #[error("{}: it has more than {MOST} sentences; use a smaller file", file.display())]
    TooMany { file: PathBuf },
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TooFew {
    /// Too few examples in total.
    #[error("only {0} sentences are usable; at least {FEWEST} are needed")]
    All(usize),
    /// Too few examples for one combination of labels.
    #[error(
        "only {count} sentences have the labels `{}` = {} and `{}` = {}; measuring selectivity needs at least \
         {FEWEST_EACH} sentences with each combination",
        properties[0], values[0], properties[1], values[1]
    )]
    Combination {
        properties: [&'static str; 2],
        values: [&'static str; 2],
        /// Number of examples found.
        count: usize,
    },
}

/// Checks that the examples are enough for an experiment.
pub fn enough<'e>(task: &Task, examples: impl Iterator<Item = &'e Example>) -> Result<(), TooFew> {
    let [first, second] = &task.properties;
    let columns = second.values.len();
    let (mut all, mut counts) = (0, vec![0usize; first.values.len() * columns]);
    for e in examples {
        all += 1;
        let cell = first.of(e).zip(second.of(e)).map(|(a, b)| usize::from(a) * columns + usize::from(b));
        if let Some(count) = cell.and_then(|cell| counts.get_mut(cell)) {
            *count += 1;
        }
    }
    if all < FEWEST {
        return Err(TooFew::All(all));
    }
    let rarest = counts.iter().enumerate().min_by_key(|(_, count)| **count);
    if let Some((cell, &count)) = rarest.filter(|(_, count)| **count < FEWEST_EACH) {
        let values = [first.values[cell / columns], second.values[cell % columns]];
        return Err(TooFew::Combination { properties: [first.id, second.id], values, count });
    }
    Ok(())
}

/// Maximum number of values that a probed label may have.
const MOST_VALUES: usize = 50;

/// Returns a file's labels, each with its values in order. For a label with more than 50 values, only the first ones found are returned.
///
/// # Errors
/// [`OwnError`] if the file cannot be read.
pub fn labels(file: &Path, pulse: &mut dyn Pulse) -> Result<BTreeMap<String, BTreeSet<String>>, OwnError> {
    first_labels(file, u64::MAX, pulse)
}

fn first_labels(file: &Path, most: u64, pulse: &mut dyn Pulse) -> Result<BTreeMap<String, BTreeSet<String>>, OwnError> {
    if file.is_dir() {
        return Err(OwnError::Folder { file: file.to_owned() });
    }
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let (mut rows, mut stop) = (0u64, None);
    Reading::open(file)?.rows(&mut |row, _| {
        rows += 1;
        if rows.is_multiple_of(BEAT) {
            stop = pulse.beat(0, 1).err();
        }
        if let Row::Sentence(s) = row {
            let alone = s.label.iter().filter(|_| s.labels.is_none()).map(|l| ("label", &**l));
            for (name, value) in s.labels.iter().flat_map(|l| &l.0).map(|(k, v)| (&**k, &**v)).chain(alone) {
                if found.len() < MOST_LABELS || found.contains_key(name) {
                    let values = found.entry(name.to_owned()).or_default();
                    if values.len() <= MOST_VALUES {
                        values.insert(value.to_owned());
                    }
                }
            }
        }
        if stop.is_some() || rows >= most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    stop.map_or(Ok(found), |cancelled| Err(cancelled.into()))
}

/// Maximum number of labels examined per file.
const MOST_LABELS: usize = 256;

/// Creates a task that changes the label `target` of a file and preserves the labels `keep`.
///
/// # Errors
/// [`OwnError`] for an unreadable file, an unknown label, or a label with only one value or too many.
pub fn task(file: &Path, target: &str, keep: &[String], pulse: &mut dyn Pulse) -> Result<&'static Task, OwnError> {
    let known = labels(file, pulse)?;
    let wrong = |key: &'static str, what: String| OwnError::Label { file: file.to_owned(), key, what };
    let mut chosen: Vec<(String, Vec<String>)> = Vec::new();
    for (key, name) in std::iter::once(("task.target", target)).chain(keep.iter().map(|k| ("task.keep", k.as_str()))) {
        let Some(values) = known.get(name) else {
            return Err(wrong(key, format!("no row has the label `{name}`; the file has {}", listed(&known, ""))));
        };
        if values.len() < 2 || values.len() > MOST_VALUES {
            let what = format!("`{name}` has {}; a probe needs 2 to {MOST_VALUES} values", counted(values));
            return Err(wrong(key, what));
        }
        if chosen.iter().any(|(n, _)| n == name) {
            return Err(wrong(key, format!("`{name}` is given twice")));
        }
        chosen.push((name.to_owned(), values.iter().cloned().collect()));
    }
    if chosen.len() < 2 {
        let others = match known.len() {
            1 => format!("`{target}` is the only label of the file; add a column for a second property"),
            _ => format!("the file has {}", listed(&known, target)),
        };
        return Err(wrong("task.keep", format!("is missing; selectivity needs a property to preserve: {others}")));
    }
    Ok(Task::own(&chosen))
}

/// Lists all labels except one, with their values.
fn listed(known: &BTreeMap<String, BTreeSet<String>>, except: &str) -> String {
    let each = known.iter().filter(|(name, _)| name.as_str() != except);
    let said: Vec<String> = each.map(|(name, values)| format!("`{name}` ({})", counted(values))).collect();
    if said.is_empty() { "no label".to_owned() } else { said.join(", ") }
}

/// Number of rows examined to suggest labels.
const FIRST_ROWS: u64 = 2_000;

/// Suggests a label to change and labels to preserve: the labels that have several values in the file's first rows, in alphabetical order.
/// Returns `None` if there are fewer than two such labels, or if one of them is `built_in`, the property of a built-in task.
pub fn suggested(file: &Path, built_in: &str) -> Option<(String, Vec<String>)> {
    let known = first_labels(file, FIRST_ROWS, &mut base::NoPulse).ok()?;
    let mut names = known.into_iter().filter(|(_, v)| (2..=MOST_VALUES).contains(&v.len())).map(|(name, _)| name);
    let (target, keep) = (names.next()?, names.collect::<Vec<_>>());
    (target != built_in && !keep.is_empty() && !keep.iter().any(|k| k == built_in)).then_some((target, keep))
}

/// Returns two labels that differ only in case, and so count as different classes.
pub fn differ_in_case<'a>(labels: impl IntoIterator<Item = &'a str>) -> Option<[&'a str; 2]> {
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    let mut other = |label: &'a str| seen.insert(label.to_lowercase(), label).filter(|other| *other != label);
    labels.into_iter().find_map(|label| Some([other(label)?, label]))
}

fn counted(values: &BTreeSet<String>) -> String {
    match values.len() {
        n if n > MOST_VALUES => format!("more than {MOST_VALUES} values"),
        1 => format!("one value, {}", values.first().map_or("", String::as_str)),
        n if n > 5 => format!("{n} values"),
        _ => values.iter().map(String::as_str).collect::<Vec<_>>().join(", "),
    }
}

/// Returns up to `most` examples of a task from a file, sampled with a seed if there are more. `named` is the path in the spec.
///
/// # Errors
/// [`OwnError`] with the file and, if known, the line.
pub fn examples(
    (task, positions): (&'static Task, Positions),
    file: &Path,
    named: &str,
    most: usize,
    seed: u64,
    pulse: &mut dyn Pulse,
) -> Result<(ExampleSet, Provenance), OwnError> {
    if file.is_dir() {
        return Err(OwnError::Folder { file: file.to_owned() });
    }
    let reading = Reading::open(file)?;
    let format = reading.format().id;
    let mut collector = Collector::of(task).reading_at(positions);
    let (mut rows, mut stop) = (0u64, None);
    let report = reading.rows(&mut |row, line| {
        rows += 1;
        collector.add_at(&row, line);
        if collector.len() > MOST {
            stop = Some(OwnError::TooMany { file: file.to_owned() });
        } else if rows.is_multiple_of(BEAT)
            && let Err(e) = pulse.beat(0, 1)
        {
            stop = Some(e.into());
        }
        if stop.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    if let Some(error) = stop {
        return Err(error);
    }
    let unfit = |source| OwnError::Unfit { file: file.to_owned(), source };
    let (set, conversion) = match collector.finish() {
        Err(none @ ConversionError::None { .. }) if !task.is_own() => {
            return Err(other_labels(task, file, none, pulse)?);
        }
        finished => finished.map_err(unfit)?,
    };
    enough(task, set.examples.iter()).map_err(|problem| OwnError::TooFew { file: file.to_owned(), problem })?;
    let fit = set.examples.len() as u64;
    let set = if set.examples.len() > most { drawn(task, set, most, seed).map_err(unfit)? } else { set };
    let provenance = Provenance {
        path: named.to_owned(),
        format: format.to_owned(),
        sha256: hash(file, pulse)?,
        rows: report.rows + report.dropped.total(),
        dropped: dropped(&report, &conversion),
        fit,
        taken: set.examples.len() as u64,
    };
    Ok((set, provenance))
}

/// Builds the error for a file without usable rows for a built-in task; lists the file's labels if the task's label is not among them.
fn other_labels(task: &Task, file: &Path, none: ConversionError, pulse: &mut dyn Pulse) -> Result<OwnError, OwnError> {
    let (known, id) = (labels(file, pulse)?, task.properties[0].id);
    if known.is_empty() || known.contains_key(id) {
        return Ok(OwnError::Unfit { file: file.to_owned(), source: none });
    }
    let named = match known.len() {
        1 => "set task.target to it, add a column for a property to preserve, and set task.keep to that column",
        _ => "set task.target to one of them and task.keep to those to preserve",
    };
    let what = format!("no row has the label `{id}`; the file has {}: {named}", listed(&known, ""));
    Ok(OwnError::Label { file: file.to_owned(), key: "task.target", what })
}

/// Draws a sample that preserves the shares of all combinations.
fn drawn(task: &Task, set: ExampleSet, most: usize, seed: u64) -> Result<ExampleSet, ConversionError> {
    let mut sampler = Sampler::new(most, seed);
    for e in set.examples {
        sampler.add(&format!("{} {:?}", e.zc, task.properties[1].of(&e)), || e);
    }
    let examples = sampler.finish(Allocation::Proportional);
    if task.is_own() {
        return Ok(ExampleSet::of(task, seed, set.frequencies, examples));
    }
    let mut counts = [[0.0; 3]; 2];
    for e in &examples {
        counts[usize::from(e.zc)][e.ze.map_or(0, |z| 1 + usize::from(z))] += 1.0;
    }
    Ok(ExampleSet::of(task, seed, Frequencies::from_cells(counts)?, examples))
}

/// Merges unreadable and unusable rows into one list.
fn dropped(report: &Report, conversion: &Conversion) -> Vec<Dropped> {
    let title = |kind: DropKind, example: &str| format!("{}: {example}", kind.title());
    let unread = report.dropped.iter().map(|(kind, d)| Dropped {
        reason: title(kind, &d.example),
        count: d.count,
        first_line: d.first_line,
    });
    let unsuited = conversion.reasons.iter().map(|(reason, l)| Dropped {
        reason: (*reason).to_owned(),
        count: l.count,
        first_line: l.first_line,
    });
    unread.chain(unsuited).collect()
}

/// Returns the SHA-256 of a file, as printed by `sha256sum`.
fn hash(path: &Path, pulse: &mut dyn Pulse) -> Result<String, OwnError> {
    let fail = |e: std::io::Error| ReadError::file(path, format!("cannot read it again: {e}"), "a readable file");
    let mut file = base::read::open(path).map_err(fail)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer).map_err(fail)? {
            0 => break,
            n => hash.update(&buffer[..n]),
        }
        pulse.beat(0, 1)?;
    }
    Ok(hex(&hash.finalize()))
}

#[cfg(test)]
mod tests;
