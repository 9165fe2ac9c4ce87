//! Property tests of the state: one place per screen, popups, cursors.

use super::*;
use crate::popups;

#[test]
fn screens_keep_separate_cursors() {
    let mut state = State::new(Start::new());
    let ids: Vec<ScreenId> = SCREENS.iter().map(|s| s.id()).collect();
    for (i, id) in ids.iter().enumerate() {
        state.show(*id);
        state.here_mut().row = i + 1;
        state.here_mut().zoom = i % 2 == 0;
    }
    for (i, id) in ids.iter().enumerate() {
        assert_eq!((state.place(*id).row, state.place(*id).zoom), (i + 1, i % 2 == 0));
    }
}

#[test]
fn setup_belongs_to_the_lab_shown_last() {
    let mut state = State::new(Start::new());
    let lab = state.view.lab;
    assert!(screen(lab).setup().is_some());
    for other in SCREENS.iter().filter(|s| s.setup().is_none()) {
        state.show(other.id());
        assert_eq!((state.view.screen, state.view.lab), (other.id(), lab));
    }
}

#[test]
fn cursors_stay_within_their_lists() {
    assert_eq!((moved(3, -9, 5), moved(3, 9, 5), moved(0, 1, 0)), (0, 4, 0));
    assert_eq!((moved(1, i64::MAX, 4), moved(1, i64::MIN, 4)), (3, 0));
    let mut place = Place::at(Pane("a"));
    place.travel(Pane("b"), 2, 10);
    assert_eq!((place.scrolled(Pane("a")), place.scrolled(Pane("b"))), (0, 2));
}

#[test]
fn popups_state_their_possible_actions() {
    let mut state = State::new(Start::new());
    assert_eq!(state.popup_name(), None);
    popups::help(&mut state);
    assert!(state.typing() && state.typing_in_list() && !state.picking());
    popups::show(&mut state, &popups::Provenance);
    assert!(!state.typing() && !state.popup_copies(), "nothing has been measured");
    popups::pick(&mut state, &popups::Quit, 0);
    assert!(state.picking() && !state.marking());
    assert_eq!(format!("{:?}", state.view.popup.unwrap()), "quit");
}
