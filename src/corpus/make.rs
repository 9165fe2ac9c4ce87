//! Writes built-in sets as text for use outside this program: SentEval tables, JSON lines in the format of the rationale benchmark or of
//! LAMA, and plain rows. [`super::readers`] parses all of them.

use std::collections::HashSet;

use serde_json::json;
use thiserror::Error;

use super::facts::{self, Fact, FactsError, OBJECT, Relation};
use super::probing::{ProbingError, ProbingTask};
use super::rationales::{self, Instance, Language, TemplateError};
use super::readers::{Row, Sentence, Split, plain};
use super::sample::{Allocation, Sampler};
use super::sets::{self, BuiltIn, Draw, Maker, SetError};
use super::task::{MASK, Task};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// Probity's JSON lines ([`plain`]).
    Plain,
    /// `tr|va|te <tab> label <tab> text`.
    SentEval,
    /// JSON lines with the rationale benchmark's keys.
    Rationale,
    /// JSON lines with LAMA's keys.
    Lama,
}

impl Layout {
    /// Name on the command line, which is also the name of the reader's format.
    pub fn id(self) -> &'static str {
        match self {
            Layout::Plain => "plain",
            Layout::SentEval => "senteval",
            Layout::Rationale => "rationale",
            Layout::Lama => "lama",
        }
    }
}

/// Returns the layouts available for a set, the default first.
pub fn layouts(set: &BuiltIn) -> &'static [Layout] {
    match set.maker {
        Maker::Task(_) => &[Layout::Plain],
        Maker::Probing(_) => &[Layout::SentEval, Layout::Plain],
        Maker::Facts => &[Layout::Plain, Layout::Lama],
        Maker::Rationales(_) => &[Layout::Rationale, Layout::Plain],
    }
}

/// A row and its text in some layout.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    pub row: Row<'static>,
    /// Text without the line end.
    pub text: String,
}

impl Line {
    fn plain(row: Row<'_>) -> Self {
        let row = row.into_owned();
        Self { text: plain::line(&row), row }
    }
}

