//! APGD: projected gradient descent that halves its own steps (Croce and Hein 2020).
//!
//! It takes a hundred steps with momentum from a random point of the ball. At each checkpoint some rows halve their step and return to
//! their best point: those whose loss rose in at most three quarters of the steps since the last checkpoint, or whose best loss has not
//! changed since. The result is the last point across the boundary, as in the authors' code, not the point of highest loss.

use super::across::{Attack, Field, Target, Wish};
use super::attack::Aim;
use super::autoattack::AUTOATTACK;
use crate::method::Method;
use crate::options::{Options, Setting};
use base::{Cancelled, Pulse, SharedPulse};
use probe::Mlp;
use probe::mlp::{CHUNK, Pass};
use rayon::prelude::*;
use stats::rng::{stream, unit};

/// APGD on the cross entropy, as a separate method.
pub(crate) const APGD: Method = Method {
    id: "apgd",
    title: "APGD",
    doc: "gradient-sign steps with momentum and automatic halving (Croce and Hein 2020), on the cross entropy",
    settings: &[ITERATIONS],
    learn: |data, options, _| Target::learn("apgd", data, options, chain),
    read: |bytes, options| Target::read(bytes, options, chain),
    ..AUTOATTACK
};

/// The option for the number of steps of APGD and of FAB.
pub(crate) const ITERATIONS: Setting = Setting::whole(
    "iterations",
    "iterations",
    "steps of APGD and of FAB; 100 in the authors' standard version",
    100.0,
    1000.0,
);

fn chain(options: &Options, _: usize) -> Vec<Box<dyn Attack>> {
    vec![Box::new(Walk { loss: Loss::CrossEntropy, iterations: options.integer("iterations") })]
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// The cross entropy of the class to leave, or the negative cross entropy of the class to reach.
    CrossEntropy,
    /// The difference of logits ratio, which does not vanish for confident probes but needs three classes.
    LogitsRatio,
}

/// One run of APGD on rows of a field.
#[derive(Debug, Clone, Copy)]
pub struct Walk {
    pub loss: Loss,
    pub iterations: usize,
}

/// Result of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Walked {
    /// The point with the highest loss for each row.
    pub best: Vec<f32>,
    pub losses: Vec<f32>,
    /// For each row, the last point that reached its target; the start if none did.
    pub met: Vec<f32>,
    /// True for a row that never reached its target.
    pub robust: Vec<bool>,
}

impl Attack for Walk {
    fn run(
        &mut self,
        field: &Field<'_>,
        rows: &[usize],
        epsilon: f32,
        pulse: &mut dyn Pulse,
    ) -> Result<Vec<Option<Vec<f32>>>, Cancelled> {
        let pulse = SharedPulse::new(pulse, rows.len().div_ceil(CHUNK) * (self.iterations + 1));
        let chunks: Result<Vec<_>, Cancelled> =
            rows.par_chunks(CHUNK).map(|rows| self.chunk(field, rows, epsilon, &pulse)).collect();
        Ok(chunks?.into_iter().flatten().collect())
    }
}

impl Walk {
    fn chunk(
        &self,
        field: &Field<'_>,
        rows: &[usize],
        epsilon: f32,
        pulse: &SharedPulse<'_>,
    ) -> Result<Vec<Option<Vec<f32>>>, Cancelled> {
        let mut start = Vec::with_capacity(rows.len() * field.h.cols());
        for row in rows {
            let mut rng = stream(field.seed, &format!("apgd {:?} {row}", self.loss));
            let draws: Vec<f64> = field.h.row(*row).iter().map(|_| 2.0 * unit(&mut rng) - 1.0).collect();
            let top = draws.iter().fold(f64::MIN_POSITIVE, |top, u| top.max(u.abs()));
            let reach = f64::from(epsilon) / top;
            start.extend(field.h.row(*row).iter().zip(&draws).map(|(h, u)| h + (reach * u) as f32));
        }
        let walked = self.from_points(field, rows, &start, epsilon, pulse)?;
        let points = walked.met.chunks_exact(field.h.cols()).zip(&walked.robust);
        Ok(points.map(|(point, robust)| (!robust).then(|| point.to_vec())).collect())
    }

    /// Runs on the rows listed in `rows` from the points in `start` (row by row).
    pub fn from_points(
        &self,
        field: &Field<'_>,
        rows: &[usize],
        start: &[f32],
        epsilon: f32,
        pulse: &SharedPulse<'_>,
    ) -> Result<Walked, Cancelled> {
        let mut walker = Walker::new(self.loss, field, rows, start, epsilon);
        pulse.beat()?;
        walker.look();
        walker.begin();
        let share = |percent: usize| (percent * self.iterations / 100).max(1);
        let (mut wait, mut waited) = (share(22), 0);
        for i in 0..self.iterations {
            pulse.beat()?;
            walker.step(i == 0);
            walker.look();
            walker.note(i == 0);
            waited += 1;
            if waited == wait {
                walker.check(wait);
                wait = wait.saturating_sub(share(3)).max(share(6));
                waited = 0;
            }
        }
        let Walker { best, highest, met, standing, .. } = walker;
        Ok(Walked { best, losses: highest, met, robust: standing })
    }
}

