//! Layers of a figure: one type per kind, in data units.

use std::fmt;

mod tokens;

pub use self::tokens::{Strip, Token, Tokens};

use super::role::{Emphasis, Role};

/// Something drawn.
#[derive(Debug, Clone, PartialEq)]
pub enum Layer {
    /// A line, with one band or two nested ones.
    Line(Line),
    /// Single points with labels.
    Points(Points),
    /// Bars or a histogram.
    Bars(Bars),
    /// Ranges with a mean and single dots.
    Ranges(Ranges),
    /// Ranks that change from category to category.
    Ranks(Ranks),
    /// A table of coloured cells.
    Cells(Cells),
    /// Sentences whose tokens carry scores. Takes the whole figure: no axes.
    Tokens(Tokens),
    /// A small directed graph. Takes the whole figure: no axes.
    Graph(Graph),
    /// A straight rule across the figure, for example the slider's marker.
    Rule(Rule),
    /// A thin line that helps to read the figure. It is not data: no legend, no CSV.
    Guide(Guide),
    /// Explains the intervals of the lines in the legend on paper.
    Intervals(Intervals),
}

impl Layer {
    /// Number of examples behind each value; empty for what is not data.
    pub(crate) fn counts(&self) -> Vec<Count> {
        match self {
            Self::Line(line) => line.points.iter().map(|p| p.n).collect(),
            Self::Points(points) => points.points.iter().map(|p| p.n).collect(),
            Self::Bars(bars) => bars.bars.iter().map(|b| b.n).collect(),
            Self::Ranges(ranges) => ranges.ranges.iter().map(|r| r.n).collect(),
            _ => Vec::new(),
        }
    }

    /// The intervals of its values that are drawn.
    pub(crate) fn intervals(&self) -> Vec<(f64, f64)> {
        match self {
            // A line without dashes and marks is a range.
            Self::Line(line) if line.role.dash.is_none() && line.role.marker.is_none() => Vec::new(),
            Self::Line(line) => line.points.iter().filter_map(|p| p.interval().or(p.narrow())).collect(),
            Self::Points(points) => points.points.iter().flat_map(Spot::intervals).flatten().collect(),
            Self::Bars(bars) => bars.bars.iter().filter_map(Bar::interval).collect(),
            Self::Ranges(ranges) if ranges.are_intervals => ranges.ranges.iter().map(|r| r.ends).collect(),
            _ => Vec::new(),
        }
    }
}

/// Number of examples behind a value: one count, or two where it rests on two samples (reliability).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Count {
    /// Examples of the first, or only, sample.
    pub first: usize,
    /// Examples of the second sample.
    pub second: Option<usize>,
    /// Independent units that the examples belong to, where intervals are over these.
    pub units: Option<usize>,
}

/// Minimum number of independent units for drawing an interval: the smallest number with simulated coverage. Student's
/// t over two or three units spans the axis, or almost nothing if they happen to agree.
pub const FEWEST: usize = 10;

impl Count {
    /// The number of independent units, if they are too few for an interval: drawings show it instead.
    pub fn few(&self) -> Option<usize> {
        self.units.filter(|units| *units < FEWEST)
    }
}

impl From<usize> for Count {
    fn from(first: usize) -> Self {
        Self { first, ..Self::default() }
    }
}

impl From<(usize, usize)> for Count {
    fn from((first, second): (usize, usize)) -> Self {
        Self { first, second: Some(second), units: None }
    }
}

impl fmt::Display for Count {
    /// As `2,400` or `2,400 / 408`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&grouped(self.first))?;
        self.second.map_or(Ok(()), |n| write!(f, " / {}", grouped(n)))
    }
}

/// Counts with their noun, which is in the plural: `8 facts`, `4 to 12 facts`. `None` without a count above 0.
pub fn counted(counts: impl Iterator<Item = usize>, noun: &str) -> Option<String> {
    let ends = |ends: Option<(usize, usize)>, n| ends.map_or((n, n), |(lo, hi): (usize, usize)| (lo.min(n), hi.max(n)));
    let (lo, hi) = counts.filter(|n| *n > 0).fold(None, |all, n| Some(ends(all, n)))?;
    Some(match (lo, hi) {
        (1, 1) => format!("1 {}", noun.strip_suffix('s').unwrap_or(noun)),
        _ if lo == hi => format!("{} {noun}", grouped(lo)),
        _ => format!("{} to {} {noun}", grouped(lo), grouped(hi)),
    })
}

