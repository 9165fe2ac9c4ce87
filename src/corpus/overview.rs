//! Summary of a data set, computed in one pass: files and their dropped rows, row counts by kind, label, relation and split, and the first
//! rows.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use serde::Serialize;

use super::rationale_counts::RationaleCounts;
use super::readers::{Drops, Report, Row, Set, Split, plain};
use super::sets::{Read, SetError, Source};
use super::shortcuts::{Shortcut, shortcuts};

/// Maximum number of different names; any others are counted together.
const MAX_NAMES: usize = 1_000;
/// Maximum number of names listed in a line of text.
const LISTED: usize = 40;
/// Maximum number of sentences for surface baselines.
const MAX_SURFACE: usize = 200_000;
const MAX_CLASSES: usize = 50;
/// Name under which names beyond [`MAX_NAMES`] are counted.
const FURTHER: &str = "(further)";

/// Counts by name, in bounded memory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Tally(BTreeMap<String, u64>);

impl Tally {
    pub fn add(&mut self, name: &str) {
        if let Some(count) = self.0.get_mut(name) {
            *count += 1;
        } else {
            let name = if self.0.len() < MAX_NAMES { name } else { FURTHER };
            *self.0.entry(name.to_owned()).or_default() += 1;
        }
    }

    pub fn of(&self, name: &str) -> u64 {
        self.0.get(name).copied().unwrap_or(0)
    }

    /// Returns names and counts, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(k, n)| (k.as_str(), *n))
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the size of the largest balanced sample; `None` if there is only one name, or too many to count separately.
    fn even(&self) -> Option<u64> {
        let most = 2..MAX_NAMES.min(50);
        let smallest = self.0.values().min()?;
        most.contains(&self.0.len()).then(|| smallest * self.0.len() as u64)
    }

    fn text(&self) -> String {
        let shown: Vec<String> = self.iter().take(LISTED).map(|(k, n)| format!("{k} {n}")).collect();
        let rest = self.0.len().saturating_sub(LISTED);
        let rest = if rest > 0 { format!(", and {rest} more") } else { String::new() };
        format!("{}{rest}", shown.join(", "))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileCount {
    pub name: String,
    pub format: &'static str,
    /// Columns or keys that are read.
    pub columns: &'static [&'static str],
    pub gzip: bool,
    /// Size on disk.
    pub bytes: u64,
    /// Counts of rows, blank lines and dropped rows.
    pub report: Report,
}

/// One of the first rows of a set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct First {
    pub file: usize,
    /// Line number, or row number in a built-in set, from 1.
    pub line: u64,
    /// The row as a plain JSON line.
    pub row: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Overview {
    pub title: String,
    /// Empty for built-in sets.
    pub files: Vec<FileCount>,
    /// Files that were not read, each with the reason.
    pub left_out: Vec<(String, String)>,
    pub rows: u64,
    pub blank: u64,
    /// Rows that could not be read.
    pub dropped: Drops,
    pub kinds: BTreeMap<&'static str, u64>,
    /// Row counts by split, for rows that have one.
    pub splits: Tally,
    /// Label counts of each property.
    pub properties: BTreeMap<String, Tally>,
    pub facts: Tally,
    pub prompts: Tally,
    /// Number of pairs and mean rationale ratio, by dimension.
    pub rationales: RationaleCounts,
    /// Accuracy of surface baselines on the test part, if the set has training and test parts.
    pub shortcuts: Vec<Shortcut>,
    pub first: Vec<First>,
    /// Content hash of a generated set.
    pub hash: Option<String>,
}

struct Counter {
    several: bool,
    names: Vec<String>,
    rows: u64,
    kinds: BTreeMap<&'static str, u64>,
    splits: Tally,
    properties: BTreeMap<String, Tally>,
    facts: Tally,
    prompts: Tally,
    rationales: RationaleCounts,
    surface: Surface,
}

/// Labelled training and test sentences, collected as long as they belong to one task and do not exceed [`MAX_SURFACE`].
#[derive(Default)]
struct Surface {
    train: Vec<(String, usize)>,
    test: Vec<(String, usize)>,
    labels: BTreeMap<String, usize>,
    full: bool,
}
impl Surface {
    fn add(&mut self, text: &str, label: &str, split: Option<Split>) {
        let rows = match split {
            Some(Split::Train) => &mut self.train,
            Some(Split::Test) => &mut self.test,
            _ => return,
        };
        let next = self.labels.len();
        let label = match self.labels.get(label) {
            Some(label) => *label,
            None => *self.labels.entry(label.to_owned()).or_insert(next),
        };
        rows.push((text.to_owned(), label));
        if self.labels.len() > MAX_CLASSES || self.train.len() + self.test.len() > MAX_SURFACE {
            *self = Self { full: true, ..Self::default() };
        }
    }
    fn shortcuts(&self) -> Vec<Shortcut> {
        let [train, test] = [&self.train, &self.test]
            .map(|part| part.iter().map(|(text, label)| (text.as_str(), *label)).collect::<Vec<_>>());
        shortcuts(&train, &test, self.labels.len())
    }
}

impl Counter {
    fn add(&mut self, file: usize, row: &Row<'_>) {
        self.rows += 1;
        *self.kinds.entry(row.kind()).or_default() += 1;
        match row {
            Row::Fact(fact) => self.facts.add(fact.relation.as_deref().unwrap_or("(none)")),
            Row::Prompt(prompt) => self.prompts.add(prompt.relation.as_deref().unwrap_or("(none)")),
            Row::Sentence(sentence) => {
                self.split(sentence.split);
                if let Some(label) = &sentence.label {
                    self.bare(file, label);
                    // Labels in different files belong to different tasks.
                    if !self.several && !self.surface.full {
                        self.surface.add(&sentence.text, label, sentence.split);
                    }
                }
                sentence.named_labels().for_each(|(property, label)| self.label(property, label));
            }
            Row::Pair(pair) => {
                if let Some(paradigm) = &pair.paradigm {
                    self.label("paradigm", paradigm);
                }
            }
            Row::Rationale(rationale) => {
                self.rationales.add(rationale);
                self.split(rationale.split);
                if let Some(label) = &rationale.label {
                    self.bare(file, label);
                }
                for (property, value) in
                    [("dimension", &rationale.dimension), ("perturbation", &rationale.perturbation)]
                {
                    if let Some(value) = value {
                        self.label(property, value);
                    }
                }
            }
            Row::Measure(measure) => self.label("metric", &measure.metric),
            Row::Prediction(_) | Row::Relation(_) | Row::Vector(_) => {}
        }
    }

