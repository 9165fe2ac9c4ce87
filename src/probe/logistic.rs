//! L2-regularised logistic regression, binary and multinomial.
//!
//! Minimises `|W|²/2 + C * sum of cross entropies` (nats; biases are not penalised), as scikit-learn does. Binary problems have one weight
//! row, whose positive side is class 1; k > 2 classes have k rows that sum to zero.
//!
//! The optimiser is L-BFGS in double precision, started at zero. Preconditioned with the upper bound `I + C/4 XᵀX` of the Hessian (Böhning
//! 1992), it needs a handful of passes over the data instead of hundreds.
//!
//! `XᵀX` is computed once and shared by fits with different directions removed, as in INLP. The data are never projected, because weights
//! in the remaining space give the same products with projected and original data.

use super::data::Labelled;
use super::lbfgs::{Objective, minimise};
use super::subspace::Subspace;
use base::Cancelled;
use base::matrix::{Dense, Matrix, argmax, softmax_rows};
use faer::linalg::solvers::{Llt, Solve};
use faer::{MatMut, MatRef, Side};
use rayon::prelude::*;

/// Objective and tolerance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Weight of the data against the penalty (scikit-learn's `C`).
    pub c: f64,
    /// True to fit biases.
    pub intercept: bool,
    /// Training stops when the gradient's length in the preconditioner's metric, a proxy for the distance from the optimum, has fallen to
    /// this share of its length at zero weights.
    pub tolerance: f64,
    pub max_iterations: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { c: 1.0, intercept: true, tolerance: 1e-7, max_iterations: 500 }
    }
}

/// A fitted classifier.
#[derive(Debug, Clone, PartialEq)]
pub struct Logistic {
    /// Weights: 1 x D for two classes, k x D for k > 2.
    pub weight: Dense<f64>,
    /// One bias per row, 0 without intercept.
    pub bias: Vec<f64>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    pub model: Logistic,
    pub objective: f64,
    pub iterations: usize,
    /// True if the tolerance was reached.
    pub(crate) converged: bool,
}

/// Second moments of the embeddings, shared by fits on the same data.
#[derive(Debug, Clone)]
pub struct Gram {
    xx: Dense<f64>,
    sums: Vec<f64>,
    n: usize,
}

impl Gram {
    /// `XᵀX` (D x D) and column sums, in double precision.
    pub fn new(x: &Matrix) -> Self {
        let dimension = x.cols();
        let zero = || (Dense::zeros(dimension, dimension), vec![0.0; dimension]);
        let parts: Vec<_> = x
            .data()
            .par_chunks((CHUNK * dimension).max(1))
            .map(|chunk| {
                let rows = chunk.len() / dimension;
                let block: Dense<f64> = Dense::from_fn(rows, dimension, |i, j| f64::from(chunk[i * dimension + j]));
                let mut sums = vec![0.0; dimension];
                block.iter_rows().for_each(|r| sums.iter_mut().zip(r).for_each(|(s, v)| *s += v));
                (block.t_dot(&block), sums)
            })
            .collect();
        let (xx, sums) = parts.iter().fold(zero(), |(mut xx, mut sums), (b, s)| {
            xx.add_scaled(1.0, b);
            sums.iter_mut().zip(s).for_each(|(a, b)| *a += b);
            (xx, sums)
        });
        Self { xx, sums, n: x.rows() }
    }

    /// Moments of the data without a subspace: `P XᵀX P` and `P s`, in O(D² r).
    fn without(&self, removed: &Subspace) -> (Dense<f64>, Vec<f64>) {
        let (mut xx, mut sums) = (self.xx.clone(), self.sums.clone());
        if removed.rank() > 0 {
            let b = removed.basis();
            let gb = b.dot(&self.xx); // r x D: (G Bᵀ)ᵀ, as G is symmetric
            let bgb = gb.dot_t(b); // r x r
            xx.add_scaled(-1.0, &gb.t_dot(b));
            xx.add_scaled(-1.0, &b.t_dot(&gb));
            xx.add_scaled(1.0, &b.t_dot(&bgb.dot(b)));
            removed.remove_from_vector(&mut sums);
        }
        (xx, sums)
    }
}

