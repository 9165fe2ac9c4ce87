//! Collects the rows of a file, divided by filter and run.

mod finish;

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

use super::ids::Names;
use super::keys::{CORRECT, WRONG};
use super::line::Line;
use super::nested::is_bookkeeping;
use super::value::{TRUTHS, decimal, digest_of_answer};
use super::{Detail, MOST_ITEMS, NO_FILTER, Print, Wanted, alike};
use crate::readers::ReadError;

/// Maximum number of metrics, filters, or runs per file.
const MOST_NAMES: usize = 1_000;

/// Ways in which rows state whether an answer is correct.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Metrics,
    /// `correct` or an equivalent key.
    Correct(&'static str),
    /// A key whose value is 1 for a wrong answer.
    Wrong(&'static str),
    /// `prediction` compared to `target`.
    Prediction,
    /// Index of the best `pll_scores` entry, compared with `answer_idx`.
    Bear,
}

/// Distinct names in order of appearance.
#[derive(Default)]
struct Distinct {
    names: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl Distinct {
    fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.names.len() as u32;
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }
}

/// Values of one metric, NaN where missing, and the line of the first row without a value.
struct Column {
    name: String,
    values: Vec<f64>,
    missing: usize,
    first_missing: u64,
}

/// True if the column name is a metric, such as `acc_norm`, `F1` or `rouge-l`.
pub(crate) fn is_metric(name: &str) -> bool {
    let first = name.split(['_', '-', '@', '.', '/', ' ', '(']).next().unwrap_or_default().to_lowercase();
    ["acc", "accuracy", "exact", "em", "f1", "score", "bleu", "chrf", "ter", "mcc", "pass", "quasi", "reward"]
        .contains(&first.as_str())
        || first.starts_with("rouge")
        || first.starts_with("bertscore")
        || first.starts_with("sacre")
}

/// Removes decimals that are all zero from a number, so that `1` and `1.0` are the same name.
fn without_zeros(name: &str) -> &str {
    let digits = |t: &str| !t.is_empty() && t.bytes().all(|b| b.is_ascii_digit());
    match name.split_once('.') {
        Some((whole, zeros)) if digits(whole) && digits(zeros) && zeros.bytes().all(|b| b == b'0') => whole,
        _ => name,
    }
}

pub(crate) struct Gather<'a> {
    pub file: &'a Path,
    pub wanted: &'a Wanted,
    /// True if error messages count the items of a document instead of lines.
    pub by_item: bool,
    /// True if rows without an identifier are numbered, because the format preserves the order of the data set.
    pub numbered: bool,
    /// True if rows are Inspect samples, which may have failed.
    pub samples: bool,
    /// True if rows are Inspect summaries, in which long texts are truncated.
    pub summaries: bool,
    shape: Option<Shape>,
    /// Columns with a metric's name, used if no other key states correctness.
    named: Vec<String>,
    columns: Vec<Column>,
    ids: Names,
    lines: Vec<u64>,
    filters: Distinct,
    filter_of: Vec<u32>,
    runs: Distinct,
    run_of: Vec<u32>,
    clusters: Names,
    clustered: usize,
    prints: Vec<Print>,
    details: Vec<Detail>,
    /// True if the rows may come from several filters that older harness versions did not name.
    unnamed: bool,
    unscored: usize,
    /// Number of wrong predictions that differ from their target only in case or surrounding spaces.
    nearly: usize,
    /// Number of predictions that equal their target, and the first other prediction with its target.
    equal: usize,
    unequal: Option<(String, String)>,
    /// Number of empty predictions.
    blank: usize,
    /// Number of targets that are lists.
    listed: usize,
    /// Number of rows whose prediction is 0 or 1 without an expected answer.
    binary_answers: usize,
    /// Line, column and text of the first number with thousands separators.
    pub grouped: Option<(u64, String, String)>,
    /// Digest of the data set's hash, or 0.
    pub data_hash: u32,
    rows: u64,
}