    fn split(&mut self, split: Option<super::readers::Split>) {
        if let Some(split) = split {
            self.splits.add(split.name());
        }
    }

    /// Counts a label whose property is identified only by the file name.
    fn bare(&mut self, file: usize, label: &str) {
        let name = match self.names.get(file) {
            Some(name) if self.several => format!("label of {name}"),
            _ => "label".to_owned(),
        };
        self.label(&name, label);
    }

    fn label(&mut self, property: &str, label: &str) {
        let known = self.properties.len() < MAX_NAMES || self.properties.contains_key(property);
        let property = if known { property } else { FURTHER };
        if let Some(tally) = self.properties.get_mut(property) {
            tally.add(label);
        } else {
            self.properties.entry(property.to_owned()).or_default().add(label);
        }
    }
}

impl Overview {
    /// Reads a set, storing its first `limit` rows.
    pub fn of(
        source: &Source,
        limit: usize,
        watch: &super::readers::Watch,
        each: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<Self, SetError> {
        let set = &source.set;
        let mut counter = Counter {
            several: set.files.len() > 1,
            names: set.names(),
            rows: 0,
            kinds: BTreeMap::new(),
            splits: Tally::default(),
            properties: BTreeMap::new(),
            facts: Tally::default(),
            prompts: Tally::default(),
            rationales: RationaleCounts::default(),
            surface: Surface::default(),
        };
        let mut first: Vec<First> = Vec::new();
        let Read { reports, hash } = source.rows(watch, &mut |file, row, line| {
            counter.add(file, &row);
            if first.len() < limit {
                first.push(First { file, line, row: plain::line(&row) });
            }
            each()
        })?;
        let mut dropped = Drops::default();
        reports.iter().for_each(|r| dropped.merge(&r.dropped));
        let blank = reports.iter().map(|r| r.blank).sum();
        let left_out = not_read(set, &reports);
        let files = set.files.iter().zip(reports).map(|(f, report)| FileCount {
            name: set.name(&f.path),
            format: f.format.id,
            columns: f.format.columns,
            gzip: f.gzip,
            bytes: f.bytes,
            report,
        });
        Ok(Self {
            title: set.title.clone(),
            files: files.collect(),
            left_out,
            rows: counter.rows,
            blank,
            dropped,
            kinds: counter.kinds,
            splits: counter.splits,
            properties: counter.properties,
            facts: counter.facts,
            prompts: counter.prompts,
            rationales: counter.rationales,
            shortcuts: counter.surface.shortcuts(),
            first,
            hash,
        })
    }

    /// Formats the counts as lines of text, always including the number of dropped rows.
    pub fn lines(&self) -> Vec<String> {
        let mut out = vec![format!("{}: {} rows", self.title, self.rows)];
        let kinds: Vec<String> = self.kinds.iter().map(|(kind, n)| format!("{n} {kind}")).collect();
        out.push(format!("  rows       {}", kinds.join(", ")));
        out.push(format!("  dropped    {} unreadable; {} blank lines", self.dropped.total(), self.blank));
        if !self.splits.is_empty() {
            let without = self.rows - self.splits.iter().map(|(_, n)| n).sum::<u64>();
            let without = if without > 0 { format!("; {without} rows without a split") } else { String::new() };
            out.push(format!("  splits     {}{without}", self.splits.text()));
        }
        for (name, tally) in &self.properties {
            let even = tally.even().map_or_else(String::new, |n| format!("; {n} rows if balanced"));
            // Rows without a label are counted only if all rows are of one kind, so that every row could have the property.
            let one = self.kinds.len() == 1 && self.files.len() < 2;
            let without = self.rows.saturating_sub(tally.iter().map(|(_, n)| n).sum());
            let without = if one && without > 0 { format!(", none {without}") } else { String::new() };
            out.push(format!("  {name:<10} {}{without}{even}", tally.text()));
        }
        for (name, tally) in [("facts", &self.facts), ("prompts", &self.prompts)] {
            if !tally.is_empty() {
                out.push(format!("  {name:<10} of {} relations: {}", tally.0.len(), tally.text()));
            }
        }
        out.extend(self.rationales.lines());
        if let Some(n) = self.shortcuts.first().map(|s| s.n) {
            out.push(format!(
                "  surface    labels of {n} test sentences predicted without a model, by baselines trained on the \
                 training part"
            ));
        }
        for s in &self.shortcuts {
            let a = s.accuracy();
            let [mean, lo, hi] = [a.mean, a.lo, a.hi].map(|x| 100.0 * x);
            out.push(format!("    {:<12} {mean:5.1} % ({lo:.1} to {hi:.1})", s.name));
        }
        if let Some(hash) = &self.hash {
            out.push(format!("  hash       {hash}"));
        }
        let read = |f: &&FileCount| f.report.failed.is_none();
        for (k, file) in self.files.iter().enumerate().filter(|(_, f)| read(f)) {
            let again = self.files[..k].iter().filter(read).any(|f| f.format == file.format);
            file.lines(!again, &mut out);
        }
        for (path, why) in &self.left_out {
            out.push(format!("  not read   {path}: {why}"));
        }
        out
    }

    /// Formats the first rows, one per line.
    pub fn row_lines(&self) -> Vec<String> {
        let line = |f: &First| match self.files.get(f.file) {
            Some(file) if self.files.len() > 1 => format!("{} line {}: {}", file.name, f.line, f.row),
            Some(_) => format!("line {}: {}", f.line, f.row),
            None => format!("row {}: {}", f.line, f.row),
        };
        self.first.iter().map(line).collect()
    }
}

/// Returns the files that were not read, each with the reason: the file is not data, or none of its rows fits the detected format.
pub(super) fn not_read(set: &Set, reports: &[Report]) -> Vec<(String, String)> {
    let out = set.left_out.iter().map(|(path, why)| (set.name(path), why.clone()));
    let failed = set.files.iter().zip(reports).filter_map(|(file, report)| {
        let why = report.failed.as_ref()?;
        Some((set.name(&file.path), format!("looks like {}, but {why}", file.format.title)))
    });
    out.chain(failed).collect()
}

impl FileCount {
    fn lines(&self, with_columns: bool, out: &mut Vec<String>) {
        let gz = if self.gzip { ", gzip" } else { "" };
        let Report { rows, blank, dropped, rationales, .. } = &self.report;
        out.push(format!(
            "  {}: {}{gz}, {rows} rows, {} dropped, {blank} blank lines",
            self.name,
            self.format,
            dropped.total()
        ));
        for (kind, d) in dropped.iter() {
            out.push(format!("    {} × {}; line {}: {}", d.count, kind.title(), d.first_line, d.example));
        }
        out.extend(rationales.map(|said| format!("    {said}")));
        if with_columns {
            out.push(format!("    reads {}", self.columns.join(", ")));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::readers::Watch;
    use crate::sets::Draw;

    fn overview(name: &str, limit: usize) -> Overview {
        let watch: Watch = Rc::new(|_| ControlFlow::Continue(()));
        let draw = Draw { examples: 600, seed: 1, phi: None };
        let source = Source::open(name, draw, &watch).unwrap();
        Overview::of(&source, limit, &watch, &mut || ControlFlow::Continue(())).unwrap()
    }

    #[test]
    fn folder_overview_counts_labels_splits_and_drops() {
        let dir = tempfile::tempdir().unwrap();
        let rows = "{\"text\": \"a\", \"label\": \"x\", \"split\": \"train\"}\n\nnonsense\n\
                    {\"text\": \"b\", \"label\": \"y\", \"split\": \"test\"}\n{\"text\": \"c\", \"label\": \"x\"}\n";
        std::fs::write(dir.path().join("one.jsonl"), rows).unwrap();
        std::fs::write(dir.path().join("two.jsonl"), "{\"object\": \"Paris\", \"relation\": \"capital\"}\n").unwrap();
        std::fs::write(dir.path().join("notes"), "nothing known\n").unwrap();
        let found = overview(&dir.path().display().to_string(), 2);
        assert_eq!((found.rows, found.blank, found.dropped.total()), (4, 1, 1));
        assert_eq!((found.splits.of("train"), found.splits.of("test")), (1, 1));
        assert_eq!(found.properties["label of one.jsonl"].of("x"), 2);
        assert_eq!((found.facts.of("capital"), found.first.len()), (1, 2));
        let text = found.lines().join("\n");
        for part in
            ["1 dropped, 1 blank lines", "2 rows without a split", "not read   notes", "x 2, y 1; 2 rows if balanced"]
        {
            assert!(text.contains(part), "no `{part}` in\n{text}");
        }
        assert!(found.row_lines()[1].starts_with("one.jsonl line 4: "), "{:?}", found.row_lines());
    }

    /// Regression: a JSON file mistaken for facts used to abort reading of the whole folder.
    #[test]
    fn misrecognised_file_is_listed_with_its_missing_field() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
        write("a.jsonl", "{\"sentence_good\": \"x\", \"sentence_bad\": [3]}\n");
        write("b.jsonl", "{\"object\": \"Paris\", \"relation\": \"capital\"}\n");
        write("c.jsonl", "{\"obj_label\": \"Rome\", \"relation\": \"capital\"}\n");
        let found = overview(&dir.path().display().to_string(), 2);
        assert_eq!((found.rows, found.left_out.len()), (1, 2));
        let text = found.lines().join("\n");
        for part in [
            "not read   a.jsonl: looks like BLiMP",
            "`sentence_bad`: invalid type: sequence",
            "not read   c.jsonl",
            "`sub_label`",
        ] {
            assert!(text.contains(part), "no `{part}` in\n{text}");
        }
        assert!(found.row_lines()[0].starts_with("b.jsonl line 1"), "{:?}", found.row_lines());
        std::fs::remove_file(dir.path().join("b.jsonl")).unwrap();
        let watch: Watch = Rc::new(|_| ControlFlow::Continue(()));
        let source = Source::open(&dir.path().display().to_string(), Draw { examples: 1, seed: 1, phi: None }, &watch);
        let read = source.unwrap().rows(&watch, &mut |_, _, _| ControlFlow::Continue(()));
        assert!(read.unwrap_err().to_string().contains("a.jsonl"));
    }

    /// Regression: rows of a table with a column `label` used to be counted twice: by label, and by column name.
    #[test]
    fn a_column_called_label_is_counted_once() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("t.csv");
        std::fs::write(&file, "text,label,tense\na b,1,past\nc d,1,past\n").unwrap();
        let found = overview(&file.display().to_string(), 1);
        assert_eq!((found.properties["label"].of("1"), found.properties["tense"].of("past")), (2, 2));
    }

