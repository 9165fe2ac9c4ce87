//! Scaling of rotary frequencies.

use serde::{Deserialize, Serialize};

/// Scaling of rotary frequencies for inputs longer than in pretraining, named as in transformers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum Scaling {
    #[default]
    None,
    /// Divides all frequencies by the factor.
    Linear { factor: f64 },
    /// Divides low frequencies by the factor, keeps high ones, and interpolates in between (Llama 3).
    Llama3 { factor: f64, low: f64, high: f64, original: f64 },
    /// Interpolates by the number of rotations over the original length, and scales cosines and sines (YaRN, Peng et al. 2023).
    Yarn { factor: f64, slow: f64, fast: f64, original: f64, attention: f64, truncate: bool },
}

impl Scaling {
    pub(super) fn is_none(&self) -> bool {
        *self == Scaling::None
    }

    /// Scales the frequency with index `i` for heads with `share` rotated dimensions.
    pub(super) fn apply(self, frequency: f64, i: usize, theta: f64, share: f64) -> f64 {
        match self {
            Scaling::None => frequency,
            Scaling::Linear { factor } => frequency / factor,
            Scaling::Llama3 { factor, low, high, original } => {
                let turns = original * frequency / std::f64::consts::TAU;
                let kept = ((turns - low) / (high - low)).clamp(0.0, 1.0);
                (1.0 - kept) * frequency / factor + kept * frequency
            }
            Scaling::Yarn { factor, slow, fast, original, truncate, .. } => {
                let index = |turns: f64| share * (original / (turns * std::f64::consts::TAU)).ln() / (2.0 * theta.ln());
                let (mut from, mut to) = (index(fast), index(slow));
                if truncate {
                    (from, to) = (from.floor(), to.ceil());
                }
                (from, to) = (from.max(0.0), to.min(share - 1.0));
                let width = if from == to { 0.001 } else { to - from };
                let divided = ((i as f64 - from) / width).clamp(0.0, 1.0);
                divided * frequency / factor + (1.0 - divided) * frequency
            }
        }
    }

    pub(super) fn is_sound(self) -> bool {
        let positive = |values: &[f64]| values.iter().all(|v| *v > 0.0 && v.is_finite());
        match self {
            Scaling::None => true,
            Scaling::Linear { factor } => positive(&[factor]),
            Scaling::Llama3 { factor, low, high, original } => positive(&[factor, low, high, original]) && high > low,
            Scaling::Yarn { factor, slow, fast, original, attention, .. } => {
                positive(&[factor, slow, fast, original, attention]) && fast >= slow
            }
        }
    }
}
