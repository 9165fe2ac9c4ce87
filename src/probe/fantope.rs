//! Points of the Fantope `F_k = {P : 0 <= P <= I, trace P = k}`, the convex hull of the projections of rank k.
//!
//! A point is stored as `P = c (I - VᵀV) + Vᵀ diag(l) V`: a few eigenvectors (the rows of V), and one value c for all directions orthogonal
//! to them. A low-rank update followed by projection onto the Fantope changes only eigenvalues, which preserves this form. A step thus
//! costs O(D m²) for m eigenvectors; decomposing P would cost O(D³).

use super::subspace::{Subspace, SvdError};
use base::matmul::{View, matmul};
use base::matrix::Dense;
use faer::{MatRef, Side};

/// Distance from `rest` up to which eigenvalues are merged with it. The authors' code, with bisection in single precision, has a lower
/// resolution.
const SAME: f64 = 1e-7;
/// Maximum number of eigenvectors beyond the trace; further eigenvectors, with eigenvalues nearest to `rest`, are merged with it.
const SPARE: usize = 24;
/// Number of bisections for the shift of the eigenvalues.
const HALVINGS: usize = 60;

/// A symmetric D x D matrix whose eigenvalues are from 0 to 1 and add up to the trace.
#[derive(Debug, Clone, PartialEq)]
pub struct Fantope {
    /// Orthonormal eigenvectors, m x D.
    vectors: Dense<f64>,
    /// Eigenvalues of `vectors`.
    values: Vec<f64>,
    /// The eigenvalue of all directions orthogonal to `vectors`.
    rest: f64,
    trace: usize,
}

impl Fantope {
    pub fn projection(on: &Subspace) -> Self {
        let (vectors, trace) = (on.basis().clone(), on.rank());
        Self { values: vec![1.0; trace], rest: 0.0, vectors, trace }
    }

    /// The size D of the matrix.
    pub fn dimension(&self) -> usize {
        self.vectors.cols()
    }

    /// The sum k of the eigenvalues.
    pub fn trace(&self) -> usize {
        self.trace
    }

    /// All D eigenvalues, descending, including the repeated `rest`.
    #[cfg(test)]
    pub(crate) fn eigenvalues(&self) -> Vec<f64> {
        let others = self.dimension() - self.values.len();
        let mut all = self.values.clone();
        all.extend(std::iter::repeat_n(self.rest, others));
        all.sort_by(|a, b| b.total_cmp(a));
        all
    }

    /// `w P` for each row of `w` (r x D).
    ///
    /// # Panics
    /// If `w` has the wrong number of columns.
    pub fn apply(&self, w: &Dense<f64>) -> Dense<f64> {
        let mut along = product(w, &self.vectors);
        for row in along.data_mut().chunks_exact_mut(self.values.len().max(1)) {
            row.iter_mut().zip(&self.values).for_each(|(a, l)| *a *= l - self.rest);
        }
        let mut out = w.clone();
        out.data_mut().iter_mut().for_each(|x| *x *= self.rest);
        let (m, d) = (self.values.len(), self.dimension());
        let along = View::new(along.data(), w.rows(), m);
        matmul(out.data_mut(), 1.0, along, View::new(self.vectors.data(), m, d), 1.0);
        out
    }

    /// Moves to the point of the Fantope nearest to `keep P + scale (AᵀB + BᵀA)/2`, for r x D matrices A and B.
    ///
    /// # Errors
    /// [`SvdError`] for numbers that are not finite.
    pub fn step(&mut self, keep: f64, scale: f64, a: &Dense<f64>, b: &Dense<f64>) -> Result<(), SvdError> {
        if !(a.is_finite() && b.is_finite() && keep.is_finite() && scale.is_finite()) {
            return Err(SvdError);
        }
        let basis = self.widened(a, b);
        let (m, d) = (basis.rows(), self.dimension());
        let (left, right) = (product(&basis, a), product(&basis, b));
        let small = Dense::from_fn(m, m, |i, j| {
            let dot: f64 = (left.row(i).iter().zip(right.row(j)))
                .chain(left.row(j).iter().zip(right.row(i)))
                .map(|(x, y)| x * y)
                .sum();
            let own = if i == j { keep * self.values.get(i).copied().unwrap_or(self.rest) } else { 0.0 };
            own + 0.5 * scale * dot
        });
        let eigen =
            MatRef::from_row_major_slice(small.data(), m, m).self_adjoint_eigen(Side::Lower).map_err(|_| SvdError)?;
        let (u, l) = (eigen.U(), eigen.S().column_vector());
        self.values = (0..m).map(|i| l[i]).collect();
        self.rest *= keep;
        self.project();
        // Keep the eigenvectors whose values differ most from `rest`.
        let rest = self.rest;
        let mut order: Vec<usize> = (0..m).filter(|i| (self.values[*i] - rest).abs() > SAME).collect();
        order.sort_by(|i, j| (self.values[*j] - rest).abs().total_cmp(&(self.values[*i] - rest).abs()));
        order.truncate(self.trace + SPARE);
        let turn = Dense::from_fn(order.len(), m, |i, j| u[(j, order[i])]);
        let mut vectors = Dense::zeros(order.len(), d);
        let turn = View::new(turn.data(), order.len(), m);
        matmul(vectors.data_mut(), 0.0, turn, View::new(basis.data(), m, d), 1.0);
        self.values = order.iter().map(|i| self.values[*i]).collect();
        self.vectors = vectors;
        // Merged directions have the mean eigenvalue, which preserves the trace.
        let others = d - self.values.len();
        if others > 0 {
            self.rest = ((self.trace as f64 - self.values.iter().sum::<f64>()) / others as f64).clamp(0.0, 1.0);
        }
        Ok(())
    }

