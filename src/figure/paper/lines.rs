//! Lines with bands, points and rank lines on paper.

use plotters::element::{ErrorBar, Polygon};
use plotters::series::LineSeries;
use plotters::style::ShapeStyle;

use super::super::axis::Fitted;
use super::super::canvas::{At, Canvas, Drawn, Pen, Side, filled};
use super::super::layers::{Datum, Line, Points, Ranks, Spot};
use super::super::palette::Rgb;
use super::super::role::{Dash, Emphasis, Marker, Role};
use super::super::{Figure, Layer};
use super::chart::Chart;
use super::labels::LONGEST;
use super::spread::{self, ASIDE, LEVELS, Spread, is_range};
use super::{SMALL, bars, pen, type_of, weight};
use base::text::printable_label;

pub(crate) const BAND: f64 = 0.18;
/// Opacity of the narrow band, drawn over the wide one.
pub(crate) const INNER: f64 = 0.26;
/// Distance between the strokes of a range, in page units.
const COMB: f64 = 8.0;
/// Mean height of a band, as a share of the axis, above which it is paler and has edges; the second value is for overlapping bands.
const WIDE: (f64, f64) = (0.3, 0.03);
/// Minimum distance between the markers of a line, in page units; the second value is for a plane, where each marker is a setting.
const APART: (f64, f64) = (22.0, 13.0);
/// Half the width of the caps of an interval, in page units.
pub(crate) const CAP: f64 = 3.0;
/// Line width of a narrow interval drawn as a line, in page units.
pub(crate) const THICK: f64 = 3.6;
/// Half the size of the markers on a plane, in page units: small if unrated, hollow if dominated, and of all others.
pub(crate) const SMALL_MARK: f64 = 2.0;
pub(crate) const HOLLOW: f64 = 2.4;
pub(crate) const FULL: f64 = 3.7;

/// Splits points into runs that a line may connect. No line crosses the gap after zero on a logarithmic axis.
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

/// Converts a pen to a plotters style, using the line weight of the page.
pub(crate) fn style(canvas: &Canvas<'_>, pen: Pen) -> ShapeStyle {
    Pen { width: pen.width * canvas.look.stroke, ..pen }.into()
}

pub(crate) fn edge(colour: Rgb) -> Pen {
    Pen { alpha: 0.8, ..Pen::new(colour, 0.7) }
}

/// Draws intervals behind all lines: as areas (narrow over wide), or separately at each point.
pub(crate) fn bands<'a>(
    canvas: &Canvas<'a>,
    chart: &mut Chart<'a>,
    (line, layer): (&Line, usize),
    (spread, turn): (&Spread, (usize, usize)),
) -> Drawn {
    let colour = canvas.look.series(line.role.hue);
    let thin = edge(colour);
    if spread.is_plane || is_range(line.role) {
        return Ok(());
    }
    pairs(canvas, chart, (line, layer), spread)?;
    if spread.is_by_point(line) {
        return one_by_one(canvas, chart, (line, layer), (spread, turn));
    }
    for inner in [false, true].into_iter().filter(|inner| !inner || spread.narrow) {
        let ends = line.points.iter().filter_map(|p| {
            let (lo, hi) = if inner { spread.narrow(p) } else { spread.wide(p) }?;
            chart.at(p.x, lo).and(chart.at(p.x, hi))?;
            Some((p.x, (lo, hi)))
        });
        for run in runs(&chart.x, &ends.collect::<Vec<_>>()) {
            if line.role.dash.is_none() || run.len() == 1 {
                for (x, (lo, hi)) in run {
                    let Some(((left, low), (_, high))) = chart.at(x, lo).zip(chart.at(x, hi)) else { continue };
                    let left = left + spread.shift_at(layer, x);
                    canvas.line(&[(left, low), (left, high)], Pen { width: 1.1, ..thin })?;
                }
                continue;
            }
            let upper: Vec<(f64, f64)> = run.iter().map(|&(x, (_, hi))| (x, hi)).collect();
            let lower: Vec<(f64, f64)> = run.iter().rev().map(|&(x, (lo, _))| (x, lo)).collect();
            let length = |&(_, (lo, hi)): &(f64, (f64, f64))| {
                chart.y.place(hi).zip(chart.y.place(lo)).map_or(0.0, |(a, b)| (a - b).abs())
            };
            let limit = if spread.overlaps { WIDE.1 } else { WIDE.0 };
            // In grey, the edge of a margin would look like one of the lines in it.
            let wide = !spread.is_margin && run.iter().map(length).sum::<f64>() / run.len() as f64 > limit;
            let alpha = if inner { INNER } else { BAND * if wide { 0.5 } else { 1.0 } };
            let around: Vec<(f64, f64)> = upper.iter().chain(&lower).copied().collect();
            // In greyscale, two overlapping pale areas would look like a narrow interval.
            let has_edges_alone = inner && spread.overlaps;
            if !has_edges_alone {
                chart.draw(Polygon::new(around, filled(colour, alpha)))?;
            }
            if wide || has_edges_alone {
                // A dashed edge would look like another line.
                for ends in [upper, lower] {
                    chart.draw_series(LineSeries::new(ends, style(canvas, thin)))?;
                }
            }
        }
    }
    Ok(())
}

