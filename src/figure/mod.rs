//! Figures without a renderer: what is drawn, in data units, with its provenance. Terminal, PNG, SVG and CSV read the same.
//!
//! [`reliability`] builds figures from a [`Board`](crate::engine::board::Board); [`export`] writes one to a file.

mod canvas;
mod csv;
mod draw;
mod png;
pub mod scale;
mod svg;

use std::io::Write;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::base::files;

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
    /// A thin line that helps reading, for example of equal reliability. It is no data: no legend, no CSV.
    Guide {
        /// Points in data units.
        points: Vec<(f64, f64)>,
        /// Label at its last point.
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

/// Why a figure could not be exported.
#[derive(Debug, Error)]
pub enum FigureError {
    /// The extension names no format.
    #[error("{}: figures are written as .png, .svg or .csv", path.display())]
    Extension {
        /// The file.
        path: PathBuf,
    },
    /// The file could not be written.
    #[error("{}: cannot write the figure: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The renderer failed.
    #[error("cannot draw the figure: {0}")]
    Draw(String),
}

/// A figure as the bytes of a file with the given extension (`png`, `svg`, `csv`); none for other extensions.
///
/// # Errors
/// [`FigureError::Draw`] where the renderer fails.
pub fn render(figure: &Figure, extension: &str) -> Result<Option<Vec<u8>>, FigureError> {
    Ok(Some(match extension.to_ascii_lowercase().as_str() {
        "png" => png::to_png(figure)?,
        "svg" => svg::to_svg(figure)?.into_bytes(),
        "csv" => csv::to_csv(figure).into_bytes(),
        _ => return Ok(None),
    }))
}

/// Writes a figure to `path`, in the format that its extension names. The file appears whole or not at all: it is written
/// beside and then moved.
///
/// # Errors
/// [`FigureError::Extension`] for other extensions than `.png`, `.svg` and `.csv`, [`FigureError::Write`] where the file
/// cannot be written.
pub fn export(figure: &Figure, path: &Path) -> Result<(), FigureError> {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
    let bytes = render(figure, extension)?.ok_or_else(|| FigureError::Extension { path: path.to_owned() })?;
    let fail = |source| FigureError::Write { path: path.to_owned(), source };
    let mut file = files::beside(path).map_err(fail)?;
    file.write_all(&bytes).map_err(fail)?;
    file.persist(path).map_err(|e| fail(e.error))?;
    Ok(())
}

#[cfg(test)]
pub(crate) mod samples;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn export_goes_by_the_extension_and_leaves_nothing_half_written() {
        let folder = tempfile::tempdir().unwrap();
        let figure = samples::curves();
        for name in ["a.png", "a.svg", "a.CSV"] {
            let path = folder.path().join(name);
            export(&figure, &path).unwrap();
            assert!(std::fs::metadata(&path).unwrap().len() > 100, "{name}");
        }
        let error = export(&figure, &folder.path().join("a.pdf")).unwrap_err();
        assert!(matches!(error, FigureError::Extension { .. }), "{error}");
        let error = export(&figure, &folder.path().join("missing/a.csv")).unwrap_err();
        assert!(error.to_string().contains("a.csv"), "{error}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3);
    }
}
