//! The setup of the lab: its settings.

use super::{own, ran, view, view_mut};
use crate::setup::Plain;
use labs::LabId;
use labs::prompts::Spec;
use labs::prompts::settings::settings;

pub(crate) static SETUP: Plain<Spec> = Plain {
    lab: LabId::Prompts,
    example: include_bytes!("../../../../sessions/prompts.probity.jsonl"),
    main: "ranks.subset",
    short: &["models", "data.prompts", "data.instances", "data.mentions", "query.candidates", "ranks.subset"],
    shipped: Spec::shipped,
    settings,
    spec: |state| &view(state).spec,
    spec_mut: |state| &mut view_mut(state).spec,
    ran,
    own,
};
