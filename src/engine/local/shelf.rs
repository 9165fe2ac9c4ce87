//! The models in memory.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::base::Cancelled;
use crate::lab::Fault;
use crate::model::hub::Transfer;
use crate::model::{Device, Dtype, Model, ModelSource};

/// Models kept in memory, the latest used last.
pub struct Shelf {
    device: Device,
    dtype: Dtype,
    most: usize,
    models: VecDeque<(String, Arc<Model>)>,
}

impl Shelf {
    /// A shelf for at most so many models.
    pub fn new(device: Device, dtype: Dtype, most: usize) -> Self {
        Self { device, dtype, most: most.max(1), models: VecDeque::new() }
    }

    /// The device and the precision of its models.
    pub fn device(&self) -> String {
        self.device.with(self.dtype)
    }

    /// Whether a model is in memory.
    pub fn holds(&self, name: &str) -> bool {
        self.models.iter().any(|(n, _)| n == name)
    }

    /// A model by name, loaded where it is not in memory. The one unused for longest makes room before the new one is read,
    /// so that the peak is that of what stays.
    ///
    /// # Errors
    /// [`Fault`], cancellation by `on_transfer` included.
    pub fn load(
        &mut self,
        name: &str,
        on_transfer: &mut dyn FnMut(&Transfer<'_>) -> Result<(), Cancelled>,
    ) -> Result<Arc<Model>, Fault> {
        if let Some(at) = self.models.iter().position(|(n, _)| n == name)
            && let Some(entry) = self.models.remove(at)
        {
            let model = entry.1.clone();
            self.models.push_back(entry);
            return Ok(model);
        }
        let source: ModelSource = name.parse()?;
        while self.models.len() >= self.most {
            self.models.pop_front();
        }
        let model = Arc::new(Model::load_with(&source, (self.device, self.dtype), on_transfer)?);
        self.models.push_back((name.to_owned(), model.clone()));
        Ok(model)
    }
}
