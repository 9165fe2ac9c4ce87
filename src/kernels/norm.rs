//! Layer and RMS normalisation of rows, forward and backward.
#![allow(unsafe_code)]

use super::simd::{LANE, Pass, Simd, dispatch};
use super::team::{Shared, Team};
use crate::kind::NormKind;

/// Parameters of a normalisation over rows of length `weight.len()`.
#[derive(Clone, Copy)]
pub struct Norm<'a> {
    pub kind: NormKind,
    /// Constant added to the second moment.
    pub eps: f32,
    /// Factor applied after normalisation.
    pub weight: &'a [f32],
    /// Bias added at the end.
    pub bias: Option<&'a [f32]>,
}

/// Values kept for the backward pass: normalised rows before weight and bias, and each row's factor.
pub struct Kept<'a> {
    /// `[rows, width]`
    pub normed: &'a mut [f32],
    /// `[rows]`
    pub factor: &'a mut [f32],
}

/// Minimum number of rows per thread.
const LEAST: usize = 16;

/// Normalises the rows of `from` into `to`, or `to` in place if `from` is `None`.
pub fn norm(team: Team, n: &Norm<'_>, from: Option<&[f32]>, to: &mut [f32], keep: Option<Kept<'_>>) {
    let width = n.weight.len();
    let rows = to.len() / width;
    assert!(to.len() == rows * width && from.is_none_or(|f| f.len() == to.len()), "rows differ in width");
    let keep = keep.map(|k| (Shared::new(k.normed), Shared::new(k.factor)));
    let to = Shared::new(to);
    team.ranges(rows, LEAST, |r| {
        let at = r.start * width..r.end * width;
        // SAFETY: ranges of rows are disjoint.
        let (to, keep) =
            unsafe { (to.part(at.clone()), keep.as_ref().map(|(x, f)| (x.part(at.clone()), f.part(r.clone())))) };
        dispatch(Forward { n, from: from.map(|f| &f[at]), to, keep });
    });
}

struct Forward<'a> {
    n: &'a Norm<'a>,
    from: Option<&'a [f32]>,
    to: &'a mut [f32],
    keep: Option<(&'a mut [f32], &'a mut [f32])>,
}

/// The first `count` lanes of a vector; the others are zero.
#[inline(always)]
fn first<S: Simd>(s: S, v: S::V, count: usize) -> S::V {
    if count >= LANE {
        return v;
    }
    let mut x = [0.0; LANE];
    s.store(v, &mut x);
    x[count..].fill(0.0);
    s.load(&x)
}

impl Pass for Forward<'_> {
    type Out = ();
    #[inline(always)]
    fn run<S: Simd>(mut self, s: S) {
        let width = self.n.weight.len();
        let share = 1.0 / width as f32;
        for (r, to) in self.to.chunks_exact_mut(width).enumerate() {
            if let Some(from) = self.from {
                to.copy_from_slice(&from[r * width..(r + 1) * width]);
            }
            let mut mean = s.splat(0.0);
            if self.n.kind == NormKind::Layer {
                let mut sum = s.splat(0.0);
                for i in (0..width).step_by(LANE) {
                    sum = s.add(sum, s.get(to, i));
                }
                mean = s.splat(s.sum(sum) * share);
            }
            let mut square = s.splat(0.0);
            for i in (0..width).step_by(LANE) {
                let x = first(s, s.sub(s.get(to, i), mean), width - i);
                square = s.fma(x, x, square);
            }
            let factor = 1.0 / (s.sum(square) * share + self.n.eps).sqrt();
            if let Some((_, factors)) = &mut self.keep {
                factors[r] = factor;
            }
            let factor = s.splat(factor);
            for i in (0..width).step_by(LANE) {
                let x = s.mul(s.sub(s.get(to, i), mean), factor);
                if let Some((normed, _)) = &mut self.keep {
                    s.put(x, &mut normed[r * width..(r + 1) * width], i);
                }
                let y = match self.n.bias {
                    Some(b) => s.fma(x, s.get(self.n.weight, i), s.get(b, i)),
                    None => s.mul(x, s.get(self.n.weight, i)),
                };
                s.put(y, to, i);
            }
        }
    }
}

