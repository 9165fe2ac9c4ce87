//! The setup of the lab: its settings. Those that a comparison can take on without being made again are asked at once.

use super::{ask, own, ran, view, view_mut};
use crate::lab::power::settings::settings;
use crate::lab::setting::{SettingError, Value};
use crate::lab::{self, LabId};
use crate::tui::action::Effect;
use crate::tui::setup::{Row, Setup, known};
use crate::tui::state::State;

/// The setup, for the screen.
pub static SETUP: PowerSetup = PowerSetup;

/// Settings that need no new run.
const LIVE: [&str; 3] = ["test.alpha", "test.target", "test.margin"];
/// Rows that matter for files of results alone, and rows that matter for probes alone.
const OF_FILES: [&str; 2] = ["test.filter", "test.metric"];
const OF_PROBES: [&str; 4] = ["layer", "pooling", "classifier", "noise"];

/// The setup of the lab.
pub struct PowerSetup;

impl Setup for PowerSetup {
    fn lab(&self) -> LabId {
        LabId::Power
    }

    fn rows(&self, state: &State) -> Vec<Row> {
        let (spec, ran, known) = (&view(state).spec, ran(state), known(state));
        let files = spec.of_files();
        let shown = |key: &str| {
            let of_probes = OF_PROBES.iter().any(|f| key == format!("a.{f}") || key == format!("b.{f}"));
            let of_probes = of_probes || key.starts_with("task.") || key.starts_with("training.");
            if files { !of_probes } else { !OF_FILES.contains(&key) }
        };
        settings().iter().filter(|s| shown(&s.key)).map(|s| Row::of(s, spec, ran, &known)).collect()
    }

    fn set(&self, state: &mut State, key: &str, value: Value) -> Result<Vec<Effect>, SettingError> {
        let (known, mut spec) = (known(state), view(state).spec.clone());
        let Some(setting) = settings().into_iter().find(|s| s.key == key) else {
            return Err(SettingError::NotOffered);
        };
        setting.set(&mut spec, &known, value)?;
        view_mut(state).spec = spec;
        Ok(if LIVE.contains(&key) { ask(state) } else { Vec::new() })
    }

    fn main(&self) -> &'static str {
        "test.target"
    }

    fn spec(&self, state: &State) -> lab::Spec {
        view(state).spec.clone().into()
    }

    fn take(&self, state: &mut State, spec: &lab::Spec) {
        if let Some(spec) = own(spec) {
            view_mut(state).spec = spec.clone();
        }
    }
}
