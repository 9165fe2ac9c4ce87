//! Figures without a renderer: what is drawn, in data units, with its provenance. Terminal, PNG, SVG and CSV all read it.
//!
//! A lab builds a [`Figure`] from [`layers`]; its series carry a [`role::Role`] that each renderer turns into a colour, a dash
//! and a marker. [`export`] writes a figure to a file; the terminal draws the same figure as a widget.
//!
//! What the embedded font lacks is drawn in a PNG with a font of the system, where there is one (`spare`).
//!
//! On paper there is one drawing path: `paper` lays a figure out with plotters, whose backend of ours (`canvas`) records strokes, fills
//! and texts; that list is written as SVG or painted as PNG.

pub mod axis;
mod canvas;
mod csv;
mod font;
pub mod layers;
mod look;
pub mod palette;
mod paper;
mod png;
pub mod role;
pub mod route;
mod spare;
mod svg;

use std::io::Write;
use std::path::{Path, PathBuf};

use thiserror::Error;

pub use axis::{Axis, Scale};
pub use csv::text as csv_text;
pub use layers::Layer;
pub use look::{Options, Style};
pub use role::{Dash, Emphasis, Marker, Role};
pub use spare::spare_font;

use base::files::{FileError, Whole};

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Figure {
    /// Short name, used in file names and by `probity export --figure`.
    pub name: String,
    /// Title above the figure.
    pub title: String,
    /// Horizontal axis; not drawn if the layers need none (tokens, a graph).
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// What is drawn, from back to front.
    pub layers: Vec<Layer>,
    /// Where the numbers come from.
    pub provenance: Provenance,
}

impl Figure {
    /// Whether its layers are drawn on axes; a figure of tokens or of a graph has none.
    pub fn has_axes(&self) -> bool {
        let free = |l: &Layer| matches!(l, Layer::Tokens(_) | Layer::Graph(_));
        self.layers.is_empty() || !self.layers.iter().all(free)
    }
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
    /// The file could not be put in its place.
    #[error(transparent)]
    File(#[from] FileError),
    /// The renderer failed.
    #[error("cannot draw the figure: {0}")]
    Draw(String),
}

/// A figure as the bytes of a file with the given extension (`png`, `svg`, `csv`); none for other extensions.
pub fn render(figure: &Figure, extension: &str) -> Result<Option<Vec<u8>>, FigureError> {
    Ok(Some(match extension.to_ascii_lowercase().as_str() {
        "png" => png::to_png(figure, &Options::default())?,
        "svg" => svg::to_svg(figure, &Options::default())?.into_bytes(),
        "csv" => csv::to_csv(figure).into_bytes(),
        _ => return Ok(None),
    }))
}

/// Writes a figure to `path`, in the format that its extension names, and returns the full path of the file. The file appears
/// whole or not at all: it is written under a temporary name and then moved. What already exists is replaced only with `force`.
///
/// # Errors
/// [`FigureError::Extension`] for other extensions than `.png`, `.svg` and `.csv`, [`FigureError::File`] if a file is in
/// the way or cannot be written.
pub fn export(figure: &Figure, path: &Path, force: bool) -> Result<PathBuf, FigureError> {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
    let known = ["png", "svg", "csv"].iter().any(|e| extension.eq_ignore_ascii_case(e));
    if !known {
        return Err(FigureError::Extension { path: path.to_owned() });
    }
    let fail = |source| FileError::Write { path: path.to_owned(), source };
    // Checked before drawing, which takes a moment.
    let mut whole = Whole::new(path, force)?;
    let bytes = render(figure, extension)?.unwrap_or_default();
    whole.file().write_all(&bytes).map_err(fail)?;
    whole.place()?;
    Ok(std::path::absolute(path).map_err(fail)?)
}

#[cfg(any(test, feature = "samples"))]
pub mod samples;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn export_goes_by_the_extension_and_leaves_nothing_half_written() {
        let folder = tempfile::tempdir().unwrap();
        let figure = samples::curves();
        for name in ["a.png", "a.svg", "a.CSV"] {
            let path = folder.path().join(name);
            export(&figure, &path, false).unwrap();
            assert!(std::fs::metadata(&path).unwrap().len() > 100, "{name}");
        }
        let error = export(&figure, &folder.path().join("a.pdf"), true).unwrap_err();
        assert!(matches!(error, FigureError::Extension { .. }), "{error}");
        let error = export(&figure, &folder.path().join("missing/a.csv"), true).unwrap_err();
        assert!(error.to_string().contains("a.csv"), "{error}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3);
    }

    #[test]
    fn export_replaces_a_file_only_when_told_and_says_where_it_wrote() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        std::fs::write(&path, "mine").unwrap();
        let error = export(&samples::curves(), &path, false).unwrap_err();
        assert!(matches!(&error, FigureError::File(FileError::There(p)) if *p == path), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), b"mine");
        let written = export(&samples::curves(), &path, true).unwrap();
        assert!(written.is_absolute() && written == path);
        assert!(std::fs::read_to_string(&path).unwrap().starts_with("# figure"));
    }
}
