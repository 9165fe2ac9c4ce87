//! Converts number agreement sentences from any source into examples for the interventions lab.
//!
//! A sentence is usable if `[MASK]` replaces its verb, both verb forms are given, and the subject's number is labelled. The label
//! `subject_number` is Z_c, and the label `attractor_number` is Z_e. LGD, natural sentences labelled with both numbers, and plain rows have
//! both labels; plain rows can also have `subject_animacy` and a counterfactual `twin`.

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::micro::frequencies::{Frequencies, FrequencyError};
use super::readers::{Row, Sentence};
use super::task::{Example, ExampleSet, MASK, Place, Property, TASKS, Task};

/// Rows dropped for one reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    pub count: u64,
    /// Line number of the first such row, from 1; 0 if unknown.
    pub first_line: u64,
}

/// Reason for dropping a row that repeats an earlier one.
pub(crate) const REPEATED: &str = "same text and position as an earlier row";

/// Result of converting rows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Conversion {
    /// Rows that became examples.
    pub taken: u64,
    /// Rows of other kinds, and rows without a mask, verb forms or subject number.
    pub unsuited: u64,
    /// Rows with the same text and positions as an earlier row. Rows that differ only after the mask are kept here. A causal model cannot
    /// distinguish them, so they are dropped once the model is known to be causal.
    pub repeated: u64,
    /// Unsuited and repeated rows by reason.
    pub reasons: BTreeMap<&'static str, LeftOut>,
}

impl Conversion {
    fn leave_out(&mut self, reason: &'static str, line: u64) {
        let entry = self.reasons.entry(reason).or_insert(LeftOut { count: 0, first_line: line });
        entry.count += 1;
    }
}

/// Reasons why rows cannot form an example set.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum ConversionError {
    /// No row is usable.
    #[error(
        "none of the {unsuited} rows is an agreement sentence ({why}); each row needs a text with {MASK}, two forms and a \
         label `subject_number` (Sg or Pl); to use other labels, set task.target and task.keep"
    )]
    None {
        /// Rows examined.
        unsuited: u64,
        /// Most frequent reason.
        why: &'static str,
    },
    /// No row has the labels of a task that is based on a user's file.
    #[error("none of {unsuited} rows is usable: {why}")]
    NoneOwn {
        /// Rows examined.
        unsuited: u64,
        /// Most frequent reason.
        why: &'static str,
    },
    /// One of the two subject numbers never occurs.
    #[error("the subject number of these sentences cannot be probed: {0}")]
    OneSided(#[from] FrequencyError),
}

/// Collects agreement examples from rows.
#[derive(Debug)]
pub struct Collector {
    task: &'static Task,
    examples: Vec<Example>,
    /// Texts seen so far, each with the position where hidden states are changed and the position where they are read.
    seen: HashSet<(String, [Option<Place>; 2])>,
    counts: [[f64; 3]; 2],
    conversion: Conversion,
    positions: Positions,
}

/// Position where hidden states are changed, and position where oracles read them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Positions {
    pub changed: Position,
    /// Position where oracles read; `None` if it is the changed position.
    pub read: Option<Position>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Position {
    /// The `[MASK]` token.
    #[default]
    Mask,
    /// The first token of the input, `[CLS]` for BERT.
    First,
    /// The last token of the text.
    Last,
    /// The last token of the row's `target` span. Without a `target`, the last token of the words that differ from the row's twin.
    Marked,
    /// Each token of the text separately.
    Every,
    /// The mean over all tokens of the input.
    Mean,
}

impl Position {
    pub const ALL: [Position; 6] =
        [Position::Mask, Position::First, Position::Last, Position::Marked, Position::Every, Position::Mean];

