//! Training on a candle device; see [`crate::exec::train`].
//!
//! All parameters form one vector, and so do the first and the second moments. A step of AdamW therefore takes only a few operations,
//! regardless of the number of parameters.

use candle_core::{D, DType, Tensor, Var};

use super::net::Network;
use super::tap::{self, Tap};
use super::value::{Gradients, Value};
use super::{open_device, run, to_host};
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

/// The length of the parameter vector is a multiple of this number, so that sums over it take two short steps.
const ROW: usize = 1024;

/// A parameter and its part of the vector.
struct Slot {
    name: String,
    value: Value,
}

pub struct Trainer {
    arch: Arch,
    device: candle_core::Device,
    /// All parameters in the order of `slots`, followed by zeros.
    values: Var,
    first: Tensor,
    second: Tensor,
    /// Mask with one for values with weight decay and zero for others.
    decaying: Tensor,
    slots: Vec<Slot>,
    /// Network over these parameters, with gradients.
    net: Network,
    /// Network over these parameters, without gradients.
    plain: Network,
    settings: AdamW,
    steps: u64,
}

impl Trainer {
    pub fn from_params(arch: &Arch, params: &Params, settings: AdamW, device: Device) -> Result<Trainer> {
        let device = open_device(device)?;
        let (mut values, mut decaying, mut places) = (Vec::new(), Vec::new(), Vec::new());
        for p in arch.parameters() {
            let value = params.get(&p.name).ok_or_else(|| ModelError::MissingTensor {
                file: "parameters".into(),
                tensor: p.name.clone(),
                family: arch.family.clone(),
            })?;
            places.push((p.name, values.len(), value.shape.clone()));
            values.extend_from_slice(&value.data);
            decaying.resize(values.len(), if p.role == Role::Weight { 1f32 } else { 0.0 });
        }
        let len = values.len().next_multiple_of(ROW);
        values.resize(len, 0.0);
        decaying.resize(len, 0.0);
        let values = Var::from_vec(values, len, &device)?;
        let all = values.as_detached_tensor();
        let mut slots = Vec::with_capacity(places.len());
        for (name, start, shape) in places {
            let value = all.narrow(0, start, shape.iter().product())?.reshape(shape)?;
            slots.push(Slot { name, value: Value::constant(value).watched() });
        }
        let find = |name: &str| match slots.iter().find(|s| s.name == name) {
            Some(s) => Ok(s.value.clone()),
            None => Err(ModelError::Training(format!("no parameter '{name}'"))),
        };
        let net = Network::trained(arch, &device, &mut |name| find(name))?;
        let plain = Network::trained(arch, &device, &mut |name| Ok(Value::constant(find(name)?.tensor)))?;
        let zeros = Tensor::zeros(len, DType::F32, &device)?;
        let decaying = Tensor::from_vec(decaying, len, &device)?;
        let (first, second, arch) = (zeros.clone(), zeros, arch.clone());
        Ok(Trainer { arch, device, values, first, second, decaying, slots, net, plain, settings, steps: 0 })
    }

    /// Log-probabilities of the targets, `[N]`.
    fn graph(&self, net: &Network, batch: &Batch, targets: &[Target]) -> Result<Value> {
        check(&self.arch, batch, targets)?;
        let mut tap = Tap::idle(batch, &self.arch, &self.device);
        let extent = Plan::default().logits_at(Sites::All).extent(&self.arch);
        let h = net.hidden(batch, &Start::Tokens, extent, &mut tap)?;
        let sites = Sites::At(targets.iter().map(|t| (t.row, t.position)).collect());
        let rows = net.final_norm(&tap::select(&h, &sites, batch.output().len())?, &mut tap)?;
        net.log_probabilities_of(&rows, &targets.iter().map(|t| t.token).collect::<Vec<_>>())
    }

