//! Probing tasks: examples with a masked verb, the two forms that could replace it, and the labels of the probed
//! properties.
//!
//! A task is one line in [`TASKS`].

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

/// Placeholder of the masked word in [`Example::text`]; replaced by the tokenizer's mask token.
pub const MASK: &str = "[MASK]";

/// A property that is encoded, probed and intervened on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Property {
    /// Name in specs and findings.
    pub id: &'static str,
    /// Name on the screen.
    pub title: &'static str,
    /// Names of the values, indexed by label.
    pub values: &'static [&'static str],
    /// Index of the label in an example.
    label: Label,
}

/// Labels of an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Label {
    Subject,
    Attractor,
    Animacy,
    /// One of a file's own labels: the first is `zc`, the others are in [`Example::own`].
    Own(usize),
}

impl Property {
    /// True for the property that differs between an example and its [`Example::counterfactual`].
    pub fn is_subject_number(&self) -> bool {
        self.label == Label::Subject
    }

    /// The label of an example, if it has one.
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

/// A probing task.
#[derive(Debug, Clone, Copy)]
pub struct Task {
    /// Name in specs and findings.
    pub id: &'static str,
    /// Name on the screen.
    pub title: &'static str,
    /// The target and the property to keep, one of which a run chooses as its target. The verb form agrees with the
    /// first.
    pub properties: [Property; 2],
    /// Further labels of generated examples: properties that should stay as they are.
    pub further: &'static [Property],
    /// Writes examples; `None` if a file has them.
    write: Option<fn(seed: u64, Frequencies) -> Writer>,
}

/// Writes the next example of a stream; given the labels of an example, another one with the same labels.
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

/// All tasks. `attractors` and `animacy` are written by the grammar of `agreement`: one with an attractor in every sentence, so
/// that probes for its number have as many examples as those for the subject's; the other with the very sentences of
/// `agreement` and a second property of three values, which every sentence has.
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
    /// The sentence with [`MASK`] once, where the verb was.
    pub text: String,
    /// Text before the mask, without a trailing blank: the input of a causal model.
    pub prefix: String,
    /// The forms of the verb, indexed by the label of Z_c that each agrees with.
    pub forms: [String; 2],
    /// Number of the subject (Z_c of Canby et al.): the correct form is `forms[zc]`.
    pub zc: u8,
    /// Number of the attractor (Z_e), if the example has one.
    pub ze: Option<u8>,
    /// Animacy of the subject: human, animal, inanimate; `None` if a row of a file does not give it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub animacy: Option<u8>,
    /// [`Example::text`] with the subject in the other number; `None` if a row of a file does not give it. See
    /// [`Example::counterfactual`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub twin: Option<String>,
    /// Values of the properties of a user's task after the first, which is `zc`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own: Vec<Option<u8>>,
    /// Position at which hidden states are changed and read, if that is not the mask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// Position at which oracles read them, if that is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<Place>,
}

/// Tokens of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// The first token of the input, which may be a special one.
    First,
    /// The last token of the text itself.
    Last,
    /// The last token of the characters from and to (exclusive) that carry the property.
    Marked(u32, u32),
    /// The mask.
    Mask,
    /// Every token of the text itself, separately.
    Every,
    /// The mean over all tokens of the input.
    Mean,
}

impl Example {
    /// True if the row gives the possible words at the mask.
    pub fn has_forms(&self) -> bool {
        self.forms.iter().all(|f| !f.is_empty())
    }

    /// The sentence with `mask` at the place of the verb: a tokenizer's mask token, or a verb form.
    pub fn filled(&self, mask: &str) -> String {
        self.text.replacen(MASK, mask, 1)
    }

    /// The true counterfactual: the same sentence with the subject in the other number, so that the other form is
    /// right. It may itself be an example of the same set; callers that need it unseen must check.
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

    /// Characters (to is exclusive) of the words in which the text differs from its twin, which carry the number of the
    /// subject.
    pub(crate) fn carrier(&self) -> Option<[u32; 2]> {
        differing(&self.text, self.twin.as_deref()?)
    }
}

/// Characters (to is exclusive) from the first to the last blank-separated word of `text` that `other` lacks.
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

