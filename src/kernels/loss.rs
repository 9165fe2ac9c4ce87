//! Cross entropy over a vocabulary and its gradient.
#![allow(unsafe_code)]

use super::math::exp;
use super::simd::{LANE, Pass, Simd, dispatch};
use super::team::{Shared, Team};

/// Factor on the gradient of a row's log-probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Weight {
    /// The same factor for every row.
    Constant(f32),
    /// The target's probability, which gives the gradient of the probability itself.
    Probability,
}

/// Writes the log-probability of each row's target, and replaces the row's `vocab` logits with the weighted gradient of that
/// log-probability.
pub fn log_probabilities(
    team: Team,
    logits: &mut [f32],
    vocab: usize,
    targets: &[u32],
    weight: Weight,
    out: &mut [f32],
) {
    assert!(logits.len() == targets.len() * vocab && out.len() == targets.len(), "one target per row");
    let (logits, out) = (Shared::new(logits), Shared::new(out));
    team.ranges(targets.len(), 1, |r| {
        // SAFETY: ranges of rows are disjoint.
        let (x, out) = unsafe { (logits.part(r.start * vocab..r.end * vocab), out.part(r.clone())) };
        dispatch(Rows { x, vocab, targets: &targets[r], weight, out });
    });
}

struct Rows<'a> {
    x: &'a mut [f32],
    vocab: usize,
    targets: &'a [u32],
    weight: Weight,
    out: &'a mut [f32],
}

/// Number of floats summed in single precision before their sum is added to a double-precision total.
const RUN: usize = 64 * LANE;

impl Pass for Rows<'_> {
    type Out = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        for ((x, target), out) in self.x.chunks_exact_mut(self.vocab).zip(self.targets).zip(self.out) {
            let mut top = s.splat(f32::NEG_INFINITY);
            let whole = x.len() / LANE * LANE;
            for i in (0..whole).step_by(LANE) {
                top = s.max(s.get(x, i), top);
            }
            let peak = x[whole..].iter().fold(s.peak(top), |m, v| m.max(*v));
            let own = x[*target as usize];
            let shift = s.splat(peak);
            let mut sum = 0f64;
            for from in (0..x.len()).step_by(RUN) {
                let run = &mut x[from..];
                let end = run.len().min(RUN);
                let run = &mut run[..end];
                let mut part = s.splat(0.0);
                for i in (0..end).step_by(LANE) {
                    s.put(exp(s, s.sub(s.get(run, i), shift)), run, i);
                    part = s.add(part, s.get(run, i));
                }
                sum += f64::from(s.sum(part));
            }
            let log = (f64::from(own - peak) - sum.ln()) as f32;
            *out = log;
            let weight = match self.weight {
                Weight::Constant(w) => w,
                Weight::Probability => log.exp(),
            };
            let share = s.splat((-f64::from(weight) / sum) as f32);
            for i in (0..x.len()).step_by(LANE) {
                s.put(s.mul(s.get(x, i), share), x, i);
            }
            x[*target as usize] += weight;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_the_definition() {
        for vocab in [1, 5, 16, 33, 3000] {
            let x: Vec<f32> = (0..3 * vocab).map(|i| ((i * 7919) % 1013) as f32 / 100.0 - 6.0).collect();
            let targets = [0u32, vocab as u32 / 2, vocab as u32 - 1];
            for weight in [Weight::Constant(-0.25), Weight::Probability] {
                let (mut d, mut out) = (x.clone(), [0.0; 3]);
                log_probabilities(Team::Pool, &mut d, vocab, &targets, weight, &mut out);
                for r in 0..3 {
                    let row: Vec<f64> = x[r * vocab..(r + 1) * vocab].iter().map(|v| f64::from(*v)).collect();
                    let sum: f64 = row.iter().map(|v| v.exp()).sum();
                    let log = row[targets[r] as usize] - sum.ln();
                    assert!((f64::from(out[r]) - log).abs() < 1e-5, "{} {log}", out[r]);
                    let w = if weight == Weight::Probability { log.exp() } else { -0.25 };
                    for j in 0..vocab {
                        let hot = f64::from(u8::from(j == targets[r] as usize));
                        let want = w * (hot - row[j].exp() / sum);
                        assert!((f64::from(d[r * vocab + j]) - want).abs() < 1e-6);
                    }
                }
            }
        }
    }
}
