//! Square: random search for a point across the boundary, using only the probe's outputs (Andriushchenko et al. 2020).
//!
//! The search starts at a random corner of the ball. Each query moves a window of coordinates to one random side of the ball, and the
//! result is kept if the margin falls. The method was written for images with square windows; neither its paper nor the one on probes
//! defines windows for vectors. Here a window is a run of `max(1, round(p D))` neighbouring coordinates. With square windows in an
//! artificial image, robust accuracy changes by tens of points, so results of Square are not comparable between programs.

use super::across::{Attack, Field, Target, Wish};
use super::attack::Aim;
use super::autoattack::AUTOATTACK;
use crate::method::Method;
use crate::options::{Options, Setting};
use base::matmul::{View, matmul};
use base::{Cancelled, Pulse, SharedPulse};
use probe::mlp::{CHUNK, Pass};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use stats::rng::{below, stream};
use std::ops::Range;

/// Square as a separate method.
pub(crate) const SQUARE: Method = Method {
    id: "square",
    title: "Square",
    doc: "random search in the ball using only the probe's outputs (Andriushchenko et al. 2020), on runs of coordinates",
    settings: &[QUERIES],
    learn: |data, options, _| Target::learn("square", data, options, chain),
    read: |bytes, options| Target::read(bytes, options, chain),
    ..AUTOATTACK
};

pub(crate) const QUERIES: Setting =
    Setting::whole("queries", "queries", "points that Square tries per row; 5,000 in Canby et al.", 5000.0, 20_000.0);

fn chain(options: &Options, _: usize) -> Vec<Box<dyn Attack>> {
    vec![Box::new(Draws { queries: options.integer("queries") })]
}

#[derive(Debug, Clone, Copy)]
pub struct Draws {
    /// Number of points to try for each row.
    pub queries: usize,
}

/// Share of the coordinates covered by the window of the `query`-th query: .8, halved on the authors' schedule.
fn share(query: usize) -> f64 {
    const HALVED_AFTER: [usize; 9] = [10, 50, 200, 500, 1000, 2000, 4000, 6000, 8000];
    let halvings = HALVED_AFTER.iter().filter(|after| query > **after).count();
    0.8 / f64::from(1 << halvings)
}

impl Attack for Draws {
    fn run(
        &mut self,
        field: &Field<'_>,
        rows: &[usize],
        epsilon: f32,
        pulse: &mut dyn Pulse,
    ) -> Result<Vec<Option<Vec<f32>>>, Cancelled> {
        let pulse = SharedPulse::new(pulse, rows.len().div_ceil(CHUNK) * (self.queries + 1));
        let chunks: Result<Vec<_>, Cancelled> =
            rows.par_chunks(CHUNK).map(|rows| self.chunk(field, rows, epsilon, &pulse)).collect();
        Ok(chunks?.into_iter().flatten().collect())
    }
    fn passes_per_failure(&self) -> Option<usize> {
        Some(self.queries)
    }
}

impl Draws {
    fn chunk(
        &self,
        field: &Field<'_>,
        rows: &[usize],
        epsilon: f32,
        pulse: &SharedPulse<'_>,
    ) -> Result<Vec<Option<Vec<f32>>>, Cancelled> {
        pulse.beat()?;
        let mut found = vec![None; rows.len()];
        let mut seekers: Vec<Seeker> =
            rows.iter().enumerate().map(|(i, r)| Seeker::new(i, *r, field, epsilon)).collect();
        let mut pass = Pass::new(field.mlp);
        let mut first: Vec<f32> = Vec::new();
        for query in 0..=self.queries {
            first.clear();
            for seeker in &mut seekers {
                if query > 0 {
                    seeker.draw(query - 1, field, epsilon);
                }
                first.extend_from_slice(&seeker.tried);
            }
            pass.forward_from_first(field.mlp, &first);
            let logits = pass.logits().chunks_exact(field.mlp.classes());
            for (seeker, logits) in seekers.iter_mut().zip(logits) {
                seeker.judge(logits, field);
            }
            seekers.retain(|seeker| {
                let over = seeker.margin <= 0.0;
                if over {
                    found[seeker.place] = Some(seeker.best.clone());
                }
                !over
            });
            if seekers.is_empty() {
                return Ok(found);
            }
            pulse.beat()?;
        }
        Ok(found)
    }
}

/// A row on which no attack has succeeded.
///
/// A query changes a window of the best point, which for most of the search contains only a few coordinates. So the first layer of the
/// perceptron is updated for the changed coordinates, and only the later layers are run in full.
struct Seeker {
    /// Index of the row in the chunk and in the field.
    place: usize,
    row: usize,
    rng: ChaCha8Rng,
    best: Vec<f32>,
    /// Outputs of the first layer before its ReLU, at the best point and at the candidate.
    first: Vec<f32>,
    tried: Vec<f32>,
    /// The window of the candidate: its coordinates and their new values.
    window: Range<usize>,
    put: Vec<f32>,
    margin: f32,
}

impl Seeker {
    fn new(place: usize, row: usize, field: &Field<'_>, epsilon: f32) -> Self {
        let mut rng = stream(field.seed, &format!("square {row}"));
        let corner = |h: &f32| if below(&mut rng, 2) == 0 { h - epsilon } else { h + epsilon };
        let best: Vec<f32> = field.h.row(row).iter().map(corner).collect();
        let tried = first_layer(field, &best);
        let (first, put) = (tried.clone(), Vec::new());
        Self { place, row, rng, best, first, tried, window: 0..0, put, margin: f32::INFINITY }
    }

