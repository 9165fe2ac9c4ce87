//! Distance of edited hidden states from real ones.
//!
//! A state that no sentence produces shows little about the model, even if an oracle reads the intended value from it. Four distances are
//! measured for the same examples, before and after the edit:
//!
//! - the Euclidean distance to the nearest real state,
//! - the Mahalanobis distance from the mean of the real states, `sqrt((h - m)' S⁻¹ (h - m))`, with S shrunk as in LEACE; for a real state
//!   this is about the square root of the dimension,
//! - the norm after the edit divided by the norm before it,
//! - the Euclidean distance to the state of the example's true counterfactual, if it has one.
//!
//! The real states are those to which interventions are fitted.

use lab::Columns;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use super::key::MethodKey;
use probe::covariance::{column_means, roots, shrink_covariance};
use probe::subspace::SvdError;
use probe::{Dense, Matrix};
use stats::Estimate;
use stats::clustered::linearised;
use stats::estimate::number_or_null;
use stats::paired::mean_within;

/// Maximum number of real states to compare with, evenly spaced among all.
pub(crate) const REAL_STATES: usize = 2_048;

/// Real states, prepared for comparison.
#[derive(Debug, Clone)]
pub struct Meter {
    /// The real states, R x D.
    real: Matrix,
    /// Half the squared norm of each real state.
    halves: Vec<f32>,
    mean: Vec<f64>,
    /// `S^(-1/2)`, D x D.
    whiten: Matrix,
}

/// Distances of edited states, one of each kind per example.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Distances {
    /// Distances to the nearest real state.
    pub nearest: Vec<f64>,
    /// Mahalanobis distance from the mean of the real states.
    pub mahalanobis: Vec<f64>,
    /// Norm after divided by norm before; NaN if the latter is 0.
    pub norm_ratio: Vec<f64>,
    /// Distances to the state of the true counterfactual; empty if there is none.
    pub counterfactual: Vec<f64>,
}

impl Meter {
    /// Prepares at most [`REAL_STATES`] of the real `states` (n x D).
    ///
    /// # Errors
    /// [`SvdError`] if the covariance cannot be decomposed, which does not happen for finite states.
    pub fn new(states: &Matrix) -> Result<Self, SvdError> {
        let n = states.rows();
        let count = n.min(REAL_STATES);
        let rows: Vec<usize> = (0..count).map(|i| i * n / count).collect();
        let real = states.select_rows(&rows);
        let mut centred: Dense<f64> = real.cast();
        let mean = column_means(&centred);
        for i in 0..count {
            centred.row_mut(i).iter_mut().zip(&mean).for_each(|(x, m)| *x -= m);
        }
        let mut covariance = centred.t_dot(&centred);
        let per = 1.0 / (count.max(2) - 1) as f64;
        covariance.data_mut().iter_mut().for_each(|x| *x *= per);
        shrink_covariance(&mut covariance, count);
        let whiten = roots(&covariance)?.0;
        let halves = real.iter_rows().map(|r| 0.5 * r.iter().map(|x| x * x).sum::<f32>()).collect();
        Ok(Self { real, halves, mean, whiten: whiten.cast() })
    }

    pub fn count(&self) -> usize {
        self.real.rows()
    }

    /// Measures the edited states `h`, given the states `before` the edit and the true counterfactuals `twins` of the same examples (each n
    /// x D).
    ///
    /// # Panics
    /// If the shapes differ.
    pub fn measure(&self, h: &Matrix, before: &Matrix, twins: Option<&Matrix>) -> Distances {
        let centred = Matrix::from_fn(h.rows(), h.cols(), |i, j| (f64::from(h.row(i)[j]) - self.mean[j]) as f32);
        let whitened = centred.dot(&self.whiten);
        let products = h.dot_t(&self.real);
        let nearest = |i: usize| {
            // Single precision is enough to find the nearest state; its distance is then computed without cancellation.
            let gaps = products.row(i).iter().zip(&self.halves).map(|(product, half)| half - product);
            let found = gaps.enumerate().min_by(|a, b| a.1.total_cmp(&b.1));
            found.map_or(f64::NAN, |(k, _)| apart(h.row(i), self.real.row(k)))
        };
        let rows = || 0..h.rows();
        Distances {
            nearest: rows().map(nearest).collect(),
            mahalanobis: rows().map(|i| norm(whitened.row(i))).collect(),
            norm_ratio: rows().map(|i| norm(h.row(i)) / norm(before.row(i))).collect(),
            counterfactual: twins.map_or(Vec::new(), |t| rows().map(|i| apart(h.row(i), t.row(i))).collect()),
        }
    }
}

fn norm(row: &[f32]) -> f64 {
    row.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt()
}

