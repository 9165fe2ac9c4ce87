//! The models in memory.

use std::collections::VecDeque;
use std::sync::Arc;

use base::Cancelled;
use labs::Fault;
use model::hub::Transfer;
use model::{Device, Dtype, Model, ModelSource};

/// Models in memory, the most recently used last.
pub(crate) struct ModelCache {
    device: Device,
    dtype: Dtype,
    most: usize,
    models: VecDeque<(String, Arc<Model>)>,
}

impl ModelCache {
    pub(crate) fn new(device: Device, dtype: Dtype, most: usize) -> Self {
        Self { device, dtype, most: most.max(1), models: VecDeque::new() }
    }

    /// The device and the precision of the models.
    pub(crate) fn device(&self) -> String {
        self.device.with(self.dtype)
    }

    pub(crate) fn holds(&self, name: &str) -> bool {
        self.models.iter().any(|(n, _)| n == name)
    }

    /// Returns a model by name, loaded if necessary. The least recently used model is removed before a new one is read, so that memory
    /// never contains more models than allowed.
    pub(crate) fn load(
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

#[cfg(test)]
mod tests {
    use super::*;

    fn load(shelf: &mut ModelCache, name: &str) -> Arc<Model> {
        shelf.load(name, &mut |_| Ok(())).unwrap()
    }

    #[test]
    fn models_load_once_with_lru_eviction() {
        let mut shelf = ModelCache::new(Device::Cpu, Dtype::F32, 2);
        let first = load(&mut shelf, "bert-tiny");
        load(&mut shelf, "untrained:bert-tiny");
        assert!(Arc::ptr_eq(&first, &load(&mut shelf, "bert-tiny")), "the model is already in memory");
        load(&mut shelf, "gpt2-tiny");
        assert!(shelf.holds("bert-tiny") && shelf.holds("gpt2-tiny"));
        assert!(!shelf.holds("untrained:bert-tiny"), "the least recently used model was removed");
    }

    #[test]
    fn shelf_holds_at_least_one_model() {
        let mut shelf = ModelCache::new(Device::Cpu, Dtype::F32, 0);
        load(&mut shelf, "bert-tiny");
        assert!(shelf.holds("bert-tiny"));
        load(&mut shelf, "gpt2-tiny");
        assert!(shelf.holds("gpt2-tiny") && !shelf.holds("bert-tiny"));
    }

    #[test]
    fn failed_load_is_reported_and_not_cached() {
        let mut shelf = ModelCache::new(Device::Cpu, Dtype::F32, 1);
        let Err(Fault::Failed(problem)) = shelf.load("./no/such/folder", &mut |_| Ok(())) else {
            panic!("there is no such folder")
        };
        assert!(problem.to_string().contains("no/such/folder"), "{problem}");
        assert!(!shelf.holds("./no/such/folder"));
        assert!(shelf.device().contains("cpu"), "{}", shelf.device());
    }
}
