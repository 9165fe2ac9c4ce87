//! Lines with bands, points and rank lines on paper.

use plotters::element::{ErrorBar, Polygon};
use plotters::series::LineSeries;
use plotters::style::ShapeStyle;

use super::super::axis::Fitted;
use super::super::canvas::{At, Canvas, Drawn, Pen, Side, filled};
use super::super::layers::{Datum, Line, Points, Ranks, Spot};
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
/// Distance between the strokes of a range.
const COMB: f64 = 5.0;
/// A band that takes more of the axis than this on average has edges and is paler; the second where bands lie on each other.
const WIDE: (f64, f64) = (0.3, 0.1);
/// Least distance between the markers of a line: those of closer points would run together.
const APART: f64 = 13.0;
/// Half the width of the caps of an interval.
pub(crate) const CAP: f64 = 3.0;
/// Width of a narrow interval that is a line.
pub(crate) const THICK: f64 = 3.6;
/// Size of the dot of a single replicate.
pub(crate) const DOT: f64 = 1.7;

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

/// A pen for plotters, with the line weight of the page.
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
    if spread.is_plane || is_range(line.role) {
        return Ok(());
    }
    if spread.is_by_point(line) {
        return one_by_one(canvas, chart, line, (spread, layer));
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
                    canvas.line(&[(left, low), (left, high)], thin)?;
                }
                continue;
            }
            let upper: Vec<(f64, f64)> = run.iter().map(|&(x, (_, hi))| (x, hi)).collect();
            let lower: Vec<(f64, f64)> = run.iter().rev().map(|&(x, (lo, _))| (x, lo)).collect();
            let length = |&(_, (lo, hi)): &(f64, (f64, f64))| {
                chart.y.place(hi).zip(chart.y.place(lo)).map_or(0.0, |(a, b)| (a - b).abs())
            };
            let limit = if spread.overlaps { WIDE.1 } else { WIDE.0 };
            let wide = run.iter().map(length).sum::<f64>() / run.len() as f64 > limit;
            let alpha = match inner {
                true => INNER,
                // Margins of several lines cover most of a frame.
                false if spread.is_margin => BAND / 4.0,
                false => BAND * if wide { 0.5 } else { 1.0 },
            };
            let around: Vec<(f64, f64)> = upper.iter().chain(&lower).copied().collect();
            chart.draw(Polygon::new(around, filled(colour, alpha)))?;
            if wide {
                let edge = Pen { dash: line.role.dash.unwrap_or(Dash::Solid), ..thin };
                for ends in [upper, lower] {
                    chart.draw_series(LineSeries::new(ends, style(canvas, edge)))?;
                }
            }
        }
    }
    Ok(())
}

/// The colour of a range: dark enough to be seen on the band of its line.
fn of_range(canvas: &Canvas<'_>, role: Role) -> Rgb {
    canvas.look.series(role.hue).mixed(canvas.look.ink, 0.45)
}

/// A range without a line, above all bands, in upright strokes, which no interval has.
pub(crate) fn range(canvas: &Canvas<'_>, chart: &Chart<'_>, line: &Line, spread: &Spread) -> Drawn {
    if spread.is_plane || !is_range(line.role) {
        return Ok(());
    }
    let ends: Vec<(f64, (f64, f64))> = line.points.iter().filter_map(|p| Some((p.x, p.interval()?))).collect();
    let colour = of_range(canvas, line.role);
    let runs = runs(&chart.x, &ends).into_iter();
    let runs: Vec<_> = match spread.by_point {
        true => ends.iter().map(|end| vec![*end]).collect(),
        false => runs.collect(),
    };
    runs.into_iter().try_for_each(|run| comb(canvas, chart, &run, colour))
}

/// Height below which a range has no outline, but strokes that are this long.
const THIN: f64 = 7.0;