impl<'a> Gather<'a> {
    pub(crate) fn new(file: &'a Path, wanted: &'a Wanted) -> Self {
        Self {
            file,
            wanted,
            by_item: false,
            numbered: false,
            samples: false,
            summaries: false,
            shape: None,
            named: Vec::new(),
            columns: Vec::new(),
            ids: Names::default(),
            lines: Vec::new(),
            filters: Distinct::default(),
            filter_of: Vec::new(),
            runs: Distinct::default(),
            run_of: Vec::new(),
            clusters: Names::default(),
            clustered: 0,
            prints: Vec::new(),
            details: Vec::new(),
            unnamed: true,
            unscored: 0,
            nearly: 0,
            equal: 0,
            unequal: None,
            blank: 0,
            listed: 0,
            binary_answers: 0,
            grouped: None,
            data_hash: 0,
            rows: 0,
        }
    }

    pub(crate) fn refuse<T>(
        &self,
        number: u64,
        what: impl Into<String>,
        expected: impl Into<String>,
    ) -> Result<T, ReadError> {
        Err(self.error(number, what, expected))
    }

    fn error(&self, number: u64, what: impl Into<String>, expected: impl Into<String>) -> ReadError {
        if self.by_item {
            ReadError::file(self.file, format!("item {number}: {}", what.into()), expected)
        } else {
            ReadError::line(self.file, number, what, expected)
        }
    }

    pub(crate) fn take(&mut self, mut line: Line<'_>, number: u64) -> Result<(), ReadError> {
        self.rows += 1;
        if line.id.is_none() && (self.numbered || line.is_ordered) {
            line.id = Some(Cow::Owned((self.rows - 1).to_string()));
        }
        let Some(id) = line.id.take().or(line.stand_in.take()) else {
            return self.refuse(
                number,
                "a row without an identifier",
                "the key doc_id or id (BEAR: instance; code benchmarks: task_id or instance_id)",
            );
        };
        if (line.is_inspect || self.samples) && line.metrics.is_empty() {
            // Failed samples of Inspect have no score.
            self.unscored += 1;
            return Ok(());
        }
        let filter = line.filter.take();
        let filter = filter.as_deref().unwrap_or(NO_FILTER);
        self.unnamed &= line.is_doc_id && filter == NO_FILTER;
        let place = self.ids.len();
        if place >= MOST_ITEMS {
            return self.refuse(number, format!("more than {MOST_ITEMS} items"), "fewer items");
        }
        let shape = match self.shape {
            Some(shape) => shape,
            None => self.shape_of(&line, number)?,
        };
        self.shape = Some(shape);
        self.ids.push(without_zeros(&id), Some(filter).filter(|f| *f != NO_FILTER));
        self.lines.push(number);
        self.filter_of.push(self.filters.number(filter));
        self.run_of.push(self.runs.number(line.run.as_deref().unwrap_or_default()));
        if self.filters.names.len() > 100 {
            return self.refuse(number, "more than 100 different filters", "lm-evaluation-harness samples");
        }
        self.values(shape, &line, number)?;
        match &line.cluster {
            Some(cluster) => {
                self.clustered += 1;
                self.clusters.push(without_zeros(cluster), None);
            }
            None => self.clusters.push("", None),
        }
        if self.clustered != 0 && self.clustered != place + 1 {
            let what = "only some rows have a `cluster` (cells such as NaN and NA have none)";
            return self.refuse(number, what, "`cluster` in all rows or in none");
        }
        if let Some(answer) = line.named.as_deref().filter(|_| line.target_rank == 0) {
            let is_expected = line.prediction.is_some() || line.is_unanswered;
            let slot = if is_expected { &mut line.print.target } else { &mut line.print.answer };
            *slot = digest_of_answer(answer, self.wanted.lenient);
        }
        self.prints.push(if self.summaries { Print { input: 0, ..line.print } } else { line.print });
        if self.wanted.detail {
            self.details.push(Detail {
                answer: line.said.take().unwrap_or_default(),
                target: line.expected.take().unwrap_or_default(),
                input: line.asked.take().unwrap_or_default(),
                traits: std::mem::take(&mut line.traits),
            });
        }
        Ok(())
    }

