//! FAB: the fast adaptive boundary attack (Croce and Hein 2020) in the maximum norm.
//!
//! Searches for the nearest point across the boundary. The probe is linearised at the current point, which gives a hyperplane where the two
//! classes meet. The current and the original point are projected onto it, and the next point is between the two projections, slightly
//! beyond the hyperplane. Once across the boundary, the search steps back toward the original.
//!
//! The search runs once, independent of the radius, and a point counts if it is within the radius. So points are just across the boundary,
//! regardless of the radius. The search is exact for linear probes.

use super::across::{Attack, Field, Target, Wish};
use super::apgd::ITERATIONS;
use super::attack::Aim;
use super::autoattack::AUTOATTACK;
use crate::method::{Method, Needs};
use crate::options::Options;
use base::{Cancelled, Pulse, SharedPulse};
use probe::Mlp;
use probe::mlp::{CHUNK, Pass};
use rayon::prelude::*;
use std::collections::HashMap;

/// FAB as a separate method.
pub(crate) const FAB: Method = Method {
    id: "fab",
    title: "FAB",
    doc: "the nearest point across the probe's boundary, if it is within ε (Croce and Hein 2020)",
    needs: Needs { mlp: true, ..Needs::NONE },
    settings: &[ITERATIONS],
    learn: |data, options, _| Target::learn("fab", data, options, chain),
    read: |bytes, options| Target::read(bytes, options, chain),
    ..AUTOATTACK
};

fn chain(options: &Options, _: usize) -> Vec<Box<dyn Attack>> {
    vec![Box::new(Search::new(options.integer("iterations")))]
}

/// Factor by which a step goes beyond the hyperplane, factor of the step back after crossing it, and maximum weight of the original point.
const BEYOND: f32 = 1.05;
const BACK: f32 = 0.9;
const MOST_ORIGINAL: f32 = 0.1;

#[derive(Debug, Clone, PartialEq)]
pub struct Nearest {
    pub point: Vec<f32>,
    /// Distance in the maximum norm.
    pub distance: f32,
}

/// The search, with results that are valid for any radius.
#[derive(Debug)]
pub struct Search {
    iterations: usize,
    found: HashMap<usize, Option<Nearest>>,
}

impl Attack for Search {
    fn run(
        &mut self,
        field: &Field<'_>,
        rows: &[usize],
        epsilon: f32,
        pulse: &mut dyn Pulse,
    ) -> Result<Vec<Option<Vec<f32>>>, Cancelled> {
        // Rounding depends on the number of rows in a batch. Whole groups of rows are processed, so that a row's point does not depend on
        // which other rows are attacked.
        let mut wanted: Vec<usize> = rows.iter().filter(|r| !self.found.contains_key(r)).map(|r| r / CHUNK).collect();
        wanted.dedup();
        let of = |group: usize| group * CHUNK..((group + 1) * CHUNK).min(field.h.rows());
        let standing = |group| of(group).filter(|r| field.stands(*r)).collect();
        let groups: Vec<Vec<usize>> = wanted.into_iter().map(standing).collect();
        let pulse = SharedPulse::new(pulse, groups.len() * self.iterations);
        let found: Result<Vec<_>, Cancelled> = groups.par_iter().map(|rows| self.chunk(field, rows, &pulse)).collect();
        self.found.extend(groups.into_iter().flatten().zip(found?.into_iter().flatten()));
        let within = |n: &Nearest| (n.distance <= epsilon).then(|| n.point.clone());
        Ok(rows.iter().map(|r| self.found.get(r).and_then(Option::as_ref).and_then(within)).collect())
    }
}

impl Search {
    pub fn new(iterations: usize) -> Self {
        Self { iterations, found: HashMap::new() }
    }

    /// The nearest points across the boundary for the rows listed in `rows`, starting from the rows themselves.
    pub fn nearest(
        &self,
        field: &Field<'_>,
        rows: &[usize],
        pulse: &mut dyn Pulse,
    ) -> Result<Vec<Option<Nearest>>, Cancelled> {
        let pulse = SharedPulse::new(pulse, rows.len().div_ceil(CHUNK) * self.iterations);
        let chunks: Result<Vec<_>, Cancelled> =
            rows.par_chunks(CHUNK).map(|rows| self.chunk(field, rows, &pulse)).collect();
        Ok(chunks?.into_iter().flatten().collect())
    }

