//! Subspaces given by orthonormal bases, and their removal from embeddings.

use base::matrix::{Dense, Matrix, Real};
use faer::MatRef;

/// A subspace of embedding space: the rows of an r x D matrix form an orthonormal basis.
#[derive(Debug, Clone, PartialEq)]
pub struct Subspace {
    basis: Dense<f64>,
}

/// The singular value decomposition did not converge (in practice: the input contained NaN or infinity).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the singular value decomposition failed: the directions contain NaN or infinity")]
pub struct SvdError;

impl Subspace {
    pub fn zero(dimension: usize) -> Self {
        Self { basis: Dense::zeros(0, dimension) }
    }

    /// The row space of `w` (m x D). Singular values at or below `s_max * max(m, D) * epsilon` count as zero, as in `scipy.linalg.orth`, so
    /// zero or dependent rows add no dimension.
    ///
    /// # Errors
    /// [`SvdError`] for NaN or infinity.
    pub fn row_space(w: &Dense<f64>) -> Result<Self, SvdError> {
        Self::spanned(w, |s, top| s > top * (w.rows().max(w.cols()) as f64) * f64::EPSILON)
    }

    /// The sum of subspaces; removing it leaves the intersection of their null spaces. It is computed as the row space of Q, the sum of the
    /// projections on the parts. The eigenvalues of Q are the squared singular values of the stacked bases. The cut-off is that of
    /// [`Self::row_space`] on Q.
    ///
    /// # Errors
    /// [`SvdError`] for NaN or infinity.
    pub fn sum(parts: &[Self], dimension: usize) -> Result<Self, SvdError> {
        let data: Vec<f64> = parts.iter().flat_map(|p| p.basis.data()).copied().collect();
        let rows = data.len() / dimension.max(1);
        let stacked = Dense::from_vec(rows, dimension, data).map_err(|_| SvdError)?;
        Self::spanned(&stacked, |s, top| s * s > top * top * (dimension as f64) * f64::EPSILON)
    }

    fn spanned(w: &Dense<f64>, counts: impl Fn(f64, f64) -> bool) -> Result<Self, SvdError> {
        let (rows, dimension) = (w.rows(), w.cols());
        if rows == 0 || w.data().iter().all(|x| *x == 0.0) {
            return Ok(Self::zero(dimension));
        }
        if !w.is_finite() {
            return Err(SvdError);
        }
        let svd = MatRef::from_row_major_slice(w.data(), rows, dimension).thin_svd().map_err(|_| SvdError)?;
        let (v, s) = (svd.V(), svd.S().column_vector());
        let rank = (0..s.nrows()).take_while(|i| counts(s[*i], s[0])).count();
        Ok(Self { basis: Dense::from_fn(rank, dimension, |i, j| v[(j, i)]) })
    }

    pub fn rank(&self) -> usize {
        self.basis.rows()
    }

    /// Embedding size.
    pub fn dimension(&self) -> usize {
        self.basis.cols()
    }

    /// The basis, one vector per row.
    pub fn basis(&self) -> &Dense<f64> {
        &self.basis
    }

    /// `P = I - B Bᵀ` (D x D): the projection that removes the subspace.
    pub fn nullspace_projection(&self) -> Dense<f64> {
        let mut p = Dense::identity(self.dimension());
        p.add_scaled(-1.0, &self.basis.t_dot(&self.basis));
        p
    }

    /// Removes the subspace from the rows of `x` (n x D): `x - (x Bᵀ) B`, which is `x P`.
    ///
    /// # Panics
    /// If `x` has the wrong number of columns.
    pub fn remove_from<T: Real>(&self, x: &Dense<T>) -> Dense<T> {
        let basis: Dense<T> = self.basis.cast();
        let mut rest = x.clone();
        rest.add_product(&x.dot_t(&basis), basis.view(), -T::ONE);
        rest
    }

    /// Removes the subspace from one vector in place.
    pub(crate) fn remove_from_vector(&self, v: &mut [f64]) {
        for b in self.basis.iter_rows() {
            let along: f64 = b.iter().zip(&*v).map(|(b, v)| b * v).sum();
            v.iter_mut().zip(b).for_each(|(v, b)| *v -= along * b);
        }
    }

    /// Rows scaled to length 1, in single precision; zero rows stay zero.
    pub fn unit_rows(w: &Dense<f64>) -> Matrix {
        let norms: Vec<f64> = w.iter_rows().map(|r| r.iter().map(|x| x * x).sum::<f64>().sqrt()).collect();
        Matrix::from_fn(w.rows(), w.cols(), |i, j| if norms[i] > 0.0 { (w.row(i)[j] / norms[i]) as f32 } else { 0.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use stats::rng::{stream, unit};

    fn random(rows: usize, cols: usize, seed: u64) -> Dense<f64> {
        let mut rng = stream(seed, "rows");
        let v = (0..rows * cols).map(|_| unit(&mut rng) - 0.5).collect();
        Dense::from_vec(rows, cols, v).unwrap()
    }

    fn largest_difference(a: &Dense<f64>, b: &Dense<f64>) -> f64 {
        a.data().iter().zip(b.data()).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max)
    }

    proptest! {
        #[test]
        fn projections_are_projections(rows in 1usize..8, extra in 0usize..9, seed: u64) {
            let w = random(rows, rows + extra, seed);
            let s = Subspace::row_space(&w).unwrap();
            let p = s.nullspace_projection();
            prop_assert!(largest_difference(&p.dot(&p), &p) < 1e-12);
            prop_assert!(largest_difference(&p.transposed(), &p) < 1e-12);
            prop_assert!(w.dot(&p).data().iter().all(|x| x.abs() < 1e-12));
            let trace: f64 = (0..p.rows()).map(|i| p.row(i)[i]).sum();
            prop_assert!((trace - (p.rows() - s.rank()) as f64).abs() < 1e-10);
            prop_assert_eq!(s.rank(), rows);
            let x = random(5, rows + extra, seed ^ 1);
            prop_assert!(largest_difference(&s.remove_from(&x), &x.dot(&p)) < 1e-12);
            let mut v = x.row(0).to_vec();
            s.remove_from_vector(&mut v);
            prop_assert!(v.iter().zip(s.remove_from(&x).row(0)).all(|(a, b)| (a - b).abs() < 1e-12));
        }
    }

    #[test]
    fn dependent_and_zero_rows_add_nothing() {
        let mut w = random(3, 6, 1);
        let sum: Vec<f64> = (0..6).map(|j| w.row(0)[j] + w.row(1)[j]).collect();
        w.row_mut(2).copy_from_slice(&sum);
        assert_eq!(Subspace::row_space(&w).unwrap().rank(), 2);
        assert_eq!(Subspace::row_space(&Dense::zeros(2, 6)).unwrap().rank(), 0);
        let part = Subspace::row_space(&w).unwrap();
        let twice = Subspace::sum(&[part.clone(), part.clone(), Subspace::zero(6)], 6).unwrap();
        assert_eq!(twice.rank(), 2);
        assert!(largest_difference(&twice.nullspace_projection(), &part.nullspace_projection()) < 1e-12);
        assert_eq!(Subspace::sum(&[], 6).unwrap(), Subspace::zero(6));
        w.row_mut(0)[0] = f64::NAN;
        assert_eq!(Subspace::row_space(&w), Err(SvdError));
    }
}
