//! Moving, marking and accepting in popups.

use super::{commands, job};
use crate::tui::action::Effect;
use crate::tui::panes;
use crate::tui::search;
use crate::tui::state::setup::Touched;
use crate::tui::state::{Popup, QUIT_CHOICES, State};

/// Moves the cursor of the popup, or scrolls it.
pub(super) fn travel(state: &mut State, by: i64) {
    let last = match &state.view.popup {
        None => return,
        Some(Popup::Palette { query, .. }) => search::palette(state, query).len().saturating_sub(1),
        Some(Popup::Methods { .. }) => state.catalog.methods.len().saturating_sub(1),
        Some(Popup::Quit { .. }) => QUIT_CHOICES.len() - 1,
        Some(Popup::Help { .. } | Popup::Provenance { .. } | Popup::Notices { .. }) => {
            panes::popup_overflow(state)
        }
    };
    let Some(mut popup) = state.view.popup.take() else { return };
    let (Popup::Help { scroll: at, .. }
    | Popup::Palette { selected: at, .. }
    | Popup::Methods { selected: at }
    | Popup::Provenance { scroll: at }
    | Popup::Notices { scroll: at }
    | Popup::Quit { selected: at }) = &mut popup;
    *at = (*at as i64 + by).clamp(0, last as i64) as usize;
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
