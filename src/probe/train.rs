//! Training a multilayer perceptron with Adam.
//!
//! Cross entropy averaged over batches of 64 in an order drawn anew each epoch; the weights of the epoch with the best
//! validation accuracy are kept (of several the one with the lowest validation loss, then the earliest). Canby et al.
//! give epochs (8) and the grid; optimiser, batch and activation are not given: Adam, 64 and ReLU are ours.

use super::data::Labelled;
use super::mlp::{Mlp, Pass};
use crate::base::Cancelled;
use crate::base::matmul::{View, matmul};
use crate::base::matrix::argmax;
use crate::stats::rng::{shuffle, stream};
use serde::{Deserialize, Serialize};

/// One point of a grid: what network, trained how.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recipe {
    /// Widths of the hidden layers; none for a linear classifier.
    pub hidden: Vec<usize>,
    /// Adam's learning rate.
    pub learning_rate: f64,
    /// Passes over the training data.
    pub epochs: usize,
    /// Examples per step.
    pub batch: usize,
}

impl Recipe {
    /// Adam steps over the training of `n` examples.
    #[must_use]
    pub fn steps(&self, n: usize) -> usize {
        self.epochs * n.div_ceil(self.batch.max(1))
    }

    /// "2x256 lr 1e-3", "linear lr 1e-2".
    #[must_use]
    pub fn describe(&self) -> String {
        let shape = match self.hidden.as_slice() {
            [] => "linear".to_owned(),
            [first, rest @ ..] if rest.iter().all(|w| w == first) => format!("{}x{first}", self.hidden.len()),
            widths => widths.iter().map(ToString::to_string).collect::<Vec<_>>().join("-"),
        };
        format!("{shape} lr {:e}", self.learning_rate)
    }
}

/// How well a classifier does on the validation examples.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Share of correct answers.
    pub accuracy: f64,
    /// Mean cross entropy in nats.
    pub loss: f64,
}

impl Score {
    /// Scores `mlp` on `data`.
    #[must_use]
    pub fn of(mlp: &Mlp, data: &Labelled) -> Self {
        let logits = mlp.logits(data.x());
        let (mut correct, mut loss) = (0usize, 0.0f64);
        for (row, label) in logits.iter_rows().zip(data.y()) {
            correct += usize::from(argmax(row) == *label);
            let top = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let sum: f64 = row.iter().map(|z| f64::from(z - top).exp()).sum();
            loss += sum.ln() - f64::from(row[*label] - top);
        }
        let n = data.len() as f64;
        Self { accuracy: correct as f64 / n, loss: loss / n }
    }

    /// Whether this is better: higher accuracy, then lower loss.
    #[must_use]
    pub fn beats(&self, other: &Self) -> bool {
        self.accuracy > other.accuracy || (self.accuracy == other.accuracy && self.loss < other.loss)
    }
}

/// A trained network.
#[derive(Debug, Clone, PartialEq)]
pub struct Trained {
    /// The weights of the kept epoch.
    pub mlp: Mlp,
    /// The kept epoch, from 1.
    pub epoch: usize,
    /// Its validation score.
    pub score: Score,
}

/// Trains one network. `beat` is called before every step and may stop the training. `None` if no epoch ended with finite
/// weights and loss.
///
/// # Errors
/// [`Cancelled`] if `beat` says so.
pub fn train(
    data: &Labelled,
    validation: &Labelled,
    recipe: &Recipe,
    seed: u64,
    beat: &mut dyn FnMut() -> Result<(), Cancelled>,
) -> Result<Option<Trained>, Cancelled> {
    let purpose = recipe.describe();
    let mut mlp = Mlp::fresh(
        data.x().cols(),
        &recipe.hidden,
        data.classes(),
        &mut stream(seed, &format!("weights {purpose}")),
    );
    let mut order_rng = stream(seed, &format!("batches {purpose}"));
    let mut order: Vec<usize> = (0..data.len()).collect();
    let mut trainer = Trainer::new(&mlp, recipe.learning_rate);
    let mut best: Option<Trained> = None;
    for epoch in 1..=recipe.epochs {
        shuffle(&mut order_rng, &mut order);
        for batch in order.chunks(recipe.batch.max(1)) {
            beat()?;
            trainer.step(&mut mlp, data, batch);
        }
        let score = Score::of(&mlp, validation);
        let sound = score.loss.is_finite() && mlp.is_finite();
        if sound && best.as_ref().is_none_or(|b| score.beats(&b.score)) {
            best = Some(Trained { mlp: mlp.clone(), epoch, score });
        }
    }
    Ok(best)
}