/// A whole number with a comma between thousands.
pub fn grouped(n: usize) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (k, c) in digits.chars().enumerate() {
        if k > 0 && (digits.len() - k).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// Explanations of the intervals of lines and bars, and of the numbers in their place; empty where there is none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Intervals {
    pub wide: String,
    pub narrow: String,
    /// Explanation of the numbers in place of intervals ([`Count::few`]).
    pub few: String,
    /// Legend of the two values that replace an interval ([`Datum::pair`]).
    pub pair: String,
    /// Meaning of faint points on a plane, and of points without a rating ([`Datum::is_unrated`]).
    pub faint: String,
    pub unrated: String,
    /// True if the wide ends are a margin, not an interval: an area, which two replicates do not replace.
    pub is_margin: bool,
}

impl Intervals {
    /// Intervals of one kind at this level, with the sources of uncertainty that they cover.
    pub fn covering(level: f64, sources: &str) -> Self {
        Self { wide: format!("{} %: {sources}", (level * 1e6).round() / 1e4), ..Self::default() }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Name in the legend.
    pub label: String,
    /// Its look.
    pub role: Role,
    /// Points by increasing x.
    pub points: Vec<Datum>,
}

/// A point of a line.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Datum {
    /// Horizontal value.
    pub x: f64,
    /// Vertical value.
    pub y: f64,
    /// Ends of the (wide) interval of y.
    pub band: Option<(f64, f64)>,
    /// Ends of a narrow interval inside the wide one.
    pub inner: Option<(f64, f64)>,
    /// Values of the only two replicates, which are too few for an interval: drawings show both values in its place.
    pub pair: Option<(f64, f64)>,
    /// True if it has no place in the order that its emphasis shows.
    pub is_unrated: bool,
    /// Examples behind the point.
    pub n: Count,
    /// Emphasis of the point relative to its line.
    pub emphasis: Emphasis,
}

impl Datum {
    /// The interval, if there are enough examples and replicates.
    pub fn interval(&self) -> Option<(f64, f64)> {
        self.band.filter(|_| self.n.few().is_none() && self.pair.is_none())
    }

    /// The narrow interval, where there are enough examples and replicates for one.
    pub(crate) fn narrow(&self) -> Option<(f64, f64)> {
        self.inner.filter(|_| self.n.few().is_none() && self.pair.is_none())
    }
}

/// Single points. Strokes on a numeric axis are levels, which belong to no x: paper shows them beside the vertical axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Points {
    /// Name in the legend.
    pub label: String,
    /// Its look; a role without a marker gets a circle.
    pub role: Role,
    /// The points, in any order.
    pub points: Vec<Spot>,
}

/// A point that can carry a label and an interval on either axis.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Spot {
    /// Horizontal value.
    pub x: f64,
    /// Vertical value.
    pub y: f64,
    /// Ends of the interval of x.
    pub x_band: Option<(f64, f64)>,
    /// Ends of the interval of y.
    pub y_band: Option<(f64, f64)>,
    /// Values of the only two replicates in x and in y: the ends of thin lines in place of intervals.
    pub pairs: Option<[(f64, f64); 2]>,
    /// Colour of this point, drawn with a dark edge. None: the colour of the layer.
    pub hue: Option<usize>,
    /// Text beside the point; empty for none. A label that finds no room, and those of a layer with many points, are left out of the
    /// drawing, not of the CSV.
    pub label: String,
    /// Examples behind the point.
    pub n: Count,
}

impl Spot {
    /// The intervals of x and of y, if there are enough replicates.
    pub(crate) fn intervals(&self) -> [Option<(f64, f64)>; 2] {
        if self.pairs.is_some() { [None; 2] } else { [self.x_band, self.y_band] }
    }
}

/// Bars. Several layers of bars in one figure are drawn side by side at each category or bin.
#[derive(Debug, Clone, PartialEq)]
pub struct Bars {
    /// Name in the legend.
    pub label: String,
    /// Its look; the marker separates series where there is not a colour.
    pub role: Role,
    pub bars: Vec<Bar>,
}

/// A bar, from zero to its value.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Bar {
    /// Left edge of its span.
    pub from: f64,
    /// Right edge of its span.
    pub to: f64,
    /// Height.
    pub y: f64,
    /// Ends of the interval of y: an error bar.
    pub band: Option<(f64, f64)>,
    /// Examples behind the bar.
    pub n: Count,
    /// True if it is a bin of a histogram: bins touch, bars of categories do not.
    pub bin: bool,
}

impl Bar {
    /// The interval, if there are enough examples.
    pub fn interval(&self) -> Option<(f64, f64)> {
        self.band.filter(|_| self.n.few().is_none())
    }

    /// The bar of a category of the horizontal axis.
    pub fn of(category: usize, y: f64) -> Self {
        let x = category as f64;
        Self { from: x - 0.4, to: x + 0.4, y, ..Self::default() }
    }

    /// A bin of a histogram.
    pub fn bin(from: f64, to: f64, count: f64) -> Self {
        Self { from, to, y: count, bin: true, ..Self::default() }
    }
}

