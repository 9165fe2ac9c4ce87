//! Figures independent of a renderer: layers in data units, with provenance, for the terminal, PNG, SVG, PDF and CSV.
//!
//! A lab builds a [`Figure`] from [`layers`]; each series has a [`role::Role`], from which each renderer derives a colour, a dash and a
//! marker. [`export`] writes a figure to a file; the terminal draws the same figure as a widget. For characters that the embedded fonts
//! lack, PNGs use a system font if there is one (`spare`).
//!
//! PNG, SVG and PDF share one drawing path: `paper` lays a figure out with plotters, whose backend (`canvas`) records strokes, fills and
//! texts. This list is written as SVG or PDF, or painted as PNG. The terminal has a separate widget (`tui::widgets::chart`) that shares
//! axes and ticks ([`axis`]).
//!
//! Decision against a plotters backend that draws terminal cells: plotters would place everything on a pixel grid, in which a label is five
//! Braille dots high. Such a backend has one colour per cell, no cursor and no half blocks. The widget decides in each cell which line is
//! visible, and keeps labels off the data. A backend that lays out labels in cells would change this decision.

pub mod axis;
mod canvas;
mod caption;
mod csv;
mod font;
pub mod layers;
mod look;
mod overlap;
pub mod palette;
mod paper;
mod pdf;
mod png;
pub mod role;
mod route;
pub mod sixel;
mod spare;
mod svg;

use std::path::{Path, PathBuf};

use thiserror::Error;

pub use axis::{Axis, Scale};
pub use caption::{capital, caption, notes, sources};
pub use csv::text as csv_text;
pub use layers::Layer;
pub use look::{Options, Style};
pub use role::{Dash, Emphasis, Marker, Role};
pub use spare::spare_font;

use base::files::{FileError, Whole};
use layers::Count;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Figure {
    /// Short name, used in file names and by `probity export --figure`.
    pub name: String,
    pub title: String,
    /// Horizontal axis; not drawn if no layer needs axes (tokens, a graph).
    pub x: Axis,
    pub y: Axis,
    /// Layers, from back to front.
    pub layers: Vec<Layer>,
    pub provenance: Provenance,
}

impl Figure {
    /// True if the layers are drawn on axes; tokens and graphs have none.
    pub fn has_axes(&self) -> bool {
        let free = |l: &Layer| matches!(l, Layer::Tokens(_) | Layer::Graph(_));
        self.layers.is_empty() || !self.layers.iter().all(free)
    }
}

impl Figure {
    /// Provenance entries. The entry on intervals is included only if intervals are drawn.
    pub fn entries(&self) -> impl Iterator<Item = &(String, String)> {
        let has_intervals = self.layers.iter().any(|l| !l.intervals().is_empty());
        self.provenance.entries.iter().filter(move |(key, _)| has_intervals || key != "intervals")
    }

    /// Texts drawn as names: title, axes, panels, series and rules.
    fn names(&self) -> impl Iterator<Item = &str> {
        let axes = [&self.y, &self.x].into_iter().flat_map(|axis| {
            let texts = axis.panels.iter().chain(&axis.categories).map(String::as_str);
            texts.chain([axis.label.as_str()])
        });
        let layers = self.layers.iter().filter_map(|layer| match layer {
            Layer::Line(line) => Some(line.label.as_str()),
            Layer::Points(points) => Some(points.label.as_str()),
            Layer::Bars(bars) => Some(bars.label.as_str()),
            Layer::Ranges(ranges) => Some(ranges.label.as_str()),
            Layer::Rule(rule) => Some(rule.label.as_str()),
            Layer::Intervals(intervals) => Some(intervals.wide.as_str()),
            _ => None,
        });
        [self.title.as_str()].into_iter().chain(axes).chain(layers)
    }

