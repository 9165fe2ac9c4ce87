//! Small directed graphs in terminal cells: boxes with names, connected by arrows in box-drawing characters.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

use super::Chart;
use super::cells::Key;
use crate::theme::Role;
use base::text::{fit, printable, width};
use figure::layers::Graph;

/// Maximum width of a node's name, in columns.
const LONGEST: usize = 22;
/// Directions: up, right, down, left. The bit of a direction in a cell is `1 << step`.
const STEPS: [(i32, i32); 4] = [(0, -1), (1, 0), (0, 1), (-1, 0)];
/// Light and heavy lines, indexed by the bits of the sides that they touch.
const LIGHT: [&str; 16] = [" ", "│", "─", "└", "│", "│", "┌", "├", "─", "┘", "─", "┴", "┐", "┤", "┬", "┼"];
const HEAVY: [&str; 16] = [" ", "┃", "━", "┗", "┃", "┃", "┏", "┣", "━", "┛", "━", "┻", "┓", "┫", "┳", "╋"];
const HEADS: [(&str, &str); 4] = [("▲", "^"), ("▶", ">"), ("▼", "v"), ("◀", "<")];
/// Costs of a turn, of crossing another arrow, and of overlapping one.
const TURN: u32 = 3;
const CROSS: u32 = 4;
const SHARE: u32 = 40;

struct Placed {
    label: String,
    area: Rect,
}

/// The cells that arrows can use.
struct Grid {
    area: Rect,
    /// True for cells covered by nodes.
    taken: Vec<bool>,
    /// Bits of the sides of each cell that arrows touch.
    sides: Vec<u8>,
}

impl Grid {
    fn new(area: Rect, nodes: &[Placed]) -> Self {
        let size = usize::from(area.width) * usize::from(area.height);
        let mut grid = Self { area, taken: vec![false; size], sides: vec![0; size] };
        for node in nodes {
            for at in node.area.intersection(area).positions() {
                let index = grid.index((i32::from(at.x), i32::from(at.y)));
                index.into_iter().for_each(|k| grid.taken[k] = true);
            }
        }
        grid
    }

    fn index(&self, (x, y): (i32, i32)) -> Option<usize> {
        let (dx, dy) = (x - i32::from(self.area.x), y - i32::from(self.area.y));
        let inside = (0..i32::from(self.area.width)).contains(&dx) && (0..i32::from(self.area.height)).contains(&dy);
        inside.then(|| dy as usize * usize::from(self.area.width) + dx as usize)
    }

    /// The neighbour of a cell in a direction, if no node covers it.
    fn next(&self, at: usize, step: usize) -> Option<usize> {
        let columns = usize::from(self.area.width);
        let (x, y) = ((at % columns) as i32 + i32::from(self.area.x), (at / columns) as i32 + i32::from(self.area.y));
        self.index((x + STEPS[step].0, y + STEPS[step].1)).filter(|k| !self.taken[*k])
    }

    /// The free cells around a node, each with the direction away from the node and the distance from the middle of the side.
    fn around(&self, node: Rect) -> Vec<(usize, usize, u32)> {
        let (left, top) = (i32::from(node.x), i32::from(node.y));
        let (right, bottom) = (i32::from(node.right()), i32::from(node.bottom()));
        let (middle, level) = (left + (right - left) / 2, top + (bottom - top) / 2);
        let across = (left + 1..right - 1).flat_map(|x| {
            let off = (x - middle).unsigned_abs() / 2;
            [((x, top - 1), 0, off), ((x, bottom), 2, off)]
        });
        let beside = [((right, level), 1, 0), ((left - 1, level), 3, 0)];
        let free = |(at, step, off)| self.index(at).filter(|k| !self.taken[*k]).map(|k| (k, step, off));
        across.chain(beside).filter_map(free).collect()
    }

