//! Preconditioned L-BFGS for smooth, strictly convex objectives.

use base::Cancelled;
use std::collections::VecDeque;

pub(crate) trait Objective {
    /// Returns the value at `point` and writes the gradient to `gradient`.
    fn value(&self, point: &[f64], gradient: &mut [f64]) -> f64;
    /// Multiplies `v` by an approximation of the inverse Hessian, positive definite and the same at every call.
    fn precondition(&self, v: &mut [f64]);
}

#[derive(Debug)]
pub(crate) struct End {
    pub(crate) point: Vec<f64>,
    pub(crate) value: f64,
    pub(crate) iterations: usize,
    /// True if the tolerance was reached, or rounding hid further descent.
    pub(crate) converged: bool,
}

/// Number of stored pairs.
const MEMORY: usize = 12;
/// Size of a gradient (in the preconditioner's metric, relative to the root of the value) below which it is rounding error.
const NOISE: f64 = 1e-13;
/// Rounding error of the value, which the line search must not mistake for an increase.
const ROUNDING: f64 = 1e-14;

fn inner(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// A step, the change of gradient over it, and the inverse of their product.
struct Pair {
    s: Vec<f64>,
    y: Vec<f64>,
    rho: f64,
}

/// Minimises from `point` until the gradient's length in the preconditioner's metric is `tolerance` times its initial value. The line
/// search only halves the step: for a strictly convex objective every descending step gives a usable pair. `beat` is called before every
/// iteration.
pub(crate) fn minimise(
    objective: &impl Objective,
    mut point: Vec<f64>,
    tolerance: f64,
    max_iterations: usize,
    beat: &mut dyn FnMut() -> Result<(), Cancelled>,
) -> Result<End, Cancelled> {
    let mut gradient = vec![0.0; point.len()];
    let mut value = objective.value(&point, &mut gradient);
    let mut memory: VecDeque<Pair> = VecDeque::with_capacity(MEMORY);
    let (mut next, mut next_gradient) = (point.clone(), gradient.clone());
    let mut goal = None;
    for iterations in 0..max_iterations {
        beat()?;
        let mut steepest = gradient.clone();
        objective.precondition(&mut steepest);
        let length = inner(&gradient, &steepest).max(0.0).sqrt();
        let goal = *goal.get_or_insert((tolerance * length).max(NOISE * value.abs().sqrt()));
        if length <= goal {
            return Ok(End { point, value, iterations, converged: true });
        }
        let direction = direction(objective, &gradient, &memory);
        let slope = inner(&gradient, &direction);
        let mut step = 1.0;
        let reached = loop {
            next.iter_mut().zip(&point).zip(&direction).for_each(|((n, p), d)| *n = p - step * d);
            let reached = objective.value(&next, &mut next_gradient);
            if reached <= value - 1e-4 * step * slope + ROUNDING * value.abs() {
                break reached;
            }
            step *= 0.5;
            if step < 1e-12 {
                // No step descends in double precision, so this is the optimum up to rounding.
                return Ok(End { point, value, iterations, converged: true });
            }
        };
        let s: Vec<f64> = next.iter().zip(&point).map(|(a, b)| a - b).collect();
        let y: Vec<f64> = next_gradient.iter().zip(&gradient).map(|(a, b)| a - b).collect();
        let curvature = inner(&s, &y);
        if curvature > 0.0 {
            if memory.len() == MEMORY {
                memory.pop_front();
            }
            memory.push_back(Pair { s, y, rho: 1.0 / curvature });
        }
        std::mem::swap(&mut point, &mut next);
        std::mem::swap(&mut gradient, &mut next_gradient);
        value = reached;
    }
    Ok(End { point, value, iterations: max_iterations, converged: false })
}

/// The two-loop recursion (Nocedal 1980): an approximation of the inverse Hessian times the gradient.
fn direction(objective: &impl Objective, gradient: &[f64], memory: &VecDeque<Pair>) -> Vec<f64> {
    let mut q = gradient.to_vec();
    let mut weights = Vec::with_capacity(memory.len());
    for pair in memory.iter().rev() {
        let weight = pair.rho * inner(&pair.s, &q);
        q.iter_mut().zip(&pair.y).for_each(|(q, y)| *q -= weight * y);
        weights.push(weight);
    }
    objective.precondition(&mut q);
    if let Some(last) = memory.back() {
        // The last pair estimates the factor by which the preconditioner is off.
        let mut scaled = last.y.clone();
        objective.precondition(&mut scaled);
        let scale = 1.0 / (last.rho * inner(&last.y, &scaled));
        q.iter_mut().for_each(|q| *q *= scale);
    }
    for (pair, weight) in memory.iter().zip(weights.iter().rev()) {
        let correction = weight - pair.rho * inner(&pair.y, &q);
        q.iter_mut().zip(&pair.s).for_each(|(q, s)| *q += correction * s);
    }
    q
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `sum of k_i (cosh(x_i - i) - 1)`: strictly convex, with its minimum 0 at x_i = i and curvatures from 1 to 10,000.
    struct Valley;

    impl Objective for Valley {
        fn value(&self, point: &[f64], gradient: &mut [f64]) -> f64 {
            let mut value = 0.0;
            for (i, (x, g)) in point.iter().zip(gradient).enumerate() {
                let (k, away) = (10f64.powi(i as i32), x - i as f64);
                value += k * (away.cosh() - 1.0);
                *g = k * away.sinh();
            }
            value
        }
        fn precondition(&self, _v: &mut [f64]) {}
    }

    #[test]
    fn minimum_is_found_without_a_preconditioner() {
        let end = minimise(&Valley, vec![0.0; 5], 1e-9, 500, &mut || Ok(())).unwrap();
        assert!(end.converged && end.value < 1e-9, "{end:?}");
        assert!(end.point.iter().enumerate().all(|(i, x)| (x - i as f64).abs() < 1e-4), "{end:?}");
    }

    #[test]
    fn iteration_limit_is_reported() {
        let end = minimise(&Valley, vec![0.0; 5], 1e-9, 2, &mut || Ok(())).unwrap();
        assert!(!end.converged && end.iterations == 2);
    }
}
