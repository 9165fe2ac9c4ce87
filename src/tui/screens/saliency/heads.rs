//! Attention of every layer and head between the mask and the word under the cursor, and attention of all words in one head. If not all
//! layers or heads fit, shows those around the cursor.

use std::ops::Range;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Modifier;

use super::{HEADS, Shown, heat, results, shown, view};
use crate::action::Mouse;
use crate::layout::{inside, scrolled};
use crate::panes::{message, pane_block, why_empty};
use crate::state::{State, moved};
use crate::theme::Role;
use crate::widgets::chart::Chart;
use base::numbers::decimals;
use base::text::{fit, last_part, printable};
use figure::layers::{Strip, Token, Tokens};
use figure::{Figure, Layer};
use labs::Tagged;
use labs::saliency::finding::{AttentionFinding, OWN};
use labs::saliency::heatmap;
use labs::saliency::question::AttentionQuestion;

/// The latest attention, if it belongs to a visible sentence.
pub(crate) fn attention(state: &State) -> Option<&Tagged<AttentionFinding>> {
    let found = results(state).attention.as_ref()?;
    let choices = heat::choices(state);
    let sides = heat::sides(state, &choices);
    let here =
        sides.iter().any(|s| s.sentence.sentence == found.value.sentence && s.sentence.words == found.value.words);
    here.then_some(found)
}

pub(crate) fn question(state: &State) -> Option<AttentionQuestion> {
    let pointed = heat::pointed(state)?;
    let model = view(state).model.clone();
    Some(match shown(state)? {
        Shown::Own(_) => AttentionQuestion { model, sentence: None, text: view(state).typed.clone() },
        Shown::Data(..) => {
            AttentionQuestion { model, sentence: Some(pointed.sentence.sentence.clone()), text: String::new() }
        }
    })
}

/// Layer and head under the cursor, from 0, within the table.
pub(crate) fn head(state: &State) -> Option<(usize, usize)> {
    let scores = &attention(state)?.value.scores;
    let (layer, head) = view(state).head;
    let layer = layer.min(scores.len().checked_sub(1)?);
    Some((layer, head.min(scores[layer].len().checked_sub(1)?)))
}

/// Moves the cursor by `layers` and `heads`.
pub(crate) fn step(state: &State, layers: i64, heads: i64) -> Option<(usize, usize)> {
    let ((layer, head), scores) = (head(state)?, &attention(state)?.value.scores);
    let layer = moved(layer, layers, scores.len());
    Some((layer, moved(head, heads, scores[layer].len())))
}

/// Index of the word whose attention is drawn: the word under the cursor, or the first word with attention.
fn word(state: &State) -> usize {
    let Some(found) = attention(state) else { return 0 };
    let pointed = heat::pointed(state).filter(|p| p.sentence.sentence == found.value.sentence);
    let first = (0..found.value.words.len()).find(|w| !found.value.excluded.contains(w));
    pointed.map(|p| p.word).or(first).unwrap_or(0)
}

/// The table of heads; `None` if no attention was requested.
pub(crate) fn figure(state: &State) -> Option<Figure> {
    heatmap::heads(state.board.engine.as_ref(), attention(state)?, word(state))
}

/// The strip of all words with their attention in the head under the cursor.
fn strip(state: &State) -> Option<Figure> {
    let (found, (layer, head)) = (attention(state)?, head(state)?);
    let v = &found.value;
    let weights = v.scores.get(layer)?.get(head)?;
    let token = |(at, text): (usize, &String)| Token {
        text: text.clone(),
        score: weights.get(at).filter(|_| !v.excluded.contains(&at)).map(|w| f64::from(*w)),
        ..Token::default()
    };
    let tokens: Vec<Token> = v.words.iter().enumerate().map(token).collect();
    let strip = Strip { label: format!("{}.{}", layer + 1, head + 1), tokens, doubt: None };
    let tokens = Tokens { strips: vec![strip], label: "in this head".into(), ..Tokens::default() };
    Some(Figure { layers: vec![Layer::Tokens(tokens)], ..Figure::default() })
}

