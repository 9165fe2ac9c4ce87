//! Keys with modifiers, and their notation in keymaps and the help.

use std::fmt;
use std::str::FromStr;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use thiserror::Error;

/// A key with its modifiers. Upper-case letters have no shift modifier: `H`, not `shift-h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    pub code: KeyCode,
    pub modifiers: KeyModifiers,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "`{0}` is not a key; use a character, with or without ctrl-, alt- or shift- before it, or a name such as enter, esc, tab, left"
)]
pub struct KeyError(pub String);

/// Keys written by name; Shift-Tab arrives as a separate key.
const NAMES: [(&str, KeyCode); 15] = [
    ("enter", KeyCode::Enter),
    ("esc", KeyCode::Esc),
    ("space", KeyCode::Char(' ')),
    ("shift-tab", KeyCode::BackTab),
    ("tab", KeyCode::Tab),
    ("backspace", KeyCode::Backspace),
    ("delete", KeyCode::Delete),
    ("left", KeyCode::Left),
    ("right", KeyCode::Right),
    ("up", KeyCode::Up),
    ("down", KeyCode::Down),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
    ("pageup", KeyCode::PageUp),
    ("pagedown", KeyCode::PageDown),
];

impl Key {
    pub fn plain(code: KeyCode) -> Self {
        Self { code, modifiers: KeyModifiers::NONE }
    }

    /// The character that the key types, if any.
    pub fn character(self) -> Option<char> {
        match self.code {
            KeyCode::Char(c) if self.modifiers.is_empty() => Some(c),
            _ => None,
        }
    }
}

impl From<KeyEvent> for Key {
    fn from(event: KeyEvent) -> Self {
        let known = KeyModifiers::CONTROL | KeyModifiers::ALT | KeyModifiers::SHIFT;
        let mut modifiers = event.modifiers & known;
        if matches!(event.code, KeyCode::Char(_) | KeyCode::BackTab) {
            modifiers.remove(KeyModifiers::SHIFT);
        }
        Self { code: event.code, modifiers }
    }
}

impl FromStr for Key {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let bad = || KeyError(base::text::printable(text).into_owned());
        let mut rest = text;
        let mut modifiers = KeyModifiers::NONE;
        loop {
            let lower = rest.to_ascii_lowercase();
            if let Some((_, code)) = NAMES.iter().find(|(name, _)| *name == lower) {
                return Ok(Self { code: *code, modifiers });
            }
            let mut chars = rest.chars();
            if let (Some(c), None) = (chars.next(), chars.next()) {
                let ok = !c.is_control() && !modifiers.contains(KeyModifiers::SHIFT);
                return if ok { Ok(Self { code: KeyCode::Char(c), modifiers }) } else { Err(bad()) };
            }
            if let Some(number) = lower.strip_prefix('f').and_then(|n| n.parse::<u8>().ok()) {
                let code = KeyCode::F(number);
                return if (1..=12).contains(&number) { Ok(Self { code, modifiers }) } else { Err(bad()) };
            }
            let prefixes =
                [("ctrl-", KeyModifiers::CONTROL), ("alt-", KeyModifiers::ALT), ("shift-", KeyModifiers::SHIFT)];
            let (prefix, modifier) =
                prefixes.into_iter().find(|(prefix, _)| lower.starts_with(prefix)).ok_or_else(bad)?;
            modifiers |= modifier;
            rest = &rest[prefix.len()..];
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [(KeyModifiers::CONTROL, "ctrl-"), (KeyModifiers::ALT, "alt-"), (KeyModifiers::SHIFT, "shift-")];
        for (modifier, prefix) in parts {
            if self.modifiers.contains(modifier) {
                f.write_str(prefix)?;
            }
        }
        if let Some((name, _)) = NAMES.iter().find(|(_, code)| *code == self.code) {
            return f.write_str(name);
        }
        match self.code {
            KeyCode::Char(c) => write!(f, "{c}"),
            KeyCode::F(n) => write!(f, "f{n}"),
            other => write!(f, "{}", other.to_string().to_lowercase()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_notation_round_trips() {
        let mut texts: Vec<String> = NAMES.iter().map(|(name, _)| (*name).to_owned()).collect();
        texts.extend(["h", "H", "?", "ctrl-c", "alt-2", "shift-left", "f5", "-", "ctrl--", "é"].map(String::from));
        for text in texts {
            assert_eq!(text.parse::<Key>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn invalid_key_is_refused_with_printable_message() {
        for text in ["", "entre", "ctrl-", "shift-h", "f13", "\u{1b}[31m", "\n"] {
            let error = text.parse::<Key>().unwrap_err().to_string();
            assert!(!error.contains(char::is_control), "{error:?}");
        }
    }

    #[test]
    fn shifted_letter_is_upper_case() {
        let event = KeyEvent::new(KeyCode::Char('H'), KeyModifiers::SHIFT);
        assert_eq!(Key::from(event), "H".parse().unwrap());
        let tab = KeyEvent::new(KeyCode::BackTab, KeyModifiers::SHIFT);
        assert_eq!(Key::from(tab), "shift-tab".parse().unwrap());
    }

    #[test]
    fn only_unmodified_characters_are_typed() {
        let typed = |text: &str| text.parse::<Key>().unwrap().character();
        assert_eq!((typed("a"), typed("space"), typed("A")), (Some('a'), Some(' '), Some('A')));
        assert_eq!((typed("ctrl-a"), typed("alt-a"), typed("enter"), typed("f1")), (None, None, None, None));
        assert_eq!(Key::plain(KeyCode::Char('é')).character(), Some('é'));
    }

    #[test]
    fn key_names_ignore_case_and_unknown_modifiers() {
        assert_eq!("Enter".parse::<Key>(), "enter".parse());
        assert_eq!("CTRL-c".parse::<Key>(), "ctrl-c".parse());
        let event = KeyEvent::new(KeyCode::Char('a'), KeyModifiers::SUPER | KeyModifiers::CONTROL);
        assert_eq!(Key::from(event), "ctrl-a".parse().unwrap());
        let event = KeyEvent::new(KeyCode::Left, KeyModifiers::SHIFT);
        assert_eq!(Key::from(event), "shift-left".parse().unwrap(), "arrows keep their shift");
    }
}
