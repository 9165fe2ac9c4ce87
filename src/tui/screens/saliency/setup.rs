//! The setup of the lab: its settings.

use super::{own, ran, view, view_mut};
use crate::setup::Plain;
use labs::LabId;
use labs::saliency::Spec;
use labs::saliency::settings::settings;

pub(crate) static SETUP: Plain<Spec> = Plain {
    lab: LabId::Saliency,
    example: include_bytes!("../../../../sessions/saliency.probity.jsonl"),
    main: "integrated_gradients.steps",
    short: &["models", "saliency.methods", "data.inputs", "attention.layer", "integrated_gradients.steps"],
    shipped: Spec::shipped,
    settings,
    spec: |state| &view(state).spec,
    spec_mut: |state| &mut view_mut(state).spec,
    ran,
    own,
    relations: |_| Vec::new(),
};
