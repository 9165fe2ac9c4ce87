//! Display of line intervals: as areas, or at each point; side by side if areas would hide each other.

use super::super::axis::Fitted;
use super::super::layers::{Datum, Line, Points};
use super::super::role::{Marker, Role};
use super::super::{Figure, Layer};

/// Minimum number of points for an interval area: with other lines, and for a single line.
const AREA: usize = 8;
const AREA_ALONE: usize = 4;
/// Distance between markers drawn side by side, in page units: half a marker.
const STEP: f64 = 3.6;
/// Half the height of a marker, as a share of the axis.
const MARK: f64 = 0.018;
/// Distance between overlapping markers at zero, in page units.
const STEP_AT_ZERO: f64 = 9.0;
/// Maximum number of lines with interval areas.
const NARROW: usize = 4;
/// Distance between a point and its range, in page units, if ranges are drawn at each point.
pub(crate) const ASIDE: f64 = 9.0;
/// Space for levels beside the vertical axis, in page units.
pub(crate) const LEVELS: f64 = 16.0;

/// True for a range without a line.
pub(crate) fn is_range(role: Role) -> bool {
    role.dash.is_none() && role.marker.is_none()
}

/// True for levels: stroke markers on a numeric axis, which have no x value.
pub(crate) fn are_levels(points: &Points, x: &Fitted) -> bool {
    points.role.marker == Some(Marker::Stroke) && x.categories().is_none()
}

pub(crate) struct Spread {
    pub by_point: bool,
    pub is_margin: bool,
    pub narrow: bool,
    /// True for a plane, where lines have no intervals because these would cover it.
    pub is_plane: bool,
    /// True if several lines have intervals, whose areas would cover each other.
    pub is_crowded: bool,
    /// True if areas of lines overlap; edge lines are then drawn.
    pub overlaps: bool,
    /// True if the markers of lines alternate, so that none hides another.
    pub by_turns: bool,
    /// True if areas would cover each other at most points; the intervals are then drawn as error bars on alternating markers.
    pub at_marks: bool,
    /// Space for shifted markers at both ends of the horizontal axis.
    margin: f64,
    /// For each layer, the points whose markers would hide each other: x, and the offset from the centre in steps.
    places: Vec<Vec<(f64, f64)>>,
    /// Offsets at zero, before the gap of a logarithmic axis, if markers alternate.
    apart: Vec<f64>,
}

/// True if the figure is a plane of two scores with guide lines of equal value.
pub(crate) fn is_plane(figure: &Figure) -> bool {
    let is_bounded = figure.x.range.is_some() && figure.y.range.is_some();
    is_bounded && figure.layers.iter().any(|l| matches!(l, Layer::Guide(_)))
}

pub(crate) fn is_square(figure: &Figure) -> bool {
    let (x, y) = (&figure.x, &figure.y);
    x.range.is_some() && x.range == y.range && x.scale == y.scale
}

fn line(layer: &Layer) -> Option<&Line> {
    match layer {
        Layer::Line(line) => Some(line),
        _ => None,
    }
}

/// The ends of a point's interval; its value twice if it has none.
fn ends(p: &Datum) -> (f64, f64) {
    p.interval().or(p.pair).unwrap_or((p.y, p.y))
}

/// True for a point that no line connects: zero on a logarithmic axis, before the gap.
pub(crate) fn is_apart(figure: &Figure, x: f64) -> bool {
    figure.x.scale.is_log() && x <= 0.0
}

/// Offsets of the layers' points at zero, in steps from the centre: side by side if these points touch. Empty if no point is at zero.
fn apart(figure: &Figure, drawn: &[(usize, &Line)]) -> Vec<f64> {
    let at_zero = |(layer, line): &(usize, &Line)| {
        let p = line.points.iter().find(|p| is_apart(figure, p.x))?;
        Some((*layer, ends(p)))
    };
    let found: Vec<(usize, (f64, f64))> = drawn.iter().filter_map(at_zero).collect();
    let mut places = vec![0.0; if found.is_empty() { 0 } else { figure.layers.len() }];
    let touch = |a: (f64, f64), b: (f64, f64)| a.0 <= b.1 && b.0 <= a.1;
    if found.iter().enumerate().any(|(k, a)| found[..k].iter().any(|b| touch(a.1, b.1))) {
        let middle = (found.len() - 1) as f64 / 2.0;
        for (k, (layer, _)) in found.iter().enumerate() {
            places[*layer] = k as f64 - middle;
        }
    }
    places
}

/// Offsets of each layer's points at each x, in steps from the centre: side by side if markers or intervals touch.
fn side_by_side(figure: &Figure, drawn: &[(usize, &Line)]) -> Vec<Vec<(f64, f64)>> {
    let y = Fitted::vertical(figure);
    let mut places = vec![Vec::new(); figure.layers.len()];
    let points = || drawn.iter().flat_map(|(layer, line)| line.points.iter().map(move |p| (*layer, p)));
    let mut all: Vec<f64> = points().map(|(_, p)| p.x).collect();
    all.sort_by(f64::total_cmp);
    all.dedup();
    for x in all {
        let share = |p: &Datum| {
            let (lo, hi) = ends(p);
            Some((y.place(lo)?.min(y.place(hi)?) - MARK, y.place(lo)?.max(y.place(hi)?) + MARK))
        };
        let here: Vec<(usize, (f64, f64))> =
            points().filter(|(_, p)| p.x == x).filter_map(|(layer, p)| Some((layer, share(p)?))).collect();
        let touches = |(layer, a): &&(usize, (f64, f64))| {
            here.iter().any(|(other, b)| other != layer && a.0 <= b.1 && b.0 <= a.1)
        };
        let beside: Vec<usize> = here.iter().filter(touches).map(|(layer, _)| *layer).collect();
        for (k, layer) in beside.iter().enumerate() {
            places[*layer].push((x, k as f64 - (beside.len() - 1) as f64 / 2.0));
        }
    }
    places
}

