//! Choices of settings, and confirmations of actions that cannot be undone.

use std::path::PathBuf;

use ratatui::text::Line;

use super::{Picker, mark};
use crate::action::{Document, Effect, Existing, Export};
use crate::reduce::job;
use crate::screens::SCREENS;
use crate::setup::{self, Row};
use crate::state::{Recording, State};
use crate::theme::Role;
use base::numbers::{about, seconds};
use base::text::{printable, shortened};
use labs::Spec;
use labs::setting::{Kind, Value};

/// Width of a waiting run's models, in columns.
const MODELS: usize = 40;

/// Width of the list of ticked models, in columns.
const TICKED: usize = 52;

/// Maximum width of the text that distinguishes a waiting run from others.
const APART: usize = 90;

pub(crate) fn entries(state: &State, selected: usize, texts: impl Iterator<Item = String>) -> Vec<Line<'static>> {
    let line = |(i, text): (usize, String)| {
        let role = if i == selected { Role::Selection } else { Role::Text };
        Line::styled(format!("{}{text}", mark(state, i == selected)), state.theme().style(role))
    };
    texts.enumerate().map(line).collect()
}

/// Choices for a row of the settings.
pub(crate) struct Choices;

impl Choices {
    fn row(state: &State) -> Option<Row> {
        setup::row(state, state.view.picked.as_deref()?)
    }
}

impl Picker for Choices {
    fn name(&self) -> &'static str {
        "choices"
    }

    fn title(&self, state: &State) -> String {
        let ticked = |row: &Row| setup::ticked_models(state, TICKED).filter(|_| row.key == "models");
        Self::row(state).map_or(String::new(), |row| match ticked(&row) {
            Some(models) => format!("Ticked: {models}"),
            None => format!("{}: {}", row.label, row.help),
        })
    }

    fn lines(&self, state: &State, selected: usize) -> Vec<Line<'static>> {
        let Some(row) = Self::row(state) else { return Vec::new() };
        let (names, on) = match (&row.kind, &row.value) {
            (Kind::Marks(names), Value::Marks(on)) => (names, on.clone()),
            (Kind::Choice(names), Value::Choice(at)) => (names, (0..names.len()).map(|i| Some(i) == *at).collect()),
            _ => return Vec::new(),
        };
        let text = |(name, on): (&String, bool)| format!("{} {}", state.view.glyphs.check(on), printable(name));
        entries(state, selected, names.iter().zip(on).map(text))
    }

    fn take(&self, state: &mut State, entry: usize) -> Vec<Effect> {
        match Self::row(state) {
            Some(row) if matches!(row.kind, Kind::Choice(_)) => setup::set(state, &row, Value::Choice(Some(entry))),
            // If nothing was ticked, the entry under the cursor is chosen.
            Some(row) if self.marks(state, entry) && !state.view.ticked && !ticked(&row, entry) => {
                setup::toggle(state, &row, entry)
            }
            _ => Vec::new(),
        }
    }

    fn marks(&self, state: &State, _: usize) -> bool {
        let row = Self::row(state).filter(|row| state.replay.is_none() || row.view);
        row.is_some_and(|row| matches!(row.kind, Kind::Marks(_)))
    }

    fn mark(&self, state: &mut State, entry: usize) -> Vec<Effect> {
        state.view.ticked = true;
        Self::row(state).map_or(Vec::new(), |row| setup::toggle(state, &row, entry))
    }
}

fn ticked(row: &Row, entry: usize) -> bool {
    matches!(&row.value, Value::Marks(on) if on.get(entry) == Some(&true))
}

/// Asks how to quit while a run is in progress.
pub(crate) struct Quit;

const QUIT: [&str; 3] = ["Stop the run cleanly, then quit", "Quit at once", "Back"];

/// Says what remains after quitting, and where.
fn kept(state: &State) -> String {
    match &state.recording {
        Recording::On(name) => format!("; its results so far stay in session {}", printable(name)),
        Recording::Off | Recording::Failed(_) => "; its results are not saved".into(),
    }
}

impl Picker for Quit {
    fn name(&self) -> &'static str {
        "quit"
    }

    fn title(&self, state: &State) -> String {
        let kept = kept(state);
        match state.queue.len() {
            0 => format!("A run is in progress{kept}"),
            1 => format!("A run is in progress{kept}; 1 more waits"),
            n => format!("A run is in progress{kept}; {n} more wait"),
        }
    }

    fn lines(&self, state: &State, selected: usize) -> Vec<Line<'static>> {
        let Some(far) = &state.far else {
            return entries(state, selected, QUIT.iter().map(|t| (*t).to_owned()));
        };
        let wait = seconds(far.wait.as_secs_f64());
        let leave = format!("Leave it running on {}; it then waits {wait} for you", printable(&far.host));
        let texts = [leave, "Stop it, then quit".into(), "Wait until it ends, then quit".into(), "Back".into()];
        entries(state, selected, texts.into_iter())
    }

    fn take(&self, state: &mut State, entry: usize) -> Vec<Effect> {
        if state.far.is_some() {
            return match entry {
                0 => job::leave(state),
                1 => job::stop_then_quit(state),
                2 => job::wait_then_quit(state),
                _ => Vec::new(),
            };
        }
        match entry {
            0 => job::stop_then_quit(state),
            1 => job::quit(state),
            _ => Vec::new(),
        }
    }
}

pub(crate) struct Unsaved;

