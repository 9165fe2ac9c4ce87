//! Text fields: values, names, paths, and queries in help and palette.

use crate::action::Effect;
use crate::panes::table;
use crate::search;
use crate::setup;
use crate::state::{Popup, Prompt, Purpose, State, TextEntry, moved};
use base::text::printable;
use labs::setting::Kind;

/// Maximum length of typed text in characters; the rest of a longer paste is dropped.
const MAX_TYPED: usize = 1000;

/// The text and the byte offset of the caret.
fn buffer(state: &mut State) -> Option<(&mut String, usize)> {
    if let Some(entry) = &mut state.view.entry {
        (entry.error, entry.untouched) = (None, false);
        let caret = entry.caret();
        return Some((&mut entry.buffer, caret));
    }
    let text = match &mut state.view.popup {
        Some(Popup::Help { query, scroll }) => {
            *scroll = 0;
            query
        }
        Some(Popup::Palette { query, selected }) => {
            *selected = 0;
            query
        }
        _ => return None,
    };
    let end = text.len();
    Some((text, end))
}

/// Inserts text into the field. Line ends of a paste become spaces; other control characters are made visible.
pub fn insert(state: &mut State, text: &str) -> Vec<Effect> {
    if let Some(entry) = state.view.entry.as_mut().filter(|entry| entry.untouched) {
        entry.buffer.clear();
    }
    if let Some((buffer, caret)) = buffer(state) {
        let flat = text.trim_end_matches(['\r', '\n']).replace(['\r', '\n', '\t'], " ");
        let room = MAX_TYPED.saturating_sub(buffer.chars().count());
        let taken: String = printable(&flat).chars().take(room).collect();
        buffer.insert_str(caret, &taken);
    }
    follow(state)
}

pub fn erase(state: &mut State, all: bool) -> Vec<Effect> {
    if let Some((buffer, caret)) = buffer(state) {
        if all {
            buffer.clear();
        } else if let Some((at, _)) = buffer[..caret].char_indices().next_back() {
            buffer.remove(at);
        }
    }
    if all && let Some(entry) = &mut state.view.entry {
        entry.after = 0;
    }
    follow(state)
}

pub(crate) fn erase_after(state: &mut State) -> Vec<Effect> {
    if let Some(entry) = state.view.entry.as_mut().filter(|e| e.after > 0) {
        entry.buffer.remove(entry.caret());
        entry.after -= 1;
        entry.error = None;
    }
    follow(state)
}

pub fn step(state: &mut State, by: i64) -> Vec<Effect> {
    if let Some(entry) = &mut state.view.entry {
        entry.untouched = false;
        let all = entry.buffer.chars().count();
        entry.after = moved(entry.after, by.saturating_neg(), all + 1);
    }
    Vec::new()
}

/// Passes typed text to its consumer; rejects text that cannot become a valid number for the setting.
fn follow(state: &mut State) -> Vec<Effect> {
    let Some(entry) = &state.view.entry else { return Vec::new() };
    let text = entry.buffer.clone();
    match &entry.purpose {
        Purpose::Ask(Prompt { follow: Some(follow), .. }) => follow(state, &text),
        Purpose::Ask(_) => Vec::new(),
        Purpose::Setting(key) => {
            let numeric = setup::row(state, key).map(|row| row.kind).filter(Kind::numeric);
            let unfinished = text.chars().all(|c| c.is_ascii_digit() || "+-.eE".contains(c));
            let error = numeric.filter(|_| !unfinished).and_then(|kind| kind.parse(&text).err());
            if let (Some(error), Some(entry)) = (error, &mut state.view.entry) {
                entry.error = Some(error.to_string());
            }
            Vec::new()
        }
    }
}

pub fn cancel(state: &mut State) -> Vec<Effect> {
    match state.view.entry.take() {
        None => state.view.popup = None,
        // Nothing remains to be done: the list was filtered while the user typed.
        Some(entry) if table::is_filter(&entry.purpose) => {
            table::clear_filter(state);
        }
        Some(_) => {}
    }
    Vec::new()
}

