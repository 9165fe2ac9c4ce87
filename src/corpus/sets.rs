//! Data sets from all sources: built-in sets by name and others by path, read row by row.
//!
//! Sentences of built-in tasks have the same form as rows from readers, so callers need not distinguish them. A name in [`built_in`] refers
//! to the built-in set, while `./name` refers to a file.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::facts::{self, FactsError};
use super::micro::frequencies::{Frequencies, FrequencyError};
use super::probing::{PROBING, ProbingError, ProbingTask};
use super::rationales::{self, Instance, Language, TemplateError};
use super::readers::{
    Fact, Labels, Prompt, Rationale, ReadError, Relation, RelationKind, Report, Row, Sentence, Set, Text, Watch,
};
use super::task::{Example, ExampleSet, TASKS, Task, TaskError};

/// Size and seed of a generated set.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Draw {
    pub examples: usize,
    pub seed: u64,
    /// Correlation between a task's two properties; `None` for the natural frequencies.
    pub phi: Option<f64>,
}

impl Draw {
    /// Returns the joint frequencies of a task's two properties.
    ///
    /// # Errors
    /// [`FrequencyError`] if the correlation is impossible.
    pub fn frequencies(&self) -> Result<Frequencies, FrequencyError> {
        self.phi.map_or(Ok(Frequencies::natural()), Frequencies::with_phi)
    }
}

