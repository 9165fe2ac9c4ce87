//! The spec: everything that determines what to compute, in TOML and JSON. Its lab is read first, and the lab's own
//! type reads the rest, so that errors keep their line.

use std::fmt::{Display, LowerExp};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use thiserror::Error;

use super::LabId;
use base::files::hex;
use base::suggest;
use model::ModelSource;
use model::builtin::BUILTINS;

/// The fields that the specs of all labs have. [`spec_fields!`](crate::spec_fields) writes the methods.
pub trait SpecFields {
    fn lab(&self) -> LabId;
    /// The spec as TOML, in the form in which it is stored and shown.
    fn to_toml(&self) -> String;
    /// The first twelve hexadecimal digits of the SHA-256 of the spec's canonical JSON: its name in findings. Fields
    /// absent from the written spec are left out, so that a recorded spec keeps its recorded hash.
    fn hash(&self) -> String;
    /// Names of the models, in the order in which they run.
    fn models(&self) -> &[String];
    /// The seed from which the random streams of the run are derived.
    fn seed(&self) -> u64;
    fn level(&self) -> f64;
    /// Sets the models to run.
    fn set_models(&mut self, models: Vec<String>);
    /// Sets the seed.
    fn set_seed(&mut self, seed: u64);
    /// Sets the level of the intervals.
    fn set_level(&mut self, level: f64);
}

/// Interface of the specs of all labs.
pub trait LabSpec: SpecFields {
    /// The experiment's subject in one word, for names of sessions.
    fn subject(&self) -> &str;
    /// Sets the folder that relative paths start from; it is not part of the hash.
    fn lies_in(&mut self, folder: PathBuf);
    /// Checks every value and every name. This is the only check: the command line, the screen and the engine call it.
    ///
    /// # Errors
    /// [`SpecError::Value`], with `origin` as the place, the key and the allowed values.
    fn check(&self, origin: &str) -> Result<(), SpecError>;
    /// Checks on disk that models and files exist, without loading anything.
    fn reach(&self, origin: &str) -> Result<(), SpecError>;
}

/// Errors in a spec. `origin` is the file, or a word for the source of the text.
#[derive(Debug, Error)]
pub enum SpecError {
    /// The file could not be read.
    #[error("{}: cannot read the spec: {source}. Check the path and its permissions.", path.display())]
    Read {
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The text is not a spec: broken TOML, an unknown key, or a value of the wrong type.
    #[error("{origin}: {message}")]
    Parse {
        /// Source of the text, with the line.
        origin: String,
        /// The fault, in words.
        message: String,
    },
    /// A value is out of its range, or a name unknown.
    #[error("{origin}: `{key}`{}{problem}", if problem.starts_with(':') { "" } else { " " })]
    Value {
        /// Source of the text.
        origin: String,
        /// The key in TOML notation.
        key: String,
        /// The fault and the allowed values.
        problem: String,
    },
}

/// Refuses values of a spec, with the spec's origin as the place.
#[derive(Debug, Clone, Copy)]
pub struct Refuse<'a> {
    origin: &'a str,
}

impl<'a> Refuse<'a> {
    /// For a spec from `origin`.
    pub fn new(origin: &'a str) -> Self {
        Self { origin }
    }

    /// Refuses `key`; `problem` is the fault and the allowed values.
    pub fn because(&self, key: &str, problem: String) -> Result<(), SpecError> {
        Err(SpecError::Value { origin: self.origin.to_owned(), key: key.to_owned(), problem })
    }

    /// Refuses a number outside its range.
    pub fn outside<T>(&self, key: &str, value: T, allowed: RangeInclusive<T>) -> Result<(), SpecError>
    where
        T: PartialOrd + Display + LowerExp,
    {
        if allowed.contains(&value) {
            return Ok(());
        }
        let value = base::numbers::brief(&value);
        self.because(key, format!("is {value}: allowed are {} to {}", allowed.start(), allowed.end()))
    }

    /// Refuses a name that is not among the known ones, and suggests the nearest.
    pub fn unknown(&self, key: &str, name: &str, known: &[&str]) -> Result<(), SpecError> {
        match known.contains(&name) {
            true => Ok(()),
            false => self.because(key, suggest::is_unknown(name, known)),
        }
    }

    /// Refuses the empty name of a file.
    pub fn no_file(&self, key: &str, name: &str) -> Result<(), SpecError> {
        match name.trim().is_empty() {
            true => self.because(key, "is empty: name a file, or omit the key".into()),
            false => Ok(()),
        }
    }

    /// Refuses a run without models.
    pub fn no_models(&self, list: &[String]) -> Result<(), SpecError> {
        if list.is_empty() {
            let problem = "is empty: name at least one model, for example [\"bert-mini\"]";
            return self.because("models", problem.into());
        }
        self.twice("models", list)
    }

    /// Refuses an impossible model: a folder must exist, and a word that is nearly a built-in name is taken for a
    /// misspelling rather than for a hub id. Also refuses one model under two spellings: the second would only repeat
    /// the first.
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
                    let [first, again] = [*first, name].map(|n| base::text::shortened(n, 80));
                    format!("`{first}` and `{again}` are the same model: remove one of them")
                }
            };
            return self.because("models", format!(": {problem}"));
        }
        Ok(())
    }

    /// Refuses a list with duplicates: the second entry would only repeat the first.
    pub fn twice<T: PartialEq + Display>(&self, key: &str, list: &[T]) -> Result<(), SpecError> {
        match list.iter().enumerate().find(|(i, item)| list[..*i].contains(item)) {
            Some((_, item)) => {
                let shown = base::text::shortened(&item.to_string(), 80);
                self.because(key, format!("names `{shown}` twice: remove one of them"))
            }
            None => Ok(()),
        }
    }
}

