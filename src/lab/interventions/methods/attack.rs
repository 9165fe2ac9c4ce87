//! Gradient attacks on a perceptron within a maximum-norm ball.
//!
//! Embeddings are not images: nothing is clamped to a range of values, only to the ball.

use crate::probe::matrix::Real;
use crate::probe::mlp::{CHUNK, Pass};
use crate::probe::{Dense, Mlp};
use crate::stats::{Cancelled, Pulse, SharedPulse};
use rayon::prelude::*;

/// Where an attack goes. For two classes the two are the same up to rounding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aim {
    /// Down the cross entropy of the given classes: towards them. The default throughout.
    Towards,
    /// Up the cross entropy of the given classes: away from them, the sign that Canby et al. print.
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

/// The step of each coordinate (n x D, each -1, 0 or 1) that goes along `aim` from the rows of `h`.
///
/// # Panics
/// If the shapes do not fit or a class is not the perceptron's.
#[must_use]
pub fn signs<T: Real>(mlp: &Mlp<T>, h: &Dense<T>, classes: &[usize], aim: Aim) -> Dense<T> {
    let (mut gradient, _) = mlp.input_gradient(h, classes);
    let factor = if aim == Aim::Towards { -T::ONE } else { T::ONE };
    gradient.data_mut().iter_mut().for_each(|g| *g = factor * sign(*g));
    gradient
}

/// One step of size `epsilon` along given signs (Goodfellow et al. 2015): `h + epsilon * signs`.
///
/// # Panics
/// If the shapes differ.
#[must_use]
pub fn fgsm<T: Real>(h: &Dense<T>, signs: &Dense<T>, epsilon: T) -> Dense<T> {
    let mut moved = h.clone();
    moved.add_scaled(epsilon, signs);
    moved
}

/// The schedule of projected gradient descent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Schedule<T> {
    /// Radius of the ball.
    pub epsilon: T,
    /// Size of a step.
    pub step: T,
    /// Number of steps.
    pub steps: usize,
}

/// Projected gradient descent (Madry et al. 2018) from h itself, without random start: `steps` times
/// `x <- clip(x + step * sign, h ± epsilon)`. `first` are the signs at h, which all radii share. Rows are shared out over
/// threads in fixed groups; `pulse` counts steps of groups.
///
/// # Errors
/// [`Cancelled`] if the pulse says so.
///
/// # Panics
/// If the shapes do not fit or a class is not the perceptron's.
pub fn pgd<T: Real>(
    mlp: &Mlp<T>,
    h: &Dense<T>,
    (classes, aim): (&[usize], Aim),
    first: &Dense<T>,
    schedule: Schedule<T>,
    pulse: &mut dyn Pulse,
) -> Result<Dense<T>, Cancelled> {
    assert_eq!((h.rows(), h.cols()), (first.rows(), first.cols()), "signs of other embeddings");
    assert_eq!((h.rows(), h.cols()), (classes.len(), mlp.inputs()), "classes or probe of other embeddings");
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
            || (Pass::new(mlp), Vec::new()),
            |(pass, gradient), ((x, (h, first)), classes)| {
                // Descent subtracts the gradient's sign; `first` holds steps, whose sign is already that of the aim.
                let along = if aim == Aim::Towards { -schedule.step } else { schedule.step };
                pulse.beat()?;
                walk(x, h, first, schedule.step, schedule.epsilon);
                gradient.resize(x.len(), T::ZERO);
                for _ in 1..schedule.steps {
                    pulse.beat()?;
                    pass.forward(mlp, x);
                    pass.cross_entropy(classes, None);
                    pass.to_input(mlp, gradient);
                    walk(x, h, gradient, along, schedule.epsilon);
                }
                Ok(())
            },
        )?;
    Ok(moved)
}

/// `x <- clip(x + step * sign(g), h ± epsilon)`.
fn walk<T: Real>(x: &mut [T], h: &[T], g: &[T], step: T, epsilon: T) {
    for ((x, h), g) in x.iter_mut().zip(h).zip(g) {
        let (lo, hi) = (*h - epsilon, *h + epsilon);
        let next = *x + step * sign(*g);
        let next = if next > lo { next } else { lo };
        *x = if next < hi { next } else { hi };
    }
}

/// Cross entropies of classes at the rows of `h`, in nats.
///
/// # Panics
/// If the shapes do not fit or a class is not the perceptron's.
#[must_use]
pub fn losses<T: Real>(mlp: &Mlp<T>, h: &Dense<T>, classes: &[usize]) -> Vec<T> {
    mlp.input_gradient(h, classes).1
}
