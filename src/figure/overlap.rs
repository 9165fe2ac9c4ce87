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

/// Pairs of texts that overlap by more than the tolerance, and texts that reach beyond the page.
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
    let is_off = |r: &Rect| r.0.0 < 0.0 || r.0.1 < 0.0 || r.1.0 > scene.look.width || r.1.1 > scene.height;
    let off = all.iter().filter(|(_, room)| is_off(room));
    let mut pairs: Vec<(String, String)> = off.map(|(text, _)| (text.clone(), "the edge of the page".into())).collect();
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

#[cfg(test)]
mod tests {
    use super::super::canvas::Side;
    use super::super::palette::Rgb;
    use super::super::{Options, Style};
    use super::*;

    /// Checks that the test of all figures can fail.
    #[test]
    fn texts_on_each_other_or_off_the_page_are_found() {
        let fonts = Fonts::own();
        let look = Options { style: Style::Paper, ..Options::default() }.look();
        let kind = |upwards| {
            let (size, colour) = (10.0, Rgb(0, 0, 0));
            Type { size, colour, along: Side::Start, across: Side::End, upwards }
        };
        let found = |second: At, upwards: bool| {
            let text = |text: &str, at, upwards| Item::Text { text: text.into(), at, kind: kind(upwards) };
            let items = vec![text("first", (50.0, 50.0), false), text("second", second, upwards)];
            texts(&Scene { fonts: &fonts, look, height: 100.0, items }).len()
        };
        let wide = fonts.width("first", 10.0);
        assert_eq!([(52.0, 53.0), (50.0 + wide - 2.0, 50.0), (55.0, 58.0)].map(|at| found(at, false)), [1; 3]);
        assert_eq!([(50.0 + wide, 50.0), (50.0, 62.0)].map(|at| found(at, false)), [0; 2]);
        assert_eq!([(60.0, 70.0), (45.0, 70.0)].map(|at| found(at, true)), [1, 0]);
        assert_eq!([(-2.0, 80.0), (look.width - 5.0, 80.0), (10.0, 99.0)].map(|at| found(at, false)), [1; 3]);
    }
}
