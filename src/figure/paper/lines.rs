//! Lines with bands, points and rank lines on paper.

use plotters::element::{ErrorBar, Polygon};
use plotters::series::LineSeries;
use plotters::style::ShapeStyle;

use super::super::axis::Fitted;
use super::super::canvas::{At, Canvas, Drawn, Pen, Side, filled};
use super::super::layers::{Datum, Line, Points, Ranks};
use super::super::overlap::Rect;
use super::super::palette::Rgb;
use super::super::role::{Dash, Emphasis, Marker, Role};
use super::super::{Figure, Layer};
use super::chart::Chart;
use super::labels::{self, LONGEST};
use super::spread::{Spread, is_range};
use super::{SMALL, bars, pen, type_of, weight};
use base::text::printable_label;

/// Opacity of a wide band.
pub(crate) const BAND: f64 = 0.18;
/// Opacity of a narrow one, over the wide one.
pub(crate) const INNER: f64 = 0.26;
/// Opacity of a range without a line.
const RANGE: f64 = 0.07;
/// A band that takes more of the axis than this on average has edges and is paler; the second where bands lie on each other.
const WIDE: (f64, f64) = (0.3, 0.1);
/// Least distance between the markers of a line: those of closer points would run together.
const APART: f64 = 13.0;
/// Half the width of the caps of an interval.
pub(crate) const CAP: f64 = 3.0;
/// Width of a narrow interval that is a line.
pub(crate) const THICK: f64 = 3.6;
/// Opacity of a range at a point.
pub(crate) const BOX: f64 = 0.27;

/// Consecutive points that a line may join: none is joined across the gap between zero and a logarithmic axis.
fn runs<T: Copy>(x: &Fitted, points: &[(f64, T)]) -> Vec<Vec<(f64, T)>> {
    let mut out: Vec<Vec<(f64, T)>> = Vec::new();
    for &point in points {
        match out.last_mut() {
            Some(last) if last.last().is_some_and(|before| x.connects(before.0, point.0)) => last.push(point),
            _ => out.push(vec![point]),
        }
    }
    out
}

/// A pen for plotters, at the weight of the page.
pub(crate) fn style(canvas: &Canvas<'_>, pen: Pen) -> ShapeStyle {
    Pen { width: pen.width * canvas.look.stroke, ..pen }.into()
}

/// The edge of an area.
pub(crate) fn edge(colour: Rgb, dash: Dash) -> Pen {
    Pen { alpha: 0.6, dash, ..Pen::new(colour, 1.1) }
}

/// The intervals, behind all lines: areas, the wide ones below the narrow ones, or one by one.
pub(crate) fn bands<'a>(
    canvas: &Canvas<'a>,
    chart: &mut Chart<'a>,
    (line, layer): (&Line, usize),
    spread: &Spread,
) -> Drawn {
    let colour = canvas.look.series(line.role.hue);
    let thin = edge(colour, Dash::Solid);
    let range = is_range(line.role);
    if spread.is_plane {
        return Ok(());
    }
    if spread.is_by_point(line) {
        return one_by_one(canvas, chart, line, (spread, spread.shift(layer)));
    }
    for inner in [false, true].into_iter().filter(|inner| !inner || spread.narrow) {
        let ends = line.points.iter().filter_map(|p| {
            let (lo, hi) = if inner { p.interval().and(p.inner) } else { p.interval() }?;
            chart.at(p.x, lo).and(chart.at(p.x, hi))?;
            Some((p.x, (lo, hi)))
        });
        for run in runs(&chart.x, &ends.collect::<Vec<_>>()) {
            if line.role.dash.is_none() && !range || run.len() == 1 {
                for (x, (lo, hi)) in run {
                    chart.draw(ErrorBar::new_vertical(x, lo, lo, hi, style(canvas, thin), 0))?;
                }
                continue;
            }
            let upper: Vec<(f64, f64)> = run.iter().map(|&(x, (_, hi))| (x, hi)).collect();
            let lower: Vec<(f64, f64)> = run.iter().rev().map(|&(x, (lo, _))| (x, lo)).collect();
            let length = |&(_, (lo, hi)): &(f64, (f64, f64))| {
                chart.y.place(hi).zip(chart.y.place(lo)).map_or(0.0, |(a, b)| (a - b).abs())
            };
            let limit = if spread.overlaps { WIDE.1 } else { WIDE.0 };
            let wide = !range && run.iter().map(length).sum::<f64>() / run.len() as f64 > limit;
            let alpha = match (range, inner) {
                (true, _) => RANGE,
                (false, true) => INNER,
                (false, false) => BAND * if wide { 0.5 } else { 1.0 },
            };
            let around: Vec<(f64, f64)> = upper.iter().chain(&lower).copied().collect();
            chart.draw(Polygon::new(around, filled(colour, alpha)))?;
            if wide || range {
                let edge = Pen { dash: line.role.dash.unwrap_or(Dash::Dotted), ..thin };
                for ends in [upper, lower] {
                    chart.draw_series(LineSeries::new(ends, style(canvas, edge)))?;
                }
            }
        }
    }
    Ok(())
}