    fn chunk(
        &self,
        field: &Field<'_>,
        rows: &[usize],
        pulse: &SharedPulse<'_>,
    ) -> Result<Vec<Option<Nearest>>, Cancelled> {
        let mut searcher = Searcher::new(field, rows);
        for _ in 0..self.iterations {
            pulse.beat()?;
            searcher.step();
            searcher.note();
        }
        Ok(searcher.found)
    }
}

struct Searcher<'a> {
    mlp: &'a Mlp,
    wishes: Vec<Wish>,
    from: Vec<usize>,
    pass: Pass<f32>,
    h: Vec<f32>,
    x: Vec<f32>,
    gradient: Vec<f32>,
    /// Normal and offset of each row's nearest hyperplane, `w.x = b`, and its distance.
    normal: Vec<f32>,
    offset: Vec<f32>,
    away: Vec<f32>,
    found: Vec<Option<Nearest>>,
}

impl<'a> Searcher<'a> {
    fn new(field: &Field<'a>, rows: &[usize]) -> Self {
        let h: Vec<f32> = rows.iter().flat_map(|r| field.h.row(*r)).copied().collect();
        let zeros = vec![0.0; rows.len()];
        Self {
            mlp: field.mlp,
            wishes: rows.iter().map(|r| field.wishes[*r]).collect(),
            from: rows.iter().map(|r| field.from[*r]).collect(),
            pass: Pass::new(field.mlp),
            x: h.clone(),
            gradient: vec![0.0; h.len()],
            normal: vec![0.0; h.len()],
            h,
            offset: zeros.clone(),
            away: zeros,
            found: vec![None; rows.len()],
        }
    }

    /// The `slot`-th class to which a row can be moved, and the class that it leaves.
    fn pair(&self, row: usize, slot: usize) -> (usize, usize) {
        let wish = self.wishes[row];
        match wish.aim {
            Aim::Towards => (wish.class, self.from[row]),
            Aim::AwayFrom => (if slot < wish.class { slot } else { slot + 1 }, wish.class),
        }
    }

    /// Finds each row's nearest hyperplane.
    fn look(&mut self) {
        let d = self.mlp.inputs();
        let towards = self.wishes.iter().all(|w| w.aim == Aim::Towards);
        let slots = if towards { 1 } else { self.mlp.classes() - 1 };
        self.away.fill(f32::INFINITY);
        for slot in 0..slots {
            self.pass.forward(self.mlp, &self.x);
            let pairs: Vec<(usize, usize)> = (0..self.found.len()).map(|i| self.pair(i, slot)).collect();
            let mut gaps = vec![0.0; pairs.len()];
            self.pass.replace_logits(|i, logits| {
                let (to, from) = pairs[i];
                gaps[i] = logits[to] - logits[from];
                logits.fill(0.0);
                logits[to] += 1.0;
                logits[from] -= 1.0;
            });
            self.pass.back_to_input(self.mlp, &mut self.gradient);
            for (i, gap) in gaps.into_iter().enumerate() {
                let at = i * d..(i + 1) * d;
                let (g, x) = (&self.gradient[at.clone()], &self.x[at.clone()]);
                let away = gap.abs() / (1e-12 + g.iter().map(|g| g.abs()).sum::<f32>());
                if away < self.away[i] {
                    self.away[i] = away;
                    self.offset[i] = g.iter().zip(x).map(|(g, x)| g * x).sum::<f32>() - gap;
                    self.normal[at.clone()].copy_from_slice(&self.gradient[at]);
                }
            }
        }
    }

