//! Bars, histograms and ranges on paper.

use super::super::layers::{Bars, Ranges};
use super::super::palette;
use super::super::role::{Dash, Marker, Role};
use super::super::scene::{At, Pen, Scene};
use super::INK;
use super::frame::Frame;

/// The surface of a bar: full for solid roles, pale for dashed ones, hatched for dotted ones, so that series differ without
/// colour.
pub(crate) fn patch(scene: &mut Scene, a: At, b: At, role: Role) {
    let colour = palette::series(role.hue);
    let (a, b) = ((a.0.min(b.0), a.1.min(b.1)), (a.0.max(b.0), a.1.max(b.1)));
    match role.dash {
        None | Some(Dash::Solid) => scene.rectangle(a, b, colour, 0.9),
        Some(Dash::Dashed) => scene.rectangle(a, b, colour, 0.32),
        Some(Dash::Dotted) => scene.hatch(a, b, Pen::new(colour, 1.2)),
    }
    scene.frame(a, b, Pen::new(colour, 0.9));
}

/// The part of a span that the k-th of several series gets.
fn slot(from: f64, to: f64, k: usize, of: usize) -> (f64, f64) {
    let width = (to - from) / of.max(1) as f64;
    (from + k as f64 * width, from + (k + 1) as f64 * width)
}

/// Bars from zero, with error bars: the k-th of several series.
pub(crate) fn bars(scene: &mut Scene, frame: &Frame, bars: &Bars, k: usize, of: usize) {
    for bar in &bars.bars {
        let (from, to) = slot(bar.from, bar.to, k, of);
        // A logarithmic axis has no zero; bars stand on its lower end.
        let foot = frame.y.place(0.0).map_or(frame.bottom, |share| frame.py(share));
        let Some(((left, top), (right, _))) = frame.at(from, bar.y).zip(frame.at(to, bar.y)) else {
            continue;
        };
        let gap = if bar.bin { 0.0 } else { ((right - left) * 0.06).min(2.0) };
        patch(scene, (left + gap, top), (right - gap, foot), bars.role);
        let middle = (left + right) / 2.0;
        if let Some((lo, hi)) = bar.band.and_then(|(lo, hi)| frame.y.place(lo).zip(frame.y.place(hi))) {
            whisker(
                scene,
                middle,
                (frame.py(lo), frame.py(hi)),
                ((right - left) * 0.25).min(4.0),
                Pen::new(INK, 1.1),
            );
        }
    }
}

fn whisker(scene: &mut Scene, x: f64, (lo, hi): (f64, f64), half: f64, pen: Pen) {
    scene.line(&[(x, lo), (x, hi)], pen);
    for y in [lo, hi] {
        scene.line(&[(x - half, y), (x + half, y)], pen);
    }
}

/// Ranges with single dots and a mean: the k-th of several series.
pub(crate) fn ranges(scene: &mut Scene, frame: &Frame, ranges: &Ranges, k: usize, of: usize) {
    let colour = palette::series(ranges.role.hue);
    for range in &ranges.ranges {
        let middle = range.category as f64;
        let (from, to) = slot(middle - 0.4, middle + 0.4, k, of);
        let ends = frame.at(from, range.ends.0).zip(frame.at(to, range.ends.1));
        let Some(((left, lo), (right, hi))) = ends else { continue };
        let (x, half) = ((left + right) / 2.0, ((right - left) * 0.3).min(7.0));
        scene.rectangle((x - half, hi), (x + half, lo), colour, 0.16);
        whisker(scene, x, (lo, hi), half, Pen::new(colour, 1.3));
        for dot in &range.dots {
            if let Some(share) = frame.y.place(*dot) {
                scene.disc((x, frame.py(share)), 1.7, colour);
            }
        }
        if let Some(share) = range.mean.and_then(|m| frame.y.place(m)) {
            let marker = ranges.role.marker.unwrap_or(Marker::Circle);
            scene.marker((x, frame.py(share)), marker, half.clamp(2.6, 4.2), colour);
        }
    }
}