/// Intervals point by point: the wide one thin with caps, the narrow one thick, a range as a pale box. A line among areas has them at every
/// other marker.
fn one_by_one(canvas: &Canvas<'_>, chart: &Chart<'_>, line: &Line, (spread, shift): (&Spread, f64)) -> Drawn {
    let colour = canvas.look.series(line.role.hue);
    let points: Vec<&Datum> = match spread.by_point {
        true => line.points.iter().collect(),
        false => marked(chart, line, shift).into_iter().map(|(_, p)| p).step_by(2).collect(),
    };
    for p in points {
        let pair = |ends: Option<(f64, f64)>| {
            let (lo, hi) = ends?;
            let ((x, low), (_, high)) = chart.at(p.x, lo).zip(chart.at(p.x, hi))?;
            Some((x + shift, low, high))
        };
        let Some((x, low, high)) = pair(p.interval()) else { continue };
        if is_range(line.role) {
            canvas.rectangle((x - CAP, high), (x + CAP, low), colour, BOX)?;
            continue;
        }
        interval(canvas, (x, low, high), Pen::new(colour, 1.3))?;
        if let Some((x, low, high)) = pair(p.inner).filter(|_| spread.narrow) {
            canvas.line(&[(x, low), (x, high)], Pen::new(colour, THICK))?;
        }
    }
    Ok(())
}

/// A line with caps between two heights.
pub(crate) fn interval(canvas: &Canvas<'_>, (x, low, high): (f64, f64, f64), pen: Pen) -> Drawn {
    canvas.line(&[(x, low), (x, high)], pen)?;
    for y in [low, high] {
        canvas.line(&[(x - CAP, y), (x + CAP, y)], Pen { dash: Dash::Solid, ..pen })?;
    }
    Ok(())
}

