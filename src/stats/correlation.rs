//! Pearson's correlation with its p-value, and Spearman's rank correlation.

use super::special::beta_cdf;

#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Correlation {
    /// The number of pairs.
    pub n: usize,
    /// Pearson's r, in [-1, 1].
    pub r: f64,
    /// Two-sided p-value for r = 0: Student's t of `r √((n-2)/(1-r²))` with n - 2 degrees of freedom. Computed from the incomplete beta
    /// function at 1 - r², which is precise for r near 1.
    pub p: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Undefined {
    /// Fewer than three pairs: two always lie on a line.
    #[error("fewer than three pairs of numbers")]
    Few,
    /// All values of a list are equal.
    #[error("all numbers of a list are equal")]
    Constant,
}

/// Pearson's correlation of finite numbers. Values are scaled by their largest magnitude, so that squares neither overflow nor underflow.
///
/// # Errors
/// [`Undefined`] for fewer than three pairs, or a list without variance.
///
/// # Panics
/// If the lists have different lengths.
pub fn pearson(x: &[f64], y: &[f64]) -> Result<Correlation, Undefined> {
    assert_eq!(x.len(), y.len(), "the lists have different lengths");
    let n = x.len();
    if n < 3 {
        return Err(Undefined::Few);
    }
    let (x, y) = (centred(x).ok_or(Undefined::Constant)?, centred(y).ok_or(Undefined::Constant)?);
    let sum = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let (xx, yy) = (sum(&x, &x), sum(&y, &y));
    if !(xx > 0.0 && yy > 0.0) {
        return Err(Undefined::Constant);
    }
    let r = (sum(&x, &y) / (xx.sqrt() * yy.sqrt())).clamp(-1.0, 1.0);
    let p = beta_cdf((1.0 - r) * (1.0 + r), 0.5 * (n as f64 - 2.0), 0.5);
    Ok(Correlation { n, r, p })
}

/// Spearman's rank correlation: Pearson's on ranks, with mean ranks for ties.
///
/// # Panics
/// If the lists have different lengths.
pub fn spearman(x: &[f64], y: &[f64]) -> Result<Correlation, Undefined> {
    pearson(&ranks(x), &ranks(y))
}

/// Ascending ranks from 1; ties share their mean rank.
fn ranks(values: &[f64]) -> Vec<f64> {
    let count = |is: &dyn Fn(f64) -> bool| values.iter().filter(|v| is(**v)).count() as f64;
    values.iter().map(|x| count(&|v| v < *x) + 0.5 * (count(&|v| v == *x) + 1.0)).collect()
}