    /// Finds the cheapest path between nodes: cells, with the direction in which each is left. `None` if there is no path.
    fn course(&self, from: Rect, to: Rect) -> Option<Vec<(usize, usize)>> {
        let states = self.taken.len() * 4;
        let (mut best, mut came) = (vec![u32::MAX; states], vec![usize::MAX; states]);
        // Lower bound on the remaining path, by the direction into the node.
        let mut goal = vec![None; states];
        for (cell, away, off) in self.around(to) {
            goal[cell * 4 + (away + 2) % 4] = Some(off);
        }
        let mut open = BinaryHeap::new();
        for (cell, step, off) in self.around(from) {
            let state = cell * 4 + step;
            best[state] = off + self.crossing_cost(cell, step, step);
            open.push(Reverse((best[state], state, false)));
        }
        while let Some(Reverse((cost, state, done))) = open.pop() {
            if done {
                let mut line = vec![(state / 4, state % 4)];
                let mut at = state;
                while came[at] != usize::MAX {
                    at = came[at];
                    line.push((at / 4, at % 4));
                }
                line.reverse();
                return Some(line);
            }
            if cost > best[state] {
                continue;
            }
            let (cell, step) = (state / 4, state % 4);
            if let Some(off) = goal[state] {
                open.push(Reverse((cost + off, state, true)));
            }
            for turn in (0..4).filter(|t| *t != (step + 2) % 4) {
                // A turn stays in the cell; a step straight on leads to the next one.
                let (next, extra) = if turn == step {
                    let Some(next) = self.next(cell, step) else { continue };
                    (next, 1 + self.crossing_cost(next, step, step))
                } else {
                    (cell, TURN + if self.sides[cell] == 0 { 0 } else { SHARE })
                };
                let (next, cost) = (next * 4 + turn, cost + extra);
                if cost < best[next] {
                    (best[next], came[next]) = (cost, state);
                    open.push(Reverse((cost, next, false)));
                }
            }
        }
        None
    }

    /// Cost of entering and leaving a cell in these directions, because of other arrows in it.
    fn crossing_cost(&self, cell: usize, entered: usize, left: usize) -> u32 {
        let along = 1u8 << left | 1 << ((entered + 2) % 4);
        match self.sides[cell] {
            0 => 0,
            sides if sides & along == 0 => CROSS,
            _ => SHARE,
        }
    }
}

