//! The layer map: a score by edited layer and oracle layer, with the numbers of the cell under the cursor.

use std::fmt::Write;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

use super::copying::cells;
use super::curves::estimate;
use super::measured::{method, method_key, results};
use super::{MAPS, view, view_mut};
use crate::action::Mouse;
use crate::layout::inside;
use crate::panes::{message, pane_block};
use crate::screen::Pane;
use crate::state::{State, moved};
use crate::theme::Role;
use crate::widgets::chart::Chart;
use base::numbers::{score, short};
use base::text::{fit, printable, width, wrapped};
use figure::Figure;
use labs::Tagged;
use labs::interventions::banded::is_few;
use labs::interventions::figures;
use labs::interventions::key::MethodKey;
use labs::interventions::map::{Map, MapFinding, Score};

/// Lines of numbers below the map, if they fit.
const BELOW: u16 = 3;
/// Minimum height of a pane with lines below the map, in rows.
const TALL: u16 = 9;

/// Key of the drawn method on the map: with the options in the setup or, if these were not run, with the options of the run.
fn key(state: &State) -> Option<MethodKey> {
    let (view, key) = (view(state), method_key(state));
    let mine = results(state).map.iter().filter(|c| c.model == view.model && c.value.point.oracle == view.oracle);
    let keys = || mine.clone().map(|c| c.value.method_key());
    keys().find(|k| *k == key).or_else(|| keys().find(|k| k.name == key.name))
}

fn map(state: &State) -> Option<Map<'_>> {
    Map::of(results(state), &view(state).model, &key(state)?, view(state).oracle)
}

/// True if the run computed a map or the next run will.
pub(crate) fn wanted(state: &State) -> bool {
    let found = results(state);
    !found.map.is_empty() || !found.unmapped.is_empty() || view(state).spec.map.is_some()
}

/// Figure of a pane's score; `None` for other panes, or before the first cell.
pub(crate) fn figure(state: &State, pane: Pane) -> Option<Figure> {
    let score = MAPS.iter().zip(Score::ALL).find(|(map, _)| **map == pane).map(|(_, score)| score)?;
    let key = key(state)?;
    let of = (view(state).model.as_str(), &key, view(state).oracle);
    figures::map(results(state), state.board.engine.as_ref(), of, score)
}

/// Row and column of the cursor, from 0, within the table.
fn cursor(state: &State, layers: usize) -> (usize, usize) {
    let (row, column) = view(state).cell;
    let last = layers.saturating_sub(1);
    (row.min(last), column.min(last))
}

/// Moves the cursor by the given number of layers down and to the right.
pub(crate) fn step(state: &mut State, down: i64, right: i64) {
    let Some(count) = map(state).map(|m| m.layers.len()) else { return };
    let (row, column) = cursor(state, count);
    view_mut(state).cell = (moved(row, down, count), moved(column, right, count));
}

/// Moves the cursor to the cell at a screen position.
pub(crate) fn press(state: &mut State, pane: Rect, mouse: Mouse) {
    let Some((figure, map)) = view(state).map.as_ref().zip(map(state)) else { return };
    let (area, count) = (chart_area(inside(pane)), map.layers.len());
    let hit = (0..count * count).map(|i| (i / count, i % count)).find(|(row, column)| {
        let cell = Chart::new(figure, state).cell_area(area, *row, *column);
        cell.is_some_and(|cell| cell.contains((mouse.x, mouse.y).into()))
    });
    if let Some(cell) = hit {
        view_mut(state).cell = cell;
    }
}

/// The cell under the cursor, if it has numbers.
pub(crate) fn pointed(state: &State) -> Option<&Tagged<MapFinding>> {
    let map = map(state)?;
    let (row, column) = cursor(state, map.layers.len());
    map.at(map.layers[row], map.layers[column])
}

fn chart_area(inner: Rect) -> Rect {
    let below = if inner.height >= TALL { BELOW } else { inner.height.min(1) };
    Rect { height: inner.height - below, ..inner }
}

