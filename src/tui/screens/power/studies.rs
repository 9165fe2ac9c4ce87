//! Picker of the paper's studies, and the list of known data sets.

use super::{own, results, view_mut};
use crate::panes::table::{Row, Table};
use crate::popups::Presets;
use crate::state::State;
use labs::power::summary::span;
use labs::power::survey::{HEADS, Verdict, verdicts};
use labs::{LabId, Spec};

pub(crate) static STUDIES: Presets =
    Presets { lab: LabId::Power, name: "studies", what: "Studies of Zhu et al.", adopt };

fn adopt(state: &mut State, spec: Spec) {
    if let Some(spec) = own(&spec) {
        let view = view_mut(state);
        (view.spec, view.pilot) = (spec.clone(), None);
    }
}

/// Published data sets, each compared with the required sizes; `None` before the first comparison.
pub(crate) fn known_sets(state: &State) -> Option<Table> {
    let row = |set: Verdict| {
        let numbers = [None, Some(set.set.test as f64), None, set.set.train.map(|n| n as f64), None];
        Row { cells: set.cells().into_iter().zip(numbers).collect(), last: None }
    };
    Some(Table {
        columns: HEADS.to_vec(),
        rows: verdicts(results(state))?.into_iter().map(row).collect(),
        sort: (1, false),
        first: Some(FIRST),
        legend: &["Sizes from Zhu et al. 2022, Tables 8 and 9; the verdicts assume items like those of the pilot."],
        ..Table::default()
    })
}

/// Minimum width of the names of data sets.
const FIRST: usize = 28;

/// The title of the list of data sets, with the required number of test items.
pub(crate) fn needed_of_sets(state: &State) -> String {
    let found = results(state);
    match (found.collapsed(), found.needed()) {
        (None, Some(needed)) => format!("Known sets; {} test items needed", span(&needed.value.n_test)),
        _ => "Known sets".into(),
    }
}
