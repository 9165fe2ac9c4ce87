//! One row of any source, in terms that labs share.
//!
//! Strings borrow from the current line; [`Row::into_owned`] makes a row independent of it. Token and span indices
//! count from 0.

use serde::{Deserialize, Serialize};

use super::text::{Labels, Text};

/// Converts a borrowed value to an owned one.
trait Own {
    type Owned;
    fn own(self) -> Self::Owned;
}

impl Own for Text<'_> {
    type Owned = Text<'static>;
    fn own(self) -> Text<'static> {
        Text(self.0.into_owned().into())
    }
}

impl Own for Labels<'_> {
    type Owned = Labels<'static>;
    fn own(self) -> Labels<'static> {
        Labels(self.0.into_iter().map(|(k, v)| (k.own(), v.own())).collect())
    }
}

impl<T: Own> Own for Option<T> {
    type Owned = Option<T::Owned>;
    fn own(self) -> Self::Owned {
        self.map(Own::own)
    }
}

impl<T: Own> Own for Vec<T> {
    type Owned = Vec<T::Owned>;
    fn own(self) -> Self::Owned {
        self.into_iter().map(Own::own).collect()
    }
}

impl<T: Own, const N: usize> Own for [T; N] {
    type Owned = [T::Owned; N];
    fn own(self) -> Self::Owned {
        self.map(Own::own)
    }
}

macro_rules! plain_values {
    ($($t:ty),*) => { $(impl Own for $t {
        type Owned = $t;
        fn own(self) -> $t {
            self
        }
    })* };
}
plain_values!(u32, f64, bool, Split, RelationKind);

/// Defines a row and its conversion to an owned one.
macro_rules! row {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Default, PartialEq)]
        pub struct $name<'a> {
            $($(#[$doc])* pub $field: $type,)*
        }

        impl $name<'_> {
            fn own(self) -> $name<'static> {
                $name { $($field: self.$field.own(),)* }
            }
        }
    };
}

/// Part of a data set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Split {
    #[serde(rename = "train", alias = "tr")]
    Train,
    #[serde(rename = "validation", alias = "va", alias = "val", alias = "dev")]
    Validation,
    #[serde(rename = "test", alias = "te")]
    Test,
}

impl Split {
    /// The name in plain rows.
    pub fn name(self) -> &'static str {
        match self {
            Split::Train => "train",
            Split::Validation => "validation",
            Split::Test => "test",
        }
    }
}

/// Cardinality of a relation, as LAMA states it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum RelationKind {
    /// One object per subject, and one subject per object.
    #[serde(rename = "1-1")]
    OneToOne,
    /// One object per subject.
    #[serde(rename = "N-1")]
    ManyToOne,
    /// Subjects with several objects.
    #[serde(rename = "N-M")]
    ManyToMany,
}

row! {
    /// A fact: subject, relation, object.
    Fact {
        /// Identifier in the source.
        id: Option<Text<'a>>,
        /// Relation, such as `P19`; from the file's name if rows lack it.
        relation: Option<Text<'a>>,
        /// Surface form of the subject; SQuAD rows of LAMA may lack it.
        subject: Option<Text<'a>>,
        /// Surface form of the object.
        object: Text<'a>,
        /// Other names of the subject.
        aliases: Option<Vec<Text<'a>>>,
        /// Knowledge base identifier of the subject.
        subject_id: Option<Text<'a>>,
        /// Knowledge base identifier of the object.
        object_id: Option<Text<'a>>,
        /// Sentences with `[MASK]` in the place of the object.
        contexts: Option<Vec<Text<'a>>>,
    }
}

row! {
    /// A prompt for a relation, with `[X]` for the subject and `[Y]` for the object.
    Prompt {
        relation: Option<Text<'a>>,
        prompt: Text<'a>,
        /// Its collection.
        source: Option<Text<'a>>,
        /// Weight in the source.
        weight: Option<f64>,
        /// ParaRel: lemma of the pattern.
        lemma: Option<Text<'a>>,
        /// ParaRel: tense of the pattern.
        tense: Option<Text<'a>>,
        /// True if nothing but a full stop follows `[Y]`, so that causal models can answer.
        object_final: Option<bool>,
    }
}

row! {
    /// A relation itself.
    Relation {
        /// Identifier.
        relation: Text<'a>,
        /// Its templates; the first is the original one.
        templates: Vec<Text<'a>>,
        name: Option<Text<'a>>,
        /// 1-1, N-1 or N-M.
        kind: Option<RelationKind>,
        /// BEAR: the closed set of answers.
        answers: Option<Vec<Text<'a>>>,
    }
}

