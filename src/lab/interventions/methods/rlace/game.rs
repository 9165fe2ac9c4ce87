//! The two players of RLACE, and their judge.

use crate::method::InterventionError;
use crate::options::Options;
use base::Cancelled;
use base::matmul::{View, matmul};
use probe::fantope::Fantope;
use probe::logistic::{Gram, Logistic, Settings, residuals_of};
use probe::{Dense, Labelled, Matrix, Subspace};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use stats::rng::{below, stream, unit};

/// Weight of the judge's penalty relative to the mean loss, as in the authors' code.
const ALPHA: f64 = 1e-4;
/// A penalty that only keeps the weights finite.
const NEARLY_NONE: f64 = 1e-8;

/// Judges projections by how well a classifier does on the states after their removal.
pub(super) struct Judge<'a> {
    train: &'a Labelled,
    gram: Gram,
    settings: Settings,
}

impl<'a> Judge<'a> {
    /// The authors' judge, whose classifier is penalised: it reports chance even if a property remains on a small scale.
    pub(super) fn authors(train: &'a Labelled) -> Self {
        Self::new(train, ALPHA, Settings::default())
    }

    /// A judge whose classifier is nearly unpenalised, like a fresh probe.
    pub(super) fn unpenalised(train: &'a Labelled) -> Self {
        Self::new(train, NEARLY_NONE, Settings { max_iterations: 2_000, ..Settings::default() })
    }

    fn new(train: &'a Labelled, alpha: f64, settings: Settings) -> Self {
        let settings = Settings { c: 1.0 / (alpha * train.len() as f64), ..settings };
        Self { train, gram: Gram::new(train.x()), settings }
    }

    /// The directions that the judge reads after a subspace is removed.
    pub(super) fn directions(
        &self,
        removed: &Subspace,
        beat: &mut dyn FnMut() -> Result<(), Cancelled>,
    ) -> Result<Subspace, InterventionError> {
        let fit = Logistic::fit(self.train, &self.gram, removed, &self.settings, beat)?;
        Ok(Subspace::row_space(&fit.model.weight)?)
    }

    /// Mean cross entropy in nats and accuracy on the training examples.
    pub(super) fn of(
        &self,
        removed: &Subspace,
        beat: &mut dyn FnMut() -> Result<(), Cancelled>,
    ) -> Result<(f64, f64), InterventionError> {
        let fit = Logistic::fit(self.train, &self.gram, removed, &self.settings, beat)?;
        let penalty: f64 = fit.model.weight.data().iter().map(|w| w * w).sum();
        let loss = (fit.objective - 0.5 * penalty) / (self.settings.c * self.train.len() as f64);
        Ok((loss, fit.model.accuracy(self.train)))
    }
}

/// Both players and their state.
pub(super) struct Game<'a> {
    train: &'a Labelled,
    /// The subspace player's point in the Fantope.
    pub(super) point: Fantope,
    /// The classifier: one row for two values, k rows for k > 2.
    weight: Dense<f64>,
    bias: Vec<f64>,
    rng: ChaCha8Rng,
    /// All rows, in the order in which batches are drawn.
    order: Vec<usize>,
    /// The rows of the batch, B x D.
    picked: Vec<f32>,
    batch: usize,
    rate: f64,
    keep: f64,
    pub(super) steps: usize,
}

/// Gradients of the mean cross entropy of a batch with respect to the rows of weights, as if nothing were removed, and to the biases.
type Slopes = (Dense<f64>, Vec<f64>);

impl<'a> Game<'a> {
    pub(super) fn new(train: &'a Labelled, seed: u64, purpose: &str, options: &Options) -> Self {
        let dimension = train.x().cols();
        let rows = if train.classes() > 2 { train.classes() } else { 1 };
        let mut rng = stream(seed, purpose);
        // Initialised like PyTorch's linear layer.
        let within = 1.0 / (dimension.max(1) as f64).sqrt();
        let mut draw = || within * (2.0 * unit(&mut rng) - 1.0);
        let weight = (0..rows * dimension).map(|_| draw()).collect::<Vec<_>>();
        let bias = (0..rows).map(|_| draw()).collect();
        let rate = options.real("learning_rate");
        Self {
            point: Fantope::projection(&Subspace::zero(dimension)),
            weight: Dense::from_fn(rows, dimension, |i, j| weight[i * dimension + j]),
            bias,
            order: (0..train.len()).collect(),
            picked: Vec::new(),
            batch: options.integer("batch").min(train.len()),
            keep: 1.0 - rate * options.real("weight_decay"),
            rate,
            rng,
            train,
            steps: 0,
        }
    }

    /// Raises the trace by `by` random directions.
    pub(super) fn widen(&mut self, by: usize) -> Result<(), InterventionError> {
        let mut directions = Dense::zeros(by, self.weight.cols());
        directions.data_mut().iter_mut().for_each(|x| *x = StandardNormal.sample(&mut self.rng));
        self.point = self.point.joined(&directions)?;
        Ok(())
    }

    /// Takes one step of each player, each on a separate batch.
    pub(super) fn step(&mut self) -> Result<(), InterventionError> {
        let (slope, _) = self.slopes();
        // The gradient of the loss with respect to P is -WᵀG, and this player maximises.
        self.point.step(self.keep, -self.rate, &self.weight, &slope)?;
        let (mut slope, by_bias) = self.slopes();
        let taken = self.point.apply(&slope);
        slope.add_scaled(-1.0, &taken);
        self.weight.data_mut().iter_mut().for_each(|w| *w *= self.keep);
        self.weight.add_scaled(-self.rate, &slope);
        self.bias.iter_mut().zip(by_bias).for_each(|(b, s)| *b = self.keep * *b - self.rate * s);
        self.steps += 1;
        Ok(())
    }

    /// Draws a batch and computes the classifier's gradients on it.
    fn slopes(&mut self) -> Slopes {
        let (n, d, rows) = (self.order.len(), self.weight.cols(), self.bias.len());
        self.picked.clear();
        let mut labels = Vec::with_capacity(self.batch);
        for i in 0..self.batch {
            let j = i + below(&mut self.rng, (n - i) as u32) as usize;
            self.order.swap(i, j);
            self.picked.extend_from_slice(self.train.x().row(self.order[i]));
            labels.push(self.train.y()[self.order[i]]);
        }
        let mut seen = self.weight.clone();
        seen.add_scaled(-1.0, &self.point.apply(&self.weight));
        let seen: Matrix = seen.cast();
        let picked = View::new(&self.picked, self.batch, d);
        let mut logits = vec![0.0f32; self.batch * rows];
        matmul(&mut logits, 0.0, picked, View::new(seen.data(), rows, d).t(), 1.0);
        let mut by_bias = vec![0.0; rows];
        let mut z = vec![0.0; rows];
        let share = 1.0 / self.batch.max(1) as f64;
        for (row, label) in logits.chunks_exact_mut(rows).zip(labels) {
            z.iter_mut().zip(&*row).zip(&self.bias).for_each(|((z, l), b)| *z = f64::from(*l) + b);
            residuals_of(&mut z, label);
            by_bias.iter_mut().zip(&z).for_each(|(b, r)| *b += share * r);
            row.iter_mut().zip(&z).for_each(|(l, r)| *l = (share * r) as f32);
        }
        let mut slope = Matrix::zeros(rows, d);
        let residuals = View::new(&logits, self.batch, rows);
        matmul(slope.data_mut(), 0.0, residuals.t(), picked, 1.0);
        (slope.cast(), by_bias)
    }
}
