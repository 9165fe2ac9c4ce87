//! Gradient attacks on a perceptron within a maximum-norm ball.
//!
//! Embeddings are not images: they are clamped to the ball, not to a range of values. Only the signs of the gradient are used, and its size
//! is divided out before the backward pass, so that a probe that is certain of its answer can be attacked like any other.

use base::matrix::Real;
use base::{Cancelled, Pulse, SharedPulse};
use probe::mlp::{CHUNK, Pass};
use probe::{Dense, Mlp};
use rayon::prelude::*;

/// Direction of an attack. With two classes both directions are the same up to rounding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aim {
    /// Toward the given classes, by decreasing their cross entropy. The default.
    Towards,
    /// Away from the given classes, by increasing their cross entropy: the sign printed in Canby et al.
    AwayFrom,
}

/// The sign of a number; 0 for 0 and for NaN.
fn sign<T: Real>(x: T) -> T {
    if x > T::ZERO {
        T::ONE
    } else if x < T::ZERO {
        -T::ONE
    } else {
        T::ZERO
    }
}

/// The sign of each coordinate's step (n x D, each -1, 0 or 1) along `aim` from the rows of `h`.
///
/// # Panics
/// If the shapes do not fit or a class is out of range for the perceptron.
pub fn signs<T: Real>(mlp: &Mlp<T>, h: &Dense<T>, classes: &[usize], aim: Aim) -> Dense<T> {
    let (mut gradient, _) = mlp.input_direction(h, classes);
    let factor = if aim == Aim::Towards { -T::ONE } else { T::ONE };
    gradient.data_mut().iter_mut().for_each(|g| *g = factor * sign(*g));
    gradient
}

/// One step of size `epsilon` along given signs (Goodfellow et al. 2015): `h + epsilon * signs`.
///
/// # Panics
/// If the shapes differ.
pub fn fgsm<T: Real>(h: &Dense<T>, signs: &Dense<T>, epsilon: T) -> Dense<T> {
    let mut moved = h.clone();
    moved.add_scaled(epsilon, signs);
    moved
}

/// The schedule of projected gradient descent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Schedule<T> {
    pub epsilon: T,
    pub step: T,
    pub steps: usize,
}

/// Projected gradient descent (Madry et al. 2018) from h itself, without random start: `steps` times `x <- clip(x + step * sign, h ±
/// epsilon)`. `first` contains the signs at h, which all radii share. Rows are divided among threads in fixed groups. `pulse` counts steps
/// of groups; it ends below its total if groups finish early.
///
/// # Panics
/// If the shapes do not fit or a class is out of range for the perceptron.
pub fn pgd<T: Real>(
    mlp: &Mlp<T>,
    h: &Dense<T>,
    (classes, aim): (&[usize], Aim),
    first: &Dense<T>,
    schedule: Schedule<T>,
    pulse: &mut dyn Pulse,
) -> Result<Dense<T>, Cancelled> {
    assert_eq!((h.rows(), h.cols()), (first.rows(), first.cols()), "signs do not fit the embeddings");
    assert_eq!((h.rows(), h.cols()), (classes.len(), mlp.inputs()), "classes or probe do not fit the embeddings");
    let mut moved = h.clone();
    if schedule.steps == 0 {
        return Ok(moved);
    }
    let pulse = SharedPulse::new(pulse, h.rows().div_ceil(CHUNK) * schedule.steps);
    let width = CHUNK * h.cols();
    moved
        .data_mut()
        .par_chunks_mut(width)
        .zip(h.data().par_chunks(width).zip(first.data().par_chunks(width)))
        .zip(classes.par_chunks(CHUNK))
        .try_for_each_init(
            || Walkers::new(mlp),
            |walkers, ((out, (h, first)), classes)| walkers.run(mlp, out, h, (first, classes, aim), schedule, &pulse),
        )?;
    Ok(moved)
}

/// The rows of one group that still move, packed together; buffers are reused between groups.
///
/// The next point depends only on the current one, so a row that a step leaves in place has converged. In such rows every coordinate is at
/// the bound of the ball; at small radii this takes epsilon/step steps. They are removed, so that passes through the network cover only the
/// remaining rows.
struct Walkers<T> {
    pass: Pass<T>,
    /// Index of each row within the group.
    rows: Vec<usize>,
    classes: Vec<usize>,
    x: Vec<T>,
    before: Vec<T>,
    h: Vec<T>,
    gradient: Vec<T>,
}