    pub fn title(self) -> &'static str {
        match self {
            Self::Mask => "mask",
            Self::First => "first token",
            Self::Last => "last token",
            Self::Marked => "marked words",
            Self::Every => "every token",
            Self::Mean => "mean of the tokens",
        }
    }

    /// Resolves this position in a text that has `masks` masks and marks the character range `span`.
    fn place(self, masks: usize, span: Option<[u32; 2]>) -> Result<Place, &'static str> {
        Ok(match (self, masks, span) {
            (Self::Mask, 1, _) => Place::Mask,
            (Self::Mask, 0, _) => {
                return Err(
                    "no [MASK] in the text: add it, or set task.position to first, last, marked, every or mean",
                );
            }
            (Self::Mask, ..) => return Err("more than one [MASK] in the text"),
            (Self::First, ..) => Place::First,
            (Self::Last, ..) => Place::Last,
            (Self::Marked, _, Some([from, to])) => Place::Marked(from, to),
            (Self::Marked, ..) => return Err("no `target` (the character range of the marked word)"),
            (Self::Every, ..) => Place::Every,
            (Self::Mean, ..) => Place::Mean,
        })
    }
}

impl Positions {
    /// Resolves the positions in an example. Without a `span`, the words that differ from its twin are used.
    ///
    /// # Errors
    /// A description of what the example lacks for these positions.
    pub fn put(self, example: Example, span: Option<[u32; 2]>) -> Result<Example, &'static str> {
        let (masks, span) = (example.text.matches(MASK).count(), span.or_else(|| example.carrier()));
        let place = Some(self.changed.place(masks, span)?).filter(|p| *p != Place::Mask);
        let read = self.read.filter(|read| *read != self.changed).map(|read| read.place(masks, span)).transpose()?;
        Ok(Example { place, read, ..example })
    }
}

/// Returns the label with this name; an unnamed label is called `label`.
pub fn label<'s>(sentence: &'s Sentence<'_>, name: &str) -> Option<&'s str> {
    let named = sentence.labels.as_ref().and_then(|l| l.get(name));
    named.or_else(|| sentence.label.as_deref().filter(|_| name == "label"))
}

impl Default for Collector {
    fn default() -> Self {
        Self::of(&TASKS[0])
    }
}

impl Collector {
    pub fn of(task: &'static Task) -> Self {
        Self {
            task,
            examples: Vec::new(),
            seen: HashSet::new(),
            counts: [[0.0; 3]; 2],
            conversion: Conversion::default(),
            positions: Positions::default(),
        }
    }

    /// Adds a row if it is usable.
    pub fn add(&mut self, row: &Row<'_>) {
        self.add_at(row, 0);
    }

    /// Adds a usable row at this line.
    pub(crate) fn add_at(&mut self, row: &Row<'_>, line: u64) {
        let example = match row {
            Row::Sentence(sentence) if self.task.is_own() => self.own_example(sentence),
            Row::Sentence(sentence) => example(sentence).and_then(|e| self.positions.put(e, sentence.target)),
            _ => Err("no sentence with a masked verb"),
        };
        let example = match example {
            Ok(example) => example,
            Err(reason) => {
                self.conversion.unsuited += 1;
                return self.conversion.leave_out(reason, line);
            }
        };
        if !self.seen.insert((example.text.clone(), [example.place, example.read])) {
            self.conversion.repeated += 1;
            return self.conversion.leave_out(REPEATED, line);
        }
        self.conversion.taken += 1;
        if !self.task.is_own() {
            self.counts[usize::from(example.zc)][example.ze.map_or(0, |z| 1 + usize::from(z))] += 1.0;
        }
        self.examples.push(example);
    }

    /// Sets the positions at which hidden states are changed and read.
    pub(crate) fn reading_at(self, positions: Positions) -> Self {
        Self { positions, ..self }
    }

