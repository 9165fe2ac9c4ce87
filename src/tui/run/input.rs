//! Input of the terminal as actions.

use crossterm::event::{Event as Input, KeyEventKind, MouseButton, MouseEventKind};

use crate::action::{Action, Mouse, MouseKind};

/// Converts an input event to an action; `None` for irrelevant events.
pub fn translate(input: Input) -> Option<Action> {
    match input {
        Input::Key(key) if key.kind != KeyEventKind::Release => Some(Action::Key(key.into())),
        Input::Mouse(mouse) => {
            let kind = match mouse.kind {
                MouseEventKind::Down(MouseButton::Left) => MouseKind::Press,
                MouseEventKind::Drag(MouseButton::Left) => MouseKind::Drag,
                MouseEventKind::Up(MouseButton::Left) => MouseKind::Release,
                MouseEventKind::ScrollUp => MouseKind::ScrollUp,
                MouseEventKind::ScrollDown => MouseKind::ScrollDown,
                _ => return None,
            };
            Some(Action::Mouse(Mouse { kind, x: mouse.column, y: mouse.row }))
        }
        Input::Paste(text) => Some(Action::Paste(text)),
        Input::Resize(columns, rows) => Some(Action::Resize(columns, rows)),
        _ => None,
    }
}

/// Adds an action to the pending ones; only the last position of a drag is kept.
pub(super) fn add(actions: &mut Vec<Action>, action: Option<Action>) {
    let Some(action) = action else { return };
    let drag = |a: &Action| matches!(a, Action::Mouse(Mouse { kind: MouseKind::Drag, .. }));
    match actions.last_mut() {
        Some(last) if drag(last) && drag(&action) => *last = action,
        _ => actions.push(action),
    }
}

#[cfg(test)]
mod tests {
    use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseEvent};

    use super::*;

    fn mouse(kind: MouseEventKind) -> Input {
        Input::Mouse(MouseEvent { kind, column: 3, row: 4, modifiers: KeyModifiers::NONE })
    }

    fn at(kind: MouseKind, x: u16) -> Action {
        Action::Mouse(Mouse { kind, x, y: 4 })
    }

    #[test]
    fn a_key_counts_when_it_goes_down_and_while_it_is_held_but_not_when_it_goes_up() {
        let key = |kind| Input::Key(KeyEvent::new_with_kind(KeyCode::Char('a'), KeyModifiers::NONE, kind));
        for kind in [KeyEventKind::Press, KeyEventKind::Repeat] {
            assert_eq!(translate(key(kind)), Some(Action::Key("a".parse().unwrap())));
        }
        assert_eq!(translate(key(KeyEventKind::Release)), None);
    }

    #[test]
    fn the_left_button_and_the_wheel_count_and_nothing_else_of_the_mouse() {
        let left = MouseButton::Left;
        for (event, kind) in [
            (MouseEventKind::Down(left), MouseKind::Press),
            (MouseEventKind::Drag(left), MouseKind::Drag),
            (MouseEventKind::Up(left), MouseKind::Release),
            (MouseEventKind::ScrollUp, MouseKind::ScrollUp),
            (MouseEventKind::ScrollDown, MouseKind::ScrollDown),
        ] {
            assert_eq!(translate(mouse(event)), Some(at(kind, 3)));
        }
        for event in [
            MouseEventKind::Moved,
            MouseEventKind::ScrollLeft,
            MouseEventKind::Down(MouseButton::Right),
            MouseEventKind::Drag(MouseButton::Middle),
            MouseEventKind::Up(MouseButton::Right),
        ] {
            assert_eq!(translate(mouse(event)), None, "{event:?}");
        }
    }

    #[test]
    fn pastes_and_sizes_are_passed_on_and_the_focus_of_the_window_is_not() {
        assert_eq!(translate(Input::Paste("x".into())), Some(Action::Paste("x".into())));
        assert_eq!(translate(Input::Resize(80, 24)), Some(Action::Resize(80, 24)));
        assert_eq!(translate(Input::FocusGained), None);
    }

    #[test]
    fn of_a_drag_the_last_place_counts_and_keys_between_keep_their_order() {
        let key = || Action::Key("h".parse().unwrap());
        let mut all = Vec::new();
        let events = [
            Some(at(MouseKind::Press, 1)),
            Some(at(MouseKind::Drag, 2)),
            None,
            Some(at(MouseKind::Drag, 3)),
            Some(key()),
            Some(at(MouseKind::Drag, 5)),
            Some(at(MouseKind::Drag, 6)),
            Some(at(MouseKind::Release, 6)),
        ];
        events.into_iter().for_each(|event| add(&mut all, event));
        let want =
            [at(MouseKind::Press, 1), at(MouseKind::Drag, 3), key(), at(MouseKind::Drag, 6), at(MouseKind::Release, 6)];
        assert_eq!(all, want);
    }
}
