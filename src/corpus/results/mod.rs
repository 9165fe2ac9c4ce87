//! Files of results: what a model got right, item by item, so that two models can be compared on the same items.
//!
//! Read are lm-evaluation-harness samples (`samples_*.jsonl`: an item is a `doc_id` under a `filter`, its values the `metrics`),
//! BEAR results (the answer of the highest `pll_scores` against `answer_idx`), plain JSON lines and CSV with a header: `id`, and
//! `correct` or `prediction` with `target`; `cluster` where items belong together. Gzip is read as is.
//!
//! Unlike data for probing, nothing is dropped: a row that cannot be read would make the comparison another one, so it is an
//! error that names file and line.

mod csv;
pub mod ids;
mod line;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use self::ids::{Names, Places};
use self::line::Line;
use super::readers::ReadError;
use super::readers::source::{Frames, open};

/// Most items of a file: their places are numbers of 32 bits, of which the last stands for none.
const MOST_ITEMS: usize = u32::MAX as usize;

/// What of a file is wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The filter of lm-evaluation-harness, where a file has several.
    pub filter: Option<String>,
    /// Only this metric; none takes all that the file names.
    pub metric: Option<String>,
}

/// A metric with its value for each item.
#[derive(Debug, Clone, PartialEq)]
pub struct Metric {
    pub name: String,
    /// One value an item.
    pub values: Vec<f64>,
}

impl Metric {
    /// Whether every value is 0 or 1.
    pub fn is_binary(&self) -> bool {
        self.values.iter().all(|v| *v == 0.0 || *v == 1.0)
    }
}

/// The results in a file.
#[derive(Debug, Clone)]
pub struct Results {
    pub file: PathBuf,
    /// Place of each item in the lists, by its identifier.
    places: Places,
    /// Identifiers in the order of the file. An identifier under a filter is `id filter`.
    pub ids: Names,
    pub metrics: Vec<Metric>,
    /// What each item belongs to, where the file says so.
    pub clusters: Option<Names>,
}

impl Results {
    /// The place of an item; `near` is where it is looked for first, as most files have their items in the same order.
    pub fn place(&self, id: &str, near: u32) -> Option<u32> {
        match self.ids.get(near as usize) {
            Some(there) if there == id => Some(near),
            _ => self.places.find(&self.ids, id),
        }
    }
}

/// Names of the metrics that all files have, in the order of the first, and of those that some of them lack.
pub fn metrics<'a>(files: impl Iterator<Item = &'a Results> + Clone) -> (Vec<String>, Vec<String>) {
    let mut seen = std::collections::HashSet::new();
    let all = files.clone().flat_map(|f| &f.metrics).map(|m| &m.name).filter(|name| seen.insert(*name));
    all.cloned().partition(|name| files.clone().all(|f| f.metrics.iter().any(|m| m.name == *name)))
}

/// How a row says what was right.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Shape {
    /// Numbers under these keys.
    Metrics(Vec<String>),
    Correct,
    /// `prediction` against `target`.
    Prediction,
    /// The best of `pll_scores` against `answer_idx`.
    Bear,
}

/// Reads a file.
///
/// # Errors
/// [`ReadError`], with the line where there is one: a row without an identifier or value, a value that is not a number, an
/// identifier that comes twice, several filters of which none is asked for.
pub fn read(path: &Path, wanted: &Wanted) -> Result<Results, ReadError> {
    let mut frames = open(path)?;
    let head = frames.window().iter().copied().find(|b| !b.is_ascii_whitespace());
    let mut gather = Gather::new(path, wanted);
    match head {
        None => return Err(ReadError::file(path, "it is empty", "a file of results")),
        Some(b'{' | b'[') => json_rows(&mut frames, head == Some(b'['), &mut gather)?,
        Some(_) => csv::rows(&mut frames, &mut gather)?,
    }
    gather.finish()
}