/// Colour of a range, dark enough to be visible on its line's band.
fn of_range(canvas: &Canvas<'_>, role: Role) -> Rgb {
    canvas.look.series(role.hue).mixed(canvas.look.ink, 0.45)
}

/// Draws a range without a line, above all bands. Its vertical strokes distinguish it from an interval.
pub(crate) fn range(canvas: &Canvas<'_>, chart: &Chart<'_>, line: &Line, spread: &Spread) -> Drawn {
    if spread.is_plane || !is_range(line.role) {
        return Ok(());
    }
    let ends: Vec<(f64, (f64, f64))> = line.points.iter().filter_map(|p| Some((p.x, p.interval()?))).collect();
    let colour = of_range(canvas, line.role);
    let runs = match spread.by_point {
        true => ends.iter().map(|end| vec![*end]).collect(),
        false => runs(&chart.x, &ends),
    };
    let aside = if spread.by_point { ASIDE } else { 0.0 };
    runs.into_iter().try_for_each(|run| draw_range(canvas, chart, &run, (colour, aside)))
}

/// Minimum length of the strokes of a range, in page units.
const THIN: f64 = 5.0;

/// Draws a range at its true height: two edges with vertical strokes between them, which are longer than a range without width. `run` contains the edge values by increasing x.
fn draw_range(canvas: &Canvas<'_>, chart: &Chart<'_>, run: &[(f64, (f64, f64))], (colour, aside): (Rgb, f64)) -> Drawn {
    let place = |&(x, (lo, hi)): &(f64, (f64, f64))| {
        let ((x, low), (_, high)) = chart.at(x, lo).zip(chart.at(x, hi))?;
        Some((x, low, high))
    };
    let at: Vec<(f64, f64, f64)> = run.iter().filter_map(place).collect();
    if let [(x, low, high)] = at[..] {
        return strokes(canvas, (x + aside - CAP, high), (x + aside + CAP, low), colour);
    }
    for end in [|p: &(f64, f64, f64)| (p.0, p.1), |p: &(f64, f64, f64)| (p.0, p.2)] {
        canvas.line(&at.iter().map(end).collect::<Vec<At>>(), Pen::new(colour, 1.0))?;
    }
    let Some((first, last)) = at.first().zip(at.last()) else { return Ok(()) };
    let count = ((last.0 - first.0) / COMB).clamp(0.0, 1000.0) as usize;
    for x in (0..=count).map(|k| first.0 + k as f64 * COMB) {
        let Some(pair) = at.windows(2).find(|pair| (pair[0].0..=pair[1].0).contains(&x)) else { continue };
        let share = (x - pair[0].0) / (pair[1].0 - pair[0].0).max(1e-9);
        let between = |a: f64, b: f64| a + share * (b - a);
        let (low, high) = (between(pair[0].1, pair[1].1), between(pair[0].2, pair[1].2));
        let beyond = ((THIN - (low - high)) / 2.0).max(0.0);
        canvas.line(&[(x, low + beyond), (x, high - beyond)], Pen { alpha: 0.5, ..Pen::new(colour, 0.7) })?;
    }
    Ok(())
}

