//! The network that finds an embedding for edited features.

use super::features::Features;
use probe::Dense;
use probe::bytes::{BytesError, Reader, Writer, malformed};
use probe::covariance::{column_means, roots};
use probe::subspace::SvdError;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use stats::rng::below;

/// `f(u) = u A + c + max(u B + b, 0) C`, where u is the features divided by `size`.
pub(super) struct Net {
    size: f64,
    /// A, c, B, b and C; c and b have one row.
    parts: [Dense<f64>; 5],
    /// Adam's means of gradients and of their squares.
    state: [Vec<Dense<f64>>; 2],
    steps: i32,
}

/// Weight of the penalty that keeps the least-squares map finite.
const RIDGE: f64 = 1e-3;

impl Net {
    /// The least-squares map from features (n x m) to standardised embeddings (n x D), with hidden units that contribute nothing yet.
    pub(super) fn new(
        features: &Dense<f64>,
        z: &Dense<f64>,
        hidden: usize,
        rng: &mut ChaCha8Rng,
    ) -> Result<Self, SvdError> {
        let (n, m, d) = (features.rows(), features.cols(), z.cols());
        let square: f64 = features.data().iter().map(|v| v * v).sum();
        let size = (square / (n * m).max(1) as f64).sqrt();
        let size = if size > 0.0 { size } else { 1.0 };
        let means = column_means(features);
        let centred = Dense::from_fn(n, m, |i, j| (features.row(i)[j] - means[j]) / size);
        let mut gram = centred.t_dot(&centred);
        (0..m).for_each(|i| gram.row_mut(i)[i] += RIDGE * n as f64);
        let whiten = roots(&gram)?.0;
        let straight = whiten.dot(&whiten).dot(&centred.t_dot(z));
        let (at, middle) = (Dense::from_fn(1, m, |_, j| means[j] / size).dot(&straight), column_means(z));
        let offset = Dense::from_fn(1, d, |_, j| middle[j] - at.row(0)[j]);
        let spread = (2.0 / m.max(1) as f64).sqrt();
        let first: Vec<f64> =
            (0..m * hidden).map(|_| spread * Distribution::<f64>::sample(&StandardNormal, rng)).collect();
        let first = Dense::from_fn(m, hidden, |i, j| first[i * hidden + j]);
        Ok(Self::with(size, [straight, offset, first, Dense::zeros(1, hidden), Dense::zeros(hidden, d)]))
    }

    pub(super) fn with(size: f64, parts: [Dense<f64>; 5]) -> Self {
        let zeros = || parts.iter().map(|p| Dense::zeros(p.rows(), p.cols())).collect();
        Self { size, state: [zeros(), zeros()], parts, steps: 0 }
    }

    /// Sizes of features and embeddings.
    pub(super) fn sizes(&self) -> (usize, usize) {
        (self.parts[0].rows(), self.parts[0].cols())
    }

    pub(super) fn draw(&self, rows: usize, batch: usize, rng: &mut ChaCha8Rng) -> Vec<usize> {
        (0..batch.min(rows)).map(|_| below(rng, rows as u32) as usize).collect()
    }

    /// The inputs and the outputs of the hidden units.
    fn hidden(&self, features: &Dense<f64>) -> (Dense<f64>, Dense<f64>) {
        let mut u = features.clone();
        u.data_mut().iter_mut().for_each(|v| *v /= self.size);
        let mut active = u.dot(&self.parts[2]);
        for i in 0..active.rows() {
            active.row_mut(i).iter_mut().zip(self.parts[3].row(0)).for_each(|(a, b)| *a = (*a + b).max(0.0));
        }
        (u, active)
    }

    fn end(&self, u: &Dense<f64>, active: &Dense<f64>) -> Dense<f64> {
        let mut z = u.dot(&self.parts[0]);
        z.add_scaled(1.0, &active.dot(&self.parts[4]));
        for i in 0..z.rows() {
            z.row_mut(i).iter_mut().zip(self.parts[1].row(0)).for_each(|(z, c)| *z += c);
        }
        z
    }

    /// Maps features to standardised embeddings.
    pub(super) fn forward(&self, features: &Dense<f64>) -> Dense<f64> {
        let (u, active) = self.hidden(features);
        self.end(&u, &active)
    }

    /// Mean squared distance between `wanted` and the features of the network's output, with gradients for all parts.
    fn slopes(&self, features: &Features, wanted: &Dense<f64>) -> (f64, [Dense<f64>; 5]) {
        let (u, active) = self.hidden(wanted);
        let z = self.end(&u, &active);
        let mut away = features.of(&z);
        away.add_scaled(-1.0, wanted);
        let n = away.rows().max(1) as f64;
        let loss = away.data().iter().map(|v| v * v).sum::<f64>() / n;
        away.data_mut().iter_mut().for_each(|v| *v *= 2.0 / n);
        let by_z = features.back(&z, &away);
        let mut by_hidden = by_z.dot_t(&self.parts[4]);
        by_hidden.data_mut().iter_mut().zip(active.data()).filter(|(_, a)| **a <= 0.0).for_each(|(s, _)| *s = 0.0);
        let sum = |rows: &Dense<f64>| {
            let ones = Dense::from_fn(1, rows.rows(), |_, _| 1.0);
            ones.dot(rows)
        };
        let (offset, bias) = (sum(&by_z), sum(&by_hidden));
        (loss, [u.t_dot(&by_z), offset, u.t_dot(&by_hidden), bias, active.t_dot(&by_z)])
    }

