//! A multilayer perceptron: fully connected layers with ReLU between them and one logit per class.
//!
//! Without hidden layers it is a linear softmax classifier. Forward and backward passes are written by hand on the matrix kernel, in f32
//! for use and in f64 for checks.

use base::matmul::{View, matmul};
use base::matrix::{Dense, Matrix, Real};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use stats::rng::unit;

/// A layer `y = x W + b`, with W stored as inputs x outputs (the transpose of PyTorch's layout).
#[derive(Debug, Clone, PartialEq)]
pub struct Layer<T = f32> {
    /// Inputs x outputs.
    pub weight: Dense<T>,
    /// One bias per output.
    pub bias: Vec<T>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Mlp<T = f32> {
    layers: Vec<Layer<T>>,
}

/// Reasons why layers do not form a network.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LayerError {
    /// There are no layers.
    #[error("a network needs at least one layer")]
    Empty,
    /// A layer without inputs or outputs.
    #[error("layer {layer} has {inputs} inputs and {outputs} outputs; both must be above 0")]
    Zero {
        /// Index of the layer, from 0.
        layer: usize,
        inputs: usize,
        outputs: usize,
    },
    /// The number of biases differs from the number of outputs.
    #[error("layer {layer} has {outputs} outputs but {biases} biases")]
    Bias {
        /// Index of the layer, from 0.
        layer: usize,
        outputs: usize,
        biases: usize,
    },
    /// A layer whose number of inputs differs from the previous layer's number of outputs.
    #[error("layer {layer} takes {inputs} inputs, but the previous layer has {given} outputs")]
    Chain {
        /// Index of the layer, from 0.
        layer: usize,
        inputs: usize,
        /// Number of outputs of the previous layer.
        given: usize,
    },
}

/// Number of rows per thread at a time. Fixed, so that results do not depend on the number of threads; small enough to keep the activations
/// of a wide network in the L2 cache.
pub const CHUNK: usize = 128;

impl Mlp<f32> {
    /// Initial weights and biases, uniform within ±1/sqrt(inputs) of their layer (PyTorch's default for linear layers).
    pub fn fresh(inputs: usize, hidden: &[usize], classes: usize, rng: &mut ChaCha8Rng) -> Self {
        let mut sizes = vec![inputs];
        sizes.extend_from_slice(hidden);
        sizes.push(classes);
        let layers = sizes.windows(2).map(|pair| {
            let bound = 1.0 / (pair[0].max(1) as f64).sqrt();
            let mut draw = || (bound * (2.0 * unit(rng) - 1.0)) as f32;
            let mut weight = Matrix::zeros(pair[0], pair[1]);
            weight.data_mut().iter_mut().for_each(|w| *w = draw());
            Layer { weight, bias: (0..pair[1]).map(|_| draw()).collect() }
        });
        Self { layers: layers.collect() }
    }
}

impl<T: Real> Mlp<T> {
    /// Builds a network from layers.
    ///
    /// # Errors
    /// [`LayerError`] if they do not fit together.
    pub fn from_layers(layers: Vec<Layer<T>>) -> Result<Self, LayerError> {
        if layers.is_empty() {
            return Err(LayerError::Empty);
        }
        let mut given = None;
        for (i, layer) in layers.iter().enumerate() {
            let (inputs, outputs) = (layer.weight.rows(), layer.weight.cols());
            if inputs == 0 || outputs == 0 {
                return Err(LayerError::Zero { layer: i, inputs, outputs });
            }
            if layer.bias.len() != outputs {
                return Err(LayerError::Bias { layer: i, outputs, biases: layer.bias.len() });
            }
            if let Some(given) = given.replace(outputs).filter(|g| *g != inputs) {
                return Err(LayerError::Chain { layer: i, inputs, given });
            }
        }
        Ok(Self { layers })
    }

    /// The layers, starting at the input.
    pub fn layers(&self) -> &[Layer<T>] {
        &self.layers
    }

