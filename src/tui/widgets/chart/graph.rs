//! Small directed graphs on cells: names in brackets, arrows between them.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Modifier;

use super::Chart;
use super::canvas::Canvas;
use super::cells::Key;
use crate::theme::Role;
use base::text::{fit, printable, width};
use figure::Dash;
use figure::layers::Graph;
use figure::route::{Room, course};

/// Longest name of a node.
const LONGEST: usize = 22;

impl Chart<'_> {
    /// Draws the graph over the area and returns the rows that it takes: all.
    pub(super) fn graph(&self, area: Rect, graph: &Graph, buffer: &mut Buffer) -> u16 {
        if area.width < 8 || area.height < 3 {
            return 0;
        }
        let rooms = self.rooms(area, graph);
        let mut canvas = Canvas::new(area, self.glyphs);
        let (dots_x, dots_y) = canvas.dots();
        let scale = (dots_x as f64 / f64::from(area.width), dots_y as f64 / f64::from(area.height));
        let mut heads = Vec::new();
        // The highlighted path is drawn over the rest.
        for lit in [false, true] {
            for edge in graph.edges.iter().filter(|e| e.lit == lit && e.from != e.to) {
                let Some((from, to)) = rooms.get(edge.from).zip(rooms.get(edge.to)) else { continue };
                let others = rooms.iter().enumerate().filter(|(k, _)| *k != edge.from && *k != edge.to);
                let others: Vec<Room> = others.map(|(_, r)| r.1).collect();
                let line = course(&from.1, &to.1, &others, 0.6);
                let style = if lit { self.theme.style(Role::Marker) } else { self.theme.style(Role::Axis) };
                let dash = if lit { Dash::Solid } else { Dash::Dotted };
                let dot = |p: &(f64, f64)| {
                    (
                        ((p.0 - f64::from(area.x)) * scale.0) as i64,
                        ((p.1 - f64::from(area.y)) * scale.1) as i64,
                    )
                };
                let mut count = 0;
                for pair in line.windows(2) {
                    canvas.line(dot(&pair[0]), dot(&pair[1]), style, dash, &mut count);
                }
                if let Some(tip) = line.last() {
                    heads.push((*tip, to.1, style));
                }
            }
        }
        canvas.render(buffer);
        self.edge_labels(area, graph, &rooms, buffer);
        for (tip, room, style) in heads {
            let (dx, dy) = ((room.at.0 - tip.0) / room.half.0, (room.at.1 - tip.1) / room.half.1);
            let head = match dx.abs() > dy.abs() {
                true if dx > 0.0 => self.pick("▶", ">"),
                true => self.pick("◀", "<"),
                false if dy > 0.0 => self.pick("▼", "v"),
                false => self.pick("▲", "^"),
            };
            let at = (tip.0 as u16, tip.1 as u16);
            if area.contains(at.into()) {
                buffer.set_string(at.0, at.1, head, style);
            }
        }
        for (node, (label, room)) in graph.nodes.iter().zip(&rooms) {
            let left = (room.at.0 - room.half.0).round().max(f64::from(area.x)) as u16;
            let style = if node.lit {
                self.theme.style(Role::Marker).add_modifier(Modifier::BOLD)
            } else {
                self.theme.style(Role::Text)
            };
            let room_left = usize::from(area.right().saturating_sub(left));
            buffer.set_stringn(left, room.at.1 as u16, label, room_left, style);
        }
        area.height
    }

    /// Names in brackets (with stars on the highlighted path) and their boxes, in cells.
    fn rooms(&self, area: Rect, graph: &Graph) -> Vec<(String, Room)> {
        let span = |pick: fn((f64, f64)) -> f64| {
            let each = || graph.nodes.iter().map(|n| pick(n.at)).filter(|v| v.is_finite());
            (each().fold(f64::INFINITY, f64::min), each().fold(f64::NEG_INFINITY, f64::max))
        };
        let (across, down) = (span(|p| p.0), span(|p| p.1));
        let share =
            |v: f64, (lo, hi): (f64, f64)| if v.is_finite() && hi > lo { (v - lo) / (hi - lo) } else { 0.5 };
        let labels = graph.nodes.iter().map(|n| {
            let name = fit(&printable(&n.label), LONGEST.min(usize::from(area.width / 4))).into_owned();
            if n.lit { format!("[*{name}*]") } else { format!("[ {name} ]") }
        });
        let labels: Vec<String> = labels.collect();
        let widest = labels.iter().map(|l| width(l)).max().unwrap_or(0) as f64;
        let inner = (f64::from(area.width) - widest - 2.0).max(1.0);
        // A row above and below for arrows that go around.
        let air = if area.height > 6 { 2.0 } else { 0.0 };
        let place = |k: usize, label: &str| {
            let at = graph.nodes[k].at;
            let x = f64::from(area.x) + 1.0 + widest / 2.0 + share(at.0, across) * inner;
            let y = f64::from(area.y) + air + share(at.1, down) * (f64::from(area.height) - 1.0 - 2.0 * air);
            Room { at: (x, y.round() + 0.5), half: (width(label) as f64 / 2.0 + 0.5, 0.9) }
        };
        labels.into_iter().enumerate().map(|(k, label)| (label.clone(), place(k, &label))).collect()
    }

    fn edge_labels(&self, area: Rect, graph: &Graph, rooms: &[(String, Room)], buffer: &mut Buffer) {
        for edge in graph.edges.iter().filter(|e| !e.label.is_empty() && e.from != e.to) {
            let Some((from, to)) = rooms.get(edge.from).zip(rooms.get(edge.to)) else { continue };
            let others = rooms.iter().enumerate().filter(|(k, _)| *k != edge.from && *k != edge.to);
            let line = course(&from.1, &to.1, &others.map(|(_, r)| r.1).collect::<Vec<_>>(), 0.6);
            let Some(middle) = line.get(line.len() / 2) else { continue };
            let label = format!(" {} ", fit(&printable(&edge.label), 18));
            let left = (middle.0 - width(&label) as f64 / 2.0).max(f64::from(area.x)) as u16;
            let room = usize::from(area.right().saturating_sub(left));
            if area.contains((left, middle.1 as u16).into()) {
                buffer.set_stringn(
                    left,
                    middle.1 as u16,
                    fit(&label, room),
                    room,
                    self.theme.style(Role::Dim),
                );
            }
        }
    }

    /// Legend of the highlighted path.
    pub(super) fn graph_keys(&self, graph: &Graph) -> Vec<Key> {
        if !graph.edges.iter().any(|e| e.lit) {
            return Vec::new();
        }
        let sample = format!("{} [*x*]", self.pick("⣀⣀⣀", "***"));
        vec![(vec![(sample, self.theme.style(Role::Marker))], "highlighted path".into())]
    }
}
