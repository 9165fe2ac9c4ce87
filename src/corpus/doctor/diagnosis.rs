//! Findings of the doctor, as data and as text.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Doctor, Finding, TextCount};
use crate::overview::not_read;
use crate::readers::{Drops, RelationKind, Report, Set};

/// Factor for skew: a property is skewed if its most frequent label is at least this many times as frequent as in a balanced set.
const SKEW: f64 = 1.25;
/// Maximum number of distinct objects counted per relation.
const MAX_OBJECTS: usize = 10_000;
/// Maximum number of labels and words listed, and default number of relations listed.
pub const LISTED: usize = 8;
/// Minimum share of ambiguous facts for a relation to count as N-M. Below it, the ambiguous facts are treated as errors in the source.
const MUCH: f64 = 0.05;

/// Function that returns the number of tokens in a word, or `None` if a token is unknown.
pub type Tokens<'v> = Box<dyn Fn(&str) -> Option<usize> + 'v>;

/// Name and tokenizer of a model, used to check words.
pub struct Vocabulary<'v> {
    pub name: String,
    pub tokens: Tokens<'v>,
}

/// Coverage of a set's words by one model's vocabulary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ModelCount {
    pub model: String,
    /// Rows whose word is a single token.
    pub single: u64,
    /// Rows whose word is split into several tokens.
    pub several: u64,
    /// Rows whose word contains an unknown token.
    pub outside: u64,
    pub text: TextCount,
}

impl ModelCount {
    pub(super) fn new(model: &str) -> Self {
        Self { model: model.to_owned(), single: 0, several: 0, outside: 0, text: TextCount::default() }
    }
}

/// A row with findings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Example {
    /// Index of the file in the set.
    pub file: usize,
    /// Line number, from 1.
    pub line: u64,
    pub findings: Vec<Finding>,
    /// Description of the findings.
    pub what: String,
}

/// Number of rows with a finding, and the first such row.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Counted {
    pub count: u64,
    pub first: Option<Example>,
}

/// Counts of a relation's facts.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct RelationCount {
    pub facts: u64,
    /// Facts fit for use.
    pub kept: u64,
    pub prompts: u64,
    /// Facts whose subject also has a different object.
    pub several_objects: u64,
    /// Facts whose object has already occurred with a different subject.
    pub(crate) shared_objects: u64,
    /// Type stated by the source.
    pub stated: Option<RelationKind>,
    /// Share of the kept facts that have the most frequent object, which is the accuracy of always giving that answer.
    pub majority: Option<f64>,
    /// Number of distinct objects among the facts kept.
    pub objects: u64,
    #[serde(skip)]
    frequencies: BTreeMap<String, u64>,
}

impl RelationCount {
    pub(super) fn add_object(&mut self, object: &str, kept: bool) {
        let object = &super::beginning(object, super::MAX_NAME);
        if kept && (self.frequencies.len() < MAX_OBJECTS || self.frequencies.contains_key(object)) {
            *self.frequencies.entry(object.to_owned()).or_default() += 1;
        }
    }

    /// Returns the type that the facts imply.
    pub fn kind(&self) -> Option<RelationKind> {
        match (self.facts, self.several_objects, self.shared_objects) {
            (0, ..) => None,
            (_, 0, 0) => Some(RelationKind::OneToOne),
            (_, 0, _) => Some(RelationKind::ManyToOne),
            _ => Some(RelationKind::ManyToMany),
        }
    }

    /// Returns the share of facts whose subject also has a different object.
    pub(crate) fn ambiguous(&self) -> f64 {
        self.several_objects as f64 / self.facts.max(1) as f64
    }

