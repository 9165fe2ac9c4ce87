//! Checkpoints in the form that candle-transformers expects: with tensors renamed, and modified where needed to match transformers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use candle_core::{DType, Device, Shape, Tensor};
use candle_nn::var_builder::SimpleBackend;
use candle_nn::{Init, VarBuilder};

use crate::arch::Arch;
use crate::array::Array;
use crate::error::{ModelError, Result};
use crate::weights::Checkpoint;
use base::text::shortened;

/// Modification of a tensor before it is passed to the library.
#[derive(Clone, Copy, Debug)]
pub(super) enum Change {
    /// Multiplies all values.
    Scale(f64),
    /// Multiplies the first `rotated` output rows of each head, among the first `rows`.
    ScaleRotated {
        /// Number of query rows.
        rows: usize,
        /// Rows per head.
        head: usize,
        /// Number of rotated rows per head.
        rotated: usize,
        by: f64,
    },
    /// Appends zero rows up to this number.
    PadRows(usize),
}

/// Conversion of names and values to the library's form.
#[derive(Default)]
pub(super) struct Rules {
    /// Name suffixes in the library and in checkpoints; the first that is stored takes precedence over the library's own name.
    pub renamed: Vec<(&'static str, &'static str)>,
    /// Name suffixes of tensors to modify, with the modifications.
    pub changed: Vec<(&'static str, Change)>,
}

/// Weights of a folder, with a record of the tensors that the library has requested.
pub(crate) struct Stored<'a> {
    weights: &'a Checkpoint,
    family: String,
    device: Device,
    /// True if the output matrix is the word-embedding table.
    tied: bool,
    memory: Mutex<Memory>,
}

#[derive(Default)]
struct Memory {
    /// Unmodified tensors, so that a tied table is stored once.
    kept: BTreeMap<String, Tensor>,
    asked: BTreeSet<String>,
    /// Cause of a library failure, which the library's error type cannot hold.
    failure: Option<ModelError>,
}

impl<'a> Stored<'a> {
    pub(crate) fn new(weights: &'a Checkpoint, arch: &Arch, device: &Device) -> Stored<'a> {
        let (family, device, tied) = (arch.family.clone(), device.clone(), arch.is_tied());
        Stored { weights, family, device, tied, memory: Mutex::default() }
    }

    pub(super) fn is_tied(&self) -> bool {
        self.tied
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        self.weights.contains(name)
    }

    pub(super) fn device(&self) -> &Device {
        &self.device
    }

    /// Creates the builder for the library's constructors.
    pub(super) fn builder(&self, rules: Rules) -> VarBuilder<'_> {
        let view = View { stored: self, rules };
        VarBuilder::from_backend(Box::new(view), DType::F32, self.device.clone())
    }

    /// Converts the result of a library call; its error becomes the stored cause, such as a missing tensor.
    pub(super) fn built<T>(&self, answer: candle_core::Result<T>) -> Result<T> {
        answer.map_err(|e| {
            let own = self.memory().failure.take();
            own.unwrap_or_else(|| ModelError::Weights {
                file: self.weights.label(),
                what: shortened(&e.to_string(), 300),
            })
        })
    }

    /// Returns block tensors that were not requested because the configuration excludes them.
    pub(crate) fn ignored(&self) -> Vec<String> {
        let memory = self.memory();
        let of_a_block = |n: &str| [".layers.", ".layer.", ".block."].iter().any(|part| n.contains(part));
        let buffer = |n: &str| n.ends_with("inv_freq");
        let names = self.weights.names().filter(|n| of_a_block(n) && !buffer(n) && !memory.asked.contains(*n));
        names.map(str::to_owned).collect()
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A folder's weights as seen through a set of rules.
struct View<'s, 'a> {
    stored: &'s Stored<'a>,
    rules: Rules,
}

impl View<'_, '_> {
    /// Returns the stored name for the library's `name`.
    fn name(&self, name: &str) -> String {
        let other = |(wanted, stored): &(&str, &str)| Some(format!("{}{stored}", name.strip_suffix(wanted)?));
        let mut others = self.rules.renamed.iter().filter_map(other);
        others.find(|n| self.stored.weights.contains(n)).unwrap_or_else(|| name.to_owned())
    }

    fn read(&self, wanted: Option<&[usize]>, name: &str) -> Result<Tensor> {
        let found = self.name(name);
        let changes: Vec<Change> =
            self.rules.changed.iter().filter(|(end, _)| name.ends_with(end)).map(|(_, c)| *c).collect();
        self.stored.memory().asked.insert(found.clone());
        let kept = self.stored.memory().kept.get(&found).cloned();
        if let Some(tensor) = kept.filter(|t| changes.is_empty() && wanted.is_none_or(|w| w == t.dims())) {
            return Ok(tensor);
        }
        let missing = || ModelError::MissingTensor {
            file: self.stored.weights.label(),
            tensor: name.to_owned(),
            family: self.stored.family.clone(),
        };
        let mut array = self.stored.weights.read(&found).ok_or_else(missing)??;
        for change in &changes {
            change.apply(&mut array);
        }
        if let Some(wanted) = wanted.filter(|w| **w != array.shape[..]) {
            return Err(ModelError::Weights {
                file: self.stored.weights.label(),
                what: format!("tensor '{found}' has shape {:?}; config.json requires {wanted:?}", array.shape),
            });
        }
        let tensor = Tensor::from_vec(array.data, array.shape, &self.stored.device)?;
        if changes.is_empty() {
            self.stored.memory().kept.insert(found, tensor.clone());
        }
        Ok(tensor)
    }

    fn served(&self, wanted: Option<&[usize]>, name: &str) -> candle_core::Result<Tensor> {
        self.read(wanted, name).map_err(|e| {
            let said = e.to_string();
            self.stored.memory().failure.get_or_insert(e);
            candle_core::Error::Msg(said)
        })
    }
}

impl SimpleBackend for View<'_, '_> {
    fn get(&self, s: Shape, name: &str, _: Init, _: DType, _: &Device) -> candle_core::Result<Tensor> {
        self.served(Some(s.dims()), name)
    }

    fn get_unchecked(&self, name: &str, _: DType, _: &Device) -> candle_core::Result<Tensor> {
        self.served(None, name)
    }

    fn contains_tensor(&self, name: &str) -> bool {
        self.stored.weights.contains(&self.name(name))
    }
}

impl Change {
    fn apply(self, array: &mut Array) {
        let multiply = |values: &mut [f32], by: f64| {
            values.iter_mut().for_each(|v| *v = (f64::from(*v) * by) as f32);
        };
        let width = array.shape.get(1).copied().unwrap_or(1);
        match self {
            Change::Scale(by) => multiply(&mut array.data, by),
            Change::ScaleRotated { rows, head, rotated, by } => {
                for (r, row) in array.data.chunks_mut(width.max(1)).take(rows).enumerate() {
                    if r % head < rotated {
                        multiply(row, by);
                    }
                }
            }
            Change::PadRows(rows) => {
                if let Some(have) = array.shape.first_mut().filter(|have| **have < rows) {
                    *have = rows;
                    array.data.resize(rows * width, 0.0);
                }
            }
        }
    }
}
