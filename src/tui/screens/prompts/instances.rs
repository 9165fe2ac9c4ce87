//! The instances behind a number: what every model answered, and what each makes of the one that was asked for.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::asked::initials;
use super::{ID, INSTANCES, prompt, relation, results};
use crate::base::numbers::score;
use crate::base::text::{fit, pad, printable};
use crate::lab::prompts::finding::{InstanceRow, InstancesFinding};
use crate::lab::prompts::results::Look;
use crate::tui::layout::inside;
use crate::tui::panes::listing::Listing;
use crate::tui::panes::{message, pane_block};
use crate::tui::state::{Glyphs, State};
use crate::tui::theme::Role;

/// Heading of the marks.
const RIGHT: &str = "right";

/// The latest look, where it is one at the relation and prompt under the cursors.
pub fn look(state: &State) -> Option<(&Look, &InstancesFinding)> {
    let look = results(state).look.as_ref()?;
    let all = &look.instances.as_ref()?.value;
    let here = relation(state) == Some(all.relation.as_str()) && prompt(state) == Some(all.prompt.as_str());
    here.then_some((look, all))
}

/// The instances of the latest look.
pub fn rows(state: &State) -> &[InstanceRow] {
    look(state).map_or(&[], |(_, all)| &all.rows)
}

/// Draws the pane.
pub fn draw(frame: &mut Frame, area: Rect, state: &State) {
    let Some((look, all)) = look(state) else {
        frame.render_widget(pane_block(state, INSTANCES, "Instances"), area);
        let key = state.keymap.label("instances");
        let text = match results(state).relations.is_empty() {
            true => "no instance has been asked yet".to_owned(),
            false => format!("{key} shows the instances of the prompt"),
        };
        return message(frame, inside(area), &text, state.theme().style(Role::Dim));
    };
    let title = format!("Instances: {} asked, {} left out", all.rows.len(), all.left_out.len());
    frame.render_widget(pane_block(state, INSTANCES, &title), area);
    let inner = inside(area);
    let one = details(state, look, usize::from(inner.width));
    let below = (one.len() as u16).min(inner.height.saturating_sub(3) * 2 / 3);
    let list = Rect { height: inner.height - below, ..inner };
    let marks = all.models.len().min(usize::from(inner.width) / 3);
    // The heading of the marks has to fit where there are few of them.
    let text = usize::from(inner.width).saturating_sub(marks.max(RIGHT.len()) + 1).max(8);
    let listing = Listing { len: all.rows.len(), cursor: state.place(ID).scrolled(INSTANCES) };
    let header = format!("{} {RIGHT}", pad("subject: object", text));
    listing.draw(frame, list, state, &header, |k, _| {
        let row = &all.rows[k];
        let fact = format!("{}: {}", row.mentions[0], row.object);
        let ascii = state.view.glyphs == Glyphs::Ascii;
        let mark = |right: bool| match (right, ascii) {
            (true, false) => '●',
            (true, true) => '+',
            (false, _) => '.',
        };
        let right: String = row.said.iter().take(marks).map(|(_, right)| mark(*right)).collect();
        format!("{} {right}", pad(&fit(&printable(&fact), text), text))
    });
    let rest = Rect { y: list.bottom(), height: below, ..inner };
    for (row, line) in rest.rows().zip(one) {
        frame.render_widget(Line::styled(line, state.theme().style(Role::Dim)), row);
    }
}

/// One instance in full: what each model was shown, what counts as its answer, and its best tokens.
pub fn details(state: &State, look: &Look, room: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for found in &look.one {
        let v = &found.value;
        if lines.is_empty() {
            let text = format!("{} ({})", v.text, v.object);
            lines.push(fit(&printable(&text), room).into_owned());
        }
        let top: Vec<String> = v
            .top
            .iter()
            .map(|t| {
                let skipped = if t.passed { "·" } else { "" };
                format!("{skipped}{} {}", t.text, score(t.probability))
            })
            .collect();
        let mark = if v.right { "=" } else { state.view.glyphs.cross() };
        let line = format!("{:<5} {mark} {}: {}", initials(&found.model), v.said, top.join(", "));
        lines.push(fit(&printable(&line), room).into_owned());
    }
    lines
}
