//! The setup of the lab: its settings.

use std::path::{Path, PathBuf};

use super::{ID, own, ran, view, view_mut};
use crate::action::Effect;
use crate::setup::Plain;
use crate::state::State;
use base::NoPulse;
use engine::board::Run;
use labs::prompts::library::Library;
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

/// Reads the relations in files of facts and prompts; none if they cannot be read, which a run reports.
pub(crate) fn relations_in(paths: &[PathBuf]) -> Vec<KnownRelation> {
    let named: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    let files: Vec<(&Path, &str)> = paths.iter().map(AsRef::as_ref).zip(named.iter().map(String::as_str)).collect();
    let found = Library::read(&files, &mut NoPulse).map_or_else(|_| Vec::new(), |library| library.relations);
    found.into_iter().map(|r| KnownRelation { id: r.id, label: r.label }).collect()
}

/// Requests the relations in the files of the settings, unless they are known or on another machine.
pub(crate) fn read_relations(state: &mut State) -> Option<Effect> {
    let paths = view(state).spec.data.paths();
    let here = state.replay.is_none() && state.far.is_none();
    if !here || paths.is_empty() || view(state).in_files.0 == paths {
        return None;
    }
    view_mut(state).in_files = (paths.clone(), Vec::new());
    Some(Effect::ReadRelations(ID, paths))
}

pub(crate) fn on_relations(state: &mut State, paths: &[PathBuf], found: Vec<KnownRelation>) {
    let known = &mut view_mut(state).in_files;
    if known.0 == paths {
        known.1 = found;
    }
}

/// Relations of the data in the settings: the built-in ones, or those found in the same files by reading them or by a run.
fn relations(state: &State) -> Vec<KnownRelation> {
    let data = &view(state).spec.data;
    if data.files.is_empty() {
        return built_in().to_vec();
    }
    let mut all: Vec<KnownRelation> = if data.built_in { built_in().to_vec() } else { Vec::new() };
    let read = &view(state).in_files;
    for relation in read.1.iter().filter(|_| read.0 == data.paths()) {
        if all.iter().all(|known| known.id != relation.id) {
            all.push(relation.clone());
        }
    }
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
