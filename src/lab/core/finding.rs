//! A finding: one typed result with its provenance, used in JSON lines, sessions and on screen.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeSeed, Error, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::LabId;
use super::spec::LabSpec;
use base::Problem;

/// One result, serialised as a flat JSON object with `kind` and the keys of that kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding<K> {
    pub lab: LabId,
    pub spec: String,
    pub model: String,
    pub seed: u64,
    /// Number of examples used.
    pub n: usize,
    /// False while the estimate is still being refined.
    pub r#final: bool,
    /// Seconds since the start of the run.
    pub t: f64,
    /// Confidence level of the intervals, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<f64>,
    #[serde(flatten)]
    pub body: Body<K>,
}

/// A result of a lab, or one common to all labs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
#[allow(clippy::large_enum_variant, reason = "nearly all findings are of the large kind")]
pub enum Body<K> {
    Lab(K),
    Common(Common),
}

impl<K> From<Common> for Body<K> {
    fn from(common: Common) -> Self {
        Body::Common(common)
    }
}

/// A lab's kinds of finding.
pub trait FindingKind: Clone + Serialize + Send + 'static {
    /// True if it has intervals, so that their level is recorded.
    fn has_interval(&self) -> bool;
}

/// The results of all labs, parsed from JSON by the lab's name.
pub trait KindSet: FindingKind {
    /// Parses a finding of this kind. Keys that it does not have are ignored.
    ///
    /// # Errors
    /// If the lab does not have this kind, or the object is not a finding of it.
    fn read<'de, D: Deserializer<'de>>(lab: LabId, kind: &str, deserializer: D) -> Result<Self, D::Error>;
    /// True if the lab has findings of this kind.
    fn knows(lab: LabId, kind: &str) -> bool;
}

/// The provenance of a finding.
#[derive(Debug, Clone, Copy)]
pub struct Head<'a> {
    pub spec: &'a str,
    pub model: &'a str,
    pub seed: u64,
    pub n: usize,
    pub r#final: bool,
    pub t: f64,
    pub level: Option<f64>,
}

impl<K> Finding<K> {
    pub fn head(&self) -> Head<'_> {
        let Self { spec, model, seed, n, r#final, t, level, .. } = self;
        Head { spec, model, seed: *seed, n: *n, r#final: *r#final, t: *t, level: *level }
    }

    /// The lab's result; `None` for a summary or an error.
    pub fn kind(&self) -> Option<&K> {
        match &self.body {
            Body::Lab(kind) => Some(kind),
            Body::Common(_) => None,
        }
    }

    /// Converts the type of the lab's result.
    pub fn map<L>(self, f: impl FnOnce(K) -> L) -> Finding<L> {
        let Self { lab, spec, model, seed, n, r#final, t, level, body } = self;
        let body = match body {
            Body::Lab(kind) => Body::Lab(f(kind)),
            Body::Common(common) => Body::Common(common),
        };
        Finding { lab, spec, model, seed, n, r#final, t, level, body }
    }
}

/// The kinds that every lab has.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Common {
    /// The end of a run.
    Summary(SummaryFinding),
    /// An error.
    Error(Problem),
}

/// Names of the kinds that every lab has.
const COMMON: [&str; 2] = ["summary", "error"];

/// The end of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SummaryFinding {
    /// Wall time in seconds.
    pub seconds: f64,
    pub device: String,
    pub version: String,
    /// True if the user stopped the run.
    pub cancelled: bool,
}

impl<K: FindingKind> Body<K> {
    /// True if it has intervals, so that their level is recorded.
    pub fn has_interval(&self) -> bool {
        match self {
            Body::Lab(kinds) => kinds.has_interval(),
            Body::Common(_) => false,
        }
    }
}

/// The lab results among findings, each with its provenance.
pub fn kinds<K>(findings: &[Finding<K>]) -> impl Iterator<Item = (Head<'_>, &K)> {
    findings.iter().filter_map(|f| Some((f.head(), f.kind()?)))
}

/// Fields common to all findings about a model in a run.
#[derive(Debug, Clone)]
pub struct Label {
    spec: String,
    lab: LabId,
    model: String,
    seed: u64,
    level: f64,
}

impl Label {
    pub fn new(spec: &dyn LabSpec, model: &str) -> Self {
        let (lab, seed, level) = (spec.lab(), spec.seed(), spec.level());
        Self { spec: spec.hash(), lab, model: model.to_owned(), seed, level }
    }

    /// The same label with another spec's hash.
    pub fn under(&self, spec_hash: String) -> Self {
        Self { spec: spec_hash, ..self.clone() }
    }

    pub fn level(&self) -> f64 {
        self.level
    }