    /// `x <- (1 - a) (x + 1.05 d) + a (h + 1.05 d0)`, where d and d0 lead from x and from h to the hyperplane.
    fn step(&mut self) {
        self.look();
        let d = self.mlp.inputs();
        for i in 0..self.found.len() {
            let at = i * d..(i + 1) * d;
            let (w, h) = (&self.normal[at.clone()], &self.h[at.clone()]);
            let x = &mut self.x[at];
            let size = w.iter().map(|w| w.abs()).sum::<f32>();
            if size == 0.0 {
                continue; // no unit of the probe responds, so there is no direction
            }
            let along = |p: &[f32]| {
                let dot = w.iter().zip(p).map(|(w, p)| w * p).sum::<f32>();
                (dot - self.offset[i]) / size
            };
            let (one, two) = (along(x), along(h));
            let (a1, a2) = (one.abs().max(1e-8), two.abs().max(1e-8));
            let a = (a1 / (a1 + a2)).min(MOST_ORIGINAL);
            for ((x, h), w) in x.iter_mut().zip(h).zip(w) {
                let sign = f32::from(u8::from(*w > 0.0)) - f32::from(u8::from(*w < 0.0));
                *x = (*x - BEYOND * one * sign) * (1.0 - a) + (h - BEYOND * two * sign) * a;
            }
        }
    }

    /// Keeps points across the boundary that are nearer than earlier ones, and steps back from them.
    fn note(&mut self) {
        let d = self.mlp.inputs();
        self.pass.forward(self.mlp, &self.x);
        let rows = self.pass.logits().chunks_exact(self.mlp.classes());
        for (i, logits) in rows.enumerate() {
            if !self.wishes[i].is_met(logits) {
                continue;
            }
            let at = i * d..(i + 1) * d;
            let (x, h) = (&mut self.x[at.clone()], &self.h[at]);
            let distance = x.iter().zip(h).map(|(x, h)| (x - h).abs()).fold(0.0, f32::max);
            if self.found[i].as_ref().is_none_or(|n| distance < n.distance) {
                self.found[i] = Some(Nearest { point: x.to_vec(), distance });
            }
            x.iter_mut().zip(h).for_each(|(x, h)| *x = h + BACK * (*x - h));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::NoPulse;
    use probe::mlp::Layer;
    use probe::{Dense, Matrix};
    use stats::rng::{stream, unit};

    /// On a linear probe the nearest point across the boundary is known: |gap| / |w|_1 away in the maximum norm.
    #[test]
    fn it_is_exact_on_a_linear_probe() {
        let mut rng = stream(8, "fab");
        let mut draw = |n: usize| -> Vec<f32> { (0..n).map(|_| (2.0 * unit(&mut rng) - 1.0) as f32).collect() };
        let weight = Dense::from_vec(6, 2, draw(12)).unwrap();
        let mlp = Mlp::from_layers(vec![Layer { weight, bias: draw(2) }]).unwrap();
        let h = Matrix::from_vec(30, 6, draw(180)).unwrap();
        let logits = mlp.logits(&h);
        let from: Vec<usize> = logits.iter_rows().map(base::matrix::argmax).collect();
        let wishes: Vec<Wish> = from.iter().map(|c| Wish { aim: Aim::AwayFrom, class: *c }).collect();
        let field = Field { mlp: &mlp, h: &h, from: &from, wishes: &wishes, seed: 0 };
        let rows: Vec<usize> = (0..30).collect();
        let found = Search::new(30).nearest(&field, &rows, &mut NoPulse).unwrap();
        let w = &mlp.layers()[0].weight;
        let size: f32 = w.iter_rows().map(|r| (r[1] - r[0]).abs()).sum();
        for (row, nearest) in logits.iter_rows().zip(found) {
            let exact = (row[0] - row[1]).abs() / size;
            let distance = nearest.expect("a plane cuts the space in two").distance;
            assert!(distance >= exact * 0.999 && distance <= exact * 1.01 + 1e-6, "{distance} {exact}");
        }
    }

    /// A probe that ignores its input has no boundary; dividing by the size of its gradient gives no NaN.
    #[test]
    fn constant_probe_is_left_unchanged() {
        let layer = Layer { weight: Dense::zeros(3, 2), bias: vec![1.0, 0.0] };
        let mlp = Mlp::from_layers(vec![layer]).unwrap();
        let h = Matrix::from_fn(2, 3, |i, j| (i + j) as f32);
        let wishes = [Wish { aim: Aim::AwayFrom, class: 0 }; 2];
        let field = Field { mlp: &mlp, h: &h, from: &[0, 0], wishes: &wishes, seed: 0 };
        assert_eq!(Search::new(5).nearest(&field, &[0, 1], &mut NoPulse).unwrap(), [None, None]);
    }
}
