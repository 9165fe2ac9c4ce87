//! Provenance of a figure's numbers, shown under figures and stored in their files.

use super::{EngineInfo, Tagged};
use figure::Provenance;

/// The entries of a [`Provenance`], in display order.
#[derive(Debug, Default)]
pub struct Origin {
    entries: Vec<(String, String)>,
    terms: Vec<(String, String)>,
}

impl Origin {
    pub fn add(&mut self, key: &str, value: impl Into<String>) {
        self.entries.push((key.to_owned(), value.into()));
    }

    /// Adds explanations of the figure's terms to its caption.
    pub fn explain(&mut self, terms: impl IntoIterator<Item = (impl Into<String>, impl Into<String>)>) {
        self.terms.extend(terms.into_iter().map(|(name, meaning)| (name.into(), meaning.into())));
    }

    /// Adds the provenance shared by all results, taken from `one`: level of the intervals (with `rests_on`), seed, spec, and whether
    /// results are final.
    pub fn results<T>(&mut self, one: &Tagged<T>, all_final: bool, rests_on: &str) {
        if let Some(level) = one.level {
            self.add("intervals", format!("{} %{rests_on}", (level * 1e6).round() / 1e4));
        }
        if !all_final {
            self.add("state", "still being refined");
        }
        self.add("seed", one.seed.to_string());
        self.add("spec", one.spec.as_str());
    }

    /// Completes the provenance with the engine that computed the results.
    pub fn computed_by(mut self, engine: Option<&EngineInfo>) -> Provenance {
        if let Some(engine) = engine {
            self.add("device", engine.device.as_str());
            self.add("probity", engine.version.as_str());
        }
        Provenance { entries: self.entries, terms: self.terms, ..Provenance::default() }
    }
}