/// Draws a range in a rectangle: an outline with vertical strokes.
pub(crate) fn strokes(canvas: &Canvas<'_>, a: At, b: At, colour: Rgb) -> Drawn {
    canvas.frame(a, b, Pen::new(colour, 1.0))?;
    let count = ((b.0 - a.0) / (0.6 * COMB)).max(2.0) as usize;
    let x = |k: usize| a.0 + k as f64 * (b.0 - a.0) / count as f64;
    (1..count).try_for_each(|k| canvas.line(&[(x(k), a.1), (x(k), b.1)], Pen::new(colour, 0.7)))
}

/// Draws each point's interval: the wide one thin with caps, the narrow one thick. Unless the figure draws intervals at every point, only
/// points with a marker have one, or every second of these.
fn one_by_one(
    canvas: &Canvas<'_>,
    chart: &Chart<'_>,
    (line, layer): (&Line, usize),
    (spread, turn): (&Spread, (usize, usize)),
) -> Drawn {
    let colour = canvas.look.series(line.role.hue);
    let points: Vec<&Datum> = match spread.by_point {
        true => line.points.iter().collect(),
        false => {
            let step = if spread.at_marks { 1 } else { 2 };
            marked(chart, (line, layer), (spread, turn)).into_iter().map(|(_, p)| p).step_by(step).collect()
        }
    };
    for p in points {
        let pair = |ends: Option<(f64, f64)>| {
            let (lo, hi) = ends?;
            let ((x, low), (_, high)) = chart.at(p.x, lo).zip(chart.at(p.x, hi))?;
            Some((x + spread.shift_at(layer, p.x), low, high))
        };
        if let Some((x, low, high)) = pair(spread.wide(p)) {
            interval(canvas, (x, low, high), Pen::new(colour, 1.3))?;
        }
        if let Some((x, low, high)) = pair(spread.narrow(p)) {
            canvas.line(&[(x, low), (x, high)], Pen::new(colour, THICK))?;
        }
    }
    Ok(())
}

/// Draws each point's two replicates as the ends of a thin line; on a line with many points, as two thin curves.
fn pairs(canvas: &Canvas<'_>, chart: &Chart<'_>, (line, layer): (&Line, usize), spread: &Spread) -> Drawn {
    let pen = Pen::new(canvas.look.series(line.role.hue), 1.1);
    let values: Vec<(f64, (f64, f64))> = line.points.iter().filter_map(|p| Some((p.x, p.pair?))).collect();
    if spread.by_point || spread.is_margin {
        let ends = |&(x, (lo, hi)): &(f64, (f64, f64))| {
            let ((left, low), (_, high)) = chart.at(x, lo).zip(chart.at(x, hi))?;
            Some((left + spread.shift_at(layer, x), low, high))
        };
        return values.iter().filter_map(ends).try_for_each(|ends| interval(canvas, ends, pen));
    }
    for run in runs(&chart.x, &values) {
        for end in [|ends: (f64, f64)| ends.0, |ends: (f64, f64)| ends.1] {
            let curve: Vec<At> = run.iter().filter_map(|&(x, ends)| chart.at(x, end(ends))).collect();
            canvas.line(&curve, Pen { dash: line.role.dash.unwrap_or(Dash::Solid), ..pen })?;
        }
    }
    Ok(())
}

/// Draws a vertical line with caps between two y positions.
pub(crate) fn interval(canvas: &Canvas<'_>, (x, low, high): (f64, f64, f64), pen: Pen) -> Drawn {
    canvas.line(&[(x, low), (x, high)], pen)?;
    for y in [low, high] {
        canvas.line(&[(x - CAP, y), (x + CAP, y)], Pen { dash: Dash::Solid, ..pen })?;
    }
    Ok(())
}