fn apart(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (f64::from(*a) - f64::from(*b)).powi(2)).sum::<f64>().sqrt()
}

impl Distances {
    pub(crate) fn len(&self) -> usize {
        self.nearest.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.nearest.is_empty()
    }

    /// Adds the distances of the same examples edited toward a different value, with weight `w`.
    pub(crate) fn add(&mut self, part: &Self, w: f64) {
        let each = |sum: &mut Vec<f64>, part: &[f64]| {
            sum.resize(part.len(), 0.0);
            sum.iter_mut().zip(part).for_each(|(a, b)| *a += w * b);
        };
        each(&mut self.nearest, &part.nearest);
        each(&mut self.mahalanobis, &part.mahalanobis);
        each(&mut self.norm_ratio, &part.norm_ratio);
        each(&mut self.counterfactual, &part.counterfactual);
    }
}

/// Distances of one method's states at one strength from real ones, for one training run of the method. `n` of the
/// finding is the number of measured examples; intervals are by Student's t over them, or over texts if they are tokens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct DistanceFinding {
    /// Name of the method in the registry.
    #[id]
    pub method: String,
    /// Hyperparameters that differ from the method's defaults.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[id]
    pub options: BTreeMap<String, f64>,
    /// Layer of the intervention.
    #[id]
    pub layer: usize,
    /// Name of the swept hyperparameter.
    pub parameter: String,
    /// Strength of the method.
    #[id]
    pub value: f64,
    /// Mean Euclidean distance to the nearest real state.
    pub nearest: Estimate,
    /// Mean Mahalanobis distance from the mean of the real states.
    pub mahalanobis: Estimate,
    /// Mean of the norm after the edit divided by the norm before it.
    pub norm_ratio: Estimate,
    /// Mean Euclidean distance to the state of the true counterfactual, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counterfactual: Option<Estimate>,
    /// Mean distances of the same examples before the edit.
    pub before: Unchanged,
    /// Number of real states used for comparison.
    pub real_states: usize,
}

/// Mean distances of unedited states.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Unchanged {
    /// Mean distance to the nearest real state.
    #[serde(deserialize_with = "number_or_null")]
    pub nearest: f64,
    /// Mean Mahalanobis distance from the mean of the real states.
    #[serde(deserialize_with = "number_or_null")]
    pub mahalanobis: f64,
    /// Mean distance to the state of the true counterfactual, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counterfactual: Option<f64>,
}

impl Unchanged {
    pub fn of(d: &Distances) -> Self {
        let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
        let counterfactual = (!d.counterfactual.is_empty()).then(|| mean(&d.counterfactual));
        Self { nearest: mean(&d.nearest), mahalanobis: mean(&d.mahalanobis), counterfactual }
    }
}

/// Level and reference values shared by distance findings.
#[derive(Debug, Clone, Copy)]
pub struct Held<'a> {
    pub level: f64,
    /// The text of each example, if examples are tokens of texts.
    pub texts: Option<&'a [usize]>,
    pub before: Unchanged,
    pub real_states: usize,
}

impl DistanceFinding {
    /// The finding of one strength.
    pub fn of(key: &MethodKey, place: (usize, &str, f64), d: &Distances, held: &Held<'_>) -> Self {
        let mean = |v: &[f64]| match held.texts {
            Some(texts) => mean_within(&linearised(v, texts), (0.0, f64::INFINITY), held.level),
            None => mean_within(v, (0.0, f64::INFINITY), held.level),
        };
        let (layer, parameter, value) = place;
        Self {
            method: key.name.clone(),
            options: key.options.clone(),
            layer,
            parameter: parameter.to_owned(),
            value,
            nearest: mean(&d.nearest),
            mahalanobis: mean(&d.mahalanobis),
            norm_ratio: mean(&d.norm_ratio),
            counterfactual: (!d.counterfactual.is_empty()).then(|| mean(&d.counterfactual)),
            before: held.before,
            real_states: held.real_states,
        }
    }

    pub fn method_key(&self) -> MethodKey {
        MethodKey { name: self.method.clone(), options: self.options.clone() }
    }

