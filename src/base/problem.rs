//! What failed, on what, and what to do about it: the one form in which errors reach the user.

use serde::{Deserialize, Serialize};

/// What failed, on what, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// What failed.
    pub what: String,
    /// On what: file, line, model, method.
    pub r#where: String,
    /// What the user can do.
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
    /// A problem from an error, a place and a hint.
    pub fn new(what: &dyn std::fmt::Display, place: &str, hint: &str) -> Self {
        Self { what: what.to_string(), r#where: place.into(), hint: hint.into() }
    }
}
