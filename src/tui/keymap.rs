//! Assignment of keys to commands: defaults, overridden by the user's file.

use std::collections::BTreeMap;
use std::path::Path;

use super::commands::{COMMANDS, Context, Entry, number_of};
use super::key::Key;
use base::Problem;
use base::text::printable;

/// The shipped keymap, which lists the defaults.
#[cfg(test)]
pub(crate) const DEFAULT_TOML: &str = include_str!("../../assets/keymap.toml");
/// Maximum size of a keymap file, in bytes.
const MAX_BYTES: u64 = 1 << 20;

#[derive(Debug, Clone, PartialEq)]
pub struct Keymap {
    /// Keys of each command, in the order of the table.
    keys: Vec<Vec<Key>>,
}

impl Default for Keymap {
    fn default() -> Self {
        let parse = |text: &&str| text.parse().ok();
        Self { keys: COMMANDS.iter().map(|e| e.keys.iter().filter_map(parse).collect()).collect() }
    }
}

impl Keymap {
    /// The keys of a command; empty for an unknown command.
    pub fn keys(&self, name: &str) -> &[Key] {
        number_of(name).map_or(&[], |i| &self.keys[i])
    }

    /// The command of a key in the first of the contexts that has the key.
    pub fn command(&self, key: Key, contexts: &[Context]) -> Option<&'static Entry> {
        contexts.iter().find_map(|context| {
            let mut all = COMMANDS.iter().zip(&self.keys);
            all.find(|(e, keys)| e.context == *context && keys.contains(&key)).map(|(e, _)| *e)
        })
    }

    /// Formats the keys of a command: `h/left`.
    pub fn label(&self, name: &str) -> String {
        let keys: Vec<String> = self.keys(name).iter().map(Key::to_string).collect();
        keys.join("/")
    }

    /// Formats the first key of a command.
    pub(crate) fn short_label(&self, name: &str) -> String {
        self.keys(name).first().map_or(String::new(), Key::to_string)
    }

    /// Reads the user's file over the defaults, and returns its problems. A missing file is not a problem.
    pub fn read(path: &Path) -> (Self, Vec<Problem>) {
        let origin = path.display().to_string();
        let trouble = |what: String| {
            let hint = "the default keys are used; see assets/keymap.toml for the form".into();
            (Self::default(), vec![Problem { what, r#where: origin.clone(), hint }])
        };
        match base::read::text(path, MAX_BYTES) {
            Ok(text) => Self::parse(&text, &origin),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => (Self::default(), Vec::new()),
            Err(e) => trouble(format!("cannot be read: {e}")),
        }
    }

    /// Overrides the defaults with TOML text that lists commands and their keys under `[keys]`. A listed command has exactly those keys. If
    /// two commands have the same key, it belongs to the listed one.
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
                let what = format!("`{}` is not a command", printable(name));
                report(what, "the help (?) lists the names of the commands");
                continue;
            };
            let mut keys = Vec::new();
            for text in texts {
                match text.parse() {
                    Ok(key) => keys.push(key),
                    Err(e) => report(format!("{name}: {e}"), "the other keys of this command still apply"),
                }
            }
            if keys.is_empty() && !COMMANDS[command].keys.is_empty() {
                report(format!("{name} has no key"), "its default keys still apply");
                continue;
            }
            keymap.keys[command] = keys;
            named.push(command);
        }
        keymap.settle(&named, &mut report);
        (keymap, problems)
    }

    /// Resolves conflicts: a key of two commands goes to the one that the user listed. Reports each conflict.
    fn settle(&mut self, named: &[usize], report: &mut impl FnMut(String, &str)) {
        for &winner in named {
            let taken = COMMANDS[winner];
            for (i, other) in COMMANDS.iter().enumerate().filter(|(i, e)| *i != winner && meet(taken, e)) {
                let mut claimed = self.keys[winner].clone();
                if other.context != taken.context && other.context != Context::Everywhere {
                    // A screen's default keys may override the frame's, so only keys that the user added to the winner are conflicts.
                    claimed.retain(|key| !taken.keys.contains(&key.to_string().as_str()));
                }
                let keys = &mut self.keys[i];
                let Some(key) = keys.iter().copied().find(|k| claimed.contains(k)) else { continue };
                if named.contains(&i) {
                    if winner < i {
                        let what = format!("`{key}` is assigned to both {} and {}", taken.name, other.name);
                        report(what, "assign a different key to each");
                    }
                } else {
                    keys.retain(|k| !claimed.contains(k));
                    let what = format!("`{key}` now means {} and no longer {}", taken.name, other.name);
                    report(what, "list both commands in the keymap to avoid this message");
                }
            }
        }
    }
}

