//! Externally computed predictions as JSON lines, one object per query and model. The same statistics are computed for them as for the
//! lab's answers: spread over prompts, stability, adjusted scores, rank consistency.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use corpus::readers::{ReadError, TextSource};
use corpus::results::truth;
use serde::{Deserialize, Deserializer};
use thiserror::Error;

use super::adjust::{Weights, adjusted};
use super::answers::{Answers, Shape};
use super::candidates::folded;
use super::consistency::Panel;
use super::exact::Exact;
use super::preference::{MENTIONS, stability};
use super::published::ScoreTable;

/// Maximum number of rows, which bounds memory.
const MOST_ROWS: usize = 16_000_000;
/// Maximum numbers of models, prompts per relation and mentions per instance, limited by the size of a key.
const MOST_NAMES: usize = 1 << 12;
/// Number that represents a missing word.
const UNSAID: u32 = u32::MAX >> 1;

#[derive(Debug, Error)]
pub enum PredictionError {
    /// The file is not text, or a row is too long or incomplete.
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("{}, line {line}: {what}", file.display())]
    Line {
        file: PathBuf,
        /// Line number, from 1.
        line: u64,
        /// The problem and the expected form.
        what: String,
    },
    #[error("{}: {what}", file.display())]
    File {
        file: PathBuf,
        /// The problem and the expected form.
        what: String,
    },
}

/// A name, given as text or number.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a name must be a text or a number")]
enum Name {
    Text(String),
    Number(serde_json::Number),
}

impl Name {
    fn text(self) -> String {
        match self {
            Name::Text(text) => text,
            Name::Number(n) => n.to_string(),
        }
    }
}

/// Right or wrong, given as a boolean, a number or a word.
#[derive(Deserialize)]
#[serde(untagged, expecting = "`correct` must be true, false, 1, 0, yes or no")]
enum Mark {
    Truth(bool),
    Number(f64),
    Word(String),
}

impl Mark {
    fn is_right(&self) -> Result<bool, String> {
        let found = match self {
            Mark::Truth(right) => return Ok(*right),
            Mark::Number(x) => (x.to_string(), (*x == 0.0 || *x == 1.0).then_some(*x == 1.0)),
            Mark::Word(word) => (base::text::shortened(word, 40), truth(word)),
        };
        let (shown, right) = found;
        right.ok_or_else(|| format!("`correct` is {shown}; expected true or false, 1 or 0, or yes or no"))
    }
}

/// Distinguishes null from a missing key.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<Name>>, D::Error> {
    Option::<Name>::deserialize(deserializer).map(Some)
}

/// A line of the file. Unknown keys are ignored.
#[derive(Deserialize)]
struct Row {
    #[serde(alias = "predicate_id")]
    relation: Option<Name>,
    model: Option<Name>,
    #[serde(alias = "template")]
    prompt: Option<Name>,
    #[serde(alias = "uuid")]
    instance: Option<Name>,
    #[serde(alias = "sub_label")]
    subject: Option<String>,
    mention: Option<Name>,
    #[serde(alias = "obj_label")]
    object: Option<String>,
    /// Null or empty if the model did not answer.
    #[serde(default, deserialize_with = "present")]
    prediction: Option<Option<Name>>,
    correct: Option<Mark>,
}

/// Numbered names, in order of appearance.
#[derive(Default)]
struct Names {
    list: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl Names {
    fn number(&mut self, name: &str) -> u32 {
        if let Some(n) = self.numbers.get(name) {
            return *n;
        }
        let n = self.list.len() as u32;
        self.list.push(name.to_owned());
        self.numbers.insert(name.to_owned(), n);
        n
    }
}

/// An instance during parsing.
#[derive(Default)]
struct Instance {
    mentions: Names,
    /// The number of the mention that equals the subject.
    original: Option<u32>,
}

/// A relation during parsing.
#[derive(Default)]
struct Gathered {
    prompts: Names,
    instances: Names,
    each: Vec<Instance>,
    /// By model, prompt, instance and mention: the predicted word, with the last bit set if it is right.
    cells: HashMap<u64, u32>,
}

fn key(model: u32, prompt: u32, instance: u32, mention: u32) -> u64 {
    u64::from(model) << 52 | u64::from(prompt) << 40 | u64::from(mention) << 28 | u64::from(instance)
}

/// Incomplete instances of a relation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    pub relation: String,
    pub instances: usize,
    /// The first problem found.
    pub reason: String,
}

/// One relation from the file.
#[derive(Debug, Clone)]
pub struct Asked {
    pub relation: String,
    /// The prompts, the original one first.
    pub prompts: Vec<String>,
    /// Answers by model.
    pub answers: Vec<Answers>,
    /// True if the file contains the answers themselves, not only whether they are right.
    pub said: bool,
}

#[derive(Debug, Clone, Default)]
pub struct Predictions {
    /// The models, in order of appearance.
    pub models: Vec<String>,
    /// The relations, restricted to instances that every model answered for every prompt.
    pub relations: Vec<Asked>,
    pub left_out: Vec<Missing>,
    /// Number of empty predictions, which count as wrong.
    pub unanswered: usize,
}