struct Walker<'a> {
    mlp: &'a Mlp,
    loss: Loss,
    wishes: Vec<Wish>,
    from: Vec<usize>,
    epsilon: f32,
    pass: Pass<f32>,
    h: Vec<f32>,
    x: Vec<f32>,
    before: Vec<f32>,
    gradient: Vec<f32>,
    losses: Vec<f32>,
    /// True if the current point reaches its target.
    meets: Vec<bool>,
    best: Vec<f32>,
    best_gradient: Vec<f32>,
    highest: Vec<f32>,
    met: Vec<f32>,
    standing: Vec<bool>,
    steps: Vec<f32>,
    /// Loss at the previous step, and number of times that it has risen since the last checkpoint.
    last: Vec<f32>,
    rises: Vec<usize>,
    /// Highest loss at the last checkpoint, and whether the step size was halved at it.
    checked: Vec<f32>,
    halved: Vec<bool>,
}

impl<'a> Walker<'a> {
    fn new(loss: Loss, field: &Field<'a>, rows: &[usize], start: &[f32], epsilon: f32) -> Self {
        let h: Vec<f32> = rows.iter().flat_map(|r| field.h.row(*r)).copied().collect();
        let n = rows.len();
        let zeros = vec![0.0; n];
        Self {
            mlp: field.mlp,
            loss,
            wishes: rows.iter().map(|r| field.wishes[*r]).collect(),
            from: rows.iter().map(|r| field.from[*r]).collect(),
            epsilon,
            pass: Pass::new(field.mlp),
            x: start.to_vec(),
            before: start.to_vec(),
            gradient: vec![0.0; h.len()],
            best: start.to_vec(),
            best_gradient: vec![0.0; h.len()],
            met: start.to_vec(),
            h,
            losses: zeros.clone(),
            meets: vec![false; n],
            highest: zeros.clone(),
            standing: vec![true; n],
            steps: vec![2.0 * epsilon; n],
            last: zeros.clone(),
            rises: vec![0; n],
            checked: zeros,
            halved: vec![true; n],
        }
    }

    /// Computes losses, gradients and success at the current points.
    fn look(&mut self) {
        self.pass.forward(self.mlp, &self.x);
        let (losses, meets) = (&mut self.losses, &mut self.meets);
        let (loss, wishes, from) = (self.loss, &self.wishes, &self.from);
        self.pass.replace_logits(|i, logits| {
            meets[i] = wishes[i].is_met(logits);
            losses[i] = match loss {
                Loss::CrossEntropy => cross_entropy(logits, wishes[i]),
                Loss::LogitsRatio => logits_ratio(logits, from[i], wishes[i]),
            };
        });
        self.pass.back_to_input(self.mlp, &mut self.gradient);
    }

    /// Records the first point as the best so far.
    fn begin(&mut self) {
        self.highest.copy_from_slice(&self.losses);
        self.checked.copy_from_slice(&self.losses);
        self.best_gradient.copy_from_slice(&self.gradient);
        self.standing.iter_mut().zip(&self.meets).for_each(|(s, m)| *s = !m);
    }

    /// `v = clip(x + step sign(g))`, `x <- clip(x + .75 (v - x) + .25 (x - x_before))`; the first step has no momentum.
    fn step(&mut self, first: bool) {
        let a = if first { 1.0 } else { 0.75 };
        let d = self.mlp.inputs();
        for (i, step) in self.steps.iter().enumerate() {
            for j in i * d..(i + 1) * d {
                let (lo, hi) = (self.h[j] - self.epsilon, self.h[j] + self.epsilon);
                let (x, momentum) = (self.x[j], self.x[j] - self.before[j]);
                let g = self.gradient[j];
                let sign = f32::from(u8::from(g > 0.0)) - f32::from(u8::from(g < 0.0));
                let v = (x + step * sign).max(lo).min(hi);
                self.before[j] = x;
                self.x[j] = (x + a * (v - x) + (1.0 - a) * momentum).max(lo).min(hi);
            }
        }
    }

    /// Records the result of the last step.
    fn note(&mut self, first: bool) {
        let d = self.mlp.inputs();
        for i in 0..self.losses.len() {
            let at = i * d..(i + 1) * d;
            if self.meets[i] {
                self.met[at.clone()].copy_from_slice(&self.x[at.clone()]);
                self.standing[i] = false;
            }
            // The authors' code compares the first loss with an empty row, which counts as a rise.
            self.rises[i] += usize::from(first || self.losses[i] > self.last[i]);
            self.last[i] = self.losses[i];
            if self.losses[i] > self.highest[i] {
                self.highest[i] = self.losses[i];
                self.best[at.clone()].copy_from_slice(&self.x[at.clone()]);
                self.best_gradient[at.clone()].copy_from_slice(&self.gradient[at]);
            }
        }
    }

