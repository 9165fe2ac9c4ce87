//! The setup of the lab: its settings.

use super::{own, ran, view, view_mut};
use crate::setup::Plain;
use crate::state::State;
use engine::board::Run;
use labs::prompts::results::Results;
use labs::prompts::settings::settings;
use labs::prompts::{Spec, built_in_relations as built_in};
use labs::setting::KnownRelation;
use labs::{LabId, LabResults};

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
    relations,
};

/// Relations of the data in the settings: the built-in ones, or those that a run of the session found in the same files.
fn relations(state: &State) -> Vec<KnownRelation> {
    let data = &view(state).spec.data;
    if data.files.is_empty() {
        return built_in().to_vec();
    }
    let mut all: Vec<KnownRelation> = if data.built_in { built_in().to_vec() } else { Vec::new() };
    let same = |run: &&Run| own(&run.job.spec).is_some_and(|spec| spec.data.paths() == data.paths());
    for results in state.board.runs_of(LabId::Prompts).filter(same).filter_map(|run| Results::within(&run.results)) {
        let ids = results.data.iter().flat_map(|found| &found.value.relations);
        for id in ids.filter(|id| all.iter().all(|known| known.id != **id)).cloned().collect::<Vec<_>>() {
            let label = results.relation(&id).map_or_else(String::new, |found| found.value.label.clone());
            all.push(KnownRelation { id, label });
        }
    }
    all
}
