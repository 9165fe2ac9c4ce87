//! Training on the CPU: the executor's passes with gradients of weights, and a fused AdamW step; see [`crate::exec::train`].

use std::borrow::Cow;

use super::grads::Grads;
use super::state::{Keep, State};
use super::tap::Tap;
use super::{CpuExecutor, Pass};
use crate::arch::{Arch, Role};
use crate::array::Array;
use crate::batch::Batch;
use crate::dtype::Dtype;
use crate::error::{ModelError, Result};
use crate::exec::Executor;
use crate::exec::train::{AdamW, Training, check};
use crate::hook::HookPoint;
use crate::params::Params;
use crate::plan::{Gradient, Plan, Scalar, Target};
use crate::trace::Trace;
use kernels::adamw::{Step, square_sum, update};
use kernels::buffer::Buffer;
use kernels::team::Team;

/// A parameter in training and its moments.
struct Slot {
    name: String,
    role: Role,
    value: Array,
    first: Buffer,
    second: Buffer,
}

pub(crate) struct Trainer {
    executor: CpuExecutor,
    slots: Vec<Slot>,
    grads: Grads,
    state: State,
    settings: AdamW,
    steps: u64,
}

impl Trainer {
    pub(crate) fn from_params(arch: &Arch, params: &Params, settings: AdamW) -> Result<Trainer> {
        let executor = CpuExecutor::new(arch, params.clone(), Dtype::F32)?;
        let mut slots = Vec::new();
        for p in arch.parameters() {
            let value = params.get(&p.name).cloned().unwrap_or_default();
            let (mut first, mut second) = (Buffer::default(), Buffer::default());
            first.zeroed(value.data.len());
            second.zeroed(value.data.len());
            slots.push(Slot { name: p.name, role: p.role, value, first, second });
        }
        let (grads, state) = (Grads::new(arch), State::default());
        Ok(Trainer { executor, slots, grads, state, settings, steps: 0 })
    }

    /// Computes the gradients of the mean cross entropy in `self.grads` and returns the loss.
    fn differentiate(&mut self, batch: &Batch, targets: &[Target]) -> Result<f32> {
        let CpuExecutor { arch, weights, .. } = &self.executor;
        check(arch, batch, targets)?;
        let plan = Plan {
            gradient: Some(Gradient { of: Scalar::LogProbability(targets.to_vec()), wrt: Vec::new() }),
            ..Plan::default()
        };
        let tap = Tap::new(&plan, batch, arch)?;
        let angles = self.executor.angles(batch.len());
        let input = arch.decoder.map(|d| batch.decoder_input(d.start_token));
        let mut pass = Pass::new((arch, weights), (batch, input.as_ref()), &tap, angles.as_deref(), Keep::Weights);
        pass.team = Team::Pool;
        self.grads.clear();
        pass.up(&mut self.state, 0..batch.rows(), None);
        if let Some(g) = &plan.gradient {
            let weight = -1.0 / targets.len() as f32;
            pass.down(&mut self.state, &g.of, Some(weight), Some(&mut self.grads));
        }
        Ok(mean_loss(&tap.finish()))
    }
}

fn mean_loss(trace: &Trace) -> f32 {
    let sum: f64 = trace.scalars.iter().map(|v| f64::from(*v)).sum();
    (-sum / trace.scalars.len().max(1) as f64) as f32
}