/// A range between two lines as upright strokes: by rising x, its ends.
fn comb(canvas: &Canvas<'_>, chart: &Chart<'_>, run: &[(f64, (f64, f64))], colour: Rgb) -> Drawn {
    let place = |&(x, (lo, hi)): &(f64, (f64, f64))| {
        let ((x, low), (_, high)) = chart.at(x, lo).zip(chart.at(x, hi))?;
        Some((x, low, high))
    };
    let at: Vec<(f64, f64, f64)> = run.iter().filter_map(place).collect();
    let (pen, thin) = (Pen::new(colour, 1.2), Pen::new(colour, 0.8));
    let whole = |low: f64, high: f64| {
        let (middle, half) = (f64::midpoint(low, high), ((low - high) / 2.0).max(THIN / 2.0));
        (middle + half, middle - half)
    };
    if let [(x, low, high)] = at[..] {
        let (low, high) = whole(low, high);
        return strokes(canvas, (x - CAP, high), (x + CAP, low), colour);
    }
    for pair in at.windows(2).filter(|pair| pair.iter().any(|p| p.1 - p.2 >= THIN)) {
        for end in [|p: &(f64, f64, f64)| (p.0, p.1), |p: &(f64, f64, f64)| (p.0, p.2)] {
            canvas.line(&pair.iter().map(end).collect::<Vec<At>>(), pen)?;
        }
    }
    let Some((first, last)) = at.first().zip(at.last()) else { return Ok(()) };
    let count = ((last.0 - first.0) / COMB).clamp(0.0, 1000.0) as usize;
    for x in (0..=count).map(|k| first.0 + k as f64 * COMB) {
        let Some(pair) = at.windows(2).find(|pair| (pair[0].0..=pair[1].0).contains(&x)) else { continue };
        let share = (x - pair[0].0) / (pair[1].0 - pair[0].0).max(1e-9);
        let between = |a: f64, b: f64| a + share * (b - a);
        let (low, high) = whole(between(pair[0].1, pair[1].1), between(pair[0].2, pair[1].2));
        canvas.line(&[(x, low), (x, high)], thin)?;
    }
    Ok(())
}

/// True if a range of a figure is too narrow to be seen beside a line.
pub(crate) fn has_thin_ranges(figure: &Figure) -> bool {
    const THINNEST: f64 = 0.01;
    let y = Fitted::vertical(figure);
    let length = |(lo, hi): (f64, f64)| y.place(hi).zip(y.place(lo)).map_or(0.0, |(a, b)| (a - b).abs());
    let lines = figure.layers.iter().filter_map(|l| if let Layer::Line(line) = l { Some(line) } else { None });
    let mut ranges = lines.filter(|l| is_range(l.role)).flat_map(|l| &l.points).filter_map(Datum::interval);
    ranges.any(|ends| length(ends) < THINNEST)
}

/// A range in a rectangle: an outline with upright strokes, in the dark colour of ranges.
pub(crate) fn strokes(canvas: &Canvas<'_>, a: At, b: At, colour: Rgb) -> Drawn {
    canvas.frame(a, b, Pen::new(colour, 1.0))?;
    let count = ((b.0 - a.0) / (0.6 * COMB)).max(2.0) as usize;
    let x = |k: usize| a.0 + k as f64 * (b.0 - a.0) / count as f64;
    (1..count).try_for_each(|k| canvas.line(&[(x(k), a.1), (x(k), b.1)], Pen::new(colour, 0.7)))
}

/// Draws the interval of each point: the wide one thin with caps, the narrow one thick. A line among areas has them at every other marker.
fn one_by_one(canvas: &Canvas<'_>, chart: &Chart<'_>, line: &Line, (spread, layer): (&Spread, usize)) -> Drawn {
    let colour = canvas.look.series(line.role.hue);
    let points: Vec<&Datum> = match spread.by_point {
        true => line.points.iter().collect(),
        false => {
            marked(chart, line, &|x| spread.shift_at(layer, x), (0, 1)).into_iter().map(|(_, p)| p).step_by(2).collect()
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

/// A line with caps between two heights.
pub(crate) fn interval(canvas: &Canvas<'_>, (x, low, high): (f64, f64, f64), pen: Pen) -> Drawn {
    canvas.line(&[(x, low), (x, high)], pen)?;
    for y in [low, high] {
        canvas.line(&[(x - CAP, y), (x + CAP, y)], Pen { dash: Dash::Solid, ..pen })?;
    }
    Ok(())
}

/// The line and its markers.
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
            // A stretch with a faint end is faint; otherwise a line is as heavy as its role, whatever its points are.
            // Points of too few units are not joined: a line would suggest a trend.
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
            // A line of one point would be invisible.
            if let ([(_, p)], None) = (run.as_slice(), line.role.marker) {
                at(p.x, p.y).map_or(Ok(()), |at| canvas.disc(at, 1.8, colour))?;
            }
        }
    }
    if let Some(marker) = line.role.marker {
        for (at, Datum { emphasis, .. }) in marked(chart, line, &shift, turn) {
            let emphasis = *emphasis;
            // On a plane marks are many and small; larger ones differ in grey.
            let more = if spread.is_plane { 1.8 } else { 1.1 };
            let r = weight(role(emphasis.within(line.role.emphasis))).0 + more;
            match emphasis {
                Emphasis::Faint => canvas.outline(at, marker, r, colour)?,
                _ => canvas.marker(at, marker, r, colour)?,
            }
        }
    }
    for (x, (lo, hi)) in line.points.iter().filter_map(|p| Some((p.x, p.pair?))) {
        for at in [lo, hi].into_iter().filter_map(|y| at(x, y)) {
            canvas.disc(at, DOT, colour)?;
        }
    }
    Ok(())
}

