//! The mouse: focus, sliders, the marker, tabs and footer.

use ratatui::layout::Rect;

use super::commands::{perform, settle, travel};
use super::{job, popup};
use crate::figure::Scale;
use crate::tui::action::{Effect, Mouse, MouseKind};
use crate::tui::layout::{Layout, compute, inside, setup_row_at, track};
use crate::tui::panes;
use crate::tui::state::setup::Control;
use crate::tui::state::{Drag, Lab, Pane, Row, State};
use crate::tui::widgets::chart;

/// Handles a mouse event.
pub(super) fn on_mouse(state: &mut State, mouse: Mouse, effects: &mut Vec<Effect>) {
    let Some(layout) = compute(state) else { return };
    match mouse.kind {
        MouseKind::Release => state.view.drag = None,
        MouseKind::ScrollUp => wheel(state, &layout, mouse, -1),
        MouseKind::ScrollDown => wheel(state, &layout, mouse, 1),
        MouseKind::Drag => drag(state, &layout, mouse, effects),
        MouseKind::Press => press(state, &layout, mouse, effects),
    }
}

fn wheel(state: &mut State, layout: &Layout, mouse: Mouse, by: i64) {
    if state.view.popup.is_some() {
        popup::travel(state, by);
    } else if let Some((pane, _)) = layout.pane_at(mouse.x, mouse.y) {
        // The wheel turns what it is over; the focus stays where it is.
        let focus = std::mem::replace(&mut state.view.focus, pane);
        travel(state, by);
        state.view.focus = focus;
    }
}

fn press(state: &mut State, layout: &Layout, mouse: Mouse, effects: &mut Vec<Effect>) {
    state.view.toast = None;
    if state.view.popup.is_some() || state.view.entry.is_some() {
        return;
    }
    if mouse.y == layout.title.y {
        if let Some(lab) = panes::lab_at(state, mouse.x) {
            state.view.lab = lab;
        }
    } else if mouse.y == layout.footer.y {
        if let Some(command) = panes::footer_at(state, layout.footer, mouse.x) {
            perform(state, command, effects);
        }
    } else if state.view.lab == Lab::Data {
        if let Some(row) = panes::set_at(state, panes::under_title(layout), mouse.x, mouse.y) {
            state.view.data_row = row;
            state.view.data_scroll = 0;
        }
    } else if state.view.lab == Lab::Models {
        if let Some(row) = panes::model_at(state, panes::under_title(layout), mouse.x, mouse.y) {
            state.view.model_row = row;
            state.view.dossier_scroll = 0;
        }
    } else if layout.tabs.is_some_and(|t| t.y == mouse.y) {
        if let Some(pane) = panes::tab_at(mouse.x) {
            state.view.focus = pane;
        }
    } else if let Some((pane, rect)) = layout.pane_at(mouse.x, mouse.y) {
        state.view.focus = pane;
        match pane {
            Pane::Setup => press_row(state, rect, mouse, effects),
            Pane::Curves => {
                state.view.drag = Some(Drag::Marker);
                drag(state, layout, mouse, effects);
            }
            _ => {}
        }
    }
}

fn press_row(state: &mut State, pane: Rect, mouse: Mouse, effects: &mut Vec<Effect>) {
    let Some((index, row, line)) = setup_row_at(state, pane, mouse.y) else { return };
    let again = state.view.row == index;
    state.view.row = index;
    let (start, length) = track(line);
    match state.control(row) {
        Control::Slider { .. } if (start..start + length).contains(&mouse.x) => {
            state.view.drag = Some(Drag::Slider(row));
            slide(state, row, line, mouse.x, effects);
        }
        Control::Check(_) => {
            if let (Row::Model(i), None) = (row, &state.replay)
                && let Some(name) = state.model_names().get(i)
            {
                state.toggle_model(name);
            }
        }
        Control::Choice(..) if again => super::commands::turn(state, row, 1, effects),
        _ => {}
    }
}

fn drag(state: &mut State, layout: &Layout, mouse: Mouse, effects: &mut Vec<Effect>) {
    match state.view.drag {
        Some(Drag::Slider(row)) => {
            if let Some(pane) = layout.pane(Pane::Setup) {
                slide(state, row, inside(pane), mouse.x, effects);
            }
        }
        Some(Drag::Marker) => {
            let target = layout.pane(Pane::Curves).and_then(|pane| {
                let figure = state.figures.curves.as_ref()?;
                chart::value_at(figure, panes::chart_area(inside(pane)), mouse.x)
            });
            if let Some(value) = target {
                let log = state.scale() == Scale::Log;
                let gap = |s: f64| if log && value > 0.0 && s > 0.0 { (s / value).ln() } else { s - value };
                let stops = state.marker_stops().into_iter();
                let nearest = stops.min_by(|a, b| gap(*a).abs().total_cmp(&gap(*b).abs()));
                if let Some(stop) = nearest.filter(|s| *s != state.marker())
                    && let Ok(touched) = state.set(Row::Parameter, stop)
                {
                    settle(state, touched, effects);
                }
            }
        }
        None => {}
    }
}

fn slide(state: &mut State, row: Row, line: Rect, x: u16, effects: &mut Vec<Effect>) {
    if state.replay.is_some() && row != Row::Parameter {
        return;
    }
    let (start, length) = track(line);
    let share = f64::from(x.saturating_sub(start)) / f64::from(length.saturating_sub(1).max(1));
    let before = state.control(row);
    let touched = state.slide(row, share);
    if state.control(row) != before && touched.point {
        job::ask_point(state, effects);
    }
}
