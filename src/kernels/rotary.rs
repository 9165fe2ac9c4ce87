//! Rotary position embeddings: rotate the first part of each head by an angle proportional to the position (Su et al. 2021).
#![allow(unsafe_code)]

use super::simd::{LANE, Pass, Simd, dispatch};
use super::team::{Shared, Team};

/// Table of cosines and sines by position.
#[derive(Debug, Default)]
pub struct Angles {
    half: usize,
    /// For each position, `half` cosines followed by `half` sines.
    table: Vec<f32>,
}

impl Angles {
    /// Tabulates the first `positions` positions. `frequencies` are angles per position; cosines and sines are multiplied by `scale`.
    pub fn new(frequencies: &[f64], scale: f64, positions: usize) -> Angles {
        let half = frequencies.len();
        let mut table = Vec::with_capacity(positions * 2 * half);
        for p in 0..positions {
            table.extend(frequencies.iter().map(|f| (scale * (p as f64 * f).cos()) as f32));
            table.extend(frequencies.iter().map(|f| (scale * (p as f64 * f).sin()) as f32));
        }
        Angles { half, table }
    }

    pub fn positions(&self) -> usize {
        self.table.len() / (2 * self.half).max(1)
    }
}

/// Adjacent heads in each row.
#[derive(Clone, Copy, Debug)]
pub struct Heads {
    /// Column of the first head.
    pub from: usize,
    pub count: usize,
    pub dim: usize,
}

/// Rotates the heads of every row (of `ld` floats) by the angle of the row's position, forwards or backwards.
pub fn rotate(team: Team, x: &mut [f32], ld: usize, heads: Heads, angles: &Angles, positions: &[u32], back: bool) {
    assert!(
        heads.from + heads.count * heads.dim <= ld && x.len() == positions.len() * ld,
        "heads are wider than their rows"
    );
    assert!(2 * angles.half <= heads.dim, "more angles than dimensions");
    let x = Shared::new(x);
    team.ranges(positions.len(), 32, |r| {
        // SAFETY: ranges of rows are disjoint.
        let x = unsafe { x.part(r.start * ld..r.end * ld) };
        dispatch(Turn { x, ld, heads, angles, positions: &positions[r], back });
    });
}

struct Turn<'a> {
    x: &'a mut [f32],
    ld: usize,
    heads: Heads,
    angles: &'a Angles,
    positions: &'a [u32],
    back: bool,
}

impl Pass for Turn<'_> {
    type Out = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let half = self.angles.half;
        let sign = s.splat(if self.back { -1.0 } else { 1.0 });
        for (row, p) in self.x.chunks_exact_mut(self.ld).zip(self.positions) {
            let (cos, sin) = self.angles.table[*p as usize * 2 * half..][..2 * half].split_at(half);
            for h in 0..self.heads.count {
                let at = self.heads.from + h * self.heads.dim;
                let (a, b) = row[at..at + 2 * half].split_at_mut(half);
                for i in (0..half).step_by(LANE) {
                    let (c, n) = (s.get(cos, i), s.mul(s.get(sin, i), sign));
                    let (x, y) = (s.get(a, i), s.get(b, i));
                    s.put(s.sub(s.mul(x, c), s.mul(y, n)), a, i);
                    s.put(s.fma(y, c, s.mul(x, n)), b, i);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rotation_is_undone_by_its_inverse() {
        for (half, dim) in [(1, 2), (3, 8), (20, 40), (16, 32)] {
            let frequencies: Vec<f64> = (0..half).map(|i| 100f64.powf(-(i as f64) / half as f64)).collect();
            let angles = Angles::new(&frequencies, 1.0, 9);
            assert_eq!(angles.positions(), 9);
            let heads = Heads { from: 3, count: 2, dim };
            let ld = 3 + 2 * dim + 1;
            let before: Vec<f32> = (0..2 * ld).map(|i| (i * 29 % 31) as f32 / 31.0 - 0.4).collect();
            let mut x = before.clone();
            rotate(Team::Pool, &mut x, ld, heads, &angles, &[0, 7], false);
            assert_eq!(x[..ld], before[..ld], "position 0 is not rotated");
            for h in 0..2 {
                let at = ld + 3 + h * dim;
                for i in 0..half {
                    let angle = 7.0 * 100f64.powf(-(i as f64) / half as f64);
                    let (a, b) = (f64::from(before[at + i]), f64::from(before[at + half + i]));
                    assert!((f64::from(x[at + i]) - (a * angle.cos() - b * angle.sin())).abs() < 1e-6);
                    assert!((f64::from(x[at + half + i]) - (b * angle.cos() + a * angle.sin())).abs() < 1e-6);
                }
                assert_eq!(
                    x[at + 2 * half..at + dim],
                    before[at + 2 * half..at + dim],
                    "the rest of a head is unchanged"
                );
            }
            rotate(Team::Solo, &mut x, ld, heads, &angles, &[0, 7], true);
            assert!(x.iter().zip(&before).all(|(x, y)| (x - y).abs() < 1e-6));
        }
    }
}
