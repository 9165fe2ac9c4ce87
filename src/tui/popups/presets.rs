//! The picker of a lab's presets.

use ratatui::text::Line;

use super::{Picker, mark};
use crate::action::Effect;
use crate::state::State;
use crate::theme::Role;
use base::text::pad;
use labs::{LabId, Preset, Spec};

/// Picker of presets; choosing one sets the lab up.
pub(crate) struct Presets {
    pub lab: LabId,
    /// See [`Picker::name`].
    pub name: &'static str,
    /// Word for the entries, in the title.
    pub what: &'static str,
    pub(crate) adopt: fn(&mut State, Spec),
}

impl Picker for Presets {
    fn name(&self) -> &'static str {
        self.name
    }

    fn title(&self, state: &State) -> String {
        format!("{}: {} sets up", self.what, state.keymap.short_label("popup-accept"))
    }

    fn lines(&self, state: &State, selected: usize) -> Vec<Line<'static>> {
        let line = |(i, preset): (usize, &Preset)| {
            let role = if i == selected { Role::Selection } else { Role::Text };
            let text = format!("{}{} {}", mark(state, i == selected), pad(preset.name, 12), preset.title);
            Line::styled(text, state.theme().style(role))
        };
        labs::by_id(self.lab).presets().iter().enumerate().map(line).collect()
    }

    fn take(&self, state: &mut State, entry: usize) -> Vec<Effect> {
        let Some(preset) = labs::by_id(self.lab).presets().get(entry) else { return Vec::new() };
        let Ok(spec) = labs::Spec::of_preset(preset) else { return Vec::new() };
        (self.adopt)(state, spec);
        let run = state.keymap.label("run");
        state.view.toast = Some(format!("set up as {}; {run} runs it", preset.name));
        Vec::new()
    }
}
