//! Text fields: values, names and paths, the queries of help and palette.

use crate::base::text::printable;
use crate::tui::action::Effect;
use crate::tui::search;
use crate::tui::setup;
use crate::tui::state::{Popup, Purpose, State, TextEntry};

/// Longest text that is taken; a paste may be of any length.
const MAX_TYPED: usize = 1000;

fn buffer(state: &mut State) -> Option<&mut String> {
    if let Some(entry) = &mut state.view.entry {
        entry.error = None;
        return Some(&mut entry.buffer);
    }
    match &mut state.view.popup {
        Some(Popup::Help { query, scroll }) => {
            *scroll = 0;
            Some(query)
        }
        Some(Popup::Palette { query, selected }) => {
            *selected = 0;
            Some(query)
        }
        _ => None,
    }
}

/// Adds text to the field. Line ends of a paste become spaces, other control characters visible.
pub fn insert(state: &mut State, text: &str) {
    if let Some(buffer) = buffer(state) {
        let flat = text.trim_end_matches(['\r', '\n']).replace(['\r', '\n', '\t'], " ");
        let room = MAX_TYPED.saturating_sub(buffer.chars().count());
        buffer.extend(printable(&flat).chars().take(room));
    }
}

/// Removes the last character, or all of them.
pub fn erase(state: &mut State, all: bool) -> Vec<Effect> {
    if let Some(buffer) = buffer(state) {
        if all {
            buffer.clear();
        } else {
            buffer.pop();
        }
    }
    Vec::new()
}

/// Leaves the field and drops what was typed.
pub fn cancel(state: &mut State) -> Vec<Effect> {
    if state.view.entry.take().is_none() {
        state.view.popup = None;
    }
    Vec::new()
}

/// Takes what was typed. What cannot be taken stays, with the reason.
pub fn accept(state: &mut State) -> Vec<Effect> {
    let Some(entry) = state.view.entry.take() else { return accept_query(state) };
    let text = entry.buffer.trim();
    let result = match &entry.purpose {
        Purpose::Setting(key) => setup::typed(state, key, text),
        Purpose::Ask(prompt) => (prompt.take)(state, text),
    };
    match result {
        Ok(effects) => effects,
        Err(error) => {
            state.view.entry = Some(TextEntry { error: Some(error), ..entry });
            Vec::new()
        }
    }
}

fn accept_query(state: &mut State) -> Vec<Effect> {
    match state.view.popup.take() {
        Some(Popup::Palette { query, selected }) => {
            let found = search::palette(state, &query);
            found.get(selected).map_or(Vec::new(), |command| super::perform(state, command))
        }
        // The help is closed by taking its query, too.
        _ => Vec::new(),
    }
}
