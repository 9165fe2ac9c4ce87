//! Rows of single tokens, if states are changed or read at every token.
//!
//! The texts are split first, and the oracles' part is decorrelated by text, so no text has tokens in two parts or on both sides of a
//! validation. A part has the tokens that it needs: those that oracles read for training oracles and for tests, those that are changed for
//! training interventions. Each token has the labels of its text. All rows have equal weight, in training and in scores; a text longer than
//! the cap counts with as many rows as the cap. Probes are validated on one token of each text, because the choice among probe settings
//! counts independent examples.

use std::ops::Range;

use lab::examples::TaskSpec;
use lab::plan::{PropertyLabels, Roles, training_part};
use lab::stimuli::{Stimuli, Where};
use probe::split::SplitError;
use probe::{InterventionSplit, OracleSplit, Split};

/// Rows of an experiment: examples, or tokens of them.
pub(crate) struct Rows {
    pub stimuli: Stimuli,
    pub labels: PropertyLabels,
    pub split: Split,
    /// The texts of the rows, if these are tokens.
    pub texts: Option<Texts>,
}

/// Texts whose tokens are rows.
#[derive(Debug, Clone)]
pub(crate) struct Texts {
    split: Split,
    labels: PropertyLabels,
    /// The rows of each text.
    rows: Vec<Range<usize>>,
    /// Maximum number of rows of a text.
    pub per_text: usize,
    /// Number of tokens that are not rows, because of the caps.
    pub left_out: usize,
}

impl Rows {
    /// The rows of these texts: unchanged, unless the task takes every token.
    pub(crate) fn new(stimuli: Stimuli, labels: PropertyLabels, split: Split, task: &TaskSpec) -> Self {
        if !task.takes_every_token() {
            return Self { stimuli, labels, split, texts: None };
        }
        let mut at = vec![Where::Read; stimuli.list.len()];
        let part = split.intervention();
        part.train().iter().chain(part.validation()).for_each(|text| at[*text] = Where::Changed);
        let counts = stimuli.separate(|text| at[text]);
        let per_text = cap(&counts, &split, task);
        let (stimuli, rows) = stimuli.by_token(|text| at[text], per_text);
        let left_out = counts.iter().sum::<usize>() - stimuli.list.len();
        let text_of: Vec<usize> =
            rows.iter().enumerate().flat_map(|(text, rows)| rows.clone().map(move |_| text)).collect();
        let texts = Texts { split, labels, rows, per_text, left_out };
        let (labels, split) = (texts.labels.gather(&text_of), texts.split.expanded(&texts.rows));
        Self { stimuli, labels, split, texts: Some(texts) }
    }
}

/// The largest number of tokens per text, at most `task.tokens_per_text`, that keeps each part within `task.tokens_per_part` rows.
fn cap(counts: &[usize], split: &Split, task: &TaskSpec) -> usize {
    let (oracle, intervention) = (split.oracle(), split.intervention());
    let parts = [
        [oracle.train(), oracle.validation()].concat(),
        [intervention.train(), intervention.validation()].concat(),
        split.test().rows().to_vec(),
    ];
    let rows = |part: &Vec<usize>, most: usize| part.iter().map(|text| counts[*text].min(most)).sum::<usize>();
    let fits = |most: &usize| parts.iter().all(|part| rows(part, *most) <= task.tokens_per_part);
    let longest = counts.iter().copied().max().unwrap_or(1);
    (1..=task.tokens_per_text.min(longest)).rev().find(fits).unwrap_or(1)
}

/// The rows that train a property's oracle; see [`training_part`].
pub(crate) fn oracle_part(
    texts: Option<&Texts>,
    (split, labels): (&Split, &PropertyLabels),
    role: Roles,
    seed: u64,
) -> Result<OracleSplit, SplitError> {
    match texts {
        Some(texts) => Ok(training_part(texts.split.oracle(), &texts.labels, role, seed)?.validated_once(&texts.rows)),
        None => training_part(split.oracle(), labels, role, seed),
    }
}

impl Texts {
    /// The rows of the oracles' part before decorrelation.
    pub(crate) fn oracle(&self) -> OracleSplit {
        self.split.oracle().validated_once(&self.rows)
    }

    /// The rows that train interventions.
    pub(crate) fn intervention(&self) -> InterventionSplit {
        self.split.intervention().validated_once(&self.rows)
    }

    /// The text of each of `rows`, from 0, in order of appearance. The rows of a text are adjacent.
    pub(crate) fn number(&self, stimuli: &Stimuli, rows: &[usize]) -> Vec<usize> {
        let mut last = None;
        let mut count = 0;
        rows.iter()
            .map(|row| {
                let example = stimuli.list[*row].example;
                count += usize::from(last.is_some_and(|last| last != example));
                last = Some(example);
                count
            })
            .collect()
    }

    /// Numbers of texts in the parts of oracles, interventions and tests.
    pub(crate) fn parts(&self) -> [usize; 3] {
        let (oracle, intervention) = (self.split.oracle(), self.split.intervention());
        [
            oracle.train().len() + oracle.validation().len(),
            intervention.train().len() + intervention.validation().len(),
            self.split.test().rows().len(),
        ]
    }
}

#[cfg(test)]
mod tests;