    /// Moves a random window of the best point's coordinates to one face of the ε-ball.
    fn draw(&mut self, query: usize, field: &Field<'_>, epsilon: f32) {
        let h = field.h.row(self.row);
        let width = ((share(query) * h.len() as f64).round() as usize).clamp(1, h.len());
        let start = below(&mut self.rng, (h.len() - width + 1) as u32) as usize;
        let side = if below(&mut self.rng, 2) == 0 { -epsilon } else { epsilon };
        self.window = start..start + width;
        self.tried.copy_from_slice(&self.first);
        self.put.clear();
        let weight = field.mlp.layers().first().map(|l| &l.weight);
        for j in self.window.clone() {
            // From any point, moving by twice the radius and clipping to the ball reaches that side.
            let (x, put) = (self.best[j], h[j] + side);
            self.put.push(put);
            if let Some(weight) = weight.filter(|_| put != x) {
                self.tried.iter_mut().zip(weight.row(j)).for_each(|(t, w)| *t += (put - x) * w);
            }
        }
    }

    /// Keeps the candidate if its margin is lower. A candidate that seems to be across the boundary is recomputed in full, because the many
    /// updates of the first layer accumulate rounding errors.
    fn judge(&mut self, logits: &[f32], field: &Field<'_>) {
        let margin = margin(logits, field.wishes[self.row]);
        if margin >= self.margin {
            return;
        }
        self.margin = margin;
        self.best[self.window.clone()].copy_from_slice(&self.put);
        self.first.copy_from_slice(&self.tried);
        if margin <= 0.0 {
            self.first = first_layer(field, &self.best);
            let mut pass = Pass::new(field.mlp);
            pass.forward_from_first(field.mlp, &self.first);
            self.margin = self::margin(pass.logits(), field.wishes[self.row]);
        }
    }
}

/// Outputs of the perceptron's first layer at a point, before its ReLU.
fn first_layer(field: &Field<'_>, x: &[f32]) -> Vec<f32> {
    let Some(layer) = field.mlp.layers().first() else { return Vec::new() };
    let mut out = layer.bias.clone();
    let weight = &layer.weight;
    matmul(&mut out, 1.0, View::new(x, 1, weight.rows()), weight.view(), 1.0);
    out
}

/// Distance of a row of logits from its target; 0 or less if it is reached.
fn margin(logits: &[f32], wish: Wish) -> f32 {
    let others = logits.iter().enumerate().filter(|(j, _)| *j != wish.class).map(|(_, z)| *z);
    let gap = logits[wish.class] - others.fold(f32::NEG_INFINITY, f32::max);
    let margin = if wish.aim == Aim::AwayFrom { gap } else { -gap };
    // With a tie, `margin` would be 0 even for a row that has not reached its target.
    if wish.is_met(logits) { margin.min(0.0) } else { margin.max(f32::MIN_POSITIVE) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn updated_layers_equal_full_passes() {
        for hidden in [&[][..], &[14], &[12, 10]] {
            let mut rng = stream(3, "square test");
            let mlp = probe::Mlp::fresh(40, hidden, 2, &mut rng);
            let h = probe::Matrix::from_vec(
                6,
                40,
                (0..240).map(|_| 4.0 * stats::rng::unit(&mut rng) as f32 - 2.0).collect(),
            )
            .unwrap();
            let from: Vec<usize> = mlp.logits(&h).iter_rows().map(base::matrix::argmax::<f32>).collect();
            let wishes: Vec<Wish> = from.iter().map(|c| Wish { aim: Aim::AwayFrom, class: *c }).collect();
            let field = Field { mlp: &mlp, h: &h, from: &from, wishes: &wishes, seed: 1 };
            for row in 0..6 {
                let mut seeker = Seeker::new(0, row, &field, 1e-3);
                for query in 0..=600 {
                    if query > 0 {
                        seeker.draw(query - 1, &field, 1e-3);
                    }
                    let mut point = seeker.best.clone();
                    point[seeker.window.clone()].copy_from_slice(&seeker.put);
                    let exact = first_layer(&field, &point);
                    let far = exact.iter().zip(&seeker.tried).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
                    assert!(far < 1e-5, "{hidden:?}, query {query}: {far}");
                    let mut pass = Pass::new(&mlp);
                    pass.forward_from_first(&mlp, &seeker.tried);
                    seeker.judge(pass.logits(), &field);
                    assert!(seeker.best.iter().zip(h.row(row)).all(|(x, h)| (x - h).abs() <= 1.001e-3));
                }
            }
        }
    }

    /// The authors' schedule: .8, halved after 10, 50, 200, 500, 1,000, 2,000 and 4,000 queries.
    #[test]
    fn windows_shrink_on_the_authors_schedule() {
        let at = [0, 10, 11, 50, 51, 200, 201, 500, 501, 1000, 1001, 2000, 2001, 4000, 4001, 4999];
        let halved = [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7];
        for (query, times) in at.into_iter().zip(halved) {
            assert_eq!(share(query), 0.8 / f64::from(1 << times), "query {query}");
        }
    }
}
