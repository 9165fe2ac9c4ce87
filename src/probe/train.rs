//! Trains a multilayer perceptron with Adam; training is counted in steps.
//!
//! Cross entropy is averaged over batches of 64, in a new random order for each pass. Canby et al. train for eight passes over data a
//! hundred times larger, so steps are counted here instead. The network is validated every 50 steps (an *epoch* here). Training ends when
//! the validation accuracy has not risen for 500 steps, or at a cap. The paper does not give optimiser, batch size and activation: Adam, 64
//! and ReLU are our choices.

use super::data::Labelled;
use super::mlp::{CHUNK, Mlp, Pass};
use super::selection::within_one_standard_error;
use base::Cancelled;
use base::matmul::{View, matmul};
use base::matrix::argmax;
use serde::{Deserialize, Serialize};
use stats::Purpose;
use stats::rng::shuffle;

/// Number of steps between two validations.
pub const EPOCH: usize = 50;
/// Training ends after this many steps without an increase in validation accuracy, and not before this many steps in total.
pub const PATIENCE: usize = 500;
/// Maximum number of steps while searching over settings.
pub const SEARCH_STEPS: usize = 2_000;
/// Maximum number of steps of a replicate whose setting was still improving when the search stopped it.
pub const MOST_STEPS: usize = 10_000;

/// One point of a grid: the shape of a network and its training settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recipe {
    /// Widths of the hidden layers; empty for a linear classifier.
    pub hidden: Vec<usize>,
    pub learning_rate: f64,
    /// Number of examples per step.
    pub batch: usize,
}

impl Recipe {
    /// Settings of the provisional probe used while the search runs: one hidden layer of 64, learning rate 1e-3.
    pub fn provisional() -> Self {
        Self { hidden: vec![64], learning_rate: 1e-3, batch: 64 }
    }

    /// Number of weights and biases for embeddings of size `inputs`.
    pub fn parameters(&self, inputs: usize, classes: usize) -> usize {
        let sizes = [&[inputs][..], &self.hidden, &[classes]].concat();
        sizes.windows(2).map(|pair| (pair[0] + 1) * pair[1]).sum()
    }

    /// Examples: "2x256 lr 1e-3", "linear lr 1e-2".
    pub fn describe(&self) -> String {
        let shape = match self.hidden.as_slice() {
            [] => "linear".to_owned(),
            [first, rest @ ..] if rest.iter().all(|w| w == first) => format!("{}x{first}", self.hidden.len()),
            widths => widths.iter().map(ToString::to_string).collect::<Vec<_>>().join("-"),
        };
        format!("{shape} lr {:e}", self.learning_rate)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Share of correct answers.
    pub accuracy: f64,
    /// Mean cross entropy in nats.
    pub loss: f64,
}

impl Score {
    pub fn of(mlp: &Mlp, data: &Labelled) -> Self {
        let (correct, loss) = count(&mut Pass::new(mlp), mlp, data);
        Self { accuracy: correct as f64 / data.len() as f64, loss }
    }
}

/// Counts the correct answers on `data` and computes the mean cross entropy. Runs on the calling thread, because other threads train other
/// networks.
pub(super) fn count(pass: &mut Pass<f32>, mlp: &Mlp, data: &Labelled) -> (usize, f64) {
    let (mut correct, mut loss) = (0usize, 0.0f64);
    let width = CHUNK * mlp.inputs();
    for (x, y) in data.x().data().chunks(width).zip(data.y().chunks(CHUNK)) {
        pass.forward(mlp, x);
        for (row, label) in pass.logits().chunks_exact(mlp.classes()).zip(y) {
            correct += usize::from(argmax(row) == *label);
            let top = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let sum: f64 = row.iter().map(|z| f64::from(z - top).exp()).sum();
            loss += sum.ln() - f64::from(row[*label] - top);
        }
    }
    (correct, loss / data.len() as f64)
}

/// The result of each validation of one training run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Run {
    /// Number of validation examples.
    pub examples: usize,
    /// Number of correct answers at each validation, [`EPOCH`] steps apart.
    pub correct: Vec<usize>,
    /// Mean cross entropy at each validation, in nats.
    pub losses: Vec<f64>,
    /// True if the cap was reached while the accuracy was still rising.
    pub rising: bool,
}