    fn close(&mut self) {
        self.objects = self.frequencies.len() as u64;
        let total: u64 = self.frequencies.values().sum();
        self.majority = self.frequencies.values().max().map(|m| *m as f64 / total as f64);
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PropertyCount {
    pub labels: BTreeMap<String, u64>,
    pub majority: f64,
    /// True if a property that can be probed is skewed: `majority` is at least [`SKEW`] times the share in a balanced set.
    pub(crate) skewed: bool,
}

/// Findings for a data set.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Diagnosis {
    pub format: String,
    /// File names, indexed by [`Example::file`].
    pub files: Vec<String>,
    /// Files that were not read, each with the reason.
    pub left_out: Vec<(String, String)>,
    pub rows: u64,
    pub kinds: BTreeMap<&'static str, u64>,
    pub blank: u64,
    /// Rows that could not be read.
    pub unread: Drops,
    /// Rows read but not fit for use.
    pub dropped: u64,
    /// Rows fit for use.
    pub kept: u64,
    pub findings: BTreeMap<Finding, Counted>,
    /// The first dropped rows.
    pub examples: Vec<Example>,
    pub relations: BTreeMap<String, RelationCount>,
    pub properties: BTreeMap<String, PropertyCount>,
    pub models: Vec<ModelCount>,
    /// Words of the set that are a single token in every model, sorted; `None` without models.
    pub intersection: Option<Vec<String>>,
    /// Number of distinct words in the set.
    pub words: u64,
    /// True if the set was too large to compare each row with all earlier ones.
    pub incomplete: bool,
}

impl Doctor<'_> {
    /// Completes the counts and returns the findings for `set`.
    pub fn finish(mut self, set: &Set, reports: &[Report]) -> Diagnosis {
        let mut unread = Drops::default();
        reports.iter().for_each(|r| unread.merge(&r.dropped));
        self.relations.values_mut().for_each(RelationCount::close);
        let intersection = (!self.models.is_empty()).then(|| {
            let all = self.words.iter().filter(|(_, counts)| counts.iter().all(|c| *c == Some(1)));
            let mut words: Vec<String> = all.map(|(word, _)| word.clone()).collect();
            words.sort();
            words
        });
        for (model, text) in self.model_counts.iter_mut().zip(&self.coverage.counts) {
            model.text = *text;
        }
        let several = set.files.len() > 1;
        let titled = |(file, property): (Option<usize>, String)| match file.and_then(|k| set.files.get(k)) {
            Some(file) if several => format!("{property} of {}", set.name(&file.path)),
            _ => property,
        };
        Diagnosis {
            format: set.title.clone(),
            files: set.names(),
            left_out: not_read(set, reports),
            rows: self.examined,
            kinds: self.kinds,
            blank: reports.iter().map(|r| r.blank).sum(),
            unread,
            dropped: self.dropped,
            kept: self.examined - self.dropped,
            findings: self.findings,
            examples: self.flagged,
            relations: self.relations,
            properties: self
                .properties
                .into_iter()
                .map(|(k, labels)| {
                    let probed = k.1 != "paradigm";
                    (titled(k), property(labels, probed))
                })
                .collect(),
            models: self.model_counts,
            intersection,
            words: self.words.len() as u64,
            incomplete: self.memory.is_full() || self.survey.is_full(),
        }
    }
}

/// Summarizes the label counts of a property. Only probed properties can be skewed. The paradigm of a minimal pair is not a label to probe,
/// so a file with a single paradigm is not skewed.
fn property(labels: BTreeMap<String, u64>, probed: bool) -> PropertyCount {
    let total: u64 = labels.values().sum();
    let majority = labels.values().max().map_or(0.0, |m| *m as f64 / total as f64);
    let skewed = probed && (labels.len() < 2 || majority * labels.len() as f64 >= SKEW);
    PropertyCount { labels, majority, skewed }
}

impl Diagnosis {
    /// Formats the report as lines of text, listing up to `relations` relations.
    pub fn lines(&self, relations: usize) -> Vec<String> {
        let mut out = vec![format!("{}: {} rows", self.format, self.rows)];
        let kinds: Vec<String> = self.kinds.iter().map(|(k, n)| format!("{n} {k}")).collect();
        out.push(format!("  rows       {}", kinds.join(", ")));
        out.push(format!("  kept       {}", self.kept));
        out.push(format!(
            "  dropped    {} unfit, {} unreadable; {} blank lines",
            self.dropped,
            self.unread.total(),
            self.blank
        ));
        for (kind, drops) in self.unread.iter() {
            out.push(format!("    {:>8}  {}; line {}: {}", drops.count, kind.title(), drops.first_line, drops.example));
        }
        for drops in [true, false] {
            for (finding, counted) in self.findings.iter().filter(|(f, _)| f.drops() == drops) {
                let first =
                    counted.first.as_ref().map_or_else(String::new, |e| format!("; {}: {}", self.place(e), e.what));
                let mark = if drops { "" } else { "(note) " };
                out.push(format!("    {:>8}  {mark}{}{first}", counted.count, finding.title()));
            }
        }
        self.relation_lines(relations, &mut out);
        self.property_lines(&mut out);
        self.model_lines(&mut out);
        for (path, why) in &self.left_out {
            out.push(format!("  not read   {path}: {why}"));
        }
        if self.incomplete {
            out.push(
                "  note       too many rows to compare each one with all earlier ones; duplicates may be missed".into(),
            );
        }
        out
    }

