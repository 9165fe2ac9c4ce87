//! Small directed graphs on paper.

use super::super::canvas::{At, Canvas, Drawn, Pen, Side};
use super::super::layers::Graph;
use super::super::palette::Rgb;
use super::super::route::{Room, course};
use super::{FINE, LABEL, SMALL, type_of};
use base::text::printable_label;

/// The colour of the highlighted path.
pub(crate) const LIT: Rgb = Rgb(0xd5, 0x5e, 0x00);
/// Height of a node.
const NODE: f64 = 30.0;
/// Height of a step on the grid of rows.
const ROW: f64 = 110.0;
/// Widest name of a node.
const LONGEST: f64 = 170.0;

/// A node's box and its name.
struct Placed {
    room: Room,
    label: String,
    size: f64,
}

/// Draws the graph between two edges from `top`, and returns where it ends.
pub(crate) fn draw(canvas: &Canvas<'_>, graph: &Graph, (left, right): (f64, f64), top: f64) -> Drawn<f64> {
    let span = |pick: fn(At) -> f64| {
        let each = || graph.nodes.iter().map(|n| pick(n.at)).filter(|v| v.is_finite());
        (each().fold(f64::INFINITY, f64::min), each().fold(f64::NEG_INFINITY, f64::max))
    };
    let ((x0, x1), (y0, y1)) = (span(|p| p.0), span(|p| p.1));
    let rows = if y1 > y0 { (y1 - y0).min(5.0) } else { 0.0 };
    let height = rows * ROW + NODE + 80.0;
    let share = |v: f64, lo: f64, hi: f64| {
        if v.is_finite() && hi > lo { (v - lo) / (hi - lo) } else { 0.5 }
    };
    let columns = if x1 > x0 { x1 - x0 + 1.0 } else { 1.0 };
    // Narrow pages have less air in their boxes and between them.
    let air = (12.0f64).min((right - left) / 50.0);
    let longest = LONGEST.min((right - left) / columns - 3.0 * air).max(40.0);
    let nodes: Vec<Placed> = graph
        .nodes
        .iter()
        .map(|n| {
            let name = printable_label(&n.label);
            // A long name has several lines of smaller letters.
            let wrapped = |(size, most)| (size, canvas.fonts.wrapped(&name, size, longest, most));
            let choices = [(LABEL, 1), (SMALL, 2), (FINE, 3)].map(wrapped);
            let fits = |choice: &&(f64, Vec<String>)| !choice.1.iter().any(|line| line.ends_with('…'));
            let (size, lines) = choices.iter().find(fits).unwrap_or(&choices[2]).clone();
            let wide = lines.iter().map(|l| canvas.fonts.width(l, size)).fold(0.0, f64::max);
            let (label, half) = (lines.join("\n"), wide / 2.0 + air);
            let high = (lines.len() as f64 * size * 0.6 + 4.0).max(NODE / 2.0);
            let room = longest / 2.0 + air;
            let x = left + room + share(n.at.0, x0, x1) * (right - left - 2.0 * room);
            let y = top + 40.0 + NODE / 2.0 + share(n.at.1, y0, y1) * rows * ROW;
            Placed { room: Room { at: (x, y), half: (half, high) }, label, size }
        })
        .collect();
    // The highlighted path is drawn over the rest, and labels over all arrows.
    let mut named = Vec::new();
    for lit in [false, true] {
        for edge in graph.edges.iter().filter(|e| e.lit == lit && e.from != e.to) {
            if let (Some(from), Some(to)) = (nodes.get(edge.from), nodes.get(edge.to)) {
                let others = nodes.iter().enumerate().filter(|(k, _)| *k != edge.from && *k != edge.to);
                let others: Vec<Room> = others.map(|(_, n)| n.room).collect();
                let line = course(&from.room, &to.room, &others, 6.0);
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
        let pen = if node.lit { Pen::new(LIT, 2.4) } else { Pen::new(canvas.look.ink, 1.1) };
        canvas.frame(a, b, pen)?;
        canvas.text(
            &placed.label,
            (x, y),
            type_of(placed.size, canvas.look.ink, Side::Middle, Side::Middle),
        )?;
    }
    Ok(top + height)
}

fn arrow(canvas: &Canvas<'_>, line: &[At], lit: bool) -> Drawn {
    let colour = if lit { LIT } else { canvas.look.grey };
    let (Some(&tip), true) = (line.last(), line.len() > 3) else { return Ok(()) };
    let before = line[line.len() - 3];
    canvas.line(&line[..line.len() - 1], Pen::new(colour, if lit { 2.8 } else { 1.4 }))?;
    let length = (tip.0 - before.0).hypot(tip.1 - before.1).max(1e-9);
    let (ux, uy) = ((tip.0 - before.0) / length, (tip.1 - before.1) / length);
    let (long, half) = if lit { (11.0, 5.5) } else { (9.0, 4.5) };
    let wing = |side: f64| (tip.0 - ux * long - uy * half * side, tip.1 - uy * long + ux * half * side);
    canvas.fill(&[tip, wing(1.0), wing(-1.0)], colour, 1.0)
}

/// A label on its arrow, before the middle, where arrows are less likely to cross.
fn name(canvas: &Canvas<'_>, line: &[At], label: &str, lit: bool) -> Drawn {
    let Some(&at) = line.get(line.len() * 2 / 5).filter(|_| !label.is_empty()) else { return Ok(()) };
    let colour = if lit { LIT } else { canvas.look.grey };
    let label = canvas.fonts.cut(label, SMALL, 140.0);
    let half = canvas.fonts.width(&label, SMALL) / 2.0 + 3.0;
    canvas.rectangle((at.0 - half, at.1 - 8.0), (at.0 + half, at.1 + 8.0), canvas.look.paper, 1.0)?;
    canvas.text(&label, at, type_of(SMALL, colour, Side::Middle, Side::Middle))
}
