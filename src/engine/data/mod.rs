//! Questions about data sets and their answers: the contents of a set, its split, and the data doctor's findings. The terminal program and
//! the command line share this code.

mod parts;
mod vocabulary;

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

pub use parts::{PartCounts, Parts, parts};
pub use vocabulary::vocabulary;

use super::message::Progress;
use base::Problem;
use corpus::doctor::{Diagnosis, Doctor, Survey, Vocabulary};
use corpus::overview::Overview;
use corpus::readers::{Row, Watch};
use corpus::sets::{Draw, SetError, Source};
use labs::examples::TaskSpec;

/// Maximum number of lines in an answer, and of characters per line. Answers appear on the screen and in sessions.
const MAX_LINES: usize = 400;
const MAX_CHARS: usize = 2_000;
/// Number of example rows in an overview.
pub const EXAMPLES: usize = 8;
/// Maximum number of dropped rows that the doctor lists.
pub(crate) const DROPPED: usize = 40;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DataQuestion {
    /// Shows format, counts and first rows.
    Inspect,
    /// Lists unusable rows, with reasons.
    Doctor,
}

/// A question about a data set, with everything that affects the answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DataRequest {
    /// The name of a built-in set, or the path of a file or folder.
    pub set: String,
    pub question: DataQuestion,
    /// Size and properties of a generated set.
    pub task: TaskSpec,
    /// Seed for sampling and for the split.
    pub seed: u64,
    /// Models against whose vocabularies the doctor checks the words.
    pub models: Vec<String>,
}

impl DataRequest {
    pub fn of(task: &TaskSpec, seed: u64, models: &[String], set: &str, question: DataQuestion) -> Self {
        let models = if question == DataQuestion::Doctor { models.to_vec() } else { Vec::new() };
        let set = set.to_owned();
        Self { set, question, task: task.clone(), seed, models }
    }

