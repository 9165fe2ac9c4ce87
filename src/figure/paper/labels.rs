//! Labels of rules and guides on the data. Each label is placed where it hides least.

use plotters::series::LineSeries;

use super::super::Figure;
use super::super::canvas::{At, Canvas, Drawn, Pen, Side, Type};
use super::super::layers::{Guide, Layer, Rule};
use super::super::overlap::{Rect, overlap};
use super::chart::Chart;
use super::lines::style;
use super::{FINE, SMALL, type_of};
use base::text::printable_label;

/// Maximum width of a label on the data, in page units.
pub(crate) const LONGEST: f64 = 160.0;
/// Distances tried between a label and its rule. From the third on, a line leads to the rule.
const AWAY_BY: [f64; 8] = [3.0, 8.0, 17.0, 31.0, 45.0, 59.0, 73.0, 87.0];
const NEAR: usize = 2;
/// Cost of one step of distance. A hidden area costs 3, a line or a marker more than all steps.
const AWAY: usize = 2;
/// Costs of a label in two lines, and of a line to a label.
const BROKEN: usize = 3;
const LED: usize = 2;
/// Distance between a label and the lines and marks of other objects, in page units.
const AIR: f64 = 2.0;

/// A position for a label in some lines, at a number of distance steps from its rule.
struct Place<'t> {
    text: &'t str,
    step: usize,
    room: Rect,
}

/// The position that hides the fewest items after the first `from`; the first in case of ties. `None` if all positions overlap text.
/// `y` is the rule's height, to which a line leads from the third step on.
fn best<'t>(
    canvas: &Canvas<'_>,
    (from, y): (usize, f64),
    places: impl Iterator<Item = Place<'t>>,
) -> Option<Place<'t>> {
    let around = |r: Rect| ((r.0.0 - AIR, r.0.1 - AIR), (r.1.0 + AIR, r.1.1 + AIR));
    let crossed = |place: &Place<'_>| {
        let (x, r) = (f64::midpoint(place.room.0.0, place.room.1.0), place.room);
        let (top, bottom) = if r.1.1 < y { (r.1.1, y - AIR) } else { (y + AIR, r.0.1) };
        if place.step < NEAR { Some(0) } else { Some(LED + canvas.hidden(from, ((x - 0.5, top), (x + 0.5, bottom)))?) }
    };
    let weighed = places.filter_map(|place| {
        let broken = if place.text.contains('\n') { BROKEN } else { 0 };
        Some((canvas.hidden(from, around(place.room))? + crossed(&place)? + AWAY * place.step + broken, place))
    });
    weighed.min_by_key(|(weight, _)| *weight).map(|(_, place)| place)
}

fn height(lines: usize, size: f64) -> f64 {
    size * (1.0 + 1.2 * lines.saturating_sub(1) as f64)
}

fn inside(chart: &Chart<'_>, r: &Rect) -> bool {
    r.0.0 >= chart.left + AIR && r.1.0 <= chart.right && r.0.1 >= chart.top && r.1.1 <= chart.bottom
}

/// Draws a label on a background patch, which keeps it readable on the data.
fn on_data(canvas: &Canvas<'_>, text: &str, at: At, kind: Type) -> Drawn {
    let wide = text.lines().map(|l| canvas.fonts.width(l, kind.size)).fold(0.0, f64::max);
    let left = at.0 - kind.along.share() * wide;
    let (a, b) = ((left - 2.0, at.1), (left + wide + 2.0, at.1 + height(text.lines().count(), kind.size)));
    canvas.rectangle(a, b, canvas.look.paper, 0.8)?;
    canvas.text(text, at, kind)
}

/// Draws a label, with a line to its object if it is some steps away; the line does not look like an interval. Labels on data have no
/// background, because a background would hide the data.
fn placed(canvas: &Canvas<'_>, Place { text, step, room: r }: Place<'_>, from: usize, object: At) -> Drawn {
    let hides = canvas.hidden(from, r).is_none_or(|weight| weight > 0);
    if step >= NEAR {
        let near = (object.0.clamp(r.0.0, r.1.0), object.1.clamp(r.0.1, r.1.1));
        canvas.line(&[near, object], Pen::new(canvas.look.grey, 0.8))?;
    }
    let kind = type_of(SMALL, canvas.look.ink, Side::Start, Side::Start);
    if hides { canvas.text(text, r.0, kind) } else { on_data(canvas, text, r.0, kind) }
}

