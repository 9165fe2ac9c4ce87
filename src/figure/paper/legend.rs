//! Legends, which are drawn inside the frame if they cover nothing there, and otherwise in rows above it. The legend of plotters has one
//! entry per line and always covers data.

mod sample;

use std::collections::BTreeSet;

use self::sample::draw_sample;
use super::super::axis::Fitted;
use super::super::canvas::{At, Canvas, Drawn, Side};
use super::super::font::Fonts;
use super::super::layers::{Bar, Intervals, Line, Token};
use super::super::overlap::Rect;
use super::super::role::{BLACK, Emphasis, Marker, Role};
use super::super::{Figure, Layer};
use super::chart::Chart;
use super::spread::{Spread, is_range};
use super::{SMALL, type_of};
use base::text::printable_label;

const LINE: f64 = 13.5;
/// Space below a row of entries, in page units.
const BELOW: f64 = 4.5;
/// Gap between a sample and its label, and between the entries of a row, in page units.
const GAP: f64 = 6.0;
const BETWEEN: f64 = 18.0;
/// Intervals, including their caps, that are shorter than this share of the axis are hidden by their marker or line; the second value is
/// for panels, whose axes are shorter.
pub(super) const HIDDEN: f64 = 0.025;
const HIDDEN_IN_PANELS: f64 = 0.06;
const NO_WIDER: &str = " (no wider than the marks)";
const HARDLY_WIDER: &str = " (hardly wider than the marks)";
const LINES: usize = 4;
/// Minimum number of entries for a legend in columns; fewer belong together in the order of reading.
const COLUMNS: usize = 4;
/// Maximum size of a legend inside a frame, as shares of the frame's width, height and area.
const INSIDE: (f64, f64, f64) = (0.6, 0.6, 0.22);
/// Distance between the data and a legend inside the frame, in page units. With a smaller one, samples would look like data.
const CLEAR: f64 = 12.0;
/// Distance between a frame and the legend beside it, in page units.
const AIR: f64 = 6.0;