impl Picker for Unsaved {
    fn name(&self) -> &'static str {
        "unsaved"
    }

    fn title(&self, state: &State) -> String {
        let all: Vec<String> = SCREENS.iter().filter_map(|screen| screen.unsaved(state)).collect();
        format!("Not saved: {}", all.join(", "))
    }

    fn lines(&self, state: &State, selected: usize) -> Vec<Line<'static>> {
        let texts = ["Save", "Quit without saving", "Back"];
        entries(state, selected, texts.iter().map(|t| (*t).to_owned()))
    }

    fn take(&self, state: &mut State, entry: usize) -> Vec<Effect> {
        let unsaved = SCREENS.iter().find(|screen| screen.unsaved(state).is_some());
        match (entry, unsaved) {
            (0, Some(screen)) => {
                state.show(screen.id());
                screen.save(state)
            }
            (1, _) => job::ask_stop(state),
            _ => Vec::new(),
        }
    }
}

/// Names the run in progress: `the Power run`.
fn running(state: &State) -> String {
    state.board.job().map_or("another run".into(), |job| format!("the {} run", labs::by_id(job.spec.lab()).title()))
}

/// Formats when the run in progress ends, once known, after these words: ` (starts in about 40 s)`.
fn left(state: &State, words: &str) -> String {
    let left = state.board.job().and_then(|job| job.progress.as_ref()?.left);
    left.map_or(String::new(), |t| format!(" ({words} in {})", about(t)))
}

fn upper(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |c| format!("{}{}", c.to_uppercase(), chars.as_str()))
}

/// Asks what to do with the run in progress when a second one is requested.
pub(crate) struct SecondRun;

impl Picker for SecondRun {
    fn name(&self) -> &'static str {
        "second-run"
    }

    fn title(&self, state: &State) -> String {
        format!("{} is in progress", upper(&running(state)))
    }

    fn lines(&self, state: &State, selected: usize) -> Vec<Line<'static>> {
        let wait = match state.queue.len() {
            0 => format!("Run this after it{}", left(state, "starts")),
            1 => format!("Run this after it{} and the waiting one", left(state, "ends")),
            n => format!("Run this after it{} and the {n} waiting ones", left(state, "ends")),
        };
        let texts = [wait, "Replace it; its results so far are kept".into(), "Back".into()];
        entries(state, selected, texts.into_iter())
    }

    fn take(&self, state: &mut State, entry: usize) -> Vec<Effect> {
        match entry {
            0 => job::wait(state),
            1 => job::replace(state),
            _ => Vec::new(),
        }
    }
}

/// Lists the waiting runs, starting with the next; choosing one withdraws it.
pub(crate) struct WaitingRuns;

impl Picker for WaitingRuns {
    fn does(&self, _entry: usize) -> &'static str {
        "withdraw"
    }

    fn name(&self) -> &'static str {
        "waiting-runs"
    }

    fn title(&self, state: &State) -> String {
        format!("Waiting runs: {} withdraws", state.keymap.short_label("popup-accept"))
    }

    fn lines(&self, state: &State, selected: usize) -> Vec<Line<'static>> {
        // A run's text has the settings that distinguish it from the other waiting runs, the run in progress and earlier runs.
        let runs = || state.board.runs.iter().map(|run| &run.job.spec).chain(&state.queue);
        let text = |spec: &Spec| {
            let (lab, common) = (labs::by_id(spec.lab()).title(), spec.common());
            let apart = labs::apart(spec, runs().filter(|other| other.lab() == spec.lab()));
            match apart.is_empty() {
                true => {
                    let models = shortened(&common.models().join(", "), MODELS);
                    format!("{lab}: {} on {models}", printable(common.subject()))
                }
                false => format!("{lab}: {}", shortened(&apart.join(", "), APART)),
            }
        };
        entries(state, selected, state.queue.iter().map(text))
    }

    fn take(&self, state: &mut State, entry: usize) -> Vec<Effect> {
        job::withdraw(state, entry)
    }
}

/// Asks what to do with files that a figure or document would replace.
pub(crate) struct Overwrite;

/// An export that waits for a decision, and the files that it would replace.
#[derive(Debug, Clone, PartialEq)]
pub struct Held {
    pub what: Kept,
    pub files: Vec<PathBuf>,
}

/// Output waiting for a decision on existing files.
#[derive(Debug, Clone, PartialEq)]
pub enum Kept {
    Figure(Box<Export>),
    Document(Box<Document>),
}

impl Picker for Overwrite {
    fn name(&self) -> &'static str {
        "overwrite"
    }

    fn title(&self, state: &State) -> String {
        let first = state.held.as_ref().and_then(|held| held.files.first());
        first.map_or(String::new(), |file| format!("{} exists", printable(&file.display().to_string())))
    }

    fn lines(&self, state: &State, selected: usize) -> Vec<Line<'static>> {
        let files = state.held.as_ref().map_or(0, |held| held.files.len());
        let replace = if files == 1 { "Replace it".to_owned() } else { format!("Replace the {files} files") };
        let texts = ["Keep it and write under another name".into(), replace, "Write nothing".into()];
        entries(state, selected, texts.into_iter())
    }

    fn take(&self, state: &mut State, entry: usize) -> Vec<Effect> {
        let Some(held) = state.held.take() else { return Vec::new() };
        let existing = match entry {
            0 => Existing::Keep,
            1 => Existing::Replace,
            _ => return Vec::new(),
        };
        vec![match held.what {
            Kept::Figure(export) => Effect::Export(export, existing),
            Kept::Document(document) => Effect::Save(document, existing),
        }]
    }
}