    /// The eigenvectors, extended by the parts of `a` and `b` outside their span.
    fn widened(&self, a: &Dense<f64>, b: &Dense<f64>) -> Dense<f64> {
        let d = self.dimension();
        let mut rows = self.vectors.data().to_vec();
        for row in a.iter_rows().chain(b.iter_rows()) {
            let count = rows.len() / d.max(1);
            let length = norm(row);
            if count == d || length == 0.0 {
                continue;
            }
            let mut v = row.to_vec();
            // Two passes are enough (Kahan's rule): the second removes what cancellation left in the first.
            for _ in 0..2 {
                let mut along = vec![0.0; count];
                let basis = View::new(&rows, count, d);
                matmul(&mut along, 0.0, basis, View::new(&v, d, 1), 1.0);
                let along = View::new(&along, 1, count);
                matmul(&mut v, 1.0, along, basis, -1.0);
            }
            let left = norm(&v);
            if left > length * 1e-10 {
                rows.extend(v.iter().map(|x| x / left));
            }
        }
        let count = rows.len() / d.max(1);
        Dense::from_fn(count, d, |i, j| rows[i * d + j])
    }

    /// Replaces every eigenvalue l with `clip(l - t, 0, 1)`, with t chosen so that they add up to the trace: the nearest point of the
    /// Fantope (Vu et al. 2013).
    fn project(&mut self) {
        let others = (self.dimension() - self.values.len()) as f64;
        let all = |values: &[f64], rest: f64, t: f64| {
            let clip = |l: f64| (l - t).clamp(0.0, 1.0);
            values.iter().map(|l| clip(*l)).sum::<f64>() + others * clip(rest)
        };
        let known = self.values.iter().copied().chain((others > 0.0).then_some(self.rest));
        let (least, most) = known.fold((f64::MAX, f64::MIN), |(a, b), l| (a.min(l), b.max(l)));
        // At `least - 1` all eigenvalues are 1, at `most` all are 0.
        let (mut low, mut high) = (least - 1.0, most);
        for _ in 0..HALVINGS {
            let t = 0.5 * (low + high);
            if all(&self.values, self.rest, t) > self.trace as f64 { low = t } else { high = t }
        }
        let t = 0.5 * (low + high);
        self.values.iter_mut().for_each(|l| *l = (*l - t).clamp(0.0, 1.0));
        self.rest = (self.rest - t).clamp(0.0, 1.0);
    }

    /// The nearest projection: the span of the k eigenvectors with the largest eigenvalues. Its rank is lower if fewer are stored.
    ///
    /// # Errors
    /// [`SvdError`], which does not happen for finite numbers.
    pub fn rounded(&self) -> Result<Subspace, SvdError> {
        let mut order: Vec<usize> = (0..self.values.len()).filter(|i| self.values[*i] > self.rest).collect();
        order.sort_by(|i, j| self.values[*j].total_cmp(&self.values[*i]));
        order.truncate(self.trace);
        Subspace::row_space(&self.vectors.select_rows(&order))
    }

    /// Adds `directions` (one per row), without their components in the span of the leading eigenvectors. Returns the nearest point of the
    /// Fantope with the trace increased by the number of directions.
    ///
    /// # Errors
    /// [`SvdError`] for numbers that are not finite.
    ///
    /// # Panics
    /// If `directions` has the wrong number of columns.
    pub fn joined(&self, directions: &Dense<f64>) -> Result<Self, SvdError> {
        let outside = Subspace::row_space(&self.rounded()?.remove_from(directions))?;
        let mut wider = self.clone();
        wider.trace += outside.rank();
        wider.step(1.0, 1.0, outside.basis(), outside.basis())?;
        Ok(wider)
    }
}

