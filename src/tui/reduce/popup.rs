//! Moving, marking and accepting in popups.

use super::{commands, job};
use crate::tui::action::Effect;
use crate::tui::panes;
use crate::tui::search;
use crate::tui::state::setup::Touched;
use crate::tui::state::{Popup, QUIT_CHOICES, State};

/// Moves the cursor of the popup, or scrolls it.
pub(super) fn travel(state: &mut State, by: i64) {
    let Some(mut popup) = state.view.popup.take() else { return };
    let (at, len) = match &mut popup {
        Popup::Help { query, scroll } => (scroll, search::help(&state.keymap, query).len()),
        Popup::Palette { query, selected } => (selected, search::palette(state, query).len()),
        Popup::Methods { selected } => (selected, state.catalog.methods.len()),
        Popup::Provenance { scroll } => (scroll, panes::provenance_lines(state)),
        Popup::Notices { scroll } => (scroll, state.notices().len()),
        Popup::Quit { selected } => (selected, QUIT_CHOICES.len()),
    };
    *at = (*at as i64 + by).clamp(0, len.saturating_sub(1) as i64) as usize;
    state.view.popup = Some(popup);
}

/// Takes what is under the cursor and closes the popup.
pub(super) fn accept(state: &mut State, effects: &mut Vec<Effect>) {
    match state.view.popup.take() {
        Some(Popup::Methods { selected }) => {
            if let Some(method) = state.catalog.methods.get(selected) {
                state.view.method = method.id.clone();
                commands::settle(state, Touched { point: true }, effects);
            }
        }
        Some(Popup::Quit { selected }) => job::answer_quit(state, selected, effects),
        _ => {}
    }
}

/// Lets the method under the cursor run, or not.
pub(super) fn mark(state: &mut State) {
    if let Some(Popup::Methods { selected }) = state.view.popup
        && let Some(id) = state.catalog.methods.get(selected).map(|m| m.id.clone())
    {
        state.toggle_method(&id);
    }
}