/// Backpropagates through a normalisation; `d` is the gradient of its result. The gradient of the input replaces `d`, or is added to `into`
/// if given (`d` is then scratch memory).
pub fn norm_back(
    team: Team,
    n: &Norm<'_>,
    (normed, factor): (&[f32], &[f32]),
    d: &mut [f32],
    into: Option<&mut [f32]>,
) {
    let width = n.weight.len();
    let rows = d.len() / width;
    assert!(normed.len() == d.len() && factor.len() == rows && d.len() == rows * width, "rows differ in width");
    assert!(into.as_ref().is_none_or(|i| i.len() == d.len()), "sums differ in length");
    let (d, into) = (Shared::new(d), into.map(Shared::new));
    team.ranges(rows, LEAST, |r| {
        let at = r.start * width..r.end * width;
        // SAFETY: ranges of rows are disjoint.
        let (d, into) = unsafe { (d.part(at.clone()), into.as_ref().map(|i| i.part(at.clone()))) };
        dispatch(Back { n, normed: &normed[at], factor: &factor[r], d, into });
    });
}

struct Back<'a> {
    n: &'a Norm<'a>,
    normed: &'a [f32],
    factor: &'a [f32],
    d: &'a mut [f32],
    into: Option<&'a mut [f32]>,
}

impl Pass for Back<'_> {
    type Out = ();
    /// Result with normalised row x, g = weight * d and row factor f: f (g - mean(g) - x mean(g x)). RMS norms omit mean(g).
    #[inline(always)]
    fn run<S: Simd>(mut self, s: S) {
        let width = self.n.weight.len();
        let share = 1.0 / width as f32;
        for (r, d) in self.d.chunks_exact_mut(width).enumerate() {
            let x = &self.normed[r * width..(r + 1) * width];
            let (mut sum, mut along) = (s.splat(0.0), s.splat(0.0));
            for i in (0..width).step_by(LANE) {
                let g = s.mul(s.get(d, i), s.get(self.n.weight, i));
                sum = s.add(sum, g);
                along = s.fma(g, s.get(x, i), along);
            }
            let mean = if self.n.kind == NormKind::Layer { s.sum(sum) * share } else { 0.0 };
            let (mean, along) = (s.splat(mean), s.splat(-s.sum(along) * share));
            let factor = s.splat(self.factor[r]);
            for i in (0..width).step_by(LANE) {
                let g = s.mul(s.get(d, i), s.get(self.n.weight, i));
                let v = s.mul(factor, s.fma(s.get(x, i), along, s.sub(g, mean)));
                match &mut self.into {
                    Some(into) => {
                        let into = &mut into[r * width..(r + 1) * width];
                        s.put(s.add(s.get(into, i), v), into, i);
                    }
                    None => s.put(v, d, i),
                }
            }
        }
    }
}

/// Number of columns per thread.
const STRIPE: usize = 4 * LANE;

/// Adds the column sums of `rows` rows of `x` (or of `x * y`) to `to`; rows are `ld` floats apart.
pub fn add_column_sums(team: Team, x: &[f32], y: Option<&[f32]>, (rows, ld): (usize, usize), to: &mut [f32]) {
    let width = to.len();
    assert!(ld >= width && y.is_none_or(|y| y.len() == x.len()), "columns do not fit");
    let to = Shared::new(to);
    team.each(width.div_ceil(STRIPE), |i| {
        let at = i * STRIPE..width.min((i + 1) * STRIPE);
        // SAFETY: stripes are disjoint.
        let to = unsafe { to.part(at.clone()) };
        dispatch(Sums { x, y, ld, rows, from: at.start, to });
    });
}

struct Sums<'a> {
    x: &'a [f32],
    y: Option<&'a [f32]>,
    ld: usize,
    rows: usize,
    from: usize,
    to: &'a mut [f32],
}

