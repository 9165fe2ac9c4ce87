//! The screens: each has a folder, and a line in the registry.

pub mod data;
pub mod home;
pub mod interventions;
pub mod models;
pub mod power;
pub mod prompts;
pub mod saliency;
pub mod shards;

use super::screen::{Screen, ScreenId};
use super::state::{Start, State};

/// Defines the screens, one line each in tab order; a screen's folder provides a static `SCREEN` and its view state `View`.
macro_rules! registry {
    ($($name:ident: $doc:literal;)+) => {
        #[derive(Debug, Clone)]
        pub struct Views { $( #[doc = $doc] pub $name: $name::View, )+ }

        impl Views {
            pub(crate) fn new(start: &Start) -> Self {
                Self { $( $name: $name::View::new(start), )+ }
            }
        }

        pub(crate) static SCREENS: &[&dyn Screen] = &[ $( &$name::SCREEN, )+ ];
    };
}

registry! {
    home: "The opening screen.";
    prompts: "The part of a prompt probe's result that is due to the model.";
    interventions: "Completeness, selectivity and reliability of interventions.";
    power: "The amount of data that a comparison needs.";
    saliency: "The tokens that a prediction depends on.";
    models: "The available models.";
    data: "Data sets.";
    shards: "A grid computed by other processes.";
}

/// The screen with this identifier, or else the first one.
pub fn screen(id: ScreenId) -> &'static dyn Screen {
    SCREENS.iter().copied().find(|s| s.id() == id).unwrap_or(SCREENS[0])
}

/// The screens that run an experiment, in tab order.
pub fn labs() -> impl Iterator<Item = &'static dyn Screen> {
    SCREENS.iter().copied().filter(|s| s.setup().is_some())
}

pub(crate) fn open_model(state: &mut State, name: &str) {
    models::open_at(state, name);
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;

    #[test]
    fn identifiers_titles_and_panes_are_distinct() {
        for (i, a) in SCREENS.iter().enumerate() {
            assert!(SCREENS[..i].iter().all(|b| a.id() != b.id() && a.title() != b.title()));
            assert!(a.panes().contains(&a.first()), "{}", a.title());
            assert_eq!(a.tab().context, crate::commands::Context::Global, "{}", a.title());
            let mut panes = a.panes();
            panes.sort_unstable();
            panes.dedup();
            assert_eq!(panes.len(), a.panes().len(), "{}", a.title());
            assert_eq!(screen(a.id()).title(), a.title());
        }
        assert!(labs().count() >= 1);
        assert_eq!(screen(ScreenId("nowhere")).id(), SCREENS[0].id());
    }

    fn sources(folder: &Path) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                found.extend(sources(&path));
            } else if path.extension().is_some_and(|e| e == "rs") {
                found.push(path);
            }
        }
        found
    }

    #[test]
    fn screens_are_named_only_in_their_folder_and_the_registry() {
        let tui = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../src/tui");
        for path in sources(&tui) {
            if path == tui.join("screens/mod.rs") || path.ends_with("tests.rs") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            let lines = code.lines().map(str::trim).filter(|l| !l.starts_with("//"));
            for (number, line) in lines.enumerate() {
                for other in SCREENS.iter().filter(|s| !path.starts_with(tui.join("screens").join(s.id().0))) {
                    let name = other.id().0;
                    let mut forms = vec![format!("screens::{name}"), format!("screens.{name}")];
                    if other.setup().is_some() {
                        forms.push(name.to_owned());
                        forms.push(other.title().to_owned());
                    }
                    for form in forms {
                        assert!(!line.contains(&form), "{}: code line {number} names {form}", path.display());
                    }
                }
            }
        }
    }
}