    /// The given terms that the figure mentions, with their meanings.
    pub fn named_terms<'t>(&self, terms: impl Iterator<Item = (&'t str, &'t str)>) -> Vec<Term> {
        let words = |text: &str| format!(" {} ", text.to_lowercase().replace(|c: char| !c.is_alphanumeric(), " "));
        let texts: Vec<String> = self.names().map(words).collect();
        let named = terms.filter(|(name, _)| texts.iter().any(|text| text.contains(&words(name))));
        named.map(|(name, meaning)| (name.to_owned(), caption::definition(meaning))).collect()
    }

    /// Adds explanations of the given terms that the figure mentions.
    pub fn with_terms(mut self, terms: &[(&str, &str)]) -> Self {
        let named = self.named_terms(terms.iter().copied());
        self.provenance.terms.extend(named);
        self
    }

    /// Says in the picture and in the caption that the figure's run was cancelled, failed or is in progress. `done` is the completed
    /// proportion of the run, if known.
    pub fn of_unfinished_run(mut self, done: Option<f64>) -> Self {
        let done = done.map_or(String::new(), |share| format!(", {} % done", (share.clamp(0.0, 1.0) * 100.0).floor()));
        self.provenance.entries.push((STATE.into(), format!("unfinished run{done}")));
        self
    }

    /// The mark of a figure of an unfinished run.
    fn unfinished(&self) -> Option<String> {
        self.provenance.entries.iter().find(|(key, _)| key == STATE).map(|(_, state)| capital(state))
    }

    /// Adds the number of examples per point, or its range, to the provenance as n. `examples` and `units` are plural nouns; `units` are
    /// the units of the intervals, if these are not examples.
    pub fn with_counts(mut self, examples: &str, units: Option<&str>) -> Self {
        let counts: Vec<Count> = self.layers.iter().flat_map(Layer::counts).collect();
        let of_units = units.and_then(|noun| layers::counted(counts.iter().filter_map(|n| n.units), noun));
        let of_examples = layers::counted(counts.iter().map(|n| n.first), examples);
        let n = of_units.into_iter().chain(of_examples).collect::<Vec<_>>().join(", ");
        if !n.is_empty() {
            let entries = &mut self.provenance.entries;
            entries.retain(|(key, _)| key != "n");
            entries.insert(0, ("n".into(), n));
        }
        self
    }
}

/// The provenance entry that only figures of unfinished runs have.
const STATE: &str = "state";

/// A term and its meaning.
pub type Term = (String, String);

/// Provenance of a figure's numbers, written into every export.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Provenance {
    /// Key-value pairs in display order: spec, model, data, seed, n, level, version, command.
    pub entries: Vec<(String, String)>,
    /// Terms of this figure alone, which its caption explains.
    pub terms: Vec<Term>,
    /// Terms of the guide's glossary that the figure names: reports explain them once, and captions do not explain them.
    pub glossary: Vec<Term>,
}

#[derive(Debug, Error)]
pub enum FigureError {
    #[error("{}: figures are written as .png, .svg, .pdf or .csv", path.display())]
    Extension {
        /// Path of the file to write.
        path: PathBuf,
    },
    /// The file could not be written or renamed.
    #[error(transparent)]
    File(#[from] FileError),
    #[error("cannot draw the figure: {0}")]
    Draw(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Png,
    Svg,
    Pdf,
    Csv,
}

impl Format {
    pub const ALL: [Self; 4] = [Self::Png, Self::Svg, Self::Pdf, Self::Csv];

    /// The file extension, which is also the name on the command line.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Svg => "svg",
            Self::Pdf => "pdf",
            Self::Csv => "csv",
        }
    }

    /// The format for a file's extension.
    ///
    /// # Errors
    /// [`FigureError::Extension`] for an unknown extension.
    pub fn of_file(path: &Path) -> Result<Self, FigureError> {
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
        let found = Self::ALL.into_iter().find(|f| extension.eq_ignore_ascii_case(f.extension()));
        found.ok_or_else(|| FigureError::Extension { path: path.to_owned() })
    }
}

/// Renders a figure in a format; fails with [`FigureError::Draw`] if the figure cannot be drawn.
pub fn render(figure: &Figure, format: Format, options: &Options) -> Result<Vec<u8>, FigureError> {
    match format {
        Format::Png => png::to_png(figure, options),
        Format::Svg => svg::to_svg(figure, options).map(String::into_bytes),
        Format::Pdf => pdf::to_pdf(figure, options),
        Format::Csv => Ok(csv::to_csv(figure).into_bytes()),
    }
}

/// Writes a figure to `path` in the format of its extension, and returns the full paths written. In [`Style::Paper`], a picture's caption
/// is written to a text file next to it. Each file is written atomically, and replaces an existing one only with `force`.
///
/// # Errors
/// [`FigureError::Extension`] for an extension not in [`Format`], [`FigureError::File`] if a file already exists or cannot be written.
pub fn export(figure: &Figure, path: &Path, options: &Options, force: bool) -> Result<Vec<PathBuf>, FigureError> {
    let format = Format::of_file(path)?;
    // Paths are checked first, because drawing is slow.
    let whole = Whole::new(path, force)?;
    let (beside, words) = (path.with_extension("txt"), caption::page(figure));
    // All formats of a figure share one caption file.
    let is_written = || base::read::bytes(&beside, words.len() as u64).is_ok_and(|there| there == words.as_bytes());
    let captioned = options.captions(format) && !is_written();
    let text = captioned.then(|| Whole::new(&beside, force)).transpose()?;
    let mut written = vec![placed(whole, path, &render(figure, format, options)?)?];
    if let Some(text) = text {
        written.push(placed(text, &beside, words.as_bytes())?);
    }
    Ok(written)
}

