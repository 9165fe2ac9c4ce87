//! The export dialog: style, width, formats and folder of a figure's files.

use std::path::PathBuf;

use ratatui::text::Line;

use super::{Picker, entries};
use crate::action::{Effect, ExportOptions, Subject};
use crate::popups;
use crate::reduce::look;
use crate::state::{Prompt, State};
use base::text::{fit_end, pad, printable};
use engine::message::Outcome;
use figure::{Figure, Format, Style};
use labs::Spec;

/// Available widths in millimetres: the style's default, and a journal's column widths.
const WIDTHS: [Option<f64>; 3] = [None, Some(84.0), Some(174.0)];

/// Maximum number of characters in a file name for the settings that distinguish runs.
const APART: usize = 24;
/// Number of characters of the spec's hash that replace omitted settings.
const HASH: usize = 6;

/// Description of the report in the dialog.
const REPORT: &str = "question, answer, tables, figures (Markdown)";

/// Width of the dialog's border and of the words around the figure's name, in columns.
const FRAME: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Choice {
    Style(Style),
    Width(Option<f64>),
    Format(Format),
    /// Opens the field for another folder.
    Folder,
    /// Writes the report on the session instead of the figure.
    Report,
    Write,
}

/// Asks for the folder, then returns to the dialog.
static FOLDER: Prompt = Prompt {
    label: "folder",
    hint: "created if missing; nothing is written yet",
    take: |state, text| {
        if text.is_empty() {
            return Err("type a folder; `.` is the one you started in".into());
        }
        state.view.export.folder = model::source::expand(text);
        Ok(popups::pick(state, &ExportFigure, 0))
    },
    follow: None,
};

/// The absolute export folder.
fn folder(state: &State) -> String {
    let path: PathBuf = state.folder.join(&state.view.export.folder).components().collect();
    printable(&path.display().to_string()).into_owned()
}

/// The focused pane's figure, named as its files will be. If the lab has several runs, the name includes the settings that distinguish the
/// shown run, so that figures of two layers do not overwrite each other.
fn figure_of_run(state: &State) -> Option<Figure> {
    let mut figure = state.screen().figure(state).cloned()?;
    let setup = state.screen().setup();
    let runs = setup.and_then(|setup| Some((state.board.run_of(setup.lab())?, state.board.runs_of(setup.lab()))));
    if let Some((run, all)) = runs {
        if run.job.outcome != Some(Outcome::Done) {
            figure = figure.of_unfinished_run(run.job.share_done());
        }
        let apart = labs::apart(&run.job.spec, all.map(|other| &other.job.spec));
        if !apart.is_empty() {
            figure.name = format!("{}-{}", figure.name, short_name(&apart, &run.job.spec));
        }
    }
    Some(figure)
}

/// Formats the settings that distinguish a run for a file name. If they are too long, the start of the spec's hash replaces all but the
/// shortest settings.
fn short_name(apart: &[String], spec: &Spec) -> String {
    let plain = |text: &String| {
        let text = text.to_lowercase();
        let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        words.collect::<Vec<_>>().join("-")
    };
    let all: Vec<String> = apart.iter().map(plain).collect();
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by_key(|i| all[*i].len());
    let mut room = APART;
    order.retain(|i| {
        let fits = all[*i].len() <= room;
        room = room.saturating_sub(if fits { all[*i].len() + 1 } else { 0 });
        fits
    });
    order.sort_unstable();
    let rest = (order.len() < all.len()).then(|| spec.hash().chars().take(HASH).collect::<String>());
    order.into_iter().map(|i| all[i].clone()).chain(rest).collect::<Vec<_>>().join("-")
}

/// The files that the dialog would write: `agreement-scores.png, .svg, .csv`.
fn files(state: &State) -> String {
    let name = figure_of_run(state).map_or(String::new(), |figure| printable(&figure.name).into_owned());
    let ends: Vec<String> = state.view.export.formats.iter().map(|format| format!(".{}", format.extension())).collect();
    let (ends, room) = (ends.join(", "), usize::from(state.view.size.0).saturating_sub(FRAME));
    format!("{}{ends}", fit_end(&name, room.saturating_sub(ends.len())))
}

