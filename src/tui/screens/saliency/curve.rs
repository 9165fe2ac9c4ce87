//! Token-F1 or MAP against the rationale ratio.

use ratatui::Frame;
use ratatui::layout::Rect;

use super::{CURVE, results, view};
use crate::layout::inside;
use crate::panes::{message, pane_block};
use crate::state::State;
use crate::theme::Role;
use crate::widgets::chart::{Chart, Form};
use base::text::{fit, printable};
use figure::Figure;
use labs::saliency::figures;
use labs::{Details, EngineInfo};

/// Names of the figures, in the order in which the keys turn to them.
pub(crate) const DRAWN: [&str; 3] = ["f1-ratio", "map-ratio", "accuracy"];

/// The figure; none before there is anything to draw.
pub(crate) fn figure(state: &State) -> Option<Figure> {
    let engine: Option<&EngineInfo> = state.board.engine.as_ref();
    figures::pick(DRAWN[view(state).drawn % DRAWN.len()], &Details::default(), results(state), engine).ok()
}

/// Draws the pane.
pub(crate) fn draw(frame: &mut Frame, area: Rect, state: &State) {
    let room = usize::from(area.width.saturating_sub(6));
    let at = view(state).drawn % DRAWN.len() + 1;
    let Some(figure) = &view(state).curve else {
        frame.render_widget(pane_block(state, CURVE, &format!("Figure {at}/{}", DRAWN.len())), area);
        let text = match results(state).sentences.is_empty() {
            true => "nothing has been scored yet",
            false => "comes when the sentences have been scored",
        };
        return message(frame, inside(area), text, state.theme().style(Role::Dim));
    };
    let title = format!("{} ({at}/{})", figure.title, DRAWN.len());
    frame.render_widget(pane_block(state, CURVE, &fit(&printable(&title), room)), area);
    let widget = Chart { figure, theme: state.theme(), glyphs: state.view.glyphs, form: Form::Lines };
    frame.render_widget(widget, inside(area));
}