/// Examples with everything needed to reproduce them.
#[derive(Debug, Clone, PartialEq)]
pub struct ExampleSet {
    /// Identifier of the task.
    pub task: &'static str,
    /// The seed of the stream.
    pub seed: u64,
    /// The frequencies of the combinations.
    pub frequencies: Frequencies,
    /// In the order of the stream: the first n of a longer set are the set of size n.
    pub examples: Vec<Example>,
    /// SHA-256 of the content, in hexadecimal.
    pub hash: String,
}

/// Reasons why examples are not available.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum TaskError {
    /// The name is not in the registry.
    #[error("there is no task `{name}`; known are {known}")]
    Unknown {
        /// The requested name.
        name: String,
        /// The names of [`TASKS`].
        known: String,
    },
    /// The grammar repeats sentences too often at these frequencies.
    #[error("task `{task}` has no {wanted} different examples at these frequencies, only {found}")]
    Exhausted {
        /// Identifier of the task.
        task: &'static str,
        /// The requested number.
        wanted: usize,
        /// Different ones found.
        found: usize,
    },
}

impl Task {
    /// The task of this name.
    pub fn named(name: &str) -> Result<&'static Task, TaskError> {
        TASKS.iter().find(|t| t.id == name).ok_or_else(|| TaskError::Unknown {
            name: name.to_owned(),
            known: TASKS.iter().map(|t| t.id).collect::<Vec<_>>().join(", "),
        })
    }

    /// A task over a file's own labels, each with the names of its values: the first is changed, the others should stay.
    ///
    /// Names of tasks are static. They are leaked, but a process reads few different files and equal labels share a
    /// task, so the memory is small.
    ///
    /// # Panics
    /// Never: fewer than two labels repeat the first.
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

    /// True for a task over a file's own labels.
    pub fn is_own(&self) -> bool {
        self.write.is_none()
    }

    /// Index of the property with this name.
    pub fn property(&self, id: &str) -> Option<usize> {
        self.properties.iter().position(|p| p.id == id)
    }

    /// All labels of its examples: both properties, then the further ones.
    pub fn labelled(&self) -> impl Iterator<Item = &Property> {
        self.properties.iter().chain(self.further)
    }

    /// True if the correlation of its two properties can be chosen, which requires tabulated frequencies.
    pub fn has_correlation(&self) -> bool {
        self.properties.map(|p| p.label) == [Label::Subject, Label::Attractor]
    }

    /// `n` examples that no built-in model was trained on, no two with the same prefix: embeddings at the mask (whole
    /// sentence) and at the verb position (prefix only) therefore come from different inputs in every example, and any
    /// split of the set is disjoint.
    ///
    /// # Errors
    /// [`TaskError::Exhausted`] if the grammar repeats sentences too often.
    pub fn examples(&self, n: usize, seed: u64, frequencies: &Frequencies) -> Result<ExampleSet, TaskError> {
        let write = self.write.ok_or(TaskError::Exhausted { task: self.id, wanted: n, found: 0 })?;
        let mut write = write(seed, *frequencies);
        let mut seen = HashSet::with_capacity(n);
        let mut examples = Vec::with_capacity(n);
        for found in 0..n {
            // A repeated prefix is replaced by a new sentence with the same labels: rejecting it would favour
            // combinations whose sentences repeat less often.
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
    /// A set of these examples, with the hash of their content.
    pub fn of(task: &Task, seed: u64, frequencies: Frequencies, examples: Vec<Example>) -> Self {
        let hash = content_hash(task, &examples);
        Self { task: task.id, seed, frequencies, examples, hash }
    }
}

/// Maximum number of consecutive sentences that repeat an earlier prefix.
const MAX_TRIES: usize = 10_000;

/// SHA-256 over inputs and labels: text, prefix and forms of all examples and their labels of both properties, each
/// field with its length before it. Twins and further labels follow from the text.
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

/// The stream of agreement examples.
fn agreement(seed: u64, frequencies: Frequencies) -> Writer {
    written(stream(seed, "task agreement"), frequencies)
}

/// The stream of examples with an attractor.
fn attractors(seed: u64, frequencies: Frequencies) -> Writer {
    // If attractors occur in one number only, the natural frequencies stay.
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
            twin: Some(sentence.twin().masked(MASK)),
            forms: sentence.forms,
            own: Vec::new(),
            place: None,
            read: None,
        }
    })
}

#[cfg(test)]
mod tests;