/// A rule with its label: above the frame if vertical, along the rule if horizontal.
pub(crate) fn rule<'a>(canvas: &Canvas<'a>, chart: &Chart<'a>, rule: &Rule, from: usize) -> Drawn {
    let axis = if rule.upright { &chart.x } else { &chart.y };
    if !axis.shows(rule.at) {
        return Ok(());
    }
    let look = canvas.look;
    let label = canvas.fonts.cut(&printable_label(&rule.label), SMALL, chart.right - chart.left - 8.0);
    let pen = Pen::new(look.grey, 1.1);
    let across = if rule.upright { chart.y.value(0.5) } else { chart.x.value(0.5) };
    let at = if rule.upright { chart.at(rule.at, across) } else { chart.at(across, rule.at) };
    let Some((x, y)) = at else { return Ok(()) };
    if rule.upright {
        canvas.line(&[(x, chart.top - 3.0), (x, chart.bottom)], pen)?;
        let half = canvas.fonts.width(&label, SMALL) / 2.0;
        let x = x.clamp(chart.left + half, (chart.right - half).max(chart.left + half));
        return canvas.text(&label, (x, chart.top - 4.0), type_of(SMALL, look.ink, Side::Middle, Side::End));
    }
    let end = rule.until.and_then(|x| chart.at(x, rule.at)).map_or(chart.right, |(x, _)| x);
    canvas.line(&[(chart.left, y), (end, y)], pen)?;
    if rule.in_legend {
        return Ok(());
    }
    let wide = |text: &str| text.lines().map(|line| canvas.fonts.width(line, SMALL)).fold(0.0, f64::max);
    // In the narrowest two lines that hold all words.
    let lines = [0.55, 0.65, 0.75, 0.85].map(|share| canvas.fonts.wrapped(&label, SMALL, share * wide(&label), 2));
    let broken = lines.map(|lines| lines.join("\n")).into_iter().find(|text| !text.contains('…')).unwrap_or_default();
    let forms = [label.as_str(), broken.as_str()];
    let row = |(form, step): (usize, usize)| {
        let text = forms[form];
        let (off, wide, high) = (AWAY_BY[step], wide(text), height(text.lines().count(), SMALL));
        let (left, room) = (chart.left + 4.0, end - chart.left - 8.0 - wide);
        let sides = [y - off - high, y + off];
        let lefts = [8, 0, 6, 4, 2, 7, 1, 5, 3].map(|eighths| left + f64::from(eighths) / 8.0 * room);
        let places = lefts.map(|x| sides.map(|top| Place { text, step, room: ((x, top), (x + wide, top + high)) }));
        places.into_iter().flatten()
    };
    let near = (0..NEAR).map(|step| (1, step)).filter(|_| broken.contains('\n'));
    let places = (0..AWAY_BY.len()).map(|step| (0, step)).chain(near).flat_map(row);
    match best(canvas, (from, y), places.filter(|place| inside(chart, &place.room))) {
        Some(place) => {
            let middle = f64::midpoint(place.room.0.0, place.room.1.0);
            placed(canvas, place, from, (middle, y))
        }
        None => Ok(()),
    }
}

/// Distances tried between a ring and its label: beside it, and diagonally at the end of a line, which does not look like an interval.
const BESIDE_RING: [f64; 4] = [9.0, 7.0, 12.0, 16.0];
const AWAY_FROM_RING: [f64; 9] = [22.0, 28.0, 34.0, 42.0, 50.0, 62.0, 74.0, 90.0, 110.0];
/// Radius of a ring around a marker, in page units.
pub(super) const RING: f64 = 4.3;

/// The point of a rectangle that is nearest to another point.
fn nearest((x, y): At, r: &Rect) -> At {
    (x.clamp(r.0.0, r.1.0), y.clamp(r.0.1, r.1.1))
}

fn away(at: At, r: &Rect) -> f64 {
    let end = nearest(at, r);
    (end.0 - at.0).hypot(end.1 - at.1)
}

