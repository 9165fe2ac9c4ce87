//! Figures without a renderer: what is drawn, in data units, with its provenance. Terminal, PNG, SVG and CSV read the same.

/// A figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Short name, used in file names and by `probity export --figure`.
    pub name: String,
    /// Title above the figure.
    pub title: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// What is drawn, from back to front.
    pub layers: Vec<Layer>,
    /// Where the numbers come from.
    pub provenance: Provenance,
}

/// An axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// Label with unit.
    pub label: String,
    /// How values become positions.
    pub scale: Scale,
    /// Range in data units; none fits the data.
    pub range: Option<(f64, f64)>,
}

/// How values become positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Proportional.
    Linear,
    /// Logarithmic; values of zero stand at the left edge with a gap.
    Log,
}

/// Something drawn.
#[derive(Debug, Clone, PartialEq)]
pub enum Layer {
    /// A line with an optional band.
    Series(Series),
    /// A rule at an x value, for example the slider's marker.
    VRule {
        /// Position in data units.
        x: f64,
        /// Label beside it.
        label: String,
    },
    /// A rule at a y value.
    HRule {
        /// Position in data units.
        y: f64,
        /// Label beside it.
        label: String,
    },
}

/// A line or a set of points. Lines differ by dash and marker, not by colour alone.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Name in the legend.
    pub label: String,
    /// Number of the colour in the palette.
    pub colour: usize,
    /// How the line is drawn; none draws markers alone.
    pub dash: Option<Dash>,
    /// Marker at each point.
    pub marker: Option<Marker>,
    /// Points by rising x.
    pub points: Vec<Datum>,
}

/// A point of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Datum {
    /// Horizontal value in data units.
    pub x: f64,
    /// Vertical value.
    pub y: f64,
    /// Ends of the interval of y.
    pub band: Option<(f64, f64)>,
    /// Examples behind the point.
    pub n: usize,
}

/// Dash of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dash {
    /// Unbroken (reliability, as in the paper).
    Solid,
    /// Long strokes (completeness).
    Dashed,
    /// Dots (selectivity).
    Dotted,
}

/// Marker of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marker {
    /// A ring.
    Circle,
    /// A cross.
    Cross,
    /// A plus sign.
    Plus,
    /// A triangle.
    Triangle,
    /// A square.
    Square,
    /// A star.
    Star,
}

/// Where the numbers of a figure come from; written into every export.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Provenance {
    /// Key and value pairs in the order in which they are shown: spec, model, data, seed, n, level, version, command.
    pub entries: Vec<(String, String)>,
}
