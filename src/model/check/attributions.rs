//! Checks of gradients with respect to word embeddings, and of integrated gradients along a straight path from the baseline.

use super::expected::MOST;
use super::forward::Case;
use super::report::Table;
use super::tolerance::{ATTRIBUTION, GRADIENT, LOGITS, SAME};
use super::{ModelError, Result};
use crate::{Array, Batch, HookPoint, Plan, Scalar, Sites, Target};
use base::Pulse;

/// Maximum number of sentences per pass along the path.
const ROWS: usize = 104;

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |m, v| m.max(v.abs()))
}

fn norms(values: &[f64], width: usize) -> Vec<f64> {
    values.chunks(width).map(|r| r.iter().map(|v| v * v).sum::<f64>().sqrt()).collect()
}

impl Case<'_> {
    /// Compares the model's gradients and attributions with those in the file.
    pub(super) fn attributions(&self, table: &mut Table, pulse: &mut dyn Pulse) -> Result<()> {
        if self.expected.has("logits") && !self.model.has_head() {
            table.not_checked("gradients", "the explained logits need a head");
            return Ok(());
        }
        if self.expected.has("grad_embeddings") {
            self.gradients(table)?;
        } else {
            table.not_checked("gradients", "the file has no grad_embeddings");
        }
        if self.expected.has("ig.trapezoid.sum") {
            self.integrated(table, pulse)
        } else {
            table.not_checked("integrated gradients", "the file has no ig.trapezoid.sum");
            Ok(())
        }
    }

    /// The scalar to explain, for `n` stacked copies of the batch: the target's logit, or component 0 of the mean-pooled vector if there is
    /// no head.
    fn scalar(&self, n: usize) -> Result<Scalar> {
        let (b, t) = (self.batch.rows(), self.batch.len());
        if self.model.has_head() {
            let tokens = self.expected.indices("target", &[b], self.model.arch().vocab)?;
            let positions = self.position()?;
            let target = |r: usize| Target { row: r, position: positions[r % b], token: tokens[r % b] as u32 };
            return Ok(Scalar::Logit((0..b * n).map(target).collect()));
        }
        let mut value = Array::zeros([b * n, t, self.model.embed_dim()]);
        for r in 0..b * n {
            let len = self.batch.lengths()[r % b];
            (0..len).for_each(|p| value.row_mut(r * t + p)[0] = 1.0 / len as f32);
        }
        Ok(Scalar::Cotangent { at: self.end(), sites: Sites::All, value })
    }

    fn gradients(&self, table: &mut Table) -> Result<()> {
        let (b, t, e) = (self.batch.rows(), self.batch.len(), self.model.arch().embedding.width);
        let want = self.expected.shaped("grad_embeddings", &[b, t, e])?;
        let words_want = self.expected.shaped("input_embeddings", &[b, t, e])?;
        let scalar_want = self.expected.shaped("scalar", &[b])?;
        let plan = Plan::default().capture(HookPoint::Embed).gradient(self.scalar(1)?, &[HookPoint::Embed]);
        let trace = self.model.forward(&self.batch, &plan)?;
        let scalars = if self.model.has_head() { scalar_want.data } else { vec![scalar_want.data.iter().sum()] };
        table.close("explained scalar", "", &trace.scalars, &scalars, LOGITS);
        let words = trace.get(HookPoint::Embed)?;
        table.close("word embeddings", "", &words.data, &words_want.data, SAME);
        let got = trace.gradient(HookPoint::Embed)?;
        let allowed = GRADIENT * largest(&want.data);
        table.close("gradients to the embeddings", "", &got.data, &want.data, allowed);
        if self.expected.has("grad_l2") {
            let want = self.expected.shaped("grad_l2", &[b, t])?;
            let wide: Vec<f64> = got.data.iter().map(|&v| f64::from(v)).collect();
            table.close64("gradient norms", "", &norms(&wide, e), &want.data, allowed);
        }
        Ok(())
    }

    fn integrated(&self, table: &mut Table, pulse: &mut dyn Pulse) -> Result<()> {
        let (b, t, e) = (self.batch.rows(), self.batch.len(), self.model.arch().embedding.width);
        let steps = self.expected.json().field("ig").field("steps").whole(1, MOST)?;
        let want = self.expected.shaped("ig.trapezoid.sum", &[b, t])?.data;
        let allowed = ATTRIBUTION * largest(&want);
        let full = self.path(steps, self.scalar_kind(false), pulse)?;
        let sums: Vec<f64> = full.chunks(e).map(|r| r.iter().sum()).collect();
        table.close64("integrated gradients, sums", "", &sums, &want, allowed);
        if self.expected.has("ig.trapezoid.l2") {
            let want = self.expected.shaped("ig.trapezoid.l2", &[b, t])?;
            table.close64("integrated gradients, norms", "", &norms(&full, e), &want.data, allowed);
        }
        if self.expected.has("ig.trapezoid.full") {
            let want = self.expected.shaped("ig.trapezoid.full", &[b, t, e])?;
            table.close64("integrated gradients, full", "", &full, &want.data, allowed);
        }
        self.ranking(&sums, &want, allowed, table);
        if self.model.has_head() && self.expected.has("ig_probability.trapezoid.sum") {
            let want = self.expected.shaped("ig_probability.trapezoid.sum", &[b, t])?.data;
            let full = self.path(steps, self.scalar_kind(true), pulse)?;
            let sums: Vec<f64> = full.chunks(e).map(|r| r.iter().sum()).collect();
            let allowed = ATTRIBUTION * largest(&want);
            table.close64("integrated gradients of the probability", "", &sums, &want, allowed);
        }
        Ok(())
    }

    /// Counts pairs of tokens in a sentence that are ranked differently although their scores differ by more than the tolerance.
    fn ranking(&self, got: &[f64], want: &[f64], allowed: f64, table: &mut Table) {
        let (mut swapped, mut pairs) = (0, 0);
        for (row, &n) in self.batch.lengths().iter().enumerate() {
            let at = row * self.batch.len();
            let (got, want) = (&got[at..at + n], &want[at..at + n]);
            for i in 0..n {
                for j in 0..n {
                    if want[i] - want[j] > allowed {
                        pairs += 1;
                        swapped += usize::from(got[i] <= got[j]);
                    }
                }
            }
        }
        table.add("ranking of tokens, pairs", "", pairs, f64::from(swapped as u32), 0.0);
    }

    fn scalar_kind(&self, probability: bool) -> impl Fn(usize) -> Result<Scalar> {
        move |n| {
            Ok(match self.scalar(n)? {
                Scalar::Logit(targets) if probability => Scalar::Probability(targets),
                other => other,
            })
        }
    }

    fn words(&self, batch: &Batch) -> Result<Array> {
        self.model.forward(batch, &Plan::default().capture(HookPoint::Embed))?.take(HookPoint::Embed)
    }

    /// Integrates with the trapezoid rule from the baseline's embeddings to the input's; returns attributions `[B,T,E]`.
    fn path(&self, steps: usize, scalar: impl Fn(usize) -> Result<Scalar>, pulse: &mut dyn Pulse) -> Result<Vec<f64>> {
        let (b, t) = (self.batch.rows(), self.batch.len());
        let baseline = self.expected.indices("baseline_ids", &[b, t], self.model.arch().vocab)?;
        let lists = |ids: &[u32]| -> Vec<Vec<u32>> {
            ids.chunks(t).zip(self.batch.lengths()).map(|(row, &n)| row[..n].to_vec()).collect()
        };
        let baseline: Vec<u32> = baseline.iter().map(|&i| i as u32).collect();
        let base = self.words(&Batch::new(&lists(&baseline), self.pad)?)?;
        let input = self.words(&self.batch)?;
        let (ids, types) = (lists(self.batch.ids()), lists(self.batch.types()));
        let mut total = vec![0f64; input.data.len()];
        let points: Vec<usize> = (0..=steps).collect();
        for chunk in points.chunks((ROWS / b).max(1)) {
            pulse.beat(chunk[0], steps)?;
            let n = chunk.len();
            let mut x = Array::zeros([b * n, t, input.width()]);
            for (part, &s) in x.data.chunks_mut(input.data.len()).zip(chunk) {
                let share = s as f32 / steps as f32;
                let pairs = base.data.iter().zip(&input.data);
                part.iter_mut().zip(pairs).for_each(|(v, (from, to))| *v = from + share * (to - from));
            }
            let repeated = |rows: &[Vec<u32>]| -> Vec<Vec<u32>> { (0..n).flat_map(|_| rows.to_vec()).collect() };
            let batch = Batch::with_types(&repeated(&ids), &repeated(&types), self.pad)?;
            let plan = Plan::default().from_embeddings(x).gradient(scalar(n)?, &[HookPoint::Embed]);
            let trace = self.model.forward(&batch, &plan)?;
            let gradient = trace.gradient(HookPoint::Embed)?;
            for (part, &s) in gradient.data.chunks(total.len()).zip(chunk) {
                let weight = if s == 0 || s == steps { 0.5 } else { 1.0 } / steps as f64;
                total.iter_mut().zip(part).for_each(|(sum, &g)| *sum += weight * f64::from(g));
            }
        }
        for (v, (to, from)) in total.iter_mut().zip(input.data.iter().zip(&base.data)) {
            *v *= f64::from(to - from);
        }
        match total.iter().all(|v| v.is_finite()) {
            true => Ok(total),
            false => Err(ModelError::Compute("integrated gradients are not finite".into())),
        }
    }
}