/// Labels the rings of a plane that have room near them for their names. The legend identifies all by their marks.
pub(crate) fn rings(canvas: &Canvas<'_>, chart: &Chart<'_>, figure: &Figure, from: usize) -> Drawn {
    let points = figure.layers.iter().filter_map(|l| if let Layer::Points(points) = l { Some(points) } else { None });
    let points = points.flat_map(|l| &l.points).filter(|p| p.hue.is_some() && !p.label.is_empty() && !p.is_unmarked);
    let rings: Vec<(&str, At)> = points.filter_map(|p| Some((p.label.as_str(), chart.at(p.x, p.y)?))).collect();
    let mut labels: Vec<(String, Rect, At)> = Vec::new();
    for (label, (x, y)) in &rings {
        let (x, y) = (*x, *y);
        let label = printable_label(label);
        let wide = canvas.fonts.width(&label, SMALL);
        let place = |gap: f64, (right, down): (f64, f64)| {
            let gap = if right * down == 0.0 { gap } else { 0.7 * gap };
            let left = x + right * gap + (right - 1.0) / 2.0 * wide;
            let top = y + down * gap + (down - 1.0) / 2.0 * SMALL;
            ((left, top), (left + wide, top + SMALL))
        };
        let sides =
            [(1.0, 0.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 0.0), (-1.0, 1.0), (-1.0, -1.0), (0.0, -1.0), (0.0, 1.0)];
        let near = BESIDE_RING.iter().flat_map(|gap| sides.map(|side| place(*gap, side)));
        let leading = [1.0, 0.5].iter().flat_map(|up| [1.0, 0.5].map(|along| (along, *up)));
        let leading = leading.filter(|(along, up)| along + up > 1.0);
        let leading = leading.flat_map(|(along, up)| [(along, -up), (along, up), (-along, up), (-along, -up)]);
        let far = AWAY_FROM_RING.iter().flat_map(|gap| leading.clone().map(|side| place(*gap, side)));
        let around = |r: &Rect, air: f64| ((r.0.0 - air, r.0.1 - air), (r.1.0 + air, r.1.1 + air));
        let alone = |r: &Rect| labels.iter().all(|(_, other, _)| !overlap(*other, around(r, AIR)));
        // A name nearer to another ring would seem to belong to it.
        let is_own = |r: &Rect| rings.iter().all(|(_, at)| away((x, y), r) <= away(*at, r));
        let is_free =
            |r: &Rect, air: f64| inside(chart, r) && canvas.hidden(from, around(r, air)) == Some(0) && alone(r);
        // A line from the ring says whose name it is, if it passes no other ring. Of these, the one that crosses least.
        let crossed = |r: &Rect| {
            let end = nearest((x, y), r);
            let point = |k: u32| (x + (end.0 - x) * f64::from(k) / 20.0, y + (end.1 - y) * f64::from(k) / 20.0);
            let passes = |at: &At| (1..=20).map(point).any(|p| (p.0 - at.0).hypot(p.1 - at.1) < 1.5 * RING);
            let is_clear = rings.iter().all(|(_, at)| *at == (x, y) || !passes(at));
            let beyond = (1..=20).map(point).filter(|p| (p.0 - x).hypot(p.1 - y) > 1.5 * RING);
            let hidden = beyond.filter_map(|p| canvas.hidden(from, (p, (p.0 + 0.1, p.1 + 0.1)))).sum::<usize>();
            is_clear.then_some(hidden + away((x, y), r) as usize / 4)
        };
        let own = [2.0 * AIR, AIR].into_iter().find_map(|air| near.clone().find(|r| is_own(r) && is_free(r, air)));
        let led =
            || far.filter(|r| is_free(r, AIR)).filter_map(|r| Some((crossed(&r)?, r))).min_by_key(|(least, _)| *least);
        let Some(r) = own.or_else(|| led().map(|(_, r)| r)) else { continue };
        labels.push((label, r, (x, y)));
    }
    let text = type_of(SMALL, canvas.look.ink, Side::Start, Side::Start);
    for (label, r, (x, y)) in &labels {
        let length = away((*x, *y), r);
        if length > AWAY_FROM_RING[0] * 0.7 {
            let (end, edge) = (nearest((*x, *y), r), RING / length);
            let start = (x + (end.0 - x) * edge, y + (end.1 - y) * edge);
            canvas.line(&[start, end], Pen::new(canvas.look.grey, 0.8))?;
        }
        on_data(canvas, label, r.0, text)?;
    }
    Ok(())
}

/// Draws a guide with its ticks, and its label to the right of its last point.
pub(crate) fn guide<'a>(canvas: &Canvas<'a>, chart: &mut Chart<'a>, guide: &Guide) -> Drawn {
    let look = canvas.look;
    let mut shown: Vec<(f64, f64)> =
        guide.points.iter().copied().filter(|&(x, y)| chart.x.shows(x) && chart.y.shows(y)).collect();
    // Guides that leave the frame below end at one height, and their labels are in a row.
    let floor = chart.y.value(0.0);
    let crossing = guide.points.windows(2).find(|pair| pair[0].1 > floor && pair[1].1 < floor);
    shown.extend(crossing.map(|pair| {
        let ((x, y), (right, low)) = (pair[0], pair[1]);
        (x + (right - x) * (y - floor) / (y - low), floor)
    }));
    let last = shown.last().and_then(|&(x, y)| chart.at(x, y));
    chart.draw_series(LineSeries::new(shown, style(canvas, Pen::new(look.pale, 1.1))))?;
    for (x, y, label) in &guide.ticks {
        let Some((x, y)) = chart.at(*x, *y) else { continue };
        canvas.line(&[(x, y - 5.0), (x, y + 5.0)], Pen::new(look.ink, 1.3))?;
        let label = canvas.fonts.cut(&printable_label(label), SMALL, LONGEST);
        let half = canvas.fonts.width(&label, SMALL) / 2.0;
        let x = x.clamp(chart.left + half, (chart.right - half).max(chart.left + half));
        on_data(canvas, &label, (x, y + 8.0), type_of(SMALL, look.ink, Side::Middle, Side::Start))?;
    }
    let Some((x, y)) = last else { return Ok(()) };
    let label = canvas.fonts.cut(&printable_label(&guide.label), FINE, LONGEST);
    canvas.text(&label, (x + 11.0, y), type_of(FINE, look.grey, Side::Start, Side::Middle))
}
