//! Covariances of embeddings, shrunk to be invertible, and their roots for whitening.

use super::subspace::SvdError;
use base::matrix::Dense;
use faer::{MatRef, Side};

pub fn column_means(x: &Dense<f64>) -> Vec<f64> {
    let mut means = vec![0.0; x.cols()];
    for row in x.iter_rows() {
        means.iter_mut().zip(row).for_each(|(m, x)| *m += x);
    }
    means.iter_mut().for_each(|m| *m /= x.rows().max(1) as f64);
    means
}

/// Optimal linear shrinkage of a covariance of n rows towards `T = tr(S)/D I` (Bodnar, Gupta and Parolya 2014): `a S + (1 - a) T` with
/// `a = 1 - tr(S)² |T|² / n / (|S|² |T|² - tr(S T)²)`. A multiple of the identity stays unchanged.
pub fn shrink_covariance(s: &mut Dense<f64>, n: usize) {
    let d = s.rows();
    let trace: f64 = (0..d).map(|i| s.row(i)[i]).sum();
    let mean = trace / d as f64;
    let target = mean * mean * d as f64;
    let size: f64 = s.data().iter().map(|x| x * x).sum();
    let product = trace * mean;
    let below = size * target - product * product;
    if below <= f64::EPSILON * size * target {
        return;
    }
    let a = (1.0 - trace * trace * target / n as f64 / below).clamp(0.0, 1.0);
    s.data_mut().iter_mut().for_each(|x| *x *= a);
    (0..d).for_each(|i| s.row_mut(i)[i] += (1.0 - a) * product / target * mean);
}

/// `Σ^(-1/2)` and `Σ^(1/2)` (D x D). Both are 0 in directions without variance.
///
/// # Errors
/// [`SvdError`] if the decomposition does not converge, which does not happen for finite covariances.
pub fn roots(covariance: &Dense<f64>) -> Result<(Dense<f64>, Dense<f64>), SvdError> {
    let d = covariance.rows();
    let eigen =
        MatRef::from_row_major_slice(covariance.data(), d, d).self_adjoint_eigen(Side::Lower).map_err(|_| SvdError)?;
    let (v, l) = (eigen.U(), eigen.S().column_vector());
    let top = (0..d).map(|i| l[i]).fold(0.0, f64::max);
    let counts = |x: f64| x > top * d as f64 * f64::EPSILON;
    let vectors = Dense::from_fn(d, d, |i, j| v[(j, i)]);
    let root = |power: f64| {
        let scaled = Dense::from_fn(d, d, |i, j| if counts(l[i]) { l[i].powf(power) * vectors.row(i)[j] } else { 0.0 });
        vectors.t_dot(&scaled)
    };
    Ok((root(-0.5), root(0.5)))
}
