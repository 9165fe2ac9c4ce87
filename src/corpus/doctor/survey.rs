//! Subjects with several objects, collected before rows are examined. If `England` has the objects `Winchester` and `London`, neither fact
//! has a unique answer, whichever comes first.

use std::collections::HashMap;
use std::ops::ControlFlow;

use super::memory::{MOST, hash};
use crate::readers::{Fact, Row, Watch};
use crate::sets::{SetError, Source};

/// Formats that contain facts.
const FACTS: [&str; 6] = ["plain", "lama", "pararel-facts", "bear", "causaleval-samples", "bear-results"];

/// Subjects with several objects, stored as hashes.
#[derive(Debug, Default)]
pub struct Survey {
    /// File and line where each subject first has a second object.
    pub(super) several: HashMap<u64, (usize, u64)>,
    /// Hash of each subject's first object.
    first: HashMap<u64, u64>,
    full: bool,
}

impl Survey {
    /// True if files of the set may contain facts.
    pub fn is_needed(source: &Source) -> bool {
        source.built_in.is_some_and(|b| !b.is_drawn()) || source.set.files.iter().any(|f| FACTS.contains(&f.format.id))
    }

    /// Reads the set if it may contain facts.
    pub fn of(source: &Source, watch: &Watch, each: &mut dyn FnMut() -> ControlFlow<()>) -> Result<Self, SetError> {
        let mut survey = Self::default();
        if Self::is_needed(source) {
            source.rows(watch, &mut |file, row, line| {
                survey.add(file, &row, line);
                each()
            })?;
        }
        survey.first = HashMap::new();
        Ok(survey)
    }

    pub fn add(&mut self, file: usize, row: &Row<'_>, line: u64) {
        let Row::Fact(fact) = row else { return };
        let Some(key) = key(fact) else { return };
        let object = hash(fact.object.as_str());
        if self.first.len() >= MOST && !self.first.contains_key(&key) {
            self.full = true;
            return;
        }
        if *self.first.entry(key).or_insert(object) != object {
            self.several.entry(key).or_insert((file, line));
        }
    }

    /// True if there were too many subjects to compare them all.
    pub(super) fn is_full(&self) -> bool {
        self.full
    }
}

/// Returns the hash of a fact's relation and subject.
pub(super) fn key(fact: &Fact<'_>) -> Option<u64> {
    let name = fact.relation.as_deref().unwrap_or("(none)");
    Some(hash(&("subject", name, fact.subject.as_deref()?)))
}