/// Parses predictions. `ignore_case` applies when predictions are compared with their objects.
///
/// # Errors
/// [`PredictionError`] with file, line, and the expected form.
pub fn read(from: &mut TextSource, ignore_case: bool) -> Result<Predictions, PredictionError> {
    let file = from.path().to_owned();
    let whole = |what: String| PredictionError::File { file: file.clone(), what };
    let (mut models, mut words, mut relations) = (Names::default(), Names::default(), Names::default());
    let mut gathered: Vec<Gathered> = Vec::new();
    let (mut rows, mut unanswered) = (0, 0);
    while let Some((line, text)) = from.next_row()? {
        rows += 1;
        let wrong = |what: String| PredictionError::Line { file: file.clone(), line, what };
        if rows > MOST_ROWS {
            return Err(wrong(format!("more than {MOST_ROWS} rows; use fewer relations")));
        }
        let row: Row = serde_json::from_str(&text).map_err(|e| wrong(message_of(&e)))?;
        let row = Query::of(row, ignore_case).map_err(wrong)?;
        unanswered += usize::from(row.is_unanswered);
        let model = models.number(&row.model);
        let relation = relations.number(&row.relation) as usize;
        gathered.resize_with(relations.list.len(), Gathered::default);
        if models.list.len() > MOST_NAMES {
            return Err(wrong(format!("more than {MOST_NAMES} models; is `model` the model's name?")));
        }
        let said = row.said.as_deref().map_or(UNSAID, |said| words.number(&folded(said, ignore_case)));
        gathered[relation].add(model, &row, said).map_err(wrong)?;
    }
    let mut found = Predictions { models: models.list, unanswered, ..Predictions::default() };
    for (relation, gathered) in relations.list.into_iter().zip(gathered) {
        gathered.finish(relation, &mut found);
    }
    if found.relations.is_empty() {
        let first = found.left_out.first();
        return Err(whole(match first {
            None => "contains no prediction; expected one JSON object per line".into(),
            Some(m) => {
                let what = "no instance has answers from all models to all prompts; for example,";
                format!("{what} {}: {}", m.relation, m.reason)
            }
        }));
    }
    Ok(found)
}

/// Serde's error message for a line, without the line number.
fn message_of(e: &serde_json::Error) -> String {
    let text = e.to_string();
    let what = text.split(" at line ").next().unwrap_or(&text);
    format!(
        "{what} (column {}); expected an object with relation, model, prompt, `instance` (or `subject`), and either \
         `correct` or both `prediction` and `object`",
        e.column()
    )
}

struct Query {
    relation: String,
    model: String,
    prompt: String,
    instance: String,
    subject: Option<String>,
    mention: Option<String>,
    said: Option<String>,
    is_unanswered: bool,
    right: bool,
}

impl Query {
    fn of(row: Row, ignore_case: bool) -> Result<Self, String> {
        let named = |name: Option<Name>, key: &str, fix: &str| {
            let text = name.map(Name::text).filter(|t| !t.trim().is_empty());
            text.ok_or_else(|| format!("no `{key}`; {fix}"))
        };
        let said = row.prediction.map(|said| said.map(Name::text).unwrap_or_default());
        let right = match (&row.correct, &said, &row.object) {
            (Some(mark), ..) => mark.is_right()?,
            (None, Some(said), Some(object)) => folded(said.trim(), ignore_case) == folded(object.trim(), ignore_case),
            _ => {
                return Err("no result; give `correct`, or `prediction` and `object`".into());
            }
        };
        let is_unanswered = row.correct.is_none() && said.as_ref().is_some_and(|said| said.trim().is_empty());
        let instance = match (row.instance, &row.subject) {
            (Some(name), _) => name.text(),
            // One subject can have several objects.
            (None, Some(subject)) => format!("{subject}\u{0}{}", row.object.as_deref().unwrap_or_default()),
            (None, None) => return Err("no `instance` and no `subject`; give one of them".into()),
        };
        Ok(Self {
            relation: named(row.relation, "relation", "give the relation")?,
            model: named(row.model, "model", "give the model")?,
            prompt: named(row.prompt, "prompt", "give the prompt or its number")?,
            instance,
            subject: row.subject,
            mention: row.mention.map(Name::text),
            said: said.map(|said| said.trim().to_owned()).filter(|said| !said.is_empty()),
            is_unanswered,
            right,
        })
    }
}

impl Gathered {
    fn add(&mut self, model: u32, row: &Query, said: u32) -> Result<(), String> {
        let prompt = self.prompts.number(&row.prompt);
        let instance = self.instances.number(&row.instance);
        self.each.resize_with(self.instances.list.len(), Instance::default);
        let each = &mut self.each[instance as usize];
        // Without a mention, the subject's own name was used.
        let usual = row.subject.as_deref().unwrap_or_default();
        let name = row.mention.as_deref().unwrap_or(usual);
        let mention = each.mentions.number(name);
        if row.mention.is_none() || Some(name) == row.subject.as_deref() {
            each.original = Some(mention);
        }
        if self.prompts.list.len() > MOST_NAMES || each.mentions.list.len() > MOST_NAMES {
            return Err(format!("more than {MOST_NAMES} prompts per relation or mentions per instance"));
        }
        let cell = said << 1 | u32::from(row.right);
        if self.cells.insert(key(model, prompt, instance, mention), cell).is_some() {
            return Err(format!(
                "a second answer from {} to `{}` for the same instance of {} and the same mention; remove one of them",
                row.model, row.prompt, row.relation
            ));
        }
        Ok(())
    }

