//! The spec: everything that determines the computation, in TOML and JSON. The lab is parsed first and the rest as the lab's own type, so
//! that errors have line numbers.

use std::fmt::{Display, LowerExp};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use thiserror::Error;

use super::LabId;
use base::files::hex;
use base::numbers::brief;
use base::suggest;
use base::text::shortened;
use model::ModelSource;
use model::builtin::BUILTINS;

/// Fields common to the specs of all labs. [`spec_fields!`](crate::spec_fields) generates the methods.
pub trait SpecFields {
    fn lab(&self) -> LabId;
    /// The spec as TOML, as stored and shown.
    fn to_toml(&self) -> String;
    /// The spec's name in findings: the first twelve hexadecimal digits of the SHA-256 of its canonical JSON. Fields absent from the
    /// written spec are omitted, so that recorded specs keep their hash.
    fn hash(&self) -> String;
    /// Names of the models in run order.
    fn models(&self) -> &[String];
    /// The seed of the run's random streams.
    fn seed(&self) -> u64;
    fn level(&self) -> f64;
    fn set_models(&mut self, models: Vec<String>);
    fn set_seed(&mut self, seed: u64);
    fn set_level(&mut self, level: f64);
}

pub trait LabSpec: SpecFields {
    /// The subject of the experiment in one word, for session names.
    fn subject(&self) -> &str;
    /// Sets the folder for relative paths; it is not part of the hash.
    fn lies_in(&mut self, folder: PathBuf);
    /// Checks all values and names. The command line, the screen and the engine all use this check.
    ///
    /// # Errors
    /// [`SpecError::Value`], with `origin` as the place, the key and the allowed values.
    fn check(&self, origin: &str) -> Result<(), SpecError>;
    /// Checks that models and files exist on disk, without loading anything.
    fn reach(&self, origin: &str) -> Result<(), SpecError>;
}

/// Errors in a spec. `origin` is the file or another source of the text.
#[derive(Debug, Error)]
pub enum SpecError {
    #[error("{}: cannot read the spec: {source}. Check the path and its permissions.", path.display())]
    Read {
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The text is not a spec: invalid TOML, an unknown key, or a value of the wrong type.
    #[error("{origin}: {message}")]
    Parse {
        /// Source of the text, with the line.
        origin: String,
        /// The problem in words.
        message: String,
    },
    /// A value is out of range, or a name is unknown.
    #[error("{origin}: `{key}`{}{problem}", if problem.starts_with(':') { "" } else { " " })]
    Value {
        /// Source of the text.
        origin: String,
        /// The key in TOML notation.
        key: String,
        /// The problem and the allowed values.
        problem: String,
    },
}

/// Rejects values of a spec; errors name the spec's origin.
#[derive(Debug, Clone, Copy)]
pub struct Refuse<'a> {
    origin: &'a str,
}

impl<'a> Refuse<'a> {
    pub fn new(origin: &'a str) -> Self {
        Self { origin }
    }

    /// Rejects `key`; `problem` states the problem and the allowed values.
    pub fn because(&self, key: &str, problem: String) -> Result<(), SpecError> {
        Err(SpecError::Value { origin: self.origin.to_owned(), key: key.to_owned(), problem })
    }

    pub fn outside<T>(&self, key: &str, value: T, allowed: RangeInclusive<T>) -> Result<(), SpecError>
    where
        T: PartialOrd + Display + LowerExp,
    {
        if allowed.contains(&value) {
            return Ok(());
        }
        let value = base::numbers::brief(&value);
        self.because(key, format!("is {value}: must be from {} to {}", allowed.start(), allowed.end()))
    }

    /// Refuses an unknown name and suggests the nearest known one.
    pub fn unknown(&self, key: &str, name: &str, known: &[&str]) -> Result<(), SpecError> {
        match known.contains(&name) {
            true => Ok(()),
            false => self.because(key, suggest::is_unknown(name, known)),
        }
    }

    /// Refuses an empty file name.
    pub fn no_file(&self, key: &str, name: &str) -> Result<(), SpecError> {
        match name.trim().is_empty() {
            true => self.because(key, "is empty: give a file, or omit the key".into()),
            false => Ok(()),
        }
    }

    pub fn no_models(&self, list: &[String]) -> Result<(), SpecError> {
        if list.is_empty() {
            let problem = "is empty: give at least one model, for example [\"bert-mini\"]";
            return self.because("models", problem.into());
        }
        self.twice("models", list)
    }

    /// Refuses a missing folder, and a list with two spellings of the same model. A word close to a built-in name counts as a misspelling,
    /// not as a hub id.
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