pub(crate) fn line(
    canvas: &Canvas<'_>,
    chart: &Chart<'_>,
    (line, layer): (&Line, usize),
    (spread, turn): (&Spread, (usize, usize)),
) -> Drawn {
    let shift = |x: f64| spread.shift_at(layer, x);
    let at = |x: f64, y: f64| chart.at(x, y).map(|(left, top)| (left + shift(x), top));
    let shown = line.points.iter().filter(|p| at(p.x, p.y).is_some());
    let points: Vec<(f64, &Datum)> = shown.map(|p| (p.x, p)).collect();
    let colour = canvas.look.series(line.role.hue);
    let role = |emphasis: Emphasis| Role { emphasis, ..line.role };
    if line.role.dash.is_some() {
        for run in runs(&chart.x, &points) {
            // A segment with a faint end is faint; otherwise the role determines its weight. Points over too few units are not connected,
            // because a line would suggest a trend.
            let kind = |pair: &[(f64, &Datum)]| {
                let any = |is: &dyn Fn(&Datum) -> bool| pair.iter().any(|(_, p)| is(p));
                (any(&|p| p.n.few().is_some()), any(&|p| p.emphasis == Emphasis::Faint))
            };
            let mut rest = run.as_slice();
            while rest.len() > 1 {
                let (is_apart, is_faint) = kind(&rest[..2]);
                let same = rest.windows(2).take_while(|pair| kind(pair) == (is_apart, is_faint)).count();
                let emphasis = if is_faint { Emphasis::Faint } else { line.role.emphasis };
                let stretch: Vec<At> = rest[..=same].iter().filter_map(|(_, p)| chart.at(p.x, p.y)).collect();
                if !is_apart {
                    canvas.line(&stretch, pen(&canvas.look, role(emphasis)))?;
                }
                rest = &rest[same..];
            }
            // A line through one point would be invisible.
            if let ([(_, p)], None) = (run.as_slice(), line.role.marker) {
                at(p.x, p.y).map_or(Ok(()), |at| canvas.disc(at, 1.8, colour))?;
            }
        }
    }
    if let Some(marker) = line.role.marker {
        for (at, p) in marked(chart, (line, layer), (spread, turn)) {
            if spread.is_plane {
                cross(canvas, chart, p, colour)?;
                standing(canvas, at, p, (marker, colour))?;
                continue;
            }
            let r = weight(role(p.emphasis.within(line.role.emphasis))).0 + 1.1;
            match p.emphasis {
                Emphasis::Faint => canvas.outline(at, marker, r, colour)?,
                _ => canvas.marker(at, marker, r, colour)?,
            }
        }
    }
    Ok(())
}

/// Draws the intervals of a point on a plane as a thin cross behind its marker, if it has one in x.
fn cross(canvas: &Canvas<'_>, chart: &Chart<'_>, p: &Datum, colour: Rgb) -> Drawn {
    let pen = Pen { alpha: 0.7, ..Pen::new(colour, 0.9) };
    let Some(((left, right), (low, high))) = p.x_band.zip(p.interval()) else { return Ok(()) };
    for ends in [[(left, p.y), (right, p.y)], [(p.x, low), (p.x, high)]] {
        let at: Vec<At> = ends.iter().filter_map(|&(x, y)| chart.at(x, y)).collect();
        canvas.line(&at, pen)?;
    }
    Ok(())
}

/// Draws a point's marker on a plane: small if unrated, small and hollow if dominated, otherwise the full marker of its line.
fn standing(canvas: &Canvas<'_>, at: At, p: &Datum, (marker, colour): (Marker, Rgb)) -> Drawn {
    match p.emphasis {
        Emphasis::Faint if p.is_unrated => full(canvas, at, (marker, SMALL_MARK), colour),
        Emphasis::Faint => canvas.outline(at, marker, HOLLOW, colour),
        _ => full(canvas, at, (marker, FULL), colour),
    }
}

/// Draws a filled marker in a plane, where a hollow one would mean a dominated point.
pub(crate) fn full(canvas: &Canvas<'_>, at: At, (marker, r): (Marker, f64), colour: Rgb) -> Drawn {
    if marker == Marker::Circle { canvas.disc(at, r, colour) } else { canvas.marker(at, marker, r, colour) }
}