/// Adam's moments and the buffers of a step.
struct Trainer {
    learning_rate: f64,
    step: i32,
    pass: Pass<f32>,
    x: Vec<f32>,
    y: Vec<usize>,
    gradient: Vec<f32>,
    /// First and second moments per parameter group: weights and biases of each layer in turn.
    moments: Vec<(Vec<f32>, Vec<f32>)>,
}

/// Adam's decay of the first moment.
const BETA1: f64 = 0.9;
/// Adam's decay of the second moment.
const BETA2: f64 = 0.999;
/// Adam's guard against division by 0.
const EPSILON: f32 = 1e-8;

impl Trainer {
    fn new(mlp: &Mlp, learning_rate: f64) -> Self {
        let zeros = |n| (vec![0.0; n], vec![0.0; n]);
        Self {
            learning_rate,
            step: 0,
            pass: Pass::new(mlp),
            x: Vec::new(),
            y: Vec::new(),
            gradient: Vec::new(),
            moments: mlp
                .layers()
                .iter()
                .flat_map(|l| [zeros(l.weight.data().len()), zeros(l.bias.len())])
                .collect(),
        }
    }

    /// One Adam step on the examples `batch`.
    fn step(&mut self, mlp: &mut Mlp, data: &Labelled, batch: &[usize]) {
        self.x.clear();
        self.y.clear();
        for i in batch {
            self.x.extend_from_slice(data.x().row(*i));
            self.y.push(data.y()[*i]);
        }
        self.pass.forward(mlp, &self.x);
        self.pass.cross_entropy(&self.y);
        self.pass.back_to(mlp, 0);
        self.step += 1;
        let adam = Adam::at(self.learning_rate, self.step);
        let scale = 1.0 / batch.len() as f32;
        for (i, layer) in mlp.layers_mut().iter_mut().enumerate() {
            let (inputs, outputs) = (layer.weight.rows(), layer.weight.cols());
            let input = if i == 0 { self.x.as_slice() } else { self.pass.output(i - 1) };
            let delta = self.pass.delta(i);
            self.gradient.resize(inputs * outputs, 0.0);
            let (input, view) =
                (View::new(input, self.pass.rows(), inputs), View::new(delta, self.pass.rows(), outputs));
            matmul(&mut self.gradient, 0.0, input.t(), view, scale);
            adam.update(layer.weight.data_mut(), &self.gradient, &mut self.moments[2 * i]);
            self.gradient.clear();
            self.gradient.resize(outputs, 0.0);
            for row in delta.chunks_exact(outputs) {
                self.gradient.iter_mut().zip(row).for_each(|(g, d)| *g += scale * d);
            }
            adam.update(&mut layer.bias, &self.gradient, &mut self.moments[2 * i + 1]);
        }
    }
}

/// Adam (Kingma and Ba 2015) at one step, its bias corrections folded into two factors.
#[derive(Clone, Copy)]
struct Adam {
    rate: f32,
    root: f32,
}

impl Adam {
    fn at(learning_rate: f64, step: i32) -> Self {
        let (c1, c2) = (1.0 - BETA1.powi(step), 1.0 - BETA2.powi(step));
        Self { rate: (learning_rate / c1) as f32, root: (1.0 / c2).sqrt() as f32 }
    }