    /// A finding about this model; `t` in seconds since the start of the run.
    pub fn finding<K: FindingKind>(&self, n: usize, is_final: bool, t: f64, kind: K) -> Finding<K> {
        self.with(n, is_final, t, Body::Lab(kind))
    }

    /// A final finding with a summary or an error.
    pub fn common<K: FindingKind>(&self, n: usize, t: f64, common: Common) -> Finding<K> {
        self.with(n, true, t, Body::Common(common))
    }

    fn with<K: FindingKind>(&self, n: usize, is_final: bool, t: f64, body: Body<K>) -> Finding<K> {
        Finding {
            lab: self.lab,
            spec: self.spec.clone(),
            model: self.model.clone(),
            seed: self.seed,
            n,
            r#final: is_final,
            // Rounded to milliseconds.
            t: (t * 1000.0).round() / 1000.0,
            level: body.has_interval().then_some(self.level),
            body,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawHead {
    lab: LabId,
    spec: String,
    model: String,
    seed: u64,
    n: usize,
    r#final: bool,
    t: f64,
    #[serde(default)]
    level: Option<f64>,
}

/// The keys of [`RawHead`], excluded from the body.
const HEAD: [&str; 8] = ["lab", "spec", "model", "seed", "n", "final", "t", "level"];

impl RawHead {
    fn with<'de, K: KindSet, D: Deserializer<'de>>(self, kind: &str, rest: D) -> Result<Finding<K>, D::Error> {
        let RawHead { lab, spec, model, seed, n, r#final, t, level } = self;
        let body = match kind {
            "summary" => SummaryFinding::deserialize(rest).map(|x| Body::Common(Common::Summary(x))),
            "error" => Problem::deserialize(rest).map(|x| Body::Common(Common::Error(x))),
            _ => K::read(lab, kind, rest).map(Body::Lab),
        };
        Ok(Finding { lab, spec, model, seed, n, r#final, t, level, body: body? })
    }
}

impl<'de, K: KindSet> Deserialize<'de> for Finding<K> {
    /// The lab and the kind are parsed first because they determine the keys.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut object: Map<String, Value> = Map::deserialize(deserializer)?;
        let head: Map<String, Value> = HEAD.into_iter().filter_map(|key| object.remove_entry(key)).collect();
        let head = RawHead::deserialize(Value::Object(head)).map_err(D::Error::custom)?;
        let kind = object.remove("kind").ok_or_else(|| D::Error::missing_field("kind"))?;
        let kind = kind.as_str().ok_or_else(|| D::Error::custom("`kind` is not a string"))?;
        head.with(kind, Value::Object(object)).map_err(D::Error::custom)
    }
}

/// The part of an object before the key `kind`, then the value of `kind`.
struct BeforeKind<'a, A> {
    object: &'a mut A,
    kind: Option<String>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for BeforeKind<'_, A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        match self.object.next_key::<Cow<'de, str>>()? {
            Some(key) if key == "kind" => self.kind = Some(self.object.next_value()?),
            Some(key) => return seed.deserialize(key.into_deserializer()).map(Some),
            None => {}
        }
        Ok(None)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.object.next_value_seed(seed)
    }
}

impl<K: KindSet> Finding<K> {
    /// Parses JSON text in one pass, without building a tree. The keys must have the order in which they are serialised.
    ///
    /// # Errors
    /// If the text is not a finding that this version knows, or its keys have a different order.
    pub fn from_slice(text: &[u8]) -> serde_json::Result<Self> {
        struct InOrder<K>(PhantomData<K>);
        impl<'de, K: KindSet> Visitor<'de> for InOrder<K> {
            type Value = Finding<K>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a finding")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Finding<K>, A::Error> {
                let mut before = BeforeKind { object: &mut object, kind: None };
                let head = RawHead::deserialize(MapAccessDeserializer::new(&mut before))?;
                let kind = before.kind.ok_or_else(|| A::Error::missing_field("kind"))?;
                head.with(&kind, MapAccessDeserializer::new(object))
            }
        }
        let mut deserializer = serde_json::Deserializer::from_slice(text);
        let finding = deserializer.deserialize_map(InOrder(PhantomData))?;
        deserializer.end().map(|()| finding)
    }
}

/// True if the finding's JSON names a lab or kind that this version does not have, and therefore comes from a newer version.
pub fn is_newer<K: KindSet>(finding: &Value) -> bool {
    let text = |key: &str| finding.get(key).and_then(Value::as_str);
    let (Some(lab), Some(kind)) = (text("lab"), text("kind")) else { return false };
    match LabId::named(lab) {
        None => true,
        Some(lab) => !COMMON.contains(&kind) && !K::knows(lab, kind),
    }
}