/// The points of a line that get a marker. A marker that would overlap the previous one is left out. Lines whose
/// markers alternate have the markers of their turn, and those of isolated points.
fn marked<'l>(
    chart: &Chart<'_>,
    line: &'l Line,
    shift: &dyn Fn(f64) -> f64,
    (turn, turns): (usize, usize),
) -> Vec<(At, &'l Datum)> {
    let shown: Vec<(f64, (At, &Datum))> =
        line.points.iter().filter_map(|p| chart.at(p.x, p.y).map(|(x, y)| (p.x, ((x + shift(p.x), y), p)))).collect();
    let mut out: Vec<(At, &Datum)> = Vec::new();
    for run in runs(&chart.x, &shown) {
        let mut marks: Vec<(At, &Datum)> = Vec::new();
        for &(_, (at, p)) in &run {
            let near = |(to, q): &(At, &Datum)| q.emphasis == p.emphasis && (at.0 - to.0).hypot(at.1 - to.1) < APART;
            if !marks.last().is_some_and(near) {
                marks.push((at, p));
            }
        }
        let (from, step) = if run.len() > 1 { (turn, turns.max(1)) } else { (0, 1) };
        out.extend(marks.into_iter().skip(from).step_by(step));
    }
    out
}

/// The numbers of units of points with too few for an interval, above the horizontal axis.
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
        // Within the frame: on its edge it would cross the axis.
        let half = canvas.fonts.width(&label, SMALL) / 2.0 + 3.0;
        let x = x.clamp(chart.left + half, (chart.right - half).max(chart.left + half));
        canvas.text(&label, (x, chart.bottom - 3.0), kind)
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
    // Smaller on a plane, where the arms of a point cross.
    let cap = if chart.x.categories().is_some() { CAP } else { 0.8 * CAP };
    let (mut taken, mut bars): (Vec<Rect>, Vec<Rect>) = Default::default();
    let air = |a: At, b: At| ((a.0.min(b.0) - 1.0, a.1.min(b.1) - 1.0), (a.0.max(b.0) + 1.0, a.1.max(b.1) + 1.0));
    for p in &points.points {
        let (from, to) = if ranges { bars::part(chart, figure, layer, p.x) } else { (p.x, p.x) };
        let x = f64::midpoint(from, to);
        let Some(at) = chart.at(x, p.y) else { continue };
        let [x_band, y_band] = p.intervals();
        arms(canvas, chart, p, pen)?;
        if let Some((lo, hi)) = x_band
            && let Some((a, b)) = chart.at(lo, p.y).zip(chart.at(hi, p.y))
        {
            chart.draw(ErrorBar::new_horizontal(p.y, lo, p.x, hi, thin, 0))?;
            for (x, y) in [a, b] {
                canvas.line(&[(x, y - cap), (x, y + cap)], pen)?;
            }
            bars.push(air(a, b));
        }
        if let Some((lo, hi)) = y_band
            && let Some((a, b)) = chart.at(x, lo).zip(chart.at(x, hi))
        {
            bars::whisker(canvas, chart, (x, p.y), (lo, hi), cap, pen)?;
            bars.push(air(a, b));
        }
        if has_bars {
            // On a bar a marker needs a light ground to be seen.
            canvas.disc(at, R + 2.2, canvas.look.paper)?;
        }
        match faint {
            true => canvas.outline(at, marker, R, colour)?,
            false => canvas.marker(at, marker, if p.hue.is_some() { R + 1.2 } else { R }, colour)?,
        }
        if let Some(hue) = p.hue {
            canvas.marker(at, marker, R - 0.6, canvas.look.series(hue))?;
        }
        taken.push(air((at.0 - R, at.1 - R), (at.0 + R, at.1 + R)));
    }
    labels::points(canvas, chart, (points, &mut taken, &bars), (R + 4.0, below))
}

/// Arms from a point to its values in x and in y of two replicates, which dots mark.
fn arms(canvas: &Canvas<'_>, chart: &Chart<'_>, p: &Spot, pen: Pen) -> Drawn {
    let Some((at, [x, y])) = chart.at(p.x, p.y).zip(p.pairs) else { return Ok(()) };
    let ends = [x.0, x.1].map(|x| (x, p.y)).into_iter().chain([y.0, y.1].map(|y| (p.x, y)));
    for end in ends.filter_map(|(x, y)| chart.at(x, y)) {
        canvas.line(&[at, end], Pen { dash: Dash::Dotted, ..pen })?;
        canvas.disc(end, DOT, pen.colour)?;
    }
    Ok(())
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
