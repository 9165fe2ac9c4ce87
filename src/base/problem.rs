//! The form in which the user sees errors: what failed, where, and what to do.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// The failure, in words.
    pub what: String,
    /// Location of the failure: file, line, model or method.
    pub r#where: String,
    /// Advice to the user.
    pub hint: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.r#where, self.what)?;
        if !self.hint.is_empty() {
            write!(f, " ({})", self.hint)?;
        }
        Ok(())
    }
}

impl std::error::Error for Problem {}

impl Problem {
    pub fn new(what: impl std::fmt::Display, place: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { what: what.to_string(), r#where: place.into(), hint: hint.into() }
    }
}