pub(crate) fn draw(frame: &mut Frame, area: Rect, state: &State) {
    let room = usize::from(area.width.saturating_sub(6));
    let Some((found, figure)) = attention(state).zip(view(state).heads.as_ref()) else {
        frame.render_widget(pane_block(state, HEADS, "Heads"), area);
        let key = state.keymap.label("heads");
        let text = match heat::pointed(state) {
            Some(_) => format!("{key} shows where every head of the model\nattends in this sentence"),
            None => why_empty(state, "sentences"),
        };
        return message(frame, inside(area), &text, state.theme().style(Role::Dim));
    };
    let at = head(state).unwrap_or((0, 0));
    let (word, v) = (word(state), &found.value);
    let weight = v.scores.get(at.0).and_then(|l| l.get(at.1)?.get(word)).copied().unwrap_or(f32::NAN);
    let text = v.words.get(word).map_or("", String::as_str);
    let which = if v.sentence == OWN { String::new() } else { format!(" {}", v.sentence) };
    let (layer, head) = (at.0 + 1, at.1 + 1);
    let title =
        format!("Head {layer}.{head}: {text} {}, {}{which}", decimals(f64::from(weight), 3), last_part(&found.model));
    frame.render_widget(pane_block(state, HEADS, &fit(&printable(&title), room)), area);
    let inner = inside(area);
    let table = table(inner, v.scores.len());
    let part = part(figure, &v.scores, at, table);
    let below = inner.height - table.height;
    let chart = |figure| Chart::new(figure, state);
    frame.render_widget(chart(&part.figure), table);
    if let Some(cell) = chart(&part.figure).cell_area(table, at.0 - part.layers.start, at.1 - part.heads.start) {
        let cell = cell.intersection(frame.area());
        let style = state.theme().style(Role::Focus).add_modifier(Modifier::BOLD | Modifier::REVERSED);
        for x in cell.left()..cell.right() {
            if let Some(cell) = frame.buffer_mut().cell_mut((x, cell.y)) {
                cell.set_style(style);
            }
        }
    }
    if let Some(figure) = strip(state).filter(|_| below > 0) {
        frame.render_widget(chart(&figure), Rect { y: table.bottom(), height: below, ..inner });
    }
}

pub(crate) fn at(state: &State, pane: Rect, mouse: Mouse) -> Option<(usize, usize)> {
    let (figure, scores) = (view(state).heads.as_ref()?, &attention(state)?.value.scores);
    let table = table(inside(pane), scores.len());
    let Part { figure, layers, heads } = part(figure, scores, head(state)?, table);
    let cells = layers.clone().flat_map(|l| heads.clone().map(move |h| (l, h)));
    cells.into_iter().find(|(l, h)| {
        let cell = Chart::new(&figure, state).cell_area(table, l - layers.start, h - heads.start);
        cell.is_some_and(|cell| cell.contains((mouse.x, mouse.y).into()))
    })
}

/// Rows of the table other than cells: a legend above and an axis below.
const FRAME: usize = 3;
/// Columns before the cells, and the minimum width of a cell with a readable number.
const MARGIN: usize = 4;
const CELL: usize = 5;

struct Part {
    figure: Figure,
    layers: Range<usize>,
    heads: Range<usize>,
}

/// The window of entries that fits and contains the cursor.
fn around(cursor: usize, count: usize, room: usize) -> Range<usize> {
    let room = room.clamp(1, count.max(1));
    let first = scrolled(cursor, count, room);
    first..(first + room).min(count)
}

fn part(whole: &Figure, scores: &[Vec<Vec<f32>>], (layer, head): (usize, usize), area: Rect) -> Part {
    let most = scores.iter().map(Vec::len).max().unwrap_or(0);
    let layers = around(layer, scores.len(), usize::from(area.height).saturating_sub(FRAME));
    let heads = around(head, most, usize::from(area.width).saturating_sub(MARGIN) / CELL);
    Part { figure: heatmap::heads_part(whole, &layers, &heads), layers, heads }
}

/// Area of the table; the words of one head are below it, if every layer still has a row.
fn table(inner: Rect, layers: usize) -> Rect {
    let spare = usize::from(inner.height).saturating_sub(layers + FRAME);
    let below = if spare >= 3 { spare.min(4) as u16 } else { 0 };
    Rect { height: inner.height - below, ..inner }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_around_the_cursor_are_shown() {
        for (cursor, count, room) in [(0, 12, 5), (11, 12, 5), (6, 12, 5), (2, 3, 9), (0, 1, 0), (7, 12, 0)] {
            let shown = around(cursor, count, room);
            assert!(shown.contains(&cursor) && shown.end <= count, "{shown:?}");
            assert_eq!(shown.len(), room.clamp(1, count));
        }
    }
}