/// Reasons why a set cannot be written.
#[derive(Debug, Error)]
pub enum MakeError {
    /// The sample cannot be drawn.
    #[error(transparent)]
    Set(#[from] SetError),
    /// More rows were requested than a set of fixed size has.
    #[error("`{set}` has {found} {what}, not {wanted}; request fewer, or omit the number to get all")]
    Size {
        set: &'static str,
        wanted: usize,
        found: usize,
        /// Unit counted.
        what: &'static str,
    },
}

impl From<ProbingError> for MakeError {
    fn from(e: ProbingError) -> Self {
        SetError::from(e).into()
    }
}

impl From<FactsError> for MakeError {
    fn from(e: FactsError) -> Self {
        SetError::from(e).into()
    }
}

impl From<TemplateError> for MakeError {
    fn from(e: TemplateError) -> Self {
        SetError::from(e).into()
    }
}

/// Default number of examples for a set that can be drawn in any size. Divided as in SentEval, these are 10,000 for training and 1,000 each
/// for validation and testing.
pub(crate) const USUAL: usize = 12_000;

/// Generates the lines of a set. `n` is the number of sentences, of facts (equally many per relation), or of originals in the rationale
/// benchmark (equally many per dimension; their partners are added). Without `n`, sets of fixed size are written completely, and others get
/// [`USUAL`] examples.
pub fn lines(set: &BuiltIn, layout: Layout, n: Option<usize>, seed: u64) -> Result<Vec<Line>, MakeError> {
    match set.maker {
        Maker::Task(task) => agreement(task, n.unwrap_or(USUAL), seed),
        Maker::Probing(task) => probing(task, layout, n.unwrap_or(USUAL), seed),
        Maker::Facts => knowledge(set.id, layout, n, seed),
        Maker::Rationales(language) => benchmark(set.id, language, layout, n, seed),
    }
}

/// Draws sentences at the natural frequencies, as the lab does, so that a run on these rows gives the same results as a run on the task.
fn agreement(task: &Task, n: usize, seed: u64) -> Result<Vec<Line>, MakeError> {
    let draw = Draw { examples: n, seed, phi: None };
    let frequencies = draw.frequencies().map_err(SetError::from)?;
    let set = task.examples(n, seed, &frequencies).map_err(SetError::from)?;
    Ok(set.examples.iter().map(|e| Line::plain(sets::agreement(task, e))).collect())
}

fn probing(task: &ProbingTask, layout: Layout, n: usize, seed: u64) -> Result<Vec<Line>, MakeError> {
    let set = task.examples(n, seed)?;
    let splits = set.splits();
    let lines = set.examples.into_iter().zip(splits).map(|(e, split)| {
        let label = task.labels.get(e.label).copied().unwrap_or_default();
        let part = match split {
            Split::Train => "tr",
            Split::Validation => "va",
            Split::Test => "te",
        };
        let table = (layout == Layout::SentEval).then(|| format!("{part}\t{label}\t{}", e.text));
        let row = Row::Sentence(Sentence {
            text: e.text.into(),
            split: Some(split),
            label: Some(label.into()),
            ..Sentence::default()
        });
        Line { text: table.unwrap_or_else(|| plain::line(&row)), row }
    });
    Ok(lines.collect())
}

/// Returns the lines of a set of facts. The plain layout also includes relations and prompts.
fn knowledge(set: &'static str, layout: Layout, n: Option<usize>, seed: u64) -> Result<Vec<Line>, MakeError> {
    let mut relations = facts::relations()?;
    if let Some(wanted) = n {
        let found = relations.iter().map(|r| r.facts.len()).sum();
        if wanted > found {
            return Err(MakeError::Size { set, wanted, found, what: "facts" });
        }
        let mut sampler = Sampler::new(wanted, seed);
        for (r, relation) in relations.iter().enumerate() {
            relation.facts.iter().for_each(|f| sampler.add(&relation.id, || (r, f.clone())));
        }
        let drawn = sampler.finish(Allocation::Balanced);
        relations.iter_mut().for_each(|r| r.facts.clear());
        drawn.into_iter().for_each(|(r, fact)| relations[r].facts.push(fact));
        relations.retain(|r| !r.facts.is_empty());
    }
    let mut lines = Vec::new();
    for relation in &relations {
        if layout == Layout::Lama {
            lines.extend(relation.facts.iter().map(|f| lama(relation, f)));
        } else {
            let _ = sets::relation(relation, &mut |row| {
                lines.push(Line::plain(row));
                std::ops::ControlFlow::Continue(())
            });
        }
    }
    Ok(lines)
}

/// Writes a fact with LAMA's keys and the relation's first prompt as its sentence.
fn lama(relation: &Relation, fact: &Fact) -> Line {
    let context = relation.asked(0, &fact.subject).replacen(OBJECT, MASK, 1);
    let value = json!({
        "predicate_id": relation.id, "sub_label": fact.subject, "sub_aliases": fact.aliases,
        "obj_label": fact.object, "masked_sentences": [context],
    });
    let row = sets::fact(&relation.id, fact).into_owned();
    Line { text: plain::escaped(value.to_string()), row }
}

fn benchmark(
    set: &'static str,
    language: Language,
    layout: Layout,
    n: Option<usize>,
    seed: u64,
) -> Result<Vec<Line>, MakeError> {
    let mut instances = rationales::benchmark(language, seed)?;
    if let Some(wanted) = n {
        let originals = || instances.iter().filter(|i| i.ori_id.is_none());
        let found = originals().count();
        if wanted > found {
            return Err(MakeError::Size { set, wanted, found, what: "originals" });
        }
        let mut sampler = Sampler::new(wanted, seed);
        originals().for_each(|i| sampler.add(&format!("{:?}", i.dimension), || i.sent_id));
        let kept: HashSet<u64> = sampler.finish(Allocation::Balanced).into_iter().collect();
        instances.retain(|i| kept.contains(&i.ori_id.unwrap_or(i.sent_id)));
    }
    let line = |i: &Instance| {
        let row = sets::rationale(i).into_owned();
        let text = match layout {
            // Strings, numbers and lists of them always serialize.
            Layout::Rationale => plain::escaped(serde_json::to_string(i).unwrap_or_default()),
            _ => plain::line(&row),
        };
        Line { row, text }
    };
    Ok(instances.iter().map(line).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::ops::ControlFlow;
    use std::path::Path;

    use super::*;
    use crate::agreement::Collector;
    use crate::micro::frequencies::Frequencies;
    use crate::readers::{Reading, Report};

    fn read(lines: &[Line]) -> (&'static str, Vec<Row<'static>>, Report) {
        let text: String = lines.iter().map(|l| format!("{}\n", l.text)).collect();
        let source = Box::new(std::io::Cursor::new(text.into_bytes()));
        let reading = Reading::stream(source, Path::new("made.txt")).unwrap();
        let format = reading.format().id;
        let mut rows = Vec::new();
        let report = reading
            .rows(&mut |row, _| {
                rows.push(row.into_owned());
                ControlFlow::Continue(())
            })
            .unwrap();
        (format, rows, report)
    }

    #[test]
    fn every_set_round_trips_in_every_layout() {
        let mut seen = 0;
        for set in sets::built_in() {
            for layout in layouts(&set) {
                for n in [None, Some(60)] {
                    // The default size would take too long.
                    let n = n.or_else(|| set.is_drawn().then_some(360));
                    let made = lines(&set, *layout, n, 7).unwrap();
                    assert_eq!(made, lines(&set, *layout, n, 7).unwrap(), "seeded");
                    let (format, rows, report) = read(&made);
                    assert_eq!((format, report.dropped.total()), (layout.id(), 0), "{}: {report:?}", set.id);
                    assert_eq!(rows.len(), made.len(), "{}", set.id);
                    for (row, line) in rows.iter().zip(&made) {
                        // LAMA's layout adds a context.
                        if *layout != Layout::Lama {
                            assert_eq!(*row, line.row, "{}", line.text);
                        }
                    }
                    seen += 1;
                }
            }
        }
        assert!(seen > 30, "{seen}");
    }

    #[test]
    fn probing_tasks_are_balanced_in_every_part() {
        for set in sets::built_in().filter(|s| s.is_drawn() && s.task().is_none()) {
            let mut counts: BTreeMap<(Option<&str>, String), usize> = BTreeMap::new();
            for line in lines(&set, Layout::SentEval, Some(1_200), 3).unwrap() {
                let Row::Sentence(s) = &line.row else { panic!("{}", line.text) };
                let label = s.label.as_ref().unwrap().to_string();
                *counts.entry((s.split.map(Split::name), label)).or_default() += 1;
            }
            for (part, n) in [("train", 1_000), ("validation", 100), ("test", 100)] {
                let of: Vec<usize> = counts.iter().filter(|((p, _), _)| *p == Some(part)).map(|(_, n)| *n).collect();
                assert_eq!(of.iter().sum::<usize>(), n, "{}: {counts:?}", set.id);
                let (least, most) = (of.iter().min().unwrap(), of.iter().max().unwrap());
                assert!(most - least <= 2, "{} {part}: {of:?}", set.id);
            }
        }
    }

    #[test]
    fn sample_is_balanced_and_keeps_partners_together() {
        let facts = BuiltIn::named("facts").unwrap();
        let mut of: BTreeMap<String, usize> = BTreeMap::new();
        for line in lines(&facts, Layout::Lama, Some(390), 1).unwrap() {
            let Row::Fact(fact) = &line.row else { panic!("{}", line.text) };
            *of.entry(fact.relation.as_ref().unwrap().to_string()).or_default() += 1;
            assert!(line.text.contains("[MASK]"), "{}", line.text);
        }
        assert!(of.len() == 39 && of.values().all(|n| *n == 10), "{of:?}");
        let english = BuiltIn::named("rationales-en").unwrap();
        let made = lines(&english, Layout::Plain, Some(50), 1).unwrap();
        let (mut originals, mut dimensions) = (0, BTreeMap::<String, usize>::new());
        let ids: Vec<String> = made
            .iter()
            .map(|l| match &l.row {
                Row::Rationale(r) => r.id.as_ref().unwrap().to_string(),
                other => panic!("{other:?}"),
            })
            .collect();
        for line in &made {
            let Row::Rationale(r) = &line.row else { continue };
            assert!(r.partners.iter().flatten().chain(&r.perturbs).all(|p| ids.contains(&p.to_string())));
            if r.perturbs.is_none() {
                originals += 1;
                *dimensions.entry(r.dimension.as_ref().unwrap().to_string()).or_default() += 1;
            }
        }
        assert!(originals == 50 && dimensions.len() == 5 && dimensions.values().all(|n| *n == 10));
        for (set, what) in [("facts", "2221 facts"), ("rationales-zh", "originals")] {
            let set = BuiltIn::named(set).unwrap();
            let error = lines(&set, layouts(&set)[0], Some(1_000_000), 0).unwrap_err().to_string();
            assert!(error.contains(what) && error.contains(set.id), "{error}");
        }
    }

    /// A run on the file gives the same results as a run on the task.
    #[test]
    fn agreement_rows_match_the_task() {
        let set = BuiltIn::named("agreement").unwrap();
        let mut collector = Collector::default();
        read(&lines(&set, Layout::Plain, Some(300), 4).unwrap()).1.iter().for_each(|row| collector.add(row));
        let (made, _) = collector.finish().unwrap();
        let task = set.task().unwrap().examples(300, 4, &Frequencies::natural()).unwrap();
        assert_eq!((made.hash, made.examples), (task.hash, task.examples));
    }
}
