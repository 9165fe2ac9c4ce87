//! Styles: page, type and line sizes, and colours.

use super::Format;
use super::palette::{self, Rgb};

const MILLIMETRE: f64 = 72.0 / 25.4;
/// Valid page widths, in millimetres.
const WIDTHS: std::ops::RangeInclusive<f64> = 40.0..=400.0;
/// Valid PNG resolutions, in dots per inch.
const RESOLUTIONS: std::ops::RangeInclusive<u32> = 36..=1200;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Style {
    /// Style for a lab book: title above, provenance below.
    #[default]
    LabBook,
    /// Style for a paper: no title or provenance, 8-point type, as wide as a column.
    Paper,
    /// Style for slides: large type, heavy lines.
    Slides,
    /// Style for a lab book with a dark page.
    Dark,
}

impl Style {
    pub const ALL: [Self; 4] = [Self::LabBook, Self::Paper, Self::Slides, Self::Dark];

    pub fn name(self) -> &'static str {
        match self {
            Self::LabBook => "lab-book",
            Self::Paper => "paper",
            Self::Slides => "slides",
            Self::Dark => "dark",
        }
    }

    /// Default page width, in millimetres.
    pub fn usual_width(self) -> f64 {
        match self {
            Self::LabBook | Self::Dark => 135.5,
            Self::Paper => 84.0,
            Self::Slides => 254.0,
        }
    }

    fn usual_dpi(self) -> u32 {
        match self {
            Self::LabBook | Self::Dark => 300,
            Self::Paper => 600,
            Self::Slides => 192,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Options {
    pub style: Style,
    /// Page width in millimetres; `None` for the style's default.
    pub width: Option<f64>,
    /// Dots per inch of PNGs; `None` for the style's default.
    pub dpi: Option<u32>,
}

impl Options {
    /// Returns the options if they are valid, otherwise the invalid one with its valid values.
    pub fn checked(self) -> Result<Self, String> {
        if let Some(width) = self.width.filter(|w| !WIDTHS.contains(w)) {
            return Err(format!("width {width} mm is not allowed: use {} to {} mm", WIDTHS.start(), WIDTHS.end()));
        }
        if let Some(dpi) = self.dpi.filter(|d| !RESOLUTIONS.contains(d)) {
            return Err(format!("{dpi} dpi is not allowed: use {} to {} dpi", RESOLUTIONS.start(), RESOLUTIONS.end()));
        }
        Ok(self)
    }

    /// True if the caption of a file in this format is written to a `.txt` file next to it.
    pub fn captions(&self, format: Format) -> bool {
        self.style == Style::Paper && format != Format::Csv
    }

    pub(crate) fn look(&self) -> Look {
        Look::new(self.style, self.width.unwrap_or(self.style.usual_width()) * MILLIMETRE)
    }

    pub(crate) fn dpi(&self) -> u32 {
        self.dpi.unwrap_or(self.style.usual_dpi())
    }
}

/// Measures and colours of a page. A tick label is 11 page units high.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Look {
    /// Page width, in page units.
    pub width: f64,
    /// Points per page unit.
    pub unit: f64,
    /// Figure height as a share of its width.
    pub aspect: f64,
    /// Factor by which line widths are multiplied.
    pub stroke: f64,
    pub titled: bool,
    pub footed: bool,
    /// True if the legend goes inside the frame when it covers nothing there.
    pub legend_inside: bool,
    pub margin: f64,
    pub paper: Rgb,
    pub ink: Rgb,
    pub grey: Rgb,
    pub pale: Rgb,
    pub grid: Rgb,
    dark: bool,
}

impl Look {
    /// Builds the look of a style; `width` is the page width in points.
    fn new(style: Style, width: f64) -> Self {
        let light = Self {
            width: width / 0.48,
            unit: 0.48,
            aspect: 0.65,
            stroke: 1.0,
            titled: true,
            footed: true,
            legend_inside: false,
            margin: 16.0,
            paper: Rgb(255, 255, 255),
            ink: Rgb(0x1a, 0x1a, 0x1a),
            grey: Rgb(0x6b, 0x6b, 0x6b),
            pale: Rgb(0xd0, 0xd0, 0xd0),
            grid: Rgb(0xec, 0xec, 0xec),
            dark: false,
        };
        match style {
            Style::LabBook => light,
            Style::Paper => {
                // Axis labels are 12.5 page units high, which makes 8 points.
                let unit = 0.64;
                let aspect = if width > 350.0 { 0.48 } else { 0.72 };
                let (titled, footed) = (false, false);
                let width = width / unit;
                Self { width, unit, aspect, stroke: 0.6, titled, footed, legend_inside: true, margin: 3.0, ..light }
            }
            Style::Slides => {
                let unit = width / 520.0;
                Self {
                    width: 520.0,
                    unit,
                    aspect: 9.0 / 16.0,
                    stroke: 1.2,
                    footed: false,
                    legend_inside: true,
                    ..light
                }
            }
            Style::Dark => Self {
                paper: Rgb(0x16, 0x18, 0x1d),
                ink: Rgb(0xe8, 0xe8, 0xe8),
                grey: Rgb(0xa0, 0xa4, 0xaa),
                pale: Rgb(0x50, 0x55, 0x5c),
                grid: Rgb(0x2a, 0x2e, 0x35),
                dark: true,
                ..light
            },
        }
    }

    pub(crate) fn series(&self, hue: usize) -> Rgb {
        let colour = palette::series(hue);
        match (self.dark, hue) {
            (false, _) => colour,
            (true, super::role::BLACK) => self.ink,
            // Colours are blended towards white, because blue and green would be too dark.
            (true, _) => colour.mixed(Rgb(255, 255, 255), 0.3),
        }
    }

    pub(crate) fn ink_on(&self, colour: Rgb) -> Rgb {
        if colour.is_light() { Rgb(0x1a, 0x1a, 0x1a) } else { Rgb(255, 255, 255) }
    }
}
