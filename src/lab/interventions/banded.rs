//! A score with its bands, as stored in findings: the variation due to the choice of examples and to training.

use serde::{Deserialize, Serialize};

use base::numbers::score;
use lab::interval::beside;
pub use lab::interval::{ENOUGH_TRAININGS, is_few};
use stats::Estimate;
use stats::estimate::number_or_null;
use stats::replicates::{Bands, Form};

/// A mean over replicates. `lo` and `hi` are the ends of the wide band (sampling and training), or of the narrow band for a single
/// replicate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Banded {
    /// Mean over replicates.
    #[serde(deserialize_with = "number_or_null")]
    pub mean: f64,
    /// Lower end.
    #[serde(deserialize_with = "number_or_null")]
    pub lo: f64,
    /// Upper end.
    #[serde(deserialize_with = "number_or_null")]
    pub hi: f64,
    /// The narrow band: sampling of examples only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling: Option<[f64; 2]>,
    /// Smallest and largest value of any replicate: the range of results that single training runs would have reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<[f64; 2]>,
    /// Standard deviation over replicates on these examples; `None` with one replicate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sd: Option<f64>,
    /// Distribution used for the wide band; `None` without a wide band.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<Form>,
}

impl Banded {
    /// An unknown score, with the whole range as its band.
    pub const UNKNOWN: Self =
        Self { mean: f64::NAN, lo: 0.0, hi: 1.0, sampling: None, range: None, sd: None, form: None };

    pub fn half_width(&self) -> f64 {
        self.estimate().half_width()
    }

    /// The values of two training runs, which are too few for an interval; `None` for other numbers of training runs.
    pub fn values(&self, trainings: usize) -> Option<[f64; 2]> {
        self.range.filter(|_| is_few(trainings))
    }

    /// The mean with its band, clipped to the range from 0 to 1. For reports, use [`Self::reported`].
    pub fn estimate(&self) -> Estimate {
        Estimate { mean: self.mean, lo: self.lo.max(0.0), hi: self.hi.min(1.0) }
    }

    /// The mean with its interval, whose ends are NaN if there are too few training runs.
    pub fn reported(&self, trainings: usize) -> Estimate {
        if is_few(trainings) { Estimate { lo: f64::NAN, hi: f64::NAN, ..self.estimate() } } else { self.estimate() }
    }

    /// The text shown after the mean: its interval `[.83, .86]`, or the values of two training runs `(.83, .87)`.
    pub fn spread(&self, trainings: usize) -> String {
        match (is_few(trainings), self.values(trainings)) {
            (true, None) => "–".into(),
            (_, values) => beside(self.estimate(), values, score),
        }
    }

    pub fn narrow_half_width(&self) -> Option<f64> {
        self.sampling.map(|[lo, hi]| (hi - lo) / 2.0)
    }
}

impl From<Estimate> for Banded {
    fn from(e: Estimate) -> Self {
        Self { mean: e.mean, lo: e.lo, hi: e.hi, sampling: None, range: None, sd: None, form: None }
    }
}

impl From<Bands> for Banded {
    fn from(b: Bands) -> Self {
        let shown = b.shown();
        Self {
            sampling: Some([b.narrow.lo, b.narrow.hi]),
            range: Some(b.range),
            sd: b.parts.map(|p| p.between.sqrt()),
            form: b.form,
            ..Self::from(shown)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recordings_without_bands_are_read() {
        let old: Banded = serde_json::from_str(r#"{"mean":0.5,"lo":0.4,"hi":0.6}"#).unwrap();
        assert_eq!(old, Estimate { mean: 0.5, lo: 0.4, hi: 0.6 }.into());
        assert_eq!(serde_json::to_string(&old).unwrap(), r#"{"mean":0.5,"lo":0.4,"hi":0.6}"#);
    }

    /// Regression: a score from 0 to 1 used to be shown as `.93 ±.469`.
    #[test]
    fn interval_stays_within_score_range() {
        let wide = Banded::from(Estimate { mean: 0.93, lo: 0.461, hi: 1.399 });
        assert_eq!(wide.spread(3), "[.46, 1.00]");
        assert!(wide.estimate().half_width() < 0.3);
        let narrow = Banded::from(Estimate { mean: 0.5, lo: 0.488, hi: 0.512 });
        assert_eq!(narrow.spread(1), "[.49, .51]");
    }

    /// Regression: two training runs used to show S .95 [.02, 1.00] next to R .92 [.75, .98], both from Student's t with one degree of
    /// freedom.
    #[test]
    fn two_training_runs_show_values_without_interval() {
        let range = Some([0.93, 0.97]);
        let two = Banded { range, ..Estimate { mean: 0.95, lo: 0.02, hi: 1.0 }.into() };
        assert_eq!((two.spread(2).as_str(), two.values(2)), ("(.93, .97)", range));
        assert!(two.reported(2).lo.is_nan() && two.reported(2).hi.is_nan());
        assert_eq!((two.spread(3).as_str(), two.values(3)), ("[.02, 1.00]", None));
    }

    #[test]
    fn wide_band_is_shown_and_narrow_band_is_kept() {
        let draws = [0.38, 0.58, 0.42, 0.62, 0.40, 0.60];
        let bands = Bands::new(&[0.4, 0.6], &draws, 0.95).unwrap();
        let b = Banded::from(bands);
        let narrow = b.narrow_half_width().unwrap();
        assert!(b.estimate().half_width() > narrow && narrow > 0.0, "{b:?}");
        assert_eq!(b.range, Some([0.4, 0.6]));
        assert!((b.sd.unwrap() - 0.02f64.sqrt()).abs() < 1e-12);
        let one = Banded::from(Bands::new(&[0.4], &[0.3, 0.4, 0.5], 0.95).unwrap());
        assert_eq!((one.form, [one.lo, one.hi]), (None, one.sampling.unwrap()));
    }
}