/// Opens the dialog with the cursor on the row that writes the files.
pub(crate) fn open(state: &mut State) -> Vec<Effect> {
    popups::pick(state, &ExportFigure, Choice::all().count() - 1)
}

impl Choice {
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        let styles = Style::ALL.into_iter().map(Self::Style);
        let widths = WIDTHS.into_iter().map(Self::Width);
        styles.chain(widths).chain(Format::ALL.into_iter().map(Self::Format)).chain([
            Self::Folder,
            Self::Report,
            Self::Write,
        ])
    }

    fn group(self) -> &'static str {
        match self {
            Self::Style(_) => "style",
            Self::Width(_) => "width",
            Self::Format(_) => "formats",
            Self::Folder => "folder",
            Self::Report => "report",
            Self::Write => "",
        }
    }

    /// Name on the screen and in the saved state.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Style(style) => style.name().into(),
            Self::Width(None) => "usual".into(),
            Self::Width(Some(width)) => format!("{width} mm"),
            Self::Format(format) => format.extension().into(),
            Self::Folder | Self::Report | Self::Write => String::new(),
        }
    }

    pub(crate) fn is_on(self, options: &ExportOptions) -> bool {
        match self {
            Self::Style(style) => options.look.style == style,
            Self::Width(width) => options.look.width == width,
            Self::Format(format) => options.formats.contains(&format),
            Self::Folder | Self::Report | Self::Write => false,
        }
    }

    /// Selects a style or a width; adds a format, or removes it unless it is the only one.
    fn toggle(self, options: &mut ExportOptions) {
        match self {
            Self::Style(style) => options.look.style = style,
            Self::Width(width) => options.look.width = width,
            Self::Format(format) if self.is_on(options) => {
                if options.formats.len() > 1 {
                    options.formats.retain(|f| *f != format);
                }
            }
            Self::Format(format) => {
                let wanted = |f: &Format| *f == format || options.formats.contains(f);
                options.formats = Format::ALL.into_iter().filter(wanted).collect();
            }
            Self::Folder | Self::Report | Self::Write => {}
        }
    }
}

/// Parses options from their names, using defaults for missing and unknown ones.
pub(crate) fn named(names: &[String]) -> ExportOptions {
    let usual = ExportOptions::default();
    let mut options = ExportOptions { formats: Vec::new(), ..usual.clone() };
    for choice in Choice::all().filter(|choice| names.contains(&choice.name())) {
        choice.toggle(&mut options);
    }
    if options.formats.is_empty() {
        options.formats = usual.formats;
    }
    options
}

/// Writes the focused pane's figure with the current options when accepted.
pub(crate) struct ExportFigure;

