//! Text fields: values, the session's name, the queries of help and palette.

use super::{commands, data, models};
use crate::base::numbers::number;
use crate::base::text::printable;
use crate::tui::action::Effect;
use crate::tui::key::Key;
use crate::tui::search;
use crate::tui::state::{Lab, Pane, Popup, Purpose, Row, State, TextEntry};

/// Longest text that is taken; a paste may be of any length.
const MAX_TYPED: usize = 1000;

/// A digit in the setup pane starts typing the value of the slider under the cursor.
pub(super) fn begins(state: &mut State, key: Key) -> bool {
    let main =
        state.view.lab == Lab::Interventions && state.view.popup.is_none() && state.view.entry.is_none();
    let Some(c) = key.character().filter(|c| c.is_ascii_digit() || *c == '.') else { return false };
    let row = state.row().filter(|row| State::typable(*row));
    let Some(row) = row.filter(|_| main && state.view.focus == Pane::Setup) else { return false };
    if state.replay.is_some() && row != Row::Parameter {
        return false;
    }
    state.view.entry = Some(TextEntry { purpose: Purpose::Value(row), buffer: c.to_string(), error: None });
    true
}

/// Opens the text field of the slider under the cursor, or of the marker.
pub(super) fn open(state: &mut State) {
    let row = if state.view.focus == Pane::Setup { state.row() } else { Some(Row::Parameter) };
    match row.filter(|row| State::typable(*row) && (state.replay.is_none() || *row == Row::Parameter)) {
        Some(row) => {
            let entry = TextEntry { purpose: Purpose::Value(row), buffer: String::new(), error: None };
            state.view.entry = Some(entry);
        }
        None => state.view.toast = Some("this row takes no number".into()),
    }
}

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
pub(super) fn insert(state: &mut State, text: &str) {
    if let Some(buffer) = buffer(state) {
        let flat = text.trim_end_matches(['\r', '\n']).replace(['\r', '\n', '\t'], " ");
        let room = MAX_TYPED.saturating_sub(buffer.chars().count());
        buffer.extend(printable(&flat).chars().take(room));
    }
}

/// Removes the last character, or all of them.
pub(super) fn erase(state: &mut State, all: bool) {
    if let Some(buffer) = buffer(state) {
        if all {
            buffer.clear();
        } else {
            buffer.pop();
        }
    }
}

/// Leaves the field and drops what was typed.
pub(super) fn cancel(state: &mut State) {
    if state.view.entry.take().is_none() {
        state.view.popup = None;
    }
}

/// Takes what was typed. What cannot be taken stays, with the reason.
pub(super) fn accept(state: &mut State, effects: &mut Vec<Effect>) {
    let Some(entry) = state.view.entry.clone() else {
        return accept_query(state, effects);
    };
    let text = entry.buffer.trim();
    let result = match entry.purpose {
        Purpose::Session if text.is_empty() => Err("type a name".to_owned()),
        Purpose::Session => {
            effects.push(Effect::NameSession(text.to_owned()));
            Ok(None)
        }
        Purpose::Model => models::add(state, text, effects).map(|()| None),
        Purpose::Data => data::add(state, text, effects).map(|()| None),
        Purpose::Value(Row::Phi) if "natural".starts_with(text) && !text.is_empty() => {
            state.spec.task.phi = None;
            Ok(None)
        }
        Purpose::Value(row) => match number(text).ok() {
            Some(value) => state.set(row, value).map(Some),
            None => Err("type a number, for example .112, 1/8, 5 % or 1e-3".into()),
        },
    };
    match result {
        Ok(touched) => {
            state.view.entry = None;
            if let Some(touched) = touched {
                commands::settle(state, touched, effects);
            }
        }
        Err(error) => state.view.entry = Some(TextEntry { error: Some(error), ..entry }),
    }
}

fn accept_query(state: &mut State, effects: &mut Vec<Effect>) {
    match state.view.popup.take() {
        Some(Popup::Palette { query, selected }) => {
            if let Some(command) = search::palette(state, &query).get(selected) {
                commands::perform(state, *command, effects);
            }
        }
        other => state.view.popup = other.filter(|p| !matches!(p, Popup::Help { .. })),
    }
}
