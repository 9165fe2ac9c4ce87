//! One row of results: the keys that matter, whatever else stands in it.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A row, borrowed from its line where it can be.
#[derive(Debug, Default)]
pub(crate) struct Line<'a> {
    /// `doc_id`, `id` or `instance`.
    pub id: Option<Cow<'a, str>>,
    pub filter: Option<Cow<'a, str>>,
    pub cluster: Option<Cow<'a, str>>,
    pub prediction: Option<Cow<'a, str>>,
    pub target: Option<Cow<'a, str>>,
    /// `metrics`: the names of the metrics.
    pub metrics: Vec<Cow<'a, str>>,
    /// `answer_idx`.
    pub answer: Option<u64>,
    /// `pll_scores`.
    pub scores: Vec<f64>,
    /// Every other key that has a number or a truth value.
    pub values: Vec<(Cow<'a, str>, f64)>,
    /// Whether the identifier is from the key that comes first in rank.
    rank: u8,
}

impl<'a> Line<'a> {
    /// The number under a key.
    pub(crate) fn value(&self, key: &str) -> Option<f64> {
        self.values.iter().find(|(k, _)| k == key).map(|(_, v)| *v)
    }

    /// The keys that have numbers.
    pub(crate) fn numbers(&self) -> Vec<&str> {
        self.values.iter().map(|(k, _)| k.as_ref()).collect()
    }

    /// Takes in a scalar; keys beyond the rows' own go to the numbers.
    pub(crate) fn put(&mut self, key: Cow<'a, str>, value: Scalar<'a>) {
        let rank = match key.as_ref() {
            "doc_id" => 3,
            "id" => 2,
            "instance" => 1,
            _ => 0,
        };
        if rank > self.rank {
            if let Some(text) = value.text() {
                (self.id, self.rank) = (Some(text), rank);
            }
            return;
        }
        let slot = match key.as_ref() {
            "filter" => &mut self.filter,
            "cluster" => &mut self.cluster,
            "prediction" => &mut self.prediction,
            "target" => &mut self.target,
            "answer_idx" => {
                self.answer = value.number().filter(|v| *v >= 0.0 && v.fract() == 0.0).map(|v| v as u64);
                return;
            }
            _ => {
                if let Some(number) = value.number() {
                    self.values.push((key, number));
                }
                return;
            }
        };
        *slot = value.text();
    }
}

/// A value of one piece.
#[derive(Debug)]
pub(crate) enum Scalar<'a> {
    Text(Cow<'a, str>),
    /// A whole number, whose digits may be an identifier.
    Whole(i64),
    /// Any other number.
    Real(f64),
    /// True or false.
    Truth(bool),
    /// Null, a list or an object.
    Other,
}

impl<'a> Scalar<'a> {
    fn text(self) -> Option<Cow<'a, str>> {
        match self {
            Scalar::Text(text) => Some(text),
            Scalar::Whole(i) => Some(i.to_string().into()),
            Scalar::Real(x) => Some(x.to_string().into()),
            Scalar::Truth(t) => Some(if t { "true" } else { "false" }.into()),
            Scalar::Other => None,
        }
    }

    fn number(&self) -> Option<f64> {
        match self {
            Scalar::Whole(i) => Some(*i as f64),
            Scalar::Real(x) => Some(*x),
            Scalar::Truth(t) => Some(f64::from(u8::from(*t))),
            Scalar::Text(_) | Scalar::Other => None,
        }
    }
}

struct ScalarVisitor;

impl<'de> Visitor<'de> for ScalarVisitor {
    type Value = Scalar<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, v: bool) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Truth(v))
    }

    fn visit_i64<E>(self, v: i64) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Whole(v))
    }

    fn visit_u64<E>(self, v: u64) -> Result<Scalar<'de>, E> {
        Ok(i64::try_from(v).map_or(Scalar::Text(v.to_string().into()), Scalar::Whole))
    }

    fn visit_f64<E>(self, v: f64) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Real(v))
    }

    fn visit_borrowed_str<E>(self, v: &'de str) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Text(Cow::Borrowed(v)))
    }

    fn visit_str<E>(self, v: &str) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Text(Cow::Owned(v.to_owned())))
    }

    fn visit_unit<E>(self) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Scalar<'de>, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Scalar::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Scalar<'de>, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Scalar::Other)
    }
}

impl<'de> Deserialize<'de> for Scalar<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScalarVisitor)
    }
}

/// A key, borrowed unless it holds escapes.
struct Key<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Scalar::deserialize(deserializer)? {
            Scalar::Text(text) => Ok(Key(text)),
            _ => Err(de::Error::custom("a key that is not text")),
        }
    }
}

struct LineVisitor;

impl<'de> Visitor<'de> for LineVisitor {
    type Value = Line<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Line<'de>, A::Error> {
        let mut line = Line::default();
        while let Some(Key(key)) = map.next_key()? {
            match key.as_ref() {
                "metrics" => {
                    line.metrics = map.next_value::<Vec<Key<'de>>>()?.into_iter().map(|k| k.0).collect();
                }
                "pll_scores" => line.scores = map.next_value()?,
                _ => line.put(key, map.next_value()?),
            }
        }
        Ok(line)
    }
}

impl<'de> Deserialize<'de> for Line<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(LineVisitor)
    }
}
