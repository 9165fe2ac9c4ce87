//! Samples in the format of evalplus.

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};

use super::value::truth;

/// Status of the base and plus tests for each sample of a task. Both the current format (a list of samples) and the old one (lists by test)
/// are accepted.
pub(crate) struct Samples(pub Vec<[Option<String>; 2]>);

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
        let status = |list: &[(String, IgnoredAny)], k: usize| list.get(k).map(|(status, _)| status.clone());
        Ok(Samples(match Either::deserialize(deserializer)? {
            Either::Now(samples) => samples.into_iter().map(|s| [s.base_status, s.plus_status]).collect(),
            Either::Then(older) => (0..older.base.len().max(older.plus.len()))
                .map(|k| [status(&older.base, k), status(&older.plus, k)])
                .collect(),
        }))
    }
}

/// True if a status means that all tests passed; `None` for unknown words. Versions before 0.3 write `success`.
pub(crate) fn passed(status: &str) -> Option<bool> {
    let stopped = ["timeout", "timed out", "timed_out", "error", "syntax error", "exception", "crash"];
    match stopped.iter().any(|word| status.trim().eq_ignore_ascii_case(word)) {
        true => Some(false),
        false => truth(status),
    }
}
