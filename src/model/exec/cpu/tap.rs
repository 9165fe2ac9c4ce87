//! Edits, captures and gradients of a plan at the hook points of a pass.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::rows::{Rows, order};
use crate::arch::{Arch, Place};
use crate::array::Array;
use crate::batch::Batch;
use crate::error::{ModelError, Result};
use crate::hook::HookPoint;
use crate::plan::{EditKind, Gradient, Plan, Scalar, Sites};
use crate::trace::Trace;
use kernels::attention::Span;

/// State of a plan during one pass: its tasks at hook points, and the results so far. Groups of sentences write to it in parallel, each to
/// its own rows.
pub(super) struct Tap<'a> {
    pub plan: &'a Plan,
    arch: &'a Arch,
    captures: Vec<Mutex<Array>>,
    logits: Option<Mutex<Array>>,
    /// One value per target.
    values: Mutex<Vec<f32>>,
    /// Inner products with the cotangent by sentence, summed in order at the end.
    products: Mutex<Vec<f64>>,
    gradients: Vec<Mutex<Array>>,
    /// Last hook point that the backward pass must reach; `None` without a gradient.
    lowest: Option<usize>,
}

fn lock<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic on another thread ends the pass anyway, so partially written values are never read.
    m.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> Tap<'a> {
    /// Allocates everything that a plan requests.
    pub(crate) fn new(plan: &'a Plan, batch: &Batch, arch: &'a Arch) -> Result<Tap<'a>> {
        let zeros = |at: HookPoint, sites: &Sites| Mutex::new(Array::zeros(at.capture_shape(arch, batch, sites)));
        let (b, t) = (batch.rows(), batch.output().len());
        let mut tap = Tap {
            plan,
            arch,
            captures: plan.captures.iter().map(|c| zeros(c.at, &c.sites)).collect(),
            logits: plan.logits.as_ref().map(|l| {
                let width = l.vocab.as_ref().map_or(arch.vocab, Vec::len);
                Mutex::new(match &l.sites {
                    Sites::All => Array::zeros([b, t, width]),
                    Sites::At(list) => Array::zeros([list.len(), width]),
                })
            }),
            values: Mutex::default(),
            products: Mutex::default(),
            gradients: Vec::new(),
            lowest: None,
        };
        if let Some(g) = &plan.gradient {
            if let Some(missing) = g.wrt.iter().find(|p| !depends(&g.of, **p, arch)) {
                return Err(ModelError::MissingGradient(*missing));
            }
            tap.gradients = g.wrt.iter().map(|p| zeros(*p, &Sites::All)).collect();
            tap.lowest = g.wrt.iter().map(|p| order(*p, arch)).min();
            tap.values = Mutex::new(vec![0.0; g.of.targets().map_or(0, <[_]>::len)]);
            tap.products = Mutex::new(vec![0.0; b]);
        }
        Ok(tap)
    }

    /// True if the plan captures, edits or differentiates at a hook point.
    pub(crate) fn touches(&self, p: HookPoint) -> bool {
        self.plan.captures.iter().any(|c| c.at == p)
            || self.plan.edits.iter().any(|e| e.at == p)
            || self
                .plan
                .gradient
                .as_ref()
                .is_some_and(|g| g.wrt.contains(&p) || matches!(&g.of, Scalar::Cotangent { at, .. } if *at == p))
    }

    /// True if the backward pass ends at or above this hook point.
    pub(crate) fn ends_at(&self, p: HookPoint) -> bool {
        self.lowest.is_some_and(|l| l >= order(p, self.arch))
    }

    fn cotangent(&self, p: HookPoint) -> Option<(&Sites, &Array)> {
        match &self.plan.gradient {
            Some(Gradient { of: Scalar::Cotangent { at, sites, value }, .. }) if *at == p => Some((sites, value)),
            _ => None,
        }
    }

    /// Calls `f(sentence, row of x, row of the array for all sites)` for every site in `rows`.
    fn each_site(&self, sites: &Sites, rows: &Rows, selected: bool, mut f: impl FnMut(usize, usize, usize)) {
        match sites {
            Sites::All => {
                for (b, range) in rows.sentences() {
                    range.enumerate().for_each(|(t, row)| f(b, row, b * rows.len + t));
                }
            }
            Sites::At(list) => {
                for (i, site) in list.iter().enumerate() {
                    if let Some(row) = rows.row(*site, selected) {
                        f(site.0, row, i);
                    }
                }
            }
        }
    }

    /// Applies edits and captures to the vectors at a hook point. `selected` is true if `x` has only the selected rows.
    pub(crate) fn visit(&self, p: HookPoint, rows: &Rows, selected: bool, x: &mut [f32]) {
        if !self.touches(p) {
            return;
        }
        let width = p.width(self.arch).unwrap_or(1);
        for e in self.plan.edits.iter().filter(|e| e.at == p) {
            for (i, site) in e.sites.iter().enumerate() {
                let Some(row) = rows.row(*site, selected) else { continue };
                let value = if e.value.shape.len() == 1 { &e.value.data[..] } else { e.value.row(i) };
                let to = &mut x[row * width..(row + 1) * width];
                match e.how {
                    EditKind::Overwrite => to.copy_from_slice(value),
                    EditKind::Add => to.iter_mut().zip(value).for_each(|(t, v)| *t += v),
                }
            }
        }
        for (i, c) in self.plan.captures.iter().enumerate().filter(|(_, c)| c.at == p) {
            let mut out = lock(&self.captures[i]);
            self.each_site(&c.sites, rows, selected, |_, row, to| {
                out.row_mut(to).copy_from_slice(&x[row * width..(row + 1) * width]);
            });
        }
        if let Some((sites, value)) = self.cotangent(p) {
            let mut products = lock(&self.products);
            self.each_site(sites, rows, selected, |b, row, from| {
                products[b] += dot(&x[row * width..(row + 1) * width], value.row(from));
            });
        }
    }

    /// Backpropagates through a hook point: adds the cotangent, records the gradient, and stops it where vectors were overwritten.
    pub(crate) fn back(&self, p: HookPoint, rows: &Rows, selected: bool, d: &mut [f32]) {
        let Some(g) = self.plan.gradient.as_ref().filter(|_| self.touches(p)) else { return };
        let width = p.width(self.arch).unwrap_or(1);
        if let Some((sites, value)) = self.cotangent(p) {
            self.each_site(sites, rows, selected, |_, row, from| {
                let to = &mut d[row * width..(row + 1) * width];
                to.iter_mut().zip(value.row(from)).for_each(|(t, v)| *t += v);
            });
        }
        for (i, _) in g.wrt.iter().enumerate().filter(|(_, q)| **q == p) {
            let mut out = lock(&self.gradients[i]);
            for (b, range) in rows.sentences() {
                for t in 0..range.len() {
                    if let Some(row) = rows.row((b, t), selected) {
                        out.row_mut(b * rows.len + t).copy_from_slice(&d[row * width..(row + 1) * width]);
                    }
                }
            }
        }
        for e in self.plan.edits.iter().filter(|e| e.at == p && e.how == EditKind::Overwrite) {
            for row in e.sites.iter().filter_map(|s| rows.row(*s, selected)) {
                d[row * width..(row + 1) * width].fill(0.0);
            }
        }
    }

    pub(crate) fn visit_pattern(&self, p: HookPoint, of: Patterns<'_>, kept: &[f32]) {
        for (i, c) in self.plan.captures.iter().enumerate().filter(|(_, c)| c.at == p) {
            let mut out = lock(&self.captures[i]);
            of.each(&c.sites, |_, to, at| {
                let from = &kept[at];
                out.row_mut(to)[..from.len()].copy_from_slice(from);
            });
        }
        if let Some((sites, value)) = self.cotangent(p) {
            let mut products = lock(&self.products);
            of.each(sites, |b, from, at| products[b] += dot(&kept[at], value.row(from)));
        }
    }

    /// True if the scalar uses the values at this hook point.
    pub(crate) fn weighs(&self, p: HookPoint) -> bool {
        self.cotangent(p).is_some()
    }

    /// Adds the cotangent of attention probabilities, in the same layout.
    pub(crate) fn back_pattern(&self, p: HookPoint, of: Patterns<'_>, d: &mut [f32]) {
        if let Some((sites, value)) = self.cotangent(p) {
            of.each(sites, |_, from, at| {
                d[at].iter_mut().zip(value.row(from)).for_each(|(d, v)| *d += v);
            });
        }
    }

    /// Lists the sites of logits among these rows as (row of x, row of the output).
    pub(crate) fn logit_rows(&self, rows: &Rows, selected: bool, to: &mut Vec<(usize, usize)>) {
        to.clear();
        if let Some(l) = &self.plan.logits {
            self.each_site(&l.sites, rows, selected, |_, row, i| to.push((row, i)));
        }
    }

    /// Stores logits in the given rows of the output.
    pub(crate) fn put_logits(&self, to: impl Iterator<Item = usize>, logits: &[f32]) {
        if let Some(l) = &self.logits {
            let mut out = lock(l);
            let width = out.width();
            if width > 0 {
                to.zip(logits.chunks_exact(width)).for_each(|(i, row)| out.row_mut(i).copy_from_slice(row));
            }
        }
    }

    pub(crate) fn put_values(&self, targets: &[usize], values: &[f32]) {
        let mut out = lock(&self.values);
        targets.iter().zip(values).for_each(|(i, v)| out[*i] = *v);
    }

    pub(crate) fn finish(self) -> Trace {
        let take = |m: Mutex<Array>| m.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut trace = Trace {
            captures: self.plan.captures.iter().map(|c| c.at).zip(self.captures.into_iter().map(take)).collect(),
            logits: self.logits.map(take),
            ..Trace::default()
        };
        if let Some(g) = &self.plan.gradient {
            trace.scalars = match &g.of {
                Scalar::Cotangent { .. } => vec![lock(&self.products).iter().sum::<f64>() as f32],
                _ => std::mem::take(&mut *lock(&self.values)),
            };
            trace.gradients = g.wrt.iter().copied().zip(self.gradients.into_iter().map(take)).collect();
        }
        trace
    }
}