    /// Runs a checkpoint after `wait` steps: determines which rows halve their step and return to their best point.
    fn check(&mut self, wait: usize) {
        let d = self.mlp.inputs();
        for i in 0..self.losses.len() {
            let swings = self.rises[i] as f64 <= 0.75 * wait as f64;
            let stuck = !self.halved[i] && self.checked[i] >= self.highest[i];
            self.halved[i] = swings || stuck;
            self.checked[i] = self.highest[i];
            self.rises[i] = 0;
            if self.halved[i] {
                let at = i * d..(i + 1) * d;
                self.steps[i] /= 2.0;
                self.x[at.clone()].copy_from_slice(&self.best[at.clone()]);
                self.gradient[at.clone()].copy_from_slice(&self.best_gradient[at]);
            }
        }
    }
}

/// Returns the cross entropy to maximise; the row becomes its gradient up to a positive factor.
fn cross_entropy(logits: &mut [f32], wish: Wish) -> f32 {
    let loss = probe::mlp::attack_row(logits, wish.class);
    if wish.aim == Aim::AwayFrom {
        return loss;
    }
    logits.iter_mut().for_each(|g| *g = -*g);
    -loss
}

/// The difference of logits ratio (Croce and Hein 2020, equation 6 and its targeted form, equation 7); the row becomes its gradient. Away
/// from y: `-(z_y - max_{i≠y} z_i) / (z_(1) - z_(3))`. Toward t from y: `-(z_y - z_t) / (z_(1) - (z_(3) + z_(4))/2)`; this is undefined for
/// three classes, which use the first denominator.
///
/// # Panics
/// With fewer than three logits.
pub(crate) fn logits_ratio(logits: &mut [f32], from: usize, wish: Wish) -> f32 {
    let z = logits.to_vec();
    let mut order: Vec<usize> = (0..z.len()).collect();
    order.sort_by(|a, b| z[*b].total_cmp(&z[*a]));
    let other = |y: usize| if order[0] == y { order[1] } else { order[0] };
    let (y, goal) = match wish.aim {
        Aim::AwayFrom => (wish.class, other(wish.class)),
        Aim::Towards => (from, wish.class),
    };
    let low: &[(usize, f32)] = match wish.aim {
        Aim::Towards if z.len() > 3 => &[(order[2], 0.5), (order[3], 0.5)],
        _ => &[(order[2], 1.0)],
    };
    let over = z[order[0]] - low.iter().map(|(i, w)| w * z[*i]).sum::<f32>() + 1e-12;
    let loss = -(z[y] - z[goal]) / over;
    logits.fill(0.0);
    logits[y] -= 1.0 / over;
    logits[goal] += 1.0 / over;
    // d(loss)/d(over) = -loss / over
    logits[order[0]] -= loss / over;
    low.iter().for_each(|(i, w)| logits[*i] += w * loss / over);
    loss
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each loss function replaces a row of logits with its gradient; the cross entropy does so up to a positive factor.
    #[test]
    fn loss_functions_return_gradients() {
        let wishes = [Wish { aim: Aim::AwayFrom, class: 1 }, Wish { aim: Aim::Towards, class: 2 }];
        for z in [vec![0.3f32, 1.7, -0.4], vec![0.3, 1.7, -0.4, 0.9, 2.1]] {
            for wish in wishes {
                let mut residual = z.clone();
                let loss = logits_ratio(&mut residual, 1, wish);
                for j in 0..z.len() {
                    let step = |h: f32| {
                        let mut moved = z.clone();
                        moved[j] += h;
                        logits_ratio(&mut moved, 1, wish)
                    };
                    let slope = (step(1e-3) - step(-1e-3)) / 2e-3;
                    assert!((slope - residual[j]).abs() < 2e-3, "{slope} {} at {j}: {loss}", residual[j]);
                }
            }
        }
    }

    /// The ratio is the published one: for three classes, minus the margin divided by the range of the logits.
    #[test]
    fn logits_ratio_matches_the_paper() {
        let mut z = [3.0f32, 1.0, -1.0];
        let away = Wish { aim: Aim::AwayFrom, class: 0 };
        assert_eq!(logits_ratio(&mut z, 0, away), -(3.0 - 1.0) / (3.0 + 1.0));
        let mut z = [3.0f32, 1.0, -1.0, -2.0];
        let towards = Wish { aim: Aim::Towards, class: 3 };
        assert_eq!(logits_ratio(&mut z, 0, towards), -(3.0 + 2.0) / (3.0 - 0.5 * (-1.0 - 2.0)));
    }

    #[test]
    fn directions_agree_for_two_classes() {
        let (mut a, mut b) = ([0.5f32, -0.7], [0.5f32, -0.7]);
        let away = cross_entropy(&mut a, Wish { aim: Aim::AwayFrom, class: 0 });
        let towards = cross_entropy(&mut b, Wish { aim: Aim::Towards, class: 1 });
        assert_eq!(a, b);
        assert!(away > 0.0 && towards < 0.0);
    }
}
