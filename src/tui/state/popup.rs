//! Popups over the panes, and text fields.

use std::fmt;

use super::State;
use crate::action::Effect;
use crate::popups::{Page, Picker};

/// Something on top of the panes.
#[derive(Clone)]
pub enum Popup {
    /// Every key, searchable.
    Help {
        /// Text searched for.
        query: String,
        /// Lines scrolled away.
        scroll: usize,
    },
    /// Every command by name.
    Palette {
        /// Typed text.
        query: String,
        /// Index of the match under the cursor.
        selected: usize,
    },
    /// Something to read.
    Page {
        page: &'static dyn Page,
        /// Lines scrolled away.
        scroll: usize,
        /// What must occur in an entry that is shown.
        filter: String,
    },
    /// The menu of the shown screen.
    Menu {
        /// Index of the entry under the cursor.
        selected: usize,
    },
    /// Something to choose from.
    Pick {
        picker: &'static dyn Picker,
        /// Index of the entry under the cursor, among all entries.
        selected: usize,
        /// What must occur in an entry that is listed.
        filter: String,
    },
}

impl Popup {
    /// Identifies the popup.
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

/// A line of text that is being typed.
#[derive(Debug, Clone)]
pub struct TextEntry {
    pub purpose: Purpose,
    /// Typed text.
    pub buffer: String,
    /// Characters between the caret and the end.
    pub after: usize,
    /// True while the text is the one that was there at first: what is typed then replaces it.
    pub(crate) untouched: bool,
    /// Why it cannot be taken.
    pub error: Option<String>,
}

impl TextEntry {
    /// A field for a purpose, with text already in it.
    pub(crate) fn new(purpose: Purpose, buffer: impl Into<String>) -> Self {
        Self { purpose, buffer: buffer.into(), after: 0, untouched: true, error: None }
    }

    /// Byte offset of the caret.
    pub(crate) fn caret(&self) -> usize {
        let from_the_end = self.buffer.char_indices().rev().take(self.after).last();
        from_the_end.map_or(self.buffer.len(), |(at, _)| at)
    }
}

/// Purpose of a typed text.
#[derive(Debug, Clone)]
pub enum Purpose {
    /// A row of the setup, by its key.
    Setting(String),
    /// Another purpose.
    Ask(&'static Prompt),
}

/// A purpose of a text field.
pub struct Prompt {
    pub label: &'static str,
    /// Kind of text.
    pub hint: &'static str,
    /// Accepts the typed text; the error is the reason for a rejection.
    pub take: fn(&mut State, &str) -> Result<Vec<Effect>, String>,
    /// Follows the typing, key by key.
    pub follow: Option<fn(&mut State, &str) -> Vec<Effect>>,
}

impl fmt::Debug for Prompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label)
    }
}
