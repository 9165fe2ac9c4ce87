//! Names of a run's stages: hidden states, searches for probe settings, training runs, fits and strengths of the methods, probes on edited
//! states, the map, and the lens. The forecast counts work and the progress display looks up times under these names.

use super::panel::Slot;
use crate::key::MethodKey;

pub(crate) const STATES: &str = "states";
pub(crate) const MAP: &str = "map";
pub(crate) const LENS: &str = "lens";

pub(crate) fn search_of(slot: Slot) -> String {
    format!("search {slot:?}")
}

pub(crate) fn training_of(slot: Slot) -> String {
    format!("training {slot:?}")
}

pub(crate) fn fit_of(method: &MethodKey) -> String {
    format!("fit {}", method.title())
}

pub(crate) fn sweep_of(method: &MethodKey) -> String {
    format!("sweep {}", method.title())
}

pub(crate) fn leaks_of(method: &MethodKey) -> String {
    format!("leaks {}", method.title())
}
