//! Checks of names in a spec against what this program has, with suggestions.

use super::error::CliError;
use super::suggest;
use crate::engine::spec::Spec;
use crate::model::builtin::BUILTINS;
use crate::model::{Device, ModelSource};

/// Checks the names of models. Nothing is loaded: a folder must exist, and a word that is nearly a built-in name is taken for
/// a slip rather than for a hub id.
///
/// # Errors
/// [`CliError::Usage`] with file, key and suggestion.
pub fn check(spec: &Spec, origin: &str) -> Result<(), CliError> {
    let builtin: Vec<&str> = BUILTINS.iter().map(|b| b.name).collect();
    for name in &spec.models {
        let bad = |what: String| CliError::Usage(format!("{origin}: `models`: {what}"));
        match name.parse::<ModelSource>().map_err(|e| bad(e.to_string()))? {
            ModelSource::Dir(path) if !path.is_dir() => {
                return Err(bad(format!("{}: no such folder", path.display())));
            }
            ModelSource::Hub { .. }
                if !name.contains(['/', ':']) && suggest::closest(name, &builtin).is_some() =>
            {
                return Err(bad(suggest::unknown("built-in model", name, &builtin)));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Reads the name of a device.
///
/// # Errors
/// [`CliError::Usage`] with the names that there are.
pub fn device(name: &str) -> Result<Device, CliError> {
    name.parse().map_err(|e: crate::model::ModelError| CliError::Usage(e.to_string()))
}