/// Accepts the typed text; invalid text stays in the field, with the reason.
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
            found.get(selected).map_or(Vec::new(), |command| {
                state.view.recent.retain(|name| *name != command.name);
                state.view.recent.insert(0, command.name);
                super::perform(state, command)
            })
        }
        // Accepting a query in the help also closes the help.
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::popups;
    use crate::reduce::look;
    use crate::state::Start;

    fn state() -> State {
        State::new(Start::new())
    }

    #[test]
    fn typing_into_a_list_begins_again_at_its_top() {
        let mut state = state();
        popups::palette(&mut state);
        super::super::popup::travel(&mut state, 5);
        insert(&mut state, "e");
        assert!(matches!(&state.view.popup, Some(Popup::Palette { query, selected: 0 }) if query == "e"));
        popups::help(&mut state);
        super::super::popup::travel(&mut state, 5);
        erase(&mut state, false);
        assert!(matches!(&state.view.popup, Some(Popup::Help { scroll: 0, .. })));
    }

    #[test]
    fn a_field_at_the_bottom_takes_the_text_although_a_list_is_open() {
        let mut state = state();
        popups::palette(&mut state);
        look::name_session(&mut state);
        insert(&mut state, "x");
        assert_eq!(state.view.entry.as_ref().unwrap().buffer, "x");
        cancel(&mut state);
        assert!(state.view.entry.is_none() && state.view.popup.is_some(), "the text field closes before the popup");
        cancel(&mut state);
        assert!(state.view.popup.is_none());
    }

    #[test]
    fn what_cannot_be_taken_stays_until_it_is_changed() {
        let mut state = state();
        look::name_session(&mut state);
        insert(&mut state, "   ");
        assert!(accept(&mut state).is_empty());
        let entry = state.view.entry.as_ref().unwrap();
        assert_eq!((entry.buffer.as_str(), entry.error.as_deref()), ("   ", Some("type a name")));
        insert(&mut state, "n");
        assert_eq!(state.view.entry.as_ref().unwrap().error, None);
        assert_eq!(accept(&mut state), [Effect::NameSession("n".into())]);
    }

    #[test]
    fn nothing_is_typed_where_there_is_no_field() {
        let mut state = state();
        insert(&mut state, "x");
        erase(&mut state, true);
        assert!(accept(&mut state).is_empty() && state.view.entry.is_none());
        popups::show(&mut state, &popups::Notices);
        insert(&mut state, "x");
        assert_eq!(state.popup_name(), Some("notices"));
    }

    #[test]
    fn a_character_of_several_bytes_is_erased_whole() {
        let mut state = state();
        look::name_session(&mut state);
        insert(&mut state, "aé漢");
        erase(&mut state, false);
        erase(&mut state, false);
        assert_eq!(state.view.entry.as_ref().unwrap().buffer, "a");
    }

    #[test]
    fn a_text_is_edited_in_its_middle() {
        let mut state = state();
        look::name_session(&mut state);
        insert(&mut state, "aé漢d");
        step(&mut state, -2);
        insert(&mut state, "X");
        assert_eq!(state.view.entry.as_ref().unwrap().buffer, "aéX漢d");
        erase(&mut state, false);
        erase(&mut state, false);
        erase_after(&mut state);
        assert_eq!(state.view.entry.as_ref().unwrap().buffer, "ad");
        step(&mut state, i64::MIN);
        erase(&mut state, false);
        insert(&mut state, "漢");
        assert_eq!(state.view.entry.as_ref().unwrap().buffer, "漢ad", "there is nothing to erase at the beginning");
        step(&mut state, i64::MAX);
        erase_after(&mut state);
        insert(&mut state, "!");
        assert_eq!(state.view.entry.as_ref().unwrap().buffer, "漢ad!");
        erase(&mut state, true);
        insert(&mut state, "x");
        assert_eq!(state.view.entry.as_ref().unwrap().buffer, "x");
    }

    #[test]
    fn a_palette_entry_beyond_the_matches_does_nothing() {
        let mut state = state();
        state.view.popup = Some(Popup::Palette { query: "zzzz".into(), selected: 9 });
        assert!(accept(&mut state).is_empty() && state.view.popup.is_none());
    }
}