/// Number of rows per thread at a time; fixed, so that sums do not depend on the number of threads.
const CHUNK: usize = 512;

impl Logistic {
    /// Fits `data` after removing `removed` from the embeddings; the weights are then in the remaining space. `gram` must be computed from
    /// the same data. `beat` is called before every iteration.
    ///
    /// # Panics
    /// If `gram` or `removed` has a different embedding size.
    pub fn fit(
        data: &Labelled,
        gram: &Gram,
        removed: &Subspace,
        settings: &Settings,
        beat: &mut dyn FnMut() -> Result<(), Cancelled>,
    ) -> Result<Fit, Cancelled> {
        assert_eq!((gram.xx.rows(), removed.dimension()), (data.x().cols(), data.x().cols()), "other embeddings");
        let problem = Problem::new(data, gram, removed, settings);
        let start = vec![0.0; problem.rows * problem.stride];
        let end = minimise(&problem, start, settings.tolerance, settings.max_iterations, beat)?;
        let model = problem.model(&end.point);
        Ok(Fit { model, objective: end.value, iterations: end.iterations, converged: end.converged })
    }

    /// Fits `data` without removing a subspace.
    pub fn fit_plain(
        data: &Labelled,
        settings: &Settings,
        beat: &mut dyn FnMut() -> Result<(), Cancelled>,
    ) -> Result<Fit, Cancelled> {
        Self::fit(data, &Gram::new(data.x()), &Subspace::zero(data.x().cols()), settings, beat)
    }

    /// Logits (n x classes). A binary classifier has the columns 0 and w.x + b.
    pub fn logits(&self, x: &Matrix) -> Dense<f64> {
        let mut out = x.cast::<f64>().dot_t(&self.weight);
        for row in out.data_mut().chunks_exact_mut(self.bias.len()) {
            row.iter_mut().zip(&self.bias).for_each(|(z, b)| *z += b);
        }
        if self.bias.len() > 1 { out } else { Dense::from_fn(out.rows(), 2, |i, j| [0.0, out.row(i)[0]][j]) }
    }

    /// Class probabilities (n x classes).
    pub fn probabilities(&self, x: &Matrix) -> Dense<f64> {
        softmax_rows(&self.logits(x))
    }

    /// Share of `data` classified correctly. If a subspace is orthogonal to the weights, removing it from the data makes no difference.
    pub fn accuracy(&self, data: &Labelled) -> f64 {
        let logits = self.logits(data.x());
        let correct = logits.iter_rows().zip(data.y()).filter(|(row, label)| argmax(row) == **label).count();
        correct as f64 / data.len() as f64
    }
}

/// The objective as a function of a flat vector: for each weight row, D weights, then (with intercept) the bias.
struct Problem<'a> {
    data: &'a Labelled,
    removed: &'a Subspace,
    preconditioner: Option<Llt<f64>>,
    c: f64,
    rows: usize,
    stride: usize,
    intercept: bool,
}

impl Objective for Problem<'_> {
    fn value(&self, point: &[f64], gradient: &mut [f64]) -> f64 {
        let d = self.dimension();
        let parts: Vec<(f64, Vec<f64>)> = self
            .data
            .x()
            .data()
            .par_chunks((CHUNK * d).max(1))
            .zip(self.data.y().par_chunks(CHUNK))
            .map(|(x, y)| self.chunk(point, x, y))
            .collect();
        gradient.fill(0.0);
        let mut loss = 0.0;
        for (part, slope) in &parts {
            loss += part;
            gradient.iter_mut().zip(slope).for_each(|(g, s)| *g += s);
        }
        gradient.iter_mut().for_each(|g| *g *= self.c);
        self.stay_inside(gradient);
        let mut penalty = 0.0;
        for (g, w) in gradient.chunks_exact_mut(self.stride).zip(point.chunks_exact(self.stride)) {
            for (g, w) in g.iter_mut().zip(w).take(d) {
                *g += w;
                penalty += w * w;
            }
        }
        0.5 * penalty + self.c * loss
    }

    fn precondition(&self, v: &mut [f64]) {
        if let Some(factor) = &self.preconditioner {
            factor.solve_in_place(MatMut::from_column_major_slice_mut(v, self.stride, self.rows));
            // The solver magnifies rounding errors, and the data are not projected: without this the weights would drift back into the
            // removed space.
            self.stay_inside(v);
        }
    }
}

