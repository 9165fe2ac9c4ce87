//! Samples in the format of evalplus.

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};

/// Results of base and plus tests for each sample of a task. Both the current format (a list of samples) and the old one (lists by test)
/// are accepted.
pub(crate) struct Samples(pub Vec<[Option<bool>; 2]>);

#[derive(Deserialize)]
struct Sample {
    base_status: Option<String>,
    plus_status: Option<String>,
}

#[derive(Deserialize)]
struct Older {
    #[serde(default)]
    base: Vec<(String, IgnoredAny)>,
    #[serde(default)]
    plus: Vec<(String, IgnoredAny)>,
}

impl<'de> Deserialize<'de> for Samples {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "a list of samples, or the lists `base` and `plus`")]
        enum Either {
            Now(Vec<Sample>),
            Then(Older),
        }
        let passed = |status: &String| status == "pass";
        Ok(Samples(match Either::deserialize(deserializer)? {
            Either::Now(samples) => samples
                .iter()
                .map(|s| [s.base_status.as_ref().map(passed), s.plus_status.as_ref().map(passed)])
                .collect(),
            Either::Then(older) => (0..older.base.len())
                .map(|k| [&older.base, &older.plus].map(|list| list.get(k).map(|(status, _)| passed(status))))
                .collect(),
        }))
    }
}
