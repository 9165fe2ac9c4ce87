//! Probing tasks: examples with a masked verb, its two possible forms, and labels of the probed properties. A task is one line in
//! [`TASKS`].

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use thiserror::Error;

use super::micro::agreement::Agreement;
use super::micro::frequencies::Frequencies;
use super::micro::{Number, Side};
use base::files::hex;
use stats::rng::stream;

/// Placeholder of the masked word in [`Example::text`], replaced by the tokenizer's mask token.
pub const MASK: &str = "[MASK]";

/// A property that probes predict and interventions change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Property {
    /// Name in specs and findings.
    pub id: &'static str,
    pub title: &'static str,
    /// Names of the values, indexed by label.
    pub values: &'static [&'static str],
    /// Field of [`Example`] with the label.
    label: Label,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Label {
    Subject,
    Attractor,
    Animacy,
    /// A label from the user's file: the first is `zc`, the others are in [`Example::own`].
    Own(usize),
}

impl Property {
    /// True if [`Example::counterfactual`] changes this property.
    pub fn is_subject_number(&self) -> bool {
        self.label == Label::Subject
    }

    /// Returns the label of an example, if it has one.
    pub fn of(&self, example: &Example) -> Option<u8> {
        match self.label {
            Label::Subject => Some(example.zc),
            Label::Attractor => example.ze,
            Label::Animacy => example.animacy,
            Label::Own(0) => Some(example.zc),
            Label::Own(place) => example.own.get(place - 1).copied().flatten(),
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Task {
    /// Name in specs and findings.
    pub id: &'static str,
    pub title: &'static str,
    /// The two properties. A run changes one and preserves the other; the verb form agrees with the first.
    pub properties: [Property; 2],
    /// Additional labels of generated examples, which interventions are meant to preserve.
    pub further: &'static [Property],
    /// Creates a generator of examples; `None` if examples come from a file.
    write: Option<fn(seed: u64, Frequencies) -> Writer>,
}

/// Generates the next example of a stream or, given labels, an additional example with these labels.
type Writer = Box<dyn FnMut(Option<(u8, Option<u8>)>) -> Example>;

const SUBJECT: Property =
    Property { id: "subject_number", title: "subject number", values: &["Sg", "Pl"], label: Label::Subject };
const ATTRACTOR: Property =
    Property { id: "attractor_number", title: "attractor number", values: &["Sg", "Pl"], label: Label::Attractor };
const ANIMACY: Property = Property {
    id: "subject_animacy",
    title: "subject animacy",
    values: &["human", "animal", "inanimate"],
    label: Label::Animacy,
};

/// All tasks. The grammar of `agreement` also generates `attractors` and `animacy`. In `attractors`, every sentence has an attractor, so
/// that there are equally many examples for both properties. `animacy` has the sentences of `agreement` with a different second property,
/// which has three values and is present in every sentence.
pub const TASKS: &[Task] = &[
    Task {
        id: "agreement",
        title: "subject-verb agreement",
        properties: [SUBJECT, ATTRACTOR],
        further: &[ANIMACY],
        write: Some(agreement),
    },
    Task {
        id: "attractors",
        title: "agreement past an attractor",
        properties: [SUBJECT, ATTRACTOR],
        further: &[ANIMACY],
        write: Some(attractors),
    },
    Task {
        id: "animacy",
        title: "agreement and animacy",
        properties: [SUBJECT, ANIMACY],
        further: &[ATTRACTOR],
        write: Some(agreement),
    },
];

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Example {
    /// The sentence with [`MASK`] once in place of the verb.
    pub text: String,
    /// Text before the mask without a trailing space: the input of causal models.
    pub prefix: String,
    /// Verb forms, indexed by the label of Z_c with which they agree.
    pub forms: [String; 2],
    /// Number of the subject (Z_c of Canby et al.); the correct form is `forms[zc]`.
    pub zc: u8,
    /// Number of the attractor (Z_e), if there is one.
    pub ze: Option<u8>,
    /// Animacy of the subject (human, animal, inanimate); `None` if a row from a file does not state it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub animacy: Option<u8>,
    /// [`Example::text`] with the other number for the subject; `None` if a row from a file does not give it. See
    /// [`Example::counterfactual`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub twin: Option<String>,
    /// Labels of a user's task except for the first, which is `zc`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own: Vec<Option<u8>>,
    /// Position where hidden states are changed and read, if it is not the mask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// Position where oracles read, if it differs from `place`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<Place>,
}

/// Position in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// First token of the input, which may be a special token.
    First,
    /// Last token of the text, without special tokens.
    Last,
    /// Last token of the character range (end exclusive) that carries the property.
    Marked(u32, u32),
    Mask,
    /// Each token of the text separately, without special tokens.
    Every,
    /// Mean over all tokens of the input.
    Mean,
}

impl Example {
    /// True if the row gives the candidate words for the mask.
    pub fn has_forms(&self) -> bool {
        self.forms.iter().all(|f| !f.is_empty())
    }

    /// Replaces the mask with a tokenizer's mask token or a verb form.
    pub fn filled(&self, mask: &str) -> String {
        self.text.replacen(MASK, mask, 1)
    }

    /// Returns the true counterfactual: the same sentence with the other number for the subject, so that the other form is correct. It may
    /// be in the same set; callers that need an unseen sentence must check.
    pub fn counterfactual(&self) -> Option<Example> {
        let text = self.twin.clone()?;
        let prefix = text.split_once(MASK)?.0.trim_end().to_owned();
        let there = |place: Option<Place>| match (place, differing(&text, &self.text)) {
            (Some(Place::Marked(..)), Some([from, to])) => Some(Place::Marked(from, to)),
            (place, _) => place,
        };
        let (place, read) = (there(self.place), there(self.read));
        Some(Example { prefix, zc: 1 - self.zc, twin: Some(self.text.clone()), text, place, read, ..self.clone() })
    }

    /// Returns the character range (end exclusive) of the words that differ from the twin and thus show the subject's number.
    pub(crate) fn carrier(&self) -> Option<[u32; 2]> {
        differing(&self.text, self.twin.as_deref()?)
    }
}

/// Returns the character range (end exclusive) from the first to the last space-separated word that differs from
/// `other`.
fn differing(text: &str, other: &str) -> Option<[u32; 2]> {
    let words = |text: &str| text.split(' ').map(|w| w.chars().count()).collect::<Vec<_>>();
    let same = |(a, b): &(&str, &str)| a == b;
    let before = text.split(' ').zip(other.split(' ')).take_while(same).count();
    let behind = text.rsplit(' ').zip(other.rsplit(' ')).take_while(same).count();
    let lengths = words(text);
    let last = lengths.len().checked_sub(behind).filter(|last| *last > before)?;
    let from: usize = lengths[..before].iter().map(|n| n + 1).sum();
    let to = lengths[before..last].iter().map(|n| n + 1).sum::<usize>() + from - 1;
    Some([from as u32, to as u32])
}

/// Examples with the task, seed and frequencies that reproduce them.
#[derive(Debug, Clone, PartialEq)]
pub struct ExampleSet {
    pub task: &'static str,
    pub seed: u64,
    pub frequencies: Frequencies,
    /// Examples in stream order, so that a shorter set is a prefix of a longer one.
    pub examples: Vec<Example>,
    /// SHA-256 of the contents, in hexadecimal.
    pub hash: String,
}

#[derive(Debug, Clone, PartialEq, Error)]
pub enum TaskError {
    #[error("there is no task `{name}`; choose one of {known}")]
    Unknown {
        name: String,
        /// Names of the tasks in [`TASKS`].
        known: String,
    },
    /// The grammar repeats sentences too often at these frequencies.
    #[error(
        "task `{task}`: {wanted} different examples were requested, but these frequencies give only {found}; request fewer"
    )]
    Exhausted {
        task: &'static str,
        wanted: usize,
        /// Number of distinct examples found.
        found: usize,
    },
}

