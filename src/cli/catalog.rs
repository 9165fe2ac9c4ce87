//! The registries as the screen's catalog.

use crate::corpus::task::TASKS;
use crate::lab::interventions::method::Goal;
use crate::lab::interventions::options::SettingKind;
use crate::lab::interventions::{Scale, registry};
use crate::tui::catalog::{self, Catalog, MethodEntry, OptionEntry, ParameterEntry, TaskEntry};

/// Every registered method and task.
#[must_use]
pub fn catalog() -> Catalog {
    let methods = registry()
        .iter()
        .map(|method| {
            let p = method.parameter();
            MethodEntry {
                id: method.id().into(),
                title: method.title().into(),
                doc: method.doc().into(),
                goal: match method.goal() {
                    Goal::Counterfactual => "counterfactual".into(),
                    Goal::Nullifying => "nullifying".into(),
                },
                parameter: ParameterEntry {
                    name: p.name.into(),
                    symbol: p.symbol.into(),
                    scale: if p.scale == Scale::Log { catalog::Scale::Log } else { catalog::Scale::Linear },
                    min: p.min,
                    max: p.max,
                    default: p.default,
                    integer: p.scale == Scale::Integer,
                    grid: p.grid.to_vec(),
                },
                options: method
                    .settings()
                    .iter()
                    .map(|s| OptionEntry {
                        name: s.name.into(),
                        title: s.label.into(),
                        min: s.min,
                        max: s.max,
                        default: s.default,
                        integer: s.kind != SettingKind::Real,
                    })
                    .collect(),
            }
        })
        .collect();
    let tasks = TASKS
        .iter()
        .map(|task| TaskEntry {
            id: task.id.into(),
            title: task.title.into(),
            properties: task.properties.iter().map(|p| p.id.to_owned()).collect(),
        })
        .collect();
    Catalog { methods, tasks }
}
