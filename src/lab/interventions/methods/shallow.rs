//! PGD on a perceptron with one hidden layer and two classes, by what changes from one step to the next.
//!
//! With two classes the residual is (-1, +1) whatever the logits are (see `attack`), so the direction of a row depends only on
//! which hidden units are on. And once a row has reached the sides of its ball, a step moves few of its coordinates and turns
//! few units. Measured on probes of the built-in models, a step beyond the tenth moves 20 to 75 of 160 coordinates and turns
//! 2 to 5 of 64 units, at every radius at which rows do not come to rest. So the units' sums follow the coordinates that moved
//! and the direction follows the units that turned, where two products over whole rows would do the same: a fifth of the work.
//! Sums are made anew from the row now and then, so that rounding does not pile up.

use super::attack::{Aim, Schedule};
use crate::base::matrix::Matrix;
use crate::base::{Cancelled, Pulse, SharedPulse};
use crate::model::exec::cpu::kernels::simd::{LANE, Pass, Simd, dispatch};
use crate::probe::Mlp;
use rayon::prelude::*;

/// Steps after which the sums are made anew.
const ANEW: usize = 16;

/// Rows that a thread walks between two looks at the pulse.
const GROUP: usize = 32;

/// The perceptron, laid out for walking: all rows padded with zeros to whole vectors.
#[derive(Debug, Clone)]
pub struct Shallow {
    inputs: usize,
    units: usize,
    /// Of each coordinate, its weights to the units (D x H, padded).
    outward: Vec<f32>,
    /// Biases of the units (padded: a unit that is not there stays at 0 and is off).
    bias: Vec<f32>,
    /// Of each unit, its weights from the coordinates (H x D, padded).
    inward: Vec<f32>,
    /// What the gradient of class 0's loss is on each unit while it is on (H).
    pull: Vec<f32>,
}

fn padded(n: usize) -> usize {
    n.next_multiple_of(LANE)
}

impl Shallow {
    /// The perceptron in this form, if it has one hidden layer and two classes.
    #[must_use]
    pub fn of(mlp: &Mlp) -> Option<Self> {
        let [first, last] = mlp.layers() else { return None };
        if last.weight.cols() != 2 {
            return None;
        }
        let (inputs, units) = (first.weight.rows(), first.weight.cols());
        let mut outward = vec![0.0; inputs * padded(units)];
        let mut inward = vec![0.0; units * padded(inputs)];
        for (i, row) in first.weight.iter_rows().enumerate() {
            outward[i * padded(units)..][..units].copy_from_slice(row);
            row.iter().enumerate().for_each(|(j, w)| inward[j * padded(inputs) + i] = *w);
        }
        let pull = last.weight.iter_rows().map(|w| w[1] - w[0]).collect();
        let mut bias = first.bias.clone();
        bias.resize(padded(units), 0.0);
        Some(Self { inputs, units, outward, bias, inward, pull })
    }

    /// What [`super::attack::pgd`] does, up to rounding: the rows of `h` (n x D) walk towards (or away from) `classes`. Rows
    /// are shared out over threads, and none depends on the others.
    ///
    /// # Errors
    /// [`Cancelled`] if the pulse says so.
    ///
    /// # Panics
    /// If the shapes do not fit or a class is neither 0 nor 1.
    pub fn pgd(
        &self,
        h: &Matrix,
        (classes, aim): (&[usize], Aim),
        schedule: Schedule<f32>,
        pulse: &mut dyn Pulse,
    ) -> Result<Matrix, Cancelled> {
        assert_eq!(
            (h.rows(), h.cols()),
            (classes.len(), self.inputs),
            "classes or probe of other embeddings"
        );
        assert!(classes.iter().all(|y| *y < 2), "a class that the probe does not have");
        let mut moved = h.clone();
        let pulse = SharedPulse::new(pulse, h.rows().div_ceil(GROUP));
        let width = GROUP * h.cols();
        let groups = moved.data_mut().par_chunks_mut(width).zip(classes.par_chunks(GROUP));
        groups.try_for_each_init(
            || Walker::new(self),
            |walker, (rows, classes)| {
                pulse.beat()?;
                dispatch(Group { net: self, walker, rows, classes, aim, schedule });
                Ok(())
            },
        )?;
        Ok(moved)
    }
}

