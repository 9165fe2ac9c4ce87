//! One fused step of AdamW.
#![allow(unsafe_code)]

use super::simd::{LANE, Pass, Simd, dispatch};
use super::team::{Shared, Team};

/// Coefficients of one step; see [`update`].
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Decay of the first moment.
    pub beta1: f32,
    /// Decay of the second moment.
    pub beta2: f32,
    /// Constant added to the root of the second moment.
    pub eps: f32,
    /// Factor on the gradient (clipping).
    pub shrink: f32,
    /// Factor on the parameter: 1 - learning rate * weight decay.
    pub keep: f32,
    pub rate: f32,
    /// 1 / (1 - beta1^step)
    pub correct1: f32,
    /// 1 / (1 - beta2^step)
    pub correct2: f32,
}

/// Updates m and v with the gradient g, then sets p = keep p - rate (m correct1) / (sqrt(v correct2) + eps) (Loshchilov and Hutter 2019,
/// algorithm 2).
pub fn update(team: Team, step: &Step, p: &mut [f32], g: &[f32], m: &mut [f32], v: &mut [f32]) {
    assert!(
        p.len() == g.len() && p.len() == m.len() && p.len() == v.len(),
        "parameters, gradients and moments differ in length"
    );
    let (p, m, v) = (Shared::new(p), Shared::new(m), Shared::new(v));
    team.ranges(g.len(), 1 << 14, |r| {
        // SAFETY: threads work on disjoint ranges.
        let (p, m, v) = unsafe { (p.part(r.clone()), m.part(r.clone()), v.part(r.clone())) };
        dispatch(Update { step, p, g: &g[r], m, v });
    });
}

struct Update<'a> {
    step: &'a Step,
    p: &'a mut [f32],
    g: &'a [f32],
    m: &'a mut [f32],
    v: &'a mut [f32],
}

impl Pass for Update<'_> {
    type Out = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let numbers = Numbers::of(s, self.step);
        for i in (0..self.g.len()).step_by(LANE) {
            let to = i..self.g.len().min(i + LANE);
            let (p, m, v) = (&mut self.p[to.clone()], &mut self.m[to.clone()], &mut self.v[to]);
            numbers.step(s, s.get(self.g, i), [p, m, v]);
        }
    }
}

/// A [`Step`] with each coefficient broadcast to all lanes.
pub(super) struct Numbers<S: Simd> {
    beta1: S::V,
    beta2: S::V,
    rest1: S::V,
    rest2: S::V,
    shrink: S::V,
    keep: S::V,
    rate: S::V,
    eps: S::V,
    correct2: S::V,
}

impl<S: Simd> Numbers<S> {
    #[inline(always)]
    pub(super) fn of(s: S, t: &Step) -> Self {
        Self {
            beta1: s.splat(t.beta1),
            beta2: s.splat(t.beta2),
            rest1: s.splat(1.0 - t.beta1),
            rest2: s.splat(1.0 - t.beta2),
            shrink: s.splat(t.shrink),
            keep: s.splat(t.keep),
            rate: s.splat(t.rate * t.correct1),
            eps: s.splat(t.eps),
            correct2: s.splat(t.correct2),
        }
    }

    /// Updates up to sixteen parameters with gradient `g`.
    #[inline(always)]
    pub(super) fn step(&self, s: S, g: S::V, [p, m, v]: [&mut [f32]; 3]) {
        let g = s.mul(g, self.shrink);
        let first = s.fma(s.get(m, 0), self.beta1, s.mul(g, self.rest1));
        let second = s.fma(s.get(v, 0), self.beta2, s.mul(s.mul(g, g), self.rest2));
        s.put(first, m, 0);
        s.put(second, v, 0);
        let direction = s.div(s.mul(first, self.rate), s.add(s.sqrt(s.mul(second, self.correct2)), self.eps));
        s.put(s.sub(s.mul(s.get(p, 0), self.keep), direction), p, 0);
    }
}

/// Sum of squares in double precision, identical for any number of threads.
pub fn square_sum(x: &[f32]) -> f64 {
    dispatch(Squares(x))
}

struct Squares<'a>(&'a [f32]);

impl Pass for Squares<'_> {
    type Out = f64;
    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> f64 {
        let mut total = 0f64;
        for run in self.0.chunks(64 * LANE) {
            let mut sum = s.splat(0.0);
            for i in (0..run.len()).step_by(LANE) {
                let x = s.get(run, i);
                sum = s.fma(x, x, sum);
            }
            total += f64::from(s.sum(sum));
        }
        total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_steps_by_hand() {
        let n = 37;
        let x = |i: usize, k: usize| ((i * k) % 19) as f32 / 19.0 - 0.4;
        let (mut p, mut m, mut v): (Vec<f32>, Vec<f32>, Vec<f32>) =
            ((0..n).map(|i| x(i, 7)).collect(), vec![0.0; n], vec![0.0; n]);
        let (b1, b2, eps, lr, wd, shrink) = (0.9f64, 0.98f64, 1e-8, 0.01, 0.1, 0.5);
        let mut want: Vec<[f64; 3]> = p.iter().map(|p| [f64::from(*p), 0.0, 0.0]).collect();
        for step in 1..=2 {
            let g: Vec<f32> = (0..n).map(|i| x(i, 3 + step as usize)).collect();
            let t = Step {
                beta1: b1 as f32,
                beta2: b2 as f32,
                eps: eps as f32,
                shrink: shrink as f32,
                keep: (1.0 - lr * wd) as f32,
                rate: lr as f32,
                correct1: (1.0 / (1.0 - b1.powi(step))) as f32,
                correct2: (1.0 / (1.0 - b2.powi(step))) as f32,
            };
            update(Team::Pool, &t, &mut p, &g, &mut m, &mut v);
            for ([p, m, v], g) in want.iter_mut().zip(&g) {
                let g = f64::from(*g) * shrink;
                *m = b1 * *m + (1.0 - b1) * g;
                *v = b2 * *v + (1.0 - b2) * g * g;
                let direction = *m / (1.0 - b1.powi(step)) / ((*v / (1.0 - b2.powi(step))).sqrt() + eps);
                *p = *p * (1.0 - lr * wd) - lr * direction;
            }
        }
        assert!(p.iter().zip(&want).all(|(p, w)| (f64::from(*p) - w[0]).abs() < 1e-6));
        let squares: f64 = p.iter().map(|p| f64::from(*p).powi(2)).sum();
        assert!((square_sum(&p) - squares).abs() < 1e-6);
    }
}
