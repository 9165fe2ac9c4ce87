//! Parsing, checking and storing of specs of any lab.

use std::path::Path;

use lab::spec::{self, SpecError, hash_of, parse_error, toml_of, unknown_lab};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::{LABS, LabId, Preset, Spec, by_id};

impl Spec {
    pub fn read(path: &Path) -> Result<Self, SpecError> {
        Self::of_file(&spec::read_text(path)?, path)
    }

    /// Parses and checks the text of the file at `path`.
    pub(crate) fn of_file(text: &str, path: &Path) -> Result<Self, SpecError> {
        let origin = path.display().to_string();
        let mut spec = Self::decode(text, &origin)?;
        spec.lies_beside(path);
        spec.check(&origin)?;
        Ok(spec)
    }

    /// Makes relative paths of the spec relative to the folder of this file.
    pub(crate) fn lies_beside(&mut self, path: &Path) {
        // Pipes and standard input are not in any folder of the user.
        if !path.starts_with("/dev") {
            self.common_mut().lies_in(path.parent().map(Path::to_owned).unwrap_or_default());
        }
    }

    pub fn shipped(lab: LabId) -> Self {
        Self::parse(by_id(lab).default_spec(), "the shipped spec")
            .unwrap_or_else(|e| unreachable!("a test checks that shipped specs are valid: {e}"))
    }

    /// Parses and checks TOML. `origin` names the text in errors.
    pub fn parse(text: &str, origin: &str) -> Result<Self, SpecError> {
        let spec = Self::decode(text, origin)?;
        spec.check(origin)?;
        Ok(spec)
    }

    fn decode(text: &str, origin: &str) -> Result<Self, SpecError> {
        let lab = spec::head(text, origin)?;
        Self::of_toml(lab, text).map_err(|e| parse_error(&e, text, origin))
    }

    pub fn check(&self, origin: &str) -> Result<(), SpecError> {
        self.common().check(origin)
    }

    pub fn models(&self) -> &[String] {
        self.common().models()
    }

    pub fn seed(&self) -> u64 {
        self.common().seed()
    }

    pub fn to_toml(&self) -> String {
        toml_of(self)
    }

    pub fn hash(&self) -> String {
        hash_of(self)
    }

    /// The spec of a preset.
    ///
    /// # Errors
    /// [`SpecError`] if the built-in preset is invalid.
    pub fn of_preset(preset: &Preset) -> Result<Self, SpecError> {
        Self::parse(preset.toml, preset.name)
    }
}

/// Finds a preset by name among those of all labs.
///
/// # Errors
/// A message that lists the existing names.
pub fn preset(name: &str) -> Result<&'static Preset, String> {
    let all = || LABS.iter().flat_map(|lab| lab.presets());
    let names: Vec<&str> = all().map(|p| p.name).collect();
    all().find(|p| p.name == name).ok_or_else(|| base::suggest::unknown("preset", name, &names))
}

impl<'de> Deserialize<'de> for Spec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let value = Value::deserialize(deserializer)?;
        let name = value.get("lab").and_then(Value::as_str).ok_or_else(|| D::Error::missing_field("lab"))?;
        let lab = LabId::named(name).ok_or_else(|| D::Error::custom(format!("`lab` {}", unknown_lab(name))))?;
        Self::of_json(lab, value).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A second spelling of the same model would only repeat its results.
    #[test]
    fn duplicate_model_is_refused_under_any_spelling() {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path().join("m");
        std::fs::create_dir(&here).unwrap();
        let here = here.display().to_string();
        let list = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
        for lab in LABS {
            let mut spec = Spec::shipped(lab.id());
            spec.common_mut().set_models(list(&["bert-mini", "bert-mini"]));
            let said = spec.check("x").unwrap_err().to_string();
            assert!(said.contains("models") && said.contains("twice"), "{said}");
            for (first, again) in [
                ("bert-mini", "builtin:bert-mini"),
                ("untrained:bert-mini", "builtin:bert-mini#untrained-0"),
                (here.as_str(), format!("dir:{here}").as_str()),
                (here.as_str(), format!("{here}/../m").as_str()),
            ] {
                spec.common_mut().set_models(list(&[first, again]));
                assert!(spec.check("x").is_ok(), "{first} {again}");
                let said = spec.common().reach("x").unwrap_err().to_string();
                assert!(said.starts_with("x: `models`: `") && said.contains("are the same model"), "{said}");
            }
            spec.common_mut().set_models(list(&["bert-mini", "bert-tiny"]));
            assert!(spec.common().reach("x").is_ok());
        }
    }
}