fn json_rows(frames: &mut Frames, array: bool, gather: &mut Gather<'_>) -> Result<(), ReadError> {
    loop {
        let piece = if array { frames.next_value()? } else { frames.next_line()? };
        let Some((number, range)) = piece else { return Ok(()) };
        let bytes = frames.bytes(range);
        if bytes.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let line: Line<'_> = serde_json::from_slice(bytes).map_err(|e| {
            let text = e.to_string();
            let text = text.split(" at line ").next().unwrap_or_default().to_owned();
            let nan = ["NaN", "Infinity"].iter().any(|w| contains(bytes, w.as_bytes()));
            let what = if nan { format!("{text}; NaN and Infinity are no values") } else { text };
            ReadError::line(gather.file, number, what, "one JSON object per line")
        })?;
        gather.take(&line, number)?;
    }
}

fn contains(bytes: &[u8], word: &[u8]) -> bool {
    memchr::memmem::find(bytes, word).is_some()
}

/// Collects rows.
struct Gather<'a> {
    file: &'a Path,
    wanted: &'a Wanted,
    shape: Option<Shape>,
    filters: Vec<String>,
    ids: Names,
    /// The line of each identifier.
    lines: Vec<u64>,
    values: Vec<Vec<f64>>,
    clusters: Names,
}

impl<'a> Gather<'a> {
    fn new(file: &'a Path, wanted: &'a Wanted) -> Self {
        Self {
            file,
            wanted,
            shape: None,
            filters: Vec::new(),
            ids: Names::default(),
            lines: Vec::new(),
            values: Vec::new(),
            clusters: Names::default(),
        }
    }

    fn refuse<T>(
        &self,
        number: u64,
        what: impl Into<String>,
        expected: impl Into<String>,
    ) -> Result<T, ReadError> {
        Err(ReadError::line(self.file, number, what, expected))
    }

    fn take(&mut self, line: &Line<'_>, number: u64) -> Result<(), ReadError> {
        if let Some(filter) = &line.filter {
            if !self.filters.iter().any(|f| f == filter) {
                if self.filters.len() >= 100 {
                    return self.refuse(
                        number,
                        "more than 100 different filters",
                        "lm-evaluation-harness samples",
                    );
                }
                self.filters.push(filter.clone().into_owned());
            }
            if self.wanted.filter.as_ref().is_some_and(|w| w != filter) {
                return Ok(());
            }
        }
        // Nothing more is wanted of a file that will be refused for its filters once all are known.
        if self.several() {
            return Ok(());
        }
        let Some(id) = &line.id else {
            return self.refuse(
                number,
                "a row without an identifier",
                "the key doc_id or id (BEAR: instance)",
            );
        };
        if self.shape.is_none() {
            let shape = self.shape_of(line, number)?;
            self.values = vec![Vec::new(); if let Shape::Metrics(names) = &shape { names.len() } else { 1 }];
            self.shape = Some(shape);
        }
        let place = self.ids.len();
        if place >= MOST_ITEMS {
            return self.refuse(number, format!("more than {MOST_ITEMS} items"), "fewer items");
        }
        self.ids.push(id, line.filter.as_deref());
        self.lines.push(number);
        self.values(line, number)?;
        match (&line.cluster, self.clusters.len() == place) {
            (Some(cluster), true) => self.clusters.push(cluster, None),
            (None, _) if self.clusters.is_empty() => {}
            _ => {
                return self.refuse(
                    number,
                    "some rows have a `cluster` and some have none",
                    "it in all rows, or none",
                );
            }
        }
        Ok(())
    }

    fn several(&self) -> bool {
        self.wanted.filter.is_none() && self.filters.len() > 1
    }

    /// How the rows of the file say what was right, by the first one.
    fn shape_of(&self, line: &Line<'_>, number: u64) -> Result<Shape, ReadError> {
        if let Some(metric) = &self.wanted.metric {
            let shape = match metric.as_str() {
                "correct" if line.value("correct").is_none() => None,
                name => line.value(name).map(|_| Shape::Metrics(vec![metric.clone()])),
            };
            if let Some(shape) = shape {
                return Ok(shape);
            }
            if metric != "correct" {
                let known = line.numbers().join(", ");
                let known = base::text::shortened(&known, 200);
                return self.refuse(number, format!("no metric `{metric}`"), format!("one of: {known}"));
            }
        }
        if !line.metrics.is_empty() {
            return Ok(Shape::Metrics(line.metrics.iter().map(|m| m.clone().into_owned()).collect()));
        }
        if line.answer.is_some() && !line.scores.is_empty() {
            return Ok(Shape::Bear);
        }
        if line.value("correct").is_some() {
            return Ok(Shape::Correct);
        }
        if line.prediction.is_some() && line.target.is_some() {
            return Ok(Shape::Prediction);
        }
        let known = base::text::shortened(&line.numbers().join(", "), 200);
        let hint = if known.is_empty() { String::new() } else { format!(" (or name a metric: {known})") };
        self.refuse(
            number,
            "nothing says what was right",
            format!("`correct`, or `prediction` with `target`{hint}"),
        )
    }

