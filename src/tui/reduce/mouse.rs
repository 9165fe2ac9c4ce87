//! Mouse handling: focus, sliders, and clicks in panes, tabs and footer.

use super::{look, perform, popup};
use crate::action::{Effect, Mouse, MouseKind};
use crate::bars;
use crate::layout::{Layout, compute};
use crate::panes::tab_at;
use crate::setup;
use crate::state::{Drag, State};
use crate::status;

pub(super) fn on_mouse(state: &mut State, mouse: Mouse) -> Vec<Effect> {
    let Some(layout) = compute(state) else { return Vec::new() };
    match mouse.kind {
        MouseKind::Release => {
            state.view.drag = None;
            Vec::new()
        }
        MouseKind::ScrollUp => wheel(state, &layout, mouse, -1),
        MouseKind::ScrollDown => wheel(state, &layout, mouse, 1),
        MouseKind::Drag => drag(state, &layout, mouse),
        MouseKind::Press => press(state, &layout, mouse),
    }
}

fn wheel(state: &mut State, layout: &Layout, mouse: Mouse, by: i64) -> Vec<Effect> {
    if state.view.popup.is_some() {
        return popup::travel(state, by);
    }
    let Some((pane, _)) = layout.pane_at(mouse.x, mouse.y) else { return Vec::new() };
    // The wheel scrolls the pane under the pointer without moving the focus.
    let focus = std::mem::replace(&mut state.here_mut().focus, pane);
    let effects = look::travel(state, by);
    state.here_mut().focus = focus;
    effects
}

fn press(state: &mut State, layout: &Layout, mouse: Mouse) -> Vec<Effect> {
    state.view.toast = None;
    let lab = state.view.lab;
    state.place_mut(lab).refused = None;
    if state.view.popup.is_some() || state.view.entry.is_some() {
        return Vec::new();
    }
    if mouse.y == layout.title.y {
        let hit = bars::screen_at(state, mouse.x).map(crate::screens::screen);
        return hit.map_or(Vec::new(), |screen| perform(state, screen.tab()));
    }
    if mouse.y == layout.status.y {
        let hit = status::key_at(state, layout.status, mouse.x);
        return hit.map_or(Vec::new(), |command| perform(state, command));
    }
    if layout.tabs.is_some_and(|t| t.y == mouse.y) {
        if let Some(pane) = bars::tab_at(state, mouse.x) {
            state.focus_on(pane);
        }
        return Vec::new();
    }
    let Some((pane, rect)) = layout.pane_at(mouse.x, mouse.y) else { return Vec::new() };
    let screen = state.screen();
    if screen.folds() {
        state.focus_on(pane);
    }
    if let Some(other) = (mouse.y == rect.y).then(|| tab_at(state, pane, rect, mouse.x)).flatten() {
        state.focus_on(other);
        return Vec::new();
    }
    match pane {
        setup::PANE if screen.setup().is_some() => setup::press(state, rect, mouse),
        _ => screen.press(state, pane, rect, mouse),
    }
}

fn drag(state: &mut State, layout: &Layout, mouse: Mouse) -> Vec<Effect> {
    match state.view.drag.clone() {
        Some(Drag::Setting(key)) => {
            let pane = layout.pane(setup::PANE);
            pane.map_or(Vec::new(), |pane| setup::drag(state, &key, pane, mouse.x))
        }
        Some(Drag::Pane(pane)) => state.screen().drag(state, pane, layout, mouse),
        None => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::popups;
    use crate::screens::SCREENS;
    use crate::state::Start;

    fn state(columns: u16, rows: u16) -> State {
        State::new(Start { size: (columns, rows), ..Start::new() })
    }

    fn press_at(state: &mut State, x: u16, y: u16) -> Vec<Effect> {
        on_mouse(state, Mouse { kind: MouseKind::Press, x, y })
    }

    #[test]
    fn a_press_on_a_tab_opens_its_screen_and_beside_the_tabs_nothing() {
        for to in SCREENS.iter().filter(|s| !s.watches()) {
            let mut state = state(120, 40);
            let x = (0..120).find(|x| bars::screen_at(&state, *x) == Some(to.id())).unwrap();
            press_at(&mut state, x, 0);
            assert_eq!(state.view.screen, to.id());
            press_at(&mut state, 119, 0);
            assert_eq!(state.view.screen, to.id());
        }
    }

    #[test]
    fn a_press_on_the_footer_does_what_the_word_says() {
        let mut state = state(120, 40);
        let footer = compute(&state).unwrap().status;
        let at = |state: &State, name: &str| {
            (0..120).find(|x| status::key_at(state, footer, *x).is_some_and(|e| e.name == name)).unwrap()
        };
        let x = at(&state, "help");
        press_at(&mut state, x, footer.y);
        assert_eq!(state.popup_name(), Some("help"));
        press_at(&mut state, x, footer.y);
        assert_eq!(state.popup_name(), Some("help"), "a click does not reach panes beneath a popup");
        state.view.popup = None;
        let x = at(&state, "quit");
        assert!(press_at(&mut state, x, footer.y).contains(&Effect::Quit));
    }

    #[test]
    fn a_press_on_a_folded_pane_shows_it() {
        let mut state = state(80, 24);
        let tabs = compute(&state).unwrap().tabs.unwrap();
        for slot in state.screen().slots() {
            let pane = state.here().shown(slot);
            let x = (0..80).find(|x| bars::tab_at(&state, *x) == Some(pane)).unwrap();
            press_at(&mut state, x, tabs.y);
            assert_eq!(state.here().focus, pane);
            assert_eq!(compute(&state).unwrap().panes[0].0, pane);
        }
    }

    #[test]
    fn while_something_is_typed_the_mouse_presses_nothing() {
        let mut state = state(120, 40);
        look::name_session(&mut state);
        let before = state.here().focus;
        for (x, y) in [(2, 3), (60, 30), (20, 0), (3, 39)] {
            assert!(press_at(&mut state, x, y).is_empty());
        }
        assert!(state.view.entry.is_some() && state.here().focus == before);
    }

    #[test]
    fn a_drag_without_a_press_moves_nothing_and_a_release_ends_one() {
        let mut state = state(120, 40);
        let setup = compute(&state).unwrap().pane(setup::PANE).unwrap();
        let drag = Mouse { kind: MouseKind::Drag, x: setup.x + 15, y: setup.y + 6 };
        let rows = |state: &State| state.setup().unwrap().rows(state);
        let before = rows(&state);
        on_mouse(&mut state, drag);
        assert_eq!(rows(&state), before);
        state.view.drag = Some(Drag::Setting("task.examples".into()));
        on_mouse(&mut state, drag);
        assert_ne!(rows(&state), before);
        on_mouse(&mut state, Mouse { kind: MouseKind::Release, x: 0, y: 0 });
        assert_eq!(state.view.drag, None);
    }

    #[test]
    fn the_wheel_beside_every_pane_turns_nothing_and_over_a_popup_the_popup() {
        let mut state = state(120, 40);
        let turn = |state: &mut State, y| on_mouse(state, Mouse { kind: MouseKind::ScrollDown, x: 5, y });
        turn(&mut state, 0);
        turn(&mut state, 39);
        assert_eq!(state.here().row, 0);
        popups::palette(&mut state);
        turn(&mut state, 0);
        assert!(matches!(state.view.popup, Some(crate::state::Popup::Palette { selected: 1, .. })));
    }
}