impl Pass for Sums<'_> {
    type Out = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let width = self.to.len();
        let mut sums = [s.splat(0.0); STRIPE / LANE];
        for r in 0..self.rows {
            let at = r * self.ld + self.from;
            let x = &self.x[at..at + width];
            for (i, sum) in (0..width).step_by(LANE).zip(&mut sums) {
                *sum = match self.y {
                    Some(y) => s.fma(s.get(x, i), s.get(&y[at..at + width], i), *sum),
                    None => s.add(*sum, s.get(x, i)),
                };
            }
        }
        for (i, sum) in (0..width).step_by(LANE).zip(sums) {
            s.put(s.add(s.get(self.to, i), sum), self.to, i);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn numbers(n: usize, seed: u32) -> Vec<f32> {
        let mix = |i: usize| (i as u32 + 7).wrapping_mul(2_654_435_761).wrapping_mul(2 * seed + 1) >> 16;
        (0..n).map(|i| (mix(i) % 2000) as f32 / 500.0 - 1.5).collect()
    }

    fn exact(kind: NormKind, eps: f64, x: &[f64], w: &[f32], b: Option<&[f32]>) -> Vec<f64> {
        let n = x.len() as f64;
        let mean = if kind == NormKind::Layer { x.iter().sum::<f64>() / n } else { 0.0 };
        let var = x.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n;
        let y = |i: usize| (x[i] - mean) / (var + eps).sqrt() * f64::from(w[i]) + f64::from(b.map_or(0.0, |b| b[i]));
        (0..x.len()).map(y).collect()
    }

    proptest! {
        #[test]
        fn forward_and_backward_match_the_definition(width in 2usize..70, rows in 1usize..40, seed in 0u32..99, rms: bool) {
            let kind = if rms { NormKind::Rms } else { NormKind::Layer };
            let (x, w, b) = (numbers(rows * width, seed), numbers(width, seed + 1), numbers(width, seed + 2));
            let bias = (!rms).then_some(&b[..]);
            let n = Norm { kind, eps: 0.01, weight: &w, bias };
            let (mut y, mut inplace) = (vec![0.0; x.len()], x.clone());
            let (mut normed, mut factor) = (vec![0.0; x.len()], vec![0.0; rows]);
            norm(Team::Pool, &n, Some(&x), &mut y, Some(Kept { normed: &mut normed, factor: &mut factor }));
            norm(Team::Solo, &n, None, &mut inplace, None);
            prop_assert_eq!(&y, &inplace);
            let weights = numbers(x.len(), seed + 3);
            let mut d = weights.clone();
            let mut into = numbers(x.len(), seed + 4);
            let old = into.clone();
            norm_back(Team::Pool, &n, (&normed, &factor), &mut weights.clone(), Some(&mut into));
            norm_back(Team::Solo, &n, (&normed, &factor), &mut d, None);
            for r in 0..rows {
                let at = r * width..(r + 1) * width;
                let row: Vec<f64> = x[at.clone()].iter().map(|v| f64::from(*v)).collect();
                let want = exact(kind, 0.01, &row, &w, bias);
                for (g, w) in y[at.clone()].iter().zip(&want) {
                    prop_assert!((f64::from(*g) - w).abs() < 1e-5);
                }
                for i in 0..width {
                    let moved = |h: f64| {
                        let mut m = row.clone();
                        m[i] += h;
                        let y = exact(kind, 0.01, &m, &w, bias);
                        y.iter().zip(&weights[at.clone()]).map(|(y, c)| y * f64::from(*c)).sum::<f64>()
                    };
                    let slope = (moved(1e-6) - moved(-1e-6)) / 2e-6;
                    let j = at.start + i;
                    prop_assert!((f64::from(d[j]) - slope).abs() < 1e-4 * (1.0 + slope.abs()), "{} {}", d[j], slope);
                    prop_assert!((into[j] - old[j] - d[j]).abs() < 1e-5 * (1.0 + d[j].abs()));
                }
            }
        }

        #[test]
        fn column_sums(width in 1usize..150, rows in 0usize..20, gap in 0usize..3, seed in 0u32..99) {
            let ld = width + gap;
            let (x, y) = (numbers(rows * ld, seed), numbers(rows * ld, seed + 1));
            for (other, team) in [(None, Team::Solo), (Some(&y[..]), Team::Pool)] {
                let mut to = vec![1.0; width];
                add_column_sums(team, &x, other, (rows, ld), &mut to);
                for (j, t) in to.iter().enumerate() {
                    let want: f32 = (0..rows).map(|r| x[r * ld + j] * other.map_or(1.0, |y| y[r * ld + j])).sum();
                    prop_assert!((t - 1.0 - want).abs() < 1e-4);
                }
            }
        }
    }
}
