//! A number with its interval, the form in which every result leaves the program.

use serde::{Deserialize, Deserializer, Serialize};

/// A point estimate with its interval. The level of the interval is stored once per finding.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The point estimate.
    #[serde(deserialize_with = "number_or_null")]
    pub mean: f64,
    /// Lower end of the interval.
    #[serde(deserialize_with = "number_or_null")]
    pub lo: f64,
    /// Upper end of the interval.
    #[serde(deserialize_with = "number_or_null")]
    pub hi: f64,
}

/// JSON has no NaN: an undefined number is written as null, and null is read as NaN.
///
/// # Errors
/// For anything but a number and null.
pub fn number_or_null<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(from)?.unwrap_or(f64::NAN))
}

impl Estimate {
    /// An estimate without uncertainty (`lo = mean = hi`), for quantities that are known exactly.
    pub fn exact(mean: f64) -> Self {
        Self { mean, lo: mean, hi: mean }
    }

    /// Half the width of the interval.
    pub fn half_width(&self) -> f64 {
        (self.hi - self.lo) / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A score that is not defined was written as null and made its line unreadable.
    #[test]
    fn what_is_not_defined_can_be_read_back() {
        let unknown = Estimate { mean: f64::NAN, lo: 0.0, hi: 1.0 };
        let text = serde_json::to_string(&unknown).unwrap();
        let back: Estimate = serde_json::from_str(&text).unwrap();
        assert!(back.mean.is_nan() && (back.lo, back.hi) == (0.0, 1.0), "{text}");
        assert!(serde_json::from_str::<Estimate>(r#"{"mean":"x","lo":0,"hi":1}"#).is_err());
    }
}