    /// Returns the mean cross entropy, still on the device, and its gradients.
    fn differentiate(&self, batch: &Batch, targets: &[Target]) -> Result<(Tensor, Gradients)> {
        let log = self.graph(&self.net, batch, targets)?;
        let share = (log.tensor.ones_like()? * (-1.0 / targets.len() as f64))?;
        Ok((log.tensor.mean_all()?.neg()?, log.backward(share)?))
    }

    fn flat(&self, mut gradients: Gradients) -> Result<Tensor> {
        let mut parts = Vec::with_capacity(self.slots.len() + 1);
        let mut rest = self.values.elem_count();
        for s in &self.slots {
            let missing = || ModelError::Training(format!("no gradient reached {}", s.name));
            let g = gradients.take(&s.value).ok_or_else(missing)?.flatten_all()?;
            rest -= g.elem_count();
            parts.push(g);
        }
        parts.push(Tensor::zeros(rest, DType::F32, &self.device)?);
        Ok(Tensor::cat(&parts, 0)?)
    }

    /// Takes a step of AdamW along a gradient scaled by the clipping factor.
    fn update(&mut self, g: &Tensor, clip: f64, lr: f64) -> Result<()> {
        let s = self.settings;
        let decayed = |moment: &Tensor, beta: f64, g: Tensor, factor: f64| -> Result<Tensor> {
            Ok(((moment * beta)? + (g * (factor * (1.0 - beta)))?)?)
        };
        self.first = decayed(&self.first, s.beta1, g.clone(), clip)?;
        self.second = decayed(&self.second, s.beta2, g.sqr()?, clip * clip)?;
        let correct1 = 1.0 - s.beta1.powf(self.steps as f64);
        let correct2 = 1.0 - s.beta2.powf(self.steps as f64);
        let root = ((&self.second / correct2)?.sqrt()? + s.eps)?;
        let kept = (self.values.as_detached_tensor() * self.decaying.affine(-lr * s.weight_decay, 1.0)?)?;
        Ok(self.values.set(&(kept - (&self.first * (lr / correct1))?.div(&root)?)?)?)
    }
}

impl Training for Trainer {
    fn step(&mut self, batch: &Batch, targets: &[Target], lr: f64) -> Result<f32> {
        let (loss, gradients) = self.differentiate(batch, targets)?;
        let gradient = self.flat(gradients)?;
        let square = gradient.sqr()?.reshape(((), ROW))?.sum(D::Minus1)?.sum_all()?;
        // The loss and the norm are copied together, because each copy to the host waits for the device.
        let numbers: Vec<f32> = Tensor::stack(&[loss, square], 0)?.to_vec1()?;
        let (value, square) = (numbers[0], f64::from(numbers[1]));
        if !value.is_finite() {
            return Err(ModelError::Training(format!("the loss became {value}; lower the learning rate")));
        }
        if !square.is_finite() {
            return Err(ModelError::Training("the gradient is not finite; lower the learning rate".into()));
        }
        self.steps += 1;
        self.update(&gradient, (self.settings.clip / square.sqrt().max(1e-12)).min(1.0), lr)?;
        Ok(value)
    }

    fn loss(&self, batch: &Batch, targets: &[Target]) -> Result<f32> {
        Ok(self.graph(&self.plain, batch, targets)?.tensor.mean_all()?.neg()?.to_scalar()?)
    }

    fn forward(&self, batch: &Batch, plan: &Plan) -> Result<Trace> {
        batch.check(&self.arch)?;
        plan.check("model in training", &self.arch, batch)?;
        run(&self.plain, &self.device, batch, plan)
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
            params.insert(s.name.clone(), to_host(&s.value.tensor, s.value.tensor.dims())?);
        }
        Ok(params)
    }

    #[cfg(test)]
    fn gradients(&mut self, batch: &Batch, targets: &[Target]) -> Result<Vec<Option<Array>>> {
        let (_, mut found) = self.differentiate(batch, targets)?;
        let gradient = |s: &Slot| found.take(&s.value).map(|g| to_host(&g, s.value.tensor.dims())).transpose();
        self.slots.iter().map(gradient).collect()
    }
}