    /// Names and distances, each divided by the distance of the unedited states, or absolute where that is 0. `counterpart` is the distance
    /// to the true counterfactual.
    pub fn relative(&self) -> Vec<(&'static str, Estimate)> {
        let by = |e: Estimate, unit: f64| {
            let unit = if unit > 0.0 { unit } else { 1.0 };
            Estimate { mean: e.mean / unit, lo: e.lo / unit, hi: e.hi / unit }
        };
        let mut list = vec![
            ("nearest", by(self.nearest, self.before.nearest)),
            ("Mahalanobis", by(self.mahalanobis, self.before.mahalanobis)),
            ("norm", self.norm_ratio),
        ];
        let twin = self.counterfactual.zip(self.before.counterfactual);
        list.extend(twin.map(|(e, unit)| ("counterpart", by(e, unit))));
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(rows: &[&[f32]]) -> Matrix {
        Matrix::from_fn(rows.len(), rows[0].len(), |i, j| rows[i][j])
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-5
    }

    /// Computed by hand. The covariance of (±3, 0), (0, ±3) is 6 I, which no shrinkage changes, and the mean is 0. The nearest of these
    /// states to (3, 4) is (0, 3), at distance sqrt(10). The Mahalanobis distance of (3, 4) is sqrt(25/6), its norm is 5 times that of (1,
    /// 0), and its distance from the counterfactual (0, 0) is 5.
    #[test]
    fn distances_match_hand_computation() {
        let meter = Meter::new(&matrix(&[&[3.0, 0.0], &[-3.0, 0.0], &[0.0, 3.0], &[0.0, -3.0]])).unwrap();
        assert_eq!(meter.count(), 4);
        let twins = matrix(&[&[0.0, 0.0], &[0.0, 5.0]]);
        let h = matrix(&[&[3.0, 4.0], &[0.0, 2.0]]);
        let got = meter.measure(&h, &matrix(&[&[1.0, 0.0], &[0.0, -4.0]]), Some(&twins));
        assert!(near(got.nearest[0], 10f64.sqrt()) && near(got.nearest[1], 1.0), "{got:?}");
        assert!(near(got.mahalanobis[0], (25.0f64 / 6.0).sqrt()), "{got:?}");
        assert!(near(got.mahalanobis[1], (4.0f64 / 6.0).sqrt()), "{got:?}");
        assert!(near(got.norm_ratio[0], 5.0) && near(got.norm_ratio[1], 0.5), "{got:?}");
        assert!(near(got.counterfactual[0], 5.0) && near(got.counterfactual[1], 3.0), "{got:?}");
        assert!(meter.measure(&h, &h, None).counterfactual.is_empty());
    }

    /// Reference for a shrunk covariance (a = .756): its inverse in exact fractions.
    #[test]
    fn mahalanobis_with_shrunk_covariance() {
        let x = |i: usize, j: usize| -> f32 {
            let t = i as f32;
            [0.25 * ((7 * i) % 5) as f32, 0.5 * ((3 * i) % 7) as f32 - 1.0, 0.125 * t][j]
        };
        let meter = Meter::new(&Matrix::from_fn(12, 3, x)).unwrap();
        let h = matrix(&[&[0.5, 0.25, 1.0], &[4.0, -3.0, 2.0]]);
        let got = meter.measure(&h, &h, None);
        for (got, want) in got.mahalanobis.iter().zip([0.748_784_554_662_614_7, 10.470_431_812_793_683]) {
            assert!(near(*got, want), "{got} {want}");
        }
    }

    /// States far from the origin in single precision: the distance is computed from the rows, not from rounded products.
    #[test]
    fn distant_states_lose_no_digits() {
        let real = matrix(&[&[1000.0, 0.0], &[1000.0, 0.5], &[-1000.0, 0.0]]);
        let got = Meter::new(&real).unwrap().measure(&matrix(&[&[1000.0, 0.125]]), &real.select_rows(&[0]), None);
        assert!(near(got.nearest[0], 0.125) || near(got.nearest[0], 0.375), "{got:?}");
    }

    #[test]
    fn distances_are_averaged_over_target_values() {
        let one = |v: f64| Distances {
            nearest: vec![v],
            mahalanobis: vec![v],
            norm_ratio: vec![1.0],
            counterfactual: vec![],
        };
        let mut sum = Distances::default();
        assert!(sum.is_empty());
        sum.add(&one(1.0), 0.5);
        sum.add(&one(4.0), 0.5);
        assert_eq!((sum.nearest.clone(), sum.len()), (vec![2.5], 1));
        let held = Held { level: 0.95, texts: None, before: Unchanged::of(&one(0.5)), real_states: 7 };
        let found = DistanceFinding::of(&MethodKey::named("pgd"), (4, "epsilon", 0.1), &sum, &held);
        let names: Vec<(&str, f64)> = found.relative().iter().map(|(name, e)| (*name, e.mean)).collect();
        assert_eq!(names, [("nearest", 5.0), ("Mahalanobis", 5.0), ("norm", 1.0)]);
        let json = serde_json::to_value(&found).unwrap();
        assert_eq!((json["nearest"]["mean"].as_f64(), json["real_states"].as_u64()), (Some(2.5), Some(7)));
        assert!(json.get("counterfactual").is_none() && json["before"]["nearest"] == 0.5);
    }
}