impl Task {
    pub fn named(name: &str) -> Result<&'static Task, TaskError> {
        TASKS.iter().find(|t| t.id == name).ok_or_else(|| TaskError::Unknown {
            name: name.to_owned(),
            known: TASKS.iter().map(|t| t.id).collect::<Vec<_>>().join(", "),
        })
    }

    /// Returns a task for the labels of a file, each given with its values. Runs change the first label and preserve the others.
    ///
    /// Tasks are static, so each new task leaks a little memory; a process reads few files, and equal labels share a task.
    ///
    /// # Panics
    /// Never. If there are fewer than two labels, the first is repeated.
    pub fn own(labels: &[(String, Vec<String>)]) -> &'static Task {
        static KNOWN: Mutex<Vec<&'static Task>> = Mutex::new(Vec::new());
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |task: &&&'static Task| {
            task.labelled().count() == labels.len()
                && task.labelled().zip(labels).all(|(p, (id, values))| p.id == id && p.values == values.as_slice())
        };
        if let Some(task) = known.iter().find(same) {
            return task;
        }
        let keep = |text: &str| -> &'static str { Box::leak(text.to_owned().into_boxed_str()) };
        let property = |place: usize| {
            let (id, values) = &labels[place.min(labels.len() - 1)];
            let values: Vec<&'static str> = values.iter().map(|v| keep(v)).collect();
            let id = keep(id);
            Property { id, title: id, values: Box::leak(values.into_boxed_slice()), label: Label::Own(place) }
        };
        let further: Vec<Property> = (2..labels.len()).map(property).collect();
        let task: &'static Task = Box::leak(Box::new(Task {
            id: "own",
            title: "own properties",
            properties: [property(0), property(1)],
            further: Box::leak(further.into_boxed_slice()),
            write: None,
        }));
        known.push(task);
        task
    }

    /// True for a task based on the labels of a user's file.
    pub fn is_own(&self) -> bool {
        self.write.is_none()
    }

    pub fn property(&self, id: &str) -> Option<usize> {
        self.properties.iter().position(|p| p.id == id)
    }

    /// Returns all labelled properties of its examples: the two main ones, then the additional ones.
    pub fn labelled(&self) -> impl Iterator<Item = &Property> {
        self.properties.iter().chain(self.further)
    }

    /// True if the correlation between the two properties can be chosen, which requires tabulated frequencies.
    pub fn has_correlation(&self) -> bool {
        self.properties.map(|p| p.label) == [Label::Subject, Label::Attractor]
    }

    /// Draws `n` examples that do not occur in the training of built-in models and have distinct prefixes. Distinct prefixes ensure that no
    /// two hidden states, whether at the mask (whole sentence) or before the verb (prefix), have the same input, so that splits are
    /// disjoint.
    ///
    /// # Errors
    /// [`TaskError::Exhausted`] if the grammar repeats sentences too often.
    pub fn examples(&self, n: usize, seed: u64, frequencies: &Frequencies) -> Result<ExampleSet, TaskError> {
        let write = self.write.ok_or(TaskError::Exhausted { task: self.id, wanted: n, found: 0 })?;
        let mut write = write(seed, *frequencies);
        let mut seen = HashSet::with_capacity(n);
        let mut examples = Vec::with_capacity(n);
        for found in 0..n {
            // A repeated prefix is replaced by a sentence with the same labels. Merely rejecting it would favour combinations whose
            // sentences repeat less often.
            let mut example = write(None);
            let mut tries = 1;
            while !seen.insert(example.prefix.clone()) {
                if tries == MAX_TRIES {
                    return Err(TaskError::Exhausted { task: self.id, wanted: n, found });
                }
                example = write(Some((example.zc, example.ze)));
                tries += 1;
            }
            examples.push(example);
        }
        Ok(ExampleSet::of(self, seed, *frequencies, examples))
    }
}