row! {
    /// A sentence with labels of properties, or with a masked word and its two possible forms.
    Sentence {
        /// Identifier in the source.
        id: Option<Text<'a>>,
        /// The sentence; a masked word is `[MASK]`.
        text: Text<'a>,
        /// Part of the data set.
        split: Option<Split>,
        /// The label, if any.
        label: Option<Text<'a>>,
        /// Several labels by the name of their property.
        labels: Option<Labels<'a>>,
        /// Characters from and to (exclusive) of the word that is probed.
        target: Option<[u32; 2]>,
        /// Forms for the masked word by label: singular, plural.
        forms: Option<[Text<'a>; 2]>,
        /// The right word for the mask, and the word for the other value of the property.
        choice: Option<[Text<'a>; 2]>,
        /// The counterfactual: the sentence with the subject in the other number, masked likewise.
        twin: Option<Text<'a>>,
    }
}

impl Sentence<'_> {
    /// Its labels by property, without repeating the unnamed label.
    pub fn named_labels(&self) -> impl Iterator<Item = (&str, &str)> {
        let bare =
            |name: &str, value: &Text<'_>| name.eq_ignore_ascii_case("label") && self.label.as_ref() == Some(value);
        let all = self.labels.iter().flat_map(|l| &l.0);
        all.filter(move |(name, value)| !bare(name, value)).map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

row! {
    /// A minimal pair.
    Pair {
        /// Identifier in the source.
        id: Option<Text<'a>>,
        /// The acceptable sentence.
        good: Text<'a>,
        /// The unacceptable one.
        bad: Text<'a>,
        paradigm: Option<Text<'a>>,
        /// Words of both before the critical word (one-prefix method).
        prefix: Option<Text<'a>>,
        /// The critical words, good and bad.
        forms: Option<[Text<'a>; 2]>,
        /// Field and linguistic term.
        labels: Option<Labels<'a>>,
    }
}

row! {
    /// A tokenised input with its gold rationales.
    Rationale {
        /// Identifier.
        id: Option<Text<'a>>,
        /// The text as written, if the source has it in addition to its words.
        text: Option<Text<'a>>,
        /// Words.
        tokens: Vec<Text<'a>>,
        /// Gold rationales: sets of token indices, of which any one suffices.
        rationales: Vec<Vec<u32>>,
        /// Tokens that mislead (attractors).
        attractors: Option<Vec<u32>>,
        /// Index of the masked token.
        mask: Option<u32>,
        /// The word for the mask.
        answer: Option<Text<'a>>,
        /// Other words that fit the mask as well.
        other_answers: Option<Vec<Text<'a>>>,
        /// Gold label of the input.
        label: Option<Text<'a>>,
        /// Question or claim that the tokens answer.
        query: Option<Text<'a>>,
        /// Dimension or section.
        dimension: Option<Text<'a>>,
        /// Identifier of the original, on perturbed inputs.
        perturbs: Option<Text<'a>>,
        /// Kind of the perturbation.
        perturbation: Option<Text<'a>>,
        /// Identifiers of the perturbed inputs, on originals.
        partners: Option<Vec<Text<'a>>>,
        /// Pairs of token indices, original and perturbed.
        alignment: Option<Vec<[u32; 2]>>,
        /// Share of the input for a predicted rationale, if the source gives it.
        ratio: Option<f64>,
        /// Part of the data set.
        split: Option<Split>,
    }
}

row! {
    /// A model's answer to an input, with its rationale.
    Prediction {
        /// Identifier of the input.
        id: Option<Text<'a>>,
        /// Model or method.
        system: Option<Text<'a>>,
        /// Predicted label or word.
        label: Option<Text<'a>>,
        /// Token indices, the most important first.
        ranking: Option<Vec<u32>>,
        /// Importance of each token, or log-likelihood of each answer.
        scores: Option<Vec<f64>>,
        /// Probabilities of the classes, in the order of the source.
        probabilities: Option<Vec<f64>>,
        /// Further classes and their probabilities by name, as the source writes them.
        labels: Option<Labels<'a>>,
    }
}

row! {
    /// A published number.
    Measure {
        /// Name of the metric.
        metric: Text<'a>,
        /// The value; `None` if the source prints `nan`.
        value: Option<f64>,
        /// Names of the measurement: relation, model, prompt, task and so on.
        labels: Option<Labels<'a>>,
    }
}

row! {
    /// A word vector, described but not read.
    Vector {
        word: Text<'a>,
        /// Number of coordinates.
        dimension: u32,
    }
}

/// One row of any source.
#[derive(Debug, Clone, PartialEq)]
pub enum Row<'a> {
    Fact(Fact<'a>),
    Prompt(Prompt<'a>),
    Relation(Relation<'a>),
    /// A labelled or masked sentence.
    Sentence(Sentence<'a>),
    /// A minimal pair.
    Pair(Pair<'a>),
    /// An input with gold rationales.
    Rationale(Rationale<'a>),
    /// A model's answer.
    Prediction(Prediction<'a>),
    /// A published number.
    Measure(Measure<'a>),
    /// A word vector.
    Vector(Vector<'a>),
}

impl Row<'_> {
    /// The row, independent of the line it was read from.
    pub fn into_owned(self) -> Row<'static> {
        match self {
            Row::Fact(r) => Row::Fact(r.own()),
            Row::Prompt(r) => Row::Prompt(r.own()),
            Row::Relation(r) => Row::Relation(r.own()),
            Row::Sentence(r) => Row::Sentence(r.own()),
            Row::Pair(r) => Row::Pair(r.own()),
            Row::Rationale(r) => Row::Rationale(r.own()),
            Row::Prediction(r) => Row::Prediction(r.own()),
            Row::Measure(r) => Row::Measure(r.own()),
            Row::Vector(r) => Row::Vector(r.own()),
        }
    }

    /// Name of the kind, for counts.
    pub fn kind(&self) -> &'static str {
        match self {
            Row::Fact(_) => "fact",
            Row::Prompt(_) => "prompt",
            Row::Relation(_) => "relation",
            Row::Sentence(_) => "sentence",
            Row::Pair(_) => "pair",
            Row::Rationale(_) => "rationale",
            Row::Prediction(_) => "prediction",
            Row::Measure(_) => "measure",
            Row::Vector(_) => "vector",
        }
    }
}
