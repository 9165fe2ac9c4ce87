//! Nested values in a row: Inspect's scores and HELM's statistics.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::line::Key;
use super::value::{Excerpt, Scalar};

/// Inspect's `scores`: values by scorer and an answer, or a scalar if the key is an ordinary column.
pub(crate) struct Scorers<'a>(pub Vec<(String, Option<f64>)>, pub Option<String>, pub Option<Scalar<'a>>);

/// Converts Inspect's letters to numbers: 1 for C (correct), 0.5 for P (partially correct), 0 for I (incorrect) and N (no answer).
fn letter(value: &Scalar<'_>) -> Option<f64> {
    match value {
        Scalar::Text(text) => match text.as_ref() {
            "C" => Some(1.0),
            "I" | "N" => Some(0.0),
            "P" => Some(0.5),
            _ => value.number(),
        },
        _ => value.number(),
    }
}

/// Value of a score: one number, or several by name.
enum ScoreValue {
    One(Option<f64>),
    Named(Vec<(String, Option<f64>)>),
}

struct ScoreValueVisitor;

macro_rules! scalar_visits {
    ($value:ty, $of:expr) => {
        fn visit_bool<E>(self, v: bool) -> Result<$value, E> {
            Ok($of(Scalar::Truth(v)))
        }
        fn visit_i64<E>(self, v: i64) -> Result<$value, E> {
            Ok($of(Scalar::Whole(v)))
        }
        fn visit_u64<E>(self, v: u64) -> Result<$value, E> {
            Ok($of(Scalar::Real(v as f64)))
        }
        fn visit_f64<E>(self, v: f64) -> Result<$value, E> {
            Ok($of(Scalar::Real(v)))
        }
        fn visit_str<E>(self, v: &str) -> Result<$value, E> {
            Ok($of(Scalar::Text(Cow::Owned(v.to_owned()))))
        }
        fn visit_unit<E>(self) -> Result<$value, E> {
            Ok($of(Scalar::Null))
        }
    };
}

impl<'de> Visitor<'de> for ScoreValueVisitor {
    type Value = ScoreValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a score")
    }

    scalar_visits!(ScoreValue, |s: Scalar<'_>| ScoreValue::One(letter(&s)));

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<ScoreValue, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(ScoreValue::One(None))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ScoreValue, A::Error> {
        let mut all = Vec::new();
        while let Some((Key(key), value)) = map.next_entry::<Key<'de>, Scalar<'de>>()? {
            all.push((key.into_owned(), letter(&value)));
        }
        Ok(ScoreValue::Named(all))
    }
}

impl<'de> Deserialize<'de> for ScoreValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScoreValueVisitor)
    }
}

/// Entry of one scorer: a map with `value` and `answer`, or the value itself.
struct Scorer(ScoreValue, Option<String>);

struct ScorerVisitor;

impl<'de> Visitor<'de> for ScorerVisitor {
    type Value = Scorer;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a score")
    }

    scalar_visits!(Scorer, |s: Scalar<'_>| Scorer(ScoreValue::One(letter(&s)), None));

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Scorer, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Scorer(ScoreValue::One(None), None))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Scorer, A::Error> {
        let mut scorer = Scorer(ScoreValue::One(None), None);
        while let Some(Key(key)) = map.next_key()? {
            match key.as_ref() {
                "value" => scorer.0 = map.next_value()?,
                "answer" => scorer.1 = Some(map.next_value::<Excerpt>()?.0).filter(|t| !t.is_empty()),
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(scorer)
    }
}

impl<'de> Deserialize<'de> for Scorer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScorerVisitor)
    }
}

struct ScorersVisitor;

impl<'de> Visitor<'de> for ScorersVisitor {
    type Value = Scorers<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("scores")
    }

    scalar_visits!(Scorers<'de>, |s: Scalar<'_>| Scorers(
        Vec::new(),
        None,
        Some(match s {
            Scalar::Text(text) => Scalar::Text(Cow::Owned(text.into_owned())),
            Scalar::Whole(i) => Scalar::Whole(i),
            Scalar::Real(x) => Scalar::Real(x),
            Scalar::Truth(t) => Scalar::Truth(t),
            _ => Scalar::Null,
        })
    ));

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Scorers<'de>, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Scorers(Vec::new(), None, Some(Scalar::Other(1))))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Scorers<'de>, A::Error> {
        let (mut all, mut answer) = (Vec::new(), None);
        while let Some((Key(name), Scorer(value, said))) = map.next_entry()? {
            answer = answer.or(said);
            match value {
                ScoreValue::One(value) => all.push((name.into_owned(), value)),
                ScoreValue::Named(values) => {
                    all.extend(values.into_iter().map(|(key, value)| (format!("{name}/{key}"), value)));
                }
            }
        }
        Ok(Scorers(all, answer, None))
    }
}

impl<'de> Deserialize<'de> for Scorers<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScorersVisitor)
    }
}

/// HELM's `stats` of an instance: means by name, and the perturbation.
pub(crate) struct Stats(pub Vec<(String, Option<f64>)>, pub Option<String>);

/// True for HELM counts that are not metrics.
pub(crate) fn is_bookkeeping(name: &str) -> bool {
    [
        "num_",
        "inference_",
        "training_",
        "prompt_",
        "logit_",
        "finish_reason_",
        "batch_size",
        "predicted_index",
        "max_prob",
        "estimated_",
        "logprob",
    ]
    .iter()
    .any(|start| name.starts_with(start))
}

#[derive(serde::Deserialize)]
struct StatFields {
    name: Option<String>,
    perturbation: Option<Perturbation>,
}

#[derive(serde::Deserialize)]
pub(crate) struct Perturbation {
    pub name: Option<String>,
}

#[derive(serde::Deserialize)]
struct Stat {
    name: Option<StatFields>,
    mean: Option<f64>,
    sum: Option<f64>,
    count: Option<f64>,
}

struct StatsVisitor;

impl<'de> Visitor<'de> for StatsVisitor {
    type Value = Stats;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("statistics of an instance")
    }

    fn visit_unit<E>(self) -> Result<Stats, E> {
        Ok(Stats(Vec::new(), None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Stats, A::Error> {
        let (mut all, mut perturbation) = (Vec::new(), None);
        while let Some(stat) = seq.next_element::<Stat>()? {
            let Some(StatFields { name: Some(name), perturbation: by }) = stat.name else { continue };
            let mean = stat.mean.or_else(|| Some(stat.sum? / stat.count?)).filter(|m| m.is_finite());
            perturbation = perturbation.or(by.and_then(|p| p.name));
            all.push((name, mean));
        }
        Ok(Stats(all, perturbation))
    }

    /// Reads a map from names to values, the form in which HELM stores statistics next to predictions.
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Stats, A::Error> {
        let mut all = Vec::new();
        while let Some((Key(name), value)) = map.next_entry::<Key<'de>, Scalar<'de>>()? {
            all.push((name.into_owned(), value.number()));
        }
        Ok(Stats(all, None))
    }
}

impl<'de> Deserialize<'de> for Stats {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StatsVisitor)
    }
}
