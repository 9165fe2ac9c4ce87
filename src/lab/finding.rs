//! A finding: one typed result with its provenance, as it stands in JSON lines, sessions and on the screen.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::{Kinds, LabId, Spec};
use crate::base::Problem;

/// One result. Serialises to one flat JSON object with `kind` and the keys of that kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// The instrument that produced it.
    pub lab: LabId,
    /// Hash of the spec that asked for it.
    pub spec: String,
    /// Name of the model.
    pub model: String,
    /// Seed of the run.
    pub seed: u64,
    /// Number of examples behind it.
    pub n: usize,
    /// False while the estimate is still being refined.
    pub r#final: bool,
    /// Seconds since the run began.
    pub t: f64,
    /// Level of the intervals, where the finding has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<f64>,
    /// The result itself.
    #[serde(flatten)]
    pub body: Body,
}

/// The result itself: of a lab, or of any run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
#[allow(clippy::large_enum_variant, reason = "nearly all findings are of the large kind")]
pub enum Body {
    /// What a lab found.
    Lab(Kinds),
    /// What every run can say.
    Common(Common),
}

impl From<Kinds> for Body {
    fn from(kinds: Kinds) -> Self {
        Body::Lab(kinds)
    }
}

impl From<Common> for Body {
    fn from(common: Common) -> Self {
        Body::Common(common)
    }
}

/// The kinds that every lab has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Common {
    /// The end of a run.
    Summary(SummaryFinding),
    /// Something went wrong.
    Error(Problem),
}

/// Names of the kinds that every lab has.
const COMMON: [&str; 2] = ["summary", "error"];

/// The end of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SummaryFinding {
    /// Wall time.
    pub seconds: f64,
    /// The device that computed.
    pub device: String,
    /// Version of the program.
    pub version: String,
    /// True where the user stopped the run.
    pub cancelled: bool,
}

impl Body {
    /// Whether it has intervals, whose level then stands beside it.
    #[must_use]
    pub fn has_interval(&self) -> bool {
        match self {
            Body::Lab(kinds) => kinds.has_interval(),
            Body::Common(_) => false,
        }
    }
}

/// What is the same in all findings about a model in a run.
#[derive(Debug, Clone)]
pub struct Label {
    spec: String,
    lab: LabId,
    model: String,
    seed: u64,
    level: f64,
}

impl Label {
    /// The label of findings about `model`.
    #[must_use]
    pub fn new(spec: &Spec, model: &str) -> Self {
        let (lab, seed, level) = (spec.lab(), spec.seed(), spec.common().level());
        Self { spec: spec.hash(), lab, model: model.to_owned(), seed, level }
    }

    /// The same for findings that another spec would give.
    #[must_use]
    pub fn under(&self, spec_hash: String) -> Self {
        Self { spec: spec_hash, ..self.clone() }
    }

    /// Level of the intervals.
    #[must_use]
    pub fn level(&self) -> f64 {
        self.level
    }

    /// A finding. `t` is the time since the run began.
    pub fn finding(&self, n: usize, is_final: bool, t: f64, body: impl Into<Body>) -> Finding {
        let body = body.into();
        Finding {
            lab: self.lab,
            spec: self.spec.clone(),
            model: self.model.clone(),
            seed: self.seed,
            n,
            r#final: is_final,
            // Milliseconds are all that is meant.
            t: (t * 1000.0).round() / 1000.0,
            level: body.has_interval().then_some(self.level),
            body,
        }
    }
}

/// What stands in every finding.
#[derive(Deserialize)]
struct Head {
    lab: LabId,
    spec: String,
    model: String,
    seed: u64,
    n: usize,
    r#final: bool,
    t: f64,
    #[serde(default)]
    level: Option<f64>,
    kind: String,
}

/// The keys of [`Head`] that are no part of the body.
const HEAD: [&str; 8] = ["lab", "spec", "model", "seed", "n", "final", "t", "level"];

impl<'de> Deserialize<'de> for Finding {
    /// The lab is read first and decides which kinds there are.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let mut object: Map<String, Value> = Map::deserialize(deserializer)?;
        let head = Head::deserialize(Value::Object(object.clone())).map_err(D::Error::custom)?;
        for key in HEAD {
            object.remove(key);
        }
        let rest = Value::Object(object);
        let body = if COMMON.contains(&head.kind.as_str()) {
            Common::deserialize(rest).map(Body::Common)
        } else {
            Body::of_json(head.lab, rest)
        };
        let Head { lab, spec, model, seed, n, r#final, t, level, .. } = head;
        Ok(Self { lab, spec, model, seed, n, r#final, t, level, body: body.map_err(D::Error::custom)? })
    }
}

/// Whether the JSON of a finding names a lab or a kind that this program does not have: a newer one wrote it.
#[must_use]
pub fn is_newer(finding: &Value) -> bool {
    let text = |key: &str| finding.get(key).and_then(Value::as_str);
    let (Some(lab), Some(kind)) = (text("lab"), text("kind")) else { return false };
    match LabId::named(lab) {
        None => true,
        Some(lab) => !COMMON.contains(&kind) && !Body::knows(lab, kind),
    }
}