    /// Converts a row with the file's own labels; the error names what is missing.
    fn own_example(&self, sentence: &Sentence<'_>) -> Result<Example, &'static str> {
        let value = |p: &Property| {
            let label = label(sentence, p.id)?;
            p.values.iter().position(|v| *v == label).and_then(|i| u8::try_from(i).ok())
        };
        let [target, _] = &self.task.properties;
        let zc = value(target).ok_or("the target has no value")?;
        let forms = match (&sentence.choice, target.values.len()) {
            // In rows with forms and a user's labels, the correct form comes first.
            (Some([right, other]), 2) if zc == 0 => [right.to_string(), other.to_string()],
            (Some([right, other]), 2) => [other.to_string(), right.to_string()],
            // In agreement rows, the singular comes first.
            _ => match (&sentence.forms, target.values) {
                (Some([singular, plural]), ["Pl", "Sg"]) => [plural.to_string(), singular.to_string()],
                _ => Default::default(),
            },
        };
        let prefix = match sentence.text.matches(MASK).count() {
            1 => sentence.text.split_once(MASK).map_or("", |(b, _)| b),
            _ => &*sentence.text,
        };
        let example = Example {
            prefix: prefix.trim_end().to_owned(),
            text: sentence.text.to_string(),
            forms,
            zc,
            ze: None,
            animacy: None,
            twin: None,
            own: self.task.labelled().skip(1).map(value).collect(),
            place: None,
            read: None,
        };
        self.positions.put(example, sentence.target)
    }

    pub fn len(&self) -> usize {
        self.examples.len()
    }

    /// True if no usable row has been added.
    pub fn is_empty(&self) -> bool {
        self.examples.is_empty()
    }

    /// Returns the examples with their observed frequencies, and the row counts. The seed is 0 because nothing is drawn at random.
    ///
    /// # Errors
    /// [`ConversionError`] if no row is usable or a subject number never occurs.
    pub fn finish(self) -> Result<(ExampleSet, Conversion), ConversionError> {
        if self.examples.is_empty() {
            let why = self.conversion.reasons.iter().max_by_key(|(_, l)| l.count).map_or("no row", |(why, _)| *why);
            let unsuited = self.conversion.unsuited;
            return Err(match self.task.is_own() {
                true => ConversionError::NoneOwn { unsuited, why },
                false => ConversionError::None { unsuited, why },
            });
        }
        // These are the frequencies of agreement sentences; tasks from a user's file ignore them.
        let frequencies =
            if self.task.is_own() { Frequencies::natural() } else { Frequencies::from_cells(self.counts)? };
        Ok((ExampleSet::of(self.task, 0, frequencies, self.examples), self.conversion))
    }
}

/// Returns the index of a label among the values of a property.
fn index(property: &str, label: &str) -> Option<u8> {
    let named = |p: &&Property| p.id == property;
    let values = TASKS.iter().flat_map(Task::labelled).find(named).map(|p| p.values)?;
    values.iter().position(|v| *v == label).and_then(|i| u8::try_from(i).ok())
}

/// Converts a sentence; the error names what is missing.
fn example(sentence: &Sentence<'_>) -> Result<Example, &'static str> {
    let (before, after) = sentence.text.split_once(MASK).ok_or("no [MASK] in the text")?;
    if after.contains(MASK) {
        return Err("more than one [MASK] in the text");
    }
    let [singular, plural] = sentence.forms.as_ref().ok_or("not exactly two forms for the mask")?;
    if singular == plural {
        return Err("both forms are the same");
    }
    let label = |name: &str| sentence.labels.as_ref().and_then(|l| l.get(name));
    let zc = label("subject_number").ok_or("no label `subject_number`")?;
    let zc = index("subject_number", zc).ok_or("`subject_number` is neither Sg nor Pl")?;
    // A label with an invalid value is an error, not a missing label.
    let read = |name: &str, problem: &'static str| match label(name) {
        Some(label) => index(name, label).ok_or(problem).map(Some),
        None => Ok(None),
    };
    let ze = read("attractor_number", "`attractor_number` is neither Sg nor Pl")?;
    let animacy = read("subject_animacy", "`subject_animacy` is not human, animal or inanimate")?;
    let twin = sentence.twin.as_ref().map(|t| t.to_string());
    if twin.as_ref().is_some_and(|t| t.matches(MASK).count() != 1 || *t == *sentence.text) {
        return Err("`twin` must be a different text with one [MASK]");
    }
    Ok(Example {
        text: sentence.text.to_string(),
        prefix: before.trim_end().to_owned(),
        forms: [singular.to_string(), plural.to_string()],
        zc,
        ze,
        animacy,
        twin,
        own: Vec::new(),
        place: None,
        read: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::readers::{Labels, Text};

    fn row(text: &'static str, subject: &'static str, attractor: Option<&'static str>) -> Row<'static> {
        let mut labels: Vec<(Text, Text)> = vec![("subject_number".into(), subject.into())];
        labels.extend(attractor.map(|a| ("attractor_number".into(), a.into())));
        Row::Sentence(Sentence {
            text: text.into(),
            labels: Some(Labels(labels)),
            forms: Some(["is".into(), "are".into()]),
            ..Sentence::default()
        })
    }

    #[test]
    fn sentences_become_examples_and_drops_are_counted() {
        let mut collector = Collector::default();
        collector.add(&row("The keys to the cabinet [MASK] here .", "Pl", Some("Sg")));
        collector.add(&row("The dog [MASK] here .", "Sg", None));
        collector.add(&row("The dog [MASK] there .", "Sg", None));
        collector.add(&row("The dog [MASK] here .", "Sg", None));
        collector.add(&row("The dog is here .", "Sg", None));
        collector.add(&row("The cat [MASK] here .", "dual", None));
        collector.add(&row("The cats [MASK] here .", "Pl", Some("dual")));
        let (set, conversion) = collector.finish().unwrap();
        assert_eq!((conversion.taken, conversion.unsuited, conversion.repeated), (3, 3, 1));
        let reasons: Vec<(&str, u64)> = conversion.reasons.iter().map(|(why, l)| (*why, l.count)).collect();
        assert_eq!(
            reasons,
            [
                ("`attractor_number` is neither Sg nor Pl", 1),
                ("`subject_number` is neither Sg nor Pl", 1),
                ("no [MASK] in the text", 1),
                (REPEATED, 1),
            ]
        );
        let first = &set.examples[0];
        assert_eq!((first.prefix.as_str(), first.zc, first.ze), ("The keys to the cabinet", 1, Some(0)));
        assert_eq!(first.filled(&first.forms[1]), "The keys to the cabinet are here .");
        assert_eq!(set.frequencies.cells(), [[2.0 / 3.0, 0.0, 0.0], [0.0, 1.0 / 3.0, 0.0]]);
        assert_eq!((set.task, set.hash.len()), ("agreement", 64));
    }

    /// Regression: if several rows marked different words of the same sentence, all but the first used to be lost.
    #[test]
    fn rows_differing_only_in_the_marked_word_are_distinct() {
        let marked = |from: u32, to: u32| {
            let Row::Sentence(s) = row("The keys to the cabinet [MASK] here .", "Pl", Some("Sg")) else {
                unreachable!()
            };
            Row::Sentence(Sentence { target: Some([from, to]), ..s })
        };
        for (changed, read, taken) in
            [(Position::Marked, None, 2), (Position::Mask, Some(Position::Marked), 2), (Position::Mask, None, 1)]
        {
            let mut collector = Collector::default().reading_at(Positions { changed, read });
            [(4, 8), (16, 23), (4, 8)].into_iter().for_each(|(from, to)| collector.add(&marked(from, to)));
            assert_eq!((collector.conversion.taken, collector.conversion.repeated), (taken, 3 - taken), "{changed:?}");
        }
    }

    #[test]
    fn empty_and_single_number_sets_are_errors() {
        let error = Collector::default().finish().unwrap_err();
        assert!(error.to_string().contains("subject_number"), "{error}");
        let mut collector = Collector::default();
        collector.add(&row("The dog [MASK] here .", "Sg", None));
        assert!(matches!(collector.finish(), Err(ConversionError::OneSided(_))));
    }
}