/// True if a key given to `winner` must be removed from `other`: their contexts overlap, and `winner` does not already take precedence.
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
    fn shipped_keymap_lists_the_defaults() {
        let (keymap, problems) = Keymap::parse(DEFAULT_TOML, "shipped");
        assert_eq!((keymap, problems), (Keymap::default(), Vec::new()));
        for e in COMMANDS.iter() {
            assert!(DEFAULT_TOML.contains(&format!("\n{} = [", e.name)), "{} is missing", e.name);
        }
    }

    #[test]
    fn user_key_wins_and_conflict_is_reported() {
        let (keymap, problems) = Keymap::parse("[keys]\nrun = [\"r\", \"q\"]", "mine");
        let command = keymap.command("q".parse().unwrap(), &[Context::Global]);
        assert_eq!(command.map(|e| e.name), Some("run"));
        assert_eq!((keymap.label("run"), keymap.short_label("run")), ("r/q".into(), "r".into()));
        assert!(problems[0].what.contains("no longer quit"), "{problems:?}");
    }

    #[test]
    fn mistakes_are_reported_and_other_keys_apply() {
        let text = "[keys]\nzoom = [\"hyper-z\"]\nfly = [\"f\"]\nhelp = [\"f1\"]\nrun = [\"f2\"]\npause = [\"f2\"]";
        let (keymap, problems) = Keymap::parse(text, "mine");
        assert_eq!(keymap.label("help"), "f1");
        assert_eq!(keymap.label("zoom"), "z");
        let all: String = problems.iter().map(ToString::to_string).collect();
        for part in ["hyper-z", "`fly` is not a command", "both run and pause"] {
            assert!(all.contains(part), "{all}");
        }
        let (keymap, problems) = Keymap::parse("[keys\nrun", "mine");
        assert_eq!(keymap, Keymap::default());
        assert!(problems[0].what.contains("line 1"), "{problems:?}");
    }

    #[test]
    fn user_key_of_frame_overrides_screens_unless_default() {
        let methods = || "m".parse().unwrap();
        let (keymap, problems) = Keymap::parse("[keys]\nzoom = [\"m\"]", "mine");
        for screen in crate::screens::labs() {
            let command = keymap.command(methods(), &[Context::Screen(screen.id()), Context::Global]);
            assert_eq!(command.map(|e| e.name), Some("zoom"), "{problems:?}");
        }
        let (keymap, problems) = Keymap::parse("[keys]\nprovenance = [\"i\"]", "mine");
        assert_eq!((keymap, problems), (Keymap::default(), Vec::new()), "`i` inspects a model as before");
    }

    #[test]
    fn unknown_command_has_no_keys() {
        assert!(Keymap::default().keys("fly").is_empty());
        assert_eq!(Keymap::default().label("fly"), "");
    }

    #[test]
    fn unreadable_keymap_is_reported_and_defaults_apply() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keymap.toml");
        assert_eq!(Keymap::read(&path), (Keymap::default(), Vec::new()), "a missing file is allowed");
        std::fs::write(&path, [0xff, 0xfe]).unwrap();
        std::fs::write(folder.path().join("large.toml"), vec![b'#'; (MAX_BYTES + 1) as usize]).unwrap();
        for (path, part) in [
            (path.clone(), "cannot be read"),
            (folder.path().join("large.toml"), "larger than the limit of 1.0 MB"),
            (folder.path().to_owned(), "cannot be read"),
        ] {
            let (keymap, problems) = Keymap::read(&path);
            assert_eq!(keymap, Keymap::default());
            assert!(problems.len() == 1 && problems[0].what.contains(part), "{problems:?}");
            assert!(problems[0].r#where == path.display().to_string() && !problems[0].hint.is_empty());
        }
        std::fs::write(&path, "[keys]\nzoom = [\"f9\"]").unwrap();
        assert_eq!(Keymap::read(&path).0.label("zoom"), "f9");
    }

    #[test]
    fn command_without_usable_key_keeps_its_default() {
        let (keymap, problems) = Keymap::parse("[keys]\nzoom = []\nhelp = [\"nonsense-key\"]", "mine");
        assert_eq!((keymap.label("zoom"), keymap.label("help")), ("z".into(), "?".into()));
        assert!(problems.iter().any(|p| p.what == "zoom has no key"), "{problems:?}");
    }

    #[test]
    fn key_for_all_contexts_overrides_each_context() {
        let (keymap, problems) = Keymap::parse("[keys]\ncancel = [\"esc\"]", "mine");
        for context in Context::all(crate::screens::SCREENS[0].id()) {
            let command = keymap.command("esc".parse().unwrap(), &[context, Context::Everywhere]);
            assert_eq!(command.map(|e| e.name), Some("cancel"), "{context:?}");
        }
        assert!(problems.len() > 2, "each command that lost its key is named: {problems:?}");
    }
}