/// Layout of the attention probabilities of a group of sentences.
#[derive(Clone, Copy)]
pub(super) struct Patterns<'a> {
    /// Number of query heads.
    pub heads: usize,
    /// Rows of the queries.
    pub rows: &'a Rows,
    /// True if only selected rows are queries.
    pub selected: bool,
    /// Rows and visible keys of each sentence.
    pub spans: &'a [Span],
}

impl Patterns<'_> {
    /// Calls `f(sentence, row of the array for all sites, range of probabilities)` for every requested row; a row of the array is one head
    /// of one query.
    fn each(&self, sites: &Sites, mut f: impl FnMut(usize, usize, Range<usize>)) {
        let (heads, len) = (self.heads, self.rows.len);
        let at = |span: &Span, head: usize, query: usize| {
            let from = span.kept + (head * span.queries.len() + query) * span.ld();
            from..from + span.keys
        };
        match sites {
            Sites::All => {
                for ((b, _), span) in self.rows.sentences().zip(self.spans) {
                    for head in 0..heads {
                        for query in 0..span.queries.len() {
                            f(b, (b * heads + head) * len + query, at(span, head, query));
                        }
                    }
                }
            }
            Sites::At(list) => {
                for (i, site) in list.iter().enumerate() {
                    let found = self.rows.sentence(site.0).zip(self.rows.row(*site, self.selected));
                    let Some((s, row)) = found else { continue };
                    for head in 0..heads {
                        let query = row - self.spans[s].queries.start;
                        f(site.0, i * heads + head, at(&self.spans[s], head, query));
                    }
                }
            }
        }
    }
}

fn dot(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
}

/// True if a scalar depends on the vectors at a hook point.
fn depends(of: &Scalar, p: HookPoint, arch: &Arch) -> bool {
    let Scalar::Cotangent { at, .. } = of else { return true };
    // In parallel blocks the feed-forward part does not depend on attention.
    let apart =
        arch.place == Place::Parallel && matches!((p, *at), (HookPoint::AttnOut(l), HookPoint::MlpOut(m)) if l == m);
    // The first self-attention of the decoder does not depend on the encoder.
    let alone = matches!(at, HookPoint::DecoderPre(0) | HookPoint::DecoderPattern(0)) && !p.in_decoder();
    order(p, arch) <= order(*at, arch) && !apart && !alone
}