    /// The sampling settings of a generated set.
    pub fn draw(&self) -> Draw {
        Draw { examples: self.task.examples, seed: self.seed, phi: self.task.phi }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DataInspection {
    pub title: String,
    /// Number of rows read.
    pub rows: u64,
    /// Number of unreadable rows.
    pub dropped: u64,
    pub blank: u64,
    /// Number of files that were skipped.
    pub left_out: u64,
    /// Wall-clock time in seconds.
    pub seconds: f64,
    /// Hash of the contents if the set is generated.
    pub hash: Option<String>,
    /// The counts, formatted for the command line.
    pub lines: Vec<String>,
    /// The split, if the set has examples of a task.
    pub parts: Option<Parts>,
    /// The first rows.
    pub examples: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DataDiagnosis {
    pub models: Vec<String>,
    /// Number of rows read.
    pub rows: u64,
    /// Number of usable rows.
    pub kept: u64,
    /// Number of rows that are readable but unusable.
    pub unfit: u64,
    /// Number of unreadable rows.
    pub unreadable: u64,
    /// Wall-clock time in seconds.
    pub seconds: f64,
    /// The report, formatted for the command line.
    pub lines: Vec<String>,
    /// The first dropped rows, each with the reason.
    pub examples: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DataDossier {
    pub set: String,
    pub inspection: Option<DataInspection>,
    pub diagnosis: Option<DataDiagnosis>,
    /// The reason why the latest question could not be answered.
    pub problem: Option<Problem>,
    /// Unanswered questions, oldest first.
    pub waiting: Vec<DataWaiting>,
    /// True if the latest question was cancelled.
    pub stopped: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DataWaiting {
    pub ticket: u64,
    pub question: DataQuestion,
    pub progress: Option<Progress>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum DataAnswer {
    Inspected(Box<DataInspection>),
    Examined(Box<DataDiagnosis>),
    Failed(Problem),
    Stopped,
}

impl DataDossier {
    /// Adds a question; it replaces an earlier question of the same kind.
    pub fn ask(&mut self, ticket: u64, question: DataQuestion) {
        self.waiting.retain(|w| w.question != question);
        self.waiting.push(DataWaiting { ticket, question, progress: None });
        self.stopped = false;
    }

    pub(crate) fn awaits(&self, ticket: u64) -> bool {
        self.waiting.iter().any(|w| w.ticket == ticket)
    }

    /// Records the answer to the question with this number.
    pub fn settle(&mut self, ticket: u64, answer: &DataAnswer) {
        self.waiting.retain(|w| w.ticket != ticket);
        self.problem = None;
        match answer {
            DataAnswer::Inspected(inspection) => self.inspection = Some((**inspection).clone()),
            DataAnswer::Examined(diagnosis) => self.diagnosis = Some((**diagnosis).clone()),
            DataAnswer::Failed(problem) => self.problem = Some(problem.clone()),
            DataAnswer::Stopped => self.stopped = true,
        }
    }
}

/// Runs the data doctor on a set. A set that may contain facts is read twice, because subjects with several objects must be known before
/// the first row can be judged. Lists up to `keep` dropped rows. `each` is called for every row and can stop the pass.
pub fn diagnose(
    source: &Source,
    models: Vec<Vocabulary<'_>>,
    keep: usize,
    watch: &Watch,
    each: &mut dyn FnMut() -> ControlFlow<()>,
) -> Result<Diagnosis, SetError> {
    let survey = Survey::of(source, watch, each)?;
    let mut doctor = Doctor::new(&source.set, models, keep).knowing(survey);
    let read = source.rows(watch, &mut |file, row: Row<'_>, line| {
        doctor.examine(file, &row, line);
        each()
    })?;
    Ok(doctor.finish(&source.set, &read.reports))
}

impl DataInspection {
    pub fn of(overview: &Overview, parts: Option<Parts>, seconds: f64) -> Self {
        Self {
            title: cut(&overview.title),
            rows: overview.rows,
            dropped: overview.dropped.total(),
            blank: overview.blank,
            left_out: overview.left_out.len() as u64,
            seconds,
            hash: overview.hash.clone(),
            lines: bounded(overview.lines()),
            parts,
            examples: bounded(overview.row_lines()),
        }
    }
}

impl DataDiagnosis {
    pub fn of(diagnosis: &Diagnosis, seconds: f64) -> Self {
        Self {
            models: diagnosis.models.iter().map(|m| m.model.clone()).collect(),
            rows: diagnosis.rows,
            kept: diagnosis.kept,
            unfit: diagnosis.dropped,
            unreadable: diagnosis.unread.total(),
            seconds,
            lines: bounded(diagnosis.lines(MAX_LINES)),
            examples: bounded(diagnosis.row_lines()),
        }
    }
}

fn bounded(mut lines: Vec<String>) -> Vec<String> {
    let more = lines.len().saturating_sub(MAX_LINES);
    lines.truncate(MAX_LINES);
    let mut lines: Vec<String> = lines.iter().map(|l| cut(l)).collect();
    if more > 0 {
        lines.push(format!("and {more} more lines; probity data shows them all"));
    }
    lines
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_CHARS) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// The problem to report if a set is not available.
pub fn problem(error: &SetError, set: &str) -> Problem {
    let (what, hint) = match error {
        SetError::Read(e) => {
            let line = e.line.map_or_else(String::new, |n| format!("line {n}: "));
            let place = e.file.display().to_string();
            // Here the location is a file inside the requested folder.
            let file = if place == set { String::new() } else { format!("{place}: ") };
            (format!("{file}{line}{}", e.what), format!("expected {}", e.expected))
        }
        SetError::Frequency(_) => (error.to_string(), "change φ in the settings".to_owned()),
        SetError::Task(_) | SetError::Probing(_) => {
            (error.to_string(), "reduce the number of examples in the settings".to_owned())
        }
        SetError::Facts(_) | SetError::Template(_) => {
            (error.to_string(), "this is a bug in Probity; please report it".to_owned())
        }
    };
    Problem::new(cut(&what), set, cut(&hint))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use corpus::readers::ReadError;

    #[test]
    fn answer_size_is_bounded() {
        let lines = bounded(vec!["é".repeat(10_000); 1_000]);
        assert_eq!(lines.len(), MAX_LINES + 1);
        assert_eq!(lines[0].chars().count(), MAX_CHARS + 1);
        assert!(lines[MAX_LINES].starts_with("and 600 more"));
        assert_eq!(bounded(vec!["a".into()]), ["a"]);
    }

    #[test]
    fn problem_names_file_and_line() {
        let error = SetError::Read(ReadError::line(Path::new("/d/a.txt"), 3, "half a row", "a whole one"));
        let told = problem(&error, "/d");
        assert_eq!(
            (told.what.as_str(), told.r#where.as_str(), told.hint.as_str()),
            ("/d/a.txt: line 3: half a row", "/d", "expected a whole one")
        );
        assert_eq!(problem(&error, "/d/a.txt").what, "line 3: half a row");
    }

    #[test]
    fn failure_keeps_earlier_details() {
        let models = ["bert-mini".to_owned()];
        let [inspect, doctor] = [DataQuestion::Inspect, DataQuestion::Doctor]
            .map(|question| DataRequest::of(&TaskSpec::default(), 0, &models, "facts", question));
        assert!(inspect.models.is_empty(), "only the doctor needs vocabularies");
        assert_eq!(doctor.models, models);
        let mut dossier = DataDossier { set: "facts".into(), ..DataDossier::default() };
        dossier.ask(4, inspect.question);
        assert!(dossier.awaits(4) && !dossier.awaits(3));
        dossier.settle(4, &DataAnswer::Stopped);
        assert!(dossier.stopped && dossier.waiting.is_empty());
        dossier.ask(4, inspect.question);
        assert!(!dossier.stopped);
        dossier.ask(5, doctor.question);
        dossier.ask(6, inspect.question);
        assert!(
            dossier.awaits(5) && dossier.awaits(6) && !dossier.awaits(4),
            "questions wait independently of each other"
        );
    }
}
