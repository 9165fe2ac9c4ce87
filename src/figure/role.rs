//! Appearance of a series without fixed colours: a renderer maps a role to a colour of its palette or theme, a dash and a marker. The labs
//! decide what roles mean.

/// Appearance of a series. A lab uses the same role for the same series in all figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Role {
    /// Index of the hue; palettes of eight or twelve hues repeat. [`BLACK`] is neutral.
    pub hue: usize,
    /// Index of the accent (0, 1 or 2) that the terminal shows instead of the hue, because cells are too coarse for three dashes in one
    /// hue.
    pub accent: Option<usize>,
    /// Dash pattern of the line; `None` for markers only.
    pub dash: Option<Dash>,
    pub marker: Option<Marker>,
    pub emphasis: Emphasis,
}

/// The neutral hue: black on paper.
pub const BLACK: usize = 6;

impl Emphasis {
    /// Name used in tables; `None` for normal emphasis.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::Normal => None,
            Self::Strong => Some("strong"),
            Self::Faint => Some("faint"),
        }
    }

    /// Combines the emphasis of a part (`self`) with that of the whole (`of`): a normal part takes the emphasis of the whole.
    pub fn within(self, of: Self) -> Self {
        if self == Self::Normal { of } else { self }
    }
}

impl Role {
    pub fn line(hue: usize) -> Self {
        Self { hue, dash: Some(Dash::Solid), ..Self::default() }
    }

    pub fn points(hue: usize, marker: Marker) -> Self {
        Self { hue, marker: Some(marker), ..Self::default() }
    }

    /// The k-th of several series without predefined roles; hue, marker and dash all vary.
    pub fn nth(k: usize) -> Self {
        Self { hue: k, dash: Some(Dash::nth(k)), marker: Some(MARKERS[k % MARKERS.len()]), ..Self::default() }
    }

    pub fn dash(self, dash: Dash) -> Self {
        Self { dash: Some(dash), ..self }
    }

    pub fn marker(self, marker: Marker) -> Self {
        Self { marker: Some(marker), ..self }
    }

    pub fn accent(self, accent: usize) -> Self {
        Self { accent: Some(accent), ..self }
    }

    pub fn strong(self) -> Self {
        Self { emphasis: Emphasis::Strong, ..self }
    }

    pub fn faint(self) -> Self {
        Self { emphasis: Emphasis::Faint, ..self }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Emphasis {
    #[default]
    Normal,
    /// Heavier lines, for the main series.
    Strong,
    /// Fainter lines, for comparison.
    Faint,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dash {
    Solid,
    Dashed,
    Dotted,
}

impl Dash {
    /// The dash for the k-th hue. Each hue always has the same dash.
    pub fn nth(k: usize) -> Self {
        [Self::Solid, Self::Dashed, Self::Dotted][k % 3]
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marker {
    /// A ring.
    Circle,
    Cross,
    Plus,
    Triangle,
    Square,
    Star,
    Diamond,
    Down,
    /// A short horizontal stroke.
    Stroke,
}

impl Marker {
    pub(crate) fn is_of_control(self) -> bool {
        matches!(self, Self::Stroke | Self::Down)
    }
}

/// Markers in the order in which series get them. The star is reserved for the best point, the diamond for a knee, and the stroke and the
/// downward triangle for controls.
pub const MARKERS: [Marker; 5] = [Marker::Circle, Marker::Triangle, Marker::Square, Marker::Cross, Marker::Plus];
