//! Token-F1 or MAP by rationale ratio.

use ratatui::Frame;
use ratatui::layout::Rect;

use super::{results, view};
use crate::layout::inside;
use crate::panes::{message, pane_block, why_empty};
use crate::screen::Pane;
use crate::state::State;
use crate::theme::Role;
use crate::widgets::chart::Chart;
use base::text::{fit, printable};
use figure::Figure;
use labs::saliency::figures;
use labs::{Details, EngineInfo};

/// Names of the figures, in the order of their panes.
const DRAWN: [&str; 3] = ["f1-ratio", "map-ratio", "accuracy"];

/// Current figure; `None` before there is anything to draw.
pub(crate) fn figure(state: &State) -> Option<Figure> {
    let engine: Option<&EngineInfo> = state.board.engine.as_ref();
    figures::pick(DRAWN[view(state).drawn % DRAWN.len()], &Details::default(), results(state), engine).ok()
}

pub(crate) fn draw(frame: &mut Frame, area: Rect, state: &State, pane: Pane) {
    let room = usize::from(area.width.saturating_sub(6));
    let Some(figure) = &view(state).curve else {
        frame.render_widget(pane_block(state, pane, pane.0), area);
        let text = match results(state).sentences.is_empty() {
            true => why_empty(state, "scores"),
            false => "Appears once all sentences have been scored.".to_owned(),
        };
        return message(frame, inside(area), &text, state.theme().style(Role::Dim));
    };
    frame.render_widget(pane_block(state, pane, &fit(&printable(&figure.title), room)), area);
    let widget = Chart::new(figure, state);
    frame.render_widget(widget, inside(area));
}
