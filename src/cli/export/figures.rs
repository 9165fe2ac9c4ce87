//! Appearance of figures, and the choice of figures to write.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args;

use super::super::error::CliError;
use super::{named, write_table};
use crate::{output, replay};
use base::numbers::number;
use base::suggest::unknown;
use engine::board::{Board, Run};
use engine::message::{EngineInfo, Outcome};
use figure::{Figure, Format, Options, Style};
use labs::Details;
use session::name;

/// Appearance of figures.
#[derive(Debug, Clone, Args)]
pub struct FigureArgs {
    /// Style of figures: lab-book (title and provenance on the page), paper (no title or provenance, 8-point type, caption in a separate
    /// text file), slides, dark.
    #[arg(long, value_parser = style, default_value = "lab-book")]
    pub style: Style,
    /// Width of figures in millimetres, for example 84mm or 174mm, the column widths of a journal [default: 84mm in the
    /// style `paper`].
    #[arg(long, value_parser = millimetres, value_name = "MM")]
    pub width: Option<f64>,
    /// Dots per inch of PNGs [default: 600 in the style `paper`, 192 in `slides`, otherwise 300].
    #[arg(long)]
    pub dpi: Option<u32>,
}

impl FigureArgs {
    pub fn options(&self) -> Result<Options, CliError> {
        let options = Options { style: self.style, width: self.width, dpi: self.dpi };
        options.checked().map_err(CliError::Usage)
    }
}

fn style(text: &str) -> Result<Style, String> {
    let names = Style::ALL.map(Style::name);
    Style::ALL.into_iter().find(|s| s.name() == text).ok_or_else(|| unknown("style", text, &names))
}

pub(super) fn format(text: &str) -> Result<Format, String> {
    let names = Format::ALL.map(Format::extension);
    Format::ALL.into_iter().find(|f| f.extension() == text).ok_or_else(|| unknown("format", text, &names))
}

fn millimetres(text: &str) -> Result<f64, String> {
    number(text.trim_end_matches("mm").trim_end()).map_err(|e| format!("{e}; a width is in millimetres, as in 84mm"))
}

/// Adds a figure unless an identical one has already been added under a different name.
fn add_new(figures: &mut Vec<Figure>, figure: Figure) -> bool {
    let same = |f: &Figure| (&f.layers, &f.x, &f.provenance) == (&figure.layers, &figure.x, &figure.provenance);
    let is_new = !figures.iter().any(same);
    figures.extend(is_new.then_some(figure));
    is_new
}

/// Marks a figure of a run that has not finished.
pub(super) fn marked(run: &Run, figure: Figure) -> Figure {
    match &run.job.outcome {
        Some(Outcome::Done) => figure,
        _ => figure.of_unfinished_run(run.job.share_done()),
    }
}

/// Returns the figures of a run: all, or only its headline figures. File names are unique. Each figure is written only under its name in
/// the lab's table.
pub(crate) fn of_run(run: &Run, engine: Option<&EngineInfo>, all: bool) -> Vec<(String, Figure)> {
    let lab = labs::by_id(run.job.spec.lab());
    let named = lab.figure_entries().iter().filter(|entry| all || entry.headline);
    // Figures that need measurements missing from the run are skipped.
    let named = named.filter_map(|e| lab.figure(e.name, &Details::default(), &run.results, engine).ok());
    let others = if all { lab.figures(&run.results, engine) } else { Vec::new() };
    let mut figures = Vec::new();
    for figure in named.chain(others).map(|figure| marked(run, figure)) {
        add_new(&mut figures, figure);
    }
    let mut taken = BTreeSet::new();
    let mut distinct = |figure: Figure| {
        // The names of two models may have the same last part.
        let stem = name::sanitise(&figure.name);
        let numbered = (2..).map(|k| format!("{stem}-{k}"));
        let free = std::iter::once(stem.clone()).chain(numbered).find(|n| !taken.contains(n)).unwrap_or(stem);
        taken.insert(free.clone());
        (free, figure)
    };
    figures.into_iter().map(&mut distinct).collect()
}

