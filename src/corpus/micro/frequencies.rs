//! Frequencies of subject and attractor number, and their correlation.

use rand_chacha::rand_core::Rng;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::Number;
use stats::rng::unit;

#[derive(Debug, Clone, PartialEq, Error)]
pub enum FrequencyError {
    /// The correlation is impossible with these margins.
    #[error(
        "a correlation (phi) of {phi} is impossible with the natural shares of subject and attractor number; choose \
         one from {lo:.3} to {hi:.3}"
    )]
    Phi {
        phi: f64,
        /// Lower end of the range allowed.
        lo: f64,
        /// Upper end of the range allowed.
        hi: f64,
    },
    /// A share is negative, infinite or NaN, or one of the subject numbers never occurs.
    #[error("the shares {0:?} are invalid: each must be finite and at least 0, and each row needs a positive sum")]
    Cells([[f64; 3]; 2]),
}

/// Shares of the six combinations, with sum 1. Rows are Z_c = Sg, Pl; columns are Z_e = none, Sg, Pl. Z_c is the number of the subject,
/// Z_e that of the prepositional object right before the verb.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "[[f64; 3]; 2]", into = "[[f64; 3]; 2]")]
pub struct Frequencies {
    cells: [[f64; 3]; 2],
}

/// Table 1 of Canby et al., in thousands of test sentences.
pub const TABLE_1: [[f64; 3]; 2] = [[176.0, 31.0, 5.0], [78.0, 10.0, 4.0]];

impl Frequencies {
    /// Returns the shares of [`TABLE_1`].
    pub fn natural() -> Self {
        Self::scaled(TABLE_1)
    }

    /// Returns equal shares of all six combinations, for measuring accuracy.
    pub fn balanced() -> Self {
        Self::scaled([[1.0; 3]; 2])
    }

    /// Returns the natural margins with correlation `phi` between the two numbers in sentences that have both. For either subject number,
    /// the share of sentences with an attractor keeps its natural value.
    ///
    /// # Errors
    /// [`FrequencyError::Phi`] with the range that these margins allow.
    pub fn with_phi(phi: f64) -> Result<Self, FrequencyError> {
        let [[none_sg, a, b], [none_pl, c, d]] = TABLE_1;
        let n = a + b + c + d;
        let (p, q) = ((a + b) / n, (a + c) / n);
        let scale = (p * (1.0 - p) * q * (1.0 - q)).sqrt();
        let (lo, hi) = (((p + q - 1.0).max(0.0) - p * q) / scale, (p.min(q) - p * q) / scale);
        if !(lo..=hi).contains(&phi) {
            return Err(FrequencyError::Phi { phi, lo, hi });
        }
        let both_sg = (p * q + phi * scale).clamp(0.0, 1.0);
        let cell = |share: f64| n * share.max(0.0);
        Ok(Self::scaled([
            [none_sg, cell(both_sg), cell(p - both_sg)],
            [none_pl, cell(q - both_sg), cell(1.0 - p - q + both_sg)],
        ]))
    }

    /// Restricts the shares to sentences with an attractor.
    ///
    /// # Errors
    /// [`FrequencyError::Cells`] if a subject number never occurs with an attractor.
    pub(crate) fn with_attractors(&self) -> Result<Self, FrequencyError> {
        Self::from_cells(self.cells.map(|[_, a, b]| [0.0, a, b]))
    }

    /// Normalizes `cells` to sum 1.
    pub fn from_cells(cells: [[f64; 3]; 2]) -> Result<Self, FrequencyError> {
        let fine =
            cells.iter().all(|row| row.iter().all(|&c| c.is_finite() && c >= 0.0) && row.iter().sum::<f64>() > 0.0);
        let total: f64 = cells.iter().flatten().sum();
        if fine && total.is_finite() { Ok(Self::scaled(cells)) } else { Err(FrequencyError::Cells(cells)) }
    }

    fn scaled(cells: [[f64; 3]; 2]) -> Self {
        let total: f64 = cells.iter().flatten().sum();
        Self { cells: cells.map(|row| row.map(|c| c / total)) }
    }

    pub fn cells(&self) -> [[f64; 3]; 2] {
        self.cells
    }

    /// Returns the correlation between subject and attractor number in sentences that have both; 0 if one of them is constant.
    pub fn phi(&self) -> f64 {
        let [[_, a, b], [_, c, d]] = self.cells;
        let scale = ((a + b) * (c + d) * (a + c) * (b + d)).sqrt();
        if scale > 0.0 { (a * d - b * c) / scale } else { 0.0 }
    }

