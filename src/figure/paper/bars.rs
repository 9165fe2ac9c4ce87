//! Bars, histograms and ranges on paper.

use plotters::element::ErrorBar;

use super::super::canvas::{At, Canvas, Drawn, Pen, Side};
use super::super::layers::{Bar, Bars, Ranges};
use super::super::role::{Dash, Emphasis, Marker, Role};
use super::super::{Figure, Layer};
use super::chart::Chart;
use super::lines::CAP;
use super::{SMALL, type_of};

/// Maximum width of a category's bar: in page units, and as a share of a wider frame.
const WIDEST: (f64, f64) = (60.0, 0.14);
/// Opacity of a solid bar, low enough to show intervals on it.
const SOLID: f64 = 0.55;
pub(crate) const SPAN: f64 = 0.3;
/// Radius of the dot for an individual value in a range, in page units; also the distance between dots for equal values.
pub(crate) const VALUE: f64 = 1.9;
const BESIDE: f64 = 4.6;

/// Fills a bar: solid for solid lines, pale for dashed ones, hatched for dotted ones, so that series differ without colour.
pub(crate) fn patch(canvas: &Canvas<'_>, a: At, b: At, role: Role) -> Drawn {
    let colour = canvas.look.series(role.hue);
    let (a, b) = ((a.0.min(b.0), a.1.min(b.1)), (a.0.max(b.0), a.1.max(b.1)));
    match role.dash {
        None | Some(Dash::Solid) => canvas.rectangle(a, b, colour, SOLID)?,
        Some(Dash::Dashed) => canvas.rectangle(a, b, colour, 0.32)?,
        Some(Dash::Dotted) => canvas.hatch(a, b, Pen::new(colour, 1.2))?,
    }
    canvas.frame(a, b, Pen::new(colour, 0.9))
}

/// The part of a span given to the k-th of several series.
fn slot((from, to): (f64, f64), (k, of): (usize, usize)) -> (f64, f64) {
    let width = (to - from) / of.max(1) as f64;
    (from + k as f64 * width, from + (k + 1) as f64 * width)
}

/// The part of a category given to one layer's ranges or points. Layers that share a category are side by side.
pub(crate) fn part(chart: &Chart<'_>, figure: &Figure, layer: usize, category: f64) -> (f64, f64) {
    let has = |layer: &Layer| match layer {
        Layer::Ranges(l) => l.ranges.iter().any(|r| r.category as f64 == category),
        Layer::Points(l) => l.points.iter().any(|p| p.x == category),
        _ => false,
    };
    let sharing: Vec<usize> = (0..figure.layers.len()).filter(|k| has(&figure.layers[*k])).collect();
    let place = (sharing.iter().position(|k| *k == layer).unwrap_or(0), sharing.len());
    slot(narrowed(chart, (category - 0.4, category + 0.4), place.1), place)
}

/// Draws the k-th of several series of bars from zero, with error bars.
pub(crate) fn bars<'a>(canvas: &Canvas<'a>, chart: &mut Chart<'a>, bars: &Bars, place: (usize, usize)) -> Drawn {
    for bar in &bars.bars {
        let span = if bar.bin { (bar.from, bar.to) } else { narrowed(chart, (bar.from, bar.to), place.1) };
        let (from, to) = slot(span, place);
        let Some(((left, top), (right, _))) = chart.at(from, bar.y).zip(chart.at(to, bar.y)) else {
            continue;
        };
        if bar.n.few().is_some() {
            few(canvas, chart, (f64::midpoint(left, right), top), (bar, bars.role))?;
            continue;
        }
        // A logarithmic axis has no zero, so its bars start at its lower end.
        let zero = chart.at(from, 0.0).map_or(chart.bottom, |(_, y)| y);
        let gap = if bar.bin { 0.0 } else { ((right - left) * 0.06).min(2.0) };
        patch(canvas, (left + gap, top), (right - gap, zero), bars.role)?;
        if let Some(ends) = bar.interval().filter(|(lo, hi)| lo < hi) {
            let half = ((right - left) * 0.25).min(4.0);
            whisker(canvas, chart, ((from + to) / 2.0, bar.y), ends, half, Pen::new(canvas.look.ink, 1.3))?;
        }
    }
    Ok(())
}