impl Chart<'_> {
    /// Draws the graph over the whole area, and returns its number of rows.
    pub(super) fn graph(&self, area: Rect, graph: &Graph, buffer: &mut Buffer) -> u16 {
        if area.width < 8 || area.height < 3 {
            return 0;
        }
        let nodes = self.nodes(area, graph);
        let mut grid = Grid::new(area, &nodes);
        let mut courses = Vec::new();
        // The highlighted path is routed first, so that it has the fewest turns, and drawn last, over the rest.
        for lit in [true, false] {
            for edge in graph.edges.iter().filter(|e| e.lit == lit && e.from != e.to) {
                let Some((from, to)) = nodes.get(edge.from).zip(nodes.get(edge.to)) else { continue };
                let Some(line) = grid.course(from.area, to.area) else { continue };
                let sides = sides(&line);
                sides.iter().for_each(|(cell, sides)| grid.sides[*cell] |= sides);
                courses.push((edge, line, sides));
            }
        }
        for (edge, line, sides) in courses.iter().rev() {
            let style = self.theme.style(if edge.lit { Role::Marker } else { Role::Axis });
            let place = |cell: usize| {
                (area.x + (cell % usize::from(area.width)) as u16, area.y + (cell / usize::from(area.width)) as u16)
            };
            for (cell, sides) in sides {
                let (glyphs, ascii) = if edge.lit { (&HEAVY, "*") } else { (&LIGHT, ascii(*sides)) };
                let crossed = grid.sides[*cell] & !sides != 0 && !edge.lit && sides.count_ones() == 2;
                let sides = if crossed { grid.sides[*cell] } else { *sides };
                let at = place(*cell);
                buffer.set_string(at.0, at.1, self.pick(glyphs[usize::from(sides & 15)], ascii), style);
            }
            if let Some((cell, step)) = line.last() {
                let at = place(*cell);
                buffer.set_string(at.0, at.1, self.pick(HEADS[*step].0, HEADS[*step].1), style);
            }
            if !edge.label.is_empty()
                && let Some((cell, _)) = line.get(line.len() / 2)
            {
                let label = format!(" {} ", fit(&printable(&edge.label), 18));
                let at = place(*cell);
                let left = at.0.saturating_sub(width(&label) as u16 / 2).max(area.x);
                let room = usize::from(area.right().saturating_sub(left));
                buffer.set_stringn(left, at.1, fit(&label, room), room, self.theme.style(Role::Dim));
            }
        }
        for (node, placed) in graph.nodes.iter().zip(&nodes) {
            let style = match node.lit {
                true => self.theme.style(Role::Marker).add_modifier(Modifier::BOLD),
                false => self.theme.style(Role::Text),
            };
            self.node(placed, node.lit, style, buffer);
        }
        area.height
    }

    /// Draws a node: its name in brackets, or in a box if there are three rows.
    fn node(&self, node: &Placed, lit: bool, style: Style, buffer: &mut Buffer) {
        let Rect { x, y, width: columns, height } = node.area;
        let room = usize::from(buffer.area.right().saturating_sub(x));
        let line = |left: &str, fill: &str, right: &str| {
            format!("{left}{}{right}", fill.repeat(usize::from(columns).saturating_sub(2)))
        };
        let rows = match (height, self.ascii(), lit) {
            (3, true, _) => [line("+", "-", "+"), node.label.clone(), line("+", "-", "+")].to_vec(),
            (3, false, true) => [line("┏", "━", "┓"), node.label.clone(), line("┗", "━", "┛")].to_vec(),
            (3, false, false) => [line("┌", "─", "┐"), node.label.clone(), line("└", "─", "┘")].to_vec(),
            _ => vec![node.label.clone()],
        };
        for (row, text) in (y..).zip(rows) {
            buffer.set_stringn(x, row, text, room, style);
        }
    }

    /// Places the nodes: boxes of three rows if the area is high enough for them and for arrows between them.
    fn nodes(&self, area: Rect, graph: &Graph) -> Vec<Placed> {
        let span = |pick: fn((f64, f64)) -> f64| {
            let each = || graph.nodes.iter().map(|n| pick(n.at)).filter(|v| v.is_finite());
            (each().fold(f64::INFINITY, f64::min), each().fold(f64::NEG_INFINITY, f64::max))
        };
        let (across, down) = (span(|p| p.0), span(|p| p.1));
        let share = |v: f64, (lo, hi): (f64, f64)| if v.is_finite() && hi > lo { (v - lo) / (hi - lo) } else { 0.5 };
        let mut levels: Vec<f64> = graph.nodes.iter().map(|n| n.at.1).collect();
        levels.sort_by(f64::total_cmp);
        levels.dedup();
        let height = if usize::from(area.height) >= levels.len() * 5 { 3 } else { 1 };
        let label = |name: &str, lit: bool| {
            let name = fit(&printable(name), LONGEST.min(usize::from(area.width / 4))).into_owned();
            match (height, self.ascii(), lit) {
                (3, true, _) => format!("| {name} |"),
                (3, false, true) => format!("┃ {name} ┃"),
                (3, false, false) => format!("│ {name} │"),
                (_, _, true) => format!("[*{name}*]"),
                _ => format!("[ {name} ]"),
            }
        };
        let labels: Vec<String> = graph.nodes.iter().map(|n| label(&n.label, n.lit)).collect();
        let widest = labels.iter().map(|l| width(l)).max().unwrap_or(0) as f64;
        let inner = (f64::from(area.width) - widest - 4.0).max(1.0);
        // Leave a row above and below for arrows that go around.
        let air = if area.height > 6 { 1.0 } else { 0.0 };
        let place = |(node, label): (&figure::layers::Node, String)| {
            let columns = width(&label) as u16;
            let x = f64::from(area.x) + 2.0 + (widest - f64::from(columns)) / 2.0 + share(node.at.0, across) * inner;
            let rows = f64::from(area.height) - f64::from(height) - 2.0 * air;
            let y = f64::from(area.y) + air + share(node.at.1, down) * rows.max(0.0);
            Placed { label, area: Rect::new(x.round() as u16, y.round() as u16, columns, height) }
        };
        graph.nodes.iter().zip(labels).map(place).collect()
    }

    pub(super) fn graph_keys(&self, graph: &Graph) -> Vec<Key> {
        if !graph.edges.iter().any(|e| e.lit) {
            return Vec::new();
        }
        vec![(vec![(self.pick("━━▶", "**>").to_owned(), self.theme.style(Role::Marker))], "highlighted path".into())]
    }
}

/// The cells of a path with the sides that it touches.
fn sides(line: &[(usize, usize)]) -> Vec<(usize, u8)> {
    let mut out: Vec<(usize, u8)> = Vec::new();
    let mut entered = line.first().map_or(0, |(_, step)| *step);
    for (k, (cell, step)) in line.iter().enumerate() {
        let turns = line.get(k + 1).is_some_and(|(next, _)| next == cell);
        if !turns {
            out.push((*cell, 1 << step | 1 << ((entered + 2) % 4)));
            entered = *step;
        }
    }
    out
}

fn ascii(sides: u8) -> &'static str {
    match sides {
        1 | 4 | 5 => "|",
        2 | 8 | 10 => "-",
        _ => "+",
    }
}
