//! Points in the space of word embeddings, with fixed positions and segments. The model's output and gradient at these points are computed
//! for many inputs in one batch.

use super::Case;
use crate::input::Input;
use crate::predict::softmax;
use crate::spec::{Baseline, TargetKind};
use base::Pulse;
use base::matrix::argmax;
use lab::fault::Fault;
use model::chunk::{TOKENS_PER_BATCH, chunks};
use model::{Array, Batch, HookPoint, Model, Plan, Scalar, Sites, Target};

/// A point: its case, and one vector per token.
#[derive(Debug, Clone, PartialEq)]
pub enum Point {
    /// A point where all tokens are at this fraction of the path from the baseline to the input.
    Along(usize, f32),
    /// A point where the marked tokens are at the baseline and the others are unchanged.
    Without(usize, Vec<bool>),
    /// A point with arbitrary vectors.
    At(usize, Vec<f32>),
}

impl Point {
    fn case(&self) -> usize {
        match self {
            Point::Along(case, _) | Point::Without(case, _) | Point::At(case, _) => *case,
        }
    }
}

/// Both ends of the paths for some cases.
pub(crate) struct Ends {
    width: usize,
    /// Start of the path by case, as tokens x width.
    from: Vec<Vec<f32>>,
    to: Vec<Vec<f32>>,
}

/// Word embeddings by row of ids.
fn embeddings(model: &Model, rows: &[Vec<u32>]) -> Result<Vec<Vec<f32>>, Fault> {
    let pad = model.tokenizer()?.pad_id();
    let lengths: Vec<usize> = rows.iter().map(Vec::len).collect();
    let mut found = vec![Vec::new(); rows.len()];
    for group in chunks(&lengths, TOKENS_PER_BATCH) {
        let ids: Vec<&[u32]> = group.iter().map(|k| rows[*k].as_slice()).collect();
        let batch = Batch::new(&ids, pad)?;
        let all = model.forward(&batch, &Plan::default().capture(HookPoint::Embed))?.take(HookPoint::Embed)?;
        let (length, width) = (batch.len(), all.width());
        for (row, k) in group.iter().enumerate() {
            let begin = row * length * width;
            found[*k] = all.data[begin..begin + lengths[*k] * width].to_vec();
        }
    }
    Ok(found)
}

/// The mean of the word embedding matrix.
fn mean_vector(model: &Model, pulse: &mut dyn Pulse) -> Result<Vec<f32>, Fault> {
    let arch = model.arch();
    let all: Vec<u32> = (0..arch.vocab as u32).collect();
    let row = arch.max_positions.clamp(1, 512);
    let mut sum = vec![0.0f64; arch.embedding.width];
    // The matrix is processed in small parts, because two copies of a large one would need too much memory.
    for part in all.chunks(row * 16) {
        pulse.beat(0, 1)?;
        let rows: Vec<Vec<u32>> = part.chunks(row).map(<[u32]>::to_vec).collect();
        for vectors in embeddings(model, &rows)? {
            for vector in vectors.chunks_exact(sum.len()) {
                sum.iter_mut().zip(vector).for_each(|(s, v)| *s += f64::from(*v));
            }
        }
    }
    Ok(sum.into_iter().map(|s| (s / arch.vocab.max(1) as f64) as f32).collect())
}

