//! Training small models from nothing: seeded initial values, cross entropy at chosen places, AdamW.

use std::path::Path;

use candle_core::{Tensor, Var};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Normal};

use super::net::Network;
use super::tap::{self, Tap};
use super::{open_device, ops, run, to_host};
use crate::model::arch::{Arch, Role};
use crate::model::array::Array;
use crate::model::batch::Batch;
use crate::model::device::Device;
use crate::model::error::{ModelError, Result};
use crate::model::families::Family;
use crate::model::params::Params;
use crate::model::plan::{Plan, Sites, Start, Target};
use crate::model::trace::Trace;
use crate::model::weights;

/// Standard deviation of initial weights (BERT, GPT-2).
const INITIAL_SD: f32 = 0.02;

/// AdamW (Loshchilov and Hutter, 2019) with clipping by the global norm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamW {
    /// Decay of the first moment.
    pub beta1: f64,
    /// Decay of the second moment.
    pub beta2: f64,
    /// Added to the root of the second moment.
    pub eps: f64,
    /// Decoupled decay of matrices and tables (not of biases and norms), times the learning rate.
    pub weight_decay: f64,
    /// Largest global gradient norm.
    pub clip: f64,
}

impl Default for AdamW {
    fn default() -> AdamW {
        AdamW { beta1: 0.9, beta2: 0.98, eps: 1e-8, weight_decay: 0.01, clip: 1.0 }
    }
}

/// One trained parameter and its moments.
struct Slot {
    name: String,
    role: Role,
    var: Var,
    first: Tensor,
    second: Tensor,
}

/// A model in training.
pub struct Trainer {
    arch: Arch,
    device: candle_core::Device,
    net: Network,
    slots: Vec<Slot>,
    settings: AdamW,
    steps: u64,
}

impl Trainer {
    /// Starts from normal deviates of standard deviation 0.02 (biases 0, norm weights 1), drawn from ChaCha8 in the order
    /// of [`Arch::parameters`]. The same seed gives the same numbers on every machine.
    ///
    /// # Errors
    /// [`ModelError::Config`] if the architecture is inconsistent; [`ModelError::Device`]; [`ModelError::Compute`].
    pub fn new(arch: &Arch, seed: u64, settings: AdamW, device: Device) -> Result<Trainer> {
        let params = initial(arch, seed)?;
        Trainer::from_params(arch, &params, settings, device)
    }

    /// Starts from given parameters.
    ///
    /// # Errors
    /// As [`Trainer::new`]; [`ModelError::MissingTensor`].
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

    /// One step on the mean cross entropy at `targets` (a causal model predicts `token` at the position *before* it);
    /// returns that mean in nats, as it was before the step.
    ///
    /// # Errors
    /// [`ModelError::Training`] for a target outside the batch, or a loss that is not finite (nothing is changed
    /// then); the errors of [`Batch::check`].
    pub fn step(&mut self, batch: &Batch, targets: &[Target], lr: f64) -> Result<f32> {
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

    /// The mean cross entropy at `targets` in nats; nothing is changed.
    ///
    /// # Errors
    /// As [`Trainer::step`].
    pub fn loss(&self, batch: &Batch, targets: &[Target]) -> Result<f32> {
        Ok(self.graph(batch, targets)?.to_scalar()?)
    }

    fn graph(&self, batch: &Batch, targets: &[Target]) -> Result<Tensor> {
        batch.check(&self.arch)?;
        if targets.is_empty() {
            return Err(ModelError::Training("no targets".into()));
        }
        for t in targets {
            if !batch.output().is_token(t.row, t.position) || t.token as usize >= self.arch.vocab {
                return Err(ModelError::Training(format!(
                    "target {t:?} lies outside the batch or vocabulary"
                )));
            }
        }
        let mut tap = Tap::training(batch, &self.arch, &self.device);
        let extent = Plan::default().logits_at(Sites::All).extent(&self.arch);
        let h = self.net.hidden(batch, &Start::Tokens, extent, &mut tap)?;
        let sites = Sites::At(targets.iter().map(|t| (t.row, t.position)).collect());
        let rows = self.net.final_norm(&tap::select(&h, &sites, batch.output().len())?, &mut tap)?;
        let logits = self.net.logits(&rows, None)?;
        let ids = Tensor::from_vec(
            targets.iter().map(|t| t.token).collect::<Vec<u32>>(),
            (targets.len(), 1),
            &self.device,
        )?;
        Ok(ops::log_softmax(&logits)?.gather(&ids, 1)?.mean_all()?.neg()?)
    }

    /// Runs a plan on the model as it stands.
    ///
    /// # Errors
    /// As [`Model::forward`](crate::model::Model::forward).
    pub fn forward(&self, batch: &Batch, plan: &Plan) -> Result<Trace> {
        batch.check(&self.arch)?;
        plan.check("model in training", &self.arch, batch)?;
        run(&self.net, &self.device, batch, plan)
    }

    /// The architecture.
    pub fn arch(&self) -> &Arch {
        &self.arch
    }

    /// Steps taken.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The parameters as they stand, on the host.
    ///
    /// # Errors
    /// [`ModelError::Compute`].
    pub fn params(&self) -> Result<Params> {
        let mut params = Params::default();
        for s in &self.slots {
            params.insert(s.name.clone(), to_host(s.var.as_tensor(), s.var.dims())?);
        }
        Ok(params)
    }

    /// Writes `config.json` and `model.safetensors` (f16) with the names of the family's own checkpoints into `dir`,
    /// which is created if need be. Together with a `tokenizer.json` that makes an ordinary Hugging Face folder.
    ///
    /// # Errors
    /// [`ModelError::Io`]; [`ModelError::Weights`] if a value does not fit f16.
    pub fn export(&self, dir: &Path) -> Result<()> {
        let family = Family::of(&self.arch)?;
        let config = family.config.ok_or_else(|| {
            ModelError::Training(format!("folders of '{}' are read, not written", self.arch.family))
        })?;
        let tensors = self.params()?.to_checkpoint(&self.arch, family)?;
        std::fs::create_dir_all(dir).map_err(ModelError::io(dir))?;
        weights::write_f16(&dir.join("model.safetensors"), &tensors)?;
        let mut text = serde_json::to_string_pretty(&config(&self.arch))
            .map_err(|e| ModelError::Training(e.to_string()))?;
        text.push('\n');
        weights::write_whole(&dir.join("config.json"), text.as_bytes())
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

/// Initial parameters of an architecture; see [`Trainer::new`].
///
/// # Errors
/// [`ModelError::Config`] if the architecture is inconsistent.
pub fn initial(arch: &Arch, seed: u64) -> Result<Params> {
    let wrong = |what| ModelError::Config { file: "architecture".into(), what };
    arch.validate().map_err(wrong)?;
    let normal = Normal::new(0f32, INITIAL_SD).map_err(|e| wrong(e.to_string()))?;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut params = Params::default();
    for p in arch.parameters() {
        let n: usize = p.shape.iter().product();
        let data = match p.role {
            Role::Weight => (0..n).map(|_| normal.sample(&mut rng)).collect(),
            Role::Bias => vec![0.0; n],
            Role::Scale => vec![1.0; n],
        };
        params.insert(p.name, Array::new(p.shape, data));
    }
    Ok(params)
}

#[cfg(test)]
mod tests;