impl<'a> Problem<'a> {
    fn new(data: &'a Labelled, gram: &Gram, removed: &'a Subspace, settings: &Settings) -> Self {
        let rows = if data.classes() > 2 { data.classes() } else { 1 };
        let stride = data.x().cols() + usize::from(settings.intercept);
        let preconditioner = bound(gram, removed, settings);
        Self { data, removed, preconditioner, c: settings.c, rows, stride, intercept: settings.intercept }
    }

    fn dimension(&self) -> usize {
        self.data.x().cols()
    }

    /// Removes the subspace from the weights of a gradient or step.
    fn stay_inside(&self, v: &mut [f64]) {
        let d = self.dimension();
        v.chunks_exact_mut(self.stride).for_each(|row| self.removed.remove_from_vector(&mut row[..d]));
    }

    /// Cross entropy summed over rows, with its gradient, in one pass over them.
    fn chunk(&self, point: &[f64], x: &[f32], labels: &[usize]) -> (f64, Vec<f64>) {
        let d = self.dimension();
        let mut slope = vec![0.0; point.len()];
        let mut residuals = vec![0.0; self.rows];
        let mut loss = 0.0;
        for (row, label) in x.chunks_exact(d.max(1)).zip(labels) {
            for (z, w) in residuals.iter_mut().zip(point.chunks_exact(self.stride)) {
                *z = dot(row, &w[..d]) + if self.intercept { w[d] } else { 0.0 };
            }
            loss += residuals_of(&mut residuals, *label);
            for (r, s) in residuals.iter().zip(slope.chunks_exact_mut(self.stride)) {
                s.iter_mut().zip(row).for_each(|(s, x)| *s += r * f64::from(*x));
                if self.intercept {
                    s[d] += r;
                }
            }
        }
        (loss, slope)
    }

    /// Extracts weights and biases from a flat vector. At the optimum the weights are in the remaining space and the rows of several
    /// classes sum to zero. Both are restored exactly, because INLP counts the dimensions of the row space.
    fn model(&self, point: &[f64]) -> Logistic {
        let d = self.dimension();
        let mut weight = Dense::from_fn(self.rows, d, |i, j| point[i * self.stride + j]);
        let mut bias: Vec<f64> =
            (0..self.rows).map(|i| if self.intercept { point[i * self.stride + d] } else { 0.0 }).collect();
        for i in 0..self.rows {
            self.removed.remove_from_vector(weight.row_mut(i));
        }
        if self.rows > 1 {
            for j in 0..d {
                let mean = (0..self.rows).map(|i| weight.row(i)[j]).sum::<f64>() / self.rows as f64;
                (0..self.rows).for_each(|i| weight.row_mut(i)[j] -= mean);
            }
            let mean = bias.iter().sum::<f64>() / self.rows as f64;
            bias.iter_mut().for_each(|b| *b -= mean);
        }
        Logistic { weight, bias }
    }
}

/// Turns logits into residuals (probability minus indicator) and returns the cross entropy. One logit means two classes.
pub fn residuals_of(z: &mut [f64], label: usize) -> f64 {
    if let [z] = z {
        let margin = if label == 1 { *z } else { -*z };
        // Probability of the wrong class, without overflow on either side.
        let e = (-margin.abs()).exp();
        let wrong = if margin >= 0.0 { e / (1.0 + e) } else { 1.0 / (1.0 + e) };
        *z = if label == 1 { -wrong } else { wrong };
        return e.ln_1p() + (-margin).max(0.0);
    }
    let top = z.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let own = z[label] - top;
    let sum: f64 = z.iter().map(|z| (z - top).exp()).sum();
    z.iter_mut().for_each(|z| *z = (*z - top).exp() / sum);
    z[label] -= 1.0;
    sum.ln() - own
}