#[derive(Debug, Clone, Copy)]
pub struct BuiltIn {
    pub id: &'static str,
    pub title: &'static str,
    pub(super) maker: Maker,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Maker {
    Task(&'static Task),
    Probing(&'static ProbingTask),
    Facts,
    Rationales(Language),
}

/// Returns all built-in sets: the first task, the facts, the probing tasks, the rationales, then the other tasks.
pub fn built_in() -> impl Iterator<Item = BuiltIn> {
    let mut tasks = TASKS.iter().map(|t| BuiltIn { id: t.id, title: t.title, maker: Maker::Task(t) });
    let facts = BuiltIn { id: "facts", title: "facts of 39 relations", maker: Maker::Facts };
    let probing = PROBING.iter().map(|t| BuiltIn { id: t.id, title: t.title, maker: Maker::Probing(t) });
    let rationales = Language::ALL.map(|language| {
        let (id, title) = match language {
            Language::English => ("rationales-en", "rationale benchmark, English"),
            Language::Chinese => ("rationales-zh", "rationale benchmark, Chinese"),
        };
        BuiltIn { id, title, maker: Maker::Rationales(language) }
    });
    tasks.next().into_iter().chain([facts]).chain(probing).chain(rationales).chain(tasks)
}

/// Reasons why a set cannot be read or drawn.
#[derive(Debug, Error)]
pub enum SetError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Task(#[from] TaskError),
    #[error(transparent)]
    Frequency(#[from] FrequencyError),
    #[error(transparent)]
    Probing(#[from] ProbingError),
    #[error(transparent)]
    Facts(#[from] FactsError),
    #[error(transparent)]
    Template(#[from] TemplateError),
}

impl BuiltIn {
    pub fn named(name: &str) -> Option<BuiltIn> {
        built_in().find(|b| b.id == name)
    }

    /// True if a set of any size can be drawn.
    pub fn is_drawn(&self) -> bool {
        matches!(self.maker, Maker::Task(_) | Maker::Probing(_))
    }

    /// Returns the task that generates the set, if any.
    pub fn task(&self) -> Option<&'static Task> {
        if let Maker::Task(task) = self.maker { Some(task) } else { None }
    }

    /// Returns the number of rows in a set of fixed size; `None` for other sets. A test checks these numbers.
    pub fn fixed_rows(&self) -> Option<u64> {
        match self.maker {
            Maker::Task(_) | Maker::Probing(_) => None,
            Maker::Facts => Some(FACT_ROWS),
            Maker::Rationales(Language::English) => Some(ENGLISH_ROWS),
            Maker::Rationales(Language::Chinese) => Some(CHINESE_ROWS),
        }
    }

    /// Passes all rows to the sink; returns their number and, for generated sets, the content hash.
    fn rows(&self, draw: &Draw, sink: &mut Sink<'_>) -> Result<(u64, Option<String>), SetError> {
        let mut count = 0;
        let mut next = |row: Row<'_>| {
            count += 1;
            sink(0, row, count)
        };
        let mut hash = None;
        match self.maker {
            Maker::Task(task) => {
                let set = task.examples(draw.examples, draw.seed, &draw.frequencies()?)?;
                let _ = set.examples.iter().try_for_each(|e| next(agreement(task, e)));
                hash = Some(set.hash);
            }
            Maker::Probing(task) => {
                let set = task.examples(draw.examples, draw.seed)?;
                let row = |(e, split): (&super::probing::Labelled, super::readers::Split)| {
                    let label = task.labels.get(e.label).copied().unwrap_or_default();
                    next(Row::Sentence(Sentence {
                        text: e.text.clone().into(),
                        label: Some(label.into()),
                        split: Some(split),
                        ..Sentence::default()
                    }))
                };
                let _ = set.examples.iter().zip(set.splits()).try_for_each(row);
                hash = Some(set.hash);
            }
            Maker::Facts => {
                let _ = facts::relations()?.iter().try_for_each(|r| relation(r, &mut next));
            }
            Maker::Rationales(language) => {
                let instances = rationales::benchmark(language, draw.seed)?;
                let _ = instances.iter().try_for_each(|i| next(rationale(i)));
            }
        }
        Ok((count, hash))
    }
}

const FACT_ROWS: u64 = 2572;
const ENGLISH_ROWS: u64 = 2449;
const CHINESE_ROWS: u64 = 720;

type Sink<'s> = dyn FnMut(usize, Row<'_>, u64) -> ControlFlow<()> + 's;

pub(super) fn agreement<'e>(task: &Task, example: &'e Example) -> Row<'e> {
    let named = task.labelled().filter_map(|p| {
        let value = p.values.get(usize::from(p.of(example)?))?;
        Some((p.id.into(), (*value).into()))
    });
    Row::Sentence(Sentence {
        text: example.text.as_str().into(),
        labels: Some(Labels(named.collect())),
        forms: Some([example.forms[0].as_str().into(), example.forms[1].as_str().into()]),
        twin: example.twin.as_deref().map(Text::from),
        ..Sentence::default()
    })
}

/// Passes a relation, its prompts and its facts as rows.
pub(super) fn relation(
    relation: &facts::Relation,
    next: &mut impl FnMut(Row<'_>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let id: Text<'_> = relation.id.as_str().into();
    next(Row::Relation(Relation {
        relation: id.clone(),
        templates: relation.prompts.iter().map(|p| p.as_str().into()).collect(),
        name: Some(relation.label.as_str().into()),
        kind: Some(match relation.kind {
            facts::Kind::OneToOne => RelationKind::OneToOne,
            facts::Kind::ManyToOne => RelationKind::ManyToOne,
        }),
        answers: None,
    }))?;
    for prompt in &relation.prompts {
        next(Row::Prompt(Prompt {
            relation: Some(id.clone()),
            prompt: prompt.as_str().into(),
            object_final: Some(true),
            ..Prompt::default()
        }))?;
    }
    for fact in &relation.facts {
        next(self::fact(&relation.id, fact))?;
    }
    ControlFlow::Continue(())
}

pub(super) fn fact<'f>(relation: &'f str, fact: &'f facts::Fact) -> Row<'f> {
    Row::Fact(Fact {
        relation: Some(relation.into()),
        subject: Some(fact.subject.as_str().into()),
        object: fact.object.as_str().into(),
        aliases: Some(fact.aliases.iter().map(|a| a.as_str().into()).collect()),
        ..Fact::default()
    })
}

/// Returns the `serde` spelling of a value.
fn spelled(value: impl Serialize) -> Option<Text<'static>> {
    serde_json::to_value(value).ok()?.as_str().map(|s| s.to_owned().into())
}

/// Converts an instance of the rationale benchmark to a row.
pub(super) fn rationale(instance: &Instance) -> Row<'_> {
    let index = |i: &usize| u32::try_from(*i).ok();
    let number = |n: &u64| Text::from(n.to_string());
    Row::Rationale(Rationale {
        id: Some(number(&instance.sent_id)),
        text: Some(instance.sent_text.as_str().into()),
        tokens: instance.sent_token.iter().map(|t| t.as_str().into()).collect(),
        rationales: vec![instance.rationale_ids.iter().filter_map(index).collect()],
        mask: index(&instance.mask_index),
        answer: Some(instance.answer.as_str().into()),
        other_answers: (!instance.other_answers.is_empty())
            .then(|| instance.other_answers.iter().map(|a| a.as_str().into()).collect()),
        dimension: spelled(instance.dimension),
        perturbs: instance.ori_id.as_ref().map(number),
        perturbation: instance.perturbation.and_then(spelled),
        partners: (!instance.rel_ids.is_empty()).then(|| instance.rel_ids.iter().map(number).collect()),
        alignment: instance
            .alignment
            .as_ref()
            .map(|pairs| pairs.iter().filter_map(|(a, b)| Some([index(a)?, index(b)?])).collect()),
        ..Rationale::default()
    })
}

/// A built-in set, or a set found on disk.
#[derive(Debug, Clone)]
pub struct Source {
    /// The set's title and its files, of which built-in sets have none.
    pub set: Set,
    /// The built-in set; `None` if the set is on disk.
    pub built_in: Option<BuiltIn>,
    draw: Draw,
}

#[derive(Debug, Clone, Default)]
pub struct Read {
    /// One report per file; a built-in set has a single one.
    pub reports: Vec<Report>,
    /// Content hash of a generated set.
    pub hash: Option<String>,
}

impl Source {
    /// Opens the built-in set of this name, or else the file or folder at this path.
    ///
    /// # Errors
    /// [`SetError::Read`] if a path cannot be read or `watch` stops the reading.
    pub fn open(name: &str, draw: Draw, watch: &Watch) -> Result<Self, SetError> {
        match BuiltIn::named(name) {
            Some(built_in) => {
                let set = Set {
                    root: PathBuf::from(name),
                    title: built_in.title.to_owned(),
                    files: Vec::new(),
                    left_out: Vec::new(),
                };
                Ok(Self { set, built_in: Some(built_in), draw })
            }
            None => Ok(Self { set: Set::open_watched(Path::new(name), watch)?, built_in: None, draw }),
        }
    }

