//! Tests of keys by pressing each one in every pane, rather than looking it up.

use std::collections::BTreeSet;

use super::*;

/// The keys of the frame and the screens, without those of menus, popups and fields.
fn pressed() -> BTreeSet<&'static str> {
    let outside = |e: &&&Entry| !matches!(e.context, Context::Menu(_) | Context::Popup | Context::Typing);
    COMMANDS.iter().filter(outside).flat_map(|e| e.keys.iter().copied()).chain(["2", "9", ".", "Q"]).collect()
}

/// Every screen with each of its panes in focus.
fn places() -> Vec<State> {
    let mut all = Vec::new();
    for screen in SCREENS {
        for pane in screen.panes() {
            let mut state = state();
            state.show(screen.id());
            state.focus_on(pane);
            all.push(state);
        }
    }
    all
}

/// All state that a key can change without an effect, as text.
fn seen(state: &State) -> String {
    format!("{:?} {:?} {:?} {:?}", state.view, state.screens, state.queue, state.board.generation)
}

/// Regression: a digit used to start a number before the table of keys was consulted, and tests checked only the table.
#[test]
fn no_key_types_itself_outside_a_field_and_none_is_silent() {
    // At the end of a list, a step changes nothing; `back` may have nothing to close.
    let silent =
        ["up", "down", "first", "last", "page-up", "page-down", "left", "right", "far-left", "far-right", "back"];
    let mut mute = Vec::new();
    for state in places() {
        let (title, pane) = (state.screen().title(), state.here().focus);
        for key in pressed() {
            let mut state = state.clone();
            let before = seen(&state);
            let command = command_of(&state, key.parse().unwrap()).map(|e| e.name);
            let effects = keys(&mut state, key);
            let typed = state.view.entry.as_ref().map_or("", |entry| entry.buffer.as_str());
            assert_ne!(typed, key, "{title}, {}", pane.0);
            // The key of the current screen changes nothing.
            let stays = command == Some(state.screen().tab().name);
            let quiet = stays || command.is_some_and(|name| silent.contains(&name));
            let answered = !effects.is_empty() || seen(&state) != before;
            if !answered && !quiet {
                mute.push(format!("{key} ({command:?}) in {title}, {}", pane.0));
            }
        }
    }
    assert!(mute.is_empty(), "{mute:#?}");
}

/// Regression: `2` used to start a number, although the tabs show it as the key of a lab.
#[test]
fn a_digit_opens_its_screen_from_every_row_of_the_settings() {
    for screen in labs() {
        for form in [false, true] {
            let mut state = state();
            state.show(screen.id());
            state.focus_on(setup::PANE);
            state.here_mut().form = form;
            let setup = screen.setup().unwrap();
            for row in 0..setup::shown(&state, setup, &setup.rows(&state)).len() {
                let mut state = state.clone();
                state.here_mut().row = row;
                keys(&mut state, "6");
                assert_eq!(state.screen().title(), "Data", "{} row {row}", screen.title());
                assert!(state.view.entry.is_none());
            }
        }
    }
}

#[test]
fn enter_opens_the_number_under_the_cursor_and_digits_type_there() {
    let mut state = state();
    state.focus_on(setup::PANE);
    state.here_mut().form = true;
    let setup = state.setup().unwrap();
    let rows = setup.rows(&state);
    let at = setup::shown(&state, setup, &rows).iter().position(|line| rows[line.row].key == "seed");
    for open in ["enter", "="] {
        state.here_mut().row = at.unwrap();
        keys(&mut state, open);
        keys(&mut state, "1 2 enter");
        assert_eq!(state.setup().unwrap().spec(&state).seed(), 12, "{open}");
        keys(&mut state, "u");
    }
}

/// Regression: `t r` was silent in three of the four labs, and `r` on Home's list of labs ran nothing.
#[test]
fn every_menu_entry_answers_and_every_lab_has_a_quick_run() {
    for screen in SCREENS {
        for entry in screen.menu() {
            let mut state = state();
            state.show(screen.id());
            let before = seen(&state);
            let effects = keys(&mut state, &format!("t {}", entry.keys[0]));
            assert!(!effects.is_empty() || seen(&state) != before, "{} in {}", entry.name, screen.title());
        }
    }
    for screen in labs() {
        let mut state = state();
        state.show(screen.id());
        let before = screen.setup().unwrap().spec(&state);
        let effects = keys(&mut state, "t r");
        assert!(sent(&effects).iter().any(|c| matches!(c, Command::Run { .. })), "{}", screen.title());
        assert!(state.view.toast.as_deref().unwrap().starts_with("quick run"), "{:?}", state.view.toast);
        assert_ne!(screen.setup().unwrap().spec(&state), before);
        keys(&mut state, "u");
        assert_eq!(screen.setup().unwrap().spec(&state), before, "undo takes all of it back");
    }
}

#[test]
fn home_runs_the_lab_under_the_cursor_and_elsewhere_names_the_keys() {
    let mut state = state();
    keys(&mut state, "0");
    state.focus_on(state.screen().first());
    let labs: Vec<_> = labs().map(|lab| lab.id()).collect();
    let effects = keys(&mut state, "j r");
    assert!(sent(&effects).iter().any(|c| matches!(c, Command::Run { .. })));
    assert_eq!(state.view.screen, labs[1]);
    keys(&mut state, "0 tab tab r");
    assert!(state.view.toast.as_deref().unwrap().contains("choose a lab first: 1, 2, 3, 4"), "{:?}", state.view.toast);
}