/// Centred values in units of the largest distance from the first; `None` if all are equal.
fn centred(values: &[f64]) -> Option<Vec<f64>> {
    let first = values.first()?;
    if values.iter().all(|v| v == first) {
        return None;
    }
    // Subtracting first preserves small differences if the mean is large. Scaling by 1/4 keeps every difference finite.
    let huge = values.iter().any(|v| v.abs() > f64::MAX / 4.0);
    let unit = if huge { 0.25 } else { 1.0 };
    let away: Vec<f64> = values.iter().map(|v| v * unit - first * unit).collect();
    let largest = away.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    let scaled: Vec<f64> = away.iter().map(|v| v / largest).collect();
    let mean = scaled.iter().sum::<f64>() / scaled.len() as f64;
    Some(scaled.into_iter().map(|v| v - mean).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn p_value_matches_the_t_distribution() {
        // Twelve pairs with r = .5: half of one list plus √¾ of an orthogonal one.
        let x: Vec<f64> = (0..12).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
        let other = |i: usize| if i % 4 < 2 { 1.0 } else { -1.0 };
        let y: Vec<f64> = (0..12).map(|i| 0.5 * x[i] + 0.75_f64.sqrt() * other(i)).collect();
        let found = pearson(&x, &y).unwrap();
        assert!((found.r - 0.5).abs() < 1e-12 && (found.p - 0.097_855).abs() < 1e-6, "{found:?}");
        // With three pairs, t has one degree of freedom and its distribution is an arc tangent.
        let three = pearson(&[1.0, 2.0, 3.0], &[1.0, 3.0, 2.0]).unwrap();
        let t = 0.5 / 0.75_f64.sqrt();
        let p = 1.0 - 2.0 * t.atan() / std::f64::consts::PI;
        assert!((three.r - 0.5).abs() < 1e-12 && (three.p - p).abs() < 1e-12, "{three:?}");
    }

    #[test]
    fn spearman_uses_ranks_and_averages_ties() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 9.0]), [2.5, 1.0, 2.5, 4.0]);
        let (x, y) = ([1.0, 2.0, 3.0, 4.0], [0.1, 7.0, 8.0, 1e9]);
        assert!((spearman(&x, &y).unwrap().r - 1.0).abs() < 1e-12);
        // One swap of neighbours: 1 - 6 * 2 / (4 * 15).
        assert!((spearman(&x, &[1.0, 3.0, 2.0, 4.0]).unwrap().r - 0.8).abs() < 1e-12);
        assert_eq!(spearman(&x, &[5.0; 4]), Err(Undefined::Constant));
    }

    #[test]
    fn constant_data_have_no_correlation() {
        assert_eq!(pearson(&[1.0, 2.0], &[2.0, 1.0]), Err(Undefined::Few));
        assert_eq!(pearson(&[], &[]), Err(Undefined::Few));
        // The mean of ten values of .1 is not exactly .1, so the values themselves are compared.
        assert_eq!(pearson(&[0.1; 10], &[1.0; 10]), Err(Undefined::Constant));
        assert_eq!(pearson(&[0.0, -0.0, 0.0], &[1.0, 2.0, 3.0]), Err(Undefined::Constant));
    }

    /// Regression: at a mean of 1e9, differences of a few units used to lose half of their digits.
    #[test]
    fn large_mean_does_not_reduce_precision() {
        let far = pearson(&[1e9, 1e9 + 1.0, 1e9 + 3.0, 1e9 + 2.0], &[1.0, 2.0, 2.5, 3.0]).unwrap();
        let near = pearson(&[0.0, 1.0, 3.0, 2.0], &[1.0, 2.0, 2.5, 3.0]).unwrap();
        assert!((far.r - near.r).abs() < 1e-15 && (far.p - near.p).abs() < 1e-14, "{far:?} {near:?}");
    }

    #[test]
    fn extreme_magnitudes_do_not_overflow_or_underflow() {
        for scale in [1e-320, 1e-200, 1.0, 1e200, 1e307] {
            let found = pearson(&[-scale, 2.0 * scale, 5.0 * scale], &[3.0, 1.0, -4.0]).unwrap();
            assert!(found.r < -0.9 && found.p < 0.3, "{scale}: {found:?}");
        }
        let found = pearson(&[f64::MAX, -f64::MAX, 0.0], &[1.0, -1.0, 0.0]).unwrap();
        assert!((found.r - 1.0).abs() < 1e-12, "{found:?}");
    }

    proptest! {
        #[test]
        fn correlation_is_invariant_to_linear_maps_and_order(
            pairs in proptest::collection::vec((-10.0f64..10.0, -10.0f64..10.0), 3..30), a in 0.1f64..9.0, b in -5.0f64..5.0,
        ) {
            let (x, y): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
            if let Ok(found) = pearson(&x, &y) {
                let line: Vec<f64> = x.iter().map(|v| a * v + b).collect();
                let moved = pearson(&line, &y).unwrap();
                let turned = pearson(&y, &x).unwrap();
                prop_assert!((found.r - moved.r).abs() < 1e-9 && (found.r - turned.r).abs() < 1e-12);
                prop_assert!((-1.0..=1.0).contains(&found.r) && (0.0..=1.0).contains(&found.p));
            }
        }
    }
}
