//! The spec: everything that says what to compute, in TOML and JSON. Which lab it is for is read first; the lab's own type
//! reads the rest, so that an error keeps its line.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer};
use serde_json::Value;
use sha2::{Digest, Sha256};
use thiserror::Error;

use super::fault::{Fault, problem};
use super::{LabId, Spec};
use crate::base::files::hex;
use crate::base::suggest;
use crate::model::ModelSource;
use crate::model::builtin::BUILTINS;

/// The fields that the specs of all labs have. `labs!` writes the methods.
pub trait SpecFields {
    /// This lab's spec among those of all labs, if that is what it is.
    fn within(any: &Spec) -> Option<&Self>
    where
        Self: Sized;
    /// Names of the models, in the order in which they run.
    fn models(&self) -> &[String];
    /// The seed from which the random streams of the run are derived.
    fn seed(&self) -> u64;
    /// Level of the intervals.
    fn level(&self) -> f64;
    /// Runs these models.
    fn set_models(&mut self, models: Vec<String>);
    /// Takes another seed.
    fn set_seed(&mut self, seed: u64);
    /// Takes another level of the intervals.
    fn set_level(&mut self, level: f64);
}

/// What the specs of all labs have in common.
pub trait LabSpec: SpecFields {
    /// What the experiment is about in a word, for names of sessions.
    fn subject(&self) -> &str;
    /// Takes on the procedure of this program, where the spec was written for an earlier one. Labs with a single procedure have
    /// nothing to do.
    fn renew(&mut self) {}
    /// Notes the folder that relative paths start from; no part of what is asked.
    fn lies_in(&mut self, folder: PathBuf);
    /// Checks every value and every name. This is the only check: the command line, the screen and the engine call it.
    ///
    /// # Errors
    /// [`SpecError::Value`], with `origin` as the place, the key and what is allowed.
    fn check(&self, origin: &str) -> Result<(), SpecError>;
    /// Checks what only the disk can say: that models and files are there. Nothing is loaded.
    ///
    /// # Errors
    /// [`SpecError::Value`].
    fn reach(&self, origin: &str) -> Result<(), SpecError>;
}

/// Why a spec cannot be used. `origin` is the file, or a word for where the text came from.
#[derive(Debug, Error)]
pub enum SpecError {
    /// The file could not be read.
    #[error("{}: cannot read the spec: {source}. Check the path and its permissions.", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The text is not a spec: broken TOML, an unknown key, or a value of the wrong type.
    #[error("{origin}: {message}")]
    Parse {
        /// Where the text came from, with the line.
        origin: String,
        /// What is wrong.
        message: String,
    },
    /// A value is out of its range, or a name unknown.
    #[error("{origin}: `{key}`{}{problem}", if problem.starts_with(':') { "" } else { " " })]
    Value {
        /// Where the text came from.
        origin: String,
        /// The key in TOML notation.
        key: String,
        /// What is wrong and what is allowed.
        problem: String,
    },
}

/// A lab's own spec, checked: what [`super::Lab::open`] opens.
///
/// # Errors
/// [`Fault::Failed`] for the spec of another lab, and for one that does not pass [`LabSpec::check`].
pub fn checked<S: LabSpec>(own: Option<&S>) -> Result<&S, Fault> {
    let hint = "correct `lab` in the spec";
    let spec = own.ok_or_else(|| problem(&"this spec is for another lab", "lab", hint))?;
    spec.check("spec").map_err(|e| problem(&e, "spec", "correct the setup"))?;
    Ok(spec)
}

/// Refuses values of a spec, with the place that the spec is from.
#[derive(Debug, Clone, Copy)]
pub struct Refuse<'a> {
    origin: &'a str,
}

impl<'a> Refuse<'a> {
    /// For a spec from `origin`.
    #[must_use]
    pub fn new(origin: &'a str) -> Self {
        Self { origin }
    }

    /// Refuses `key`, a problem being what is wrong and what is allowed.
    ///
    /// # Errors
    /// Always.
    pub fn because(&self, key: &str, problem: String) -> Result<(), SpecError> {
        Err(SpecError::Value { origin: self.origin.to_owned(), key: key.to_owned(), problem })
    }

    /// Refuses a number outside its range.
    ///
    /// # Errors
    /// [`SpecError::Value`].
    pub fn outside<T>(&self, key: &str, value: T, allowed: RangeInclusive<T>) -> Result<(), SpecError>
    where
        T: PartialOrd + Display,
    {
        if allowed.contains(&value) {
            return Ok(());
        }
        self.because(key, format!("is {value}: allowed are {} to {}", allowed.start(), allowed.end()))
    }