/// Selects the points that have a marker, omitting markers that would touch the previous one. If the markers of lines alternate, each line
/// marks only the points assigned to it and its unconnected points.
fn marked<'l>(
    chart: &Chart<'_>,
    (line, layer): (&'l Line, usize),
    (spread, (turn, turns)): (&Spread, (usize, usize)),
) -> Vec<(At, &'l Datum)> {
    let least = if spread.is_plane { APART.1 } else { APART.0 };
    let place = |p: &'l Datum| {
        let (x, y) = chart.at(p.x, p.y)?;
        Some((p.x, ((x + spread.shift_at(layer, p.x), y), p)))
    };
    let shown: Vec<(f64, (At, &Datum))> = line.points.iter().filter_map(place).collect();
    let mut out: Vec<(At, &Datum)> = Vec::new();
    for run in runs(&chart.x, &shown) {
        let mut marks: Vec<(At, &Datum)> = Vec::new();
        for &(_, (at, p)) in &run {
            let near = |(to, q): &(At, &Datum)| {
                let alike = (q.emphasis, q.is_unrated) == (p.emphasis, p.is_unrated);
                alike && (at.0 - to.0).hypot(at.1 - to.1) < least
            };
            if !marks.last().is_some_and(near) {
                marks.push((at, p));
            }
        }
        let (from, step) = if run.len() > 1 { (turn, turns.max(1)) } else { (0, 1) };
        out.extend(marks.into_iter().skip(from).step_by(step));
    }
    out
}

/// Writes the number of units above the frame where units are too few for an interval.
pub(crate) fn counts(canvas: &Canvas<'_>, chart: &Chart<'_>, figure: &Figure) -> Drawn {
    let mut found: Vec<(At, Vec<usize>)> = Vec::new();
    let lines = figure.layers.iter().filter_map(|l| if let Layer::Line(line) = l { Some(line) } else { None });
    for p in lines.flat_map(|l| &l.points) {
        let Some((at, few)) = chart.at(p.x, p.y).zip(p.n.few()) else { continue };
        match found.iter_mut().find(|f| f.0.0 == at.0) {
            Some((_, there)) if there.contains(&few) => {}
            Some((_, there)) => there.push(few),
            None => found.push((at, vec![few])),
        }
    }
    let kind = type_of(SMALL, canvas.look.ink, Side::Middle, Side::End);
    found.into_iter().try_for_each(|((x, _), few)| {
        let few: Vec<String> = few.iter().map(usize::to_string).collect();
        let label = format!("n {}", few.join("/"));
        // The label is kept within the frame, because on the frame's edge its marker would cross the axis.
        let half = canvas.fonts.width(&label, SMALL) / 2.0 + 3.0;
        let x = x.clamp(chart.left + half, (chart.right - half).max(chart.left + half));
        canvas.text(&label, (x, chart.top - 4.0), kind)
    })
}

/// Draws single points with their intervals, next to ranges of the same category.
pub(crate) fn points<'a>(
    canvas: &Canvas<'a>,
    chart: &mut Chart<'a>,
    points: &Points,
    (figure, layer): (&Figure, usize),
) -> Drawn {
    let is_plane = chart.x.categories().is_none();
    let marker = points.role.marker.unwrap_or(Marker::Circle);
    let alpha = if points.role.emphasis == Emphasis::Faint { 0.3 } else { 1.0 };
    let ranges = figure.layers.iter().any(|l| matches!(l, Layer::Ranges(_)));
    let has_bars = figure.layers.iter().any(|l| matches!(l, Layer::Bars(_)));
    // Caps are smaller on a plane, where the arms of a point cross.
    let cap = if is_plane { 0.8 * CAP } else { CAP };
    let are_levels = spread::are_levels(points, &chart.x);
    for p in points.points.iter().filter(|p| !p.is_unmarked) {
        let (from, to) = if ranges { bars::part(chart, figure, layer, p.x) } else { (p.x, p.x) };
        let x = f64::midpoint(from, to);
        let Some(at) = chart.at(x, p.y) else { continue };
        let at = if are_levels { (chart.left + LEVELS / 2.0 + 1.0, at.1) } else { at };
        let colour = canvas.look.series(p.hue.unwrap_or(points.role.hue));
        let pen = Pen { alpha, ..Pen::new(colour, 1.1) };
        let [x_band, y_band] = p.intervals();
        arms(canvas, chart, p, pen)?;
        if let Some((lo, hi)) = x_band
            && let Some((a, b)) = chart.at(lo, p.y).zip(chart.at(hi, p.y))
        {
            chart.draw(ErrorBar::new_horizontal(p.y, lo, p.x, hi, style(canvas, pen), 0))?;
            for (x, y) in [a, b] {
                canvas.line(&[(x, y - cap), (x, y + cap)], pen)?;
            }
        }
        if let Some(ends) = y_band {
            bars::whisker(canvas, chart, (x, p.y), ends, cap, pen)?;
        }
        if has_bars {
            // A faint point shows a length from zero, like the bars beside it, so its dotted line starts at zero.
            let foot = chart.at(x, 0.0).filter(|_| points.role.emphasis == Emphasis::Faint).unwrap_or(at);
            canvas.line(&[foot, at], Pen { dash: Dash::Dotted, ..Pen::new(colour, 1.3) })?;
            // On a bar, a marker is visible only on a light background.
            canvas.disc(at, SPOT + 2.2, canvas.look.paper)?;
        }
        spot(canvas, figure, (points, marker, are_levels), (p, at))?;
    }
    Ok(())
}