    /// Takes a step of Adam; returns the loss before it.
    pub(super) fn step(&mut self, features: &Features, wanted: &Dense<f64>, rate: f64) -> f64 {
        const BETAS: [f64; 2] = [0.9, 0.999];
        let (loss, slopes) = self.slopes(features, wanted);
        self.steps += 1;
        let [first, second] = BETAS.map(|b| 1.0 - b.powi(self.steps));
        let [means, squares] = &mut self.state;
        for (((part, slope), mean), square) in self.parts.iter_mut().zip(&slopes).zip(means).zip(squares) {
            let state = mean.data_mut().iter_mut().zip(square.data_mut());
            for ((p, g), (m, v)) in part.data_mut().iter_mut().zip(slope.data()).zip(state) {
                *m = BETAS[0] * *m + (1.0 - BETAS[0]) * g;
                *v = BETAS[1] * *v + (1.0 - BETAS[1]) * g * g;
                *p -= rate * (*m / first) / ((*v / second).sqrt() + 1e-8);
            }
        }
        loss
    }

    /// Share of the variance of `wanted` reproduced by the features of the network's output: 1 minus their squared distance divided by
    /// the squared distance of the mean. It is 1 if `wanted` does not vary.
    pub(super) fn reproduced(&self, features: &Features, wanted: &Dense<f64>) -> f64 {
        let found = features.of(&self.forward(wanted));
        let means = column_means(wanted);
        let square = |a: f64, b: f64| (a - b).powi(2);
        let all: f64 = wanted.iter_rows().flat_map(|r| r.iter().zip(&means)).map(|(a, b)| square(*a, *b)).sum();
        let missed: f64 = wanted.data().iter().zip(found.data()).map(|(a, b)| square(*a, *b)).sum();
        if all > 0.0 { 1.0 - missed / all } else { 1.0 }
    }

    pub(super) fn write(&self, writer: &mut Writer) {
        writer.real(self.size);
        self.parts.iter().for_each(|p| writer.matrix(p));
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, BytesError> {
        let size = reader.real()?;
        let mut part = || reader.matrix::<f64>();
        let parts = [part()?, part()?, part()?, part()?, part()?];
        let [a, c, b, d, e] = parts.each_ref().map(|p| (p.rows(), p.cols()));
        if c != (1, a.1) || b.0 != a.0 || d != (1, b.1) || e != (b.1, a.1) {
            return Err(malformed("the network has the wrong size"));
        }
        Ok(Self::with(size, parts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use probe::Subspace;

    fn wave(rows: usize, cols: usize, k: f64, by: f64) -> Dense<f64> {
        Dense::from_fn(rows, cols, |i, j| by * (k * (i as f64 + 1.0) + 0.7 * (j as f64 + 1.0) * k).sin())
    }

    /// Reference: an implementation in PyTorch with autograd.
    #[test]
    fn features_and_fifty_steps_match_pytorch() {
        for (polynomial, seen, losses, end, reproduced) in [
            (
                false,
                [0.9454184679859379, 0.31392484363453593, 0.032904318346776734],
                [0.919189856029285, 0.4570579489811677],
                [1.4742622267470806, 0.21863216836936716, 0.2999095668929841],
                -0.24459247007082774,
            ),
            (
                true,
                [2.1774065915940315, 0.7841892240371455, -0.006311356712940377],
                [15.998629629857737, 1.1059886710472537],
                [0.9559422741609558, 0.29109245855392296, 0.3499099034062982],
                0.4582222476169179,
            ),
        ] {
            let x = wave(12, 5, 0.9, 1.0);
            let features = Features::given(x.select_rows(&[0, 1, 2, 3, 4, 5]), polynomial, 0.3);
            let all = features.of(&x);
            let close = |found: &[f64], wanted: &[f64], within: f64| {
                assert!(found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < within), "{found:?} {wanted:?}");
            };
            close(&all.row(7)[..3], &seen, 1e-9);
            let left = Subspace::row_space(&wave(1, 6, 1.1, 1.0)).unwrap().remove_from(&all);
            let size = (left.data().iter().map(|v| v * v).sum::<f64>() / 72.0).sqrt();
            let parts = [
                wave(6, 5, 0.2, 0.3),
                wave(1, 5, 0.5, 0.1),
                wave(6, 4, 1.3, 0.4),
                wave(1, 4, 0.8, 0.1),
                wave(4, 5, 2.1, 0.4),
            ];
            let mut net = Net::with(size, parts);
            let first = net.step(&features, &left, 0.01);
            (1..50).for_each(|_| {
                net.step(&features, &left, 0.01);
            });
            close(&[first, net.slopes(&features, &left).0], &losses, 1e-6);
            close(&net.forward(&left).row(7)[..3], &end, 1e-5);
            close(&[net.reproduced(&features, &left)], &[reproduced], 1e-5);
        }
    }
}
