//! Questions that the frame asks before it does something that cannot be taken back.

use std::path::PathBuf;

use ratatui::text::Line;

use super::{Picker, mark};
use crate::base::text::printable;
use crate::figure::Figure;
use crate::tui::action::{Effect, Existing};
use crate::tui::reduce::job;
use crate::tui::state::State;
use crate::tui::theme::Role;

fn entries(state: &State, selected: usize, texts: impl Iterator<Item = String>) -> Vec<Line<'static>> {
    let line = |(i, text): (usize, String)| {
        let role = if i == selected { Role::Selection } else { Role::Text };
        Line::styled(format!("{}{text}", mark(state, i == selected)), state.theme().style(role))
    };
    texts.enumerate().map(line).collect()
}

/// A run is in progress: what now?
pub struct Quit;

const QUIT: [&str; 3] = ["Stop the run cleanly, then quit", "Quit at once", "Back"];

impl Picker for Quit {
    fn name(&self) -> &'static str {
        "quit"
    }

    fn title(&self, _: &State) -> String {
        "A run is in progress".into()
    }

    fn lines(&self, state: &State, selected: usize) -> Vec<Line<'static>> {
        entries(state, selected, QUIT.iter().map(|t| (*t).to_owned()))
    }

    fn take(&self, state: &mut State, entry: usize) -> Vec<Effect> {
        match entry {
            0 => job::stop_then_quit(state),
            1 => job::quit(state),
            _ => Vec::new(),
        }
    }
}

/// A figure would replace files: what now?
pub struct Overwrite;

/// A figure that waits for the answer, and the files that are in its way.
#[derive(Debug, Clone, PartialEq)]
pub struct Held {
    /// The figure.
    pub figure: Box<Figure>,
    /// The files.
    pub files: Vec<PathBuf>,
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
        let texts = [replace, "Keep it and write under a free name".into(), "Write nothing".into()];
        entries(state, selected, texts.into_iter())
    }

    fn take(&self, state: &mut State, entry: usize) -> Vec<Effect> {
        let Some(held) = state.held.take() else { return Vec::new() };
        let existing = match entry {
            0 => Existing::Replace,
            1 => Existing::Keep,
            _ => return Vec::new(),
        };
        vec![Effect::Export(held.figure, existing)]
    }
}