/// Buffers of one thread, padded like the perceptron.
struct Walker {
    /// Where the row began, where it is, and where it was before the last step.
    h: Vec<f32>,
    x: Vec<f32>,
    before: Vec<f32>,
    /// How far the last step moved each coordinate.
    delta: Vec<f32>,
    /// Gradient of class 0's loss, but for its size.
    gradient: Vec<f32>,
    /// Sums of the units, and whether each was on (1 or 0) when the gradient was made.
    sums: Vec<f32>,
    on: Vec<f32>,
    /// Coordinates or units, and what each is multiplied by: the terms of a sum.
    list: Vec<(u32, f32)>,
    /// The same for coordinates that moved, at full length.
    moved: Vec<(u32, f32)>,
}

impl Walker {
    fn new(net: &Shallow) -> Self {
        let (d, m) = (padded(net.inputs), padded(net.units));
        let zeros = |n| vec![0.0; n];
        Self {
            h: zeros(d),
            x: zeros(d),
            before: zeros(d),
            delta: zeros(d),
            gradient: zeros(d),
            sums: zeros(m),
            on: zeros(m),
            list: Vec::with_capacity(d.max(m)),
            moved: vec![(0, 0.0); d],
        }
    }
}

/// A few rows to walk.
struct Group<'a> {
    net: &'a Shallow,
    walker: &'a mut Walker,
    rows: &'a mut [f32],
    classes: &'a [usize],
    aim: Aim,
    schedule: Schedule<f32>,
}

impl Pass for Group<'_> {
    type Out = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Group { net, walker, rows, classes, aim, schedule } = self;
        for (row, class) in rows.chunks_exact_mut(net.inputs).zip(classes) {
            // The gradient kept is that of class 0's loss; that of class 1 is its negative. Descent subtracts.
            let up = (*class == 1) == (aim == Aim::Towards);
            let step = if up { schedule.step } else { -schedule.step };
            walker.walk(s, net, row, step, schedule);
        }
    }
}

impl Walker {
    /// Walks one row, in place.
    #[inline(always)]
    fn walk<S: Simd>(&mut self, s: S, net: &Shallow, row: &mut [f32], step: f32, schedule: Schedule<f32>) {
        let d = net.inputs;
        self.h[..d].copy_from_slice(row);
        self.x[..d].copy_from_slice(row);
        self.before.fill(f32::INFINITY);
        for t in 0..schedule.steps {
            if t % ANEW == 0 {
                self.anew(s, net);
            } else {
                self.follow(s, net);
            }
            let (moved, returned) = self.step(s, step, schedule.epsilon);
            if !moved || returned {
                // At rest, or back where it was before the last step: all later steps are known.
                let left = schedule.steps - 1 - t;
                let end = if left.is_multiple_of(2) { &self.x } else { &self.before };
                row.copy_from_slice(&end[..d]);
                return;
            }
        }
        row.copy_from_slice(&self.x[..d]);
    }

    /// One step along the signs of the gradient: whether it moved the row at all, and whether the row is now where it was before
    /// the step before.
    #[inline(always)]
    fn step<S: Simd>(&mut self, s: S, step: f32, epsilon: f32) -> (bool, bool) {
        let (zero, along, radius) = (s.splat(0.0), s.splat(step), s.splat(epsilon));
        let (mut moved, mut away) = (zero, zero);
        for i in (0..self.x.len()).step_by(LANE) {
            let (x, h, g) = (s.get(&self.x, i), s.get(&self.h, i), s.get(&self.gradient, i));
            let minus = s.sub(zero, g);
            let stride = s.sub(s.where_positive(g, along), s.where_positive(minus, along));
            let next = s.max(s.add(x, stride), s.sub(h, radius));
            let next = s.min(next, s.add(h, radius));
            let delta = s.sub(next, x);
            let back = s.sub(next, s.get(&self.before, i));
            moved = s.max(s.max(delta, s.sub(zero, delta)), moved);
            away = s.max(s.max(back, s.sub(zero, back)), away);
            s.put(x, &mut self.before, i);
            s.put(next, &mut self.x, i);
            s.put(delta, &mut self.delta, i);
        }
        (s.peak(moved) > 0.0, s.peak(away) == 0.0)
    }

