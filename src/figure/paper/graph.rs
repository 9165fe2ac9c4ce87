//! Small directed graphs on paper.

use super::super::canvas::{At, Canvas, Drawn, Pen, Side};
use super::super::layers::{Edge, Graph, Node};
use super::super::palette::Rgb;
use super::super::route::{Room, course, is_free};
use super::{FINE, LABEL, SMALL, type_of};
use base::text::printable_label;

/// Darker in greyscale than the other arrows.
pub(crate) const LIT: Rgb = Rgb(0xa8, 0x3c, 0x00);
const NODE: f64 = 30.0;
/// Height of a row of the grid, in page units.
const ROW: f64 = 96.0;
/// Total space above and below the nodes, in page units.
const AROUND: f64 = 20.0;
const LONGEST: f64 = 170.0;

struct Placed {
    room: Room,
    label: String,
}

/// Ranges of the node centres' positions, and the left and right limits of node boxes.
#[derive(Clone, Copy)]
struct Area {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

/// Draws the graph between two vertical edges, starting at `top`, and returns its bottom.
pub(crate) fn draw(canvas: &Canvas<'_>, graph: &Graph, (left, right): (f64, f64), top: f64) -> Drawn<f64> {
    let span = |pick: fn(At) -> f64| {
        let each = || graph.nodes.iter().map(|n| pick(n.at)).filter(|v| v.is_finite());
        (each().fold(f64::INFINITY, f64::min), each().fold(f64::NEG_INFINITY, f64::max))
    };
    let ((x0, x1), (y0, y1)) = (span(|p| p.0), span(|p| p.1));
    let rows = if y1 > y0 { (y1 - y0).min(5.0) } else { 0.0 };
    let height = rows * ROW + NODE + AROUND;
    let share = |v: f64, lo: f64, hi: f64| {
        if v.is_finite() && hi > lo { (v - lo) / (hi - lo) } else { 0.5 }
    };
    let area = Area { left, right, top: top + (AROUND + NODE) / 2.0, bottom: top + height - (AROUND + NODE) / 2.0 };
    let position = |n: &Node| (share(n.at.0, x0, x1), share(n.at.1, y0, y1));
    let (size, nodes) = layout(canvas, graph, area, &position);
    // The highlighted path is drawn over the other arrows, and labels over all arrows.
    let mut named = Vec::new();
    for lit in [false, true] {
        for edge in graph.edges.iter().filter(|e| e.lit == lit && e.from != e.to) {
            if let Some((line, _)) = way(&nodes, edge, (left, right)) {
                arrow(canvas, &line, lit)?;
                named.push((line, printable_label(&edge.label), lit));
            }
        }
    }
    for (line, label, lit) in &named {
        name(canvas, line, label, *lit)?;
    }
    for (node, placed) in graph.nodes.iter().zip(&nodes) {
        let Room { at: (x, y), half } = placed.room;
        let (a, b) = ((x - half.0, y - half.1), (x + half.0, y + half.1));
        canvas.rectangle(a, b, canvas.look.paper, 1.0)?;
        if node.lit {
            // The tint is visible in greyscale too.
            canvas.rectangle(a, b, LIT, 0.2)?;
        }
        let pen = if node.lit { Pen::new(LIT, 3.0) } else { Pen::new(canvas.look.ink, 1.1) };
        canvas.frame(a, b, pen)?;
        named_node(canvas, &placed.label, (x, y), size)?;
    }
    // Arrows around the lowest nodes, and their labels, are below them.
    let arrows = named.iter().flat_map(|(line, ..)| line).map(|p| p.1 + 8.0);
    let lowest = nodes.iter().map(|n| n.room.at.1 + n.room.half.1).chain(arrows).fold(top, f64::max);
    Ok(lowest + 2.0)
}

/// Splits a line into a letter, its subscript and the remaining text, as in `D_a probing data`.
fn subscripted(line: &str) -> Option<(&str, &str, &str)> {
    let (letter, rest) = line.split_once('_').filter(|(letter, _)| letter.chars().count() == 1)?;
    let end = rest.find(' ').unwrap_or(rest.len());
    Some((letter, &rest[..end], &rest[end..]))
}

/// Draws a node's name with its subscript, centred in the box.
fn named_node(canvas: &Canvas<'_>, label: &str, (x, y): At, size: f64) -> Drawn {
    const SMALLER: f64 = 0.75;
    let count = label.lines().count() as f64;
    for (k, line) in label.lines().enumerate() {
        let y = y + (k as f64 - (count - 1.0) / 2.0) * size * 1.2;
        let Some((letter, below, rest)) = subscripted(line) else {
            canvas.text(line, (x, y), type_of(size, canvas.look.ink, Side::Middle, Side::Middle))?;
            continue;
        };
        let parts = [(letter, size, 0.0), (below, SMALLER * size, 0.25 * size), (rest.trim_start(), size, 0.0)];
        let space = if rest.is_empty() { 0.0 } else { canvas.fonts.width(" ", size) };
        let wide = parts.iter().map(|(text, size, _)| canvas.fonts.width(text, *size)).sum::<f64>() + space;
        let mut left = x - wide / 2.0;
        for (part, (text, size, drop)) in parts.into_iter().enumerate() {
            left += if part == 2 { space } else { 0.0 };
            canvas.text(text, (left, y + drop), type_of(size, canvas.look.ink, Side::Start, Side::Middle))?;
            left += canvas.fonts.width(text, size);
        }
    }
    Ok(())
}

/// Returns an arrow's path, and whether it avoids all other nodes and stays between two edges.
fn way(nodes: &[Placed], edge: &Edge, edges: (f64, f64)) -> Option<(Vec<At>, bool)> {
    const AIR: f64 = 6.0;
    let (from, to) = (nodes.get(edge.from)?, nodes.get(edge.to)?);
    let others = nodes.iter().enumerate().filter(|(k, _)| *k != edge.from && *k != edge.to);
    let others: Vec<Room> = others.map(|(_, n)| n.room).collect();
    let line = course(&from.room, &to.room, &others, (AIR, edges));
    let free = is_free(&line, &others, (AIR, edges));
    Some((line, free))
}

/// Lays out the nodes in the largest font and the fewest lines for which names are complete, no boxes touch and no arrow crosses a node.
fn layout(canvas: &Canvas<'_>, graph: &Graph, area: Area, position: &dyn Fn(&Node) -> At) -> (f64, Vec<Placed>) {
    // Narrow pages have less padding in and between boxes.
    let air = (12.0f64).min((area.right - area.left) / 50.0);
    let place = |(size, most): (f64, usize), longest: f64| -> Vec<Placed> {
        let boxed = |n: &Node| {
            let lines = canvas.fonts.wrapped(&printable_label(&n.label), size, longest, most);
            let wide = lines.iter().map(|l| canvas.fonts.width(l, size)).fold(0.0, f64::max);
            let high = (lines.len() as f64 * size * 0.6 + 4.0).max(NODE / 2.0);
            (lines.join("\n"), (wide / 2.0 + air, high))
        };
        let boxes: Vec<(String, At)> = graph.nodes.iter().map(boxed).collect();
        let edge = boxes.iter().map(|(_, half)| half.0).fold(0.0, f64::max);
        let placed = |(n, (label, half)): (&Node, (String, At))| {
            let (x, y) = position(n);
            let x = area.left + edge + x * (area.right - area.left - 2.0 * edge);
            Placed { room: Room { at: (x, area.top + y * (area.bottom - area.top)), half }, label }
        };
        graph.nodes.iter().zip(boxes).map(placed).collect()
    };
    let apart = |a: Room, b: Room| {
        let gap = |d: f64, half: f64| d.abs() > half + air;
        gap(a.at.0 - b.at.0, a.half.0 + b.half.0) || gap(a.at.1 - b.at.1, a.half.1 + b.half.1)
    };
    let works = |nodes: &[Placed]| {
        let mut pairs = nodes.iter().enumerate().flat_map(|(k, a)| nodes[..k].iter().map(move |b| (a, b)));
        let clear = |edge: &Edge| way(nodes, edge, (area.left, area.right)).is_none_or(|(_, free)| free);
        nodes.iter().all(|n| !n.label.contains('…'))
            && pairs.all(|(a, b)| apart(a.room, b.room))
            && graph.edges.iter().filter(|e| e.from != e.to).all(clear)
    };
    let sizes = [(LABEL, 1), (LABEL, 2), (SMALL, 2), (SMALL, 3), (FINE, 3)];
    let widths = [LONGEST, 120.0, 90.0, 75.0, 65.0, 55.0, 45.0];
    let choices = sizes.into_iter().flat_map(|size| widths.map(|longest| (size, longest)));
    let mut found = choices.map(|(size, longest)| (size.0, place(size, longest)));
    found.find(|(_, nodes)| works(nodes)).unwrap_or_else(|| (FINE, place((FINE, 3), 60.0)))
}

fn arrow(canvas: &Canvas<'_>, line: &[At], lit: bool) -> Drawn {
    let colour = if lit { LIT } else { canvas.look.grey };
    let (Some(&tip), true) = (line.last(), line.len() > 3) else { return Ok(()) };
    let before = line[line.len() - 3];
    canvas.line(&line[..line.len() - 1], Pen::new(colour, if lit { 3.6 } else { 1.2 }))?;
    let length = (tip.0 - before.0).hypot(tip.1 - before.1).max(1e-9);
    let (ux, uy) = ((tip.0 - before.0) / length, (tip.1 - before.1) / length);
    let (long, half) = if lit { (13.0, 6.5) } else { (9.0, 4.5) };
    let wing = |side: f64| (tip.0 - ux * long - uy * half * side, tip.1 - uy * long + ux * half * side);
    canvas.fill(&[tip, wing(1.0), wing(-1.0)], colour, 1.0)
}

/// Draws a label on its arrow, before the middle: arrows are less likely to cross there.
fn name(canvas: &Canvas<'_>, line: &[At], label: &str, lit: bool) -> Drawn {
    let Some(&at) = line.get(line.len() * 2 / 5).filter(|_| !label.is_empty()) else { return Ok(()) };
    let colour = if lit { LIT } else { canvas.look.grey };
    let label = canvas.fonts.cut(label, SMALL, 140.0);
    let half = canvas.fonts.width(&label, SMALL) / 2.0 + 3.0;
    canvas.rectangle((at.0 - half, at.1 - 8.0), (at.0 + half, at.1 + 8.0), canvas.look.paper, 1.0)?;
    canvas.text(&label, at, type_of(SMALL, colour, Side::Middle, Side::Middle))
}
