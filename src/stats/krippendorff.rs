//! Krippendorff's alpha: agreement of any number of annotators, with missing values allowed.
//!
//! Krippendorff (2011), *Computing Krippendorff's alpha-reliability*: `1 - D_o / D_e`, observed over expected disagreement, from
//! coincidences of values within units. A unit with one value carries no information.

use super::Estimate;
use super::paired::jackknife;

/// The distance between two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Different values have distance 1.
    Nominal,
    /// Values are ranks.
    Ordinal,
}

/// Coincidence counts of the values 0 to K - 1; counts of several units can be added.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Coincidences<const K: usize>([[f64; K]; K]);

impl<const K: usize> Default for Coincidences<K> {
    fn default() -> Self {
        Self([[0.0; K]; K])
    }
}

impl<const K: usize> Coincidences<K> {
    /// Adds a unit: its annotated values, each below K.
    pub fn add_unit(&mut self, values: &[usize]) {
        let weight = 1.0 / (values.len() as f64 - 1.0);
        for (i, a) in values.iter().enumerate() {
            for (_, b) in values.iter().enumerate().filter(|(j, _)| *j != i) {
                self.0[*a][*b] += weight;
            }
        }
    }

    fn with(self, other: &Self, sign: f64) -> Self {
        Self(std::array::from_fn(|a| std::array::from_fn(|b| self.0[a][b] + sign * other.0[a][b])))
    }

    /// The number of values in units with at least two values.
    fn values(&self) -> f64 {
        self.0.iter().flatten().sum()
    }

    /// Alpha; `None` if no values could have differed.
    fn alpha(&self, scale: Scale) -> Option<f64> {
        let counts: [f64; K] = self.0.map(|row| row.iter().sum());
        let distance = |a: usize, b: usize| match scale {
            Scale::Nominal => 1.0,
            Scale::Ordinal => {
                let between: f64 = counts[a.min(b)..=a.max(b)].iter().sum();
                (between - (counts[a] + counts[b]) / 2.0).powi(2)
            }
        };
        let (mut observed, mut expected) = (0.0, 0.0);
        for a in 0..K {
            for b in (0..K).filter(|b| *b != a) {
                observed += self.0[a][b] * distance(a, b);
                expected += counts[a] * counts[b] * distance(a, b);
            }
        }
        (expected > 0.0).then(|| 1.0 - (self.values() - 1.0) * observed / expected)
    }
}

/// Alpha over groups of related units, with a jackknife interval that uses Student's t over the groups. `None` if no values could have
/// differed.
pub fn alpha<const K: usize>(groups: &[Coincidences<K>], scale: Scale, level: f64) -> Option<Estimate> {
    let all = groups.iter().fold(Coincidences::default(), |sum, g| g.with(&sum, 1.0));
    let others: Vec<Option<f64>> = groups.iter().map(|g| all.with(g, -1.0).alpha(scale)).collect();
    Some(jackknife(all.alpha(scale)?, &others, (-1.0, 1.0), level))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of<const K: usize>(annotators: &[&[usize]]) -> Vec<Coincidences<K>> {
        let unit = |u: usize| {
            let mut found = Coincidences::default();
            // 0 marks a missing value.
            let values: Vec<usize> = annotators.iter().map(|a| a[u]).filter(|v| *v > 0).map(|v| v - 1).collect();
            found.add_unit(&values);
            found
        };
        (0..annotators[0].len()).map(unit).collect()
    }

    /// Krippendorff (2011), example C: four observers, twelve units, missing values; nominal .743, ordinal .815. The remaining decimals
    /// were computed with numpy from all pairs of values.
    #[test]
    fn published_data_with_missing_values() {
        let observers: [&[usize]; 4] = [
            &[1, 2, 3, 3, 2, 1, 4, 1, 2, 0, 0, 0],
            &[1, 2, 3, 3, 2, 2, 4, 1, 2, 5, 0, 3],
            &[0, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 0],
            &[1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, 0],
        ];
        let units = of::<5>(&observers);
        let mean = |scale| alpha(&units, scale, 0.95).unwrap().mean;
        assert!((mean(Scale::Nominal) - 0.743421052631579).abs() < 1e-12);
        assert!((mean(Scale::Ordinal) - 0.8153875037548813).abs() < 1e-12);
    }

    /// Only the second unit contains differing values, so alpha is undefined without it.
    #[test]
    fn alpha_from_one_unit_has_the_widest_interval() {
        let found = alpha(&of::<2>(&[&[2, 2, 2], &[2, 1, 2]]), Scale::Nominal, 0.95).unwrap();
        assert_eq!((found.mean, found.lo, found.hi), (0.0, -1.0, 1.0));
    }

    #[test]
    fn alpha_of_constant_values_is_undefined() {
        assert_eq!(alpha(&of::<3>(&[&[2, 2], &[2, 2]]), Scale::Nominal, 0.95), None);
        assert_eq!(alpha(&of::<3>(&[&[1, 0], &[0, 2]]), Scale::Ordinal, 0.95), None);
        assert_eq!(alpha::<3>(&[], Scale::Nominal, 0.95), None);
    }
}
