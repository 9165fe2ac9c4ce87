//! Completeness by selectivity for all methods of the run.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::measured::results;
use super::{PARETO, view};
use crate::layout::inside;
use crate::panes::{nothing_yet, pane_block};
use crate::state::State;
use crate::theme::Role;
use crate::widgets::chart::{Chart, Form, marker_char};
use base::numbers::{score, short};
use base::text::{fit, printable, width};
use figure::Marker;

pub(crate) fn draw(frame: &mut Frame, area: Rect, state: &State) {
    let view = view(state);
    let title = format!("Pareto: S against C, {} oracle", view.oracle.title());
    frame.render_widget(pane_block(state, PARETO, &fit(&title, usize::from(area.width.saturating_sub(6)))), area);
    let inner = inside(area);
    let Some(figure) = &view.pareto else {
        return nothing_yet(frame, inner, state, "points");
    };
    let lines = [best_line(state), front_line(state, inner.width.into())];
    let room = inner.height.saturating_sub(6).min(2);
    let below: Vec<Line<'static>> = lines.into_iter().flatten().take(room.into()).collect();
    let chart = Rect { height: inner.height - below.len() as u16, ..inner };
    let widget = Chart { form: Form::Markers, ..Chart::new(figure, state) };
    frame.render_widget(widget, chart);
    for (y, line) in (chart.bottom()..).zip(below) {
        frame.render_widget(line, Rect { y, height: 1, ..inner });
    }
}

fn dim(state: &State, text: &str) -> Line<'static> {
    Line::styled(printable(text).into_owned(), state.theme().style(Role::Dim))
}

fn best_line(state: &State) -> Option<Line<'static>> {
    let view = view(state);
    let mine = results(state).optima.iter();
    let best = mine
        .filter(|o| o.model == view.model && o.value.oracle == view.oracle)
        .max_by(|a, b| a.value.reliability.mean.total_cmp(&b.value.reliability.mean))?;
    let v = &best.value;
    let entry = view.catalog.method(&v.method);
    let title = entry.map_or(v.method.as_str(), |m| m.title.as_str());
    let symbol = entry.map_or(v.parameter.as_str(), |m| m.parameter.symbol.as_str());
    let (r, half) = (score(v.reliability.mean), v.reliability.spread(v.how.replicates));
    let end = v.how.at_end.map_or("", |_| ", at the end of the grid");
    Some(dim(state, &format!(" * best R {r} {half}: {title}, {symbol} = {}{end}", short(v.value))))
}

/// Symbol of the knee and description of the front, in the longest form that fits; otherwise the shortest form, cut.
fn front_line(state: &State, room: usize) -> Option<Line<'static>> {
    let (has_knee, forms) = view(state).front.as_ref()?;
    let sign = marker_char(Marker::Diamond, state.view.glyphs);
    let texts = forms.iter().map(|words| if *has_knee { format!(" {sign} {words}") } else { format!(" {words}") });
    let texts: Vec<String> = texts.collect();
    let text = texts.iter().find(|text| width(text) <= room).or(texts.last())?;
    Some(dim(state, &fit(text, room)))
}
