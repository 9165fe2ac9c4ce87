//! The mouse: focus, sliders, what panes offer, tabs and footer.

use super::{look, perform, popup};
use crate::tui::action::{Effect, Mouse, MouseKind};
use crate::tui::bars;
use crate::tui::layout::{Layout, compute};
use crate::tui::setup;
use crate::tui::state::{Drag, State};

/// Handles a mouse event.
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
    // The wheel turns what it is over; the focus stays where it is.
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
        let hit = bars::screen_at(state, mouse.x).map(crate::tui::screens::screen);
        return hit.map_or(Vec::new(), |screen| perform(state, screen.tab()));
    }
    if mouse.y == layout.footer.y {
        let hit = bars::footer_at(state, layout.footer, mouse.x);
        return hit.map_or(Vec::new(), |command| perform(state, command));
    }
    if layout.tabs.is_some_and(|t| t.y == mouse.y) {
        if let Some(pane) = bars::tab_at(state, mouse.x) {
            state.here_mut().focus = pane;
        }
        return Vec::new();
    }
    let Some((pane, rect)) = layout.pane_at(mouse.x, mouse.y) else { return Vec::new() };
    let screen = state.screen();
    if screen.folds() {
        state.here_mut().focus = pane;
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