impl<T: Real> Walkers<T> {
    fn new(mlp: &Mlp<T>) -> Self {
        let empty = Vec::new;
        Self {
            pass: Pass::new(mlp),
            rows: vec![],
            classes: vec![],
            x: empty(),
            before: empty(),
            h: empty(),
            gradient: empty(),
        }
    }

    /// Takes all steps of the group from `h` and writes the final points of its rows to `out`.
    fn run(
        &mut self,
        mlp: &Mlp<T>,
        out: &mut [T],
        h: &[T],
        (first, classes, aim): (&[T], &[usize], Aim),
        schedule: Schedule<T>,
        pulse: &SharedPulse<'_>,
    ) -> Result<(), Cancelled> {
        self.rows = (0..classes.len()).collect();
        self.classes = classes.to_vec();
        self.x = h.to_vec();
        self.before = vec![T::from_f64(f64::NAN); h.len()];
        self.h = h.to_vec();
        self.gradient = first.to_vec();
        // The first step uses the signs in `first`, which already follow the aim; later steps use gradients, which descent subtracts.
        let mut along = schedule.step;
        for step in 0..schedule.steps {
            pulse.beat()?;
            if step > 0 {
                self.pass.forward(mlp, &self.x);
                self.pass.attack_residuals(&self.classes, None);
                self.pass.back_to_input(mlp, &mut self.gradient);
                along = if aim == Aim::Towards { -schedule.step } else { schedule.step };
            }
            self.walk(out, mlp.inputs(), along, schedule.epsilon, schedule.steps - 1 - step);
            if self.rows.is_empty() {
                return Ok(());
            }
        }
        let d = mlp.inputs();
        for (row, x) in self.rows.iter().zip(self.x.chunks_exact(d)) {
            out[row * d..(row + 1) * d].copy_from_slice(x);
        }
        Ok(())
    }

    /// Takes one step of every row of `d` coordinates, with `left` steps remaining. Removes rows that have converged, or alternate between
    /// two points, and writes their final point to `out`.
    fn walk(&mut self, out: &mut [T], d: usize, along: T, epsilon: T, left: usize) {
        let mut kept = 0;
        for i in 0..self.rows.len() {
            let at = i * d..(i + 1) * d;
            let (x, before) = (&mut self.x[at.clone()], &mut self.before[at.clone()]);
            let returned = walk(x, before, &self.h[at.clone()], &self.gradient[at.clone()], (along, epsilon));
            if returned {
                let end = if left.is_multiple_of(2) { x } else { before };
                let row = self.rows[i];
                out[row * d..(row + 1) * d].copy_from_slice(end);
                continue;
            }
            if kept < i {
                for buffer in [&mut self.x, &mut self.before, &mut self.h] {
                    buffer.copy_within(at.clone(), kept * d);
                }
                self.rows[kept] = self.rows[i];
                self.classes[kept] = self.classes[i];
            }
            kept += 1;
        }
        self.rows.truncate(kept);
        self.classes.truncate(kept);
        for buffer in [&mut self.x, &mut self.before, &mut self.h, &mut self.gradient] {
            buffer.truncate(kept * d);
        }
    }
}

/// `x <- clip(x + step * sign(g), h ± epsilon)`; the old x is kept in `before`. Returns true if the new point equals the previous content
/// of `before`.
fn walk<T: Real>(x: &mut [T], before: &mut [T], h: &[T], g: &[T], (step, epsilon): (T, T)) -> bool {
    let mut away = false;
    for (((x, before), h), g) in x.iter_mut().zip(before).zip(h).zip(g) {
        let (lo, hi) = (*h - epsilon, *h + epsilon);
        let next = *x + step * sign(*g);
        let next = if next > lo { next } else { lo };
        let next = if next < hi { next } else { hi };
        away |= next != *before;
        *before = *x;
        *x = next;
    }
    !away
}

