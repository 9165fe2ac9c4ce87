//! The examples of a run, generated or read from the spec's file, and the subset that a model can be asked.

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

/// Lower bound of `task.examples`: with fewer, a part of the split has too few examples of the rarer property to train
/// on.
pub const FEWEST_EXAMPLES: usize = 400;
/// Upper bound of `task.examples`; above it a typing error would exhaust memory.
pub const MAX_EXAMPLES: usize = 2_000_000;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TaskSpec {
    /// Name in the task registry.
    pub name: String,
    /// A file whose sentences are the examples in place of generated ones; a relative path is relative to the spec's file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// Folder of the spec's file; not part of the hash, so that a spec has one hash wherever it is stored.
    #[serde(skip)]
    pub base: PathBuf,
    /// Number of examples before the 40/40/20 split; with `data`, the maximum taken.
    pub examples: usize,
    /// Correlation (phi) of target and environment among examples that have both; none keeps the natural table.
    pub phi: Option<f64>,
    /// The property that is intervened on: index into the task's properties by name.
    pub target: String,
    /// Further properties that should stay as they are, by name: selectivity is then the mean over the other property and these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// With `data`: labels of the file that should stay as they are, by name; `target` is then a label of the file too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keep: Vec<String>,
    /// The position at which hidden states are changed and, without `oracle_position`, read.
    #[serde(skip_serializing_if = "is_mask")]
    pub position: Position,
    /// The position at which oracles read, if that is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oracle_position: Option<Position>,
    /// Treatment of examples longer than the model reads.
    #[serde(skip_serializing_if = "Long::is_drop")]
    pub long: Long,
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
        }
    }
}

impl TaskSpec {
    /// True if target and properties to keep are labels in the spec's file, not those of a built-in task.
    pub fn is_own(&self) -> bool {
        let known = || TASKS.iter().any(|t| t.id == self.name && t.property(&self.target).is_some());
        self.data.is_some() && (!self.keep.is_empty() || !known())
    }

    /// True if the property to keep is the number of a noun between subject and verb, which only some sentences have.
    pub fn has_attractors(&self) -> bool {
        self.data.is_none() && self.name == "agreement" && self.target == "subject_number"
    }

    /// The task; for a file's own labels it is known only once the rows have been read.
    ///
    /// # Errors
    /// [`Fault`] for a task or label that does not exist, or a file that cannot be read.
    pub fn task(&self, pulse: &mut dyn Pulse) -> Result<&'static Task, Fault> {
        match self.data_path().filter(|_| self.is_own()) {
            Some(file) => Ok(own::task(&file, &self.target, &self.keep, pulse)?),
            None => Ok(Task::named(&self.name)?),
        }
    }

    /// Names of the properties to keep after the first.
    pub fn further(&self) -> &[String] {
        if self.is_own() { self.keep.get(1..).unwrap_or_default() } else { &self.also }
    }

    /// Checks that the file of examples, if any, exists and can be read.
    pub fn reach(&self, refuse: &Refuse<'_>) -> Result<(), SpecError> {
        let Some(file) = self.data_path() else { return Ok(()) };
        if file.is_dir() {
            return refuse.because("task.data", format!(": {}: it is a folder; name one of its files", file.display()));
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

    /// Checks names and ranges.
    pub fn check(&self, refuse: &Refuse<'_>) -> Result<(), SpecError> {
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
                let problem = format!("cannot be set for the task `{}`: its properties follow from the words", task.id);
                return refuse.because("task.phi", problem);
            }
        }
        let Some(data) = &self.data else { return Ok(()) };
        refuse.no_file("task.data", data)?;
        if self.phi.is_some() {
            let problem = "cannot be combined with `task.data`: the rows of the file decide".to_owned();
            return refuse.because("task.phi", problem);
        }
        Ok(())
    }

    /// Checks what can be checked before the file is read.
    fn check_own(&self, refuse: &Refuse<'_>) -> Result<(), SpecError> {
        if let Some(data) = &self.data {
            refuse.no_file("task.data", data)?;
        }
        if !self.also.is_empty() {
            return refuse.because(
                "task.also",
                "cannot be combined with labels of a file: name all of them in `task.keep`".into(),
            );
        }
        if self.phi.is_some() {
            let problem = "cannot be combined with `task.data`: the rows of the file decide".to_owned();
            return refuse.because("task.phi", problem);
        }
        refuse.twice("task.keep", &self.keep)?;
        refuse.outside("task.examples", self.examples, FEWEST_EXAMPLES..=MAX_EXAMPLES)
    }

    /// Positions where states are changed and read.
    fn positions(&self) -> Positions {
        Positions { changed: self.position, read: self.oracle_position }
    }

    /// The position where oracles read, if it differs from the position of the change.
    pub fn read_elsewhere(&self) -> Option<Position> {
        self.oracle_position.filter(|read| *read != self.position)
    }

    /// Path of the file of examples, if there is one.
    pub fn data_path(&self) -> Option<PathBuf> {
        self.data.as_ref().map(|data| self.base.join(data))
    }
}

/// Examples from the spec's file with their source, or generated ones.
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

/// Warning about two labels of a file that differ in case alone; `None` if there are none.
pub fn case_notice<'a>(labels: impl IntoIterator<Item = &'a str>) -> Option<Problem> {
    let [a, b] = own::differ_in_case(labels)?.map(|label| shortened(label, 40));
    Some(Problem {
        what: format!("the labels `{a}` and `{b}` differ in case alone and are two classes"),
        r#where: "task.data".into(),
        hint: "write them alike in the file if they mean the same".into(),
    })
}

/// The examples as the model sees them; of the user's own examples, enough must be usable.
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
            "{e}; {} of {} examples have forms that are not single tokens of `{}`, {} do not fit the model, {} look identical to another one to it",
            stimuli.dropped_forms,
            set.examples.len(),
            model.name(),
            stimuli.dropped_texts,
            stimuli.dropped_repeats
        ), "task.data", "choose another model, or a file with more sentences"))?;
    Ok(stimuli)
}