impl Picker for ExportFigure {
    fn does(&self, entry: usize) -> &'static str {
        match Choice::all().nth(entry) {
            Some(Choice::Folder) => "another folder",
            Some(Choice::Report) => "write the report",
            Some(Choice::Write) => "write the files",
            _ => "choose",
        }
    }

    fn name(&self) -> &'static str {
        "export"
    }

    fn title(&self, state: &State) -> String {
        if let Some((done, all)) = state.view.writing {
            return format!("Export: writing, {done} of {all} files done");
        }
        let Some(figure) = figure_of_run(state) else { return "Export".into() };
        // A long name is cut at its start, because its end distinguishes figures.
        let room = usize::from(state.view.size.0).saturating_sub(FRAME);
        format!("Export {}", fit_end(&printable(&figure.name), room))
    }

    fn lines(&self, state: &State, selected: usize) -> Vec<Line<'static>> {
        let mut last = "";
        let texts = Choice::all().map(|choice| {
            let group = if choice.group() == last { "" } else { choice.group() };
            last = choice.group();
            match choice {
                Choice::Folder => format!("{} {}", pad(group, 8), folder(state)),
                Choice::Report => format!("{} {REPORT}", pad(group, 8)),
                Choice::Write => format!("Write {}", files(state)),
                _ => {
                    let check = state.view.glyphs.check(choice.is_on(&state.view.export));
                    format!("{} {check} {}", pad(group, 8), choice.name())
                }
            }
        });
        entries(state, selected, texts)
    }

    fn take(&self, state: &mut State, entry: usize) -> Vec<Effect> {
        match Choice::all().nth(entry) {
            Some(Choice::Folder) => {
                popups::pick(state, &ExportFigure, entry);
                let now = folder(state);
                return look::ask_from(state, &FOLDER, &now);
            }
            Some(Choice::Report) => return look::report(state),
            Some(Choice::Write) => {}
            Some(choice) if choice.is_on(&state.view.export) => return open(state),
            Some(choice) => {
                choice.toggle(&mut state.view.export);
                return open(state);
            }
            None => return Vec::new(),
        }
        let Some(figure) = figure_of_run(state) else { return Vec::new() };
        look::written(state, Subject::Figure(figure))
    }

    fn marks(&self, state: &State, entry: usize) -> bool {
        let mut after = state.view.export.clone();
        Choice::all().nth(entry).into_iter().for_each(|choice| choice.toggle(&mut after));
        after != state.view.export
    }

    fn mark(&self, state: &mut State, entry: usize) -> Vec<Effect> {
        Choice::all().nth(entry).into_iter().for_each(|choice| choice.toggle(&mut state.view.export));
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reduce::popup;
    use crate::setup;
    use crate::state::Start;
    use base::text::width;

    fn mark(state: &mut State, name: &str) {
        let entry = Choice::all().position(|choice| choice.name() == name).unwrap();
        ExportFigure.mark(state, entry);
    }

    fn chosen(options: &ExportOptions) -> Vec<String> {
        Choice::all().filter(|choice| choice.is_on(options)).map(Choice::name).collect()
    }

    #[test]
    fn one_style_one_width_and_any_number_of_formats_are_chosen() {
        let mut state = State::new(Start::new());
        assert_eq!(chosen(&state.view.export), ["lab-book", "usual", "png", "svg", "csv"]);
        for name in ["paper", "174 mm", "pdf", "png", "svg", "csv"] {
            mark(&mut state, name);
        }
        assert_eq!(chosen(&state.view.export), ["paper", "174 mm", "pdf"]);
        mark(&mut state, "pdf");
        assert_eq!(chosen(&state.view.export), ["paper", "174 mm", "pdf"], "the last format cannot be removed");
        let lines: Vec<String> = ExportFigure.lines(&state, 0).iter().map(ToString::to_string).collect();
        assert!(lines[1].ends_with("▣ paper") && lines[0].contains("style    ▢ lab-book"), "{lines:?}");
    }

    /// Regression: any row used to write the files, and none said so.
    #[test]
    fn last_row_writes_and_the_others_are_ticked() {
        let mut state = State::new(Start::new());
        crate::reduce::job::run(&mut state);
        state.screens.interventions.curves = Some(figure::samples::curves());
        open(&mut state);
        let name = figure_of_run(&state).unwrap().name;
        let lines: Vec<String> = ExportFigure.lines(&state, 0).iter().map(ToString::to_string).collect();
        assert!(lines.last().unwrap().ends_with(&format!("Write {name}.png, .svg, .csv")), "{lines:?}");
        popup::travel(&mut state, -setup::END);
        popup::travel(&mut state, 1);
        assert!(popup::accept(&mut state).is_empty() && state.popup_name() == Some("export"));
        assert_eq!(chosen(&state.view.export)[0], "paper");
        popup::travel(&mut state, setup::END);
        assert!(matches!(&popup::accept(&mut state)[..], [Effect::Export(..)]));
        // Until the files are written, the dialog counts them.
        crate::reduce::reduce(&mut state, crate::action::Action::Writing(1, 3));
        assert!(ExportFigure.title(&state).contains("1 of 3 files"), "{}", ExportFigure.title(&state));
    }

    #[test]
    fn another_folder_is_typed_from_the_dialog_and_used() {
        let mut state = State::new(Start { folder: "/work".into(), ..Start::new() });
        let last = Choice::all().position(|choice| choice == Choice::Folder).unwrap();
        let shown = |state: &State| ExportFigure.lines(state, 0)[last].to_string();
        assert!(shown(&state).contains("folder   /work"), "{}", shown(&state));
        popups::pick(&mut state, &ExportFigure, 0);
        popup::travel(&mut state, setup::END);
        popup::travel(&mut state, -2);
        assert!(!state.marking(), "a folder cannot be ticked");
        // Regression: enter on the folder used to write the files at once.
        assert!(popup::accept(&mut state).is_empty() && state.popup_name() == Some("export"));
        assert_eq!(state.view.entry.as_ref().map(|e| e.buffer.as_str()), Some("/work"));
        assert!((FOLDER.take)(&mut state, "").is_err());
        (FOLDER.take)(&mut state, "./figs").unwrap();
        assert_eq!(state.popup_name(), Some("export"));
        assert!(shown(&state).ends_with("/work/figs"), "{}", shown(&state));
        (FOLDER.take)(&mut state, "/else\u{1b}").unwrap();
        assert!(!shown(&state).contains('\u{1b}'));
    }

    /// Regression: figures of two layers used to have the same name, so that one replaced the other.
    #[test]
    fn files_of_two_runs_have_two_names() {
        let mut state = State::new(Start::new());
        crate::reduce::job::run(&mut state);
        state.screens.interventions.curves = Some(figure::samples::curves());
        let name = |state: &State| figure_of_run(state).map(|figure| figure.name).unwrap_or_default();
        let alone = name(&state);
        let setup = state.setup().unwrap();
        let mut spec = setup.spec(&state);
        spec.common_mut().set_seed(7);
        setup.take(&mut state, &spec);
        crate::reduce::job::replace(&mut state);
        assert_eq!(name(&state), format!("{alone}-seed-7"));
    }

    /// Regression: a long list of settings used to be cut before the number of training runs, so that two runs had the same name.
    #[test]
    fn files_of_runs_that_differ_in_much_have_two_names_that_stand_whole_in_the_dialog() {
        let mut state = State::new(Start { size: (80, 24), ..Start::new() });
        let mut names = Vec::new();
        for trainings in [1, 2, 3] {
            let setup = state.setup().unwrap();
            let models = ["bert-mini", "roberta-mini", "bart-mini", "gpt2-mini"].map(String::from);
            let mut spec = setup.spec(&state);
            spec.common_mut().set_models(models[..trainings.max(2) + 1].to_vec());
            setup.take(&mut state, &spec);
            setup::typed(&mut state, "probe.replicates", &trainings.to_string()).unwrap();
            crate::reduce::job::replace(&mut state);
        }
        state.screens.interventions.curves = Some(figure::samples::curves());
        for place in 0..3 {
            crate::reduce::runs::show(&mut state, place);
            state.screens.interventions.curves = Some(figure::samples::curves());
            let name = figure_of_run(&state).unwrap().name;
            let title = ExportFigure.title(&state);
            assert!(title.contains(&name) && width(&title) < 74, "{title}");
            names.push(name);
        }
        names.dedup();
        assert_eq!(names.len(), 3, "{names:?}");
    }

    #[test]
    fn options_come_back_by_their_names() {
        for names in [["slides", "84 mm", "svg"], ["dark", "usual", "csv"]] {
            let names = names.map(str::to_owned);
            assert_eq!(chosen(&named(&names)), names);
        }
        assert_eq!(named(&["gif".into(), "9 mm".into()]), ExportOptions::default());
    }
}
