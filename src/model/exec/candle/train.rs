//! Training by candle's autograd; what it does is said in [`crate::exec::train`].

use candle_core::{Tensor, Var};

use super::net::Network;
use super::tap::{self, Tap};
use super::{open_device, ops, run, to_host};
use crate::arch::{Arch, Role};
#[cfg(test)]
use crate::array::Array;
use crate::batch::Batch;
use crate::device::Device;
use crate::error::{ModelError, Result};
use crate::exec::train::{AdamW, Training, check};
use crate::params::Params;
use crate::plan::{Plan, Sites, Start, Target};
use crate::trace::Trace;

/// One trained parameter and its moments.
struct Slot {
    name: String,
    role: Role,
    var: Var,
    first: Tensor,
    second: Tensor,
}

pub struct Trainer {
    arch: Arch,
    device: candle_core::Device,
    net: Network,
    slots: Vec<Slot>,
    settings: AdamW,
    steps: u64,
}

impl Trainer {
    /// Starts from given parameters.
    pub fn from_params(arch: &Arch, params: &Params, settings: AdamW, device: Device) -> Result<Trainer> {
        let device = open_device(device)?;
        let mut slots = Vec::new();
        for p in arch.parameters() {
            let value = params.get(&p.name).ok_or_else(|| ModelError::MissingTensor {
                file: "parameters".into(),
                tensor: p.name.clone(),
                family: arch.family.clone(),
            })?;
            let var = Var::from_tensor(&super::from_host(value, &device)?)?;
            let zeros = var.zeros_like()?;
            slots.push(Slot { name: p.name, role: p.role, first: zeros.clone(), second: zeros, var });
        }
        let mut get = |name: &str| match slots.iter().find(|s| s.name == name) {
            Some(s) => Ok(s.var.as_tensor().clone()),
            None => Err(ModelError::Training(format!("no parameter '{name}'"))),
        };
        let net = Network::trained(arch, &device, &mut get)?;
        Ok(Trainer { arch: arch.clone(), device, net, slots, settings, steps: 0 })
    }

    fn graph(&self, batch: &Batch, targets: &[Target]) -> Result<Tensor> {
        check(&self.arch, batch, targets)?;
        let mut tap = Tap::training(batch, &self.arch, &self.device);
        let extent = Plan::default().logits_at(Sites::All).extent(&self.arch);
        let h = self.net.hidden(batch, &Start::Tokens, extent, &mut tap)?;
        let sites = Sites::At(targets.iter().map(|t| (t.row, t.position)).collect());
        let rows = self.net.final_norm(&tap::select(&h, &sites, batch.output().len())?, &mut tap)?;
        let logits = self.net.logits(&rows, None)?;
        let ids =
            Tensor::from_vec(targets.iter().map(|t| t.token).collect::<Vec<u32>>(), (targets.len(), 1), &self.device)?;
        Ok(ops::log_softmax(&logits)?.gather(&ids, 1)?.mean_all()?.neg()?)
    }
}

impl Training for Trainer {
    fn step(&mut self, batch: &Batch, targets: &[Target], lr: f64) -> Result<f32> {
        let loss = self.graph(batch, targets)?;
        let value: f32 = loss.to_scalar()?;
        if !value.is_finite() {
            return Err(ModelError::Training(format!("the loss became {value}; lower the learning rate")));
        }
        let mut gradients = loss.backward()?;
        let mut list = Vec::with_capacity(self.slots.len());
        let mut square = 0f64;
        for s in &self.slots {
            let g = gradients.remove(s.var.as_tensor());
            if let Some(g) = &g {
                square += f64::from(g.sqr()?.sum_all()?.to_scalar::<f32>()?);
            }
            list.push(g);
        }
        if !square.is_finite() {
            return Err(ModelError::Training("the gradient is not finite; lower the learning rate".into()));
        }
        let shrink = (self.settings.clip / square.sqrt().max(1e-12)).min(1.0);
        self.steps += 1;
        for (slot, gradient) in self.slots.iter_mut().zip(list) {
            // A parameter without gradient took no part in this loss (an unused head, say): it stays.
            if let Some(g) = gradient {
                slot.update(&(g * shrink)?, &self.settings, lr, self.steps)?;
            }
        }
        Ok(value)
    }

    fn loss(&self, batch: &Batch, targets: &[Target]) -> Result<f32> {
        Ok(self.graph(batch, targets)?.to_scalar()?)
    }

    fn forward(&self, batch: &Batch, plan: &Plan) -> Result<Trace> {
        batch.check(&self.arch)?;
        plan.check("model in training", &self.arch, batch)?;
        run(&self.net, &self.device, batch, plan)
    }

    fn arch(&self) -> &Arch {
        &self.arch
    }

    fn steps(&self) -> u64 {
        self.steps
    }

    fn params(&self) -> Result<Params> {
        let mut params = Params::default();
        for s in &self.slots {
            params.insert(s.name.clone(), to_host(s.var.as_tensor(), s.var.dims())?);
        }
        Ok(params)
    }

    #[cfg(test)]
    fn gradients(&mut self, batch: &Batch, targets: &[Target]) -> Result<Vec<Option<Array>>> {
        let mut store = self.graph(batch, targets)?.backward()?;
        let gradient = |s: &Slot| store.remove(s.var.as_tensor()).map(|g| to_host(&g, s.var.dims())).transpose();
        self.slots.iter().map(gradient).collect()
    }
}

impl Slot {
    fn update(&mut self, g: &Tensor, s: &AdamW, lr: f64, step: u64) -> Result<()> {
        self.first = ((&self.first * s.beta1)? + (g * (1.0 - s.beta1))?)?;
        self.second = ((&self.second * s.beta2)? + (g.sqr()? * (1.0 - s.beta2))?)?;
        let correct1 = 1.0 - s.beta1.powf(step as f64);
        let correct2 = 1.0 - s.beta2.powf(step as f64);
        let direction = ((&self.first / correct1)? / ((&self.second / correct2)?.sqrt()? + s.eps)?)?;
        let decay = if self.role == Role::Weight { 1.0 - lr * s.weight_decay } else { 1.0 };
        let next = ((self.var.as_tensor().detach() * decay)? - (direction * lr)?)?;
        Ok(self.var.set(&next)?)
    }
}