pub(crate) fn draw(frame: &mut Frame, area: Rect, state: &State, pane: Pane) {
    let view = view(state);
    let Some((figure, map)) = view.map.as_ref().zip(map(state)) else {
        frame.render_widget(pane_block(state, pane, "Map of layers"), area);
        let text = "This run has no layer map.\nTo get one, add [map] to a spec.";
        return message(frame, inside(area), text, state.theme().style(Role::Dim));
    };
    let room = usize::from(area.width.saturating_sub(6));
    frame.render_widget(pane_block(state, pane, &fit(&printable(&figure.title), room)), area);
    let inner = inside(area);
    let chart = chart_area(inner);
    frame.render_widget(Chart::new(figure, state), chart);
    let (row, column) = cursor(state, map.layers.len());
    if let Some(cell) = Chart::new(figure, state).cell_area(chart, row, column) {
        let cell = cell.intersection(frame.area());
        let style = state.theme().style(Role::Focus).add_modifier(Modifier::BOLD | Modifier::REVERSED);
        for x in cell.left()..cell.right() {
            // The number is in the middle row.
            if let Some(cell) = frame.buffer_mut().cell_mut((x, cell.y + cell.height.saturating_sub(1) / 2)) {
                cell.set_style(style);
            }
        }
    }
    let below = Rect { y: chart.bottom(), height: inner.bottom() - chart.bottom(), ..inner };
    let lines = match map.at(map.layers[row], map.layers[column]) {
        // In a low pane the numbers matter more than the cell's position, which the cursor shows.
        Some(cell) => numbers(state, cell, inner.width.into()).split_off(usize::from(below.height < 2)),
        None => nothing(state, &map, (map.layers[row], map.layers[column]), inner.width.into()),
    };
    for (row, line) in below.rows().zip(lines) {
        frame.render_widget(line, row);
    }
}

/// Position, n and scores of a cell, and how they were measured: in full if there is space; n is always included.
fn numbers(state: &State, cell: &Tagged<MapFinding>, room: usize) -> Vec<Line<'static>> {
    let (theme, p) = (state.theme(), &cell.value.point);
    let symbol = method(state).map_or(p.parameter.clone(), |m| m.parameter.symbol.clone());
    let strength = format!("{} = {}", printable(&symbol), short(p.value));
    let how = cell.value.strength.title();
    let n = format!("n {}", p.counts().join(" / "));
    let places = [
        format!(" written at layer {}, read at layer {}; {strength} ({how})  {n}", p.layer, p.oracle_layer),
        format!(" layer {}, read at {}; {strength}  {n}", p.layer, p.oracle_layer),
    ];
    let place = places.iter().find(|text| width(text) <= room).unwrap_or(&places[1]).clone();
    let state_of = if cell.is_final { "final" } else { "refining" };
    let level = cell.level.filter(|_| !is_few(p.beside.replicates));
    let level = level.map_or(String::new(), |l| format!(", {} % intervals", short(100.0 * l)));
    let line = |tail: &str| {
        let each = [
            (Role::Completeness, "C", &p.completeness),
            (Role::Selectivity, "S", &p.selectivity),
            (Role::Reliability, "R", &p.reliability),
        ];
        let score =
            |(role, name, e)| Span::styled(format!(" {name} {} ", estimate(e, p.beside.replicates)), theme.style(role));
        let tail = Span::styled(tail.to_owned(), theme.style(Role::Dim));
        Line::from(each.into_iter().map(score).chain([tail]).collect::<Vec<_>>())
    };
    let full = format!(" {state_of}{level}");
    let lines = [line(&full), line("")];
    let scores = lines.iter().find(|l| l.width() <= room).unwrap_or(&lines[1]).clone();
    let trainings = match p.beside.replicates {
        1 => " 1 training run".to_owned(),
        k => format!(" {k} training runs"),
    };
    let read = p
        .beside
        .ze_balanced_accuracy
        .map_or(String::new(), |e| format!("; other property still read with accuracy {}", score(e.mean)));
    let last = match p.beside.eligible {
        Some(false) => {
            Line::styled(" ! the property to keep is no longer readable here".to_owned(), theme.style(Role::Warning))
        }
        _ => Line::styled(format!("{trainings}{read}"), theme.style(Role::Dim)),
    };
    vec![Line::styled(place, theme.style(Role::Marker)), scores, last]
}

fn nothing(state: &State, map: &Map<'_>, (layer, read): (usize, usize), room: usize) -> Vec<Line<'static>> {
    let text = match map.reason(layer) {
        _ if read < layer => format!("n/a: an oracle at layer {read} cannot see an edit at layer {layer}"),
        Some(reason) => format!("n/a: layer {layer}: {}", printable(reason)),
        None => format!("an edit at layer {layer}, read at layer {read}, has not been measured yet"),
    };
    let style = state.theme().style(Role::Dim);
    let lines = wrapped(&text, room.saturating_sub(2)).into_iter();
    lines.map(|line| Line::styled(format!(" {line}"), style)).collect()
}

pub(crate) fn text(state: &State) -> Option<String> {
    let map = map(state)?;
    let mut text = String::from("layer\toracle_layer\tvalue\tC\tC_lo\tC_hi\tS\tS_lo\tS_hi\tR\tR_lo\tR_hi\tn_c\tn_s\n");
    for cell in map.cells() {
        let p = &cell.value.point;
        let _ = write!(text, "{}\t{}\t{}", p.layer, p.oracle_layer, p.value);
        for b in [p.completeness, p.selectivity, p.reliability] {
            let _ = write!(text, "\t{}", cells(b.reported(p.beside.replicates)));
        }
        let _ = writeln!(text, "\t{}\t{}", p.n_c, p.n_s);
    }
    Some(text)
}
