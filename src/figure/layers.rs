//! Layers of a figure: one type for each kind, with values in data units.

use std::fmt;

mod tokens;

pub use self::tokens::{Strip, Token, Tokens};

use super::role::{Emphasis, Role};

#[derive(Debug, Clone, PartialEq)]
pub enum Layer {
    /// A line with up to two nested bands.
    Line(Line),
    /// Single points with labels.
    Points(Points),
    Bars(Bars),
    Ranges(Ranges),
    /// Rank lines across categories.
    Ranks(Ranks),
    Cells(Cells),
    /// Sentences with a score per token; takes the whole figure, without axes.
    Tokens(Tokens),
    /// A small directed graph; takes the whole figure, without axes.
    Graph(Graph),
    /// A straight rule across the figure, for example the slider's marker.
    Rule(Rule),
    /// A thin guide line. It is not data: no legend entry, no CSV.
    Guide(Guide),
    /// Explanation of the intervals for the legend on paper.
    Intervals(Intervals),
}

impl Layer {
    /// Numbers of examples on which the values are based; empty for layers without data.
    pub(crate) fn counts(&self) -> Vec<Count> {
        match self {
            Self::Line(line) => line.points.iter().map(|p| p.n).collect(),
            Self::Points(points) => points.points.iter().map(|p| p.n).collect(),
            Self::Bars(bars) => bars.bars.iter().map(|b| b.n).collect(),
            Self::Ranges(ranges) => ranges.ranges.iter().map(|r| r.n).collect(),
            _ => Vec::new(),
        }
    }

    /// Intervals that are drawn.
    pub(crate) fn intervals(&self) -> Vec<(f64, f64)> {
        match self {
            // A line without dash and marker is a range.
            Self::Line(line) if line.role.dash.is_none() && line.role.marker.is_none() => Vec::new(),
            Self::Line(line) => line.points.iter().filter_map(|p| p.interval().or(p.narrow())).collect(),
            Self::Points(points) => points.points.iter().flat_map(Spot::intervals).flatten().collect(),
            Self::Bars(bars) => bars.bars.iter().filter_map(Bar::interval).collect(),
            Self::Ranges(ranges) if ranges.are_intervals => ranges.ranges.iter().map(|r| r.ends).collect(),
            _ => Vec::new(),
        }
    }
}

/// Number of examples on which a value is based: one count, or two if the value combines two samples (reliability).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Count {
    pub first: usize,
    pub second: Option<usize>,
    /// Number of independent units to which the examples belong, if intervals are computed over units.
    pub units: Option<usize>,
}

/// Minimum number of independent units for an interval: the smallest number for which coverage was simulated. With two or three units, a
/// Student's t interval spans the axis, or is almost empty if the values happen to agree.
pub const FEWEST: usize = 10;

impl Count {
    /// Returns the number of units if they are too few for an interval; drawings then show this number instead.
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
    /// Formats one count as `2,400`, two as `2,400 / 408`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&grouped(self.first))?;
        self.second.map_or(Ok(()), |n| write!(f, " / {}", grouped(n)))
    }
}

/// Formats the range of counts with a plural noun: `8 facts`, `4 to 12 facts`. `None` if no count is above 0.
pub fn counted(counts: impl Iterator<Item = usize>, noun: &str) -> Option<String> {
    let ends = |ends: Option<(usize, usize)>, n| ends.map_or((n, n), |(lo, hi): (usize, usize)| (lo.min(n), hi.max(n)));
    let (lo, hi) = counts.filter(|n| *n > 0).fold(None, |all, n| Some(ends(all, n)))?;
    Some(match (lo, hi) {
        (1, 1) => format!("1 {}", noun.strip_suffix('s').unwrap_or(noun)),
        _ if lo == hi => format!("{} {noun}", grouped(lo)),
        _ => format!("{} to {} {noun}", grouped(lo), grouped(hi)),
    })
}

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

