//! Trains networks side by side on the same examples in the same order. Each example is fetched once, and the first layers of networks with
//! the same batch size are stacked into one product.
//!
//! A network's result depends only on its settings, its initial weights and the order, not on the other networks.

use kernels::adamw::Step;
use kernels::dense::{descend, outputs};
use kernels::simd::LANE;

use super::{Chosen, EPOCHS, PATIENCE};
use crate::data::Labelled;
use crate::mlp::{Layer, Mlp, cross_entropy_row};
use crate::train::{BETA1, BETA2, EPSILON, Recipe};
use base::Cancelled;
use base::matrix::{Matrix, argmax};

/// A layer, or the stacked layers of several networks. A row contains an output's weights, then its bias, then zeros up to `width`.
#[derive(Default)]
struct Dense {
    inputs: usize,
    width: usize,
    weight: Vec<f32>,
    first: Vec<f32>,
    second: Vec<f32>,
}

/// Length of a row of inputs, including the 1 that multiplies the bias, rounded up to whole vectors.
fn width(inputs: usize) -> usize {
    (inputs + 1).next_multiple_of(LANE)
}

impl Dense {
    fn new(inputs: usize) -> Self {
        Self { inputs, width: width(inputs), ..Self::default() }
    }

    fn outs(&self) -> usize {
        self.weight.len() / self.width
    }

    /// Appends a layer's rows to the existing ones.
    fn push(&mut self, layer: &Layer) {
        for (o, bias) in layer.bias.iter().enumerate() {
            let at = self.weight.len();
            self.weight.resize(at + self.width, 0.0);
            let row = &mut self.weight[at..];
            (0..self.inputs).for_each(|i| row[i] = layer.weight.row(i)[o]);
            row[self.inputs] = *bias;
        }
        self.first.resize(self.weight.len(), 0.0);
        self.second.resize(self.weight.len(), 0.0);
    }

    /// The `outs` outputs of network `net` as a layer.
    fn layer(&self, net: usize, outs: usize) -> Layer {
        let rows: Vec<&[f32]> = self.weight.chunks_exact(self.width).skip(net * outs).take(outs).collect();
        Layer {
            weight: Matrix::from_fn(self.inputs, outs, |i, o| rows[o][i]),
            bias: rows.iter().map(|row| row[self.inputs]).collect(),
        }
    }

    /// Removes the `outs` outputs of network `net`.
    fn remove(&mut self, net: usize, outs: usize) {
        let part = net * outs * self.width..(net + 1) * outs * self.width;
        for all in [&mut self.weight, &mut self.first, &mut self.second] {
            all.drain(part.clone());
        }
    }

    fn forward(&self, x: &[f32], z: &mut Vec<f32>) {
        z.resize(x.len() / self.width * self.outs(), 0.0);
        outputs(x, &self.weight, self.width, z);
    }

    /// Takes an optimiser step for each group of `each` outputs, from the gradients of the outputs.
    fn descend(&mut self, x: &[f32], delta: &[f32], steps: &[Step], each: usize) {
        let Self { width, weight, first, second, .. } = self;
        descend(x, delta, *width, (steps, each), [weight, first, second]);
    }
}

/// Rows of examples, each with the 1 that multiplies the bias, and their labels.
struct Rows {
    width: usize,
    x: Vec<f32>,
    y: Vec<usize>,
}

impl Rows {
    fn take(&mut self, data: &Labelled, rows: impl Iterator<Item = usize>) {
        let inputs = data.x().cols();
        self.y.clear();
        for (k, row) in rows.enumerate() {
            let at = k * self.width;
            if self.x.len() < at + self.width {
                self.x.resize(at + self.width, 0.0);
                self.x[at + inputs] = 1.0;
            }
            self.x[at..at + inputs].copy_from_slice(data.x().row(row));
            self.y.push(data.y()[row]);
        }
    }

    fn x(&self) -> &[f32] {
        &self.x[..self.y.len() * self.width]
    }
}

struct Net {
    /// Index of its settings.
    place: usize,
    recipe: Recipe,
    /// Layers above the first.
    above: Vec<Dense>,
    best: Option<Chosen>,
    /// The lowest validation loss, and the number of epochs since then.
    lowest: f64,
    since: usize,
    /// Number of correct answers on the validation examples so far.
    correct: usize,
    loss: f64,
}

/// Networks of one shape and batch size.
struct Stack {
    batch: usize,
    /// Number of first-layer outputs of each network.
    each: usize,
    classes: usize,
    nets: Vec<Net>,
    below: Dense,
    step: i32,
    z: Vec<f32>,
    steps: Vec<Step>,
    /// Inputs of each layer above the first, for one network.
    inputs: Vec<Vec<f32>>,
    logits: Vec<f32>,
    delta: Vec<f32>,
}