    pub(super) fn draw(&self, rng: &mut impl Rng) -> (Number, Option<Number>) {
        let mut left = unit(rng);
        let mut last = (Number::Sg, None);
        for (row, zc) in Number::ALL.into_iter().enumerate() {
            for (column, ze) in [None, Some(Number::Sg), Some(Number::Pl)].into_iter().enumerate() {
                let share = self.cells[row][column];
                if share > 0.0 {
                    last = (zc, ze);
                    if left < share {
                        return last;
                    }
                    left -= share;
                }
            }
        }
        // Because of rounding, the number drawn can exceed the sum of the shares.
        last
    }
}

impl Default for Frequencies {
    fn default() -> Self {
        Self::natural()
    }
}

impl From<Frequencies> for [[f64; 3]; 2] {
    fn from(f: Frequencies) -> Self {
        f.cells
    }
}

impl TryFrom<[[f64; 3]; 2]> for Frequencies {
    type Error = FrequencyError;

    fn try_from(cells: [[f64; 3]; 2]) -> Result<Self, FrequencyError> {
        Self::from_cells(cells)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use stats::rng::stream;

    #[test]
    fn natural_frequencies_match_table_1() {
        let f = Frequencies::natural();
        let sg: f64 = f.cells()[0].iter().sum();
        let none: f64 = f.cells()[0][0] + f.cells()[1][0];
        // The paper states 69.8 % and "about 83 %", which follow from its rounded counts.
        assert!((sg - 212.0 / 304.0).abs() < 1e-12 && (none - 254.0 / 304.0).abs() < 1e-12);
        let ze_sg = (f.cells()[0][1] + f.cells()[1][1]) / (1.0 - none);
        assert!((ze_sg - 0.82).abs() < 1e-12, "{ze_sg}");
        assert!((f.phi() - (31.0 * 4.0 - 5.0 * 10.0) / (36.0 * 14.0 * 41.0 * 9.0f64).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn out_of_range_error_states_the_range() {
        let FrequencyError::Phi { lo, hi, .. } = Frequencies::with_phi(0.9).unwrap_err() else { panic!() };
        assert!((lo + 0.292).abs() < 1e-3 && (hi - 0.751).abs() < 1e-3, "{lo} {hi}");
        assert!(Frequencies::with_phi(f64::NAN).is_err());
        for bad in [[[0.0; 3], [1.0; 3]], [[-1.0, 2.0, 2.0], [1.0; 3]], [[f64::INFINITY, 1.0, 1.0], [1.0; 3]]] {
            assert!(Frequencies::from_cells(bad).is_err());
        }
        assert!(serde_json::from_str::<Frequencies>("[[1,2,3],[0,0,0]]").is_err());
    }

    proptest! {
        #[test]
        fn phi_matches_the_request(phi in -0.29f64..0.75) {
            let f = Frequencies::with_phi(phi).unwrap();
            prop_assert!((f.phi() - phi).abs() < 1e-9);
            let natural = Frequencies::natural().cells();
            for column in 1..3 {
                let sum = |c: [[f64; 3]; 2]| c[0][column] + c[1][column];
                prop_assert!((sum(f.cells()) - sum(natural)).abs() < 1e-12);
            }
            for row in 0..2 {
                let sum = |c: [[f64; 3]; 2]| c[row].iter().sum::<f64>();
                prop_assert!((sum(f.cells()) - sum(natural)).abs() < 1e-12);
            }
            let back: Frequencies = serde_json::from_str(&serde_json::to_string(&f).unwrap()).unwrap();
            prop_assert!((back.phi() - phi).abs() < 1e-9);
        }

        #[test]
        fn draws_follow_the_probabilities(seed: u64, cells in proptest::array::uniform2(proptest::array::uniform3(0.0f64..1.0))) {
            prop_assume!(Frequencies::from_cells(cells).is_ok());
            let f = Frequencies::from_cells(cells).unwrap();
            let mut rng = stream(seed, "frequencies test");
            let n = 4_000;
            let mut counts = [[0.0f64; 3]; 2];
            for _ in 0..n {
                let (zc, ze) = f.draw(&mut rng);
                counts[zc.index()][ze.map_or(0, |z| 1 + z.index())] += 1.0;
            }
            for (count, share) in counts.iter().flatten().zip(f.cells().iter().flatten()) {
                // The tolerance is six standard deviations.
                let tolerance = 6.0 * (n as f64 * share * (1.0 - share)).sqrt() + 1e-9;
                prop_assert!((count - n as f64 * share).abs() <= tolerance, "{count} for {share}");
            }
        }
    }
}