    /// Refuses a list with duplicates.
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

/// The path of standard input, which may be a pipe.
pub const STDIN: &str = "/dev/stdin";
const MAX_SPEC_BYTES: u64 = 1 << 20;

/// The keys that are parsed first.
#[derive(Deserialize)]
struct Head {
    lab: String,
    grid: Option<toml::Value>,
}

/// Reads the text of a spec file.
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

/// Returns the lab of a spec. `origin` names the text in errors.
///
/// # Errors
/// [`SpecError::Parse`] with the line; [`SpecError::Value`] for an unknown lab, and for a grid because it is many specs.
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

/// Converts a TOML error and adds its line.
pub fn parse_error(e: &toml::de::Error, text: &str, origin: &str) -> SpecError {
    let line = e.span().map(|s| 1 + text[..s.start.min(text.len())].matches('\n').count());
    let origin = line.map_or(origin.to_owned(), |l| format!("{origin}, line {l}"));
    SpecError::Parse { origin, message: plain(&e.message().trim().replace('\n', "; ")) }
}

/// Replaces the deserializer's type names by words for a person who writes TOML: `` `1.5` is not a whole number from 0``.
fn plain(message: &str) -> String {
    if let Some(rest) = message.strip_prefix("unknown variant ") {
        return rest.replacen(", expected", " is not known; expected", 1);
    }
    let wrong = message.strip_prefix("invalid type: ").or_else(|| message.strip_prefix("invalid value: "));
    let Some((found, expected)) = wrong.and_then(|rest| rest.rsplit_once(", expected ")) else {
        return message.to_owned();
    };
    let kinds = ["floating point ", "integer ", "string ", "boolean "];
    let found = match kinds.iter().find_map(|kind| found.strip_prefix(kind)).unwrap_or(found) {
        "sequence" => "a list".to_owned(),
        "map" => "a table".to_owned(),
        value => match value.trim_matches('`').parse::<f64>() {
            Ok(number) => format!("`{}`", brief(&number)),
            Err(_) => shortened(value, 60),
        },
    };
    let expected = match expected {
        "usize" | "u64" | "u32" | "u16" | "u8" => "a whole number from 0",
        "i64" | "i32" => "a whole number",
        "f64" | "f32" => "a number",
        "a sequence" => "a list in square brackets",
        "a map" => "a table",
        other => other,
    };
    format!("{found} is not {expected}")
}

/// Parses and checks the TOML of a spec of lab `S`. `origin` names the text in errors.
///
/// # Errors
/// The errors of [`head`], and [`SpecError::Value`] for a spec of another lab.
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
    toml::to_string(spec).unwrap_or_else(|e| unreachable!("a spec can always be serialised: {e}"))
}

/// See [`SpecFields::hash`].
pub fn hash_of(spec: &impl Serialize) -> String {
    let json = serde_json::to_vec(spec).unwrap_or_else(|e| unreachable!("a spec can always be serialised: {e}"));
    hex(&Sha256::digest(&json)[..6])
}

pub fn unknown_lab(name: &str) -> String {
    let known = LabId::ALL.map(LabId::name);
    let shown = base::text::shortened(name, 40);
    format!("is `{shown}`, which is not a lab. Known: {}", known.join(", "))
}

/// Implements [`SpecFields`] and `Spec::shipped` for a spec with the fields `models`, `seed` and `interval.level`.
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
            pub fn shipped() -> Self {
                static SHIPPED: std::sync::LazyLock<$Spec> = std::sync::LazyLock::new(|| {
                    $crate::spec::parse($shipped, "the shipped spec")
                        .unwrap_or_else(|e| unreachable!("a test checks that shipped specs are valid: {e}"))
                });
                SHIPPED.clone()
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: messages used to have numbers of 300 digits and the names of Rust's types.
    #[test]
    fn values_of_the_wrong_type_are_described_in_plain_words() {
        for (toml, said) in [
            ("seed = 1e300", "`1e300` is not a whole number from 0"),
            ("seed = 1.5", "`1.5` is not a whole number from 0"),
            ("seed = -3", "`-3` is not a whole number from 0"),
            ("seed = \"a\"", "\"a\" is not a whole number from 0"),
            ("seed = true", "`true` is not a whole number from 0"),
            ("models = 3", "`3` is not a list in square brackets"),
            ("share = \"x\"", "\"x\" is not a number"),
            ("kind = \"foo\"", "`foo` is not known; expected `mlp` or `linear`"),
        ] {
            let error = toml::from_str::<Fields>(toml).unwrap_err();
            let error = parse_error(&error, toml, "s.toml").to_string();
            assert!(error.contains(said) && error.contains("line 1"), "{toml}: {error}");
        }
    }

    #[derive(Debug, serde::Deserialize)]
    #[expect(dead_code, reason = "only deserialized")]
    struct Fields {
        seed: Option<u64>,
        models: Option<Vec<String>>,
        share: Option<f64>,
        kind: Option<Kind>,
    }

    #[derive(Debug, serde::Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Kind {
        Mlp,
        Linear,
    }
}
