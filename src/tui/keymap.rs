//! Keys to commands: the table's defaults, patched by the user's file.

use std::collections::BTreeMap;
use std::path::Path;

use super::commands::{COMMANDS, Context, Entry, number_of};
use super::key::Key;
use crate::base::Problem;
use crate::base::text::printable;

/// The shipped keymap, which spells out the defaults.
pub const DEFAULT_TOML: &str = include_str!("../../assets/keymap.toml");
/// Largest keymap file that is read.
const MAX_BYTES: u64 = 1 << 20;

/// Which key does what.
#[derive(Debug, Clone, PartialEq)]
pub struct Keymap {
    /// Keys per command, in the order of the table.
    keys: Vec<Vec<Key>>,
}

impl Default for Keymap {
    fn default() -> Self {
        let parse = |text: &&str| text.parse().ok();
        Self { keys: COMMANDS.iter().map(|e| e.keys.iter().filter_map(parse).collect()).collect() }
    }
}

impl Keymap {
    /// The keys of a command; none where there is no such command.
    #[must_use]
    pub fn keys(&self, name: &str) -> &[Key] {
        number_of(name).map_or(&[], |i| &self.keys[i])
    }

    /// The command of a key in the first of the contexts that knows it.
    #[must_use]
    pub fn command(&self, key: Key, contexts: &[Context]) -> Option<&'static Entry> {
        contexts.iter().find_map(|context| {
            let mut all = COMMANDS.iter().zip(&self.keys);
            all.find(|(e, keys)| e.context == *context && keys.contains(&key)).map(|(e, _)| *e)
        })
    }

    /// The keys of a command as text, `h/left`.
    #[must_use]
    pub fn label(&self, name: &str) -> String {
        let keys: Vec<String> = self.keys(name).iter().map(Key::to_string).collect();
        keys.join("/")
    }

    /// The first key of a command as text.
    #[must_use]
    pub fn short_label(&self, name: &str) -> String {
        self.keys(name).first().map_or(String::new(), Key::to_string)
    }

    /// The defaults patched by a file, with what is wrong in it. No file is no problem.
    pub fn read(path: &Path) -> (Self, Vec<Problem>) {
        let origin = path.display().to_string();
        let trouble = |what: String| {
            let hint = "the default keys are used; see assets/keymap.toml for the form".into();
            (Self::default(), vec![Problem { what, r#where: origin.clone(), hint }])
        };
        match std::fs::metadata(path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return (Self::default(), Vec::new()),
            Err(e) => return trouble(format!("cannot be read: {e}")),
            Ok(meta) if meta.len() > MAX_BYTES => return trouble("is larger than 1 MiB".into()),
            Ok(_) => {}
        }
        match std::fs::read_to_string(path) {
            Ok(text) => Self::parse(&text, &origin),
            Err(e) => trouble(format!("cannot be read: {e}")),
        }
    }

    /// The defaults patched by TOML text: under `[keys]`, a command's name and its list of keys. A command that the
    /// text names has exactly those keys; a key that two commands claim goes to the one that the text names.
    pub fn parse(text: &str, origin: &str) -> (Self, Vec<Problem>) {
        #[derive(serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct File {
            #[serde(default)]
            keys: BTreeMap<String, Vec<String>>,
        }
        let mut problems = Vec::new();
        let mut report = |what: String, hint: &str| {
            problems.push(Problem { what, r#where: printable(origin).into_owned(), hint: hint.to_owned() });
        };
        let mut keymap = Self::default();
        let file: File = match toml::from_str(text) {
            Ok(file) => file,
            Err(e) => {
                let line = e.span().map(|s| 1 + text[..s.start.min(text.len())].matches('\n').count());
                let at = line.map_or(String::new(), |l| format!("line {l}: "));
                report(format!("{at}{}", printable(e.message().trim())), "the default keys are used");
                return (keymap, problems);
            }
        };
        let mut named = Vec::new();
        for (name, texts) in &file.keys {
            let Some(command) = number_of(name) else {
                let what = format!("`{}` is no command", printable(name));
                report(what, "the help (?) lists the names of the commands");
                continue;
            };
            let mut keys = Vec::new();
            for text in texts {
                match text.parse() {
                    Ok(key) => keys.push(key),
                    Err(e) => report(format!("{name}: {e}"), "the other keys of the command still count"),
                }
            }
            if keys.is_empty() {
                report(format!("{name} has no key"), "its default keys still count");
                continue;
            }
            keymap.keys[command] = keys;
            named.push(command);
        }
        keymap.settle(&named, &mut report);
        (keymap, problems)
    }

    /// Takes keys that two commands claim from the one that the user did not name, and reports what remains.
    fn settle(&mut self, named: &[usize], report: &mut impl FnMut(String, &str)) {
        for &winner in named {
            let taken = COMMANDS[winner];
            for (i, other) in COMMANDS.iter().enumerate().filter(|(i, e)| *i != winner && meet(taken, e)) {
                let mut claimed = self.keys[winner].clone();
                if other.context != taken.context && other.context != Context::Everywhere {
                    // A screen's own key goes before the frame's by design; only a key that is new to the winner is meant.
                    claimed.retain(|key| !taken.keys.contains(&key.to_string().as_str()));
                }
                let keys = &mut self.keys[i];
                let Some(key) = keys.iter().copied().find(|k| claimed.contains(k)) else { continue };
                if named.contains(&i) {
                    if winner < i {
                        let what = format!("`{key}` is given to both {} and {}", taken.name, other.name);
                        report(what, "give each its own key");
                    }
                } else {
                    keys.retain(|k| !claimed.contains(k));
                    let what = format!("`{key}` now means {} and no longer {}", taken.name, other.name);
                    report(what, "name both commands in the keymap to silence this");
                }
            }
        }
    }
}

/// Whether a key that is given to `winner` must be taken from `other`: their contexts meet, and `winner` does not go first anyway.
fn meet(winner: &Entry, other: &Entry) -> bool {
    let (a, b) = (winner.context, other.context);
    let beneath = matches!((a, b), (Context::Global, Context::Screen(_)));
    a == b || a == Context::Everywhere || b == Context::Everywhere || beneath
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_key_parses() {
        let keymap = Keymap::default();
        for e in COMMANDS.iter() {
            assert_eq!(keymap.keys(e.name).len(), e.keys.len(), "{}", e.name);
        }
    }

    #[test]
    fn the_shipped_keymap_spells_out_the_defaults() {
        let (keymap, problems) = Keymap::parse(DEFAULT_TOML, "shipped");
        assert_eq!((keymap, problems), (Keymap::default(), Vec::new()));
        for e in COMMANDS.iter() {
            assert!(DEFAULT_TOML.contains(&format!("\n{} = [", e.name)), "{} is missing", e.name);
        }
    }

    #[test]
    fn a_user_key_wins_and_the_loss_is_reported() {
        let (keymap, problems) = Keymap::parse("[keys]\nrun = [\"r\", \"q\"]", "mine");
        let command = keymap.command("q".parse().unwrap(), &[Context::Global]);
        assert_eq!(command.map(|e| e.name), Some("run"));
        assert_eq!((keymap.label("run"), keymap.short_label("run")), ("r/q".into(), "r".into()));
        assert!(problems[0].what.contains("no longer quit"), "{problems:?}");
    }

    #[test]
    fn mistakes_are_reported_and_leave_the_rest() {
        let text =
            "[keys]\nzoom = [\"hyper-z\"]\nfly = [\"f\"]\nhelp = [\"f1\"]\nrun = [\"f2\"]\npause = [\"f2\"]";
        let (keymap, problems) = Keymap::parse(text, "mine");
        assert_eq!(keymap.label("help"), "f1");
        assert_eq!(keymap.label("zoom"), "z");
        let all: String = problems.iter().map(ToString::to_string).collect();
        for part in ["hyper-z", "`fly` is no command", "both run and pause"] {
            assert!(all.contains(part), "{all}");
        }
        let (keymap, problems) = Keymap::parse("[keys\nrun", "mine");
        assert_eq!(keymap, Keymap::default());
        assert!(problems[0].what.contains("line 1"), "{problems:?}");
    }

    #[test]
    fn a_key_given_to_the_frame_is_taken_from_the_screens_unless_it_was_its_default() {
        let methods = || "m".parse().unwrap();
        let (keymap, problems) = Keymap::parse("[keys]\nzoom = [\"m\"]", "mine");
        for screen in crate::tui::screens::labs() {
            let command = keymap.command(methods(), &[Context::Screen(screen.id()), Context::Global]);
            assert_eq!(command.map(|e| e.name), Some("zoom"), "{problems:?}");
        }
        let (keymap, problems) = Keymap::parse("[keys]\nprovenance = [\"i\"]", "mine");
        assert_eq!((keymap, problems), (Keymap::default(), Vec::new()), "`i` inspects a model as before");
    }

    #[test]
    fn a_command_that_does_not_exist_has_no_keys() {
        assert!(Keymap::default().keys("fly").is_empty());
        assert_eq!(Keymap::default().label("fly"), "");
    }
}