impl Run {
    /// The score at a validation, from 0.
    pub fn score(&self, epoch: usize) -> Option<Score> {
        let (correct, loss) = (self.correct.get(epoch)?, self.losses.get(epoch)?);
        Some(Score { accuracy: *correct as f64 / self.examples.max(1) as f64, loss: *loss })
    }

    pub fn steps(&self) -> usize {
        self.correct.len() * EPOCH
    }
}

/// A completed training run, with the weights that can be chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct Trained {
    pub run: Run,
    /// Weights at each validation (from 0) that beats all earlier ones and is within one standard error of the best. For any threshold, the
    /// first validation above it is one of these, so the rule needs no others.
    pub kept: Vec<(usize, Mlp)>,
}

/// Trains one network for at most `most` steps. `beat` is called before every step and may stop the training. `None` if weights or loss
/// became NaN or infinite before the first validation.
pub fn train(
    data: &Labelled,
    validation: &Labelled,
    recipe: &Recipe,
    most: usize,
    purpose: &Purpose,
    beat: &mut dyn FnMut() -> Result<(), Cancelled>,
) -> Result<Option<Trained>, Cancelled> {
    let mut weights = purpose.stream("weights");
    let mut mlp = Mlp::fresh(data.x().cols(), &recipe.hidden, data.classes(), &mut weights);
    let mut batches = purpose.stream("batches");
    let mut order: Vec<usize> = (0..data.len()).collect();
    let mut trainer = Trainer::new(&mlp, recipe.learning_rate);
    let mut course = Course::new(validation);
    let mut step = 0usize;
    'training: loop {
        shuffle(&mut batches, &mut order);
        for batch in order.chunks(recipe.batch.max(1)) {
            beat()?;
            trainer.step(&mut mlp, data, batch);
            step += 1;
            let goes_on = !step.is_multiple_of(EPOCH) || course.validate(&mut trainer.pass, &mlp, step);
            if !goes_on || step >= most {
                break 'training;
            }
        }
    }
    // A cap below the first validation must still yield a network.
    if course.run.correct.is_empty() {
        course.validate(&mut trainer.pass, &mlp, step);
    }
    course.run.rising = course.sound && course.best.is_some_and(|(_, since)| since + PATIENCE > most);
    Ok((!course.kept.is_empty()).then_some(Trained { run: course.run, kept: course.kept }))
}

/// Validations so far.
struct Course<'a> {
    validation: &'a Labelled,
    run: Run,
    kept: Vec<(usize, Mlp)>,
    /// The highest number of correct answers so far, and the step of that validation.
    best: Option<(usize, usize)>,
    /// True while weights and losses are finite.
    sound: bool,
}

impl<'a> Course<'a> {
    fn new(validation: &'a Labelled) -> Self {
        let run = Run { examples: validation.len(), ..Run::default() };
        Self { validation, run, kept: Vec::new(), best: None, sound: true }
    }

    /// Validates the network after `step` steps; true if training continues.
    fn validate(&mut self, pass: &mut Pass<f32>, mlp: &Mlp, step: usize) -> bool {
        let (correct, loss) = count(pass, mlp, self.validation);
        self.sound = loss.is_finite() && mlp.is_finite();
        if !self.sound {
            return false;
        }
        self.run.correct.push(correct);
        self.run.losses.push(loss);
        if self.best.is_none_or(|(most, _)| correct > most) {
            self.best = Some((correct, step));
            let (run, n) = (&self.run, self.validation.len());
            self.kept.retain(|(epoch, _)| within_one_standard_error(run.correct[*epoch], correct, n));
            self.kept.push((run.correct.len() - 1, mlp.clone()));
        }
        !self.settled(step)
    }