/// Legend texts for the intervals of lines and bars, and for what replaces them when data are too few; empty if unused.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Intervals {
    pub wide: String,
    pub narrow: String,
    /// Text for the numbers that replace intervals ([`Count::few`]).
    pub few: String,
    /// Text for the pairs of values that replace intervals ([`Datum::pair`]).
    pub pair: String,
    /// Texts for faint points in a plane, and for points without a rating ([`Datum::is_unrated`]).
    pub faint: String,
    pub unrated: String,
    /// True if the wide interval is a margin, which is drawn as an area even with two replicates.
    pub is_margin: bool,
}

impl Intervals {
    /// Describes intervals at this level by the sources of uncertainty that they include.
    pub fn covering(level: f64, sources: &str) -> Self {
        Self { wide: format!("{} %: {sources}", (level * 1e6).round() / 1e4), ..Self::default() }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Legend entry.
    pub label: String,
    pub role: Role,
    /// Points by increasing x.
    pub points: Vec<Datum>,
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Datum {
    pub x: f64,
    pub y: f64,
    /// Ends of the (wide) interval for y.
    pub band: Option<(f64, f64)>,
    /// Ends of the interval of x, drawn in a plane on paper; not in the CSV.
    pub x_band: Option<(f64, f64)>,
    /// Ends of the narrow interval inside the wide one.
    pub inner: Option<(f64, f64)>,
    /// Values of two replicates, too few for an interval; drawings show both values instead.
    pub pair: Option<(f64, f64)>,
    /// True if the point is excluded from the ranking that determines the emphasis of points.
    pub is_unrated: bool,
    /// Number of examples on which the point is based.
    pub n: Count,
    pub emphasis: Emphasis,
}

impl Datum {
    /// The interval, if there are enough examples and replicates.
    pub fn interval(&self) -> Option<(f64, f64)> {
        self.band.filter(|_| self.n.few().is_none() && self.pair.is_none())
    }

    /// The narrow interval if there are enough units and replicates.
    pub(crate) fn narrow(&self) -> Option<(f64, f64)> {
        self.inner.filter(|_| self.n.few().is_none() && self.pair.is_none())
    }
}

/// Individual points. On a numeric axis, points with stroke markers are levels without an x value; on paper they are beside the
/// vertical axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Points {
    /// Legend entry.
    pub label: String,
    /// The default marker is a circle.
    pub role: Role,
    /// Points in any order.
    pub points: Vec<Spot>,
}

/// A point with an optional label and an optional interval on each axis.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Spot {
    pub x: f64,
    pub y: f64,
    pub x_band: Option<(f64, f64)>,
    pub y_band: Option<(f64, f64)>,
    /// Values of two replicates in x and in y, drawn as thin lines instead of intervals.
    pub pairs: Option<[(f64, f64); 2]>,
    /// Colour of this point, drawn with a dark edge; `None` for the layer's colour.
    pub hue: Option<usize>,
    /// Text next to the point; empty for none. Labels that do not fit, and all labels of crowded layers, are only in the CSV.
    pub label: String,
    /// Number of examples on which the point is based.
    pub n: Count,
    /// True if drawings omit the point; the CSV has it.
    pub is_unmarked: bool,
}

impl Spot {
    pub(crate) fn intervals(&self) -> [Option<(f64, f64)>; 2] {
        if self.pairs.is_some() { [None; 2] } else { [self.x_band, self.y_band] }
    }
}

/// Bars; several layers are drawn side by side at each category or bin.
#[derive(Debug, Clone, PartialEq)]
pub struct Bars {
    /// Legend entry.
    pub label: String,
    /// The marker distinguishes series without colour.
    pub role: Role,
    pub bars: Vec<Bar>,
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Bar {
    /// Left end on the horizontal axis.
    pub from: f64,
    /// Right end on the horizontal axis.
    pub to: f64,
    pub y: f64,
    /// Ends of the interval for y, drawn as an error bar.
    pub band: Option<(f64, f64)>,
    /// Number of examples on which the bar is based.
    pub n: Count,
    /// True for a histogram bin. Bins touch; bars of categories do not.
    pub bin: bool,
}

impl Bar {
    /// The interval, if there are enough examples.
    pub fn interval(&self) -> Option<(f64, f64)> {
        self.band.filter(|_| self.n.few().is_none())
    }