/// Dot product of a single-precision and a double-precision vector, with interleaved sums so that it vectorises.
fn dot(x: &[f32], w: &[f64]) -> f64 {
    let ((x, x_tail), (w, w_tail)) = (x.as_chunks::<8>(), w.as_chunks::<8>());
    let mut sums = [0.0; 8];
    for (x, w) in x.iter().zip(w) {
        for ((sum, x), w) in sums.iter_mut().zip(x).zip(w) {
            *sum += f64::from(*x) * w;
        }
    }
    let tail: f64 = x_tail.iter().zip(w_tail).map(|(x, w)| f64::from(*x) * w).sum();
    sums.iter().sum::<f64>() + tail
}

/// The factorised upper bound of the Hessian, the same for every weight row: `I + C/4 P XᵀX P`, bordered by the column sums if there are
/// biases. `None` if rounding makes it indefinite for a huge C; L-BFGS then runs without a preconditioner.
fn bound(gram: &Gram, removed: &Subspace, settings: &Settings) -> Option<Llt<f64>> {
    let (xx, sums) = gram.without(removed);
    let d = xx.rows();
    let (stride, quarter) = (d + usize::from(settings.intercept), 0.25 * settings.c);
    let bound = Dense::from_fn(stride, stride, |i, j| match (i == d, j == d) {
        (false, false) => quarter * xx.row(i)[j] + f64::from(u8::from(i == j)),
        (true, false) => quarter * sums[j],
        (false, true) => quarter * sums[i],
        (true, true) => quarter * gram.n as f64,
    });
    MatRef::from_row_major_slice(bound.data(), stride, stride).llt(Side::Lower).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::rng::{stream, unit};

    fn points(n: usize, d: usize, classes: usize) -> Labelled {
        let mut rng = stream(11, "points");
        let x = Matrix::from_vec(n, d, (0..n * d).map(|_| (2.0 * unit(&mut rng) - 0.7) as f32).collect()).unwrap();
        let y = x
            .iter_rows()
            .map(|r| ((r[0] * 2.0 + r[1] + unit(&mut rng) as f32).max(0.0) as usize).min(classes - 1))
            .collect();
        Labelled::new(x, y, classes).unwrap()
    }

    fn fit(data: &Labelled, settings: Settings) -> Fit {
        Logistic::fit_plain(data, &settings, &mut || Ok(())).unwrap()
    }

    #[test]
    fn gradient_matches_finite_differences() {
        for classes in [2, 3] {
            let data = points(60, 5, classes);
            let (removed, gram) = (Subspace::zero(5), Gram::new(data.x()));
            let problem = Problem::new(&data, &gram, &removed, &Settings { c: 0.7, ..Settings::default() });
            let size = problem.rows * problem.stride;
            let mut rng = stream(2, "point");
            let at: Vec<f64> = (0..size).map(|_| unit(&mut rng) - 0.5).collect();
            let (mut gradient, mut unused) = (vec![0.0; size], vec![0.0; size]);
            problem.value(&at, &mut gradient);
            for k in 0..size {
                let mut moved = |step: f64| {
                    let mut p = at.clone();
                    p[k] += step;
                    problem.value(&p, &mut unused)
                };
                let slope = (moved(1e-5) - moved(-1e-5)) / 2e-5;
                assert!((slope - gradient[k]).abs() < 1e-6, "{k}: {slope} {}", gradient[k]);
            }
        }
    }

    #[test]
    fn it_converges_quickly() {
        for (classes, c) in [(2, 1.0), (2, 1e4), (3, 1.0), (2, 1e-4)] {
            let f = fit(&points(2_000, 30, classes), Settings { c, ..Settings::default() });
            assert!(f.converged && f.iterations < 80, "{classes} classes, C {c}: {} iterations", f.iterations);
        }
    }

    /// Separable data: without the penalty the weights would diverge.
    #[test]
    fn separable_data_have_a_finite_optimum() {
        let x = Matrix::from_fn(40, 2, |i, j| if j == 0 { (i as f32 - 19.5) / 10.0 } else { 0.3 });
        let data = Labelled::new(x, (0..40).map(|i| usize::from(i >= 20)).collect(), 2).unwrap();
        let f = fit(&data, Settings { c: 1e3, ..Settings::default() });
        assert!(f.converged && f.model.weight.is_finite());
        assert!((f.model.accuracy(&data) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn removing_a_direction_equals_fitting_projected_data() {
        let data = points(500, 6, 3);
        let direction = Dense::from_fn(1, 6, |_, j| [1.0, 0.5, 0.0, -0.3, 0.0, 0.1][j]);
        let removed = Subspace::row_space(&direction).unwrap();
        let settings = Settings { tolerance: 1e-9, ..Settings::default() };
        let inside = Logistic::fit(&data, &Gram::new(data.x()), &removed, &settings, &mut || Ok(())).unwrap();
        let projected = Labelled::new(removed.remove_from(data.x()), data.y().to_vec(), 3).unwrap();
        let outside = fit(&projected, settings);
        assert!((inside.objective - outside.objective).abs() < 1e-4);
        for (a, b) in inside.model.weight.data().iter().zip(outside.model.weight.data()) {
            assert!((a - b).abs() < 1e-5, "{a} {b}");
        }
        assert!(inside.model.weight.dot_t(removed.basis()).data().iter().all(|x| x.abs() < 1e-14));
        let sums = (0..6).map(|j| (0..3).map(|i| inside.model.weight.row(i)[j]).sum::<f64>());
        assert!(sums.into_iter().all(|s| s.abs() < 1e-15));
    }

    /// Regression: in each round of INLP the preconditioner used to magnify rounding errors along removed directions. The data still
    /// contain them, so the objective kept falling below that of the previous round.
    #[test]
    fn weights_stay_orthogonal_to_removed_directions() {
        let (n, d) = (3_000, 60);
        let mut rng = stream(1, "creep");
        let y: Vec<usize> = (0..n).map(|_| usize::from(unit(&mut rng) < 0.3)).collect();
        let noise: Vec<f64> = (0..n * d).map(|_| 4.0 * (unit(&mut rng) + unit(&mut rng) - 1.0)).collect();
        let signal = |i: usize, j: usize| (2.0 * y[i] as f64 - 1.0) * 0.8 / (1.0 + j as f64);
        let x = Matrix::from_fn(n, d, |i, j| (noise[i * d + j] + if j < 8 { signal(i, j) } else { 0.0 }) as f32);
        let data = Labelled::new(x, y, 2).unwrap();
        let gram = Gram::new(data.x());
        let (mut parts, mut last) = (Vec::new(), 0.0);
        for round in 0..12 {
            let removed = Subspace::sum(&parts, d).unwrap();
            let settings = Settings { intercept: false, ..Settings::default() };
            let f = Logistic::fit(&data, &gram, &removed, &settings, &mut || Ok(())).unwrap();
            assert!(f.converged && f.iterations < 30, "round {round}: {} iterations", f.iterations);
            assert!(f.objective >= last - 1e-9, "round {round}: {} after {last}", f.objective);
            last = f.objective;
            parts.push(Subspace::row_space(&f.model.weight).unwrap());
        }
    }

    #[test]
    fn disabled_intercept_is_zero() {
        let f = fit(&points(300, 4, 2), Settings { intercept: false, ..Settings::default() });
        assert_eq!(f.model.bias, [0.0]);
        assert!(f.converged);
    }

    #[test]
    fn it_can_be_stopped() {
        let data = points(300, 4, 2);
        assert_eq!(Logistic::fit_plain(&data, &Settings::default(), &mut || Err(Cancelled)), Err(Cancelled));
    }
}