    /// True if the accuracy has not risen for [`PATIENCE`] steps, or cannot rise. After a perfect score, 500 more steps would change
    /// nothing that the rule uses.
    fn settled(&self, step: usize) -> bool {
        let n = self.validation.len();
        self.best.is_some_and(|(most, since)| most == n || step - since >= PATIENCE)
    }
}

/// Adam's moments and the buffers of a step.
pub(super) struct Trainer {
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
pub(super) const BETA1: f64 = 0.9;
/// Adam's decay of the second moment.
pub(super) const BETA2: f64 = 0.999;
/// Prevents division by 0 in Adam.
pub(super) const EPSILON: f32 = 1e-8;

impl Trainer {
    pub(super) fn new(mlp: &Mlp, learning_rate: f64) -> Self {
        let zeros = |n| (vec![0.0; n], vec![0.0; n]);
        Self {
            learning_rate,
            step: 0,
            pass: Pass::new(mlp),
            x: Vec::new(),
            y: Vec::new(),
            gradient: Vec::new(),
            moments: mlp.layers().iter().flat_map(|l| [zeros(l.weight.data().len()), zeros(l.bias.len())]).collect(),
        }
    }

    /// Takes one Adam step on the examples `batch`.
    pub(super) fn step(&mut self, mlp: &mut Mlp, data: &Labelled, batch: &[usize]) {
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

/// Adam (Kingma and Ba 2015) at one step, with its bias corrections folded into two factors.
#[derive(Clone, Copy)]
pub(super) struct Adam {
    rate: f32,
    root: f32,
}

impl Adam {
    /// Factors for step `step`, which starts at 1.
    pub(super) fn at(learning_rate: f64, step: i32) -> Self {
        let (c1, c2) = (1.0 - BETA1.powi(step), 1.0 - BETA2.powi(step));
        Self { rate: (learning_rate / c1) as f32, root: (1.0 / c2).sqrt() as f32 }
    }

    /// Updates moments and parameters in one pass over memory.
    pub(super) fn update(self, parameters: &mut [f32], gradient: &[f32], (first, second): &mut (Vec<f32>, Vec<f32>)) {
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
    use crate::Matrix;
    use stats::rng::{stream, unit};

    /// Points in a square, labelled by the sign of x0 x1, which no linear classifier can learn.
    fn quadrants(n: usize, seed: u64) -> Labelled {
        let mut rng = stream(seed, "quadrants");
        let v: Vec<f32> = (0..n * 3).map(|_| (2.0 * unit(&mut rng) - 1.0) as f32).collect();
        let y = (0..n).map(|i| usize::from(v[3 * i] * v[3 * i + 1] > 0.0)).collect();
        Labelled::new(Matrix::from_vec(n, 3, v).unwrap(), y, 2).unwrap()
    }

    fn recipe(hidden: &[usize], learning_rate: f64) -> Recipe {
        Recipe { hidden: hidden.to_vec(), learning_rate, batch: 64 }
    }

    fn run(hidden: &[usize], learning_rate: f64, most: usize) -> Option<Trained> {
        let purpose = Purpose::new(3, "quadrant", "mlp");
        let (data, validation) = (quadrants(2_000, 1), quadrants(500, 2));
        train(&data, &validation, &recipe(hidden, learning_rate), most, &purpose, &mut || Ok(())).unwrap()
    }

    #[test]
    fn a_hidden_layer_learns_what_a_linear_one_cannot() {
        let best = |t: &Trained| *t.run.correct.iter().max().unwrap() as f64 / 500.0;
        let (deep, linear) = (run(&[64], 1e-2, 2_000).unwrap(), run(&[], 1e-2, 2_000).unwrap());
        assert!(best(&deep) > 0.95, "{:?}", deep.run);
        assert!(best(&linear) < 0.65, "{:?}", linear.run);
        assert_eq!(run(&[64], 1e-2, 2_000).unwrap(), deep);
    }

    /// Training ends exactly 500 steps after the last increase in accuracy; a cap reached during an increase is reported.
    #[test]
    fn training_stops_early_without_improvement() {
        let whole = run(&[16], 1e-2, MOST_STEPS).unwrap().run;
        let best = *whole.correct.iter().max().unwrap();
        let last_rise = EPOCH * (1 + whole.correct.iter().position(|c| *c == best).unwrap());
        assert_eq!(whole.steps(), last_rise + PATIENCE);
        assert!(!whole.rising && whole.steps() > PATIENCE);
        let cut = run(&[16], 1e-2, last_rise).unwrap().run;
        assert!(cut.rising && cut.correct == whole.correct[..cut.correct.len()]);
    }

    /// Training ends at a perfect score; `rising` is then the same as after 500 more steps.
    #[test]
    fn training_stops_at_perfect_accuracy() {
        let parts = |n, seed| {
            let x = quadrants(n, seed).x().clone();
            let y = x.iter_rows().map(|r| usize::from(r[0] > 0.0)).collect();
            let apart = |i: usize, j: usize| x.row(i)[j] + if j == 0 { x.row(i)[0].signum() } else { 0.0 };
            Labelled::new(Matrix::from_fn(n, 3, apart), y, 2).unwrap()
        };
        let (data, validation) = (parts(600, 1), parts(200, 2));
        let trained = |most| {
            let purpose = Purpose::new(3, "side", "mlp");
            train(&data, &validation, &recipe(&[8], 1e-2), most, &purpose, &mut || Ok(())).unwrap().unwrap().run
        };
        let run = trained(SEARCH_STEPS);
        let first = run.correct.iter().position(|c| *c == 200).unwrap();
        assert_eq!((run.correct.len(), run.rising), (first + 1, false));
        assert!(trained(run.steps() + PATIENCE - 1).rising && !trained(run.steps() + PATIENCE).rising);
    }

    /// Weights are kept for exactly the validations that the rule can choose.
    #[test]
    fn earliest_of_tied_epochs_is_kept() {
        let data = quadrants(500, 2);
        let trained = run(&[16], 3e-3, 2_000).unwrap();
        let (run, n) = (&trained.run, 500);
        let best = *run.correct.iter().max().unwrap();
        let earliest = run.correct.iter().position(|c| within_one_standard_error(*c, best, n)).unwrap();
        assert_eq!(trained.kept.first().map(|k| k.0), Some(earliest));
        for (epoch, mlp) in &trained.kept {
            assert!(within_one_standard_error(run.correct[*epoch], best, n));
            assert_eq!(Score::of(mlp, &data), run.score(*epoch).unwrap());
        }
    }

    #[test]
    fn divergence_gives_no_result() {
        assert!(run(&[64, 64], 1e30, 2_000).is_none());
    }

    #[test]
    fn it_can_be_stopped() {
        let mut left = 5;
        let mut beat = || {
            left -= 1;
            if left == 0 { Err(Cancelled) } else { Ok(()) }
        };
        let data = quadrants(1_000, 1);
        let stopped = train(&data, &data, &recipe(&[8], 1e-3), 100, &Purpose::new(3, "quadrant", "mlp"), &mut beat);
        assert_eq!(stopped, Err(Cancelled));
    }

    /// Adam's first step moves every weight by the learning rate against the gradient's sign, regardless of the gradient's size.
    #[test]
    fn first_step_of_adam() {
        let mut p = [1.0f32, 1.0];
        Adam::at(0.01, 1).update(&mut p, &[5.0, -0.001], &mut (vec![0.0; 2], vec![0.0; 2]));
        assert!((p[0] - 0.99).abs() < 1e-6 && (p[1] - 1.01).abs() < 1e-6, "{p:?}");
    }

    /// Weight gradients, taken from Adam's second moment after one step, match finite differences.
    #[test]
    fn weight_gradient_matches_finite_differences() {
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
