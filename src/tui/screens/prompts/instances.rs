//! The instances pane: every model's answers, and each model's candidates for the selected instance.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::asked::heads;
use super::{ID, INSTANCES, prompt, relation, results, rule, under_cursor};
use crate::layout::inside;
use crate::panes::listing::{Listing, MARK};
use crate::panes::{awaited, message, pane_block};
use crate::reduce::job;
use crate::state::{Glyphs, State};
use crate::theme::Role;
use base::numbers::score;
use base::text::{fit, pad, printable, width, wrapped};
use labs::LabId;
use labs::prompts::finding::InstancesFinding;
use labs::prompts::results::Look;

const RIGHT: &str = "right";

/// The latest list, if it belongs to the relation and prompt under the cursors.
pub(crate) fn look(state: &State) -> Option<(&Look, &InstancesFinding)> {
    let look = results(state).look.as_ref()?;
    let all = &look.instances.as_ref()?.value;
    let here = relation(state) == Some(all.relation.as_str()) && prompt(state) == Some(all.prompt.as_str());
    here.then_some((look, all))
}

/// Number of lines in the list: the instances of the latest list, then the unused ones.
pub(crate) fn len(state: &State) -> usize {
    look(state).map_or(0, |(_, all)| all.rows.len() + all.left_out.len())
}

/// Minimum visible rows of the list above the details of one instance.
const LIST: u16 = 4;

pub(crate) fn draw(frame: &mut Frame, area: Rect, state: &State) {
    let Some((look, all)) = look(state) else {
        frame.render_widget(pane_block(state, INSTANCES, "Instances"), area);
        let key = state.keymap.short_label("open");
        let text = match under_cursor(state) {
            Err(Some(why)) => format!("this prompt is not used: {}", printable(why)),
            Err(None) => {
                let waits = "Instances appear when the first relation is scored.";
                awaited(state, waits, "no instance has been tested yet").to_owned()
            }
            Ok(_) if job::is_unloaded(state, LabId::Prompts) => {
                let run = state.keymap.short_label("run");
                format!(
                    "another run has replaced this run's models; {run} runs it again, then {key} shows the instances"
                )
            }
            Ok(_) => format!("{key} shows the instances of the prompt"),
        };
        return message(frame, inside(area), &text, state.theme().style(Role::Dim));
    };
    let of = all.rows.len() + all.left_out.len();
    let inner = inside(area);
    let cursor = state.place(ID).scrolled(INSTANCES);
    let one = match cursor.checked_sub(all.rows.len()).and_then(|k| all.left_out.get(k)) {
        Some((_, why)) => wrapped(&printable(&format!("not used: {why}")), usize::from(inner.width)),
        None => details(state, look, usize::from(inner.width)),
    };
    let focused = state.place(ID).focus == INSTANCES;
    let most = if focused { inner.height.saturating_sub(LIST) } else { inner.height.saturating_sub(3) * 2 / 3 };
    let below = (one.len() as u16).min(most);
    // The key of the marks, if rows remain for it.
    let keyed = u16::from(inner.height > below + LIST);
    let cut = usize::from(below) < one.len() && focused;
    let more = if cut { format!(", {}: all", state.keymap.label("zoom")) } else { String::new() };
    let title = format!("Instances {}/{of}{more}{}", all.rows.len(), rule(state));
    let room = usize::from(area.width.saturating_sub(6));
    frame.render_widget(pane_block(state, INSTANCES, &fit(&title, room)), area);
    let list = Rect { height: inner.height - below - keyed, ..inner };
    let wide = usize::from(inner.width.saturating_sub(MARK));
    let marks = all.models.len().min(wide / 3);
    // The heading must fit even above few marks.
    let text = wide.saturating_sub(marks.max(RIGHT.len()) + 1).max(8);
    let listing = Listing { len: len(state), cursor };
    let header = format!("{} {RIGHT}", pad("subject: object", text));
    listing.draw(frame, list, state, &header, |k| {
        let Some(row) = all.rows.get(k) else {
            let fact = all.left_out.get(k - all.rows.len()).map_or("", |(fact, _)| fact);
            return format!("{} left out", pad(&fit(&printable(fact), text.saturating_sub(3)), text.saturating_sub(3)));
        };
        let fact = format!("{}: {}", row.mentions[0], row.object);
        let ascii = state.view.glyphs == Glyphs::Ascii;
        let mark = |k: usize, right: bool| match (right, row.stable.get(k).copied().unwrap_or(true), ascii) {
            (true, true, false) => '●',
            (true, false, false) => '◐',
            (true, true, true) => '+',
            (true, false, true) => '*',
            (false, true, _) => '.',
            (false, false, _) => '~',
        };
        let right: String = row.said.iter().take(marks).enumerate().map(|(k, (_, right))| mark(k, *right)).collect();
        format!("{} {right}", pad(&fit(&printable(&fact), text), text))
    });
    let rest = Rect { y: list.bottom(), height: keyed, ..inner };
    let style = state.theme().style(Role::Dim);
    frame.render_widget(Line::styled(fit(key(state), usize::from(inner.width)).into_owned(), style), rest);
    let rest = Rect { y: rest.bottom(), height: below, ..inner };
    for (row, line) in rest.rows().zip(one) {
        frame.render_widget(Line::styled(line, state.theme().style(Role::Dim)), row);
    }
}

/// Explains the marks of the list, one per model in the order of the run, and of the tokens below it.
pub(crate) fn key(state: &State) -> &'static str {
    match state.view.glyphs {
        Glyphs::Ascii => "+ right, * right but changes with the name, . wrong, ~ wrong and changes",
        _ => "● right, ◐ right but changes with the name, . wrong, ~ wrong and changes",
    }
}

/// One instance in full: each model's input, how its answer is chosen, and its best tokens.
pub(crate) fn details(state: &State, look: &Look, room: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let models: Vec<&str> = look.one.iter().map(|found| found.model.as_str()).collect();
    let names = heads(&models, room / 3);
    let columns = names.iter().map(|name| width(name)).max().unwrap_or(0);
    for (found, name) in look.one.iter().zip(&names) {
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
        let line = format!("{name:<columns$} {mark} {}: {}", v.said, top.join(", "));
        lines.push(fit(&printable(&line), room).into_owned());
    }
    lines
}