/// Draws a marker with the numbers of examples and units instead of a bar, because a bar over too few units would look as reliable as one
/// over many.
fn few(canvas: &Canvas<'_>, chart: &Chart<'_>, at: At, (bar, role): (&Bar, Role)) -> Drawn {
    const R: f64 = 3.6;
    const AIR: f64 = 2.0;
    canvas.marker(at, role.marker.unwrap_or(Marker::Circle), R, canvas.look.series(role.hue))?;
    let units = bar.n.units.unwrap_or_default();
    let label = format!("{} ({units})", bar.n.first);
    let half = canvas.fonts.width(&label, SMALL) / 2.0 + AIR;
    let (above, below) = (at.1 - R - 3.0 - SMALL, at.1 + R + 4.0);
    // On the other side of the mark, or further to the right, if a neighbour's label is there.
    let sides = if above - 1.0 < chart.top { [below, above] } else { [above, below] };
    let mut places = [0.0, half / 2.0].into_iter().flat_map(|aside| sides.map(|y| (at.0 + aside, y)));
    let is_free = |(x, y): &At| {
        let (left, right) = (x - half, x + half);
        let is_inside = *y >= chart.top && y + SMALL <= chart.bottom && right <= chart.right;
        is_inside && canvas.is_free_of_text(((left, *y), (right, y + SMALL)))
    };
    let place = places.find(is_free).unwrap_or((at.0, sides[0]));
    canvas.text(&label, place, type_of(SMALL, canvas.look.ink, Side::Middle, Side::Start))
}

/// Narrows the span of a category if its bars would be very wide (few categories on a wide page).
fn narrowed(chart: &Chart<'_>, (from, to): (f64, f64), series: usize) -> (f64, f64) {
    let widest = WIDEST.0.max(WIDEST.1 * (chart.right - chart.left));
    let unit = (chart.right - chart.left) / (chart.x.value(1.0) - chart.x.value(0.0)).abs();
    let width = (to - from).min(widest * series.max(1) as f64 / unit.max(1.0));
    let middle = (from + to) / 2.0;
    (middle - width / 2.0, middle + width / 2.0)
}

/// Draws an interval with caps. The error bars of plotters would add a ring at the mean.
pub(crate) fn whisker<'a>(
    canvas: &Canvas<'a>,
    chart: &mut Chart<'a>,
    (x, y): (f64, f64),
    (lo, hi): (f64, f64),
    half: f64,
    pen: Pen,
) -> Drawn {
    let Some((a, b)) = chart.at(x, lo).zip(chart.at(x, hi)) else { return Ok(()) };
    let style = Pen { width: pen.width * canvas.look.stroke, ..pen };
    chart.draw(ErrorBar::new_vertical(x, lo, y, hi, style, 0))?;
    for (x, y) in [a, b] {
        canvas.line(&[(x - half, y), (x + half, y)], pen)?;
    }
    Ok(())
}

pub(crate) fn ranges<'a>(
    canvas: &Canvas<'a>,
    chart: &mut Chart<'a>,
    ranges: &Ranges,
    (figure, layer): (&Figure, usize),
) -> Drawn {
    let colour = canvas.look.series(ranges.role.hue);
    for range in &ranges.ranges {
        let (from, to) = part(chart, figure, layer, range.category as f64);
        let (lo, hi) = range.ends;
        let Some(((left, _), (right, _))) = chart.at(from, lo).zip(chart.at(to, hi)) else { continue };
        let x = (from + to) / 2.0;
        if ranges.are_intervals {
            whisker(canvas, chart, (x, lo), (lo, hi), CAP, Pen::new(colour, 1.3))?;
            if let Some(at) = range.mean.and_then(|m| chart.at(x, m)) {
                canvas.marker(at, ranges.role.marker.unwrap_or(Marker::Circle), 3.6, colour)?;
            }
            continue;
        }
        let half = ((right - left) * 0.3).min(12.0);
        let Some(((middle, top), (_, bottom))) = chart.at(x, hi).zip(chart.at(x, lo)) else { continue };
        span(canvas, (middle - half, top), (middle + half, bottom), ranges.role)?;
        if let Some((_, y)) = range.mean.and_then(|m| chart.at(x, m)) {
            canvas.line(&[(middle - half, y), (middle + half, y)], Pen::new(colour, 2.4))?;
        }
        // Dots for equal values are side by side, so that they can be counted.
        let mut dots: Vec<At> = range.dots.iter().filter_map(|dot| chart.at(x, *dot)).collect();
        dots.sort_by(|a, b| a.1.total_cmp(&b.1));
        for row in dots.chunk_by(|a, b| (a.1 - b.1).abs() < VALUE) {
            let step = BESIDE.min(2.0 * (half - VALUE) / (row.len() - 1).max(1) as f64);
            for (k, (_, y)) in row.iter().enumerate() {
                let off = (k as f64 - (row.len() - 1) as f64 / 2.0) * step;
                canvas.disc((middle + off, *y), VALUE, canvas.look.ink)?;
            }
        }
    }
    Ok(())
}

/// Draws the box of a range: pale, or unfilled if faint. Unlike an interval, it has an outline, no caps and no line in the middle.
pub(crate) fn span(canvas: &Canvas<'_>, a: At, b: At, role: Role) -> Drawn {
    let colour = canvas.look.series(role.hue);
    if role.emphasis != Emphasis::Faint {
        canvas.rectangle(a, b, colour, SPAN)?;
    }
    canvas.frame(a, b, Pen::new(colour, 1.0))
}