    /// Reads the rows in order. The sink receives the file index, the row, and its line (or its number in a built-in set).
    ///
    /// # Errors
    /// [`SetError`] if a file is invalid or has no rows, a set cannot be drawn, or `watch` stops the reading.
    pub fn rows(&self, watch: &Watch, sink: &mut Sink<'_>) -> Result<Read, SetError> {
        let Some(built_in) = &self.built_in else {
            return Ok(Read { reports: self.set.rows_watched(watch, sink)?, hash: None });
        };
        let (rows, hash) = built_in.rows(&self.draw, sink)?;
        Ok(Read { reports: vec![Report { rows, pieces: rows, ..Report::default() }], hash })
    }

    /// Returns the examples from which a task's rows are generated; `None` for other sets.
    pub fn examples(&self) -> Result<Option<ExampleSet>, SetError> {
        let Some(task) = self.built_in.and_then(|b| b.task()) else { return Ok(None) };
        Ok(Some(task.examples(self.draw.examples, self.draw.seed, &self.draw.frequencies()?)?))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::rc::Rc;

    use super::*;
    use crate::agreement::Collector;
    use crate::readers::plain;

    const DRAW: Draw = Draw { examples: 400, seed: 3, phi: None };

    fn unwatched() -> Watch {
        Rc::new(|_| ControlFlow::Continue(()))
    }

    #[test]
    fn built_in_sets_have_unique_names_and_stated_rows() {
        let names: HashSet<_> = built_in().map(|b| b.id).collect();
        assert_eq!(names.len(), built_in().count());
        for b in built_in() {
            for seed in [0, 7] {
                let source = Source::open(b.id, Draw { seed, ..DRAW }, &unwatched()).unwrap();
                let mut seen = 0;
                let read = source
                    .rows(&unwatched(), &mut |_, row, line| {
                        seen += 1;
                        assert_eq!(line, seen);
                        assert!(!plain::line(&row).is_empty());
                        ControlFlow::Continue(())
                    })
                    .unwrap();
                println!("{}: {seen}", b.id);
                assert_eq!(read.reports[0].rows, seen);
                assert_eq!(seen, b.fixed_rows().unwrap_or(400), "{}", b.id);
                assert_eq!(read.hash.is_some(), b.is_drawn());
            }
        }
    }

    /// Converting the rows of a task back to examples restores the task's examples.
    #[test]
    fn agreement_rows_round_trip_to_examples() {
        let source = Source::open("agreement", DRAW, &unwatched()).unwrap();
        let mut collector = Collector::default();
        source
            .rows(&unwatched(), &mut |_, row, _| {
                collector.add(&row);
                ControlFlow::Continue(())
            })
            .unwrap();
        let (set, conversion) = collector.finish().unwrap();
        assert_eq!((conversion.taken, conversion.unsuited, conversion.repeated), (400, 0, 0));
        assert_eq!(set.examples, source.examples().unwrap().unwrap().examples);
    }

    #[test]
    fn sink_and_watch_can_stop_reading() {
        let source = Source::open("facts", DRAW, &unwatched()).unwrap();
        let read = source.rows(&unwatched(), &mut |_, _, _| ControlFlow::Break(())).unwrap();
        assert_eq!(read.reports[0].rows, 1);
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/rows/plain.jsonl");
        let stopped: Watch = Rc::new(|_| ControlFlow::Break(()));
        let error = Source::open(path, DRAW, &stopped).unwrap_err().to_string();
        assert!(error.contains("stopped"), "{error}");
        let source = Source::open(path, DRAW, &unwatched()).unwrap();
        assert!(source.rows(&stopped, &mut |_, _, _| ControlFlow::Continue(())).is_err());
    }

    #[test]
    fn unknown_name_error_contains_the_name() {
        let error = Source::open("/no/such/place", DRAW, &unwatched()).unwrap_err().to_string();
        assert!(error.contains("/no/such/place"), "{error}");
        let impossible = Draw { phi: Some(0.99), ..DRAW };
        let source = Source::open("agreement", impossible, &unwatched()).unwrap();
        let sink = &mut |_, _: Row<'_>, _| ControlFlow::Continue(());
        assert!(matches!(source.rows(&unwatched(), sink), Err(SetError::Frequency(_))));
    }
}
