//! The examples of a run, generated or read from the spec's file, and the subset usable with a model.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::fault::Fault;
use super::spec::{Refuse, SpecError};
use super::stimuli::Stimuli;
use base::suggest::is_unknown;
use base::text::shortened;
use base::{Problem, Pulse};
use corpus::agreement::{Position, Positions};
use corpus::micro::frequencies::Frequencies;
use corpus::own::{self, Provenance};
use corpus::readers::Reading;
use corpus::task::{ExampleSet, TASKS, Task};
use model::{Long, Model};

/// Lower bound of `task.examples`. With fewer, a part of the split would have too few examples of the rarer property for training.
pub const FEWEST_EXAMPLES: usize = 400;
/// Upper bound of `task.examples`, so that a typing error cannot exhaust memory.
pub const MAX_EXAMPLES: usize = 2_000_000;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TaskSpec {
    /// Name in the task registry.
    pub name: String,
    /// A file with the examples, in place of generated ones; relative to the spec's file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// Folder of the spec's file. Not hashed, so that the hash does not depend on where the spec is stored.
    #[serde(skip)]
    pub base: PathBuf,
    /// Number of examples before the 40/40/20 split; with `data`, the maximum number used.
    pub examples: usize,
    /// Correlation (phi) of the target and the other property among examples that have both; `None` keeps the natural correlation.
    pub phi: Option<f64>,
    /// Name of the property to intervene on.
    pub target: String,
    /// Names of additional properties to preserve. Selectivity is then the mean over these and the other property.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// With `data`: names of the labels to preserve. `target` is then a label of the file too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keep: Vec<String>,
    /// The position at which hidden states are changed, and read unless `oracle_position` is set.
    #[serde(skip_serializing_if = "is_mask")]
    pub position: Position,
    /// The position at which oracles read, if different.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oracle_position: Option<Position>,
    /// Treatment of examples longer than the model's maximum length.
    #[serde(skip_serializing_if = "Long::is_drop")]
    pub long: Long,
    /// If states are read at every token: the maximum number of rows per text.
    #[serde(skip_serializing_if = "is_usual_text")]
    pub tokens_per_text: usize,
    /// If states are read at every token: the maximum number of rows in each part of the split. If necessary, fewer tokens of each text are
    /// used.
    #[serde(skip_serializing_if = "is_usual_part")]
    pub tokens_per_part: usize,
}

