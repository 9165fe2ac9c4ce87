//! State kept between starts: appearance, the last lab, each lab's settings, added models and data.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::action::ExportOptions;
use super::popups::{self, Choice};
use super::screens::{SCREENS, labs, screen};
use super::state::{Glyphs, State};
use base::Problem;
use labs::Spec;

/// Maximum file size, in bytes.
const MAX_BYTES: u64 = 1 << 20;
/// Maximum number of models and of data sets kept.
const MOST: usize = 50;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    pub theme: String,
    /// `braille`, `blocks` or `ascii`.
    pub glyphs: String,
    pub lab: String,
    /// Style, width and formats of exported figures, by name.
    pub export: Vec<String>,
    /// Folder of exported figures; empty for the working directory.
    pub export_folder: PathBuf,
    /// Models added by the user.
    pub models: Vec<String>,
    /// Data sets added by the user.
    pub data: Vec<String>,
    /// Settings of each lab, as a spec in TOML.
    pub settings: BTreeMap<String, String>,
}

const GLYPHS: [(&str, Glyphs); 3] =
    [("braille", Glyphs::Braille), ("blocks", Glyphs::Blocks), ("ascii", Glyphs::Ascii)];

impl Memory {
    /// Collects the parts of the state that are saved.
    pub fn of(state: &State) -> Self {
        let added = |mut names: Vec<String>| {
            names.truncate(MOST);
            names
        };
        let added_by_user = |name: &String| !model::builtin::BUILTINS.iter().any(|b| b.name == name);
        let models = state.board.dossiers.iter().filter(|d| d.inspection.is_some()).map(|d| d.model.clone());
        let data = state.board.sets.iter().map(|d| d.set.clone());
        let spec = |s: &'static dyn super::screen::Screen| {
            let spec = s.setup()?.spec(state);
            Some((s.id().0.to_owned(), spec.to_toml()))
        };
        Self {
            theme: state.theme().name.clone(),
            glyphs: GLYPHS.iter().find(|(_, g)| *g == state.view.glyphs).map_or("", |(name, _)| name).to_owned(),
            lab: state.view.lab.0.to_owned(),
            export: Choice::all().filter(|c| c.is_on(&state.view.export)).map(Choice::name).collect(),
            export_folder: state.view.export.folder.clone(),
            models: added(models.filter(added_by_user).collect()),
            data: added(data.filter(|set| set.contains(['/', '\\'])).collect()),
            settings: labs().filter_map(spec).collect(),
        }
    }

    /// Restores the saved state, skipping parts that are damaged or were saved by another version.
    pub(crate) fn restore(&self, state: &mut State) {
        for s in SCREENS {
            let spec = self.settings.get(s.id().0).and_then(|text| Spec::parse(text, "state").ok());
            if let (Some(setup), Some(spec)) = (s.setup(), spec)
                && spec.lab() == setup.lab()
                && spec.check("state").is_ok()
            {
                setup.take(state, &spec);
            }
        }
        if let Some(lab) = labs().find(|s| s.id().0 == self.lab) {
            state.view.lab = lab.id();
        }
        self.restore_look(state);
        debug_assert!(screen(state.view.lab).setup().is_some());
    }

    /// Restores the appearance and the export options, which replays share.
    pub(crate) fn restore_look(&self, state: &mut State) {
        if let Some(at) = state.themes.iter().position(|theme| theme.name == self.theme) {
            state.view.theme = at;
        }
        if let Some((_, glyphs)) = GLYPHS.iter().find(|(name, _)| *name == self.glyphs) {
            state.view.glyphs = *glyphs;
        }
        state.view.export = ExportOptions { folder: self.export_folder.clone(), ..popups::named(&self.export) };
    }

    /// Returns this state with the appearance and the export options of another. Used after a replay, whose settings are not the user's.
    pub fn with_look_of(self, other: &Self) -> Self {
        let Self { theme, glyphs, export, export_folder, .. } = other.clone();
        Self { theme, glyphs, export, export_folder, ..self }
    }

    /// Reads the saved state; `None` without a file. A damaged file is moved aside.
    ///
    /// # Errors
    /// The reason why it cannot be read, and where it was moved.
    pub fn read(path: &Path) -> Result<Option<Self>, Problem> {
        let text = match base::read::text(path, MAX_BYTES) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(aside(path, &format!("cannot be read: {e}"))),
        };
        toml::from_str(&text).map(Some).map_err(|e: toml::de::Error| aside(path, e.message()))
    }

    /// Writes the state atomically.
    ///
    /// # Errors
    /// The reason why it cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), Problem> {
        let fail = |what: &dyn std::fmt::Display| {
            Problem::new(
                format!("the settings could not be saved for the next start: {what}"),
                path.display().to_string(),
                "",
            )
        };
        let text = toml::to_string(self).map_err(|e| fail(&e))?;
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|e| fail(&e))?;
        }
        base::files::write_whole(path, text.as_bytes()).map_err(|e| fail(&e))
    }
}