impl Stack {
    fn new(inputs: usize, classes: usize, recipe: &Recipe) -> Self {
        Self {
            batch: recipe.batch.max(1),
            each: recipe.hidden.first().copied().unwrap_or(classes),
            classes,
            nets: Vec::new(),
            below: Dense::new(inputs),
            step: 0,
            z: Vec::new(),
            steps: Vec::new(),
            inputs: vec![Vec::new(); recipe.hidden.len()],
            logits: Vec::new(),
            delta: Vec::new(),
        }
    }

    fn add(&mut self, place: usize, recipe: &Recipe, mlp: &Mlp) {
        let Some((first, above)) = mlp.layers().split_first() else { return };
        self.below.push(first);
        let dense = |layer: &Layer| {
            let mut dense = Dense::new(layer.weight.rows());
            dense.push(layer);
            dense
        };
        let above = above.iter().map(dense).collect();
        let (recipe, lowest) = (recipe.clone(), f64::INFINITY);
        self.nets.push(Net { place, recipe, above, best: None, lowest, since: 0, correct: 0, loss: 0.0 });
    }

    /// Takes one step of every network on the same rows.
    fn learn(&mut self, x: &[f32], y: &[usize]) {
        self.step += 1;
        let (beta1, beta2) = (BETA1 as f32, BETA2 as f32);
        let steps = self.nets.iter().map(|net| Step {
            beta1,
            beta2,
            eps: EPSILON,
            shrink: 1.0 / y.len() as f32,
            keep: 1.0,
            rate: net.recipe.learning_rate as f32,
            correct1: (1.0 / (1.0 - BETA1.powi(self.step))) as f32,
            correct2: (1.0 / (1.0 - BETA2.powi(self.step))) as f32,
        });
        self.steps.clear();
        self.steps.extend(steps);
        self.below.forward(x, &mut self.z);
        if self.inputs.is_empty() {
            let all = self.z.chunks_exact_mut(self.each * self.nets.len()).zip(y);
            all.for_each(|(row, y)| {
                row.chunks_exact_mut(self.each).for_each(|row| cross_entropy_row(row, *y));
            });
        } else {
            (0..self.nets.len()).for_each(|net| self.learn_above(net, y));
        }
        self.below.descend(x, &self.z, &self.steps, self.each);
    }

    /// Runs a network's layers above the first and leaves the logits in `logits`.
    fn above(&mut self, net: usize, rows: usize) {
        let all = self.each * self.nets.len();
        let layers = &self.nets[net].above;
        let mut from = (&self.z[..], all, net * self.each);
        for (l, layer) in layers.iter().enumerate() {
            let input = &mut self.inputs[l];
            input.clear();
            input.resize(rows * layer.width, 0.0);
            let (z, stride, at) = from;
            for (input, z) in input.chunks_exact_mut(layer.width).zip(z.chunks_exact(stride)) {
                input.iter_mut().zip(&z[at..at + layer.inputs]).for_each(|(v, z)| *v = z.max(0.0));
                input[layer.inputs] = 1.0;
            }
            layer.forward(input, &mut self.logits);
            from = (&self.logits, layer.outs(), 0);
        }
    }

    /// Takes an optimiser step for a network's layers above the first. The network's part of `z` becomes the gradient of its first-layer
    /// outputs.
    fn learn_above(&mut self, net: usize, y: &[usize]) {
        self.above(net, y.len());
        let (all, step) = (self.each * self.nets.len(), self.steps[net]);
        self.logits.chunks_exact_mut(self.classes).zip(y).for_each(|(row, y)| cross_entropy_row(row, *y));
        for (l, layer) in self.nets[net].above.iter_mut().enumerate().rev() {
            let (outs, input) = (layer.outs(), &self.inputs[l]);
            self.delta.clear();
            self.delta.resize(y.len() * layer.inputs, 0.0);
            let rows = self.delta.chunks_exact_mut(layer.inputs).zip(self.logits.chunks_exact(outs));
            for ((delta, slope), input) in rows.zip(input.chunks_exact(layer.width)) {
                for (slope, row) in slope.iter().zip(layer.weight.chunks_exact(layer.width)) {
                    delta.iter_mut().zip(row).for_each(|(d, w)| *d += slope * w);
                }
                delta.iter_mut().zip(input).filter(|(_, v)| **v <= 0.0).for_each(|(d, _)| *d = 0.0);
            }
            layer.descend(input, &self.logits, &[step], outs);
            std::mem::swap(&mut self.logits, &mut self.delta);
        }
        let at = net * self.each;
        for (z, slope) in self.z.chunks_exact_mut(all).zip(self.logits.chunks_exact(self.each)) {
            z[at..at + self.each].copy_from_slice(slope);
        }
    }

    /// Adds each network's number of correct answers on a block of validation examples.
    fn judge(&mut self, x: &[f32], y: &[usize]) {
        self.below.forward(x, &mut self.z);
        let all = self.each * self.nets.len();
        for net in 0..self.nets.len() {
            let linear = self.inputs.is_empty();
            if !linear {
                self.above(net, y.len());
            }
            let (from, stride, at) =
                if linear { (&self.z, all, net * self.each) } else { (&self.logits, self.classes, 0) };
            let net = &mut self.nets[net];
            for (row, label) in from.chunks_exact(stride).zip(y) {
                let row = &row[at..at + self.classes];
                net.correct += usize::from(argmax(row) == *label);
                let top = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                let sum: f64 = row.iter().map(|z| f64::from(z - top).exp()).sum();
                net.loss += sum.ln() - f64::from(row[*label] - top);
            }
        }
    }