    /// Refuses a name that is not among the known ones, and suggests the nearest.
    ///
    /// # Errors
    /// [`SpecError::Value`].
    pub fn unknown(&self, key: &str, name: &str, known: &[&str]) -> Result<(), SpecError> {
        match known.contains(&name) {
            true => Ok(()),
            false => self.because(key, suggest::is_unknown(name, known)),
        }
    }

    /// Refuses the empty name of a file.
    ///
    /// # Errors
    /// [`SpecError::Value`].
    pub fn no_file(&self, key: &str, name: &str) -> Result<(), SpecError> {
        match name.trim().is_empty() {
            true => self.because(key, "is empty: name a file, or leave the key out".into()),
            false => Ok(()),
        }
    }

    /// Refuses a run of no models, or of one model twice.
    ///
    /// # Errors
    /// [`SpecError::Value`].
    pub fn no_models(&self, list: &[String]) -> Result<(), SpecError> {
        if list.is_empty() {
            let problem = "is empty: name at least one model, for example [\"bert-mini\"]";
            return self.because("models", problem.into());
        }
        self.twice("models", list)
    }

    /// Refuses a model that cannot be: a folder must exist, and a word that is nearly a built-in name is taken for a slip
    /// rather than for a hub id. Refuses one model under two spellings, too: the second would only repeat the first.
    ///
    /// # Errors
    /// [`SpecError::Value`].
    pub fn models(&self, list: &[String]) -> Result<(), SpecError> {
        let builtin: Vec<&str> = BUILTINS.iter().map(|b| b.name).collect();
        let mut seen: Vec<(ModelSource, &str)> = Vec::new();
        for name in list {
            let problem = match name.parse::<ModelSource>() {
                Err(e) => e.to_string(),
                Ok(ModelSource::Dir(path)) if !path.is_dir() => format!("{}: no such folder", path.display()),
                Ok(ModelSource::Builtin(id)) if !builtin.contains(&id.as_str()) => {
                    suggest::unknown("built-in model", &id, &builtin)
                }
                Ok(ModelSource::Hub { .. })
                    if !name.contains(['/', ':']) && suggest::closest(name, &builtin).is_some() =>
                {
                    suggest::unknown("built-in model", name, &builtin)
                }
                Ok(source) => {
                    let source = source.canonical();
                    let Some((_, first)) = seen.iter().find(|(s, _)| *s == source) else {
                        seen.push((source, name));
                        continue;
                    };
                    let [first, again] = [*first, name].map(|n| crate::base::text::shortened(n, 80));
                    format!("`{first}` and `{again}` are the same model: leave one of them out")
                }
            };
            return self.because("models", format!(": {problem}"));
        }
        Ok(())
    }

    /// Refuses a list that names something twice: the second would only repeat the first.
    ///
    /// # Errors
    /// [`SpecError::Value`].
    pub fn twice<T: PartialEq + Display>(&self, key: &str, list: &[T]) -> Result<(), SpecError> {
        match list.iter().enumerate().find(|(i, item)| list[..*i].contains(item)) {
            Some((_, item)) => {
                let shown = crate::base::text::shortened(&item.to_string(), 80);
                self.because(key, format!("names `{shown}` twice: leave one of them out"))
            }
            None => Ok(()),
        }
    }
}

/// Largest spec file that is read.
const MAX_SPEC_BYTES: u64 = 1 << 20;

/// What is read first.
#[derive(Deserialize)]
struct Head {
    lab: String,
    procedure: Option<toml::Value>,
    grid: Option<toml::Value>,
}

impl Spec {
    /// Reads and checks a spec file.
    ///
    /// # Errors
    /// [`SpecError`].
    pub fn read(path: &Path) -> Result<Self, SpecError> {
        Self::of_file(&Self::text_of(path)?, path)
    }

    /// The spec in the text of a file.
    pub(super) fn of_file(text: &str, path: &Path) -> Result<Self, SpecError> {
        let origin = path.display().to_string();
        let mut spec = Self::decode(text, &origin)?;
        spec.lies_beside(path);
        spec.check(&origin)?;
        Ok(spec)
    }

    /// The text of a spec file.
    pub(super) fn text_of(path: &Path) -> Result<String, SpecError> {
        let fail = |source| SpecError::Read { path: path.to_owned(), source };
        let size = std::fs::metadata(path).map_err(fail)?.len();
        if size > MAX_SPEC_BYTES {
            let source = std::io::Error::other(format!("{size} bytes is not a spec (at most 1 MiB)"));
            return Err(fail(source));
        }
        std::fs::read_to_string(path).map_err(fail)
    }

