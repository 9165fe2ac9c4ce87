//! Input of the terminal as actions.

use crossterm::event::{Event as Input, KeyEventKind, MouseButton, MouseEventKind};

use crate::tui::action::{Action, Mouse, MouseKind};

/// An input event as an action; none for what does not concern us.
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

/// Adds an action to those that wait. Of a drag only the last place counts.
pub(super) fn add(actions: &mut Vec<Action>, action: Option<Action>) {
    let Some(action) = action else { return };
    let drag = |a: &Action| matches!(a, Action::Mouse(Mouse { kind: MouseKind::Drag, .. }));
    match actions.last_mut() {
        Some(last) if drag(last) && drag(&action) => *last = action,
        _ => actions.push(action),
    }
}
