//! How the lines of a figure show their intervals: as areas, or point by point, side by side where areas would hide each other.

use super::super::layers::{Datum, Line};
use super::super::role::Role;
use super::super::{Figure, Layer};
use super::chart::Chart;

/// Fewest points of a line whose interval is an area beside others, and beside none.
const AREA: usize = 8;
const AREA_ALONE: usize = 4;
/// Largest distance between points that are drawn side by side, and where a line has few points.
const STEP: f64 = 6.0;
const STEP_OF_FEW: f64 = 10.0;
/// Distance between the marks of points at zero that meet.
const STEP_AT_ZERO: f64 = 9.0;
/// Most lines whose intervals are drawn as areas.
const NARROW: usize = 4;

/// True for a range without a line.
pub(crate) fn is_range(role: Role) -> bool {
    role.dash.is_none() && role.marker.is_none()
}

/// How one figure shows the intervals of its lines.
pub(crate) struct Spread {
    /// True if intervals are drawn point by point.
    pub by_point: bool,
    /// True if narrow intervals are drawn.
    pub narrow: bool,
    /// True if lines have no intervals: on a plane they would cover it.
    pub is_plane: bool,
    /// True if so many lines have intervals that areas would cover each other.
    pub is_crowded: bool,
    /// True if areas of lines overlap: they have edges then.
    pub overlaps: bool,
    /// True if lines have their marks by turns, so that none hides those of another.
    pub by_turns: bool,
    /// Place of each layer among the lines that are drawn side by side, from their middle.
    places: Vec<f64>,
    step: f64,
    /// The same of the points at zero that stand apart from their lines, before the gap of a logarithmic axis, where marks take turns.
    apart: Vec<f64>,
}

/// True if both axes have the same range.
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

/// Ends of the interval of a point, or the point twice.
fn ends(p: &Datum) -> (f64, f64) {
    p.interval().or(p.pair).unwrap_or((p.y, p.y))
}

/// True if no line joins this point to the next: it is zero on a logarithmic axis, before the gap.
pub(crate) fn is_apart(figure: &Figure, x: f64) -> bool {
    figure.x.scale.is_log() && x <= 0.0
}

/// Places of the layers, from their middle, at zero: side by side where points there touch. Empty where none is apart.
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

impl Spread {
    pub(crate) fn new(figure: &Figure) -> Self {
        let lines: Vec<(usize, &Line)> =
            figure.layers.iter().enumerate().filter_map(|(k, l)| Some((k, line(l)?))).collect();
        let drawn: Vec<(usize, &Line)> = lines.iter().copied().filter(|(_, l)| l.role.dash.is_some()).collect();
        let meet = |a: &Line, b: &Line| {
            let touch = |(p, q): (&Datum, &Datum)| {
                let ((lo, hi), (low, high)) = (ends(p), ends(q));
                p.x == q.x && lo <= high && low <= hi
            };
            a.points.iter().any(|p| b.points.iter().any(|q| touch((p, q))))
        };
        let most = drawn.iter().map(|(_, l)| l.points.len()).max().unwrap_or(0);
        let overlaps = drawn.iter().enumerate().any(|(k, a)| drawn[..k].iter().any(|b| meet(a.1, b.1)));
        let meeting = most < AREA && overlaps;
        let is_plane = is_square(figure) && figure.layers.iter().any(|l| matches!(l, Layer::Guide(_)));
        let has_interval = |l: &Line| l.points.iter().any(|p| p.interval().or(p.pair).is_some());
        let banded: Vec<(usize, &Line)> = drawn.iter().copied().filter(|(_, l)| has_interval(l)).collect();
        // Panels all show their intervals in one way.
        let few = if figure.y.panels.is_empty() { AREA_ALONE } else { AREA };
        let by_point = !is_plane && !banded.is_empty() && (meeting || most < few);
        let is_crowded = banded.len() > NARROW;
        // A line that lies on another along its whole length would hide it.
        let same = |a: &Line, b: &Line| {
            a.points.len() == b.points.len() && a.points.iter().zip(&b.points).all(|(p, q)| (p.x, p.y) == (q.x, q.y))
        };
        let hides = |line: &Line| drawn.iter().any(|(_, other)| !std::ptr::eq(*other, line) && same(other, line));
        let beside: Vec<(usize, &Line)> = drawn.iter().copied().filter(|(_, l)| has_interval(l) || hides(l)).collect();
        let mut places = vec![0.0; figure.layers.len()];
        if by_point && meeting {
            let middle = beside.len().saturating_sub(1) as f64 / 2.0;
            for (k, (layer, _)) in beside.iter().enumerate() {
                places[*layer] = k as f64 - middle;
            }
            // A range lies at the line of its colour.
            for (layer, range) in lines.iter().filter(|(_, l)| is_range(l.role)) {
                let own = drawn.iter().find(|(_, l)| l.role.hue == range.role.hue);
                places[*layer] = own.map_or(0.0, |(k, _)| places[*k]);
            }
        }
        let narrow = by_point || drawn.len() <= NARROW;
        let step = if most < AREA { STEP_OF_FEW } else { STEP };
        let by_turns = overlaps && !by_point && !is_plane && !is_crowded;
        let apart = if by_turns { apart(figure, &drawn) } else { Vec::new() };
        Self { by_point, narrow, is_plane, is_crowded, overlaps, by_turns, places, step, apart }
    }