/// The line and its markers.
pub(crate) fn line(canvas: &Canvas<'_>, chart: &Chart<'_>, line: &Line, shift: f64) -> Drawn {
    let at = |x: f64, y: f64| chart.at(x, y).map(|(left, top)| (left + shift, top));
    let shown = line.points.iter().filter(|p| at(p.x, p.y).is_some());
    let points: Vec<(f64, (f64, Emphasis))> = shown.map(|p| (p.x, (p.y, p.emphasis))).collect();
    let colour = canvas.look.series(line.role.hue);
    let role = |emphasis: Emphasis| Role { emphasis, ..line.role };
    if line.role.dash.is_some() {
        for run in runs(&chart.x, &points) {
            // A line of one point would be invisible.
            if let (&[(x, (y, _))], None) = (run.as_slice(), line.role.marker) {
                at(x, y).map_or(Ok(()), |at| canvas.disc(at, 1.8, colour))?;
            }
            // A stretch with a faint end is faint; otherwise a line is as heavy as its role, whatever its points are.
            let faint = |pair: &[(f64, (f64, Emphasis))]| pair.iter().any(|(_, (_, e))| *e == Emphasis::Faint);
            let mut rest = run.as_slice();
            while rest.len() > 1 {
                let same = rest.windows(2).take_while(|pair| faint(pair) == faint(&rest[..2])).count();
                let emphasis = if faint(&rest[..2]) { Emphasis::Faint } else { line.role.emphasis };
                let stretch: Vec<At> = rest[..=same].iter().filter_map(|(x, (y, _))| at(*x, *y)).collect();
                canvas.line(&stretch, pen(&canvas.look, role(emphasis)))?;
                rest = &rest[same..];
            }
        }
    }
    if let Some(marker) = line.role.marker {
        for (at, Datum { emphasis, .. }) in marked(chart, line, shift) {
            let emphasis = *emphasis;
            let width = weight(role(emphasis.within(line.role.emphasis))).0;
            let colour = if emphasis == Emphasis::Faint { canvas.look.pale(colour) } else { colour };
            canvas.marker(at, marker, width + 1.1, colour)?;
        }
    }
    Ok(())
}

/// The points of a line that get a marker: none whose marker would run into that of the point before.
fn marked<'l>(chart: &Chart<'_>, line: &'l Line, shift: f64) -> Vec<(At, &'l Datum)> {
    let mut out: Vec<(At, &Datum)> = Vec::new();
    for p in &line.points {
        let Some((x, y)) = chart.at(p.x, p.y) else { continue };
        let at = (x + shift, y);
        let near = |(to, q): &(At, &Datum)| q.emphasis == p.emphasis && (at.0 - to.0).hypot(at.1 - to.1) < APART;
        if !out.last().is_some_and(near) {
            out.push((at, p));
        }
    }
    out
}

/// The numbers of units of points that are of too few for an interval, above the horizontal axis.
pub(crate) fn counts(canvas: &Canvas<'_>, chart: &Chart<'_>, figure: &Figure) -> Drawn {
    let mut found: Vec<(At, Vec<usize>)> = Vec::new();
    let lines = figure.layers.iter().filter_map(|l| if let Layer::Line(line) = l { Some(line) } else { None });
    for p in lines.flat_map(|l| &l.points) {
        let Some((at, few)) = chart.at(p.x, p.y).zip(p.n.few) else { continue };
        match found.iter_mut().find(|f| f.0.0 == at.0) {
            Some((_, there)) if there.contains(&few) => {}
            Some((_, there)) => there.push(few),
            None => found.push((at, vec![few])),
        }
    }
    let kind = type_of(SMALL, canvas.look.ink, Side::Middle, Side::End);
    found.into_iter().try_for_each(|((x, _), few)| {
        let few: Vec<String> = few.iter().map(usize::to_string).collect();
        canvas.text(&format!("n {}", few.join("/")), (x, chart.bottom - 3.0), kind)
    })
}