/// Default of `task.tokens_per_text`. With eight tokens per text, intervals are as narrow as with all of them; see `RESULTS.md`.
const TOKENS_PER_TEXT: usize = 8;
/// Default of `task.tokens_per_part`. With states of width 768, the rows of a part then take 150 MB.
const TOKENS_PER_PART: usize = 50_000;

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_usual_text(n: &usize) -> bool {
    *n == TOKENS_PER_TEXT
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_usual_part(n: &usize) -> bool {
    *n == TOKENS_PER_PART
}

fn is_mask(position: &Position) -> bool {
    *position == Position::Mask
}

impl Default for TaskSpec {
    fn default() -> Self {
        Self {
            name: "agreement".into(),
            data: None,
            base: PathBuf::new(),
            examples: 12_000,
            phi: None,
            target: "subject_number".into(),
            also: Vec::new(),
            keep: Vec::new(),
            position: Position::Mask,
            oracle_position: None,
            long: Long::Drop,
            tokens_per_text: TOKENS_PER_TEXT,
            tokens_per_part: TOKENS_PER_PART,
        }
    }
}

impl TaskSpec {
    /// True if the target and the properties to preserve are labels in the spec's file instead of properties of a built-in task.
    pub fn is_own(&self) -> bool {
        let known = || TASKS.iter().any(|t| t.id == self.name && t.property(&self.target).is_some());
        self.data.is_some() && (!self.keep.is_empty() || !known())
    }

    /// True if the property to preserve is the number of a noun between subject and verb, which only some sentences have.
    pub fn has_attractors(&self) -> bool {
        self.data.is_none() && self.name == "agreement" && self.target == "subject_number"
    }

    /// Returns the task. A file's own labels are known only once its rows have been read.
    ///
    /// # Errors
    /// [`Fault`] for a task or label that does not exist, or a file that cannot be read.
    pub fn task(&self, pulse: &mut dyn Pulse) -> Result<&'static Task, Fault> {
        match self.data_path().filter(|_| self.is_own()) {
            Some(file) => Ok(own::task(&file, &self.target, &self.keep, pulse)?),
            None => Ok(Task::named(&self.name)?),
        }
    }

    /// Names of all properties to preserve.
    pub fn kept(&self) -> Vec<&str> {
        if self.is_own() {
            return self.keep.iter().map(String::as_str).collect();
        }
        let pair = TASKS.iter().find(|t| t.id == self.name).map_or(&[][..], |t| &t.properties);
        let other = pair.iter().map(|p| p.id).filter(|id| *id != self.target);
        other.chain(self.also.iter().map(String::as_str)).collect()
    }

    /// Names of the properties to preserve after the first.
    pub fn further(&self) -> &[String] {
        if self.is_own() { self.keep.get(1..).unwrap_or_default() } else { &self.also }
    }

    /// Checks that the file of examples, if any, can be read.
    pub fn reach(&self, refuse: &Refuse<'_>) -> Result<(), SpecError> {
        let Some(file) = self.data_path() else { return Ok(()) };
        if file.is_dir() {
            return refuse.because("task.data", format!(": {}: it is a folder; give one of its files", file.display()));
        }
        if let Err(e) = Reading::open(&file) {
            return refuse.because("task.data", format!(": {e}"));
        }
        if self.is_own()
            && let Err(e) = own::task(&file, &self.target, &self.keep, &mut base::NoPulse)
        {
            return refuse.because("task", format!(": {e}"));
        }
        Ok(())
    }

    /// True if states are changed or read at every token.
    pub fn takes_every_token(&self) -> bool {
        [Some(self.position), self.oracle_position].contains(&Some(Position::Every))
    }

    /// Checks names and ranges.
    pub fn check(&self, refuse: &Refuse<'_>) -> Result<(), SpecError> {
        refuse.outside("task.tokens_per_text", self.tokens_per_text, 1..=MAX_EXAMPLES)?;
        refuse.outside("task.tokens_per_part", self.tokens_per_part, FEWEST_EXAMPLES..=MAX_EXAMPLES)?;
        if self.is_own() {
            return self.check_own(refuse);
        }
        if !self.keep.is_empty() {
            return refuse.because("task.keep", "cannot be set without `task.data`: it names labels of a file".into());
        }
        let Some(task) = TASKS.iter().find(|t| t.id == self.name) else {
            let known: Vec<&str> = TASKS.iter().map(|t| t.id).collect();
            return refuse.because("task.name", is_unknown(&self.name, &known));
        };
        if task.property(&self.target).is_none() {
            let known: Vec<&str> = task.properties.iter().map(|p| p.id).collect();
            return refuse.because("task.target", is_unknown(&self.target, &known));
        }
        let further: Vec<&str> = task.further.iter().map(|p| p.id).collect();
        if let Some(name) = self.also.iter().find(|p| !further.contains(&p.as_str())) {
            let problem = match task.property(name) {
                Some(_) => format!(
                    "names `{name}`, which the run already changes or measures; other choices are {}",
                    further.join(", ")
                ),
                None => is_unknown(name, &further),
            };
            return refuse.because("task.also", problem);
        }
        refuse.twice("task.also", &self.also)?;
        refuse.outside("task.examples", self.examples, FEWEST_EXAMPLES..=MAX_EXAMPLES)?;
        if let Some(phi) = self.phi {
            refuse.outside("task.phi", phi, -0.95..=0.95)?;
            if !task.has_correlation() {
                let problem =
                    format!("cannot be set for the task `{}`, because its words determine the properties", task.id);
                return refuse.because("task.phi", problem);
            }
        }
        let Some(data) = &self.data else { return Ok(()) };
        refuse.no_file("task.data", data)?;
        if self.phi.is_some() {
            let problem = "cannot be combined with `task.data`: the rows of the file determine it".to_owned();
            return refuse.because("task.phi", problem);
        }
        Ok(())
    }

    /// Runs the checks that do not need the file's rows.
    fn check_own(&self, refuse: &Refuse<'_>) -> Result<(), SpecError> {
        if let Some(data) = &self.data {
            refuse.no_file("task.data", data)?;
        }
        if !self.also.is_empty() {
            return refuse.because(
                "task.also",
                "cannot be combined with labels of a file: list all of them in `task.keep`".into(),
            );
        }
        if self.phi.is_some() {
            let problem = "cannot be combined with `task.data`: the rows of the file determine it".to_owned();
            return refuse.because("task.phi", problem);
        }
        refuse.twice("task.keep", &self.keep)?;
        refuse.outside("task.examples", self.examples, FEWEST_EXAMPLES..=MAX_EXAMPLES)
    }

    fn positions(&self) -> Positions {
        Positions { changed: self.position, read: self.oracle_position }
    }

    /// The position at which oracles read, if states are changed at a different one.
    pub fn read_elsewhere(&self) -> Option<Position> {
        self.oracle_position.filter(|read| *read != self.position)
    }

    pub fn data_path(&self) -> Option<PathBuf> {
        self.data.as_ref().map(|data| self.base.join(data))
    }
}

