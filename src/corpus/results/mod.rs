//! Result files, which state whether a model answered each item correctly. They are used to compare models on the same items.
//!
//! Supported formats:
//! - lm-evaluation-harness samples (`samples_*.jsonl`, and JSON arrays of older versions); an item is a `doc_id` under a `filter`;
//! - lmms-eval, Inspect logs (`.json`, `.eval`), HELM `per_instance_stats.json`;
//! - OpenCompass predictions and details, lighteval details (as JSON lines), evalplus, SWE-bench reports, BEAR results;
//! - plain JSON lines and tables with a header: `id`, `correct` or `prediction` with `target`, and `cluster` for related items.
//!
//! Gzip is decompressed. Unlike in data for probing, no row is dropped, because that would change the comparison: an unreadable row is an
//! error with file and line. Metrics that are missing from some rows are dropped and counted.

mod archive;
mod choices;
mod csv;
pub(crate) mod document;
mod evalplus;
#[cfg(test)]
mod formats;
mod gather;
pub mod ids;
mod keys;
mod line;
mod nested;
mod print;
pub(crate) mod python;
pub(crate) mod registry;
#[cfg(test)]
mod tests;
mod value;
#[cfg(test)]
mod variants;

use std::path::{Path, PathBuf};

pub use self::print::Print;
pub use self::value::truth;

use self::gather::Gather;
use self::ids::{Names, Places};
use self::registry::Read;
use self::value::decimal;
use super::readers::ReadError;
use super::readers::source::open;

/// Maximum number of items per file. Indices have 32 bits; the largest one is reserved for "no item".
const MOST_ITEMS: usize = u32::MAX as usize;

/// Filter name for rows without one.
pub const NO_FILTER: &str = "none";

/// Parts of a file to read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Filter of lm-evaluation-harness, if a file has several.
    pub filter: Option<String>,
    /// Metric to read; `None` for all.
    pub metric: Option<String>,
    /// True if case and surrounding spaces are ignored when comparing `prediction` with `target`.
    pub lenient: bool,
    /// True if answers and facts about items are kept for a list of changed items.
    pub detail: bool,
}

impl Wanted {
    fn agrees(&self, prediction: &str, target: &str) -> bool {
        prediction == target
            || decimal(prediction).is_some_and(|number| decimal(target) == Some(number))
            || self.lenient && alike(prediction, target)
    }
}

/// True if two answers are equal except for case and surrounding spaces.
fn alike(prediction: &str, target: &str) -> bool {
    prediction.trim().to_lowercase() == target.trim().to_lowercase()
}

#[derive(Debug, Clone, PartialEq)]
pub struct Metric {
    pub name: String,
    /// One value per item.
    pub values: Vec<f64>,
}

impl Metric {
    /// True if every value is 0 or 1.
    pub fn is_binary(&self) -> bool {
        self.values.iter().all(|v| *v == 0.0 || *v == 1.0)
    }
}

/// Texts about an item for a list of changed items, each shortened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Detail {
    pub answer: String,
    pub target: String,
    pub input: String,
    /// Short facts, such as the item's subject.
    pub traits: Vec<(String, String)>,
}

#[derive(Debug, Clone)]
pub struct Results {
    pub file: PathBuf,
    /// Index of each item by identifier.
    places: Places,
    /// Identifiers in file order; with a filter, `id filter`.
    pub ids: Names,
    pub metrics: Vec<Metric>,
    /// Cluster of each item, if the file has clusters.
    pub clusters: Option<Names>,
    /// Digests of each item's question and target.
    pub prints: Vec<Print>,
    /// Answers and facts, if requested.
    pub details: Vec<Detail>,
}

impl Results {
    /// Returns the index of an item. `near` is tried first, because most files have their items in the same order.
    pub fn place(&self, id: &str, near: u32) -> Option<u32> {
        match self.ids.get(near as usize) {
            Some(there) if there == id => Some(near),
            _ => self.places.find(&self.ids, id),
        }
    }
}

/// A file's runs under one filter.
#[derive(Debug, Clone)]
pub struct Group {
    /// Name of the filter, or `none`.
    pub filter: String,
    /// Runs (epochs, seeds or repetitions), at least one.
    pub runs: Vec<Results>,
    /// Notes on dropped rows and metrics.
    pub notes: Vec<String>,
}

/// Returns the metrics that all files have in common, in the order of the first file, and all other metrics.
pub fn metrics<'a>(files: impl Iterator<Item = &'a Results> + Clone) -> (Vec<String>, Vec<String>) {
    let mut seen = std::collections::HashSet::new();
    let all = files.clone().flat_map(|f| &f.metrics).map(|m| &m.name).filter(|name| seen.insert(*name));
    all.cloned().partition(|name| files.clone().all(|f| f.metrics.iter().any(|m| m.name == *name)))
}

/// Reads a file under all of its filters.
///
/// # Errors
/// [`ReadError`] for a row without an identifier or value, a value that is not a number, or a repeated identifier; with the line if it is
/// known.
pub fn read_all(path: &Path, wanted: &Wanted) -> Result<Vec<Group>, ReadError> {
    let mut gather = Gather::new(path, wanted);
    if let Read::Packed(read) = registry::recognise(&archive::beginning(path)).read {
        read(path, &mut gather)?;
        return gather.finish();
    }
    let mut frames = open(path)?;
    if frames.window().iter().all(u8::is_ascii_whitespace) {
        return Err(ReadError::file(path, "it is empty", "a file of results"));
    }
    let reader = registry::recognise(frames.window());
    match reader.read {
        Read::Packed(_) => {
            return Err(ReadError::file(path, format!("a compressed {}", reader.name), "the same file, decompressed"));
        }
        Read::PandasTable(orient) => return Err(registry::pandas(path, orient)),
        Read::Rows(read) => read(&mut frames, &mut gather)?,
        Read::Document(layout) => document::whole(&mut frames, layout, &mut gather)?,
    }
    gather.finish()
}

/// Reads a file under its only filter or the requested one.
///
/// # Errors
/// Same as [`read_all`]; also if the file has several filters but none was requested.
pub fn read(path: &Path, wanted: &Wanted) -> Result<Group, ReadError> {
    let mut groups = read_all(path, wanted)?;
    if groups.len() > 1 {
        let names: Vec<&str> = groups.iter().map(|g| g.filter.as_str()).collect();
        let what = format!("results under several filters: {}", base::text::shortened(&names.join(", "), 300));
        return Err(ReadError::file(path, what, "one of them, chosen with --filter"));
    }
    groups.pop().ok_or_else(|| ReadError::file(path, "it has no rows", "results with one item per row"))
}
