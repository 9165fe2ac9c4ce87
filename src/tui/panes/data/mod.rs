//! The data lab: the sets on one side, what is known of the one under the cursor on the other.

mod dossier;

use ratatui::Frame;
use ratatui::layout::Rect;

use super::listing::{Listing, ending};
use super::{block, message};
use crate::base::numbers::count;
use crate::base::text::{pad, printable};
use crate::engine::board::DataDossier;
use crate::tui::commands::CommandId;
use crate::tui::layout::inside;
use crate::tui::state::State;
use crate::tui::theme::Role;

/// Width of the column of names.
const NAME: usize = 25;
/// Width of the column of rows.
const ROWS: usize = 6;

fn listing(state: &State) -> Listing {
    Listing { len: state.listed_sets().len(), cursor: state.view.data_row, share: 45 }
}

/// Draws list and dossier.
pub fn draw(frame: &mut Frame, area: Rect, state: &State) {
    let (list, rest) = listing(state).split(area);
    draw_list(frame, list, state);
    dossier::draw(frame, rest, state);
}

/// The set whose line stands at a place of the screen.
pub fn set_at(state: &State, body: Rect, x: u16, y: u16) -> Option<usize> {
    listing(state).at(body, x, y)
}

/// Lines of the dossier that can be scrolled away before its last one is in sight.
pub fn overflow(state: &State, body: Rect) -> usize {
    listing(state).overflow(body, |width| dossier::lines(state, width).len())
}

fn draw_list(frame: &mut Frame, area: Rect, state: &State) {
    let theme = state.theme();
    frame.render_widget(block(state, "Data: built in, and what you add", true), area);
    let inner = inside(area);
    let names = state.listed_sets();
    if names.is_empty() {
        let text = format!("there is no set; {} adds one", state.keymap.label(CommandId::AddData));
        return message(frame, inner, &text, theme.style(Role::Dim));
    }
    let header = format!("{}{:>ROWS$}  format or kind", pad("  set", NAME), "rows");
    listing(state).draw(frame, inner, state, &header, |i, here| entry(state, &names[i], here));
}

fn entry(state: &State, name: &str, here: bool) -> String {
    let mark = state.view.glyphs.cursor(here);
    let known = state.board.set_of(name);
    let catalog = state.catalog.sets.iter().find(|s| s.id == name);
    let inspection = known.and_then(|d| d.inspection.as_ref());
    // What was counted, or else what will be drawn.
    let promised = catalog.map(|s| s.rows.unwrap_or(state.spec.task.examples as u64));
    let rows = inspection.map(|i| i.rows).or(promised);
    let rows = rows.map_or_else(String::new, |n| if n < 100_000 { n.to_string() } else { count(n as f64) });
    let kind = match (inspection, catalog) {
        (Some(i), _) => printable(&i.title).into_owned(),
        (None, Some(s)) => printable(&s.title).into_owned(),
        (None, None) => String::new(),
    };
    let state_of = known.map_or(String::new(), doing);
    let text = [kind, state_of].into_iter().filter(|t| !t.is_empty()).collect::<Vec<_>>().join("; ");
    format!("{}{rows:>ROWS$}  {text}", pad(&format!("{mark} {}", ending(&printable(name), NAME - 3)), NAME))
}

/// What stands behind a set whose latest question has no answer.
fn doing(dossier: &DataDossier) -> String {
    let text = match dossier {
        d if !d.waiting.is_empty() => "reading",
        d if d.problem.is_some() => "cannot be read",
        d if d.stopped => "cancelled",
        _ => "",
    };
    text.to_owned()
}