    /// Moments and parameters in one pass over memory.
    fn update(self, parameters: &mut [f32], gradient: &[f32], (first, second): &mut (Vec<f32>, Vec<f32>)) {
        let (b1, b2) = (BETA1 as f32, BETA2 as f32);
        let (n1, n2) = ((1.0 - BETA1) as f32, (1.0 - BETA2) as f32);
        for (((p, g), m), v) in parameters.iter_mut().zip(gradient).zip(first).zip(second) {
            *m = b1 * *m + n1 * g;
            *v = b2 * *v + n2 * g * g;
            *p -= self.rate * *m / (v.sqrt() * self.root + EPSILON);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::Matrix;
    use crate::stats::rng::unit;

    /// Points in a square, labelled by the sign of x0 x1: no linear classifier can see it.
    fn quadrants(n: usize, seed: u64) -> Labelled {
        let mut rng = stream(seed, "quadrants");
        let v: Vec<f32> = (0..n * 3).map(|_| (2.0 * unit(&mut rng) - 1.0) as f32).collect();
        let y = (0..n).map(|i| usize::from(v[3 * i] * v[3 * i + 1] > 0.0)).collect();
        Labelled::new(Matrix::from_vec(n, 3, v).unwrap(), y, 2).unwrap()
    }

    fn run(hidden: &[usize], learning_rate: f64) -> Option<Trained> {
        let recipe = Recipe { hidden: hidden.to_vec(), learning_rate, epochs: 8, batch: 64 };
        train(&quadrants(2_000, 1), &quadrants(500, 2), &recipe, 3, &mut || Ok(())).unwrap()
    }

    #[test]
    fn a_hidden_layer_learns_what_a_linear_one_cannot() {
        let (deep, linear) = (run(&[64], 1e-2).unwrap(), run(&[], 1e-2).unwrap());
        assert!(deep.score.accuracy > 0.95, "{:?}", deep.score);
        assert!(linear.score.accuracy < 0.65, "{:?}", linear.score);
        assert_eq!(run(&[64], 1e-2).unwrap(), deep);
    }

    #[test]
    fn divergence_is_no_result() {
        assert!(run(&[64, 64], 1e30).is_none());
    }

    #[test]
    fn it_can_be_stopped() {
        let recipe = Recipe { hidden: vec![8], learning_rate: 1e-3, epochs: 8, batch: 64 };
        let mut left = 5;
        let mut beat = || {
            left -= 1;
            if left == 0 { Err(Cancelled) } else { Ok(()) }
        };
        let data = quadrants(1_000, 1);
        assert_eq!(train(&data, &data, &recipe, 3, &mut beat), Err(Cancelled));
    }

    /// Adam's first step moves every weight by the learning rate against the gradient's sign, whatever its size.
    #[test]
    fn first_step_of_adam() {
        let mut p = [1.0f32, 1.0];
        Adam::at(0.01, 1).update(&mut p, &[5.0, -0.001], &mut (vec![0.0; 2], vec![0.0; 2]));
        assert!((p[0] - 0.99).abs() < 1e-6 && (p[1] - 1.01).abs() < 1e-6, "{p:?}");
    }

    /// Weight gradients by finite differences, through one step of plain descent hidden in Adam's second moment.
    #[test]
    fn weight_gradient_is_the_slope_of_the_loss() {
        let data = quadrants(40, 9);
        let mlp = Mlp::fresh(3, &[5, 4], 2, &mut stream(1, "network"));
        let all: Vec<usize> = (0..40).collect();
        let mut trainer = Trainer::new(&mlp, 0.0);
        trainer.step(&mut mlp.clone(), &data, &all);
        let reference: Mlp<f64> = mlp.cast();
        let x = data.x().cast();
        let loss = |m: &Mlp<f64>| m.input_direction(&x, data.y()).1.iter().sum::<f64>() / 40.0;
        for layer in 0..3 {
            for k in 0..reference.layers()[layer].weight.data().len() {
                let moved = |step: f64| {
                    let mut m = reference.clone();
                    m.layers_mut()[layer].weight.data_mut()[k] += step;
                    loss(&m)
                };
                let slope = (moved(1e-6) - moved(-1e-6)) / 2e-6;
                let got = f64::from(trainer.moments[2 * layer].0[k]) / 0.1;
                assert!((slope - got).abs() < 1e-5, "layer {layer} weight {k}: {slope} {got}");
            }
        }
    }
}