impl Training for Trainer {
    fn step(&mut self, batch: &Batch, targets: &[Target], lr: f64) -> Result<f32> {
        let loss = self.differentiate(batch, targets)?;
        if !loss.is_finite() {
            return Err(ModelError::Training(format!("the loss became {loss}; lower the learning rate")));
        }
        let square: f64 = (0..self.slots.len()).filter_map(|id| self.grads.get(id)).map(square_sum).sum();
        if !square.is_finite() {
            return Err(ModelError::Training("the gradient is not finite; lower the learning rate".into()));
        }
        let s = self.settings;
        self.steps += 1;
        let correct = |beta: f64| (1.0 / (1.0 - beta.powf(self.steps as f64))) as f32;
        for (id, slot) in self.slots.iter_mut().enumerate() {
            // A parameter without a gradient, such as an unused head, did not take part in this loss and is not changed.
            let Some(g) = self.grads.get(id) else { continue };
            let decay = if slot.role == Role::Weight { lr * s.weight_decay } else { 0.0 };
            let step = Step {
                beta1: s.beta1 as f32,
                beta2: s.beta2 as f32,
                eps: s.eps as f32,
                shrink: (s.clip / square.sqrt().max(1e-12)).min(1.0) as f32,
                keep: (1.0 - decay) as f32,
                rate: lr as f32,
                correct1: correct(s.beta1),
                correct2: correct(s.beta2),
            };
            let (first, second) = (slot.first.as_mut(), slot.second.as_mut());
            update(Team::Pool, &step, &mut slot.value.data, g, first, second);
        }
        let slots = &self.slots;
        self.executor.weights.fill(&mut |id| Ok(Cow::Borrowed(&*slots[id].value.data)))?;
        Ok(loss)
    }

    fn loss(&self, batch: &Batch, targets: &[Target]) -> Result<f32> {
        let arch = &self.executor.arch;
        check(arch, batch, targets)?;
        // Only the values are needed, so the gradient is requested where it is cheapest.
        let top = match arch.decoder {
            Some(d) => HookPoint::DecoderPost(d.layers - 1),
            None => HookPoint::ResidPost(arch.layers - 1),
        };
        let plan = Plan::default().gradient(Scalar::LogProbability(targets.to_vec()), &[top]);
        Ok(mean_loss(&self.executor.run(batch, &plan)?))
    }

    fn forward(&self, batch: &Batch, plan: &Plan) -> Result<Trace> {
        batch.check(&self.executor.arch)?;
        plan.check("model in training", &self.executor.arch, batch)?;
        self.executor.run(batch, plan)
    }

    fn arch(&self) -> &Arch {
        &self.executor.arch
    }

    fn steps(&self) -> u64 {
        self.steps
    }

    fn params(&self) -> Result<Params> {
        let mut params = Params::default();
        for s in &self.slots {
            params.insert(s.name.clone(), s.value.clone());
        }
        Ok(params)
    }

    fn state(&self) -> Option<Vec<u8>> {
        let numbers: usize = self.slots.iter().map(|s| 3 * s.value.data.len()).sum();
        let mut bytes = Vec::with_capacity(8 + 4 * numbers);
        bytes.extend(self.steps.to_le_bytes());
        for s in &self.slots {
            for part in [&s.value.data[..], s.first.as_ref(), s.second.as_ref()] {
                part.iter().for_each(|v| bytes.extend(v.to_le_bytes()));
            }
        }
        Some(bytes)
    }

    fn restore(&mut self, state: &[u8]) -> bool {
        let numbers: usize = self.slots.iter().map(|s| 3 * s.value.data.len()).sum();
        let Some((steps, rest)) = state.split_first_chunk::<8>() else { return false };
        if rest.len() != 4 * numbers {
            return false;
        }
        let (all, _) = rest.as_chunks::<4>();
        let mut all = all.iter().map(|b| f32::from_le_bytes(*b));
        for slot in &mut self.slots {
            for part in [&mut slot.value.data[..], slot.first.as_mut(), slot.second.as_mut()] {
                part.iter_mut().zip(&mut all).for_each(|(v, x)| *v = x);
            }
        }
        self.steps = u64::from_le_bytes(*steps);
        let slots = &self.slots;
        self.executor.weights.fill(&mut |id| Ok(Cow::Borrowed(&*slots[id].value.data))).is_ok()
    }

    #[cfg(test)]
    fn gradients(&mut self, batch: &Batch, targets: &[Target]) -> Result<Vec<Option<Array>>> {
        self.differentiate(batch, targets)?;
        let array = |(id, s): (usize, &Slot)| self.grads.get(id).map(|g| Array::new(s.value.shape.clone(), g.to_vec()));
        Ok(self.slots.iter().enumerate().map(array).collect())
    }
}