/// The path that means the standard input, which may be a pipe.
pub const STDIN: &str = "/dev/stdin";
/// Largest spec file that is read.
const MAX_SPEC_BYTES: u64 = 1 << 20;

/// The keys that are read first.
#[derive(Deserialize)]
struct Head {
    lab: String,
    grid: Option<toml::Value>,
}

/// The text of a spec file.
///
/// # Errors
/// [`SpecError::Read`], also for a file above 1 MiB.
pub fn read_text(path: &Path) -> Result<String, SpecError> {
    let fail = |source| SpecError::Read { path: path.to_owned(), source };
    let text = match path.to_str() {
        Some(STDIN) => base::read::stdin(MAX_SPEC_BYTES),
        _ => base::read::text(path, MAX_SPEC_BYTES),
    };
    text.map_err(fail)
}

/// The lab of a spec's text. `origin` names the text in errors.
///
/// # Errors
/// [`SpecError::Parse`] with the line; [`SpecError::Value`] for an unknown lab and for a grid, which is many specs.
pub fn head(text: &str, origin: &str) -> Result<LabId, SpecError> {
    let head: Head = toml::from_str(text).map_err(|e| parse_error(&e, text, origin))?;
    let lab = LabId::named(&head.lab).ok_or_else(|| SpecError::Value {
        origin: origin.to_owned(),
        key: "lab".into(),
        problem: unknown_lab(&head.lab),
    })?;
    if head.grid.is_some() {
        return Err(SpecError::Value {
            origin: origin.to_owned(),
            key: "grid".into(),
            problem: "turns this file into many experiments, but only one is allowed here: `probity run FILE --out DIR` computes a grid"
                .into(),
        });
    }
    Ok(lab)
}

/// An error of the TOML reader, with its line.
pub fn parse_error(e: &toml::de::Error, text: &str, origin: &str) -> SpecError {
    let line = e.span().map(|s| 1 + text[..s.start.min(text.len())].matches('\n').count());
    let origin = line.map_or(origin.to_owned(), |l| format!("{origin}, line {l}"));
    SpecError::Parse { origin, message: e.message().trim().replace('\n', "; ") }
}

/// Parses and checks the TOML of a spec of one lab. `origin` names the text in errors.
///
/// # Errors
/// As [`head`]; [`SpecError::Value`] also for the spec of another lab.
pub fn parse<S: LabSpec + DeserializeOwned>(text: &str, origin: &str) -> Result<S, SpecError> {
    let lab = head(text, origin)?;
    let spec: S = toml::from_str(text).map_err(|e| parse_error(&e, text, origin))?;
    if spec.lab() != lab {
        return Err(SpecError::Value {
            origin: origin.to_owned(),
            key: "lab".into(),
            problem: format!("is `{lab}`, but the spec must be for the lab {}", spec.lab()),
        });
    }
    spec.check(origin)?;
    Ok(spec)
}

/// See [`SpecFields::to_toml`].
pub fn toml_of(spec: &impl Serialize) -> String {
    toml::to_string(spec).unwrap_or_else(|e| unreachable!("a spec is plain data: {e}"))
}

/// See [`SpecFields::hash`].
pub fn hash_of(spec: &impl Serialize) -> String {
    let json = serde_json::to_vec(spec).unwrap_or_else(|e| unreachable!("a spec is plain data: {e}"));
    hex(&Sha256::digest(&json)[..6])
}

/// The error text for an unknown lab.
pub fn unknown_lab(name: &str) -> String {
    let known = LabId::ALL.map(LabId::name);
    let shown = base::text::shortened(name, 40);
    format!("is `{shown}`: known are {}", known.join(", "))
}

/// Implements [`SpecFields`] for a lab's spec with the fields `models`, `seed` and `interval.level`, and `Spec::shipped`.
#[macro_export]
macro_rules! spec_fields {
    ($Spec:ty, $lab:ident, $shipped:expr) => {
        impl $crate::spec::SpecFields for $Spec {
            fn lab(&self) -> $crate::LabId {
                $crate::LabId::$lab
            }

            fn to_toml(&self) -> String {
                $crate::spec::toml_of(self)
            }

            fn hash(&self) -> String {
                $crate::spec::hash_of(self)
            }

            fn models(&self) -> &[String] {
                &self.models
            }

            fn seed(&self) -> u64 {
                self.seed
            }

            fn level(&self) -> f64 {
                self.interval.level
            }

            fn set_models(&mut self, models: Vec<String>) {
                self.models = models;
            }

            fn set_seed(&mut self, seed: u64) {
                self.seed = seed;
            }

            fn set_level(&mut self, level: f64) {
                self.interval.level = level;
            }
        }

        impl $Spec {
            /// The lab's default experiment, as shipped.
            pub fn shipped() -> Self {
                $crate::spec::parse($shipped, "the shipped spec")
                    .unwrap_or_else(|e| unreachable!("a shipped spec is checked by a test: {e}"))
            }
        }
    };
}
