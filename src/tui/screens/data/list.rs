//! The list of data sets.

use ratatui::Frame;
use ratatui::layout::Rect;

use super::{DOSSIERS, LIST};
use crate::layout::inside;
use crate::panes::listing::ending;
use crate::panes::{block, message, table};
use crate::state::State;
use crate::theme::Role;
use base::numbers::count;
use base::text::{pad, printable};
use engine::board::DataDossier;
use figure::layers::grouped;

const NAME: usize = 25;
const ROWS: usize = 6;

pub(crate) fn draw(frame: &mut Frame, area: Rect, state: &State) {
    let theme = state.theme();
    let title = table::titled(state, LIST, "Data: built-in and added sets", area.width);
    frame.render_widget(block(state, &title, state.focused(LIST)), area);
    let inner = inside(area);
    let names = DOSSIERS.listed(state);
    if names.is_empty() {
        let text = format!("there are no data sets; {} adds one", state.keymap.label("add-data"));
        return message(frame, inner, &table::empty(state, LIST, text), theme.style(Role::Dim));
    }
    let header = format!("{}{:>ROWS$}  format or kind", pad("set", NAME - 2), "rows");
    DOSSIERS.listing(state).draw(frame, inner, state, &header, |i| entry(state, &names[i]));
}

fn entry(state: &State, name: &str) -> String {
    let known = state.board.set_of(name);
    let catalog = state.screens.data.sets.iter().find(|s| s.id == name);
    let inspection = known.and_then(|d| d.inspection.as_ref());
    // The number of rows in the set or, for generated examples, the number that the lab's settings request.
    let drawn = || state.setup().map(|setup| setup.examples(state).examples as u64);
    let promised = catalog.and_then(|s| s.rows.or_else(drawn));
    let rows = inspection.map(|i| i.rows).or(promised);
    let rows = rows.map_or_else(String::new, |n| if n < 100_000 { grouped(n as usize) } else { count(n as f64) });
    let kind = match (inspection, catalog) {
        (Some(i), _) => printable(&i.title).into_owned(),
        (None, Some(s)) => printable(&s.title).into_owned(),
        (None, None) => String::new(),
    };
    let state_of = known.map_or(String::new(), doing);
    // The current work comes first, because a long title would push it off the list.
    let text = [state_of, kind].into_iter().filter(|t| !t.is_empty()).collect::<Vec<_>>().join("; ");
    format!("{}{rows:>ROWS$}  {text}", pad(&ending(&printable(name), NAME - 3), NAME - 2))
}

/// Describes the state of a set whose latest question has no answer.
fn doing(dossier: &DataDossier) -> String {
    let text = match dossier {
        d if !d.waiting.is_empty() => "reading",
        d if d.problem.is_some() => "cannot be read",
        d if d.stopped => "cancelled",
        _ => "",
    };
    text.to_owned()
}
