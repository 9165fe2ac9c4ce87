//! Small dense layers trained step by step: outputs for a few rows, and an Adam step computed directly from the output gradients, without
//! storing the weight gradient.
//!
//! Input rows and weight rows have the same length, zero-padded to a multiple of [`LANE`]. A bias is a weight on a constant input of 1. A
//! zero input leaves its weight unchanged. Layers of several networks on the same rows are stacked as one. The order of summation of each
//! output and weight does not depend on the other layers.

use super::adamw::{Numbers, Step};
use super::simd::{LANE, Pass, Simd, dispatch};

/// Number of rows in a register tile of outputs.
const ROWS: usize = 4;
/// Number of outputs in a register tile.
const OUTS: usize = 4;
/// Number of vectors across a register tile of slopes, each for [`PAIR`] outputs.
const ACROSS: usize = 4;
/// Number of outputs whose slopes are summed at a time.
const PAIR: usize = 2;

/// Computes `z = x wᵀ`: `x` is rows × width, `w` outputs × width, `z` rows × outputs.
///
/// # Panics
/// If the shapes do not match or the width is not a multiple of [`LANE`].
pub fn outputs(x: &[f32], w: &[f32], width: usize, z: &mut [f32]) {
    check(width, &[x, w]);
    assert_eq!((x.len() / width) * (w.len() / width), z.len(), "`z` must have one element per row and output");
    dispatch(Outputs { x, w, width, z });
}

/// Takes an Adam step on `w`. Outputs form groups of `each` with one step size per group. The gradient is `deltaᵀ x`, where `delta` (rows ×
/// outputs) is the gradient of the outputs. `m` and `v` are the moments, in the shape of `w`.
///
/// # Panics
/// If the shapes do not match or the width is not a multiple of [`LANE`].
pub fn descend(x: &[f32], delta: &[f32], width: usize, (steps, each): (&[Step], usize), [w, m, v]: [&mut [f32]; 3]) {
    check(width, &[x, w]);
    let (rows, outs) = (x.len() / width, w.len() / width);
    assert_eq!(rows * outs, delta.len(), "`delta` must have one element per row and output");
    assert_eq!(steps.len() * each, outs, "`steps` must have one entry per group of outputs");
    assert!(m.len() == w.len() && v.len() == w.len(), "the moments must have the same shape as the weights");
    dispatch(Descend { x, delta, width, steps, each, w, m, v });
}

fn check(width: usize, all: &[&[f32]]) {
    assert!(width > 0 && width.is_multiple_of(LANE), "invalid width {width}");
    assert!(all.iter().all(|x| x.len().is_multiple_of(width)), "length is not a multiple of {width}");
}

struct Outputs<'a> {
    x: &'a [f32],
    w: &'a [f32],
    width: usize,
    z: &'a mut [f32],
}

impl Pass for Outputs<'_> {
    type Out = ();
    #[inline(always)]
    fn run<S: Simd>(mut self, s: S) {
        let (rows, outs) = (self.x.len() / self.width, self.w.len() / self.width);
        let mut r = 0;
        while r < rows {
            let tall = rows - r >= ROWS;
            let mut o = 0;
            while o < outs {
                let wide = match outs - o {
                    OUTS.. => OUTS,
                    2.. => 2,
                    _ => 1,
                };
                match (tall, wide) {
                    (true, OUTS) => self.tile::<S, ROWS, OUTS>(s, r, o),
                    (true, 2) => self.tile::<S, ROWS, 2>(s, r, o),
                    (true, _) => self.tile::<S, ROWS, 1>(s, r, o),
                    (false, OUTS) => self.tile::<S, 1, OUTS>(s, r, o),
                    (false, 2) => self.tile::<S, 1, 2>(s, r, o),
                    (false, _) => self.tile::<S, 1, 1>(s, r, o),
                }
                o += wide;
            }
            r += if tall { ROWS } else { 1 };
        }
    }
}

