//! Nyström features of a kernel.

use crate::method::InterventionError;
use crate::options::Options;
use probe::bytes::{BytesError, Reader, Writer};
use probe::covariance::{column_means, roots};
use probe::{Dense, Matrix};
use rand_chacha::ChaCha8Rng;
use stats::rng::below;

/// `φ(x) = k(z, L) K_LL^(-1/2)`, where z is x centred and divided by `scale`.
pub(super) struct Features {
    polynomial: bool,
    gamma: f64,
    centre: Vec<f64>,
    scale: f64,
    /// The landmarks L, standardised, m x D.
    landmarks: Dense<f64>,
    /// `K_LL^(-1/2)`, m x m.
    root: Dense<f64>,
}

impl Features {
    pub(super) fn new(x: &Matrix, options: &Options, rng: &mut ChaCha8Rng) -> Result<Self, InterventionError> {
        let wide: Dense<f64> = x.cast();
        let centre = column_means(&wide);
        let spread: f64 = wide.iter_rows().flat_map(|row| row.iter().zip(&centre)).map(|(x, m)| (x - m).powi(2)).sum();
        let scale = (spread / wide.data().len().max(1) as f64).sqrt();
        let scale = if scale > 0.0 { scale } else { 1.0 };
        let mut order: Vec<usize> = (0..x.rows()).collect();
        let count = options.integer("landmarks").min(x.rows());
        for i in 0..count {
            let other = i + below(rng, (x.rows() - i) as u32) as usize;
            order.swap(i, other);
        }
        let gamma = options.real("gamma") / x.cols().max(1) as f64;
        let mut features = Self {
            polynomial: options.flag("polynomial"),
            gamma,
            centre,
            scale,
            landmarks: Dense::zeros(0, x.cols()),
            root: Dense::zeros(0, 0),
        };
        features.landmarks = features.standardise(&x.select_rows(&order[..count]));
        features.root = roots(&features.kernel(&features.landmarks))?.0;
        Ok(features)
    }

    pub(super) fn dimension(&self) -> usize {
        self.landmarks.cols()
    }

    pub(super) fn len(&self) -> usize {
        self.landmarks.rows()
    }

    fn standardise(&self, x: &Matrix) -> Dense<f64> {
        Dense::from_fn(x.rows(), x.cols(), |i, j| (f64::from(x.row(i)[j]) - self.centre[j]) / self.scale)
    }

    /// Converts standardised embeddings back to embeddings.
    pub(super) fn restore(&self, z: &Dense<f64>) -> Matrix {
        Matrix::from_fn(z.rows(), z.cols(), |i, j| (z.row(i)[j] * self.scale + self.centre[j]) as f32)
    }

    /// Standardised embeddings (n x D) and their features (n x m).
    pub(super) fn see(&self, x: &Matrix) -> (Dense<f64>, Dense<f64>) {
        let z = self.standardise(x);
        let seen = self.of(&z);
        (z, seen)
    }

    /// Features of standardised embeddings.
    pub(super) fn of(&self, z: &Dense<f64>) -> Dense<f64> {
        self.kernel(z).dot(&self.root)
    }

    /// `k(z, L)`, n x m.
    fn kernel(&self, z: &Dense<f64>) -> Dense<f64> {
        let square = |rows: &Dense<f64>| rows.iter_rows().map(|r| r.iter().map(|v| v * v).sum()).collect::<Vec<f64>>();
        let (own, theirs) = (square(z), square(&self.landmarks));
        let mut kernel = z.dot_t(&self.landmarks);
        for (i, own) in own.iter().enumerate() {
            for (k, theirs) in kernel.row_mut(i).iter_mut().zip(&theirs) {
                *k = match self.polynomial {
                    true => (self.gamma * *k + 1.0).powi(3),
                    false => (-self.gamma * (own + theirs - 2.0 * *k).max(0.0)).exp(),
                };
            }
        }
        kernel
    }

    /// The gradient of a loss with respect to standardised embeddings, from its gradient with respect to their features.
    pub(super) fn back(&self, z: &Dense<f64>, slope: &Dense<f64>) -> Dense<f64> {
        let kernel = self.kernel(z);
        let mut by = slope.dot_t(&self.root);
        for (by, k) in by.data_mut().iter_mut().zip(kernel.data()) {
            *by *= match self.polynomial {
                true => 3.0 * self.gamma * k.cbrt().powi(2),
                false => 2.0 * self.gamma * k,
            };
        }
        let mut back = by.dot(&self.landmarks);
        for i in 0..z.rows() {
            let sum: f64 = if self.polynomial { 0.0 } else { by.row(i).iter().sum() };
            back.row_mut(i).iter_mut().zip(z.row(i)).for_each(|(b, z)| *b -= sum * z);
        }
        back
    }

    pub(super) fn write(&self, writer: &mut Writer) {
        writer.number(usize::from(self.polynomial));
        writer.real(self.gamma);
        writer.real(self.scale);
        writer.reals(&self.centre);
        writer.matrix(&self.landmarks);
        writer.matrix(&self.root);
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, BytesError> {
        let (polynomial, gamma, scale) = (reader.number()? == 1, reader.real()?, reader.real()?);
        let (centre, landmarks) = (reader.reals()?, reader.matrix::<f64>()?);
        let root: Dense<f64> = reader.matrix()?;
        if centre.len() != landmarks.cols() || (root.rows(), root.cols()) != (landmarks.rows(), landmarks.rows()) {
            return Err(probe::bytes::malformed("the features have the wrong size"));
        }
        Ok(Self { polynomial, gamma, centre, scale, landmarks, root })
    }

    /// Features with given landmarks.
    #[cfg(test)]
    pub(super) fn given(landmarks: Dense<f64>, polynomial: bool, gamma: f64) -> Self {
        let centre = vec![0.0; landmarks.cols()];
        let mut features = Self { polynomial, gamma, centre, scale: 1.0, landmarks, root: Dense::zeros(0, 0) };
        features.root = roots(&features.kernel(&features.landmarks)).unwrap().0;
        features
    }
}
