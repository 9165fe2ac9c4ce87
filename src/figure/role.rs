//! The look of a series, without naming a colour: renderers turn a role into a colour of their palette or theme, a dash
//! and a marker. The lab decides the meaning of roles.

/// The look of a series. A lab uses the same role for the same thing in all figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Role {
    /// Number of the hue; palettes have eight or twelve and begin again after the last. [`BLACK`] is neutral.
    pub hue: usize,
    /// Number of the accent (0, 1 or 2) that a terminal shows in place of the hue: cells are too coarse for three dashes of one hue.
    pub accent: Option<usize>,
    /// Dash pattern of lines; `None` draws markers alone.
    pub dash: Option<Dash>,
    /// Marker at each point.
    pub marker: Option<Marker>,
    /// Its emphasis.
    pub emphasis: Emphasis,
}

/// The neutral hue: black on paper.
pub const BLACK: usize = 6;

impl Emphasis {
    /// Its name in tables; `None` without emphasis.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::Normal => None,
            Self::Strong => Some("strong"),
            Self::Faint => Some("faint"),
        }
    }

    /// Emphasis of a part with `self` in a whole with `of`: a normal part takes the whole's emphasis.
    pub fn within(self, of: Self) -> Self {
        if self == Self::Normal { of } else { self }
    }
}

impl Role {
    /// A solid line of this hue without markers.
    pub fn line(hue: usize) -> Self {
        Self { hue, dash: Some(Dash::Solid), ..Self::default() }
    }

    /// Markers of this hue without a line.
    pub fn points(hue: usize, marker: Marker) -> Self {
        Self { hue, marker: Some(marker), ..Self::default() }
    }

    /// The k-th of several series without a role: hues in order, markers and dashes that differ as well.
    pub fn nth(k: usize) -> Self {
        Self { hue: k, dash: Some(Dash::nth(k)), marker: Some(MARKERS[k % MARKERS.len()]), ..Self::default() }
    }

    /// The role with this dash.
    pub fn dash(self, dash: Dash) -> Self {
        Self { dash: Some(dash), ..self }
    }

    /// The role with this marker.
    pub fn marker(self, marker: Marker) -> Self {
        Self { marker: Some(marker), ..self }
    }

    /// The role with this accent.
    pub fn accent(self, accent: usize) -> Self {
        Self { accent: Some(accent), ..self }
    }

    /// The role drawn heavier.
    pub fn strong(self) -> Self {
        Self { emphasis: Emphasis::Strong, ..self }
    }

    /// The role drawn fainter.
    pub fn faint(self) -> Self {
        Self { emphasis: Emphasis::Faint, ..self }
    }
}

/// Emphasis of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Emphasis {
    /// Like the others.
    #[default]
    Normal,
    /// Heavier: the main one.
    Strong,
    /// Fainter: for comparison.
    Faint,
}

/// Dash of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dash {
    /// Unbroken.
    Solid,
    /// Long strokes.
    Dashed,
    /// Dots.
    Dotted,
}

impl Dash {
    /// The k-th dash: the same hue always has the same dash.
    pub fn nth(k: usize) -> Self {
        [Self::Solid, Self::Dashed, Self::Dotted][k % 3]
    }
}

/// Marker of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marker {
    /// A ring.
    Circle,
    Cross,
    /// A plus sign.
    Plus,
    Triangle,
    Square,
    Star,
    Diamond,
    /// A triangle that points down.
    Down,
    /// A short stroke.
    Stroke,
}

/// Markers in the order in which series get them; the star is kept for the best of something, the diamond for a knee, the stroke and the
/// triangle that points down for controls.
pub const MARKERS: [Marker; 5] = [Marker::Circle, Marker::Triangle, Marker::Square, Marker::Cross, Marker::Plus];