/// Writes all figures and tables of a session to a folder and returns the paths. If there are several runs, each has a subfolder.
///
/// # Errors
/// [`CliError::Usage`] for a file that already exists, [`CliError::Failed`] for one that cannot be written.
pub(super) fn write_all(
    board: &Board,
    session: &str,
    folder: &Path,
    (formats, options): (&[Format], &Options),
    force: bool,
) -> Result<Vec<PathBuf>, CliError> {
    let mut written = Vec::new();
    for (k, run) in board.runs.iter().enumerate() {
        if run.gone {
            output::say(&replay::gone(k + 1));
            continue;
        }
        let lab = labs::by_id(run.job.spec.lab());
        let folder = match board.runs.len() {
            1 => folder.to_owned(),
            _ => folder.join(format!("{}-{}", k + 1, lab.id())),
        };
        let made = std::fs::create_dir_all(&folder);
        made.map_err(|e| CliError::Failed(format!("cannot make {}: {e}", folder.display())))?;
        for (stem, mut figure) in of_run(run, board.engine.as_ref(), true) {
            figure.provenance.entries.push(("session".into(), named(session)));
            for format in formats {
                let path = folder.join(format!("{stem}.{}", format.extension()));
                written.extend(figure::export(&figure, &path, options, force)?);
            }
        }
        for table in lab.tables(&run.results) {
            for extension in ["md", "tex", "csv"] {
                let path = folder.join(format!("table-{}.{extension}", name::sanitise(&table.name)));
                written.push(write_table(&table, &path, force)?);
            }
        }
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: `--all` used to write the curves for AlterRep twice, as `figure-2` and as `reliability-…`.
    #[test]
    fn figure_is_written_once() {
        let mut there = Vec::new();
        let layers = vec![figure::Layer::Ranks(figure::layers::Ranks { lines: Vec::new() })];
        let named =
            |name: &str| Figure { name: name.into(), title: name.into(), layers: layers.clone(), ..Figure::default() };
        assert!(add_new(&mut there, named("figure-2")) && !add_new(&mut there, named("reliability")));
        assert!(add_new(&mut there, Figure { x: figure::Axis::log("x"), ..named("reliability") }));
        assert_eq!(there.len(), 2);
    }

    /// Regression: figures of a cancelled run used to look as certain as those of a finished run, and did not state how much of it was
    /// done.
    #[test]
    fn figure_of_unfinished_run_is_marked() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sessions/prompts.probity.jsonl");
        let mut board = session::format::Session::read(&path).unwrap().board();
        let says = |board: &Board| {
            let figures = of_run(&board.runs[0], None, false);
            assert!(!figures.is_empty());
            let drawn = |f: &Figure| {
                let options = figure::Options { style: Style::Paper, ..figure::Options::default() };
                String::from_utf8(figure::render(f, Format::Svg, &options).unwrap()).unwrap()
            };
            let marks = figures.iter().filter(|(_, f)| drawn(f).contains(">Unfinished run, 43 % done<")).count();
            let said = |f: &Figure| figure::caption(f).contains("State: unfinished run, 43 % done.");
            let captions = figures.iter().filter(|(_, f)| said(f)).count();
            assert!([0, figures.len()].contains(&captions) && captions == marks, "{captions} {marks}");
            captions > 0
        };
        assert!(!says(&board));
        board.runs[0].job.progress = Some(engine::message::Progress {
            stage: "relation capital".into(),
            done: 3,
            total: 4,
            unit: "prompts".into(),
            rate: 0.0,
            overall: 0.437,
            elapsed: 1.0,
            left: None,
        });
        for outcome in [Some(Outcome::Cancelled), None] {
            board.runs[0].job.outcome = outcome;
            assert!(says(&board));
        }
    }

    #[test]
    fn styles_formats_and_widths_are_parsed() {
        assert_eq!(style("paper"), Ok(Style::Paper));
        assert!(style("papper").unwrap_err().contains("did you mean `paper`?"));
        assert_eq!(format("pdf"), Ok(Format::Pdf));
        assert!(format("gif").unwrap_err().contains("png, svg, pdf, csv"));
        assert_eq!((millimetres("84mm"), millimetres("174 mm"), millimetres("90")), (Ok(84.0), Ok(174.0), Ok(90.0)));
        assert!(millimetres("8cm").unwrap_err().contains("84mm"));
        let args = |width, dpi| FigureArgs { style: Style::Paper, width, dpi };
        assert!(args(Some(84.0), Some(600)).options().is_ok());
        assert!(args(Some(4.0), None).options().is_err() && args(None, Some(9000)).options().is_err());
    }
}
