//! The setup of the lab: its settings.

use super::{own, ran, view, view_mut};
use crate::lab::saliency::settings::settings;
use crate::lab::setting::{SettingError, Value};
use crate::lab::{self, LabId};
use crate::tui::action::Effect;
use crate::tui::setup::{Row, Setup, known};
use crate::tui::state::State;

/// The setup, for the screen.
pub static SETUP: SaliencySetup = SaliencySetup;

/// The setup of the lab.
pub struct SaliencySetup;

impl Setup for SaliencySetup {
    fn lab(&self) -> LabId {
        LabId::Saliency
    }

    fn rows(&self, state: &State) -> Vec<Row> {
        let (view, ran, known) = (view(state), ran(state), known(state));
        settings().iter().map(|s| Row::of(s, &view.spec, ran, &known)).collect()
    }

    fn set(&self, state: &mut State, key: &str, value: Value) -> Result<Vec<Effect>, SettingError> {
        let known = known(state);
        let setting = settings().into_iter().find(|s| s.key == key).ok_or(SettingError::NotOffered)?;
        setting.set(&mut view_mut(state).spec, &known, value)?;
        Ok(Vec::new())
    }

    fn main(&self) -> &'static str {
        "integrated_gradients.steps"
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