    /// Relative paths of the spec start from the folder of this file.
    pub(super) fn lies_beside(&mut self, path: &Path) {
        // What comes from a pipe or from the standard input lies in no folder of the user's.
        if !path.starts_with("/dev") {
            self.common_mut().lies_in(path.parent().map(Path::to_owned).unwrap_or_default());
        }
    }

    /// The experiment that a lab runs where nothing else is asked for.
    #[must_use]
    pub fn shipped(lab: LabId) -> Self {
        Self::parse(lab.lab().default_spec(), "the shipped spec")
            .unwrap_or_else(|e| unreachable!("a shipped spec is checked by a test: {e}"))
    }

    /// Parses and checks TOML. `origin` names the text in errors.
    ///
    /// # Errors
    /// [`SpecError::Parse`] with the line, [`SpecError::Value`].
    pub fn parse(text: &str, origin: &str) -> Result<Self, SpecError> {
        let spec = Self::decode(text, origin)?;
        spec.check(origin)?;
        Ok(spec)
    }

    fn decode(text: &str, origin: &str) -> Result<Self, SpecError> {
        let fail = |e: toml::de::Error| {
            let line = e.span().map(|s| 1 + text[..s.start.min(text.len())].matches('\n').count());
            let origin = line.map_or(origin.to_owned(), |l| format!("{origin}, line {l}"));
            SpecError::Parse { origin, message: e.message().trim().replace('\n', "; ") }
        };
        let head: Head = toml::from_str(text).map_err(fail)?;
        let lab = LabId::named(&head.lab).ok_or_else(|| SpecError::Value {
            origin: origin.to_owned(),
            key: "lab".into(),
            problem: unknown_lab(&head.lab),
        })?;
        if head.grid.is_some() {
            return Err(SpecError::Value {
                origin: origin.to_owned(),
                key: "grid".into(),
                problem: "makes many experiments of this file, and one is wanted here: `probity run FILE --out DIR` \
                          computes a grid"
                    .into(),
            });
        }
        let mut spec = Self::of_toml(lab, text).map_err(fail)?;
        // A text that does not name a procedure asks for today's; one that does means it.
        if head.procedure.is_none() {
            spec.common_mut().renew();
        }
        Ok(spec)
    }

    /// See [`LabSpec::check`].
    ///
    /// # Errors
    /// [`SpecError::Value`].
    pub fn check(&self, origin: &str) -> Result<(), SpecError> {
        self.common().check(origin)
    }

    /// Names of the models, in the order in which they run.
    #[must_use]
    pub fn models(&self) -> &[String] {
        self.common().models()
    }

    /// The seed from which the random streams of the run are derived.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.common().seed()
    }

    /// The spec as TOML, in the form in which it is stored and shown.
    #[must_use]
    pub fn to_toml(&self) -> String {
        toml::to_string(self).unwrap_or_else(|e| unreachable!("a spec is plain data: {e}"))
    }

    /// The first twelve hexadecimal digits of the SHA-256 of the spec's canonical JSON: its name in findings. Fields that
    /// the spec was written without take no part, so that a recorded spec keeps the hash that it was recorded under.
    #[must_use]
    pub fn hash(&self) -> String {
        let json = serde_json::to_vec(self).unwrap_or_else(|e| unreachable!("a spec is plain data: {e}"));
        hex(&Sha256::digest(&json)[..6])
    }
}

fn unknown_lab(name: &str) -> String {
    let known: Vec<&str> = super::LABS.iter().map(|lab| lab.id().name()).collect();
    let shown = crate::base::text::shortened(name, 40);
    format!("is `{shown}`: known are {}", known.join(", "))
}

impl<'de> Deserialize<'de> for Spec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let value = Value::deserialize(deserializer)?;
        let name = value.get("lab").and_then(Value::as_str).ok_or_else(|| D::Error::missing_field("lab"))?;
        let lab =
            LabId::named(name).ok_or_else(|| D::Error::custom(format!("`lab` {}", unknown_lab(name))))?;
        Self::of_json(lab, value).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The second would only repeat the first, whatever it is called.
    #[test]
    fn one_model_twice_is_refused_by_every_lab_under_any_spelling() {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path().join("m");
        std::fs::create_dir(&here).unwrap();
        let here = here.display().to_string();
        let list = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
        for lab in super::super::LABS {
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