impl Ends {
    /// Computes the ends for a baseline. Special tokens around the text are the same at both ends.
    pub(crate) fn new(
        model: &Model,
        cases: &[Case<'_>],
        baseline: Baseline,
        pulse: &mut dyn Pulse,
    ) -> Result<Self, Fault> {
        let tokenizer = model.tokenizer()?;
        let pad = tokenizer.pad_id();
        let token = match baseline {
            Baseline::Mask => tokenizer.special().mask.unwrap_or(pad),
            _ => pad,
        };
        let ids: Vec<Vec<u32>> = cases.iter().map(|c| c.input.ids.clone()).collect();
        let replaced = |input: &Input| -> Vec<u32> {
            input.ids.iter().zip(&input.frame).map(|(id, frame)| if *frame { *id } else { token }).collect()
        };
        let to = embeddings(model, &ids)?;
        let mut from = embeddings(model, &cases.iter().map(|c| replaced(c.input)).collect::<Vec<_>>())?;
        let width = model.arch().embedding.width;
        let vector = match baseline {
            Baseline::Zero => Some(vec![0.0; width]),
            Baseline::Mean => Some(mean_vector(model, pulse)?),
            Baseline::Pad | Baseline::Mask => None,
        };
        if let Some(vector) = vector {
            for (rows, case) in from.iter_mut().zip(cases) {
                let each = rows.chunks_exact_mut(width).zip(&case.input.frame);
                each.filter(|(_, frame)| !**frame).for_each(|(row, _)| row.copy_from_slice(&vector));
            }
        }
        Ok(Self { width, from, to })
    }

    #[cfg(test)]
    pub(crate) fn of(width: usize, from: Vec<Vec<f32>>, to: Vec<Vec<f32>>) -> Self {
        Self { width, from, to }
    }

    /// For each token, the sum over embedding dimensions of (input − baseline) times `weights`.
    pub(crate) fn dot(&self, case: usize, weights: &[f64]) -> Vec<f64> {
        let ends = self.to[case].chunks_exact(self.width).zip(self.from[case].chunks_exact(self.width));
        let each = ends.zip(weights.chunks_exact(self.width));
        each.map(|((to, from), w)| to.iter().zip(from).zip(w).map(|((t, f), w)| f64::from(t - f) * w).sum()).collect()
    }

    /// For each token, the sum over embedding dimensions of the input times `weights`.
    pub(crate) fn dot_input(&self, case: usize, weights: &[f64]) -> Vec<f64> {
        let each = self.to[case].chunks_exact(self.width).zip(weights.chunks_exact(self.width));
        each.map(|(to, w)| to.iter().zip(w).map(|(t, w)| f64::from(*t) * w).sum()).collect()
    }

    /// Word embeddings of a case: tokens x width.
    pub(crate) fn input(&self, case: usize) -> &[f32] {
        &self.to[case]
    }

    /// Length of a case's gradient.
    pub(crate) fn size(&self, case: usize) -> usize {
        self.to[case].len()
    }

    fn write(&self, point: &Point, out: &mut [f32]) {
        let case = point.case();
        let ends = self.from[case].iter().zip(&self.to[case]);
        match point {
            Point::Along(_, share) => {
                out.iter_mut().zip(ends).for_each(|(x, (from, to))| *x = from + share * (to - from));
            }
            Point::At(_, vectors) => out.copy_from_slice(vectors),
            Point::Without(_, gone) => {
                let at = |i: usize| gone[i / self.width];
                out.iter_mut()
                    .zip(ends)
                    .enumerate()
                    .for_each(|(i, (x, (from, to)))| *x = if at(i) { *from } else { *to });
            }
        }
    }
}

/// Evaluates a model at points.
pub(crate) struct At<'a> {
    pub model: &'a Model,
    pub cases: &'a [Case<'a>],
    /// Ends of the paths.
    pub ends: &'a Ends,
    /// The explained quantity: probability or logit.
    pub target: TargetKind,
}

