//! Selection of relations in a spec: the functional ones, all, or some by name.

use std::ops::Deref;
use std::sync::LazyLock;

use lab::setting::KnownRelation;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The relations of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Relations {
    /// All except relations whose subjects have several objects (N-M) according to a file, as in Cao et al. (2022).
    #[default]
    Functional,
    All,
    /// The relations with these identifiers, of any type.
    Named(Vec<String>),
}

/// Names in specs for the choices other than lists.
const FUNCTIONAL: &str = "functional";
const ALL: &str = "all";

/// Identifiers and labels of the built-in relations.
pub fn built_in() -> &'static [KnownRelation] {
    static ALL: LazyLock<Vec<KnownRelation>> = LazyLock::new(|| {
        let known = |r: corpus::facts::Relation| KnownRelation { id: r.id, label: r.label };
        corpus::facts::relations().unwrap_or_default().into_iter().map(known).collect()
    });
    &ALL
}

impl Relations {
    /// The choices that do not name relations.
    pub(crate) const CHOICES: [Self; 2] = [Self::Functional, Self::All];

    /// Drops the named relations, because different data have different ones.
    pub(crate) fn forget(&mut self) {
        if matches!(self, Self::Named(_)) {
            *self = Self::Functional;
        }
    }

    /// The choice as text: its name in specs, or the identifiers of named relations.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Functional => FUNCTIONAL.into(),
            Self::All => ALL.into(),
            Self::Named(ids) => ids.join(", "),
        }
    }
}

/// Dereferences to the identifiers of named relations.
impl Deref for Relations {
    type Target = [String];

    fn deref(&self) -> &[String] {
        match self {
            Self::Named(ids) => ids,
            Self::Functional | Self::All => &[],
        }
    }
}

impl<T: Into<String>, const N: usize> From<[T; N]> for Relations {
    fn from(ids: [T; N]) -> Self {
        Self::Named(ids.map(Into::into).to_vec())
    }
}

impl Serialize for Relations {
    /// Writes `functional` as an empty list, so that specs from before this choice existed keep their meaning and their hashes.
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::All => to.serialize_str(ALL),
            Self::Functional | Self::Named(_) => to.collect_seq(self.iter()),
        }
    }
}

impl<'de> Deserialize<'de> for Relations {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "relations must be \"functional\", \"all\" or a list of identifiers")]
        enum Given {
            Choice(String),
            Ids(Vec<String>),
        }
        match Given::deserialize(from)? {
            Given::Ids(ids) if ids.is_empty() => Ok(Self::Functional),
            Given::Ids(ids) => Ok(Self::Named(ids)),
            Given::Choice(name) => Self::CHOICES.into_iter().find(|c| c.text() == name).ok_or_else(|| {
                let shown = base::text::shortened(&name, 80);
                de::Error::custom(format!(
                    "`{shown}` is neither \"functional\" nor \"all\"; give one relation as a list, [\"{shown}\"]"
                ))
            }),
        }
    }
}