/// `x yᵀ` on one thread, because the matrices are small and there are many steps.
fn product(x: &Dense<f64>, y: &Dense<f64>) -> Dense<f64> {
    let mut out = Dense::zeros(x.rows(), y.rows());
    let (a, b) = (View::new(x.data(), x.rows(), x.cols()), View::new(y.data(), y.rows(), y.cols()));
    matmul(out.data_mut(), 0.0, a, b.t(), 1.0);
    out
}

fn norm(v: &[f64]) -> f64 {
    v.iter().map(|x| x * x).sum::<f64>().sqrt()
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

    fn dense(p: &Fantope) -> Dense<f64> {
        p.apply(&Dense::identity(p.dimension()))
    }

    /// Direct computation from the definition: shifts and clips all eigenvalues of the updated matrix.
    fn plain(p: &Dense<f64>, k: usize, keep: f64, scale: f64, a: &Dense<f64>, b: &Dense<f64>) -> Dense<f64> {
        let d = p.rows();
        let both = a.t_dot(b);
        let moved = Dense::from_fn(d, d, |i, j| keep * p.row(i)[j] + 0.5 * scale * (both.row(i)[j] + both.row(j)[i]));
        let eigen = MatRef::from_row_major_slice(moved.data(), d, d).self_adjoint_eigen(Side::Lower).unwrap();
        let (u, l) = (eigen.U(), eigen.S().column_vector());
        let (mut low, mut high) = (l[0] - 1.0, l[d - 1]);
        for _ in 0..60 {
            let t = 0.5 * (low + high);
            let sum: f64 = (0..d).map(|i| (l[i] - t).clamp(0.0, 1.0)).sum();
            if sum > k as f64 { low = t } else { high = t }
        }
        Dense::from_fn(d, d, |i, j| (0..d).map(|e| u[(i, e)] * (l[e] - low).clamp(0.0, 1.0) * u[(j, e)]).sum())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        /// Ten successive steps agree with the full decomposition, and every point is in the Fantope.
        #[test]
        fn steps_match_the_full_decomposition(k in 1usize..4, rows in 1usize..3, extra in 1usize..8, seed: u64) {
            let d = k + extra;
            let mut p = Fantope::projection(&Subspace::row_space(&random(k, d, seed)).unwrap());
            for i in 0..10 {
                let (a, b) = (random(rows, d, seed ^ (2 * i + 1)), random(rows, d, seed ^ (2 * i + 2)));
                let (keep, scale) = (0.999, if i % 3 == 0 { 0.8 } else { 0.01 });
                let want = plain(&dense(&p), k, keep, scale, &a, &b);
                p.step(keep, scale, &a, &b).unwrap();
                let got = dense(&p);
                let off = got.data().iter().zip(want.data()).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
                prop_assert!(off < 1e-5, "{} after step {}", off, i);
                let values = p.eigenvalues();
                prop_assert!((values.iter().sum::<f64>() - k as f64).abs() < 1e-9);
                prop_assert!(values.iter().all(|l| (0.0..=1.0).contains(l)));
            }
            let rounded = p.rounded().unwrap();
            prop_assert_eq!(rounded.rank(), k);
        }
    }

    #[test]
    fn zero_step_changes_nothing() {
        let mut p = Fantope::projection(&Subspace::row_space(&random(2, 9, 4)).unwrap());
        p.step(1.0, 0.3, &random(1, 9, 5), &random(1, 9, 6)).unwrap();
        let before = dense(&p);
        p.step(1.0, 0.0, &random(1, 9, 7), &random(1, 9, 8)).unwrap();
        assert!(dense(&p).data().iter().zip(before.data()).all(|(a, b)| (a - b).abs() < 1e-12));
        assert!(p.step(1.0, f64::NAN, &random(1, 9, 7), &random(1, 9, 8)).is_err());
    }

    /// Regression: points whose eigenvectors fill the space used to reject further directions.
    #[test]
    fn rank_grows_to_include_all_directions() {
        let mut full = Fantope::projection(&Subspace::row_space(&random(1, 4, 4)).unwrap());
        for i in 0..9 {
            full.step(1.0, 0.5, &random(2, 4, i), &random(2, 4, i + 20)).unwrap();
        }
        assert!(full.values.len() + 1 >= 4 && full.trace() == 1);
        assert_eq!(full.joined(&random(1, 4, 5)).unwrap().rounded().unwrap().rank(), 2);
        let p = Fantope::projection(&Subspace::row_space(&random(2, 4, 4)).unwrap());
        let three = p.joined(&random(1, 4, 5)).unwrap();
        assert_eq!((three.trace(), three.rounded().unwrap().rank()), (3, 3));
        let all = three.joined(&random(5, 4, 6)).unwrap();
        assert_eq!((all.trace(), all.rounded().unwrap().rank()), (4, 4));
    }
}