    /// Formats the first dropped rows, one per line.
    pub fn row_lines(&self) -> Vec<String> {
        let titles = |e: &Example| {
            let all: Vec<&str> = e.findings.iter().filter(|f| f.drops()).map(|f| f.title()).collect();
            all.join(", ")
        };
        self.examples.iter().map(|e| format!("{}: {} ({})", self.place(e), titles(e), e.what)).collect()
    }

    fn place(&self, e: &Example) -> String {
        match self.files.get(e.file) {
            Some(file) if self.files.len() > 1 => format!("{file} line {}", e.line),
            _ => format!("line {}", e.line),
        }
    }

    fn relation_lines(&self, listed: usize, out: &mut Vec<String>) {
        let with_facts: Vec<_> = self.relations.iter().filter(|(_, r)| r.facts > 0).collect();
        if with_facts.is_empty() {
            return;
        }
        let several = || with_facts.iter().filter(|(_, r)| r.kind() == Some(RelationKind::ManyToMany));
        let much = several().filter(|(_, r)| r.ambiguous() >= MUCH).count();
        out.push(format!(
            "  relations  {} with facts; {} have subjects with several objects (N-M); in {much} of these, at least {:.0} % of the facts have such subjects",
            with_facts.len(),
            several().count(),
            100.0 * MUCH
        ));
        for (name, r) in with_facts.iter().take(listed) {
            let kind = r.kind().map_or("", kind_name);
            let kind = match r.several_objects {
                0 => kind.to_owned(),
                n => format!("{kind} by {n} ({:.1} %)", 100.0 * r.ambiguous()),
            };
            let mark = match (r.kept, r.objects) {
                (0, _) => " - none kept",
                (_, 1) => " - one object only",
                _ => "",
            };
            let stated = r.stated.map_or_else(String::new, |k| format!(", stated {}", kind_name(k)));
            let majority = r.majority.map_or_else(String::new, |m| format!(", most frequent {:.0} %", 100.0 * m));
            out.push(format!(
                "    {name:<10} {:>6} facts, {:>6} kept, {:>5} objects{majority}, {kind}{stated}{mark}",
                r.facts, r.kept, r.objects
            ));
        }
        more(out, with_facts.len().saturating_sub(listed));
    }

    fn property_lines(&self, out: &mut Vec<String>) {
        for (name, p) in &self.properties {
            let skew = match (p.labels.len(), p.skewed) {
                (1, true) => " - one label only",
                (_, true) => " - skewed",
                _ => "",
            };
            let labels: Vec<String> = p.labels.iter().take(LISTED).map(|(l, n)| format!("{l} {n}")).collect();
            let rest = p.labels.len().saturating_sub(LISTED);
            let rest = if rest > 0 { format!(", and {rest} more") } else { String::new() };
            out.push(format!(
                "  {name:<10} {}{rest}; most frequent {:.1} %{skew}",
                labels.join(", "),
                100.0 * p.majority
            ));
        }
    }

    fn model_lines(&self, out: &mut Vec<String>) {
        for m in &self.models {
            let asked = m.single + m.several + m.outside;
            if asked > 0 {
                out.push(format!(
                    "  {:<10} {} single-token words, {} split into several tokens, {} outside the vocabulary",
                    m.model, m.single, m.several, m.outside
                ));
            }
            if m.text.words() > 0 {
                out.push(format!("  {:<10} {}", m.model, m.text.said()));
            }
            if asked + m.text.words() == 0 {
                out.push(format!("  {:<10} no words to look up", m.model));
            }
        }
        if let Some(words) = self.intersection.as_ref().filter(|_| self.words > 0) {
            let shown: Vec<&str> = words.iter().take(LISTED).map(String::as_str).collect();
            let dots = if words.len() > LISTED { ", …" } else { "" };
            let all = if self.models.len() > 1 { "all models" } else { "the model" };
            out.push(format!(
                "  shared     {} of {} words are single tokens in {all}: {}{dots}",
                words.len(),
                self.words,
                shown.join(", ")
            ));
        }
    }
}

fn more(out: &mut Vec<String>, count: usize) {
    if count > 0 {
        out.push(format!("    and {count} more"));
    }
}

fn kind_name(kind: RelationKind) -> &'static str {
    match kind {
        RelationKind::OneToOne => "1-1",
        RelationKind::ManyToOne => "N-1",
        RelationKind::ManyToMany => "N-M",
    }
}