    /// Determines from the first row how the file's rows state correctness.
    fn shape_of(&mut self, line: &Line<'_>, number: u64) -> Result<Shape, ReadError> {
        let is_truth =
            |(k, key): &(usize, &'static str)| line.value(key).is_some_and(|v| *k < 4 || v == 0.0 || v == 1.0);
        let correct = || CORRECT.into_iter().enumerate().find(is_truth).map(|(_, key)| key);
        if let Some(metric) = self.wanted.metric.as_deref() {
            if line.value(metric).is_some() || line.metrics.iter().any(|m| m == metric) {
                return Ok(Shape::Metrics);
            }
            if metric != "correct" {
                let known = base::text::shortened(&line.numbers().join(", "), 200);
                return self.refuse(number, format!("no metric `{metric}`"), format!("one of: {known}"));
            }
        }
        if !line.metrics.is_empty() || (line.harness && !line.numbers().is_empty()) {
            return Ok(Shape::Metrics);
        }
        if line.answer.is_some() && !line.scores.is_empty() {
            return Ok(Shape::Bear);
        }
        if let Some(key) = correct() {
            return Ok(Shape::Correct(key));
        }
        if let Some(key) = WRONG.into_iter().find(|key| line.value(key).is_some_and(|v| v == 0.0 || v == 1.0))
            && line.values.len() == 1
        {
            return Ok(Shape::Wrong(key));
        }
        if let Some(key) = CORRECT.into_iter().take(4).find(|key| line.others.iter().any(|other| other == key)) {
            let what = format!("`{key}` is not a finite number, yes or no");
            return self.refuse(number, what, TRUTHS);
        }
        // The whole output is compared with the target only if no metric is given.
        let is_scored = line.prediction_rank <= 2 && line.numbers().into_iter().any(is_metric);
        let is_answer = line.prediction.is_some() && !is_scored || line.is_unanswered;
        if is_answer && (line.expected_answer().is_some() || !line.targets.is_empty()) {
            return Ok(Shape::Prediction);
        }
        // A column counts if it is the only numeric column or has the name of a metric.
        let numbers = line.numbers();
        let named = |name: &&&str| numbers.len() == 1 || is_metric(name);
        self.named = numbers.iter().filter(named).map(|name| (*name).to_owned()).collect();
        if !self.named.is_empty() {
            return Ok(Shape::Metrics);
        }
        let grouped = self.grouped.as_ref().and_then(|(_, column, _)| self.grouped_number(column));
        if let Some((line, what)) = grouped.filter(|_| numbers.is_empty()) {
            return self.refuse(line, what, "a number without thousands separators");
        }
        let known = base::text::shortened(&numbers.join(", "), 200);
        let hint = if known.is_empty() { String::new() } else { format!(" (or name a metric: {known})") };
        self.refuse(
            number,
            "no key states whether an answer is correct",
            format!("`correct`, or `prediction` with `target`{hint}"),
        )
    }

    fn values(&mut self, shape: Shape, line: &Line<'_>, number: u64) -> Result<(), ReadError> {
        let value = match shape {
            Shape::Metrics => return self.metrics(line, number),
            Shape::Correct(key) | Shape::Wrong(key) => match line.value(key) {
                Some(v) if v == 0.0 || v == 1.0 => {
                    let is_binary = |p: &Cow<'_, str>| matches!(decimal(p), Some((_, "" | "1", "")));
                    let alone = line.expected_answer().is_none() && line.targets.is_empty();
                    self.binary_answers += usize::from(alone && line.prediction.as_ref().is_some_and(is_binary));
                    if shape == Shape::Correct(key) { v } else { 1.0 - v }
                }
                Some(v) if v.is_finite() => {
                    return self.refuse(number, format!("`{key}` is {v}"), TRUTHS);
                }
                Some(_) => return self.refuse(number, format!("`{key}` is not a finite number"), "0 or 1"),
                None => {
                    let what = format!("`{key}` is missing or not a number");
                    return self.refuse(number, what, format!("{TRUTHS}, in every row"));
                }
            },
            Shape::Prediction => match (&line.prediction, line.expected_answer()) {
                (Some(p), None) if !line.targets.is_empty() => {
                    self.listed += 1;
                    f64::from(u8::from(line.targets.iter().any(|t| self.wanted.agrees(p, t))))
                }
                (None, target) if line.is_unanswered && (target.is_some() || !line.targets.is_empty()) => {
                    self.blank += 1;
                    0.0
                }
                (Some(p), Some(t)) => {
                    let agrees = self.wanted.agrees(p, t);
                    self.nearly += usize::from(!agrees && alike(p, t));
                    self.equal += usize::from(agrees);
                    if !agrees && self.unequal.is_none() {
                        self.unequal = Some((base::text::shortened(p, 40), base::text::shortened(t, 40)));
                    }
                    f64::from(u8::from(agrees))
                }
                _ => return self.refuse(number, "`prediction` or `target` is missing", "both in every row"),
            },
            Shape::Bear => f64::from(u8::from(self.best(line, number)?)),
        };
        self.put("correct", Some(value), number);
        Ok(())
    }

    /// Adds values by metric. Metrics that are missing from a row are dropped at the end and counted.
    fn metrics(&mut self, line: &Line<'_>, number: u64) -> Result<(), ReadError> {
        if let Some(metric) = self.wanted.metric.as_deref() {
            let value = line.value(metric).filter(|v| v.is_finite());
            if value.is_none() {
                let shown = base::text::shortened(metric, 60);
                let what = format!("`{shown}` is missing or not a finite number");
                return self.refuse(number, what, "a number in every row, or another metric");
            }
            self.put(metric, value, number);
            return Ok(());
        }
        if !self.named.is_empty() {
            for name in std::mem::take(&mut self.named) {
                self.put(&name, line.value(&name), number);
                self.named.push(name);
            }
        } else if line.metrics.is_empty() {
            let values = line.values.iter().map(|(name, value)| (name, Some(*value)));
            let all = values.chain(line.others.iter().map(|name| (name, None)));
            for (name, value) in all.filter(|(name, _)| !is_bookkeeping(name)) {
                self.put(name, value, number);
            }
        } else {
            for name in line.metrics.iter().filter(|name| !is_bookkeeping(name)) {
                self.put(name, line.value(name), number);
            }
        }
        match self.columns.len() {
            n if n > MOST_NAMES => self.refuse(number, format!("more than {MOST_NAMES} metrics"), "results"),
            _ => Ok(()),
        }
    }

    /// Adds the current row's value; earlier rows without one remain empty.
    fn put(&mut self, name: &str, value: Option<f64>, number: u64) {
        let at = self.ids.len() - 1;
        let known = self.columns.iter().position(|c| c.name == name);
        let k = known.unwrap_or_else(|| {
            self.columns.push(Column { name: name.to_owned(), values: Vec::new(), missing: 0, first_missing: 0 });
            self.columns.len() - 1
        });
        let column = &mut self.columns[k];
        if column.values.len() > at {
            return;
        }
        if column.values.len() < at && column.missing == 0 {
            column.first_missing = self.lines[column.values.len()];
        }
        column.missing += at - column.values.len();
        column.values.resize(at, f64::NAN);
        let value = value.filter(|v| v.is_finite());
        if value.is_none() {
            if column.missing == 0 {
                column.first_missing = number;
            }
            column.missing += 1;
        }
        column.values.push(value.unwrap_or(f64::NAN));
    }

    /// True if the best-scored answer is correct; on ties, the first one is taken.
    fn best(&self, line: &Line<'_>, number: u64) -> Result<bool, ReadError> {
        let best = line.scores.iter().enumerate().fold(None, |best: Option<(usize, f64)>, (i, s)| match best {
            Some((_, top)) if *s <= top => best,
            _ => Some((i, *s)),
        });
        let sound = line.scores.iter().all(|s| s.is_finite());
        match (best, line.answer) {
            (Some((best, _)), Some(answer)) if sound && answer < line.scores.len() as u64 => Ok(best as u64 == answer),
            _ => self.refuse(number, "`pll_scores` is missing, or `answer_idx` is out of range", "BEAR results"),
        }
    }
}
