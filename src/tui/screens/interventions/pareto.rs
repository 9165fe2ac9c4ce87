//! Completeness against selectivity for all methods of the run.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::measured::results;
use super::{PARETO, view};
use crate::base::numbers::{plus_minus, score, short};
use crate::base::text::{fit, printable};
use crate::tui::layout::inside;
use crate::tui::panes::{message, pane_block};
use crate::tui::state::State;
use crate::tui::theme::Role;
use crate::tui::widgets::chart::{Chart, Form};

/// Draws the pane.
pub fn draw(frame: &mut Frame, area: Rect, state: &State) {
    let view = view(state);
    let title = format!("Pareto: S against C, {} oracle", view.oracle);
    frame.render_widget(
        pane_block(state, PARETO, &fit(&title, usize::from(area.width.saturating_sub(6)))),
        area,
    );
    let inner = inside(area);
    let Some(figure) = &view.pareto else {
        return message(frame, inner, "no points yet", state.theme().style(Role::Dim));
    };
    let best = results(state)
        .optima
        .iter()
        .filter(|o| o.model == view.model && o.value.oracle == view.oracle)
        .max_by(|a, b| a.value.reliability.mean.total_cmp(&b.value.reliability.mean));
    let lines = u16::from(inner.height >= 7);
    let chart = Rect { height: inner.height - lines, ..inner };
    let widget = Chart { figure, theme: state.theme(), glyphs: state.view.glyphs, form: Form::Markers };
    frame.render_widget(widget, chart);
    if let Some(best) = best.filter(|_| lines == 1) {
        let v = &best.value;
        let entry = view.catalog.method(&v.method);
        let title = entry.map_or(v.method.as_str(), |m| m.title.as_str());
        let symbol = entry.map_or(v.parameter.as_str(), |m| m.parameter.symbol.as_str());
        let (r, half) = (score(v.reliability.mean), plus_minus(v.reliability.half_width()));
        let end = v.how.at_end.map_or("", |_| ", end of the grid");
        let text = format!(" * best R {r} {half}: {title}, {symbol} = {}{end}", short(v.value));
        let text = fit(&printable(&text), inner.width.into()).into_owned();
        let row = Rect { y: chart.bottom(), height: 1, ..inner };
        frame.render_widget(Line::styled(text, state.theme().style(Role::Dim)), row);
    }
}