    #[test]
    fn built_in_sets_are_counted_like_files() {
        let found = overview("past_present", 3);
        assert_eq!((found.properties["label"].of("PAST"), found.properties["label"].of("PRES")), (300, 300));
        assert!(found.hash.is_some() && found.files.is_empty() && found.row_lines()[0].starts_with("row 1: "));
        let surface = found.lines().join("\n");
        for part in ["labels of 50 test sentences", "bag of words", "first word", " % ("] {
            assert!(surface.contains(part), "no `{part}` in\n{surface}");
        }
        assert_eq!((found.shortcuts.len(), found.shortcuts[0].n, found.splits.of("train")), (4, 50, 500));
        let agreement = overview("agreement", 1);
        assert!(agreement.shortcuts.is_empty() && agreement.row_lines()[0].contains("\"twin\""));
        let animacy = &agreement.properties["subject_animacy"];
        assert_eq!(animacy.iter().map(|(_, n)| n).sum::<u64>(), 600, "every sentence is labelled");
        let facts = overview("facts", 0);
        assert!(facts.lines().iter().any(|l| l.contains("facts      of 39 relations: ")), "{:?}", facts.lines());
        assert_eq!(facts.facts.iter().map(|(_, n)| n).sum::<u64>(), 2_221);
        assert_eq!(overview("rationales-en", 0).properties["dimension"].iter().count(), 5);
    }

    #[test]
    fn counting_a_million_names_needs_bounded_memory() {
        let mut tally = Tally::default();
        (0..5_000).for_each(|k| tally.add(&k.to_string()));
        assert_eq!(tally.of(FURTHER), 4_000);
        assert_eq!(tally.iter().count(), 1_001);
        assert_eq!(tally.even(), None);
    }
}