/// Half the size of a single point, in page units.
const SPOT: f64 = 3.6;

/// Draws a single point. A point with a hue has the marker of that hue's line, in a ring; a level has its line's marker.
fn spot(
    canvas: &Canvas<'_>,
    figure: &Figure,
    (points, marker, is_level): (&Points, Marker, bool),
    (p, at): (&Spot, At),
) -> Drawn {
    // Drawn around the ring of the best strength, which may be at the same position.
    const KNEE: f64 = 6.6;
    let of_line = |hue: usize| {
        let lines = figure.layers.iter().filter_map(|l| if let Layer::Line(line) = l { Some(line.role) } else { None });
        lines.filter(|role| role.hue == hue).find_map(|role| role.marker).unwrap_or(marker)
    };
    let colour = canvas.look.series(points.role.hue);
    match p.hue {
        _ if marker == Marker::Diamond => canvas.outline(at, marker, KNEE, colour),
        Some(hue) => ringed(canvas, at, of_line(hue), canvas.look.series(hue)),
        None if is_level => canvas.marker(at, of_line(points.role.hue), SPOT, colour),
        None if points.role.emphasis == Emphasis::Faint => canvas.outline(at, marker, SPOT, colour),
        None => canvas.marker(at, marker, SPOT, colour),
    }
}

/// Draws a marker in a ring, on the page's background colour.
pub(crate) fn ringed(canvas: &Canvas<'_>, at: At, marker: Marker, colour: Rgb) -> Drawn {
    const MARK: f64 = 2.6;
    canvas.marker(at, Marker::Circle, super::labels::RING, canvas.look.ink)?;
    full(canvas, at, (marker, MARK), colour)
}

/// Draws lines between the values of two replicates, in x and in y.
fn arms(canvas: &Canvas<'_>, chart: &Chart<'_>, p: &Spot, pen: Pen) -> Drawn {
    let Some([x, y]) = p.pairs else { return Ok(()) };
    let at = |x: f64, y: f64| chart.at(x, y);
    if let Some((a, b)) = at(x.0, p.y).zip(at(x.1, p.y)) {
        canvas.line(&[a, b], pen)?;
        [a, b].iter().try_for_each(|(x, y)| canvas.line(&[(*x, y - CAP), (*x, y + CAP)], pen))?;
    }
    let y = at(p.x, y.0).zip(at(p.x, y.1));
    y.map_or(Ok(()), |((x, low), (_, high))| interval(canvas, (x, low, high), pen))
}

/// Draws rank lines with their names at the end. Lines with the same rank run side by side.
pub(crate) fn ranks<'a>(canvas: &Canvas<'a>, chart: &Chart<'a>, ranks: &Ranks) -> Drawn {
    // Distance between lines, in page units: the height of a marker.
    const BESIDE: f64 = 8.0;
    let rank = |line: usize, k: usize| ranks.lines[line].ranks.get(k).copied().flatten();
    // Lines with a tied rank are drawn above and below it, in layer order.
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
    // Names of tied lines are moved down until they do not overlap.
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
