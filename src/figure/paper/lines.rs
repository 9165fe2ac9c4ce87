//! Lines with bands, points with labels, rank lines, rules and guides on paper.

use super::super::layers::{Guide, Line, Points, Ranks, Rule};
use super::super::palette;
use super::super::role::{Emphasis, Marker, Role};
use super::super::scene::{At, Pen, Scene, Side, Type, WHITE};
use super::frame::Frame;
use super::{FINE, GREY, INK, PALE, SMALL, pen, type_of, weight};
use base::text::printable_label;

/// Opacity of a wide band.
const BAND: f64 = 0.14;
/// Opacity of a narrow one, over the wide one.
const INNER: f64 = 0.26;

/// Consecutive points that a line may join: none is joined across the gap between zero and a logarithmic axis.
fn runs<T: Copy>(frame: &Frame, points: &[(f64, T)]) -> Vec<Vec<T>> {
    let mut out: Vec<Vec<T>> = Vec::new();
    let mut before = None;
    for &(x, what) in points {
        match (before, out.last_mut()) {
            (Some(b), Some(last)) if frame.x.connects(b, x) => last.push(what),
            _ => out.push(vec![what]),
        }
        before = Some(x);
    }
    out
}

/// The intervals, behind all lines: the wide ones, then the narrow ones.
pub(crate) fn bands(scene: &mut Scene, frame: &Frame, line: &Line) {
    let colour = palette::series(line.role.hue);
    let pen = Pen { alpha: 0.6, ..Pen::new(colour, 1.1) };
    for inner in [false, true] {
        let ends: Vec<(f64, (f64, f64, f64))> = line
            .points
            .iter()
            .filter_map(|p| {
                let (lo, hi) = if inner { p.inner } else { p.band }?;
                let (x, lo) = frame.at(p.x, lo)?;
                Some((p.x, (x, lo, frame.at(p.x, hi)?.1)))
            })
            .collect();
        for run in runs(frame, &ends) {
            if line.role.dash.is_none() || run.len() == 1 {
                // Single points have whiskers.
                run.iter().for_each(|&(x, lo, hi)| scene.line(&[(x, lo), (x, hi)], pen));
                continue;
            }
            let upper = run.iter().map(|&(x, _, hi)| (x, hi));
            let lower = run.iter().rev().map(|&(x, lo, _)| (x, lo));
            scene.fill(&upper.chain(lower).collect::<Vec<_>>(), colour, if inner { INNER } else { BAND });
        }
    }
}

/// The line and its markers.
pub(crate) fn line(scene: &mut Scene, frame: &Frame, line: &Line) {
    let at: Vec<(f64, (At, Emphasis))> =
        line.points.iter().filter_map(|p| Some((p.x, (frame.at(p.x, p.y)?, p.emphasis)))).collect();
    let colour = palette::series(line.role.hue);
    let role = |emphasis: Emphasis| Role { emphasis, ..line.role };
    if line.role.dash.is_some() {
        for run in runs(frame, &at) {
            // A line of one point would be invisible.
            if run.len() == 1 && line.role.marker.is_none() {
                scene.disc(run[0].0, 1.8, colour);
            }
            // A stretch with a faint end is faint; otherwise a line is as heavy as its role, whatever its points are.
            let faint = |pair: &[(At, Emphasis)]| pair.iter().any(|(_, e)| *e == Emphasis::Faint);
            let mut rest = run.as_slice();
            while rest.len() > 1 {
                let same = rest.windows(2).take_while(|pair| faint(pair) == faint(&rest[..2])).count();
                let emphasis = if faint(&rest[..2]) { Emphasis::Faint } else { line.role.emphasis };
                let stretch: Vec<At> = rest[..=same].iter().map(|(at, _)| *at).collect();
                scene.line(&stretch, pen(role(emphasis)));
                rest = &rest[same..];
            }
        }
    }
    if let Some(marker) = line.role.marker {
        for (_, (p, emphasis)) in at {
            let width = weight(role(emphasis.within(line.role.emphasis))).0;
            let colour = if emphasis == Emphasis::Faint { colour.pale() } else { colour };
            scene.marker(p, marker, width + 1.1, colour);
        }
    }
}

/// A rectangle: its upper left and its lower right.
type Rectangle = (At, At);

fn touches(a: &Rectangle, b: &Rectangle) -> bool {
    a.0.0 < b.1.0 && b.0.0 < a.1.0 && a.0.1 < b.1.1 && b.0.1 < a.1.1
}

/// Single points with their intervals; labels where they touch neither a point nor each other.
pub(crate) fn points(scene: &mut Scene, frame: &Frame, points: &Points) {
    const R: f64 = 3.6;
    let colour = palette::series(points.role.hue);
    let marker = points.role.marker.unwrap_or(Marker::Circle);
    let thin = Pen { alpha: 0.6, ..Pen::new(colour, 1.1) };
    let mut taken: Vec<Rectangle> = Vec::new();
    for p in &points.points {
        let Some((x, y)) = frame.at(p.x, p.y) else { continue };
        let across = p.x_band.and_then(|(lo, hi)| frame.at(lo, p.y).zip(frame.at(hi, p.y)));
        let along = p.y_band.and_then(|(lo, hi)| frame.at(p.x, lo).zip(frame.at(p.x, hi)));
        for (a, b) in [across, along].into_iter().flatten() {
            scene.line(&[a, b], thin);
            let box_of = |p: f64, q: f64| (p.min(q) - 1.0, p.max(q) + 1.0);
            let ((l, r), (t, u)) = (box_of(a.0, b.0), box_of(a.1, b.1));
            taken.push(((l, t), (r, u)));
        }
        scene.marker((x, y), marker, R, colour);
        taken.push(((x - R, y - R), (x + R, y + R)));
    }
    for p in points.points.iter().filter(|p| !p.label.is_empty()) {
        let Some((x, y)) = frame.at(p.x, p.y) else { continue };
        let label = scene.fonts.cut(&printable_label(&p.label), SMALL, 160.0);
        let (w, h) = (scene.fonts.width(&label, SMALL), SMALL);
        let off = R + 4.0;
        let choices = [
            (x + off, y - h / 2.0),
            (x - off - w, y - h / 2.0),
            (x - w / 2.0, y - off - h),
            (x - w / 2.0, y + off),
            (x + off, y - off - h),
            (x + off, y + off),
        ];
        let free = choices.into_iter().map(|(l, t)| ((l, t), (l + w, t + h))).find(|r| {
            let inside =
                r.0.0 >= frame.left && r.1.0 <= frame.right && r.0.1 >= frame.top && r.1.1 <= frame.bottom;
            inside && !taken.iter().any(|t| touches(t, r))
        });
        if let Some(r) = free {
            scene.text(
                &label,
                (r.0.0, (r.0.1 + r.1.1) / 2.0),
                type_of(SMALL, INK, Side::Start, Side::Middle),
            );
            taken.push(r);
        }
    }
}

