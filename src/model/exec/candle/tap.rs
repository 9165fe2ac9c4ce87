//! Edits, captures and gradients of a plan at the hook points of a pass.

use candle_core::{Device, Tensor};

use super::value::Value;
use super::{from_host, ops, to_host};
use crate::arch::Arch;
use crate::array::Array;
use crate::batch::Batch;
use crate::error::{ModelError, Result};
use crate::hook::HookPoint;
use crate::plan::{Edit, EditKind, Gradient, Plan, Scalar, Sites};
use crate::trace::Trace;

/// State of a plan during one pass: its tasks at hook points, and the results so far.
pub(super) struct Tap<'a> {
    plan: &'a Plan,
    batch: &'a Batch,
    arch: &'a Arch,
    device: &'a Device,
    captured: Vec<Option<Tensor>>,
    /// Values whose gradients are requested.
    watched: Vec<Option<Value>>,
    /// Values and their weights (the seed of the backward pass); the weighted sum is the scalar to differentiate.
    of: Option<(Value, Tensor)>,
}

/// An empty plan with a static lifetime.
static IDLE: Plan =
    Plan { start: crate::plan::Start::Tokens, captures: Vec::new(), logits: None, edits: Vec::new(), gradient: None };

impl<'a> Tap<'a> {
    pub(crate) fn new(plan: &'a Plan, batch: &'a Batch, arch: &'a Arch, device: &'a Device) -> Tap<'a> {
        Tap {
            plan,
            batch,
            arch,
            device,
            captured: vec![None; plan.captures.len()],
            watched: vec![None; plan.gradient.as_ref().map_or(0, |g| g.wrt.len())],
            of: None,
        }
    }

    /// Creates a tap that reads and changes nothing.
    pub(crate) fn idle(batch: &'a Batch, arch: &'a Arch, device: &'a Device) -> Tap<'a> {
        Tap::new(&IDLE, batch, arch, device)
    }

    /// Creates a tap for the same pass that ignores all hook points.
    pub(crate) fn silent(&self) -> Tap<'a> {
        Tap::idle(self.batch, self.arch, self.device)
    }

    /// True if the plan uses the final norm.
    pub(crate) fn touches_final_norm(&self) -> bool {
        self.touches(HookPoint::FinalNorm)
    }

    fn touches(&self, p: HookPoint) -> bool {
        let p_is = |q: &HookPoint| *q == p;
        self.plan.captures.iter().any(|c| p_is(&c.at))
            || self.plan.edits.iter().any(|e| p_is(&e.at))
            || self
                .plan
                .gradient
                .as_ref()
                .is_some_and(|g| g.wrt.iter().any(p_is) || matches!(&g.of, Scalar::Cotangent { at, .. } if p_is(at)))
    }

    /// Passes a value through a hook point: `[B T, W]`, or `[B,H,T,T]` for attention.
    pub(crate) fn visit(&mut self, p: HookPoint, x: Value) -> Result<Value> {
        if !self.touches(p) {
            return Ok(x);
        }
        let mut x = x;
        for e in self.plan.edits.iter().filter(|e| e.at == p) {
            x = self.apply(e, &x)?;
        }
        if let Some(g) = &self.plan.gradient {
            for (i, _) in g.wrt.iter().enumerate().filter(|(_, q)| **q == p) {
                x = x.watched();
                self.watched[i] = Some(x.clone());
            }
        }
        for (i, c) in self.plan.captures.iter().enumerate().filter(|(_, c)| c.at == p) {
            self.captured[i] = Some(self.select_at(p, &x, &c.sites)?.tensor);
        }
        if let Some(Gradient { of: Scalar::Cotangent { at, sites, value }, .. }) = &self.plan.gradient
            && *at == p
        {
            let chosen = self.select_at(p, &x, sites)?;
            let value = from_host(value, self.device)?.reshape(chosen.tensor.shape())?;
            self.of = Some((chosen, value));
        }
        Ok(x)
    }

    fn select_at(&self, p: HookPoint, x: &Value, sites: &Sites) -> Result<Value> {
        let len = self.shape(p, &Sites::All)[if p.is_pattern() { 2 } else { 1 }];
        match sites {
            // Converts [B,H,T,K] to one row of H K values per position.
            Sites::At(_) if p.is_pattern() => {
                let (b, h, t, k) = x.tensor.dims4()?;
                let x = ops::reshape(&ops::swap_middle(x)?, (b * t, h * k))?;
                select(&x, sites, len)
            }
            _ => select(x, sites, len),
        }
    }

    fn shape(&self, p: HookPoint, sites: &Sites) -> Vec<usize> {
        p.capture_shape(self.arch, self.batch, sites)
    }

    /// Applies one edit to `[B T, W]`.
    fn apply(&self, e: &Edit, x: &Value) -> Result<Value> {
        let (n, width) = x.tensor.dims2()?;
        let len = n / self.batch.rows();
        let mut dense = Array::zeros([n, width]);
        let mut keep = vec![1u8; n];
        for (i, &(row, position)) in e.sites.iter().enumerate() {
            let at = row * len + position;
            let value = if e.value.shape.len() == 1 { &e.value.data } else { e.value.row(i) };
            keep[at] = 0;
            match e.how {
                EditKind::Overwrite => dense.row_mut(at).copy_from_slice(value),
                EditKind::Add => dense.row_mut(at).iter_mut().zip(value).for_each(|(d, v)| *d += v),
            }
        }
        let dense = from_host(&dense, self.device)?.to_dtype(x.tensor.dtype())?;
        match e.how {
            EditKind::Add => ops::shift(x, &dense),
            EditKind::Overwrite => ops::overwrite(x, Tensor::from_vec(keep, (n, 1), self.device)?, &dense),
        }
    }

    /// Sets the scalars computed by the head.
    pub(crate) fn set_scalars(&mut self, scalars: Value) -> Result<()> {
        let ones = scalars.tensor.ones_like()?;
        self.of = Some((scalars, ones));
        Ok(())
    }

    /// Runs the backward pass if requested and copies all results to the host.
    pub(crate) fn finish(self, trace: &mut Trace) -> Result<()> {
        for (c, t) in self.plan.captures.iter().zip(&self.captured) {
            let t = t.as_ref().ok_or_else(|| ModelError::Compute(format!("{} was not reached", c.at)))?;
            trace.captures.push((c.at, to_host(t, &self.shape(c.at, &c.sites))?));
        }
        let Some(g) = &self.plan.gradient else { return Ok(()) };
        let missing = || ModelError::MissingGradient(g.wrt[0]);
        let (of, seed) = self.of.as_ref().ok_or_else(missing)?;
        let scalars = match &g.of {
            Scalar::Cotangent { .. } => (&of.tensor * seed)?.sum_all()?.reshape(1)?,
            _ => of.tensor.clone(),
        };
        trace.scalars = scalars.to_vec1()?;
        let mut found = of.backward(seed.clone())?;
        for (p, value) in g.wrt.iter().zip(&self.watched) {
            let gradient = value.as_ref().and_then(|v| found.take(v));
            let gradient = gradient.ok_or(ModelError::MissingGradient(*p))?;
            trace.gradients.push((*p, to_host(&gradient, &self.shape(*p, &Sites::All))?));
        }
        Ok(())
    }
}

/// Selects rows of `[B T, W]` at sites.
pub(super) fn select(x: &Value, sites: &Sites, len: usize) -> Result<Value> {
    match sites {
        Sites::All => Ok(x.clone()),
        Sites::At(list) => ops::rows(x, list.iter().map(|&(b, t)| (b * len + t) as u32).collect()),
    }
}
