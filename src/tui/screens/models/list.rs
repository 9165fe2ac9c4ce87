//! The list of models.

use ratatui::Frame;
use ratatui::layout::Rect;

use super::{DOSSIERS, LIST};
use crate::layout::inside;
use crate::panes::listing::ending;
use crate::panes::{block, message, table};
use crate::setup;
use crate::state::{Glyphs, State};
use crate::theme::Role;
use base::numbers::count;
use base::text::{pad, printable, width};
use model::offers::ALL_LABS;

/// Minimum width of a name with its checkbox, and width of the text beside it, in columns.
const NAME: usize = 24;
const FACTS: usize = 32;
/// Columns of the border, the focus mark and the filter key in the title.
const TITLE: usize = 18;

pub(crate) fn draw(frame: &mut Frame, area: Rect, state: &State) {
    let theme = state.theme();
    let ticks = format!("  ({} ticks)", state.keymap.label("select-model"));
    let room = usize::from(area.width).saturating_sub(TITLE + width(&ticks));
    let ticked = setup::ticked_models(state, room).map(|ticked| ticked + &ticks);
    let title = ticked.as_deref().unwrap_or("Models");
    let title = table::titled(state, LIST, title, area.width);
    frame.render_widget(block(state, &title, state.focused(LIST)), area);
    let inner = inside(area);
    let names = DOSSIERS.listed(state);
    if names.is_empty() {
        let text = format!("the engine has not listed its models yet; {} adds one", state.keymap.label("add-model"));
        return message(frame, inner, &table::empty(state, LIST, text), theme.style(Role::Dim));
    }
    let selected = setup::models(state);
    let on = |name: &str| selected.iter().any(|(n, on)| n == name && *on);
    let longest = names.iter().map(|name| width(&printable(name)) + 6).max().unwrap_or(0);
    let column = longest.min(usize::from(inner.width).saturating_sub(FACTS)).max(NAME);
    let header = [pad("  model", column - 2), pad("family", 12), pad("layers", 7), pad("width", 6), "params".into()];
    DOSSIERS
        .listing(state)
        .draw(frame, inner, state, &header.concat(), |i| entry(state, &names[i], on(&names[i]), column));
}

fn entry(state: &State, name: &str, on: bool, column: usize) -> String {
    let sign = state.view.glyphs.check(on);
    let room = column - 6 - if state.view.glyphs == Glyphs::Ascii { 2 } else { 0 };
    let shown = ending(&printable(name), room);
    let mut text = pad(&format!("{sign} {shown}"), column - 2);
    match state.board.models.iter().find(|m| m.name == name) {
        Some(m) => {
            text.push_str(&pad(&printable(&m.family), 12));
            // Shows the numbers, unless some lab cannot use the model: there is no space for both, and the model's page has the numbers.
            match m.serves.as_str() {
                "" | ALL_LABS => {
                    text.push_str(&pad(&m.layers.to_string(), 7));
                    text.push_str(&pad(&m.hidden.to_string(), 6));
                    text.push_str(&count(m.parameters as f64));
                }
                some => text.push_str(&printable(some)),
            }
        }
        None => match state.board.dossier_of(name) {
            Some(d) if d.waiting.is_some() => text.push_str("loading"),
            Some(d) if d.problem.is_some() => text.push_str("could not be loaded"),
            _ => text.push_str("named by the spec"),
        },
    }
    text
}