    fn values(&mut self, line: &Line<'_>, number: u64) -> Result<(), ReadError> {
        let Some(shape) = &self.shape else { return Ok(()) };
        let at = |name: &str| match line.value(name) {
            Some(v) if v.is_finite() => Ok(v),
            Some(_) => self.refuse(number, format!("`{name}` is not a finite number"), "a number"),
            None => {
                let shown = base::text::shortened(name, 60);
                self.refuse(number, format!("`{shown}` is not there or no number"), "a number in every row")
            }
        };
        let value = match shape {
            Shape::Metrics(names) => {
                let values: Vec<f64> = names.iter().map(|n| at(n)).collect::<Result<_, _>>()?;
                self.values.iter_mut().zip(values).for_each(|(list, v)| list.push(v));
                return Ok(());
            }
            Shape::Correct => match at("correct")? {
                v if v == 0.0 || v == 1.0 => v,
                v => return self.refuse(number, format!("`correct` is {v}"), "0 or 1, true or false"),
            },
            Shape::Prediction => match (&line.prediction, &line.target) {
                (Some(p), Some(t)) => f64::from(u8::from(p == t)),
                _ => return self.refuse(number, "no `prediction` or no `target`", "both in every row"),
            },
            Shape::Bear => f64::from(u8::from(self.best(line, number)?)),
        };
        self.values.iter_mut().for_each(|list| list.push(value));
        Ok(())
    }

    /// Whether the best of the answers is the right one; of equals the first counts.
    fn best(&self, line: &Line<'_>, number: u64) -> Result<bool, ReadError> {
        let best =
            line.scores.iter().enumerate().fold(None, |best: Option<(usize, f64)>, (i, s)| match best {
                Some((_, top)) if *s <= top => best,
                _ => Some((i, *s)),
            });
        let sound = line.scores.iter().all(|s| s.is_finite());
        match (best, line.answer) {
            (Some((best, _)), Some(answer)) if sound && answer < line.scores.len() as u64 => {
                Ok(best as u64 == answer)
            }
            _ => self.refuse(number, "no `pll_scores`, or an `answer_idx` outside them", "BEAR results"),
        }
    }

    fn finish(self) -> Result<Results, ReadError> {
        let known = base::text::shortened(&self.filters.join(", "), 300);
        if self.several() {
            let what = format!("results of several filters: {known}");
            return Err(ReadError::file(self.file, what, "one of them, by --filter"));
        }
        let (Some(shape), false) = (self.shape, self.ids.is_empty()) else {
            let (what, expected) = match (&self.wanted.filter, self.filters.is_empty()) {
                (Some(filter), false) => {
                    (format!("no row of the filter `{filter}`"), format!("one of: {known}"))
                }
                _ => ("it has no rows".to_owned(), "results, one item a row".to_owned()),
            };
            return Err(ReadError::file(self.file, what, expected));
        };
        let places = Places::of(&self.ids).map_err(|place| {
            let shown = base::text::shortened(self.ids.get(place).unwrap_or_default(), 60);
            let (line, what) = (self.lines[place], format!("the identifier `{shown}` comes twice"));
            ReadError::line(self.file, line, what, "each item once")
        })?;
        let names = if let Shape::Metrics(names) = shape { names } else { vec!["correct".to_owned()] };
        let metrics =
            names.into_iter().zip(self.values).map(|(name, values)| Metric { name, values }).collect();
        let clusters = (self.clusters.len() == self.ids.len()).then_some(self.clusters);
        Ok(Results { file: self.file.to_owned(), places, ids: self.ids, metrics, clusters })
    }
}
