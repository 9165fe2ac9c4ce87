//! Popups and text fields.

use std::fmt;

use super::State;
use crate::action::Effect;
use crate::popups::{Page, Picker};

#[derive(Clone)]
pub enum Popup {
    /// All keys, searchable.
    Help {
        query: String,
        /// Number of lines scrolled off.
        scroll: usize,
    },
    /// All commands by name.
    Palette {
        query: String,
        /// Index of the match under the cursor.
        selected: usize,
    },
    Page {
        page: &'static dyn Page,
        /// Number of lines scrolled off.
        scroll: usize,
        /// Text that shown entries must contain.
        filter: String,
    },
    Menu {
        /// Index of the entry under the cursor.
        selected: usize,
    },
    Pick {
        picker: &'static dyn Picker,
        /// Index of the entry under the cursor, among all entries.
        selected: usize,
        /// Text that listed entries contain.
        filter: String,
    },
}

impl Popup {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Popup::Help { .. } => "help",
            Popup::Palette { .. } => "palette",
            Popup::Menu { .. } => "menu",
            Popup::Page { page, .. } => page.name(),
            Popup::Pick { picker, .. } => picker.name(),
        }
    }
}

impl fmt::Debug for Popup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A line of text being typed.
#[derive(Debug, Clone)]
pub struct TextEntry {
    pub purpose: Purpose,
    pub buffer: String,
    /// Number of characters after the caret.
    pub after: usize,
    /// True while the initial text is unchanged; typing then replaces it.
    pub(crate) untouched: bool,
    /// Reason why the text is invalid.
    pub error: Option<String>,
}

impl TextEntry {
    pub(crate) fn new(purpose: Purpose, buffer: impl Into<String>) -> Self {
        Self { purpose, buffer: buffer.into(), after: 0, untouched: true, error: None }
    }

    /// Byte offset of the caret.
    pub(crate) fn caret(&self) -> usize {
        let from_the_end = self.buffer.char_indices().rev().take(self.after).last();
        from_the_end.map_or(self.buffer.len(), |(at, _)| at)
    }
}

#[derive(Debug, Clone)]
pub enum Purpose {
    /// A row of the settings, by its key.
    Setting(String),
    Ask(&'static Prompt),
}

pub struct Prompt {
    pub label: &'static str,
    pub hint: &'static str,
    /// Accepts the typed text; the error is the reason for a rejection.
    pub take: fn(&mut State, &str) -> Result<Vec<Effect>, String>,
    /// Called after every key.
    pub follow: Option<fn(&mut State, &str) -> Vec<Effect>>,
}

impl fmt::Debug for Prompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label)
    }
}