    pub fn layers_mut(&mut self) -> &mut [Layer<T>] {
        &mut self.layers
    }

    /// Embedding size.
    pub fn inputs(&self) -> usize {
        self.layers.first().map_or(0, |l| l.weight.rows())
    }

    pub fn classes(&self) -> usize {
        self.layers.last().map_or(0, |l| l.weight.cols())
    }

    /// Number of weights and biases.
    pub fn parameters(&self) -> usize {
        self.layers.iter().map(|l| l.weight.data().len() + l.bias.len()).sum()
    }

    pub fn is_finite(&self) -> bool {
        self.layers.iter().all(|l| l.weight.is_finite() && l.bias.iter().all(|b| b.to_f64().is_finite()))
    }

    /// The same network in a different precision.
    pub fn cast<U: Real>(&self) -> Mlp<U> {
        let layer = |l: &Layer<T>| Layer {
            weight: l.weight.cast(),
            bias: l.bias.iter().map(|b| U::from_f64(b.to_f64())).collect(),
        };
        Mlp { layers: self.layers.iter().map(layer).collect() }
    }

    /// Logits (n x classes) of the rows of `x` (n x D), with rows divided among threads.
    ///
    /// # Panics
    /// If the number of columns of `x` differs from the network's inputs.
    pub fn logits(&self, x: &Dense<T>) -> Dense<T> {
        assert_eq!(x.cols(), self.inputs(), "the embeddings do not have the probe's size");
        let mut out = Dense::zeros(x.rows(), self.classes());
        let classes = self.classes();
        out.data_mut().par_chunks_mut(CHUNK * classes).zip(x.data().par_chunks(CHUNK * self.inputs())).for_each_init(
            || Pass::new(self),
            |pass, (out, x)| {
                pass.forward(self, x);
                out.copy_from_slice(pass.logits());
            },
        );
        out
    }

    /// The gradient of each row's cross entropy towards class `targets[i]` with respect to the row, **divided by one minus the class's
    /// probability** (n x D, not averaged over rows). Also returns the cross entropies in nats. The divisor is positive, so the signs,
    /// which are all that attacks use, are unchanged. They survive where the probability rounds to 1 and the gradient would vanish.
    /// Multiply by `1 - exp(-loss)` to get the gradient.
    ///
    /// # Panics
    /// If the shapes do not fit or a target is not a class.
    pub fn input_direction(&self, x: &Dense<T>, targets: &[usize]) -> (Dense<T>, Vec<T>) {
        assert_eq!(x.cols(), self.inputs(), "the embeddings do not have the probe's size");
        assert_eq!(x.rows(), targets.len(), "`targets` must have one entry per row");
        let mut direction = Dense::zeros(x.rows(), x.cols());
        let mut losses = vec![T::ZERO; x.rows()];
        let width = CHUNK * self.inputs();
        direction
            .data_mut()
            .par_chunks_mut(width)
            .zip(x.data().par_chunks(width))
            .zip(targets.par_chunks(CHUNK).zip(losses.par_chunks_mut(CHUNK)))
            .for_each_init(
                || Pass::new(self),
                |pass, ((direction, x), (targets, losses))| {
                    pass.forward(self, x);
                    pass.attack_residuals(targets, Some(losses));
                    pass.back_to_input(self, direction);
                },
            );
        (direction, losses)
    }
}

/// One thread's buffers for passes through a network, reused so that a loop allocates once.
#[derive(Debug, Clone)]
pub struct Pass<T> {
    rows: usize,
    classes: usize,
    /// Outputs of each layer: after ReLU for hidden ones, logits (later their gradient) for the last.
    outputs: Vec<Vec<T>>,
    /// Gradients with respect to the outputs of the hidden layers.
    deltas: Vec<Vec<T>>,
}