impl Outputs<'_> {
    /// Computes `R` rows by `O` outputs, starting at row `r` and output `o`.
    #[inline(always)]
    fn tile<S: Simd, const R: usize, const O: usize>(&mut self, s: S, r: usize, o: usize) {
        let width = self.width;
        let x: [&[f32]; R] = std::array::from_fn(|i| &self.x[(r + i) * width..][..width]);
        let w: [&[f32]; O] = std::array::from_fn(|j| &self.w[(o + j) * width..][..width]);
        let mut sums = [[s.splat(0.0); O]; R];
        for at in (0..width).step_by(LANE) {
            let w: [S::V; O] = std::array::from_fn(|j| lane(s, w[j], at));
            for i in 0..R {
                let x = lane(s, x[i], at);
                for j in 0..O {
                    sums[i][j] = s.fma(x, w[j], sums[i][j]);
                }
            }
        }
        let outs = self.w.len() / width;
        for (i, sums) in sums.into_iter().enumerate() {
            for (j, sum) in sums.into_iter().enumerate() {
                self.z[(r + i) * outs + o + j] = s.sum(sum);
            }
        }
    }
}

/// Loads sixteen floats of a row whose length is a multiple of sixteen.
#[inline(always)]
fn lane<S: Simd>(s: S, row: &[f32], at: usize) -> S::V {
    row[at..].first_chunk::<LANE>().map_or_else(|| s.splat(0.0), |x| s.load(x))
}

struct Descend<'a> {
    x: &'a [f32],
    delta: &'a [f32],
    width: usize,
    steps: &'a [Step],
    each: usize,
    w: &'a mut [f32],
    m: &'a mut [f32],
    v: &'a mut [f32],
}

impl Pass for Descend<'_> {
    type Out = ();
    #[inline(always)]
    fn run<S: Simd>(mut self, s: S) {
        let outs = self.w.len() / self.width;
        let across = ACROSS * LANE;
        // Processes rows column by column, so that this part of them stays in the cache for all outputs.
        let mut at = 0;
        while at < self.width {
            let whole = self.width - at >= across;
            let mut o = 0;
            while o < outs {
                let pair = outs - o >= PAIR;
                match (whole, pair) {
                    (true, true) => self.tile::<S, ACROSS, PAIR>(s, at, o),
                    (true, false) => self.tile::<S, ACROSS, 1>(s, at, o),
                    (false, true) => self.tile::<S, 1, PAIR>(s, at, o),
                    (false, false) => self.tile::<S, 1, 1>(s, at, o),
                }
                o += if pair { PAIR } else { 1 };
            }
            at += if whole { across } else { LANE };
        }
    }
}

