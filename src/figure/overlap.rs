//! Overlap tests between parts of a drawing.

use super::canvas::{At, Item, Scene, Type};
use super::font::{self, Fonts};

/// Two opposite corners of a rectangle, the upper left first.
pub(crate) type Rect = (At, At);

pub(crate) fn text_box(fonts: &Fonts<'_>, text: &str, (x, y): At, kind: &Type) -> Rect {
    let long = fonts.width(text, kind.size);
    let back = kind.along.share() * long;
    let (up, down) = (font::ASCENT * kind.size, font::DESCENT * kind.size);
    match kind.upwards {
        false => ((x - back, y - up), (x - back + long, y + down)),
        true => ((x - up, y + back - long), (x + down, y + back)),
    }
}

/// Pairs of texts that overlap by more than the tolerance.
pub(crate) fn texts(scene: &Scene<'_>) -> Vec<(String, String)> {
    const TOUCH: f64 = 0.5;
    let boxed = |item: &Item| match item {
        Item::Text { text, at, kind } => {
            let ((l, t), (r, b)) = text_box(scene.fonts, text, *at, kind);
            Some((text.clone(), ((l + TOUCH, t + TOUCH), (r - TOUCH, b - TOUCH))))
        }
        _ => None,
    };
    let all: Vec<(String, Rect)> = scene.items.iter().filter_map(boxed).collect();
    let mut pairs = Vec::new();
    for (k, (text, room)) in all.iter().enumerate() {
        let on = all[..k].iter().filter(|(_, other)| overlap(*room, *other));
        pairs.extend(on.map(|(other, _)| (text.clone(), other.clone())));
    }
    pairs
}

pub(crate) fn reaches(fonts: &Fonts<'_>, item: &Item, room: Rect) -> bool {
    let inside = |p: &At| (room.0.0..=room.1.0).contains(&p.0) && (room.0.1..=room.1.1).contains(&p.1);
    let crossed = |points: &[At]| points.windows(2).any(|w| crosses(w[0], w[1], room));
    match item {
        Item::Line { points, .. } => crossed(points),
        Item::Disc { at, radius, .. } => {
            overlap(((at.0 - radius, at.1 - radius), (at.0 + radius, at.1 + radius)), room)
        }
        Item::Text { text, at, kind } => overlap(text_box(fonts, text, *at, kind), room),
        Item::Fill { points, .. } => points.iter().any(inside) || crossed(points) || contains(points, room.0),
    }
}

/// True if two rectangles share more than an edge.
pub(crate) fn overlap(a: Rect, b: Rect) -> bool {
    a.0.0 < b.1.0 && b.0.0 < a.1.0 && a.0.1 < b.1.1 && b.0.1 < a.1.1
}

/// True if a line between two points passes through a rectangle (Liang-Barsky clipping).
fn crosses(p: At, q: At, room: Rect) -> bool {
    let (dx, dy) = (q.0 - p.0, q.1 - p.1);
    let (mut from, mut to) = (0.0f64, 1.0f64);
    let edges = [(-dx, p.0 - room.0.0), (dx, room.1.0 - p.0), (-dy, p.1 - room.0.1), (dy, room.1.1 - p.1)];
    for (step, left) in edges {
        if step == 0.0 {
            if left < 0.0 {
                return false;
            }
        } else if step < 0.0 {
            from = from.max(left / step);
        } else {
            to = to.min(left / step);
        }
    }
    from <= to
}

/// True if a polygon contains a point (even-odd rule).
fn contains(points: &[At], p: At) -> bool {
    let pairs = points.iter().zip(points.iter().cycle().skip(1));
    let crossed =
        |(a, b): &(&At, &At)| (a.1 > p.1) != (b.1 > p.1) && p.0 < (b.0 - a.0) * (p.1 - a.1) / (b.1 - a.1) + a.0;
    pairs.filter(crossed).count() % 2 == 1
}