impl<T: Real> Pass<T> {
    pub fn new(mlp: &Mlp<T>) -> Self {
        let layers = mlp.layers.len();
        Self {
            rows: 0,
            classes: mlp.classes(),
            outputs: vec![Vec::new(); layers],
            deltas: vec![Vec::new(); layers - 1],
        }
    }

    /// Runs the rows in `x` forward.
    pub fn forward(&mut self, mlp: &Mlp<T>, x: &[T]) {
        self.rows = x.len() / mlp.inputs();
        for i in 0..mlp.layers.len() {
            self.layer(mlp, i, x);
        }
    }

    /// Runs rows forward from the outputs of the first layer, before ReLU, in row order.
    pub fn forward_from_first(&mut self, mlp: &Mlp<T>, first: &[T]) {
        self.rows = first.len() / mlp.layers[0].bias.len();
        self.outputs[0].clear();
        self.outputs[0].extend_from_slice(first);
        self.rectify(mlp, 0);
        for i in 1..mlp.layers.len() {
            self.layer(mlp, i, &[]);
        }
    }

    /// Runs layer `i`. `x` is the input of the first layer; other layers use the output of the previous layer.
    fn layer(&mut self, mlp: &Mlp<T>, i: usize, x: &[T]) {
        let layer = &mlp.layers[i];
        let (before, after) = self.outputs.split_at_mut(i);
        let input = before.last().map_or(x, Vec::as_slice);
        let out = &mut after[0];
        // The product is added to the bias, which saves a pass over the output.
        out.clear();
        (0..self.rows).for_each(|_| out.extend_from_slice(&layer.bias));
        let input = View::new(input, self.rows, layer.weight.rows());
        matmul(out, T::ONE, input, layer.weight.view(), T::ONE);
        self.rectify(mlp, i);
    }

    /// Applies ReLU to the outputs of hidden layers.
    fn rectify(&mut self, mlp: &Mlp<T>, i: usize) {
        if i + 1 < mlp.layers.len() {
            self.outputs[i].iter_mut().for_each(|v| *v = if *v > T::ZERO { *v } else { T::ZERO });
        }
    }

    /// Logits of the last forward pass, in row order.
    pub fn logits(&self) -> &[T] {
        self.outputs.last().map_or(&[], Vec::as_slice)
    }

    /// Replaces the logits with the gradient of each row's cross entropy with respect to them: p - onehot(target).
    pub(crate) fn cross_entropy(&mut self, targets: &[usize]) {
        let classes = self.classes;
        let Some(logits) = self.outputs.last_mut() else { return };
        for (row, target) in logits.chunks_exact_mut(classes).zip(targets) {
            cross_entropy_row(row, *target);
        }
    }

    /// Replaces the logits with the residuals of an attack; see [`attack_row`]. With `losses`, also writes the cross entropies.
    pub fn attack_residuals(&mut self, targets: &[usize], mut losses: Option<&mut [T]>) {
        let classes = self.classes;
        let Some(logits) = self.outputs.last_mut() else { return };
        for (i, (row, target)) in logits.chunks_exact_mut(classes).zip(targets).enumerate() {
            let loss = attack_row(row, *target);
            if let Some(losses) = losses.as_deref_mut() {
                losses[i] = loss;
            }
        }
    }

    /// Calls `residual` to replace each row of logits with the values to backpropagate.
    pub fn replace_logits(&mut self, mut residual: impl FnMut(usize, &mut [T])) {
        let classes = self.classes;
        let Some(logits) = self.outputs.last_mut() else { return };
        logits.chunks_exact_mut(classes).enumerate().for_each(|(i, row)| residual(i, row));
    }