/// Ranges over categories. Several layers of ranges are drawn side by side at each category.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ranges {
    /// Name in the legend.
    pub label: String,
    /// Name of its dots in the legend; empty where it has none.
    pub dots: String,
    /// Its look; the marker is that of the mean.
    pub role: Role,
    /// True if the ends are those of an interval: paper then shows a line with caps in place of a box.
    pub are_intervals: bool,
    pub ranges: Vec<Range>,
}

/// A range with a mean and single values.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Range {
    /// Category of the horizontal axis, from 0.
    pub category: usize,
    /// Lower and upper end.
    pub ends: (f64, f64),
    pub mean: Option<f64>,
    /// Single values, drawn as dots.
    pub dots: Vec<f64>,
    /// Examples behind it.
    pub n: Count,
}

/// Rank lines (a bump chart): the horizontal axis has categories, the vertical one is [`super::Axis::ranks`].
#[derive(Debug, Clone, PartialEq)]
pub struct Ranks {
    /// One line per ranked item.
    pub lines: Vec<RankLine>,
}

/// The ranks of one item.
#[derive(Debug, Clone, PartialEq)]
pub struct RankLine {
    /// Its name, at the end of its line.
    pub label: String,
    /// Its look.
    pub role: Role,
    /// Its rank in each category, 1 the best; halves for ties; `None` if it has no rank.
    pub ranks: Vec<Option<f64>>,
}

/// A table of cells: columns are the categories of the horizontal axis, rows those of the vertical one, the first on top.
#[derive(Debug, Clone, PartialEq)]
pub struct Cells {
    /// Label of the colour scale.
    pub label: String,
    /// Colours.
    pub shades: Shades,
    /// Value of the first and of the last colour.
    pub range: (f64, f64),
    /// True if the values are printed in the cells, if they fit.
    pub numbers: bool,
    /// Rows of cells, as many as the vertical axis has categories.
    pub rows: Vec<Vec<Cell>>,
}

/// Mapping of values to colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shades {
    /// Pale to dark, for values from low to high.
    Rising,
    /// Blue through pale to orange, for signed values; the middle of the range should be zero.
    Diverging,
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Cell {
    /// Its value; none (or a value that is not finite) is drawn as missing, hatched on blank.
    pub value: Option<f64>,
    /// True if the value is in doubt: its colour is then hatched.
    pub doubtful: bool,
}

impl From<f64> for Cell {
    fn from(value: f64) -> Self {
        Self { value: Some(value), doubtful: false }
    }
}

/// A small directed graph.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Graph {
    pub nodes: Vec<Node>,
    /// The arrows.
    pub edges: Vec<Edge>,
    /// Name of the highlighted path in the legend.
    pub path: String,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Node {
    /// Its name.
    pub label: String,
    /// Column and row on a grid of the lab's choice, from the upper left; the drawing is scaled to the room.
    pub at: (f64, f64),
    /// True if it is on the highlighted path.
    pub lit: bool,
}

/// An arrow.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Edge {
    /// Number of the node where it begins.
    pub from: usize,
    /// Number of the node that it points to.
    pub to: usize,
    /// Text at its middle; empty for none.
    pub label: String,
    /// True if it is on the highlighted path.
    pub lit: bool,
}

/// A straight rule.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// Value of the axis that it crosses.
    pub at: f64,
    /// True if it is vertical, at an x value, rather than horizontal, at a y value.
    pub upright: bool,
    /// Label beside it.
    pub label: String,
    /// The panel that it belongs to; `None` for all.
    pub panel: Option<usize>,
}

impl Rule {
    /// A horizontal rule, in all panels.
    pub fn level(at: f64, label: impl Into<String>) -> Self {
        Self { at, label: label.into(), upright: false, panel: None }
    }

    /// A vertical rule, in all panels.
    pub fn upright(at: f64, label: impl Into<String>) -> Self {
        Self { upright: true, ..Self::level(at, label) }
    }
}

/// A thin line that helps to read the figure, for example of equal reliability.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Guide {
    pub points: Vec<(f64, f64)>,
    /// Label at its last point.
    pub label: String,
    /// Ticks on the line: a position and its label, for example the required n.
    pub ticks: Vec<(f64, f64, String)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reliability_says_both_of_its_counts() {
        assert_eq!(Count::from((2400, 408)).to_string(), "2,400 / 408");
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }

    /// The n of a caption had no noun: 448 of what?
    #[test]
    fn counts_have_their_noun() {
        let said = |counts: &[usize]| counted(counts.iter().copied(), "facts");
        let facts = |text: &str| Some(text.to_owned());
        assert_eq!(
            [&[8, 8][..], &[4, 0, 1200], &[1]].map(said),
            [facts("8 facts"), facts("4 to 1,200 facts"), facts("1 fact")]
        );
        assert_eq!(said(&[0]), None);
    }
}