fn placed(whole: Whole, path: &Path, bytes: &[u8]) -> Result<PathBuf, FigureError> {
    whole.fill(bytes)?;
    Ok(std::path::absolute(path).map_err(|source| FileError::Write { path: path.to_owned(), source })?)
}

/// Pairs of texts that overlap in a figure's drawing.
///
/// # Errors
/// [`FigureError::Draw`] if it cannot be drawn.
pub fn text_overlaps(figure: &Figure, options: &Options) -> Result<Vec<(String, String)>, FigureError> {
    let fonts = font::Fonts::own();
    Ok(overlap::texts(&paper::lay_out(figure, &fonts, &[], options.look())?))
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
        let options = Options::default();
        for name in ["a.png", "a.svg", "a.pdf", "a.CSV"] {
            let path = folder.path().join(name);
            assert_eq!(export(&figure, &path, &options, false).unwrap(), std::slice::from_ref(&path));
            assert!(std::fs::metadata(&path).unwrap().len() > 100, "{name}");
        }
        let error = export(&figure, &folder.path().join("a.gif"), &options, true).unwrap_err();
        assert!(matches!(error, FigureError::Extension { .. }), "{error}");
        let error = export(&figure, &folder.path().join("missing/a.csv"), &options, true).unwrap_err();
        assert!(error.to_string().contains("a.csv"), "{error}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 4);
    }

    #[test]
    fn a_figure_for_a_paper_has_its_caption_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let options = Options { style: Style::Paper, ..Options::default() };
        let [picture, caption] = [folder.path().join("a.pdf"), folder.path().join("a.txt")];
        assert_eq!(export(&samples::curves(), &picture, &options, false).unwrap(), [picture.clone(), caption.clone()]);
        let said = std::fs::read_to_string(&caption).unwrap();
        assert!(said.starts_with("PGD on bert-mini, layer 4") && said.contains("Level: 95 %."), "{said}");
        assert!(said.contains("\n\nProvenance\nSeed: 0\n"), "{said}");
        // Other formats share the same caption; a user's text file is never replaced.
        let other = folder.path().join("a.svg");
        assert_eq!(export(&samples::curves(), &other, &options, false).unwrap(), [other]);
        std::fs::remove_file(&picture).unwrap();
        std::fs::write(&caption, "mine").unwrap();
        assert!(export(&samples::curves(), &picture, &options, false).is_err() && !picture.exists());
        let svg = |options: &Options| render(&samples::curves(), Format::Svg, options).unwrap();
        let drawn = String::from_utf8(svg(&options)).unwrap();
        assert!(drawn.contains("width=\"238.11pt\""));
        assert!(!drawn.lines().any(|line| line.starts_with("<text") && line.contains("PGD on")));
        let wide = Options { width: Some(174.0), ..options };
        assert!(String::from_utf8(svg(&wide)).unwrap().contains("width=\"493.23pt\""));
    }

    #[test]
    fn export_replaces_a_file_only_when_told_and_says_where_it_wrote() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        std::fs::write(&path, "mine").unwrap();
        let options = Options::default();
        let error = export(&samples::curves(), &path, &options, false).unwrap_err();
        assert!(matches!(&error, FigureError::File(FileError::There(p)) if *p == path), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), b"mine");
        let written = export(&samples::curves(), &path, &options, true).unwrap();
        assert!(path.is_absolute() && written == [path.clone()]);
        assert!(std::fs::read_to_string(&path).unwrap().starts_with("# figure"));
    }

    /// The samples include every kind of layer, long names and control characters.
    #[test]
    fn no_texts_lie_on_each_other_in_any_style() {
        let figures = samples::all();
        for style in Style::ALL {
            for width in [None, Some(84.0), Some(174.0)] {
                let options = Options { style, width, dpi: None };
                for figure in &figures {
                    let found = text_overlaps(figure, &options).unwrap();
                    assert!(found.is_empty(), "{} as {} {width:?}: {found:?}", figure.name, style.name());
                }
            }
        }
    }

    #[test]
    fn the_n_of_a_figure_is_the_range_of_its_points() {
        let n = |figure: Figure| figure.provenance.entries.into_iter().find(|(k, _)| k == "n").map(|(_, n)| n);
        let mut figure = samples::bars();
        assert_eq!(n(figure.clone().with_counts("items", None)).as_deref(), Some("120 items"));
        if let Layer::Bars(bars) = &mut figure.layers[0] {
            bars.bars[0].n = 3.into();
        }
        assert_eq!(n(figure.with_counts("items", None)).as_deref(), Some("3 to 120 items"));
    }
}