impl At<'_> {
    fn batch(&self, points: &[Point], group: &[usize]) -> Result<(Batch, Array), Fault> {
        let ids: Vec<&[u32]> = group.iter().map(|k| self.cases[points[*k].case()].input.ids.as_slice()).collect();
        let batch = Batch::new(&ids, self.model.tokenizer()?.pad_id())?;
        let (length, width) = (batch.len(), self.ends.width);
        let mut rows = Array::zeros([group.len(), length, width]);
        for (row, k) in group.iter().enumerate() {
            let size = self.ends.size(points[*k].case());
            let begin = row * length * width;
            self.ends.write(&points[*k], &mut rows.data[begin..begin + size]);
        }
        Ok((batch, rows))
    }

    fn groups(&self, points: &[Point]) -> Vec<Vec<usize>> {
        let lengths: Vec<usize> = points.iter().map(|p| self.cases[p.case()].input.ids.len()).collect();
        chunks(&lengths, TOKENS_PER_BATCH)
    }

    /// Computes the target at each point, averaged over the slots, with its gradient with respect to the word embeddings (tokens x width).
    /// `take` receives the index of the point.
    pub(crate) fn gradients(
        &self,
        points: &[Point],
        pulse: &mut dyn Pulse,
        take: &mut dyn FnMut(usize, f64, &[f32]),
    ) -> Result<(), Fault> {
        let explained = |k: usize| {
            let case = &self.cases[points[k].case()];
            case.input.slots.iter().copied().zip(case.predicted.iter().copied()).collect()
        };
        self.gradients_of(points, &explained, pulse, take)
    }

    /// Like [`Self::gradients`], for the tokens and positions that `targets_of` returns for the index of a point.
    pub(crate) fn gradients_of(
        &self,
        points: &[Point],
        targets_of: &dyn Fn(usize) -> Vec<(usize, u32)>,
        pulse: &mut dyn Pulse,
        take: &mut dyn FnMut(usize, f64, &[f32]),
    ) -> Result<(), Fault> {
        let mut done = 0;
        for group in self.groups(points) {
            let (batch, rows) = self.batch(points, &group)?;
            let of_row = |(row, k): (usize, &usize)| -> Vec<Target> {
                targets_of(*k).into_iter().map(|(position, token)| Target { row, position, token }).collect()
            };
            let targets: Vec<Vec<Target>> = group.iter().enumerate().map(of_row).collect();
            let mut values = vec![0.0f64; group.len()];
            let of = match self.target {
                TargetKind::Probability => Scalar::Probability(targets.concat()),
                TargetKind::Logit => Scalar::Logit(targets.concat()),
            };
            let plan = Plan::default().from_embeddings(rows).gradient(of, &[HookPoint::Embed]);
            let trace = self.model.forward(&batch, &plan)?;
            targets.iter().flatten().zip(&trace.scalars).for_each(|(t, value)| values[t.row] += f64::from(*value));
            let gradient = trace.gradient(HookPoint::Embed)?;
            let stride = batch.len() * self.ends.width;
            let mut mean = Vec::new();
            for (row, k) in group.iter().enumerate() {
                let case = points[*k].case();
                let count = targets[row].len().max(1) as f64;
                let of_row = &gradient.data[row * stride..row * stride + self.ends.size(case)];
                mean.clear();
                mean.extend(of_row.iter().map(|g| g / count as f32));
                take(*k, values[row] / count, &mean);
            }
            done += group.len();
            pulse.beat(done, points.len())?;
        }
        Ok(())
    }

    /// Computes the target at each point, averaged over the slots, without gradients.
    pub(crate) fn values(&self, points: &[Point], pulse: &mut dyn Pulse) -> Result<Vec<f64>, Fault> {
        let mut values = vec![0.0f64; points.len()];
        let mut add = |k: usize, slot: usize, row: &[f32]| {
            let predicted = self.cases[points[k].case()].predicted;
            let token = predicted[slot] as usize;
            let value = match self.target {
                TargetKind::Probability => softmax(row)[token],
                TargetKind::Logit => f64::from(row[token]),
            };
            values[k] += value;
        };
        self.logits(points, &mut add, pulse)?;
        let count = |point: &Point| self.cases[point.case()].predicted.len().max(1) as f64;
        values.iter_mut().zip(points).for_each(|(value, point)| *value /= count(point));
        Ok(values)
    }

    /// True if the explained tokens are the most probable ones at every slot.
    pub(crate) fn kept(&self, points: &[Point], pulse: &mut dyn Pulse) -> Result<Vec<bool>, Fault> {
        let mut kept = vec![true; points.len()];
        let mut look = |k: usize, slot: usize, row: &[f32]| {
            kept[k] &= argmax(row) == self.cases[points[k].case()].predicted[slot] as usize;
        };
        self.logits(points, &mut look, pulse)?;
        Ok(kept)
    }

    /// The logits of each slot that has an explained token; `take` receives the index of the point, the slot's number
    /// and the logits.
    pub(crate) fn logits(
        &self,
        points: &[Point],
        take: &mut dyn FnMut(usize, usize, &[f32]),
        pulse: &mut dyn Pulse,
    ) -> Result<(), Fault> {
        let mut done = 0;
        for group in self.groups(points) {
            let (batch, rows) = self.batch(points, &group)?;
            let slots = |k: &usize| {
                let case = &self.cases[points[*k].case()];
                case.input.slots.iter().zip(case.predicted).map(|(slot, _)| *slot)
            };
            let sites = group.iter().enumerate().flat_map(|(row, k)| slots(k).map(move |s| (row, s)));
            let plan = Plan::default().from_embeddings(rows).logits_at(Sites::At(sites.collect()));
            let trace = self.model.forward(&batch, &plan)?;
            let logits = trace.logits()?;
            let places = group.iter().flat_map(|k| slots(k).enumerate().map(move |(slot, _)| (*k, slot)));
            places.enumerate().for_each(|(at, (k, slot))| take(k, slot, logits.row(at)));
            done += group.len();
            pulse.beat(done, points.len())?;
        }
        Ok(())
    }
}

/// The probability of the explained tokens at points, used to measure predictions without some tokens.
pub fn value_at_points(
    model: &Model,
    cases: &[Case<'_>],
    points: &[Point],
    baseline: Baseline,
    pulse: &mut dyn Pulse,
) -> Result<Vec<f64>, Fault> {
    let ends = Ends::new(model, cases, baseline, pulse)?;
    At { model, cases, ends: &ends, target: TargetKind::Probability }.values(points, pulse)
}