impl Descend<'_> {
    /// Computes the gradient for `A` vectors of each of `O` outputs' weights, and takes the step.
    #[inline(always)]
    fn tile<S: Simd, const A: usize, const O: usize>(&mut self, s: S, at: usize, o: usize) {
        let (width, outs) = (self.width, self.w.len() / self.width);
        let mut sums = [[s.splat(0.0); A]; O];
        for (x, delta) in self.x.chunks_exact(width).zip(self.delta.chunks_exact(outs)) {
            let x: [S::V; A] = std::array::from_fn(|a| lane(s, x, at + a * LANE));
            for j in 0..O {
                let slope = s.splat(delta[o + j]);
                for a in 0..A {
                    sums[j][a] = s.fma(x[a], slope, sums[j][a]);
                }
            }
        }
        for (j, sums) in sums.into_iter().enumerate() {
            let numbers = Numbers::of(s, &self.steps[(o + j) / self.each]);
            for (a, g) in sums.into_iter().enumerate() {
                let from = (o + j) * width + at + a * LANE;
                let place = from..from + LANE;
                let (w, m, v) = (&mut self.w[place.clone()], &mut self.m[place.clone()], &mut self.v[place]);
                numbers.step(s, g, [w, m, v]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{Level, run_at};

    fn numbers(n: usize, seed: usize) -> Vec<f32> {
        (0..n).map(|i| ((i * 37 + seed * 101) % 89) as f32 / 89.0 - 0.5).collect()
    }

    fn step(rate: f32, rows: usize) -> Step {
        Step {
            beta1: 0.9,
            beta2: 0.999,
            eps: 1e-8,
            shrink: 1.0 / rows as f32,
            keep: 1.0,
            rate,
            correct1: 1.0 / (1.0 - 0.9),
            correct2: 1.0 / (1.0 - 0.999),
        }
    }

    const LEVELS: [Level; 3] = [Level::Portable, Level::Avx2, Level::Avx512];

    /// Covers every tile shape, including leftover rows and outputs, on every instruction set.
    #[test]
    fn outputs_are_products() {
        for (rows, outs, width) in [(1, 1, 16), (4, 4, 32), (9, 7, 80), (5, 10, 16), (8, 3, 144)] {
            let (x, w) = (numbers(rows * width, 1), numbers(outs * width, 2));
            for level in LEVELS {
                let mut z = vec![f32::NAN; rows * outs];
                run_at(level, Outputs { x: &x, w: &w, width, z: &mut z });
                for (at, z) in z.iter().enumerate() {
                    let (x, w) = (&x[at / outs * width..], &w[at % outs * width..]);
                    let want: f64 = (0..width).map(|i| f64::from(x[i]) * f64::from(w[i])).sum();
                    assert!((f64::from(*z) - want).abs() < 1e-5, "{level:?} {rows} {outs} {width}");
                }
            }
        }
    }

    /// Compares with two textbook Adam steps, with one rate per group of outputs; an input of 0 leaves its weights unchanged.
    #[test]
    fn steps_match_adam_on_the_gradient() {
        for (rows, groups, each, width) in [(1, 1, 1, 16), (8, 3, 2, 80), (6, 2, 3, 144), (3, 5, 1, 64)] {
            let outs = groups * each;
            let mut x = numbers(rows * width, 3);
            x.iter_mut().skip(5).step_by(width).for_each(|v| *v = 0.0);
            let steps: Vec<Step> = (0..groups).map(|g| step(0.01 * (g + 1) as f32, rows)).collect();
            for level in LEVELS {
                let mut w = numbers(outs * width, 4);
                let (mut m, mut v) = (vec![0.0; w.len()], vec![0.0; w.len()]);
                let mut want: Vec<[f64; 3]> = w.iter().map(|w| [f64::from(*w), 0.0, 0.0]).collect();
                for turn in 0..2 {
                    let delta = numbers(rows * outs, 5 + turn);
                    let (steps, w) = (&steps[..], &mut w[..]);
                    run_at(level, Descend { x: &x, delta: &delta, width, steps, each, w, m: &mut m, v: &mut v });
                    for (at, [w, m, v]) in want.iter_mut().enumerate() {
                        let (o, i) = (at / width, at % width);
                        let slope = (0..rows)
                            .map(|r| f64::from(delta[r * outs + o]) * f64::from(x[r * width + i]))
                            .sum::<f64>()
                            / rows as f64;
                        *m = 0.9 * *m + 0.1 * slope;
                        *v = 0.999 * *v + 0.001 * slope * slope;
                        // Both steps use the bias corrections of the first, as in the kernel.
                        *w -= f64::from(steps[o / each].rate) * (*m * 10.0) / ((*v * 1000.0).sqrt() + 1e-8);
                    }
                }
                for (at, (got, want)) in w.iter().zip(&want).enumerate() {
                    assert!((f64::from(*got) - want[0]).abs() < 2e-5, "{level:?} {at}: {got} {}", want[0]);
                }
                assert_eq!(w[5], numbers(6, 4)[5], "{level:?}");
            }
        }
    }
}