/// Single points with their intervals, beside ranges of the same category; labels where they hide least.
pub(crate) fn points<'a>(
    canvas: &Canvas<'a>,
    chart: &mut Chart<'a>,
    points: &Points,
    (figure, layer, below): (&Figure, usize, usize),
) -> Drawn {
    const R: f64 = 3.6;
    let colour = canvas.look.series(points.role.hue);
    let marker = points.role.marker.unwrap_or(Marker::Circle);
    let faint = points.role.emphasis == Emphasis::Faint;
    // On a plane, intervals of points cross each other and the lines.
    let alpha = if chart.x.categories().is_some() { 1.0 } else { 0.6 };
    let pen = Pen { alpha: if faint { 0.3 } else { alpha }, ..Pen::new(colour, 1.1) };
    let thin = style(canvas, pen);
    let ranges = figure.layers.iter().any(|l| matches!(l, Layer::Ranges(_)));
    let has_bars = figure.layers.iter().any(|l| matches!(l, Layer::Bars(_)));
    let (mut taken, mut bars): (Vec<Rect>, Vec<Rect>) = Default::default();
    let air = |a: At, b: At| ((a.0.min(b.0) - 1.0, a.1.min(b.1) - 1.0), (a.0.max(b.0) + 1.0, a.1.max(b.1) + 1.0));
    for p in &points.points {
        let (from, to) = if ranges { bars::part(chart, figure, layer, p.x) } else { (p.x, p.x) };
        let x = f64::midpoint(from, to);
        let Some(at) = chart.at(x, p.y) else { continue };
        if let Some((lo, hi)) = p.x_band
            && let Some((a, b)) = chart.at(lo, p.y).zip(chart.at(hi, p.y))
        {
            chart.draw(ErrorBar::new_horizontal(p.y, lo, p.x, hi, thin, 0))?;
            bars.push(air(a, b));
        }
        if let Some((lo, hi)) = p.y_band
            && let Some((a, b)) = chart.at(x, lo).zip(chart.at(x, hi))
        {
            let cap = if chart.x.categories().is_some() { CAP } else { 0.0 };
            bars::whisker(canvas, chart, (x, p.y), (lo, hi), cap, pen)?;
            bars.push(air(a, b));
        }
        if has_bars {
            // On a bar a marker needs a light ground to be seen.
            canvas.disc(at, R + 2.2, canvas.look.paper)?;
        }
        canvas.marker(at, marker, R, if faint { canvas.look.pale(colour) } else { colour })?;
        taken.push(air((at.0 - R, at.1 - R), (at.0 + R, at.1 + R)));
    }
    labels::points(canvas, chart, (points, &mut taken, &bars), (R + 4.0, below))
}

/// Rank lines, each with its name at its end. Lines of the same rank run side by side.
pub(crate) fn ranks<'a>(canvas: &Canvas<'a>, chart: &Chart<'a>, ranks: &Ranks) -> Drawn {
    const BESIDE: f64 = 4.0;
    let rank = |line: usize, k: usize| ranks.lines[line].ranks.get(k).copied().flatten();
    // Above and below the rank that several lines share, in the order of the lines.
    let shift = |line: usize, k: usize| {
        let same = |other: &usize| rank(*other, k) == rank(line, k);
        let (before, all) = ((0..line).filter(same).count(), (0..ranks.lines.len()).filter(same).count());
        (before as f64 - (all - 1) as f64 / 2.0) * BESIDE
    };
    let mut ends: Vec<(f64, f64, String)> = Vec::new();
    for (i, line) in ranks.lines.iter().enumerate() {
        let at = |k: usize| {
            let (x, y) = chart.at(k as f64, rank(i, k)?)?;
            Some((x, y + shift(i, k)))
        };
        let at: Vec<Option<At>> = (0..line.ranks.len()).map(at).collect();
        for run in at.split(|p| p.is_none()) {
            canvas.line(&run.iter().flatten().copied().collect::<Vec<_>>(), pen(&canvas.look, line.role))?;
        }
        let r = weight(line.role).0 + 1.9;
        let marker = line.role.marker.unwrap_or(Marker::Circle);
        for p in at.iter().flatten() {
            canvas.marker(*p, marker, r, canvas.look.series(line.role.hue))?;
        }
        if let Some(&(x, y)) = at.iter().flatten().last() {
            let room = LONGEST.min(canvas.look.width * 0.3);
            ends.push((x, y, canvas.fonts.cut(&printable_label(&line.label), SMALL, room)));
        }
    }
    // Names of ties move down until they touch no other.
    ends.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut free = f64::NEG_INFINITY;
    for (x, y, label) in ends {
        let y = y.max(free);
        free = y + SMALL + 2.0;
        let kind = type_of(SMALL, canvas.look.ink, Side::Start, Side::Middle);
        canvas.text(&label, (x.max(chart.right - 8.0) + 12.0, y), kind)?;
    }
    Ok(())
}