impl Spread {
    pub(crate) fn new(figure: &Figure) -> Self {
        let lines: Vec<(usize, &Line)> =
            figure.layers.iter().enumerate().filter_map(|(k, l)| Some((k, line(l)?))).collect();
        let drawn: Vec<(usize, &Line)> = lines.iter().copied().filter(|(_, l)| l.role.dash.is_some()).collect();
        // The number of points at which two lines touch, and of points at which they could.
        let meet = |a: &Line, b: &Line| {
            let touch = |p: &Datum, q: &Datum| {
                let ((lo, hi), (low, high)) = (ends(p), ends(q));
                lo <= high && low <= hi
            };
            let shared = || a.points.iter().flat_map(|p| b.points.iter().filter(|q| q.x == p.x).map(move |q| (p, q)));
            (shared().filter(|(p, q)| touch(p, q)).count(), shared().count())
        };
        let most = drawn.iter().map(|(_, l)| l.points.len()).max().unwrap_or(0);
        let any = |is: fn((usize, usize)) -> bool| {
            drawn.iter().enumerate().any(|(k, a)| drawn[..k].iter().any(|b| is(meet(a.1, b.1))))
        };
        let overlaps = any(|(touching, _)| touching > 0);
        let meeting = most < AREA && overlaps;
        let is_plane = is_plane(figure);
        let is_margin = figure.layers.iter().any(|l| matches!(l, Layer::Intervals(i) if i.is_margin));
        let has_interval = |l: &Line| l.points.iter().any(|p| p.interval().or(p.pair).is_some());
        let banded: Vec<(usize, &Line)> = drawn.iter().copied().filter(|(_, l)| has_interval(l)).collect();
        // Areas need more points in panels, and if the ticks have numbers of items below them.
        let is_alone = figure.y.panels.is_empty() && figure.x.below.is_empty();
        let few = if is_alone { AREA_ALONE } else { AREA };
        let by_point = !is_plane && !is_margin && !banded.is_empty() && (meeting || most < few);
        let is_crowded = banded.len() > NARROW;
        let places = if meeting && !is_plane { side_by_side(figure, &drawn) } else { Vec::new() };
        let by_turns = overlaps && most >= AREA && !by_point && !is_plane && !is_crowded;
        let all_have_marks = drawn.iter().all(|(_, l)| l.role.marker.is_some());
        let at_marks = by_turns && !is_margin && all_have_marks && any(|(touching, shared)| 2 * touching > shared);
        // At alternating markers, narrow intervals would hardly be longer than the markers.
        let narrow = by_point || drawn.len() <= NARROW && !at_marks;
        let apart = if by_turns { apart(figure, &drawn) } else { Vec::new() };
        let x = Fitted::horizontal(figure);
        let has_levels = figure.layers.iter().any(|l| matches!(l, Layer::Points(p) if are_levels(p, &x)));
        let has_ranges = by_point && lines.iter().any(|(_, l)| is_range(l.role));
        let margin = if has_levels { LEVELS } else { 0.0 } + if has_ranges { ASIDE } else { 0.0 };
        Self { by_point, is_margin, narrow, is_plane, is_crowded, overlaps, by_turns, at_marks, margin, places, apart }
    }

    /// The index of a layer's line among those with alternating markers, and their number.
    pub(crate) fn turn(&self, figure: &Figure, layer: usize) -> (usize, usize) {
        let is_drawn = |l: &&Layer| line(l).is_some_and(|l| l.role.dash.is_some() && l.role.marker.is_some());
        let before = figure.layers[..layer].iter().filter(is_drawn).count();
        if self.by_turns { (before, figure.layers.iter().filter(is_drawn).count()) } else { (0, 1) }
    }

    /// Space that the outermost markers need at both ends of the horizontal axis.
    pub(crate) fn room(&self) -> f64 {
        let beside = self.places.iter().flatten().map(|(_, place)| *place).fold(0.0, f64::max);
        let beside = (STEP * beside).max(STEP_AT_ZERO * self.apart.iter().copied().fold(0.0, f64::max));
        beside.max(self.margin)
    }

    /// True if points are drawn side by side; the second is for points at zero.
    pub(crate) fn is_beside(&self) -> [bool; 2] {
        [self.places.iter().any(|points| !points.is_empty()), self.apart.iter().any(|place| *place > 0.0)]
    }

    /// Distance by which a layer's marker is moved to the right at an x, in page units.
    pub(crate) fn shift_at(&self, layer: usize, x: f64) -> f64 {
        if let Some(place) = self.apart.get(layer).filter(|_| x <= 0.0) {
            return place * STEP_AT_ZERO;
        }
        let place = self.places.get(layer).and_then(|points| points.iter().find(|(at, _)| *at == x));
        place.map_or(0.0, |(_, place)| place * STEP)
    }

    pub(crate) fn wide(&self, p: &Datum) -> Option<(f64, f64)> {
        if self.is_margin { p.band } else { p.interval() }
    }

    pub(crate) fn narrow(&self, p: &Datum) -> Option<(f64, f64)> {
        p.narrow().filter(|_| self.narrow)
    }

    pub(crate) fn is_by_point(&self, line: &Line) -> bool {
        !self.is_plane && (self.by_point || (self.is_crowded || self.at_marks) && !is_range(line.role))
    }
}
