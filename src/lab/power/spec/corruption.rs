//! Settings for training that corrupts encoders.

use serde::{Deserialize, Serialize};

use lab::spec::{Refuse, SpecError};

/// Settings of the corruption that differ from Zhu et al.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CorruptionSpec {
    /// Sentences per step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<usize>,
    /// Peak learning rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// Share of masked words, for masked models.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub masking: Option<f64>,
}

impl CorruptionSpec {
    pub(super) fn is_usual(&self) -> bool {
        *self == Self::default()
    }

    /// Checks ranges, and refuses corruption settings if no encoder is corrupted.
    pub(super) fn check(&self, corrupts: bool, refuse: &Refuse<'_>) -> Result<(), SpecError> {
        let CorruptionSpec { batch, rate, masking } = self;
        batch.map_or(Ok(()), |n| refuse.outside("corruption.batch", n, 1..=4_096))?;
        rate.map_or(Ok(()), |r| refuse.outside("corruption.rate", r, 1e-9..=1.0))?;
        masking.map_or(Ok(()), |m| refuse.outside("corruption.masking", m, 0.01..=0.95))?;
        if !self.is_usual() && !corrupts {
            let problem = "is set, but no encoder is corrupted: set `a.corrupted` or `b.corrupted`, for example to 200";
            return refuse.because("corruption", problem.into());
        }
        Ok(())
    }
}