/// Moves a damaged file aside and reports it.
fn aside(path: &Path, why: &str) -> Problem {
    let to = path.with_extension("damaged");
    let moved = std::fs::rename(path, &to).is_ok();
    let hint = if moved { format!("it was moved to {}", to.display()) } else { "remove it".to_owned() };
    Problem {
        what: format!("the saved settings are damaged: {}", base::text::printable_label(why)),
        r#where: path.display().to_string(),
        hint,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Start;

    #[test]
    fn saved_state_is_restored() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("probity/state.toml");
        assert_eq!(Memory::read(&path), Ok(None));
        let mut state = State::new(Start::new());
        state.view.glyphs = Glyphs::Ascii;
        state.view.theme = 1;
        state.view.export = popups::named(&["paper".into(), "84 mm".into(), "pdf".into()]);
        state.view.export.folder = "/figures".into();
        state.show(crate::screens::power::ID);
        state.screens.interventions.spec.seed = 7;
        Memory::of(&state).write(&path).unwrap();
        let memory = Memory::read(&path).unwrap().unwrap();
        let mut again = State::new(Start::new());
        memory.restore(&mut again);
        assert_eq!((again.view.glyphs, again.view.theme), (Glyphs::Ascii, 1));
        assert_eq!(again.view.export, state.view.export);
        assert_eq!((again.view.lab, again.screens.interventions.spec.seed), (crate::screens::power::ID, 7));
    }

    /// Regression: every replay used to forget the folder chosen for figures.
    #[test]
    fn replay_uses_and_saves_the_users_appearance_and_export() {
        let mut live = State::new(Start::new());
        live.view.export.folder = "/figures".into();
        live.view.theme = 1;
        live.screens.interventions.spec.seed = 7;
        let kept = Memory::of(&live);
        let replay = Some(crate::state::ReplayState::new("s".into(), 1.0, 1.0));
        let mut replay = State::new(Start { memory: Some(kept.clone()), replay, ..Start::new() });
        assert_eq!((&replay.view.export, replay.view.theme), (&live.view.export, 1));
        assert_eq!(replay.screens.interventions.spec.seed, 0, "the settings are those of the recording");
        replay.view.export.folder = "/others".into();
        let after = kept.clone().with_look_of(&Memory::of(&replay));
        assert_eq!(after, Memory { export_folder: "/others".into(), ..kept });
    }

    #[test]
    fn damaged_file_is_moved_and_reported() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.toml");
        std::fs::write(&path, "theme = [broken").unwrap();
        let problem = Memory::read(&path).unwrap_err();
        assert!(problem.hint.contains("state.damaged"), "{problem:?}");
        assert_eq!(Memory::read(&path), Ok(None));
        // Settings that cannot be parsed are skipped.
        let memory = Memory { settings: [("interventions".into(), "lab = 3".into())].into(), ..Memory::default() };
        let mut state = State::new(Start::new());
        let before = state.screens.interventions.spec.clone();
        memory.restore(&mut state);
        assert_eq!(state.screens.interventions.spec, before);
    }
}