    /// Keeps the instances that every model answered for every prompt and mention.
    fn finish(self, relation: String, found: &mut Predictions) {
        let (models, prompts) = (found.models.len() as u32, self.prompts.list.len() as u32);
        let (mut kept, mut counts) = (Vec::new(), Vec::new());
        let (mut lost, mut reason) = (0, None);
        for (i, each) in (0u32..).zip(&self.each) {
            match self.gap(i, each, models, prompts) {
                None => {
                    let first = each.original.unwrap_or(0);
                    let others = (0..each.mentions.list.len() as u32).filter(|x| *x != first);
                    let order: Vec<u32> = std::iter::once(first).chain(others).collect();
                    counts.push(order.len());
                    kept.push((i, order));
                }
                Some((m, p)) => {
                    lost += 1;
                    let prompt = &self.prompts.list[p as usize];
                    reason.get_or_insert_with(|| {
                        format!("{} has no answer to `{prompt}` for some mention", found.models[m as usize])
                    });
                }
            }
        }
        if let Some(reason) = reason {
            found.left_out.push(Missing { relation: relation.clone(), instances: lost, reason });
        }
        if kept.is_empty() {
            return;
        }
        let shape = Arc::new(Shape::new(prompts as usize, &counts));
        let mut known = true;
        let mut answers = Vec::new();
        for m in 0..models {
            let (mut said, mut right) = (Vec::new(), Vec::new());
            for p in 0..prompts {
                for (i, order) in &kept {
                    for x in order {
                        let cell = self.cells.get(&key(m, p, *i, *x)).copied().unwrap_or_default();
                        known &= cell >> 1 != UNSAID;
                        said.push(cell >> 1);
                        right.push(cell & 1 == 1);
                    }
                }
            }
            answers.push(Answers::new(shape.clone(), said, right));
        }
        found.relations.push(Asked { relation, prompts: self.prompts.list, answers, said: known });
    }

    /// The first combination of model and prompt that is missing for an instance.
    fn gap(&self, instance: u32, each: &Instance, models: u32, prompts: u32) -> Option<(u32, u32)> {
        let mentions = each.mentions.list.len() as u32;
        (0..models)
            .flat_map(|m| (0..prompts).map(move |p| (m, p)))
            .find(|(m, p)| (0..mentions).any(|x| !self.cells.contains_key(&key(*m, *p, instance, x))))
    }
}

impl Predictions {
    /// Number of complete instances.
    pub fn instances(&self) -> usize {
        self.relations.iter().map(|r| r.answers[0].shape.instances()).sum()
    }

    /// P@1 of every prompt with the original mentions, from 0 to 1.
    pub fn table(&self) -> ScoreTable {
        let of = |asked: &Asked| {
            let scores: Vec<Vec<f64>> = asked.answers.iter().map(Answers::p_at_1).collect();
            let prompts = asked.prompts.iter().enumerate();
            let rows = prompts.map(|(p, prompt)| (prompt.clone(), scores.iter().map(|s| Some(s[p])).collect()));
            (asked.relation.clone(), rows.collect())
        };
        ScoreTable {
            models: self.models.clone(),
            relations: self.relations.iter().map(of).collect(),
            fractions: true,
            missing: 0,
            small: 0,
        }
    }

    /// Each model's adjusted score with uniform weights, averaged over relations.
    pub fn adjusted(&self) -> Vec<f64> {
        let of = |asked: &Asked, k: usize| {
            let weights = Weights::uniform(asked.prompts.len());
            adjusted(&asked.answers[k], &weights).map_or(f64::NAN, Exact::value)
        };
        let mean = |k: usize| self.relations.iter().map(|a| of(a, k)).sum::<f64>() / self.relations.len() as f64;
        (0..self.models.len()).map(mean).collect()
    }

    /// Each model's verbalisation stability with the first prompt, averaged over relations; `None` if no instance has two mentions or if
    /// answers are missing.
    pub fn stability(&self) -> Vec<Option<f64>> {
        let of = |k: usize| {
            let each = self.relations.iter().filter(|a| a.said).map(|a| stability(&a.answers[k], 0, MENTIONS));
            let shares: Vec<f64> = each.filter(|s| s.kept > 0).map(|s| s.stable as f64 / s.kept as f64).collect();
            (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
        };
        (0..self.models.len()).map(of).collect()
    }

    pub fn panel(self) -> Panel {
        let mut panel = Panel::new(self.models.len());
        for asked in self.relations {
            let weights = Weights::uniform(asked.prompts.len());
            panel.push(asked.answers, &weights);
        }
        panel
    }
}

#[cfg(test)]
#[path = "predictions_tests.rs"]
mod tests;