enum Sample {
    Line(Role),
    /// A line with its marker, for points in a plane.
    Full(Role),
    /// Ranges, in one or several colours.
    Range(Vec<Role>),
    Wide(Shape),
    Narrow(Shape),
    Few(&'static str),
    /// A point drawn as its line's marker, in a ring.
    Ring,
    /// A faint and an unrated point in a plane.
    Faint,
    Unrated,
    /// The values of two replicates.
    Pair,
    /// The box of a range; true if it has a line at the mean.
    Span(Role, bool),
    /// An individual value in a range.
    Dot,
    Bar(Role),
    Hatch(f64),
    Gold,
    Top,
    Lit,
    /// A rule across the figure.
    Rule,
    /// The colour scale of signed scores, up to this absolute value.
    Signs(f64),
    Negative,
}

#[derive(Clone, Copy, PartialEq)]
enum Shape {
    Area,
    /// The edges of an area, for narrow intervals where areas overlap.
    Edges,
    /// A vertical line at each point.
    Bar,
}

impl Sample {
    fn width(&self) -> f64 {
        match self {
            Sample::Line(role) | Sample::Full(role) if role.dash.is_some() => 30.0,
            Sample::Signs(_) => 150.0,
            Sample::Gold | Sample::Lit | Sample::Negative | Sample::Rule => 26.0,
            Sample::Few(text) if text.len() > 1 => 26.0,
            _ => 14.0,
        }
    }
}

pub(crate) struct Legend {
    entries: Vec<(Sample, String)>,
}

/// Position of an entry relative to the legend's upper left corner, and the lines of its label.
struct Placed {
    at: At,
    lines: Vec<String>,
    /// Width of the widest sample in its column, if entries are in columns.
    sample: f64,
}

fn widest(entries: &[(Sample, String)]) -> f64 {
    entries.iter().map(|(sample, _)| sample.width()).fold(0.0, f64::max)
}

impl Legend {
    /// Builds a figure's legend. `part` is the figure or one of its panels; it determines how intervals are drawn.
    pub(crate) fn new(figure: &Figure, part: &Figure) -> Self {
        let spread = Spread::new(part);
        let mut entries: Vec<(Sample, String)> = Vec::new();
        for layer in &figure.layers {
            match layer {
                Layer::Intervals(intervals) => add_intervals(figure, intervals, &spread, &mut entries),
                _ => add(layer, &mut entries),
            }
        }
        if spread.is_plane {
            for (sample, _) in &mut entries {
                if let Sample::Line(role) = sample {
                    *sample = Sample::Full(*role);
                }
            }
            // First the lines, then single marks, then the kinds of marks and intervals.
            entries.sort_by_key(|(sample, _)| match sample {
                Sample::Full(role) if role.marker.is_some_and(|marker| marker != Marker::Diamond) => 0,
                Sample::Full(_) | Sample::Ring => 1,
                Sample::Faint | Sample::Unrated => 2,
                _ => 3,
            });
        }
        // The axis label already names the series if there is only one.
        let is_named = |label: &str| figure.y.label.to_lowercase().contains(&label.to_lowercase());
        let mut series = figure.layers.iter().filter(|l| !l.counts().is_empty());
        if let (Some(only), None) = (series.next(), series.next()) {
            let mut own = Vec::new();
            add(only, &mut own);
            entries.retain(|(_, label)| !is_named(label) || own.iter().all(|(_, name)| name != label));
        }
        // A method has a line in each panel but only one entry.
        let mut named = BTreeSet::new();
        entries.retain(|(_, label)| !label.is_empty() && named.insert(label.clone()));
        Self { entries }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// True if it explains intervals that are drawn as lines with caps, or numbers that replace intervals.
    pub(crate) fn has_bars(&self) -> bool {
        let is_bar = |s: &Sample| {
            matches!(s, Sample::Wide(Shape::Bar) | Sample::Narrow(Shape::Bar) | Sample::Pair | Sample::Few(_))
        };
        self.entries.iter().any(|(sample, _)| is_bar(sample))
    }

    /// Lays out entries in aligned columns of this width, if that takes at most `most` rows; also returns the total height.
    fn grid(&self, fonts: &Fonts<'_>, room: f64, most: usize) -> Option<(Vec<Placed>, f64)> {
        // Down the first column first, so that entries of one kind are below each other.
        let starts = |rows: usize| {
            let text = |column: &[(Sample, String)]| {
                column.iter().map(|(_, label)| fonts.width(label, SMALL)).fold(0.0, f64::max)
            };
            let columns = self.entries.chunks(rows).map(|column| widest(column) + GAP + text(column) + BETWEEN);
            let edge = |x: &mut f64, wide: f64| Some(std::mem::replace(x, *x + wide));
            columns.chain([0.0]).scan(0.0, edge).collect::<Vec<f64>>()
        };
        // The last column is at least half full, because a single entry in it would look lost.
        let is_even = |rows: usize| 2 * (self.entries.len().next_multiple_of(rows) - self.entries.len()) <= rows;
        let fits = |rows: &usize| is_even(*rows) && starts(*rows).last().is_some_and(|end| end - BETWEEN <= room);
        let rows = (2..=most.min(self.entries.len() - 1)).find(fits)?;
        let starts = starts(rows);
        let at = |k: usize| (starts[k / rows], (k % rows) as f64 * (LINE + BELOW));
        let entries =
            self.entries.chunks(rows).flat_map(|column| column.iter().map(|(_, label)| (widest(column), label)));
        let place =
            |(k, (sample, label)): (usize, (f64, &String))| Placed { at: at(k), lines: vec![label.clone()], sample };
        let placed = entries.enumerate().map(place);
        Some((placed.collect(), rows as f64 * (LINE + BELOW) - BELOW))
    }

    /// Lays out entries in rows of this width; also returns the total height. Entries of several rows are in columns if these take few
    /// more rows.
    fn rows(&self, fonts: &Fonts<'_>, room: f64) -> (Vec<Placed>, f64) {
        let (placed, height) = self.flow(fonts, room);
        let rows = placed.windows(2).filter(|pair| pair[0].at.1 < pair[1].at.1).count() + 1;
        let most = if rows > 2 { rows + 1 } else { rows };
        let grid = if rows > 1 && placed.len() >= COLUMNS { self.grid(fonts, room, most) } else { None };
        grid.unwrap_or((placed, height))
    }

    fn flow(&self, fonts: &Fonts<'_>, room: f64) -> (Vec<Placed>, f64) {
        let (mut x, mut y, mut high) = (0.0, 0.0, 0.0f64);
        let mut placed = Vec::new();
        for (sample, label) in &self.entries {
            let lines = fonts.wrapped(label, SMALL, room - sample.width() - GAP, LINES);
            let wide = lines.iter().map(|l| fonts.width(l, SMALL)).fold(0.0, f64::max);
            let width = sample.width() + GAP + wide;
            if x > 0.0 && x + width > room {
                (x, y, high) = (0.0, y + high + BELOW, 0.0);
            }
            high = high.max(lines.len() as f64 * LINE);
            placed.push(Placed { at: (x, y), lines, sample: 0.0 });
            x += width + BETWEEN;
        }
        let height = if placed.is_empty() { 0.0 } else { y + high };
        (placed, height)
    }

    pub(crate) fn height(&self, fonts: &Fonts<'_>, room: f64) -> f64 {
        self.rows(fonts, room).1
    }

    pub(crate) fn draw_rows(&self, canvas: &Canvas<'_>, at: At, room: f64) -> Drawn {
        self.draw(canvas, at, &self.rows(canvas.fonts, room).0, 0.0)
    }

    /// Lays out entries in one column of this width; returns the samples' width, the total width, the height and the entries.
    fn column(&self, fonts: &Fonts<'_>, room: f64) -> (f64, f64, f64, Vec<Placed>) {
        let column = widest(&self.entries);
        let (mut placed, mut wide, mut y) = (Vec::new(), 0.0f64, 0.0);
        for (_, label) in &self.entries {
            let lines = fonts.wrapped(label, SMALL, room - column - GAP, LINES);
            let text = lines.iter().map(|l| fonts.width(l, SMALL)).fold(0.0, f64::max);
            wide = wide.max(column + GAP + text);
            let high = lines.len() as f64 * LINE;
            placed.push(Placed { at: (0.0, y), lines, sample: 0.0 });
            y += high + 1.0;
        }
        (column, wide, y, placed)
    }

    /// Width of the legend beside a chart, with the space before it.
    pub(crate) fn width(&self, fonts: &Fonts<'_>, room: f64) -> f64 {
        2.0 * AIR + self.column(fonts, room).1
    }

    /// Draws the legend right of a chart that ends at `right`; false if it is too wide.
    pub(crate) fn draw_beside(&self, canvas: &Canvas<'_>, right: f64, top: f64) -> Drawn<bool> {
        let left = right + 2.0 * AIR;
        let room = canvas.look.width - canvas.look.margin - left;
        let (column, wide, _, placed) = self.column(canvas.fonts, room);
        if wide > room || placed.iter().any(|p| p.lines.iter().any(|line| line.ends_with('…'))) {
            return Ok(false);
        }
        self.draw(canvas, (left, top + AIR), &placed, column)?;
        Ok(true)
    }

    /// Draws the legend where it covers none of the items with index `from` or higher; returns false if there is no room.
    pub(crate) fn draw_inside(&self, canvas: &Canvas<'_>, from: usize, chart: &Chart<'_>) -> Drawn<bool> {
        let (width, height) = (chart.right - chart.left, chart.bottom - chart.top);
        let (column, wide, y, placed) = self.column(canvas.fonts, width * INSIDE.0);
        if y > height * INSIDE.1 || wide * y > width * height * INSIDE.2 {
            return Ok(false);
        }
        let (l, m, r) = (chart.left + AIR, (chart.left + chart.right - wide) / 2.0, chart.right - AIR - wide);
        let (t, c, b) = (chart.top + AIR, (chart.top + chart.bottom - y) / 2.0, chart.bottom - AIR - y);
        let corners = [(r, t), (l, t), (r, b), (l, b), (r, c), (l, c), (m, t), (m, b)];
        let around = |(x, top): At, air: f64| -> Rect { ((x - air, top - air), (x + wide + air, top + y + air)) };
        let Some(at) = corners.into_iter().find(|at| canvas.is_free(from, around(*at, CLEAR))) else {
            return Ok(false);
        };
        let (a, b) = around(at, AIR / 2.0);
        canvas.rectangle(a, b, canvas.look.paper, 0.85)?;
        self.draw(canvas, at, &placed, column)?;
        Ok(true)
    }

    /// Draws samples centred in a column of at least this width, with their labels to the right.
    fn draw(&self, canvas: &Canvas<'_>, at: At, placed: &[Placed], column: f64) -> Drawn {
        for ((sample, _), entry) in self.entries.iter().zip(placed) {
            let (x, y) = (at.0 + entry.at.0, at.1 + entry.at.1 + LINE / 2.0);
            let column = column.max(sample.width()).max(entry.sample);
            draw_sample(canvas, sample, (x + (column - sample.width()) / 2.0, y))?;
            let kind = type_of(SMALL, canvas.look.ink, Side::Start, Side::Middle);
            for (k, line) in entry.lines.iter().enumerate() {
                canvas.text(line, (x + column + GAP, y + k as f64 * LINE), kind)?;
            }
        }
        Ok(())
    }
}

/// Adds explanations of those intervals that are drawn.
fn add_intervals(figure: &Figure, intervals: &Intervals, spread: &Spread, out: &mut Vec<(Sample, String)>) {
    let y = Fitted::vertical(figure);
    let length = |(lo, hi): (f64, f64)| y.place(hi).zip(y.place(lo)).map_or(0.0, |(a, b)| (a - b).abs());
    let lines = || {
        let lines = figure.layers.iter().filter_map(|l| if let Layer::Line(line) = l { Some(line) } else { None });
        lines.filter(|l| !spread.is_plane && !is_range(l.role)).flat_map(|l| &l.points)
    };
    let bars = || figure.layers.iter().filter_map(|l| if let Layer::Bars(bars) = l { Some(bars) } else { None });
    let bars = || bars().flat_map(|b| &b.bars);
    let points =
        || figure.layers.iter().filter_map(|l| if let Layer::Points(points) = l { Some(points) } else { None });
    let spots = || points().flat_map(|p| &p.points);
    let of_points = spots().filter_map(|p| p.intervals()[1]);
    let ranges = figure.layers.iter().filter_map(|l| if let Layer::Ranges(r) = l { Some(r) } else { None });
    let of_ranges = ranges.filter(|r| r.are_intervals).flat_map(|r| &r.ranges).map(|r| r.ends);
    let of_bars = bars().filter_map(Bar::interval).chain(of_points).chain(of_ranges).map(length).fold(0.0, f64::max);
    let widest = lines().filter_map(|p| spread.wide(p)).map(length).fold(of_bars, f64::max);
    let narrow = lines().filter_map(|p| spread.narrow(p)).map(length).fold(0.0, f64::max);
    let shape =
        if spread.by_point || spread.is_crowded || spread.at_marks || of_bars > 0.0 { Shape::Bar } else { Shape::Area };
    let least = if figure.y.panels.is_empty() { HIDDEN } else { HIDDEN_IN_PANELS };
    let hidden = if widest < least { NO_WIDER } else { "" };
    if widest > 0.0 && !intervals.wide.is_empty() {
        out.push((Sample::Wide(shape), printable_label(&intervals.wide) + hidden));
    }
    if narrow >= HIDDEN || narrow > 0.0 && widest == 0.0 {
        let hidden = match narrow {
            _ if shape != Shape::Bar || narrow >= 2.0 * HIDDEN => "",
            _ if narrow < HIDDEN => NO_WIDER,
            _ => HARDLY_WIDER,
        };
        let shape = if shape == Shape::Area && spread.overlaps { Shape::Edges } else { shape };
        out.push((Sample::Narrow(shape), printable_label(&intervals.narrow) + hidden));
    }
    let pairs = lines().filter_map(|p| p.pair).chain(spots().filter_map(|p| Some(p.pairs?[1])));
    if let Some(longest) = pairs.map(length).reduce(f64::max) {
        let hidden = if longest < least { NO_WIDER } else { "" };
        out.push((Sample::Pair, printable_label(&intervals.pair) + hidden));
    }
    if lines().any(|p| p.n.few().is_some()) {
        out.push((Sample::Few("n"), printable_label(&intervals.few)));
    }
    if bars().any(|b| b.n.few().is_some()) {
        out.push((Sample::Few("n (m)"), printable_label(&intervals.few)));
    }
    let faint = |is_unrated: bool| {
        let mut all = figure.layers.iter().filter_map(|l| if let Layer::Line(line) = l { Some(line) } else { None });
        spread.is_plane
            && all.any(|l| l.points.iter().any(|p| p.emphasis == Emphasis::Faint && p.is_unrated == is_unrated))
    };
    let marks = [(false, Sample::Faint, &intervals.faint), (true, Sample::Unrated, &intervals.unrated)];
    out.extend(marks.into_iter().filter(|m| faint(m.0)).map(|(_, sample, label)| (sample, printable_label(label))));
}

fn add(layer: &Layer, out: &mut Vec<(Sample, String)>) {
    match layer {
        Layer::Line(l) if is_range(l.role) => add_range(l, out),
        Layer::Line(l) => {
            // Single points and points over too few units are not connected.
            let is_joined = l.points.len() > 1 && l.points.iter().any(|p| p.n.few().is_none());
            let role = if l.role.marker.is_some() && !is_joined { Role { dash: None, ..l.role } } else { l.role };
            out.push((Sample::Line(role), printable_label(&l.label)));
        }
        Layer::Points(p)
            if p.points.iter().any(|spot| spot.hue.is_some()) && p.role.marker != Some(Marker::Diamond) =>
        {
            out.push((Sample::Ring, printable_label(&p.label)));
        }
        // Levels have the marks of their lines.
        Layer::Points(p) if p.role.marker == Some(Marker::Stroke) => {
            out.push((Sample::Line(Role::points(BLACK, Marker::Circle)), printable_label(&p.label)));
        }
        Layer::Points(p) => {
            let marker = p.role.marker.unwrap_or(Marker::Circle);
            let role = Role { dash: None, marker: Some(marker), ..p.role };
            out.push((Sample::Line(role), printable_label(&p.label)));
        }
        // Bars over too few units are drawn as markers.
        Layer::Bars(b) if b.bars.iter().all(|bar| bar.n.few().is_some()) => {
            out.push((Sample::Line(Role { dash: None, ..b.role }), printable_label(&b.label)));
        }
        Layer::Bars(b) => out.push((Sample::Bar(b.role), printable_label(&b.label))),
        Layer::Ranges(r) if r.are_intervals => {
            let marker = Some(r.role.marker.unwrap_or(Marker::Circle));
            out.push((Sample::Line(Role { dash: None, marker, ..r.role }), printable_label(&r.label)));
        }
        Layer::Ranges(r) => {
            let has_mean = r.ranges.iter().any(|range| range.mean.is_some());
            out.push((Sample::Span(r.role, has_mean), printable_label(&r.label)));
            out.push((Sample::Dot, printable_label(&r.dots)));
        }
        Layer::Cells(cells) => {
            let all = || cells.rows.iter().flatten();
            if all().any(|c| !c.value.is_some_and(f64::is_finite)) {
                out.push((Sample::Hatch(0.0), "missing".into()));
            }
            if all().any(|c| c.doubtful) {
                out.push((Sample::Hatch(0.5), "in doubt".into()));
            }
        }
        Layer::Tokens(tokens) => {
            let label = printable_label(&tokens.label);
            let label = if label.is_empty() { "score".to_owned() } else { label };
            out.push((Sample::Signs(tokens.largest()), label));
            let any = |pick: fn(&Token) -> bool| tokens.strips.iter().flat_map(|s| &s.tokens).any(pick);
            if any(super::tokens::is_negative) {
                out.push((Sample::Negative, "below 0".into()));
            }
            if any(|t| t.gold) {
                out.push((Sample::Gold, "gold rationale".into()));
            }
            if any(|t| t.top) {
                out.push((Sample::Top, "among the highest K".into()));
            }
            for doubt in tokens.doubts() {
                out.push((Sample::Hatch(0.0), format!("in doubt: {}", printable_label(doubt))));
            }
        }
        Layer::Graph(graph) if graph.edges.iter().any(|e| e.lit) => {
            out.push((Sample::Lit, printable_label(&graph.path)));
        }
        Layer::Rule(rule) if rule.in_legend => out.push((Sample::Rule, printable_label(&rule.label))),
        Layer::Graph(_) | Layer::Ranks(_) | Layer::Rule(_) | Layer::Guide(_) | Layer::Intervals(_) => {}
    }
}

/// Adds ranges without a line. Ranges of the same kind, such as `C: range of …` and `S: range of …`, share an entry.
fn add_range(line: &Line, out: &mut Vec<(Sample, String)>) {
    let label = printable_label(&line.label);
    if let Some((Sample::Range(roles), before)) = out.last_mut()
        && let (Some((names, kind)), Some((name, same))) = (before.split_once(": "), label.split_once(": "))
        && kind == same
    {
        *before = format!("{names}, {name}: {kind}");
        roles.push(line.role);
        return;
    }
    out.push((Sample::Range(vec![line.role]), label));
}
