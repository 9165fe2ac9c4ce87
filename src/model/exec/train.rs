//! Training of small models from scratch: seeded initial values, cross entropy at chosen positions, AdamW. The CPU executor trains on the
//! CPU and candle on GPUs, through the same interface.

use std::path::Path;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::{Distribution, Normal};

use super::{candle, cpu, on_cpu};
use crate::arch::{Arch, Role};
use crate::array::Array;
use crate::batch::Batch;
use crate::device::Device;
use crate::error::{ModelError, Result};
use crate::families::Family;
use crate::params::Params;
use crate::plan::{Plan, Target};
use crate::trace::Trace;
use crate::weights;

/// Standard deviation of initial weights, as in BERT and GPT-2.
const INITIAL_SD: f32 = 0.02;

/// AdamW (Loshchilov and Hutter, 2019) with clipping by the global norm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamW {
    /// Decay rate of the first moment.
    pub beta1: f64,
    /// Decay rate of the second moment.
    pub beta2: f64,
    /// Constant added to the square root of the second moment.
    pub eps: f64,
    /// Decoupled decay of matrices and tables, but not of biases and norms; multiplied by the learning rate.
    pub weight_decay: f64,
    /// Maximum global gradient norm.
    pub clip: f64,
}

impl Default for AdamW {
    fn default() -> AdamW {
        AdamW { beta1: 0.9, beta2: 0.98, eps: 1e-8, weight_decay: 0.01, clip: 1.0 }
    }
}

pub(super) trait Training: Send {
    fn step(&mut self, batch: &Batch, targets: &[Target], lr: f64) -> Result<f32>;
    fn loss(&self, batch: &Batch, targets: &[Target]) -> Result<f32>;
    fn forward(&self, batch: &Batch, plan: &Plan) -> Result<Trace>;
    fn arch(&self) -> &Arch;
    fn steps(&self) -> u64;
    fn params(&self) -> Result<Params>;
    /// Serializes steps, parameters and moments, so that training can resume; `None` if unsupported.
    fn state(&self) -> Option<Vec<u8>> {
        None
    }
    /// Restores [`Self::state`]; returns false if the state belongs to a different model.
    fn restore(&mut self, _state: &[u8]) -> bool {
        false
    }
    /// Gradients of all parameters in the order of [`Arch::parameters`].
    #[cfg(test)]
    fn gradients(&mut self, batch: &Batch, targets: &[Target]) -> Result<Vec<Option<Array>>>;
}

pub struct Trainer(Box<dyn Training>);

impl Trainer {
    /// Starts from random parameters: normal with standard deviation 0.02 (biases 0, norm weights 1), drawn with ChaCha8 in the order of
    /// [`Arch::parameters`]. A seed gives the same values on every machine.
    ///
    /// # Errors
    /// [`ModelError::Config`] if the architecture is inconsistent; [`ModelError::Device`]; [`ModelError::Compute`].
    pub fn new(arch: &Arch, seed: u64, settings: AdamW, device: Device) -> Result<Trainer> {
        let params = initial(arch, seed)?;
        Trainer::from_params(arch, &params, settings, device)
    }

    pub fn from_params(arch: &Arch, params: &Params, settings: AdamW, device: Device) -> Result<Trainer> {
        Ok(Trainer(if on_cpu(device) {
            Box::new(cpu::train::Trainer::from_params(arch, params, settings)?)
        } else {
            Box::new(candle::train::Trainer::from_params(arch, params, settings, device)?)
        }))
    }

    /// Takes one step on the mean cross entropy at `targets` and returns its value before the step, in nats. A causal model predicts each
    /// `token` at the position *before* it.
    ///
    /// # Errors
    /// [`ModelError::Training`] for a target outside the batch, or for a loss that is not finite, without changing anything; errors of
    /// [`Batch::check`].
    pub fn step(&mut self, batch: &Batch, targets: &[Target], lr: f64) -> Result<f32> {
        self.0.step(batch, targets, lr)
    }

    /// Returns the mean cross entropy at `targets` in nats, without training.
    pub fn loss(&self, batch: &Batch, targets: &[Target]) -> Result<f32> {
        self.0.loss(batch, targets)
    }

    /// Runs a plan on the current parameters.
    pub fn forward(&self, batch: &Batch, plan: &Plan) -> Result<Trace> {
        self.0.forward(batch, plan)
    }

    pub fn arch(&self) -> &Arch {
        self.0.arch()
    }

    pub fn steps(&self) -> u64 {
        self.0.steps()
    }

    /// Copies the current parameters to the host.
    pub fn params(&self) -> Result<Params> {
        self.0.params()
    }

    /// Serializes everything needed to resume training exactly; `None` on a GPU.
    pub fn state(&self) -> Option<Vec<u8>> {
        self.0.state()
    }

    /// Restores [`Trainer::state`]. Returns false, without changing anything, if it does not fit this model.
    pub fn restore(&mut self, state: &[u8]) -> bool {
        self.0.restore(state)
    }

    /// Writes `config.json` and `model.safetensors` (f16) to `dir`, with the names of the family's checkpoints, creating the folder if
    /// needed. With a `tokenizer.json`, this is a regular Hugging Face folder.
    ///
    /// # Errors
    /// [`ModelError::Io`]; [`ModelError::Weights`] if a value is out of range for f16.
    pub fn export(&self, dir: &Path) -> Result<()> {
        let arch = self.arch();
        let family = Family::of(arch)?;
        let config = family.config.ok_or_else(|| {
            ModelError::Training(format!("models of family '{}' can be loaded but not exported", arch.family))
        })?;
        let tensors = self.params()?.to_checkpoint(arch, family)?;
        std::fs::create_dir_all(dir).map_err(ModelError::io(dir))?;
        weights::write_f16(&dir.join("model.safetensors"), &tensors)?;
        let mut text = serde_json::to_string_pretty(&config(arch)).map_err(|e| ModelError::Training(e.to_string()))?;
        text.push('\n');
        weights::write_whole(&dir.join("config.json"), text.as_bytes())
    }
}

/// Draws the initial parameters of an architecture; see [`Trainer::new`].
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

pub(super) fn check(arch: &Arch, batch: &Batch, targets: &[Target]) -> Result<()> {
    batch.check(arch)?;
    if targets.is_empty() {
        return Err(ModelError::Training("no targets".into()));
    }
    for t in targets {
        if !batch.output().is_token(t.row, t.position) || t.token as usize >= arch.vocab {
            return Err(ModelError::Training(format!("target {t:?} is outside the batch or vocabulary")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