    /// Sums and gradient from the row itself.
    #[inline(always)]
    fn anew<S: Simd>(&mut self, s: S, net: &Shallow) {
        self.sums.copy_from_slice(&net.bias);
        self.list.clear();
        self.list.extend((0..).zip(&self.x[..net.inputs]).map(|(i, x)| (i, *x)));
        combine(s, &self.list, &net.outward, &mut self.sums);
        self.gradient.fill(0.0);
        self.list.clear();
        for (j, on) in self.on[..net.units].iter_mut().enumerate() {
            *on = f32::from(u8::from(self.sums[j] > 0.0));
            if *on > 0.0 {
                self.list.push((j as u32, net.pull[j]));
            }
        }
        combine(s, &self.list, &net.inward, &mut self.gradient);
    }

    /// Sums and gradient after the last step.
    #[inline(always)]
    fn follow<S: Simd>(&mut self, s: S, net: &Shallow) {
        // Without branches: which coordinates move cannot be foretold.
        let mut count = 0;
        for (i, delta) in self.delta[..net.inputs].iter().enumerate() {
            self.moved[count] = (i as u32, *delta);
            count += usize::from(*delta != 0.0);
        }
        combine(s, &self.moved[..count], &net.outward, &mut self.sums);
        self.list.clear();
        for (j, on) in self.on[..net.units].iter_mut().enumerate() {
            if (self.sums[j] > 0.0) != (*on > 0.0) {
                let turned = 1.0 - 2.0 * *on;
                self.list.push((j as u32, turned * net.pull[j]));
                *on += turned;
            }
        }
        combine(s, &self.list, &net.inward, &mut self.gradient);
    }
}

/// Vectors of a sum that stay in registers while the terms pass by.
const HELD: usize = 4;

/// Adds to `to` the rows of `from` that the list names, each times its factor.
#[inline(always)]
fn combine<S: Simd>(s: S, list: &[(u32, f32)], from: &[f32], to: &mut [f32]) {
    let width = to.len();
    let mut at = 0;
    while at + HELD * LANE <= width {
        sum::<S, HELD>(s, list, from, to, at);
        at += HELD * LANE;
    }
    while at < width {
        sum::<S, 1>(s, list, from, to, at);
        at += LANE;
    }
}