    pub fn of(category: usize, y: f64) -> Self {
        let x = category as f64;
        Self { from: x - 0.4, to: x + 0.4, y, ..Self::default() }
    }

    pub fn bin(from: f64, to: f64, count: f64) -> Self {
        Self { from, to, y: count, bin: true, ..Self::default() }
    }
}

/// Ranges over categories; several layers are drawn side by side at each category.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ranges {
    /// Legend entry.
    pub label: String,
    /// Legend entry of the dots; empty for none.
    pub dots: String,
    /// The marker is drawn at the mean.
    pub role: Role,
    /// True if the ranges are intervals; on paper they are lines with caps instead of boxes.
    pub are_intervals: bool,
    pub ranges: Vec<Range>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Range {
    /// Index of the category on the horizontal axis, from 0.
    pub category: usize,
    pub ends: (f64, f64),
    pub mean: Option<f64>,
    /// Individual values, drawn as dots.
    pub dots: Vec<f64>,
    /// Number of examples on which the range is based.
    pub n: Count,
}

/// Rank lines (a bump chart): the horizontal axis has categories; the vertical one is [`super::Axis::ranks`].
#[derive(Debug, Clone, PartialEq)]
pub struct Ranks {
    pub lines: Vec<RankLine>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct RankLine {
    /// Name, drawn at the end of the line.
    pub label: String,
    pub role: Role,
    /// Rank in each category, from 1 (the best); halves for ties; `None` if unranked.
    pub ranks: Vec<Option<f64>>,
}

/// A heatmap: columns are the categories of the horizontal axis, rows those of the vertical one, from the top.
#[derive(Debug, Clone, PartialEq)]
pub struct Cells {
    /// Label of the colour scale.
    pub label: String,
    pub shades: Shades,
    /// Values shown in the first and the last colour.
    pub range: (f64, f64),
    /// True if values are printed in the cells where they fit.
    pub numbers: bool,
    /// Rows of cells, one per category of the vertical axis.
    pub rows: Vec<Vec<Cell>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shades {
    /// Colours from pale to dark, for increasing values.
    Rising,
    /// Colours from blue through pale to orange, for signed values; zero should be in the middle of the range.
    Diverging,
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Cell {
    /// The value; a cell is hatched without colour if it is missing or not finite.
    pub value: Option<f64>,
    /// True if the value is doubtful; the cell is then coloured and hatched.
    pub doubtful: bool,
}

impl From<f64> for Cell {
    fn from(value: f64) -> Self {
        Self { value: Some(value), doubtful: false }
    }
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Graph {
    pub nodes: Vec<Node>,
    pub edges: Vec<Edge>,
    /// Legend entry of the highlighted path.
    pub path: String,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Node {
    pub label: String,
    /// Column and row in a grid chosen by the lab, counted from the upper left; scaled to fit.
    pub at: (f64, f64),
    pub lit: bool,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Edge {
    /// Index of the node where the arrow starts.
    pub from: usize,
    /// Index of the node where the arrow ends.
    pub to: usize,
    /// Text at the middle of the arrow; empty for none.
    pub label: String,
    pub lit: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// Value on the axis that the rule crosses.
    pub at: f64,
    /// True if vertical (at an x value), false if horizontal (at a y value).
    pub upright: bool,
    pub label: String,
    /// Panel that contains the rule; `None` for all panels.
    pub panel: Option<usize>,
    /// The x value at which a horizontal rule ends; `None` for the frame.
    pub until: Option<f64>,
    /// True if paper names the rule in the legend, because data leave no room for its label.
    pub in_legend: bool,
}

impl Rule {
    pub fn level(at: f64, label: impl Into<String>) -> Self {
        Self { at, label: label.into(), upright: false, panel: None, until: None, in_legend: false }
    }

    pub fn in_legend(self) -> Self {
        Self { in_legend: true, ..self }
    }

    pub fn upright(at: f64, label: impl Into<String>) -> Self {
        Self { upright: true, ..Self::level(at, label) }
    }
}

/// A thin guide line, for example of equal reliability.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Guide {
    pub points: Vec<(f64, f64)>,
    /// Label at its last point.
    pub label: String,
    /// Ticks on the line: position and label, for example the required n.
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