    /// Backpropagates the gradient of the logits to the output of layer `to` (0 is the first), before its ReLU: see [`Self::delta`].
    pub(crate) fn back_to(&mut self, mlp: &Mlp<T>, to: usize) {
        for i in (to + 1..mlp.layers.len()).rev() {
            let weight = &mlp.layers[i].weight;
            let (low, high) = self.deltas.split_at_mut(i);
            let above = high.first().or(self.outputs.last()).map_or(&[] as &[T], Vec::as_slice);
            let delta = &mut low[i - 1];
            delta.resize(self.rows * weight.rows(), T::ZERO);
            let above = View::new(above, self.rows, weight.cols());
            matmul(delta, T::ZERO, above, weight.view().t(), T::ONE);
            for (d, a) in delta.iter_mut().zip(&self.outputs[i - 1]) {
                *d = if *a > T::ZERO { *d } else { T::ZERO };
            }
        }
    }

    /// Gradient with respect to the output of layer `i`, before its ReLU.
    pub(crate) fn delta(&self, i: usize) -> &[T] {
        self.deltas.get(i).or(self.outputs.last()).map_or(&[], Vec::as_slice)
    }

    /// Output of layer `i` after its ReLU.
    pub(crate) fn output(&self, i: usize) -> &[T] {
        &self.outputs[i]
    }

    /// Rows of the last forward pass.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Backpropagates the gradient of the logits to the embeddings.
    pub fn back_to_input(&mut self, mlp: &Mlp<T>, gradient: &mut [T]) {
        self.back_to(mlp, 0);
        let weight = &mlp.layers[0].weight;
        let delta = View::new(self.delta(0), self.rows, weight.cols());
        matmul(gradient, T::ZERO, delta, weight.view().t(), T::ONE);
    }
}

/// Replaces a row of logits with softmax minus onehot(target). The target's entry is minus the sum of the others, because `p - 1` would
/// round to 0 for a nearly certain target.
pub(super) fn cross_entropy_row<T: Real>(row: &mut [T], target: usize) {
    let top = row.iter().copied().fold(row[0], |a, b| if b > a { b } else { a });
    let mut sum = T::ZERO;
    for z in row.iter_mut() {
        *z = (*z - top).exp();
        sum += *z;
    }
    let mut others = T::ZERO;
    for (j, z) in row.iter_mut().enumerate() {
        *z = *z / sum;
        if j != target {
            others += *z;
        }
    }
    row[target] = -others;
}