/// Cross entropies of classes at the rows of `h`, in nats.
///
/// # Panics
/// If the shapes do not fit or a class is out of range for the perceptron.
pub fn losses<T: Real>(mlp: &Mlp<T>, h: &Dense<T>, classes: &[usize]) -> Vec<T> {
    mlp.input_direction(h, classes).1
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::NoPulse;
    use probe::mlp::Layer;
    use stats::rng::{stream, unit};

    /// Reference implementation, which runs every step for every row.
    fn plain(mlp: &Mlp<f64>, h: &Dense<f64>, classes: &[usize], aim: Aim, s: Schedule<f64>) -> Dense<f64> {
        let mut x = h.clone();
        for _ in 0..s.steps {
            let step = signs(mlp, &x, classes, aim);
            for ((x, h), sign) in x.data_mut().iter_mut().zip(h.data()).zip(step.data()) {
                *x = (*x + s.step * sign).max(h - s.epsilon).min(h + s.epsilon);
            }
        }
        x
    }

    /// Removing rows early must not change any result, for an even or odd number of steps and any number of threads.
    #[test]
    fn removing_converged_rows_changes_nothing() {
        let (n, d) = (3 * CHUNK + 7, 5);
        let mut rng = stream(1, "attack");
        let mut values = |count: usize| -> Vec<f64> { (0..count).map(|_| 2.0 * unit(&mut rng) - 1.0).collect() };
        let layers = [(d, 9), (9, 3)]
            .map(|(i, o)| Layer { weight: Dense::from_vec(i, o, values(i * o)).unwrap(), bias: values(o) });
        let mlp = Mlp::from_layers(layers.to_vec()).unwrap();
        let h = Dense::from_vec(n, d, values(n * d)).unwrap();
        let classes: Vec<usize> = (0..n).map(|i| i % 3).collect();
        let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        for (aim, epsilon, share, steps) in [
            (Aim::Towards, 0.01, 0.1, 40),
            (Aim::Towards, 0.5, 0.1, 41),
            (Aim::AwayFrom, 0.5, 0.25, 17),
            (Aim::Towards, 3.0, 0.3, 16),
            (Aim::Towards, 0.0, 0.1, 5),
            (Aim::Towards, 0.5, 0.1, 0),
        ] {
            let first = signs(&mlp, &h, &classes, aim);
            let schedule = Schedule { epsilon, step: share * epsilon, steps };
            let (mut beats, total) = (0, n.div_ceil(CHUNK) * steps);
            let mut count = |_: usize, _: usize| {
                beats += 1;
                Ok(())
            };
            let got = pgd(&mlp, &h, (&classes, aim), &first, schedule, &mut count).unwrap();
            let want = plain(&mlp, &h, &classes, aim, schedule);
            let far = got.data().iter().zip(want.data()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(far < 1e-12, "epsilon {epsilon}, {steps} steps: {far}");
            // The smallest radius finishes well before its steps are used up.
            assert!(beats <= total && (epsilon != 0.01 || beats < total / 2), "{beats} of {total}");
            let again = alone.install(|| pgd(&mlp, &h, (&classes, aim), &first, schedule, &mut NoPulse).unwrap());
            assert_eq!(again, got);
        }
    }

    /// Regression: with margins of several hundred, softmax minus one is 0 in single precision, so rows stopped and counted as converged.
    /// They must move exactly as with margins near 1.
    #[test]
    fn confident_probe_can_be_attacked() {
        let (n, d) = (40, 6);
        let mut rng = stream(2, "saturated");
        let mut values =
            |count: usize| -> Vec<f32> { (0..count).map(|_| (2.0 * unit(&mut rng) - 1.0) as f32).collect() };
        let mut layers = [(d, 16), (16, 2)]
            .map(|(i, o)| Layer { weight: Dense::from_vec(i, o, values(i * o)).unwrap(), bias: values(o) });
        let h = Dense::from_vec(n, d, values(n * d)).unwrap();
        let classes: Vec<usize> = (0..n).map(|i| i % 2).collect();
        let mild = Mlp::from_layers(layers.to_vec()).unwrap();
        // Multiplication by a power of two is exact and changes only the size of the margins.
        layers[1].weight.data_mut().iter_mut().for_each(|w| *w *= 1024.0);
        layers[1].bias.iter_mut().for_each(|b| *b *= 1024.0);
        let sure = Mlp::from_layers(layers.to_vec()).unwrap();
        let margin = sure.logits(&h).iter_rows().map(|r| (r[0] - r[1]).abs()).fold(0.0, f32::max);
        assert!(margin > 300.0, "{margin}");
        for aim in [Aim::Towards, Aim::AwayFrom] {
            for epsilon in [0.05f32, 1.0, 3.5] {
                let walk = |mlp: &Mlp| {
                    let first = signs(mlp, &h, &classes, aim);
                    let schedule = Schedule { epsilon, step: epsilon / 10.0, steps: 40 };
                    pgd(mlp, &h, (&classes, aim), &first, schedule, &mut NoPulse).unwrap()
                };
                assert_eq!(signs(&sure, &h, &classes, aim), signs(&mild, &h, &classes, aim));
                assert_eq!(walk(&sure), walk(&mild), "epsilon {epsilon}, {aim:?}");
            }
        }
    }
}