    /// Ends an epoch of every network; removes and returns the networks that have stopped.
    fn settle(&mut self, epoch: usize, validated: usize) -> Vec<Net> {
        let mut ended = Vec::new();
        for at in (0..self.nets.len()).rev() {
            let net = &mut self.nets[at];
            let (correct, loss) = (std::mem::take(&mut net.correct), std::mem::take(&mut net.loss) / validated as f64);
            let rows = &self.below.weight[at * self.each * self.below.width..];
            let mut weights =
                rows[..self.each * self.below.width].iter().chain(net.above.iter().flat_map(|layer| &layer.weight));
            let sound = loss.is_finite() && weights.all(|w| w.is_finite());
            if sound && net.best.as_ref().is_none_or(|best| correct > best.correct) {
                let layers = std::iter::once(self.below.layer(at, self.each))
                    .chain(net.above.iter().map(|layer| layer.layer(0, layer.outs())));
                let mlp = Mlp::from_layers(layers.collect()).ok();
                let recipe = net.recipe.clone();
                net.best = mlp.map(|mlp| Chosen { mlp, correct, loss, epoch, recipe });
            }
            if loss < net.lowest {
                (net.lowest, net.since) = (loss, 0);
            } else {
                net.since += 1;
            }
            if !sound || net.since >= PATIENCE || epoch == EPOCHS {
                self.below.remove(at, self.each);
                ended.push(self.nets.remove(at));
            }
        }
        ended
    }
}

pub(crate) struct Trainers {
    stacks: Vec<Stack>,
    /// Number of rows fetched at a time: whole batches of every network.
    block: usize,
    rows: Rows,
}

/// Minimum number of rows fetched at a time; they stay in the L2 cache while all networks learn from them.
const NEAR: usize = 64;

impl Trainers {
    /// Creates networks with the indices of their settings, for embeddings of size `inputs`.
    pub(crate) fn new<'a>(
        (inputs, classes): (usize, usize),
        nets: impl Iterator<Item = (usize, &'a Recipe, Mlp)>,
    ) -> Self {
        let mut stacks: Vec<Stack> = Vec::new();
        for (place, recipe, mlp) in nets {
            let same = |s: &Stack| {
                s.nets.first().is_some_and(|n| (&n.recipe.hidden, n.recipe.batch) == (&recipe.hidden, recipe.batch))
            };
            let at = stacks.iter().position(same).unwrap_or_else(|| {
                stacks.push(Stack::new(inputs, classes, recipe));
                stacks.len() - 1
            });
            stacks[at].add(place, recipe, &mlp);
        }
        let whole = stacks.iter().fold(1, |all, s| all / common(all, s.batch) * s.batch);
        let block = whole * NEAR.div_ceil(whole);
        Self { stacks, block, rows: Rows { width: width(inputs), x: Vec::new(), y: Vec::new() } }
    }

    /// Number of networks still in training.
    pub(crate) fn active(&self) -> usize {
        self.stacks.iter().map(|s| s.nets.len()).sum()
    }

    /// Makes one pass over the examples in the given order. `poll` is called regularly and can stop the pass.
    pub(crate) fn learn(
        &mut self,
        data: &Labelled,
        order: &[usize],
        poll: &mut dyn FnMut() -> Result<(), Cancelled>,
    ) -> Result<(), Cancelled> {
        for (k, block) in order.chunks(self.block).enumerate() {
            if k > 0 && k % 32 == 0 {
                poll()?;
            }
            self.rows.take(data, block.iter().copied());
            for stack in self.stacks.iter_mut().filter(|s| !s.nets.is_empty()) {
                let batches = self.rows.x().chunks(stack.batch * self.rows.width);
                batches.zip(self.rows.y.chunks(stack.batch)).for_each(|(x, y)| stack.learn(x, y));
            }
        }
        Ok(())
    }

    /// Validates every network after an epoch. Removes the networks that have ended and returns their indices with their best states:
    /// `None` if the weights were not finite from the first epoch on.
    pub(crate) fn validate(&mut self, validation: &Labelled, epoch: usize) -> Vec<(usize, Option<Chosen>)> {
        let n = validation.len();
        for from in (0..n).step_by(self.block) {
            self.rows.take(validation, from..n.min(from + self.block));
            for stack in self.stacks.iter_mut().filter(|s| !s.nets.is_empty()) {
                stack.judge(self.rows.x(), &self.rows.y);
            }
        }
        let ended = self.stacks.iter_mut().flat_map(|s| s.settle(epoch, n));
        ended.map(|net| (net.place, net.best)).collect()
    }
}

fn common(a: usize, b: usize) -> usize {
    if b == 0 { a } else { common(b, a % b) }
}