/// Replaces a row of logits with the residuals of an attack on class y, and returns the cross entropy of y in nats.
///
/// The residual is -1 for y and `q_j` for the others, where q is the softmax over the logits without `l_y`. That equals
/// `(p - onehot) / (1 - p_y)`. It is not computed from p: in single precision, `1 - p_y` rounds to 0 beyond a margin of 17, and the
/// gradient would lose its signs where the probe is most certain. Likewise the loss is `softplus(logsumexp_{j != y} l_j - l_y)`, which
/// stays precise for p near 1 and finite for p = 0.
pub fn attack_row<T: Real>(row: &mut [T], y: usize) -> T {
    let label = row[y];
    let mut top = None;
    for (j, z) in row.iter().enumerate() {
        if j != y && top.is_none_or(|t| *z > t) {
            top = Some(*z);
        }
    }
    let Some(top) = top else { return T::ZERO };
    let mut sum = T::ZERO;
    for (j, z) in row.iter_mut().enumerate() {
        *z = if j == y { T::ZERO } else { (*z - top).exp() };
        sum += *z;
    }
    row.iter_mut().for_each(|z| *z = *z / sum);
    row[y] = -T::ONE;
    let gap = (top - label) + sum.ln();
    if gap > T::ZERO { gap + (-gap).exp().ln_1p() } else { gap.exp().ln_1p() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::rng::stream;

    fn network(hidden: &[usize], classes: usize) -> Mlp<f64> {
        Mlp::fresh(6, hidden, classes, &mut stream(4, "network")).cast()
    }

    fn embeddings(rows: usize) -> Dense<f64> {
        let mut rng = stream(5, "embeddings");
        let values: Vec<f64> = (0..rows * 6).map(|_| 4.0 * unit(&mut rng) - 2.0).collect();
        Dense::from_fn(rows, 6, |i, j| values[i * 6 + j])
    }

    #[test]
    fn input_direction_is_parallel_to_the_loss_gradient() {
        for (hidden, classes) in [(vec![], 2), (vec![9], 3), (vec![7, 5, 4], 2)] {
            let (mlp, x) = (network(&hidden, classes), embeddings(5));
            let targets: Vec<usize> = (0..5).map(|i| i % classes).collect();
            let (direction, losses) = mlp.input_direction(&x, &targets);
            let h = 1e-6;
            for (i, at_rest) in losses.iter().enumerate() {
                for j in 0..6 {
                    let loss = |step: f64| {
                        let mut moved = x.clone();
                        moved.row_mut(i)[j] += step;
                        mlp.input_direction(&moved, &targets).1[i]
                    };
                    let slope = (loss(h) - loss(-h)) / (2.0 * h);
                    let gradient = -(-at_rest).exp_m1() * direction.row(i)[j];
                    assert!((slope - gradient).abs() < 1e-8, "{slope} {gradient}");
                }
            }
        }
    }

    /// For a nearly certain target, softmax minus one is 0 in single precision; beyond a margin of 104 the other classes have probability 0
    /// too. The attack's residuals and losses are unaffected.
    #[test]
    fn residuals_survive_saturated_probabilities() {
        for margin in [1.0f32, 30.0, 104.0, 500.0] {
            let mut row = [margin, 0.0];
            let loss = attack_row(&mut row, 0);
            assert_eq!(row, [-1.0, 1.0]);
            let exact = (-f64::from(margin)).exp().ln_1p();
            // The smallest positive single-precision number is 1.4e-45.
            assert!((f64::from(loss) - exact).abs() <= 1e-5 * exact + 1e-44, "{margin}: {loss} {exact}");
            let mut row = [margin, 0.0];
            let loss = attack_row(&mut row, 1);
            assert_eq!(row, [1.0, -1.0]);
            assert!((f64::from(loss) - exact - f64::from(margin)).abs() < 1e-4, "{margin}: {loss}");
        }
        let mut three = [400.0f64, 2.0, 1.0];
        let loss = attack_row(&mut three, 0);
        let q = 1.0 / (1.0 + (-1.0f64).exp());
        assert!((three[1] - q).abs() < 1e-15 && (three[2] - (1.0 - q)).abs() < 1e-15 && three[0] == -1.0);
        assert!(loss > 0.0 && loss < 1e-170);
    }

    #[test]
    fn chunks_do_not_change_results() {
        let (mlp, x) = (network(&[8], 2), embeddings(3 * CHUNK + 5));
        let all = mlp.logits(&x);
        let one = mlp.logits(&x.select_rows(&[2 * CHUNK + 1]));
        assert!(all.row(2 * CHUNK + 1).iter().zip(one.row(0)).all(|(a, b)| (a - b).abs() < 1e-14));
    }

    #[test]
    fn layer_sizes_must_match() {
        let layer = |i, o| Layer { weight: Matrix::zeros(i, o), bias: vec![0.0; o] };
        assert!(Mlp::from_layers(vec![layer(3, 4), layer(4, 2)]).is_ok());
        assert_eq!(Mlp::<f32>::from_layers(vec![]), Err(LayerError::Empty));
        let chain = Mlp::from_layers(vec![layer(3, 4), layer(5, 2)]);
        assert_eq!(chain, Err(LayerError::Chain { layer: 1, inputs: 5, given: 4 }));
        let bias = Layer { bias: vec![0.0], ..layer(3, 4) };
        assert!(matches!(Mlp::from_layers(vec![bias]), Err(LayerError::Bias { .. })));
        assert!(matches!(Mlp::from_layers(vec![layer(0, 4)]), Err(LayerError::Zero { .. })));
    }
}
