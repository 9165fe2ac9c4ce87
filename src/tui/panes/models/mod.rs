//! The models lab: what can be picked on one side, the one under the cursor on the other.

mod dossier;

use ratatui::Frame;
use ratatui::layout::Rect;

use super::listing::{Listing, ending};
use super::{block, message};
use crate::base::numbers::count;
use crate::base::text::{pad, printable};
use crate::tui::commands::CommandId;
use crate::tui::layout::inside;
use crate::tui::state::{Glyphs, State};
use crate::tui::theme::Role;

/// Width of the column of names.
const NAME: usize = 24;

fn listing(state: &State) -> Listing {
    Listing { len: state.listed_models().len(), cursor: state.view.model_row, share: 48 }
}

/// Draws list and dossier.
pub fn draw(frame: &mut Frame, area: Rect, state: &State) {
    let (list, rest) = listing(state).split(area);
    draw_list(frame, list, state);
    dossier::draw(frame, rest, state);
}

/// The model whose line stands at a place of the screen.
pub fn model_at(state: &State, body: Rect, x: u16, y: u16) -> Option<usize> {
    listing(state).at(body, x, y)
}

/// Lines of the dossier that can be scrolled away before its last one is in sight.
pub fn overflow(state: &State, body: Rect) -> usize {
    listing(state).overflow(body, |width| dossier::lines(state, width).len())
}

fn draw_list(frame: &mut Frame, area: Rect, state: &State) {
    let theme = state.theme();
    frame.render_widget(block(state, "Models: space selects for the next run", true), area);
    let inner = inside(area);
    let names = state.listed_models();
    if names.is_empty() {
        let text = format!(
            "the engine has not named its models yet; {} adds one",
            state.keymap.label(CommandId::AddModel)
        );
        return message(frame, inner, &text, theme.style(Role::Dim));
    }
    let header =
        [pad("    model", NAME), pad("family", 12), pad("layers", 7), pad("width", 6), "params".into()];
    listing(state).draw(frame, inner, state, &header.concat(), |i, here| entry(state, &names[i], here));
}

fn entry(state: &State, name: &str, here: bool) -> String {
    let sign = state.view.glyphs.check(state.spec.models.iter().any(|m| m == name));
    let mark = state.view.glyphs.cursor(here);
    let room = NAME - 6 - if state.view.glyphs == Glyphs::Ascii { 2 } else { 0 };
    let shown = ending(&printable(name), room);
    let mut text = pad(&format!("{mark} {sign} {shown}"), NAME);
    match state.board.models.iter().find(|m| m.name == name) {
        Some(m) => {
            text.push_str(&pad(&printable(&m.family), 12));
            text.push_str(&pad(&m.layers.to_string(), 7));
            text.push_str(&pad(&m.hidden.to_string(), 6));
            text.push_str(&count(m.parameters as f64));
        }
        None => match state.board.dossier_of(name) {
            Some(d) if d.waiting.is_some() => text.push_str("loading"),
            Some(d) if d.problem.is_some() => text.push_str("could not be loaded"),
            _ => text.push_str("named by the spec"),
        },
    }
    text
}