/// Rank lines, each with its name at its end.
pub(crate) fn ranks(scene: &mut Scene, frame: &Frame, ranks: &Ranks) {
    let mut ends: Vec<(f64, f64, String)> = Vec::new();
    for line in &ranks.lines {
        let colour = palette::series(line.role.hue);
        let at: Vec<Option<At>> =
            line.ranks.iter().enumerate().map(|(k, r)| frame.at(k as f64, (*r)?)).collect();
        for run in at.split(|p| p.is_none()) {
            scene.line(&run.iter().flatten().copied().collect::<Vec<_>>(), pen(line.role));
        }
        let r = weight(line.role).0 + 1.9;
        let marker = line.role.marker.unwrap_or(Marker::Circle);
        at.iter().flatten().for_each(|&p| scene.marker(p, marker, r, colour));
        if let Some(&(x, y)) = at.iter().flatten().last() {
            ends.push((x, y, scene.fonts.cut(&printable_label(&line.label), SMALL, 150.0)));
        }
    }
    // Names of ties move down until they touch no other.
    ends.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut free = f64::NEG_INFINITY;
    for (x, y, label) in ends {
        let y = y.max(free);
        free = y + SMALL + 2.0;
        scene.text(
            &label,
            (x.max(frame.right - 8.0) + 12.0, y),
            type_of(SMALL, INK, Side::Start, Side::Middle),
        );
    }
}

/// A label on the data, on a patch of paper that keeps it readable.
fn label_on_data(scene: &mut Scene, text: &str, at: At, kind: Type) {
    let wide = scene.fonts.width(text, kind.size);
    let left = match kind.along {
        Side::Start => at.0,
        Side::Middle => at.0 - wide / 2.0,
        Side::End => at.0 - wide,
    };
    let top = if kind.across == Side::End { at.1 - kind.size } else { at.1 };
    scene.rectangle((left - 2.0, top), (left + wide + 2.0, top + kind.size), WHITE, 0.8);
    scene.text(text, at, kind);
}

/// A rule with its label: above the frame if vertical, on the right end of the rule if horizontal.
pub(crate) fn rule(scene: &mut Scene, frame: &Frame, rule: &Rule) {
    let axis = if rule.upright { &frame.x } else { &frame.y };
    let Some(share) = axis.place(rule.at).filter(|_| axis.shows(rule.at)) else { return };
    let label = printable_label(&rule.label);
    let pen = Pen::new(GREY, 1.1);
    if rule.upright {
        let x = frame.px(share);
        scene.line(&[(x, frame.top - 3.0), (x, frame.bottom)], pen);
        let half = scene.fonts.width(&label, SMALL) / 2.0;
        let x = x.clamp(frame.left + half, (frame.right - half).max(frame.left + half));
        scene.text(&label, (x, frame.top - 4.0), type_of(SMALL, INK, Side::Middle, Side::End));
    } else {
        let y = frame.py(share);
        scene.line(&[(frame.left, y), (frame.right, y)], pen);
        // Below the rule if there is no room above it.
        let (y, across) = if y - frame.top < 16.0 { (y + 3.0, Side::Start) } else { (y - 3.0, Side::End) };
        label_on_data(scene, &label, (frame.right - 4.0, y), type_of(SMALL, INK, Side::End, across));
    }
}

/// A guide with its ticks; its label is to the right of its last point.
pub(crate) fn guide(scene: &mut Scene, frame: &Frame, guide: &Guide) {
    let at: Vec<At> = guide.points.iter().filter_map(|&(x, y)| frame.at(x, y)).collect();
    scene.line(&at, Pen::new(PALE, 1.1));
    for (x, y, label) in &guide.ticks {
        let Some((x, y)) = frame.at(*x, *y) else { continue };
        scene.line(&[(x, y - 5.0), (x, y + 5.0)], Pen::new(INK, 1.3));
        let label = scene.fonts.cut(&printable_label(label), SMALL, 160.0);
        let half = scene.fonts.width(&label, SMALL) / 2.0;
        let x = x.clamp(frame.left + half, (frame.right - half).max(frame.left + half));
        label_on_data(scene, &label, (x, y + 8.0), type_of(SMALL, INK, Side::Middle, Side::Start));
    }
    let Some(&(x, y)) = at.last() else { return };
    let label = scene.fonts.cut(&printable_label(&guide.label), FINE, 150.0);
    scene.text(&label, (x + 11.0, y), type_of(FINE, GREY, Side::Start, Side::Middle));
}
