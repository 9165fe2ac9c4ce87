//! Popup commands: move, toggle, copy, accept.

use super::look;
use crate::action::Effect;
use crate::popups;
use crate::state::{Popup, State, moved};

/// Entries or lines per page step.
pub const PAGE: i64 = 10;

pub fn travel(state: &mut State, by: i64) -> Vec<Effect> {
    let last = popups::last(state);
    // Skips entries that the filter hides.
    let listed = popups::found(state);
    if let Some(Popup::Pick { selected, .. }) = &mut state.view.popup {
        let at = listed.iter().position(|entry| entry == selected).unwrap_or(0);
        if let Some(to) = listed.get(moved(at, by, listed.len())) {
            *selected = *to;
        }
        return Vec::new();
    }
    if let Some(
        Popup::Help { scroll: at, .. }
        | Popup::Palette { selected: at, .. }
        | Popup::Menu { selected: at }
        | Popup::Page { scroll: at, .. },
    ) = &mut state.view.popup
    {
        *at = moved(*at, by, last + 1);
    }
    Vec::new()
}

pub fn accept(state: &mut State) -> Vec<Effect> {
    if popups::found(state).is_empty() && !popups::filter(state).is_empty() {
        return Vec::new();
    }
    match state.view.popup.take() {
        Some(Popup::Pick { picker, selected, .. }) => picker.take(state, selected),
        Some(Popup::Menu { selected }) => {
            let entry = popups::menu_entries(state).get(selected).copied();
            entry.map_or(Vec::new(), |entry| super::perform(state, entry))
        }
        other => {
            state.view.popup = other;
            Vec::new()
        }
    }
}

pub fn mark(state: &mut State) -> Vec<Effect> {
    match state.view.popup {
        Some(Popup::Pick { picker, selected, .. }) if popups::found(state).contains(&selected) => {
            picker.mark(state, selected)
        }
        _ => Vec::new(),
    }
}

pub fn copy(state: &mut State) -> Vec<Effect> {
    let text = match state.view.popup {
        Some(Popup::Page { page, .. }) => page.copy(state),
        _ => None,
    };
    look::copied(state, text)
}

/// Clears the filter, or else closes the popup.
pub fn close(state: &mut State) -> Vec<Effect> {
    if !popups::filter(state).is_empty() {
        popups::narrow(state, "");
        return Vec::new();
    }
    state.view.popup = None;
    state.held = None;
    Vec::new()
}
