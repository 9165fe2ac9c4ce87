//! Rows from any source, in a form that all labs use.
//!
//! Strings borrow from the current line; [`Row::into_owned`] copies them. Token and span indices count from 0.

use serde::{Deserialize, Serialize};

use super::text::{Labels, Text};

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

/// Defines a row type and its conversion to an owned row.
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
    pub fn name(self) -> &'static str {
        match self {
            Split::Train => "train",
            Split::Validation => "validation",
            Split::Test => "test",
        }
    }
}

/// Cardinality of a relation, in LAMA's terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum RelationKind {
    /// One object per subject and one subject per object.
    #[serde(rename = "1-1")]
    OneToOne,
    /// One object per subject.
    #[serde(rename = "N-1")]
    ManyToOne,
    /// Several objects for some subjects.
    #[serde(rename = "N-M")]
    ManyToMany,
}

row! {
    Fact {
        /// Identifier in the source.
        id: Option<Text<'a>>,
        /// Relation, such as `P19`; taken from the file name if the rows do not name it.
        relation: Option<Text<'a>>,
        /// Surface form of the subject; absent in some SQuAD rows of LAMA.
        subject: Option<Text<'a>>,
        /// Surface form of the object.
        object: Text<'a>,
        /// Other names of the subject.
        aliases: Option<Vec<Text<'a>>>,
        /// Knowledge base identifier of the subject.
        subject_id: Option<Text<'a>>,
        /// Knowledge base identifier of the object.
        object_id: Option<Text<'a>>,
        /// Sentences with `[MASK]` in place of the object.
        contexts: Option<Vec<Text<'a>>>,
    }
}

row! {
    /// Prompt for a relation, with `[X]` for the subject and `[Y]` for the object.
    Prompt {
        relation: Option<Text<'a>>,
        prompt: Text<'a>,
        /// Collection from which the prompt comes.
        source: Option<Text<'a>>,
        /// Weight in the source.
        weight: Option<f64>,
        /// Lemma of the pattern (ParaRel).
        lemma: Option<Text<'a>>,
        /// Tense of the pattern (ParaRel).
        tense: Option<Text<'a>>,
        /// True if nothing or only a full stop follows `[Y]`, so that causal models can answer.
        object_final: Option<bool>,
    }
}

row! {
    Relation {
        relation: Text<'a>,
        /// Templates, the original one first.
        templates: Vec<Text<'a>>,
        name: Option<Text<'a>>,
        kind: Option<RelationKind>,
        /// Closed set of answers (BEAR).
        answers: Option<Vec<Text<'a>>>,
    }
}

row! {
    /// Sentence with labels of properties, or with a masked word and its two possible forms.
    Sentence {
        /// Identifier in the source.
        id: Option<Text<'a>>,
        /// Text, with `[MASK]` for a masked word.
        text: Text<'a>,
        split: Option<Split>,
        /// Label without a property name.
        label: Option<Text<'a>>,
        /// Labels by property.
        labels: Option<Labels<'a>>,
        /// Character range of the probed word (end exclusive).
        target: Option<[u32; 2]>,
        /// Forms for the mask: singular, plural.
        forms: Option<[Text<'a>; 2]>,
        /// The correct word for the mask, and the word for the other value of the property.
        choice: Option<[Text<'a>; 2]>,
        /// Counterfactual: the same sentence with the other number for the subject, and with the same mask.
        twin: Option<Text<'a>>,
    }
}

impl Sentence<'_> {
    /// Returns the labels by property, except for one that repeats the unnamed label.
    pub fn named_labels(&self) -> impl Iterator<Item = (&str, &str)> {
        let bare =
            |name: &str, value: &Text<'_>| name.eq_ignore_ascii_case("label") && self.label.as_ref() == Some(value);
        let all = self.labels.iter().flat_map(|l| &l.0);
        all.filter(move |(name, value)| !bare(name, value)).map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

row! {
    Pair {
        /// Identifier in the source.
        id: Option<Text<'a>>,
        /// The acceptable sentence.
        good: Text<'a>,
        /// The unacceptable sentence.
        bad: Text<'a>,
        paradigm: Option<Text<'a>>,
        /// Shared words before the critical word (one-prefix method).
        prefix: Option<Text<'a>>,
        /// The critical words of the good and the bad sentence.
        forms: Option<[Text<'a>; 2]>,
        /// BLiMP's labels `field` and `linguistics_term`.
        labels: Option<Labels<'a>>,
    }
}

row! {
    /// Tokenized input with gold rationales.
    Rationale {
        /// Identifier in the source.
        id: Option<Text<'a>>,
        /// Text as written, if given in addition to the tokens.
        text: Option<Text<'a>>,
        tokens: Vec<Text<'a>>,
        /// Gold rationales: sets of token indices, any one of which suffices.
        rationales: Vec<Vec<u32>>,
        /// Indices of misleading tokens (attractors).
        attractors: Option<Vec<u32>>,
        /// Index of the masked token.
        mask: Option<u32>,
        /// Correct word for the mask.
        answer: Option<Text<'a>>,
        /// Other words that fit the mask equally well.
        other_answers: Option<Vec<Text<'a>>>,
        /// Gold label of the input.
        label: Option<Text<'a>>,
        /// Question or claim for which the tokens are evidence.
        query: Option<Text<'a>>,
        /// Dimension of the rationale benchmark, or section of the source.
        dimension: Option<Text<'a>>,
        /// Identifier of the original, for perturbed inputs.
        perturbs: Option<Text<'a>>,
        perturbation: Option<Text<'a>>,
        /// Identifiers of the perturbed inputs, for originals.
        partners: Option<Vec<Text<'a>>>,
        /// Pairs of token indices (original, perturbed).
        alignment: Option<Vec<[u32; 2]>>,
        /// Length of predicted rationales divided by the length of the input, if given.
        ratio: Option<f64>,
        split: Option<Split>,
    }
}

row! {
    /// A model's answer to an input, with its rationale.
    Prediction {
        /// Identifier of the input.
        id: Option<Text<'a>>,
        /// Name of the model or method.
        system: Option<Text<'a>>,
        /// Predicted label or word.
        label: Option<Text<'a>>,
        /// Token indices, the most important first.
        ranking: Option<Vec<u32>>,
        /// Importance of each token, or log-likelihood of each answer.
        scores: Option<Vec<f64>>,
        /// Class probabilities, in the source's order.
        probabilities: Option<Vec<f64>>,
        /// Other classes and their probabilities, as in the source.
        labels: Option<Labels<'a>>,
    }
}

row! {
    /// A published result.
    Measure {
        metric: Text<'a>,
        /// Value; `None` for `nan`.
        value: Option<f64>,
        /// Labels that identify what was measured: relation, model, prompt, task and so on.
        labels: Option<Labels<'a>>,
    }
}

row! {
    /// Word vector without its values.
    Vector {
        word: Text<'a>,
        /// Number of coordinates.
        dimension: u32,
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum Row<'a> {
    Fact(Fact<'a>),
    Prompt(Prompt<'a>),
    Relation(Relation<'a>),
    Sentence(Sentence<'a>),
    Pair(Pair<'a>),
    Rationale(Rationale<'a>),
    Prediction(Prediction<'a>),
    Measure(Measure<'a>),
    Vector(Vector<'a>),
}

impl Row<'_> {
    /// Copies the row so that it no longer borrows from its line.
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

    /// Name of the kind, used in counts.
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