impl ExampleSet {
    /// Creates a set from examples and computes its hash.
    pub fn of(task: &Task, seed: u64, frequencies: Frequencies, examples: Vec<Example>) -> Self {
        let hash = content_hash(task, &examples);
        Self { task: task.id, seed, frequencies, examples, hash }
    }
}

/// Maximum number of consecutive sentences with a repeated prefix.
const MAX_TRIES: usize = 10_000;

/// SHA-256 of the text, prefix, forms and both labels of all examples, with each field prefixed by its length. Twins and additional labels
/// follow from the text.
fn content_hash(task: &Task, examples: &[Example]) -> String {
    let mut hash = Sha256::new();
    let mut field = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    for e in examples {
        field(e.text.as_bytes());
        field(e.prefix.as_bytes());
        e.forms.iter().for_each(|f| field(f.as_bytes()));
        field(&[e.zc, task.properties[1].of(e).map_or(0, |z| z + 1)]);
        if task.is_own() {
            field(format!("{:?} {:?}", e.own, e.place).as_bytes());
        } else if e.place.is_some() {
            field(format!("{:?}", e.place).as_bytes());
        }
        if e.read.is_some() {
            field(format!("{:?}", e.read).as_bytes());
        }
    }
    for p in task.labelled().filter(|_| task.is_own()) {
        field(format!("{} {:?}", p.id, p.values).as_bytes());
    }
    hex(&hash.finalize())
}

fn agreement(seed: u64, frequencies: Frequencies) -> Writer {
    written(stream(seed, "task agreement"), frequencies)
}

fn attractors(seed: u64, frequencies: Frequencies) -> Writer {
    // If attractors occur with only one subject number, the given frequencies apply unchanged.
    written(stream(seed, "task attractors"), frequencies.with_attractors().unwrap_or(frequencies))
}

fn written(mut rng: ChaCha8Rng, frequencies: Frequencies) -> Writer {
    let grammar = Agreement { frequencies, side: Side::Held };
    Box::new(move |labels| {
        let number = |label: u8| Number::ALL[usize::from(label)];
        let sentence = match labels {
            None => grammar.sentence(&mut rng),
            Some((zc, ze)) => grammar.sentence_with(&mut rng, number(zc), ze.map(number)),
        };
        Example {
            text: sentence.masked(MASK),
            prefix: sentence.prefix(),
            zc: sentence.subject_number.index() as u8,
            ze: sentence.attractor.map(|n| n.index() as u8),
            animacy: Some(sentence.kind.animacy() as u8),
            twin: Some(sentence.counterfactual().masked(MASK)),
            forms: sentence.forms,
            own: Vec::new(),
            place: None,
            read: None,
        }
    })
}

#[cfg(test)]
mod tests;