    /// The turn of the line of a layer among those that have their marks by turns, and their number.
    pub(crate) fn turn(&self, figure: &Figure, layer: usize) -> (usize, usize) {
        let is_drawn = |l: &&Layer| line(l).is_some_and(|l| l.role.dash.is_some() && l.role.marker.is_some());
        let before = figure.layers[..layer].iter().filter(is_drawn).count();
        if self.by_turns { (before, figure.layers.iter().filter(is_drawn).count()) } else { (0, 1) }
    }

    /// Room that the outermost lines need at both ends of the horizontal axis.
    pub(crate) fn room(&self) -> f64 {
        let furthest = |places: &[f64]| places.iter().copied().fold(0.0, f64::max);
        (self.step * furthest(&self.places)).max(STEP_AT_ZERO * furthest(&self.apart))
    }

    /// True if points of lines are drawn side by side, and if only those at zero are.
    pub(crate) fn is_beside(&self) -> [bool; 2] {
        [&self.places, &self.apart].map(|places| places.iter().any(|place| *place > 0.0))
    }

    /// The same with steps for a chart: no point comes near the next x.
    pub(crate) fn on(self, chart: &Chart<'_>, figure: &Figure) -> Self {
        let furthest = self.places.iter().copied().fold(0.0, f64::max);
        let points = figure.layers.iter().filter_map(line).flat_map(|l| &l.points);
        let mut at: Vec<f64> = points.filter_map(|p| Some(chart.at(p.x, p.y)?.0)).collect();
        at.sort_by(f64::total_cmp);
        let gaps = at.windows(2).map(|w| w[1] - w[0]).filter(|gap| *gap > 0.01);
        let gap = gaps.fold(f64::INFINITY, f64::min);
        let step = self.step.min(gap / (2.0 * furthest + 2.0));
        Self { step, ..self }
    }

    /// Distance by which a layer is moved to the right, in units of the page.
    pub(crate) fn shift(&self, layer: usize) -> f64 {
        self.places.get(layer).map_or(0.0, |place| place * self.step)
    }

    /// The same for a point of the layer.
    pub(crate) fn shift_at(&self, layer: usize, x: f64) -> f64 {
        let at_zero = self.apart.get(layer).filter(|_| x <= 0.0);
        at_zero.map_or(self.shift(layer), |place| place * STEP_AT_ZERO)
    }

    /// True if the points of a line have their intervals one by one.
    pub(crate) fn is_by_point(&self, line: &Line) -> bool {
        !self.is_plane && (self.by_point || self.is_crowded && !is_range(line.role))
    }
}