/// The same for the `N` vectors from column `at`.
#[inline(always)]
fn sum<S: Simd, const N: usize>(s: S, list: &[(u32, f32)], from: &[f32], to: &mut [f32], at: usize) {
    let width = to.len();
    let mut held: [S::V; N] = std::array::from_fn(|k| s.get(to, at + k * LANE));
    for (row, factor) in list {
        let start = *row as usize * width + at;
        let (terms, _) = from[start..start + N * LANE].as_chunks::<LANE>();
        let factor = s.splat(*factor);
        for k in 0..N {
            held[k] = s.fma(factor, s.load(&terms[k]), held[k]);
        }
    }
    for (k, v) in held.into_iter().enumerate() {
        s.put(v, to, at + k * LANE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::NoPulse;
    use crate::base::matrix::Dense;
    use crate::lab::interventions::methods::attack::{self, signs};
    use crate::probe::mlp::Layer;
    use crate::stats::rng::{stream, unit};

    /// Small multiples of 1/8: every sum of theirs is exact in single precision, in whatever order.
    fn eighths(name: &str) -> impl FnMut(usize) -> Vec<f32> {
        let mut rng = stream(3, name);
        move |count| (0..count).map(|_| ((33.0 * unit(&mut rng)) as i32 - 16) as f32 / 8.0).collect()
    }

    fn network(sizes: &[usize], mut values: impl FnMut(usize) -> Vec<f32>) -> Mlp {
        let layer = |w: &[usize], v: &mut dyn FnMut(usize) -> Vec<f32>| Layer {
            weight: Dense::from_vec(w[0], w[1], v(w[0] * w[1])).unwrap(),
            bias: v(w[1]),
        };
        Mlp::from_layers(sizes.windows(2).map(|w| layer(w, &mut values)).collect()).unwrap()
    }

    /// Where no sum is rounded, following what changed ends exactly where two products a step end: at rest, swinging and
    /// wandering, for odd sizes, both aims, even and odd numbers of steps.
    #[test]
    fn following_the_changes_is_walking() {
        for (d, units) in [(5, 3), (16, 16), (37, 21)] {
            let mlp = network(&[d, units, 2], eighths("weights"));
            let shallow = Shallow::of(&mlp).unwrap();
            let (n, mut values) = (3 * GROUP + 5, eighths("rows"));
            let h = Matrix::from_vec(n, d, values(n * d)).unwrap();
            let classes: Vec<usize> = (0..n).map(|i| i % 2).collect();
            let mut wandering = 0;
            for aim in [Aim::Towards, Aim::AwayFrom] {
                for (epsilon, step, steps) in [
                    (0.125, 0.125, 7),
                    (1.0, 0.125, 40),
                    (1.0, 0.375, 41),
                    (4.0, 0.5, 40),
                    (32.0, 4.0, 39),
                    (0.0, 0.0, 4),
                    (1.0, 0.5, 0),
                ] {
                    let schedule = Schedule { epsilon, step, steps };
                    let first = signs(&mlp, &h, &classes, aim);
                    let want =
                        attack::pgd(&mlp, &h, (&classes, aim), &first, schedule, &mut NoPulse).unwrap();
                    let got = shallow.pgd(&h, (&classes, aim), schedule, &mut NoPulse).unwrap();
                    assert_eq!(got, want, "{d} x {units}, epsilon {epsilon}, {aim:?}");
                    let inside = got.data().iter().zip(h.data()).filter(|(x, h)| (*x - *h).abs() < epsilon);
                    wandering += inside.count();
                }
            }
            assert!(wandering > n, "no walk was more than a straight line");
        }
    }

    /// Weights that a rounding does matter for: the ends agree but for rows whose fate hangs on the last digit.
    #[test]
    fn rounding_moves_few_rows() {
        let mut rng = stream(9, "real");
        let mlp = network(&[160, 64, 2], |n| (0..n).map(|_| (0.2 * (unit(&mut rng) - 0.5)) as f32).collect());
        let mut rng = stream(10, "real");
        let (n, d) = (200, 160);
        let rows = (0..n * d).map(|_| (3.4 * (unit(&mut rng) - 0.5)) as f32).collect();
        let h = Matrix::from_vec(n, d, rows).unwrap();
        let classes: Vec<usize> = (0..n).map(|i| i % 2).collect();
        for epsilon in [0.01f32, 0.2, 1.0, 5.0] {
            let schedule = Schedule { epsilon, step: 0.1 * epsilon, steps: 40 };
            let aim = Aim::Towards;
            let first = signs(&mlp, &h, &classes, aim);
            let want = attack::pgd(&mlp, &h, (&classes, aim), &first, schedule, &mut NoPulse).unwrap();
            let got = Shallow::of(&mlp).unwrap().pgd(&h, (&classes, aim), schedule, &mut NoPulse).unwrap();
            let apart = got.iter_rows().zip(want.iter_rows()).filter(|(a, b)| a != b).count();
            assert!(apart * 20 <= n, "epsilon {epsilon}: {apart} of {n} rows end elsewhere");
        }
    }

    #[test]
    fn other_networks_are_left_to_the_general_walk() {
        assert!(Shallow::of(&network(&[4, 3, 3], eighths("three"))).is_none());
        assert!(Shallow::of(&network(&[4, 3, 3, 2], eighths("deep"))).is_none());
        assert!(Shallow::of(&network(&[4, 2], eighths("linear"))).is_none());
    }
}
