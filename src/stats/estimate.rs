//! A number with its interval: the form of every result.

use serde::{Deserialize, Deserializer, Serialize};

/// A point estimate with its interval. The level is stored once per finding.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    #[serde(deserialize_with = "number_or_null")]
    pub mean: f64,
    #[serde(deserialize_with = "number_or_null")]
    pub lo: f64,
    #[serde(deserialize_with = "number_or_null")]
    pub hi: f64,
}

/// Deserialises a number, with null as NaN, because JSON has no NaN.
///
/// # Errors
/// For anything but a number or null.
pub fn number_or_null<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(from)?.unwrap_or(f64::NAN))
}

impl Estimate {
    /// An estimate without uncertainty (`lo = mean = hi`), for exactly known quantities.
    pub fn exact(mean: f64) -> Self {
        Self { mean, lo: mean, hi: mean }
    }

    pub fn half_width(&self) -> f64 {
        (self.hi - self.lo) / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: an undefined score is written as null, which used to make its line unreadable.
    #[test]
    fn undefined_values_round_trip() {
        let unknown = Estimate { mean: f64::NAN, lo: 0.0, hi: 1.0 };
        let text = serde_json::to_string(&unknown).unwrap();
        let back: Estimate = serde_json::from_str(&text).unwrap();
        assert!(back.mean.is_nan() && (back.lo, back.hi) == (0.0, 1.0), "{text}");
        assert!(serde_json::from_str::<Estimate>(r#"{"mean":"x","lo":0,"hi":1}"#).is_err());
    }
}