/// Returns the examples of the spec's file with their source, or generated examples.
pub fn of(
    task: &'static Task,
    spec: &TaskSpec,
    seed: u64,
    pulse: &mut dyn Pulse,
) -> Result<(ExampleSet, Option<Provenance>), Fault> {
    if let (Some(file), Some(named)) = (spec.data_path(), &spec.data) {
        if spec.phi.is_some() {
            let what = "the correlation cannot be set when the examples come from a file";
            let hint = "set it to natural";
            return Err(Problem::new(what, "task.phi", hint).into());
        }
        let (set, source) = own::examples((task, spec.positions()), &file, named, spec.examples, seed, pulse)?;
        return Ok((set, Some(source)));
    }
    let frequencies = match spec.phi {
        Some(phi) => Frequencies::with_phi(phi)?,
        None => Frequencies::natural(),
    };
    let set = task.examples(spec.examples, seed, &frequencies)?;
    if spec.positions() == Positions::default() {
        return Ok((set, None));
    }
    let put = |e| {
        let fail = |what: &str| Problem::new(what, "task.position", "");
        spec.positions().put(e, None).map_err(fail)
    };
    let examples = set.examples.into_iter().map(put).collect::<Result<_, _>>()?;
    Ok((ExampleSet::of(task, seed, frequencies, examples), None))
}

/// A warning about two labels that differ only in case, if any.
pub fn case_notice<'a>(labels: impl IntoIterator<Item = &'a str>) -> Option<Problem> {
    let [a, b] = own::differ_in_case(labels)?.map(|label| shortened(label, 40));
    Some(Problem {
        what: format!("the labels `{a}` and `{b}` differ only in case and count as two classes"),
        r#where: "task.data".into(),
        hint: "give them the same spelling in the file if they mean the same".into(),
    })
}

/// Encodes the examples for the model. Fails if too few of the user's own examples are usable.
pub fn stimuli(
    task: &Task,
    model: &Model,
    set: &ExampleSet,
    (own, long): (bool, Long),
    pulse: &mut dyn Pulse,
) -> Result<Stimuli, Fault> {
    if !own {
        return Ok(Stimuli::read(model, &set.examples, long, set.examples.len().div_ceil(2), pulse)?);
    }
    let stimuli = Stimuli::read(model, &set.examples, long, own::FEWEST, pulse)?.distinct();
    own::enough(task, stimuli.list.iter().map(|s| &set.examples[s.example])).map_err(|e| Problem::new(format!(
            "{e}; {} of {} examples have forms that are not single tokens of `{}`, {} do not fit the model, {} have the same tokens as another example",
            stimuli.dropped_forms,
            set.examples.len(),
            model.name(),
            stimuli.dropped_texts,
            stimuli.dropped_repeats
        ), "task.data", "choose a different model, or a file with more sentences"))?;
    Ok(stimuli)
}
