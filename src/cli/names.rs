//! Checks names and values in a spec before anything runs, and suggests corrections.

use super::error::CliError;
use base::suggest::closest;
use labs::Spec;
use model::arch::Network;
use model::builtin::BUILTINS;
use model::families::ConfigFile;
use model::params::Params;
use model::source::Files;
use model::{self, Device, Dtype, ModelError, ModelSource, Tokenizer};

/// Checks a spec and its files on disk without loading anything; `origin` names the spec in errors.
pub fn check(spec: &Spec, origin: &str) -> Result<(), CliError> {
    spec.check(origin)?;
    Ok(spec.common().reach(origin)?)
}

/// Checks the folders of a spec's models: configuration, weight headers and tokenizer. Models that have not been fetched are skipped.
///
/// # Errors
/// [`CliError::Usage`] with the file.
pub fn readable(spec: &Spec, origin: &str) -> Result<(), CliError> {
    for name in spec.models() {
        let files = match name.parse() {
            Ok(source @ (ModelSource::Dir(_) | ModelSource::Hub { .. })) => Files::at_hand(&source),
            _ => continue,
        };
        let Ok(files) = files else { continue };
        sound(&files).map_err(|e| CliError::Usage(format!("{origin}: `models`: {e}")))?;
    }
    Ok(())
}

fn sound(files: &Files) -> Result<(), ModelError> {
    let hint = "a model folder contains config.json, model.safetensors and a tokenizer";
    let text = files.text("config.json")?.ok_or_else(|| files.missing("config.json", hint))?;
    let (family, mut arch) = ConfigFile::parse(&format!("{}/config.json", files.label()), &text)?.describe()?;
    let weights = files.weights()?;
    if arch.network == Network::Transformer {
        Params::complete(&mut arch, family, &weights)?;
    }
    if arch.network != Network::BiLstm {
        let read = |name: &str| Ok(files.read(name)?.map(std::borrow::Cow::into_owned));
        Tokenizer::from_files(&files.label(), read)?;
    }
    Ok(())
}

/// Returns the built-in model that a short hub id may mean if it is not cached: `gpt2-mini` for `gpt-2`.
pub fn near(source: &ModelSource) -> Option<&'static str> {
    let ModelSource::Hub { id, .. } = source else { return None };
    if id.contains('/') || Files::at_hand(source).is_ok() {
        return None;
    }
    let bare = |name: &str| name.to_lowercase().replace(|c: char| !c.is_ascii_alphanumeric(), "");
    let names: Vec<&'static str> = BUILTINS.iter().map(|builtin| builtin.name).collect();
    let begun = names.iter().copied().find(|name| bare(name).starts_with(&bare(id)));
    begun.or_else(|| closest(id, &names))
}

pub fn device(name: &str) -> Result<Device, CliError> {
    name.parse().map_err(|e: ModelError| CliError::Usage(e.to_string()))
}

pub fn dtype(name: &str) -> Result<Dtype, CliError> {
    model::dtype::parse(name).map_err(|e: ModelError| CliError::Usage(e.to_string()))
}

/// Device and element type as requested, for a session's header.
pub fn place(device: &str, dtype: &str) -> String {
    if dtype == "f32" { device.to_owned() } else { format!("{device} {dtype}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use labs::interventions;

    /// Regression: `models show gpt-2` used to query the network for seconds and suggest nothing.
    #[test]
    fn uncached_short_name_suggests_a_built_in_model() {
        let near = |name: &str| near(&name.parse().unwrap());
        assert_eq!(near("gpt-2"), Some("gpt2-mini"));
        assert_eq!(near("bert-mimi"), Some("bert-mini"));
        assert_eq!((near("bert-mini"), near("no/such"), near("qwertz")), (None, None, None));
    }

    fn message(change: impl FnOnce(&mut interventions::Spec)) -> String {
        let mut spec = interventions::Spec::shipped();
        // A folder that always exists.
        spec.models = vec![".".into()];
        change(&mut spec);
        check(&spec.into(), "x.toml").map_or_else(|e| e.message().unwrap(), |()| String::new())
    }

    #[test]
    fn valid_spec_passes_and_typo_gets_a_suggestion() {
        assert_eq!(message(|_| ()), "");
        for (text, key, near) in [
            (message(|s| s.methods[2].name = "pdg".into()), "method.name", "did you mean `pgd`?"),
            (message(|s| s.task.name = "agremeent".into()), "task.name", "did you mean `agreement`?"),
            (message(|s| s.task.target = "subject".into()), "task.target", "subject_number"),
            (message(|s| s.models = vec!["./nowhere".into()]), "models", "no such folder"),
            (message(|s| s.task.data = Some("no/such.tsv".into())), "task.data", "no/such.tsv: cannot open"),
            (message(|s| s.task.data = Some(".".into())), "task.data", "folder"),
            (message(|s| s.models = vec!["builtin:nothing".into()]), "models", "not a known built-in model"),
            (message(|s| s.methods[1].values = vec![-1.0]), "method.values", "epsilon"),
            (message(|s| s.methods[1].values = vec![f64::NAN]), "method.values", "NaN"),
            (
                message(|s| s.methods[2].options = [("stepz".to_owned(), 4.0)].into()),
                "method.options",
                "did you mean `steps`?",
            ),
            (message(|s| s.methods[2].options = [("steps".to_owned(), 0.5)].into()), "method.options", "whole"),
        ] {
            assert!(text.starts_with("x.toml: ") && text.contains(key) && text.contains(near), "{text}");
        }
    }
}
